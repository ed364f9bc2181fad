"""The negative log-likelihood of conditional random fields on graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..data.graphs import Graphs
from ..networks import tree_reweighted
from ..networks.appearances import appearances
from ..networks.exact import is_narrow
from ..networks.numbering import Codes, Numbers
from ..vectors import Vector

__all__ = ["GraphField", "GraphLikelihood"]

# Entries of the largest table up to which "auto" is exact.
EXACT = 2**14
# Score, in nats, that pulls belief propagation's messages towards the labels.
CERTAIN = 20.0
# Score of a pair of labels that is forbidden: its probability is 0 in double precision.
FORBIDDEN = -1e4
DAMPING, TOLERANCE = 0.1, 1e-6


class GraphLikelihood:
    """NLL of a conditional random field on graphs, the sum over graphs of -log p(y | x; w), in nats.

    Weights: of each node feature with each label, by rows, shape (n_node_features, L); behind them of each edge feature
    with each pair of labels, shape (n_edge_features, L, L), the label of the edge's first node first, or if they are
    symmetric, with each of the L (L + 1) / 2 pairs without order.

    Where labels are missing, the NLL is that of the others, which is not convex. With costs it is the softmax-margin:
    in log Z a labelling's score is raised by the cost of each label that it has wrong (Gimpel & Smith 2010).

    Cost: an evaluation runs inference on all graphs at a time, and once more if labels are missing.

    Args:
        graphs: the samples.
        labels: label of every node, from 0 to L - 1, or -1 where it is missing, shape (n_nodes,).
        n_labels: L, at least 2.
        inference: "auto", "exact", "loopy_bp" or "trw" (`networks.tree_reweighted`).
        symmetric: whether both orders of a pair of labels share a weight.
        forbidden: pairs of labels that no edge may have, the label of its first node first.
        costs: what a wrong label of each node costs, nats, >= 0, shape (n_nodes,); None for 0.
        threads: 0 for all cores.

    Attributes:
        unconverged: evaluations whose belief propagation did not settle.
    """

    def __init__(
        self,
        graphs: Graphs,
        labels: Numbers,
        n_labels: int,
        *,
        inference: str = "auto",
        symmetric: bool = False,
        forbidden: Iterable[tuple[int, int]] = (),
        costs: Vector | None = None,
        threads: int = 0,
    ) -> None:
        forbidden = tuple(forbidden)
        self._options: dict[str, Any] = {"inference": inference, "symmetric": symmetric, "forbidden": forbidden}
        self._field = GraphField(graphs, n_labels, threads=threads, **self._options)
        self._graphs, self.n_samples = graphs, len(graphs.sizes)
        self._labels, self._costs = labels, costs
        self._passes: GraphPasses | None = None
        self._factor = 1.0
        self.n_features, self.n_threads = self._field.n_features, self._field.n_threads
        known = np.flatnonzero(labels >= 0)
        nodes = np.zeros((len(labels), n_labels))
        nodes[known, labels[known]] = 1.0
        self._hidden: Codes | None = None if known.size == labels.size else labels[None, :].astype(np.int32)
        first, second = labels[graphs.edges].T
        pairs = np.zeros((len(graphs.edges), n_labels**2))
        whole = np.flatnonzero((first >= 0) & (second >= 0))
        pairs[whole, first[whole] * n_labels + second[whole]] = 1.0
        self._counts = self._field.gradient(nodes, pairs)
        self._field.gold = nodes
        if costs is not None:
            self._field.costs = np.where(labels[:, None] >= 0, (1.0 - nodes) * costs[:, None], 0.0)

    @property
    def exact(self) -> bool:
        """Whether inference is exact."""
        return self._field.exact

    @property
    def is_convex(self) -> bool:
        """Whether the objective is convex: inference is exact or tree-reweighted, and no label is missing."""
        return (self.exact or self._field.appearances is not None) and self._hidden is None

    @property
    def n_unpenalised(self) -> int:
        """0: there is no intercept that a penalty spares."""
        return 0

    @property
    def unconverged(self) -> int:
        """Evaluations whose belief propagation did not settle."""
        return self._field.unconverged

    def sample(self, samples: Numbers) -> GraphLikelihood:
        """Return the objective on some of the graphs, of all features."""
        graphs, nodes = self._graphs.chosen(samples)
        costs = None if self._costs is None else self._costs[nodes]
        return GraphLikelihood(
            graphs, self._labels[nodes], self._field.n_labels, costs=costs, threads=1, **self._options
        )

    def batch(self, samples: Numbers, factor: float) -> GraphLikelihood:
        """Return the objective on some of the graphs, each weighing ``factor`` times as much."""
        found = self.sample(samples)
        found._factor = factor
        return found

    def per_sample(self) -> GraphPasses:
        """Return the same problem for passes over the graphs; made once."""
        if self._passes is None:
            self._passes = GraphPasses([self.sample(np.array([k])) for k in range(self.n_samples)])
        return self._passes

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the NLL and its gradient; see `Objective`."""
        out = np.empty(self.n_features) if out is None else out
        log_z, nodes, pairs = self._field.marginals(w, costly=True)
        score, counts = self._completed(w)
        np.subtract(self._field.gradient(nodes, pairs), counts, out=out)
        out *= self._factor
        return self._factor * (log_z - score), out

    def _completed(self, w: Vector) -> tuple[float, Vector]:
        """Log of the sum over the missing labels of exp(score), and the expected features."""
        if self._hidden is None:
            return float(w @ self._counts), self._counts
        log_z, nodes, pairs = self._field.given(w, self._hidden)
        return log_z, self._field.gradient(nodes, pairs)


