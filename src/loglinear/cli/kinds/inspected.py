"""What `loglinear inspect` shows of a model whose features have labels, and of the training of any model."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...models.files.schema import PROGRAMS
from ...models.files.settings import trained_from, trained_on
from ...trace import scores_text
from ...visible import counted, visible_name
from ..ending import least_share
from ..output import bias_text

if TYPE_CHECKING:
    from ...data.features import Feature

__all__ = ["shown", "training_lines"]

# Entries of the training's summary that only some trainings have.
_TOLD = ("gap", "n_sentences", "n_tokens", "n_samples", "start", "prior", "dev", "kept")


def shown(
    features: Sequence[tuple[Feature, float]],
    about: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    top: int,
    as_json: bool,
) -> str:
    """Return what a model holds and how it was trained, as JSON or for people.

    Args:
        features: features with their weights.
        about: `n_attributes`, `labels` and `template` of the model, and where it has them `called`, which returns what
            people call some attributes, and `has_intercept`.
        settings: how it was trained.
        top: number of the strongest weights to show.
        as_json: whether to return JSON.
    """
    from ...data.lexicons import lexicons_of, without_lexicons
    from ...data.templates import attribute_names

    lexicons = lexicons_of(about["template"])
    states, moves = (
        [feature for feature in features if (len(feature[0].labels) > 1) == moves] for moves in (False, True)
    )
    training = settings.get("training", {})
    called = about.get("called", partial(attribute_names, about["template"]))
    report: dict[str, Any] = {
        "n_features": training.get("n_features"),
        "n_active": len(features),
        "n_attributes": about["n_attributes"],
        "n_columns": settings.get("n_columns"),
        "intercept": about.get("has_intercept", False),
        "labels": about["labels"],
        **{name: settings.get(name) for name in ("solver", "l1", "l2", "format", "tolerance", "min_count", "order")},
        **{
            name: training.get(name)
            for name in ("chosen", "status", "objective", "nll", "violation", "iterations", "passes", "seconds")
        },
        "constraints": settings.get("constraints"),
        **{
            name: settings[name]
            for name in ("temperature", "label_bias", "tokenizer")
            if settings.get(name) is not None
        },
        "imported": settings.get("imported"),
        **{name: settings[name] for name in ("inference",) if name in settings},
        **{name: training[name] for name in _TOLD if name in training},
        **({"text": _text(settings["text"])} if "text" in settings else {}),
        "template": None if about["template"] is None else without_lexicons(about["template"]),
        **({"lexicons": [lexicon._asdict() for lexicon in lexicons]} if lexicons else {}),
        "top_states": _strongest(states, top, called),
        "top_transitions": _strongest(moves, top, called),
    }
    return json.dumps(report) if as_json else _rendered(report, trained_from(settings), settings.get("gap"))


def _strongest(
    features: Sequence[tuple[Feature, float]], top: int, called: Callable[[Iterable[str | None]], Mapping[str, str]]
) -> list[dict[str, Any]]:
    strongest = sorted(features, key=lambda pair: -abs(pair[1]))[:top]
    called_by = called(feature.attribute for feature, _ in strongest)
    rows = []
    for feature, weight in strongest:
        name = feature.attribute
        attribute = {} if name is None else {"attribute": name, "name": called_by[name]}
        names = ("before", "from", "label")[-len(feature.labels) :]
        rows.append({**attribute, **dict(zip(names, feature.labels, strict=True)), "weight": weight})
    return rows


def _rendered(report: dict[str, Any], format: str | None, requested_gap: float | None) -> str:
    from ...data.features import Feature
    from ...data.lexicons import LexiconFacts
    from ...data.templates import without_comments
    from ...result import distance

    attributes = "word" if "text" in report else "column" if report["n_columns"] is not None else "attribute"
    candidates = f" of {report['n_features']:,}" if report["n_features"] is not None else ""
    on = counted(report["n_attributes"], attributes)
    if report["n_columns"] not in (None, report["n_attributes"]):
        on = f"{report['n_attributes']:,} of {counted(report['n_columns'], attributes)}"
    on += " and the intercept" if report["intercept"] else ""
    lines = [
        f"active features  {report['n_active']:,}{candidates}, on {on}",
        f"labels           {len(report['labels'])}: {' '.join(map(visible_name, report['labels']))}",
    ]
    if report["imported"] is not None:
        lines.append(f"imported from    a model of {PROGRAMS[report['imported']]}, format {report['format']}")
    else:
        data = f"format {format}" if "inference" not in report else f"inference {report['inference']}"
        lines.append(f"trained with     {report['solver']}, l1 {report['l1']:g}, l2 {report['l2']:g}, {data}")
    if report["chosen"] is not None:
        lines.append(f"                 {report['solver']} chose {report['chosen']}")
    lines += training_lines(report)
    if "gap" in report:
        gap, objective = report["gap"], report["objective"]
        # As at the end of the training.
        told = None if gap is None else max(gap, least_share(requested_gap) * abs(objective))
        lines.append(f"                 {distance(told, objective)}")
    if "text" in report:
        lines.append(f"texts            {_words(report['text'])}")
    if report["constraints"] is not None:
        named = isinstance(report["constraints"], str)
        pairs = counted(len(report["constraints"]), "forbidden pair") + " of labels"
        lines.append(f"constraints      {report['constraints'] if named else pairs}")
    if "temperature" in report:
        lines.append(f"temperature      {report['temperature']:.4g}, by which the weights were divided after training")
    if "label_bias" in report:
        lines.append(f"label bias       {bias_text(report['label_bias'])}, added to the scores at every token")
    if "tokenizer" in report:
        lines.append(f"tokenizer        {visible_name(report['tokenizer'])}, by which raw text is cut (tag --text)")
    if "start" in report:
        from ...result import WarmStart

        lines.append(f"start            {WarmStart(**report['start'])}")
    if "prior" in report:
        from ...result import Prior

        strength = report["prior"]["strength"]
        prior = Prior(**{**report["prior"], "strength": math.inf if strength is None else strength})
        lines.append(f"prior            {prior}")
    if "dev" in report:
        lines.append(f"dev              {scores_text(report['dev'])}")
    for at, lexicon in enumerate(report.get("lexicons", ())):
        lines.append(f"{'' if at else 'lexicons':16} {LexiconFacts(**lexicon)}")
    for title, features in ((f"{attributes}s", report["top_states"]), ("transitions", report["top_transitions"])):
        if features:
            lines += ["", f"strongest {title}"]
        for strong_feature in features:
            labels = tuple(strong_feature[name] for name in ("before", "from", "label") if name in strong_feature)
            lines.append(f"{strong_feature['weight']:+10.4f}  {Feature(strong_feature.get('name'), labels)}")
    if report["template"]:
        lines += ["", "template", without_comments(report["template"])]
    return "\n".join(lines)


def training_lines(training: Mapping[str, Any]) -> list[str]:
    """Return how a training ended and what it cost, from its summary in a model file."""
    from ...result import kept_text, status_text, violation_text

    if training.get("status") is None:
        return []
    cost = [counted(training["iterations"], "iteration")]
    if training.get("passes") is not None:
        cost.append(f"{training['passes']:g} pass{'' if training['passes'] == 1 else 'es'}")
    return [
        f"                 on {trained_on(training, of_texts='text' in training)}",
        f"ended            {status_text(training['status'])}; {', '.join(cost)}, {training['seconds']:.1f} s",
        *([f"                 {kept_text(training['kept'])}"] if "kept" in training else []),
        f"                 objective {training['objective']:.4f}, {violation_text(training['violation'])}",
    ]


def _text(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return how texts are turned into attributes, without the words themselves."""
    tfidf = settings["idf"] is not None or settings.get("document_counts") is not None
    return {"words": settings.get("unit"), "ngrams": settings["ngrams"], "tfidf": tfidf}


def _words(text: Mapping[str, Any]) -> str:
    """Say how texts are turned into attributes."""
    first, last = text["ngrams"]
    kind, _, lengths = (text["words"] or "words of two or more letters or digits").partition(":")
    if lengths:
        kind = f"sequences of {lengths.replace('-', ' to ')} characters"
    elif kind == "blanks":
        kind = "words between blanks"
    if last > 1:
        kind = f"sequences of {first if first == last else f'{first} to {last}'} {kind}"
    return kind + (", weighted by tf-idf" if text["tfidf"] else ", counted")
