"""Cross-validation of the strengths of a chain's penalties."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from loglinear import ChainCRF, Checkpoint, Corpus, DataError, DataWarning, MaxEnt, OptionError
from loglinear.models.files.schema import checked_settings
from loglinear.models.training import chain_folds, resampling
from loglinear.models.training.chain_folds import ChainFolds
from loglinear.models.training.folds import folds_of_chain
from loglinear.objectives.chain import ChainObjective
from loglinear.report.cross_validation import CrossValidation

TAGS = ["B-X", "I-X", "O"]


@cache
def sentences(n: int = 40, seed: int = 0, labels: tuple[str, ...] = tuple(TAGS)):
    """Return sentences of words that tell the label, with noise, and their labels."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        tags = rng.choice(3, size=rng.integers(3, 7), p=(0.2, 0.2, 0.6)).tolist()
        noise = rng.integers(3, size=len(tags)).tolist()
        words = [tag if rng.random() < 0.85 else other for tag, other in zip(tags, noise, strict=True)]
        X.append([[f"w={word}", f"n={rng.integers(40)}"] for word in words])
        y.append([labels[tag] for tag in tags])
    return X, y


@cache
def fitted(penalty: str, metric: str | None = None):
    X, y = sentences()
    return ChainCRF(**{penalty: "cv"}, metric=metric, folds=4, random_state=2, n_jobs=2).fit(X, y)


def left_out(metric: str, penalty: str, strength: float, weights=None, groups=None):
    """Return the scores of a loop over the same folds, trained from weights of 0, and the shares of the folds."""
    X, y = sentences()
    weights = np.ones(len(X)) if weights is None else weights
    objective = ChainObjective(Corpus.encode(X, y, sample_weight=weights.tolist()))
    scores, shares = [], []
    for held in folds_of_chain(objective, 2, groups, n_folds=4, option=penalty):
        rest = np.setdiff1d(np.flatnonzero(weights > 0.0), held)
        share = weights[held].sum() / weights.sum()
        crf = ChainCRF(**{penalty: strength * (1.0 - share)}, tolerance=1e-9)
        crf.fit([X[at] for at in rest], [y[at] for at in rest], sample_weight=weights[rest].tolist())
        X_held, y_held = [X[at] for at in held], [y[at] for at in held]
        if metric == "log_likelihood":
            logs, lengths = crf.log_probability(X_held, y_held), [*map(len, X_held)]
            scores.append(weights[held] @ logs / (weights[held] @ lengths))
        else:
            scores.append(crf.score(X_held, y_held, metric=metric))
        shares.append(share)
    return np.array(scores), np.array(shares)


