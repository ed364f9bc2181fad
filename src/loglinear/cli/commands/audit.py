"""Find labels of training data that are probably wrong, and correct them.

A model is trained without each fold of the data in turn, and labels the fold. The table has a line for each token whose
label a model would change, the most suspicious first: the probabilities of both labels, the attributes that speak most
for the suggested one, the labels of tokens with the same attributes, and the sentence. Such tokens in a row are one
finding.

To correct the data, write x into the column `accept` of the lines whose suggested label is right, or write the right
label into the column `suggested` first. Then --apply writes a copy of the data with these labels. With -o audit.html,
the findings are a page, on which you decide in the browser; it saves the table.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...data.column_layout import ColumnLayout
from ...errors import DataError, OptionError
from ...extras import needed_by
from ...visible import counted, visible_name
from ..audit_table import COLUMNS, AcceptedLabels, read_as
from ..inputs import Inputs, add_data
from ..layout import note_unlabelled
from ..options import (
    add_columns,
    add_features,
    add_format,
    add_model_type,
    add_options,
    add_spans,
    add_templates,
    add_threads,
    add_weight_column,
    check_is_of_texts,
    chosen,
    classifier_features,
    column_layout,
    positive,
)
from ..output import say, tab_separated

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...models.audit import Audit

EXAMPLE = """example: loglinear audit train.txt --preset ner --l1 0.3 --l2 0.1 -o audit.tsv
         loglinear audit train.txt --apply audit.tsv -o corrected.txt"""
READS: tuple[str, ...] = ("train", "template", "apply")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    from ...models.training.options import SolverOptions, TextOptions

    add = parser.add_argument
    inputs = Inputs("TRAIN", model=False, data="train")
    add_data(parser, parser, inputs, "TRAIN", "labelled data (may be compressed)")
    add(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="output file (.html: a page; compressed if it ends in .gz, .xz, .bz2 or .zst; default: stdout)",
    )
    add("--folds", type=int, default=5, metavar="N", help="number of folds, each of which is left out (default: 5)")
    add("--top", type=positive, metavar="N", help="write the N most suspicious findings (default: all)")
    accepted = "write the data with the suggested labels of the lines in this table that have x in the column accept"
    add("--apply", metavar="FILE", help=accepted)
    add_model_type(parser)
    add_format(parser, default="columns", content=("lines", "spans"))
    add_columns(parser)
    add_spans(parser)
    add_weight_column(parser)
    add_templates(parser)
    add_features(parser)
    add_options(parser, TextOptions)
    add_options(parser, SolverOptions, "l1", "l2", "random_state", "tolerance", "max_iterations")
    add("-q", "--quiet", action="store_true", help="do not show a summary")
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Audit, or apply an audit."""
    from ...data.writing import write_text

    if arguments.train == "-":
        message = "an audit names lines of a file; save the input to a file first"
        raise OptionError(message)
    if arguments.apply is not None:
        _apply(arguments)
        return
    audit, places, how = _audited(arguments)
    table = tab_separated(COLUMNS, _rows(audit, places, how, arguments.top))
    is_page = _is_page(arguments.output)
    content = _page(arguments, audit, table) if is_page else table.encode()
    write_text(arguments.output, content)
    if not arguments.quiet:
        say(_summary(audit, arguments.top))
        if is_page:
            say(f"wrote {arguments.output}; open it in a browser, decide, save the table, then: {_way_on(arguments)}")
        elif arguments.output != "-":
            say(f"wrote {arguments.output}; put x into `accept`, then: {_way_on(arguments)}")


def _audited(arguments: Namespace) -> tuple[Audit, list[list[tuple[int, int]]], str]:
    """Return the audit, line and place in the line of each token of each sentence, and how the file was read."""
    from ...data.formats import format_of, named, need_lines
    from ...data.tokens import file_words
    from ...models.training.options import SolverOptions, TextOptions
    from ...objectives.chain import ChainFeatures
    from ..reading import Reading, naming

    with needed_by("loglinear audit", "sklearn"):
        from ...models.audit import audit
        from ...models.chain import ChainCRF
        from ...models.maxent import MaxEnt
        from ...models.text_classifier import TextClassifier

    path, format = arguments.train, format_of(arguments.train, arguments.format)
    need_lines(format, path, "loglinear audit", or_spans=True)
    options, features = chosen(SolverOptions, arguments), chosen(ChainFeatures, arguments)
    texts, is_chain = chosen(TextOptions, arguments), arguments.model_type == "chain"
    if is_chain and (named(format).holds != "sentences" or texts != TextOptions()):
        message = f"texts and samples (--format {format}) need a classifier; add --model-type maxent"
        raise OptionError(message)
    if named(format).holds != "texts":
        check_is_of_texts(texts, format)
    common = {**vars(options), "n_jobs": arguments.threads or None}
    common |= vars(features) if is_chain else classifier_features(features)
    settings = {"folds": arguments.folds, "random_state": options.random_state or 0}
    if named(format).holds == "texts":
        from ...data.texts import read

        documents = read(path)
        classifier = TextClassifier(**common, **vars(texts))
        with naming(path):
            audited = audit(classifier, documents.texts, documents.labels, **settings)
        return audited, [[(line, 0)] for line in documents.lines], read_as(format, ColumnLayout())
    corpus = Reading.of(arguments, path)._replace(labels="open").corpus(path)
    model, how = ChainCRF(**common) if is_chain else MaxEnt(**common), read_as(corpus.format, corpus.columns)
    words, places, rows = file_words(path, corpus.format, corpus), _places(path, corpus), _with_all_labels(path, corpus)
    if len(rows) < len(corpus):
        # Errors name the lines of sentences by their numbers in the file.
        corpus, words, places = corpus[rows], [words[at] for at in rows], [places[at] for at in rows]
        with naming(path):
            return audit(model, corpus, **settings, words=words), places, how
    with naming(path, corpus):
        return audit(model, corpus, **settings, words=words), places, how


