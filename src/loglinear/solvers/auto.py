"""The solver that chooses among the others, by rules that were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np

from ..options import real_number, seed_number
from ..penalty import Penalty, has_kinks, varies
from ..problem import Problem
from ..protocols import missing, satisfies
from ..result import State
from ..vectors import Vector
from .common.classifier import Classifier
from .common.inner import StagesOptions
from .common.needs import Needs, suits
from .common.pruning import Prunable, Sequences
from .common.solver import Choice, Measuring, solver_name
from .dual_cd import DualCD, DualPasses
from .grafting import GraftingLight
from .label_sets import LabelSets
from .lbfgs import LBFGS
from .newton_check import FEW_NUMBERS, has_alike_columns
from .owlqn import OWLQN
from .parameter_mixing import Mixable, ParameterMixing
from .prox_gradient import ProxGradient
from .prox_newton import NewtonSteps, ProxNewton
from .sgd_l1 import BATCH_SIZE, has_batches
from .two_stage import TwoStage

__all__ = ["Auto"]

# With fewer cells (labels of tokens), every solver trains sequences in a moment.
FEW_CELLS = 200_000
# Number of samples from which on SGD makes passes with a learning rate that was not tuned.
MANY_SAMPLES = 500
# On large data OWL-QN's default tolerance stops 0.13 % above the optimum; this one stops within 0.1 %.
TOLERANCE = 5e-6
# On few cells an evaluation takes no longer than OWL-QN's sweeps over twenty pairs.
FEW_PAIRS: Mapping[str, object] = {"memory": 10}
# Newton steps of three classes or more are the fastest up to so many weights, and so many products of two weights and a
# sample; those of two classes without an L1 penalty on a sparse matrix up to fewer products. With an L1 penalty they
# are also the fastest on small data with up to so many classes: of more, few weights are 0.
FEW_WEIGHTS, FEW_PRODUCTS, FEW_SPARSE_PRODUCTS = 256, 1e8, 2e7
FEW_CLASSES = 10
# On larger data with an L1 penalty they are the fastest where few weights leave 0: at most as many as a working set can
# hold, and their square at most so many times the number of columns; with an L2 penalty as well, fewer times.
MOST_ACTIVE, FEW_SQUARES, FEW_SQUARES_WITH_L2 = 2000, 500.0, 100.0
# OWL-QN makes few steps on data of more than `FEW_CLASSES` classes with fewer columns than so many times the samples;
# also where samples times classes are more than so many times the columns, and less than this share of the weights may
# leave 0.
COLUMNS_PER_SAMPLE, MANY_ROWS, SMALL_SHARE = 2, 1500, 0.3
# Where columns are much alike, other steps bring little, many in a row: Newton steps then go on to so many products.
MANY_PRODUCTS = 1e10
# A Hessian that is written out makes sweeps cheap: the subproblems are solved closely.
CLOSE: Mapping[str, object] = {"precision": 0.01}
# Without an intercept, columns far from 0 are much alike: only closer solutions find how to combine them.
CLOSER: Mapping[str, object] = {"precision": 1e-4}
# On small data a further step costs little. Where samples are far on the wrong side, steps bring less than Newton's
# own, and the last one says little about those to come.
NEWTON_TOLERANCE = 1e-9
# With at most so many products of a weight and a sample, one more step, which takes some microseconds, ends within
# rounding errors of the optimum. Without a penalty there may be no optimum.
TINY, TINY_TOLERANCE = 10_000, 1e-12
# A classifier of small data (`FEW_NUMBERS`) gets more steps, so that it ends within about 1e-6 of its optimum: nats
# without an L1 penalty, else the share of the objective. Each costs little; with so many pairs there are fewer.
EXACT_TOLERANCE = 1e-9
EXACT: Mapping[str, object] = {"memory": 50, "tolerance": EXACT_TOLERANCE}
# On sparse data of two classes without an intercept, passes of dual coordinate descent are the fastest if the squared
# length of a sample, times its weight, is at most so many times l2 on average. This tolerance stops them about 1e-6 of
# the objective above the optimum, as L-BFGS's does.
MOST_SQUARE = 15.0
DUAL: Mapping[str, object] = {"tolerance": 0.1}
# Learning rate of the passes of SGD that come first: this number over the attributes of a sequence and of a token, for
# the more attributes have a part in a step, and in a score, the further does the step go.
MOST_RATE, RATE_TIMES_ATTRIBUTES = 0.2, 1600.0
# Of label_sets with an L1 penalty, and of two_stage without one, beside the learning rate and this share of it.
SPARSE: StagesOptions = {"passes": 8}
SMOOTH: StagesOptions = {"passes": 6, "memory": 6, "tolerance": 1e-5}
SHARE_OF_SMOOTH = 0.6


class Auto:
    """Picks a solver by penalty, kind of model and size of the data; the default.

    ``Auto.choice`` has the rules; docs/experiments.md has the measurements. The choice does not depend on random
    numbers or on time: the same problem gets the same solver. The chosen solver's own stopping rule applies.

    Args:
        tolerance: of the chosen solver; by default the solver's own.
        seed: of the chosen solver, if it is stochastic, >= 0.

    Raises:
        OptionError: an option is out of its range; from ``init`` when no solver suits the problem.

    Example:
        >>> from loglinear import MaxEnt
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> str(MaxEnt(l1=0.1, solver="auto").fit(X, y).result_.chosen)
        'prox_newton (two classes with an L1 penalty)'
    """

    needs: ClassVar[Needs] = Needs(penalty=Penalty, varied=True)

    def __init__(self, *, tolerance: float | None = None, seed: int = 0) -> None:
        if tolerance is not None:
            tolerance = real_number("tolerance", tolerance, "a finite number >= 0", lambda x: x >= 0.0)
        self.tolerance = tolerance
        self.seed = seed_number("seed", seed)
        self._last: tuple[Problem, Choice] | None = None

    def choice(self, problem: Problem) -> Choice:
        """Return the solver for a problem, and why."""
        if self._last is None or self._last[0] is not problem:
            kind, options, why = _rule(problem, is_free=self.tolerance is None)
            settings: dict[str, object] = {} if self.tolerance is None else {"tolerance": self.tolerance}
            if kind in (DualCD, LabelSets, ParameterMixing, TwoStage):
                settings["seed"] = self.seed
            solver = kind(**{**options, **settings})
            self._last = problem, Choice(solver, solver_name(solver), why)
        return self._last[1]

    def init(self, problem: Problem, w0: Vector) -> State:
        """Return the starting state of the solver chosen."""
        start: State = self.choice(problem).solver.init(problem, w0)
        return start

    def step(self, problem: Problem, state: State) -> State:
        """Make a step of the solver chosen."""
        following: State = self.choice(problem).solver.step(problem, state)
        return following

    def measure(self, problem: Problem, state: State) -> State:
        """Return the state as the solver chosen measures it."""
        solver = self.choice(problem).solver
        measured: State = solver.measure(problem, state) if satisfies(solver, Measuring) else state
        return measured


def _rule(problem: Problem, *, is_free: bool) -> tuple[type[Any], Mapping[str, object], str]:
    """Return the class of the solver, its options, and the reason; ``is_free`` if it may have its own tolerance."""
    l1, objective = problem.penalty.l1, problem.objective
    why = "an L1 penalty" if l1 else "signs of weights"
    if suits(ProxNewton, problem) and (newton := _of_newton(problem)):
        return newton
    if suits(LabelSets, problem):
        sequences = cast(Prunable, objective)
        if sequences.n_cells >= FEW_CELLS:
            return _of_sequences(problem, sequences)
    elif suits(ParameterMixing, problem):
        parts = cast(Mixable, objective)
        if parts.n_cells >= FEW_CELLS and parts.is_binary:
            options = {"learning_rate": _rate(parts), "tolerance": TOLERANCE if l1 else LBFGS().tolerance}
            return ParameterMixing, options, f"data in parts, with {parts.n_cells:,} pairs of token and label"
    elif l1 and not missing(objective, Prunable) and suits(GraftingLight, problem):
        return GraftingLight, {}, "an L1 penalty and sequences whose labels cannot be pruned"
    if not suits(OWLQN, problem):
        return ProxGradient, {}, "a penalty of groups of weights"
    if has_kinks(problem.penalty):
        has_few_cells = satisfies(objective, Sequences) and objective.n_cells < FEW_CELLS
        pairs = FEW_PAIRS if has_few_cells else {}
        return OWLQN, {**pairs, "tolerance": EXACT_TOLERANCE if _is_small(problem) else TOLERANCE}, why
    if _is_small(problem):
        return LBFGS, EXACT, "the objective is smooth"
    if is_free and _has_fast_dual(problem):
        return DualCD, DUAL, "two classes, sparse data and a strong L2 penalty"
    return LBFGS, {}, "the objective is smooth"


def _is_small(problem: Problem) -> bool:
    """Whether the problem is a classifier's, and an evaluation takes about a millisecond at most."""
    is_classifier = not missing(problem.objective, NewtonSteps)
    return is_classifier and problem.objective.n_samples * problem.n_features <= FEW_NUMBERS


