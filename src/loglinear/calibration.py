"""Calibration: whether answers that a model is sure of to 90 % are right in 90 % of the cases, and which to accept.

The module imports the standard library alone, to load fast; intervals need NumPy.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from loglinear.data.labels import check_comparable, check_ordered
from loglinear.errors import DataError, DataWarning, warn
from loglinear.extras import needed_by
from loglinear.options import real_number
from loglinear.schemes import chunk_set, is_tag

if TYPE_CHECKING:
    from loglinear.bootstrap import Interval

__all__ = ["Calibration", "CalibrationBin", "TaggingCalibration", "Threshold", "calibration", "tagging_calibration"]

# Lower ends of the ten bins, and 1.
_EDGES = [k / 10 for k in range(11)]
# Precisions whose thresholds a table shows.
_PRECISIONS = (0.9, 0.95, 0.98, 0.99, 0.995)
# Standard deviations on either side of the mean that hold 95 % of a normal distribution.
_NORMAL = 1.959964
# With no wrong answer among n, the error is below this number over n, at 95 % (rule of three).
_NONE_WRONG = 3.0


class CalibrationBin(NamedTuple):
    """The predictions whose confidence is in one interval.

    Attributes:
        low: lower end of the interval, exclusive except in the first bin.
        high: upper end of the interval.
        n: number of predictions.
        confidence: mean confidence; None for an empty bin.
        accuracy: fraction of correct predictions; None for an empty bin.

    Example:
        >>> from loglinear.metrics import calibration
        >>> calibration([0.75, 0.75], [True, False]).bins[7]
        CalibrationBin(low=0.7, high=0.8, n=2, confidence=0.75, accuracy=0.5)
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the accuracy if answers are independent (Wilson 1927); None for an empty bin."""
        if self.accuracy is None:
            return None
        share = _NORMAL**2 / self.n
        middle = self.accuracy + share / 2.0
        half = _NORMAL * math.sqrt(self.accuracy * (1.0 - self.accuracy) / self.n + share / (4.0 * self.n))
        # Rounding may exceed the ends where all answers are right, or all are wrong.
        return max((middle - half) / (1.0 + share), 0.0), min((middle + half) / (1.0 + share), 1.0)


class Threshold(NamedTuple):
    """The probability from which on answers are right often enough to be accepted, and what accepting them does.

    Attributes:
        wanted: the precision that was asked for, as a fraction.
        probability: answers with at least this probability are accepted.
        n: number of answers that are accepted.
        share: the same as a fraction of all answers.
        precision: fraction of the accepted answers that are right.
        interval: 95 % confidence interval of `precision` at this probability: percentiles of 1,000 bootstrap samples of
            the sentences.

    Example:
        >>> from loglinear.metrics import calibration
        >>> confidences = [0.9] * 99 + [0.6] * 100
        >>> threshold = calibration(confidences, [True] * 150 + [False] * 49).threshold(precision=0.8)
        >>> threshold.probability, threshold.n
        (0.9, 99)
    """

    wanted: float
    probability: float
    n: int
    share: float
    precision: float
    interval: Interval

    @property
    def is_supported(self) -> bool:
        """Whether enough answers are accepted to tell the precision: 3 / (1 - precision), the rule of three."""
        return self.wanted < 1.0 and self.n >= _answers_needed(self.wanted)


class _Point(NamedTuple):
    """The answers with at least some probability: their number, and how many of them are right."""

    probability: float
    n: int
    right: int


@dataclass(frozen=True)
class Calibration:
    """The result of `calibration`.

    Attributes:
        n: number of predictions.
        expected_error: expected calibration error: the mean over all predictions of |accuracy - mean confidence| of
            their bin; 0 without predictions.
        bins: ten bins of equal width from 0 to 1.
        answers: the confidence of each prediction, whether it is right, and the group it belongs to; the most
            confident ones first.

    Example:
        >>> from loglinear.metrics import calibration
        >>> calibration([0.75, 0.75, 1.0], [True, False, True]).to_dict()["expected_calibration_error"]
        0.16666666666666666
    """

    n: int
    expected_error: float
    bins: list[CalibrationBin]
    answers: list[tuple[float, bool, int]] = field(repr=False)

    def threshold(self, *, precision: float) -> Threshold:
        """Return the lowest probability from which on answers have at least this precision.

        The answers below it are those to send to a person. The precision is of the data of this calibration, which
        must not be training data; on other data it scatters around it, about as the interval shows.

        Args:
            precision: fraction of accepted answers that must be right, > 0 and <= 1.

        Raises:
            OptionError: the precision is not such a fraction.
            DataError: there are no answers, or no threshold reaches the precision.
            MissingPackageError: NumPy is not installed.

        Warns:
            DataWarning: so few answers are accepted that the precision is a guess: fewer than 3 / (1 - precision), of
                which none may be wrong for a precision above it to be likely (rule of three).

        Example:
            >>> from loglinear.metrics import calibration
            >>> confidences = [0.75] * 400 + [0.25] * 100
            >>> found = calibration(confidences, [True] * 390 + [False] * 110).threshold(precision=0.95)
            >>> found.probability, found.share, found.precision
            (0.75, 0.8, 0.975)
        """
        precision = real_number("precision", precision, "a fraction above 0 and up to 1", lambda p: 0.0 < p <= 1.0)
        threshold = self.thresholds([precision])[precision]
        if threshold is None:
            message = f"no threshold reaches a precision of {precision:g}: "
            best = max(self._points(), key=lambda point: point.right / point.n, default=None)
            message += (
                "there are no answers"
                if best is None
                else f"the highest is {best.right / best.n:.6g}, of the {best.n:,} answers with a probability of at "
                f"least {best.probability:.6g}; ask for less, or improve the model"
            )
            raise DataError(message)
        if not threshold.is_supported:
            message = f"only {threshold.n:,} of {self.n:,} answers are accepted, too few to tell a precision of "
            message += f"{precision:g}"
            least = "" if precision == 1.0 else f", which takes {_answers_needed(precision):,}"
            warn(f"{message}{least}; give more data, or ask for less", DataWarning)
        return threshold

    def thresholds(self, precisions: Sequence[float] = _PRECISIONS) -> dict[float, Threshold | None]:
        """Return the threshold of each precision, or None where no threshold reaches it; see `threshold`."""
        points = self._points()
        chosen = {
            wanted: point
            for wanted in precisions
            if (point := min((point for point in points if point.right / point.n >= wanted), default=None))
        }
        pairs = zip(chosen.items(), self._intervals([*chosen.values()]), strict=True)
        thresholds = {
            wanted: Threshold(wanted, point.probability, point.n, point.n / self.n, point.right / point.n, interval)
            for (wanted, point), interval in pairs
        }
        return {wanted: thresholds.get(wanted) for wanted in precisions}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single answers, ready for JSON."""
        thresholds = [
            {"wanted": wanted, "probability": None}
            if each is None
            else {**each._asdict(), "interval": each.interval._asdict()}
            for wanted, each in self.thresholds().items()
        ]
        return {
            "n": self.n,
            "expected_calibration_error": self.expected_error,
            "bins": [bin_._asdict() for bin_ in self.bins],
            "thresholds": thresholds,
        }

    def report(self, answers: str) -> str:
        """Return a table of the bins for people, in per cent, and one of the answers to accept, in 60 columns.

        The probabilities from which on answers are accepted are fractions, as ``loglinear tag --min-probability`` and
        `Tagging.accepted` take them.

        Args:
            answers: what the answers are: "tokens", for example.
        """
        title = f"confidence in {answers}"
        lines = [f"{title:<22} {'number':>9} {'mean':>7} {'accuracy':>9}"]
        for bin_ in self.bins:
            shown = ["." if value is None else f"{100 * value:.2f}" for value in (bin_.confidence, bin_.accuracy)]
            interval = f"{100 * bin_.low:3.0f} to {100 * bin_.high:3.0f}"
            lines.append(f"{interval:<22} {bin_.n:9,} {shown[0]:>7} {shown[1]:>9}")
        lines.append(f"{'expected calibration error':<32} {100 * self.expected_error:7.2f}")
        title, few = f"{answers} to accept", False
        lines += ["", f"{title:<19} {'at least':>8} {'share':>6} {'precision':>9} 95 % interval"]
        for wanted, each in self.thresholds().items():
            row = f"{f'for precision {100 * wanted:g}':<19}"
            if each is None:
                lines.append(f"{row} {'.':>8} {'.':>6} {'.':>9}")
                continue
            low, high = (f"{100 * end:.2f}" for end in each.interval)
            few = few or not each.is_supported
            lines.append(
                f"{row} {floored(each.probability):>8} {100 * each.share:6.2f} {100 * each.precision:9.2f} "
                f"{low}–{high}{'' if each.is_supported else '*'}"
            )
        return "\n".join([*lines, *(["* few answers"] if few else [])])

    def _points(self) -> list[_Point]:
        """Return a point for each distinct confidence, in descending order."""
        points, n, right = [], 0, 0
        for confidence, together in groupby(self.answers, key=lambda answer: answer[0]):
            for _, is_right, _ in together:
                n, right = n + 1, right + is_right
            points.append(_Point(confidence, n, right))
        return points

    def _intervals(self, points: Sequence[_Point]) -> list[Interval]:
        """Return the confidence interval of the precision at each of some points."""
        if not points:
            return []
        with needed_by("a threshold"):
            import numpy as np

            from loglinear.bootstrap import intervals

        groups = np.unique([group for _, _, group in self.answers], return_inverse=True)[1]
        correct = np.array([is_right for _, is_right, _ in self.answers], dtype=np.float64)
        size = int(groups.max()) + 1
        right = np.array([np.bincount(groups[: each.n], correct[: each.n], minlength=size) for each in points])
        accepted = np.array([np.bincount(groups[: each.n], minlength=size) for each in points], dtype=np.float64)
        return intervals(right, accepted)


