"""Recovery of known graphs, and its time, beside scikit-learn, plgpm, pxpy and gglasso.

    python benchmarks/peers/structure.py --json s.json --page docs/benchmark-tables.md --figure docs/structure.svg
    python benchmarks/peers/structure.py --quick

Ising models of Ravikumar, Wainwright & Lafferty (2010), section 6: couplings +-1/2, no field. Peers that are not
installed are left out (pip install plgpm gglasso pxpy tqdm onnx). Rows are written to the JSON file fit by fit; what is
there already is not run again. Seconds are wall time, of two threads or processes where a program has them.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import average_precision_score
from structure_methods import METHODS, NODEWISE, SEEDS, SIZES, Matrix, Method, Nodes, ours, started

from loglinear.datasets import NetworkSample, make_network

sys.path.append(str(Path(__file__).resolve().parents[1] / "papers"))
from rows import Rows, fill, markdown

RANKED, SWEEPS = 500, 300
# The largest of p^2 derivatives by weights that are 0, each of standard deviation sqrt(n) / 4 at most.
SCALE = 0.5
PATH = np.geomspace(3.0, 0.1, 20)  # strengths in that unit, of a ranking
GRAPHS = {"chain": 64, "grid": 64, "random": 64, "grid of 256": 256}
LARGE = 2000


@functools.lru_cache(maxsize=1)
def drawn(graph: str, n: int, seed: int) -> NetworkSample:
    return make_network(graph.split()[0], GRAPHS[graph], n, strength=2.0, degree=3.0, sweeps=SWEEPS, random_state=seed)


def matrix(fitted: Any) -> Matrix:
    return fitted.both() if isinstance(fitted, Nodes) else fitted


def run(method: Method, graph: str, total: int, n: int, seed: int, ranked: bool) -> dict[str, Any]:
    """Fit to the first n of so many samples, and compare with the graph that they come from."""
    sample = drawn(graph, total, seed)
    X, p = np.ascontiguousarray(sample.X[:n]), GRAPHS[graph]
    unit, upper = float(np.sqrt(n * np.log(p))), np.triu_indices(p, 1)
    truth = np.zeros((p, p), dtype=bool)
    truth[tuple(sample.edges.T)] = True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        fitted = method.fit(X, SCALE * unit)
        seconds = time.perf_counter() - began
    found = matrix(fitted)[upper] != 0
    hits, right = int((found & truth[upper]).sum()), int(truth.sum())
    row = {"seconds": seconds, "edges": int(found.sum()), "hits": hits, "right": right}
    row |= {"precision": hits / max(found.sum(), 1), "recall": hits / right, "f1": 2 * hits / (found.sum() + right)}
    row["warned"] = any("onvergence" in warning.category.__name__ for warning in caught)
    if method.fit is NODEWISE:
        fitted = ours(X, SCALE * unit)
    if isinstance(fitted, Nodes):
        least = ours(X, SCALE * unit, tolerance=0.0, gradient_tolerance=1e-10).objective(X, SCALE * unit)
        row["excess"] = fitted.objective(X, SCALE * unit) - least
    if ranked and method.rank and n == RANKED:
        row["area"] = area(method.rank, X, unit, truth[upper], upper)
    return row


def area(fit: Callable[[Matrix, float], Any], X: Matrix, unit: float, truth: Matrix, upper: Any) -> float:
    """Average precision of pairs in the order in which they enter a path, those that enter together by |weight|."""
    scores = np.zeros(truth.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, strength in enumerate(PATH.tolist()):
            try:
                weights = matrix(fit(X, strength * unit))[upper]
            except FloatingPointError:  # the graphical lasso where its penalty is small
                break
            entered = (weights != 0) & (scores == 0)
            scores[entered] = PATH.size - k + weights[entered] / (1.0 + weights.max())
    return float(average_precision_score(truth, scores))


def said(row: dict[str, Any]) -> str:
    return " ".join(f"{name} {value:.3f}" if isinstance(value, float) else f"{value}" for name, value in row.items())


def mean(rows: list[dict[str, Any]], name: str, digits: int = 2) -> str | None:
    values = [row[name] for row in rows if name in row]
    return f"{statistics.fmean(values):.{digits}f}" if values else None


def recovery(rows: list[dict[str, Any]], graph: str) -> str:
    """F1, precision and recall by the number of samples, and the area at one of them."""
    heads = ["program", *(f"n = {n:,}" for n in SIZES), f"area, n = {RANKED}"]
    lines = []
    for method in METHODS:
        cells: list[Any] = []
        for n in SIZES:
            here = [row for row in rows if (row["graph"], row["n"], row["method"]) == (graph, n, method)]
            cells.append(f"{mean(here, 'f1')} ({mean(here, 'precision')}, {mean(here, 'recall')})" if here else None)
        ranked = [row for row in rows if (row["graph"], row["method"]) == (graph, method)]
        if ranked:
            lines.append([method, *cells, mean(ranked, "area", 3)])
    return markdown(heads, lines)


def times(rows: list[dict[str, Any]]) -> str:
    """Medians of the seconds on the grid, and how far regressions end above the least objective."""
    places = [("grid", n) for n in SIZES] + [("grid of 256", LARGE)]
    heads = ["program", *(f"n = {n:,}" for n in SIZES), f"256 variables, n = {LARGE:,}", "above the optimum, nats"]
    lines = []
    for method in METHODS:
        cells: list[Any] = []
        for graph, n in places:
            here = [row for row in rows if (row["graph"], row["n"], row["method"]) == (graph, n, method)]
            cells.append(f"{statistics.median(row['seconds'] for row in here):.3g}" if here else None)
        excess = [row["excess"] for row in rows if row["method"] == method and "excess" in row]
        if any(cells):
            lines.append([method, *cells, f"{max(excess):.1g}" if excess else None])
    return markdown(heads, lines)


def figure(rows: list[dict[str, Any]], path: Path) -> None:
    """F1 by the number of samples, a panel for each graph."""
    graphs = [graph for graph, p in GRAPHS.items() if p == 64]
    with mpl.rc_context({"svg.hashsalt": "loglinear", "font.size": 9.0}):
        drawing = Figure(figsize=(11.0, 4.2), layout="constrained")
        axes = drawing.subplots(1, len(graphs), sharey=True)
        for axis, graph in zip(axes, graphs, strict=True):
            for name, method in METHODS.items():
                here = [row for row in rows if (row["graph"], row["method"]) == (graph, name)]
                sizes = sorted({row["n"] for row in here})
                means = [statistics.fmean(row["f1"] for row in here if row["n"] == n) for n in sizes]
                if means and method.drawn:
                    axis.semilogx(sizes, means, method.drawn, label=name, markersize=4.0, linewidth=1.2)
            axis.set_title(graph)
            axis.set_xlabel("samples")
            axis.set_xticks(SIZES, [f"{n}" for n in SIZES])
            axis.minorticks_off()
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("F1 of edges")
        drawing.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        drawing.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="rows, kept from run to run")
    parser.add_argument("--page", type=Path, help="page whose tables to write")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--quick", action="store_true", help="one seed, two sizes, 64 variables, no rankings")
    arguments = parser.parse_args()
    runs, methods = Rows(arguments.json), {}
    for name, method in METHODS.items():
        if method.needs and importlib.util.find_spec(method.needs) is None:
            print(f"{name}: {method.needs} is not installed")
        elif not (arguments.quick and method.needs == "pxpy"):
            methods[name] = method
    os.environ["PYTHONWARNINGS"] = "ignore"  # of the processes
    started()
    for seed in SEEDS[: 1 if arguments.quick else None]:
        for graph, p in GRAPHS.items():
            sizes = (LARGE,) if p > 64 else (200, 1000) if arguments.quick else SIZES
            for n in sizes:
                for name, method in methods.items():
                    there = method.large if p > 64 else n in method.sizes and graph in (method.graphs or GRAPHS)
                    if there and seed < method.seeds and not (arguments.quick and p > 64):
                        wanted = {"graph": graph, "n": n, "of": sizes[-1], "seed": seed, "method": name}
                        if runs.find(wanted) is None:
                            runs.add(wanted | run(method, graph, sizes[-1], n, seed, not arguments.quick))
                            print(said(runs.rows[-1]), flush=True)

    report(runs.rows, arguments.page, arguments.figure)


def report(rows: list[dict[str, Any]], page: Path | None, picture: Path | None) -> None:
    """Tables to stdout and to the page, and the figure."""
    texts = {graph: recovery(rows, graph) for graph, p in GRAPHS.items() if p == 64} | {"seconds": times(rows)}
    for name, text in texts.items():
        print(f"\n{name}\n\n{text}")
        if page:
            fill(page, "structure", name, text)
    if picture:
        figure(rows, picture)


if __name__ == "__main__":
    main()
