"""An older chain whose features and labels are features and labels of other data as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..data.labels import typed
from ..errors import DataError, OptionError

if TYPE_CHECKING:
    from .. import _core
    from ..data.corpus import Corpus

__all__ = ["OlderChain", "check_template"]


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
        if label_type != self.label_type:
            message = f"the labels have type {label_type}, but {self.name} has labels of type {self.label_type}"
            raise DataError(message)
        check_template(self.name, self.model.template, template)

    def check_order(self, order: int) -> None:
        """Raise OptionError if the chain has triples of labels and a chain of this order has none."""
        if order == 1 and self.model.triple_features():
            message = f"prior: {self.name} is a chain of order 2; set order=2 (--order 2)"
            raise OptionError(message)


def check_template(name: str, older: str | None, template: str | None) -> None:
    """Raise OptionError if data have another template than the older model, which is called ``name``."""
    if template == older:
        return
    if template is None:
        difference = f"{name} has a template, but the data are read without one"
    elif older is None:
        difference = f"{name} has no template, but the data are read with one"
    else:
        difference = f"{name} has another template"
    message = f"prior: {difference}; leave out the template (--template) to use the template of the prior"
    raise OptionError(message)
