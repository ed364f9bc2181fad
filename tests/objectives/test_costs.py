"""Costs of wrong labels: the softmax margin against enumeration and finite differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import (
    LBFGS,
    OWLQN,
    SGDL1,
    ChainCRF,
    ChainFeatures,
    ChainObjective,
    Corpus,
    DataError,
    ElasticNet,
    OptionError,
    Problem,
    Stop,
    minimize,
)
from loglinear.data.parts import ListedPart
from loglinear.objectives.parts import ChainParts
from loglinear.solvers import SAG, SG, AdaGrad, LabelSets
from oracles.chain_enumeration import Chain, named_features
from oracles.samples import chunky
from oracles.samples import sentences as random_sentences
from oracles.softmax_margin import LABEL, distinct, short_sentences, softmax_margin

LAWS = examples(150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@st.composite
def costly(draw):
    """Sentences with labels, some partial, weights, costs of tokens, class weights and constraints."""
    constraints, X, y = draw(short_sentences())
    sizes = [*map(len, X)]
    if draw(st.booleans()):
        for labels in y:
            for token, name in enumerate(labels):
                kind = draw(st.sampled_from(["whole", "whole", "set", "unknown"]))
                labels[token] = name if kind == "whole" else None if kind == "unknown" else {name, draw(LABEL)}
    cost = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    token_weight = [[draw(cost) for _ in range(size)] for size in sizes] if draw(st.booleans()) else None
    if token_weight is not None and draw(st.booleans()):
        token_weight[0] = None
    class_weight = draw(st.sampled_from([None, {"A": 2.0, "B": 0.0}, "balanced"]))
    weights = [draw(st.sampled_from([1.0, 2.0, 0.3, 0.0])) for _ in sizes]
    return X, y, weights, token_weight, class_weight, constraints


def factors(class_weight, y):
    """The class weight of each label, by its definition."""
    labels = [label for row in y for label in row if isinstance(label, str)]
    if class_weight == "balanced":
        return {label: len(labels) / (len(set(labels)) * labels.count(label)) for label in set(labels)}
    return class_weight or {}


def paid(y, token_weight, class_weight):
    """The cost of each token, by its definition."""
    by_label, costs = factors(class_weight, y), []
    for at, labels in enumerate(y):
        given_costs = None if token_weight is None else token_weight[at]
        base = given_costs or [0.0 if class_weight is None else 1.0] * len(labels)
        means = []
        for label in labels:
            names = [label] if isinstance(label, str) else sorted(label or ())
            means.append(np.mean([by_label.get(name, 1.0) for name in names]) if names else 0.0)
        costs.append([cost * mean for cost, mean in zip(base, means, strict=True)])
    return costs


def chain_of(objective, w):
    index = {weight: at for at, weight in enumerate(w.tolist())}
    names = {name: index[weight] for name, weight in named_features(objective.model(w)).items()}
    return Chain(objective.label_names, {name: w[at] for name, at in names.items()})


def objective_of(data, **options):
    X, y, weights, token_weight, class_weight, constraints = data
    corpus = Corpus.encode(X, y, sample_weight=weights, token_weight=token_weight)
    assume(len(corpus.labels) == 3 if constraints else corpus.labels)
    features = ChainFeatures(class_weight=class_weight, constraints=constraints, all_states=True, **options)
    return ChainObjective(corpus, features, threads=1)


@LAWS
@given(data=costly(), order=st.sampled_from([1, 2]), seed=st.integers(0, 2**31))
def test_the_value_is_the_softmax_margin_and_the_gradient_its_slope(data, order, seed):
    X, y, weights, token_weight, class_weight, constraints = data
    assume(any(label is not None for row in y for label in row) and any(any(row) for row in X))
    objective = objective_of(data, order=order, all_transitions=True)
    w = distinct(objective.n_features, seed)
    value, gradient = objective.value_and_gradient(w)
    chain, costs = chain_of(objective, w), paid(y, token_weight, class_weight)
    expected = softmax_margin(chain, X, y, costs, weights, constraints or ())
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-9)
    step = 1e-5
    for at in np.random.default_rng(seed).permutation(len(w))[:8]:
        e = np.zeros_like(w)
        e[at] = step
        slope = (objective.value_and_gradient(w + e)[0] - objective.value_and_gradient(w - e)[0]) / (2.0 * step)
        assert gradient[at] == pytest.approx(slope, rel=1e-6, abs=1e-6)
    assert objective.sample_nlls(w) @ objective.weights == pytest.approx(value, rel=1e-10, abs=1e-9)


@LAWS
@given(data=costly(), order=st.sampled_from([1, 2]), seed=st.integers(0, 2**31), cut=st.integers(0, 4))
def test_data_in_parts_cost_what_the_joined_data_cost(data, order, seed, cut):
    X, y, weights, token_weight, class_weight, constraints = data
    assume(any(label is not None for row in y for label in row) and any(any(row) for row in X))
    whole = objective_of(data, order=order, all_transitions=True)
    bounds = [slice(0, cut), slice(cut, None)]
    some = [part for part in bounds if X[part]]
    parts = [
        ListedPart(f"{part}", X[part], y[part], None, weights[part], token_weight and token_weight[part])
        for part in some
    ]
    features = ChainFeatures(
        class_weight=class_weight, constraints=constraints, all_states=True, all_transitions=True, order=order
    )
    joined = ChainParts(parts, features)
    w = distinct(whole.n_features, seed)
    value = whole.value_and_gradient(w)[0]
    weight_of = {name: w for name, w in named_features(whole.model(w)).items()}
    names = list(named_features(joined.model(w)).items())
    place = {weight: at for at, weight in enumerate(w.tolist())}
    v = np.empty_like(w)
    for name, weight in names:
        v[place[weight]] = weight_of[name]
    assert joined.value_and_gradient(v)[0] == pytest.approx(value, rel=1e-11, abs=1e-10)


def test_costs_of_zero_and_no_costs_are_the_same_bits():
    X, y = chunky(40, seed=1)
    plain, free = Corpus.encode(X, y), Corpus.encode(X, y, token_weight=[[0.0] * len(row) for row in y])
    w = distinct(ChainObjective(plain).n_features, 1)
    value, gradient = ChainObjective(plain).value_and_gradient(w)
    value_free, gradient_free = ChainObjective(free).value_and_gradient(w)
    assert (value, gradient.tobytes()) == (value_free, gradient_free.tobytes())


@pytest.mark.parametrize("order", [1, 2])
def test_threads_do_not_change_a_bit(order):
    X, y = chunky(200, seed=2)
    corpus = Corpus.encode(X, y, token_weight=[[0.1 * len(token) for token in row] for row in X])
    features = ChainFeatures(order=order, class_weight="balanced")
    results = set()
    for threads in (1, 2, 3):
        objective = ChainObjective(corpus, features, threads=threads)
        value, gradient = objective.value_and_gradient(distinct(objective.n_features, 3))
        results.add((value, gradient.tobytes()))
    assert len(results) == 1


def problem(l1=0.0, l2=1.0, order=1):
    X, y = chunky(300, seed=4)
    features = ChainFeatures(class_weight={"A": 3.0, "B": 0.5}, order=order)
    return Problem(ChainObjective(Corpus.encode(X, y), features), ElasticNet(l1=l1, l2=l2))


def test_stochastic_solvers_come_to_the_optimum_of_batch_solvers():
    smooth = problem()
    best = minimize(smooth, LBFGS(tolerance=0.0, gradient_tolerance=1e-7)).objective
    for solver, within in ((SAG(), 1e-5), (AdaGrad(), 0.03), (SG(), 0.03)):
        found = minimize(smooth, solver, stop=Stop(max_passes=60))
        assert found.objective == pytest.approx(best, rel=within)


def test_passes_by_batches_in_single_precision_see_the_costs():
    def reached(of, batch_size):
        return minimize(of, SGDL1(learning_rate=0.01, passes=4, batch_size=batch_size), stop=Stop(max_passes=4)).w

    sparse = problem(l1=0.5, l2=0.0)
    plain = Problem(ChainObjective(sparse.objective.corpus), ElasticNet(l1=0.5))
    alone, together, without = reached(sparse, 1), reached(sparse, 2), reached(plain, 2)
    assert np.abs(alone - together).max() < 0.05 * np.abs(alone - without).max()


@pytest.mark.parametrize("order", [1, 2])
def test_pruned_working_sets_come_to_the_optimum(order):
    sparse = problem(l1=0.5, l2=0.0, order=order)
    best = minimize(sparse, OWLQN(tolerance=1e-9)).objective
    assert minimize(sparse, LabelSets()).objective == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("bound", "links"), [(0.0, 0.0), (1e-3, 3e-3), (0.1, 0.3)])
def test_pruned_objectives_agree_nearby_and_without_pruning_everywhere(order, bound, links):
    X, y = random_sentences(12, 5, valued=False, kinds=2)
    corpus = Corpus.encode(X, y, token_weight=[[float(t % 3) for t in range(len(row))] for row in y])
    objective = ChainObjective(corpus, ChainFeatures(order=order), threads=1)
    rng = np.random.default_rng(1)
    w = rng.normal(size=objective.n_features)
    value, gradient, likely = objective.likely_labels(w, bound)
    made = objective.pruned(likely, w, value, gradient, bound=bound, links=links, guard=0.0)
    own_value, own_gradient = made.value_and_gradient(w)
    assert own_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(own_gradient, gradient, rtol=1e-9, atol=1e-9)
    if not bound:
        v = w + rng.normal(size=w.size)
        value, gradient = objective.value_and_gradient(v)
        own_value, own_gradient = made.value_and_gradient(v)
        assert own_value == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(own_gradient, gradient, rtol=1e-8, atol=1e-8)


def test_samples_batches_and_restrictions_keep_the_costs():
    X, y = random_sentences(12, 6, valued=False, kinds=2)
    corpus = Corpus.encode(X, y, token_weight=[[float(t % 3) for t in range(len(row))] for row in y])
    features = ChainFeatures(class_weight={"A": 2.0})
    objective = ChainObjective(corpus, features)
    rng = np.random.default_rng(1)
    w = rng.normal(size=objective.n_features)
    nlls = objective.sample_nlls(w)
    some = np.array([1, 4, 7])
    assert objective.batch(some, 2.0).value_and_gradient(w)[0] == pytest.approx(2.0 * nlls[some].sum())
    kept = np.flatnonzero(rng.random(w.size) < 0.5)
    masked = np.zeros_like(w)
    masked[kept] = w[kept]
    assert objective.restrict(kept).value_and_gradient(w[kept])[0] == pytest.approx(
        objective.value_and_gradient(masked)[0]
    )
    sample = objective.sample(some)
    assert sample.value_and_gradient(np.zeros(sample.n_features))[0] == pytest.approx(
        objective.sample_nlls(np.zeros_like(w))[some].sum()
    )
    chosen = ChainObjective(corpus[some.tolist()], features)
    v = distinct(chosen.n_features, 2)
    assert chosen.value_and_gradient(v)[0] == sample.value_and_gradient(v)[0]


def test_a_corpus_on_disk_and_joined_corpora_keep_the_costs(tmp_path):
    X, y = random_sentences(6, 7, valued=False, kinds=2)
    costs = [[float(t) for t in range(len(row))] for row in y]
    plain, costly_corpus = Corpus.encode(X, y), Corpus.encode(X, y, token_weight=costs)
    costly_corpus.save(tmp_path / "a.corpus")
    opened = Corpus.open(tmp_path / "a.corpus")
    flat = [cost for row in costs for cost in row]
    np.testing.assert_array_equal(opened.core.costs(), flat)
    np.testing.assert_array_equal(Corpus.concat([plain, opened]).core.costs(), [np.nan] * len(flat) + flat)
    assert plain.core.costs().size == 0
    w = distinct(ChainObjective(opened).n_features, 0)
    assert ChainObjective(opened).value_and_gradient(w)[0] == ChainObjective(costly_corpus).value_and_gradient(w)[0]


@pytest.mark.parametrize(
    ("token_weight", "message"),
    [
        ([[1.0, -0.5]], r"sentence 0: token 1: weight -0.5 is not a finite number >= 0"),
        ([[1.0, float("inf")]], r"sentence 0: token 1: weight inf is not a finite"),
        ([[1.0, "x"]], r"sentence 0, token 1: the weight 'x' in token_weight is not a number"),
        ([[1.0]], r"sentence 0: 1 token weights for 2 tokens"),
        ([[1.0, 1.0], [1.0]], r"token_weight of 2 sentences for 1 sentence"),
        ([1.0], r"token_weight has 1.0 for a sentence; give a sequence of numbers"),
    ],
)
def test_bad_costs_are_refused_by_sentence_and_token(token_weight, message):
    with pytest.raises(DataError, match=message):
        Corpus.encode([[["a"], ["b"]]], [["A", "B"]], token_weight=token_weight)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"B": -1.0}, r"class_weight\['B'\]=-1.0 is out of range"),
        ({"Z": 1.0}, r"names 'Z', which is not a class"),
        ("heavy", "class_weight='heavy' is neither None"),
    ],
)
def test_bad_class_weights_are_refused(class_weight, message):
    with pytest.raises(OptionError, match=message):
        ChainObjective(Corpus.encode([[["a"], ["b"]]], [["A", "B"]]), ChainFeatures(class_weight=class_weight))


@pytest.mark.parametrize("costs", [{5.0, 0.0}, {0: 5.0, 1: 0.0}, "12", 3.0])
def test_costs_of_a_sentence_without_an_order_are_refused(costs):
    with pytest.raises(DataError, match=r"token_weight has .* for a sentence; give a sequence of numbers"):
        Corpus.encode([[["a"], ["b"]]], [["A", "B"]], token_weight=[costs])
    with pytest.raises(DataError, match=r"sample_weight: expected a sequence"):
        Corpus.encode([[["a"], ["b"]]], [["A", "B"]], sample_weight=costs)


@pytest.mark.parametrize("token_weight", [2.0, "abc", {"O": 3}])
def test_token_weights_that_are_no_sequences_are_refused(token_weight):
    with pytest.raises(DataError, match=r"token_weight: expected a sequence.*; give a sequence of numbers for each"):
        Corpus.encode([[["a"]]], [["A"]], token_weight=token_weight)


@pytest.mark.parametrize("solver", ["auto", "sgd_l1"])
@pytest.mark.parametrize("cost", [1e308, 1.1e6])
def test_costs_that_no_margin_reaches_are_refused(solver, cost):
    options = {"solver": solver, "l1": 0.1, "class_weight": {"O": cost}}
    X, y = [[["a"], ["b"]]] * 2, [["O", "X"]] * 2
    with pytest.raises(OptionError, match=r"class_weight\['O'\]=.* is out of range; give a number from 0 to 1e\+06"):
        ChainCRF(**options).fit(X, y)
    with pytest.raises(DataError, match=r"sentence 1: token 1: weight .* is too large; give a number from 0 to 10+$"):
        ChainCRF(solver=solver, l1=0.1).fit(X, y, token_weight=[[1.0, 1e6], [0.0, cost]])


# A cost beyond all margins has the optimum of any other: it adds a constant, which must not hide the rest.
# By day soft labels for every other solver.
BATCH = ["auto", "lbfgs", "owlqn", "bfgs", "grafting", "grafting_light", "prox_gradient"]


@pytest.mark.parametrize(
    ("solver", "soft"),
    by_day(product(BATCH, [False, True]), lambda case: case[1] == (BATCH.index(case[0]) % 2 == 0)),
)
def test_large_costs_do_not_hide_the_optimum_from_the_tolerance(solver, soft):
    X, y = noisy_sentences(soft=soft)
    options = {"l1": 0.1, "l2": 1.0} if solver in ("grafting", "grafting_light") else {"l2": 1.0}
    for cost in (1e4, 1e6):
        # With soft labels the optimum depends on the cost.
        class_weight = {"B": cost if soft else 200.0, "O": 0.0}
        best = ChainCRF(**options, class_weight=class_weight, tolerance=1e-15, max_iterations=5000).fit(X, y)
        large = ChainCRF(**options, solver=solver, class_weight={"B": cost, "O": 0.0}).fit(X, y)
        sizes = np.abs(best.result_.w).max()
        assert [*large.classes_] == [*best.classes_]
        for p, q in zip(large.marginals(X), best.marginals(X), strict=True):
            np.testing.assert_allclose(p, q, atol=0.02)
        assert abs(np.abs(large.result_.w).max() - sizes) < 0.02 * sizes


def test_large_costs_of_tokens_and_parts_are_seen_as_a_constant():
    X, y = noisy_sentences(soft=False)
    costs, weights = [[3.0, 40.0, 1e6] for _ in X], [2.0] * len(X)
    corpus = Corpus.encode(X, y, sample_weight=weights, token_weight=costs)
    whole = ChainObjective(corpus)
    expected = 2.0 * len(X) * (30.0 + 1e6 - 10.0)
    assert whole.cost_constant == pytest.approx(expected)
    value, _ = whole.value_and_gradient(np.zeros(whole.n_features))
    assert value - expected == pytest.approx(2.0 * len(X) * (np.logaddexp(0, 3.0) + 2 * 10.0), rel=1e-6)
    parts = ChainParts([ListedPart("a", X[:9], y[:9], weights=weights[:9], costs=costs[:9]),
                        ListedPart("b", X[9:], y[9:], weights=weights[9:], costs=costs[9:])])  # fmt: skip
    assert parts.cost_constant == pytest.approx(expected)
    assert (
        parts.restrict(np.arange(3)).cost_constant == whole.restrict(np.arange(3)).cost_constant == parts.cost_constant
    )
    assert ChainObjective(Corpus.encode(X, y)).cost_constant == 0.0


def test_soft_labels_have_the_constant_that_no_score_of_moderate_size_removes():
    X = [[["a"], ["a"]]]
    y = [[{"A": 0.5, "B": 0.5}, {"A": 0.25, "B": 0.75}]]
    objective = ChainObjective(Corpus.encode(X, y), ChainFeatures(class_weight={"A": 4e4, "B": 4e4}))
    # Each label of the first token costs 2e4, the labels of the second 3e4 and 1e4; at scores of 0 the largest counts.
    assert objective.cost_constant == pytest.approx(2e4 - 10.0 + 3e4 - 10.0)
    value, _ = objective.value_and_gradient(np.zeros(objective.n_features))
    assert value - objective.cost_constant == pytest.approx(np.log(2) + 20.0)


def noisy_sentences(*, soft):
    random = np.random.default_rng(0)
    words = random.choice([*"abcdefgh"], (60, 3))
    is_b = (words == "a") | (np.isin(words, ["b", "c"]) & (random.random(words.shape) < 0.35))
    y = np.where(is_b, "B", "O").astype(object).tolist()
    if soft:
        y = [[{"B": 0.7, "O": 0.3} if word == "d" else label for word, label in zip(*pair, strict=True)]
             for pair in zip(words, y, strict=True)]  # fmt: skip
    return [[[word] for word in row] for row in words.tolist()], y