@pytest.mark.parametrize(
    ("penalty", "metric"), [("l1", "log_likelihood"), ("l2", "log_likelihood"), ("l1", "accuracy")]
)
def test_the_scores_are_those_of_a_loop_over_the_folds_with_trainings_of_their_own(penalty, metric):
    cv = fitted(penalty, metric).cross_validation_
    for at in (cv.strengths.size // 2, cv.strengths.size - 1):
        scores, shares = left_out(metric, penalty, cv.strengths[at])
        mean = shares @ scores
        tolerance = 2e-3 if metric == "log_likelihood" else 0.02
        assert cv.scores[at] == pytest.approx(mean, abs=tolerance)
        assert cv.errors[at] == pytest.approx(np.sqrt(shares @ (scores - mean) ** 2 / 3), abs=tolerance)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_model_is_bitwise_that_of_the_chosen_strength(penalty):
    X, y = sentences()
    crf = fitted(penalty)
    cv = crf.cross_validation_
    within = cv.scores >= cv.scores.max() - cv.errors[cv.scores.argmax()]
    assert getattr(crf, f"{penalty}_") == cv.chosen == cv.strengths[within].max()
    given = ChainCRF(**{penalty: cv.chosen}).fit(X, y)
    assert given.cross_validation_ is None
    assert given.model_.state_features() == crf.model_.state_features()


def test_both_strengths_are_chosen_one_after_the_other():
    X, y = sentences()
    crf = ChainCRF(l1="cv", l2="cv", folds=3).fit(X, y)
    cv = crf.cross_validation_
    first = ChainCRF(l2="cv", folds=3).fit(X, y).cross_validation_
    assert (cv.before.scores == first.scores).all()
    assert crf.l2_ == cv.other == first.best
    assert (cv.penalty, cv.before.penalty, crf.l1_) == ("l1", "l2", cv.chosen)


def test_the_metric_is_f1_of_chunks_if_the_labels_mark_chunks_and_else_the_accuracy():
    assert fitted("l1").cross_validation_.metric == "f1"
    X, y = sentences(labels=("A", "B", "C"))
    assert ChainCRF(l2="cv", folds=2).fit(X, y).cross_validation_.metric == "accuracy"
    with pytest.raises(
        OptionError, match="metric='f1' needs labels of a tagging scheme, such as B-PER, I-PER and O; u"
    ):
        ChainCRF(l2="cv", metric="f1").fit(X, y)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_scores_are_bitwise_the_same_on_any_number_of_threads_and_differ_by_seed(penalty):
    X, y = sentences()
    one, other = (ChainCRF(**{penalty: "cv"}, folds=4, n_jobs=1, random_state=seed).fit(X, y) for seed in (2, 3))
    together = fitted(penalty).cross_validation_
    for name in ("strengths", "scores", "errors"):
        assert (getattr(one.cross_validation_, name) == getattr(together, name)).all()
    size = min(together.scores.size, other.cross_validation_.scores.size)
    assert (other.cross_validation_.scores[:size] != together.scores[:size]).any()


@pytest.fixture
def rough(monkeypatch):
    """Take small data for large."""
    for penalty in ("l1", "l2"):
        fitted(penalty)  # for later use
    monkeypatch.setattr(chain_folds, "FEW_CELLS", 0)
    monkeypatch.setattr(chain_folds, "LEAST", 5)


@pytest.mark.filterwarnings("ignore:no feature is left")
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_short_trainings_on_larger_data_give_about_the_scores_of_optima(penalty, rough):
    X, y = sentences()
    cv, exact = ChainCRF(**{penalty: "cv"}, folds=4, random_state=2).fit(X, y).cross_validation_, fitted(penalty)
    assert cv.strengths.size <= exact.cross_validation_.strengths.size
    for strength, score in zip(cv.strengths, cv.scores, strict=True):
        scores, shares = left_out("f1", penalty, strength)
        assert score == pytest.approx(shares @ scores, abs=0.05)


def test_stronger_strengths_follow_if_the_first_one_of_larger_data_is_chosen(rough, monkeypatch):
    X, y = sentences()
    monkeypatch.setattr(ChainFolds, "first", lambda *_: 0.01)
    cv = ChainCRF(l1="cv", folds=4, metric="log_likelihood").fit(X, y).cross_validation_
    assert cv.strengths[0] > 0.01
    assert (np.diff(cv.strengths) < 0.0).all()
    assert cv.chosen < cv.strengths[0]


def test_sentences_of_a_group_are_in_one_fold():
    X, y = sentences()
    groups = np.repeat(np.arange(10), 4)
    objective = ChainObjective(Corpus.encode(X, y))
    folds = folds_of_chain(objective, 0, groups, n_folds=5, option="l1")
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(len(X)))
    assert all(np.unique(groups[fold]).size == 2 and fold.size == 8 for fold in folds)
    cv = ChainCRF(l2="cv", metric="log_likelihood", folds=4, random_state=2).fit(X, y, groups=groups).cross_validation_
    scores, shares = left_out("log_likelihood", "l2", cv.strengths[-1], groups=groups)
    assert cv.scores[-1] == pytest.approx(shares @ scores, abs=2e-3)


def test_copies_in_one_group_say_no_more_than_one_sentence():
    X, y = sentences(20)
    copies, rows = [*X, *X], np.tile(np.arange(20), 2)
    crf = ChainCRF(l2="cv", metric="log_likelihood", folds=4)
    loose = crf.fit(copies, [*y, *y]).cross_validation_
    kept = crf.fit(copies, [*y, *y], groups=[f"document {row}" for row in rows]).cross_validation_
    assert kept.scores.max() < loose.scores.max()


def test_sentences_without_weight_are_in_no_fold():
    X, y = sentences()
    weights = np.where(np.arange(len(X)) < 10, 0.0, 1.0)
    objective = ChainObjective(Corpus.encode(X, y, sample_weight=weights.tolist()))
    assert np.concatenate(folds_of_chain(objective, 0, n_folds=5, option="l1")).min() == 10
    crf = ChainCRF(l2="cv", metric="log_likelihood", folds=4, random_state=2)
    cv = crf.fit(X, y, sample_weight=weights.tolist()).cross_validation_
    scores, shares = left_out("log_likelihood", "l2", cv.strengths[-1], weights)
    assert cv.scores[-1] == pytest.approx(shares @ scores, abs=2e-3)


