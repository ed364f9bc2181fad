"""Figures of the papers' benchmarks, against passes and against seconds, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "loglinear", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
# Lines of many points, to a quarter of a pixel.
SIMPLE = {"path.simplify_threshold": 0.25}

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import NullFormatter  # noqa: E402


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


def gaps(rows: dict[str, list[dict[str, Any]]], best: float, title: str, path: Path) -> None:
    """Four panels: objective above the best, and error on the test data, against passes and seconds.

    Lines are medians over seeds, bands reach from the least to the most. Methods that were given a learning rate are
    dashed; those with non-uniform sampling are thick.
    """
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 8.0), layout="constrained")
    for number, (name, seeds) in enumerate(rows.items()):
        style: dict[str, Any] = {
            "linestyle": "--" if seeds[0]["learning_rate"] else "-",
            "linewidth": 2.4 if "NUS" in name else 1.2,
            "color": f"C{number}",
            "label": name,
        }
        for line, points, value in (
            (0, "curve", lambda point: max(point[2] - best, 1e-9 * best)),
            (1, "tested", lambda point: 100.0 - point[2]),
        ):
            shortest = min(len(row[points]) for row in seeds)
            values = np.array([[value(point) for point in row[points][:shortest]] for row in seeds])
            for column in (0, 1):
                at = np.median([[point[column] for point in row[points][:shortest]] for row in seeds], axis=0)
                axes[line, column].plot(at, np.median(values, axis=0), **style)
                if len(seeds) > 1:
                    low, high = values.min(axis=0), values.max(axis=0)
                    axes[line, column].fill_between(at, low, high, color=style["color"], alpha=0.2, linewidth=0)
    every = [row for seeds in rows.values() for row in seeds]
    lowest = min(100.0 - score for row in every for _, _, score in row["tested"])
    nearest = min(point[2] for row in every for point in row["curve"]) - best
    # Long enough for most: AdaGrad takes several times as long as the others.
    longest = sorted(seeds[0]["curve"][-1][1] for seeds in rows.values())[-3]
    for column, (label, end) in enumerate((("effective passes", None), ("seconds, one thread", longest))):
        axes[0, column].set(yscale="log", ylim=(max(nearest, 1e-6 * best) / 2, 10.0 * best))
        axes[0, column].set(ylabel="objective less the optimum, nats")
        axes[1, column].set(ylabel="100 - score on the test data", xlabel=label, ylim=(0.97 * lowest, 1.5 * lowest))
        for axis in axes[:, column]:
            axis.set_xlim(0, end)
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


# Phases of clustered training: where the optimiser moves clusters, the line is dotted.
COARSE = "coarse"


def _course(axes: plt.Axes, row: dict[str, Any], color: str, column: int, less: float = 0.0) -> None:
    """A course against seconds, phase by phase; points without a value are left out."""
    points = [point for point in row["curve"] if point[column] is not None]
    label = row["method"]
    start = 0
    for at in range(1, len(points) + 1):
        if at == len(points) or (points[at][3] == COARSE) != (points[start][3] == COARSE):
            piece = points[start : at + 1]
            style = ":" if points[start][3] == COARSE else "-"
            values = [point[column] - less for point in piece]
            axes.plot([point[1] for point in piece], values, style, color=color, label=label, linewidth=1.5)
            label, start = None, at


def objectives(
    courses: list[tuple[str, list[dict[str, Any]]]], title: str, path: Path, *, bests: list[float] | None = None
) -> None:
    """A panel for each problem: the objective, less the lowest if that is given, against seconds."""
    figure, panels = _panels(len(courses))
    for at, (axes, (name, rows)) in enumerate(zip(panels, courses, strict=True)):
        for number, row in enumerate(rows):
            _course(axes, row, f"C{number}", 2, bests[at] if bests else 0.0)
        axes.set(title=name, xscale="log", yscale="log", xlabel="seconds of the processor")
        if bests:
            axes.set_ylim(bottom=1e-3)
    _label(panels, "nats above the lowest" if bests else "objective, nats")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    _save(figure, title, path)


def scores(courses: list[tuple[str, list[dict[str, Any]]]], title: str, path: Path) -> None:
    """A panel for each problem: the score against seconds."""
    figure, panels = _panels(len(courses))
    for axes, (name, rows) in zip(panels, courses, strict=True):
        for number, row in enumerate(rows):
            _course(axes, row, f"C{number}", 5)
        axes.set(title=name, xscale="log", xlabel="seconds of the processor", ylim=(40, 95))
    _label(panels, "F1, %")
    panels[0].legend(fontsize=8)
    _save(figure, title, path)


def types(rows: list[dict[str, Any]], title: str, path: Path) -> None:
    """A panel for each type of entity: its F1 against seconds."""
    names = sorted(rows[0]["score"][1])
    figure, panels = _panels(len(names))
    for axes, name in zip(panels, names, strict=True):
        for number, row in enumerate(rows):
            curve = [[*point[:5], point[5] and point[5][1].get(name, 0.0)] for point in row["curve"]]
            _course(axes, row | {"curve": curve}, f"C{number}", 5)
        axes.set(title=name, xscale="log", xlabel="seconds of the processor", ylim=(0, 90))
    _label(panels, "F1, %")
    panels[0].legend(fontsize=8)
    _save(figure, title, path)


def ridges(lines: dict[str, list[dict[str, Any]]], title: str, path: Path) -> None:
    """Three panels: F1, seconds and evaluations against the ridge parameter, a line for each topic."""
    figure, panels = plt.subplots(1, 3, figsize=(7.5, 3.2), layout="constrained")
    wanted = (
        ("score", "F1 on the test documents, %"),
        ("seconds", "seconds of the processor"),
        ("evaluations", "evaluations"),
    )
    for axes, (name, label) in zip(panels, wanted, strict=True):
        for topic, rows in lines.items():
            axes.plot([row["l2"] for row in rows], [row[name] for row in rows], "o-", label=topic, markersize=3)
        axes.set(xscale="log", xlabel="ridge parameter", ylabel=label, ylim=(0, None))
    panels[0].legend(fontsize=8)
    _save(figure, title, path)


def evolution(weights: Any, title: str, path: Path) -> None:
    """Two panels: all weights against iterations, and those in the middle."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 4.0), layout="constrained")
    for axes in (left, right):
        axes.plot(weights, linewidth=0.6)
        axes.set(xlabel="iterations", ylabel="weight", xlim=(0, len(weights) - 1))
    first, last = len(weights) // 8, len(weights) * 2 // 3
    low, *_, high = sorted(weights[last])[len(weights[0]) // 4 : -len(weights[0]) // 4]
    right.set(xlim=(first, last), ylim=(low, high), title="close-up")
    with mpl.rc_context(SIMPLE):
        _save(figure, title, path)


def criteria(rows: list[dict[str, Any]], score: str, title: str, path: Path) -> None:
    """Six panels: what a method reaches, and at what cost, against the select unit; a level line for one without it.

    Runs that a limit ended have open markers. Evaluations over all features are dotted.
    """
    figure, panels = plt.subplots(2, 3, figsize=(12.0, 6.5), layout="constrained")
    wanted = {"seconds": "seconds of the processor", "nll": "negative log-likelihood, nats", "score": score}
    wanted |= {"nonzero": "non-zero features", "selected": "features ever selected", "evaluations": "evaluations"}
    methods = dict.fromkeys(row["method"] for row in rows)
    for axes, (name, label) in zip(panels.flat, wanted.items(), strict=True):
        axes.set(xlabel="select unit M", ylabel=label)
        if name in ("seconds", "nll", "selected", "evaluations"):
            axes.set_yscale("log")
        for number, method in enumerate(methods):
            _against_unit(axes, [row for row in rows if row["method"] == method], name, f"C{number}")
    figure.legend(*panels[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=len(methods), fontsize=8)
    _save(figure, title, path)


def _against_unit(axes: plt.Axes, rows: list[dict[str, Any]], name: str, color: str) -> None:
    if rows[0]["unit"] is None:
        optimum = rows[0]["method"] == "optimum"
        if not optimum or name in ("nll", "score", "nonzero"):  # what it cost is not the question
            style = {"color": "black", "linestyle": ":"} if optimum else {"color": color}
            axes.axhline(rows[0][name], label=rows[0]["method"], linewidth=1.3, **style)
        return
    rows = sorted(rows, key=lambda row: row["unit"])
    units = [row["unit"] for row in rows]
    axes.plot(units, [row[name] for row in rows], "-", color=color, label=rows[0]["method"], linewidth=1.3)
    for row in rows:
        inside = "white" if row["end"] == "limit" else color
        axes.plot(row["unit"], row[name], "o", color=color, markerfacecolor=inside, markersize=4)
    if name == "evaluations":
        axes.plot(units, [row["full_evaluations"] for row in rows], ":", color=color, linewidth=1.0)


def _panels(count: int) -> tuple[plt.Figure, list[plt.Axes]]:
    columns = min(count, 2 if count in (1, 2, 4, 6) else 3)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(7.0, 2.6 * rows), layout="constrained", squeeze=False)
    return figure, list(axes.flat)


def _label(panels: list[plt.Axes], name: str) -> None:
    """Name the vertical axis of the panels at the left."""
    for axes in panels:
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel(name)


def _save(figure: plt.Figure, title: str, path: Path) -> None:
    figure.suptitle(title)
    for axes in figure.axes:
        axes.xaxis.set_minor_formatter(NullFormatter())
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def structure_bars(rows: list[dict[str, Any]], path: Path) -> None:
    """Three panels of bars, a group for each letter: seconds, NLL per pixel, gradient evaluations."""
    letters = list(dict.fromkeys(row["letter"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.6), layout="constrained")
    panels = (("seconds", "CPU seconds"), ("nll_sampled_train", "NLL per pixel, by samples"), ("evaluations", None))
    for axis, (name, label) in zip(axes, panels, strict=True):
        for k, method in enumerate(methods):
            heights = [row[name] for row in rows if row["method"] == method]
            places = [x + (k - (len(methods) - 1) / 2) * 0.8 / len(methods) for x in range(len(letters))]
            axis.bar(places, heights, 0.8 / len(methods), label=method)
        axis.set_xticks(range(len(letters)), letters)
        axis.set_ylabel(label or "gradient evaluations")
        if name != "nll_sampled_train":
            axis.set_yscale("log")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(methods), fontsize=8)
    _save(figure, "structures of letters", path)


def images(rows: list[dict[str, Any]], means: dict[str, Any], side: int, path: Path) -> None:
    """Average images: of the data, then of each method, by samples of what it learned."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = plt.subplots(
        len(means), 1 + 2 * len(methods), figsize=(1.1 + 2.2 * len(methods), 1.1 * len(means) + 0.5), squeeze=False
    )
    for line, (letter, mean) in zip(axes, means.items(), strict=True):
        found = {row["method"]: row for row in rows if row["letter"] == letter}
        shown = [("data", mean.reshape(side, side))]
        for method in methods:
            short = method.replace("Grafting-Light", "G.-Light").replace("Full-Opt-L1", "Full")
            short = short.replace(", ", ",\n").replace(" graph", "")
            for by in ("sampled", "bethe"):
                label = f"{short}\n{'samples' if by == 'sampled' else 'beliefs'}"
                shown.append((label, [found[method][f"image_{by}"][i : i + side] for i in range(0, side * side, side)]))
        for axis, (title, image) in zip(line, shown, strict=True):
            axis.imshow(image, cmap="gray", vmin=0.0, vmax=1.0)
            axis.set_axis_off()
            if letter == next(iter(means)):
                axis.set_title(title, fontsize=6)
    figure.tight_layout(pad=0.3)
    figure.savefig(path.with_suffix(".png"), dpi=100)
    plt.close(figure)


def structure_units(level: list[dict[str, Any]], rows: list[dict[str, Any]], title: str, path: Path) -> None:
    """Four panels against the select unit M; methods without one are level lines."""
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 6.0), layout="constrained")
    panels = (("seconds", "CPU seconds"), ("nll_sampled_train", "NLL per pixel, by samples"))
    panels += (("nonzero", "edges"), ("evaluations", "gradient evaluations"))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for axis, (name, label) in zip(axes.ravel(), panels, strict=True):
        for method in methods:
            points = sorted((row["unit"], row[name]) for row in rows if row["method"] == method)
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=method)
        for k, row in enumerate(level):
            axis.axhline(row[name], color=f"C{len(methods) + k}", linestyle="--", label=row["method"])
        axis.set(ylabel=label, xlabel="select unit M")
        if name in ("seconds", "evaluations"):
            axis.set_yscale("log")
    axes[0, 0].legend(fontsize=8)
    _save(figure, title, path)


def searches(rows: list[dict[str, Any]], best: float, title: str, path: Path) -> None:
    """Two panels: the objective against passes over the data by eta_0 and by alpha; plain SGD is dashed."""
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
    wanted = (("learning_rate", "decay", 0.85), ("decay", "learning_rate", 1.0))
    names = {"learning_rate": "eta_0", "decay": "alpha"}
    for axes, (varied, fixed, at) in zip(panels, wanted, strict=True):
        shown = sorted((row for row in rows if row[fixed] == at), key=lambda row: (-row[varied], row["search"]))
        for number, row in enumerate(shown):
            objectives = [point[2] / best for point in row["curve"]]
            label = f"SGD{' + HLS' if row['search'] else ''}, {names[varied]} = {row[varied]:g}"
            style = "-" if row["search"] else "--"
            axes.plot(range(1, len(objectives)), objectives[1:], style, color=f"C{number // 2}", label=label)
        axes.set(xlabel="passes over the data", title=f"{names[fixed]} = {at:g}", yscale="log", xlim=(1, None))
        axes.yaxis.set_minor_formatter(NullFormatter())
        lowest, highest = axes.get_ylim()
        fine, coarse = (1.0, 1.1, 1.2, 1.5, 2.0, 3.0), (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
        ticks = [tick for tick in (coarse if highest > 5.0 else fine) if lowest < tick < highest]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.legend(fontsize=7)
    panels[0].set_ylabel("objective / OWL-QN's")
    _save(figure, title, path)
