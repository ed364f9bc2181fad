"""One value for each sample: its class, its weight, its group."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, warn
from ..vectors import Vector
from .columns import is_absent
from .corpus import check_some_weight
from .frames import as_column
from .inputs import Array
from .labels import check_classes, check_small, check_types
from .matrix import refuse_mask

__all__ = ["check_count", "classes_of", "groups_of", "numbers_of", "weights_of_samples"]

# Kinds of arrays of classes, as NumPy calls them: whole numbers, truth values, texts.
_CLASSES = "biuUS"
# Types that `float` takes, or NumPy turns into numbers.
_NO_NUMBERS = (bytes, bytearray, complex, np.complexfloating, np.datetime64, np.timedelta64)
_CLASS = "leave out samples without a class"
_WEIGHT = "give finite numbers >= 0"


def classes_of(y: Any, called: str = "y", n_samples: int | None = None, model: Array | None = None) -> Array:
    """Return the classes of samples, shape (n_samples,): whole numbers, strings, truth values, bytes or dates.

    Args:
        y: classes of any library; a column of a matrix is one with a warning.
        called: name of the argument, for messages.
        n_samples: number of samples; None if it is not known yet.
        model: classes of a model, to which these are compared.

    Raises:
        DataError: a class is missing, or no class; names the sample. Or their number is wrong, or they are texts and
            those of the model are not, or the reverse.

    Warns:
        DataConversionWarning: y is a matrix of one column.
    """
    if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in _CLASSES):
        y = _classes(y, called)
    if n_samples is not None:
        check_count(y, n_samples, called)
    if model is not None and len(y) and _text(y) != _text(model):
        what = f"{called} has classes such as {y.tolist()[0]!r}, but the model's are such as {model.tolist()[0]!r}"
        message = f"{what}; give classes of the same type"
        raise DataError(message)
    return np.asarray(y)


def check_count(classes: Array, n_samples: int, called: str = "y") -> None:
    """Raise DataError unless there are as many classes as samples."""
    if len(classes) != n_samples:
        # scikit-learn's words, which programs may look for
        what = f"{called} has {len(classes)} classes, but X has {n_samples} samples (inconsistent numbers of samples)"
        message = f"{what}; give one class per sample"
        raise DataError(message)


def _text(classes: Array) -> str:
    """Return "str" or "bytes" for classes that are texts; else ""."""
    return {"O": "str", "U": "str", "S": "bytes"}.get(classes.dtype.kind, "")


def _classes(y: Any, called: str) -> Array:
    if y is None:
        message = f"a classifier requires {called} to be passed, but the target {called} is None; give the classes"
        raise DataError(message)
    refuse_mask(called, y)
    y = as_column(y, called)
    check_classes(y)
    array = _array(y, called)
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        # scikit-learn's words, which its checks look for
        words = "was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for example "
        warn(f"A column-vector y {words}using ravel().", DataConversionWarning)
        array = array.ravel()
    if array.ndim != 1:
        what = f"{called} should be a 1d array, got an array of shape {array.shape}"
        message = f"{what}; give one class per sample; for a multi-label task, train a model for each label"
        raise DataError(message)
    if array.dtype.kind == "O":
        array = _of_objects(array, called)
    if array.dtype.kind in "fmM":
        _check_classes_of_kind(array, called)
    elif array.dtype.kind == "c":
        message = f"Complex data not supported: {called} has type {array.dtype}; give classes as strings"
        raise DataError(message)
    return array


def _check_classes_of_kind(array: Array, called: str) -> None:
    """Raise DataError if numbers, dates or times are no classes."""
    refuse_missing(array, f"{called} contains NaN", _CLASS)
    if array.dtype.kind != "f":
        return
    with np.errstate(invalid="ignore"):  # infinity less infinity
        real = np.flatnonzero(array - np.floor(array) != 0.0)
    if not real.size:
        return
    row = real[0]
    if np.isinf(array[row]):
        message = f"{called} contains {array[row]} in row {row}; give finite classes"
        raise DataError(message)
    what = f"Unknown label type: continuous; {called} has real numbers, such as {array[row]} in row {row}"
    message = f"{what}, as in a regression task; a classifier needs classes"
    raise DataError(message)


def _of_objects(array: Array, called: str) -> Array:
    """Return objects as an array of their type; strings stay objects."""
    values = array.tolist()
    refuse_missing(array, f"{called} contains NaN", _CLASS)
    if all(isinstance(value, str) for value in values):
        return array
    check_classes(values)
    check_small(values)
    try:
        plain = np.array(values)
    except ValueError:  # sequences of several lengths
        plain = array
    if plain.ndim != 1 or plain.dtype.kind not in _CLASSES + "fc":
        what = f"Unknown label type: {called} has values of type {type(values[0]).__name__}"
        message = f"{what}; give strings, whole numbers or truth values, such as list(map(str, {called}))"
        raise DataError(message)
    return plain


def weights_of_samples(sample_weight: Any, n_samples: int, called: str = "sample_weight") -> Vector:
    """Return the weights of samples, a new array of shape (n_samples,); a number is the weight of each sample.

    Raises:
        DataError: a weight is not a finite number >= 0; names the sample. Or all are 0, or their number is wrong.
    """
    if isinstance(sample_weight, Real):
        try:
            sample_weight = np.full(n_samples, sample_weight, dtype=np.float64)
        except OverflowError:
            message = f"{called} is too large for a float: {sample_weight!r:.60}; {_WEIGHT}"
            raise DataError(message) from None
    weights = numbers_of(sample_weight, called)
    if weights.shape != (n_samples,):
        what = f"{called} has shape {weights.shape}, but X has {n_samples} samples"
        message = f"{what}; give one weight per sample, shape ({n_samples},)"
        raise DataError(message)
    with np.errstate(over="ignore", invalid="ignore"):
        total = weights.sum()
    if not (np.isfinite(total) and weights.min(initial=0.0) >= 0.0):
        _refuse_weights(weights, called)
    check_some_weight(total, called=called)
    return np.array(weights)


def _refuse_weights(weights: Vector, called: str) -> None:
    """Raise DataError about the first weight that is none, or about a sum that is too large."""
    refuse_missing(weights, f"{called} contains NaN", _WEIGHT)
    for wrong, what in ((np.isinf(weights), "infinite"), (weights < 0.0, "negative")):
        if wrong.any():
            row = int(np.argmax(wrong))
            message = f"{called} is {what} in row {row} ({weights[row]}); {_WEIGHT}"
            raise DataError(message)
    message = f"the sum of {called} is too large for a float; divide the weights by a power of 10"
    raise DataError(message)


def numbers_of(values: Any, called: str) -> Vector:
    """Return numbers of any library as float64, without a copy if they are; of any shape.

    Raises:
        DataError: a value is not a number; names the row.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    refuse_mask(called, values)
    array = _array(as_column(values, called), called)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind not in "OUT":
        message = f"{called} has type {array.dtype}; {_WEIGHT}"
        raise DataError(message)
    numbers = np.empty(array.shape)
    for row, value in enumerate(array.ravel().tolist()):
        try:
            if isinstance(value, _NO_NUMBERS):
                raise TypeError
            numbers.flat[row] = np.nan if is_absent(value) else float(value)
        except (TypeError, ValueError, OverflowError) as error:
            message = f"{called} is not a number in row {row}: {value!r:.60}; {_WEIGHT}"
            raise DataError(message) from error
    return numbers


