"""What `loglinear report` writes about two models: their answers to the same data side by side."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ..ending import size_text

if TYPE_CHECKING:
    from argparse import Namespace

    from ...report.comparison import Comparison
    from .kind import Kind

__all__ = ["compared"]


def compared(first: Kind, second: Kind, arguments: Namespace) -> Comparison:
    """Return the comparison of two chains or classifiers on labelled data.

    Raises:
        DataError: the models read different labels from the data.
        OptionError: a model is neither a chain nor a classifier.
    """
    from ...report.comparison import Compared, comparison_of
    from ...schemes import checked_scheme

    checked_scheme((), arguments.scheme or "none", "conlleval")
    kinds: list[Any] = [first, second]
    answers = [_answers(kind, arguments) for kind in kinds]
    if answers[0].gold != answers[1].gold:
        message = f"{arguments.data}: {first.path} and {second.path} read different labels from it; compare models of "
        message += "the same kind, trained on the same columns and labels"
        raise DataError(message)
    schemes = {kind.scheme(kind.format(arguments.data, arguments.format)) for kind in kinds}
    items = {kind.items for kind in kinds}
    return comparison_of(
        Compared(answers[0].gold, answers[0].predicted, answers[1].predicted, answers[0].words),
        names=(first.path, second.path),
        items="tokens" if len(items) > 1 else items.pop(),
        scheme=arguments.scheme or ("none" if "none" in schemes else None),
        title=" on ".join((" and ".join(map(_base, (first.path, second.path))), _base(arguments.data))),
        settings=_settings(*kinds),
    )


def _answers(kind: Any, arguments: Namespace) -> Any:
    """Return the answers of a model; an error names it."""
    try:
        return kind.answers_to_compare(arguments)
    except DataError as error:
        message = f"{kind.path}: {error}"
        raise DataError(message) from error


def _base(path: str) -> str:
    return os.path.basename(os.path.normpath(path))


def _settings(*kinds: Any) -> dict[str, tuple[str, str]]:
    """Return the rows of the table on two models and their training."""
    from ...models.explain.reports import model_rows

    rows = [
        model_rows(kind.model) | {"size of the file": size_text(kind.path).removeprefix("model ")} for kind in kinds
    ]
    first, second = rows
    return {name: (first.get(name, "·"), second.get(name, "·")) for name in [*first, *second]}
