"""Biases of labels, which move a trained chain between precision and recall."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from ..data.labels import typed
from ..errors import DataError, DataWarning, OptionError, warn, warnings_kept
from ..objectives.class_weights import refuse_unknown
from ..options import Options, check_label_bias, fail, option, option_class, thread_limit
from .estimator import check_fitted
from .files.chain import biased
from .one_state import OneState

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.inputs import Labels, Sentences
    from .files.chain import ChainModel

__all__ = ["BiasParameters", "LabelBias", "tuned_bias"]

T = TypeVar("T", bound="LabelBias")

# The biases that `tune_bias` tries for a label, in nats: from -REACH to REACH in steps, then around the best in finer
# steps.
REACH, STEP, FINE = 5.0, 0.5, 0.125
OUTSIDE = "O"


@option_class
class BiasParameters(Options):
    """What is added to the scores of a trained chain."""

    label_bias: Mapping[Any, float] | None = option(
        default=None,
        help='number to add to the scores of a label at every token, in nats, by label, such as ``{"O": -0.5}``, in '
        "predictions and probabilities. Training ignores it. It may be set after training, see `tune_bias`, and is "
        "saved with the model.",
        check=check_label_bias,
    )


class LabelBias(OneState):
    """The part of a chain's estimator that adds a bias to the scores of labels.

    Attributes:
        model_: the native model.
        classes_: the labels, in the order of the model's names.
    """

    label_bias: Mapping[Any, float] | None
    model_: ChainModel
    classes_: Sequence[Any]

    if TYPE_CHECKING:
        _threads: int

        def _inputs(self, X: Corpus | Sentences, y: Labels | None = None) -> tuple[ChainModel, Corpus]: ...

    @property
    def _biased_model(self) -> ChainModel:
        """The native model with the current biases, which may be set after training."""
        check_fitted(self, "model_")
        model = self.model_  # before `_bias`, which changes together with it
        if self.label_bias != vars(self).get("_bias"):
            check_label_bias("label_bias", self.label_bias)
            name_of = dict(zip(self.classes_, model.labels, strict=True))
            bias = dict(self.label_bias or {})
            if unknown := [label for label in bias if label not in name_of]:
                refuse_unknown("label_bias", bias, unknown[0], self.classes_, "label")
            model = biased(model, {name_of[label]: float(score) for label, score in bias.items()})
            vars(self).update(model_=model, _bias=None if self.label_bias is None else bias)
        return self.model_

    def tune_bias(
        self: T,
        X_dev: Corpus | Sentences,
        y_dev: Labels | None = None,
        *,
        metric: str = "f1",
        labels: Sequence[Any] | None = None,
    ) -> T:
        """Set `label_bias` to the biases that score best on development data.

        A negative bias of the label O makes the model find more chunks, a positive one fewer. Training data must not be
        used: a model is too sure of them.

        Cost: about 30 predictions of the development data for each label and round, of which there are two if there
        are several labels. The present biases of these labels make no difference; other labels keep their biases.

        Args:
            X_dev: sentences, or a labelled Corpus.
            y_dev: a sequence of labels for each sentence; None with a Corpus.
            metric: "f1" of chunks; "recall at precision 0.95", the highest recall of chunks among the biases whose
                precision is at least that; or "accuracy" of tokens.
            labels: labels whose biases are tuned, one after the other; by default O, or without it the most frequent.

        Returns:
            The estimator itself.

        Raises:
            OptionError: unknown metric, no label to tune, or a label that the model does not have.
            DataError: invalid data; or labels that do not follow a tagging scheme, with a metric of chunks.

        Warns:
            DataWarning: no bias reaches the precision; the biases are those with the highest precision.

        Example:
            >>> from loglinear import ChainCRF
            >>> X, y = [[["a"], ["b"]], [["a"], ["c"]], [["a"], ["b"]]], [["B-X", "O"], ["O", "O"], ["O", "O"]]
            >>> crf = ChainCRF(l2=0.1).fit(X, y).tune_bias(X[:2], y[:2])
            >>> crf.label_bias["O"] < 0.0
            True
        """
        model, corpus = self._inputs(X_dev, y_dev)
        class_of = dict(zip(model.labels, self.classes_, strict=True))
        names = None if labels is None else self._names(labels)
        bias = tuned_bias(model, corpus, metric=metric, labels=names, threads=self._threads)
        self.label_bias = {class_of[name]: score for name, score in bias.items()}
        return self

    def _names(self, labels: Sequence[Any]) -> list[str]:
        """Return the model's names of the labels whose biases are tuned."""
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            fail("labels", labels, "is not a list; give the labels whose biases are tuned, such as ['O']")
        name_of = dict(zip(self.classes_, self.model_.labels, strict=True))
        labels = [*labels]
        for label in labels:
            if label not in self.classes_:
                refuse_unknown("labels", labels, label, self.classes_, "label")
        if not labels:
            fail("labels", labels, "has no label; name one, or leave out labels")
        return [name_of[label] for label in labels]


