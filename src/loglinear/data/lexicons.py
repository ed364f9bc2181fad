"""Lexicons (gazetteers) of templates: read from files or Python, and carried by the text of the template.

Whatever has the text of a template has its lexicons: corpora, model files, checkpoints and the workers of a cluster.
Each is a line `#!lexicon PACKAGE NAME` of the text, which the native half makes and reads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from .. import _core
from ..errors import DataError, DataWarning, OptionError, TemplateError, warn
from ..options import similar
from ..text_file import read_text

__all__ = ["Entries", "LexiconFacts", "attached", "is_lexicon", "lexicons_of", "unmatched", "without_lexicons"]

Entries = Iterable[str] | Mapping[str, str]
"""Entries of a lexicon: each one or more words separated by blanks; a mapping gives their types."""

_MARK = "#!lexicon "
_MACRO = re.compile(r"%(in|IN)\[")
# A line whose attributes are values of a single look-up.
_LOOK_UP = re.compile(r"""^([^%\s]*)%(?:in|IN)\[[^",]*,[^",]*,\s*"([^"]*)"\s*\]\s*(?:#.*)?$""", re.MULTILINE)


class LexiconFacts(NamedTuple):
    """A lexicon that a template carries.

    Attributes:
        name: of the lexicon in the template.
        lower_case: whether it is the lexicon of `%IN`, whose entries are lower-cased.
        n_entries: number of different entries.
        n_bytes: size in memory and in a model file.
    """

    name: str
    lower_case: bool
    n_entries: int
    n_bytes: int

    def __str__(self) -> str:
        size = f"{self.n_bytes / 1e6:.1f} MB" if self.n_bytes >= 1e5 else f"{self.n_bytes / 1e3:.1f} kB"
        entries = "1 entry" if self.n_entries == 1 else f"{self.n_entries:,} entries"
        return f"{self.name}: {entries}{', lower case' if self.lower_case else ''}, {size}"


def is_lexicon(line: str) -> bool:
    """Whether a line of a template carries a lexicon."""
    return line.startswith(_MARK)


def _name_of(carrier: str) -> str:
    """Return the name of the lexicon that a line carries."""
    return carrier.rstrip("\r\n").split(" ", 2)[-1]


def without_lexicons(template: str) -> str:
    """Return a template for people to read: without the lines that carry its lexicons."""
    if _MARK not in template:
        return template
    return "".join(line for line in template.splitlines(keepends=True) if not is_lexicon(line))


def lexicons_of(template: str | None) -> list[LexiconFacts]:
    """Return the lexicons that a template carries."""
    if template is None or _MARK not in template:
        return []
    return [LexiconFacts(*facts) for facts in _core.lexicons_of(template)]


def unmatched(template: str | None, attributes: Callable[[], Iterable[str]]) -> list[str]:
    """Return the names of lexicons in which no token is, as far as lines tell that have a single look-up.

    Args:
        template: text of a template, with its lexicons.
        attributes: returns the attributes that the template formed; called only if the answer depends on them.
    """
    filled = {lexicon.name for lexicon in lexicons_of(template) if lexicon.n_entries}
    if template is None or not filled:
        return []
    starts = [(name, f"{label}B") for label, name in _LOOK_UP.findall(without_lexicons(template)) if name in filled]
    every = attributes() if starts else ()
    missing = {name for name, _ in starts}
    for attribute in every:
        missing -= {name for name, start in starts if name in missing and attribute.startswith(start)}
        if not missing:
            return []
    return sorted(missing)


def attached(template: str, lexicons: Mapping[str, Entries], folder: str) -> str:
    """Return a template with the lexicons that it names and does not carry.

    Args:
        template: text of the template.
        lexicons: entries of lexicons by name, which replace those that the template carries; the others are files.
        folder: of the files whose names are relative paths; empty for the working directory.

    Raises:
        DataError: an entry is wrong; names file and line.
        OptionError: the template names no such lexicon.
        TemplateError: the template is wrong, or a lexicon cannot be read.

    Warns:
        DataWarning: a lexicon has no entries.
    """
    lines = template.splitlines(keepends=True)
    template = "".join(line for line in lines if not (is_lexicon(line) and _name_of(line) in lexicons))
    if _MACRO.search(template) is None and not lexicons:
        return template
    needed = _core.needed_lexicons(template)
    names = [name for name, _, _ in needed]
    for name in lexicons:
        if name not in names:
            macro = f'%in[0,0,"{name}"]'
            message = f"lexicons: the template has no {macro}{similar(str(name), names)}; remove the lexicon, or use it"
            raise OptionError(message)
    texts, carriers = dict[str, tuple[str, bytes]](), []
    for name, lower_case, number in needed:
        is_given = name in lexicons
        if name not in texts:
            of_file = None if is_given else _of_file(name, number, folder)
            texts[name] = of_file or (f"lexicon {name}", _of_entries(name, lexicons[name]))
        path, text = texts[name]
        carrier, n_entries = _core.lexicon_line(name, path, text, lower_case, comments=not is_given)
        if n_entries == 0:
            macro = "%IN" if lower_case else "%in"
            warn(f"{path}: the lexicon has no entries, so {macro} gives O for every token; add entries", DataWarning)
        carriers.append(carrier)
    return "\n".join([template.rstrip("\n"), *carriers, ""]) if carriers else template


def _of_file(name: str, number: int, folder: str) -> tuple[str, bytes]:
    """Return the path and the text of a lexicon that the line of a template with this number names."""
    path = os.path.join(folder, name)
    try:
        return path, read_text(path)
    except OSError as error:
        reason = "a folder, not a file" if isinstance(error, IsADirectoryError) else str(error.strerror)
        suggestion = ""
        if isinstance(error, FileNotFoundError):
            try:
                suggestion = similar(os.path.basename(path), os.listdir(os.path.dirname(path) or "."))
            except OSError:
                suggestion = ""
        origin = "file of the template" if folder else "working directory"
        message = (
            f"template line {number}: cannot read the lexicon {path}: {reason}{suggestion}; "
            f"correct the path, which is relative to the {origin}"
        )
        raise TemplateError(message) from error


def _of_entries(name: str, entries: Entries) -> bytes:
    """Return the text of a lexicon with some entries, one in each line."""
    if isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
        message = (
            f"lexicons: {name} is {type(entries).__name__}; give a list of entries, or a dict of entries and types"
        )
        raise OptionError(message)
    types = entries if isinstance(entries, Mapping) else {}
    lines = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, str):
            message = f"lexicon {name}, entry {number}: {entry!r:.60} is not a string; give its words between blanks"
            raise DataError(message)
        for text in (entry, types.get(entry, "")):
            if not isinstance(text, str) or re.search(r"[\t\r\n]", text):
                message = f"lexicon {name}, entry {number}: {text!r:.60} is not a string without tabs and line ends"
                raise DataError(message)
        if not entry.strip(" "):
            message = f"lexicon {name}, entry {number}: the entry is empty; leave it out"
            raise DataError(message)
        lines.append(f"{entry}\t{types[entry]}" if entry in types else entry)
    try:
        return "\n".join(lines).encode()
    except UnicodeEncodeError as error:
        message = f"lexicon {name}: an entry is not valid Unicode ({error.reason}); correct it"
        raise DataError(message) from error
