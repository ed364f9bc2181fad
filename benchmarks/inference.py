"""Structure by the pseudo-likelihood, and by the likelihood with loopy and with tree-reweighted belief propagation.

    LOGLINEAR_DATA=/path/to/data python benchmarks/inference.py --page docs/networks.md
    python benchmarks/inference.py --quick

Binary networks of 64 variables whose edges are known, and images of letters (half of them for training), whose are
not. The strength of the penalty is chosen by EBIC. The log-likelihood of samples held out is exact where a junction
tree allows it; else log Z is estimated by annealed Gibbs sampling, marked with ~.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import PairwiseMRF
from loglinear.datasets import data_dir, make_network
from loglinear.networks.exact import is_narrow
from loglinear.networks.gibbs import Gibbs
from loglinear.networks.graph import Report

sys.path.append(str(Path(__file__).resolve().parent / "papers"))
from rows import fill, markdown

METHODS: dict[str, dict[str, Any]] = {
    "pseudo-likelihood": {},
    "nodewise": {"objective": "nodewise"},
    "loopy_bp": {"objective": "likelihood", "inference": "loopy_bp"},
    "trw": {"objective": "likelihood", "inference": "trw"},
}
NETWORKS = [("chain", 500, 2.0), ("grid", 500, 1.5), ("grid", 2000, 1.5), ("grid", 2000, 3.0), ("random", 1000, 1.5)]
LETTERS, EXACT, PIXELS = "aig", 2**20, 16 * 8
HEADS = ["data", "method", "edges", "F1", "log-likelihood, held out", "seconds", "end"]


def samples(quick: bool) -> Iterator[tuple[str, Any, Any, set[tuple[int, int]] | None]]:
    """Yield a name, samples for training, others, and the true edges if they are known."""
    for kind, n, strength in NETWORKS[:2] if quick else NETWORKS:
        data = make_network(kind, 64, n + 1000, strength=strength, degree=3.0, random_state=1)
        yield f"{kind}, n = {n:,}, weights {strength:g}", data.X[:n], data.X[n:], set(map(tuple, data.edges.tolist()))
    for letter in "" if quick else LETTERS:
        lines = (data_dir() / "ocr-letters" / "letter.data").read_text().splitlines()
        cells = [line.split("\t") for line in lines]
        pixels = np.array([row[6 : 6 + PIXELS] for row in cells if row[1] == letter], dtype=np.int64)
        yield f"letter {letter}, n = {len(pixels[::2]):,}", pixels[::2], pixels[1::2], None


def log_likelihood(network: PairwiseMRF, X: Any) -> str:
    """Mean log-likelihood of samples, exact or marked as an estimate."""
    graph, scores = network._graph, network._scores
    if is_narrow(graph.network, EXACT):
        return f"{network.score(X):.3f}"
    log_z = Gibbs(chains=2000).moments(graph, scores, Report("gibbs"), whole=False).log_z
    return f"~{float((graph.score(scores, network._codes(X)) - log_z).mean()):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="page whose table to write")
    parser.add_argument("--quick", action="store_true", help="two networks, no letters")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name, train, test, true in samples(arguments.quick):
        for method, options in METHODS.items():
            began = time.perf_counter()
            network = PairwiseMRF(**options).fit(train)
            seconds = time.perf_counter() - began
            found = set(map(tuple, network.edges_.tolist()))
            f1 = None if true is None else f"{2 * len(found & true) / (len(found) + len(true)):.3f}"
            end = network.result_.status.name.lower().replace("_", " ")
            lines.append([name, method, f"{len(found):,}", f1, log_likelihood(network, test), f"{seconds:.2f}", end])
            print(*lines[-1], sep=" | ", flush=True)
    text = markdown(HEADS, lines)
    print(text)
    if arguments.page:
        fill(arguments.page, "inference", "objectives", text)


if __name__ == "__main__":
    main()
