"""`CRF` with sklearn-crfsuite's interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...models.estimator import refuse_unfitted
from ...models.scikit_learn import BaseEstimator
from .. import pycrfsuite
from ..pycrfsuite._logparser import TrainLogParser
from ._model_file import ModelFile
from ._sequences import Sequences
from .trainer import LinePerIterationTrainer

__all__ = ["CRF"]

# Parameter of `CRF` -> CRFsuite's name.
_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
    **{
        name: name.replace("_", ".", 1) if name.startswith("calibration") else name
        for name in (
            *("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta"),
            *("linesearch", "max_linesearch", "calibration_eta", "calibration_rate", "calibration_samples"),
            *("calibration_candidates", "calibration_max_trials"),
            *("c", "error_sensitive", "averaging", "variance", "gamma"),
        )
    },
}


class CRF(BaseEstimator):
    """A chain CRF with the parameters, methods and attributes of sklearn-crfsuite's.

    The parameters are CRFsuite's, see `loglinear.compat.pycrfsuite.Trainer`; None is CRFsuite's default. The model is a
    `.crfsuite` file, temporary unless it is given a name.

    Args:
        algorithm: lbfgs, l2sgd, ap, pa or arow.
        min_freq: `feature.minfreq`.
        all_possible_states: `feature.possible_states`.
        all_possible_transitions: `feature.possible_transitions`.
        c1: strength of the L1 penalty.
        c2: strength of the L2 penalty c2 * |w|^2.
        max_iterations: iterations at most.
        num_memories: of L-BFGS.
        epsilon: of lbfgs, ap, pa, arow; when to stop.
        period: of lbfgs, l2sgd; when to stop.
        delta: of lbfgs, l2sgd; when to stop.
        linesearch: accepted, without effect.
        max_linesearch: evaluations in a line search at most.
        calibration_eta: accepted, without effect, as the four that follow.
        calibration_rate: see above.
        calibration_samples: see above.
        calibration_candidates: see above.
        calibration_max_trials: see above.
        pa_type: `type` of pa.
        c: of pa.
        error_sensitive: of pa.
        averaging: of pa.
        variance: of arow.
        gamma: of arow.
        verbose: whether to print a line for each iteration.
        model_filename: the model's file; a temporary file by default.
        keep_tempfiles: whether temporary files stay.
        trainer_cls: class that trains, a `Trainer`; `LinePerIterationTrainer` by default.

    Attributes:
        modelfile: the model's file: its `name`, `refresh()`, `cleanup()`.
        training_log_: the `TrainLogParser` of the last training; None before.

    Example:
        >>> from loglinear.compat.sklearn_crfsuite import CRF
        >>> X, y = [[{"word": "Dogs"}, {"word": "bark"}]], [["NOUN", "VERB"]]
        >>> crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100).fit(X, y)
        >>> crf.predict(X), crf.classes_
        ([['NOUN', 'VERB']], ['NOUN', 'VERB'])
    """

    algorithm: str | None
    verbose: bool
    trainer_cls: type[pycrfsuite.Trainer] | None

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[pycrfsuite.Trainer] | None = None,
    ) -> None:
        arguments = dict(locals())
        del arguments["self"]
        self.__dict__.update(arguments)
        self.modelfile = ModelFile(model_filename, keep_tempfiles)
        self.training_log_: TrainLogParser | None = None
        self._tagger: Any = None
        self._info_cached: Any = None

    def fit(self, X: Iterable[Any], y: Iterable[Any], X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train on sequences.

        Args:
            X: sequences of items, see `loglinear.compat.pycrfsuite.ItemSequence`.
            y: for each sequence the labels of its items.
            X_dev: sequences that are scored after every iteration.
            y_dev: their labels.

        Raises:
            ValueError: only one of X_dev and y_dev is given; there are not as many sequences as lists of labels; a
                sequence has not as many items as labels; a parameter does not belong to the algorithm.
        """
        if (X_dev is None) != (y_dev is None):
            message = "X_dev and y_dev must be given together"
            raise ValueError(message)
        self._close()
        self.modelfile.refresh()
        values = {theirs: getattr(self, name) for name, theirs in _NAMES.items()}
        params = {name: value for name, value in values.items() if value is not None}
        trainer_cls = self.trainer_cls or LinePerIterationTrainer
        trainer = trainer_cls(algorithm=self.algorithm, params=params, verbose=self.verbose)
        for items, labels in zip(X, y, strict=True):
            trainer.append(items, labels)
        if X_dev is not None:
            for items, labels in zip(X_dev, y_dev, strict=True):
                trainer.append(items, labels, 1)
        trainer.train(str(self.modelfile.name), holdout=-1 if X_dev is None else 1)
        self.training_log_ = trainer.logparser
        return self

    def _close(self) -> None:
        if self._tagger is not None:
            self._tagger.close()
        self._tagger = self._info_cached = None

    def predict(self, X: Iterable[Any]) -> Sequences:
        """Return a list with the labels of each sequence, of which NumPy makes an array of lists.

        All cores have a part in it. As there, the tagger answers questions about the last sequence afterwards.

        Args:
            X: sequences of items.
        """
        tagger, sequences = self._fitted(), list(X)
        labels = tagger._tag_all(sequences)
        if sequences:
            tagger.set(sequences[-1])
        return Sequences(labels)

    def predict_single(self, xseq: Any) -> list[str]:
        """Return the labels of a sequence."""
        return self._fitted().tag(xseq)  # type: ignore[no-any-return]

    def predict_marginals(self, X: Iterable[Any]) -> Sequences:
        """Return for each sequence a list with the probability of each label at each item, {label: probability}."""
        return Sequences(map(self.predict_marginals_single, X))

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Return the probability of each label at each item of a sequence."""
        tagger = self._fitted()
        tagger.set(xseq)
        labels = tagger.labels()
        return [{label: tagger.marginal(label, at) for label in labels} for at in range(len(xseq))]

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """Return the share of items that get the right label."""
        from .metrics import flat_accuracy_score

        return flat_accuracy_score(y, self.predict(X))

    def _fitted(self) -> Any:
        """Return the tagger.

        Raises:
            NotFittedError: there is no model.
        """
        tagger = self.tagger_
        if tagger is None:
            refuse_unfitted("this CRF has no model; call fit, or set model_filename to an existing model")
        return tagger

    @property
    def tagger_(self) -> Any:
        """A `Tagger` with the model; None without a model."""
        if self._tagger is None and self.modelfile.name is not None:
            self._tagger = pycrfsuite.Tagger()
            self._tagger.open(self.modelfile.name)
        return self._tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels; None without a model."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def _info(self) -> Any:
        """The content of the model; None without a model."""
        if self._info_cached is None and self.tagger_ is not None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    @property
    def size_(self) -> int | None:
        """Size of the model's file in bytes; None without a model."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """Number of attributes with a weight that is not 0; None without a model."""
        return None if self._info is None else int(self._info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """These attributes, in the file's order; None without a model."""
        if self._info is None:
            return None
        return sorted(self._info.attributes, key=lambda name: int(self._info.attributes[name]))

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """{(attribute, label): weight}; None without a model."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """{(label from, label to): weight}; None without a model."""
        return None if self._info is None else self._info.transitions

    def explain_weights(self, top: int = 20) -> str:
        """Return a text with the weights that are largest in absolute value, of all transitions and for each label.

        eli5's `explain_weights` works on this class, too, after `loglinear.compat.install()`.

        Args:
            top: number of weights in each part.
        """
        self._fitted()
        rows: dict[str, list[tuple[float, str]]] = {"transitions": []}
        for (before, label), weight in self._info.transitions.items():
            rows["transitions"].append((weight, f"{before} -> {label}"))
        for (attribute, label), weight in self._info.state_features.items():
            rows.setdefault(f"label {label}", []).append((weight, attribute))
        lines = []
        for title, weights in rows.items():
            largest = sorted(weights, key=lambda row: -abs(row[0]))[:top]
            lines += [title, *(f"  {weight:+8.3f}  {name}" for weight, name in sorted(largest, reverse=True))]
        return "\n".join(lines)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tagger": None, "_info_cached": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
