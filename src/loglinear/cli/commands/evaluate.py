"""Compare a model's labels with the labels in a file: accuracy; precision, recall and F of chunks or of labels.

With --calibration also: how often labels and spans are right, by how sure the model is of them.
For the model of a network: the log-likelihood of a table.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from ..kinds import opened
from ..options import add_format, add_json, add_model, add_scheme, add_threads

EXAMPLE = """example: loglinear evaluate --model chunker.loglinear test.txt
         loglinear evaluate --model chunker.loglinear test.txt --output - | perl conlleval.pl"""
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
    shown = opened(arguments.model).evaluate(arguments)
    print(shown, file=sys.stderr if arguments.output == "-" else sys.stdout)
