"""Training of a classifier around the weights of an older one, by one strength or by what the older one has learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...data.inputs import Array
from ...errors import DataError, OptionError
from ...objectives.classifier import ClassifierObjective
from ...objectives.older import check_template
from ...result import Prior
from ...vectors import Vector
from .classifier_start import ClassifierStart, Columns, StartingWeights
from .prior import Centre, estimated
from .start import warn_of_lost

if TYPE_CHECKING:
    from ...objectives.classifier import ClassifierData

__all__ = ["ClassifierPrior", "Evidence"]


@dataclass(frozen=True)
class Evidence:
    """What the data of former pieces say of the weights: the diagonals of their Hessians, added up.

    Attributes:
        n_seen: number of samples.
        start: the sums, in place of the weights of a classifier; None to estimate them from the next piece.
    """

    n_seen: int
    start: ClassifierStart | None


class ClassifierPrior:
    """A trained classifier, at whose weights the penalty of another training is centred.

    Args:
        start: the trained classifier; None for weights of 0.
        strength: strength of the L2 penalty around its weights, infinite for the weights as they are; None for l2.
        classes: classes of the new classifier; by default of the older one and of the new data together.
        evidence: what former pieces of the data say, whose precision then takes the place of the strength.
    """

    def __init__(
        self,
        start: ClassifierStart | None,
        strength: float | None,
        *,
        classes: Array | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        self.start, self.strength, self._classes, self.evidence = start, strength, classes, evidence

    def classes(self, labels: Array) -> Array:
        """Return the classes of the new classifier, sorted.

        Raises:
            DataError: the classes of the older one have another type; a label is not one of the classes.
        """
        new, older = np.unique(labels), self._classes
        if older is None:
            assert self.start is not None
            older = self.start.contents.classes
        new_type, old_type = (type(array.tolist()[0]).__name__ for array in (new, older))
        if new_type != old_type:
            message = f"the classes have type {new_type} in y, but type {old_type} in the argument classes"
            if self.start is not None:
                message = f"the classes have type {new_type}, but {self.start.name} has classes of type {old_type}"
            raise DataError(message)
        united = np.unique(np.concatenate([new, older]))
        if self._classes is not None and united.size > self._classes.size:
            message = f"y has the label {np.setdiff1d(new, older).tolist()[0]!r}, which is not among the classes"
            raise DataError(message)
        return united

    def centres(
        self,
        classes: Array,
        columns: Columns,
        template: str | None,
        *,
        one_vs_rest: bool,
        has_intercept: bool,
        l2: float,
        n_samples: int,
    ) -> Centres:
        """Return the prior for classes and columns; see `ClassifierStart.weights`.

        Args:
            classes: classes of the new classifier.
            columns: columns of the new data.
            template: template of the new data.
            one_vs_rest: whether each class is trained against the rest.
            has_intercept: whether the new classifier has an intercept.
            l2: strength of the penalty if none was given.
            n_samples: number of samples of the new data.

        Raises:
            DataError: the columns cannot be compared, or the data lack a column of a table.
            OptionError: the template is another one, the older classifier has an intercept and the new one has none, or
                one of them has a model for each class and the other does not.

        Warns:
            UserWarning: the older classifier is calibrated.
        """
        strength = l2 if self.strength is None else float(self.strength)
        if self.start is None:
            shape = len(classes), columns.size
            nothing = StartingWeights(np.zeros(shape), np.zeros(shape[0]), "weights of 0", [])
            return Centres(nothing, strength, n_samples, nothing, 0)
        older = self.start
        check_template(older.name, older.contents.template, template)
        _check_multi_class(older, one_vs_rest=one_vs_rest)
        warn_of_lost(older.name, older.contents.settings)
        if older.contents.intercept.any() and not has_intercept:
            message = f"prior: {older.name} has an intercept; set fit_intercept=True (leave out --no-intercept)"
            raise OptionError(message)
        if columns.are_numbered and older.columns.names is not None and columns.names is not None:
            lacking = sorted({*older.columns.names} - {*columns.names})
            if lacking:
                message = f"X lacks column {lacking[0]!r} of {older.name}; add it"
                raise DataError(message)
        starting = older.weights(classes, columns, template, one_vs_rest=one_vs_rest)
        if self.evidence is None:
            return Centres(starting, strength, n_samples)
        sums = self.evidence.start
        former = None if sums is None else sums.weights(classes, columns, template, one_vs_rest=one_vs_rest)
        return Centres(starting, strength, n_samples, former, self.evidence.n_seen)

    def others(self, classes: Array, names: list[str], *, one_vs_rest: bool) -> tuple[list[str], Vector, Vector | None]:
        """Return the attributes of the older classifier that data lack, their weights, and their evidence.

        Args:
            classes: classes of the new classifier.
            names: attributes of the data.
            one_vs_rest: whether each class is trained against the rest.
        """
        there = () if self.start is None or self.start.contents.attributes is None else self.start.contents.attributes
        here = {*names}
        others = [name for name in there if name not in here]
        columns = Columns(len(others), others, are_numbered=False)

        def rows(start: ClassifierStart | None) -> Vector | None:
            if start is None:
                return None
            coef = start.weights(classes, columns, start.contents.template, one_vs_rest=one_vs_rest).coef
            return coef[1:] - coef[:1] if len(coef) == 2 else coef

        weights = rows(self.start)
        n_rows = 1 if len(classes) == 2 else len(classes)
        empty = np.zeros((n_rows, 0))
        return others, empty if weights is None else weights, rows(self.evidence.start if self.evidence else None)


def _check_multi_class(older: ClassifierStart, *, one_vs_rest: bool) -> None:
    """Raise OptionError if the weights of an older classifier of three or more classes are of another kind.

    A score of softmax is relative to the scores of the other classes, and one of one-vs-rest is not. With two classes,
    both are the log-odds of the second.
    """
    was_apart = older.contents.settings.get("multi_class") == "ovr"
    if len(older.contents.classes) > 2 and was_apart != one_vs_rest:
        kind = "ovr" if was_apart else "softmax"
        message = (
            f"prior: {older.name} was trained with multi_class={kind!r}, whose weights mean something else; set "
            f"multi_class={kind!r} (--multi-class {kind}), or give it as start (--start)"
        )
        raise OptionError(message)


@dataclass(frozen=True)
class Centres:
    """The prior of one or more trainings of the same data: one for all classes, or one for each.

    Attributes:
        starting: old weights.
        strength: strength of the penalty.
        n_samples: number of samples of the data.
        former: diagonals of the Hessians of former pieces; None if there are none, or if they are estimated.
        n_seen: number of samples that the older classifier has seen; None for a penalty of one strength.
        learned: class -> the diagonals with those of the new data, as coefficients and intercept.
    """

    starting: StartingWeights
    strength: float
    n_samples: int
    former: StartingWeights | None = None
    n_seen: int | None = None
    learned: dict[int | None, tuple[Vector, Vector]] = field(default_factory=dict)

    def centre(self, data: ClassifierData, target: int | None) -> Centre:
        """Return the weights for the features of data, and the precision of each."""
        w, account = self.starting.of(data, target)
        old = account.n_shared, account.n_features, account.new_labels
        prior = Prior(account.model, self.strength, *old, self.n_seen)
        if self.n_seen is None:
            return Centre(w, prior)
        return Centre(w, prior, self.strength + self._information(data, w, target))

    def _information(self, data: ClassifierData, w: Vector, target: int | None) -> Vector:
        """Return the diagonals of the Hessians of former pieces, shape (n_features,)."""
        if self.former is not None:
            return np.maximum(self.former.of(data, target)[0], 0.0)
        assert isinstance(data, ClassifierObjective)
        return estimated(data, w, self.n_seen or 0, self.n_samples)

    def learn(self, data: ClassifierData, centre: Centre, w: Vector, target: int | None) -> None:
        """Add the diagonal of the Hessian at the new weights."""
        if centre.precision is None:
            return
        assert isinstance(data, ClassifierObjective)
        total = centre.precision - self.strength + data.hessian_diagonal(w)
        self.learned[target] = data.coefficients(total)
