"""The columns of the samples that an estimator was trained on: of a matrix or table, or named attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse
from sklearn.utils.validation import _check_n_features, check_array, validate_data

from ..data.bad_values import checked, named
from ..data.corpus import Corpus
from ..data.frames import Frame, as_frame, check_names
from ..data.inputs import Samples
from ..data.matrix import is_plain, refuse_kinds
from ..data.samples import attribute_corpus, corpus_without_attributes, samples_with
from ..errors import DataError
from ..vectors import Vector
from .one_state import OneState

__all__ = ["SampleColumns"]


class SampleColumns(OneState):
    """The part of an estimator that turns samples into a matrix over the columns that it knows."""

    # What messages call the estimator.
    _called: ClassVar[str] = "classifier"
    attributes_: list[str] | None
    n_features_in_: int

    def _column_names(self) -> Sequence[str] | None:
        """Return the names of the columns; None for a matrix without names."""
        return self.attributes_ if self.attributes_ is not None else getattr(self, "feature_names_in_", None)

    def _matrix(self, X: Corpus | Samples) -> Vector | scipy.sparse.csr_array:
        """Return X as a matrix over the columns of the training data."""
        corpus = attribute_corpus(X)
        if corpus is not None:
            if self.attributes_ is None:
                message = f"X contains attributes, but the {self._called} was trained on a matrix; give a matrix"
                raise DataError(message)
            X = samples_with(self.attributes_, corpus)
            if not self.attributes_:  # a file without weights; scikit-learn refuses matrices without columns
                return X
        elif self.attributes_ is not None:
            return samples_with(self.attributes_, corpus_without_attributes(X, self._called))
        frame = as_frame(X)
        return self._numbers(X if frame is None else frame, np.float64, reset=False)

    def _numbers(self, X: Corpus | Samples | Frame, kinds: object, *, reset: bool) -> Vector | scipy.sparse.csr_array:
        """Return a table or matrix as numbers, after scikit-learn's checks; its errors become errors of ours.

        Args:
            X: numbers, shape (n_samples, n_columns).
            kinds: types of numbers to keep.
            reset: whether the columns are those to train on; otherwise they must be those of the training data.

        Raises:
            DataError: a value is not a finite number, or the shape or the columns are wrong.
        """
        if reset and is_plain(X):
            self.n_features_in_ = X.shape[1]
            vars(self).pop("feature_names_in_", None)
            return X
        refuse_kinds(X)
        names = getattr(self, "feature_names_in_", None)
        try:
            if not isinstance(X, Frame):
                return validate_data(
                    self, checked(X), accept_sparse="csr", dtype=kinds, accept_large_sparse=True, reset=reset
                )
            if not reset:
                check_names(X.names, names)
            matrix: Vector = check_array(X.matrix(), dtype=kinds, estimator=self, input_name="X")
            _check_n_features(self, matrix, reset=reset)
            return matrix
        except (TypeError, ValueError, OverflowError) as error:
            columns = None if reset else (self.n_features_in_, names)
            raise named(X, error, columns) from error
