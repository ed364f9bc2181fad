"""The papers' tasks: data, features and score of each, and the runs that the scripts make."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import ChainFeatures, ChainObjective, Corpus, ElasticNet
from loglinear.metrics import evaluate
from loglinear.minimize import Callback, Stop, minimize
from loglinear.problem import Problem
from loglinear.solvers import OWLQN

HELD_OUT = 1000
LIMIT = Stop(max_iterations=3000)
STRENGTHS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)

Sentence = list[tuple[str, ...]]


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


def columns(path: Path) -> list[Sentence]:
    """Sentences of a column file; lines of document marks are left out."""
    sentences: list[Sentence] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split()
        if not cells:
            sentences.append([])
        elif not cells[0].startswith(("-DOCSTART-", "###MEDLINE")):
            sentences[-1].append(tuple(cells))
    return [sentence for sentence in sentences if sentence]


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
        Task(
            "jnlpba2004",
            "ner",
            lambda d: (columns(d / "jnlpba2004/Genia4ERtask1.iob2"), columns(d / "jnlpba2004/Genia4EReval1.iob2")),
        ),
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


class Data:
    """A task's corpora and the objective of its training data.

    Args:
        task: which.
        size: most training sentences; None for all.
        threads: 0 for all cores.
    """

    def __init__(self, task: Task, size: int | None, threads: int) -> None:
        self.task, self.threads = task, threads
        if "LOGLINEAR_DATA" not in os.environ:
            message = "set the environment variable LOGLINEAR_DATA to the folder of the corpora"
            raise SystemExit(message)
        train, test = task.read(Path(os.environ["LOGLINEAR_DATA"]))
        order = np.random.default_rng(0).permutation(len(train))[:size]
        self.train = self._encode([train[i] for i in order])
        self.test = self._encode(test)
        self.objective = self.objective_of(self.train)

    def _encode(self, sentences: list[Sentence]) -> Corpus:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
            for sentence in sentences:
                file.writelines("\t".join(token) + "\n" for token in sentence)
                file.write("\n")
            file.flush()
            form = "columns" if self.task.preset else "crfsuite"
            return Corpus.read(file.name, format=form, template=self.task.preset, threads=self.threads)

    def objective_of(self, corpus: Corpus) -> ChainObjective:
        """The objective on some sentences, with the task's selection of their features."""
        return ChainObjective(corpus, ChainFeatures(**self.task.selection), threads=self.threads)

    def problem(self, l1: float = 0.0, l2: float = 0.0) -> Problem:
        """The training objective with a penalty."""
        return Problem(self.objective, ElasticNet(l1=l1, l2=l2))

    def score(self, w: Any) -> tuple[float, dict[str, float]]:
        """F1 (of words, where the task is to find them) or accuracy on the test data, in per cent; F1 of each type."""
        gold = self.test.gold()
        predicted = self.objective.model(w).predict(self.test.core, threads=self.threads)
        if self.task.score == "words":
            gold, predicted = ([[_word(tag) for tag in tags] for tags in each] for each in (gold, predicted))
        scores = evaluate(gold, predicted)
        overall = scores.accuracy if self.task.score == "accuracy" else scores.f1
        return 100.0 * (overall or 0.0), {name: 100.0 * score["f1"] for name, score in scores.per_type.items()}

    def best_strength(self) -> float:
        """C by the log-likelihood of held-out training sentences, OWL-QN's model being asked (tsuruoka2009, 4.1)."""
        held = min(HELD_OUT, len(self.train) // 5)
        rest, dev = self.train[held:], self.train[:held]
        objective = self.objective_of(rest)
        likelihood = {}
        w = None
        for l1 in reversed(STRENGTHS):  # from strong to weak, each from the weights before
            result = minimize(Problem(objective, ElasticNet(l1=l1)), OWLQN(tolerance=1e-3), w)
            w = result.w
            model = objective.model(w)
            likelihood[l1] = sum(score - z for z, score in model.log_partition(dev.core, threads=self.threads))
        return max(likelihood, key=lambda l1: likelihood[l1])


def options(
    description: str | None, tasks: list[str], quick: str = "2,000 sentences of each task: two minutes"
) -> argparse.ArgumentParser:
    """The arguments that all scripts take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--tasks", nargs="+", choices=tasks, default=tasks)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", help="write the rows with their curves to this file")
    parser.add_argument("--figures", help="write SVG figures to this folder")
    return parser


def prepared(arguments: argparse.Namespace) -> Iterator[tuple[str, Data, float]]:
    """Name, data and C of each task asked for."""
    for name in arguments.tasks:
        data = Data(TASKS[name], 2000 if arguments.quick else None, arguments.threads)
        l1 = 1.0 if arguments.quick else data.best_strength()
        print(f"{name}: {len(data.train):,} sentences, {data.objective.n_features:,} candidate features, C = {l1:g}")
        yield name, data, l1


def _word(tag: str) -> str:
    return "B-W" if tag in ("B", "S") else "I-W"


def run(
    data: Data,
    problem: Problem,
    name: str,
    solver: Any,
    *,
    stop: Stop = LIMIT,
    callbacks: Sequence[Callback] = (),
    **about: Any,
) -> dict[str, Any]:
    """Train and score; a row of the table with its curves."""
    result = minimize(problem, solver, stop=stop, callbacks=callbacks)
    records = result.trace
    score, types = data.score(result.w)
    row = {
        "task": data.task.name,
        "method": name,
        "passes": result.passes,
        "iterations": result.iterations,
        "objective": result.objective,
        "per_sample": -result.objective / data.objective.n_samples,
        "features": records[-1].nnz,
        "candidates": data.objective.n_features,
        "seconds": result.seconds,
        "score": score,
        "types": types,
        "status": result.status.name,
        "l1": problem.penalty.l1,
        "l2": problem.penalty.l2,
        **about,
        "curve": [[r.passes, r.seconds, r.objective, r.nnz] for r in records],
    }
    print(
        f"{data.task.name:11s} {name:34s} passes {row['passes']:6.1f}  objective {row['objective']:12.1f}  features "
        f"{row['features']:9,}  {row['seconds']:8.1f} s  score {row['score']:6.2f}  {row['status']}",
        flush=True,
    )
    return row
