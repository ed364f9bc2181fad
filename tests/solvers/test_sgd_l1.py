"""SGD-L1 and the two-stage trainer against a plain implementation of the papers' equations, update by update."""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import ChainFeatures, ChainObjective, Corpus
from loglinear.errors import ObjectiveError, OptionError
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import OWLQN, SG, SGDL1, Clustered, LabelSets, TwoStage, tune_learning_rate
from loglinear.solvers.clustered import ClusteredState
from loglinear.solvers.common.tuning import QUICK_PASSES
from oracles.samples import INFERENCES, Classified, Graphed, PerSample, chunky, sentences

LAWS = examples(40)
# Objectives of a sample that differ by less than this, relative to 1 or to more, may differ by rounding errors alone.
TIE = 1e-12


def is_decided(one, other):
    """Whether more than rounding errors tells which of two trials is better, or the sample's weights are the same.

    A sample whose label is all but certain has an objective of 1e-15, say, after a trial, and of 1e-27 after another at
    twice the rate. The reference's classifier tells them apart; the passes take log Z less the score of the labels,
    whose rounding errors are some 1e-14. Either rate is as good, but they lead to weights that differ by far.
    """
    objectives_differ = abs(one[0] - other[0]) > TIE * max(1.0, one[0])
    return objectives_differ or np.array_equal(one[-1], other[-1])


class Reference:
    """The papers' updates over full vectors. v, q and u are in units of w / scale."""

    def __init__(self, data, penalty, l1, l2, w, q, u):
        self.data, self.penalty, self.l1, self.l2 = data, penalty, l1, l2
        self.v, self.q, self.u, self.scale, self.decided = w.copy(), q.copy(), u, 1.0, True

    def penalise(self, used):
        """APPLYPENALTY of Figure 2, or clipping by what is owed since the last time."""
        for i in np.flatnonzero(used & self.data.penalised):
            z = self.v[i]
            down, up = self.u + self.q[i], self.u - self.q[i]
            if self.penalty == "clipping_lazy":
                down = up
            if z > 0.0:
                self.v[i] = max(0.0, z - down)
            elif z < 0.0:
                self.v[i] = min(0.0, z + up)
            self.q[i] = self.u if self.penalty == "clipping_lazy" else self.q[i] + (self.v[i] - z)

    def update(self, j, eta, gradient):
        spared = ~self.data.penalised
        self.scale /= 1.0 + eta * self.l2
        self.v[spared] *= 1.0 + eta * self.l2
        c = eta * self.l1 / self.scale
        if self.penalty == "naive":
            self.v -= c * np.sign(self.v) * self.data.penalised
        self.u += c
        if self.penalty == "clipping_lazy":
            self.q[spared] = self.u
        self.v -= eta / self.scale * gradient
        if self.penalty in ("cumulative", "clipping_lazy"):
            self.penalise(self.data.used[j])
        elif self.penalty == "clipping":
            self.v = np.sign(self.v) * np.maximum(np.abs(self.v) - c * self.data.penalised, 0.0)

    def objective(self, j):
        """Zhou et al. (2011), Eq. 14."""
        w = self.scale * self.v
        used = w[self.data.used[j] & self.data.penalised]
        nll, gradient = self.data.samples[j].value_and_gradient(w)
        return nll + self.l1 * np.abs(used).sum() + 0.5 * self.l2 * used @ used, gradient

    def rate(self, j, scheduled, gradient):
        """Zhou et al. (2011), Algorithm 1."""
        start, rate, flag, tried = (self.objective(j)[0], self.of_sample(j)), scheduled, False, []
        for _ in range(3):
            before = self.v.copy(), self.q.copy(), self.u, self.scale
            self.update(j, rate, gradient)
            tried.append((self.objective(j)[0], len(tried), rate, self.of_sample(j)))
            self.v, self.q, self.u, self.scale = before
            self.decided &= flag or is_decided(tried[-1], start)
            changed = tried[-1][0] > start[0] and not flag
            flag = flag or changed
            rate = scheduled * 0.5 if changed else (rate * 0.5 if flag else rate / 0.5)
        best = min(tried)
        self.decided &= all(is_decided(best, other) for other in tried)
        return best[2]

    def of_sample(self, j):
        """The weights on which a sample's objective depends."""
        return self.scale * self.v[self.data.used[j]]

    def run(self, order, rates, line_search):
        for j, scheduled in zip(order, rates, strict=True):
            if self.penalty == "clipping_lazy":
                self.penalise(self.data.used[j])
            gradient = self.objective(j)[1]
            searched = line_search and self.data.tokens[j] > 0
            eta = self.rate(j, scheduled, gradient) if searched else scheduled
            self.update(j, eta, gradient)
        if self.penalty == "clipping_lazy":
            self.penalise(np.ones(len(self.v), bool))
        return self.scale * self.v, self.scale * self.q, self.scale * self.u