def _has_fast_dual(problem: Problem) -> bool:
    """Whether dual coordinate descent needs few passes."""
    if not suits(DualCD, problem):
        return False
    objective = cast(DualPasses, problem.objective)
    if objective.is_dense:
        return False
    _, squares = objective.dual_start(np.zeros((objective.n_samples, 2)))
    return float(squares @ objective.weights) <= MOST_SQUARE * problem.penalty.l2 * objective.n_samples


def _of_newton(problem: Problem) -> tuple[type[Any], Mapping[str, object], str] | None:
    """Return the rule for a classifier that can make Newton steps; None where they take longer than other steps."""
    objective, l1 = cast(NewtonSteps, problem.objective), problem.penalty.l1
    options = dict(CLOSE) if l1 and objective.has_small_gram(l1) else {}
    if objective.has_small_gram(1.0) and _is_small(problem):
        is_tiny = objective.n_samples * problem.n_features <= TINY and (l1 or problem.penalty.l2)
        options["tolerance"] = TINY_TOLERANCE if is_tiny else NEWTON_TOLERANCE
        if l1 and objective.n_outputs == 1 and problem.is_uneven and not problem.penalty.unpenalised:
            options |= CLOSER
    products = objective.n_samples * problem.n_features**2
    if objective.n_outputs > 1:
        is_fast = _few_weights(problem) or (l1 and objective.n_outputs <= FEW_CLASSES and _is_small(problem))
        if is_fast:
            return ProxNewton, options, "few columns and classes"
        if l1 and _few_leave_zero(problem):
            return ProxNewton, options, "an L1 penalty that leaves few weights"
        is_hard = products <= MANY_PRODUCTS and has_alike_columns(problem)
        return (ProxNewton, options, "columns that are much alike") if is_hard else None
    if l1:
        return ProxNewton, options, f"{_binary(problem)} with an L1 penalty"
    # Only of a dense table is the Hessian written out with an L1 penalty as well.
    is_fast = objective.has_small_gram(1.0) or products <= FEW_SPARSE_PRODUCTS
    return (ProxNewton, options, f"{_binary(problem)} and few columns") if is_fast else None


