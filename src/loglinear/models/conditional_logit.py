"""Conditional logit: choices among alternatives that differ from choice to choice."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..data.bad_values import check_scores
from ..data.choices import Choices, groups_of_alternatives
from ..data.corpus import Corpus
from ..data.frames import as_frame
from ..data.inputs import Samples
from ..data.matrix import FLOATS
from ..data.samples import attribute_corpus, warn_of_numbers
from ..errors import DataError, DataWarning, ModelFileError, warn
from ..minimize import Callback
from ..objectives.choice import ChoiceObjective, linear_part
from ..objectives.classifier import ClassifierObjective
from ..vectors import Vector, read_only
from ..visible import listed
from .choice_inference import ChoiceInference
from .estimator import Estimator, check_end, check_fitted
from .files import maxent as maxent_file
from .files.origin import training_date
from .files.settings import training_summary
from .sample_columns import SampleColumns
from .scikit_learn import BaseEstimator
from .training.options import SolverOptions, SolverParameters
from .training.run import train

__all__ = ["ConditionalLogit"]

# Columns that a warning names.
_NAMED = 5
# The marks of alternatives, the classes in a model's file.
_MARKS = np.array([0, 1])


class ConditionalLogit(ChoiceInference, SampleColumns, Estimator, SolverParameters, BaseEstimator):
    """Conditional logit: which alternatives of a group are chosen, or how they are ranked.

    A group is a choice, such as a purchase, and its rows are the alternatives, which may differ in number. Where one
    was chosen, p(i | group) = exp(w . x_i) / sum over the group of exp(w . x_j). Where k were chosen, the likelihood is
    that of this set among all sets of k alternatives, as in matched case-control studies. Ranks have the likelihood of
    the rank-ordered (exploded) logit: the best is chosen, then the best of the others, and so on.

    Minimises the sum over groups of -weight log p(chosen | group), plus l1 |w|_1 + (l2 / 2) |w|^2, in nats. l2=0 is
    plain maximum likelihood. There is no intercept, nor any other column that is the same for all alternatives of a
    group: such a column has no effect, except multiplied by one that tells alternatives apart.

    Source: McFadden (1974); Howard (1972) and Gail, Lubin & Rubinstein (1981), several chosen; Beggs, Cardell &
    Hausman (1981), ranks.
    Cost: the solver's; an evaluation makes two passes over the data, on all threads, and takes O(m k) for k of m
    alternatives chosen. A ranking of r of m alternatives costs as much as r choices. The weights are the same for any
    number of threads.

    Attributes:
        coef_: weight of each column, shape (n_columns,); read-only.
        n_features_in_: number of columns.
        feature_names_in_: names of the columns of a table.
        attributes_: names of the columns; None for a matrix or table.
        n_iter_: iterations of the solver.
        result_: status, trace and optimality violation of the training; NotFittedError for a loaded model.

    Example:
        >>> from loglinear import ConditionalLogit
        >>> X = [{"price": 3}, {"price": 2, "organic": 1}, {"price": 1}, {"price": 2}, {"price": 2.5, "organic": 1}]
        >>> y, groups = [0, 1, 1, 0, 0], ["ann", "ann", "bob", "bob", "bob"]
        >>> model = ConditionalLogit(l2=0.1).fit(X, y, groups)
        >>> model.predict_proba(X, groups).round(2).tolist()
        [0.07, 0.93, 0.87, 0.09, 0.04]
        >>> model.predict(X, groups).tolist()
        [0, 1, 1, 0, 0]
    """

    _called: ClassVar[str] = "model"

    def fit(
        self,
        X: Corpus | Samples,
        y: npt.ArrayLike,
        groups: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
    ) -> ConditionalLogit:
        """Train on alternatives and the choices among them.

        Args:
            X: alternatives: numbers, shape (n_alternatives, n_columns), a sparse matrix or array, or a table of pandas,
                polars, pyarrow or any other library with Arrow's PyCapsule interface; or alternatives with attributes,
                each a dict or a sequence of names.
            y: 1 for alternatives that were chosen and 0 for others, shape (n_alternatives,). Or ranks: 1 is the best, 2
                the second best and so on, without ties or gaps; 0 for alternatives without a rank, which are worse than
                all that have one.
            groups: group of each alternative: numbers, strings or dates, in any order, shape (n_alternatives,).
            sample_weight: weight of each alternative's group, >= 0, the same in each group, shape (n_alternatives,).
            callbacks: called as callback(record, state) after each step; return True to stop.

        Warns:
            DataWarning: groups of which no or all alternatives are chosen are left out; a column is the same for all
                alternatives of each group; without a penalty, weights grow without limit.

        Raises:
            OptionError: an option is out of range.
            DataError: invalid data, ranks with ties or gaps, or no group with a choice.
            KeyboardInterrupt: Ctrl-C; once training has begun, the estimator holds the weights reached.

        Example:
            >>> from loglinear import ConditionalLogit
            >>> X, ranks, groups = [[1.0], [2.0], [4.0], [3.0], [1.0]], [2, 1, 1, 3, 2], [0, 0, 1, 1, 1]
            >>> ConditionalLogit().fit(X, ranks, groups).coef_.round(3).tolist()
            [0.227]
        """
        self._solver_options().check()
        corpus = attribute_corpus(X)
        self.attributes_: list[str] | None = None
        if corpus is None:
            frame = as_frame(X)
            matrix = linear_part(
                self._numbers(X if frame is None else frame, FLOATS, reset=True), threads=self._threads
            )
            if frame is not None and frame.names is not None:
                self.feature_names_in_ = np.array(frame.names, dtype=object)
        else:
            warn_of_numbers(X)
            vars(self).pop("feature_names_in_", None)
            zeros = np.zeros(corpus.n_tokens, dtype=np.int64)
            matrix, self.attributes_ = ClassifierObjective.of_corpus(
                corpus, zeros, n_classes=2, intercept=False, threads=self._threads
            )
            self.n_features_in_ = len(self.attributes_)
        choices = Choices.of(y, groups, sample_weight, matrix.n_samples)
        columns, matrix = self._varying(matrix, choices)
        objective = ChoiceObjective.of(matrix, choices)
        result = train(
            objective,
            self._solver_options(),
            callbacks=self._observers(callbacks, partial(self._at, columns)),
            named=lambda feature: self._column(int(columns[feature])),
        )
        self._coef, self.n_iter_ = self._spread(columns, result.w), result.iterations
        self._training = {
            "n_samples": choices.n_groups,
            "n_features": self.n_features_in_,
            "date": training_date(),
            **training_summary([result]),
        }
        self._set_results(result)
        check_end(result)
        return self

    def _at(self, columns: npt.NDArray[np.int64], w: Vector) -> dict[str, Any]:
        """Return the attributes of the model with the weights of a step."""
        return vars(self) | {"_coef": self._spread(columns, w), "_results": ()}

    def _spread(self, columns: npt.NDArray[np.int64], w: Vector) -> Vector:
        """Return the weights of all columns, from the weights of some."""
        coef = np.zeros(self.n_features_in_)
        coef[columns] = w
        return coef

    def _solver_options(self) -> SolverOptions:
        """Return how to train."""
        return self._options(SolverOptions)

    @property
    def coef_(self) -> Vector:
        """Weight of each column, shape (n_columns,); read-only."""
        check_fitted(self, "_coef")
        return read_only(self._coef)

    def _column(self, column: int) -> str:
        """Return what messages call a column."""
        names = self._column_names()
        kind = "column" if self.attributes_ is None else "attribute"
        return f"{kind} {column if names is None else repr(names[column])}"

    def column_name(self, column: int) -> str:
        """Return the name of a column, or "column 3" of a matrix without names."""
        names = self._column_names()
        return f"column {column}" if names is None else str(names[column])

    def _varying(
        self, matrix: ClassifierObjective, choices: Choices
    ) -> tuple[npt.NDArray[np.int64], ClassifierObjective]:
        """Return the numbers of the columns that vary within a group, and their matrix; warn of other columns.

        Raises:
            DataError: no column varies.
        """
        columns = np.arange(matrix.n_columns) if matrix.kept is None else matrix.kept
        curvatures = ChoiceObjective.of(matrix, choices).hessian_diagonal(np.zeros(columns.size))
        constant = columns[curvatures == 0.0]
        if not constant.size:
            return columns, matrix
        names, n = listed([self._column(column) for column in constant.tolist()], _NAMED), constant.size
        what = f"{names} {'has' if n == 1 else 'have'} the same value for all alternatives of each group"
        remedy = "multiply columns by a column that tells alternatives apart"
        if n == columns.size:
            message = f"{what}, so there is nothing to learn; {remedy}"
            raise DataError(message)
        warn(f"{what}, so the weight stays 0; leave out the column, or {remedy}", DataWarning)
        varying = np.flatnonzero(curvatures > 0.0)
        return columns[varying], matrix.restrict(varying)

    def decision_function(self, X: Corpus | Samples) -> Vector:
        """Return the score x . w of each alternative, shape (n_alternatives,); the higher, the better in its group."""
        check_fitted(self, "_coef")
        with np.errstate(over="ignore", invalid="ignore"):  # `check_scores` sees both
            scores: Vector = np.asarray(self._matrix(X) @ self._coef)
        check_scores(scores[:, None])
        return scores

    def predict_proba(self, X: Corpus | Samples, groups: npt.ArrayLike) -> Vector:
        """Return the probability of each alternative to be the one chosen from its group, shape (n_alternatives,).

        Args:
            X: alternatives, as for `fit`.
            groups: group of each alternative, shape (n_alternatives,).
        """
        scores = self.decision_function(X)
        group = groups_of_alternatives(groups, len(scores))
        if not scores.size:
            return scores
        most = np.full(int(group.max()) + 1, -np.inf)
        np.maximum.at(most, group, scores)
        shares = np.exp(scores - most[group])
        totals = np.bincount(group, shares)
        return np.asarray(shares / totals[group])

    def predict(self, X: Corpus | Samples, groups: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return 1 for the most probable alternative of each group and 0 for others, shape (n_alternatives,).

        Of alternatives with the same score, the first one counts.

        Args:
            X: alternatives, as for `fit`.
            groups: group of each alternative, shape (n_alternatives,).
        """
        scores = self.decision_function(X)
        group = groups_of_alternatives(groups, len(scores))
        order = np.lexsort((-scores, group))
        is_first = np.ones(order.size, dtype=bool)
        is_first[1:] = group[order[1:]] != group[order[:-1]]
        marks = np.zeros(order.size, dtype=np.int64)
        marks[order[is_first]] = 1
        return marks

    def score(
        self,
        X: Corpus | Samples,
        y: npt.ArrayLike,
        groups: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """Return the share of the groups whose most probable alternative was chosen, or has rank 1.

        Args:
            X: alternatives, as for `fit`.
            y: marks or ranks, as for `fit`. Groups of which no or all alternatives are chosen do not count.
            groups: group of each alternative, shape (n_alternatives,).
            sample_weight: weight of each alternative's group, shape (n_alternatives,).

        Raises:
            DataError: invalid data, or no group with a choice.
        """
        predicted = self.predict(X, groups).astype(bool)
        choices = Choices.of(y, groups, sample_weight, predicted.size)
        group = groups_of_alternatives(groups, predicted.size)
        starts = np.concatenate([[0], choices.ends[:-1].astype(np.int64)])
        # Of a ranking only the first choice counts.
        owners = group[choices.rows[starts]]
        first = np.unique(owners, return_index=True)[1]
        n_chosen = choices.n_chosen[first].astype(np.int64)
        places = np.arange(n_chosen.sum()) + np.repeat(starts[first] - (np.cumsum(n_chosen) - n_chosen), n_chosen)
        is_chosen = np.zeros(predicted.size, dtype=bool)
        is_chosen[choices.rows[places]] = True
        guesses = np.empty(int(group.max()) + 1, dtype=np.int64)
        guesses[group[predicted]] = np.flatnonzero(predicted)
        right = is_chosen[guesses[owners[first]]]
        weights = None if choices.weights is None else choices.weights[first]
        return float(np.average(right, weights=weights))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which is replaced whole or not at all; weights of 0 are left out.

        Raises:
            DataError: two columns have the same name, or a name is not valid Unicode.
            OSError: the file cannot be written.
        """
        check_fitted(self, "_coef")
        settings = {
            "format": "python",
            **self._solver_options().settings(),
            "training": self._training,
        }
        names = vars(self).get("feature_names_in_")
        contents = maxent_file.Contents(
            settings,
            None,
            _MARKS,
            self.attributes_,
            self._coef[None, :],
            np.zeros(1),
            None if names is None else [str(name) for name in names],
        )
        maxent_file.model_of(contents, "choice").save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ConditionalLogit:
        """Open a model file of this class; columns whose weights are 0 have no names.

        Raises:
            ModelFileError: the file is damaged or of another kind.
            OSError: the file cannot be read.
        """
        name = os.fspath(path)
        contents = maxent_file.read(name, "choice")
        if contents.classes.tolist() != _MARKS.tolist() or contents.intercept.any():
            message = f"{name}: the file does not hold one weight for each column; train the model again"
            raise ModelFileError(message)
        model = cls._of_settings(contents.settings, name)
        model._coef, model.attributes_ = contents.coef[0], contents.attributes
        model.n_features_in_ = contents.coef.shape[1]
        if contents.column_names is not None:
            model.feature_names_in_ = np.array(contents.column_names, dtype=object)
        model._training = contents.settings.get("training") or {}
        model.n_iter_ = model._training.get("iterations", 0)
        return model

    def _summary(self) -> dict[str, str]:
        from .explain.reports import settings_rows, training_rows

        if "_coef" not in vars(self):
            return {}
        return settings_rows(
            {
                "model": "conditional logit",
                "columns": self.n_features_in_,
                "columns with a weight": int(np.count_nonzero(self._coef)),
                "l1": self.l1,
                "l2": self._solver_options().penalty().l2,
                **training_rows(self._training),
            }
        )

    def __sklearn_tags__(self) -> Any:
        """Sparse data are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