CASES = dict(
    seed=st.integers(0, 10_000),
    valued=st.booleans(),
    l1=st.sampled_from([0.0, 0.02, 0.2]),
    l2=st.sampled_from([0.0, 0.0, 0.3]),
    eta=st.sampled_from([0.1, 0.7]),
)


def compare(data, seed, penalty, l1, l2, eta, line_search=False):
    rng = np.random.default_rng(seed)
    n, samples = data.whole.n_features, data.whole.n_samples
    w, q, u = rng.normal(size=n) * (rng.random(n) < 0.5), np.zeros(n), 0.0
    # Rates that a line search doubles without a penalty make passes chaotic: rounding errors grow a million-fold.
    close = dict(rtol=1e-6, atol=1e-8) if line_search else dict(rtol=1e-9, atol=1e-12)
    for _ in range(2):
        order, rates = rng.permutation(samples), eta * rng.uniform(0.5, 1.0, samples)
        reference = Reference(data, penalty, l1, l2, w, q, u)
        expected = reference.run(order, rates, line_search)
        if not reference.decided:
            reject()  # such data say nothing of the equations
        w, q = w.copy(), q.copy()
        search = (3, 0.5) if line_search else None
        u, evaluations = data.whole.per_sample().sgd_l1_pass(
            w, q, u, visits=order, rates=rates, l1=l1, l2=l2, penalty=penalty, line_search=search
        )
        np.testing.assert_allclose(w, expected[0], **close)
        if penalty in ("cumulative", "clipping_lazy"):
            np.testing.assert_allclose(q, expected[1], **close)
        assert u == pytest.approx(expected[2])
        assert evaluations == (4 if line_search else 1) * sum(tokens > 0 for tokens in data.tokens)


@LAWS
@pytest.mark.parametrize("penalty", ["naive", "clipping", "clipping_lazy", "cumulative"])
@given(**CASES)
def test_pass_equals_the_equations(penalty, seed, valued, l1, l2, eta):
    data = PerSample(*sentences(12, seed, valued=valued))
    compare(data, seed, penalty, l1, l2, eta)


class BatchReference(Reference):
    """Updates of several samples, each from the weights before the batch, after which all weights are penalised."""

    def run_batches(self, order, rates, size):
        everything = np.ones(len(self.v), bool)
        self.penalise(everything)
        for first in range(0, len(order), size):
            batch, etas = order[first : first + size], rates[first : first + size]
            gradients = [self.objective(j)[1] for j in batch]
            for eta in etas:
                self.scale /= 1.0 + eta * self.l2
                self.u += eta * self.l1 / self.scale
            for eta, gradient in zip(etas, gradients, strict=True):
                self.v -= eta / self.scale * gradient
            self.penalise(everything)
        return self.scale * self.v, self.scale * self.q, self.scale * self.u


def compare_batches(data, seed, size, l1, l2, eta, reference=BatchReference):
    rng = np.random.default_rng(seed)
    n, samples = data.whole.n_features, data.whole.n_samples
    w, q, u = np.zeros(n), np.zeros(n), 0.0
    for _ in range(2):
        order, rates = rng.permutation(samples), eta * rng.uniform(0.5, 1.0, samples)
        expected = reference(data, "cumulative", l1, l2, w, q, u).run_batches(order, rates, size)
        u, evaluations = data.whole.per_sample().sgd_l1_batches(
            w, q, u, visits=order, rates=rates, l1=l1, l2=l2, batch_size=size
        )
        np.testing.assert_allclose(w, expected[0], rtol=1e-4, atol=2e-5)
        np.testing.assert_allclose(q, expected[1], rtol=1e-4, atol=2e-5)
        assert u == pytest.approx(expected[2])
        assert evaluations == sum(tokens > 0 for tokens in data.tokens)


class SweptReference(Reference):
    """The paper's updates, each of which penalises all weights."""

    def run_batches(self, order, rates, size):
        assert size == 1
        self.data.used = np.ones((len(order), len(self.v)), bool)
        return self.run(order, rates, line_search=False)


