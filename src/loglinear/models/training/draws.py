"""Weights of bootstrap samples: the same model trained again on samples that are drawn with replacement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import DataWarning, OptionError, warn, warnings_kept
from ...networks.numbering import Numbers
from ...vectors import Vector
from ...visible import counted
from .options import SolverOptions, cores
from .resampling import bootstrap_rows, in_parallel

__all__ = ["Draws", "check_draws", "drawn", "tightened"]

# Numbers that the weights of all bootstrap samples may be, and attempts to draw samples that a model can be trained on.
_MOST, _ATTEMPTS = 250_000_000, 1000
# Share of samples drawn again that is worth a warning.
_OFTEN = 0.1


class Draws(NamedTuple):
    """What the models of bootstrap samples are like.

    Attributes:
        weights: shape (draws, n).
        scores: other numbers of each draw, shape (draws, k).
    """

    weights: Vector
    scores: Vector

    def intervals(self, level: float) -> tuple[Vector, Vector]:
        """Return the ends of the percentile intervals of the weights."""
        low, high = np.quantile(self.weights, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
        return low, high


def check_draws(draws: int, n_weights: int) -> None:
    """Raise OptionError if the weights of all bootstrap samples would take too much memory."""
    if draws * n_weights > _MOST:
        message = f"draws={draws} of {n_weights:,} weights would take {8e-9 * draws * n_weights:.1f} GB; give at most "
        message += f"draws={_MOST // n_weights}, or select features with an L1 penalty (l1)"
        raise OptionError(message)


def tightened(options: SolverOptions, tolerance: float) -> SolverOptions:
    """Return options with a tolerance for trainings that start near their end, unless a tolerance is set or unknown."""
    if options.tolerance is not None or not (options.solver is None or isinstance(options.solver, str)):
        return options
    tight = replace(options, tolerance=tolerance)
    try:
        tight.check()
    except OptionError:  # the solver has no tolerance
        return options
    return tight


def drawn(
    train: Callable[[int, Numbers, Callable[[Any, Any], bool]], tuple[Vector, Vector]],
    n_units: int,
    *,
    draws: int,
    seed: int,
    threads: int,
    suits: Callable[[Numbers], bool] = lambda _: True,
) -> Draws:
    """Return the weights of models of bootstrap samples; they are the same on any number of threads.

    Ctrl-C ends with the draws that are done, if these are two or more.

    Args:
        train: returns weights and scores for the number of a draw and the units that are drawn, ascending, on a
            separate thread; the last argument is a callback that ends the training.
        n_units: number of samples, sentences or groups to draw from.
        draws: number of bootstrap samples.
        seed: of the draws.
        threads: 0 for all cores.
        suits: whether a model can be trained on some units; others are drawn again.

    Warns:
        Warning: what the trainings warn of, once each, with the number of draws.
    """
    messages: Counter[tuple[str, type[Warning]]] = Counter()
    again = 0

    def make(k: int, stopped: Callable[[Any, Any], bool]) -> tuple[Vector, Vector, Any, int]:
        for attempt in range(_ATTEMPTS):
            # The number of an attempt keeps draws apart: k, k + draws, k + 2 draws, ...
            units = bootstrap_rows(n_units, seed, k + attempt * draws)
            if suits(units):
                break
        else:
            message = f"{_ATTEMPTS} bootstrap samples lack a class or column in a row; give more data"
            raise OptionError(message)
        with warnings_kept() as messages_of_draw:
            weights, scores = train(k, units, stopped)
        return weights, scores, messages_of_draw, attempt

    made: list[tuple[Vector, Vector]] = []
    try:
        for _, (weights, scores, messages_of_draw, attempt) in in_parallel(make, draws, threads or cores()):
            made.append((weights, scores))
            again += attempt
            messages.update(set(messages_of_draw))
    except KeyboardInterrupt:
        if len(made) < 2:
            raise
    for (message, category), n in messages.items():
        warn(f"{n:,} of {counted(len(made), 'bootstrap sample')}: {message}", category)
    if again > _OFTEN * len(made):
        warn(
            f"a class is so rare that {counted(again, 'bootstrap sample')} lacked it and had to be drawn again for the "
            f"{len(made):,} used; the intervals of its weights are too narrow",
            DataWarning,
        )
    return Draws(np.array([weights for weights, _ in made]), np.array([scores for _, scores in made]))
