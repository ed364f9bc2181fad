"""Clusters of weights, and the projected problem, in which the weights of a cluster are equal.

Source: Mathur & Chakrabarti (2010), sections III-B, III-C and III-E. Symbols: beta the weights, shape (d,); cmap the
cluster of each, shape (d,); gamma the weights of the clusters, shape (K,); C_k the features of cluster k.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...errors import ObjectiveError, OptionError
from ...problem import Objective, Problem
from ...vectors import Vector

__all__ = [
    "Aggregatable",
    "ClusterMap",
    "Clusterable",
    "Projected",
    "chunks",
    "cluster_map",
    "clusterable_range",
    "k_means",
    "largest_size",
    "project_down",
]

ClusterMap = npt.NDArray[np.intp]


@runtime_checkable
class Clusterable(Protocol):
    """An objective that says which of its features may be clustered."""

    @property
    def clusterable(self) -> tuple[int, int]:
        """First feature that may be clustered, and the one after the last."""


@runtime_checkable
class Aggregatable(Protocol):
    """An objective that can add up its features over clusters."""

    def aggregate(self, cmap: npt.NDArray[Any], n_clusters: int) -> Objective | None:
        """Return the objective as a function of the weights of clusters, beta_j = gamma_cmap(j).

        Source: Mathur & Chakrabarti (2010), Eq. 15; the gradient is that of Eq. 14.

        Args:
            cmap: cluster of each feature, from 0 to n_clusters - 1, shape (n_features,).
            n_clusters: number of clusters.

        Returns:
            An objective over n_clusters features; None if these clusters cannot be added up.
        """


def clusterable_range(problem: Problem) -> tuple[int, int]:
    """Return start and stop of the features that may be clustered.

    They are the range ``clusterable`` of the objective, all features if it has none, except unpenalised features.

    Raises:
        OptionError: ``clusterable`` is not a range of the features.
    """
    n = problem.n_features
    bounds = problem.objective.clusterable if isinstance(problem.objective, Clusterable) else (0, n)
    try:
        start, stop = (int(bound) for bound in bounds)
    except (TypeError, ValueError):
        start, stop = 0, -1
    if not 0 <= start <= stop <= n:
        name = type(problem.objective).__name__
        message = f"{name}.clusterable is {bounds!r}; it must be a pair (start, stop) with 0 <= start <= stop <= {n}"
        raise OptionError(message)
    return start, max(start, min(stop, _penalised(problem)))


def chunks(beta: Vector, size: int) -> ClusterMap:
    """Return the cluster of each weight: the sorted weights, cut into contiguous chunks of ``size``, the last smaller.

    Cost: a sort.
    """
    cmap = np.empty(beta.size, np.intp)
    cmap[np.argsort(beta, kind="stable")] = np.arange(beta.size) // size
    return cmap


def k_means(beta: Vector, change: Vector, size: int, seed: int) -> ClusterMap:
    """Return the cluster of each weight by k-means on the points (beta_j, change_j), for d / size clusters.

    Bitwise the same with the same seed, on any number of threads: it runs on one.
    Cost: O(d^2 / size) an iteration.

    Args:
        beta: weights, shape (d,).
        change: added to the weights by the last iteration, shape (d,).
        size: mean number of weights in a cluster, >= 1.
        seed: of the first centres, >= 0.
    """
    # Imported when needed: they take longer to import than everything else.
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    count = -(-beta.size // size)
    random_state = np.random.RandomState(np.random.MT19937(seed))
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # There may be fewer different points than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        clustering = KMeans(count, n_init=1, random_state=random_state).fit(np.column_stack([beta, change]))
    return np.unique(clustering.labels_, return_inverse=True)[1].astype(np.intp)


def largest_size(beta: Vector, clusters: Callable[[Vector, int], ClusterMap], share: float) -> int:
    """Return how many weights a cluster may have, so that the means lose at most this share of the variance of beta.

    The square error of k clusters is that of their means. It is taken to grow with the size, which is doubled, then
    halved by bisection.

    Cost: a clustering for each of 2 log2(d) sizes.

    Args:
        beta: weights, shape (d,).
        clusters: function of weights and size that returns the cluster of each weight.
        share: between 0 and 1.
    """
    scaled = beta / max(float(np.abs(beta).max(initial=0.0)), 1.0)

    def loses(size: int) -> float:
        cmap = clusters(beta, size)
        return float(np.square(scaled - project_down(scaled, cmap)[cmap]).sum())

    most = share * float(np.square(scaled - scaled.mean()).sum()) if beta.size else 0.0
    fits, does_not = 1, beta.size + 1
    while fits * 2 < does_not:
        if loses(fits * 2) > most:
            does_not = fits * 2
            break
        fits *= 2
    while does_not - fits > 1:
        size = (fits + does_not) // 2
        fits, does_not = (size, does_not) if loses(size) <= most else (fits, size)
    return fits


def cluster_map(n: int, start: int, clusters: ClusterMap) -> ClusterMap:
    """Return cmap for n features: from ``start`` on the given clusters; every other feature is its own cluster.

    The clusters are in the order of their features: the first and the last weights of beta are the first and the last
    of gamma.
    """
    count = int(clusters.max()) + 1 if clusters.size else 0
    alone = np.arange(n - clusters.size, dtype=np.intp)
    return np.concatenate([alone[:start], start + clusters, alone[start:] + count])


def project_down(beta: Vector, cmap: ClusterMap) -> Vector:
    """Return gamma, the mean of beta over each cluster."""
    means: Vector = np.bincount(cmap, weights=beta) / np.bincount(cmap)
    return means


class Projected:
    """The penalised objective of a problem without L1 as a function of gamma, where beta_j = gamma_cmap(j).

    Its ridge is (l2 / 2) sum over k of |C_k| gamma_k^2, without unpenalised features. As weights of the
    clusters differ, it is part of the objective; a problem made from it has no other penalty.

    An objective that can add up its features over clusters does so (``Aggregatable``, Eq. 15). Any other objective is
    evaluated at beta and its gradient added up (Eq. 14).

    Cost: an evaluation is one of the objective and O(d + K), or one of the aggregated objective and O(K).

    Args:
        problem: over beta, without L1.
        cmap: cluster of each feature, all clusters from 0 to K - 1 in use.
        aggregate: let the objective add up its features, if it can.

    Raises:
        OptionError: ``aggregate`` did not return an objective.
        ObjectiveError: ``aggregate`` returned an objective over another number of features.
    """

    def __init__(self, problem: Problem, cmap: ClusterMap, *, aggregate: bool = True) -> None:
        objective = problem.objective
        self.n_features = int(cmap.max()) + 1
        self.n_samples = int(objective.n_samples)
        self.n_threads = problem.n_threads
        self._cmap = cmap
        sizes = np.bincount(cmap[: _penalised(problem)], minlength=self.n_features)
        self._strengths = problem.penalty.l2 * sizes
        self._fine = Problem(objective)
        self._aggregated = self._aggregate(objective) if aggregate else None
        if self._aggregated is None:
            self._beta, self._gradient = np.empty(cmap.size), np.empty(cmap.size)

    def _aggregate(self, objective: Objective) -> Problem | None:
        """Return the problem over gamma that the objective makes itself, if it can."""
        aggregated = objective.aggregate(self._cmap, self.n_features) if isinstance(objective, Aggregatable) else None
        if aggregated is None:
            return None
        problem = Problem(aggregated)
        if problem.n_features != self.n_features:
            message = (
                f"{type(objective).__name__}.aggregate returned an objective over {problem.n_features} features; "
                f"return one feature for each of the {self.n_features} clusters"
            )
            raise ObjectiveError(message)
        return problem

    def value_and_gradient(self, gamma: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the penalised objective at beta_j = gamma_cmap(j), in nats, and its gradient by gamma."""
        out = np.empty(self.n_features) if out is None else out
        if self._aggregated is not None:
            nll = self._aggregated.evaluate(gamma, out)
        else:
            np.take(gamma, self._cmap, out=self._beta, mode="clip")  # "raise", the default, would buffer beta
            nll = self._fine.evaluate(self._beta, self._gradient)
            out[...] = np.bincount(self._cmap, weights=self._gradient, minlength=self.n_features)  # Eq. 14
        with np.errstate(over="ignore", invalid="ignore"):
            out += self._strengths * gamma
            return nll + self.ridge(gamma), out

    def ridge(self, gamma: Vector) -> float:
        """Return (l2 / 2) sum over k of |C_k| gamma_k^2, the penalty of beta."""
        return 0.5 * float(np.einsum("k,k,k->", self._strengths, gamma, gamma))


def _penalised(problem: Problem) -> int:
    """Return the number of the first weights, which bear the penalty."""
    return max(problem.n_features - problem.penalty.unpenalised, 0)