@LAWS
@given(**CASES)
def test_with_batches_of_one_the_penalty_is_the_cumulative_one_after_each_update(seed, valued, l1, l2, eta):
    compare_batches(PerSample(*sentences(12, seed, valued=valued)), seed, 1, l1, l2, eta, SweptReference)


@LAWS
@given(**CASES, size=st.sampled_from([1, 3, 5, 16]))
def test_samples_of_a_batch_step_from_the_same_weights(seed, valued, l1, l2, eta, size):
    data = PerSample(*sentences(12, seed, valued=valued), list(np.random.default_rng(seed).choice([0.5, 1, 2], 12)))
    compare_batches(data, seed, size, l1, l2, eta)


def test_sentences_that_count_for_nothing_change_nothing_in_a_batch():
    X, y = chunky(20)
    others, labels = X[:3], [y[0], [None] * len(y[1]), [None] * len(y[2])]
    weights = [1.0] * 20 + [0.0, 1.0, 1.0]
    some = ChainObjective(Corpus.encode(X, y))
    more = ChainObjective(Corpus.encode(X + others, y + labels, sample_weight=weights))
    assert some.n_features == more.n_features
    visits, rates, ends = np.arange(23), np.full(23, 0.1), []
    for objective, order in ((some, visits[:20]), (more, np.insert(visits[:20], [5, 5, 20], visits[20:]))):
        w, q = np.zeros(some.n_features), np.zeros(some.n_features)
        objective.per_sample().sgd_l1_batches(
            w, q, 0.0, visits=order, rates=rates[: len(order)], l1=0.0, l2=0.0, batch_size=1
        )
        ends.append(w)
    np.testing.assert_array_equal(*ends)
    found = minimize(Problem(more, ElasticNet(l1=0.1)), SGDL1(batch_size=4, learning_rate=0.1, passes=3))
    assert math.isfinite(found.objective)


@pytest.mark.parametrize("l2", [5.0, 40.0])
def test_batches_follow_the_equations_where_an_l2_penalty_shrinks_weights_beyond_single_precision(l2):
    compare_batches(PerSample(*sentences(40, 1)), 1, 2, 0.05, l2, 0.5)


def test_long_sentences_stay_within_the_range_of_single_precision():
    X, y = chunky(100)
    data = PerSample([list(itertools.chain(*X))] * 2, [list(itertools.chain(*y))] * 2)
    compare_batches(data, 0, 1, 0.05, 0.1, 0.002)


def test_scores_far_apart_stay_within_the_range_of_single_precision():
    X, y = [[["a"]] * 6 + [["b"]]], [["B"] * 6 + ["A"]]
    objective = ChainObjective(Corpus.encode(X, y), ChainFeatures(all_states=True, all_transitions=True))
    far = {"A -> A": 38.0, "a -> A": -38.0, "b -> B": -38.0}
    w = np.array([far.get(" ".join(str(name).split()), 0.0) for name in objective.feature_names(range(8))])
    assert objective.n_features == 8
    assert np.count_nonzero(w) == len(far)
    expected, q = w - 0.1 * objective.value_and_gradient(w)[1], np.zeros(8)
    objective.per_sample().sgd_l1_batches(
        w, q, 0.0, visits=np.array([0]), rates=np.array([0.1]), l1=0.0, l2=0.0, batch_size=1
    )
    np.testing.assert_allclose(w, expected, rtol=1e-5, atol=1e-5)


def test_transitions_without_features_follow_the_largest_score():
    y = [["A", "B", "C", "A"], ["B"], ["C", "A", "B"], ["A"], ["C"], ["B", "C"], ["A", "B", "C", "A", "B"]]
    X = [[["a"] if label == "A" else ["b"] for label in sentence] for sentence in y]
    data = PerSample(X, y)
    assert data.whole.feature_counts[0] == 3  # of nine transitions
    for size in (1, 2):
        compare_batches(data, 1, size, 0.01, 0.1, 1.5)


def test_the_first_pass_goes_sample_by_sample_and_the_others_by_batches():
    sizes = []

    class Passes:
        def __init__(self, passes):
            self.passes = passes

        def __getattr__(self, name):
            return getattr(self.passes, name)

        def sgd_l1_batches(self, *arrays, batch_size, **settings):
            sizes.append(batch_size)
            return self.passes.sgd_l1_batches(*arrays, batch_size=batch_size, **settings)

    class Recorded(ChainObjective):
        def per_sample(self):
            return Passes(super().per_sample())

    problem = Problem(Recorded(Corpus.encode(*chunky())), ElasticNet(l1=0.5))
    minimize(problem, SGDL1(learning_rate=0.1, passes=3, batch_size=4))
    assert sizes == [1, 4, 4]


