"""Log-linear models of contingency tables."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..data.writing import write_output
from ..display.fragment import in_notebook
from ..display.table import LISTED, data_frame, listing, more, screen
from ..errors import DataWarning, OptionError, warn
from ..options import fail, one_of, optional, real_number, strength, truth_value
from ..report.figure import check_figure
from ..report.mosaic import MOST_VARIABLES, drawn
from ..result import Result
from ..solvers import solver_class
from ..tables.contingency import ContingencyTable
from ..tables.design import CODINGS
from ..tables.fitting import MOST_PARAMETERS
from ..tables.formula import Term, closed, terms_of
from ..vectors import Vector
from ..visible import counted, listed, visible_name
from .estimator import check_end, refuse_unfitted
from .training.structure import check_marks
from .training.table_fit import METHODS, Choice, TableFit, chosen, fit_table, penalised

if TYPE_CHECKING:
    import pandas

__all__ = ["LogLinear"]

# Cells, margins and parameters that a message or a screen shows.
_SHOWN, _ON_SCREEN = 4, 15


class LogLinear:
    """A hierarchical log-linear model of a contingency table: which variables interact, of any order.

    The logarithm of an expected count is the sum of the parameters of the terms of the cell. The counts are Poisson or,
    with the same fit, multinomial. A formula has names of variables, quoted if they have blanks, and these signs:
    ``A:B`` is an interaction, ``A*B`` is ``A + B + A:B``, ``(A + B + C)^2`` has all interactions of two, ``.`` is all
    variables, and ``-`` removes a term. A model that has an interaction has all terms within it. The table is summed
    over variables that are not in the formula.

    Source: Bishop, Fienberg & Holland (1975); for zeros Fienberg & Rinaldo (2012).

    Cost: Newton's method takes a few sums over the cells for each pair of terms and iteration, proportional fitting one
    for each generator. No design matrix is stored.

    Args:
        formula: the model, such as ``"A*B + C"``, or its generators, such as ``[("A", "B"), ("C",)]``.
        method: ``newton``, ``ipf`` (iterative proportional fitting), the name of a batch solver such as ``lbfgs``, or
            ``auto``: Newton's method for up to 500 parameters, else ``ipf``; with ``l1``, a solver for penalties.
        l1: strength of an L1 penalty on interactions, >= 0; main effects bear none. Interactions that it leaves need
            not be hierarchical; ``formula_`` is the smallest hierarchical model with them.
        grouped: whether the penalty makes whole interactions 0 (a group lasso, in orthogonal contrasts), or single
            parameters in the coding of effects.
        tolerance: largest difference of a margin from its fitted value, relative to the number of samples, > 0.
        missing: values of rows that mean missing, such as ``['?', -999]``, in addition to None and NaN.

    Raises:
        OptionError: an option is out of range.

    Example:
        >>> from loglinear import LogLinear
        >>> counts = {("yes", "yes"): 911, ("yes", "no"): 538, ("no", "yes"): 44, ("no", "no"): 456}
        >>> model = LogLinear("smoker + marijuana").fit(counts, names=["smoker", "marijuana"])
        >>> round(model.deviance_, 2), model.df_
        (491.59, 1)
    """

    def __init__(
        self,
        formula: str | Iterable[str | Iterable[str]],
        *,
        method: str = "auto",
        l1: float = 0.0,
        grouped: bool = True,
        tolerance: float = 1e-10,
        missing: Sequence[str | float] | None = None,
    ) -> None:
        if not isinstance(method, str):
            fail("method", method, f"is not one of {', '.join(METHODS)}, or the name of a solver")
        if method not in METHODS:
            solver_class(method)
        self.l1 = strength("l1", l1)
        if self.l1 and method in ("newton", "ipf"):
            message = f"method={method!r} has no penalty; leave out l1={l1:g}, or use method='auto'"
            raise OptionError(message)
        truth_value("grouped", grouped)
        self.tolerance = real_number("tolerance", tolerance, "a number between 0 and 1", lambda x: 0.0 < x < 1.0)
        if not isinstance(formula, str):
            if not isinstance(formula, Iterable):
                fail("formula", formula, "is neither a formula, such as 'A*B + C', nor a list of generators")
            formula = [name if isinstance(name, str) else tuple(name) for name in formula]
        optional(check_marks)("missing", missing)
        self.formula, self.method, self.grouped, self.missing = formula, method, grouped, missing
        self._fit: TableFit | None = None
        self.choices_: list[Choice] = []

    def fit(
        self,
        table: Any,
        *,
        counts: str | None = None,
        names: Sequence[str] | None = None,
        structural_zeros: npt.ArrayLike | None = None,
    ) -> LogLinear:
        """Fit the model by maximum likelihood, or with the penalty.

        Args:
            table: counts: an array with an axis for each variable, a pandas Series with a MultiIndex, a pandas crosstab
                (a DataFrame whose columns have a name), or a dict such as ``{("yes", "no"): 12}``. Or rows: any other
                DataFrame, a dict of columns, a list of dicts. A count of NaN is a structural zero.
            counts: for rows, name of the column with the number of samples that a row stands for.
            names: names of the variables; by default the table's own, or x1, x2, ....
            structural_zeros: truth values in the shape of the table, True for cells that cannot have samples.

        Returns:
            The model itself.

        Raises:
            DataError: the data are not a table, or a count is negative or infinite.
            OptionError: the formula or another option does not fit the table.

        Warns:
            DataWarning: the maximum likelihood estimate does not exist, so that parameters are infinite; rows with
                missing values are ignored; counts are not whole; or levels look like a mistake.
            ConvergenceWarning: the fit did not converge.
        """
        data, terms = self._read(table, counts, names, structural_zeros)
        if self.l1:
            solver = self.method if self.method != "auto" else "prox_gradient" if self.grouped else "auto"
            fitted = penalised(data, terms, self.l1, solver, self.tolerance, grouped=self.grouped)
        else:
            fitted = fit_table(data, terms, self.method, self.tolerance)
        self._keep(fitted, [])
        return self

    def choose(
        self,
        table: Any,
        *,
        criterion: str = "bic",
        search: str = "both",
        counts: str | None = None,
        names: Sequence[str] | None = None,
        structural_zeros: npt.ArrayLike | None = None,
    ) -> LogLinear:
        """Choose interactions of the formula by AIC or BIC, and fit the model chosen; main effects stay.

        Steps remove or add one interaction at a time and keep the model hierarchical: only an interaction that no other
        one contains is removed, and only one whose parts are all in the model is added. The search ``l1`` fits, without
        penalty, the smallest hierarchical models with the interactions that a group penalty leaves at 20 strengths.

        Args:
            table: see `fit`.
            criterion: ``aic`` or ``bic``, with the number of samples as the sample size.
            search: ``both`` and ``backward`` start at the formula, ``forward`` at the main effects; or ``l1``.
            counts: see `fit`.
            names: see `fit`.
            structural_zeros: see `fit`.

        Returns:
            The model itself; ``formula_`` is the chosen one, ``choices_`` has the models on the way.

        Raises:
            DataError: see `fit`.
            OptionError: see `fit`; or the model has an ``l1``.

        Example:
            >>> import numpy as np
            >>> from loglinear import LogLinear
            >>> counts = np.array([[[911, 538], [44, 456]], [[3, 43], [2, 279]]])
            >>> LogLinear("A*C*M").choose(counts, names=["A", "C", "M"]).formula_
            'A*C + A*M + C*M'
        """
        if self.l1:
            message = f"choose compares models without a penalty; leave out l1={self.l1:g}, or use search='l1'"
            raise OptionError(message)
        data, terms = self._read(table, counts, names, structural_zeros)
        fitted, choices = chosen(
            data, terms, criterion, search, lambda model: fit_table(data, model, self.method, self.tolerance)
        )
        self._keep(fitted, choices)
        return self

    def _read(
        self, table: Any, counts: str | None, names: Sequence[str] | None, zeros: npt.ArrayLike | None
    ) -> tuple[ContingencyTable, list[Term]]:
        """Return the table of the variables in the formula, and the terms of the model."""
        terms: list[Term] = []

        def axes_of(all_names: list[str]) -> list[int]:
            parsed = terms_of(self.formula, all_names)
            axes = sorted(frozenset().union(*parsed)) or [*range(len(all_names))]
            place = {axis: at for at, axis in enumerate(axes)}
            terms.extend(closed(frozenset(place[axis] for axis in term) for term in parsed))
            return axes

        options: dict[str, Any] = {"structural_zeros": zeros, "missing": self.missing, "axes_of": axes_of}
        data = ContingencyTable.of(table, counts=counts, names=names, **options)
        constant = [data.names[axis] for axis, levels in enumerate(data.levels) if len(levels) < 2]
        if constant:
            message = f"the table has a single level of {listed(constant, _SHOWN)}, so its terms have no parameters"
            warn(message, DataWarning)
        return data, terms

    def _keep(self, fitted: TableFit, choices: list[Choice]) -> None:
        self._fit, self.choices_ = fitted, choices
        if fitted.result is not None:
            check_end(fitted.result)
        if self.l1:
            return
        table, support = fitted.table, fitted.support
        if not support.is_checked:
            message = (
                f"the table has {counted(int((table.counts == 0).sum()), 'empty cell')}, too many to find out which "
            )
            message += "parameters are infinite, so large standard errors may mean that; merge levels, or leave out "
            warn(message + "interactions", DataWarning)
        void = int((table.possible & ~support.cells).sum())
        if support.rank is None:
            message = f"the model has more than {MOST_PARAMETERS:,} parameters and cells without fitted counts, so its "
            warn(message + "degrees of freedom are unknown; merge levels, or leave out interactions", DataWarning)
        if not void:
            return
        margins = self.empty_margins_
        if margins:
            reason = f"no samples in the {'margin' if len(margins) == 1 else 'margins'} {'; '.join(margins[:_SHOWN])}"
            reason += f" and {len(margins) - _SHOWN:,} more" if len(margins) > _SHOWN else ""
        else:
            cells = np.flatnonzero(table.possible & ~support.cells)[:_SHOWN]
            reason = f"the pattern of empty cells allows none ({'; '.join(table.called(int(cell)) for cell in cells)})"
        message = (
            f"the maximum likelihood estimate does not exist: {reason}; the expected count of {counted(void, 'cell')} "
            "is 0 and some parameters are infinite; merge levels, leave out an interaction, or mark structural zeros"
        )
        warn(message, DataWarning)

    def _fitted(self) -> TableFit:
        if self._fit is None:
            refuse_unfitted("this LogLinear is not fitted; call fit or choose")
        return self._fit

    @property
    def formula_(self) -> str:
        """The model by its generators; with ``l1``, the smallest hierarchical one with the interactions left."""
        return self._fitted().formula

    @property
    def interactions_(self) -> list[str]:
        """The interactions of the model; with ``l1``, those that are not 0."""
        fitted = self._fitted()
        terms = fitted.terms if fitted.active is None else fitted.active
        return [":".join(fitted.table.names[axis] for axis in sorted(term)) for term in terms if len(term) > 1]

    @property
    def names_(self) -> list[str]:
        """Names of the variables in the model."""
        return list(self._fitted().table.names)

    @property
    def levels_(self) -> list[list[Any]]:
        """Levels of each variable."""
        return self._fitted().table.levels

    @property
    def counts_(self) -> Vector:
        """Observed counts, an axis for each variable."""
        return self._fitted().table.counts

    @property
    def expected_(self) -> Vector:
        """Fitted counts, in the shape of ``counts_``; 0 in structural zeros."""
        return self._fitted().expected

    @property
    def deviance_(self) -> float:
        """Deviance G2, twice the log-likelihood ratio to the saturated model."""
        return self._fitted().deviance

    @property
    def pearson_(self) -> float:
        """Pearson's X2."""
        return self._fitted().pearson

    @property
    def df_(self) -> float:
        """Residual degrees of freedom, an int if known: cells fitted above 0, less the rank of the model on them.

        Structural zeros and cells of empty margins count in neither number. NaN with ``l1``.
        """
        return self._fitted().df

    @property
    def n_parameters_(self) -> float:
        """Number of parameters that can be estimated, the constant included; NaN with ``l1``."""
        return self._fitted().rank

    @property
    def deviance_p_(self) -> float:
        """P-value of G2: whether the data fit the model worse than chance explains. NaN with ``l1``."""
        return self._fitted().p(self.deviance_)

    @property
    def pearson_p_(self) -> float:
        """P-value of X2."""
        return self._fitted().p(self.pearson_)

    @property
    def log_likelihood_(self) -> float:
        """Poisson log-likelihood, in nats."""
        return self._fitted().log_likelihood

    @property
    def aic_(self) -> float:
        """Akaike's criterion of the Poisson likelihood; parameters that empty margins make infinite count as well."""
        return self._fitted().criterion("aic")

    @property
    def bic_(self) -> float:
        """Bayesian criterion with the parameters of ``aic_``; the sample size is the number of samples, not cells."""
        return self._fitted().criterion("bic")

    @property
    def n_iter_(self) -> int:
        """Number of Newton steps, cycles of proportional fitting, or iterations of a solver."""
        return self._fitted().iterations

    @property
    def result_(self) -> Result | None:
        """How the solver has ended; None for Newton's method and proportional fitting."""
        return self._fitted().result

    @property
    def empty_margins_(self) -> list[str]:
        """Cells of the model's margins that have no samples, such as ``sex=male, age=old``."""
        fitted = self._fitted()
        return [fitted.table.place(sorted(term), place) for term, place in fitted.support.empty]

    def residuals(self, kind: str = "pearson") -> Vector:
        """Return residuals in the shape of ``counts_``; NaN where the expected count is 0.

        Args:
            kind: ``raw`` (observed less expected), ``pearson`` (divided by the square root of the expected count),
                ``deviance`` (signed roots of the parts of G2) or ``adjusted`` (Pearson residuals divided by their
                standard errors, so that they are about standard normal; NaN where the model fits any count exactly).

        Raises:
            OptionError: the kind is unknown, or adjusted residuals would take too long.
        """
        return self._fitted().residuals(kind)

    def cells(self) -> dict[str, list[Any]]:
        """Return columns with a row for each cell: its levels, observed and expected count and residuals.

        The columns are the names of the variables, ``observed``, ``expected``, ``raw``, ``pearson``, ``deviance`` and,
        except with ``l1`` and for very large models, ``adjusted``. ``pandas.DataFrame(model.cells())`` is a table.
        """
        fitted = self._fitted()
        table = fitted.table
        places = np.unravel_index(np.arange(table.counts.size), table.counts.shape)
        columns: dict[str, list[Any]] = {
            name: [levels[k] for k in at.tolist()]
            for name, levels, at in zip(table.names, table.levels, places, strict=True)
        }
        columns["observed"] = np.where(table.possible, table.counts, np.nan).ravel().tolist()
        columns["expected"] = fitted.expected.ravel().tolist()
        kinds = ["raw", "pearson", "deviance", *(["adjusted"] if fitted.has_leverages else [])]
        return columns | {kind: fitted.residuals(kind).ravel().tolist() for kind in kinds}

    def to_frame(self, coding: str = "effects") -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each parameter.

        The columns are ``term``, ``levels``, ``estimate``, ``se`` (standard error), ``z``, ``p`` (of a two-sided test)
        and ``note``, which says where a parameter is infinite or cannot be estimated.

        Args:
            coding: ``effects``, which sum to zero over each variable, so that the effect of the last level follows from
                the others (R's loglin); or ``treatment``, differences from the first level (R's glm).

        Raises:
            OptionError: the coding is unknown, or the model has more than 2,000 parameters.
            MissingPackageError: pandas is not installed.
        """
        return data_frame("to_frame", self.parameters(coding))

    def parameters(self, coding: str = "effects") -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists; see there."""
        from scipy.special import ndtr

        one_of("coding", coding, CODINGS)
        fitted = self._fitted()
        design, w, errors, notes = fitted.parameters(coding)
        named = design.named(fitted.table.names, fitted.table.levels)
        z = np.divide(w, errors, out=np.full_like(w, np.nan), where=errors > 0)
        return {
            "term": [term for term, _ in named],
            "levels": [levels for _, levels in named],
            "estimate": w.tolist(),
            "se": errors.tolist(),
            "z": z.tolist(),
            "p": (2.0 * ndtr(-np.abs(z))).tolist(),
            "note": notes,
        }

    def effects(self) -> dict[str, Vector]:
        """Return the effects of each term with all levels, as R's loglin has them; they sum to zero over each axis.

        NaN and infinite effects are those that zeros do not determine. The key of the constant is ``(constant)``.
        """
        fitted = self._fitted()
        design, w, _, _ = fitted.parameters("effects")
        effects: dict[str, Vector] = {}
        for number, term in enumerate(fitted.terms):
            axes = sorted(term)
            part = w[design.block(number)].reshape([design.shape[axis] - 1 for axis in axes])
            for at in range(len(axes)):
                part = np.concatenate([part, -part.sum(axis=at, keepdims=True)], axis=at)
            effects[":".join(fitted.table.names[axis] for axis in axes) or "(constant)"] = part
        return effects

    def save_figure(self, path: str | os.PathLike[str]) -> None:
        """Draw a mosaic plot: areas are observed counts, colours are Pearson residuals of the model.

        Args:
            path: name of the file: .svg, .png or .pdf.

        Raises:
            MissingPackageError: Matplotlib is not installed.
            OptionError: the name has another extension, or the model has more than four variables.
        """
        check_figure(os.fspath(path))
        fitted = self._fitted()
        table = fitted.table
        if table.counts.ndim > MOST_VARIABLES:
            message = f"a mosaic plot has at most {MOST_VARIABLES} variables, the model has {table.counts.ndim}; plot "
            raise OptionError(message + "a model of fewer variables")
        content = drawn(table.counts, table.names, table.levels, fitted.residuals("pearson"), os.fspath(path))
        write_output(os.fspath(path), content)

    def __repr__(self) -> str:
        """Return the call that creates the model."""
        defaults = {"method": "auto", "l1": 0.0, "grouped": True, "tolerance": 1e-10, "missing": None}
        changed = (f"{name}={vars(self)[name]!r}" for name, default in defaults.items() if vars(self)[name] != default)
        return f"LogLinear({', '.join([repr(self.formula), *changed])})"

    def summary(self) -> list[str]:
        """Return lines on the model and how well it fits."""
        table = self._fitted().table
        n_cells = int(table.possible.sum())
        lines = [f"{visible_name(self.formula_)}: {counted(n_cells, 'cell')}, {table.n_samples:,.10g} samples"]
        if self.l1:
            left = visible_name(", ".join(self.interactions_)) or "none"
            return [*lines, f"interactions left by l1={self.l1:g}: {left}", f"G2 = {self.deviance_:.4f}"]
        df = "unknown" if math.isnan(self.df_) else f"{self.df_:.0f}"
        return [
            *lines,
            f"G2 = {self.deviance_:.4f}, df = {df}, p = {self.deviance_p_:.3g}",
            f"X2 = {self.pearson_:.4f}, df = {df}, p = {self.pearson_p_:.3g}",
            f"AIC = {self.aic_:.2f}, BIC = {self.bic_:.2f}",
        ]

    def _columns(self, most: int) -> dict[str, list[str]]:
        """Return the cells of a table of the first parameters."""
        parameters = self.parameters("effects")
        columns = {name: [str(text) for text in parameters[name][:most]] for name in ("term", "levels")}
        for name, form in (("estimate", "+.4f"), ("se", ".4f"), ("z", ".2f"), ("p", ".3g")):
            columns[name] = [format(number, form) for number in parameters[name][:most]]
        if any(parameters["note"]):
            columns["note"] = parameters["note"][:most]
        return columns

    def __str__(self) -> str:
        """Return how well the model fits and its first parameters, as text that fits a screen."""
        if self._fit is None:
            return repr(self)
        title = "\n".join(self.summary())
        n = self._fit.design("effects").n_parameters
        if n > MOST_PARAMETERS:
            return title
        columns = self._columns(_ON_SCREEN)
        return screen(title, {name: [name, *cells] for name, cells in columns.items()}, n + 1, "parameter")

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        if self._fit is None or self._fit.design("effects").n_parameters > MOST_PARAMETERS:
            return in_notebook(f"<pre>{escape('; '.join(self.summary()) if self._fit else repr(self))}</pre>")
        n = self._fit.design("effects").n_parameters
        table = listing(self._columns(LISTED), "; ".join(self.summary()), texts=("levels", "note"))
        return in_notebook(table + more(n, "parameter"))
