"""A parser of the messages of a training, with the interface of python-crfsuite's."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = ["LabelScore", "TrainLogParser"]


class LabelScore(NamedTuple):
    """The scores of a label on the holdout group.

    Attributes:
        match: tokens that have the label and were given it.
        model: tokens that were given the label.
        ref: tokens that have the label.
        precision: match / model; None if no token has the label.
        recall: match / ref; likewise.
        f1: harmonic mean of the two; likewise.
    """

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_DECIMAL = r"(-?\d+\.\d+)"
_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_PROGRESS = re.compile(r"(?:\.|\d|10)\Z")
_N_FEATURES = re.compile(r"Number of features: (\d+)")
_SECONDS = re.compile(r"Seconds required: " + _DECIMAL)
_TOTAL = re.compile(r"Total seconds required for training: " + _DECIMAL)
# Line of an iteration -> its keys in the iteration's dict, and their type.
_LINES: tuple[tuple[re.Pattern[str], tuple[str, ...], Callable[[str], Any]], ...] = (
    (re.compile(r"Loss: " + _DECIMAL), ("loss",), float),
    (re.compile(r"Feature norm: " + _DECIMAL), ("feature_norm",), float),
    (re.compile(r"Error norm: " + _DECIMAL), ("error_norm",), float),
    (re.compile(r"Active features: (\d+)"), ("active_features",), int),
    (re.compile(r"Line search trials: (\d+)"), ("linesearch_trials",), int),
    (re.compile(r"Line search step: " + _DECIMAL), ("linesearch_step",), float),
    (re.compile(r"Seconds required for this iteration: " + _DECIMAL), ("time",), float),
    (
        re.compile(rf"Macro-average precision, recall, F1: \({_DECIMAL}, {_DECIMAL}, {_DECIMAL}\)"),
        ("avg_precision", "avg_recall", "avg_f1"),
        float,
    ),
)
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(
    r"\s{4}(?P<label>.+): \((\d+), (\d+), (\d+)\) \((?:(\d\.\d+), (\d\.\d+), (\d\.\d+)|\*{6}, \*{6}, \*{6})\)"
)


class TrainLogParser:
    """Makes numbers of the messages of a training, one message after the other.

    Attributes:
        state: the part of the training that the messages have come to; None before the first one.
        featgen_percent: progress of the generation of features; -2 before it begins.
        featgen_num_features: number of features.
        featgen_seconds: time that it took.
        iterations: a dict for each iteration: its number `num`, and what its messages say, such as `loss`, `time` and
            `active_features`; with a holdout group `scores` by label, `avg_f1`, `item_accuracy` and the like.
        last_iteration: the last of them; None before the first one.
        training_seconds: time of all iterations.
        storing_seconds: time that writing the model took.
        log: the messages.
        events: what happened: name, number of the first message that belongs to it, number of the last plus one.

    Example:
        >>> from loglinear.compat.pycrfsuite import Trainer
        >>> trainer = Trainer(params={"max_iterations": 3}, verbose=False)
        >>> trainer.append([["a"], ["b"]], ["A", "B"])
        >>> trainer.train("")
        >>> trainer.logparser.featgen_num_features, trainer.logparser.last_iteration["num"]
        (3, 3)
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Take in a message; return the event that it completes, if it completes one.

        Events are start, featgen_progress, featgen_end, prepared, prepare_error, iteration, optimization_end and end.
        """
        self.log.append(line)
        if self.state is None:
            self.state = "STARTING"
            self._starting(line)
            self.events.append(("start", 0, 1))
            return "start"
        event = self._STATES[self.state](self, line)
        if event is not None:
            # These two events are noticed by the first message of what comes next.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, self.events[-1][2], end))
        return event

    @property
    def last_log(self) -> str:
        """The messages that belong to the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def _starting(self, line: str) -> str | None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"
        return None

    def _featgen(self, line: str) -> str | None:
        if _PROGRESS.match(line):
            self.featgen_percent += 2
            return "featgen_progress"
        if matched := _N_FEATURES.match(line):
            self.featgen_num_features = int(matched[1])
        elif matched := _SECONDS.match(line):
            self.featgen_seconds = float(matched[1])
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _after_featgen(self, line: str) -> str | None:
        if self._begins_iteration(line):
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _iteration(self, line: str) -> str | None:
        if self._begins_iteration(line):
            return None
        if line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        into = self.iterations[-1]
        for pattern, names, kind in _LINES:
            if matched := pattern.match(line):
                into.update(zip(names, map(kind, matched.groups()), strict=True))
                return None
        if matched := _ACCURACY.match(line):
            right, total = int(matched[2]), int(matched[3])
            name = f"{matched[1].lower()}_accuracy"
            into[name] = Fraction(right, total) if total else None
            into[f"{name}_float"] = right / total if total else 0.0
        elif matched := _LABEL.match(line):
            match, model, ref, *scores = matched.groups()[1:]
            into["scores"][matched["label"]] = LabelScore(
                int(match), int(model), int(ref), *(None if score is None else float(score) for score in scores)
            )
        return None

    def _after_iteration(self, line: str) -> str | None:
        if self._begins_iteration(line):
            return None
        if matched := _TOTAL.match(line):
            self.training_seconds = float(matched[1])
        elif line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if matched := _SECONDS.match(line):
            self.storing_seconds = float(matched[1])
        return None

    def _begins_iteration(self, line: str) -> bool:
        matched = _HEAD.match(line)
        if matched is not None:
            self.state = "ITERATION"
            self.last_iteration = {"num": int(matched[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
        return matched is not None

    _STATES = {  # noqa: RUF012
        "STARTING": _starting,
        "FEATGEN": _featgen,
        "AFTER_FEATGEN": _after_featgen,
        "ITERATION": _iteration,
        "AFTER_ITERATION": _after_iteration,
        "STORING": _storing,
    }
