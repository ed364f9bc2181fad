"""Two models side by side on the same labelled data, as one HTML file: it needs no network and has no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..data.columns import as_lists
from ..errors import DataError, OptionError
from ..metrics import Evaluation, evaluate
from ..visible import listed, visible, visible_name
from .differences import Difference, Differences, differences
from .html_page import HtmlPage, rendered
from .intervals import DrawnScores, Intervals, intervals_of
from .labelled import UNKNOWN, Labelled, joined, shown
from .outcomes import (
    Change,
    Changed,
    Outcomes,
    changed_sentences,
    changes,
    outcomes_of_chunks,
    outcomes_of_labels,
)

__all__ = ["Compared", "Comparison", "compare", "comparison_of"]

# Number of labels that the table about the data names.
_NAMED = 30
_SCORES = {
    "f1": "F1 of chunks",
    "precision": "precision of chunks",
    "recall": "recall of chunks",
    "accuracy": "accuracy of {items}",
    "sentence_accuracy": "accuracy of sentences",
}

Labels = Sequence[Sequence[Any]]


class Compared(NamedTuple):
    """Two models' answers to the same labelled data.

    Attributes:
        gold: the true label sequences; the sequence of a sample or a text has one label.
        first: the label sequences that the first model predicts.
        second: the label sequences that the second model predicts.
        words: what is shown of each token, sample or text.
    """

    gold: Labels
    first: Labels
    second: Labels
    words: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Comparison(HtmlPage):
    """How the labels of two models differ on the same data; in a notebook it shows itself.

    Attributes:
        title: title of the page.
        names: what the two models are called.
        items: what has labels: "tokens", a classifier's "samples" or "texts".
        data: rows of a table on the data: name -> number or text.
        settings: rows of a table on the models and their training: name -> texts of both; empty if not known.
        notes: remarks on the figures.
        scores: the evaluations of both models, as `loglinear.evaluate` returns them.
        intervals: 95 % confidence intervals of the scores of both models.
        differences: by how much the second model's scores are above the first one's, with 95 % confidence intervals.
        outcomes: "tokens" (or `items`), "sentences" and "chunks" -> what both models get right and wrong of them.
        by_type: chunk type -> the same of its gold chunks; empty without a scheme.
        by_label: gold label -> the same of its tokens.
        changes: the 20 most frequent changes of labels.
        n_changes: number of kinds of changes.
        changed: the 50 sentences with the most changed labels.
        n_changed: number of sentences with changed labels.

    Example:
        >>> from loglinear import compare
        >>> gold = [["B-PER", "O"], ["O", "B-LOC"], ["B-LOC"]]
        >>> first, second = [["B-PER", "O"], ["O", "B-PER"], ["O"]], [["B-PER", "O"], ["O", "B-LOC"], ["O"]]
        >>> comparison = compare(gold, first, second)
        >>> round(comparison.differences.overall["accuracy"].value, 3)
        0.2
        >>> comparison.outcomes["tokens"]
        Outcomes(both_right=3, fixed=1, broken=0, both_wrong=1)
    """

    title: str
    names: tuple[str, str]
    items: str
    data: dict[str, Any]
    settings: Mapping[str, tuple[str, str]]
    notes: Sequence[str]
    scores: tuple[Evaluation, Evaluation]
    intervals: tuple[Intervals, Intervals]
    differences: Differences
    outcomes: dict[str, Outcomes]
    by_type: dict[str, Outcomes]
    by_label: dict[Any, Outcomes]
    changes: list[Change]
    n_changes: int
    changed: list[Changed]
    n_changed: int

    def __repr__(self) -> str:
        """Return the title, the difference of the main score, and the method that writes the page."""
        name = self.main_score
        value, low, high = self.differences.overall[name]
        change = f"{name} {value:+.4g} ({low:+.4g} to {high:+.4g})"
        return f"Comparison({visible(self.title)!r}, {change}; save(path) writes the page)"

    @property
    def main_score(self) -> str:
        """The score that the comparison is judged by: "f1" of chunks, or "accuracy" without a scheme."""
        return "accuracy" if self.scores[0].scheme is None else "f1"

    def html(self) -> str:
        """Return the page; equal comparisons give equal pages.

        Raises:
            MissingPackageError: Jinja2 is not installed.
        """
        from markupsafe import Markup

        colours = self._colours()
        return rendered(
            "comparison",
            self.title,
            "labelled",
            "comparison",
            comparison=self,
            scores={
                name: text.format(items=self.items)
                for name, text in _SCORES.items()
                if name in self.differences.overall and (name != "sentence_accuracy" or self._has_sentences)
            },
            unit=self._unit,
            shown=lambda text: Markup(shown(str(text))),
            label=lambda label: Markup(colours.label(_text(label)) if label is not None else "(no label)"),
            labelling=lambda changed, of: Markup(self._labelling(changed, of, colours)),
            points=_points,
        )

    @property
    def _has_sentences(self) -> bool:
        return self.items == "tokens" or self.scores[0].n_sentences != self.scores[0].n_tokens

    @property
    def _unit(self) -> str:
        """What is drawn with replacement for the intervals."""
        return "sentence" if self._has_sentences else self.items.removesuffix("s")

    def _colours(self) -> Labelled:
        """Return the colours of all labels; the most frequent gold labels have those that differ most."""
        by_number = sorted(self.differences.per_label, key=lambda label: -sum(self.by_label.get(label, ())))
        return Labelled(map(str, by_number), sequences=self.items == "tokens")

    def _labelling(self, changed: Changed, of: str, colours: Labelled) -> str:
        """Return a sentence with the labels "gold", "first" or "second" as HTML; wrong words are underlined.

        Labels that follow no scheme are left out where gold and both predicted labels agree.
        """
        labels = getattr(changed, of)
        words = [
            f"<span>{shown(word)}</span>" if label == true else f'<span class="wrong">{shown(word)}</span>'
            for word, label, true in zip(changed.words, labels, changed.gold, strict=True)
        ]
        agree = [len({*triple}) == 1 for triple in zip(changed.gold, changed.first, changed.second, strict=True)]
        texts, parts = ["…"] * (changed.start > 0), ["…"] * (changed.start > 0)
        for type_, start, end in colours.pieces([_text(label) for label in labels]):
            html = joined(changed.words[start:end], words[start:end])
            is_plain = colours.scheme is None and agree[start]
            parts.append(html if is_plain else colours.coloured(html, type_, shown(type_ or "")))
            texts.append("".join(changed.words[start:end]))
        if changed.end < changed.length:
            texts.append("…")
            parts.append("…")
        return joined(texts, parts)


def compare(
    gold: Any,
    first: Any,
    second: Any,
    *,
    names: tuple[str, str] = ("A", "B"),
    words: Any = None,
    scheme: str | None = None,
    title: str | None = None,
) -> Comparison:
    """Compare two models' predictions on the same data; notebooks display it, `save` writes a single HTML file.

    It has the scores of both, the differences with 95 % confidence intervals (paired bootstrap: both models are scored
    on each draw of sentences), what the second model fixes and breaks, and the sentences that changed. The predictions
    may come from any library.

    Args:
        gold: the true label sequences of sentences; or the labels of samples.
        first: predictions of the first model, such as the one in use.
        second: predictions of the second model, such as a new one.
        names: what the models are called.
        words: what to show of each token of each sentence, or of each sample; by default its number.
        scheme: tagging scheme, as in `evaluate`; None to detect it.
        title: title of the page.

    Returns:
        The tables as attributes. HTML needs Jinja2: ``pip install 'loglinear[report]'``.

    Raises:
        DataError: there are no labels, or sequences differ in number or length; see `evaluate`.
        OptionError: unknown scheme, or not two names.

    Example:
        >>> from loglinear import ChainCRF, compare
        >>> X, y = [["Dogs", "bark"], ["Cats", "sleep"]], [["NOUN", "VERB"], ["NOUN", "VERB"]]
        >>> weak = ChainCRF(template="U:%x[0,0]", l2=100.0).fit(X[:1], y[:1])
        >>> strong = ChainCRF(template="pos").fit(X, y)
        >>> comparison = compare(y, weak.predict(X), strong.predict(X), names=("weak", "strong"), words=X)
        >>> comparison.outcomes["tokens"].broken, comparison.scores[1].accuracy
        (0, 1.0)
    """
    if len(names) != 2:
        message = f"names={names!r}: give two names, one for each model"
        raise OptionError(message)
    (true, is_flat), (a, _), (b, _) = (
        _sequences(labels, called) for labels, called in ((gold, "gold"), (first, "first"), (second, "second"))
    )
    if words is None:
        shown_words = [
            [f"sample {number}"] if is_flat else [str(at + 1) for at in range(len(row))]
            for number, row in enumerate(true, start=1)
        ]
    else:
        shown_words = [[str(word) for word in row] for row in _sequences(words, "words")[0]]
        if [*map(len, shown_words)] != [*map(len, true)]:
            message = "words do not match the labels; give a word for each label of each sentence"
            raise DataError(message)
    return comparison_of(
        Compared(true, a, b, shown_words),
        names=(str(names[0]), str(names[1])),
        items="samples" if is_flat else "tokens",
        scheme="none" if is_flat else scheme,
        title=f"{names[1]} compared with {names[0]}" if title is None else title,
    )


def comparison_of(
    compared: Compared,
    *,
    names: tuple[str, str],
    items: str,
    title: str,
    scheme: str | None = None,
    settings: Mapping[str, tuple[str, str]] | None = None,
    notes: Sequence[str] = (),
) -> Comparison:
    """Return the comparison of two models' answers; see `Comparison` for the arguments.

    Raises:
        DataError: there are no labels; see `evaluate`.
    """
    gold, predicted = compared.gold, (compared.first, compared.second)
    if not any(map(len, gold)):
        message = "the data have no labels to compare with; give labelled data"
        raise DataError(message)
    scores = _scores(gold, predicted, scheme)
    has_chunks = scores[0].scheme is not None
    of_chunks = outcomes_of_chunks(gold, predicted) if has_chunks else {}
    of_labels = outcomes_of_labels(gold, predicted)
    outcomes = {items: _sum(of_labels)}
    pairs = zip(gold, *predicted, strict=True)
    of_sentences = Outcomes.of((list(a) == list(true), list(b) == list(true)) for true, a, b in pairs)
    if items == "tokens" or scores[0].n_sentences != scores[0].n_tokens:
        outcomes["sentences"] = of_sentences
    if has_chunks:
        outcomes["chunks"] = _sum(of_chunks)
    drawn = (DrawnScores(gold, predicted[0], chunks=has_chunks), DrawnScores(gold, predicted[1], chunks=has_chunks))
    frequent, n_changes = changes(gold, predicted)
    changed, n_changed = changed_sentences(gold, predicted, compared.words)
    return Comparison(
        title=title,
        names=names,
        items=items,
        data=_data(scores[0], of_labels, items),
        settings=settings or {},
        notes=notes,
        scores=scores,
        intervals=(intervals_of(drawn[0], scores[0]), intervals_of(drawn[1], scores[1])),
        differences=differences(drawn, scores),
        outcomes=outcomes,
        by_type=of_chunks,
        by_label=of_labels,
        changes=frequent,
        n_changes=n_changes,
        changed=changed,
        n_changed=n_changed,
    )


def _scores(gold: Labels, predicted: tuple[Labels, Labels], scheme: str | None) -> tuple[Evaluation, Evaluation]:
    """Return the evaluations of both models: of chunks only if the labels of both follow a scheme."""
    first, second = (evaluate(gold, labels, scheme=scheme) for labels in predicted)
    if (first.scheme is None) != (second.scheme is None):
        first, second = (evaluate(gold, labels, scheme="none") for labels in predicted)
    return first, second


def _sum(outcomes: Mapping[Any, Outcomes]) -> Outcomes:
    return Outcomes(*map(sum, zip(*outcomes.values(), strict=True))) if outcomes else Outcomes(0, 0, 0, 0)


def _data(scores: Evaluation, of_labels: Mapping[Any, Outcomes], items: str) -> dict[str, Any]:
    labels = [visible_name(str(label)) for label in sorted(of_labels)]
    rows: dict[str, Any] = {items: scores.n_tokens}
    if items == "tokens" or scores.n_sentences != scores.n_tokens:
        rows = {"sentences": scores.n_sentences, **rows}
    return rows | {"labels": f"{len(labels):,}: {listed(labels, _NAMED)}"}


def _sequences(labels: Any, called: str) -> tuple[list[Any], bool]:
    """Return label sequences as lists, those of samples with one label each, and whether they are of samples."""
    labels = as_lists(labels, called)
    if isinstance(labels, (str, bytes, dict)) or not isinstance(labels, Iterable):
        message = (
            f"{called} is of type {type(labels).__name__}, not a list of labels; compare takes the gold labels and the "
        )
        message += "labels that each model gives: compare(y, a.predict(X), b.predict(X))"
        raise DataError(message)
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in labels]
    is_flat = bool(rows) and not any(isinstance(row, (list, tuple)) for row in rows)
    return [[row] if is_flat else list(row) for row in rows], is_flat


def _text(label: object) -> str:
    return UNKNOWN if label is None else str(label)


def _points(difference: Difference, *, ends: bool = False) -> str:
    """Return a difference, or its interval, in percentage points."""
    if ends:
        return f"{100.0 * difference.low:+.2f} to {100.0 * difference.high:+.2f}"
    return f"{100.0 * difference.value:+.2f}"
