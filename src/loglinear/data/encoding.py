"""Encoding of texts into a corpus on disk: text of any length, in bounded memory.

The module imports neither NumPy nor SciPy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from .. import _core
from ..errors import DataError, DataWarning, OptionError, warn
from ..options import thread_limit, whole_number
from .column_layout import ColumnLayout, Noticed, same_texts
from .corpus import Corpus, labels_as, read_to_score
from .formats import check_partial, file_name, format_of, has_lines, is_corpus, is_format
from .odd_keys import odd_keys
from .settings import corpus_settings
from .templates import template_text

__all__ = ["CorpusFile"]


class CorpusFile:
    r"""Write a corpus to disk, or append to one; a context manager.

    Sentences of files and of other corpora are added source by source. Memory contains only the attribute names and a
    few megabytes of text. A new corpus appears under its name at the end of the block; a corpus that is appended to is
    unchanged if the block fails.

    Args:
        path: folder of the corpus; an existing corpus is replaced.
        template: name of a preset or text of a template; for columns and CoNLL-U.
        append: append to the existing corpus, with its template.

    Raises:
        DataError: the path exists and is not a corpus; or with ``append``, no corpus or a damaged one.
        OptionError: a template is given for a corpus that has one.

    Example:
        >>> import os, tempfile
        >>> from loglinear import Corpus, CorpusFile
        >>> folder = tempfile.mkdtemp()
        >>> path, text = os.path.join(folder, "all.corpus"), os.path.join(folder, "some.txt")
        >>> with open(text, "w") as file:
        ...     _ = file.write("Dogs NOUN\nbark VERB\n")
        >>> with CorpusFile(path, template="pos") as corpus:
        ...     corpus.add(text)
        ...     corpus.add(Corpus.encode([["Cats", "sleep"]], [["NOUN", "VERB"]], template="pos"))
        >>> Corpus.open(path)
        <Corpus of 2 sentences, 4 tokens, 67 attributes, 2 labels>
    """

    def __init__(self, path: str | os.PathLike[str], *, template: str | None = None, append: bool = False) -> None:
        self._path, self._template = os.fspath(path), template_text(template)
        self._settings: dict[str, Any] | None = None
        self._format, self._layout = "columns", ColumnLayout()
        if append:
            labels = Corpus.open(self._path).core.labels  # says what is wrong
            self._writer = _core.CorpusWriter.append(self._path)
            self._settings = corpus_settings(self._path, self._writer.settings, labels)
            written_with = self._settings.get("template")
            if template is not None and self._template != written_with:
                self._writer.abandon()
                message = f"{self._path} has another template; leave out the template to append to the corpus"
                raise OptionError(message)
            self._template = written_with
            self._layout = ColumnLayout.of_settings(self._settings)
            format = self._settings.get("format", "python")
            self._format = format if is_format(format) else "columns"
        else:
            self._writer = _core.CorpusWriter.create(self._path)

    @property
    def n_sentences(self) -> int:
        """Sentences added so far; other threads may ask."""
        return self._writer.n_sentences

    @property
    def n_tokens(self) -> int:
        """Tokens added so far, or counted; other threads may ask."""
        return self._writer.n_tokens

    def add(
        self,
        source: str | os.PathLike[str] | Corpus,
        *,
        format: str | None = None,
        labelled: bool = True,
        partial: bool = False,
        separator: str | None = None,
        label_column: int | None = None,
        weight_column: int | None = None,
        skip_comments: bool | None = None,
        threads: int = 0,
    ) -> None:
        """Append sentences.

        Args:
            source: a file, as for `Corpus.read`; `-` for stdin; a corpus; or the folder of one.
            format: see `Corpus.read`. By default, a corpus that is appended to says format, separator, label_column,
                weight_column and skip_comments.
            labelled: see `Corpus.read`.
            partial: see `Corpus.read`.
            separator: see `Corpus.read`.
            label_column: see `Corpus.read`.
            weight_column: see `Corpus.read`.
            skip_comments: see `Corpus.read`.
            threads: number of threads; 0 for all cores.

        Raises:
            DataError: invalid content, with file and line; or a corpus with another template, or with labels of another
                type.
            OSError: a file cannot be read, or the disk is full.
        """
        thread_limit(threads)
        if isinstance(source, Corpus) or is_corpus(source):
            corpus = source if isinstance(source, Corpus) else Corpus.open(source)
            self._take(corpus.template, corpus.format, corpus.label_type)
            self._take_columns(corpus.columns, corpus.path or self._path)
            self._writer.push(corpus.core)
            return
        path = os.fspath(source)
        format = format_of(path, format, self._format)
        layout = self._laid_out(format, separator, label_column, skip_comments, weight_column)
        check_partial(format, path, partial=partial)
        if not has_lines(format):
            labels = labels_as(labelled=labelled, partial=partial)
            self.add(read_to_score(path, format, self._template, layout, threads, labels))
            return
        layout.check(format, labelled=labelled)
        self._take(self._template, format, "str")
        labels, columns = labels_as(labelled=labelled, partial=partial), layout.options
        noticed = Noticed(
            *self._writer.read(path, format, self._template, labels=labels, columns=columns, threads=threads)
        )
        self._take_columns(layout.seen(noticed), file_name(path))
        odd = odd_keys(path) if format == "jsonl" else []
        for message in [*noticed.oddities(self._template), *odd]:
            warn(f"{file_name(path)}: {message}", DataWarning)

    def _laid_out(
        self,
        format: str,
        separator: str | None,
        label_column: int | None,
        skip_comments: bool | None,
        weight_column: int | None,
    ) -> ColumnLayout:
        """Return the layout of a file: that of the corpus appended to, with the changes that are not None."""
        layout = self._layout if format == "columns" else ColumnLayout()
        weight = layout.weight if weight_column is None else weight_column
        return ColumnLayout(
            layout.separator if separator is None else separator,
            layout.label if label_column is None else label_column,
            layout.skip_comments if skip_comments is None else skip_comments,
            # Sentences to append are training data, too, all of which have the weight.
            layout.n if weight is None else 0,
            weight,
        )

    def _take(self, template: str | None, format: str, label_type: str) -> None:
        """Note what the sentences are made of, after a check that all are made of the same."""
        settings = {"template": template, "format": format, "label_type": label_type}
        if self._settings is None:
            self._settings = settings
        for name, what in (("template", "another template"), ("label_type", "another label type")):
            if settings[name] != self._settings[name]:
                message = f"{self._path}: the sentences to append have {what}; encode them into their own corpus"
                raise DataError(message)

    def _take_columns(self, columns: ColumnLayout, name: str) -> None:
        """Note the layout of the first sentences; later ones, of a source with this name, must have as many columns."""
        settings = self._settings or {}
        earlier = ColumnLayout.of_settings(settings)
        if earlier.n and columns.n and earlier.n != columns.n:
            message = (
                f"{name}: {columns.n} columns plus the label, earlier sentences have {earlier.n}; give files with the "
                "same columns"
            )
            raise DataError(message)
        if not earlier.n:
            if self.n_sentences:
                columns = columns._replace(texts=same_texts([earlier, columns]))
            others = {name: value for name, value in settings.items() if name != "columns"}
            self._settings = others | columns.settings()

    def keep_frequent(
        self,
        sources: Sequence[str | os.PathLike[str]],
        min_count: int,
        *,
        format: str | None = None,
        labelled: bool = True,
        separator: str | None = None,
        label_column: int | None = None,
        weight_column: int | None = None,
        skip_comments: bool | None = None,
        threads: int = 0,
    ) -> int:
        """Drop rare attributes from the sentences added later; counts them in a first pass, in bounded memory.

        Args:
            sources: all files that will be added; not stdin, which cannot be read twice.
            min_count: drop attributes that occur on fewer tokens, >= 1.
            format: see `Corpus.read`.
            labelled: see `Corpus.read`.
            separator: see `Corpus.read`.
            label_column: see `Corpus.read`.
            weight_column: see `Corpus.read`.
            skip_comments: see `Corpus.read`.
            threads: number of threads; 0 for all cores.

        Returns:
            The number of attributes kept.

        Raises:
            OptionError: a source cannot be read twice, or is an encoded corpus.
            DataError: invalid content; names file and line.
        """
        thread_limit(threads)
        whole_number("min_count", min_count, 1, 2**62)
        labels = "marked" if labelled else "none"
        for source in sources:
            path = os.fspath(source)
            name = format_of(path, format)
            if path == "-" or is_corpus(path) or not has_lines(name):
                message = (
                    f"min_count={min_count} reads its input twice, which {file_name(path)} does not allow; "
                    "leave out min_count"
                )
                raise OptionError(message)
            layout = self._laid_out(name, separator, label_column, skip_comments, weight_column)
            layout.check(name, labelled=labelled)
            self._writer.count(path, name, self._template, labels=labels, columns=layout.options, threads=threads)
        return self._writer.keep(min_count)

    def finish(self) -> None:
        """Complete the corpus and move it to its path.

        Raises:
            DataError: the corpus has no sentences.
            OSError: the disk is full.
        """
        if self._settings is None:
            message = f"{self._path}: no sentences found; give at least one file with sentences"
            raise DataError(message)
        self._writer.finish(json.dumps(self._settings))

    def __enter__(self) -> CorpusFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self._writer.abandon()
