"""The data on which Zhu, Lao & Xing (2010) select features: synthetic sequences, noun phrases of CoNLL-2000."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from findings import Findings
from sentences import Sentence, columns
from tasks import Data, Task

from loglinear import Corpus, datasets

# "Supporting feature functions whose predicate is on at least once": such a predicate with all labels and pairs.
SUPPORTING = {"all_states": True, "all_transitions": True}
SYNTHETIC, CHUNKING, PART = "synthetic", "np-chunking", "np-chunking-500"
PART_SENTENCES = 500
INSTANCES, TRAINING = 5000, 3000
QUICK = {SYNTHETIC: 1000, CHUNKING: 500, PART: 200}


def noun_phrases(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    """CoNLL-2000 with the labels of noun phrases alone."""

    def read(path: Path) -> list[Sentence]:
        return [[(word, pos, _plain(label)) for word, pos, label in sentence] for sentence in columns(path)]

    return read(data / "conll2000/train.txt"), read(data / "conll2000/test.txt")


def _plain(label: str) -> str:
    return label if label.endswith("-NP") else "O"


class Sequences(Data):
    """The synthetic data of section 6.1.1; three fifths of the instances are for training."""

    @cached_property
    def corpora(self) -> tuple[Corpus, Corpus]:
        """For training and for testing."""
        size = self.size or INSTANCES
        sample, split = datasets.make_chain(size), size * TRAINING // INSTANCES
        return sample.corpus(slice(split)), sample.corpus(slice(split, None))


def data_of(findings: Findings, task: str, quick: bool, threads: int) -> Data:
    """The data of a task.

    Args:
        findings: which keeps the numbers of samples and of features.
        task: its name.
        quick: for a fifth of the instances, or few sentences.
        threads: 0 for all cores.
    """
    size = QUICK[task] if quick else PART_SENTENCES if task == PART else None
    if task == SYNTHETIC:
        return Sequences(findings, Task(SYNTHETIC, None, noun_phrases, "accuracy"), size, threads)
    return Data(findings, Task(task, CHUNKING, noun_phrases, selection=SUPPORTING), size, threads)
