"""Fitted attributes that change together: methods see one training, whatever another thread fits meanwhile.

A `fit` works on a copy of the estimator, and the estimator gets a new dict of attributes when the copy is trained. A
method runs on an object with the dict that the estimator has when the method is called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any, TypeVar

__all__ = ["OneState", "whole"]

T = TypeVar("T")

# The methods that replace the attributes.
_FITS = ("fit", "partial_fit")


class OneState:
    """Base of classes whose public methods read the attributes of one training, even while another thread fits."""

    def __init_subclass__(cls) -> None:
        for name, member in list(vars(cls).items()):
            if name[0] == "_" or name in _FITS:
                continue
            if isfunction(member):
                setattr(cls, name, _on_one_state(member))
            elif isinstance(member, property) and member.fget is not None:
                setattr(cls, name, property(_on_one_state(member.fget), member.fset, member.fdel, member.__doc__))
        super().__init_subclass__()

    def __copy__(self: T) -> T:
        """Return another object with the same attributes."""
        return _with(self, dict(vars(self)))


def _with(estimator: T, attributes: dict[str, Any]) -> T:
    """Return an object of an estimator's class that has this dict of attributes, not a copy of it."""
    other = object.__new__(type(estimator))
    other.__dict__ = attributes
    return other


def _on_one_state(method: Callable[..., T]) -> Callable[..., T]:
    """Return a method that runs with the attributes that its object has when it is called."""

    @wraps(method)
    def on_one_state(self: Any, *args: Any, **options: Any) -> Any:
        present = _with(self, vars(self))
        result = method(present, *args, **options)
        return self if result is present else result

    return on_one_state


def whole(fit: Callable[..., T]) -> Callable[..., T]:
    """Return a method `fit` whose attributes become the estimator's at once, or not at all if it raises.

    Otherwise the estimator would have the classes of the new data, say, and the weights of the old. A model that is
    complete when the error comes replaces the old one, as after an interrupted training or a warning that is an error.
    """

    @wraps(fit)
    def fit_whole(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        trained = _with(self, dict(before))
        try:
            result = fit(trained, *args, **options)
        except BaseException:
            if vars(trained).get("_results") is not before.get("_results"):
                _replace(self, before, vars(trained))
            raise
        _replace(self, before, vars(trained))
        return self if result is trained else result

    return fit_whole


def _replace(estimator: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Give an estimator new attributes all at once, but parameters as they are now if they have been set meanwhile."""
    parameters = {name: value for name, value in vars(estimator).items() if name[0] != "_" != name[-1]}
    changed = {name: value for name, value in parameters.items() if before.get(name, before) is not value}
    estimator.__dict__ = after | changed
