"""doccano's JSON lines: a text and its labelled spans in each line.

A project of sequence labelling exports `{"id": 1, "text": "...", "label": [[0, 3, "PER"]], "Comments": []}`, after the
fields that the text was imported with. A project with relations exports "entities", objects with "start_offset",
"end_offset" and "label", and "relations". Older versions export "labels" or "annotations", and versions 1.3 to 1.5 the
text as "data". Offsets count code points, as Python does; a project in grapheme mode counts visible characters on the
screen only.

Source: doccano, backend/data_export/pipeline/factories.py and backend/data_export/models.py.
"""

from __future__ import annotations

from ...errors import DataWarning, warn
from ...visible import counted
from ..formats import file_name
from ..text_span import TextSpan
from .annotated_text import AnnotatedText, by_position, checked_span
from .json_record import Record, id_fields, json_lines, json_text

__all__ = ["fields", "read", "written"]

# Fields that hold the spans, in different versions and kinds of projects.
_SPANS = ("label", "labels", "entities", "annotations")
# Fields that hold the text.
TEXT = ("text", "data")
_REMEDY = "each span must be [start, end, label], or an object with start_offset, end_offset and label"


def read(path: str) -> list[AnnotatedText]:
    """Return the texts of an export.

    Raises:
        DataError: the file is not an export of sequence labelling, or a span is wrong; names file and line.

    Warns:
        DataWarning: the texts have relations, which are left out.
    """
    texts, n_relations = [], 0
    for record in json_lines(path):
        text = record.text(next((name for name in TEXT if name in record), TEXT[0]))
        field = next((name for name in _SPANS if name in record), "")
        items = record.field(field, list) if field else []
        if not field and not any(name in record.value for name in _SPANS):
            record.fail(f"no field {', '.join(map(repr, _SPANS))}; export a project of sequence labelling")
        spans = [_span(record, field, item, text) for item in items]
        n_relations += len(record.field("relations", list)) if "relations" in record else 0
        texts.append(AnnotatedText(text, by_position(spans), record.id("id"), None, record.place, record.line))
    if n_relations:
        warn(f"{file_name(path)}: {counted(n_relations, 'relation')} left out; only spans are read", DataWarning)
    return texts


def _span(record: Record, field: str, item: object, text: str) -> TextSpan:
    """Return a span, which is a list or an object."""
    if type(item) is list and len(item) == 3:
        item = dict(zip(("start_offset", "end_offset", "label"), item, strict=True))
    if type(item) is not dict:
        kind = "; this looks like a project of text classification" if type(item) is str else ""
        record.fail(f"{field!r} has {item!r:.60}; {_REMEDY}{kind}")
    inner = record.inside(item, field)
    start, end = inner.field("start_offset", int), inner.field("end_offset", int)
    return checked_span(text, start, end, inner.text("label"), record.place)


def written(texts: list[AnnotatedText]) -> str:
    """Return the lines of a file that doccano imports and exports."""
    return "".join(f"{json_text(fields(text))}\n" for text in texts)


def fields(text: AnnotatedText) -> dict[str, object]:
    """Return the object of a text, for a line of a file."""
    return {
        **id_fields("id", text.id),
        "text": text.text,
        "label": [[span.start, span.end, span.label] for span in text.spans],
    }
