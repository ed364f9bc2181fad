"""What a paper's script finds: rows in a file of JSON, tables in the paper's page, figures beside it.

Tables go between the marks ``<!-- table: NAME -->`` and ``<!-- end of table: NAME -->`` of the page, so that no figure
in them is typed by hand.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from rows import Rows, fill, markdown


class Findings(Rows):
    """Rows, tables and figures of one paper.

    Args:
        name: of the paper; its page is ``NAME.md`` in the folder of the figures.
        arguments: with ``json``, the path of the file of rows, and ``figures``, the folder; None for neither.
    """

    def __init__(self, name: str, arguments: Namespace) -> None:
        super().__init__(arguments.json)
        self.folder = Path(arguments.figures) if arguments.figures else None
        self.page = self.folder / f"{name}.md" if self.folder else None

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, flush=True)

    def text(self, name: str, text: str) -> None:
        """Print a text and put it between the marks of this name in the page, if the page has them."""
        self.say(f"\n{name}\n\n{text}\n")
        if self.page and self.page.exists():
            fill(self.page, "table", name, text)

    def table(self, name: str, heads: list[str], lines: list[list[Any]], before: str = "") -> None:
        """A table, with a sentence before it."""
        self.text(name, f"{before}\n\n{markdown(heads, lines)}" if before else markdown(heads, lines))

    def claims(self, name: str, lines: list[tuple[str, str, bool | None]]) -> None:
        """A table of what the paper says, the figures that bear on it here, and whether it holds; None for partly."""
        words = {True: "yes", False: "no", None: "in part"}
        self.table(name, ["the paper says", "here", "holds"], [[says, here, words[held]] for says, here, held in lines])

    def figure(self, kind: str, name: str, *content: Any, **options: Any) -> None:
        """Draw ``NAME.svg``, if figures are wanted, with the function ``kind`` of ``figures``."""
        if self.folder:
            import figures

            getattr(figures, kind)(*content, self.folder / f"{name}.svg", **options)


def verdict(held: list[bool]) -> bool | None:
    """Whether all hold, or none; None for some."""
    return True if all(held) else None if any(held) else False
