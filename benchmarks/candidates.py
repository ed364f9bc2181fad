"""How wrong the scores of pairs without an edge are: product of beliefs and linear response.

    python benchmarks/candidates.py --page docs/networks.md

Grafting-Light scores a pair that has no edge by its violation |N p(x_i = 1, x_j = 1) - count|, the model's probability
taken as the product of the beliefs of both ends, or from linear response. Here are networks small enough for the exact
probability: binary variables, random graphs of mean degree 3, interactions drawn from a normal distribution.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from loglinear.networks.exact import Exact
from loglinear.networks.graph import Graph, Report
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Numbering

VARIABLES, DEGREE, NETWORKS = 16, 3.0, 50
STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0)


def errors(strength: float, random: np.random.Generator) -> tuple[list[float], list[float], list[float], float, bool]:
    """|error| of pairs without edge by both estimates, of edges, of log Z, and whether belief propagation settled."""
    numbering = Numbering([2] * VARIABLES)
    first, second = np.triu_indices(VARIABLES, 1)
    chosen = random.random(first.size) < DEGREE / (VARIABLES - 1)
    edges = np.stack([first, second], axis=1)
    graph = Graph(numbering, edges[chosen], 1)
    inner = strength * random.normal(size=int(chosen.sum()))
    # Centred: each variable is on about half of the time.
    columns = -0.5 * (np.bincount(edges[chosen].ravel(), np.repeat(inner, 2), VARIABLES))
    scores = graph.scores(inner, columns)
    exact = Exact().moments(graph, scores, Report("exact"), whole=True)
    report = Report("loopy_bp")
    loopy = LoopyBP(damping=0.3, max_iterations=2000).moments(graph, scores, report, whole=True)
    assert exact.products is not None
    beliefs = loopy.nodes[graph.columns]
    product = beliefs[first] * beliefs[second]
    response = product if loopy.products is None else loopy.products
    outside, followed = (np.abs(each - exact.products)[~chosen].tolist() for each in (product, response))
    inside = np.abs(loopy.edges - exact.edges)[graph.places]
    return outside, followed, inside.tolist(), abs(loopy.log_z - exact.log_z), report.unconverged == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    heads = "| weights' standard deviation | no edge, product: mean error | largest | no edge, response: mean error "
    heads += "| largest | edge: mean error | largest | log Z | settled |"
    lines = [heads, "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for strength in STRENGTHS:
        random = np.random.default_rng(0)
        found = [errors(strength, random) for _ in range(NETWORKS)]
        outside, followed, inside = (np.concatenate([each[k] for each in found]) for k in (0, 1, 2))
        log_z, settled = np.mean([each[3] for each in found]), sum(each[4] for each in found)
        lines.append(
            f"| {strength:g} | {outside.mean():.4f} | {outside.max():.3f} | "
            f"{followed.mean():.4f} | {followed.max():.3f} | {inside.mean():.4f} | {inside.max():.3f} | "
            f"{log_z:.4f} | {settled} of {NETWORKS} |"
        )
    table = "\n".join(lines)
    print(table)
    if arguments.page:
        text = arguments.page.read_text(encoding="utf-8")
        before, rest = text.split("<!-- candidates -->\n")
        after = rest.split("<!-- end of candidates -->")[1]
        arguments.page.write_text(f"{before}<!-- candidates -->\n{table}\n<!-- end of candidates -->{after}", "utf-8")


if __name__ == "__main__":
    main()
