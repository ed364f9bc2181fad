"""A look at a file to label: do its lines hold what the model reads?"""

from __future__ import annotations

import json
import os
import stat
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from ..data.formats import file_name, n_columns
from ..errors import DataError, OptionError
from ..options import digits_of
from ..visible import counted
from .output import say

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from ..data.column_layout import ColumnLayout
    from ..data.corpus import Corpus
    from ..data.texts import Documents
    from ..models.files.chain import ChainModel

__all__ = [
    "LOOKED_AT",
    "answered_one_by_one",
    "first_rows",
    "is_regular",
    "note_columns",
    "note_empty",
    "note_labelled_columns",
    "note_unlabelled",
    "refuse_json_lines",
    "refuse_texts",
    "rows_of",
    "start_of",
    "warn_of_columns",
    "warn_of_labels",
    "warn_of_long_sentence",
    "warn_of_missing_attributes",
    "warn_of_tokens",
    "warn_of_unknown_attributes",
    "warn_of_unknown_columns",
    "warn_of_unknown_words",
    "warn_of_whole_sentences",
]

# Bytes to look at, and cells beyond those the model reads from which on a line looks like a sentence.
LOOKED_AT = 1 << 16
_CELLS = 4
# Mean number of blanks in a column from which on it holds texts.
_BLANKS = 2
# Fewest lines that look like tokens, and most words of such a line.
_LINES = 10
# Lines at the beginning of a file that show what its first column holds.
_SHOWN = 100
_WORDS = 4
# Fewest tokens for which a look at the known words is worth it, and the share of them from which on they are known.
_TOKENS = 20
_KNOWN = 0.05
# How many times as long as those of the training data a sentence is that probably lacks blank lines; and fewest tokens.
_TIMES = 10
_LONG = 200
# Marks within words that separate columns only if a label is after them.
_IN_WORDS = "/:_@&#=~%+*"


def warn_of_whole_sentences(path: str, start: bytes, model: ChainModel, settings: dict[str, Any]) -> bool:
    """Warn if a text of columns seems to hold a sentence a line, which the model would take for one token each.

    Return whether there was a warning.

    There is a warning if the model was trained on sentences of several tokens, and every sentence of the text is a
    single line with at least four cells more than the model reads.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
        model: a chain or a classifier.
        settings: of the model.
    """
    training = settings.get("training", {})
    if model.template is None or not training.get("n_tokens", 0) > training.get("n_sentences", 0):
        return False
    columns = n_columns(model.template)
    lines = start.splitlines()
    if len(start) >= LOOKED_AT:
        lines = lines[:-1]
    filled = [len(line.split()) for line in lines]
    several = any(cells and following for cells, following in pairwise(filled))
    if not any(filled) or several or min(cells for cells in filled if cells) < columns + _CELLS:
        return False
    reads = "column 1" if columns == 1 else f"columns 1 to {columns}"
    say(
        f"warning: {file_name(path)}: every sentence is a single line, of which the model reads "
        f"{reads}; put one token per line and a blank line between sentences (tag --text labels raw text)"
    )
    return True


def warn_of_columns(path: str, start: bytes, columns: ColumnLayout, model: ChainModel) -> bool:
    """Warn if the columns of a text probably hold something else than the words that the model reads.

    Return whether there was a warning.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
        columns: layout of the text.
        model: a chain or a classifier.
    """
    from ..data.column_layout import Noticed
    from ..data.headers import is_header

    line = next(_lines(start, columns), "")
    noticed = Noticed.of_start(start, columns)
    if not noticed.mark or (noticed.mark in _IN_WORDS and line.rpartition(noticed.mark)[2] not in model.labels):
        noticed = noticed._replace(mark="")
    messages = noticed.oddities(model.template)
    if noticed.unsplit in range(columns.n, columns.n_training + 1) and columns.n:
        messages.append(
            f"no line has a tab, and each has {noticed.unsplit} columns between spaces; if they are columns, add "
            "--separator blank"
        )
    if _holds_labels(start, columns, model.labels):
        messages.append("column 0 looks like the labels, not like words; add --label-column 0")
    if is_header(line, columns):
        messages.append(f"the first line looks like a header ({line.strip()!r}); remove it")
    for message in messages:
        say(f"warning: {file_name(path)}: {message}")
    return bool(messages)


