"""Standard errors, tests and intervals of the weights of a classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.special

from ..data.corpus import Corpus
from ..data.inputs import Array, Classes, Samples
from ..data.sample_values import classes_of, groups_of
from ..data.samples import labels_and_weights
from ..data.soft_classes import are_soft, repeated_tokens
from ..errors import DataError, DataWarning, OptionError, warn
from ..networks.numbering import Numbers
from ..objectives.classifier import ClassifierObjective
from ..options import fail, one_of, real_number, seed_number, whole_number
from ..result import Result
from ..vectors import Vector
from ..visible import listed
from .estimator import check_fitted
from .explain.inference import Inference
from .one_state import OneState
from .training.contrasts import Contrasts, Labelling
from .training.covariance import Covariance, covariance_of
from .training.draws import Draws, check_draws, drawn, tightened
from .training.optimum import unconverged
from .training.options import SolverOptions
from .training.run import train

if TYPE_CHECKING:
    from .files import maxent as maxent_file

__all__ = ["ClassifierInference", "Method"]

Method = Literal["hessian", "robust", "bootstrap"]
METHODS = ("hessian", "robust", "bootstrap")
# Weights of a Hessian that takes 200 MB.
MOST_WEIGHTS = 5000
# Tolerance of the training on a bootstrap sample, which starts near its end.
TOLERANCE = 1e-8
# Largest relative difference of likelihoods of the same data, whose sums have other orders.
_ROUNDING = 1e-9


class ClassifierInference(OneState):
    """The part of a classifier that says how sure its weights are."""

    classes_: Array
    coef_: Vector | scipy.sparse.csr_array
    intercept_: Vector
    attributes_: list[str] | None
    l1_: float
    n_features_in_: int
    fit_intercept: bool

    if TYPE_CHECKING:
        _results: tuple[Result, ...]
        _sizes: dict[str, int]
        _evidence: Any
        _threads: int

        @property
        def temperature_(self) -> float:
            """See `MaxEnt.temperature_`."""

        def _matrix(self, X: Corpus | Samples) -> Vector | scipy.sparse.csr_array: ...

        def _column_names(self) -> Sequence[str] | None: ...

        def _trains_apart(self) -> bool: ...

        def _solver_options(self) -> SolverOptions: ...

        def _weights(
            self, labels: Array, classes: Array, targets: Array, sample_weight: object, *, warns: bool
        ) -> Vector | None: ...

        def _contents_of(self, attributes: list[str] | None, settings: dict[str, Any]) -> maxent_file.Contents: ...

    def inference(
        self,
        X: Corpus | Samples,
        y: Classes | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        covariance: Method = "hessian",
        groups: npt.ArrayLike | None = None,
        reference: object = None,
        level: float = 0.95,
        draws: int = 1000,
        random_state: int = 0,
    ) -> Inference:
        """Return standard errors, tests and intervals of the weights, and the fit of the model to its training data.

        The weights are contrasts: the weight of each class less the weight of a reference class, as only these
        differences are determined. Newton steps first bring them to the optimum, which the training has come near.

        With an L2 penalty the covariance comes from the penalised likelihood (Wood 2017, section 6.10). Intervals are
        centred on weights that are shrunk towards 0, and mean what they usually do only if the penalty is weak. AIC
        and BIC count effective parameters. After L1 it is the covariance of the weights that are not 0, as if these had
        been chosen before looking at the data.

        Source: Wald tests and robust covariances as in White (1982); bootstrap of Efron & Tibshirani (1993).
        Cost: a pass of O(n p^2 k^2) for each Newton step, or a training for each draw.

        Args:
            X: the training data, as for `fit`.
            y: their classes; None with a Corpus.
            sample_weight: their weights. The Hessian takes them for counts: a sample of weight 2 is two samples.
            covariance: "hessian", right if the model is; "robust", the sandwich HC0, which stays right for dependent
                samples (with ``groups``) and for weights that are not counts; "bootstrap", of models that are trained
                on samples drawn with replacement, from the weights of this one.
            groups: group of each sample, such as a person, shape (n_samples,): samples of a group may depend on each
                other. With "robust" and "bootstrap". The robust covariance of G groups and k weights is multiplied by
                G / (G - 1) * (n - 1) / (n - k), as statsmodels and Stata do.
            reference: class that the others are compared with; the first one by default.
            level: probability of the intervals, above 0 and below 1.
            draws: number of bootstrap samples, >= 2. Draws that lack a class are repeated.
            random_state: seed of the bootstrap.

        Returns:
            A table that prints itself, with tests, log-likelihood, AIC and BIC.

        Raises:
            DataError: columns are collinear or separate the classes, or X and y are not the training data.
            OptionError: an option is out of range, there are too many weights for a Hessian, or the model is one that
                has no such inference: "ovr", calibrated, or trained with a prior.
            NotFittedError: the classifier is not fitted.

        Warns:
            DataWarning: an L1 penalty has chosen the weights, or weights of samples are not counts.

        Example:
            >>> from loglinear import MaxEnt
            >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1, 1]
            >>> inference = MaxEnt(l2=0).fit(X, y).inference(X, y)
            >>> inference.weights.round(3).tolist(), inference.standard_errors.round(3).tolist()
            ([-3.035, 1.214], [2.546, 0.913])
            >>> test = inference.likelihood_ratio()
            >>> round(test.statistic, 3), test.df, round(test.p, 3)
            (3.362, 1, 0.067)
        """
        check_fitted(self, "coef_")
        one_of("covariance", covariance, METHODS)
        real_number("level", level, "a number above 0 and below 1", lambda x: 0.0 < x < 1.0)
        seed, n_draws = seed_number("random_state", random_state), whole_number("draws", draws, 2, 10**7)
        if groups is not None and covariance == "hessian":
            message = "groups are for covariance='robust' or 'bootstrap'; choose one, or leave groups out"
            raise OptionError(message)
        self._check_kind()
        number = self._reference(reference)
        data = self._labelling(X, y, sample_weight)
        self._check_likelihood(data)
        independent = None if groups is None else groups_of(groups, len(data.targets))
        n_groups = 0 if independent is None else int(independent.max(initial=-1)) + 1
        if independent is not None and n_groups < 2:
            message = "all samples are in one group; give two or more groups, or leave groups out"
            raise DataError(message)
        reported = Contrasts.of(data, number)
        is_drawn = covariance == "bootstrap"
        samples: Draws | None = None
        if is_drawn:
            check_draws(n_draws, reported.classes.size)
            estimate = _plain(data, reported, number)
            options = tightened(self._solver_options(), TOLERANCE)
            draw = _drawing(data, reported, number, options, independent)
            samples = draw(n_draws, seed, self._threads)
            lower, upper = samples.intervals(level)
            estimate = estimate._replace(covariance=np.atleast_2d(np.cov(samples.weights, rowvar=False)))
        else:
            _check_size(data)
            _warn_of_choice(data, covariance)
            estimate = covariance_of(
                data,
                reported,
                number,
                robust=covariance == "robust",
                groups=independent,
                threads=self._threads,
                unconverged=unconverged(self._results),
            )
        errors = np.sqrt(np.diag(estimate.covariance))
        if not is_drawn:
            reach = _quantile(0.5 + level / 2.0) * errors
            lower, upper = estimate.weights - reach, estimate.weights + reach
        p = data.X.shape[1]
        return Inference(
            names=["(intercept)" if j == p else data.column(j) for j in reported.columns.tolist()],
            classes=[data.classes[k] for k in reported.classes.tolist()],
            weights=estimate.weights,
            standard_errors=errors,
            lower=lower,
            upper=upper,
            level=float(level),
            method="clustered" if covariance == "robust" and n_groups else covariance,
            reference=data.classes[number],
            n_samples=float(data.weights.sum()),
            log_likelihood=estimate.log_likelihood,
            null_log_likelihood=-data.nll_without_columns(),
            n_parameters=estimate.n_parameters,
            n_null_parameters=(len(data.classes) - 1) * bool(data.has_intercept),
            l1=data.l1,
            l2=data.l2,
            covariance=estimate.covariance,
            draws=None if samples is None else samples.weights,
            groups=n_groups,
            totals=dict(zip(data.classes, data.totals.tolist(), strict=True)),
        )

    def _check_kind(self) -> None:
        """Raise OptionError if the weights are not those of one likelihood with its penalty."""
        if self._trains_apart():
            message = "inference needs one model of all classes, and multi_class='ovr' trains one for each; use softmax"
            raise OptionError(message)
        if self.temperature_ != 1.0:
            message = "the classifier is calibrated, so that its weights are not at the optimum of the training; call "
            message += "inference before calibrate"
            raise OptionError(message)
        if self._has_prior():
            message = "the classifier was trained with a prior, or by partial_fit, so that its weights depend on other "
            message += "data too; train it on all data with fit"
            raise OptionError(message)

    def _has_prior(self) -> bool:
        results = self._results
        return vars(self).get("_evidence") is not None or any(result.prior is not None for result in results)

    def _check_likelihood(self, data: Labelling) -> None:
        """Raise DataError if the weights have another likelihood than in the training; a loaded model passes."""
        if not self._results:
            return
        objective, trained = _objective(data), self._results[0].nll
        nll = objective.value_and_gradient(_weights_of(objective, data))[0]
        if abs(nll - trained) > _ROUNDING * max(nll, trained, 1.0):
            message = f"X, y or sample_weight differ from the training data: the negative log-likelihood is {nll:.6g} "
            message += f"on them, and was {trained:.6g} in the training; give the training data with their weights"
            raise DataError(message)

    def _reference(self, reference: object) -> int:
        """Return the number of the reference class."""
        if reference is None:
            return 0
        classes = self.classes_.tolist()
        if not np.isscalar(reference) or reference not in classes:
            fail("reference", reference, f"is not a class; choose from {listed([*map(repr, classes)], 8)}")
        return int(classes.index(reference))

    def _labelling(self, X: Corpus | Samples, y: Classes | None, sample_weight: object) -> Labelling:
        """Return the training data with their classes, weights and the weights of the model."""
        if are_soft(y) or (isinstance(X, Corpus) and repeated_tokens(X) is not None):
            message = "inference needs one class per sample, and y has probabilities of classes; give classes"
            raise DataError(message)
        if isinstance(X, Corpus):
            y, sample_weight = labels_and_weights(X, y, sample_weight)
        matrix = self._matrix(X)
        if not isinstance(matrix, np.ndarray):
            matrix = scipy.sparse.csr_array(matrix)
        labels = classes_of(y, n_samples=matrix.shape[0], model=self.classes_)
        is_known = np.isin(labels, self.classes_)
        if not is_known.all():
            row = int(np.argmin(is_known))
            message = f"y has class {labels.tolist()[row]!r} in row {row}, which the training data do not have; give "
            message += "the training data"
            raise DataError(message)
        n_trained = vars(self).get("_sizes", {}).get("n_samples")
        if n_trained is not None and n_trained != len(labels):
            message = f"X has {len(labels):,} samples, but the classifier was trained on {n_trained:,}; give the "
            message += "training data"
            raise DataError(message)
        targets = np.searchsorted(self.classes_, labels).astype(np.int64)
        weights = self._weights(labels, self.classes_, targets, sample_weight, warns=False)
        present = np.bincount(targets, weights, self.classes_.size)
        if not present.all():
            name = self.classes_.tolist()[int(np.argmin(present))]
            message = (
                f"class {name!r} has no sample of a weight above 0, so that its weights are not determined; leave "
            )
            message += "it out of the training"
            raise DataError(message)
        coef = self.coef_ if isinstance(self.coef_, np.ndarray) else self.coef_.toarray()
        options, names = self._solver_options(), self._column_names()
        options.refuse_families("inference")
        penalty = options.penalty()
        return Labelling(
            matrix,
            targets,
            np.ones(len(labels)) if weights is None else weights,
            _of_all_classes(coef, self.intercept_),
            bool(self.fit_intercept),
            penalty.l1,
            penalty.l2,
            (lambda column: f"column {column}") if names is None else (lambda column: str(names[column])),
            [str(label) for label in self.classes_.tolist()],
        )


def _check_size(data: Labelling) -> None:
    """Raise OptionError if the Hessian has too many weights."""
    n = int(np.count_nonzero(data.w[:, :-1])) if data.l1 else (len(data.classes) - 1) * data.n_columns
    if n > MOST_WEIGHTS:
        message = f"the Hessian of {n:,} weights would take {8e-9 * n * n:.1f} GB; at most {MOST_WEIGHTS:,} weights "
        message += "have one. Use covariance='bootstrap', or select columns with an L1 penalty (l1)"
        raise OptionError(message)


def _plain(data: Labelling, reported: Contrasts, reference: int) -> Covariance:
    """Return the weights of the training and their likelihood, without a covariance."""
    objective = _objective(data)
    nll = objective.value_and_gradient(_weights_of(objective, data))[0]
    n = float(np.count_nonzero(data.w[:, :-1]) if data.l1 else (len(data.classes) - 1) * data.n_columns)
    if data.l2:
        n = float("nan")
    elif data.l1:
        n += (len(data.classes) - 1) * data.has_intercept
    return Covariance(reported.at(data.w, reference), np.empty((0, 0)), -nll, n)


def _objective(data: Labelling) -> ClassifierObjective:
    """Return the objective on the training data, on one thread."""
    return ClassifierObjective(
        data.X,
        data.targets,
        data.weights,
        n_classes=len(data.classes),
        intercept="scaled" if data.has_intercept else False,
        threads=1,
    )


def _weights_of(objective: ClassifierObjective, data: Labelling) -> Vector:
    """Return the weights of the model as the objective numbers them."""
    w = data.w if objective.n_outputs > 1 else data.w[1:]
    return objective.weights_of(w[:, :-1], w[:, -1])


def _drawing(
    data: Labelling, reported: Contrasts, reference: int, options: SolverOptions, groups: Numbers | None
) -> Callable[[int, int, int], Draws]:
    """Return a function of draws, seed and threads that returns the weights of models of bootstrap samples.

    Args:
        data: samples and weights.
        reported: which weights are returned.
        reference: number of the reference class.
        options: penalty and solver.
        groups: number of each sample's group; groups are drawn then, not samples.
    """
    objective, n_classes = _objective(data), len(data.classes)
    w0 = _weights_of(objective, data)
    members = None
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(groups))[:-1])

    def rows_of(units: Numbers) -> Numbers:
        return units if members is None else np.sort(np.concatenate([members[unit] for unit in units.tolist()]))

    def suits(units: Numbers) -> bool:
        rows = rows_of(units)
        return bool(np.bincount(data.targets[rows], data.weights[rows], n_classes).all())

    def train_one(_: int, units: Numbers, stopped: Callable[[Any, Any], bool]) -> tuple[Vector, Vector]:
        part = objective.sample(rows_of(units))
        result = train(
            part,
            options,
            unpenalised=part.n_unpenalised,
            n_classes=part.n_outputs,
            callbacks=(stopped,),
            w0=w0,
            warns_if_empty=False,
        )
        if stopped(None, None):
            raise KeyboardInterrupt
        coef, intercept = part.coefficients(result.w)
        return reported.at(_of_all_classes(coef, intercept), reference), np.empty(0)

    def draw(draws: int, seed: int, threads: int) -> Draws:
        n_units = len(data.targets) if members is None else len(members)
        return drawn(train_one, n_units, draws=draws, seed=seed, threads=threads, suits=suits)

    return draw


def _of_all_classes(coef: Vector, intercept: Vector) -> Vector:
    """Return the weights of all classes, the intercept's last; of two classes the first has 0."""
    w = np.hstack([coef, intercept[:, None]])
    return w if len(w) > 1 else np.vstack([np.zeros_like(w), w])


def _quantile(share: float) -> float:
    """Return a quantile of the normal distribution."""
    return float(scipy.special.ndtri(share))


def _warn_of_choice(data: Labelling, covariance: str) -> None:
    """Warn of weights that an L1 penalty has chosen, and of weights of samples that are no counts."""
    if data.l1:
        warn(
            "the L1 penalty has chosen the weights from the same data, which standard errors and p-values ignore: they "
            "are too small; use covariance='bootstrap', which chooses again in each draw, or test on other data",
            DataWarning,
        )
    if covariance == "hessian" and not (data.weights == np.round(data.weights)).all():
        warn(
            "weights of samples, or of classes, are not whole numbers, and the Hessian takes them for counts; use "
            "covariance='robust' or 'bootstrap'",
            DataWarning,
        )
