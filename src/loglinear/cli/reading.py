"""Reading for commands: models, templates, training data with development data."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import DataError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..data.corpus import Corpus
    from ..models.files.chain import ChainModel
    from ..models.training.chain import DevSet
    from ..models.training.options import DevOptions
    from ..models.training.start import Start
    from .progress import Progress

__all__ = [
    "check_joint",
    "default_scheme",
    "model_format",
    "naming",
    "open_model",
    "read_sentences",
    "read_template",
    "rereadable",
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

        from ..data.corpus import is_corpus
        from ..data.formats import is_format, named
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


def open_model(path: str) -> tuple[ChainModel, dict[str, Any]]:
    """Open the model of a chain or a classifier; return it with its settings."""
    from ..models.files import chain as chain_file

    return chain_file.open_model(path)


def check_joint(model: ChainModel, settings: dict[str, Any], option: str) -> None:
    """Raise OptionError if an option asks for probabilities of classes that a model scores apart from one another."""
    if settings.get("multi_class") == "ovr" and len(model.labels) > 2:
        message = f"one-vs-rest models score each class apart and have no joint probabilities; leave out {option}"
        raise OptionError(message)


def default_scheme(format: str) -> str | None:
    """Return `none` for a format whose samples stand alone, so that their labels form no chunks; else None."""
    from ..data.formats import FORMATS

    return "none" if format in FORMATS and FORMATS[format].holds != "sentences" else None


def model_format(path: str, format: str | None, settings: dict[str, Any], template: str | None) -> str:
    """Return the format in which a model reads a file.

    Args:
        path: of the file.
        format: the format asked for.
        settings: of the model.
        template: of the model.

    Returns:
        `corpus` for an encoded corpus; the format asked for; else the format of the file's extension, if the model can
        read it; else the format of the training data.

    Raises:
        OptionError: there is no such format, or the model cannot read it.
    """
    from ..data.corpus import is_corpus
    from ..data.formats import format_of, named, readable

    asked = None if format is None else named(format)
    if is_corpus(path):
        return "corpus"
    if format is not None and asked is not None:
        if template is not None and asked.template == "refused":
            message = (
                f"--format {format}: such files hold attributes, and the model forms them with its template; give it "
            )
            message += "a file of the format that it was trained on"
            raise OptionError(message)
        return format
    trained = str(settings.get("format", "columns"))
    trained = "jsonl" if trained == "python" else trained
    found = format_of(path, default=trained)
    # conllu:xpos is a kind of conllu. Texts are read by a vectorizer, which knows no other format.
    same = trained.partition(":")[0] == found or trained == "text"
    return trained if same or not readable(found, template) else found


def read_template(preset: str | None, template: str | None) -> str | None:
    """Return the text of a preset, or of the template in a file; None without either."""
    from ..data import templates

    if template is None:
        return templates.preset(preset) if preset is not None else None
    try:
        with open(template, encoding="utf-8-sig") as file:
            return templates.TemplateText(file.read())
    except UnicodeDecodeError as error:
        message = f"{template}: invalid UTF-8 in a template ({error.reason} at byte {error.start})"
        raise OptionError(message) from error


def read_sentences(
    train: str,
    dev: str | None,
    *,
    preset: str | None,
    template: str | None,
    format: str | None,
    threads: int,
    progress: Progress,
    use: DevOptions | None = None,
    partial: bool = False,
    start: Start | None = None,
    name: str | None = None,
) -> tuple[Corpus, DevSet | None]:
    """Read the training data of a chain and, if there are any, the development data; say what was found.

    The training data's name in the message is their path, unless another one is given.
    """
    from ..data.corpus import Corpus
    from ..data.formats import format_of, named
    from ..models.training.chain import DevSet
    from ..models.training.options import DevOptions
    from .output import counted, say

    text = read_template(preset, template)
    if text is None and start is not None and named(format_of(train, format)).template != "refused":
        text = start.template
    corpus = Corpus.read(train, format=format, template=text, partial=partial, threads=threads)
    progress.note(
        f"{name or train}: {counted(len(corpus), 'sentence')}, {counted(corpus.n_tokens, 'token')}, "
        f"{counted(corpus.n_attributes, 'attribute')}, {counted(len(corpus.labels), 'label')}"
    )
    if start is not None:
        with naming(train):
            start.check(corpus)
    if dev is None:
        return corpus, None
    dev_format = format_of(dev, format, corpus.format)
    found = Corpus.read(dev, format=dev_format, template=text, partial=partial, threads=threads)
    with naming(dev):
        scored = DevSet(found, use or DevOptions(), threads=threads)
    unknown = scored.unknown_labels(corpus.labels)
    if unknown:
        say(f"warning: {dev} has labels that {train} has not, which can never be predicted: {', '.join(unknown)}")
    return corpus, scored
