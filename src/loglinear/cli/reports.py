"""Reports for commands: the page on a model and a file of labelled data, and the command that trains it again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..models.files.settings import kind_of
from .answers import of_sentences, of_texts
from .options import flags_of
from .output import say
from .reading import default_scheme, model_format, open_model

if TYPE_CHECKING:
    from ..report.page import Report
    from ..trace import TraceRecord

__all__ = ["training_command", "write_report"]


def write_report(
    model_path: str,
    data: str,
    output: str,
    *,
    format: str | None = None,
    scheme: str | None = None,
    threads: int = 0,
    trace: Sequence[TraceRecord] = (),
    notes: Sequence[str] = (),
    quiet: bool = False,
) -> None:
    """Write the report of a model on labelled data, whole or not at all.

    Args:
        model_path: of the model's file.
        data: path of the data.
        output: file to write; `-` is standard output.
        format: of the data; by default found as `evaluate` does.
        scheme: tagging scheme of the labels.
        threads: 0 for all cores.
        trace: steps of the training.
        notes: remarks on the figures.
        quiet: whether to say nothing of the file.
    """
    from ..data.writing import write_output

    names = [os.path.basename(os.path.normpath(path)) for path in (model_path, data)]
    title = f"{names[0]} on {names[1]}"
    if kind_of(model_path) == "network":
        from .networks import make_report as of_network

        report = of_network(model_path, data, {"format": format, "scheme": scheme, "trace": trace or None}, title)
    else:
        report = _of_labels(model_path, data, format, scheme, threads, title, trace, notes)
    write_output(output, report.html().encode("utf-8"))
    if output != "-" and not quiet:
        say(f"{output}: written; open it in a browser")


def _of_labels(
    model_path: str,
    data: str,
    format: str | None,
    scheme: str | None,
    threads: int,
    title: str,
    trace: Sequence[TraceRecord],
    notes: Sequence[str],
) -> Report:
    """Return the report of a chain or a classifier; the arguments are those of `write_report`."""
    from ..models.explain.reports import make_report
    from ..schemes import checked_scheme

    model, settings = open_model(model_path)
    format = model_format(data, format, settings, model.template)
    scheme = scheme or default_scheme(format)
    checked_scheme((), scheme or "none", "conlleval")
    samples = settings.get("model") == "maxent"
    sure = not (settings.get("multi_class") == "ovr" and len(model.labels) > 2)
    if format == "text":
        from ..data.texts import read

        documents = read(data)
        answers, words = of_texts(documents, model_path, sure=sure), [[text] for text in documents.texts]
    else:
        from ..data.tokens import file_words

        spans = scheme != "none" and not samples
        answers = of_sentences(data, model, format, sure=sure, spans=spans, threads=threads)
        words = [] if answers.corpus is None else file_words(data, format, answers.corpus)
    given: dict[str, Any] = {
        "scheme": scheme,
        "command": training_command(settings, model.template),
        "trace": trace,
        "notes": notes,
    }
    return make_report(model, settings, answers, words, title=title, **given)


def training_command(settings: dict[str, Any], template: str | None) -> str | None:
    """Return the command that trains a model again, with names in capitals for files; None if there is none."""
    from ..data.formats import is_format
    from ..models.explain.reports import preset_of
    from ..models.training.options import DevOptions, SolverOptions
    from ..objectives.chain import ChainFeatures

    format = str(settings.get("format"))
    known = format == "corpus" or is_format(format)
    python_only = settings.get("fit_intercept") is False or settings.get("class_weight") is not None
    python_only = python_only or isinstance(settings.get("constraints"), list)
    if "training" not in settings or "imported" in settings or not known or python_only:
        return None
    words = ["loglinear", "train", "TRAIN", "--model", "MODEL"]
    if settings.get("model") == "maxent":
        words += ["--model-type", "maxent"]
        words += ["--multi-class", "ovr"] if settings.get("multi_class") == "ovr" else []
    words += [] if format in ("columns", "corpus") else ["--format", format]
    if "text" in settings:
        first, last = settings["text"]["ngrams"]
        words += [] if (first, last) == (1, 1) else ["--ngrams", f"{first}-{last}"]
        words += [] if settings["text"]["idf"] is None else ["--tfidf"]
    if template is not None and format != "corpus":
        preset = preset_of(template)
        words += ["--template", "TEMPLATE"] if preset is None else ["--preset", preset]
    training = settings["training"]
    words += ["--start", "OLD_MODEL"] if "start" in training else []
    words += ["--dev", "DEV"] if "dev" in training else []
    settings = {**settings, "l2": _given_l2(settings), "solver": _given_solver(settings)}
    for kind in (SolverOptions, ChainFeatures, DevOptions):
        words += flags_of(kind, settings)
    return " ".join(map(shlex.quote, words))


def _given_l2(settings: dict[str, Any]) -> float | None:
    """Return the strength of the L2 penalty; None if it is the default."""
    l2: float | None = settings.get("l2")
    return None if l2 == (0.0 if settings.get("l1") else 1.0) else l2


def _given_solver(settings: dict[str, Any]) -> str | None:
    """Return the name of the solver; None if it is the default."""
    return None if settings.get("solver") == "auto" else settings.get("solver")
