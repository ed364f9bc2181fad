"""Constraints: which labels may follow each other, and begin and end a sentence, by a tagging scheme or by pairs.

Constraints are stated by names: the option of an estimator, and once resolved the setting of a model. The native half
turns resolved names into the numbers of labels, once for each objective and model (`chain/inference/constraints.rs`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from .errors import DataWarning, OptionError, warn
from .options import fail, similar
from .schemes import detect_scheme, parsed_tag, tags_of

__all__ = ["NAMES", "Constraints", "as_json", "check_constraints", "check_pairs", "resolved"]

Constraints = str | Sequence[tuple[Any, Any]] | None
"""Name of a scheme, "auto" or "none", or pairs (from, to) that are forbidden, None for the edge of the sentence."""

# Name -> scheme.
_SCHEMES = {
    "BIO": "BIO",
    "IOB2": "BIO",
    "IOB1": "IOB1",
    "IOBES": "IOBES",
    "BIOES": "IOBES",
    "BILOU": "BILOU",
    "BMES": "BMES",
}
NAMES = ("auto", *_SCHEMES, "none")
_REMEDY = (
    "give auto, BIO, IOB1, IOBES, BILOU, BMES or none; or, in Python, a list of forbidden pairs (from, to) of labels, "
    "with None for the start or the end of a sentence"
)


def check_constraints(name: str, value: object) -> None:
    """Raise OptionError if the value of an option is neither the name of a scheme nor pairs of labels."""
    if value is None or (isinstance(value, str) and (value.upper() in _SCHEMES or value.lower() in ("auto", "none"))):
        return
    hint = similar(value, NAMES) if isinstance(value, str) else ""
    check_pairs(name, value, f"a tagging scheme or a list of pairs{hint}", _REMEDY)
    if (None, None) in map(tuple, value):  # type: ignore[call-overload]
        message = f"{name}: the pair (None, None) has no label; {_REMEDY}"
        raise OptionError(message)


def check_pairs(
    name: str, value: object, what: str = "a list of pairs", remedy: str = "give pairs of labels, such as [('b', 'a')]"
) -> None:
    """Raise OptionError if the value of an option is neither None nor pairs of labels."""
    if value is None:
        return
    if not isinstance(value, (list, tuple, set, frozenset)) or not all(map(_is_pair, value)):
        fail(name, value, f"is not {what}; {remedy}")


def _is_pair(pair: object) -> bool:
    return isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(label, Hashable) for label in pair)


def resolved(value: Constraints, labels: Sequence[Any], are_bio: Callable[[], bool] | None = None) -> Constraints:
    """Return constraints as a scheme's name other than "auto", as a list of pairs, or as None for no constraints.

    "auto" is the scheme that the labels follow, and no constraints if they follow none. IOB1 and IOB2 (BIO) have the
    same labels: they are IOB1 if fewer labels of the data break it, or without data if a type has a label I and no
    label B.

    Args:
        value: constraints as they were given.
        labels: the labels.
        are_bio: called where the scheme depends on it, says whether the sequences of labels are BIO rather than IOB1.

    Raises:
        OptionError: a label does not belong to the scheme.
    """
    if not isinstance(value, str):
        # Lists, as JSON has them.
        return None if value is None else [[before, after] for before, after in value]  # type: ignore[misc]
    if value.lower() == "none":
        return None
    if value.lower() != "auto":
        _check_scheme(value, labels)
        return _SCHEMES[value.upper()]
    scheme = detect_scheme(labels)
    if scheme != "IOB":
        return scheme
    if are_bio is None:
        begun, inside = ({type_ for role, type_ in map(parsed_tag, labels) if role == prefix} for prefix in "BI")
        return "BIO" if inside <= begun else "IOB1"
    return "BIO" if are_bio() else "IOB1"


def warn_of_no_labelling(sentences: Sequence[int]) -> None:
    """Warn of sentences, by number, of which the constraints allow no labelling."""
    if sentences:
        more = "" if len(sentences) == 1 else f" ({len(sentences):,} such sentences)"
        message = f"sentence {sentences[0]}: no labelling is allowed by the constraints{more}; check the constraints"
        warn(message, DataWarning)


def _check_scheme(name: str, labels: Sequence[Any]) -> None:
    """Raise OptionError if a label does not belong to a scheme."""
    tags = tags_of(_SCHEMES[name.upper()])
    wrong = next((str(label) for label in labels if not _has_tag(str(label), tags)), None)
    if wrong is None:
        return
    parts = re.split("[-_:./|]", wrong)
    first, last = parts[0], parts[-1]
    remedy = "choose auto, another scheme, or none"
    if len(parts) > 1 and (first in tags or last in tags):
        tag, type_ = (first, wrong[len(first) + 1 :]) if first in tags else (last, wrong[: -len(last) - 1])
        remedy = f"write {tag}-{type_}, as schemes expect TAG-TYPE, or choose none"
    fail("constraints", name, f"does not fit the label {wrong!r}, which does not belong to the scheme; {remedy}")


def _has_tag(label: str, tags: Collection[str]) -> bool:
    return label == "O" or label.partition("-")[0] in tags


def as_json(constraints: Constraints) -> str:
    """Return resolved constraints as the native half takes them."""
    return json.dumps(constraints, default=str)  # labels of NumPy's types by their names
