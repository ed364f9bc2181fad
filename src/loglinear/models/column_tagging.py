"""Sentences in a column of a table, labelled: a column of labels of the same library."""

from __future__ import annotations

from typing import Any

from ..data.columns import ListColumn
from ..data.labels import typed
from .files.chain import ChainModel, tag_arrow, tag_lists

__all__ = ["tag_column"]


def tag_column(
    model: ChainModel, label_type: str, sentences: Any, *, probabilities: bool = False, threads: int = 0
) -> Any:
    """Return the labels of a column of sentences, as a column or, with probabilities, as a table; null for null.

    Raises:
        DataError: an invalid sentence, which the message names; or values that are not lists.
    """
    column = ListColumn(sentences, "the sentences")
    if model.has_template and column.arrow is not None and not column.is_null:
        result = tag_arrow(model, column.arrow, label_type, probabilities=probabilities, threads=threads)
        return column.of_arrow(result, is_table=probabilities)

    def labelled(lists: list[Any]) -> dict[str, list[Any]]:
        names, sure = tag_lists(model, lists, probabilities=probabilities, threads=threads)
        labels = {"labels": typed(names, label_type)}
        return labels if sure is None else {**labels, "probabilities": sure[0], "log_probability": sure[1]}

    return column.mapped(labelled, tuples=model.has_template)
