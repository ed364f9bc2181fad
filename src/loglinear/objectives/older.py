"""An older chain whose features and labels are features and labels of other data as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..data.column_layout import template_lines
from ..data.labels import typed
from ..errors import DataError, OptionError

if TYPE_CHECKING:
    from .. import _core
    from ..data.corpus import Corpus

__all__ = ["OlderChain", "check_label_type", "check_template", "other_template"]


@dataclass(frozen=True)
class OlderChain:
    """A trained chain at whose weights the penalty of another training is centred.

    Attributes:
        model: the chain.
        label_type: type of its labels: "str", "int" or "bool".
        name: what messages call it.
    """

    model: _core.ChainModel
    label_type: str
    name: str

    def joined(self, corpus: Corpus) -> list[Any]:
        """Return the labels of a corpus and of the chain, the most frequent first, ties in byte order."""
        counts = dict.fromkeys(self.model.labels, 0)
        counts |= dict(zip(corpus.core.labels, corpus.core.label_counts(), strict=True))
        names = sorted(counts, key=lambda name: (-counts[name], name.encode()))
        return typed([names], self.label_type)[0]

    def check(self, label_type: str, template: str | None) -> None:
        """Check that data go together with the chain.

        Raises:
            DataError: the labels have another type.
            OptionError: the template is another one.
        """
        check_label_type(self.name, self.label_type, label_type)
        check_template(self.name, self.model.template, template)

    def check_order(self, order: int) -> None:
        """Raise OptionError if the chain has triples of labels and a chain of this order has none."""
        if order == 1 and self.model.triple_features():
            message = f"prior: {self.name} is a chain of order 2; set order=2 (--order 2)"
            raise OptionError(message)


def check_template(name: str, older: str | None, template: str | None) -> None:
    """Raise OptionError if data have another template than the older model, which is called ``name``."""
    if difference := other_template(name, older, template):
        remedy = (
            "give sentences with the attributes that it was trained on (--format crfsuite or jsonl)"
            if older is None
            else "leave out the template (--template) to use the template of the prior"
        )
        message = f"prior: {difference}; {remedy}"
        raise OptionError(message)


def other_template(name: str, older: str | None, template: str | None) -> str:
    """Return how data and an older model, called ``name``, differ in their template; empty if they do not."""
    if template == older:
        return ""
    if template is not None and older is not None and template_lines(template) == template_lines(older):
        return ""
    if template is None:
        return f"{name} has a template, but the data are read without one"
    return (
        f"{name} has no template, but the data are read with one" if older is None else f"{name} has another template"
    )


def check_label_type(name: str, older: str, label_type: str) -> None:
    """Raise DataError if labels of data have another type than the labels of the older model called ``name``."""
    if label_type != older:
        message = f"the labels have type {label_type}, but {name} has labels of type {older}"
        raise DataError(message)
