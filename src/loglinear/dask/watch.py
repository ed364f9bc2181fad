"""A watch over tasks of a cluster, which tells work that takes long from work that stands still."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from distributed import Future, Worker

__all__ = ["Stalled", "TaskStates", "Watch"]

# Seconds within which a task must move. A worker that its nanny restarts is back within 10 seconds, and weights
# of 100 million features pass a network of 1 Gbit/s in 7. A task that runs on a worker may take any time.
STALL = 60.0
# States of a task on a worker that has everything the task needs.
_READY = ("ready", "constrained", "executing", "long-running")
# Number of tasks that a message lists.
_NAMED = 4


class Stalled(Exception):
    """No task has moved for `STALL` seconds; the message says which tasks wait for what."""


class TaskStates(NamedTuple):
    """A training's tasks on a worker.

    Attributes:
        unfinished: states of the tasks by their keys.
        n_running: number of tasks that run there, of this training or of others.
        n_threads: number of tasks that can run there.
    """

    unfinished: dict[str, str]
    n_running: int
    n_threads: int

    @classmethod
    def of(cls, run: str, dask_worker: Worker) -> TaskStates:
        """Return the tasks whose keys contain ``run``; Dask passes the worker."""
        state = dask_worker.state
        unfinished = {
            str(key): str(task.state)
            for key, task in state.tasks.items()
            if run in str(key) and task.state not in ("memory", "released")
        }
        return cls(unfinished, len(state.executing) + len(state.long_running), state.nthreads)

    @property
    def are_at_work(self) -> bool:
        """Whether a task of the training runs, or has to wait for the tasks that run."""
        return self.n_running > 0 and any(state in _READY for state in self.unfinished.values())


class Watch:
    """The movement of tasks: a task moves when a worker begins or ends it.

    Args:
        futures: the results that are waited for.
    """

    def __init__(self, futures: Sequence[Future]) -> None:
        self._futures = futures
        self._places: Mapping[str, Sequence[str]] = {}
        self._n_done = 0
        self._moved = self._heard = time.monotonic()

    def is_still(self, places: Mapping[str, Sequence[str]] | None) -> bool:
        """Return whether no task has moved for `STALL` seconds.

        Args:
            places: keys of the training's tasks on each worker, by address; None if the scheduler has not answered.

        Raises:
            TimeoutError: the scheduler has not answered for `STALL` seconds.
        """
        now, n_done = time.monotonic(), sum(future.done() for future in self._futures)
        if places is None:
            if now - self._heard >= STALL:
                message = f"the scheduler has not answered for {STALL:g} s"
                raise TimeoutError(message)
            return False
        self._heard = now
        if (places, n_done) != (self._places, self._n_done):
            self._moved, self._places, self._n_done = now, places, n_done
        return now - self._moved >= STALL

    def check(self, answers: Mapping[str, TaskStates | BaseException]) -> None:
        """Continue the watch if a worker is at work on one of the tasks, or all workers have work to do before them.

        Args:
            answers: tasks on each worker by address; an exception where the worker has not answered.

        Raises:
            Stalled: no worker is.
        """
        states = {address: answer for address, answer in answers.items() if isinstance(answer, TaskStates)}
        are_full = [tasks.n_running >= tasks.n_threads for tasks in states.values()]
        if any(tasks.are_at_work for tasks in states.values()) or (are_full and all(are_full)):
            self._moved = time.monotonic()
            return
        held = []
        for address, keys in self._places.items():
            place = states.get(address)
            where = [place.unfinished.get(key, "lost") if place else "no answer" for key in keys]
            held += [f"{_name(key)} on {address} ({state})" for key, state in zip(keys, where, strict=True)]
        waiting = [_name(str(future.key)) for future in self._futures if not future.done()]
        if not waiting:
            text = "the results cannot be fetched"
        elif held:
            text = f"{_some(waiting)} waits for {_some(held)}"
        else:
            text = f"{_some(waiting)} waits for a worker ({len(states)} of {len(answers)} workers answer)"
        message = f"no task has made progress for {STALL:g} s: {text}"
        raise Stalled(message)


def _name(key: str) -> str:
    """Return the key of a task without the numbers of its round and training."""
    return key.rsplit("-", 2)[0]


def _some(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    text = ", ".join(names[:_NAMED])
    return text if len(names) <= _NAMED else f"{text} and {len(names) - _NAMED} more"
