"""Say why a model gives each token its label: what the features add to its score over that of another label.

The other label is the token's label in the best labelling in which it has another one. The numbers are weights, in
nats, and add up to the difference of the two labellings' scores. Of a classifier of texts every text is explained, of a
network every variable of every sample, whose most probable state given all others is set beside the second one.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ..kinds import opened
from ..options import add_format, add_model, add_threads, count

if TYPE_CHECKING:
    from ...models.explain.explanation import Explanation

EXAMPLE = "example: printf 'The\\ndog\\nbarks\\n' | loglinear explain --model pos.loglinear"
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_model(parser)
    text = "sentences, texts or a table as `loglinear tag` reads them; stdin by default, or for -"
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help=text)
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="file to write; stdout by default")
    parser.add_argument("--top", type=count, default=8, metavar="N", help="strongest features of each token (8)")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--json", action="store_true", help="write a line of JSON for each sentence, text or sample, with all features"
    )
    kind.add_argument("--html", action="store_true", help="write a page of HTML")
    add_format(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Explain."""
    from ...data.writing import write_output

    model = opened(arguments.model)
    write_output(arguments.output, _shown(model.explain(arguments), arguments, model.noun).encode())


def _shown(explanations: list[Explanation], arguments: Namespace, noun: str) -> str:
    if arguments.json:
        return "".join(json.dumps(each.to_dict(), ensure_ascii=False) + "\n" for each in explanations)
    if arguments.html:
        from ...models.explain.explanation import page

        return page(explanations, f"Labels by {arguments.model}", arguments.top, noun)
    return "\n\n".join(each.text(arguments.top) for each in explanations) + "\n"
