"""Settings in model files: how a model was made, as JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import DataError, ModelFileError
from ...version import __version__
from ...visible import counted, encodable
from .schema import KINDS, check_kind

if TYPE_CHECKING:
    from ...report.cross_validation import CrossValidation
    from ...result import Result

__all__ = [
    "class_weight_of",
    "class_weight_settings",
    "kind_of",
    "open_as",
    "plain",
    "settings_text",
    "trained_from",
    "trained_on",
    "training_summary",
    "version_of",
    "worst",
]

T = TypeVar("T")
# Number of characters that a message shows before and after a wrong one.
_AROUND = 12


def settings_text(kind: str, settings: Mapping[str, Any]) -> str:
    """Return the settings of a model of this kind as JSON, after the library's version and the kind.

    Raises:
        DataError: a text among them, such as the name of a column, is not valid Unicode.
    """
    text = json.dumps({"loglinear": __version__, "model": kind, **settings}, default=plain)
    if "\\ud" in text:  # halves of surrogate pairs, which are not text by themselves
        try:
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            place = error.object[max(0, error.start - _AROUND) : error.end + _AROUND]
            message = f"a name or class in the model is not valid Unicode and cannot be saved ({place!r}); rename it"
            raise DataError(message) from error
    return text


def class_weight_settings(class_weight: Mapping[Any, float] | str | None) -> dict[str, Any]:
    """Return class_weight as settings: a list of pairs for a dict with keys that JSON objects cannot have."""
    if isinstance(class_weight, Mapping) and not all(isinstance(label, str) for label in class_weight):
        return {"class_weight": None, "class_weights": [[*pair] for pair in class_weight.items()]}
    return {"class_weight": dict(class_weight) if isinstance(class_weight, Mapping) else class_weight}


def class_weight_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return class_weight as an option, from what `class_weight_settings` wrote; nothing if it is among them."""
    return {"class_weight": dict(settings["class_weights"])} if "class_weights" in settings else {}


def kind_of(path: str) -> str | None:
    """Return the kind of the model in a file, as its settings have it; None for a file that is not a model."""
    return _written(path, "model")


def version_of(path: str) -> str | None:
    """Return the version of loglinear that wrote a model file; None for a file that loglinear has not written."""
    return _written(path, "loglinear")


def _written(path: str, name: str) -> str | None:
    """Return a setting in a model file as text; None if there is none.

    The file is safetensors: the length of a header, eight bytes, and the header, JSON.
    """
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > os.fstat(file.fileno()).st_size:
                return None
            settings = json.loads(json.loads(file.read(length))["__metadata__"]["settings"])
            return str(settings[name])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def open_as(reader: Callable[[str], T], path: str, *kinds: str) -> T:
    """Open a file with a native reader of some kinds of models; say of a model of another kind what it is.

    Raises:
        ModelFileError: the file is damaged, or of another kind.
    """
    try:
        return reader(path)
    except ModelFileError as error:
        if "damaged or cut short" in str(error) and not _begins_like_a_model(path):
            message = f"{path}: not a loglinear model; give a file that `save` or `loglinear train` has written"
            raise ModelFileError(message) from None
        is_whole = "checksum" not in str(error)
        if is_whole and (kind := kind_of(path)) in KINDS:
            check_kind(kind, path, *kinds)
        raise


def _begins_like_a_model(path: str) -> bool:
    """Whether the first bytes of a file are those of safetensors: the length of a header, eight bytes, and a brace.

    One of the two may be damaged. Eight characters of a text are never such a length.
    """
    with open(path, "rb") as file:
        size, first = os.fstat(file.fileno()).st_size, file.read(9)
    is_text = len(first) >= 8 and all(32 <= byte < 127 or byte in b"\t\n\r" for byte in first[:8])
    return not is_text and (first[8:] in (b"{", b"") or int.from_bytes(first[:8], "little") <= size)


def training_summary(results: Sequence[Result], cross_validation: CrossValidation | None = None) -> dict[str, Any]:
    """Return the part of the settings that tells of a training, of one problem or of several, one after the other."""
    last = worst(results)
    chosen: dict[str, object] = {"kept": last.kept, "dev": last.record.dev} if last.trace else {}
    if len(results) > 1:
        chosen["iterations_by_class"] = [result.iterations for result in results]
    if last.start is not None:
        chosen["start"] = {**vars(last.start), "model": encodable(last.start.model)}
    if last.prior is not None:
        prior, strength = last.prior, last.prior.strength
        finite = strength if math.isfinite(strength) else None
        chosen["prior"] = {**vars(prior), "model": encodable(prior.model), "strength": finite}
    if cross_validation is not None:
        chosen["cross_validation"] = cross_validation.to_dict()
    return {
        **({} if last.chosen is None else {"chosen": last.chosen}),
        "status": last.status.name.lower(),
        "objective": sum(result.objective for result in results),
        "nll": sum(result.nll for result in results),
        "violation": None if math.isnan(last.violation) else last.violation,
        "gap": _sum_of_gaps(results),
        "iterations": sum(result.iterations for result in results),
        "passes": sum(result.passes for result in results),
        "seconds": round(sum(result.seconds for result in results), 3),
        **{name: value for name, value in chosen.items() if value is not None},
    }


def _sum_of_gaps(results: Sequence[Result]) -> float | None:
    """Return the bound of the distance of all objectives together from their optimum; None if one of them has none."""
    gaps = [result.gap for result in results if result.gap is not None]
    return sum(gaps) if len(gaps) == len(results) else None


def trained_from(settings: Mapping[str, Any]) -> str | None:
    """Return what people call the format of the training data; None if it is not known."""
    if settings.get("format") != "python":
        return settings.get("format")
    if settings.get("model") in ("maxent", "choice"):
        if settings["n_columns"] is None:
            return "Python attributes"
        return "Python matrix" if settings.get("column_names") is None else "Python table"
    return "Python lists"


def trained_on(training: Mapping[str, Any], *, of_texts: bool) -> str:
    """Return how many sentences, tokens, samples or texts a model was trained on; empty if that is not known.

    Args:
        training: the part of the settings that tells of the training.
        of_texts: whether the samples are texts.
    """
    nouns = {"n_sentences": "sentence", "n_tokens": "token", "n_samples": "text" if of_texts else "sample"}
    return ", ".join(counted(training[name], noun) for name, noun in nouns.items() if name in training)


def worst(results: Sequence[Result]) -> Result:
    """Return the result that has not converged, or of several the one furthest from its optimum."""
    return max(results, key=lambda result: (not result.status.converged, result.violation))


def plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, and any other value that JSON does not know as text."""
    import numpy as np  # here: labelling text needs no NumPy

    return value.item() if isinstance(value, np.generic) else repr(value)
