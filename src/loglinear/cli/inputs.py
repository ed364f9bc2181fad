"""The files that a command works on: in their places, as in `MODEL FILE`, or by flags, as in `-m MODEL --data FILE`."""

from __future__ import annotations

import os
from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from argparse import _ActionsContainer as Arguments

__all__ = ["Inputs", "add_data", "add_inputs", "is_model", "take_inputs"]


class Inputs(NamedTuple):
    """How a command takes its files.

    Attributes:
        usage: the places as the help shows them.
        model: whether the first place is a model, unless -m gives it.
        data: the argument that the other place or places stand for; None for a command that takes only a model.
        flag: the flag that stands for the same argument.
        default: value of `data` if it is not given; None if it is required.
        several: whether `data` is a list of files.
        other: the argument that a second model stands for, between the first one and the data; None if there is none.
    """

    usage: str
    model: bool
    data: str | None
    flag: str = "--data"
    default: str | None = None
    several: bool = False
    other: str | None = None


def add_inputs(parser: ArgumentParser, inputs: Inputs, help: str = "", *, model: str = "model file") -> None:
    """Add a model, and the data or output of a command if it has any, in their places and as flags.

    Args:
        parser: of the command.
        inputs: the files.
        help: of the data or output.
        model: help of the model.
    """
    _add_place(parser, "MODEL", model)
    parser.add_argument("-m", "--model", metavar="MODEL", help="MODEL as a flag")
    if inputs.other is not None:
        _add_place(parser, "OTHER", "second model, to compare with the first one")
        parser.add_argument("--other", dest=inputs.other, metavar="MODEL", help="OTHER as a flag")
    if inputs.data is not None:
        _add_place(parser, "FILE", help)
        flags = [inputs.flag] if inputs.flag == "--data" else ["-o", inputs.flag]
        parser.add_argument(*flags, dest=inputs.data, metavar="FILE", help="FILE as a flag")
    parser.set_defaults(inputs=inputs)


def add_data(parser: ArgumentParser, group: Arguments, inputs: Inputs, metavar: str, help: str) -> None:
    """Add the data of a command without a model to read, in their place and as a flag."""
    _add_place(group, metavar, help, several=inputs.several)
    nargs = "+" if inputs.several else None
    group.add_argument("--data", dest=inputs.data, nargs=nargs, metavar=metavar, help=f"{metavar} as a flag")
    parser.set_defaults(inputs=inputs)


def _add_place(parser: Arguments, metavar: str, help: str, *, several: bool = False) -> None:
    """Add a place; every place adds to one list, because flags decide what the places stand for."""
    nargs, action = ("*", "extend") if several else ("?", "append")
    parser.add_argument("places", nargs=nargs, action=action, default=SUPPRESS, metavar=metavar, help=help)


def take_inputs(parser: ArgumentParser, arguments: Namespace) -> None:
    """Replace the places in the arguments by what they stand for; end with an error of usage if they do not fit.

    A model is recognised by its content: `MODEL FILE` may also be given as `FILE MODEL`.
    """
    inputs: Inputs | None = vars(arguments).pop("inputs", None)
    places: list[str] = vars(arguments).pop("places", [])
    if inputs is None:
        return
    if inputs.model:
        _take_model(parser, arguments, inputs, places)
    if inputs.other is not None:
        _take_other(parser, arguments, inputs, places)
    if inputs.data is None:
        if places:
            parser.error(f"two models: {arguments.model} and {places[0]}; give one")
        return
    values = vars(arguments)
    files = values[inputs.data]
    if places and files:
        by_flag = " ".join(files) if inputs.several else files
        parser.error(f"two files: {places[0]} and {inputs.flag} {by_flag}; give one")
    if len(places) > 1 and not inputs.several:
        parser.error(f"two files: {places[0]} and {places[1]}; give one")
    if places:
        values[inputs.data] = places if inputs.several else places[0]
    elif not files:
        if inputs.default is None:
            taken = values.get("calibration")
            why = f": --calibration took {taken} for its picture, so give FILE first" if taken else ""
            parser.error(f"a file is missing{why}; write {parser.prog} {inputs.usage}")
        values[inputs.data] = inputs.default


def _take_model(parser: ArgumentParser, arguments: Namespace, inputs: Inputs, places: list[str]) -> None:
    """Remove the model from the places, unless a flag gives it."""
    if arguments.model is None:
        if not places:
            parser.error(f"the model is missing; write {parser.prog} {inputs.usage}")
        swapped = inputs.flag == "--data" and len(places) > 1 and is_model(places[1]) and not is_model(places[0])
        arguments.model = places.pop(1 if swapped else 0)
    elif inputs.other is None and len(places) > 1 and (model := next(filter(is_model, places), None)) is not None:
        parser.error(f"two models: -m {arguments.model} and {model}; give one")


def _take_other(parser: ArgumentParser, arguments: Namespace, inputs: Inputs, places: list[str]) -> None:
    """Remove a second model from the places, if there are more of them than the data need."""
    values = vars(arguments)
    n_data = 0 if values[str(inputs.data)] else 1
    at = next((at for at, place in enumerate(places) if is_model(place)), None)
    if values[str(inputs.other)] is None and len(places) > n_data:
        values[str(inputs.other)] = places.pop(at or 0)
    elif at is not None:
        models = f"{arguments.model} and {places[at]} are models"
        parser.error(f"a file is missing: {models}; write {parser.prog} {inputs.usage}")


def is_model(path: str) -> bool:
    """Whether a file is a model; a pipe, which can be read only once, is not looked at."""
    from ..models.files.settings import kind_of

    return os.path.isfile(path) and kind_of(path) is not None
