"""Write a report about a model on labelled data: a single HTML file that works offline.

It shows the scores of chunks and labels with confidence intervals, the most frequent errors by whole chunk and by label
with explanations, a confusion matrix, the calibration of the probabilities, the strongest features and the transitions,
and how the model was trained. With a model from `loglinear structure`: how probable the rows of a table are, how well
each value can be predicted from the rest of its row, and the strongest edges. Needs Jinja2: pip install
'loglinear[report]'.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ...errors import OptionError
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import add_columns, add_format, add_scheme, add_threads
from ..output import say

if TYPE_CHECKING:
    from ...report.page import Report

EXAMPLE = "example: loglinear report chunker.loglinear dev.txt -o report.html"
READS: tuple[str, ...] = ("data", "model", "trace")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL FILE", model=True, data="data")
    add_inputs(parser, inputs, "labelled sentences, samples or texts, or a table")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="HTML file to write; - for stdout")
    trace = "file written by `loglinear train --trace`, for the training curve"
    parser.add_argument("--trace", metavar="FILE", help=trace)
    add_scheme(parser)
    add_format(parser)
    add_columns(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Write the report."""
    from ...report.page import check_report
    from ...trace import Trace

    if arguments.data == "-":
        message = "--data -: a report reads its data twice, which stdin does not allow; save the data to a file first"
        raise OptionError(message)
    check_report(arguments.output)
    trace = () if arguments.trace is None else Trace.read(arguments.trace)
    save_report(opened(arguments.model).report(arguments, trace), arguments.output)


def save_report(report: Report, output: str, *, quiet: bool = False) -> None:
    """Write a report, whole or not at all, to a file or to standard output, and name the file."""
    report.save(output)
    if output != "-" and not quiet:
        say(f"wrote {output}; open it in a browser")