def test_a_label_in_one_fold_alone_is_warned_of():
    X, y = sentences()
    y = [*y[:-1], ["B-Y"] * len(y[-1])]
    with pytest.warns(
        DataWarning, match=r"all tokens of 1 label \('B-Y'\) are in fold \d, whose score counts them as wr"
    ):
        ChainCRF(l1="cv", folds=4).fit(X, y)


def test_data_that_cannot_be_folds_are_refused():
    X, y = sentences()
    message = r"3 sentences with a weight above 0 cannot be divided into 5 folds; give folds=3 \(--folds 3\), or give"
    with pytest.raises(DataError, match=message):
        ChainCRF(l1="cv").fit(X[:3], y[:3])
    message = r"l2='cv': 3 groups cannot be divided into 5 folds; give folds=3 \(--folds 3\), or give more groups"
    with pytest.raises(OptionError, match=message):
        ChainCRF(l2="cv").fit(X, y, groups=np.arange(len(X)) % 3)
    with pytest.raises(DataError, match=r"groups have shape \(2,\), but X has 40 samples"):
        ChainCRF(l2="cv").fit(X, y, groups=[1, 2])
    with pytest.raises(
        OptionError, match="groups are for l1='cv' and l2='cv', which divide the data into folds; leave"
    ):
        ChainCRF().fit(X, y, groups=[1] * len(X))
    with pytest.raises(DataError, match="l1='cv' needs data with two or more labels"):
        ChainCRF(l1="cv").fit(X, [["O"] * len(labels) for labels in y])


@pytest.mark.parametrize("kind", [ChainCRF, MaxEnt])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds=1 is not a whole number from 2 to 1000"),
        ({"metric": "nll"}, r"metric='nll' is not one of f1, accuracy, log_likelihood \(did you mean log_likelihood"),
        ({"metric": "acuracy"}, r"is not one of f1, accuracy, log_likelihood \(did you mean accuracy\?\)"),
        (
            {"solver": "lbfgs"},
            "lbfgs does not support an L1 penalty, and l1='cv' chooses one; leave out solver, or use",
        ),
        ({"l1": 0.0, "folds": 3}, "folds=3 needs a strength to choose; add l1='cv' or l2='cv'"),
        ({"l1": 0.0, "metric": "f1"}, "metric=f1 needs a strength to choose; add l1='cv' or l2='cv'"),
        ({"l2": "CV"}, "l2='CV' is neither a number >= 0 nor \"cv\""),
    ],
)
def test_options_that_do_not_fit_are_refused_before_the_folds(kind, options, message):
    X, y = sentences()
    data = (X, y) if kind is ChainCRF else ([tokens[0] for tokens in X], [labels[0] for labels in y])
    with pytest.raises(OptionError, match=message):
        kind(**{"l1": "cv"} | options).fit(*data)


@pytest.mark.parametrize("kind", [ChainCRF, MaxEnt])
def test_what_would_choose_twice_is_refused(kind, tmp_path):
    X, y = sentences()
    X, y = (X, y) if kind is ChainCRF else ([tokens[0] for tokens in X], [labels[0] for labels in y])
    older = kind().fit(X, y)
    for argument, told in (
        ({"X_dev": X, "y_dev": y}, "development data"),
        ({"start": older}, "a model to start from"),
        ({"prior": older}, "a prior"),
        ({"checkpoint": Checkpoint(tmp_path / "c")}, "a checkpoint"),
    ):
        with pytest.raises(OptionError, match=f"l1='cv' and l2='cv' is not available with {told}.*; give a number"):
            kind(l1="cv", l2="cv").fit(X, y, **argument)
    classes = {"classes": sorted({*y})} if kind is MaxEnt else {}
    with pytest.raises(OptionError, match="partial_fit is not available with l1='cv'"):
        kind(l1="cv").partial_fit(X, y, **classes)
    with pytest.raises(OptionError, match="l2='cv' is not available with"):
        kind(l2="cv").partial_fit(X, y, **classes)


