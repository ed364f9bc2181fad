"""The measured programs, each a process of its own.

    python benchmarks/peers/workers.py TASK '{"argument": value}'      # prints a JSON object

Every answer carries `peak_bytes`, the process's peak resident memory.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from chunking_attributes import read_attributes, read_columns, sentence_attributes

Answer = dict[str, Any]
clock = time.perf_counter


def peak_bytes() -> int:
    """Peak resident memory of this process; ru_maxrss would count the parent that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if "VmHWM" in line)
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def crfsuite_train(train: str, c1: float, c2: float, max_iterations: int, model: str) -> Answer:
    """Trains with CRFsuite's L-BFGS (OWL-QN when c1 > 0); seconds count from the start of the optimisation."""
    import pycrfsuite

    trace: list[Answer] = []
    marks: dict[str, float] = {}
    peaks: list[int] = []

    class Trainer(pycrfsuite.Trainer):
        def on_start(self, log):
            pass

        def on_featgen_progress(self, log, percent):
            pass

        def on_featgen_end(self, log):
            # Nothing runs between this message and the first evaluation but the allocation of the optimiser.
            marks["optimisation"] = clock()

        def on_prepared(self, log):
            pass

        def on_iteration(self, log, info):
            seconds = clock() - marks["optimisation"]
            trace.append({"iteration": info["num"], "seconds": seconds, "objective": info["loss"]})
            trace[-1] |= {"nnz": info["active_features"], "evaluations": info["linesearch_trials"]}

        def on_optimization_end(self, log):
            peaks.append(peak_bytes())

        def on_end(self, log):
            pass

    start = clock()
    parameters = {"c1": c1, "c2": c2, "max_iterations": max_iterations, "epsilon": 1e-9, "delta": 1e-9}
    trainer = Trainer("lbfgs", parameters)
    for xs, ys in read_attributes(Path(train)):
        trainer.append(xs, ys)
    prepare = clock()
    trainer.train(model)
    features = trainer.logparser.featgen_num_features
    return {
        "n_features": features,
        "read_seconds": prepare - start,
        "prepare_seconds": marks["optimisation"] - prepare,
        "iteration_seconds": typical_iteration(trace),
        "trace": trace,
        "peak_bytes": peaks[-1],
        "model_bytes": Path(model).stat().st_size,
    }


def crfsuite_epochs(train: str, c2: float, epochs: int, model: str) -> Answer:
    """Trains with CRFsuite's l2sgd.

    Seconds of an epoch are those that it reports, without its calibration. So is the objective: the loss is summed up
    during the epoch, while the weights move.
    """
    import pycrfsuite

    trace: list[Answer] = []

    class Trainer(pycrfsuite.Trainer):
        def message(self, message):
            for line in message.splitlines():
                if line.startswith("***** Epoch"):
                    trace.append({"iteration": len(trace) + 1})
                elif line.startswith("Loss:") and "objective" not in trace[-1]:
                    trace[-1]["objective"] = float(line.split(":")[1])
                elif line.startswith("Seconds required for this iteration:"):
                    trace[-1]["epoch_seconds"] = float(line.split(":")[1])

    trainer = Trainer("l2sgd", {"c2": c2, "max_iterations": epochs, "delta": 0.0})
    for xs, ys in read_attributes(Path(train)):
        trainer.append(xs, ys)
    trainer.train(model)
    seconds = [epoch["epoch_seconds"] for epoch in trace]
    for epoch, total in zip(trace, accumulate(seconds), strict=True):
        epoch["seconds"] = total
    return {"epoch_seconds": statistics.median(seconds), "trace": trace}


def typical_iteration(trace: list[Answer]) -> float:
    """Median seconds of an iteration, leaving out the first, which also sets up the optimiser."""
    return statistics.median(b["seconds"] - a["seconds"] for a, b in pairwise(trace))


def crfsuite_features(columns: str) -> Answer:
    """A plain script: columns to attributes in Python, then append."""
    import pycrfsuite

    start = clock()
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    attributes = 0
    for sentence in read_columns(Path(columns)):
        xs = sentence_attributes(sentence)
        attributes += sum(map(len, xs))
        trainer.append(xs, [row[-1] for row in sentence])
    return {"seconds": clock() - start, "attributes": attributes}


