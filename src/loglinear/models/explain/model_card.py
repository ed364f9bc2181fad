"""Model cards: what a model does, how it was made, how to use it and what nobody has measured, as Markdown.

The sections follow Mitchell et al. (2019), Model cards for model reporting. The metadata are for Hugging Face.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...data.templates import without_comments
from ...version import __version__
from ...visible import encodable, visible_name
from .markdown import code, code_block, plain, table

__all__ = ["ModelCard", "quoted"]

# Number of labels that a card lists.
_LABELS = 200
_UNKNOWN = "not in the model file"


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What a model file says about its model.

    Attributes:
        path: of the file.
        task: what Hugging Face calls the task; empty if it has no name for it.
        tags: words to search for.
        does: what the model does, in sentences.
        label_noun: what it predicts: "labels", "classes" or "variables".
        labels: names of the labels; of a network its variables, with their states.
        data: rows of a table on the training data: name -> number or text.
        settings: rows of a table on the model and its training.
        command: how to train the model again; None if that cannot be told.
        template: text of the template; None without one.
        dev: scores on development data, as fractions; empty if they were not measured.
        kept_best: whether the weights were chosen by these scores.
        status: how the training ended, if it has not converged; empty otherwise.
        temperature: by which the scores of the model are divided; None if nobody has calibrated it.
        shell: commands that use the model.
        python: code that uses the model.
        version: of loglinear, which wrote the file; None if another program did.
        has_probabilities: whether the model has probabilities of its answers.
        package: what to install to run `python`.
    """

    path: str
    task: str
    tags: Sequence[str]
    does: str
    label_noun: str
    labels: Mapping[str, Sequence[str]]
    data: Mapping[str, Any]
    settings: Mapping[str, str]
    command: str | None = None
    template: str | None = None
    dev: Mapping[str, float] = field(default_factory=dict)
    kept_best: bool = False
    status: str = ""
    temperature: float | None = None
    shell: str = ""
    python: str = ""
    version: str | None = None
    has_probabilities: bool = True
    package: str = "'loglinear[sklearn]'"

    def markdown(self) -> str:
        """Return the card; equal models give equal cards."""
        name = visible_name(os.path.basename(self.path))
        parts = [
            self._metadata(),
            f"# {plain(name)}",
            self.does,
            f"## {self.label_noun.capitalize()}",
            self._labels(),
            "## Training data",
            table("data", "value", {**self._files(), **self.data, "licence": _UNKNOWN}),
            "Say here where the data come from, who labelled them, and under which licence they may be used.",
            "## Scores",
            self._scores(),
            "## Use",
            f"Install: `pip install {self.package}`.",
            *([code_block(self.shell, "sh")] if self.shell else []),
            code_block(self.python, "python"),
            "## Settings",
            table("setting", "value", {**self.settings, "size of the file": self._size()}),
            *(["Training command:", code_block(self.command, "sh")] if self.command is not None else []),
            *(["Template:", code_block(without_comments(self.template))] if self.template is not None else []),
            "## Limits",
            "\n".join(f"- {limit}" for limit in self._limits()),
            "## Version and licence",
            self._version(),
        ]
        return encodable("\n\n".join(parts))

    def _metadata(self) -> str:
        lines = ["---", "library_name: loglinear"]
        lines += [f"pipeline_tag: {self.task}"] if self.task else []
        lines += ["tags:", *(f"  - {tag}" for tag in self.tags)]
        return "\n".join([*lines, "# license: say under which licence the model may be used", "---"])

    def _files(self) -> dict[str, str]:
        """Return a row on the names of the training files if nobody knows them."""
        return {} if any("training file" in name for name in self.data) else {"training files": _UNKNOWN}

    def _labels(self) -> str:
        """Return how many labels there are, and the first ones; variables with their states are a list."""
        names = list(self.labels)
        rest = [f"and {len(names) - _LABELS:,} more"] if len(names) > _LABELS else []
        if any(self.labels.values()):
            states = [f"{code(name)}: {', '.join(map(code, self.labels[name]))}" for name in names[:_LABELS]]
            lines = [f"- {line}" for line in [*states, *rest]]
            return "\n".join([f"{len(names):,} {self.label_noun}, each with its states:\n", *lines])
        return f"{len(names):,}: {', '.join([*map(code, names[:_LABELS]), *rest])}"

    def _scores(self) -> str:
        if not self.dev:
            return (
                "Not measured: the model file has no scores on development data. Add scores on data that the training "
                "has not seen."
            )
        rows = {
            name.replace("_", " ").replace("f1", "F1"): f"{100.0 * score:.2f} %" for name, score in self.dev.items()
        }
        chosen = (
            "The weights were chosen by these scores, which are therefore too high for other data."
            if self.kept_best
            else "Settings that were chosen by these scores make them too high for other data."
        )
        return f"{table('on development data', 'score', rows)}\n\n{chosen} Not measured: scores on test data."

    def _limits(self) -> list[str]:
        limits = [
            "Not measured: how good the answers are on other data, such as texts of other domains, places or times.",
            "Not measured: whether errors affect some groups of people more than others.",
        ]
        if not self.dev:
            limits.insert(0, "Not measured: scores on data that the training has not seen.")
        if not self.has_probabilities:
            limits.append("The model has no joint probabilities of its classes.")
        elif self.temperature is None:
            limits.append("Not measured: whether the probabilities of the answers are calibrated.")
        else:
            limits.append(f"The probabilities were calibrated after training (temperature {self.temperature:.4g}).")
        if self.status:
            limits.append(f"The training did not converge: {plain(visible_name(self.status))}.")
        limits.append("Not measured: speed and memory. Both depend on the machine and on the data.")
        return limits

    def _size(self) -> str:
        return f"{os.path.getsize(self.path):,} bytes" if os.path.isfile(self.path) else "unknown"

    def _version(self) -> str:
        written = f"loglinear {plain(visible_name(self.version))}" if self.version is not None else "another program"
        return (
            f"Written by {written}; this card by loglinear {__version__}.\n\n"
            "Licence: not stated. Add the licence of the model, which depends on the licence of its training data."
        )


def quoted(path: str) -> str:
    """Return the name of a file as a command takes it."""
    return shlex.quote(visible_name(os.path.basename(path)))