def _with_all_labels(path: str, corpus: Corpus) -> list[int]:
    """Return the numbers of the sentences in which no label is unknown, and say how many tokens have an unknown one."""
    gold = corpus.gold()
    rows = [at for at, labels in enumerate(gold) if None not in labels]
    if gold and not rows:
        message = f"{path}: no sentence has all its labels; an audit needs labelled data"
        raise DataError(message)
    if len(rows) < len(gold):
        n_unknown = sum(labels.count(None) for labels in gold)
        note_unlabelled(path, n_unknown, corpus[rows], sentences=True, done="audited")
    return rows


def _places(path: str, corpus: Corpus) -> list[list[tuple[int, int]]]:
    """Return line, from 1, and place in the line, from 0, of each token of each sentence."""
    from ...data.formats import named
    from ...data.token_lines import token_lines

    is_sentence = named(corpus.format).is_sentence
    return [
        [(line, token if is_sentence else 0) for token, (line, _) in enumerate(tokens)]
        for tokens in token_lines(path, corpus.format, corpus.columns)
    ]


def _rows(audit: Audit, places: list[list[tuple[int, int]]], how: str, top: int | None) -> Iterator[list[str]]:
    """Yield the cells of each line of the table."""
    for number, finding in enumerate(audit.findings[:top], start=1):
        labels = zip(finding.words, finding.given, finding.suggested, strict=True)
        for token, (word, old, new) in enumerate(labels, start=finding.start):
            line, place = places[finding.sentence][token]
            first = token == finding.start
            yield [
                "",
                str(number),
                str(line),
                str(place),
                word,
                str(old),
                str(new),
                f"{finding.probability:.2g}" if first else "",
                f"{finding.suggested_probability:.2f}" if first else "",
                finding.reason if first else "",
                " ".join(f"{label}:{count}" for label, count in finding.alike.items()) if first else "",
                how,
                finding.context if first else "",
            ]


def _page(arguments: Namespace, audit: Audit, table: str) -> bytes:
    """Return the page on which a person decides about the lines of a table."""
    from ...data.formats import file_name
    from ...report.audit_page import audit_page

    rows = [line.split("\t") for line in table.split("\n")[1:-1]]
    labels = [visible_name(str(label)) for label in audit.out_of_fold.labels]
    title = f"Audit of {file_name(arguments.train)}"
    return audit_page(
        COLUMNS, rows, labels, title=title, file=os.path.basename(_table_of(arguments)), command=_way_on(arguments)
    )


def _table_of(arguments: Namespace) -> str:
    """Return the name of the table of the findings, which a page saves beside itself."""
    output: str = arguments.output
    from ...data.formats import uncompressed

    return os.path.splitext(uncompressed(output))[0] + ".tsv" if _is_page(output) else output


def _is_page(output: str) -> bool:
    """Whether an output file is a page, which may be compressed."""
    from ...data.formats import uncompressed

    return uncompressed(output).endswith((".html", ".htm"))


def _summary(audit: Audit, top: int | None) -> str:
    """Return lines for people: how many findings, and of what kind."""
    n, n_tokens = len(audit.findings), sum(len(finding.words) for finding in audit.findings)
    where = "" if n_tokens == n else f" in {counted(n_tokens, 'token')}"  # samples are findings by themselves
    written = f"; written: {top:,}" if top is not None and top < n else ""
    lines = [f"{counted(n, 'finding')}{where}, the most suspicious first{written}"]
    pairs = [f"{visible_name(old)} -> {visible_name(new)}: {n:,}" for (old, new), n in [*audit.confusions.items()][:5]]
    lines += [f"most frequent: {', '.join(pairs)}"] if pairs else []
    n = len(audit.disagreements)
    lines += [f"{counted(n, 'context')} {'has' if n == 1 else 'have'} different labels (column alike)"] if n else []
    return "\n".join(lines)


def _way_on(arguments: Namespace) -> str:
    """Return the command that applies the audit."""
    format = [] if arguments.format is None else ["--format", arguments.format]
    layout = column_layout(arguments, ColumnLayout()).flags()
    words = ["loglinear", "audit", arguments.train, *format, *layout, "--apply", _table_of(arguments), "-o"]
    return f"{shlex.join(words)} CORRECTED"


def _apply(arguments: Namespace) -> None:
    """Write the data with the accepted labels."""
    from ...data.formats import format_of, need_lines
    from ...data.relabelling import relabelled, spelled
    from ...data.writing import write_text

    if arguments.output == "-" and sys.stdout.isatty():
        message = "--apply writes all of the data; add -o FILE"
        raise OptionError(message)
    accepted = AcceptedLabels.read(arguments.apply)
    format, layout = accepted.layout(arguments, format_of(arguments.train, arguments.format))
    need_lines(format, arguments.train, "audit --apply")
    changes, new = spelled(arguments.train, format, layout, accepted.changes)
    lines = b"".join(relabelled(arguments.train, format, layout, changes))
    for label in new:
        say(f"warning: {arguments.apply}: the label {label!r} is new in {arguments.train}; correct it if it is a slip")
    write_text(arguments.output, lines)
    if not arguments.quiet:
        if parts := accepted.in_part:
            others = f" (and of {counted(len(parts) - 1, 'other finding')})" if len(parts) > 1 else ""
            note = f"only some tokens of this finding{others} are accepted; the others keep their labels"
            say(f"note: {arguments.apply}, line {parts[0]}: {note}")
        say(f"changed {counted(len(accepted.changes), 'label')}")
