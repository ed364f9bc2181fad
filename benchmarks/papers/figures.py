"""Figures of the papers' benchmarks, against passes and against seconds, as SVG.

All are as wide as the text of a printed page, so that their type is about 8 pixels or larger on a phone that is 390
pixels wide. At most two panels stand side by side, and legends that would hide a curve are below or beside the panels.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "loglinear", "font.size": 10, "axes.grid": True, "grid.alpha": 0.3})
mpl.rcParams.update({"axes.titlesize": 10, "figure.titlesize": 11, "legend.fontsize": 9, "legend.handlelength": 1.6})
WIDTH = 6.2  # inches
TITLE = 60  # letters in a line of a title
SECONDS = "CPU seconds"
# Lines of many points, to a quarter of a pixel.
SIMPLE = {"path.simplify_threshold": 0.25}

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import LogLocator, NullFormatter  # noqa: E402


def curves(
    rows: list[dict[str, Any]], best: float, title: str, path: Path, *, top: float = 1.6, most: float = np.inf
) -> None:
    """Four panels: objective over the best and active features, against at most so many passes and their seconds."""
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 5.4), layout="constrained", sharex="col", sharey="row")
    for row in rows:
        passes, seconds, objective, features = zip(*row["curve"], strict=True)
        for column, x in enumerate((passes, seconds)):
            axes[0, column].plot(x, [value / best for value in objective], label=row["method"], linewidth=1.3)
            axes[1, column].plot(x[1:], features[1:], label=row["method"], linewidth=1.3)  # it starts from none
    for column, label in enumerate(("effective passes", SECONDS)):
        end = max(point[column] for row in rows for point in row["curve"] if point[0] <= most)
        axes[1, column].set(xlabel=label, xlim=(0, end if column or np.isinf(most) else most))
    axes[0, 0].set(ylim=(0.99, top), ylabel="objective / best objective")
    axes[1, 0].set(yscale="log", ylabel="active features")
    _legend(figure, axes[0, 0])
    _save(figure, title, path)


def gaps(rows: dict[str, list[dict[str, Any]]], best: float, title: str, path: Path) -> None:
    """Four panels: objective above the best, and error on the test data, against passes and seconds.

    Lines are medians over seeds, bands reach from the least to the most. Methods that were given a learning rate are
    dashed; those with non-uniform sampling are thick.
    """
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 6.6), layout="constrained", sharex="col", sharey="row")
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
    for column, (label, end) in enumerate((("effective passes", None), (SECONDS, longest))):
        axes[1, column].set(xlabel=label, xlim=(0, end))
    axes[0, 0].set(yscale="log", ylim=(max(nearest, 1e-6 * best) / 2, 10.0 * best))
    axes[0, 0].set_ylabel("objective less the optimum, nats")
    axes[1, 0].set(ylabel="100 - score on the test data", ylim=(0.97 * lowest, 1.5 * lowest))
    _legend(figure, axes[0, 0])
    _save(figure, title, path)


def courses(curves: dict[str, list[Any]], best: float, title: str, path: Path) -> None:
    """One panel: how far the objective is above the best against seconds; loglinear's lines are thick.

    Args:
        curves: by program, points that begin with seconds and objective.
        best: the best objective.
        title: of the figure.
        path: of the file.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 4.5), layout="constrained")
    for program, points in curves.items():
        seconds, objective, *_ = zip(*points, strict=True)
        above = [max(value / best - 1.0, 1e-9) for value in objective]
        axes.plot(seconds, above, label=program, linewidth=2.2 if program.startswith("loglinear") else 1.1)
    axes.set(xscale="log", yscale="log", ylim=(1e-6, 10.0), xlabel="seconds", ylabel="objective / best objective - 1")
    axes.legend()
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
        axes.set(title=name, xscale="log", yscale="log")
        if bests:
            axes.set_ylim(bottom=1e-3)
    _label(panels, "nats above the lowest" if bests else "objective, nats")
    _legend(figure, panels[0])
    _save(figure, title, path)


def scores(courses: list[tuple[str, list[dict[str, Any]]]], title: str, path: Path) -> None:
    """A panel for each problem: the score against seconds."""
    figure, panels = _panels(len(courses))
    for axes, (name, rows) in zip(panels, courses, strict=True):
        for number, row in enumerate(rows):
            _course(axes, row, f"C{number}", 5)
        axes.set(title=name, xscale="log", ylim=(40, 95))
    _label(panels, "F1, %")
    _legend(figure, panels[0])
    _save(figure, title, path)


