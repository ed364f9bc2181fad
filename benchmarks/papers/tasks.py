"""The papers' tasks: data, features and score of each, and the runs that the scripts make."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from clock import Clocked, minimised
from findings import Findings
from genia import with_columns
from sentences import Sentence, columns, encoded

from loglinear import ChainFeatures, ChainObjective, Corpus, ElasticNet
from loglinear.metrics import evaluate
from loglinear.minimize import Callback, Stop
from loglinear.problem import Problem
from loglinear.solvers import OWLQN, SGDL1, tune_learning_rate

HELD_OUT = 1000
LIMIT = Stop(max_iterations=3000)
# Where the search for C begins; it goes on in powers of two while an end is the best.
STRENGTHS = (0.5, 1.0, 2.0)
LEAST_STRENGTH, MOST_STRENGTH = 2.0**-10, 2.0**10
DECAYS = (0.9, 0.85, 0.8)
# The optimiser of Andrew & Gao (2007) as Tsuruoka et al. (4.1) and Zhou et al. (4.1) ran it.
PAPERS_OWLQN = OWLQN(tolerance=1e-4, memory=10, window=1)


@dataclass(frozen=True)
class Task:
    """Data of a table: what to read, with which preset, and what to score.

    Without a preset a token is its label and its attributes. ``selection`` says which features there are: options of
    the native objective.
    """

    name: str
    preset: str | None
    read: Callable[[Path], tuple[list[Sentence], list[Sentence]]]
    score: str = "f1"
    selection: Mapping[str, Any] = field(default_factory=dict)


def six_tags(lines: Iterable[str]) -> Iterator[Sentence]:
    """Characters with the tags B, B2, B3, M, E, S of Zhou et al. (2011), section 4.1, from words between spaces."""
    for line in lines:
        sentence: Sentence = []
        for word in line.split():
            inside = ["B", "B2", "B3"] + ["M"] * len(word)
            tags = ["S"] if len(word) == 1 else [*inside[: len(word) - 1], "E"]
            sentence.extend(zip(word, tags, strict=True))
        if sentence:
            yield sentence


def read_jnlpba(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    folder = data / "jnlpba2004"
    return columns(folder / "Genia4ERtask1.iob2"), columns(folder / "Genia4EReval1.iob2")


def words(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig").splitlines()


def read_pku(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    """Train on PFR 199801, test on SIGHAN 2005 PKU; sentences of the test set are taken out of the training set.

    One has full-width digits and letters and the other those of ASCII: both get the latter.
    """
    narrow = {0xFEE0 + code: chr(code) for code in range(0x21, 0x7F) if chr(code).isalnum()}
    test = [line.translate(narrow) for line in words(data / "sighan2005-pku/pku_test_gold.utf8")]
    seen = {"".join(line.split()) for line in test}
    every = (line.translate(narrow) for line in words(data / "pfr199801/words.txt"))
    train = [line for line in every if "".join(line.split()) not in seen]
    return list(six_tags(train)), list(six_tags(test))


def read_sxu(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    folder = data / "sighan2008-sxu"
    return list(six_tags(words(folder / "train.txt"))), list(six_tags(words(folder / "test.txt")))


def read_letters(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    """Words of handwritten letters: the letter, then the pixels that are set. Fold 0 is for testing."""
    sets: tuple[list[Sentence], list[Sentence]] = ([], [])
    sentence: Sentence = []
    for line in words(data / "ocr-letters/letter.data"):
        _, letter, following, _, _, fold, *pixels = line.split()
        sentence.append((letter, *(f"p{at}" for at, pixel in enumerate(pixels) if pixel == "1")))
        if following == "-1":
            sets[fold == "0"].append(sentence)
            sentence = []
    return sets


TASKS = {
    task.name: task
    for task in (
        Task(
            "conll2000", "chunking", lambda d: (columns(d / "conll2000/train.txt"), columns(d / "conll2000/test.txt"))
        ),
        Task("jnlpba2004", "ner", read_jnlpba),
        Task("jnlpba2004-tagged", "ner-pos-chunk", lambda d: with_columns(d, read_jnlpba(d))),
        Task(
            "masc-pos",
            "pos",
            lambda d: (columns(d / "masc-pos/train.txt"), columns(d / "masc-pos/test.txt")),
            "accuracy",
        ),
        Task(
            "conll2002-dutch",
            "ner",
            lambda d: (columns(d / "conll2002-dutch/ned.train"), columns(d / "conll2002-dutch/ned.testb")),
        ),
        Task("ocr-letters", None, read_letters, "accuracy"),
        Task("pku", "segmentation", read_pku, "words"),
        Task("sxu", "segmentation", read_sxu, "words"),
        Task(
            "msra-ner",
            "ner-characters",
            lambda d: (columns(d / "msra-ner/train_data"), columns(d / "msra-ner/test_data")),
        ),
    )
}


def folder() -> Path:
    """The folder of the corpora."""
    if "LOGLINEAR_DATA" not in os.environ:
        message = "set the environment variable LOGLINEAR_DATA to the folder of the corpora"
        raise SystemExit(message)
    return Path(os.environ["LOGLINEAR_DATA"])


class Data:
    """A task's corpora and the objective of its training data, which are loaded when a row has to be made.

    Args:
        findings: which keeps the numbers of samples and of features.
        task: which.
        size: most training sentences; None for all.
        threads: 0 for all cores.

    Attributes:
        samples: training sentences.
        candidates: features of the objective.
    """

    def __init__(self, findings: Findings, task: Task, size: int | None, threads: int) -> None:
        self.task, self.size, self.threads = task, size, threads

        def counted() -> dict[str, int]:
            return {"samples": self.objective.n_samples, "candidates": self.objective.n_features}

        found = findings.made({"task": task.name, "what": "data", "size": size}, counted)
        self.samples, self.candidates = int(found["samples"]), int(found["candidates"])

    @cached_property
    def corpora(self) -> tuple[Corpus, Corpus]:
        """For training and for testing."""
        train, test = self.task.read(folder())
        order = np.random.default_rng(0).permutation(len(train))[: self.size]
        return encoded([train[i] for i in order], self.task.preset), encoded(test, self.task.preset)

    @property
    def train(self) -> Corpus:
        """The training data."""
        return self.corpora[0]

    @property
    def test(self) -> Corpus:
        """The test data."""
        return self.corpora[1]

    @cached_property
    def objective(self) -> ChainObjective:
        """That of the training data."""
        return self.objective_of(self.train)

    def objective_of(self, corpus: Corpus) -> ChainObjective:
        """The objective on some sentences, with the task's selection of their features."""
        return ChainObjective(corpus, ChainFeatures(**self.task.selection), threads=self.threads)

    def problem(self, l1: float = 0.0, l2: float = 0.0) -> Problem:
        """The training objective with a penalty."""
        return Problem(self.objective, ElasticNet(l1=l1, l2=l2))

    def score(self, w: Any, corpus: Corpus | None = None) -> tuple[float, dict[str, float]]:
        """F1 (of words, where the task is to find them) or accuracy, in per cent; F1 of each type.

        Args:
            w: weights.
            corpus: to be labelled; None for the test data.
        """
        corpus = corpus or self.test
        gold = corpus.gold()
        predicted = self.objective.model(w).predict(corpus.core, threads=self.threads)
        if self.task.score == "words":
            gold, predicted = ([[_word(tag) for tag in tags] for tags in each] for each in (gold, predicted))
        scores = evaluate(gold, predicted)
        overall = scores.accuracy if self.task.score == "accuracy" else scores.f1
        return 100.0 * (overall or 0.0), {name: 100.0 * score["f1"] for name, score in scores.per_type.items()}

    def log_likelihood(self, model: Any, corpus: Corpus) -> float:
        """Of the labels of a corpus, nats."""
        return float(sum(score - z for z, score in model.log_partition(corpus.core, threads=self.threads)))

    def held_out(self, findings: Findings) -> dict[float, float]:
        """Log-likelihood of held-out training sentences by C, the grid continued while an end is the best.

        Source: Tsuruoka et al. (2009), section 4.1: 1,000 sentences, OWL-QN's model of the others, trained from zero at
        each C to a tolerance of 1e-4.
        """

        @cache
        def split() -> tuple[Corpus, ChainObjective]:
            held = min(HELD_OUT, self.samples // 5)
            return self.train[:held], self.objective_of(self.train[held:])

        def trained(l1: float) -> dict[str, Any]:
            dev, objective = split()
            result = minimised(Problem(objective, ElasticNet(l1=l1)), PAPERS_OWLQN, stop=LIMIT)
            likelihood = self.log_likelihood(objective.model(result.w), dev)
            return {"likelihood": likelihood, "features": result.trace[-1].nnz, "iterations": result.iterations}

        def likelihood(l1: float) -> float:
            wanted = {"task": self.task.name, "what": "strength", "l1": l1, "samples": self.samples}
            row = findings.made(wanted, lambda: trained(l1))
            findings.say(f"{self.task.name}: C = {l1:g}, held-out log-likelihood {row['likelihood']:.1f}")
            return float(row["likelihood"])

        return continued(STRENGTHS, likelihood)

    def tuned(self, findings: Findings, l1: float, **options: Any) -> SGDL1:
        """SGD with the eta_0, then the alpha, that reach the lowest objective in its passes (tsuruoka2009, 4.1)."""
        decays = DECAYS if options.get("schedule") != "inverse" else ()

        def rates() -> dict[str, Any]:
            solver = tune_learning_rate(self.problem(l1), SGDL1(**options), decays=decays, sample=None)
            return {"learning_rate": solver.learning_rate, "decay": solver.decay}

        wanted = {"task": self.task.name, "what": "rates", "l1": l1, "samples": self.samples, "options": options}
        found = findings.made(wanted, rates)
        return SGDL1(learning_rate=found["learning_rate"], decay=found["decay"], **options)


def continued(grid: Sequence[float], judged: Callable[[float], float]) -> dict[float, float]:
    """The judgement of each strength of a grid, and of halves or doubles of its end while that has the highest."""
    found = {l1: judged(l1) for l1 in sorted(grid, reverse=True)}
    while True:
        best = max(found, key=lambda l1: found[l1])
        if best == min(found) and best > LEAST_STRENGTH:
            found[best / 2] = judged(best / 2)
        elif best == max(found) and best < MOST_STRENGTH:
            found[2 * best] = judged(2 * best)
        else:
            return dict(sorted(found.items()))


def options(
    description: str | None, tasks: list[str], quick: str | None = "2,000 sentences of each task: two minutes"
) -> argparse.ArgumentParser:
    """The arguments that all scripts take; ``quick`` is the help of ``--quick``, None for a script without it."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--tasks", nargs="+", choices=tasks, default=tasks)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="keep the rows with their curves in this file; what is there is not run again")
    parser.add_argument("--figures", help="write figures to this folder, and tables into the page there")
    return parser


def prepared(arguments: argparse.Namespace, findings: Findings) -> Iterator[tuple[str, Data, float]]:
    """Name, data and C of each task asked for."""
    for name in arguments.tasks:
        data = Data(findings, TASKS[name], 2000 if arguments.quick else None, arguments.threads)
        found = data.held_out(findings)
        l1 = max(found, key=lambda l1: found[l1])
        lines = [["held-out log-likelihood", *(f"{likelihood:,.1f}" for likelihood in found.values())]]
        findings.table(f"C, {name}", ["C", *(f"**{x:g}**" if x == l1 else f"{x:g}" for x in found)], lines)
        findings.say(f"{name}: {data.samples:,} sentences, {data.candidates:,} candidate features, C = {l1:g}")
        yield name, data, l1


def _word(tag: str) -> str:
    return "B-W" if tag in ("B", "S") else "I-W"


def run(
    findings: Findings,
    data: Data,
    name: str,
    solver: Any,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    stop: Stop = LIMIT,
    callbacks: Callable[[Clocked], Sequence[Callback]] = lambda clocked: (),
    **about: Any,
) -> dict[str, Any]:
    """Train and score; a row of the table with its curve: passes, seconds of the processor, objective, active features.

    Args:
        findings: which keeps the row.
        data: of the task.
        name: of the method.
        solver: of the method.
        l1: the L1 penalty.
        l2: the L2 penalty.
        stop: limits.
        callbacks: makers of callbacks, from the solver with its clock.
        about: what else tells the row from others.
    """

    def trained() -> dict[str, Any]:
        clocked = Clocked(solver)
        watching = (clocked.look, *callbacks(clocked))
        result = minimised(data.problem(l1, l2), clocked, stop=stop, callbacks=watching)
        score, types = data.score(result.w)
        return {
            "passes": result.passes,
            "iterations": result.iterations,
            "evaluations": result.gradient_evaluations,
            "objective": result.objective,
            "per_sample": -result.objective / data.samples,
            "features": result.trace[-1].nnz,
            "candidates": data.candidates,
            "seconds": clocked.seconds,
            "score": score,
            "types": types,
            "status": result.status.name,
            "learning_rate": getattr(solver, "learning_rate", None),
            "decay": getattr(solver, "decay", None),
            "curve": clocked.points,
            **clocked.kept,
        }

    wanted = {"task": data.task.name, "what": "run", "method": name, "l1": l1, "l2": l2, "samples": data.samples}
    row = findings.made(wanted | about, trained)
    findings.say(
        f"{data.task.name:11s} {name:34s} passes {row['passes']:6.1f}  objective {row['objective']:12.1f}  features "
        f"{row['features']:9,}  {row['seconds']:8.1f} s  score {row['score']:6.2f}  {row['status']}"
    )
    return row
