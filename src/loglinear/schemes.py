"""Tagging schemes, and the chunks of label sequences.

A chunk is a typed stretch of tokens: a phrase, an entity, a word. Two modes read chunks:

- "conlleval" gives chunks for every sequence, well-formed or not; one rule reads all schemes (`chunks`). Its chunks
  equal conlleval's (the CoNLL script) on IOB1 and IOB2, and seqeval's default mode on IOB1, IOB2 and
  IOBES.
- "strict" counts a chunk only where its tags follow the scheme. Its chunks equal seqeval's mode="strict" with
  the same scheme.

The module imports the standard library alone, to load fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from loglinear.data.labels import check_comparable, check_ordered
from loglinear.errors import DataError, OptionError
from loglinear.options import similar

__all__ = ["MODES", "SCHEMES", "Chunk", "chunks", "detect_scheme"]

Chunk = tuple[str, int, int]
"""Type, first token, one past the last token."""

MODES = ("conlleval", "strict")

# The role of each tag in every scheme: B begins, I continues, E ends a chunk; S is a chunk of one token.
_ROLES = {"B": "B", "B2": "I", "B3": "I", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S"}

# The tags of each scheme, besides O.
_TAGS = {
    "IOB": frozenset({"B", "I"}),
    "IOBES": frozenset({"B", "I", "E", "S"}),
    "BILOU": frozenset({"B", "I", "L", "U"}),
    "BMES": frozenset({"B", "B2", "B3", "M", "E", "S"}),
    "IOE2": frozenset({"I", "E"}),
}
# The tags of schemes that differ only in strict mode.
_TAGS["IOB1"] = _TAGS["IOB2"] = _TAGS["IOB"]

# Schemes that `detect_scheme` distinguishes; it returns the first that fits.
_DETECTED = ("IOB", "IOBES", "BILOU", "BMES")

# Other names of schemes, in each mode.
_ALIASES = {"BIO": "IOB", "BIOES": "IOBES", "BMES6": "BMES"}
_ALIASES_IN = {"conlleval": {"IOB1": "IOB", "IOB2": "IOB", "IOE2": "IOBES"}, "strict": {"IOB": "IOB2"}}

SCHEMES = ("IOB", "IOB1", "IOB2", "IOE2", "IOBES", "BILOU", "BMES", *_ALIASES, "none")

# Well-formed chunks in the roles of consecutive tokens of the same type, followed by the role of the next token in
# lower case. In IOB1, B occurs only after a chunk of its type, and a B of another type does not end a chunk of one B.
_PATTERNS = {
    "IOB1": re.compile("(?<=.)BI+|(?<=.)B(?!b)|I+"),
    "IOB2": re.compile("BI*"),
    "IOE2": re.compile("I*E"),
    "IOBES": re.compile("BI*E|S"),
}


def detect_scheme(labels: Iterable[object]) -> str | None:
    """Return the name of the tagging scheme of a label set.

    A label is read as TAG or TAG-TYPE, split at its first dash; "O" is outside every chunk. The schemes, first tried
    first:

    - "IOB": the tags B and I, or nothing but O. IOB1 and IOB2 have the same labels.
    - "IOBES" (or BIOES): B, I, E, S.
    - "BILOU": B, I, L, U.
    - "BMES": B, M, E, S, and the six tags B, B2, B3, M, E, S of Chinese word segmentation. It is tried first if no
      label has a type and O is missing, as in a segmentation into words.

    A subset of a scheme's tags belongs to the scheme. If a subset belongs to several schemes, the name does not matter
    to the chunks of mode "conlleval": one rule reads all schemes (`chunks`).

    Args:
        labels: labels, with or without repetitions.

    Returns:
        The name; None if there is no label, or a label belongs to no scheme (a part of speech or a number, for
        example).

    Example:
        >>> from loglinear.metrics import detect_scheme
        >>> detect_scheme(["O", "B-PER", "I-PER"]), detect_scheme(["B-LOC", "E-LOC"]), detect_scheme(["DET", "NOUN"])
        ('IOB', 'IOBES', None)
    """
    distinct = _distinct(labels)
    if not distinct:
        return None
    if distinct <= _TAGS["BMES"]:
        return "BMES"
    tags = {label.partition("-")[0] if isinstance(label, str) else label for label in distinct - {"O"}}
    return next((scheme for scheme in _DETECTED if tags <= _TAGS[scheme]), None)


def chunks(labels: Sequence[str], scheme: str | None = None, *, mode: str = "conlleval") -> list[Chunk]:
    """Return the chunks of one label sequence, from left to right.

    In mode "conlleval" a chunk starts at B or S, at any tag other than O that follows O, E, S or the start of the
    sequence, and at every change of the type. It ends after E or S, before O, and before the start of another chunk.
    The rule gives chunks for malformed sequences, too. M, B2 and B3 are read as I, L as E, U as S. Segmentation tags
    have no types, and their chunks are words that cover the sequence.

    In mode "strict" a chunk is B and any number of I (IOB2); any number of I and E (IOE2); B, any number of I and E, or
    S (IOBES, BILOU, BMES); any number of I, or after a chunk of the same type B and any number of I (IOB1).

    Args:
        labels: labels TAG or TAG-TYPE, split at the first dash, and "O".
        scheme: "IOB" ("BIO"), "IOB1", "IOB2", "IOE2", "IOBES" ("BIOES"), "BILOU" or "BMES"; None detects it
            (`detect_scheme`). In mode "strict", "IOB" is IOB2, and detected are IOB2 where there are tags B and I, IOB1
            where there are tags I alone, IOE2 where there are tags I and E.
        mode: "conlleval" or "strict".

    Returns:
        Triples (type, start, end), the end exclusive; the type is "" if the label has none.

    Raises:
        DataError: a label does not belong to the scheme, or the labels follow no scheme.
        OptionError: there is no such scheme or mode.

    Example:
        >>> from loglinear.metrics import chunks
        >>> chunks(["B-PER", "I-PER", "O", "B-LOC"])
        [('PER', 0, 2), ('LOC', 3, 4)]
    """
    distinct = _distinct(labels)
    detected = found_scheme(distinct, mode) if scheme is None else checked_scheme(distinct, scheme, mode)
    if detected is None and distinct:
        named = ", ".join(map(repr, sorted(distinct, key=str)[:8]))
        message = f"the labels {named} do not follow a tagging scheme ({', '.join(_DETECTED)})"
        raise DataError(message)
    return read_chunks([parsed_tag(label) for label in labels], detected or "IOB", mode)


def in_iob2(labels: Sequence[str], scheme: str, mode: str = "conlleval") -> list[str]:
    """Return the labels in IOB2 that have the chunks of a label sequence; see `chunks`.

    Example:
        >>> from loglinear.schemes import in_iob2
        >>> in_iob2(["B-PER", "E-PER", "S-PER", "O"], "IOBES")
        ['B-PER', 'I-PER', 'B-PER', 'O']
    """
    return labels_of_chunks(chunks(labels, scheme, mode=mode), len(labels), "IOB2")


# First, inner and last tag of a longer chunk, and the tag of a chunk of one token, in each scheme.
_WRITTEN = {"IOB2": "BIIB", "IOB1": "IIII", "IOE2": "IIEE", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES"}


def labels_of_chunks(spans: Sequence[Chunk], n: int, scheme: str) -> list[str]:
    """Return the labels of a sentence with these chunks in a scheme; `chunks` is the inverse.

    Args:
        spans: chunks that do not overlap, from left to right.
        n: number of tokens.
        scheme: see `chunks`.

    Raises:
        OptionError: there is no such scheme.

    Example:
        >>> from loglinear.schemes import labels_of_chunks
        >>> labels_of_chunks([("PER", 0, 2), ("LOC", 3, 4)], 4, "IOBES")
        ['B-PER', 'E-PER', 'O', 'S-LOC']
    """
    name = checked_scheme((), scheme, "strict")
    if name is None:
        message = "scheme='none' has no labels for chunks; choose BIO, for instance"
        raise OptionError(message)
    first, inner, last, single = tuple(_WRITTEN[name])
    labels, before = ["O"] * n, ("", -1)
    for type_, start, end in spans:
        tags = single if end - start == 1 else first + inner * (end - start - 2) + last
        if first == "I" and last == "I" and before == (type_, start):  # in IOB1, B follows a chunk of its type
            tags = "B" + tags[1:]
        labels[start:end] = (f"{tag}-{type_}" if type_ else tag for tag in tags)
        before = (type_, end)
    return labels


def _distinct(labels: Iterable[object]) -> set[object]:
    """Return labels without repetitions; raise DataError if they are a string, or one of them is not a label."""
    if not isinstance(labels, (Set, Mapping)):
        check_ordered(labels, "the labels")
    listed = list(labels)
    check_comparable(listed, "the labels")
    return set(listed)


class ChunkRule(NamedTuple):
    """How mode "conlleval" reads chunks, as conditions on neighbouring labels out of a set.

    A chunk continues from one token to the next if the next label has the same type and does not begin a chunk after
    the label before it.

    Attributes:
        types: the type of each label; None for a label outside every chunk.
        begins: a byte for every pair of labels in a row, 1 if the second begins a chunk: first a byte for each label at
            the start of a sentence, then, for each label, a byte for each label after it.
    """

    types: tuple[str | None, ...]
    begins: bytes


@lru_cache(maxsize=32)
def chunk_rule(labels: tuple[str, ...]) -> ChunkRule | None:
    """Return the rule by which mode "conlleval" reads chunks from these labels; None if they follow no scheme."""
    if detect_scheme(labels) is None:
        return None
    parsed = [parsed_tag(label) for label in labels]

    def begins(*tags: tuple[str, str]) -> bool:
        return any(start == len(tags) - 1 for _, start, _ in _lenient(tags))

    firsts = [begins(tag) for tag in parsed]
    behind = [begins(before, tag) for before in parsed for tag in parsed]
    return ChunkRule(tuple(None if role == "O" else type_ for role, type_ in parsed), bytes([*firsts, *behind]))


def check_mode(mode: str) -> None:
    """Raise OptionError if there is no such mode."""
    if mode not in MODES:
        message = f"mode={mode!r} is not one of {', '.join(MODES)}{similar(mode, MODES)}"
        raise OptionError(message)


def found_scheme(labels: Iterable[object], mode: str) -> str | None:
    """Return the scheme of a label set by which a mode reads chunks; None if the labels follow none."""
    check_mode(mode)
    distinct = set(labels)
    detected = detect_scheme(distinct)
    tags = {str(label).partition("-")[0] for label in distinct} - {"O"}
    if mode == "strict" and detected == "IOB":
        return "IOB1" if tags == {"I"} else "IOB2"
    if mode == "strict" and detected == "IOBES" and tags <= _TAGS["IOE2"]:
        return "IOE2"
    return detected


def checked_scheme(labels: Iterable[object], scheme: str, mode: str) -> str | None:
    """Return the name of a scheme in a mode; None for "none", the scheme of labels that stand for no chunks.

    Raises:
        DataError: a label does not belong to the scheme.
        OptionError: there is no such scheme or mode.
    """
    check_mode(mode)
    if scheme.lower() == "none":
        return None
    name = _ALIASES.get(scheme.upper(), scheme.upper())
    name = _ALIASES_IN[mode].get(name, name)
    if name not in _TAGS:
        message = f"unknown tagging scheme {scheme!r}{similar(scheme, SCHEMES)}; choose from {', '.join(SCHEMES)}"
        raise OptionError(message)
    for label in sorted(labels, key=str):
        if label != "O" and str(label).partition("-")[0] not in _TAGS[name]:
            message = f"label {label!r} does not belong to the scheme {name}; leave out the scheme to have it detected"
            raise DataError(message)
    return name


def tags_of(scheme: str) -> frozenset[str]:
    """Return the tags of a scheme, besides O."""
    return _TAGS[_ALIASES.get(scheme, scheme)]


def is_tag(label: object) -> bool:
    """Whether a label belongs to any scheme."""
    return isinstance(label, str) and (label == "O" or label.partition("-")[0] in _ROLES)


def parsed_tag(label: str) -> tuple[str, str]:
    """Return the role and the type of a label that is a tag."""
    if label == "O":
        return "O", ""
    tag, _, type_ = label.partition("-")
    return _ROLES[tag], type_


def read_chunks(parsed: Sequence[tuple[str, str]], scheme: str | None, mode: str) -> list[Chunk]:
    """Return the chunks in roles and types of tokens; in mode "conlleval" the scheme does not matter."""
    return _lenient(parsed) if mode == "conlleval" else _strict(parsed, _PATTERNS[_pattern_name(scheme)])


def chunk_set(labels: Iterable[Any]) -> set[Chunk]:
    """Return the chunks of a sentence in mode "conlleval"; what is not a tag is outside every chunk."""
    return set(_lenient([*map(_tag_or_outside, labels)]))


@lru_cache(maxsize=4096)
def _tag_or_outside(label: object) -> tuple[str, str]:
    """Return the role and the type of a label; of the label outside chunks if it is not a tag."""
    return parsed_tag(str(label)) if is_tag(label) else ("O", "")


def _pattern_name(scheme: str | None) -> str:
    return scheme if scheme in _PATTERNS else "IOBES"


def _lenient(parsed: Sequence[tuple[str, str]]) -> list[Chunk]:
    spans: list[Chunk] = []
    start, open_type = -1, ""
    for i, (role, type_) in enumerate(parsed):
        if start >= 0 and (role in "OBS" or type_ != open_type):
            spans.append((open_type, start, i))
            start = -1
        if role == "O":
            continue
        if start < 0:
            start, open_type = i, type_
        if role in "ES":
            spans.append((open_type, start, i + 1))
            start = -1
    if start >= 0:
        spans.append((open_type, start, len(parsed)))
    return spans


def _strict(parsed: Sequence[tuple[str, str]], pattern: re.Pattern[str]) -> list[Chunk]:
    spans: list[Chunk] = []
    start = 0
    for (outside, type_), run in groupby(parsed, key=lambda tag: (tag[0] == "O", tag[1])):
        roles = "".join(role for role, _ in run)
        end = start + len(roles)
        if not outside:
            following = parsed[end][0].lower() if end < len(parsed) else ""
            matches = pattern.finditer(roles + following)
            spans += [(type_, start + match.start(), start + match.end()) for match in matches]
        start = end
    return spans
