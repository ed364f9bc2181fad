"""The formats of annotation tools: which there are, what tells them, how they are read and written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, count, islice
from typing import NamedTuple

from ...errors import DataError, DataWarning, OptionError, warn
from ...options import similar
from ...visible import listed
from ..column_layout import SpanReading
from ..formats import uncompressed
from ..lines import first_bytes
from ..text_span import TextSpan
from ..tokenizer import Tokenizer
from ..writing import write_output, write_text
from . import brat, columns, doccano, label_studio, prodigy, webanno
from .alignment import DEFAULT_TOKENIZER, AlignedSentence, aligned
from .annotated_text import AnnotatedText, by_position, check_texts, fail

__all__ = [
    "READERS",
    "TO_COLUMNS",
    "detected_format",
    "labelled_tokens",
    "labelled_words",
    "looks_like_columns",
    "read_annotations",
    "read_sentences",
    "write_annotations",
]

# First bytes of a file that show its format.
_LOOKED_AT = 1 << 16
# Fields of an object with a text that tell the format of a file of JSON lines.
_TOLD_BY = dict.fromkeys(("spans", "answer", "_task_hash", "_input_hash"), "prodigy")
_TOLD_BY |= dict.fromkeys(("label", "labels", "entities", "annotations"), "doccano")


def _each_file(read: Callable[[str], list[AnnotatedText]], extension: str) -> Callable[[str], list[AnnotatedText]]:
    """Return a reader that also reads all files of a folder that have an extension, in the order of their names."""

    def read_all(path: str) -> list[AnnotatedText]:
        if not os.path.isdir(path):
            return read(path)
        names = sorted(name for name in os.listdir(path) if uncompressed(name).endswith(extension))
        if not names:
            fail(path, f"no {extension} file in this folder; give a folder with files to read")
        return [text for name in names for text in read(os.path.join(path, name))]

    return read_all


class _Columns(NamedTuple):
    """How a column file is written: what separates its columns, and the number of columns between word and label."""

    between: str
    unused: int


READERS: dict[str, Callable[[str], list[AnnotatedText]]] = {
    "doccano": _each_file(doccano.read, ".jsonl"),
    "label-studio": _each_file(label_studio.read, ".json"),
    "prodigy": _each_file(prodigy.read, ".jsonl"),
    "brat": brat.read,
    "webanno": _each_file(webanno.read, ".tsv"),
}
"""Readers by the name of the format."""

TO_COLUMNS = {"columns": _Columns("\t", 0), "conll2002": _Columns(" ", 0), "conll2003": _Columns(" ", 2)}
"""Column files by the name of the format."""


def detected_format(path: str) -> str | None:
    """Return the format that the beginning of a file, or the files of a folder, show; None for another file.

    Args:
        path: of the file or folder.

    Raises:
        OSError: the file cannot be read.
    """
    if os.path.isdir(path):
        inside = (os.path.join(path, name) for name in sorted(os.listdir(path)))
        formats = (detected_format(file) for file in islice(filter(os.path.isfile, inside), 100))
        return next((name for name in formats if name is not None), None)
    if path.endswith(".ann") or (path.endswith(".txt") and os.path.isfile(f"{path[:-4]}.ann")):
        return "brat"
    start = _start(path).decode(errors="replace").lstrip("\ufeff \t\r\n")
    if start.startswith(webanno.HEADER):
        return "webanno"
    if start.startswith("[") and start[1:].lstrip()[:1] == "{":
        return "label-studio"
    if not start.startswith("{"):
        return None
    line = start.partition("\n")[0]
    fields = _fields(line)
    if "text" not in fields and not {"data", "label"} <= fields:
        return None
    return next((format for name, format in _TOLD_BY.items() if name in fields), None)


def _start(path: str) -> bytes:
    """Return the first bytes of the text in a file; none if the file is not text."""
    try:
        with open(path, "rb") as file:
            return first_bytes(file, path, _LOOKED_AT)
    except DataError:
        return b""


def _fields(line: str) -> set[str]:
    """Return the names of the fields of an object, or those that can be seen in the beginning of a long line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {name for name in (*_TOLD_BY, "text", "data") if f'"{name}":' in line}
    return {*value} if type(value) is dict else set()


