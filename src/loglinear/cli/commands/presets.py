"""List the built-in feature templates, or print one."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from ..wrapping import fitted

EXAMPLE = "example: loglinear presets chunking > my-template.txt"
READS: tuple[str, ...] = ()
WRITES: tuple[str, ...] = ()


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this template")


def run(arguments: Namespace) -> None:
    """List or print presets."""
    from ...data.templates import PRESETS, preset

    if arguments.name is not None:
        print(preset(arguments.name), end="")
        return
    width = max(map(len, PRESETS))
    for listed_preset in PRESETS.values():
        columns = "1 column" if listed_preset.columns == 1 else f"{listed_preset.columns} columns"
        line = f"{listed_preset.name:<{width}}  {listed_preset.description} ({columns}; {listed_preset.source})"
        print(fitted(line, sys.stdout))
