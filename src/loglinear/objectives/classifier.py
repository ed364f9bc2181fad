"""The objective of a maximum-entropy classifier over a sparse or a dense matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .. import _core
from ..data.corpus import Corpus
from ..data.fingerprint import CHUNK, checksum
from ..data.inputs import Matrix
from ..data.matrix import dense_if_very_far, dense_or_sparse, far_from_zero, least_share, lines, looked_at, with_entries
from ..data.sample_values import numbers_of
from ..data.samples import check_no_bigrams
from ..errors import DataError
from ..gap import Balanced
from ..options import one_of, real_number, thread_limit, truth_types, whole_number
from ..problem import Objective
from ..vectors import Signs, Vector
from .balance import best_shift, flows, is_affordable, shifted, stationary

__all__ = ["ClassifierData", "ClassifierObjective", "coefficients", "weights_of"]

Numbers = npt.NDArray[np.int64]
# Columns of which it is known how independent they are, at most, and the rows looked at for that.
MOST_LOOKED_AT = 500
FEWEST_ROWS, ROWS_PER_COLUMN = 256, 4
# Products of samples, weights and classes up to which Python's own work on a bound takes longer than evaluations do.
FEW_PRODUCTS = 2_000_000


class ClassifierData(Objective, Protocol):
    """Labelled samples as the objective of a classifier: a matrix in this process, or chunks on any machines.

    `ClassifierObjective` and `ClassifierParts` satisfy it.
    """

    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the data, and a checksum of what else determines the weights."""

    @property
    def n_unpenalised(self) -> int:
        """Number of weights that a penalty should leave alone, the intercept's: the last ones."""

    def one_against_rest(self, target: int) -> ClassifierData:
        """Return the objective of two classes, the target as class 1 and all others as 0."""

    def coefficients(self, w: Vector) -> tuple[Vector, Vector]:
        """Return the weights as a matrix of shape (n_outputs, columns), and what the intercept adds to each score."""

    def weights_of(self, coef: Vector, intercept: Vector) -> Vector:
        """Return the weights, shape (n_features,), of which `coefficients` makes these; without intercept if none."""


