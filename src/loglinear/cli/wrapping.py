"""Help that fits the terminal: paragraphs and lists are wrapped to its width, commands are not."""

from __future__ import annotations

import argparse
import re

__all__ = ["HelpFormatter"]

# An item of a list: an indented name, and its text after two or more blanks. Later lines are indented further.
_ITEM = re.compile(r"  \S+(?: \S+)* {2,}(?=\S)")


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
