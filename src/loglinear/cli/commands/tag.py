"""Label a file: the input columns, and the predicted label behind them.

Attribute files, texts and encoded corpora give the label alone; JSON lines get a field `predicted` (and `marginals`,
or `n_best`). A CoNLL-U file comes back as it was, with the labels in the column of the training data's labels, or in
UPOS. With --n-best a sentence is written once for each of its most probable labellings, as CRF++ does: a line with #
and the rank, from 0 on, and the probability; the tokens; an empty line. There are fewer where a sentence has fewer
labellings. The model of a network fills the missing cells of a table, each with its most probable state.

--probabilities says how sure the model of a chain is of its labels:
  token     a column behind the label: the probability of this label. JSON lines get `probabilities`.
  span      a column behind the label: in a span, such as an entity, the probability that exactly this span is there,
            with its type, on each of its tokens; at O the probability of this label. JSON lines get `spans`.
  sequence  a line `# 0.478113` before each sentence: the probability of all its labels together. JSON lines get
            `probability`.

--layout writes what the tagger of another program would:
  wapiti    `wapiti label`: the line, a TAB, the label. -v 1 is its -s: a line `# 0 12.500000` before each sentence with
            the rank and the sum of the weights, and `label/weights` in a column more. -v 2 is its -s -p: each token has
            its most probable label, and the numbers are probabilities. --n-best N is its -n N.
  crf++     `crf_test`, with its -v and, as --n-best N, its -n N: -v 1 for the probabilities of the labels and of each
            sentence's labelling, -v 2 for the probabilities of all labels besides.
  crfsuite  `crfsuite tag`: the label alone. --probabilities sequence is its -p, --probabilities token its -i,
            --marginals its -l; -v 1 stands for -p -i, and -v 2 for -p -i -l.

From a pipe or a terminal each sentence is answered as soon as its blank line has come (of JSON lines, svmlight files
and texts: each line), so that another program can write sentences and read their labels in turn. --stream asks for the
same with a file. A mistake in a sentence ends the command after the answers to the sentences before it. A table, and
what goes to a file with -o, is read as a whole.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from ...errors import DataError, OptionError
from ...models.files.settings import kind_of
from ..layout import is_regular, start_of, warn_of_whole_sentences
from ..options import add_format, add_model, add_threads
from ..reading import check_joint, model_format, open_model

if TYPE_CHECKING:
    from ...data.texts import Documents
    from ...models.files.chain import ChainModel
    from ...models.text_classifier import TextClassifier
    from ...schemes import ChunkRule

EXAMPLE = "example: printf 'The\\ndog\\nbarks\\n' | loglinear tag --model pos.loglinear"
# Arguments that are files to read, and files to write.
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_model(parser)
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="sentences, or a table; stdin by default, or for -"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="file to write; stdout by default")
    marginals = "add the probability of every label, as label:probability"
    parser.add_argument("--marginals", action="store_true", help=marginals)
    probabilities = "add the probability of each label, of the span that each token is in, or of each labelling"
    parser.add_argument("--probabilities", choices=("token", "span", "sequence"), help=probabilities)
    n_best = "write the N most probable labellings of each sentence, with their probabilities"
    parser.add_argument("--n-best", type=int, metavar="N", help=n_best)
    layout = "write as another program's tagger does: crf++, crfsuite or wapiti"
    parser.add_argument("--layout", metavar="NAME", help=layout)
    detail = "detail of that layout: 0 for labels, the default, 1 or 2 for scores and probabilities"
    parser.add_argument("-v", "--detail", type=int, choices=(0, 1, 2), help=detail)
    stream = "answer each sentence as soon as it has come, as from a pipe"
    parser.add_argument("--stream", action="store_true", default=None, help=stream)
    constraints = "labellings that are allowed: BIO, IOB1, IOBES, BILOU, BMES, auto or none; by default the model's own"
    parser.add_argument("--constraints", metavar="NAME", help=constraints)
    add_format(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Tag."""
    if kind_of(arguments.model) == "network":
        from ..networks import tag

        tag(arguments)
        return
    from ...models.files.chain import checked_n_best

    model, settings = open_model(arguments.model)
    format = model_format(arguments.file, arguments.format, settings, model.template)
    n_best = None if arguments.n_best is None else checked_n_best("--n-best", arguments.n_best)
    wanted = "--marginals" if arguments.marginals else "--n-best" if n_best is not None else None
    if wanted is not None or arguments.detail:
        check_joint(model, settings, wanted or f"-v {arguments.detail}")
    rule = _chunk_rule(arguments, model, settings)
    streams = _streams(arguments)
    if format == "text":
        _tag_texts(arguments, streams=streams)
        return
    if format == "corpus":
        _tag_corpus(arguments, model)
        return
    if arguments.constraints is not None:
        model = _constrained(model, arguments.constraints)

    def look(start: bytes) -> None:
        if format == "columns":
            warn_of_whole_sentences(arguments.file, start, model, settings)

    if not streams and is_regular(arguments.file):
        look(start_of(arguments.file))
    model.tag_file(
        arguments.file,
        arguments.output,
        format=format,
        marginals=arguments.marginals,
        n_best=n_best,
        probabilities=arguments.probabilities,
        rule=rule,
        layout=arguments.layout,
        detail=arguments.detail,
        stream=look if streams else None,
        threads=arguments.threads,
    )


