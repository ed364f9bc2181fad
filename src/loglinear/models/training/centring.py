"""Weights of a softmax classifier whose sums over the classes are 0.

Adding the same number to a column's weights of all classes, or to all intercepts, changes no probability. Without a
penalty there are many optima, and with an L2 penalty the one with sums of 0 is the best.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import vectors
from ...problem import Problem
from ...result import Result, WithGradient

__all__ = ["centred"]

# A mean over the classes of at most this share of the largest weight is a rounding error of training.
ROUNDING = 1e-9


def centred(problem: Problem, result: Result, n_outputs: int) -> Result:
    """Return a result whose weights add up to 0 over the classes, as far as the penalty allows.

    Without L1, all do. With L1, the intercept's alone do: it is not penalised, but the sum of absolute values over the
    classes is least where their median is 0, and weights of 0 have to stay 0. A training that is allowed no iteration
    keeps the weights that it starts from.

    Cost: with L2 an evaluation, if the solver's state does not hold a gradient.

    Args:
        problem: objective and penalty, which does not bear on the intercept's weights, the last ones.
        result: end of its minimisation, whose record is updated, with the solver's state.
        n_outputs: weights of a column, one for each class; 1 for two classes, where there is nothing to centre.
    """
    penalty, w = problem.penalty, result.w
    rows = w[w.size - penalty.unpenalised if penalty.l1 else 0 :].reshape(-1, n_outputs)
    is_untrained = result.iterations == 0 and not result.status.converged
    if n_outputs == 1 or not rows.size or is_untrained:
        return result
    means = rows.mean(axis=1, keepdims=True)
    if (np.abs(means) <= ROUNDING * np.abs(rows).max(axis=1, keepdims=True)).all():
        return result
    w = w.copy()
    w[w.size - rows.size :] = (rows - means).ravel()
    objective, violation, gap = result.nll + penalty.value(w), result.violation, result.gap
    if penalty.l2 and not penalty.l1:
        # The same at both weights: the NLL does not change along the shift.
        with vectors.on_threads(problem.n_threads):
            violation = problem.violation(w, _gradient(problem, result))
    if gap is not None:
        gap = max(gap - (result.objective - objective), 0.0)
    record = result.record
    record.objective, record.nnz, record.violation, record.gap = objective, vectors.count_nonzero(w), violation, gap
    return replace(result, w=w, objective=objective, violation=violation, gap=gap)


def _gradient(problem: Problem, result: Result) -> vectors.Vector:
    """Return the gradient of the NLL at the weights of a result, by an evaluation if need be."""
    if result.kept is None and isinstance(result.state, WithGradient) and result.state.whole_gradient is not None:
        return result.state.whole_gradient
    gradient = np.zeros_like(result.w)
    problem.evaluate(result.w, gradient)
    return gradient
