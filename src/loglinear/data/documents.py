"""The documents that a file of sentences marks: by lines with -DOCSTART-, or with `# newdoc` as CoNLL-U has them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from .column_layout import ColumnLayout
from .formats import FORMATS, is_corpus, is_format
from .lines import is_rereadable, read_lines, sentence_lines

__all__ = ["documents_of"]

_STARTS = (b"-DOCSTART-", b"# newdoc")


def documents_of(paths: Sequence[str], format: str, columns: ColumnLayout) -> list[int] | None:
    r"""Return the number of the document of each sentence, from 0; None if the files mark fewer than two documents.

    Sentences before the first mark of a file are one document.

    Args:
        paths: files of columns or of CoNLL-U, one after the other; standard input and pipes cannot be read again.
        format: of the files.
        columns: layout of column files.

    Example:
        >>> import os, tempfile
        >>> from loglinear.data.column_layout import ColumnLayout
        >>> from loglinear.data.documents import documents_of
        >>> text = "-DOCSTART- O\n\nDogs N\nbark V\n\nCats N\n\n-DOCSTART- O\n\nBirds N\n"
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "train.txt")
        ...     with open(path, "w") as file:
        ...         _ = file.write(text)
        ...     documents_of([path], "columns", ColumnLayout(skip_comments=True))
        [0, 0, 1]
    """
    kind = format.partition(":")[0]
    if kind not in ("columns", "conllu") or not is_format(format):
        return None
    if not all(map(is_rereadable, paths)) or any(map(is_corpus, paths)):
        return None
    numbers: list[int] = []
    n_before = 0
    for path in paths:
        starts = [number for number, line in enumerate(read_lines(path), start=1) if line.startswith(_STARTS)]
        lasts = [
            lines[-1][0]
            for lines in sentence_lines(path, FORMATS[kind], columns)
            if any(FORMATS[kind].words(line, columns) for _, line in lines)
        ]
        places = [bisect_right(starts, last) for last in lasts]
        first = min(places, default=0)
        numbers += [n_before + place - first for place in places]
        n_before = max(numbers, default=-1) + 1
    documents = {number: at for at, number in enumerate(dict.fromkeys(numbers))}
    return [documents[number] for number in numbers] if len(documents) > len(paths) else None
