"""The oracle, which goes over all labellings at once, against the definition of a chain, labelling by labelling."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from oracles.chain_enumeration import Chain, Sentence, Token, features

TOKENS = [
    Token([("a", 1.0), ("b", -0.5), ("a", 2.0)]),
    Token([("b", 1.5)], ["x", "x", "y"]),
    Token([], ["y"]),
    Token([("a", 1.0), ("unknown", 1.0)]),
]


@pytest.fixture(params=[0, 1, 2, 3, 4])
def tokens(request):
    return TOKENS[: request.param]


@pytest.fixture
def chain():
    labels = ["A", "B", "C"]
    names = {name for y in Chain(labels, {}).labellings(4) for name in features(TOKENS, y) if "unknown" not in name}
    names -= {("transition", "A", "B"), ("triple", "A", "B", "C"), ("state", "b", "C")}
    return Chain(
        labels, dict(zip(sorted(names), np.random.default_rng(0).normal(size=len(names)).tolist(), strict=True))
    )


def test_every_score_is_that_of_the_definition(chain, tokens):
    expected = [chain.score(tokens, labels) for labels in chain.labellings(len(tokens))]
    assert chain.scores(tokens) == pytest.approx(expected, abs=1e-13)
    assert chain.log_partition(tokens) == pytest.approx(math.log(math.fsum(map(math.exp, expected))))


def test_marginals_add_up_probabilities_of_labellings(chain, tokens):
    for width in (1, 2, 3):
        expected = np.zeros((max(len(tokens) - width + 1, 0), *[3] * width))
        for labels, p in zip(chain.labellings(len(tokens)), chain.probabilities(tokens), strict=True):
            numbers = ["ABC".index(label) for label in labels]
            for t, table in enumerate(expected):
                table[tuple(numbers[t : t + width])] += p
        np.testing.assert_allclose(chain.marginals(tokens, width), expected, atol=1e-14)


def test_the_gradient_is_expected_less_observed_features(chain, tokens):
    sentence = Sentence(tokens, tuple("BACA"[: len(tokens)]), 2.0)
    expected = Counter()
    for labels, p in zip(chain.labellings(len(tokens)), chain.probabilities(tokens), strict=True):
        for name, count in features(tokens, labels).items():
            expected[name] += 4.0 * p * count
    for name, count in features(tokens, sentence.labels).items():
        expected[name] -= 4.0 * count
    value, gradient = chain.value_and_gradient([sentence, sentence])
    assert value == pytest.approx(4.0 * (chain.log_partition(tokens) - chain.score(tokens, sentence.labels)))
    assert gradient == pytest.approx({name: expected[name] for name in chain.weights}, abs=1e-12)
