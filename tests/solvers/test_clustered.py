"""Laws of the rounds of fine and coarse optimisers."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import ChainObjective, Corpus
from loglinear.errors import OptionError
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import LBFGS, Clustered, make_solver
from loglinear.solvers.common.projection import chunks, largest_size, project_down
from oracles.logistic import Logistic, Summed
from oracles.samples import Classified, chunky

SHORT = {"fine_iterations": 3, "cluster_factor": 4}
TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-8}
RIDGE = ElasticNet(l2=0.5)
VARIANTS = [
    {"optimizer": optimizer, "clustering": clustering, "aggregate": aggregate}
    for optimizer in ("lbfgs", "bfgs")
    for clustering in ("chunks", "kmeans")
    for aggregate in (True, False)
] + [{"clustering": clustering, "aggregate": False, "square_error": 0.2} for clustering in ("chunks", "kmeans")]
EACH_VARIANT = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())))


def chain(threads=1):
    return ChainObjective(Corpus.encode(*chunky()), threads=threads)


def steps(problem, solver, limit=400):
    """Copies of all states."""
    seen = []
    minimize(
        problem,
        solver,
        callbacks=[lambda record, state: seen.append(pickle.loads(pickle.dumps(state)))],
        stop=Stop(max_iterations=limit),
    )
    return seen


def phases(states):
    """Each phase with the states after its steps, the one that it starts from first."""
    return [(phase, list(run)) for phase, run in itertools.groupby(states, lambda state: state.phase)]


@EACH_VARIANT
def test_phases_follow_figure_4(variant):
    problem = Problem(Summed(40, 200), RIDGE)
    runs = phases(steps(problem, Clustered(num_rounds=3, **SHORT, **variant)))
    # The next phase begins with the state that the last step of the one before ends in.
    expected = ["fine", "coarse"] * 3 + ["patch-up"]
    assert [phase for phase, _ in runs] == expected
    for k, (phase, states) in enumerate(runs):
        assert {state.rounds for state in states} == {k // 2}
        if phase == "fine":
            assert len(states) == SHORT["fine_iterations"]
    *_, last = runs[-1][1]
    assert last.status is Status.CONVERGED
    assert last.fine_iterations == 3 * SHORT["fine_iterations"] + last.inner.iteration
    assert last.coarse_iterations == sum(len(states) for phase, states in runs if phase == "coarse")
    assert last.iteration == last.fine_iterations + last.coarse_iterations
    assert [state.iteration for _, states in runs for state in states] == list(range(last.iteration + 1))


@EACH_VARIANT
def test_every_state_has_the_objective_of_the_whole_problem_at_its_weights(variant):
    objective = Summed(40, 200)
    for state in steps(Problem(objective, RIDGE), Clustered(**SHORT, **variant)):
        nll = objective.value_and_gradient(state.w)[0]
        assert state.nll == pytest.approx(nll, rel=1e-11)
        assert state.objective == pytest.approx(nll + RIDGE.value(state.w), rel=1e-11)
        assert state.partial is (state.phase == "coarse")


def test_a_coarse_phase_starts_from_the_means_of_clusters_of_the_fine_weights():
    problem, solver = Problem(Logistic(40, 200), RIDGE), Clustered(**SHORT)
    state = solver.init(problem, np.zeros(40))
    for _ in range(2):
        state = solver.step(problem, state)
    reached = LBFGS().step(problem, pickle.loads(pickle.dumps(state)).inner).w
    state = solver.step(problem, state)
    assert (state.phase, state.fine_iterations, state.coarse_iterations) == ("coarse", 3, 0)
    sizes = np.bincount(state.cmap)
    assert sizes.max() == 4
    np.testing.assert_array_equal(state.inner.w, project_down(reached, state.cmap))
    np.testing.assert_array_equal(state.w, state.inner.w[state.cmap])
    order = np.argsort(reached, kind="stable")
    assert (np.diff(state.cmap[order]) >= 0).all()


def test_the_violation_of_a_coarse_phase_is_that_of_the_projected_problem():
    objective = Logistic(40, 200)
    for state in steps(Problem(objective, RIDGE), Clustered(**SHORT)):
        g = RIDGE.smooth_gradient(state.w, objective.value_and_gradient(state.w)[1])
        g = g if state.cmap is None else np.bincount(state.cmap, weights=g)
        assert state.violation == pytest.approx(np.abs(g).max(), rel=1e-6, abs=1e-10)


@pytest.mark.parametrize(("window", "delta"), [(5, 1e-4), (2, 1e-2), (7, 1e-3)])
def test_a_coarse_phase_ends_when_its_last_objectives_differ_by_less_than_delta(window, delta):
    solver = Clustered(**SHORT, coarse_window=window, coarse_tolerance=delta)
    states = steps(Problem(Logistic(40, 200), RIDGE), solver)
    ended = 0
    for (phase, run), (_, after) in itertools.pairwise(phases(states)):
        if phase != "coarse":
            continue
        objectives = [state.objective for state in run] + [after[0].objective]
        assert all(second < first for first, second in itertools.pairwise(objectives))
        flat = [
            max(part) - min(part) < delta * min(part)
            for part in (objectives[k : k + window] for k in range(len(objectives) - window + 1))
        ]
        assert flat[-1] or after[0].violation < 1e-5
        assert not any(flat[:-1])
        ended += 1
    assert ended == 2


def test_without_a_coarse_tolerance_the_coarse_optimiser_converges():
    solver = Clustered(**SHORT, coarse_tolerance=0.0)
    states = steps(Problem(Logistic(40, 200), RIDGE), solver)
    ((_, run), *_) = [part for part in phases(states) if part[0] == "coarse"]
    assert run[-1].violation < 1e-2
    assert len(run) > len(phases(steps(Problem(Logistic(40, 200), RIDGE), Clustered(**SHORT)))[1][1])


@pytest.mark.parametrize(
    ("number", "l2"),
    by_day(itertools.product(range(len(VARIANTS)), [0.5, 1e-3]), lambda case: case[0] % 2 == (case[1] == 0.5)),
)
def test_the_patch_up_ends_at_the_optimum_of_lbfgs(number, l2):
    problem = Problem(Summed(40, 200), ElasticNet(l2=l2))
    best = minimize(problem, LBFGS(**TIGHT))
    result = minimize(problem, Clustered(**SHORT, **TIGHT, **VARIANTS[number]))
    assert result.status is Status.CONVERGED
    assert result.state.coarse_iterations > 0
    assert result.objective == pytest.approx(best.objective, rel=1e-8)
    np.testing.assert_allclose(result.w, best.w, atol=1e-6 / l2)


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("optimizer", ["lbfgs", "bfgs"])
def test_a_chain_ends_at_the_optimum_of_lbfgs_and_keeps_its_transitions_apart(optimizer, aggregate):
    objective = chain()
    problem = Problem(objective, RIDGE)
    best = minimize(problem, LBFGS(**TIGHT))
    solver = Clustered(optimizer=optimizer, aggregate=aggregate, **SHORT, **TIGHT)
    states = steps(problem, solver)
    assert states[-1].status is Status.CONVERGED
    assert states[-1].objective == pytest.approx(best.objective, rel=1e-8)
    start = objective.clusterable[0]
    assert start > 0
    coarse = [state for state in states if state.phase == "coarse"]
    assert len(coarse) > 4
    for state in coarse:
        assert (np.bincount(state.cmap)[:start] == 1).all()
        np.testing.assert_array_equal(state.w[:start], state.inner.w[:start])
        assert state.inner.w.size == start + -(-(objective.n_features - start) // SHORT["cluster_factor"])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_classifier_ends_at_the_optimum_of_lbfgs_and_keeps_its_intercept_apart(n_classes):
    objective = Classified(3, n_classes, n=200, d=60).classifier
    problem = Problem(objective, ElasticNet(l2=0.5, unpenalised=objective.n_unpenalised))
    best = minimize(problem, LBFGS(**TIGHT))
    for aggregate in (True, False):
        states = steps(problem, Clustered(aggregate=aggregate, **SHORT, **TIGHT))
        assert states[-1].objective == pytest.approx(best.objective, rel=1e-8)
        for state in (state for state in states if state.phase == "coarse"):
            assert (np.bincount(state.cmap)[-objective.n_unpenalised :] == 1).all()


def test_threads_do_not_matter():
    for clustering in ("chunks", "kmeans"):
        solver = Clustered(clustering=clustering, **SHORT)
        first, second = (minimize(Problem(chain(threads), RIDGE), solver).w for threads in (1, 2))
        assert first.tobytes() == second.tobytes()


def test_a_problem_where_nothing_may_be_clustered_is_solved():
    objective = Logistic(20, 100)
    objective.clusterable = (0, 0)
    for clustering in ("chunks", "kmeans"):
        result = minimize(Problem(objective, RIDGE), Clustered(clustering=clustering, **SHORT))
        assert result.status is Status.CONVERGED


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
@EACH_VARIANT
def test_resuming_from_any_step_is_bitwise_exact(variant, stride):
    problem, solver = Problem(Summed(40, 200), RIDGE), Clustered(**SHORT, **variant)
    states = steps(problem, solver)
    assert {state.phase for state in states} == {"fine", "coarse", "patch-up"}
    for at in range(0, len(states) - 1, stride):
        state, other = states[at], Clustered(**SHORT, **variant)
        assert state.projected is None
        for expected in states[at + 1 : at + 8]:
            state = other.step(problem, state)
            assert state.w.tobytes() == expected.w.tobytes()
            numbers = ("objective", "nll", "violation", "status", "phase", "iteration", "gradient_evaluations")
            assert [getattr(state, name) for name in numbers] == [getattr(expected, name) for name in numbers]


@examples(30)
@given(at=st.integers(2, 60), variant=st.sampled_from([v for v in VARIANTS if not v["aggregate"]]))
def test_an_interrupted_step_leaves_the_state_intact(at, variant):
    objective = Logistic(40, 200)
    problem, solver = Problem(objective, RIDGE), Clustered(**SHORT, **variant)
    whole = minimize(problem, solver)
    objective.calls, objective.interrupt_at = 0, min(at, whole.gradient_evaluations)
    part = minimize(problem, solver)
    assert part.status is Status.INTERRUPTED
    rest = minimize(problem, solver, state=part.state)
    assert rest.w.tobytes() == whole.w.tobytes()
    assert (rest.iterations, rest.gradient_evaluations) == (whole.iterations, whole.gradient_evaluations)


@pytest.mark.parametrize("aggregate", [True, False])
def test_evaluations_are_counted_exactly_the_coarse_ones_included(aggregate):
    made = []

    class Counted(Summed):
        def aggregate(self, cmap, n_clusters):
            made.append(super().aggregate(cmap, n_clusters))
            return made[-1]

    objective = Counted(40, 200)
    result = minimize(Problem(objective, RIDGE), Clustered(**SHORT, aggregate=aggregate))
    assert len(made) == (2 if aggregate else 0)
    assert result.gradient_evaluations == result.passes == objective.calls + sum(other.calls for other in made)
    assert all(other.calls > 0 for other in made)


def test_a_fine_phase_that_converges_is_the_end():
    problem = Problem(Logistic(10, 50), RIDGE)
    result = minimize(problem, Clustered())
    same = minimize(problem, LBFGS())
    assert result.status is Status.CONVERGED
    assert (result.state.phase, result.state.coarse_iterations) == ("fine", 0)
    assert result.w.tobytes() == same.w.tobytes()
    again = Clustered().init(problem, minimize(problem, LBFGS(**TIGHT)).w)
    assert again.status is Status.CONVERGED


def test_a_line_search_that_fails_in_a_fine_phase_is_the_end():
    class Lying(Logistic):
        def value_and_gradient(self, w, out=None):
            value, g = super().value_and_gradient(w, out)
            np.negative(g, out=g)
            return value, g

    result = minimize(Problem(Lying(10, 50), RIDGE), Clustered(**SHORT))
    assert result.status is Status.LINE_SEARCH_FAILED
    assert result.state.phase == "fine"


def test_the_violation_of_a_projected_problem_does_not_stop_the_loop():
    objective = Logistic(40, 200)
    problem, solver = Problem(objective, RIDGE), Clustered(**SHORT, **TIGHT, coarse_tolerance=0.0)
    limit = 1e-4
    coarse = [state.violation for state in steps(problem, solver) if state.phase == "coarse"]
    assert min(coarse) <= limit
    result = minimize(problem, solver, stop=Stop(violation=limit))
    assert result.status is Status.VIOLATION_REACHED
    assert result.state.phase == "patch-up"
    assert RIDGE.violation(result.w, objective.value_and_gradient(result.w)[1]) <= limit


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        ("num_rounds", 0),
        ("fine_iterations", 0),
        ("fine_iterations", 2.5),
        ("cluster_factor", 1),
        ("square_error", 0.0),
        ("square_error", 1.0),
        ("square_error", "half"),
        ("clustering", "spectral"),
        ("optimizer", "sgd"),
        ("coarse_window", 1),
        ("coarse_tolerance", -1e-4),
        ("coarse_tolerance", np.nan),
        ("aggregate", 1),
        ("memory", 0),
        ("tolerance", -1.0),
        ("gradient_tolerance", np.inf),
        ("max_line_search", 0),
        ("seed", -1),
    ],
)
@pytest.mark.parametrize("optimizer", ["lbfgs", "bfgs"])
def test_absurd_options_raise_option_error(optimizer, option, bad):
    with pytest.raises(OptionError, match=f"{option}="):
        make_solver("clustered", **({"optimizer": optimizer} | {option: bad}))


@examples(60)
@given(seed=st.integers(0, 10_000), d=st.integers(0, 40), share=st.floats(1e-6, 1.0, exclude_max=True))
def test_clusters_are_as_large_as_their_square_error_allows(seed, d, share):
    beta = np.random.default_rng(seed).standard_t(2, size=d).round(1)

    def error(size):
        cmap = chunks(beta, size)
        return sum(np.square(beta[cmap == k] - beta[cmap == k].mean()).sum() for k in np.unique(cmap))

    size = largest_size(beta, chunks, share)
    assert 1 <= size <= max(d, 1)
    assert error(size) <= share * error(max(d, 1)) * (1 + 1e-9) + 1e-12
    assert size == max(d, 1) or error(size + 1) >= share * error(d) * (1 - 1e-9) - 1e-12


def test_a_square_error_takes_the_place_of_the_factor():
    problem = Problem(Summed(40, 200), RIDGE)
    sizes = {}
    for share in (0.01, 0.3, None):
        solver = Clustered(num_rounds=1, fine_iterations=3, cluster_factor=7, square_error=share)
        state = next(state for state in steps(problem, solver) if state.phase == "coarse")
        sizes[share] = int(state.cmap.max()) + 1
    assert sizes[0.01] > sizes[None] > sizes[0.3] > 1


def test_the_papers_numbers_of_fine_iterations_are_the_defaults():
    assert (Clustered().fine_iterations, Clustered(optimizer="bfgs").fine_iterations) == (100, 5)


def test_an_impossible_range_is_refused_before_anything_is_evaluated():
    objective = Logistic(20, 30)
    objective.clusterable = (5, 40)
    with pytest.raises(OptionError, match="clusterable"):
        Clustered().init(Problem(objective), np.zeros(20))
    assert objective.calls == 0
