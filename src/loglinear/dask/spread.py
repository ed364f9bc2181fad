"""Work on parts that the workers of a cluster hold: the same as `objectives.groups.LocalGroup`, elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, NamedTuple

import numpy as np
import numpy.typing as npt
from dask.sizeof import sizeof
from dask.utils import format_bytes
from distributed import Future, get_worker

from ..errors import ClusterError
from ..objectives.groups import T, Work, added, in_tree, total_of
from ..vectors import Vector
from ..version import __version__
from .cluster import Cluster, runs

__all__ = ["HeldFuture", "Opaque", "SpreadGroup", "Tally", "bundle_size"]


class Slowest(NamedTuple):
    """The bundle of parts that took longest in a round.

    Attributes:
        seconds: on its worker.
        part: number of its first part.
        worker: address.
        total: seconds of all bundles together.
        bundles: their number.
    """

    seconds: float
    part: int
    worker: str
    total: float
    bundles: int


@dataclass
class Tally:
    """What a training has cost the network so far.

    Attributes:
        rounds: times that all parts were asked for something.
        sent: bytes that went out, to each worker once.
        received: bytes that came back to this process.
        slowest: of the last round that gave a sum.
    """

    rounds: int = 0
    sent: int = 0
    received: int = 0
    slowest: Slowest | None = field(default=None)

    def line(self) -> str:
        """Return a line for people."""
        text = f"{self.rounds} rounds, {format_bytes(self.sent + self.received)} moved"
        if self.slowest is None:
            return text
        mean = self.slowest.total / self.slowest.bundles
        share = self.slowest.seconds / mean if mean > 0.0 else 1.0
        return f"{text}, slowest at part {self.slowest.part} on {self.slowest.worker} ({share:.1f} x the mean)"


class _Sum(NamedTuple):
    """A sum over some parts, with their number and an account of the time."""

    numbers: tuple[float | Vector, ...]
    n_parts: int
    slowest: Slowest


class _Sparse(NamedTuple):
    """An array of which few entries are not 0."""

    size: int
    places: npt.NDArray[np.uint32]
    values: Vector


@dataclass(frozen=True)
class HeldFuture:
    """A thing that workers hold as long as there is a future of it, and how it is sent.

    Attributes:
        send: sends the thing.
        future: of the thing; None if it has to be sent again.
    """

    send: Callable[[], Future]
    future: Future | None = None


class SpreadGroup:
    """Objects that workers hold, one for each part, and work on them.

    Each piece of work is a pure task, and what it needs is in its recipe: the scheduler does it again elsewhere when
    the worker that has done it is lost. Nothing is scattered, for scattered data could not be made again.

    Parts that are neighbours in the tree are worked on together, in bundles of 1, 2, 4, ... parts: a task costs the
    scheduler a millisecond, and a sum a vector between workers. A bundle is a branch of the tree: however many parts it
    has, the sums are the same.

    Args:
        cluster: where the work is done.
        objects: what each part begins with, to be sent; or futures of it.
        tally: what is counted on the way.
    """

    def __init__(self, cluster: Cluster, objects: Sequence[object], tally: Tally | None = None) -> None:
        self.cluster, self.size = cluster, len(objects)
        self.tally = Tally() if tally is None else tally
        workers = cluster.workers()
        self._n_workers = len(workers)
        self._count = count = bundle_size(len(objects), max(sum(workers.values()), 1))
        self._first: list[Any] = [list(objects[at : at + count]) for at in range(0, len(objects), count)]
        self._bundles = self._first
        # Rounds that have built the bundles from the first ones.
        self._rounds: tuple[tuple[str, Work, tuple[object, ...]], ...] = ()

    def mapped(self, name: str, work: Work, *arguments: object) -> SpreadGroup:
        """Return the group of what the work makes of each object, which stays on the worker."""
        group = copy(self)
        again = tuple(replace(thing, future=None) if isinstance(thing, HeldFuture) else thing for thing in arguments)
        group._rounds += ((name, work, again),)
        group._make(name, work, arguments)
        return group

    def _make(self, name: str, work: Work, arguments: tuple[object, ...]) -> None:
        """Let the workers replace each object by the result of the work."""
        workers = self.cluster.workers()
        self._n_workers = len(workers)
        graph, keys, _ = self._tasks(name, _done, work, arguments)
        # Neighbours in the tree on the same worker, if all goes well: their sums need not travel.
        placed = [(None, slice(0, len(keys)))] if isinstance(self._bundles[0], Future) else runs(workers, len(keys))
        tasks = {key: graph.pop(key) for key in keys}
        futures: list[Future] = []
        for worker, run in placed:
            futures += self.cluster.submit(graph | {key: tasks[key] for key in keys[run]}, keys[run], worker)
        if len(futures) != len(keys):
            message = f"{name}: {len(futures)} of {len(keys)} groups of parts were sent to the workers; start again"
            raise ClusterError(message)
        self._bundles = futures

    def _renew(self) -> None:
        """Let the workers build the objects again, starting from the first ones."""
        self._bundles = self._first
        for round in self._rounds:
            self._make(*round)

    def each(self, name: str, work: Callable[..., T], *arguments: object) -> list[T]:
        """Return what the work returns for each object, in the order of the parts."""
        bundles = self._results(name, _done, work, arguments)
        results = [result for bundle in bundles for result in bundle.things]
        self._check_complete(name, len(results))
        self.tally.received += sum(getattr(result, "nbytes", 0) for result in results)
        return results

    def total(self, name: str, work: Callable[..., tuple[Any, ...]], *arguments: object) -> tuple[Any, ...]:
        """Return the sum of what the work returns, added up on the workers in a tree by the number of the part."""
        (total,) = self._results(name, _summed, work, arguments, join=("add-up", _joined_sums))
        self._check_complete(name, total.n_parts)
        self.tally.slowest = total.slowest
        self.tally.received += sum(getattr(number, "nbytes", 8) for number in total.numbers)
        numbers: tuple[Any, ...] = total.numbers
        return numbers

    def joined(self, name: str, work: Callable[..., T], *arguments: object, join: Callable[[T, T], T]) -> T:
        """Return what ``join`` makes, on the workers, of what the work returns."""
        joined: T = self._results(name, _joined, work, arguments, Opaque(join), join=("join", join))[0]
        return joined

    def _results(
        self,
        name: str,
        run: Work,
        work: Work,
        arguments: tuple[object, ...],
        *how: object,
        join: tuple[str, Work] | None = None,
    ) -> list[Any]:
        """Return the results of a round: of the task of each bundle, or of the tree that joins them."""

        def send() -> list[Future]:
            graph, keys, serial = self._tasks(name, run, work, arguments, *how)
            if join is not None:
                keys = [self._tree(graph, keys, f"{join[0]}-{name}", join[1], serial)]
            return self.cluster.submit(graph, keys)

        return self.cluster.results(send, self._renew)

    def _check_complete(self, name: str, n_parts: int) -> None:
        """Raise ClusterError if the result of a round does not come from all parts."""
        if n_parts != self.size:
            message = f"{name}: the cluster processed only {n_parts} of {self.size} parts; start again"
            raise ClusterError(message)

    def shared(self, name: str, thing: object) -> HeldFuture:
        """Return a large thing that work is given, and that travels to each worker once.

        It is in the recipe of a task: should the workers that have it be lost, the scheduler sends it again.
        """
        return HeldFuture(send := partial(_held, self.cluster, f"send-{name}", thing), send())

    def _tasks(
        self, name: str, run: Work, work: Work, values: tuple[object, ...], *how: object
    ) -> tuple[dict[str, object], list[str], int]:
        """Return the graph of a task for each bundle, the tasks' keys, and the number of the round."""
        serial = self.cluster.next_serial()
        graph: dict[str, object] = {}
        arguments = [self._argument(graph, value, f"{name}-{place}", serial) for place, value in enumerate(values)]
        keys = []
        for at, bundle in enumerate(self._bundles):
            part = at * self._count
            keys.append(self.cluster.key(name, serial, part))
            graph[keys[-1]] = (run, work, part, __version__, bundle, *how, *arguments)
        self.tally.rounds += 1
        return graph, keys, serial

    def _argument(self, graph: dict[str, object], argument: object, name: str, serial: int) -> object:
        """Return a stand-in for an argument of tasks; arrays are sent once to each worker that needs them."""
        if isinstance(argument, HeldFuture):
            return argument.send() if argument.future is None else argument.future
        if not isinstance(argument, np.ndarray):
            return Opaque(argument)
        packed, n_bytes = _packed(argument)
        self.tally.sent += n_bytes * min(self._n_workers, len(self._bundles))
        key = self.cluster.key(f"send-{name}", serial)
        graph[key] = (_sent, Opaque(packed))
        return key

    def _tree(self, graph: dict[str, object], keys: Sequence[str], name: str, join: Work, serial: int) -> str:
        """Add the tasks that join the results of the tasks with these keys; return the key of the last one."""
        count = 0

        def joined(left: str, right: str) -> str:
            nonlocal count
            count += 1
            key = self.cluster.key(name, serial, count)
            graph[key] = (join, left, right)
            return key

        return in_tree(keys, joined)


