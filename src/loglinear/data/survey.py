"""What labelled sentences consist of, and what is odd about them: shown after reading, checked before training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import DataError, DataWarning, warn
from ..visible import listed, shortened
from .alike import by_case, legible, lookalikes
from .column_layout import ColumnLayout
from .formats import is_format, n_columns, named, unknown_label
from .labels import are_real
from .lexicons import unmatched

if TYPE_CHECKING:
    from .corpus import Corpus

__all__ = ["Survey", "check_counts", "check_known", "names_of", "remedy_of_labels", "remedy_of_sentences"]

# Labels that a message names.
_NAMED = 5
# Fewest labels, and sentences of Python objects, whose distribution is worth a look.
_LABELS = 8
_SENTENCES = 10
# Most tokens of a single sentence of Python objects that may be an example.
_EXAMPLE = 100
# How often a label occurs for each token with a label that differs from it in case alone, if the other is a mistake.
_RARE = 5
# Formats of texts: a text per line, a file per text.
_TEXTS = ("text", "folder", "spacy:cats")


class Survey(NamedTuple):
    """What labelled sentences consist of, or labelled texts, each of which counts as a sentence and a token.

    Attributes:
        format: of the file; "python" for Python objects, "text" for texts, "folder" for texts that are files.
        n_sentences: number of sentences.
        n_tokens: number of tokens.
        n_attributes: number of different attributes, or words of texts.
        labels: distinct labels, the most frequent first.
        counts: number of tokens of each label, apart from tokens with a partial label; empty if not counted.
        is_repetitive: whether all sentences have the same attributes.
        columns: layout of the columns that a template formed attributes from, if there was one.
        n_read: number of columns that the template looks at, up to the last one; 0 if it is not known.
        unmatched: lexicons of the template in which no token is.
    """

    format: str
    n_sentences: int
    n_tokens: int
    n_attributes: int
    labels: tuple[str, ...]
    counts: tuple[int, ...] = ()
    is_repetitive: bool = False
    columns: ColumnLayout = ColumnLayout()
    n_read: int = 0
    unmatched: tuple[str, ...] = ()

    @classmethod
    def of(cls, corpus: Corpus) -> Survey:
        """Return the survey of a corpus. Cost: a pass over the labels, and over attributes if there are lexicons."""
        core = corpus.core
        return cls(
            corpus.format,
            len(corpus),
            corpus.n_tokens,
            corpus.n_attributes,
            tuple(core.labels),
            tuple(core.label_counts()),
            core.is_binary and core.is_repetitive,
            corpus.columns,
            0 if corpus.template is None else n_columns(corpus.template),
            tuple(unmatched(corpus.template, core.names)),
        )

    @classmethod
    def of_texts(cls, labels: Sequence[str | dict[str, float]], n_words: int, format: str = "text") -> Survey:
        """Return the survey of texts, by the label of each text, a dict if it is soft, and the number of words."""
        counted = Counter(label for label in labels if isinstance(label, str))
        counted.update(dict.fromkeys((name for label in labels if isinstance(label, dict) for name in label), 0))
        names, counts = zip(*counted.most_common(), strict=True)
        return cls(format, len(labels), len(labels), n_words, names, counts)

    @property
    def holds_texts(self) -> bool:
        """Whether the samples are texts."""
        return self.format in _TEXTS

    @property
    def nothing_to_learn(self) -> str | None:
        """The reason why no training can teach a model anything; None if there is no such reason."""
        if len(self.labels) != 1:
            return None
        data = "texts" if self.holds_texts else "data"
        reason = f"the {data} have a single label, {self.labels[0]!r}, so there is nothing to learn"
        return f"{reason}; {remedy_of_labels(self.format)}"

    def oddities(self) -> list[str]:
        """Return a message about each property of the data that suggests a mistake."""
        is_file = self.format != "python"
        messages = [] if self.nothing_to_learn is None else [self.nothing_to_learn]
        if self.n_sentences == 1 and (is_file or self.n_tokens > _EXAMPLE):
            messages.append(f"all {self.n_tokens:,} tokens are in one sentence; {remedy_of_sentences(self.format)}")
        elif self.is_repetitive and self.n_sentences >= (2 if is_file else _SENTENCES):
            messages.append(f"all {self.n_sentences:,} sentences have the same attributes; check the data")
        if self.n_tokens and not self.n_attributes:
            messages.append("no token has an attribute, so labels depend on their neighbours alone; check the data")
        for name in self.unmatched:
            remedy = "write its entries, and split them into words, as in the data, with a tab before a type"
            messages.append(f"no token is in the lexicon {name}; {remedy}")
        rare = [label for label, count in zip(self.labels, self.counts, strict=False) if count == 1]
        all_rare = is_file and len(rare) == len(self.labels) > 1
        are_rare = all_rare or (len(self.labels) >= _LABELS and 3 * len(rare) >= len(self.labels))
        if is_file and are_real(self.labels):
            messages.append(f"the labels are real numbers ({names_of(self.labels)}); {remedy_of_labels(self.format)}")
        elif are_rare:
            share = f"{len(rare):,} of {len(self.labels):,} labels"
            where = "check which column holds the labels" if self.format == "columns" else "check the labels"
            messages.append(f"{share} occur only once, such as {names_of(rare)}; {where}")
        messages += [f"{_alike(*pair)}; write them alike" for pair in lookalikes(self.labels)[:_NAMED]]
        return messages + self._by_case(are_rare=are_rare)

    def _by_case(self, *, are_rare: bool) -> list[str]:
        """Return a message about each pair of labels that differ only in case, or one about many."""
        counts = dict(zip(self.labels, self.counts, strict=False))
        pairs = [
            (label, other)
            for label, other in by_case(self.labels)
            if _RARE * counts.get(other, 0) <= counts.get(label, 0)
        ]
        if len(pairs) > _NAMED:
            if are_rare:  # words, probably, and a message says so
                return []
            shown = ", ".join(f"{label!r} and {other!r}" for label, other in pairs[:2])
            return [f"{len(pairs):,} pairs of labels differ only in case, such as {shown}; write them alike"]
        return [f"the labels {label!r} and {other!r} differ only in case; write them alike" for label, other in pairs]


def check_known(corpus: Corpus, labels: Collection[str], name: str, *, least: float = 0.1) -> None:
    """Check that a model knows the gold labels of sentences; see `check_counts`."""
    counts = dict(zip(corpus.core.labels, corpus.core.label_counts(), strict=True))
    counts.pop(unknown_label(corpus.format, labels) or "", None)
    check_counts(counts, labels, name, corpus.format, least=least)


def check_counts(
    counts: Mapping[str, int], labels: Collection[str], name: str, format: str, *, least: float = 0.1
) -> None:
    """Check that a model knows the gold labels of data, before it is scored on them.

    Args:
        counts: number of tokens, or samples, of each gold label.
        labels: names of the model's labels.
        name: what messages call the data.
        format: of the data; "python" for Python objects.
        least: smallest share of tokens with unknown labels that is worth a warning.

    Raises:
        DataError: the model knows none of the labels.

    Warns:
        DataWarning: the model does not know the labels of many tokens.
    """
    unknown = sorted(counts.keys() - {*labels})
    if not unknown:
        return
    if len(unknown) == len(counts) and labels:
        strange = names_of([*map(shortened, counts)])
        reason = f"the model knows none of the labels {strange}; its labels are {names_of(labels)}"
        message = f"{name}: {reason}; {remedy_of_labels(format)}"
        raise DataError(message)
    share = sum(counts[label] for label in unknown) / max(sum(counts.values()), 1)
    for pair in lookalikes(unknown, labels)[:_NAMED]:
        warn(f"{name}: {_alike(*pair)}; the model knows the second", DataWarning)
    if share >= least:
        items = "texts" if format in _TEXTS else "tokens"
        have = f"{100.0 * share:.2g} % of the {items} have labels that the model does not know and count as errors"
        warn(f"{name}: {have}: {names_of([*map(shortened, unknown)])}", DataWarning)


def names_of(labels: Collection[str]) -> str:
    """Return the first labels for a message."""
    return listed([*map(legible, labels)], _NAMED)


def _alike(label: str, other: str) -> str:
    """Say of two labels that they look the same."""
    return f"the labels {label!a} and {other!a} differ only by characters that cannot be seen or look like others"


def remedy_of_sentences(format: str) -> str:
    """Return how sentences are kept apart in a format."""
    if format == "python":
        return "X is a list of sentences"
    content = named(format).content if is_format(format) else "lines"
    if content == "spans":
        return "each line of a text is a sentence: put a line end after each sentence, or import more texts"
    if content == "docs":
        return "add more docs, or a component that sets sentence ends, such as the sentencizer"
    if is_format(format) and named(format).is_sentence:
        return "write each sentence on a separate line"
    return "put a blank line after each sentence"


def remedy_of_labels(format: str) -> str:
    """Return what to do if the labels of data in a format are not labels."""
    if format == "python":
        return "check the labels"
    if format == "text":
        return "write the label first, then a TAB and the text"
    if format == "folder":
        return "put the files with the texts of each label into a folder named after it"
    if format == "columns":
        return "put one token per line, with its label in the last column, or set --label-column or --format"
    if format.startswith("spacy"):
        return "check the annotation of the docs, and what is read of it (--format spacy:ents, tags, pos or cats)"
    return f"check that the file has labels and its format is {format} (--format)"