def warn_of_unknown_words(path: str, start: bytes, columns: ColumnLayout, model: ChainModel) -> None:
    """Warn if the model knows almost none of the words in the first column of a text.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
        columns: layout of the text.
        model: a chain or a classifier.
    """
    from ..data.column_layout import Noticed, word_prefixes

    prefixes = word_prefixes(model.template or "")
    if not prefixes:
        return
    layout = columns._replace(separator="tab") if Noticed.of_start(start, columns).tabs else columns
    words = [word for word in map(layout.word, _lines(start, layout)) if word.isalpha()]
    distinct = [*dict.fromkeys(words)]
    known_words = {word for prefix in prefixes for word, is_known in _looked_up(prefix, distinct, model) if is_known}
    if len(words) >= _TOKENS and sum(word in known_words for word in words) < _KNOWN * len(words):
        n_known = len(known_words) or "none"
        say(
            f"warning: {file_name(path)}: the model knows {n_known} of the {len(distinct):,} different words at the "
            "beginning; check the language, and that the columns are in the order of the training data"
        )


def _looked_up(prefix: str, words: Sequence[str], model: ChainModel) -> Iterable[tuple[str, bool]]:
    """Return words, and whether the model knows each of them after this prefix."""
    return zip(words, model.knows([prefix + word for word in words]), strict=True)


def warn_of_long_sentence(path: str, start: bytes, settings: dict[str, Any]) -> None:
    """Warn if a text has no blank line among many tokens, so that they are one sentence.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
        settings: of the model.
    """
    training = settings.get("training", {})
    usual = training.get("n_tokens", 0) / max(training.get("n_sentences", 0), 1)
    lines = start.strip().splitlines()
    if len(lines) > max(_LONG, _TIMES * usual) and all(map(bytes.strip, lines)):
        tokens = f"all {len(lines):,} tokens" if len(start) < LOOKED_AT else f"the first {len(lines) - 1:,} tokens"
        say(f"warning: {file_name(path)}: {tokens} are in one sentence; put a blank line after each sentence")


def note_empty(path: str, start: bytes) -> None:
    """Say that a file has no sentences.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
    """
    if not start.strip() and len(start) < LOOKED_AT:
        say(f"note: {file_name(path)}: no sentences found; the file is empty or has only blank lines")


def _lines(start: bytes, columns: ColumnLayout) -> Iterator[str]:
    """Yield the lines of a text that may hold a token."""
    lines = start.decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()
    return (line for line in lines if line.strip() and not columns.is_comment(line))


def rows_of(start: bytes, columns: ColumnLayout) -> list[list[str]]:
    """Return the cells of the first lines of a column file that may hold a token."""
    from ..data.column_layout import Noticed

    layout = columns._replace(separator="tab") if Noticed.of_start(start, columns).tabs else columns
    return [layout.cells(line) for line in islice(_lines(start, layout), _SHOWN)]


def first_rows(path: str, columns: ColumnLayout) -> list[list[str]]:
    """Return the cells of the first lines of a regular column file."""
    return rows_of(start_of(path), columns)


def _holds_labels(start: bytes, columns: ColumnLayout, labels: Collection[str]) -> bool:
    """Whether the first column has labels of a model in place of words, and the last one has something else."""
    rows = [columns.cells(line) for line in islice(_lines(start, columns), _SHOWN)]
    words = {row[0] for row in rows if len(row) > 1}
    return columns.label != 0 and len(words) > 1 and words <= {*labels} and not {row[-1] for row in rows} <= {*labels}


def note_columns(path: str, start: bytes, columns: ColumnLayout) -> None:
    """Say what becomes of columns that the training data did not have, as the first line of a text shows them.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text.
        columns: layout of the text, with the number of columns of the training data.
    """
    from ..data.column_layout import Noticed

    # Without the number of columns of the training data, no column is taken for the label.
    n_columns, name = Noticed.of_start(start, columns._replace(n=0)).n_columns, file_name(path)
    if not (n_columns and columns.n):
        return
    label, weight = columns.roles(n_columns)
    trained = _trained(n_columns, columns)
    if weight is not None:
        both = f"columns {label} and {weight} are taken for the gold labels and weights"
        say(f"note: {name}: {both} and ignored ({trained})")
    elif label is not None:
        place = "the last column" if label == n_columns - 1 else f"column {label}"
        say(f"note: {name}: {place} is taken for the gold labels and ignored ({trained})")
    elif n_columns > columns.n:  # fewer are enough for a template that looks at the first ones
        say(f"warning: {name}: {trained}; check that the first columns hold the same things")


