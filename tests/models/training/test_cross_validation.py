"""Cross-validation of the strength of a classifier's L1 penalty."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics import log_loss

from loglinear import DataError, MaxEnt, OptionError
from loglinear.models.training import cross_validation
from loglinear.models.training.cross_validation import FOLDS, CrossValidation, folds_of
from loglinear.objectives.classifier import ClassifierObjective


def samples(n_classes: int = 2, n: int = 120, *, seed: int = 0):
    """Return samples of which two of eight columns tell the class, and the classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    scores = X[:, :2] @ rng.normal(size=(2, n_classes)) * 2.0 + rng.gumbel(size=(n, n_classes))
    return X, scores.argmax(axis=1)


def folds(X, y, weights=None, seed: int = 0):
    objective = ClassifierObjective(X, y, weights, n_classes=int(y.max()) + 1)
    return folds_of(objective, seed, np.unique(y))


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (2, True), (3, False)])
def test_the_losses_are_those_of_a_loop_over_strengths_and_folds(n_classes, weighted):
    X, y = samples(n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, y.size) if weighted else np.ones(y.size)
    cv = MaxEnt(l1="cv", l2=0.5, random_state=3).fit(X, y, weights).cross_validation_
    chosen = np.arange(4, cv.strengths.size, 7)  # the first ones may leave no feature
    table, shares = [], []
    for held in folds(X, y, weights, seed=3):
        rest = np.setdiff1d(np.arange(y.size), held)
        share = weights[rest].sum() / weights.sum()
        models = [MaxEnt(l1=l1 * share, l2=0.5, tolerance=1e-10) for l1 in cv.strengths[chosen]]
        answers = [model.fit(X[rest], y[rest], weights[rest]).predict_proba(X[held]) for model in models]
        table.append([log_loss(y[held], p, sample_weight=weights[held]) for p in answers])
        shares.append(1.0 - share)
    means = np.average(table, axis=0, weights=shares)
    errors = np.sqrt(np.average((table - means) ** 2, axis=0, weights=shares) / (FOLDS - 1))
    np.testing.assert_allclose(cv.losses[chosen], means, rtol=2e-3)
    np.testing.assert_allclose(cv.errors[chosen], errors, atol=2e-3)


def test_the_strength_is_the_largest_within_one_standard_error_of_the_lowest_loss():
    strengths = np.array([8.0, 4.0, 2.0, 1.0])
    cv = CrossValidation(strengths, np.array([0.9, 0.55, 0.5, 0.6]), np.array([0.5, 0.01, 0.1, 0.2]))
    assert (cv.best, cv.l1) == (2.0, 4.0)


def test_the_model_is_bitwise_that_of_the_chosen_strength():
    X, y = samples()
    model = MaxEnt(l1="cv").fit(X, y)
    assert model.l1_ == model.cross_validation_.l1
    given = MaxEnt(l1=model.l1_).fit(X, y)
    assert (given.coef_ == model.coef_).all()
    assert (given.l1_, given.cross_validation_) == (model.l1_, None)
    # The columns that tell nothing have no weights.
    assert np.count_nonzero(model.coef_) < X.shape[1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_losses_are_bitwise_the_same_on_any_number_of_threads(n_classes):
    X, y = samples(n_classes)
    alone, together = (MaxEnt(l1="cv", n_jobs=n).fit(X, y).cross_validation_ for n in (1, 3))
    assert (alone.losses == together.losses).all()
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


def test_a_strength_that_cannot_be_chosen_is_refused():
    X, y = samples(3)
    alone = np.where(np.arange(y.size) == 5, 7, y)
    with pytest.raises(DataError, match="needs two or more samples of each class, and '7' has one; give a number"):
        MaxEnt(l1="cv").fit(X, alone)
    with pytest.raises(DataError, match="needs samples of two or more classes with weights above 0"):
        MaxEnt(l1="cv").fit(X, y, (y == 0).astype(float))
    with pytest.raises(OptionError, match=r"by cross-validation \(l1='cv'\) are not available with multi_class='ovr'"):
        MaxEnt(l1="cv", multi_class="ovr").fit(X, y)
    with pytest.raises(OptionError, match="no column says anything about the class"):
        MaxEnt(l1="cv").fit(np.tile([[0.0, 1.0], [1.0, 0.0]], (4, 1)), np.repeat([0, 1], 4))
    with pytest.raises(OptionError, match="l1='ebic' is neither a number >= 0 nor \"cv\""):
        MaxEnt(l1="ebic").fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ctrl_c_ends_the_folds_before_the_training(n_classes, monkeypatch):
    X, y = samples(n_classes)

    def interrupted(make, n, threads):
        yield 0, make(0, lambda record, state: True)

    monkeypatch.setattr(cross_validation, "in_parallel", interrupted)
    model = MaxEnt(l1="cv")
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
