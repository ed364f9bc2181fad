"""The part of a chain's estimator that labels sentences without a corpus: one at once, or a list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..data.columns import as_items
from ..data.labels import check_ordered, typed
from .files.chain import tag_lists
from .one_state import OneState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..data.inputs import Sentence
    from .files.chain import ChainModel

__all__ = ["SingleSentences"]


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
        model = self._constrained_model
        x = as_items(x, tuples=model.template is not None)
        if type(x) is not list:
            check_ordered(x, "the sentence")
        names = model.predict_single(x)
        kind = self._label_type
        return names if kind == "str" else typed([names], kind)[0]

    def predict_marginals_single(self, x: Sentence) -> list[dict[Any, float]]:
        """For each token of one sentence p(label | sentence) by label; see `predict_single`."""
        model = self._constrained_model
        x = as_items(x, tuples=model.template is not None)
        if type(x) is not list:
            check_ordered(x, "the sentence")
        return [dict(zip(self.classes_, row, strict=True)) for row in model.marginals_single(x)]

    def _predicted_at_once(self, sentences: object, threads: int) -> list[list[str]] | None:
        """The labels of a list of lists or tuples of tokens; None of anything else. A few short ones wake no thread."""
        if type(sentences) is not list or not all(isinstance(sentence, (list, tuple)) for sentence in sentences):
            return None
        sentences = [as_items(sentence, tuples=self._constrained_model.template is not None) for sentence in sentences]
        return tag_lists(self._constrained_model, sentences, threads=threads)[0]
