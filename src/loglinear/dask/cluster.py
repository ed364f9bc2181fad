"""A Dask cluster as this library uses it: checked at the start, watched, and with errors that say what to do."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from itertools import accumulate, pairwise, starmap
from typing import Any, TypeVar

from distributed import Client, Future, KilledWorker, LocalCluster, get_client
from distributed.comm import CommClosedError

import dask

from .. import version
from ..errors import ClusterError, LogLinearError, warn
from ..options import whole_number
from ..version import __version__
from .watch import STALL, Stalled, TaskStates, Watch

__all__ = ["Cluster", "client_of", "connected", "local_client", "runs"]

T = TypeVar("T")
# The exceptions of Dask when the scheduler does not answer.
_GONE = (CancelledError, asyncio.CancelledError, CommClosedError, TimeoutError, asyncio.TimeoutError, OSError)
# Seconds in which a scheduler or a worker answers unless it is stopped. A worker that imports SciPy on a busy machine
# does not answer for 10.
ANSWER = 20.0
# Seconds between checks of tasks that are waited for.
LOOK = 5.0


def client_of(client: object) -> Client:
    """Return the client given, or the current one.

    Raises:
        ClusterError: there is no current client.
    """
    if isinstance(client, Client):
        return client
    if client is not None:
        message = f"client={client!r} is not a distributed.Client"
        raise ClusterError(message)
    try:
        return get_client()
    except ValueError as error:
        message = "no Dask client found; create one, such as distributed.Client('tcp://host:8786'), or pass client="
        raise ClusterError(message) from error


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to the scheduler at an address such as tcp://host:8786.

    Raises:
        ClusterError: no scheduler answers there.
    """
    try:
        client = Client(address, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        message = f"no Dask scheduler answers at {address} ({error}); start one: dask scheduler"
        raise ClusterError(message) from error
    with client:
        yield client


@contextmanager
def local_client(workers: int) -> Iterator[Client]:
    """Start a cluster on this machine, of worker processes with one thread each, and end it afterwards."""
    whole_number("workers", workers, 1, 4096)
    with warnings.catch_warnings():
        # The dashboard uses another port, or none, if its port is in use.
        warnings.filterwarnings("ignore", message="Port \\d+ is already in use")
        settings = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with _deaf_to_ctrl_c():
            cluster = LocalCluster(**settings, silence_logs=logging.CRITICAL)
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let processes that start meanwhile ignore Ctrl-C, which a terminal sends to all: this process answers it."""
    if threading.current_thread() is not threading.main_thread():  # which alone may change this
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def runs(workers: Mapping[str, int], n_tasks: int) -> list[tuple[str | None, slice]]:
    """Return a run of neighbouring tasks for each worker, as long as its number of threads allows.

    Args:
        workers: number of threads by address; without any worker, one run holds all tasks and has no address.
        n_tasks: number of tasks.

    Example:
        >>> from loglinear.dask.cluster import runs
        >>> runs({"a": 1, "b": 3}, 8)
        [('a', slice(0, 2, None)), ('b', slice(2, 8, None))]
    """
    if not workers:
        return [(None, slice(0, n_tasks))]
    ends = [n_tasks * threads // sum(workers.values()) for threads in accumulate(workers.values(), initial=0)]
    return list(zip(workers, starmap(slice, pairwise(ends)), strict=True))


class Cluster:
    """A client, and the graphs of tasks that one training sends through it.

    Tasks are named after what they do and the part that they do it with, such as ``evaluate-part-0003-...``: that is
    what the dashboard shows.

    Args:
        client: connected to the scheduler.

    Raises:
        ClusterError: the scheduler or a worker has another version of loglinear, or none.

    Warns:
        UserWarning: a worker does not answer.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._run, self._serial = uuid.uuid4().hex[:12], 0
        self._silent: set[str] = set()
        self.check_versions()

    def check_versions(self) -> None:
        """Raise ClusterError if a worker has another version of loglinear, or none."""
        for address, answer in sorted(self._answers(getattr, version, "__version__").items()):
            if address in self._silent:
                warn(f"worker {address} has not answered for {ANSWER:g} s; training continues without it")
            if isinstance(answer, _GONE):
                continue  # a worker that is being lost; each task looks at the version again
            if isinstance(answer, BaseException):
                message = f"worker {address}: loglinear is missing ({answer}); install loglinear {__version__} there"
                raise ClusterError(message)
            if answer != __version__:
                message = (
                    f"worker {address} has loglinear {answer}, this process {__version__}; install the same version"
                )
                raise ClusterError(message)

    def _answers(self, question: Callable[..., T], *arguments: object) -> dict[str, T | Exception]:
        """Call a function on each worker; return its results by address, or exceptions.

        Workers that do not answer within `ANSWER` seconds get no further tasks, until they answer to another question.
        """

        async def answer(address: str) -> T | Exception:
            asked = self.client.run(question, *arguments, workers=[address], on_error="return")
            try:
                reply: T | Exception = (await asyncio.wait_for(asked, ANSWER))[address]
            except asyncio.TimeoutError as error:
                self._silent.add(address)
                reply = error
            return reply

        async def answers() -> dict[str, T | Exception]:
            addresses = list(await self.client.nthreads())
            return dict(zip(addresses, await asyncio.gather(*map(answer, addresses)), strict=True))

        self._silent.clear()
        with self.watched("look at the workers"):
            replies: dict[str, T | Exception] = self.client.sync(answers, callback_timeout=3 * ANSWER)
            return replies

    def workers(self) -> dict[str, int]:
        """Return the number of threads of each worker at the moment, by address, in order of the addresses."""
        with self.watched("look at the workers"):
            threads = self.client.sync(self.client.nthreads, callback_timeout=STALL)
        return {address: threads[address] for address in sorted(threads.keys() - self._silent)}

    def next_serial(self) -> int:
        """Return a number for the keys of the next tasks."""
        self._serial += 1
        return self._serial

    def key(self, name: str, serial: int, part: int | None = None) -> str:
        """Return the key of a task."""
        place = "" if part is None else f"part-{part:04d}-"
        return f"{name}-{place}{serial:06d}-{self._run}"

    def submit(self, graph: Mapping[str, object], keys: Sequence[str], worker: str | None = None) -> list[Future]:
        """Send tasks to the scheduler; return a future for each of the keys.

        The other tasks of the graph are forgotten as soon as the tasks that need them are done.

        Args:
            graph: tasks by key.
            keys: of the tasks whose results are wanted.
            worker: where the work is done best; another worker may do it.
        """
        settings = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
        where: dict[str, object] = {}
        if self._silent:
            where = {"workers": list(self.workers()) or None}
        elif worker is not None:
            where = {"workers": [worker], "allow_other_workers": True}
        with self.watched("send work to the cluster"), dask.config.set(settings):
            futures: list[Future] = self.client.get(graph, list(keys), sync=False, **where)
            return futures

    def begun(self, name: str, tasks: Sequence[tuple[object, ...]]) -> list[Future]:
        """Send tasks, one for each part, under new names; return their futures.

        Args:
            name: what the tasks do.
            tasks: each a function and its arguments, which may be futures.
        """
        serial = self.next_serial()
        graph = {self.key(name, serial, part): task for part, task in enumerate(tasks)}
        return self.submit(graph, list(graph))

    def results(self, send: Callable[[], Sequence[Future]], renew: Callable[[], None]) -> list[Any]:
        """Send tasks, wait for their results and return them: the only place that waits for work.

        When no task has moved for `watch.STALL` seconds, everything is sent once more. Tasks are pure: the results are
        the same.

        Args:
            send: sends the tasks, under new names each time, and returns futures of the results.
            renew: sends the tasks, under new names, that make what the tasks work on.

        Raises:
            LogLinearError: what the work has raised, or ClusterError.

        Warns:
            UserWarning: the work is sent once more.
        """
        try:
            return self._gathered(send())
        except Stalled as stall:
            warn(f"{stall}; sending the work again")
        renew()
        try:
            return self._gathered(send())
        except Stalled as stall:
            message = f"the cluster has stalled, and so has a second attempt: {stall}; check its workers"
            raise ClusterError(message) from stall

    def _gathered(self, futures: Sequence[Future]) -> list[Any]:
        """Return the results of futures.

        Raises:
            Stalled: no task moves.
        """
        watch, loop = Watch(futures), self.client.loop
        with self.watched("wait for the cluster"):
            gathered = self.client.gather(list(futures), direct=False, asynchronous=True)
            gathering = asyncio.run_coroutine_threadsafe(gathered, loop.asyncio_loop)
            try:
                while wait([gathering], LOOK).not_done:
                    if watch.is_still(self._places()):
                        watch.check(self._answers(TaskStates.of, self._run))
                results: list[Any] = gathering.result()
                return results
            finally:
                if not gathering.done():
                    # Without its futures Dask's coroutine ends by itself, unless it waits for a worker's results.
                    for future in futures:
                        future.release()
                    loop.add_callback(loop.call_later, ANSWER, gathering.cancel)

    def _places(self) -> dict[str, list[str]] | None:
        """Return the keys of the training's tasks on each worker, by address; None if the scheduler does not answer."""
        try:
            places = self.client.sync(self.client.processing, callback_timeout=ANSWER)
        except (TimeoutError, asyncio.TimeoutError):
            return None
        return {address: [str(key) for key in keys if self._run in str(key)] for address, keys in places.items()}

    @contextmanager
    def watched(self, what: str) -> Iterator[None]:
        """Turn Dask's errors into the library's."""
        try:
            yield
        except LogLinearError:
            raise
        except KilledWorker as error:
            task = getattr(error, "task", "a task")
            message = (
                f"workers died several times in a row at {task}, probably out of memory; give them more memory, "
                "or use smaller parts"
            )
            raise ClusterError(message) from error
        except _GONE as error:
            if (
                isinstance(error, OSError)
                and self.client.status == "running"
                and not isinstance(error, (TimeoutError, CommClosedError))
            ):
                raise  # of the work: a file that a worker cannot read
            address = self.client.scheduler.address if self.client.scheduler else "?"
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            message = f"lost the cluster at {address}: could not {what} ({reason})"
            raise ClusterError(message) from error