class TaggingCalibration(NamedTuple):
    """The result of `tagging_calibration`.

    Attributes:
        tokens: calibration of the labels of tokens.
        spans: calibration of the predicted spans; None without spans, or if the labels do not follow a tagging scheme.
        sequences: calibration of the label sequences: the probability of all labels of a sentence together, and whether
            all are right.

    Example:
        >>> from loglinear import Span, Tagging
        >>> from loglinear.metrics import tagging_calibration
        >>> found = Tagging(["B-PER", "O"], [0.75, 0.95], [Span("PER", 0, 1, 0.75)], -0.3)
        >>> tokens, spans, sequences = tagging_calibration([["B-PER", "O"]], [found])
        >>> round(tokens.expected_error, 3), spans.expected_error, round(sequences.expected_error, 3)
        (0.15, 0.25, 0.259)
    """

    tokens: Calibration
    spans: Calibration | None
    sequences: Calibration


class _Tagging(Protocol):
    """A sentence's labels and spans with probabilities, such as `loglinear.Tagging`."""

    @property
    def labels(self) -> Sequence[Any]: ...
    @property
    def probabilities(self) -> Sequence[float]: ...
    @property
    def spans(self) -> Sequence[tuple[str, int, int, float]]: ...
    @property
    def probability(self) -> float: ...


