"""The words of sentences, to be shown to people: of files, of Python objects, of corpora that have attributes only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import TYPE_CHECKING, Any

from .columns import as_lists
from .corpus import Corpus
from .formats import is_corpus, word
from .stored_words import stored_words
from .token_lines import token_lines

if TYPE_CHECKING:
    from .inputs import Sentences

__all__ = ["corpus_words", "file_words", "in_context", "read_once", "sample_texts", "shown_words"]

# Attributes of a sample that are shown.
_ATTRIBUTES = 12
# Words of a sentence on each side of the tokens in brackets.
_AROUND = 8


def corpus_words(corpus: Corpus) -> list[list[str]]:
    """Return what stands for each token of a corpus; see `stored_words`."""
    return stored_words(corpus.core, corpus.template)


def read_once(sentence: Any) -> Any:
    """Return a sentence that can be read again: a generator, of tokens or of what a token consists of, becomes a list.

    Example:
        >>> from loglinear.data.tokens import read_once
        >>> read_once(word for word in "ab")
        ['a', 'b']
    """
    tokens = list(sentence) if isinstance(sentence, Iterator) else sentence
    if isinstance(tokens, list) and any(isinstance(token, Iterator) for token in tokens):
        return [list(token) if isinstance(token, Iterator) else token for token in tokens]
    return tokens


def shown_words(X: Corpus | Sentences, corpus: Corpus) -> list[list[str]]:
    """Return the words of sentences that were encoded into a corpus; X may be the corpus itself."""
    return corpus_words(corpus) if isinstance(X, Corpus) else [[word(token) for token in sentence] for sentence in X]


def file_words(path: str, format: str, corpus: Corpus) -> list[list[str]]:
    """Return the words of a file that was read into a corpus; of formats without words the first attributes.

    Raises:
        OSError: the file cannot be read.
    """
    if not is_corpus(path):
        words_by_sentence = [
            [word for _, word in tokens if word is not None] for tokens in token_lines(path, format, corpus.columns)
        ]
        if [len(words) for words in words_by_sentence] == corpus.core.lengths():
            return words_by_sentence
    return corpus_words(corpus)


def sample_texts(X: Any, corpus: Corpus | None, n_samples: int) -> list[str]:
    """Return what stands for each sample of a classifier: its attributes, or its number, from 1.

    Args:
        X: the samples.
        corpus: the samples as a corpus; None for a matrix.
        n_samples: number of samples.
    """
    if corpus is None:
        return [f"sample {number}" for number in range(1, n_samples + 1)]
    if X is corpus:
        return [text for words in corpus_words(corpus) for text in words]
    return [" ".join(islice(_named(sample), _ATTRIBUTES)) for sample in as_lists(X, "X")]


def _named(sample: Iterable[object]) -> Iterator[str]:
    """Yield the attributes of a sample."""
    if isinstance(sample, Mapping):
        yield from (f"{name}={_in_order(value)}" for name, value in sample.items())
    else:
        yield from sorted(map(str, sample)) if isinstance(sample, Set) else map(str, sample)


def _in_order(value: object) -> str:
    """Return a value as text, with the items of sets sorted: their order depends on the hashes of this process."""
    if isinstance(value, Set):
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_in_order(item)}' for name, item in value.items())}}}"
    return str(value)


def in_context(words: Sequence[str], start: int, end: int) -> str:
    """Return a sentence with some tokens in brackets, without words that are far from them."""
    first, last = max(start - _AROUND, 0), min(end + _AROUND, len(words))
    parts = ["..."] * (first > 0) + [*words[first:start], f"[{' '.join(words[start:end])}]", *words[end:last]]
    return " ".join(parts + ["..."] * (last < len(words)))
