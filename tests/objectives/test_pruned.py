"""Objectives over working sets of labels, against the whole objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainFeatures, ChainObjective, Corpus
from loglinear.errors import OptionError
from loglinear.protocols import missing
from loglinear.solvers.common.pruning import Prunable
from oracles.samples import chunky, sentences

LAWS = examples(60, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 2**32 - 1)
BOUNDS = st.sampled_from([0.0, 1e-3, 0.05, 0.2, 0.45])


@st.composite
def problems(draw):
    """An objective and weights: both orders, values, weights of sentences, dense rows or none, constraints."""
    seed, order = draw(SEEDS), draw(st.sampled_from([1, 2]))
    n, valued = draw(st.sampled_from([3, 12, 40])), draw(st.booleans())
    X, y = sentences(n, seed, valued=valued, kinds=draw(st.sampled_from([2, 6])))
    rng = np.random.default_rng(seed)
    constraints = None
    if draw(st.booleans()):
        y = [[label if label != "B" or t == 0 else "A" for t, label in enumerate(labels)] for labels in y]
        # A sentence that has all three labels.
        X.append([next(sentence for sentence in X if sentence)[0]] * 3)
        y.append(["B", "A", "C"])
        n, constraints = len(X), [("A", "B"), ("B", "B"), ("C", "B")]
    weights = rng.choice([1.0, 2.0, 0.0, 0.3], n) if draw(st.booleans()) else np.ones(n)
    weights[0] = 1.0
    corpus = Corpus.encode(X, y, sample_weight=weights)
    features = ChainFeatures(order=order, all_states=draw(st.booleans()), constraints=constraints)
    objective = ChainObjective(corpus, features, threads=draw(st.sampled_from([1, 2])))
    return objective, rng.normal(size=objective.n_features) * draw(st.sampled_from([0.0, 0.5, 2.0])), rng


def pruned(objective, w, *, bound, links, features=None, guard=1.0):
    """The pruned objective at w, over some features; those of all others are 0."""
    value, gradient, likely = objective.likely_labels(w, bound)
    if features is not None:
        w, gradient = w[features], gradient[features]
    return objective.pruned(likely, w, value, gradient, bound=bound, links=links, features=features, guard=guard)


def some_features(objective, rng):
    """Numbers of about half of the features."""
    kept = np.flatnonzero(rng.random(objective.n_features) < 0.5)
    return kept if kept.size else np.zeros(1, np.int64)


@LAWS
@given(problem=problems(), bound=BOUNDS, factor=st.sampled_from([1.0, 3.0, 20.0]))
def test_it_agrees_with_the_whole_objective_in_value_and_gradient_where_it_was_made(problem, bound, factor):
    objective, w, rng = problem
    features = some_features(objective, rng)
    w[np.delete(np.arange(w.size), features)] = 0.0
    value, gradient = objective.value_and_gradient(w)
    for chosen in (None, features):
        made = pruned(objective, w, bound=bound, links=factor * bound, features=chosen)
        part = slice(None) if chosen is None else chosen
        own_value, own_gradient = made.value_and_gradient(w[part])
        assert own_value == pytest.approx(value, rel=1e-12, abs=1e-9)
        np.testing.assert_allclose(own_gradient, gradient[part], rtol=1e-10, atol=1e-9)
        assert (made.n_features, made.n_samples) == (w[part].size, objective.n_samples)


@LAWS
@given(problem=problems(), bound=BOUNDS, guard=st.sampled_from([0.0, 0.5, 1.0]))
def test_made_once_it_can_agree_with_the_whole_objective_elsewhere(problem, bound, guard):
    objective, w0, rng = problem
    made = pruned(objective, w0, bound=bound, links=3.0 * bound)
    w = w0 + rng.normal(size=w0.size) * 0.3
    value, gradient = objective.value_and_gradient(w)
    moved = made.agreeing(w, value, gradient, guard)
    own_value, own_gradient = moved.value_and_gradient(w)
    assert own_value == pytest.approx(value, rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(own_gradient, gradient, rtol=1e-10, atol=1e-9)
    # The first one still agrees where it was made, and the guard of the second one begins at w.
    assert made.value_and_gradient(w0)[0] == pytest.approx(objective.value_and_gradient(w0)[0], rel=1e-12, abs=1e-9)
    step = rng.normal(size=w.size)
    values = [made.agreeing(w, value, gradient, factor).value_and_gradient(w + step)[0] for factor in (0.0, guard)]
    assert values[0] <= values[1] + 1e-9 * abs(values[1])


@LAWS
@given(seed=SEEDS, valued=st.booleans())
def test_without_pruning_its_curvatures_are_the_diagonal_of_the_hessian(seed, valued):
    X, y = sentences(20, seed, valued=valued)
    X, y = [[token] for sentence in X for token in sentence], [[label] for labels in y for label in labels]
    objective = ChainObjective(Corpus.encode(X, y))
    w = np.random.default_rng(seed).normal(size=objective.n_features)
    made = pruned(objective, w, bound=0.0, links=0.0)
    np.testing.assert_allclose(made.curvatures, objective.hessian_diagonal(w), rtol=1e-5, atol=1e-5)


def test_the_curvature_of_transitions_is_a_tenth_of_their_expected_counts():
    X, y = chunky(40)
    objective = ChainObjective(Corpus.encode(X, y), ChainFeatures(all_transitions=True))
    w = np.random.default_rng(0).normal(size=objective.n_features)
    made = pruned(objective, w, bound=0.0, links=0.0)
    assert made.curvatures[:9].sum() == pytest.approx(0.1 * sum(len(labels) - 1 for labels in y), rel=1e-6)


def test_the_guard_of_a_corrected_objective_grows_with_its_factor():
    objective = ChainObjective(Corpus.encode(*chunky(80)))
    rng = np.random.default_rng(0)
    w, step = rng.normal(size=(2, objective.n_features))
    made = pruned(objective, w, bound=0.05, links=0.15)
    value, gradient = objective.value_and_gradient(w)
    values = [made.agreeing(w, value, gradient, factor).value_and_gradient(w + step)[0] for factor in (0.0, 1.0, 2.0)]
    assert values[1] > values[0] + 1e-3
    assert values[2] - values[0] == pytest.approx(2.0 * (values[1] - values[0]), rel=1e-6)


@LAWS
@given(problem=problems(), bound=BOUNDS, factor=st.sampled_from([1.0, 3.0]))
def test_its_gradient_is_the_central_difference_of_its_value(problem, bound, factor):
    objective, w0, rng = problem
    made = pruned(objective, w0, bound=bound, links=factor * bound)
    w = w0 + rng.normal(size=w0.size) * 0.3
    _, gradient = made.value_and_gradient(w)
    direction = rng.normal(size=w.size)
    step = 1e-5
    ahead, behind = (made.value_and_gradient(w + sign * step * direction)[0] for sign in (1.0, -1.0))
    assert gradient @ direction == pytest.approx((ahead - behind) / (2.0 * step), rel=1e-5, abs=1e-4)


@LAWS
@given(problem=problems())
def test_without_pruning_it_is_the_whole_objective(problem):
    objective, w0, rng = problem
    features = some_features(objective, rng)
    w0[np.delete(np.arange(w0.size), features)] = 0.0
    made = pruned(objective, w0, bound=0.0, links=0.0, features=features)
    w = np.zeros_like(w0)
    w[features] = w0[features] + rng.normal(size=features.size)
    value, gradient = objective.value_and_gradient(w)
    own_value, own_gradient = made.value_and_gradient(w[features])
    # Marginals are kept as single-precision numbers, which the guard sees.
    assert own_value == pytest.approx(value, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(own_gradient, gradient[features], rtol=1e-4, atol=1e-4)


@LAWS
@given(problem=problems(), bound=st.sampled_from([0.05, 0.2]))
def test_the_guard_grows_with_its_factor_and_with_the_distance(problem, bound):
    objective, w0, rng = problem
    step = rng.normal(size=w0.size)
    made = [pruned(objective, w0, bound=bound, links=3.0 * bound, guard=guard) for guard in (0.0, 0.25, 1.0)]
    none, quarter, whole = (objective.value_and_gradient(w0 + step)[0] for objective in made)
    assert quarter - none == pytest.approx((whole - none) / 4.0, rel=1e-6, abs=1e-8 * abs(whole))
    assert whole >= none - 1e-9 * abs(none)
    near = [objective.value_and_gradient(w0 + step / 10.0)[0] for objective in made]
    assert near[2] - near[0] <= (whole - none) / 100.0 + 1e-9 * abs(none)


@LAWS
@given(problem=problems(), bound=st.sampled_from([1e-3, 0.05, 0.2]))
def test_it_is_convex(problem, bound):
    objective, w0, rng = problem
    made = pruned(objective, w0, bound=bound, links=3.0 * bound)
    a, b = (w0 + rng.normal(size=w0.size) for _ in range(2))
    middle = made.value_and_gradient((a + b) / 2.0)[0]
    ends = made.value_and_gradient(a)[0], made.value_and_gradient(b)[0]
    assert middle <= (ends[0] + ends[1]) / 2.0 + 1e-9 * abs(middle)


@pytest.mark.parametrize("order", [1, 2])
def test_it_is_the_same_on_any_number_of_threads(order):
    X, y = sentences(300, 3)
    outcomes = set()
    for threads in (1, 2, 3):
        objective = ChainObjective(Corpus.encode(X, y), ChainFeatures(order=order), threads=threads)
        w = np.random.default_rng(0).normal(size=objective.n_features)
        made = pruned(objective, w, bound=0.05, links=0.1)
        value, gradient = made.value_and_gradient(w * 0.9)
        outcomes.add((value, gradient.tobytes()))
    assert len(outcomes) == 1


def test_pruning_makes_it_smaller_and_keeps_the_gold_labels():
    X, y = chunky(200)
    objective = ChainObjective(Corpus.encode(X, y))
    w = np.random.default_rng(0).normal(size=objective.n_features) * 3.0
    sizes = [pruned(objective, w, bound=bound, links=bound).n_entries for bound in (0.0, 1e-3, 0.1, 0.5)]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 < sizes[-1] < sizes[0] / 2


def test_the_guard_adds_to_the_value_where_labels_are_pruned():
    objective = ChainObjective(Corpus.encode(*chunky(50)))
    w = np.random.default_rng(0).normal(size=objective.n_features)
    values = [
        pruned(objective, w, bound=0.1, links=0.3, guard=guard).value_and_gradient(w + 0.5)[0]
        for guard in (0.0, 0.25, 1.0)
    ]
    assert values[0] < values[1] < values[2]


def test_a_number_beyond_the_range_of_a_double_is_an_infinite_value():
    objective = ChainObjective(Corpus.encode(*chunky(20)))
    w = np.zeros(objective.n_features)
    made = pruned(objective, w, bound=0.01, links=0.03)
    for far in (1e300, np.inf, np.nan):
        value, gradient = made.value_and_gradient(np.full_like(w, far))
        assert value == np.inf
        assert not gradient.any()


def test_many_labels_and_long_sentences():
    rng = np.random.default_rng(1)
    labels = [f"L{i:03d}" for i in range(130)]
    X = [[[f"w{w}" for w in rng.integers(0, 50, 2)] for _ in range(n)] for n in (700, 1, 40, 0, 3)]
    y = [[labels[i] for i in rng.integers(0, 130, len(sentence))] for sentence in X]
    objective = ChainObjective(Corpus.encode(X, y), ChainFeatures(all_states=True))
    w = rng.normal(size=objective.n_features)
    value, gradient = objective.value_and_gradient(w)
    made = pruned(objective, w, bound=1e-3, links=3e-3)
    own_value, own_gradient = made.value_and_gradient(w)
    assert own_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(own_gradient, gradient, atol=1e-8)


def test_what_cannot_be_pruned_says_so():
    X, y = chunky(10)
    columns = [[tuple(token) for token in sentence] for sentence in X]
    with_bigrams = ChainObjective(Corpus.encode(columns, y, template="U:%x[0,0]\nB1:%x[0,1]\nB\n"))
    partial = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", None], ["B"]]))
    for objective in (with_bigrams, partial):
        assert not objective.is_prunable
        assert not missing(objective, Prunable)
        with pytest.raises(OptionError, match="pruning does not support"):
            objective.likely_labels(np.zeros(objective.n_features), 0.1)
    objective = ChainObjective(Corpus.encode(X, y))
    value, gradient, likely = objective.likely_labels(np.zeros(objective.n_features), 0.1)
    with pytest.raises(OptionError, match="entries"):
        objective.pruned(likely, np.zeros(3), value, gradient, bound=0.1, links=0.1)
    assert likely.least == 0.1
