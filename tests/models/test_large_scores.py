"""Chains whose scores are so large that sums over a sentence lose digits: probabilities stay what they are."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loglinear import ChainCRF, Tagger

LABELS = ("A", "B", "C")


def trained(order: int, forbidden: bool) -> ChainCRF:
    rng = np.random.default_rng(0)
    X = [[{"x": float(rng.normal()), f"w{rng.integers(5)}": 1.0} for _ in range(6)] for _ in range(40)]
    y = [[LABELS[int(token["x"] > 0) + int(rng.random() < 0.3)] for token in sentence] for sentence in X]
    options = {"constraints": [("A", "C")], "invalid_labels": "skip"} if forbidden else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sentences that are left out, and the limit of iterations
        return ChainCRF(l2=0.1, order=order, all_states=True, max_iterations=30, **options).fit(X, y)


MODELS = {(order, forbidden): trained(order, forbidden) for order in (1, 2) for forbidden in (False, True)}
# Here the large values have decided what they can decide.
DECIDED = 1e4


def sentence(places: dict[int, int], value: float, length: int) -> list[dict[str, float]]:
    return [{f"w{at % 5}": 1.0, **({"x": places[at] * value} if at in places else {})} for at in range(length)]


@pytest.mark.parametrize("kind", MODELS)
@given(
    exponent=st.floats(4.5, 308.0),
    places=st.dictionaries(st.integers(0, 5), st.sampled_from([-1, 1]), min_size=1, max_size=3),
    length=st.integers(1, 6),
)
@example(exponent=16.0, places={0: -1, 1: 1}, length=4)
@example(exponent=16.0, places={3: -1, 4: 1}, length=5)
@settings(max_examples=15)
def test_the_scale_of_a_decided_token_changes_no_probability(
    kind: tuple[int, bool], exponent: float, places: dict[int, int], length: int
) -> None:
    crf, value = MODELS[kind], 10.0**exponent
    X, reference = [sentence(places, value, length)], [sentence(places, DECIDED, length)]
    rows = crf.marginals(X)[0]
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-10)
    if kind[1] and len(places) > 1:
        return  # such tokens may contradict the constraints: the scores of what is allowed have lost digits themselves
    np.testing.assert_allclose(rows, crf.marginals(reference)[0], atol=1e-9)
    assert crf.predict(X) == crf.predict(reference)
    best, before = (crf.predict(data, n_best=3)[0] for data in (X, reference))
    assert best[0][0] == before[0][0]
    probabilities = [np.exp([log_p for _, log_p in labellings]) for labellings in (best, before)]
    np.testing.assert_allclose(*probabilities, atol=1e-9)
    np.testing.assert_allclose(crf.log_probability(X, [best[0][0]]), best[0][1], atol=1e-6)
    every = [[*labels] for labels in product(LABELS, repeat=length)]
    total = np.exp(crf.log_probability(X * len(every), every)).sum()
    assert total == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("value", [1e12, 1e16, 1e300])
def test_one_sentence_at_a_time_is_the_same(value: float) -> None:
    crf = MODELS[1, False]
    X = sentence({0: 1, 3: -1}, value, 5)
    (answer,) = Tagger(crf).tag_batch([X], probabilities=True)
    assert Tagger(crf).tag(X) == answer.labels == crf.predict([X])[0]
    probabilities = crf.marginals([X])[0].max(axis=1)
    np.testing.assert_allclose(answer.probabilities, probabilities, atol=1e-12)
    assert answer.log_probability == pytest.approx(float(crf.log_probability([X], [answer.labels])[0]), abs=1e-9)


def test_a_score_beyond_the_range_of_numbers_still_leaves_probabilities() -> None:
    rows = MODELS[1, False].marginals([[{"x": 1.7e308}, {"x": -1.7e308, "w1": 1e308}, {"w2": 1.0}]])[0]
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-12)


def test_log_z_keeps_its_size() -> None:
    crf = MODELS[1, False]
    X = [sentence({0: 1}, 1e12, 3)]
    assert crf.log_partition(X)[0] == pytest.approx(1e8 * crf.log_partition([sentence({0: 1}, 1e4, 3)])[0], rel=1e-3)
