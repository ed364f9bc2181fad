"""Samples given by names of attributes, and their sparse matrix."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..errors import DataError, DataWarning, warn
from ..vectors import Vector
from .columns import as_lists, is_column, is_series
from .corpus import Corpus
from .formats import is_format, named
from .frames import as_frame
from .inputs import Array, Samples
from .labels import check_targets

# First samples that show whether strings are numbers.
_LOOKED_AT = 20

__all__ = [
    "attribute_corpus",
    "check_no_bigrams",
    "corpus_without_attributes",
    "labels_and_weights",
    "matrix_of",
    "refuse_labels_of_corpus",
    "rows_of",
    "samples_with",
    "token_weights",
    "warn_of_numbers",
]


def corpus_without_attributes(X: Any, estimator: str = "classifier") -> Corpus:
    """Return samples all of which are empty, such as [[], []], as a corpus.

    Args:
        X: what a user gave.
        estimator: what messages call the estimator.

    Raises:
        DataError: X is something else that is neither attributes nor a Corpus; says what it is.
    """
    is_list = isinstance(X, Sequence) and not isinstance(X, (str, bytes))
    if is_list and not len(X):
        message = "X is empty; give one or more samples"
    elif is_list and all(isinstance(sample, (Sequence, Set)) and not len(sample) for sample in X):
        return Corpus.encode([[[]] for _ in X])
    elif is_list or is_column(X) or hasattr(X, "shape"):
        message = f"X is a matrix, but the {estimator} was trained on attributes; give attributes or a Corpus"
    else:
        kind = "None" if X is None else f"of type {type(X).__name__}"
        message = f"X is {kind}, not a list of samples; give attributes, such as [['a', 'b']], or a Corpus"
    raise DataError(message)


def attribute_corpus(X: Corpus | Samples) -> Corpus | None:
    """Return X if it is a corpus, or a corpus of its samples with a token each; None if samples are not named.

    A sample with named attributes is a dict, as `Corpus.encode` takes it, or a sequence of names.

    Raises:
        DataError: samples are strings, or cannot be encoded; names the sample.
    """
    if isinstance(X, Corpus):
        return X
    if is_series(X):
        X = as_lists(X, "X")
    elif is_column(X) and hasattr(X, "columns") and len(X.columns) == 1:  # a table, such as a relation of DuckDB
        X = _samples_of(X)
    if not isinstance(X, Sequence) or isinstance(X, (str, bytes)):
        return None
    samples: Sequence[Any] = X
    first = _first_of(samples, object)
    if isinstance(first, str):
        message = "samples are strings; give lists of attributes, or use TextClassifier for texts"
        raise DataError(message)
    names = isinstance(first, (Sequence, Set)) and isinstance(next(iter(first)), str)
    if not names and not isinstance(first, Mapping):
        return None
    try:
        return Corpus.encode([[sample] for sample in samples])
    except DataError as error:
        # A sample is the only token of its sentence.
        message = re.sub(r"^sentence (\d+)(: token 0)?", r"sample \1 of X", str(error))
        message = message.replace("a token must be", "a sample must be")
        raise DataError(message) from error


def _samples_of(table: Any) -> Any:
    """Return the values of a table of one column if they are texts or collections; else the table."""
    try:
        values = as_lists(table, "X")
    except DataError:  # values of another type, such as dates
        return table
    return table if _first_of(values, str | Sequence | Set | Mapping) is None else values


def _first_of(samples: Sequence[Any], kind: Any) -> Any:
    """Return the first sample that is of a kind and is neither missing nor empty; None if there is none."""
    kinds = (sample for sample in samples if sample is not None and isinstance(sample, kind))
    return next((sample for sample in kinds if not (hasattr(sample, "__len__") and len(sample) == 0)), None)


def warn_of_numbers(samples: Corpus | Samples) -> None:
    """Warn if lists of names are rows of numbers in strings."""
    if isinstance(samples, Corpus) or not isinstance(samples, Sequence):
        return
    rows: Sequence[Any] = samples[:_LOOKED_AT]
    if not all(isinstance(row, (list, tuple)) and len(row) == len(rows[0]) > 1 for row in rows):
        return
    if all(_is_number(cell) for row in rows for cell in row):
        warn(
            f"samples are lists of strings such as {rows[0][0]!r}, which are taken for names of attributes; if they "
            "are numbers, convert X to numbers: numpy.array(X, dtype=float)",
            DataWarning,
        )


def _is_number(text: object) -> bool:
    try:
        return isinstance(text, str) and math.isfinite(float(text))
    except ValueError:
        return False


def check_no_bigrams(corpus: Corpus) -> None:
    """Raise DataError if there are attributes of label bigrams, which a classifier cannot use."""
    if corpus.core.has_bigrams:
        message = (
            "the template has bigram lines (B lines that read columns), which a classifier cannot use; remove them"
        )
        raise DataError(message)


def matrix_of(corpus: Corpus) -> scipy.sparse.csr_array:
    """Return the attributes of all tokens, shape (tokens, attributes); equal attributes of a token add up.

    Raises:
        DataError: the corpus has attributes of label bigrams, which a classifier cannot use.
    """
    check_no_bigrams(corpus)
    ends, ids, values = corpus.core.rows()
    shape = (len(ends), corpus.core.n_attributes)
    matrix = scipy.sparse.csr_array((values, ids, np.concatenate([[0], ends])), shape=shape)
    matrix.sum_duplicates()
    return matrix


def refuse_labels_of_corpus(y: object, sample_weight: object) -> None:
    """Raise DataError if y or sample_weight is given for a corpus, which contains labels and weights."""
    if y is not None or sample_weight is not None:
        message = "a Corpus already contains labels and weights; leave out y and sample_weight"
        raise DataError(message)


def labels_and_weights(corpus: Corpus, y: object, sample_weight: object) -> tuple[Array, Vector | None]:
    """Return the label of each token, and the weight of each, None if all are 1.

    The weight of a token is the weight of its sentence times its own, which for a chain is the cost of a wrong label.

    Raises:
        DataError: the corpus has no labels, or only part of one is known, or y or sample_weight is given as well; or
            labels of a file are real numbers.

    Warns:
        DataWarning: labels of a file of samples are lists.
    """
    refuse_labels_of_corpus(y, sample_weight)
    corpus.check_whole("one label per sample is needed here; leave out such samples")
    targets, weights = corpus.core.targets(), token_weights(corpus)
    if targets.size == 0:
        message = "the data have no labels"
        raise DataError(message)
    if is_format(corpus.format):
        check_targets(corpus.labels, commas=named(corpus.format).holds == "samples")
    return np.array(corpus.labels)[targets], None if (weights == 1.0).all() else weights


def token_weights(corpus: Corpus) -> Vector:
    """Return the weight of each token: the weight of its sentence times its own, shape (n_tokens,)."""
    weights, of_tokens = corpus.core.weights(), corpus.core.costs()
    return weights * np.where(np.isnan(of_tokens), 1.0, of_tokens) if of_tokens.size else weights


def samples_with(names: Sequence[str], corpus: Corpus) -> scipy.sparse.csr_array:
    """Return the attributes of all tokens as a matrix with a column for each name; other attributes are left out."""
    matrix = matrix_of(corpus)
    column_of = dict(zip(names, range(len(names)), strict=True))
    columns: npt.NDArray[np.int64] = np.array([column_of.get(name, -1) for name in corpus.core.names()], dtype=np.int64)
    wanted = np.flatnonzero(columns >= 0)
    moves = (np.ones(wanted.size), (wanted, columns[wanted]))
    return scipy.sparse.csr_array(matrix @ scipy.sparse.csr_array(moves, shape=(columns.size, len(names))))


def rows_of(X: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return some rows of samples of any kind, in the order of their numbers."""
    if isinstance(X, (Corpus, np.ndarray)):
        return X[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if isinstance(X, (list, tuple)):
        return [X[row] for row in rows.tolist()]
    if as_frame(X) is None:
        return np.asarray(X)[rows]
    return X.take(rows) if hasattr(X, "take") else X[rows.tolist()]
