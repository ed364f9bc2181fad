"""A page of explanations, the sister of the report: one file that needs neither a network nor JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from ...report.labelled import shown
from ...report.style import head
from .explanation import Explanation
from .fragment import UNSURE, Fragment, colours_of
from .token_explanation import SHOWN, called

__all__ = ["INTRODUCTIONS", "explanation_page"]

# Number of least certain labels that the page links to.
_LEAST_CERTAIN = 10
# Number of labels whose colours are listed.
_LEGEND = 30
# How a page explains its numbers.
INTRODUCTIONS = {
    "tokens": "Each line shows a token, its label and the probability of the label. After “not” comes its label in the "
    "best sequence that labels it differently, with its probability, and by how much the score of that sequence is "
    "lower, in nats. The bars are the contributions of features to this difference: to the right for the label, to the "
    f"left for the other one. Choose a word to see its line. A dashed line marks words whose label has a probability "
    f"below {UNSURE:g}.",
    "texts": "Each text has its label with its probability, and the second-best label. The bars are the contributions "
    "of the words to the difference of the two scores, in nats: to the right for the label, to the left for the other "
    "one. The words of the text have the same colours.",
    "samples": "Each sample has its label with its probability, and the second-best label. The bars are the "
    "contributions of attributes or columns to the difference of the two scores, in nats: to the right for the label, "
    "to the left for the other one.",
    "variables": "Each line has a variable with its observed value, the most probable state given all other variables, "
    "and the second-best state. The bars are the contributions of the weights to their log odds, in nats: to the right "
    "for the first state, to the left for the second. Values that are not the most probable ones are unfolded.",
}


def explanation_page(explanations: Sequence[Explanation], title: str, top: int = SHOWN, noun: str = "Sentence") -> str:
    """Return a page of HTML.

    Args:
        explanations: of sentences, texts or samples.
        title: of the page.
        top: contributions of a token that are shown.
        noun: what an explanation explains: Sentence, Text or Sample.
    """
    explained = explanations[0].explained if explanations else "tokens"
    colours = colours_of([token for explanation in explanations for token in explanation], explained)
    fragments = [
        Fragment(explanation.tokens, explained, top, colours, f"s{number}-").html()
        for number, explanation in enumerate(explanations, start=1)
    ]
    sections = [
        f'<section><h2>{noun} {number}</h2><div class="loglinear">{html}</div></section>\n'
        for number, html in enumerate(fragments, start=1)
    ]
    types = colours.types()
    legend = " ".join(types[:_LEGEND]) + (f" and {len(types) - _LEGEND} others" if len(types) > _LEGEND else "")
    return (
        f"{head(shown(title), 'labelled')}\n<body>\n"
        f"<header>\n<h1>{shown(title)}</h1>\n{_counts(explanations, noun, explained)}"
        f"<p>{INTRODUCTIONS[explained]}</p>\n"
        f'<div class="loglinear"><p class="text">{legend}</p></div>\n'
        f"{_least_certain(explanations, noun)}</header>\n<main>\n{''.join(sections)}</main>\n</body>\n</html>\n"
    )


def _counts(explanations: Sequence[Explanation], noun: str, explained: str) -> str:
    """Return how many sentences and tokens the page has, and how many labels are uncertain."""
    tokens = [token for explanation in explanations for token in explanation]
    rows = {f"{noun.lower()}s": len(explanations)}
    if len(tokens) != len(explanations):
        rows[explained] = len(tokens)
    labels = "states" if explained == "variables" else "labels"
    rows[f"{labels} with a probability below {UNSURE:g}"] = sum(token.probability < UNSURE for token in tokens)
    cells = "".join(f"<div><dt>{name}</dt><dd>{number:,}</dd></div>" for name, number in rows.items())
    return f'<dl class="headline">{cells}</dl>\n'


def _least_certain(explanations: Sequence[Explanation], noun: str) -> str:
    """Return links to the labels with the lowest probabilities."""
    tokens = [
        (token.probability, number, token)
        for number, explanation in enumerate(explanations, start=1)
        for token in explanation
        if token.probability < UNSURE
    ]
    least = sorted(tokens, key=lambda each: each[:2])[:_LEAST_CERTAIN]
    if not least:
        return ""
    links = [
        f'<li><a href="#s{number}-{token.token + 1}">{shown(called(token.text, 40) or f"token {token.token + 1}")}</a> '
        f"{shown(token.label)} <small>{probability:.3f}, {noun.lower()} {number}</small></li>"
        for probability, number, token in least
    ]
    return f'<nav aria-label="Least certain labels"><p>Least certain labels:</p><ul>{"".join(links)}</ul></nav>\n'
