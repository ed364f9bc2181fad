"""The course of a minimisation: one record per step, kept in memory and as JSON lines on disk."""

from __future__ import annotations

import json
import math
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from .display.fragment import in_notebook
from .display.table import LISTED, data_frame, listing
from .errors import DataError, OptionError, warn
from .options import Check, optional, truth_value
from .replacing import replacing
from .schema import check_fields, count, is_a, is_finite, json_object, number
from .text_file import read_text
from .visible import counted

if TYPE_CHECKING:
    import pandas

__all__ = ["Trace", "TraceRecord", "TraceWriter", "percentage", "scores_text", "upper_bound"]

_REQUIRED = ("iteration", "passes", "gradient_evaluations", "seconds", "objective", "nll", "nnz", "violation")
# Smallest percentage that is larger than rounding errors.
_LEAST = 1e-10
_WHOLE = ("iteration", "gradient_evaluations", "nnz", "working_set")
# The checks of the fields; a number that is not finite is null in JSON.
_CHECKS: dict[str, Check] = {
    **dict.fromkeys(("iteration", "gradient_evaluations", "nnz"), count),
    **dict.fromkeys(("passes", "seconds", "objective", "nll", "violation", "gap"), optional(number)),
    "working_set": optional(count),
    "dev": optional(
        is_a(
            "scores by name",
            lambda scores: type(scores) is dict and all(score is None or is_finite(score) for score in scores.values()),
        )
    ),
}


@dataclass
class TraceRecord:
    """One step of a solver.

    Attributes:
        iteration: steps taken; 0 is the starting point.
        passes: effective passes: log-probability-and-gradient evaluations over n_samples, line searches included.
        gradient_evaluations: calls of ``value_and_gradient``.
        seconds: solver time, without the time spent on records and callbacks.
        objective: penalised objective, nats, summed over samples.
        nll: unpenalised negative log-likelihood, nats.
        nnz: number of weights that are not zero.
        violation: max-norm of the subgradient of minimum norm, by all features; NaN, in JSON null, at steps of a
            solver that looked at some of the features only. The last record of a result always has it. A callback that
            stops the minimisation, or Ctrl-C, comes after callbacks such as ``TraceWriter`` have seen that record.
        working_set: number of features in the solver's working set; None if it keeps none.
        gap: upper bound of the distance of the objective from its optimum, nats; None where it was not asked for, or
            says too little.
        dev: scores on development data, the one to choose weights by first; None unless a callback has filled them in.

    Example:
        >>> from loglinear import TraceRecord
        >>> record = TraceRecord(0, 1.0, 1, 0.02, objective=5.5, nll=5.5, nnz=0, violation=1.5, dev={"accuracy": 0.25})
        >>> TraceRecord.from_json(record.to_json()).dev
        {'accuracy': 0.25}
    """

    iteration: int
    passes: float
    gradient_evaluations: int
    seconds: float
    objective: float
    nll: float
    nnz: int
    violation: float
    working_set: int | None = None
    gap: float | None = None
    dev: dict[str, float] | None = None

    @property
    def line(self) -> str:
        """The record for people, without its time."""
        text = f"iteration {self.iteration}, objective {self.objective:,.1f}, active features {self.nnz:,}"
        text += "" if self.gap is None else f", gap {percentage(self.gap, self.objective)}"
        return f"{text}, dev {self.headline}" if self.dev else text

    @property
    def headline(self) -> str:
        """The first score on development data, for people; empty without any."""
        return scores_text(dict([*(self.dev or {}).items()][:1]))

    def to_json(self) -> str:
        """Return the record as a line of JSON without its line end; a number that is not finite becomes null."""
        row: dict[str, Any] = {name: _plain(getattr(self, name)) for name in _REQUIRED}
        if self.working_set is not None:
            row["working_set"] = int(self.working_set)
        if self.gap is not None:
            row["gap"] = _plain(self.gap)
        if self.dev is not None:
            row["dev"] = {name: _plain(value) for name, value in self.dev.items()}
        return json.dumps(row)

    @classmethod
    def from_json(cls, line: str | bytes) -> TraceRecord:
        """Return the record in a line that ``to_json`` wrote.

        Raises:
            OptionError: the line is not a JSON object with the keys of a record, or a value is not what it has to be.
        """
        row = json_object("the line", line)
        check_fields("", row, _CHECKS, _REQUIRED)
        names = [*_REQUIRED, *(name for name in ("working_set", "gap", "dev") if name in row)]
        return cls(**{name: _parsed(name, row[name]) for name in names})


