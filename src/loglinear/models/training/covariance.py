"""Covariance of the weights of a classifier, from the Hessian of its penalised likelihood at the optimum.

The weights are identified as contrasts: the weight of each class less the weight of a reference class. With theta the
free contrasts, H the Hessian of the negative log-likelihood and S the Hessian of the L2 penalty, the covariance is

    (H + S)^-1                     from the Hessian (Wood 2017, section 6.10: of the posterior, if S is not 0),
    (H + S)^-1 M (H + S)^-1        robust, M the sum over samples, or groups of them, of the score times its transpose.

Without L1, Newton steps first bring the weights to the optimum. After L1, theta has the weights that are not 0.

Sources: White (1982), Econometrica 50(1), for the robust one (HC0); Liang & Zeger (1986), Biometrika 73(1), for groups;
Wood, Generalized Additive Models (2017), sections 6.10 and 6.11, for penalties and effective degrees of freedom.
Cost: O(n p^2 k^2) for n samples, p columns and k classes for each Newton step, and O(p^3 k^3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ...errors import DataError
from ...networks.numbering import Numbers
from ...vectors import Vector
from ...visible import listed
from .contrasts import Contrasts, Labelling, Matrix
from .optimum import GROWTH, SINGULAR, Sums, inverse_of, optimum, refuse_dependent
from .options import cores
from .resampling import in_parallel
from .separation import NO_LOSS

__all__ = ["Covariance", "covariance_of"]

# Rows of a block that stays in the cache, pieces of the samples, and bytes that the Hessians of all pieces may take.
_ROWS, _PIECES, _BYTES = 2048, 16, 1 << 28


class Covariance(NamedTuple):
    """What the likelihood says of the weights.

    Attributes:
        weights: of the reported parameters.
        covariance: of these weights.
        log_likelihood: of the samples, in nats, without the penalty.
        n_parameters: number of parameters; with a penalty the effective one.
    """

    weights: Vector
    covariance: Vector
    log_likelihood: float
    n_parameters: float


def covariance_of(
    data: Labelling,
    reported: Contrasts,
    reference: int,
    *,
    robust: bool,
    groups: Numbers | None = None,
    threads: int = 0,
    unconverged: str = "",
) -> Covariance:
    """Return the covariance of the weights that are reported; it is the same on any number of threads.

    Args:
        data: samples and weights.
        reported: see `Contrasts.of`.
        reference: number of the reference class.
        robust: whether to use the scores of samples as well.
        groups: group of each sample, whose scores are added up before; with G groups and k parameters of n samples the
            covariance is multiplied by G / (G - 1) * (n - 1) / (n - k), as statsmodels and Stata do.
        threads: 0 for all cores.
        unconverged: how the training has ended, if it did not converge.

    Raises:
        DataError: weights are not determined, are infinite, or are far from the optimum; names columns and classes.
    """
    model = _Likelihood(data, reference, threads or cores())
    theta, nll, hessian, inverse = optimum(model, model.start(), l1=data.l1, l2=data.l2, unconverged=unconverged)
    covariance = inverse
    if robust:
        scores = model.products_of_scores(theta, groups)
        covariance = inverse @ scores @ inverse
        if groups is not None:
            n_groups, n = np.unique(groups).size, len(data.targets)
            covariance *= n_groups / (n_groups - 1.0) * (n - 1.0) / max(n - theta.size, 1)
    weights, back = model.reported(theta, reported)
    n_parameters = float(np.einsum("ij,ji->", hessian, inverse)) if data.l2 else float(theta.size)
    return Covariance(weights, back @ (back @ covariance).T, -nll, n_parameters)


class _Likelihood:
    """The NLL as a function of theta, free contrasts of weights of columns that have mean 0 and norm 1.

    Columns are centred only if they are dense and there is an intercept.
    """

    def __init__(self, data: Labelling, reference: int, threads: int) -> None:
        self.data, self.reference, self.threads = data, reference, threads
        self.n_classes, self.p = len(data.classes), data.X.shape[1]
        self._set_parameters()
        self.used = np.unique(self.columns[self.columns < self.p])
        X, share = data.X, data.weights / data.weights.sum()
        self.is_sparse = not isinstance(X, np.ndarray)
        self.X = X if self.used.size == self.p else X[:, self.used]
        means = np.zeros(self.used.size)
        if data.has_intercept and not self.is_sparse:
            means = share @ self.X
        self.scales = np.sqrt(self._mean_squares(means, share))
        # Beside a mean that is far from 0, differences smaller than rounding errors are none.
        is_constant = self.scales <= 1e-14 * np.abs(means)
        if is_constant.any() and not data.l2:
            names = listed([data.column(j) for j in self.used[is_constant].tolist()], 5)
            like = ", like the intercept" if data.has_intercept and not self.is_sparse else ""
            message = f"{names} has the same value in every sample{like}, so that its weight is not determined; leave "
            message += "it out, or give a penalty (l2)"
            raise DataError(message.replace(" has the same", " have the same") if is_constant.sum() > 1 else message)
        self.scales[is_constant] = 1.0
        self.means = means
        # Place of each column among those used; the intercept comes last.
        self.place = np.zeros(self.p + 1, dtype=np.int64)
        self.place[self.used] = np.arange(self.used.size)
        self.place[self.p] = self.used.size
        self.free_classes = np.unique(self.classes)
        width = self.used.size + data.has_intercept
        self.entries = np.searchsorted(self.free_classes, self.classes) * width + self.place[self.columns]
        self.width = width
        self.back = self._back()
        self.penalty = self._penalty()

    def _set_parameters(self) -> None:
        """Choose the free contrasts: of all classes but the reference; after L1 the weights that are not 0.

        A column in which no class has a weight of 0 is free up to a number that is the same for all classes.
        """
        data, reference = self.data, self.reference
        is_free, is_whole = np.ones((self.n_classes, self.p + 1), dtype=bool), np.ones(self.p + 1, dtype=bool)
        if data.l1:
            is_free[:, : self.p] = data.w[:, : self.p] != 0.0
        if self.n_classes == 2:
            is_free[0] = is_free[1]
        else:
            is_whole[: self.p] = is_free[:, : self.p].all(axis=0)
        is_free[reference, is_whole] = False
        is_free[:, self.p] &= data.has_intercept
        self.is_whole = is_whole
        self.classes, self.columns = (numbers.astype(np.int64) for numbers in np.nonzero(is_free))

    def _mean_squares(self, means: Vector, share: Vector) -> Vector:
        """Return the weighted mean squares of the columns less their means."""
        if not isinstance(self.X, np.ndarray):
            return np.asarray(self.X.multiply(self.X).T @ share).ravel()
        sums = np.zeros(self.used.size)
        for rows in self._blocks(0, len(share)):
            sums += share[rows] @ (self.X[rows] - means) ** 2
        return sums

    def _blocks(self, start: int, end: int) -> Iterator[slice]:
        numbers, most = (1 << 24, 16 * _ROWS) if self.is_sparse else (1 << 22, _ROWS)
        step = min(max(numbers // (self.used.size + 1), 256), most)
        for at in range(start, end, step):
            yield slice(at, min(at + step, end))

    def _back(self) -> scipy.sparse.csr_array:
        """Return the matrix that turns theta into weights of the columns as they are."""
        size, at_intercept = self.classes.size, {}
        is_column = self.columns < self.p
        for at in np.flatnonzero(~is_column).tolist():
            at_intercept[int(self.classes[at])] = at
        diagonal = np.ones(size)
        diagonal[is_column] = 1.0 / self.scales[self.place[self.columns[is_column]]]
        rows, columns, values = [np.arange(size)], [np.arange(size)], [diagonal]
        if at_intercept and self.means.any():
            free = np.flatnonzero(is_column)
            # The reference class has an intercept of 0: what a weight of its own takes from it, all others gain.
            for k, at in at_intercept.items():
                own, others = free[self.classes[free] == k], free[self.classes[free] == self.reference]
                for numbers, sign in ((own, -1.0), (others, 1.0)):
                    rows.append(np.full(numbers.size, at))
                    columns.append(numbers)
                    values.append(sign * self.means[self.place[self.columns[numbers]]] * diagonal[numbers])
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return scipy.sparse.csr_array(entries, shape=(size, size))

    def _penalty(self) -> Vector:
        """Return the Hessian of the L2 penalty: l2 on single weights, l2 (I - 1 1' / k) on all contrasts of k classes.

        The latter is the least penalty of symmetric weights with these contrasts.
        """
        size, l2 = self.classes.size, self.data.l2
        penalty = np.zeros((size, size))
        if not l2:
            return penalty
        is_column = self.columns < self.p
        squares = np.ones(size)
        squares[is_column] = self.scales[self.place[self.columns[is_column]]] ** 2
        penalty[np.diag_indices(size)] = np.where(is_column, l2 / squares, 0.0)
        if self.n_classes > 2:
            alike = (self.columns[:, None] == self.columns) & (is_column & self.is_whole[self.columns])[:, None]
            penalty -= np.where(alike, l2 / self.n_classes / squares[:, None], 0.0)
        return penalty

    def start(self) -> Vector:
        """Return theta at the weights of the training."""
        w, reference = self.data.w, self.reference
        is_whole = self.is_whole[self.columns]
        own = w[self.classes, self.columns] - np.where(is_whole, w[reference, self.columns], 0.0)
        is_column = self.columns < self.p
        theta = own.copy()
        theta[is_column] *= self.scales[self.place[self.columns[is_column]]]
        # Intercepts gain what centring takes from the columns; `back` says how much.
        moved = self.back @ theta - own
        theta[~is_column] -= moved[~is_column]
        return np.asarray(theta)

    def penalty_gradient(self, theta: Vector) -> Vector:
        """Return the gradient of the penalty; of L1 by the signs of the weights."""
        gradient: Vector = self.penalty @ theta
        if self.data.l1:
            is_column = self.columns < self.p
            w = self.data.w[self.classes, self.columns]
            signs = np.sign(w if self.n_classes > 2 else w - self.data.w[self.reference, self.columns])
            scales = self.scales[self.place[self.columns[is_column]]]
            gradient[is_column] += self.data.l1 * signs[is_column] / scales
        return gradient

    def design(self, rows: slice) -> Matrix:
        """Return the centred and scaled columns of some samples, the intercept's last."""
        block = self.X[rows]
        if isinstance(block, np.ndarray):
            columns = np.empty((block.shape[0], self.width))
            np.subtract(block, self.means, out=columns[:, : self.used.size])
            columns[:, : self.used.size] /= self.scales
            columns[:, self.used.size :] = 1.0
            return columns
        scaled = block @ scipy.sparse.diags_array(1.0 / self.scales)
        if not self.data.has_intercept:
            return scipy.sparse.csr_array(scaled)
        return scipy.sparse.csr_array(scipy.sparse.hstack([scaled, np.ones((block.shape[0], 1))]))

    def _table(self, theta: Vector) -> Vector:
        """Return weights of the free classes, shape (free classes, columns used and the intercept)."""
        table = np.zeros(self.free_classes.size * self.width)
        table[self.entries] = theta
        return table.reshape(-1, self.width)

    def _shares(self, theta: Vector, design: Matrix, rows: slice) -> tuple[Vector, Vector, float]:
        """Return p(k | x) of the free classes, y - p, and the NLL of some samples."""
        scores = np.zeros((design.shape[0], self.n_classes))
        scores[:, self.free_classes] = design @ self._table(theta).T
        # Of log-softmax; that of SciPy takes longer on blocks of this size.
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        totals = shares.sum(axis=1)
        targets, weights = self.data.targets[rows], self.data.weights[rows]
        nll = float(weights @ (np.log(totals) - scores[np.arange(targets.size), targets]))
        shares = (shares / totals[:, None])[:, self.free_classes]
        return shares, (targets[:, None] == self.free_classes) - shares, nll

    def sums(self, theta: Vector) -> Sums:
        """Return NLL, gradient and Hessian at theta."""
        size, n_classes, width = self.classes.size, self.free_classes.size, self.width

        def of_piece(start: int, end: int) -> Sums:
            nll, gradient = 0.0, np.zeros((n_classes, width))
            hessian = np.zeros((n_classes * width, n_classes * width))
            for rows in self._blocks(start, end):
                design, weights = self.design(rows), self.data.weights[rows]
                shares, rest, of_block = self._shares(theta, design, rows)
                nll += of_block
                gradient -= np.asarray(design.T @ (rest * weights[:, None])).T
                for k in range(n_classes):
                    for other in range(k + 1):
                        curvature = weights * shares[:, k] * ((k == other) - shares[:, other])
                        own, others = (slice(a * width, (a + 1) * width) for a in (k, other))
                        hessian[own, others] += _product(design, curvature)
            for k in range(n_classes):
                for other in range(k):
                    own, others = (slice(a * width, (a + 1) * width) for a in (k, other))
                    hessian[others, own] = hessian[own, others].T
            return Sums(nll, gradient.ravel()[self.entries], hessian[np.ix_(self.entries, self.entries)])

        parts = self._in_pieces(of_piece, size)
        return Sums(*(sum(values[1:], values[0]) for values in zip(*parts, strict=True)))

    def products_of_scores(self, theta: Vector, groups: Numbers | None) -> Vector:
        """Return the sum over samples, or groups of samples, of the score times its transpose."""
        n_groups = 0 if groups is None else int(groups.max()) + 1

        def of_piece(start: int, end: int) -> Vector:
            total = np.zeros((n_groups or self.classes.size, self.classes.size))
            for rows in self._blocks(start, end):
                design = self.design(rows)
                design = design if isinstance(design, np.ndarray) else design.toarray()
                rest = self._shares(theta, design, rows)[1] * self.data.weights[rows, None]
                scores = (rest[:, :, None] * design[:, None, :]).reshape(len(rest), -1)[:, self.entries]
                if groups is None:
                    total += scores.T @ scores
                else:
                    ones = (np.ones(len(scores)), (groups[rows], np.arange(len(scores))))
                    total += scipy.sparse.csr_array(ones, shape=(n_groups, len(scores))) @ scores
            return total

        total: Vector = sum(self._in_pieces(of_piece, max(n_groups, self.classes.size)), np.zeros(1))
        return total if groups is None else total.T @ total

    def _in_pieces(self, of_piece: Callable[[int, int], Any], size: int) -> list[Any]:
        """Return what a function makes of fixed pieces of the samples, which do not depend on the threads."""
        n = len(self.data.targets)
        n_pieces = max(1, min(_PIECES, n // _ROWS, _BYTES // (8 * size * max(size, 1))))
        ends = [n * at // n_pieces for at in range(n_pieces + 1)]

        def make(at: int, _: Callable[[Any, Any], bool]) -> Any:
            return of_piece(ends[at], ends[at + 1])

        return [part for _, part in in_parallel(make, n_pieces, min(self.threads, n_pieces))]

    def inverse(self, hessian: Vector, theta: Vector, nll: float) -> Vector:
        """Return (H + S)^-1.

        Raises:
            DataError: it is singular; names columns.
        """
        inverse = inverse_of(hessian + self.penalty)
        if inverse is not None:
            return inverse
        self._refuse_dependent()
        self.check_finite(theta, theta, nll, is_last=True)
        raise DataError(SINGULAR)

    def _refuse_dependent(self) -> None:
        """Raise DataError if some columns depend on each other, and no penalty makes their weights differ."""
        if self.data.l2:
            return
        gram = np.zeros((self.width, self.width))
        for rows in self._blocks(0, len(self.data.targets)):
            gram += _product(self.design(rows), self.data.weights[rows])
        refuse_dependent(
            gram / self.data.weights.sum(),
            lambda at: self.data.column(int(self.used[at])) if at < self.used.size else "the intercept",
        )

    def check_finite(self, theta: Vector, step: Vector, nll: float, *, is_last: bool) -> None:
        """Raise DataError if weights without a penalty grow for ever: scores grow along the last Newton step.

        Args:
            theta: contrasts.
            step: the Newton step from there.
            nll: there.
            is_last: whether the weights are as good as at their optimum.
        """
        is_complete = nll < NO_LOSS * self.data.nll_without_columns()
        direction = theta if is_complete else step
        if not (is_complete or is_last) or self.data.l1 or self.data.l2 or not self.used.size:
            return
        table = np.zeros((self.n_classes, self.width))
        table[self.free_classes] = self._table(direction)
        growth = 0.0
        for rows in self._blocks(0, len(self.data.targets)):
            growth = max(growth, float(np.abs(self.design(rows) @ table.T).max(initial=0.0)))
        if not is_complete and growth < GROWTH:
            return
        # Columns have a norm of 1, so that their parts of a direction can be compared.
        parts = table[:, : self.used.size] - table[:, : self.used.size].mean(axis=0)
        sizes = np.abs(parts).max(axis=0)
        columns = np.argsort(-sizes, kind="stable")
        columns = columns[sizes[columns] > 0.5 * sizes.max()]
        at = int(columns[0])
        label = self.data.classes[int(parts[:, at].argmax())]
        names = listed([self.data.column(int(self.used[j])) for j in columns.tolist()], 3)
        what = "all classes" if is_complete else "a part of the data"
        message = f"{names} separates {what} without error: its weight for class {label!r} is infinite, and has no "
        message += "standard error; give a penalty (l2), merge values, or leave the column out"
        raise DataError(message.replace("separates", "together separate", 1) if columns.size > 1 else message)

    def reported(self, theta: Vector, reported: Contrasts) -> tuple[Vector, Any]:
        """Return the weights of the reported parameters, and the matrix that turns theta into them."""
        place = {pair: at for at, pair in enumerate(zip(self.classes.tolist(), self.columns.tolist(), strict=True))}
        rows, columns, values = [], [], []
        for row, (k, j) in enumerate(zip(reported.classes.tolist(), reported.columns.tolist(), strict=True)):
            for key, sign in (((k, j), 1.0), ((self.reference, j), -1.0)):
                if key in place:
                    rows.append(row)
                    columns.append(place[key])
                    values.append(sign)
        shape = (reported.classes.size, theta.size)
        contrasts = scipy.sparse.csr_array((values, (rows, columns)), shape=shape)
        back = contrasts @ self.back
        return np.asarray(back @ theta), back


def _product(design: Matrix, weights: Vector) -> Vector:
    """Return X' diag(weights) X."""
    if isinstance(design, np.ndarray):
        return np.asarray(design.T @ (design * weights[:, None]))
    return np.asarray((design.T @ (scipy.sparse.diags_array(weights) @ design)).toarray())
