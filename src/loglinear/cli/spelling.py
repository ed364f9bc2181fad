"""Messages of the library in the words of the command line: flags in place of parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["as_flags", "flags_alone", "with_commands"]

_QUOTE = "'"
# A parameter, perhaps with a value or two, or the two of development data, followed by a flag in parentheses. A verb
# before the parameter is one for its value, and not for a flag to leave out.
_BOTH = re.compile(
    r"\b(?:(set|give|use) )?(?:X_dev and )?(\w+)(?:=((?:'[^']*'|\[[^\]]*\]|[^\s(]+)(?: or '[^']*')*))? "
    r"\((leave out )?(--[^()]+)\)"
)
# A parameter with a value, such as l1=-1.0; or with a number by label, such as class_weight={'O': -1.0}; or with the
# number of one label, such as class_weight['O']=-1.0.
_PARAMETER = re.compile(
    r"""(?<![\w-])(?:--)?(\w+)(\['[^']*'\])?=('[^']*'|"[^"]*"|\{[^{}]*\}|\{[^{}]*\.\.\.|[-\w.+]+)(?=[\s,;)]|$)"""
)
_LEFT_OUT = re.compile(r"\bleave out (\w+)")
# A parameter without a value that a message is about, or that something is not available with.
_NAMED = re.compile(r"(?:^|(?<=with ))(penalty_factor|signs|l1_groups)(?=[:;])")


# What to do with a model file of another kind, by what the library says.
_OPENERS = {
    "; open it with loglinear.ChainCRF": "; leave out --model-type maxent",
    "; open it with loglinear.MaxEnt": "; add --model-type maxent",
    "; open it with loglinear.TextClassifier": "; add --model-type maxent --format text",
    "; open it with loglinear.PairwiseMRF": "; networks are trained by `loglinear structure`",
    ", not on texts; open it with loglinear.MaxEnt": ", not on texts; give a model that was trained with --format text",
}


def with_commands(message: str) -> str:
    """Return a message about a model of another kind with the flags of `loglinear train` in place of an estimator.

    Example:
        >>> from loglinear.cli.spelling import with_commands
        >>> with_commands("m: a classifier, not a chain model; open it with loglinear.MaxEnt")
        'm: a classifier, not a chain model; add --model-type maxent'
    """
    for ending in sorted(_OPENERS, key=len, reverse=True):
        if message.endswith(ending):
            return message.removesuffix(ending) + _OPENERS[ending]
    return message


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
        >>> flags_alone("set fit_intercept=True (leave out --no-intercept)")
        'leave out --no-intercept'
    """

    def flag_alone(match: re.Match[str]) -> str:
        verb, parameter, value, left_out, flag = match.groups()
        name = re.split("[ =]", flag)[0].lstrip("-").replace("-", "_").removeprefix("no_")
        if name != parameter.removeprefix("y_").removeprefix("fit_"):
            return match[0]
        if left_out is not None:
            return f"{left_out}{flag}"
        is_whole = value in (None, "True", "False") or re.search("[ =]", flag)
        return f"{verb} " * (verb is not None) + (flag if is_whole else f"{flag} {value.replace(_QUOTE, '')}")

    return _BOTH.sub(flag_alone, message)


def as_flags(message: str, flags: Mapping[str, Sequence[str]]) -> str:
    """Return a message about options with the flags of a command in place of parameters.

    The parameters are those with a value, and those to leave out.

    Args:
        message: of an OptionError.
        flags: the flags of each parameter; none for a place.

    Example:
        >>> from loglinear.cli.spelling import as_flags
        >>> as_flags("l1=-1.0 is not a valid penalty", {"l1": ["--l1"]})
        '--l1 -1.0 is not a valid penalty'
        >>> as_flags("tfidf=True needs texts; leave out tfidf", {"tfidf": ["--tfidf"]})
        '--tfidf needs texts; leave out --tfidf'
        >>> as_flags("class_weight={'O': 2.0} is too much", {"class_weight": ["--class-weight"]})
        '--class-weight O=2 is too much'
    """

    def flag_of(name: str) -> str | None:
        spellings = flags.get(name, ())
        return next((flag for flag in spellings if flag.startswith("--")), spellings[0] if spellings else None)

    def spelt(match: re.Match[str]) -> str:
        flag, label, value = flag_of(match[1]), match[2], match[3]
        if flag is None:
            return match[0]
        if label is not None:
            return f"{flag} {label[2:-2]}={value}"
        if value.startswith("{"):
            return " ".join([f"{flag} {key}={number:g}" for key, number in _numbers(value).items()]) or flag
        return flag if value == "True" else " ".join([flag, value.strip("'\"")])

    def left_out(match: re.Match[str]) -> str:
        return f"leave out {flag_of(match[1]) or match[1]}"

    message = _LEFT_OUT.sub(left_out, _PARAMETER.sub(spelt, flags_alone(message)))
    return _NAMED.sub(lambda match: flag_of(match[1]) or match[1], message)


def _numbers(text: str) -> dict[object, float]:
    """Return the numbers by label that a text shows as a dict; none if the text is cut short."""
    from ast import literal_eval

    try:
        return dict(literal_eval(text))
    except (SyntaxError, ValueError):
        return {}
