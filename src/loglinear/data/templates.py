"""Feature templates: the named presets.

A preset is a template file in the pattern language of CRF++ and Wapiti, extended by the macros `%shape`, `%normal` and
`%substrings`. Its comments name the paper, and say how the paper was read where it is not clear.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loglinear import _core
from loglinear.data.lexicons import Entries, attached, is_lexicon, without_lexicons
from loglinear.errors import OptionError, TemplateError
from loglinear.options import fail, mapping, similar
from loglinear.visible import shortened

__all__ = [
    "PRESETS",
    "Preset",
    "TemplateText",
    "attribute_names",
    "naming_preset",
    "preset",
    "template_text",
    "with_lexicons",
    "without_comments",
]

_FOLDER = Path(__file__).parent / "presets"


@dataclass(frozen=True)
class Preset:
    """A named feature template.

    Attributes:
        name: name for `preset` and the command line.
        description: one line with the task and the inputs of the template.
        source: paper and section.
        columns: least number of columns of the data, the label not counted.
    """

    name: str
    description: str
    source: str
    columns: int

    @property
    def path(self) -> Path:
        """The template file."""
        return _FOLDER / f"{self.name}.txt"

    @property
    def text(self) -> str:
        """The template, read from its file."""
        return self.path.read_text(encoding="utf-8")


_SHA = "Sha & Pereira (2003)"
_TSURUOKA = "Tsuruoka, Tsujii & Ananiadou (2009)"
_ZHOU = "Zhou, Qiu & Huang (2011)"

PRESETS: dict[str, Preset] = {
    entry.name: entry
    for entry in (
        Preset("chunking", "Text chunking, from words and parts of speech", f"{_TSURUOKA}, Section 4.1", columns=2),
        Preset(
            "np-chunking",
            "Noun phrases in second order, from words and tags",
            f"{_SHA}, Table 1",
            columns=2,
        ),
        Preset("ner", "Named entities, from words, their substrings and shape", f"{_TSURUOKA}, Section 4.2", columns=1),
        Preset(
            "ner-pos-chunk",
            "Named entities, from words, their substrings and shape, parts of speech and chunk tags",
            f"{_TSURUOKA}, Section 4.2",
            columns=3,
        ),
        Preset("pos", "Parts of speech, from words, their affixes and characteristics", f"{_TSURUOKA}, Section 4.3", 1),
        Preset("segmentation", "Chinese word segmentation, from characters", f"{_ZHOU}, Table 1", columns=1),
        Preset("ner-characters", "Chinese named entities, from characters", f"{_ZHOU}, Table 4", columns=1),
    )
}
"""The presets by name."""


def preset(name: str, n_columns: int | None = None) -> str:
    """Return the text of a preset.

    Args:
        name: a key of `PRESETS`.
        n_columns: number of columns of the data, the label not counted; None if it is not known.

    Raises:
        OptionError: there is no such preset, or the data has too few columns for it.
    """
    chosen = PRESETS.get(name)
    if chosen is None:
        message = f"unknown preset {name!r}{similar(name, PRESETS)}; choose from {', '.join(PRESETS)}"
        raise OptionError(message)
    if n_columns is not None and n_columns < chosen.columns:
        fitting = ", ".join(other.name for other in PRESETS.values() if other.columns <= n_columns)
        message = f"preset {name!r} reads {chosen.columns} columns plus the label, but the data have {n_columns}"
        raise OptionError(f"{message}; presets that fit: {fitting}" if fitting else message)
    return chosen.text


class TemplateText(str):
    """The text of a template, with its lexicons; a plain str may also be the name of a preset."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the text as a string without its lexicons, which are large."""
        return repr(without_lexicons(str(self)))


def template_text(template: str | None) -> str | None:
    """Return the text of a template, which is given by the name of a preset or by its text; None for None.

    Lexicons that the template names are read from the working directory.

    Raises:
        OptionError: the argument is neither a name nor a text.
        DataError, TemplateError: a lexicon that the template names is wrong, or cannot be read.
    """
    if template is None or isinstance(template, TemplateText):
        return template
    if not isinstance(template, str):
        fail("template", template, "is neither the name of a preset nor the text of a template")
    _check_characters(template)
    if template in PRESETS:
        return TemplateText(PRESETS[template].text)
    if "\n" in template or "%" in template:
        return with_lexicons(template)
    start = shortened(repr(template), 80)
    message = f"template {start} is neither a preset ({', '.join(PRESETS)}) nor the text of a template"
    raise OptionError(message)