def _binary(problem: Problem) -> str:
    """Return what has one weight for each column: a classifier of two classes, or choices among alternatives."""
    return "choices" if missing(problem.objective, Classifier) else "two classes"


def _few_weights(problem: Problem) -> bool:
    """Whether Newton steps of a classifier of three classes or more are the fastest steps."""
    objective, size = cast(NewtonSteps, problem.objective), problem.n_features
    return size <= FEW_WEIGHTS and objective.n_samples * size**2 <= FEW_PRODUCTS


def _few_leave_zero(problem: Problem) -> bool:
    """Whether so few weights of three classes or more leave 0 that Newton steps are the fastest on large data.

    Weights may leave 0 whose derivatives at w = 0 exceed l1. Without an L2 penalty about half of them do, but not many
    more than there are samples.

    Cost: an evaluation.
    """
    objective, penalty = cast(NewtonSteps, problem.objective), problem.penalty
    n_samples, n_classes = objective.n_samples, objective.n_outputs
    n_columns = problem.n_features / n_classes
    if n_classes > FEW_CLASSES and n_columns < COLUMNS_PER_SAMPLE * n_samples:
        return False
    _, gradient = objective.value_and_gradient(np.zeros(problem.n_features))
    slopes = gradient[: problem.n_features - penalty.unpenalised]
    n_movable = np.count_nonzero(np.abs(slopes) > penalty.l1)
    if n_samples * n_classes > MANY_ROWS * n_columns and n_movable < SMALL_SHARE * slopes.size:
        return False
    n_active = n_movable if penalty.l2 else min(n_movable / 2, n_samples * math.sqrt(n_classes))
    squares = FEW_SQUARES_WITH_L2 if penalty.l2 else FEW_SQUARES
    return bool(n_active <= MOST_ACTIVE and n_active**2 <= squares * n_columns)