def read_annotations(path: str | os.PathLike[str], format: str | None = None) -> list[AnnotatedText]:
    """Read texts with labelled spans from the export of an annotation tool.

    Args:
        path: the file, or a folder of files.
        format: `doccano`, `label-studio`, `prodigy`, `brat`, `webanno` (INCEpTION's WebAnno TSV 3), or `columns` (also
            CoNLL 2002 and 2003); see "Annotation tools" in the guides. By default detected from the content.

    Raises:
        DataError: the file has another format, or a span is wrong; names file, line or task, and the remedy.
        OptionError: there is no such format.
        OSError: the file cannot be read.

    Warns:
        DataWarning: annotations that are not labelled spans, or not accepted, are left out.

    Example:
        >>> import os, tempfile
        >>> from loglinear import ChainCRF, labelled_tokens, read_annotations
        >>> path = os.path.join(tempfile.mkdtemp(), "export.jsonl")
        >>> with open(path, "w") as file:
        ...     _ = file.write('{"id": 1, "text": "Ada wrote it.", "label": [[0, 3, "PER"]]}')
        >>> texts = read_annotations(path)
        >>> texts[0].spans
        (TextSpan(start=0, end=3, label='PER', text='Ada', probability=None),)
        >>> crf = ChainCRF(template="ner").fit(*labelled_tokens(texts))
    """
    path = os.fspath(path)
    name = detected_format(path) if format is None else _checked(format)
    if name is None:
        name = "columns" if not os.path.isdir(path) and looks_like_columns(path) else ""
    if not name:
        fail(path, f"not the export of an annotation tool; check the file, or set format to one of {_names()}")
    return columns.read(path) if name in TO_COLUMNS else _read(path, name)


def looks_like_columns(path: str) -> bool:
    """Whether the lines at the beginning of a file have several cells each."""
    start = _start(path)
    lines = [line for line in start.splitlines()[:-1] or start.splitlines() if line.strip()]
    return bool(lines) and all(len(line.split()) > 1 for line in lines) and not start.lstrip().startswith((b"{", b"["))


def _names() -> str:
    return ", ".join([*READERS, *TO_COLUMNS])


def _checked(format: str) -> str:
    """Return the name of a format; raise OptionError if there is no such format."""
    if format not in READERS and format not in TO_COLUMNS:
        message = f"format={format!r} is not an annotation format{similar(format, [*READERS, *TO_COLUMNS])}; "
        message += f"choose from {_names()}"
        raise OptionError(message)
    return format


