"""Prodigy's JSON lines: a task in each line, with text, tokens, spans and the answer of a person.

`prodigy db-out` writes `{"text": "...", "tokens": [{"text": "Ada", "start": 0, "end": 3, "id": 0, "ws": true}],
"spans": [{"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"}], "answer": "accept"}` and fields
that begin with an underscore. "token_end" is the last token of the span. Offsets count code points. Tasks with the
answers "reject" and "ignore" are not annotations of their text and are left out.

Source: Prodigy's documentation, "Annotation task formats", and public exports of the recipe ner.manual.
"""

from __future__ import annotations

from typing import Any

from ...errors import DataWarning, warn
from ...visible import counted
from ..formats import file_name
from ..text_span import TextSpan
from .annotated_text import AnnotatedText, by_position, checked_span, quoted
from .json_record import Record, id_fields, json_lines, json_text

__all__ = ["fields", "read", "written"]

_ANSWERS = ("accept", "reject", "ignore")


def read(path: str) -> list[AnnotatedText]:
    """Return the accepted texts of an export.

    Raises:
        DataError: the file is not an export of spans, or a span or a token is wrong; names file and line.

    Warns:
        DataWarning: tasks that were rejected or ignored are left out.
    """
    texts, n_refused = [], 0
    for record in json_lines(path):
        answer = record.text("answer") if "answer" in record else "accept"
        if answer not in _ANSWERS:
            record.fail(f"the answer is {answer!r}; expected {', '.join(_ANSWERS[:-1])} or {_ANSWERS[-1]}")
        if answer != "accept":
            n_refused += 1
            continue
        text = record.text("text")
        spans = [_span(span, text) for span in record.records("spans")]
        texts.append(
            AnnotatedText(
                text,
                by_position(spans),
                record.id("_task_hash"),
                _tokens(record, text),
                record.place,
                record.line,
            )
        )
    if n_refused:
        refused = f"{counted(n_refused, 'task')} with the answer reject or ignore left out"
        warn(f"{file_name(path)}: {refused}", DataWarning)
    return texts


def _span(record: Record, text: str) -> TextSpan:
    recorded = record.text("text") if "text" in record else None
    start, end, label = record.field("start", int), record.field("end", int), record.text("label")
    probability = record.field("score", float) if "score" in record else None
    return checked_span(text, start, end, label, record.place, recorded=recorded, probability=probability)


def _tokens(record: Record, text: str) -> tuple[tuple[int, int], ...] | None:
    """Return start and end of the tokens; None if the task has none."""
    if "tokens" not in record:
        return None
    tokens, before = [], 0
    for number, token in enumerate(record.records("tokens", "token")):
        start, end, word = token.field("start", int), token.field("end", int), token.text("text")
        if not before <= start < end <= len(text) or text[start:end] != word:
            record.fail(
                f"token {number}, {quoted(word)}, is not at {start} to {end} of the text; export the tasks again, or "
                "remove their tokens and choose a tokenizer"
            )
        tokens.append((start, end))
        before = end
    return tuple(tokens)


def written(texts: list[AnnotatedText]) -> str:
    """Return the lines of a file that Prodigy reads; spans refer to the tokens of texts that have tokens."""
    return "".join(f"{json_text(fields(text))}\n" for text in texts)


def fields(text: AnnotatedText) -> dict[str, Any]:
    """Return the object of a text, for a line of a file."""
    task: dict[str, Any] = {"text": text.text}
    tokens = text.tokens
    if tokens is not None:
        after = [*[start for start, _ in tokens], len(text.text)][1:]
        task["tokens"] = [
            {"text": text.text[start:end], "start": start, "end": end, "id": at, "ws": following > end}
            for at, ((start, end), following) in enumerate(zip(tokens, after, strict=True))
        ]
    task["spans"] = [_span_fields(span, text) for span in text.spans]
    hash_ = id_fields("_task_hash", text.id)
    return task | {name: value for name, value in hash_.items() if isinstance(value, int)}


def _span_fields(span: TextSpan, text: AnnotatedText) -> dict[str, Any]:
    fields: dict[str, Any] = {"start": span.start, "end": span.end}
    inside = [at for at, (start, end) in enumerate(text.tokens or ()) if start < span.end and end > span.start]
    if inside:
        fields |= {"token_start": inside[0], "token_end": inside[-1]}
    fields["label"] = span.label
    return fields if span.probability is None else fields | {"score": span.probability}
