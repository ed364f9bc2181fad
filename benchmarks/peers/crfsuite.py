"""CRFsuite and loglinear side by side, on the same data, features and penalty, in one run.

Both train on CoNLL-2000 with CRFsuite's example chunking attributes (452,755 features). Each measured program is
a process of its own, the two alternate, and a ratio says how many times better loglinear is: ratios hold on a busy
machine where seconds do not. CRFsuite is python-crfsuite, which has one thread.

    python benchmarks/peers/crfsuite.py                    # --quick: under two minutes; --full: an hour
    python benchmarks/peers/crfsuite.py --json FILE        # the measurements behind the table, too

Data: the folder named by the environment variable LOGLINEAR_DATA (it holds conll2000/train.txt and test.txt).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chunking_attributes import data_folder, write_attributes
from comparison import Answer, Goal, Row, alternate, compare, compare_reach, markdown

HERE = Path(__file__).resolve().parent
THREADS = 2
# c1 and c2 of CRFsuite; c1 = l1 and c2 = l2 / 2.
PENALTIES = {"l2": {"c1": 0.0, "c2": 1.0}, "l1": {"c1": 1.0, "c2": 0.0}, "elastic net": {"c1": 0.1, "c2": 0.1}}
# How near `auto` is to come, and by how much sooner than CRFsuite.
AUTO_GOALS = {"l1": {0.01: 60, 0.001: 100, 0.0001: 100}, "l2": {0.001: 40}}
GAPS = (0.01, 0.001, 0.0001)
COPIES = 20
SAG_PASSES = 40
L2SGD_EPOCHS = 200


@dataclass(frozen=True)
class Effort:
    """How much is run; the curves go to the optimum, 0 iterations leaves them out."""

    rounds: int
    iterations: int
    peer_curve: int
    own_curve: int


EFFORTS = {
    "quick": Effort(rounds=1, iterations=10, peer_curve=0, own_curve=0),
    "default": Effort(rounds=3, iterations=20, peer_curve=400, own_curve=1000),
    "full": Effort(rounds=5, iterations=30, peer_curve=1000, own_curve=1000),
}


@dataclass(frozen=True)
class Files:
    """The files of a run: the parts `train`, `test`, `many` (the test part COPIES times) and `one` sentence."""

    folder: Path

    def columns(self, part: str) -> Path:
        """A column file."""
        return self.folder / f"{part}.txt"

    def attributes(self, part: str) -> Path:
        """A CRFsuite attribute file."""
        return self.folder / f"{part}.crfsuite"

    def model(self, program: str) -> Path:
        """Where a program writes its model."""
        return self.folder / f"{program}.model"


def prepare(folder: Path) -> Files:
    """Writes the files that the programs read."""
    files = Files(folder)
    for part in ("train", "test"):
        shutil.copy(data_folder() / "conll2000" / f"{part}.txt", files.columns(part))
        write_attributes(files.columns(part), files.attributes(part))
    test = files.columns("test").read_text(encoding="utf-8").rstrip("\n") + "\n\n"
    files.columns("many").write_text(test * COPIES, encoding="utf-8")
    files.columns("one").write_text(test.split("\n\n")[0] + "\n", encoding="utf-8")
    return files


def work(task: str, **arguments: Any) -> Answer:
    """Runs a task of the workers in a process of its own."""
    command = [sys.executable, str(HERE / "workers.py"), task, json.dumps(arguments, default=str)]
    print(" ", *command[2:], file=sys.stderr)
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def process(*command: str | Path) -> Answer:
    """Seconds of a whole process, start to end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {"seconds": time.perf_counter() - start}


def loglinear(*arguments: str | Path) -> list[str]:
    """The command line of loglinear, as installed beside this Python."""
    script = Path(sys.executable).with_name("loglinear")
    return [*([str(script)] if script.exists() else [sys.executable, "-m", "loglinear"]), *map(str, arguments)]


def pluck(answers: list[Answer], key: str) -> list[float]:
    return [answer[key] for answer in answers]


