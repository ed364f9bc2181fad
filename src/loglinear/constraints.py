"""Constraints: which labels may follow each other, and begin and end a sentence, by a tagging scheme or by pairs.

The module imports the standard library alone, to load fast.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from .errors import DataError, OptionError
from .schemes import checked_scheme, detect_scheme, is_tag, parsed_tag

__all__ = ["check_constraints", "forbidden_pairs", "resolved"]

Constraints = str | Sequence[tuple[Any, Any]] | None
"""Name of a scheme, "auto" or "none", or pairs (from, to) that are forbidden, None for the edge of the sentence."""

# Name -> scheme.
_SCHEMES = {
    "BIO": "BIO",
    "IOB2": "BIO",
    "IOB1": "IOB1",
    "IOBES": "IOBES",
    "BIOES": "IOBES",
    "BILOU": "BILOU",
    "BMES": "BMES",
}
_REMEDY = (
    "give auto, BIO, IOB1, IOBES, BILOU, BMES or none; or, in Python, a list of forbidden pairs (from, to) of labels, "
    "with None for the start or the end of a sentence"
)

Tag = tuple[str, str]


def check_constraints(name: str, value: Any) -> None:
    """Raise OptionError if the value of an option is no constraints: neither a name nor pairs of labels."""
    if value is None or (isinstance(value, str) and (value.upper() in _SCHEMES or value.lower() in ("auto", "none"))):
        return
    is_list = isinstance(value, (list, tuple, set, frozenset))
    if not is_list or not all(map(_is_pair, value)):
        message = f"{name}={value!r} stands for no constraints; {_REMEDY}"
        raise OptionError(message)
    if any(pair[0] is None and pair[1] is None for pair in value):
        message = f"{name}: the pair (None, None) has no label; {_REMEDY}"
        raise OptionError(message)


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(label, Hashable) for label in pair)


def resolved(
    value: Constraints, labels: Sequence[Any], sequences: Iterable[Sequence[Any]] | None = None
) -> Constraints:
    """Return constraints as a scheme's name other than "auto", as a list of pairs, or as None for no constraints.

    "auto" is the scheme that the labels follow, and no constraints if they follow none. IOB1 and IOB2 (BIO) have the
    same labels: they are IOB1 if a chunk of the sequences begins with I behind O or another type, or without sequences
    if a type has a label I and no label B.

    Args:
        value: constraints as they were given.
        labels: the labels.
        sequences: labels of sentences; labels that are not known, or known in part, are passed over.
    """
    if not isinstance(value, str):
        # Lists, as JSON has them: constraints are compared with those of a model's file.
        return None if value is None else [[before, after] for before, after in value]  # type: ignore[misc]
    if value.lower() == "none":
        return None
    if value.lower() != "auto":
        return _SCHEMES[value.upper()]
    scheme = detect_scheme(labels)
    if scheme != "IOB":
        return scheme
    if sequences is None:
        begun, inside = ({type_ for role, type_ in map(parsed_tag, labels) if role == each} for each in "BI")
        return "BIO" if inside <= begun else "IOB1"
    return "BIO" if all(map(_follows_bio, sequences)) else "IOB1"


def _follows_bio(sequence: Sequence[Any]) -> bool:
    # Behind a label that is not known any label may stand.
    before: Tag | None = None
    is_known = True
    for label in sequence:
        tag = parsed_tag(label) if is_tag(label) else None
        if is_known and tag is not None and not _bio(before, tag):
            return False
        before, is_known = tag, tag is not None
    return True


def _bio(before: Tag | None, after: Tag | None) -> bool:
    """Whether I stands behind B or I of its type alone."""
    return after is None or after[0] != "I" or (before is not None and before[0] in "BI" and before[1] == after[1])


def _iob1(before: Tag | None, after: Tag | None) -> bool:
    """Whether B stands behind a chunk of its type alone."""
    return after is None or after[0] != "B" or (before is not None and before[0] in "BI" and before[1] == after[1])


def _iobes(before: Tag | None, after: Tag | None) -> bool:
    """Whether a chunk that has begun and not ended goes on, and no other."""
    is_open = before is not None and before[0] in "BI"
    goes_on = after is not None and after[0] in "IE"
    return is_open == goes_on and (not is_open or before[1] == after[1])  # type: ignore[index]


_ALLOWED: dict[str, Callable[[Tag | None, Tag | None], bool]] = {"BIO": _bio, "IOB1": _iob1}


def forbidden_pairs(value: Constraints, labels: Sequence[Any]) -> list[tuple[int | None, int | None]] | None:
    """Return the pairs of labels that constraints forbid, by the labels' numbers; None if there are no constraints.

    Args:
        value: constraints, resolved (see `resolved`).
        labels: the labels.

    Raises:
        OptionError: a pair has an unknown label, or a label is no tag of the scheme.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _of_scheme(value, labels)
    # Labels are compared by their names: those of a model's file are names.
    numbers = {str(label): number for number, label in enumerate(labels)}
    unknown = [label for pair in value for label in pair if label is not None and str(label) not in numbers]
    if unknown:
        known = ", ".join(map(repr, labels[:8])) + (", ..." if len(labels) > 8 else "")
        message = f"constraints: there is no label {unknown[0]!r}; the labels are {known}"
        raise OptionError(message)
    pairs = {(before, after): None for before, after in value}
    return [tuple(None if label is None else numbers[str(label)] for label in pair) for pair in pairs]  # type: ignore[misc]


def _of_scheme(scheme: str, labels: Sequence[Any]) -> list[tuple[int | None, int | None]]:
    try:
        checked_scheme(labels, scheme, "strict")
    except DataError as error:
        message = f"constraints={scheme!r}: {str(error).partition(';')[0]}; {_REMEDY}"
        raise OptionError(message) from error
    allowed = _ALLOWED.get(scheme, _iobes)
    parsed = [(number, parsed_tag(label)) for number, label in enumerate(labels)]
    edge: list[tuple[int | None, Tag | None]] = [(None, None)]
    return [
        (before, after)
        for before, first in [*edge, *parsed]
        for after, second in [*edge, *parsed]
        if (before, after) != (None, None) and not allowed(first, second)
    ]
