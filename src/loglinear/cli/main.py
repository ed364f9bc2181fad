"""The command line: a file per command. Results go to stdout, progress and messages to stderr.

READS and WRITES of a command's module name its arguments that are files to read, and files to write.

Exit codes: 0 done, 1 failed, 2 misuse or bad input. Only the module of the command asked for is imported, and it
imports heavy libraries when it needs them: labelling one sentence takes less time than importing NumPy.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

from ..errors import ClusterError, DataWarning, LogLinearError, OptionError
from ..extras import needed_by
from ..memory import REMEDY, end_when_exhausted
from ..version import __version__
from .inputs import Inputs, take_inputs
from .output import Interrupted, say
from .places import check_places
from .wrapping import HelpFormatter, fitted

__all__ = ["COMMANDS", "command_parser", "main"]

COMMANDS = {
    "train": "train a CRF on labelled sentences, or a classifier on labelled samples or texts",
    "tag": "label a file; writes the input columns plus the predicted labels",
    "evaluate": "score a model on labelled data: accuracy, precision, recall and F1",
    "explain": "explain why each token has its label, feature by feature",
    "report": "write an HTML report about a model: scores, confusions, errors in context, calibration",
    "inspect": "show the contents of a model: features, labels, template, strongest weights, training",
    "select": "select features, or follow a regularisation path and pick its best model",
    "structure": "learn which columns of a table depend on each other, and draw the graph",
    "encode": "encode training data into a corpus on disk, which may be larger than memory",
    "convert": "convert models from and to the formats of CRFsuite, Wapiti and CRF++",
    "solvers": "list the solvers and what each needs, or the options of one",
    "presets": "list the built-in feature templates, or print one",
    "demo": "train a part-of-speech tagger on embedded data, evaluate it and tag a sentence",
    "doctor": "show versions, threads and optional packages, for bug reports and slow runs",
    "completion": "print a completion script for bash, zsh or fish",
}

# What `loglinear` alone says.
START = """loglinear trains and applies CRFs and classifiers.

  loglinear demo                    a tagger in seconds
  loglinear train FILE -m MODEL     train a model
  loglinear evaluate MODEL FILE     score it on other data
  loglinear tag MODEL FILE          label new data

`loglinear --help` lists all commands, and
`loglinear help COMMAND` explains one."""

# What people call the types of numbers.
_NUMBERS = {"int": "whole number", "float": "number"}


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines: what is wrong, with a suggestion, and where help is."""

    def error(self, message: str) -> NoReturn:
        """End with the message."""
        self.exit(2, fitted(f"{self.prog}: error: {message}\nsee `{self.prog} --help`\n", sys.stderr))

    def _get_value(self, action: argparse.Action, arg_string: str) -> object:
        # argparse's own message names types of Python.
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            kind = error.message.removeprefix("invalid ").partition(" value: ")[0]
            message = f"{arg_string!r} is not a {_NUMBERS.get(kind, kind)}"
            raise argparse.ArgumentError(action, message) from error

    def _check_value(self, action: argparse.Action, value: object) -> None:
        # argparse's own method has no suggestions.
        if action.choices is not None and value not in action.choices:
            from ..options import similar

            choices = [str(choice) for choice in action.choices]
            message = f"{value!r} is not one of {', '.join(choices)}{similar(str(value), choices)}"
            raise argparse.ArgumentError(action, message)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own method ignores errors of writing, such as a full disk.
        (file or sys.stderr).write(message)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors become one line on stderr."""
    arguments = sys.argv[1:] if arguments is None else arguments
    _prepare_streams()
    try:
        try:
            with warnings.catch_warnings(), _ended_by_signals():
                warnings.showwarning = _show_warning
                warnings.simplefilter("default", DataWarning)
                _run(arguments)
        finally:
            # Here, where a full disk can still be reported.
            sys.stdout.flush()
    except LogLinearError as error:
        _fail(error, 1 if isinstance(error, ClusterError) else 2)
    except BrokenPipeError:
        # The reader of stdout has gone (`| head`): print nothing more, not even when the interpreter flushes.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
        sys.exit(1)
    except OSError as error:
        misuse = isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError))
        _fail(f"{error.filename}: {error.strerror}" if error.filename else error, 2 if misuse else 1)
    except MemoryError as error:
        text = str(error)
        _fail(text if text.startswith("out of memory") else f"out of memory{': ' * bool(text)}{text}; {REMEDY}", 1)
    except ImportError as error:  # a library that does not fit into memory, or is damaged
        _fail(error, 1)
    except Interrupted as ended:
        say(f"loglinear: {ended}")
        sys.exit(1)
    except KeyboardInterrupt:
        _fail("interrupted", 1)
    except RuntimeError as error:
        _fail(error, 1)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["help"]:
        name = arguments[1:2]
        arguments = [*name, *(["--help"] if not name or name[0] in COMMANDS else [])]
    if not arguments or arguments[0] not in COMMANDS:
        _overview(arguments)
    with needed_by(f"`loglinear {arguments[0]}`"):
        module, parser = command_parser(arguments[0])
        _check_flags(parser, arguments[1:])
        # Flags may stand between the places, as in `tag MODEL --marginals FILE`.
        parsed, unknown = parser.parse_known_intermixed_args(arguments[1:])
        if unknown:
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        take_inputs(parser, parsed)
        check_places(parser, parsed, module.READS, module.WRITES)
        end_when_exhausted()
        try:
            module.run(parsed)
        except OptionError as error:
            raise OptionError(_with_flags(str(error), parser)) from error


def _with_flags(message: str, parser: argparse.ArgumentParser) -> str:
    """Return a message about options with the flags of a command in place of its parameters, such as l1=-1.0."""
    flags = {action.dest: _long_flag(action) for action in parser._actions if action.option_strings}

    def spelt(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if name not in flags:
            return match[0]
        return " ".join([flags[name], value.strip("'\"")])

    return re.sub(r"""(?<![\w-])(?:--)?(\w+)=('[^']*'|"[^"]*"|[-\w.+]+)(?=[\s,;)])""", spelt, message)


