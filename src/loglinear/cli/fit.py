"""What `train` and `demo` do, and `select` in part: read, train, write."""

from __future__ import annotations

import os
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..data import texts as documents
from ..data.corpus import Corpus
from ..data.templates import TemplateText
from ..data.templates import preset as preset_text
from ..errors import DataError, OptionError
from ..minimize import Callback
from ..models.chain_training import (
    DevScores,
    SolverOptions,
    TrainingOptions,
    train_chain,
)
from ..result import Result
from ..trace import TraceWriter
from .progress import Progress, say

__all__ = ["check_writable", "fit", "fit_classifier", "read_sentences"]


def fit(
    train: str,
    model_path: str,
    options: TrainingOptions,
    *,
    preset: str | None = None,
    template: str | None = None,
    format: str = "columns",
    dev: str | None = None,
    trace: str | None = None,
    threads: int = 0,
    progress: Progress,
) -> Result:
    """Train on a file and write the model; what is certain to fail fails before the work is done."""
    _check(options, model_path, trace)
    corpus, scores = read_sentences(
        train, dev, preset=preset, template=template, format=format, threads=threads, progress=progress
    )
    model, result = train_chain(corpus, options, threads=threads, callbacks=_callbacks(progress, trace), dev=scores)
    model.save(model_path)
    return result


def read_sentences(
    train: str,
    dev: str | None,
    *,
    preset: str | None,
    template: str | None,
    format: str,
    threads: int,
    progress: Progress,
) -> tuple[Corpus, DevScores | None]:
    """Read the training data and, if there are any, the development data; say what was found."""
    text = _template(preset, template)
    corpus = Corpus.read(train, format=format, template=text, threads=threads)
    progress.note(
        f"{train}: {len(corpus):,} sentences, {corpus.core.n_tokens:,} tokens, "
        f"{corpus.core.n_attributes:,} attributes, {len(corpus.labels)} labels"
    )
    if dev is None:
        return corpus, None
    scores = DevScores(Corpus.read(dev, format=format, template=text, threads=threads), threads=threads)
    unknown = scores.unknown_labels(corpus.labels)
    if unknown:
        say(f"warning: {dev} has labels that {train} has not, which can never be predicted: {', '.join(unknown)}")
    return corpus, scores


def fit_classifier(
    train: str,
    model_path: str,
    options: TrainingOptions,
    *,
    preset: str | None = None,
    template: str | None = None,
    format: str = "columns",
    ngrams: str = "1",
    tfidf: bool = False,
    multi_class: str = "softmax",
    dev: str | None = None,
    trace: str | None = None,
    threads: int = 0,
    progress: Progress,
) -> dict[str, Any]:
    """Train a classifier on a file and write the model; return the summary of the training."""
    # Chains are trained without scikit-learn, which takes longer to import than all the rest.
    from sklearn.exceptions import ConvergenceWarning

    from ..models.chain_training import training_summary
    from ..models.maxent import MaxEnt

    _check(options, model_path, trace)
    if options.all_states or options.all_transitions or options.order != 1:
        message = "--all-states, --all-transitions and --order are for chains; a classifier has all weights there are"
        raise OptionError(message)
    classifier = MaxEnt(
        **{field.name: getattr(options, field.name) for field in fields(SolverOptions)},
        min_count=options.min_count,
        multi_class=multi_class,
        n_jobs=threads or None,
    )
    notes: dict[str, Any] = {"format": format}
    X: Any
    X_dev: Any = None
    y = y_dev = None
    if format == "text":
        if preset is not None or template is not None:
            message = "texts have no columns; leave out --preset and --template"
            raise OptionError(message)
        vectorizer = documents.make_vectorizer(ngrams, tfidf=tfidf, min_count=options.min_count)
        found = documents.read(train)
        X, y = _words(vectorizer, found.texts, train), found.labels
        notes["text"] = documents.settings_of(vectorizer)
        progress.note(f"{train}: {X.shape[0]:,} texts, {X.shape[1]:,} words, {len(set(found.labels or ()))} labels")
        if dev is not None:
            given = documents.read(dev)
            X_dev, y_dev = vectorizer.transform(given.texts), given.labels
    else:
        if tfidf or ngrams != "1":
            message = f"--ngrams and --tfidf are for --format text, not for {format}"
            raise OptionError(message)
        text = _template(preset, template)
        X = Corpus.read(train, format=format, template=text, threads=threads)
        size = f"{X.core.n_tokens:,} samples, {X.core.n_attributes:,} attributes, {len(X.labels)} labels"
        progress.note(f"{train}: {size}")
        if dev is not None:
            X_dev = Corpus.read(dev, format=format, template=text, threads=threads)
    with warnings.catch_warnings():
        # The status says so already.
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(X, y, X_dev=X_dev, y_dev=y_dev, callbacks=_callbacks(progress, trace))
    if "text" in notes:
        classifier.attributes_ = notes["text"]["words"]
    classifier.save(model_path, **notes)
    results = classifier.result_
    return training_summary(results if isinstance(results, list) else [results])


def _words(vectorizer: Any, texts: list[str], path: str) -> Any:
    try:
        return vectorizer.fit_transform(texts)
    except ValueError as error:
        message = f"{path}: no words are left ({error}); lower --min-count, or look at the file"
        raise DataError(message) from error


def _check(options: TrainingOptions, model_path: str, trace: str | None) -> None:
    """Bad options are cheaper to find before the data is read than after."""
    options.penalty()
    check_writable(model_path)
    if trace is not None:
        check_writable(trace)


def _template(preset: str | None, template: str | None) -> str | None:
    if template is None:
        return preset_text(preset) if preset is not None else None
    try:
        return TemplateText(Path(template).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"{template}: invalid UTF-8 in a template ({error.reason} at byte {error.start})"
        raise OptionError(message) from error


def _callbacks(progress: Progress, trace: str | None) -> list[Callback]:
    return [progress] if trace is None else [progress, TraceWriter(trace)]


def check_writable(path: str) -> None:
    """Raise OptionError if a file cannot be written to this place."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return  # a device or a pipe: written to as it is
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        message = f"{path}: its folder does not exist; make it first"
        raise OptionError(message)
    if os.path.isdir(path):
        message = f"{path}: is a folder; give the name of a file"
        raise OptionError(message)
    if not os.access(folder, os.W_OK):
        message = f"{path}: its folder cannot be written to"
        raise OptionError(message)
