"""The column "what holds" of the papers' index: verdicts of the claims in a paper's page, by table and figure.

A row of the index whose item occurs in the first column of a table of claims gets its last cell from there, so that it
cannot say more than the claims do. The other rows (equations, algorithms, illustrations) are written by hand.
"""

from __future__ import annotations

import re

HEADS = ["item", "the paper says", "here", "holds if", "holds"]
TABLE = re.compile(r"<!-- table: claims.*? -->\n(.*?)\n<!-- end of table: claims", re.DOTALL)
# What a claim's last cell says, and the words for it in the index.
VERDICTS = {"yes": "Holds", "in part": "In part", "no": "Does not hold"}


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def claims_of(page: str) -> dict[str, list[tuple[str, str]]]:
    """Claims and verdicts by item, from the text of a page."""
    found: dict[str, list[tuple[str, str]]] = {}
    for table in TABLE.findall(page):
        for line in table.strip().splitlines()[2:]:
            items, says, *_, held = cells(line)
            for item in items.split("; "):
                found.setdefault(item, []).append((says, held))
    return found


def summary(claims: list[tuple[str, str]], page: str) -> str:
    """A cell of the index: how many claims hold, and which hold, hold in part, or do not hold."""
    by_verdict = {word: [says for says, held in claims if held == word] for word in VERDICTS}
    count = f"{len(by_verdict['yes'])} of {len(claims)} [claims]({page}) hold"
    if by_verdict["in part"]:
        count += f", {len(by_verdict['in part'])} in part"
    lists = [f"*{VERDICTS[word]}:* {'; '.join(says)}." for word, says in by_verdict.items() if says]
    return " ".join([f"{count}.", *lists])


def indexed(index: str, name: str, page: str) -> str:
    """The index with the cells of a paper's tables and figures as its page has them.

    Args:
        index: the text of the index.
        name: of the paper, the heading of its section.
        page: the text of its page.
    """
    claims = claims_of(page)
    before, heading, rest = index.partition(f"\n## {name}\n")
    section, following, after = rest.partition("\n## ")
    lines = section.splitlines(keepends=True)
    for at, line in enumerate(lines):
        item, *others = cells(line)
        if item in claims:
            lines[at] = "| " + " | ".join([item, *others[:2], summary(claims[item], f"{name}.md")]) + " |\n"
    return before + heading + "".join(lines) + following + after
