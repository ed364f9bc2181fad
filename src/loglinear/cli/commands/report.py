"""Write a report about a model on labelled data: a single HTML file that works offline.

It shows the scores of chunks and labels with confidence intervals, the most frequent errors by whole chunk and by label
with explanations, a confusion matrix, the calibration of the probabilities, the strongest features and the transitions,
and how the model was trained. With a model from `loglinear structure`: how probable the rows of a table are, how well
each value can be predicted from the rest of its row, and the strongest edges. Needs Jinja2: pip install
'loglinear[report]'.

With two models, such as an old and a new one, the report compares them on the same data: the differences of their
scores with confidence intervals (paired bootstrap), how many labels and chunks the second model fixes and breaks, and
the sentences that changed, with the labels of both. Networks cannot be compared.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import OptionError
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import add_columns, add_format, add_scheme, add_spans, add_threads
from ..output import say

if TYPE_CHECKING:
    from ...report.html_page import HtmlPage

EXAMPLE = """example: loglinear report chunker.loglinear dev.txt -o report.html
         loglinear report old.loglinear new.loglinear --data test.txt -o comparison.html"""
READS: tuple[str, ...] = ("data", "model", "other", "trace")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL [OTHER] FILE", model=True, data="data", other="other")
    add_inputs(parser, inputs, "labelled sentences, samples or texts, or a table")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="HTML file to write; - for stdout")
    trace = "file written by `loglinear train --trace`, for the training curve"
    parser.add_argument("--trace", metavar="FILE", help=trace)
    add_scheme(parser)
    add_format(parser)
    add_columns(parser)
    add_spans(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Write the report."""
    from ...report.html_page import check_report
    from ...trace import Trace

    # Standard input by another name, or a pipe: the second model would find it empty.
    is_pipe = arguments.other is not None and Path(arguments.data).is_fifo()
    if arguments.data == "-" or is_pipe:
        message = f"--data {arguments.data}: a report reads its data twice, which "
        message += f"{'a pipe' if is_pipe else 'stdin'} does not allow; save the data to a file first"
        raise OptionError(message)
    check_report(arguments.output)
    if arguments.other is not None:
        from ..kinds.compared import compared

        if arguments.trace is not None:
            message = "--trace is the training of one model; leave it out, or leave out the second model"
            raise OptionError(message)
        save_report(compared(opened(arguments.model), opened(arguments.other), arguments), arguments.output)
        return
    trace = () if arguments.trace is None else Trace.read(arguments.trace)
    save_report(opened(arguments.model).report(arguments, trace), arguments.output)


def save_report(report: HtmlPage, output: str, *, quiet: bool = False) -> None:
    """Write a report, whole or not at all, to a file or to standard output, and name the file."""
    report.save(output)
    if output != "-" and not quiet:
        say(f"wrote {output}; open it in a browser")
