"""Show what a model holds: features, labels, template, strongest weights, how it was trained.

Of a network: variables with their states, and the strongest interactions. Of an encoded corpus: sizes, labels,
template, and whether its files are whole.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from ...data.corpus import Corpus, is_corpus
from ...data.features import Feature
from ...models.files.settings import kind_of
from ..options import add_json, count
from ..output import counted, ended, scores_text
from ..reading import open_model

EXAMPLE = "example: loglinear inspect chunker.loglinear --top 10"
# Arguments that are files to read, and files to write.
READS: tuple[str, ...] = ("model",)
WRITES: tuple[str, ...] = ()


# Programs by the formats of their models.
_PROGRAMS = {"crfsuite": "CRFsuite", "wapiti": "Wapiti", "crf++": "CRF++", "crf++-text": "CRF++"}
# What the training's summary tells where it applies.
_KNOWN = ("gap", "n_sentences", "n_tokens", "n_samples", "start", "dev", "kept")


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("model", metavar="MODEL", help="model file, or the folder of an encoded corpus")
    parser.add_argument("--top", type=count, default=20, metavar="N", help="how many of the strongest weights (20)")
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Inspect."""
    if is_corpus(arguments.model):
        _inspect_corpus(arguments)
        return
    if kind_of(arguments.model) == "network":
        from ..networks import inspect

        inspect(arguments)
        return
    opened, settings = open_model(arguments.model)
    states = [{"attribute": a, "label": label, "weight": w} for a, label, w in opened.state_features()]
    moves = [{"from": before, "label": label, "weight": w} for before, label, w in opened.transition_features()]
    moves += [
        {"attribute": a, "from": before, "label": label, "weight": w}
        for a, before, label, w in opened.bigram_features()
    ]
    moves += [
        {"before": first, "from": middle, "label": label, "weight": w}
        for first, middle, label, w in opened.triple_features()
    ]
    training = settings.get("training", {})
    report: dict[str, Any] = {
        "n_features": training.get("n_features"),
        "n_active": opened.n_features,
        "n_attributes": opened.n_attributes,
        "labels": opened.labels,
        **{name: settings.get(name) for name in ("solver", "l1", "l2", "format", "tolerance", "min_count", "order")},
        **{
            name: training.get(name)
            for name in ("chosen", "status", "objective", "nll", "violation", "iterations", "passes")
        },
        "seconds": training.get("seconds"),
        "constraints": settings.get("constraints"),
        "imported": settings.get("imported"),
        **{name: training[name] for name in _KNOWN if name in training},
        **({"text": _text(settings["text"])} if "text" in settings else {}),
        "template": opened.template,
        "top_states": _strongest(states, arguments.top),
        "top_transitions": _strongest(moves, arguments.top),
    }
    print(json.dumps(report) if arguments.json else render(report))


def _inspect_corpus(arguments: Namespace) -> None:
    """Show what an encoded corpus holds, after a look at all of its files."""
    corpus = Corpus.open(arguments.model)
    corpus.core.check()
    report = {
        "n_sentences": len(corpus),
        "n_tokens": corpus.n_tokens,
        "n_entries": corpus.core.n_entries,
        "n_attributes": corpus.n_attributes,
        "labels": corpus.labels,
        "format": corpus.format,
        "checksum": corpus.core.checksum,
        "template": corpus.template,
    }
    if arguments.json:
        print(json.dumps(report))
        return
    size = f"{counted(len(corpus), 'sentence')}, {counted(corpus.n_tokens, 'token')}"
    print(
        f"encoded corpus   {size}, format {corpus.format}\n"
        f"attributes       {corpus.n_attributes:,}, {corpus.core.n_entries:,} on all tokens together\n"
        f"labels           {len(corpus.labels)}: {' '.join(corpus.labels)}\n"
        f"files            whole, checksum {corpus.core.checksum}"
        + ("" if corpus.template is None else f"\ntemplate\n\n{corpus.template.rstrip()}")
    )


def _strongest(features: list[dict[str, Any]], top: int) -> list[dict[str, Any]]:
    return sorted(features, key=lambda feature: -abs(feature["weight"]))[:top]


def render(report: dict[str, Any]) -> str:
    """Return the report for people."""
    from ...result import distance, violation_text

    candidates = f" of {report['n_features']:,}" if report["n_features"] is not None else ""
    lines = [
        f"active features  {report['n_active']:,}{candidates}, on {report['n_attributes']:,} attributes",
        f"labels           {len(report['labels'])}: {' '.join(report['labels'])}",
    ]
    if report["imported"] is not None:
        lines.append(f"imported from    a model of {_PROGRAMS[report['imported']]}, format {report['format']}")
    else:
        penalties = f"l1 {report['l1']}, l2 {report['l2']}"
        lines.append(f"trained with     {report['solver']}, {penalties}, format {report['format']}")
    if report["chosen"] is not None:
        lines.append(f"                 {report['solver']} chose {report['chosen']}")
    if report["status"] is not None:
        lines += [
            f"                 on {_size(report)}",
            f"ended            {ended(report)}",
            f"                 objective {report['objective']:.4f}, {violation_text(report['violation'])}",
        ]
    if "gap" in report:
        lines.append(f"                 {distance(report['gap'], report['objective'])}")
    if "text" in report:
        lines.append(f"texts            {_words(report['text'])}")
    if report["constraints"] is not None:
        named = isinstance(report["constraints"], str)
        pairs = f"{len(report['constraints'])} pairs of labels are forbidden"
        lines.append(f"constraints      {report['constraints'] if named else pairs}")
    if "start" in report:
        from ...result import WarmStart

        lines.append(f"start            {WarmStart(**report['start'])}")
    if "dev" in report:
        kept = f"; of iteration {report['kept']}" if "kept" in report else ""
        lines.append(f"dev              {scores_text(report['dev'])}{kept}")
    for title, features in (("states", report["top_states"]), ("transitions", report["top_transitions"])):
        if features:
            lines += ["", f"strongest {title}"]
            lines += [f"{feature['weight']:+10.4f}  {_name(feature)}" for feature in features]
    if report["template"]:
        lines += ["", "template", report["template"].rstrip()]
    return "\n".join(lines)


def _text(settings: dict[str, Any]) -> dict[str, Any]:
    """Return how texts are turned into attributes, without the words themselves."""
    return {"ngrams": settings["ngrams"], "tfidf": settings["idf"] is not None}


def _words(text: dict[str, Any]) -> str:
    """Say how texts are turned into attributes."""
    first, last = text["ngrams"]
    lengths = "words" if last == 1 else f"sequences of {first if first == last else f'{first} to {last}'} words"
    return lengths + (", weighed by their rarity (tf-idf)" if text["tfidf"] else ", counted")


def _size(report: dict[str, Any]) -> str:
    if "n_samples" in report:
        return counted(report["n_samples"], "sample")
    return f"{counted(report['n_sentences'], 'sentence')}, {counted(report['n_tokens'], 'token')}"


def _name(feature: dict[str, Any]) -> str:
    labels = tuple(feature[name] for name in ("before", "from", "label") if name in feature)
    return str(Feature(feature.get("attribute"), labels))
