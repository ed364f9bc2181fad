"""Fits of log-linear models to contingency tables, their statistics, and the choice of interactions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.special

from ...errors import OptionError
from ...minimize import minimize
from ...objectives.table import TableObjective
from ...options import one_of
from ...path import path
from ...penalty import ElasticNet, GroupLasso, Penalty
from ...problem import Problem
from ...result import Result
from ...solvers import SOLVERS, ProxGradient, make_solver, option_names
from ...stopping import Stop
from ...tables.contingency import ContingencyTable
from ...tables.design import Design
from ...tables.fitting import MOST_PARAMETERS, Support, inverse, iterated, newton, support_of
from ...tables.formula import Term, closed, formula_of, generators_of
from ...vectors import Vector

__all__ = ["CRITERIA", "METHODS", "SEARCHES", "Choice", "TableFit", "chosen", "fit_table", "penalised"]

METHODS = ("auto", "newton", "ipf")
CRITERIA = ("aic", "bic")
SEARCHES = ("both", "backward", "forward", "l1")

# Up to this number of parameters a fit by Newton's method takes less time than one by proportional fitting may take.
_NEWTON = 500
# Operations for adjusted residuals that take about a minute.
_MOST_OPERATIONS = 2 * 10**11
_BLOCK = 2**14
_POINTS = 20
# Least violation of solvers other than Newton's method, relative to the number of samples.
_TOLERANCE = 1e-8


@dataclass(frozen=True)
class TableFit:
    """A hierarchical model that is fitted to a table.

    Attributes:
        table: the table of the variables in the model.
        terms: terms of the model, the constant first.
        support: cells whose fitted counts are above 0, and the rank of the model.
        expected: fitted counts.
        iterations: number of steps or cycles.
        result: how a solver has ended; None for Newton's method and proportional fitting.
        active: terms with weights other than 0 of a fit with an L1 penalty; else None.
    """

    table: ContingencyTable
    terms: tuple[Term, ...]
    support: Support
    expected: Vector
    iterations: int
    result: Result | None = None
    active: tuple[Term, ...] | None = field(default=None)

    @property
    def formula(self) -> str:
        """The model by its generators; of a penalised fit, the smallest hierarchical one with its interactions."""
        mains = [term for term in self.terms if len(term) < 2]
        return formula_of(self.terms if self.active is None else closed([*mains, *self.active]), self.table.names)

    @cached_property
    def deviance(self) -> float:
        """Deviance G2, 2 sum n log(n / expected)."""
        return max(float(self._deviances.sum()), 0.0)

    @cached_property
    def _deviances(self) -> Vector:
        n, mu = self.table.counts, self.expected
        return np.asarray(2.0 * (scipy.special.xlogy(n, np.divide(n, mu, out=np.ones_like(mu), where=mu > 0)) - n + mu))

    @cached_property
    def pearson(self) -> float:
        """Pearson's X2, sum (n - expected)^2 / expected."""
        return float((self.residuals("pearson")[self.expected > 0] ** 2).sum())

    @property
    def rank(self) -> float:
        """Number of parameters that can be estimated, an int; NaN if unknown or penalised."""
        return math.nan if self.support.rank is None or self.active is not None else self.support.rank

    @property
    def df(self) -> float:
        """Residual degrees of freedom: cells with fitted counts above 0, less the rank of the model on these cells."""
        return int(self.support.cells.sum()) - self.rank

    def p(self, statistic: float) -> float:
        """Return the probability of a larger statistic under the model, by the chi-squared distribution."""
        return 1.0 if self.df == 0 else float(scipy.special.chdtrc(self.df, statistic))

    @cached_property
    def log_likelihood(self) -> float:
        """Poisson log-likelihood, in nats."""
        n, mu = self.table.counts, self.expected
        return float((scipy.special.xlogy(n, mu) - mu - scipy.special.gammaln(n + 1.0))[self.table.possible].sum())

    def criterion(self, name: str) -> float:
        """Return AIC or BIC, NaN if penalised; the sample size of BIC is the number of samples (Raftery 1986).

        Parameters that cells without samples make infinite count: they have been fitted to these cells.
        """
        if self.support.nominal is None or self.active is not None:
            return math.nan
        cost = 2.0 if name == "aic" else math.log(self.table.n_samples)
        return cost * self.support.nominal - 2.0 * self.log_likelihood

    def residuals(self, kind: str) -> Vector:
        """Return residuals in the shape of the table; see `LogLinear.residuals`."""
        one_of("kind", kind, ("raw", "pearson", "deviance", "adjusted"))
        raw = self.table.counts - self.expected
        if kind == "raw":
            return np.where(self.table.possible, raw, np.nan)
        inside = self.expected > 0
        if kind == "deviance":
            return np.where(inside, np.sign(raw) * np.sqrt(np.maximum(self._deviances, 0.0)), np.nan)
        pearson = np.divide(raw, np.sqrt(self.expected), out=np.full_like(raw, np.nan), where=inside)
        if kind == "pearson":
            return pearson
        free = np.maximum(1.0 - self._leverages(), 0.0)
        return np.divide(pearson, np.sqrt(free), out=np.full_like(raw, np.nan), where=inside & (free > 1e-10))

    def design(self, coding: str) -> Design:
        """Return the parameters of the model in a coding."""
        return Design(self.table.counts.shape, self.terms, coding)

    @property
    def has_leverages(self) -> bool:
        """Whether adjusted residuals are defined and can be computed in reasonable time."""
        n = self.design("effects").n_parameters
        return self.active is None and n <= MOST_PARAMETERS and self.expected.size * n**2 <= _MOST_OPERATIONS

    def _leverages(self) -> Vector:
        if not self.has_leverages:
            message = "adjusted residuals are not defined with l1" if self.active is not None else ""
            message = message or "adjusted residuals of so large a table and model take too long"
            message += "; use kind='pearson'"
            raise OptionError(message)
        design = self.design("effects")
        covariance = inverse(design.gram(self.expected))
        leverages = np.empty(self.expected.size)
        for start in range(0, leverages.size, _BLOCK):
            cells = np.arange(start, min(start + _BLOCK, leverages.size))
            rows = design.rows(cells)
            leverages[cells] = np.einsum("ij,ij->i", rows @ covariance, rows)
        return leverages.reshape(self.expected.shape) * self.expected

    def parameters(self, coding: str) -> tuple[Design, Vector, Vector, list[str]]:
        """Return the parameters of a coding: their design, estimates, standard errors, and what is wrong with each.

        The estimates solve X w = log(expected); any fit of the counts gives them by one weighted least-squares solve.
        """
        design = self.design(coding)
        n = design.n_parameters
        if n > MOST_PARAMETERS:
            message = f"the model has {n:,} parameters, of which at most {MOST_PARAMETERS:,} can be estimated with "
            message += "standard errors; use expected_ and margins of it"
            raise OptionError(message)
        mu = self.expected
        information = design.gram(mu)
        covariance = inverse(information)
        logs = np.where(mu > 0, np.log(np.where(mu > 0, mu, 1.0)), 0.0)
        w = covariance @ design.sums(mu * logs)
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        problems = [""] * n
        if not self.support.is_whole:
            self._mark(design, w, errors, problems)
        if self.active is not None:
            errors = np.full(n, np.nan)
            for number, term in enumerate(self.terms):
                if len(term) > 1 and term not in self.active:
                    w[design.block(number)] = 0.0
        return design, w, errors, problems

    def _mark(self, design: Design, w: Vector, errors: Vector, problems: list[str]) -> None:
        """Replace parameters that cells with fitted counts above 0 do not determine."""
        null = _null_of(design, self.support.cells)
        structural = _null_of(design, self.table.possible)
        # The direction in this coding: the same sum of columns, which the whole table determines.
        direction = None
        if self.support.direction is not None and null.shape[1] - structural.shape[1] == 1:
            falling = self.design("effects").scores(self.support.direction)
            everywhere = design.gram(np.ones(design.shape))
            direction = np.linalg.solve(everywhere, design.sums(falling))
        for at in range(len(w)):
            if np.abs(null[at]).max(initial=0.0) <= 1e-7:
                continue
            if structural.size and np.abs(structural[at]).max() > 1e-7:
                problems[at], w[at] = "not estimable (structural zeros)", np.nan
            else:
                problems[at] = "infinite"
                w[at] = np.nan if direction is None else math.copysign(math.inf, direction[at])
            errors[at] = np.nan


