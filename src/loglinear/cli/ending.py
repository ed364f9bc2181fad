"""The end of a training for people: one line, how certain the optimum is, and numbers for experts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..trace import scores_text
from ..visible import counted

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["best_step", "certainty", "ending", "least_share", "nothing_reached", "numbers", "size_text"]

# Up to this share of the objective, a bound of the distance from the optimum needs no remark.
CLOSE = 1e-2
# A smaller share is not told to people.
LEAST = 1e-4
# An optimum is probably near if the violation is at most this share of the first one.
NEAR = 1e-3


def ending(results: Sequence[Result], *parts: str, seconds: float | None = None) -> str:
    """Return the line that ends a training.

    Args:
        results: of the training, one for each model.
        parts: more figures, such as the size of the model; empty ones are left out.
        seconds: time that the training has taken, scores on development data included; by default the solvers' time.
    """
    from ..models.files.settings import worst
    from ..result import Status

    status = worst(results).status
    word = "interrupted" if status is Status.INTERRUPTED else "done" if status.converged else "stopped"
    chosen = results[0].chosen
    solver = "" if chosen is None else f" of {chosen.partition(' ')[0]}"
    figures = [
        counted(len(results), "model") + ", one per class" if len(results) > 1 else "",
        counted(sum(result.iterations for result in results), "iteration") + solver,
        f"{sum(result.seconds for result in results) if seconds is None else seconds:.1f} s",
        _score(results[0]) if len(results) == 1 else "",
        *parts,
    ]
    return f"{word}: {', '.join(figure for figure in figures if figure)}"


def _score(result: Result) -> str:
    """Return the development score of the weights that were kept; empty without one."""
    if not result.trace or result.record.dev is None:
        return ""
    best = "" if best_step(result) else " (the best)"
    return f"dev {result.record.headline} at iteration {result.record.iteration:,}{best}"


def best_step(result: Result) -> list[str]:
    """Return how to keep the weights with the best development score, if others were kept."""
    best = result.best
    if best is None or best.headline == result.record.headline:
        return []
    return [f"the best iteration was {best.iteration:,}, with dev {best.headline}; add --keep best to keep its weights"]


def certainty(results: Sequence[Result], *, remedies: bool = True) -> str:
    """Return how close to the optimum a training has come, in words; docs/methods.md explains them.

    Args:
        results: of the training, one for each model.
        remedies: whether the command has the flags --tolerance and --max-iterations.
    """
    from ..models.files.settings import worst
    from ..result import Status, distance, kept_text

    result = worst(results)
    status, share = result.status, result.relative_gap
    closer = "; lower --tolerance to get closer" if remedies else ""
    unproved = f"; --tolerance 0 waits for the proof of --gap {result.requested_gap:g}" if result.is_unproved else ""
    unproved = unproved if remedies else ""
    least = least_share(result.requested_gap)
    reason = status.message.replace("raise the limit", "raise --max-iterations" if remedies else "raise the limit")
    reason = reason.removeprefix("finished: ").removeprefix("converged: ")
    if result.kept is not None:
        bound = "" if share is None or share > CLOSE else f"; {distance(max(share, least), 1.0)}"
        return kept_text(result.kept) + (bound + unproved if status.converged else f"; {reason}")
    if share is not None and share <= CLOSE:
        bound = distance(max(share, least), 1.0)
        return bound + unproved if status.converged else f"{bound}; {reason}"
    if status in (Status.DEV_SCORE_TURNED, Status.FEATURES_SELECTED):
        return reason
    if not status.converged or status is Status.PASSES_MADE:
        return f"not certain: {reason}"
    if not result.trace or result.violation <= NEAR * result.trace[0].violation:
        if share is None:
            return f"probably close to the optimum{unproved}"
        return f"probably close to the optimum, and at most {100 * share:.2g} % from it{unproved or closer}"
    bound = distance(None, 1.0) if share is None else f"at most {100 * share:.2g} % from the optimum"
    return f"not certain: {bound}{unproved or closer}"


def least_share(requested: float | None) -> float:
    """Return the smallest bound that is told, as a share of the objective, for a requested one or none."""
    return LEAST if requested is None else min(requested, LEAST)


def nothing_reached(results: Sequence[Result]) -> bool:
    """Whether Ctrl-C has ended a training before its first iteration was complete."""
    from ..result import Status

    was_interrupted = any(result.status is Status.INTERRUPTED for result in results)
    return was_interrupted and not any(result.iterations for result in results)


def numbers(results: Sequence[Result]) -> list[str]:
    """Return lines for experts: objective and violation, the features, the solver, all scores."""
    from ..models.files.settings import worst

    result = worst(results)
    n_features = sum(trained.w.size for trained in results)
    n_active = sum(int((trained.w != 0.0).sum()) for trained in results)
    scores = result.record.dev if result.trace else None
    return [
        f"{'least accurate model: ' if len(results) > 1 else ''}{result.account}",
        f"{n_active:,} active features of {n_features:,}",
        *([] if result.chosen is None else [f"solver {result.chosen}"]),
        *([] if scores is None else [f"dev: {scores_text(scores)}"]),
    ]


def size_text(path: str) -> str:
    """Return the size of a model's file; empty for a device."""
    if not os.path.isfile(path):
        return ""
    size = os.path.getsize(path)
    return f"model {size / 1e6:,.1f} MB" if size >= 1e6 else f"model {size / 1e3:,.0f} kB"
