"""Label a file: write the input columns plus a column with the predicted labels.

For attribute files, texts and encoded corpora only the labels are written. JSON lines get a field `predicted` (and
`marginals` or `n_best`). CoNLL-U files get the labels in the column that held them in training, or in UPOS. With
--n-best, each sentence is written once per label sequence, as CRF++ does: a line with #, the rank from 0 and the
probability, then the tokens and an empty line. With a model from `loglinear structure`, the input is a table, and each
missing cell is filled with its most probable value.

--probabilities shows how certain the labels of a CRF are:
  token     one more column: the probability of the label. JSON lines get `probabilities`.
  span      one more column: the probability of the whole span, such as an entity, with its type and exact boundaries;
            outside spans, the probability of O. JSON lines get `spans`.
  sequence  a line `# 0.478113` before each sentence: the probability of its label sequence. JSON lines get
            `probability`.

--layout writes the output format of another program:
  wapiti    `wapiti label`: the line, a TAB, the label. -v 1 matches `wapiti label -s`: a line `# 0 12.500000` (rank,
            score) before each sentence, and a column `label/score`. -v 2 matches `-s -p`: the most probable label of
            each token, with probabilities instead of scores. --n-best N matches `-n N`.
  crf++     `crf_test`: -v 1 adds the probabilities of labels and sequences, -v 2 the probabilities of all labels.
            --n-best N matches `-n N`.
  crfsuite  `crfsuite tag`: only the label. --probabilities sequence matches `-p`, --probabilities token `-i`, and
            --marginals `-l`; -v 1 matches `-p -i`, and -v 2 `-p -i -l`.

From a pipe or a terminal, labels are written as soon as a sentence is complete: after its blank line, or after each
line for JSON lines, svmlight and text. So another program can send a sentence and wait for its labels. --stream does
the same for files. After an error, the sentences before it are still labelled. Tables, and any input with -o, are read
in full before anything is written.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..kinds import opened
from ..options import add_columns, add_format, add_model, add_threads

EXAMPLE = "example: printf 'The\\ndog\\nbarks\\n' | loglinear tag --model pos.loglinear"
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output",)


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_model(parser)
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="sentences, texts or a table (default: stdin)"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="output file (default: stdout)")
    marginals = "add the probabilities of all labels, as label:probability"
    parser.add_argument("--marginals", action="store_true", help=marginals)
    probabilities = "add the probability of each label, of each span, or of each label sequence"
    parser.add_argument("--probabilities", choices=("token", "span", "sequence"), help=probabilities)
    n_best = "write the N most probable label sequences of each sentence, with their probabilities"
    parser.add_argument("--n-best", type=int, metavar="N", help=n_best)
    layout = "output format of another program: crf++, crfsuite or wapiti"
    parser.add_argument("--layout", metavar="NAME", help=layout)
    detail = "detail of --layout: 0 for labels only, 1 or 2 to add scores or probabilities (default: 0)"
    parser.add_argument("-v", "--detail", type=int, choices=(0, 1, 2), help=detail)
    stream = "write the labels of each sentence as soon as it is read, as from a pipe"
    parser.add_argument("--stream", action="store_true", default=None, help=stream)
    constraints = (
        "only allow label sequences of this tagging scheme: BIO, IOB1, IOBES, BILOU, BMES, auto or none "
        "(default: as in training)"
    )
    parser.add_argument("--constraints", metavar="NAME", help=constraints)
    add_format(parser)
    add_columns(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Tag."""
    opened(arguments.model).tag(arguments)
