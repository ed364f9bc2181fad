"""Formats of data files: a row for each, from which readers and commands derive what they need to know.

The native half reads the formats, except texts with labelled spans; `native/src/text/format.rs` is its list of them.
This module imports nothing that labelling text can do without.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Literal, NamedTuple

from .. import _core
from ..errors import OptionError
from ..options import similar
from .column_layout import ColumnLayout

__all__ = [
    "COMPRESSED",
    "FORMATS",
    "Content",
    "Format",
    "Holds",
    "check_partial",
    "file_name",
    "format_of",
    "has_lines",
    "has_spans",
    "is_corpus",
    "is_format",
    "listed",
    "n_columns",
    "named",
    "need_lines",
    "readable",
    "uncompressed",
    "unknown_label",
    "word",
]

Holds = Literal["sentences", "samples", "texts"]
Content = Literal["lines", "spans", "docs"]

# Extensions of the names of compressed texts.
COMPRESSED = _core.COMPRESSED

# What files without lines hold, and the remedy if something needs lines.
_WITHOUT_LINES = {
    "spans": (
        "texts with labelled spans",
        "convert the file to columns (loglinear convert FILE data.txt), or label raw texts, one per line, with --text",
    ),
    "docs": (
        "docs of spaCy",
        "write their words in columns, or label the docs in a pipeline, with a component such as loglinear_ner and "
        "config={'model_path': MODEL}",
    ),
}

# Cells between tabs, or between runs of blanks.
_TABS, _BLANKS = re.compile(r"(?:^|(?<=\t))[^\t]*"), re.compile(r"[^ \t]+")


class Format(NamedTuple):
    """A format of data files.

    Attributes:
        extensions: the extensions that stand for the format.
        holds: what a file consists of: sentences; samples, which are read as sentences of one token; or texts, which a
            vectorizer reads.
        template: whether a template forms the attributes, or may do so; otherwise the file holds them.
        words: the words of the tokens on a line that is not blank, given the layout of columns; None for a token
            without a word.
        is_sentence: whether a line is a sentence; otherwise a line is a token, and sentences end at blank lines.
        columns: the columns that may hold the labels, the default first: `conllu:xpos` takes another one.
        unknown: the label that stands for an unknown one unless a model has it; empty without one.
        labels: where the label of a line may stand, first and one past the last character, given the layout of columns
            and the column that the format names; no place if a line has several labels.
        texts: the columns whose labels are of whole texts, so that a file with them holds texts.
        content: what a file consists of: lines, texts with labelled spans, or docs of spaCy. The native half reads
            lines; `annotations.tools` and `spacy_docs` make sentences of the others, for training and evaluation.
    """

    extensions: tuple[str, ...]
    holds: Holds
    template: Literal["needed", "allowed", "refused"]
    words: Callable[[str, ColumnLayout], list[str | None]]
    is_sentence: bool = False
    columns: tuple[str, ...] = ()
    unknown: str = ""
    labels: Callable[[str, ColumnLayout, str], list[tuple[int, int]]] = lambda _line, _layout, _column: []
    texts: tuple[str, ...] = ()
    content: Content = "lines"

    @property
    def has_spans(self) -> bool:
        """Whether a file holds texts with labelled spans."""
        return self.content == "spans"

    @property
    def has_docs(self) -> bool:
        """Whether a file holds docs of spaCy."""
        return self.content == "docs"


def file_name(path: str) -> str:
    """Return the name of a file for messages."""
    return "<stdin>" if path == "-" else path


def word(token: object) -> str:
    """Return what stands for a token: itself, its first column or attribute, its first attribute that is a text."""
    if isinstance(token, str):
        return token
    if isinstance(token, Mapping):
        texts = (value for value in token.values() if isinstance(value, str))
        return next(texts, str(next(iter(token), "")))
    if isinstance(token, Set):
        return min(map(str, token), default="")
    if isinstance(token, Sequence):
        return str(token[0]) if len(token) else ""
    return str(token)


def _of_columns(line: str, columns: ColumnLayout) -> list[str | None]:
    return [columns.word(line)]


def _of_conllu(line: str, _: ColumnLayout) -> list[str | None]:
    cells = line.split("\t")
    return [cells[1]] if cells[0].isdigit() else []


def _of_crfsuite(line: str, _: ColumnLayout) -> list[str | None]:
    return [None] if any(not field.startswith("@") for field in line.split("\t") if field) else []


def _of_jsonl(line: str, _: ColumnLayout) -> list[str | None]:
    import json

    return [word(token) for token in json.loads(line)["tokens"]]


def _of_svmlight(line: str, _: ColumnLayout) -> list[str | None]:
    return [None] if line.partition("#")[0].strip() else []


def _label_of_columns(line: str, layout: ColumnLayout, _: str) -> list[tuple[int, int]]:
    cells = {"tab": (_TABS,), "blank": (_BLANKS,), None: (_BLANKS, _TABS)}[layout.separator]
    places = [[cell.span() for cell in pattern.finditer(line)] for pattern in cells]
    labels = [(spans, layout.roles(len(spans))[0]) for spans in places]
    return [spans[label] for spans, label in labels if label is not None]


def _label_of_conllu(line: str, _: ColumnLayout, column: str) -> list[tuple[int, int]]:
    number = {"": 3, "upos": 3, "xpos": 4, "feats": 5, "deprel": 7}[column]
    return [cell.span() for cell in _TABS.finditer(line)][number : number + 1]


def _label_first(line: str, _layout: ColumnLayout, _column: str) -> list[tuple[int, int]]:
    return [cell.span() for cell in _TABS.finditer(line)][:1]


def _label_of_svmlight(line: str, _layout: ColumnLayout, _column: str) -> list[tuple[int, int]]:
    return [cell.span() for cell in _BLANKS.finditer(line)][:1]


FORMATS: dict[str, Format] = {
    "columns": Format((), "sentences", "needed", _of_columns, unknown="?", labels=_label_of_columns),
    "conllu": Format(
        (".conllu",),
        "sentences",
        "needed",
        _of_conllu,
        columns=("upos", "xpos", "feats", "deprel"),
        labels=_label_of_conllu,
    ),
    "crfsuite": Format((".crfsuite",), "sentences", "refused", _of_crfsuite, unknown="?", labels=_label_first),
    "jsonl": Format((".jsonl", ".json"), "sentences", "allowed", _of_jsonl, is_sentence=True),
    "svmlight": Format(
        (".svm", ".svmlight", ".libsvm"),
        "samples",
        "refused",
        _of_svmlight,
        is_sentence=True,
        labels=_label_of_svmlight,
    ),
    **{
        name: Format((), "sentences", "needed", lambda _line, _layout: [], is_sentence=True, content="spans")
        for name in ("doccano", "label-studio", "prodigy", "brat", "webanno")
    },
    "spacy": Format(
        (".spacy",),
        "sentences",
        "needed",
        lambda _line, _layout: [],
        columns=("ents", "tags", "pos", "cats"),
        texts=("cats",),
        content="docs",
    ),
    "text": Format((), "texts", "refused", lambda line, _: [line], is_sentence=True, labels=_label_first),
}


def is_corpus(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an encoded corpus, a folder with its own format."""
    return os.path.isfile(os.path.join(os.fspath(path), "corpus.json"))


