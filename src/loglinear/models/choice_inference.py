"""Standard errors, tests and intervals of the weights of a conditional logit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.special

from ..data.choices import Choices
from ..data.corpus import Corpus
from ..data.inputs import Samples
from ..data.sample_values import groups_of
from ..errors import DataError, DataWarning, OptionError, warn
from ..objectives.choice import ChoiceObjective, linear_part
from ..options import one_of, real_number
from ..result import Result
from ..vectors import Vector
from ..visible import listed
from .estimator import check_fitted
from .explain.inference import Inference
from .one_state import OneState
from .training.optimum import GROWTH, SINGULAR, Sums, inverse_of, optimum, refuse_dependent, unconverged
from .training.options import SolverOptions
from .training.separation import NO_LOSS

__all__ = ["ChoiceInference"]

Numbers = npt.NDArray[np.int64]
ChoiceCovariance = Literal["hessian", "robust"]
METHODS = ("hessian", "robust")
# Weights of a Hessian that takes 200 MB.
MOST_WEIGHTS = 5000


class ChoiceInference(OneState):
    """The part of a conditional logit that says how sure its weights are."""

    if TYPE_CHECKING:
        l1: float
        _coef: Vector
        _results: tuple[Result, ...]
        _training: dict[str, Any]
        _threads: int

        def _matrix(self, X: Corpus | Samples) -> Vector | scipy.sparse.csr_array: ...

        def _column(self, column: int) -> str: ...

        def column_name(self, column: int) -> str:
            """See `ConditionalLogit.column_name`."""

        def _solver_options(self) -> SolverOptions: ...

    def inference(
        self,
        X: Corpus | Samples,
        y: npt.ArrayLike,
        groups: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        covariance: ChoiceCovariance = "hessian",
        clusters: npt.ArrayLike | None = None,
        level: float = 0.95,
    ) -> Inference:
        """Return standard errors, tests and intervals of the weights, and the fit of the model to its training data.

        Newton steps first bring the weights to the optimum, which the training has come near. With an L2 penalty the
        covariance comes from the penalised likelihood (Wood 2017, section 6.10), and AIC and BIC count effective
        parameters. After L1 it is the covariance of the weights that are not 0, as if these had been chosen before
        looking at the data.

        Source: Wald tests and robust covariances as in White (1982).
        Cost: a Hessian for each Newton step.

        Args:
            X: the training data, as for `fit`.
            y: marks or ranks.
            groups: group of each alternative.
            sample_weight: weights of the groups. The Hessian takes them for counts.
            covariance: "hessian", right if the model is; or "robust", the sandwich, which stays right for choices that
                depend on one another (with ``clusters``), and for weights that are not counts.
            clusters: who chose, such as a person who made several choices: cluster of each alternative, the same in
                each group, shape (n_alternatives,). With "robust". The covariance of G clusters is multiplied by
                G / (G - 1).
            level: probability of the intervals, above 0 and below 1.

        Returns:
            A table that prints itself, with tests, log-likelihood, AIC and BIC. Its null model has equal probabilities.

        Raises:
            DataError: columns are collinear, constant within each group or separate the choices, or X, y and groups
                are not the training data.
            OptionError: an option is out of range, or there are too many weights for a Hessian.
            NotFittedError: the model is not fitted.

        Warns:
            DataWarning: an L1 penalty has chosen the weights, or weights of groups are not counts.

        Example:
            >>> from loglinear import ConditionalLogit
            >>> X, y = [[1.0], [0.0], [2.0], [1.0], [0.0], [3.0], [1.0], [4.0]], [1, 0, 0, 1, 0, 1, 0, 1]
            >>> groups = [1, 1, 2, 2, 3, 3, 4, 4]
            >>> inference = ConditionalLogit(l2=0).fit(X, y, groups).inference(X, y, groups)
            >>> inference.weights.round(3).tolist(), inference.standard_errors.round(3).tolist()
            ([0.871], [0.8])
        """
        check_fitted(self, "_coef")
        one_of("covariance", covariance, METHODS)
        real_number("level", level, "a number above 0 and below 1", lambda x: 0.0 < x < 1.0)
        if clusters is not None and covariance != "robust":
            message = "clusters are for covariance='robust'; choose it, or leave clusters out"
            raise OptionError(message)
        matrix = self._matrix(X)
        choices = Choices.of(y, groups, sample_weight, matrix.shape[0])
        self._check_training_data(choices)
        penalty = self._solver_options().penalty()
        columns = np.flatnonzero(self._coef) if penalty.l1 else np.arange(self._coef.size)
        _check_size(columns.size)
        used = matrix if columns.size == self._coef.size else matrix[:, columns]
        objective = ChoiceObjective.of(linear_part(used, threads=self._threads), choices)
        if penalty.l1:
            warn(
                "the L1 penalty has chosen the weights from the same data, which standard errors and p-values ignore: "
                "they are too small; test on other data",
                DataWarning,
            )
        if covariance == "hessian" and not (objective.weights == np.round(objective.weights)).all():
            warn(
                "weights of groups are not whole numbers, and the Hessian takes them for counts; use "
                "covariance='robust'",
                DataWarning,
            )
        used_columns = objective.matrix.kept
        model = _Likelihood(
            objective,
            self._coef[columns] if used_columns is None else self._coef[columns][used_columns],
            l1=penalty.l1,
            l2=penalty.l2,
            named=lambda at: self._column(int(columns[at if used_columns is None else used_columns[at]])),
        )
        model.refuse_constant()
        best = optimum(model, model.w, l1=penalty.l1, l2=penalty.l2, unconverged=unconverged(self._results))
        estimated, n_clusters = best.inverse, 0
        if covariance == "robust":
            scores, n_clusters = _scores_by(objective, used, used_columns, best.theta, groups, clusters)
            estimated = best.inverse @ (scores.T @ scores) @ best.inverse
            if clusters is not None:
                estimated *= n_clusters / (n_clusters - 1.0)
        errors = np.sqrt(np.diag(estimated))
        reach = float(scipy.special.ndtri(0.5 + level / 2.0)) * errors
        n_parameters = float(np.einsum("ij,ji->", best.hessian, best.inverse)) if penalty.l2 else float(errors.size)
        numbers = (columns if used_columns is None else columns[used_columns]).tolist()
        return Inference(
            names=[self.column_name(column) for column in numbers],
            classes=[""] * len(numbers),
            weights=best.theta,
            standard_errors=errors,
            lower=best.theta - reach,
            upper=best.theta + reach,
            level=float(level),
            method="clustered" if clusters is not None else covariance,
            reference="",
            n_samples=float(objective.weights.sum()),
            log_likelihood=-best.nll,
            null_log_likelihood=-model.null,
            n_parameters=n_parameters,
            n_null_parameters=0,
            l1=penalty.l1,
            l2=penalty.l2,
            covariance=estimated,
            groups=n_clusters if clusters is not None else 0,
            items="choices",
        )

    def _check_training_data(self, choices: Choices) -> None:
        """Raise DataError if the number of groups is not that of the training."""
        n_trained = self._training.get("n_samples", choices.n_groups)
        if n_trained != choices.n_groups:
            message = f"the data have {choices.n_groups:,} groups with a choice, but the model was trained on "
            message += f"{n_trained:,}; give the training data"
            raise DataError(message)


class _Likelihood:
    """The likelihood of choices as a function of the weights of the columns."""

    def __init__(
        self, objective: ChoiceObjective, w: Vector, *, l1: float, l2: float, named: Callable[[int], str]
    ) -> None:
        self.objective, self.w, self.l1, self.l2, self.named = objective, w, l1, l2, named
        origin = np.zeros(objective.n_features)
        self.null, _ = objective.value_and_gradient(origin)
        # At equal probabilities, the products of the columns within groups.
        self.products = objective.hessian(origin)

    def refuse_constant(self) -> None:
        """Raise DataError if a column varies in no group, and no penalty makes its weight 0."""
        constant = np.flatnonzero(np.diag(self.products) == 0.0)
        if constant.size and not self.l2:
            names = listed([self.named(at) for at in constant.tolist()], 5)
            has, it = ("has", "it") if constant.size == 1 else ("have", "them")
            message = f"{names} {has} the same value for all alternatives of each group, so that the weight is not "
            message += f"determined; leave {it} out, or give a penalty (l2)"
            raise DataError(message)

    def sums(self, theta: Vector) -> Sums:
        """Return NLL, gradient and Hessian."""
        return Sums(*self.objective.value_and_gradient(theta), self.objective.hessian(theta))

    def penalty_gradient(self, theta: Vector) -> Vector:
        """Return the gradient of the penalty; of L1 by the signs of the weights."""
        gradient: Vector = self.l2 * theta + self.l1 * np.sign(self.w)
        return gradient

    def inverse(self, hessian: Vector, theta: Vector, nll: float) -> Vector:
        """Return (H + l2 I)^-1.

        Raises:
            DataError: it is singular; names columns.
        """
        inverse = inverse_of(hessian + self.l2 * np.eye(len(hessian)))
        if inverse is not None:
            return inverse
        if not self.l2:
            scale = 1.0 / np.sqrt(np.diag(self.products))
            refuse_dependent(self.products * scale * scale[:, None], self.named)
        self.check_finite(theta, theta, nll, is_last=True)
        raise DataError(SINGULAR)

    def check_finite(self, theta: Vector, step: Vector, nll: float, *, is_last: bool) -> None:
        """Raise DataError if weights without a penalty grow for ever: scores grow along the last Newton step."""
        is_complete = nll < NO_LOSS * self.null
        if not (is_complete or is_last) or self.l1 or self.l2:
            return
        direction = theta if is_complete else step
        # In a group only differences of scores count: backwards, -log p grows by what the scores of its choice gain.
        growth = self.objective.sample_nlls(-direction) - self.objective.sample_nlls(np.zeros_like(direction))
        if not is_complete and growth[self.objective.weights > 0.0].max() < GROWTH:
            return
        sizes = np.abs(direction) * np.sqrt(np.diag(self.products))
        columns = np.argsort(-sizes, kind="stable")
        columns = columns[sizes[columns] > 0.5 * sizes.max()]
        names = listed([self.named(at) for at in columns.tolist()], 3)
        what = "the choices" if is_complete else "a part of the choices"
        separate, its = ("separates", "its weight is") if columns.size == 1 else ("together separate", "weights are")
        message = (
            f"{names} {separate} {what} without error: {its} infinite and without a standard error; give a penalty "
        )
        raise DataError(message + "(l2), or leave the column out")


def _check_size(n: int) -> None:
    """Raise OptionError if the Hessian has too many weights."""
    if n > MOST_WEIGHTS:
        message = f"the Hessian of {n:,} weights would take {8e-9 * n * n:.1f} GB; at most {MOST_WEIGHTS:,} weights "
        message += "have one. Select columns with an L1 penalty (l1)"
        raise OptionError(message)


def _scores_by(
    objective: ChoiceObjective,
    matrix: Vector | scipy.sparse.csr_array,
    used_columns: Numbers | None,
    w: Vector,
    groups: npt.ArrayLike,
    clusters: npt.ArrayLike | None,
) -> tuple[Vector, int]:
    """Return the derivatives of the NLL of each group, or cluster of groups, by rows, and the number of rows.

    Raises:
        DataError: the alternatives of a group have several clusters, or there is one cluster alone.
    """
    n_rows = matrix.shape[0]
    own = groups_of(groups, n_rows)
    cluster = own if clusters is None else groups_of(clusters, n_rows, "clusters")
    if clusters is not None:
        first = np.zeros(int(own.max()) + 1, dtype=np.int64)
        first[own[::-1]] = np.arange(n_rows)[::-1]
        wrong = np.flatnonzero(cluster != cluster[first[own]])
        if wrong.size:
            message = f"clusters differ between rows {int(first[own[wrong[0]]])} and {int(wrong[0])}, which are of one "
            message += "group; give all alternatives of a group the same cluster"
            raise DataError(message)
    residuals = objective.residuals(w)
    numbers, places = np.unique(cluster[objective.choices.rows], return_inverse=True)
    if numbers.size < 2:
        message = "all choices are in one cluster; give two or more, or leave clusters out"
        raise DataError(message)
    rows = objective.choices.rows.astype(np.int64)
    # A row that is in several choices of a ranking counts once, with the sum of its residuals.
    once, at = np.unique(rows, return_index=True)
    spread = scipy.sparse.csr_array((residuals[once], (places[at], once)), shape=(numbers.size, n_rows))
    scores = spread @ (matrix if used_columns is None else matrix[:, used_columns])
    return (scores if isinstance(scores, np.ndarray) else scores.toarray()), int(numbers.size)
