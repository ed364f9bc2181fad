"""Pseudo-likelihood variable by variable: each is regressed on all others, and a rule joins the regressions.

Symbols: n samples, p variables, D columns (see ``Numbering``); x_i the state of variable i.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ...errors import OptionError
from ...minimize import minimize
from ...networks.numbering import Numbering, Numbers
from ...objectives.pseudolikelihood import PseudoLikelihood
from ...options import one_of, real_number, whole_number
from ...penalty import ElasticNet
from ...problem import Problem
from ...solvers import LBFGS, OWLQN
from ...stopping import Stop
from ...vectors import Vector

__all__ = ["RULES", "Nodewise", "nodewise"]

RULES = ("and", "or", "mean")


@dataclass
class Nodewise:
    """Regressions of all variables, each on the columns of the others, and the network made of them.

    Attributes:
        w: symmetric weights of the numbering, shape (n_features,).
        coefficients: row a holds the weights of all columns in the score of column a, shape (D, D), sparse.
        nll: of each variable, nats, without penalty, shape (p,).
        violations: max-norm of the subgradient of minimum norm of each regression, shape (p,).
        steps: of the solver, for each variable, shape (p,).
        converged: whether it has converged, for each variable, shape (p,).
    """

    w: Vector = field(repr=False)
    coefficients: scipy.sparse.csr_array = field(repr=False)
    nll: Vector = field(repr=False)
    violations: Vector = field(repr=False)
    steps: Numbers = field(repr=False)
    converged: npt.NDArray[np.bool_] = field(repr=False)


def nodewise(
    codes: npt.ArrayLike,
    numbering: Numbering,
    penalty: ElasticNet,
    *,
    weights: npt.ArrayLike | None = None,
    threads: int = 0,
    rule: str = "and",
    tolerance: float = 1e-7,
    gradient_tolerance: float = 1e-6,
    max_steps: int = 1000,
) -> Nodewise:
    """Regress each variable on the columns of all others, with a separate penalty, and join the results.

    Each regression minimises its sum over samples of -weight log p(x_i | others) + penalty; its intercepts bear none.
    An interaction then has two weights, which the rule joins: "and" takes their mean if neither is 0, else 0; "or"
    takes their mean if neither is 0, else the weight that is not 0; "mean" takes their mean.

    Source: Ravikumar, Wainwright & Lafferty, Annals of Statistics 38 (2010), Eq. 9; the rules: Hoefling & Tibshirani,
    JMLR 10 (2009), section 2.4, and Meinshausen & Buehlmann (2006).
    Departures:

    - the weights of a variable of more than two states are selected one by one, not as groups.

    Cost: binary variables with l1 > 0 are regressed side by side, each on one thread, by proximal Newton on one shared
    matrix; all others one after the other, by OWL-QN or L-BFGS on all threads.

    Args:
        codes: states, from 0, or -1 where missing; see ``PseudoLikelihood``. Shape (n, p).
        numbering: how weights are numbered.
        penalty: l1 and l2 of each regression.
        weights: of the samples, shape (n,); None for 1.
        threads: 0 for all cores. The results do not depend on it.
        rule: "and", "or", or "mean".
        tolerance: bound on a regression's relative decrease; 0 switches this test off.
        gradient_tolerance: bound on its violation, times the norm of its weights if that is above 1.
        max_steps: most steps of a regression, >= 1.

    Raises:
        DataError: see ``PseudoLikelihood``.
        OptionError: an option is out of its range, or the penalty spares features.
    """
    one_of("rule", rule, RULES)
    bound = "a finite number >= 0 (0 switches the test off)"
    for name, value in (("tolerance", tolerance), ("gradient_tolerance", gradient_tolerance)):
        real_number(name, value, bound, lambda x: x >= 0.0)
    max_steps = whole_number("max_steps", max_steps, 1, 2**31)
    if penalty.unpenalised:
        message = f"unpenalised={penalty.unpenalised} is not supported by nodewise; leave it out"
        raise OptionError(message)
    objective = PseudoLikelihood(codes, numbering, weights, threads=threads)
    binary = np.flatnonzero(numbering.states == 2) if penalty.l1 else np.empty(0, np.int64)
    regressions = objective.core.nodewise(
        binary,
        l1=penalty.l1,
        l2=penalty.l2,
        max_steps=max_steps,
        tolerance=tolerance,
        gradient_tolerance=gradient_tolerance,
    )
    nodes = {
        i: _Node(
            np.full(regression.columns.size, numbering.first[i]),
            regression.columns,
            regression.weights,
            np.array([regression.intercept]),
            (regression.nll, regression.violation, regression.steps, regression.converged),
        )
        for i, regression in zip(binary.tolist(), regressions, strict=True)
    }
    solver = (OWLQN if penalty.l1 else LBFGS)(tolerance=tolerance, gradient_tolerance=gradient_tolerance)
    for i in set(range(numbering.n_variables)) - nodes.keys():
        nodes[i] = _softmax(objective, i, penalty, solver, Stop(max_iterations=max_steps))
    return _joined(numbering, [nodes[i] for i in range(numbering.n_variables)], rule)


class _Node(NamedTuple):
    """A regression: rows a, columns b and weights w[a, b] of the entries that are not 0, and how it ended."""

    rows: Numbers
    columns: Numbers
    weights: Vector
    intercepts: Vector
    end: tuple[float, float, int, bool]


def _softmax(objective: PseudoLikelihood, i: int, penalty: ElasticNet, solver: OWLQN | LBFGS, stop: Stop) -> _Node:
    """Regress a variable of any number of states."""
    numbering = objective.numbering
    objective_of_node, features = objective.core.node(i)
    width = int(numbering.states[i]) - 1
    result = minimize(Problem(objective_of_node, ElasticNet(penalty.l1, penalty.l2, width)), solver, stop=stop)
    pairs = np.flatnonzero(result.w[:-width])
    first, second = numbering.columns_of(features[pairs])
    mine = numbering.variable[first] == i
    rows, columns = np.where(mine, first, second), np.where(mine, second, first)
    end = result.nll, result.violation, result.iterations, result.status.converged
    return _Node(rows, columns, result.w[pairs], result.w[-width:], end)


def _joined(numbering: Numbering, nodes: list[_Node], rule: str) -> Nodewise:
    """Join the regressions of all variables by a rule."""
    *entries, ends = zip(*nodes, strict=True)
    rows, columns, weights, intercepts = map(np.concatenate, entries)
    shape = (numbering.n_columns, numbering.n_columns)
    one = scipy.sparse.csr_array((weights, (rows, columns)), shape=shape)
    support = (one != 0).astype(np.float64)
    votes = support + support.T
    total = one + one.T
    if rule == "and":
        joined = total * (votes == 2) * 0.5
    elif rule == "or":
        joined = total * (votes == 1) + total * (votes == 2) * 0.5
    else:
        joined = total * 0.5
    upper = scipy.sparse.coo_array(scipy.sparse.triu(joined, 1))
    w = np.zeros(numbering.n_features)
    w[numbering.interactions_of(upper.row.astype(np.int64), upper.col.astype(np.int64))] = upper.data
    w[numbering.n_interactions :] = intercepts
    return Nodewise(w, one, *map(np.array, zip(*ends, strict=True)))
