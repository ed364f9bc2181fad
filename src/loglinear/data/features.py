"""Features of chains by name."""

from __future__ import annotations

from typing import NamedTuple

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
        to = " -> ".join(self.labels) if len(self.labels) > 1 else f"-> {self.labels[0]}"
        return to if self.attribute is None else f"{self.attribute}  {to}"
