"""Networks of resampled data: how far edges can be relied on, and a strength of the penalty by their stability."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from ...display.fragment import in_notebook
from ...display.table import LISTED, data_frame, listing, more, screen
from ...networks.numbering import Numbers
from ...vectors import Vector
from ...visible import counted

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Crew",
    "EdgeConfidence",
    "bootstrap_rows",
    "confidence_of",
    "crew",
    "in_parallel",
    "instability",
    "subsample_rows",
]

Made = TypeVar("Made")


@dataclass(frozen=True, repr=False)
class EdgeConfidence:
    """How often resampled data have each edge, and how strong it is in them.

    Attributes:
        edges: pairs of variables i < j that some sample has joined, most frequent first, shape (k, 2).
        shares: share of the samples that have the edge, from 0 to 1, shape (k,).
        lower: lower bound of the strength, a quantile over the samples, 0 where they lack the edge; shape (k,).
        upper: upper bound, shape (k,).
        level: share of the samples between the bounds.
        n: number of samples; fewer than were asked for after Ctrl-C.
        names: names of the variables.
    """

    edges: Numbers
    shares: Vector
    lower: Vector
    upper: Vector
    level: float
    n: int
    names: Sequence[str] = ()

    def __repr__(self) -> str:
        """Return the number of edges and samples."""
        return f"<confidence of {counted(len(self.edges), 'edge')}, from {counted(self.n, 'bootstrap sample')}>"

    def __str__(self) -> str:
        """Return the most frequent edges as text that fits a screen."""
        columns = self._columns()
        first = {name: columns[name] for name in ("share", "first", "second", "strength")}
        return screen(repr(self), first, len(self.edges), "edge")

    def _columns(self) -> dict[str, list[str]]:
        """Return the cells of the most frequent edges."""
        columns = {name: texts[:LISTED] for name, texts in self._ends().items()}
        columns["share"] = [f"{100.0 * share:5.1f} %" for share in self.shares[:LISTED].tolist()]
        bounds = zip(self.lower[:LISTED].tolist(), self.upper[:LISTED].tolist(), strict=True)
        columns["strength"] = [f"{lower:.3f} to {upper:.3f}" for lower, upper in bounds]
        return columns

    def _ends(self) -> dict[str, list[str]]:
        """Return the names of both variables of each edge."""
        names = self.names or [str(i) for i in range(int(self.edges.max(initial=-1)) + 1)]
        return {name: [names[i] for i in self.edges[:, at].tolist()] for at, name in enumerate(("first", "second"))}

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the most frequent edges."""
        caption = f"{counted(len(self.edges), 'edge')} of {counted(self.n, 'bootstrap sample')}; strength in "
        caption += f"{100.0 * self.level:g} % of them"
        table = listing(self._columns(), caption, texts=("second",))
        return in_notebook(table + more(len(self.edges), "edge"))

    def to_frame(self) -> pandas.DataFrame:
        """Return the edges as a pandas DataFrame with the names of both variables, the most frequent first.

        The other columns are ``share``, ``lower`` and ``upper``.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        figures: dict[str, Sequence[Any]] = {"share": self.shares.tolist(), "lower": self.lower.tolist()}
        figures["upper"] = self.upper.tolist()
        return data_frame("to_frame", {**self._ends(), **figures})

    def __getitem__(self, edge: tuple[int, int]) -> float:
        """Share of the samples that have an edge."""
        places = np.flatnonzero((self.edges == sorted(edge)).all(axis=1))
        return float(self.shares[places[0]]) if places.size else 0.0


def bootstrap_rows(n: int, seed: int, number: int) -> Numbers:
    """Return the rows of a bootstrap sample: as many as there are, drawn with replacement, ascending."""
    return np.sort(np.random.default_rng([seed, number]).integers(n, size=n))


def subsample_rows(n: int, seed: int, number: int) -> Numbers:
    """Return 10 sqrt(n) different rows, or four fifths if these are fewer, ascending (Liu et al. 2010, section 4)."""
    size = min(math.floor(10.0 * math.sqrt(n)), max(1, 4 * n // 5))
    return np.sort(np.random.default_rng([seed, number]).choice(n, size, replace=False))


class Crew:
    """Threads that make things side by side, several times in a row; see `crew`."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self.ended = threading.Event()

    def make(self, make: Callable[[int, Callable[[Any, Any], bool]], Made], n: int) -> Generator[Made, None, None]:
        """Return an iterator over what a function makes of 0 to n - 1, in this order.

        When the iterator is closed, or Ctrl-C comes, what is being made is asked to end: ``stopped`` is a callback of
        `minimize` that then returns True. It is waited for.

        Args:
            make: called as make(k, stopped) on a separate thread.
            n: how many.
        """
        futures = [self._pool.submit(make, k, self._stopped) for k in range(n)]
        done = False
        try:
            for future in futures:
                yield future.result()
            done = True
        finally:
            if not done:
                self.ended.set()
            for future in futures:
                future.cancel()

    def _stopped(self, _record: object, _state: object) -> bool:
        return self.ended.is_set()


