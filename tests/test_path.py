"""Regularisation paths against cold fits and the optimality conditions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from loglinear import ClassifierObjective, ElasticNet, Problem
from loglinear.errors import OptionError
from loglinear.minimize import Stop, minimize
from loglinear.path import Path, PathPoint, falling, largest_l1, onward, path, warn_if_best_is_last
from loglinear.solvers import OWLQN, GraftingLight

TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-7}


def problem(n_classes=2, l2=0.0, seed=0, intercept=True):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((80, 20), density=0.4, rng=rng, format="csr")
    y = (X @ rng.normal(size=(20, n_classes)) * 3.0 + rng.gumbel(size=(80, n_classes))).argmax(axis=1)
    objective = ClassifierObjective(X, y, n_classes=n_classes, intercept=intercept)
    return Problem(objective, ElasticNet(0.0, l2, objective.n_unpenalised))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_nothing_is_selected_at_the_largest_useful_l1_and_something_below_it(n_classes, intercept):
    given = problem(n_classes, intercept=intercept)
    most = largest_l1(given)
    at, below = path(given, [1.0001 * most, 0.97 * most], solver=GraftingLight(**TIGHT)).points
    penalised = given.n_features - given.penalty.unpenalised
    assert not at.result.w[:penalised].any()
    assert below.result.w[:penalised].any()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_all_penalised_weights_are_exactly_0_at_the_first_point(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 5))
    objective = ClassifierObjective(kind(X), X[:, 0] + rng.logistic(size=200) > 0.5, n_classes=2)
    first, second = path(Problem(objective, ElasticNet(unpenalised=1)), 2, ratio=0.5).points
    assert not first.result.w[:-1].any()
    assert first.result.w[-1] != 0.0
    assert (first.n_active, second.n_active > 0) == (0, True)


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_every_point_is_the_optimum_of_a_cold_fit(l2):
    given = problem(l2=l2)
    found = path(given, 6, ratio=0.02, solver=GraftingLight(**TIGHT))
    strengths = [point.l1 for point in found.points]
    np.testing.assert_allclose(strengths, largest_l1(given) * np.geomspace(1.0, 0.02, 6))
    for point in found.points:
        cold = minimize(
            Problem(given.objective, ElasticNet(point.l1, l2, given.penalty.unpenalised)),
            OWLQN(**TIGHT),
            stop=Stop(max_iterations=3000),
        )
        assert point.result.objective == pytest.approx(cold.objective, rel=1e-8)
        assert point.n_active == np.count_nonzero(point.result.w[: given.n_features - given.penalty.unpenalised])
    assert found.points[0].n_active < found.points[-1].n_active


def test_a_path_costs_less_than_cold_fits_of_its_points():
    given = problem(seed=1)
    found = path(given, 20, solver=OWLQN())
    cold = [
        minimize(Problem(given.objective, ElasticNet(point.l1, 0.0, given.penalty.unpenalised)), OWLQN())
        for point in found.points
    ]
    warm = sum(point.result.gradient_evaluations for point in found.points)
    assert warm < 0.7 * sum(result.gradient_evaluations for result in cold)


def test_the_best_point_is_that_of_the_highest_score():
    given = problem()
    found = path(given, 5, score=lambda w: -abs(np.count_nonzero(w) - 8))
    assert found.best is max(found.points, key=lambda point: point.score)
    with pytest.raises(OptionError, match="score"):
        _ = path(given, [1.0]).best


def test_a_path_goes_on_until_the_score_has_turned():
    given = problem()
    found = path(given, 3, ratio=0.5, score=lambda w: -abs(np.count_nonzero(w) - 12))
    strengths = np.array([point.l1 for point in found.points])
    np.testing.assert_allclose(strengths, largest_l1(given) * 0.5 ** (np.arange(strengths.size) / 2))
    assert len(strengths) > 3 + 4
    assert not found.best_is_last
    behind = [point for point in found.points if point.l1 <= found.best.l1 / 4.0 and point.score < found.best.score]
    assert behind == [found.points[-1]]
    assert len(path(given, 3, ratio=0.5, score=lambda w: 0.0, further=False).points) == 3


@pytest.mark.parametrize(
    ("points", "following"),
    [
        # l1, NLL and score of each point.
        ([(8.0, 9.0, 0.5)], None),
        ([(8.0, 9.0, 0.5), (4.0, 8.0, 0.6), (3.0, 7.0, 0.7)], 2.25),
        ([(8.0, 9.0, 0.7), (2.1, 8.0, 0.6)], 0.55125),
        ([(8.0, 9.0, 0.7), (2.0, 8.0, 0.6)], None),
        ([(8.0, 9.0, 0.7), (2.0, 8.0, 0.7)], 0.5),
        ([(8.0, 10.0, 0.5), (4.0, 5.0, 0.6), (2.0, 4.9998, 0.7)], 1.0),
        ([(8.0, 10.0, 0.5), (4.0, 5.0, 0.6), (2.0, 4.99991, 0.7)], None),
        ([(8.0, 10.0, 0.5), (4.0, 0.0011, 0.6)], 2.0),
        ([(8.0, 10.0, 0.5), (4.0, 0.0009, 0.6)], None),
        ([(8.0, 10.0, 0.5), (4.0, np.nan, 0.6)], None),
        # The objective is 0 from the beginning, such as of a single class.
        ([(8.0, 0.0, 0.0), (0.0007, 0.0, 0.0)], None),
        # Nothing has entered yet.
        ([(8.0, 10.0, 0.5), (4.0, 10.0, 0.5)], 2.0),
        ([(8.0, 10.0, 0.5), (0.0007, 10.0, 0.5)], None),
    ],
)
def test_a_smaller_strength_follows_unless_the_score_has_turned_or_the_objective_is_at_its_limit(points, following):
    done = [PathPoint(l1, SimpleNamespace(nll=nll), 1, score) for l1, nll, score in points]
    assert next(onward([], done, further=True), None) == pytest.approx(following)
    assert next(onward([], done, further=False), None) is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_path_whose_score_never_turns_ends_where_the_objective_does_and_warns(n_classes):
    given, calls = problem(n_classes), []
    with pytest.warns(UserWarning, match="best point of the path is the last one"):
        found = path(given, 3, ratio=0.5, score=lambda w: calls.append(0) or len(calls))
    assert found.best_is_last
    optimum = minimize(Problem(given.objective, given.penalty.with_l1(0.0)), OWLQN(**TIGHT)).nll
    first, last = found.points[0].result.nll, found.points[-1].result.nll
    assert last <= max(1e-3 * first, 1.01 * optimum)


def test_a_path_of_given_strengths_ends_there_and_warns_if_the_best_is_the_last():
    with pytest.warns(UserWarning, match="smaller l1 may be better") as caught:
        found = path(problem(), [4.0, 2.0, 1.0], score=np.count_nonzero)
    assert [point.l1 for point in found.points] == [4.0, 2.0, 1.0]
    assert caught[0].filename == __file__
    assert not path(problem(), [4.0], score=np.count_nonzero).best_is_last
    warn_if_best_is_last(Path(found.points, interrupted=True))


# By day after a few of the evaluations, at night after each.
EVALUATIONS = [pytest.param(k, marks=() if k % 7 == 1 else pytest.mark.slow) for k in range(1, 60)]


@pytest.mark.parametrize("last", EVALUATIONS)
def test_ctrl_c_leaves_the_points_that_are_done(last):
    class Interrupted:
        """An objective whose last evaluation is interrupted."""

        def __init__(self):
            self.inner, self.calls = problem(intercept=False).objective, 0
            self.n_features, self.n_samples = self.inner.n_features, self.inner.n_samples

        def value_and_gradient(self, w, out=None):
            self.calls += 1
            if self.calls == last:
                raise KeyboardInterrupt
            return self.inner.value_and_gradient(w, out)

    found = path(Problem(Interrupted()), [8.0, 4.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05], solver=OWLQN(**TIGHT))
    assert found.interrupted
    assert len(found.points) < 8
    assert all(point.result.status.converged for point in found.points[:-1])


def test_ctrl_c_while_a_point_is_scored_leaves_the_point():
    def score(w):
        if np.count_nonzero(w) > 5:
            raise KeyboardInterrupt
        return 1.0

    found = path(problem(intercept=False), 8, score=score)
    assert found.interrupted
    assert [point.score for point in found.points] == [1.0] * (len(found.points) - 1) + [None]
    assert found.points[-1].n_active > 5
    assert found.best in found.points[:-1]


def test_callbacks_see_every_point_from_its_start_and_may_end_it():
    seen = []

    def look(record, state):
        seen.append(record.iteration)
        return record.iteration == 2

    found = path(problem(), 4, callbacks=[look])
    assert seen.count(0) == len(found.points) == 4
    assert max(seen) == 2
    assert not found.interrupted


@pytest.mark.parametrize(
    ("l1", "options", "message"),
    [
        ([1.0, 0.0], {}, "finite numbers > 0"),
        ([], {}, "one or more"),
        (1, {}, "l1=1"),
        (True, {}, "l1=True"),
        ("much", {}, "neither a number"),
        (5, {"ratio": 1.0}, "ratio"),
    ],
)
def test_bad_options(l1, options, message):
    with pytest.raises(OptionError, match=message):
        path(problem(), l1, **options)


def test_a_number_of_strengths_may_be_numpys_and_needs_something_to_select():
    assert len(path(problem(), np.int64(2)).points) == 2
    nothing = ClassifierObjective(np.zeros((4, 1)), [0, 1, 0, 1], n_classes=2)
    with pytest.raises(OptionError, match="nothing to select; give the strengths of l1"):
        path(Problem(nothing, ElasticNet(0.0, 0.0, nothing.n_unpenalised)))


def test_strengths_fall_in_equal_ratios_from_the_largest_to_the_last():
    for strengths in (falling(8.0, 4, 0.125), falling(8.0, 4, last=1.0)):
        np.testing.assert_allclose(strengths, [8.0, 4.0, 2.0, 1.0])
    assert falling(49.0, 3, last=1.0)[-1] == 1.0 != 49.0 * (1.0 / 49.0)
    for wrong in ({"number": 1}, {"number": 2.5}, {"number": 3, "ratio": 1.0}, {"number": 3, "ratio": 0.0}):
        with pytest.raises(OptionError):
            falling(1.0, **wrong)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_default_penalty_of_a_problem_leaves_the_intercept_unpenalised(n_classes):
    objective = problem(n_classes).objective
    assert Problem(objective).penalty == ElasticNet(unpenalised=objective.n_unpenalised)
    assert Problem(objective, ElasticNet()).penalty.unpenalised == 0
    given = path(Problem(objective, ElasticNet(unpenalised=objective.n_unpenalised)), 3)
    for one, other in zip(path(Problem(objective), 3).points, given.points, strict=True):
        np.testing.assert_array_equal(one.result.w, other.result.w)


def test_the_default_penalty_of_an_objective_without_an_intercept_leaves_no_weight_alone():
    assert Problem(problem(intercept=False).objective).penalty == ElasticNet()


def test_a_path_prints_its_ends_and_its_best_point():
    assert repr(path(problem(), [8.0, 2.0])) == "Path(2 points, l1 8 (0 active) to 2 (8 active))"
    scored = path(problem(), [8.0], score=lambda w: -1.5)
    assert repr(scored) == "Path(1 point, l1 8 (0 active), best 8 with score -1.5)"
    assert repr(Path((), interrupted=True)) == "Path(no points)"
