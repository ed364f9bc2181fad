"""The scripts of examples/ run without a warning, make a figure, and what their text says of the results holds."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import by_day

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
Names = dict[str, Any]


def addresses(names: Names) -> bool:
    """Most mistakes are in the tenth of the addresses that the model is least sure of."""
    wrong, order, tenth = names["wrong"], names["order"], names["tenth"]
    return 20 < wrong.sum() < 200 and wrong[order[:tenth]].sum() > wrong.sum() / 2


def documents(names: Names) -> bool:
    """A stronger penalty leaves fewer words, and the smallest models make more mistakes."""
    n_words, accuracy = names["n_words"], names["accuracy"]
    small_talk = {"hello", "morning", "kind", "regards", "thank"}
    strongest = {names["words"][k] for row in names["classifier"].coef_ for k in (-row).argsort()[:6]}
    return n_words == sorted(n_words) and accuracy[0] < accuracy[2] < accuracy[-1] and not strongest & small_talk


def entities(names: Names) -> bool:
    """The rule leaves no impossible label, helps in training where sentences are few, and afterwards everywhere."""
    (without, afterwards, training), broken = names["f1"], names["broken"]
    helps = training[0] > without[0] + 0.02 and (afterwards > without).all() and training[0] > afterwards[0]
    return helps and afterwards[-1] > training[-1] - 0.005 and broken[0, 0] > 20 and not broken[1:].any()


def notebook(names: Names) -> bool:
    """Tables have the figures of their objects, and the sentence has the labels that a reader expects."""
    objective, scores = names["trace"]["objective"].tolist(), names["scores"]
    recall = {label: score["recall"] for label, score in scores.per_label.items()}
    named = names["frame"]["recall"].to_dict() == recall and objective[-1] == names["crf"].result_.objective
    labels = names["taggings"][0].labels == ["B-PER", "I-PER", "O", "O", "B-LOC"]
    edges = {frozenset(edge.variables) for edge in names["edges"][:2]}
    return named and labels and edges == {frozenset({"rain", "street is wet"}), frozenset({"rain", "mood"})}


def own_objective(names: Names) -> bool:
    """The gradient is right, the best strength is inside the path, and there all six effects are found."""
    best, points = names["best"], names["followed"].points
    inside = best is not points[0] and best is not points[-1]
    return names["difference"] < 1e-5 * names["size"] and inside and all(best.result.w[: len(names["effects"])])


def partial_labels(names: Names) -> bool:
    """The dictionary brings more than half of what labels of all words would bring."""
    few, dictionary, full = names["accuracy"].values()
    return few < (few + full) / 2 < dictionary < full


def page_parts(names: Names) -> bool:
    """Nearly all elements are told by their place in the tree, whose inference is exact, fewer by themselves."""
    alone, tree = names["accuracy"].values()
    return alone < 0.97 < tree and names["tree"].exact_


def pipeline(names: Names) -> bool:
    """The surer half of the entities has hardly a mistake, all have some, and the rule's entity comes first."""
    precision, first = names["precision"], names["ruled"].ents[0]
    half = len(precision) // 2
    return precision[half] > 0.99 > precision[-1] and (first.label_, first._.probability) == ("DAY", None)


def segmentation(names: Names) -> bool:
    """Neighbours tell most of what pixels alone get wrong, and the weights of pairs have no direction."""
    alone, joint = names["accuracy"].values()
    weights = names["field"].edge_weights_[0]
    return 1.0 - joint < (1.0 - alone) / 2 and (weights == weights.T).all() and weights.argmax() in {0, 4, 8}


def structured_svm(names: Names) -> bool:
    """The objective is right; the hinge keeps more and makes fewer mistakes at a strength, hardly so at equal size."""
    right = names["difference"] < 1e-4 * names["size"] and 0.0 < names["above"] < names["T"] * np.log(289)
    likelihood, hinge = names["curves"].values()
    wins = all(more[0] > less[0] and more[1] > less[1] for less, more in zip(likelihood, hinge, strict=True))
    sizes, accuracies = np.transpose(likelihood)
    between = [(accuracy, np.interp(size, sizes, accuracies)) for size, accuracy in hinge if 400 < size <= max(sizes)]
    return right and wins and len(between) > 1 and all(abs(one - other) < 0.02 for one, other in between)


def survey(names: Names) -> bool:
    """The network has the edges of the rules and no others; the correlations are more."""
    return set(names["edges"]) == names["rules"] < set(names["significant"])


HOLDS: dict[str, Callable[[Names], bool]] = {
    each.__name__: each
    for each in (
        addresses,
        documents,
        entities,
        notebook,
        own_objective,
        page_parts,
        partial_labels,
        pipeline,
        segmentation,
        structured_svm,
        survey,
    )
}


@pytest.mark.parametrize(
    "example", by_day(EXAMPLES, lambda example: example.stem == "own_objective"), ids=lambda example: example.stem
)
def test_an_example_runs_and_what_it_says_holds(example, monkeypatch, tmp_path, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figures: list[int] = []
    monkeypatch.setattr(pyplot, "show", lambda: figures.extend(pyplot.get_fignums()))
    monkeypatch.chdir(tmp_path)
    try:
        names = runpy.run_path(str(example))
    finally:
        pyplot.close("all")
    assert figures
    assert capsys.readouterr().out
    assert HOLDS[example.stem](names), HOLDS[example.stem].__doc__
    assert list(tmp_path.iterdir()) == []


def test_every_example_has_a_line_of_what_holds():
    assert [example.stem for example in EXAMPLES] == sorted(HOLDS)
