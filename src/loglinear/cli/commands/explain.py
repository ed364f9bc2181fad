"""Say why a model gives each token its label: what the features add to its score over that of another label.

The other label is the token's label in the best labelling in which it has another one. The numbers are weights, in
nats, and add up to the difference of the two labellings' scores. Of a classifier of texts every text is explained, of a
network every variable of every sample, whose most probable state given all others is set beside the second one.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...models.files.settings import kind_of
from ..options import add_format, add_model, add_threads, count
from ..reading import check_joint, model_format, open_model, rereadable

if TYPE_CHECKING:
    from ...models.explain.explanation import Explanation
    from ...models.files.chain import ChainModel

EXAMPLE = "example: printf 'The\\ndog\\nbarks\\n' | loglinear explain --model pos.loglinear"
# Arguments that are files to read, and files to write.
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

    if kind_of(arguments.model) == "network":
        from .. import networks

        found, noun = networks.explain(arguments), "Sample"
    else:
        model, settings = open_model(arguments.model)
        format = model_format(arguments.file, arguments.format, settings, model.template)
        if format == "text":
            found, noun = _of_texts(arguments), "Text"
        else:
            check_joint(model, settings, "explain, and use inspect for the strongest weights")
            found, noun = _explained(arguments, model, settings, format), "Sentence"
    write_output(arguments.output, _shown(found, arguments, noun).encode())


def _of_texts(arguments: Namespace) -> list[Explanation]:
    """Return the explanations of a file's texts."""
    from ...data.texts import read
    from ...models.explain.explanation import Explanation
    from ...models.text_classifier import TextClassifier

    classifier = TextClassifier.load(arguments.model)
    with rereadable(arguments.file) as path:
        texts = read(path, labelled=False).texts
    return [Explanation([each]) for each in classifier.explain(texts)]


def _explained(arguments: Namespace, model: ChainModel, settings: dict[str, Any], format: str) -> list[Explanation]:
    """Return the explanations of a file's sentences."""
    from ...constraints import forbidden_pairs
    from ...data.corpus import Corpus
    from ...data.lines import file_name
    from ...data.templates import TemplateText
    from ...data.tokens import file_words
    from ...models.explain.explainer import Explainer

    template = None if model.template is None else TemplateText(model.template)
    given = {"format": format, "template": template, "labelled": False, "threads": arguments.threads}
    with rereadable(arguments.file) as path:
        corpus = Corpus.read(path, **given)
        words = file_words(path, format, corpus)
    if not len(corpus):
        message = f"{file_name(arguments.file)}: there are no sentences; give one token a line, and a blank line "
        message += "between sentences"
        raise DataError(message)
    pairs = forbidden_pairs(settings.get("constraints"), model.labels)
    return Explainer(model, pairs).explain(corpus, words, arguments.threads)


def _shown(explanations: list[Explanation], arguments: Namespace, noun: str) -> str:
    if arguments.json:
        return "".join(json.dumps(each.to_dict(), ensure_ascii=False) + "\n" for each in explanations)
    if arguments.html:
        from ...models.explain.explanation import page

        return page(explanations, f"Labels by {arguments.model}", arguments.top, noun)
    return "\n\n".join(each.text(arguments.top) for each in explanations) + "\n"
