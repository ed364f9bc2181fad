"""The programs in pages of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

BLOCK = re.compile(r"^```(python|pycon|sh)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def blocks(page: Path, *kinds: str) -> list[tuple[str, str, str]]:
    """The blocks of these kinds: kind, text, and what a `text` block behind it says that it prints."""
    found = [block for block in BLOCK.findall(page.read_text(encoding="utf-8")) if block[0] in kinds]
    assert found
    return found