def training(files: Files, penalty: str, iterations: int) -> dict[str, Any]:
    """The training tasks of a penalty, by name."""
    c = PENALTIES[penalty]
    train = files.attributes("train")
    peer = partial(work, "crfsuite_train", train=train, **c, model=files.model(f"crfsuite-{penalty}"))
    ours = partial(work, "loglinear_train", train=train, l1=c["c1"], l2=2 * c["c2"], max_iterations=iterations)
    return {
        "crfsuite": partial(peer, max_iterations=iterations),
        "loglinear_1": partial(ours, threads=1),
        f"loglinear_{THREADS}": partial(ours, threads=THREADS),
    }


def iterations(files: Files, penalty: str, effort: Effort) -> tuple[list[Row], Answer]:
    """Seconds per iteration, the solver's share of them, and peak memory."""
    answers = alternate(effort.rounds, **training(files, penalty, effort.iterations))
    peer, one, two = answers.values()
    seconds = pluck(peer, "iteration_seconds")
    solver = "OWL-QN" if penalty == "l1" else "L-BFGS"
    rows = []
    for threads, runs, goal in ((1, one, 4), (THREADS, two, 7)):
        title = f"{penalty}, {threads} thread(s): {solver} iteration against"
        gradient, whole = (pluck(runs, f"{part}_seconds") for part in ("gradient", "iteration"))
        rows.append(compare(f"{title} objective and gradient", "s", seconds, gradient, goal=Goal(goal)))
        rows.append(compare(f"{title} iteration", "s", seconds, whole))
        share = 100 * statistics.median(pluck(runs, "solver_share"))
        measure = f"{penalty}, {threads} thread(s): the solver's own work in an iteration"
        rows.append(Row(measure, "%", None, share, None, Goal(10, "ours", at_least=False)))
    memory = [[peak / 2**20 for peak in pluck(runs, "peak_bytes")] for runs in (peer, two)]
    rows.append(compare(f"{penalty}: peak memory of training", "MiB", *memory, goal=Goal(1)))
    return rows, answers


def curves(files: Files, penalty: str, effort: Effort) -> tuple[list[Row], Answer]:
    """Seconds until the objective is 1 %, 0.1 % and 0.01 % above the best that either program found."""
    tasks = training(files, penalty, effort.own_curve) | {
        "crfsuite": training(files, penalty, effort.peer_curve)["crfsuite"]
    }
    if penalty == "l2":
        train = files.attributes("train")
        tasks["sag"] = partial(work, "loglinear_sag", train=train, l2=2.0, passes=SAG_PASSES)
        model = files.model("l2sgd")
        tasks["l2sgd"] = partial(work, "crfsuite_epochs", train=train, c2=1.0, epochs=L2SGD_EPOCHS, model=model)
    answers = {name: task() for name, task in tasks.items()}
    traces = {name: answer["trace"] for name, answer in answers.items()}
    best = {name: min(record["objective"] for record in trace) for name, trace in traces.items() if name != "l2sgd"}
    least = min(best.values())
    rows = [
        compare_reach(
            f"{penalty}: to {gap:.2%} above the best, {threads} thread(s)",
            traces["crfsuite"],
            traces[f"loglinear_{threads}"],
            least * (1 + gap),
        )
        for threads in (1, THREADS)
        for gap in GAPS
    ]
    if penalty == "l2":
        rows += [
            compare_reach(
                f"l2: to {gap:.2%} above the best, SAG-NUS*, 1 thread(s)",
                traces["crfsuite"],
                traces["sag"],
                least * (1 + gap),
                goal=goal,
            )
            for gap, goal in zip(GAPS, (None, Goal(10), Goal(10)), strict=True)
        ]
        rows += [
            compare_reach(
                f"l2: SAG-NUS* to {gap:.2%}, 1 thread(s), against l2sgd to {GAPS[0]:.2%}",
                traces["l2sgd"],
                traces["sag"],
                least * (1 + gap),
                least * (1 + GAPS[0]),
                goal=Goal(3),
            )
            for gap in GAPS[1:]
        ]
    rows.append(Row(f"{penalty}: best objective", "nats", best["crfsuite"], best[f"loglinear_{THREADS}"], None))
    return rows, {"best": least, **answers}