class GraphPasses:
    """Passes over graphs, one after the other, each by inference on it alone.

    Cost: an update takes time for all features.

    Args:
        graphs: the objective on each graph.

    Attributes:
        run_ends: None: graphs are in memory.
    """

    run_ends = None

    def __init__(self, graphs: Sequence[GraphLikelihood]) -> None:
        self._graphs, self.n_samples, self.n_features = graphs, len(graphs), graphs[0].n_features

    def sg_pass(self, w: Vector, sum: Vector, *, visits: Numbers, rates: Vector, l2: float) -> None:
        """Update w in place, graph by graph, and add every iterate to ``sum``; see `SG`."""
        gradient = np.empty_like(w)
        for graph, rate in zip(visits.tolist(), rates.tolist(), strict=True):
            self._graphs[graph].value_and_gradient(w, gradient)
            w *= 1.0 - rate * l2
            w -= rate * gradient
            sum += w

    def adagrad_pass(
        self, w: Vector, squares: Vector, *, visits: Numbers, rate: float, delta: float, l2: float
    ) -> None:
        """Update w and the G_j in place, graph by graph; see `AdaGrad`."""
        gradient = np.empty_like(w)
        for graph in visits.tolist():
            self._graphs[graph].value_and_gradient(w, gradient)
            squares += gradient**2
            alpha = rate / (delta + np.sqrt(squares))
            w -= alpha * gradient
            w /= 1.0 + alpha * l2


