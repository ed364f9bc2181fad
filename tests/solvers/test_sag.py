"""SAG against a plain implementation of Algorithm 1, and of its proximal kind, over full vectors, step by step."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import ChainObjective, ClassifierObjective, Corpus
from loglinear.errors import OptionError
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import LBFGS, OWLQN, SAG
from loglinear.solvers import sag as module
from oracles.samples import INFERENCES, Classified, Graphed, PerSample, chunky, sentences

LAWS = examples(40)


SAMPLINGS = ("uniform", "nus", "nus_star")
KINDS = {"sag": {}, "saga": {"saga": True}, "svrg": {"svrg": True}, "batches": {"batch_size": 4}}


class Reference:
    """Algorithm 1 as printed, and its kin: g_i, d and w are full vectors, and a step changes all of w."""

    def __init__(self, data, sampling, kind, pauses, l1, l2, w):
        self.data, self.sampling, self.l1, self.l2 = data, sampling, l1, l2
        options = KINDS[kind]
        self.saga, self.svrg, self.size = "saga" in options, "svrg" in options, options.get("batch_size", 1)
        self.n_samples = data.whole.n_samples
        self.n = n = -(-self.n_samples // self.size)  # of batches
        self.pauses, self.left, self.streak = pauses, np.zeros(n, int), np.zeros(n, int)
        self.w = w.copy()
        self.g = np.zeros((self.n_samples, w.size))
        self.seen = np.zeros(n, bool)
        self.l = np.ones(1 if sampling == "uniform" else n)
        self.evaluations = 0
        if self.svrg:
            self.g = np.array([self.value(i, w)[1] for i in range(n)])

    def probabilities(self):
        """Of the half of the draws that goes by L_i."""
        if self.sampling == "nus" or self.seen.all():
            return self.l / self.l.sum()
        if not self.seen.any():
            return np.full(self.n, 1.0 / self.n)
        weights = np.where(self.seen, self.l, self.l[self.seen].mean())
        return weights / weights.sum()

    def draw(self, first, second):
        """The sample and its probability; None stands for one not seen, in an order of no account."""
        i = min(int(second * self.n), self.n - 1)
        if self.sampling == "uniform":
            return i, 1.0 / self.n
        p = self.probabilities()
        if first >= 0.5:
            i = None
            known = np.flatnonzero(self.seen) if self.sampling == "nus_star" else np.arange(self.n)
            ends = np.cumsum(p[known])
            if second < (ends[-1] if len(ends) else 0.0):
                i = int(known[np.searchsorted(ends, second, side="right")])
        return i, None if i is None else 0.5 / self.n + 0.5 * p[i]

    def value(self, i, w):
        return self.data.samples[i].value_and_gradient(w)

    def visit(self, i, p):
        at = 0 if self.sampling == "uniform" else i
        search = self.left[i] == 0
        if self.sampling == "nus" and self.seen[i] and search:
            self.l[i] /= 2.0
        if self.sampling == "nus_star" and not self.seen[i]:
            self.l[i] = self.l[self.seen].mean() if self.seen.any() else 1.0
        self.seen[i] = True
        start, before = self.l[at], self.g.sum(axis=0)
        batch = range(i * self.size, min((i + 1) * self.size, self.n_samples))
        found = [self.search(k, start, search) for k in batch]
        self.l[at] = np.mean([constant for constant, _ in found])
        self.left[i] -= not search
        if self.pauses and search and any(self.data.tokens[k] for k in batch):
            self.streak[i] = min(self.streak[i] + 1, 4) if self.l[at] == start else 0
            self.left[i] = 2 ** (self.streak[i] - 1) if self.streak[i] else 0
        change = sum(g - self.g[k] for k, (_, g) in zip(batch, found, strict=True))
        m = min(self.seen.sum() * self.size, self.n_samples)
        if not self.svrg:
            self.g[batch.start : batch.stop] = [g for _, g in found]
        if self.sampling == "uniform":
            alpha = 1.0 / (self.l[0] + self.l2)
            self.l[0] *= 2.0 ** (-1.0 / self.n)
        else:
            known = self.l[self.seen]
            largest = known.max() if self.sampling == "nus_star" else self.l.max()
            alpha = 0.5 * (1.0 / (largest + self.l2) + 1.0 / (known.mean() + self.l2))
            if self.sampling == "nus_star" and search:
                self.l[i] *= 0.9
        alpha *= 0.5 if self.saga or self.svrg else 1.0
        if self.saga:
            direction = change / (self.n * p) + before / m
        elif self.svrg:
            direction = change / (self.n * p) + before / self.n
        else:
            direction = self.g.sum(axis=0) / m
        self.w = (1.0 - alpha * self.l2 * self.data.penalised) * self.w - alpha * direction
        self.w = np.sign(self.w) * np.maximum(np.abs(self.w) - alpha * self.l1 * self.data.penalised, 0.0)

    def search(self, k, constant, search):
        """L of a sample from the one given, and its gradient."""
        f, g = self.value(k, self.w)
        self.evaluations += bool(self.data.tokens[k]) * (1 + self.svrg)
        squared = g @ g
        if squared > 1e-8 and search:
            while True:
                self.evaluations += 1
                if self.value(k, self.w - g / constant)[0] <= f - squared / (2.0 * constant):
                    break
                constant *= 2.0
        return constant, g


def lists(objective, sampling, pauses=False, kind="sag"):
    """d, the stored gradients, L, the batches seen, and the pauses."""
    options = KINDS[kind]
    n = -(-objective.n_samples // options.get("batch_size", 1))
    sizes = (0, 0, 0) if "svrg" in options else objective.per_sample().sag_sizes
    gradients = tuple(np.zeros(size, np.float32) for size in sizes)
    constants, paused = np.ones(1 if sampling == "uniform" else n), np.zeros((n if pauses else 0, 2), np.uint8)
    return np.zeros(objective.n_features), gradients, constants, np.zeros(n, bool), paused


def options_of(kind, snapshot):
    """What says to a pass which kind it is."""
    options = KINDS[kind]
    return {
        "saga": "saga" in options,
        "snapshot": snapshot if "svrg" in options else None,
        "batch_size": options.get("batch_size", 1),
    }


def compare(data, seed, sampling, kind, pauses, l1, l2, steps=25):
    rng = np.random.default_rng(seed)
    objective = data.whole
    reference = Reference(data, sampling, kind, pauses, l1, l2, rng.normal(size=objective.n_features))
    w = reference.w.copy()
    memory = lists(objective, sampling, pauses, kind)
    d, _, lipschitz, seen, _ = memory
    evaluations, view = 0, objective.per_sample()
    options = options_of(kind, w.copy()) | {"sampling": sampling, "l1": l1, "l2": l2}
    if kind == "svrg":
        d[:] = objective.value_and_gradient(w)[1]
    for _ in range(steps):
        # One step a call: samples are drawn ahead within a call, and the reference draws at the last moment.
        i = None
        while i is None:
            draws = rng.random((1, 2))
            i, p = reference.draw(*draws[0])
        reference.visit(i, p)
        evaluations += view.sag_pass(w, *memory, draws=draws, **options)
        np.testing.assert_array_equal(seen, reference.seen)
        np.testing.assert_allclose(lipschitz, reference.l, rtol=1e-12)
        np.testing.assert_allclose(w, reference.w, rtol=1e-5, atol=1e-5)
    assert evaluations == reference.evaluations
    np.testing.assert_allclose(d, reference.g.sum(axis=0), atol=1e-6)


CASES = dict(
    seed=st.integers(0, 10_000),
    valued=st.booleans(),
    kind=st.sampled_from([*KINDS]),
    pauses=st.booleans(),
    l1=st.sampled_from([0.0, 0.02, 0.5]),
    l2=st.sampled_from([0.0, 0.02, 0.5]),
)


@LAWS
@pytest.mark.parametrize("sampling", SAMPLINGS)
@given(**CASES)
def test_steps_equal_algorithm_1(sampling, seed, valued, kind, pauses, l1, l2):
    data = PerSample(*sentences(9, seed, valued=valued))
    compare(data, seed, sampling, kind, pauses and sampling != "uniform", l1, l2)


# By day a seed for each kind and penalty.
@pytest.mark.parametrize(
    ("seed", "l1", "kind"),
    by_day(
        product(range(4), [0.0, 0.1], KINDS),
        lambda case: case[0] == ([*KINDS].index(case[2]) + 2 * (case[1] > 0.0)) % 4,
    ),
)
def test_steps_equal_algorithm_1_with_bigram_features_weights_and_dense_rows(seed, l1, kind):
    rng = np.random.default_rng(seed)
    X, y = sentences(30, seed, kinds=3)
    X = [[(token[0], token[2]) for token in sentence] for sentence in X]
    template = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\nB1:%x[0,0]\n"
    data = PerSample(X, y, list(rng.choice([1.0, 2.0, 0.5], len(X))), template)
    assert data.whole.feature_counts[2] > 0
    compare(data, seed, "nus_star", kind, True, l1, 0.1, steps=60)


@LAWS
@pytest.mark.parametrize("sampling", SAMPLINGS)
@given(**CASES, n_classes=st.integers(2, 9), intercept=st.booleans())
def test_classifiers_follow_algorithm_1_and_their_intercept_is_spared(
    sampling, n_classes, intercept, seed, valued, kind, pauses, l1, l2
):
    data = Classified(seed, n_classes, intercept=intercept, valued=valued)
    compare(data, seed, sampling, kind, pauses and sampling != "uniform", l1, l2)


@LAWS
@pytest.mark.parametrize("sampling", SAMPLINGS)
@given(**CASES, inference=st.sampled_from([*INFERENCES]))
def test_graphs_follow_algorithm_1(sampling, inference, seed, valued, kind, pauses, l1, l2):
    data = Graphed(seed, inference, strength=0.5 + valued)
    compare(data, seed, sampling, kind, pauses and sampling != "uniform", l1, l2)


@LAWS
@given(
    seed=st.integers(0, 1000),
    l1=st.sampled_from([0.0, 0.02, 0.5]),
    l2=st.sampled_from([0.0, 0.3, 30.0, 1e4]),
    kind=st.sampled_from([*KINDS]),
)
def test_many_lazy_steps_equal_single_ones_written_out_in_full(seed, l1, l2, kind):
    """A call that makes one step leaves all weights up to date, as a dense update does; one of many is lazy."""
    data = PerSample(*sentences(12, seed)), Classified(seed, 2 + seed % 3), Graphed(seed)
    objective = data[seed % 3].whole
    draws = np.random.default_rng(seed).random((60, 2))
    found = []
    for size in (1, 60):
        w = np.random.default_rng(1).normal(size=objective.n_features)
        memory = lists(objective, "uniform", pauses=True, kind=kind)
        options = options_of(kind, w.copy()) | {"sampling": "uniform", "l1": l1, "l2": l2}
        for start in range(0, 60, size):
            objective.per_sample().sag_pass(w, *memory, draws=draws[start : start + size], **options)
        found.append((w, memory[0]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-10, atol=1e-10)


@LAWS
@given(seed=st.integers(0, 1000), sampling=st.sampled_from(SAMPLINGS))
def test_d_is_the_sum_of_the_stored_gradients(seed, sampling):
    """Visiting every sample at weights that a step of length next to nothing leaves alone makes d the true gradient."""
    data = PerSample(*sentences(15, seed))
    objective, n = data.whole, data.whole.n_samples
    w = np.zeros(objective.n_features)
    memory = lists(objective, sampling)
    d, _, lipschitz, _, _ = memory
    rng, view = np.random.default_rng(seed), objective.per_sample()
    for _ in range(6):
        view.sag_pass(w, *memory, draws=rng.random((n, 2)), sampling=sampling, saga=False, l1=0.0, l2=0.1)
    lipschitz[:] = 1e12  # alpha is 1 / L
    for i in range(n):
        draws = np.array([[0.0, (i + 0.5) / n]])
        objective.per_sample().sag_pass(w, *memory, draws=draws, sampling=sampling, saga=False, l1=0.0, l2=0.0)
        lipschitz[:] = 1e12
    np.testing.assert_allclose(d, objective.value_and_gradient(w)[1], atol=1e-5)


def test_with_one_sample_it_is_gradient_descent():
    objective = ChainObjective(Corpus.encode([[["a", "b"], ["b"], ["c", "a"]]], [["A", "B", "A"]]))
    w = np.zeros(objective.n_features)
    memory = lists(objective, "nus_star")
    lipschitz = memory[2]
    expected, l2 = w.copy(), 0.25
    for step in range(40):
        value, g = objective.value_and_gradient(expected)
        length = 1.0 if step == 0 else lipschitz[0]
        while g @ g > 1e-8 and objective.value_and_gradient(expected - g / length)[0] > value - g @ g / (2.0 * length):
            length *= 2.0
        expected = (1.0 - l2 / (length + l2)) * expected - g / (length + l2)
        draws = np.random.default_rng(step).random((1, 2))
        objective.per_sample().sag_pass(w, *memory, draws=draws, sampling="nus_star", saga=False, l1=0.0, l2=l2)
        np.testing.assert_allclose(w, expected, atol=1e-6)


@pytest.fixture(scope="module")
def problem():
    return Problem(ChainObjective(Corpus.encode(*chunky())), ElasticNet(l2=1.0))


SOLVERS = {
    f"{sampling}-{kind}": SAG(sampling, tolerance=1e-6, **options)
    for sampling in SAMPLINGS
    for kind, options in KINDS.items()
}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_converges_to_the_optimum_and_its_estimate_to_the_gradient(problem, solver):
    best = minimize(problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-10)).objective
    n = problem.objective.n_samples
    result = minimize(problem, solver, stop=Stop(max_iterations=3000))
    assert result.status is Status.CONVERGED
    assert result.violation <= 1e-6 * n
    assert result.objective == pytest.approx(best, rel=1e-9)
    gradient = problem.objective.value_and_gradient(result.w)[1]
    np.testing.assert_allclose(result.state.d, gradient, atol=1e-4)
    assert result.state.gradient_evaluations >= 1
    assert result.passes == result.state.evaluations / n + result.state.gradient_evaluations


# By day each kind and each sampling at least once.
DAY = {("uniform-sag", 0.0), ("nus-saga", 0.0), ("nus_star-svrg", 0.3), ("nus_star-batches", 0.3)}


@pytest.mark.parametrize(("name", "l2"), by_day(product(SOLVERS, [0.0, 0.3]), DAY.__contains__))
def test_with_an_l1_penalty_it_comes_to_the_sparse_optimum(problem, name, l2):
    problem = Problem(problem.objective, ElasticNet(l1=0.5, l2=l2))
    best = minimize(problem, OWLQN(tolerance=0.0, gradient_tolerance=1e-8))
    result = minimize(problem, SOLVERS[name], stop=Stop(max_iterations=5000))
    assert result.status is Status.CONVERGED
    assert result.violation <= 1e-6 * problem.objective.n_samples
    assert result.objective == pytest.approx(best.objective, rel=1e-8)
    assert 0 < np.count_nonzero(result.w) < result.w.size
    assert set(np.flatnonzero(result.w)) >= set(np.flatnonzero(np.abs(best.w) > 1e-3))


@pytest.mark.parametrize("kind", KINDS)
def test_resuming_from_a_checkpoint_is_exact_and_threads_do_not_matter(problem, kind):
    solver = SAG(tolerance=0.0, **KINDS[kind])
    whole = minimize(problem, solver, stop=Stop(max_iterations=6))
    half = minimize(problem, solver, stop=Stop(max_iterations=3))
    rest = minimize(problem, solver, state=pickle.loads(pickle.dumps(half.state)), stop=Stop(max_iterations=6))
    np.testing.assert_array_equal(rest.w, whole.w)
    single = Problem(ChainObjective(Corpus.encode(*chunky()), threads=1), problem.penalty)
    np.testing.assert_array_equal(minimize(single, solver, stop=Stop(max_iterations=6)).w, whole.w)
    other = minimize(problem, SAG(tolerance=0.0, seed=1, **KINDS[kind]), stop=Stop(max_iterations=6))
    assert not np.array_equal(other.w, whole.w)


class Interrupted:
    """An objective whose third pass is interrupted half way."""

    def __init__(self, objective):
        self.objective, self.passes, self.sag_sizes = objective, 0, objective.per_sample().sag_sizes

    def __getattr__(self, name):
        return getattr(self.objective, name)

    def per_sample(self):
        return self

    def sag_pass(self, *arrays, draws, **options):
        self.passes += 1
        if self.passes == 3:
            self.objective.per_sample().sag_pass(*arrays, draws=draws[: len(draws) // 2], **options)
            raise KeyboardInterrupt
        return self.objective.per_sample().sag_pass(*arrays, draws=draws, **options)


@pytest.mark.parametrize("kind", ["chain", "graphs"])
def test_an_interrupted_pass_leaves_the_weights_of_the_last_one_and_a_state_that_is_whole(problem, kind):
    if kind == "graphs":
        problem = Problem(Graphed(2).whole, problem.penalty)
    interrupted = Problem(Interrupted(problem.objective), problem.penalty)
    result = minimize(interrupted, SAG(tolerance=1e-6))
    assert result.status is Status.INTERRUPTED
    two = minimize(problem, SAG(tolerance=1e-6), stop=Stop(max_iterations=2))
    np.testing.assert_array_equal(result.w, two.w)
    assert (result.record.objective, result.record.violation) == (result.objective, result.violation)
    nll = problem.objective.value_and_gradient(result.w)[0]
    assert result.objective == pytest.approx(nll + 0.5 * result.w @ result.w)
    rest = minimize(problem, SAG(tolerance=1e-6), state=result.state)
    assert rest.status is Status.CONVERGED
    best = minimize(problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-10)).objective
    assert rest.objective == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("penalty", [(0.0, 0.0), (0.0, 1e-9), (0.0, 1e6), (0.0, 1e12), (1e-9, 1e12), (1e12, 0.0)])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_under_absurd_penalties_weights_are_free_or_0_or_a_step_along_the_first_gradient(sampling, penalty):
    problem = Problem(ChainObjective(Corpus.encode(*chunky())), ElasticNet(*penalty))
    result = minimize(problem, SAG(sampling), stop=Stop(max_iterations=20))
    start, gradient = problem.objective.value_and_gradient(np.zeros(problem.n_features))
    l1, l2 = penalty
    if l1 > 1.0:
        assert not result.w.any()
    elif l2 > 1.0:
        np.testing.assert_allclose(result.w, -gradient / l2, rtol=1e-3, atol=1e-3 * np.abs(gradient).max() / l2)
    else:
        assert result.objective < 0.5 * start


@pytest.mark.parametrize("penalty", [(0.0, 1.0), (0.1, 0.1)])
@pytest.mark.parametrize("size", by_day([1e100, 1e150, 1e160, 1e300], lambda size: size in (1e150, 1e300)))
def test_values_that_are_far_too_large_end_in_finite_numbers(size, penalty):
    X = [[{"a": size, "b": 1.0}, {"b": 1.0}], [{"a": size}, {"c": 2.0}]] * 5
    problem = Problem(ChainObjective(Corpus.encode(X, [["X", "Y"], ["Y", "X"]] * 5)), ElasticNet(*penalty))
    result = minimize(problem, SAG(), stop=Stop(max_iterations=100))
    assert np.isfinite(result.w).all()
    assert np.isfinite(result.objective)
    assert not result.status.converged


def test_what_it_cannot_do_is_said(problem, monkeypatch):
    for options in (
        {"sampling": "best"},
        {"saga": 1},
        {"svrg": 1},
        {"batch_size": 0},
        {"saga": True, "svrg": True},
        {"saga": True, "batch_size": 2},
        {"svrg": True, "batch_size": 2},
        {"pauses": 2},
        {"tolerance": -1.0},
        {"tolerance": np.nan},
        {"seed": -1},
    ):
        with pytest.raises(OptionError):
            SAG(**options)
    monkeypatch.setattr(module, "memory_of_machine", lambda: 1000)
    with pytest.raises(OptionError, match=r"sag needs .* GiB of memory"):
        minimize(problem, SAG())


@pytest.mark.parametrize(
    ("options", "paused"),
    [({}, True), ({"sampling": "nus"}, True), ({"sampling": "uniform"}, False), ({"pauses": False}, False)],
)
def test_pauses_are_kept_for_each_sample_unless_sampling_is_uniform(problem, options, paused):
    state = SAG(**options).init(problem, np.zeros(problem.objective.n_features))
    assert state.pauses.shape == (problem.objective.n_samples if paused else 0, 2)


def test_the_only_whole_gradient_is_that_of_the_end():
    rng = np.random.default_rng(0)
    objective = ClassifierObjective(rng.normal(size=(40, 5)), rng.integers(0, 2, 40), n_classes=2)
    result = minimize(Problem(objective, ElasticNet(l2=1.0, unpenalised=1)), SAG(tolerance=1e9))
    assert result.iterations > 1
    assert result.gradient_evaluations == 1
