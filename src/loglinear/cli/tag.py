"""Label a file: the input columns, and the predicted label behind them.

Attribute files give the label alone; JSON lines get a field `predicted` (and `marginals`).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from .options import add_format, add_model, add_threads, model_format, open_model

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
    model.tag_file(
        arguments.file,
        arguments.output,
        format=model_format(arguments.format, settings),
        marginals=arguments.marginals,
        threads=arguments.threads,
    )
