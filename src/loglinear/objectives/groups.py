"""Work on the parts of a data set, one after the other in this process; `loglinear.dask` has it done by a cluster.

What parts give is added up in a binary tree that depends on their number alone, so that the same parts give bitwise the
same sum wherever and in whatever order they are worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

__all__ = ["Group", "Held", "LocalGroup", "added", "in_tree", "total_of"]

T = TypeVar("T")
Work = Callable[..., Any]


class Held(Protocol):
    """Something that stands for a thing in what work is given."""


class Group(Protocol):
    """Objects, one for each part, and work on them.

    Work is a function of a module, called with the object and further arguments, the same for all parts, of
    which a ``Held`` stands for the thing that it holds. It is pure: it may be done twice, or elsewhere again. The
    arrays that it returns are new.
    """

    @property
    def size(self) -> int:
        """Number of parts, at least 1."""

    def mapped(self, name: str, work: Work, *arguments: object) -> Group:
        """Return the group of what the work makes of each object, which stays where it was made.

        Args:
            name: of the work, for people.
            work: see the class.
            arguments: further arguments of the work.
        """

    def each(self, name: str, work: Callable[..., T], *arguments: object) -> list[T]:
        """Return what the work returns for each object, in the order of the parts."""

    def total(self, name: str, work: Callable[..., tuple[Any, ...]], *arguments: object) -> tuple[Any, ...]:
        """Return the sum, by `added`, of what the work returns, added up as `in_tree` does."""

    def joined(self, name: str, work: Callable[..., T], *arguments: object, join: Callable[[T, T], T]) -> T:
        """Return what ``join`` makes, as `in_tree` does, of what the work returns."""

    def shared(self, name: str, thing: object) -> Held:
        """Return a large thing that work is given, and that travels to each machine once."""


def in_tree(items: Iterable[T], join: Callable[[T, T], T]) -> T:
    """Return what ``join`` makes of all items, neighbours first, then neighbouring pairs, and so on.

    The tree depends on the number of items alone. At most log2(number) + 1 intermediate results are there at a time.

    Example:
        >>> from loglinear.objectives.groups import in_tree
        >>> in_tree("abcde", lambda left, right: f"({left}{right})")
        '(((ab)(cd))e)'
    """
    waiting: list[tuple[int, T]] = []
    for item in items:
        level = 0
        while waiting and waiting[-1][0] == level:
            item, level = join(waiting.pop()[1], item), level + 1
        waiting.append((level, item))
    joined = waiting.pop()[1]
    while waiting:
        joined = join(waiting.pop()[1], joined)
    return joined


def added(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return two tuples of numbers and arrays, added entry by entry."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


def total_of(
    objects: Iterable[object], work: Callable[..., tuple[Any, ...]], arguments: Iterable[object]
) -> tuple[Any, ...]:
    """Return the sum, as `in_tree` makes it, of what the work returns for objects in this process."""
    things = list(arguments)
    return in_tree((work(part, *things) for part in objects), _added_here)


def _added_here(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what `added` returns; the sum overwrites the arrays on the left, which are not used elsewhere."""
    pairs = zip(left, right, strict=True)
    return tuple(np.add(a, b, out=a) if isinstance(a, np.ndarray) else a + b for a, b in pairs)


class LocalGroup:
    """Objects in this process.

    Args:
        objects: one for each part, at least one.
    """

    def __init__(self, objects: Sequence[object]) -> None:
        self.objects = list(objects)

    @property
    def size(self) -> int:
        """Number of parts."""
        return len(self.objects)

    def mapped(self, name: str, work: Work, *arguments: object) -> LocalGroup:
        """Return the group of what the work makes of each object."""
        return LocalGroup(self.each(name, work, *arguments))

    def each(self, name: str, work: Callable[..., T], *arguments: object) -> list[T]:
        """Return what the work returns for each object."""
        return [work(part, *_things(arguments)) for part in self.objects]

    def total(self, name: str, work: Callable[..., tuple[Any, ...]], *arguments: object) -> tuple[Any, ...]:
        """Return the sum of what the work returns."""
        return total_of(self.objects, work, _things(arguments))

    def joined(self, name: str, work: Callable[..., T], *arguments: object, join: Callable[[T, T], T]) -> T:
        """Return what ``join`` makes of what the work returns."""
        return in_tree((work(part, *_things(arguments)) for part in self.objects), join)

    def shared(self, name: str, thing: object) -> Here:
        """Return the thing."""
        return Here(thing)


class Here:
    """A thing in this process."""

    def __init__(self, thing: object) -> None:
        self._thing = thing

    def get(self) -> object:
        """Return the thing."""
        return self._thing


def _things(arguments: tuple[object, ...]) -> list[object]:
    return [argument.get() if isinstance(argument, Here) else argument for argument in arguments]
