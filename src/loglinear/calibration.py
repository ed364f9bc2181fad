"""Calibration: whether answers that a model is sure of to 90 % are right in 90 % of the cases.

The module imports the standard library alone, to load fast.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

from loglinear.errors import DataError
from loglinear.schemes import is_tag, parsed_tag, read_chunks

__all__ = ["Calibration", "CalibrationBin", "TaggingCalibration", "calibration", "tagging_calibration"]

# Lower ends of the ten bins, and 1.
_EDGES = [k / 10 for k in range(11)]


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


class Calibration(NamedTuple):
    """The result of `calibration`.

    Attributes:
        n: number of predictions.
        expected_error: expected calibration error: the mean over all predictions of |accuracy - mean confidence| of
            their bin; 0 without predictions.
        bins: ten bins of equal width from 0 to 1.

    Example:
        >>> from loglinear.metrics import calibration
        >>> calibration([0.75, 0.75, 1.0], [True, False, True]).to_dict()["expected_calibration_error"]
        0.16666666666666666
    """

    n: int
    expected_error: float
    bins: list[CalibrationBin]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        bins = [bin_._asdict() for bin_ in self.bins]
        return {"n": self.n, "expected_calibration_error": self.expected_error, "bins": bins}

    def report(self, answers: str) -> str:
        """Return a table of the bins for people, in per cent.

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
        return "\n".join(lines)


class TaggingCalibration(NamedTuple):
    """The result of `tagging_calibration`.

    Attributes:
        tokens: calibration of the labels of tokens.
        spans: calibration of the predicted spans; None without spans, or if the labels do not follow a tagging scheme.

    Example:
        >>> from loglinear import Span, Tagging
        >>> from loglinear.metrics import tagging_calibration
        >>> found = Tagging(["B-PER", "O"], [0.75, 0.95], [Span("PER", 0, 1, 0.75)], -0.3)
        >>> tokens, spans = tagging_calibration([["B-PER", "O"]], [found])
        >>> round(tokens.expected_error, 3), spans.expected_error
        (0.15, 0.25)
    """

    tokens: Calibration
    spans: Calibration | None


class _Tagging(Protocol):
    """A sentence's labels and spans with probabilities, such as `loglinear.Tagging`."""

    @property
    def labels(self) -> Sequence[Any]: ...
    @property
    def probabilities(self) -> Sequence[float]: ...
    @property
    def spans(self) -> Sequence[tuple[str, int, int, float]]: ...


def calibration(confidences: Iterable[float], correct: Iterable[bool]) -> Calibration:
    """Compare the confidence of predictions with their accuracy.

    Predictions are put into ten bins of equal width by their confidence. Source: expected calibration error: Naeini,
    Cooper & Hauskrecht, AAAI 2015; accuracy against confidence, bin by bin (reliability diagram): DeGroot & Fienberg
    1983.

    Args:
        confidences: probability that the model assigns to each prediction.
        correct: whether each prediction is correct.

    Raises:
        DataError: a confidence is not between 0 and 1, or the two differ in length.

    Example:
        >>> from loglinear.metrics import calibration
        >>> calibration([0.75, 0.75, 0.75, 0.75], [True, True, True, False]).expected_error
        0.0
        >>> calibration([0.75, 0.75], [True, False]).expected_error
        0.25
    """
    counts, sure, right = [0] * 10, [0.0] * 10, [0] * 10
    for number, (confidence, is_right) in enumerate(zip_longest(confidences, correct), start=1):
        if confidence is None or is_right is None:
            short, long = ("confidences", "correct") if confidence is None else ("correct", "confidences")
            message = f"answer {number}: missing in {short}, but present in {long}; give one value per answer in both"
            raise DataError(message)
        if not 0.0 <= confidence <= 1.0:
            message = f"answer {number}: the confidence {confidence!r} is not a probability, between 0 and 1"
            raise DataError(message)
        at = max(bisect_left(_EDGES, confidence) - 1, 0)
        counts[at] += 1
        sure[at] += float(confidence)
        right[at] += bool(is_right)
    bins = [
        CalibrationBin(_EDGES[at], _EDGES[at + 1], n, sure[at] / n if n else None, right[at] / n if n else None)
        for at, n in enumerate(counts)
    ]
    distance = sum(abs(r - s) for r, s in zip(right, sure, strict=True))
    return Calibration(sum(counts), distance / sum(counts) if distance else 0.0, bins)


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
    tokens: list[tuple[float, bool]] = []
    spans: list[tuple[float, bool]] = []
    are_tags = True
    for number, (labels, tagging) in enumerate(_together(gold, taggings), start=1):
        if labels is None or tagging is None or len(labels) != len(tagging.labels):
            n = 0 if labels is None else len(labels)
            m = 0 if tagging is None else len(tagging.labels)
            message = f"sentence {number}: {n} gold labels, but {m} predicted"
            raise DataError(message)
        right = (true == guess for true, guess in zip(labels, tagging.labels, strict=True))
        tokens += zip(tagging.probabilities, right, strict=True)
        are_tags = are_tags and all(map(is_tag, labels))
        if not are_tags or not tagging.spans:
            continue
        chunks = set(read_chunks([parsed_tag(label) for label in labels], None, "conlleval"))
        spans += [(p, (type_, start, end) in chunks) for type_, start, end, p in tagging.spans]
    return TaggingCalibration(_of_pairs(tokens), _of_pairs(spans) if are_tags and spans else None)


def _together(
    gold: Iterable[Sequence[Any]], taggings: Iterable[_Tagging]
) -> Iterator[tuple[Sequence[Any] | None, _Tagging | None]]:
    return zip_longest(gold, taggings)


def _of_pairs(pairs: list[tuple[float, bool]]) -> Calibration:
    return calibration([confidence for confidence, _ in pairs], [right for _, right in pairs])
