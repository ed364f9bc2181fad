"""Options that several commands share."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._core import ChainModel

__all__ = [
    "add_features",
    "add_format",
    "add_json",
    "add_model",
    "add_templates",
    "add_threads",
    "model_format",
    "open_model",
]


def add_threads(parser: ArgumentParser) -> None:
    """Add --threads."""
    parser.add_argument("-j", "--threads", type=_count, default=0, metavar="N", help="threads; all cores by default")


def add_templates(parser: ArgumentParser) -> None:
    """Add --preset and --template."""
    templates = parser.add_mutually_exclusive_group()
    templates.add_argument("--preset", metavar="NAME", help="named template; see `loglinear presets`")
    templates.add_argument("--template", metavar="FILE", help="template file in CRF++'s or Wapiti's language")


def add_features(parser: ArgumentParser) -> None:
    """Add what says which features a chain has."""
    add = parser.add_argument
    add("--all-states", action="store_true", help="every attribute with every label, not only those seen together")
    add("--all-transitions", action="store_true", help="every transition, not only those seen")
    order = "1 (the default), or 2 for features of three labels in a row besides"
    add("--order", type=int, default=1, metavar="N", help=order)
    add("--min-count", type=int, default=1, metavar="N", help="leave out attributes on fewer tokens")


def add_format(parser: ArgumentParser) -> None:
    """Add --format, by default that of the training data."""
    parser.add_argument("-f", "--format", help="columns, crfsuite or jsonl; that of the training data by default")


def add_model(parser: ArgumentParser) -> None:
    """Add --model, of a model to read."""
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="model file")


def add_json(parser: ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 2**16:
        raise ValueError
    return number


_count.__name__ = "whole number of at least 0"


def open_model(path: str) -> tuple[ChainModel, dict[str, Any]]:
    """Open a model with its settings."""
    from .._core import ChainModel

    model = ChainModel.open(path)
    return model, json.loads(model.settings)


def model_format(format: str | None, settings: dict[str, Any]) -> str:
    """The format asked for, else that of the training data."""
    trained = str(settings.get("format", "columns"))
    return format or ("jsonl" if trained == "python" else trained)
