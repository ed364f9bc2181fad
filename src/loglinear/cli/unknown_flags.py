"""Advice on flags that a command does not have: flags of other programs, of other commands, and slips of the pen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..models.translations import hint
from ..options import similar
from .options import flag

__all__ = ["advice"]

# Flags that no command has for every kind of model, or under this name, and what to do.
_IN_PYTHON = {
    **dict.fromkeys(("--n-jobs", "--n_jobs", "--nthread", "--num-threads"), "use --threads N"),
    "--sample-weight": "use sample_weight in Python: fit(X, y, sample_weight=...)",
    "--cv": "use --l1 cv or --l2 cv of train, with --folds N",
    "--model-type": "--model-type is an option of train; select trains CRFs, and in Python MaxEnt(l1='cv') and "
    "path(...) select features of classifiers",
    "--path": "--path is an option of select, which trains CRFs; in Python, path(...) is for classifiers, too",
}


def advice(
    unknown: Sequence[str], flags: Collection[str], parameters: Collection[str], commands: Mapping[str, Collection[str]]
) -> str:
    """Return what may be meant by unknown flags, as the end of a message; empty if nothing is similar.

    Args:
        unknown: the flags, each followed by its value if it has one.
        flags: of the command.
        parameters: names of the command's parameters.
        commands: the flags of every command.
    """
    names = [argument.partition("=")[0] for argument in unknown if argument.startswith("--")]
    return (
        _translated(unknown, parameters)
        or _of_python(names)
        or _of_other_commands(names, commands)
        or _similar_flags(names, flags)
    )


def _of_python(names: Sequence[str]) -> str:
    """Return how Python does what the first of unknown flags asks for, if no command does it for every model."""
    return next((f"; {_IN_PYTHON[name]}" for name in names if name in _IN_PYTHON), "")


def _of_other_commands(names: Sequence[str], flags: Mapping[str, Collection[str]]) -> str:
    """Return which commands have the first of unknown flags that any command has."""
    for name in names:
        *others, last = [""] + [command for command, of_command in flags.items() if name in of_command]
        if last:
            commands = f"{', '.join(filter(None, others))} and {last}" if any(others) else last
            return f"; {name} is an option of {commands}"
    return ""


def _similar_flags(names: Sequence[str], flags: Collection[str]) -> str:
    """Return a suggestion for the first of unknown flags that is similar to a flag."""
    long_flags = {flag[2:]: flag for flag in flags if flag.startswith("--")}
    for name in names:
        if suggestion := similar(name[2:], long_flags):
            return suggestion.replace("did you mean ", "did you mean --")
    return ""


def _translated(unknown: Sequence[str], parameters: Collection[str]) -> str:
    """Return flags of other programs among unknown arguments in the words of the command; empty if there are none."""
    flags: dict[str, object] = {}
    for at, argument in enumerate(unknown):
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            if not equals and at + 1 < len(unknown) and not unknown[at + 1].startswith("--"):
                value = unknown[at + 1]
            flags[name.replace("-", "_")] = _number_or_text(value) if value else True

    def spelt(name: str, value: object) -> str:
        if isinstance(value, dict):  # options of the solver
            return " ".join(f"-p {option}={setting}" for option, setting in value.items())
        return flag(name) if value is True else f"{flag(name)} {value}"

    return hint(flags, parameters, spelt)


def _number_or_text(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
