"""Whether a chain can label raw text: its template needs words alone, and its tokenizer cuts as its data are cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from .. import _core
from ..errors import OptionError
from ..visible import shortened
from .stored_words import has_words
from .tokenizer import Tokenizer, check_tokenizer
from .tokens import corpus_words

if TYPE_CHECKING:
    from .corpus import Corpus

__all__ = ["check_fits", "misfit", "misfit_of"]

# Sentences that are looked at, and the share of odd tokens that is worth a warning: corpora of words cut a few words,
# such as clitics and abbreviations, as no rule does.
_LOOKED_AT, _SHARE = 1000, 0.1
# The share of marks after words from which on texts have been cut before and after them.
_MARKS = 0.02
# Marks that text writes after a word without a blank between them.
_CLOSING = re.compile(r"[.,;:!?)\]]+$")


def check_fits(tokenizer: str, template: str | None) -> None:
    """Raise OptionError if a tokenizer is not valid, or a model with a template cannot label text.

    Args:
        tokenizer: of the model.
        template: text of the template; None if attributes are formed elsewhere.
    """
    check_tokenizer("tokenizer", tokenizer)
    name = f"tokenizer={shortened(repr(tokenizer), 60)}"
    if template is None:
        message = f"{name} needs a template that forms attributes from the tokens of a text; give template in Python "
        message += "(--preset or --template), or leave out the tokenizer"
        raise OptionError(message)
    if (n_columns := _core.check_template(template)) > 1:
        message = (
            f"{name}: the template looks at {n_columns} columns, but a token cut from text has one; use a template "
        )
        message += "for words alone, such as the presets ner and pos, or leave out the tokenizer"
        raise OptionError(message)


def misfit(tokenizer: str, corpus: Corpus) -> str | None:
    """Return why training data do not look as if their texts had been cut by a tokenizer; None if they do.

    Only corpora whose template tells the words can be looked at.

    Args:
        tokenizer: name or expression.
        corpus: the training data.
    """
    if not has_words(corpus.template):
        return None
    return misfit_of(tokenizer, corpus_words(corpus[range(min(len(corpus), _LOOKED_AT))]))


def misfit_of(tokenizer: str, sentences: Sequence[Sequence[str]]) -> str | None:
    """Return why sentences do not look as if their texts had been cut by a tokenizer, and what to do.

    Tokens that the tokenizer cuts further, or not at all, cannot come from it. Neither can two tokens that text writes
    without a blank between them, such as a word and a full stop, and that the tokenizer leaves together.

    Example:
        >>> from loglinear.data.token_fit import misfit_of
        >>> print(misfit_of("words", [["New York", "is", "big"]]).partition(" further")[0])
        the tokenizer 'words' does not suit the training data: it cuts 33 % of their tokens
        >>> misfit_of("words", [["Ada", "wrote", "."]]) is None
        True
    """
    cutter, n_tokens = Tokenizer(tokenizer), sum(map(len, sentences))
    start = f"the tokenizer {shortened(repr(tokenizer), 60)} does not suit the training data"
    odd = [token for sentence in sentences for token in sentence if cutter.tokens(token) != [token]]
    if len(odd) >= max(_SHARE * n_tokens, 1):
        token = min(odd, key=len)
        parts = ", ".join(repr(shortened(part)) for part in cutter.tokens(token)[:5]) or "nothing"
        share = f"{100.0 * len(odd) / n_tokens:.0f} % of their tokens"
        what = f"it cuts {share} further, such as {shortened(repr(token))} into {parts}; choose another one"
        return f"{start}: {what} (--tokenizer), or cut the training data with it"
    pairs = [(a, b) for sentence in sentences for a, b in pairwise(sentence) if _CLOSING.match(b) and a[-1:].isalnum()]
    together = [(a, b) for a, b in pairs if len(cutter.tokens(a + b)) == 1]
    if len(together) >= max(_SHARE * len(pairs), _MARKS * n_tokens, 1):
        a, b = together[0]
        what = f"it leaves {shortened(repr(a + b))} together, of which they have {b!r} apart; choose another one"
        return f"{start}: {what}, such as words (--tokenizer), or cut the training data with it"
    return None
