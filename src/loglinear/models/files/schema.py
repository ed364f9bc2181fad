"""What the settings in a model file may hold: a check for each, made once, when the file is opened.

A file with the right checksum can hold wrong settings all the same: it was made by hand, or by another version. Whoever
uses a model relies on these checks. Options have their checks where they are defined; they are checked where an
estimator is made of them. Settings without a check are notes, which nothing reads.

The module imports the standard library alone, to load fast.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from ...data.settings import DATA, check_label_names
from ...errors import ModelFileError
from ...options import (
    Check,
    Options,
    check_label_bias,
    checks_of,
    fail,
    one_of,
    optional,
    strength,
    text,
    truth_value,
    whole_number,
)
from ...schema import (
    check_fields,
    count,
    is_a,
    is_finite,
    is_number,
    json_object,
    list_of,
    number,
    object_fields,
    object_of,
    reading,
    texts,
)
from .origin import DATE, FILES

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "KINDS",
    "PROGRAMS",
    "check_kind",
    "check_labels",
    "check_options",
    "checked_settings",
    "refuse",
    "typed_array",
]

_REMEDY = "the file is damaged or from another version of loglinear; train the model again, or get a new copy"
# Kind of model, as files name it -> what messages call it, and the class that opens it.
KINDS = {
    "chain": ("a chain model", "ChainCRF"),
    "maxent": ("a classifier", "MaxEnt"),
    "choice": ("a model of choices", "ConditionalLogit"),
    "network": ("a network model", "PairwiseMRF"),
    "graph": ("a graph model", "GraphCRF"),
}
# Other programs' formats of models that are read and written -> the programs.
PROGRAMS = {"crfsuite": "CRFsuite", "wapiti": "Wapiti", "crf++": "CRF++", "crf++-text": "CRF++"}
# The types of arrays: texts, whole numbers, floating-point numbers and truth values, as NumPy writes them.
_ARRAY_TYPE = r"[<>=|]?(?:U\d*|[iu][1248]|f[248]|b1)"


def refuse(name: str, value: object, wanted: str) -> NoReturn:
    """Raise ModelFileError: a part of a file is not what is wanted.

    Args:
        name: of the file and the part.
        value: of the part, which may be large.
        wanted: what it has to be.
    """
    message = f"{name} is {reprlib.repr(value)}, not {wanted}; {_REMEDY}"
    raise ModelFileError(message)


def checked_settings(text: str, path: str, *kinds: str) -> dict[str, Any]:
    """Return the settings of a model as its file contains them; those that are not options are checked.

    Args:
        text: the settings, JSON.
        path: of the file.
        kinds: the kinds of models that the file may hold.

    Raises:
        ModelFileError: the file holds another kind of model, or a setting is missing or not what it has to be; names
            file and setting.
    """
    with reading(path, ModelFileError, _REMEDY):
        settings = json_object("the text of its settings", text)
    check_kind(settings.get("model"), path, *kinds, of_texts="text" in settings)
    _check(settings, path, *_SETTINGS[settings["model"]])
    if ("text" in settings) != (settings.get("format") == "text"):
        refuse(f"{path}: setting format", settings.get("format"), "text if and only if the setting text is present")
    return settings


def check_options(settings: Mapping[str, Any], path: str, *kinds: type[Options]) -> None:
    """Check the options among the settings of a file.

    Args:
        settings: of the file.
        path: of the file.
        kinds: the classes of options; a later one replaces the checks of an earlier one.

    Raises:
        ModelFileError: an option is not what it has to be; names file and setting.
    """
    _check(settings, path, {name: check for kind in kinds for name, check in checks_of(kind).items()})


def _check(settings: Mapping[str, Any], path: str, checks: Mapping[str, Check], needed: Sequence[str] = ()) -> None:
    """Check the settings of a file; its name begins the message."""
    with reading(path, ModelFileError, _REMEDY):
        check_fields("setting ", settings, checks, needed)


def check_kind(kind: object, path: str, *kinds: str, of_texts: bool = False) -> None:
    """Raise ModelFileError if the kind of the model in a file is not one of some kinds."""
    if kind not in kinds:
        called, estimator = KINDS.get(str(kind), ("", ""))
        message = (
            f"{path}: {called and f'{called}, '}not {' or '.join(KINDS[expected_kind][0] for expected_kind in kinds)}"
        )
        opener = "TextClassifier" if of_texts else estimator
        raise ModelFileError(message + (f"; open it with loglinear.{opener}" if opener else ""))


def check_labels(settings: dict[str, Any], labels: Sequence[str], path: str) -> None:
    """Compare the settings of a chain or a classifier with the names of its labels.

    Raises:
        ModelFileError: the labels are not of the type in the settings, or are not the names of its classes.
    """
    if settings["model"] in ("maxent", "choice"):
        classes = settings["classes"]
        if len(labels) < 2 or [str(class_label) for class_label in classes] != labels:
            refuse(
                f"{path}: setting classes", classes, f"two or more values that match the labels {reprlib.repr(labels)}"
            )
        names, n_columns = settings.get("column_names"), settings["n_columns"]
        if names is not None and not len(names) == len(set(names)) == n_columns:
            refuse(f"{path}: setting column_names", names, f"a list of different names for {n_columns or 'no'} columns")
        return
    with reading(path, ModelFileError, _REMEDY):
        check_label_names(settings.get("label_type", "str"), labels)


def typed_array(name: str, values: list[Any], kind: str) -> npt.NDArray[Any]:
    """Return the values of a setting as an array, shape (len(values),).

    Args:
        name: of the file and the setting.
        values: texts, numbers or truth values.
        kind: the array's type as NumPy writes it; O for values of several types.

    Raises:
        ModelFileError: the values are not of this type, or one occurs twice.
    """
    import numpy as np  # here: labelling text needs no NumPy

    array: npt.NDArray[Any] = np.empty(len(values), dtype=object)
    array[:] = values
    if kind != "O":
        # The length of texts in the file is ignored: the values have their lengths.
        dtype: Any = str if "U" in kind else np.dtype(kind)
        names = [str(element) for element in values] if kind == "U" else values
        try:
            array = np.array(names, dtype=dtype)
        except (OverflowError, TypeError, ValueError):
            refuse(name, values, f"a list of values of type {kind}")
        if array.tolist() != names:
            refuse(name, values, f"a list of values of type {kind}")
    if len(set(values)) < len(values):
        refuse(name, values, "a list of different values")
    return array


def _is_class_weight(pair: list[Any]) -> bool:
    """Whether a list is a class and its weight, a finite number >= 0."""
    return len(pair) == 2 and type(pair[0]) in (str, int, float, bool) and is_finite(pair[1]) and pair[1] >= 0


def _unit(name: str, value: object) -> None:
    """Check what texts are cut into; older models do not say it."""
    from ...data.words import check_unit

    optional(check_unit)(name, value)


def _tokenizer(name: str, value: object) -> None:
    """Check how a chain cuts raw text."""
    from ...data.tokenizer import check_tokenizer

    optional(check_tokenizer)(name, value)


def _text_settings(name: str, value: object) -> None:
    """Check how texts were turned into numbers: see `loglinear.data.words.WordCounts`."""
    settings = object_fields(name, value, {"unit": _unit, "n_texts": count}, ("ngrams", "words", "idf"))
    ngrams, words, idf = settings["ngrams"], settings["words"], settings["idf"]
    if not (list_of(int)(ngrams) and len(ngrams) == 2 and 1 <= ngrams[0] <= ngrams[1] <= 100):
        fail(f"{name}.ngrams", ngrams, "is not the least and the greatest length of word sequences, from 1 to 100")
    if not (list_of(str)(words) and words and len(set(words)) == len(words)):
        fail(f"{name}.words", words, "is not a list of different words")
    if idf is not None and not (list_of(int, float)(idf) and all(map(is_finite, idf)) and len(idf) == len(words)):
        fail(f"{name}.idf", idf, f"is not a list of {len(words)} numbers, one for each word")
    counts, n_texts = settings.get("document_counts"), settings.get("n_texts", 0)
    if counts is not None and not (
        list_of(int)(counts) and len(counts) == len(words) and 1 <= min(counts) and max(counts) <= n_texts
    ):
        wanted = f"is not a list of {len(words)} numbers from 1 to {n_texts}, one for each word"
        fail(f"{name}.document_counts", counts, wanted)


def _training(name: str, value: object) -> None:
    """Check the summary of a training, which is empty for a model that was loaded and saved again."""
    if training := object_fields(name, value, _TRAINING):
        size = ("n_samples",) if "n_samples" in training else ("n_sentences", "n_tokens")
        check_fields(f"{name}.", training, {}, (*_NEEDED, *size))


def _numbers(name: str, value: object) -> None:
    """Check a curve's values: at least one number, all finite."""
    if not (isinstance(value, list) and value and list_of(int, float)(value) and all(map(is_finite, value))):
        fail(name, value, "is not a list of finite numbers")


