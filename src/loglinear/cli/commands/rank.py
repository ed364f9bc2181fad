"""Choose which unlabelled sentences or texts to label next: those that a model is least certain about.

The table has a line for each, the most worthwhile first: its score, how similar it is to the most similar one before
it, its first line in the file, and the sentence with its least certain part in brackets. With -o, the sentences are
also written to a file in the format of the input, in this order, to be labelled. Their lines are copied as they are.
The file is compressed if its name ends in .gz, .xz, .bz2 or .zst.

--by says what the score is:
  sequence      1 - the probability of the best label sequence, per token (geometric mean); for a classifier, 1 - the
                probability of the best class
  span          1 - the probability of the least certain span of the best label sequence, such as an entity; a token
                outside of spans counts as a span. Needs labels such as B-PER, I-PER, O
  entropy       mean entropy of the labels of the tokens, in nats
  disagreement  mean divergence of the models of a --committee from their average, in nats

Of sentences that are the same only one is chosen. --diversity keeps sentences apart that are alike.

With --text, each line of the input is a raw text, which is cut into tokens as by `loglinear tag --text`.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...visible import counted
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import add_columns, add_format, add_options, add_threads, add_tokenizer, check_raw_text
from ..output import say, tab_separated

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..kinds.kind import RankedFile

EXAMPLE = "example: loglinear rank ner.loglinear unlabelled.txt --by span -n 50 -o next.txt"
READS: tuple[str, ...] = ("file", "model", "committee")
WRITES: tuple[str, ...] = ("output",)

_COLUMNS = ("rank", "score", "similarity", "line", "context")


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    from ...models.training.ranking import RankOptions

    inputs = Inputs("MODEL FILE", model=True, data="file")
    add_inputs(parser, inputs, "unlabelled sentences, samples or texts, as for `loglinear tag`; - for stdin")
    output = "write the chosen sentences to this file, in the format of the input"
    parser.add_argument("-o", "--output", metavar="FILE", help=output)
    add_options(parser, RankOptions)
    committee = "models that vote with MODEL in --by disagreement, such as models of bootstrap samples of its data"
    parser.add_argument("--committee", nargs="+", default=[], metavar="MODEL", help=committee)
    text = "each line is a raw text, cut into tokens by the tokenizer of the training or by --tokenizer"
    parser.add_argument("--text", action="store_true", default=None, help=text)
    add_tokenizer(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="do not show progress and a summary")
    add_format(parser, content=["lines"])
    add_columns(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Rank."""
    from ...data.writing import write_text

    check_raw_text(arguments)
    model, committee = opened(arguments.model), [*map(opened, arguments.committee)]
    with _progress(quiet=arguments.quiet) as progress:
        ranked = model.rank(arguments, committee, progress)
    if arguments.output is not None:
        write_text(arguments.output, ranked.text)
    if arguments.output != "-":
        write_text("-", tab_separated(_COLUMNS, _rows(ranked)).encode(errors="surrogateescape"))
    if not arguments.quiet:
        n = len(ranked.places)
        fewer = f" ({arguments.n:,} asked for: there are no other different ones)" if n < arguments.n else ""
        written = f"; wrote {arguments.output}" if arguments.output not in (None, "-") else ""
        say(f"{counted(n, model.noun.lower())} to label next{fewer}{written}")


def _rows(ranked: RankedFile) -> Iterator[list[str]]:
    """Yield the cells of each line of the table."""
    rows = zip(ranked.ranking.sentences, ranked.places, ranked.contexts, strict=True)
    for number, (sentence, place, context) in enumerate(rows, start=1):
        yield [str(number), f"{sentence.score:.4g}", f"{sentence.similarity:.2f}", place, context]


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[float], object]]:
    """Provide a function that shows the share of the work that is done on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from ..bar import Bar

    bar, is_done = Bar("ranking"), False
    try:
        yield lambda share: bar.update(share, "")
        is_done = True
    finally:
        bar.end(finished=is_done)
