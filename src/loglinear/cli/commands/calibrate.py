"""Correct how sure a model is of its answers, and with --tune-bias how often it gives a label, on labelled data.

The data must not have been used in training. The weights are divided by the temperature at which the labels of the data
are most likely (Guo et al. 2017): above 1 if the model was too sure, below 1 if it was not sure enough. Predicted
labels stay the same; probabilities, and with them thresholds, change. One number cannot make the probabilities of
tokens, spans and sequences right at once, so --by names the ones that will be used. If the likelihood does not grow by
more than chance allows, the temperature is 1 and the weights stay as they are.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...visible import visible
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import add_columns, add_format, add_json, add_spans, add_threads
from ..places import check_model_name

EXAMPLE = """example: loglinear calibrate ner.loglinear dev.txt -o calibrated.loglinear
         loglinear calibrate ner.loglinear dev.txt -o tuned.loglinear --tune-bias f1"""
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL FILE", model=True, data="file")
    add_inputs(parser, inputs, "labelled sentences, samples or texts; - for stdin")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="file of the calibrated model")
    by = "the answers whose probabilities should be right (default: spans if the labels have spans, else tokens)"
    parser.add_argument("--by", choices=("span", "token", "sequence"), help=by)
    tune_bias = (
        "first find the bias of the label O, or without it of the most frequent label, with the best score, and store "
        "it in the model: f1, accuracy, or 'recall at precision 0.95', the highest recall at a precision; chains only"
    )
    parser.add_argument("--tune-bias", metavar="METRIC", help=tune_bias)
    add_json(parser)
    add_format(parser)
    add_columns(parser)
    add_spans(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Calibrate."""
    check_model_name(arguments.output)
    print(visible(opened(arguments.model).calibrate(arguments)))
