"""The native module. Private: the library's modules wrap it."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

class Corpus:
    @staticmethod
    def of_matrix(
        ends: npt.NDArray[np.uint64],
        ids: npt.NDArray[np.uint32],
        values: npt.NDArray[np.float64],
        names: Sequence[str],
        sentence_ends: npt.NDArray[np.uint64],
        labels: tuple[Sequence[str], npt.NDArray[np.uint32]] | None = None,
    ) -> Corpus: ...
    @staticmethod
    def read(
        path: str, format: str = "columns", template: str | None = None, *, labelled: bool = True, threads: int = 0
    ) -> Corpus: ...
    @staticmethod
    def encode(
        sentences: Iterable[Any],
        labels: Iterable[Sequence[str]] | None = None,
        weights: Sequence[float] | None = None,
        *,
        template: str | None = None,
    ) -> Corpus: ...
    def __len__(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_attributes(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def labels(self) -> list[str]: ...
    def names(self) -> list[str]: ...
    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
    def targets(self) -> npt.NDArray[np.uint32]: ...
    def weights(self) -> npt.NDArray[np.float64]: ...
    @property
    def has_bigrams(self) -> bool: ...
    def lengths(self) -> list[int]: ...
    def select(self, sentences: Sequence[int]) -> Corpus: ...
    def gold(self) -> list[list[str]] | None: ...

class ChainObjective:
    # features: an object with the attributes of loglinear.ChainFeatures
    def __init__(self, corpus: Corpus, features: object, *, threads: int = 0) -> None: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    @property
    def n_unpenalised(self) -> int: ...
    @property
    def order(self) -> int: ...
    @property
    def clusterable(self) -> tuple[int, int]: ...
    @property
    def feature_counts(self) -> tuple[int, int, int, int]: ...
    def value_and_gradient(
        self, w: npt.NDArray[np.float64], out: npt.NDArray[np.float64] | None = None
    ) -> tuple[float, npt.NDArray[np.float64]]: ...
    def per_sample(self) -> SamplePasses: ...
    def sample(self, samples: npt.NDArray[np.int64]) -> ChainObjective: ...
    def batch(self, samples: npt.NDArray[np.int64], factor: float) -> ChainObjective: ...
    def aggregate(self, map: npt.NDArray[np.int64], n_clusters: int) -> ChainObjective | None: ...
    def restrict(self, features: npt.NDArray[np.int64]) -> ChainObjective: ...
    def feature_names(self, features: npt.NDArray[np.int64]) -> list[tuple[str | None, list[str]]]: ...
    def model(self, w: npt.NDArray[np.float64], settings: str, template: str | None = None) -> ChainModel: ...

class SamplePasses:
    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    @property
    def n_unpenalised(self) -> int: ...
    def sample(self, visits: npt.NDArray[np.int64]) -> ChainObjective: ...
    def sgd_l1_pass(
        self,
        w: npt.NDArray[np.float64],
        q: npt.NDArray[np.float64],
        u: float,
        *,
        visits: npt.NDArray[np.int64],
        rates: npt.NDArray[np.float64],
        l1: float,
        l2: float,
        penalty: str,
        line_search: tuple[int, float] | None = None,
    ) -> tuple[float, int]: ...
    def sg_pass(
        self,
        w: npt.NDArray[np.float64],
        sum: npt.NDArray[np.float64],
        *,
        visits: npt.NDArray[np.int64],
        rates: npt.NDArray[np.float64],
        l2: float,
    ) -> None: ...
    def adagrad_pass(
        self,
        w: npt.NDArray[np.float64],
        squares: npt.NDArray[np.float64],
        *,
        visits: npt.NDArray[np.int64],
        rate: float,
        delta: float,
        l2: float,
    ) -> None: ...
    @property
    def sag_sizes(self) -> tuple[int, int, int]: ...
    def sag_pass(
        self,
        w: npt.NDArray[np.float64],
        d: npt.NDArray[np.float64],
        gradients: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]],
        lipschitz: npt.NDArray[np.float64],
        seen: npt.NDArray[np.bool_],
        pauses: npt.NDArray[np.uint8],
        *,
        draws: npt.NDArray[np.float64],
        sampling: str,
        saga: bool,
        l1: float,
        l2: float,
    ) -> int: ...

class ClassifierObjective:
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
    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def intercept(self) -> float | None: ...
    @property
    def targets(self) -> npt.NDArray[np.uint32]: ...
    @property
    def weights(self) -> npt.NDArray[np.float64]: ...
    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
    def value_and_gradient(
        self, w: npt.NDArray[np.float64], out: npt.NDArray[np.float64] | None = None
    ) -> tuple[float, npt.NDArray[np.float64]]: ...
    def probabilities(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def start(self, w: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def dual_start(self, alpha: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def dual_pass(
        self,
        w: npt.NDArray[np.float64],
        alpha: npt.NDArray[np.float64],
        squares: npt.NDArray[np.float64],
        visits: npt.NDArray[np.int64],
        l2: float,
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
    ) -> tuple[float, int, int, int, bool, float]: ...
    def as_chain(self) -> ChainObjective: ...
    def per_sample(self) -> SamplePasses: ...
    def one_against_rest(self, target: int) -> ClassifierObjective: ...
    def batch(self, samples: npt.NDArray[np.int64], factor: float = 1.0) -> ClassifierObjective: ...
    def aggregate(self, map: npt.NDArray[np.int64], n_columns: int) -> ClassifierObjective: ...
    def restrict(self, columns: npt.NDArray[np.int64]) -> ClassifierObjective: ...

class Network:
    def __init__(self, states: npt.NDArray[np.int64], edges: npt.NDArray[np.int64], *, threads: int = 0) -> None: ...
    @property
    def n_variables(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    def largest_table(self, *, limit: int | None = None) -> float: ...
    def exact(
        self, node_scores: npt.NDArray[np.float64], edge_scores: npt.NDArray[np.float64], *, limit: int = 4194304
    ) -> tuple[float, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def sample(
        self,
        node_scores: npt.NDArray[np.float64],
        edge_scores: npt.NDArray[np.float64],
        n_samples: int,
        *,
        seed: int = 0,
        limit: int = 4194304,
    ) -> npt.NDArray[np.int32]: ...
    def pair_marginals(
        self, node_scores: npt.NDArray[np.float64], edge_scores: npt.NDArray[np.float64], *, limit: int = 4194304
    ) -> npt.NDArray[np.float64]: ...
    def most_probable(
        self, node_scores: npt.NDArray[np.float64], edge_scores: npt.NDArray[np.float64], *, limit: int = 4194304
    ) -> npt.NDArray[np.int32]: ...
    def completed(
        self,
        node_scores: npt.NDArray[np.float64],
        edge_scores: npt.NDArray[np.float64],
        data: npt.NDArray[np.int32],
        *,
        weights: npt.NDArray[np.float64] | None = None,
        method: str = "exact",
        limit: int = 4194304,
        damping: float = 0.0,
        tolerance: float = 1e-6,
        max_iterations: int = 1000,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64], int]: ...
    def loopy_bp(
        self,
        node_scores: npt.NDArray[np.float64],
        edge_scores: npt.NDArray[np.float64],
        *,
        damping: float = 0.0,
        tolerance: float = 1e-6,
        max_iterations: int = 1000,
        schedule: str = "flooding",
        messages: npt.NDArray[np.float64] | None = None,
    ) -> tuple[
        float,
        npt.NDArray[np.float64],
        npt.NDArray[np.float64],
        npt.NDArray[np.float64],
        int,
        float,
        int,
    ]:
        """Sum-product messages until the largest change of a log message is at most `tolerance`.

        Fixed points are stationary points of the Bethe free energy; on trees they are exact. Binary variables take odds
        for messages, unless scores are too large; all others take logarithms.

        Source: Yedidia, Freeman & Weiss (2005); `schedule="residual"`: Elidan, McGraw & Koller (2006), on one thread.
        Cost: an iteration computes every message once, O(states * states) each; binary ones in some nanoseconds.

        Args:
            node_scores: scores of all states, shape (sum of states,), finite.
            edge_scores: tables of all edges, each by rows of the first variable's states, finite.
            damping: share of the old log message in the new one, in [0, 1).
            tolerance: in nats, before damping; at least 0.
            max_iterations: at least 1. With "residual" an iteration is as many messages as there are.
            schedule: "flooding" or "residual".
            messages: where to start, as returned for the same graph; without it messages are uniform.

        Returns:
            Bethe's log Z; beliefs of nodes and of edges, laid out as the scores; the messages: out of each variable, by
            ascending edge, the logs of their ratios to the first state; iterations; the largest change of a log message
            at the end, above `tolerance` if iterations ran out; how many messages were computed.

        Raises:
            OptionError: an argument is out of range, not finite or of the wrong length.
        """

    def gibbs(
        self,
        node_scores: npt.NDArray[np.float64],
        edge_scores: npt.NDArray[np.float64],
        start: npt.NDArray[np.int32] | npt.NDArray[np.int64],
        *,
        sweeps: int,
        thin: int = 1,
        burn_in: int = 0,
        seed: int = 0,
    ) -> npt.NDArray[np.int32]:
        """Gibbs sampling: variables in turn, each from its distribution given all others; chains side by side.

        Source: Geman & Geman (1984). Samples depend on the seed and on a chain's number, not on threads.
        Cost: a sweep takes a random number and an exponential a variable, and O(degree) for each that changes; with
        more than two states O(degree * states) for every variable.

        Args:
            node_scores: as in `loopy_bp`.
            edge_scores: as in `loopy_bp`.
            start: where chains begin, shape (chains, n_variables).
            sweeps: passes over all variables behind the first `burn_in`.
            thin: of so many sweeps the last one is kept.
            burn_in: passes that are not kept.
            seed: at least 0.

        Returns:
            Samples of the first chain in order, then of the next: shape (chains * (sweeps // thin), n_variables).

        Raises:
            OptionError: an argument is out of range, not finite or of the wrong shape.
        """

class PseudoLikelihood:
    def __init__(
        self,
        states: npt.NDArray[np.int64],
        codes: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float64] | None = None,
        *,
        threads: int = 0,
    ) -> None: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    @property
    def frequencies(self) -> npt.NDArray[np.float64]: ...
    def value_and_gradient(
        self, w: npt.NDArray[np.float64], out: npt.NDArray[np.float64] | None = None
    ) -> tuple[float, npt.NDArray[np.float64]]: ...
    def node(self, variable: int) -> tuple[RestrictedPseudoLikelihood, npt.NDArray[np.int64]]: ...
    def nodewise(
        self,
        variables: npt.NDArray[np.int64],
        *,
        l1: float,
        l2: float,
        tolerance: float,
        gradient_tolerance: float,
        max_steps: int,
    ) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], float, float, float, int, bool]]: ...
    def restrict(self, features: npt.NDArray[np.int64]) -> RestrictedPseudoLikelihood: ...

class RestrictedPseudoLikelihood:
    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    def value_and_gradient(
        self, w: npt.NDArray[np.float64], out: npt.NDArray[np.float64] | None = None
    ) -> tuple[float, npt.NDArray[np.float64]]: ...
    def restrict(self, features: npt.NDArray[np.int64]) -> RestrictedPseudoLikelihood: ...

class ChainModel:
    @staticmethod
    def open(path: str) -> ChainModel: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> ChainModel: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str) -> None: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def template(self) -> str | None: ...
    @property
    def intercept(self) -> str | None: ...
    @property
    def settings(self) -> str: ...
    @property
    def n_attributes(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    def state_features(self) -> list[tuple[str, str, float]]: ...
    def transition_features(self) -> list[tuple[str, str, float]]: ...
    def triple_features(self) -> list[tuple[str, str, str, float]]: ...
    def bigram_features(self) -> list[tuple[str, str, str, float]]: ...
    def predict(self, corpus: Corpus, *, threads: int = 0) -> list[list[str]]: ...
    def marginals(self, corpus: Corpus, *, threads: int = 0) -> list[list[float]]: ...
    def transition_marginals(self, corpus: Corpus, *, threads: int = 0) -> list[list[float]]: ...
    def log_partition(self, corpus: Corpus, *, threads: int = 0) -> list[tuple[float, float]]: ...
    def tag_file(
        self, path: str, output: str = "-", *, format: str = "columns", marginals: bool = False, threads: int = 0
    ) -> int: ...

def classifier_of_corpus(
    corpus: Corpus,
    min_count: int,
    targets: npt.NDArray[np.uint32],
    weights: npt.NDArray[np.float64] | None = None,
    *,
    n_classes: int,
    intercept: float | None = None,
    scaled: bool = False,
    threads: int = 0,
) -> tuple[ClassifierObjective, npt.NDArray[np.int64]]: ...
def classifier_model(
    names: Sequence[str],
    labels: Sequence[str],
    w: npt.NDArray[np.float64],
    settings: str,
    *,
    template: str | None = None,
    intercept: str | None = None,
) -> ChainModel: ...
def write_network(
    path: str,
    settings: str,
    edges: npt.NDArray[np.uint32],
    node_weights: npt.NDArray[np.float64],
    edge_weights: npt.NDArray[np.float64],
) -> None: ...
def read_network(
    path: str,
) -> tuple[str, npt.NDArray[np.uint32], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def write_output(output: str, text: bytes) -> None: ...
def check_template(template: str) -> int: ...

_Vector = npt.NDArray[np.float64]
_Rows = npt.NDArray[np.uint16]
# l1, l2, and how many of the last weights bear no penalty.
_Penalty = tuple[float, float, int]

class vectors:
    """Vector work, see `loglinear.vectors`; `threads` is a number of threads, 0 for all cores."""

    @staticmethod
    def norms(x: _Vector, threads: int) -> tuple[float, float]: ...
    @staticmethod
    def pseudo_gradient(
        w: _Vector, g: _Vector, penalty: _Penalty, out: _Vector, threads: int
    ) -> tuple[float, float]: ...
    @staticmethod
    def secant_pair(
        w_new: _Vector,
        g_new: _Vector,
        w: _Vector,
        g: _Vector,
        penalty: _Penalty,
        s_rows: _Rows,
        y_rows: _Rows,
        live: Sequence[int],
        spare: int,
        products: _Vector,
        threads: int,
    ) -> tuple[float, float, float]: ...
    @staticmethod
    def quasi_newton_step(
        w: _Vector,
        g: _Vector,
        penalty: _Penalty,
        s_rows: _Rows,
        s_coefficients: _Vector,
        y_rows: _Rows,
        y_coefficients: _Vector,
        live: Sequence[int],
        factor: float,
        alpha: float,
        out: _Vector,
        threads: int,
    ) -> tuple[float, float, float, float]: ...
