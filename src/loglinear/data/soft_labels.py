"""Soft labels from votes, from scores and from n-best lists.

A soft label is a dict of probabilities by label, in place of a label in y. Nothing is normalised unless `normalized` is
called.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar

from ..errors import DataError
from ..options import real_number
from .columns import as_items, as_lists, is_absent
from .labels import check_ordered, numbers_by_label

__all__ = ["filled", "from_n_best", "normalized", "votes"]

T = TypeVar("T")

_PAIRS = "give pairs of labels and their log-probability, as predict(X, n_best=3) returns them"


def normalized(y: Iterable[Iterable[Any]], *, least: float = 0.0) -> list[list[Any]]:
    """Return the labels of sentences with each dict divided by its sum.

    Args:
        y: a sequence of labels for each sentence; what is not a dict is returned unchanged.
        least: share of the sum, from 0 to 1, below which a label is left out first. Every label that is kept has
            features with all attributes of its token, so 0.01 or so makes the marginals of a large model much cheaper.

    Raises:
        DataError: a number is negative or not finite, or none is above 0; names sentence and token. Or y is not a
            sequence of labels for each sentence.
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
        for sentence, labels in enumerate(_rows(y, "y"))
    ]


def votes(annotators: Sequence[Iterable[Iterable[Any]]], weights: Sequence[float] | None = None) -> list[list[Any]]:
    """Return the labels on which several annotators, or rules, agree, and the shares of their votes elsewhere.

    Args:
        annotators: for each annotator the labels of all sentences; None where one abstains.
        weights: how much the vote of each annotator counts, >= 0; 1 by default.

    Returns:
        For each token a label, a dict of shares, or None if no one votes. A sentence with both a dict and None cannot
        be trained on: leave it out, or see `filled`.

    Raises:
        DataError: the sentences of annotators have different lengths, or the weights do not fit.

    Example:
        >>> from loglinear.data.soft_labels import votes
        >>> votes([[["PER", "O", None]], [["PER", "PER", None]], [["PER", "O", "O"]]], weights=[1.0, 2.0, 1.0])
        [['PER', {'O': 0.5, 'PER': 0.5}, 'O']]
    """
    check_ordered(annotators, "annotators", "give for each annotator the labels of all sentences")
    every = [_rows(sentences, f"annotator {at}") for at, sentences in enumerate(annotators)]
    counts = [1.0] * len(every)
    if weights is not None:
        check_ordered(weights, "weights", "give a number >= 0 for each annotator")
        counts = [_number(weight) for weight in weights]
    if len(counts) != len(every) or not all(count >= 0.0 for count in counts) or not math.isfinite(sum(counts)):
        message = (
            f"weights={weights!r} must have a number >= 0 for each of the {len(every)} annotators, with a finite sum"
        )
        raise DataError(message)
    lengths = [[len(labels) for labels in sentences] for sentences in every]
    if any(lengths_of != lengths[0] for lengths_of in lengths):
        message = "the annotators have labelled different numbers of sentences or tokens; give None where one abstains"
        raise DataError(message)
    return [
        [_vote(at, counts, f"sentence {sentence}, token {token}") for token, at in enumerate(zip(*rows, strict=True))]
        for sentence, rows in enumerate(zip(*every, strict=True))
    ]


def filled(y: Iterable[Iterable[Any]], labels: Iterable[Any] | None = None) -> list[list[Any]]:
    """Return the labels of sentences with equal probabilities for what is unknown in sentences with soft labels.

    `ChainCRF` trains on soft labels, and on partial ones, but not on both in one sentence. Where a sentence has a dict,
    None becomes a dict of equal probabilities of all labels, and a set one of its labels. This is not the same as an
    unknown label: it teaches the model to be unsure of the token. Sentences without a dict are returned unchanged.

    Args:
        y: a sequence of labels for each sentence, such as `votes` returns it.
        labels: the labels that None stands for; by default all labels in y.

    Raises:
        DataError: y is not a sequence of labels for each sentence, or there are no labels for None; names sentence and
            token.

    Example:
        >>> from loglinear.data.soft_labels import filled
        >>> filled([[{"PER": 0.5, "O": 0.5}, None], [None, "O"]])
        [[{'PER': 0.5, 'O': 0.5}, {'PER': 0.5, 'O': 0.5}], [None, 'O']]
    """
    rows = _rows(y, "y")
    every = _labels_in(rows) if labels is None else list(dict.fromkeys(labels))

    def dict_of(label: Any, where: str) -> Any:
        if label is not None and not isinstance(label, Set):
            return label
        possible = every if label is None else [name for name in every if name in label] or sorted(label, key=str)
        if not possible:
            message = f"{where}: no label is possible; name the labels that an unknown label may be"
            raise DataError(message)
        return {name: 1.0 / len(possible) for name in possible}

    return [
        [dict_of(label, f"sentence {sentence}, token {token}") for token, label in enumerate(row)]
        if any(isinstance(label, Mapping) for label in row)
        else row
        for sentence, row in enumerate(rows)
    ]


