"""Laws of the inference for classifiers: statsmodels, finite differences, enumeration and simulation as oracles."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from loglinear import ClassifierObjective, DataError, DataWarning, MaxEnt, NotFittedError, OptionError, TextClassifier

N = 240


def samples(n_classes, seed=0, n=N, p=3):
    """Samples with a column far from 0, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    scores = X @ rng.normal(size=(p, n_classes)) * 0.7 + rng.gumbel(size=(n, n_classes))
    return X * 2.0 + [1990.0, 0.0, 0.0][:p], np.array(["a", "b", "c"])[scores.argmax(axis=1)]


def by_statsmodels(X, y, **options):
    """The fit of statsmodels, whose reference is the first class."""
    from statsmodels.discrete import discrete_model as models  # takes seconds

    classes, targets = np.unique(y, return_inverse=True)
    model = (models.Logit if classes.size == 2 else models.MNLogit)(targets, np.column_stack([np.ones(len(X)), X]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tolerance of rounding errors is never reached
        return model.fit(method="newton", maxiter=50, tol=1e-12, disp=0, **options)


def flat(table):
    """A table of statsmodels, class by class."""
    return np.asarray(table).T.ravel()


GROUPS = np.arange(N) % 30
SANDWICHES = {
    "hessian": ({}, {}),
    "robust": ({"covariance": "robust"}, {"cov_type": "HC0"}),
    "clustered": (
        {"covariance": "robust", "groups": GROUPS},
        {"cov_type": "cluster", "cov_kwds": {"groups": GROUPS}},
    ),
}


@pytest.mark.parametrize("method", SANDWICHES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_numbers_are_those_of_statsmodels(n_classes, method):
    X, y = samples(n_classes)
    ours, theirs = SANDWICHES[method]
    result = by_statsmodels(X, y, **theirs)
    inference = MaxEnt(l2=0).fit(X, y).inference(X, y, **ours)
    assert inference.method == method
    np.testing.assert_allclose(inference.weights, flat(result.params), rtol=1e-6)
    np.testing.assert_allclose(inference.standard_errors, flat(result.bse), rtol=1e-6)
    np.testing.assert_allclose(inference.z, flat(result.tvalues), rtol=1e-6)
    np.testing.assert_allclose(inference.p, flat(result.pvalues), rtol=1e-6, atol=1e-12)
    ends = np.asarray(result.conf_int()).reshape(-1, 2)
    np.testing.assert_allclose(np.column_stack([inference.lower, inference.upper]), ends, rtol=1e-6)
    np.testing.assert_allclose(inference.covariance, np.asarray(result.cov_params()), rtol=1e-5, atol=1e-9)
    test = inference.likelihood_ratio()
    numbers = {
        inference.log_likelihood: result.llf,
        inference.null_log_likelihood: result.llnull,
        inference.pseudo_r2: result.prsquared,
        inference.aic: result.aic,
        inference.bic: result.bic,
        test.statistic: result.llr,
        test.p: result.llr_pvalue,
    }
    np.testing.assert_allclose([*numbers], [*numbers.values()], rtol=1e-6)
    assert test.df == result.df_model


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"l2": 3.0}, {"l2": 3.0, "fit_intercept": False}])
def test_the_covariance_inverts_the_hessian_of_the_penalised_likelihood(n_classes, options):
    X, y = samples(n_classes, n=60)
    X = X - X.mean(axis=0)
    options = {"l2": 0.0} | options
    model = MaxEnt(tolerance=1e-13, **options).fit(X, y)
    inference = model.inference(X, y)
    has_intercept = model.fit_intercept
    targets = np.searchsorted(model.classes_, y)
    objective = ClassifierObjective(X, targets, n_classes=n_classes, intercept=has_intercept)
    w = objective.weights_of(model.coef_, model.intercept_)
    n_outputs = objective.n_outputs
    # Differences of gradients, with the penalty, and without directions along which all classes gain the same.
    steps = 1e-5 * np.eye(w.size)
    hessian = np.array(
        [
            (objective.value_and_gradient(w + step)[1] - objective.value_and_gradient(w - step)[1]) / 2e-5
            for step in steps
        ]
    )
    penalised = np.arange(w.size) < w.size - objective.n_unpenalised
    inverse = np.linalg.pinv(hessian + options["l2"] * np.diag(penalised), rcond=1e-9)
    # Columns of contrasts in the order of the table.
    p = X.shape[1]
    order = ([p] if has_intercept else []) + [*range(p)]
    contrasts = []
    for k in range(1, n_classes):
        for column in order:
            row = np.zeros(w.size)
            row[column * n_outputs + (k if n_outputs > 1 else 0)] = 1.0
            if n_outputs > 1:
                row[column * n_outputs] = -1.0
            contrasts.append(row)
    expected = np.array(contrasts) @ inverse @ np.array(contrasts).T
    np.testing.assert_allclose(inference.covariance, expected, rtol=1e-5, atol=1e-8)
    effective = np.trace(hessian @ inverse)
    assert inference.n_parameters == pytest.approx(effective, rel=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_and_dense_data_give_the_same(n_classes):
    X, y = samples(n_classes)
    X = np.where(np.abs(X - X.mean(axis=0)) < 1.0, 0.0, X - X.mean(axis=0))
    dense = MaxEnt(l2=0).fit(X, y)
    sparse = MaxEnt(l2=0).fit(scipy.sparse.csr_array(X), y)
    for options in ({}, {"covariance": "robust"}, {"covariance": "robust", "groups": GROUPS}):
        first, second = dense.inference(X, y, **options), sparse.inference(scipy.sparse.csr_array(X), y, **options)
        np.testing.assert_allclose(first.weights, second.weights, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(first.covariance, second.covariance, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("l1", [0.0, 8.0])
def test_contrasts_with_another_reference_are_differences(l1):
    X, y = samples(3)
    X = X - X.mean(axis=0)
    model = MaxEnt(l1=l1, l2=0.0, tolerance=1e-12).fit(X, y)
    tables = {}
    with pytest.warns(DataWarning) if l1 else pytest.MonkeyPatch.context():
        for reference in "abc":
            inference = model.inference(X, y, reference=reference)
            keys = zip(inference.classes, inference.names, strict=True)
            variances = np.diag(inference.covariance)
            tables[reference] = {key: (w, v) for key, w, v in zip(keys, inference.weights, variances, strict=True)}
    for first, second in combinations("abc", 2):
        for (label, name), (weight, variance) in tables[first].items():
            if label == second:
                other, of_other = tables[second][first, name]
                assert other == pytest.approx(-weight, abs=1e-6)
                assert of_other == pytest.approx(variance, rel=1e-4)
    c_to_a, b_to_a = tables["a"]["c", "(intercept)"][0], tables["a"]["b", "(intercept)"][0]
    assert tables["b"]["c", "(intercept)"][0] == pytest.approx(c_to_a - b_to_a, abs=1e-6)


def test_an_l1_penalty_leaves_the_support_as_if_it_had_been_chosen_before():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 6))
    y = (2.0 * X[:, 0] - X[:, 1] + rng.logistic(size=N) > 0).astype(int)
    model = MaxEnt(l1=12.0, tolerance=1e-12).fit(X, y)
    support = np.flatnonzero(model.coef_[0])
    assert 0 < support.size < 6
    with pytest.warns(DataWarning, match="chosen the weights from the same data"):
        inference = model.inference(X, y)
    assert inference.names == ["(intercept)", *(f"column {j}" for j in support)]
    design = np.column_stack([np.ones(N), X[:, support]])
    p = model.predict_proba(X)[:, 1]
    hessian = design.T @ (design * (p * (1.0 - p))[:, None])
    np.testing.assert_allclose(inference.covariance, np.linalg.inv(hessian), rtol=1e-6)
    assert "too narrow" in str(inference)


def test_counts_are_weights():
    X, y = samples(3, n=80)
    counts = np.arange(80) % 3
    repeated = np.repeat(np.arange(80), counts)
    first = MaxEnt(l2=0).fit(X, y, sample_weight=counts).inference(X, y, counts)
    second = MaxEnt(l2=0).fit(X[repeated], y[repeated]).inference(X[repeated], y[repeated])
    np.testing.assert_allclose(first.covariance, second.covariance, rtol=1e-6)
    assert (first.n_samples, first.bic) == (second.n_samples, pytest.approx(second.bic))
    balanced = MaxEnt(l2=0, class_weight="balanced").fit(X, y)
    with pytest.warns(DataWarning, match="not whole numbers"):
        balanced.inference(X, y)
    # Weights of a sandwich may have any unit.
    robust = [MaxEnt(l2=0).fit(X, y, w * counts).inference(X, y, w * counts, covariance="robust") for w in (1.0, 0.5)]
    np.testing.assert_allclose(robust[0].covariance, robust[1].covariance, rtol=1e-6)


def test_groups_of_one_sample_are_the_robust_covariance_with_a_correction():
    X, y = samples(2)
    model = MaxEnt(l2=0).fit(X, y)
    robust, alone = (model.inference(X, y, covariance="robust", groups=groups) for groups in (None, np.arange(N)))
    np.testing.assert_allclose(alone.covariance, robust.covariance * N / (N - 4), rtol=1e-9)


def test_numbers_do_not_depend_on_threads():
    X, y = samples(3, n=5000)
    for options in ({"covariance": "robust"}, {"covariance": "bootstrap", "draws": 3}):
        first, second = (MaxEnt(l2=0, n_jobs=n).fit(X, y).inference(X, y, **options) for n in (1, 3))
        assert np.array_equal(first.covariance, second.covariance)
        assert np.array_equal(first.weights, second.weights)
        assert options["covariance"] == "robust" or np.array_equal(first.draws, second.draws)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_draw_has_the_weights_of_its_samples(n_classes):
    X, y = samples(n_classes)
    inference = MaxEnt(l2=0.5).fit(X, y).inference(X, y, covariance="bootstrap", draws=3, random_state=7)
    for number, weights in enumerate(inference.draws):
        rows = np.sort(np.random.default_rng([7, number]).integers(N, size=N))
        model = MaxEnt(l2=0.5, tolerance=1e-13).fit(X[rows], y[rows])
        table = np.hstack([model.intercept_[:, None], model.coef_])
        expected = (table if n_classes == 2 else table[1:] - table[0]).ravel()
        np.testing.assert_allclose(weights, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(inference.standard_errors, inference.draws.std(axis=0, ddof=1))
    np.testing.assert_allclose(inference.lower, np.quantile(inference.draws, 0.025, axis=0))


def test_groups_are_drawn_whole():
    X, y = samples(2)
    # Both samples of a pair are the same, so that half of the samples are all there is to know.
    pairs = np.arange(N) // 2
    model = MaxEnt(l2=0).fit(X[pairs], y[pairs])
    single, paired = (
        model.inference(X[pairs], y[pairs], covariance="bootstrap", draws=50, groups=groups).standard_errors
        for groups in (None, pairs)
    )
    assert np.median(paired / single) == pytest.approx(np.sqrt(2.0), rel=0.15)


def test_nested_models_are_compared_by_the_likelihood_ratio():
    X, y = samples(3)
    large, small = (MaxEnt(l2=0).fit(part, y).inference(part, y) for part in (X, X[:, :1]))
    statistic, df, p = large.likelihood_ratio(small)
    assert statistic == pytest.approx(2.0 * (large.log_likelihood - small.log_likelihood))
    assert df == 4
    assert p == pytest.approx(np.exp(-statistic / 2.0) * (1.0 + statistic / 2.0))  # chi-squared with 4 degrees
    assert large.likelihood_ratio(large) == (0.0, 0, 1.0)
    with pytest.raises(OptionError, match="not nested"):
        small.likelihood_ratio(large)
    with pytest.raises(DataError, match="different samples"):
        large.likelihood_ratio(MaxEnt(l2=0).fit(X[1:], y[1:]).inference(X[1:], y[1:]))
    renamed = np.array(["z" if label == y[0] else label for label in y])
    rotated = np.roll(np.unique(y), 1)[np.unique(y, return_inverse=True)[1]]
    for labels, told in ((renamed, "the smaller model has the classes"), (rotated, "different samples")):
        with pytest.raises(DataError, match=told):
            large.likelihood_ratio(MaxEnt(l2=0).fit(X[:, :1], labels).inference(X[:, :1], labels))
    tables = [pd.DataFrame(X[:, columns], columns=names) for columns, names in (([1, 2], ["b", "c"]), ([0], ["a"]))]
    first, other = (MaxEnt(l2=0).fit(table, y).inference(table, y) for table in tables)
    with pytest.raises(DataError, match="the smaller model has a, which this one lacks"):
        first.likelihood_ratio(other)
    with pytest.raises(OptionError, match="without a penalty"):
        MaxEnt(l2=1.0).fit(X, y).inference(X, y).likelihood_ratio()
    with pytest.raises(OptionError, match="not an Inference"):
        large.likelihood_ratio(3)


def coverage(n_simulations, seed=0):
    """How often intervals of 95 % have the weights that the data were drawn with, by method."""
    rng = np.random.default_rng(seed)
    w = np.array([0.3, 0.8, -0.5])
    hits = {"hessian": 0, "robust": 0}
    for _ in range(n_simulations):
        X = rng.normal(size=(300, 2))
        y = (w[0] + X @ w[1:] + rng.logistic(size=300) > 0).astype(int)
        model = MaxEnt(l2=0, n_jobs=1).fit(X, y)
        for method in hits:
            inference = model.inference(X, y, covariance=method)
            hits[method] += ((inference.lower <= w) & (w <= inference.upper)).sum()
    return {method: n / (w.size * n_simulations) for method, n in hits.items()}


def test_intervals_have_the_true_weights_about_as_often_as_they_say():
    for share in coverage(25).values():
        assert 0.87 <= share < 1.0


@pytest.mark.slow
def test_intervals_have_the_true_weights_as_often_as_they_say():
    for share in coverage(1000, seed=1).values():
        assert 0.93 <= share <= 0.97


BAD = {
    "collinear": (
        lambda X, y: (np.column_stack([X, X[:, 1] - X[:, 2]]), y),
        "column 1, column 2 and column 3 are coll",
    ),
    "constant": (lambda X, y: (np.column_stack([X, np.full(N, 7.0)]), y), "column 3 has the same value in every"),
    "complete": (lambda X, y: (X, np.where(X[:, 1] > 0, "b", "a")), "column 1 separates all classes.* 'b' is inf"),
    "in part": (
        lambda X, y: (np.column_stack([X, (y == "a") & (np.arange(N) % 3 == 0)]), y),
        "column 3 separates a part of the data.* class 'a' is infinite",
    ),
}


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", BAD)
@pytest.mark.filterwarnings("ignore")
def test_weights_that_are_not_determined_are_errors_that_name_columns(name, n_classes, is_sparse):
    make, words = BAD[name]
    X, y = samples(n_classes)
    X, y = make(X - X.mean(axis=0), y)
    if is_sparse and name == "constant":
        words = "column 3 and the intercept are collinear"
    X = scipy.sparse.csr_array(X) if is_sparse else X
    with pytest.raises(DataError, match=words):
        MaxEnt(l2=0).fit(X, y).inference(X, y)
    penalised = MaxEnt(l2=1.0).fit(X, y).inference(X, y)
    assert np.isfinite(penalised.standard_errors).all()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"covariance": "hc1"}, OptionError, "hessian, robust, bootstrap"),
        ({"groups": GROUPS}, OptionError, "groups are for"),
        ({"covariance": "robust", "groups": [1] * N}, DataError, "in one group"),
        ({"covariance": "robust", "groups": [1]}, DataError, "one group per sample"),
        ({"reference": "z"}, OptionError, "choose from 'a', 'b'"),
        ({"level": 95}, OptionError, "below 1"),
        ({"reference": np.array(["a", "b"])}, OptionError, "choose from 'a', 'b'"),
        ({"draws": 1}, OptionError, "at least 2"),
        ({"draws": 10**8}, OptionError, "from 2 to 10000000"),
        ({"random_state": -1}, OptionError, "whole number"),
        ({"covariance": "bootstrap", "draws": 10**7 - 1, "level": 0.5, "groups": None}, OptionError, "GB"),
    ],
)
def test_bad_options(options, error, words):
    X, y = samples(2)
    X = np.hstack([X] * 10)
    with pytest.raises(error, match=words):
        MaxEnt().fit(X, y).inference(X, y, **options)


