"""Kinds of model: what each answers to the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...models.files.settings import kind_of

if TYPE_CHECKING:
    from .kind import Kind

__all__ = ["opened"]


def opened(path: str) -> Kind:
    """Open a model file of any kind, or another program's model; only the kind's own module is imported.

    Raises:
        ModelFileError: the file is damaged, or not a model.
        OSError: the file cannot be read.
    """
    match kind_of(path):
        case "choice":
            from .choices import Choices

            return Choices(path)
        case "graph":
            from .graphs import Graphs

            return Graphs(path)
        case "network":
            from .tables import Tables

            return Tables(path)
    from ...models.files.chain import open_model

    model, settings = open_model(path)
    if "text" in settings:
        from .texts import Texts

        return Texts(path, model, settings)
    from .sentences import Samples, Sentences

    return (Samples if settings["model"] == "maxent" else Sentences)(path, model, settings)
