"""What people read of the project, as passages with their places: help, messages, pages, docstrings."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from loglinear.cli.main import COMMANDS, command_parser

ROOT = Path(__file__).parents[2]
PACKAGE, NATIVE = ROOT / "src" / "loglinear", ROOT / "native" / "src"
GENERATED = {"_build", "gallery"}
RUST_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# Of pages: fenced code, comments, indented code. Of docstrings: examples with their output.
LEFT_OUT = (
    re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.MULTILINE | re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^ {4,}(?![-*\d]).*$", re.MULTILINE),
)
EXAMPLE = re.compile(r"^ *>>> .*?(?=\n *\n|\Z)", re.MULTILINE | re.DOTALL)
# Three words, or two at the end.
WORDS = re.compile(r"[A-Za-z]{2,} [a-z]+ [a-z]+|[A-Za-z]{3,} [a-z]{3,}$")


@dataclass(frozen=True)
class Passage:
    """A text, with the file or command and the number of the line where it begins."""

    place: str
    line: int
    text: str

    @cached_property
    def on_one_line(self) -> str:
        """The text with one space for each run of white space."""
        return re.sub(r"\s+", " ", self.text)

    @cached_property
    def _positions(self) -> list[int]:
        """The position in the text of each character of the line."""
        text = self.text
        return [at for at, char in enumerate(text) if not (char.isspace() and at and text[at - 1].isspace())]

    def line_of(self, position: int) -> int:
        """The number of the line of the file, for a position in the text on one line."""
        return self.line + self.text.count("\n", 0, self._positions[position])


def passages() -> list[Passage]:
    """Return all passages, each text once."""
    strings = list(_of_strings())
    seen = {passage.text for passage in strings}
    of_help = (passage for passage in _of_help() if passage.text not in seen)
    return [*of_help, *strings, *_of_docstrings(), *_of_native_strings(), *_of_pages()]


def _of_help() -> Iterator[Passage]:
    """Texts of `loglinear COMMAND --help`; texts that several commands share come once, with the first of them."""
    seen: set[str] = set()
    for command in COMMANDS:
        _, parser = command_parser(command)
        groups = [group for group in parser._action_groups if isinstance(group, argparse._ArgumentGroup)]
        texts = [parser.description, parser.epilog, *(action.help for action in parser._actions)]
        texts += [text for group in groups for text in (group.title, group.description)]
        for text in texts:
            if text and text not in seen:
                seen.add(text)
                yield Passage(f"loglinear {command} --help", 1, text)


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """The modules of the package, parsed, with their places."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return [(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def _of_strings() -> Iterator[Passage]:
    """Strings of the package with three words or more, except docstrings."""
    for place, tree in modules():
        aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                aside |= {id(part) for part in ast.walk(node) if part is not node}
        for node in ast.walk(tree):
            if id(node) in aside:
                continue
            if isinstance(node, ast.JoinedStr):
                text = "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if WORDS.search(text) and "<" not in text:
                yield Passage(place, node.lineno, text)


def _of_docstrings() -> Iterator[Passage]:
    """Docstrings of modules, and of classes and functions with public names."""
    for place, tree in modules():
        if any(part.startswith("_") and part != "__init__.py" for part in Path(place).parts):
            continue
        if place.startswith("src/loglinear/cli/commands/"):
            tree = ast.Module(tree.body[1:], [])  # without the description, which --help has
        yield from _documented(place, tree)


def _documented(place: str, node: ast.Module | ast.ClassDef | ast.FunctionDef) -> Iterator[Passage]:
    """The docstring of a node and of the public nodes in it."""
    text = ast.get_docstring(node, clean=False)
    if text:
        yield Passage(place, node.body[0].lineno, EXAMPLE.sub(_blank, text))
    for child in node.body:
        if isinstance(child, (ast.ClassDef, ast.FunctionDef)) and not child.name.startswith("_"):
            yield from _documented(place, child)


def _of_native_strings() -> Iterator[Passage]:
    """Strings of the native half with three words or more, except in comments and tests."""
    for path in sorted(NATIVE.rglob("*.rs")):
        if path.name == "tests.rs" or "fuzzing" in path.parts:
            continue
        code = path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod ")[0]
        code = re.sub(r"^ *//.*$", "", code, flags=re.MULTILINE)
        for found in RUST_STRING.finditer(code):
            if WORDS.search(found[1]):
                line = code[: found.start()].count("\n") + 1
                text = re.sub(r"\{[^{}]*\}", "X", found[1]).replace("\\\n", " \n")
                yield Passage(path.relative_to(ROOT).as_posix(), line, text)


def _of_pages() -> Iterator[Passage]:
    """Paragraphs, headings, items and rows of tables with words; no code, and nothing that is quoted."""
    paths = [path for path in sorted((ROOT / "docs").rglob("*.md")) if GENERATED.isdisjoint(path.parts)]
    for path in [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")), *paths]:
        text = path.read_text(encoding="utf-8")
        for pattern in LEFT_OUT:
            text = pattern.sub(_blank, text)
        text = re.sub(r"`[^`]*`", lambda found: "X" + "\n" * found[0].count("\n"), text)
        text = re.sub(r"\]\([^)]*\)", "]", text)
        line = 1
        for paragraph in re.split(r"(\n(?: *\n)+|\n(?= *(?:[-*|]|\d+\.) ))", text):
            if paragraph.strip() and not _of_figures(paragraph):
                yield Passage(path.relative_to(ROOT).as_posix(), line, paragraph)
            line += paragraph.count("\n")


def _of_figures(paragraph: str) -> bool:
    """Whether it is a row of a table of figures."""
    cells = paragraph.strip().strip("|").split("|")
    return paragraph.lstrip().startswith("|") and sum(bool(re.search(r"\d", cell)) for cell in cells) * 2 > len(cells)


def _blank(found: re.Match[str]) -> str:
    """Empty lines in the place of a match."""
    return "\n" * found[0].count("\n")
