"""The report of a model on labelled data, as one HTML file that needs nothing else: no network, no JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..calibration import Calibration
from ..metrics import Evaluation
from ..trace import TraceRecord
from . import charts
from .html_page import HtmlPage, check_report, rendered
from .intervals import Intervals
from .mistakes import Confusions, Mistake
from .weights import Strongest, Transitions

__all__ = ["Report", "check_report"]

# Number of labels whose features the page shows.
_SHOWN = 50


@dataclass(frozen=True, kw_only=True)
class Report(HtmlPage):
    """What a model does on labelled data, and what it holds; in a notebook it shows itself.

    Attributes:
        title: title of the page.
        data: rows of a table on the data: name -> number or text.
        settings: rows of a table on the model and its training: name -> text.
        command: how to train the model again; None if that cannot be told.
        template: text of the model's template; None without one.
        notes: remarks on the figures, such as that they are of training data.
        items: what has labels: "tokens", a classifier's "samples" or "texts", a network's "values", "nodes" of graphs.
        headline: figures next to the scores: name, number, and what stands below it.
        trace: the steps of the training; empty where they are not at hand.
        scores: the evaluation, as `loglinear.evaluate` returns it.
        intervals: 95 % confidence intervals of the scores.
        confusions: numbers of tokens by gold and predicted label.
        mistakes: the most frequent mistakes, with examples.
        strongest: label -> its strongest features.
        transitions: weights of transitions; None if the model has none.
        edges: the strongest edges of a network with their strengths.
        graph: picture of a network as SVG; empty without one.
        calibrations: calibration by kind of answers (``items``, "spans"); empty without probabilities.

    Example:
        >>> from loglinear import ChainCRF
        >>> X, y = [["Dogs", "bark"], ["Cats", "sleep"]], [["NOUN", "VERB"], ["NOUN", "VERB"]]
        >>> report = ChainCRF(template="pos").fit(X, y).report(X, y)
        >>> report.scores.accuracy, report.intervals.overall["accuracy"]
        (1.0, Interval(low=1.0, high=1.0))
        >>> "<h1>" in report.html()
        True
    """

    title: str
    data: dict[str, Any]
    settings: dict[str, str]
    command: str | None
    template: str | None = None
    notes: Sequence[str] = ()
    items: str
    headline: Sequence[tuple[str, str, str]] = ()
    trace: Sequence[TraceRecord]
    scores: Evaluation
    intervals: Intervals
    confusions: Confusions
    mistakes: list[Mistake]
    strongest: dict[str, Strongest]
    transitions: Transitions | None = None
    edges: Sequence[tuple[str, float]] = ()
    graph: str = ""
    calibrations: dict[str, Calibration]

    def __repr__(self) -> str:
        """Return the title, the scores in short, and the method that writes the page."""
        return f"Report({self.title!r}, accuracy={self.scores.accuracy:.4g}; save(path) writes the HTML page)"

    def html(self) -> str:
        """Return the page; equal reports give equal pages.

        Raises:
            MissingPackageError: Jinja2 is not installed.
        """
        check_report()
        from markupsafe import Markup

        return rendered(
            "page",
            report=self,
            curves=[Markup(curve) for curve in _curves(self.trace)],
            diagrams={
                name: Markup(charts.reliability(calibration, name)) for name, calibration in self.calibrations.items()
            },
            shown=_SHOWN,
            largest=_largest(self.transitions),
            graph=Markup(self.graph),
            unit=self._unit(),
        )

    def _unit(self) -> str:
        """Return the unit that is drawn with replacement for the confidence intervals: what contains tokens."""
        if self.items == "samples" and self.scores.n_sentences != self.scores.n_tokens:
            return "sentence"
        units = {"tokens": "sentence", "samples": "sample", "texts": "text", "values": "row", "nodes": "graph"}
        return units[self.items]


def _curves(trace: Sequence[TraceRecord]) -> list[str]:
    """Return curves of the objective and of the score on development data by iteration."""
    curves = []
    steps = [record for record in trace if charts.is_drawable(record.objective)]
    if len(steps) > 1:
        heights = [step.objective for step in steps]
        curves.append(
            charts.curve([step.iteration for step in steps], heights, "iteration", "objective (nats)", falling=True)
        )
    scored = [(record.iteration, name, value) for record in trace for name, value in [*(record.dev or {}).items()][:1]]
    scored = [point for point in scored if charts.is_drawable(100.0 * point[2])]
    if len(scored) > 1:
        name = f"{scored[0][1].replace('f1', 'F1')} on development data (%)"
        curves.append(charts.curve([x for x, _, _ in scored], [100.0 * y for _, _, y in scored], "iteration", name))
    return curves


def _largest(transitions: Transitions | None) -> float:
    rows = [] if transitions is None else transitions.weights
    return max((abs(weight) for row in rows for weight in row if weight is not None), default=0.0)
