"""Cross-validation of the strength of a classifier's L1 penalty."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import log_loss

from loglinear import DataError, ElasticNet, MaxEnt, OptionError, Problem
from loglinear.models import maxent
from loglinear.models.training import resampling
from loglinear.models.training.folds import folds_of_classifier
from loglinear.objectives.classifier import ClassifierObjective
from loglinear.path import largest_l1
from loglinear.report.cross_validation import CrossValidation
from loglinear.solvers import LBFGS


def samples(n_classes: int = 2, n: int = 120, *, seed: int = 0):
    """Return samples of which two of eight columns tell the class, and the classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    scores = X[:, :2] @ rng.normal(size=(2, n_classes)) * 2.0 + rng.gumbel(size=(n, n_classes))
    return X, scores.argmax(axis=1)


def folds(X, y, weights=None, seed: int = 0):
    objective = ClassifierObjective(X, y, weights, n_classes=int(y.max()) + 1)
    return folds_of_classifier(objective, seed, np.unique(y))


@pytest.mark.parametrize(
    ("n_classes", "weighted", "multi_class"),
    [(2, False, "softmax"), (2, True, "softmax"), (3, False, "softmax"), (3, True, "ovr"), (2, False, "ovr")],
)
def test_the_losses_are_those_of_a_loop_over_strengths_and_folds(n_classes, weighted, multi_class):
    X, y = samples(n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, y.size) if weighted else np.ones(y.size)
    settings = {"l2": 0.5, "multi_class": multi_class}
    cv = MaxEnt(l1="cv", random_state=3, **settings).fit(X, y, weights).cross_validation_
    chosen = np.arange(10, cv.strengths.size, 7)  # the first ones may leave no feature
    table, shares = [], []
    for held in folds(X, y, weights, seed=3):
        rest = np.setdiff1d(np.arange(y.size), held)
        share = weights[rest].sum() / weights.sum()
        models = [MaxEnt(l1=l1 * share, tolerance=1e-10, **settings) for l1 in cv.strengths[chosen]]
        answers = [model.fit(X[rest], y[rest], weights[rest]).predict_proba(X[held]) for model in models]
        table.append([log_loss(y[held], p, sample_weight=weights[held]) for p in answers])
        shares.append(1.0 - share)
    means = np.average(table, axis=0, weights=shares)
    errors = np.sqrt(np.average((table - means) ** 2, axis=0, weights=shares) / (cv.n_folds - 1))
    np.testing.assert_allclose(-cv.scores[chosen], means, rtol=2e-3)
    np.testing.assert_allclose(cv.errors[chosen], errors, atol=2e-3)


def test_the_strength_is_the_largest_within_one_standard_error_of_the_lowest_loss():
    strengths = np.array([8.0, 4.0, 2.0, 1.0])
    scores, errors = np.array([0.1, 0.45, 0.5, 0.4]), np.array([0.5, 0.01, 0.1, 0.2])
    for penalty, chosen in (("l1", (4.0, 3.0)), ("l2", (3.0, 4.0))):
        cv = CrossValidation(penalty, strengths, scores, errors, other=3.0)
        assert (cv.best, cv.chosen, (cv.l1, cv.l2)) == (2.0, 4.0, chosen)


def test_the_model_is_bitwise_that_of_the_chosen_strength():
    X, y = samples()
    model = MaxEnt(l1="cv").fit(X, y)
    assert model.l1_ == model.cross_validation_.l1
    given = MaxEnt(l1=model.l1_).fit(X, y)
    assert (given.coef_ == model.coef_).all()
    assert (given.l1_, given.cross_validation_) == (model.l1_, None)
    # The columns that tell nothing have no weights.
    assert np.count_nonzero(model.coef_) < X.shape[1]


every_kind = pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "softmax"), (3, "softmax"), (3, "ovr")])


@every_kind
def test_the_losses_are_bitwise_the_same_on_any_number_of_threads(n_classes, multi_class):
    X, y = samples(n_classes)
    models = (MaxEnt(l1="cv", multi_class=multi_class, n_jobs=n) for n in (1, 3))
    alone, together = (model.fit(X, y).cross_validation_ for model in models)
    assert (alone.scores == together.scores).all()
    assert (alone.errors == together.errors).all()


