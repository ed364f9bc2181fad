"""The classes that scikit-learn lends to estimators, with types, which scikit-learn has none of; needs scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .. import errors

__all__ = ["BaseEstimator", "ClassifierMixin", "ConvergenceWarning", "NotFittedError"]

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..data.corpus import Corpus
    from ..data.inputs import Classes, Samples

    B = TypeVar("B", bound="BaseEstimator")

    class BaseEstimator:
        """What an estimator inherits from scikit-learn's base."""

        def __sklearn_tags__(self) -> Any: ...

        def get_metadata_routing(self) -> object:
            """Return which metadata, such as sample weights, scikit-learn passes to which method."""

        def set_fit_request(self: B, **requests: bool | str | None) -> B:
            """Say which arguments of `fit` scikit-learn passes on."""

        def set_score_request(self: B, **requests: bool | str | None) -> B:
            """Say which arguments of `score` scikit-learn passes on."""

    class ClassifierMixin:
        """What a classifier inherits."""

        def score(self, X: Corpus | Samples, y: Classes, sample_weight: npt.ArrayLike | None = None) -> float:
            """Return the accuracy."""

    class ConvergenceWarning(errors.ConvergenceWarning):
        """The warning, which filters of scikit-learn's ConvergenceWarning match as well."""

    class NotFittedError(errors.NotFittedError):
        """The error, which handlers of scikit-learn's NotFittedError catch as well."""

else:
    import sklearn.exceptions
    from sklearn.base import BaseEstimator, ClassifierMixin

    class ConvergenceWarning(errors.ConvergenceWarning, sklearn.exceptions.ConvergenceWarning):
        """The warning, which filters of scikit-learn's ConvergenceWarning match as well."""

    class NotFittedError(errors.NotFittedError, sklearn.exceptions.NotFittedError):
        """The error, which handlers of scikit-learn's NotFittedError catch as well."""
