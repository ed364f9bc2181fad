"""What the settings in a model file may hold: a check for each, made once, when the file is opened.

A file with the right checksum can hold wrong settings all the same: it was made by hand, or by another version. Whoever
uses a model relies on these checks. Settings without a check are notes, which nothing reads.

The module imports the standard library alone, to load fast.
"""

from __future__ import annotations

import json
import re
import reprlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...data.formats import is_format
from ...errors import ModelFileError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["KINDS", "PROGRAMS", "check_kind", "check_labels", "checked_settings", "refuse", "typed_array"]

Check = Callable[[str, Any], None]
"""Called with a value and with what messages call it, such as `m.loglinear: setting l2`; raises ModelFileError."""

_REMEDY = "the file is damaged or was made by another version of loglinear: train the model again, or get the file anew"
# Kind of model, as files name it -> what messages call it, and the class that opens it.
KINDS = {
    "chain": ("a chain model", "ChainCRF"),
    "maxent": ("a classifier's model", "MaxEnt"),
    "network": ("a network's model", "PairwiseMRF"),
    "graph": ("a model of graphs", "GraphCRF"),
}
# Other programs' formats of models that are read and written -> the programs.
PROGRAMS = {"crfsuite": "CRFsuite", "wapiti": "Wapiti", "crf++": "CRF++", "crf++-text": "CRF++"}
# The deepest that lists and objects stand in each other.
_DEEPEST = 16
# The most of anything that is counted.
_MOST = 2**63 - 1
# The types of arrays: texts, whole numbers, floating-point numbers and truth values, as NumPy writes them.
_ARRAY_TYPE = re.compile(r"[<>=|]?(?:U\d*|[iu][1248]|f[248]|b1)")
# What stands for a format in models whose data no file of a format held.
_NO_FORMATS = ("python", "corpus")


def refuse(name: str, value: Any, wanted: str) -> NoReturn:
    """Raise ModelFileError: a part of a file is not what is wanted.

    Args:
        name: of the file and the part.
        value: of the part, which may be large.
        wanted: what it has to be.
    """
    message = f"{name} is {reprlib.repr(value)}, not {wanted}; {_REMEDY}"
    raise ModelFileError(message)


def checked_settings(text: str, path: str, *kinds: str) -> dict[str, Any]:
    """Return the settings of a model as they stand in its file, checked.

    Args:
        text: the settings, JSON.
        path: of the file.
        kinds: the kinds of models that the file may hold.

    Raises:
        ModelFileError: the file holds another kind of model, or a setting is missing or not what it has to be; names
            file and setting.
    """
    settings = _parsed(text, path)
    check_kind(settings.get("model"), path, *kinds)
    checks, needed = _SETTINGS[settings["model"]]
    _check_fields(f"{path}: setting ", settings, checks, needed)
    if ("text" in settings) != (settings.get("format") == "text"):
        refuse(f"{path}: setting format", settings.get("format"), "text exactly where there is a setting text")
    return settings


def check_kind(kind: object, path: str, *kinds: str) -> None:
    """Raise ModelFileError if the kind of the model in a file is not one of some kinds."""
    if kind not in kinds:
        called, estimator = KINDS.get(str(kind), ("", ""))
        message = f"{path}: {called and f'{called}, '}not {' or '.join(KINDS[each][0] for each in kinds)}"
        raise ModelFileError(message + (f"; open it with loglinear.{estimator}" if estimator else ""))


def _parsed(text: str, path: str) -> dict[str, Any]:
    """Return JSON as Python has it: an object, not too deep, all of whose texts are Unicode."""
    try:
        found = json.loads(text)
        if "\\ud" in text.lower():  # halves of surrogate pairs, which belong together and are no text by themselves
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        refuse(f"{path}: the text of its settings", text, "JSON")
    if type(found) is not dict:
        refuse(f"{path}: the text of its settings", text, "a JSON object")
    level: list[Any] = [found]
    for _ in range(_DEEPEST):
        inside = [each for value in level for each in (value.values() if type(value) is dict else value)]
        level = [each for each in inside if type(each) in (dict, list)]
    if level:
        refuse(f"{path}: the text of its settings", text, f"a JSON object at most {_DEEPEST} levels deep")
    return found


def check_labels(settings: dict[str, Any], labels: Sequence[str], path: str) -> None:
    """Compare the settings of a chain or a classifier with the names of its labels.

    Raises:
        ModelFileError: the labels are not of the type in the settings, or are not the names of its classes.
    """
    if settings["model"] == "maxent":
        classes = settings["classes"]
        if len(set(labels)) < 2 or [str(each) for each in classes] != labels or len(set(labels)) < len(labels):
            refuse(
                f"{path}: setting classes", classes, f"what the labels {reprlib.repr(labels)} stand for, two at least"
            )
        return
    pattern = {"int": r"-?\d{1,4000}", "bool": "True|False"}.get(settings.get("label_type", "str"))
    wrong = next((label for label in labels if pattern and not re.fullmatch(pattern, label)), None)
    if wrong is not None:
        refuse(f"{path}: the label", wrong, f"of the type {settings['label_type']}, which is its setting label_type")


