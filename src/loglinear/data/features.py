"""Features of chains by name."""

from __future__ import annotations

from typing import NamedTuple

from ..visible import visible_name

__all__ = ["Feature"]


class Feature(NamedTuple):
    """A feature of a chain: an attribute with labels, or labels alone. Each feature has a weight.

    Attributes:
        attribute: the attribute of the token; None for a feature of labels alone.
        labels: one label, or two or three consecutive labels; the last one is the label of the token.
    """

    attribute: str | None
    labels: tuple[str, ...]

    def __str__(self) -> str:
        """Return a text for people: `w=dog  -> NOUN`, `DET -> NOUN`, `w=dog  DET -> NOUN`."""
        labels = [visible_name(label) for label in self.labels]
        to = " -> ".join(labels) if len(labels) > 1 else f"-> {labels[0]}"
        return to if self.attribute is None else f"{visible_name(self.attribute)}  {to}"
