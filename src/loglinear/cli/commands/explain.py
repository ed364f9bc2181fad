"""Explain why each token has its label, feature by feature.

For each token, the best label sequence is compared with the best sequence in which the token has a different label. The
listed numbers are weights, in nats; they add up to the difference between the scores of the two sequences. For a
classifier of texts, each text is explained. With a model from `loglinear structure`, each cell of a table is explained:
its most probable value given the rest of its row is compared with the second most probable one.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ...visible import encodable
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import add_columns, add_format, add_spans, add_threads, count
from ..wrapping import fitted

if TYPE_CHECKING:
    from ...models.explain.explanation import Explanation
    from ..kinds.kind import Kind

EXAMPLE = "example: printf 'The\\ndog\\nbarks\\n' | loglinear explain pos.loglinear"
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL [FILE]", model=True, data="file", default="-")
    add_inputs(parser, inputs, "sentences, texts or a table, as for `loglinear tag` (default: stdin)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="output file (default: stdout)")
    parser.add_argument(
        "--top", type=count, default=8, metavar="N", help="number of features to show per token (default: 8)"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--json", action="store_true", help="write one line of JSON per sentence, text or sample, with all features"
    )
    kind.add_argument("--html", action="store_true", help="write an HTML page")
    add_format(parser, content=("lines", "spans"))
    add_columns(parser)
    add_spans(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Explain."""
    from ...data.writing import write_text

    model = opened(arguments.model)
    shown = _shown(model.explain(arguments), arguments, model)
    if arguments.output == "-" and not arguments.json and not arguments.html:
        shown = fitted(shown, sys.stdout)
    write_text(arguments.output, encodable(shown).encode())


def _shown(explanations: list[Explanation], arguments: Namespace, model: Kind) -> str:
    if arguments.json:
        return "".join(json.dumps(explanation.to_dict(), ensure_ascii=False) + "\n" for explanation in explanations)
    if arguments.html:
        from ...models.explain.explanation_page import explanation_page

        return explanation_page(
            explanations, f"Labels by {os.path.basename(arguments.model)}", arguments.top, model.noun
        )
    texts = [explanation.text(arguments.top) for explanation in explanations]
    if len(texts) > 1 and model.noun != "Text":  # texts are numbered themselves
        texts = [f"{model.noun} {number}\n{text}" for number, text in enumerate(texts, start=1)]
    return "\n\n".join(texts) + "\n"
