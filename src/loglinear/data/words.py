"""Words of texts: what a text is cut into, and the attributes with values that its words become.

The module imports nothing that labelling text can do without.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..errors import DataError
from ..options import fail, similar

if TYPE_CHECKING:
    import scipy.sparse

__all__ = [
    "UNSPACED",
    "WORDS",
    "CountedTexts",
    "WordCounts",
    "Words",
    "character_lengths",
    "check_unit",
    "ngram_lengths",
    "segmented",
    "unspaced",
]

WORDS = "words"
"""What a text is cut into by default."""

# What texts are cut into, besides characters:N-M.
UNITS = (WORDS, "blanks")

# How models that say nothing of their words cut texts, as scikit-learn does.
_PLAIN = re.compile(r"(?u)\b\w\w+\b")
# Characters of the scripts without blanks between words: Thai, Lao, Burmese, Khmer, Japanese and Chinese.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
_HAS_UNSPACED = re.compile(f"[{UNSPACED}]")
_HAS_BLANKS = re.compile(f"[{UNSPACED}] +[{UNSPACED}]")
_RUN = re.compile(f"[{UNSPACED}]+")
# Most characters that words of such scripts have on average; phrases have more.
_LONGEST_WORDS = 4
# Zero-width joiners stand inside words of Persian and of Indic languages.
_JOINERS = "\u200c\u200d"
_LONGEST = 100


def _range(name: str, value: object, text: str, example: str) -> tuple[int, int]:
    """Return the least and the greatest length in a text such as 2 or 1-3; raise OptionError for another text."""
    first, _, last = text.partition("-")
    lengths = [int(each) if each.isdecimal() and len(each) <= 3 else 0 for each in (first, last or first)]
    if not 1 <= lengths[0] <= lengths[1] <= _LONGEST:
        fail(name, value, f"is not a range of lengths; give, for example, {example}")
    return lengths[0], lengths[1]


def ngram_lengths(name: str, value: object) -> tuple[int, int]:
    """Return the least and the greatest length in a value such as 1-2; raise OptionError for another value."""
    return _range(name, value, str(value), "'1', '2' or '1-3'")


def character_lengths(unit: str | None) -> tuple[int, int] | None:
    """Return the lengths in characters:N-M; None for words."""
    kind, colon, lengths = (unit or "").partition(":")
    return _range("words", unit, lengths, "characters:2-4") if kind == "characters" and colon else None


def check_unit(name: str, value: object) -> None:
    """Raise OptionError if a value does not say what texts are cut into."""
    if not isinstance(value, str) or (value not in UNITS and character_lengths(value) is None):
        suggestion = similar(str(value), (*UNITS, "characters:2-4"))
        fail(name, value, f"is none of words, blanks and characters:N-M, such as characters:2-4{suggestion}")


class Words:
    """Cuts texts into words, in lower case and composed form (NFC), or into sequences of characters.

    Args:
        unit: ``words``: runs of letters, digits and marks of any script, C++ and C# among them; scripts without blanks,
            such as Chinese and Thai, are cut into pairs of characters. ``characters:N-M``: all sequences of N to M
            characters. ``blanks``: what blanks separate. None for words of two or more letters and digits, which older
            models have.
        ngrams: least and greatest length of the sequences of words.
    """

    def __init__(self, unit: str | None = WORDS, ngrams: tuple[int, int] = (1, 1)) -> None:
        self.unit, self.ngrams = unit, ngrams
        self._lengths = character_lengths(unit)
        self._marks: frozenset[str] = frozenset()
        self._pattern = _word_pattern(self._marks)

    def of(self, text: str) -> list[str]:
        """Return the words of a text in their order, with repetitions; or its sequences of words or characters."""
        if self._lengths is not None:
            return _characters_of(text, *self._lengths)
        words = self.single(text)
        first, last = self.ngrams
        if last == 1:
            return words
        return [
            " ".join(words[at : at + length])
            for length in range(first, last + 1)
            for at in range(len(words) - length + 1)
        ]

    def single(self, text: str) -> list[str]:
        """Return the words of a text, one by one."""
        if self.unit is None:
            return _PLAIN.findall(text.lower())
        text = unicodedata.normalize("NFC", text).lower()
        if self.unit == "blanks":
            return text.split()
        if text.isascii():
            return self._pattern.findall(text)
        self._meet(text)
        words: list[str] = self._pattern.findall(text)
        if not _HAS_UNSPACED.search(text):
            return words
        return [piece for word in words for piece in self._pieces(word)]

    def _meet(self, text: str) -> None:
        """Make the pattern of words know the marks in a text."""
        marks = frozenset(each for each in set(text) if unicodedata.category(each)[0] == "M") - self._marks
        if marks:
            self._marks |= marks
            self._pattern = _word_pattern(self._marks)

    def _pieces(self, word: str) -> Iterator[str]:
        """Yield the parts of a word in scripts with blanks, and pairs of characters, with their marks, in others."""
        for part in _parts(self._marks).findall(word):
            if not _HAS_UNSPACED.match(part):
                yield part
                continue
            characters: list[str] = _characters(self._marks).findall(part)
            yield from map("".join, pairwise(characters)) if len(characters) > 1 else (part,)


def _characters_of(text: str, first: int, last: int) -> list[str]:
    """Return the sequences of characters of a text, which begins and ends with a blank; no blank by itself."""
    text = f" {' '.join(unicodedata.normalize('NFC', text).lower().split())} "
    return [
        text[at : at + length]
        for length in range(first, last + 1)
        for at in range(len(text) - length + 1)
        if length > 2 or not text[at : at + length].isspace()
    ]


def unspaced(texts: Sequence[str]) -> float:
    """Return the share of texts with characters of scripts without blanks, such as Chinese."""
    return sum(_HAS_UNSPACED.search(text) is not None for text in texts) / max(len(texts), 1)


def segmented(texts: Sequence[str]) -> bool:
    """Whether most texts in scripts without blanks between words have such blanks, as word segmenters add them."""
    chosen = [text for text in texts if _HAS_UNSPACED.search(text)]
    n_cut = sum(_HAS_BLANKS.search(text) is not None for text in chosen)
    runs = [len(run) for text in chosen for run in _RUN.findall(text)]
    return 2 * n_cut > len(chosen) and sum(runs) <= _LONGEST_WORDS * len(runs)


@lru_cache
def _word_pattern(marks: frozenset[str]) -> re.Pattern[str]:
    r"""Return the pattern of words: letters, digits and marks, perhaps followed by ++ or # as in C++.

    `\w` of Python knows no marks (`\p{M}`), without which Hindi and Thai fall into pieces.
    """
    letter = rf"[\w{_JOINERS}{''.join(sorted(marks))}]"
    return re.compile(rf"\w{letter}*(?:(?:\+\+|#)(?![\w+#]))?")


@lru_cache
def _parts(marks: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of the parts of a word, each in scripts without blanks or in others."""
    return re.compile(f"[{UNSPACED}][{UNSPACED}{_JOINERS}{''.join(sorted(marks))}]*|[^{UNSPACED}]+")