@dataclass(frozen=True)
class Opaque(Generic[T]):
    """A value in a graph that Dask must not look into."""

    value: T


def _held(cluster: Cluster, name: str, thing: object) -> Future:
    """Send a thing to a worker."""
    return cluster.begun(name, [(_sent, Opaque(thing))])[0]


def _sent(literal: Opaque[T]) -> T:
    return literal.value


def _packed(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any] | _Sparse, int]:
    """Return an array in the form to send, and its size in bytes; mostly zero weights are sent as the others."""
    if array.dtype == np.float64 and array.ndim == 1:
        places = np.flatnonzero(array)
        # -0.0 is not kept: as a weight it is 0.
        if places.size * 12 < array.nbytes // 2 and array.size < 2**32:
            sparse = _Sparse(array.size, places.astype(np.uint32), array[places])
            return sparse, sparse.places.nbytes + sparse.values.nbytes
    return array.copy(), array.nbytes


def _unpacked(argument: object) -> object:
    if isinstance(argument, Opaque):
        return argument.value
    if isinstance(argument, _Sparse):
        array = np.zeros(argument.size)
        array[argument.places] = argument.values
        return array
    # Arrays may start at any byte of the messages that contain them.
    return np.require(argument, requirements=["C", "A"]) if isinstance(argument, np.ndarray) else argument


