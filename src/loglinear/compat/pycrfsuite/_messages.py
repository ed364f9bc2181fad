"""The messages of a training in CRFsuite's layout: other programs read them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

__all__ = ["Messages"]


class Messages:
    """Sends the messages of a training, a line or a piece of one at a time.

    Args:
        send: called with each message.
    """

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._began = self._last = perf_counter()

    def line(self, text: str = "") -> None:
        """Send a line."""
        self._send(text + "\n")

    def clock(self) -> None:
        """Start to count the seconds of what comes next."""
        self._began = self._last = perf_counter()

    def seconds(self, what: str = "Seconds required") -> None:
        """Send the seconds since `clock`."""
        self.line(f"{what}: {perf_counter() - self._began:.3f}")

    def settings(self, title: str, values: Mapping[str, Any]) -> None:
        """Send a title and values, one in a line."""
        self.line(title)
        for name, value in values.items():
            self.line(f"{name}: {_shown(value)}")

    def progress(self) -> None:
        """Send the dots of a progress that is over: CRFsuite sends one for every two percent."""
        for percent in range(0, 101, 2):
            self._send("." if percent % 10 else str(percent // 10))
        self.line()

    def iteration(self, title: str, values: Mapping[str, Any]) -> None:
        """Send the values of an iteration and the seconds since the one before; `ended` closes it."""
        self.settings(f"***** {title} *****", values)
        now = perf_counter()
        self.line(f"Seconds required for this iteration: {now - self._last:.3f}")
        self._last = now

    def ended(self) -> None:
        """Close an iteration; the time of its messages belongs to no iteration."""
        self.line()
        self._last = perf_counter()

    def performance(self, labels: Sequence[str], gold: Iterable[list[str]], predicted: Iterable[list[str]]) -> None:
        """Send the scores of labels that were found in a holdout group."""
        match, model, ref = Counter[str](), Counter[str](), Counter[str]()
        n_sequences = n_right = 0
        for truth, guess in zip(gold, predicted, strict=True):
            ref.update(truth)
            model.update(guess)
            match.update(a for a, b in zip(truth, guess, strict=True) if a == b)
            n_sequences += 1
            n_right += truth == guess
        self.line("Performance by label (#match, #model, #ref) (precision, recall, F1):")
        sums = [0.0, 0.0, 0.0]
        for label in labels:
            scores = "******, ******, ******"
            if ref[label]:
                numbers = _scores(match[label], model[label], ref[label])
                sums = [total + number for total, number in zip(sums, numbers, strict=True)]
                scores = ", ".join(f"{number:.4f}" for number in numbers)
            self.line(f"    {label}: ({match[label]}, {model[label]}, {ref[label]}) ({scores})")
        means = ", ".join(f"{total / len(labels) if labels else math.nan:.6f}" for total in sums)
        self.line(f"Macro-average precision, recall, F1: ({means})")
        for what, right, total in (("Item", match.total(), ref.total()), ("Instance", n_right, n_sequences)):
            self.line(f"{what} accuracy: {right} / {total} ({right / total if total else 0.0:.4f})")

    def storing(self, features: tuple[int, int], attributes: tuple[int, int], n_labels: int) -> None:
        """Send what is written to the model's file: how many, and of how many."""
        self.line("Storing the model")
        for what, (n_active, all) in (
            ("features", features),
            ("attributes", attributes),
            ("labels", (n_labels, n_labels)),
        ):
            self.line(f"Number of active {what}: {n_active} ({all})")
        self.line("Writing labels")
        self.line("Writing attributes")
        self.line("Writing feature references for transitions")
        self.line("Writing feature references for attributes")


def _shown(value: object) -> str:
    """Return a value as CRFsuite prints it."""
    return f"{value:.6f}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


def _scores(match: int, model: int, ref: int) -> tuple[float, float, float]:
    """Return precision, recall and F1 of a label that some token has."""
    precision, recall = match / model if model else 0.0, match / ref
    return precision, recall, 2.0 * precision * recall / (precision + recall) if match else 0.0
