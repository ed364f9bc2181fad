"""A trained network: what it knows of its variables, their edges and states, and what can be measured of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from ..data.frames import Frame, check_names
from ..data.inputs import Array, Observations
from ..data.sample_values import weights_of_samples
from ..data.table import Table
from ..data.writing import write_text
from ..errors import DataError, DataWarning, OptionError, warn
from ..extras import needed_by
from ..networks.categories import encoded, variables_of
from ..networks.centrality import centralities
from ..networks.cleaning import with_missing
from ..networks.exact import ANSWER, Exact, is_narrow
from ..networks.graph import Graph, Inference, Scores
from ..networks.inference import make_inference
from ..networks.log_partition import log_partition
from ..networks.loopy_bp import LoopyBP, Propagation
from ..networks.numbering import Codes, Numbering
from ..networks.signs import Order, state_orders
from ..networks.uai import evidence_text, uai_text
from ..options import fail, real_number, similar, whole_number
from ..vectors import Vector, read_only
from ..visible import listed
from .estimator import Estimator, check_fitted
from .explain.node_tables import Centrality, Predictability, predictability_of
from .scikit_learn import ConvergenceWarning
from .training.case_dropping import DROPS, NetworkStability, signed_edges, stability_of
from .training.resampling import EdgeConfidence, confidence_of
from .training.structure import NetworkOptions, NetworkParameters, Training

if TYPE_CHECKING:
    import networkx
    from pgmpy.models import DiscreteMarkovNetwork

    from .explain.edge_list import Edges

__all__ = ["LearnedNetwork"]


class LearnedNetwork(Estimator, NetworkParameters):
    """What `PairwiseMRF` holds after training: variables, states, edges and weights; and measures of them."""

    def _store_variables(self, names: list[str] | None, categories: list[Array], edges: list[Vector | None]) -> None:
        self.categories_, self.bin_edges_, self.n_features_in_ = categories, edges, len(categories)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        # Numbers of the variables in the network; the others are left out.
        self._varying = np.flatnonzero([states.size > 1 for states in categories])
        self._numbering = Numbering([categories[i].size for i in self._varying])

    def _hold(self, graph: Graph, scores: Scores, l1: float) -> None:
        self.l1_ = l1
        self._graph, self._scores = graph, scores
        self._edges = self._varying[graph.edges]
        self._node_weights = self._by_variable(scores[0], 0.0)
        self._tables = [table for _, _, table in graph.tables(scores[1])]
        self._strengths = np.array([float(np.linalg.norm(table)) for table in self._tables])

    @property
    def edges_(self) -> npt.NDArray[np.int64]:
        """Pairs of variables i < j, shape (n_edges, 2); read-only."""
        check_fitted(self, "_edges")
        return read_only(self._edges)

    @property
    def node_weights_(self) -> tuple[Vector, ...]:
        """Weights of the states of each variable, the first 0; read-only."""
        check_fitted(self, "_node_weights")
        return tuple(map(read_only, self._node_weights))

    @property
    def weights_(self) -> tuple[Vector, ...]:
        """A table for each edge, shape (states of i, states of j), whose first row and column are 0; read-only."""
        check_fitted(self, "_tables")
        return tuple(map(read_only, self._tables))

    @property
    def strengths_(self) -> Vector:
        """Euclidean norm of each edge's weights, shape (n_edges,); read-only."""
        check_fitted(self, "_strengths")
        return read_only(self._strengths)

    def _by_variable(self, values: Vector, constant: float) -> list[Vector]:
        """Return the values of each variable's states, the last axis; the states of constant variables get a number."""
        parts = iter(np.split(values, self._graph.node_at[1:-1], axis=-1))
        return [
            next(parts) if states.size > 1 else np.full((*values.shape[:-1], states.size), constant)
            for states in self.categories_
        ]

    def named_edges(self) -> Edges:
        """Return the edges by the names of their variables, the strongest first.

        Printed it has the strongest edges, and a notebook shows them as a table; ``to_frame()`` returns all of them as
        a pandas DataFrame.

        Example:
            >>> from loglinear import PairwiseMRF
            >>> rows = [{"rain": a, "wet": b} for a, b in [(0, 0), (1, 1), (1, 1), (0, 0), (0, 1), (1, 0)] * 5]
            >>> print(PairwiseMRF(l1=1.0).fit(rows).named_edges())
            <1 edge between 2 variables>
              1.093  rain  wet
        """
        from .explain.edge_list import edges_of

        check_fitted(self, "_edges")
        return edges_of(self, [self._called(i) for i in range(self.n_features_in_)])

    def to_networkx(self) -> networkx.Graph:
        """Return the network as a networkx.Graph, whose nodes are the names of the variables.

        Nodes have ``states``, the list of their states. Edges have ``strength``, the Euclidean norm of their weights;
        ``sign``, 1 or -1, or 0 for weights without a direction; ``weight``, the strength with the sign, without a
        sign the strength; ``length``, 1 / strength, for shortest paths; and ``weights``, the table of all weights.

        Raises:
            MissingPackageError: networkx is not installed.

        Example:
            >>> from loglinear import PairwiseMRF
            >>> rows = [{"rain": a, "wet": b} for a, b in [(0, 0), (1, 1), (1, 1), (0, 0), (0, 1), (1, 0)] * 5]
            >>> graph = PairwiseMRF(l1=1.0).fit(rows).to_networkx()
            >>> graph.nodes["rain"]["states"], round(graph["rain"]["wet"]["weight"], 3)
            ([0, 1], 1.093)
        """
        check_fitted(self, "_edges")
        with needed_by("PairwiseMRF.to_networkx"):
            import networkx
        names = self._names()
        graph = networkx.Graph()
        graph.add_nodes_from((name, {"states": at.tolist()}) for name, at in zip(names, self.categories_, strict=True))
        _, strengths, signs = self._signed()
        rows = zip(self.edges_.tolist(), self.weights_, strengths.tolist(), signs.tolist(), strict=True)
        for (i, j), table, strength, sign in rows:
            numbers = {"strength": strength, "sign": sign, "weight": (sign or 1) * strength, "length": 1.0 / strength}
            graph.add_edge(names[i], names[j], **numbers, weights=table)
        return graph

    def to_pgmpy(self) -> DiscreteMarkovNetwork:
        """Return the network as pgmpy's DiscreteMarkovNetwork, with names of variables and states.

        It has a factor for each variable and each edge. Their product is p(x) if the treewidth is small enough for
        exact inference, and otherwise proportional to it. Variables that the network ignores are not in it.

        Raises:
            MissingPackageError: pgmpy is not installed.
        """
        check_fitted(self, "_edges")
        with needed_by("PairwiseMRF.to_pgmpy"):
            from pgmpy.factors.discrete import DiscreteFactor
            from pgmpy.models import DiscreteMarkovNetwork
        names, node_weights = self._names(), self.node_weights_
        scores = {(i,): node_weights[i] for i in self._varying.tolist()}
        scores |= {(i, j): table for (i, j), table in zip(self.edges_.tolist(), self.weights_, strict=True)}
        # Each factor has its share of log Z, so that no product overflows.
        log_z = log_partition(self._graph, self._scores, limit=ANSWER).value if self._exactly() else 0.0
        share = (log_z - sum(float(table.max()) for table in scores.values())) / len(scores)
        model = DiscreteMarkovNetwork()
        model.add_nodes_from(names[i] for i in self._varying.tolist())
        model.add_edges_from((names[i], names[j]) for i, j in self.edges_.tolist())
        for scope, table in scores.items():
            states = {names[i]: self.categories_[i].tolist() for i in scope}
            values = np.exp(table - table.max() - share)
            model.add_factors(DiscreteFactor([*states], table.shape, values, state_names=states))
        return model

    def to_uai(self, path: str | os.PathLike[str], evidence: Mapping[Any, Any] | None = None) -> None:
        """Write the network as a file of the UAI inference competitions (``MARKOV``), which inference programs read.

        Variables and states have numbers in the file: variables in the order of the columns, without the variables that
        the network ignores, and states in the order of ``categories_``. The file has the log Z of `log_partition`
        unless a weight exceeds 700.

        Args:
            path: name of the file, ``network.uai`` for example; atomically replaced.
            evidence: states of some variables by name, which are written to ``path`` + ``.evid``.

        Raises:
            DataError: the evidence names an unknown variable or state.
            OSError: the file cannot be written.
        """
        check_fitted(self, "_edges")
        name = os.fspath(path)
        observed = None if evidence is None else self._numbered(evidence)
        write_text(name, uai_text(self._graph, self._scores).encode())
        if observed is not None:
            write_text(f"{name}.evid", evidence_text(observed).encode())

    def _numbered(self, evidence: Mapping[Any, Any]) -> dict[int, int]:
        """Return states of variables of the network by number."""
        names, places = self._names(), {variable: at for at, variable in enumerate(self._varying.tolist())}
        observed = {}
        for name, state in evidence.items():
            variable = names.index(name) if name in names else -1
            if variable not in places:
                message = f"evidence: no variable {name!r}{similar(str(name), map(str, names))}; the variables are "
                message += listed([str(names[i]) for i in places], 8)
                raise DataError(message)
            states = self.categories_[variable].tolist()
            if state not in states:
                message = f"evidence: {self._called(variable)} does not have the state {state!r}; choose one of "
                raise DataError(message + listed([*map(repr, states)], 8))
            observed[places[variable]] = states.index(state)
        return observed

    def _signed(self) -> tuple[npt.NDArray[np.int64], Vector, npt.NDArray[np.int64]]:
        """Return the edges as numbers of variables of the network, their strengths and their signs."""
        return signed_edges(self._numbering, self._weights(), self._orders())

    def _orders(self) -> list[Order]:
        """Return the orders of the states of the variables of the network."""
        orders = state_orders(self.categories_, self.bin_edges_)
        return [orders[i] for i in self._varying.tolist()]

    def centrality(self) -> Centrality:
        """Return how central each variable is, by the four measures of qgraph.

        The weight of an edge is its strength, with its sign where it has one, as in ``to_networkx()``; between two
        variables of two states it is the weight itself. ``strength`` adds up the strengths of a variable's edges,
        ``expected_influence`` the weights of its edges with a sign. The length of an edge is 1 / strength:
        ``closeness`` is 1 / the sum of the distances to the others of the largest component, and NaN outside of it;
        ``betweenness`` is the number of shortest paths through the variable. Variables that the network ignores are
        left out.

        Source: Opsahl, Agneessens & Skvoretz (2010); Robinaugh, Millner & McNally (2016).
        Cost: of the order of the cube of the number of variables.

        Example:
            >>> from loglinear import PairwiseMRF
            >>> from loglinear.datasets import make_network
            >>> X = make_network("chain", n_variables=4, n_samples=500, strength=3.0, random_state=0).X
            >>> PairwiseMRF(l1=60.0).fit(X).centrality().betweenness.tolist()
            [0.0, 2.0, 2.0, 0.0]
        """
        check_fitted(self, "_edges")
        measures = centralities(self._numbering.n_variables, *self._signed())
        return Centrality([self._called(i) for i in self._varying.tolist()], *measures.table())

    def predictability(self, X: Table | Observations, sample_weight: npt.ArrayLike | None = None) -> Predictability:
        """Return how well each variable is predicted from all others.

        The prediction is the state with the highest probability given the observed values of the sample's other
        variables, by exact inference if the treewidth is small enough. ``accuracy`` is the share of the observed values
        that are predicted, ``majority`` the share of the most frequent state in X, and ``normalised`` is
        (accuracy - majority) / (1 - majority): 0 if the other variables do not help, 1 if they determine the variable.
        It can be negative on data other than the training data. Variables that the network ignores are left out.

        Source: Haslbeck & Waldorp, How well do network models predict observations? (2018), for categorical variables.

        Args:
            X: samples, shape (n_samples, n_variables).
            sample_weight: weights >= 0, shape (n_samples,).

        Raises:
            DataError: the data do not match the network.

        Example:
            >>> from loglinear import PairwiseMRF
            >>> from loglinear.datasets import make_network
            >>> X = make_network("chain", n_variables=4, n_samples=500, strength=3.0, random_state=0).X
            >>> PairwiseMRF(l1=20.0).fit(X).predictability(X).normalised.round(2).tolist()
            [0.62, 0.65, 0.66, 0.63]
        """
        codes = self._codes(X)
        weights = weights_of_samples(1.0 if sample_weight is None else sample_weight, len(codes))

        def masked(rows: Codes) -> Vector:
            completed = self._method().completed(self._graph, self._scores, rows)
            self._warn_of(completed.unconverged)
            return completed.beliefs

        names = [self._called(i) for i in self._varying.tolist()]
        return predictability_of(self._graph, self._scores, codes, weights, names, masked)

    def stability(
        self,
        X: Table | Observations,
        n: int = 100,
        sample_weight: npt.ArrayLike | None = None,
        *,
        drops: Sequence[float] = DROPS,
        correlation: float = 0.7,
        probability: float = 0.95,
        random_state: int | None = None,
        observe: Callable[[int], object] | None = None,
    ) -> NetworkStability:
        """Train again on fewer samples, and measure how far edges and centralities stay the same.

        A share of the samples is left out at random, and the network is trained as this one was: a criterion such as
        ``l1="ebic"`` chooses the strength of the penalty again, and a given strength falls with the number of samples.
        The weights of all pairs of variables and the measures of `centrality` are correlated with those of this
        network. ``coefficients`` of the result are correlation-stability coefficients. Networks are trained in parallel
        on the estimator's threads; the result is the same on any number of them. Ctrl-C ends with those that are done.

        Source: Epskamp, Borsboom & Fried (2018), case-dropping bootstrap.

        Args:
            X: training data of the network.
            n: number of networks for each share that is left out, >= 2.
            sample_weight: weights of the samples, as in `fit`.
            drops: shares of the samples to leave out, ascending, above 0 and below 1.
            correlation: correlation that the coefficients ask for, in [0, 1].
            probability: share of the networks that must have this correlation, above 0 and at most 1.
            random_state: random seed; the estimator's by default.
            observe: called with the number of networks trained, after each.

        Raises:
            DataError: the data do not match the network, or too few samples are left.
            OptionError: an option is out of range.

        Warns:
            DataWarning: the network has no edges, so that no correlation is defined.

        Example:
            >>> from loglinear import PairwiseMRF
            >>> from loglinear.datasets import make_network
            >>> X = make_network("chain", n_variables=5, n_samples=500, strength=3.0, random_state=0).X
            >>> stability = PairwiseMRF(l1=20.0).fit(X).stability(X, 10, drops=[0.25, 0.5])
            >>> stability.coefficients["edges"]
            0.5
        """
        count = whole_number("n", n, 2, 10**6)
        real_number("correlation", correlation, "a number from 0 to 1", lambda x: 0.0 <= x <= 1.0)
        real_number("probability", probability, "a number above 0, at most 1", lambda x: 0.0 < x <= 1.0)
        if not isinstance(drops, Sequence | np.ndarray):
            fail("drops", drops, "is not a sequence of shares, such as [0.25, 0.5, 0.75]")
        shares = [real_number("drops", drop, "numbers above 0 and below 1", lambda x: 0.0 < x < 1.0) for drop in drops]
        if not shares or sorted(set(shares)) != shares:
            message = f"drops={list(drops)!r} are not ascending shares of the samples, such as [0.25, 0.5, 0.75]"
            raise OptionError(message)
        seed = self._seed(random_state)
        codes = self._codes(X)
        weights = None if sample_weight is None else weights_of_samples(sample_weight, len(codes))
        filled = (codes >= 0).any(axis=1)
        self._check_trained_on(codes)
        if not filled.all():
            codes, weights = codes[filled], None if weights is None else weights[filled]
        self._check_left(len(codes), shares[-1])
        if not len(self._edges):
            message = "the network has no edges, so correlations with its edges and centralities are undefined; lower "
            warn(message + "l1, or train on more samples", DataWarning)
        training = Training(codes, self._numbering, weights, self._options(NetworkOptions), self._threads, ())
        numbers = {"n": count, "seed": seed, "least": float(correlation), "probability": float(probability)}
        return stability_of(
            training,
            self._weights(),
            self._orders(),
            drops=shares,
            observe=observe,
            **numbers,  # type: ignore[arg-type]
        )

    def _check_trained_on(self, codes: Codes) -> None:
        """Raise DataError if the network was trained on more or fewer samples; those without values need not count."""
        n_filled = int((codes >= 0).any(axis=1).sum())
        n = vars(self).get("_training", {}).get("n_samples")
        if n is not None and not n_filled <= n <= len(codes):
            message = f"X has {len(codes):,} samples, but the network was trained on {n:,}; give its training data"
            raise DataError(message)

    def _check_left(self, n_samples: int, drop: float) -> None:
        """Raise DataError if fewer samples are left than a variable has states."""
        left, most = round((1.0 - drop) * n_samples), int(self._numbering.states.max())
        if left < most:
            variable = int(self._varying[int(self._numbering.states.argmax())])
            message = f"without {100.0 * drop:g} % of the {n_samples} samples {left} are left, fewer than the {most} "
            message += f"states of {self._called(variable)}; give more samples, or lower the largest share in drops"
            raise DataError(message)

    def edge_confidence(
        self,
        X: Table | Observations,
        n: int = 100,
        sample_weight: npt.ArrayLike | None = None,
        *,
        level: float = 0.95,
        random_state: int | None = None,
        observe: Callable[[int], object] | None = None,
    ) -> EdgeConfidence:
        """Train again on bootstrap samples, at the same strength of the penalty, and count how often each edge recurs.

        Bootstrap samples are trained in parallel on the estimator's threads. Ctrl-C returns those that are finished.

        Args:
            X: training data of the network.
            n: number of bootstrap samples, >= 2.
            sample_weight: weights of the samples, as in `fit`.
            level: share of the bootstrap samples between the bounds of an edge's strength, in [0, 1).
            random_state: random seed; the estimator's by default.
            observe: called with the number of finished bootstrap samples, after each.

        Raises:
            DataError: the data do not match the network.
            OptionError: an option is out of range.

        Example:
            >>> from loglinear import PairwiseMRF
            >>> from loglinear.datasets import make_network
            >>> X = make_network("chain", n_variables=4, n_samples=500, strength=3.0, random_state=0).X
            >>> found = PairwiseMRF(l1=60.0).fit(X).edge_confidence(X, 20)
            >>> found.edges[:3].tolist(), found.shares[:3].tolist(), found[0, 2] < 1.0
            ([[2, 3], [1, 2], [0, 1]], [1.0, 1.0, 1.0], True)
        """
        count = whole_number("n", n, 2, 10**6)
        real_number("level", level, "a number from 0 to below 1", lambda x: 0.0 <= x < 1.0)
        seed = self._seed(random_state)
        codes = self._codes(X)
        weights = None if sample_weight is None else weights_of_samples(sample_weight, len(codes))
        self._check_trained_on(codes)
        training = Training(codes, self._numbering, weights, self._options(NetworkOptions), self._threads, ())
        samples = training.bootstrap(self._weights(), self.l1_, count, seed)
        n_variables = self._numbering.n_variables
        confidence = confidence_of(samples, n_variables, level=level, observe=observe)
        names = [self._called(i) for i in range(self.n_features_in_)]
        return replace(confidence, edges=self._varying[confidence.edges], names=names)

    def _names(self) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        return list(range(self.n_features_in_)) if names is None else names.tolist()

    def _called(self, variable: int) -> str:
        """Return the name of a variable for messages and figures."""
        name = self._names()[variable]
        return name if isinstance(name, str) else f"column {name}"

    def _exactly(self) -> bool:
        """Whether queries are answered exactly."""
        return is_narrow(self._graph.network, ANSWER)

    def _codes(self, X: Table | Observations | Frame) -> Codes:
        check_is_fitted(self, "edges_")
        frame = variables_of(X)
        check_names(frame.names, getattr(self, "feature_names_in_", None))
        return encoded(self._marked(frame), self.categories_, self.bin_edges_)

    def _marked(self, frame: Frame) -> Frame:
        """Return a table with None in place of the marks of missing values."""
        return replace(frame, columns=with_missing(frame.columns, self.missing or ()))

    def _seed(self, random_state: int | None) -> int:
        """Return the seed passed to a method, or else the estimator's seed."""
        return whole_number("random_state", self.random_state if random_state is None else random_state, 0, 2**32 - 1)

    def _weights(self) -> Vector:
        """Return the weights as `Numbering` numbers them."""
        w = np.zeros(self._numbering.n_features)
        w[self._graph.interactions] = self._scores[1][self._graph.places]
        w[self._numbering.n_interactions :] = self._scores[0][self._graph.columns]
        return w

    def _method(self) -> Inference:
        """Return the method of inference that answers queries."""
        return Exact(ANSWER) if self._exactly() else self._approximate()

    def _approximate(self) -> Inference:
        method = make_inference(self.inference or LoopyBP.name, self.inference_options)
        return method if isinstance(method, Propagation) else LoopyBP()

    @staticmethod
    def _warn_of(unconverged: int) -> None:
        if unconverged:
            message = f"belief propagation did not converge in {unconverged} runs, so the probabilities are inaccurate"
            warn(message, ConvergenceWarning)

    def _beliefs(self, X: Table | Observations | Frame) -> tuple[Codes, Vector]:
        codes = self._codes(X)
        completed = self._method().completed(self._graph, self._scores, codes)
        self._warn_of(completed.unconverged)
        return codes, completed.beliefs

    def _filled(self, codes: Codes, beliefs: Vector) -> Codes:
        """Return samples with the most probable state in place of each missing value."""
        likely = [part.argmax(axis=1) for part in np.split(beliefs, self._graph.node_at[1:-1], axis=1)]
        return np.where(codes < 0, np.stack(likely, axis=1), codes).astype(np.int32)
