"""The law of centred weights: adding a number to a column over the classes of a softmax gains no penalty any more."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax

from loglinear import LBFGS, MaxEnt, minimize, path
from loglinear.certificate import verdict
from loglinear.gap import duality_gap
from loglinear.objectives.classifier import ClassifierObjective
from loglinear.penalty import ElasticNet, GroupLasso
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.vectors import best_constants

NAMES = np.array(["a", "b", "c"])


def table(scale=1.0):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4)) * scale
    return X, NAMES[(X / scale @ rng.normal(size=(4, 3)) + rng.gumbel(size=(80, 3))).argmax(axis=1)]


def dicts():
    X, y = table()
    return [{f"column {j}": value for j, value in enumerate(row)} for row in X.tolist()], y


def moved(model, by=1.0):
    """An older model whose weights do not add up to 0, with the same probabilities."""
    model.coef_ = model.coef_ + by
    model.intercept_ = model.intercept_ + 3 * by
    return model


def fit(data, *, start=None, **options):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MaxEnt(**options).fit(X, y, start=start)


def rows_of(coef):
    return np.vstack([np.abs(coef.sum(axis=0)), np.abs(coef).max(axis=0)])


DATA = {"even": table(), "uneven": table(np.array([1e-4, 1.0, 1e4, 3.0])), "dicts": dicts()}
PENALTIES = {"none": {"l2": 0.0}, "l2": {"l2": 1.0}, "l1": {"l1": 0.5}, "elastic net": {"l1": 0.5, "l2": 0.5}}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_weights_and_intercepts_add_up_to_0_over_the_classes(data, penalty, intercept):
    options = {**PENALTIES[penalty], "fit_intercept": intercept, "max_iterations": 20}
    for start in (None, moved(fit(data, **options))):
        model = fit(data, start=start, **options)
        if "l1" not in PENALTIES[penalty]:
            sums, largest = rows_of(model.coef_)
            assert (sums <= 1e-8 * largest).all()
        assert abs(model.intercept_.sum()) <= 1e-8 * np.abs(model.intercept_).max()


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_points_of_a_path_are_centred(l2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    data = ClassifierObjective(X, (X @ rng.normal(size=(6, 4)) + rng.gumbel(size=(80, 4))).argmax(axis=1), n_classes=4)
    problem = Problem(data, ElasticNet(l2=l2, unpenalised=4), 4)
    for point in path(problem, 4, ratio=0.01).points:
        at = replace(problem, penalty=problem.penalty.with_l1(point.l1))
        w = point.result.w
        assert at.centred(w) is w
        assert point.result.objective == pytest.approx(point.result.nll + at.penalty.value(w), rel=1e-12)
        assert point.n_active == np.count_nonzero(w[:-4])


@pytest.mark.parametrize("penalty", ["l1", "elastic net"])
def test_with_l1_the_weights_of_columns_need_not_add_up_to_0(penalty):
    model = fit(table(), start=moved(fit(table())), solver="owlqn", max_iterations=1, **PENALTIES[penalty])
    assert np.abs(model.coef_.sum(axis=0)).max() > 0.5


def test_the_bound_of_the_distance_falls_by_as_much_as_the_objective():
    X, y = table()
    data = ClassifierObjective(X, np.searchsorted(NAMES, y), n_classes=3)
    problem = Problem(data, ElasticNet(l2=1.0, unpenalised=3), 3)
    optimum = minimize(problem, LBFGS(tolerance=1e-12))
    w = optimum.w + np.repeat([0.1, 0.2, -0.1, 0.3, 0.5], 3)
    nll, gradient = data.value_and_gradient(w)
    state = replace(optimum.state, w=w, nll=nll, objective=nll + problem.penalty.value(w), gradient=gradient)
    gap = duality_gap(problem, w, nll, gradient)
    assert gap > 0.2
    for known in (gap, None):
        final = verdict(problem, state, Status.GAP_REACHED, known)
        assert final.objective == pytest.approx(optimum.objective, rel=1e-9)
        assert final.gap == pytest.approx(duality_gap(problem, final.w, nll, gradient), abs=1e-9)
    state = replace(state, iteration=0)
    assert verdict(problem, state, Status.MAX_ITERATIONS).w is w


def test_a_training_without_iterations_keeps_the_weights_it_starts_from():
    start = moved(fit(table()))
    model = fit(table(), start=start, max_iterations=0)
    np.testing.assert_allclose(model.coef_, start.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, start.intercept_, rtol=1e-12)


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
def test_where_one_weight_stands_for_two_classes_there_is_nothing_to_centre(multi_class):
    X, y = table()
    for model in (fit((X, y), multi_class="ovr"), fit((X, y == "a"), multi_class=multi_class)):
        assert abs(model.intercept_.sum()) > 0.1


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("iterations", [0, 3, 500])
def test_the_result_is_that_of_the_centred_weights(penalty, iterations, tmp_path):
    X, y = table()
    options = {**PENALTIES[penalty], "max_iterations": iterations}
    start = moved(fit((X, y), **PENALTIES[penalty]))
    model = fit((X, y), start=start, **options)
    targets, result = np.searchsorted(NAMES, y), model.result_
    scores = X @ model.coef_.T + model.intercept_
    nll = -log_softmax(scores, axis=1)[np.arange(80), targets].sum()
    l1, l2 = options.get("l1", 0.0), options.get("l2", 0.0)
    objective = nll + l1 * np.abs(model.coef_).sum() + l2 / 2.0 * (model.coef_**2).sum()
    assert (result.objective, result.nll) == (pytest.approx(objective, rel=1e-12), pytest.approx(nll, rel=1e-12))
    data = ClassifierObjective(X, targets, n_classes=3, intercept="scaled")
    coef, intercept = data.coefficients(result.w)
    assert (coef == model.coef_).all()
    assert (intercept == model.intercept_).all()
    problem = Problem(data, ElasticNet(l1, l2, 3))
    gradient = data.value_and_gradient(result.w)[1]
    assert result.violation == pytest.approx(problem.violation(result.w, gradient), rel=1e-9, abs=1e-11)
    if result.gap is not None:
        assert result.gap == pytest.approx(duality_gap(problem, result.w, nll, gradient), rel=1e-6, abs=1e-9 * nll)
    record = result.record
    assert (record.objective, record.violation, record.gap) == (result.objective, result.violation, result.gap)
    assert record.nnz == np.count_nonzero(result.w)
    model.save(tmp_path / "model")
    loaded = MaxEnt.load(tmp_path / "model")
    assert (loaded.coef_ == model.coef_).all()
    assert (loaded.intercept_ == model.intercept_).all()


@pytest.mark.parametrize("keep", ["last", "best"])
@pytest.mark.parametrize("solver", ["lbfgs", "sag", "owlqn"])
def test_centred_weights_differ_from_the_trained_ones_by_a_number_for_each_column(solver, keep):
    X, y = table()
    trained, options = [], {"solver": solver, "keep": keep, "max_iterations": 12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told, weights = [], lambda _, state: trained.append(state.w.copy())
        observers = [weights, lambda record, _: told.append(replace(record))]
        model = MaxEnt(**options).fit(X, y, X_dev=X, y_dev=y, callbacks=observers)
    result = model.result_
    shifts = (result.w - trained[result.record.iteration]).reshape(-1, 3)
    np.testing.assert_allclose(shifts, shifts[:, :1].repeat(3, axis=1), atol=1e-12)
    data = ClassifierObjective(X, np.searchsorted(NAMES, y), n_classes=3, intercept="scaled")
    assert keep == "best" or told == list(result.trace)  # what callbacks write to a file is the end
    gradient, problem = data.value_and_gradient(result.w)[1], Problem(data, ElasticNet(0.0, 1.0, 3))
    assert result.violation == pytest.approx(problem.violation(result.w, gradient), rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("l2", [0.0, 1e-3, 0.4, 5.0])
@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_no_other_constant_makes_the_penalty_of_a_row_smaller(k, l2):
    rows = np.random.default_rng(k).integers(-4, 5, size=(200, k)) / 2.0

    def penalty(c):
        return 0.7 * np.abs(rows - c).sum(axis=1) + l2 / 2.0 * ((rows - c) ** 2).sum(axis=1)

    for ends in best_constants(rows, 0.7, l2):
        least = penalty(ends[:, None])
        for c in np.linspace(-5.0, 5.0, 201):
            assert (penalty(c) >= least - 1e-12).all()


def centred(rows, l1, l2, penalty=ElasticNet):
    rows = np.asarray(rows, dtype=float)
    k = rows.shape[1]
    data = ClassifierObjective(np.eye(k, len(rows) - 1), np.arange(k), n_classes=k)
    extra = {} if penalty is ElasticNet else {"groups": np.arange(rows.size - k) // k}
    return Problem(data, penalty(l1=l1, l2=l2, unpenalised=k, **extra), k).centred(rows.ravel()).reshape(rows.shape)


def test_with_l1_alone_centred_weights_do_not_depend_on_what_was_added_to_a_column():
    rows = np.random.default_rng(0).normal(size=(50, 4))
    expected = centred(rows, 1.0, 0.0)
    assert (np.sort(expected[:-1])[:, 1:3] == 0.0).any(axis=1).all()
    for by in (-0.3, 1.7):
        np.testing.assert_allclose(centred(rows + by, 1.0, 0.0), expected, atol=1e-12)
    assert centred(expected, 1.0, 0.0).tobytes() == expected.tobytes()


def test_no_weight_of_0_is_lost():
    rows = [
        [2.0, 0.0, -1.0, 3.0],
        [5.0, 5.0, 5.0, 0.0],
        [3.0, 3.0, 0.0, -1.0],
        [6.0, 3.0, 2.0, 1.0],
        [1.0, 2.0, 3.0, 6.0],
    ]
    expected = [[2.0, 0.0, -1.0, 3.0], [0.0, 0.0, 0.0, -5.0], [0.0, 0.0, -3.0, -4.0]]
    whole, intercept = [3.0, 0.0, -1.0, -2.0], [-2.0, -1.0, 0.0, 3.0]
    assert centred(rows, 1.0, 0.0).tolist() == [*expected, whole, intercept]
    assert centred(rows, 0.01, 1.0).tolist() == [*rows[:3], whole, intercept]
    assert centred(rows, 1.0, 0.0, GroupLasso).tolist() == [*rows[:4], intercept]


@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.parametrize("solver", ["owlqn", "prox_newton"])
def test_with_l1_no_constant_makes_the_penalty_of_a_trained_column_smaller(solver, l2):
    coef = fit(table(), start=moved(fit(table()), 0.2), solver=solver, max_iterations=2, l1=0.05, l2=l2).coef_
    for column in coef.T[(coef != 0.0).all(axis=0)]:
        assert abs(best_constants(column[None], 0.05, l2)[0][0]) <= 1e-12
    assert l2 or (np.median(coef, axis=0) == 0.0).all()
