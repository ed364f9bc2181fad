"""Classifiers trained around an older one, by one strength and piece by piece."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from loglinear import ChainCRF, ChainObjective, Corpus, MaxEnt, TextClassifier
from loglinear.errors import DataError, OptionError

TIGHT = {"solver": "lbfgs", "solver_options": {"tolerance": 0.0, "gradient_tolerance": 1e-10}}
OLD = [["good", "film"], ["bad"], ["good"], ["bad", "film"]], ["+", "-", "+", "-"]
NEW = [["fine"], ["awful", "film"], ["good"]], ["+", "-", "-"]


def samples(seed, n_classes, n=120, d=4):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), np.random.default_rng(99).normal(size=(d, n_classes))
    return X, (X @ w + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strength", [0.3, 20.0])
def test_the_optimum_is_that_of_the_centred_penalty_in_scipy(n_classes, strength):
    old = MaxEnt().fit(*samples(1, n_classes))
    X, y = samples(2, n_classes, n=40)
    new = MaxEnt(**TIGHT).fit(X, y, prior=old, prior_strength=strength)
    c = np.column_stack([old.coef_, old.intercept_])
    design = np.column_stack([X, np.ones(len(X))])

    def penalised(flat):
        scores = design @ flat.reshape(c.shape).T
        scores = np.column_stack([np.zeros(len(X)), scores]) if n_classes == 2 else scores
        logs = scipy.special.log_softmax(scores, axis=1)
        return -logs[np.arange(len(y)), y].sum() + 0.5 * strength * ((flat - c.ravel()) ** 2).sum()

    oracle = scipy.optimize.minimize(penalised, c.ravel(), options={"gtol": 1e-6})
    assert new.result_.objective == pytest.approx(oracle.fun, rel=1e-8)
    found = np.column_stack([new.coef_, new.intercept_])
    np.testing.assert_allclose(found, oracle.x.reshape(c.shape), atol=1e-4)
    assert new.result_.gap < 1e-6


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_infinite_strength_gives_the_old_model_and_0_a_training_from_scratch(n_classes, multi_class):
    old = MaxEnt(multi_class=multi_class).fit(*samples(1, n_classes))
    X, y = samples(2, n_classes)
    same = MaxEnt(multi_class=multi_class).fit(X, y, prior=old, prior_strength=math.inf)
    np.testing.assert_array_equal(same.coef_, old.coef_)
    np.testing.assert_array_equal(same.intercept_, old.intercept_)
    scratch = MaxEnt(multi_class=multi_class, l2=0.0, **TIGHT).fit(X, y)
    free = MaxEnt(multi_class=multi_class, **TIGHT).fit(X, y, prior=old, prior_strength=0)
    np.testing.assert_allclose(free.predict_proba(X), scratch.predict_proba(X), atol=1e-6)


def test_attributes_and_classes_that_the_new_data_lack_stay():
    old = MaxEnt().fit([["a"], ["b"], ["c", "x"]], ["A", "B", "C"])
    new = MaxEnt().fit([["a"], ["d"]], ["A", "D"], prior=old, prior_strength=3.0)
    assert new.classes_.tolist() == ["A", "B", "C", "D"]
    before = dict(zip(old.attributes_, old.coef_.T.tolist(), strict=True))
    after = dict(zip(new.attributes_, new.coef_.T.tolist(), strict=True))
    assert {*after} == {"a", "b", "c", "x", "d"}
    assert after["x"] == [*before["x"], 0.0]
    assert after["d"][3] > 0.0
    assert new.predict([["a"], ["b"], ["c"], ["d"]]).tolist() == ["A", "B", "C", "D"]
    prior = new.result_.prior
    assert (prior.strength, prior.new_labels, prior.n_seen) == (3.0, ["D"], None)


def test_a_prior_of_two_classes_serves_three():
    old = MaxEnt().fit([["a"], ["b"]], ["A", "B"])
    new = MaxEnt().fit([["c"], ["d"]], ["C", "C"], prior=old, prior_strength=1e6)
    shares = new.predict_proba([["a"], ["b"]])[:, :2]
    np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), old.predict_proba([["a"], ["b"]]), atol=1e-4)


def test_l1_around_the_old_weights_leaves_some_of_them_exactly(tmp_path):
    old = MaxEnt().fit(*samples(1, 3))
    path = tmp_path / "old.loglinear"
    old.save(path)
    X, y = samples(2, 3, n=30)
    new = MaxEnt(l1=2.0).fit(X, y, prior=path)
    same = new.coef_ == MaxEnt.load(path).coef_
    assert same.any()
    assert not same.all()
    saved = tmp_path / "new.loglinear"
    new.save(saved)
    assert MaxEnt.load(saved).predict(X).tolist() == new.predict(X).tolist()


def test_a_table_needs_the_columns_of_the_prior():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 0.0, 1.0, 0.0]})
    old = MaxEnt().fit(table, [0, 0, 1, 1])
    wider = table.assign(c=[0.0, 1.0, 1.0, 0.0])[["c", "b", "a"]]
    new = MaxEnt().fit(wider, [0, 1, 1, 0], prior=old, prior_strength=1e5)
    np.testing.assert_allclose(new.coef_[0, ::-1][:2], old.coef_[0], atol=1e-4)
    with pytest.raises(DataError, match="X lacks column 'b' of the older model"):
        MaxEnt().fit(table[["a"]], [0, 0, 1, 1], prior=old)
    with pytest.raises(DataError, match="columns"):
        MaxEnt().fit(np.ones((2, 3)) * [[1], [2]], [0, 1], prior=MaxEnt().fit(table.to_numpy(), [0, 0, 1, 1]))


def test_weights_of_softmax_and_one_vs_rest_are_not_mixed_but_those_of_two_classes_are_the_same(tmp_path):
    for ours, theirs in (("softmax", "ovr"), ("ovr", "softmax")):
        old = MaxEnt(multi_class=theirs).fit(*samples(1, 3))
        old.save(tmp_path / "old")
        for prior in (old, tmp_path / "old"):
            with pytest.raises(
                OptionError, match=rf"set multi_class='{theirs}' \(--multi-class {theirs}\), or give it as"
            ):
                MaxEnt(multi_class=ours).fit(*samples(2, 3), prior=prior)
        assert MaxEnt(multi_class=ours).fit(*samples(2, 3), start=old).score(*samples(2, 3)) > 0.5
        of_two = MaxEnt(multi_class=theirs).fit(*samples(1, 2))
        same = MaxEnt(multi_class=ours).fit(*samples(2, 2), prior=of_two, prior_strength=math.inf)
        np.testing.assert_array_equal(same.coef_, of_two.coef_)
        MaxEnt(multi_class=ours).fit(*samples(2, 3), prior=of_two)


def test_each_model_of_one_vs_rest_has_the_account_of_the_prior():
    old = MaxEnt(multi_class="ovr").fit(*samples(1, 3))
    new = MaxEnt(multi_class="ovr").fit(*samples(2, 3), prior=old, prior_strength=2.0)
    assert [(result.prior.strength, result.prior.n_shared) for result in new.results_] == [(2.0, 5)] * 3


def test_a_calibrated_prior_is_a_warning():
    old = MaxEnt(l2=1e-3).fit(*samples(1, 2, n=12)).calibrate(*samples(3, 2))
    assert old.temperature_ > 1.0
    with pytest.warns(
        UserWarning, match=r"the older model is calibrated, its weights divided by .* the new model is not"
    ):
        new = MaxEnt().fit(*samples(2, 2), prior=old)
    assert new.temperature_ == 1.0


def test_what_does_not_go_together_is_refused():
    old = MaxEnt().fit(*OLD)
    with pytest.raises(OptionError, match="both start and prior"):
        MaxEnt().fit(*NEW, start=old, prior=old)
    with pytest.raises(OptionError, match="needs a prior"):
        MaxEnt().fit(*NEW, prior_strength=1)
    with pytest.raises(OptionError, match="prior_strength=-1"):
        MaxEnt().fit(*NEW, prior=old, prior_strength=-1)
    with pytest.raises(OptionError, match="has an intercept"):
        MaxEnt(fit_intercept=False).fit(
            NEW[0], ["+", "-", "+"], prior=MaxEnt().fit([["a"], ["b"], ["b"]], ["+", "-", "-"])
        )
    with pytest.raises(OptionError, match="l1='cv' is not available with a prior"):
        MaxEnt(l1="cv").fit(*NEW, prior=old)
    with pytest.raises(DataError, match="classes have type int"):
        MaxEnt().fit(NEW[0], [0, 1, 1], prior=old)
    with pytest.raises(OptionError, match="is neither a MaxEnt nor the path"):
        MaxEnt().fit(*NEW, prior=ChainCRF().fit([[["a"], ["b"]]], [["A", "B"]]))
    with pytest.raises(OptionError, match=r"sag needs .*use"):
        MaxEnt(solver="sag").fit(*NEW, prior=old)


def test_texts_keep_the_words_of_the_prior():
    old = TextClassifier().fit(["good film", "bad film"], ["+", "-"])
    new = TextClassifier().fit(["fine plot", "awful plot"], ["+", "-"], prior=old, prior_strength=2.0)
    before = dict(zip(old.words_, old.coef_[0], strict=True))
    after = dict(zip(new.words_, new.coef_[0], strict=True))
    assert {*after} == {"good", "bad", "film", "fine", "awful", "plot"}
    assert {word: after[word] for word in before} == before
    assert new.predict(["good", "awful"]).tolist() == ["+", "-"]
    with pytest.raises(OptionError, match="tfidf=True is not available"):
        TextClassifier(tfidf=True).fit(["fine"], ["+"], prior=old)
    with pytest.raises(OptionError, match="use the same options"):
        TextClassifier(ngrams="1-2").fit(["fine"], ["+"], prior=old)


# Pieces.


def in_pieces(model, X, y, size, **arguments):
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size], **arguments)
    return model


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pieces_come_near_to_all_at_once(n_classes, multi_class):
    X, y = samples(3, n_classes, n=600)
    whole = MaxEnt(multi_class=multi_class).fit(X, y)
    pieces = in_pieces(MaxEnt(multi_class=multi_class), X, y, 60, classes=range(n_classes))
    last = MaxEnt(multi_class=multi_class).fit(X[-60:], y[-60:])
    distance = np.abs(pieces.predict_proba(X) - whole.predict_proba(X)).mean()
    assert distance < 0.03
    assert distance < 0.4 * np.abs(last.predict_proba(X) - whole.predict_proba(X)).mean()
    assert pieces.result_.prior.n_seen == 540 if multi_class == "softmax" or n_classes == 2 else True


def test_the_precision_is_l2_plus_the_curvature_of_the_former_pieces():
    X, y = samples(4, 2, n=80)
    first = MaxEnt(l2=0.7, **TIGHT).partial_fit(X[:50], y[:50], classes=[0, 1])
    second = pickle.loads(pickle.dumps(first)).partial_fit(X[50:], y[50:])
    design = np.column_stack([X, np.ones(len(X))])
    c = np.append(first.coef_, first.intercept_)
    p = scipy.special.expit(design[:50] @ c)
    precision = 0.7 + (p * (1 - p)) @ design[:50] ** 2

    def penalised(w):
        margins = (design[50:] @ w) * np.where(y[50:] == 1, 1.0, -1.0)
        return np.logaddexp(0.0, -margins).sum() + 0.5 * precision @ (w - c) ** 2

    oracle = scipy.optimize.minimize(penalised, c, options={"gtol": 1e-7})
    np.testing.assert_allclose(np.append(second.coef_, second.intercept_), oracle.x, atol=1e-5)


def test_the_first_piece_may_lack_classes_and_later_ones_bring_attributes(tmp_path):
    model = MaxEnt().partial_fit([["a"], ["b"]], ["A", "B"], classes=["A", "B", "C"])
    assert model.classes_.tolist() == ["A", "B", "C"]
    model.partial_fit([["c"]], ["C"]).partial_fit([["a"]], ["A"], classes=["A", "B", "C"])
    assert {*model.attributes_} == {"a", "b", "c"}
    assert model.predict([["a"], ["b"], ["c"]]).tolist() == ["A", "B", "C"]
    path = tmp_path / "model.loglinear"
    model.save(path)
    loaded = MaxEnt.load(path)
    assert loaded.partial_fit([["b"]], ["B"]).result_.prior.n_seen == 4
    assert loaded.predict([["a"], ["b"], ["c"]]).tolist() == ["A", "B", "C"]


def test_pieces_after_a_fit_go_on_from_it():
    X, y = samples(5, 2, n=200)
    model = MaxEnt().fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(X[:5], 1 - y[:5])
    assert model.result_.prior.n_seen == 200
    assert np.abs(model.coef_ - before).max() < 0.3


def test_pieces_of_texts_collect_words():
    model = TextClassifier().partial_fit(["good film", "bad film"], ["+", "-"], classes=["+", "-"])
    model.partial_fit(["awful"], ["-"]).partial_fit(["fine"], ["+"])
    assert model.words_ == ["awful", "bad", "film", "fine", "good"]
    assert model.predict(["good", "bad", "fine", "awful"]).tolist() == ["+", "-", "+", "-"]
    with pytest.raises(OptionError, match="tfidf"):
        TextClassifier(tfidf=True).partial_fit(["good"], ["+"], classes=["+", "-"])


def test_pieces_that_do_not_go_together_are_refused_and_leave_the_model():
    with pytest.raises(OptionError, match="classes is needed in the first call"):
        MaxEnt().partial_fit([["a"]], ["A"])
    model = MaxEnt().partial_fit([["a"], ["b"]], ["A", "B"], classes=["A", "B"])
    before = model.coef_.copy()
    with pytest.raises(DataError, match="label 'C', which is not among the classes"):
        model.partial_fit([["c"]], ["C"])
    with pytest.raises(OptionError, match="classes differ"):
        model.partial_fit([["a"]], ["A"], classes=["A", "C"])
    with pytest.raises(DataError, match="matrix"):
        model.partial_fit(np.ones((1, 2)), ["A"])
    np.testing.assert_array_equal(model.coef_, before)
    assert model.predict([["a"]]).tolist() == ["A"]
    with pytest.raises(OptionError, match=r"l1=0\.5"):
        MaxEnt(l1=0.5).partial_fit([["a"]], ["A"], classes=["A", "B"])
    with pytest.raises(OptionError, match="needs l2 > 0"):
        MaxEnt(l2=0).partial_fit([["a"]], ["A"], classes=["A", "B"])


def test_the_precision_of_a_chain_is_l2_plus_the_curvature_of_all_former_pieces():
    from oracles.samples import sentences

    # The same sentences in each piece, so that all pieces have the same features in the same order.
    X, y = sentences(30, 5)
    objective = ChainObjective(Corpus.encode(X, y))
    crf, l2 = ChainCRF(l2=0.7, **TIGHT), 0.7
    precision, c = np.full(objective.n_features, l2), np.zeros(objective.n_features)
    for _ in range(3):
        w = crf.partial_fit(X, y).result_.w
        slope = objective.value_and_gradient(w)[1] + precision * (w - c)
        np.testing.assert_allclose(slope, 0.0, atol=1e-6)
        curvature = objective.hessian_diagonal(w)
        # The diagonal of the Hessian, by central differences of the gradient. Labels of neighbours are taken as
        # independent: exact for states but for the repeats in a sentence, up to half too small for transitions.
        exact = np.empty(w.size)
        for feature, step in enumerate(np.eye(w.size) * 1e-4):
            ahead, behind = (objective.value_and_gradient(w + sign * step)[1][feature] for sign in (1.0, -1.0))
            exact[feature] = (ahead - behind) / 2e-4
        assert (0.4 * exact < curvature).all()
        assert (curvature < 1.02 * exact).all()
        precision, c = precision + curvature, w


def test_pieces_of_sentences_come_near_to_all_at_once(tmp_path):
    from oracles.samples import sentences

    distances = []
    for seed in (11, 21, 31):
        X, y = sentences(200, seed)
        whole = ChainCRF().fit(X, y)
        pieces = ChainCRF()
        for start in range(0, 200, 20):
            pieces.partial_fit(X[start : start + 20], y[start : start + 20])
        last = ChainCRF().fit(X[-20:], y[-20:])
        x_new, _ = sentences(50, seed + 1)

        def distance(model, whole=whole, x_new=x_new):
            known = [*map(model.classes_.index, whole.classes_)]
            both = zip(model.marginals(x_new), whole.marginals(x_new), strict=True)
            return np.mean([np.abs(one[:, known] - other).mean() for one, other in both if other.size])

        distances.append([distance(pieces), distance(last)])
    # The diagonal leaves out how features vary together, and early pieces are summed up at weights that were still far
    # away: with ten pieces, probabilities differ by 0.041 on average, and by 0.113 after the last piece alone. Half of
    # the curvature gives 0.058, the curvature of the last piece alone 0.097.
    of_pieces, of_last = np.mean(distances, axis=0)
    assert of_pieces < 0.05
    assert of_pieces < 0.42 * of_last
    assert pieces.result_.prior.n_seen == 180
    path = tmp_path / "crf.loglinear"
    pieces.save(path)
    loaded = ChainCRF.load(path).partial_fit(X[:20], y[:20])
    assert loaded.result_.prior.n_seen == 200
    with pytest.raises(OptionError, match="partial labels"):
        loaded.partial_fit([[["a"], ["b"]]], [[None, "B"]])
    with pytest.raises(OptionError, match="how many samples it has seen"):
        ChainCRF.of_weights(["A", "B"], {("a", "A"): 1.0}, {}).partial_fit([[["a"]]], [["B"]])


def test_classes_of_another_type_in_y_are_named():
    with pytest.raises(DataError, match="classes have type int in y, but type float in the argument classes"):
        MaxEnt().partial_fit([[0.0], [1.0]], [0, 1], classes=[0.0, 1.0, 2.0])
