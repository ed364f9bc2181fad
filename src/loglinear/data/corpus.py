"""Encoded sentences: read or encoded once, used by many trainings; in memory, or in a folder on disk.

The module imports neither NumPy nor SciPy, which reading and encoding do without.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set, Sized
from numbers import Integral
from typing import TYPE_CHECKING, Any

from .. import _core
from ..display.fragment import in_notebook
from ..display.table import facts
from ..errors import DataError, DataWarning, OptionError, warn
from ..options import thread_limit
from ..text_file import not_a
from ..visible import counted, listed, visible_name
from .column_layout import ColumnLayout, Noticed, SpanReading, odd_lines, same_texts
from .columns import as_items, as_lists, is_arrow
from .first_sentences import First, sizes_of
from .formats import (
    check_partial,
    file_name,
    format_of,
    has_lines,
    has_spans,
    is_corpus,
    is_format,
    n_columns,
    named,
    unknown_label,
)
from .headers import odd_headers
from .labels import LabelNames, check_ordered, check_sentence, typed
from .odd_keys import odd_keys
from .other_lines import other_lines
from .settings import corpus_settings
from .templates import TemplateText, naming_preset, template_text

if TYPE_CHECKING:
    import numpy.typing as npt

    from .inputs import Classes, Labels, Matrix, Sentences, TokenWeights

__all__ = [
    "Corpus",
    "check_same_columns",
    "check_some_weight",
    "checked_weights",
    "labels_as",
    "read_to_score",
    "read_unlabelled",
]

# Labels that a notebook lists.
_LABELS = 20


class Corpus:
    """Encoded sentences: each token is a list of attribute ids, with a label if the data is labelled.

    A corpus is in native memory, or in a folder on disk (`open`), from which it is read as needed.

    Attributes:
        template: template that formed the attributes; None if the data contained attributes.
        format: format of the file; "python" for Python objects.
        label_type: type of the labels: "str", "int" or "bool"; always "str" for a file.
        columns: layout of the lines, and number of columns, if a template formed the attributes; else whether tokens of
            Python objects are str.
        path: folder of a corpus on disk; None for a corpus in memory.

    Example:
        >>> from loglinear import ChainCRF, Corpus
        >>> X, y = [["Dogs", "bark"], ["Cats", "sleep"]], [["NOUN", "VERB"], ["NOUN", "VERB"]]
        >>> corpus = Corpus.encode(X, y, template="pos")
        >>> corpus
        <Corpus of 2 sentences, 4 tokens, 67 attributes, 2 labels>
        >>> corpus[:1].gold()
        [['NOUN', 'VERB']]
        >>> ChainCRF().fit(corpus).score(corpus)
        1.0
    """

    def __init__(
        self,
        core: _core.Corpus,
        template: str | None,
        format: str,
        label_type: str = "str",
        columns: ColumnLayout = ColumnLayout(),
    ) -> None:
        self.core = core
        self.columns = columns
        self.template = template
        self.format = format
        self.label_type = label_type
        self.path: str | None = None

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        template: str | None = None,
        labelled: bool = True,
        partial: bool = False,
        separator: str | None = None,
        label_column: int = -1,
        weight_column: int | None = None,
        skip_comments: bool = False,
        threads: int = 0,
    ) -> Corpus:
        """Read a file in parallel (decompressed if need be; `-` is stdin), or open an encoded corpus.

        Args:
            path: the file, or the folder of an encoded corpus (see `open`).
            format: name of the format, such as `columns`, `conllu` or `jsonl`; the page "Overview" lists all formats.
                By default from the file extension, ignoring .gz, .xz, .bz2 and .zst; otherwise `columns`.
            template: name of a preset or text of a template; required for columns and CoNLL-U.
            labelled: whether the data has labels, if the format has a place for them.
            partial: allow partial labels: `?` matches any label, `A|B` either of two, and `A:0.7|B:0.3` gives their
                probabilities. JSON lines express these with `null`, lists and objects, without this option. In CoNLL-U,
                `_` is an unknown label, too.
            separator: what separates the columns of a column file: "tab", which allows blanks in columns and empty
                columns, or "blank" for runs of spaces and tabs. By default "blank", or "tab" if only tabs give every
                line the same number of columns.
            label_column: column of the label in a column file: 0 is the first one, -1 the last one. The template counts
                the other columns only.
            weight_column: column of a number >= 0 for each token, the cost of a wrong label, counted like
                ``label_column``; see ``token_weight`` of `ChainCRF.fit`. For `MaxEnt` it is the weight of the sample.
                JSON lines have ``"token_weights"``.
            skip_comments: skip the lines of a column file that begin with `#` or `-DOCSTART-` before the first token of
                a sentence.
            threads: number of threads; 0 for all cores.

        Raises:
            DataError: invalid content, with file and line; or a corpus encoded with another template.
            TemplateError: the template is invalid, or refers to a column that the data does not have.
            OSError: the file cannot be read.

        Warns:
            DataWarning: lines of a column file are probably no tokens, such as comments or a header.
        """
        thread_limit(threads)
        text = template_text(template)
        if is_corpus(path):
            corpus = cls.open(path)
            corpus.check_template(text)
            return corpus
        layout = ColumnLayout(separator, label_column, skip_comments, weight=weight_column)
        format = format_of(path, format)
        check_partial(format, os.fspath(path), partial=partial)
        return cls._of_file(path, format, text, labels_as(labelled=labelled, partial=partial), layout, threads)

    @classmethod
    def _of_file(
        cls,
        path: str | os.PathLike[str],
        format: str,
        template: str | None,
        labels: str,
        layout: ColumnLayout,
        threads: int = 0,
    ) -> Corpus:
        """Read a text of a format; `labels` as the native half names the ways to read them."""
        layout.check(format, labelled=labels != "none", has_spans=has_spans(format))
        path = os.fspath(path)
        if not has_lines(format):
            return cls._of_words(path, format, template, layout.spans, is_labelled=labels != "none")
        with naming_preset(template):
            core = _core.Corpus.read(path, format, template, labels=labels, columns=layout.options, threads=threads)
        corpus = cls(core, template, format, columns=layout.seen(Noticed(*core.notes)))
        if format == "columns":
            odd = [*odd_lines(core, template), *odd_headers(path, core, corpus.columns)]
            for message in [*odd, *other_lines(path, core, Noticed(*core.notes).comments, corpus.columns)]:
                warn(f"{file_name(path)}: {message}", DataWarning)
        for message in odd_keys(path) if format == "jsonl" else ():
            warn(f"{file_name(path)}: {message}", DataWarning)
        return corpus

    @classmethod
    def _of_words(
        cls, path: str, format: str, template: str | None, spans: SpanReading, *, is_labelled: bool
    ) -> Corpus:
        """Read words and labels of a format without lines: texts with labelled spans, or docs of spaCy."""
        if template is None:
            message = f"the format {format} needs a template, for instance the preset ner (--preset, --template)"
            raise OptionError(message)
        if (n := n_columns(template)) > 1:
            message = f"the template looks at {n} columns, but a word of the format {format} has one; use a template "
            message += "for words alone, such as the presets ner and pos"
            raise OptionError(message)
        labels: Sequence[Sequence[str | None]] | None
        if has_spans(format):
            from .annotations.tools import labelled_words

            words, labels, spans = labelled_words(path, format, spans, labelled=is_labelled)
        else:
            from .spacy_docs import labelled_sentences

            column = format.partition(":")[2] or named(format).columns[0]
            words, labels = labelled_sentences(path, column, labelled=is_labelled)
        corpus = cls.encode(words, labels, template=TemplateText(template))
        return cls(corpus.core, corpus.template, format, columns=corpus.columns._replace(texts=None, spans=spans))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Corpus:
        """Open a corpus that `save` or `loglinear encode` has written to a folder; takes a few milliseconds.

        The data stays on disk and is read as needed, so it may be larger than memory. Its checksums are verified at
        first use. The corpus is pickled as the path of its folder.

        Args:
            path: the folder.

        Raises:
            DataError: not an encoded corpus, or damaged, or written by another version.
            OSError: a file cannot be read.

        Example:
            >>> import os, tempfile
            >>> from loglinear import ChainCRF, Corpus
            >>> path = os.path.join(tempfile.mkdtemp(), "train.corpus")
            >>> Corpus.encode([["Dogs", "bark"]], [["NOUN", "VERB"]], template="pos").save(path)
            >>> ChainCRF().fit(Corpus.open(path)).predict([["Dogs"]])
            [['NOUN']]
        """
        name = os.fspath(path)
        if not is_corpus(name):
            if not os.path.exists(name):
                raise FileNotFoundError(2, "No such file or directory", name)
            remedy = "create one with `loglinear encode`"
            message = f"{name}: not an encoded corpus (a folder with corpus.json); {remedy}"
            raise DataError(not_a("encoded corpus", name, remedy) or message)
        core, text = _core.Corpus.open(name)
        settings = corpus_settings(name, text, core.labels)
        format, label_type = settings.get("format", "python"), settings.get("label_type", "str")
        corpus = cls(core, settings.get("template"), format, label_type, ColumnLayout.of_settings(settings))
        corpus.path = name
        return corpus

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the corpus to a folder, atomically; replaces an existing corpus. See `open`.

        Args:
            path: the folder.

        Raises:
            DataError: the path exists and is not a corpus.
            OSError: the folder cannot be written, for example because the disk is full.
        """
        self.core.save(os.fspath(path), self.settings())

    @classmethod
    def concat(cls, corpora: Iterable[Corpus]) -> Corpus:
        """Concatenate several corpora, in memory.

        `loglinear encode` and `CorpusFile` do the same on disk.

        Raises:
            DataError: no corpora; different templates; labels that are missing in some of them, or of different types.

        Example:
            >>> from loglinear import Corpus
            >>> a, b = Corpus.encode([[["x"]]], [["A"]]), Corpus.encode([[["y"]]], [["B"]])
            >>> Corpus.concat([a, b])
            <Corpus of 2 sentences, 2 tokens, 2 attributes, 2 labels>
        """
        every = list(corpora)
        if not every:
            message = "no corpus given; give one or more"
            raise DataError(message)
        first = every[0]
        for other in every[1:]:
            other.check_template(first.template)
            other.check_label_type(first.label_type)
        check_same_columns(every, [f"corpus {number}" for number in range(len(every))])
        core = _core.Corpus.concat([corpus.core for corpus in every])
        columns = first.columns._replace(texts=same_texts(corpus.columns for corpus in every))
        return cls(core, first.template, first.format, first.label_type, columns)

    def settings(self) -> str:
        """Return what an encoded corpus says of itself, JSON: template, format, type of the labels, columns."""
        about = {"template": self.template, "format": self.format, "label_type": self.label_type}
        return json.dumps(about | self.columns.settings())

    def check_template(self, template: str | None) -> None:
        """Raise DataError if the attributes were formed by another template than this one, if there is one."""
        if template is not None and template != self.template:
            name = "the corpus" if self.path is None else self.path
            by = "contains attributes, not columns" if self.template is None else "has another template"
            message = f"{name}: {by}; leave out the template, or encode the text again"
            raise DataError(message)

    @classmethod
    def encode(
        cls,
        X: Sentences,
        y: Labels | None = None,
        *,
        template: str | None = None,
        sample_weight: Iterable[float] | None = None,
        token_weight: TokenWeights | None = None,
    ) -> Corpus:
        """Encode sentences given as Python objects.

        Args:
            X: sentences, each a sequence of tokens. With a template, a token is a str or a sequence of str, its
                columns. Without one, a token is a sequence of attribute names, or a dict of attributes as in
                python-crfsuite (number or bool: the value of attribute `key`; str: the attribute `key:value`;
                collection: its names after `key:`). The names in a set are sorted. Or a column of lists: of pandas,
                polars, pyarrow or DuckDB.
            y: a sequence of labels for each sentence; None for unlabelled data. Labels are all strings, all integers or
                all booleans; NumPy types are converted. Partial labels: None for an unknown label, a set of labels for
                one of several. Soft labels: a dict of probabilities by label, which add up to 1. Or a column of lists.
            template: name of a preset or text of a template.
            sample_weight: a weight >= 0 for each sentence.
            token_weight: for each sentence a number >= 0 for each token, or None: the cost of a wrong label in
                training, in nats; see `ChainCRF.fit`. For `MaxEnt` it is the weight of the sample.

        Raises:
            DataError: lengths differ, a value is not finite, a token or a label has an invalid type, tokens have
                different numbers of columns, a sentence or its labels are unordered (a set), or the set of a token's
                labels is empty; names the sentence.
        """
        text = template_text(template)
        X, y = as_lists(X, "X", tuples=text is not None), as_lists(y, "y")
        weights = None if sample_weight is None else checked_weights(as_lists(sample_weight, "sample_weight"))
        if weights is not None and isinstance(X, Sized) and len(weights) != len(X):
            message = f"sample_weight: {len(weights)} weights for {len(X)} sentences; give one for each sentence"
            raise DataError(message)
        costs = None
        if token_weight is not None:
            token_weight = as_lists(token_weight, "token_weight")
            check_ordered(token_weight, "token_weight", "give a sequence of numbers for each sentence")
            costs = [checked_costs(row, sentence) for sentence, row in enumerate(token_weight)]
        if isinstance(X, list) and X and y is not None:
            check_sentence(X[0], "sentence 0")  # before the labels, which are as wrong if both are columns of values
        labels = LabelNames(() if y is None else y)
        names = None if y is None else labels
        core = _core.Corpus.encode(_ordered(X, tuples=text is not None), names, weights, costs, template=text)
        return cls(core, text, "python", labels.type, ColumnLayout(n=core.notes[0], texts=core.has_texts))

    @classmethod
    def from_matrix(
        cls,
        X: Matrix,
        lengths: npt.ArrayLike,
        y: Classes | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> Corpus:
        """Make sentences from the rows of a matrix, whose columns are real-valued attributes.

        Args:
            X: one row per token, sentence after sentence, shape (n_tokens, n_columns): sparse or dense, or a table of
                pandas, polars, pyarrow or DuckDB.
            lengths: number of tokens of each sentence, shape (n_sentences,).
            y: a label for each row, all strings, all integers or all booleans; None for unlabelled data.
            names: names of the columns; by default the names that a table has, or x0, x1, ....

        Raises:
            DataError: a value is not finite, sizes do not match, two columns have the same name, or a label is partial.
        """
        import numpy as np
        import scipy.sparse

        from .frames import Frame, as_column
        from .sparse_structure import check_structure

        frame = Frame.of(X) if hasattr(X, "columns") or is_arrow(X) else None
        check_structure(X)
        matrix = scipy.sparse.csr_array(X if frame is None else frame.matrix(), dtype=np.float64)
        sizes, y = np.asarray(as_column(lengths, "lengths")), as_column(y, "y")
        if matrix.ndim != 2 or sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 0)):
            message = "X must be a matrix and lengths a sequence of whole numbers >= 0"
            raise DataError(message)
        names = frame.names if names is None and frame is not None else names
        names = [f"x{column}" for column in range(matrix.shape[1])] if names is None else list(names)
        if len(names) != matrix.shape[1]:
            message = f"{len(names)} names for {matrix.shape[1]} columns; give one name per column"
            raise DataError(message)
        labels, label_names = None, LabelNames([] if y is None else [y])
        for row_names in label_names:
            given_labels = [name for name in row_names if isinstance(name, str)]
            if len(given_labels) < len(row_names):
                message = "a row has a partial label; use Corpus.encode for partial labels"
                raise DataError(message)
            distinct = sorted({*given_labels}, key=str.encode)
            numbers = {label: number for number, label in enumerate(distinct)}
            labels = (distinct, np.array([numbers[label] for label in given_labels], np.uint32))
        core = _core.Corpus.of_matrix(
            matrix.indptr[1:].astype(np.uint64),
            matrix.indices.astype(np.uint32),
            matrix.data,
            names,
            sizes.cumsum().astype(np.uint64),
            labels,
        )
        return cls(core, None, "python", label_names.type)

    def __len__(self) -> int:
        return len(self.core)

    @property
    def shape(self) -> tuple[int]:
        """(number of sentences,), for scikit-learn's splitters."""
        return (len(self),)

    def __getitem__(self, index: Any) -> Corpus:
        """Return the sentences that an int, a slice, ints, or a mask of bools selects; names are shared."""
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]
        if isinstance(index, slice):
            chosen = list(range(*index.indices(len(self))))
        elif isinstance(index, Integral):
            chosen = [int(index)]
        else:
            chosen = list(index.tolist() if hasattr(index, "tolist") else index)
            if chosen and all(isinstance(item, bool) for item in chosen):
                if len(chosen) != len(self):
                    message = f"a mask of length {len(chosen)} for a corpus of {len(self)} sentences"
                    raise IndexError(message)
                chosen = [at for at, wanted in enumerate(chosen) if wanted]
        n = len(self)
        chosen = [at + n if at < 0 else at for at in chosen]
        if any(not 0 <= at < n for at in chosen):
            message = f"a sentence index is out of range; the corpus has {n} sentences"
            raise IndexError(message)
        return Corpus(self.core.select(chosen), self.template, self.format, self.label_type, self.columns)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to open the corpus in another process; raise TypeError for a corpus in memory."""
        if self.path is not None:
            return Corpus.open, (os.path.abspath(self.path),)
        message = (
            "a Corpus in memory cannot be sent to another process; use threads "
            "(joblib.parallel_config('threading')), pass the sentences, or save the corpus and open it"
        )
        raise TypeError(message)

    def __repr__(self) -> str:
        return f"<Corpus of {', '.join(sizes_of(self.core))}>"

    def __str__(self) -> str:
        """Return the size, and words and labels of the first sentences; a single sentence has one token in a line."""
        return f"{self!r}\n{First(self.core, self.template).text()}".rstrip()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: size and labels, and the first sentences with their labels."""
        names = [visible_name(label) for label in self.core.labels]
        rows = {"data": ", ".join(sizes_of(self.core)), "labels": listed(names, _LABELS) or "none"}
        rows["format"] = self.format if self.template is None else f"{self.format}, with a template"
        rows |= {} if self.path is None else {"folder": self.path}
        return in_notebook(facts(rows, "corpus") + First(self.core, self.template).html())

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all sentences together."""
        return self.core.n_tokens

    @property
    def n_attributes(self) -> int:
        """Number of different attributes."""
        return self.core.n_attributes

    @property
    def labels(self) -> list[Any]:
        """Distinct labels, the most frequent first, ties in byte order; empty for unlabelled data."""
        return typed([self.core.labels], self.label_type)[0]

    def gold(self) -> list[list[Any]]:
        """Return the labels of each sentence: None if unknown, a frozenset for one of several, a dict if soft.

        Raises:
            DataError: the data is not labelled.
        """
        gold = self.core.gold()
        if gold is None:
            message = "the data have no labels"
            raise DataError(message)
        return typed(gold, self.label_type)

    def true_labels(self) -> list[list[Any]]:
        """The labels of every sentence, as `gold`, after a check that each token has a single label.

        Raises:
            DataError: the data has no labels, or only part of a label is known; names sentence and token.
        """
        self.check_whole("evaluation needs complete labels; leave out such sentences")
        return self.gold()

    def known_labels(self, labels: Collection[str] | None = None) -> list[list[Any]]:
        """The labels of every sentence, as `gold`, after a check that each token has one label or none.

        Args:
            labels: of the model to compare with: the format's mark for an unknown label, such as `?` in columns, is not
                a label if the model does not have it. By default, every label counts.

        Raises:
            DataError: the data has no labels, or a token has one of several; names sentence and token.
        """
        gold = self.gold()
        mark = None if labels is None else unknown_label(self.format, labels)
        if mark is not None and mark in self.core.labels:
            gold = [[None if label == mark else label for label in row] for row in gold]
        for number, row in enumerate(gold):
            at = next((at for at, label in enumerate(row) if isinstance(label, (frozenset, dict))), None)
            if at is not None:
                message = f"sentence {number}, token {at}: the label is partial; evaluation needs single labels"
                raise DataError(message)
        if all(label is None for row in gold for label in row):
            message = "no token has a label; give labelled data"
            raise DataError(message)
        return gold

    def check_whole(self, reason: str) -> None:
        """Raise DataError if only part of a token's label is known, with the reason why that is not enough."""
        if (place := self.core.first_partial()) is not None:
            message = f"sentence {place[0]}, token {place[1]}: the label is partial; {reason}"
            raise DataError(message)

    def check_label_type(self, label_type: str) -> None:
        """Raise DataError if the labels have another type than a model's; a file has names of labels, of any type."""
        if self.label_type != label_type and self.labels and not is_format(self.format):
            message = f"the labels have type {self.label_type}, but the model has labels of type {label_type}"
            raise DataError(message)


