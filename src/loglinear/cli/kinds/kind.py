"""What the commands ask of a model. What a kind of model does not answer, it refuses by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ...errors import OptionError
from ..options import option_flag

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Mapping, Sequence

    from ...models.explain.answers import Answers
    from ...models.explain.explanation import Explanation
    from ...models.explain.model_card import ModelCard
    from ...models.rank import Ranking
    from ...models.tagger import Tagger
    from ...report.page import Report
    from ...trace import TraceRecord

    Trace = Sequence[TraceRecord]

__all__ = ["Kind", "RankedFile"]

# Arguments of `tag` that every kind of model has.
_EVERY = ("model", "file", "output", "marginals", "threads")


class RankedFile(NamedTuple):
    """What to label next in a file.

    Attributes:
        ranking: the sentences, samples or texts, the most worthwhile first.
        places: line of each, from 1; of a folder of texts the file, of an encoded corpus the number of the sentence.
        contexts: each sentence with its least certain part in brackets.
        text: the content of a file with the sentences, as the input has them; empty if it has no lines.
    """

    ranking: Ranking
    places: list[str]
    contexts: list[str]
    text: bytes


class Kind:
    """A model on the command line. Subclasses override the questions that they answer; the others are refused.

    Attributes:
        path: path of the model's file.
        called: what messages call the model.
        estimator: the public class that answers in Python what the commands refuse.
        noun: what an explanation explains: Sentence, Text or Sample.
    """

    called: str
    estimator: str
    noun = "Sentence"

    def __init__(self, path: str) -> None:
        self.path = path

    def tag(self, arguments: Namespace) -> None:
        """Label a file."""
        self.refuse("tag")

    def tag_pretty(self, arguments: Namespace) -> None:
        """Print a file with its labels, for people."""
        self.refuse("tag --pretty", "leave out --pretty")

    def evaluate(self, arguments: Namespace) -> str:
        """Compare the model with labelled data; return what to print."""
        self.refuse("evaluate")

    def calibrate(self, arguments: Namespace) -> str:
        """Write the model at the temperature that fits labelled data best; return what to print."""
        self.refuse("calibrate", "only chains and classifiers have a temperature")

    def explain(self, arguments: Namespace) -> list[Explanation]:
        """Say why each sample of a file has its labels."""
        self.refuse("explain")

    def inspect(self, *, top: int, as_json: bool) -> str:
        """Describe the model, with its `top` strongest weights; return what to print."""
        self.refuse("inspect")

    def card(self) -> ModelCard:
        """Return the model card."""
        self.refuse("inspect --card")

    def report(self, arguments: Namespace, trace: Trace = (), notes: Sequence[str] = ()) -> Report:
        """Return the report on the data of `arguments`, with the steps of the training and remarks on the figures."""
        self.refuse("report")

    def answers_to_compare(self, arguments: Namespace) -> Answers:
        """Return the answers to the labelled tokens, samples or texts of the data of `arguments`, with their words."""
        self.refuse("report MODEL OTHER FILE", "only chains and classifiers are compared; write a report of each model")

    def tagger(self, arguments: Namespace) -> Tagger:
        """Return what labels the texts that a server is sent."""
        self.refuse("serve")

    def rank(self, arguments: Namespace, committee: Sequence[Kind], progress: Callable[[float], object]) -> RankedFile:
        """Choose what to label next from a file, with other models; the share that has been scored is reported."""
        self.refuse("rank", "only chains and classifiers rank data")

    def convert(self, output: str, format: str) -> None:
        """Write the model to a file in a format: `loglinear`, `uai`, or another program's."""
        self.refuse("convert", "only chains, classifiers and networks have other formats")

    def refuse(self, command: str, remedy: str = "") -> NoReturn:
        """Raise OptionError: the model does not answer a command."""
        remedy = remedy or f"use loglinear.{self.estimator} in Python"
        message = f"{self.path} is {self.called}, which `loglinear {command}` does not support; {remedy}"
        raise OptionError(message)

    def leave_out(self, options: Mapping[str, object], *names: str) -> None:
        """Raise OptionError if one of these options was given, which the model does not have."""
        name = next((name for name in names if options[name] is not None), None)
        if name is not None:
            message = f"{self.path} is {self.called}; leave out {option_flag(name)}"
            raise OptionError(message)

    def take_only(self, options: Mapping[str, object], *names: str) -> None:
        """Raise OptionError if an option was given that is neither one of these nor one of every kind of model."""
        self.leave_out(options, *(name for name in options if name not in (*_EVERY, *names)))

    def title(self, data: str) -> str:
        """Return the title of the report on a file."""
        return " on ".join(os.path.basename(os.path.normpath(path)) for path in (self.path, data))
