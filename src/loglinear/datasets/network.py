"""Samples of pairwise Markov random fields whose graphs are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import OptionError
from ..networks.exact import is_narrow
from ..networks.graph import Graph
from ..networks.numbering import Codes, Numbering, Numbers
from ..options import one_of, real_number, whole_number
from ..vectors import Vector

__all__ = ["NetworkSample", "make_network"]

KINDS = ("chain", "grid", "random")
SAMPLERS = ("exact", "gibbs")
# Most entries of a table of exact sampling.
EXACT = 2**16


@dataclass(frozen=True)
class NetworkSample:
    """Samples, and the model that they were drawn from.

    log p(x) = sum_i node_weights[i][x_i] + sum_e weights[e][x_i, x_j] - log Z; weights of first states are zero.

    Attributes:
        X: states, from 0, shape (n_samples, n_variables).
        states: number of states of each variable, shape (n_variables,).
        edges: pairs i < j, ascending, shape (n_edges, 2).
        weights: a table for each edge, shape (states[i], states[j]).
        node_weights: a weight for each state of each variable, shape (states[i],).

    Example:
        >>> from loglinear.datasets import make_network
        >>> sample = make_network("chain", n_variables=3, n_samples=5, states=3)
        >>> sample.edges.tolist(), sample.weights[0].shape
        ([[0, 1], [1, 2]], (3, 3))
    """

    X: Numbers
    states: Numbers
    edges: Numbers
    weights: list[Vector]
    node_weights: list[Vector]

    def vector(self) -> Vector:
        """Return all weights, numbered by `loglinear.networks.numbering.Numbering`, shape (n_features,)."""
        numbering = Numbering(self.states)
        w = np.zeros(numbering.n_features)
        for (i, j), table in zip(self.edges, self.weights, strict=True):
            w[numbering.block(i, j)] = table[1:, 1:]
        w[numbering.n_interactions :] = np.concatenate([scores[1:] for scores in self.node_weights])
        return w


def make_network(
    kind: str = "grid",
    n_variables: int = 25,
    n_samples: int = 1000,
    *,
    states: int | Sequence[int] = 2,
    strength: float = 1.0,
    degree: float = 3.0,
    sampler: str | None = None,
    sweeps: int = 200,
    random_state: int = 0,
) -> NetworkSample:
    """Draw samples from a network whose interactions have random signs.

    Source: Ravikumar, Wainwright & Lafferty, Annals of Statistics 38(3), 2010, section 6, "mixed couplings". The weight
    of every interaction is +-strength, and node weights cancel the mean of every row and column of a table. With two
    states the model is an Ising model without field, with couplings +-strength / 4: each state has probability 1/2.

    Cost: "exact" needs a junction tree, exponential in the tree-width; "gibbs" O(sweeps * edges) for each sample.

    Args:
        kind: "chain"; "grid", each variable with its neighbours in a square, whose last row may be short; or "random",
            n_variables * degree / 2 edges chosen from all pairs.
        n_variables: number of variables, >= 2.
        n_samples: number of samples, >= 1.
        states: number of states of all variables, or of each, >= 2.
        strength: size of the weight of an interaction, >= 0.
        degree: mean number of neighbours in a random graph, from 0 to n_variables - 1.
        sampler: "exact", for graphs of small tree-width; "gibbs", with a chain for each sample, from random states; by
            default "exact" if the graph allows it.
        sweeps: sweeps of the Gibbs sampler over all variables, >= 1.
        random_state: seed.

    Raises:
        OptionError: an option is out of its range, or the graph is too wide and the sampler is "exact".

    Example:
        >>> from loglinear.datasets import make_network
        >>> sample = make_network("grid", n_variables=9, n_samples=100, random_state=0)
        >>> sample.X.shape, len(sample.edges)
        ((100, 9), 12)
    """
    one_of("kind", kind, KINDS)
    n_variables = whole_number("n_variables", n_variables, 2, 2**16)
    n_samples = whole_number("n_samples", n_samples, 1, 2**32)
    whole_number("sweeps", sweeps, 1, 2**32)
    whole_number("random_state", random_state, 0, 2**32)
    real_number("strength", strength, "a finite number >= 0", lambda x: x >= 0.0)
    if kind == "random":
        most = n_variables - 1
        real_number("degree", degree, f"a number from 0 to n_variables - 1 = {most}", lambda x: 0.0 <= x <= most)
    if sampler is not None:
        one_of("sampler", sampler, SAMPLERS)
    sizes = _sizes(states, n_variables)
    rng = np.random.default_rng(random_state)
    edges = _edges(rng, kind, n_variables, degree)
    weights = [_table(rng, sizes[i], sizes[j], strength) for i, j in edges]
    field = [np.zeros(size) for size in sizes]
    for (i, j), table in zip(edges, weights, strict=True):
        field[i] -= table.mean(axis=1)
        field[j] -= table.mean(axis=0)
    for scores in field:
        scores -= scores[0]
    sample = NetworkSample(np.empty((0, n_variables), np.int64), sizes, edges, weights, field)
    return replace(sample, X=_sampled(sample, n_samples, sampler, sweeps, rng).astype(np.int64))


def _sizes(states: int | Sequence[int], n_variables: int) -> Numbers:
    """Return the number of states of each variable."""
    state_counts = [states] * n_variables if isinstance(states, (int, np.integer)) else list(states)
    if len(state_counts) != n_variables:
        message = (
            f"states has {len(state_counts)} numbers for {n_variables} variables; give one number, or one per variable"
        )
        raise OptionError(message)
    return np.array([whole_number("states", count, 2, 2**16) for count in state_counts], dtype=np.int64)


def _edges(rng: np.random.Generator, kind: str, n: int, degree: float) -> Numbers:
    """Return the edges of a graph of a kind, ascending."""
    if kind == "random":
        i, j = np.triu_indices(n, 1)
        chosen = np.sort(rng.choice(i.size, round(n * degree / 2), replace=False))
        return np.stack([i[chosen], j[chosen]], axis=1).astype(np.int64)
    width = n if kind == "chain" else math.isqrt(n - 1) + 1
    beside = [(i, i + 1) for i in range(n - 1) if (i + 1) % width]
    below = [(i, i + width) for i in range(n - width)]
    return np.array(sorted(beside + below), dtype=np.int64).reshape(-1, 2)


def _table(rng: np.random.Generator, rows: int, columns: int, strength: float) -> Vector:
    """Draw the table of an edge."""
    table = np.zeros((rows, columns))
    table[1:, 1:] = strength * rng.choice([-1.0, 1.0], size=(rows - 1, columns - 1))
    return table


def _sampled(
    sample: NetworkSample, n_samples: int, sampler: str | None, sweeps: int, rng: np.random.Generator
) -> Codes:
    """Draw samples from the network of ``sample``, which has none yet."""
    network = Graph(Numbering(sample.states), sample.edges).network
    tables = [table.ravel() for table in sample.weights]
    scores = np.concatenate(sample.node_weights), np.concatenate([*tables, np.zeros(0)])
    seed = int(rng.integers(2**32))
    narrow = is_narrow(network, EXACT)
    if sampler == "exact" and not narrow:
        message = "sampler='exact': the graph is too dense for exact sampling; use 'gibbs'"
        raise OptionError(message)
    if narrow and sampler != "gibbs":
        return network.sample(*scores, n_samples, seed=seed)
    start = rng.integers(0, sample.states, size=(n_samples, sample.states.size)).astype(np.int32)
    return network.gibbs(*scores, start, sweeps=sweeps, thin=sweeps, seed=seed)