def _cross_validation(name: str, value: object) -> None:
    """Check what the strength of a penalty was chosen from: see `CrossValidation.to_dict`."""
    fields = object_fields(name, value, _CURVE, tuple(_CURVE))
    sizes = {len(fields[curve]) for curve in ("strengths", "scores", "errors")}
    if len(sizes) > 1 or min(fields["strengths"]) <= 0.0:
        fail(f"{name}.strengths", fields["strengths"], "are not numbers above 0, each with a score and an error")


_width = partial(whole_number, least=1, most=2**31)
_CURVE: dict[str, Check] = {
    "penalty": partial(one_of, choices=("l1", "l2")),
    "metric": partial(one_of, choices=("f1", "accuracy", "log_likelihood")),
    "n_folds": count,
    "other": strength,
    **dict.fromkeys(("strengths", "scores", "errors"), _numbers),
    "before": optional(_cross_validation),
}
_START: dict[str, Check] = {"model": text, "n_shared": count, "n_features": count, "new_labels": texts}
_PRIOR: dict[str, Check] = {**_START, "strength": optional(strength), "n_seen": optional(count)}
_NEEDED = ("status", "objective", "violation", "iterations", "seconds")
_TRAINING: dict[str, Check] = {
    **dict.fromkeys(("n_sentences", "n_tokens", "n_samples", "n_features", "iterations", "kept"), count),
    **dict.fromkeys(("objective", "nll", "passes", "seconds"), number),
    **dict.fromkeys(("chosen", "status"), text),
    "date": DATE,
    "iterations_by_class": is_a(
        "a list of counts", lambda value: list_of(int)(value) and all(0 <= count < 2**63 for count in value)
    ),
    "violation": optional(is_a("a number", is_number)),
    "gap": optional(number),
    "dev": is_a("scores by name", lambda value: type(value) is dict and all(map(is_number, value.values()))),
    "start": object_of(_START, tuple(_START)),
    "prior": object_of(_PRIOR, tuple(_PRIOR)),
    "cross_validation": _cross_validation,
}
_EVERY: dict[str, Check] = {
    "loglinear": text,
    **DATA,
    "temperature": is_a("a number above 0", lambda value: is_number(value) and value > 0.0),
    "imported": partial(one_of, choices=tuple(PROGRAMS)),
    # Options that were left at None, for which the settings have what training chose.
    "defaults": texts,
    "text": _text_settings,
    "training": _training,
    "files": FILES,
}
_CLASS_WEIGHTS: dict[str, Check] = {
    "class_weights": is_a(
        "a list of pairs, each a class and its weight",
        lambda value: list_of(list)(value) and all(map(_is_class_weight, value)),
    )
}
_CHAIN: dict[str, Check] = {
    "label_bias": check_label_bias,
    "tokenizer": _tokenizer,
    **_CLASS_WEIGHTS,
}
_CLASSES: dict[str, Check] = {
    "classes": is_a("a list of texts or numbers", list_of(str, int, float, bool)),
    "class_type": is_a("the type of an array", lambda value: type(value) is str and re.fullmatch(_ARRAY_TYPE, value)),
}
_MAXENT = _CLASSES | {"n_columns": optional(_width)}
# Settings that not every file of a classifier has: names of a table's columns, weights of classes.
_CLASSIFIER: dict[str, Check] = {"column_names": optional(texts), **_CLASS_WEIGHTS}
_PENALTY: dict[str, Check] = {"l1": strength, "l2": strength}
_NETWORK: dict[str, Check] = {
    **_PENALTY,
    "names": optional(texts),
    "categories": is_a(
        "a list of lists of texts, numbers and truth values",
        lambda value: list_of(list)(value) and all(map(list_of(str, int, float, bool), value)),
    ),
    "category_types": is_a(
        "a list of types of arrays",
        lambda value: (
            list_of(str)(value) and all(element == "O" or re.fullmatch(_ARRAY_TYPE, element) for element in value)
        ),
    ),
    "bin_edges": is_a(
        "a list with a list of numbers, or nothing, for each variable",
        lambda value: (
            list_of(list, type(None))(value) and all(map(is_number, (edge for edges in value for edge in edges or ())))
        ),
    ),
}
_GRAPH: dict[str, Check] = {
    **_CLASSES,
    **_PENALTY,
    **dict.fromkeys(("symmetric", "exact"), truth_value),
    **dict.fromkeys(("n_node_features", "n_edge_features"), _width),
}
# Kind -> the checks of its settings other than options, and the names of the required settings.
_SETTINGS: dict[str, tuple[dict[str, Check], Sequence[str]]] = {
    "chain": (_EVERY | _CHAIN, ()),
    "maxent": (_EVERY | _MAXENT | _CLASSIFIER, tuple(_MAXENT)),
    "choice": (_EVERY | _MAXENT | _CLASSIFIER, tuple(_MAXENT)),
    "network": (_EVERY | _NETWORK, ("objective", *_NETWORK)),
    "graph": (_EVERY | _GRAPH, ("inference", *_GRAPH)),
}
