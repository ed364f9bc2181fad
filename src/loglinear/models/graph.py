"""Conditional random fields on graphs: trees, grids, whatever has labelled nodes and edges."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..errors import DataError
from ..layout import Numbers
from ..minimize import Callback, Stop, minimize
from ..options import one_of
from ..problem import Problem
from ..solvers import Solver
from ..vectors import Vector
from .training import SolverOptions, print_record, thread_count

__all__ = ["GraphCRF", "GraphLikelihood", "grid_edges"]

Array = npt.NDArray[Any]
# Entries of the largest table up to which "auto" is exact.
EXACT = 2**14
# Score, in nats, that pulls belief propagation's messages towards the labels.
CERTAIN = 20.0
DAMPING, TOLERANCE = 0.1, 1e-6
INFERENCES = ("auto", "exact", "loopy_bp")


def grid_edges(rows: int, columns: int) -> Numbers:
    """Edges of a grid whose nodes are numbered row by row: to the right, then downwards, shape (n_edges, 2)."""
    nodes = np.arange(rows * columns).reshape(rows, columns)
    right = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], axis=1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], axis=1)
    return np.concatenate([right, down])


@dataclass(frozen=True)
class Graphs:
    """Graphs side by side, as one graph.

    Attributes:
        nodes: features of all nodes, shape (n_nodes, n_node_features).
        edges: pairs of nodes, shape (n_edges, 2).
        ties: features of all edges, shape (n_edges, n_edge_features).
        sizes: numbers of nodes of the graphs.
    """

    nodes: Any
    edges: Numbers
    ties: Vector
    sizes: Numbers

    @classmethod
    def of(cls, X: Iterable[Any]) -> Graphs:
        """Check graphs that a user gave, and join them.

        Raises:
            DataError: there are none, or one is not (node features, edges[, edge features]).
        """
        parts = [_checked(graph, number) for number, graph in enumerate(X)]
        if not parts:
            message = "X holds no graphs"
            raise DataError(message)
        for which, name in ((0, "node"), (2, "edge")):
            widths = {part[which].shape[1] for part in parts}
            if len(widths) > 1:
                message = f"graphs have different numbers of {name} features: {sorted(widths)}"
                raise DataError(message)
        sizes = np.array([part[0].shape[0] for part in parts], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        sparse = any(scipy.sparse.issparse(part[0]) for part in parts)
        nodes: Any = scipy.sparse.vstack([scipy.sparse.csr_array(part[0]) for part in parts], format="csr")
        return cls(
            nodes if sparse else np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] + start for part, start in zip(parts, starts, strict=True)]),
            np.concatenate([part[2] for part in parts]),
            sizes,
        )

    def split(self, values: Array) -> list[Array]:
        """What belongs to the nodes of each graph."""
        return np.split(values, np.cumsum(self.sizes)[:-1])


def _checked(graph: Any, number: int) -> tuple[Any, Numbers, Vector]:
    where = f"graph {number} of X"
    if not isinstance(graph, (tuple, list)) or len(graph) not in (2, 3):
        message = f"{where} is no tuple (node features, edges) or (node features, edges, edge features)"
        raise DataError(message)
    try:
        if scipy.sparse.issparse(graph[0]):
            nodes: Any = scipy.sparse.csr_array(graph[0], dtype=np.float64)
        else:
            nodes = np.asarray(graph[0], dtype=np.float64)
        edges = np.asarray(graph[1])
        edges = edges.reshape(0, 2).astype(np.int64) if edges.size == 0 else edges
        ties = np.ones((len(edges), 1)) if len(graph) == 2 else np.asarray(graph[2], dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{where} cannot be read as arrays of numbers: {error}"
        raise DataError(message) from error
    if nodes.ndim != 2 or not nodes.shape[0] or not np.isfinite(nodes.data if hasattr(nodes, "data") else nodes).all():
        message = f"{where}: node features have to be finite, of shape (n_nodes, n_node_features), one node at least"
    elif edges.ndim != 2 or edges.shape[1] != 2 or not np.issubdtype(edges.dtype, np.integer):
        message = f"{where}: edges have to be whole numbers of shape (n_edges, 2)"
    elif edges.size and not 0 <= edges.min() <= edges.max() < nodes.shape[0]:
        message = f"{where}: edges name nodes from 0 to {nodes.shape[0] - 1}, not {edges.min()} to {edges.max()}"
    elif ties.ndim != 2 or ties.shape[0] != len(edges) or not np.isfinite(ties).all():
        message = f"{where}: edge features have to be finite, of shape ({len(edges)}, n_edge_features)"
    else:
        return nodes, edges.astype(np.int64), ties
    raise DataError(message)


class GraphLikelihood:
    """NLL of a conditional random field on graphs, the sum over graphs of -log p(y | x; w), in nats.

    Weights: of each node feature with each label, by rows, shape (n_node_features, L); behind them of each edge feature
    with each pair of labels, shape (n_edge_features, L, L), the label of the edge's first node first.

    Cost: an evaluation is one of inference on all graphs at a time.

    Args:
        graphs: of the samples.
        labels: of all nodes, from 0 to L - 1, shape (n_nodes,).
        n_labels: L, at least 2.
        inference: "auto", "exact" or "loopy_bp".
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
            inference = "exact" if self._network.largest_table(limit=EXACT) <= np.log2(EXACT) else "loopy_bp"
        self.exact = inference == "exact"
        self.gold: Vector | None = None

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
        """What belief propagation finds; in training the larger log Z of two fixed points."""
        starts: list[Vector | None] = [None]
        if self.gold is not None:
            towards = scores[0] + CERTAIN * self.gold.ravel(), scores[1]
            starts.append(self._network.loopy_bp(*towards, max_iterations=50)[3])
        found = [
            self._network.loopy_bp(*scores, damping=DAMPING, tolerance=TOLERANCE, messages=start) for start in starts
        ]
        best = max(found, key=lambda each: each[0])
        self.unconverged += best[5] > TOLERANCE
        return best[:3]

    def gradient(self, nodes: Vector, pairs: Vector) -> Vector:
        """Sums of features, each times what is given for its label or pair of labels."""
        ties = self.graphs.ties.T @ pairs
        return np.concatenate([np.asarray(self.graphs.nodes.T @ nodes).ravel(), ties.ravel()])

    def best(self, w: Vector) -> Numbers:
        """The most probable labels together if inference is exact, else those of each node by itself."""
        if self.exact:
            return np.asarray(self._network.most_probable(*self.scores(w)), dtype=np.int64)
        return np.asarray(self.marginals(w)[1].argmax(axis=1))


