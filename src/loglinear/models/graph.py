"""Conditional random fields on graphs, such as trees and grids, with labelled nodes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..data.graphs import Graphs
from ..errors import DataError
from ..minimize import Callback
from ..objectives.graph import GraphField, GraphLikelihood
from ..options import one_of
from ..vectors import Vector
from .estimator import Estimator, check_end
from .options import SolverOptions
from .training import train

if TYPE_CHECKING:
    from ..report.page import Report

__all__ = ["GraphCRF"]

Array = npt.NDArray[Any]
INFERENCES = ("auto", "exact", "loopy_bp", "trw")


class GraphCRF(Estimator, BaseEstimator, options=(SolverOptions,), without=("random_state",)):  # type: ignore[misc]
    """Conditional random field on graphs: features of nodes with labels, and of edges with pairs of labels.

    Minimises the sum over graphs of -log p(y | x), plus l1 |w|_1 + (l2 / 2) |w|^2, in nats. Graphs are given as
    (node features, edges) or (node features, edges, edge features): arrays of shapes (n_nodes, n_node_features), which
    may be sparse, (n_edges, 2), (n_edges, n_edge_features). Without edge features every edge has a
    single feature of value 1. Pairs of labels are ordered: the label of the node that an edge names first comes first.

    Source: Lafferty, McCallum & Pereira (2001); Zhu, Lao & Xing (2010), section 3.
    Cost: an evaluation runs inference once. Exact inference, by a junction tree, is linear in the nodes of trees and
    exponential in the tree-width; an iteration of loopy belief propagation is linear in the edges. Where labels hold
    together strongly, belief propagation has several fixed points, and the log Z of some of them misses the labels:
    training starts it twice, from uniform messages and near the labels, and takes the larger log Z. Tree-reweighted
    belief propagation has one fixed point: the objective is convex, and above the true one.

    Args:
        inference: "exact", "loopy_bp", "trw" (tree-reweighted), or "auto": exact on trees and on graphs that are hardly
            wider, loopy_bp elsewhere.

    Attributes:
        classes_: the labels, sorted, shape (L,).
        node_weights_: shape (n_node_features, L).
        edge_weights_: shape (n_edge_features, L, L).
        n_iter_: steps of the solver.
        result_: status, trace and optimality violation of the training.
        exact_: whether inference was exact.

    Example:
        >>> import numpy as np
        >>> from loglinear import GraphCRF, grid_edges
        >>> image = np.array([[1, 1, 0], [1, 1, 0]])
        >>> noisy = image + 0.3 * np.random.default_rng(0).normal(size=image.shape)
        >>> graph = (noisy.reshape(-1, 1), grid_edges(2, 3))
        >>> crf = GraphCRF(l2=0.1).fit([graph], [image.ravel()])
        >>> crf.predict([graph])
        [array([1, 1, 0, 1, 1, 0])]
    """

    inference: str = "auto"

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
        objective = GraphLikelihood(graphs, labels, self.classes_.size, inference=self.inference, threads=self._threads)
        self.result_ = train(objective, self._options(SolverOptions), callbacks=self._observers(callbacks))
        self.exact_, self.n_iter_ = objective.exact, self.result_.iterations
        at, n = graphs.nodes.shape[1] * self.classes_.size, self.classes_.size
        self.node_weights_ = self.result_.w[:at].reshape(-1, n)
        self.edge_weights_ = self.result_.w[at:].reshape(-1, n, n)
        kinks = "; where labels hold together strongly, belief propagation's log Z has kinks: raise l2"
        check_end(self.result_, "" if objective.is_convex else f'{kinks}, or use inference="trw"')
        if objective.unconverged:
            evaluations = self.result_.gradient_evaluations
            message = f"belief propagation did not settle in {objective.unconverged} of {evaluations} evaluations"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _field(self, X: Iterable[Any]) -> tuple[GraphField, Vector]:
        check_is_fitted(self, "node_weights_")
        graphs = Graphs.of(X)
        widths = graphs.nodes.shape[1], graphs.ties.shape[1]
        if widths != (self.node_weights_.shape[0], self.edge_weights_.shape[0]):
            message = f"graphs have {widths[0]} node and {widths[1]} edge features; the model was trained on "
            message += f"{self.node_weights_.shape[0]} and {self.edge_weights_.shape[0]}"
            raise DataError(message)
        field = GraphField(graphs, self.classes_.size, self.inference, self._threads)
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

    def report(self, X: Sequence[Any], y: Sequence[Any], *, title: str = "Report of a field on graphs") -> Report:
        """Return a report on labelled graphs, which a notebook shows and `save` writes as one HTML file.

        Args:
            X: graphs.
            y: labels of each graph's nodes, shape (n_nodes,) each.
            title: title of the page.

        Returns:
            The tables as attributes. The pages need Jinja2: ``pip install 'loglinear[report]'``.

        Raises:
            DataError: graphs or labels that cannot be used.
        """
        from .network_report import report_of_graphs

        _joined(y, Graphs.of(X))
        return report_of_graphs(self, X, y, title=title)


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
