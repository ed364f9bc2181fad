"""Files of texts, a line for each, and the vectorizers that count their words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import DataError
from ..options import fail
from .lines import decoded, file_name, read_lines

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["Documents", "documents", "make_vectorizer", "read", "remade", "settings_of"]


class Documents(NamedTuple):
    """The texts of a file.

    Attributes:
        texts: a text for each line that is not blank.
        labels: label of each text; None without labels.
        lines: number of each text's line, from 1.
    """

    texts: list[str]
    labels: list[str] | None
    lines: list[int]


def read(path: str, *, labelled: bool = True) -> Documents:
    """Read a file whose lines are `label TAB text`, or texts alone; gzip and xz are recognised, `-` is standard input.

    Raises:
        DataError: there is no text, a line has no TAB or no label, or text is not UTF-8; names file and line.
        OSError: the file cannot be read.
    """
    parsed = documents(read_lines(path), file_name(path), labelled=labelled)
    if not parsed.texts:
        message = f"{file_name(path)}: no texts found; the file is empty or has only blank lines"
        raise DataError(message)
    return parsed


def documents(rows: Iterable[bytes], name: str, *, labelled: bool, first: int = 1) -> Documents:
    """Return the texts of some lines of a file.

    Args:
        rows: the lines.
        name: of the file, for messages.
        labelled: whether a line is `label TAB text`.
        first: number of the first line.

    Raises:
        DataError: a line has no TAB or no label, or is not UTF-8; names file and line.
    """
    texts: list[str] = []
    labels: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(rows, start=first):
        text = decoded(line, name, number).rstrip("\r\n")
        if not text.strip():
            continue
        if labelled:
            label, tab, text = text.partition("\t")
            if not tab or not label.strip():
                message = f"{name}, line {number}: no label; write a label, a TAB and the text"
                raise DataError(message)
            labels.append(label.strip())
        texts.append(text)
        lines.append(number)
    return Documents(texts, labels if labelled else None, lines)


def make_vectorizer(ngrams: str = "1", *, tfidf: bool = False, min_count: int = 1) -> Any:
    """Return a vectorizer of scikit-learn that counts sequences of words.

    Args:
        ngrams: lengths of the sequences, such as "1" or "1-3".
        tfidf: whether to weight counts by rarity, and to scale each text to a Euclidean norm of 1.
        min_count: least number of texts that contain a sequence; other sequences are left out.

    Raises:
        OptionError: ``ngrams`` is not a range of lengths.
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    first, _, last = ngrams.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal() or not 1 <= int(first) <= int(last or first) <= 100:
        fail("ngrams", ngrams, "is not a range of lengths; give, for example, 1, 2 or 1-3")
    kind = TfidfVectorizer if tfidf else CountVectorizer
    return kind(ngram_range=(int(first), int(last or first)), min_df=min_count)


def settings_of(vectorizer: CountVectorizer) -> dict[str, Any]:
    """Return the settings of a fitted vectorizer from which `remade` makes an equal one, ready for JSON."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    idf = vectorizer.idf_ if isinstance(vectorizer, TfidfVectorizer) else None
    return {
        "ngrams": list(vectorizer.ngram_range),
        "words": vectorizer.get_feature_names_out().tolist(),
        "idf": None if idf is None else idf.tolist(),
    }


def remade(settings: dict[str, Any]) -> Any:
    """Return a fitted vectorizer with the settings that `settings_of` has returned."""
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    options = {"ngram_range": tuple(settings["ngrams"]), "vocabulary": settings["words"]}
    if settings["idf"] is None:
        return CountVectorizer(**options)
    vectorizer = TfidfVectorizer(**options)
    vectorizer.idf_ = np.array(settings["idf"])
    return vectorizer