def crfsuite_tag(model: str, columns: str, repeats: int) -> Answer:
    """Tags with attributes ready in CRFsuite's own form, and from columns with Python's extraction."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    sentences = list(read_columns(Path(columns)))
    ready = [pycrfsuite.ItemSequence(sentence_attributes(sentence)) for sentence in sentences]
    extracted, whole = [], []
    for _ in range(repeats):
        start = clock()
        for xs in ready:
            tagger.tag(xs)
        extracted.append(clock() - start)
        start = clock()
        for sentence in read_columns(Path(columns)):
            tagger.tag(sentence_attributes(sentence))
        whole.append(clock() - start)
    tokens = sum(map(len, sentences))
    return {
        "tokens": tokens,
        "tokens_per_second": tokens / statistics.median(extracted),
        "tokens_per_second_columns": tokens / statistics.median(whole),
    }


def crfsuite_open(model: str, repeats: int) -> Answer:
    """Opens the model again and again."""
    import pycrfsuite

    def once() -> None:
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        tagger.close()

    return {"seconds": median_seconds(once, repeats)}


def median_seconds(once: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = clock()
        once()
        seconds.append(clock() - start)
    return statistics.median(seconds)


class TimedObjective:
    """Passes everything on to an objective and notes the seconds of each evaluation."""

    def __init__(self, objective: Any) -> None:
        self.objective = objective
        self.n_features: int = objective.n_features
        self.n_samples: int = objective.n_samples
        self.n_threads: int = objective.n_threads
        self.seconds: list[float] = []

    def value_and_gradient(self, w: Any, out: Any = None) -> Any:
        """Value and gradient at w."""
        start = clock()
        result = self.objective.value_and_gradient(w, out)
        self.seconds.append(clock() - start)
        return result


def loglinear_train(train: str, l1: float, l2: float, threads: int, max_iterations: int) -> Answer:
    """Trains with L-BFGS, or OWL-QN when l1 > 0; seconds count from the start of the optimisation."""
    from loglinear import ChainObjective, Corpus
    from loglinear.minimize import Stop, minimize
    from loglinear.penalty import ElasticNet
    from loglinear.problem import Problem
    from loglinear.solvers import make_solver

    start = clock()
    corpus = Corpus.read(train, format="crfsuite", threads=threads)
    prepare = clock()
    objective = TimedObjective(ChainObjective(corpus, threads=threads))
    prepared = clock()
    solver = make_solver("owlqn" if l1 > 0 else "lbfgs", tolerance=1e-9)
    problem = Problem(objective, ElasticNet(l1=l1, l2=l2))
    result = minimize(problem, solver, stop=Stop(max_iterations=max_iterations))
    names = ("iteration", "seconds", "objective", "nnz", "gradient_evaluations")
    trace = [{name: getattr(record, name) for name in names} for record in result.trace]
    steps = trace[-1]["seconds"] - trace[0]["seconds"]
    evaluations = sum(objective.seconds[trace[0]["gradient_evaluations"] :])
    return {
        "n_features": objective.n_features,
        "read_seconds": prepare - start,
        "prepare_seconds": prepared - prepare,
        "gradient_seconds": statistics.median(objective.seconds),
        "iteration_seconds": typical_iteration(trace),
        "solver_share": 1 - evaluations / steps,
        "trace": trace,
    }


def loglinear_auto(train: str, l1: float, l2: float, threads: int, seconds: float, tolerance: float) -> Answer:
    """Trains with `auto`, to a tolerance; seconds count from the start of the optimisation."""
    from loglinear import ChainObjective, Corpus
    from loglinear.minimize import Stop, minimize
    from loglinear.penalty import ElasticNet
    from loglinear.problem import Problem
    from loglinear.solvers import Auto

    objective = ChainObjective(Corpus.read(train, format="crfsuite", threads=threads), threads=threads)
    problem = Problem(objective, ElasticNet(l1=l1, l2=l2))
    result = minimize(problem, Auto(tolerance=tolerance), stop=Stop(max_seconds=seconds))
    names = ("iteration", "seconds", "objective", "nnz", "gradient_evaluations")
    trace = [{name: getattr(record, name) for name in names} for record in result.trace]
    return {"chosen": result.chosen, "trace": trace}


def loglinear_epochs(train: str, l1: float, l2: float, epochs: int) -> Answer:
    """Passes of SGD-L1, and evaluations of value and gradient, on one thread."""
    import numpy as np

    from loglinear import ChainObjective, Corpus
    from loglinear.penalty import ElasticNet
    from loglinear.problem import Problem
    from loglinear.solvers import SGDL1

    objective = ChainObjective(Corpus.read(train, format="crfsuite", threads=1), threads=1)
    problem, solver = Problem(objective, ElasticNet(l1=l1, l2=l2)), SGDL1(learning_rate=0.2, passes=epochs + 1)
    w, gradient = np.zeros((2, objective.n_features))
    state = solver.step(problem, solver.init(problem, w))  # lays out what later passes find ready
    evaluation = median_seconds(lambda: objective.value_and_gradient(w, gradient), epochs)
    seconds = []
    for _ in range(epochs):
        start = clock()
        state = solver.step(problem, state)
        seconds.append(clock() - start)
    return {"epoch_seconds": statistics.median(seconds), "gradient_seconds": evaluation}


def loglinear_sag(train: str, l2: float, passes: int) -> Answer:
    """Trains with SAG-NUS* on one thread."""
    from loglinear import ChainObjective, Corpus
    from loglinear.minimize import Stop, minimize
    from loglinear.penalty import ElasticNet
    from loglinear.problem import Problem
    from loglinear.solvers import SAG

    objective = ChainObjective(Corpus.read(train, format="crfsuite", threads=1), threads=1)
    problem = Problem(objective, ElasticNet(l2=l2))
    result = minimize(problem, SAG(tolerance=0.0), stop=Stop(max_iterations=passes))
    names = ("iteration", "passes", "seconds", "objective")
    return {"trace": [{name: getattr(record, name) for name in names} for record in result.trace]}


def loglinear_steps(train: str, l2: float, passes: int) -> Answer:
    """Steps of SAG, as it comes, over steps of SGD-L1 on the same samples, on one thread, pass by pass."""
    import numpy as np

    from loglinear import ChainObjective, Corpus
    from loglinear.penalty import ElasticNet
    from loglinear.problem import Problem
    from loglinear.solvers import SAG

    objective = ChainObjective(Corpus.read(train, format="crfsuite", threads=1), threads=1)
    n, lam = objective.n_samples, l2 / objective.n_samples
    solver = SAG()
    state = solver.init(Problem(objective, ElasticNet(l2=l2)), np.zeros(objective.n_features))
    memory = (state.w, state.d, state.gradients, state.lipschitz, state.seen, state.pauses)
    w, q = np.zeros((2, objective.n_features))
    view = objective.per_sample()
    ratios = []
    for number in range(passes):
        draws = np.random.default_rng(number).random((n, 2))
        draws[:, 0] = 0.0  # all of them from the half that is uniform
        visits, rates = (draws[:, 1] * n).astype(np.int64), np.full(n, 0.1)
        start = clock()
        view.sag_pass(*memory, draws=draws, sampling=solver.sampling, saga=False, l1=0.0, l2=lam)
        middle = clock()
        view.sgd_l1_pass(w, q, 0.0, visits=visits, rates=rates, l1=0.0, l2=lam, penalty="cumulative")
        ratios.append((middle - start) / (clock() - middle))
    # In the first passes the searches look for constants of which nothing is known yet.
    return {"ratio": statistics.median(ratios[passes // 4 :])}


def loglinear_features(columns: str, threads: int) -> Answer:
    """Columns to encoded data with the `chunking` preset, all in the library."""
    from loglinear import Corpus
    from loglinear.data.templates import preset

    template = preset("chunking")
    start = clock()
    Corpus.read(columns, format="columns", template=template, threads=threads)
    return {"seconds": clock() - start}


def loglinear_open(model: str, repeats: int) -> Answer:
    """Opens the model again and again."""
    from loglinear import ChainCRF

    return {"seconds": median_seconds(lambda: ChainCRF.load(model), repeats)}


TASKS: dict[str, Callable[..., Answer]] = {
    task.__name__: task
    for task in (
        crfsuite_train,
        crfsuite_epochs,
        crfsuite_features,
        crfsuite_tag,
        crfsuite_open,
        loglinear_train,
        loglinear_auto,
        loglinear_epochs,
        loglinear_sag,
        loglinear_steps,
        loglinear_features,
        loglinear_open,
    )
}


def main() -> None:
    answer = TASKS[sys.argv[1]](**json.loads(sys.argv[2]))
    print(json.dumps({"peak_bytes": peak_bytes(), **answer}))


if __name__ == "__main__":
    main()
