"""Text that fits the terminal: messages, paragraphs and lists are wrapped to its width, commands are not."""

from __future__ import annotations

import argparse
import os
import re
from typing import TextIO

from ..options import digits_of
from ..visible import visible

__all__ = ["HelpFormatter", "columns_of", "fitted", "unbroken"]

# An item of a list: an indented name, and its text after two or more blanks. Later lines are indented further.
_ITEM = re.compile(r"  \S+(?: \S+)* {2,}(?=\S)")
# A name in a first column, or the blanks before a text, that the other lines of the text are indented by.
_COLUMN = re.compile(r" *\S+(?: \S+)* {2,}(?=\S)| *")
# Commands in a message, which a user copies; the blank between a number and its unit.
_COMMAND = re.compile(r"`[^`]*`|(?<=: )loglinear .*$|(?<=\d) (?=(?:%|s|kB|MB)(?!\w))")
# What stands for a blank at which no line may end.
_FIXED = "\0"
# Fewest characters for the text of a column.
_LEAST = 24


def columns_of(terminal: TextIO) -> int:
    """Return the width of a terminal in characters, or what the environment says about it."""
    if said := digits_of(os.environ.get("COLUMNS", "")):
        return said
    try:
        return os.get_terminal_size(terminal.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def fitted(text: str, stream: TextIO) -> str:
    """Return lines as a stream takes them: those too long for a terminal are wrapped at blanks.

    Control characters in names are escaped. Text after a name and two or more blanks is a column, and stays one.

    Args:
        text: the lines.
        stream: where they go; without a terminal, nothing is wrapped.
    """
    if not stream.isatty():
        return visible(text.replace(_FIXED, " "))
    width = columns_of(stream)
    lines = (piece for line in text.split("\n") for piece in _pieces(line, width))
    return visible("\n".join(lines).replace(_FIXED, " "))


def unbroken(text: str) -> str:
    """Return a text, such as the name of a state, that `fitted` keeps on one line; only for what it will print."""
    return text.replace(" ", _FIXED)


def _pieces(line: str, width: int) -> list[str]:
    """Return a line in pieces of at most this width; a command stays in one piece."""
    if len(line) <= width:
        return [line]
    from textwrap import wrap

    start = _COLUMN.match(line)
    indent = len(start[0]) if start is not None and start[0].strip() else 0
    if not 0 < indent <= width - _LEAST:
        indent = len(line) - len(line.lstrip()) + 2
    whole = _COMMAND.sub(lambda command: unbroken(command[0]), line)
    lines = wrap(whole, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return lines


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps descriptions to the width of the terminal; keeps the columns of lists, and commands on one line."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        prose, example, commands = text.partition("example: ")
        blocks: list[str] = []
        for line in prose.splitlines():
            if blocks and _continues(line, blocks[-1]):
                blocks[-1] += f" {line.strip()}"
            else:
                blocks.append(line)
        lines = [line for block in blocks for line in _wrapped(block, width)]
        return "\n".join(indent + line for line in [*lines, *f"{example}{commands}".splitlines()])


def _continues(line: str, block: str) -> bool:
    """Whether a line belongs to the paragraph or the item of a list before it."""
    in_item = block.startswith(" ")
    return bool(line and block) and (line.startswith("   ") if in_item else not line.startswith(" "))


def _wrapped(block: str, width: int) -> list[str]:
    """Return a paragraph or an item of a list in lines of this width; a command stays as it is."""
    from textwrap import wrap

    item = _ITEM.match(block)
    start = "" if item is None else item[0]
    text = block[len(start) :]
    if text.startswith("loglinear "):
        return [block]
    lines = wrap(
        text,
        width,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [""]
