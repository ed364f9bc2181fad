"""Every span that is probable enough, nested and overlapping ones among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from spacy.scorer import Scorer

from ..data.spacy_docs import Label, span_labels
from ..errors import DataWarning, OptionError, warn
from ..models.chain import ChainCRF
from ..models.files.tagging import Span as Chunk
from ..options import real_number
from ..schemes import chunk_rule
from .candidates import as_chunks, probable_spans
from .chain import same_tokens
from .ner import EntityPipe, in_doc
from .pipe import Settings
from .probability import group_of

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.vocab import Vocab

__all__ = ["SpanCategorizer"]


class SpanCategorizer(EntityPipe):
    """The component `loglinear_spancat`: sets ``doc.spans[spans_key]`` to all spans that are probable enough.

    ``doc.spans[spans_key].attrs["scores"]`` has their exact probabilities, in the order of the spans. Spans that
    overlap exclude one another in the model, so their probabilities sum to at most 1: alternatives to the best
    span appear with a threshold below 0.5.

    It learns from ``doc.spans[spans_key]``. A chain has one label per token, so of spans that overlap only the longest
    one is learned, with a warning.

    Args:
        vocab: vocabulary of the pipeline.
        name: of the component.
        settings: of the model.
        by_sentence: label each sentence on its own in docs with boundaries of sentences.
        spans_key: key of ``doc.spans``.
        threshold: least probability of a span, above 0.
        scorer: replaces ``spans_KEY_p``, ``spans_KEY_r`` and ``spans_KEY_f`` of ``nlp.evaluate``.

    Example:
        >>> import spacy
        >>> from spacy.tokens import Span
        >>> from spacy.training import Example
        >>> import loglinear.spacy
        >>> nlp = spacy.blank("en")
        >>> spancat = nlp.add_pipe("loglinear_spancat", config={"l2": 0.5, "threshold": 0.08})
        >>> gold = [nlp.make_doc("visit New York today"), nlp.make_doc("visit York today")]
        >>> gold[0].spans["sc"] = [Span(gold[0], 1, 3, "PLACE")]
        >>> gold[1].spans["sc"] = [Span(gold[1], 1, 2, "PLACE")]
        >>> _ = nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc) for doc in gold])
        >>> doc = nlp("visit New York today")
        >>> found = doc.spans["sc"]
        >>> [(span.text, round(float(p), 2)) for span, p in zip(found, found.attrs["scores"])]
        [('New', 0.1), ('New York', 0.85), ('York', 0.09)]
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        settings: Settings,
        *,
        by_sentence: bool = True,
        spans_key: str = "sc",
        threshold: float = 0.5,
        scorer: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        self.spans_key, self.threshold = spans_key, threshold
        self._annotation = f"spans (doc.spans[{spans_key!r}])"
        super().__init__(vocab, name, settings, by_sentence=by_sentence, scorer=scorer)

    def _check(self, estimator: ChainCRF) -> None:
        wanted = "a probability above 0, at most 1"
        real_number("threshold", self.threshold, wanted, lambda p: 0.0 < p <= 1.0)
        if estimator.order != 1:
            message = (
                f"order={estimator.order} is not available: the probabilities of all spans need a chain of order 1"
            )
            raise OptionError(message)
        super()._check(estimator)

    def _take(self, estimator: ChainCRF) -> None:
        super()._take(estimator)
        if estimator.order != 1 or estimator.model_.triple_features():
            message = "the model is of second order; the probabilities of all spans need one "
            message += "of order 1"
            raise OptionError(message)

    def _data(self, examples: Iterable[Example], *, has_sentences: bool) -> tuple[list[list[str]], list[list[Label]]]:
        self._left_out = 0
        data = super()._data(examples, has_sentences=has_sentences)
        if self._left_out:
            spans = (
                "1 span that overlaps a longer one is"
                if self._left_out == 1
                else (f"{self._left_out:,} spans that overlap longer ones are")
            )
            warn(f"component {self.name!r}: {spans} not learned, as a chain has one label per token", DataWarning)
        return data

    def _labels_in(self, example: Example) -> list[Label] | None:
        group = example.reference.spans.get(self.spans_key)
        if group is None:
            return None
        chunks, left_out = as_chunks([(span.label_, span.start, span.end) for span in group])
        self._left_out += left_out
        if same_tokens(example):
            return span_labels(len(example.predicted), chunks)
        by_place = {(span.label_, span.start, span.end): span for span in group}
        labels = span_labels(len(example.predicted), ())
        to_predicted = example.alignment.y2x
        for chunk in chunks:
            aligned = example.get_aligned_spans_y2x([by_place[chunk]], allow_overlap=True)
            if aligned:
                (span,) = aligned
                marked = span_labels(span.end - span.start, [(chunk[0], 0, span.end - span.start)])
                labels[span.start : span.end] = marked
            else:  # the tokens do not fit: what they are is not known
                for place in to_predicted[chunk[1] : chunk[2]]:
                    labels[int(place)] = None
        return labels

    def predict(self, docs: list[Doc]) -> list[list[Chunk]]:
        """Return the spans of each doc that are probable enough, in tokens of the doc."""
        crf: ChainCRF = self.estimator
        stretches = self._stretches_of(docs)
        sentences = [stretch.words for of_doc in stretches for stretch in of_doc]
        rule = chunk_rule(tuple(crf.model_.labels))
        assert rule is not None  # `_take` has checked it
        rows = zip(crf.marginals(sentences), crf.transition_marginals(sentences), strict=True)
        probable = (probable_spans(marginals, pairs, rule, self.threshold) for marginals, pairs in rows)
        return [[in_doc(stretch, *chunk) for stretch in of_doc for chunk in next(probable)] for of_doc in stretches]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[list[Chunk]]) -> None:
        """Set the groups of spans of docs."""
        for doc, chunks in zip(docs, predictions, strict=True):
            doc.spans[self.spans_key] = group_of(doc, self.spans_key, chunks)

    def _scores(self, examples: Iterable[Example]) -> dict[str, Any]:
        key = self.spans_key
        scores: dict[str, Any] = Scorer.score_spans(
            examples,
            f"spans_{key}",
            getter=lambda doc, _: doc.spans.get(key, []),
            has_annotation=lambda doc: key in doc.spans,
            allow_overlap=True,
        )
        return scores
