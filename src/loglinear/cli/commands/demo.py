"""Train a part-of-speech tagger on embedded data, evaluate it and tag a sentence.

With --write, only write the data as text: FOLDER/train.txt and FOLDER/test.txt, with a word, its Penn tag and its
universal tag (the label) on each line and an empty line after each sentence.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser, Namespace

from ...errors import OptionError
from ..ending import nothing_reached
from ..options import add_threads
from ..output import Interrupted
from ..wrapping import fitted

EXAMPLE = """example: loglinear demo --model pos.loglinear
         loglinear demo --write sample"""
# The folder of --write is not a file: `_write_sample` checks it.
READS: tuple[str, ...] = ()
WRITES: tuple[str, ...] = ("model",)

DEFAULT = "demo.loglinear"
ABOUT = "English web text (a slice of UD English EWT, CC BY-SA 4.0)"
SENTENCE = "The quick brown fox jumped over my lazy dogs , did n't it ?".split()


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_mutually_exclusive_group().add_argument
    add("-m", "--model", metavar="MODEL", help=f"model file to write (default: {DEFAULT})")
    add("--write", metavar="FOLDER", help="only write the data as text to this folder; existing files are replaced")
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Run the demonstration, or write its data."""
    if arguments.write is None:
        _train(arguments.model or DEFAULT, arguments.threads)
    elif not arguments.write:
        message = "--write is empty; give the name of a folder"
        raise OptionError(message)
    else:
        _write_sample(os.path.normpath(arguments.write))


def _train(model: str, threads: int) -> None:
    """Train on the sample, save the model, evaluate it and tag a sentence."""
    from ...data.corpus import Corpus
    from ...data.templates import TemplateText, preset
    from ...data.writing import check_writable
    from ...datasets import demo_paths
    from ...models.files.chain import open_model
    from ...models.training.chain import evaluate_model, train_chain
    from ...models.training.options import SolverOptions
    from ...objectives.chain import ChainFeatures
    from ...result import Status
    from ..progress import Progress
    from ..reading import Reading

    check_writable(model)
    train, test = map(str, demo_paths())
    _print(f"Part-of-speech tagging on {ABOUT}")
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


def _write_sample(folder: str) -> None:
    """Write the sample as text.

    Raises:
        OptionError: the folder cannot be made, or its files cannot be written.
    """
    from ...data.writing import check_writable, write_output
    from ...datasets import demo_paths
    from ...text_file import read_text

    if not os.path.isdir(folder):
        if os.path.islink(folder) and not os.path.exists(folder):
            message = f"{folder}: a link to {os.readlink(folder)}, which does not exist; create that folder first"
            raise OptionError(message)
        if os.path.exists(folder):
            message = f"{folder}: a file, not a folder; give the name of a folder"
            raise OptionError(message)
        check_writable(folder)
        os.mkdir(folder)
    places = [os.path.join(folder, name) for name in ("train.txt", "test.txt")]
    for place in places:
        check_writable(place)
    for place, path in zip(places, demo_paths(), strict=True):
        write_output(place, read_text(path))
    train, test = map(shlex.quote, places)
    _print(
        f"""wrote {train} and {test}: {ABOUT}

Next:
  loglinear train {train} --preset pos --l1 0.5 --tolerance 0.002 -m pos.loglinear
  loglinear evaluate pos.loglinear {test}"""
    )


def _print(text: str) -> None:
    print(fitted(text, sys.stdout))
