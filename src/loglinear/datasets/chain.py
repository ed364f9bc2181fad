"""Sequences drawn from a linear-chain CRF over real-valued inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.corpus import Corpus
from ..options import one_of, real_number, whole_number
from ..vectors import Vector

__all__ = ["ChainSample", "make_chain"]

SAMPLERS = ("exact", "gibbs")


@dataclass(frozen=True)
class ChainSample:
    """Sequences, and the model that they were drawn from, p(y | x) ~ exp(sum_t x_t . state[:, y_t] + pair[y_t-1, y_t]).

    Attributes:
        X: inputs, shape (n_sequences, length, n_inputs).
        y: labels, from 0, shape (n_sequences, length).
        state: weights of the inputs, shape (n_inputs, n_labels).
        pair: weights of the transitions, shape (n_labels, n_labels).

    Example:
        >>> from loglinear import ChainCRF
        >>> from loglinear.datasets import make_chain
        >>> sample = make_chain(50, n_inputs=5, n_informative=5, random_state=0)
        >>> ChainCRF(l2=1.0).fit(sample.corpus(slice(40))).score(sample.corpus(slice(40, 50))) > 0.6
        True
    """

    X: Vector
    y: npt.NDArray[np.int64]
    state: Vector
    pair: Vector

    def __len__(self) -> int:
        return len(self.y)

    def corpus(self, sequences: slice | npt.NDArray[Any] = slice(None)) -> Corpus:
        """Return the sequences that an index of NumPy selects; attributes are x0, x1, ..., labels "0", "1", ..."""
        X, y = self.X[sequences], self.y[sequences]
        rows = X.reshape(-1, X.shape[-1])
        return Corpus.from_matrix(rows, [self.y.shape[1]] * len(y), [str(label) for label in y.ravel()])


def make_chain(
    n_sequences: int = 5000,
    *,
    length: int = 8,
    n_labels: int = 2,
    n_inputs: int = 1000,
    n_informative: int = 100,
    scale: float = 1.0,
    sampler: str = "exact",
    sweeps: int = 100,
    random_state: int = 0,
) -> ChainSample:
    """Draw inputs and weights from normal distributions, and labels from the CRF with these weights.

    Source: Zhu, Lao & Xing (2010), section 6.1.1, whose numbers are the defaults. The paper does not say how the
    weights are drawn. Its labels come from a Gibbs sampler; "exact" draws them independently, by forward filtering and
    backward sampling (Scott, Journal of the American Statistical Association 97, 2002).

    Args:
        n_sequences: number of sequences, >= 1.
        length: positions of each sequence, >= 1.
        n_labels: number of labels, >= 2.
        n_inputs: real-valued inputs of each position, >= 1.
        n_informative: number of inputs, chosen at random, whose weights are not 0, from 0 to n_inputs.
        scale: standard deviation of the weights, >= 0; inputs have 1.
        sampler: "exact" or "gibbs".
        sweeps: sweeps of the Gibbs sampler over all positions, from random labels, >= 1.
        random_state: seed.

    Raises:
        OptionError: an option is out of its range.

    Example:
        >>> from loglinear.datasets import make_chain
        >>> sample = make_chain(10, length=4, n_labels=3, n_inputs=6, n_informative=2, random_state=0)
        >>> sample.X.shape, sample.y.shape, sample.pair.shape
        ((10, 4, 6), (10, 4), (3, 3))
    """
    for name, value, least in (
        ("n_sequences", n_sequences, 1),
        ("length", length, 1),
        ("n_labels", n_labels, 2),
        ("n_inputs", n_inputs, 1),
        ("sweeps", sweeps, 1),
        ("random_state", random_state, 0),
    ):
        whole_number(name, value, least, 2**32)
    whole_number("n_informative", n_informative, 0, n_inputs)
    real_number("scale", scale, "a finite number >= 0", lambda x: x >= 0.0)
    one_of("sampler", sampler, SAMPLERS)
    rng = np.random.default_rng(random_state)
    state = np.zeros((n_inputs, n_labels))
    informative = rng.choice(n_inputs, n_informative, replace=False)
    state[informative] = scale * rng.normal(size=(n_informative, n_labels))
    pair = scale * rng.normal(size=(n_labels, n_labels))
    X = rng.normal(size=(n_sequences, length, n_inputs))
    scores = X[:, :, informative] @ state[informative]
    y = _exact(rng, scores, pair) if sampler == "exact" else _gibbs(rng, scores, pair, sweeps)
    return ChainSample(X, y, state, pair)


def _draw(rng: np.random.Generator, scores: Vector) -> npt.NDArray[np.int64]:
    """Draw from the distribution of each row, p ~ exp(score): the largest score after adding Gumbel noise."""
    return np.asarray((scores + rng.gumbel(size=scores.shape)).argmax(axis=-1), dtype=np.int64)


def _exact(rng: np.random.Generator, scores: Vector, pair: Vector) -> npt.NDArray[np.int64]:
    """Draw labels by forward filtering, then from the last to the first, each given the next one."""
    alpha = scores.copy()
    for t in range(1, scores.shape[1]):
        alpha[:, t] += np.logaddexp.reduce(alpha[:, t - 1, :, None] + pair, axis=1)
    y = np.empty(scores.shape[:2], np.int64)
    y[:, -1] = _draw(rng, alpha[:, -1])
    for t in reversed(range(scores.shape[1] - 1)):
        y[:, t] = _draw(rng, alpha[:, t] + pair[:, y[:, t + 1]].T)
    return y


def _gibbs(rng: np.random.Generator, scores: Vector, pair: Vector, sweeps: int) -> npt.NDArray[np.int64]:
    """Draw labels by a Gibbs sampler with a chain for each sequence; a sweep goes from the first to the last label."""
    n, length, n_labels = scores.shape
    y = rng.integers(n_labels, size=(n, length))
    for _ in range(sweeps):
        for t in range(length):
            conditional = scores[:, t].copy()
            if t > 0:
                conditional += pair[y[:, t - 1]]
            if t + 1 < length:
                conditional += pair[:, y[:, t + 1]].T
            y[:, t] = _draw(rng, conditional)
    return y
