"""Soft labels from votes, from scores and from n-best lists.

A soft label is a dict of probabilities by label, in place of a label in y. Nothing is normalised unless `normalized` is
called.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import DataError
from ..options import real_number

__all__ = ["from_n_best", "normalized", "votes"]

T = TypeVar("T")


def normalized(y: Iterable[Iterable[Any]], *, least: float = 0.0) -> list[list[Any]]:
    """Return the labels of sentences with each dict divided by its sum.

    Args:
        y: a sequence of labels for each sentence; what is not a dict is returned unchanged.
        least: share of the sum, from 0 to 1, below which a label is left out first. Every label that is kept has
            features with all attributes of its token, so 0.01 or so makes the marginals of a large model much cheaper.

    Raises:
        DataError: a number is negative or not finite, or none is above 0; names sentence and token.
        OptionError: ``least`` is out of range.

    Example:
        >>> from loglinear.data.soft_labels import normalized
        >>> normalized([[{"PER": 3, "O": 1}, "O"], [{"PER": 0.99, "LOC": 0.01}]], least=0.05)
        [[{'PER': 0.75, 'O': 0.25}, 'O'], [{'PER': 1.0}]]
    """
    least = real_number("least", least, "a number from 0 to 1", lambda share: 0.0 <= share <= 1.0)
    return [
        [
            _normalized(label, least, f"sentence {sentence}, token {token}") if isinstance(label, Mapping) else label
            for token, label in enumerate(labels)
        ]
        for sentence, labels in enumerate(y)
    ]


def votes(annotators: Sequence[Iterable[Iterable[Any]]], weights: Sequence[float] | None = None) -> list[list[Any]]:
    """Return the labels on which several annotators, or rules, agree, and the shares of their votes elsewhere.

    Args:
        annotators: for each annotator the labels of all sentences; None where one abstains.
        weights: how much the vote of each annotator counts, >= 0; 1 by default.

    Returns:
        For each token a label, a dict of shares, or None if no one votes.

    Raises:
        DataError: the sentences of annotators have different lengths, or the weights do not fit.

    Example:
        >>> from loglinear.data.soft_labels import votes
        >>> votes([[["PER", "O", None]], [["PER", "PER", None]], [["PER", "O", "O"]]], weights=[1.0, 2.0, 1.0])
        [['PER', {'O': 0.5, 'PER': 0.5}, 'O']]
    """
    counts = [1.0] * len(annotators) if weights is None else [float(weight) for weight in weights]
    if len(counts) != len(annotators) or not all(0.0 <= count < math.inf for count in counts):
        message = f"weights={weights!r} must have a number >= 0 for each of the {len(annotators)} annotators"
        raise DataError(message)
    every = [[list(labels) for labels in sentences] for sentences in annotators]
    lengths = [[len(labels) for labels in sentences] for sentences in every]
    if any(lengths_of != lengths[0] for lengths_of in lengths):
        message = "the annotators have labelled different numbers of sentences or tokens; give None where one abstains"
        raise DataError(message)
    return [[_vote(at, counts) for at in zip(*rows, strict=True)] for rows in zip(*every, strict=True)]


def from_n_best(
    X: Iterable[T], labellings: Iterable[Iterable[tuple[Sequence[Any], float]]]
) -> tuple[list[T], list[list[Any]], list[float]]:
    """Return sentences, labels and weights in which each sentence occurs once for each of its label sequences.

    Args:
        X: sentences.
        labellings: for each sentence pairs of a label sequence and its log-probability, as ``predict(X, n_best=N)``
            returns them. The probabilities of a sentence are divided by their sum.

    Returns:
        The arguments X, y and ``sample_weight`` of `fit`.

    Example:
        >>> from loglinear.data.soft_labels import from_n_best
        >>> from_n_best([["a", "b"]], [[(["X", "O"], -0.5), (["O", "O"], -0.5)]])
        ([['a', 'b'], ['a', 'b']], [['X', 'O'], ['O', 'O']], [0.5, 0.5])
    """
    sentences, y, weights = [], [], []
    for sentence, pairs in zip(X, labellings, strict=True):
        listed = list(pairs)
        most = max((log_p for _, log_p in listed), default=0.0)
        shares = [math.exp(log_p - most) for _, log_p in listed]
        for (labels, _), share in zip(listed, shares, strict=True):
            sentences.append(sentence)
            y.append(list(labels))
            weights.append(share / sum(shares))
    return sentences, y, weights


def _normalized(label: Mapping[Any, Any], least: float, where: str) -> dict[Any, float]:
    total = math.fsum(label.values())
    if not all(0.0 <= share < math.inf for share in label.values()) or not 0.0 < total < math.inf:
        message = f"{where}: {dict(label)!r:.80} has no positive sum; give numbers >= 0, one of them above 0"
        raise DataError(message)
    kept_shares = {name: share for name, share in label.items() if share and share >= least * total}
    if not kept_shares:
        kept_shares = {max(label, key=lambda name: label[name]): 1.0}
    rest = math.fsum(kept_shares.values())
    return {name: share / rest for name, share in kept_shares.items()}


def _vote(labels: Iterable[Any], counts: Iterable[float]) -> Any:
    shares: dict[Any, float] = {}
    for label, count in zip(labels, counts, strict=True):
        if label is not None and count:
            shares[label] = shares.get(label, 0.0) + count
    if len(shares) < 2:
        return next(iter(shares), None)
    total = sum(shares.values())
    return {label: share / total for label, share in shares.items()}
