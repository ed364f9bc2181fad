"""Parts of speech and chunks for JNLPBA 2004, by taggers of our own.

Tsuruoka et al. (2009), section 4.2, took both columns from the GENIA tagger. Here a tagger of parts of speech is
trained on MASC, and a chunker on CoNLL-2000, whose parts of speech are that tagger's as well: it then sees in training
what it sees later.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from clock import minimised
from sentences import Sentence, columns, encoded

from loglinear import ChainObjective, ElasticNet, Problem, TwoStage

# C of both taggers: the best of the grid on held-out sentences (docs/papers/tsuruoka2009.md).
POS_STRENGTH, CHUNK_STRENGTH = 0.5, 1.0


def with_columns(data: Path, sets: tuple[list[Sentence], list[Sentence]]) -> tuple[list[Sentence], list[Sentence]]:
    """Sentences of word and label with a part of speech and a chunk between the two."""
    pos = tagger(columns(data / "masc-pos/train.txt"), "pos", POS_STRENGTH)
    chunking = [_without_label(sentence) for sentence in columns(data / "conll2000/train.txt")]
    chunks = [[cells[-1] for cells in sentence] for sentence in columns(data / "conll2000/train.txt")]
    tagged = _beside(chunking, pos(chunking))
    chunk = tagger(_beside(tagged, chunks), "chunking", CHUNK_STRENGTH)

    def tags(sentences: list[Sentence]) -> list[Sentence]:
        words = [[cells[:1] for cells in sentence] for sentence in sentences]
        with_pos = _beside(words, pos(words))
        with_both = _beside(with_pos, chunk(with_pos))
        return _beside(with_both, [[cells[-1] for cells in sentence] for sentence in sentences])

    return tags(sets[0]), tags(sets[1])


def tagger(sentences: list[Sentence], preset: str, l1: float) -> Callable[[list[Sentence]], list[list[str]]]:
    """A tagger, trained on sentences whose last column is the label, for sentences without it."""
    objective = ChainObjective(encoded(sentences, preset))
    w = minimised(Problem(objective, ElasticNet(l1=l1)), TwoStage()).w
    model: Any = objective.model(w)

    def labels(without: list[Sentence]) -> list[list[str]]:
        unknown = [[(*cells, "O") for cells in sentence] for sentence in without]
        return list(model.predict(encoded(unknown, preset).core))

    return labels


def _without_label(sentence: Sentence) -> Sentence:
    return [cells[:1] for cells in sentence]


def _beside(sentences: list[Sentence], tags: list[list[str]]) -> list[Sentence]:
    return [
        [(*cells, tag) for cells, tag in zip(sentence, row, strict=True)]
        for sentence, row in zip(sentences, tags, strict=True)
    ]
