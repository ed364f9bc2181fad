"""The negative log-likelihood of conditional random fields on graphs."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..data.graphs import Graphs
from ..networks.appearances import appearances
from ..networks.exact import is_narrow
from ..networks.numbering import Numbers
from ..vectors import Vector

__all__ = ["GraphField", "GraphLikelihood"]

# Entries of the largest table up to which "auto" is exact.
EXACT = 2**14
# Score, in nats, that pulls belief propagation's messages towards the labels.
CERTAIN = 20.0
DAMPING, TOLERANCE = 0.1, 1e-6


class GraphLikelihood:
    """NLL of a conditional random field on graphs, the sum over graphs of -log p(y | x; w), in nats.

    Weights: of each node feature with each label, by rows, shape (n_node_features, L); behind them of each edge feature
    with each pair of labels, shape (n_edge_features, L, L), the label of the edge's first node first.

    Cost: an evaluation runs inference on all graphs at a time.

    Args:
        graphs: the samples.
        labels: label of every node, from 0 to L - 1, shape (n_nodes,).
        n_labels: L, at least 2.
        inference: "auto", "exact", "loopy_bp" or "trw" (`networks.tree_reweighted`).
        threads: 0 for all cores.

    Attributes:
        unconverged: evaluations whose belief propagation did not settle.
    """

    def __init__(
        self, graphs: Graphs, labels: Numbers, n_labels: int, *, inference: str = "auto", threads: int = 0
    ) -> None:
        self._field = GraphField(graphs, n_labels, inference, threads)
        self._graphs, self.n_samples = graphs, len(graphs.sizes)
        self.n_features, self.n_threads = self._field.n_features, self._field.n_threads
        nodes = np.zeros((len(labels), n_labels))
        nodes[np.arange(len(labels)), labels] = 1.0
        pairs = np.zeros((len(graphs.edges), n_labels**2))
        pairs[np.arange(len(pairs)), labels[graphs.edges[:, 0]] * n_labels + labels[graphs.edges[:, 1]]] = 1.0
        self._counts = self._field.gradient(nodes, pairs)
        self._field.gold = nodes

    @property
    def exact(self) -> bool:
        """Whether inference is exact."""
        return self._field.exact

    @property
    def is_convex(self) -> bool:
        """Whether the objective is convex: inference is exact or tree-reweighted."""
        return self.exact or self._field.appearances is not None

    @property
    def unconverged(self) -> int:
        """Evaluations whose belief propagation did not settle."""
        return self._field.unconverged

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the NLL and its gradient; see `Objective`."""
        out = np.empty(self.n_features) if out is None else out
        log_z, nodes, pairs = self._field.marginals(w)
        np.subtract(self._field.gradient(nodes, pairs), self._counts, out=out)
        return log_z - float(w @ self._counts), out


class GraphField:
    """Graphs with scores; arguments as of `GraphLikelihood`."""

    def __init__(self, graphs: Graphs, n_labels: int, inference: str, threads: int) -> None:
        self.graphs, self.n_labels = graphs, n_labels
        self._network = _core.Network(np.full(int(graphs.sizes.sum()), n_labels), graphs.edges, threads=threads)
        self._n_node_weights = graphs.nodes.shape[1] * n_labels
        self.n_features = self._n_node_weights + graphs.ties.shape[1] * n_labels**2
        self.n_threads, self.unconverged = self._network.n_threads, 0
        if inference == "auto":
            inference = "exact" if is_narrow(self._network, EXACT) else "loopy_bp"
        self.exact = inference == "exact"
        self.appearances = appearances(int(graphs.sizes.sum()), graphs.edges) if inference == "trw" else None
        self.gold: Vector | None = None
        self._messages: Vector | None = None

    def scores(self, w: Vector) -> tuple[Vector, Vector]:
        """Scores of all nodes' labels and of all edges' pairs of labels."""
        at, labels = self._n_node_weights, self.n_labels
        nodes = np.asarray(self.graphs.nodes @ w[:at].reshape(-1, labels))
        return nodes.ravel(), (self.graphs.ties @ w[at:].reshape(-1, labels**2)).ravel()

    def marginals(self, w: Vector) -> tuple[float, Vector, Vector]:
        """Log Z of all graphs together, and probabilities of labels, (n_nodes, L), and of pairs, (n_edges, L^2)."""
        scores = self.scores(w)
        if self.exact:
            log_z, nodes, pairs = self._network.exact(*scores)
        else:
            log_z, nodes, pairs = self._propagated(scores)
        return log_z, nodes.reshape(-1, self.n_labels), pairs.reshape(-1, self.n_labels**2)

    def _propagated(self, scores: tuple[Vector, Vector]) -> tuple[float, Vector, Vector]:
        """Return the fixed point of belief propagation; in training the one of two with the larger log Z.

        Tree-reweighted, it has one, and begins where the last run ended.
        """
        if self.appearances is not None:
            return self._spread(scores, self.appearances)
        starts: list[Vector | None] = [None]
        if self.gold is not None:
            towards = scores[0] + CERTAIN * self.gold.ravel(), scores[1]
            starts.append(self._network.loopy_bp(*towards, max_iterations=50).messages)
        found = [
            self._network.loopy_bp(*scores, damping=DAMPING, tolerance=TOLERANCE, messages=start) for start in starts
        ]
        best = max(found, key=lambda each: each.log_z)
        self.unconverged += best.residual > TOLERANCE
        return best.log_z, best.nodes, best.edges

    def _spread(self, scores: tuple[Vector, Vector], share: Vector) -> tuple[float, Vector, Vector]:
        found = self._network.loopy_bp(
            *scores, damping=0.5, tolerance=TOLERANCE, messages=self._messages, appearances=share
        )
        self._messages = found.messages
        self.unconverged += found.residual > TOLERANCE
        return found.log_z, found.nodes, found.edges

    def gradient(self, nodes: Vector, pairs: Vector) -> Vector:
        """Return sums of features, each times the value given for its label or pair of labels."""
        ties = self.graphs.ties.T @ pairs
        return np.concatenate([np.asarray(self.graphs.nodes.T @ nodes).ravel(), ties.ravel()])

    def best(self, w: Vector) -> Numbers:
        """Return the most probable labelling if inference is exact, else the most probable label of each node."""
        if self.exact:
            return np.asarray(self._network.most_probable(*self.scores(w)), dtype=np.int64)
        return np.asarray(self.marginals(w)[1].argmax(axis=1))
