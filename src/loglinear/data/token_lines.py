"""The lines of the tokens of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from .column_layout import ColumnLayout
from .formats import has_lines, named
from .lines import is_rereadable, sentence_lines

__all__ = ["line_of", "token_lines"]


def token_lines(path: str, name: str, columns: ColumnLayout = ColumnLayout()) -> Iterator[list[tuple[int, str | None]]]:
    """Yield the number of the line, from 1, and the word of each token of a file, sentence by sentence.

    Of files without lines, such as JSON, the number is the number of the text.

    Args:
        path: of the file.
        name: of its format.
        columns: its layout.
    """
    format = named(name)
    if format.has_spans:
        from .annotations.tools import read_sentences

        for sentence in read_sentences(path, name, columns.spans, labelled=False):
            yield [(sentence.text.line, word) for word in sentence.words]
        return
    if format.has_docs:
        from .spacy_docs import labelled_sentences

        for number, words in enumerate(labelled_sentences(path, "ents", labelled=False)[0], start=1):
            yield [(number, word) for word in words]
        return
    for lines in sentence_lines(path, format, columns):
        tokens = [(number, word) for number, line in lines for word in format.words(line, columns)]
        if tokens:
            yield tokens


def line_of(
    paths: Sequence[str], name: str, sentence: int, token: int, columns: ColumnLayout = ColumnLayout()
) -> tuple[str, int] | None:
    """Return the file and the number, from 1, of the line of a token; None if it cannot be told, or there are no lines.

    Args:
        paths: files of sentences, one after the other; standard input and pipes cannot be read again.
        name: of the format of the files.
        sentence: number of the sentence, from 0, through all files.
        token: number of the token, from 0; a token after the last one stands for the last one.
        columns: layout of column files.
    """
    if not all(map(is_rereadable, paths)) or not has_lines(name):
        return None
    places = ((path, lines) for path in paths for lines in token_lines(path, name, columns))
    path, lines = next(islice(places, sentence, None), ("", []))
    return (path, lines[min(token, len(lines) - 1)][0]) if lines else None
