"""A permutation test of whether two groups have the same network.

Source: van Borkulo et al., Comparing network structures on three aspects: a permutation test (2022).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from ...errors import ConvergenceWarning
from ...minimize import Callback
from ...networks.numbering import Numbering, Numbers
from ...vectors import Vector
from .resampling import in_parallel
from .structure import Training

__all__ = ["Differences", "Permuted", "differences", "holm", "permuted", "permuted_groups"]


@dataclass(frozen=True)
class Differences:
    """How two networks differ.

    Attributes:
        edges: Euclidean norm of the difference of the weights of each pair of variables, shape (n_pairs,).
        strengths: sum of the strengths of all edges of either network.
    """

    edges: Vector
    strengths: tuple[float, float]

    @property
    def structure(self) -> float:
        """The largest difference of an edge, M."""
        return float(self.edges.max(initial=0.0))

    @property
    def strength(self) -> float:
        """The difference of the strengths, S."""
        return abs(self.strengths[0] - self.strengths[1])


@dataclass(frozen=True)
class Permuted:
    """Shares of permuted groups that differ at least as much as the groups, the groups themselves among them.

    Attributes:
        structure: p-value of M.
        strength: p-value of S.
        edges: p-value of each pair, shape (n_pairs,).
        n: number of permutations; fewer than were asked for after Ctrl-C.
    """

    structure: float
    strength: float
    edges: Vector
    n: int


def differences(numbering: Numbering, first: Vector, second: Vector) -> Differences:
    """Return how networks with these weights differ."""
    k, groups = numbering.n_interactions, numbering.groups()
    n_pairs = numbering.n_variables * (numbering.n_variables - 1) // 2

    def norms(w: Vector) -> Vector:
        return np.sqrt(np.bincount(groups, w[:k] ** 2, minlength=n_pairs))

    return Differences(norms(first - second), (float(norms(first).sum()), float(norms(second).sum())))


def permuted_groups(sizes: tuple[int, int], seed: int, number: int, *, paired: bool) -> tuple[Numbers, Numbers]:
    """Return the rows of both groups of a permutation, ascending; the first group has the first rows of the data.

    Groups keep their sizes. Row k of one group and row k of the other change places, or not, if they are ``paired``.
    """
    random = np.random.default_rng([seed, number])
    if paired:
        own, swapped = np.arange(sizes[0]), random.integers(2, size=sizes[0]).astype(np.bool_)
        rows = (np.where(swapped, own + sizes[0], own), np.where(swapped, own, own + sizes[0]))
    else:
        shuffled = random.permutation(sum(sizes))
        rows = (shuffled[: sizes[0]], shuffled[sizes[0] :])
    return np.sort(rows[0]), np.sort(rows[1])


def permuted(
    training: Training,
    observed: Differences,
    sizes: tuple[int, int],
    *,
    n: int,
    seed: int,
    paired: bool,
    observe: Callable[[int], object] | None = None,
) -> Permuted:
    """Return p-values of differences between two groups.

    Args:
        training: data of both groups, the first group's first, and options of the networks.
        observed: the differences of the groups.
        sizes: number of rows of both groups.
        n: number of permutations.
        seed: of the permutations.
        paired: whether row k of both groups belong together.
        observe: called with the number of permutations done, after each.

    Raises:
        KeyboardInterrupt: Ctrl-C came before the first permutation was done; later it ends the test.
    """

    def make(number: int, stopped: Callback) -> Differences:
        first, second = permuted_groups(sizes, seed, number, paired=paired)
        return differences(training.numbering, training.repeated(first, stopped), training.repeated(second, stopped))

    structure, strength, edges, done = 1, 1, np.ones(observed.edges.size), 0
    made = in_parallel(make, n, training.n_threads)
    with warnings.catch_warnings(), closing(made):
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            for number, each in made:
                structure += each.structure >= observed.structure
                strength += each.strength >= observed.strength
                edges += each.edges >= observed.edges
                done = number + 1
                if observe is not None:
                    observe(done)
        except KeyboardInterrupt:
            if not done:
                raise
    return Permuted(structure / (done + 1), strength / (done + 1), edges / (done + 1), done)


def holm(p: Vector) -> Vector:
    """Return p-values adjusted for the number of tests (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return adjusted
