"""Train a linear-chain CRF on a file of labelled sentences, or a maximum-entropy classifier on labelled samples.

A classifier takes texts (label TAB text a line), svmlight files, or any of the others, token by token.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from ...errors import OptionError
from ..options import add_features, add_templates, add_threads

EXAMPLE = """example: loglinear train train.txt --preset chunking --l1 1.0 --model chunker.loglinear --dev dev.txt
         loglinear train mails.tsv --model-type maxent --format text --ngrams 1-2 --tfidf --model spam.loglinear"""


# Of --ngrams, --tfidf and --multi-class.
DEFAULTS = ["1", False, "softmax"]


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("train", metavar="TRAIN", help="training data; gzip and xz too; - for stdin")
    add("-m", "--model", required=True, metavar="MODEL", help="model file to write")
    add("--model-type", default="chain", choices=("chain", "maxent"), help="chain (the default) or maxent")
    add("-f", "--format", default="columns", help="columns (the default), crfsuite, jsonl, svmlight or text")
    ngrams = "with --format text: lengths of the word sequences that count as one, such as 1-2 (1)"
    add("--ngrams", default="1", metavar="N[-M]", help=ngrams)
    add("--tfidf", action="store_true", help="with --format text: weigh words by their rarity")
    multi_class = "of a classifier: softmax (the default), or ovr, each class against the rest"
    add("--multi-class", default="softmax", metavar="KIND", help=multi_class)
    add_templates(parser)
    add("--l1", type=float, default=0.0, metavar="X", help="L1 penalty l1 * |w|_1 (CRFsuite's c1)")
    l2 = "L2 penalty l2 / 2 * |w|^2 (twice CRFsuite's c2); by default 1 without --l1, 0 with it"
    add("--l2", type=float, metavar="X", help=l2)
    solver = "lbfgs, owlqn, sgd_l1 or two_stage; by default owlqn with --l1, lbfgs without"
    add("--solver", metavar="NAME", help=solver)
    options = "an option of the solver, such as learning_rate=0.5 or passes=10; can be given several times"
    add("-p", "--set", dest="solver_options", action="append", metavar="NAME=VALUE", help=options)
    add_features(parser)
    add("--max-iterations", type=int, default=1000, metavar="N", help="limit on iterations (1000)")
    tolerance = (
        "stop at this mean relative decrease of the objective over 5 iterations (1e-5; two_stage 1e-4; not for sgd_l1)"
    )
    add("--tolerance", type=float, metavar="X", help=tolerance)
    add("--dev", metavar="FILE", help="labelled data to score every 10 iterations")
    add("--trace", metavar="FILE", help="write a JSON line per iteration to this file")
    seed = "seed of stochastic solvers (0); lbfgs and owlqn draw nothing"
    add("--seed", dest="random_state", type=int, default=0, metavar="N", help=seed)
    add("-q", "--quiet", action="store_true", help="no progress")
    add_threads(parser)


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        message = f"-p {text}: give an option of the solver as NAME=VALUE, such as passes=10"
        raise OptionError(message)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, {"True": True, "False": False, "None": None}.get(value, value)


def run(arguments: Namespace) -> None:
    """Train, write the model, say how it went."""
    from ...models.chain_training import TrainingOptions, training_summary
    from ...result import Status
    from ..fit import fit, fit_classifier
    from ..progress import Progress, say

    names = ("l1", "l2", "solver", "all_states", "all_transitions", "min_count", "order", "max_iterations", "tolerance")
    options = TrainingOptions(
        **{name: getattr(arguments, name) for name in names},
        solver_options=dict(map(_option, arguments.solver_options or ())),
        random_state=arguments.random_state,
    )
    shared = ("preset", "template", "format", "dev", "trace", "threads")
    given: dict[str, Any] = {name: getattr(arguments, name) for name in shared}
    classifies = arguments.model_type == "maxent"
    of_classifier = {name: getattr(arguments, name) for name in ("ngrams", "tfidf", "multi_class")}
    if not classifies and (arguments.format in ("text", "svmlight") or list(of_classifier.values()) != DEFAULTS):
        message = (
            "texts, svmlight files, --ngrams, --tfidf and --multi-class are for classifiers; add --model-type maxent"
        )
        raise OptionError(message)
    with Progress(options.make_solver()[1], quiet=arguments.quiet) as progress:
        if classifies:
            given |= of_classifier
            summary = fit_classifier(arguments.train, arguments.model, options, progress=progress, **given)
        else:
            result = fit(arguments.train, arguments.model, options, progress=progress, **given)
            summary = training_summary([result])
    status = Status[summary["status"].upper()]
    if not arguments.quiet:
        say(f"{status.message}: objective {summary['objective']:.2f}, violation {summary['violation']:.3g}")
        say(f"{arguments.model}: written; label text with: loglinear tag --model {arguments.model} FILE")
    if status is Status.INTERRUPTED:
        raise KeyboardInterrupt