def types(rows: list[dict[str, Any]], title: str, path: Path) -> None:
    """A panel for each type of entity: its F1 against seconds."""
    names = sorted(rows[0]["score"][1])
    figure, panels = _panels(len(names))
    for axes, name in zip(panels, names, strict=True):
        for number, row in enumerate(rows):
            curve = [[*point[:5], point[5] and point[5][1].get(name, 0.0)] for point in row["curve"]]
            _course(axes, row | {"curve": curve}, f"C{number}", 5)
        axes.set(title=name, xscale="log", ylim=(0, 90))
    _label(panels, "F1, %")
    _legend(figure, panels[0])
    _save(figure, title, path)


def ridges(lines: dict[str, list[dict[str, Any]]], title: str, path: Path) -> None:
    """Three panels: F1, seconds and evaluations against the ridge parameter, a line for each topic."""
    figure, panels = _panels(3)
    wanted = (("score", "F1 on the test data, %"), ("seconds", SECONDS), ("evaluations", "evaluations"))
    for axes, (name, label) in zip(panels, wanted, strict=True):
        for topic, rows in lines.items():
            axes.plot([row["l2"] for row in rows], [row[name] for row in rows], "o-", label=topic, markersize=3)
        axes.set(xscale="log", xlabel="ridge parameter", ylabel=label, ylim=(0, None))
    _legend(figure, panels[0])
    _save(figure, title, path)


def evolution(weights: Any, title: str, path: Path) -> None:
    """Two panels: all weights against iterations, and those in the middle."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.0), layout="constrained")
    for axes in (left, right):
        axes.plot(weights, linewidth=0.6)
        axes.set(xlabel="iterations", xlim=(0, len(weights) - 1))
    left.set_ylabel("weight")
    first, last = len(weights) // 8, len(weights) * 2 // 3
    low, *_, high = sorted(weights[last])[len(weights[0]) // 4 : -len(weights[0]) // 4]
    right.set(xlim=(first, last), ylim=(low, high), title="close-up")
    with mpl.rc_context(SIMPLE):
        _save(figure, title, path)


def criteria(rows: list[dict[str, Any]], score: str, title: str, path: Path) -> None:
    """Six panels: what a method reaches, and at what cost, against the select unit; a level line for one without it.

    Runs that a limit ended have open markers. Evaluations over all features are dotted.
    """
    figure, panels = _panels(6)
    wanted = {"seconds": SECONDS, "nll": "NLL, nats", "score": score}
    wanted |= {"nonzero": "non-zero features", "selected": "features ever selected", "evaluations": "evaluations"}
    methods = dict.fromkeys(row["method"] for row in rows)
    for axes, (name, label) in zip(panels, wanted.items(), strict=True):
        axes.set_ylabel(label)
        if name in ("seconds", "nll", "selected", "evaluations"):
            axes.set_yscale("log")
        for number, method in enumerate(methods):
            _against_unit(axes, [row for row in rows if row["method"] == method], name, f"C{number}")
    for axes in panels[-2:]:
        axes.set_xlabel("select unit M")
    _legend(figure, panels[1])
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
    """Panels in two columns. An odd number, 1 excepted, leaves a place for the legend."""
    columns, lines = min(count, 2), -(-count // 2)
    figure, axes = plt.subplots(lines, columns, figsize=(WIDTH, 0.6 + 2.4 * lines), layout="constrained", squeeze=False)
    for place in axes.flat[count:]:
        place.set_axis_off()
    return figure, list(axes.flat[:count])


def _label(panels: list[plt.Axes], name: str) -> None:
    """Name the vertical axis of the panels at the left, and the seconds below the lowest of each column."""
    for axes in panels[::2]:
        axes.set_ylabel(name)
    for axes in panels[-2:]:
        axes.set_xlabel(SECONDS)


def _legend(figure: plt.Figure, panel: plt.Axes) -> None:
    """Draw one legend for all panels, with the entries of one: in the place left for it, or below the panels."""
    handles, labels = panel.get_legend_handles_labels()
    if not figure.axes[-1].axison:
        figure.axes[-1].legend(handles, labels, loc="center")
        return
    columns = max(1, int(WIDTH / (0.5 + 0.075 * max(map(len, labels)))))
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)))


def _save(figure: plt.Figure, title: str, path: Path) -> None:
    figure.suptitle(fill(title, TITLE))
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            _number(axis)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _number(axis: Any) -> None:
    """Name the powers of ten on a logarithmic axis, and some multiples if it has less than two decades."""
    if axis.get_scale() != "log":
        return
    axis.set_minor_formatter(NullFormatter())
    low, high = axis.get_view_interval()
    if high < 100.0 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if high < 5.0 * low else (1.0, 2.0, 5.0)))
        axis.set_major_formatter(lambda value, at: f"{value:,.10g}")


def structure_bars(rows: list[dict[str, Any]], path: Path) -> None:
    """Three panels of bars, a group for each letter: seconds, NLL per pixel, gradient evaluations."""
    letters = list(dict.fromkeys(row["letter"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = _panels(3)
    panels = (("seconds", SECONDS), ("nll_sampled_train", "NLL per pixel, sampled"))
    for axis, (name, label) in zip(axes, (*panels, ("evaluations", "gradient evaluations")), strict=True):
        for k, method in enumerate(methods):
            heights = [row[name] for row in rows if row["method"] == method]
            places = [x + (k - (len(methods) - 1) / 2) * 0.8 / len(methods) for x in range(len(letters))]
            axis.bar(places, heights, 0.8 / len(methods), label=method)
        axis.set_xticks(range(len(letters)), letters)
        axis.set_ylabel(label)
        if name == "seconds":
            axis.set_yscale("log")
    _legend(figure, axes[0])
    _save(figure, "structures of letters", path)


def images(rows: list[dict[str, Any]], means: dict[str, Any], side: int, path: Path) -> None:
    """Average images, a column for each letter: of the data, then of each method, by samples and beliefs."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    kinds = {"samples": "image_sampled", "beliefs": "image_bethe"}
    shown = [(fill(f"{method}, {by}", 16), method, image) for method in methods for by, image in kinds.items()]
    figure, axes = plt.subplots(1 + len(shown), len(means), figsize=(WIDTH, 0.7 * (1 + len(shown))), squeeze=False)
    found = {(row["letter"], row["method"]): row for row in rows}
    for column, (letter, mean) in zip(axes.T, means.items(), strict=True):
        pictures = [mean, *(found[letter, method][image] for _, method, image in shown)]
        for axis, picture in zip(column, pictures, strict=True):
            axis.imshow(np.reshape(picture, (side, side)), cmap="gray", vmin=0.0, vmax=1.0)
            axis.set_axis_off()
    for axis, label in zip(axes[:, 0], ("data", *(label for label, *_ in shown)), strict=True):
        axis.text(-0.1, 0.5, label, ha="right", va="center", transform=axis.transAxes)
    figure.tight_layout(pad=0.3)
    figure.savefig(path.with_suffix(".png"), dpi=200)
    plt.close(figure)


