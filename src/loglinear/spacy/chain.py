"""What the pipes over a linear-chain CRF share: the words of docs, and their labels in training."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..data.formats import n_columns
from ..data.spacy_docs import DocWords, Label, Stretch, labels_at, sentence_starts, stretches
from ..data.templates import template_text
from ..errors import DataError, DataWarning, OptionError, warn
from ..models.chain import ChainCRF
from ..models.tagger import Tagger
from ..models.training.options import RunOptions, SolverOptions
from ..objectives.chain import ChainFeatures
from .pipe import LogLinearPipe, Settings

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.vocab import Vocab

__all__ = ["ChainPipe"]

# Tokens that end a sentence in most scripts.
_ENDS = frozenset(".!?…。!?।؟")


class ChainPipe(LogLinearPipe):
    """Base of the pipes that label tokens.

    Args:
        vocab: vocabulary of the pipeline.
        name: of the component.
        settings: of the model.
        by_sentence: label each sentence on its own in docs with boundaries of sentences; otherwise a doc is one
            sequence.
        scorer: replaces the pipe's own scores.
    """

    # What docs lack if there is nothing to learn, for the message.
    _annotation: str

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        settings: Settings,
        *,
        by_sentence: bool = True,
        scorer: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        self.by_sentence = by_sentence
        self._words = DocWords()
        super().__init__(vocab, name, settings, scorer)

    def _kind(self) -> type[ChainCRF]:
        return ChainCRF

    def _check(self, estimator: ChainCRF) -> None:
        for kind in (ChainFeatures, SolverOptions, RunOptions):
            estimator._options(kind)
        estimator._options(SolverOptions).check()
        if estimator.template is None:
            message = (
                "template=None is not available: name a preset, such as ner or pos, or give the text of a template"
            )
            raise OptionError(message)
        self._check_template(template_text(estimator.template))

    def _take(self, estimator: ChainCRF) -> None:
        self._check_template(estimator.model_.template)
        if any(not isinstance(label, str) for label in estimator.classes_):
            message = f"the labels of the model are of type {estimator._label_type}, and spaCy needs strings"
            raise OptionError(message)
        self._tagger = Tagger(estimator)

    def _check_template(self, template: str | None) -> None:
        """Raise OptionError unless a template looks at words alone."""
        if template is None:
            message = "the model was trained on attributes, not on words; train one with a template"
            raise OptionError(message)
        if (n := n_columns(template)) > 1:
            message = f"the template looks at {n} columns, and a doc has one, the words; use a template of one column"
            raise OptionError(message)

    def _labels_of(self, estimator: ChainCRF) -> Iterable[str]:
        return list(estimator.classes_)

    @abstractmethod
    def _labels_in(self, example: Example) -> list[Label] | None:
        """Return the label of each token of the predicted doc of an example; None without any annotation."""

    def _data(self, examples: Iterable[Example], *, has_sentences: bool) -> tuple[list[list[str]], list[list[Label]]]:
        X: list[list[str]] = []
        y: list[list[Label]] = []
        n_examples = n_uncut = 0
        for example in examples:
            n_examples += 1
            labels = self._labels_in(example)
            if labels is None:
                continue
            starts = self._starts_in(example, has_sentences=has_sentences) if self.by_sentence else ()
            (words,), _ = self._words.of([example.predicted])
            n_uncut += has_sentences and self.by_sentence and len(starts) < 2 and _seems_several(example, words)
            for stretch in stretches(words, starts):
                chosen = labels_at(labels, stretch.places)
                if any(label is not None for label in chosen):
                    X.append(stretch.words)
                    y.append(chosen)
        if not X:
            message = f"none of the {n_examples:,} examples has {self._annotation}; give annotated examples"
            raise DataError(message)
        if n_uncut:
            message = (
                f"component {self.name!r}: {n_uncut:,} of {n_examples:,} examples have several sentences but no "
                "boundaries of sentences, and are learned whole, although a component before this one will cut the "
                "docs to label into sentences; set token.is_sent_start in the examples, or by_sentence = false"
            )
            warn(message, DataWarning)
        return X, y

    def _starts_in(self, example: Example, *, has_sentences: bool) -> list[int]:
        """Return the numbers of the first tokens of the sentences that the predicted doc has, or will have."""
        if example.predicted.has_annotation("SENT_START"):
            return sentence_starts(example.predicted)
        if not has_sentences:
            return []
        return [at for at, is_start in enumerate(example.get_aligned_sent_starts()) if is_start]

    def _stretches_of(self, docs: Sequence[Doc]) -> list[list[Stretch]]:
        """Return the stretches of each doc."""
        rows, bounded = self._words.of(docs)
        cut = bounded if self.by_sentence else ()
        return [stretches(row, sentence_starts(docs[at]) if at in cut else ()) for at, row in enumerate(rows)]

    def _tags(self, sentences: list[list[str]]) -> list[list[str]]:
        """Return the most probable labels of sentences."""
        threads = self.estimator._threads
        labels: list[list[str]] = self._tagger.tag_batch(sentences, threads=threads)
        return labels


def _seems_several(example: Example, words: Sequence[str | None]) -> bool:
    """Whether a doc has no boundaries of sentences, and the end of a sentence within it."""
    if any(doc.has_annotation("SENT_START") for doc in (example.predicted, example.reference)):
        return False
    visible = [word for word in words if word is not None]
    return any(word in _ENDS for word in visible[:-1])


def same_tokens(example: Example) -> bool:
    """Whether the two docs of an example have the same tokens, so that no alignment is needed."""
    x, y = example.predicted, example.reference
    return len(x) == len(y) and bool((x.to_array(["ORTH", "SPACY"]) == y.to_array(["ORTH", "SPACY"])).all())
