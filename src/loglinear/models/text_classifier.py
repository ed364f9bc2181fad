"""A classifier of texts: a maximum-entropy classifier of their words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..data.columns import as_lists, is_arrow
from ..data.corpus import Corpus
from ..data.frames import as_column
from ..data.inputs import Classes, Samples
from ..data.labels import check_classes
from ..data.soft_classes import are_soft
from ..data.sparse_structure import check_structure
from ..data.texts import exchanged
from ..data.tokens import read_once
from ..data.words import CountedTexts, WordCounts, Words, ngram_lengths
from ..errors import DataError, DataWarning, OptionError, warn
from ..minimize import Callback
from ..vectors import Vector
from .estimator import check_fitted
from .files import maxent as maxent_file
from .files.schema import refuse
from .maxent import MaxEnt
from .training.checkpoint import Checkpoint
from .training.options import TextOptions
from .training.start import start_path

if TYPE_CHECKING:
    from ..report.page import Report
    from .explain.explanation import Explanation

__all__ = ["TextClassifier"]


class TextClassifier(MaxEnt, TextOptions):
    """Maximum-entropy classifier of texts by their words; X is a sequence of strings wherever `MaxEnt` takes samples.

    The columns are the words of the training data, cut and weighted as the options say. `loglinear train --format text`
    trains the same model.

    Attributes:
        classes_: the classes, sorted, shape (n_classes,).
        words_: the words of the columns, in the order of coef_.
        coef_: weights, shape (1, n_words) for two classes, (n_classes, n_words) otherwise.
        intercept_: shape (1,) or (n_classes,).
        result_: status, trace and optimality violation of the training; NotFittedError for a loaded model.

    Example:
        >>> from loglinear import TextClassifier
        >>> texts = ["buy cheap pills", "cheap pills now", "lunch at noon?", "see you at noon"]
        >>> model = TextClassifier(tfidf=True, l2=0.1).fit(texts, ["spam", "spam", "ham", "ham"])
        >>> model.predict(["pills at a cheap price", "dinner at eight"]).tolist()
        ['spam', 'ham']
    """

    _items = "texts"

    def fit(
        self,
        X: Corpus | Samples | CountedTexts,
        y: Classes | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        X_dev: Corpus | Samples | None = None,
        y_dev: Classes | None = None,
        start: MaxEnt | str | os.PathLike[str] | None = None,
        prior: MaxEnt | str | os.PathLike[str] | None = None,
        prior_strength: float | None = None,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> TextClassifier:
        """Train on texts and their classes, or distributions over classes; see `MaxEnt.fit`.

        X may also be what `counted` has returned.
        """
        self._check_options(has_dev=X_dev is not None)
        y = self._checked(y)
        start = copy(self) if start is self else start  # whose words remain
        prior = copy(self) if prior is self else prior
        counted = self._words_and_matrix(X, y, prior)
        self._use(counted.counts)
        try:
            super().fit(
                counted.matrix,
                y,
                sample_weight,
                X_dev=X_dev,
                y_dev=y_dev,
                start=start,
                prior=prior,
                prior_strength=prior_strength,
                callbacks=callbacks,
                checkpoint=checkpoint,
                groups=groups,
            )
        finally:  # after an interrupt as well
            self._format = "text"
        return self

    @staticmethod
    def _checked(y: Any) -> Any:
        """Return classes, or distributions over classes, after a check of the classes."""
        if are_soft(y):
            return y
        y = as_column(y, "y")
        check_classes(y)
        return y

    def _words_and_matrix(
        self, X: Corpus | Samples | CountedTexts, y: Classes | None, prior: MaxEnt | str | os.PathLike[str] | None
    ) -> CountedTexts:
        """Return the words of texts to train on, and those of a prior, with their matrix."""
        if prior is None:
            return X if isinstance(X, CountedTexts) else self._counted(texts_of(X), y)
        if isinstance(X, CountedTexts):
            message = "a prior needs the texts: its words are columns as well; give texts as X"
            raise OptionError(message)
        texts = texts_of(X)
        counts = self._with_words_of(_opened(prior), texts)
        return CountedTexts(counts, counts.matrix(texts))

    def partial_fit(
        self,
        X: Corpus | Samples,
        y: Classes | None = None,
        classes: Classes | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> TextClassifier:
        """Learn from one more piece of texts, without forgetting the former ones; see `MaxEnt.partial_fit`.

        Raises:
            OptionError: the options count words in a way that depends on all texts: tfidf.
        """
        self._check_options(has_dev=False)
        self._refuse_tfidf()
        around = self._before_piece(classes)
        texts, y = texts_of(X), self._checked(y)
        is_first = around.start is None
        self._use(self._counted(texts, None).counts if is_first else self._with_words_of(copy(self), texts))
        self._learn(self._counts.matrix(texts), y, sample_weight, around=around)
        self._format = "text"
        return self

    def _use(self, counts: WordCounts) -> None:
        """Take words for columns."""
        self._counts, self.words_ = counts, list(counts.vocabulary)
        self._columns: list[int] | None = None

    def _refuse_tfidf(self, older: WordCounts | None = None) -> None:
        """Raise OptionError if the values of words depend on all texts, here or in an older classifier."""
        if self.tfidf or (older is not None and older.idf is not None):
            message = "tfidf=True is not available with older words, whose values would change; use tfidf=False "
            message += "(leave out --tfidf)"
            raise OptionError(message)

    def _with_words_of(self, older: TextClassifier, texts: Sequence[str]) -> WordCounts:
        """Return the words of texts and of an older classifier.

        Raises:
            OptionError: the older classifier has other words, or values of words depend on all texts.
        """
        self._refuse_tfidf(older._counts)
        fresh = self._counted(texts, None)
        ours, theirs = fresh.counts.words, older._counts.words
        if (ours.unit, ours.ngrams) != (theirs.unit, theirs.ngrams):
            shown = f"words={theirs.unit!r} and n-grams of {theirs.ngrams[0]} to {theirs.ngrams[1]}"
            message = f"prior: the older model has {shown}; use the same options"
            raise OptionError(message)
        return WordCounts(ours, sorted({*fresh.counts.vocabulary, *older.words_}))

    def counted(self, texts: Sequence[str]) -> CountedTexts:
        """Return the words of texts to train on, and their matrix, shape (texts, words).

        Raises:
            DataError: no word is left.
        """
        options = self._options(TextOptions)
        words = Words(options.words, ngram_lengths("ngrams", options.ngrams))
        tfidf, min_count = options.tfidf, self.min_count
        return WordCounts.fit(texts, words, tfidf=tfidf, min_count=min_count, reserved=maxent_file.INTERCEPT)

    def _counted(self, texts: Sequence[str], labels: Classes | None) -> CountedTexts:
        """Return the words of texts, after a warning if the labels look like the texts."""
        names = (
            [] if labels is None or are_soft(labels) else [str(label) for label in np.asarray(labels).ravel().tolist()]
        )
        if (reason := exchanged(texts, names)) is not None:
            warn(f"{reason}; give the texts as X and the labels as y", DataWarning)
        return self.counted(texts)

    def _matrix(self, X: Corpus | Samples) -> Vector | scipy.sparse.csr_array:
        """Return texts as a matrix over the words with weights; a sparse matrix of them stays what it is."""
        if scipy.sparse.issparse(X):
            check_structure(X)
            matrix = scipy.sparse.csr_array(X)
            if matrix.ndim != 2 or matrix.shape[1] != len(self.words_):
                message = f"X has shape {matrix.shape}, but the classifier has {len(self.words_)} words; give texts"
                raise DataError(message)
            return matrix
        matrix = self._counts.matrix(texts_of(X))
        return matrix if self._columns is None else matrix[:, self._columns]

    def _column_names(self) -> Sequence[str]:
        return self.words_

    def explain(
        self, X: Corpus | Samples, *, words: Sequence[str] | None = None, names: Sequence[str] | None = None
    ) -> Explanation:
        """Say why each text has its class and not the second best one: what each word adds; see `MaxEnt.explain`."""
        check_fitted(self, "words_")
        X = read_once(X)
        return super().explain(self._matrix(X), words=texts_of(X) if words is None else words, names=names)

    def report(
        self,
        X: Corpus | Samples,
        y: Classes | None = None,
        *,
        words: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        title: str = "Report of a classifier",
    ) -> Report:
        """Return a report about the model on labelled texts; see `MaxEnt.report`."""
        check_fitted(self, "words_")
        X = read_once(X)
        shown = texts_of(X) if words is None else words
        return super().report(self._matrix(X), y, words=shown, names=names, title=title)

    def save(self, path: str | os.PathLike[str], **notes: object) -> None:
        """Write the model to a file, which is replaced whole or not at all; weights of 0 are left out."""
        check_fitted(self, "words_")
        text = self._counts.settings()
        contents = self._contents(self.words_, **{"format": "text", "text": text, **notes})
        maxent_file.model_of(contents).save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TextClassifier:
        """Open a model file, of this class or of `loglinear train --format text`.

        Raises:
            OptionError: the model was not trained on texts.
            ModelFileError: the file is damaged or of another kind.
            OSError: the file cannot be read.
        """
        name = os.fspath(path)
        contents = maxent_file.read(name)
        if "text" not in contents.settings:
            columns = "attributes" if contents.attributes is not None else "numbers"
            message = f"{name}: the model was trained on {columns}, not on texts; open it with loglinear.MaxEnt"
            raise OptionError(message)
        counts = WordCounts.of_settings(contents.settings["text"])
        # The file has the words whose weights are not 0.
        column_of, weighted = counts.columns, contents.attributes or []
        if unknown := set(weighted) - column_of.keys():
            refuse(f"{name}: setting text.words", counts.vocabulary, f"a list with {min(unknown)!r}, which has weights")
        classifier = cls._of(replace(contents, attributes=None), name)
        classifier.set_params(**{key: value for key, value in counts.options().items() if value is not None})
        classifier._counts, classifier._columns = counts, [column_of[word] for word in weighted]
        classifier.words_ = weighted
        return classifier


def _opened(prior: MaxEnt | str | os.PathLike[str]) -> TextClassifier:
    """Return the older classifier of texts."""
    if isinstance(prior, TextClassifier):
        check_fitted(prior, "words_")
        return prior
    return TextClassifier.load(start_path(prior, "TextClassifier", "prior"))


def texts_of(X: object) -> list[str]:
    """Return texts as a list: a sequence or an array of strings, or a column of a data frame.

    Raises:
        DataError: X is a single string or a table, or holds something else; names the text.
    """
    texts: list[object] = []
    if is_arrow(X) and not isinstance(X, Iterable):  # a relation of DuckDB
        X = as_lists(X, "X")
    if isinstance(X, (list, tuple)):
        texts = list(X)
    elif isinstance(X, (str, bytes, Set, Mapping)) or not isinstance(X, Iterable):
        message = f"X is of type {type(X).__name__}, not a sequence of texts; give a list of strings"
        raise DataError(message)
    else:
        array = np.asarray(X, dtype=object)
        if array.ndim > 1:
            message = f"X is a table of shape {array.shape}, not a sequence of texts; give one of its columns"
            raise DataError(message)
        texts = array.tolist() if array.ndim else list(X)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            message = f"text {number} of X is of type {type(text).__name__}, not a string; give a sequence of strings"
            raise DataError(message)
    return [text for text in texts if isinstance(text, str)]
