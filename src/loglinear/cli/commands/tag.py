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

from ..kinds import opened
from ..options import add_format, add_model, add_threads

EXAMPLE = "example: printf 'The\\ndog\\nbarks\\n' | loglinear tag --model pos.loglinear"
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
    opened(arguments.model).tag(arguments)
