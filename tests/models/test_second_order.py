"""Second-order chains: what `objectives.test_chain` does not ask of both orders alike."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, minimize
from loglinear._core import ChainModel
from loglinear.errors import DataError, OptionError
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.solvers import SOLVERS, make_solver
from oracles.chain_enumeration import named_features

LABELS = "ABC"


def data(n=80, seed=0):
    """Sentences whose first tokens are marked, and labels in which every pair and triple occurs."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, n)
    X = [[[f"w{rng.integers(6)}", *(["first"] if t == 0 else [])] for t in range(length)] for length in lengths]
    return X, [list(rng.choice(list(LABELS), length)) for length in lengths]


def objective_of(X, y, **options):
    """The objective with all features, and {feature: its index}."""
    objective = ChainObjective(Corpus.encode(X, y), ChainFeatures(all_states=True, all_transitions=True, **options))
    numbered = named_features(objective.model(1.0 + np.arange(objective.n_features), "{}"))
    return objective, {name: int(number) - 1 for name, number in numbered.items()}


def test_it_is_the_first_order_chain_of_paired_labels():
    X, y = data()
    second, names = objective_of(X, y, order=2)
    w = np.random.default_rng(1).normal(size=second.n_features)
    weight = {name: w[at] for name, at in names.items()}

    paired = [[f"{before}{label}" for before, label in zip(["^", *sentence], sentence, strict=False)] for sentence in y]
    assert {label for sentence in paired for label in sentence} == {a + b for a in "^" + LABELS for b in LABELS}
    first, paired_names = objective_of(X, paired)
    forbidden = -1e4
    v = np.empty(first.n_features)
    for (kind, left, right), at in paired_names.items():
        if kind == "state":
            starts_amid = left == "first" and right[0] != "^"
            v[at] = forbidden if starts_amid else weight["state", left, right[1]]
        elif left[1] != right[0]:
            v[at] = forbidden
        else:
            v[at] = weight["transition", left[1], right[1]] + weight.get(("triple", left[0], *right), 0.0)

    value, gradient = second.value_and_gradient(w)
    paired_value, paired_gradient = first.value_and_gradient(v)
    assert value == pytest.approx(paired_value, rel=1e-12)
    for a, b, c in itertools.product(LABELS, repeat=3):
        expected = paired_gradient[paired_names["transition", a + b, b + c]]
        assert gradient[names["triple", a, b, c]] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for b, c in itertools.product(LABELS, repeat=2):
        expected = sum(paired_gradient[paired_names["transition", a + b, b + c]] for a in "^" + LABELS)
        assert gradient[names["transition", b, c]] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_without_weights_of_triples_it_is_the_first_order_chain():
    X, y = data()
    (second, names), (first, first_names) = objective_of(X, y, order=2), objective_of(X, y)
    v = np.random.default_rng(2).normal(size=first.n_features)
    w = np.zeros(second.n_features)
    mine, theirs = [names[name] for name in first_names], list(first_names.values())
    w[mine] = v[theirs]
    (value, gradient), (first_value, first_gradient) = second.value_and_gradient(w), first.value_and_gradient(v)
    assert value == pytest.approx(first_value, rel=1e-13)
    np.testing.assert_allclose(gradient[mine], first_gradient[theirs], rtol=1e-11, atol=1e-11)


def test_triples_come_directly_after_the_transitions():
    X, y = data()
    _, names = objective_of(X, y, order=2)
    labels = Corpus.encode(X, y).labels
    pairs, triples = (list(itertools.product(labels, repeat=n)) for n in (2, 3))
    assert [names[("transition", *pair)] for pair in pairs] == list(range(9))
    assert [names[("triple", *triple)] for triple in triples] == list(range(9, 36))


def test_only_observed_triples_are_features():
    objective = ChainObjective(
        Corpus.encode([[["a"]] * 4, [["a"]] * 2], [list("ABAB"), list("BB")]), ChainFeatures(order=2)
    )
    assert objective.feature_counts == (3, 2, 0, 2)
    triples = objective.model(np.ones(objective.n_features), "{}").triple_features()
    assert triples == [("B", "A", "B", 1.0), ("A", "B", "A", 1.0)]


def test_batches_and_samples_of_sentences_keep_the_order():
    X, y = data()
    whole, _ = objective_of(X, y, order=2)
    w = np.random.default_rng(3).normal(size=whole.n_features)
    value, gradient = whole.value_and_gradient(w)
    halves = [whole.batch(np.arange(start, len(X), 2), 1.0).value_and_gradient(w) for start in (0, 1)]
    assert sum(half[0] for half in halves) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(halves[0][1] + halves[1][1], gradient, rtol=1e-9, atol=1e-9)
    assert whole.sample(np.arange(20)).feature_counts[1] == 27


