"""What a paper's script finds: rows in a file of JSON, tables and sentences in the paper's page, figures beside it.

Tables go between the marks ``<!-- table: NAME -->`` and ``<!-- end of table: NAME -->`` of the page, sentences between
``<!-- text: NAME -->`` and ``<!-- end of text: NAME -->``, so that no number from the rows is typed by hand.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from index import HEADS, indexed
from rows import Rows, fill, markdown

# A verdict in a table.
WORDS = {True: "yes", False: "no", None: "in part"}


class Claim(NamedTuple):
    """What a paper says of its tables or figures, and whether it holds here.

    Attributes:
        items: tables and figures as the index of the papers names them, separated by semicolons.
        says: what the paper says.
        here: the numbers that bear on it.
        limit: what has to be so for the claim to hold.
        held: whether it holds; None for in part.
    """

    items: str
    says: str
    here: str
    limit: str
    held: bool | None


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

    def text(self, name: str, text: str, kind: str = "text") -> None:
        """Print sentences and put them between the marks of this name in the page, if the page has them."""
        self.say(f"\n{name}\n\n{text}\n")
        if self.page and self.page.exists():
            fill(self.page, kind, name, text)

    def table(self, name: str, heads: list[str], lines: list[list[Any]], before: str = "") -> None:
        """A table, with a sentence before it."""
        self.tables(name, f"{before}\n\n{markdown(heads, lines)}" if before else markdown(heads, lines))

    def tables(self, name: str, text: str) -> None:
        """Tables in Markdown."""
        self.text(name, text, "table")

    def judged(self, name: str, heads: list[str], judged: Sequence[Any]) -> None:
        """A table of tuples whose last entry, ``held``, is a verdict; the last of the heads is its head."""
        self.table(name, heads, [[*each[:-1], WORDS[each.held]] for each in judged])

    def claims(self, name: str, claims: list[Claim]) -> None:
        """A table of what the paper says, here and in the index of the papers."""
        self.judged(name, HEADS, claims)
        if self.page and self.page.exists():
            readme = self.page.with_name("README.md")
            text = indexed(readme.read_text(encoding="utf-8"), self.page.stem, self.page.read_text(encoding="utf-8"))
            readme.write_text(text, encoding="utf-8")

    def figure(self, kind: str, name: str, *content: Any, **options: Any) -> None:
        """Draw ``NAME.svg``, if figures are wanted, with the function ``kind`` of ``figures``."""
        if self.folder:
            import figures

            getattr(figures, kind)(*content, self.folder / f"{name}.svg", **options)


def verdict(held: Sequence[bool | None]) -> bool | None:
    """Whether all hold, or none, not even in part; None for the rest."""
    return True if all(held) else None if any(each is not False for each in held) else False
