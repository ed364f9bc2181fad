"""Checkpoints: a training writes its state to a file now and then, and a later run resumes from it."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from ...data.writing import check_writable
from ...errors import DataError, ObjectiveError, OptionError
from ...minimize import Callback, minimize
from ...options import fail, real_number, truth_value
from ...problem import Problem
from ...result import Result, State, Status
from ...solvers import SOLVERS, Solver, solver_name
from ...solvers.common.state_schema import check_declared
from ...stopping import Stop
from ...trace import Trace, TraceRecord
from ...vectors import Vector
from ..files import checkpoint as checkpoint_file
from .interrupts import Postponed
from .terms import Terms, changes, is_terms

__all__ = ["Checkpoint", "Resumes", "Saving"]


class Checkpoint:
    """A file from which a training can resume after a crash, Ctrl-C or a time limit.

    The file is replaced atomically every few minutes, at Ctrl-C or a signal that ends the program, and at the end of
    the training. Ctrl-C and signals wait for the end of a step; a second one ends the training at once, without a
    checkpoint. Final weights, iterations, trace and development scores are bitwise the same as without interruption;
    seconds add up. If a checkpoint cannot be written, the training warns and continues.

    The file remains after the training. Resuming then returns the same weights at once, or continues if
    ``max_iterations`` is larger. Options that do not affect the weights, such as ``n_jobs``, may change; any other
    change is an error that names the option.

    Args:
        path: the file.
        minutes: minutes between checkpoints, >= 0; 0 for one after every step.
        resume: continue from the file if it exists, so that the same program can be run again and again. Otherwise the
            training starts from the beginning and overwrites the file of a finished training; the file of an
            unfinished one is an error.
        note: called with a line of text that says where the training starts.

    Attributes:
        iteration: iteration of the last checkpoint read or written; None before.

    Raises:
        OptionError: an argument is out of range.

    Example:
        >>> import os, tempfile
        >>> from loglinear import ChainCRF, Checkpoint
        >>> X, y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = Checkpoint(os.path.join(folder, "crf.checkpoint"), resume=True)
        ...     crf = ChainCRF().fit(X, y, checkpoint=checkpoint)  # the same after a crash
        ...     again = ChainCRF().fit(X, y, checkpoint=checkpoint)
        >>> bool((again.result_.w == crf.result_.w).all()), checkpoint.iteration == crf.result_.iterations
        (True, True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        minutes: float = 10.0,
        *,
        resume: bool = False,
        note: Callable[[str], object] | None = None,
    ) -> None:
        real_number("minutes", minutes, "a number of minutes >= 0", lambda x: x >= 0.0)
        truth_value("resume", resume)
        if not isinstance(path, (str, os.PathLike)) or os.fspath(path) in ("", "-"):
            fail("checkpoint", path, "is not the path of a file")
        self.path, self.minutes, self.resume, self.note = os.fsdecode(path), minutes, resume, note
        self.iteration: int | None = None
        self._found: _Found | None = None

    def open(self) -> None:
        """Look at the file: what is wrong with it is cheaper to find before data are read.

        Raises:
            DataError: the file is damaged, cut short, or no checkpoint, or one of another version.
            OptionError: a file of this name cannot be written, or has an unfinished training that is not to be resumed.
            OSError: the file cannot be read.
        """
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            message = f"{self.path}: not a regular file; choose another name for the checkpoint"
            raise OptionError(message)
        check_writable(self.path)
        if not os.path.exists(self.path):
            return
        if self.resume:
            self._found = _Found.read(self.path)
        elif not checkpoint_file.is_checkpoint(self.path):
            message = f"{self.path}: this file is not a checkpoint; choose another name, or delete it"
            raise DataError(message)
        elif not (unfinished := _Found.read(self.path)).is_finished:
            at = unfinished.records[-1].iteration
            message = f"{self.path}: has an unfinished training, at iteration {at:,}"
            message += "; pass resume=True (--resume) to continue it, choose another name, or delete the file"
            raise OptionError(message)

    def take(self) -> _Found | None:
        """Return what the file holds, once; None if the training starts from the beginning."""
        if self._found is None:
            self.open()
        saved, self._found = self._found, None
        return saved

    def tell(self, message: str) -> None:
        """Say something of the file, if there is someone to say it to."""
        if self.note is not None:
            self.note(f"{self.path}: {message}")


