"""Reports of models on labelled data: what the estimators and the command line give to the pages of `report/`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from ...calibration import Calibration
from ...data.templates import PRESETS, without_comments
from ...errors import DataError
from ...metrics import Evaluation, evaluate
from ...report.cross_validation import CrossValidation
from ...report.entities import Entities, entities
from ...report.intervals import Intervals, bootstrap
from ...report.mistakes import Confusions, Mistake, confusions, mistakes
from ...report.page import Reasons, Report
from ...report.weights import strongest, transitions
from ...result import kept_text, status_text
from ...trace import TraceRecord, scores_text, upper_bound
from ..files.chain import ChainModel, attributes_called, columns_counted, weighted_features
from ..files.settings import trained_from, trained_on
from .answers import Answers
from .mistake_explanations import Explain, reasons_of

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...data.features import Feature

__all__ = [
    "file_rows",
    "judged",
    "labels_text",
    "make_report",
    "model_rows",
    "preset_of",
    "settings_rows",
    "training_rows",
]

# Number of labels that the table about the data lists.
_NAMED = 30
_NO_PROBABILITIES = "a one-vs-rest model has no joint probabilities, so there is no calibration"


class Judged(TypedDict):
    """The fields of a `Report` that follow from a model's answers."""

    items: str
    scores: Evaluation
    intervals: Intervals
    confusions: Confusions
    entities: Entities | None
    mistakes: list[Mistake]
    reasons: Reasons | None
    calibrations: dict[str, Calibration]


def judged(answers: Answers, items: str, explain: Explain | None, scheme: str | None = "none") -> Judged:
    """Return what a report says of a model's answers.

    Args:
        answers: of the model.
        items: what has labels, such as "tokens".
        explain: explains sentences, for the mistakes that are listed; None if the model cannot.
        scheme: tagging scheme of the labels, as in `evaluate`.
    """
    gold, predicted = answers.gold, answers.predicted
    scores = evaluate(gold, predicted, scheme=scheme)
    sure = None if answers.taggings is None else [tagging.probabilities for tagging in answers.taggings]
    by_label = mistakes(gold, predicted, answers.words, sure)
    by_entity = None if scores.scheme is None else entities(gold, predicted, answers.words, sure)
    reasons = None
    if explain is not None and by_label:
        reasons = reasons_of(by_entity, by_label, explain, map(str, scores.per_label), [*map(len, gold)])
    return {
        "items": items,
        "scores": scores,
        "intervals": bootstrap(gold, predicted, scores),
        "confusions": confusions(scores),
        "entities": by_entity,
        "mistakes": by_label,
        "reasons": reasons,
        "calibrations": answers.calibrations(items),
    }


