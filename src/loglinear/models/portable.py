"""Pickles of estimators that any version of NumPy opens.

NumPy pickles arrays by the names of its private modules, which NumPy 2 has renamed. Here arrays, and single numbers of
NumPy, are pickled as their type, shape and bytes.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["opened", "portable"]


class _Pickled:
    """The pickle of an attribute."""

    def __init__(self, content: bytes) -> None:
        self.content = content


def portable(attributes: Mapping[str, Any], protocol: int) -> dict[str, Any]:
    """Return attributes as they are pickled: without NumPy's private names, unless only another pickler knows a value.

    Args:
        attributes: by name.
        protocol: of pickle.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return dict(attributes)
    values: dict[str, Any] = {}
    for name, value in attributes.items():
        if value is None or type(value) in (bool, int, float, str):
            values[name] = value
            continue
        out = io.BytesIO()
        try:
            _Pickler(out, protocol).dump(value)
        except (pickle.PicklingError, AttributeError, TypeError):  # such as a lambda, which cloudpickle takes
            values[name] = value
        else:
            values[name] = _Pickled(out.getvalue())
    return values


def opened(kind: type[Any], attributes: Mapping[str, Any]) -> Any:
    """Return the estimator of a class with attributes that `portable` has made."""
    state = {
        name: pickle.loads(value.content) if isinstance(value, _Pickled) else value
        for name, value in attributes.items()
    }
    estimator = object.__new__(kind)
    if hasattr(estimator, "__setstate__"):
        estimator.__setstate__(state)
    else:
        vars(estimator).update(state)
    return estimator


class _Pickler(pickle.Pickler):
    """A pickler that writes NumPy's arrays and numbers by their public names."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how an array or a number of NumPy is made; NotImplemented for other objects."""
        numpy = sys.modules["numpy"]
        if isinstance(obj, numpy.generic) and obj.dtype.kind in "biufcmMSU":
            return _number, (obj.dtype.str, obj.tobytes())
        if type(obj) is not numpy.ndarray or obj.dtype.kind not in "biufcmMSUO":
            return NotImplemented
        order = "F" if obj.flags.fnc else "C"
        content = obj.ravel(order).tolist() if obj.dtype.kind == "O" else obj.tobytes(order)
        return _array, (obj.dtype.str, obj.shape, order, content)


def _number(dtype: str, content: bytes) -> Any:
    """Return a number of NumPy."""
    return _array(dtype, (), "C", content)[()]


def _array(dtype: str, shape: tuple[int, ...], order: Any, content: bytes | list[Any]) -> Any:
    """Return an array of NumPy."""
    import numpy as np

    if isinstance(content, bytes):
        return np.ndarray(shape, dtype, content, order=order).copy(order)
    array = np.empty(len(content), dtype=object)
    for at, value in enumerate(content):
        array[at] = value
    return array.reshape(shape, order=order)
