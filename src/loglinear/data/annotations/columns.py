"""Column files, one token per line, as texts with labelled spans: the words of a sentence between single blanks.

CoNLL 2002 (word, label) and CoNLL 2003 (word, part of speech, chunk, label), which INCEpTION also writes and reads, are
such files. Lines that begin with -DOCSTART- are left out. The labels must follow a tagging scheme.

Source: INCEpTION's user guide, "CoNLL 2002" and "CoNLL 2003"; DKPro Core, Conll2002Writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...errors import DataError
from ...schemes import chunks, detect_scheme, labels_of_chunks
from ..column_layout import ColumnLayout, Noticed
from ..formats import FORMATS, file_name
from ..labels import check_ordered
from ..lines import first_bytes, is_rereadable, sentence_lines
from ..text_span import TextSpan
from .alignment import AlignedSentence
from .annotated_text import AnnotatedText, fail, quoted

__all__ = ["annotated_texts", "read", "token_labels", "written"]

# First bytes of a file that show what separates its columns.
_LOOKED_AT = 1 << 16
_BLANK = re.compile(r"\s")
_DOCUMENT = "-DOCSTART-"
# Label of a chunk without a type, such as a word of a segmentation.
_UNTYPED = "CHUNK"


def annotated_texts(
    X: Iterable[Sequence[str]], y: Iterable[Sequence[str]], scheme: str | None = None
) -> list[AnnotatedText]:
    """Return labelled sentences as texts with labelled spans.

    The text of a sentence is its words between single blanks, for a sentence of words does not say where blanks were.

    Args:
        X: sentences, each a sequence of words.
        y: a label for each word, such as B-PER, I-PER, O.
        scheme: tagging scheme of the labels; by default detected from all labels.

    Raises:
        DataError: numbers of words and labels differ, a word is empty or has a line end, or the labels follow no
            scheme.
        OptionError: there is no such scheme.

    Example:
        >>> from loglinear import annotated_texts
        >>> annotated_texts([["Ada", "Lovelace", "wrote"]], [["B-PER", "I-PER", "O"]])[0].spans
        (TextSpan(start=0, end=12, label='PER', text='Ada Lovelace', probability=None),)
    """
    sentences = [([*words], [*labels]) for words, labels in _pairs(X, y)]
    name = scheme or detect_scheme({label for _, labels in sentences for label in labels})
    if name is None and any(labels for _, labels in sentences):
        named = ", ".join(sorted({str(label) for _, labels in sentences for label in labels})[:8])
        message = f"the labels {named} do not follow a tagging scheme such as B-PER, I-PER, O, which spans need"
        raise DataError(message)
    return [_text(words, labels, name, f"sentence {at}", at + 1) for at, (words, labels) in enumerate(sentences)]


def _pairs(X: Iterable[Any], y: Iterable[Any]) -> list[tuple[Sequence[str], Sequence[str]]]:
    check_ordered(X, "X", "give a list of sentences")
    check_ordered(y, "y", "give a sequence of labels for each sentence")
    sentences, labellings = [*X], [*y]
    for at, (words, labels) in enumerate(zip(sentences, labellings, strict=False)):
        check_ordered(words, f"sentence {at}", "give a list of words")
        check_ordered(labels, f"sentence {at}, the labels", "give a label for each word")
    if len(sentences) != len(labellings):
        message = f"{len(sentences)} sentences but {len(labellings)} label sequences; give one for each sentence"
        raise DataError(message)
    return [*zip(sentences, labellings, strict=True)]


def _text(words: list[str], labels: list[str], scheme: str | None, place: str, line: int) -> AnnotatedText:
    """Return the text of a sentence."""
    if len(words) != len(labels):
        fail(place, f"{len(words)} tokens but {len(labels)} labels; give one label for each token")
    starts, tokens, at = [], [], 0
    for word in words:
        if not isinstance(word, str) or not word.strip() or "\n" in word or "\r" in word:
            fail(place, f"{word!r:.60} is not a word; a word is a text without line ends that is not blank")
        starts.append(at)
        tokens.append((at, at + len(word)))
        at += len(word) + 1
    text, spans = " ".join(words), []
    for type_, first, last in chunks(labels, scheme):
        start, end = tokens[first][0], tokens[last - 1][1]
        spans.append(TextSpan(start, end, type_ or _UNTYPED, text[start:end]))
    return AnnotatedText(text, tuple(spans), "", tuple(tokens), place, line)


def read(path: str, layout: ColumnLayout = ColumnLayout()) -> list[AnnotatedText]:
    """Return the sentences of a column file as texts.

    Args:
        path: of the file; not standard input, which cannot be read twice.
        layout: of its lines.

    Raises:
        DataError: a line has no label, or the labels follow no tagging scheme.
        OSError: the file cannot be read.
    """
    name, layout = file_name(path), _seen(path, layout)
    words, labels, numbers = list[list[str]](), list[list[str]](), list[int]()
    for lines in sentence_lines(path, FORMATS["columns"], layout):
        rows = [(number, layout.cells(line)) for number, line in lines]
        if rows[0][1][0] == _DOCUMENT:
            rows = rows[1:]
        for number, cells in rows:
            if layout.label_of(cells) is None or len(cells) < 2:
                fail(f"{name}, line {number}", f"{quoted(' '.join(cells))} has no label; put a label after each word")
        if rows:
            labels.append([cells[layout.label_of(cells) or 0] for _, cells in rows])
            words.append([layout.word("\t".join(cells)) for _, cells in rows])
            numbers.append(rows[0][0])
    try:
        scheme = detect_scheme({label for row in labels for label in row})
        texts = annotated_texts(words, labels, scheme)
    except DataError as error:
        message = f"{name}: {error}"
        raise DataError(message) from error
    places = ((f"{name}, line {number}", number) for number in numbers)
    return [
        AnnotatedText(text.text, text.spans, "", text.tokens, place, number)
        for text, (place, number) in zip(texts, places, strict=True)
    ]


def _seen(path: str, layout: ColumnLayout) -> ColumnLayout:
    """Return the layout with the separator that the beginning of the file shows."""
    if not is_rereadable(path) or layout.separator is not None:
        return layout
    with open(path, "rb") as file:
        start = first_bytes(file, path, _LOOKED_AT)
    return layout._replace(separator="tab") if Noticed.of_start(start, layout).tabs else layout


def token_labels(sentences: Iterable[AlignedSentence], scheme: str) -> list[list[str]]:
    """Return the labels of the tokens of sentences, in a tagging scheme."""
    return [labels_of_chunks(sentence.chunks, len(sentence.words), scheme) for sentence in sentences]


def written(sentences: list[AlignedSentence], scheme: str, *, between: str = "\t", unused: int = 0) -> str:
    """Return a column file: word and label between tabs, or other columns of `_` between them.

    Args:
        sentences: the sentences.
        scheme: tagging scheme of the labels.
        between: what separates the columns.
        unused: number of columns between word and label.

    Raises:
        DataError: a word or a label has blanks, which would separate columns.
    """
    lines = []
    for sentence, labels in zip(sentences, token_labels(sentences, scheme), strict=True):
        for word, label in zip(sentence.words, labels, strict=True):
            for cell in (word, label):
                odd = _BLANK.search(cell) if between == " " else re.search(r"[\t\r\n]", cell)
                if odd is not None:
                    fail(
                        sentence.text.place, f"{quoted(cell)} has blanks, which separate columns; choose another format"
                    )
            lines.append(between.join([word, *["_"] * unused, label]))
        lines.append("")
    return "".join(f"{line}\n" for line in lines)
