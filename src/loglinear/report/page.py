"""The report of a model on labelled data, as one HTML file that needs nothing else: no network, no JavaScript."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..calibration import Calibration
from ..metrics import Evaluation
from ..trace import TraceRecord
from ..version import __version__
from ..visible import counted
from . import charts
from .cross_validation import CrossValidation
from .entities import KINDS, Entities, drawn
from .html_page import HtmlPage, check_report, rendered
from .intervals import Intervals
from .labelled import Labelled
from .mistakes import Confusions, Mistake
from .weights import Strongest, Transitions

__all__ = ["Reasons", "Report", "check_report"]

# What the first paragraph counts, besides what has labels.
_SIZES = ("sentences", "rows", "graphs")
# Rows of the table on the model that it tells, and what comes before them.
_TOLD = {
    "trained on": "trained on",
    "training file": "from",
    "training files": "from",
    "date of training": "on",
    "version of loglinear": "by loglinear",
}
# Number of labels whose features the page shows.
_SHOWN = 50
# A curve is drawn from where its distance from the best value stays within this share of the largest one.
_STEEP = 0.2


class Reasons(NamedTuple):
    """Why a model made the mistakes that a report lists.

    Attributes:
        introduction: how to read an explanation.
        parts: number of a sentence, sample or row, from 1 -> its wrong words, and explanations of them as HTML; of at
            most 45. Token t of sentence s, both from 1, is the place ``s<s>-<t>`` of the page.
    """

    introduction: str
    parts: Mapping[int, tuple[str, str]]


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
        kept: the iteration whose weights the model has; None for the last one, or if that is not known.
        scores: the evaluation, as `loglinear.evaluate` returns it.
        intervals: 95 % confidence intervals of the scores.
        confusions: numbers of tokens by gold and predicted label.
        entities: what becomes of whole entities, with the most frequent mistakes; None without a tagging scheme.
        mistakes: the most frequent mistakes by label, with examples.
        reasons: explanations of the examples; None if there are none.
        strongest: label -> its strongest features.
        transitions: weights of transitions; None if the model has none.
        edges: the strongest edges of a network with their strengths.
        centralities: the variables of a network, strongest first, each with its values by measure; NaN where undefined.
        graph: picture of a network as SVG; empty without one.
        calibrations: calibration by kind of answers (``items``, "spans"); empty without probabilities.
        cross_validation: what the strength of the penalty was chosen from; None if it was given.

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
    kept: int | None = None
    scores: Evaluation
    intervals: Intervals
    confusions: Confusions
    entities: Entities | None = None
    mistakes: list[Mistake]
    reasons: Reasons | None = None
    strongest: dict[str, Strongest]
    transitions: Transitions | None = None
    edges: Sequence[tuple[str, float]] = ()
    centralities: Sequence[tuple[str, Mapping[str, float]]] = ()
    graph: str = ""
    calibrations: dict[str, Calibration]
    cross_validation: CrossValidation | None = None

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

        colours = Labelled(map(str, self.scores.per_label))

        def pieces(example: Any) -> list[tuple[str, Markup]]:
            return [(name, Markup(html)) for name, html in drawn(example, colours)]

        return rendered(
            "page",
            self.title,
            "labelled",
            filters={"drawn": pieces},
            report=self,
            curves=[Markup(curve) for curve in _curves(self.trace, self.kept)],
            strengths=[] if self.cross_validation is None else [*map(Markup, self.cross_validation.svgs())],
            diagrams={
                name: Markup(charts.reliability(calibration, name)) for name, calibration in self.calibrations.items()
            },
            shown=_SHOWN,
            largest=_largest(self.transitions),
            graph=Markup(self.graph),
            unit=self._unit(),
            is_of_several=self._unit() == "sentence" and self.scores.n_sentences != self.scores.n_tokens,
            about=self._about(),
            reasons={n: (words, Markup(html)) for n, (words, html) in self.reasons.parts.items()}
            if self.reasons
            else {},
            is_typed=self._has_types(),
            kinds=[kind for kind in KINDS if self._has_types() or "type" not in kind],
            version=__version__,
        )

    def _about(self) -> str:
        """Return in a sentence what was trained on what, and what the scores are of."""
        rows = self.settings
        sizes = (counted(n, noun[:-1]) for noun, n in self.data.items() if noun in {*_SIZES, self.items})
        parts = [f"A {rows['model']}"] if "model" in rows else []
        for name, before in _TOLD.items():
            if name in rows:
                parts.append(f"{before} {rows[name]}")
        return f"{', '.join(parts)}. Scored on {', '.join(sizes)}."

    def _has_types(self) -> bool:
        """Whether chunks have types, which words of a segmentation have not."""
        return self.entities is not None and any(self.entities.counts)

    def _unit(self) -> str:
        """Return the unit that is drawn with replacement for the confidence intervals: what contains tokens."""
        if self.items == "samples" and self.scores.n_sentences != self.scores.n_tokens:
            return "sentence"
        units = {"tokens": "sentence", "samples": "sample", "texts": "text", "values": "row", "nodes": "graph"}
        return units[self.items]


def _curves(trace: Sequence[TraceRecord], iteration: int | None) -> list[str]:
    """Return curves of the objective and of the score on development data by iteration.

    Args:
        trace: the steps of the training.
        iteration: the one whose weights the model has, which a line marks; None for the last one.
    """
    marked = None if iteration is None else (float(iteration), f"kept: iteration {iteration:,}")
    curves = []
    steps = [record for record in trace if charts.is_drawable(record.objective)]
    points = [(step.iteration, step.objective) for step in steps]
    if len(points) > 1:
        x, y = zip(*points[_beginning([y for _, y in points], min) :], strict=True)
        curves.append(charts.curve(x, y, "iteration", "objective (nats)", falling=True, marked=marked))
    scored = [(record.iteration, name, value) for record in trace for name, value in [*(record.dev or {}).items()][:1]]
    scored = [point for point in scored if charts.is_drawable(100.0 * point[2])]
    if len(scored) > 1:
        name = f"{scored[0][1].replace('f1', 'F1')} on development data (%)"
        points = [(x, 100.0 * value) for x, _, value in scored]
        x, y = zip(*points[_beginning([y for _, y in points], max) :], strict=True)
        curves.append(charts.curve(x, y, "iteration", name, marked=marked))
    return curves


def _beginning(values: Sequence[float], best: Callable[[Sequence[float]], float]) -> int:
    """Return from which value on a curve is drawn: a steep beginning would flatten the rest.

    It is the place after the last value whose distance from the best one is more than a fifth of the largest distance.
    The whole curve is drawn if this place is in its second half.
    """
    goal = best(values)
    distances = [abs(value - goal) for value in values]
    limit = _STEEP * max(distances)
    start = 1 + max((at for at, distance in enumerate(distances) if distance > limit), default=-1)
    return start if 2 * start <= len(values) - 1 else 0


def _largest(transitions: Transitions | None) -> float:
    rows = [] if transitions is None else transitions.weights
    return max((abs(weight) for row in rows for weight in row if weight is not None), default=0.0)
