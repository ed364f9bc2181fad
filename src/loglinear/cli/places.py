"""Files that a command reads and writes: none of them may be written over another."""

from __future__ import annotations

import os
import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from ..errors import DataError, OptionError

__all__ = ["EXTENSIONS", "check_model_name", "check_places"]

# File extensions of models with the formats that they stand for.
EXTENSIONS = {".crfsuite": "crfsuite", ".wapiti": "wapiti", ".uai": "uai", ".loglinear": "loglinear"}

# Places that are standard output.
_STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
# Arguments that are models.
# Formats whose output may be a folder, which may exist.
_FOLDERS = ("brat", "webanno")
_MODELS = ("model", "other", "start", "prior", "committee")


def check_places(parser: ArgumentParser, arguments: Namespace, reads: Sequence[str], writes: Sequence[str]) -> None:
    """Check files before the work is done.

    No file may be both read and written, or written twice; a model is not data; outputs have to be writable.

    Args:
        parser: of the command; says what users call an argument.
        arguments: of the command line.
        reads: names of the arguments that hold a file to read, or several, or `-` for standard input.
        writes: names of the arguments that hold a file to write, or `-` for standard output.

    Raises:
        OptionError: two arguments are the same file, several are stdin, or a file cannot be written or has the name of
            another format.
        DataError: a file to read, other than the arguments in `_MODELS`, is a model.
    """
    from ..data.writing import check_writable

    spelt = {
        action.dest: action.metavar if "--data" in action.option_strings else _flag(action)
        for action in parser._actions
    }
    seen = [(name, path) for name in reads for path in _paths(getattr(arguments, name))]
    _check_read(seen, spelt)
    on_stdout = [spelt[name] for name in writes if getattr(arguments, name) in _STDOUT]
    if len(on_stdout) > 1:
        message = f"{on_stdout[0]} and {on_stdout[1]} would both be written to stdout; give one of them a file"
        raise OptionError(message)
    for name in writes:
        path = getattr(arguments, name)
        if path in (None, "-", ""):
            continue
        for other, place in seen:
            if _is_same(path, place):
                does = "reads" if other in reads else "writes"
                message = (
                    f"{spelt[name]} {path} would overwrite the file that {spelt[other]} {does}; choose another name"
                )
                raise OptionError(message)
        if os.path.isdir(path) and getattr(arguments, "to", None) in _FOLDERS:
            continue
        check_writable(path)
        if name in _MODELS:
            check_model_name(path)
        seen.append((name, path))


def _check_read(seen: Sequence[tuple[str, str]], spelt: Mapping[str, object]) -> None:
    """Raise DataError if a file of data is a model, and OptionError if several files are stdin."""
    from ..models.files.settings import kind_of

    for name, path in seen:
        if name not in _MODELS and os.path.isfile(path) and kind_of(path) is not None:
            message = f"{path}: a loglinear model, not data; give a data file"
            raise DataError(message)
    on_stdin = [str(spelt[name]) for name, path in seen if path == "-"]
    if len(on_stdin) > 1:
        message = f"{' and '.join(dict.fromkeys(on_stdin))} would read stdin more than once; give a file instead"
        raise OptionError(message)


def check_model_name(path: str) -> None:
    """Raise OptionError if a model to write is a named pipe, or has the extension of another program's models."""
    from ..data.writing import is_named_pipe

    if is_named_pipe(path):
        message = f"{path}: a named pipe; a model is replaced as a whole: give the name of a file"
        raise OptionError(message)
    root, extension = os.path.splitext(path)
    if EXTENSIONS.get(extension, "loglinear") != "loglinear":
        message = (
            f"{path}: the model will have loglinear's format; write {root}.loglinear, then run "
            f"`loglinear convert {root}.loglinear {path}`"
        )
        raise OptionError(message)


def _flag(action: Action) -> str | None:
    """Return the first long flag of an argument; without flags, its name for users."""
    flags = [flag for flag in action.option_strings if flag.startswith("--")]
    return flags[0] if flags else str(action.metavar)


def _paths(argument: str | list[str] | None) -> list[str]:
    """Return the files that an argument names; patterns in a list of files are expanded."""
    if argument is None or isinstance(argument, str):
        return [] if argument is None else [argument]
    from glob import glob

    return [path for name in argument for path in (glob(name) or [name])]


def _is_same(path: str, other: str) -> bool:
    """Whether two names are names of one file; devices and pipes can be shared."""
    if os.path.exists(path) and not os.path.isfile(path):
        return False
    try:
        return os.path.samefile(path, sys.stdin.fileno() if other == "-" else other)
    except (OSError, ValueError, AttributeError):  # one does not exist yet, or standard input is closed
        return other != "-" and os.path.realpath(path) == os.path.realpath(other)
