"""Native paths of classifiers against the same steps one by one, and the laws of their points."""

from __future__ import annotations

import sys
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

from loglinear import ClassifierObjective, ElasticNet, Problem
from loglinear.minimize import Stop, minimize
from loglinear.path import largest_l1, path
from loglinear.penalty import GroupLasso
from loglinear.result import Status
from loglinear.solvers import LBFGS, OWLQN, Auto, GraftingLight, ProxNewton
from loglinear.solvers.newton_path import intercept_alone, newton_path, path_solver

KINDS = ["dense", "by columns", "sparse", "odd", "rare"]
TIGHT = ProxNewton(tolerance=1e-13, gradient_tolerance=0.0, precision=0.01)


def table(kind):
    rng = np.random.default_rng(5)
    if kind == "rare":  # most derivatives are certainly small
        X = scipy.sparse.random_array((400, 1500), density=0.01, rng=rng, format="csr")
        X = scipy.sparse.hstack([X, scipy.sparse.random_array((400, 10), density=0.4, rng=rng)], format="csr")
        X.data *= np.where(X.indices < 1000, 0.05, 1.0)
    else:
        X = rng.normal(size=(200, 12)) * np.geomspace(0.2, 5.0, 12)
    if kind == "sparse":
        X = scipy.sparse.csr_array(np.where(rng.random(X.shape) < 0.15, X, 0.0))
    if kind == "odd":  # constant columns, columns twice, and one of zeros
        X = np.hstack([X, np.ones((200, 1)), X[:, :3], np.zeros((200, 1))])
    if kind == "by columns":
        X = np.asfortranarray(X)
    score = np.asarray(X[:, -12:] @ rng.normal(size=12)).ravel()
    y = (score / score.std() + rng.logistic(size=X.shape[0]) > 0.3).astype(int)
    return X, y, rng.integers(0, 4, size=X.shape[0]) * 0.5


def problem(kind, n_classes=2, *, intercept=True, weighted=False, l2=0.0, threads=1):
    X, y, weights = table(kind)
    if n_classes > 2:
        y = y + (np.random.default_rng(7).random(y.size) < 0.3)
    weights = weights if weighted else None
    scaled = "scaled" if intercept else False
    objective = ClassifierObjective(X, y, weights, n_classes=n_classes, intercept=scaled, threads=threads)
    return Problem(objective, ElasticNet(0.0, l2, objective.n_unpenalised), objective.n_outputs)


def at(given, l1):
    return Problem(given.objective, given.penalty.with_l1(l1))


every_kind = pytest.mark.parametrize("kind", KINDS)
every_number_of_classes = pytest.mark.parametrize("n_classes", [2, 3])
every_problem = pytest.mark.parametrize(
    ("intercept", "weighted", "l2"), [(True, False, 0.0), (False, True, 0.0), (True, True, 0.7), (False, False, 0.3)]
)


def points_with_checks(given, number):
    """Yield the points of a path, the best points, NLL and violation there; they are optima within bounds."""
    strengths = largest_l1(given) * np.geomspace(1.0, 0.02, number)
    usual, tight = (path(given, strengths, solver=solver).points for solver in (None, TIGHT))
    for point, best in zip(usual, tight, strict=True):
        result, penalised = point.result, at(given, point.l1)
        assert result.status is Status.CONVERGED
        nll, gradient = given.objective.value_and_gradient(result.w)
        assert result.objective == pytest.approx(nll + penalised.penalty.value(result.w), rel=1e-12)
        violation = penalised.violation(result.w, gradient)
        assert violation <= 0.02 * point.l1
        distance = result.objective - best.result.objective
        assert -1e-12 <= distance / result.objective <= 1e-7
        assert result.gap is not None
        assert distance - 1e-12 * result.objective <= result.gap <= 0.03 * result.objective
        yield point, best, nll, violation


