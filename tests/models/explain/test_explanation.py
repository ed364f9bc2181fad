"""Explanations of labels, held against log-probabilities and against all labellings of short sentences."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import ChainCRF

LABELS = ("A", "B", "C")


def data(seed, values=False):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(12):
        length = int(rng.integers(1, 5))
        words = rng.integers(0, 5, length)
        number = (lambda: float(rng.normal())) if values else (lambda: 1.0)
        X.append([{f"w{word}": number(), "always": 1.0} for word in words])
        y.append([LABELS[(word + rng.integers(0, 2)) % 3] for word in words])
    return X, y


@pytest.mark.filterwarnings("ignore:.*convergence:")
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 1000), order=st.sampled_from([1, 2]), values=st.booleans())
def test_contributions_add_up_to_the_difference_of_the_best_labelling_and_the_runner_up(seed, order, values):
    X, y = data(seed, values)
    crf = ChainCRF(l2=0.3, order=order, max_iterations=8).fit(X, y)
    for tokens in X[:4]:
        explanation = crf.explain(tokens)
        best = explanation.labels
        every = list(itertools.product(crf.classes_, repeat=len(tokens)))
        scores = dict(zip(every, crf.log_probability([tokens] * len(every), every), strict=True))
        assert scores[tuple(best)] == pytest.approx(max(scores.values()), abs=1e-9)
        for token in explanation:
            rivals = [scores[each] for each in every if each[token.token] != token.label]
            assert token.runner_up[token.token] == token.other != token.label
            assert scores[tuple(token.runner_up)] == pytest.approx(max(rivals), abs=1e-9)
            assert token.difference == pytest.approx(scores[tuple(best)] - max(rivals), abs=1e-9)
            weights = [each.weight for each in token.contributions]
            assert sum(weights) == pytest.approx(token.difference, abs=1e-9)
            assert [abs(weight) for weight in weights] == sorted(map(abs, weights), reverse=True)
        marginals = crf.predict_marginals([tokens])[0]
        for token, row in zip(explanation, marginals, strict=True):
            assert token.probability == pytest.approx(row[token.label])
            assert token.other_probability == pytest.approx(row[token.other])


@pytest.mark.parametrize("order", [1, 2])
def test_the_runner_up_keeps_to_the_constraints(order):
    forbidden = [("A", "B"), (None, "C"), ("B", None)]
    X, _ = data(3)
    y = [[*("BC"[at % 2] for at in range(len(tokens) - 1)), "A"] for tokens in X]
    crf = ChainCRF(l2=0.3, order=order, constraints=forbidden).fit(X, y)
    several = 0
    for tokens in X:
        explanation = crf.explain(tokens)
        every = list(itertools.product(crf.classes_, repeat=len(tokens)))
        scores = dict(zip(every, crf.log_probability([tokens] * len(every), every), strict=True))
        for token in explanation:
            rivals = [scores[each] for each in every if each[token.token] != token.label]
            if not np.isfinite(max(rivals)):
                assert (token.other, token.contributions) == (None, [])
                continue
            several += 1
            assert token.difference == pytest.approx(scores[tuple(explanation.labels)] - max(rivals), abs=1e-9)
    assert several > 3


def test_attributes_of_transitions_take_part():
    template = "U00:%x[0,0]\nB\nB01:%x[0,0]\nB02:%x[-1,0]/%x[0,0]\n"
    X = [[("a",), ("b",), ("a",)], [("b",), ("a",)], [("b",), ("b",), ("a",)]]
    y = [["A", "B", "A"], ["B", "A"], ["A", "B", "B"]]
    crf = ChainCRF(template=template, l2=0.1).fit(X, y)
    for tokens in X:
        explanation = crf.explain(tokens)
        assert [each.text for each in explanation] == [word for (word,) in tokens]
        assert explanation.labels == crf.predict([tokens])[0]
        every = list(itertools.product(crf.classes_, repeat=len(tokens)))
        scores = dict(zip(every, crf.log_probability([tokens] * len(every), every), strict=True))
        for token in explanation:
            rivals = [scores[each] for each in every if each[token.token] != token.label]
            assert token.difference == pytest.approx(max(scores.values()) - max(rivals), abs=1e-9)
    assert any(each.feature.startswith("B02:") for token in explanation for each in token.contributions)


def test_explanations_are_shown_as_text_and_as_html_without_loss_or_markup():
    X = [[{"<b>": 1.0, "x": 1.0}, {"y": 1.0}]]
    crf = ChainCRF(l2=0.1).fit(X, [["<A>", "B"]])
    explanation = crf.explain(X[0])
    shown = explanation._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    assert "&lt;A&gt;" in shown
    for each in explanation[0].contributions:
        assert f"{each.weight:+.3f}" in str(explanation)
    assert "1 other" in explanation.text(len(explanation[0].contributions) - 1)
    json.dumps(explanation.to_dict())


def test_tokens_are_shown_by_their_first_column():
    X, y = [[["Ada", "NE"], ["met", "V"]]], [["P", "O"]]
    explanation = ChainCRF(l2=0.1, template="U:%x[0,1]\nB\n").fit(X, y).explain(X[0])
    lines = str(explanation).splitlines()
    assert [each.text for each in explanation] == ["Ada", "met"]
    assert all(any(line.startswith(f"{word}  ") or f" {word}  " in line for line in lines) for word in ("Ada", "met"))


def test_features_of_templates_have_names_that_people_read():
    X, y = [["a", "dog"], ["the", "cat"]] * 4, [["D", "N"], ["D", "N"]] * 4
    explanation = ChainCRF(template="pos").fit(X, y).explain(["the", "dog"])
    names = {contribution.feature: contribution.name for contribution in explanation[0].contributions}
    assert names["U03:dog"] == "next word = dog"
    assert names["U01:_B-1"] == "previous word = (start)"
    assert names["D > N, not N > N"] == "D > N, not N > N"
    assert "next word = dog" in explanation.text(99)
    assert "U03" not in explanation.text(99)