@runtime_checkable
class Resumes(Protocol):
    """A callback of `minimize` that is told of the records of a training before its first call."""

    def resume(self, records: Trace) -> None:
        """Continue the records of a resumed training; an empty list for one that starts from the beginning."""


class Remembers(Protocol):
    """A callback whose memory belongs to a checkpoint."""

    def memory(self) -> Any:
        """Return the memory."""

    def restore(self, memory: Any, records: Trace) -> None:
        """Take back the memory, when these records have been made."""


@dataclass(frozen=True)
class _Found:
    """The content of a checkpoint.

    Attributes:
        terms: of the training.
        records: the trace up to the checkpoint.
        memory: state of the callback that keeps the best weights.
        state: of the solver.
        is_finished: whether the training had come to its end.
    """

    terms: Any
    records: Trace
    memory: Any
    state: Any
    is_finished: bool

    @classmethod
    def read(cls, path: str) -> _Found:
        content = checkpoint_file.read(path)
        try:
            records = Trace(map(TraceRecord.from_json, content["trace"]))
            if not records or not is_terms(content["terms"]):
                message = "settings or trace records are missing"
                raise ValueError(message)
            is_finished = content.get("is_finished") is True or content["state"].status is not Status.RUNNING
            return cls(content["terms"], records, content["memory"], content["state"], is_finished)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            message = f"{path}: not a checkpoint of this version of loglinear ({error}); delete it to start again"
            raise DataError(message) from error


