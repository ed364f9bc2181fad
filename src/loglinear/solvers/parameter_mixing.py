"""Iterative parameter mixing: SGD on each part of the data at once, averaged, then OWL-QN over all parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, cast

import numpy as np

from ..options import real_number, seed_number, whole_number
from ..problem import Problem
from ..vectors import Vector
from .common.inner import MixingOptions, Unpack, inner_solver, no_more
from .common.needs import Needs, check
from .common.per_sample import MOST_PASSES, Unmeasured, after_pass, check_finite
from .common.pruning import Sequences
from .owlqn import OWLQN
from .sgd_l1 import SGDL1State
from .two_stage import TwoStage

__all__ = ["Mixable", "MixedPasses", "Mixing", "ParameterMixing"]


@dataclass(frozen=True)
class Mixing:
    """A pass of SGD over each part of the data, after which the parts' weights are averaged.

    Attributes:
        seed: of the sequences of visits.
        epoch: number of the pass, from 0.
        learning_rate: at the beginning of the pass.
        decay: factor of the learning rate from the beginning to the end of the pass.
        l1: penalty, over the number of samples of all parts.
        l2: likewise.
    """

    seed: int
    epoch: int
    learning_rate: float
    decay: float
    l1: float
    l2: float


class Mixable(Sequences, Protocol):
    """An objective in parts that can go sample by sample within each."""

    @property
    def is_mixable(self) -> bool:
        """Whether its parts can: not chains of second order."""

    def mixed(self, w: Vector, mixing: Mixing) -> Vector:
        """Return the average over the parts of the weights after a pass over each part from w, shape (n_features,)."""


def mixable(problem: Problem) -> str:
    """Return why the parts of a problem cannot go sample by sample; empty if they can."""
    return "" if cast(Mixable, problem.objective).is_mixable else "needs a first-order chain"


@dataclass(frozen=True)
class MixedPasses(Unmeasured):
    """Passes over each part of the data at once, after each of which the parts' weights are averaged.

    Args:
        learning_rate: eta_0 of the first pass, > 0.
        decay: factor of the learning rate from one pass to the next, in (0, 1].
        passes: over each part, >= 1.
        seed: of the sequences of visits, >= 0.
    """

    learning_rate: float = 0.1
    decay: float = 0.85
    passes: int = 5
    seed: int = 0

    needs: ClassVar[Needs] = Needs(objective=(Mixable,), conditions=(mixable,))

    def __post_init__(self) -> None:
        real_number("learning_rate", self.learning_rate, "a finite number > 0", lambda x: x > 0.0)
        real_number("decay", self.decay, "a number above 0 and at most 1", lambda x: 0.0 < x <= 1.0)
        whole_number("passes", self.passes, 1, MOST_PASSES)
        seed_number("seed", self.seed)

    def init(self, problem: Problem, w0: Vector) -> SGDL1State:
        """Return the state before the first pass; w0 is copied."""
        check(self, problem)
        w, n = np.array(w0, dtype=np.float64), int(problem.objective.n_samples)
        # The penalty that weights have received is no longer known once they are averaged.
        return SGDL1State(w=w, n_samples=n, q=np.empty(0), u=0.0, learning_rate=float(self.learning_rate))

    def step(self, problem: Problem, state: SGDL1State) -> SGDL1State:
        """Make a pass over each part and average; ``state`` is left as it was."""
        penalty, n = problem.penalty, state.n_samples
        rate = state.learning_rate * self.decay**state.iteration
        mixing = Mixing(self.seed, state.iteration, rate, self.decay, penalty.l1 / n, penalty.l2 / n)
        w = cast(Mixable, problem.objective).mixed(state.w, mixing)
        check_finite(state.learning_rate, w)
        return after_pass(replace(state, w=w), n, self.passes)


FIRST, SECOND = MixedPasses(), OWLQN()


class ParameterMixing(TwoStage):
    """Iterative parameter mixing, then OWL-QN from the mixed weights; for chains in parts (--workers, --cluster).

    In a pass every part runs SGD with the cumulative L1 penalty over its own samples, all from the same weights, and
    the weights that the parts reach are averaged. This takes one exchange of weights per pass, while a batch method
    needs one per evaluation.

    Source: McDonald, Hall & Mann (2010), Figure 3 (iterative parameter mixing); the passes: Tsuruoka, Tsujii &
    Ananiadou (2009), as in ``SGDL1``.

    Departures:

    - The paper mixes perceptrons and averages every weight over all parts. Here a weight is averaged over the parts
      that contain its feature, in proportion to their numbers of samples: otherwise a rare feature would hardly move.
    - OWL-QN follows, and starts with pairs (s, y) of the ends of the last passes, as in ``TwoStage``.
    - The penalty that each weight has received is reset before each pass.

    Cost: each pass takes a pass over the data, a vector of n_features from each part, and a gradient; then come the
    steps of ``OWLQN``. The parts and the seed determine the weights; the machines that process the parts do not matter.

    Converges by the criteria of ``OWLQN``.

    Args:
        first: the passes.
        second: OWL-QN.
        options: of both, by name, instead of a ``first`` and a ``second`` with these options.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the data are not in parts.

    Example:
        >>> from loglinear import ElasticNet, Problem, minimize
        >>> from loglinear.data.parts import ListedPart
        >>> from loglinear.objectives.parts import ChainParts
        >>> from loglinear.solvers import ParameterMixing
        >>> parts = [ListedPart("a", [[["the"], ["dog"]]], [["DET", "NOUN"]]), ListedPart("b", [[["dog"]]], [["NOUN"]])]
        >>> minimize(Problem(ChainParts(parts), ElasticNet(l2=1.0)), ParameterMixing(passes=2)).status.name
        'CONVERGED'
    """

    needs: ClassVar[Needs] = MixedPasses.needs | OWLQN.needs

    def __init__(self, *, first: MixedPasses = FIRST, second: OWLQN = SECOND, **options: Unpack[MixingOptions]) -> None:
        self.first = inner_solver("first", first, MixedPasses, options)  # type: ignore[assignment]
        self.second = inner_solver("second", second, OWLQN, options)
        no_more(self, options, self.first, self.second)