def check_same_columns(corpora: Sequence[Corpus], names: Sequence[str]) -> None:
    """Raise DataError if corpora with these names have different numbers of columns."""
    first = next((at for at, corpus in enumerate(corpora) if corpus.columns.n), 0)
    for corpus, name in zip(corpora, names, strict=True):
        n = corpora[first].columns.n
        if corpus.columns.n not in (0, n):
            counts = f"{counted(corpus.columns.n, 'column')} besides the label, {names[first]} has {n}"
            message = f"{name}: {counts}; give data with the same columns"
            raise DataError(message)


def _ordered(X: Iterable[Any], *, tuples: bool) -> Iterator[Any]:
    """Yield sentences, after a check that they, and the tokens of each, have an order."""
    check_ordered(X, "the sentences", "give a list of sentences")
    for number, value in enumerate(X):
        sentence = as_items(value, tuples=tuples)
        if type(sentence) is not list:
            check_sentence(sentence, f"sentence {number}")
        yield sentence


def read_to_score(
    path: str, format: str, template: str | None, columns: ColumnLayout, threads: int, labels: str = "marked"
) -> Corpus:
    """Read data to compare with a model; see `Corpus.read`.

    Args:
        path: the file, or the folder of an encoded corpus.
        format: of the file.
        template: text of a template.
        columns: layout of the file; with the number of columns of the training data, if a weight is among them.
        threads: 0 for all cores.
        labels: how to read labels; by default a format's mark for an unknown label is allowed.
    """
    if is_corpus(path):
        return Corpus.read(path, template=template)
    return Corpus._of_file(path, format, template, labels, columns, threads)


