"""brat's standoff format: a text in NAME.txt, and its annotations in NAME.ann.

A line such as `T1<TAB>PER 0 3<TAB>Ada` is a span. A discontinuous span, `PER 0 3;8 12`, becomes one span from its first
to its last character. Other lines (relations, events, attributes, normalisations, notes) are left out. The text of a
span is recorded with blanks in place of line ends. Offsets count code points, and both characters of the line end CRLF;
where only that gives the recorded texts, CRLF counts as one character.

Source: brat's documentation, "Brat standoff format"; brat, server/src/annotation.py.
"""

from __future__ import annotations

import os
import re

from ...errors import DataError, DataWarning, warn
from ...visible import counted
from ..lines import decoded, read_lines
from ..text_span import TextSpan
from .annotated_text import AnnotatedText, by_position, checked_span, fail, quoted

__all__ = ["ann_files", "read", "written"]

_SPAN = re.compile(
    r"(?P<id>T\S*)\t(?P<label>\S+) (?P<offsets>[0-9]{1,18} [0-9]{1,18}(?:;[0-9]{1,18} [0-9]{1,18})*)(?:\t(?P<text>.*))?"
)
# First characters of the lines that are no spans.
_OTHERS = tuple("REAMN#*")


class _Counts:
    """Numbers of things that are left out or changed, for the warning at the end."""

    def __init__(self) -> None:
        self.others = self.discontinuous = self.crlf = 0


def ann_files(path: str) -> list[str]:
    """Return the .ann files of a folder, in the order of their names; or the .ann file of a .txt file.

    Raises:
        DataError: the folder has no .ann file, or the file is neither .ann nor .txt.
    """
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if name.endswith(".ann"))
        if not names:
            fail(path, "no .ann file in this folder; give a folder with pairs NAME.txt and NAME.ann")
        return [os.path.join(path, name) for name in names]
    root, extension = os.path.splitext(path)
    if extension not in (".ann", ".txt"):
        fail(path, "not a file of brat; give NAME.ann with its text NAME.txt, or their folder")
    return [f"{root}.ann"]


def read(path: str) -> list[AnnotatedText]:
    """Return the text of each pair of files in a folder, or of one pair.

    Raises:
        DataError: a file is missing or damaged, or a span is wrong; names file and line.

    Warns:
        DataWarning: annotations other than spans are left out, or spans are changed.
    """
    counts = _Counts()
    texts = [_read_pair(file, number, counts) for number, file in enumerate(ann_files(path), start=1)]
    if counts.others:
        others = f"{counted(counts.others, 'annotation')} other than spans left out, such as relations"
        warn(f"{path}: {others}", DataWarning)
    if counts.discontinuous:
        whole = f"{counted(counts.discontinuous, 'discontinuous span')} read as one span from first to last character"
        warn(f"{path}: {whole}", DataWarning)
    if counts.crlf:
        one = f"in {counted(counts.crlf, 'text')} the line end CRLF counts as one character; offsets were converted"
        warn(f"{path}: {one}", DataWarning)
    return texts


def _read_pair(ann: str, number: int, counts: _Counts) -> AnnotatedText:
    """Return the text of a pair of files."""
    file = f"{os.path.splitext(ann)[0]}.txt"
    if not os.path.isfile(file):
        fail(ann, f"{os.path.basename(file)} is missing in the same folder; copy the annotated text there")
    text = _text(file)
    lines = _lines(ann, counts)
    try:
        spans = [_span(text, line, place) for line, place in lines]
    except DataError:
        spans = _with_short_ends(text, lines) or []
        if not spans:
            raise
        counts.crlf += 1
    name = os.path.splitext(os.path.basename(ann))[0]
    return AnnotatedText(text, by_position(spans), name, None, file, number)


def _text(file: str) -> str:
    """Return the text of a file with its line ends, and with a byte order mark, which brat counts."""
    parts = [*read_lines(file)]
    mark = "\ufeff" if parts and parts[0].startswith(b"\xef\xbb\xbf") else ""
    return mark + "".join(decoded(raw, file, number) for number, raw in enumerate(parts, start=1))


def _lines(ann: str, counts: _Counts) -> list[tuple[re.Match[str], str]]:
    """Return the lines of a file that are spans, each with its place."""
    if not os.path.isfile(ann):
        fail(ann, "this file is missing; brat writes an empty one for a text without annotations")
    lines = []
    for number, raw in enumerate(read_lines(ann), start=1):
        line, place = decoded(raw, ann, number).rstrip("\r\n"), f"{ann}, line {number}"
        if line.startswith("T"):
            match = _SPAN.fullmatch(line)
            if match is None:
                fail(place, f"{quoted(line)} is not a span such as `T1<TAB>PER 0 3<TAB>Ada`; export the file again")
            counts.discontinuous += ";" in match["offsets"]
            lines.append((match, place))
        elif line.startswith(_OTHERS):
            counts.others += 1
        elif line.strip():
            fail(place, f"{quoted(line)} is not an annotation of brat; check --format")
    return lines


def _span(text: str, line: re.Match[str], place: str, at: list[int] | None = None) -> TextSpan:
    """Return the span of a line; `at` converts its offsets."""
    parts = [[*map(int, part.split())] for part in line["offsets"].split(";")]
    if at is not None:
        parts = [[at[min(offset, len(at) - 1)] for offset in part] for part in parts]
    covered = " ".join(text[start:end] for start, end in parts)
    start, end = min(part[0] for part in parts), max(part[1] for part in parts)
    recorded = line["text"]
    if len(parts) > 1 and recorded is not None and covered.split() == recorded.split():
        recorded = None
    return checked_span(text, start, end, line["label"], place, recorded=recorded)


def _with_short_ends(text: str, lines: list[tuple[re.Match[str], str]]) -> list[TextSpan] | None:
    """Return spans whose offsets count CRLF as one character; None if they do not."""
    if "\r\n" not in text:
        return None
    at = [at for at, character in enumerate(text) if character != "\n" or text[at - 1 : at] != "\r"]
    try:
        return [_span(text, line, place, [*at, len(text)]) for line, place in lines]
    except DataError:
        return None


def written(text: AnnotatedText, place: str) -> tuple[str, str]:
    """Return the content of NAME.txt and of NAME.ann.

    Raises:
        DataError: the format cannot hold a label, which has blanks; or a span has line ends.
    """
    lines = []
    for number, span in enumerate(text.spans, start=1):
        covered = text.text[span.start : span.end]
        if re.fullmatch(r"[^\s;]+", span.label) is None:
            fail(place, f"brat cannot hold the label {quoted(span.label)}, which has blanks; rename it")
        if "\n" in covered or "\r" in covered:
            fail(place, f"the span {quoted(covered)} has a line end, which brat does not allow; split it at line ends")
        lines.append(f"T{number}\t{span.label} {span.start} {span.end}\t{covered}\n")
    return text.text, "".join(lines)
