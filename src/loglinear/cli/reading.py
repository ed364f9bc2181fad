"""Reading for commands: templates, training data with development data, standard input."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ..errors import DataError, OptionError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from ..data.corpus import Corpus
    from ..models.training.chain import DevSet
    from ..models.training.options import DevOptions
    from ..models.training.start import Start
    from ..objectives.chain import ChainData, ChainFeatures, ChainObjective
    from .progress import Progress

__all__ = [
    "Reading",
    "naming",
    "read_template",
    "rereadable",
    "sizes_of_sentences",
]


@contextmanager
def naming(path: str, format: str | None = None) -> Iterator[None]:
    """Put the name of a file before what is wrong with its data, and the line, if a message begins with the sentence.

    Args:
        path: the file.
        format: its format, if it has sentences.
    """
    try:
        yield
    except DataError as error:
        if str(error).startswith(path):
            raise
        import re

        from ..data.formats import is_corpus, is_format, named
        from ..data.lines import file_name, line_of

        has_lines = format is not None and is_format(format) and not is_corpus(path)
        place = re.match(r"sentence (\d+)(?:, token (\d+))?", str(error)) if has_lines else None
        line = place and line_of(path, named(str(format)), int(place[1]), int(place[2] or 0))
        message = f"{file_name(path)}{f', line {line}' if line else ''}: {error}"
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

    if template is None:
        return templates.preset(preset) if preset is not None else None
    try:
        with open(template, encoding="utf-8-sig") as file:
            return templates.TemplateText(file.read())
    except UnicodeDecodeError as error:
        message = f"{template}: invalid UTF-8 in the template, byte {error.start}; convert the file to UTF-8"
        raise OptionError(message) from error


class Reading(NamedTuple):
    """How a command reads its files of sentences.

    Attributes:
        format: see `Corpus.read`; None for the format that the extension of a file tells.
        template: text of a template.
        partial: allow partial labels.
        threads: 0 for all cores.
    """

    format: str | None = None
    template: str | None = None
    partial: bool = False
    threads: int = 0

    @classmethod
    def of(cls, arguments: Namespace, path: str, *, partial: bool = False, start: Start | None = None) -> Reading:
        """Return what the flags of a command say; a model to start at has the template for data without another one.

        Args:
            arguments: of the command.
            path: the training data, or their first file.
            partial: allow partial labels.
            start: model to start at.
        """
        from ..data.formats import format_of, named

        template, format = read_template(arguments.preset, arguments.template), arguments.format
        if template is None and start is not None and named(format_of(path, format)).template != "refused":
            template = start.template
        return cls(format, template, partial, arguments.threads)

    def corpus(self, path: str, usual: str = "columns") -> Corpus:
        """Return the sentences of a file, in the usual format where neither a flag nor the extension tells another."""
        from ..data.corpus import Corpus
        from ..data.formats import format_of

        format = format_of(path, self.format, usual)
        return Corpus.read(path, format=format, template=self.template, partial=self.partial, threads=self.threads)

    def chain(
        self, path: str, features: ChainFeatures, progress: Progress, *, name: str | None = None
    ) -> ChainObjective:
        """Return the training data in a file, after a line on their sizes.

        Args:
            path: of the file.
            features: which features the chain has.
            progress: where the line goes.
            name: what the line calls the file; its path by default.
        """
        from ..objectives.chain import ChainObjective

        corpus = self.corpus(path)
        progress.note(sizes_of_sentences(name or path, len(corpus), corpus))
        with naming(path, corpus.format):
            return ChainObjective(corpus, features, threads=self.threads)

    def dev(self, path: str | None, data: ChainData, train: str, use: DevOptions | None = None) -> DevSet | None:
        """Return development data, after a warning of labels that the training data lack; None without a path.

        Args:
            path: of the file.
            data: the training data.
            train: what messages call the training data.
            use: use of the development data.
        """
        from ..models.training.chain import DevSet
        from ..models.training.options import DevOptions
        from .output import say

        if path is None:
            return None
        corpus = self.corpus(path, data.format)
        with naming(path):
            scored = DevSet(corpus, use or DevOptions(), threads=self.threads)
        if unknown := scored.unknown_labels(data.labels):
            say(f"warning: {path}: labels missing from {train} are never predicted: {', '.join(unknown)}")
        return scored


def sizes_of_sentences(name: str, n_sentences: int, data: Corpus | ChainData) -> str:
    """Return a line on the sizes of training data."""
    from .output import sizes

    numbers = {"sentence": n_sentences, "token": data.n_tokens, "attribute": data.n_attributes}
    return sizes(name, numbers | {"label": len(data.labels)})
