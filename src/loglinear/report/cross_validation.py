"""The result of cross-validating the strength of a penalty: scores of held-out folds by strength, and their picture."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.writing import write_output
from ..display.fragment import in_notebook
from ..display.table import data_frame, listing
from ..vectors import Vector
from .charts import Band, band_curve
from .figure import check_figure, new_figure, written

if TYPE_CHECKING:
    import pandas

__all__ = ["CrossValidation", "shown_score"]

# Number of strengths that the axis of a figure names at most.
_TICKS = 8

# What texts for people call the scores of held-out folds.
_SCORES = {
    "f1": "F1 on held-out folds",
    "accuracy": "accuracy on held-out folds",
    "log_likelihood": "log-likelihood on held-out folds (nats per label)",
}


def shown_score(metric: str, score: float, *, named: bool = True) -> str:
    """Return a score of held-out folds for people, perhaps with its name."""
    number = f"{score:.4g}" if metric == "log_likelihood" else f"{100.0 * score:.2f} %"
    return f"{_SCORES[metric]} {number}" if named else number


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Strengths of a penalty, and how well the models trained with them predict held-out folds.

    Attributes:
        penalty: "l1" or "l2": the penalty whose strength was chosen.
        strengths: strengths that were tried, falling, shape (n,).
        scores: mean score of the folds at each strength, weighted by the sizes of the folds; higher is better. Shape
            (n,).
        errors: standard error of each score, from its spread over the folds, shape (n,).
        metric: name of the score: "f1", "accuracy" or "log_likelihood".
        n_folds: number of folds.
        other: strength of the other penalty, which was fixed.
        before: the cross-validation of the other penalty, which came first and whose best strength is ``other``; None
            if ``other`` was given.

    Example:
        >>> import numpy as np
        >>> from loglinear.report.cross_validation import CrossValidation
        >>> scores, errors = np.array([0.70, 0.84, 0.85, 0.83]), np.array([0.03, 0.02, 0.02, 0.02])
        >>> cv = CrossValidation("l1", np.array([8.0, 4.0, 2.0, 1.0]), scores, errors)
        >>> cv.best, cv.chosen
        (2.0, 4.0)
    """

    penalty: str
    strengths: Vector = field(repr=False)
    scores: Vector = field(repr=False)
    errors: Vector = field(repr=False)
    metric: str = "log_likelihood"
    n_folds: int = 5
    other: float = 0.0
    before: CrossValidation | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Return the number of strengths, their range, and what they have chosen."""
        first, last = self.strengths[[0, -1]]
        ends = f"{self.strengths.size} strengths from {first:.4g} to {last:.4g}"
        chosen = f"best={self.best:.4g}, l1={self.l1:.4g}, l2={self.l2:.4g}"
        return f"CrossValidation({self.penalty}, {ends}, {self.metric}, {chosen})"

    @property
    def best(self) -> float:
        """The strength with the highest score; the strongest of several."""
        return float(self.strengths[self.scores.argmax()])

    @property
    def chosen(self) -> float:
        """The largest strength whose score is within one standard error of the highest score."""
        best = self.scores.argmax()
        return float(self.strengths[np.argmax(self.scores >= self.scores[best] - self.errors[best])])

    @property
    def l1(self) -> float:
        """Strength of the L1 penalty of the model."""
        return self.chosen if self.penalty == "l1" else self.other

    @property
    def l2(self) -> float:
        """Strength of the L2 penalty of the model."""
        return self.chosen if self.penalty == "l2" else self.other

    @property
    def is_at_end(self) -> bool:
        """Whether the chosen strength is the last one, so that a smaller one may be better."""
        return bool(self.chosen == self.strengths[-1])

    @property
    def account(self) -> str:
        """A line for people: what was chosen, and by which scores."""
        at, score = int(np.flatnonzero(self.strengths == self.chosen)[0]), _SCORES[self.metric]
        text = f"{self.penalty} {self.chosen:.4g} chosen by {self.n_folds}-fold cross-validation: {score} "
        text += f"{self._shown(self.scores[at])}, best {self._shown(self.scores.max())} at {self.penalty} "
        text += f"{self.best:.4g} (standard error {self._shown(self.errors[self.scores.argmax()])})"
        return text if self.before is None else f"{self.before._first_account}; {text}"

    @property
    def _first_account(self) -> str:
        return f"{self.penalty} {self.best:.4g} first, with the best {shown_score(self.metric, self.scores.max())}"

    def _shown(self, score: float) -> str:
        return shown_score(self.metric, score, named=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON has them; `of_dict` reads them back."""
        numbers = {name: getattr(self, name).tolist() for name in ("strengths", "scores", "errors")}
        rest = {"penalty": self.penalty, "metric": self.metric, "n_folds": self.n_folds, "other": self.other}
        return {**rest, **numbers, "before": None if self.before is None else self.before.to_dict()}

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> CrossValidation:
        """Return the cross-validation that `to_dict` wrote; the values have been checked."""
        arrays = {name: np.array(values[name], dtype=np.float64) for name in ("strengths", "scores", "errors")}
        before = None if values["before"] is None else cls.of_dict(values["before"])
        rest = {name: values[name] for name in ("penalty", "metric", "n_folds", "other")}
        return cls(**{**rest, **arrays, "before": before})

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each strength: strength, score, error.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        columns = {self.penalty: self.strengths, self.metric: self.scores, "error": self.errors}
        return data_frame("to_frame", {name: values.tolist() for name, values in columns.items()})

    def save_figure(self, path: str | os.PathLike[str]) -> None:
        """Write a picture of the scores by strength, with bands of one standard error.

        Lines mark the best strength and the chosen one. If the strengths of both penalties were chosen, each has a
        panel. Equal numbers give equal files.

        Args:
            path: name of the file: .svg, .png or .pdf.

        Raises:
            OptionError: the name has another extension.
            MissingPackageError: matplotlib is not installed.
        """
        name = os.fspath(path)
        check_figure(name)
        write_output(name, self.drawn(name))

    def drawn(self, path: str) -> bytes:
        """Return the content of a figure's file with this name."""
        panels = [panel for panel in (self.before, self) if panel is not None]
        with new_figure(0.4 + 5.6 * len(panels), 3.8) as figure:
            for axis, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
                panel._draw(axis)
            return written(figure, path)

    def _draw(self, axis: Any) -> None:
        low, high = self.scores - self.errors, self.scores + self.errors
        axis.fill_between(self.strengths, low, high, color="C0", alpha=0.18, linewidth=0.0)
        axis.plot(self.strengths, self.scores, color="C0", marker="o", markersize=3.0, linewidth=1.2)
        best = self.scores.argmax()
        axis.axhline(low[best], color="0.6", linestyle=":", linewidth=1.0)
        for strength, name, style in self._marks():
            axis.axvline(strength, color="0.4", linestyle=style, linewidth=1.0, label=f"{name}: {strength:.3g}")
        axis.set_xscale("log")
        axis.invert_xaxis()
        shown = self.strengths[:: -(-self.strengths.size // _TICKS)].tolist()
        axis.set_xticks(shown, [f"{strength:.3g}" for strength in shown])
        axis.minorticks_off()
        axis.set_xlabel(f"{self.penalty} (strong to weak)")
        axis.set_ylabel(_SCORES[self.metric])
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)

    def _marks(self) -> list[tuple[float, str, str]]:
        """Return strengths to mark: their names, and styles of their lines."""
        best = (self.best, "best", "--")
        return [best] if self.chosen == self.best else [best, (self.chosen, "chosen", "-")]

    def svgs(self) -> list[str]:
        """Return the pictures of a report, which needs no matplotlib."""
        panels = [panel for panel in (self.before, self) if panel is not None]
        return [panel._svg() for panel in panels if panel.strengths.size > 1]

    def _svg(self) -> str:
        factor = 1.0 if self.metric == "log_likelihood" else 100.0
        scores, errors = factor * self.scores, factor * self.errors
        band = Band(self.strengths.tolist(), scores.tolist(), (scores - errors).tolist(), (scores + errors).tolist())
        unit = "" if self.metric == "log_likelihood" else " (%)"
        marks = [(strength, f"{name}: {strength:.3g}") for strength, name, _ in self._marks()]
        return band_curve(band, f"{self.penalty}, strong to weak", f"{_SCORES[self.metric]}{unit}", marks)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the scores by strength."""
        columns = {
            self.penalty: [f"{strength:.4g}" for strength in self.strengths.tolist()],
            "score": [self._shown(score) for score in self.scores.tolist()],
            "standard error": [self._shown(error) for error in self.errors.tolist()],
        }
        return in_notebook(listing(columns, self.account))