def test_a_table_and_a_sparse_matrix_have_the_same_strength():
    X, y = samples()
    dense, sparse = (MaxEnt(l1="cv").fit(form, y) for form in (X, scipy.sparse.csr_array(np.where(X > 1.0, X, 0.0))))
    kept = MaxEnt(l1="cv").fit(np.where(X > 1.0, X, 0.0), y)
    assert sparse.l1_ == pytest.approx(kept.l1_, rel=1e-9)
    assert dense.l1_ != kept.l1_


def test_folds_divide_the_samples_and_each_class_evenly():
    X, y = samples(3)
    parts = folds(X, y)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(y.size))
    counts = np.array([np.bincount(y[rows], minlength=3) for rows in parts])
    assert np.ptp(counts, axis=0).max() <= 1
    assert any((rows != other).any() for rows, other in zip(parts, folds(X, y, seed=1), strict=True))


def test_samples_without_weight_are_in_no_fold():
    X, y = samples()
    weights = np.ones(y.size)
    weights[:20] = 0.0
    assert np.concatenate(folds(X, y, weights)).min() == 20


@pytest.mark.parametrize("size", [1, 3, 8])
def test_folds_keep_groups_together_and_divide_classes_about_evenly(size):
    X, y = samples(3)
    groups = np.random.default_rng(1).permutation(np.arange(y.size) // size)
    objective = ClassifierObjective(X, y, n_classes=3)
    parts = folds_of_classifier(objective, 0, np.unique(y), groups)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(y.size))
    fold_of = np.empty(y.size, dtype=int)
    for fold, rows in enumerate(parts):
        assert (np.diff(rows) > 0).all()
        fold_of[rows] = fold
    assert all(np.unique(fold_of[groups == group]).size == 1 for group in np.unique(groups))
    counts = np.array([np.bincount(y[rows], minlength=3) for rows in parts])
    assert np.ptp(counts, axis=0).max() <= (1 if size == 1 else 2 * size)
    assert np.ptp(counts.sum(axis=1)).max() <= 2 * size
    others = folds_of_classifier(objective, 1, np.unique(y), groups)
    assert any(rows.tobytes() != other.tobytes() for rows, other in zip(parts, others, strict=True))


@pytest.mark.filterwarnings("ignore:l1=.cv. chose the last strength", "ignore:no feature is left")
@every_kind
def test_copies_in_one_group_say_no_more_than_one_sample(n_classes, multi_class):
    X, y = samples(n_classes, 40)
    rng = np.random.default_rng(2)
    noise, rows = rng.normal(size=(40, 30)), np.repeat(np.arange(40), 4)
    # Columns of noise tell copies of a sample, but no other samples.
    X, y = np.hstack([X, noise])[rows], rng.permutation(y)[rows]
    model = MaxEnt(l1="cv", multi_class=multi_class)
    loose = model.fit(X, y).cross_validation_
    kept = model.fit(X, y, groups=[f"document {row}" for row in rows]).cross_validation_
    assert kept.scores.max() < 2.0 * loose.scores.max()
    assert kept.l1 > loose.l1


def test_probabilities_of_classes_apart_are_those_of_their_models_over_their_sum():
    X, y = samples(3)
    model = MaxEnt(l1=1.0, multi_class="ovr").fit(X, y)
    apart = 1.0 / (1.0 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X), apart / apart.sum(axis=1, keepdims=True))


def test_classes_apart_have_the_strengths_from_the_first_one_that_leaves_no_feature_in_any():
    X, y = samples(3)
    largest = []
    for k in range(3):
        objective = ClassifierObjective(X, y == k, n_classes=2, intercept="scaled")
        largest.append(largest_l1(Problem(objective, ElasticNet(unpenalised=1))))
    cv = MaxEnt(l1="cv", multi_class="ovr").fit(X, y).cross_validation_
    assert cv.strengths[0] == pytest.approx(max(largest))


def test_groups_are_asked_for_by_scikit_learns_routing():
    with config_context(enable_metadata_routing=True):
        model = MaxEnt(l1="cv").set_fit_request(groups=True)
        assert model.get_metadata_routing().fit.requests["groups"]


def test_groups_that_cannot_be_folds_are_refused():
    X, y = samples(3)
    groups = np.arange(y.size)
    with pytest.raises(OptionError, match="groups are for l1='cv' and l2='cv', which divide the samples"):
        MaxEnt(l1=1.0).fit(X, y, groups=groups)
    with pytest.raises(DataError, match=r"groups have shape \(5,\), but X has 120 samples; give one group per sample"):
        MaxEnt(l1="cv").fit(X, y, groups=groups[:5])
    with pytest.raises(DataError, match=r"groups cannot be told apart \(.*\); give numbers or strings"):
        MaxEnt(l1="cv").fit(X, y, groups=[None, 1] * 60)
    with pytest.raises(DataError, match="the groups leave all samples of 2 in one fold; give more groups, or a numb"):
        MaxEnt(l1="cv").fit(X, y, groups=np.where(y == 2, -1, groups))


def test_a_strength_that_cannot_be_chosen_is_refused():
    X, y = samples(3)
    alone = np.where(np.arange(y.size) == 5, 7, y)
    with pytest.raises(DataError, match="needs two or more samples of each class, and 7 has one; give a number"):
        MaxEnt(l1="cv").fit(X, alone)
    with pytest.raises(DataError, match="needs samples of two or more classes with weights above 0"):
        MaxEnt(l1="cv").fit(X, y, (y == 0).astype(float))
    with pytest.raises(OptionError, match="no column says anything about the class"):
        MaxEnt(l1="cv").fit(np.tile([[0.0, 1.0], [1.0, 0.0]], (4, 1)), np.repeat([0, 1], 4))
    with pytest.raises(OptionError, match="l1='ebic' is neither a number >= 0 nor \"cv\""):
        MaxEnt(l1="ebic").fit(X, y)


@every_kind
def test_ctrl_c_ends_the_folds_before_the_training(n_classes, multi_class, monkeypatch):
    X, y = samples(n_classes)

    def interrupted(crew, make, n):
        yield make(0, lambda record, state: True)

    monkeypatch.setattr(resampling.Crew, "make", interrupted)
    model = MaxEnt(l1="cv", multi_class=multi_class)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_a_file_has_the_chosen_strength_and_a_clone_the_option(tmp_path):
    X, y = samples()
    model = MaxEnt(l1="cv").fit(X, y)
    model.save(tmp_path / "model")
    loaded = MaxEnt.load(tmp_path / "model")
    assert loaded.l1 == loaded.l1_ == model.l1_
    assert clone(model).l1 == "cv"


@pytest.mark.parametrize("solver", ["lbfgs", "bfgs", LBFGS()])
def test_a_solver_without_l1_penalties_is_refused_before_the_folds(solver, monkeypatch):
    X, y = samples()
    monkeypatch.setattr(maxent, "folds_of_classifier", None)
    with pytest.raises(OptionError, match="bfgs does not support an L1 penalty, and l1='cv' chooses one; leave out"):
        MaxEnt(l1="cv", solver=solver).fit(X, y)


@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "softmax"), (3, "ovr")])
def test_a_strength_that_leaves_no_feature_is_said_to_be_chosen_once(n_classes, multi_class):
    X, y = samples(n_classes)
    with pytest.warns(UserWarning, match="no feature is left") as caught:
        model = MaxEnt(l1="cv", multi_class=multi_class).fit(X, np.random.default_rng(6).permutation(y))
    assert not model.coef_.any()
    expected = f"no feature is left: l1='cv' chose l1={model.l1_:g}, as none helps to predict held-out samples"
    assert [str(warning.message) for warning in caught] == [expected]


def test_the_choice_of_a_strength_prints_what_was_tried_and_chosen():
    cv = CrossValidation("l1", np.array([4.0, 2.0, 1.0]), np.array([0.5, 0.7, 0.71]), np.array([0.1, 0.1, 0.02]), "f1")
    assert repr(cv) == "CrossValidation(l1, 3 strengths from 4 to 1, f1, best=1, l1=2, l2=0)"
    told = "l1 2 chosen by 5-fold cross-validation: F1 on held-out folds 70.00 %, best 71.00 % at l1 1 "
    told += "(standard error 2.00 %)"
    assert cv.account == told
