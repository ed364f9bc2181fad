"""The picture of docs/benchmarks.md: a bar for each question that people ask when they choose a program.

    python benchmarks/choosers.py docs/benchmark-tables.md docs/benchmarks.svg

A bar is a ratio of docs/benchmark-tables.md, which says how it was measured. A mark to the left of 1 is a case in which
the other program is ahead.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path

from front import STYLE, line, text

WIDTH, HEIGHT = 720, 350
EDGE, LEFT, RIGHT, TOP, ROW = 8, 130, 660, 30, 56
RATIOS = (0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Bar:
    """A row of the tables, and one where the other program is ahead, if there is one.

    Attributes:
        title: what is compared, and with what.
        row: beginning of the line of the tables.
        column: cell of the line that has the ratio.
        behind: beginning of the line where the other program is ahead.
        behind_column: cell of that line that has the ratio.
        case: the words for it.
    """

    title: str
    row: str
    column: int = -1
    behind: str = ""
    behind_column: int = -1
    case: str = ""


BARS = (
    Bar("Training: CoNLL-2000, L1 penalty, against CRFsuite", "| | | 0.1 % | 393 and 18 "),
    Bar(
        "Tagging: tokens a second, against CRFsuite with ready-made attributes",
        "| tagging, 2 threads; CRFsuite with ready-made attributes ",
    ),
    Bar(
        "One sentence at a time: 8 tokens, against python-crfsuite",
        "| a call: 8 tokens of 20 attributes ",
        behind="| a call: empty model, empty sequence ",
        case="empty sequence",
    ),
    Bar(
        "Memory and size: peak memory of training, against CRFsuite",
        "| l1: peak memory of training ",
        behind="| opening a model ",
        case="opening a model",
    ),
    Bar(
        "Classifiers: Reuters, L1 penalty, against the fastest other program",
        "| grain, L1, intercept ",
        behind="| wine, L2, intercept ",
        behind_column=3,
        case="wine, 178 samples",
    ),
)


def ratio(tables: str, start: str, column: int) -> str:
    """The ratio of the one line of the tables that begins with ``start``."""
    (found,) = [row for row in tables.splitlines() if row.startswith(start)]
    return found.strip("|").split("|")[column].strip()


def across(value: float) -> float:
    """Where a ratio is, on a logarithmic axis."""
    low, high = math.log10(RATIOS[0]), math.log10(RATIOS[-1])
    return LEFT + (math.log10(value) - low) / (high - low) * (RIGHT - LEFT)


def drawn(bar: Bar, tables: str, top: float) -> tuple[list[str], str]:
    """A bar with its title above it, and what it says in words."""
    value, one = ratio(tables, bar.row, bar.column), across(1.0)
    box = f'x="{one:.1f}" y="{top + 8:.1f}" width="{across(float(value)) - one:.1f}" height="16"'
    parts = [text(EDGE, top, bar.title, "title"), f'<rect class="bar" {box}/>']
    parts += [text(across(float(value)) + 6, top + 21, value, "name-ours")]
    says = f"{bar.title}: {value}"
    if bar.behind:
        value = ratio(tables, bar.behind, bar.behind_column)
        parts += [f'<circle class="behind" cx="{across(float(value)):.1f}" cy="{top + 16:.1f}" r="5"/>']
        parts += [text(across(float(value)) - 10, top + 20, f"{bar.case} {value}", "small", "end")]
        says += f"; {bar.case}: {value}"
    return parts, says


def picture(tables: str) -> str:
    """The picture as SVG."""
    parts, says = list[str](), list[str]()
    bottom = TOP + ROW * len(BARS)
    for value in RATIOS:
        parts += [line("grid", across(value), TOP + 8, across(value), bottom)]
        parts += [text(across(value), bottom + 18, f"{value:g}", "small", "middle")]
    for number, bar in enumerate(BARS):
        found, words = drawn(bar, tables, TOP + ROW * number)
        parts += found
        says.append(words)
    parts += [
        text(across(1.0), HEIGHT - 8, "how many times better loglinear is; 1: as good as the other", "small", "middle")
    ]
    style = f"{STYLE}.bar {{ fill: #0b5cad; }} .behind {{ fill: #8a5a00; }}\n"
    style += "@media (prefers-color-scheme: dark) { .bar { fill: #5aa9ff; } .behind { fill: #e0a84a; } }\n"
    space, box = "http://www.w3.org/2000/svg", f"0 0 {WIDTH} {HEIGHT}"
    label = escape(f"How many times better loglinear is. {'. '.join(says)}.")
    head = f'<svg xmlns="{space}" viewBox="{box}" role="img" aria-label="{label}">'
    return "\n".join([head, f"<style>{style}</style>", *parts, "</svg>"]) + "\n"


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path, help="the page with the tables")
    parser.add_argument("figure", type=Path, help="SVG file to write")
    chosen = parser.parse_args()
    chosen.figure.write_text(picture(chosen.tables.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
