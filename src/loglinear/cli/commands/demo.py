"""Train a part-of-speech tagger on embedded data, evaluate it and tag a sentence."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from ..ending import nothing_reached
from ..options import add_threads
from ..output import Interrupted
from ..wrapping import fitted

EXAMPLE = "example: loglinear demo --model pos.loglinear"
READS: tuple[str, ...] = ()
WRITES: tuple[str, ...] = ("model",)

SENTENCE = "The quick brown fox jumped over my lazy dogs , did n't it ?".split()


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    default = "demo.loglinear"
    parser.add_argument(
        "-m", "--model", default=default, metavar="MODEL", help=f"model file to write (default: {default})"
    )
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Run the demonstration."""
    from ...data.corpus import Corpus
    from ...data.templates import TemplateText, preset
    from ...datasets import demo_paths
    from ...models.files.chain import open_model
    from ...models.training.chain import evaluate_model, train_chain
    from ...models.training.options import SolverOptions
    from ...objectives.chain import ChainFeatures
    from ...result import Status
    from ..progress import Progress
    from ..reading import Reading

    model, threads = arguments.model, arguments.threads
    train, test = map(str, demo_paths())
    _print("Part-of-speech tagging on English web text (a slice of UD English EWT, CC BY-SA 4.0)")
    options = SolverOptions(l1=0.5, tolerance=2e-3)
    with Progress(options.make_solver()[1]) as progress:
        reading = Reading(template=preset("pos"), threads=threads)
        data = reading.chain([train], ChainFeatures(), progress, name=os.path.basename(train))
        trained, result = train_chain(data, options, callbacks=[progress])
    if nothing_reached([result]):
        raise Interrupted(is_early=True)
    trained.save(model)
    if result.status is Status.INTERRUPTED:
        raise Interrupted([model])
    opened, _ = open_model(model)
    scores = evaluate_model(opened, Corpus.read(test, template="pos", threads=threads), threads=threads)
    size = len(opened.to_bytes()) / 1e6
    _print(
        f"trained in {result.seconds:.1f} s: {opened.n_features:,} active features of {len(result.w):,}, "
        f"{size:.1f} MB in {model}"
    )
    _print(f"accuracy on {scores.n_tokens:,} unseen words: {100 * scores.accuracy:.2f} %")
    (tags,) = opened.predict(Corpus.encode([SENTENCE], template=TemplateText(opened.template or "")).core)
    _print("  " + " ".join(f"{word}/{tag}" for word, tag in zip(SENTENCE, tags, strict=True)))
    _print(
        f"""
Next, on your own file (a token per line, its label in the last column, a blank line after each sentence):
  loglinear presets                   # pick a template
  loglinear train train.txt --preset ner -m my.loglinear
  loglinear evaluate my.loglinear test.txt
  loglinear tag my.loglinear new.txt
  loglinear inspect {model} --top 10"""
    )


def _print(text: str) -> None:
    print(fitted(text, sys.stdout))