def structure_units(level: list[dict[str, Any]], rows: list[dict[str, Any]], title: str, path: Path) -> None:
    """Four panels against the select unit M; methods without one are level lines."""
    figure, axes = _panels(4)
    panels = (("seconds", SECONDS), ("nll_sampled_train", "NLL per pixel, sampled"))
    panels += (("nonzero", "edges"), ("evaluations", "gradient evaluations"))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for axis, (name, label) in zip(axes, panels, strict=True):
        for method in methods:
            points = sorted((row["unit"], row[name]) for row in rows if row["method"] == method)
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=method)
        for k, row in enumerate(level):
            axis.axhline(row[name], color=f"C{len(methods) + k}", linestyle="--", label=row["method"])
        axis.set(ylabel=label, xlabel="select unit M" if axis in axes[2:] else None)
        if name in ("seconds", "evaluations"):
            axis.set_yscale("log")
    _legend(figure, axes[0])
    _save(figure, title, path)


def searches(rows: list[dict[str, Any]], best: float, title: str, path: Path) -> None:
    """Two panels: the objective against passes over the data by eta_0 and by alpha; plain SGD is dashed."""
    figure, panels = plt.subplots(2, 1, figsize=(WIDTH, 7.0), layout="constrained", sharex=True)
    wanted = (("learning_rate", "decay", 0.85), ("decay", "learning_rate", 1.0))
    names = {"learning_rate": "eta_0", "decay": "alpha"}
    for axes, (varied, fixed, at) in zip(panels, wanted, strict=True):
        shown = sorted((row for row in rows if row[fixed] == at), key=lambda row: (-row[varied], row["search"]))
        for number, row in enumerate(shown):
            objectives = [point[2] / best for point in row["curve"]]
            label = f"SGD{' + HLS' if row['search'] else ''}, {names[varied]} = {row[varied]:g}"
            style = "-" if row["search"] else "--"
            axes.plot(range(1, len(objectives)), objectives[1:], style, color=f"C{number // 2}", label=label)
        axes.set(title=f"{names[fixed]} = {at:g}", ylabel="objective / OWL-QN's", yscale="log", xlim=(1, None))
        axes.legend()
    panels[1].set_xlabel("passes over the data")
    _save(figure, title, path)