def test_other_data_or_models_are_refused(tmp_path):
    X, y = samples(3)
    model = MaxEnt(l2=0).fit(X, y)
    with pytest.raises(DataError, match="2 features"):
        model.inference(X[:, :2], y)
    with pytest.raises(DataError, match="trained on 240"):
        model.inference(X[:100], y[:100])
    with pytest.raises(DataError, match="negative log-likelihood"):
        model.inference(X, y[::-1])
    for weights in (np.full(N, 2.0), np.where(np.arange(N) < 1, 1.01, 1.0)):  # the optimum is equal, or near
        with pytest.raises(DataError, match="sample_weight differ from the training data"):
            model.inference(X, y, weights)
    model.save(tmp_path / "m")
    with pytest.raises(DataError, match=r"standard errors from its optimum.*not the data"):
        MaxEnt.load(tmp_path / "m").inference(X, y[::-1])
    with pytest.raises(DataError, match="class 'z' in row 0"):
        model.inference(X, ["z", *y[1:]])
    with pytest.raises(DataError, match="probabilities of classes"):
        model.inference(X, np.full((N, 3), 1 / 3))
    with pytest.raises(NotFittedError):
        MaxEnt().inference(X, y)
    with pytest.raises(OptionError, match="softmax"):
        MaxEnt(multi_class="ovr").fit(X, y).inference(X, y)
    with pytest.raises(OptionError, match="calibrated"):
        with pytest.warns(DataWarning):
            MaxEnt().fit(X, y).calibrate(X, y[::-1]).inference(X, y)
    with pytest.raises(OptionError, match="prior"):
        MaxEnt().fit(X, y, prior=model).inference(X, y)
    wide = np.random.default_rng(0).normal(size=(20, 6000))
    with pytest.raises(OptionError, match=r"12,002 weights would take 1.2 GB.*bootstrap"):
        MaxEnt().fit(wide, y[:20]).inference(wide, y[:20])


