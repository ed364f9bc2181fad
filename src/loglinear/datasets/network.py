"""Samples of pairwise Markov random fields whose graphs are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import OptionError
from ..layout import Layout, Numbers
from ..options import one_of, real_number, whole_number
from ..vectors import Vector

__all__ = ["NetworkSample", "make_network"]

KINDS = ("chain", "grid", "random")
SAMPLERS = ("exact", "gibbs")


@dataclass(frozen=True)
class NetworkSample:
    """Samples, and the model that they were drawn from.

    log p(x) = sum_i node_weights[i][x_i] + sum_e weights[e][x_i, x_j] - log Z; the first state of every variable has
    no weights.

    Attributes:
        X: states, from 0, shape (n_samples, n_variables).
        states: number of states of each variable, shape (n_variables,).
        edges: pairs i < j, ascending, shape (n_edges, 2).
        weights: a table for each edge, shape (states[i], states[j]), zero in its first row and column.
        node_weights: for each variable its weights, shape (states[i],), the first of them zero.
    """

    X: Numbers
    states: Numbers
    edges: Numbers
    weights: list[Vector]
    node_weights: list[Vector]

    def vector(self) -> Vector:
        """Return all weights in the order of `loglinear.layout.Layout`, shape (n_features,)."""
        layout = Layout(self.states)
        w = np.zeros(layout.n_features)
        for (i, j), table in zip(self.edges, self.weights, strict=True):
            w[layout.block(i, j)] = table[1:, 1:]
        w[layout.n_interactions :] = np.concatenate([scores[1:] for scores in self.node_weights])
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
    """Draw samples from a network with interactions of random sign.

    Source: Ravikumar, Wainwright & Lafferty, Annals of Statistics 38(3), 2010, section 6, "mixed couplings". Every
    interaction weighs +-strength, and node weights offset the mean of every row of a table: with two states the model
    is an Ising model without field, of couplings +-strength / 4, where each state has probability 1/2.

    Cost: "exact" O(n_samples * (n_variables + edges) * states); "gibbs" `sweeps` times that.

    Args:
        kind: "chain"; "grid", each variable with its neighbours in a square, of which the last row may be short; or
            "random", n_variables * degree / 2 edges chosen from all.
        n_variables: >= 2.
        n_samples: >= 1.
        states: of all variables or of each, >= 2.
        strength: of an interaction, >= 0.
        degree: mean number of neighbours in a random graph, from 0 to n_variables - 1.
        sampler: "exact", for graphs without cycles; "gibbs": a chain for each sample, from random states; by default
            whichever of both the graph allows first.
        sweeps: of the Gibbs sampler over all variables, >= 1.
        random_state: seed.

    Raises:
        OptionError: an option is out of its range, or the graph has cycles and the sampler is "exact".
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
    network = _Graph(sizes, edges, weights, field)
    return NetworkSample(network.sampled(rng, n_samples, sampler, sweeps), sizes, edges, weights, field)


def _sizes(states: int | Sequence[int], n_variables: int) -> Numbers:
    given = [states] * n_variables if isinstance(states, (int, np.integer)) else list(states)
    if len(given) != n_variables:
        message = f"states has {len(given)} numbers for {n_variables} variables; give one, or one for each"
        raise OptionError(message)
    return np.array([whole_number("states", each, 2, 2**16) for each in given], dtype=np.int64)


def _edges(rng: np.random.Generator, kind: str, n: int, degree: float) -> Numbers:
    if kind == "random":
        i, j = np.triu_indices(n, 1)
        chosen = np.sort(rng.choice(i.size, round(n * degree / 2), replace=False))
        return np.stack([i[chosen], j[chosen]], axis=1).astype(np.int64)
    width = n if kind == "chain" else math.isqrt(n - 1) + 1
    beside = [(i, i + 1) for i in range(n - 1) if (i + 1) % width]
    below = [(i, i + width) for i in range(n - width)]
    return np.array(sorted(beside + below), dtype=np.int64).reshape(-1, 2)


