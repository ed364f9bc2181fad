"""Binary logistic regression, as it is and with features that can be added up over clusters."""

from __future__ import annotations

import numpy as np


class Logistic:
    """Binary logistic regression on random sparse data; optionally the k-th evaluation is interrupted."""

    def __init__(self, n, samples, seed=0, x=None, t=None):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(samples, n)) * (rng.random((samples, n)) < 0.5) if x is None else x
        noise = rng.normal(size=samples)
        self.t = np.where(self.x @ rng.normal(size=n) + 2.0 * noise > 0.0, 1.0, -1.0) if t is None else t
        self.n_features, self.n_samples, self.calls, self.interrupt_at = n, samples, 0, None

    def value_and_gradient(self, w, out=None):
        self.calls += 1
        if self.calls == self.interrupt_at:
            raise KeyboardInterrupt
        margin = self.t * (self.x @ w)
        out = np.empty_like(w) if out is None else out
        out[...] = self.x.T @ (-self.t * np.exp(-np.logaddexp(0.0, margin)))
        return float(np.logaddexp(0.0, -margin).sum()), out


class Summed(Logistic):
    """Logistic regression whose columns are added up over clusters (Mathur & Chakrabarti 2010, Eq. 15)."""

    def aggregate(self, cmap, n_clusters):
        sums = np.zeros((self.n_samples, n_clusters))
        np.add.at(sums.T, cmap, self.x.T)
        return Logistic(n_clusters, self.n_samples, x=sums, t=self.t)
