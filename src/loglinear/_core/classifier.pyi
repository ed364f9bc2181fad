"""The objective of classifiers."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .chain import ChainObjective
from .data import Corpus
from .model import ChainModel
from .objective import Objective
from .stochastic import SamplePasses

class NewtonStep:
    """What a step of `ClassifierObjective.newton_step` did.

    Attributes:
        nll: negative log-likelihood at the weights after the step, nats.
        working_set: number of columns in the working set.
        sweeps: sweeps of coordinate descent over the working set.
        trials: evaluations of the objective in the line search.
        moved: whether the weights changed.
        promised: decrease of the objective that the quadratic model predicts, nats.
    """

    @property
    def nll(self) -> float: ...
    @property
    def working_set(self) -> int: ...
    @property
    def sweeps(self) -> int: ...
    @property
    def trials(self) -> int: ...
    @property
    def moved(self) -> bool: ...
    @property
    def promised(self) -> float: ...

class ReachedPoint:
    """A point of a path of minima.

    Attributes:
        w: the weights.
        nll: negative log-likelihood, nats.
        objective: with the penalty, nats.
        violation: largest violation of optimality, by the intercept itself.
        gap: upper bound of the distance of the objective from its minimum, nats.
        steps: proximal Newton steps made.
        evaluations: of the objective.
        converged: whether a rule ended the steps, not their limit.
        failed: whether no step decreases the objective.
    """

    @property
    def w(self) -> npt.NDArray[np.float64]: ...
    @property
    def nll(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    @property
    def failed(self) -> bool: ...

class ClassifierPath:
    """A path of minima at falling strengths of the L1 penalty."""

    def minimise(self, l1: float, *, tolerance: float, gradient_tolerance: float, max_steps: int) -> ReachedPoint: ...
    def left(self, l1: float) -> ReachedPoint: ...

class ClassifierObjective(Objective):
    def __init__(
        self,
        ends: npt.NDArray[np.uint64],
        ids: npt.NDArray[np.uint32],
        values: npt.NDArray[np.float64],
        n_columns: int,
        targets: npt.NDArray[np.uint32],
        weights: npt.NDArray[np.float64] | None = None,
        *,
        n_classes: int,
        intercept: float | None = None,
        scaled: bool = False,
        threads: int = 0,
    ) -> None: ...
    @staticmethod
    def of_table(
        numbers: npt.NDArray[np.float32] | npt.NDArray[np.float64],
        shape: tuple[int, int],
        layout: tuple[bool, int, int],
        shift: npt.NDArray[np.float64] | None,
        targets: npt.NDArray[np.uint32],
        weights: npt.NDArray[np.float64] | None = None,
        *,
        n_classes: int,
        intercept: float | None = None,
        scaled: bool = False,
        threads: int = 0,
    ) -> ClassifierObjective: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def is_dense(self) -> bool: ...
    @property
    def intercept(self) -> float | None: ...
    def largest_values(self) -> npt.NDArray[np.float64] | None: ...
    @property
    def targets(self) -> npt.NDArray[np.uint32]: ...
    @property
    def weights(self) -> npt.NDArray[np.float64]: ...
    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
    def probabilities(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def start(self, w: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def scores(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def gap(self, w: npt.NDArray[np.float64], l1: float, l2: float) -> float: ...
    def has_small_gram(self, l1: float) -> bool: ...
    def dual_start(self, alpha: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def dual_pass(
        self,
        w: npt.NDArray[np.float64],
        alpha: npt.NDArray[np.float64],
        squares: npt.NDArray[np.float64],
        visits: npt.NDArray[np.int64],
        l2: float,
        near: float,
    ) -> float: ...
    def newton_step(
        self,
        w: npt.NDArray[np.float64],
        scores: npt.NDArray[np.float64],
        gradient: npt.NDArray[np.float64],
        *,
        l1: float,
        l2: float,
        precision: float,
        sweeps: int,
        least: int,
        stride: int = 1,
        varied: tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]] | None = None,
    ) -> NewtonStep: ...
    def path(
        self, w: npt.NDArray[np.float64], *, l2: float, precision: float, sweeps: int, least: int
    ) -> ClassifierPath: ...
    def as_chain(self) -> ChainObjective: ...
    def per_sample(self) -> SamplePasses: ...
    def squares(self, factors: npt.NDArray[np.float64], /) -> npt.NDArray[np.float64]: ...
    def one_against_rest(self, class_: int, threads: int, /) -> ClassifierObjective: ...
    def less(self, shift: npt.NDArray[np.float64], /) -> ClassifierObjective: ...
    def reweighted(self, weights: npt.NDArray[np.float64]) -> ClassifierObjective: ...
    def batch(self, samples: npt.NDArray[np.int64], factor: float = 1.0) -> ClassifierObjective: ...
    def aggregate(self, map: npt.NDArray[np.int64], n_columns: int) -> ClassifierObjective: ...
    def restrict(self, columns: npt.NDArray[np.int64]) -> ClassifierObjective: ...

def classifier_of_corpus(
    corpus: Corpus,
    min_count: int,
    targets: npt.NDArray[np.uint32],
    weights: npt.NDArray[np.float64] | None = None,
    tokens: npt.NDArray[np.int64] | None = None,
    *,
    n_classes: int,
    intercept: float | None = None,
    scaled: bool = False,
    threads: int = 0,
) -> tuple[ClassifierObjective, npt.NDArray[np.int64]]: ...
def checked_probabilities(probabilities: Sequence[float]) -> list[float]: ...
def label_of_cell(cell: str, partial: bool) -> str | frozenset[str] | dict[str, float] | None: ...
def classifier_model(
    names: Sequence[str],
    labels: Sequence[str],
    w: npt.NDArray[np.float64],
    settings: str,
    *,
    template: str | None = None,
    intercept: str | None = None,
) -> ChainModel: ...
