"""Online learners of chains: averaged perceptron, passive-aggressive, AROW.

They minimise no objective of `loglinear`, so they are no solvers: a sentence that the weights label rightly changes
nothing, and a sentence with mistakes moves the weights towards its true labels and away from the best wrong ones.
Options and defaults are CRFsuite's. The updates themselves are native: `native/src/stochastic/online/`.

Symbols: Delta the difference between the features of a sentence's true labelling and of its best one.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...errors import ObjectiveError
from ...options import Options, option, option_class, real_number, whole_number

if TYPE_CHECKING:
    from ...objectives.chain import ChainObjective
    from ...problem import Numbers
    from ...vectors import Vector

__all__ = ["AROW", "LEARNERS", "AveragedPerceptron", "Epoch", "OnlineLearner", "PassiveAggressive", "train_online"]


def _positive(name: str, value: object) -> None:
    real_number(name, value, "a finite number > 0", lambda x: x > 0.0)


def _switch(name: str, value: object) -> None:
    whole_number(name, int(value) if isinstance(value, bool) else value, 0, 1)


class OnlinePasses(Protocol):
    """The native passes of the online learners; each returns the sum of the losses."""

    def perceptron_pass(self, w: Vector, sum: Vector, iterates: int, *, visits: Numbers) -> float:
        """Update w, and the sum of its changes, each times the number of iterates before it, in place."""

    def passive_aggressive_pass(
        self, w: Vector, sum: Vector, iterates: int, *, visits: Numbers, slack: int, c: float, error_sensitive: bool
    ) -> float:
        """Update w and the sum in place, as `perceptron_pass` does."""

    def arow_pass(self, w: Vector, variances: Vector, *, visits: Numbers, gamma: float) -> float:
        """Update w and its variances in place."""


@dataclass
class State:
    """What a learner keeps between two epochs.

    Attributes:
        w: the weights, shape (n_features,).
        kept: AROW's variances; for other learners the sum of all changes of w, each times the number of iterates
            before it; shape (n_features,).
        iterates: number of iterates so far, the weights 0 of the beginning among them.
    """

    w: Vector
    kept: Vector
    iterates: int = 1

    def average(self) -> Vector:
        """Return the average of all iterates."""
        return self.w - self.kept / self.iterates


@dataclass(frozen=True)
class Epoch:
    """An epoch that an online learner has made.

    Attributes:
        iteration: its number, from 1 on.
        loss: sum of the sentences' losses, each at the weights before the sentence's update.
        w: the weights that training would return now, shape (n_features,).
        seconds: time that it took.
        converged: whether the mean loss of a sentence meets ``epsilon``, so that training ends.
    """

    iteration: int
    loss: float
    w: Vector
    seconds: float
    converged: bool

    @property
    def feature_norm(self) -> float:
        """Euclidean norm of the weights."""
        return math.sqrt(float(self.w @ self.w))

    @property
    def active_features(self) -> int:
        """Number of weights that are not 0."""
        from ...vectors import count_nonzero

        return count_nonzero(self.w)


@option_class
class OnlineLearner(Options, ABC):
    """The part that online learners share: when they stop, and the state that they start from.

    Raises:
        OptionError: an option is out of its range.
    """

    max_iterations: int = option(
        default=100,
        help="maximum number of epochs, >= 0",
        check=lambda name, value: whole_number(name, value, 0, 2**31 - 1),
    )
    epsilon: float = option(
        default=0.0,
        help="stop when the mean loss of a sentence is below this, >= 0",
        check=lambda name, value: real_number(name, value, "a finite number >= 0", lambda x: x >= 0.0),
    )

    def start(self, n_features: int) -> State:
        """Return the state before the first epoch."""
        import numpy as np

        return State(np.zeros(n_features), np.zeros(n_features))

    @abstractmethod
    def learn(self, passes: OnlinePasses, state: State, visits: Numbers) -> float:
        """Visit the sentences in this order, update ``state`` in place and return the sum of the losses."""

    @abstractmethod
    def weights(self, state: State) -> Vector:
        """Return the weights of the model, in an array of their own."""

    def has_converged(self, mean_loss: float) -> bool:
        """Return whether the mean loss of a sentence is small enough to stop."""
        return mean_loss < self.epsilon


@option_class
class AveragedPerceptron(OnlineLearner):
    """The averaged perceptron: w <- w + Delta; the model has the average of all iterates.

    Source: Collins (2002), Figure 2 and section 2.2.
    Departures: each epoch visits the sentences in a new random sequence, as in CRFsuite.
    Loss of a sentence: the share of its labels that are wrong.
    Cost: an epoch labels every sentence once, and an update takes time for the features of its sentence alone.

    Example:
        >>> from loglinear import ChainObjective, Corpus
        >>> from loglinear.compat.pycrfsuite._online import AveragedPerceptron, train_online
        >>> objective = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]))
        >>> w = train_online(objective, AveragedPerceptron(max_iterations=5))
        >>> objective.model(w).predict(objective.corpus.core)
        [['A', 'B'], ['B']]
    """

    def learn(self, passes: OnlinePasses, state: State, visits: Numbers) -> float:
        """Visit the sentences in this order, update ``state`` in place and return the sum of the losses."""
        return passes.perceptron_pass(state.w, state.kept, state.iterates, visits=visits)

    def weights(self, state: State) -> Vector:
        """Return the average of all iterates."""
        return state.average()


@option_class
class PassiveAggressive(OnlineLearner):
    """Passive-aggressive learning: w <- w + tau Delta, with the least tau that makes the true labels win by their cost.

    Source: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), sections 3, 8 and 9: prediction-based updates.
    Departures, both of them CRFsuite's:

    - Each epoch visits the sentences in a new random sequence.
    - The model has the average of all iterates, unless ``averaging`` is off.

    Loss of a sentence: l = score of the best labels - score of the true ones + cost; tau = l / |Delta|^2 with
    ``type`` 0, at most c with 1, and l / (|Delta|^2 + 1 / (2 c)) with 2.
    Cost: as the averaged perceptron's.

    Example:
        >>> from loglinear import ChainObjective, Corpus
        >>> from loglinear.compat.pycrfsuite._online import PassiveAggressive, train_online
        >>> objective = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]))
        >>> w = train_online(objective, PassiveAggressive(type=2, max_iterations=5))
        >>> objective.model(w).predict(objective.corpus.core)
        [['A', 'B'], ['B']]
    """

    type: int = option(
        default=1,
        help="0: no slack; 1: PA-I, whose updates are at most c long; 2: PA-II, which penalises the square of the "
        "slack",
        check=lambda name, value: whole_number(name, value, 0, 2),
    )
    c: float = option(default=1.0, help="aggressiveness of types 1 and 2, > 0", check=_positive)
    error_sensitive: bool | int = option(
        default=True, help="whether the cost is the square root of the number of wrong labels; else 1", check=_switch
    )
    averaging: bool | int = option(default=True, help="whether to average the weights over all updates", check=_switch)

    def learn(self, passes: OnlinePasses, state: State, visits: Numbers) -> float:
        """Visit the sentences in this order, update ``state`` in place and return the sum of the losses."""
        return passes.passive_aggressive_pass(
            state.w,
            state.kept,
            state.iterates,
            visits=visits,
            slack=self.type,
            c=self.c,
            error_sensitive=bool(self.error_sensitive),
        )

    def weights(self, state: State) -> Vector:
        """Return the average of all iterates, or the last one."""
        return state.average() if self.averaging else state.w.copy()


@option_class
class AROW(OnlineLearner):
    """Adaptive regularisation of weights: w <- w + alpha Sigma Delta, where Sigma has a variance for each weight.

    Source: Crammer, Kulesza & Dredze (2009), Figure 1 with a diagonal Sigma; for sequences Mejer & Crammer (2010).
    Departures: each epoch visits the sentences in a new random sequence, as in CRFsuite.
    Loss of a sentence: l = score of the best labels - score of the true ones + number of wrong labels; then
    alpha = l / (Delta' Sigma Delta + gamma), and 1 / Sigma <- 1 / Sigma + Delta^2 / gamma.
    Cost: as the averaged perceptron's.

    It stops as well when the mean loss equals ``epsilon``: by default when an epoch makes no mistake.

    Example:
        >>> from loglinear import ChainObjective, Corpus
        >>> from loglinear.compat.pycrfsuite._online import AROW, train_online
        >>> objective = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]))
        >>> objective.model(train_online(objective, AROW())).predict(objective.corpus.core)
        [['A', 'B'], ['B']]
    """

    variance: float = option(default=1.0, help="variance of every weight before the first epoch, > 0", check=_positive)
    gamma: float = option(default=1.0, help="trade-off; larger values make smaller updates, > 0", check=_positive)

    def start(self, n_features: int) -> State:
        """Return the state before the first epoch."""
        import numpy as np

        return State(np.zeros(n_features), np.full(n_features, float(self.variance)))

    def learn(self, passes: OnlinePasses, state: State, visits: Numbers) -> float:
        """Visit the sentences in this order, update ``state`` in place and return the sum of the losses."""
        return passes.arow_pass(state.w, state.kept, visits=visits, gamma=self.gamma)

    def weights(self, state: State) -> Vector:
        """Return the last iterate."""
        return state.w.copy()

    def has_converged(self, mean_loss: float) -> bool:
        """Return whether the mean loss of a sentence is small enough to stop."""
        return mean_loss <= self.epsilon


LEARNERS: dict[str, type[OnlineLearner]] = {
    "averaged-perceptron": AveragedPerceptron,
    "passive-aggressive": PassiveAggressive,
    "arow": AROW,
}


def train_online(
    objective: ChainObjective,
    learner: OnlineLearner,
    *,
    callback: Callable[[Epoch], bool | None] | None = None,
    seed: int = 0,
) -> Vector:
    """Train a chain with an online learner; return its weights, shape (n_features,).

    The same data, options and seed give the same weights, bit by bit.

    Args:
        objective: sentences and features, of first order; a sentence's weight is a factor of its updates.
        learner: what an update does.
        callback: called after every epoch; stops the training by returning True.
        seed: of the sequences in which the epochs visit the sentences, >= 0.

    Raises:
        OptionError: the chain is of second order, or labels are known in part.
        ObjectiveError: the weights left the range of numbers.

    Example:
        >>> from loglinear import ChainObjective, Corpus
        >>> from loglinear.compat.pycrfsuite._online import LEARNERS, train_online
        >>> objective = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]))
        >>> losses = []
        >>> learner = LEARNERS["arow"](max_iterations=10)
        >>> w = train_online(objective, learner, callback=lambda epoch: losses.append(epoch.loss))
        >>> len(losses) <= 10 and losses[-1] == 0.0
        True
    """
    import numpy as np

    from ...solvers.common.per_sample import visiting

    whole_number("seed", seed, 0, 2**64 - 1)
    passes = objective.per_sample()
    n = passes.n_samples
    state = learner.start(passes.n_features)
    for number in range(learner.max_iterations):
        began = time.perf_counter()
        loss = learner.learn(passes, state, visiting(seed, number, n))
        state.iterates += n
        w = learner.weights(state)
        if not (math.isfinite(loss) and np.isfinite(w).all()):
            message = f"the weights overflowed in epoch {number + 1}; scale down the values of the attributes"
            raise ObjectiveError(message)
        epoch = Epoch(number + 1, loss, w, time.perf_counter() - began, learner.has_converged(loss / max(n, 1)))
        if (callback is not None and callback(epoch)) or epoch.converged:
            break
    return learner.weights(state)
