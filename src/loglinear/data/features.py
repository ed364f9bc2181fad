"""Features of chains by name."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Feature"]


class Feature(NamedTuple):
    """What a weight of a chain is for.

    Attributes:
        attribute: the attribute that has to be on the token; None for a feature of labels alone.
        labels: one label, or two or three labels in a row; the last is the token's.
    """

    attribute: str | None
    labels: tuple[str, ...]

    def __str__(self) -> str:
        """For people: `w=dog  -> NOUN`, `DET -> NOUN`, `w=dog  DET -> NOUN`."""
        to = " -> ".join(self.labels) if len(self.labels) > 1 else f"-> {self.labels[0]}"
        return to if self.attribute is None else f"{self.attribute}  {to}"