def test_batches_lead_to_about_the_same_weights_on_any_number_of_threads_and_after_resuming():
    corpus, solver = Corpus.encode(*chunky(300)), SGDL1(learning_rate=0.1, passes=6, batch_size=2)
    one, two = (Problem(ChainObjective(corpus, threads=threads), ElasticNet(l1=5.0, l2=5.0)) for threads in (1, 2))
    by_batches, by_sample = (minimize(one, each) for each in (solver, replace(solver, batch_size=1)))
    assert by_batches.objective == pytest.approx(by_sample.objective, rel=0.002)
    np.testing.assert_array_equal(minimize(two, solver).w, by_batches.w)
    state = minimize(one, solver, stop=Stop(max_iterations=3)).state
    resumed = minimize(one, solver, state=pickle.loads(pickle.dumps(state)))
    np.testing.assert_array_equal(resumed.w, by_batches.w)


def test_what_has_no_batches_is_refused_or_goes_sample_by_sample():
    X, y = chunky()
    y = [[label if label != "B" or t == 0 else "A" for t, label in enumerate(labels)] for labels in y]
    features = ChainFeatures(constraints=[("A", "B"), ("B", "B"), ("C", "B")])
    problem = Problem(ChainObjective(Corpus.encode(X, y), features), ElasticNet(l1=0.5))
    with pytest.raises(OptionError, match="batch_size=2 needs a chain of first order"):
        minimize(problem, SGDL1(learning_rate=0.1, batch_size=2))
    options = {"learning_rate": 0.1, "passes": 3}
    by_default, by_sample = (
        minimize(problem, LabelSets(**options, **sizes), stop=Stop(max_iterations=3)).w
        for sizes in ({}, {"batch_size": 1})
    )
    np.testing.assert_array_equal(by_default, by_sample)
    for conflict in ({"penalty": "clipping_lazy"}, {"line_search": True}):
        with pytest.raises(OptionError, match="batch_size=2 needs penalty='cumulative' and line_search=False"):
            SGDL1(batch_size=2, **conflict)
        assert LabelSets(**conflict).first.batch_size == 1


@LAWS
@pytest.mark.parametrize("penalty", ["clipping_lazy", "cumulative"])
@given(**CASES)
def test_line_search_equals_algorithm_1(penalty, seed, valued, l1, l2, eta):
    data = PerSample(*sentences(8, seed, valued=valued))
    compare(data, seed, penalty, l1, l2, eta, line_search=True)


# By day one seed for each setting.
@pytest.mark.parametrize(
    ("penalty", "line_search", "seed"),
    by_day(
        itertools.product(["clipping_lazy", "cumulative"], [False, True], range(4)),
        lambda case: case[2] == 2 * (case[0] == "cumulative") + case[1],
    ),
)
def test_pass_equals_the_equations_with_bigram_features_weights_and_dense_rows(penalty, line_search, seed):
    rng = np.random.default_rng(seed)
    X, y = sentences(30, seed, kinds=3)
    X = [[(token[0], token[2]) for token in sentence] for sentence in X]
    template = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\nB1:%x[0,0]\n"
    data = PerSample(X, y, list(rng.choice([1.0, 2.0, 0.5], len(X))), template)
    assert data.whole.feature_counts[2] > 0
    compare(data, seed, penalty, 0.05, 0.1, 0.4, line_search)


@LAWS
@pytest.mark.parametrize(
    ("penalty", "line_search"),
    [("naive", False), ("clipping", False), *((p, s) for p in ("clipping_lazy", "cumulative") for s in (False, True))],
)
@given(**CASES, n_classes=st.integers(2, 9), intercept=st.booleans())
def test_classifiers_follow_the_equations_and_their_intercept_is_spared(
    penalty, line_search, n_classes, intercept, seed, valued, l1, l2, eta
):
    data = Classified(seed, n_classes, intercept=intercept, valued=valued)
    compare(data, seed, penalty, l1, l2, eta, line_search)


@LAWS
@pytest.mark.parametrize(
    ("penalty", "line_search"),
    [("naive", False), ("clipping", False), *((p, s) for p in ("clipping_lazy", "cumulative") for s in (False, True))],
)
@given(**CASES, inference=st.sampled_from([*INFERENCES]))
def test_graphs_follow_the_equations(penalty, line_search, inference, seed, valued, l1, l2, eta):
    compare(Graphed(seed, inference, strength=0.5 + valued), seed, penalty, l1, l2, 0.3 * eta, line_search)