@every_kind
@every_number_of_classes
@every_problem
def test_every_point_meets_the_optimality_conditions_and_its_gap_bounds_the_distance(
    kind, n_classes, intercept, weighted, l2
):
    given = problem(kind, n_classes, intercept=intercept, weighted=weighted, l2=l2)
    for point, best, nll, violation in points_with_checks(given, 10):
        result = point.result
        assert result.nll == pytest.approx(nll, rel=1e-12)
        # No column was lost: the violation that the native half reports is that of all columns.
        assert result.violation == pytest.approx(violation, rel=1e-6, abs=1e-9 * point.l1)
        assert best.result.gap <= 1e-4 * result.objective
        if n_classes > 2 and intercept:
            assert abs(result.w[-n_classes:].sum()) <= 1e-9


@every_kind
@every_number_of_classes
@pytest.mark.parametrize("intercept", [True, False])
def test_points_are_those_of_the_same_steps_one_by_one(kind, n_classes, intercept):
    given, steps = problem(kind, n_classes, intercept=intercept, l2=0.1), []
    solver = ProxNewton(tolerance=1e-12, gradient_tolerance=0.0)
    strengths = largest_l1(given) * np.geomspace(0.9, 0.05, 5)
    native = path(given, strengths, solver=solver).points
    single = path(given, strengths, solver=solver, callbacks=[lambda record, _: steps.append(record)]).points
    assert len(steps) > len(single)
    for one, other in zip(native, single, strict=True):
        assert len(one.result.trace) == 1
        assert one.result.objective == pytest.approx(other.result.objective, rel=1e-10)
        shares = [given.objective.probabilities(point.result.w) for point in (one, other)]
        np.testing.assert_allclose(*shares, atol=1e-5)


@every_kind
@every_number_of_classes
def test_points_are_bitwise_the_same_on_any_number_of_threads(kind, n_classes):
    paths = [path(problem(kind, n_classes, threads=threads), 8) for threads in (1, 2, 3)]
    for points in zip(*(whole.points for whole in paths), strict=True):
        first, *others = (point.result for point in points)
        for other in others:
            assert first.w.tobytes() == other.w.tobytes()
            assert (first.objective, first.gap) == (other.objective, other.gap)


@every_kind
@every_number_of_classes
@pytest.mark.parametrize("weighted", [True, False])
def test_the_largest_l1_is_that_of_the_intercept_alone(kind, n_classes, weighted):
    given = problem(kind, n_classes, weighted=weighted)
    last = np.arange(given.n_features - given.objective.n_unpenalised, given.n_features)
    free = given.objective.restrict(last)
    w = np.zeros(given.n_features)
    w[last] = minimize(Problem(free), LBFGS(tolerance=0.0), stop=Stop(max_iterations=100)).w
    gradient = given.objective.value_and_gradient(w)[1]
    assert largest_l1(given) == pytest.approx(np.abs(gradient[: last[0]]).max(), rel=1e-5)
    first = path(given, [largest_l1(given) * (1.0 + 1e-6)]).points[0].result
    assert (first.status, first.w[: last[0]].any()) == (Status.CONVERGED, False)


@every_number_of_classes
def test_classifiers_take_newton_steps_unless_the_penalty_has_groups(n_classes):
    assert isinstance(path_solver(problem("rare", n_classes)), ProxNewton)
    grouped = Problem(problem("dense", n_classes).objective, GroupLasso(1.0))
    assert isinstance(path_solver(grouped), GraftingLight)


def test_three_classes_with_many_weights_that_are_not_0_take_other_steps(monkeypatch):
    monkeypatch.setattr(sys.modules["loglinear.path"], "MOST_ACTIVE", 12)
    given = problem("dense", 3)
    strengths = largest_l1(given) * np.geomspace(0.9, 0.01, 8)
    points = path(given, strengths).points
    for before, point in pairwise(points):
        assert (len(point.result.trace) == 1) == (np.count_nonzero(before.result.w) < 12)
    assert points[0].n_active < 12 <= points[-2].n_active
    native = path(given, strengths, solver=ProxNewton(tolerance=1e-8)).points
    for one, other in zip(points, native, strict=True):
        assert len(other.result.trace) == 1
        assert one.result.objective == pytest.approx(other.result.objective, rel=1e-3)


