"""The part of a chain's estimator that labels sentences without a corpus: one at once, or a list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..data.columns import as_items
from ..data.labels import check_ordered, typed
from ..errors import DataError
from .files.chain import tag_lists
from .one_state import OneState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..data.inputs import Sentence
    from .files.chain import ChainModel

__all__ = ["SingleSentences"]

T = TypeVar("T")


class SingleSentences(OneState):
    """The methods of a chain's estimator that make no corpus.

    Attributes:
        model_: the native model.
        classes_: the labels.
    """

    model_: ChainModel
    classes_: Sequence[Any]

    if TYPE_CHECKING:

        @property
        def _label_type(self) -> str: ...

        @property
        def _constrained_model(self) -> ChainModel: ...

    def predict_single(self, x: Sentence) -> list[Any]:
        """The labels of one sentence, as `predict` gives them, at once: no corpus is made, no thread woken.

        For a server, or a loop over sentences that come one by one. Threads may call it at the same time; a long
        sentence lets other threads run.

        Args:
            x: a sentence, as those that `fit` takes.

        Returns:
            A list of labels, a new one each time.

        Raises:
            DataError: the sentence cannot be used; names the token.

        Example:
            >>> from loglinear import ChainCRF
            >>> crf = ChainCRF(l2=0.1).fit([[["the"], ["dog"]], [["dog"]]], [["DET", "NOUN"], ["NOUN"]])
            >>> crf.predict_single([["the"], ["dog"]])
            ['DET', 'NOUN']
        """
        names = self._of_one(self._constrained_model.predict_single, x)
        kind = self._label_type
        return names if kind == "str" else typed([names], kind)[0]

    def predict_marginals_single(self, x: Sentence) -> list[dict[Any, float]]:
        """For each token of one sentence p(label | sentence) by label; see `predict_single`."""
        rows = self._of_one(self._constrained_model.marginals_single, x)
        return [dict(zip(self.classes_, row, strict=True)) for row in rows]

    def _of_one(self, ask: Callable[[Sentence], T], x: Sentence) -> T:
        """The answer of a method of the model to one sentence.

        Raises:
            DataError: the sentence cannot be used; names the token.
        """
        x = as_items(x, tuples=self._constrained_model.has_template)
        if type(x) is not list:
            check_ordered(x, "the sentence")
        try:
            return ask(x)
        except DataError as error:
            hint = "is this a list of sentences?"
            if hint in str(error) or not _has_deep_tokens(x):
                raise
            message = f"{error}: {hint}"
            raise DataError(message) from None

    def _predicted_at_once(self, sentences: object, threads: int) -> list[list[str]] | None:
        """The labels of a list of lists or tuples of tokens; None of anything else. A few short ones wake no thread."""
        if type(sentences) is not list or not all(isinstance(sentence, (list, tuple)) for sentence in sentences):
            return None
        sentences = [as_items(sentence, tuples=self._constrained_model.has_template) for sentence in sentences]
        return tag_lists(self._constrained_model, sentences, threads=threads)[0]


def _has_deep_tokens(x: Sentence) -> bool:
    """Whether the first token contains collections, as the first sentence of a list of sentences does."""
    first = next(iter(x), None)
    return isinstance(first, (list, tuple)) and bool(first) and not isinstance(first[0], str)