class Trace(Sequence[TraceRecord]):
    """The records of one minimisation, first step first; a sequence like a list.

    Example:
        >>> from loglinear import ChainCRF
        >>> trace = ChainCRF().fit([[["a"], ["b"]]], [["A", "B"]]).result_.trace
        >>> trace[0].iteration, trace[-1].objective < trace[0].objective
        (0, True)
    """

    def __init__(self, records: Iterable[TraceRecord] = ()) -> None:
        self._records = list(records)

    @overload
    def __getitem__(self, index: int) -> TraceRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Trace: ...
    def __getitem__(self, index: int | slice) -> TraceRecord | Trace:
        return Trace(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[TraceRecord]:
        return iter(self._records)

    def __eq__(self, other: object) -> bool:
        return self._records == other._records if isinstance(other, Trace) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Trace of {counted(len(self), 'record')}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first records and the last ones."""
        return in_notebook(self.html())

    def html(self) -> str:
        """Return the first and last records as a table of HTML, without the style of notebooks."""
        half = LISTED // 2
        records = self._records if len(self) <= LISTED else [*self._records[:half], *self._records[-half:]]
        columns: dict[str, list[str]] = {"iteration": [f"{record.iteration:,}" for record in records]}
        columns["seconds"] = [f"{record.seconds:.1f}" for record in records]
        columns["objective"] = [f"{record.objective:,.2f}" for record in records]
        columns["active features"] = [f"{record.nnz:,}" for record in records]
        columns["violation"] = ["" if math.isnan(record.violation) else f"{record.violation:.3g}" for record in records]
        columns |= {
            f"dev {name.replace('_', ' ').replace('f1', 'F1')}": [
                f"{100.0 * record.dev[name]:.2f}" if record.dev and name in record.dev else "" for record in records
            ]
            for name in self._scores()
        }
        caption = f"{counted(len(self), 'record')} of the training"
        caption += f"; the first and last {half}" if len(self) > LISTED else ""
        return listing(columns, caption)

    def _scores(self) -> list[str]:
        """Return the names of the scores on development data."""
        return [*dict.fromkeys(name for record in self for name in record.dev or {})]

    def to_frame(self) -> pandas.DataFrame:
        """Return the records as a pandas DataFrame, with the iteration as the index.

        The columns are the attributes of `TraceRecord`; scores on development data have one each, such as ``dev_f1``.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        names = [field.name for field in fields(TraceRecord) if field.name != "dev"]
        columns = {name: [getattr(record, name) for record in self] for name in names}
        for name in self._scores():
            columns[f"dev_{name}"] = [None if record.dev is None else record.dev.get(name) for record in self]
        return data_frame("to_frame", columns, "iteration")

    def append(self, record: TraceRecord) -> None:
        """Add a record at the end."""
        self._records.append(record)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all records to ``path`` as JSON lines, whole or not at all."""
        _replace(Path(path), "".join(record.to_json() + "\n" for record in self))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Trace:
        """Return the trace in a file of JSON lines.

        A killed run may leave a part of a line at the end of the file: a last line that has no line end and cannot be
        read is skipped.

        Raises:
            DataError: a line is not a record; names file and line.
            OSError: the file cannot be read.
        """
        trace = cls()
        for at, line in enumerate(read_text(path).splitlines(keepends=True), start=1):
            if not line.strip():
                continue
            try:
                trace.append(TraceRecord.from_json(line))
            except OptionError as error:
                if not line.endswith(b"\n"):
                    break
                message = f"{os.fspath(path)}, line {at}: not a trace record ({error}); delete or repair the line"
                raise DataError(message) from error
        return trace


class TraceWriter:
    """A callback of ``minimize`` that writes each record at once, so that a killed run keeps its trace.

    Args:
        path: file of JSON lines.
        append: whether to keep the records of the file, and to write only records of later iterations: for a run that
            is resumed. Otherwise the file starts empty.

    Raises:
        DataError: the file to append to is not a trace.
        OSError: the file cannot be created. A failure later is a warning, and no more records are written.
    """

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False) -> None:
        truth_value("append", append)
        self.path, self._failed = Path(path), False
        earlier = Trace.read(self.path) if append and self.path.exists() else Trace()
        self.resume(earlier)

    def resume(self, records: Trace) -> None:
        """Replace the records of the file by the records of a run that is resumed; only later ones follow them."""
        self._last = records[-1].iteration if records else -1
        records.write(self.path)

    def __call__(self, record: TraceRecord, state: object) -> None:
        """Append the record to the file, and close the file. If that fails, warn once; the training continues."""
        if self._failed or record.iteration <= self._last:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(record.to_json() + "\n")
        except OSError as error:
            self._failed = True
            warn(f"{self.path}: {error.strerror}; training continues without a trace")
        self._last = record.iteration


def scores_text(scores: Mapping[str, float]) -> str:
    """Return scores, which are shares, by name and in per cent as a line for people.

    Example:
        >>> from loglinear.trace import scores_text
        >>> scores_text({"f1": 0.588, "sentence_accuracy": 0.25})
        'F1 58.80, sentence accuracy 25.00'
    """
    return ", ".join(
        f"{name.replace('_', ' ').replace('f1', 'F1')} {100.0 * score:.2f}" for name, score in scores.items()
    )


def percentage(part: float, whole: float) -> str:
    """Return a share as text; one that is as small as rounding errors as a bound."""
    share = _per_cent(part, whole)
    return f"{share:.2g} %" if share >= _LEAST else f"less than {_LEAST:g} %"


def upper_bound(part: float, whole: float) -> str:
    """Return a share as text that follows "at most" or "within"; one as small as rounding errors as a bound.

    Example:
        >>> from loglinear.trace import upper_bound
        >>> upper_bound(0.001, 2.0), upper_bound(0.0, 2.0)
        ('0.05 %', '1e-10 %')
    """
    return f"{max(_per_cent(part, whole), _LEAST):.2g} %"


def _per_cent(part: float, whole: float) -> float:
    return 0.0 if not part else 100.0 * part / abs(whole) if whole else math.inf


def _plain(value: float) -> float | None:
    """Return a number as JSON has it; None if it is not finite."""
    if isinstance(value, numbers.Integral):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else None


def _parsed(name: str, value: Any) -> Any:
    """Return the value of a field of a record, which has been checked; numbers that were not finite are NaN."""
    if name == "dev":
        return None if value is None else {key: _parsed("", score) for key, score in value.items()}
    if name in _WHOLE or (name == "gap" and value is None):
        return value
    return math.nan if value is None else float(value)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the name of this file to errors of writing, which a write or a close leaves out."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all; a device or a pipe is written to, never replaced."""
    if path.is_dir() or (path.exists() and not path.is_file()):
        with _named(path):
            path.write_text(text, encoding="utf-8")
        return
    with replacing(str(path)) as file:
        file.write(text.encode("utf-8"))