class ClassifierObjective:
    """NLL of a maximum-entropy classifier, the sum over samples of -weight log p(y | x; w), in nats.

    Two classes have one weight a column, p(y = 1 | x) = 1 / (1 + exp(-x . w)). More have one for each class,
    p(y | x) proportional to exp(x . w_y). w is a matrix of shape (n_columns, n_outputs), row by row: the weights of a
    column stand side by side, and the intercept's weights come last.

    Source: Berger, Della Pietra & Della Pietra (1996); Mathur & Chakrabarti (2010), Eq. 5.
    Cost: an evaluation of a sparse matrix passes over it twice, by rows and by columns, on all threads; the first
    evaluation makes copies of the matrix for that, which are kept. Values that single precision holds exactly are kept
    in single precision, and ones are not kept at all. A dense array of float64 or float32, by rows or by columns,
    is not copied but kept as it is, so it must not be changed; an evaluation passes over it once. Arithmetic is in
    double precision. A dense matrix of which less than a fifth is not 0 becomes sparse, a sparse one of which more than
    half is not 0 becomes dense.

    Args:
        X: samples, shape (n_samples, n_columns), sparse or dense; finite.
        targets: class of each sample, from 0 to n_classes - 1, shape (n_samples,).
        weights: of the samples, finite, >= 0, shape (n_samples,); None for 1.
        n_classes: at least 2.
        intercept: whether to add a column of ones, the last; or the value of that column, not 0; or "scaled", which
            gives it the norm of the largest other column, for the sake of the solvers. Then a number is subtracted from
            columns of a dense matrix that are far from 0, such as years: otherwise each weight can only move together
            with the intercept. It is subtracted from each block of rows that a pass copies into the cache. A small
            sparse matrix with a column that is very far from 0 becomes dense for that.
            `coefficients` and `weights_of` go by the columns of X.
        threads: 0 for all cores. Values and gradients do not depend on it.
        shift: what to subtract from the columns, shape (n_columns,), instead of what "scaled" chooses. The matrix
            becomes dense, and there has to be an intercept.
        spares_empty: whether to leave out the columns without entries of a sparse matrix, if they are at least half of
            all. In every solution their weights are 0: with a penalty, or if they start there. `coefficients` and
            `weights_of` go by all columns.

    Raises:
        DataError: a value is not finite, a weight is negative, or sizes do not fit.

    Attributes:
        n_outputs: weights of a column: 1 with two classes, else n_classes.
        intercept: value of the intercept's column; 0 without an intercept.
        n_columns: of those kept, with the intercept's.
        kept: numbers of the columns kept, ascending; None for all.
        width: number of the columns of X, those left out included.
        shift: what was subtracted from each other column, shape (n_columns - 1,); None for nothing.

    Example:
        >>> import numpy as np
        >>> from loglinear import ClassifierObjective
        >>> objective = ClassifierObjective([[0.0, 1.0], [2.0, 0.0]], [0, 1], n_classes=2, intercept=False)
        >>> value, gradient = objective.value_and_gradient(np.zeros(objective.n_features))
        >>> round(value, 4), gradient.tolist()
        (1.3863, [-1.0, 0.5])
    """

    def __init__(
        self,
        X: Matrix,
        targets: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        n_classes: int,
        intercept: float | str = True,
        threads: int = 0,
        shift: Vector | None = None,
        spares_empty: bool = False,
    ) -> None:
        thread_limit(threads)
        matrix = dense_or_sparse(X)
        if shift is not None and not isinstance(matrix, np.ndarray):
            matrix = matrix.toarray()
        elif isinstance(intercept, str) and not isinstance(matrix, np.ndarray) and matrix.ndim == 2:
            matrix = dense_if_very_far(matrix)
        if matrix.ndim != 2:
            message = f"X has {matrix.ndim} dimension; give a matrix of shape (n_samples, n_columns)"
            raise DataError(message)
        n_samples, n_columns = matrix.shape
        columns: Numbers | None = None
        width = n_columns
        labels_and_weights = _numbers(targets, n_samples, n_classes), _weights(weights)
        options: dict[str, Any] = {"n_classes": n_classes, "threads": threads, **_intercept(intercept)}
        if isinstance(matrix, np.ndarray):
            if shift is None and isinstance(intercept, str) and matrix.size:
                shift = far_from_zero(matrix)
            table = lines(matrix)
            core = _core.ClassifierObjective.of_table(
                table.numbers, (n_samples, n_columns), table[1:], shift, *labels_and_weights, **options
            )
        else:
            ids = matrix.indices
            if spares_empty and (narrowed := with_entries(ids, n_columns)) is not None:
                (columns, ids), n_columns = narrowed, narrowed[0].size
            core = _core.ClassifierObjective(
                matrix.indptr[1:].astype(np.uint64),
                ids.view(np.uint32) if ids.dtype == np.int32 else ids.astype(np.uint32),
                np.ascontiguousarray(matrix.data),
                n_columns,
                *labels_and_weights,
                **options,
            )
        self._set(core, n_columns, core.intercept or 0.0, shift)
        self.kept, self.width = columns, width

    @classmethod
    def of_corpus(
        cls,
        corpus: Corpus,
        targets: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        n_classes: int,
        min_count: int = 1,
        tokens: Numbers | None = None,
        intercept: float | str = True,
        threads: int = 0,
    ) -> tuple[ClassifierObjective, list[str]]:
        """Return the objective whose samples are tokens of a corpus, and the attributes that are its columns.

        The data stay in native memory. An attribute that is on a token several times has the sum of its values there.

        Args:
            corpus: its labels and weights are not looked at.
            targets: class of each sample; as for the constructor, like the arguments that are not named here.
            weights: of the samples.
            n_classes: at least 2.
            min_count: attributes on fewer tokens are left out, >= 1.
            tokens: number of the token that each sample is, shape (n_samples,); by default each token is a sample.
            intercept: see the constructor.
            threads: 0 for all cores.

        Raises:
            DataError: there are attributes of label bigrams, which a classifier cannot use, or no attributes are left.
        """
        check_no_bigrams(corpus)
        n_samples = corpus.n_tokens if tokens is None else len(tokens)
        labels_and_weights = _numbers(targets, n_samples, n_classes), _weights(weights)
        core, columns = _core.classifier_of_corpus(
            corpus.core,
            min_count,
            *labels_and_weights,
            tokens,
            n_classes=n_classes,
            threads=thread_limit(threads),
            **_intercept(intercept),
        )
        if not columns.size:
            message = f"no attribute occurs in {min_count} or more samples; lower min_count (--min-count)"
            if min_count == 1:
                message = "no sample has an attribute with a value other than 0, so there is nothing to learn from"
            raise DataError(message)
        names = corpus.core.names()
        objective = object.__new__(cls)
        objective._set(core, int(columns.size), core.intercept or 0.0)
        return objective, names if columns.size == len(names) else [names[column] for column in columns.tolist()]

    def _set(
        self, core: _core.ClassifierObjective, n_columns: int, intercept: float, shift: Vector | None = None
    ) -> None:
        self.core = core
        self.shift = shift
        self.intercept = intercept
        self.n_outputs = core.n_outputs
        self.n_columns = n_columns + (intercept != 0.0)
        self.kept, self.width = None, n_columns

    def _like(self, core: _core.ClassifierObjective, n_columns: int | None = None) -> ClassifierObjective:
        other = object.__new__(ClassifierObjective)
        own_columns = self.n_columns - (self.intercept != 0.0)
        # Sums of columns, and some of them, are steps on the way to weights of all columns.
        shift = self.shift if n_columns is None else None
        other._set(core, own_columns if n_columns is None else n_columns, self.intercept, shift)
        if n_columns is None:
            other.kept, other.width = self.kept, self.width
        return other

    @property
    def n_features(self) -> int:
        """Length of w: n_columns times n_outputs."""
        return self.core.n_features

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.core.n_samples

    @property
    def n_threads(self) -> int:
        """Threads that an evaluation runs on."""
        return self.core.n_threads

    @property
    def n_unpenalised(self) -> int:
        """Number of weights that a penalty should leave alone, the intercept's: the last ones."""
        return self.n_outputs if self.intercept else 0

    @property
    def is_convex(self) -> bool:
        """True: the NLL of a classifier is convex."""
        return True

    @property
    def clusterable(self) -> tuple[int, int]:
        """Range of the features that may be clustered: all but the intercept's."""
        return 0, self.n_features - self.n_unpenalised

    @property
    def targets(self) -> Numbers:
        """Class of each sample, shape (n_samples,)."""
        return self.core.targets.astype(np.int64)

    @property
    def weights(self) -> Vector:
        """Weight of each sample, shape (n_samples,)."""
        return self.core.weights

    def coefficients(self, w: Vector) -> tuple[Vector, Vector]:
        """Return the weights as a matrix of shape (n_outputs, columns), and what the intercept adds to each score."""
        coef, by_intercept = coefficients(w, self.n_outputs, self.intercept, self.shift)
        if self.kept is None:
            return coef, by_intercept
        spread = np.zeros((self.n_outputs, self.width))
        spread[:, self.kept] = coef
        return spread, by_intercept

    def weights_of(self, coef: Vector, intercept: Vector) -> Vector:
        """Return the weights, shape (n_features,), of which `coefficients` makes these; without intercept if none."""
        own = coef if self.kept is None else coef[:, self.kept]
        return weights_of(own, intercept, self.intercept, self.shift)

    def near_zero(self) -> ClassifierObjective | None:
        """Return the objective of the columns less a number for each that is far from 0, as with intercept="scaled".

        Returns:
            An objective that shares the matrix; None if no column is far from 0, the matrix is sparse, there is no
            intercept, or numbers are subtracted already.
        """
        if not self.is_dense or not self.intercept or self.shift is not None:
            return None
        n_columns = self.n_columns - 1
        rows = self.sample(np.arange(self.n_samples)[looked_at(self.n_samples, n_columns)])
        shift = far_from_zero(rows.design.toarray()[:, :n_columns])
        if shift is None:
            return None
        near = self._like(self.core.less(shift))
        near.shift = shift
        return near

    @property
    def design(self) -> scipy.sparse.csr_array:
        """The samples, shape (n_samples, n_columns), with the intercept's column."""
        ends, ids, values = self.core.rows()
        shape = (self.n_samples, self.n_columns - (self.intercept != 0.0))
        matrix = scipy.sparse.csr_array((values, ids, np.concatenate([[0], ends])), shape=shape)
        if not self.intercept:
            return matrix
        column = np.full((self.n_samples, 1), self.intercept)
        return scipy.sparse.csr_array(scipy.sparse.hstack([matrix, column]))

    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the data and a checksum of the samples, their classes and weights."""
        n_columns = self.n_columns - (self.intercept != 0.0)
        return {"samples": self.n_samples, "columns": n_columns, "checksum": checksum(self._arrays())}

    def _arrays(self) -> Iterator[npt.NDArray[Any]]:
        yield self.targets
        yield self.weights
        for start in range(0, self.n_samples, CHUNK):
            yield from self.sample(np.arange(start, min(start + CHUNK, self.n_samples))).core.rows()

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the negative log-likelihood at w, in nats, and its gradient, shape (n_features,).

        Args:
            w: float64, shape (n_features,). Weights that are not finite give an infinite value.
            out: where to write the gradient; a new array without it.
        """
        return self.core.value_and_gradient(w, out)

    def probabilities(self, w: Vector) -> Vector:
        """Return p(y | x; w), shape (n_samples, n_outputs); with two classes p(1 | x; w)."""
        return self.core.probabilities(w).reshape(-1, self.n_outputs)

    @property
    def has_hessian_diagonal(self) -> bool:
        """True: the diagonal of the Hessian is known."""
        return True

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return the diagonal of the Hessian at w, shape (n_features,): the sums over samples of weight x^2 p (1 - p).

        Cost: an evaluation and a pass over the data: on one thread if they are sparse, for each output if dense.

        Args:
            w: float64, shape (n_features,).
        """
        shares = self._shares(w)
        spread = (shares * (1.0 - shares))[:, -self.n_outputs :] * self.weights[:, None]
        return self.core.squares(spread)

    def largest_values(self) -> Vector | None:
        """Return the largest absolute value in the column of each weight, shape (n_features,); None if all are 1."""
        return self._largest_values

    @cached_property
    def _largest_values(self) -> Vector | None:
        """The result of a pass over the data, cached because solvers need it more than once."""
        largest = self.core.largest_values()
        if largest is None:
            return None
        if self.intercept:
            largest = np.append(largest, abs(self.intercept))
        return np.repeat(largest, self.n_outputs)

    @cached_property
    def independence(self) -> float:
        """How little a combination of columns varies, as a share of the columns' own; 1 if that is not looked at.

        Cost: a few milliseconds with 100 columns, by some rows of a dense matrix with at most `MOST_LOOKED_AT` columns.
        """
        n_columns = self.n_columns - (self.intercept != 0.0)
        if not self.is_dense or n_columns > MOST_LOOKED_AT:
            return 1.0
        n_rows = max(FEWEST_ROWS, ROWS_PER_COLUMN * n_columns)
        rows = np.arange(self.n_samples)[:: max(1, self.n_samples // n_rows)]
        return least_share(self.sample(rows).design.toarray()[:, :n_columns], centred=self.intercept != 0.0)

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p(y | x; w) of each sample, not times its weight, shape (n_samples,)."""
        return _nlls(self._shares(w), self.core.targets)

    def _shares(self, w: Vector) -> Vector:
        """Return p(y | x; w) of all classes, shape (n_samples, n_classes)."""
        return self.probabilities(w) if self.n_outputs > 1 else _of_two(self.core.scores(w))

    @property
    def unbalanced(self) -> str:
        """Why weights of samples that balance the intercept would take much longer than an evaluation; empty if not."""
        if is_affordable(self.n_samples, self.n_outputs):
            return ""
        return f"{self.n_outputs:,} classes are too many for {self.n_samples:,} samples"

    def balanced(self, w: Vector) -> Balanced | None:
        """Return the objective with weights of its samples under which its derivatives by the intercept are 0.

        The intercept is first brought to its optimum with all other weights fixed, so that the factors are near 1. Then
        the samples of each class get a factor (see ``stationary``).

        Cost: a few evaluations.

        Returns:
            None if a class has no samples of any weight, probabilities that are 0 leave no such factors, or the
            intercept overflows.
        """
        targets, weights = self.core.targets, self.weights
        if self.n_outputs == 1:
            scores = self.core.scores(w)
            shift = best_shift(_of_two(scores), targets, weights)
            shift = shift[1:] - shift[:1]
            shares = _of_two(scores + shift)
        else:
            shares = self.probabilities(w)
            shift = best_shift(shares, targets, weights)
            shares = shifted(shares, shift)
        if not np.isfinite(shift).all():
            return None
        w = w.copy()
        w[-self.n_outputs :] += shift / self.intercept
        tau = stationary(flows(shares, targets, weights))
        if tau is None:
            return None
        factors = tau[targets]
        core = self.core.reweighted(weights * factors)
        nll, gradient = core.value_and_gradient(w) if self.n_outputs > 1 else core.start(w)[::2]
        return Balanced(factors, _nlls(shares, targets), nll, gradient)

    def quick_gap(self, w: Vector, l1: float, l2: float) -> float:
        """Return a bound of the distance of the penalised objective at w from its minimum, nats; none of large data.

        Cost: three evaluations.
        """
        is_small = self.n_samples * self.n_features * self.n_outputs <= FEW_PRODUCTS
        return self.core.gap(w, l1, l2) if is_small else math.inf

    def per_sample(self) -> _core.SamplePasses:
        """Return the same problem for solvers that go sample by sample, each sample a chain of one token."""
        return self.core.per_sample()

    def start(self, w: Vector) -> tuple[float, Vector, Vector]:
        """Return the NLL, with two classes x . w of every sample (else an empty array), and the gradient.

        For solvers that go on without evaluations: with two classes it makes one pass on one thread and, unlike
        `value_and_gradient`, no copy of the matrix.
        """
        if self.n_outputs == 1:
            return self.core.start(w)
        nll, gradient = self.value_and_gradient(w)
        return nll, np.empty(0), gradient

    @property
    def is_dense(self) -> bool:
        """Whether the samples are kept as a dense matrix."""
        return self.core.is_dense

    def dual_start(self, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the weights that dual variables stand for, and the squared norms of the samples."""
        w, squares = self.core.dual_start(alpha)
        return w, squares

    def dual_pass(self, w: Vector, alpha: Vector, squares: Vector, visits: Numbers, l2: float, near: float) -> float:
        """Make a pass of `loglinear.solvers.DualCD` over the samples ``visits``, updating w and alpha."""
        return self.core.dual_pass(w, alpha, squares, visits, l2, near)

    def newton_step(
        self,
        w: Vector,
        scores: Vector,
        gradient: Vector,
        *,
        l1: float,
        l2: float,
        precision: float,
        sweeps: int,
        least: int,
        stride: int = 1,
        varied: tuple[Vector, Signs] | None = None,
    ) -> _core.NewtonStep:
        """Make a step of `loglinear.solvers.ProxNewton`, updating the arrays; ``varied`` are factors and signs."""
        return self.core.newton_step(
            w,
            scores,
            gradient,
            l1=l1,
            l2=l2,
            precision=precision,
            sweeps=sweeps,
            least=least,
            stride=stride,
            varied=varied,
        )

    def newton_path(self, w: Vector, *, l2: float, precision: float, sweeps: int, least: int) -> _core.ClassifierPath:
        """Return the start of a path of minima at some weights; see `loglinear.path`."""
        return self.core.path(w, l2=l2, precision=precision, sweeps=sweeps, least=least)

    def has_small_gram(self, l1: float) -> bool:
        """Whether a step of `loglinear.solvers.ProxNewton` with this L1 penalty writes the Hessian out at once."""
        return self.core.has_small_gram(l1)

    def one_against_rest(self, target: int, threads: int | None = None) -> ClassifierObjective:
        """Return the objective of two classes, the target as class 1 and all others as 0; the samples are shared.

        Args:
            target: number of the class.
            threads: for evaluations; as many as here by default.
        """
        return self._like(self.core.one_against_rest(target, self.n_threads if threads is None else threads))

    def sample(self, samples: Numbers) -> ClassifierObjective:
        """Return the objective on the given samples."""
        return self._like(self.core.batch(samples, 1.0))

    def batch(self, samples: Numbers, factor: float) -> ClassifierObjective:
        """Return the objective on the given samples, whose weights are multiplied by ``factor``."""
        return self._like(self.core.batch(samples, factor))

    def aggregate(self, cmap: npt.NDArray[np.intp], n_clusters: int) -> Any:
        """Return the objective over clusters of weights, beta_j = gamma_cmap(j), without adding up gradients.

        Columns are added up where there is one weight for each, else the features of each class. Weights of the
        intercept are separate clusters, the last ones.

        Source: Mathur & Chakrabarti (2010), Eq. 15.

        Args:
            cmap: cluster of each feature, from 0 to n_clusters - 1, shape (n_features,).
            n_clusters: number of clusters.

        Returns:
            An objective over n_clusters features; None if a cluster holds a weight of the intercept and others.
        """
        free = self.n_unpenalised
        first = n_clusters - free
        alone = np.array_equal(cmap[cmap.size - free :], np.arange(first, n_clusters))
        if not alone or (cmap[: cmap.size - free] >= first).any():
            return None
        if self.n_outputs > 1:
            return self.core.as_chain().aggregate(cmap.astype(np.int64), n_clusters)
        return self._like(self.core.aggregate(cmap[: cmap.size - free].astype(np.int64), first), first)

    def restrict(self, features: Numbers) -> Any:
        """Return the objective over some of the features, in this order; the weights of all others are 0.

        Args:
            features: their numbers, ascending; the numbers of the intercept's features among them.

        Returns:
            An objective over the given features; None if the intercept is left out.
        """
        free = self.n_unpenalised
        first = self.n_features - free
        n_penalised = features.size - free
        if not np.array_equal(features[max(n_penalised, 0) :], np.arange(first, self.n_features)):
            return None
        if self.n_outputs > 1:
            return self.core.as_chain().restrict(features)
        return self._like(self.core.restrict(features[:n_penalised]), n_penalised)


def _of_two(scores: Vector) -> Vector:
    """Return the probabilities of both classes, shape (n_samples, 2), for the scores of the second."""
    return np.asarray(np.exp(-np.logaddexp(0.0, np.column_stack([scores, -scores]))))


def _nlls(shares: Vector, targets: npt.NDArray[np.uint32]) -> Vector:
    with np.errstate(divide="ignore"):  # a probability of 0 has an infinite NLL
        return np.asarray(-np.log(shares[np.arange(targets.size), targets]))


def _numbers(targets: npt.ArrayLike, n_samples: int, n_classes: int) -> npt.NDArray[np.uint32]:
    whole_number("n_classes", n_classes, 1, 2**32 - 1)
    numbers = targets if type(targets) is np.ndarray and targets.dtype.kind in "iu" else numbers_of(targets, "targets")
    if numbers.shape != (n_samples,) or not np.array_equal(numbers, np.clip(numbers, 0, n_classes - 1)):
        message = f"targets must be {n_samples} numbers from 0 to {n_classes - 1}"
        raise DataError(message)
    return numbers.astype(np.uint32)


def _weights(weights: npt.ArrayLike | None) -> Vector | None:
    if weights is None:
        return None
    numbers = numbers_of(weights, "weights")
    if numbers.ndim != 1:
        message = f"weights have shape {numbers.shape}; give one number per sample"
        raise DataError(message)
    return np.ascontiguousarray(numbers)


def _intercept(intercept: float | str) -> dict[str, Any]:
    """Return the native arguments for an intercept."""
    if isinstance(intercept, str):
        one_of("intercept", intercept, ("scaled",))
        return {"intercept": 1.0, "scaled": True}
    value = float(intercept or 0.0) if isinstance(intercept, truth_types()) or intercept is None else intercept
    return {"intercept": real_number("intercept", value, "a finite number", lambda _: True) or None}


def coefficients(w: Vector, n_outputs: int, intercept: float, shift: Vector | None = None) -> tuple[Vector, Vector]:
    """Return the weights as a matrix of shape (n_outputs, columns), and what the intercept adds to each score.

    Args:
        w: weights, column by column, the intercept's last.
        n_outputs: number of scores.
        intercept: value of the intercept's column; 0 without an intercept.
        shift: what was subtracted from the columns; None for nothing.
    """
    matrix = w.reshape(-1, n_outputs)
    if not intercept:
        return matrix.T, np.zeros(n_outputs)
    coef, by_intercept = matrix[:-1].T, matrix[-1] * intercept
    return coef, by_intercept if shift is None else by_intercept - _moved(coef, shift)


def _moved(coef: Vector, shift: Vector) -> Vector:
    """Return what the columns' shift adds to the scores, less what it adds to all classes alike."""
    scores = coef @ shift
    return scores - scores.mean() if len(scores) > 1 else scores


def weights_of(coef: Vector, intercept: Vector, scale: float, shift: Vector | None = None) -> Vector:
    """Return the weights, column by column, of which `coefficients` makes these.

    Args:
        coef: shape (n_outputs, columns).
        intercept: what the intercept adds to each score, shape (n_outputs,); ignored without an intercept.
        scale: value of the intercept's column; 0 without an intercept.
        shift: what was subtracted from the columns; None for nothing.
    """
    intercept = intercept if shift is None else intercept + _moved(coef, shift)
    rows = np.vstack([coef.T, intercept / scale]) if scale else coef.T
    return np.ascontiguousarray(rows, dtype=np.float64).ravel()