def note_labelled_columns(path: str, columns: ColumnLayout, trained: ColumnLayout) -> None:
    """Warn if a labelled file has more or fewer columns than the training data, if both numbers are known.

    Args:
        path: the file, for the message.
        columns: its layout.
        trained: layout of the training data.
    """
    if trained.n and columns.n and columns.n != trained.n:
        counts = _trained(columns.n + 1, trained)  # the label is a column of the file, too
        say(f"warning: {file_name(path)}: {counts}; check that the first columns hold the same things")


def _trained(n_columns: int, trained: ColumnLayout) -> str:
    """Return how many columns a file has, beside those of the training data."""
    besides = "the label" if trained.weight is None else "the label and the weight"
    return f"{counted(n_columns, 'column')}, the training data had {trained.n} plus {besides}"


def note_unlabelled(path: str, n_tokens: int, corpus: Corpus, *, sentences: bool, done: str = "scored") -> None:
    """Say how many tokens have no gold label, and what is scored.

    Args:
        path: the file.
        n_tokens: number of tokens without a gold label.
        corpus: what is scored.
        sentences: whether sentences without all gold labels are left out.
        done: what is done with the others.
    """
    it = "it is" if n_tokens == 1 else "they are"
    scored = "1 sentence with all labels is" if len(corpus) == 1 else f"{len(corpus):,} sentences with all labels are"
    what = f"only the {scored} {done}" if sentences else f"{it} not {done}"
    say(f"note: {path}: {counted(n_tokens, 'token')} without a gold label; {what}")


def refuse_json_lines(path: str, start: bytes) -> None:
    """Raise DataError if a text that is to be read as columns holds JSON lines.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
    """
    line = start.lstrip().partition(b"\n")[0].rstrip()
    if line.startswith(b"{") and b'"tokens"' in line:
        message = f"{file_name(path)}: these are JSON lines, not columns; add --format jsonl"
        raise DataError(message)


def refuse_texts(path: str, start: bytes) -> None:
    """Raise DataError if the lines of a text that is to be read as columns are labelled texts.

    That is so if every line has a single tab and several words on one side of it, and no blank line ends a sentence.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
    """
    if b"\t" not in start:
        return
    lines = start.decode("utf-8", errors="replace").strip().splitlines()
    if len(start) >= LOOKED_AT:
        lines = lines[:-1]
    if len(lines) < 2 or any(line.count("\t") != 1 for line in lines):
        return
    halves = zip(*(line.split("\t") for line in lines), strict=True)
    if max(sum(half.count(" ") for half in side) for side in halves) >= _BLANKS * len(lines):
        message = (
            f"{file_name(path)}: every line is a text with a label, not a token; for a classifier of texts, train with "
            "--model-type maxent --format text"
        )
        raise DataError(message)


def warn_of_missing_attributes(path: str, start: bytes) -> None:
    """Warn if the lines of an attribute file seem to hold no attributes, which makes all tokens alike.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
    """
    if start.strip() and b"\t" not in start:
        say(
            f"warning: {file_name(path)}: no token has an attribute; the model reads CRFsuite's "
            "format, a label and attributes between tabs"
        )


def warn_of_unknown_attributes(path: str, start: bytes, format: str, model: ChainModel) -> None:
    """Warn if the model knows none of the attributes of the first samples of a file in svmlight's format.

    Warn as well if the file has columns that training has not seen: see `warn_of_columns_from_1`.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
        format: of the file.
        model: a classifier.
    """
    names = _columns_of_samples(start, format)
    if names is None or not start.strip():
        return
    n_columns = json.loads(model.settings).get("n_columns")
    if warn_of_columns_from_1(path, names, n_columns, "the model"):
        return
    # An L1 penalty leaves columns out of the file of a model, which knows them nevertheless.
    knows_some = any(model.knows(names)) or any((digits_of(name) or 0) < (n_columns or 0) for name in names)
    if not knows_some:
        wrong = "the model knows none of the attributes at the beginning; it reads"
        if not names:
            wrong = "no sample at the beginning has an attribute; the model reads"
        wrong += " svmlight's format, a label and attributes such as 3:0.5 between blanks"
        say(f"warning: {file_name(path)}: {wrong}")


def warn_of_unknown_columns(path: str, format: str, trained: Sequence[str]) -> None:
    """Warn if development data in svmlight's format seem to count columns from 1, and the training data from 0.

    Args:
        path: the file.
        format: of the file.
        trained: names of the columns of the training data.
    """
    columns = [*map(digits_of, trained)]
    if "0" in trained and None not in columns:
        n_columns = 1 + max(filter(None, columns), default=0)
        warn_of_columns_from_1(path, _columns_of_samples(start_of(path), format) or [], n_columns, "the training data")


