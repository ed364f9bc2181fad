"""Scores of labels: scikit-learn's, of the tokens of all sequences joined, and the share of sequences without error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...data.inputs import Label, Labels
from ._sequences import flatten

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]


def _flat(name: str, y_true: Labels, y_pred: Labels, **kwargs: object) -> Any:
    """Return one of scikit-learn's scores of the labels in sequences."""
    from sklearn import metrics

    return getattr(metrics, name)(flatten(y_true), flatten(y_pred), **kwargs)


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of tokens that have the right label.

    Example:
        >>> from loglinear.compat.sklearn_crfsuite.metrics import flat_accuracy_score
        >>> float(flat_accuracy_score([["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]]))
        0.75
    """
    return float(_flat("accuracy_score", y_true, y_pred))


def flat_precision_score(y_true: Labels, y_pred: Labels, **kwargs: object) -> Any:
    """Return scikit-learn's `precision_score` of the tokens."""
    return _flat("precision_score", y_true, y_pred, **kwargs)


def flat_recall_score(y_true: Labels, y_pred: Labels, **kwargs: object) -> Any:
    """Return scikit-learn's `recall_score` of the tokens."""
    return _flat("recall_score", y_true, y_pred, **kwargs)


def flat_f1_score(y_true: Labels, y_pred: Labels, **kwargs: object) -> Any:
    """Return scikit-learn's `f1_score` of the tokens."""
    return _flat("f1_score", y_true, y_pred, **kwargs)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **kwargs: object) -> Any:
    """Return scikit-learn's `fbeta_score` of the tokens."""
    return _flat("fbeta_score", y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[Label] | None = None, **kwargs: object
) -> Any:
    """Return scikit-learn's `classification_report` of the tokens."""
    return _flat("classification_report", y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of sequences all of whose labels are right; 0 if there is no sequence.

    Example:
        >>> from loglinear.compat.sklearn_crfsuite.metrics import sequence_accuracy_score
        >>> sequence_accuracy_score([["A", "B"], ["A"]], [["A", "B"], ["B"]])
        0.5
    """
    pairs = [list(truth) == list(guess) for truth, guess in zip(y_true, y_pred, strict=True)]
    return sum(pairs) / len(pairs) if pairs else 0