@pytest.mark.filterwarnings("ignore")
def test_a_training_that_has_not_converged_is_named():
    X, y = samples(3)
    with pytest.raises(DataError, match=r"has not converged \(max iterations\)"):
        MaxEnt(l2=0, solver="lbfgs", max_iterations=1).fit(X, y).inference(X, y)


def test_a_loaded_model_has_the_same_inference(tmp_path):
    X, y = samples(3)
    model = MaxEnt(l2=0).fit(X, y)
    model.save(tmp_path / "model.loglinear")
    first, second = model.inference(X, y), MaxEnt.load(tmp_path / "model.loglinear").inference(X, y)
    np.testing.assert_allclose(first.covariance, second.covariance, rtol=1e-6)


def test_attributes_and_words_name_their_weights():
    X, y = [["good", "old"], ["bad"], ["good"], ["old"]] * 5, ["+", "-", "+", "-"] * 5
    inference = MaxEnt().fit(X, y).inference(X, y)
    assert inference.names == ["(intercept)", "good", "old", "bad"]
    texts = [" ".join(words) for words in X]
    inference = TextClassifier().fit(texts, y).inference(texts, y)
    assert sorted(inference.names) == ["(intercept)", "bad", "good", "old"]


def test_rare_classes_are_drawn_again_and_say_so():
    X, y = samples(2)
    y = np.where(np.arange(N) == np.flatnonzero(y == "b")[0], "c", "a")
    with pytest.warns(DataWarning, match="drawn again"):
        inference = MaxEnt().fit(X, y).inference(X, y, covariance="bootstrap", draws=25, random_state=4)
    assert np.isfinite(inference.draws).all()


