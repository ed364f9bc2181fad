"""A model's answers to a file of labelled sentences or texts, which `evaluate` and `report` compare with its labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..models.explain.answers import Answers
from .output import say
from .reading import naming

if TYPE_CHECKING:
    from ..data.texts import Documents
    from ..models.files.chain import ChainModel

__all__ = ["of_sentences", "of_texts"]


def of_sentences(path: str, model: ChainModel, format: str, *, sure: bool, spans: bool, threads: int) -> Answers:
    """Return a model's answers to a file of sentences; say which labels the model does not know.

    Args:
        path: of the file.
        model: of a chain or a classifier.
        format: of the file.
        sure: whether the probabilities of the answers are wanted.
        spans: whether those of spans are, too.
        threads: 0 for all cores.
    """
    from ..data.corpus import Corpus
    from ..data.templates import TemplateText

    template = None if model.template is None else TemplateText(model.template)
    corpus = Corpus.read(path, format=format, template=template, threads=threads)
    with naming(path):
        gold = corpus.true_labels()
    unknown = sorted(set(corpus.labels) - set(model.labels))
    if unknown:
        names = ", ".join(unknown)
        say(f"warning: {path} has labels that the model does not know, which count as missed: {names}")
    if not sure:
        return Answers(gold, model.predict(corpus.core, threads=threads), None, corpus)
    from ..models.files.tagging import tag_corpus

    taggings = tag_corpus(model, corpus, spans=spans, threads=threads)
    return Answers(gold, [each.labels for each in taggings], taggings, corpus)


def of_texts(documents: Documents, model_path: str, *, sure: bool) -> Answers:
    """Return a classifier's answers to texts, each a sequence of its own.

    Args:
        documents: the texts with their labels.
        model_path: of the classifier's file.
        sure: whether the probabilities of the answers are wanted.
    """
    from ..models.text_classifier import TextClassifier

    classifier = TextClassifier.load(model_path)
    predicted = classifier.predict(documents.texts)
    taggings = None
    if sure:
        from ..models.files.tagging import Tagging

        rows = zip(predicted, classifier.predict_proba(documents.texts), strict=True)
        sure_of = [(label, min(row[label], 1.0)) for label, row in rows]
        taggings = [Tagging([label], [p], [], math.log(p)) for label, p in sure_of]
    return Answers([[label] for label in documents.labels or []], [[label] for label in predicted], taggings)