def test_ctrl_c_says_what_was_reached_and_leaves_the_estimator_as_it_was(monkeypatch):
    X, y = sentences()
    crf = clone(fitted("l1", "log_likelihood"))
    made, calls = resampling.Crew.make, []

    def interrupted(crew, make, n):
        calls.append(n)
        if len(calls) > 6:
            raise KeyboardInterrupt
        return made(crew, make, n)

    monkeypatch.setattr(resampling.Crew, "make", interrupted)
    with pytest.warns(UserWarning, match=r"l1='cv' was interrupted after 5 strengths; the best so far is l1=\d"):
        with pytest.raises(KeyboardInterrupt):
            crf.fit(X, y)
    assert "model_" not in vars(crf)


def test_the_last_strength_is_warned_of(monkeypatch):
    X, y = sentences()
    monkeypatch.setattr("loglinear.models.training.cross_validation.onward", lambda strengths, *_, **__: strengths)
    with pytest.warns(UserWarning, match=r"l2='cv' chose the last strength, [\d.]+; a smaller l2 may be better"):
        ChainCRF(l2="cv", metric="log_likelihood").fit(X, y)


def test_scikit_learn_copies_and_searches_estimators_that_choose():
    X, y = sentences()
    assert clone(ChainCRF(l1="cv", folds=3)).get_params()["l1"] == "cv"
    assert repr(ChainCRF(l1="cv", folds=3)) == "ChainCRF(folds=3, l1='cv')"
    search = GridSearchCV(ChainCRF(l2="cv", folds=2), {"min_count": [1, 2]}, cv=2).fit(X, y)
    assert search.best_estimator_.l2_ > 0.0


def test_a_file_has_the_chosen_strengths_and_the_scores(tmp_path):
    crf, path = fitted("l1"), tmp_path / "model"
    crf.save(path)
    loaded = ChainCRF.load(path)
    assert loaded.l1 == loaded.l1_ == crf.l1_
    assert (loaded.folds, loaded.cross_validation_) == (5, None)
    written = json.loads(loaded.model_.settings)["training"]["cross_validation"]
    again = CrossValidation.of_dict(written)
    assert repr(again) == repr(crf.cross_validation_)
    assert (again.scores == crf.cross_validation_.scores).all()


@pytest.mark.parametrize(
    "change", [{"scores": [1.0]}, {"strengths": [0.0] * 3}, {"metric": "f2"}, {"before": {}}, {"errors": "x"}]
)
def test_damaged_scores_in_a_file_are_refused(change):
    settings = json.loads(fitted("l1").model_.settings)
    settings["training"]["cross_validation"] |= change
    (name,) = change
    with pytest.raises(Exception, match=re.compile(f"m: setting training.cross_validation.({name}|strengths)")):
        checked_settings(json.dumps(settings), "m", "chain")


def test_a_figure_and_a_report_show_the_scores(tmp_path):
    X, y = sentences()
    crf = fitted("l1")
    for name in ("a.svg", "b.svg"):
        crf.cross_validation_.save_figure(tmp_path / name)
    svg = (tmp_path / "a.svg").read_text()
    assert svg == (tmp_path / "b.svg").read_text()
    assert "F1 on held-out folds" in svg
    page = crf.report(X, y).html()
    assert page.count('<polygon class="band"') == 1
    assert crf.cross_validation_.account in page
    assert "Strength of the penalty" not in ChainCRF().fit(X, y).report(X, y).html()
    frame = crf.cross_validation_.to_frame()
    assert list(frame.columns) == ["l1", "f1", "error"]
    assert "standard error" in crf.cross_validation_._repr_html_()
    with pytest.raises(OptionError, match="unknown figure format"):
        crf.cross_validation_.save_figure(tmp_path / "a.gif")


def test_intervals_of_weights_follow_the_chosen_strength():
    X, y = sentences()
    crf = ChainCRF(l2="cv", folds=2).fit(X, y)
    assert crf._solver_options().l2 == crf.l2_


@pytest.mark.parametrize("metric", ["accuracy", "log_likelihood"])
@pytest.mark.parametrize("label", [{"B-X": 0.5, "O": 0.5}, {"B-X", "O"}, None])
def test_labels_that_are_partial_are_refused_if_the_score_needs_them(metric, label):
    X, y = sentences(8)
    partial = [*y[:7], [label, *y[7][1:]]]
    crf = ChainCRF(l1="cv", folds=2, metric=metric, n_jobs=1)
    if label is None and metric == "accuracy":
        assert np.isfinite(crf.fit(X, partial).cross_validation_.scores).all()
        return
    with pytest.raises(DataError, match=r"sentence 7, token 0: the label is partial, so .* give a number"):
        crf.fit(X, partial)
