"""Confidence intervals of quotients by the bootstrap: sentences are drawn with replacement.

Source: Efron & Tibshirani (1993), chapter 13, percentile intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["DRAWS", "Interval", "ends", "interval_of", "intervals", "quotients", "resamples"]

DRAWS = 1_000
# Percentiles of an interval of 95 %.
_ENDS = (2.5, 97.5)

Table = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """The ends of a confidence interval, as fractions."""

    low: float
    high: float


def resamples(n_sentences: int, draws: int, seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield, draw by draw, the numbers of the sentences that are drawn with replacement, shape (n_sentences,)."""
    random = np.random.default_rng(seed)
    for _ in range(draws):
        yield random.integers(n_sentences, size=n_sentences)


def quotients(numerators: Table, denominators: Table) -> Table:
    """Return the values of a quotient in each draw; it is 0 where its denominator is."""
    return np.divide(numerators, denominators, out=np.zeros(len(numerators)), where=denominators > 0.0)


def ends(values: Table) -> Interval:
    """Return the interval of a number from its values in each draw."""
    low, high = np.percentile(values, _ENDS).tolist()
    return Interval(low, high)


def interval_of(numerators: Table, denominators: Table) -> Interval:
    """Return the interval of a quotient from its values in each draw; a quotient is 0 where its denominator is."""
    return ends(quotients(numerators, denominators))


def intervals(numerators: Table, denominators: Table, *, draws: int = DRAWS, seed: int = 0) -> list[Interval]:
    """Return the intervals of quotients of sums over sentences.

    Args:
        numerators: of each quotient and sentence, shape (quotients, sentences).
        denominators: likewise.
        draws: number of draws, >= 1.
        seed: of the draws.
    """
    both = np.concatenate([numerators, denominators])
    n = both.shape[1]
    sums = np.array([both @ np.bincount(drawn, minlength=n) for drawn in resamples(n, draws, seed)])
    half = len(numerators)
    return [interval_of(sums[:, at], sums[:, half + at]) for at in range(half)]
