"""Why one token has its label: the contributions of features, and their account as text. See `explanation`."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...visible import shortened, visible, visible_name

__all__ = ["NARROW", "SHOWN", "Contribution", "TokenExplanation", "called", "on_screen"]

# Number of contributions shown for a token; the sum of the others follows.
SHOWN = 8
# Number of characters shown of a text.
LONGEST = 80
# The same on a screen, and columns of a screen.
NARROW, _COLUMNS = 30, 80


@dataclass(frozen=True)
class Contribution:
    """What a feature adds to the difference of two labellings' scores.

    Attributes:
        token: number of the token that has the feature, from 0; of a transition, the last of its tokens.
        feature: the attribute; of a transition the labels in a row, of the best labelling and of the runner-up.
        weight: the weight in the best labelling less that in the runner-up, times the attribute's value, in nats.
        name: what people call the feature, such as "previous word = the" for the attribute `U01:the` of a template.
    """

    token: int
    feature: str
    weight: float
    name: str


@dataclass(frozen=True, repr=False)
class TokenExplanation:
    """Why a token has its label.

    Attributes:
        token: its number, from 0.
        text: what it is called; empty if it has no name.
        label: its label in the best labelling.
        probability: marginal probability of the label.
        other: its label in the runner-up; None if it can have no other.
        other_probability: marginal probability of that label.
        runner_up: labels of the runner-up.
        difference: score of the best labelling less the runner-up's, in nats, the sum of the contributions.
        contributions: those that are not 0, the largest first.
    """

    token: int
    text: str
    label: str
    probability: float
    other: str | None = None
    other_probability: float = 0.0
    runner_up: list[str] = field(default_factory=list)
    difference: float = 0.0
    contributions: list[Contribution] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the label and the strongest contributions as text that fits a screen."""
        return on_screen(self.lines(SHOWN, NARROW))

    def __repr__(self) -> str:
        """Return a short account on one line."""
        return f"<explanation of token {self.token + 1}: {_named(self, NARROW)}{_rivals(self)}>"

    def lines(self, top: int, longest: int = LONGEST) -> str:
        """Return the label and the strongest contributions, one in a line, as text.

        Args:
            top: contributions; the sum of the others follows.
            longest: characters of the token.
        """
        rows = [
            f"     {weight:+8.3f}  {visible_name(name)}" + ("" if at is None else f"  (token {at + 1})")
            for weight, name, at in self.strongest(top)
        ]
        return "\n".join([self.line(longest), *rows])

    def line(self, longest: int = LONGEST) -> str:
        """Return the token and its labels on one line."""
        return f"{self.token + 1:3d}  {_named(self, longest)}{_rivals(self)}"

    def strongest(self, top: int) -> list[tuple[float, str, int | None]]:
        """Return the strongest contributions, and all others together: weight, name, and token if it is another."""
        rows: list[tuple[float, str, int | None]] = [
            (part.weight, part.name, None if part.token == self.token else part.token)
            for part in self.contributions[:top]
        ]
        if others := self.contributions[top:]:
            name = f"{len(others)} other{'s' * (len(others) > 1)}"
            rows.append((sum(part.weight for part in others), name, None))
        return rows


def called(text: str, longest: int = LONGEST) -> str:
    """Return the text to show: the beginning of a long one, with blanks in place of tabs and ends of lines."""
    text = visible(" ".join(text.split()))
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def on_screen(text: str) -> str:
    """Return lines that are not wider than a screen."""
    return "\n".join(shortened(line, _COLUMNS) for line in text.split("\n"))


def _named(explained: TokenExplanation, longest: int) -> str:
    return f"{called(explained.text, longest)}  " if explained.text else ""


def _rivals(explained: TokenExplanation) -> str:
    """Return the two labels with their probabilities, and the difference."""
    first = f"{visible_name(explained.label)} {explained.probability:.3f}"
    if explained.other is None:
        return f"{first}, no other label is possible"
    other = f"{visible_name(explained.other)} {explained.other_probability:.3f}"
    return f"{first}, not {other}: {explained.difference:+.3f}"