def typed_array(name: str, values: list[Any], kind: str) -> npt.NDArray[Any]:
    """Return the values of a setting as an array, shape (len(values),).

    Args:
        name: of the file and the setting.
        values: texts, numbers or truth values.
        kind: the array's type as NumPy writes it; O for values of several types.

    Raises:
        ModelFileError: the values are not of this type, or one stands there twice.
    """
    import numpy as np  # here: labelling text needs no NumPy

    found: npt.NDArray[Any] = np.empty(len(values), dtype=object)
    found[:] = values
    if kind != "O":
        # The length of texts in the file is not believed: the values have one.
        dtype: Any = str if "U" in kind else np.dtype(kind)
        names = [str(each) for each in values] if kind == "U" else values
        try:
            found = np.array(names, dtype=dtype)
        except (OverflowError, TypeError, ValueError):
            refuse(name, values, f"a list of values of type {kind}")
        if found.tolist() != names:
            refuse(name, values, f"a list of values of type {kind}")
    if len(set(values)) < len(values):
        refuse(name, values, "a list of different values")
    return found


def _is(wanted: str, fits: Callable[[Any], object]) -> Check:
    """Return the check whether a value fits, described in words."""

    def check(name: str, value: Any) -> None:
        if not fits(value):
            refuse(name, value, wanted)

    return check


def _whole(least: int = 0, most: int = _MOST) -> Check:
    wanted = f"a whole number of at least {least}" + (f" and at most {most}" if most < _MOST else "")
    return _is(wanted, lambda value: type(value) is int and least <= value <= most)


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_any_number(value: Any) -> bool:
    """Whether a value is a number that can be printed as one; NaN and infinity can."""
    return type(value) is float or _is_finite(value)


