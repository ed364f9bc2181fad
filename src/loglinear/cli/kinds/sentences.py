"""Chains and classifiers of features: models that label the tokens of sentences, each of which may be a sample."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import DataError, OptionError
from ...visible import counted, listed
from ..layout import (
    answered_one_by_one,
    first_rows,
    is_regular,
    note_columns,
    note_empty,
    note_labelled_columns,
    note_unlabelled,
    refuse_json_lines,
    refuse_texts,
    rows_of,
    start_of,
    warn_of_columns,
    warn_of_long_sentence,
    warn_of_missing_attributes,
    warn_of_unknown_attributes,
    warn_of_unknown_words,
    warn_of_whole_sentences,
)
from ..options import flags_of
from ..output import say
from ..reading import guessing, naming
from ..withheld import Withheld
from .kind import Kind

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ...data.column_layout import ColumnLayout
    from ...data.corpus import Corpus
    from ...data.templates import TemplateText
    from ...models.explain.answers import Answers
    from ...models.explain.explanation import Explanation
    from ...models.explain.model_card import ModelCard
    from ...models.files.chain import ChainModel
    from ...models.tagger import Tagger
    from ...options import Options
    from ...report.page import Report
    from ...schemes import ChunkRule
    from .kind import RankedFile, Trace
    from .raw_texts import RawTexts

__all__ = ["Samples", "Sentences"]

_WEIGHTS_ALONE = "note: {}: column {} is taken for weights without labels and ignored"


class Sentences(Kind):
    """The model of a chain, ours or another program's.

    Args:
        path: path of the model's file.
        model: the native model.
        settings: how it was trained.
    """

    called = "a chain model, which reads sentences"
    estimator = "ChainCRF"
    # The items that have a label.
    items = "tokens"

    def __init__(self, path: str, model: ChainModel, settings: dict[str, Any]) -> None:
        super().__init__(path)
        self.model, self.settings = model, settings

    @property
    def template(self) -> TemplateText | None:
        """The model's template."""
        from ...data.templates import TemplateText

        return None if self.model.template is None else TemplateText(self.model.template)

    @property
    def joint(self) -> bool:
        """Whether the model has joint probabilities of its labels; one-vs-rest models score each class apart."""
        return self.settings.get("multi_class") != "ovr" or len(self.model.labels) < 3

    def need_joint(self, option: str) -> None:
        """Raise OptionError if the model does not have the probabilities that an option asks for."""
        if not self.joint:
            message = f"{self.path}: a one-vs-rest model has no joint probabilities; leave out {option}"
            raise OptionError(message)

    def format(self, file: str, format: str | None) -> str:
        """Return the format in which to read a file.

        Returns:
            `corpus` for an encoded corpus; the format asked for; else the format of the file's extension, if the model
            can read it; else the format of the training data.

        Raises:
            OptionError: there is no such format, or the model cannot read it.
        """
        from ...data.formats import format_of, has_spans, is_corpus, named, readable

        asked, template = None if format is None else named(format), self.model.template
        if is_corpus(file):
            return "corpus"
        trained = str(self.settings.get("format", "columns"))
        if trained == "python":  # lists, which JSON holds as well
            trained = "jsonl" if template is None else "columns"
        if has_spans(trained):  # whose texts were cut into tokens
            trained = "columns"
        if format is None or asked is None:
            format_of_file = format_of(file, default="columns" if named(trained).has_docs else trained)
            same = trained.partition(":")[0] == format_of_file  # conllu:xpos is a kind of conllu
            return trained if same or not readable(format_of_file, template) else format_of_file
        if asked.holds == "texts":
            message = f"{self.path}: the model reads {trained}, not text; set --format to the format of the file"
            raise OptionError(message)
        if template is not None and asked.template == "refused":
            message = f"--format {format} contains attributes, but {self.path} forms them with its template; "
            message += f"give a file in the format of the training data, {trained}"
            raise OptionError(message)
        return format

    def guess(self, file: str, format: str | None) -> str | None:
        """Return why a file is read in the format that `format` returns; None if the format was asked for."""
        from ...data.formats import format_of, is_corpus

        if format is not None or is_corpus(file):
            return None
        if format_of(file, default="") == self.format(file, None).partition(":")[0]:
            return "by its extension"
        if self.settings.get("format") == "python":
            preposition = "without" if self.model.template is None else "with"
            return f"because the model was trained in Python {preposition} a template"
        return "like the training data"

    def columns(self, arguments: Namespace, format: str) -> ColumnLayout:
        """Return the layout of a file: the layout of the training data, with the changes of the flags."""
        from ...data.column_layout import ColumnLayout, SpanReading
        from ...data.formats import has_spans
        from ..options import column_layout

        trained = ColumnLayout.of_settings(self.settings) if format == "columns" else ColumnLayout()
        if has_spans(format):
            trained = trained._replace(spans=SpanReading(self.settings.get("tokenizer")))
        layout = column_layout(arguments, trained)
        layout.check(format, has_spans=has_spans(format))
        return layout

    def columns_to_label(self, arguments: Namespace, format: str, path: str) -> ColumnLayout:
        """Return the layout of a file whose labels are ignored, which may have weights alone."""
        from ...data.formats import file_name

        columns = self.columns(arguments, format)
        if columns.weight is None or arguments.label_column is not None or not is_regular(path):
            return columns
        layout = columns.for_weights_alone(first_rows(path, columns), self.model.labels)
        if layout != columns:
            say(_WEIGHTS_ALONE.format(file_name(path), layout.label))
        return layout

    def scheme(self, format: str) -> str | None:
        """Return `none` for a format whose samples do not follow one another, so that their labels form no chunks."""
        from ...data.formats import FORMATS

        return "none" if format in FORMATS and FORMATS[format].holds != "sentences" else None

    def tag(self, arguments: Namespace) -> None:
        """Label a file of sentences, an encoded corpus, or with --text a file of raw texts."""
        if arguments.text:
            self._raw_texts(arguments).tag()
            return
        from ...data.formats import file_name, need_lines
        from ...data.writing import is_named_pipe, read_by_another
        from ...models.files.chain import checked_n_best

        format = self.format(arguments.file, arguments.format)
        need_lines(format, arguments.file, "loglinear tag")
        n_best = None if arguments.n_best is None else checked_n_best("--n-best", arguments.n_best)
        wanted = "--marginals" if arguments.marginals else "--n-best" if n_best is not None else None
        withheld = Withheld.of(arguments)
        wanted = "--min-probability" if withheld is not None and wanted is None else wanted
        if wanted is not None or arguments.detail:
            self.need_joint(wanted or f"-v {arguments.detail}")
        rule = self.chunk_rule(arguments.probabilities)
        least = None
        if withheld is not None:
            judged = arguments.probabilities or self.judged
            rule = self.chunk_rule(judged) if judged == "span" else rule
            least = (withheld.least, judged, withheld.below)
        streams = answered_one_by_one(arguments)
        if streams and arguments.rest is not None:
            way = "leave out --stream, or add -o FILE" if arguments.stream else "add -o FILE, or read from a file"
            message = f"--rest needs all sentences before it writes; {way}"
            raise OptionError(message)
        if format == "corpus":
            self._tag_corpus(arguments)
            return

        regular = not streams and is_regular(arguments.file)
        if regular:
            columns = self.columns_to_label(arguments, format, arguments.file)
        else:
            columns = self.columns(arguments, format)

        def look(start: bytes) -> bool:
            """Check the beginning of the text; return whether other columns than in training are worth a note."""
            if format == "crfsuite":
                warn_of_missing_attributes(arguments.file, start)
                self.look_for_sentences(arguments.file, start)
            warn_of_unknown_attributes(arguments.file, start, format, self.model)
            if format != "columns":
                return False
            refuse_json_lines(arguments.file, start)
            if arguments.format is None and columns.separator != "tab":
                refuse_texts(arguments.file, start)
            if warn_of_whole_sentences(arguments.file, start, self.model, self.settings):
                return False
            self.look_for_sentences(arguments.file, start)
            if warn_of_columns(arguments.file, start, columns, self.model):
                return False
            warn_of_unknown_words(arguments.file, start, columns, self.model)
            return True

        def look_at_stream(start: bytes) -> None:
            rows, name = rows_of(start, columns), file_name(arguments.file)
            alone = columns if arguments.label_column is not None else columns.for_weights_alone(rows, model.labels)
            if alone == columns:
                if look(start):
                    note_columns(arguments.file, start, columns)
            elif alone.label != columns.label_of(rows[0]):  # the weights have been read as words
                message = (
                    f"{name}: the lines have weights but no labels; remove the column of weights, or give a file, "
                )
                message += "of which the beginning can be read twice"
                raise DataError(message)
            else:
                say(_WEIGHTS_ALONE.format(name, alone.label))

        model = self._constrained(arguments)
        start = start_of(arguments.file) if regular else b""
        is_noted = regular and look(start)
        # Who writes a pipe to label may wait for it to be read before reading the answers.
        output = "-" if is_named_pipe(arguments.file) else arguments.output
        guess = self.guess(arguments.file, arguments.format)
        with guessing(format, guess, arguments.file, labels_text="tokenizer" in self.settings), read_by_another(output):
            tally = model.tag_file(
                arguments.file,
                arguments.output,
                format=format,
                marginals=arguments.marginals,
                n_best=n_best,
                probabilities=arguments.probabilities,
                rule=rule,
                layout=arguments.layout,
                detail=arguments.detail,
                columns=columns.options,
                stream=look_at_stream if streams else None,
                least=least,
                rest=arguments.rest,
                threads=arguments.threads,
            )
        if regular:
            note_empty(arguments.file, start)
        if withheld is not None:
            withheld.tell(file_name(arguments.file), *tally)
        if is_noted and columns == self.columns(arguments, format):
            note_columns(arguments.file, start, columns)

    def tag_pretty(self, arguments: Namespace) -> None:
        """Print sentences, or with --text raw texts, with their labels below."""
        if arguments.text:
            self._raw_texts(arguments).tag()
            return
        from ...data.formats import need_lines
        from .pretty import PrettySentences

        sentences = PrettySentences(self, self._constrained(arguments), arguments)
        format = self.format(arguments.file, arguments.format)
        need_lines(format, arguments.file, "loglinear tag")
        is_corpus = format == "corpus"
        if answered_one_by_one(arguments) and not is_corpus:
            sentences.print_stream()
        else:
            sentences.print_file()

    def _raw_texts(self, arguments: Namespace) -> RawTexts:
        """Return what labels the raw texts of a file."""
        from ...data.tokenizer import as_tokenizer
        from ...models.tagger import Tagger
        from .raw_texts import RawTexts

        tokenizer = as_tokenizer(self.tokenizer(arguments), self.settings.get("tokenizer"))
        return RawTexts(Tagger._of(self._constrained(arguments), "str", tokenizer), arguments)

    def tagger(self, arguments: Namespace) -> Tagger:
        """Return what labels the texts that a server is sent."""
        from ...models.tagger import Tagger

        return Tagger(self.path, tokenizer=self.tokenizer(arguments))

    def tokenizer(self, arguments: Namespace) -> str:
        """Return how raw text is cut: as the flags say, else as the model says.

        Raises:
            OptionError: neither says it.
        """
        tokenizer: str | None = arguments.tokenizer or self.settings.get("tokenizer")
        if tokenizer is None:
            message = (
                f"{self.path}: the model does not say how to cut text into tokens; add --tokenizer words, or train "
            )
            message += "it with --tokenizer"
            raise OptionError(message)
        return tokenizer

    def look_for_sentences(self, path: str, start: bytes) -> None:
        """Warn if the first bytes of a file are a single sentence that is probably several; samples need none."""
        if self.items == "tokens":
            warn_of_long_sentence(path, start, self.settings)

    def chunk_rule(self, probabilities: str | None) -> ChunkRule | None:
        """Return the rule by which spans are read, if their probabilities are requested.

        Raises:
            OptionError: the model does not have the probabilities.
        """
        if probabilities != "span":
            return None
        from ...schemes import chunk_rule

        labels = self.model.labels
        if (rule := chunk_rule(tuple(labels))) is None:
            message = f"--probabilities span: the labels of {self.path} ({listed(labels, 8)}) do not follow a tagging "
            message += "scheme such as B-PER, I-PER, O; use --probabilities token"
            raise OptionError(message)
        return rule

    @property
    def judged(self) -> str:
        """What has the probability by which answers are withheld: "span" if the labels have spans, else "token"."""
        from ...schemes import chunk_rule

        return "token" if chunk_rule(tuple(self.model.labels)) is None else "span"

    def _constrained(self, arguments: Namespace) -> ChainModel:
        """Return the model under --constraints and --label-bias, or as it was stored."""
        model, constraints = self.model, arguments.constraints
        if arguments.label_bias is not None:
            model = self._biased(arguments.label_bias)
        if constraints is None:
            return model
        from ...constraints import as_json, check_constraints, resolved

        check_constraints("--constraints", constraints)
        return model.constrained(as_json(resolved(constraints, self.model.labels)))

    def _biased(self, bias: Mapping[str, float]) -> ChainModel:
        """Return the model with these biases of labels in place of its own."""
        from ...models.files.chain import biased
        from ...options import check_label_bias, fail, similar

        check_label_bias("--label-bias", bias)
        for label in bias:
            if label not in self.model.labels:
                hint = similar(label, self.model.labels)
                fail("--label-bias", label, f"is not a label of the model{hint}")
        return biased(self.model, bias)

    def _tag_corpus(self, arguments: Namespace) -> None:
        """Write the labels of an encoded corpus, one per line, and a blank line after each sentence."""
        from ...data.corpus import Corpus
        from ...data.writing import check_labels, write_text

        refused = ("marginals", "n_best", "probabilities", "layout", "detail", "min_probability")
        if any(vars(arguments)[name] for name in refused):
            message = f"{arguments.file}: an encoded corpus is tagged with labels only; give the text for other output"
            raise OptionError(message)
        check_labels(self.model.labels, "give the text as JSON lines (--format jsonl) instead of the corpus")
        corpus = Corpus.read(arguments.file, template=self.template)
        predicted = self._constrained(arguments).predict(corpus.core, threads=arguments.threads)
        lines = ("".join(f"{label}\n" for label in labels) + "\n" for labels in predicted)
        write_text(arguments.output, "".join(lines).encode())

    def evaluate(self, arguments: Namespace) -> str:
        """Compare predicted labels with the labels of a file."""
        from ...data.formats import unknown_label
        from ...data.writing import write_output, write_text
        from ...metrics import evaluate
        from ...schemes import checked_scheme
        from . import scored

        if arguments.label_bias is not None:
            self.model = self._biased(arguments.label_bias)
        format = self.format(arguments.file, arguments.format)
        scheme = arguments.scheme or self.scheme(format)
        checked_scheme((), scheme or "none", arguments.mode)
        if arguments.output and format == "columns" and arguments.file == "-":
            message = "--output reads its input twice, which stdin does not allow; save the input to a file first"
            raise OptionError(message)
        if arguments.calibration is not None:
            self.need_joint("--calibration")
            scored.check_calibration(arguments.calibration, arguments.mode)
        sure = arguments.calibration is not None
        answers = self._answers_to(arguments.file, format, arguments, sure=sure, spans=scheme != "none")
        scores = evaluate(answers.gold, answers.predicted, scheme=scheme, mode=arguments.mode)
        if hint := scored.scheme_hint(scores):
            say(f"warning: {arguments.file}: {hint}")
        calibrations = answers.calibrations(self.items)
        if arguments.calibration:
            from ...report.reliability import reliability_diagram

            write_output(arguments.calibration, reliability_diagram(calibrations, arguments.calibration))
        if arguments.output:
            scored.tell_of_blanks({*self.model.labels, *answers.gold_labels}, arguments.output)
            written = scored.for_conlleval(answers, scores)
            if written is not answers and not arguments.json:
                say(f"note: conlleval counts {scores.scheme} differently, so --output has the labels in IOB2")
            if format == "columns":
                unknown = unknown_label("columns", self.model.labels)
                lines = scored.tagged_columns(arguments.file, written, unknown)
            else:
                lines = scored.numbered(written, flat=scheme == "none")
            write_text(arguments.output, lines)
        return scored.shown(scores, calibrations, items=self.items, as_json=arguments.json)

    def calibrate(self, arguments: Namespace) -> str:
        """Write the model at the temperature at which a file's labels are most likely, after its biases are tuned."""
        from ...models.chain_bias import tuned_bias
        from ...models.files.chain import biased
        from ...models.files.tagging import tag_corpus
        from ...models.temperature import temperature_of, tempered
        from . import scored

        self.need_joint("calibrate, and use MaxEnt.calibrate in Python")
        format, threads = self.format(arguments.file, arguments.format), arguments.threads
        before = self._answers_to(arguments.file, format, arguments, sure=True, spans=True)
        corpus = self.labelled_corpus(before)
        model, bias = self.model, None
        with naming(arguments.file):
            if arguments.tune_bias is not None:
                bias = tuned_bias(model, corpus, metric=arguments.tune_bias, threads=threads)
                model = biased(model, bias)
            temperature = temperature_of(model, corpus, by=arguments.by, threads=threads)
        model = model if temperature == 1.0 else tempered(model, temperature)
        spans = self.items == "tokens"
        after = before._replace(taggings=tag_corpus(model, corpus, spans=spans, threads=threads))
        model.save(arguments.output)
        if bias is not None:
            after = after._replace(predicted=[tagging.labels for tagging in after.taggings or ()])
        return scored.shown_correction(temperature, bias, (before, after), items=self.items, as_json=arguments.json)

    def labelled_corpus(self, answers: Answers) -> Corpus:
        """Return the corpus that the answers are about, with its labels."""
        assert answers.corpus is not None
        return answers.corpus

    def _answers_to(self, path: str, format: str, arguments: Namespace, *, sure: bool, spans: bool) -> Answers:
        """Return the answers to a labelled file that is read as the flags of a command say; see `answers`."""
        columns, guess = self.columns(arguments, format), self.guess(path, arguments.format)
        return self.answers(path, format, columns, sure=sure, spans=spans, threads=arguments.threads, guess=guess)

    def answers(
        self,
        path: str,
        format: str,
        columns: ColumnLayout,
        *,
        sure: bool,
        spans: bool,
        threads: int,
        guess: str | None = None,
    ) -> Answers:
        """Return the model's answers to a labelled file, and name the labels that the model does not know.

        Probabilities of the labels are found if the answers have to be `sure`, and with `spans` span probabilities.
        Tokens whose label the file marks as unknown are left out; if the answers have to be `sure`, their sentences.
        Errors say why the file is read in the format, if that is a guess.
        """
        from ...data.corpus import read_to_score
        from ...data.formats import file_name
        from ...data.survey import check_known
        from ...models.explain.answers import Answers
        from ...models.files.tagging import tag_corpus

        model, start = self.model, start_of(path)
        with guessing(format, guess, path):
            corpus = read_to_score(path, format, self.template, columns, threads)
        with naming(path, corpus):
            gold = corpus.known_labels(model.labels)
        n_unknown = sum(labels.count(None) for labels in gold)
        if n_unknown and sure:
            corpus = corpus[[at for at, labels in enumerate(gold) if None not in labels]]
            gold = corpus.true_labels()
        if n_unknown:
            note_unlabelled(path, n_unknown, corpus, sentences=sure)
        check_known(corpus, model.labels, file_name(path), least=0.0)
        note_labelled_columns(path, corpus.columns, columns)
        if format in ("columns", "crfsuite"):
            self.look_for_sentences(path, start)
        if format == "columns":
            warn_of_unknown_words(path, start, columns, self.model)
        warn_of_unknown_attributes(path, start, format, self.model)
        if not sure:
            answers = Answers(gold, model.predict(corpus.core, threads=threads), None, corpus=corpus)
            return answers.of_labelled_tokens() if n_unknown else answers
        taggings = tag_corpus(model, corpus, spans=spans and self.items == "tokens", threads=threads)
        notes = (_only_whole(n_unknown),) if n_unknown else ()
        return Answers(gold, [tagging.labels for tagging in taggings], taggings, corpus=corpus, notes=notes)

    def explain(self, arguments: Namespace) -> list[Explanation]:
        """Explain the labels of a file's sentences."""
        from .explained import explained_sentences

        self.need_joint("explain, and use inspect for the strongest weights")
        explanations = explained_sentences(self, arguments)
        if self.items == "samples" and all(len(explanation) == 1 for explanation in explanations):
            self.noun = "Sample"
        return explanations

    def checked_settings(self, *kinds: type[Options]) -> dict[str, Any]:
        """Return the settings after a check of the options among them, by default the options of chains."""
        from ...models.files.schema import check_options
        from ...models.training.options import DevParameters, SolverParameters
        from ...objectives.chain import ChainFeatures

        check_options(self.settings, self.path, SolverParameters, DevParameters, *(kinds or (ChainFeatures,)))
        return self.settings

    def inspect(self, *, top: int, as_json: bool) -> str:
        """Show features, labels, template, strongest weights, and how the model was trained."""
        from ...models.files.chain import attributes_called, columns_counted, weighted_features
        from .inspected import shown

        model, features = self.model, list(weighted_features(self.model))
        n_attributes, _ = columns_counted(model)
        about = {"n_attributes": n_attributes, "labels": model.labels, "template": model.template}
        has_intercept = any(feature.attribute == model.intercept is not None for feature, _ in features)
        about |= {"called": partial(attributes_called, model), "has_intercept": has_intercept}
        return shown(features, about, self.checked_settings(), top=top, as_json=as_json)

    def card(self) -> ModelCard:
        """Return the model card."""
        from .carded import card_of

        return card_of(self)

    def report(self, arguments: Namespace, trace: Trace = (), notes: Sequence[str] = ()) -> Report:
        """Return the report on labelled sentences."""
        from ...data.tokens import file_words
        from ...models.explain.reports import make_report
        from ...schemes import checked_scheme

        data, format = arguments.data, self.format(arguments.data, arguments.format)
        scheme = arguments.scheme or self.scheme(format)
        checked_scheme((), scheme or "none", "conlleval")
        answers = self._answers_to(data, format, arguments, sure=self.joint, spans=scheme != "none")
        if answers.corpus is not None:
            answers = answers._replace(words=file_words(data, format, answers.corpus))
        return make_report(
            self.model,
            answers,
            title=self.title(data),
            items=self.items,
            scheme=scheme,
            command=self.training_command(),
            trace=trace,
            explain=partial(self._explained, answers, arguments.threads) if self.joint else None,
            notes=[*notes, *answers.notes],
        )

    def answers_to_compare(self, arguments: Namespace) -> Answers:
        """Return the answers to the tokens of a file that have a label, with their words."""
        from ...data.tokens import file_words

        format = self.format(arguments.data, arguments.format)
        answers = self._answers_to(arguments.data, format, arguments, sure=False, spans=False)
        corpus = self.labelled_corpus(answers)
        words = file_words(arguments.data, format, corpus)
        if [*map(len, words)] != [*map(len, answers.gold)]:  # tokens without a label are left out
            pairs = zip(words, corpus.known_labels(self.model.labels), strict=True)
            words = [[word for word, label in zip(*pair, strict=True) if label is not None] for pair in pairs]
        return answers._replace(words=words)

    def _explained(
        self, answers: Answers, threads: int, sentences: Sequence[int], tokens: Sequence[Collection[int]]
    ) -> list[Explanation]:
        """Return explanations of some of the sentences that the answers are about, in which some tokens are chosen."""
        from ...models.explain.explainer import Explainer

        corpus = None if answers.corpus is None else answers.corpus[sentences]
        words, gold = ([rows[at] for at in sentences] for rows in (answers.words, answers.gold))
        part = answers._replace(gold=gold, words=words, corpus=corpus)
        explainer = Explainer(self.model)
        return explainer.explain(self.labelled_corpus(part), words, threads, explained=self.items, chosen=tokens)

    def rank(self, arguments: Namespace, committee: Sequence[Kind], progress: Callable[[float], object]) -> RankedFile:
        """Choose what to label next from a file of sentences or samples."""
        from .ranked import ranked_sentences

        return ranked_sentences([self, *committee], arguments, progress)

    def training_command(self) -> str | None:
        """Return the command that trains the model again; None if unknown.

        Names in capitals stand for files whose names the model does not have.
        """
        import os
        import shlex

        from ...data.column_layout import ColumnLayout
        from ...data.formats import is_format
        from ...models.explain.reports import preset_of
        from ...models.files.settings import class_weight_of
        from ...models.training.options import DevOptions, SolverOptions, TextInput
        from ...objectives.chain import ChainFeatures

        settings, template = self.checked_settings(), self.model.template
        format, training = str(settings.get("format")), settings.get("training")
        settings = {**settings, **class_weight_of(settings)}
        is_piece = ((training or {}).get("prior") or {}).get("n_seen") is not None
        python_only = is_piece or isinstance(settings.get("constraints"), list)
        if training is None or python_only or not (format == "corpus" or is_format(format)):
            return None
        files = {"training": ["TRAIN"], "development": ["DEV"], "template": ["TEMPLATE"]} | settings.get("files", {})
        words = ["loglinear", "train", *files["training"], "--model", os.path.basename(self.path)]
        words += self.training_flags()
        words += ["--no-intercept"] if settings.get("fit_intercept") is False else []
        words += [] if format in ("columns", "corpus", "text") else ["--format", format]
        words += ColumnLayout.of_settings(settings).flags() if format == "columns" else []
        if template is not None and format != "corpus":
            preset = preset_of(template)
            words += ["--template", *files["template"]] if preset is None else ["--preset", preset]
        words += ["--start", training["start"]["model"]] if "start" in training else []
        if (prior := training.get("prior")) is not None:
            strength = "inf" if prior["strength"] is None else f"{prior['strength']:g}"
            words += ["--prior", prior["model"], "--prior-strength", strength]
        words += ["--dev", *files["development"]] if "dev" in training else []
        # Values that mean the default, which training has replaced; the strength of a prior is in the place of l2.
        is_usual = settings.get("l2") == (0.0 if settings.get("l1") else 1.0)
        l2 = None if is_usual or "prior" in training else settings.get("l2")
        solver = None if settings.get("solver") == "auto" else settings.get("solver")
        for kind in (SolverOptions, ChainFeatures, DevOptions, TextInput):
            words += flags_of(kind, {**settings, "l2": l2, "solver": solver})
        return " ".join(map(shlex.quote, words))

    def training_flags(self) -> list[str]:
        """Return the flags with which `train` makes a model of this kind."""
        return []

    def convert(self, output: str, format: str) -> None:
        """Write the model to a file in a format."""
        from ...data.writing import write_output

        if format == "uai":
            self.refuse("convert --to uai", "only networks of `loglinear structure` have this format")
        write_output(output, self.model.to_bytes() if format == "loglinear" else self.model.export(format))
        if format == "crfsuite" and self.model.template is not None:
            say("note: the CRFsuite file does not contain the template; give CRFsuite attributes, not columns")


