"""Seconds of an evaluation over the likely labels, beside an evaluation over all of them; fails above a quarter.

    python benchmarks/pruned.py --sentences 2000

Data: CoNLL-2000 in the folder named by the environment variable LOGLINEAR_DATA. On one thread, at the weights after the
first stage and one round, over the active features.
"""

from __future__ import annotations

import argparse
import sys
from timeit import repeat

import numpy as np

from loglinear import ElasticNet, Problem, Stop, minimize
from loglinear.solvers import LabelSets
from roads import ALL, objective_of

BOUND, LINKS = 1e-3, 3e-3
MOST = 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--times", type=int, default=21)
    chosen = parser.parse_args()
    objective = objective_of(ALL["conll2000"], chosen.sentences, 1, 1)
    w = minimize(Problem(objective, ElasticNet(l1=1.0)), LabelSets(), stop=Stop(max_iterations=6)).w
    value, gradient, likely = objective.likely_labels(w, BOUND)
    active = np.flatnonzero(w)
    pruned = objective.pruned(likely, w[active], value, gradient[active], bound=BOUND, links=LINKS, features=active)
    of_pruned = min(repeat(lambda: pruned.value_and_gradient(w[active]), number=1, repeat=chosen.times))
    of_whole = min(repeat(lambda: objective.value_and_gradient(w), number=1, repeat=chosen.times))
    share = of_pruned / of_whole
    print(f"pruned {1e3 * of_pruned:.1f} ms, whole {1e3 * of_whole:.1f} ms, share {share:.3f}")
    sys.exit(f"more than {MOST}" if share > MOST else 0)


if __name__ == "__main__":
    main()
