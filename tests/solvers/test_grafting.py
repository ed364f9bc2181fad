"""Grafting-Light, Grafting and Gauss-Seidel against OWL-QN, the optimality conditions, and plain objectives."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainFeatures, ChainObjective, ClassifierObjective, Corpus
from loglinear.errors import ObjectiveError, OptionError
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import OWLQN, GaussSeidel, Grafting, GraftingLight
from oracles.logistic import Logistic
from oracles.samples import chunky, sentences

BIGRAMS = "U1:%x[0,0]\nU2:%x[0,1]\nB3:%x[0,0]\nB"
TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-7}


def chain(seed=0, n=25, threads=0, template=None, order=1):
    X, y = sentences(n, seed)
    if template:
        X = [[token[:2] for token in sentence] for sentence in X]
    return ChainObjective(Corpus.encode(X, y, template=template), ChainFeatures(order=order), threads=threads)


def classifier(seed=0, n_classes=2, *, n=60, d=20, intercept=True, threads=0):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=0.3, rng=rng, format="csr")
    y = (X @ rng.normal(size=(d, n_classes)) * 4.0 + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    return ClassifierObjective(X, y, n_classes=n_classes, intercept=intercept, threads=threads)


OBJECTIVES = {
    "chain": chain,
    "chain with bigrams": lambda seed: chain(seed, template=BIGRAMS),
    "chain of second order": lambda seed: chain(seed, order=2),
    "two classes": classifier,
    "two classes, no intercept": lambda seed: classifier(seed, intercept=False),
    "three classes": lambda seed: classifier(seed, 3),
    "plain Python": lambda seed: Logistic(8, 40, seed),
}


def problem(kind="chain", seed=0, l1=0.5, l2=0.0):
    objective = OBJECTIVES[kind](seed)
    return Problem(objective, ElasticNet(l1, l2, getattr(objective, "n_unpenalised", 0)))


@examples(80)
@given(
    kind=st.sampled_from([k for k in OBJECTIVES if k != "plain Python"]),
    seed=st.integers(0, 10_000),
    share=st.floats(0.0, 1.0),
)
def test_a_restricted_objective_is_the_whole_one_with_the_other_weights_0(kind, seed, share):
    objective = OBJECTIVES[kind](seed)
    rng = np.random.default_rng(seed)
    n, free = objective.n_features, objective.n_unpenalised
    features = np.flatnonzero((rng.random(n) < share) | (np.arange(n) >= n - free))
    w = np.zeros(n)
    w[features] = rng.normal(size=features.size)
    restricted = objective.restrict(features)
    assert (restricted.n_features, restricted.n_unpenalised) == (features.size, free)
    value, gradient = restricted.value_and_gradient(w[features])
    expected, slope = objective.value_and_gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope[features], rtol=1e-9, atol=1e-11)


def test_features_to_keep_ascend_and_exist():
    objective = chain()
    for features in ([1, 0], [0, 0], [-1], [objective.n_features]):
        with pytest.raises(OptionError):
            objective.restrict(np.array(features))
    assert classifier().restrict(np.arange(5)) is None  # without its intercept


@examples(60)
@given(
    kind=st.sampled_from(list(OBJECTIVES)),
    seed=st.integers(0, 1000),
    l1=st.sampled_from([0.3, 1.0, 4.0]),
    l2=st.sampled_from([0.0, 0.3]),
    select=st.sampled_from([1, 4, 1000]),
    solver=st.sampled_from(["light", "lighter", "grafting", "restarted", "gauss_seidel"]),
)
def test_the_optimum_is_that_of_owlqn_and_meets_condition_3(kind, seed, l1, l2, select, solver):
    given_problem = problem(kind, seed, l1, l2)
    best = minimize(given_problem, OWLQN(**TIGHT), stop=Stop(max_iterations=5000))
    made = {
        "light": GraftingLight(select=select, steps=1, **TIGHT),
        "lighter": GraftingLight(select=select, steps=4, **TIGHT),
        "grafting": Grafting(select=select, tolerance=0.0, gradient_tolerance=1e-5),
        "restarted": Grafting(select=select, restart=True, tolerance=0.0, gradient_tolerance=1e-5),
        "gauss_seidel": GaussSeidel(select=max(select, 4), tolerance=0.0, gradient_tolerance=3e-5),
    }[solver]
    found = minimize(given_problem, made, stop=Stop(max_iterations=20_000))
    assert found.status.converged
    assert found.objective == pytest.approx(best.objective, rel=1e-6 if solver == "gauss_seidel" else 1e-7)
    nll, gradient = given_problem.objective.value_and_gradient(found.w)
    assert found.nll == pytest.approx(nll, rel=1e-10)
    assert found.objective == pytest.approx(nll + given_problem.penalty.value(found.w), rel=1e-10)
    assert given_problem.penalty.violation(found.w, gradient) == pytest.approx(found.violation, abs=1e-9)
    assert found.violation <= 3e-5 * max(1.0, np.sqrt(given_problem.penalty.norms(found.w)[1]))


def test_grafting_may_start_from_the_origin_after_each_selection():
    given_problem = problem(l1=1.0)
    at_origin = given_problem.objective.value_and_gradient(np.zeros(given_problem.n_features))[0]
    found, objectives = {}, {}
    for restart in (False, True):
        sizes, objectives[restart] = [], []

        def look(record, state, sizes=sizes, objectives=objectives[restart]):
            if [record.working_set] != sizes[-1:]:  # features have been selected
                sizes.append(record.working_set)
                objectives.append(record.objective)

        found[restart] = minimize(given_problem, Grafting(select=3, restart=restart), callbacks=[look])
    assert min(len(each) for each in objectives.values()) > 3
    assert set(objectives[True]) == {at_origin}
    assert sorted(objectives[False], reverse=True) == objectives[False]
    assert found[True].gradient_evaluations > found[False].gradient_evaluations
    assert found[True].objective == pytest.approx(found[False].objective, rel=1e-3)


def test_gauss_seidel_ends_where_rounding_hides_every_decrease():
    solver = GaussSeidel(select=4, tolerance=0.0, gradient_tolerance=1e-6)
    found = minimize(problem("chain of second order", 481, 4.0, 0.0), solver, stop=Stop(max_iterations=1000))
    assert found.status in (Status.CONVERGED, Status.LINE_SEARCH_FAILED)
    assert found.violation < 1e-4


@pytest.mark.parametrize(
    "solver", [GraftingLight(select=3, steps=2), Grafting(select=3), Grafting(select=3, restart=True)]
)
def test_the_working_set_only_grows_and_loses_no_weight(solver):
    given_problem = problem(l1=1.0)
    sizes, sets = [], []

    def look(record, state):
        sizes.append(record.working_set)
        sets.append(set(state.features.tolist()))
        assert set(np.flatnonzero(state.w).tolist()) <= sets[-1]
        assert sorted(state.selected.tolist()) == state.features.tolist()

    found = minimize(given_problem, solver, callbacks=[look])
    assert found.status.converged
    assert all(before <= after for before, after in itertools.pairwise(sets))
    assert all(after - before <= 3 for before, after in itertools.pairwise([0, *sizes]))
    assert np.count_nonzero(found.w) <= sizes[-1] < given_problem.n_features
    best = minimize(given_problem, OWLQN()).w
    assert np.count_nonzero(found.w) <= 1.2 * np.count_nonzero(best)


def test_features_enter_in_the_order_of_their_violations():
    given_problem = problem("two classes", l1=1.0)
    gradient = given_problem.objective.value_and_gradient(np.zeros(given_problem.n_features))[1]
    state = GraftingLight(select=5).init(given_problem, np.zeros(given_problem.n_features))
    penalised = np.abs(gradient[:-1])
    order = np.argsort(-penalised, kind="stable")[: min(5, int((penalised > 1.0).sum()))]
    assert state.selected.tolist() == [given_problem.n_features - 1, *order.tolist()]  # the intercept comes first


def test_a_step_of_the_paper_costs_one_evaluation_and_fewer_selections_fewer_whole_ones():
    given_problem = problem("chain", l1=0.5)
    light = minimize(given_problem, GraftingLight(select=10, steps=1), stop=Stop(max_iterations=30))
    assert light.state.full_evaluations == light.gradient_evaluations
    lazy = minimize(given_problem, GraftingLight(select=10, steps=5), stop=Stop(max_iterations=30))
    assert lazy.state.full_evaluations < 0.5 * lazy.gradient_evaluations
    assert lazy.objective < light.trace[0].objective


def test_gauss_seidel_evaluates_all_features_to_select_alone(monkeypatch):
    given_problem, whole = problem("chain", l1=0.5), []
    evaluate = type(given_problem.objective).value_and_gradient

    def counted(self, w, out=None):
        whole.append(self.n_features == given_problem.n_features)
        return evaluate(self, w, out)

    monkeypatch.setattr(type(given_problem.objective), "value_and_gradient", counted)
    found = minimize(given_problem, GaussSeidel(select=10))
    assert found.status.converged
    evaluations, extra = found.gradient_evaluations, len(whole) - found.gradient_evaluations
    assert extra <= 3  # the violation at the end, and whether it has converged
    assert sum(whole) == found.state.full_evaluations + extra < 0.5 * evaluations


@pytest.mark.parametrize("made", [Grafting, GraftingLight])
@pytest.mark.parametrize("most", [1, 4, 7])
def test_so_many_features_are_selected_and_no_more_and_optimised_over(made, most):
    given_problem = problem(l1=0.5)
    found = minimize(given_problem, made(select=3, max_features=most, **TIGHT))
    assert found.status is Status.FEATURES_SELECTED
    assert found.status.converged
    first = found.state.selected
    assert first.size == most
    endless = minimize(given_problem, made(select=3), stop=Stop(max_iterations=60)).state.selected
    assert first[:3].tolist() == endless[: min(3, most)].tolist()
    small = given_problem.objective.restrict(np.sort(first))
    best = minimize(Problem(small, ElasticNet(0.5)), OWLQN(**TIGHT))
    assert found.objective == pytest.approx(best.objective, rel=1e-8)
    gradient = given_problem.objective.value_and_gradient(found.w)[1]
    assert found.violation == pytest.approx(given_problem.penalty.violation(found.w, gradient), abs=1e-9)
    assert found.violation > 0.5


def test_a_limit_on_features_that_is_never_reached_changes_nothing():
    given_problem = problem(l1=0.5)
    found = minimize(given_problem, GraftingLight(max_features=given_problem.n_features))
    assert found.w.tobytes() == minimize(given_problem, GraftingLight()).w.tobytes()
    assert found.status is Status.CONVERGED


def test_candidates_may_arrive_later():
    given_problem = problem("two classes", l1=0.5)
    n = given_problem.n_features
    batches = [range(0, 5), [], range(5, n), None]
    asked = []

    def candidates(selection):
        asked.append(selection)
        return batches[selection] if batches[selection] is None else np.array(batches[selection], int)

    def look(record, state):
        if len(asked) < 3:
            assert not state.w[5 : n - 1].any()

    found = minimize(given_problem, GraftingLight(candidates=candidates, **TIGHT), callbacks=[look])
    best = minimize(given_problem, OWLQN(**TIGHT))
    assert asked == [0, 1, 2, 3]
    assert found.objective == pytest.approx(best.objective, rel=1e-8)
    with pytest.raises(OptionError, match="candidates"):
        minimize(given_problem, GraftingLight(candidates=lambda selection: [n]))


def test_candidates_that_never_come_leave_their_weights_0():
    given_problem = problem("two classes", l1=0.5)
    batches = [np.arange(5), None]
    found = minimize(given_problem, Grafting(candidates=lambda selection: batches[selection]))
    assert found.status is Status.FEATURES_SELECTED
    assert not found.w[5:-1].any()
    assert found.w[:5].any()


@pytest.mark.parametrize(
    "solver",
    [GraftingLight(select=5, steps=3), Grafting(select=5), Grafting(select=5, restart=True), GaussSeidel(select=8)],
)
def test_threads_do_not_matter_and_resuming_is_exact(solver):
    X, y = chunky()
    runs = []
    for threads in (1, 2):
        objective = ChainObjective(Corpus.encode(X, y), threads=threads)
        runs.append(minimize(Problem(objective, ElasticNet(l1=0.5)), solver, stop=Stop(max_iterations=25)))
    assert runs[0].w.tobytes() == runs[1].w.tobytes()
    given_problem = Problem(objective, ElasticNet(l1=0.5))
    for stopped in (1, 4, 12):
        half = minimize(given_problem, solver, stop=Stop(max_iterations=stopped))
        state = pickle.loads(pickle.dumps(half.state))
        whole = minimize(given_problem, solver, state=state, stop=Stop(max_iterations=25))
        assert whole.w.tobytes() == runs[0].w.tobytes()
        assert whole.gradient_evaluations == runs[0].gradient_evaluations


def test_nothing_to_select_is_the_end():
    found = minimize(problem(l1=1e6), GraftingLight())
    assert found.status is Status.CONVERGED
    assert not found.w.any()
    assert found.iterations == 0


@pytest.mark.parametrize(
    "options",
    [{"select": 0}, {"steps": 0}, {"max_features": 0}, {"max_features": 2.5}, {"tolerance": -1.0}, {"memory": 0}],
)
def test_bad_options(options):
    with pytest.raises(OptionError):
        GraftingLight(**options)


def test_gauss_seidel_goes_through_all_features():
    with pytest.raises(OptionError, match=r"max_features=3.*grafting_light"):
        GaussSeidel(max_features=3)


@pytest.mark.parametrize("kind", [GraftingLight, GaussSeidel])
def test_only_grafting_starts_from_the_origin(kind):
    assert not kind(restart=False).restart
    with pytest.raises(OptionError, match=r"restart=True: .* use grafting$"):
        kind(restart=True)


def test_the_l1_penalty_is_needed():
    with pytest.raises(OptionError, match=r"gauss_seidel needs an L1 penalty.*lbfgs"):
        minimize(problem(l1=0.0, l2=1.0), GaussSeidel())


def test_a_restricted_objective_of_another_size_is_refused():
    class Wrong(Logistic):
        def restrict(self, features):
            return self

    objective = Wrong(8, 40)
    with pytest.raises(ObjectiveError, match=r"Wrong\.restrict returned"):
        minimize(Problem(objective, ElasticNet(l1=1.0)), GraftingLight(select=2, steps=5))


@pytest.mark.parametrize("solver", [Grafting(select=5), Grafting(select=5, restart=True), GraftingLight(select=5)])
def test_the_gradient_that_shows_the_optimum_is_not_evaluated_again(solver):
    objective, other = (Logistic(50, 400) for _ in range(2))
    held = []

    def check(record, state):
        held.append(state.whole_gradient is not None)
        if held[-1]:
            assert (state.whole_gradient == other.value_and_gradient(state.w)[1]).all()

    result = minimize(Problem(objective, ElasticNet(l1=3.0)), solver, callbacks=[check])
    assert result.status is Status.CONVERGED
    assert result.gradient_evaluations == objective.calls
    assert held[-1]
    assert not all(held)
