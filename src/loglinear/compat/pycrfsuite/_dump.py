"""A model as CRFsuite's text, and as the dicts that python-crfsuite makes of this text.

Both come from the bytes of a `.crfsuite` file: a header, features, two tables of names (constant databases), and for
each label and each attribute the numbers of its features. The module imports little, to load fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

__all__ = ["ParsedDump", "dumped", "parsed"]

_HEADER = Struct("<4sI4sIIII5I")
_FIELDS = (
    *("magic", "size", "type", "version", "num_features", "num_labels", "num_attrs"),
    *("off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs"),
)
_CHUNK = Struct("<4sII")  # name, bytes, number of entries
_TABLE = Struct("<4s5I")  # name, bytes, flag, mark of the byte order, names, place of the names' places
_FEATURE = Struct("<IIId")  # type, attribute or label before, label, weight
_NUMBER = Struct("<I")
_PAIR = Struct("<II")


class ParsedDump:
    """What `Tagger.info` tells of a model.

    Attributes:
        header: the fields of the file's header, as texts.
        labels: {label: its number, as text}.
        attributes: {attribute: its number, as text}.
        transitions: {(label from, label to): weight}.
        state_features: {(attribute, label): weight}.

    Example:
        >>> from loglinear.compat.pycrfsuite._dump import ParsedDump
        >>> ParsedDump().transitions
        {}
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class _File(NamedTuple):
    """The content of a `.crfsuite` file; the features are lines of type, name before, label, weight."""

    header: dict[str, str]
    labels: list[bytes]
    attributes: list[bytes]
    transitions: Iterator[tuple[int, bytes, bytes, str]]
    state_features: Iterator[tuple[int, bytes, bytes, str]]


def parsed(file: bytes) -> ParsedDump:
    """Return the content of a `.crfsuite` file by name."""
    content, dump = _read(file), ParsedDump()
    dump.header = content.header
    dump.labels = {name.decode(): str(number) for number, name in enumerate(content.labels)}
    dump.attributes = {name.decode(): str(number) for number, name in enumerate(content.attributes)}
    for _, before, label, weight in content.transitions:
        dump.transitions[before.decode(), label.decode()] = float(weight)
    for _, attribute, label, weight in content.state_features:
        dump.state_features[attribute.decode(), label.decode()] = float(weight)
    return dump


def dumped(file: bytes) -> Iterator[bytes]:
    """Yield the lines of CRFsuite's dump of a `.crfsuite` file."""
    content = _read(file)
    yield b"FILEHEADER = {\n"
    yield from (f"  {name}: {value}\n".encode() for name, value in content.header.items())
    for title, names in (("LABELS", content.labels), ("ATTRIBUTES", content.attributes)):
        yield f"}}\n\n{title} = {{\n".encode()
        yield from (b"  %5d: %s\n" % (number, name) for number, name in enumerate(names))
    for title, features in (("TRANSITIONS", content.transitions), ("STATE_FEATURES", content.state_features)):
        yield f"}}\n\n{title} = {{\n".encode()
        yield from (b"  (%d) %s --> %s: %s\n" % (*feature[:3], feature[3].encode()) for feature in features)
    yield b"}\n\n"


def _read(file: bytes) -> _File:
    header = dict(zip(_FIELDS, _HEADER.unpack_from(file), strict=True))
    labels = _names(file, header["off_labels"], header["num_labels"])
    attributes = _names(file, header["off_attrs"], header["num_attrs"])
    first = header["off_features"] + _CHUNK.size

    def features(refs: int, owners: list[bytes], sources: list[bytes]) -> Iterator[tuple[int, bytes, bytes, str]]:
        for owner in range(len(owners)):
            (at,) = _NUMBER.unpack_from(file, refs + _CHUNK.size + 4 * owner)
            (count,) = _NUMBER.unpack_from(file, at)
            for place in range(at + 4, at + 4 + 4 * count, 4):
                (number,) = _NUMBER.unpack_from(file, place)
                kind, source, label, weight = _FEATURE.unpack_from(file, first + _FEATURE.size * number)
                yield kind, sources[source], labels[label], f"{weight:.6f}"

    return _File(
        {name: _field(name, value) for name, value in header.items()},
        labels,
        attributes,
        features(header["off_labelrefs"], labels, labels),
        features(header["off_attrrefs"], attributes, attributes),
    )


def _field(name: str, value: bytes | int) -> str:
    if isinstance(value, bytes):
        return value.decode("ascii")
    return f"0x{value:X}" if name.startswith("off_") else str(value)


def _names(file: bytes, start: int, count: int) -> list[bytes]:
    """Return the names in a table, which gives the place of each from the table's start on."""
    *_, places = _TABLE.unpack_from(file, start)
    names = []
    for number in range(count):
        (place,) = _NUMBER.unpack_from(file, start + places + 4 * number)
        _, length = _PAIR.unpack_from(file, start + place)
        text = start + place + _PAIR.size
        names.append(file[text : text + length - 1])  # without the NUL at its end
    return names