def read_unlabelled(path: str, format: str, template: str | None, columns: ColumnLayout, threads: int) -> Corpus:
    """Read the tokens of a file, which may have labels; see `Corpus.read`."""
    if is_corpus(path):
        return Corpus.read(path, template=template)
    return Corpus._of_file(path, format, template, "none", columns, threads)


def labels_as(*, labelled: bool, partial: bool) -> str:
    """Return the native half's name of the way to read labels."""
    return "none" if not labelled else "partial" if partial else "whole"


def checked_costs(costs: Any, sentence: int) -> list[float] | None:
    """Return the costs of a sentence's tokens as floats, whose range the native half checks.

    Raises:
        DataError: a cost is not a number; names sentence and token.
    """
    if costs is None:
        return None
    costs = as_items(costs)
    if isinstance(costs, (str, bytes, Set, Mapping)) or not isinstance(costs, Iterable):
        message = f"token_weight has {costs!r:.60} for a sentence; give a sequence of numbers, one for each token"
        raise DataError(message)
    numbers = []
    for token, cost in enumerate(costs):
        try:
            numbers.append(float(cost))
        except (TypeError, ValueError, OverflowError):
            message = f"sentence {sentence}, token {token}: the weight {cost!r:.60} in token_weight is not a number"
            raise DataError(message) from None
    return numbers


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_some_weight(total: float, of: str = "sample", called: str = "sample_weight") -> None:
    """Raise DataError if the sum of weights is 0.

    Args:
        total: the sum.
        of: what has the weights.
        called: what the message calls the weights.
    """
    if total == 0.0:
        message = f"{called} is zero for every {of}; give a weight above 0 to the samples that count"
        raise DataError(message)


def checked_weights(weights: Iterable[float]) -> list[float]:
    """Return sample weights as floats.

    Raises:
        DataError: a weight is not a finite number of at least 0.
    """
    check_ordered(weights, "sample_weight", "give a number for each sentence")
    checked = []
    for sentence, weight in enumerate(weights):
        number = _number(weight)
        if not 0.0 <= number < math.inf:
            message = f"sentence {sentence}: weight {weight!r:.60} is not a finite number >= 0 (sample_weight)"
            raise DataError(message)
        checked.append(number)
    return checked
