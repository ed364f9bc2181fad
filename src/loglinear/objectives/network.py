"""The likelihood of a pairwise Markov random field over discrete data."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from ..networks.graph import Graph, Inference, Moments, Report, Scores
from ..networks.loopy_bp import LoopyBP
from ..networks.numbering import Codes, Numbering, Numbers, sample_weights
from ..networks.tree_reweighted import TreeReweighted
from ..vectors import Vector

__all__ = ["NetworkLikelihood"]

# Number of rows that are turned into indicators at a time.
_ROWS = 4096


class NetworkLikelihood:
    """NLL of a pairwise Markov random field, the sum over samples of -weight log p(x; w), in nats.

    The gradient is N times the model's expectation of each feature minus the data's sum (Zhu, Lao & Xing 2010, Eq. 1).
    Weights are numbered as in `Numbering`, weights of single columns last. Inference is on the edges whose weights are
    not 0. The expectations of other pairs, the candidates, depend on the method: loopy belief propagation gives the
    product of both beliefs, as it would on the complete graph; exact inference and samples give the pairs' own.
    Where values are missing, the objective is -log p of the observed values, which is not convex; for two hidden
    variables without an edge the product of their probabilities is used.

    Interactions may be *centred*: (x_a - mu_a) (x_b - mu_b) in place of x_a x_b, where mu is the share of samples in
    which a column is on. The model and the penalty stay the same, for the difference goes into the weights of single
    columns, which are not penalised. A centred interaction leaves the probabilities of single columns as they are, to
    first order, so solvers need not change the weights of single columns after it.

    Cost: an evaluation runs inference once, plus O(n_features), and once more for each sample with missing values.

    Args:
        codes: states of samples, -1 for missing, shape (n_samples, n_variables).
        numbering: of the weights.
        weights: of the samples, finite, >= 0, shape (n_samples,); None for 1.
        inference: the method.
        centred: whether interactions are centred; ``natural`` gives the weights of the model then.
        threads: 0 for all cores.

    Raises:
        DataError: states or weights do not fit.

    Attributes:
        report: how inference went.
        centres: mu, shape (D,); zeros if interactions are not centred.
    """

    def __init__(
        self,
        codes: npt.ArrayLike,
        numbering: Numbering,
        weights: Vector | None = None,
        *,
        inference: Inference | None = None,
        centred: bool = False,
        threads: int = 0,
    ) -> None:
        checked = numbering.checked(codes)
        self.numbering, self.inference, self.threads = numbering, inference or LoopyBP(), threads
        self.n_samples, self.n_features, self.n_unpenalised = len(checked), numbering.n_features, numbering.n_columns
        self.report = Report(self.inference.name)
        unit = weights is None
        weights = sample_weights(weights, len(checked))
        self.total = float(weights.sum())
        self._independent = numbering.independent(checked, weights)
        odds = np.exp(self._independent[numbering.n_interactions :])
        shares = odds / (1.0 + np.add.reduceat(odds, numbering.first[:-1]))[numbering.variable]
        self.centres: Vector = shares if centred else np.zeros(numbering.n_columns)
        hidden = (checked < 0).any(axis=1)
        self._hidden, self._hidden_weights = checked[hidden], weights[hidden]
        self._counts = self._counted(checked[~hidden], weights[~hidden], unit)
        if isinstance(self.inference, TreeReweighted):
            self.inference = self.inference.fixed(numbering, self._dependence(shares))
        self._independent_graph = Graph(numbering, np.empty((0, 2), np.int64), threads)
        self._last = threading.local()

    @property
    def is_convex(self) -> bool:
        """Whether the objective is convex: inference is exact or tree-reweighted, and no value is missing."""
        return self.inference.is_convex and not len(self._hidden)

    @property
    def n_threads(self) -> int:
        """Threads of inference and of the solvers' vectors."""
        return int(self._independent_graph.network.n_threads)

    def _counted(self, codes: Codes, weights: Vector, unit: bool) -> Vector:
        """Sum of each feature over samples without missing values."""
        # Sums of ones up to 2^24 are exact in single precision.
        dtype = np.float32 if unit else np.float64
        products = np.zeros((self.numbering.n_columns, self.numbering.n_columns), dtype)
        columns = np.zeros(self.numbering.n_columns)
        for start in range(0, len(codes), _ROWS):
            on = self.numbering.indicators(codes[start : start + _ROWS], dtype)
            weighted = on if unit else on * weights[start : start + _ROWS, None]
            products += on.T @ weighted
            columns += weighted.sum(axis=0)
        counts = np.empty(self.n_features)
        self.numbering.upper(products, counts[: self.numbering.n_interactions])
        counts[self.numbering.n_interactions :] = columns
        return counts

    def _dependence(self, shares: Vector) -> Vector:
        """Mean square contingency of all pairs of variables, by their columns: sum of covariance^2 / both variances."""
        numbering, total = self.numbering, max(self.total, 1.0)
        first, second = numbering.columns_of(np.arange(numbering.n_interactions))
        variances = np.maximum(shares * (1.0 - shares), 1.0 / total)
        covariances = self._counts[: numbering.n_interactions] / total - shares[first] * shares[second]
        squares = covariances**2 / (variances[first] * variances[second])
        i, j = numbering.variable[first], numbering.variable[second]
        products = np.zeros((numbering.n_variables, numbering.n_variables))
        np.add.at(products, (i, j), squares)
        return np.asarray(products[np.triu_indices(numbering.n_variables, 1)])

    def independent(self) -> Vector:
        """Return the weights of the model without edges that fits best: a start."""
        return self._independent.copy()

    def natural(self, w: Vector) -> Vector:
        """Return the weights of the same model with interactions that are not centred."""
        natural, k = w.copy(), self.numbering.n_interactions
        pairs = np.flatnonzero(w[:k])
        natural[k:] -= self.shifts(*self.numbering.columns_of(pairs), w[pairs])
        return natural

    def shifts(self, first: Numbers, second: Numbers, w: Vector) -> Vector:
        """Return minus what centred interactions of these columns add to the weights of single columns, shape (D,)."""
        size = self.numbering.n_columns
        shifts = np.bincount(first, w * self.centres[second], size) + np.bincount(second, w * self.centres[first], size)
        return np.asarray(shifts, dtype=np.float64)

    def graph_of(self, interactions: Numbers) -> Graph:
        """Return the thread's last graph if it has all edges of these interactions and few others, else a new graph."""
        edges = self.numbering.edges_of(interactions)
        graph = getattr(self._last, "graph", self._independent_graph)
        graph_edges = graph.edges
        number = edges @ [self.numbering.n_variables, 1]
        covered = (
            len(graph_edges) <= 1.25 * len(edges)
            and np.isin(number, graph_edges @ [self.numbering.n_variables, 1]).all()
        )
        if not covered:
            graph = self._last.graph = Graph(self.numbering, edges, self.threads)
        return graph

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the NLL and its gradient by all weights; see `Objective`."""
        out = np.empty(self.n_features) if out is None else out
        w = self.natural(w)
        graph, scores = self._scored(w)
        model = self.inference.moments(graph, scores, self.report, whole=True)
        data = self.completed(graph, scores)
        self._fill(out, graph, model, data)
        return self.nll(model, data, float(w @ self._counts)), out

    def _scored(self, w: Vector) -> tuple[Graph, Scores]:
        """Return a graph with all edges of the weights, which are not centred, and its scores."""
        inner, columns = w[: self.numbering.n_interactions], w[self.numbering.n_interactions :]
        graph = self.graph_of(np.flatnonzero(inner))
        return graph, graph.scores(inner[graph.interactions], columns)

    def measure(self, w: Vector) -> None:
        """Enter into the report how inference goes at these weights, and bounds of log Z if it is tree-reweighted."""
        graph, scores = self._scored(self.natural(w))
        moments = self.inference.moments(graph, scores, self.report, whole=False)
        if isinstance(self.inference, TreeReweighted):
            self.report.lower = graph.network.mean_field(*scores, moments.nodes)[0]
            self.report.upper = moments.log_z

    def nll(self, model: Moments, data: Completed | None, score: float) -> float:
        """The NLL, given the score of the samples without missing values."""
        return self.total * model.log_z - score - (0.0 if data is None else data.log_z)

    def _fill(self, out: Vector, graph: Graph, model: Moments, data: Completed | None) -> None:
        numbering = self.numbering
        columns = model.nodes[graph.columns]
        pairs = out[: numbering.n_interactions]
        if model.products is None:
            numbering.products(columns, pairs)
        else:
            pairs[:] = model.products
        pairs *= self.total
        if data is not None:
            pairs -= numbering.upper(data.products())
        pairs -= self._counts[: numbering.n_interactions]
        at = graph.interactions
        pairs[at] = self.total * model.edges[graph.places] - self._counts[at]
        out[numbering.n_interactions :] = self.total * columns - self._counts[numbering.n_interactions :]
        if data is not None:
            pairs[at] -= data.edges[graph.places]
            out[numbering.n_interactions :] -= data.nodes[graph.columns]
        if self.centres.any():
            numbering.subtract_products(self.centres, out[numbering.n_interactions :], pairs)

    def completed(self, graph: Graph, scores: Scores) -> Completed | None:
        """Expectations of samples with missing values; None if there are no such samples."""
        if not len(self._hidden):
            return None
        completed = self.inference.completed(graph, scores, self._hidden, self._hidden_weights)
        self.report.unconverged += completed.unconverged
        self.report.settled &= completed.unconverged == 0
        log_z = float(self._hidden_weights @ completed.log_z)
        return Completed(log_z, completed.beliefs, completed.edges, self._hidden_weights, graph.columns)

    def restrict(self, features: Numbers) -> RestrictedLikelihood:
        """Return the objective over some of the weights, the others being 0: inference on their edges alone."""
        return RestrictedLikelihood(self, features, self._counts)


class Completed:
    """Expectations of samples whose missing values follow the model.

    Args:
        log_z: weighted sum of log p~(observed values), nats.
        beliefs: of all states in all such samples, shape (n, S).
        edges: weighted sum of the edges' tables.
        weights: of the samples.
        columns: places of the columns among the states.
    """

    def __init__(self, log_z: float, beliefs: Vector, edges: Vector, weights: Vector, columns: Numbers) -> None:
        self.log_z, self.edges = log_z, edges
        self.nodes: Vector = weights @ beliefs
        self._beliefs, self._weights, self._columns = beliefs, weights, columns

    def products(self) -> Vector:
        """Weighted sum of the products of columns, shape (D, D)."""
        on = self._beliefs[:, self._columns]
        return np.asarray(on.T @ (on * self._weights[:, None]))


class RestrictedLikelihood:
    """`NetworkLikelihood` over some of the weights, the others being 0.

    Args:
        whole: over all weights.
        features: numbers of weights, ascending, shape (k,).
        counts: sums of all features over samples without missing values, shape (n_features,).
    """

    def __init__(self, whole: NetworkLikelihood, features: Numbers, counts: Vector) -> None:
        numbering = whole.numbering
        self.n_features, self.n_samples, self.n_threads = int(features.size), whole.n_samples, whole.n_threads
        inner = features[features < numbering.n_interactions]
        self._whole, self._graph = whole, whole.graph_of(inner)
        self._k, self._places = int(inner.size), self._graph.places_of(inner)
        self._first, self._second = numbering.columns_of(inner)
        self._columns = features[self._k :] - numbering.n_interactions
        self._counts, self._column_counts = counts[inner], counts[numbering.n_interactions :]
        self._scores = self._graph.scores(np.zeros(self._graph.interactions.size), np.zeros(numbering.n_columns))

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the NLL and its gradient; see `Objective`."""
        out = np.empty(self.n_features) if out is None else out
        whole, graph, (node_scores, edge_scores) = self._whole, self._graph, self._scores
        inner, first, second = w[: self._k], self._first, self._second
        columns = -whole.shifts(first, second, inner)
        columns[self._columns] += w[self._k :]
        edge_scores[self._places], node_scores[graph.columns] = inner, columns
        model = whole.inference.moments(graph, self._scores, whole.report, whole=False)
        data = whole.completed(graph, self._scores)
        edges, nodes = whole.total * model.edges, whole.total * model.nodes
        if data is not None:
            edges -= data.edges
            nodes -= data.nodes
        slopes = nodes[graph.columns] - self._column_counts
        out[: self._k] = edges[self._places] - self._counts
        out[: self._k] -= whole.centres[first] * slopes[second] + whole.centres[second] * slopes[first]
        out[self._k :] = slopes[self._columns]
        score = float(inner @ self._counts + columns @ self._column_counts)
        return whole.nll(model, data, score), out
