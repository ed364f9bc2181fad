"""The page on reliability lists all unsafe code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def blocks(path):
    """Return how many unsafe blocks, functions and implementations a file has, without its tests."""
    text = path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {")[0]
    return len(re.findall(r"\bunsafe\b\s*(?:\{|fn|impl|extern)", text))


def test_the_table_of_unsafe_code_is_whole():
    source = ROOT / "native" / "src"
    found = {
        path.relative_to(source).as_posix(): blocks(path) for path in source.rglob("*.rs") if path.name != "tests.rs"
    }
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").split("## Unsafe code")[1]
    listed = {name: int(count) for name, count in re.findall(r"^\| `([^`]+\.rs)` \| (\d+) \|", page, re.MULTILINE)}
    assert listed == {name: count for name, count in found.items() if count}
