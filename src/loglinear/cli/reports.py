"""Writing the report of a model, as `loglinear report` and `loglinear train --report` do."""

from __future__ import annotations

from ..data.writing import write_output
from .kinds import opened
from .kinds.kind import ReportRequest
from .output import say

__all__ = ["write_report"]


def write_report(model_path: str, output: str, asked: ReportRequest, *, quiet: bool = False) -> None:
    """Write the report of a model on labelled data, whole or not at all.

    Args:
        model_path: path of the model's file.
        output: file to write; `-` is standard output.
        asked: the data, and what the report says of them.
        quiet: whether to leave out the message that names the file.
    """
    write_output(output, opened(model_path).report(asked).html().encode("utf-8"))
    if output != "-" and not quiet:
        say(f"{output}: written; open it in a browser")
