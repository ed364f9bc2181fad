"""Pairwise networks: inference."""

import numpy as np
import numpy.typing as npt

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
        labels: npt.NDArray[np.float64] | None = None,
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
            labels: 1 for the known state of a variable, else 0, shape (sum of states,). Propagation then ignores
                ``messages`` and starts twice, from uniform messages and near the labels; the larger log_z is returned.

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
