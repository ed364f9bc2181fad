"""Reading for commands: templates, training data with development data, standard input."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ..data.column_layout import ColumnLayout
from ..errors import DataError, DataWarning, OptionError, TemplateError, warn
from ..text_file import read_text
from ..visible import counted, listed, visible_name
from .options import column_layout
from .output import sizes
from .wrapping import columns_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from ..data.corpus import Corpus
    from ..data.survey import Survey
    from ..models.training.chain import DevSet
    from ..models.training.classifier_start import ClassifierStart
    from ..models.training.options import DevOptions
    from ..models.training.start import Start
    from ..objectives.chain import ChainData, ChainFeatures, ChainObjective
    from ..objectives.older import OlderChain
    from .progress import Progress

__all__ = [
    "Reading",
    "check_exists",
    "guessing",
    "located",
    "naming",
    "read_template",
    "rereadable",
    "show",
]

# Characters of a line of a summary without a terminal, and of a label in it; labels that it names.
_WIDTH = 60
_LONGEST = 30
_MOST_FREQUENT = 5


@contextmanager
def naming(name: str, corpus: Corpus | None = None, paths: Sequence[str] = ()) -> Iterator[None]:
    """Put the name of a file before what is wrong with its data; name file and line in place of a sentence's number.

    Args:
        name: what messages call the data.
        corpus: the data, if they have sentences.
        paths: the files that the corpus was read from, one after the other; by default the file of this name.
    """
    import warnings

    try:
        with warnings.catch_warnings(record=corpus is not None) as caught:
            if corpus is not None:
                warnings.simplefilter("always", DataWarning)
            yield
    except DataError as error:
        message = _located(str(error), corpus, paths or [name])
        if message.startswith((name, *paths)):
            if message == str(error):
                raise
            raise DataError(message) from error
        raise DataError(located(name, message)) from error
    finally:
        for warning in caught or ():
            warn(_located(str(warning.message), corpus, paths or [name]), warning.category)


def located(path: str, message: str) -> str:
    """Return a message about a file with the file's name before it, which may begin with the number of a line."""
    from ..data.formats import file_name

    return f"{file_name(path)}{',' if message.startswith('line ') else ':'} {message}"


def _located(message: str, corpus: Corpus | None, paths: Sequence[str]) -> str:
    """Return a message with file and line in place of the first sentence in it that has a number."""
    import re

    from ..data.formats import is_corpus, is_format
    from ..data.token_lines import line_of

    place = re.search(r"\bsentence (\d+)(?:, token (\d+))?", message)
    if place is None or corpus is None or not is_format(corpus.format) or any(map(is_corpus, paths)):
        return message
    line = line_of(paths, corpus.format, int(place[1]), int(place[2] or 0), corpus.columns)
    return message if line is None else f"{message[: place.start()]}{line[0]}, line {line[1]}{message[place.end() :]}"


@contextmanager
def guessing(format: str, reason: str | None, path: str, *, labels_text: bool = False) -> Iterator[None]:
    """Say after what is wrong with a file in which format it was read, and why, if nobody asked for this format.

    Args:
        format: of the file.
        reason: why the file is read in this format; None if it was asked for.
        path: of the file, which may be an export of an annotation tool.
        labels_text: whether the command labels raw text with --text, and reads no exports.
    """
    try:
        yield
    except DataError as error:
        kinds = (": the file is ", ": a folder, ", "the compressed data is damaged")
        if reason is None or any(kind in str(error) for kind in kinds):
            raise
        from ..data.annotations.tools import detected_format

        tool = detected_format(path) if os.path.isfile(path) else None
        if tool is not None:
            remedy = "give its texts one per line, and add --text" if labels_text else f"add --format {tool}"
            message = f"{path}: this looks like texts with labelled spans ({tool}); {remedy}"
            raise DataError(message) from error
        others = "--format sets another" + (", --text labels raw text" if labels_text else "")
        message = f"{error} (read as {format}, {reason}; {others})"
        raise DataError(message) from error