def _long_flag(action: argparse.Action) -> str:
    """Return the first long flag of an argument, or its first flag."""
    return next((flag for flag in action.option_strings if flag.startswith("--")), action.option_strings[0])


def command_parser(name: str) -> tuple[Any, argparse.ArgumentParser]:
    """Return the module of a command and its parser."""
    module = importlib.import_module(f".commands.{name}", __package__)
    parser = _Parser(
        prog=f"loglinear {name}",
        description=module.__doc__,
        epilog=module.EXAMPLE,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    module.configure(parser)
    parser.usage = f"{parser.prog} {_usage(parser)}"
    return module, parser


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return the places and the required flags of a command on a line."""
    inputs: Inputs | None = parser.get_default("inputs")
    words = [] if inputs is None else [inputs.usage]
    for action in parser._actions:
        if action.required and action.option_strings:
            words.append(f"{action.option_strings[0]} {action.metavar}")
        elif not action.option_strings and action.dest != "places":
            name = str(action.metavar or "|".join(map(str, action.choices or ())))
            words.append(name if action.required else f"[{name}]")
    return " ".join([*words, "[OPTIONS]"])


def _check_flags(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """End with an error of usage if a flag is unknown, before argparse asks for others that are missing."""
    flags = {flag: action for action in parser._actions for flag in action.option_strings}
    unknown: list[str] = []
    for at, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument.startswith("--") and argument.partition("=")[0] not in flags:
            unknown.append(argument)
            if "=" not in argument and at + 1 < len(arguments) and not arguments[at + 1].startswith("-"):
                unknown.append(arguments[at + 1])
    if unknown:
        names = [argument.partition("=")[0] for argument in unknown if argument.startswith("--")]
        advice = (
            _translated(unknown, {action.dest for action in flags.values()})
            or _of_other_commands(names)
            or _similar_flags(names, flags)
        )
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{advice}")


def _of_other_commands(names: list[str]) -> str:
    """Return which commands have the first of unknown flags that other commands have."""
    flags: dict[str, set[str]] = {}
    for command in COMMANDS:
        with suppress(ImportError):  # a command may need a package that this one does not
            flags[command] = {flag for action in command_parser(command)[1]._actions for flag in action.option_strings}
    for name in names:
        *others, last = [""] + [command for command, of_command in flags.items() if name in of_command]
        if last:
            commands = f"{', '.join(filter(None, others))} and {last}" if any(others) else last
            return f"; {name} is an option of {commands}"
    return ""


def _similar_flags(names: list[str], flags: Collection[str]) -> str:
    """Return a suggestion for the first of unknown flags that is similar to a flag."""
    from ..options import similar

    long_flags = {flag[2:]: flag for flag in flags if flag.startswith("--")}
    for name in names:
        if suggestion := similar(name[2:], long_flags):
            return suggestion.replace("did you mean ", "did you mean --")
    return ""


def _translated(unknown: list[str], parameters: Collection[str]) -> str:
    """Return flags of other programs among unknown arguments in the words of the command; empty if there are none."""
    from ..models.translations import hint
    from .options import flag

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


def _prepare_streams() -> None:
    """Write UTF-8 whatever the locale; with closed stdout results fail, with closed stderr messages are dropped."""
    if sys.stdout is None:
        sys.stdout = _unread()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    else:
        _drop_unwritable_messages()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


class _Dropping(io.FileIO):
    """The file of messages: what cannot be written is dropped, for the work that it reports on matters more."""

    def write(self, data: Any, /) -> int:
        """Write bytes, or drop them."""
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


class _Messages(io.TextIOWrapper):
    """Standard error without failures: the reader may have gone, or the disk of a log may be full."""

    def __init__(self) -> None:
        super().__init__(io.BufferedWriter(_Dropping(2, "w", closefd=False)), encoding="utf-8", line_buffering=True)


def _drop_unwritable_messages() -> None:
    """Let no command fail because its messages cannot be written."""
    try:
        number = sys.stderr.fileno()
    except (OSError, ValueError):  # a stream of the program that calls `main`
        return
    if number == 2 and not isinstance(sys.stderr, _Messages):
        sys.stderr = _Messages()


def _unread() -> TextIO:
    """Return as stdout a pipe without a reader, also for the native module: writing fails as after `| head`."""
    reading, writing = os.pipe()
    os.dup2(writing, 1)
    for number in {reading, writing} - {1}:
        os.close(number)
    return open(1, "w", encoding="utf-8", closefd=False)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP act like Ctrl-C, unless the process handles or ignores them (as under nohup)."""
    terminals = [number for number in (1, 2) if os.isatty(number)]

    def hang_up(number: int, frame: object) -> NoReturn:
        # The terminal has gone: drop messages, so that they cannot fail before the results are written.
        with open(os.devnull, "wb") as nowhere:
            for terminal in terminals:
                os.dup2(nowhere.fileno(), terminal)
        raise KeyboardInterrupt

    wanted = {"SIGTERM": signal.default_int_handler, "SIGHUP": hang_up}
    handlers = {getattr(signal, name): handler for name, handler in wanted.items() if hasattr(signal, name)}
    usual = [number for number in handlers if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in usual:
            signal.signal(number, handlers[number])
    except ValueError:  # not on the main thread, which alone receives signals
        usual = []
    try:
        yield
    finally:
        for number in usual:
            signal.signal(number, signal.SIG_DFL)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning of the library as one message, without the source line that raised it."""
    say(f"warning: {message}")


def _overview(arguments: list[str]) -> NoReturn:
    """Handle arguments without a command: help, the version, a mistake."""
    if not arguments:
        print(START, file=sys.stderr)
        sys.exit(2)
    width = max(map(len, COMMANDS))
    parser = _Parser(
        prog="loglinear",
        usage="loglinear COMMAND ...",
        description="Train, apply and inspect linear-chain CRFs and classifiers, and learn which columns of a table\n"
        "depend on each other.\n\ncommands:\n"
        + "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items()),
        epilog="`loglinear COMMAND --help` or `loglinear help COMMAND` explains a command, with an example.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"loglinear {__version__}")
    _, unknown = parser.parse_known_args(arguments)
    from ..options import similar

    parser.error(f"unknown command {unknown[0]!r}{similar(unknown[0], COMMANDS)}")


def _fail(message: object, code: int) -> NoReturn:
    say(f"loglinear: error: {message}")
    sys.exit(code)
