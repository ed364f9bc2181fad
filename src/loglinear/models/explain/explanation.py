"""Why a token has this label and not another one: the difference of two labellings' scores, feature by feature.

The same words serve for samples of a classifier and variables of a network, each a separate token.

A score is the sum of the weights of the features that a labelling has, in nats: log p(y | x) = score(y) - log Z(x).
The runner-up of a token is the best labelling in which the token has another label. It may differ from the best
labelling at other tokens as well; contributions of these tokens' features belong to the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ...display.table import data_frame
from ...report.labelled import Labelled, in_notebook
from ...visible import counted
from .fragment import Fragment, colours_of
from .token_explanation import NARROW, SHOWN, TokenExplanation, called, on_screen

if TYPE_CHECKING:
    import pandas

__all__ = ["Explanation", "part_of"]

# Lines of a screen.
_LINES = 24


@dataclass(frozen=True, repr=False)
class Explanation(Sequence[TokenExplanation]):
    """Why the tokens of a sentence have their labels; a sequence with an entry for each token.

    Printed it has the strongest contributions of each token; a notebook shows the labels in colour, and bars.

    Attributes:
        tokens: what has labels.
        explained: what it is: "tokens", "texts", "samples" or "variables".
    """

    tokens: list[TokenExplanation]
    explained: str = "tokens"

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
        return {"tokens": [asdict(explained) for explained in self.tokens]}

    def __str__(self) -> str:
        """Return the strongest contributions of each token as text that fits a screen; of many tokens the labels."""
        lines = [line for explained in self.tokens for line in str(explained).split("\n")]
        if len(lines) <= _LINES:
            return "\n".join(lines)
        first = self.tokens[: _LINES - 2]
        lines = [explained.line(NARROW) for explained in first]
        if len(self) > len(first):
            lines.append(f"  … and {counted(len(self) - len(first), 'more label')}")
        return on_screen(
            "\n".join([*lines, "print(explanation[0]) shows the features of one label, text() the features of all"])
        )

    def __repr__(self) -> str:
        """Return the labels on one line, so that a list of explanations can be read."""
        labels = called(" ".join(self.labels), 2 * NARROW - 10)
        return f"<explanation of {counted(len(self), 'label')}: {labels}>"

    def text(self, top: int = SHOWN) -> str:
        """Return the strongest contributions of each token as text.

        Args:
            top: contributions of a token; the sum of the others follows.
        """
        return "\n".join(explained.lines(top) for explained in self.tokens)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each contribution.

        Its columns are the number of the token (or ``sample`` or ``variable``), its ``text``, ``label`` and ``other``
        label; the number of the token that has the feature (``at``); the ``feature``, its ``name`` for people, and the
        ``contribution`` in nats.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        pairs = [(token, part) for token in self.tokens for part in token.contributions]
        noun = {"tokens": "token", "variables": "variable"}.get(self.explained, "sample")
        columns: dict[str, list[Any]] = {noun: [token.token for token, _ in pairs]}
        columns |= {name: [getattr(token, name) for token, _ in pairs] for name in ("text", "label", "other")}
        columns["at"] = [part.token for _, part in pairs]
        columns |= {name: [getattr(part, name) for _, part in pairs] for name in ("feature", "name")}
        return data_frame("Explanation.to_frame", columns | {"contribution": [part.weight for _, part in pairs]})

    def html(self, top: int = SHOWN) -> str:
        """Return the same as HTML, with a part to unfold for each token."""
        return Explanation.html_of([self], top)

    @staticmethod
    def html_of(explanations: Sequence[Explanation], top: int = SHOWN, colours: Labelled | None = None) -> str:
        """Return several explanations in the same colours, as HTML; see `html`."""
        if colours is None:
            tokens = [token for explanation in explanations for token in explanation]
            colours = colours_of(tokens, explanations[0].explained)
        parts = [Fragment(each.tokens, each.explained, top, colours).html() for each in explanations]
        return in_notebook("".join(parts))

    def _repr_html_(self) -> str:
        return self.html()


def part_of(explanation: Explanation, tokens: Iterable[int]) -> Explanation:
    """Return the explanation of some tokens that do not depend on others, such as samples; they are numbered from 0."""
    entries = []
    for number, at in enumerate(tokens):
        parts = [replace(part, token=number) for part in explanation[at].contributions]
        entries.append(replace(explanation[at], token=number, contributions=parts))
    return Explanation(entries, explanation.explained)