@dataclass(frozen=True)
class _Bundle:
    """Things of neighbouring parts; an object, so that Dask does not search it."""

    things: list[Any]

    def __sizeof__(self) -> int:
        return sum(map(sizeof, self.things))


def bundle_size(n_parts: int, n_threads: int) -> int:
    """Return the number of parts in a bundle, a power of two that leaves each thread four bundles or more.

    Example:
        >>> from loglinear.dask.spread import bundle_size
        >>> bundle_size(50, 2), bundle_size(16, 4), bundle_size(3, 8)
        (4, 1, 1)
    """
    size = 1
    while n_parts >= 2 * size * 4 * n_threads:
        size *= 2
    return size


def _things(version: str, bundle: _Bundle | Sequence[object]) -> list[Any]:
    """Return the things of a bundle.

    Raises:
        ClusterError: the worker has another version of loglinear than the process that asks.
    """
    if version != __version__:
        message = f"a worker has loglinear {__version__}, the client {version}; install the same version"
        raise ClusterError(message)
    return bundle.things if isinstance(bundle, _Bundle) else list(bundle)


def _done(work: Work, part: int, version: str, bundle: _Bundle | Sequence[object], *arguments: object) -> _Bundle:
    """Do a piece of work for each thing of a bundle, on a worker."""
    things = [_unpacked(argument) for argument in arguments]
    return _Bundle([work(held, *things) for held in _things(version, bundle)])


def _joined(
    work: Work, part: int, version: str, bundle: _Bundle | Sequence[object], join: Opaque[Work], *arguments: object
) -> object:
    """Do a piece of work for each thing of a bundle, and join the results."""
    return in_tree(_done(work, part, version, bundle, *arguments).things, join.value)


def _summed(work: Work, part: int, version: str, bundle: _Bundle | Sequence[object], *arguments: object) -> _Sum:
    """Do a piece of work for each thing of a bundle and add up; say how long it took."""
    began = time.perf_counter()
    objects = _things(version, bundle)
    numbers = total_of(objects, work, map(_unpacked, arguments))
    seconds = time.perf_counter() - began
    try:
        worker = get_worker().address
    except ValueError:  # outside a worker
        worker = "here"
    return _Sum(numbers, len(objects), Slowest(seconds, part, worker, seconds, 1))


def _joined_sums(left: _Sum, right: _Sum) -> _Sum:
    slowest = max(left.slowest, right.slowest)
    total, bundles = left.slowest.total + right.slowest.total, left.slowest.bundles + right.slowest.bundles
    numbers, n_parts = added(left.numbers, right.numbers), left.n_parts + right.n_parts
    return _Sum(numbers, n_parts, slowest._replace(total=total, bundles=bundles))
