"""Settings that describe data, in model files and in encoded corpora, with their checks.

The module imports the standard library alone, to load fast.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import _core
from ..errors import DataError, OptionError, TemplateError
from ..options import Check, one_of, optional, text, truth_value, whole_number
from ..schema import check_fields, count, is_a, json_object, object_of, reading
from .column_layout import SEPARATORS
from .formats import is_format

__all__ = ["DATA", "check_label_names", "corpus_settings"]

# Formats of data that were not read from a file of a format.
_NO_FORMATS = ("python", "corpus")
# Type of labels -> the pattern of their names; no two names are the same label.
_NAMES = {"int": r"0|-?[1-9][0-9]{0,3999}", "bool": "True|False"}
_column = partial(whole_number, least=-(2**31), most=2**31)
_COLUMNS: dict[str, Check] = {
    "separator": optional(partial(one_of, choices=SEPARATORS)),
    "label": _column,
    "skip_comments": truth_value,
    "n": count,
    "weight": _column,
    "texts": truth_value,
}
DATA: dict[str, Check] = {
    "format": is_a("a format of data", lambda value: type(value) is str and (value in _NO_FORMATS or is_format(value))),
    "label_type": partial(one_of, choices=("str", "int", "bool")),
    "columns": object_of(_COLUMNS),
}
"""The checks of settings that describe data, by name."""


def corpus_settings(path: str, text_of_settings: str, labels: Sequence[str]) -> dict[str, Any]:
    """Return the settings of an encoded corpus after a check of each.

    Args:
        path: of the corpus.
        text_of_settings: JSON.
        labels: names of the labels.

    Raises:
        DataError: a setting is not what it has to be; names corpus, setting and remedy.
    """
    remedy = "the corpus is damaged or from another version of loglinear; encode it again"
    with reading(path, DataError, remedy, TemplateError):
        # The native half writes null for a corpus without settings.
        settings = {} if text_of_settings == "null" else json_object("the text of its settings", text_of_settings)
        check_fields("setting ", settings, {**DATA, "template": optional(text)})
        if settings.get("template") is not None:
            _core.check_template(settings["template"])
        check_label_names(settings.get("label_type", "str"), labels)
    return settings


def check_label_names(label_type: str, names: Sequence[str]) -> None:
    """Raise OptionError if a name is not the name of a label of a type."""
    pattern = _NAMES.get(label_type)
    wrong = next((name for name in names if pattern and not re.fullmatch(pattern, name)), None)
    if wrong is not None:
        message = f"the label is {wrong!r:.60}, not of the type {label_type}, which is its setting label_type"
        raise OptionError(message)