@contextmanager
def crew(threads: int) -> Iterator[Crew]:
    """Provide threads; meanwhile BLAS works on one thread: BLAS threads would wait busily.

    Args:
        threads: at a time, >= 1.
    """
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        yield Crew(pool)


def in_parallel(
    make: Callable[[int, Callable[[Any, Any], bool]], Made], n: int, threads: int
) -> Generator[tuple[int, Made], None, None]:
    """Return an iterator over k and what a function makes of it, k = 0 to n - 1, on several threads; see `Crew.make`.

    Args:
        make: called as make(k, stopped) on a separate thread.
        n: how many.
        threads: at a time, >= 1.
    """
    with crew(threads) as workers:
        yield from enumerate(workers.make(make, n))


def confidence_of(
    samples: Iterable[tuple[Numbers, Vector]],
    n_variables: int,
    *,
    level: float,
    observe: Callable[[int], object] | None = None,
) -> EdgeConfidence:
    """Return how often samples have each edge.

    Args:
        samples: edges, shape (k, 2), and their strengths, shape (k,), of each sample.
        n_variables: number of variables.
        level: share of the samples between the bounds, from 0 to below 1.
        observe: called with the number of samples done, after each.

    Raises:
        KeyboardInterrupt: Ctrl-C came before the first sample was done; later it ends the samples.
    """
    by_sample: list[tuple[Numbers, Vector]] = []
    try:
        for edges, strengths in samples:
            by_sample.append((edges[:, 0] * n_variables + edges[:, 1], strengths))
            if observe is not None:
                observe(len(by_sample))
    except KeyboardInterrupt:
        if not by_sample:
            raise
    n, edge_numbers = len(by_sample), np.unique(np.concatenate([numbers for numbers, _ in by_sample]))
    table = np.zeros((n, edge_numbers.size))
    for row, (numbers, strengths) in zip(table, by_sample, strict=True):
        row[np.searchsorted(edge_numbers, numbers)] = strengths
    shares = (table > 0.0).mean(axis=0)
    lower, upper = np.quantile(table, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    order = np.lexsort([edge_numbers, -table.sum(axis=0), -shares])
    edges = np.stack([edge_numbers // n_variables, edge_numbers % n_variables], axis=1)
    return EdgeConfidence(edges[order], shares[order], lower[order], upper[order], level, n)


def instability(supports: Iterable[Numbers], n_pairs: int) -> float:
    """Return how far networks of several subsamples differ: twice the mean variance of an edge, from 0 to 1/2.

    Source: Liu, Roeder & Wasserman, Stability Approach to Regularization Selection (2010), section 3.

    Args:
        supports: numbers of the edges of each network.
        n_pairs: number of pairs of variables.
    """
    parts = list(supports)
    _, counts = np.unique(np.concatenate(parts), return_counts=True)
    shares = counts / len(parts)
    return float((2.0 * shares * (1.0 - shares)).sum() / n_pairs)
