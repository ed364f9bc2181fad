"""Quasi-Newton training in rounds over all weights and over clusters of them.

Symbols: beta the weights (w), gamma the weights of the clusters, cmap the cluster of each feature, d the number of
features; the fine optimiser works on beta, the coarse one on gamma. Clusters and projections are in
``common/projection.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, cast

import numpy as np

from ..options import one_of, real_number, seed_number, truth_value, whole_number
from ..problem import Problem
from ..result import Status
from ..vectors import Vector
from .bfgs import BFGS
from .common.history import History
from .common.inner import LBFGSOptions, Unpack, inner_solver, no_more
from .common.needs import Needs, check
from .common.projection import (
    Aggregatable,
    Clusterable,
    ClusterMap,
    Projected,
    chunks,
    cluster_map,
    clusterable_range,
    k_means,
    largest_size,
    project_down,
)
from .common.quasi_newton import MOST, QuasiNewtonState, starting_state
from .common.state_schema import Within
from .lbfgs import LBFGS

__all__ = ["Clustered", "ClusteredState"]

# Fine iterations of a round with L-BFGS, section IV-C "as before", and with BFGS, section III-D.
FINE_LBFGS, FINE_BFGS = 100, 5
INNER = LBFGS()
OPTIMIZERS = ("lbfgs", "bfgs")
CLUSTERINGS = ("chunks", "kmeans")


@dataclass(frozen=True)
class ClusteredState:
    """State of either optimiser; saving it (pickle) is a checkpoint, without the arrays that follow from cmap.

    In a coarse phase the violation is the max-norm of the gradient by gamma, of the projected problem.

    Attributes:
        inner: the state of the current optimiser.
        phase: "fine", "coarse" or "patch-up".
        w: beta, shape (n_features,); in a coarse phase beta_j = gamma_cmap(j).
        nll: unpenalised, nats.
        rounds: number of finished rounds.
        fine_iterations: of the fine optimiser so far, in all phases.
        coarse_iterations: of the coarse optimiser so far, in all phases.
        evaluations: gradient evaluations, fine and coarse, of the finished phases.
        cmap: in a coarse phase the cluster of each feature, shape (n_features,).
        recent: in a coarse phase the last objectives, the newest last.
        projected: in a coarse phase the projected problem, or None if it must be built again.
        working_set: None: every phase optimises over all features.
    """

    inner: Annotated[QuasiNewtonState, Within()]
    phase: str
    w: Vector
    nll: float
    rounds: int = 0
    fine_iterations: int = 0
    coarse_iterations: int = 0
    evaluations: int = 0
    cmap: ClusterMap | None = None
    recent: tuple[float, ...] = ()
    projected: Problem | None = None
    working_set: ClassVar[None] = None

    def mistake(self) -> str:
        """Return what contradicts itself; see `state_schema.Declared`."""
        if self.phase not in ("fine", "coarse", "patch-up") or self.partial == (self.cmap is None):
            return "the phase does not fit the clusters"
        return ""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "w": None, "projected": None}

    def __setstate__(self, content: dict[str, Any]) -> None:
        inner, cmap = content["inner"], content["cmap"]
        self.__dict__.update(content, w=inner.w if cmap is None else inner.w[cmap])

    @property
    def objective(self) -> float:
        """Penalised objective at w, nats."""
        return self.inner.objective

    @property
    def violation(self) -> float:
        """Max-norm of the gradient; see above."""
        return self.inner.violation

    @property
    def partial(self) -> bool:
        """Whether the violation refers to the projected problem."""
        return self.phase == "coarse"

    @property
    def whole_gradient(self) -> Vector | None:
        """Gradient of the NLL by beta; None in a coarse phase."""
        return None if self.partial else self.inner.gradient

    @property
    def iteration(self) -> int:
        """Iterations of both optimisers."""
        return self.fine_iterations + self.coarse_iterations

    @property
    def gradient_evaluations(self) -> int:
        """Evaluations of the gradient by beta and by gamma."""
        return self.evaluations + self.inner.gradient_evaluations

    @property
    def passes(self) -> float:
        """Effective passes over the data, an evaluation of the gradient by gamma counting as one."""
        return float(self.gradient_evaluations)

    @property
    def status(self) -> Status:
        """Status of the fine optimiser; RUNNING in a coarse phase."""
        return Status.RUNNING if self.partial else self.inner.status


class Clustered:
    """Quasi-Newton steps that alternate between all weights and clusters of weights, with an L2 penalty or none.

    Each round takes ``fine_iterations`` of the fine optimiser, clusters similar weights, and lets the coarse
    optimiser move each cluster as a whole, from its mean, until its objective changes little. Finally the fine
    optimiser continues to convergence ("patch-up").

    Source: Mathur & Chakrabarti (2010), Figure 4, with sections III-B (clusters), III-C and III-E-6 (the objective over
    clusters), III-E-2 (end of a coarse phase), III-E-3 (projections) and IV-B (features that are not clustered).
    ``fine_iterations``: section III-D uses 5 with BFGS; for L-BFGS only section IV-C gives a number, 100, "as before".
    A problem that needs fewer iterations is then never clustered: set a smaller number for it.

    Departures:

    - The optimisers are this library's ``LBFGS`` and ``BFGS``, which start from scratch in every phase.
    - The change of a coarse objective is relative to the absolute value of the least, which is negative for some
      objectives that are not likelihoods.
    - A coarse phase also ends when its optimiser has converged or finds no decrease.
    - If the fine optimiser converges within a round, training ends.
    - Weights without penalty are not clustered.

    Cost: a step costs as much as one of the fine optimiser on the problem, or of the coarse optimiser on the projected
    problem (see ``Projected``). A step that ends a phase evaluates the gradient once more, where the next one begins.

    A step is an iteration of the current optimiser. Converges by the criteria of the fine optimiser (see ``LBFGS``).
    The objective rises where means replace weights. A run that is stopped in a coarse phase ends with the weights of
    the projected problem.

    An objective may say which features are clustered (``Clusterable``), for a CRF its state features, and may add up
    its features over clusters (``Aggregatable``).

    Args:
        num_rounds: rounds before the patch-up, >= 1.
        fine_iterations: in each round, >= 1; None for 100 with lbfgs and 5 with bfgs.
        cluster_factor: most weights in a cluster of "chunks", mean number of weights with "kmeans", >= 2.
        square_error: share of the weights' variance, between 0 and 1, that the means of the clusters may lose: clusters
            are then as large as this allows, whatever ``cluster_factor`` is (section III-B, "a criteria different from
            reduction factor"); None for ``cluster_factor``.
        clustering: "chunks": contiguous chunks of the sorted weights; "kmeans": k-means on the weights and their latest
            change, for problems of some ten thousand features at most.
        optimizer: "lbfgs" or "bfgs", the fine and the coarse one; "bfgs" is short for an ``inner`` that is a ``BFGS``.
        coarse_window: number of objectives compared to detect the end of a coarse phase, >= 2.
        coarse_tolerance: the phase ends when they differ by less than this fraction of the least; 0 to let it converge.
        aggregate: let the objective add up its features over the clusters, if it can.
        seed: of "kmeans", >= 0.
        inner: the fine optimiser, an ``LBFGS`` or a ``BFGS``; the coarse one is the same without a tolerance.
        options: of the fine optimiser, by name, instead of an ``inner`` with these options.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the penalty has an L1 part, when ``clusterable``
            is not a range of features, or from ``BFGS``.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import Clustered
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=Clustered(num_rounds=1, fine_iterations=2)).fit(X, y).result_.status.name
        'CONVERGED'
    """

    needs: ClassVar[Needs] = LBFGS.needs | Needs(uses=(Clusterable, Aggregatable))

    def __init__(
        self,
        *,
        num_rounds: int = 2,
        fine_iterations: int | None = None,
        cluster_factor: int = 15,
        square_error: float | None = None,
        clustering: str = "chunks",
        optimizer: str = "lbfgs",
        coarse_window: int = 5,
        coarse_tolerance: float = 1e-4,
        aggregate: bool = True,
        seed: int = 0,
        inner: LBFGS | BFGS = INNER,
        **options: Unpack[LBFGSOptions],
    ) -> None:
        one_of("optimizer", optimizer, OPTIMIZERS)
        one_of("clustering", clustering, CLUSTERINGS)
        truth_value("aggregate", aggregate)
        inner = inner_solver("inner", inner, (LBFGS, BFGS), options)
        no_more(self, options, inner)
        if optimizer == "bfgs" and isinstance(inner, LBFGS):
            inner = BFGS(
                tolerance=inner.tolerance,
                gradient_tolerance=inner.gradient_tolerance,
                max_line_search=inner.max_line_search,
            )
        if fine_iterations is None:
            fine_iterations = FINE_BFGS if isinstance(inner, BFGS) else FINE_LBFGS
        self.num_rounds = whole_number("num_rounds", num_rounds, 1, MOST)
        self.fine_iterations = whole_number("fine_iterations", fine_iterations, 1, 2**62)
        self.cluster_factor = whole_number("cluster_factor", cluster_factor, 2, 2**62)
        bound = "a number between 0 and 1, or None to cluster by cluster_factor"
        share = square_error is not None
        self.square_error = real_number("square_error", square_error, bound, lambda x: 0.0 < x < 1.0) if share else None
        self.coarse_window = whole_number("coarse_window", coarse_window, 2, MOST)
        bound = "a finite number >= 0 (0 lets the coarse optimiser converge)"
        self.coarse_tolerance = real_number("coarse_tolerance", coarse_tolerance, bound, lambda x: x >= 0.0)
        self.seed = seed_number("seed", seed)
        self.clustering, self.aggregate = clustering, bool(aggregate)
        self.fine: LBFGS | BFGS = inner
        # The coarse objective's change is judged by coarse_tolerance alone.
        self.coarse: LBFGS | BFGS = replace(inner, tolerance=0.0)

    @property
    def tolerance(self) -> float:
        """Bound on the mean relative decrease of the fine optimiser."""
        return self.fine.tolerance

    @property
    def memory(self) -> int:
        """Pairs (s, y) that the fine optimiser stores; 1, the least, with BFGS, which stores none."""
        return self.fine.memory if isinstance(self.fine, LBFGS) else 1

    def init(self, problem: Problem, w0: Vector) -> ClusteredState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            OptionError: the problem has an L1 penalty or an impossible ``clusterable``, or ``BFGS`` refuses it.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        clusterable_range(problem)
        inner = self.fine.init(problem, w0)
        return ClusteredState(inner, "fine", inner.w, inner.nll)

    def start(
        self, problem: Problem, w: Vector, nll: float, gradient: Vector, history: History, evaluations: int
    ) -> ClusteredState:
        """Return the state at w, whose NLL and gradient are known; L-BFGS starts with the pairs of the history.

        Raises:
            ObjectiveError: the objective or its gradient is not finite at w.
        """
        if isinstance(self.fine, BFGS):
            inner = self.fine.init(problem, w)
            return ClusteredState(inner, "fine", inner.w, inner.nll, evaluations=evaluations)
        inner = starting_state(self.fine, problem, w, nll, gradient, history, evaluations)
        return ClusteredState(inner, "fine", inner.w, inner.nll)

    def step(self, problem: Problem, state: ClusteredState) -> ClusteredState:
        """Make an iteration of the current optimiser; if its phase is over, project and start the other one."""
        if state.phase == "coarse":
            return self._coarse_step(problem, state)
        inner = self.fine.step(problem, state.inner)
        following = replace(state, inner=inner, w=inner.w, nll=inner.nll, fine_iterations=state.fine_iterations + 1)
        running = inner.status is Status.RUNNING
        if state.phase == "fine" and running and inner.iteration >= self.fine_iterations:
            return self._projected_down(problem, following)
        return following

    def _coarse_step(self, problem: Problem, state: ClusteredState) -> ClusteredState:
        assert state.cmap is not None
        projected = state.projected or self._project(problem, state.cmap)
        inner = self.coarse.step(projected, state.inner)
        following = replace(
            self._on_clusters(state, inner, state.cmap, projected), coarse_iterations=state.coarse_iterations + 1
        )
        if inner.status is not Status.RUNNING or self._flat(following.recent):
            return self._projected_up(problem, following)
        return following

    def _projected_down(self, problem: Problem, state: ClusteredState) -> ClusteredState:
        """Return the first state of a coarse phase, at the means of the clusters of the weights reached."""
        cmap = self._cluster(problem, state.inner)
        projected = self._project(problem, cmap)
        inner = self.coarse.init(projected, project_down(state.w, cmap))
        following = replace(state, phase="coarse", evaluations=state.gradient_evaluations)
        following = self._on_clusters(following, inner, cmap, projected)
        return following if inner.status is Status.RUNNING else self._projected_up(problem, following)

    def _projected_up(self, problem: Problem, state: ClusteredState) -> ClusteredState:
        """Return the first state of the fine phase that follows a coarse one, at the same weights."""
        inner, rounds = self.fine.init(problem, state.w), state.rounds + 1
        return ClusteredState(
            inner,
            "fine" if rounds < self.num_rounds else "patch-up",
            inner.w,
            inner.nll,
            rounds,
            state.fine_iterations,
            state.coarse_iterations,
            state.gradient_evaluations,
        )

    def _cluster(self, problem: Problem, inner: QuasiNewtonState) -> ClusterMap:
        """CLUSTER of Figure 4, at the end of a fine phase."""
        start, stop = clusterable_range(problem)
        beta, before = inner.w[start:stop], inner.spare_w[start:stop]
        if self.clustering == "chunks" or beta.size == 0:
            clusters = chunks(beta, self._size(np.sort(beta), chunks))
        else:
            means = partial(k_means, change=beta - before, seed=self.seed)
            clusters = means(beta, size=self._size(beta, lambda points, size: means(points, size=size)))
        return cluster_map(inner.w.size, start, clusters)

    def _size(self, beta: Vector, clusters: Callable[[Vector, int], ClusterMap]) -> int:
        """Return how many weights a cluster has."""
        return self.cluster_factor if self.square_error is None else largest_size(beta, clusters, self.square_error)

    def _project(self, problem: Problem, cmap: ClusterMap) -> Problem:
        return Problem(Projected(problem, cmap, aggregate=self.aggregate))

    def _on_clusters(
        self, state: ClusteredState, inner: QuasiNewtonState, cmap: ClusterMap, projected: Problem
    ) -> ClusteredState:
        """Return the state with a state of the coarse optimiser, lifted to beta."""
        objective = cast(Projected, projected.objective)
        return replace(
            state,
            inner=inner,
            w=inner.w[cmap],
            nll=inner.objective - objective.ridge(inner.w),
            cmap=cmap,
            recent=(*state.recent, inner.objective)[-self.coarse_window :],
            projected=projected,
        )

    def _flat(self, recent: tuple[float, ...]) -> bool:
        """Section III-E-2: (max - min) < delta min over the last objectives."""
        least = min(recent)
        return len(recent) == self.coarse_window and max(recent) - least < self.coarse_tolerance * abs(least)
