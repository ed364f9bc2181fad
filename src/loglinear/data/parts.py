"""Parts of a data set that one machine need not hold: where each part is, and how it is read.

A part is a small object that can be sent to another process, which reads the sentences there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from typing import TYPE_CHECKING, Any, Protocol

from .. import _core
from ..errors import DataError
from ..extras import needed_by
from .column_layout import ColumnLayout, Noticed
from .corpus import Corpus, check_same_columns, labels_as
from .formats import format_of, is_corpus, need_lines
from .templates import template_text

if TYPE_CHECKING:
    from .inputs import Sentence

__all__ = ["PART_BYTES", "CorpusPart", "JoinedPart", "ListedPart", "ParquetPart", "Part", "TextPart", "cut", "expanded"]

# Default bytes of a part of a text. Each part costs a task per evaluation, and work on all features that occur in the
# part: on CoNLL-2000 x 20 two workers are as fast as two threads with 16 MiB, and a quarter slower with 4 MiB. Small
# data on many workers need smaller parts.
PART_BYTES = 16 << 20
# Approximate number of attributes of an encoded corpus per byte of text.
_PER_BYTE = 2


class Part(Protocol):
    """A part of a data set."""

    @property
    def name(self) -> str:
        """What messages call the part."""

    def read(self) -> Corpus:
        """Return the sentences of the part, on one thread.

        Raises:
            DataError: bad content; names the place.
            OSError: a file cannot be read.
        """


@dataclass(frozen=True)
class TextPart:
    """A range of bytes of a file.

    Attributes:
        path: the file.
        range: first byte, and the byte after the last; None for the whole file, which may be compressed.
        format: of the file, see `Corpus.read`.
        template: text of a template.
        partial: allow partial labels.
        columns: layout of the lines of a column file.
    """

    path: str
    range: tuple[int, int] | None
    format: str
    template: str | None = None
    partial: bool = False
    columns: ColumnLayout = ColumnLayout()

    @property
    def name(self) -> str:
        """Path and range."""
        return self.path if self.range is None else f"{self.path}, bytes {self.range[0]:,} to {self.range[1]:,}"

    def read(self) -> Corpus:
        """Return the sentences; errors name the line of the file."""
        labels, columns = labels_as(labelled=True, partial=self.partial), self.columns.options
        core = _core.Corpus.read(
            self.path, self.format, self.template, labels=labels, columns=columns, range=self.range, threads=1
        )
        return Corpus(core, self.template, self.format, columns=self.columns.seen(Noticed(*core.notes)))


@dataclass(frozen=True)
class JoinedPart:
    """Small files, one after the other.

    Attributes:
        files: the files, each a part by itself.
    """

    files: tuple[TextPart, ...]

    @property
    def name(self) -> str:
        """The first path and the last."""
        return f"{self.files[0].path} to {self.files[-1].path}"

    def read(self) -> Corpus:
        """Return the sentences; errors name the line of the file."""
        corpora = [file.read() for file in self.files]
        check_same_columns(corpora, [file.path for file in self.files])
        return Corpus.concat(corpora)


@dataclass(frozen=True)
class CorpusPart:
    """A range of sentences of an encoded corpus on disk.

    Attributes:
        path: its folder.
        range: first sentence, and the one after the last; None for all, which stay on disk.
    """

    path: str
    range: tuple[int, int] | None

    @property
    def name(self) -> str:
        """Path and range."""
        return self.path if self.range is None else f"{self.path}, sentences {self.range[0]:,} to {self.range[1]:,}"

    def read(self) -> Corpus:
        """Return the sentences."""
        corpus = Corpus.open(self.path)
        return corpus if self.range is None else corpus[slice(*self.range)]


@dataclass(frozen=True)
class ListedPart:
    """Sentences and their labels as Python objects.

    Attributes:
        name: what messages call the part.
        X: sentences.
        y: a sequence of labels for each sentence.
        template: text of a template.
        weights: a weight of at least 0 for each sentence; None for 1.
        costs: costs of wrong labels, a number of at least 0 for each token of each sentence, or None.
    """

    name: str
    X: Sequence[Sentence]
    y: Sequence[Iterable[Any]]
    template: str | None = None
    weights: Sequence[float] | None = None
    costs: Sequence[Iterable[float] | None] | None = None

    def read(self) -> Corpus:
        """Return the sentences; errors name the part, and the sentence in it."""
        try:
            return Corpus.encode(
                self.X, self.y, template=self.template, sample_weight=self.weights, token_weight=self.costs
            )
        except DataError as error:
            message = f"{self.name}: {error}"
            raise DataError(message) from error


@dataclass(frozen=True)
class ParquetPart:
    """A row group of a Parquet file with the columns ``tokens`` and ``labels``, lists of a sentence each.

    A column ``weight``, if there is one, holds the weights of the sentences, and a column ``token_weights`` a list of
    costs of wrong labels for each.

    Attributes:
        path: the file.
        group: number of the row group.
        template: text of a template.
    """

    path: str
    group: int
    template: str | None = None

    @property
    def name(self) -> str:
        """Path and row group."""
        return f"{self.path}, row group {self.group}"

    def read(self) -> Corpus:
        """Return the sentences; errors name the part, and the sentence in it."""
        import pyarrow.parquet as parquet

        names = ["tokens", "labels", "weight", "token_weights"]
        table = parquet.ParquetFile(self.path).read_row_group(self.group, columns=names)
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        weights, costs = columns.get("weight"), columns.get("token_weights")
        return ListedPart(self.name, columns["tokens"], columns["labels"], self.template, weights, costs).read()


def expanded(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, whole_folders: bool = False
) -> list[str]:
    """Return the files that paths name, in this order: patterns such as part-*.txt and folders by name.

    Args:
        paths: files, folders and patterns.
        whole_folders: whether a folder is left as it is, for a reader of folders.

    Raises:
        DataError: a pattern or a folder holds no file.
    """
    given_paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files: list[str] = []
    for path in [os.fspath(given_path) for given_path in given_paths]:
        matching = [path]
        if os.path.isdir(path) and not is_corpus(path) and not whole_folders:
            matching = sorted(
                entry.path for entry in os.scandir(path) if entry.is_file() and not entry.name.startswith((".", "_"))
            )
        elif has_magic(path) and not os.path.exists(path):
            matching = sorted(match for match in glob(path) if os.path.isfile(match))
        if not matching:
            message = f"{path}: no such file; give paths, folders or patterns such as 'part-*.txt'"
            if os.path.isdir(path):
                message = (
                    f"{path}: no files in this folder; if it has a folder of texts for each label, add --format text"
                )
            raise DataError(message)
        files += matching
    return files


def cut(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    template: str | None = None,
    partial: bool = False,
    columns: ColumnLayout = ColumnLayout(),
    part_bytes: int = PART_BYTES,
) -> list[Part]:
    """Return the parts of files, which depend on the files and on ``part_bytes`` alone.

    Files are cut where a sentence ends, and small files in a row are joined; a compressed file is one part, a Parquet
    file has a part for each row group, and an encoded corpus a part for as many sentences as come of about as many
    bytes of text.

    Args:
        paths: files, folders and patterns.
        format: see `Corpus.read`; by default from each file's extension, which may also be ``.parquet``.
        template: name of a preset or text of a template.
        partial: allow partial labels.
        columns: layout of the lines of column files.
        part_bytes: bytes of a part, about, >= 1.

    Raises:
        DataError: there is no file, or a Parquet file lacks a column.
        OSError: a file cannot be read.
    """
    text = template_text(template)
    parts: list[Part] = []
    for path in expanded(paths):
        if is_corpus(path):
            parts += _sentences(path, text, part_bytes)
            continue
        if format == "parquet" or (format is None and path.endswith((".parquet", ".pq"))):
            parts += _row_groups(path, text)
            continue
        kind = format_of(path, format)
        columns.check(kind)
        need_lines(kind, path, "training on a cluster")
        ranges = _core.cut_file(path, kind, part_bytes)
        whole = ranges is None or len(ranges) <= 1
        for part_range in [None] if whole else ranges or ():
            parts.append(TextPart(path, part_range, kind, text, partial, columns))
    return list(_joined(parts, part_bytes))


def _joined(parts: list[Part], part_bytes: int) -> Iterator[Part]:
    """Yield the parts, with whole files in a row joined up to ``part_bytes`` in total."""
    files: list[TextPart] = []
    size = 0
    for part in [*parts, None]:
        whole = isinstance(part, TextPart) and part.range is None
        more = os.path.getsize(part.path) if whole and isinstance(part, TextPart) else 0
        if files and (not whole or size + more > part_bytes):
            yield files[0] if len(files) == 1 else JoinedPart(tuple(files))
            files, size = [], 0
        if whole and isinstance(part, TextPart):
            files.append(part)
            size += more
        elif part is not None:
            yield part


def _sentences(path: str, template: str | None, part_bytes: int) -> list[Part]:
    """Return parts of as many sentences each of an encoded corpus."""
    corpus = Corpus.open(path)
    corpus.check_template(template)
    n = len(corpus)
    count = max(min(n, corpus.core.n_entries // (part_bytes * _PER_BYTE)), 1)
    ends = [n * (part + 1) // count for part in range(count)]
    if count == 1:
        return [CorpusPart(path, None)]
    return [CorpusPart(path, bounds) for bounds in zip([0, *ends], ends, strict=False)]


def _row_groups(path: str, template: str | None) -> list[Part]:
    """Return a part for each row group of a Parquet file."""
    with needed_by(f"{path}: a Parquet file"):
        import pyarrow.parquet as parquet

    file = parquet.ParquetFile(path)
    lacking = [name for name in ("tokens", "labels") if name not in file.schema_arrow.names]
    if lacking:
        message = f"{path}: no column {' and no column '.join(lacking)}; sentences need the list columns tokens, labels"
        raise DataError(message)
    return [ParquetPart(path, group, template) for group in range(file.num_row_groups)]