def labelled_tokens(
    texts: Iterable[AnnotatedText],
    *,
    tokenizer: str | None = None,
    scheme: str = "BIO",
    overlaps: str = "refuse",
    widen: bool = False,
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the sentences of texts as tokens and labels, to train on.

    Each line of a text is a sentence; lines without tokens are left out.

    Args:
        texts: texts with labelled spans.
        tokenizer: name of a tokenizer (`whitespace`, `words`, `characters`), or a regular expression whose matches are
            tokens. By default, the tokens of the file if it has any (Prodigy, INCEpTION), else `words`.
        scheme: tagging scheme of the labels: `BIO`, `IOB1`, `IOE2`, `IOBES`, `BILOU` or `BMES`.
        overlaps: what becomes of spans that share a token: `refuse` raises an error, `longest` and `first` keep the
            longest or the first of them.
        widen: widen spans that start or end within a token to the whole token. By default, they are an error.

    Returns:
        X, a list of tokens for each sentence, and y, a list of labels for each.

    Raises:
        DataError: spans overlap, cross a line end, or start or end within a token; names the text and the remedy.
        OptionError: there is no such tokenizer, scheme or way to treat overlaps.

    Warns:
        DataWarning: spans were widened or left out.

    Example:
        >>> from loglinear import AnnotatedText, labelled_tokens
        >>> labelled_tokens([AnnotatedText("Ada Lovelace wrote.", (TextSpan(0, 12, "PER", "Ada Lovelace"),))])
        ([['Ada', 'Lovelace', 'wrote', '.']], [['B-PER', 'I-PER', 'O', 'O']])
    """
    sentences = aligned(check_texts(texts), SpanReading(tokenizer, overlaps, widen))
    return [sentence.words for sentence in sentences], columns.token_labels(sentences, scheme)


def read_sentences(path: str, format: str, reading: SpanReading, *, labelled: bool = True) -> list[AlignedSentence]:
    """Return the sentences of an export, whose spans need not fit its tokens if their labels are not wanted.

    Raises:
        DataError: see `read_annotations` and `labelled_tokens`; or the file has another format.
        OptionError: an option is wrong.
        OSError: the file cannot be read.
    """
    texts = _read(path, format)
    return aligned(texts if labelled else [replace(text, spans=()) for text in texts], reading, path)


def labelled_words(
    path: str, format: str, reading: SpanReading, *, labelled: bool
) -> tuple[list[list[str]], list[list[str]] | None, SpanReading]:
    """Return the words of the sentences of an export, their labels if wanted, and how the words were found.

    Raises:
        DataError, OptionError, OSError: see `read_sentences`.
    """
    sentences = read_sentences(path, format, reading, labelled=labelled)
    if all(sentence.text.tokens is None for sentence in sentences):
        reading = reading._replace(tokenizer=reading.tokenizer or DEFAULT_TOKENIZER)
    labels = columns.token_labels(sentences, "BIO") if labelled else None
    return [sentence.words for sentence in sentences], labels, reading


def _read(path: str, format: str) -> list[AnnotatedText]:
    """Return the texts of an export; errors say if the file looks like another format."""
    try:
        texts = READERS[format](path)
    except DataError as error:
        other = _other_format(path, format)
        if other is None:
            raise
        message = f"{error} (the file looks like the format {other})"
        raise DataError(message) from error
    other = None if any(text.spans for text in texts) else _other_format(path, format)
    if other is not None:
        fail(path, f"no spans found in the format {format}; the file looks like the format {other}, read it as such")
    if tags := _tags_among({span.label for text in texts for span in text.spans}):
        message = f"{path}: labels of spans look like tags of tokens ({listed([*map(repr, tags)], 3)}); tags such as "
        message += "B- and O are made from spans: label them with types alone, such as PER, and leave out O"
        warn(message, DataWarning)
    return texts


def _tags_among(labels: Iterable[str]) -> list[str]:
    """Return the labels that look like tags of tokens, which spans do not have: B-PER, I-PER, O."""
    return sorted(label for label in labels if re.fullmatch(r"[BI]-[A-Z]\w*|O", label))


def _other_format(path: str, format: str) -> str | None:
    """Return the format that a file looks like, if it is not the one that it was read in."""
    other = detected_format(path) if os.path.isfile(path) else None
    return None if other == format else other


def write_annotations(
    texts: Iterable[AnnotatedText],
    path: str | os.PathLike[str],
    format: str,
    *,
    tokenizer: str | None = None,
    scheme: str = "BIO",
    overlaps: str = "refuse",
    widen: bool = False,
    model_version: str = "loglinear",
) -> None:
    """Write texts with labelled spans for an annotation tool to import.

    Args:
        texts: texts with labelled spans.
        path: the file; `-` for standard output. For `brat`, NAME.ann, written together with NAME.txt, or a folder with
            such a pair for each text. For `webanno`, a file that ends in .tsv, or a folder with a file for each text.
            A single file of these formats has a line for each text.
        format: see `read_annotations`. Label Studio gets tasks with predictions (pre-annotations).
        tokenizer: see `labelled_tokens`; for `webanno` and column files.
        scheme: see `labelled_tokens`; for column files.
        overlaps: see `labelled_tokens`; for column files.
        widen: see `labelled_tokens`; for column files.
        model_version: name of the model in Label Studio.

    Raises:
        DataError: a span is not in its text, or the format cannot hold it.
        OptionError: there is no such format.
        OSError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> from loglinear import AnnotatedText, read_annotations, write_annotations
        >>> path = os.path.join(tempfile.mkdtemp(), "tasks.json")
        >>> write_annotations([AnnotatedText("Ada wrote", (TextSpan(0, 3, "PER", "Ada"),))], path, "label-studio")
        >>> [span.label for text in read_annotations(path) for span in text.spans]
        ['PER']
    """
    listed, path = check_texts(texts), os.fspath(path)
    match _checked(format):
        case "doccano":
            write_text(path, doccano.written(listed).encode())
        case "prodigy":
            write_text(path, prodigy.written(listed).encode())
        case "label-studio":
            write_text(path, label_studio.written(listed, model_version).encode())
        case "brat":
            _write_brat(listed, path)
        case "webanno":
            cut = Tokenizer(tokenizer or DEFAULT_TOKENIZER).offsets
            if tokenizer is not None:
                listed = [_without_tokens(text) for text in listed]
            with _naming(listed, partial(webanno.written, cut=cut)):
                documents = [
                    (file, webanno.written(text, cut, file)) for file, text in _documents(listed, path, ".tsv")
                ]
            _check_folder(path, ".tsv", [file for file, _ in documents])
            for file, content in documents:
                write_text(file, content.encode())
        case name:
            sentences = aligned(listed, SpanReading(tokenizer, overlaps, widen))
            how = TO_COLUMNS[name]
            write_text(path, columns.written(sentences, scheme, between=how.between, unused=how.unused).encode())


def _without_tokens(text: AnnotatedText) -> AnnotatedText:
    return replace(text, tokens=None)


def _write_brat(texts: Sequence[AnnotatedText], path: str) -> None:
    """Write a pair of files, or a folder of pairs."""
    if path == "-":
        message = "brat's format is a pair of files, which stdout cannot hold; name a file NAME.ann or a folder"
        raise OptionError(message)
    with _naming(texts, brat.written):
        pairs = [(file, brat.written(text, file)) for file, text in _documents(texts, path, ".ann")]
    _check_folder(path, ".ann", [file for file, _ in pairs])
    for file, (plain, standoff) in pairs:
        write_output(f"{os.path.splitext(file)[0]}.txt", plain.encode())
        write_output(file, standoff.encode())


@contextmanager
def _naming(texts: Sequence[AnnotatedText], written: Callable[..., object]) -> Iterator[None]:
    """Name the place of a text that cannot be written, in place of the file to write."""
    try:
        yield
    except DataError:
        for number, text in enumerate(texts):
            written(text, place=text.place or f"text {number}")
        raise


def _check_folder(path: str, extension: str, files: Sequence[str]) -> None:
    """Raise OptionError if a folder has other texts than those to write, which would be read together with them."""
    if not os.path.isdir(path):
        return
    names = {os.path.basename(file) for file in files}
    others = sorted(name for name in os.listdir(path) if uncompressed(name).endswith(extension) and name not in names)
    if extension == ".ann":
        pairs = [f"{os.path.splitext(file)[0]}.txt" for file in files if not os.path.exists(file)]
        others += [os.path.basename(file) for file in pairs if os.path.exists(file)]
    if others:
        message = f"{path}: the folder has other texts, such as {others[0]}; choose an empty folder, or remove them"
        raise OptionError(message)


def _documents(texts: Sequence[AnnotatedText], path: str, extension: str) -> list[tuple[str, AnnotatedText]]:
    """Return the documents to write with their files: one of all texts, or one for each text in a folder."""
    if path == "-" or uncompressed(path).endswith(extension):
        return [(path, joined(texts))]
    os.makedirs(path, exist_ok=True)
    width = len(str(len(texts)))
    documents: list[tuple[str, AnnotatedText]] = []
    used = set[str]()  # in lower case, as some file systems compare names
    for number, text in enumerate(texts, start=1):
        is_name = text.id.isprintable() and os.path.basename(text.id) == text.id and not text.id.startswith(".")
        numbered = (f"{free:0{width}}" for free in count(number))
        names = chain([text.id] if text.id and is_name else [], numbered)
        name = next(name for name in names if name.casefold() not in used)
        used.add(name.casefold())
        documents.append((os.path.join(path, f"{name}{extension}"), text))
    return documents


def joined(texts: Sequence[AnnotatedText]) -> AnnotatedText:
    """Return one text with a line for each text; it has tokens if all texts have."""
    if len(texts) == 1:
        return texts[0]
    at, spans, tokens = 0, list[TextSpan](), list[tuple[int, int]]()
    for text in texts:
        spans += [span._replace(start=span.start + at, end=span.end + at) for span in text.spans]
        tokens += [(start + at, end + at) for start, end in text.tokens or ()]
        at += len(text.text) + 1
    has_tokens = bool(texts) and all(text.tokens is not None for text in texts)
    whole = "\n".join(text.text for text in texts)
    return AnnotatedText(whole, by_position(spans), "", tuple(tokens) if has_tokens else None)
