"""Stochastic average gradient, one sample a step, with non-uniform sampling.

Symbols as in the paper: n the number of samples, lambda = l2 / n, g_i the gradient of sample i when it was last
visited, d the sum of the g_i, m the number of samples visited so far, L the Lipschitz constant of all samples, or L_i
of each. The steps themselves are native: `native/src/stochastic/sag.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import ObjectiveError, OptionError
from ..options import one_of, real_number, seed_number, truth_value, whole_number
from ..problem import PerSample, Problem, SamplePasses
from ..result import Status
from ..vectors import Vector
from .common.conditions import convex, intercept_alone_is_spared
from .common.memory import memory_of_machine
from .common.needs import Needs, check
from .common.per_sample import PassState, Unmeasured, after_pass, sample_passes, with_gradient
from .common.solver import default_solver
from .common.state_schema import Sizes

__all__ = ["SAG", "SAGPasses", "SAGState"]

# Of a batch: more than any data have.
MOST_SAMPLES = 2**31 - 1
SAMPLINGS = ("nus_star", "nus", "uniform")
Marginals = npt.NDArray[np.float32]


class SAGPasses(SamplePasses, Protocol):
    """An objective that can make SAG's passes."""

    @property
    def sag_sizes(self) -> tuple[int, int, int]:
        """Numbers stored of the gradients of all samples: of states, of transitions, of edges."""

    def sag_pass(
        self,
        w: Vector,
        d: Vector,
        gradients: tuple[Marginals, Marginals, Marginals],
        lipschitz: Vector,
        seen: npt.NDArray[np.bool_],
        pauses: npt.NDArray[np.uint8],
        *,
        draws: Vector,
        sampling: str,
        saga: bool,
        l1: float,
        l2: float,
        snapshot: Vector | None = None,
        batch_size: int = 1,
    ) -> int:
        """Make a step for each row of ``draws``, updating the arrays in place; return the evaluations of a sample."""


