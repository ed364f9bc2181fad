"""The command that trains a chain or a classifier again, for its report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..options import flags_of

__all__ = ["training_command"]


def training_command(settings: Mapping[str, Any], template: str | None, flags: Sequence[str]) -> str | None:
    """Return the command that trains a model again, with names in capitals for files; None if there is none.

    Args:
        settings: settings of the model.
        template: text of its template.
        flags: flags of `train` that its kind of model needs.
    """
    from ...data.formats import is_format
    from ...models.explain.reports import preset_of
    from ...models.training.options import DevOptions, SolverOptions
    from ...objectives.chain import ChainFeatures

    format, training = str(settings.get("format")), settings.get("training")
    python_only = settings.get("fit_intercept") is False or settings.get("class_weight") is not None
    python_only = python_only or isinstance(settings.get("constraints"), list)
    if training is None or "imported" in settings or python_only or not (format == "corpus" or is_format(format)):
        return None
    words = ["loglinear", "train", "TRAIN", "--model", "MODEL", *flags]
    words += [] if format in ("columns", "corpus", "text") else ["--format", format]
    if template is not None and format != "corpus":
        preset = preset_of(template)
        words += ["--template", "TEMPLATE"] if preset is None else ["--preset", preset]
    words += ["--start", "OLD_MODEL"] if "start" in training else []
    words += ["--dev", "DEV"] if "dev" in training else []
    # Options that a training has settled are left at their defaults.
    l2 = None if settings.get("l2") == (0.0 if settings.get("l1") else 1.0) else settings.get("l2")
    solver = None if settings.get("solver") == "auto" else settings.get("solver")
    for kind in (SolverOptions, ChainFeatures, DevOptions):
        words += flags_of(kind, {**settings, "l2": l2, "solver": solver})
    return " ".join(map(shlex.quote, words))
