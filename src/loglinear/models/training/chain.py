"""Training of a chain, wherever its data are: what the estimators and the command line both call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...data.corpus import Corpus
from ...data.fingerprint import of_corpus
from ...data.labels import typed
from ...data.survey import check_known
from ...data.token_fit import check_fits, misfit
from ...errors import DataWarning, warn
from ...metrics import Evaluation, detect_scheme, labelled_tokens, scores_of
from ...minimize import Callback
from ...objectives.chain import ChainData, ChainObjective
from ...result import Result
from ...vectors import Vector
from ..files.chain import ChainModel
from ..files.origin import training_date
from ..files.settings import class_weight_settings, settings_text, training_summary
from .checkpoint import Checkpoint, Saving
from .families import named_weights_of
from .options import DevOptions, SolverOptions
from .prior import ChainPrior
from .run import DevData, train
from .start import Start

if TYPE_CHECKING:
    from ...report.cross_validation import CrossValidation

__all__ = ["DevSet", "chain_model", "evaluate_model", "train_chain", "warn_of_shortfalls"]


def train_chain(
    data: ChainData,
    options: SolverOptions = SolverOptions(),
    *,
    callbacks: Iterable[Callback] = (),
    dev: DevSet | None = None,
    start: Start | None = None,
    prior: ChainPrior | None = None,
    checkpoint: Checkpoint | None = None,
    tokenizer: str | None = None,
    cross_validation: CrossValidation | None = None,
) -> tuple[ChainModel, Result]:
    """Train a linear-chain CRF.

    Minimises the sum over sentences of -log p(y | x; w), plus the penalty. Interrupting it gives the model reached.

    Args:
        data: sentences and features of a chain: a `ChainObjective`, or `ChainParts` of data that are elsewhere.
        options: penalty and solver.
        callbacks: see `minimize`.
        dev: development data, in this process; see `train`.
        start: trained chain whose weights the training starts at.
        prior: trained chain at whose weights the penalty is centred; the data have its features as well.
        checkpoint: file to write the training's state to, and to go on from.
        tokenizer: how the model cuts raw text; by default like the older model, if that has the same template. None if
            it labels tokens alone.
        cross_validation: which has chosen the strengths of the penalty, for the model's file.

    Raises:
        OptionError: an option is out of its range, or is not what it was before the checkpoint; or the template cannot
            be used on raw text.
        DataError: the checkpoint is damaged; the model to start at has labels of another type.

    Warns:
        DataWarning: the data look wrong (see `loglinear.data.survey.Survey`); some sentences have no known label; the
            labels follow no scheme that "auto" could find; ``min_count`` has left no attribute; the tokenizer cuts text
            otherwise than the data are cut.
        UserWarning: the L1 penalty has left no feature; the model to start at has another template.

    Example:
        >>> from loglinear.data.parts import ListedPart
        >>> from loglinear.models.training.chain import train_chain
        >>> from loglinear.objectives.parts import ChainParts
        >>> parts = [ListedPart("a", [[["the"], ["dog"]]], [["DET", "NOUN"]]), ListedPart("b", [[["dog"]]], [["NOUN"]])]
        >>> model, result = train_chain(ChainParts(parts))
        >>> result.status.name, model.labels
        ('CONVERGED', ['NOUN', 'DET'])
    """
    options.check()
    older = start if prior is None else prior.start
    if tokenizer is None and older is not None and older.template == data.template:
        tokenizer = older.tokenizer
    if tokenizer is not None:
        check_fits(tokenizer, data.template)
        if isinstance(data, ChainObjective) and (reason := misfit(tokenizer, data.corpus)):
            warn(reason, DataWarning)
    if prior is None:  # a few sentences, perhaps of a single label, are enough beside a prior
        warn_of_shortfalls(data)
    w0, account = (None, None) if start is None else start.weights(data)
    saving = None
    if checkpoint is not None:
        terms = {**vars(data.features), **class_weight_settings(data.features.class_weight)}
        saving = Saving(checkpoint, {"model": "chain", **terms}, {"training data": data.fingerprint()})
    scores = None if dev is None else dev.of(data)
    centre = None if prior is None else prior.centre(data, options.penalty().l2)
    result = train(
        data,
        options,
        callbacks=callbacks,
        dev=scores,
        w0=w0,
        centre=centre,
        saving=saving,
        named=partial(_named, data),
        weights=partial(named_weights_of, data),
    )
    result = replace(result, start=account)
    if prior is not None and centre is not None:
        prior.learn(data, centre, result.w)
    is_free = not options.l1 and data.features.constraints is None and data.survey.nothing_to_learn is None
    if is_free and result.status.converged and not result.record.nnz:
        warn("all weights are 0: no feature tells the labels apart; check the data", DataWarning)
    use = DevOptions() if dev is None else dev.options
    return chain_model(data, options, result, use, tokenizer=tokenizer, cross_validation=cross_validation), result


def _named(data: ChainData, feature: int) -> str:
    """Return what messages call the attribute of a feature."""
    return f"attribute {data.feature_names([feature])[0].attribute!r}"


def warn_of_shortfalls(data: ChainData) -> None:
    """Warn of data and options that teach a chain less than was meant."""
    for message in data.shortfalls():
        warn(message, DataWarning)


def chain_model(
    data: ChainData,
    options: SolverOptions,
    result: Result,
    use: DevOptions = DevOptions(),
    *,
    tokenizer: str | None = None,
    cross_validation: CrossValidation | None = None,
) -> ChainModel:
    """Return the model with the weights of a minimisation, features of weight 0 left out, and with its settings.

    Args:
        data: features and sentences.
        options: penalty and solver.
        result: of the minimisation.
        use: use of the development data.
        tokenizer: how the model cuts raw text.
        cross_validation: which has chosen the strengths of the penalty.
    """
    settings = {
        "format": data.format,
        "label_type": data.label_type,
        **data.columns.settings(),
        **options.settings(),
        **vars(data.features),
        **class_weight_settings(data.features.class_weight),
        **vars(use),
        **({} if tokenizer is None else {"tokenizer": tokenizer}),
        "training": {
            "n_sentences": data.n_samples,
            "n_tokens": data.n_tokens,
            "n_features": data.n_features,
            "date": training_date(),
            **training_summary([result], cross_validation),
        },
    }
    return data.model(result.w, settings_text("chain", settings))


def evaluate_model(model: ChainModel, corpus: Corpus, *, threads: int = 0) -> Evaluation:
    """Compare a model's labels with the labels of a corpus; a label the model does not know counts as missed.

    Tokens without a gold label do not count.
    """
    predicted = typed(model.predict(corpus.core, threads=threads), corpus.label_type)
    return scores_of(*labelled_tokens(corpus.known_labels(), predicted))


class DevSet:
    """Development data of a chain.

    Args:
        corpus: labelled sentences.
        options: their use.
        threads: 0 for all cores.

    Raises:
        DataError: a token has one of several labels, or no token has a label.
    """

    def __init__(self, corpus: Corpus, options: DevOptions = DevOptions(), *, threads: int = 0) -> None:
        corpus.known_labels()  # says what is wrong
        self.corpus, self.options, self.threads = corpus, options, threads

    def of(self, data: ChainData) -> DevData:
        """Return the scores of weights that are trained on other data.

        The score to choose a model by comes first: F if all labels follow a tagging scheme, else the accuracy.
        """
        headline = "f1" if detect_scheme({*data.labels, *self.corpus.labels}) else "accuracy"
        names = dict.fromkeys((headline, "accuracy", "sentence_accuracy", "precision", "recall", "f1"))

        def score(w: Vector) -> dict[str, float]:
            scores = evaluate_model(data.model(w), self.corpus, threads=self.threads).to_dict()
            return {name: scores[name] for name in names if scores[name] is not None}

        return DevData(score, headline, partial(of_corpus, self.corpus), self.options)

    def check_known(self, labels: Sequence[str], name: str = "X_dev", *, least: float = 0.1) -> None:
        """Check that the training data have the labels of the development data; see `data.survey.check_known`.

        Args:
            labels: names of the labels of the training data.
            name: what messages call the development data.
            least: smallest share of tokens with unknown labels that is worth a warning.
        """
        check_known(self.corpus, labels, name, least=least)