@dataclass(frozen=True, kw_only=True)
class SAGState(PassState):
    """State of SAG between two passes.

    A pass updates all arrays except w in place. An interrupted pass leaves w unchanged and the other arrays valid, up
    to the last step it made: continuing from there leads to the same optimum, by different steps.

    Attributes:
        d: sum of the stored gradients, or the gradient at the snapshot, shape (n_features,).
        gradients: g_i of every sample, as marginals less the gold labelling, float32; empty with ``svrg``.
        lipschitz: L, or L_i of every batch.
        seen: the batches visited.
        pauses: of every batch, visits to come without a line search, and the searches in a row that found L_i at once,
            shape (batches, 2); empty when every visit searches.
        snapshot: weights at which d is the gradient, with ``svrg``; else empty.
    """

    d: Annotated[Vector, Sizes(own=True)]
    gradients: Annotated[tuple[Marginals, Marginals, Marginals], Sizes((None,), own=True)]
    lipschitz: Annotated[Vector, Sizes((None,), own=True)]
    seen: Annotated[npt.NDArray[np.bool_], Sizes((None,), own=True)]
    pauses: Annotated[npt.NDArray[np.uint8], Sizes((None, 2), own=True)]
    snapshot: Annotated[Vector, Sizes(or_empty=True)] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class SAG(Unmeasured):
    """SAG: stochastic average gradient, for all penalties; converges linearly if l2 > 0, and needs no learning rate.

    Source: Schmidt, Clifton & Sarkar (2015), Algorithm 1 (``uniform``) and section 3, last paragraph (``nus_star``);
    Schmidt, Le Roux & Bach (2013) (``nus``). ``saga``: Defazio, Bach & Lacoste-Julien (2014), with D / (n p_i) for
    samples drawn with probability p_i. ``svrg``, the memory-free method of section 5: Johnson & Zhang (2013), with the
    same factor. ``batch_size``: section 5.

    Departures:

    - SAG has an L1 penalty, as only SAGA's paper does: every step ends with the proximal map
      w <- sign(w) max(|w| - alpha l1 / n, 0). It is applied lazily and exactly
      (`native/src/stochastic/sag/proximal.rs`), and does not change the step sizes.
    - The paper's stopping test is made after every n steps, not after every one, and then verified with one evaluation
      of the whole gradient.
    - With ``nus`` an L_i is halved when its next line search starts, not when the last one ends: otherwise the step
      would be twice as long, which does not converge on text.
    - With ``nus`` the mean of the L_i is over the visited samples, because all others still have the initial guess 1.
    - With ``pauses``, when k searches in a row have found a sample's L_i at once, its next 2^(k-1) visits, 8 at most,
      do not search and do not change L_i: a third fewer evaluations to the same objective.
    - Samples not yet visited count in the sampling of ``nus_star`` like the mean of the others.
    - Samples are drawn two steps ahead, so that they can be fetched.
    - SAGA and SVRG use half of SAG's step: with the whole step SAGA stalls near the optimum.
    - SVRG takes its snapshot before each n steps, at the weights reached.
    - A batch is of consecutive samples. Its L_i is the mean of what line searches find for its samples, each alone. It
      does not save memory here, where marginals are stored: it is there to be compared.

    Cost: a step takes time for the features of its sample and one or two evaluations of it, seldom more; a pass is n
    steps and adds O(n_features) once. Memory: 8 bytes for each token and label, 4 for each sample and transition, and
    for each edge of a bigram feature; the paper stores transitions edge by edge, but their sum over a sample is enough.
    SVRG stores none of them, but evaluates each sample twice, and all samples once more for a snapshot.
    Graphs take the paper's V K + E K^2 numbers of 4 bytes, with V nodes, E edges and K labels.

    Converged when the max-norm of the pseudo-gradient, over n, is at most ``tolerance``.

    Args:
        sampling: "nus_star", "nus" or "uniform".
        saga: SAGA's steps.
        pauses: search a sample's L_i less often while searches find it at once; not with ``uniform``.
        tolerance: delta of the paper: bound on the max-norm over n, in nats per sample; 0 asks for
            an exact zero.
        seed: of the draws, >= 0.
        svrg: SVRG's steps; not with ``saga``.
        batch_size: samples in a batch, >= 1; not more than 1 with ``saga`` or ``svrg``.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective cannot go sample by sample, or when
            the memory of the machine does not hold the gradients.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import SAG
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=SAG(tolerance=1e-3), max_iterations=1000).fit(X, y).result_.status.name
        'CONVERGED'
    """

    sampling: str = "nus_star"
    saga: bool = False
    pauses: bool = True
    tolerance: float = 1e-4
    seed: int = 0
    svrg: bool = False
    batch_size: int = 1

    needs: ClassVar[Needs] = Needs(
        objective=(PerSample,), passes=(SAGPasses,), conditions=(intercept_alone_is_spared, convex)
    )

    def __post_init__(self) -> None:
        one_of("sampling", self.sampling, SAMPLINGS)
        truth_value("saga", self.saga)
        truth_value("svrg", self.svrg)
        whole_number("batch_size", self.batch_size, 1, MOST_SAMPLES)
        if self.saga + self.svrg + (self.batch_size > 1) > 1:
            message = "saga, svrg and batch_size are alternatives: give one of them"
            raise OptionError(message)
        truth_value("pauses", self.pauses)
        real_number("tolerance", self.tolerance, "a finite number >= 0", lambda x: x >= 0.0)
        seed_number("seed", self.seed)

    def init(self, problem: Problem, w0: Vector) -> SAGState:
        """Return the state before the first pass; w0 is copied."""
        check(self, problem)
        passes: SAGPasses = sample_passes(problem)
        n, sizes = int(passes.n_samples), (0, 0, 0) if self.svrg else passes.sag_sizes
        batches = -(-n // self.batch_size)
        # The line search over chains keeps numbers of the data that take as much memory as the marginals of the states.
        needed, present = 4 * (sum(sizes) + sizes[0]), memory_of_machine()
        if needed > present:
            message = (
                f"sag needs {needed / 2**30:.1f} GiB of memory, but this machine has "
                f"{present / 2**30:.1f} GiB; use {default_solver(problem.penalty)}, or fewer samples"
            )
            raise OptionError(message)
        w = np.array(w0, dtype=np.float64)
        states, transitions, edges = (np.zeros(size, np.float32) for size in sizes)
        constants = np.ones(1 if self.sampling == "uniform" else batches)
        state = SAGState(
            w=w,
            n_samples=n,
            d=np.zeros_like(w),
            gradients=(states, transitions, edges),
            lipschitz=constants,
            seen=np.zeros(batches, np.bool_),
            pauses=np.zeros((batches if self.pauses and self.sampling != "uniform" else 0, 2), np.uint8),
        )
        return self._with_snapshot(problem, state) if self.svrg else state

    def step(self, problem: Problem, state: SAGState) -> SAGState:
        """Make n steps of Algorithm 1, or one for each batch; if the gradient then seems small enough, verify it."""
        passes: SAGPasses = sample_passes(problem)
        n, penalty, w = state.n_samples, problem.penalty, state.w.copy()
        evaluations = passes.sag_pass(
            w,
            state.d,
            state.gradients,
            state.lipschitz,
            state.seen,
            state.pauses,
            draws=np.random.default_rng([self.seed, state.iteration]).random((state.seen.size, 2)),
            sampling=self.sampling,
            saga=bool(self.saga),
            snapshot=state.snapshot if self.svrg else None,
            batch_size=int(self.batch_size),
            l1=penalty.l1 / n,
            l2=penalty.l2 / n,
        )
        if not np.isfinite(w).all():
            message = "the weights overflowed in a pass of sag; check the data"
            raise ObjectiveError(message)
        state = after_pass(replace(state, w=w), evaluations)
        if self.svrg:
            return self._with_snapshot(problem, state)
        if not state.seen.all() or penalty.violation(state.w, state.d) > self.tolerance * n:
            return state
        return self._verified(problem, state, np.zeros_like(state.w))

    def _with_snapshot(self, problem: Problem, state: SAGState) -> SAGState:
        """Take the snapshot of SVRG: the weights, and the whole gradient there, which may show that they converged."""
        gradient = np.zeros_like(state.w)
        state = self._verified(problem, state, gradient)
        return replace(state, d=gradient, snapshot=state.w.copy())

    def _verified(self, problem: Problem, state: SAGState, gradient: Vector) -> SAGState:
        """Evaluate the whole gradient, and return the state that has converged if it is small enough."""
        nll = problem.evaluate(state.w, gradient)
        state = replace(state, gradient_evaluations=state.gradient_evaluations + 1)
        state = with_gradient(problem, state, nll, gradient)
        converged = problem.penalty.violation(state.w, gradient) <= self.tolerance * state.n_samples
        return replace(state, status=Status.CONVERGED) if converged else state