@given(seed=st.integers(0, 1000), l2=st.sampled_from([0.0, 0.3]))
@LAWS
def test_lazy_and_eager_clipping_give_the_same_weights(seed, l2):
    objective = PerSample(*sentences(15, seed)).whole
    rng = np.random.default_rng(seed)
    order, rates = rng.permutation(15), rng.uniform(0.1, 0.5, 15)
    found = []
    for penalty in ("clipping", "clipping_lazy"):
        w, q = np.random.default_rng(1).normal(size=objective.n_features), np.zeros(objective.n_features)
        objective.per_sample().sgd_l1_pass(w, q, 0.0, visits=order, rates=rates, l1=0.03, l2=l2, penalty=penalty)
        found.append(w)
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-12)


def test_with_the_full_batch_the_cumulative_penalty_equals_clipping():
    """One sentence: its gradient is the true one. No weight may be clipped: section 3.2 assumes the same orthant."""
    X, y = sentences(40, 3)
    objective = ChainObjective(Corpus.encode([list(itertools.chain(*X))], [list(itertools.chain(*y))]))
    found, view = [], objective.per_sample()
    for penalty in ("clipping", "cumulative"):
        start = np.random.default_rng(0).uniform(1.0, 2.0, objective.n_features)
        start[::3] *= -1.0
        w, q, u = start.copy(), np.zeros_like(start), 0.0
        for _ in range(30):
            rates = np.array([0.0005])
            u, _ = view.sgd_l1_pass(w, q, u, visits=np.array([0]), rates=rates, l1=3.0, l2=0.0, penalty=penalty)
        found.append(w)
    np.testing.assert_allclose(*found, atol=1e-10)
    assert (found[0] * start > 0.0).all()
    assert np.abs(found[0] - start).max() > 0.04


@LAWS
@given(seed=st.integers(0, 1000), l1=st.sampled_from([0.05, 1.0, 1e9]))
def test_a_weight_never_crosses_zero_in_a_penalty_step_and_q_and_u_obey_their_definition(seed, l1):
    """With a rate so small that the gradient does nothing, a pass is penalty alone."""
    objective = PerSample(*sentences(10, seed)).whole
    n = objective.n_features
    w = np.random.default_rng(seed).normal(size=n)
    before, q = w.copy(), np.zeros(n)
    rates = np.full(10, 1e-14)
    u, _ = objective.per_sample().sgd_l1_pass(
        w, q, 0.0, visits=np.arange(10), rates=rates, l1=l1 * 1e12, l2=0.0, penalty="cumulative"
    )
    assert u == pytest.approx(l1 * 1e12 * rates.sum())  # Eq. 3
    assert (w * before >= 0.0).all()
    assert (np.abs(w) <= np.abs(before) + 1e-10).all()
    np.testing.assert_allclose(q, w - before, atol=1e-10)  # Eq. 4: the penalty alone has moved the weights


@pytest.fixture(scope="module")
def problem():
    return Problem(ChainObjective(Corpus.encode(*chunky())), ElasticNet(l1=1.0))


@pytest.fixture(scope="module")
def optimum(problem):
    return minimize(problem, OWLQN(tolerance=1e-12, gradient_tolerance=1e-8)).objective


@pytest.mark.parametrize("options", [{}, {"schedule": "inverse"}, {"tail": 0.05}, {"line_search": True}])
@pytest.mark.parametrize("penalty", ["clipping_lazy", "cumulative"])
def test_comes_near_the_optimum(problem, optimum, penalty, options):
    result = minimize(problem, SGDL1(penalty=penalty, passes=60, **options))
    assert result.status is Status.PASSES_MADE
    assert result.status.converged
    assert optimum <= result.objective < optimum * (1.15 if penalty == "cumulative" else 1.3)
    assert result.trace[-1].passes == pytest.approx(60 * (4 if "line_search" in options else 1))
    assert result.objective == pytest.approx(result.nll + np.abs(result.w).sum())


def test_cumulative_penalty_leaves_fewer_features_than_clipping(problem):
    counts = [
        np.count_nonzero(minimize(problem, SGDL1(penalty=penalty, learning_rate=0.3)).w)
        for penalty in ("naive", "clipping_lazy", "cumulative")
    ]
    assert counts[0] >= counts[1] > counts[2]


