"""Training of a chain model on data in parts, wherever these are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ...minimize import Callback
from ...objectives.parts import ChainParts
from ...result import Result
from ..files.chain import ChainModel
from ..files.settings import settings_text, training_summary
from .chain import DevSet
from .checkpoint import Checkpoint, Saving
from .fingerprint import checksum
from .options import DevOptions, SolverOptions
from .run import train
from .start import Start

__all__ = ["of_parts", "train_parts"]


def train_parts(
    objective: ChainParts,
    options: SolverOptions = SolverOptions(),
    *,
    callbacks: Iterable[Callback] = (),
    dev: DevSet | None = None,
    start: Start | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[ChainModel, Result]:
    """Train a linear-chain CRF on data in parts, as `train_chain` does on a corpus.

    Args:
        objective: the data and their features.
        options: penalty and solver.
        callbacks: see `minimize`.
        dev: development data, in this process.
        start: trained chain whose weights the training starts at.
        checkpoint: file to write the training's state to, and to go on from.

    Raises:
        OptionError: an option is out of its range, or is not what it was before the checkpoint.
        DataError: the checkpoint is damaged.

    Warns:
        UserWarning: the L1 penalty has left no feature.

    Example:
        >>> from loglinear.data.parts import ListedPart
        >>> from loglinear.models.training.chain_parts import train_parts
        >>> from loglinear.objectives.parts import ChainParts
        >>> parts = [ListedPart("a", [[["the"], ["dog"]]], [["DET", "NOUN"]]), ListedPart("b", [[["dog"]]], [["NOUN"]])]
        >>> model, result = train_parts(ChainParts(parts))
        >>> result.status.name, model.labels
        ('CONVERGED', ['NOUN', 'DET'])
    """
    options.check()
    data = None if dev is None else dev.of(objective)
    saving = None
    if checkpoint is not None:
        saving = Saving(checkpoint, {"model": "chain", **_features(objective)}, {"training data": of_parts(objective)})
    w0, account = (None, None) if start is None else start.weights(objective)
    result = train(objective, options, callbacks=callbacks, dev=data, w0=w0, saving=saving)
    result = replace(result, start=account)
    use = DevOptions() if dev is None else dev.options
    settings = {
        "format": objective.table.format,
        "label_type": objective.table.label_type,
        **options.settings(),
        **_features(objective),
        **vars(use),
        "training": {
            "n_sentences": objective.n_samples,
            "n_tokens": objective.n_tokens,
            "n_features": objective.n_features,
            **training_summary([result]),
        },
    }
    return objective.model(result.w, settings_text("chain", settings)), result


def _features(objective: ChainParts) -> dict[str, Any]:
    return vars(objective.features)


def of_parts(objective: ChainParts) -> dict[str, Any]:
    """Return the sizes of a data set in parts and a checksum of its features, and of the gradient at weights of 0.

    The gradient depends on every sentence. It is rounded: processors that add up in another order may differ in its
    last bits.
    """
    value, gradient = objective.value_and_gradient(np.zeros(objective.n_features))
    # Multiples of pi: a gradient at 0 is often a fraction with a small denominator, half-way between round numbers.
    rounded = np.rint(np.append(gradient, value) * (1000.0 / np.pi)).astype(np.int64)
    names = np.frombuffer(objective.table.core.pack(), np.uint8)
    return {
        "parts": objective.group.size,
        "sentences": objective.n_samples,
        "tokens": objective.n_tokens,
        "labels": len(objective.labels),
        "checksum": checksum([names, rounded]),
    }
