"""Messages of the library in the words of the command line: flags in place of parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["as_flags", "flags_alone"]

_QUOTE = "'"
# A parameter, perhaps with a value or two, or the two of development data, followed by a flag in parentheses.
_BOTH = re.compile(r"\b(?:X_dev and )?(\w+)(?:=((?:'[^']*'|\[[^\]]*\]|[^\s(]+)(?: or '[^']*')*))? \((--[^()]+)\)")
# A parameter with a value, such as l1=-1.0.
_PARAMETER = re.compile(r"""(?<![\w-])(?:--)?(\w+)=('[^']*'|"[^"]*"|[-\w.+]+)(?=[\s,;)])""")


def flags_alone(message: str) -> str:
    """Return a message with the flag alone where a parameter and its flag are given.

    Example:
        >>> from loglinear.cli.spelling import flags_alone
        >>> flags_alone("choose words='blanks' (--words blanks), or lower min_count (--min-count)")
        'choose --words blanks, or lower --min-count'
        >>> flags_alone("pass missing=['-', -9] (--missing=-,-9)")
        'pass --missing=-,-9'
        >>> flags_alone("give X_dev and y_dev (--dev)")
        'give --dev'
    """

    def flag_alone(match: re.Match[str]) -> str:
        parameter, value, flag = match[1], match[2], match[3]
        if re.split("[ =]", flag)[0].lstrip("-").replace("-", "_") != parameter.removeprefix("y_"):
            return match[0]
        return flag if value in (None, "True") or re.search("[ =]", flag) else f"{flag} {value.replace(_QUOTE, '')}"

    return _BOTH.sub(flag_alone, message)


def as_flags(message: str, flags: Mapping[str, Sequence[str]]) -> str:
    """Return a message about options with the flags of a command in place of parameters with a value.

    Args:
        message: of an OptionError.
        flags: the flags of each parameter; none for a place.

    Example:
        >>> from loglinear.cli.spelling import as_flags
        >>> as_flags("l1=-1.0 is not a valid penalty", {"l1": ["--l1"]})
        '--l1 -1.0 is not a valid penalty'
    """

    def spelt(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        spellings = flags.get(name, ())
        if not spellings:
            return match[0]
        flag = next((flag for flag in spellings if flag.startswith("--")), spellings[0])
        return " ".join([flag, value.strip("'\"")])

    return _PARAMETER.sub(spelt, flags_alone(message))
