"""Label Studio's JSON and JSON-MIN exports of named entity recognition, and tasks with predictions for its import.

The JSON export is a list of tasks: `{"id": 1, "data": {"text": "..."}, "annotations": [{"result": [{"type": "labels",
"from_name": "label", "to_name": "text", "value": {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]}}]}]}`. In
JSON-MIN, each object has the fields of the data, and the values of the spans in a field with the name of the control
tag, often "label". Cancelled annotations are left out. Of several annotations of a task, the ground truth is read, else
the first one. A task that has no "annotations" is a task to import, whose last prediction is read.

Offsets count code points; older versions counted units of UTF-16. The recorded texts of the spans show which of both a
task has.

Source: Label Studio's documentation, "Label Studio JSON format of annotated tasks", "Export annotations" and "Import
pre-annotated data into Label Studio"; label-studio-frontend, src/utils/selection-tools.js (`charsToCodePoints`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import DataError, DataWarning, warn
from ...visible import counted, listed
from ..formats import file_name
from ..text_span import TextSpan
from .annotated_text import AnnotatedText, Utf16Offsets, by_position, checked_span
from .json_record import Record, id_fields, json_list, json_text

__all__ = ["BETWEEN", "fields", "read", "written"]

BETWEEN = ",\n "
"""What separates tasks in a file."""

# Fields of JSON-MIN that describe the annotation.
_ABOUT = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")
# Fields of a value that hold labels of a part of a text.
_LABELS = ("labels", "hypertextlabels")


class _Notes:
    """Numbers of things that were left out or read in another way, for the warning at the end."""

    def __init__(self) -> None:
        self.unlabelled = self.others = self.regions = self.utf16 = 0

    def texts(self) -> list[str]:
        """Return a message for each kind of thing."""
        counts = {
            f"{counted(self.unlabelled, 'task')} without an annotation left out": self.unlabelled,
            f"{counted(self.others, 'annotation')} of tasks with several left out": self.others,
            f"{counted(self.regions, 'result')} of another type than spans left out, such as relations": self.regions,
            f"the offsets of {counted(self.utf16, 'task')} count units of UTF-16; they were converted": self.utf16,
        }
        return [text for text, n in counts.items() if n]


class _Region(NamedTuple):
    """A labelled span before the check of its offsets."""

    start: int
    end: int
    label: str
    text: str | None
    score: float | None


def read(path: str) -> list[AnnotatedText]:
    """Return the annotated texts of an export, or of tasks with predictions.

    Raises:
        DataError: the file is not an export of named entity recognition, or a span is wrong; names file and task.

    Warns:
        DataWarning: tasks, annotations or results are left out; or offsets count units of UTF-16.
    """
    texts, notes = [], _Notes()
    for task in json_list(path):
        is_whole = "data" in task or any(name in task.value for name in ("annotations", "predictions"))
        annotated = _of_task(task, notes) if is_whole else _of_min(task, notes)
        texts += [] if annotated is None else [annotated]
    for note in notes.texts():
        warn(f"{file_name(path)}: {note}", DataWarning)
    return texts


def _of_task(task: Record, notes: _Notes) -> AnnotatedText | None:
    """Return the text of a task of the JSON export; None if nobody has annotated it."""
    is_annotated = "annotations" in task.value
    answers = task.records("annotations" if is_annotated else "predictions")
    answers = [answer for answer in answers if answer.value.get("was_cancelled") is not True]
    if not is_annotated:
        answers = answers[-1:]
    if not answers:
        notes.unlabelled += 1
        return None
    notes.others += len(answers) - 1
    answer = next((answer for answer in answers if answer.value.get("ground_truth") is True), answers[0])
    results = answer.records("result")
    regions = [region for result in results for region in _regions(result, result.value.get("value"), notes)]
    data = task.record("data")
    return _annotated(task, _text_of(data, ()), regions, notes)


def _of_min(task: Record, notes: _Notes) -> AnnotatedText:
    """Return the text of a task of the JSON-MIN export."""
    names = [name for name, value in task.value.items() if type(value) is list and all(map(_is_region, value))]
    regions = [region for name in names for value in task.field(name, list) for region in _regions(task, value, notes)]
    return _annotated(task, _text_of(task, (*_ABOUT, *names)), regions, notes)


def _is_region(value: object) -> bool:
    return type(value) is dict and any(name in value for name in _LABELS)


def _text_of(data: Record, others: tuple[str, ...]) -> str:
    """Return the text of a task, which is its field "text" or its only field that is a text."""
    names = [name for name, value in data.value.items() if type(value) is str and name not in others]
    if "text" in names or not names:
        return data.text("text")
    if len(names) > 1:
        data.fail(f"several fields are texts: {listed([*map(repr, names)], 5)}; name the annotated one 'text'")
    return data.text(names[0])


def _regions(result: Record, value: object, notes: _Notes) -> list[_Region]:
    """Return a span for each label of a result; none if it is not a span of a text."""
    if not _is_region(value):
        notes.regions += 1
        return []
    region = result.inside(value, "the value of a result")
    if any(type(region.value.get(name)) is str for name in ("start", "end")):
        result.fail(
            "a span is a part of HTML, which has no offsets in a text; annotate a Text tag, not a HyperText tag"
        )
    start, end = region.field("start", int), region.field("end", int)
    recorded = region.text("text") if "text" in region else None
    score = result.field("score", float) if "score" in result else None
    name = next(name for name in _LABELS if name in region.value)
    labels = region.field(name, list)
    if not labels or not all(type(label) is str for label in labels):
        result.fail(f"the span {start} to {end} has the labels {labels!r:.60}; choose a label for it, or delete it")
    return [_Region(start, end, result.whole(label, "a label"), recorded, score) for label in labels]


def _annotated(task: Record, text: str, regions: list[_Region], notes: _Notes) -> AnnotatedText:
    """Return a text with its spans; their offsets are units of UTF-16 if only these give the recorded texts."""
    try:
        spans = [_span(text, region, task.place) for region in regions]
    except DataError:
        converted = _from_utf16(text, regions)
        if converted is None:
            raise
        spans = [_span(text, region, task.place) for region in converted]
        notes.utf16 += 1
    return AnnotatedText(text, by_position(spans), task.id("id"), None, task.place, task.line)


def _span(text: str, region: _Region, place: str) -> TextSpan:
    start, end, label, recorded, score = region
    return checked_span(text, start, end, label, place, recorded=recorded, probability=score)


def _from_utf16(text: str, regions: list[_Region]) -> list[_Region] | None:
    """Return spans with offsets in code points; None if the offsets cannot be units of UTF-16."""
    offsets, converted = Utf16Offsets(text), []
    for region in regions:
        start, end = offsets.code_point(region.start), offsets.code_point(region.end)
        if start is None or end is None or (region.text is not None and text[start:end].split() != region.text.split()):
            return None
        converted.append(region._replace(start=start, end=end))
    return None if converted == regions else converted


def written(texts: list[AnnotatedText], model_version: str = "loglinear") -> str:
    """Return tasks with predictions, which Label Studio imports as pre-annotations.

    Args:
        texts: the texts.
        model_version: what Label Studio calls the model.
    """
    tasks = [json_text(fields(text, model_version)) for text in texts]
    return f"[{BETWEEN.join(tasks)}]\n"


def fields(text: AnnotatedText, model_version: str, score: float | None = None) -> dict[str, Any]:
    """Return the task of a text, with its spans as a prediction.

    Args:
        text: the text.
        model_version: what Label Studio calls the model.
        score: of the prediction; by default the lowest probability of a span, or 1 if the spans have none.
    """
    results = [
        {
            "id": f"span-{number}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {"start": span.start, "end": span.end, "text": span.text, "labels": [span.label]},
            **({} if span.probability is None else {"score": span.probability}),
        }
        for number, span in enumerate(text.spans, start=1)
    ]
    if score is None:
        score = min((span.probability for span in text.spans if span.probability is not None), default=1.0)
    prediction = {"model_version": model_version, "score": score, "result": results}
    return {**id_fields("id", text.id), "data": {"text": text.text}, "predictions": [prediction]}
