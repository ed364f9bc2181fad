"""Temperature scaling: a model that is too sure of its answers, or not sure enough, is corrected by one number.

All scores are divided by the temperature T that maximises the likelihood of development data, so p(y | x)^(1/T) takes
the place of p(y | x), normalised: above 1 probabilities become more even, below 1 more extreme. Labels stay the same.
Since a log-linear model's scores are linear in its weights, dividing the weights is all there is to it, and no file
format or reader has to know of it. Source: Guo, Pleiss, Sun & Weinberger, ICML 2017, section 4.2; here for the joint
probability of a sentence's labels.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..data.labels import typed
from ..errors import DataError, DataWarning, warn
from ..options import fail, one_of, optional, thread_limit
from ..schemes import chunk_rule, chunk_set
from .estimator import check_fitted
from .files.tagging import BY, By
from .one_state import OneState

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.inputs import Labels, Sentences
    from ..schemes import ChunkRule
    from .files.chain import ChainModel

    Loss = Callable[[ChainModel], float]

__all__ = ["Temperature", "fitted_temperature", "temperature_of", "tempered"]

T = TypeVar("T", bound="Temperature")

# The temperatures to search are from 1 / REACH to REACH: GRID of them on each side of 1, then one with this accuracy.
REACH, GRID, ACCURACY = 20.0, 4, 1e-4
# The least probability in a logarithm; rounding may put a probability above 1.
SMALLEST = 1e-300
# Twice the gain in log-likelihood that chance exceeds in 5 of 100 cases: the quantile of chi-squared with 1 degree.
CHANCE = 3.841
# Losses that differ by less are equal, in nats.
ROUNDING = 1e-9
_SHRINK = (math.sqrt(5.0) - 1.0) / 2.0


def fitted_temperature(loss: Callable[[float], float]) -> float:
    """Return the temperature that minimises a loss; 1 if the loss at 1 is as good as chance allows.

    The loss is evaluated on a grid of log T, and golden section search refines its best point. The negative
    log-likelihood of whole labellings is convex in 1 / T, the only weight of a log-linear model.

    Args:
        loss: negative log-likelihood of answers, in nats, by the factor 1 / T of the scores.

    Warns:
        DataWarning: the loss is lowest where the grid ends.
    """
    reach = math.log(REACH)
    grid = [reach * k / GRID for k in range(-GRID, GRID + 1)]
    losses = [loss(math.exp(-at)) for at in grid]
    least = min(losses)
    best = next(at for at, of_point in enumerate(losses) if of_point <= least + ROUNDING)  # the lowest T of equals
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    left, right = high - _SHRINK * (high - low), low + _SHRINK * (high - low)
    of_left, of_right = loss(math.exp(-left)), loss(math.exp(-right))
    while high - low > ACCURACY:
        if of_left <= of_right:
            high, right, of_right = right, left, of_left
            left = high - _SHRINK * (high - low)
            of_left = loss(math.exp(-left))
        else:
            low, left, of_left = left, right, of_right
            right = low + _SHRINK * (high - low)
            of_right = loss(math.exp(-right))
    if 2.0 * (losses[GRID] - min(of_left, of_right)) <= CHANCE:
        return 1.0
    if best in (0, len(grid) - 1):
        reason = "the model makes no mistakes in them" if best == 0 else "the model's answers are no better than chance"
        warn(
            f"the development data ask for a temperature of {math.exp((low + high) / 2.0):.4g}, near the end of the "
            f"search: {reason}; give labelled data that were not used in training",
            DataWarning,
        )
    return math.exp((low + high) / 2.0)


def temperature_of(model: ChainModel, corpus: Corpus, *, by: By | None = None, threads: int = 0) -> float:
    """Return the temperature at which a model's answers to a corpus are most likely; see `Temperature.calibrate`.

    Sentences with a label that the model does not have, or with forbidden transitions, are left out with a warning.

    Args:
        model: of a chain, or of a classifier with joint probabilities.
        corpus: labelled sentences.
        by: the answers; None for spans if the labels have spans, else tokens.
        threads: 0 for all cores.

    Raises:
        OptionError: `by` is "span", but the labels have no spans.
        DataError: no sentence remains, or the model finds no span.
    """
    thread_limit(threads)
    rule = chunk_rule(tuple(model.labels))
    if by == "span" and rule is None:
        fail("by", by, "needs labels that follow a tagging scheme, such as B-PER, I-PER, O; choose token or sequence")
    possible = [
        at for at, (_, log_p) in enumerate(model.log_partition(corpus.core, threads=threads)) if log_p > -math.inf
    ]
    if not possible:
        message = "the model has the labels of no sentence; give development data with the labels of the training"
        raise DataError(message)
    if len(possible) < len(corpus):
        n_left_out = len(corpus) - len(possible)
        warn(
            f"{n_left_out:,} of {len(corpus):,} sentences have labels or transitions that the model does not have; "
            "they are left out of the temperature",
            DataWarning,
        )
        corpus = corpus[possible]
    kind = by or ("token" if rule is None else "span")
    losses = {"span": _loss_of_spans, "token": _loss_of_tokens, "sequence": _loss_of_sequences}
    of_model = losses[kind](corpus, rule, threads)
    return fitted_temperature(lambda factor: of_model(tempered(model, 1.0 / factor)))


def _loss_of_sequences(corpus: Corpus, rule: object, threads: int) -> Loss:
    """Return the function -log p(labels | sentences) of a model."""
    return lambda model: -math.fsum(log_p for _, log_p in model.log_partition(corpus.core, threads=threads))


def _loss_of_tokens(corpus: Corpus, rule: object, threads: int) -> Loss:
    """Return the function of a model that is the sum over tokens of -log p(label | sentence)."""
    gold = [label for labels in corpus.true_labels() for label in labels]

    def loss(model: ChainModel) -> float:
        number_of = {label: number for number, label in enumerate(typed([model.labels], corpus.label_type)[0])}
        size = len(number_of)
        rows = [p for row in model.marginals(corpus.core, threads=threads) for p in row]
        return -math.fsum(_log(rows[at * size + number_of[label]]) for at, label in enumerate(gold))

    return loss


def _loss_of_spans(corpus: Corpus, rule: ChunkRule | None, threads: int) -> Loss:
    """Return the function of a model that is the log loss of its spans: -log p if right, -log(1 - p) if wrong."""
    chunks = [*map(chunk_set, corpus.true_labels())]

    def loss(model: ChainModel) -> float:
        spans = [
            (p, (type_, start, end) in gold)
            for gold, (_, _, predicted, _) in zip(
                chunks, model.tag(corpus.core, rule=rule, threads=threads), strict=True
            )
            for type_, start, end, p in predicted
        ]
        if not spans:
            message = "the model finds no span in the development data; give more data, or choose token or sequence"
            raise DataError(message)
        return -math.fsum(_log(p if right else 1.0 - p) for p, right in spans)

    return loss


def _log(p: float) -> float:
    return math.log(max(p, SMALLEST))


def tempered(model: ChainModel, temperature: float) -> ChainModel:
    """Return a model with its weights and its biases of labels divided by a temperature, which its settings name."""
    settings: dict[str, Any] = json.loads(model.settings)
    settings["temperature"] = settings.get("temperature", 1.0) * temperature
    if bias := settings.get("label_bias"):
        settings["label_bias"] = _divided(bias, temperature)
    return model.rewritten(json.dumps(settings), factor=1.0 / temperature)


def _divided(bias: Mapping[Any, float], temperature: float) -> dict[Any, float]:
    return {label: score / temperature for label, score in bias.items()}


class Temperature(OneState):
    """The part of a chain's estimator that corrects how sure it is."""

    label_bias: Mapping[Any, float] | None
    model_: ChainModel
    classes_: Sequence[Any]

    if TYPE_CHECKING:
        _bias: dict[Any, float] | None
        _threads: int

        def _inputs(self, X: Corpus | Sentences, y: Labels | None = None) -> tuple[ChainModel, Corpus]: ...

    @property
    def temperature_(self) -> float:
        """What the weights have been divided by since training; 1 without `calibrate`."""
        check_fitted(self, "model_")
        return float(json.loads(self.model_.settings).get("temperature", 1.0))

    def calibrate(self: T, X_dev: Corpus | Sentences, y_dev: Labels | None = None, *, by: By | None = None) -> T:
        """Divide the weights by the temperature at which the answers to development data are most likely.

        Probabilities become more even if the model was too sure, and more extreme if it was not sure enough; predicted
        labels stay the same. Nothing changes if the likelihood does not grow by more than chance allows (likelihood
        ratio test, 5 %). Training data must not be used: a model is too sure of them. The weights are no
        longer at the optimum of the training, and a model with this one as its prior stays near the new ones.
        The parameter `label_bias` is divided as well. `temperature_` is the product of all temperatures since training.

        One number cannot calibrate everything: what makes the probabilities of tokens right may make span probabilities
        worse, so `by` names the ones that will be used. `tagging_calibration` shows all of them.

        Source: Guo, Pleiss, Sun & Weinberger, ICML 2017, section 4.2. Cost: about 25 times tagging the data.

        Args:
            X_dev: sentences, or a labelled Corpus.
            y_dev: a sequence of labels for each sentence; None with a Corpus.
            by: the answers whose likelihood counts: "span": each predicted span is right or wrong; "token": the label
                of each token; "sequence": all labels of each sentence. By default spans if the labels have spans, else
                tokens, as for `Tagging.accepted`.

        Returns:
            The estimator itself.

        Raises:
            OptionError: `by` is unknown, or "span" without spans.
            DataError: invalid data, or the model does not have the labels, or finds no span.

        Warns:
            DataWarning: the model makes no mistakes in the data, so the temperature has no lower limit.

        Example:
            >>> from loglinear import ChainCRF
            >>> X, y = [[["a"]], [["b"]]] * 20, [["A"], ["B"]] * 20
            >>> crf = ChainCRF(l2=0.01).fit(X, y)
            >>> y_dev = [["B"], ["A"]] * 5 + [["A"], ["B"]] * 15  # a quarter is not as in the training
            >>> crf = crf.calibrate(X, y_dev)
            >>> round(crf.tag([[["a"]]])[0].probability, 2), round(crf.temperature_, 2)
            (0.75, 5.31)
        """
        optional(partial(one_of, choices=BY))("by", by)
        model, corpus = self._inputs(X_dev, y_dev)
        corpus.true_labels()
        temperature = temperature_of(model, corpus, by=by, threads=self._threads)
        if temperature != 1.0:
            self.model_ = tempered(self.model_, temperature)
            if self.label_bias is not None:
                self.label_bias = self._bias = _divided(self.label_bias, temperature)
        return self
