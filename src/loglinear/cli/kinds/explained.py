"""What `loglinear explain` asks of chains and of classifiers of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...data.corpus import read_unlabelled
from ...data.formats import file_name, named, need_lines
from ...data.lines import sentence_lines
from ...data.survey import remedy_of_sentences
from ...data.tokens import file_words
from ...errors import DataError
from ...models.explain.explainer import Explainer
from ...models.explain.explanation import Explanation
from ..layout import start_of, warn_of_unknown_attributes
from ..reading import guessing, rereadable

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["explained_sentences"]


def explained_sentences(kind: Any, arguments: Namespace) -> list[Explanation]:
    """Return an explanation of each sentence of a file; of an empty one for each JSON line without tokens.

    Args:
        kind: a chain or a classifier of features.
        arguments: of the command.

    Raises:
        DataError: the file has no sentences.
    """
    format = kind.format(arguments.file, arguments.format)
    need_lines(format, arguments.file, "loglinear explain", or_spans=True)
    with rereadable(arguments.file) as path:
        columns = kind.columns_to_label(arguments, format, path)
        with guessing(format, kind.guess(arguments.file, arguments.format), arguments.file):
            corpus = read_unlabelled(path, format, kind.template, columns, arguments.threads)
        warn_of_unknown_attributes(arguments.file, start_of(path), format, kind.model)
        # A sample of numbered columns has no name.
        words = None if kind.settings.get("n_columns") else file_words(path, format, corpus)
        lines = sentence_lines(path, named(format), columns) if format == "jsonl" else ()
        are_empty = [not named(format).words(line, columns) for sentence in lines for _, line in sentence]
    if not len(corpus):
        message = f"{file_name(arguments.file)}: no sentences found; {remedy_of_sentences(format)}"
        raise DataError(message)
    explanations = Explainer(kind.model).explain(corpus, words, arguments.threads, explained=kind.items)
    if are_empty.count(False) != len(explanations):
        return explanations
    others = iter(explanations)
    return [Explanation([], kind.items) if is_empty else next(others) for is_empty in are_empty]
