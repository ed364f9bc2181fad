"""Evaluate a model on labelled data: accuracy, and precision, recall and F1 of chunks or labels.

With a model from `loglinear structure`: the log-likelihood of a table.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from ...visible import visible
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import (
    add_columns,
    add_format,
    add_json,
    add_label_bias,
    add_scheme,
    add_spans,
    add_threads,
    add_weight_column,
)

EXAMPLE = """example: loglinear evaluate chunker.loglinear test.txt
         loglinear evaluate chunker.loglinear test.txt --output - | perl conlleval.pl"""
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output", "calibration")


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL FILE", model=True, data="file")
    add_inputs(parser, inputs, "labelled sentences, samples or texts, or a table; - for stdin")
    add_json(parser)
    output = (
        "write the input columns (the position of the token if there are none), gold label and predicted label to this "
        "file, as conlleval reads them: labels of IOBES, BILOU and BMES become IOB2, as conlleval counts the others "
        "wrongly; - for stdout, with the scores on stderr"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help=output)
    mode = "how to count chunks: conlleval accepts malformed ones, strict only well-formed ones (default: conlleval)"
    parser.add_argument("--mode", default="conlleval", help=mode)
    add_scheme(parser)
    add_label_bias(parser)
    calibration = (
        "add a calibration table (accuracy by predicted probability) and the expected calibration error; draw the "
        "reliability diagram to PICTURE (.svg, .png or .pdf; needs matplotlib); give FILE first"
    )
    parser.add_argument("--calibration", nargs="?", const="", metavar="PICTURE", help=calibration)
    add_format(parser)
    add_columns(parser)
    add_spans(parser)
    add_weight_column(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Evaluate."""
    shown = opened(arguments.model).evaluate(arguments)
    print(visible(shown), file=sys.stderr if arguments.output == "-" else sys.stdout)
