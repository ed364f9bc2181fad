"""Classifiers of texts: models that label lines of text by their words."""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import DataError, OptionError
from ...visible import visible_name
from ..layout import answered_one_by_one, warn_of_labels, warn_of_tokens
from ..options import flags_of
from ..output import say
from ..reading import rereadable
from ..withheld import Withheld
from .sentences import Samples

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...data.column_layout import ColumnLayout
    from ...data.corpus import Corpus
    from ...data.texts import Documents
    from ...data.words import WordCounts
    from ...models.explain.answers import Answers
    from ...models.explain.explanation import Explanation
    from .kind import Kind, RankedFile

__all__ = ["Texts"]

# Texts whose words are in memory as Python objects at a time.
TOGETHER = 10_000


class Texts(Samples):
    """A classifier of texts, each a line of a file."""

    called = "a text classifier"
    estimator = "TextClassifier"
    noun = "Text"
    items = "texts"

    @cached_property
    def counts(self) -> WordCounts:
        """The words that the model knows."""
        from ...data.words import WordCounts

        return WordCounts.of_settings(self.settings["text"])

    def format(self, file: str, format: str | None) -> str:
        """Refuse files of sentences, which a vectorizer does not read."""
        from ...data.formats import format_of, is_corpus, named

        if format is not None and named(format).holds != "texts":
            self.leave_out({"format": format}, "format")
        if named(format_of(file, format, "text")).has_docs:
            return format or "spacy:cats"
        if is_corpus(file):
            message = f"{file}: an encoded corpus, but {self.path} is {self.called}; give a file of texts"
            raise OptionError(message)
        return "text"

    def _need_lines(self, arguments: Namespace, user: str) -> None:
        """Raise OptionError if the file of a command has no lines."""
        from ...data.formats import need_lines

        need_lines(self.format(arguments.file, arguments.format), arguments.file, user)

    def tag(self, arguments: Namespace) -> None:
        """Write the label of every text, one per line, and with --marginals the probabilities of all labels.

        A blank line of the input is a blank line of the output. For a folder, a line has the file and its label.
        """
        from ...data.formats import file_name
        from ...data.writing import check_labels, write_text

        check_labels(self.model.labels, "rename the label in the training data", place="text")
        self._need_lines(arguments, "loglinear tag")
        if arguments.rest is not None:
            message = f"{self.path} is {self.called}; leave out --rest, which keeps the labels of a sentence together, "
            message += "and mark the texts to check with --below"
            raise OptionError(message)
        self.take_only(vars(arguments), "format", "stream", "min_probability", "below")
        withheld = Withheld.of(arguments)
        if arguments.marginals or withheld is not None:
            self.need_joint("--marginals" if arguments.marginals else "--min-probability")
        if os.path.isdir(arguments.file):
            self._tag_folder(arguments)
            return
        tally, answered = _Tally(), 0
        for texts in self._arriving(arguments):
            corpus = self._corpus(texts.texts, tally)
            write_text(arguments.output, self._labelled(texts, corpus, answered, arguments))
            answered = texts.lines[-1]
        tally.tell(file_name(arguments.file))

    def tag_pretty(self, arguments: Namespace) -> None:
        """Print texts with their labels below."""
        import sys

        from ...data.formats import file_name
        from ...data.texts import read
        from ...data.writing import write_text
        from ..labelled_lines import LabelledLines

        self._need_lines(arguments, "loglinear tag")
        self.take_only(vars(arguments), "format", "stream", "pretty")
        is_folder = os.path.isdir(arguments.file)
        lines, tally, gap = LabelledLines(self.model.labels, sys.stdout, sequences=False), _Tally(), ""
        for part in [read(arguments.file, labelled=False)] if is_folder else self._arriving(arguments):
            rows = self.model.predict(self._corpus(part.texts, tally).core, threads=arguments.threads)
            for text, (label,) in zip(part.texts, rows, strict=True):
                write_text("-", (gap + lines.text(text, label)).encode("utf-8", errors="replace"))
                gap = "\n"
        tally.tell(file_name(arguments.file))

    def _arriving(self, arguments: Namespace) -> Iterator[Documents]:
        """Yield the texts of a file, or parts of them as they arrive; warn of what is odd about the first ones.

        Raises:
            DataError: there are none.
        """
        from ...data.formats import file_name
        from ...data.lines import arriving_lines, read_lines
        from ...data.texts import documents

        name, seen, is_first = file_name(arguments.file), 0, True
        streams = answered_one_by_one(arguments)
        for lines in arriving_lines(arguments.file) if streams else [list(read_lines(arguments.file))]:
            texts = documents(lines, name, labelled=False, first=seen + 1)
            seen += len(lines)
            if not texts.texts:
                continue
            if is_first:
                warn_of_labels(name, texts.texts, self.model.labels)
                warn_of_tokens(name, texts)
            is_first = False
            yield texts
        if is_first:
            message = f"{name}: no texts found; the file is empty or has only blank lines"
            raise DataError(message)

    def _corpus(self, texts: Sequence[str], tally: _Tally) -> Corpus:
        """Return texts as sentences of one token, whose attributes are the words that the model knows."""
        from ...data.corpus import Corpus

        parts = []
        for start in range(0, len(texts), TOGETHER):
            rows = list(self.counts.rows(texts[start : start + TOGETHER]))
            tally.add(rows)
            parts.append(Corpus.encode([[row] for row in rows]))
        return parts[0] if len(parts) == 1 else Corpus.concat(parts)

    def _labelled(self, documents: Documents, corpus: Corpus, answered: int, arguments: Namespace) -> bytes:
        """Return the output lines of texts, from the line after the last answered one on."""
        model, threads = self.model, arguments.threads
        rows = model.predict(corpus.core, threads=threads)
        withheld = Withheld.of(arguments)
        if arguments.marginals or withheld is not None:
            for row, probabilities in zip(rows, model.marginals(corpus.core, threads=threads), strict=True):
                if withheld is not None and max(probabilities) < withheld.least:
                    row[0] = withheld.mark
                if arguments.marginals:
                    row += [f"{label}:{p:.6f}" for label, p in zip(model.labels, probabilities, strict=True)]
        if documents.files:
            rows = [[visible_name(file), *row] for file, row in zip(documents.files, rows, strict=True)]
        lines = [""] * (documents.lines[-1] - answered)
        for number, row in zip(documents.lines, rows, strict=True):
            lines[number - answered - 1] = "\t".join(row)
        # Names of files may hold any bytes.
        return "".join(line + "\n" for line in lines).encode(errors="surrogateescape")

    def _tag_folder(self, arguments: Namespace) -> None:
        """Write the file and the label of every text in a folder, and with --marginals the probabilities."""
        from ...data.texts import read
        from ...data.writing import write_text

        documents, tally = read(arguments.file, labelled=False), _Tally()
        corpus = self._corpus(documents.texts, tally)
        write_text(arguments.output, self._labelled(documents, corpus, 0, arguments))
        tally.tell(arguments.file)

    def answers(
        self,
        path: str,
        format: str,
        columns: ColumnLayout,
        *,
        sure: bool,
        spans: bool,
        threads: int,
        guess: str | None = None,
    ) -> Answers:
        """Return the classifier's answers to a file of labelled texts; see `Sentences.answers`."""
        from ...data.formats import file_name
        from ...data.survey import check_counts
        from ...data.texts import read
        from ...models.explain.answers import Answers

        documents, tally = read(path, format=format), _Tally()
        gold = documents.labels or []
        check_counts(Counter(gold), self.model.labels, file_name(path), documents.format, least=0.0)
        corpus = self._corpus(documents.texts, tally)
        tally.tell(path)
        predicted = [label for (label,) in self.model.predict(corpus.core, threads=threads)]
        probabilities = [max(row) for row in self.model.marginals(corpus.core, threads=threads)] if sure else None
        return Answers.of_samples(gold, predicted, probabilities, documents.texts)

    def answers_to_compare(self, arguments: Namespace) -> Answers:
        """Return the answers to a file of labelled texts."""
        format = self.format(arguments.data, arguments.format)
        return self._answers_to(arguments.data, format, arguments, sure=False, spans=False)

    def labelled_corpus(self, answers: Answers) -> Corpus:
        """Return the texts as sentences of one token, with their labels."""
        from ...data.corpus import Corpus

        rows = self.counts.rows([text for (text,) in answers.words])
        return Corpus.encode([[row] for row in rows], answers.gold)

    def explain(self, arguments: Namespace) -> list[Explanation]:
        """Explain the label of each text of a file."""
        from dataclasses import replace

        from ...data.formats import file_name
        from ...data.texts import read
        from ...models.explain.explainer import Explainer
        from ...models.explain.explanation import Explanation

        self._need_lines(arguments, "loglinear explain")
        self.need_joint("explain, and use inspect for the strongest weights")
        tally = _Tally()
        with rereadable(arguments.file) as path:
            documents = read(path, labelled=False)
        texts = documents.texts
        warn_of_labels(file_name(arguments.file), texts, self.model.labels)
        warn_of_tokens(file_name(arguments.file), documents)
        corpus = self._corpus(texts, tally)
        tally.tell(arguments.file)
        explanations = Explainer(self.model).explain(corpus, [[text] for text in texts], arguments.threads)
        numbered = []
        for number, (text,) in enumerate(explanations):
            parts = [replace(part, token=number) for part in text.contributions]
            numbered.append(Explanation([replace(text, token=number, contributions=parts)], "texts"))
        return numbered

    def rank(self, arguments: Namespace, committee: Sequence[Kind], progress: Callable[[float], object]) -> RankedFile:
        """Choose what to label next from a file or folder of texts."""
        from .ranked import ranked_texts

        return ranked_texts([self, *committee], arguments, progress)

    def training_flags(self) -> list[str]:
        """Return the flags with which `train` makes such a model."""
        from ...models.training.options import TextOptions

        options = self.counts.options()
        return [*super().training_flags(), "--format", "text", *flags_of(TextOptions, options)]


class _Tally:
    """Counts the texts that have no word which the model knows."""

    def __init__(self) -> None:
        self.n_texts = self.n_lost = 0

    def add(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Count some texts, given by their known words."""
        self.n_texts += len(rows)
        self.n_lost += sum(not row for row in rows)

    def tell(self, path: str) -> None:
        """Print a note if at least one text in a hundred has no word that the model knows."""
        if self.n_lost * 100 >= max(self.n_texts, 1):
            from ...data.formats import file_name

            share = f"{100 * self.n_lost / self.n_texts:.0f} % of the texts ({self.n_lost:,} of {self.n_texts:,})"
            say(f"note: {file_name(path)}: {share} have no word that the model knows; they all get the same label")
