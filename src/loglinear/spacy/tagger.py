"""Tags, or coarse-grained parts of speech."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from spacy.parts_of_speech import IDS
from spacy.scorer import Scorer

from ..data.spacy_docs import Label, pos_labels, tag_labels
from ..errors import OptionError
from ..models.chain import ChainCRF
from ..options import one_of
from .chain import ChainPipe, same_tokens
from .pipe import Settings

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.vocab import Vocab

__all__ = ["Tagger"]

# The label of tokens that consist of whitespace, in spaCy's conventions.
_WHITESPACE = {"tag": "_SP", "pos": "SPACE"}


class Tagger(ChainPipe):
    """The component `loglinear_tagger`: sets ``token.tag_``, or ``token.pos_``.

    Tokens that consist of whitespace get the tag ``_SP``, or the part of speech ``SPACE``.

    Args:
        vocab: vocabulary of the pipeline.
        name: of the component.
        settings: of the model.
        by_sentence: label each sentence on its own in docs with boundaries of sentences.
        attribute: "tag" or "pos": what is learned and set.
        overwrite: replace tags that a doc has.
        scorer: replaces ``tag_acc`` or ``pos_acc`` of ``nlp.evaluate``.

    Example:
        >>> import spacy
        >>> from spacy.training import Example
        >>> import loglinear.spacy
        >>> nlp = spacy.blank("en")
        >>> tagger = nlp.add_pipe("loglinear_tagger", config={"attribute": "pos"})
        >>> examples = [Example.from_dict(nlp.make_doc("Dogs bark"), {"pos": ["NOUN", "VERB"]})]
        >>> _ = nlp.initialize(lambda: examples * 2)
        >>> [token.pos_ for token in nlp("Dogs bark")]
        ['NOUN', 'VERB']
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        settings: Settings,
        *,
        by_sentence: bool = True,
        attribute: Literal["tag", "pos"] = "tag",
        overwrite: bool = False,
        scorer: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        self.attribute, self.overwrite = attribute, overwrite
        self._annotation = {"tag": "tags (token.tag_)", "pos": "parts of speech (token.pos_)"}.get(attribute, "")
        super().__init__(vocab, name, settings, by_sentence=by_sentence, scorer=scorer)

    def _check(self, estimator: ChainCRF) -> None:
        one_of("attribute", self.attribute, tuple(_WHITESPACE))
        super()._check(estimator)

    def _take(self, estimator: ChainCRF) -> None:
        super()._take(estimator)
        labels = [*estimator.classes_, _WHITESPACE[self.attribute]]
        if self.attribute == "pos" and (unknown := [label for label in labels if label not in IDS]):
            message = f"the model has the label {unknown[0]!r}, which is not a part of speech "
            message += 'of Universal Dependencies; use attribute = "tag"'
            raise OptionError(message)
        self._ids = {
            label: IDS[label] if self.attribute == "pos" else self.vocab.strings.add(label) for label in labels
        }

    def _labels_in(self, example: Example) -> list[Label] | None:
        name = self.attribute.upper()
        if not example.reference.has_annotation(name):
            return None
        if same_tokens(example):
            return (tag_labels if self.attribute == "tag" else pos_labels)(example.reference)
        return [label or None for label in example.get_aligned(name, as_string=True)]

    def predict(self, docs: list[Doc]) -> list[list[int]]:
        """Return the id of the label of each token of each doc."""
        stretches = self._stretches_of(docs)
        labels = iter(self._tags([stretch.words for of_doc in stretches for stretch in of_doc]))
        ids, whitespace = self._ids, self._ids[_WHITESPACE[self.attribute]]
        rows = []
        for doc, of_doc in zip(docs, stretches, strict=True):
            row = [whitespace] * len(doc)
            for stretch in of_doc:
                for place, label in zip(stretch.places, next(labels), strict=True):
                    row[place] = ids[label]
            rows.append(row)
        return rows

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[list[int]]) -> None:
        """Set the tags of docs."""
        name, is_pos = self.attribute.upper(), self.attribute == "pos"
        for doc, ids in zip(docs, predictions, strict=True):
            if doc.vocab is not self.vocab:
                for label in self._ids:
                    doc.vocab.strings.add(label)
            keeps = not self.overwrite and doc.has_annotation(name)
            for token, number in zip(doc, ids, strict=True):
                if keeps and (token.pos if is_pos else token.tag):
                    continue
                if is_pos:
                    token.pos = number
                else:
                    token.tag = number

    def _scores(self, examples: Iterable[Example]) -> dict[str, Any]:
        scores: dict[str, Any] = Scorer.score_token_attr(examples, self.attribute)
        return scores
