"""Bootstrap intervals of the weights and of the scores of a chain."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..errors import DataError, DataWarning, OptionError, in_argument, warn
from ..extras import needed_by
from ..objectives.chain import ChainData, ChainObjective
from ..options import real_number, seed_number, whole_number
from ..visible import counted
from .estimator import check_fitted
from .one_state import OneState

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.inputs import Labels, Sentences
    from ..objectives.older import OlderChain
    from ..result import Result
    from ..vectors import Vector
    from .explain.inference import Inference
    from .files.chain import ChainModel
    from .training.options import SolverOptions

__all__ = ["ChainInference"]


class ChainInference(OneState):
    """The part of a chain's estimator that says how sure weights and scores are."""

    model_: ChainModel
    template: str | None

    if TYPE_CHECKING:
        _threads: int
        _results: tuple[Result, ...]

        def _solver_options(self) -> SolverOptions: ...

        def _inputs(self, X: Corpus | Sentences, y: Labels | None = None) -> tuple[ChainModel, Corpus]: ...

        def _data_by(
            self, X: Corpus | Sentences, y: Labels | None, sample_weight: Iterable[float] | None
        ) -> Callable[[str | None, OlderChain | None], ChainData]: ...

    def inference(
        self,
        X: Corpus | Sentences,
        y: Labels | None = None,
        *,
        sample_weight: Iterable[float] | None = None,
        X_test: Corpus | Sentences | None = None,
        y_test: Labels | None = None,
        level: float = 0.95,
        draws: int = 200,
        random_state: int = 0,
    ) -> Inference:
        """Return bootstrap intervals of the weights, and of F1 and other scores on held-out sentences.

        The chain is trained again on sentences drawn with replacement, from the weights of this one. Each of these
        chains labels test sentences, which are drawn with replacement too: the interval of a score shows how it varies
        with both the training and the test data. Without test data, a chain labels the sentences that its draw lacks,
        about 37 %. As a draw has fewer different sentences, scores are a little lower than those of the chain itself.

        Source: Efron & Tibshirani (1993), chapters 6 and 13, percentile intervals.
        Cost: a training for each draw, several at a time; the result is the same on any number of threads.

        Args:
            X: the training data, as for `fit`.
            y: their labels; None with a Corpus.
            sample_weight: their weights.
            X_test: other sentences, or a labelled Corpus, to score the chains on.
            y_test: labels of the sentences in X_test.
            level: probability of the intervals, above 0 and below 1.
            draws: number of bootstrap samples, >= 2.
            random_state: seed of the draws.

        Returns:
            A table that prints itself, with a row for each feature with a weight other than 0; its `scores` has the
            intervals of the scores by name.

        Raises:
            DataError: X and y are not the training data, or the test data cannot be used.
            OptionError: an option is out of range, or the chain was trained with a prior or is calibrated.
            NotFittedError: the chain is not fitted.

        Warns:
            DataWarning: there are no test sentences, and no draw leaves out a sentence.

        Example:
            >>> from loglinear import ChainCRF
            >>> X, y = [[["the"], ["dog"]], [["dog"]], [["a"], ["dog"]]] * 10, [["D", "N"], ["N"], ["D", "N"]] * 10
            >>> inference = ChainCRF().fit(X, y).inference(X, y, draws=20)
            >>> inference.names[:2], inference.scores["accuracy"].low
            (['D -> N', 'the  -> D'], 1.0)
        """
        with needed_by("ChainCRF.inference", "sklearn"):
            from .explain.inference import Inference
            from .training.chain_draws import chain_draws
            from .training.draws import check_draws

        check_fitted(self, "model_")
        real_number("level", level, "a number above 0 and below 1", lambda x: 0.0 < x < 1.0)
        seed, n_draws = seed_number("random_state", random_state), whole_number("draws", draws, 2, 10**7)
        self._check_kind()
        template = None if self.model_.template is None else self.template or self.model_.template
        data = self._data_by(X, y, sample_weight)(template, None)
        if not isinstance(data, ChainObjective):
            message = "inference needs training data in this process"
            raise OptionError(message)
        w, n_shared = data.start_weights(self.model_)
        n_features = sum(map(len, (self.model_.state_features(), self.model_.transition_features())))
        n_features += len(self.model_.triple_features()) + len(self.model_.bigram_features())
        if n_shared < n_features:
            message = f"X and y have {n_shared:,} of the {n_features:,} features of the chain; give its training data"
            raise DataError(message)
        n_trained = json.loads(self.model_.settings).get("training", {}).get("n_sentences", data.n_samples)
        if data.n_samples != n_trained:
            message = f"X has {counted(data.n_samples, 'sentence')}, but the chain was trained on {n_trained:,}; give "
            message += "its training data"
            raise DataError(message)
        test = None
        if X_test is not None:
            with in_argument("X_test"):
                test = self._inputs(X_test, y_test)[1]
                if not len(test):
                    message = "no sentences"
                    raise DataError(message)
        elif y_test is not None:
            message = "y_test needs the sentences: give X_test, or leave out y_test"
            raise DataError(message)
        numbers = w.nonzero()[0]
        check_draws(n_draws, numbers.size)
        options = self._solver_options()
        options.refuse_families("inference")
        samples, scores = chain_draws(
            data, options, w, numbers, test, level=level, draws=n_draws, seed=seed, threads=self._threads
        )
        if not scores:
            message = "no draw leaves out a sentence, so there are no scores; give test sentences (X_test, y_test), or "
            warn(message + "more draws", DataWarning)
        lower, upper = samples.intervals(level)
        penalty, has_costs = options.penalty(), data.features.class_weight is not None
        nan = float("nan")
        nll: float = nan if has_costs else data.value_and_gradient(w)[0]
        weights: Vector = w[numbers]
        return Inference(
            names=[str(feature) for feature in data.feature_names(numbers)],
            classes=[""] * numbers.size,
            weights=weights,
            standard_errors=samples.weights.std(axis=0, ddof=1),
            lower=lower,
            upper=upper,
            level=float(level),
            method="bootstrap",
            reference="",
            n_samples=float(data.n_samples),
            log_likelihood=-nll,
            null_log_likelihood=nan,
            n_parameters=nan,
            n_null_parameters=0,
            l1=penalty.l1,
            l2=penalty.l2,
            draws=samples.weights,
            scores=scores,
        )

    def _check_kind(self) -> None:
        """Raise OptionError if the weights do not come from training on the data alone."""
        if json.loads(self.model_.settings).get("temperature", 1.0) != 1.0:
            message = "the chain is calibrated, so that its weights are not at the optimum of the training; call "
            message += "inference before calibrate"
            raise OptionError(message)
        if vars(self).get("_evidence") is not None or any(result.prior is not None for result in self._results):
            message = "the chain was trained with a prior, or by partial_fit; train it on all data with fit"
            raise OptionError(message)
