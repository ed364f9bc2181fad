"""Figures 2 to 5 of Zhu, Lao & Xing (2010): Grafting-Light beside Grafting, Gauss-Seidel and full optimisation.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/zhu2010.py --json docs/papers/zhu2010.json \
        --figures docs/papers

Figures 2 and 3, feature selection, are in feature_selection.py; figures 4 and 5, structure learning, in letters.py.
"""

from __future__ import annotations

from feature_selection import compared
from findings import Findings
from letters import structures
from selection_data import CHUNKING, PART, SYNTHETIC
from tasks import options

STRUCTURES = "letters"


def main() -> None:
    quick = "a fifth of the synthetic data, 500 and 200 sentences, two letters, few M, at most 10 s a run"
    arguments = options(__doc__, [SYNTHETIC, PART, STRUCTURES, CHUNKING], quick).parse_args()
    findings = Findings("zhu2010", arguments)
    for task in arguments.tasks:
        if task == STRUCTURES:
            structures(findings, arguments)
        else:
            compared(findings, task, arguments)


if __name__ == "__main__":
    main()
