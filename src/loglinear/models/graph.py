"""Conditional random fields on graphs, such as trees and grids, with labelled nodes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from ..constraints import check_pairs
from ..data.frames import as_column
from ..data.graph_labels import costs_of_nodes, known
from ..data.graphs import Graphs
from ..data.inputs import Array, Classes, Graph
from ..data.labels import check_targets
from ..errors import DataError, OptionError, warn
from ..extras import needed_by
from ..minimize import Callback
from ..networks.graph import Inference
from ..networks.inference import make_inference
from ..objectives.class_weights import weights_by_class
from ..objectives.graph import LOOPY, GraphField, GraphLikelihood, weights_of_pairs
from ..options import (
    MOST_COST,
    Options,
    check_costs,
    keywords,
    one_of,
    option,
    option_class,
    optional,
    truth_value,
)
from ..vectors import Vector, read_only
from .estimator import Estimator, check_end, check_fitted
from .files import graph as graph_file
from .files.network import check_setting
from .files.origin import training_date
from .files.settings import class_weight_of, class_weight_settings, training_summary
from .scikit_learn import BaseEstimator, ConvergenceWarning
from .training.graph_prior import GraphPrior
from .training.options import SolverOptions, SolverParameters
from .training.prior import check_prior
from .training.run import train
from .training.start import start_path

if TYPE_CHECKING:
    import networkx

    from ..report.page import Report

__all__ = ["GraphCRF", "GraphParameters"]

GraphInference = Literal["auto", "exact", "loopy_bp", "trw"]


@option_class
class GraphParameters(Options):
    """The options of a conditional random field on graphs."""

    inference: GraphInference = option(
        default="auto",
        help='"exact", "loopy_bp", "trw" (tree-reweighted), or "auto": exact on trees and narrow graphs, loopy_bp '
        "otherwise",
        check=partial(one_of, choices=get_args(GraphInference)),
    )
    inference_options: Mapping[str, Any] | None = option(
        default=None,
        help='options of the inference method, such as {"damping": 0.5}; see `loglinear.networks`',
        check=optional(keywords),
    )
    symmetric: bool = option(
        default=False,
        help="share one weight between both orders of a pair of labels, for undirected edges",
        check=truth_value,
    )
    constraints: Sequence[tuple[Any, Any]] | None = option(
        default=None,
        help='forbidden pairs of labels on an edge, first node first, such as ``[("b", "a")]``; with ``symmetric`` in '
        "either order",
        check=check_pairs,
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = option(
        default=None,
        help='cost of a wrong label in training, in nats, by true label; "balanced" is n_nodes / (n_labels * count of '
        "the label), None the plain likelihood. With costs the objective is the softmax margin (Gimpel & Smith 2010), "
        "which gives more weight to rare labels.",
        check=check_costs,
    )


class GraphCRF(Estimator, SolverParameters, GraphParameters, BaseEstimator):
    """Conditional random field on graphs, with features of nodes and labels, and of edges and label pairs.

    Minimises the sum over graphs of -log p(y | x), plus l1 |w|_1 + (l2 / 2) |w|^2, in nats. A graph is a tuple (node
    features, edges) or (node features, edges, edge features): arrays of shapes (n_nodes, n_node_features), which may be
    sparse, (n_edges, 2) and (n_edges, n_edge_features). Without edge features, each edge has a single feature with
    value 1. Pairs of labels are ordered as the nodes of the edge. A label of None is missing; training then maximises
    the likelihood of the known labels, which is not convex.

    Source: Lafferty, McCallum & Pereira (2001); Zhu, Lao & Xing (2010), section 3.
    Cost: each evaluation runs inference once. Exact inference uses a junction tree: linear in the nodes for trees,
    exponential in the treewidth. An iteration of loopy belief propagation is linear in the edges. With strong edge
    weights, belief propagation has several fixed points, and the log Z of some ignores the gold labels. Training
    therefore runs it twice, from uniform messages and from near the gold labels, and uses the larger log Z.
    Tree-reweighted belief propagation has a single fixed point; its objective is convex and an upper bound.

    Attributes:
        classes_: labels, sorted, shape (L,).
        node_weights_: shape (n_node_features, L); read-only.
        edge_weights_: shape (n_edge_features, L, L); read-only.
        n_iter_: iterations of the solver.
        result_: status, trace and optimality violation of the training; NotFittedError for a loaded model.
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

    def fit(
        self,
        X: Sequence[Graph],
        y: Sequence[Classes],
        *,
        node_weight: Sequence[npt.ArrayLike] | None = None,
        prior: GraphCRF | str | os.PathLike[str] | None = None,
        prior_strength: float | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> GraphCRF:
        """Train on graphs and the labels of their nodes.

        Args:
            X: graphs.
            y: labels of the nodes of each graph, shape (n_nodes,) each; None for a missing label.
            node_weight: cost of a wrong label of each node, in nats, shape (n_nodes,) each; multiplied by the class
                weight, if any. None for 1 with class weights, 0 otherwise.
            prior: older model that the new one should stay near, or the path of its file: with its weights c, the
                penalty is l1 |w - c|_1 + (prior_strength / 2) |w - c|^2. Labels that the new data lack stay in the
                model; c is 0 for new ones. Only batch solvers support a prior.
            prior_strength: strength of that penalty, which takes the place of l2; l2 by default. ``math.inf`` keeps the
                weights of the prior, 0 trains on the new data alone without an L2 penalty; otherwise at most 1e6.
            callbacks: called as callback(record, state) after each step; return True to stop. With a prior, the
                weights of a state are their change from the prior.

        Raises:
            DataError: invalid graphs or labels, or labels of an edge that the constraints forbid; the prior has other
                features, or labels of another type.
            OptionError: an option is out of range, or a graph is too wide for exact inference; the prior is not
                symmetric and the new model is.
        """
        inference = self._method()
        check_prior(None, prior, prior_strength)
        around = None if prior is None else self._opened(prior)
        graphs = Graphs.of(X)
        is_labelled, gold = known(y, graphs)
        labels = np.full(is_labelled.size, -1, dtype=np.int64)
        self.classes_ = np.unique(gold) if around is None else around.classes(gold)
        labels[is_labelled] = np.searchsorted(self.classes_, gold)
        if self.classes_.size < 2 or not gold.size:
            labels_found = f"have only one label: {self.classes_.tolist()}" if gold.size else "have no labels"
            message = f"the data {labels_found}; give two or more"
            raise DataError(message)
        if self.classes_.dtype.kind == "f":
            check_targets([*map(str, self.classes_.tolist())], commas=False)
        forbidden = self._forbidden()
        _check_allowed(graphs, labels, forbidden, self.classes_)
        objective = GraphLikelihood(
            graphs,
            labels,
            self.classes_.size,
            inference=inference,
            symmetric=self.symmetric,
            forbidden=forbidden,
            costs=self._costs(labels, graphs, node_weight),
            threads=self._threads,
        )
        options = self._options(SolverOptions)
        named = partial(_named, graphs.nodes.shape[1], self.classes_.size, objective.n_pairs)
        centre = None
        if around is not None:
            strength = options.penalty().l2 if prior_strength is None else float(prior_strength)
            n_features = graphs.nodes.shape[1], graphs.ties.shape[1]
            centre = around.centre(self.classes_, n_features, strength, symmetric=self.symmetric)
        observers = self._observers(callbacks, None if around else partial(self._at, graphs.nodes.shape[1]))
        result = train(objective, options, callbacks=observers, centre=centre, named=named)
        self.exact_, self.n_iter_ = objective.exact, result.iterations
        self._training = {"n_samples": len(graphs.sizes), "date": training_date(), **training_summary([result])}
        self._hold(result.w, graphs.nodes.shape[1])
        self._set_results(result)
        remedy = "with strong edges, the approximate likelihood of belief propagation is not smooth: "
        remedy += "raise l2, or use inference='trw'"
        smooth = objective.exact or self.inference == "trw"
        check_end(result, "" if smooth else remedy)
        if objective.unconverged:
            message = f"belief propagation did not converge in {objective.unconverged} evaluations; raise l2"
            warn(message, ConvergenceWarning)
        return self

    @staticmethod
    def _opened(prior: GraphCRF | str | os.PathLike[str]) -> GraphPrior:
        """Return the older model that training stays near."""
        name = "the older model" if isinstance(prior, GraphCRF) else start_path(prior, "GraphCRF", "prior")
        crf = prior if isinstance(prior, GraphCRF) else GraphCRF.load(prior)
        return GraphPrior(crf.classes_, crf.node_weights_, crf.edge_weights_, name)

    def _method(self) -> Inference | None:
        """Return the method of inference; None if it depends on the graphs."""
        self._options(GraphParameters)
        options = dict(self.inference_options or {})
        if self.inference == "auto":
            if options:
                message = 'inference_options need a named method; set inference to "exact", "loopy_bp" or "trw"'
                raise OptionError(message)
            return None
        if self.inference == LOOPY.name:
            options = {"damping": LOOPY.damping, "max_iterations": LOOPY.max_iterations} | options
        return make_inference(self.inference, options)

    def _at(self, n_node_features: int, w: Vector) -> dict[str, Any]:
        """Return the attributes of the model with the weights of a step."""
        model = copy(self)
        model._hold(w.copy(), n_node_features)
        return vars(model)

    def _hold(self, w: Vector, n_node_features: int) -> None:
        n = self.classes_.size
        self._w, at = w, n_node_features * n
        self._node_weights = w[:at].reshape(-1, n)
        weight_of = weights_of_pairs(n, symmetric=self.symmetric)
        pairs = w[at:].reshape(-1, int(weight_of.max()) + 1)[:, weight_of]
        self._edge_weights = pairs.reshape(-1, n, n)

    @property
    def node_weights_(self) -> Vector:
        """Weights of node features and labels, shape (n_node_features, L); read-only."""
        check_fitted(self, "_node_weights")
        return read_only(self._node_weights)

    @property
    def edge_weights_(self) -> Vector:
        """Weights of edge features and pairs of labels, shape (n_edge_features, L, L); read-only."""
        check_fitted(self, "_edge_weights")
        return read_only(self._edge_weights)

    def _forbidden(self) -> list[tuple[int, int]]:
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        pairs = []
        for pair in self.constraints or ():
            try:
                first, second = (number[label] for label in pair)
            except (KeyError, TypeError, ValueError):
                message = f"constraints={self.constraints!r} must be a list of pairs of the labels {list(number)}"
                raise OptionError(message) from None
            pairs += [(first, second), (second, first)] if self.symmetric else [(first, second)]
        return pairs

    def _costs(
        self, labels: npt.NDArray[np.int64], graphs: Graphs, node_weight: Sequence[npt.ArrayLike] | None
    ) -> Vector | None:
        if node_weight is None and self.class_weight is None:
            return None
        costs = np.ones(labels.size)
        if node_weight is not None:
            costs = costs_of_nodes(node_weight, graphs)
        if self.class_weight is not None:
            is_labelled = labels >= 0
            names = self.classes_[labels[is_labelled]]
            try:
                by_class = (
                    compute_class_weight("balanced", classes=self.classes_, y=names)
                    if isinstance(self.class_weight, str)
                    else weights_by_class(self.class_weight, self.classes_.tolist())
                )
            except ValueError as error:
                message = f"class_weight={self.class_weight!r} does not match the labels ({error})"
                raise error if isinstance(error, OptionError) else OptionError(message) from error
            costs[is_labelled] *= by_class[labels[is_labelled]]
        return np.minimum(costs, MOST_COST)

    def _field(self, X: Iterable[Graph]) -> GraphField:
        check_is_fitted(self, "node_weights_")
        graphs = Graphs.of(X)
        widths = graphs.nodes.shape[1], graphs.ties.shape[1]
        if widths != (self.node_weights_.shape[0], self.edge_weights_.shape[0]):
            message = f"the graphs have {widths[0]} node features and {widths[1]} edge features; the model expects "
            message += f"{self.node_weights_.shape[0]} and {self.edge_weights_.shape[0]}"
            raise DataError(message)
        return GraphField(
            graphs,
            self.classes_.size,
            self._method(),
            symmetric=self.symmetric,
            forbidden=self._forbidden(),
            threads=self._threads,
        )

    def predict(self, X: Iterable[Graph]) -> list[Array]:
        """Return the labels of the nodes of each graph: jointly most probable if inference is exact, else per node."""
        field = self._field(X)
        return field.graphs.split(self.classes_[field.best(self._w)])

    def predict_proba(self, X: Iterable[Graph]) -> list[Array]:
        """Return the probability of each label of the nodes of each graph, shape (n_nodes, L) each."""
        field = self._field(X)
        return field.graphs.split(field.marginals(self._w)[1])

    def predict_graphs(self, X: Iterable[Graph]) -> list[networkx.Graph]:
        """Return each graph as a networkx.Graph with ``label`` and ``probability`` of nodes, ``probability`` of edges.

        The probability of a node is the probability of its label; the probability of an edge, of both labels jointly.
        The attributes ``first`` and ``second`` of an edge keep its direction.

        Raises:
            MissingPackageError: networkx is not installed.
        """
        with needed_by("GraphCRF.predict_graphs"):
            import networkx
        field = self._field(X)
        best, (_, nodes, pairs) = field.best(self._w), field.marginals(self._w)
        sure = nodes[np.arange(best.size), best]
        ends = field.graphs.edges
        both = pairs[np.arange(len(ends)), best[ends[:, 0]] * self.classes_.size + best[ends[:, 1]]]
        stops = np.cumsum(field.graphs.sizes)
        drawn = []
        for start, stop in zip(stops - field.graphs.sizes, stops, strict=True):
            graph = networkx.Graph()
            for node in range(start, stop):
                graph.add_node(node - start, label=self.classes_[best[node]].item(), probability=float(sure[node]))
            for edge in np.flatnonzero((ends[:, 0] >= start) & (ends[:, 0] < stop)):
                first, second = (ends[edge] - start).tolist()
                graph.add_edge(first, second, first=first, second=second, probability=float(both[edge]))
            drawn.append(graph)
        return drawn

    def score(self, X: Sequence[Graph], y: Sequence[Classes]) -> float:
        """Return the accuracy on the nodes with a known label.

        Raises:
            DataError: invalid graphs or labels; or no label is one of the model's.
        """
        is_labelled, gold = known(y, Graphs.of(X))
        if not set(gold.tolist()) & set(self.classes_.tolist()):
            message = (
                f"no node has a label of the model: {gold.tolist()[:3]} in y, {self.classes_.tolist()[:3]} in the model"
            )
            raise DataError(message)
        return float(np.mean(np.concatenate(self.predict(X))[is_labelled] == gold))

    def report(self, X: Sequence[Graph], y: Sequence[Classes], *, title: str = "Report of a field on graphs") -> Report:
        """Return a report about labelled graphs; notebooks display it, `save` writes a single HTML file.

        Args:
            X: graphs.
            y: labels of the nodes of each graph, shape (n_nodes,) each.
            title: title of the page.

        Returns:
            The tables as attributes. HTML needs Jinja2: ``pip install 'loglinear[report]'``.

        Raises:
            DataError: invalid graphs or labels.
        """
        from ..report.page import Report
        from ..report.weights import Transitions, strongest_of
        from .explain.answers import Answers
        from .explain.reports import judged, labels_text

        known(y, Graphs.of(X))
        labels = [np.asarray(as_column(sequence, "y")).tolist() for sequence in y]
        places = [[k for k, label in enumerate(sequence) if label is not None] for sequence in labels]
        gold = [[str(sequence[k]) for k in nodes] for sequence, nodes in zip(labels, places, strict=True)]
        predicted = [sequence[nodes] for sequence, nodes in zip(self.predict(X), places, strict=True)]
        sure = [
            p[nodes, np.searchsorted(self.classes_, guess)].tolist()
            for p, nodes, guess in zip(self.predict_proba(X), places, predicted, strict=True)
        ]
        guessed = [[str(label) for label in guess.tolist()] for guess in predicted]
        words = [[f"node {k}" for k in nodes] for nodes in places]
        classes = [str(label_of) for label_of in self.classes_.tolist()]
        ties = self.edge_weights_
        return Report(
            **judged(Answers.of_rows(gold, guessed, sure, words), "nodes", None),
            title=title,
            data={
                "graphs": len(places),
                "nodes": sum(map(len, places)),
                "labels": labels_text(classes, len(classes)),
            },
            settings=self._rows(),
            command=f"{self!r}.fit(X_train, y_train)",
            trace=self._trace,
            strongest={
                label: strongest_of((f"node feature {k}", weight) for k, weight in enumerate(weights))
                for label, weights in zip(classes, self.node_weights_.T.tolist(), strict=True)
            },
            transitions=Transitions(classes, ties[0].tolist(), 0) if len(ties) == 1 else None,
        )

    def _rows(self) -> dict[str, str]:
        from .explain.reports import settings_rows, training_rows

        spread = "tree-reweighted " if self.inference == "trw" else "loopy "
        return settings_rows(
            {
                "model": "conditional random field on graphs",
                "inference": "exact" if self.exact_ else f"{spread}belief propagation",
                "node features": len(self.node_weights_),
                "edge features": len(self.edge_weights_),
                "features with a weight": int(np.count_nonzero(self._w)),
                "l1": self.l1,
                "l2": self._options(SolverOptions).penalty().l2,
                **training_rows(self._training),
            }
        )

    def _summary(self) -> dict[str, str]:
        from .explain.reports import labels_text

        return {"labels": labels_text(self.classes_, 20), **self._rows()} if "_w" in vars(self) else {}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, atomically.

        Raises:
            DataError: labels are not strings, numbers or booleans.
            OSError: the file cannot be written.
        """
        check_is_fitted(self, "node_weights_")
        solver_settings, parameters = self._options(SolverOptions).settings(), self.get_params(deep=False)
        settings = parameters | {name: value for name, value in solver_settings.items() if name in parameters}
        settings |= {
            "constraints": None if self.constraints is None else [list(pair) for pair in self.constraints],
            **class_weight_settings(self.class_weight),
            "exact": self.exact_,
            "defaults": solver_settings["defaults"],
            "training": self._training,
        }
        n_features = len(self.node_weights_), len(self.edge_weights_)
        graph_file.write(os.fspath(path), settings, self.classes_, n_features, self._w)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GraphCRF:
        """Open a model file of a field on graphs.

        Raises:
            ModelFileError: the file is damaged or of another kind.
            OSError: the file cannot be read.
        """
        stored = graph_file.read(os.fspath(path))
        crf = cls._of_settings(stored.settings | class_weight_of(stored.settings), os.fspath(path))
        crf.classes_, crf.exact_ = stored.classes, stored.settings["exact"]
        crf._training = stored.settings.get("training", {})
        crf.n_iter_ = crf._training.get("iterations", 0)
        crf._hold(stored.w, stored.n_node_features)
        check_setting(os.fspath(path), "constraints", crf.constraints, crf._forbidden)
        check_setting(os.fspath(path), "inference_options", crf.inference_options, crf._method)
        return crf


def _named(n_node_features: int, n_labels: int, n_pairs: int, feature: int) -> str:
    """Return what messages call the node feature or edge feature of a weight."""
    edge = feature - n_node_features * n_labels
    return f"node feature {feature // n_labels}" if edge < 0 else f"edge feature {edge // n_pairs}"


def _check_allowed(
    graphs: Graphs, labels: npt.NDArray[np.int64], forbidden: Sequence[tuple[int, int]], classes: Array
) -> None:
    """Raise DataError if the labels of an edge are a pair that the constraints forbid."""
    first, second = labels[graphs.edges].T
    for a, b in forbidden:
        bad = np.flatnonzero((first == a) & (second == b))
        if bad.size:
            node = int(graphs.edges[bad[0], 0])
            number = int(np.searchsorted(np.cumsum(graphs.sizes), node, side="right"))
            pair = f"{classes[a]!s} - {classes[b]!s}"
            message = (
                f"graph {number}: the labels {pair} of an edge are forbidden by the constraints ({bad.size} such edges)"
            )
            raise DataError(message)
