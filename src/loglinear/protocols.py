"""Whether objects satisfy protocols: as ``isinstance`` says it, but a hundred times as fast.

Solvers, objectives and penalties are any objects with the right members, and much depends on which they have. Asking
``isinstance`` takes several microseconds each time, and it evaluates properties, which may be large arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Protocol, TypeGuard, TypeVar

__all__ = ["missing", "satisfies"]

T = TypeVar("T")
# What `_lacking` has returned.
_LACKING: dict[tuple[type, Callable[..., object]], tuple[str, ...]] = {}


def missing(thing: object, protocol: type) -> list[str]:
    """Return the names of a protocol that an object lacks; no property of its class is evaluated.

    Example:
        >>> from loglinear import ElasticNet
        >>> from loglinear.problem import Convex
        >>> from loglinear.protocols import missing
        >>> missing(ElasticNet(), Convex)
        ['is_convex']
    """
    return [name for name in _lacking(type(thing), protocol) if not hasattr(thing, name)]


def satisfies(thing: object, protocol: Callable[..., T]) -> TypeGuard[T]:
    """Whether an object has all members of a protocol.

    Example:
        >>> from loglinear import ClassifierObjective
        >>> from loglinear.problem import Convex, Restrictable
        >>> from loglinear.protocols import satisfies
        >>> objective = ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2)
        >>> satisfies(objective, Convex), satisfies(3, Restrictable)
        (True, False)
    """
    names = _lacking(type(thing), protocol)
    return not names or all(hasattr(thing, name) for name in names)


def _lacking(kind: type, protocol: Callable[..., object]) -> tuple[str, ...]:
    """Return the public names of a protocol that a class does not have; its objects may have them."""
    names = _LACKING.get((kind, protocol))
    if names is None:
        members = dict.fromkeys(name for name in _members(protocol) if not name.startswith("_"))
        names = _LACKING[kind, protocol] = tuple(name for name in members if not hasattr(kind, name))
    return names


def _members(protocol: Callable[..., object]) -> Iterator[str]:
    """Yield the names of a protocol, and of the protocols that it is made of."""
    for base in inspect.getmro(protocol) if isinstance(protocol, type) else ():
        if base not in (object, Protocol):
            yield from vars(base)
            yield from inspect.get_annotations(base)
