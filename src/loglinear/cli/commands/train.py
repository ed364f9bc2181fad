"""Train a CRF on labelled sentences, or a maximum-entropy classifier on labelled samples or texts.

By default, files have one token per line, with its label in the last column, and a blank line after each sentence.
Such files, and CoNLL-U files, need --preset or --template, which forms the features; CRFsuite and svmlight files
contain theirs. No tuning is needed: loglinear picks the solver that suits the data.

With --model-type maxent, a classifier also reads svmlight files and, with --format text, texts (one per line: label,
TAB, text). In files of sentences, each token is a sample.
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, Namespace
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import ConvergenceWarning, LogLinearError, OptionError, warn
from ...extras import needed_by
from ..distributed import add_cluster, fit_on_cluster, is_local, spread
from ..ending import best_step, certainty, ending, nothing_reached, numbers, size_text
from ..inputs import Inputs, add_data
from ..options import (
    add_columns,
    add_features,
    add_format,
    add_model_type,
    add_options,
    add_spans,
    add_templates,
    add_threads,
    add_verbose,
    add_weight_column,
    check_is_of_texts,
    chosen,
    classifier_features,
    solvers_help,
)
from ..output import Interrupted, keeping_reached, say
from ..strengths import add_strengths, check_flags, documents, groups_of_tokens, tell_choice

if TYPE_CHECKING:
    from ...minimize import Callback
    from ...models.maxent import MaxEnt
    from ...models.text_classifier import TextClassifier
    from ...models.training.checkpoint import Checkpoint
    from ...models.training.options import DevOptions, SolverOptions, StrengthSearch, TextOptions
    from ...objectives.chain import ChainData, ChainFeatures
    from ...result import Result
    from ..progress import Progress

# Extensions of tables, which the command does not read.
_TABLES = (".csv", ".parquet", ".feather", ".arrow", ".xlsx")
EXAMPLE = """example: loglinear train train.txt --preset chunking --l1 1.0 --model chunker.loglinear --dev dev.txt
         loglinear train mails.tsv --model-type maxent --format text --tfidf --l1 0.05 --l2 0.1 --model spam.loglinear
         loglinear train 'part-*.txt' --preset chunking --l1 1.0 --model chunker.loglinear --workers 4"""
READS: tuple[str, ...] = ("train", "dev", "template", "start", "prior")
WRITES: tuple[str, ...] = ("model", "trace", "checkpoint", "report", "plot")


# Bytes of a model from which the end of a training says how to get a smaller one.
LARGE = 50_000_000
_TEXT_FLAGS = "--words, --ngrams, --tfidf"


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    from ...models.training.options import DevOptions, SolverOptions, TextInput, TextOptions

    data = parser.add_argument_group("data")
    train = "training data (may be compressed; - for stdin): files, folders, or quoted patterns such as 'part-*.txt'"
    inputs = Inputs("TRAIN...", model=False, data="train", several=True)
    add_data(parser, data, inputs, "TRAIN", train)
    add_format(data, default="columns")
    add_columns(data)
    add_spans(data, has_tokenizer=True)
    add_weight_column(data)
    add_templates(data)
    partial = "allow partial labels: A:0.7|B:0.3 gives probabilities; in chains, ? means any label and A|B means A or B"
    data.add_argument("--partial", action="store_true", help=partial)
    add_options(parser.add_argument_group("texts (--model-type maxent --format text)"), TextOptions)

    model = parser.add_argument_group("model")
    model.add_argument(
        "-m", "--model", "-o", "--output", dest="model", required=True, metavar="MODEL", help="model file to write"
    )
    add_model_type(model)
    start = "model to start from (warm start); also provides the template, unless one is given"
    model.add_argument("--start", metavar="MODEL", help=start)
    prior = "older model to stay near: the penalty is on the change from its weights; also provides the template"
    model.add_argument("--prior", metavar="MODEL", help=prior)
    strength = "with --prior: strength of that L2 penalty; inf keeps the old weights (default: --l2)"
    model.add_argument("--prior-strength", type=float, metavar="X", help=strength)
    add_features(model)
    add_options(model, TextInput)
    multi_class = "with --model-type maxent, for 3 or more classes: softmax, or ovr (one-vs-rest) (default: softmax)"
    model.add_argument("--multi-class", default="softmax", metavar="KIND", help=multi_class)
    no_intercept = "with --model-type maxent: leave out the intercept, as the solver dual_cd requires"
    model.add_argument("--no-intercept", action="store_true", help=no_intercept)

    penalty = parser.add_argument_group("penalty")
    add_strengths(penalty)
    add_options(penalty, SolverOptions, "penalty_factor", "signs", "l1_groups")

    stopping = parser.add_argument_group("solver and stopping")
    solver = ("solver", "solver_options", "random_state", "tolerance", "gap", "max_iterations")
    add_options(stopping, SolverOptions, *solver)

    dev = parser.add_argument_group("development data (--keep best and --patience need --dev)")
    held_out = "held-out labelled data to score: F1 if the labels mark chunks (B-PER, I-PER), else accuracy; scored "
    held_out += "after each iteration, which takes as long as tagging them"
    dev.add_argument("--dev", metavar="FILE", help=held_out)
    add_options(dev, DevOptions)

    output = parser.add_argument_group("output")
    report = "write an HTML report on the --dev data, else on the training data (pip install '.[report]')"
    output.add_argument("--report", metavar="FILE", help=report)
    output.add_argument("--trace", metavar="FILE", help="write one line of JSON per iteration to this file")
    checkpoint = "save the state of the training to FILE, regularly and on Ctrl-C"
    output.add_argument("--checkpoint", metavar="FILE", help=checkpoint)
    minutes = "with --checkpoint: minutes between saves, 0 for after every iteration (default: 10)"
    output.add_argument("--checkpoint-minutes", type=float, metavar="X", help=minutes)
    resume = "continue from the --checkpoint file; start from the beginning if it does not exist"
    output.add_argument("--resume", action="store_true", help=resume)
    output.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    add_verbose(output)

    add_threads(parser.add_argument_group("performance"))
    add_cluster(parser.add_argument_group("distributed training"))
    parser.epilog = f"{solvers_help()}\n\n{EXAMPLE}"


def run(arguments: Namespace) -> None:
    """Train, write the model, say how it went."""
    from ...data.formats import COMPRESSED, format_of, has_spans, named, need_lines
    from ...models.training.options import (
        ClassifierParameters,
        DevOptions,
        SolverOptions,
        StrengthSearch,
        TextInput,
        TextOptions,
    )
    from ...objectives.chain import ChainFeatures
    from ...options import checks_of
    from ...result import Status
    from ..progress import Progress

    alone = is_local(arguments)
    format = format_of(arguments.train[0], arguments.format)
    holds = named(format).holds
    solver_options = _solver_options(arguments.solver_options or [])
    search, features = (
        chosen(StrengthSearch, arguments, solver_options=solver_options),
        chosen(ChainFeatures, arguments),
    )
    options = chosen(SolverOptions, arguments, solver_options=solver_options, **search.fixed)
    use, raw = chosen(DevOptions, arguments), chosen(TextInput, arguments)
    options.check()
    checks_of(ClassifierParameters)["multi_class"]("multi_class", arguments.multi_class)
    use.check(has_data=arguments.dev is not None)
    check_flags(arguments, search, options)
    _check_older(arguments)
    if (arguments.trace or "").endswith(COMPRESSED):
        message = f"--trace {arguments.trace}: a trace is written line by line, not compressed; give a name without "
        message += os.path.splitext(arguments.trace)[1]
        raise OptionError(message)
    if arguments.report is not None:
        _check_report(arguments, several=len(arguments.train) > 1 or not alone)
    texts = chosen(TextOptions, arguments)
    of_classifiers = arguments.multi_class != "softmax" or arguments.no_intercept or texts != TextOptions()
    if arguments.model_type == "chain" and (holds != "sentences" or of_classifiers):
        flags = f"{_TEXT_FLAGS}, --multi-class and --no-intercept"
        message = f"texts, svmlight files, {flags} need a classifier; add --model-type maxent"
        raise OptionError(message)
    if arguments.model_type != "chain" and raw.tokenizer is not None and not has_spans(format):
        message = "--tokenizer cuts the text that a chain labels; leave it out, or see --words for classifiers of texts"
        raise OptionError(message)
    if holds == "texts" and not alone:
        message = "--workers and --cluster cannot read texts; leave them out, or convert the texts to an svmlight file"
        raise OptionError(message)
    if not alone:
        need_lines(format, arguments.train[0], "training on a cluster")
    with Progress(options.make_solver()[1], quiet=arguments.quiet) as progress:
        checkpoint = _checkpoint(arguments, progress)
        progress.waits = checkpoint is not None
        asked = _Training(arguments, arguments.train, features, texts, search, options, use, progress, checkpoint)
        if arguments.model_type == "chain":
            results = [_train_chain(asked, alone=alone)]
        else:
            results = _train_classifier(asked, alone=alone, of_texts=holds == "texts")
    interrupted = any(result.status is Status.INTERRUPTED for result in results)
    if nothing_reached(results):
        raise Interrupted(way_on=_way_on(checkpoint), is_early=True)
    if not arguments.quiet:
        how = _use(format, tokenizer=arguments.tokenizer)
        for line in _account(results, arguments.model, how, progress.elapsed, verbose=arguments.verbose):
            say(line)
        if advice := _slimming(arguments):
            say(advice)
        if checkpoint is not None and not interrupted:
            more = "delete it, or continue with --resume and a higher --max-iterations"
            say(f"{checkpoint.path}: checkpoint of the finished training; {more}")
    if interrupted:
        raise Interrupted([arguments.model], _way_on(checkpoint))
    if arguments.report is not None:
        _write_report(arguments, results)


def _check_older(arguments: Namespace) -> None:
    """Raise OptionError if the flags that concern an older model do not fit together."""
    from ...models.training.prior import check_prior

    check_prior(arguments.start, arguments.prior, arguments.prior_strength)
    if arguments.prior_strength is not None and arguments.l2 is not None:
        message = "--l2 and --prior-strength cannot be combined: with --prior, either is the strength of the L2 "
        message += "penalty around the older weights; leave out one"
        raise OptionError(message)


def _check_report(arguments: Namespace, *, several: bool) -> None:
    """Raise OptionError if the data do not allow a report."""
    from ...report.page import check_report

    check_report(arguments.report)
    if arguments.dev is None:
        reasons = {"several files": several}
        reasons |= {"--partial": arguments.partial, "stdin": arguments.train == ["-"]}
        if reason := next((name for name, holds in reasons.items() if holds), None):
            message = f"--report with {reason} needs labelled data in a file; add --dev FILE"
            raise OptionError(message)


def _write_report(arguments: Namespace, results: list[Result]) -> None:
    """Write the report of the model that was trained; a failure is a warning, as the model is written."""
    from ..kinds import opened
    from .report import save_report

    remark = "the scores are on the training data and too optimistic; use --dev to score other data"
    notes = [remark] if arguments.dev is None else []
    trace = results[0].trace if len(results) == 1 else ()
    data = arguments.train[0] if arguments.dev is None else arguments.dev
    asked = Namespace(**vars(arguments) | {"data": data, "scheme": None, "tokenizer": None})
    try:
        save_report(opened(arguments.model).report(asked, trace, notes), arguments.report, quiet=arguments.quiet)
    except (LogLinearError, OSError, MemoryError) as error:
        reason = (error.strerror if isinstance(error, OSError) else str(error)) or "out of memory"
        warn(f"{arguments.report}: {reason}; the model is written, but no report")


def _checkpoint(arguments: Namespace, progress: Progress) -> Checkpoint | None:
    """Return the requested checkpoint, after a check of its file."""
    from ...models.training.checkpoint import Checkpoint

    if arguments.checkpoint is None:
        if arguments.resume:
            message = "--resume needs a checkpoint to continue from; add --checkpoint FILE"
            raise OptionError(message)
        if arguments.checkpoint_minutes is not None:
            message = "--checkpoint-minutes needs a checkpoint; add --checkpoint FILE"
            raise OptionError(message)
        return None
    place = arguments.checkpoint
    minutes = 10.0 if arguments.checkpoint_minutes is None else arguments.checkpoint_minutes
    checkpoint = Checkpoint(place, minutes, resume=arguments.resume, note=progress.note)
    checkpoint.open()
    return checkpoint


def _way_on(checkpoint: Checkpoint | None) -> str:
    """Return how to continue an interrupted training; empty without a checkpoint."""
    if checkpoint is None or checkpoint.iteration is None:
        return ""
    place, iteration = checkpoint.path, checkpoint.iteration
    return f"{place} has the checkpoint of iteration {iteration:,}; repeat the command with --resume to continue"


def _slimming(arguments: Namespace) -> str:
    """Return what makes a large model small; empty for a model of moderate size."""
    size = os.path.getsize(arguments.model) if os.path.isfile(arguments.model) else 0
    if size <= LARGE:
        return ""
    options = []
    if not arguments.l1:
        of_texts = "--l1 0.05 --l2 0.1" if arguments.tfidf else "--tfidf --l1 0.05 --l2 0.1"
        options.append(of_texts if arguments.format == "text" else "--l1 0.3 --l2 0.1")
    if arguments.min_count == 1:
        options.append("--min-count 2")
    remedy = " or ".join(options) or f"a larger --l1 than {arguments.l1:g}"
    less = " or without --ngrams" if arguments.format == "text" and arguments.ngrams != "1" else ""
    return f"note: the model takes {size / 1e6:,.0f} MB; for a smaller one train with {remedy}{less}"


def _use(format: str, *, tokenizer: str | None) -> str:
    """Return what a model labels, given the format of its training data."""
    from ...data.formats import named

    if named(format).holds == "texts":
        return "label texts, one per line"
    if named(format).has_spans or tokenizer is not None:
        return "label a file with one token per line (add --text for a text per line)"
    is_of_words = format == "columns" or named(format).has_docs
    return "label a file with one token per line" if is_of_words else f"label a file of the format {format}"


def _account(results: list[Result], model: str, how: str, seconds: float, *, verbose: bool) -> list[str]:
    """Return lines of text: how the training ended, how certain the optimum is, what to do with the model."""
    from ...models.files.settings import worst
    from ...result import Status

    end, interrupted = ending(results, size_text(model), seconds=seconds), worst(results).status is Status.INTERRUPTED
    lines = [f"{end}; the weights are from the last complete iteration"] if interrupted else [end, certainty(results)]
    if len(results) == 1:
        lines += best_step(results[0])
    if results[0].start is not None:
        lines.append(f"start: {results[0].start}")
    if results[0].prior is not None:
        lines.append(f"prior: {results[0].prior}")
    if verbose:
        lines += numbers(results)
    return lines if interrupted else [*lines, f"wrote {model}; {how}: loglinear tag {model} FILE"]


def _solver_options(texts: list[str]) -> dict[str, Any]:
    """Return the options of the solver; raise OptionError if one has two values."""
    options: dict[str, Any] = {}
    for name, value in map(_solver_option, texts):
        if name in options:
            message = f"-p {name}: this option has two values; leave out one"
            raise OptionError(message)
        options[name] = value
    return options


def _solver_option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        message = f"-p {text}: not of the form NAME=VALUE; write, for example, -p passes=10"
        raise OptionError(message)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, {"True": True, "False": False, "None": None}.get(value, value)


class _Training(NamedTuple):
    """The training that the flags describe.

    Attributes:
        arguments: all flags.
        files: the training data.
        features: features of a chain; ``min_count`` also of a classifier.
        texts: how texts become attributes.
        search: which strengths of the penalty are chosen, and how.
        options: penalty and solver, with numbers in place of the strengths to choose.
        use: use of the development data.
        progress: shows the steps.
        checkpoint: where the state of the training is saved.
    """

    arguments: Namespace
    files: list[str]
    features: ChainFeatures
    texts: TextOptions
    search: StrengthSearch
    options: SolverOptions
    use: DevOptions
    progress: Progress
    checkpoint: Checkpoint | None

    def callbacks(self) -> list[Callback]:
        """Return the callbacks that show and write records; a resumed training appends to its trace."""
        from ...trace import TraceWriter

        trace, resumed = self.arguments.trace, self.checkpoint is not None and self.checkpoint.resume
        return [self.progress] if trace is None else [self.progress, TraceWriter(trace, append=resumed)]


def _train_chain(asked: _Training, *, alone: bool) -> Result:
    """Train a chain on one file in this process, or on files that a cluster reads, and write the model."""
    from ...data.formats import format_of, has_spans
    from ...models.files.chain import with_files
    from ...models.files.origin import files_of
    from ...models.training.chain import train_chain
    from ...models.training.prior import ChainPrior
    from ...models.training.start import Start
    from ...objectives.chain import ChainObjective
    from ..reading import Reading, naming

    arguments, callbacks, name = asked.arguments, asked.callbacks(), " ".join(asked.files)
    begun = None if arguments.start is None else Start.open(arguments.start)
    prior = None if arguments.prior is None else ChainPrior.open(arguments.prior, arguments.prior_strength)
    for lost in (begun, prior):
        if lost is not None:
            lost.warn_of_lost()
    models = begun if prior is None else prior.start
    reading = Reading.of(arguments, asked.files[0], partial=arguments.partial, start=models)
    if not has_spans(format_of(asked.files[0], arguments.format)):  # the tokenizer is for raw text to label
        spans = reading.columns.spans._replace(tokenizer=None)
        reading = reading._replace(columns=reading.columns._replace(spans=spans))
    older = None if prior is None else prior.older
    with ExitStack() as stack:
        data: ChainData
        if alone:
            data = reading.chain(asked.files, asked.features, asked.progress, older)
        else:
            opened = spread(arguments, reading, asked.features, asked.progress, asked.checkpoint, older)
            data, account = stack.enter_context(opened)
            callbacks.insert(0, account)
        dev = reading.dev(arguments.dev, data, asked.use)
        groups = documents(data.corpus, asked.files, asked.search) if isinstance(data, ChainObjective) else None
        with naming(name):
            options, cross_validation = asked.options, None
            if asked.search.names:
                from ...models.training.chain_strengths import chosen_strengths

                note = asked.progress.note
                options, cross_validation = chosen_strengths(
                    data, asked.search, options, groups, arguments.threads, note
                )
            tell_choice(cross_validation, arguments)
            model, result = train_chain(
                data,
                options,
                callbacks=callbacks,
                dev=dev,
                start=begun,
                prior=prior,
                checkpoint=asked.checkpoint,
                tokenizer=arguments.tokenizer or data.columns.spans.tokenizer,
                cross_validation=cross_validation,
            )
    if not nothing_reached([result]):
        with_files(model, files_of(arguments, asked.files)).save(arguments.model)
    return result


def _train_classifier(asked: _Training, *, alone: bool, of_texts: bool) -> list[Result]:
    """Train a classifier and write the model; return the result of each model that it contains."""
    # Chains are trained without scikit-learn, which takes longer to import than everything else.
    import warnings

    with needed_by("--model-type maxent", "sklearn"):
        from ...models.maxent import MaxEnt
        from ...models.text_classifier import TextClassifier

    arguments, features = asked.arguments, asked.features
    if arguments.partial and not alone:
        message = "--partial is not available for classifiers with --workers or --cluster; leave one out"
        raise OptionError(message)
    parameters: dict[str, Any] = {
        **classifier_features(features),
        **vars(asked.search),
        **vars(asked.use),
        "multi_class": arguments.multi_class,
        "fit_intercept": not arguments.no_intercept,
        "n_jobs": arguments.threads or None,
    }
    with warnings.catch_warnings():
        # The status already says so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if of_texts:
            texts = TextClassifier(**parameters, **vars(asked.texts))
            return _fit_texts(texts, asked).results_
        return _fit_samples(MaxEnt(**parameters), asked, alone=alone).results_


def _fit_texts(classifier: TextClassifier, asked: _Training) -> TextClassifier:
    """Train a classifier on texts, write the model and return it."""
    from ...data.formats import format_of
    from ...data.labels import check_targets
    from ...data.survey import Survey, check_counts
    from ...data.texts import oddities, read
    from ...data.words import WORDS, segmented, unspaced
    from ...models.files.origin import files_of
    from ..reading import naming, show

    arguments, name = asked.arguments, " ".join(asked.files)
    if arguments.preset is not None or arguments.template is not None:
        message = "--preset and --template need columns, and texts have none; leave them out"
        raise OptionError(message)
    format = format_of(asked.files[0], arguments.format, "text")
    documents = read(*asked.files, partial=arguments.partial, format=format)
    labels = documents.label_names
    with naming(name):
        check_targets(labels, commas=False)
    for oddity in oddities(documents):
        say(f"warning: {name}: {oddity}")
    with naming(name):
        counted = classifier.counted(documents.texts)
    survey = Survey.of_texts(documents.labels or [], len(counted.counts.vocabulary), documents.format)
    show(name, survey, asked.progress, are_samples=True)
    if (share := unspaced(documents.texts)) >= 0.1 and classifier.words == WORDS:
        pairs = f"{100.0 * share:.0f} % of the texts are in a script without blanks between words, such as Chinese"
        if segmented(documents.texts):
            pairs += ", but have blanks between words: add --words blanks, or each pair of characters is a word"
        else:
            pairs += "; each pair of characters is a word; see --words characters:N-M for other lengths"
        say(f"note: {name}: {pairs}")
    dev = None if arguments.dev is None else read(arguments.dev, format=format)
    if dev is not None:
        check_counts(Counter(dev.labels or ()), labels, arguments.dev, dev.format, least=0.0)
    with keeping_reached(classifier):
        classifier.fit(
            counted if arguments.prior is None else documents.texts,
            documents.labels,
            X_dev=None if dev is None else dev.texts,
            y_dev=None if dev is None else dev.labels,
            start=arguments.start,
            prior=arguments.prior,
            prior_strength=arguments.prior_strength,
            callbacks=asked.callbacks(),
            checkpoint=asked.checkpoint,
        )
    tell_choice(classifier.cross_validation_, arguments)
    if not nothing_reached(classifier.results_):
        classifier.save(arguments.model, files=files_of(arguments, asked.files))
    return classifier


def _fit_samples(classifier: MaxEnt, asked: _Training, *, alone: bool) -> MaxEnt:
    """Train a classifier on samples with attributes, write the model and return it."""
    from ...data.formats import format_of, is_corpus, uncompressed
    from ...data.survey import Survey, check_known
    from ...models.files.origin import files_of
    from ...models.training.classifier_start import ClassifierStart
    from ..layout import note_labelled_columns, warn_of_unknown_columns
    from ..reading import Reading, naming, show

    arguments, path = asked.arguments, asked.files[0]
    format = format_of(path, arguments.format)
    check_is_of_texts(asked.texts, format)
    older = arguments.start if arguments.prior is None else arguments.prior
    begun = None if older is None else ClassifierStart.open(older)
    reading = Reading.of(arguments, path, partial=arguments.partial, start=begun)
    if alone and reading.template is None and format == "columns" and not is_corpus(path):
        of_texts = "for texts (a label, a TAB and a text per line) add --format text"
        of_tables = (
            f"{path} looks like a table: in Python, loglinear.MaxEnt reads data frames; here, write the table "
            "with sklearn.datasets.dump_svmlight_file and add --format svmlight"
        )
        other = of_tables if uncompressed(path.lower()).endswith(_TABLES) else of_texts
        message = f"columns need --template or --preset (see `loglinear presets`); {other}"
        raise OptionError(message)
    X = reading.corpora(asked.files) if alone else None
    of_dev = reading.beside(reading.layout_of(path) if X is None else X.columns)
    X_dev = None if arguments.dev is None else of_dev.corpus(arguments.dev, format)
    callbacks, checkpoint = asked.callbacks(), asked.checkpoint
    if X is None:
        classifier = fit_on_cluster(
            classifier,
            arguments,
            reading,
            X_dev=X_dev,
            callbacks=callbacks,
            progress=asked.progress,
            checkpoint=checkpoint,
        )
    else:
        show(" ".join(asked.files), Survey.of(X), asked.progress, are_samples=True)
        if X_dev is not None:
            with naming(arguments.dev, X_dev):
                X_dev.check_whole("development data need one label per sample; leave out such samples")
            check_known(X_dev, X.core.labels, arguments.dev, least=0.0)
            note_labelled_columns(arguments.dev, X_dev.columns, X.columns)
            warn_of_unknown_columns(arguments.dev, X_dev.format, X.core.names())
        groups = groups_of_tokens(X, asked.files, asked.search)
        with naming(" ".join(asked.files), X, asked.files), keeping_reached(classifier):
            classifier.fit(
                X,
                groups=groups,
                X_dev=X_dev,
                start=arguments.start,
                prior=arguments.prior,
                prior_strength=arguments.prior_strength,
                callbacks=callbacks,
                checkpoint=checkpoint,
            )
    tell_choice(classifier.cross_validation_, arguments)
    if not nothing_reached(classifier.results_):
        classifier.save(arguments.model, files=files_of(arguments, asked.files))
    return classifier
