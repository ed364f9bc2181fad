"""The native module. Private: the library's modules wrap it."""

from collections.abc import Callable, Iterable, Sequence
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
        path: str,
        format: str = "columns",
        template: str | None = None,
        *,
        labelled: bool = True,
        partial: bool = False,
        range: tuple[int, int] | None = None,
        threads: int = 0,
    ) -> Corpus: ...
    @staticmethod
    def encode(
        sentences: Iterable[Any],
        labels: Iterable[Sequence[str | tuple[str, ...] | None]] | None = None,
        weights: Sequence[float] | None = None,
        *,
        template: str | None = None,
    ) -> Corpus: ...
    @staticmethod
    def open(path: str) -> tuple[Corpus, str]: ...
    def save(self, path: str, settings: str) -> None: ...
    @staticmethod
    def concat(corpora: Sequence[Corpus]) -> Corpus: ...
    def check(self) -> None: ...
    @property
    def is_mapped(self) -> bool: ...
    @property
    def checksum(self) -> str | None: ...
    def __len__(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_attributes(self) -> int: ...
    @property
    def n_entries(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def labels(self) -> list[str]: ...
    def names(self) -> list[str]: ...
    def rows(
        self, *, bigrams: bool = False
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
    def first_partial(self) -> tuple[int, int] | None: ...
    def targets(self) -> npt.NDArray[np.uint32]: ...
    def weights(self) -> npt.NDArray[np.float64]: ...
    @property
    def has_bigrams(self) -> bool: ...
    @property
    def is_binary(self) -> bool: ...
    def lengths(self) -> list[int]: ...
    def select(self, sentences: Sequence[int]) -> Corpus: ...
    def gold(self) -> list[list[str | frozenset[str] | None]] | None: ...

class CorpusWriter:
    @staticmethod
    def create(path: str) -> CorpusWriter: ...
    @staticmethod
    def append(path: str) -> CorpusWriter: ...
    @property
    def settings(self) -> str: ...
    @property
    def n_sentences(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    def count(self, path: str, format: str = "columns", template: str | None = None, *, threads: int = 0) -> None: ...
    def keep(self, least: int) -> int: ...
    def read(
        self,
        path: str,
        format: str = "columns",
        template: str | None = None,
        *,
        labelled: bool = True,
        partial: bool = False,
        threads: int = 0,
    ) -> None: ...
    def push(self, corpus: Corpus) -> None: ...
    def finish(self, settings: str) -> None: ...
    def abandon(self) -> None: ...

class PartCounts:
    """What is seen in a part of a data set."""

    def __init__(self, corpus: Corpus, order: int) -> None: ...
    def joined(self, next: PartCounts) -> PartCounts: ...
    # features: an object with the attributes of loglinear.ChainFeatures
    def table(self, features: object) -> FeatureTable: ...
    @property
    def sizes(self) -> tuple[int, int, int]: ...
    @property
    def n_attributes(self) -> int: ...
    @property
    def labels(self) -> list[str]: ...
    def pack(self) -> bytes: ...
    @staticmethod
    def unpack(bytes: bytes) -> PartCounts: ...

class FeatureTable:
    """The features of a whole data set by name."""

    @property
    def n_features(self) -> int: ...
    @property
    def feature_counts(self) -> tuple[int, int, int, int]: ...
    @property
    def sizes(self) -> tuple[int, int, int]: ...
    @property
    def order(self) -> int: ...
    @property
    def is_binary(self) -> bool: ...
    @property
    def is_partial(self) -> bool: ...
    @property
    def has_bigrams(self) -> bool: ...
    @property
    def labels(self) -> list[str]: ...
    def names(self) -> list[str]: ...
    def feature_names(self, features: npt.NDArray[np.int64]) -> list[tuple[str | None, list[str]]]: ...
    def start_weights(self, model: ChainModel) -> tuple[npt.NDArray[np.float64], int]: ...
    def model(self, w: npt.NDArray[np.float64], settings: str, template: str | None = None) -> ChainModel: ...
    def pack(self) -> bytes: ...
    @staticmethod
    def unpack(bytes: bytes) -> FeatureTable: ...

class Objective:
    """A value and a gradient at weights; a subclass for each kind of model."""

    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    def value_and_gradient(
        self, w: npt.NDArray[np.float64], out: npt.NDArray[np.float64] | None = None
    ) -> tuple[float, npt.NDArray[np.float64]]: ...

class ChainPart(Objective):
    """A part of a data set as an objective over the features of the whole."""

    def __init__(
        self,
        corpus: Corpus,
        table: FeatureTable,
        *,
        constraints: str = "null",
        threads: int = 1,
    ) -> None: ...
    @property
    def own(self) -> ChainObjective: ...
    @property
    def n_bytes(self) -> int: ...
    def gather(self, all: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def scatter(self, own: npt.NDArray[np.float64], all: npt.NDArray[np.float64]) -> None: ...
    def restrict(self, features: npt.NDArray[np.int64]) -> ChainPart: ...

class Instances:
    def __init__(self) -> None: ...
    def append(self, items: Iterable[Any], labels: Iterable[str | bytes], group: int) -> None: ...
    def __len__(self) -> int: ...
    def corpus(self) -> tuple[Corpus, list[str]]: ...
    @property
    def groups(self) -> list[int]: ...

class ChainObjective(Objective):
    # features: an object with the attributes of loglinear.ChainFeatures
    # constraints: JSON, see loglinear.constraints.as_json
    def __init__(
        self,
        corpus: Corpus,
        features: object,
        *,
        constraints: str = "null",
        threads: int = 0,
    ) -> None: ...
    @property
    def n_unpenalised(self) -> int: ...
    @property
    def is_partial(self) -> bool: ...
    @property
    def n_unknown(self) -> int: ...
    @property
    def n_in_log_space(self) -> int: ...
    @property
    def order(self) -> int: ...
    @property
    def clusterable(self) -> tuple[int, int]: ...
    @property
    def feature_counts(self) -> tuple[int, int, int, int]: ...
    @property
    def weights(self) -> npt.NDArray[np.float64]: ...
    def sample_nlls(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def hessian_diagonal(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    @property
    def is_prunable(self) -> bool: ...
    def likely_labels(
        self, w: npt.NDArray[np.float64], least: float, out: npt.NDArray[np.float64] | None = None
    ) -> tuple[float, npt.NDArray[np.float64], LikelyLabels]: ...
    def pruned(
        self,
        likely: LikelyLabels,
        bound: float,
        links: float,
        guard: float,
        w: npt.NDArray[np.float64],
        value: float,
        gradient: npt.NDArray[np.float64],
        features: npt.NDArray[np.int64] | None = None,
    ) -> PrunedObjective: ...
    def per_sample(self) -> SamplePasses: ...
    def sample(self, samples: npt.NDArray[np.int64]) -> ChainObjective: ...
    def batch(self, samples: npt.NDArray[np.int64], factor: float) -> ChainObjective: ...
    def aggregate(self, map: npt.NDArray[np.int64], n_clusters: int) -> ChainObjective | None: ...
    def restrict(self, features: npt.NDArray[np.int64]) -> ChainObjective: ...
    def feature_names(self, features: npt.NDArray[np.int64]) -> list[tuple[str | None, list[str]]]: ...
    def start_weights(self, model: ChainModel) -> tuple[npt.NDArray[np.float64], int]: ...
    def model(self, w: npt.NDArray[np.float64], settings: str, template: str | None = None) -> ChainModel: ...

class LikelyLabels:
    """The likely labels of each token at some weights."""

    @property
    def least(self) -> float: ...

class PrunedObjective(Objective):
    """A chain objective over working sets of labels."""

    @property
    def n_entries(self) -> int: ...

class SamplePasses:
    """An objective as solvers see it that go sample by sample.

    Its passes have their signatures in the files of the solvers that make them: protocols such as `SGDL1Passes`.
    """

    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    @property
    def n_unpenalised(self) -> int: ...
    @property
    def run_ends(self) -> npt.NDArray[np.int64] | None: ...

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
    @property
    def n_outputs(self) -> int: ...
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
    ) -> NewtonStep: ...
    def as_chain(self) -> ChainObjective: ...
    def per_sample(self) -> SamplePasses: ...
    def one_against_rest(self, class_: int, /) -> ClassifierObjective: ...
    def reweighted(self, weights: npt.NDArray[np.float64]) -> ClassifierObjective: ...
    def batch(self, samples: npt.NDArray[np.int64], factor: float = 1.0) -> ClassifierObjective: ...
    def aggregate(self, map: npt.NDArray[np.int64], n_columns: int) -> ClassifierObjective: ...
    def restrict(self, columns: npt.NDArray[np.int64]) -> ClassifierObjective: ...

class CompletedRows:
    """The distributions of the hidden variables of a data set.

    Attributes:
        log_z: log of the sum of exp(score) over the hidden variables' states, for each row.
        beliefs: probabilities of all states of all variables, shape (rows, sum of states).
        edges: weighted sum over rows of the probabilities of all pairs of states of all edges, laid out as the scores.
        unconverged: number of rows for which belief propagation has not converged.
    """

    @property
    def log_z(self) -> npt.NDArray[np.float64]: ...
    @property
    def beliefs(self) -> npt.NDArray[np.float64]: ...
    @property
    def edges(self) -> npt.NDArray[np.float64]: ...
    @property
    def unconverged(self) -> int: ...

class LoopyBeliefs:
    """The result of belief propagation.

    Attributes:
        log_z: Bethe's approximation of log Z.
        nodes: beliefs of all states, laid out as the node scores.
        edges: beliefs of all pairs of states of all edges, laid out as the edge scores.
        messages: log ratios to the first state, of the messages out of each variable by ascending edge.
        iterations: number of iterations.
        residual: largest change of a log message at the end; above the tolerance if iterations ran out.
        n_messages: number of messages computed.
    """

    @property
    def log_z(self) -> float: ...
    @property
    def nodes(self) -> npt.NDArray[np.float64]: ...
    @property
    def edges(self) -> npt.NDArray[np.float64]: ...
    @property
    def messages(self) -> npt.NDArray[np.float64]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def residual(self) -> float: ...
    @property
    def n_messages(self) -> int: ...

class NetworkFile:
    """The content of a network's file: settings in JSON, two variables for each edge, and the scores."""

    @property
    def settings(self) -> str: ...
    @property
    def edges(self) -> npt.NDArray[np.uint32]: ...
    @property
    def node_weights(self) -> npt.NDArray[np.float64]: ...
    @property
    def edge_weights(self) -> npt.NDArray[np.float64]: ...

class Network:
    def __init__(self, states: npt.NDArray[np.int64], edges: npt.NDArray[np.int64], *, threads: int = 0) -> None: ...
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
    ) -> CompletedRows: ...
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
        appearances: npt.NDArray[np.float64] | None = None,
    ) -> LoopyBeliefs:
        """Computes sum-product messages until the largest change of a log message is at most `tolerance`.

        Fixed points are stationary points of the Bethe free energy; on trees they are exact. With appearances of a
        distribution of spanning forests there is one fixed point, whose log_z is an upper bound of log Z. Messages are
        kept as odds or ratios, or as logarithms if scores are too large.

        Source: Yedidia, Freeman & Weiss (2005); `schedule="residual"`: Elidan, McGraw & Koller (2006), on one thread;
        `appearances`: Wainwright, Jaakkola & Willsky (2005).
        Cost: an iteration computes every message once, O(states * states) each; binary ones in some nanoseconds.

        Args:
            node_scores: scores of all states, shape (sum of states,), finite.
            edge_scores: tables of all edges, each by rows of the first variable's states, finite.
            damping: share of the old log message in the new one, in [0, 1).
            tolerance: in nats, before damping; at least 0.
            max_iterations: at least 1. With "residual", an iteration computes as many messages as there are.
            schedule: "flooding" or "residual".
            messages: the first messages, as returned for the same graph; without them, uniform messages.
            appearances: the share of forests that have each edge, above 0 and at most 1, shape (n_edges,).

        Raises:
            OptionError: an argument is out of range, not finite or of the wrong length.
        """

    def mean_field(
        self,
        node_scores: npt.NDArray[np.float64],
        edge_scores: npt.NDArray[np.float64],
        nodes: npt.NDArray[np.float64],
        *,
        tolerance: float = 1e-9,
        sweeps: int = 100,
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Returns a lower bound of log Z, and the independent distributions that give it.

        Coordinate ascent from the distributions `nodes`, until a sweep raises the bound by at most `tolerance` times
        its size. Source: Wainwright & Jordan (2008), section 5. Cost: a sweep passes twice over all tables.

        Args:
            node_scores: as in `loopy_bp`.
            edge_scores: as in `loopy_bp`.
            nodes: where it begins, laid out as the node scores; the states of each variable sum to 1.
            tolerance: at least 0.
            sweeps: most sweeps, at least 1.

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
        seed: int = 0,
    ) -> npt.NDArray[np.int32]:
        """Gibbs sampling: a sweep draws each variable in turn from its distribution given all others.

        Source: Geman & Geman (1984). Samples depend on the seed and on the number of the chain, not on threads.
        Cost: a sweep takes a random number and an exponential a variable, and O(degree) for each variable that changes;
        with more than two states O(degree * states) for every variable.

        Args:
            node_scores: as in `loopy_bp`.
            edge_scores: as in `loopy_bp`.
            start: the first states of each chain, shape (chains, n_variables).
            sweeps: sweeps over all variables.
            thin: every `thin`-th sweep gives a sample.
            seed: at least 0.

        Returns:
            Samples of the first chain, then of the next, and so on: shape (chains * (sweeps // thin), n_variables).

        Raises:
            OptionError: an argument is out of range, not finite or of the wrong shape.
        """

class Regression:
    """The L1-penalised regression of a binary variable on all others.

    Attributes:
        columns: columns whose weights are not 0, ascending.
        weights: the weights of these columns.
        intercept: the weight without penalty.
        nll: negative log-likelihood without the penalty, nats.
        violation: largest violation of optimality at a weight.
        steps: Newton steps made.
        converged: whether a tolerance was met.
    """

    @property
    def columns(self) -> npt.NDArray[np.int64]: ...
    @property
    def weights(self) -> npt.NDArray[np.float64]: ...
    @property
    def intercept(self) -> float: ...
    @property
    def nll(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def converged(self) -> bool: ...

class PseudoLikelihood(Objective):
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
    ) -> list[Regression]: ...
    def restrict(self, features: npt.NDArray[np.int64]) -> RestrictedPseudoLikelihood: ...

class RestrictedPseudoLikelihood(Objective):
    def restrict(self, features: npt.NDArray[np.int64]) -> RestrictedPseudoLikelihood: ...

class ItemSequence:
    def __init__(self, pyseq: Iterable[Any]) -> None: ...
    def items(self) -> list[dict[str, float]]: ...
    def __len__(self) -> int: ...

class SequenceTagger:
    def __init__(self, *_arguments: Any, **_keywords: Any) -> None: ...
    @property
    def _model(self) -> ChainModel | None: ...
    def _use(self, model: ChainModel | None) -> None: ...
    def labels(self) -> list[str]: ...
    def set(self, xseq: Iterable[Any]) -> None: ...
    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]: ...
    def _tag_all(self, xseqs: Iterable[Any]) -> list[list[str]]: ...
    def probability(self, yseq: Iterable[str | bytes]) -> float: ...
    def marginal(self, y: str | bytes, pos: int) -> float: ...

class ChainModel:
    @staticmethod
    def open(path: str) -> ChainModel: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> ChainModel: ...
    @staticmethod
    def of_weights(
        labels: list[str],
        states: list[tuple[str, list[tuple[int, float]]]],
        transitions: list[tuple[tuple[int, int], float]],
        settings: str,
        template: str | None,
    ) -> ChainModel: ...
    def to_bytes(self) -> bytes: ...
    def export(self, format: str, labels: list[str] | None = None) -> bytes: ...
    def save(self, path: str) -> None: ...
    def constrained(self, constraints: str) -> ChainModel: ...
    @property
    def forbidden(self) -> list[tuple[int | None, int | None]]: ...
    @property
    def is_constrained(self) -> bool: ...
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
    def predict(self, corpus: Corpus, *, decode: str = "viterbi", threads: int = 0) -> list[list[str]]: ...
    def predict_single(self, sentence: Iterable[Any]) -> list[str]: ...
    def marginals_single(self, sentence: Iterable[Any]) -> list[list[float]]: ...
    def tag(
        self,
        corpus: Corpus,
        *,
        decode: str = "viterbi",
        rule: tuple[Sequence[str | None], bytes] | None = None,
        threads: int = 0,
    ) -> list[tuple[list[str], list[float], list[tuple[str, int, int, float]], float]]: ...
    def n_best(self, corpus: Corpus, n: int, *, threads: int = 0) -> list[list[tuple[list[str], float]]]: ...
    def marginals(self, corpus: Corpus, *, threads: int = 0) -> list[list[float]]: ...
    def transition_marginals(self, corpus: Corpus, *, threads: int = 0) -> list[list[float]]: ...
    def log_partition(self, corpus: Corpus, *, threads: int = 0) -> list[tuple[float, float]]: ...
    def tag_file(
        self,
        path: str,
        output: str = "-",
        *,
        format: str = "columns",
        marginals: bool = False,
        n_best: int | None = None,
        probabilities: str | None = None,
        rule: tuple[Sequence[str | None], bytes] | None = None,
        layout: str | None = None,
        detail: int | None = None,
        stream: Callable[[bytes], None] | None = None,
        threads: int = 0,
    ) -> int: ...

def cut_file(path: str, format: str, size: int) -> list[tuple[int, int]] | None: ...
def tag_lists(
    model: ChainModel, sentences: Iterable[Any], *, probabilities: bool = False, threads: int = 0
) -> tuple[list[list[Any]], tuple[list[list[float]], list[float]] | None]: ...
def tag_arrow(
    model: ChainModel, array: Any, *, probabilities: bool = False, threads: int = 0
) -> tuple[bool, list[bytes]]: ...
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
def symmetric_inverse(
    at: npt.NDArray[np.int32],
    columns: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    behind: npt.NDArray[np.int64],
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    threads: int = 0,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
    """Returns the diagonal of the inverse of a sparse symmetric matrix, and the triangle above it, row by row.

    Row a of the triangle begins with column behind[a]. None if the matrix is not positive definite, or so
    ill-conditioned that iterations run out. Source: conjugate gradients (Hestenes & Stiefel 1952). Cost: an iteration
    for all n columns passes n / 8 times over the matrix.

    Args:
        at: row -> its first entry, and behind all rows the number of entries, shape (n + 1,).
        columns: of the entries.
        values: of the entries; the diagonal is 1.
        behind: row -> first column that is wanted, shape (n,).
        tolerance: Euclidean norm of the residual of a column.
        max_iterations: for a column.
        threads: 0 for all cores.

    Raises:
        OptionError: the arrays are no sparse matrix.
    """

def write_network(
    path: str,
    settings: str,
    edges: npt.NDArray[np.uint32],
    node_weights: npt.NDArray[np.float64],
    edge_weights: npt.NDArray[np.float64],
) -> None: ...
def read_network(path: str) -> NetworkFile: ...
def write_output(output: str, text: bytes) -> None: ...
def check_template(template: str) -> int: ...

MEMORY_REMEDY: str

def end_when_exhausted() -> None: ...
def instruction_set() -> str: ...
def limit_instruction_set(name: str) -> None: ...

_Vector = npt.NDArray[np.float64]
_Rows = npt.NDArray[np.uint16]
# l1, l2, and the number of weights at the end that bear no penalty.
_Penalty = tuple[float, float, int]

class vectors:
    """The operations of `loglinear.vectors`; `threads` is a number of threads, 0 for all cores."""

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
        scale: _Vector | None,
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
        scale: _Vector | None,
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
    ) -> list[float]: ...
