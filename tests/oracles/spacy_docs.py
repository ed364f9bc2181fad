"""Blank pipelines and annotated examples for tests of the components of spaCy."""

from __future__ import annotations

from functools import cache

from spacy.tokens import Doc, Span
from spacy.training import Example

import loglinear.spacy  # noqa: F401 - registers the factories
import spacy
from loglinear import ChainCRF

NAMES = ["Ada Lovelace", "Grace Hopper", "Alan", "Edsger Dijkstra"]
PLACES = ["London", "New York", "Austin", "Nuenen"]
TEXTS = [f"{name} lived in {place} ." for name in NAMES for place in PLACES]
WORDS = [text.split() for text in TEXTS]
# Every component with what its pipeline needs to be quick.
COMPONENTS = ("loglinear_ner", "loglinear_tagger", "loglinear_textcat", "loglinear_spancat")


def gold(vocab, words, spaces=None):
    """A doc with entities, tags, parts of speech, a category and spans; capitals make names, "in" places."""
    doc = Doc(vocab, words=words, spaces=spaces)
    spans, at = [], 0
    while at < len(words):
        end = at
        while end < len(words) and words[end][0].isupper():
            end += 1
        if end > at:
            spans.append(Span(doc, at, end, label="LOC" if at and words[at - 1] == "in" else "PER"))
        at = max(end, at + 1)
    doc.set_ents(spans)
    doc.spans["sc"] = spans
    for token in doc:
        token.pos_ = "PROPN" if token.text[0].isupper() else "PUNCT" if token.text == "." else "VERB"
        token.tag_ = token.pos_[:2]
    doc.cats = {"city": float("Y" in doc.text), "town": float("Y" not in doc.text)}
    return doc


def pipeline(*components, config=None, lang="xx"):
    """A blank pipeline with components, the config for each."""
    nlp = spacy.blank(lang)
    for name in components:
        nlp.add_pipe(name, config=config or {})
    return nlp


def examples(nlp, sentences=WORDS):
    """Examples of sentences, with the same tokens in both docs."""
    return [Example(Doc(nlp.vocab, words=words), gold(nlp.vocab, words)) for words in sentences]


def trained(*components, config=None, sentences=WORDS):
    """A trained pipeline."""
    nlp = pipeline(*components, config=config)
    nlp.initialize(lambda: examples(nlp, sentences))
    return nlp


def bio(doc):
    """The entities of a doc in IOB2."""
    return [f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type else "O" for token in doc]


@cache
def chain():
    """The model that a component with the default options trains."""
    labels = [bio(gold(spacy.blank("xx").vocab, words)) for words in WORDS]
    return ChainCRF(template="ner", constraints="BIO").fit(WORDS, labels)