def _null_of(design: Design, cells: Any) -> Vector:
    values, vectors = np.linalg.eigh(design.gram(cells.astype(np.float64)))
    return np.asarray(vectors[:, values <= 1e-9 * max(values[-1], 1.0)])


def fit_table(
    table: ContingencyTable, terms: Sequence[Term], method: str = "auto", tolerance: float = 1e-10
) -> TableFit:
    """Fit a hierarchical model by maximum likelihood.

    Args:
        table: the counts of the variables in the model.
        terms: terms of the model.
        method: one of `METHODS`, or the name of a batch solver.
        tolerance: largest difference of a margin from its fitted value, relative to the number of samples.
    """
    design = Design(table.counts.shape, tuple(terms))
    support = support_of(table, design)
    if method == "auto":
        method = "newton" if design.n_parameters <= _NEWTON else "ipf"
    if method == "newton":
        if design.n_parameters > MOST_PARAMETERS:
            message = (
                f"method='newton': the model has {design.n_parameters:,} parameters, and Newton's method takes at "
            )
            message += f"most {MOST_PARAMETERS:,}; use 'ipf'"
            raise OptionError(message)
        expected, iterations = newton(table.counts, design, support, tolerance)
    elif method == "ipf":
        expected, iterations = iterated(table.counts, terms, support, tolerance)
    else:
        return _minimised(table, terms, support, method, ElasticNet(), tolerance)[0]
    return TableFit(table, tuple(terms), support, expected, iterations)


