"""The layout of files: what separates columns, which of them is the label, how spans become labels of tokens.

This module imports nothing that labelling text can do without.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _core
from ..errors import DataError, OptionError
from ..visible import counted

__all__ = [
    "SEPARATORS",
    "ColumnLayout",
    "Noticed",
    "SpanReading",
    "check_tokens",
    "odd_lines",
    "same_texts",
    "template_lines",
    "word_prefixes",
]

# What may separate columns: one tab, or any run of spaces and tabs.
SEPARATORS = ("tab", "blank")
_SKIP = "skip such lines with skip_comments=True (--skip-comments)"
# Fewest sentences that are worth a look at their lengths, and most tokens that a sentence is likely to have.
_SENTENCES = 20
_LONGEST = 5000
# First words of comment lines, and of a line that starts a document.
_COMMENTS = ("#", "-DOCSTART-")


class Noticed(NamedTuple):
    """What a reader noticed of a text, apart from its sentences.

    Attributes:
        n_columns: columns of a token, the label not counted; 0 if tokens have attributes.
        tabs: whether single tabs separate the columns.
        comments: sentences whose first token looks like a comment, such as `# newdoc`.
        documents: sentences whose first token is `-DOCSTART-`.
        skipped: comment lines that were skipped.
        returns: carriage returns that end no line.
        mark: character other than spaces and tabs that separates the cells of every line; empty if there is none.
        counts: whether the first column counts tokens or lines.
        constant: whether the first column is the same in every line.
        conllu: whether the lines are CoNLL-U.
        unsplit: cells that spaces separate in every line, although tabs should and no line has one; else 0.
    """

    n_columns: int = 0
    tabs: bool = False
    comments: int = 0
    documents: int = 0
    skipped: int = 0
    returns: int = 0
    mark: str = ""
    counts: bool = False
    constant: bool = False
    conllu: bool = False
    unsplit: int = 0

    @classmethod
    def of_start(cls, start: bytes, layout: ColumnLayout) -> Noticed:
        """Return what the beginning of a column file to label shows."""
        return cls(*_core.look_at(start, layout.options))

    def oddities(self, template: str | None) -> list[str]:
        """Return a message about each kind of lines that are probably no tokens with their words.

        Args:
            template: text of the template, which may not look at the first column.
        """
        messages = self._columns(template)
        if self.comments > 1:  # a single one may be the word #
            messages.append(
                f"{self.comments:,} sentences begin with a comment line (#), which is read as a token; {_SKIP}"
            )
        if self.documents:
            lines = "1 sentence begins" if self.documents == 1 else f"{self.documents:,} sentences begin"
            messages.append(f"{lines} with -DOCSTART-, which is read as a token; {_SKIP}")
        if self.returns:
            marks = "1 carriage return stands" if self.returns == 1 else f"{self.returns:,} carriage returns stand"
            messages.append(f"{marks} within lines and separates columns; convert the line ends of the file")
        return messages

    def _columns(self, template: str | None) -> list[str]:
        """Return a message about columns that probably hold something else than words."""
        if self.conllu:
            return ["the lines have the ten columns of CoNLL-U; add format='conllu' (--format conllu)"]
        if self.mark and self.n_columns:
            mark = f"the blank U+{ord(self.mark):04X}" if self.mark.isspace() else repr(self.mark)
            return [f"every word contains {mark}; separate the columns with tabs or spaces instead"]
        if template is None or not _reads_first(template):
            return []
        if self.counts:
            return [
                "column 0 counts tokens, and the template takes it for the words; remove the column, or give a "
                "template that looks at column 1"
            ]
        if self.constant:
            return [
                "column 0 is the same in every line, and the template takes it for the words; remove the column, or "
                "give a template that looks at another one"
            ]
        return []


def _reads_first(template: str) -> bool:
    """Whether a template looks at column 0."""
    return re.search(r"\[\s*[^\[\],]*,\s*0\s*[\],]", template) is not None


def template_lines(template: str) -> list[str]:
    """Return the lines of a template as its syntax reads them: in Wapiti's, the first letter may be a capital.

    Empty lines and comments are left out. Two templates with the same lines form the same attributes.
    """
    first, *lines = [line.rstrip() for line in template.splitlines() if line.strip()] or [""]
    if first == "#!wapiti":
        return [first, *(line[:1].lower() + line[1:].partition("#")[0].rstrip() for line in lines if line[:1] != "#")]
    return [line for line in (first, *lines) if not line.startswith("#") or line.startswith("#!")]


def word_prefixes(template: str) -> list[str]:
    """Return what precedes the word in attributes that consist of one word of the first column, such as `U02:`."""
    lines = "\n".join(template_lines(template))
    return re.findall(r"^([^%\s]*)%x\[\s*[+-]?\d+\s*,\s*0\s*\]$", lines, re.MULTILINE)


class SpanReading(NamedTuple):
    """How labelled spans of texts become labels of tokens.

    Attributes:
        tokenizer: name of a tokenizer, or a regular expression; None for the tokens of the file, or `words` for a file
            without tokens.
        overlaps: what becomes of spans that share a token: "refuse" raises an error; "longest" and "first" keep the
            longest or the first of them.
        widen: whether spans that start or end within a token are widened to the token; otherwise they are an error.
    """

    tokenizer: str | None = None
    overlaps: str = "refuse"
    widen: bool = False


class ColumnLayout(NamedTuple):
    """The layout of the lines of a column file.

    Attributes:
        separator: "tab", or "blank" for runs of spaces and tabs; None for what the beginning of the file shows.
        label: column of the label: 0 is the first one, -1 the last one.
        skip_comments: whether lines with `#` or `-DOCSTART-` at the beginning of sentences are skipped.
        n: number of columns without the label and the weight; 0 if it is not known.
        weight: column of the costs of wrong labels in the training data, counted like `label`; None without one. Other
            files have it as well, or lack it: see `roles`.
        texts: whether all tokens of Python objects that hold attributes are str, or none is; None for both or unknown.
        spans: how labelled spans of texts become labels of tokens.
    """

    separator: str | None = None
    label: int = -1
    skip_comments: bool = False
    n: int = 0
    weight: int | None = None
    texts: bool | None = None
    spans: SpanReading = SpanReading()

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> ColumnLayout:
        """Return the layout of the data that a model was trained on, from its checked settings."""
        columns = settings.get("columns") or {}
        return cls(**{name: columns[name] for name in cls._fields if name in columns})

    def settings(self) -> dict[str, Any]:
        """Return the entry of the settings of a model or of a corpus; nothing for data without columns."""
        fields = self._asdict()
        del fields["spans"]  # tokens are made of texts when these are read
        columns = {name: value for name, value in fields.items() if value is not None or name == "separator"}
        return {"columns": columns} if self.n or self.texts is not None else {}

    def seen(self, noticed: Noticed) -> ColumnLayout:
        """Return the layout with what a reader has found out about it."""
        return self._replace(separator="tab" if noticed.tabs else self.separator, n=noticed.n_columns)

    @property
    def n_training(self) -> int:
        """Number of columns of the training data, label and weight included, if `n` is known."""
        return self.n + (1 if self.weight is None else 2)

    @property
    def options(self) -> tuple[str | None, int, bool, int, int | None]:
        """What the native half needs to read a file."""
        return self.separator, self.label, self.skip_comments, self.n, self.weight

    def describe(self, n_read: int = 0) -> str:
        """Return the number of columns and the place of the label, for people.

        Args:
            n_read: number of the first columns that a template looks at; 0 if it is not known.
        """
        columns = counted(self.n, "column")
        if 0 < n_read < self.n:
            columns = f"{n_read} of {columns}"
        weight = "" if self.weight is None else f", the weight {_place(self.weight)}"
        return (
            f"{columns}{' between tabs' if self.separator == 'tab' else ''}; the label is {_place(self.label)}{weight}"
        )

    def flags(self) -> list[str]:
        """Return the flags of the command line that ask for this layout."""
        separator = [] if self.separator is None else ["--separator", self.separator]
        label = [] if self.label == -1 else ["--label-column", str(self.label)]
        weight = [] if self.weight is None else ["--weight-column", str(self.weight)]
        return [*separator, *label, *weight, *(["--skip-comments"] if self.skip_comments else [])]

    def check(self, format: str, *, labelled: bool = True, has_spans: bool = False) -> None:
        """Raise OptionError if a file of this format, with or without labels or spans, has no such layout."""
        if not has_spans and self.spans != SpanReading():
            which = "--overlaps and --widen are" if self.spans.tokenizer is None else "--tokenizer is"
            message = f"{which} for texts with labelled spans, not for the format {format}; leave out such flags"
            raise OptionError(message)
        if self.separator is not None and self.separator not in SEPARATORS:
            message = f"separator={self.separator!r} is not a separator; choose {' or '.join(SEPARATORS)}"
            raise OptionError(message)
        if format != "columns" and self._replace(n=0, spans=SpanReading()) != ColumnLayout():
            message = (
                f"--separator, --label-column, --weight-column and --skip-comments are for the format columns, not "
                f"{format}; leave them out"
            )
            raise OptionError(message)
        if self.weight is not None and not (labelled or self.n):
            message = "--weight-column is for labelled data: costs are of wrong labels; leave it out"
            raise OptionError(message)

    def is_comment(self, line: str) -> bool:
        """Whether a line at the beginning of a sentence is skipped."""
        return self.skip_comments and line.startswith(_COMMENTS)

    def cells(self, line: str) -> list[str]:
        """Return the cells of a line."""
        if self.separator == "tab":
            return [cell.strip(" \r") for cell in line.split("\t")]
        return [cell for cell in line.replace("\t", " ").split(" ") if cell]

    def roles(self, n_cells: int) -> tuple[int | None, int | None]:
        """Return the columns of label and weight in lines with this number of cells, from 0; None for a missing one.

        If the number of columns of the training data is known, it decides: lines with as many cells have all of them,
        those with one less lack the weight, others the label as well.
        """
        return _core.column_roles(self.options, n_cells)

    def for_weights_alone(self, rows: Sequence[Sequence[str]], labels: Collection[str]) -> ColumnLayout:
        """Return the layout of data to label that have the weights of the training data but lack the labels.

        Their number of columns is also that of data with labels and without weights. They are weights if all are
        numbers, and what would be the labels are none of the model's.

        Args:
            rows: cells of the first lines.
            labels: labels of the model.

        Returns:
            A layout in which the weight has the place of the label, which is not read; this one for all other data.
        """
        whole = self.n_training
        if self.weight is None or not self.n or not rows or {*map(len, rows)} != {whole - 1}:
            return self
        label, weight = self.roles(whole)
        if label is None or weight is None:
            return self
        label, weight = label - (weight < label), weight - (label < weight)
        if any(row[label] in labels for row in rows) or not all(_is_weight(row[weight]) for row in rows):
            return self
        return self._replace(label=weight, weight=None)

    def label_of(self, cells: list[str]) -> int | None:
        """Return the column of the label in a line with these cells, from 0; None if the line has no label."""
        return self.roles(len(cells))[0]

    def word(self, line: str) -> str:
        """Return the first cell of a line that is neither the label nor the weight."""
        cells = self.cells(line)
        others = self.roles(len(cells))
        return next((cell for at, cell in enumerate(cells) if at not in others), cells[0])


def _is_weight(cell: str) -> bool:
    """Whether a cell may be the cost of a wrong label."""
    try:
        return 0.0 <= float(cell) < math.inf
    except ValueError:
        return False


def _place(column: int) -> str:
    return {-1: "the last", 0: "the first"}.get(column, f"number {column}")


def odd_lines(core: _core.Corpus, template: str | None) -> list[str]:
    """Return a message about each property of the lines of a column file that suggests another kind of file.

    Args:
        core: the sentences of the file, just read.
        template: text of the template.
    """
    labels, messages = core.labels, Noticed(*core.notes).oddities(template)
    if len(labels) > 2 and any(all(mark in label for label in labels) for mark in "|/"):
        messages.append(f"every label looks like {labels[0]!r}: put one token per line, in the columns token and label")
    if len(core) == core.n_tokens >= _SENTENCES:
        messages.append(f"all {len(core):,} sentences have one token; put blank lines between sentences only")
    elif len(core) > 1 and (longest := max(core.lengths())) > _LONGEST:
        messages.append(f"one sentence has {longest:,} tokens; put a blank line after each sentence")
    return messages


def same_texts(layouts: Iterable[ColumnLayout]) -> bool | None:
    """Return whether the tokens of all data are str, or of none; None if data differ or it is not known of some."""
    kinds = {layout.texts for layout in layouts}
    return kinds.pop() if len(kinds) == 1 else None


def check_tokens(format: str, layout: ColumnLayout, trained: ColumnLayout) -> None:
    """Raise DataError if Python's tokens are not what the training tokens were, as far as that is known.

    They have more columns, or they are str instead of collections of attributes, or vice versa. Files may have more
    columns, of which a template then uses the first ones.
    """
    if format != "python":
        return
    if layout.n > trained.n > 0:
        message = f"the tokens have {layout.n} columns, the training data had {trained.n}; give the same columns"
        raise DataError(message)
    if layout.texts and trained.texts is False:
        message = "expected tokens that are collections of attributes, as in the training data, found str: is this one "
        message += "sentence in place of a list?"
        raise DataError(message)
    if trained.texts and layout.texts is False:
        message = "expected tokens that are str, as in the training data, found collections; give the same kind"
        raise DataError(message)
