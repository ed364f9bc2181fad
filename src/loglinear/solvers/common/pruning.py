"""Objectives that can leave out unlikely labels, and what a solver that prunes asks of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, cast

import numpy as np

from ...problem import Numbers, Objective, Problem
from ...vectors import Vector
from .state_schema import Sizes
from .working_set import Features, compact

__all__ = ["Likely", "Made", "Prunable", "Pruned", "Sequences", "of_all_features", "of_first_order"]


class Likely(Protocol):
    """The likely labels of each token at some weights."""

    @property
    def least(self) -> float:
        """The marginal that these labels are above."""


class Pruned(Objective, Protocol):
    """An objective over the likely labels of each token."""

    @property
    def curvatures(self) -> Vector:
        """The curvature along each weight where the objective was made, approximately, shape (k,)."""

    def agreeing(self, w: Vector, value: float, gradient: Vector, guard: float) -> Pruned:
        """Return the objective corrected to agree with the whole one at other weights."""


@dataclass(frozen=True)
class Made:
    """An objective S, and where it was made; saved without S, which is then made again.

    Attributes:
        w: weights of all features where S was made.
        bound: on marginals.
        features: numbers of the features in the working set, ascending; None for all.
        rounds: rounds on S so far.
        pruned: S; None after loading.
    """

    w: Vector
    bound: float
    features: Annotated[Features, Sizes((None,), below="n_features", ascending=True)] | None
    rounds: int = 0
    pruned: Pruned | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without S."""
        return self.__dict__ | {"pruned": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what was saved."""
        self.__dict__.update(state)


class Sequences(Protocol):
    """An objective over sequences of labels, with the sizes by which solvers are chosen."""

    @property
    def is_binary(self) -> bool:
        """Whether every attribute has the value 1."""

    @property
    def n_cells(self) -> int:
        """Number of labels that the tokens may have, all tokens together."""

    @property
    def attributes_per_sample(self) -> float:
        """Mean number of attributes of a sequence, all its tokens together."""

    @property
    def attributes_per_token(self) -> float:
        """Mean number of attributes of a token."""


class Prunable(Sequences, Protocol):
    """An objective over sequences of labels that can leave out unlikely labels."""

    @property
    def is_prunable(self) -> bool:
        """Whether this objective can: not with attributes of bigrams, nor with partial labels."""

    @property
    def stays_on_disk(self) -> bool:
        """Whether the data lie on disk, and are too many to be held in memory in another form."""

    @property
    def order(self) -> int:
        """1 or 2: how many labels before a token's own its score depends on."""

    @property
    def first_order(self) -> Numbers | None:
        """Numbers of the features that it would have as a chain of first order; None if it is one."""

    def likely_labels(self, w: Vector, least: float, out: Vector | None = None) -> tuple[float, Vector, Likely]:
        """Return value and gradient at w, and the labels of each token whose marginals are above ``least`` there."""

    def pruned(
        self,
        likely: Any,
        w: Vector,
        value: float,
        gradient: Vector,
        *,
        bound: float,
        links: float,
        guard: float = 1.0,
        features: Numbers | None = None,
        cost: float = math.inf,
    ) -> Pruned | None:
        """Return the objective over likely labels, corrected to agree with the whole one at w.

        None where an evaluation would cost too much, as counts of labels and links tell before it is made.

        Args:
            likely: what ``likely_labels`` returned at w.
            w: weights of the features in the working set, shape (k,); the weights of all others are 0.
            value: of the whole objective at w, nats.
            gradient: of the whole objective at w, by the features in the working set, shape (k,).
            bound: marginal above which labels are kept, at least ``likely.least``. The gold labels are kept always.
            links: marginal above which they keep their links to the labels of neighbouring tokens.
            guard: factor >= 0 of the guard, which stands for the curvature of what is pruned.
            features: numbers of the features in the working set, ascending, shape (k,); None for all.
            cost: bound on the cost of an evaluation, as a share of the cost of a whole one.
        """


def of_all_features(problem: Problem, w: Vector) -> Vector:
    """Return the weights of all features, given the weights of a chain of first order: w itself if the chain is one."""
    numbers = cast(Prunable, problem.objective).first_order
    if numbers is None:
        return w
    weights = np.zeros(problem.n_features)
    weights[numbers] = w
    return weights


def of_first_order(problem: Problem) -> Problem:
    """Return the problem without the features that a chain of first order does not have."""
    numbers = cast(Prunable, problem.objective).first_order
    if numbers is None:
        return problem
    restricted = compact(problem, numbers)
    assert restricted is not None
    return restricted