def _table(rng: np.random.Generator, rows: int, columns: int, strength: float) -> Vector:
    table = np.zeros((rows, columns))
    table[1:, 1:] = strength * rng.choice([-1.0, 1.0], size=(rows - 1, columns - 1))
    return table


def _draw(rng: np.random.Generator, scores: Vector) -> Numbers:
    """Draw a state for each column, p ~ exp(score): the first whose cumulated probability passes a uniform number."""
    cumulated = np.exp(scores - scores.max(axis=0)).cumsum(axis=0)
    return np.asarray((cumulated[:-1] < rng.random(scores.shape[1]) * cumulated[-1]).sum(axis=0))


class _Graph:
    """A network, and how to draw from it.

    Attributes:
        neighbours: for each variable its neighbours, each with the table whose rows are the neighbour's states.
    """

    def __init__(self, sizes: Numbers, edges: Numbers, weights: list[Vector], field: list[Vector]) -> None:
        self.sizes, self.field = sizes, field
        self.neighbours: list[list[tuple[int, Vector]]] = [[] for _ in sizes]
        for (i, j), table in zip(edges.tolist(), weights, strict=True):
            self.neighbours[i].append((j, table.T))
            self.neighbours[j].append((i, table))

    def sampled(self, rng: np.random.Generator, n_samples: int, sampler: str | None, sweeps: int) -> Numbers:
        """Draw samples, shape (n_samples, n_variables)."""
        order = None if sampler == "gibbs" else self._order()
        if order is None and sampler == "exact":
            message = "sampler='exact': the graph has cycles, and only those without can be sampled so; choose 'gibbs'"
            raise OptionError(message)
        x = self._gibbs(rng, n_samples, sweeps) if order is None else self._forward(rng, n_samples, order)
        return np.ascontiguousarray(x.T)

    def _order(self) -> list[tuple[int, int]] | None:
        """Variables with their parents, -1 for roots, parents first; None if the graph has cycles."""
        order: list[tuple[int, int]] = []
        seen = [False] * len(self.sizes)
        for root in range(len(self.sizes)):
            waiting = [] if seen[root] else [(root, -1)]
            while waiting:
                i, parent = waiting.pop()
                if seen[i]:
                    return None
                seen[i] = True
                order.append((i, parent))
                waiting += [(j, i) for j, _ in self.neighbours[i] if j != parent]
        return order

    def _forward(self, rng: np.random.Generator, n_samples: int, order: list[tuple[int, int]]) -> Numbers:
        """Messages from leaves to roots, then states from roots to leaves, each given its parent's."""
        scores = [each.copy() for each in self.field]
        tables = {(i, j): table for j, each in enumerate(self.neighbours) for i, table in each}
        for i, parent in reversed(order):
            if parent >= 0:
                scores[parent] += np.logaddexp.reduce(scores[i][:, None] + tables[i, parent], axis=0)
        x = np.empty((len(self.sizes), n_samples), dtype=np.int64)
        for i, parent in order:
            given = scores[i][:, None] + (0.0 if parent < 0 else tables[i, parent][:, x[parent]])
            x[i] = _draw(rng, np.broadcast_to(given, (self.sizes[i], n_samples)))
        return x

    def _gibbs(self, rng: np.random.Generator, n_samples: int, sweeps: int) -> Numbers:
        """Geman & Geman (1984), a chain for each sample: each variable given its neighbours, again and again."""
        x = np.stack([rng.integers(size, size=n_samples) for size in self.sizes])
        for _ in range(sweeps):
            for i, neighbours in enumerate(self.neighbours):
                scores = np.repeat(self.field[i][:, None], n_samples, axis=1)
                for j, table in neighbours:
                    scores += table.T[:, x[j]]
                x[i] = _draw(rng, scores)
        return x