@lru_cache
def _characters(marks: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of a character with its marks."""
    return re.compile(f".[{_JOINERS}{''.join(sorted(marks))}]*", re.DOTALL)


class WordCounts:
    """The attributes of texts: their words with their counts, or weighted by tf-idf.

    Attributes:
        words: cuts texts.
        vocabulary: the words, sorted.
        columns: number of each word, from 0: its column in `matrix`.
        idf: inverse document frequency of each word; None for counts.
        document_counts: number of texts of the training data with each word; None in older models.
        n_texts: number of texts of the training data.
    """

    def __init__(
        self,
        words: Words,
        vocabulary: Sequence[str],
        *,
        idf: Sequence[float] | None = None,
        document_counts: Sequence[int] | None = None,
        n_texts: int = 0,
    ) -> None:
        self.words, self.vocabulary, self.idf = words, vocabulary, idf
        self.document_counts, self.n_texts = document_counts, n_texts
        if document_counts is not None:
            self.idf = [math.log((1 + n_texts) / (1 + count)) + 1.0 for count in document_counts]
        self.columns = {word: column for column, word in enumerate(vocabulary)}

    @classmethod
    def fit(
        cls, texts: Iterable[str], words: Words, *, tfidf: bool = False, min_count: int = 1, reserved: str | None = None
    ) -> CountedTexts:
        """Return the words of some texts, and their attributes as a matrix, shape (texts, words).

        Args:
            texts: the training data.
            words: cuts texts.
            tfidf: whether to weight words by tf-idf: a word's value is (1 + log count) times 1 + log((1 + texts) / (1 +
                texts with the word)), and each text is scaled to a Euclidean norm of 1.
            min_count: least number of texts with a word; other words are left out.
            reserved: a name that no attribute may have; such a word is left out.

        Raises:
            DataError: no word is left.
        """
        import numpy as np  # here: labelling text needs no NumPy

        numbers: dict[str, int] = {}
        ends, columns, counts = array("q", [0]), array("q"), array("d")
        for text in texts:
            row = Counter(words.of(text))
            columns.extend([numbers.setdefault(word, len(numbers)) for word in row])
            counts.extend(row.values())
            ends.append(len(columns))
        names, n_texts = list(numbers), len(ends) - 1
        document_counts = np.bincount(np.array(columns), minlength=len(names))
        if reserved in numbers:
            document_counts[numbers[reserved]] = 0
        order = sorted(np.flatnonzero(document_counts >= max(min_count, 1)).tolist(), key=names.__getitem__)
        if not order:
            _refuse_without_words(words, min_count if names else 0)
        matrix = _matrix(ends, columns, counts, len(names))[:, order]
        vocabulary, frequencies = [names[at] for at in order], document_counts[order].tolist()
        if not tfidf:
            return CountedTexts(cls(words, vocabulary), matrix)
        weighted = cls(words, vocabulary, document_counts=frequencies, n_texts=n_texts)
        matrix.data = (1.0 + np.log(matrix.data)) * np.array(weighted.idf)[matrix.indices]
        lengths = np.sqrt(np.add.reduceat(np.append(matrix.data**2, 0.0), matrix.indptr[:-1]))
        matrix.data /= np.repeat(lengths, np.diff(matrix.indptr))
        return CountedTexts(weighted, matrix)

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> WordCounts:
        """Return the words of a model from what `settings` has returned; older models lack some of the settings."""
        first, last = settings["ngrams"]
        words = Words(settings.get("unit"), (first, last))
        counts, n_texts = settings.get("document_counts"), settings.get("n_texts", 0)
        return cls(words, settings["words"], idf=settings["idf"], document_counts=counts, n_texts=n_texts)

    def settings(self) -> dict[str, Any]:
        """Return what a model's file keeps, ready for JSON."""
        shared = {"unit": self.words.unit, "ngrams": list(self.words.ngrams), "words": self.vocabulary}
        if self.document_counts is None:
            return {**shared, "idf": self.idf}
        return {**shared, "idf": None, "document_counts": self.document_counts, "n_texts": self.n_texts}

    def options(self) -> dict[str, Any]:
        """Return how texts became attributes: words (None in older models), ngrams and tfidf, as in `TextOptions`."""
        first, last = self.words.ngrams
        ngrams = str(first) if first == last else f"{first}-{last}"
        return {"words": self.words.unit, "ngrams": ngrams, "tfidf": self.idf is not None}

    def rows(self, texts: Iterable[str]) -> Iterator[dict[str, float]]:
        """Yield the attributes of each text; words that the vocabulary lacks are left out."""
        for text in texts:
            counts = Counter(word for word in self.words.of(text) if word in self.columns)
            if self.idf is None:
                yield {word: float(count) for word, count in counts.items()}
                continue
            row = {word: self._value(count) * self.idf[self.columns[word]] for word, count in counts.items()}
            norm = math.sqrt(sum(value * value for value in row.values()))
            yield {word: value / norm for word, value in row.items()}

    def _value(self, count: int) -> float:
        return float(count) if self.document_counts is None else 1.0 + math.log(count)

    def matrix(self, texts: Iterable[str]) -> scipy.sparse.csr_array:
        """Return the attributes of texts, shape (texts, words)."""
        ends, columns, values = array("q", [0]), array("q"), array("d")
        for row in self.rows(texts):
            columns.extend(map(self.columns.__getitem__, row))
            values.extend(row.values())
            ends.append(len(columns))
        return _matrix(ends, columns, values, len(self.vocabulary))


class CountedTexts(NamedTuple):
    """Texts to train on.

    Attributes:
        counts: their words.
        matrix: their attributes, shape (texts, words).
    """

    counts: WordCounts
    matrix: scipy.sparse.csr_array


def _refuse_without_words(words: Words, min_count: int) -> NoReturn:
    """Raise DataError: no word occurs in `min_count` texts, or with 0 there is none at all."""
    message = "the texts have no words; choose words='characters:1-3' (--words characters:1-3), or check the file"
    if min_count:
        message = f"no word occurs in {min_count} or more texts; lower min_count (--min-count)"
    elif words.ngrams[0] > 1:
        message = f"no text has {words.ngrams[0]} words; choose a shorter length of ngrams (--ngrams)"
    raise DataError(message)


def _matrix(ends: array[int], columns: array[int], values: array[float], width: int) -> scipy.sparse.csr_array:
    import numpy as np
    import scipy.sparse

    shape = (len(ends) - 1, width)
    return scipy.sparse.csr_array((np.array(values), np.array(columns), np.array(ends)), shape=shape)
