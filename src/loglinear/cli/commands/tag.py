"""Label a file: write the input columns plus a column with the predicted labels.

For attribute files, texts and encoded corpora only the labels are written. JSON lines get a field `predicted` (and
`marginals` or `n_best`). A CoNLL-U file is written back with the labels in the column that held the training labels, or
in UPOS. With --n-best, each sentence is written once per label sequence, as CRF++ does: a line with #, the rank from 0
and the probability, then the tokens and an empty line. The model of a network fills each missing cell of a table with
its most probable state.

--probabilities adds confidences of a chain's labels:
  token     one more column: the probability of the label. JSON lines get `probabilities`.
  span      one more column: the probability of the whole span, such as an entity, with its type and exact boundaries;
            outside spans, the probability of O. JSON lines get `spans`.
  sequence  a line `# 0.478113` before each sentence: the probability of its label sequence. JSON lines get
            `probability`.

--layout writes the output format of another program:
  wapiti    `wapiti label`: the line, a TAB, the label. -v 1 is its -s: a line `# 0 12.500000` (rank, score) before each
            sentence, and a column `label/score`. -v 2 is its -s -p: the most probable label of each token, with
            probabilities for scores. --n-best N is its -n N.
  crf++     `crf_test`: -v 1 adds the probabilities of labels and sequences, -v 2 those of all labels. --n-best N is its
            -n N.
  crfsuite  `crfsuite tag`: only the label. --probabilities sequence is its -p, --probabilities token its -i,
            --marginals its -l; -v 1 is -p -i, and -v 2 is -p -i -l.

With input from a pipe or a terminal, each sentence is answered as soon as its blank line arrives (each line of JSON
lines, svmlight files and texts), so that another program can write a sentence and read its labels. --stream does the
same for files. An error in a sentence ends the command after the sentences before it have been answered. Tables, and
input whose output goes to a file with -o, are read completely first.
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
        "file", nargs="?", default="-", metavar="FILE", help="sentences, texts or a table; by default, or for -, stdin"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="output file; by default stdout")
    marginals = "add the probabilities of all labels, as label:probability"
    parser.add_argument("--marginals", action="store_true", help=marginals)
    probabilities = "add the probability of each label, of each span, or of each label sequence"
    parser.add_argument("--probabilities", choices=("token", "span", "sequence"), help=probabilities)
    n_best = "write the N most probable label sequences of each sentence, with their probabilities"
    parser.add_argument("--n-best", type=int, metavar="N", help=n_best)
    layout = "output format of another program: crf++, crfsuite or wapiti"
    parser.add_argument("--layout", metavar="NAME", help=layout)
    detail = "level of detail of --layout: 0 for labels only (default), 1 or 2 for scores and probabilities"
    parser.add_argument("-v", "--detail", type=int, choices=(0, 1, 2), help=detail)
    stream = "answer each sentence as soon as it is read, as with a pipe"
    parser.add_argument("--stream", action="store_true", default=None, help=stream)
    constraints = (
        "only allow label sequences of a scheme: BIO, IOB1, IOBES, BILOU, BMES, auto or none; by default the model's"
    )
    parser.add_argument("--constraints", metavar="NAME", help=constraints)
    add_format(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Tag."""
    opened(arguments.model).tag(arguments)
