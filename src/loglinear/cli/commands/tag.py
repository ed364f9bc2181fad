"""Label a file: write the input columns plus a column with the predicted labels.

For CRFsuite and svmlight files, texts, and folders of `loglinear encode`, only the labels are written. For a folder of
texts, each line has a file and its label. JSON lines get a field `predicted`, and `marginals` with --marginals or
`n_best` with --n-best. CoNLL-U files get the labels in the column of the training labels, or in UPOS if the model was
trained on another format. With --n-best, each sentence is written once per label sequence, as CRF++ does: a line such
as `# 0 0.307017` (rank, starting at 0, and probability), the tokens, and a blank line. With a model from `loglinear
structure`, the input is a table, and each missing cell in a column of the model is filled with its most probable value.

--probabilities shows how certain the labels of a CRF are (for a classifier, use --marginals); choose one:
  token     one more column: the probability of the label. JSON lines get `probabilities`.
  span      one more column: the probability that a span (such as an entity) has exactly this type and these boundaries;
            for tokens outside spans, the probability of O. Needs labels such as B-PER, I-PER, O. JSON lines get
            `spans`.
  sequence  a line `# 0.478113` before each sentence: the probability of its label sequence. JSON lines get
            `probability`.

--min-probability accepts only answers that are probable enough, and leaves the others to a person. `loglinear evaluate
--calibration` shows, on labelled data, how probable answers must be to be right often enough. The labels of other
answers are written as `?` (in JSON lines as null), or as --below says; with --rest, the sentences that contain them go
to a separate file, with their labels. The probability is of a span and its tokens, or of O outside spans; of a
token, if the labels have no spans; or of what --probabilities names, which is then written as well.

--text labels raw text, one text per line, with a CRF whose template looks at words alone. Each text is cut into tokens
by the tokenizer of the training, or by --tokenizer, and is one sequence. The output is a line of JSON for each text:
  {"text": "Ada wrote.", "spans": [{"start": 0, "end": 3, "label": "PER", "text": "Ada", "probability": 0.97}]}
Offsets count characters, from 0. There is a span for each entity, or for each token if the labels do not mark spans.
With --min-probability, less probable spans are left out.

--layout writes the output format of another program:
  wapiti    like `wapiti label`: each input line, a TAB, the label. -v 1 is like `-s`: a line `# 0 12.500000` (rank,
            score) before each sentence, and `label/score` instead of the label. -v 2 is like `-s -p`: each token gets
            its most probable label, with probabilities instead of scores. --n-best N is like `-n N` (not with -v 2).
  crf++     like `crf_test`: -v 1 adds the probabilities of labels and sequences, -v 2 the probabilities of all
            labels. --n-best N is like `-n N`.
  crfsuite  like `crfsuite tag`: only the label. For `-p`, use --probabilities sequence; for `-i`, --probabilities
            token; for `-l`, --marginals; for `-p -i`, -v 1; for `-p -i -l`, -v 2.

With --text, --layout writes the labelled parts as suggestions (pre-annotations) for an annotation tool. Blank lines are
left out.
  doccano       JSON lines to import
  label-studio  tasks with predictions; their score is the probability that all labels of the text are right
  prodigy       JSON lines to load, with tokens and spans

--pretty is for people: words with their labels below, in lines that fit the terminal. Spans are underlined with one
label, and types have colours. Without a terminal, or if the environment variable NO_COLOR is set, there are no colours.
Tables are refused.

If the input is a pipe or a terminal, each sentence is labelled as soon as it is complete: after its blank line, or
after each line for JSON lines, svmlight and text. So another program can send a sentence and wait for its labels.
--stream does the same for files. When streaming, the sentences before an error are still labelled; otherwise an error
means no output. Tables, and any input when -o is used, are read completely before anything is written.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...errors import OptionError
from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import (
    add_columns,
    add_format,
    add_label_bias,
    add_threads,
    add_tokenizer,
    check_raw_text,
    option_flag,
)
from ..withheld import add_withheld

EXAMPLE = """example: printf 'The\\ndog\\nbarks\\n' | loglinear tag pos.loglinear
         loglinear tag ner.loglinear new.txt --pretty | less"""
READS: tuple[str, ...] = ("file", "model")
WRITES: tuple[str, ...] = ("output", "rest")

LAYOUTS = ("crf++", "crfsuite", "wapiti")
# Layouts of raw texts.
_OF_TEXTS = ("doccano", "label-studio", "prodigy")


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    inputs = Inputs("MODEL [FILE]", model=True, data="file", default="-")
    add_inputs(parser, inputs, "sentences, texts or a table (default: stdin)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="output file (default: stdout)")
    marginals = "add the probabilities of all labels, as label:probability"
    parser.add_argument("--marginals", action="store_true", help=marginals)
    probabilities = "add the probability of each label, of each span, or of each label sequence"
    parser.add_argument("--probabilities", action="append", choices=("token", "span", "sequence"), help=probabilities)
    n_best = "write the N most probable label sequences of each sentence, with their probabilities"
    parser.add_argument("--n-best", type=int, metavar="N", help=n_best)
    layout = f"output format of another program: {', '.join(LAYOUTS)}; with --text: {', '.join(_OF_TEXTS)}"
    parser.add_argument("--layout", choices=(*LAYOUTS, *_OF_TEXTS), metavar="NAME", help=layout)
    detail = "with --layout: 0 for labels only, 1 or 2 to add scores or probabilities, as above (default: 0)"
    parser.add_argument("-v", "--detail", type=int, choices=(0, 1, 2), help=detail)
    pretty = "print words with their labels below, for people; in colour on a terminal"
    parser.add_argument("--pretty", action="store_true", default=None, help=pretty)
    text = "each line is raw text: cut it into tokens, and write a line of JSON with the labelled parts of the text"
    parser.add_argument("--text", action="store_true", default=None, help=text)
    add_tokenizer(parser)
    stream = "label each sentence as soon as it is read (always on for pipes and terminals)"
    parser.add_argument("--stream", action="store_true", default=None, help=stream)
    constraints = (
        "only allow label sequences of this tagging scheme: BIO, IOB1, IOBES, BILOU, BMES, auto or none "
        "(default: as in training)"
    )
    parser.add_argument("--constraints", metavar="NAME", help=constraints)
    add_withheld(parser)
    add_label_bias(parser)
    add_format(parser, content=["lines"])
    add_columns(parser)
    add_threads(parser)


def run(arguments: Namespace) -> None:
    """Tag."""
    if arguments.probabilities is not None:
        arguments.probabilities, *others = arguments.probabilities
        if others:
            message = f"--probabilities {arguments.probabilities} and {others[0]} cannot be combined; leave out one"
            raise OptionError(message)
    check_raw_text(arguments)
    if arguments.layout in _OF_TEXTS and not arguments.text:
        message = f"--layout {arguments.layout} writes raw texts with their spans; add --text, and give a text per line"
        raise OptionError(message)
    if not arguments.pretty:
        opened(arguments.model).tag(arguments)
        return
    for name in ("marginals", "probabilities", "n_best", "layout", "detail", "min_probability", "below", "rest"):
        if getattr(arguments, name) not in (None, False):
            message = f"--pretty prints labels only; leave out {option_flag(name) if name != 'detail' else '-v'}"
            raise OptionError(message)
    if arguments.output != "-":
        message = f"--pretty prints to the terminal, not to {arguments.output}; leave out --output"
        raise OptionError(message)
    opened(arguments.model).tag_pretty(arguments)
