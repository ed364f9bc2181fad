"""Figures of the papers' benchmarks, against passes and against seconds, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "loglinear", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})

import matplotlib.pyplot as plt  # noqa: E402


def curves(rows: list[dict[str, Any]], title: str, path: Path, *, top: float = 1.6) -> None:
    """Four panels: objective over the best and active features, against passes and seconds."""
    best = min(point[2] for row in rows for point in row["curve"])
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 6.5), layout="constrained")
    for row in rows:
        passes, seconds, objective, features = zip(*row["curve"], strict=True)
        for column, x in enumerate((passes, seconds)):
            axes[0, column].plot(x, [value / best for value in objective], label=row["method"], linewidth=1.3)
            axes[1, column].plot(x[1:], features[1:], label=row["method"], linewidth=1.3)  # it starts from none
    for column, label in enumerate(("effective passes", "seconds")):
        longest = max(row["curve"][-1][column] for row in rows if "OWL-QN" in row["method"])
        axes[0, column].set(ylim=(0.99, top), ylabel="objective / best objective")
        axes[1, column].set(yscale="log", ylabel="active features", xlabel=label)
        for line in axes[:, column]:
            line.set_xlim(0, longest)
    axes[0, 1].legend(fontsize=8)
    _save(figure, title, path)


def gaps(rows: list[dict[str, Any]], best: float, title: str, path: Path) -> None:
    """Four panels: objective above the best, and error on the test data, against passes and seconds.

    Methods that were given a learning rate are dashed; those with non-uniform sampling are thick.
    """
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 8.0), layout="constrained")
    for number, row in enumerate(rows):
        style: dict[str, Any] = {
            "linestyle": "--" if row["learning_rate"] else "-",
            "linewidth": 2.4 if "NUS" in row["method"] else 1.2,
            "color": f"C{number}",
            "label": row["method"],
        }
        passes, seconds, objective, _ = zip(*row["curve"], strict=True)
        *at, scores = zip(*row["tested"], strict=True)
        for column, x in enumerate((passes, seconds)):
            axes[0, column].plot(x, [max(value - best, 1e-9 * best) for value in objective], **style)
            axes[1, column].plot(at[column], [100.0 - score for score in scores], **style)
    lowest = min(100.0 - score for row in rows for _, _, score in row["tested"])
    nearest = min(point[2] for row in rows for point in row["curve"]) - best
    # Long enough for most: AdaGrad takes several times as long as the others.
    longest = sorted(row["curve"][-1][1] for row in rows)[-3]
    for column, (label, end) in enumerate((("effective passes", None), ("seconds, one thread", longest))):
        axes[0, column].set(yscale="log", ylim=(max(nearest, 1e-6 * best) / 2, 10.0 * best))
        axes[0, column].set(ylabel="objective less the optimum, nats")
        axes[1, column].set(ylabel="100 - score on the test data", xlabel=label, ylim=(0.97 * lowest, 1.5 * lowest))
        for line in axes[:, column]:
            line.set_xlim(0, end)
    axes[1, 1].legend(fontsize=8, loc="upper right")
    _save(figure, title, path)


def courses(curves: dict[str, list[Any]], best: float, title: str, path: Path) -> None:
    """One panel: how far the objective is above the best against seconds; loglinear's lines are thick.

    Args:
        curves: by program, points that begin with seconds and objective.
        best: the best objective.
        title: of the figure.
        path: of the file.
    """
    figure, axes = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
    for program, points in curves.items():
        seconds, objective, *_ = zip(*points, strict=True)
        above = [max(value / best - 1.0, 1e-9) for value in objective]
        axes.plot(seconds, above, label=program, linewidth=2.2 if program.startswith("loglinear") else 1.1)
    axes.set(xscale="log", yscale="log", ylim=(1e-6, 10.0), xlabel="seconds", ylabel="objective / best objective - 1")
    axes.legend(fontsize=7)
    _save(figure, title, path)


def _save(figure: plt.Figure, title: str, path: Path) -> None:
    figure.suptitle(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
