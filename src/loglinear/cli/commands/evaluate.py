"""Compare a model's labels with the labels in a file: accuracy; precision, recall and F of chunks or of labels.

For the model of a network: the log-likelihood of a table.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ...errors import OptionError
from ...models.settings import kind_of
from ..options import add_format, add_json, add_model, add_threads
from ..output import say
from ..reading import model_format, naming, open_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...metrics import Evaluation
    from ...models.chain_file import ChainModel

    Sequences = Sequence[Sequence[str]]

EXAMPLE = """example: loglinear evaluate --model chunker.loglinear test.txt
         loglinear evaluate --model chunker.loglinear test.txt --output - | perl conlleval.pl"""


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_model(parser)
    parser.add_argument("file", metavar="FILE", help="labelled sentences, or a table; - for stdin")
    add_json(parser)
    output = (
        "file to write columns to as conlleval reads them: the token's columns, or its number where the format has "
        "none, gold label, predicted label; for - to stdout, and the scores to stderr"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help=output)
    mode = "how chunks are read: conlleval (the default), malformed ones too; strict, only well-formed ones"
    parser.add_argument("--mode", default="conlleval", help=mode)
    scheme = (
        "tagging scheme: IOB1, IOB2, IOE2, IOBES, BILOU, BMES, or none for no chunks; by default found in the labels"
    )
    parser.add_argument("--scheme", metavar="NAME", help=scheme)
    add_format(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Evaluate."""
    if kind_of(arguments.model) == "network":
        from .. import networks

        networks.evaluate(arguments)
        return
    from ...data.writing import check_writable, write_output
    from ...metrics import evaluate
    from ...schemes import checked_scheme

    model, settings = open_model(arguments.model)
    format = model_format(arguments.file, arguments.format, settings, model.template)
    scheme = arguments.scheme or ("none" if format in ("text", "svmlight") else None)
    checked_scheme((), scheme or "none", arguments.mode)
    if arguments.output and format == "columns" and arguments.file == "-":
        message = "--output reads columns twice, which standard input does not allow; save it in a file first"
        raise OptionError(message)
    if arguments.output not in (None, "-"):
        check_writable(arguments.output)
    gold, predicted = _texts(arguments) if format == "text" else _sentences(arguments, model, format)
    scores = evaluate(gold, predicted, scheme=scheme, mode=arguments.mode)
    if arguments.output:
        lines = _tagged(arguments, model) if format == "columns" else _numbered(gold, predicted, flat=scheme == "none")
        write_output(arguments.output, lines)
    shown = _shown(scores, samples=settings.get("model") == "maxent", as_json=arguments.json)
    print(shown, file=sys.stderr if arguments.output == "-" else sys.stdout)


def _sentences(arguments: Namespace, model: ChainModel, format: str) -> tuple[Sequences, Sequences]:
    """Return the gold and the predicted labels of sentences."""
    from ...data.corpus import Corpus
    from ...data.templates import TemplateText

    template = None if model.template is None else TemplateText(model.template)
    corpus = Corpus.read(arguments.file, format=format, template=template, threads=arguments.threads)
    with naming(arguments.file):
        gold = corpus.true_labels()
    unknown = sorted(set(corpus.labels) - set(model.labels))
    if unknown:
        names = ", ".join(unknown)
        say(f"warning: {arguments.file} has labels that the model does not know, which count as missed: {names}")
    return gold, model.predict(corpus.core, threads=arguments.threads)


def _texts(arguments: Namespace) -> tuple[Sequences, Sequences]:
    """Return the gold and the predicted labels of texts, each a sequence of its own."""
    from ...data.texts import read
    from ...models.text_classifier import TextClassifier

    found = read(arguments.file)
    predicted = TextClassifier.load(arguments.model).predict(found.texts)
    return [[label] for label in found.labels or []], [[label] for label in predicted]


def _tagged(arguments: Namespace, model: ChainModel) -> bytes:
    """Return the lines of a column file with the predicted labels behind them, columns between single blanks."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tagged")
        model.tag_file(arguments.file, path, format="columns", threads=arguments.threads)
        with open(path, "rb") as file:
            return re.sub(rb"[ \t]+", b" ", file.read())


def _numbered(gold: Sequences, predicted: Sequences, *, flat: bool) -> bytes:
    """Return a line for each token: its number in the sentence, its gold and its predicted label.

    Args:
        gold: sequences of labels.
        predicted: as many, of the same lengths.
        flat: whether each sequence is a sample by itself: samples are numbered, without blank lines between them.
    """
    lines, number = [], 0
    for pair in zip(gold, predicted, strict=True):
        number = number if flat else 0
        for cells in zip(*pair, strict=True):
            number += 1
            # A label with blanks would be several columns.
            labels = (re.sub(r"\s", "_", cell) or "_" for cell in cells)
            lines.append(" ".join([str(number), *labels]))
        if not flat:
            lines.append("")
    return "".join(line + "\n" for line in lines).encode()


def _shown(scores: Evaluation, *, samples: bool, as_json: bool) -> str:
    """Return the scores as JSON, or as tables that fit the terminal."""
    if as_json:
        return json.dumps(scores.to_dict(samples=samples))
    return scores.report(samples=samples, width=shutil.get_terminal_size().columns)