@contextmanager
def rereadable(path: str) -> Iterator[str]:
    """Yield the path of a file that can be read more than once: itself, or a temporary copy of standard input.

    What is wrong with the data of the copy is said of <stdin>.
    """
    if path != "-":
        yield path
        return
    import os
    import shutil
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "stdin")
        with open(copy, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield copy
        except DataError as error:
            raise DataError(str(error).replace(copy, "<stdin>")) from error


def read_template(preset: str | None, template: str | None) -> str | None:
    """Return the text of a preset, or of the template in a file; None without either."""
    from ..data import templates
    from ..data.formats import n_columns

    if template is None:
        return templates.preset(preset) if preset is not None else None
    try:
        text = read_text(template).decode("utf-8-sig")
        text = templates.with_lexicons(text, folder=os.path.dirname(template) or ".")
        n_columns(text)
        return text
    except TemplateError as error:
        raise TemplateError(located(template, str(error).removeprefix("template "))) from error
    except UnicodeDecodeError as error:
        message = f"{template}: invalid UTF-8 in the template, byte {error.start}; convert the file to UTF-8"
        raise OptionError(message) from error


def check_exists(path: str) -> None:
    """Raise FileNotFoundError if there is no such file; patterns and addresses are not tested."""
    if path != "-" and not any(mark in path for mark in ("*", "?", "[", "://")) and not os.path.lexists(path):
        raise FileNotFoundError(2, "No such file or directory", path)


class Reading(NamedTuple):
    """How a command reads its files of sentences.

    Attributes:
        format: see `Corpus.read`; None for the format that the extension of a file tells.
        template: text of a template.
        partial: allow partial labels.
        threads: 0 for all cores.
        columns: layout of column files.
        labels: the native half's name of another way to read labels: "marked" allows the mark that a format has for an
            unknown label, such as `_` in CoNLL-U, and "open" `?` as well; None for labels that are whole, or partial.
    """

    format: str | None = None
    template: str | None = None
    partial: bool = False
    threads: int = 0
    columns: ColumnLayout = ColumnLayout()
    labels: str | None = None

    @classmethod
    def of(
        cls, arguments: Namespace, path: str, *, partial: bool = False, start: Start | ClassifierStart | None = None
    ) -> Reading:
        """Return what the flags of a command say; a model to start at has the template for data without another one.

        Args:
            arguments: of the command.
            path: the training data, or their first file.
            partial: allow partial labels.
            start: model to start at.
        """
        from ..data.formats import check_partial, format_of, named

        check_exists(path)
        check_partial(format_of(path, arguments.format), path, partial=partial)
        template, format = read_template(arguments.preset, arguments.template), arguments.format
        if template is None and start is not None and named(format_of(path, format)).template != "refused":
            template = start.template
        columns = column_layout(arguments, ColumnLayout())
        return cls(format, template, partial, arguments.threads, columns)

    def corpus(self, path: str, usual: str = "columns") -> Corpus:
        """Return the sentences of a file, in the usual format where neither a flag nor the extension tells another."""
        from ..data.corpus import labels_as, read_to_score
        from ..data.formats import format_of, is_corpus
        from ..data.templates import template_text
        from .layout import refuse_json_lines, refuse_texts, start_of

        format = format_of(path, self.format, usual)
        reason = None if self.format is not None or is_corpus(path) else "the default"
        if reason is not None and format_of(path, default="") == format:
            reason = "by its extension"
        if format == "columns" and not is_corpus(path):
            refuse_json_lines(path, start_of(path))
            if self.format is None and self.columns.separator is None:
                refuse_texts(path, start_of(path))
            if self.template is None:
                message = (
                    "columns need a template: add --preset ner, for instance (`loglinear presets` lists them), or "
                    "--template FILE"
                )
                raise OptionError(message)
        with guessing(format, reason, path):
            labels = None if self.partial else self.labels
            labels = labels or labels_as(labelled=True, partial=self.partial)
            return read_to_score(path, format, template_text(self.template), self.columns, self.threads, labels)

    def layout_of(self, path: str) -> ColumnLayout:
        """Return the layout of training data that others read, with the number of columns if they have weights."""
        from ..data.column_layout import Noticed
        from ..data.parts import expanded
        from .layout import start_of

        if self.columns.weight is None:
            return self.columns
        noticed = Noticed.of_start(start_of(expanded([path])[0]), self.columns)
        return self.columns.seen(noticed)._replace(n=max(noticed.n_columns - 2, 0))

    def beside(self, trained: ColumnLayout) -> Reading:
        """Return how to read development data, which may have the weights of the training data or lack them.

        Args:
            trained: layout of the training data.
        """
        n = 0 if trained.weight is None else trained.n
        return self._replace(columns=self.columns._replace(separator=trained.separator, weight=trained.weight, n=n))

    def corpora(self, paths: Sequence[str]) -> Corpus:
        """Return the sentences of files one after the other; the later ones have the format and layout of the first.

        Raises:
            DataError: bad content; or files that do not go together.
        """
        from ..data.corpus import Corpus, check_same_columns
        from ..data.formats import file_name

        first = self.corpus(paths[0])
        others = self._replace(columns=self.columns._replace(separator=first.columns.separator))
        rest = [others.corpus(path, first.format) for path in paths[1:]]
        check_same_columns([first, *rest], [*map(file_name, paths)])
        with naming(" ".join(paths)):
            return Corpus.concat([first, *rest]) if rest else first

    def chain(
        self,
        paths: Sequence[str],
        features: ChainFeatures,
        progress: Progress,
        older: OlderChain | None = None,
        *,
        name: str | None = None,
    ) -> ChainObjective:
        """Return the training data in files, after a summary of them.

        Args:
            paths: of the files.
            features: which features the chain has.
            progress: where the summary goes.
            older: chain whose features and labels are features and labels as well.
            name: what the summary calls the files; their paths by default.

        Raises:
            DataError: a file cannot be read, or there is nothing to learn.
            OptionError: the features contradict each other.
        """
        from ..data.survey import Survey
        from ..objectives.chain import ChainObjective
        from ..objectives.invalid_labels import check_policy

        check_policy(features.invalid_labels, features.constraints)
        corpus, path = self.corpora(paths), " ".join(paths)
        show(name or path, Survey.of(corpus), progress)
        with naming(path, corpus, paths):
            return ChainObjective(corpus, features, threads=self.threads, older=older)

    def dev(self, path: str | None, data: ChainData, use: DevOptions | None = None) -> DevSet | None:
        """Return development data, after a look for labels that the training data lack; None without a path.

        Args:
            path: of the file.
            data: the training data.
            use: use of the development data.

        Raises:
            DataError: the file cannot be read, or the training data have none of its labels.
        """
        from ..data.formats import unknown_label
        from ..models.training.chain import DevSet
        from ..models.training.options import DevOptions

        if path is None:
            return None
        from .layout import note_labelled_columns, note_unlabelled

        reading = self.beside(data.columns)._replace(labels="marked")
        corpus = reading.corpus(path, data.format)
        if path != "-" and unknown_label(corpus.format, data.label_names) in corpus.core.labels:
            corpus = reading._replace(labels="partial").corpus(path, data.format)
        with naming(path, corpus):
            scored = DevSet(corpus, use or DevOptions(), threads=self.threads)
        scored.check_known(data.label_names, path, least=0.0)
        note_labelled_columns(path, corpus.columns, data.columns)
        if corpus.core.first_partial() is not None:
            n_unknown = sum(labels.count(None) for labels in corpus.gold())
            note_unlabelled(path, n_unknown, corpus, sentences=False)
        return scored


def show(name: str, survey: Survey, progress: Progress, *, are_samples: bool = False) -> None:
    """Show a summary of training data: sentences, tokens, attributes or words, the most frequent labels.

    Args:
        name: what the summary calls the data.
        survey: what they consist of.
        progress: where the summary goes.
        are_samples: whether each token is a sample, so that sentences do not count.

    Raises:
        DataError: no training can teach a model anything.
    """
    if survey.nothing_to_learn is not None:
        message = f"{name}: {survey.nothing_to_learn}"
        raise DataError(message)
    units = {"sentence": survey.n_sentences, "token": survey.n_tokens}
    if are_samples:
        units = {"text" if survey.holds_texts else "sample": survey.n_tokens}
    columns = f" of {survey.columns.describe(survey.n_read)}" if survey.format == "columns" and survey.columns.n else ""
    attributes = counted(survey.n_attributes, "word" if survey.holds_texts else "attribute") + columns
    for line in _summary(name, units, attributes, survey.labels, survey.counts):
        progress.note(line)


def _summary(
    name: str,
    units: Mapping[str, int],
    attributes: str,
    labels: Sequence[str],
    counts: Sequence[int],
) -> list[str]:
    """Return lines on what labelled data consist of, wrapped to the width of the terminal.

    Args:
        name: what the summary calls the data.
        units: numbers of what the data are divided into, by noun.
        attributes: number of attributes.
        labels: names of the labels, the most frequent first.
        counts: how often each label occurs; empty if not counted.
    """
    import sys
    from textwrap import wrap

    width = columns_of(sys.stderr) if sys.stderr.isatty() else _WIDTH
    text = counted(len(labels), "label")
    if counts:
        total = max(sum(counts), 1)
        # A label and its share stay on one line.
        pairs = [f"{_shortened(label)}\0{_share(n / total)}" for label, n in zip(labels, counts, strict=True)]
        text += f": {listed(pairs, _MOST_FREQUENT)}"
    lines = wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
    return [
        sizes(name, units),
        *wrap(attributes, width, initial_indent="  ", subsequent_indent="    "),
        *(line.replace("\0", " ") for line in lines),
    ]


def _share(share: float) -> str:
    """Return a share as a percentage without a blank, which a line may not be broken at."""
    percentage = 100.0 * share
    return f"{percentage:.0f}\0%" if percentage >= 10.0 else f"{percentage:.2g}\0%"


def _shortened(label: str) -> str:
    """Return a label that fits on a line with its share."""
    label = visible_name(label)
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 3]}..."
