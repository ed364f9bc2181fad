"""Where a model comes from: the day of its training, and the files that the command of the training has named."""

from __future__ import annotations

import os
import re
import time
from argparse import Namespace

from ...options import Check
from ...schema import is_a, object_of, texts
from ...visible import encodable

__all__ = ["DATE", "FILES", "files_of", "training_date"]

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
# The check of a date in a file, and of the names of the files.
DATE: Check = is_a("a date such as 2026-01-31", lambda value: type(value) is str and bool(_DATE.fullmatch(value)))
FILES: Check = object_of({"training": texts, "development": texts, "template": texts}, ())


def training_date() -> str:
    """Return the day in Greenwich, such as 2026-01-31; the environment variable SOURCE_DATE_EPOCH can set it."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    return time.strftime("%Y-%m-%d", time.gmtime(int(seconds) if re.fullmatch("[0-9]{1,11}", seconds) else None))


def files_of(arguments: Namespace, training: list[str]) -> dict[str, list[str]]:
    """Return the names of the files of a training, as the command has them.

    Args:
        arguments: of the command.
        training: the training data.
    """
    others = {"development": vars(arguments).get("dev"), "template": vars(arguments).get("template")}
    named = {"training": training, **{role: [name] for role, name in others.items() if name is not None}}
    return {role: [encodable(name) for name in names] for role, names in named.items()}
