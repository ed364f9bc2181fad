"""OWL-QN: L-BFGS within orthants.

Symbols: w is the paper's x, v the pseudo-gradient (the paper's v is its negative), d the direction, p its projection
pi(d; -v), xi the orthant, alpha the step, gamma the constant of sufficient decrease, s and y the pair of a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..options import whole_number
from ..problem import Problem
from ..vectors import Vector
from .common.history import History, empty_history
from .common.needs import Needs, check
from .common.quasi_newton import (
    MOST,
    ROUNDING,
    WINDOW,
    Found,
    Line,
    QuasiNewtonState,
    attempts,
    check_tolerances,
    first_step,
    moved,
    starting_state,
    stuck,
)

__all__ = ["OWLQN"]

GAMMA = 1e-4
BACKTRACK = 0.5


@dataclass(frozen=True, kw_only=True)
class OWLQN:
    """OWL-QN: orthant-wise limited-memory quasi-Newton for L1 and elastic-net problems.

    Source: Andrew & Gao (2007), Algorithm 1, with backtracking factor 0.5 and gamma = 1e-4. The L2 part of the
    penalty belongs to the smooth part: to y and to the pseudo-gradient.

    Departures:

    - The decrease is measured from the largest objective of the last ``window`` points instead of the last point
      (Grippo, Lampariello & Lucidi 1986), so the objective may rise for a step or two. The projection often makes a
      step slightly worse; a shorter step would make the history worse, and more so with more pairs
      (docs/experiments.md). Where rounding errors could hide the decrease that the direction promises, it is
      measured from the last point. With ``window=1`` the search is the paper's, and every step descends:
      ``OWLQN(window=1, memory=10, tolerance=1e-4)`` is what Tsuruoka, Tsujii & Ananiadou (2009) and Zhou et al. (2011)
      ran.
    - The pairs are kept in bfloat16 (``common/history.py``).
    - Without L1 there are no orthants, so nothing is projected. A weight with a sign stays within its orthant, with and
      without L1; other weights without a penalty are not projected.
    - The line search backtracks from a trial point whose objective or gradient is not finite.
    - When a line search fails, the history is dropped and the steepest descent direction -v is searched once.
    - Where columns of the data are uneven, far larger or smaller than others, the directions are found in units
      (``common/curvature.py``): as if the columns were scaled, while objective and penalty do not change.

    Cost per step: one or more gradients, and O(memory * n_features).

    Converged when one of these holds (F penalised objective, k the step):

    - (max - min) / 5 <= tolerance * |F[k]|, with the largest and the smallest of F[k-5], ..., F[k] (k >= 5): the mean
      relative decrease over the last 5 steps, if all of them descended;
    - violation <= gradient_tolerance * max(1, |w|), and 1e-4 |F| / |w|, the max-norm of v against the Euclidean
      norm of w; in units, the Euclidean norm of v in them <= gradient_tolerance;
    - the line searches fail, and the decrease -p.v that the quasi-Newton direction promised is at most 2.3e-13 |F|,
      which the rounding errors of F can hide.

    Args:
        memory: stored (s, y) pairs, >= 1; each takes 4 bytes a feature.
        tolerance: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        max_line_search: most evaluations in one line search, >= 1.
        window: points whose largest objective a step has to decrease, from 1 to 6, the number that a state keeps; 1 is
            the search of Andrew & Gao, in which every step descends.

    Raises:
        OptionError: an option is out of its range.

    Example:
        >>> from loglinear import OWLQN, MaxEnt
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l1=0.1, solver=OWLQN(tolerance=1e-6)).fit(X, y).result_.status.name
        'CONVERGED'
    """

    memory: int = 20
    tolerance: float = 1e-5
    gradient_tolerance: float = 1e-6
    max_line_search: int = 20
    window: int = WINDOW + 1

    needs: ClassVar[Needs] = Needs(varied=True)

    def __post_init__(self) -> None:
        whole_number("memory", self.memory, 1, MOST)
        check_tolerances(self.tolerance, self.gradient_tolerance)
        whole_number("max_line_search", self.max_line_search, 1, MOST)
        whole_number("window", self.window, 1, WINDOW + 1)

    def init(self, problem: Problem, w0: Vector) -> QuasiNewtonState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            OptionError: the penalty is not one of single weights.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        w = np.array(w0, dtype=np.float64)
        gradient = np.zeros_like(w)
        return self.start(problem, w, problem.evaluate(w, gradient), gradient)

    def start(
        self,
        problem: Problem,
        w: Vector,
        nll: float,
        gradient: Vector,
        history: History | None = None,
        evaluations: int = 1,
    ) -> QuasiNewtonState:
        """Return the state at w, whose NLL and gradient are known; if the history has pairs, the last one ends at w.

        Raises:
            ObjectiveError: the objective or its gradient is not finite at w.
        """
        history = history or empty_history(self.memory, problem, w)
        return starting_state(self, problem, w, nll, gradient, history, evaluations)

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Make one round of the loop of Algorithm 1. ``state`` becomes invalid, unless an exception is raised.

        The vectors v, d and p are never stored: they are formed within the sweep of each trial point, from coefficients
        of the pairs (``Combination.move``). The pair is formed within the sweep that accepts a point
        (``History.advance``).
        """
        evaluations, promised = 0, []
        for history in attempts(state.history):
            line = Line(problem, state, history)  # v, d = -H v, p = pi(d; -v)
            search = self._constrained_line_search(line, first_step(state, history))  # w_new = pi(w + alpha p; xi)
            evaluations += search.evaluations
            promised.append(search.descent)
            if search.trial is not None:
                return moved(
                    self, problem, state, search.trial, evaluations
                )  # s and y enter S and Y; termination condition
        return stuck(state, promised[0], evaluations)

    def _constrained_line_search(self, line: Line, alpha: float) -> Found:
        """Backtrack from alpha until F(w_new) <= the largest F of the window + gamma v . (w_new - w).

        Source: section 3.2, with the departures above.
        """
        descent, last = math.nan, line.state.objective
        largest = max(line.state.recent[-self.window :])
        for evaluations in range(1, self.max_line_search + 1):
            trial = line.look(alpha)
            descent = trial.descent
            if not -math.inf < descent < 0.0:
                return Found(None, descent, evaluations - 1)
            bound = largest if -descent > ROUNDING * abs(last) else last
            if trial.objective <= bound + GAMMA * trial.change:
                trial = line.measure(trial)
                if trial.objective < math.inf:
                    return Found(trial, descent, evaluations)
            alpha *= BACKTRACK
        return Found(None, descent, self.max_line_search)
