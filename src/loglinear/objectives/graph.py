"""The negative log-likelihood of conditional random fields on graphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import scipy.sparse

from .. import _core
from ..data.graphs import Graphs
from ..networks.exact import EVALUATION, LIMIT, Exact, is_narrow
from ..networks.graph import Graph, Inference, Report, Scores
from ..networks.loopy_bp import LoopyBP, Propagation
from ..networks.numbering import Codes, Numbering, Numbers
from ..networks.tree_reweighted import TreeReweighted
from ..vectors import Vector

__all__ = ["LOOPY", "GraphField", "GraphLikelihood"]

# The cost beyond which a node adds the rest of it to the value, as long as its margin is small.
FELT = 10.0
# Default options of loopy belief propagation on graphs.
LOOPY = LoopyBP(damping=0.1, max_iterations=1000)
# Score of a pair of labels that is forbidden: its probability is 0 in double precision, whatever other labels cost.
FORBIDDEN = -1e9


class GraphLikelihood:
    """NLL of a conditional random field on graphs, the sum over graphs of -log p(y | x; w), in nats.

    Weights: of each node feature with each label, by rows, shape (n_node_features, L); then of each edge feature
    with each pair of labels, shape (n_edge_features, L, L), the label of the edge's first node first, or if they are
    symmetric, with each of the L (L + 1) / 2 pairs without order.

    Where labels are missing, the NLL of the others is used, which is not convex. With costs it is the softmax-margin:
    in log Z a labelling's score is raised by the cost of each label that it has wrong (Gimpel & Smith 2010).

    Cost: an evaluation runs inference on all graphs at a time, and once more if labels are missing.

    Args:
        graphs: the samples.
        labels: label of every node, from 0 to L - 1, or -1 where it is missing, shape (n_nodes,).
        n_labels: L, at least 2.
        inference: the method; None for exact inference where the graphs are narrow, and `LOOPY` elsewhere.
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
        inference: Inference | None = None,
        symmetric: bool = False,
        forbidden: Iterable[tuple[int, int]] = (),
        costs: Vector | None = None,
        threads: int = 0,
    ) -> None:
        labelled = np.flatnonzero(labels >= 0)
        nodes = np.zeros((len(labels), n_labels))
        nodes[labelled, labels[labelled]] = 1.0
        self._field = GraphField(
            graphs, n_labels, inference, symmetric=symmetric, forbidden=forbidden, gold=nodes, threads=threads
        )
        self._labels, self._costs = labels, costs
        self._passes: _core.SamplePasses | None = None
        self._factor = 1.0
        self.n_samples = len(graphs.sizes)
        self.n_features, self.n_threads = self._field.n_features, self._field.n_threads
        self._hidden: Codes | None = None if labelled.size == labels.size else labels[None, :].astype(np.int32)
        first, second = labels[graphs.edges].T
        pairs = np.zeros((len(graphs.edges), n_labels**2))
        whole = np.flatnonzero((first >= 0) & (second >= 0))
        pairs[whole, first[whole] * n_labels + second[whole]] = 1.0
        self._counts = self._field.gradient(nodes, pairs)
        self._raised: Vector | None = None
        if costs is not None:
            self._raised = np.where(labels[:, None] >= 0, (1.0 - nodes) * costs[:, None], 0.0)

    @property
    def exact(self) -> bool:
        """Whether inference is exact."""
        return isinstance(self._field.inference, Exact)

    @property
    def is_convex(self) -> bool:
        """Whether the objective is convex: inference is exact or tree-reweighted, and no label is missing."""
        return self._field.inference.is_convex and self._hidden is None

    @property
    def cost_constant(self) -> float:
        """What costs beyond `FELT` add to the value at all weights that give small scores, in nats."""
        raised = 0.0 if self._raised is None else np.maximum(self._raised.max(axis=1) - FELT, 0.0).sum()
        return self._factor * float(raised)

    @property
    def n_pairs(self) -> int:
        """Number of weights of an edge feature."""
        return self._field.n_pairs

    @property
    def has_hessian_diagonal(self) -> bool:
        """Whether `hessian_diagonal` is known: not with missing labels."""
        return self._hidden is None

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return about the diagonal of the Hessian at w, shape (n_features,): the curvature along each weight.

        Nodes are taken as independent of one another, and so are edges: a feature gets the sum of value^2 p (1 - p), p
        the marginal of its label or pair of labels. Cost: an evaluation.
        """
        _, nodes, pairs = self._field.marginals(w, self._raised)
        return self._factor * self._field.squared(nodes * (1.0 - nodes), pairs * (1.0 - pairs))

    def largest_values(self) -> Vector | None:
        """Return the largest absolute value of each feature in the graphs, shape (n_features,)."""
        return self._field.largest_values()

    @property
    def n_unpenalised(self) -> int:
        """0: there is no intercept that a penalty spares."""
        return 0

    @property
    def unconverged(self) -> int:
        """Evaluations whose belief propagation did not settle."""
        return self._field.report.unconverged

    def sample(self, samples: Numbers) -> GraphLikelihood:
        """Return the objective on some of the graphs, of all features."""
        field = self._field
        graphs, nodes = field.graphs.chosen(samples)
        return GraphLikelihood(
            graphs,
            self._labels[nodes],
            field.n_labels,
            inference=field.inference,
            symmetric=field.symmetric,
            forbidden=field.forbidden,
            costs=None if self._costs is None else self._costs[nodes],
            threads=1,
        )

    def batch(self, samples: Numbers, factor: float) -> GraphLikelihood:
        """Return the objective on some of the graphs, each weighing ``factor`` times as much."""
        batch = self.sample(samples)
        batch._factor = factor
        return batch

    def per_sample(self) -> _core.SamplePasses:
        """Return the same problem for passes over the graphs, each by inference on it alone; made once."""
        if self._passes is None:
            self._passes = self._field.passes(self._labels, self._raised, self._factor)
        return self._passes

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the NLL and its gradient; see `Objective`."""
        out = np.empty(self.n_features) if out is None else out
        log_z, nodes, pairs = self._field.marginals(w, self._raised)
        score, counts = self._completed(w)
        with np.errstate(invalid="ignore"):
            np.subtract(self._field.gradient(nodes, pairs), counts, out=out)
        out *= self._factor
        return self._factor * (log_z - score), out

    def _completed(self, w: Vector) -> tuple[float, Vector]:
        """Log of the sum over the missing labels of exp(score), and the expected features."""
        if self._hidden is None:
            with np.errstate(invalid="ignore", over="ignore"):
                return float(w @ self._counts), self._counts
        log_z, nodes, pairs = self._field.given(w, self._hidden)
        return log_z, self._field.gradient(nodes, pairs)


