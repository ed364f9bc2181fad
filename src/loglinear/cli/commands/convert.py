"""Convert a model file: from and to the formats of CRFsuite, Wapiti and CRF++, and loglinear's own.

`tag`, `evaluate`, `inspect` and `train --start` take the models of these programs as they are; they open faster once
they are converted. A model that another program cannot hold is refused with the reason, such as one of second order.

  crfsuite     CRFsuite, python-crfsuite, sklearn-crfsuite; a template is left out: these programs form attributes first
  wapiti       Wapiti; the model's template has to follow Wapiti's rules, by a first line #!wapiti
  crf++        CRF++, its binary model; crf++-text is its text model. Weights keep some 7 digits
  loglinear    ours
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from ...errors import OptionError
from ...models.files.schema import PROGRAMS
from ..kinds import opened

EXAMPLE = "example: loglinear convert usaddr.crfsuite usaddr.loglinear"
READS: tuple[str, ...] = ("model",)
WRITES: tuple[str, ...] = ("output",)

# File extensions with the formats that they stand for.
_EXTENSIONS = {".crfsuite": "crfsuite", ".wapiti": "wapiti", ".loglinear": "loglinear"}


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("model", metavar="MODEL", help="model file of any of the formats")
    parser.add_argument("output", metavar="FILE", help="file to write; - for standard output")
    text = "format of FILE; by default told by its extension: .crfsuite, .wapiti or .loglinear"
    parser.add_argument("--to", choices=(*PROGRAMS, "loglinear"), help=text)


def run(arguments: Namespace) -> None:
    """Convert."""
    format = arguments.to or _EXTENSIONS.get(os.path.splitext(arguments.output)[1])
    if format is None:
        message = f"{arguments.output}: its extension names no format of models; give --to, such as --to crf++"
        raise OptionError(message)
    opened(arguments.model).convert(arguments.output, format)