def test_the_table_fits_a_terminal_and_has_all_numbers():
    X, y = samples(3)
    frame = pd.DataFrame(X, columns=["year", "a very long name of a column in a table", "x" * 3])
    inference = MaxEnt(l2=0).fit(frame, y).inference(frame, y, level=0.9)
    text = str(inference)
    assert max(map(len, text.splitlines())) <= 78
    for words in ("b against a", "c against a", "year", "a very long…", "[5%", "95%]", "pseudo R2", "AIC"):
        assert words in text
    html = inference._repr_html_()
    assert "<table" in html
    assert "weights less the weights of class a" in html
    table = inference.to_frame()
    assert [*table.columns] == ["name", "class", "weight", "standard_error", "z", "p", "lower", "upper"]
    assert len(table) == 8
    assert table["p"].tolist() == inference.p.tolist()
    wide = np.random.default_rng(0).normal(size=(N, 60))
    shown = str(MaxEnt().fit(wide, y).inference(wide, y))
    assert "… and 82 more weights" in shown
    assert "effective parameters" in shown


def test_a_figure_has_a_panel_for_each_class(tmp_path):
    X, y = samples(3)
    inference = MaxEnt(l2=0).fit(X, y).inference(X, y)
    inference.save_figure(tmp_path / "weights.svg")
    inference.save_figure(tmp_path / "again.svg")
    text = (tmp_path / "weights.svg").read_text()
    assert text == (tmp_path / "again.svg").read_text()
    assert "b against a" in text
    assert "c against a" in text
    with pytest.raises(OptionError, match="svg"):
        inference.save_figure(tmp_path / "weights.txt")
