"""Compare a model's labels with the labels in a file: accuracy, and precision, recall and F of chunks.

For the model of a network: the log-likelihood of a table.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ...models.settings import kind_of
from ..options import add_format, add_json, add_model, add_threads
from ..output import say
from ..reading import model_format, open_model

if TYPE_CHECKING:
    from ...metrics import Evaluation
    from ...models.chain_file import ChainModel

EXAMPLE = "example: loglinear evaluate --model chunker.loglinear test.txt"


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_model(parser)
    parser.add_argument("file", metavar="FILE", help="labelled sentences; - for stdin")
    add_json(parser)
    add_format(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Evaluate."""
    if kind_of(arguments.model) == "network":
        from ..networks import evaluate

        evaluate(arguments)
        return
    model, settings = open_model(arguments.model)
    format = model_format(arguments.format, settings)
    scores = _texts(arguments) if format == "text" else _sentences(arguments, model, format)
    print(json.dumps(scores.to_dict()) if arguments.json else render(scores))


def _sentences(arguments: Namespace, model: ChainModel, format: str) -> Evaluation:
    from ...data.corpus import Corpus
    from ...data.templates import TemplateText
    from ...models.chain_training import evaluate_model

    template = None if model.template is None else TemplateText(model.template)
    corpus = Corpus.read(arguments.file, format=format, template=template, threads=arguments.threads)
    unknown = sorted(set(corpus.labels) - set(model.labels))
    if unknown:
        names = ", ".join(unknown)
        say(f"warning: {arguments.file} has labels that the model does not know, which count as missed: {names}")
    return evaluate_model(model, corpus, threads=arguments.threads)


def _texts(arguments: Namespace) -> Evaluation:
    from ...data.texts import read
    from ...metrics import evaluate
    from ...models.text_classifier import TextClassifier

    found = read(arguments.file)
    predicted = TextClassifier.load(arguments.model).predict(found.texts)
    return evaluate([[label] for label in found.labels or []], [[label] for label in predicted])


def render(scores: Evaluation) -> str:
    """Return a table for people, in per cent."""
    lines = [
        f"{scores.n_sentences:,} sentences, {scores.n_tokens:,} tokens",
        f"accuracy           {100 * scores.accuracy:6.2f}",
        f"sentence accuracy  {100 * scores.sentence_accuracy:6.2f}",
    ]
    if scores.f1 is not None and scores.precision is not None and scores.recall is not None:
        lines += ["", f"{'chunks':<18} {'precision':>9} {'recall':>7} {'F':>7} {'support':>8}"]
        lines += [
            f"{name or 'words':<18} {100 * each['precision']:9.2f} {100 * each['recall']:7.2f} "
            f"{100 * each['f1']:7.2f} {each['support']:8d}"
            for name, each in sorted(scores.per_type.items())
        ]
        lines.append(
            f"{'overall':<18} {100 * scores.precision:9.2f} {100 * scores.recall:7.2f} {100 * scores.f1:7.2f} "
            f"{sum(each['support'] for each in scores.per_type.values()):8d}"
        )
    return "\n".join(lines)