@pytest.mark.parametrize("penalty", [ElasticNet(l1=1.0), ElasticNet(l1=0.3, l2=0.5), ElasticNet(l2=1.0)])
def test_two_stages_end_at_the_optimum_of_owlqn(problem, penalty):
    problem = Problem(problem.objective, penalty)
    tight = {"tolerance": 1e-12, "gradient_tolerance": 1e-9}
    expected = minimize(problem, OWLQN(**tight))
    result = minimize(problem, TwoStage(**tight))
    assert result.status is Status.CONVERGED
    assert result.objective == pytest.approx(expected.objective, rel=1e-9)
    # Gradients at the ends of the last passes give pairs; one pair where the curvature along each weight is known.
    gradients = [0, 0, 1, 2, 3, 4] if penalty.l1 else [0, 0, 0, 0, 1, 2]
    assert [record.gradient_evaluations for record in result.trace][:6] == gradients
    assert result.trace[6].passes >= 5 + gradients[-1] + 1  # five passes, these gradients, a step of OWL-QN


@pytest.mark.parametrize("optimizer", ["lbfgs", "bfgs"])
def test_the_second_stage_may_be_clustered(problem, optimizer):
    smooth = Problem(problem.objective, ElasticNet(l2=1.0))
    expected = minimize(smooth, OWLQN(tolerance=1e-12, gradient_tolerance=1e-9)).objective
    tight = {"tolerance": 0.0, "gradient_tolerance": 1e-7}
    second = Clustered(num_rounds=1, fine_iterations=2, cluster_factor=4, optimizer=optimizer, **tight)
    solver, phases = TwoStage(passes=3, second=second), []

    def look(record, state):
        clusters = isinstance(state.stage, ClusteredState)
        phases.append(state.stage.phase if clusters else "passes")
        if clusters and not state.partial:
            found = smooth.objective.value_and_gradient(state.w)
            assert state.nll == pytest.approx(found[0])
            np.testing.assert_allclose(state.whole_gradient, found[1], atol=1e-9)

    whole = minimize(smooth, solver, callbacks=[look])
    assert whole.status is Status.CONVERGED
    assert whole.objective == pytest.approx(expected, rel=1e-9)
    assert [phase for phase, _ in itertools.groupby(phases)] == ["passes", "fine", "coarse", "patch-up"]
    assert whole.passes == 3 + whole.gradient_evaluations
    for at in (2, 4, phases.index("coarse") + 1):
        half = minimize(smooth, solver, stop=Stop(max_iterations=at))
        rest = minimize(smooth, solver, state=pickle.loads(pickle.dumps(half.state)))
        np.testing.assert_array_equal(rest.w, whole.w)
        assert rest.gradient_evaluations == whole.gradient_evaluations
    with pytest.raises(OptionError, match=r"clustered.* L1"):
        minimize(problem, solver)
    with pytest.raises(TypeError, match="memory"):
        TwoStage(second=second, memory=3)


def test_the_curvature_along_each_weight_saves_evaluations_where_it_is_known():
    class Flat(ChainObjective):
        has_hessian_diagonal = False

    rng, X, y = np.random.default_rng(0), [], []
    for _ in range(400):
        words = np.minimum(rng.zipf(1.5, rng.integers(4, 15)), 300)
        X.append(
            [[f"w{word}", f"p{before}", f"s{word % 7}"] for before, word in zip([0, *words[:-1]], words, strict=True)]
        )
        y.append([("A", "B", "C")[(word + (rng.random() < 0.1)) % 3] for word in words])
    corpus, solver = Corpus.encode(X, y), TwoStage(learning_rate=0.1, tolerance=1e-4)
    curved, flat = (minimize(Problem(kind(corpus), ElasticNet(l2=0.5)), solver) for kind in (ChainObjective, Flat))
    assert curved.objective == pytest.approx(flat.objective, rel=1e-3)
    assert curved.gradient_evaluations < 0.8 * flat.gradient_evaluations


@pytest.mark.parametrize("solver", [SGDL1(passes=6), SGDL1(passes=6, penalty="clipping_lazy"), TwoStage(passes=3)])
def test_resuming_from_a_checkpoint_is_exact(problem, solver):
    whole = minimize(problem, solver, stop=Stop(max_iterations=6))
    half = minimize(problem, solver, stop=Stop(max_iterations=3))
    rest = minimize(problem, solver, state=pickle.loads(pickle.dumps(half.state)), stop=Stop(max_iterations=6))
    np.testing.assert_array_equal(rest.w, whole.w)


