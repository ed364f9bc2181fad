"""Labelled parts of raw texts: a text is cut into tokens, and its labels become spans of characters.

This module imports nothing that labelling text can do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...data.labels import typed
from ...data.text_span import TextSpan
from .chain import tag_texts

if TYPE_CHECKING:
    from ...data.tokenizer import Tokenizer
    from ...schemes import ChunkRule
    from .chain import ChainModel

__all__ = ["spans_html", "spans_of"]


# Makes a span of a tuple of its fields, without the cost of a function in Python.
_SPAN: Callable[[tuple[Any, ...]], TextSpan] = partial(tuple.__new__, TextSpan)


def spans_of(
    model: ChainModel,
    texts: Iterable[str],
    tokenizer: Tokenizer,
    rule: ChunkRule | None,
    *,
    probabilities: bool = True,
    label_type: str = "str",
    threads: int = 0,
) -> tuple[list[list[TextSpan]], list[float] | None]:
    """Return the spans of texts: the chunks in their labels, or a span for each token if the labels form none.

    The second value has log p(labels | text) of each text, in nats; None without probabilities.

    Args:
        model: of a chain.
        texts: each is one sequence.
        tokenizer: cuts them.
        rule: how the labels of the model form chunks; None if they form none.
        probabilities: also return the probabilities of the spans and of all labels of a text.
        label_type: type of the labels to return where they form no chunks: "str", "int" or "bool".
        threads: 0 for all cores.

    Raises:
        OptionError: the model has no template, or its template needs more than one column.
        DataError: a text is not a str, not valid Unicode or too large; names the text.
    """
    spans, sure = tag_texts(
        model, texts, tokenizer.core, _SPAN, rule=rule, probabilities=probabilities, threads=threads
    )
    if rule is None and label_type != "str":
        spans = [[span._replace(label=typed([[span.label]], label_type)[0][0]) for span in row] for row in spans]
    return spans, sure


def spans_html(text: str, spans: Sequence[TextSpan]) -> str:
    """Return a text with its spans in colour, each with its label and probability, as HTML for a notebook.

    Args:
        text: the text.
        spans: its spans, from left to right.

    Example:
        >>> from loglinear import TextSpan
        >>> from loglinear.models.files.text_spans import spans_html
        >>> html = spans_html("Ada wrote", [TextSpan(0, 3, "PER", "Ada", 0.97)])
        >>> "PER" in html and "0.970" in html
        True
    """
    from ...report.labelled import Labelled, in_notebook, shown

    colours = Labelled([str(span.label) for span in spans], sequences=False)
    text = text.translate(dict.fromkeys(map(ord, "\t\r\n"), " "))
    parts, end = [], 0
    for span in spans:
        sure = "" if span.probability is None else f" {span.probability:.3f}"
        note = f"{shown(str(span.label))}{sure}"
        parts += [
            shown(text[end : span.start]),
            colours.coloured(shown(text[span.start : span.end]), str(span.label), note),
        ]
        end = span.end
    return in_notebook(f'<p class="text" lang="" dir="auto">{"".join(parts)}{shown(text[end:])}</p>')
