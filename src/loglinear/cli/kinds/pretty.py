"""What `loglinear tag --pretty` prints: sentences with their labels below, each as soon as it is read."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import DataError, warn
from ..labelled_lines import LabelledLines
from ..layout import (
    LOOKED_AT,
    note_empty,
    refuse_json_lines,
    refuse_texts,
    start_of,
    warn_of_columns,
    warn_of_unknown_attributes,
    warn_of_unknown_words,
    warn_of_whole_sentences,
)
from ..reading import guessing, rereadable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from ...data.column_layout import ColumnLayout

__all__ = ["PrettySentences"]


class _Arrived(NamedTuple):
    """Whole sentences that have arrived.

    Attributes:
        lines: of the sentences.
        before: number of the lines before them.
    """

    lines: list[bytes]
    before: int


class PrettySentences:
    """Prints the sentences of a file with their labels.

    Args:
        kind: of the model: a chain or a classifier.
        model: the native model, under the constraints and biases of the command.
        arguments: of the command.
    """

    def __init__(self, kind: Any, model: Any, arguments: Namespace) -> None:
        self._kind, self._model, self._arguments = kind, model, arguments
        self._format = kind.format(arguments.file, arguments.format)
        self._lines = LabelledLines(model.labels, sys.stdout, sequences=kind.items == "tokens")
        self._n_printed = 0

    def print_file(self) -> None:
        """Read the whole file, then print it."""
        file = self._arguments.file
        start = start_of(file)
        with rereadable(file) as path:
            columns = self._kind.columns_to_label(self._arguments, self._format, path)
            self._look(start, columns)
            with self._guessing():
                self._print(path, columns)
        note_empty(file, start)

    def print_stream(self) -> None:
        """Print each sentence of a pipe or terminal as soon as it is complete."""
        from ...data.formats import file_name

        file, columns = self._arguments.file, self._kind.columns(self._arguments, self._format)
        name, is_first = file_name(file), True
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "sentences")
            for arrived in self._arriving(columns):
                text = b"".join(line + b"\n" for line in arrived.lines)
                if is_first:
                    self._look(text[:LOOKED_AT], columns)
                with open(copy, "wb") as stream:
                    stream.write(text)
                with self._guessing(), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        self._print(copy, columns)
                    except DataError as error:
                        raise DataError(_renamed(str(error), copy, name, arrived.before)) from error
                for warning in caught if is_first else ():
                    warn(_renamed(str(warning.message), copy, name, arrived.before), warning.category)
                is_first = False

    def _guessing(self) -> Any:
        file, labels_text = self._arguments.file, "tokenizer" in self._kind.settings
        return guessing(self._format, self._kind.guess(file, self._arguments.format), file, labels_text=labels_text)

    def _look(self, start: bytes, columns: ColumnLayout) -> None:
        """Refuse a beginning that is of another format, and warn of what is probably wrong with it."""
        file, model = self._arguments.file, self._model
        warn_of_unknown_attributes(file, start, self._format, model)
        if self._format != "columns":
            return
        refuse_json_lines(file, start)
        if self._arguments.format is None and columns.separator != "tab":
            refuse_texts(file, start)
        if not warn_of_whole_sentences(file, start, model, self._kind.settings):
            self._kind.look_for_sentences(file, start)
            if not warn_of_columns(file, start, columns, model):
                warn_of_unknown_words(file, start, columns, model)

    def _print(self, path: str, columns: ColumnLayout) -> None:
        """Print the sentences of a file, with a blank line between two of them."""
        from ...data.corpus import read_unlabelled
        from ...data.tokens import file_words
        from ...data.writing import write_text

        threads = self._arguments.threads
        corpus = read_unlabelled(path, self._format, self._kind.template, columns, threads)
        predicted = self._model.predict(corpus.core, threads=threads)
        for words, labels in zip(file_words(path, self._format, corpus), predicted, strict=True):
            if words:
                text = ("\n" if self._n_printed else "") + self._lines.sentence(words, labels)
                write_text("-", text.encode("utf-8", errors="replace"))
                self._n_printed += 1

    def _arriving(self, columns: ColumnLayout) -> Iterator[_Arrived]:
        """Yield the sentences of a pipe or terminal that are complete, all that are there together."""
        from ...data.formats import file_name, named
        from ...data.lines import arriving_lines
        from ...data.sentence_size import check_size

        file, is_sentence = self._arguments.file, named(self._format).is_sentence
        unfinished: list[bytes] = []
        before = n_bytes = 0
        for lines in arriving_lines(file):
            together = [*unfinished, *lines]
            blank = (at for at in range(len(together), len(unfinished), -1) if not together[at - 1].strip(b" \t\r"))
            end = len(together) if is_sentence else next(blank, 0)
            if end:
                yield _Arrived(together[:end], before)
            unfinished, before = together[end:], before + end
            n_bytes = sum(map(len, lines)) + (0 if end else n_bytes)
            check_size(file_name(file), n_bytes, before)
        if unfinished:
            yield _Arrived(unfinished, before)


def _renamed(message: str, copy: str, name: str, before: int) -> str:
    """Return a message about a copy of some lines of a file as one about the file."""
    numbered = re.sub(
        rf"{re.escape(copy)}, line (\d+)", lambda place: f"{name}, line {int(place[1]) + before}", message
    )
    return numbered.replace(copy, name)
