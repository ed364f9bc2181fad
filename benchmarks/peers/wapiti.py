"""Wapiti and loglinear side by side: the same patterns, data and penalties, to the same objective on as many threads.

GROBID's data and template of affiliations, with GROBID's penalties (rho1 0.5, rho2 1e-4). Wapiti has a weight for every
observation with every label, so loglinear is given `all_states` and `all_transitions`: both minimise the same function.
Wapiti ends by its own rule, or after a number of iterations. Seconds are those of training, without reading.

    python benchmarks/peers/wapiti.py --wapiti PATH/TO/wapiti     # --part name-header, --iterations 250, --threads 1

Wapiti: `gcc -std=c99 -O3 -DNDEBUG -o wapiti src/*.c -lm -lpthread` in its sources, which are in the PyPI distribution
libwapiti.
Data: the folder named by the environment variable LOGLINEAR_DATA (it holds grobid/).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from comparison import Answer, Goal, compare_reach, markdown

RHO1, RHO2 = 0.5, 1e-4
GOAL = 10


def run_wapiti(program: str, part: Path, threads: int, iterations: int) -> list[Answer]:
    """Objective and seconds of each iteration of Wapiti's OWL-QN."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-a", "l-bfgs", "-1", RHO1, "-2", RHO2, "-t", threads]
        if iterations:
            options += ["-i", iterations, "-e", 1e-12, "-w", 10_000]
        template, data = f"{part}.template", f"{part}.train"
        command = [program, "train", *map(str, options), "-p", template, data, f"{folder}/model"]
        finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    lines = re.findall(r"\[ *(\d+)\] obj=([\d.]+) .*/([\d.]+)s", finished.stdout)
    return [{"iteration": int(i), "objective": float(f), "seconds": float(s)} for i, f, s in lines]


def run_loglinear(part: Path, threads: int, objective: float) -> list[Answer]:
    """Objective and seconds of each step of loglinear, down to an objective."""
    from loglinear import ChainCRF, Corpus
    from loglinear.data.templates import TemplateText

    template = TemplateText("#!wapiti\n" + Path(f"{part}.template").read_text())
    corpus = Corpus.read(f"{part}.train", template=template)
    records: list[Any] = []

    def watch(record: Any, state: Any) -> bool:
        records.append({"iteration": record.iteration, "objective": record.objective, "seconds": record.seconds})
        return bool(record.objective <= objective)

    crf = ChainCRF(l1=RHO1, l2=RHO2, all_states=True, all_transitions=True, n_jobs=threads, tolerance=1e-9)
    crf.fit(corpus, callbacks=[watch])
    print(f"loglinear chose {crf.result_.chosen}", file=sys.stderr)
    return records


def main() -> None:
    """Runs both programs and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wapiti", default="wapiti")
    parser.add_argument("--part", default="affiliation-address", choices=("affiliation-address", "date", "name-header"))
    parser.add_argument("--iterations", type=int, default=0, help="of Wapiti's; 0 for as many as it makes by itself")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    part = Path(os.environ["LOGLINEAR_DATA"]) / "grobid" / arguments.part
    theirs = run_wapiti(arguments.wapiti, part, arguments.threads, arguments.iterations)
    ours = run_loglinear(part, arguments.threads, theirs[-1]["objective"])
    rows = []
    for share in (4, 2, 1):
        objective = theirs[len(theirs) // share - 1]["objective"]
        rows.append(compare_reach(f"to {objective:,.0f}", theirs, ours, objective, goal=Goal(GOAL)))
    print(f"{arguments.part}, {arguments.threads} threads\n")
    print(markdown(rows, peer="Wapiti"))


if __name__ == "__main__":
    main()