def test_points_of_three_classes_are_those_of_another_solver():
    given = problem("dense", 3, l2=0.1)
    strengths = largest_l1(given) * np.geomspace(0.9, 0.05, 5)
    native, others = (path(given, strengths, solver=solver).points for solver in (None, OWLQN(tolerance=1e-12)))
    for one, other in zip(native, others, strict=True):
        assert one.result.objective == pytest.approx(other.result.objective, rel=1e-8)


def test_a_walk_starts_at_the_given_weights():
    given = problem("dense")
    end = path(given, [3.0]).points[0].result
    again = path(given, [3.0], w0=end.w).points[0].result
    assert again.iterations <= 1 < end.iterations
    assert again.objective <= end.objective


def test_the_limit_of_the_steps_ends_a_point_and_other_limits_are_those_of_single_steps():
    given = problem("dense")
    short = path(given, [2.0, 1.0], stop=Stop(max_iterations=1)).points
    assert [(point.result.status, point.result.iterations) for point in short] == [(Status.MAX_ITERATIONS, 1)] * 2
    none = path(given, [2.0], stop=Stop(max_iterations=0)).points[0].result
    assert none.status is Status.MAX_ITERATIONS
    np.testing.assert_array_equal(none.w, intercept_alone(given))
    assert len(path(given, [2.0], stop=Stop(max_seconds=60.0)).points[0].result.trace) > 1


def test_a_lower_tolerance_makes_more_steps():
    given = problem("dense")
    loose, tight = (
        sum(point.result.iterations for point in path(given, 10, solver=ProxNewton(tolerance=tolerance)).points)
        for tolerance in (1e-3, 1e-12)
    )
    assert loose < tight


@every_number_of_classes
def test_other_solvers_and_penalties_keep_their_own_ways(n_classes):
    given = problem("dense", n_classes)
    start = partial(np.zeros, given.n_features)
    assert newton_path(given, None, Stop(), start)
    assert newton_path(given, Auto(), Stop(), start)
    assert not newton_path(given, OWLQN(), Stop(), start)
    spared = Problem(given.objective, ElasticNet(unpenalised=2))
    assert not newton_path(spared, None, Stop(), start)


def test_ctrl_c_leaves_the_points_that_are_done_and_the_weights_of_the_current_one(monkeypatch):
    class Interrupted:
        """A path that Ctrl-C ends at its third point."""

        def __init__(self, walk):
            self.walk, self.left, self.calls = walk, walk.left, 0

        def minimise(self, l1, **rules):
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt
            return self.walk.minimise(l1, **rules)

    given, start = problem("rare"), ClassifierObjective.newton_path
    whole = path(given, [4.0, 2.0, 1.0, 0.5])
    monkeypatch.setattr(
        ClassifierObjective, "newton_path", lambda self, w, **options: Interrupted(start(self, w, **options))
    )
    found = path(given, [4.0, 2.0, 1.0, 0.5])
    assert found.interrupted
    assert [point.l1 for point in found.points] == [4.0, 2.0, 1.0]
    assert [point.result.status.name for point in found.points] == ["CONVERGED", "CONVERGED", "INTERRUPTED"]
    last, before = found.points[2].result, whole.points[1].result
    np.testing.assert_array_equal(last.w, before.w)
    nll, gradient = given.objective.value_and_gradient(last.w)
    assert last.nll == pytest.approx(nll)
    assert last.violation == pytest.approx(at(given, 1.0).violation(last.w, gradient))


def test_a_path_without_an_optimum_ends():
    X, y, _ = table("dense")
    objective = ClassifierObjective(X, y, (y == 0).astype(float), n_classes=2)  # the intercept falls forever
    (point,) = path(Problem(objective, ElasticNet(unpenalised=1)), [1e-9]).points
    assert point.result.nll < 1e-9
