"""How sure the weights of a model are: standard errors, intervals and tests, as a table."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.special

from ...bootstrap import Interval
from ...data.writing import write_output
from ...display.fragment import in_notebook
from ...display.table import data_frame, facts, listing, more
from ...display_width import display_width, padded, without_middle
from ...errors import DataError, OptionError
from ...options import fail
from ...report.coefficients import Coefficients, coefficient_figure
from ...report.figure import check_figure
from ...vectors import Vector
from ...visible import counted, listed, visible_name

if TYPE_CHECKING:
    import pandas

__all__ = ["Inference", "LikelihoodRatio"]

# Rows that are shown, columns of a name, and of the text in all.
_ROWS, _NAME, _WIDTH = 40, 23, 78
# Characters of a number.
_ROOM = 8
_WALD = " p is of the Wald test with the standard error of the bootstrap."


class LikelihoodRatio(NamedTuple):
    """A likelihood-ratio test of a model against a smaller one that is nested in it.

    Attributes:
        statistic: twice the difference of the log-likelihoods.
        df: number of parameters that the smaller model lacks.
        p: probability of a statistic at least as large if the smaller model is true (chi-squared distribution).
    """

    statistic: float
    df: int
    p: float


@dataclass(frozen=True, repr=False, eq=False)
class Inference:
    """Standard errors, tests and intervals of the weights of a model; see the estimators' method `inference`.

    Printing it shows a table; notebooks show one too. Of more than 40 weights it has those with the largest ``|z|``.

    Attributes:
        names: column or feature of each weight.
        classes: class of each weight, whose weight less that of the reference class this is; "" if there is none.
        weights: the weights, shape (n,).
        standard_errors: their standard errors, shape (n,).
        lower: lower ends of the intervals, shape (n,).
        upper: upper ends, shape (n,).
        level: probability of the intervals, such as 0.95.
        method: "hessian", "robust", "clustered" or "bootstrap".
        reference: the reference class; "" in a chain and of choices.
        n_samples: sum of the weights of samples or choices; in a chain the number of sentences.
        log_likelihood: of the data under the model, without the penalty, nats.
        null_log_likelihood: of the data under the intercept alone, or equal probabilities; NaN in a chain.
        n_parameters: number of weights that determine the model; with L2 the effective number; NaN in a chain.
        n_null_parameters: number of intercepts.
        l1: strength of the L1 penalty.
        l2: strength of the L2 penalty.
        covariance: of the weights, shape (n, n); None in a chain, whose weights are many.
        draws: weights of each bootstrap sample, shape (draws, n); None for other methods.
        groups: number of groups that are taken as independent; 0 if samples are.
        scores: of a chain the intervals of its scores by name, such as "f1".
        items: what `n_samples` counts, if neither samples nor sentences.
        totals: of a classifier the sum of the weights of the samples of each class.
    """

    names: Sequence[str]
    classes: Sequence[str]
    weights: Vector
    standard_errors: Vector
    lower: Vector
    upper: Vector
    level: float
    method: str
    reference: str
    n_samples: float
    log_likelihood: float
    null_log_likelihood: float
    n_parameters: float
    n_null_parameters: int
    l1: float
    l2: float
    covariance: Vector | None = field(default=None)
    draws: Vector | None = field(default=None)
    groups: int = 0
    scores: dict[str, Interval] = field(default_factory=dict)
    items: str = ""
    totals: dict[str, float] = field(default_factory=dict)

    @property
    def z(self) -> Vector:
        """Weight divided by its standard error, shape (n,); NaN where that is 0."""
        z = np.full(self.weights.shape, np.nan)
        np.divide(self.weights, self.standard_errors, out=z, where=self.standard_errors > 0.0)
        return z

    @property
    def p(self) -> Vector:
        """Two-sided p-values of the Wald tests of each weight against 0 (normal distribution), shape (n,)."""
        return np.asarray(2.0 * scipy.special.ndtr(-np.abs(self.z)))

    @property
    def selected(self) -> Vector | None:
        """Share of the bootstrap samples that keep each weight, shape (n,); None for other methods."""
        return None if self.draws is None else np.asarray((self.draws != 0.0).mean(axis=0))

    @property
    def pseudo_r2(self) -> float:
        """McFadden's pseudo R-squared: 1 less the quotient of the log-likelihoods of the model and the intercept."""
        return 1.0 - self.log_likelihood / self.null_log_likelihood

    @property
    def aic(self) -> float:
        """Akaike's information criterion; the lower the better."""
        return 2.0 * (self.n_parameters - self.log_likelihood)

    @property
    def bic(self) -> float:
        """Bayesian information criterion; the lower the better."""
        return math.log(self.n_samples) * self.n_parameters - 2.0 * self.log_likelihood

    def likelihood_ratio(self, smaller: Inference | None = None) -> LikelihoodRatio:
        """Test the model against a smaller one that is nested in it, on the same data.

        The smaller model must be this one with some weights fixed at 0, such as one without some columns. Columns
        without names are told apart by their number alone.

        Args:
            smaller: inference for the smaller model; by default it has the intercept alone.

        Raises:
            OptionError: a model has a penalty or is a chain, or the smaller model has more parameters.
            DataError: the models have different samples, classes or columns.
        """
        if smaller is not None and not isinstance(smaller, Inference):
            fail("smaller", smaller, "is not an Inference; give what `inference` returns for the smaller model")
        for model in (self, smaller):
            if model is not None and (model.l1 or model.l2 or math.isnan(model.n_parameters)):
                message = "a likelihood-ratio test needs classifiers trained without a penalty; train with l2=0"
                raise OptionError(message)
        null = (self.null_log_likelihood, float(self.n_null_parameters))
        log_likelihood, n = null if smaller is None else (smaller.log_likelihood, smaller.n_parameters)
        if smaller is not None:
            self._check_same_data(smaller)
            rounding = 1e-9 * abs(self.log_likelihood)
            if n > self.n_parameters or log_likelihood > self.log_likelihood + rounding:
                message = f"the smaller model has {n:g} parameters and log-likelihood {log_likelihood:.6g}, this one "
                message += f"{self.n_parameters:g} and {self.log_likelihood:.6g}: it is not nested in this one"
                raise OptionError(message)
            if others := [name for name in dict.fromkeys(smaller.names) if name not in set(self.names)]:
                message = f"the smaller model has {listed(others, 4)}, which this one lacks: it is not nested in this "
                message += "one; train both on the same table, the smaller model on some of its columns"
                raise DataError(message)
        statistic, df = max(2.0 * (self.log_likelihood - log_likelihood), 0.0), round(self.n_parameters - n)
        return LikelihoodRatio(statistic, df, float(scipy.special.chdtrc(df, statistic)) if df else 1.0)

    def _check_same_data(self, smaller: Inference) -> None:
        """Raise DataError if a smaller model has other classes or samples."""
        if smaller.totals.keys() != self.totals.keys():
            classes = (listed([*map(repr, model.totals)], 4) for model in (smaller, self))
            message = f"the smaller model has the classes {', this one '.join(classes)}; train both on the same data"
            raise DataError(message)
        if not all(math.isclose(n, self.totals[name], rel_tol=1e-9) for name, n in smaller.totals.items()):
            message = "the models have different samples or classes; train both on the same data"
            raise DataError(message)

    def __repr__(self) -> str:
        """Return the number of weights and the method."""
        return f"<inference for {counted(len(self.weights), 'weight')}: {self._method()}>"

    def _method(self) -> str:
        """Return how the covariance was estimated, in words."""
        drawn = "" if self.draws is None else counted(len(self.draws), "bootstrap sample")
        groups = counted(self.groups, "group")
        methods = {"hessian": "Hessian", "robust": "robust (HC0)", "clustered": f"robust, {groups}"}
        return methods.get(self.method) or drawn + (f" of {groups}" if self.groups else "")

    def _order(self) -> list[int]:
        """Return the rows to show: all, or for each class the largest ``|z|`` first, in a chain the largest weights."""
        n = len(self.weights)
        if n <= _ROWS:
            return [*range(n)]
        sizes = np.abs(self.z) if self.reference or self.items else np.abs(self.weights)
        order: list[int] = np.argsort(-np.nan_to_num(sizes), kind="stable")[:_ROWS].tolist()
        return sorted(order, key=lambda row: self.classes[row])

    def _facts(self) -> dict[str, str]:
        """Return the numbers about the whole model."""
        rows = {"covariance": self._method()}
        if not math.isnan(self.log_likelihood):
            rows["log-likelihood"] = f"{self.log_likelihood:,.3f}"
        rows[self.items or ("samples" if self.reference else "sentences")] = f"{self.n_samples:,.10g}"
        if not math.isnan(self.n_parameters):
            null = "intercept alone" if self.n_null_parameters else "equal probabilities"
            rows[null] = f"{self.null_log_likelihood:,.3f}"
            rows["effective parameters" if self.l2 else "parameters"] = f"{self.n_parameters:,.4g}"
            rows["pseudo R2"] = f"{self.pseudo_r2:.4f}"
            rows |= {"AIC": f"{self.aic:,.2f}", "BIC": f"{self.bic:,.2f}"}
            if not (self.l1 or self.l2):
                test = self.likelihood_ratio()
                rows["LR chi2"], rows["LR p"] = f"{test.statistic:,.2f} ({test.df} df)", _p(test.p)
        for name, (low, high) in self.scores.items():
            rows[name.replace("_", " ")] = f"{low:.4f} to {high:.4f}"
        return rows

    def _notes(self) -> list[str]:
        """Return what must be known to read the table."""
        notes = []
        if self.l2:
            notes.append(
                f"Penalised estimate (l2={self.l2:g}): weights are shrunk towards 0. "
                + (
                    "Intervals show how the penalised estimate varies, not its bias."
                    if self.method == "bootstrap"
                    else "The covariance is of the penalised likelihood."
                )
            )
        if self.l1 and self.method == "bootstrap":
            notes.append(
                f"L1 (l1={self.l1:g}) selects again in each bootstrap sample: selected is the share of them that keep "
                "a weight. Weights are shrunk towards 0."
            )
        elif self.l1:
            notes.append(
                f"L1 (l1={self.l1:g}) selected these weights from the same data: p-values are too small and intervals "
                "too narrow, as they ignore the selection."
            )
        if self.method == "bootstrap":
            notes.append("Intervals are percentiles of the bootstrap samples." + ("" if self.l1 else _WALD))
        return notes

    def _columns(self, order: Sequence[int]) -> dict[str, list[str]]:
        """Return the cells of some rows."""
        ends = [f"{_share(0.5 - self.level / 2.0)}", f"{_share(0.5 + self.level / 2.0)}"]
        numbers = {"weight": self.weights, "std. error": self.standard_errors}
        if self.l1 and self.selected is not None:  # such weights are not normal
            numbers["selected"] = self.selected
        else:
            numbers |= {"z": self.z, "p": self.p}
        columns = {"name": [self.names[row] for row in order]}
        for title, values in (numbers | dict(zip(ends, (self.lower, self.upper), strict=True))).items():
            columns[title] = [_FORMATS.get(title, _bound)(value) for value in values[order].tolist()]
        return columns

    def __str__(self) -> str:
        """Return the table as text of at most 78 columns."""
        order, rule = self._order(), "=" * _WIDTH
        title = "How sure the weights are"
        cells = [f"{name}: {text}" for name, text in self._facts().items()]
        half = (len(cells) + 1) // 2
        pairs = zip(cells[:half], [*cells[half:], ""], strict=False)
        lines = [title.center(_WIDTH).rstrip(), rule]
        lines += [f"{padded(left, 40)}{right}".rstrip() for left, right in pairs]
        columns = self._columns(order)
        titles = [*columns][1:]
        widths = (10, 11, 9, 7, 9, 9) if "z" in columns else (10, 11, 16, 9, 9)
        group = None
        head = "".join(f"{name:>{width}}" for name, width in zip(titles, widths, strict=True))
        for at, row in enumerate(order):
            if self.classes[row] != group:
                group = self.classes[row]
                about = f"{visible_name(group)} against {visible_name(self.reference)}" if group else "feature"
                is_long = display_width(about) > _NAME
                lines += [rule, *([without_middle(about, _WIDTH)] if is_long else [])]
                lines += [padded("" if is_long else about, _NAME) + head, "-" * _WIDTH]
            name = padded(without_middle(visible_name(columns["name"][at]), _NAME), _NAME)
            lines.append(
                name + "".join(f"{columns[key][at]:>{width}}" for key, width in zip(titles, widths, strict=True))
            )
        lines.append(rule)
        if len(order) < len(self.weights):
            lines.append(f"… and {counted(len(self.weights) - len(order), 'more weight')}; to_frame() has all")
        for note in self._notes():
            lines += _wrapped(note)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        order = self._order()
        columns = self._columns(order)
        texts: tuple[str, ...] = ()
        if self.reference:
            columns = {"name": columns.pop("name"), "class": [self.classes[row] for row in order], **columns}
            texts = ("class",)
        about = f"weights less the weights of class {self.reference}" if self.reference else "weights"
        table = listing(columns, f"{about}; {100.0 * self.level:g} % intervals", texts=texts)
        notes = "".join(f'<p class="soft">{note}</p>' for note in self._notes())
        whole = facts(self._facts(), "How sure the weights are")
        return in_notebook(whole + table + more(len(self.weights), "weight", most=_ROWS) + notes)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each weight.

        The columns are ``name``, ``class`` (not of a chain), ``weight``, ``standard_error``, ``z``, ``p``, ``lower``
        and ``upper``.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        columns: dict[str, Sequence[Any]] = {"name": [*self.names]}
        if self.reference:
            columns["class"] = [*self.classes]
        columns |= {"weight": self.weights.tolist(), "standard_error": self.standard_errors.tolist()}
        columns |= {"z": self.z.tolist(), "p": self.p.tolist()}
        return data_frame("to_frame", columns | {"lower": self.lower.tolist(), "upper": self.upper.tolist()})

    def save_figure(self, path: str | os.PathLike[str]) -> None:
        """Draw the weights with their intervals: a panel for each class; the intercept is left out.

        Of more than 40 weights those with the largest ``|z|`` are drawn.

        Args:
            path: name of the file: .svg, .png or .pdf.

        Raises:
            MissingPackageError: Matplotlib is not installed.
            OptionError: the name has another extension.
        """
        check_figure(os.fspath(path))
        rows = [row for row in self._order() if self.names[row] != "(intercept)"]
        panels = {}
        for group in dict.fromkeys(self.classes[row] for row in rows):
            own = [row for row in rows if self.classes[row] == group]
            title = f"{group} against {self.reference}" if group else ""
            numbers = (self.weights[own], self.lower[own], self.upper[own])
            panels[title] = Coefficients([self.names[row] for row in own], *numbers)
        label = f"weight, {100.0 * self.level:g} % interval"
        write_output(os.fspath(path), coefficient_figure(panels, label, os.fspath(path)))