class GraphCRF(BaseEstimator):  # type: ignore[misc]
    """Conditional random field on graphs: features of nodes with labels, and of edges with pairs of labels.

    Minimises the sum over graphs of -log p(y | x), plus l1 |w|_1 + (l2 / 2) |w|^2, in nats. Graphs are given as
    (node features, edges) or (node features, edges, edge features): arrays of shapes (n_nodes, n_node_features), which
    may be sparse, (n_edges, 2), (n_edges, n_edge_features). Without edge features an edge has one that is 1. An edge's
    pairs of labels are ordered: that of the node it names first comes first.

    Source: Lafferty, McCallum & Pereira (2001); Zhu, Lao & Xing (2010), section 3.
    Cost: an evaluation is one of inference. Exact, by a junction tree, it is linear in the nodes of trees and
    exponential in the tree-width; by loopy belief propagation linear in the edges for each iteration. Where labels hold
    together strongly that has several fixed points, and a log Z that misses the labels' own part: training starts it
    twice, from uniform messages and near the labels, and takes the larger log Z.

    Args:
        l1: strength of the L1 penalty, >= 0.
        l2: strength of the L2 penalty, >= 0. None: 1 without l1, 0 with it.
        inference: "exact", "loopy_bp", or "auto": exact on trees and what is hardly wider.
        solver: name of a solver, a solver object, or None: owlqn with l1, lbfgs without.
        max_iterations: limit on the solver's steps; None for no limit.
        tolerance: of a solver given by name; None for its own.
        solver_options: a dict of further options of a solver given by name.
        n_jobs: threads; None and -1 stand for all cores.
        verbose: whether to print a line to stderr at every iteration.

    Attributes:
        classes_: the labels, sorted, shape (L,).
        node_weights_: shape (n_node_features, L).
        edge_weights_: shape (n_edge_features, L, L).
        n_iter_: steps of the solver.
        result_: status, trace and optimality violation of the training.
        exact_: whether inference was exact.
    """

    def __init__(
        self,
        *,
        l1: float = 0.0,
        l2: float | None = None,
        inference: str = "auto",
        solver: str | Solver[Any] | None = None,
        max_iterations: int | None = 1000,
        tolerance: float | None = None,
        solver_options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.inference = inference
        self.solver = solver
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.solver_options = solver_options
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Sequence[Any], y: Sequence[Any], *, callbacks: Iterable[Callback] = ()) -> GraphCRF:
        """Train on graphs and the labels of their nodes.

        Args:
            X: graphs.
            y: labels of each graph's nodes, shape (n_nodes,) each.
            callbacks: called as callback(record, state) after every step; True stops.

        Raises:
            DataError: graphs or labels that cannot be used.
            OptionError: an option is out of its range, or exact inference is asked for on too wide a graph.
        """
        one_of("inference", self.inference, INFERENCES)
        graphs = Graphs.of(X)
        self.classes_, labels = np.unique(_joined(y, graphs), return_inverse=True)
        if self.classes_.size < 2:
            message = f"the data hold only one label: {self.classes_.tolist()[0]!r}; at least two are needed"
            raise DataError(message)
        objective = GraphLikelihood(
            graphs, labels, self.classes_.size, inference=self.inference, threads=thread_count(self.n_jobs)
        )
        options = SolverOptions(self.l1, self.l2, self.solver, self.max_iterations, self.tolerance, self.solver_options)
        stop = Stop(max_iterations=self.max_iterations)
        if self.verbose:
            callbacks = (*callbacks, print_record)
        problem = Problem(objective, options.penalty())
        self.result_ = minimize(problem, options.make_solver()[1], stop=stop, callbacks=callbacks)
        self.exact_, self.n_iter_ = objective._field.exact, self.result_.iterations
        at, n = graphs.nodes.shape[1] * self.classes_.size, self.classes_.size
        self.node_weights_ = self.result_.w[:at].reshape(-1, n)
        self.edge_weights_ = self.result_.w[at:].reshape(-1, n, n)
        for message in self._complaints(objective):
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _complaints(self, objective: GraphLikelihood) -> list[str]:
        found = []
        if not self.result_.status.converged:
            message = f"{self.result_.status.message} (violation {self.result_.violation:.3g}; see result_)"
            if not self.exact_:
                message += "; where labels hold together strongly, belief propagation's log Z has kinks: raise l2"
            found.append(message)
        if objective.unconverged:
            evaluations = self.result_.gradient_evaluations
            found.append(f"belief propagation did not settle in {objective.unconverged} of {evaluations} evaluations")
        return found

    def _field(self, X: Iterable[Any]) -> tuple[GraphField, Vector]:
        check_is_fitted(self, "node_weights_")
        graphs = Graphs.of(X)
        widths = graphs.nodes.shape[1], graphs.ties.shape[1]
        if widths != (self.node_weights_.shape[0], self.edge_weights_.shape[0]):
            message = f"graphs have {widths[0]} node and {widths[1]} edge features; the model was trained on "
            message += f"{self.node_weights_.shape[0]} and {self.edge_weights_.shape[0]}"
            raise DataError(message)
        field = GraphField(graphs, self.classes_.size, self.inference, thread_count(self.n_jobs))
        return field, np.concatenate([self.node_weights_.ravel(), self.edge_weights_.ravel()])

    def predict(self, X: Iterable[Any]) -> list[Array]:
        """Labels of each graph's nodes: the most probable together if inference is exact, else node by node."""
        field, w = self._field(X)
        return field.graphs.split(self.classes_[field.best(w)])

    def predict_proba(self, X: Iterable[Any]) -> list[Array]:
        """Probability of each label of each graph's nodes, shape (n_nodes, L) each."""
        field, w = self._field(X)
        return field.graphs.split(field.marginals(w)[1])

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Share of nodes with the right label."""
        graphs = Graphs.of(X)
        return float(np.mean(np.concatenate(self.predict(X)) == _joined(y, graphs)))


def _joined(y: Sequence[Any], graphs: Graphs) -> Array:
    labels = [np.asarray(each) for each in y]
    if len(labels) != len(graphs.sizes):
        message = f"y has labels of {len(labels)} graphs, X has {len(graphs.sizes)}"
        raise DataError(message)
    for number, (each, size) in enumerate(zip(labels, graphs.sizes.tolist(), strict=True)):
        if each.shape != (size,):
            message = f"labels of graph {number} have shape {each.shape}; it has {size} nodes"
            raise DataError(message)
    return np.concatenate(labels)
