"""Quasi-Newton training in rounds over all weights and over clusters of them.

Symbols: beta the weights (w), gamma those of the clusters, cmap the cluster of each feature, d the number of features;
the fine optimiser works on beta, the coarse one on gamma. Clusters and projections are in ``projection.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..options import (
    one_of,
    real_number,
    truth_value,
    whole_number,
)
from ..problem import Problem
from ..result import Status
from ..vectors import Vector
from .bfgs import BFGS
from .lbfgs import LBFGS
from .parts.projection import (
    ClusterMap,
    Projected,
    chunks,
    cluster_map,
    clusterable_range,
    k_means,
    project_down,
)
from .parts.quasi_newton import MOST, QuasiNewton, QuasiNewtonState
from .parts.wolfe import refuse_l1

__all__ = ["Clustered", "ClusteredState"]

# Section IV-C "as before", section III-D.
FINE_ITERATIONS = {"lbfgs": 100, "bfgs": 5}
CLUSTERINGS = ("chunks", "kmeans")


@dataclass(frozen=True)
class ClusteredState:
    """State of either optimiser; saving it (pickle) is a checkpoint, which leaves out what follows from cmap.

    In a coarse phase the violation is that of the projected problem: the max-norm of the gradient by gamma.

    Attributes:
        inner: the state of the optimiser at work.
        phase: "fine", "coarse" or "patch-up".
        w: beta, shape (n_features,); in a coarse phase beta_j = gamma_cmap(j).
        nll: unpenalised, nats.
        rounds: rounds that are over.
        fine_iterations: so far, in all phases.
        coarse_iterations: likewise.
        evaluations: gradient evaluations, fine and coarse, of the phases that are over.
        cmap: in a coarse phase the cluster of each feature, shape (n_features,).
        recent: in a coarse phase its last objectives, the newest last.
        projected: in a coarse phase its problem, or None if it has to be made again.
    """

    inner: QuasiNewtonState
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
        """Whether the violation is that of the projected problem."""
        return self.phase == "coarse"

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
        """That of the fine optimiser; RUNNING in a coarse phase."""
        return Status.RUNNING if self.partial else self.inner.status


class Clustered:
    """Quasi-Newton over all weights and over clusters of weights in turn, for smooth objectives: L2 penalty or none.

    Each round takes ``fine_iterations`` of the fine optimiser, clusters weights that are alike, and lets the coarse
    optimiser move each cluster as a whole, from its mean, until its objective changes little. In the end the fine
    optimiser goes on to convergence ("patch-up").

    Source: Mathur & Chakrabarti (2010), Figure 4, with sections III-B (clusters), III-C and III-E-6 (the objective over
    clusters), III-E-2 (end of a coarse phase), III-E-3 (projections) and IV-B (features that are not clustered).
    ``fine_iterations``: 5 with BFGS is that of section III-D; with L-BFGS only section IV-C gives a number, 100, "as
    before". A problem that is solved in fewer iterations is then never clustered: give a smaller number there.
    Departures: the optimisers are this library's ``LBFGS`` and ``BFGS``, which start afresh in every phase; the change
    of a coarse objective is relative to the absolute value of the least, which is negative for some objectives that are
    no likelihoods; a coarse phase also ends when its optimiser has converged or finds no decrease; if the fine
    optimiser ends in a round, that is the end; weights without penalty are not clustered.
    Cost: that of the fine optimiser on the problem or of the coarse one on the projected problem (see ``Projected``),
    per step. A step that ends a phase evaluates the gradient once more, where the next one begins.

    A step is an iteration of the optimiser at work. Converged when the fine optimiser is (see ``LBFGS``). The objective
    rises where weights are replaced by means. Stopped in a coarse phase, the weights are those of the projected problem
    reached.

    An objective may have an attribute ``clusterable``, a pair (start, stop): only these features are clustered, for a
    CRF its state features. It may have a method aggregate(cmap, n_clusters): see ``Projected``.

    Args:
        num_rounds: rounds before the patch-up, >= 1.
        fine_iterations: in each round, >= 1; None for 100 with lbfgs and 5 with bfgs.
        cluster_factor: most weights in a cluster of "chunks", their mean number with "kmeans", >= 2.
        clustering: "chunks": contiguous chunks of the sorted weights; "kmeans": k-means on the weights and their latest
            change, for problems of some ten thousand features at most.
        optimizer: "lbfgs" or "bfgs", the fine and the coarse one.
        coarse_window: objectives by which the end of a coarse phase is told, >= 2.
        coarse_tolerance: it ends when they differ by less than this fraction of the least; 0 to let it converge.
        aggregate: let the objective add up its features over the clusters, if it can.
        memory: stored (s, y) pairs of L-BFGS, >= 1.
        tolerance: of the fine optimiser: bound on the mean relative decrease over 5 steps; 0 switches this test off.
        gradient_tolerance: of both optimisers: bound on the violation; 0 asks for an exact zero.
        max_line_search: most evaluations in one line search, >= 1.
        seed: of "kmeans", >= 0.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the penalty has an L1 part, when ``clusterable``
            is no range of features, or from ``BFGS``.
    """

    def __init__(
        self,
        *,
        num_rounds: int = 2,
        fine_iterations: int | None = None,
        cluster_factor: int = 15,
        clustering: str = "chunks",
        optimizer: str = "lbfgs",
        coarse_window: int = 5,
        coarse_tolerance: float = 1e-4,
        aggregate: bool = True,
        memory: int = 6,
        tolerance: float = 1e-5,
        gradient_tolerance: float = 1e-6,
        max_line_search: int = 20,
        seed: int = 0,
    ) -> None:
        one_of("optimizer", optimizer, tuple(FINE_ITERATIONS))
        one_of("clustering", clustering, CLUSTERINGS)
        truth_value("aggregate", aggregate)
        if fine_iterations is None:
            fine_iterations = FINE_ITERATIONS[optimizer]
        self.num_rounds = whole_number("num_rounds", num_rounds, 1, MOST)
        self.fine_iterations = whole_number("fine_iterations", fine_iterations, 1, 2**62)
        self.cluster_factor = whole_number("cluster_factor", cluster_factor, 2, 2**62)
        self.coarse_window = whole_number("coarse_window", coarse_window, 2, MOST)
        bound = "a finite number >= 0 (0 lets the coarse optimiser converge)"
        self.coarse_tolerance = real_number("coarse_tolerance", coarse_tolerance, bound, lambda x: x >= 0.0)
        self.seed = whole_number("seed", seed, 0, 2**64 - 1)
        self.clustering, self.aggregate = clustering, bool(aggregate)
        tests: dict[str, Any] = {"gradient_tolerance": gradient_tolerance, "max_line_search": max_line_search}
        whole_number("memory", memory, 1, MOST)
        kind = BFGS if optimizer == "bfgs" else partial(LBFGS, memory=memory)
        self.fine: QuasiNewton = kind(tolerance=tolerance, **tests)
        # The coarse objective's change is judged by coarse_tolerance alone.
        self.coarse: QuasiNewton = kind(tolerance=0.0, **tests)

    @property
    def tolerance(self) -> float:
        """That of the fine optimiser."""
        return self.fine.tolerance

    def init(self, problem: Problem, w0: Vector) -> ClusteredState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            OptionError: the problem has an L1 penalty or an impossible ``clusterable``, or ``BFGS`` refuses it.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        refuse_l1(problem, "clustered")
        clusterable_range(problem)
        inner = self.fine.init(problem, w0)
        return ClusteredState(inner, "fine", inner.w, inner.nll)

    def step(self, problem: Problem, state: ClusteredState) -> ClusteredState:
        """Make an iteration of the optimiser at work; if its phase is over, project and start the other one."""
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
            clusters = chunks(beta, self.cluster_factor)
        else:
            clusters = k_means(beta, beta - before, self.cluster_factor, self.seed)
        return cluster_map(inner.w.size, start, clusters)

    def _project(self, problem: Problem, cmap: ClusterMap) -> Problem:
        return Problem(Projected(problem, cmap, aggregate=self.aggregate))

    def _on_clusters(
        self, state: ClusteredState, inner: QuasiNewtonState, cmap: ClusterMap, projected: Problem
    ) -> ClusteredState:
        """Return the state with that of the coarse optimiser, lifted to beta."""
        objective: Any = projected.objective
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