def is_format(name: str) -> bool:
    """Whether a format has this name, which may say which column holds the labels."""
    main, colon, column = name.partition(":")
    return main in FORMATS and (not colon or column in FORMATS[main].columns)


def has_lines(name: str) -> bool:
    """Whether files of a format consist of lines; True for a name that is not a format."""
    return not is_format(name) or named(name).content == "lines"


def has_spans(name: str) -> bool:
    """Whether files of a format hold texts with labelled spans; False for a name that is not a format."""
    return is_format(name) and named(name).has_spans


def named(name: str) -> Format:
    """Return the format of a name; raise OptionError if it is unknown."""
    if not is_format(name):
        message = (
            f"format {name!r} is unknown{similar(name, FORMATS)}; choose {listed('sentences', 'samples', 'texts')}"
        )
        raise OptionError(message)
    main, _, column = name.partition(":")
    format = FORMATS[main]
    return format._replace(holds="texts", template="refused") if column in format.texts else format


def listed(*kinds: Holds, content: Collection[Content] = ("lines", "spans", "docs")) -> str:
    """Return the names of the formats that hold one of some kinds of data, for a message.

    Args:
        kinds: of the data.
        content: what their files may consist of.
    """
    names = []
    for name, format in FORMATS.items():
        if format.holds in kinds and format.content in content:
            others = ", ".join(f"{name}:{column}" for column in format.columns[1:])
            names.append(f"{name} ({others})" if others else name)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def need_lines(name: str, path: str, user: str, *, or_spans: bool = False) -> None:
    """Raise OptionError if the format of a file has no lines.

    Args:
        name: of the format.
        path: of the file.
        user: what works on lines, for the message.
        or_spans: whether it also works on texts with labelled spans.
    """
    if not (has_lines(name) or (or_spans and has_spans(name))):
        what, remedy = _WITHOUT_LINES[named(name).content]
        message = f"{file_name(path)}: {user} does not take {what}; {remedy}"
        raise OptionError(message)


def check_partial(name: str, path: str, *, partial: bool) -> None:
    """Raise OptionError if partial labels are allowed in a file whose format has none."""
    if partial and not has_lines(name):
        what, _ = _WITHOUT_LINES[named(name).content]
        message = f"{file_name(path)}: {what} have no partial labels; leave out partial=True"
        raise OptionError(message)


def uncompressed(path: str) -> str:
    """Return the name of a file without the extension of a compressed one."""
    root, extension = os.path.splitext(path)
    return root if extension in COMPRESSED else path


def format_of(path: str | os.PathLike[str], asked: str | None = None, default: str = "columns") -> str:
    """Return the requested format, or the format of the extension (.gz and others left out), or the default."""
    extension = os.path.splitext(uncompressed(os.fspath(path).lower()))[1]
    return asked or next((name for name, format in FORMATS.items() if extension in format.extensions), default)


def unknown_label(format: str, labels: Collection[str]) -> str | None:
    """Return the label that stands for an unknown one in data of a format, for a model with these labels; None if none.

    The readers of other formats know their marks, `_` in CoNLL-U and null in JSON lines.
    """
    mark = named(format).unknown if is_format(format) else ""
    return mark if mark and mark not in labels else None


def readable(name: str, template: str | None) -> bool:
    """Whether a model with this template, trained on data of another format, can read files of a format.

    The attributes of the file have to be there without a template, or the template has to look at the words alone: the
    other columns of two formats hold different things.
    """
    takes = named(name).template
    if takes == "refused":
        return template is None
    return takes == "allowed" or (template is not None and n_columns(template) == 1)


def n_columns(template: str) -> int:
    """Return the number of columns that a template looks at, up to the last one."""
    return _core.check_template(template)
