"""`Trainer` and `BaseTrainer` with python-crfsuite's interface."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ...data.instances import Instances
from ...extras import needed_by
from ._logparser import TrainLogParser
from ._parameters import ALGORITHMS, ALIASES, Parameter

__all__ = ["BaseTrainer", "Trainer"]


class BaseTrainer:
    """Trains a chain on sequences that are appended one by one; hands messages to `message`.

    Args:
        algorithm: lbfgs, l2sgd, ap, pa or arow, see `select`; lbfgs by default.
        params: parameters of the algorithm, see `set`.
        verbose: whether `message` prints.

    Example:
        >>> from loglinear.compat.pycrfsuite import BaseTrainer
        >>> trainer = BaseTrainer("lbfgs", {"c1": 0.1, "max_iterations": 50}, verbose=False)
        >>> trainer.append([{"word": "Dogs"}, {"word": "bark"}], ["NOUN", "VERB"])
        >>> trainer.train("")
        >>> trainer.get("c1"), trainer.get("c2")
        (0.1, 1.0)
    """

    verbose: object = None
    _instances: Instances
    _known: dict[str, Parameter]
    _values: dict[str, float | str]
    _algorithm: str

    def __new__(cls, *args: object, **kwargs: object) -> BaseTrainer:
        """Make a trainer that works before `__init__`, which subclasses in the wild do not always call."""
        trainer = super().__new__(cls)
        trainer._instances = Instances()
        trainer._choose("lbfgs")
        return trainer

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def message(self, message: str) -> None:
        """Take a message of the training, a line or a piece of one; this method prints it if `verbose`."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Any, yseq: Iterable[str | bytes], group: int = 0) -> None:
        """Append a sequence; it is encoded at once.

        Args:
            xseq: the items, or an `ItemSequence`.
            yseq: a label for each item.
            group: of the sequence, for `train`.

        Raises:
            ValueError: the numbers of items and labels differ, or a value is not finite.
            TypeError: an item or a label is of a type that python-crfsuite does not take.
        """
        self._instances.append(xseq, yseq, group)

    def clear(self) -> None:
        """Forget all sequences."""
        self._instances = Instances()

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm, with its parameters at their defaults.

        Args:
            algorithm: `lbfgs`: L-BFGS, or OWL-QN with c1 > 0. `l2sgd`: stochastic gradients, here SAG. `ap` or
                `averaged-perceptron`, `pa` or `passive-aggressive`, `arow`: online learners. Case does not matter.
            type: crf1d, a chain of first order.

        Raises:
            ValueError: there is no such algorithm or type.
        """
        name = algorithm.lower()
        name = ALIASES.get(name, name)
        if name not in ALGORITHMS or type != "crf1d":
            message = f"Bad arguments: algorithm={name!r}, type={type!r}"
            raise ValueError(message)
        self._choose(name)

    def _choose(self, algorithm: str) -> None:
        self._algorithm = algorithm
        self._known = {option.name: option for option in ALGORITHMS[algorithm]}
        self._values = {name: option.default for name, option in self._known.items()}

    def params(self) -> list[str]:
        """Return the names of the algorithm's parameters."""
        return list(self._known)

    def _parameter(self, name: str, said: str = "") -> Parameter:
        """Return a parameter of the algorithm.

        Raises:
            ValueError: there is none of this name.
        """
        if name not in self._known:
            message = f"Parameter not found: {name}{said}; {self._algorithm} has {', '.join(self._known)}"
            raise ValueError(message)
        return self._known[name]

    def set(self, name: str, value: float | str) -> None:
        """Set a parameter.

        Args:
            name: of the parameter.
            value: a number, a truth value, or a text that says one.

        Raises:
            ValueError: there is no such parameter, or the value is no number.
        """
        self._values[name] = self._parameter(name, f" = {value}").read(value)

    def get(self, name: str) -> Any:
        """Return the value of a parameter, with all its digits; python-crfsuite keeps six of them.

        Raises:
            ValueError: there is no such parameter.
        """
        return self._values[self._parameter(name).name]

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters; see `set`."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return the values of all parameters by name."""
        return {name: self.get(name) for name in self.params()}

    def help(self, name: str) -> str:
        """Return what a parameter does.

        Raises:
            ValueError: there is no such parameter.
        """
        return self._parameter(name).help

    def train(self, model: str | bytes | os.PathLike[str], holdout: int = -1) -> None:
        """Train on the sequences so far, and write the model to a `.crfsuite` file, whole or not at all.

        Ctrl-C raises KeyboardInterrupt, and no model is written.

        Args:
            model: the file; "" writes none.
            holdout: group of sequences that are not trained on, but scored after every iteration; -1 for none.

        Raises:
            OSError: the file cannot be written.
        """
        # This imports NumPy, which programs that only label do not need.
        with needed_by("pycrfsuite.Trainer.train"):
            from ._training import train

        path = os.fsdecode(model)
        self._before_train()
        train(self._instances, self._algorithm, self._values, path, holdout, self.message)

    def _before_train(self) -> None:
        """Prepare for the messages of a training."""


class Trainer(BaseTrainer):
    """A trainer that understands its messages: `logparser` has their numbers, and a method is called for each event.

    While `verbose`, the methods `on_...` are called as the messages come, and print their text; subclasses override
    them, or `message`.

    Attributes:
        logparser: a `TrainLogParser` with the numbers of the last training; None before the first.

    Example:
        >>> from loglinear.compat.pycrfsuite import Trainer
        >>> trainer = Trainer("lbfgs", {"c2": 0.1}, verbose=False)
        >>> trainer.append([["w=Dogs"], ["w=bark"]], ["NOUN", "VERB"])
        >>> trainer.train("")
        >>> trainer.logparser.iterations[0]["active_features"]
        3
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Hand a message to the parser, and to the method of the event that it completes if `verbose`."""
        if self.logparser is None:
            self._before_train()
        parser: Any = self.logparser
        event = parser.feed(message)
        if not self.verbose or event is None:
            return
        log = parser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(log, parser.featgen_percent)
        elif event == "iteration":
            self.on_iteration(log, parser.last_iteration)
        else:
            plain = {
                "start": self.on_start,
                "featgen_end": self.on_featgen_end,
                "prepared": self.on_prepared,
                "prepare_error": self.on_prepare_error,
                "optimization_end": self.on_optimization_end,
                "end": self.on_end,
            }
            plain[event](log)

    def on_start(self, log: str) -> None:
        """Take the first message."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Take the progress of the generation of features."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Take the end of the generation of features."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """Take the messages before the first iteration."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """Take an error before the first iteration."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Take an iteration: its messages, and their numbers."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Take the end of the iterations."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """Take the end of the training."""
        print(log, end="")
