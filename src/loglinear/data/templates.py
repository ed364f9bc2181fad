"""Feature templates: the named presets.

A preset is a template file in the pattern language of CRF++ and Wapiti with our three macros `%shape`, `%normal` and
`%substrings`; each states its paper, and our readings of it, in its comments.
"""

from dataclasses import dataclass
from pathlib import Path

from loglinear.errors import OptionError

__all__ = ["PRESETS", "Preset", "TemplateText", "preset", "template_text"]

_FOLDER = Path(__file__).parent / "presets"


@dataclass(frozen=True)
class Preset:
    """A named feature template.

    Attributes:
        name: what `preset` and the command line call it.
        description: the task and the columns that the template looks at, in one line.
        source: paper and section.
        columns: how many columns it needs at least, beside the label.
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
    each.name: each
    for each in (
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
    """The template of a preset.

    Args:
        name: a key of `PRESETS`.
        n_columns: the columns that the data have beside the label, if known: too few are then refused.

    Raises:
        OptionError: no such preset, or the data lack columns that it reads.
    """
    found = PRESETS.get(name)
    if found is None:
        message = f"unknown preset {name!r}; known: {', '.join(PRESETS)}"
        raise OptionError(message)
    if n_columns is not None and n_columns < found.columns:
        fitting = ", ".join(other.name for other in PRESETS.values() if other.columns <= n_columns)
        message = f"preset {name!r} reads {found.columns} columns beside the label, but the data have {n_columns}"
        raise OptionError(f"{message}; presets that fit: {fitting}" if fitting else message)
    return found.text


class TemplateText(str):
    """The text of a template, whatever it looks like: never taken for the name of a preset."""

    __slots__ = ()


def template_text(template: str | None) -> str | None:
    """The text of a template given by the name of a preset or as its text.

    Raises:
        OptionError: it is neither.
    """
    if template is None or isinstance(template, TemplateText):
        return template
    if not isinstance(template, str):
        message = f"template={template!r} is neither the name of a preset nor the text of a template"
        raise OptionError(message)
    if template in PRESETS:
        return TemplateText(PRESETS[template].text)
    if "\n" in template or "%" in template:
        return TemplateText(template)
    message = f"template {template!r} is neither a preset ({', '.join(PRESETS)}) nor the text of a template"
    raise OptionError(message)