class Saving:
    """A minimisation that writes checkpoints and resumes from one.

    Args:
        checkpoint: the file.
        options: options that determine the weights, in addition to the solver's and the penalty's, by name.
        data: fingerprints of the data by name.

    Raises:
        OptionError: the checkpoint is none.
    """

    def __init__(
        self, checkpoint: Checkpoint, options: Mapping[str, Any], data: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        if not isinstance(checkpoint, Checkpoint):
            fail("checkpoint", checkpoint, "is not a Checkpoint; give Checkpoint(path)")
        self.options, self.data = options, data
        self._checkpoint = checkpoint
        self._terms: Any = None
        self._memory: Remembers | None = None
        # Records of the runs before, seconds of the solver in these runs, their last scores; records of this run.
        self._earlier: list[TraceRecord] = []
        self._before = 0.0
        self._dev: dict[str, float] | None = None
        self._records: list[TraceRecord] = []
        # Whether callbacks are being called.
        self._calls = False
        self._interrupts = Postponed()
        self._written = 0.0

    def minimize(
        self,
        problem: Problem,
        solver: Solver[Any],
        w0: Vector | None,
        *,
        terms: Terms,
        memory: Remembers | None,
        stop: Stop,
        callbacks: Iterable[Callback],
    ) -> Result:
        """Minimise as `loglinear.minimize` does, from the checkpoint if the training is to go on from there.

        Args:
            problem: see `loglinear.minimize`.
            solver: see `loglinear.minimize`.
            w0: starting weights of a training that starts from the beginning.
            terms: of the training.
            memory: the callback that remembers, which is among the callbacks.
            stop: limits.
            callbacks: see `loglinear.minimize`; those that `Resumes` describes are told of the records before.

        Raises:
            OptionError: the solver is not the library's; what determines the weights is not what it was.
            DataError: the file is damaged.
        """
        _check_solver(solver)
        self._terms, self._memory = terms.as_json(), memory
        callbacks = tuple(callbacks)
        saved = self._checkpoint.take()
        with self._named(saved):
            self._begin(problem, saved)
        for callback in callbacks:
            if isinstance(callback, Resumes):
                callback.resume(Trace() if saved is None else saved.records)
        start = {"w0": w0} if saved is None else {"state": saved.state}
        self._written = time.monotonic()
        with self._interrupts:
            with self._named(saved):
                calls = (self._continue, *callbacks, self._save)
                result = minimize(problem, solver, stop=stop, callbacks=calls, **start)
            result = replace(
                result, trace=Trace([*self._earlier, *result.trace]), seconds=self._before + result.seconds
            )
            if result.status is not Status.INTERRUPTED and result.state is not None:
                self._write(result.state, is_finished=True)
        try:
            self._interrupts.answer()
        except KeyboardInterrupt:  # after the last step
            return replace(result, status=Status.INTERRUPTED)
        return result

    @contextmanager
    def _named(self, saved: _Found | None) -> Iterator[None]:
        """Name the checkpoint in what a resumed training raises before its first step is finished, callbacks apart."""
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            path = self._checkpoint.path
            if saved is None or self._calls or len(self._records) > 1 or str(error).startswith(path):
                raise
            message = f"{path}: cannot resume: {error or type(error).__name__}; delete it to start again"
            raise (ObjectiveError if isinstance(error, ObjectiveError) else DataError)(message) from error

    def _begin(self, problem: Problem, saved: _Found | None) -> None:
        """Continue from a checkpoint, if any; say where the training starts."""
        place = self._checkpoint
        if saved is not None:
            records = saved.records
            if changed := changes(saved.terms, self._terms):
                message = (
                    f"{place.path}: cannot resume: {'; '.join(changed)}; use the data and options of the first run, "
                    "or start again without resuming"
                )
                raise OptionError(message)
            last = records[-1]
            place.iteration, self._before, self._dev = last.iteration, last.seconds, last.dev
            # The first record of this run is the last one of the run before.
            self._earlier = list(records[:-1])
            if last.iteration != saved.state.iteration:
                message = f"its state is of iteration {saved.state.iteration}, its last record of {last.iteration}"
                raise DataError(message)
            if self._memory is not None:
                n_features, n_samples = problem.n_features, int(problem.objective.n_samples)
                check_declared("memory", saved.memory, dict[str, Vector | None] | None, n_features, n_samples)
                self._memory.restore(saved.memory, records)
            place.tell(f"continuing from iteration {last.iteration:,}, after {last.seconds:.1f} s")
        elif place.resume:
            place.tell("no checkpoint yet; starting from the beginning")
        elif os.path.exists(place.path):
            place.tell("starting from the beginning, which overwrites this checkpoint; resume to continue it")

    def _continue(self, record: TraceRecord, state: State) -> None:
        """Add the seconds of earlier runs; the first of the callbacks."""
        self._calls = True
        record.seconds += self._before
        if not self._records:
            record.dev = self._dev
        self._records.append(record)

    def _save(self, record: TraceRecord, state: State) -> None:
        """Write a checkpoint if it is time, or if Ctrl-C waits for one; the last of the callbacks."""
        if self._interrupts.asked or time.monotonic() - self._written >= 60.0 * self._checkpoint.minutes:
            self._write(state)
        self._interrupts.answer()
        self._calls = False

    def _write(self, state: State, *, is_finished: bool = False) -> None:
        content = {
            "terms": self._terms,
            "trace": [record.to_json() for record in (*self._earlier, *self._records)],
            "memory": None if self._memory is None else self._memory.memory(),
            "state": state,
            "is_finished": is_finished,
        }
        try:
            checkpoint_file.write(self._checkpoint.path, content)
            self._checkpoint.iteration = state.iteration
        except OSError as error:
            reason = error.strerror or str(error)
            message = f"{self._checkpoint.path}: cannot write the checkpoint ({reason}); training continues"
            warnings.warn(message, UserWarning, stacklevel=2)
        self._written = time.monotonic()


def _check_solver(solver: object) -> None:
    """Raise OptionError if the state of a solver cannot be written to a file."""
    if type(solver) not in SOLVERS.values():
        message = (
            f"checkpoints support only the solvers of the library, not {solver_name(solver)}; "
            "use minimize(..., state=...) to continue"
        )
        raise OptionError(message)
