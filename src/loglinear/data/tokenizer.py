"""Raw text cut into tokens, with their places in the text.

The module imports nothing that labelling text can do without.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .. import _core
from ..errors import DataWarning, OptionError, warn
from ..options import fail, similar

__all__ = ["TOKENIZERS", "Tokenizer", "as_tokenizer", "check_tokenizer"]

TOKENIZERS: tuple[str, ...] = tuple(_core.Tokenizer.presets())
"""Names of the tokenizers."""


class Tokenizer:
    r"""Cuts texts into tokens, by a rule: a tokenizer with a name, or a regular expression.

    - ``whitespace``: what blanks separate.
    - ``words``: words, numbers, and every other character that is not a blank. A word is a run of letters, digits and
      marks of any script, with the apostrophes and hyphens inside it (King's, twenty-one); a number may have points and
      commas (1,250.50). Scripts without blanks, such as Chinese, are not cut into words: use ``characters``.
    - ``characters``: every character that is not a blank, with the marks after it.
    - any other text is a regular expression, in the syntax of Rust's crate ``regex``. Every match is a token. The
      tokenizers above are expressions, too: see `expression`.

    The words of text classifiers (``loglinear train --format text``) are something else: they are in lower case and
    composed form and have no place in the text, overlap in scripts without blanks, and leave out punctuation, which
    taggers have to label.

    A byte order mark at the beginning of a text belongs to no token. The same object may be used by several threads.

    Args:
        spec: name of a tokenizer, or a regular expression.

    Raises:
        OptionError: the expression is not valid, or matches the empty string.

    Example:
        >>> from loglinear import Tokenizer
        >>> words = Tokenizer("words")
        >>> words.tokens("Who's there? Ada, 21.")
        ["Who's", 'there', '?', 'Ada', ',', '21', '.']
        >>> words.offsets("Ada, 21.")
        [(0, 3), (3, 4), (5, 7), (7, 8)]
        >>> Tokenizer(r"\w+|\$").tokens("$5 for 2")
        ['$', '5', 'for', '2']
    """

    def __init__(self, spec: str) -> None:
        self.core = _compiled("tokenizer", spec)
        self.spec = spec

    def __repr__(self) -> str:
        return f"Tokenizer({self.spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash((Tokenizer, self.spec))

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[str]]:
        return Tokenizer, (self.spec,)

    @property
    def expression(self) -> str:
        """The regular expression whose matches are the tokens."""
        return self.core.expression

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where each token starts and ends in a text, in characters (code points): `text[start:end]`.

        Raises:
            DataError: the text is not a str, or not valid Unicode.
        """
        return self.core.offsets(text)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, from left to right.

        Raises:
            DataError: the text is not a str, or not valid Unicode.
        """
        return self.core.tokens(text)


def as_tokenizer(tokenizer: str | Tokenizer, trained: str | Tokenizer | None = None) -> Tokenizer:
    """Return a tokenizer, which may be given by its name or expression.

    Args:
        tokenizer: the tokenizer, its name or its expression.
        trained: the tokenizer of the model that will label the tokens, if it has one.

    Raises:
        OptionError: the tokenizer is not valid.

    Warns:
        DataWarning: the model has another tokenizer.
    """
    chosen = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
    if trained is not None and (other := as_tokenizer(trained)).expression != chosen.expression:
        message = f"the tokenizer {chosen.spec!r} replaces {other.spec!r}, with which the model was trained, so that "
        message += "the model may not know the tokens; leave out tokenizer (--tokenizer) to cut text as in training"
        warn(message, DataWarning)
    return chosen


def check_tokenizer(name: str, value: object) -> None:
    """Raise OptionError if a value is neither the name of a tokenizer nor an expression that can cut texts.

    Args:
        name: of the option, for the message.
        value: of the option.
    """
    _compiled(name, value)


def _compiled(name: str, spec: object) -> _core.Tokenizer:
    """Return the native tokenizer of a name or an expression; see `check_tokenizer`."""
    names = ", ".join(TOKENIZERS)
    if not isinstance(spec, str):
        fail(name, spec, f"is neither one of {names} nor a regular expression")
    if spec not in TOKENIZERS and re.fullmatch("[A-Za-z_-]*", spec):
        fail(
            name, spec, f"is not one of {names}{similar(spec, TOKENIZERS)}; an expression for one word is like (?:word)"
        )
    try:
        return _native(spec)
    except UnicodeEncodeError:
        fail(name, spec, "is not valid Unicode; give a regular expression of valid characters")
    except OptionError as error:
        fail(name, spec, str(error))


_native = lru_cache(maxsize=16)(_core.Tokenizer)