def test_the_seed_decides_the_order_and_threads_do_not():
    corpus = Corpus.encode(*chunky())
    found = {}
    for seed, threads in [(0, 1), (0, 2), (1, 1)]:
        problem = Problem(ChainObjective(corpus, threads=threads), ElasticNet(l1=0.5))
        found[seed, threads] = minimize(problem, SGDL1(passes=3, seed=seed)).w
    np.testing.assert_array_equal(found[0, 1], found[0, 2])
    assert not np.array_equal(found[0, 1], found[1, 1])


def test_schedules_are_equations_5_and_6_and_footnote_3():
    passed = np.array([0.0, 0.5, 1.0, 7.25])
    np.testing.assert_allclose(SGDL1(schedule="inverse").rates(0.5, passed), 0.5 / (1.0 + passed))
    np.testing.assert_allclose(SGDL1(decay=0.9).rates(0.5, passed), 0.5 * 0.9**passed)
    np.testing.assert_allclose(SGDL1(decay=0.9, tail=0.1).rates(2.0, passed), 2.0 * 0.9**passed + 0.2 / (1.0 + passed))


def test_tuning_takes_the_best_of_the_grid_and_looks_beyond_its_ends(problem):
    solver = SGDL1(passes=3)
    reached = {}
    for rate in (0.001, 0.01, 0.1, 1.0, 10.0):
        reached[rate] = minimize(problem, SGDL1(passes=3, learning_rate=rate)).objective
    for grid in [(0.01,), (50.0,), (1.0, 0.5, 0.2, 0.1)]:
        tuned = tune_learning_rate(problem, solver, learning_rates=grid, decays=(0.9, 0.5))
        objective = minimize(problem, tuned).objective
        assert objective <= min(reached.values()) * 1.02, (grid, tuned)
    sampled = tune_learning_rate(problem, solver, sample=20)
    assert 0.01 < sampled.learning_rate < 10.0


# Solver, penalty, and how the training ends: with a worse objective, a better one, weights of 0, or no numbers.
ABSURD = [
    (SGDL1(learning_rate=1e6), ElasticNet(l1=1.0), "worse"),
    (SGDL1(learning_rate=1e6, line_search=True), ElasticNet(l1=1.0), "worse"),
    (SGDL1(learning_rate=1e6), ElasticNet(l1=0.1, l2=1e6), "worse"),
    (SGDL1(), ElasticNet(l1=1e9), "zero"),
    (SGDL1(learning_rate=1e-9), ElasticNet(l1=1.0), "better"),
    (SGDL1(decay=1e-9), ElasticNet(l1=1.0), "better"),
    (SGDL1(learning_rate=1e300), ElasticNet(l1=1.0), "diverges"),
    (TwoStage(learning_rate=1e6), ElasticNet(l1=1.0), "better"),
    (TwoStage(), ElasticNet(l1=1e9), "zero"),
]


@pytest.mark.parametrize(("solver", "penalty", "end"), ABSURD)
def test_absurd_settings_give_finite_weights_or_an_error_that_names_the_learning_rate(solver, penalty, end):
    problem = Problem(ChainObjective(Corpus.encode(*chunky())), penalty)
    if end == "diverges":
        with pytest.raises(ObjectiveError, match="learning_rate=1e\\+300"):
            minimize(problem, solver)
        return
    result = minimize(problem, solver, stop=Stop(max_iterations=40))
    assert np.isfinite(result.w).all()
    value = problem.objective.value_and_gradient(result.w)[0] + penalty.value(result.w)
    assert result.objective == pytest.approx(value, rel=1e-12)
    start = result.trace[0].objective
    assert {"worse": value > start, "better": value < start, "zero": not result.w.any()}[end]


