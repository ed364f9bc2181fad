"""What `loglinear tag --text` writes: a chain cuts each line of a file into tokens and labels parts of the line."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ...data.annotations import doccano, label_studio, prodigy
from ...data.annotations.annotated_text import AnnotatedText
from ...errors import DataError, OptionError
from ...visible import counted
from ..layout import answered_one_by_one
from ..options import option_flag
from ..output import say
from ..withheld import Withheld

if TYPE_CHECKING:
    from argparse import Namespace

    from ...data.text_span import TextSpan
    from ...data.tokenizer import Tokenizer
    from ...models.tagger import Tagger

    Record = Callable[["RawTexts", str, Sequence[TextSpan], float | None], dict[str, Any]]

__all__ = ["LAYOUTS", "RawTexts"]

# Texts whose spans are in memory as Python objects at a time.
_TOGETHER = 10_000
# Texts at the beginning of a file that show whether it holds tokens, and the fewest that do.
_LOOKED_AT, _FEWEST = 100, 10
# Options of `tag` that say something about raw texts.
_TAKEN = {"model", "file", "output", "threads", "text", "tokenizer", "stream", "pretty", "min_probability", "layout"}
_TAKEN |= {"constraints", "label_bias", "max_sentence"}


class _Layout(NamedTuple):
    """How texts with their spans are written.

    Attributes:
        record: returns the JSON object of a text.
        start: what the output begins with.
        between: what separates two objects.
        after: what follows each object.
        end: what the output ends with.
        has_score: whether an object has the probability that all labels of its text are right.
    """

    record: Record
    start: str = ""
    between: str = ""
    after: str = "\n"
    end: str = ""
    has_score: bool = False


def _own(_: RawTexts, text: str, spans: Sequence[TextSpan], __: float | None) -> dict[str, Any]:
    """Return a text with its spans as loglinear writes it."""
    return {"text": text, "spans": [span._asdict() for span in spans]}


def _doccano(_: RawTexts, text: str, spans: Sequence[TextSpan], __: float | None) -> dict[str, Any]:
    """Return a line of doccano's import."""
    return doccano.fields(AnnotatedText(text, tuple(spans)))


def _prodigy(texts: RawTexts, text: str, spans: Sequence[TextSpan], _: float | None) -> dict[str, Any]:
    """Return a task of Prodigy, with the tokens of the text."""
    return prodigy.fields(AnnotatedText(text, tuple(spans), "", tuple(texts.tokenizer.offsets(text))))


def _label_studio(texts: RawTexts, text: str, spans: Sequence[TextSpan], score: float | None) -> dict[str, Any]:
    """Return a task of Label Studio's import, with a prediction."""
    return label_studio.fields(AnnotatedText(text, tuple(spans)), texts.model_version, score)


LAYOUTS: Mapping[str | None, _Layout] = {
    None: _Layout(_own),
    "doccano": _Layout(_doccano),
    "label-studio": _Layout(_label_studio, "[", label_studio.BETWEEN, "", "]\n", has_score=True),
    "prodigy": _Layout(_prodigy),
}
"""Layouts of texts with their spans by name; None is loglinear's own."""