def _labels_in(rows: Iterable[Iterable[Any]]) -> list[Any]:
    """Return the different labels of sentences, in the order in which they occur."""
    names: dict[Any, None] = {}
    for row in rows:
        for label in row:
            if isinstance(label, Mapping):
                names |= dict.fromkeys(label)
            elif isinstance(label, Set):
                names |= dict.fromkeys(sorted(label, key=str))
            elif label is not None:
                names[label] = None
    return list(names)


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

    Raises:
        DataError: the numbers of sentences differ, or a sentence has something else than pairs of labels and
            log-probabilities; names the sentence.

    Example:
        >>> from loglinear.data.soft_labels import from_n_best
        >>> from_n_best([["a", "b"]], [[(["X", "O"], -0.5), (["O", "O"], -0.5)]])
        ([['a', 'b'], ['a', 'b']], [['X', 'O'], ['O', 'O']], [0.5, 0.5])
    """
    check_ordered(X, "X")
    check_ordered(labellings, "labellings", _PAIRS)
    inputs, lists = list(X), list(labellings)
    if len(inputs) != len(lists):
        message = f"{len(inputs)} sentences but {len(lists)} lists of label sequences; give one for each sentence"
        raise DataError(message)
    sentences, y, weights = [], [], []
    for at, (sentence, pairs) in enumerate(zip(inputs, lists, strict=True)):
        listed = _labellings(pairs, f"labellings of sentence {at}")
        most = max((log_p for _, log_p in listed), default=0.0)
        shares = [math.exp(log_p - most) for _, log_p in listed]
        for (labels, _), share in zip(listed, shares, strict=True):
            sentences.append(sentence)
            y.append(labels)
            weights.append(share / sum(shares))
    return sentences, y, weights


def _rows(y: Any, what: str) -> list[list[Any]]:
    """Return labels, a sequence for each sentence, as lists; errors call them `what`."""
    y = as_lists(y, what)
    check_ordered(y, what, "give a sequence of labels for each sentence")
    rows = []
    for sentence, labels in enumerate(y):
        labels = as_items(labels)
        check_ordered(labels, f"{what}, sentence {sentence}", "give a sequence of labels for each sentence")
        rows.append(list(labels))
    return rows


def _labellings(pairs: Any, where: str) -> list[tuple[list[Any], float]]:
    """Return pairs of labels and a log-probability, the largest of which is finite; errors begin with `where`."""
    check_ordered(pairs, where, _PAIRS)
    listed: list[tuple[list[Any], float]] = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            message = f"{where}: {pair!r:.60} is not a pair of labels and a log-probability; {_PAIRS}"
            raise DataError(message)
        labels, log_p = pair
        check_ordered(labels, where, _PAIRS)
        number = _number(log_p)
        if not number < math.inf:
            message = f"{where}: the log-probability {log_p!r:.60} is not a number below infinity; {_PAIRS}"
            raise DataError(message)
        listed.append((list(labels), number))
    if listed and max(log_p for _, log_p in listed) == -math.inf:
        message = f"{where}: every log-probability is -inf; leave out such a sentence"
        raise DataError(message)
    return listed


def _number(value: Any) -> float:
    """Return a number as a float, NaN for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _normalized(label: Mapping[Any, Any], least: float, where: str) -> dict[Any, float]:
    shares = numbers_by_label(label, where)
    total = math.fsum(shares.values()) if sum(shares.values()) < math.inf else math.inf
    if not all(0.0 <= share for share in shares.values()) or not 0.0 < total < math.inf:
        message = f"{where}: {dict(label)!r:.80} has no positive, finite sum; give numbers >= 0, one of them above 0"
        raise DataError(message)
    kept_shares = {name: share for name, share in shares.items() if share and share >= least * total}
    if not kept_shares:
        kept_shares = {max(shares, key=lambda name: shares[name]): 1.0}
    rest = math.fsum(kept_shares.values())
    return {name: share / rest for name, share in kept_shares.items()}


def _vote(labels: Iterable[Any], counts: Iterable[float], where: str) -> Any:
    shares: dict[Any, float] = {}
    for label, count in zip(labels, counts, strict=True):
        if label is not None and (is_absent(label) or (isinstance(label, Collection) and not isinstance(label, str))):
            message = f"{where}: the vote {label!r:.60} is not a label; give one label, or None where one abstains"
            raise DataError(message)
        if label is not None and count:
            shares[label] = shares.get(label, 0.0) + count
    if len(shares) < 2:
        return next(iter(shares), None)
    total = sum(shares.values())
    return {label: share / total for label, share in shares.items()}