class GraphField:
    """Graphs with scores; arguments as of `GraphLikelihood`.

    Attributes:
        exact: whether inference is exact.
        appearances: of the edges, if inference is tree-reweighted; else None.
        gold: 1 for the known label of each node, shape (n_nodes, L); None after training.
        costs: added to the scores of nodes while training, shape (n_nodes, L); None for none.
        unconverged: evaluations whose belief propagation did not settle.
    """

    def __init__(
        self,
        graphs: Graphs,
        n_labels: int,
        inference: str,
        *,
        symmetric: bool = False,
        forbidden: Iterable[tuple[int, int]] = (),
        threads: int = 0,
    ) -> None:
        self.graphs, self.n_labels = graphs, n_labels
        self._network = _core.Network(np.full(int(graphs.sizes.sum()), n_labels), graphs.edges, threads=threads)
        self._weight_of = weights_of_pairs(n_labels, symmetric=symmetric)
        self._n_pairs = int(self._weight_of.max()) + 1
        self._forbidden = np.zeros(n_labels**2)
        for first, second in forbidden:
            self._forbidden[first * n_labels + second] = FORBIDDEN
        self._n_node_weights = graphs.nodes.shape[1] * n_labels
        self.n_features = self._n_node_weights + graphs.ties.shape[1] * self._n_pairs
        self.n_threads, self.unconverged = self._network.n_threads, 0
        if inference == "auto":
            inference = "exact" if is_narrow(self._network, EXACT) else "loopy_bp"
        self.exact = inference == "exact"
        self.appearances = appearances(int(graphs.sizes.sum()), graphs.edges) if inference == "trw" else None
        self.gold: Vector | None = None
        self.costs: Vector | None = None
        self._messages: Vector | None = None

    def scores(self, w: Vector, *, costly: bool = False) -> tuple[Vector, Vector]:
        """Scores of all nodes' labels and of all edges' pairs of labels, with the costs if ``costly``."""
        at, labels = self._n_node_weights, self.n_labels
        nodes = np.asarray(self.graphs.nodes @ w[:at].reshape(-1, labels))
        if costly and self.costs is not None:
            nodes = nodes + self.costs
        pairs = self.graphs.ties @ w[at:].reshape(-1, self._n_pairs)[:, self._weight_of] + self._forbidden
        return nodes.ravel(), pairs.ravel()

    def marginals(self, w: Vector, *, costly: bool = False) -> tuple[float, Vector, Vector]:
        """Log Z of all graphs together, and probabilities of labels, (n_nodes, L), and of pairs, (n_edges, L^2)."""
        scores = self.scores(w, costly=costly)
        if self.exact:
            log_z, nodes, pairs = self._network.exact(*scores)
        else:
            log_z, nodes, pairs = self._propagated(scores)
        return log_z, nodes.reshape(-1, self.n_labels), pairs.reshape(-1, self.n_labels**2)

    def given(self, w: Vector, labels: Codes) -> tuple[float, Vector, Vector]:
        """The same given the labels that are known, shape (1, n_nodes), -1 for the others."""
        options = {"method": "exact"} if self.exact else {"method": "loopy_bp", "damping": DAMPING}
        found = self._network.completed(*self.scores(w), labels, **options)
        nodes, pairs = found.beliefs.reshape(-1, self.n_labels), found.edges.reshape(-1, self.n_labels**2)
        self.unconverged += found.unconverged
        return float(found.log_z[0]), nodes, pairs

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
            *scores, damping=tree_reweighted.DAMPING, tolerance=TOLERANCE, messages=self._messages, appearances=share
        )
        self._messages = found.messages
        self.unconverged += found.residual > TOLERANCE
        return found.log_z, found.nodes, found.edges

    def gradient(self, nodes: Vector, pairs: Vector) -> Vector:
        """Return sums of features, each times the value given for its label or pair of labels."""
        ties = self.graphs.ties.T @ pairs
        shared = np.zeros((len(ties), self._n_pairs))
        np.add.at(shared.T, self._weight_of, ties.T)
        return np.concatenate([np.asarray(self.graphs.nodes.T @ nodes).ravel(), shared.ravel()])

    def best(self, w: Vector) -> Numbers:
        """Return the most probable labelling if inference is exact, else the most probable label of each node."""
        if self.exact:
            return np.asarray(self._network.most_probable(*self.scores(w)), dtype=np.int64)
        return np.asarray(self.marginals(w)[1].argmax(axis=1))


def weights_of_pairs(n_labels: int, *, symmetric: bool) -> Numbers:
    """Return the number of the weight of each pair of labels, row by row, shape (L^2,)."""
    if not symmetric:
        return np.arange(n_labels**2)
    first, second = np.triu_indices(n_labels)
    found = np.zeros((n_labels, n_labels), dtype=np.int64)
    found[first, second] = found[second, first] = np.arange(first.size)
    return found.ravel()