class Samples(Sentences):
    """A classifier of features: each token is a sample."""

    called = "a classifier"
    estimator = "MaxEnt"
    items = "samples"
    judged = "token"

    def tag(self, arguments: Namespace) -> None:
        """Label a file of samples, which no sequence of labels constrains."""
        self.leave_out(vars(arguments), "constraints", "n_best", "label_bias", "text")
        super().tag(arguments)

    def tag_pretty(self, arguments: Namespace) -> None:
        """Print samples with their labels, which no sequence of labels constrains."""
        self.leave_out(vars(arguments), "constraints", "label_bias", "text")
        super().tag_pretty(arguments)

    def tagger(self, arguments: Namespace) -> Tagger:
        """Refuse to label spans of texts."""
        self.refuse("serve")

    def evaluate(self, arguments: Namespace) -> str:
        """Compare predicted labels with the labels of a file."""
        self.leave_out(vars(arguments), "label_bias")
        return super().evaluate(arguments)

    def calibrate(self, arguments: Namespace) -> str:
        """Write the model at the temperature at which a file's labels are most likely."""
        self.leave_out(vars(arguments), "tune_bias")
        return super().calibrate(arguments)

    def chunk_rule(self, probabilities: str | None) -> ChunkRule | None:
        """Refuse probabilities of spans and sentences; the probabilities of a sample's classes are its marginals."""
        if probabilities is not None:
            message = f"--probabilities {probabilities}: {self.path} is {self.called}; "
            message += "use --marginals for the probability of every class"
            raise OptionError(message)
        return None

    def checked_settings(self, *kinds: type[Options]) -> dict[str, Any]:
        """Return the settings after a check of the options among them."""
        from ...models.training.options import ClassifierParameters

        return super().checked_settings(ClassifierParameters, *kinds)

    def training_flags(self) -> list[str]:
        """Return the flags with which `train` makes a classifier."""
        multi_class = ["--multi-class", "ovr"] if self.settings.get("multi_class") == "ovr" else []
        return ["--model-type", "maxent", *multi_class]


def _only_whole(n_unknown: int) -> str:
    """Return the remark on figures of sentences that have all their labels."""
    without = f"{counted(n_unknown, 'token')} {'has' if n_unknown == 1 else 'have'} no gold label"
    return f"{without}. Sentences with such tokens are left out here; `loglinear evaluate` scores their other tokens."
