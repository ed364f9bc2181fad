"""Why a token has this label and not another one: the difference of two labellings' scores, feature by feature.

The same words serve for samples of a classifier and variables of a network, each a separate token.

A score is the sum of the weights of the features that a labelling has, in nats: log p(y | x) = score(y) - log Z(x).
The runner-up of a token is the best labelling in which the token has another label. It may differ from the best
labelling at other tokens as well; contributions of these tokens' features belong to the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...report.labelled import in_notebook
from .fragment import Fragment, colours_of
from .token_explanation import SHOWN, TokenExplanation, called

__all__ = ["Explanation"]


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
        """Return the strongest contributions of each token as text."""
        return self.text()

    def __repr__(self) -> str:
        """Return the labels on one line, so that a list of explanations can be read."""
        return f"<explanation of {len(self)} label{'' if len(self) == 1 else 's'}: {called(' '.join(self.labels))}>"

    def text(self, top: int = SHOWN) -> str:
        """Return the strongest contributions of each token as text.

        Args:
            top: contributions of a token; the sum of the others follows.
        """
        return "\n".join(explained.lines(top) for explained in self.tokens)

    def html(self, top: int = SHOWN) -> str:
        """Return the same as HTML, with a part to unfold for each token."""
        colours = colours_of(self.tokens, self.explained)
        return in_notebook(Fragment(self.tokens, self.explained, top, colours).html())

    def _repr_html_(self) -> str:
        return self.html()
