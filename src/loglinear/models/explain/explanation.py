"""Why a token has this label and not another one: the difference of two labellings' scores, feature by feature.

The same words serve for samples of a classifier and variables of a network, each a separate token.

A score is the sum of the weights of the features that a labelling has, in nats: log p(y | x) = score(y) - log Z(x).
The runner-up of a token is the best labelling in which the token has another label. It may differ from the best
labelling at other tokens as well; contributions of these tokens' features belong to the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from ...visible import visible, visible_name

__all__ = ["Contribution", "Explanation", "TokenExplanation", "page"]

# Number of contributions shown for a token; the sum of the others follows.
SHOWN = 8
# Number of characters shown of a text.
LONGEST = 80
# How a page explains its numbers.
_INTRODUCTIONS = {
    "tokens": "For each token: its label, its label in the best alternative label sequence, and the contribution of "
    "each weight to the difference of the two scores, in nats.",
    "texts": "For each text: its label, the second-best label, and the contribution of each word to the difference of "
    "the two scores, in nats.",
    "samples": "For each sample: its label, the second-best label, and the contribution of each attribute or column "
    "to the difference of the two scores, in nats.",
    "variables": "For each variable and its observed value: the most probable state given all other variables, the "
    "second-best state, and the contribution of each weight to their log odds, in nats.",
}
_STYLE = """<style>
.loglinear-explanation { font-family: system-ui, sans-serif; line-height: 1.4; max-width: 52rem; }
.loglinear-explanation summary { cursor: pointer; padding: .15rem 0; }
.loglinear-explanation table { border-collapse: collapse; margin: .2rem 0 .8rem 1.5rem; font-size: .9rem; }
.loglinear-explanation caption { text-align: left; padding: 0 .7rem; }
.loglinear-explanation th, .loglinear-explanation td { padding: .1rem .7rem; text-align: left; }
.loglinear-explanation td.number { text-align: right; font-variant-numeric: tabular-nums; }
.loglinear-explanation .label { font-weight: 600; }
.loglinear-explanation .bar { display: inline-block; height: .7em; background: #1b7f5c; }
.loglinear-explanation .against { background: #b5482f; }
</style>"""


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
        """Return the label and the strongest contributions as text."""
        return self.lines(SHOWN)

    def __repr__(self) -> str:
        """Return a short account on one line."""
        return f"<explanation of token {self.token + 1}: {_named(self)}{_rivals(self)}>"

    def lines(self, top: int) -> str:
        """Return the label and the strongest contributions, one in a line, as text."""
        rows = [f"     {weight:+8.3f}  {visible_name(name)}" for weight, name in _strongest(self, top)]
        return "\n".join([f"{self.token + 1:3d}  {_named(self)}{_rivals(self)}", *rows])


@dataclass(frozen=True, repr=False)
class Explanation(Sequence[TokenExplanation]):
    """Why the tokens of a sentence have their labels; a sequence with an entry for each token.

    Printed it has the strongest contributions of each token; a notebook shows them as a table.
    """

    tokens: list[TokenExplanation]

    def __getitem__(self, index: Any) -> Any:
        """Return the explanation of a token."""
        return self.tokens[index]

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.tokens)

    @property
    def labels(self) -> list[str]:
        """Labels of the best labelling."""
        return [explained.label for explained in self.tokens]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the strongest contributions of each token as text."""
        return self.text()

    def __repr__(self) -> str:
        """Return the labels on one line, so that a list of explanations can be read."""
        return f"<explanation of {len(self)} label{'' if len(self) == 1 else 's'}: {_called(' '.join(self.labels))}>"

    def text(self, top: int = SHOWN) -> str:
        """Return the strongest contributions of each token as text.

        Args:
            top: contributions of a token; the sum of the others follows.
        """
        return "\n".join(explained.lines(top) for explained in self.tokens)

    def html(self, top: int = SHOWN) -> str:
        """Return the same as HTML, with a part to unfold for each token."""
        parts = [_token_html(explained, top) for explained in self.tokens]
        return f'<div class="loglinear-explanation">{_STYLE}{"".join(parts)}</div>'

    def _repr_html_(self) -> str:
        return self.html()


def page(
    explanations: Sequence[Explanation], title: str, top: int = SHOWN, noun: str = "Sentence", explained: str = "tokens"
) -> str:
    """Return a page of HTML, without anything from elsewhere, of explanations.

    Args:
        explanations: of sentences, texts or samples.
        title: of the page.
        top: contributions of a token that are shown.
        noun: what an explanation explains: Sentence, Text or Sample.
        explained: what has a label in it: tokens, texts, samples or variables.
    """
    parts = [
        f"<section><h2>{noun} {number}</h2>{explanation.html(top)}</section>"
        for number, explanation in enumerate(explanations, start=1)
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        f'content="light dark"><title>{escape(title)}</title></head><body style="margin: 1rem; font-family: '
        f'system-ui, sans-serif"><h1>{escape(title)}</h1><p>{_INTRODUCTIONS[explained]}</p>{"".join(parts)}'
        "</body></html>\n"
    )


def _called(text: str) -> str:
    """Return the text to show: the beginning of a long one, with blanks in place of tabs and ends of lines."""
    text = visible(" ".join(text.split()))
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def _named(explained: TokenExplanation) -> str:
    return f"{_called(explained.text)}  " if explained.text else ""


def _rivals(explained: TokenExplanation) -> str:
    """Return the two labels with their probabilities, and the difference."""
    first = f"{visible_name(explained.label)} {explained.probability:.3f}"
    if explained.other is None:
        return f"{first}, no other label is possible"
    other = f"{visible_name(explained.other)} {explained.other_probability:.3f}"
    return f"{first}, not {other}: {explained.difference:+.3f}"


def _strongest(explained: TokenExplanation, top: int) -> list[tuple[float, str]]:
    """Return weights and names of the strongest contributions of a token, and of all others together."""
    shown = []
    for part in explained.contributions[:top]:
        away = part.token - explained.token
        shown.append((part.weight, part.name + (f"  (token {part.token + 1})" if away else "")))
    if others := explained.contributions[top:]:
        shown.append((sum(part.weight for part in others), f"{len(others)} other{'s' * (len(others) > 1)}"))
    return shown


def _token_html(explained: TokenExplanation, top: int) -> str:
    rows = _strongest(explained, top)
    most = max((abs(weight) for weight, _ in rows), default=1.0)
    lines = []
    for weight, name in rows:
        kind = "bar" if weight > 0 else "bar against"
        bar = f'<span class="{kind}" style="width: {7 * abs(weight) / most:.2f}rem"></span>'
        lines.append(f'<tr><td class="number">{weight:+.3f}</td><td>{escape(name)}</td><td>{bar}</td></tr>')
    heads = '<tr><th scope="col">nats</th><th scope="col">feature</th><td></td></tr>'
    caption = f"<caption>{escape(explained.label)}, not {escape(str(explained.other))}</caption>"
    table = f"<table>{caption}{heads}{''.join(lines)}</table>" if lines else ""
    text = f"{escape(_called(explained.text))} " if explained.text else f"token {explained.token + 1} "
    rivals = escape(_rivals(explained).removeprefix(visible_name(explained.label)))
    label = f'<span class="label">{escape(explained.label)}</span>'
    return f"<details><summary>{text}{label}{rivals}</summary>{table}</details>"
