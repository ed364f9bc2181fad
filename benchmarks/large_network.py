"""Structure among thousands of variables: seconds and memory, for all pairs as candidates.

python benchmarks/large_network.py --variables 5000 --samples 2000
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from loglinear import PairwiseMRF
from loglinear.datasets import make_network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", type=int, default=5000)
    parser.add_argument("--samples", type=int, default=2000)
    rows = ["likelihood, response", "likelihood, product", "pseudolikelihood"]
    parser.add_argument("--rows", nargs="+", default=rows, choices=rows)
    parser.add_argument(
        "--l1", type=float, help="1.1 sqrt(samples log(variables)) / 2 by default, twice that for pseudo"
    )
    arguments = parser.parse_args()
    data = make_network("random", arguments.variables, arguments.samples, strength=1.5, degree=3.0)
    true = {tuple(edge) for edge in data.edges.tolist()}
    pairs = arguments.variables * (arguments.variables - 1) // 2
    print(
        f"{arguments.variables:,} binary variables, {arguments.samples:,} samples, {pairs:,} pairs, {len(true):,} edges"
    )
    for row in arguments.rows:
        objective, _, candidates = row.partition(", ")
        inference = {"inference": "loopy_bp", "inference_options": {"candidates": candidates}} if candidates else {}
        noise = 0.55 * np.sqrt(arguments.samples * np.log(arguments.variables))
        l1 = arguments.l1 or noise * (1 + (objective == "pseudolikelihood"))
        began = time.perf_counter()
        model = PairwiseMRF(l1=l1, objective=objective, **inference).fit(data.X)
        seconds = time.perf_counter() - began
        found = {tuple(edge) for edge in model.edges_.tolist()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{row}: l1 {l1:.1f}, {seconds:.1f} s, {model.n_iter_} steps, {len(found):,} edges, "
            f"precision {len(found & true) / max(len(found), 1):.3f}, recall {len(found & true) / len(true):.3f}, "
            f"{model.result_.status.name.lower()}; peak memory {peak:.2f} GiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
