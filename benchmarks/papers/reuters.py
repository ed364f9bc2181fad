"""Reuters-21578 in the ModApte split, as Mathur & Chakrabarti (2010) use it: words, and one topic against the rest.

The paper has "about 7000 training documents and over d = 26000 raw word features" (section II-A-5), stop words and the
meta-word "digits" among them (III-A), but does not name the split nor say what a word is. Here a word is a run of
letters, which may have apostrophes inside, of a title or a body, in lower case; a run with a digit is the meta-word.
Training documents that have no topic are left out, as the README of the collection allows, which leaves 7,775 with
25,936 words. (All 9,603 have 28,734.) Test documents all stay, as it asks; words that are new in them are left out.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.special import rel_entr

DIGITS = "digits"
FILES = 22

# Documents of the split, as the README counts them, and those of some topics in either part. Two documents name a topic
# twice: who counts mentions finds 182 of corn in the training set and 118 of trade in the test set.
SIZES = {"train": 9603, "test": 3299}
TOPICS = {
    "earn": (2877, 1087),
    "acq": (1650, 719),
    "money-fx": (538, 179),
    "grain": (433, 149),
    "crude": (389, 189),
    "trade": (369, 117),
    "interest": (347, 131),
    "wheat": (212, 71),
    "ship": (197, 89),
    "corn": (181, 56),
    "gas": (37, 17),
}

_DOCUMENT = re.compile(
    r'<REUTERS TOPICS="YES" LEWISSPLIT="(TRAIN|TEST)"[^>]*>'
    r".*?<TOPICS>(.*?)</TOPICS>.*?<TEXT[^>]*>(.*?)</TEXT>\s*</REUTERS>",
    re.DOTALL,
)
_PART = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class Document:
    """Title and body of a document, or all its text where these are not marked, and its topics, if it has any."""

    text: str
    topics: tuple[str, ...]

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, in lower case; all that have digits are one."""
        return frozenset(DIGITS if _DIGIT.search(word) else word for word in _WORD.findall(self.text.lower()))


@dataclass(frozen=True)
class Part:
    """Documents of the training or the test set: X[i, j] is 1 if word j appears in document i, else 0."""

    X: csr_array
    topics: tuple[tuple[str, ...], ...]

    def one_vs_rest(self, topic: str) -> np.ndarray:
        """1 for the documents with the topic, 0 for the rest."""
        return np.array([topic in topics for topics in self.topics], dtype=np.int64)

    def most_frequent(self, count: int = 9) -> list[str]:
        """The topics of most documents, from the most frequent on."""
        return [topic for topic, _ in Counter(topic for topics in self.topics for topic in topics).most_common(count)]


@dataclass(frozen=True)
class Reuters:
    """Both parts, with a column for each word of the training set, in alphabetical order."""

    train: Part
    test: Part
    words: tuple[str, ...]


def read(data: Path) -> dict[str, list[Document]]:
    """The documents of the ModApte split, train and test; their numbers are checked.

    Raises:
        ValueError: a file is missing, or the documents, or those of a topic, are not as many as they should be.
    """
    paths = sorted((data / "reuters21578").glob("reut2-*.sgm"))
    if len(paths) != FILES:
        message = f"{data / 'reuters21578'} has {len(paths)} files reut2-*.sgm, not {FILES}"
        raise ValueError(message)
    documents: dict[str, list[Document]] = {part: [] for part in SIZES}
    for path in paths:
        for part, topics, text in _DOCUMENT.findall(path.read_text(encoding="latin-1")):
            marked = "\n".join(inside for _, inside in _PART.findall(text)) or text
            names = dict.fromkeys(re.findall("<D>(.*?)</D>", topics))
            documents[part.lower()].append(Document(html.unescape(marked), tuple(names)))
    found = {part: len(documents[part]) for part in SIZES}
    counts = [Counter(topic for document in documents[part] for topic in document.topics) for part in SIZES]
    wrong = {topic: pair for topic in TOPICS if (pair := (counts[0][topic], counts[1][topic])) != TOPICS[topic]}
    if found != SIZES or wrong:
        message = f"not the ModApte split: {found} documents instead of {SIZES}; wrong numbers of topics: {wrong}"
        raise ValueError(message)
    return documents


def load(data: Path, *, without_topics: bool = False) -> Reuters:
    """Words and topics of both parts.

    Args:
        data: the folder of the corpora.
        without_topics: keep the training documents that have no topic.
    """
    documents = read(data)
    train = [document for document in documents["train"] if document.topics or without_topics]
    words = tuple(sorted(frozenset().union(*(document.words for document in train))))
    return Reuters(_part(train, words), _part(documents["test"], words), words)


def _part(documents: Sequence[Document], words: Sequence[str]) -> Part:
    number = {word: j for j, word in enumerate(words)}
    rows = [sorted(number[word] for word in document.words if word in number) for document in documents]
    start = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    columns = np.fromiter((j for row in rows for j in row), dtype=np.int32, count=int(start[-1]))
    X = csr_array((np.ones(len(columns)), columns, start), shape=(len(rows), len(number)))
    return Part(X, tuple(document.topics for document in documents))


def most_informative(X: csr_array, y: np.ndarray, count: int = 500) -> np.ndarray:
    """The columns with the largest mutual information with the class (sections II-A-5 and III-A), in ascending order.

    Args:
        X: of zeros and ones, shape (n_samples, n_features).
        y: of zeros and ones, shape (n_samples,); or (n_samples, n_classes) for several classes, whose information is
            summed, as documents may be of more than one.
        count: how many columns.
    """
    Y = np.reshape(y, (len(y), -1)).astype(np.float64)
    word, topic = X.sum(axis=0)[:, None] / len(Y), Y.mean(axis=0)
    both = X.T @ Y / len(Y)
    cells = (
        (both, word, topic),
        (word - both, word, 1.0 - topic),
        (topic - both, 1.0 - word, topic),
        (1.0 - word - topic + both, 1.0 - word, 1.0 - topic),
    )
    information = sum(rel_entr(joint.clip(min=0.0), p * q).sum(axis=1) for joint, p, q in cells)
    return np.sort(np.argsort(-information, kind="stable")[:count])
