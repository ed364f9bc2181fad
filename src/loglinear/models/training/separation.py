"""Data without best weights: classes that weights separate, in whole or in part, and no penalty that holds the weights.

Let m_k(x, y; d) = x . d_y - x . d_k be what a direction d adds to the margin of a sample with class y over the class k.
If no margin of any sample falls along d and some rise, the NLL falls along d for ever, and no weights are best (Albert
& Anderson, Biometrika 71(1), 1984). If all of them rise, the classes are separated completely, and the NLL comes to 0.
If some rise and others stay, the separation is quasi-complete, and the NLL comes to more than 0.

Newton steps from the end of a training find d. At an optimum they move nothing, while the loss of a margin that grows
without limit is about exp(-m), of which each step adds about 1 to m however flat the loss is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ...errors import DataWarning, warn
from ...minimize import minimize
from ...penalty import varies
from ...problem import Objective, Problem
from ...protocols import satisfies
from ...result import Result
from ...solvers import ProxNewton
from ...solvers.common.needs import suits
from ...solvers.newton_check import MOST_PRODUCTS
from ...stopping import Stop
from ...vectors import Vector

__all__ = ["NO_LOSS", "warn_if_separable"]

# The NLL of data that are labelled without an error, at most, as a share of the NLL at the start.
NO_LOSS = 1e-3
# Newton steps, and what they add at least to the largest margin if it grows without limit.
STEPS, GROWTH = 2, 1.0
# Margins that fall by less than this share of the largest rise do not fall.
EQUAL = 1e-3


class SampleLosses(Objective, Protocol):
    """A classifier, or choices, in this process, whose samples have losses one by one."""

    @property
    def weights(self) -> Vector:
        """Weight of each sample, shape (n_samples,)."""

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p(y | x; w) of each sample, not times its weight, shape (n_samples,)."""


def warn_if_separable(problem: Problem, result: Result, named: Callable[[int], str] | None = None) -> None:
    """Warn if no weights are best, because some have no penalty, and growing ones lower the objective for ever.

    Args:
        problem: objective and penalty.
        result: of the minimisation.
        named: returns what messages call the attribute or column of a feature, given the feature's number.
    """
    penalty = problem.penalty
    has_free = varies(penalty) and penalty.factors is not None and bool((penalty.factors == 0.0).any())
    if (penalty.l1 or penalty.l2) and not has_free:
        return
    message = ""
    remedy = "raise penalty factors of 0 (--penalty-factor)" if has_free else "give a penalty, such as l2=1 (--l2 1)"
    if result.nll < NO_LOSS * result.trace[0].nll:
        most = _fastest(problem, result.w, named)
        message = "weights that predict all training data correctly"
        message += (f", most of all that of {most}," if most else "") + " grow without limit"
    elif result.status.converged and (direction := _separating(problem, result)) is not None:
        most = _fastest(problem, direction, named)
        message = "weights that separate a part of the training data without error grow without limit: some "
        message += "probabilities come ever nearer to 0 and 1" + (f", most of all by {most}" if most else "")
    if message:
        warn(f"{message}; {remedy}", DataWarning)


def _fastest(problem: Problem, direction: Vector, named: Callable[[int], str] | None) -> str:
    """Return the attribute or column along which scores change most in a direction; empty if that is unknown."""
    curved, n = problem.curved, direction.size - problem.penalty.unpenalised
    if curved is None or named is None or not n:
        return ""
    spreads = np.sqrt(curved.hessian_diagonal(np.zeros_like(direction))[:n])
    return named(int((np.abs(direction[:n]) * spreads).argmax()))


def _separating(problem: Problem, result: Result) -> Vector | None:
    """Return a direction in which Newton steps go on and no margin falls; None for data too large for the steps.

    Cost: the steps, and four evaluations.
    """
    objective, w = problem.objective, result.w
    if not satisfies(objective, SampleLosses) or not suits(ProxNewton, problem):
        return None
    if objective.n_samples * w.size**2 > MOST_PRODUCTS:
        return None
    solver = ProxNewton(tolerance=0.0, gradient_tolerance=0.0)
    direction = minimize(problem, solver, w, stop=Stop(max_iterations=STEPS)).w - w
    has_weight = objective.weights > 0.0
    # Backwards, -log p is what the sample's best margin gains, and up to log k more: -log p of k alike outcomes.
    alike = objective.sample_nlls(np.zeros_like(w))[has_weight]
    growth = (objective.sample_nlls(-direction)[has_weight] - alike).max()
    if not growth > GROWTH:
        return None
    # If no margin falls, p(y | x) is 1 / k at least; if one falls by more than `EQUAL`, -log p grows by more than 1.
    ahead = objective.sample_nlls(direction / (EQUAL * growth))[has_weight]
    return direction if (ahead - alike).max() <= 1.0 else None
