"""Labelled sequences that are handed over one by one, as the trainers of CRFsuite take them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _core
from .corpus import Corpus

__all__ = ["Instances"]


class Instances:
    """Labelled sequences in python-crfsuite's dialect, each of a group, encoded when they are appended.

    Example:
        >>> from loglinear.data.instances import Instances
        >>> instances = Instances()
        >>> instances.append([{"word": "Dogs"}, ["bark"]], ["NOUN", "VERB"])
        >>> instances.corpus()
        (<Corpus of 1 sentence, 2 tokens, 2 attributes, 2 labels>, ['NOUN', 'VERB'])
    """

    def __init__(self) -> None:
        self._core = _core.Instances()

    def append(self, items: Iterable[Any], labels: Iterable[str | bytes], group: int = 0) -> None:
        """Append a sequence of items, and the label of each item.

        Raises:
            ValueError: the numbers of items and labels differ, a value is not finite, or a text is not UTF-8.
            TypeError: an item or a label is of another type.
        """
        self._core.append(items, labels, group)

    def __len__(self) -> int:
        return len(self._core)

    def corpus(self) -> tuple[Corpus, list[str]]:
        """Return all sequences, and the labels as they first appeared, which is how CRFsuite numbers labels."""
        core, labels = self._core.corpus()
        return Corpus(core, None, "python"), labels

    @property
    def groups(self) -> list[int]:
        """The group of each sequence."""
        return self._core.groups
