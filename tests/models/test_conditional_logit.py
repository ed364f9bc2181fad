"""Conditional logit against statsmodels, and the laws of its estimator."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_validate

from loglinear import (
    ChoiceObjective,
    ConditionalLogit,
    ConvergenceWarning,
    DataError,
    DataWarning,
    MaxEnt,
    ModelFileError,
    NotFittedError,
    OptionError,
)


def data(sizes, chosen, seed=0, columns=3):
    """Alternatives in shuffled groups whose choices follow a conditional logit."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(groups), columns))
    utility = X @ np.linspace(-1.0, 1.0, columns) + rng.gumbel(size=len(groups))
    y = np.zeros(len(groups), dtype=int)
    for group, m in enumerate(sizes):
        rows = np.flatnonzero(groups == group)
        y[rows[np.argsort(-utility[rows])[: chosen(m)]]] = 1
    order = rng.permutation(len(groups))
    return X[order], y[order], groups[order]


PAIRS = [2] * 40
SETS = [2, 3, 4, 5] * 12


@pytest.mark.parametrize(
    ("sizes", "chosen"), [(PAIRS, lambda m: 1), (SETS, lambda m: 1), (SETS, lambda m: max(1, m // 2))]
)
def test_weights_standard_errors_and_likelihood_are_those_of_statsmodels(sizes, chosen):
    from statsmodels.discrete.conditional_models import ConditionalLogit as Peer

    X, y, groups = data(sizes, chosen)
    expected = Peer(y, X, groups=groups).fit(disp=0, method="newton")
    model = ConditionalLogit(l2=0).fit(X, y, groups)
    inference = model.inference(X, y, groups)
    assert_allclose(model.coef_, expected.params, atol=1e-6)
    assert_allclose(inference.weights, expected.params, atol=1e-6)
    assert_allclose(inference.standard_errors, expected.bse, atol=1e-6)
    assert_allclose(inference.log_likelihood, expected.llf, atol=1e-6)
    assert_allclose(inference.p, expected.pvalues, atol=1e-6)


def test_inference_brings_the_weights_of_a_loose_training_to_the_optimum():
    X, y, groups = data(SETS, lambda m: 1)
    tight = ConditionalLogit(l2=0).fit(X, y, groups)
    loose = ConditionalLogit(l2=0, solver="lbfgs", tolerance=0.1).fit(X, y, groups)
    assert np.abs(loose.coef_ - tight.coef_).max() > 1e-4
    assert_allclose(loose.inference(X, y, groups).weights, tight.coef_, atol=1e-8)
    assert str(tight.result_.chosen) == "prox_newton (choices and few columns)"
    assert str(ConditionalLogit(l1=1).fit(X, y, groups).result_.chosen) == "prox_newton (choices with an L1 penalty)"


@pytest.mark.parametrize("covariance", ["hessian", "robust"])
def test_one_of_two_has_the_inference_of_a_logistic_regression_of_differences(covariance):
    X, y, groups = data(PAIRS, lambda m: 1)
    order = np.lexsort((-y, groups))
    differences, signs = X[order[::2]] - X[order[1::2]], np.tile([1.0, -1.0], 20)
    labels = (signs > 0).astype(int)
    expected = MaxEnt(l2=0, fit_intercept=False).fit(signs[:, None] * differences, labels)
    mine = ConditionalLogit(l2=0).fit(X, y, groups).inference(X, y, groups, covariance=covariance)
    other = expected.inference(signs[:, None] * differences, labels, covariance=covariance)
    assert_allclose(mine.weights, other.weights, rtol=1e-6)
    assert_allclose(mine.standard_errors, other.standard_errors, rtol=1e-6)
    assert_allclose(mine.null_log_likelihood, other.null_log_likelihood, rtol=1e-9)


def test_clusters_of_one_choice_each_are_robust_up_to_their_factor():
    X, y, groups = data(SETS, lambda m: 1)
    model, n = ConditionalLogit(l2=0).fit(X, y, groups), len(SETS)
    plain = model.inference(X, y, groups, covariance="robust")
    alone = model.inference(X, y, groups, covariance="robust", clusters=groups.astype(str))
    assert_allclose(alone.covariance, plain.covariance * n / (n - 1.0), rtol=1e-9)
    assert (plain.method, alone.method, alone.groups) == ("robust", "clustered", n)
    doubled = np.vstack([X, X]), np.tile(y, 2), np.concatenate([groups, groups + n])
    twice = ConditionalLogit(l2=0).fit(*doubled).inference(*doubled, covariance="robust", clusters=np.tile(groups, 2))
    assert_allclose(twice.covariance, alone.covariance, rtol=1e-5)


def test_a_ranking_has_the_likelihood_of_its_choices():
    X, _, groups = data([4] * 20, lambda m: 1)
    rng = np.random.default_rng(2)
    ranks = np.empty(len(groups))
    for group in range(20):
        ranks[groups == group] = rng.permutation(4) + 1
    ranked = ConditionalLogit(l2=0.3).fit(X, ranks, groups)
    stages = [(X[(ranks >= k)], (ranks[ranks >= k] == k).astype(int), groups[ranks >= k] + 100 * k) for k in (1, 2, 3)]
    series = ConditionalLogit(l2=0.3).fit(*(np.concatenate(parts) for parts in zip(*stages, strict=True)))
    assert_allclose(ranked.coef_, series.coef_, atol=1e-6)
    robust = ranked.inference(X, ranks, groups, covariance="robust")
    assert np.isfinite(robust.standard_errors).all()
    assert ranked.score(X, ranks, groups) == ranked.score(X, (ranks == 1).astype(int), groups)


def test_weights_of_groups_are_counts():
    X, y, groups = data(SETS, lambda m: 1)
    counts = np.random.default_rng(3).integers(0, 3, len(SETS))
    parts = [np.flatnonzero(groups == group) for group, n in enumerate(counts) for _ in range(n)]
    rows = np.concatenate(parts)
    repeated = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    weighted = ConditionalLogit().fit(X, y, groups, counts[groups])
    assert_allclose(weighted.coef_, ConditionalLogit().fit(X[rows], y[rows], repeated).coef_, atol=1e-6)
    inference = ConditionalLogit(l2=0).fit(X, y, groups, counts[groups]).inference(X, y, groups, counts[groups])
    assert inference.n_samples == counts.sum()
    halves = 0.5 * np.ones(len(y))
    model = ConditionalLogit(l2=0).fit(X, y, groups, halves)
    with pytest.warns(DataWarning, match="not whole numbers, and the Hessian takes them for counts"):
        plain = model.inference(X, y, groups, halves)
    robust = model.inference(X, y, groups, halves, covariance="robust")
    full = ConditionalLogit(l2=0).fit(X, y, groups).inference(X, y, groups, covariance="robust")
    assert_allclose(robust.covariance, full.covariance, rtol=1e-6)
    assert_allclose(plain.weights, full.weights, atol=1e-6)


FORMS = {
    "array": np.asarray,
    "by columns": np.asfortranarray,
    "single": lambda X: X.astype(np.float32).astype(np.float64),
    "sparse": scipy.sparse.csr_matrix,
    "table": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "lists": lambda X: X.tolist(),
    "attributes": lambda X: [dict(zip("abc", row, strict=True)) for row in X.tolist()],
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_alternatives_give_the_same_model(form, tmp_path):
    X, y, groups = data(SETS, lambda m: 1)
    X = X.round(2)
    expected = ConditionalLogit(l1=0.5, l2=0.1).fit(X, y, groups)
    model = ConditionalLogit(l1=0.5, l2=0.1).fit(FORMS[form](X), y, groups)
    assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    assert_allclose(model.predict_proba(FORMS[form](X), groups), expected.predict_proba(X, groups), atol=1e-6)
    model.save(tmp_path / "m")
    loaded = ConditionalLogit.load(tmp_path / "m")
    assert_allclose(
        loaded.predict_proba(FORMS[form](X), groups), model.predict_proba(FORMS[form](X), groups), rtol=1e-12
    )
    assert (loaded.l1, loaded.l2, loaded.n_iter_) == (0.5, 0.1, model.n_iter_)
    with pytest.raises(NotFittedError, match="loaded from a file"):
        _ = loaded.result_
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.coef_, model.coef_)


def test_with_several_chosen_the_best_alternative_has_to_be_one_of_them():
    X, y, groups = data(SETS, lambda m: max(1, m // 2))
    model = ConditionalLogit().fit(X, y, groups)
    assert model.score(X, y, groups) == y[model.predict(X, groups) == 1].mean()


def test_probabilities_of_a_group_add_up_to_1_and_its_best_alternative_is_predicted():
    X, y, groups = data(SETS, lambda m: 1)
    model = ConditionalLogit().fit(X, y, groups)
    p, marks = model.predict_proba(X, groups), model.predict(X, groups)
    assert_allclose(np.bincount(groups, p), 1.0)
    right = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        scores = np.exp(X[rows] @ model.coef_)
        assert_allclose(p[rows], scores / scores.sum())
        assert marks[rows].tolist() == (p[rows] == p[rows].max()).astype(int).tolist()
        right.append(y[rows[p[rows].argmax()]])
    assert model.score(X, y, groups) == np.mean(right)
    weights = np.random.default_rng(0).uniform(1, 2, len(SETS))
    assert_allclose(model.score(X, y, groups, weights[groups]), np.average(right, weights=weights))
    assert_allclose(model.decision_function(1e3 * X), 1e3 * X @ model.coef_)
    assert np.isfinite(model.predict_proba(1e5 * X, groups)).all()


def test_of_equal_scores_the_first_alternative_is_predicted():
    X, y, groups = data(SETS, lambda m: 1)
    model = ConditionalLogit().fit(X, y, groups)
    assert model.predict(np.ones((4, 3)), ["b", "a", "b", "a"]).tolist() == [1, 1, 0, 0]


def test_columns_that_are_constant_in_each_group_are_named():
    X, y, groups = data(SETS, lambda m: 1)
    table = pd.DataFrame(X, columns=["cost", "time", "comfort"]).assign(income=np.sqrt(2.0) * groups)
    with pytest.warns(DataWarning, match=r"^column 'income' has the same value for all alternatives of each group"):
        model = ConditionalLogit().fit(table, y, groups)
    assert model.coef_[3] == 0.0
    with pytest.warns(DataWarning, match="income"):
        plain = ConditionalLogit(l2=0).fit(table, y, groups)
    assert plain.coef_[3] == 0.0
    with pytest.raises(DataError, match=r"^column 'income' has the same value .* not determined; leave it out"):
        plain.inference(table, y, groups)
    sparse = scipy.sparse.csr_array(np.column_stack([X[:, 0], np.ones(len(X)), np.full(len(X), 7.0)]))
    with pytest.warns(DataWarning, match="^column 1, column 2 have the same value"):
        ConditionalLogit().fit(sparse, y, groups)
    with pytest.raises(DataError, match=r"^column 0, column 1 have the same value .* so there is nothing to learn"):
        ConditionalLogit().fit(sparse[:, 1:], y, groups)


def test_choices_that_a_column_separates_are_named():
    X, y, groups = data(SETS, lambda m: 1)
    table = pd.DataFrame(X, columns=["cost", "time", "comfort"])
    table["seen"] = y
    with pytest.warns(DataWarning, match=r"most all of|most of all that of column 'seen', grow without limit"):
        model = ConditionalLogit(l2=0).fit(table, y, groups)
    with pytest.raises(DataError, match=r"^column 'seen' separates the choices without error"):
        model.inference(table, y, groups)
    # In the first half of the groups alone, and 0 in others.
    table["seen"] = np.where(groups < 24, y, 0)
    with pytest.warns(DataWarning, match=r"separate a part .* most of all by column 'seen'; give a penalty"):
        model = ConditionalLogit(l2=0).fit(table, y, groups)
    with pytest.raises(DataError, match=r"^column 'seen' separates a part of the choices"):
        model.inference(table, y, groups)


def test_columns_that_are_collinear_within_groups_are_named():
    X, y, groups = data(SETS, lambda m: 1)
    X = np.column_stack([X, X[:, 0] - X[:, 1] + groups])
    model = ConditionalLogit(l2=0).fit(X, y, groups)
    with pytest.raises(DataError, match=r"^column 0, column 1 and column 3 are collinear"):
        model.inference(X, y, groups)
    assert np.isfinite(ConditionalLogit(l2=0.1).fit(X, y, groups).inference(X, y, groups).standard_errors).all()


def test_inference_after_an_l1_penalty_is_of_the_weights_that_are_left():
    X, y, groups = data(SETS, lambda m: 1, columns=6)
    model = ConditionalLogit(l1=6.0).fit(X, y, groups)
    left = np.flatnonzero(model.coef_)
    assert 0 < left.size < 6
    with pytest.warns(DataWarning, match="L1 penalty has chosen"):
        inference = model.inference(X, y, groups)
    assert list(inference.names) == [f"column {column}" for column in left]
    hessian = ChoiceObjective(X[:, left], y, groups).hessian(model.coef_[left])
    assert_allclose(inference.covariance, np.linalg.inv(hessian), rtol=1e-8)


def test_the_table_of_an_inference_counts_choices():
    X, y, groups = data(SETS, lambda m: 1)
    inference = ConditionalLogit(l2=0).fit(X, y, groups).inference(X, y, groups)
    text = str(inference)
    assert "choices: 48" in text
    assert f"equal probabilities: {-np.log(SETS).sum():.3f}" in text
    assert list(inference.to_frame().columns)[:2] == ["name", "weight"]
    assert inference.likelihood_ratio().df == 3
    assert "choices" in inference._repr_html_()


def others(groups):
    """The first row of each group as the chosen one."""
    y = np.zeros(len(groups))
    y[np.unique(groups, return_index=True)[1]] = 1
    return y


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"covariance": "bootstrap"}, OptionError, "covariance"),
        ({"level": 1.0}, OptionError, "level"),
        ({"clusters": np.arange(3)}, OptionError, "clusters are for covariance='robust'"),
        ({"covariance": "robust", "clusters": np.arange(3)}, DataError, r"clusters have shape \(3,\)"),
        ({"covariance": "robust", "clusters": "rows"}, DataError, "clusters differ between rows"),
        ({"covariance": "robust", "clusters": "one"}, DataError, "all choices are in one cluster"),
        ({"groups": "fewer"}, DataError, "the model was trained on 48; give the training data"),
        ({"y": "others"}, DataError, "standard errors from its optimum"),
    ],
)
def test_inference_refuses_what_it_cannot_do(change, error, said):
    X, y, groups = data(SETS, lambda m: 1)
    model = ConditionalLogit(l2=0).fit(X, y, groups)
    values = {
        "rows": np.arange(len(y)),
        "one": np.zeros(len(y)),
        "fewer": groups % 47,
        "others": others(groups),
    }
    change = {name: values.get(value, value) if isinstance(value, str) else value for name, value in change.items()}
    arguments = {"y": y, "groups": groups} | change
    with pytest.raises(error, match=said):
        model.inference(X, **arguments)


def test_bad_matrices_and_options_are_refused():
    X, y, groups = data(SETS, lambda m: 1)
    bad = X.copy()
    bad[5, 1] = np.nan
    with pytest.raises(DataError, match="row 5"):
        ConditionalLogit().fit(bad, y, groups)
    with pytest.raises(DataError, match="y has shape"):
        ConditionalLogit().fit(X, y[:-1], groups)
    with pytest.raises(OptionError, match="l1"):
        ConditionalLogit(l1=-1).fit(X, y, groups)
    with pytest.raises(OptionError, match="iis"):
        ConditionalLogit(solver="iis").fit(X, y, groups)
    with pytest.raises(NotFittedError):
        ConditionalLogit().predict(X, groups)
    model = ConditionalLogit().fit(X, y, groups)
    with pytest.raises(DataError, match="features"):
        model.predict(X[:, :2], groups)
    with pytest.raises(DataError, match="groups have shape"):
        model.predict(X, groups[:-1])
    with pytest.raises(DataError, match="the model was trained on a matrix"):
        model.predict([{"a": 1.0}], [0])


def test_a_file_that_is_not_of_choices_is_refused(tmp_path):
    X, y, groups = data(SETS, lambda m: 1)
    ConditionalLogit().fit(X, y, groups).save(tmp_path / "m")
    MaxEnt().fit(X, y).save(tmp_path / "maxent")
    with pytest.raises(ModelFileError, match=r"a classifier, not a model of choices; open it with loglinear\.MaxEnt"):
        ConditionalLogit.load(tmp_path / "maxent")
    with pytest.raises(ModelFileError, match=r"a model of choices, not a classifier; open it with loglinear\.Cond"):
        MaxEnt.load(tmp_path / "m")


def test_scikit_learn_clones_it_and_passes_groups_on():
    from sklearn import config_context

    X, y, groups = data(SETS, lambda m: 1)
    with config_context(enable_metadata_routing=True):
        model = ConditionalLogit(l2=0.5).set_fit_request(groups=True).set_score_request(groups=True)
        assert clone(model).get_params() == model.get_params()
        scores = cross_validate(model, X, y, params={"groups": groups}, cv=GroupKFold(4))["test_score"]
    assert scores.shape == (4,)
    assert scores.mean() > 0.4


def test_callbacks_can_stop_the_training_and_its_weights_are_the_same_on_any_number_of_threads():
    X, y, groups = data(SETS, lambda m: 1)
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        stopped = ConditionalLogit(solver="lbfgs").fit(
            X, y, groups, callbacks=[lambda record, _: record.iteration == 1]
        )
    assert stopped.result_.status.name == "STOPPED_BY_CALLBACK"
    weights = [ConditionalLogit(n_jobs=n, l1=0.1).fit(X, y, groups).coef_ for n in (1, 2, 3)]
    assert_array_equal(weights[0], weights[1])
    assert_array_equal(weights[0], weights[2])


def test_ctrl_c_leaves_the_weights_reached():
    X, y, groups = data(SETS, lambda m: 1)

    def interrupt(record, _):
        if record.iteration == 2:
            raise KeyboardInterrupt

    model = ConditionalLogit(solver="lbfgs")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, groups, callbacks=[interrupt])
    assert (model.result_.status.name, model.n_iter_) == ("INTERRUPTED", 2)
    assert model.coef_.any()


def test_defaults():
    parameters = inspect.signature(ConditionalLogit.__init__).parameters
    defaults = {name: each.default for name, each in parameters.items() if name != "self"}
    assert defaults == {
        "l1": 0.0, "l2": None, "solver": None, "tolerance": None, "solver_options": None, "random_state": 0,
        "max_iterations": 1000, "gap": None, "n_jobs": None, "verbose": False,
    }  # fmt: skip
    assert "conditional logit" in ConditionalLogit().fit(*data(SETS, lambda m: 1))._repr_html_()
