"""The file of a chain model, which is a classifier's file too, and the features in it by name.

This module imports nothing that labelling text can do without.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..._core import ChainModel, chunk_lists, tag_arrow, tag_lists, tag_texts
from ...constraints import Constraints, as_json
from ...errors import OptionError
from .schema import check_labels, checked_settings, refuse
from .settings import open_as

if TYPE_CHECKING:
    from ...data.features import Feature

__all__ = [
    "NUMBER",
    "ChainModel",
    "attributes_called",
    "biased",
    "checked_n_best",
    "chunk_lists",
    "columns_counted",
    "cutting",
    "open_model",
    "ready",
    "stating",
    "tag_arrow",
    "tag_lists",
    "tag_texts",
    "weighted_features",
    "with_files",
]

# The name of a column of a matrix or table in a file: its number.
NUMBER = r"0|[1-9][0-9]{0,9}"
# The most labellings of a sentence: the time to find them grows with the square of their number.
_MOST_LABELLINGS = 10_000


def open_model(path: str, *kinds: str) -> tuple[ChainModel, dict[str, Any]]:
    """Map the file of a chain or of a classifier; return the model and its settings.

    Args:
        path: of the file.
        kinds: "chain" or "maxent" for a file of this kind; any of both by default.

    Raises:
        ModelFileError: the file is damaged or of another kind.
        OSError: the file cannot be read.
    """
    kinds = kinds or ("chain", "maxent")
    return ready(open_as(ChainModel.open, path, *kinds), path, *kinds)


def ready(model: ChainModel, path: str, *kinds: str) -> tuple[ChainModel, dict[str, Any]]:
    """Return a model as it was stored under the constraints of its settings, and the settings.

    Raises:
        ModelFileError: the settings are not of a model of these kinds, or do not fit its labels.
    """
    settings = checked_settings(model.settings, path, *kinds)
    check_labels(settings, model.labels, path)
    constraints = settings.get("constraints")
    try:
        return model.constrained(json.dumps(constraints)), settings
    except OptionError:
        refuse(f"{path}: setting constraints", constraints, "constraints of the model's labels")


def biased(model: ChainModel, bias: Mapping[str, float]) -> ChainModel:
    """Return the model with a bias for the scores of labels, by their names, in place of the biases it has."""
    settings = json.loads(model.settings)
    settings.pop("label_bias", None)
    return model.rewritten(json.dumps(settings | ({"label_bias": dict(bias)} if bias else {})))


def stating(model: ChainModel, constraints: Constraints) -> ChainModel:
    """Return the model with these resolved constraints among its settings, which a file keeps."""
    settings, stated = json.loads(model.settings), json.loads(as_json(constraints))
    if settings.get("constraints") == stated:
        return model
    return model.rewritten(json.dumps(settings | {"constraints": stated}))


def cutting(model: ChainModel, tokenizer: str) -> ChainModel:
    """Return the model with this tokenizer among its settings, which a file keeps."""
    from ...data.tokenizer import check_tokenizer

    settings = json.loads(model.settings)
    if settings.get("tokenizer") == tokenizer:
        return model
    check_tokenizer("tokenizer", tokenizer)
    return model.rewritten(json.dumps(settings | {"tokenizer": tokenizer}))


def with_files(model: ChainModel, files: Mapping[str, list[str]]) -> ChainModel:
    """Return the model with the names of the files of its training among its settings; see `origin.files_of`."""
    return model.rewritten(json.dumps(json.loads(model.settings) | {"files": files}))


def checked_n_best(name: str, value: object) -> int:
    """Return the number of labellings to find of each sentence.

    Args:
        name: of the option, for the message.
        value: of the option.

    Raises:
        OptionError: the value is not an integer, or out of range.
    """
    from ...options import whole_number

    return whole_number(name, value, 1, _MOST_LABELLINGS, remedy="leave it out for the best labelling alone")


def attributes_called(model: ChainModel, attributes: Iterable[str | None]) -> dict[str, str]:
    """Return what people call attributes of a model: see `attribute_names`.

    The columns of a matrix or table, which a file numbers, are called by their names, or "column 3".
    """
    from ...data.templates import attribute_names

    called = attribute_names(model.template, attributes)
    settings = json.loads(model.settings)
    if settings.get("n_columns") is None:
        return called
    names = dict(enumerate(settings.get("column_names") or ()))
    numbers = {attribute: int(attribute) for attribute in called if re.fullmatch(NUMBER, attribute)}
    return called | {attribute: names.get(number, f"column {number}") for attribute, number in numbers.items()}


def columns_counted(model: ChainModel) -> tuple[int, str]:
    """Return the number of attributes, words or columns with a weight, without the intercept, and their noun."""
    settings = json.loads(model.settings)
    noun = "word" if "text" in settings else "attribute" if settings.get("n_columns") is None else "column"
    if model.intercept is None:
        return model.n_attributes, noun
    return len({attribute for attribute, _, _ in model.state_features()} - {model.intercept}), noun


def weighted_features(model: ChainModel) -> Iterator[tuple[Feature, float]]:
    """Yield the features of a model with their weights: states, transitions, bigrams, triples."""
    from ...data.features import Feature

    for attribute, label, weight in model.state_features():
        yield Feature(attribute, (label,)), weight
    for before, label, weight in model.transition_features():
        yield Feature(None, (before, label)), weight
    for attribute, before, label, weight in model.bigram_features():
        yield Feature(attribute, (before, label)), weight
    for first, middle, last, weight in model.triple_features():
        yield Feature(None, (first, middle, last)), weight
