"""Categories of whole texts, of which each text has one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spacy.scorer import Scorer

from ..data.spacy_docs import category
from ..errors import DataError, OptionError
from ..extras import needed_by
from ..models.training.options import ClassifierParameters, RunOptions, SolverOptions, TextOptions
from .pipe import LogLinearPipe

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.training import Example

    from ..models.text_classifier import TextClassifier

__all__ = ["TextCategorizer"]


class TextCategorizer(LogLinearPipe):
    """The component `loglinear_textcat`: sets ``doc.cats`` to the probabilities of categories, which sum to 1.

    It learns from texts, not from tokens. Categories are exclusive; values between 0 and 1 whose sum is 1 are a
    distribution to learn from. Examples without a category are left out.

    Args:
        vocab: vocabulary of the pipeline.
        name: of the component.
        settings: of the model.
        scorer: replaces the scores ``cats_...`` of ``nlp.evaluate``.

    Example:
        >>> import spacy
        >>> from spacy.training import Example
        >>> import loglinear.spacy
        >>> nlp = spacy.blank("en")
        >>> textcat = nlp.add_pipe("loglinear_textcat", config={"l2": 0.1})
        >>> texts = {"cheap pills": {"spam": 1.0}, "buy pills now": {"spam": 1.0}, "lunch at noon": {"ham": 1.0}}
        >>> examples = [Example.from_dict(nlp.make_doc(text), {"cats": cats}) for text, cats in texts.items()]
        >>> _ = nlp.initialize(lambda: examples)
        >>> {label: round(p, 2) for label, p in nlp("lunch at one").cats.items()}
        {'ham': 0.74, 'spam': 0.26}
    """

    def _kind(self) -> type[TextClassifier]:
        with needed_by("loglinear_textcat", "spacy"):
            from ..models.text_classifier import TextClassifier

        return TextClassifier

    def _check(self, estimator: TextClassifier) -> None:
        for kind in (ClassifierParameters, TextOptions, RunOptions):
            estimator._options(kind)
        estimator._options(SolverOptions, **estimator._search.fixed).check()

    def _take(self, estimator: TextClassifier) -> None:
        if any(not isinstance(label, str) for label in estimator.classes_.tolist()):
            message = "the classes of the model are numbers, and spaCy needs strings"
            raise OptionError(message)

    def _labels_of(self, estimator: TextClassifier) -> Iterable[str]:
        return list(estimator.classes_.tolist())

    def _data(self, examples: Iterable[Example], *, has_sentences: bool) -> tuple[list[str], list[Any]]:
        texts, labels = [], []
        number = -1
        for number, example in enumerate(examples):
            try:
                label = category(example.reference.cats)
            except DataError as error:
                message = f"example {number}: {error}"
                raise DataError(message) from None
            if label is not None:
                texts.append(example.reference.text)
                labels.append(label)
        if not texts:
            message = f"none of the {number + 1:,} examples has a category (doc.cats); give annotated examples"
            raise DataError(message)
        return texts, as_distributions(labels)

    def predict(self, docs: list[Doc]) -> list[list[float]]:
        """Return the probabilities of the categories of each doc, in the order of the labels."""
        rows: list[list[float]] = self.estimator.predict_proba([doc.text for doc in docs]).tolist()
        return rows

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[list[float]]) -> None:
        """Set the categories of docs."""
        labels = self.labels
        for doc, row in zip(docs, predictions, strict=True):
            doc.cats.update(zip(labels, row, strict=True))

    def _scores(self, examples: Iterable[Example]) -> dict[str, Any]:
        scores: dict[str, Any] = Scorer.score_cats(examples, "cats", labels=self.labels, multi_label=False)
        return scores


def as_distributions(labels: list[Any]) -> list[Any]:
    """Return classes, or if one of them is a distribution, distributions alone."""
    if any(isinstance(label, dict) for label in labels):
        return [label if isinstance(label, dict) else {label: 1.0} for label in labels]
    return labels
