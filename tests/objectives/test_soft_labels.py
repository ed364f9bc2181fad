"""Distributions over labels: the expected objective against enumeration, finite differences and repeated sentences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from examples import examples
from loglinear import (
    LBFGS,
    OWLQN,
    ChainCRF,
    ChainFeatures,
    ChainObjective,
    Corpus,
    DataError,
    ElasticNet,
    OptionError,
    Problem,
    minimize,
)
from loglinear.data.parts import ListedPart
from loglinear.objectives.parts import ChainParts
from loglinear.solvers import SAG
from oracles.chain_enumeration import Chain, named_features
from oracles.softmax_margin import LABEL, distinct, short_sentences, softmax_margin

LAWS = examples(150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@st.composite
def soft(draw):
    """Sentences whose labels are known, soft, or in other sentences partial; weights, costs, constraints."""
    constraints, X, y = draw(short_sentences())
    sizes = [*map(len, X)]
    for labels in y:
        uncertain = draw(st.sampled_from(["soft", "soft", "partial", "known"]))
        for token, name in enumerate(labels):
            if uncertain == "soft" and draw(st.booleans()):
                others = draw(st.lists(LABEL, min_size=1, max_size=2, unique=True))
                share = draw(st.sampled_from([0.25, 0.5, 0.9]))
                others = [other for other in others if other != name]
                labels[token] = {name: share} | {other: (1.0 - share) / len(others) for other in others}
                if not others:
                    labels[token] = {name: 1.0}
            elif uncertain == "partial" and draw(st.booleans()):
                labels[token] = draw(st.sampled_from([None, frozenset({name, "A"})]))
    weights = [draw(st.sampled_from([1.0, 2.0, 0.3, 0.0])) for _ in sizes]
    costs = [[draw(st.sampled_from([0.0, 1.0, 2.5])) for _ in range(size)] for size in sizes]
    return X, y, weights, costs if draw(st.booleans()) else None, constraints


def objective_of(data, **options):
    X, y, weights, costs, constraints = data
    corpus = Corpus.encode(X, y, sample_weight=weights, token_weight=costs)
    assume(len(corpus.labels) == 3 if constraints else corpus.labels)
    features = ChainFeatures(constraints=constraints, all_states=True, all_transitions=True, **options)
    return ChainObjective(corpus, features, threads=1)


@LAWS
@given(data=soft(), order=st.sampled_from([1, 2]), seed=st.integers(0, 2**31))
def test_the_value_is_the_expected_nll_and_the_gradient_its_slope(data, order, seed):
    X, y, weights, costs, constraints = data
    assume(any(label is not None for row in y for label in row) and any(any(row) for row in X))
    objective = objective_of(data, order=order)
    w = distinct(objective.n_features, seed)
    value, gradient = objective.value_and_gradient(w)
    index = {weight: at for at, weight in enumerate(w.tolist())}
    names = {name: index[weight] for name, weight in named_features(objective.model(w)).items()}
    chain = Chain(objective.label_names, {name: w[at] for name, at in names.items()})
    prices = costs or [[0.0] * len(row) for row in y]
    expected = softmax_margin(chain, X, y, prices, weights, constraints or ())
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-9)
    step = 1e-5
    for at in np.random.default_rng(seed).permutation(len(w))[:8]:
        e = np.zeros_like(w)
        e[at] = step
        slope = (objective.value_and_gradient(w + e)[0] - objective.value_and_gradient(w - e)[0]) / (2.0 * step)
        assert gradient[at] == pytest.approx(slope, rel=1e-6, abs=1e-6)
    assert objective.sample_nlls(w) @ objective.weights == pytest.approx(value, rel=1e-9, abs=1e-8)


@LAWS
@given(data=soft(), order=st.sampled_from([1, 2]), seed=st.integers(0, 2**31), cut=st.integers(0, 4))
def test_data_in_parts_have_the_value_of_the_joined_data(data, order, seed, cut):
    X, y, weights, costs, constraints = data
    assume(any(label is not None for row in y for label in row) and any(any(row) for row in X))
    whole = objective_of(data, order=order)
    parts = [
        ListedPart(f"{part}", X[part], y[part], None, weights[part], costs and costs[part])
        for part in (slice(0, cut), slice(cut, None))
        if X[part]
    ]
    features = ChainFeatures(constraints=constraints, all_states=True, all_transitions=True, order=order)
    joined = ChainParts(parts, features)
    w = distinct(whole.n_features, seed)
    weight_of, place = named_features(whole.model(w)), {weight: at for at, weight in enumerate(w.tolist())}
    v = np.empty_like(w)
    for name, weight in named_features(joined.model(w)).items():
        v[place[weight]] = weight_of[name]
    assert joined.value_and_gradient(v)[0] == pytest.approx(whole.value_and_gradient(w)[0], rel=1e-10, abs=1e-9)
    if not any(label is None or isinstance(label, frozenset) for row in y for label in row):
        assert joined.is_convex


X = [[["a"], ["b"], ["a", "c"]], [["c"], ["b"]]]
Y = [[{"A": 0.7, "B": 0.3}, "B", {"A": 0.5, "C": 0.5}], ["C", {"B": 0.25, "A": 0.75}]]


def as_repeated(X, Y):
    """Each sentence once for each of its labellings, with its probability as weight: the n-best list of a teacher."""
    rows, labels, weights = [], [], []
    for sentence, soft_labels in zip(X, Y, strict=True):
        options = [label.items() if isinstance(label, dict) else [(label, 1.0)] for label in soft_labels]
        for choice in itertools.product(*options):
            rows.append(sentence)
            labels.append([label for label, _ in choice])
            weights.append(float(np.prod([share for _, share in choice])))
    return rows, labels, weights


@pytest.mark.parametrize("order", [1, 2])
def test_it_is_the_sentence_with_each_labelling_weighted_by_its_probability(order):
    rows, labels, weights = as_repeated(X, Y)
    soft_crf = ChainCRF(order=order, tolerance=1e-10).fit(X, Y)
    repeated = ChainCRF(order=order, tolerance=1e-10).fit(rows, labels, sample_weight=weights)
    assert soft_crf.result_.objective == pytest.approx(repeated.result_.objective, rel=1e-6)
    for mine, theirs in zip(soft_crf.predict_marginals(X), repeated.predict_marginals(X), strict=True):
        for p, q in zip(mine, theirs, strict=True):
            assert p == pytest.approx({label: q[label] for label in p}, abs=1e-3)


def test_batch_solvers_agree_and_others_are_refused():
    problem = Problem(ChainObjective(Corpus.encode(X, Y)), ElasticNet(l2=0.5))
    best = minimize(problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-8)).objective
    assert minimize(problem, OWLQN(tolerance=1e-12)).objective == pytest.approx(best, rel=1e-6)
    assert not problem.objective.is_prunable
    with pytest.raises(OptionError, match="distributions over labels"):
        minimize(problem, SAG())


def test_threads_do_not_change_a_bit():
    results = set()
    for threads in (1, 2, 3):
        objective = ChainObjective(Corpus.encode(X * 40, Y * 40), threads=threads)
        value, gradient = objective.value_and_gradient(distinct(objective.n_features, 1))
        results.add((value, gradient.tobytes()))
    assert len(results) == 1


def test_a_corpus_gives_back_the_distributions_also_from_disk(tmp_path):
    corpus = Corpus.encode(X, Y)
    corpus.save(tmp_path / "c.corpus")
    for held in (corpus, Corpus.open(tmp_path / "c.corpus"), Corpus.concat([corpus[:1], corpus[1:]])):
        assert held.gold() == Y
    with pytest.raises(DataError, match="partial"):
        corpus.true_labels()
    assert Corpus.encode(X[1:], [["C", {"B": 1.0, "A": 0.0}]]).gold() == [["C", "B"]]
    assert Corpus.encode(X[1:], [[1, {0: 0.5, 1: 0.5}]]).gold() == [[1, {0: 0.5, 1: 0.5}]]


def test_files_have_distributions(tmp_path):
    (tmp_path / "a.txt").write_text("a A:0.75|B:0.25\nb B\n\n")
    columns = Corpus.read(tmp_path / "a.txt", template="U:%x[0,0]\nB\n", partial=True)
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a", "b"], "labels": [{"A": 0.75, "B": 0.25}, "B"]}\n')
    assert columns.gold() == Corpus.read(tmp_path / "a.jsonl").gold() == [[{"B": 0.25, "A": 0.75}, "B"]]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ({"A": 0.5, "B": 0.4}, r"sentence 0, token 1: .*add up to 0.900000, 0.100000 less than 1"),
        ({"A": 0.8, "B": 0.4}, r"add up to 1.200000, 0.200000 more than 1"),
        ({"A": 1.5, "B": -0.5}, r"has the probability 1.5; probabilities are numbers from 0 to 1"),
        ({"A": float("nan")}, r"has the probability NaN"),
        ({"A": "x"}, r"the probability of 'A' is 'x', which is not a number"),
        ({}, r"empty dict of labels"),
        ({"A": 0.5, 1: 0.5}, r"use one type"),
    ],
)
def test_bad_distributions_are_refused(label, message):
    with pytest.raises(DataError, match=message):
        Corpus.encode([[["a"], ["b"]]], [["A", label]])


@pytest.mark.parametrize("cell", ["A:0.5|B:0.4", "A:1.5|B:0.1", "A:0.5|A:0.5"])
def test_bad_cells_are_refused_with_the_line(tmp_path, cell):
    (tmp_path / "a.txt").write_text(f"a {cell}\nb B\n\n")
    with pytest.raises(DataError, match=r"line 1: label '.*': (the probabilities|a label has)"):
        Corpus.read(tmp_path / "a.txt", template="U:%x[0,0]\nB\n", partial=True)


def test_partial_and_soft_labels_of_one_sentence_are_refused():
    with pytest.raises(DataError, match="sentence 0 has both partial labels and distributions"):
        ChainCRF().fit([[["a"], ["b"]]], [[None, {"A": 0.5, "B": 0.5}]])


def test_constraints_that_forbid_all_labellings_are_an_error():
    with pytest.raises(DataError, match="sentence 0"):
        ChainCRF(constraints=[("A", "B"), ("B", "A"), ("A", "A"), ("B", "B")]).fit(
            [[["a"], ["b"]], [["a"]], [["b"]]], [[{"A": 0.5, "B": 0.5}] * 2, ["A"], ["B"]]
        )


@pytest.mark.parametrize("token_weight", [None, [[0.5], [2.0]]])
def test_a_label_costs_what_it_costs_on_average_with_class_weights(token_weight):
    """The expected cost of label k is the sum over the labels j other than k of q_j c_j."""
    shares, c = [{"A": 0.3, "B": 0.6, "C": 0.1}, {"A": 0.2, "C": 0.8}], {"A": 3.0, "B": 0.0, "C": 1.0}
    corpus = Corpus.encode([[["a"]], [["b"]]], [[label] for label in shares], token_weight=token_weight)
    objective = ChainObjective(corpus, ChainFeatures(class_weight=c, all_states=True), threads=1)
    w = distinct(objective.n_features, 3)
    weights = {(name, label): weight for name, label, weight in objective.model(w).state_features()}
    expected = 0.0
    for attribute, q, (base,) in zip("ab", shares, token_weight or [[1.0], [1.0]], strict=True):
        score = {k: weights[attribute, k] for k in c}
        cost = {k: base * sum(q.get(j, 0.0) * c[j] for j in c if j != k) for k in c}
        expected += np.log(sum(np.exp(score[k] + cost[k]) for k in c)) - sum(q[k] * score[k] for k in q)
    assert objective.value_and_gradient(w)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "cell", ["PER:0,7|O:0,3", "PER:nan|O:1", "PER:0.7|O:", "PER:0.7|O", "PER|O:0.3", "PER:70%|O:30%"]
)
def test_a_cell_that_looks_like_a_distribution_and_is_not_one_is_an_error_with_the_line(tmp_path, cell):
    (tmp_path / "a.txt").write_text(f"b O\n\na {cell}\nb O\n\n")
    with pytest.raises(DataError, match=r"a.txt, line 3: label '.*' is not a label with a probability; write each"):
        Corpus.read(tmp_path / "a.txt", template="U:%x[0,0]\nB\n", partial=True)
    whole = Corpus.read(tmp_path / "a.txt", template="U:%x[0,0]\nB\n")
    assert whole.gold()[1] == [cell, "O"]


def test_labels_with_colons_or_bars_that_are_no_distributions_stay_labels(tmp_path):
    (tmp_path / "a.txt").write_text("a x:A\nb x:A|y:B\nc B:1.7\nd A:1st|B:2nd\n\n")
    corpus = Corpus.read(tmp_path / "a.txt", template="U:%x[0,0]\nB\n", partial=True)
    assert corpus.gold() == [["x:A", {"x:A", "y:B"}, "B:1.7", {"A:1st", "B:2nd"}]]