def groups_of(groups: Any, n_samples: int, called: str = "groups") -> npt.NDArray[np.int64]:
    """Return the number of each sample's group, from 0, shape (n_samples,).

    Args:
        groups: group of each sample.
        n_samples: number of samples.
        called: what messages call the groups.

    Raises:
        DataError: a group is missing, groups have several types, or their number is wrong.
    """
    refuse_mask(called, groups)
    groups = as_column(groups, called)
    names = _array(groups, called)
    if names.shape != (n_samples,):
        message = f"{called} have shape {names.shape}, but X has {n_samples} samples; give one group per sample"
        raise DataError(message)
    try:
        refuse_missing(names, "a group is missing", "")
        values = groups if isinstance(groups, list | tuple) else names.tolist() if names.dtype.kind == "O" else ()
        check_types(values)
        return np.unique(names, return_inverse=True)[1].astype(np.int64)
    except (TypeError, DataError) as error:
        message = f"{called} cannot be told apart ({error}); give numbers or strings, all of one type"
        raise DataError(message) from error


def refuse_missing(array: Array, what: str, remedy: str) -> None:
    """Raise DataError if a value is missing: None, NaN, NaT, or NA of pandas; names the row."""
    if array.dtype.kind == "O":
        missing = np.fromiter(map(is_absent, array.ravel().tolist()), np.bool_, array.size)
    elif array.dtype.kind in "fcmM":
        missing = np.isnan(array).ravel() if array.dtype.kind in "fc" else np.isnat(array).ravel()
    else:
        return
    if missing.any():
        message = f"{what} in row {int(np.argmax(missing))}" + (f"; {remedy}" if remedy else "")
        raise DataError(message)


def _array(values: Any, called: str) -> Array:
    """Return values as an array of any shape.

    Raises:
        DataError: the values are sparse, records, go through once, or sequences of several lengths.
    """
    if isinstance(values, Iterator):
        message = f"{called} is a {type(values).__name__}, which can be gone through only once; give list({called})"
        raise DataError(message)
    if hasattr(values, "tocsr") or isinstance(values, np.matrix):
        kind, dense = ("sparse matrix", "toarray().ravel()") if hasattr(values, "tocsr") else ("numpy.matrix", "A1")
        message = f"{called} is a {kind}; give a dense array of one dimension: {called}.{dense}"
        raise DataError(message)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{called} cannot be read as an array ({error}); give one value per sample"
        raise DataError(message) from error
    if array.dtype.kind == "V":
        message = f"{called} is an array of records; give one of its fields: {called}[name]"
        raise DataError(message)
    return array.astype(np.str_) if array.dtype.kind == "T" else array
