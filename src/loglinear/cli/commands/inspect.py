"""Show the contents of a model: features, labels, template, strongest weights, and how it was trained.

With a model from `loglinear structure`: the columns with their values, and the strongest interactions. For an encoded
corpus: sizes, labels, template, and whether its files are intact.

--card prints a model card in Markdown, to publish with the model: what it does, its labels, training data, scores,
settings, how to use it, and what was not measured. It has only what the model file says; add the rest by hand.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace

from ...data.corpus import Corpus
from ...data.formats import is_corpus
from ...data.lexicons import lexicons_of, without_lexicons
from ...data.templates import without_comments
from ...errors import OptionError
from ...visible import counted, visible, visible_name
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import add_json, count
from ..wrapping import fitted

EXAMPLE = """example: loglinear inspect chunker.loglinear --top 10
         loglinear inspect chunker.loglinear --card > README.md"""
READS: tuple[str, ...] = ("model",)
WRITES: tuple[str, ...] = ()


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL", model=True, data=None)
    add_inputs(parser, inputs, model="model file, or the folder of an encoded corpus")
    parser.add_argument(
        "--top", type=count, default=20, metavar="N", help="number of strongest weights to show (default: 20)"
    )
    kind = parser.add_mutually_exclusive_group()
    add_json(kind)
    kind.add_argument("--card", action="store_true", help="print a model card in Markdown")


def run(arguments: Namespace) -> None:
    """Inspect."""
    if arguments.card:
        if is_corpus(arguments.model):
            message = f"--card: {arguments.model} is an encoded corpus; give a model"
            raise OptionError(message)
        print(opened(arguments.model).card().markdown())
        return
    if is_corpus(arguments.model):
        shown = _shown_corpus(arguments)
    else:
        shown = opened(arguments.model).inspect(top=arguments.top, as_json=arguments.json)
    print(shown if arguments.json else _fitted(shown))


def _shown_corpus(arguments: Namespace) -> str:
    """Return what an encoded corpus holds, after a look at all of its files."""
    corpus = Corpus.open(arguments.model)
    corpus.core.check()
    lexicons = lexicons_of(corpus.template)
    report = {
        "n_sentences": len(corpus),
        "n_tokens": corpus.n_tokens,
        "n_entries": corpus.core.n_entries,
        "n_attributes": corpus.n_attributes,
        "labels": corpus.labels,
        "format": corpus.format,
        "checksum": corpus.core.checksum,
        "template": None if corpus.template is None else without_lexicons(corpus.template),
        **({"lexicons": [lexicon._asdict() for lexicon in lexicons]} if lexicons else {}),
    }
    if arguments.json:
        return json.dumps(report)
    size = f"{counted(len(corpus), 'sentence')}, {counted(corpus.n_tokens, 'token')}"
    return (
        f"encoded corpus   {size}, format {corpus.format}\n"
        f"attributes       {corpus.n_attributes:,}, {corpus.core.n_entries:,} in total, over all tokens\n"
        f"labels           {len(corpus.labels)}: {' '.join(map(visible_name, corpus.labels))}\n"
        f"files            whole, checksum {corpus.core.checksum}"
        + "".join(f"\n{'' if at else 'lexicons':16} {lexicon}" for at, lexicon in enumerate(lexicons))
        + ("" if corpus.template is None else f"\n\ntemplate\n{without_comments(corpus.template)}")
    )


def _fitted(text: str) -> str:
    """Return what a model or corpus contains for a terminal; the template stays as it is, ready to be copied."""
    about, title, template = text.partition("\n\ntemplate\n")
    return fitted(about, sys.stdout) + title + visible(template)
