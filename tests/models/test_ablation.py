"""Ablation: the worth of families on held-out data."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import ChainCRF, DataError, DataWarning, MaxEnt, OptionError, ablation
from loglinear.models.ablation import Ablation, FamilyWorth, Smaller

WORDS = [{"w": w, "noise": str(n % 3), "twin": w} for n, w in enumerate(["a", "b"] * 15)]
X, Y = [[word] for word in WORDS], [["A"], ["B"]] * 15
RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(90, 3))
CLASSES = np.where(TABLE[:, 0] + 0.3 * RANDOM.normal(size=90) > 0, "yes", "no")


@pytest.fixture(scope="module")
def worth():
    return ablation(ChainCRF(l2=0.1, n_jobs=1), X, Y, folds=3)


def test_twins_are_worth_little_alone_and_one_of_them_stays(worth):
    by_name = {family.name: family for family in worth.families}
    assert by_name["noise"].worth < by_name["w"].worth < 0.1
    assert "noise" not in worth.smallest.names
    assert [len(model.names) for model in worth.models] == [3, 2, 1]
    assert worth.n_held_out == 30


def test_a_training_without_a_family_is_the_training_on_other_data(worth):
    without = [[{"w": word["w"], "noise": word["noise"]} for word in sentence] for sentence in X]
    other = ablation(ChainCRF(l2=0.1, n_jobs=1), without, Y, folds=3)
    loss = worth.models[0].loss + next(family.worth for family in worth.families if family.name == "twin")
    assert other.models[0].loss == pytest.approx(loss, abs=1e-3)


def test_the_loss_of_held_out_data_is_that_of_the_estimator():
    model = ChainCRF(l2=0.1, n_jobs=1)
    found = ablation(model, X[:20], Y[:20], X_dev=X[20:], y_dev=Y[20:])
    expected = -model.fit(X[:20], Y[:20]).log_probability(X[20:], Y[20:]).mean()
    assert found.models[0].loss == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("by", ["leave-out", "lasso"])
def test_columns_of_a_classifier_are_ordered_by_their_worth(by):
    found = ablation(MaxEnt(l2=1.0, n_jobs=1), TABLE, CLASSES, folds=3, by=by)
    assert found.families[0].name == "0"
    assert found.smallest.names[0] == "0"
    assert (found.families[0].entry is not None) == (by == "lasso")
    frame = found.to_frame()
    assert list(frame["family"]) == [family.name for family in found.families]


def test_held_out_samples_of_a_classifier_have_its_loss():
    model = MaxEnt(l2=1.0, n_jobs=1)
    found = ablation(model, TABLE[:60], CLASSES[:60], X_dev=TABLE[60:], y_dev=CLASSES[60:])
    fitted = model.fit(TABLE[:60], CLASSES[:60])
    rows = fitted.predict_log_proba(TABLE[60:])
    expected = -rows[np.arange(30), np.searchsorted(fitted.classes_, CLASSES[60:])].mean()
    assert found.models[0].loss == pytest.approx(expected, abs=1e-5)


def test_the_smallest_model_is_within_one_standard_error_of_the_best():
    families = tuple(FamilyWorth(name, 1, 1.0, 0.1) for name in "abc")
    models = (Smaller(("a", "b", "c"), 1.0, 0.2), Smaller(("a", "b"), 1.15, 0.2), Smaller(("a",), 1.3, 0.2))
    found = Ablation(families, models, "samples", 9, (1.0, 2.0), (3, 6), "a:%x[0,0]\nb:%x[1,0]\nc:%x[2,0]\n")
    assert found.best.names == ("a", "b", "c")
    assert found.smallest.names == ("a", "b")
    assert found.smallest_template == "a:%x[0,0]\nb:%x[1,0]\n"
    assert "2 families" in str(found)
    assert "2.0 times" in str(found)


def test_figures_are_equal_for_equal_numbers(worth, tmp_path):
    for name in ("a.svg", "b.svg"):
        worth.save_figure(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with pytest.raises(OptionError, match="unknown figure format"):
        worth.save_figure(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("model", "arguments", "options", "error", "message"),
    [
        (ChainCRF(), ([[{"w": "a"}]] * 4, [["A"]] * 4), {}, OptionError, "single family, 'w'"),
        (ChainCRF(), (X[:1], Y[:1]), {}, DataError, "1 sentence cannot be divided into folds"),
        (ChainCRF(), (X, Y), {"folds": 1}, OptionError, "folds=1"),
        (ChainCRF(), (X, Y), {"by": "worth"}, OptionError, "by='worth' is not one of"),
        (ChainCRF(), (X, Y), {"y_dev": Y}, OptionError, "y_dev needs the data"),
        (ChainCRF(), (X, Y), {"X_dev": X[:1], "y_dev": [["C"]]}, DataError, "labels that the training data lack"),
        (ChainCRF(), (X, Y), {"X_dev": X}, DataError, "X_dev: the held-out data have no labels; give y_dev"),
        (ChainCRF(), (X, Y), {"X_dev": [[]], "y_dev": [[]]}, DataError, "X_dev: the held-out data have no tokens"),
        (ChainCRF(penalty_factor={"w": 2.0}), (X, Y), {}, OptionError, "ablation is not available with penalty_factor"),
        (MaxEnt(l1="cv"), (TABLE, CLASSES), {}, OptionError, "not available with l1='cv'"),
        (MaxEnt(multi_class="ovr"), (TABLE, CLASSES), {}, OptionError, "multi_class='ovr'"),
        ("model", (X, Y), {}, OptionError, "is not a ChainCRF or MaxEnt"),
    ],
)
@pytest.mark.filterwarnings("ignore::loglinear.DataWarning")
def test_bad_input_is_refused(model, arguments, options, error, message):
    with pytest.raises(error, match=message):
        ablation(model, *arguments, **options)


def test_held_out_sentences_with_unknown_labels_do_not_count():
    with pytest.warns(DataWarning, match="1 held-out sentence with labels that the training data lack"):
        found = ablation(ChainCRF(l2=0.1, n_jobs=1), X[:20], Y[:20], X_dev=X[20:26], y_dev=[*Y[20:25], ["C"]])
    assert found.n_held_out == 5
    with pytest.warns(DataWarning, match="1 held-out sample with labels"):
        found = ablation(MaxEnt(n_jobs=1), TABLE[:60], CLASSES[:60], X_dev=TABLE[60:64], y_dev=[*CLASSES[60:63], "C"])
    assert found.n_held_out == 3


def test_labels_of_one_fold_are_warned_of():
    with pytest.warns(DataWarning, match="one fold alone cannot be learned without it: 'C'"):
        ablation(ChainCRF(l2=0.1, n_jobs=1), [*X, X[0]], [*Y, ["C"]], folds=3)
