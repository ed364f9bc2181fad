"""Distributions over the classes of samples: each sample once for each of its classes, weighted by its probability.

The objective of a classifier is linear in the distribution of a sample's class, so these samples have the objective of
the distributions, and every solver minimises it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError, DataWarning, warn
from .columns import is_pandas
from .corpus import Corpus
from .frames import Frame, as_frame
from .labels import check_types, check_whole_or_soft, numbers_by_label
from .sample_values import weights_of_samples
from .samples import token_weights
from .survey import names_of

__all__ = ["RepeatedSamples", "are_soft", "repeated", "repeated_tokens"]

# Types of columns that may have dicts: of NumPy and pandas, and of polars.
_OF_OBJECTS = ("object", "Struct")

Shares: TypeAlias = "Mapping[Any, float]"
"""The probabilities of classes by class."""


class RepeatedSamples(NamedTuple):
    """Samples, each once for each class with a probability above 0.

    Attributes:
        y: their classes.
        weights: their weights.
        rows: number of the original sample, shape (n,).
        classes: all classes that have a probability, which may be 0 for every sample.
    """

    y: list[Any]
    weights: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]
    classes: list[Any]

    @property
    def n_samples(self) -> int:
        """Number of original samples."""
        return int(self.rows[-1]) + 1 if self.rows.size else 0

    def warn_of_impossible(self) -> bool:
        """Warn of classes that have a probability of 0 in every sample; return whether there are any."""
        possible = set(self.y)
        impossible = [name for name in self.classes if name not in possible]
        if impossible:
            are = "1 class has" if len(impossible) == 1 else f"{len(impossible):,} classes have"
            what = f"{are} a probability of 0 in every sample: {names_of([*map(str, impossible)])}"
            remedy = "the model gives a probability near 0; leave them out if they cannot occur"
            warn(f"{what}; {remedy}", DataWarning)
        return bool(impossible)

    @classmethod
    def of(cls, distributions: Sequence[Shares], weights: npt.NDArray[np.float64]) -> RepeatedSamples:
        """Return the samples with these probabilities of classes, and these weights, shape (n_samples,)."""
        entries = [
            (row, name, share) for row, shares in enumerate(distributions) for name, share in shares.items() if share
        ]
        rows = np.array([row for row, _, _ in entries], dtype=np.int64)
        y, shares = [name for _, name, _ in entries], np.array([share for _, _, share in entries])
        classes = [*dict.fromkeys(name for shares in distributions for name in shares)]
        return cls(y, weights[rows] * shares, rows, classes)


def are_soft(y: Any) -> bool:
    """Whether y has distributions over classes: a list or column with dicts, or a matrix or table of several columns.

    A matrix or table has numbers that are not whole, or floats that add up to 1 in each row: other indicators are taken
    for several classes of a sample.
    """
    shape: tuple[int, ...] = getattr(y, "shape", ())
    is_column = len(shape) == 1 and str(getattr(y, "dtype", "")).startswith(_OF_OBJECTS)
    if is_column or isinstance(y, (list, tuple)):
        return any(isinstance(label, Mapping) for label in y)
    if len(shape) != 2 or shape[1] < 2 or hasattr(y, "tocsr"):
        return False
    frame = as_frame(y)
    try:
        table = np.asarray(y if frame is None else frame.matrix(), dtype=np.float64)
    except (TypeError, ValueError):
        return False
    if (table % 1.0 != 0.0).any():
        return True
    is_float = np.asarray(y).dtype.kind == "f"
    return is_float and len(table) > 0 and bool((table >= 0.0).all() and (table.sum(axis=1) == 1.0).all())


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
    distributions = _of_table(y) if len(getattr(y, "shape", ())) == 2 else _of_list(y)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(distributions) != n:
        message = f"y has {len(distributions)} distributions, but X has {n} samples; give one for each sample"
        raise DataError(message)
    weights = weights_of_samples(1.0 if sample_weight is None else sample_weight, n)
    return RepeatedSamples.of(distributions, weights)


def repeated_tokens(corpus: Corpus) -> RepeatedSamples | None:
    """Return the tokens of a corpus as samples with classes and weights; None if each token has a single label.

    Raises:
        DataError: a label is unknown, or one of several; names sentence and token. Or the corpus has no labels.
    """
    if corpus.core.first_partial() is None:
        return None
    distributions: list[Shares] = []
    for sentence, labels in enumerate(corpus.gold()):
        for token, label in enumerate(labels):
            if not isinstance(label, Mapping):
                check_whole_or_soft(label, f"sentence {sentence}, token {token}")
            distributions.append(label if isinstance(label, Mapping) else {label: 1.0})
    return RepeatedSamples.of(distributions, token_weights(corpus))


def _of_list(y: Iterable[Any]) -> list[Shares]:
    return [
        _checked(numbers_by_label(label, f"y, row {row}"), row) if isinstance(label, Mapping) else {label: 1.0}
        for row, label in enumerate(y)
    ]


def _of_table(y: Any) -> list[Shares]:
    frame = Frame.of(y) if is_pandas(y) else as_frame(y)
    table = np.asarray(y if frame is None else frame.matrix(), dtype=np.float64)
    names: Sequence[Any] = range(table.shape[1])
    if is_pandas(y):
        names = np.asarray(y.columns).tolist()  # Python's types; they may be whole numbers
    elif frame is not None and frame.names is not None:
        names = frame.names
    check_types(names, "the names of the columns of y have several types", "; name the columns after the classes")
    return [_checked(dict(zip(names, values, strict=True)), row) for row, values in enumerate(table.tolist())]


def _checked(shares: Shares, row: int) -> Shares:
    """Return the probabilities of classes, which add up to 1."""
    try:
        checked = _core.checked_probabilities([*shares.values()])
    except DataError as error:
        message = f"y, row {row}: {error}"
        raise DataError(message) from None
    return dict(zip(shares, checked, strict=True))