def tuned_bias(
    model: ChainModel, corpus: Corpus, *, metric: str = "f1", labels: Sequence[str] | None = None, threads: int = 0
) -> dict[str, float]:
    """Return the biases of labels, by their names, that score best; see `LabelBias.tune_bias`.

    The search begins at 0 whatever biases the model has. Labels that are not tuned keep their biases.

    Args:
        model: of a chain.
        corpus: labelled sentences.
        metric: "f1", "accuracy", or "recall at precision" and a number.
        labels: the model's labels whose biases are tuned; None for O, or without it the most frequent.
        threads: 0 for all cores.

    Raises:
        OptionError: unknown metric.
        DataError: labels that do not follow a tagging scheme, with a metric of chunks.
    """
    thread_limit(threads)
    score_of = _scorer(metric)
    gold = corpus.true_labels()
    if not any(gold):
        message = "the development data have no token; give labelled sentences that were not used in training"
        raise DataError(message)
    says_something = any(score_of(gold, gold))  # or says what is wrong
    tuned = [OUTSIDE if OUTSIDE in model.labels else model.labels[0]] if labels is None else [*dict.fromkeys(labels)]
    best: dict[str, float] = {**(json.loads(model.settings).get("label_bias") or {}), **dict.fromkeys(tuned, 0.0)}
    scores: dict[tuple[float, ...], tuple[float, ...]] = {}
    warnings: dict[tuple[float, ...], list[tuple[str, type[Warning]]]] = {}

    def score(bias: Mapping[str, float]) -> tuple[float, ...]:
        key = tuple(bias[label] for label in tuned)
        if key not in scores:
            predicted = biased(model, bias).predict(corpus.core, threads=threads)
            if not any(label is not None for labels in predicted for label in labels):
                message = (
                    "the constraints allow no labelling of any sentence of the development data; change constraints"
                )
                raise DataError(message)
            with warnings_kept() as warnings[key]:  # only those of the best biases matter
                scores[key] = score_of(gold, typed(predicted, corpus.label_type))
        return scores[key]

    for _, label in product(range(2 if len(tuned) > 1 else 1), tuned):
        for reach, step in ((REACH, STEP), (STEP - FINE, FINE)):
            best = _best_along(best, label, reach, step, score)
    if not says_something:
        warn(f"metric={metric!r}: the development data have no chunk; the bias is 0", DataWarning)
    elif metric not in ("f1", "accuracy") and not score(best)[0]:
        warn(
            f"metric={metric!r}: no bias reaches this precision on the development data; the bias has the highest "
            "precision",
            DataWarning,
        )
    for message, category in warnings[tuple(best[label] for label in tuned)]:
        warn(message, category)
    return best


def _best_along(
    bias: Mapping[str, float], label: str, reach: float, step: float, score: Callable[[Mapping[str, float]], Any]
) -> dict[str, float]:
    """Return the biases with the best bias of one label around its present one; of equals the one nearest to 0."""
    count, centre = round(reach / step), bias[label]
    trials = [{**bias, label: centre + step * k} for k in range(-count, count + 1)]
    return max(trials, key=lambda trial: (score(trial), -abs(trial[label])))


def _scorer(metric: str) -> Callable[[list[list[Any]], list[list[Any]]], tuple[float, ...]]:
    """Return the function that scores predicted labels; the higher the better, compared from the first number on."""
    from ..metrics import chunk_scores, detect_scheme, evaluate

    def of_chunks(gold: list[list[Any]], predicted: list[list[Any]]) -> dict[str, float]:
        """Return the scores in the scheme of the gold labels, which extreme biases may break."""
        scheme = detect_scheme({str(label) for labels in gold for label in labels})
        if scheme is None:
            return chunk_scores(gold, predicted)
        scores = evaluate(gold, predicted, scheme=scheme)
        return {"precision": scores.precision or 0.0, "recall": scores.recall or 0.0, "f1": scores.f1 or 0.0}

    if metric == "accuracy":
        return lambda gold, predicted: (
            sum(a == b for rows in zip(gold, predicted, strict=True) for a, b in zip(*rows, strict=True)) + 0.0,
        )
    if metric == "f1":
        return lambda gold, predicted: (of_chunks(gold, predicted)["f1"],)
    if match := re.fullmatch(r"recall at precision (0?\.\d+|1|1\.0|0)", metric if isinstance(metric, str) else ""):
        least = float(match[1])

        def score(gold: list[list[Any]], predicted: list[list[Any]]) -> tuple[float, ...]:
            scores = of_chunks(gold, predicted)
            reached = scores["precision"] >= least
            return (1.0, scores["recall"]) if reached else (0.0, scores["precision"])

        return score
    message = f"metric={metric!r} is unknown; choose f1, accuracy, or recall at precision 0.95 (any number up to 1)"
    raise OptionError(message)