def _streams(arguments: Namespace) -> bool:
    """Whether sentences are answered as they come.

    Raises:
        OptionError: that is asked for, and so is a file that is written as a whole.
    """
    if arguments.output != "-":
        if arguments.stream:
            message = f"--stream: {arguments.output} is written whole or not at all; leave out --stream or --output"
            raise OptionError(message)
        return False
    return bool(arguments.stream) or not is_regular(arguments.file)


def _chunk_rule(arguments: Namespace, model: ChainModel, settings: dict[str, Any]) -> ChunkRule | None:
    """Return the rule by which spans are read, if their probabilities are wanted.

    Raises:
        OptionError: the model has no probabilities of the kind wanted.
    """
    wanted = arguments.probabilities
    if wanted is not None and settings.get("model") != "chain":
        message = f"--probabilities {wanted}: {arguments.model} is a classifier, whose samples stand alone; "
        message += "--marginals gives the probability of every class"
        raise OptionError(message)
    if wanted != "span":
        return None
    from ...schemes import chunk_rule

    labels = model.labels
    if (rule := chunk_rule(tuple(labels))) is None:
        named = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
        message = f"--probabilities span: the labels of {arguments.model} ({named}) follow no tagging scheme such as "
        message += "B-PER, I-PER, O, and form no spans; give --probabilities token"
        raise OptionError(message)
    return rule


def _constrained(model: ChainModel, constraints: str) -> ChainModel:
    """Return the model under the constraints that --constraints names."""
    from ...constraints import check_constraints, resolved
    from ...models.files.chain import constrained

    check_constraints("--constraints", constraints)
    return constrained(model, resolved(constraints, model.labels))


def _tag_corpus(arguments: Namespace, model: ChainModel) -> None:
    """Write the labels of an encoded corpus, a line each, and a blank line behind each sentence.

    Raises:
        OptionError: more is wanted than labels.
    """
    from ...data.corpus import Corpus
    from ...data.templates import TemplateText
    from ...data.writing import write_output

    wanted = (arguments.marginals, arguments.n_best, arguments.probabilities, arguments.layout, arguments.detail)
    if any(wanted):
        message = f"{arguments.file} is an encoded corpus, of which the labels alone are written; give the text instead"
        raise OptionError(message)
    template = None if model.template is None else TemplateText(model.template)
    corpus = Corpus.read(arguments.file, template=template)
    if arguments.constraints is not None:
        model = _constrained(model, arguments.constraints)
    found = model.predict(corpus.core, threads=arguments.threads)
    lines = ("".join(f"{label}\n" for label in labels) + "\n" for labels in found)
    write_output(arguments.output, "".join(lines).encode())


def _tag_texts(arguments: Namespace, *, streams: bool) -> None:
    """Write the label of every text, a line each, and the probabilities of all labels where they are wanted.

    Blank lines of the input before a text are blank lines of the output.

    Raises:
        DataError: there are no texts, or they are not UTF-8.
        OptionError: an option is not for texts.
    """
    from ...data.lines import arriving_lines, file_name
    from ...data.texts import documents, read
    from ...data.writing import write_output
    from ...models.text_classifier import TextClassifier

    if arguments.n_best is not None:
        message = "a text has a single label, whose probability --marginals shows; leave out --n-best"
        raise OptionError(message)
    if arguments.layout is not None or arguments.detail is not None:
        message = "--layout is for columns; a text has a line for its label, so leave out --layout and -v"
        raise OptionError(message)
    name = file_name(arguments.file)
    if not streams:
        found = read(arguments.file, labelled=False)
        classifier = TextClassifier.load(arguments.model)
        write_output(arguments.output, _labelled(found, 0, classifier, marginals=arguments.marginals))
        return
    classifier = TextClassifier.load(arguments.model)
    seen = answered = 0
    for lines in arriving_lines(arguments.file):
        found = documents(lines, name, labelled=False, first=seen + 1)
        seen += len(lines)
        if found.texts:
            write_output("-", _labelled(found, answered, classifier, marginals=arguments.marginals))
            answered = found.lines[-1]
    if not answered:
        message = f"{name}: no texts; the file is empty or holds only blank lines"
        raise DataError(message)


def _labelled(found: Documents, answered: int, classifier: TextClassifier, *, marginals: bool) -> bytes:
    """Return the output for texts; it begins behind so many lines that have been answered."""
    rows = [[label] for label in classifier.predict(found.texts)]
    if marginals:
        for row, probabilities in zip(rows, classifier.predict_proba(found.texts), strict=True):
            row += [f"{label}:{p:.6f}" for label, p in probabilities.items()]
    lines = [""] * (found.lines[-1] - answered)
    for number, row in zip(found.lines, rows, strict=True):
        lines[number - answered - 1] = "\t".join(row)
    return "".join(line + "\n" for line in lines).encode()