def _rate(objective: Sequences) -> float:
    """Return the learning rate of passes of SGD over sequences."""
    attributes = objective.attributes_per_sample * objective.attributes_per_token
    return min(MOST_RATE, RATE_TIMES_ATTRIBUTES / max(attributes, 1.0))


def _untamed(problem: Problem, objective: Prunable) -> str:
    """Return why passes of SGD, with a learning rate that was not tuned, would be unsafe without an L1 penalty."""
    if objective.order != 1:
        return "a second-order chain"
    n_samples = problem.objective.n_samples
    return f"only {n_samples:,} samples" if n_samples < MANY_SAMPLES else "attributes with values"


def _of_sequences(problem: Problem, objective: Prunable) -> tuple[type[Any], Mapping[str, object], str]:
    """Return the rule for sequences with many cells."""
    penalty, size = problem.penalty, f"{objective.n_cells:,} pairs of token and label"
    if varies(penalty) and not penalty.l1:
        signs = OWLQN, {"tolerance": TOLERANCE}, "signs of weights"
        return signs if has_kinks(penalty) else (LBFGS, {}, "the objective is smooth")
    plain = {objective.stays_on_disk: "data that stay on disk", problem.is_uneven: "attributes with uneven values"}
    if why := plain.get(True):
        return (OWLQN, {"tolerance": TOLERANCE}, f"an L1 penalty, and {why}") if penalty.l1 else (LBFGS, {}, why)
    # A learning rate that was not tuned is safe with many samples whose attributes have no values.
    is_tame = problem.objective.n_samples >= MANY_SAMPLES and objective.is_binary
    by_sample = objective.order == 1 and is_tame
    rate = _rate(objective)
    if not penalty.l1 and by_sample:
        stage: StagesOptions = {"learning_rate": SHARE_OF_SMOOTH * rate}
        stage["batch_size"] = BATCH_SIZE if has_batches(problem) else 1
        return TwoStage, SMOOTH | stage, f"no L1 penalty, and {size}"
    if not penalty.l1:
        return LBFGS, {}, f"no L1 penalty, and {_untamed(problem, objective)}"
    first = SPARSE | {"learning_rate": rate} if is_tame else {}
    return LabelSets, first, f"an L1 penalty, and {size}, most of them unlikely"