def calibration(
    confidences: Iterable[float], correct: Iterable[bool], groups: Iterable[int] | None = None
) -> Calibration:
    """Compare the confidence of predictions with their accuracy.

    Predictions are put into ten bins of equal width by their confidence. Source: expected calibration error: Naeini,
    Cooper & Hauskrecht, AAAI 2015; accuracy against confidence, bin by bin (reliability diagram): DeGroot & Fienberg
    1983.

    Args:
        confidences: probability that the model assigns to each prediction.
        correct: whether each prediction is correct.
        groups: number of the sentence, document or other unit that each prediction belongs to; predictions of one unit
            depend on one another, so the intervals of thresholds draw whole units. By default each is its own.

    Raises:
        DataError: a confidence is not between 0 and 1, or the arguments differ in length.

    Example:
        >>> from loglinear.metrics import calibration
        >>> calibration([0.75, 0.75, 0.75, 0.75], [True, True, True, False]).expected_error
        0.0
        >>> calibration([0.75, 0.75], [True, False]).expected_error
        0.25
    """
    counts, sure, right = [0] * 10, [0.0] * 10, [0] * 10
    answers: list[tuple[float, bool, int]] = []
    check_ordered(confidences, "confidences", "give the probability of each answer")
    check_ordered(correct, "correct", "give True or False for each answer")
    for number, (confidence, is_right) in enumerate(zip_longest(confidences, correct), start=1):
        if confidence is None or is_right is None:
            short, long = ("confidences", "correct") if confidence is None else ("correct", "confidences")
            message = f"answer {number}: missing in {short}, but present in {long}; give one value per answer in both"
            raise DataError(message)
        if isinstance(confidence, (str, bytes, Collection)) or not 0.0 <= confidence <= 1.0:
            message = f"answer {number}: the confidence {confidence!r} is not a probability, between 0 and 1"
            raise DataError(message)
        if is_right not in (False, True):
            message = f"answer {number}: {is_right!r} in correct does not say whether the answer is; give True or False"
            raise DataError(message)
        at = max(bisect_left(_EDGES, confidence) - 1, 0)
        counts[at] += 1
        sure[at] += float(confidence)
        right[at] += bool(is_right)
        answers.append((float(confidence), bool(is_right), number))
    if groups is not None:
        check_ordered(groups, "groups", "give one group per answer")
        members = list(groups)
        check_comparable(members, "groups", gold=True)
        if len(members) != len(answers):
            message = f"{len(members)} groups for {len(answers)} answers; give one group per answer"
            raise DataError(message)
        answers = [(p, is_right, group) for (p, is_right, _), group in zip(answers, members, strict=True)]
    bins = [
        CalibrationBin(_EDGES[at], _EDGES[at + 1], n, sure[at] / n if n else None, right[at] / n if n else None)
        for at, n in enumerate(counts)
    ]
    distance = sum(abs(r - s) for r, s in zip(right, sure, strict=True))
    answers.sort(key=lambda answer: -answer[0])
    return Calibration(sum(counts), distance / sum(counts) if distance else 0.0, bins, answers)


