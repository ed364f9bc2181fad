"""Training of a chain model from a corpus: what the estimator and the command line both call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...data.corpus import Corpus
from ...data.labels import typed
from ...metrics import Evaluation, detect_scheme, evaluate
from ...minimize import Callback
from ...objectives.chain import ChainFeatures, ChainObjective
from ...result import Result
from ...vectors import Vector
from ..files.chain import ChainModel
from ..files.settings import settings_text, training_summary
from .checkpoint import Checkpoint, Saving
from .fingerprint import of_corpus
from .options import DevOptions, SolverOptions
from .run import DevData, train
from .start import Start

if TYPE_CHECKING:
    from ...objectives.parts import ChainParts

__all__ = ["DevSet", "chain_model", "evaluate_model", "train_chain"]


def train_chain(
    corpus: Corpus,
    features: ChainFeatures = ChainFeatures(),
    options: SolverOptions = SolverOptions(),
    *,
    threads: int = 0,
    callbacks: Iterable[Callback] = (),
    dev: DevSet | None = None,
    start: Start | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[ChainModel, Result]:
    """Train a linear-chain CRF.

    Minimises the sum over sentences of -log p(y | x; w), plus the penalty. Interrupting it gives the model reached.

    Args:
        corpus: labelled sentences.
        features: which features the chain has.
        options: penalty and solver.
        threads: 0 for all cores. The weights do not depend on it.
        callbacks: see `minimize`.
        dev: development data; see `train`.
        start: trained chain whose weights the training starts at.
        checkpoint: file to write the training's state to, and to go on from.

    Raises:
        OptionError: an option is out of its range, or is not what it was before the checkpoint.
        DataError: the corpus has no labels or yields no feature, or the constraints forbid a sentence's labels; the
            checkpoint is damaged.

    Warns:
        UserWarning: nothing is known of some sentences' labels; the labels follow no scheme that "auto" could find; the
            L1 penalty or ``min_count`` has left no feature.
    """
    options.check()
    objective = ChainObjective(corpus, features, threads=threads)
    _warn_of_little(objective, features)
    data = None if dev is None else dev.of(objective)
    saving = None
    if checkpoint is not None:
        saving = Saving(checkpoint, {"model": "chain", **_features(objective)}, {"training data": of_corpus(corpus)})
    w0, account = (None, None) if start is None else start.weights(objective)
    result = train(objective, options, callbacks=callbacks, dev=data, w0=w0, saving=saving)
    result = replace(result, start=account)
    return chain_model(objective, options, result, DevOptions() if dev is None else dev.options), result


def _warn_of_little(objective: ChainObjective, features: ChainFeatures) -> None:
    """Warn of data and options that teach a chain less than was meant."""
    if objective.n_unknown:
        message = (
            f"{objective.n_unknown} of {len(objective.corpus)} sentences have no known label; they contribute nothing"
        )
        warnings.warn(message, stacklevel=4)
    if str(features.constraints).lower() == "auto" and objective.features.constraints is None:
        message = "constraints='auto': the labels follow no tagging scheme, so that there are no constraints"
        warnings.warn(message, stacklevel=4)
    counts = objective.feature_counts
    if features.min_count > 1 and objective.corpus.n_attributes and not counts.states + counts.bigrams:
        message = f"no attribute is left: none is on {features.min_count} tokens or more; lower min_count (--min-count)"
        warnings.warn(message, UserWarning, stacklevel=4)


def chain_model(
    objective: ChainObjective, options: SolverOptions, result: Result, use: DevOptions = DevOptions()
) -> ChainModel:
    """Return the model with the weights of a minimisation, features of weight 0 left out, and with its settings.

    Args:
        objective: features and sentences.
        options: penalty and solver.
        result: of the minimisation.
        use: use of the development data.
    """
    corpus = objective.corpus
    settings = {
        "format": corpus.format,
        "label_type": corpus.label_type,
        **options.settings(),
        **_features(objective),
        **vars(use),
        "training": {
            "n_sentences": len(corpus),
            "n_tokens": corpus.n_tokens,
            "n_features": objective.n_features,
            **training_summary([result]),
        },
    }
    return objective.model(result.w, settings_text("chain", settings))


def _features(objective: ChainObjective) -> dict[str, Any]:
    """Return the options of a chain's features as they came out: a template can ask for order 2 as well."""
    return vars(replace(objective.features, order=objective.order))


def evaluate_model(model: ChainModel, corpus: Corpus, *, threads: int = 0) -> Evaluation:
    """Compare a model's labels with the labels of a corpus; a label the model does not know counts as missed."""
    return evaluate(corpus.true_labels(), typed(model.predict(corpus.core, threads=threads), corpus.label_type))


class DevSet:
    """Development data of a chain.

    Args:
        corpus: labelled sentences.
        options: their use.
        threads: 0 for all cores.

    Raises:
        DataError: only part of a label is known.
    """

    def __init__(self, corpus: Corpus, options: DevOptions = DevOptions(), *, threads: int = 0) -> None:
        corpus.check_whole("scores on development data need the true labels: leave such sentences out")
        self.corpus, self.options, self.threads = corpus, options, threads

    def of(self, objective: ChainObjective | ChainParts) -> DevData:
        """Return the scores of the objective's weights."""
        headline, fingerprint = self.headline(objective.labels), partial(of_corpus, self.corpus)
        return DevData(partial(self.scores, objective), headline, fingerprint, self.options)

    def unknown_labels(self, known: Sequence[str]) -> list[str]:
        """Return the labels that are not among the known ones: training cannot learn them."""
        return sorted(set(self.corpus.labels) - set(known))

    def scores(self, objective: ChainObjective | ChainParts, w: Vector) -> dict[str, float]:
        """Return the scores of weights: accuracies; precision, recall and F of labels that follow a tagging scheme.

        The score to choose a model by comes first.
        """
        scores: dict[str, Any] = evaluate_model(objective.model(w), self.corpus, threads=self.threads).to_dict()
        names = (self.headline(objective.labels), "accuracy", "sentence_accuracy", "precision", "recall", "f1")
        return {name: scores[name] for name in names if scores[name] is not None}

    def headline(self, known: Sequence[str]) -> str:
        """Return the score to choose a model by: f1 if all labels follow a tagging scheme, else accuracy.

        Args:
            known: labels of the training data.
        """
        return "f1" if detect_scheme({*known, *self.corpus.labels}) else "accuracy"
