"""An explanation as HTML: the sentence with coloured labels, and bars for the contributions to each of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ...report.labelled import Labelled, is_unspaced, joined, shown
from ...visible import counted
from ..files.maxent import INTERCEPT
from .token_explanation import Contribution, TokenExplanation, called

__all__ = ["UNSURE", "Fragment", "colours_of"]

# Labels below this probability are marked, and their contributions are unfolded.
UNSURE = 0.9
# Characters of a text, and of words in a row, in the line above their contributions.
_LINE, _WORDS = 160, 80
# Other labels that change with one.
_CHANGES = 6
# Contributions that are looked for in a text.
_MARKED = 200
# Share of the colour behind the word that contributes most.
_DARKEST = 0.5


def colours_of(tokens: Sequence[TokenExplanation], explained: str) -> Labelled:
    """Return the colours of all labels of some tokens; see `Fragment`."""
    others = [token.other for token in tokens if token.other is not None]
    return Labelled([*(token.label for token in tokens), *others], sequences=explained == "tokens")


class Fragment:
    """The HTML of an explanation. Words outside chunks are folded if the model is sure of their labels.

    Args:
        tokens: the tokens of a sentence, or samples, texts or variables.
        explained: what they are: "tokens", "samples", "texts" or "variables".
        top: contributions that are shown of each token; the sum of the others follows.
        colours: of the labels.
        prefix: of the names of places in the page, to which words link; empty without links.
        chosen: places of the only tokens that have a part, which is unfolded; None for all tokens.
    """

    def __init__(
        self,
        tokens: Sequence[TokenExplanation],
        explained: str,
        top: int,
        colours: Labelled,
        prefix: str = "",
        *,
        chosen: Collection[int] | None = None,
    ) -> None:
        self.tokens, self.explained, self.top, self.colours, self.prefix = tokens, explained, top, colours, prefix
        self.chosen = chosen
        # Neighbours often have the same runner-up, and then the same contributions: the first one shows them.
        self._unfolded: set[tuple[str, ...]] = set()

    def html(self) -> str:
        """Return the sentence, if there is one, and a part to unfold for each token."""
        return "".join([*self._sentence(), *self._parts()])

    def _sentence(self) -> Iterator[str]:
        """Yield the sentence as a paragraph; nothing if what has labels is not the tokens of a sentence."""
        if self.explained != "tokens" or not any(token.text for token in self.tokens):
            return
        pieces = self.colours.pieces([token.label for token in self.tokens])
        words, parts = [token.text for token in self.tokens], [self._word(token) for token in self.tokens]
        yield self.colours.text(pieces, words, parts)

    def _word(self, token: TokenExplanation) -> str:
        kind = ' class="unsure"' if token.probability < UNSURE else ""
        if self.prefix and (self.chosen is None or token.token in self.chosen):
            return f'<a href="#{self.prefix}{token.token + 1}"{kind}>{shown(token.text)}</a>'
        return f"<span{kind}>{shown(token.text)}</span>"

    def _parts(self) -> Iterator[str]:
        """Yield a part for each token; a run of certain tokens outside chunks is in one more part to unfold."""
        if self.chosen is not None:
            yield from (self._part(self.tokens[at]) for at in sorted(self.chosen))
            return
        run: list[TokenExplanation] = []
        for token in self.tokens:
            is_outside = self.explained == "tokens" and self.colours.is_outside(token.label)
            if is_outside and token.probability >= UNSURE:
                run.append(token)
                continue
            yield self._run(run)
            yield self._part(token)
            run = []
        yield self._run(run)

    def _run(self, tokens: list[TokenExplanation]) -> str:
        parts = "".join(map(self._part, tokens))
        if len(tokens) < 2:
            return parts
        words = [token.text for token in tokens]
        while sum(map(len, words)) > _WORDS:
            words[-2:] = ["…"]
        least = min(token.probability for token in tokens)
        line = f'<span class="soft number">{tokens[0].token + 1}–{tokens[-1].token + 1}</span> '
        line += f'<span lang="">{joined(words, [shown(word) for word in words])}</span> '
        line += f'{self.colours.label(tokens[0].label)} <span class="soft number">at least {least:.3f}</span>'
        return f"<details><summary>{line}</summary>{parts}</details>"

    def _part(self, token: TokenExplanation) -> str:
        """Return the part to unfold of a token: in one line what it is, below it why."""
        number, text = token.token + 1, f'<span lang="">{shown(called(token.text, _LINE))}</span> '
        if not token.text or (self.explained == "texts" and len(self.tokens) == 1):
            text = ""  # no name, or the whole text follows
        line = f'<span class="soft number">{number}</span> {text}{self.colours.label(token.label)} '
        line += f'<span class="number">{token.probability:.3f}</span>'
        if token.other is not None:
            line += f' <span class="soft">not</span> {self.colours.label(token.other)} '
            line += f'<span class="soft number">{token.other_probability:.3f}: {token.difference:+.3f}</span>'
        place = f' id="{self.prefix}{number}"' if self.prefix else ""
        body = self._marked_text(token) + self._changes(token) + self._bars(token)
        is_open = " open" if self._is_open(token) else ""
        return f"<details{is_open}><summary>{line}</summary><div{place}>{body}</div></details>"

    def _is_open(self, token: TokenExplanation) -> bool:
        """Whether contributions are of interest: the label is not certain, or a variable has another state."""
        if self.explained == "variables":
            return "=" in token.text and not token.text.endswith(f"={token.label}")
        if self.explained != "tokens":
            return len(self.tokens) == 1 or token.probability < UNSURE
        runner_up = tuple(token.runner_up)
        if (token.probability >= UNSURE and self.chosen is None) or runner_up in self._unfolded:
            return False
        self._unfolded.add(runner_up)
        return True

    def _changes(self, token: TokenExplanation) -> str:
        """Return the other words whose labels differ in the runner-up; or that no other label is possible."""
        if token.other is None:
            return '<p class="soft">No other label is possible.</p>'
        if self.explained != "tokens":
            return ""
        changes = [
            f'<span lang="">{shown(each.text or f"token {each.token + 1}")}</span> {shown(each.label)} → {shown(label)}'
            for each, label in zip(self.tokens, token.runner_up, strict=True)
            if each.label != label and each is not token
        ]
        if not changes:
            return ""
        rest = len(changes) - _CHANGES
        changes[_CHANGES:] = [f"and {counted(rest, 'other')}"] if rest > 0 else []
        return f'<p class="soft">With {shown(token.other)} here, other labels change too: {", ".join(changes)}.</p>'

    def _bars(self, token: TokenExplanation) -> str:
        """Return a list with a bar for each of the strongest contributions, to the right for the label."""
        rows = token.strongest(self.top)
        if not rows:
            return ""
        most = max(abs(weight) for weight, _, _ in rows) or 1.0
        lines = []
        for weight, name, at in rows:
            side = "for" if weight > 0.0 else "against"
            where = ""
            if at is not None:
                text = self.tokens[at].text
                word = f', <span lang="">{shown(called(text))}</span>' if text else ""
                where = f' <small class="soft">at token {at + 1}{word}</small>'
            lines.append(
                f'<li class="{side}" style="--width:{50.0 * abs(weight) / most:.1f}%"><i></i>'
                f'<span class="number">{weight:+.3f}</span><span>{shown(name)}{where}</span></li>'
            )
        sides = f"<span>{shown(str(token.other))}</span><span>{shown(token.label)}</span>"
        return f'<ul><li class="sides soft"><span>{sides}</span></li>{"".join(lines)}</ul>'

    def _marked_text(self, token: TokenExplanation) -> str:
        """Return a text with its words in the colours of their contributions; nothing for anything but texts."""
        if self.explained != "texts":
            return ""
        weights = _weights(token)
        most = max(map(abs, weights), default=0.0) or 1.0
        html, start = "", 0
        for end in range(1, len(weights) + 1):
            if end == len(weights) or weights[end] != weights[start]:
                weight, part = weights[start], shown(token.text[start:end])
                side, share = "for" if weight > 0.0 else "against", _DARKEST * abs(weight) / most
                html += f'<span class="word {side}" style="--share:{share:.2f}">{part}</span>' if weight else part
                start = end
        return f'<p class="text" lang="" dir="auto">{html}</p>'


def _weights(token: TokenExplanation) -> list[float]:
    """Return the weight of each character of a text: contributions are shared out among the places of their words."""
    weights = [0.0] * len(token.text)
    for contribution in token.contributions[:_MARKED]:
        places = [match.span() for match in _pattern(contribution).finditer(token.text)]
        for start, end in places:
            weights[start:end] = [weight + contribution.weight / len(places) for weight in weights[start:end]]
    return weights


def _pattern(contribution: Contribution) -> re.Pattern[str]:
    """Return a pattern of the places of a word, or of words in a row, in a text."""
    name = contribution.name
    inside = r"[\W_]+".join(map(re.escape, name.split()))
    if not inside or name == INTERCEPT:
        return re.compile("(?!)")
    if is_unspaced(name):
        return re.compile(inside, re.IGNORECASE)
    return re.compile(rf"(?<!\w){inside}(?!\w)", re.IGNORECASE)
