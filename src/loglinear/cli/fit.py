"""What `train` and `demo` do: read, train, write."""

from __future__ import annotations

import os
from pathlib import Path

from ..corpus import Corpus
from ..errors import OptionError
from ..features import TemplateText
from ..features import preset as preset_text
from ..minimize import Callback
from ..models.training import DevScores, TrainingOptions, train_chain
from ..result import Result
from ..trace import TraceWriter
from .progress import Progress, say

__all__ = ["fit"]


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
    # Bad options are cheaper to find before the data is read than after.
    options.penalty()
    check_writable(model_path)
    if trace is not None:
        check_writable(trace)
    text = preset_text(preset) if preset is not None else None
    if template is not None:
        try:
            text = TemplateText(Path(template).read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError as error:
            message = f"{template}: invalid UTF-8 in a template ({error.reason} at byte {error.start})"
            raise OptionError(message) from error
    corpus = Corpus.read(train, format=format, template=text, threads=threads)
    progress.note(
        f"{train}: {len(corpus):,} sentences, {corpus.core.n_tokens:,} tokens, "
        f"{corpus.core.n_attributes:,} attributes, {len(corpus.labels)} labels"
    )
    scores = None
    if dev is not None:
        scores = DevScores(Corpus.read(dev, format=format, template=text, threads=threads), threads=threads)
        unknown = scores.unknown_labels(corpus.labels)
        if unknown:
            say(f"warning: {dev} has labels that {train} has not, which can never be predicted: {', '.join(unknown)}")
    callbacks: list[Callback] = [progress]
    if trace is not None:
        callbacks.append(TraceWriter(trace))
    model, result = train_chain(corpus, options, threads=threads, callbacks=callbacks, dev=scores)
    model.save(model_path)
    return result


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
