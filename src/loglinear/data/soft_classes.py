"""Distributions over the classes of samples: each sample once for each of its classes, weighted by its probability.

The objective of a classifier is linear in the distribution of a sample's class, so these samples have the objective of
the distributions, and every solver minimises it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from .corpus import Corpus
from .frames import as_frame
from .sample_values import weights_of_samples
from .samples import rows_of

__all__ = ["RepeatedSamples", "are_soft", "repeated"]

# The largest difference from 1 of the sum of a sample's probabilities.
ROUNDING = 1e-6


class RepeatedSamples(NamedTuple):
    """Samples, each once for each class with a probability above 0.

    Attributes:
        X: the samples.
        y: their classes.
        weights: their weights.
        rows: number of the original sample, shape (n,).
    """

    X: Any
    y: list[Any]
    weights: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]


def are_soft(y: Any) -> bool:
    """Whether y has distributions over classes: an array or table of several columns, or a list with dicts.

    One of the numbers must not be whole: indicators of several classes are taken for a mistake.
    """
    if isinstance(y, (list, tuple)):
        return any(isinstance(label, Mapping) and not all(map(_is_whole, label.values())) for label in y)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] < 2 or hasattr(y, "tocsr"):
        return False
    frame = as_frame(y)
    try:
        table = np.asarray(y if frame is None else frame.matrix(), dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool((table % 1.0 != 0.0).any())


def _is_whole(share: Any) -> bool:
    return isinstance(share, (int, float)) and share % 1.0 == 0.0


def repeated(X: Any, y: Any, sample_weight: Any) -> RepeatedSamples:
    """Return samples with distributions over classes as samples with classes and weights.

    Args:
        X: n samples.
        y: probabilities, shape (n, n_classes), whose classes are the names of a table's columns, or their numbers; or a
            list with a class or a dict of probabilities by class for each sample.
        sample_weight: weights of the samples, or None.

    Raises:
        DataError: probabilities are negative or do not add up to 1; names the row.
    """
    if isinstance(X, Corpus):
        message = "a Corpus already contains labels; give distributions as its labels, or samples and y"
        raise DataError(message)
    pairs = _of_list(y) if isinstance(y, (list, tuple)) else _of_table(y)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(pairs) != n:
        message = f"y has {len(pairs)} distributions, but X has {n} samples; give one for each sample"
        raise DataError(message)
    weights = weights_of_samples(1.0 if sample_weight is None else sample_weight, n)
    rows = np.array([row for row, shares in enumerate(pairs) for _ in shares], dtype=np.int64)
    shares = np.array([share for shares in pairs for _, share in shares])
    return RepeatedSamples(
        rows_of(X, rows), [name for shares in pairs for name, _ in shares], weights[rows] * shares, rows
    )


def _of_list(y: Any) -> list[list[tuple[Any, float]]]:
    pairs = []
    for row, label in enumerate(y):
        if not isinstance(label, Mapping):
            pairs.append([(label, 1.0)])
            continue
        try:
            shares = np.array([float(share) for share in label.values()])
        except (TypeError, ValueError):
            message = f"y, row {row}: {dict(label)!r:.80} has a probability that is not a number"
            raise DataError(message) from None
        shares = _checked(shares, row)
        pairs.append([(name, float(share)) for name, share in zip(label, shares, strict=True) if share])
    return pairs


def _of_table(y: Any) -> list[list[tuple[Any, float]]]:
    frame = as_frame(y)
    table = np.asarray(y if frame is None else frame.matrix(), dtype=np.float64)
    names = range(table.shape[1]) if frame is None or frame.names is None else frame.names
    pairs = []
    for row, values in enumerate(table):
        shares = _checked(values, row)
        pairs.append([(name, float(share)) for name, share in zip(names, shares, strict=True) if share])
    return pairs


def _checked(shares: npt.NDArray[np.float64], row: int) -> npt.NDArray[np.float64]:
    """Return probabilities divided by their sum, which is 1 but for rounding."""
    if not ((shares >= 0.0) & (shares <= 1.0 + ROUNDING)).all():
        message = f"y, row {row}: {shares.tolist()!r:.80} has numbers that are not probabilities from 0 to 1"
        raise DataError(message)
    total = float(shares.sum())
    if abs(total - 1.0) > ROUNDING:
        than = "less" if total < 1.0 else "more"
        message = (
            f"y, row {row}: the probabilities add up to {total:.6f}, {abs(total - 1.0):.6f} {than} than 1; divide them "
            "by their sum"
        )
        raise DataError(message)
    return shares / total
