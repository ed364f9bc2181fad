"""Answers of `loglinear tag` that are less probable than --min-probability: what is written for them, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import DataError, OptionError
from ..visible import counted
from .output import say

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

__all__ = ["Withheld", "add_withheld"]

# What is written in columns for a token without a label.
NO_LABEL = "?"


def add_withheld(parser: ArgumentParser) -> None:
    """Add --min-probability, --below and --rest."""
    least = (
        "withhold answers that are less probable than P, from 0 to 1: of entities if the labels have spans, else of "
        "tokens; --probabilities chooses another kind"
    )
    parser.add_argument("--min-probability", type=float, metavar="P", help=least)
    below = f"with --min-probability: label to write for a withheld one, such as O (default: {NO_LABEL})"
    parser.add_argument("--below", metavar="LABEL", help=below)
    rest = "with --min-probability: write whole sentences with a less probable answer to FILE, for a person to check"
    parser.add_argument("--rest", metavar="FILE", help=rest)


class Withheld(NamedTuple):
    """What becomes of answers that are not probable enough.

    Attributes:
        least: the least probability of an answer that is written.
        below: label that is written for one below it; None for no label.
        rest: file to which sentences with such an answer are written as they are; None to write them with the others.
    """

    least: float
    below: str | None
    rest: str | None

    @classmethod
    def of(cls, arguments: Namespace) -> Withheld | None:
        """Return what the arguments ask for; None without --min-probability.

        Raises:
            OptionError: the probability is none; --below or --rest do not fit the other options.
        """
        from ..data.writing import check_labels

        least, below, rest = arguments.min_probability, arguments.below, arguments.rest
        if least is None:
            option = "--below" if below is not None else "--rest"
            if below is not None or rest is not None:
                message = f"{option} needs --min-probability, which says which answers are withheld"
                raise OptionError(message)
            return None
        if not 0.0 <= least <= 1.0:
            message = f"--min-probability {least:g} is not a probability; give a number from 0 to 1"
            raise OptionError(message)
        if below is not None and rest is not None:
            message = "--below and --rest cannot be combined: sentences written apart keep their labels; leave out one"
            raise OptionError(message)
        if below is not None:
            try:
                check_labels([below], f"give a label such as O or {NO_LABEL}", place="blanks", what="--below")
            except DataError as error:
                raise OptionError(str(error)) from error
        return cls(least, below, rest)

    @property
    def mark(self) -> str:
        """What is written on a line for a withheld label."""
        return NO_LABEL if self.below is None else self.below

    def tell(self, path: str, sentences: int, sentences_below: int, tokens: int, tokens_below: int) -> None:
        """Say how many answers were withheld, if there are any; samples are sentences of one token."""
        if not sentences:  # which another message says
            return
        shares = f"{sentences_below:,} of {counted(sentences, 'sentence')}"
        if tokens != sentences:
            shares += f" ({tokens_below:,} of {counted(tokens, 'token')})"
        else:
            shares = f"{tokens_below:,} of {counted(tokens, 'label')}"
        if self.rest is not None:
            fate = f"{'it is' if sentences_below == 1 else 'they are'} in {self.rest}"
        else:
            fate = f"the labels are written as {self.mark}"
        verb = "is" if sentences_below == 1 else "are"
        say(f"note: {path}: {shares} {verb} below a probability of {self.least:g}; {fate}")
