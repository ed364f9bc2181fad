"""The maximum-entropy classifier as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.special
from sklearn.utils.validation import check_is_fitted

from ..data.bad_values import check_scores
from ..data.column_layout import ColumnLayout
from ..data.corpus import Corpus, check_some_weight
from ..data.fingerprint import checksum
from ..data.frames import as_frame
from ..data.inputs import Array, Classes, Samples
from ..data.labels import check_several
from ..data.matrix import BLOCK, FLOATS, is_worth_blocks
from ..data.sample_values import check_count, classes_of, groups_of, weights_of_samples
from ..data.samples import (
    attribute_corpus,
    labels_and_weights,
    refuse_labels_of_corpus,
    rows_of,
    warn_of_numbers,
)
from ..data.soft_classes import RepeatedSamples, are_soft, repeated, repeated_tokens
from ..data.survey import check_counts, check_known
from ..errors import DataError, DataWarning, OptionError, in_argument, warn
from ..minimize import Callback
from ..objectives.class_weights import check_sum, weights_by_class
from ..objectives.classifier import ClassifierData, ClassifierObjective
from ..result import Result, Status
from ..vectors import Vector
from .classifier_inference import ClassifierInference
from .estimator import UNTRAINED, Estimator, check_end, check_fitted, refuse_unfitted
from .files import maxent as maxent_file
from .files.origin import training_date
from .files.settings import class_weight_of, class_weight_settings, training_summary
from .sample_columns import SampleColumns
from .scikit_learn import BaseEstimator, ClassifierMixin
from .temperature import fitted_temperature
from .training.apart import Trained, log_shares, train_apart, untrained
from .training.checkpoint import Checkpoint, Saving
from .training.classifier_folds import ClassifierFolds
from .training.classifier_prior import Centres, ClassifierPrior, Evidence
from .training.classifier_start import ClassifierStart, Columns, StartingWeights
from .training.cross_validation import check_search, cross_validated, refused_in_fit
from .training.families import NamedWeights, line_names
from .training.folds import folds_of_classifier
from .training.options import (
    ChosenSolverParameters,
    ClassifierParameters,
    DevOptions,
    DevParameters,
    FamilyParameters,
    SolverOptions,
    StrengthSearch,
)
from .training.prior import check_pieces, check_prior, n_seen_by
from .training.run import DevData, train
from .training.start import warn_of_lost

if TYPE_CHECKING:
    from ..report.cross_validation import CrossValidation
    from ..report.page import Report
    from .explain.explanation import Explanation

__all__ = ["MaxEnt"]

# First rows of a matrix that nearly always show that some column varies.
_FIRST = 100
M = TypeVar("M", bound="MaxEnt")


class MaxEnt(
    ClassifierMixin,
    ClassifierInference,
    SampleColumns,
    Estimator,
    ChosenSolverParameters,
    FamilyParameters,
    DevParameters,
    ClassifierParameters,
    BaseEstimator,
):
    """Maximum-entropy classifier: multinomial, binary or one-vs-rest logistic regression on sparse or dense data.

    Minimises the sum over samples of -weight log p(y | x), plus l1 |w|_1 + (l2 / 2) |w|^2, in nats; the intercept is
    not penalised. With two classes p(y = 1 | x) = 1 / (1 + exp(-x . w)), with one weight per column.

    Source: Berger, Della Pietra & Della Pietra (1996).
    Cost: the solver's; an evaluation makes two passes over the data, on all threads. The weights are the same for any
    number of threads. Columns without entries of a sparse matrix, such as hashed words leave, cost nothing if they are
    at least half of all.

    scikit-learn's LogisticRegression minimises the same with l2 = 1 / C, or l1 = 1 / C where l1_ratio is 1.

    With three or more classes, adding the same number to a column's weights of all classes changes no probability: at
    the end of training the weights of each column, and the intercepts, are shifted to add up to 0. This lowers an L2
    penalty or leaves it as it is. With l1, columns are shifted to their least penalty instead, so that without l2 the
    median of the weights of a column is 0.

    Weights, scores and probabilities are float64, also for float32 data: training computes in double precision.

    X is a matrix; or a sequence of samples with attributes, each a dict or a sequence of names, as for the tokens of
    `ChainCRF`; or a `Corpus`, each token of which is a sample (y is then None: the corpus contains labels and weights).

    Attributes:
        classes_: the classes, sorted, shape (n_classes,).
        coef_: weights, shape (1, n_columns) for two classes, (n_classes, n_columns) otherwise.
        intercept_: shape (1,) or (n_classes,).
        n_features_in_: number of columns.
        attributes_: names of the columns; None for a matrix.
        l1_: strength of the L1 penalty: the one that l1="cv" has chosen, or l1 itself.
        l2_: strength of the L2 penalty: the one that l2="cv" has chosen, or l2 itself.
        cross_validation_: strengths and scores that l1="cv" or l2="cv" has chosen from (`CrossValidation`); None
            otherwise.
        n_iter_: iterations of the solver, shape (number of models trained,).
        result_: status, trace and optimality violation of the training; NotFittedError for a loaded model.
        results_: one result per model trained: per class with "ovr", otherwise a single one.

    Example:
        >>> from loglinear import MaxEnt
        >>> X, y = [{"word": "good", "length": 2}, ["word:bad", "short"], ["word:good"]], ["+", "-", "+"]
        >>> model = MaxEnt(l2=0.1).fit(X, y)
        >>> model.predict([["word:bad"], ["word:good"]]).tolist()
        ['-', '+']
        >>> model.predict_proba([["word:bad"]]).round(2).tolist()
        [[0.37, 0.63]]
    """

    # What reports call the samples.
    _items = "samples"

    def fit(
        self,
        X: Corpus | Samples,
        y: Classes | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        X_dev: Corpus | Samples | None = None,
        y_dev: Classes | None = None,
        start: MaxEnt | str | os.PathLike[str] | None = None,
        prior: MaxEnt | str | os.PathLike[str] | None = None,
        prior_strength: float | None = None,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> MaxEnt:
        """Train on samples and their classes.

        Args:
            X: numbers, shape (n_samples, n_columns): a sparse matrix or array, or a table of pandas, polars, pyarrow,
                DuckDB or any other library with Arrow's PyCapsule interface; or samples with attributes.
            y: classes, shape (n_samples,); None with a Corpus. Or distributions over the classes: probabilities, shape
                (n_samples, n_classes), whose classes are the names of a table's columns or their numbers; or a list
                with a class, or a dict of probabilities by class, for each sample. A sample then counts once for each
                of its classes, weighted by the probability, which is the same objective. Whole numbers, all 0 or 1,
                are refused as several classes of a sample.
            sample_weight: weights >= 0, shape (n_samples,). A class whose samples all have weight 0 stays in
                `classes_`; "balanced" weighs the others as if these samples were left out.
            X_dev: development data: samples to score during training; not with "ovr". The trace has the accuracy of
                every step.
            y_dev: classes of the samples in X_dev.
            start: model to start from (warm start), or the path of its file. Columns or attributes with the same names
                start at its weights for the same classes, all others at 0; `result_.start` reports how many. Columns
                without names are matched by number. The optimum is the same as from 0.
            prior: older classifier that the new one should stay near, or the path of its file: with its weights c, the
                penalty is l1 |w - c|_1 + (prior_strength / 2) |w - c|^2, which the intercept bears as well. Attributes
                and classes that the new data lack stay in the model; c is 0 for new ones. `result_.prior` reports how
                many (with "ovr" the prior of each of `results_`). With three or more classes, both classifiers must be
                softmax or both "ovr". Only batch solvers support a prior.
            prior_strength: strength of that penalty, which takes the place of l2; l2 by default. ``math.inf`` keeps the
                weights of the prior, 0 trains on the new data alone without an L2 penalty; otherwise at most 1e6.
            callbacks: called as callback(record, state) after each step; return True to stop. With a prior, the
                weights of a state are their change from the prior.
            checkpoint: file to save the state of the training to regularly, and to resume from after a crash; not with
                "ovr".
            groups: group of each sample, such as its document, shape (n_samples,): l1="cv" and l2="cv" keep the samples
                of a group in one fold.

        Warns:
            DataWarning: there is a class for most samples, no column varies, or X seems to be lists of numbers in
                strings.
            UserWarning: the model to start from has another template, the prior is calibrated, or l1="cv" leaves no
                column.

        Raises:
            OptionError: an option is out of range, or differs from the checkpoint.
            ValueError: invalid data; DataError and OptionError are ValueErrors too.
            ObjectiveError: a stochastic solver diverged.
            ModelFileError: the file to start from is damaged or of another kind.
            KeyboardInterrupt: Ctrl-C; once training has begun, the estimator holds the weights reached.

        Example:
            >>> from loglinear import MaxEnt
            >>> old = MaxEnt().fit([["good"], ["bad"]], ["+", "-"])
            >>> new = MaxEnt().fit([["good"], ["bad"], ["fine"]], ["+", "-", "+"], start=old)
            >>> print(new.result_.start)
            2 of 4 features start from the older model
        """
        self._check_options(has_dev=X_dev is not None)
        check_prior(start, prior, prior_strength)
        begun = None if start is None else opened_start(start)
        around = None if prior is None else ClassifierPrior(opened_start(prior, "prior"), prior_strength)
        self._check_search(X_dev is not None, start is not None, prior is not None, checkpoint is not None)
        self._learn(X, y, sample_weight, X_dev, y_dev, begun, around, callbacks, checkpoint, groups)
        return self

    def _learn(
        self,
        X: Corpus | Samples,
        y: Classes | None,
        sample_weight: npt.ArrayLike | None,
        X_dev: Corpus | Samples | None = None,
        y_dev: Classes | None = None,
        begun: ClassifierStart | None = None,
        around: ClassifierPrior | None = None,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        reset: bool = True,
    ) -> None:
        """Train on samples and their classes; ``reset`` if the columns may be other ones than before."""
        objective, groups, n_samples = self._encoded(X, y, sample_weight, begun, around, groups, reset=reset)
        self._fit(
            objective,
            X_dev,
            y_dev,
            start=begun,
            prior=around,
            callbacks=callbacks,
            checkpoint=checkpoint,
            groups=groups,
            n_samples=n_samples,
        )

    def _encoded(
        self,
        X: Corpus | Samples,
        y: Classes | None,
        sample_weight: npt.ArrayLike | None = None,
        begun: ClassifierStart | None = None,
        around: ClassifierPrior | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        reset: bool = True,
    ) -> tuple[ClassifierObjective, npt.ArrayLike | None, int | None]:
        """Return the objective on samples, the groups of its samples, and their number before soft labels repeat them.

        The attributes that describe classes and columns are set.
        """
        is_piece = around is not None and around.evidence is not None
        corpus = attribute_corpus(X)
        copies: RepeatedSamples | None = None
        if corpus is not None and corpus is X:
            refuse_labels_of_corpus(y, sample_weight)
            copies = repeated_tokens(corpus)
            if copies is None:
                y, sample_weight = labels_and_weights(corpus, y, sample_weight)
        elif are_soft(y):
            copies = repeated(X, y, sample_weight)
        if copies is None:
            labels = every = classes_of(y)
        else:
            every = classes_of([*copies.y, *copies.classes])
            labels, sample_weight = every[: len(copies.y)], copies.weights
            if groups is not None or self._search.names:
                # The copies of a sample stay in one fold.
                groups = copies.rows if groups is None else np.asarray(groups)[copies.rows]
            if corpus is None:
                X = rows_of(X, copies.rows)
        frame = as_frame(X) if corpus is None else None
        self._template, self._format = (None, "python") if corpus is None else (corpus.template, corpus.format)
        self._layout = ColumnLayout() if corpus is None else corpus.columns
        if corpus is None:
            matrix = self._numbers(X if frame is None else frame, FLOATS, reset=reset)
            check_count(labels, matrix.shape[0])
            if frame is not None and frame.names is not None:
                self.feature_names_in_ = np.array(frame.names, dtype=object)
            if not is_piece:
                _warn_if_constant(matrix)
        else:
            warn_of_numbers(X)
            if (
                not is_piece
                and corpus.core.is_binary
                and 0 < corpus.core.n_entries == corpus.n_attributes * corpus.n_tokens
            ):
                message = "every sample has the same attributes, so every sample gets the same probabilities; check X"
                warn(message, DataWarning)
            if copies is None:
                check_count(labels, corpus.n_tokens)
            vars(self).pop("feature_names_in_", None)
        if around is None:
            classes = np.unique(every)
            check_several(classes, len(labels))
        else:
            classes = around.classes(every)
        targets = np.searchsorted(classes, labels)
        has_impossible = copies is not None and not is_piece and copies.warn_of_impossible()
        warns = around is None and not has_impossible
        weights = self._weights(labels, classes, targets, sample_weight, warns=warns)
        # The weight of the intercept of a prior bears the penalty, so that it must have the unit of the intercept.
        intercept: float | str = "scaled" if self.fit_intercept and around is None else float(bool(self.fit_intercept))
        self.attributes_: list[str] | None = None
        if corpus is None:
            objective = ClassifierObjective(
                matrix,
                targets,
                weights,
                n_classes=classes.size,
                intercept=intercept,
                threads=self._threads,
                # Without a penalty, a weight of an empty column stays where it starts.
                spares_empty=around is None and (begun is None or bool(self.l1 or self.l2)),
            )
        else:
            objective, self.attributes_ = ClassifierObjective.of_corpus(
                corpus,
                targets,
                weights,
                n_classes=classes.size,
                intercept=intercept,
                min_count=self.min_count,
                tokens=None if copies is None else copies.rows,
                threads=self._threads,
            )
            self.n_features_in_ = len(self.attributes_)
        self.classes_ = classes
        return objective, groups, None if copies is None else copies.n_samples

    def partial_fit(
        self,
        X: Corpus | Samples,
        y: Classes | None = None,
        classes: Classes | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> MaxEnt:
        """Learn from one more piece of data, without forgetting the former ones.

        Each piece is learned with the weights so far as a prior. Its strength grows as data accumulate: for each weight
        it is l2 plus the curvature that the former pieces gave to the negative log-likelihood, the diagonal of their
        Hessians at the weights that they led to. This is the Laplace approximation of the posterior with a diagonal
        covariance (Spiegelhalter & Lauritzen 1990). It is not exact: the guide to continued training says how near it
        comes to training on all pieces at once. The intercept bears the penalty as well.

        Attributes of any piece enter. Files of models do not keep the curvature: after `load` or `fit` it is estimated
        from the next piece and the number of samples seen, so the piece should be like the former ones.

        Args:
            X: samples, with the same columns in each piece if it is a matrix or table.
            y: classes, shape (n_samples,); None with a Corpus.
            classes: all classes; needed in the first call, and the same in later calls if given there.
            sample_weight: weights >= 0, shape (n_samples,).

        Raises:
            OptionError: an option is out of range, l1 is above 0, l2 is 0, or classes are missing or differ.
            ValueError: invalid data; DataError and OptionError are ValueErrors too.

        Example:
            >>> from loglinear import MaxEnt
            >>> model = MaxEnt().partial_fit([["good"], ["bad"]], ["+", "-"], classes=["+", "-"])
            >>> model.partial_fit([["fine"]], ["+"]).predict([["bad"], ["fine"]]).tolist()
            ['-', '+']
        """
        self._check_options(has_dev=False)
        around = self._before_piece(classes)
        self._learn(X, y, sample_weight, around=around, reset=around.start is None)
        return self

    def _before_piece(self, classes: Classes | None) -> ClassifierPrior:
        """Return what is all_classes before `partial_fit`; see there for errors."""
        self._check_search(False, False, True, False)
        check_pieces(self._options(SolverOptions, l1=0.0).penalty().l2)
        all_classes = None if classes is None else np.unique(classes_of(classes, "classes"))
        if "coef_" not in vars(self):
            if all_classes is None:
                message = "classes is needed in the first call of partial_fit: give all classes"
                raise OptionError(message)
            check_several(all_classes, all_classes.size)
            return ClassifierPrior(None, None, classes=all_classes, evidence=Evidence(0, None))
        if all_classes is not None and not np.array_equal(all_classes, self.classes_):
            shown = f"{all_classes.tolist()} now, {self.classes_.tolist()} before"
            message = f"classes differ from the first call of partial_fit: {shown}; leave them out"
            raise OptionError(message)
        evidence = vars(self).get("_evidence") or Evidence(n_seen_by(self._settings().get("training")), None)
        return ClassifierPrior(opened_start(self), None, classes=self.classes_, evidence=evidence)

    def _check_options(self, *, has_dev: bool) -> None:
        """Raise OptionError if an option is out of range, before data are read."""
        self._options(DevOptions).check(has_data=has_dev)
        search = self._search
        options = self._options(SolverOptions, **search.fixed)
        options.check()
        check_search(search, options)
        self._options(ClassifierParameters)

    def _check_search(self, dev: bool, start: bool, prior: bool, checkpoint: bool) -> None:
        """Raise OptionError if an argument of `fit` does not suit the choice of a strength."""
        refusals = refused_in_fit(dev=dev, start=start, prior=prior, checkpoint=checkpoint)
        check_search(self._search, self._options(SolverOptions, **self._search.fixed), refusals=refusals)

    @property
    def _search(self) -> StrengthSearch:
        """Which strengths are chosen by cross-validation."""
        return self._options(StrengthSearch)

    def _solver_options(self) -> SolverOptions:
        """Return how the classifier is trained, with the strengths that were chosen or given."""
        chosen = {"l1": self.l1_} | ({"l2": self.l2_} if self.l2 == "cv" else {})
        return self._options(SolverOptions, **chosen)

    def _fit(
        self,
        data: ClassifierData,
        X_dev: Corpus | Samples | None,
        y_dev: Classes | None,
        *,
        start: ClassifierStart | None,
        prior: ClassifierPrior | None = None,
        callbacks: Iterable[Callback],
        checkpoint: Checkpoint | None,
        groups: npt.ArrayLike | None = None,
        n_samples: int | None = None,
    ) -> None:
        """Train on data in this process or elsewhere; see `fit` for the other arguments.

        The number of samples is the data's by default, which may have copies of them.
        """
        self._temperature = 1.0
        n_samples = data.n_samples if n_samples is None else n_samples
        self._sizes = {"n_samples": n_samples, "n_features": data.n_features}
        self._date = training_date()
        dev = None if X_dev is None else self._dev_data(data, X_dev, y_dev)
        starting = None if start is None else self._starting(start)
        saving = self._saving(checkpoint, data)
        self._choose_strengths(data, groups)
        centres = None
        if prior is not None:
            centres = prior.centres(
                self.classes_,
                self._columns_of_data(),
                self._template,
                one_vs_rest=self._trains_apart(),
                has_intercept=bool(self.fit_intercept),
                l2=self._solver_options().penalty().l2,
                n_samples=n_samples,
            )
        at = None if self._trains_apart() or prior is not None else partial(self._at, data)
        self._train(data, self._observers(callbacks, at), dev, saving, starting, prior, centres)

    def _at(self, data: ClassifierData, w: Vector) -> dict[str, Any]:
        """Return the attributes of the classifier with the weights of a step."""
        coef, intercept = data.coefficients(w)
        return vars(self) | {"coef_": coef, "intercept_": intercept, "_results": ()}

    def _starting(self, start: ClassifierStart) -> StartingWeights:
        """Return the weights of an older classifier for the classes and columns of the training data."""
        apart = self._trains_apart()
        warn_of_lost(start.name, start.contents.settings, argument="start")
        return start.weights(self.classes_, self._columns_of_data(), self._template, one_vs_rest=apart)

    def _trains_apart(self) -> bool:
        """Whether there is a model for each class, against the rest."""
        return self.multi_class == "ovr" and self.classes_.size > 2

    def _columns_of_data(self) -> Columns:
        """Return the columns of the training data."""
        names = self._column_names()
        texts = None if names is None else [str(name) for name in names]
        return Columns(self.n_features_in_, texts, names is None or "feature_names_in_" in vars(self))

    def _saving(self, checkpoint: Checkpoint | None, data: ClassifierData) -> Saving | None:
        """Return the object that writes checkpoints."""
        if checkpoint is None:
            return None
        self._check_one_model("checkpoints")
        options = {"model": "maxent", **vars(self._options(ClassifierParameters))}
        return Saving(checkpoint, options, {"training data": data.fingerprint()})

    def _check_one_model(self, feature: str) -> None:
        """Raise OptionError, naming a feature that needs a single model, if a model is trained for each class."""
        if self._trains_apart():
            message = f"{feature} are not available with multi_class='ovr', which trains several models; use softmax"
            raise OptionError(message)

    def _dev_data(self, data: ClassifierData, X: Corpus | Samples, y: Classes | None) -> DevData:
        """Return the scores of weights on development data."""
        self._check_one_model("development data")
        with in_argument("X_dev"):
            if isinstance(X, Corpus):
                y, _ = labels_and_weights(X, y, None)
            matrix = self._matrix(X)
        labels = classes_of(y, "y_dev", matrix.shape[0], self.classes_)
        right = labels[:, None] == self.classes_
        if labels.size and not right.any():
            check_counts(Counter(map(str, labels.tolist())), [str(label) for label in self.classes_], "X_dev", "python")

        def score(w: Vector) -> dict[str, float]:
            coef, intercept = data.coefficients(w)
            best = _best(np.asarray(matrix @ coef.T) + intercept)
            return {"accuracy": float(right[np.arange(best.size), best].mean())}

        def fingerprint() -> dict[str, Any]:
            rows = scipy.sparse.csr_array(matrix)
            parts = (rows.indptr, rows.indices, rows.data, right)
            return {"samples": rows.shape[0], "checksum": checksum(parts)}

        return DevData(score, "accuracy", fingerprint, self._options(DevOptions))

    def _weights(
        self, labels: Array, classes: Array, targets: Array, sample_weight: object, *, warns: bool
    ) -> Vector | None:
        """Return the samples' weights times the weights of their classes; None if all are 1."""
        if sample_weight is None and self.class_weight is None:
            return None
        weights = weights_of_samples(1.0 if sample_weight is None else sample_weight, len(labels))
        totals = np.bincount(targets, weights, classes.size).astype(np.float64)
        by_class = self._class_weights(classes, totals)
        if by_class is not None:
            weights, totals = weights * by_class[targets], totals * by_class
            if not totals.any():
                message = f"class_weight={self.class_weight!r} gives no class with samples a weight above 0"
                raise OptionError(message)
        is_single = np.count_nonzero(totals) == 1 and not self._search.names
        if by_class is not None and warns and not is_single:
            _warn_of_zero(self.class_weight, classes, np.bincount(targets, minlength=classes.size) * (by_class == 0.0))
        if is_single and warns:
            message = f"only samples of class {classes.tolist()[np.argmax(totals)]!r} have a weight above 0, so the "
            message += "model predicts this class alone; check sample_weight and class_weight (--class-weight)"
            warn(message, DataWarning)
        return weights

    def _class_weights(self, classes: Array, totals: Vector) -> Vector | None:
        """Return the weight of each class, None if all are 1, for the sums of the weights of the classes' samples."""
        if self.class_weight is None:
            return None
        if self.class_weight == "balanced":
            # As `compute_class_weight` with the weights of samples, which scikit-learn 1.6 does not take, but without
            # the classes whose samples all have weight 0.
            weighted = totals > 0.0
            factors = np.zeros(totals.size)
            with np.errstate(over="ignore"):
                np.divide(totals.sum(), np.count_nonzero(weighted) * totals, out=factors, where=weighted)
        else:
            factors = weights_by_class(self.class_weight, classes.tolist())
        with np.errstate(over="ignore", invalid="ignore"):
            check_sum(self.class_weight, (totals * factors).sum(), "weights of the samples")
        return factors

    def _train(
        self,
        data: ClassifierData,
        callbacks: tuple[Callback, ...],
        dev: DevData | None,
        saving: Saving | None,
        starting: StartingWeights | None = None,
        prior: ClassifierPrior | None = None,
        centres: Centres | None = None,
    ) -> None:
        options = self._solver_options()
        apart = self._trains_apart()
        n_outputs = 1 if apart or self.classes_.size == 2 else self.classes_.size
        columns = data.kept if isinstance(data, ClassifierObjective) else None

        def model(k: int | None, objective: ClassifierData, observers: tuple[Callback, ...], stays: bool) -> Result:
            w0, account = (None, None) if starting is None else starting.of(objective, k)
            centre = None if centres is None else centres.centre(objective, k)
            if stays and centre is not None:
                return replace(centre.unchanged(objective), status=Status.INTERRUPTED)
            if stays:
                penalty = replace(options.penalty(), unpenalised=objective.n_unpenalised)
                return replace(untrained(objective, penalty, w0), start=account)
            result = train(
                objective,
                options,
                unpenalised=objective.n_unpenalised,
                n_classes=n_outputs,
                callbacks=observers,
                dev=dev,
                w0=w0,
                centre=centre,
                saving=saving,
                warns_if_empty=self.cross_validation_ is None,
                named=partial(self._named, n_outputs, columns),
                weights=partial(self._named_weights, n_outputs, columns, k),
            )
            if centre is not None and centres is not None:
                centres.learn(objective, centre, result.w, k)
            return replace(result, start=account)

        if apart:
            models = list(train_apart(data, self.classes_.size, model, callbacks))
        else:
            models = [Trained.of(data, model(None, data, callbacks, False))]
        results = [trained.result for trained in models]
        self.coef_: Vector | scipy.sparse.csr_array = np.ascontiguousarray(np.concatenate([one.coef for one in models]))
        self.intercept_ = np.concatenate([one.intercept for one in models])
        self._evidence: Evidence | None = None
        if prior is not None and centres is not None:
            self._remember(prior, centres)
        self._set_iterations([result.iterations for result in results])
        self._set_results(*results)
        if self.cross_validation_ is not None and not self.coef_.any():
            named = f"{self._search.named} chose l1={self.l1_:g}"
            warn(f"no feature is left: {named}, as none helps to predict held-out samples")
        for result in results:
            check_end(result)

    def _remember(self, prior: ClassifierPrior, centres: Centres) -> None:
        """Add the attributes of the prior that the data lack, and keep what the data say of the weights."""
        coef, information = self.coef_, None
        if centres.learned:
            learned = [centres.learned[k] for k in sorted(centres.learned, key=lambda k: k or 0)]
            information = np.concatenate([rows for rows, _ in learned])
        if self.attributes_ is not None:
            others, weights, sums = prior.others(self.classes_, self.attributes_, one_vs_rest=self._trains_apart())
            self.attributes_ = [*self.attributes_, *others]
            self.n_features_in_ = len(self.attributes_)
            self.coef_ = np.hstack([coef, weights])
            if information is not None:
                information = np.hstack([information, np.zeros_like(weights) if sums is None else sums])
        if information is not None and prior.evidence is not None:
            intercept = np.concatenate([intercepts for _, intercepts in learned])
            names = None if (columns := self._columns_of_data()).names is None else [*columns.names]
            contents = replace(self._contents_of(names, {}), coef=information, intercept=intercept)
            start = ClassifierStart(contents, "the older model", are_numbered=columns.are_numbered)
            self._evidence = Evidence(prior.evidence.n_seen + self._sizes["n_samples"], start)

    def _set_iterations(self, iterations: Sequence[int]) -> None:
        """Keep the iterations of the solver for each model trained."""
        self.n_iter_ = np.array(iterations, dtype=np.int64)
        self.n_iter_.flags.writeable = False

    def _choose_strengths(self, data: ClassifierData, groups: npt.ArrayLike | None) -> None:
        """Choose the strengths of the penalties that are not given."""
        search = self._search
        options = self._options(SolverOptions, **search.fixed)
        seed = options.random_state or 0
        self.cross_validation_: CrossValidation | None = None
        if search.names:
            if not isinstance(data, ClassifierObjective):
                message = (
                    f"{search.named} is not available on a cluster; give a number, such as one chosen on a part of "
                )
                message += "the data"
                raise OptionError(message)
            numbers = None if groups is None else groups_of(groups, data.n_samples)
            option, metric = search.names[0], search.metric or "log_likelihood"
            folds = folds_of_classifier(data, seed, self.classes_, numbers, n_folds=search.folds, option=option)
            problem = ClassifierFolds(data, folds, metric, self._trains_apart())
            options, self.cross_validation_ = cross_validated(problem, search, options, self._threads)
        elif groups is not None:
            message = "groups are for l1='cv' and l2='cv', which divide the samples into folds; leave them out"
            raise OptionError(message)
        penalty = options.penalty()
        self.l1_, self.l2_ = penalty.l1, penalty.l2

    def _named(self, n_outputs: int, columns: npt.NDArray[np.int64] | None, feature: int) -> str:
        """Return what messages call the column of a feature; ``columns`` have features, None for all."""
        column = feature // n_outputs
        if column == (self.n_features_in_ if columns is None else columns.size):
            return "the columns"  # the intercept's is as large as the largest
        column = column if columns is None else int(columns[column])
        if self.attributes_ is not None:
            return f"attribute {self.attributes_[column]!r}"
        names = vars(self).get("feature_names_in_")
        return f"column {column if names is None else repr(names[column])}"

    def _named_weights(self, n_outputs: int, columns: npt.NDArray[np.int64] | None, k: int | None) -> NamedWeights:
        """Return the names of the weights of columns: of a model, or of that of class k against the rest."""
        names = self._column_names()
        every = [str(name) for name in (range(self.n_features_in_) if names is None else names)]
        attributes = every if columns is None else [every[column] for column in columns.tolist()]
        labels, flipped = [str(name) for name in self.classes_.tolist()], -1
        label_of = np.tile(np.arange(n_outputs), len(attributes))
        if k is not None:
            label_of = np.full(len(attributes), k)
        elif n_outputs == 1:
            label_of, flipped = np.ones(len(attributes), dtype=np.int64), 0
        attribute_of = np.repeat(np.arange(len(attributes)), n_outputs)
        return NamedWeights.of(
            attributes, labels, attribute_of, label_of, lines=line_names(self._template), flipped=flipped
        )

    @property
    def results_(self) -> list[Result]:
        """Results of all models trained: one per class with "ovr", otherwise one.

        Raises:
            NotFittedError: the classifier is not fitted, or was loaded from a file.
        """
        check_fitted(self, "_results")
        if not self._results:
            refuse_unfitted(UNTRAINED.format(type(self).__name__))
        return [*self._results]

    def decision_function(self, X: Corpus | Samples) -> Vector:
        """Return the scores x . w, shape (n_samples, n_classes); for two classes of the second, (n_samples,)."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _scores(self, X: Corpus | Samples) -> Vector:
        check_is_fitted(self)
        scores = self._unchecked_scores(X)
        check_scores(scores)
        return scores

    def _unchecked_scores(self, X: Corpus | Samples) -> Vector:
        # A model with names of columns says once, not for each block, that X has none.
        if is_worth_blocks(X) and not hasattr(self, "feature_names_in_"):
            step, scores = max(1, BLOCK // (8 * X.shape[1])), np.empty((len(X), self.coef_.shape[0]))
            try:
                for first in range(0, len(X), step):
                    scores[first : first + step] = self._scores_at_once(X[first : first + step])
            except DataError:  # name its row in X, not in the block
                self._matrix(X)
                raise
            return scores
        return self._scores_at_once(X)

    def _scores_at_once(self, X: Corpus | Samples) -> Vector:
        with np.errstate(over="ignore", invalid="ignore"):  # `check_scores` sees both
            product = self._matrix(X) @ self.coef_.T
            dense = product if isinstance(product, np.ndarray) else product.toarray()
            scores: Vector = np.asarray(dense) + self.intercept_
        return scores

    def predict(self, X: Corpus | Samples) -> Array:
        """Return the most probable class of each sample, shape (n_samples,)."""
        scores = self._scores(X)
        return np.asarray(self.classes_[_best(scores)])

    def score(self, X: Corpus | Samples, y: Classes | None = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the accuracy, of samples with weights if there are any.

        Args:
            X: samples.
            y: the class of each sample; None for a Corpus with labels, which are compared by name, as
                `loglinear evaluate` does. Tokens with an unknown label do not count.
            sample_weight: a weight >= 0 for each sample.

        Raises:
            DataError: invalid data, or no labelled sample has a weight above 0.
        """
        predicted = np.asarray(self.predict(X))
        weights = None if sample_weight is None else weights_of_samples(sample_weight, len(predicted))
        if y is not None or not isinstance(X, Corpus):
            return float(
                np.average(classes_of(y, n_samples=len(predicted), model=self.classes_) == predicted, weights=weights)
            )
        names = [str(label) for label in self.classes_.tolist()]
        gold = [label for labels in X.known_labels(names) for label in labels]
        check_known(X, names, "the data")
        is_labelled = [label is not None for label in gold]
        right = np.array([str(label) == str(guess) for label, guess in zip(gold, predicted.tolist(), strict=True)])
        right, weights = right[is_labelled], None if weights is None else weights[is_labelled]
        if weights is not None:
            check_some_weight(weights.sum(), "labelled sample")
        return float(np.average(right, weights=weights))

    def predict_proba(self, X: Corpus | Samples) -> Vector:
        """Return p(y | x), shape (n_samples, n_classes); with "ovr" the probabilities of the classes, normalised."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Corpus | Samples) -> Vector:
        """Return log p(y | x), in nats, shape (n_samples, n_classes)."""
        return self._log_probabilities(self._scores(X))

    def _log_probabilities(self, scores: Vector) -> Vector:
        if scores.shape[1] == 1:
            return np.asarray(scipy.special.log_expit(np.hstack([-scores, scores])))
        if self.multi_class == "ovr":
            return log_shares(scores)
        return np.asarray(scipy.special.log_softmax(scores, axis=1))

    def calibrate(self: M, X_dev: Corpus | Samples, y_dev: Classes | None = None) -> M:
        """Divide the weights by the temperature at which development data are most likely.

        Probabilities become more even if the model was too sure, and more extreme if it was not sure enough; predicted
        classes stay the same. Nothing changes if the likelihood does not grow by more than chance allows (likelihood
        ratio test, 5 %). Training data must not be used: a model is too sure of them. `temperature_` is the product of
        all temperatures since training. With "ovr" all models have the same temperature.

        Source: Guo, Pleiss, Sun & Weinberger, ICML 2017, section 4.2.

        Args:
            X_dev: samples, as for `fit`.
            y_dev: classes, shape (n_samples,); None with a Corpus.

        Returns:
            The estimator itself.

        Raises:
            DataError: invalid data, or the model has none of the classes.

        Warns:
            DataWarning: the model makes no mistakes in the data, so the temperature has no lower limit.

        Example:
            >>> from loglinear import MaxEnt
            >>> model = MaxEnt(l2=0.01).fit([["a"], ["b"]] * 20, ["A", "B"] * 20)
            >>> y_dev = ["B", "A"] * 5 + ["A", "B"] * 15  # a quarter is not as in the training
            >>> model.calibrate([["a"], ["b"]] * 20, y_dev).predict_proba([["a"]]).round(2).tolist()
            [[0.75, 0.25]]
        """
        if isinstance(X_dev, Corpus):
            y_dev, _ = labels_and_weights(X_dev, y_dev, None)
        scores = self._scores(X_dev)
        labels = classes_of(y_dev, n_samples=len(scores))
        rows, columns = np.nonzero(labels[:, None] == self.classes_[None, :])
        if not rows.size:
            message = "the model has the class of no sample; give development data with the classes of the training"
            raise DataError(message)
        temperature = fitted_temperature(
            lambda factor: -float(self._log_probabilities(factor * scores[rows])[np.arange(rows.size), columns].sum())
        )
        if temperature != 1.0:
            self.coef_, self.intercept_ = self.coef_ / temperature, self.intercept_ / temperature
            self._temperature = self.temperature_ * temperature
        return self

    @property
    def temperature_(self) -> float:
        """What the weights have been divided by since training; 1 without `calibrate`."""
        check_is_fitted(self)
        return float(vars(self).get("_temperature", 1.0))

    def report(
        self,
        X: Corpus | Samples,
        y: Classes | None = None,
        *,
        words: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        title: str = "Report of a classifier",
    ) -> Report:
        """Return a report about the model on labelled data; notebooks display it, `save` writes a single HTML file.

        Args:
            X: as for `fit`.
            y: classes, shape (n_samples,); None with a Corpus.
            words: what to show for each sample, such as its text; by default its attributes or its number.
            names: names of the columns of a matrix, such as ``vectorizer.get_feature_names_out()``; by default the
                names that `fit` has seen, or numbers.
            title: title of the page.

        Returns:
            The tables as attributes: scores with confidence intervals, confusions, mistakes, features, calibration.
            HTML needs Jinja2: ``pip install 'loglinear[report]'``.

        Raises:
            DataError: invalid data.
            OptionError: there are not as many names as columns, or the columns are attributes or words.

        Example:
            >>> from loglinear import MaxEnt
            >>> X, y = [["good", "fine"], ["bad"], ["good"]], ["+", "-", "+"]
            >>> report = MaxEnt(l2=0.1).fit(X, y).report(X, y)
            >>> report.scores.accuracy, report.mistakes
            (1.0, [])
        """
        from ..data.tokens import sample_texts
        from .explain.answers import Answers
        from .explain.explanation import part_of
        from .explain.reports import make_report

        corpus = attribute_corpus(X)
        if corpus is not None and corpus is X:
            y, _ = labels_and_weights(corpus, y, None)
        check_is_fitted(self)
        column_names = self._column_names_or(names)
        guess = self.predict(X)
        sure = None if self._trains_apart() else self.predict_proba(X).max(axis=1).tolist()
        shown = sample_texts(X, corpus, len(guess)) if words is None else words
        answers = Answers.of_samples(classes_of(y, n_samples=len(guess)).tolist(), guess.tolist(), sure, shown)
        contents = self._contents(self.attributes_)
        if column_names is not None:
            contents = replace(contents, column_names=[*column_names])
        model = maxent_file.model_of(contents)

        def explain(samples: Sequence[int], _: Sequence[Collection[int]]) -> list[Explanation]:
            explanation = self._explained(X, shown, names, samples)
            return [part_of(explanation, [at]) for at in range(len(samples))]

        return make_report(
            model,
            answers._replace(corpus=corpus),
            title=title,
            items=self._items,
            command=f"{self!r}.fit(X_train, y_train)",
            trace=self._trace,
            explain=explain,
        )

    def _summary(self) -> dict[str, str]:
        from .explain.reports import labels_text, settings_rows, training_rows

        if "coef_" not in vars(self):
            return {}
        rows = {
            "model": "classifier",
            "columns": self.coef_.shape[1],
            "features with a weight": int((self.coef_ != 0).sum()),
            "l1": self.l1_,
            "l2": self._solver_options().penalty().l2,
            **training_rows(training_summary(self._results) if self._results else {}),
        }
        return {"classes": labels_text(self.classes_, 20), **settings_rows(rows)}

    def explain(
        self, X: Corpus | Samples, *, words: Sequence[str] | None = None, names: Sequence[str] | None = None
    ) -> Explanation:
        """Say why each sample has its class and not the second best one: what each feature adds to the difference.

        With "ovr" the scores are from two models, each of its class against the rest.

        Args:
            X: as for `predict`.
            words: what to call each sample, such as its text; by default its attributes or its number.
            names: names of the columns of a matrix, such as ``vectorizer.get_feature_names_out()``; by default the
                names that `fit` has seen, or numbers.

        Returns:
            A sequence with an entry for each sample; its contributions, the intercept's among them, add up to the
            difference of the two scores. It prints as text; notebooks show bars.

        Raises:
            DataError: invalid data.
            OptionError: there are not as many names as columns, or the columns are attributes or words.

        Example:
            >>> from loglinear import MaxEnt
            >>> X, y = [["good", "fine"], ["bad"], ["good"]], ["+", "-", "+"]
            >>> print(MaxEnt(l2=0.1).fit(X, y).explain([["good", "film"]]))
              1  good film  + 0.885, not - 0.115: +2.045
                   +1.785  good
                   +0.259  (intercept)
        """
        return self._explained(X, words, names)

    def _explained(
        self, X: Corpus | Samples, words: Sequence[str] | None, names: Sequence[str] | None, chosen: Any = slice(None)
    ) -> Explanation:
        """Explain all samples, or a choice of them; see `explain`."""
        from ..data.tokens import sample_texts
        from .explain.explained import explain_samples

        check_is_fitted(self)
        named = self._column_names_or(names)
        corpus = attribute_corpus(X)
        scores, matrix = self._scores(X), self._matrix(X)[chosen]
        probabilities = np.exp(self._log_probabilities(scores))
        with np.errstate(over="ignore"):
            sizes = abs(matrix) @ abs(self.coef_).T
        check_scores(sizes if isinstance(sizes, np.ndarray) else sizes.toarray())
        texts = np.array(sample_texts(X, corpus, len(probabilities)) if words is None else words, dtype=object)
        return explain_samples(
            matrix,
            scores[chosen],
            self.coef_,
            self.intercept_,
            probabilities[chosen],
            classes=[str(label) for label in self.classes_.tolist()],
            texts=texts[chosen].tolist(),
            name=(lambda column: f"column {column}") if named is None else named.__getitem__,
            items=self._items,
        )

    def _column_names_or(self, names: Sequence[str] | None) -> Sequence[str] | None:
        """Return the names of the columns, or other names of the columns of a matrix or table.

        Raises:
            OptionError: there are not as many names as columns, or the columns are attributes or words.
        """
        if names is None:
            return self._column_names()
        if self._column_names() is not None and "feature_names_in_" not in vars(self):
            message = "names are for matrices: the columns of this classifier have names; leave names out"
            raise OptionError(message)
        if isinstance(names, str) or len(names) != self.n_features_in_:
            n_names = 1 if isinstance(names, str) else len(names)
            message = f"names has {n_names:,} names for {self.n_features_in_:,} columns; give a name for each column"
            raise OptionError(message)
        return [str(name) for name in names]

    def sparsify(self) -> MaxEnt:
        """Turn ``coef_`` into a sparse matrix, which pays if an L1 penalty has left few weights; return self."""
        check_is_fitted(self)
        self.coef_ = scipy.sparse.csr_array(self.coef_)
        return self

    def densify(self) -> MaxEnt:
        """Turn ``coef_`` into an array again; return self."""
        check_is_fitted(self)
        if not isinstance(self.coef_, np.ndarray):
            self.coef_ = self.coef_.toarray()
        return self

    def save(self, path: str | os.PathLike[str], **notes: object) -> None:
        """Write the model to a file, which is replaced whole or not at all; weights of 0 are left out.

        Args:
            path: name of the file.
            notes: further settings for the file, JSON values.

        Raises:
            DataError: the classes are neither numbers nor strings, two columns have the same name, or a name or class
                is not valid Unicode.
            OSError: the file cannot be written.
        """
        check_is_fitted(self)
        maxent_file.model_of(self._contents(self.attributes_, **notes)).save(os.fspath(path))

    def _contents(self, attributes: list[str] | None, **notes: object) -> maxent_file.Contents:
        """Return the content of the model's file, with the names of the columns, and with notes among its settings."""
        return self._contents_of(attributes, self._settings() | notes)

    def _contents_of(self, attributes: list[str] | None, settings: dict[str, Any]) -> maxent_file.Contents:
        """Return the content of the model's file with these settings."""
        coef = self.coef_ if isinstance(self.coef_, np.ndarray) else self.coef_.toarray()
        names = vars(self).get("feature_names_in_")
        column_names = None if names is None else [str(name) for name in names]
        return maxent_file.Contents(
            settings, self._template, self.classes_, attributes, coef, self.intercept_, column_names
        )

    def _settings(self) -> dict[str, Any]:
        temperature = {"temperature": self.temperature_} if self.temperature_ != 1.0 else {}
        if not self._results:  # loaded from a file
            # Predictions depend on how classes are put together.
            return self._stored | {"multi_class": self.multi_class} | temperature
        return {
            **temperature,
            **vars(self._options(ClassifierParameters)),
            "format": self._format,
            **self._layout.settings(),
            **class_weight_settings(self.class_weight),
            **self._solver_options().settings(),
            "training": {**self._sizes, "date": self._date, **training_summary(self._results, self.cross_validation_)},
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MaxEnt:
        """Open a model file, of this class or of the command line; columns whose weights are all 0 have no names.

        Raises:
            ModelFileError: the file is damaged or of another kind.
            OSError: the file cannot be read.
        """
        return cls._of(maxent_file.read(os.fspath(path)), os.fspath(path))

    @classmethod
    def _of(cls: type[M], contents: maxent_file.Contents, path: str) -> M:
        settings = contents.settings
        classifier = cls._of_settings(settings | class_weight_of(settings), path)
        penalty = classifier._options(SolverOptions).penalty()
        classifier.l1_, classifier.l2_, classifier.cross_validation_ = penalty.l1, penalty.l2, None
        classifier._hold(contents)
        return classifier

    def _hold(self, contents: maxent_file.Contents) -> None:
        self.classes_, self.attributes_ = contents.classes, contents.attributes
        self.coef_, self.intercept_ = contents.coef, contents.intercept
        self.n_features_in_ = contents.coef.shape[1]
        if contents.column_names is not None:
            self.feature_names_in_ = np.array(contents.column_names, dtype=object)
        self._template, self._format = contents.template, contents.settings.get("format", "python")
        self._layout = ColumnLayout.of_settings(contents.settings)
        self._stored = contents.settings
        self._temperature = float(contents.settings.get("temperature", 1.0))
        training = contents.settings.get("training") or {}
        if "iterations_by_class" in training:
            self._set_iterations(training["iterations_by_class"])
        elif "iterations" in training and not self._trains_apart():
            self._set_iterations([training["iterations"]])

    def __sklearn_tags__(self) -> Any:
        """Sparse data are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def opened_start(start: MaxEnt | str | os.PathLike[str], argument: str = "start") -> ClassifierStart:
    """Return the classifier that training starts from, or stays near."""
    if not isinstance(start, MaxEnt):
        return ClassifierStart.open(start, argument)
    check_fitted(start, "coef_")
    columns = start._columns_of_data()
    names = None if columns.names is None else [*columns.names]
    contents = start._contents(names)
    return ClassifierStart(contents, "the older model", are_numbered=columns.are_numbered, argument=argument)


def _best(scores: Vector) -> npt.NDArray[np.intp]:
    """Return the number of the best class of each row of scores; a single score counts for the second class."""
    best = scores.ravel() > 0.0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.asarray(best, dtype=np.intp)


def _warn_of_zero(class_weight: object, classes: Array, counts: Array) -> None:
    """Warn of classes with a class weight of 0, given the numbers of their samples, which are 0 for other classes."""
    if class_weight != "balanced" and counts.any():
        name, n = str(classes.tolist()[np.argmax(counts > 0)]), int(counts.sum())
        samples = "1 sample is" if n == 1 else f"{n:,} samples are"
        warn(f"class {name} has a weight of 0 in class_weight (--class-weight): {samples} ignored", DataWarning)


def _warn_if_constant(matrix: Vector | scipy.sparse.csr_array) -> None:
    """Warn if no column of a matrix varies."""
    first, last = (matrix[0], matrix[-1]) if isinstance(matrix, np.ndarray) else (matrix[:1], matrix[-1:])
    if (first != last).sum():
        return
    for rows in (matrix[:_FIRST], matrix):  # the first rows suffice as a rule
        lowest, highest = (
            np.asarray(ends.toarray() if scipy.sparse.issparse(ends) else ends).ravel()
            for ends in (rows.min(axis=0), rows.max(axis=0))
        )
        if (lowest != highest).any():
            return
    what = "no column of X varies" if highest.any() else "every value of X is 0"
    warn(f"{what}, so every sample gets the same probabilities; check X", DataWarning)