def auto(files: Files, penalty: str, effort: Effort) -> tuple[list[Row], Answer]:
    """Seconds of `auto` and of CRFsuite: to gaps above the best objective, or to CRFsuite's after 100 iterations."""
    c, train = PENALTIES[penalty], files.attributes("train")
    count = effort.peer_curve if penalty in AUTO_GOALS else 100
    model = files.model(f"crfsuite-{penalty}")
    ours = partial(work, "loglinear_auto", train=train, l1=c["c1"], l2=2 * c["c2"], threads=THREADS)
    answers: Answer = {
        "crfsuite": work("crfsuite_train", train=train, **c, max_iterations=count, model=model),
        "reference": ours(seconds=120.0, tolerance=1e-7),
        "auto": [ours(seconds=120.0, tolerance=1e-5) for _ in range(effort.rounds)],
    }
    theirs = answers["crfsuite"]["trace"]
    runs = sorted(answers["auto"], key=lambda run: run["trace"][-1]["seconds"])
    course, chosen = runs[len(runs) // 2]["trace"], runs[0]["chosen"]
    title = f"{penalty}, {THREADS} threads: `auto`, {chosen}"
    if penalty not in AUTO_GOALS:
        goal = theirs[-1]["objective"]
        return [compare_reach(f"{title}: to CRFsuite's objective", theirs, course, goal, goal=Goal(60))], answers
    least = min(record["objective"] for run in (theirs, course, answers["reference"]["trace"]) for record in run)
    goals = AUTO_GOALS[penalty]
    rows = [
        compare_reach(f"{title}: to {gap:.2%}", theirs, course, least * (1 + gap), goal=Goal(goals[gap]))
        for gap in GAPS
        if gap in goals
    ]
    return rows, answers


def epochs(files: Files, effort: Effort) -> tuple[list[Row], Answer]:
    """A pass of stochastic training, on one thread."""
    train, count = files.attributes("train"), effort.iterations
    answers = alternate(
        effort.rounds,
        crfsuite=partial(work, "crfsuite_epochs", train=train, c2=1.0, epochs=count, model=files.model("l2sgd")),
        l2=partial(work, "loglinear_epochs", train=train, l1=0.0, l2=2.0, epochs=count),
        l1=partial(work, "loglinear_epochs", train=train, l1=1.0, l2=0.0, epochs=count),
    )
    peer = pluck(answers["crfsuite"], "epoch_seconds")
    rows = []
    for penalty in ("l2", "l1"):
        runs = answers[penalty]
        title = f"{penalty}: a pass of sgd_l1"
        rows.append(
            compare(f"{title} against an epoch of l2sgd", "s", peer, pluck(runs, "epoch_seconds"), goal=Goal(3))
        )
        shares = [run["epoch_seconds"] / run["gradient_seconds"] for run in runs]
        share = statistics.median(shares)
        rows.append(
            Row(f"{title} over objective and gradient", "", None, share, None, Goal(1.5, "ours", at_least=False))
        )
    steps = [work("loglinear_steps", train=train, l2=2.0, passes=2 * count) for _ in range(effort.rounds)]
    share = statistics.median(pluck(steps, "ratio"))
    goal = Goal(1.6, "ours", at_least=False)
    rows.append(Row("l2: a step of sag over one of sgd_l1 on the same sample", "", None, share, None, goal))
    return rows, answers | {"steps": steps}


def features(files: Files, effort: Effort) -> tuple[list[Row], Answer]:
    """From a column file to encoded data."""
    columns = files.columns("train")
    answers = alternate(
        effort.rounds,
        crfsuite=partial(work, "crfsuite_features", columns=columns),
        loglinear=partial(work, "loglinear_features", columns=columns, threads=THREADS),
    )
    seconds = [pluck(runs, "seconds") for runs in answers.values()]
    return [compare("columns to encoded data, `chunking` preset", "s", *seconds, goal=Goal(20))], answers


def own_model(files: Files, penalty: str, effort: Effort) -> Path:
    """A loglinear model that tags columns, trained as long as CRFsuite's, or to its end."""
    c, model = PENALTIES[penalty], files.model("loglinear")
    command = loglinear("train", files.columns("train"), "--preset", "chunking", "--model", model)
    command += ["--l1", str(c["c1"]), "--l2", str(2 * c["c2"]), "--threads", str(THREADS)]
    if not effort.own_curve:
        command += ["--max-iterations", str(effort.iterations)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return model


def tagging(files: Files, penalty: str, effort: Effort) -> tuple[list[Row], Answer]:
    """Tokens a second, opening, the whole process on one sentence, and the size of the model."""
    theirs, ours = files.model(f"crfsuite-{penalty}"), own_model(files, penalty, effort)
    tag = loglinear("tag", "--model", ours, "--threads", str(THREADS))
    answers = alternate(
        effort.rounds,
        crfsuite=partial(work, "crfsuite_tag", model=theirs, columns=files.columns("test"), repeats=3),
        loglinear=partial(process, *tag, files.columns("many")),
        crfsuite_open=partial(work, "crfsuite_open", model=theirs, repeats=50),
        loglinear_open=partial(work, "loglinear_open", model=ours, repeats=50),
    )
    answers |= alternate(
        4 * effort.rounds + 1,
        numpy=partial(process, sys.executable, "-c", "import numpy"),
        loglinear_one=partial(process, *tag, files.columns("one")),
    )
    tokens = answers["crfsuite"][0]["tokens"] * COPIES
    speed = [tokens / seconds for seconds in pluck(answers["loglinear"], "seconds")]
    opening = [[1000 * s for s in pluck(answers[f"{name}_open"], "seconds")] for name in ("crfsuite", "loglinear")]
    whole = [[1000 * s for s in pluck(answers[name], "seconds")] for name in ("numpy", "loglinear_one")]
    sizes = [[file.stat().st_size / 2**20] for file in (theirs, ours)]
    ready, columns = (pluck(answers["crfsuite"], f"tokens_per_second{end}") for end in ("", "_columns"))
    title = f"tagging: columns, whole process, {THREADS} threads"
    rows = [
        compare(
            f"{title}, against ready attributes", "tokens/s", ready, speed, more_is_better=True, goal=Goal(1e6, "ours")
        ),
        compare(f"{title}, against a Python script", "tokens/s", columns, speed, more_is_better=True),
        compare("opening a model", "ms", *opening, goal=Goal(5, "ours", at_least=False)),
        compare("`loglinear tag` of one sentence against `import numpy`", "ms", *whole, goal=Goal(1)),
        compare(f"model file, {penalty}", "MiB", *sizes),
    ]
    return rows, answers


def machine() -> dict[str, Any]:
    from importlib.metadata import version

    packages = {name: version(name) for name in ("python-crfsuite", "loglinear", "numpy")}
    return {"platform": platform.platform(), "cpus": os.cpu_count(), "python": platform.python_version(), **packages}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    effort = parser.add_mutually_exclusive_group()
    for name in ("quick", "full"):
        effort.add_argument(f"--{name}", dest="effort", action="store_const", const=name, default="default")
    parser.add_argument("--penalty", choices=["l1", "l2", "both"], default="both")
    parser.add_argument("--only", choices=["auto"], help="this part alone")
    parser.add_argument("--repeats", type=int, help="rounds of every short measurement")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes every measurement")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    effort = EFFORTS[chosen.effort]
    if chosen.repeats:
        effort = Effort(**asdict(effort) | {"rounds": chosen.repeats})
    penalties = ["l2", "l1"] if chosen.penalty == "both" else [chosen.penalty]
    rows: list[Row] = []
    record: dict[str, Any] = {"machine": machine(), "effort": asdict(effort), "measurements": {}}
    with tempfile.TemporaryDirectory() as folder:
        files = prepare(Path(folder))
        sections = {f"iterations_{p}": partial(iterations, files, p, effort) for p in penalties}
        sections |= {"epochs": partial(epochs, files, effort)}
        if effort.peer_curve:
            sections |= {f"curves_{p}": partial(curves, files, p, effort) for p in penalties}
            of_auto = [*penalties, "elastic net"] if chosen.penalty == "both" else penalties
            sections |= {f"auto_{p}": partial(auto, files, p, effort) for p in of_auto}
        sections |= {"features": partial(features, files, effort)}
        sections |= {"tagging": partial(tagging, files, penalties[-1], effort)}
        if chosen.only:
            sections = {name: section for name, section in sections.items() if name.startswith(chosen.only)}
        for name, section in sections.items():
            print(name, file=sys.stderr)
            new, record["measurements"][name] = section()
            rows += new
    print(markdown(rows))
    if chosen.json:
        record["rows"] = [asdict(row) for row in rows]
        chosen.json.write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