def _share(share: float) -> str:
    return f"[{100.0 * share:.3g}%" if share < 0.5 else f"{100.0 * share:.3g}%]"


def _p(p: float) -> str:
    return "-" if math.isnan(p) else f"{p:.3f}" if p >= 0.0005 else "<.001"


def _number(value: float, most: int) -> str:
    """Return a number in as many decimals as its column has room for."""
    if math.isnan(value):
        return "-"
    if 0.0 < abs(value) < 1e-3:
        return f"{value:.1e}"
    texts = (f"{value:.{decimals}f}" for decimals in range(most, -1, -1))
    return next((text for text in texts if len(text) <= _ROOM), f"{value:.1e}")


def _bound(value: float) -> str:
    return _number(value, 3)


def _weight(value: float) -> str:
    return _number(value, 4)


_FORMATS: dict[str, Callable[[float], str]] = {
    "weight": _weight,
    "std. error": _weight,
    "z": lambda z: "-" if math.isnan(z) else f"{z:.2f}" if abs(z) < 1e4 else f"{z:.1e}",
    "p": _p,
    "selected": lambda share: f"{100.0 * share:.0f} %",
}
"""How the cells of a column are written; other columns have bounds."""


def _wrapped(text: str) -> list[str]:
    """Return a text in lines that fit the table."""
    lines = [""]
    for word in text.split():
        if display_width(lines[-1]) + display_width(word) + 1 > _WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines
