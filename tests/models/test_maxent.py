"""The maximum-entropy classifier against scikit-learn, finite differences and a dense oracle."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from examples import by_day, examples
from loglinear import ChainCRF, ClassifierObjective, Corpus, ElasticNet, MaxEnt, Problem
from loglinear.data.matrix import is_plain
from loglinear.data.samples import samples_with
from loglinear.errors import DataError, DataWarning, ModelFileError, OptionError
from loglinear.models.files import maxent as maxent_file
from loglinear.solvers import SOLVERS, Tolerant, make_solver, suits

TIGHT = {"tolerance": 0.0, "max_iterations": 20_000}


def samples(n_classes, n=150, d=12, seed=0, dense=False):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=0.4, rng=rng, format="csr")
    scores = X @ rng.normal(size=(d, n_classes)) * 3.0 + rng.gumbel(size=(n, n_classes))
    return (X.toarray() if dense else X), scores.argmax(axis=1)


def nll_and_gradient(X, targets, weights, w, n_classes, intercept):
    """The definition, over dense arrays."""
    X = X.toarray() if scipy.sparse.issparse(X) else X
    if intercept:
        X = np.hstack([X, np.ones((len(X), 1))])
    scores = X @ w.reshape(X.shape[1], -1)
    if n_classes == 2:
        scores = np.hstack([np.zeros_like(scores), scores])
    log_p = scipy.special.log_softmax(scores, axis=1)
    residuals = weights[:, None] * (np.exp(log_p) - np.eye(n_classes)[targets])
    gradient = X.T @ residuals
    value = -(weights * log_p[np.arange(len(X)), targets]).sum()
    return value, (gradient[:, 1] if n_classes == 2 else gradient).ravel()


@examples(60)
@given(
    st.integers(2, 19), st.integers(1, 40), st.integers(1, 9), st.booleans(), st.sampled_from([0.0, 1.0, 50.0, 1e4]),
    st.sampled_from(["ones", "single", "double"]), st.integers(0, 2**31),
)  # fmt: skip
def test_value_and_gradient_are_those_of_the_definition(n_classes, n, d, intercept, size, values, seed):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=0.5, rng=rng, format="csr")
    X.data = {"ones": np.ones_like(X.data), "single": np.round(X.data * 8) - 3, "double": X.data - 0.3}[values]
    targets, weights = rng.integers(n_classes, size=n), rng.random(n) * (rng.random(n) < 0.8)
    objective = ClassifierObjective(X, targets, weights, n_classes=n_classes, intercept=intercept)
    w = size * rng.normal(size=objective.n_features)
    value, gradient = objective.value_and_gradient(w)
    expected, slope = nll_and_gradient(X, targets, weights, w, n_classes, intercept)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-10)
    if n_classes == 2:
        value, scores, gradient = objective.start(w)
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(scores, objective.design @ w, rtol=1e-10, atol=1e-10 * max(size, 1.0))
        np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-10)
    design = objective.design.toarray()
    assert np.array_equal(design[:, :d], X.toarray())
    assert design.shape == (n, d + intercept)
    assert np.all(design[:, d:] == 1.0)
    assert np.array_equal(objective.targets, targets)
    assert np.array_equal(objective.weights, weights)
    probabilities = objective.probabilities(w)
    scores = design @ w.reshape(design.shape[1], -1)
    right = scipy.special.expit(scores) if n_classes == 2 else scipy.special.softmax(scores, axis=1)
    np.testing.assert_allclose(probabilities, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(30, 70_000), (70_000, 6)])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("values", ["ones", "single", "double"])
def test_numbers_beyond_16_bits_are_told_apart(shape, n_classes, values):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array(shape, density=2000 / np.prod(shape), rng=rng, format="csr")
    X.data = {"ones": np.ones_like(X.data), "single": np.round(X.data * 8), "double": X.data}[values]
    targets = rng.integers(n_classes, size=shape[0])
    objective = ClassifierObjective(X, targets, n_classes=n_classes)
    w = rng.normal(size=objective.n_features)
    value, gradient = objective.value_and_gradient(w)
    matrix = w.reshape(-1, objective.n_outputs)
    scores = X @ matrix[:-1] + matrix[-1]
    scores = np.hstack([np.zeros_like(scores), scores]) if n_classes == 2 else scores
    log_p = scipy.special.log_softmax(scores, axis=1)
    assert value == pytest.approx(-log_p[np.arange(len(targets)), targets].sum(), rel=1e-12)
    residuals = (np.exp(log_p) - np.eye(n_classes)[targets])[:, -objective.n_outputs :]
    expected = np.vstack([X.T @ residuals, residuals.sum(axis=0)])
    np.testing.assert_allclose(gradient.reshape(expected.shape), expected, atol=1e-9)


def test_gradient_is_the_slope_of_the_value():
    X, targets = samples(4)
    objective = ClassifierObjective(X, targets, n_classes=4)
    w = np.random.default_rng(1).normal(size=objective.n_features)
    error = scipy.optimize.check_grad(
        lambda w: objective.value_and_gradient(w)[0], lambda w: objective.value_and_gradient(w)[1], w
    )
    assert error < 1e-4


def test_small_losses_keep_their_digits():
    """Where all samples are right, the value is a sum of tiny terms: log(1 + exp(-m)), not log of a rounded 1."""
    X = scipy.sparse.csr_array(np.eye(6))
    for n_classes in (2, 3):
        targets = np.arange(6) % n_classes
        objective = ClassifierObjective(X, targets, n_classes=n_classes, intercept=False)
        signs = np.where(targets == 1, 1.0, -1.0) if n_classes == 2 else np.eye(3)[targets]
        value, _ = objective.value_and_gradient(40.0 * signs.ravel())
        assert value == pytest.approx(6 * (n_classes - 1) * np.exp(-40.0), rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_bitwise_the_same_on_any_number_of_threads(n_classes):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((4000, 500), density=0.05, rng=rng, format="csr")
    targets = rng.integers(n_classes, size=4000)
    found = []
    for threads in (1, 2, 3):
        objective = ClassifierObjective(X, targets, n_classes=n_classes, threads=threads)
        w = np.random.default_rng(1).normal(size=objective.n_features)
        value, gradient = objective.value_and_gradient(w)
        found.append((value, gradient.tobytes()))
    assert found[0] == found[1] == found[2]


def penalised(model, X, y, sample_weight, multi_class):
    """The objective that scikit-learn's and our parameters reach: separate ones are added up."""
    classes, targets = np.unique(y, return_inverse=True)
    weights = np.ones(len(targets)) if sample_weight is None else sample_weight
    l1, l2 = model.l1, model.l2 or 0.0

    def of(coef, intercept):
        w = np.vstack([coef.T, intercept])
        if len(coef) == 1 or multi_class == "softmax":
            value = nll_and_gradient(X, targets, weights, w.ravel(), len(classes), True)[0]
        else:
            each = (
                nll_and_gradient(X, (targets == k).astype(int), weights, w[:, k], 2, True)[0]
                for k in range(len(classes))
            )
            value = sum(each)
        return value + l1 * abs(coef).sum() + l2 / 2 * (coef**2).sum()

    return of


PENALTIES = {"l2": (0.0, 0.7), "l1": (0.6, 0.0), "elastic net": (0.4, 0.3)}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "softmax"), (4, "softmax"), (4, "ovr")])
def test_the_optimum_is_scikit_learns(n_classes, multi_class, penalty, intercept, weighted):
    X, y = samples(n_classes)
    l1, l2 = PENALTIES[penalty]
    weights = np.random.default_rng(3).integers(0, 4, size=len(y)).astype(float) if weighted else None
    model = MaxEnt(l1=l1, l2=l2, multi_class=multi_class, fit_intercept=intercept, **TIGHT).fit(X, y, weights)

    def theirs(y):
        solver = "lbfgs" if not l1 else "saga"
        peer = LogisticRegression(
            C=1.0 / (l1 + l2),
            l1_ratio=l1 / (l1 + l2),
            solver=solver,
            fit_intercept=intercept,
            tol=1e-10,
            max_iter=50_000,
        )
        return peer.fit(X.toarray(), y, weights)

    if multi_class == "ovr":
        peers = [theirs((y == k).astype(int)) for k in range(n_classes)]
        coef = np.vstack([peer.coef_ for peer in peers])
        constant = np.concatenate([peer.intercept_ for peer in peers])
    else:
        peer = theirs(y)
        coef, constant = peer.coef_, peer.intercept_
    value = penalised(model, X, y, weights, multi_class)
    ours, reference = value(model.coef_, model.intercept_), value(coef, constant)
    assert ours == pytest.approx(reference, rel=1e-6)
    # Weights of a softmax are not unique under an L1 penalty, differences of scores are.
    apart = [
        coef_ @ X.T.toarray() + constant_[:, None]
        for coef_, constant_ in ((model.coef_, model.intercept_), (coef, constant))
    ]
    apart = [scores - (scores.mean(axis=0) if multi_class == "softmax" and n_classes > 2 else 0.0) for scores in apart]
    np.testing.assert_allclose(*apart, atol=5e-3)
    if not intercept:
        assert not model.intercept_.any()
    reported = sum(result.objective for result in model.results_)
    assert reported == pytest.approx(ours, rel=1e-10)


@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "softmax"), (4, "softmax"), (4, "ovr")])
def test_predictions_agree_with_one_another(n_classes, multi_class):
    X, y = samples(n_classes)
    names = np.array(["d", "a", "c", "b"])[y]
    model = MaxEnt(multi_class=multi_class).fit(X, names)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), rtol=1e-10)
    assert list(model.classes_) == sorted(set(names))
    assert np.array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert model.score(X, names) == np.mean(model.predict(X) == names)
    scores = model.decision_function(X)
    assert scores.shape == ((len(y),) if n_classes == 2 else (len(y), n_classes))
    dense = MaxEnt(multi_class=multi_class).fit(X.toarray(), names)
    np.testing.assert_allclose(dense.coef_, model.coef_, rtol=1e-3, atol=1e-3)
    sparse = model.sparsify()
    assert scipy.sparse.issparse(sparse.coef_)
    np.testing.assert_allclose(sparse.predict_proba(X), p, rtol=1e-12)
    assert isinstance(model.densify().coef_, np.ndarray)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_probabilities_of_classes_against_the_rest_are_each_their_own_models_made_to_add_up_to_one(n_classes):
    X, y = samples(n_classes, dense=True)
    model = MaxEnt(multi_class="ovr").fit(X, y)
    alone = np.stack([MaxEnt().fit(X, y == k).predict_proba(X)[:, 1] for k in range(n_classes)], axis=1)
    np.testing.assert_allclose(alone, 1.0 / (1.0 + np.exp(-X @ model.coef_.T - model.intercept_)), rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), alone / alone.sum(axis=1, keepdims=True), rtol=1e-9)
    # A softmax of the same scores is something else.
    scores = np.exp(model.decision_function(X))
    assert np.abs(model.predict_proba(X) - scores / scores.sum(axis=1, keepdims=True)).max() > 0.05


def test_each_class_against_the_rest_has_the_status_of_its_own_training(tmp_path):
    X, y = samples(4)
    steps = [MaxEnt().fit(X, y == k).n_iter_[0] for k in range(4)]
    y = np.argsort(np.argsort(steps, kind="stable"))[y]  # the class that takes the fewest steps becomes the first
    least = min(steps)
    assert np.count_nonzero(np.array(steps) > least) > 1
    with pytest.warns(ConvergenceWarning):
        model = MaxEnt(multi_class="ovr", max_iterations=least).fit(X, y)
    expected = ["CONVERGED" if each <= least else "MAX_ITERATIONS" for each in sorted(steps)]
    assert [result.status.name for result in model.results_] == expected
    # A file says of all classes together what is true of the worst.
    model.save(tmp_path / "model")
    training = maxent_file.read(str(tmp_path / "model")).settings["training"]
    assert training["status"] == "max_iterations"
    assert training["iterations"] == sum(result.iterations for result in model.results_)


def test_64_bit_indices_work():
    X, y = samples(3)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert np.array_equal(MaxEnt().fit(wide, y).coef_, MaxEnt().fit(X, y).coef_)


@pytest.mark.parametrize("value", [0.03, 1.0, 40.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_intercepts_column_may_have_any_value(n_classes, value):
    X, targets = samples(n_classes)
    objective = ClassifierObjective(X, targets, n_classes=n_classes, intercept=value)
    by_hand = ClassifierObjective(
        scipy.sparse.hstack([X, np.full((X.shape[0], 1), value)]), targets, n_classes=n_classes, intercept=False
    )
    w = np.random.default_rng(0).normal(size=objective.n_features)
    for ours, expected in zip(objective.value_and_gradient(w), by_hand.value_and_gradient(w), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-11)
    assert np.array_equal(objective.design.toarray(), by_hand.design.toarray())
    coef, intercept = objective.coefficients(w)
    right = (X @ coef.T + intercept).ravel()
    np.testing.assert_allclose(right, (by_hand.design @ w.reshape(-1, objective.n_outputs)).ravel(), rtol=1e-12)
    one, two = (each.core.as_chain().value_and_gradient(w) for each in (objective, by_hand))
    np.testing.assert_allclose(one[1], two[1], rtol=1e-9, atol=1e-10)


def test_balanced_classes_weigh_the_same_with_sample_weights():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(60, 2)), rng.choice([0, 1, 2], size=60, p=[0.6, 0.3, 0.1]), rng.random(60) + 0.1
    totals = np.bincount(y, weights)
    wanted = MaxEnt(l2=1.0).fit(X, y, sample_weight=weights * (totals.sum() / (3 * totals))[y])
    found = MaxEnt(l2=1.0, class_weight="balanced").fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(found.coef_, wanted.coef_)


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
@pytest.mark.parametrize("without", [0, 3])
def test_balanced_classes_weigh_as_without_the_samples_of_a_class_that_has_no_weight(multi_class, without):
    X, y = samples(4, n=400)
    y = np.array(["a", "b", "c", "d"])[y]
    lost = "abcd"[without]
    held = y != lost
    options = {"l2": 1.0, "class_weight": "balanced", "multi_class": multi_class, **TIGHT}
    part = MaxEnt(**options).fit(X[np.flatnonzero(held)], y[held])
    whole = MaxEnt(**options | {"tolerance": 1e-9}).fit(X, y, sample_weight=held.astype(float))
    others = whole.classes_ != lost
    assert whole.classes_.tolist() == ["a", "b", "c", "d"]
    assert part.classes_.tolist() == whole.classes_[others].tolist()
    np.testing.assert_allclose(whole.coef_[others], part.coef_, atol=2e-3)
    probabilities = whole.predict_proba(X)
    assert probabilities[:, ~others].max() < 1e-3
    np.testing.assert_allclose(probabilities[:, others], part.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(whole.predict(X), part.predict(X))


def test_balanced_classes_of_which_one_has_weight_train():
    X, y = samples(2)
    with pytest.warns(DataWarning, match="only samples of class 1 have a weight above 0, so the model predicts this"):
        model = MaxEnt(class_weight="balanced").fit(X, y, sample_weight=y)
    assert np.isfinite(model.coef_).all()
    assert model.predict_proba(X)[:, 1].min() > 0.9


def test_class_weights_are_sample_weights():
    X, y = samples(3)
    weights = {0: 2.0, 1: 0.5, 2: 1.0}
    by_class = MaxEnt(class_weight=weights).fit(X, y)
    by_sample = MaxEnt().fit(X, y, [weights[k] for k in y])
    assert np.array_equal(by_class.coef_, by_sample.coef_)
    counts = np.bincount(y)
    balanced = MaxEnt(class_weight="balanced").fit(X, y)
    by_hand = MaxEnt().fit(X, y, (len(y) / (3 * counts))[y])
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-10)


@pytest.mark.parametrize("solver", ["iis"])
def test_iterative_scaling_works_on_a_classifier(solver):
    for n_classes in (2, 3):
        X, y = samples(n_classes)
        reference = MaxEnt(l2=2.0, **TIGHT).fit(X, y)
        model = MaxEnt(l2=2.0, solver=solver, **TIGHT).fit(X, y)
        assert model.result_.objective == pytest.approx(reference.result_.objective, rel=1e-8)


BAD = [
    (lambda X, y: MaxEnt(multi_class="ovo").fit(X, y), OptionError, "multi_class='ovo' is not one of softmax, ovr"),
    (lambda X, y: MaxEnt(fit_intercept="no").fit(X, y), OptionError, "fit_intercept"),
    (lambda X, y: MaxEnt(l1=-1).fit(X, y), OptionError, "l1=-1"),
    (lambda X, y: MaxEnt(solver="newton").fit(X, y), OptionError, "unknown solver 'newton'"),
    (lambda X, y: MaxEnt(n_jobs=0).fit(X, y), OptionError, "n_jobs=0"),
    (lambda X, y: MaxEnt(l1=1, solver="lbfgs").fit(X, y), OptionError, "owlqn"),
    (lambda X, y: MaxEnt().fit(X, np.zeros(len(y))), ValueError, "only one class"),
    (lambda X, y: MaxEnt().fit(X, y[:-1]), ValueError, "inconsistent numbers of samples"),
    (lambda X, y: MaxEnt().fit(X * np.nan, y), ValueError, "NaN"),
    (lambda X, y: MaxEnt().fit(X, y, -np.ones(len(y))), ValueError, "egative"),
    (lambda X, y: MaxEnt().fit(X, y).predict(X[:, :3]), ValueError, "features"),
    (lambda X, y: MaxEnt().predict(X), NotFittedError, "not fitted"),
    (lambda X, y: MaxEnt(class_weight="even").fit(X, y), ValueError, "class_weight"),
    (lambda X, y: MaxEnt().fit(X, y + 0.5), ValueError, "continuous"),
    (lambda X, y: ClassifierObjective(X, y, n_classes=2), DataError, "numbers from 0 to 1"),
    (lambda X, y: ClassifierObjective(X, y, np.full(len(y), np.nan), n_classes=3), DataError, "weight"),
    (lambda X, y: ClassifierObjective(X[:0], y[:0], n_classes=3), DataError, "no samples"),
    (lambda X, y: ClassifierObjective(X * np.inf, y, n_classes=3), DataError, "sample 0, column"),
]


@pytest.mark.parametrize(("act", "kind", "message"), BAD)
def test_mistakes_are_reported(act, kind, message):
    X, y = samples(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(kind, match=message):
            act(X, y)


@pytest.mark.parametrize("name", ["y", "sample_weight", "groups"])
def test_masked_arrays_are_refused(name):
    masked = np.ma.masked_array([0, 1, 0, 1], [False, True, False, False])
    named = {"y": [0, 1, 0, 1]} | {name: masked}
    with pytest.raises(DataError, match=f"{name} is a masked array, whose hidden values would count"):
        MaxEnt(l1="cv").fit([[0.0], [1.0], [0.5], [2.0]], **named)


def test_not_converging_is_a_warning():
    X, y = samples(3)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = MaxEnt(max_iterations=2).fit(X, y)
    assert model.n_iter_.tolist() == [2]
    assert not model.result_.status.converged


CHECKS = """
import sys, warnings
from sklearn.utils.estimator_checks import check_estimator
from loglinear import MaxEnt
warnings.simplefilter("ignore")
reason = "two samples may be in two folds, but one with the weight of two is in a single one"
names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
refused = dict.fromkeys(names, reason) if "cv" in sys.argv[1] else {}
results = check_estimator(eval(sys.argv[1]), on_skip=None, on_fail=None, expected_failed_checks=refused)
results = [result for result in results if not (result["status"] == "xfail" and result["check_name"] in refused)]
print(len(results), *(result for result in results if result["status"] != "passed"))
"""


@pytest.mark.parametrize(
    "estimator",
    [
        "MaxEnt()",
        *(
            pytest.param(made, marks=pytest.mark.slow)
            for made in ("MaxEnt(multi_class='ovr')", "MaxEnt(l1=0.01)", "MaxEnt(l1='cv')")
        ),
    ],
)
def test_scikit_learns_checks_pass_and_none_is_skipped(estimator):
    # The array API check is skipped unless this is set before SciPy is imported.
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", CHECKS, estimator]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    number, *failed = done.stdout.split(maxsplit=1)
    assert int(number) > 40
    assert not failed


SAMPLES = [{"w": "a", "len": 2.0}, ["b", "c"], {"w": "a", "z": 1}, {"b": 1, "d": True}, []] * 6
NAMES = ["x", "y", "x", "z", "y"] * 6


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
def test_attributes_are_columns_by_name(multi_class):
    model = MaxEnt(multi_class=multi_class).fit(SAMPLES, NAMES)
    assert model.attributes_ == ["w:a", "len", "b", "c", "z", "d"]
    X = np.array([[1, 2, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [1, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1], [0] * 6] * 6)
    np.testing.assert_allclose(MaxEnt(multi_class=multi_class).fit(X, NAMES).coef_, model.coef_, rtol=1e-3, atol=1e-3)
    unknown = [["b", "never seen"], {"w": "a", "len": 4}]
    by_hand = MaxEnt(multi_class=multi_class).fit(X, NAMES).predict_proba([[0, 0, 1, 0, 0, 0], [1, 4, 0, 0, 0, 0]])
    np.testing.assert_allclose(model.predict_proba(unknown), by_hand, rtol=1e-3)
    rare = MaxEnt(multi_class=multi_class, min_count=7).fit(SAMPLES, NAMES)
    assert rare.attributes_ == ["w:a", "b"]


def test_a_corpus_holds_samples_labels_and_weights(tmp_path):
    (tmp_path / "data").write_text("@weight:2\nx\ta\tb:0.5\ny\tb\n\n@weight:0.5\nx\ta\n")
    corpus = Corpus.read(tmp_path / "data", format="crfsuite")
    model = MaxEnt().fit(corpus)
    by_hand = MaxEnt().fit([{"a": 1, "b": 0.5}, ["b"], ["a"]], ["x", "y", "x"], [2.0, 2.0, 0.5])
    assert np.array_equal(model.coef_, by_hand.coef_)
    assert model.predict(corpus).tolist() == ["x", "y", "x"]


CLASSES = {
    "int": lambda y: y - 1,
    "float": lambda y: y / 2.0 * 2.0,
    "str": lambda y: np.array(["no", "ÿes", "may be"])[y],
    "object": lambda y: np.array(["no", "ÿes", "may be"], dtype=object)[y],
    "bool": lambda y: y == 1,
}


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_saved_model_predicts_the_same(tmp_path, kind, multi_class, intercept):
    X, y = samples(3)
    y = CLASSES[kind](y)
    model = MaxEnt(l1=0.5, multi_class=multi_class, fit_intercept=intercept).fit(X, y)
    model.save(tmp_path / "model")
    loaded = MaxEnt.load(tmp_path / "model")
    assert np.array_equal(loaded.coef_, model.coef_)
    assert np.array_equal(loaded.intercept_, model.intercept_)
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.get_params()["multi_class"] == multi_class
    by_name = MaxEnt(multi_class=multi_class).fit(SAMPLES, NAMES)
    by_name.sparsify().save(tmp_path / "model")
    np.testing.assert_allclose(MaxEnt.load(tmp_path / "model").predict_proba(SAMPLES), by_name.predict_proba(SAMPLES))


def test_numpys_numbers_among_the_parameters_are_saved(tmp_path):
    X, y = samples(3)
    options = {"min_count": np.int64(1), "fit_intercept": np.True_, "max_iterations": np.int64(50)}
    MaxEnt(solver="lbfgs", solver_options={"memory": np.int64(5)}, **options).fit(X, y).save(tmp_path / "model")
    assert MaxEnt.load(tmp_path / "model").get_params()["max_iterations"] == 50


def test_ctrl_c_ends_the_training_of_all_classes():
    X, y = samples(4)

    def interrupt(record, state):
        if record.iteration == 3:
            raise KeyboardInterrupt

    model = MaxEnt(multi_class="ovr")
    with pytest.raises(KeyboardInterrupt, match="iteration 3; the estimator has"):
        model.fit(X, y, callbacks=[interrupt])
    assert [result.status.name for result in model.results_] == ["INTERRUPTED"] * 4
    assert model.coef_[0].any()
    assert not model.coef_[1:].any()


def test_files_of_other_models_are_refused(tmp_path):
    ChainCRF().fit([["a"], ["b"]], [["x"], ["y"]]).save(tmp_path / "chain")
    with pytest.raises(ModelFileError, match="not a classifier"):
        MaxEnt.load(tmp_path / "chain")
    MaxEnt().fit(SAMPLES, NAMES).save(tmp_path / "maxent")
    with pytest.raises(ModelFileError, match="not a chain model"):
        ChainCRF.load(tmp_path / "maxent")
    content = (tmp_path / "maxent").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-9])
    with pytest.raises(ModelFileError, match="cut"):
        MaxEnt.load(tmp_path / "cut")


def test_the_development_set_is_scored_on_the_way():
    X, y = samples(3)
    model = MaxEnt().fit(X[:100], y[:100], X_dev=X[100:], y_dev=y[100:])
    scored = [record for record in model.result_.trace if record.dev]
    assert scored[0].iteration == 0
    assert 0.0 <= scored[-1].dev["accuracy"] <= 1.0
    with pytest.raises(OptionError, match="softmax"):
        MaxEnt(multi_class="ovr").fit(X, y, X_dev=X, y_dev=y)


STRENGTHS = {"l2": {"l1": 0.0, "l2": 1.0}, "l1 and l2": {"l1": 0.3, "l2": 0.5}}


def suiting():
    """Each solver with the penalties, numbers of classes and intercepts that it takes, by its needs."""
    for penalty, n_classes, intercept in itertools.product(STRENGTHS, (2, 4), (True, False)):
        X, y = np.eye(n_classes), np.arange(n_classes)
        objective = ClassifierObjective(X, y, n_classes=n_classes, intercept=intercept)
        problem = Problem(objective, ElasticNet(**STRENGTHS[penalty], unpenalised=objective.n_unpenalised))
        yield from ((name, penalty, n_classes, intercept) for name in SOLVERS if suits(SOLVERS[name], problem))


SUITING = list(suiting())
SUITED = {case[0]: case for case in SUITING}
"""A case of each solver."""


def test_most_solvers_are_in_the_matrix():
    assert len({name for name, *_ in SUITING}) >= 20


@pytest.mark.parametrize(
    ("solver", "penalty", "n_classes", "intercept"), by_day(SUITING, lambda case: case == SUITED[case[0]])
)
def test_every_solver_comes_to_the_same_optimum(solver, penalty, n_classes, intercept):
    X, y = samples(n_classes)
    options = {"fit_intercept": intercept, **STRENGTHS[penalty]}
    best = MaxEnt(solver="owlqn", **options, **TIGHT).fit(X, y).result_.objective
    found = MaxEnt(solver=solver, max_iterations=3000, **options)
    is_exact = isinstance(make_solver(solver), Tolerant)
    if is_exact:
        found.set_params(tolerance={"auto": 1e-9, "dual_cd": 1e-3, "sag": 1e-9}.get(solver, 0.0))
    if solver == "clustered":
        found.set_params(solver_options={"fine_iterations": 5, "cluster_factor": 3})
    reached = found.fit(X, y).result_.objective
    assert best * (1.0 - 1e-9) <= reached <= best * (1.0 + 1e-6 if is_exact else 1.05)


def test_samples_with_attributes_train_as_their_matrix_does():
    corpus = Corpus.encode([[sample] for sample in SAMPLES], [[str(name)] for name in NAMES])
    for min_count in (1, 7):
        named = MaxEnt(l1=0.1, min_count=min_count).fit(SAMPLES, NAMES)
        assert len(set(named.attributes_)) == named.n_features_in_
        matrix = samples_with(named.attributes_, corpus)
        matrix.sort_indices()
        plain = MaxEnt(l1=0.1).fit(matrix, NAMES)
        assert np.array_equal(named.coef_, plain.coef_)
        assert np.array_equal(named.intercept_, plain.intercept_)


def test_an_attribute_given_twice_counts_with_the_sum_of_its_values():
    twice = MaxEnt().fit([["a", "b", "a"], ["b"], ["a"], ["b", "b"]], [0, 1, 0, 1])
    summed = MaxEnt().fit([{"a": 2.0, "b": 1.0}, {"b": 1.0}, {"a": 1.0}, {"b": 2.0}], [0, 1, 0, 1])
    assert twice.attributes_ == summed.attributes_ == ["a", "b"]
    assert np.array_equal(twice.coef_, summed.coef_)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([0, 1, 0], "y has 3 classes, but X has 2 samples"),
        ([0, 0], "only one class"),
    ],
)
def test_classes_that_do_not_fit_samples_with_attributes_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        MaxEnt().fit([["a"], ["b"]], y)


def test_a_count_that_leaves_no_attribute_is_an_error_that_says_so():
    with pytest.raises(DataError, match="no attribute occurs in 3 or more samples; lower min_count"):
        MaxEnt(min_count=3).fit([["a"], ["b"]], [0, 1])


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, ">f8"])
@pytest.mark.parametrize("classes", [[0, 1, 1, 0], [False, True, True, False], list("abba"), [0.0, 1.0, 1.0, 0.0]])
def test_arrays_that_need_no_conversion_are_fitted_as_lists_are(kind, classes):
    X = [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 1.0]]
    of_lists, of_arrays = MaxEnt().fit(X, classes), MaxEnt().fit(np.array(X, dtype=kind), np.array(classes))
    assert (of_arrays.coef_ == of_lists.coef_).all()
    assert of_arrays.classes_.tolist() == of_lists.classes_.tolist()
    assert of_arrays.n_features_in_ == 2


def test_fitting_an_array_forgets_the_names_of_a_table():
    pandas = pytest.importorskip("pandas")
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1])
    model = MaxEnt().fit(pandas.DataFrame(X, columns=["x", "y"]), y).fit(X, y)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_of_an_array_that_is_not_finite_is_named(value):
    X = np.array([[0.0, 1.0], [value, 0.0]])
    with pytest.raises(ValueError, match="column 0 of X is"):
        MaxEnt().fit(X, np.array([0, 1]))
    assert not is_plain(np.array([[1e308, 1e308], [1.0, 0.0]]))  # the sum is not finite


def test_fitting_named_samples_forgets_the_names_of_a_table():
    pandas = pytest.importorskip("pandas")
    model = MaxEnt().fit(pandas.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.0]}), [0, 1])
    assert list(model.feature_names_in_) == ["x", "y"]
    model.fit([["a"], ["b"]], [0, 1])
    assert not hasattr(model, "feature_names_in_")
    assert model.predict([["a"]]) == [0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_on_development_data_are_those_of_the_estimator(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.minimum(rng.integers(0, 12, 80), n_classes - 1)
    model = MaxEnt(l2=1.0).fit(X[:40], y[:40], X_dev=X[40:], y_dev=y[40:])
    assert model.score(X[40:], y[40:]) > 0.6  # the frequent class: by the intercept
    assert model.result_.record.dev == {"accuracy": model.score(X[40:], y[40:])}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"l2": 1.0},
        {"l1": 0.5, "solver_options": {}},
        {"solver": "auto"},
        {"class_weight": "balanced"},
        {"class_weight": {0: 2.0, 1: 1, 2: 0.5}},
        {"multi_class": "ovr"},
    ],
    ids=str,
)
def test_a_loaded_model_prints_as_the_saved_one_and_has_its_iterations(options, tmp_path):
    X, y = samples(3)
    model = MaxEnt(**options).fit(X, y)
    model.save(tmp_path / "model")
    for _ in range(2):  # as saved, and as loaded and saved again
        loaded = MaxEnt.load(tmp_path / "model")
        assert repr(loaded) == repr(model)
        assert loaded.class_weight == model.class_weight
        assert loaded.n_iter_.tolist() == model.n_iter_.tolist()
        assert not loaded.n_iter_.flags.writeable
        assert np.array_equal(loaded.fit(X, y).coef_, model.coef_)
        loaded = MaxEnt.load(tmp_path / "model")
        loaded.save(tmp_path / "model")


def test_class_weights_by_name_are_those_of_the_file(tmp_path):
    model = MaxEnt(class_weight={"N": 2.0, "V": np.int64(1), "other": 3.0})
    y = np.array(["N", "V", "other"])[samples(3)[1]]
    model.fit(samples(3)[0], y).save(tmp_path / "model")
    assert MaxEnt.load(tmp_path / "model").class_weight == model.class_weight


def test_a_saved_classifier_without_any_weight_predicts_as_before(tmp_path):
    X, y = [["a"], ["b"], ["a"]], ["+", "-", "+"]
    with pytest.warns(UserWarning, match="no feature is left"):
        model = MaxEnt(l1=100.0).fit(X, y)
    model.save(tmp_path / "model")
    loaded = MaxEnt.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.predict([["c"]]).tolist() == ["+"]
