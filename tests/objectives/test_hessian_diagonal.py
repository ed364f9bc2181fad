"""The diagonal of a chain's Hessian, against differences of the gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainFeatures, ChainObjective, Corpus
from loglinear.errors import OptionError

LAWS = examples(60)


@st.composite
def problems(draw):
    """An objective whose sentences have every attribute once, weights, and the labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = rng.integers(1, 5, draw(st.sampled_from([1, 7, 30])))
    y = [rng.choice(list("ABC"), length).tolist() for length in lengths]
    valued = draw(st.booleans())
    X = [
        [
            {"bias" + str(t): 1.0} | ({str(t): rng.normal(), f"{t}x": -2.5} if valued else {f"{t}{rng.integers(2)}": 1})
            for t in range(length)
        ]
        for length in lengths
    ]
    sentence_weights = rng.choice([1.0, 2.0, 0.3], len(X)) if draw(st.booleans()) else np.ones(len(X))
    corpus = Corpus.encode(X, y, sample_weight=sentence_weights)
    features = ChainFeatures(order=draw(st.sampled_from([1, 2])), all_states=draw(st.booleans()))
    objective = ChainObjective(corpus, features, threads=draw(st.sampled_from([1, 2])))
    return objective, rng.normal(size=objective.n_features), y, sentence_weights


def n_links(objective):
    counts = objective.feature_counts
    return counts.transitions + counts.triples


@LAWS
@given(problem=problems())
def test_a_state_gets_the_curvature_along_its_weight_if_it_is_met_once_in_a_sentence(problem):
    objective, w, *_ = problem
    diagonal, step = objective.hessian_diagonal(w), 1e-4
    for j in range(n_links(objective), w.size):
        up, down = w.copy(), w.copy()
        up[j] += step
        down[j] -= step
        difference = objective.value_and_gradient(up)[1][j] - objective.value_and_gradient(down)[1][j]
        assert diagonal[j] == pytest.approx(difference / (2 * step), rel=1e-5, abs=1e-7)


@LAWS
@given(problem=problems())
def test_a_link_gets_its_expected_count_times_the_mean_variance_of_a_label(problem):
    objective, w, y, sentence_weights = problem
    diagonal, gradient = objective.hessian_diagonal(w), objective.value_and_gradient(w)[1]
    names = objective.feature_names(np.arange(n_links(objective)))
    tokens = sum(weight * len(labels) for weight, labels in zip(sentence_weights, y, strict=True))
    all_states = objective.features.all_states
    if not all_states:
        return
    own = objective.feature_names(np.arange(n_links(objective), w.size))
    of_bias = np.array([attribute is not None and attribute.startswith("bias") for attribute, _ in own])
    mean = diagonal[n_links(objective) :][of_bias].sum() / tokens
    for j, (_, labels) in enumerate(names):
        count = sum(
            weight
            * [list(part) for part in zip(*(each[k:] for k in range(len(labels))), strict=False)].count(list(labels))
            for weight, each in zip(sentence_weights, y, strict=True)
        )
        assert diagonal[j] == pytest.approx((gradient[j] + count) * mean, rel=1e-9, abs=1e-9)


def test_labels_that_are_known_in_part_have_none():
    corpus = Corpus.encode([[["a"], ["b"]], [["a"], ["b"]]], [["A", "B"], [None, "B"]])
    objective = ChainObjective(corpus)
    assert not objective.has_hessian_diagonal
    with pytest.raises(OptionError, match="partial labels"):
        objective.hessian_diagonal(np.zeros(objective.n_features))


def test_weights_of_another_length_are_refused():
    objective = ChainObjective(Corpus.encode([[["a"], ["b"]]], [["A", "B"]]))
    with pytest.raises(OptionError, match="entries"):
        objective.hessian_diagonal(np.zeros(99))