def _minimised(
    table: ContingencyTable, terms: Sequence[Term], support: Support, solver: str, penalty: Penalty, tolerance: float
) -> tuple[TableFit, Result | None]:
    """Fit with a solver; the design has the interactions first, and no constant."""
    objective, design = _objective(table, terms, support, "balanced" if isinstance(penalty, GroupLasso) else "effects")
    if not design.n_parameters:
        expected = np.where(support.cells, table.n_samples / support.cells.sum(), 0.0)
        return TableFit(table, tuple(terms), support, expected, 0), None
    limit = max(tolerance, _TOLERANCE) * table.n_samples
    # The violation decides when the margins fit; a solver's own tolerances would stop before.
    options = option_names(SOLVERS[solver])
    own = {name: 0.0 for name in ("tolerance", "gradient_tolerance") if name in options}
    stop = Stop(violation=limit, max_iterations=20_000)
    result = minimize(Problem(objective, penalty), make_solver(solver, **own), stop=stop)
    fit = TableFit(
        table, tuple(terms), support, objective.fitted(result.w), result.iterations, replace(result, state=None)
    )
    return fit, result


def _objective(
    table: ContingencyTable, terms: Sequence[Term], support: Support, coding: str
) -> tuple[TableObjective, Design]:
    order = [term for term in terms if len(term) > 1] + [term for term in terms if len(term) == 1]
    design = Design(table.counts.shape, tuple(order), coding)
    free = sum(size for term, size in zip(order, design.sizes, strict=True) if len(term) == 1)
    return TableObjective(table.counts, support.cells, design, free), design


def _penalty_of(design: Design, free: int, l1: float, *, grouped: bool) -> Penalty:
    if not grouped:
        return ElasticNet(l1, unpenalised=free)
    sizes = [size for term, size in zip(design.terms, design.sizes, strict=True) if len(term) > 1]
    return GroupLasso(l1, unpenalised=free, groups=np.repeat(np.arange(len(sizes)), sizes))


def _active(design: Design, w: Vector) -> tuple[Term, ...]:
    return tuple(term for number, term in enumerate(design.terms) if len(term) > 1 and w[design.block(number)].any())