def with_lexicons(
    template: str, lexicons: Mapping[str, Entries] | None = None, *, folder: str | os.PathLike[str] = ""
) -> TemplateText:
    r"""Return a template that carries the lexicons (gazetteers) which its macros `%in` and `%IN` name.

    Whatever takes a template takes the result. The lexicons of a template that does not carry them are read from files
    when it is used: on the command line relative to the file of the template, in Python relative to the working
    directory.

    Args:
        template: text of a template.
        lexicons: the entries of lexicons by name: each is a list of entries, or a dict that gives the type of each
            entry. An entry is one or more words separated by blanks. They replace lexicons that the template carries.
            Other lexicons are read from files.
        folder: of these files; by default the working directory.

    Raises:
        DataError: an entry is wrong; names lexicon and line.
        OptionError: the template does not use a lexicon that is given.
        TemplateError: the template is wrong, or a lexicon cannot be read.

    Warns:
        DataWarning: a lexicon has no entries.

    Example:
        >>> from loglinear import ChainCRF, with_lexicons
        >>> template = 'U:%x[0,0]\ntown:%in[0,0,"towns"]\nB'
        >>> template = with_lexicons(template, {"towns": ["Paris", "New York"]})
        >>> X = [["in", "Paris"], ["to", "New", "York"]]
        >>> crf = ChainCRF(template=template).fit(X, [["O", "TOWN"], ["O", "TOWN", "TOWN"]])
        >>> crf.predict([["from", "New", "York"]])
        [['O', 'TOWN', 'TOWN']]
    """
    if not isinstance(template, str):
        fail("template", template, "is not the text of a template")
    _check_characters(template)
    if lexicons is not None:
        mapping("lexicons", lexicons)
    return TemplateText(attached(template, lexicons or {}, os.fspath(folder)))


def _check_characters(template: str) -> None:
    """Raise TemplateError for a text with half of a character, which no file can hold."""
    half = next((character for character in template if "\ud800" <= character <= "\udfff"), "")
    if half:
        number = template.count("\n", 0, template.index(half)) + 1
        message = f"template line {number}: half of a character, \\u{ord(half):x}; read the template as UTF-8"
        raise TemplateError(message)


def without_comments(template: str) -> str:
    """Return a template without empty lines, comments and lexicons; `#!wapiti`, a syntax, is not a comment."""
    lines = (line for line in template.splitlines() if line.strip() and not is_lexicon(line))
    return "\n".join(line for line in lines if not line.startswith("#") or line.startswith("#!"))


def attribute_names(template: str | None, attributes: Iterable[str | None]) -> dict[str, str]:
    """Return what people call attributes: "previous word = La" for `U01:La` of the line `U01:%x[-1,0]`.

    An attribute has the name that its line starts with (`word[-1]:%x[-1,0]`), or else a name derived from the macros
    of the line. An attribute that the template does not form is called by itself; an empty value is called (none).
    None, the attribute of transitions, is left out.

    Args:
        template: text of a template; None if the attributes were formed elsewhere.
        attributes: attributes as a model stores them.
    """
    distinct = list({attribute for attribute in attributes if attribute is not None})
    if template is None:
        return {attribute: attribute for attribute in distinct}
    names = dict(zip(distinct, _core.attribute_names(template, distinct), strict=True))
    empty = [attribute for attribute, name in names.items() if name != attribute and name.endswith(" = ")]
    return names | {attribute: f"{names[attribute]}(none)" for attribute in empty}


@contextmanager
def naming_preset(template: str | None) -> Iterator[None]:
    """Say of data with too few columns for a preset which presets fit.

    Args:
        template: text of a template, of a preset or not.
    """
    try:
        yield
    except TemplateError as error:
        name = next((entry.name for entry in PRESETS.values() if entry.text == template), None)
        has = re.search(r" has (\d+) column", str(error))
        if name is None or has is None:
            raise
        try:
            preset(name, int(has[1]))
        except OptionError as better:
            raise TemplateError(str(better)) from error
        raise