def make_report(
    model: ChainModel,
    answers: Answers,
    *,
    title: str,
    items: str,
    command: str | None,
    trace: Sequence[TraceRecord],
    explain: Explain | None,
    scheme: str | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Return the report of a chain or a classifier on labelled data; see `Report` for the other arguments.

    Raises:
        DataError: there are no tokens.
    """
    if not any(answers.gold):
        message = "the data have no labelled tokens; give labelled data"
        raise DataError(message)
    features = list(weighted_features(model))
    training = json.loads(model.settings).get("training") or {}
    chosen = training.get("cross_validation")
    return Report(
        **judged(answers, items, explain, scheme),
        title=title,
        data=_data(answers, model, features, items),
        settings=model_rows(model),
        command=command,
        template=None if model.template is None else without_comments(model.template),
        notes=[*notes, *([] if answers.taggings is not None else [_NO_PROBABILITIES])],
        trace=trace,
        kept=training.get("kept"),
        cross_validation=None if chosen is None else CrossValidation.of_dict(chosen),
        strongest=strongest(features, model.labels, partial(attributes_called, model)),
        transitions=transitions(features, model.labels),
    )


def _data(
    answers: Answers, model: ChainModel, features: Sequence[tuple[Feature, float]], items: str
) -> dict[str, object]:
    n_tokens, n_sentences = sum(map(len, answers.gold)), len(answers.gold)
    labels = sorted({str(label) for sequence in answers.gold for label in sequence})
    rows: dict[str, object] = {items: n_tokens}
    if n_sentences != n_tokens:
        rows = {"sentences": n_sentences, **rows, "tokens per sentence": f"{n_tokens / n_sentences:.1f} on average"}
    rows["labels"] = labels_text(labels, _NAMED)
    if unknown := sorted({*labels} - {*model.labels}):
        rows["labels that the model does not know"] = ", ".join(unknown)
    if answers.corpus is not None:
        rows |= _attributes(answers.corpus, {feature.attribute for feature, _ in features})
    return rows


def _attributes(corpus: Corpus, names: set[str | None]) -> dict[str, object]:
    """Return the number of attributes of the data that have a weight."""
    import numpy as np

    has_weight = np.array([name in names for name in corpus.core.names()], dtype=bool)
    _, ids, _ = corpus.core.rows()
    rows: dict[str, object] = {"attributes": has_weight.size}
    if has_weight.size and ids.size:
        rows["attributes without a weight"] = f"{np.sum(~has_weight):,} ({100.0 * np.mean(~has_weight):.1f} %)"
        share = 100.0 * np.mean(~has_weight[ids])
        rows["the same, by occurrence"] = f"{np.sum(~has_weight[ids]):,} of {ids.size:,} ({share:.1f} %)"
    return rows


def model_rows(model: ChainModel) -> dict[str, str]:
    """Return the rows of the table on the model and its training, without those that its file knows nothing of."""
    settings = json.loads(model.settings)
    training = settings.get("training") or {}
    kind = "classifier" if settings.get("model") == "maxent" else "linear-chain CRF"
    order = {1: ", first order", 2: ", second order"}.get(settings.get("order", 0), "")
    n_columns, noun = columns_counted(model)
    rows = {
        "model": kind + order,
        "features with a weight": model.n_features,
        "features in training": training.get("n_features"),
        f"{noun}s with a weight": n_columns,
        "solver": settings.get("solver"),
        "chosen solver": training.get("chosen"),
        "l1": settings.get("l1"),
        "l2": settings.get("l2"),
        "minimum count of an attribute": settings.get("min_count"),
        "constraints": settings.get("constraints"),
        "tokenizer": settings.get("tokenizer"),
        "format": trained_from(settings),
        "imported from": settings.get("imported"),
        "trained on": trained_on(training, of_texts="text" in settings) or None,
        **file_rows(settings.get("files") or {}),
        **training_rows(training),
        "version of loglinear": settings.get("loglinear"),
    }
    return settings_rows(rows)


def file_rows(files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the names of the files of a training as rows of the table; see `origin.files_of`."""
    return {f"{role} file{'s' * (len(names) > 1)}": ", ".join(names) for role, names in files.items()}


def settings_rows(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the settings of a model as the texts of a table."""
    present = {name: value for name, value in settings.items() if value is not None}
    return {name: f"{value:,}" if isinstance(value, int) else str(value) for name, value in present.items()}


def training_rows(training: Mapping[str, Any]) -> dict[str, object]:
    """Return how a training ended, and what it cost."""
    if "status" not in training:
        return {}
    objective, violation, seconds = (training.get(name) for name in ("objective", "violation", "seconds"))
    dev, gap, best = training.get("dev") or {}, training.get("gap"), training.get("kept")
    return {
        "date of training": training.get("date"),
        "ended": status_text(training["status"]),
        "iterations": training.get("iterations"),
        "objective": None if objective is None else f"{objective:,.4f} nats",
        "distance from the optimum": None
        if objective is None or gap is None
        else f"at most {upper_bound(gap, objective)}",
        "violation": None if violation is None or math.isnan(violation) else f"{violation:.3g}",
        "time": None if seconds is None else f"{seconds:.1f} s",
        "weights": None if best is None else kept_text(best).removeprefix("weights "),
        "scores on development data": scores_text(dev) or None,
    }


def preset_of(template: str | None) -> str | None:
    """Return the name of the preset with this text."""
    return next((name for name, preset in PRESETS.items() if template == preset.text), None)


def labels_text(labels: Iterable[Any], most: int) -> str:
    """Return how many labels there are, and the names of the first ones."""
    names = [str(label) for label in labels]
    return f"{len(names):,}: {', '.join(names[:most])}{', …' if len(names) > most else ''}"
