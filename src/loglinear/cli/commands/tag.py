"""Label a file: the input columns, and the predicted label behind them.

Attribute files and texts give the label alone; JSON lines get a field `predicted` (and `marginals`).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...errors import OptionError
from ..options import (
    add_format,
    add_model,
    add_threads,
    model_format,
    open_model,
)

EXAMPLE = "example: printf 'The\\ndog\\nbarks\\n' | loglinear tag --model pos.loglinear"


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_model(parser)
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="sentences; stdin by default, or for -")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="file to write; stdout by default")
    marginals = "add the probability of every label, as label:probability"
    parser.add_argument("--marginals", action="store_true", help=marginals)
    add_format(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Tag."""
    model, settings = open_model(arguments.model)
    format = model_format(arguments.format, settings)
    if arguments.marginals and settings.get("multi_class") == "ovr" and len(model.labels) > 2:
        message = "one-vs-rest models score each class apart and have no joint probabilities; leave out --marginals"
        raise OptionError(message)
    if format == "text":
        from ..texts import tag

        tag(arguments.model, settings, arguments.file, arguments.output, marginals=arguments.marginals)
        return
    model.tag_file(
        arguments.file,
        arguments.output,
        format=format,
        marginals=arguments.marginals,
        threads=arguments.threads,
    )
