"""Networks by enumeration: every assignment of all variables with its probability."""

from __future__ import annotations

from itertools import product

import numpy as np

from loglinear.networks.numbering import Layout


class Enumerated:
    """A network whose weights are w, numbered as in `Layout`."""

    def __init__(self, layout: Layout, w: np.ndarray) -> None:
        self.layout = layout
        self.codes = np.array(list(product(*(range(r) for r in layout.states))), dtype=np.int32)
        self.features = features(layout, self.codes)
        self.scores = self.features @ w
        most = self.scores.max()
        self.log_z = most + np.log(np.exp(self.scores - most).sum())
        self.p = np.exp(self.scores - self.log_z)

    def sample(self, n: int, seed: int = 0) -> np.ndarray:
        return self.codes[np.random.default_rng(seed).choice(len(self.codes), n, p=self.p)]

    def marginals(self) -> list[np.ndarray]:
        n = self.layout.n_variables
        return [np.bincount(self.codes[:, i], self.p, self.layout.states[i]) for i in range(n)]

    def log_p(self, row: np.ndarray) -> float:
        """Of the values of a row that are not missing."""
        fits = ((self.codes == row) | (row < 0)).all(axis=1)
        return float(np.log(self.p[fits].sum()))

    def given(self, row: np.ndarray) -> list[np.ndarray]:
        fits = ((self.codes == row) | (row < 0)).all(axis=1)
        p = self.p * fits / self.p[fits].sum()
        return [np.bincount(self.codes[:, i], p, self.layout.states[i]) for i in range(self.layout.n_variables)]


def features(layout: Layout, codes: np.ndarray) -> np.ndarray:
    """Values of all features for complete samples, shape (n_samples, n_features)."""
    on = layout.indicators(codes)
    first, second = layout.columns_of(np.arange(layout.n_interactions))
    return np.hstack([on[:, first] * on[:, second], on])


def weights(layout: Layout, seed: int = 0, share: float = 1.0, scale: float = 1.0) -> np.ndarray:
    """Random weights, some of the interactions 0."""
    random = np.random.default_rng(seed)
    w = scale * random.normal(size=layout.n_features)
    w[: layout.n_interactions][random.random(layout.n_interactions) > share] = 0.0
    return w