def test_clusters_of_state_features_leave_triples_alone():
    objective, _ = objective_of(*data(), order=2)
    start, stop = objective.clusterable
    assert start == sum(objective.feature_counts[:3]) == 36
    rng = np.random.default_rng(4)
    cmap = np.concatenate([np.arange(start), start + rng.integers(0, 4, stop - start)])
    aggregated = objective.aggregate(cmap, start + 4)
    gamma = rng.normal(size=start + 4)
    value, gradient = aggregated.value_and_gradient(gamma)
    whole_value, whole_gradient = objective.value_and_gradient(gamma[cmap])
    assert value == pytest.approx(whole_value, rel=1e-12)
    np.testing.assert_allclose(gradient, np.bincount(cmap, whole_gradient), rtol=1e-9, atol=1e-9)
    cmap[20] = start
    assert objective.aggregate(cmap, start + 4) is None


def test_batch_solvers_reach_the_same_optimum():
    objective = ChainObjective(Corpus.encode(*data()), ChainFeatures(order=2))
    problem = Problem(objective, ElasticNet(l2=0.5))
    ways = [("lbfgs", {}), ("owlqn", {}), ("bfgs", {}), ("clustered", {}), ("hybrid", {})]
    solvers = [make_solver(name, tolerance=1e-12, **options) for name, options in ways]
    objectives = [minimize(problem, solver).objective for solver in solvers]
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-7)


@pytest.mark.parametrize("name", ["sgd_l1", "two_stage", "sag", "sg", "asg", "pegasos", "adagrad"])
def test_solvers_that_go_sample_by_sample_refuse_it(name):
    assert name in SOLVERS
    problem = Problem(ChainObjective(Corpus.encode(*data()), ChainFeatures(order=2)), ElasticNet(l2=1.0))
    with pytest.raises(OptionError, match="chains of order 1"):
        minimize(problem, make_solver(name))


@pytest.mark.parametrize("order", [0, 3, 200])
def test_other_orders_are_refused(order):
    with pytest.raises(OptionError, match=f"order={order}"):
        ChainObjective(Corpus.encode(*data()), ChainFeatures(order=order))


def test_too_many_labels_for_triples_are_refused():
    labels = [f"L{label}" for label in range(257)]
    corpus = Corpus.encode([[["a"]] * 257], [labels])
    with pytest.raises(DataError, match=r"257 labels.*order 2"):
        ChainObjective(corpus, ChainFeatures(order=2))
    assert ChainObjective(corpus).feature_counts[0] == 256


def test_a_model_keeps_the_triples_that_are_not_zero():
    objective, names = objective_of(*data(), order=2)
    w = np.random.default_rng(5).normal(size=objective.n_features)
    w[names["triple", "A", "B", "C"]] = 0.0
    model = objective.model(w, "{}")
    again = ChainModel.from_bytes(model.to_bytes())
    assert named_features(again) == {name: w[at] for name, at in names.items() if w[at] != 0.0}
    assert model.n_features == objective.n_features - 1


def test_a_first_order_model_file_knows_nothing_of_triples(tmp_path):
    objective, _ = objective_of(*data(), order=2)
    w = np.ones(objective.n_features)
    w[9:36] = 0.0
    # As before there were chains of second order: no tensors of triples, and no word about the order.
    model = objective.model(w, '{"model": "chain", "l2": 0.5}')
    assert b"triples" not in model.to_bytes()
    model.save(str(tmp_path / "m"))
    crf = ChainCRF.load(tmp_path / "m")
    assert (crf.order, crf.l2, crf.triple_features_) == (1, 0.5, {})


@pytest.fixture
def columns(tmp_path):
    """A column file in which every triple of labels occurs."""
    rows = ["\n" if i % 7 == 6 else f"w{i % 5}\t{LABELS[(i * i + i // 3) % 3]}\n" for i in range(300)]
    (tmp_path / "data.txt").write_text("".join(rows))
    return tmp_path / "data.txt"


@pytest.mark.parametrize(
    ("template", "options", "counts"),
    [
        ("U0:%x[0,0]\nB\nT\n", {}, (True, True)),
        ("U0:%x[0,0]\nB\nT17\n", {"order": 2}, (True, True)),
        ("U0:%x[0,0]\nB\n", {"order": 2}, (True, True)),
        ("U0:%x[0,0]\nB\n", {}, (True, False)),
        ("U0:%x[0,0]\nt # triples alone\n", {}, (False, True)),
        ("U0:%x[0,0]\n", {"order": 2}, (False, False)),
    ],
)
def test_the_lines_of_a_template_choose_their_order(columns, template, options, counts):
    corpus = Corpus.read(columns, template=template)
    model = ChainCRF(l2=1.0, **options).fit(corpus)
    assert (bool(model.transition_features_), bool(model.triple_features_)) == counts


def test_a_line_of_triples_is_the_option(columns):
    line = ChainCRF(l2=1.0).fit(Corpus.read(columns, template="U0:%x[0,0]\nB\nT\n"))
    option = ChainCRF(l2=1.0, order=2).fit(Corpus.read(columns, template="U0:%x[0,0]\nB\n"))
    assert line.triple_features_ == option.triple_features_
    assert line.state_features_ == option.state_features_
