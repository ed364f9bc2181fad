"""The pairwise Markov random field as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from ..data.filled import as_fillable, filled_in
from ..data.frames import Frame, columns_called
from ..data.inputs import Array, ArrowData, Observations
from ..data.per_sentence import PerSentence
from ..data.sample_values import weights_of_samples
from ..data.table import Table
from ..errors import DataError, DataWarning, warn
from ..minimize import Callback
from ..networks.categories import categories_of, completed, decoded, encoded, matrix_of, variables_of
from ..networks.cleaning import cleaned, with_missing
from ..networks.exact import ANSWER
from ..networks.graph import Graph, Report
from ..networks.log_partition import LogPartition, log_partition
from ..networks.loopy_bp import LoopyBP
from ..networks.numbering import Codes
from ..networks.oddities import copied
from ..networks.values import is_missing
from ..options import whole_number
from ..path import Path
from ..result import Status
from ..vectors import Vector
from .estimator import check_end
from .files import network as network_file
from .files.origin import training_date
from .files.settings import training_summary
from .learned_network import LearnedNetwork
from .scikit_learn import BaseEstimator, ConvergenceWarning
from .training.options import SolverOptions
from .training.structure import NetworkOptions, Trained, train_network

if TYPE_CHECKING:
    from ..report import page
    from .explain.explanation import Explanation

__all__ = ["LogLikelihood", "PairwiseMRF"]
# Advice where belief propagation's estimate of the likelihood ends a training.
REMEDY = (
    "belief propagation has several solutions near these weights, and its estimate of the likelihood jumps from one "
    'to the other; use objective="pseudolikelihood" or inference="trw", which have no such jumps, or raise l1'
)


@dataclass(frozen=True)
class LogLikelihood:
    """Log p of samples, in nats.

    Attributes:
        value: sum over samples.
        lower: lower bound.
        upper: upper bound.
        exact: whether the value is exact; otherwise it is an estimate between the bounds.
        method: how log Z was computed: "exact", or "bethe" for the estimate of belief propagation.
        samples: log p of each sample, shape (n_samples,), exact if the value is.
    """

    value: float
    lower: float
    upper: float
    exact: bool
    method: str
    samples: Vector = field(repr=False)

    def __float__(self) -> float:
        return self.value


class TrainingSamples(NamedTuple):
    """Samples of the variables of a network.

    Attributes:
        codes: states, -1 for missing, shape (n_samples, n_variables).
        weights: weights of the samples, shape (n_samples,); None for 1.
        n: number of samples of the data, in which equal ones may be counted.
    """

    codes: Codes
    weights: Vector | None
    n: int


class PairwiseMRF(LearnedNetwork, BaseEstimator):
    """Pairwise Markov random field over discrete variables, whose structure is learned.

    p(x) is proportional to exp(sum over variables of node weights + sum over edges of edge weights). Minimises the sum
    over samples of -weight log p(x), or of -weight log p(x_i | others) over all variables, plus l1 |w|_1 + (l2 / 2)
    |w|^2 over the weights of edges, in nats; node weights are not penalised. A pair of variables has an edge if one of
    its weights is non-zero. The first state of a variable is its reference state, with weight 0 alone and in pairs: an
    edge between variables with r and s states has (r - 1) (s - 1) weights. States are in the order that an ordered
    categorical column declares, and otherwise sorted; ``reference`` puts another one first.

    Source: Zhu, Lao & Xing (2010), section 6.2; Lee, Ganapathi & Koller (2006). Pseudo-likelihood: Besag (1975);
    nodewise: Ravikumar, Wainwright & Lafferty (2010).
    Cost: with "likelihood" an evaluation runs inference on the selected edges; with "pseudolikelihood" it is one pass
    over the data. Pairs without an edge are scored without building a graph of all pairs.

    Columns with a single value, without values, or with a different text or whole number in every row, as identifiers
    have, are ignored with a warning and have no edges. Rows without values are ignored in training.

    Attributes:
        categories_: states of each variable, the reference state first, the others sorted or in their declared order;
            bins from the lowest to the highest; for an ignored variable its only value, if it had one, and none for
            identifiers.
        bin_edges_: bin edges of each variable, ascending; None for a variable without bins.
        feature_names_in_: names of the variables, if X has names.
        n_features_in_: number of variables.
        edges_: pairs of variables i < j, shape (n_edges, 2); read-only, as the next three are.
        weights_: a table for each edge, shape (states of i, states of j); its first row and column are 0.
        strengths_: Euclidean norm of each edge's weights, shape (n_edges,).
        node_weights_: weights of the states of each variable; the first is 0.
        l1_: strength of the L1 penalty.
        path_: regularisation path on which l1 was chosen; missing if l1 was given.
        n_iter_: iterations of the solver.
        result_: status, trace and optimality violation of the training; NotFittedError for a loaded network.
        inference_report_: how inference went, a `loglinear.networks.graph.Report`; None without inference.

    Example:
        >>> from loglinear import PairwiseMRF
        >>> from loglinear.datasets import make_network
        >>> X = make_network("chain", n_variables=4, n_samples=500, strength=3.0, random_state=0).X
        >>> mrf = PairwiseMRF(l1="ebic", objective="pseudolikelihood").fit(X)
        >>> mrf.edges_.tolist()
        [[0, 1], [1, 2], [2, 3]]
    """

    def fit(
        self,
        X: Table | Observations,
        y: object = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
    ) -> PairwiseMRF:
        """Learn the edges and their weights.

        Args:
            X: categories, shape (n_samples, n_variables): strings, integers or booleans, and with ``bins`` any numbers;
                None, NaN and pandas.NA are missing values, and values in ``missing``. A pandas or polars DataFrame, a
                pyarrow Table, a DuckDB relation or any other table with Arrow's PyCapsule interface, an array, or a
                list of rows or dicts.
            y: ignored.
            sample_weight: weights >= 0, shape (n_samples,).
            callbacks: called as callback(record, state) after each step; return True to stop.

        Raises:
            DataError: invalid data: fewer than two columns that vary, more states than ``max_states``.
            OptionError: an option is out of range.

        Warns:
            DataWarning: rows or columns are ignored, columns determine each other, rows repeat the header, values look
                like marks of missing values or differ only in how they are written, or ``cuts`` are outside the values
                of their column.
        """
        options = self._options(NetworkOptions)
        options.check()
        samples = self._encoded(variables_of(X), sample_weight, options)
        callbacks = self._observers(callbacks)
        self._train(samples, options, callbacks)
        return self

    def _encoded(self, frame: Frame, sample_weight: npt.ArrayLike | None, options: NetworkOptions) -> TrainingSamples:
        """Store the variables of a table, and return its samples; see `fit` for the errors and warnings."""
        if len(frame.columns) < 2:
            message = "X has 1 variable; a network needs two or more"
            raise DataError(message)
        frame = replace(frame, columns=with_missing(frame.columns, options.missing or ()))
        weights = None if sample_weight is None else weights_of_samples(sample_weight, len(frame.columns[0]))
        frame, weights, identifiers = cleaned(frame, weights, bins=options.bins, cuts=options.cuts)
        categories, edges = categories_of(frame, options.max_states, options.bins, options.cuts, options.reference)
        _warn_of_constants(categories, frame.names, identifiers)
        codes = encoded(frame, categories, edges)
        n = len(codes) if frame.counts is None else int(frame.counts.sum())
        if frame.counts is not None:
            weights = frame.counts.astype(np.float64) if weights is None else weights * frame.counts
        self._store_variables(frame.names, categories, edges)
        names = [self._names()[i] for i in self._varying]
        if (copies := copied(codes, names, frame.counts, is_file=frame.is_file)) is not None:
            warn(copies, DataWarning)
        return TrainingSamples(codes, weights, n)

    def _train(self, samples: TrainingSamples, options: NetworkOptions, callbacks: tuple[Callback, ...] = ()) -> None:
        """Train on samples of the stored variables, and store the network."""
        codes, weights, n = samples
        trained = train_network(codes, self._numbering, weights, options, threads=self._threads, callbacks=callbacks)
        self._notes: dict[str, Any] = {}
        self._training = {"n_samples": n, "date": training_date(), **training_summary([trained.result])}
        self._store(trained)
        self._warn_of_training(trained)

    def _warn_of_training(self, trained: Trained) -> None:
        """Warn if training, or belief propagation at the final weights, has not converged."""
        report = trained.report
        approximate = report is not None and report.method == LoopyBP.name
        failed = trained.result.status is Status.LINE_SEARCH_FAILED
        check_end(trained.result, REMEDY if approximate and failed else "")
        if report is not None and not report.settled:
            message = f"belief propagation did not converge (residual {report.residual:.2g}), so the gradient is "
            message += "inexact; raise damping or max_iterations in inference_options, or raise l1"
            warn(message, ConvergenceWarning)

    def solver_settings(self, l1: float) -> SolverOptions:
        """Return the options of the solver at a strength of the L1 penalty."""
        return self._options(NetworkOptions).at(l1)

    def _store(self, trained: Trained) -> None:
        numbering, w = self._numbering, trained.w
        self.inference_report_ = trained.report
        self.n_iter_ = trained.result.iterations
        vars(self).pop("path_", None)
        if trained.path is not None:
            self.path_: Path = trained.path
        graph = Graph(numbering, numbering.edges_of(np.flatnonzero(w[: numbering.n_interactions])), self._threads)
        scores = graph.scores(w[graph.interactions], w[numbering.n_interactions :])
        self._hold(graph, scores, trained.l1)
        self._set_results(trained.result)

    def sample(self, n_samples: int = 1, *, random_state: int | None = None, sweeps: int = 1000) -> Array:
        """Draw samples, shape (n_samples, n_variables).

        Samples are exact if the treewidth is small enough; otherwise each is the end of a Gibbs chain.

        Args:
            n_samples: number of samples.
            random_state: random seed; the estimator's by default.
            sweeps: sweeps of each Gibbs chain.
        """
        check_is_fitted(self, "edges_")
        count = whole_number("n_samples", n_samples, 1, 2**40)
        seed = self._seed(random_state)
        network = self._graph.network
        if self._exactly():
            codes = network.sample(*self._scores, count, seed=seed)
        else:
            start = np.random.default_rng(seed).integers(
                0, self._numbering.states, size=(count, self._numbering.n_variables)
            )
            codes = network.gibbs(*self._scores, start.astype(np.int32), sweeps=sweeps, thin=sweeps, seed=seed)
        return matrix_of(decoded(codes, self.categories_))

    def log_partition(self) -> LogPartition:
        """Return log Z: exact if the treewidth is small enough, otherwise bounds and the Bethe estimate."""
        check_is_fitted(self, "edges_")
        return log_partition(self._graph, self._scores, limit=ANSWER)

    def log_likelihood(self, X: Table | Observations, sample_weight: npt.ArrayLike | None = None) -> LogLikelihood:
        """Return log p of samples; with missing values, log p of the observed values.

        It is exact if the treewidth is small enough, otherwise an estimate with bounds on log Z; sums over missing
        values are by belief propagation.
        """
        codes = self._codes(X)
        weights = weights_of_samples(1.0 if sample_weight is None else sample_weight, len(codes))
        z = self.log_partition()
        scores = self._method().completed(self._graph, self._scores, codes).log_z
        total = float(weights.sum())
        value = float(weights @ scores)
        return LogLikelihood(
            value - total * z.value,
            value - total * z.upper,
            value - total * z.lower,
            z.exact,
            z.method,
            scores - z.value,
        )

    def score(self, X: Table | Observations, y: object = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the mean log p of samples, in nats; an estimate if the treewidth is large."""
        likelihood = self.log_likelihood(X, sample_weight)
        n_samples = len(likelihood.samples)
        total = n_samples if sample_weight is None else float(weights_of_samples(sample_weight, n_samples).sum())
        return likelihood.value / total

    def marginals(self) -> list[Vector]:
        """Return the probability of each state of each variable; by belief propagation if the treewidth is large."""
        check_is_fitted(self, "edges_")
        method = self._method()
        report = Report(method.name)
        moments = method.moments(self._graph, self._scores, report, whole=False)
        self._warn_of(report.unconverged)
        return self._by_variable(moments.nodes, 1.0)

    def predict_proba(self, X: Table | Observations) -> list[Vector]:
        """Return the probability of each state of each variable given the observed values.

        Returns:
            For each variable an array of shape (n_samples, states); observed values have probability 1.
        """
        _, beliefs = self._beliefs(X)
        return self._by_variable(beliefs, 1.0)

    @overload
    def predict(self, X: ArrowData) -> Any: ...

    @overload
    def predict(self, X: Table | Observations) -> Array: ...

    def predict(self, X: Any) -> Any:
        """Fill missing values with their most probable state; observed values stay as they are.

        A missing number of a binned variable becomes the name of its bin.

        Returns:
            For a table of pandas or polars, a table of the same library, columns and index; for other tables with
            Arrow's PyCapsule interface, a table of pyarrow. A column that cannot hold the name of a bin becomes a
            column of objects in pandas, and of strings elsewhere. For other samples an array, shape (n_samples,
            n_variables).
        """
        table = as_fillable(X)
        frame = variables_of(X if table is None else table)
        codes, beliefs = self._beliefs(frame)
        frame = self._marked(frame)
        states = decoded(self._filled(codes, beliefs), self.categories_)
        if table is None:
            return matrix_of(completed(frame, states, self.categories_, self.bin_edges_))
        return filled_in(table, [is_missing(column) for column in frame.columns], states)

    def report(self, X: Table | Observations, *, title: str = "Report of a network") -> page.Report:
        """Return a report about the network on samples; notebooks display it, `save` writes a single HTML file.

        It shows how well each value can be predicted from the rest of its sample, how probable the samples are, and the
        strongest edges. Missing values are replaced by their most probable state, and not counted.

        Args:
            X: samples, shape (n_samples, n_variables).
            title: title of the page.

        Returns:
            The tables as attributes. HTML needs Jinja2: ``pip install 'loglinear[report]'``.

        Raises:
            DataError: invalid data.
        """
        from .explain.network_report import report_of_network

        return report_of_network(self, X, title=title)

    def _summary(self) -> dict[str, str]:
        from .explain.network_report import network_rows

        return network_rows(self) if "_edges" in vars(self) else {}

    def explain(self, X: Table | Observations) -> list[Explanation]:
        """Explain for each sample why the most probable state of each variable, given all others, beats the second.

        A contribution is how much the variable's own weight, or the state of a neighbour, adds to the log odds of the
        two states. Missing values are replaced by their most probable state.

        Args:
            X: samples, shape (n_samples, n_variables).

        Returns:
            An explanation for each sample, with an entry for each variable of the network.

        Example:
            >>> from loglinear import PairwiseMRF
            >>> X = [["rain", "wet"], ["rain", "wet"], ["sun", "dry"], ["sun", "wet"], ["rain", "dry"], ["sun", "dry"]]
            >>> print(PairwiseMRF(l1=0.1).fit(X).explain([["rain", "wet"]])[0])
              1  column 0=rain  rain 0.650, not sun 0.350: +0.619
                   +1.238  column 1=wet
                   -0.619  (its own weight)
              2  column 1=wet  wet 0.650, not dry 0.350: +0.619
                   +0.619  (its own weight)
        """
        return PerSentence(self._explained(*self._beliefs(X)))

    def _explained(self, codes: Codes, beliefs: Vector) -> Iterator[Explanation]:
        """Explain samples, from their states and the probabilities of all states; see `explain`."""
        from .explain.explained import explain_states

        return explain_states(
            self._graph,
            self._scores,
            self._filled(codes, beliefs),
            names=[self._called(i) for i in self._varying.tolist()],
            states=[[str(state) for state in self.categories_[i].tolist()] for i in self._varying.tolist()],
            missing=codes < 0,
        )

    def save(self, path: str | os.PathLike[str], **notes: object) -> None:
        """Write the network to a file, atomically.

        Args:
            path: name of the file.
            notes: further settings for the file, JSON values.

        Raises:
            DataError: categories are not strings, numbers or booleans.
            OSError: the file cannot be written.
        """
        check_is_fitted(self, "edges_")
        settings = {
            **{name: value for name, value in self.get_params().items() if not isinstance(value, Mapping)},
            "l1": self.l1_,
            "solver": self.solver_settings(self.l1_).make_solver()[0] if self.l1_ else str(self.solver),
            "solver_options": self.solver_options,
            "inference_options": self.inference_options,
            "names": None if (names := getattr(self, "feature_names_in_", None)) is None else names.tolist(),
            "bin_edges": [None if edges is None else edges.tolist() for edges in self.bin_edges_],
            "training": self._training,
            **self._notes,
            **notes,
        }
        network_file.write(os.fspath(path), settings, self.categories_, self._graph.edges, self._scores)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PairwiseMRF:
        """Open a model file of a network.

        Raises:
            ModelFileError: the file is damaged or of another kind.
            OSError: the file cannot be read.
        """
        stored = network_file.read(os.fspath(path))
        settings, network = stored.settings, cls._of_settings(stored.settings, os.fspath(path))
        inference_options = network.inference_options
        network_file.check_setting(os.fspath(path), "inference_options", inference_options, network._approximate)
        bins = [None if edges is None else np.array(edges, dtype=np.float64) for edges in settings["bin_edges"]]
        network._store_variables(settings["names"], stored.categories, bins)
        network.inference_report_ = None
        network._training = settings.get("training", {})
        network._notes = {"files": settings["files"]} if "files" in settings else {}
        if "iterations" in network._training:
            network.n_iter_ = network._training["iterations"]
        network._hold(Graph(network._numbering, stored.edges, 0), stored.scores, float(network.l1))
        return network


def _warn_of_constants(categories: list[Array], names: list[str] | None, identifiers: Sequence[int]) -> None:
    """Name the variables that are left out, besides identifiers; raise DataError if fewer than two are left."""
    constant = [i for i, states in enumerate(categories) if states.size < 2 and i not in identifiers]
    named = columns_called([i if names is None else names[i] for i in constant])
    if len(categories) - len(constant) - len(identifiers) < 2:
        has = "has" if len(constant) == 1 else "have"
        reason = f": {named} {has} one value or none" if constant else ", apart from identifiers"
        message = f"fewer than two columns vary{reason}; give two or more that vary"
        raise DataError(message)
    if constant:
        warn(f"ignored, because all values are equal or missing: {named}", DataWarning)
