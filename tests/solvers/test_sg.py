"""The classic stochastic methods against plain implementations of their equations, update by update."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainObjective, ClassifierObjective, Corpus
from loglinear.certificate import Verdict, of_passes
from loglinear.errors import ObjectiveError, OptionError
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import ASG, LBFGS, SG, AdaGrad, Hybrid, Pegasos, make_solver, tune_learning_rate
from oracles.samples import INFERENCES, Classified, Graphed, PerSample, chunky, sentences

LAWS = examples(40)
CASES = dict(seed=st.integers(0, 10_000), valued=st.booleans(), l2=st.sampled_from([0.0, 0.03, 1.0, 2.5]))


def compare_sg(data, seed, l2, rates):
    rng = np.random.default_rng(seed)
    n = data.whole.n_samples
    w = rng.normal(size=data.whole.n_features)
    expected, total = w.copy(), np.zeros_like(w)
    sum = total.copy()
    for number in range(2):
        order = rng.permutation(n)
        alphas = rates(np.arange(number * n + 1.0, (number + 1) * n + 1))
        for i, alpha in zip(order, alphas, strict=True):
            g = data.samples[i].value_and_gradient(expected)[1]
            expected = (1.0 - alpha * l2 * data.penalised) * expected - alpha * g
            total += expected
        data.whole.per_sample().sg_pass(w, sum, visits=order, rates=alphas, l2=l2)
        np.testing.assert_allclose(w, expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(sum, total, rtol=1e-8, atol=1e-9)


def compare_adagrad(data, seed, l2, rate=0.3, delta=1.0):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=data.whole.n_features)
    expected, squares, kept = w.copy(), np.zeros_like(w), np.zeros_like(w)
    for _ in range(2):
        order = rng.permutation(data.whole.n_samples)
        for i in order:
            g = data.samples[i].value_and_gradient(expected)[1]
            squares += g * g
            alpha = rate / (delta + np.sqrt(squares))
            expected = (expected - alpha * g) / (1.0 + alpha * l2 * data.penalised)
        data.whole.per_sample().adagrad_pass(w, kept, visits=order, rate=rate, delta=delta, l2=l2)
        np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(kept, squares, rtol=1e-9, atol=1e-11)


@LAWS
@given(**CASES)
def test_iterates_and_their_sum_follow_the_update(seed, valued, l2):
    compare_sg(PerSample(*sentences(12, seed, valued=valued)), seed, l2, lambda t: np.full_like(t, 0.4))


@LAWS
@given(seed=st.integers(0, 10_000), valued=st.booleans())
def test_pegasos_follows_its_steps_the_first_of_which_forgets_the_start(seed, valued):
    l2 = 0.5
    compare_sg(PerSample(*sentences(12, seed, valued=valued)), seed, l2, lambda t: 1.0 / (l2 * t))


@LAWS
@given(**CASES)
def test_adagrad_follows_its_update(seed, valued, l2):
    compare_adagrad(PerSample(*sentences(12, seed, valued=valued)), seed, l2)


@pytest.mark.parametrize("seed", range(4))
def test_updates_with_bigram_features_weights_and_dense_rows(seed):
    rng = np.random.default_rng(seed)
    X, y = sentences(30, seed, kinds=3)
    X = [[(token[0], token[2]) for token in sentence] for sentence in X]
    template = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\nB1:%x[0,0]\n"
    data = PerSample(X, y, list(rng.choice([1.0, 2.0, 0.5], len(X))), template)
    compare_sg(data, seed, 0.1, lambda t: np.full_like(t, 0.3))
    compare_adagrad(data, seed, 0.1)


@LAWS
@given(**CASES, n_classes=st.integers(2, 9), intercept=st.booleans())
def test_classifiers_follow_the_updates_and_their_intercept_is_spared(n_classes, intercept, seed, valued, l2):
    data = Classified(seed, n_classes, intercept=intercept, valued=valued)
    compare_sg(data, seed, l2, lambda t: np.full_like(t, 0.4))
    compare_adagrad(data, seed, l2)
    if l2:
        compare_sg(data, seed, l2, lambda t: 1.0 / (l2 * t))


@LAWS
@pytest.mark.parametrize("inference", INFERENCES)
@given(seed=st.integers(0, 10_000), l2=CASES["l2"])
def test_graphs_follow_the_updates(inference, seed, l2):
    data = Graphed(seed, inference)
    compare_sg(data, seed, l2, lambda t: np.full_like(t, 0.1))
    compare_adagrad(data, seed, l2)


@LAWS
@given(seed=st.integers(0, 1000), n_classes=st.integers(2, 9), intercept=st.booleans(), valued=st.booleans())
def test_sentences_of_one_token_are_the_same_objective(seed, n_classes, intercept, valued):
    data = Classified(seed, n_classes, intercept=intercept, valued=valued)
    w = np.random.default_rng(seed).normal(size=data.whole.n_features)
    value, gradient = data.whole.value_and_gradient(w)
    expected, slope = data.classifier.value_and_gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)


@given(seed=st.integers(0, 1000), factor=st.sampled_from([1.0, 2.5]))
@LAWS
def test_a_batch_is_the_sum_of_its_samples(seed, factor):
    data = PerSample(*sentences(12, seed))
    rng = np.random.default_rng(seed)
    w, chosen = rng.normal(size=data.whole.n_features), rng.permutation(12)[:5]
    values, gradients = zip(*(data.samples[i].value_and_gradient(w) for i in chosen), strict=True)
    value, gradient = data.whole.batch(chosen, factor).value_and_gradient(w)
    assert value == pytest.approx(factor * sum(values), abs=1e-9)
    np.testing.assert_allclose(gradient, factor * sum(gradients), atol=1e-9)


@pytest.fixture(scope="module")
def problem():
    return Problem(ChainObjective(Corpus.encode(*chunky())), ElasticNet(l2=1.0))


@pytest.fixture(scope="module")
def optimum(problem):
    return minimize(problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-9))


PASSES = 200


@pytest.mark.parametrize(
    "solver", [SG(passes=PASSES), ASG(passes=PASSES), Pegasos(passes=PASSES), AdaGrad(passes=PASSES)]
)
def test_with_its_own_learning_rate_comes_near_the_optimum(problem, optimum, solver):
    result = minimize(problem, solver)
    assert result.status is Status.PASSES_MADE
    assert result.passes == PASSES
    assert optimum.objective <= result.objective < optimum.objective * 1.05


def test_passes_that_end_above_the_objective_without_weights_have_diverged(problem):
    at_zero = problem.evaluate(np.zeros(problem.n_features), np.empty(problem.n_features))
    ends = [minimize(problem, SG(learning_rate=rate, passes=2)) for rate in (0.01, 0.1, 1.0, 30.0, 100.0)]
    assert {result.objective > at_zero for result in ends} == {False, True}
    for result in ends:
        diverged = result.objective > at_zero
        assert result.status is (Status.PASSES_DIVERGED if diverged else Status.PASSES_MADE)
        assert result.status.converged != diverged


def at_weights(problem, w):
    return problem.evaluate(w, np.empty(problem.n_features)) + problem.penalty.value(w)


@pytest.mark.parametrize("limit", [Stop(), Stop(max_iterations=1), Stop(max_passes=1)])
def test_passes_that_lower_the_objective_of_their_start_have_not_diverged(problem, limit):
    start = np.full(problem.n_features, 30.0)
    result = minimize(problem, SG(learning_rate=1e-3, passes=2), start, stop=limit)
    assert at_weights(problem, 0 * start) < result.objective < at_weights(problem, start)
    assert result.status is not Status.PASSES_DIVERGED


@pytest.mark.parametrize("limit", [Stop(max_iterations=1), Stop(max_passes=1)])
def test_a_limit_does_not_hide_that_passes_have_diverged(problem, limit):
    result = minimize(problem, SG(learning_rate=100.0, passes=30), stop=limit)
    assert result.objective > at_weights(problem, np.zeros(problem.n_features))
    assert result.status is Status.PASSES_DIVERGED
    assert not result.status.converged


def test_a_difference_of_rounding_is_no_divergence(problem):
    state = minimize(problem, SG(learning_rate=0.1, passes=1)).state
    at_zero = at_weights(problem, np.zeros(problem.n_features))
    for share, status in ((1e-9, Status.PASSES_MADE), (1e-3, Status.PASSES_DIVERGED)):
        end = Verdict(Status.PASSES_MADE, state.w, at_zero * (1.0 + share), 1.0, None)
        assert of_passes(problem, state, end, at_zero).status is status


@pytest.mark.parametrize("solver", [SG(), ASG()])
@pytest.mark.parametrize("l2", [100.0, 1e4])
def test_the_default_learning_rate_shrinks_the_weights_under_a_strong_penalty(solver, l2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    objective = ClassifierObjective(X, (X @ rng.normal(size=5) > 0.0).astype(int), n_classes=2)
    strong = Problem(objective, ElasticNet(l2=l2, unpenalised=1))
    result = minimize(strong, solver)
    assert result.status is Status.PASSES_MADE
    assert result.state.learning_rate * l2 < 200
    assert result.objective < 1.05 * minimize(strong, LBFGS()).objective


@pytest.mark.parametrize("rates", [(0.1, 0.01), pytest.param((0.01, 0.001), marks=pytest.mark.slow)])
def test_the_neighbourhood_of_a_constant_step_shrinks_with_it(problem, optimum, rates):
    solvers = [SG(learning_rate=rate, passes=int(20 / rate)) for rate in rates]
    wide, narrow = (minimize(problem, solver).objective - optimum.objective for solver in solvers)
    assert wide > 3.0 * narrow > 0.0


def test_the_average_is_that_of_all_iterates(problem):
    average = minimize(problem, ASG(learning_rate=0.5, passes=100))
    plain = minimize(problem, SG(learning_rate=0.5, passes=100))
    np.testing.assert_array_equal(average.state.iterate, plain.w)
    n = problem.objective.n_samples
    np.testing.assert_allclose(average.w, plain.state.sum / (100 * n))
    assert average.objective < plain.objective


@pytest.mark.parametrize("options", [{}, {"growth": 2.0, "first": 7}])
def test_hybrid_ends_at_the_optimum_and_starts_with_less_than_a_pass(problem, optimum, options):
    result = minimize(problem, Hybrid(tolerance=0.0, gradient_tolerance=1e-9, **options))
    assert result.status is Status.CONVERGED
    assert result.objective == pytest.approx(optimum.objective, rel=1e-12)
    assert result.trace[1].passes < 1.0
    sizes = [record.passes for record in result.trace]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    "solver",
    [SG(learning_rate=0.1), ASG(learning_rate=0.1), Pegasos(learning_rate=1.0), AdaGrad(learning_rate=0.1), Hybrid()],
    ids=lambda solver: type(solver).__name__,
)
def test_resuming_from_a_checkpoint_is_exact_and_threads_do_not_matter(problem, solver):
    whole = minimize(problem, solver, stop=Stop(max_iterations=8))
    half = minimize(problem, solver, stop=Stop(max_iterations=4))
    rest = minimize(problem, solver, state=pickle.loads(pickle.dumps(half.state)), stop=Stop(max_iterations=8))
    np.testing.assert_array_equal(rest.w, whole.w)
    single = Problem(ChainObjective(Corpus.encode(*chunky()), threads=1), problem.penalty)
    np.testing.assert_array_equal(minimize(single, solver, stop=Stop(max_iterations=8)).w, whole.w)


def test_tuning_by_powers_of_ten(problem):
    tuned = tune_learning_rate(problem, SG(passes=5), learning_rates=(1.0,), digits=(1.0,), sample=None)
    reached = {rate: minimize(problem, SG(learning_rate=rate, passes=5)).objective for rate in (1.0, 0.1, 0.01, 0.001)}
    assert tuned.learning_rate == min(reached, key=reached.get)


def test_what_they_cannot_do_is_said(problem):
    sparse = Problem(problem.objective, ElasticNet(l1=1.0))
    for solver in (SG(), ASG(), AdaGrad(), Hybrid(), Pegasos()):
        with pytest.raises(OptionError, match=r"owlqn|l2=0"):
            minimize(sparse, solver)
    with pytest.raises(OptionError, match="l2 > 0"):
        minimize(Problem(problem.objective), Pegasos())
    for kind in (SG, AdaGrad):
        for options in ({"learning_rate": 0.0}, {"passes": 0}, {"seed": -1}):
            with pytest.raises(OptionError):
                kind(**options)
    with pytest.raises(OptionError, match=r"delta=0\.0"):
        AdaGrad(delta=0.0)
    for options in ({"growth": 1.0}, {"first": 0}, {"memory": 0}):
        with pytest.raises(OptionError):
            Hybrid(**options)
    with pytest.raises(ObjectiveError, match="give a smaller learning rate"):
        minimize(problem, SG(learning_rate=1e9, passes=50))
    with pytest.raises(ObjectiveError, match="give a smaller learning rate"):
        minimize(Problem(problem.objective), AdaGrad(learning_rate=1e300))


@pytest.mark.parametrize("name", ["sg", "asg", "pegasos", "sgd_l1", "adagrad"])
def test_a_sentence_without_any_label_is_passed_over(name):
    X = [[["a"], ["b", "c"]], [["a", "c"]], [["b"], ["c"], ["a"]]]
    y = [["A", "B"], ["B"], [None, None, None]]
    objective = ChainObjective(Corpus.encode(X, y))
    problem = Problem(objective, ElasticNet(l2=1.0))
    solver = make_solver(name)
    result = minimize(problem, solver, stop=Stop(max_iterations=300))
    best = minimize(problem, make_solver("lbfgs"))
    assert best.objective <= result.objective < 1.2 * best.objective
