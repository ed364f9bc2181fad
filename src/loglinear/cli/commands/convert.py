"""Convert model files, or annotated texts, between the formats of loglinear and other programs.

Models. `tag`, `evaluate`, `inspect` and `train --start` also read models of these programs directly; converted models
open faster. Models that the other program cannot represent, such as second-order chains, are rejected with the reason.

  crfsuite     CRFsuite, python-crfsuite and sklearn-crfsuite; without the template, which these programs do not have
  wapiti       Wapiti; the template must follow Wapiti's rules (first line #!wapiti)
  crf++        CRF++, binary; crf++-text for its text format; weights are rounded to about 7 digits
  uai          networks of `structure`: text with tables of factors, which inference programs read; variables and states
               have numbers, in the order in which `inspect` lists them
  loglinear    loglinear's own

Texts with labelled spans. The content shows which of these formats a file has, unless --from names it.

  doccano       JSON lines
  label-studio  JSON or JSON-MIN; tasks with predictions are written, for the import of pre-annotations
  prodigy       JSON lines
  brat          NAME.ann with NAME.txt, or a folder with a pair for each text
  webanno       INCEpTION's WebAnno TSV 3, or a folder with a file for each text
  columns       word TAB label; conll2002 and conll2003 have blanks between the columns, as INCEpTION expects

Column files do not say where blanks were: their words are written with single blanks between them.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from ...errors import OptionError
from ...models.files.schema import PROGRAMS
from ..inputs import Inputs, add_inputs, is_model
from ..kinds import opened
from ..options import add_spans
from ..output import say
from ..places import EXTENSIONS
from ..reading import check_exists

EXAMPLE = """example: loglinear convert usaddr.crfsuite usaddr.loglinear
         loglinear convert export.jsonl train.txt
         loglinear convert train.txt tasks.json --to label-studio
         loglinear convert survey.loglinear survey.uai"""
READS: tuple[str, ...] = ("model",)
WRITES: tuple[str, ...] = ("output",)

# Formats of texts by the extension of the file to write; other extensions stand for several formats.
_TEXTS = {".txt": "columns", ".bio": "columns", ".conll": "conll2002", ".json": "label-studio", ".ann": "brat"}


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    from ...data.annotations.tools import READERS, TO_COLUMNS

    inputs = Inputs("MODEL FILE", model=True, data="output", flag="--output")
    what = "model file, or file of texts, in any of these formats"
    add_inputs(parser, inputs, "output file; - for stdout", model=what)
    texts = (*READERS, *TO_COLUMNS)
    source = "format of the texts, as above (default: what their content shows)"
    parser.add_argument("--from", dest="source", choices=texts, metavar="NAME", help=source)
    extensions = ".crfsuite, .wapiti, .uai, .loglinear, .txt, .conll, .json or .ann"
    text = f"format of FILE, as above (default: from its extension {extensions})"
    parser.add_argument("--to", choices=(*PROGRAMS, "uai", "loglinear", *texts), metavar="NAME", help=text)
    parser.add_argument("--scheme", metavar="NAME", help="tagging scheme of column files (default: BIO)")
    add_spans(parser)


def run(arguments: Namespace) -> None:
    """Convert."""
    check_exists(arguments.model)
    source = _source(arguments)
    if source is not None:
        _convert_texts(arguments, source)
        return
    _leave_out(
        arguments, ("tokenizer", "scheme", "overlaps", "widen"), "is for texts with labelled spans, not for models"
    )
    format = arguments.to or EXTENSIONS.get(os.path.splitext(arguments.output)[1])
    if format is None or format not in (*PROGRAMS, "uai", "loglinear"):
        if is_model(arguments.model):
            formats = ", ".join(["loglinear", *PROGRAMS, "uai"])
            message = f"{arguments.model}: a model, not texts with labelled spans; add --to with a format of models "
            message += f"({formats}), or label texts with `loglinear tag --text`"
            raise OptionError(message)
        if arguments.to is not None or os.path.splitext(arguments.output)[1] in _TEXTS:
            from ...data.annotations.tools import READERS, TO_COLUMNS

            names = ", ".join([*READERS, *TO_COLUMNS])
            message = f"{arguments.model}: the format of the texts is not known; name it with --from ({names}), or "
            message += "export the texts in one of these formats"
            raise OptionError(message)
        message = f"{arguments.output}: unknown model format; add --to, for example --to crf++"
        raise OptionError(message)
    opened(arguments.model).convert(arguments.output, format)


def _source(arguments: Namespace) -> str | None:
    """Return the format of the texts to convert; None for a model."""
    from ...data.annotations.tools import READERS, TO_COLUMNS, detected_format, looks_like_columns

    if arguments.source is not None:
        return str(arguments.source)
    if arguments.model == "-" or is_model(arguments.model):
        return None
    format = detected_format(arguments.model)
    if format is None and os.path.isfile(arguments.model) and looks_like_columns(arguments.model):
        return "columns"
    return "columns" if format is None and arguments.to in (*READERS, *TO_COLUMNS) else format


def _convert_texts(arguments: Namespace, source: str) -> None:
    """Write texts in another format."""
    from ...data.annotations.tools import TO_COLUMNS, read_annotations, write_annotations
    from ...visible import counted

    target = _target(arguments)
    if target not in TO_COLUMNS:
        names = ("scheme", "overlaps", "widen", *(() if target == "webanno" else ("tokenizer",)))
        _leave_out(arguments, names, f"is for files with a token in each line, and {target} has spans of characters")
    _check_pairs(arguments, source, target)
    texts = read_annotations(arguments.model, source)
    if source in TO_COLUMNS and target not in TO_COLUMNS:
        say(f"note: {arguments.model}: the words are written with single blanks between them")
    write_annotations(
        texts,
        arguments.output,
        target,
        tokenizer=arguments.tokenizer,
        scheme=arguments.scheme or "BIO",
        overlaps=arguments.overlaps or "refuse",
        widen=bool(arguments.widen),
    )
    if arguments.output != "-":
        n_spans = sum(len(text.spans) for text in texts)
        say(f"wrote {arguments.output}: {counted(len(texts), 'text')}, {counted(n_spans, 'labelled span')} ({target})")


def _leave_out(arguments: Namespace, names: Sequence[str], reason: str) -> None:
    """Raise OptionError for the first of some options that is given."""
    for name in names:
        if getattr(arguments, name) is not None:
            message = f"--{name} {reason}; leave it out"
            raise OptionError(message)


def _check_pairs(arguments: Namespace, source: str, target: str) -> None:
    """Raise OptionError if a file of a pair of brat would be overwritten that is read, or the other way round."""
    read, written = _files(arguments.model, source), _files(arguments.output, target)
    if same := sorted(read & written):
        name = os.path.basename(same[0])
        message = f"{arguments.output}: {name} would be overwritten, which is read; choose another name"
        raise OptionError(message)


def _files(path: str, format: str) -> set[str]:
    """Return the files of texts in a format, or their folder; none for standard input and output."""
    if path == "-":
        return set()
    is_pair = format == "brat" and not os.path.isdir(path)
    root, extension = os.path.splitext(path)
    return {os.path.realpath(root + end) for end in ((".txt", ".ann") if is_pair else (extension,))}


def _target(arguments: Namespace) -> str:
    """Return the format to write texts in."""
    from ...data.annotations.tools import READERS, TO_COLUMNS
    from ...data.formats import uncompressed

    target = arguments.to or _TEXTS.get(os.path.splitext(uncompressed(arguments.output))[1])
    if target is None:
        choices = ", ".join([*READERS, *TO_COLUMNS])
        message = f"{arguments.output}: its name does not say the format; add --to with one of {choices}"
        raise OptionError(message)
    if target not in READERS and target not in TO_COLUMNS:
        message = f"{arguments.model}: texts with labelled spans, not a model; --to {target} is for models"
        raise OptionError(message)
    return str(target)
