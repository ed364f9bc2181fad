"""Labelling texts with a classifier that was trained on texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from ..data import texts as documents
from ..errors import OptionError
from ..models.maxent import MaxEnt

__all__ = ["classify", "tag"]


def classify(path: str, settings: dict[str, Any], texts: Sequence[str]) -> tuple[MaxEnt, Any]:
    """Return the classifier of a model file, and the texts as a matrix over its words.

    Raises:
        OptionError: the model was not trained on texts.
    """
    if "text" not in settings:
        message = f"{path}: not trained on texts but on {settings.get('format')}; give --format for the file's"
        raise OptionError(message)
    classifier, words = MaxEnt.load(path), settings["text"]["words"]
    X = documents.remade(settings["text"]).transform(texts)
    # Of the words, the file has those whose weights are not 0.
    place = {word: column for column, word in enumerate(words)}
    columns = [place[word] for word in classifier.attributes_ or ()]
    classifier.attributes_ = None
    return classifier, X[:, columns]


def tag(path: str, settings: dict[str, Any], file: str, output: str, *, marginals: bool) -> None:
    """Write the label of every text, a line each, and the probabilities of all labels where they are wanted."""
    found = documents.read(file, labelled=False)
    classifier, X = classify(path, settings, found.texts)
    rows = [[str(label)] for label in classifier.predict(X)]
    if marginals:
        for row, probabilities in zip(rows, classifier.predict_proba(X), strict=True):
            row += [f"{name}:{p:.6f}" for name, p in zip(classifier.classes_, probabilities, strict=True)]
    # As many lines come out as go in, blank ones too.
    lines = [""] * found.lines[-1]
    for number, row in zip(found.lines, rows, strict=True):
        lines[number - 1] = "\t".join(row)
    _core.write_output(output, "".join(line + "\n" for line in lines).encode())
