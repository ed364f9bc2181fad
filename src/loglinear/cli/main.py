"""The command line: a file per command. Results go to stdout, progress and messages to stderr.

READS and WRITES of a command's module name its arguments that are files to read, and files to write.

Exit codes: 0 done, 1 failed, 2 misuse or bad input. Only the module of the command asked for is imported, and it
imports heavy libraries when it needs them: labelling one sentence takes less time than importing NumPy.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

from ..errors import ClusterError, LogLinearError, OptionError
from ..extras import needed_by
from ..memory import REMEDY, end_when_exhausted
from ..version import __version__
from .inputs import Inputs, take_inputs
from .output import Interrupted, say
from .places import check_places
from .spelling import as_flags, flags_alone, with_commands
from .wrapping import HelpFormatter, fitted

__all__ = ["COMMANDS", "command_parser", "main"]

COMMANDS = {
    "train": "train a CRF on labelled sentences, or a classifier on labelled samples or texts",
    "tag": "label a file; writes the input columns plus the predicted labels",
    "evaluate": "score a model on labelled data: accuracy, precision, recall and F1",
    "explain": "explain why each token has its label, feature by feature",
    "report": "write an HTML report about a model: scores, confusions, errors in context, calibration",
    "inspect": "show the contents of a model: features, labels, template, strongest weights, training",
    "calibrate": "correct how sure a model is of its answers, on labelled data",
    "audit": "find labels of training data that are probably wrong, and correct them",
    "rank": "choose which unlabelled sentences or texts to label next",
    "serve": "serve a tagger on this machine: a page to try it, and a JSON API",
    "select": "select features, or follow a regularisation path and pick its best model",
    "structure": "learn which columns of a table depend on each other, and draw the graph",
    "table": "fit a log-linear model to a contingency table, test it and choose interactions",
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

# How argparse begins a message about arguments that are missing.
_MISSING = "the following arguments are required: "
# What to do about mistakes, by the beginning of their messages.
_REMEDIES = {
    "argument --l1: 'cv' is not": "`loglinear train --l1 cv` chooses the strength by cross-validation; to "
    "follow a path, use `loglinear select --path`",
    "argument --probabilities: expected": "give token, span or sequence; for a classifier, use --marginals",
    "argument --probabilities: '": "for a classifier, use --marginals",
}

# What people call the types of numbers.
_NUMBERS = {"int": "whole number", "float": "number"}


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines: what is wrong, with a suggestion, and where help is."""

    def __init__(self, *args: Any, files: Collection[str] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self.files = files
        self.register("action", None, _Stored)
        self.register("action", "store", _Stored)

    def error(self, message: str) -> NoReturn:
        """End with the message."""
        if (names := message.removeprefix(_MISSING)) != message:
            message = f"add {', '.join(map(self._spelt, names.split(', ')))}"
        message += "".join(f"; {remedy}" for start, remedy in _REMEDIES.items() if message.startswith(start))
        self.exit(2, fitted(f"{self.prog}: error: {message}\nsee `{self.prog} --help`\n", sys.stderr))

    def _spelt(self, name: str) -> str:
        """Return an argument that argparse says is missing as a user gives it, with its help."""
        for action in self._actions:
            if name == "/".join(action.option_strings):
                return f"{action.option_strings[0]} {action.metavar} ({str(action.help).partition(';')[0]})"
        return name

    def _get_value(self, action: argparse.Action, arg_string: str) -> object:
        # argparse's own message names types of Python.
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            kind, is_pythons, _ = error.message.removeprefix("invalid ").partition(" value: ")
            if not is_pythons:
                raise
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


class _Stored(argparse.Action):
    """Store a value. A flag that is given twice with different values is an error: one of them would have no effect."""

    # The value that the flag has been given, as a tuple.
    stored: tuple[object, ...] = ()

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        if option is not None and isinstance(parser, _Parser):
            is_file = self.dest in parser.files
            if self.stored and (is_file or self.stored != (values,)):
                parser.error(f"{option} is given twice, {_words(self.stored[0])} and {_words(values)}; give it once")
            self.stored = (values,)
        setattr(namespace, self.dest, values)


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors become one line on stderr."""
    arguments = sys.argv[1:] if arguments is None else arguments
    _prepare_streams()
    try:
        try:
            with warnings.catch_warnings(), _ended_by_signals():
                warnings.showwarning = _show_warning
                warnings.simplefilter("default", UserWarning)  # also under -W error
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
        _fail(_told(error), 2 if misuse else 1)
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
            is_html = getattr(parsed, "html", None) is True and len(unknown) == 1
            remedy = f"; to write the page to a file, add -o {unknown[0]}" if is_html else ""
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{remedy}")
        take_inputs(parser, parsed)
        check_places(parser, parsed, module.READS, module.WRITES)
        end_when_exhausted()
        try:
            with _sentences_up_to(getattr(parsed, "max_sentence", None)):
                module.run(parsed)
        except OptionError as error:
            flags = {action.dest: action.option_strings for action in parser._actions}
            raise OptionError(as_flags(str(error), flags)) from error


@contextmanager
def _sentences_up_to(size: int | None) -> Iterator[None]:
    """Read sentences of files up to a size in MiB; None for the default."""
    if size is None:
        yield
        return
    from ..data.sentence_size import set_max_sentence

    set_max_sentence(size)
    try:
        yield
    finally:
        set_max_sentence()


def command_parser(name: str) -> tuple[Any, argparse.ArgumentParser]:
    """Return the module of a command and its parser."""
    module = importlib.import_module(f".commands.{name}", __package__)
    parser = _Parser(
        prog=f"loglinear {name}",
        description=module.__doc__,
        epilog=module.EXAMPLE,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        files={*module.READS, *module.WRITES, "model", "data", "output"},
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
        from .unknown_flags import advice

        parameters = {action.dest for action in flags.values()}
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{advice(unknown, flags, parameters, _all_flags())}")


def _all_flags() -> dict[str, set[str]]:
    """Return the flags of each command; commands are left out whose packages are not installed."""
    flags: dict[str, set[str]] = {}
    for name in COMMANDS:
        with suppress(ImportError):
            flags[name] = {flag for action in command_parser(name)[1]._actions for flag in action.option_strings}
    return flags


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


# Errors of writing: no space, a quota, a limit of the size of files, a failing device.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


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
    say(f"warning: {flags_alone(str(message))}")


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


def _told(error: OSError) -> str:
    """Return what a system's error means for a user: the file, the reason and, where there is one, a remedy."""
    if not error.filename:
        # Files are written under their names; Python's stdout has none.
        return f"<stdout>: {error.strerror}" if error.errno in _FULL else str(error)
    path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else str(error.filename)
    if isinstance(error, IsADirectoryError):
        return f"{path}: a folder, not a file; give the name of a file"
    suggestion = ""
    if isinstance(error, FileNotFoundError):
        from ..options import similar

        folder, name = os.path.split(path)
        with suppress(OSError):
            suggestion = similar(name, os.listdir(folder or "."))
    return f"{path}: {error.strerror}{suggestion}"


def _fail(message: object, code: int) -> NoReturn:
    say(f"loglinear: error: {with_commands(flags_alone(str(message)))}")
    sys.exit(code)