def _or_none(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _one_of(*choices: str) -> Check:
    return _is(" or ".join(choices), lambda value: type(value) is str and value in choices)


def _are(values: Any, *kinds: type) -> bool:
    """Whether something is a list of values of these types."""
    return type(values) is list and {*map(type, values)} <= {*kinds}


def _fields(checks: dict[str, Check], needed: Sequence[str] = ()) -> Check:
    """Return the check of an object by those of its fields, of which some are needed."""

    def check(name: str, value: Any) -> None:
        if type(value) is not dict:
            refuse(name, value, "a JSON object")
        _check_fields(f"{name}.", value, checks, needed)

    return check


def _check_fields(before: str, found: dict[str, Any], checks: dict[str, Check], needed: Sequence[str]) -> None:
    """Check the fields of an object, whose names stand behind a text in messages."""
    for name in needed:
        if name not in found:
            message = f"{before}{name} is missing; {_REMEDY}"
            raise ModelFileError(message)
    for name, check in checks.items():
        if name in found:
            check(before + name, found[name])


def _constraints(name: str, value: Any) -> None:
    is_list = type(value) is list and all(type(pair) is list and len(pair) == 2 for pair in value)
    ends = {type(label) for pair in value for label in pair} if is_list else set()
    pairs = is_list and ends <= {str, int, bool, type(None)} and [None, None] not in value
    if not (pairs or type(value) is str or value is None):
        refuse(name, value, "the name of a tagging scheme, or a list of pairs of labels")


def _text_settings(name: str, value: Any) -> None:
    """Check how texts were turned into numbers: see `loglinear.data.texts.settings_of`."""
    _fields({}, ("ngrams", "words", "idf"))(name, value)
    ngrams, words, idf = value["ngrams"], value["words"], value["idf"]
    if not (_are(ngrams, int) and len(ngrams) == 2 and 1 <= ngrams[0] <= ngrams[1] <= 100):
        refuse(f"{name}.ngrams", ngrams, "the least and the greatest length of word sequences, from 1 to 100")
    if not (_are(words, str) and words and len(set(words)) == len(words)):
        refuse(f"{name}.words", words, "a list of different words")
    if idf is not None and not (_are(idf, int, float) and all(map(_is_finite, idf)) and len(idf) == len(words)):
        refuse(f"{name}.idf", idf, f"a list of {len(words)} numbers, one for each word")


def _training(name: str, value: Any) -> None:
    """Check the summary of a training, which is empty for a model that was loaded and saved again."""
    _fields(_TRAINING)(name, value)
    if value:
        size = ("n_samples",) if "n_samples" in value else ("n_sentences", "n_tokens")
        _check_fields(f"{name}.", value, {}, ("status", "objective", "violation", "iterations", "seconds", *size))


_text = _is("a text", lambda value: type(value) is str)
_number = _is("a finite number", _is_finite)
_strength = _is("a finite number >= 0", lambda value: _is_finite(value) and value >= 0)
_any_number = _is("a number", _is_any_number)
_truth = _is("true or false", lambda value: type(value) is bool)
_scalar = _is("a single value", lambda value: type(value) not in (list, dict))
_object = _is("a JSON object", lambda value: type(value) is dict)
_threads = _is("a number of threads", lambda value: type(value) is int and (value == -1 or 1 <= value <= 2**16))
_texts = _is("a list of texts", lambda value: _are(value, str))
_format = _is("a format of data", lambda value: type(value) is str and (value in _NO_FORMATS or is_format(value)))
_scores = _is("scores by name", lambda value: type(value) is dict and all(map(_is_any_number, value.values())))

_TRAINING: dict[str, Check] = {
    "n_sentences": _whole(),
    "n_tokens": _whole(),
    "n_samples": _whole(),
    "n_features": _whole(),
    "chosen": _text,
    "status": _text,
    "objective": _number,
    "nll": _number,
    "violation": _or_none(_any_number),
    "gap": _or_none(_number),
    "iterations": _whole(),
    "passes": _number,
    "seconds": _number,
    "kept": _whole(),
    "dev": _scores,
    "start": _fields(
        {"model": _text, "n_shared": _whole(), "n_features": _whole(), "new_labels": _texts},
        ("model", "n_shared", "n_features", "new_labels"),
    ),
}
_EVERY: dict[str, Check] = {
    "loglinear": _text,
    "format": _format,
    "l1": _strength,
    "l2": _strength,
    "solver": _text,
    "tolerance": _or_none(_number),
    "gap": _or_none(_number),
    "solver_options": _or_none(_object),
    "random_state": _scalar,
    "max_iterations": _or_none(_whole()),
    "keep": _or_none(_text),
    "patience": _or_none(_whole()),
    "min_count": _whole(1),
    "n_jobs": _or_none(_threads),
    "verbose": _scalar,
    "constraints": _constraints,
    "imported": _one_of(*PROGRAMS),
    "text": _text_settings,
    "training": _training,
}
_CHAIN: dict[str, Check] = {
    "label_type": _one_of("str", "int", "bool"),
    "all_states": _truth,
    "all_transitions": _truth,
    "order": _whole(1, 2),
}
_MAXENT: dict[str, Check] = {
    "classes": _is("a list of texts or numbers", lambda value: _are(value, str, int, float, bool)),
    "class_type": _is("the type of an array", lambda value: type(value) is str and _ARRAY_TYPE.fullmatch(value)),
    "n_columns": _or_none(_whole(1, 2**31)),
    "multi_class": _one_of("softmax", "ovr"),
    "fit_intercept": _truth,
    "class_weight": _or_none(_text),
}
_NETWORK: dict[str, Check] = {
    "objective": _one_of("likelihood", "pseudolikelihood", "nodewise"),
    "inference": _or_none(_one_of("loopy_bp", "trw", "exact", "gibbs")),
    "inference_options": _or_none(_object),
    "path_options": _or_none(_object),
    "cuts": _or_none(_object),
    "grouped": _truth,
    "rule": _text,
    "max_states": _whole(2),
    "bins": _or_none(_whole(2)),
    "names": _or_none(_texts),
    "categories": _is(
        "a list of lists of texts, numbers and truth values",
        lambda value: _are(value, list) and all(_are(each, str, int, float, bool) for each in value),
    ),
    "category_types": _is(
        "a list of types of arrays",
        lambda value: _are(value, str) and all(each == "O" or _ARRAY_TYPE.fullmatch(each) for each in value),
    ),
    "bin_edges": _is(
        "a list with a list of numbers, or nothing, for each variable",
        lambda value: (
            _are(value, list, type(None))
            and all(type(each) is list and all(map(_is_any_number, each)) for each in value if each is not None)
        ),
    ),
}
_GRAPH: dict[str, Check] = {
    "inference": _one_of("auto", "exact", "loopy_bp", "trw"),
    "inference_options": _or_none(_object),
    "symmetric": _truth,
    "exact": _truth,
    "classes": _MAXENT["classes"],
    "class_type": _MAXENT["class_type"],
    "class_weight": _or_none(_text),
    "n_node_features": _whole(1, 2**31),
    "n_edge_features": _whole(1, 2**31),
}
# Kind -> the checks of its settings, and the names of those that have to be there.
_SETTINGS: dict[str, tuple[dict[str, Check], tuple[str, ...]]] = {
    "chain": (_EVERY | _CHAIN, ()),
    "maxent": (_EVERY | _MAXENT, ("classes", "class_type", "n_columns")),
    "network": (_EVERY | _NETWORK, ("l1", "l2", "objective", "names", "categories", "category_types", "bin_edges")),
    "graph": (_EVERY | _GRAPH, ("l1", "l2", *(_GRAPH.keys() - {"class_weight", "inference_options"}))),
}
