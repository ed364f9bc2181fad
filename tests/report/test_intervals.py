"""Laws of the confidence intervals: they are those of scores of sentences that are drawn anew."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loglinear import evaluate
from loglinear.bootstrap import resamples
from loglinear.report.intervals import bootstrap


def labelled(n_sentences):
    """Gold labels, and predicted ones with some mistakes."""
    draw = random.Random(3)
    names = ["O", "B-PER", "I-PER", "B-LOC"]
    gold = [draw.choices(names, [4, 2, 2, 1], k=draw.randint(1, 9)) for _ in range(n_sentences)]
    predicted = [[y if draw.random() < 0.8 else draw.choice(names) for y in sentence] for sentence in gold]
    return gold, predicted


@pytest.mark.parametrize("scheme", [None, "none", "IOB2"])
def test_an_interval_has_the_percentiles_of_evaluations_of_sentences_drawn_anew(scheme):
    gold, predicted = labelled(40)
    scores = evaluate(gold, predicted, scheme=scheme)
    found = bootstrap(gold, predicted, scores, draws=150, seed=7)
    drawn = [
        evaluate([gold[i] for i in picks], [predicted[i] for i in picks], scheme=scheme)
        for picks in resamples(len(gold), 150, 7)
    ]
    nothing = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    wanted = {name: [getattr(each, name) for each in drawn] for name in found.overall}
    assert ("f1" in wanted) == (scheme != "none")
    for name, values in wanted.items():
        assert found.overall[name] == pytest.approx(np.percentile(values, [2.5, 97.5])), name
    for kind, rows in (("per_label", found.per_label), ("per_type", found.per_type)):
        assert rows.keys() == getattr(scores, kind).keys()
        for label, intervals in rows.items():
            for name, interval in intervals.items():
                values = [getattr(each, kind).get(label, nothing)[name] for each in drawn]
                assert interval == pytest.approx(np.percentile(values, [2.5, 97.5])), (label, name)


def test_equal_seeds_give_equal_intervals_and_one_sentence_an_interval_of_a_point():
    gold, predicted = labelled(20)
    scores = evaluate(gold, predicted)
    assert bootstrap(gold, predicted, scores, draws=70) == bootstrap(gold, predicted, scores, draws=70)
    one = bootstrap(gold[:1], predicted[:1], evaluate(gold[:1], predicted[:1]), draws=5)
    assert one.overall["accuracy"].low == one.overall["accuracy"].high


def test_a_token_without_a_label_is_wrong():
    gold, predicted = [["B-PER", "O"], ["O"]], [[None, None], ["O"]]
    found = bootstrap(gold, predicted, evaluate(gold, predicted), draws=50)
    assert found.overall["sentence_accuracy"] == (0.0, 1.0)
    assert found.per_label["B-PER"]["recall"] == (0.0, 0.0)