def penalised(
    table: ContingencyTable, terms: Sequence[Term], l1: float, solver: str, tolerance: float, *, grouped: bool
) -> TableFit:
    """Fit with an L1 penalty on interactions; main effects bear none, so that the fit has the margins of variables."""
    mains = [term for term in terms if len(term) < 2]
    support = replace(support_of(table, Design(table.counts.shape, tuple(mains))), rank=None, nominal=None)
    objective, design = _objective(table, terms, support, "balanced" if grouped else "effects")
    penalty = _penalty_of(design, objective.n_unpenalised, l1, grouped=grouped)
    fit, result = _minimised(table, terms, support, solver, penalty, tolerance)
    return replace(fit, active=() if result is None else _active(design, result.w))


@dataclass(frozen=True)
class Choice:
    """A model that a choice of interactions has looked at.

    Attributes:
        formula: its generators.
        deviance: its deviance.
        df: its residual degrees of freedom.
        criterion: its AIC or BIC.
        change: the step that led to it from the model before, such as ``- A:B``; empty for the first one.
    """

    formula: str
    deviance: float
    df: float
    criterion: float
    change: str = ""


def chosen(
    table: ContingencyTable,
    terms: Sequence[Term],
    criterion: str,
    search: str,
    fit: Callable[[Sequence[Term]], TableFit],
) -> tuple[TableFit, list[Choice]]:
    """Choose interactions; main effects stay.

    Args:
        table: the table.
        terms: terms of the largest model.
        criterion: one of `CRITERIA`.
        search: one of `SEARCHES`; all but ``forward`` start at the largest model.
        fit: fits the model of some terms.
    """
    one_of("criterion", criterion, CRITERIA)
    one_of("search", search, SEARCHES)
    if search == "l1":
        return _along_path(table, terms, criterion, fit)
    current = tuple(term for term in terms if len(term) < 2) if search == "forward" else tuple(terms)
    best = fit(current)
    steps = [_choice(best, criterion)]
    seen: dict[tuple[Term, ...], TableFit] = {current: best}
    while True:
        moves: list[tuple[str, tuple[Term, ...]]] = []
        if search != "forward":
            moves += [("-", tuple(t for t in current if t != term)) for term in generators_of(current) if len(term) > 1]
        if search != "backward":
            moves += [("+", tuple(closed([*current, term]))) for term in _addable(terms, current)]
        moves = [move for move in moves if move[1] not in seen]
        for _, candidate in moves:
            seen[candidate] = fit(candidate)
        if not moves:
            break
        sign, candidate = min(moves, key=lambda move: seen[move[1]].criterion(criterion))
        if not seen[candidate].criterion(criterion) < best.criterion(criterion):
            break
        (changed,) = set(candidate) ^ set(current)
        current, best = candidate, seen[candidate]
        name = ":".join(table.names[axis] for axis in sorted(changed))
        steps.append(_choice(best, criterion, f"{sign} {name}"))
    return best, steps


def _addable(terms: Iterable[Term], current: Sequence[Term]) -> list[Term]:
    """Return the terms that can be added to a hierarchical model by themselves."""
    present = set(current)
    return [term for term in terms if term not in present and all(term - {axis} in present for axis in term)]


def _choice(fit: TableFit, criterion: str, change: str = "") -> Choice:
    return Choice(fit.formula, fit.deviance, fit.df, fit.criterion(criterion), change)


def _along_path(
    table: ContingencyTable, terms: Sequence[Term], criterion: str, fit: Callable[[Sequence[Term]], TableFit]
) -> tuple[TableFit, list[Choice]]:
    """Fit the hierarchical models of the interactions at each strength of a group penalty."""
    mains = [term for term in terms if len(term) < 2]
    support = support_of(table, Design(table.counts.shape, tuple(mains)))
    objective, design = _objective(table, terms, support, "balanced")
    models = [tuple(mains)]
    if objective.n_features > objective.n_unpenalised:
        penalty = _penalty_of(design, objective.n_unpenalised, 1.0, grouped=True)
        # Weak interactions of large tables enter at less than a hundredth of the largest strength.
        followed = path(Problem(objective, penalty), _POINTS, ratio=1e-3, solver=ProxGradient())
        models += [tuple(closed([*mains, *_active(design, point.result.w)])) for point in followed.points]
    fits = [fit(model) for model in dict.fromkeys(models)]
    return min(fits, key=lambda each: each.criterion(criterion)), [_choice(each, criterion) for each in fits]
