"""Networks by enumeration: every assignment of all variables with its probability."""

from __future__ import annotations

import numpy as np

from loglinear._core import Network
from loglinear.networks.numbering import Numbering


def assignments(states: np.ndarray) -> np.ndarray:
    """Every assignment of variables with these numbers of states, the last variable fastest."""
    return np.indices(tuple(states)).reshape(len(states), -1).T.astype(np.int32)


class Scored:
    """A network with random scores of states and of pairs of states, and its probabilities by enumeration.

    Attributes:
        nodes: scores of the states of all variables, one variable after the other.
        tables: scores of the pairs of states of all edges, one edge after the other.
    """

    def __init__(self, states: list[int], edges: list[tuple[int, int]], scale: float = 2.0, *, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.states, self.edges = np.array(states), np.array(edges, dtype=np.int64).reshape(-1, 2)
        self.first = np.concatenate([[0], np.cumsum(self.states)])
        self.edge_first = np.concatenate([[0], np.cumsum(self.states[self.edges].prod(axis=1))])
        self.nodes = random.normal(size=self.first[-1]) * scale
        self.tables = random.normal(size=self.edge_first[-1]) * scale

    def network(self, threads: int = 1) -> Network:
        return Network(self.states, self.edges, threads=threads)

    def assignments(self) -> np.ndarray:
        return assignments(self.states)

    def indicators(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which states each assignment chooses, and which entries of tables."""
        nodes, tables = np.zeros((len(x), self.first[-1])), np.zeros((len(x), self.edge_first[-1]))
        np.put_along_axis(nodes, self.first[:-1] + x, 1.0, axis=1)
        np.put_along_axis(tables, self._places(x), 1.0, axis=1)
        return nodes, tables

    def scores(self, x: np.ndarray) -> np.ndarray:
        return self.nodes[self.first[:-1] + x].sum(axis=1) + self.tables[self._places(x)].sum(axis=1)

    def enumerated(self, x: np.ndarray | None = None) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z, and probabilities of all states and of all pairs, over these assignments (all, unless given)."""
        x = self.assignments() if x is None else x
        scores = self.scores(x)
        log_z = float(np.logaddexp.reduce(scores))
        p = np.exp(scores - log_z)
        nodes, tables = (p @ each for each in self.indicators(x))
        return log_z, nodes, tables

    def _places(self, x: np.ndarray) -> np.ndarray:
        """Which entry of every edge's table each assignment chooses."""
        i, j = self.edges.T
        return self.edge_first[:-1] + x[:, i] * self.states[j] + x[:, j]


class Enumerated:
    """A network whose weights are w, numbered as in `Numbering`."""

    def __init__(self, numbering: Numbering, w: np.ndarray) -> None:
        self.numbering, self.w = numbering, w
        self.codes = assignments(numbering.states)
        self.features = features(numbering, self.codes)
        self.scores = self.features @ w
        most = self.scores.max()
        self.log_z = most + np.log(np.exp(self.scores - most).sum())
        self.p = np.exp(self.scores - self.log_z)

    def sample(self, n: int, seed: int = 0) -> np.ndarray:
        return self.codes[np.random.default_rng(seed).choice(len(self.codes), n, p=self.p)]

    def marginals(self) -> list[np.ndarray]:
        n = self.numbering.n_variables
        return [np.bincount(self.codes[:, i], self.p, self.numbering.states[i]) for i in range(n)]

    def log_p(self, row: np.ndarray) -> float:
        """Of the values of a row that are not missing."""
        fits = ((self.codes == row) | (row < 0)).all(axis=1)
        return float(np.log(self.p[fits].sum()))

    def given(self, row: np.ndarray) -> list[np.ndarray]:
        fits = ((self.codes == row) | (row < 0)).all(axis=1)
        p = self.p * fits / self.p[fits].sum()
        return [np.bincount(self.codes[:, i], p, self.numbering.states[i]) for i in range(self.numbering.n_variables)]


def features(numbering: Numbering, codes: np.ndarray) -> np.ndarray:
    """Values of all features for complete samples, shape (n_samples, n_features)."""
    on = numbering.indicators(codes)
    first, second = numbering.columns_of(np.arange(numbering.n_interactions))
    return np.hstack([on[:, first] * on[:, second], on])


def weights(numbering: Numbering, seed: int = 0, share: float = 1.0, scale: float = 1.0) -> np.ndarray:
    """Random weights, some of the interactions 0."""
    random = np.random.default_rng(seed)
    w = scale * random.normal(size=numbering.n_features)
    w[: numbering.n_interactions][random.random(numbering.n_interactions) > share] = 0.0
    return w
