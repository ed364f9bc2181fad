"""Training on a corpus that stays on disk: memory, seconds of an evaluation, speed of encoding.

The text is CoNLL-2000's training data again and again, with one word in a hundred replaced by another of its words, so
that new attributes keep coming. Each measurement runs in a process of its own. Trainings run under a limit on memory
where the system has memory groups (cgroups) and lets this user make one; the largest resident size is printed in any
case.

    python benchmarks/out_of_core.py --folder /path/on/a/disk           # --copies 95: 20 million tokens

Data: the folder named by the environment variable LOGLINEAR_DATA (it holds conll2000/).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

REPLACED = 0.01
LIMIT = 1536 << 20
EVALUATIONS = 5


def make_text(path: Path, copies: int) -> None:
    """Writes the text, unless it is there."""
    if path.exists():
        return
    source = Path(os.environ["LOGLINEAR_DATA"], "conll2000", "train.txt").read_text(encoding="utf-8").splitlines()
    words = [line.split(" ", 1)[0] for line in source if line]
    choose = random.Random(0)
    with open(path, "w", encoding="utf-8") as out:
        for _ in range(copies):
            lines = source.copy()
            for _ in range(int(REPLACED * len(words))):
                at = choose.randrange(len(lines))
                if lines[at]:
                    lines[at] = f"{choose.choice(words)} {lines[at].split(' ', 1)[1]}"
            out.write("\n".join(lines) + "\n\n")


def encode(text: str, corpus: str) -> dict[str, Any]:
    """Encodes the text; two threads."""
    from loglinear import Corpus, CorpusFile

    begun = time.perf_counter()
    with CorpusFile(corpus, template="chunking") as file:
        file.add(text, threads=2)
    seconds = time.perf_counter() - begun
    found = Corpus.open(corpus)
    return {"tokens": found.n_tokens, "attributes": found.n_attributes, "seconds": seconds}


def evaluate(text: str, corpus: str, *, mapped: bool, cold: bool) -> dict[str, Any]:
    """Median seconds of an evaluation; two threads."""
    import numpy as np

    from loglinear import ChainObjective, Corpus

    data = Corpus.open(corpus) if mapped else Corpus.read(text, template="chunking", threads=2)
    begun = time.perf_counter()
    objective = ChainObjective(data, threads=2)
    made = time.perf_counter() - begun
    w = np.random.default_rng(0).normal(0.0, 0.1, objective.n_features)
    gradient, seconds = np.zeros_like(w), []
    for _ in range(EVALUATIONS):
        if cold:
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3")
        begun = time.perf_counter()
        value, _ = objective.value_and_gradient(w, gradient)
        seconds.append(time.perf_counter() - begun)
    check = f"{value!r} {float(np.abs(gradient).sum())!r}"
    return {"features": objective.n_features, "making": made, "seconds": median(seconds), "check": check}


def train(corpus: str, solver: str, iterations: int) -> dict[str, Any]:
    """Seconds of some iterations; two threads."""
    from loglinear import ChainObjective, Corpus, ElasticNet, Problem, Stop, minimize
    from loglinear.solvers import SOLVERS

    begun = time.perf_counter()
    objective = ChainObjective(Corpus.open(corpus), threads=2)
    penalty = ElasticNet(l1=1.0) if solver == "owlqn" else ElasticNet(l2=1.0)
    result = minimize(Problem(objective, penalty), SOLVERS[solver](), stop=Stop(max_iterations=iterations))
    seconds = time.perf_counter() - begun
    return {"iterations": result.iterations, "objective": result.objective, "seconds": seconds}


def limited(limit: int) -> Path | None:
    """A memory group with a limit; None where none can be made."""
    for parent, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(parent, f"loglinear-{os.getpid()}")
        try:
            if (Path(parent) / name).exists() or Path(parent, "cgroup.controllers").exists():
                group.mkdir()
                (group / name).write_text(str(limit))
                return group
        except OSError:
            continue
    return None


def measured(job: str, *arguments: Any, limit: int | None = None, **options: Any) -> dict[str, Any]:
    """What a function of this file returns in a process of its own, with its largest resident size."""
    group = None if limit is None else limited(limit)

    def enter() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    call = json.dumps({"job": job, "arguments": [str(each) for each in arguments], "options": options})
    command = [sys.executable, __file__, "--call", call]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=enter)
    finally:
        if group is not None:
            group.rmdir()
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"limited": group is not None}


def main() -> None:
    """Makes the text, measures, prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--copies", type=int, default=95)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--cold", action="store_true", help="also with an empty page cache; as root")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.call:
        call = json.loads(given.call)
        jobs = {"encode": encode, "evaluate": evaluate, "train": train}
        arguments = [int(each) if each.isdigit() else each for each in call["arguments"]]
        found = jobs[call["job"]](*arguments, **call["options"])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps(found | {"peak": peak}))
        return
    folder = Path(given.folder)
    text, corpus = folder / f"conll2000-{given.copies}.txt", folder / f"conll2000-{given.copies}.corpus"
    make_text(text, given.copies)
    print("| | seconds | a second | largest resident size | |\n| --- | ---: | ---: | ---: | --- |")

    def row(name: str, found: dict[str, Any], tokens: float, note: str = "") -> None:
        speed = f"{tokens / found['seconds'] / 1e6:.2f} M tokens"
        print(f"| {name} | {found['seconds']:.2f} | {speed} | {found['peak'] / 2**30:.2f} GiB | {note} |", flush=True)

    found = measured("encode", text, corpus)
    tokens = found["tokens"]
    row("encoding, 2 threads", found, tokens, f"{tokens:,} tokens, {found['attributes']:,} attributes")
    kept = {}
    for name, options in (
        ("evaluation, in memory", {"mapped": False, "cold": False}),
        ("evaluation, from disk", {"mapped": True, "cold": False}),
        *([("evaluation, from disk, cold cache", {"mapped": True, "cold": True})] if given.cold else []),
    ):
        kept[name] = found = measured("evaluate", text, corpus, **options)
        row(name, found, tokens, f"{found['features']:,} features; made in {found['making']:.1f} s")
    memory, disk = kept["evaluation, in memory"], kept["evaluation, from disk"]
    same = "the same value and gradient" if memory["check"] == disk["check"] else "ANOTHER VALUE OR GRADIENT"
    print(f"\nfrom disk / in memory: {disk['seconds'] / memory['seconds']:.2f} (at most 1.3); {same}\n")
    for solver in ("lbfgs", "owlqn"):
        found = measured("train", corpus, solver, given.iterations, limit=LIMIT)
        how = "under a limit of" if found["limited"] else "without a limit of"
        note = f"{found['iterations']} iterations, objective {found['objective']:,.0f}, {how} {LIMIT / 2**30:.1f} GiB"
        row(f"training, {solver}", found, tokens * found["iterations"], note)


if __name__ == "__main__":
    main()
