"""Formats of data files: their names, and the one place that tells a file's format by its name.

This module imports nothing that labelling text can do without.
"""

from __future__ import annotations

import os

from .. import _core

__all__ = ["FORMATS", "format_of", "n_columns", "readable", "takes_template"]

# Name -> the extensions that stand for the format. `conllu:xpos` and the like are read by their full name alone.
FORMATS: dict[str, tuple[str, ...]] = {
    "columns": (),
    "conllu": (".conllu",),
    "crfsuite": (".crfsuite",),
    "jsonl": (".jsonl", ".json"),
    "svmlight": (".svm", ".svmlight", ".libsvm"),
}


def format_of(path: str | os.PathLike[str], default: str = "columns") -> str:
    """Return the format that a file's extension stands for, in front of .gz or .xz; the default for any other name."""
    root, extension = os.path.splitext(os.fspath(path).lower())
    if extension in (".gz", ".xz"):
        extension = os.path.splitext(root)[1]
    return next((name for name, extensions in FORMATS.items() if extension in extensions), default)


def takes_template(format: str) -> bool:
    """Whether a template can form the attributes of this format; other files hold their attributes."""
    return format not in ("crfsuite", "svmlight")


def readable(format: str, template: str | None) -> bool:
    """Whether a model with this template, trained on data of another format, can read files of a format.

    The attributes of the file have to be there without a template, or the template has to look at the words alone: the
    other columns of two formats hold different things.
    """
    if not takes_template(format):
        return template is None
    return format == "jsonl" or (template is not None and n_columns(template) == 1)


def n_columns(template: str) -> int:
    """Return the number of columns that a template looks at, up to the last one."""
    return _core.check_template(template)
