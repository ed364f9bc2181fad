"""Entities, with the probability of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import nan
from typing import TYPE_CHECKING, Any

from spacy.scorer import get_ner_prf
from spacy.tokens import Span

from ..data.spacy_docs import Label, Stretch, entity_labels
from ..errors import DataWarning, OptionError
from ..models.chain import ChainCRF
from ..models.files.tagging import Span as Chunk
from ..schemes import detect_scheme, parsed_tag
from .chain import ChainPipe, same_tokens
from .pipe import Settings
from .probability import group_of

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.vocab import Vocab

__all__ = ["EntityPipe", "EntityRecognizer"]

# The tags of BILUO, which spaCy's alignment returns, in IOB2.
_IN_IOB2 = {"B": "B", "I": "I", "L": "I", "U": "B"}


class EntityPipe(ChainPipe):
    """Base of the pipes whose labels mark spans."""

    def _take(self, estimator: ChainCRF) -> None:
        super()._take(estimator)
        if detect_scheme(estimator.classes_) is None:
            shown = ", ".join(map(str, estimator.classes_[:4]))
            message = f"the labels of the model ({shown}) do not mark spans, as B-PER and "
            message += "I-PER do; use loglinear_tagger"
            raise OptionError(message)

    def _labels_of(self, estimator: ChainCRF) -> Iterable[str]:
        return sorted({parsed_tag(label)[1] for label in estimator.classes_} - {""})

    def _warn_of(self, estimator: ChainCRF, messages: list[tuple[str, type[Warning]]]) -> None:
        if [*estimator.classes_] == ["O"]:  # whatever else the training says of such data does not matter
            message = (
                f"the examples have no {self._annotation}, so the model will never set one; check their annotation"
            )
            messages = [(message, DataWarning)]
        super()._warn_of(estimator, messages)


class EntityRecognizer(EntityPipe):
    """The component `loglinear_ner`: sets ``doc.ents`` to the entities of the most probable label sequence.

    With ``spans_key``, the entities are also in ``doc.spans[spans_key]``, with the exact probability of each in
    ``doc.spans[spans_key].attrs["scores"]``. ``ent._.probability`` looks it up. It is the probability that an entity of
    this type starts and ends at these very tokens; see `ChainCRF.tag`.

    Entities that a doc already has stay, and so do tokens that are blocked for entities: an entity of the model that
    overlaps them is left out. With ``overwrite``, the entities of the model replace them.

    Args:
        vocab: vocabulary of the pipeline.
        name: of the component.
        settings: of the model.
        by_sentence: label each sentence on its own in docs with boundaries of sentences.
        overwrite: replace the entities that a doc has.
        spans_key: key of ``doc.spans`` for the entities with their probabilities; None for no probabilities, which
            takes about half the time.
        scorer: replaces ``ents_p``, ``ents_r`` and ``ents_f`` of ``nlp.evaluate``.

    Example:
        >>> import spacy
        >>> from spacy.training import Example
        >>> import loglinear.spacy
        >>> nlp = spacy.blank("en")
        >>> ner = nlp.add_pipe("loglinear_ner", config={"l2": 0.1})
        >>> ada = {"entities": [(0, 3, "PERSON")]}
        >>> texts = ["Ada wrote programs", "Ada met friends"]
        >>> examples = [Example.from_dict(nlp.make_doc(text), ada) for text in texts]
        >>> _ = nlp.initialize(lambda: examples)
        >>> [(ent.text, ent.label_, round(ent._.probability, 2)) for ent in nlp("Ada wrote letters").ents]
        [('Ada', 'PERSON', 0.98)]
    """

    _annotation = "entities (doc.ents)"

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        settings: Settings,
        *,
        by_sentence: bool = True,
        overwrite: bool = False,
        spans_key: str | None = "ents",
        scorer: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        self.overwrite, self.spans_key = overwrite, spans_key
        super().__init__(vocab, name, settings, by_sentence=by_sentence, scorer=scorer)

    def _labels_in(self, example: Example) -> list[Label] | None:
        if not example.reference.has_annotation("ENT_IOB"):
            return None
        if same_tokens(example):
            return entity_labels(example.reference)
        return [_in_iob2(tag) for tag in example.get_aligned_ner()]

    def predict(self, docs: list[Doc]) -> list[list[Chunk]]:
        """Return the entities of each doc, in tokens of the doc."""
        places = [(number, stretch) for number, row in enumerate(self._stretches_of(docs)) for stretch in row]
        entities: list[list[Chunk]] = [[] for _ in docs]
        for sentence, *chunk in self._chunks([stretch.words for _, stretch in places]):
            number, stretch = places[sentence]
            entities[number].append(in_doc(stretch, *chunk))
        return entities

    def _chunks(self, sentences: list[list[str]]) -> Iterable[tuple[Any, ...]]:
        """Return the chunks of sentences, from left to right: the number of its sentence, then what `in_doc` takes."""
        if self.spans_key is None:
            return self._tagger._chunks(sentences, threads=self.estimator._threads)
        taggings = enumerate(self.estimator.tag(sentences))
        return ((sentence, *chunk) for sentence, tagging in taggings for chunk in tagging.spans)

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[list[Chunk]]) -> None:
        """Set the entities of docs, and the groups of spans with their probabilities."""
        for doc, chunks in zip(docs, predictions, strict=True):
            if self.spans_key is None:
                spans = [Span(doc, chunk.start, chunk.end, label=chunk.type) for chunk in chunks]
            else:
                group = group_of(doc, self.spans_key, chunks)
                doc.spans[self.spans_key] = group
                spans = list(group)
            if self.overwrite or not doc.has_annotation("ENT_IOB"):
                doc.set_ents(spans)
            else:
                _set_beside(doc, spans)

    def _scores(self, examples: Iterable[Example]) -> dict[str, Any]:
        scores: dict[str, Any] = get_ner_prf(examples)
        return scores


def in_doc(stretch: Stretch, kind: str, start: int, end: int, probability: float = nan) -> Chunk:
    """Return a chunk of a stretch of a doc in tokens of the doc."""
    places = stretch.places
    return Chunk(kind, places[start], places[end - 1] + 1, probability)


def _set_beside(doc: Doc, spans: list[Span]) -> None:
    """Add entities to those of a doc, which stay, as do tokens that are blocked for entities."""
    entities = list(doc.ents)
    blocked = [doc[token.i : token.i + 1] for token in doc if token.ent_iob == 3 and not token.ent_type]
    taken = {at for span in [*entities, *blocked] for at in range(span.start, span.end)}
    free = [span for span in spans if taken.isdisjoint(range(span.start, span.end))]
    doc.set_ents([*entities, *free], blocked=blocked)


def _in_iob2(tag: str | None) -> Label:
    """Return a tag of BILUO in IOB2; None if it is unknown."""
    if tag is None or tag in ("O", "-"):
        return None if tag == "-" else tag
    return f"{_IN_IOB2[tag[0]]}{tag[1:]}"