class RawTexts:
    """Labels a file of raw texts, each a line, and writes the texts with their spans.

    Args:
        tagger: the model with its tokenizer, under the constraints and biases of the command.
        arguments: of the command.

    Raises:
        OptionError: an option of the command says nothing about raw texts, or the file is an encoded corpus.
    """

    def __init__(self, tagger: Tagger, arguments: Namespace) -> None:
        from ...data.formats import file_name, is_corpus

        for name, value in vars(arguments).items():
            if name not in _TAKEN and value is not None and value is not False:
                flag = option_flag(name) if name != "detail" else "-v"
                message = f"--text writes a line of JSON for each text; leave out {flag}"
                raise OptionError(message)
        if arguments.layout not in LAYOUTS:
            message = f"--layout {arguments.layout} writes a line for each token; leave it out with --text"
            raise OptionError(message)
        if is_corpus(arguments.file):
            message = f"{arguments.file}: an encoded corpus, which has no text; give a file with a text in each line"
            raise OptionError(message)
        self._tagger, self._arguments, self._name = tagger, arguments, file_name(arguments.file)
        self._withheld = Withheld.of(arguments)
        self._layout = LAYOUTS[arguments.layout]
        self._n_spans = self._n_withheld = self._n_texts = 0

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts the texts."""
        return self._tagger._cutter(None)

    @property
    def model_version(self) -> str:
        """What annotation tools call the model: the name of its file."""
        model: str = self._arguments.model
        return os.path.basename(model)

    def tag(self) -> None:
        """Write a line of JSON for each line of the file, or with --pretty the texts with their labels below.

        Raises:
            DataError: a line is not UTF-8, or too long; names file and line.
        """
        from ...data.writing import write_text

        write, n_lines = self._pretty() if self._arguments.pretty else self._json, 0
        pieces = list[str]()
        for texts in self._arriving():
            for at in range(0, len(texts), _TOGETHER):
                with self._naming(n_lines + at + 1):
                    pieces.append(write(texts[at : at + _TOGETHER]))
            n_lines += len(texts)
            if self._arguments.output == "-":
                write_text("-", "".join(pieces).encode("utf-8", errors="replace"))
                pieces.clear()
        if not self._arguments.pretty:
            pieces.append(self._layout.end if self._n_texts else self._layout.start + self._layout.end)
        write_text(self._arguments.output, "".join(pieces).encode("utf-8", errors="replace"))
        if self._withheld is not None and self._n_withheld:
            of_all = f"{self._n_withheld:,} of {counted(self._n_spans, 'span')}"
            verb = "is" if self._n_withheld == 1 else "are"
            say(f"note: {self._name}: {of_all} {verb} below a probability of {self._withheld.least:g} and left out")

    def _arriving(self) -> Iterator[list[str]]:
        """Yield the texts of the file, or parts of them as they arrive; those before a mistake come before it."""
        from ...data.lines import arriving_lines, decoded, read_lines

        file, n_lines = self._arguments.file, 0
        streams = answered_one_by_one(self._arguments)
        for lines in arriving_lines(file) if streams else [list(read_lines(file))]:
            texts: list[str] = []
            try:
                for line in lines:
                    texts.append(decoded(line, self._name, n_lines + len(texts) + 1).rstrip("\r\n"))
            except DataError:
                if streams and texts:
                    yield texts
                raise
            if not n_lines:
                self._look(texts)
            n_lines += len(lines)
            yield texts
        if not n_lines:
            say(f"warning: {self._name}: the file is empty")

    @contextmanager
    def _naming(self, first: int) -> Iterator[None]:
        """Name the line of a text that cannot be labelled; `first` is the number of the first text's line."""
        try:
            yield
        except DataError as error:
            text = re.match(r"text (\d+)(?:,|:)? ", str(error))
            if text is None:
                raise
            message = f"{self._name}, line {first + int(text[1])}: {str(error)[text.end() :]}"
            raise DataError(message) from error

    def _look(self, texts: list[str]) -> None:
        """Warn if the first texts are probably the tokens of sentences."""
        words = [len(text.split()) for text in texts[:_LOOKED_AT] if text.strip()]
        if len(words) >= _FEWEST and max(words) == 1:
            of_tokens = "every line is a single word, but with --text each line is a whole text"
            say(f"warning: {self._name}: {of_tokens}; leave out --text for a file with one token per line")
        if words and not any(map(self.tokenizer.offsets, texts[:_LOOKED_AT])):
            where = "the text" if len(words) == 1 else f"the first {len(words):,} texts"
            finds = f"the tokenizer {self.tokenizer.spec!r} finds no token in {where}"
            say(f"warning: {self._name}: {finds}; choose another one, such as words (--tokenizer)")

    def _json(self, texts: list[str]) -> str:
        """Return a JSON object for each text; annotation tools get no blank texts."""
        threads, layout = self._arguments.threads, self._layout
        rows, log_p = self._tagger._spans(texts, True, None, threads=threads)
        scores = [math.exp(p) for p in log_p or ()] if layout.has_score else [None] * len(texts)
        if self._withheld is not None:
            n_spans, least = sum(map(len, rows)), self._withheld.least
            rows = [[span for span in row if (span.probability or 0.0) >= least] for row in rows]
            self._n_spans += n_spans
            self._n_withheld += n_spans - sum(map(len, rows))
        is_own = self._arguments.layout is None
        answers = (row for row in zip(texts, rows, scores, strict=True) if is_own or row[0].strip())
        objects = [json.dumps(layout.record(self, *row), ensure_ascii=False) + layout.after for row in answers]
        before = layout.between if self._n_texts else layout.start
        self._n_texts += len(objects)
        return before + layout.between.join(objects) if objects else ""

    def _pretty(self) -> Callable[[list[str]], str]:
        """Return the function that writes texts for people: their tokens with the labels below."""
        from ..labelled_lines import LabelledLines

        tagger, threads, gap = self._tagger, self._arguments.threads, ""
        lines = LabelledLines(map(str, tagger.labels), sys.stdout)

        def write(texts: list[str]) -> str:
            nonlocal gap
            written = []
            sentences = [tokens for tokens in map(tagger.cut, texts) if tokens]
            for tokens, labels in zip(sentences, tagger.tag_batch(sentences, threads=threads), strict=True):
                written.append(gap + lines.sentence(tokens, labels))
                gap = "\n"
            return "".join(written)

        return write
