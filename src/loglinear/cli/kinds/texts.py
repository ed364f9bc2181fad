"""Classifiers of texts: models that label lines of text by their words."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import DataError, OptionError
from ..layout import warn_of_labels
from ..reading import rereadable
from .sentences import Samples, answered_one_by_one

if TYPE_CHECKING:
    from argparse import Namespace

    from ...data.texts import Documents
    from ...models.explain.answers import Answers
    from ...models.explain.explanation import Explanation
    from ...models.text_classifier import TextClassifier

__all__ = ["Texts"]


class Texts(Samples):
    """A classifier of texts, each a line of a file."""

    called = "a text classifier"
    noun = "Text"

    @cached_property
    def classifier(self) -> TextClassifier:
        """The classifier with its vectorizer."""
        from ...models.text_classifier import TextClassifier

        return TextClassifier.load(self.path)

    def format(self, file: str, format: str | None) -> str:
        """Refuse files of sentences, which a vectorizer does not read."""
        from ...data.formats import is_corpus, named

        if format is not None and named(format).holds != "texts":
            self.leave_out({"format": format}, "format")
        if is_corpus(file):
            message = f"{file}: an encoded corpus, but {self.path} is {self.called}; give a file of texts"
            raise OptionError(message)
        return "text"

    def tag(self, arguments: Namespace) -> None:
        """Write the label of every text, one per line, and with --marginals the probabilities of all labels.

        A blank line of the input is a blank line of the output.
        """
        from ...data.lines import arriving_lines, file_name, read_lines
        from ...data.texts import documents
        from ...data.writing import write_output

        self.format(arguments.file, arguments.format)
        self.take_only(vars(arguments), "format", "stream")
        if arguments.marginals:
            self.need_joint("--marginals")
        streams = answered_one_by_one(arguments)
        name, seen, answered = file_name(arguments.file), 0, 0
        for lines in arriving_lines(arguments.file) if streams else [list(read_lines(arguments.file))]:
            texts = documents(lines, name, labelled=False, first=seen + 1)
            seen += len(lines)
            if texts.texts and not answered:
                warn_of_labels(name, texts.texts, self.model.labels)
            if texts.texts:
                write_output(arguments.output, self._labelled(texts, answered, marginals=arguments.marginals))
                answered = texts.lines[-1]
        if not answered:
            message = f"{name}: no texts found; the file is empty or has only blank lines"
            raise DataError(message)

    def _labelled(self, documents: Documents, answered: int, *, marginals: bool) -> bytes:
        """Return the output lines of texts, from the line after the last answered one on."""
        rows = [[label] for label in self.classifier.predict(documents.texts)]
        if marginals:
            for row, probabilities in zip(rows, self.classifier.predict_proba(documents.texts), strict=True):
                row += [f"{label}:{p:.6f}" for label, p in probabilities.items()]
        lines = [""] * (documents.lines[-1] - answered)
        for number, row in zip(documents.lines, rows, strict=True):
            lines[number - answered - 1] = "\t".join(row)
        return "".join(line + "\n" for line in lines).encode()

    def answers(
        self, path: str, format: str, *, sure: bool, spans: bool, threads: int, guess: str | None = None
    ) -> Answers:
        """Return the classifier's answers to a file of labelled texts; see `Sentences.answers`."""
        from ...data.texts import read
        from ...models.explain.answers import Answers

        documents = read(path)
        predicted, probabilities = self.classifier.predict(documents.texts), None
        if sure:
            rows = self.classifier.predict_proba(documents.texts)
            probabilities = [row[label] for label, row in zip(predicted, rows, strict=True)]
        return Answers.of_samples(documents.labels or [], predicted, probabilities, documents.texts)

    def explain(self, arguments: Namespace) -> list[Explanation]:
        """Explain the label of each text of a file."""
        from ...data.texts import read
        from ...models.explain.explanation import Explanation

        self.format(arguments.file, arguments.format)
        with rereadable(arguments.file) as path:
            texts = read(path, labelled=False).texts
        return [Explanation([explanation]) for explanation in self.classifier.explain(texts)]

    def training_flags(self) -> list[str]:
        """Return the flags with which `train` makes such a model."""
        text = self.settings["text"]
        first, last = text["ngrams"]
        ngrams = [] if (first, last) == (1, 1) else ["--ngrams", f"{first}-{last}"]
        return [*super().training_flags(), "--format", "text", *ngrams, *([] if text["idf"] is None else ["--tfidf"])]
