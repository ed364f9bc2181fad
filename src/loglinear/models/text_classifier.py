"""A classifier of texts: a vectorizer that counts words, and a maximum-entropy classifier over the words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..data.inputs import Matrix
from ..data.texts import remade, settings_of
from ..errors import OptionError
from ..minimize import Callback
from .explain.explained import explain_samples
from .explain.explanation import Explanation
from .files import maxent as maxent_file
from .files.chain import open_model
from .files.schema import refuse
from .maxent import MaxEnt
from .training.checkpoint import Checkpoint

__all__ = ["TextClassifier"]


class TextClassifier:
    """A classifier of texts.

    Args:
        classifier: over a column for each word.
        vectorizer: scikit-learn's, which makes a matrix of texts.
        columns: numbers of the vectorizer's words that are the classifier's columns, in this order; None for all.
    """

    def __init__(self, classifier: MaxEnt, vectorizer: Any, columns: Sequence[int] | None = None) -> None:
        self.classifier, self._vectorizer, self._columns = classifier, vectorizer, columns

    @classmethod
    def load(cls, path: str) -> TextClassifier:
        """Open a model file.

        Raises:
            OptionError: the model was not trained on texts.
            ModelFileError: the file is damaged or of another kind.
        """
        _, settings = open_model(path)
        if "text" not in settings:
            trained = settings.get("format")
            message = f"{path}: the model reads {trained}, not text; set --format to the format of the file"
            raise OptionError(message)
        stored = maxent_file.read(path)
        words = settings["text"]["words"]
        # The file contains only the words whose weights are not 0.
        place = {word: column for column, word in enumerate(words)}
        if unknown := set(stored.attributes or ()) - place.keys():
            refuse(f"{path}: setting text.words", words, f"a list with {min(unknown)!r}, which has weights")
        columns = [place[word] for word in stored.attributes or ()]
        return cls(MaxEnt._of(replace(stored, attributes=None), path), remade(settings["text"]), columns)

    def fit(
        self,
        X: Matrix,
        labels: Sequence[str] | None,
        *,
        dev: tuple[Sequence[str], Sequence[str] | None] | None = None,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
    ) -> TextClassifier:
        """Train the classifier on the matrix that the vectorizer has made of texts; `dev` are texts and labels."""
        texts, y_dev = dev or (None, None)
        X_dev = None if texts is None else self._vectorizer.transform(texts)
        self.classifier.fit(X, labels, X_dev=X_dev, y_dev=y_dev, callbacks=callbacks, checkpoint=checkpoint)
        return self

    def save(self, path: str) -> None:
        """Write the model to a file, which is replaced whole or not at all; weights of 0 are left out."""
        text = settings_of(self._vectorizer)
        contents = self.classifier._contents(text["words"], format="text", text=text)
        maxent_file.model_of(contents).save(path)

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Return the most probable label of each text."""
        return [str(label) for label in self.classifier.predict(self._matrix(texts))]

    def predict_proba(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Return for each text the probability of every label."""
        rows = self.classifier.predict_proba(self._matrix(texts)).tolist()
        return [dict(zip(map(str, self.classifier.classes_), row, strict=True)) for row in rows]

    def explain(self, texts: Sequence[str]) -> Explanation:
        """Return why each text has its label: the words that speak for it and against it; see `MaxEnt.explain`."""
        words = self._vectorizer.get_feature_names_out()
        columns = range(len(words)) if self._columns is None else self._columns
        classifier = self.classifier
        return explain_samples(
            self._matrix(texts),
            classifier.coef_,
            classifier.intercept_,
            classifier.predict_proba(self._matrix(texts)),
            classes=[str(label) for label in classifier.classes_.tolist()],
            texts=texts,
            name=lambda column: str(words[columns[column]]),
        )

    def _matrix(self, texts: Sequence[str]) -> Any:
        X = self._vectorizer.transform(texts)
        return X if self._columns is None else X[:, self._columns]
