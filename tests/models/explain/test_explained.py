"""Explanations of classifiers' samples and of networks' variables, held against scores and against enumeration."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.special

from loglinear import MaxEnt, PairwiseMRF
from loglinear.models.explain.explanation import Explanation
from loglinear.models.text_classifier import TextClassifier


def samples(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.6)
    second = X[:, 0] * 2 + X[:, 1] + rng.normal(size=60) > 0
    return X, second.astype(int) + (n_classes > 2) * (X[:, 2] > 0.5)


def check(entry):
    weights = [each.weight for each in entry.contributions]
    assert sum(weights) == pytest.approx(entry.difference, abs=1e-9)
    assert [abs(weight) for weight in weights] == sorted(map(abs, weights), reverse=True)
    assert 0.0 not in weights


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["array", "sparse", "sparse weights", "table"])
def test_contributions_to_a_class_add_up_to_the_difference_of_the_scores(kind, n_classes, multi_class):
    X, y = samples(n_classes)
    made = {"sparse": scipy.sparse.csr_array, "table": lambda x: pd.DataFrame(x, columns=list("abcde"))}
    X = made.get(kind, np.array)(X)
    model = MaxEnt(l2=0.3, multi_class=multi_class, class_weight="balanced").fit(X, y)
    model = model.sparsify() if kind == "sparse weights" else model
    explanation = model.explain(X)
    scores = model.decision_function(X)
    scores = np.stack([0.0 * scores, scores], 1) if scores.ndim == 1 else scores
    assert len(explanation) == len(y)
    assert explanation.labels == [str(each) for each in model.predict(X)]
    for at, entry in enumerate(explanation):
        check(entry)
        first, second = int(entry.label), int(entry.other)
        assert second == int(np.argsort(scores[at])[-2])
        assert entry.difference == pytest.approx(scores[at, first] - scores[at, second], abs=1e-9)
        sure = model.predict_proba(X)[at]
        assert (entry.probability, entry.other_probability) == pytest.approx((sure[first], sure[second]))
        if multi_class == "softmax" or n_classes == 2:
            assert entry.difference == pytest.approx(np.log(sure[first] / sure[second]), abs=1e-9)
        names = "abcde" if kind == "table" else [f"column {column}" for column in range(5)]
        here = {name for name, value in zip(names, samples(n_classes)[0][at], strict=True) if value}
        assert {each.feature for each in entry.contributions} == here | {"(intercept)"}


def test_samples_with_attributes_are_called_by_them():
    X, y = [{"word": "good", "length": 2}, ["bad"], ["good"]], ["+", "-", "+"]
    model = MaxEnt(l2=0.1).fit(X, y)
    found = model.explain([{"word": "good", "length": 3}, ["new"]])
    assert [entry.text for entry in found] == ["word=good length=3", "new"]
    assert {each.feature for each in found[0].contributions} == {"word:good", "length", "(intercept)"}
    assert [each.feature for each in found[1].contributions] == ["(intercept)"]
    length = next(each.weight for each in found[0].contributions if each.feature == "length")
    at = model.attributes_.index("length")
    sign = 1 if found[0].label == model.classes_[1] else -1
    assert length == pytest.approx(sign * 3 * model.coef_[0, at])
    (long,) = model.explain([["bad"]], words=["a text " * 20])
    assert long.text == "a text " * 20
    assert str(long) == str(Explanation([long]))
    assert repr([Explanation([long, long])]) == "[<explanation of 2 labels: - ->]"
    assert "\n" not in repr(long)
    assert len(repr(long)) < 200
    assert str(Explanation([long])).splitlines()[0] == f"  1  {'a text ' * 4}a…  - 0.811, not + 0.189: +1.456"
    json.dumps(found.to_dict())
    assert "good" in found._repr_html_()


def test_a_text_is_explained_by_its_words(tmp_path):
    texts, labels = ["a good film", "a bad film", "good fun", "a bad joke"], ["+", "-", "+", "-"]
    TextClassifier(tfidf=True, l1=0.1).fit(texts, labels).save(tmp_path / "texts.loglinear")
    model = TextClassifier.load(tmp_path / "texts.loglinear")
    (entry,) = model.explain(["good good joke"])
    assert (entry.label, entry.text) == ("+", "good good joke")
    assert "good" in {each.feature for each in entry.contributions} <= {"good", "joke", "(intercept)"}
    sure = dict(zip(model.classes_, model.predict_proba(["good good joke"])[0], strict=True))
    assert entry.difference == pytest.approx(np.log(sure["+"] / sure["-"]), abs=1e-6)


def table(n=200, seed=1):
    """Columns that hang together, one of them with three states and one that never changes."""
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=n)
    b = np.where(rng.random(n) < 0.7, a > 0, rng.random(n) < 0.5)
    c = np.where(rng.random(n) < 0.7, b, rng.random(n) < 0.5)
    return pd.DataFrame({"a": a.astype(str), "one": "same", "b": b.astype(str), "c": c.astype(str)})


@pytest.mark.filterwarnings("ignore:ignored, because")
def test_contributions_to_a_state_add_up_to_the_log_odds_given_all_other_variables():
    X = table()
    model = PairwiseMRF(l1=1.0).fit(X)
    assert len(model.edges_) >= 2
    neighbours = {i: {j for edge in model.edges_.tolist() if i in edge for j in edge} - {i} for i in range(4)}
    for row, explanation in zip(X[:20].itertuples(index=False), model.explain(X[:20]), strict=True):
        assert [entry.text for entry in explanation] == [f"{name}={getattr(row, name)}" for name in "abc"]
        for entry in explanation:
            check(entry)
            at = "a one b c".split().index(entry.text[0])
            # All states of this variable beside the others as they are.
            states = model.categories_[at].tolist()
            rows = pd.DataFrame([row] * len(states), columns=X.columns)
            rows[X.columns[at]] = states
            log_p = model.log_likelihood(rows).samples
            order = np.argsort(-log_p)
            assert [states[each] for each in order[:2]] == [entry.label, entry.other]
            assert entry.difference == pytest.approx(log_p[order[0]] - log_p[order[1]], abs=1e-9)
            sure = scipy.special.softmax(log_p)
            assert entry.probability == pytest.approx(sure[order[0]], abs=1e-9)
            assert entry.other_probability == pytest.approx(sure[order[1]], abs=1e-9)
            named = {each.feature for each in entry.contributions} - {"(its own weight)"}
            assert named <= {f"{X.columns[j]}={row[j]}" for j in neighbours[at]}


@pytest.mark.filterwarnings("ignore:ignored, because")
def test_a_missing_value_is_taken_as_its_most_probable_state():
    X = table()
    model = PairwiseMRF(l1=1.0).fit(X)
    gap = X[:8].assign(b=None)
    for found, filled in zip(model.explain(gap), model.explain(model.predict(gap)), strict=True):
        assert found[1].text == "b"
        assert [entry.difference for entry in found] == [entry.difference for entry in filled]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_in_a_tie_the_class_is_the_one_that_predict_gives(n_classes):
    X, y = samples(n_classes)
    model = MaxEnt(fit_intercept=False).fit(X, y)
    (entry,) = model.explain(np.zeros((1, 5)))
    assert [entry.label] == [str(each) for each in model.predict(np.zeros((1, 5)))]
    assert (entry.other, entry.difference, entry.contributions) == ("1" if entry.label == "0" else "0", 0.0, [])
