"""A Dask cluster as this library uses it: checked at the start, watched, and with errors that say what to do."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import accumulate, pairwise, starmap
from typing import Any

from distributed import Client, Future, KilledWorker, LocalCluster, get_client
from distributed.comm import CommClosedError

import dask

from ..errors import ClusterError, LogLinearError
from ..options import whole_number
from ..version import __version__

__all__ = ["Cluster", "client_of", "connected", "local_client", "runs"]

# What Dask raises when the scheduler does not answer.
_GONE = (CancelledError, asyncio.CancelledError, CommClosedError, TimeoutError, OSError)


def client_of(client: Any) -> Client:
    """Return the client given, or the current one.

    Raises:
        ClusterError: there is none.
    """
    if isinstance(client, Client):
        return client
    if client is not None:
        message = f"client={client!r} is no distributed.Client"
        raise ClusterError(message)
    try:
        return get_client()
    except ValueError as error:
        message = "there is no Dask client; make one, such as distributed.Client('tcp://host:8786'), or give client="
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
        # The dashboard takes another port, or none, where its own is taken.
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
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._run, self._serial = uuid.uuid4().hex[:12], 0
        self.check_versions()

    def check_versions(self) -> None:
        """Raise ClusterError if a worker has another version of loglinear, or none."""
        with self.watched("look at the workers"):
            found = self.client.run(_version, on_error="return")
        for address, version in sorted(found.items()):
            if isinstance(version, _GONE):
                continue  # a worker that is being lost; each task looks at the version again
            if isinstance(version, BaseException):
                message = f"worker {address} has no loglinear ({version}); install loglinear {__version__} there"
                raise ClusterError(message)
            if version != __version__:
                message = f"worker {address} has loglinear {version}, this process {__version__}; they have to agree"
                raise ClusterError(message)

    def workers(self) -> dict[str, int]:
        """Return the number of threads of each worker at the moment, by address, in order of the addresses."""
        with self.watched("look at the workers"):
            return dict(sorted(self.client.nthreads().items()))

    def next_serial(self) -> int:
        """Return a number for the keys of the next tasks."""
        self._serial += 1
        return self._serial

    def key(self, name: str, serial: int, part: int | None = None) -> str:
        """Return the key of a task."""
        place = "" if part is None else f"part-{part:04d}-"
        return f"{name}-{place}{serial:06d}-{self._run}"

    def submit(self, graph: dict[str, Any], keys: Sequence[str], worker: str | None = None) -> list[Future]:
        """Send tasks to the scheduler; return a future for each of the keys.

        The other tasks of the graph are forgotten as soon as the tasks that need them are done.

        Args:
            graph: tasks by key.
            keys: of the tasks whose results are wanted.
            worker: where the work is done best; another worker may do it.
        """
        settings = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
        with self.watched("send work to the cluster"), dask.config.set(settings):
            where: dict[str, Any] = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
            futures: list[Future] = self.client.get(graph, list(keys), sync=False, **where)
            return futures

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """Wait for futures and return what they hold.

        Raises:
            LogLinearError: what the work has raised, or ClusterError.
        """
        with self.watched("wait for the cluster"):
            found: list[Any] = self.client.gather(list(futures), direct=False)
            return found

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
                f"workers died several times in a row at {task}; most likely they ran out of memory: give them more, "
                "or cut the data into smaller parts"
            )
            raise ClusterError(message) from error
        except _GONE as error:
            if (
                isinstance(error, OSError)
                and self._answers()
                and not isinstance(error, (TimeoutError, CommClosedError))
            ):
                raise  # of the work: a file that a worker cannot read
            address = self.client.scheduler.address if self.client.scheduler else "?"
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            message = f"the cluster at {address} is gone, or has forgotten this training: could not {what} ({reason})"
            raise ClusterError(message) from error

    def _answers(self) -> bool:
        return bool(self.client.status == "running")


def _version() -> str:
    from loglinear.version import __version__ as version

    return version
