"""Inference in pairwise Markov random fields by Gibbs samples."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._core import CompletedRows
from ..options import whole_number
from ..vectors import Vector
from .graph import Graph, Moments, Report, Scores
from .loopy_bp import LoopyBP
from .numbering import Codes

__all__ = ["Gibbs"]

# Minimum effective share of the samples; below it, new samples are drawn.
EFFECTIVE = 0.2


@dataclass(frozen=True)
class _Anchor:
    """Samples of a network, the states of all chains.

    Attributes:
        graph: its edges.
        scores: its scores.
        log_z: its log Z.
        codes: the samples, shape (chains, n_variables).
        base: log p~ of the samples, shape (chains,).
    """

    graph: Graph
    scores: Scores
    log_z: float
    codes: Codes
    base: Vector


@dataclass
class Gibbs:
    """Gibbs samples, reweighted as long as the weights stay near the weights that the samples were drawn with.

    Source: Geyer & Thompson (1992): log Z(w) - log Z(v) is estimated by the mean of exp((w - v) . f) over samples of
    the model with weights v. The estimate of the gradient is the gradient of this estimate.

    - When the effective number of samples falls below a fifth of all, every chain continues and gives a new sample;
      after a long step the chains pass through networks in between (Neal 2001).
    - The first network has no edges, and an exact log Z; the error of log Z grows with each new set of samples.
    - Rows with missing values are completed by belief propagation.

    Args:
        chains: number of chains, each of which gives one sample, >= 2.
        sweeps: sweeps of each chain before its sample is taken, >= 1.
        seed: seed of the chains.

    Example:
        >>> from loglinear import PairwiseMRF
        >>> from loglinear.datasets import make_network
        >>> X = make_network("chain", n_variables=4, n_samples=500, strength=3.0, random_state=0).X
        >>> mrf = PairwiseMRF(l1=60.0, objective="likelihood", inference="gibbs", inference_options={"chains": 500})
        >>> mrf = mrf.fit(X)
        >>> mrf.edges_.tolist()
        [[0, 1], [1, 2], [2, 3]]
    """

    chains: int = 5000
    sweeps: int = 20
    seed: int = 0
    _anchor: _Anchor | None = field(default=None, init=False, repr=False)
    _draws: int = field(default=0, init=False, repr=False)

    name = "gibbs"
    is_convex = False

    def __post_init__(self) -> None:
        whole_number("chains", self.chains, 2, 2**31)
        whole_number("sweeps", self.sweeps, 1, 2**31)
        whole_number("seed", self.seed, 0, 2**32 - 1)

    def moments(self, graph: Graph, scores: Scores, report: Report, *, whole: bool) -> Moments:
        """Return expectations over the reweighted samples, or over new ones if too few are effective."""
        anchor = self._anchor or self._independent(graph, scores)
        change = graph.score(scores, anchor.codes) - anchor.base
        if _effective(change) < EFFECTIVE:
            anchor = self._drawn(anchor, graph, scores)
            change = np.zeros(self.chains)
        self._anchor = anchor
        report.add(1, 0.0, 0.0)
        weights = np.exp(change - _log_mean_exp(change)) / self.chains
        log_z = anchor.log_z + _log_mean_exp(change)
        return self._expected(graph, anchor.codes, weights, log_z)

    def _expected(self, graph: Graph, codes: Codes, weights: Vector, log_z: float) -> Moments:
        """Expectations over weighted samples."""
        on = graph.numbering.indicators(codes)
        products = graph.numbering.upper(on.T @ (on * weights[:, None]))
        return Moments(log_z, *graph.shares(codes, weights), products)

    def _independent(self, graph: Graph, scores: Scores) -> _Anchor:
        """Samples of the network without its edges, whose log Z is exact."""
        empty = Graph(graph.numbering, np.empty((0, 2), np.int64), graph.network.n_threads)
        alone = scores[0], np.zeros(0)
        log_z = float(np.logaddexp.reduceat(scores[0], graph.node_at[:-1]).sum())
        codes = np.zeros((self.chains, graph.numbering.n_variables), np.int32)
        return self._sampled(empty, alone, log_z, codes)

    def _drawn(self, anchor: _Anchor, graph: Graph, scores: Scores) -> _Anchor:
        """Samples of the network, drawn through intermediate networks from the anchor to it."""
        both = Graph(
            graph.numbering,
            np.unique(np.concatenate([anchor.graph.edges, graph.edges]), axis=0),
            graph.network.n_threads,
        )
        first, last = _moved(anchor.graph, anchor.scores, both), _moved(graph, scores, both)
        done = 0.0
        while done < 1.0:
            change = both.score(last, anchor.codes) - both.score(first, anchor.codes)
            share = _longest(change, 1.0 - done)
            done = 1.0 if share >= 1.0 - done else done + share
            between: Scores = tuple(a + done * (b - a) for a, b in zip(first, last, strict=True))  # type: ignore[assignment]
            log_z = anchor.log_z + _log_mean_exp(share * change)
            weights = np.exp(share * change - (share * change).max())
            chosen = np.random.default_rng([self.seed, self._draws]).choice(
                self.chains, self.chains, p=weights / weights.sum()
            )
            anchor = self._sampled(both, between, log_z, anchor.codes[chosen])
        codes = anchor.codes
        return _Anchor(graph, scores, anchor.log_z, codes, graph.score(scores, codes))

    def _sampled(self, graph: Graph, scores: Scores, log_z: float, start: Codes) -> _Anchor:
        """Samples of a network with this log Z, by chains that start at given states."""
        self._draws += 1
        seed = int(np.random.SeedSequence([self.seed, self._draws]).generate_state(1)[0])
        codes = graph.network.gibbs(*scores, start, sweeps=self.sweeps, thin=self.sweeps, seed=seed)
        return _Anchor(graph, scores, log_z, codes, graph.score(scores, codes))

    def completed(self, graph: Graph, scores: Scores, codes: Codes, weights: Vector | None = None) -> CompletedRows:
        """Complete samples with missing values by loopy belief propagation."""
        return LoopyBP().completed(graph, scores, codes, weights)


def _moved(graph: Graph, scores: Scores, larger: Graph) -> Scores:
    """Scores of a graph, laid out for a larger graph; the added edges have scores of 0."""
    edges, n = np.zeros(larger.edge_at[-1]), [graph.numbering.n_variables, 1]
    sorter = np.argsort(larger.edges @ n)
    places = sorter[np.searchsorted(larger.edges @ n, graph.edges @ n, sorter=sorter)]
    sizes = np.diff(graph.edge_at)
    within = np.arange(graph.edge_at[-1]) - np.repeat(graph.edge_at[:-1], sizes)
    edges[np.repeat(larger.edge_at[places], sizes) + within] = scores[1]
    return scores[0], edges


def _log_mean_exp(values: Vector) -> float:
    """Return log(mean(exp(values)))."""
    most = values.max()
    return float(most + np.log(np.exp(values - most).mean()))


def _effective(change: Vector) -> float:
    """Effective share of samples with weights w = exp(change): (sum of w)^2 / (n * sum of w^2)."""
    weights = np.exp(change - change.max())
    return float(weights.sum() ** 2 / (weights.size * (weights**2).sum()))


def _longest(change: Vector, most: float) -> float:
    """The largest share of a change, up to ``most``, after which enough samples are effective."""
    if _effective(most * change) >= EFFECTIVE:
        return most
    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _effective(middle * change) >= EFFECTIVE else (low, middle)
    return low if low > 0.0 else most
