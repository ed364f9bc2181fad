"""Correct how sure a model is of its answers, on labelled data that were not used in training.

The weights are divided by the temperature at which the labels of the data are most likely (Guo et al. 2017): above 1 if
the model was too sure, below 1 if it was not sure enough. Predicted labels stay the same; probabilities, and with them
thresholds, change. One number cannot make the probabilities of tokens, spans and sequences right at once, so --by names
the ones that will be used. If the likelihood does not grow by more than chance allows, the temperature is 1 and the
model is written as it is.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import add_columns, add_format, add_json, add_threads

EXAMPLE = "example: loglinear calibrate ner.loglinear dev.txt -o calibrated.loglinear"
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL FILE", model=True, data="file")
    add_inputs(parser, inputs, "labelled sentences, samples or texts; - for stdin")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="file of the calibrated model")
    by = "the answers whose probabilities should be right (default: spans if the labels have spans, else tokens)"
    parser.add_argument("--by", choices=("span", "token", "sequence"), help=by)
    add_json(parser)
    add_format(parser)
    add_columns(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Calibrate."""
    print(opened(arguments.model).calibrate(arguments))
