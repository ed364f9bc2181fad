"""Samples that repeat each other are merged, and no result depends on it."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from examples import by_day
from loglinear import PairwiseMRF
from loglinear.networks import numbering
from loglinear.networks.numbering import merged

CODES = np.random.default_rng(0).integers(-1, 2, size=(400, 4)).astype(np.int32)


@pytest.mark.parametrize("weighted", [False, True])
def test_each_sample_stands_there_once_with_its_weight(weighted):
    weights = np.random.default_rng(1).random(400) if weighted else None
    codes, found = merged(CODES, weights)
    expected = Counter()
    for row, weight in zip(CODES.tolist(), np.ones(400) if weights is None else weights, strict=True):
        expected[tuple(row)] += weight
    assert codes.dtype == np.int32
    assert len(codes) == len(expected)
    assert dict(zip(map(tuple, codes.tolist()), found.tolist(), strict=True)) == pytest.approx(dict(expected))


def test_samples_stay_as_they_are_where_few_repeat_each_other_or_there_are_many_variables():
    distinct = np.array([[k >> bit & 1 for bit in range(9)] for k in range(300)], dtype=np.int32)
    few = np.concatenate([distinct, distinct[:149]])
    assert merged(few, None) == (few, None)
    codes, weights = merged(np.concatenate([distinct, distinct[:150]]), None)
    assert (len(codes), weights.sum()) == (300, 450.0)
    wide = np.zeros((50, 33), dtype=np.int32)
    assert merged(wide, None) == (wide, None)
    assert len(merged(wide[:, :32], None)[0]) == 1


@pytest.mark.parametrize(
    ("objective", "weighted"),
    by_day(
        product(["pseudolikelihood", "nodewise", "likelihood"], [False, True]),
        lambda case: case[1] == (case[0] != "nodewise"),
    ),
)
def test_a_network_is_that_of_all_samples(objective, weighted, monkeypatch):
    X = np.where(CODES < 0, 1, CODES)
    X[:300, 1] = X[:300, 0]
    weights = np.random.default_rng(1).random(400) if weighted else None
    options = {"objective": objective, "inference": "exact" if objective == "likelihood" else None, "tolerance": 1e-9}
    found = PairwiseMRF(**options).fit(X, sample_weight=weights)
    monkeypatch.setattr(numbering, "_WIDEST", 0)
    whole = PairwiseMRF(**options).fit(X, sample_weight=weights)
    assert found.l1_ == pytest.approx(whole.l1_)
    assert found.edges_.tolist() == whole.edges_.tolist()
    assert found.result_.nll == pytest.approx(whole.result_.nll, rel=1e-6)
    np.testing.assert_allclose(found.strengths_, whole.strengths_, rtol=1e-3)