class GraphField:
    """Graphs with scores; arguments as of `GraphLikelihood`, and in training the labels.

    Args:
        gold: 1 for the known label of each node, shape (n_nodes, L); None after training.

    Attributes:
        inference: the method, without memory of other graphs.
        report: how inference went.
    """

    def __init__(
        self,
        graphs: Graphs,
        n_labels: int,
        inference: Inference | None = None,
        *,
        symmetric: bool = False,
        forbidden: Iterable[tuple[int, int]] = (),
        gold: Vector | None = None,
        threads: int = 0,
    ) -> None:
        self.graphs, self.n_labels, self.symmetric, self.forbidden = graphs, n_labels, symmetric, tuple(forbidden)
        self._graph = Graph(Numbering(np.full(int(graphs.sizes.sum()), n_labels)), graphs.edges, threads)
        self._weight_of = weights_of_pairs(n_labels, symmetric=symmetric)
        self.n_pairs = int(self._weight_of.max()) + 1
        self._forbidden = np.zeros(n_labels**2)
        for first, second in self.forbidden:
            self._forbidden[first * n_labels + second] = FORBIDDEN
        self._n_node_weights = graphs.nodes.shape[1] * n_labels
        self.n_features = self._n_node_weights + graphs.ties.shape[1] * self.n_pairs
        network = self._graph.network
        self.n_threads = network.n_threads
        if inference is None:
            inference = Exact() if is_narrow(network, EVALUATION) else LOOPY
        labels = None if gold is None else gold.ravel()
        self.inference: Inference = inference.labelled(labels) if isinstance(inference, LoopyBP) else replace(inference)
        self.report = Report(inference.name)

    def scores(self, w: Vector, costs: Vector | None = None) -> Scores:
        """Scores of all nodes' labels, plus their costs if there are any, and of all edges' pairs of labels."""
        at, labels = self._n_node_weights, self.n_labels
        nodes = np.asarray(self.graphs.nodes @ w[:at].reshape(-1, labels))
        if costs is not None:
            nodes = nodes + costs
        pairs = self.graphs.ties @ w[at:].reshape(-1, self.n_pairs)[:, self._weight_of] + self._forbidden
        return nodes.ravel(), pairs.ravel()

    def marginals(self, w: Vector, costs: Vector | None = None) -> tuple[float, Vector, Vector]:
        """Log Z of all graphs together, and probabilities of labels, (n_nodes, L), and of pairs, (n_edges, L^2)."""
        moments = self.inference.moments(self._graph, self.scores(w, costs), self.report, whole=False)
        return moments.log_z, moments.nodes.reshape(-1, self.n_labels), moments.edges.reshape(-1, self.n_labels**2)

    def given(self, w: Vector, labels: Codes) -> tuple[float, Vector, Vector]:
        """The same given the labels that are known, shape (1, n_nodes), -1 for the others."""
        completed = self._given_labels.completed(self._graph, self.scores(w), labels)
        nodes, pairs = completed.beliefs.reshape(-1, self.n_labels), completed.edges.reshape(-1, self.n_labels**2)
        self.report.unconverged += completed.unconverged
        return float(completed.log_z[0]), nodes, pairs

    @property
    def _given_labels(self) -> Inference:
        """The method of inference given the known labels: tree-reweighted log Z would be an upper bound there."""
        return LOOPY if isinstance(self.inference, TreeReweighted) else self.inference

    def passes(self, labels: Numbers, costs: Vector | None, weight: float) -> _core.SamplePasses:
        """Return the graphs, each with the same weight, for passes that visit them one by one; arguments as above."""
        graphs, method = self.graphs, self.inference
        return _core.graph_passes(
            graphs.sizes,
            graphs.edges,
            _rows(graphs.nodes),
            _rows(graphs.ties),
            labels,
            n_labels=self.n_labels,
            n_features=(graphs.nodes.shape[1], graphs.ties.shape[1]),
            weight_of=self._weight_of,
            forbidden=self._forbidden,
            weight=weight,
            limit=method.limit if isinstance(method, Exact) else LIMIT,
            costs=None if costs is None else costs.ravel(),
            propagation=_propagation(method),
            hidden=_propagation(self._given_labels),
            appearances=method.of(self._graph) if isinstance(method, TreeReweighted) else None,
        )

    def gradient(self, nodes: Vector, pairs: Vector) -> Vector:
        """Return sums of features, each times the value given for its label or pair of labels."""
        return self._sums(self.graphs, nodes, pairs)

    def squared(self, nodes: Vector, pairs: Vector) -> Vector:
        """Return sums of squared features, each times the value given for its label or pair of labels."""
        features = self.graphs.nodes
        squares = scipy.sparse.csr_array(features).power(2) if scipy.sparse.issparse(features) else features**2
        with np.errstate(over="ignore"):
            ties = self.graphs.ties**2
        return self._sums(replace(self.graphs, nodes=squares, ties=ties), nodes, pairs)

    def _sums(self, graphs: Graphs, nodes: Vector, pairs: Vector) -> Vector:
        with np.errstate(over="ignore", invalid="ignore"):  # solvers check the numbers that follow
            ties = graphs.ties.T @ pairs
        shared = np.zeros((len(ties), self.n_pairs))
        np.add.at(shared.T, self._weight_of, ties.T)
        return np.concatenate([np.asarray(graphs.nodes.T @ nodes).ravel(), shared.ravel()])

    def largest_values(self) -> Vector:
        """Return the largest absolute value of the feature of each weight, shape (n_features,)."""
        nodes = abs(self.graphs.nodes).max(axis=0)
        largest = np.asarray(nodes.toarray() if scipy.sparse.issparse(nodes) else nodes).ravel()
        ties = np.abs(self.graphs.ties).max(axis=0, initial=0.0)
        return np.concatenate([np.repeat(largest, self.n_labels), np.repeat(ties, self.n_pairs)])

    def best(self, w: Vector) -> Numbers:
        """Return the most probable labelling if inference is exact, else the most probable label of each node."""
        if isinstance(self.inference, Exact):
            best = self._graph.network.most_probable(*self.scores(w), limit=self.inference.limit)
            return np.asarray(best, dtype=np.int64)
        return np.asarray(self.marginals(w)[1].argmax(axis=1))


def _propagation(method: Inference) -> tuple[float, float, int, str] | None:
    """Return the options of belief propagation; None for exact inference."""
    if not isinstance(method, Propagation):
        return None
    schedule = method.schedule if isinstance(method, LoopyBP) else "flooding"
    return method.damping, method.tolerance, method.max_iterations, schedule


def _rows(features: Vector | scipy.sparse.csr_array) -> tuple[Numbers, Numbers, Vector]:
    """Return features as compressed sparse rows: where each begins, the numbers of its features, and their values."""
    rows = scipy.sparse.csr_array(features, dtype=np.float64)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data


def weights_of_pairs(n_labels: int, *, symmetric: bool) -> Numbers:
    """Return the number of the weight of each pair of labels, row by row, shape (L^2,)."""
    if not symmetric:
        return np.arange(n_labels**2)
    first, second = np.triu_indices(n_labels)
    numbers = np.zeros((n_labels, n_labels), dtype=np.int64)
    numbers[first, second] = numbers[second, first] = np.arange(first.size)
    return numbers.ravel()
