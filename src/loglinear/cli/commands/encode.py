"""Encode labelled sentences into a corpus on disk: a folder that train, select and evaluate accept instead of a file.

An encoded corpus opens in milliseconds and is read from disk as needed, so it may be larger than memory. Encoding
needs memory only for the attribute names and a few megabytes of text. FILE may also be the folder of another corpus,
whose sentences are copied.
"""

from __future__ import annotations

import sys
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...errors import DataWarning, OptionError, warn
from ...visible import counted
from ..inputs import Inputs, add_data
from ..options import add_columns, add_format, add_spans, add_templates, add_threads, add_weight_column
from ..output import say

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...data.encoding import CorpusFile

EXAMPLE = """example: loglinear encode train.txt --preset ner -o train.corpus
         loglinear train train.corpus --l1 1 --model ner.loglinear"""
# Arguments that are files to read, and files to write; the output is a folder, which its writer checks.
READS: tuple[str, ...] = ("files", "template")
WRITES: tuple[str, ...] = ()

_PERIOD = 2.0


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    inputs = Inputs("FILE...", model=False, data="files", several=True)
    add_data(parser, parser, inputs, "FILE", "labelled sentences (may be compressed; - for stdin) or encoded corpora")
    add("-o", "--output", required=True, metavar="FOLDER", help="corpus to write; an existing corpus is replaced")
    add(
        "--append",
        action="store_true",
        help="add the sentences to the existing corpus, with its template, format and columns",
    )
    add_format(parser, "sentences", "samples", default="columns")
    add_columns(parser)
    add_spans(parser)
    add_weight_column(parser)
    add_templates(parser)
    add(
        "--partial",
        action="store_true",
        help="allow partial labels: ? means any label, A|B means A or B, A:0.7|B:0.3 gives probabilities",
    )
    add("--unlabelled", action="store_true", help="the files have no labels")
    min_count = "drop attributes that occur on fewer than N tokens; reads the files twice (default: 1)"
    add("--min-count", type=int, default=1, metavar="N", help=min_count)
    add("-q", "--quiet", action="store_true", help="do not show progress")
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Encode."""
    from ...data.corpus import Corpus
    from ...data.encoding import CorpusFile
    from ...data.formats import format_of, has_lines, named
    from ..reading import Reading, check_exists, read_template

    is_text = arguments.format is not None and named(arguments.format).holds == "texts"
    if arguments.min_count < 1:
        message = f"--min-count {arguments.min_count} is out of range; give a whole number from 1"
        raise OptionError(message)
    if arguments.append and arguments.min_count > 1:
        message = "--min-count needs all files at once; leave out --append, or encode all files again"
        raise OptionError(message)
    if is_text:
        message = "--format text cannot be encoded; pass the file to `loglinear train`"
        raise OptionError(message)
    for file in arguments.files:
        check_exists(file)
    template = read_template(arguments.preset, arguments.template)
    begun = time.monotonic()
    with CorpusFile(arguments.output, template=template, append=arguments.append) as corpus:
        reading = {
            "format": arguments.format,
            "labelled": not arguments.unlabelled,
            "separator": arguments.separator,
            "label_column": arguments.label_column,
            "weight_column": arguments.weight_column,
            "skip_comments": arguments.skip_comments,
            "threads": arguments.threads,
        }
        if arguments.min_count > 1:
            with _shown(corpus, "counted", quiet=arguments.quiet):
                n_attributes = corpus.keep_frequent(arguments.files, arguments.min_count, **reading)
            if not arguments.quiet:
                say(f"{counted(n_attributes, 'attribute')} on {arguments.min_count} tokens or more")
        with _shown(corpus, "encoded", quiet=arguments.quiet):
            for file in arguments.files:
                if has_lines(format_of(file, arguments.format)):
                    corpus.add(file, partial=arguments.partial, **reading)
                else:
                    whole = Reading.of(arguments, file, partial=arguments.partial)._replace(
                        labels="none" if arguments.unlabelled else None
                    )
                    corpus.add(whole.corpus(file))
    encoded = Corpus.open(arguments.output)
    _warn_of_oddities(arguments, encoded)
    if not arguments.quiet:
        seconds = time.monotonic() - begun
        say(
            f"{arguments.output}: {counted(len(encoded), 'sentence')}, {counted(encoded.n_tokens, 'token')}, "
            f"{counted(encoded.n_attributes, 'attribute')}, {counted(len(encoded.labels), 'label')}; {seconds:.1f} s"
        )


def _warn_of_oddities(arguments: Namespace, corpus: Corpus) -> None:
    """Warn of what suggests a mistake, as a training does; of headers only if all sentences are from one file."""
    from ...data.formats import is_corpus
    from ...data.headers import odd_headers
    from ...data.other_lines import other_lines
    from ...data.survey import Survey
    from ..reading import located

    messages, (first, *others) = Survey.of(corpus).oddities(), arguments.files
    if corpus.format == "columns" and not (others or arguments.append or is_corpus(first)):
        messages += odd_headers(first, corpus.core, corpus.columns)
        messages += other_lines(first, corpus.core, 0, corpus.columns)
    for message in messages:
        warn(located(" ".join(arguments.files), message), DataWarning)


@contextmanager
def _shown(corpus: CorpusFile, done: str, *, quiet: bool) -> Iterator[None]:
    """Show the number of finished tokens while the block runs: a line now and then; a terminal updates one line."""
    over = threading.Event()
    begun, last, is_terminal = time.monotonic(), -1, sys.stderr.isatty()

    def show() -> None:
        nonlocal last
        while not over.wait(_PERIOD):
            number = corpus.n_tokens
            if number != last:
                last = number
                speed = number / (time.monotonic() - begun) / 1e6
                line = f"{counted(number, 'token')} {done}, {speed:.2f} million a second"
                print(
                    f"\r{line}" if is_terminal else line, end="" if is_terminal else "\n", file=sys.stderr, flush=True
                )

    watcher = threading.Thread(target=show, daemon=True)
    if not quiet:
        watcher.start()
    try:
        yield
    finally:
        over.set()
        if not quiet:
            watcher.join()
            if is_terminal and last >= 0:
                say("")