def tagging_calibration(gold: Iterable[Sequence[Any]], taggings: Iterable[_Tagging]) -> TaggingCalibration:
    """Compare the confidence of a model in labels and spans with their accuracy.

    A span is correct if the gold labels have a chunk of the same type at the same tokens (mode "conlleval").

    Args:
        gold: gold label sequences.
        taggings: results of `ChainCRF.tag`, of the same number and lengths.

    Raises:
        DataError: two sequences differ in length, or the numbers of sequences differ.

    Example:
        >>> from loglinear import ChainCRF
        >>> from loglinear.metrics import tagging_calibration
        >>> X, y = [[["Ada"], ["Lovelace"], ["wrote"]]], [["B-PER", "I-PER", "O"]]
        >>> found = tagging_calibration(y, ChainCRF(l2=0.1).fit(X, y).tag(X))
        >>> round(found.tokens.expected_error, 2), round(found.spans.expected_error, 2)
        (0.12, 0.18)
    """
    tokens: list[tuple[float, bool, int]] = []
    spans: list[tuple[float, bool, int]] = []
    sequences: list[tuple[float, bool, int]] = []
    are_tags = True
    for number, (labels, tagging) in enumerate(_together(gold, taggings), start=1):
        if labels is not None:
            check_ordered(labels, f"sentence {number}", "give a sequence of labels for each sentence")
            check_comparable(labels, f"sentence {number}", gold=True)
        if tagging is not None and not hasattr(tagging, "probabilities"):
            message = f"sentence {number}: {tagging!r:.60} has no probabilities; give the results of ChainCRF.tag"
            raise DataError(message)
        if labels is None or tagging is None or len(labels) != len(tagging.labels):
            n = 0 if labels is None else len(labels)
            m = 0 if tagging is None else len(tagging.labels)
            message = f"sentence {number}: {n} gold labels, but {m} predicted"
            raise DataError(message)
        right = [true == guess for true, guess in zip(labels, tagging.labels, strict=True)]
        tokens += [(p, is_right, number) for p, is_right in zip(tagging.probabilities, right, strict=True)]
        if right:
            sequences.append((tagging.probability, all(right), number))
        are_tags = are_tags and all(map(is_tag, labels))
        if not are_tags or not tagging.spans:
            continue
        chunks = chunk_set(labels)
        spans += [(p, (type_, start, end) in chunks, number) for type_, start, end, p in tagging.spans]
    of_spans = _of_rows(spans) if are_tags and spans else None
    return TaggingCalibration(_of_rows(tokens), of_spans, _of_rows(sequences))


def floored(probability: float) -> str:
    """Return a probability with six decimals that is not above it, so that it accepts the same answers."""
    return f"{math.floor(probability * 1e6) / 1e6:.6f}"


def _answers_needed(precision: float) -> int:
    return math.ceil(_NONE_WRONG / (1.0 - precision) - 1e-6)


def _together(
    gold: Iterable[Sequence[Any]], taggings: Iterable[_Tagging]
) -> Iterator[tuple[Sequence[Any] | None, _Tagging | None]]:
    return zip_longest(gold, taggings)


def _of_rows(rows: list[tuple[float, bool, int]]) -> Calibration:
    return calibration([p for p, _, _ in rows], [right for _, right, _ in rows], [group for _, _, group in rows])
