"""Convert model files between the formats of loglinear, CRFsuite, Wapiti and CRF++.

`tag`, `evaluate`, `inspect` and `train --start` also read models of these programs directly; converted models open
faster. Models that the other program cannot represent, such as second-order chains, are rejected with the reason.

  crfsuite     CRFsuite, python-crfsuite and sklearn-crfsuite; without the template, which these programs do not have
  wapiti       Wapiti; the template must follow Wapiti's rules (first line #!wapiti)
  crf++        CRF++, binary; crf++-text for its text format; weights are rounded to about 7 digits
  loglinear    loglinear's own
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from ...errors import OptionError
from ...models.files.schema import PROGRAMS
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..places import EXTENSIONS

EXAMPLE = "example: loglinear convert usaddr.crfsuite usaddr.loglinear"
READS: tuple[str, ...] = ("model",)
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL FILE", model=True, data="output", flag="--output")
    add_inputs(parser, inputs, "output file; - for stdout", model="model file in any of these formats")
    text = "format of FILE (default: from its extension .crfsuite, .wapiti or .loglinear)"
    parser.add_argument("--to", choices=(*PROGRAMS, "loglinear"), help=text)


def run(arguments: Namespace) -> None:
    """Convert."""
    format = arguments.to or EXTENSIONS.get(os.path.splitext(arguments.output)[1])
    if format is None:
        message = f"{arguments.output}: unknown model format; add --to, for example --to crf++"
        raise OptionError(message)
    opened(arguments.model).convert(arguments.output, format)
