"""The bound of the distance from the optimum: against problems that are solved, and where it has to be silent."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from examples import examples
from loglinear import ChainCRF, ChainFeatures, ChainObjective, ClassifierObjective, Corpus, ElasticNet, Problem
from loglinear.cli.ending import certainty
from loglinear.data.graphs import Graphs
from loglinear.errors import OptionError
from loglinear.gap import _Excess, _Mixtures, duality_gap, no_bound, useful
from loglinear.minimize import Stop, minimize
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Numbering
from loglinear.objectives.balance import stationary
from loglinear.objectives.graph import GraphLikelihood
from loglinear.objectives.pseudolikelihood import PseudoLikelihood
from loglinear.options import USEFUL
from loglinear.penalty import GroupLasso
from loglinear.result import Status
from loglinear.solvers import LBFGS, OWLQN, GraftingLight, make_solver
from loglinear.solvers.common.working_set import Block
from oracles.samples import chunky, linked_codes, sentences

LAW = examples(50, suppress_health_check=[HealthCheck.too_slow])
PENALTIES = st.sampled_from([(0.3, 0.0), (2.0, 0.0), (0.0, 0.5), (0.0, 5.0), (0.2, 0.1), (1.0, 0.001), (0.1, 3.0)])
# The optimum, its rounding errors, and a share of it, are what a bound may miss.
ROUNDING = 1e-11
MOST_TRIALS = 10
TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-10}


def chain(seed, order=1, constrained=False):
    """A chain with weighted sentences; under constraints no B follows an A, and no C begins a sentence."""
    rng = np.random.default_rng(seed)
    X, y = sentences(8, seed)
    if constrained:
        y = [list("".join(labels).replace("AB", "AC").replace("C", "B", labels[:1].count("C"))) for labels in y]
        y = [list("".join(labels).replace("AB", "AA")) for labels in y]
    weights = rng.choice([1.0, 2.0, 0.5, 0.0], len(X))
    weights[0] = 1.0
    corpus = Corpus.encode(X, y, sample_weight=list(weights))
    forbidden = [("A", "B"), (None, "C")] if constrained else None
    return ChainObjective(corpus, ChainFeatures(order=order, constraints=forbidden, all_transitions=True), threads=1)


def classifier(seed, n_classes, intercept, n=25, d=6):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=0.5, rng=rng, format="csr")
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    weights = np.concatenate([np.ones(n_classes), rng.choice([1.0, 2.0, 0.5, 0.0], n - n_classes)])
    return ClassifierObjective(X, y, weights, n_classes=n_classes, intercept=intercept, threads=1)


def solved(problem):
    solver = OWLQN(**TIGHT) if problem.penalty.l1 else LBFGS(**TIGHT)
    return minimize(problem, solver, stop=Stop(max_iterations=3000))


def bound(problem, w):
    nll, gradient = problem.objective.value_and_gradient(w)
    return nll + problem.penalty.value(w), duality_gap(problem, w, nll, gradient)


def check_law(problem, seed):
    """The law at random weights, on the way, and at the optimum."""
    assert not no_bound(problem)
    optimum, rng = solved(problem), np.random.default_rng(seed)
    n = problem.n_features
    random = [np.zeros(n), rng.normal(size=n), 20.0 * rng.normal(size=n), rng.normal(size=n) * (rng.random(n) < 0.2)]
    near = [optimum.w + scale * rng.normal(size=n) for scale in (0.1, 1e-3, 1e-5)]
    for w in (*random, *near, optimum.w):
        objective, gap = bound(problem, w)
        distance = objective - optimum.objective
        assert gap >= 0.0
        assert gap >= distance - ROUNDING * max(objective, 1.0)
    if problem.penalty.l2 >= 0.1:
        assert gap <= 1e-7 * objective


@LAW
@given(seed=st.integers(0, 10**6), order=st.sampled_from([1, 2]), constrained=st.booleans(), strengths=PENALTIES)
def test_the_bound_of_a_chain_is_above_the_distance(seed, order, constrained, strengths):
    check_law(Problem(chain(seed, order, constrained), ElasticNet(*strengths)), seed)


@LAW
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.sampled_from([2, 3, 5]),
    intercept=st.sampled_from([False, True, 3.0, "scaled"]),
    strengths=PENALTIES,
    spared=st.booleans(),
)
def test_the_bound_of_a_classifier_is_above_the_distance(seed, n_classes, intercept, strengths, spared):
    objective = classifier(seed, n_classes, intercept)
    free = objective.n_unpenalised if spared else 0
    check_law(Problem(objective, ElasticNet(*strengths, free)), seed)


@LAW
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.sampled_from([2, 3, 5]),
    intercept=st.sampled_from([False, 3.0, "scaled"]),
    strengths=PENALTIES,
    steps=st.sampled_from([0, 2, 1000]),
)
def test_the_quick_bound_of_a_classifier_is_above_the_distance_and_close_at_the_optimum(
    seed, n_classes, intercept, strengths, steps
):
    objective = classifier(seed, n_classes, intercept)
    problem = Problem(objective, ElasticNet(*strengths, objective.n_unpenalised))
    optimum = minimize(problem, OWLQN(**TIGHT), stop=Stop(max_iterations=1000)).objective
    w = minimize(problem, OWLQN(**TIGHT), stop=Stop(max_iterations=steps)).w
    nll, _ = objective.value_and_gradient(w)
    distance, quick = nll + problem.penalty.value(w) - optimum, objective.quick_gap(w, *strengths)
    assert quick >= distance - ROUNDING * optimum
    assert steps < 1000 or quick <= 1e-6 * optimum


@examples(20)
@given(seed=st.integers(0, 10**6), strengths=PENALTIES)
def test_the_bound_of_objectives_without_likelihoods_of_samples_is_above_the_distance(seed, strengths):
    rng = np.random.default_rng(seed)
    numbering = Numbering([2, 3, 2])
    codes, weights = linked_codes([2, 3, 2], n=20, missing=0.1, seed=seed)
    check_law(Problem(PseudoLikelihood(codes, numbering, weights, threads=1), ElasticNet(*strengths)), seed)
    graphs = Graphs.of([(rng.normal(size=(4, 2)), np.array([[0, 1], [1, 2], [1, 3]])) for _ in range(3)])
    tree = GraphLikelihood(graphs, rng.integers(3, size=12), 3, threads=1)
    check_law(Problem(tree, ElasticNet(*strengths)), seed)


@pytest.mark.parametrize("strengths", [(0.3, 0.0), (0.0, 1.0), (0.1, 0.2)])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("steps", [0, 3, 1000])
def test_the_best_mixture_is_found_in_few_trials(monkeypatch, strengths, intercept, steps):
    entropy, trials = _Mixtures.entropy, []
    monkeypatch.setattr(_Mixtures, "entropy", lambda self, t: trials.append(t) or entropy(self, t))
    for seed in range(5):
        objective = classifier(seed, 2, intercept)
        problem = Problem(objective, ElasticNet(*strengths, objective.n_unpenalised))
        result = minimize(problem, OWLQN(**TIGHT), stop=Stop(max_iterations=steps))
        trials.clear()
        assert np.isfinite(bound(problem, result.w)[1])
        assert len(trials) <= MOST_TRIALS


@pytest.mark.parametrize("strengths", [(1.0, 0.0), (0.0, 1.0), (0.3, 0.2)])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_bound_is_the_best_dual_value_of_the_mixtures_of_labels_and_model(monkeypatch, strengths, intercept):
    # Without an optimal intercept the factors of the classes differ.
    monkeypatch.setattr("loglinear.objectives.classifier.best_shift", lambda p, y, s: np.zeros(p.shape[1]))
    objective = classifier(3, 3, intercept)
    free, (l1, l2) = objective.n_unpenalised, strengths
    problem = Problem(objective, ElasticNet(l1, l2, free))
    w = np.random.default_rng(0).normal(size=objective.n_features)
    gold, model = np.eye(3)[objective.targets], objective.probabilities(w)
    factors = objective.balanced(w).factors if intercept else np.ones(len(gold))
    value, gap = bound(problem, w)
    duals = []
    for t in np.linspace(1e-3, 1.0, 400):
        q = (1.0 - t * factors[:, None]) * gold + t * factors[:, None] * model
        entropy = -(objective.weights[:, None] * q * np.log(np.where(q > 0.0, q, 1.0))).sum()
        r = np.abs(objective.design.T @ (objective.weights[:, None] * (q - gold))).ravel()
        assert not intercept or r[-free:].max() < 1e-12
        over = np.maximum(r[: r.size - free] - l1, 0.0)
        cost = (over**2).sum() / (2.0 * l2) if l2 else over.max() * value / l1
        if l1 and l2:
            cost = min(cost, *((np.maximum(over - x, 0.0) ** 2).sum() / (2 * l2) + x * value / l1 for x in over))
        duals.append(entropy - cost)
    assert gap <= value - max(duals) + 1e-9
    assert gap == pytest.approx(value - max(duals), rel=5e-3)
    assert not intercept or factors.min() < 0.9


@LAW
@given(
    seed=st.integers(0, 1000),
    l1=st.sampled_from([1e-3, 0.1, 1.0]),
    l2=st.sampled_from([0.0, 1e-3, 0.1, 3.0]),
    objective=st.sampled_from([0.01, 1.0, 50.0]),
    t=st.sampled_from([0.3, 0.9, 1.0]),
)
def test_the_cost_of_an_excess_is_the_least_of_the_penalised_weights_within_the_radius(seed, l1, l2, objective, t):
    """min of u . t r + l1 |u|_1 + (l2 / 2) |u|^2 over |u|_1 <= R is by duality a search for one multiplier."""
    r = 3.0 * np.random.default_rng(seed).standard_normal(6)
    radius = objective / l1
    excess = np.maximum(t * np.abs(r) - l1, 0.0)

    def cost(multiplier):
        return (np.maximum(excess - multiplier, 0.0) ** 2).sum() / (2.0 * l2) + multiplier * radius

    ends = 0.0, excess.max()
    least = (
        min(*map(cost, ends), minimize_scalar(cost, bounds=ends, options={"xatol": 1e-12}).fun)
        if l2
        else radius * ends[1]
    )
    found = _Excess.of(ElasticNet(l1, l2), r, objective).cost(t)
    assert found.number == pytest.approx(least, rel=1e-6, abs=1e-9)


def test_the_bound_is_the_strong_convexity_bound_or_better():
    objective = chain(1)
    problem, rng = Problem(objective, ElasticNet(l2=0.7)), np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0):
        w = scale * rng.normal(size=objective.n_features)
        slope = objective.value_and_gradient(w)[1] + 0.7 * w
        assert bound(problem, w)[1] <= slope @ slope / 1.4 * (1 + 1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_likelihoods_of_sentences_are_the_values_of_each_sentence_alone(order, scale):
    objective = chain(4, order)
    rng = np.random.default_rng(0)
    w = scale * rng.normal(size=objective.n_features)
    nll, _ = objective.value_and_gradient(w)
    nlls = objective.sample_nlls(w)
    assert objective.weights @ nlls == pytest.approx(nll, rel=1e-12)
    for sentence, weight in enumerate(objective.weights):
        alone = objective.batch([sentence], 1.0).value_and_gradient(w)[0]
        assert weight * nlls[sentence] == pytest.approx(alone, rel=1e-12, abs=1e-9)


def test_likelihoods_of_sentences_are_of_the_weights_asked_for_whatever_was_evaluated_before():
    objective = chain(4)
    rng = np.random.default_rng(0)
    here, there = rng.normal(size=(2, objective.n_features))
    objective.value_and_gradient(here)
    first = objective.sample_nlls(here)
    np.testing.assert_array_equal(objective.sample_nlls(there), chain(4).sample_nlls(there))
    objective.value_and_gradient(there)
    np.testing.assert_array_equal(objective.sample_nlls(here), first)
    some = np.arange(0, objective.n_features, 2)
    w = np.zeros(objective.n_features)
    w[some] = here[some]
    np.testing.assert_allclose(objective.restrict(some).sample_nlls(here[some]), objective.sample_nlls(w), atol=1e-12)
    with pytest.raises(OptionError, match="expected 55 entries"):
        objective.sample_nlls(here[:-1])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_likelihoods_of_a_classifiers_samples_are_the_values_of_each_sample_alone(n_classes):
    objective = classifier(0, n_classes, True)
    w = np.random.default_rng(0).normal(size=objective.n_features)
    alone = [objective.sample(np.array([i])).value_and_gradient(w)[0] for i in range(objective.n_samples)]
    np.testing.assert_allclose(objective.weights * objective.sample_nlls(w), alone, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("intercept", [True, "scaled"])
def test_balanced_samples_have_no_derivative_by_the_intercept(n_classes, intercept):
    objective = classifier(1, n_classes, intercept)
    w = 3.0 * np.random.default_rng(0).normal(size=objective.n_features)
    factors, nlls, nll, gradient = objective.balanced(w)
    assert 0.99 < factors.min() <= factors.max() == 1.0
    free = objective.n_unpenalised
    assert abs(gradient[-free:]).max() < 1e-12
    assert nll == pytest.approx(objective.weights * factors @ nlls)
    # Its weights are those given but for the intercept, which is found by minimising over it.
    rest = Problem(objective, ElasticNet(unpenalised=free))
    block = Problem(Block(rest, np.arange(w.size - free, w.size), w), ElasticNet(unpenalised=free))
    w[-free:] = minimize(block, LBFGS(**TIGHT), w[-free:]).w
    other = ClassifierObjective(
        objective.design[:, :-1],
        objective.targets,
        objective.weights * factors,
        n_classes=n_classes,
        intercept=objective.intercept,
    )
    value, slope = other.value_and_gradient(w)
    assert nll == pytest.approx(value)
    np.testing.assert_allclose(gradient, slope, atol=1e-6)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
def test_stationary_factors_balance_what_flows_in_and_out(seed, n):
    rates = np.random.default_rng(seed).exponential(size=(n, n)) ** 8
    tau = stationary(rates)
    assert tau.max() == 1.0
    off = rates - np.diag(np.diag(rates))
    np.testing.assert_allclose(tau @ off, tau * off.sum(axis=1), rtol=1e-10)


def test_classes_without_samples_leave_no_bound_with_an_intercept():
    X, y = np.eye(4), [0, 1, 1, 0]
    objective = ClassifierObjective(X, y, n_classes=3)
    problem = Problem(objective, ElasticNet(l2=1.0, unpenalised=3))
    assert bound(problem, np.zeros(problem.n_features))[1] == np.inf


def test_a_bound_says_why_there_is_none():
    objective, rest = classifier(0, 2, True), {"n_classes": 2, "intercept": True}
    assert "no penalty" in no_bound(Problem(objective))
    assert "single weights" in no_bound(Problem(objective, GroupLasso(1.0, groups=np.arange(objective.n_features))))
    assert "2 weights are unpenalised" in no_bound(Problem(objective, ElasticNet(1.0, unpenalised=2)))
    assert not no_bound(Problem(ClassifierObjective(np.eye(2), [0, 1], **rest), ElasticNet(1.0)))
    partial = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", None], ["B"]]))
    assert "not convex" in no_bound(Problem(partial, ElasticNet(l2=1.0)))
    graphs = Graphs.of([(np.eye(3), np.array([[0, 1], [1, 2], [2, 0]]))])
    loopy = GraphLikelihood(graphs, np.array([0, 1, 0]), 2, inference=LoopyBP())
    assert "not convex" in no_bound(Problem(loopy, ElasticNet(l2=1.0)))

    class Quadratic:
        n_features, n_samples = 2, 1

        def value_and_gradient(self, w, out=None):
            return float((w - 3) @ (w - 3)), 2 * (w - 3)

    problem = Problem(Quadratic(), ElasticNet(l2=1.0))
    assert "Quadratic does not declare that it is convex" in no_bound(problem)
    result = minimize(problem, LBFGS())
    assert result.gap is None
    assert result.account.endswith(
        "distance from the optimum unknown: Quadratic does not declare that it is convex (is_convex)"
    )
    with pytest.raises(OptionError, match=r"gap=0.001 is not available: Quadratic does not declare"):
        minimize(problem, LBFGS(), stop=Stop(gap=1e-3))
    Quadratic.is_convex = True
    assert 0.0 <= minimize(problem, LBFGS()).gap < 1e-6


def test_a_weak_bound_is_no_figure():
    assert useful(USEFUL * 5.0, 5.0) == 0.5
    assert useful(0.51, 5.0) is None
    objective = chain(0)
    started = minimize(Problem(objective, ElasticNet(l1=1.0)), OWLQN(), stop=Stop(max_iterations=0))
    assert started.gap is started.relative_gap is started.trace[-1].gap is None
    assert started.account.endswith("; distance from the optimum unknown")


SOLVERS = {
    "lbfgs": (0.0, 1.0),
    "bfgs": (0.0, 1.0),
    "owlqn": (0.3, 0.3),
    "prox_gradient": (0.3, 0.3),
    "grafting": (0.3, 0.3),
    "grafting_light": (0.3, 0.3),
    "gauss_seidel": (0.3, 0.3),
    "clustered": (0.0, 1.0),
    "two_stage": (0.3, 0.3),
    "label_sets": (0.3, 0.3),
    "sag": (0.0, 1.0),
    "hybrid": (0.0, 1.0),
    "sgd_l1": (0.0, 1.0),
}
OPTIONS = {
    "clustered": {"num_rounds": 1, "fine_iterations": 3},
    "grafting": {"select": 20},
    "gauss_seidel": {"select": 20},
    "sgd_l1": {"passes": 300},
}


SLOW = {name: pytest.mark.slow for name in ("gauss_seidel", "sgd_l1", "grafting", "hybrid", "prox_gradient")}


def training(name):
    corpus = Corpus.encode(*chunky(40))
    solver = make_solver(name, **({} if name == "sgd_l1" else {"tolerance": 0.0}), **OPTIONS.get(name, {}))
    return Problem(ChainObjective(corpus, threads=1), ElasticNet(*SOLVERS[name])), solver


@pytest.mark.parametrize("name", [pytest.param(each, marks=SLOW.get(each, ())) for each in SOLVERS])
def test_every_solver_can_be_stopped_by_the_gap(name):
    problem, solver = training(name)
    result = minimize(problem, solver, stop=Stop(gap=1e-3, max_iterations=2000))
    # Grafting looks at all features at its end alone.
    assert result.status is (Status.CONVERGED if name == "grafting" else Status.GAP_REACHED)
    assert result.status.converged
    assert 0.0 <= result.gap <= 1e-3 * result.objective
    assert result.relative_gap == result.gap / result.objective
    assert result.trace[-1].gap == result.gap
    assert all(record.gap is None or record.gap > 1e-3 * record.objective for record in result.trace[:-1])
    assert result.objective - solved(problem).objective <= result.gap
    assert f"within {100 * result.relative_gap:.2g} % of the optimum" in result.account


@pytest.mark.parametrize("name", ["prox_newton", "dual_cd", "iis"])
def test_solvers_of_classifiers_can_be_stopped_by_the_gap(name):
    rng = np.random.default_rng(0)
    objective = ClassifierObjective(
        rng.random((50, 5)), rng.integers(2, size=50), n_classes=2, intercept=name != "dual_cd"
    )
    penalty = ElasticNet(0.1 if name == "prox_newton" else 0.0, 1.0, objective.n_unpenalised)
    result = minimize(Problem(objective, penalty), make_solver(name, tolerance=0.0), stop=Stop(gap=1e-4))
    assert result.status is Status.GAP_REACHED
    assert result.objective - solved(Problem(objective, penalty)).objective <= result.gap <= 1e-4 * result.objective


@pytest.mark.parametrize("n_sentences", [40, 200])
def test_with_l1_alone_the_proof_ends_a_training_only_where_it_comes_before_the_tolerance(n_sentences):
    data = chunky(n_sentences)

    def ended(**options):
        return ChainCRF(n_jobs=1, l1=1.0, **options).fit(*data).result_

    plain, sooner = ended(), ended(gap=0.1)
    with pytest.warns(UserWarning, match=r"converged before gap=0\.001 was proved; tolerance=0 waits for the proof"):
        late = ended(gap=1e-3)
    assert (plain.is_unproved, sooner.is_unproved, late.is_unproved) == (False, False, True)
    assert certainty([late]).endswith("; --tolerance 0 waits for the proof of --gap 0.001")
    assert "--gap" not in certainty([plain]) + certainty([sooner])
    assert sooner.status is Status.GAP_REACHED
    assert sooner.iterations < plain.iterations
    assert late.status is Status.CONVERGED
    np.testing.assert_array_equal(late.w, plain.w)
    # A tolerance of 0 waits for the proof, as does a training with L2.
    waited, with_l2 = ended(gap=1e-3, tolerance=0.0), ended(gap=1e-6, l2=0.3)
    assert waited.iterations > plain.iterations
    assert waited.status is with_l2.status is Status.GAP_REACHED


@pytest.mark.parametrize(("name", "ending"), [*itertools.product(SOLVERS, ["limit", "callback", "ctrl_c"])])
@pytest.mark.parametrize("steps", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_violation_and_gap_of_a_result_are_by_all_features_however_it_ended(name, ending, steps):
    def callback(record, state):
        if record.iteration == steps and ending == "ctrl_c":
            raise KeyboardInterrupt
        return record.iteration == steps and ending == "callback"

    problem, solver = training(name)
    stop = Stop(max_iterations=steps if ending == "limit" else None)
    result = minimize(problem, solver, stop=stop, callbacks=[callback])
    expected = {"limit": Status.MAX_ITERATIONS, "callback": Status.STOPPED_BY_CALLBACK, "ctrl_c": Status.INTERRUPTED}
    assert result.status is expected[ending]
    nll, gradient = problem.objective.value_and_gradient(result.w)
    violation = problem.penalty.violation(result.w, gradient)
    assert result.violation == result.trace[-1].violation == pytest.approx(violation, rel=1e-9)
    gap = useful(duality_gap(problem, result.w, nll, gradient), result.objective)
    assert result.gap == (None if gap is None else pytest.approx(gap, rel=1e-6))


def test_no_evaluation_is_spent_on_the_gap_where_the_state_holds_the_gradient():
    problem, _ = training("owlqn")
    calls = []

    class Counted:
        n_features, n_samples, is_convex = problem.n_features, problem.objective.n_samples, True

        def value_and_gradient(self, w, out=None):
            calls.append(1)
            return problem.objective.value_and_gradient(w, out)

    result = minimize(Problem(Counted(), problem.penalty), OWLQN(tolerance=0.0), stop=Stop(gap=1e-3))
    assert result.status is Status.GAP_REACHED
    assert result.gradient_evaluations == len(calls)


@pytest.mark.parametrize("limit", [-1.0, 0.2, "a", True])
def test_a_share_to_stop_at_is_from_0_to_a_tenth(limit):
    with pytest.raises(OptionError, match="gap="):
        Stop(gap=limit)


def test_a_point_without_gradient_is_the_optimum():
    problem = Problem(
        ClassifierObjective(np.zeros((4, 2)), [0, 1, 0, 1], n_classes=2, intercept=False), ElasticNet(l2=1.0)
    )
    gradient = np.zeros(2)
    nll = problem.evaluate(np.zeros(2), gradient)
    assert not gradient.any()
    assert duality_gap(problem, np.zeros(2), nll, gradient) == pytest.approx(0.0, abs=1e-12)


def test_no_bound_is_sought_while_a_solver_works_on_some_of_the_features():
    rng = np.random.default_rng(0)
    objective = ClassifierObjective(rng.normal(size=(60, 20)), rng.integers(0, 2, 60), n_classes=2, intercept=False)
    problem = Problem(objective, ElasticNet(l1=0.5, l2=2.0))
    trace = minimize(problem, GraftingLight(select=3, steps=4), stop=Stop(gap=1e-7)).trace
    partial = [record for record in trace[:-1] if np.isnan(record.violation)]
    assert len(partial) > 3
    assert all(record.gap is None for record in partial)
    assert any(record.gap is not None for record in trace)


def test_a_bound_survives_values_whose_rounding_hides_the_radius():
    rng = np.random.default_rng(0)
    y = [["AB"[k] for k in rng.integers(0, 2, 5)] for _ in range(30)]
    X = [[{"w=" + label: 1.0, "t": float(1e300 * (1 + rng.random() / 7))} for label in labels] for labels in y]
    objective = ChainObjective(Corpus.encode(X, y), ChainFeatures(), threads=1)
    problem = Problem(objective, ElasticNet(l1=0.1, l2=0.2))
    w = np.zeros(problem.n_features)
    assert duality_gap(problem, w, *objective.value_and_gradient(w)) >= 0.0


@pytest.mark.parametrize("l1", [1e-3, 0.02, 0.3, 2.0])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_the_gap_is_a_bound_under_weak_and_strong_penalties(l1, l2):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(12, 3)), rng.integers(0, 2, 12)
        problem = Problem(ClassifierObjective(X, y, n_classes=2, intercept=False), ElasticNet(l1=l1, l2=l2))
        best = minimize(problem, OWLQN(tolerance=0.0, gradient_tolerance=1e-9), stop=Stop(max_iterations=300))
        for share in (0.0, 0.3, 0.7, 0.9, 0.97, 0.99, 1.01, 1.1):
            w = share * best.w
            nll, gradient = problem.objective.value_and_gradient(w)
            distance = nll + problem.penalty.value(w) - best.objective
            assert duality_gap(problem, w, nll, gradient) >= distance - 1e-9