@pytest.mark.parametrize(("solver", "penalty"), [case[:2] for case in ABSURD])
@pytest.mark.parametrize("data", [([[["a"]]], [["A"]]), ([[["a"]], []], [["A"], []])], ids=["one", "and empty"])
def test_with_one_label_nothing_is_left_to_learn_whatever_the_settings(data, solver, penalty):
    result = minimize(Problem(ChainObjective(Corpus.encode(*data)), penalty), solver)
    assert (result.objective, result.w.any()) == (0.0, False)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"penalty": "ridge"}, "penalty"),
        ({"schedule": "cosine"}, "schedule"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": math.nan}, "learning_rate"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"decay": 0.0}, "decay"),
        ({"decay": 1.5}, "decay"),
        ({"tail": -1.0}, "tail"),
        ({"passes": 0}, "passes"),
        ({"passes": 2.5}, "passes"),
        ({"passes": 10**400}, "passes"),
        ({"learning_rate": 10**400}, "learning_rate"),
        ({"seed": -1}, "seed"),
        ({"line_search": "yes"}, "line_search"),
        ({"line_search": True, "penalty": "naive"}, "line_search"),
    ],
)
def test_options_out_of_range_are_named(options, named):
    with pytest.raises(OptionError, match=named):
        SGDL1(**options)


def test_an_objective_that_cannot_go_sample_by_sample_is_refused():
    class Batch:
        n_features, n_samples = 1, 1

        def value_and_gradient(self, w, out=None):
            return 0.0, w

    with pytest.raises(OptionError, match="sample by sample"):
        minimize(Problem(Batch()), SGDL1())


def test_the_ends_of_the_last_passes_are_the_first_pairs_of_owlqn(problem):
    ends = []

    def keep(record, state):
        if record.iteration <= 5:
            ends.append((state.w.copy(), state))

    minimize(problem, TwoStage(), callbacks=[keep], stop=Stop(max_iterations=7))
    history = ends[5][1].end.history
    assert len(history.live) == 3
    gradients = [problem.objective.value_and_gradient(w)[1] for w, _ in ends]
    for row, k in zip(history.live, (3, 4, 5), strict=True):
        s, y = ends[k][0] - ends[k - 1][0], gradients[k] - gradients[k - 1]
        assert history.SY[row, row] == pytest.approx(s @ y, rel=0.02)  # kept to 8 bits
        assert history.YY[row, row] == pytest.approx(y @ y, rel=0.02)


def test_divergence_to_nan_is_an_error_and_never_a_zero_model():
    X, y = chunky()
    X = [[{name: 1e155 for name in token} for token in sentence] for sentence in X]
    problem = Problem(ChainObjective(Corpus.encode(X, y)), ElasticNet(l1=1.0))
    for penalty in ("cumulative", "clipping_lazy", "clipping", "naive"):
        with pytest.raises(ObjectiveError, match="learning_rate"):
            minimize(problem, SGDL1(learning_rate=1e300, penalty=penalty, passes=3))


def test_tuning_on_a_sample_keeps_rare_attributes():
    X, y = chunky(40)
    objective = ChainObjective(Corpus.encode(X, y), ChainFeatures(min_count=20))
    assert objective.sample(np.arange(3)).feature_counts[3] > 0


def test_ctrl_c_while_measuring_leaves_numbers(problem):
    class Interrupting(SGDL1):
        def measure(self, problem, state):
            if state.iteration == 2 and not calls:
                calls.append(1)
                raise KeyboardInterrupt
            return super().measure(problem, state)

    calls = []
    result = minimize(problem, Interrupting(learning_rate=0.2))
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 2
    assert math.isfinite(result.objective + result.nll + result.violation)


def test_the_rate_chosen_is_that_of_few_passes_that_end_at_the_rate_of_all(problem):
    few = replace(SGDL1(seed=3), passes=QUICK_PASSES, decay=0.9 ** (30 / QUICK_PASSES))
    chosen = SGDL1(passes=30, decay=0.9, seed=3).init(problem, np.zeros(problem.n_features)).learning_rate
    assert chosen == tune_learning_rate(problem, few, seed=3).learning_rate
    others = {tune_learning_rate(problem, replace(few, decay=decay), seed=3).learning_rate for decay in (0.9, 1e-300)}
    assert chosen not in others


@pytest.mark.parametrize("solver", [SGDL1(passes=3, learning_rate=0.1), SG(passes=3, learning_rate=0.1)])
@pytest.mark.parametrize("size", [1e100, 1e150, 1e300])
def test_passes_that_end_far_above_weights_of_zero_are_an_error(solver, size):
    X = [[{"a": size, "b": 1.0}, {"c": -size}], [{"b": size}, {"a": 1.0, "c": size}]] * 4
    y = [["X", "Y"], ["Y", "X"], ["X", "X"], ["Y", "Y"]] * 2
    problem = Problem(ChainObjective(Corpus.encode(X, y)), ElasticNet(l2=0.1))
    with pytest.raises(ObjectiveError, match=r"diverged.*weights of 0 have 11\.09"):
        minimize(problem, solver)
