"""Working sets of labels: the same optimum, whatever the bounds, and rounds that are accepted or rejected."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
from dataclasses import replace

import numpy as np
import pytest

from examples import by_day
from loglinear import ChainFeatures, ChainObjective, Corpus, ElasticNet, Problem, Stop, minimize
from loglinear.errors import OptionError
from loglinear.result import Status
from loglinear.solvers import OWLQN, SGDL1, LabelSets, label_sets, make_solver
from loglinear.solvers.common.history import History
from oracles.samples import chunky, sentences

PENALTIES = {"l1": ElasticNet(l1=0.5), "l2": ElasticNet(l2=1.0), "elastic net": ElasticNet(l1=0.3, l2=0.2)}
EXACT = {"tolerance": 0.0, "gradient_tolerance": 1e-9}


@pytest.fixture(autouse=True)
def _pruned_at_any_cost(monkeypatch):
    """On these small data an evaluation of S is no cheaper than one of F."""
    monkeypatch.setattr(label_sets, "MOST_COST", math.inf)


def problem_of(penalty, *, order=1, n=80, threads=1, constraints=None):
    features = ChainFeatures(order=order, constraints=constraints)
    return Problem(ChainObjective(Corpus.encode(*chunky(n)), features, threads=threads), penalty)


@pytest.mark.parametrize(
    ("bound", "penalty", "order"),
    by_day(
        itertools.product([1e-3, 0.05, 0.3], PENALTIES, [1, 2]),
        lambda case: case in {(0.05, "l1", 2), (0.05, "l2", 1), (0.05, "elastic net", 1)},
    ),
)
def test_the_optimum_is_that_of_owlqn(penalty, order, bound):
    problem = problem_of(PENALTIES[penalty], order=order)
    found = minimize(problem, LabelSets(bound=bound, **EXACT), stop=Stop(max_iterations=500))
    least = minimize(problem, OWLQN(**EXACT), stop=Stop(max_iterations=3000)).objective
    assert found.objective == pytest.approx(least, rel=1e-11)
    assert found.violation < 1e-5 * max(1.0, np.linalg.norm(found.w))


def test_constraints_and_weights_of_sentences_lead_to_their_own_optimum():
    X, y = sentences(120, 1)
    y = [[label if label != "B" or t == 0 else "A" for t, label in enumerate(labels)] for labels in y]
    assert "B" in {label for labels in y for label in labels}
    features = ChainFeatures(constraints=[("A", "B"), ("B", "B"), ("C", "B")])
    weights = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(X))
    problem = Problem(ChainObjective(Corpus.encode(X, y, sample_weight=weights), features), ElasticNet(l1=0.4))
    found, least = (minimize(problem, solver(**EXACT), stop=Stop(max_iterations=2000)) for solver in (LabelSets, OWLQN))
    assert found.objective == pytest.approx(least.objective, rel=1e-11)


def test_most_evaluations_are_of_pruned_objectives():
    problem = problem_of(ElasticNet(l1=0.2), n=300)
    found = minimize(problem, LabelSets(tolerance=1e-6))
    state = found.state
    assert found.status is Status.CONVERGED
    assert state.pruned_evaluations > 3 * state.evaluations
    assert found.gradient_evaluations == state.evaluations + state.pruned_evaluations
    assert found.trace[-1].working_set < problem.n_features


def test_the_objective_never_rises_and_is_that_of_the_weights():
    problem = problem_of(ElasticNet(l1=0.1), n=200)
    seen = []
    minimize(
        problem,
        LabelSets(bound=0.3, first=None, **EXACT),
        callbacks=[lambda record, state: seen.append((record.objective, state.w.copy(), state.scale))],
        stop=Stop(max_iterations=60),
    )
    objectives = [objective for objective, *_ in seen]
    assert all(b <= a for a, b in itertools.pairwise(objectives))
    for objective, w, _ in seen:
        assert objective == problem.objective.value_and_gradient(w)[0] + problem.penalty.value(w)
    # Such a coarse bound has rounds rejected.
    assert min(scale for *_, scale in seen) < 1.0


def test_the_pruned_objective_lasts_for_three_slow_rounds_unless_there_is_an_l2_penalty(monkeypatch):
    for penalty, longest in ((ElasticNet(l1=0.2), 3), (ElasticNet(l1=0.2, l2=0.1), 1)):
        problem, rounds, made = problem_of(penalty, n=300), [], []
        original = LabelSets._made

        def counted(self, *args, made=made, rounds=rounds, original=original):
            made.append(len(rounds))
            return original(self, *args)

        monkeypatch.setattr(LabelSets, "_made", counted)
        seen = [lambda record, state, rounds=rounds: rounds.append(state)]
        minimize(problem, LabelSets(first=None, steps=5, **EXACT), callbacks=seen, stop=Stop(max_iterations=30))
        lasted = [b - a for a, b in itertools.pairwise([*made, len(rounds)])]
        assert max(lasted) == longest
        # As long as rounds are not slow, OWL-QN works in units of the curvature.
        quick = [state for state in rounds[1:] if not state.is_slow and state.history is not None]
        slow = [state for before, state in itertools.pairwise(rounds) if before.is_slow and state.history is not None]
        assert quick
        assert slow
        assert all(state.history.scale is not None and state.made is None for state in quick)
        assert all(state.history.scale is None for state in slow)


def test_pairs_keep_what_they_say_in_other_units():
    rng = np.random.default_rng(0)
    w = rng.normal(size=(4, 30))
    penalty = ElasticNet(l2=0.5)
    history = History.empty(5, 30, rng.uniform(0.1, 1.0, 30))
    for before, after in itertools.pairwise(w):
        history = history.advance(after, 2.0 * after, before, 2.0 * before, penalty).curvature
    units = rng.uniform(0.1, 1.0, 30)
    for changed in (history.in_units(units), history.in_units(None)):
        scale = 1.0 if changed.scale is None else changed.scale
        for row, (before, after) in zip(changed.live, itertools.pairwise(w), strict=True):
            s, y = ((rows[row].astype(np.uint32) << 16).view(np.float32) for rows in (changed.S, changed.Y))
            np.testing.assert_allclose(s * scale, after - before, rtol=0.02)
            np.testing.assert_allclose(y / scale, 2.5 * (after - before), rtol=0.02)
            assert changed.SY[row, row] == pytest.approx(float(s.astype(float) @ y), rel=1e-6)
            # Two roundings to the nearest of numbers of eight binary digits.
            assert (np.abs(s * scale - (after - before)) <= 2.1 * 2.0**-8 * np.abs(after - before)).all()


def test_pairs_that_overflow_are_left_out_without_a_warning():
    history, w, zeros = History.empty(3, 4), np.full(4, 1e-3), np.zeros(4)
    history = history.advance(w, w, zeros, zeros, ElasticNet()).curvature
    assert len(history.live) == 1
    assert not history.in_units(np.full(4, 1e-45)).live


def test_units_are_those_of_the_curvature_and_the_l2_penalty():
    problem = problem_of(ElasticNet(l1=0.2, l2=3.0))
    state = minimize(problem, LabelSets(first=None, steps=5, tolerance=0.0), stop=Stop(max_iterations=1)).state
    zeros = np.zeros(problem.n_features)
    nll, gradient, likely = problem.objective.likely_labels(zeros, 1e-3)
    small = problem.objective.pruned(
        likely,
        zeros[state.features],
        nll,
        gradient[state.features],
        bound=1e-3,
        links=3e-3,
        features=state.features,
    )
    np.testing.assert_allclose(state.history.scale, 1.0 / np.sqrt(small.curvatures + 3.0 + 1.0))


@pytest.mark.parametrize("stop", [4, 5, 6, 7, 8])
def test_a_run_that_corrects_its_pruned_objective_resumes_bitwise(stop):
    problem, solver = problem_of(ElasticNet(l1=0.2), n=300), LabelSets(first=None, steps=5, **EXACT)
    whole = minimize(problem, solver, stop=Stop(max_iterations=12))
    begun = minimize(problem, solver, stop=Stop(max_iterations=stop))
    state = pickle.loads(pickle.dumps(begun.state))
    assert state.made is None or state.made.pruned is None
    resumed = minimize(problem, solver, state=state, stop=Stop(max_iterations=12))
    assert resumed.w.tobytes() == whole.w.tobytes()
    assert resumed.gradient_evaluations == whole.gradient_evaluations


@pytest.mark.parametrize("stop", by_day([3, 6, 8], lambda stop: stop == 6))
def test_a_checkpoint_from_before_pruned_objectives_lasted_leads_to_the_same_optimum(stop):
    problem, solver = problem_of(ElasticNet(l1=0.2)), LabelSets(passes=4, steps=5, **EXACT)
    begun = minimize(problem, solver, stop=Stop(max_iterations=stop)).state
    old = copy.copy(begun)
    for name in ("made", "is_slow"):
        del old.__dict__[name]
    resumed = minimize(problem, solver, state=pickle.loads(pickle.dumps(old)), stop=Stop(max_iterations=500))
    least = minimize(problem, OWLQN(**EXACT), stop=Stop(max_iterations=3000)).objective
    # The least decrease that either solver can see is some 1e-12 of the objective.
    assert resumed.objective == pytest.approx(least, rel=1e-10)


def test_the_guard_weakens_where_it_holds_back_and_grows_where_the_pruned_objective_goes_astray():
    problem, solver = problem_of(ElasticNet(l1=0.1), n=200), LabelSets(bound=0.05, **EXACT)
    guards = []
    found = minimize(
        problem, solver, callbacks=[lambda _, state: guards.append(state.guard)], stop=Stop(max_iterations=60)
    )
    assert min(guards) < 1.0
    state = replace(found.state, guard=0.25)
    shares = {1.01: 0.125, 1.0: 0.25, 0.5: 0.25, 0.49: 1.0, 0.0: 1.0}
    assert {share: solver._guard(state, share) for share in shares} == shares
    assert solver._shrunk(state).guard == 1.0
    assert solver._guard(replace(state, guard=8.0), 0.0) == 16.0


def test_a_round_at_whose_end_the_objective_ascends_ends_on_the_way():
    problem, solver = problem_of(ElasticNet(l1=0.1, l2=0.1), n=100), LabelSets(first=None, **EXACT)
    start = solver.init(problem, np.zeros(problem.n_features))
    steepest = np.sign(start.gradient) * np.maximum(np.abs(start.gradient) - 0.1, 0.0)
    far, near = (solver._evaluated(problem, -step * steepest, 1e-3) for step in (0.1, 1e-4))
    assert near.objective < start.objective < far.objective
    state, moved = solver._nearer(problem, start, far, 1e-3)
    assert state.evaluations == start.evaluations + 1
    assert moved.objective < start.objective
    np.testing.assert_allclose(moved.w, far.w * (moved.w @ far.w) / (far.w @ far.w), atol=1e-12)
    # On the way to where it descends it is not smaller.
    state, moved = solver._nearer(problem, start, near, 1e-3)
    assert moved is near
    assert state.evaluations == start.evaluations


def test_a_round_that_ends_on_the_way_has_as_many_steps_after_it_and_more_labels_if_the_guard_was_strong():
    problem, solver = problem_of(ElasticNet(l1=0.1), n=100), LabelSets(first=None, **EXACT)
    before = replace(solver.init(problem, np.zeros(problem.n_features)), steps=12, scale=0.5)
    moved = replace(before, steps=6, scale=1.0, guard=4.0, status=Status.CONVERGED)
    for guard, scale, lowered in ((1.0, 0.5, 0), (4.0, 0.125, 1)):
        after = solver._redrawn(problem, replace(before, guard=guard), moved)
        assert (after.steps, after.scale, after.rejected, after.made) == (12, scale, lowered, None)
        assert after.guard == 4.0
        assert after.status is Status.RUNNING


def test_rounds_end_on_the_way_where_bounds_are_coarse(monkeypatch):
    problem, ends = problem_of(ElasticNet(l1=0.1), n=200), []
    original = LabelSets._redrawn

    def redrawn(self, problem, before, state):
        ends.append((before.objective, state.objective))
        return original(self, problem, before, state)

    monkeypatch.setattr(LabelSets, "_redrawn", redrawn)
    minimize(problem, LabelSets(bound=0.3, first=None, **EXACT), stop=Stop(max_iterations=60))
    assert ends
    assert all(after < before for before, after in ends)


class Forgetful(LabelSets):
    """Rounds whose line searches know nothing of the round before."""

    def _started(self, *args):
        start = super()._started(*args)
        return replace(start, recent=start.recent[-1:])


def test_the_line_search_looks_back_across_rounds():
    problem = problem_of(ElasticNet(l1=0.1), n=300)
    spent = [
        minimize(problem, kind(steps=8, **EXACT), stop=Stop(max_iterations=25)).state for kind in (LabelSets, Forgetful)
    ]
    evaluations = [state.pruned_evaluations for state in spent]
    assert evaluations[0] < evaluations[1]
    assert len(spent[0].recent) == 5


def test_the_first_stage_is_undone_if_it_ends_above_the_start():
    problem = problem_of(ElasticNet(l1=0.5))
    wild = LabelSets(first=SGDL1(passes=1, learning_rate=50.0), **EXACT)
    found = minimize(problem, wild, stop=Stop(max_iterations=500))
    assert found.trace[1].objective == pytest.approx(found.trace[0].objective)
    assert found.objective == pytest.approx(minimize(problem, OWLQN(**EXACT)).objective, rel=1e-9)


def test_weights_to_start_at_are_kept_and_nearer_means_fewer_rounds():
    problem = problem_of(ElasticNet(l1=0.5), n=200)
    cold = minimize(problem, LabelSets(**EXACT))
    warm = minimize(problem, LabelSets(**EXACT), cold.w)
    assert warm.iterations < cold.iterations / 2
    assert warm.objective == pytest.approx(cold.objective, rel=1e-11)


@pytest.mark.parametrize("stop", [0, 1, 3, 4, 7])
def test_a_resumed_run_is_bitwise_an_uninterrupted_one(stop):
    problem = problem_of(ElasticNet(l1=0.2), n=100)
    solver = LabelSets(**EXACT)
    whole = minimize(problem, solver, stop=Stop(max_iterations=9))
    begun = minimize(problem, solver, stop=Stop(max_iterations=stop))
    state = pickle.loads(pickle.dumps(begun.state))
    assert state.likely is None
    resumed = minimize(problem, solver, state=copy.deepcopy(state), stop=Stop(max_iterations=9))
    assert resumed.w.tobytes() == whole.w.tobytes()
    assert resumed.gradient_evaluations == whole.gradient_evaluations
    assert resumed.passes == whole.passes


@pytest.mark.parametrize("order", [1, 2])
def test_it_is_the_same_on_any_number_of_threads(order):
    runs = {
        minimize(problem_of(ElasticNet(l1=0.3), order=order, threads=threads), LabelSets()).w.tobytes()
        for threads in (1, 2, 3)
    }
    assert len(runs) == 1


def test_a_chain_of_second_order_without_three_tokens_in_a_row_is_trained():
    X, y = [[["a"], ["b"]], [["b"], ["a"]], [["a"]]] * 5, [["A", "B"], ["B", "B"], ["A"]] * 5
    problem = Problem(ChainObjective(Corpus.encode(X, y), ChainFeatures(order=2)), ElasticNet(l1=0.1))
    assert problem.objective.feature_counts.triples == 0
    found, least = (minimize(problem, solver(**EXACT)).objective for solver in (LabelSets, OWLQN))
    assert found == pytest.approx(least, rel=1e-9)


def test_the_problem_of_the_first_stage_is_made_once(monkeypatch):
    problem, made = problem_of(ElasticNet(l1=0.5), order=2), []
    restrict = ChainObjective.restrict
    monkeypatch.setattr(ChainObjective, "restrict", lambda self, f: made.append(1) or restrict(self, f))
    minimize(problem, LabelSets(passes=4))
    assert len(made) == 1


def test_options_reach_owlqn_and_are_checked():
    solver = make_solver("label_sets", memory=5, steps=7, bound=0.01)
    assert (solver.inner.memory, solver.steps, solver.bound) == (5, 7, 0.01)
    for options, named in (({"bound": 0.0}, "bound"), ({"steps": 0}, "steps"), ({"tolerance": -1.0}, "tolerance")):
        with pytest.raises(OptionError, match=named):
            make_solver("label_sets", **options)


def test_a_problem_without_sequences_is_refused():
    from loglinear import MaxEnt

    with pytest.raises(OptionError, match=r"label_sets needs .*likely"):
        MaxEnt(l1=0.1, solver="label_sets").fit([[0.0], [1.0]], ["a", "b"])


def uncertain(n=40, labels=40, successors=3, seed=0):
    """Sentences whose tokens say little about their label, while few labels follow each."""
    rng = random.Random(seed)
    follow = {a: rng.sample(range(labels), successors) for a in range(labels)}
    X, y, a = [], [], 0
    for _ in range(n):
        X.append([])
        y.append([])
        for _ in range(12):
            a = rng.choice(follow[a])
            X[-1].append([f"w{a if rng.random() < 0.3 else rng.randrange(labels)}"])
            y[-1].append(f"L{a}")
    return ChainObjective(Corpus.encode(X, y), threads=1)


@pytest.mark.parametrize("penalty", [ElasticNet(l1=1.0), ElasticNet(l1=0.1, l2=0.2), ElasticNet(l2=1.0)])
def test_where_many_labels_are_likely_and_few_follow_each_the_steps_are_on_the_whole_objective(monkeypatch, penalty):
    problem = Problem(uncertain(), penalty)
    least = minimize(problem, OWLQN(tolerance=1e-9)).objective
    for cost, is_pruned in ((math.inf, True), (0.75, False)):
        monkeypatch.setattr(label_sets, "MOST_COST", cost)
        found = minimize(problem, LabelSets())
        assert found.status is Status.CONVERGED
        assert (found.state.pruned_evaluations > 0) is is_pruned
        assert found.objective == pytest.approx(least, rel=1e-3)


def test_the_cost_is_that_of_likely_labels_and_falls_with_their_number():
    objective = uncertain()

    def fits(scale, bound, cost):
        w = np.zeros(objective.n_features)
        w[objective.feature_counts[0] :] = scale
        value, gradient, likely = objective.likely_labels(w, bound)
        pruned = objective.pruned(likely, w, value, gradient, bound=bound, links=3.0 * bound, cost=cost)
        return pruned is not None

    assert not fits(0.0, 1e-3, 3.0)  # all labels, and all links between them
    assert fits(0.0, 1e-3, math.inf)
    assert fits(0.0, 0.3, 0.1)  # none but the gold labels
    assert fits(12.0, 1e-3, 3.0)


def test_steps_on_the_whole_objective_resume_bitwise(monkeypatch):
    monkeypatch.setattr(label_sets, "MOST_COST", 0.0)
    problem = Problem(uncertain(), ElasticNet(l1=0.5))
    solver = LabelSets(steps=4)
    whole = minimize(problem, solver, stop=Stop(max_iterations=12))
    half = minimize(problem, solver, stop=Stop(max_iterations=8))
    rest = minimize(problem, solver, state=pickle.loads(pickle.dumps(half.state)), stop=Stop(max_iterations=12))
    assert rest.w.tobytes() == whole.w.tobytes()
    assert rest.gradient_evaluations == whole.gradient_evaluations
    objectives = [record.objective for record in whole.trace]
    assert all(b < a for a, b in itertools.pairwise(objectives[5:]))


def test_a_round_that_the_guard_holds_back_does_not_converge_but_leads_to_steps_on_the_whole_objective():
    problem = problem_of(ElasticNet(l1=0.3))
    # Every round is one in which F decreases by little, and every optimum of S is found.
    solver = LabelSets(first=None, tolerance=1e3, steps=500, gradient_tolerance=1e-3)
    start = solver.init(problem, np.zeros(problem.n_features))
    usual, held = (solver.step(problem, replace(start, guard=guard)) for guard in (1.0, 4.0))
    assert (usual.status, usual.scale) == (Status.CONVERGED, 1.0)
    assert (held.status, held.scale) == (Status.RUNNING, 0.0)
    following = solver.step(problem, held)
    assert following.evaluations > held.evaluations
    assert following.pruned_evaluations == held.pruned_evaluations
    assert following.objective < held.objective


def test_a_round_cut_short_does_not_converge_however_little_it_gains():
    problem = problem_of(ElasticNet(l1=0.3))
    solver = LabelSets(first=None, tolerance=1e3, steps=500, gradient_tolerance=1e-3)
    start = solver.init(problem, np.zeros(problem.n_features))
    short, whole = (solver.step(problem, replace(start, steps=steps)) for steps in (3, 500))
    assert (short.status, whole.status) == (Status.RUNNING, Status.CONVERGED)
