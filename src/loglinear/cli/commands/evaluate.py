"""Compare a model's labels with the labels in a file: accuracy; precision, recall and F of chunks or of labels.

With --calibration also: how often labels and spans are right, by how sure the model is of them.
For the model of a network: the log-likelihood of a table.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from ...errors import OptionError
from ...models.files.settings import kind_of
from ..answers import of_sentences, of_texts
from ..options import add_format, add_json, add_model, add_scheme, add_threads
from ..output import say
from ..reading import check_joint, default_scheme, model_format, open_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...calibration import Calibration
    from ...metrics import Evaluation
    from ...models.files.chain import ChainModel

    Sequences = Sequence[Sequence[str]]

EXAMPLE = """example: loglinear evaluate --model chunker.loglinear test.txt
         loglinear evaluate --model chunker.loglinear test.txt --output - | perl conlleval.pl"""
# Arguments that are files to read, and files to write.
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output", "calibration")


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
    add_scheme(parser)
    calibration = (
        "add how often tokens and spans are right, by how sure the model is of them, and the expected calibration "
        "error; draw it to PICTURE, .svg, .png or .pdf, with matplotlib; stands behind FILE"
    )
    parser.add_argument("--calibration", nargs="?", const="", metavar="PICTURE", help=calibration)
    add_format(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Evaluate."""
    if kind_of(arguments.model) == "network":
        from .. import networks

        networks.evaluate(arguments)
        return
    from ...data.texts import read
    from ...data.writing import write_output
    from ...metrics import evaluate
    from ...schemes import checked_scheme

    model, settings = open_model(arguments.model)
    format = model_format(arguments.file, arguments.format, settings, model.template)
    scheme = arguments.scheme or default_scheme(format)
    checked_scheme((), scheme or "none", arguments.mode)
    if arguments.output and format == "columns" and arguments.file == "-":
        message = "--output reads columns twice, which standard input does not allow; save it in a file first"
        raise OptionError(message)
    if arguments.calibration is not None:
        _check_calibration(arguments, model, settings)
    samples = settings.get("model") == "maxent"
    spans = scheme != "none" and not samples
    given = {"sure": arguments.calibration is not None}
    answers = (
        of_texts(read(arguments.file), arguments.model, **given)
        if format == "text"
        else of_sentences(arguments.file, model, format, spans=spans, threads=arguments.threads, **given)
    )
    gold, predicted = answers.gold, answers.predicted
    scores = evaluate(gold, predicted, scheme=scheme, mode=arguments.mode)
    if hint := _scheme_hint(scores):
        say(f"warning: {arguments.file}: {hint}")
    calibrations = answers.calibrations(samples=samples)
    if arguments.calibration:
        from ...report.reliability import reliability_diagram

        write_output(arguments.calibration, reliability_diagram(calibrations, arguments.calibration))
    if arguments.output:
        lines = _tagged(arguments, model) if format == "columns" else _numbered(gold, predicted, flat=scheme == "none")
        write_output(arguments.output, lines)
    shown = _shown(scores, calibrations, samples=samples, as_json=arguments.json)
    print(shown, file=sys.stderr if arguments.output == "-" else sys.stdout)


def _check_calibration(arguments: Namespace, model: ChainModel, settings: dict[str, Any]) -> None:
    """Raise an error if the model has no probabilities to compare, or the picture cannot be drawn."""
    check_joint(model, settings, "--calibration")
    if arguments.mode != "conlleval":
        message = f"--calibration: the probabilities of spans are for mode conlleval; leave out --mode {arguments.mode}"
        raise OptionError(message)
    if arguments.calibration:
        from ...report.figure import check_figure

        check_figure(arguments.calibration)


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


def _scheme_hint(scores: Evaluation) -> str | None:
    """Return advice if chunks are there, and none of them follows the scheme that is read strictly."""
    from ...schemes import found_scheme

    gold = {label for label, score in scores.per_label.items() if score["support"]}
    if scores.mode != "strict" or not gold - {"O"} or any(score["support"] for score in scores.per_type.values()):
        return None
    found = found_scheme(gold, "strict")
    remedy = "leave out --mode strict to read malformed chunks too"
    if found not in (None, scores.scheme):
        remedy = f"the labels look like {found}: leave out --scheme"
    return f"no chunk follows the scheme {scores.scheme} strictly, so that all chunks' scores are 0; {remedy}"


def _shown(scores: Evaluation, calibrations: dict[str, Calibration], *, samples: bool, as_json: bool) -> str:
    """Return scores and calibrations as JSON, or as tables that fit the terminal."""
    if as_json:
        found = {"calibration": {name: each.to_dict() for name, each in calibrations.items()}} if calibrations else {}
        return json.dumps(scores.to_dict(samples=samples) | found)
    tables = [scores.report(samples=samples, width=shutil.get_terminal_size().columns)]
    return "\n\n".join(tables + [each.report(name) for name, each in calibrations.items()])