def warn_of_columns_from_1(path: str, names: Sequence[str], n_columns: int | None, trained: str) -> bool:
    """Warn if columns have the numbers of the training columns plus 1: there is no column 0, and one too many.

    Return whether there was a warning.

    Without the number of columns nothing can be said: an L1 penalty leaves columns out of a model.

    Args:
        path: the file, for the message; `-` is standard input.
        names: of the columns in the file.
        n_columns: number of columns of the training data, which count from 0; None if it is not known.
        trained: what the message calls what has these columns.
    """
    columns = [number for name in names if (number := digits_of(name)) is not None]
    is_shifted = columns and len(columns) == len(names) and (min(columns), max(columns)) == (1, n_columns)
    if is_shifted:
        say(
            f"warning: {file_name(path)}: columns are numbered from 1 to {n_columns}, as it seems, and those of "
            f"{trained} from 0; write the file with zero_based=True (sklearn.datasets.dump_svmlight_file)"
        )
    return bool(is_shifted)


def _columns_of_samples(start: bytes, format: str) -> list[str] | None:
    """Return the names of the columns at the beginning of a file in svmlight's format; None for another format."""
    from ..data.formats import FORMATS

    if format not in FORMATS or FORMATS[format].holds != "samples":
        return None
    whole = start if len(start) < LOOKED_AT else start[: start.rfind(b"\n") + 1]
    lines = (line.partition("#")[0].split() for line in whole.decode(errors="replace").splitlines())
    return [*dict.fromkeys(field.partition(":")[0] for fields in lines for field in fields[1:])]


def warn_of_tokens(name: str, documents: Documents) -> None:
    """Warn if texts to label seem to be sentences, with a token on each line and blank lines between them.

    Args:
        name: what the message calls the file.
        documents: the texts.
    """
    texts, n_lines = documents.texts, documents.lines[-1]
    if len(texts) >= _LINES and n_lines > len(texts) and max(len(text.split()) for text in texts) <= _WORDS:
        say(
            f"warning: {name}: the lines look like tokens, with blank lines between sentences; the model labels whole "
            "texts, one per line"
        )


def warn_of_labels(name: str, texts: Sequence[str], labels: Collection[str]) -> None:
    """Warn if most texts to label begin with a label and a tab, which the model takes for words.

    Args:
        name: what the message calls the file.
        texts: texts without labels.
        labels: of the model.
    """
    n_labelled = sum("\t" in text and text.partition("\t")[0].strip() in labels for text in texts)
    if 2 * n_labelled > len(texts):
        lines = "every line begins" if n_labelled == len(texts) else f"{n_labelled:,} of {len(texts):,} lines begin"
        say(
            f"warning: {name}: {lines} with a label, which is read as part of the text; use evaluate, or remove the "
            "labels"
        )


def answered_one_by_one(arguments: Namespace) -> bool:
    """Whether `loglinear tag` answers sentences as they come.

    Raises:
        OptionError: that is requested, but the output is a file, which is written as a whole.
    """
    if arguments.output != "-":
        if arguments.stream:
            message = f"--stream writes to stdout, not to {arguments.output}; leave out --stream or --output"
            raise OptionError(message)
        return False
    return bool(arguments.stream) or not is_regular(arguments.file)


def is_regular(path: str) -> bool:
    """Whether a path is a regular file, not a pipe or a terminal. `-` is standard input."""
    try:
        return stat.S_ISREG(os.stat(0 if path == "-" else path).st_mode)
    except OSError:  # whoever reads the file says so
        return False


def start_of(path: str) -> bytes:
    """Return the first bytes of the text in a regular file, without consuming them; `-` is standard input.

    Nothing is returned where that cannot be done.
    """
    from ..data.lines import first_bytes

    try:
        if not is_regular(path):
            return b""
        with open(path, "rb") if path != "-" else _Ahead() as file:
            return first_bytes(file, path, LOOKED_AT)
    except (OSError, DataError):  # whoever reads the file says so
        return b""


class _Ahead:
    """Standard input, a regular file, from where it is; stays where it is."""

    def __enter__(self) -> _Ahead:
        self._at = os.lseek(0, 0, os.SEEK_CUR)
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read1(self, size: int) -> bytes:
        """Return the next bytes."""
        part = os.pread(0, size, self._at) if hasattr(os, "pread") else b""
        self._at += len(part)
        return part
