"""Chains trained around an older model: the limits of the strength, what stays, what enters, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from loglinear import ChainCRF, Checkpoint, Corpus, MaxEnt
from loglinear.data.parts import ListedPart
from loglinear.errors import DataError, OptionError
from loglinear.models.training.chain import train_chain
from loglinear.models.training.options import SolverOptions
from loglinear.models.training.prior import ChainPrior
from loglinear.models.training.start import Start
from loglinear.objectives.chain import ChainFeatures, ChainObjective
from loglinear.objectives.older import OlderChain
from loglinear.objectives.parts import ChainParts
from oracles.samples import sentences

TIGHT = {"solver": "lbfgs", "solver_options": {"tolerance": 0.0, "gradient_tolerance": 1e-9}}
OLD = (
    [[["w=the"], ["w=dog", "s=g"], ["w=barks"]], [["w=dogs"], ["w=bark"]]],
    [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]],
)
NEW = ([[["w=the"], ["w=bark"], ["w=hurts"]], [["w=Rex"]]], [["DET", "NOUN", "VERB"], ["NAME"]])


def weights(crf):
    """All weights by name."""
    return {**crf.state_features_, **crf.transition_features_, **crf.triple_features_, **crf.bigram_features_}


def assert_alike(one, other, atol=1e-5):
    for name in {**one, **other}:
        assert one.get(name, 0.0) == pytest.approx(other.get(name, 0.0), abs=atol), name


@pytest.mark.parametrize("order", [1, 2])
def test_an_infinite_strength_gives_the_old_model(order):
    old = ChainCRF(order=order).fit(*OLD)
    new = ChainCRF(order=order).fit(*NEW, prior=old, prior_strength=math.inf)
    assert weights(new) == weights(old)
    assert {*new.classes_} == {*old.classes_, "NAME"}
    assert new.result_.status.converged
    assert new.result_.gap == 0.0
    assert new.predict(OLD[0]) == OLD[1]


@pytest.mark.parametrize("order", [1, 2])
def test_a_strength_of_zero_gives_a_training_from_scratch(order):
    # Every labelling occurs, so that the minimum without a penalty is finite.
    X = [[["a"], ["b"], ["a", "b"]]] * 27
    y = [[p, q, r] for p in "ABC" for q in "ABC" for r in "ABC"]
    y[0], y[1], y[9] = ["A", "B", "A"], ["C", "B", "A"], ["B", "C", "B"]
    y += [["A", "A", "A"], ["A", "A", "B"], ["B", "A", "A"]]
    X = [*X, *[[["b"], ["a"], ["b", "a"]]] * 3]
    old = ChainCRF(order=order, l2=0.1).fit(X[:9], [[q, p, p] for p in "ABC" for q in "ABC"])
    alone = ChainCRF(order=order, l2=0.0, **TIGHT).fit(X, y)
    crf = ChainCRF(order=order, **TIGHT).fit(X, y, prior=old, prior_strength=0)
    assert crf.result_.nll == pytest.approx(alone.result_.nll, rel=1e-7)
    for one, other in zip(crf.marginals(X), alone.marginals(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strength", [0.2, 5.0])
def test_the_optimum_is_that_of_the_centred_penalty_over_all_features_in_scipy(order, strength):
    X, y = sentences(12, 3)
    X_old, y_old = sentences(9, 4)
    old = ChainCRF(order=order, l2=0.5).fit(X_old, y_old)
    new = ChainCRF(order=order, **TIGHT).fit(X, y, prior=old, prior_strength=strength)
    # The joined data, the old sentences with weight 0, have the same features.
    joined = Corpus.encode([*X, *X_old], [*y, *y_old], sample_weight=[1.0] * len(X) + [0.0] * len(X_old))
    objective = ChainObjective(joined, ChainFeatures(order=order))
    c, _ = objective.start_weights(old.model_)

    def centred(w):
        nll, gradient = objective.value_and_gradient(w)
        return nll + 0.5 * strength * (w - c) @ (w - c), gradient + strength * (w - c)

    oracle = scipy.optimize.minimize(centred, c, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    assert new.result_.objective == pytest.approx(oracle.fun, rel=1e-9)
    assert objective.n_features == new.result_.prior.n_features
    found, _ = objective.start_weights(new.model_)
    np.testing.assert_allclose(found, oracle.x, atol=1e-4)


def test_features_that_the_new_data_lack_stay_and_new_ones_enter():
    old = ChainCRF().fit(*OLD)
    new = ChainCRF().fit(*NEW, prior=old, prior_strength=2.0)
    before, after = weights(old), weights(new)
    # An attribute that the data lack keeps its weight; one that they have with another label moves.
    assert after["s=g", "NOUN"] == before["s=g", "NOUN"]
    assert after["w=bark", "VERB"] < before["w=bark", "VERB"]
    assert after["w=bark", "NOUN"] > 0.0
    assert after["w=Rex", "NAME"] > 0.0
    prior = new.result_.prior
    assert (prior.strength, prior.n_shared, prior.new_labels) == (2.0, len(before), ["NAME"])
    assert str(prior) == "8 of 11 features have a prior from the older model, strength 2; 1 label is new"
    assert new.predict([[["w=dog"], ["w=barks"]], [["w=Rex"]]]) == [["NOUN", "VERB"], ["NAME"]]


def test_l1_around_the_old_weights_leaves_most_of_them_as_they_are():
    X, y = sentences(30, 5)
    old = ChainCRF().fit(*sentences(30, 6))
    new = ChainCRF(l1=1.0).fit(X, y, prior=old)
    assert new.result_.prior.strength == 0.0
    before, after = weights(old), weights(new)
    changed = [name for name in {**before, **after} if before.get(name, 0.0) != after.get(name, 0.0)]
    assert 0 < len(changed) < len(after) / 2
    assert new.result_.gap is not None


def test_the_default_strength_is_l2():
    old = ChainCRF().fit(*OLD)
    one = ChainCRF(l2=3.0).fit(*NEW, prior=old)
    other = ChainCRF().fit(*NEW, prior=old, prior_strength=3.0)
    assert weights(one) == weights(other)


def test_attributes_of_the_prior_are_never_too_rare():
    old = ChainCRF(min_count=1).fit(*OLD)
    new = ChainCRF(min_count=3).fit(*NEW, prior=old, prior_strength=1.0)
    after = weights(new)
    assert after["w=bark", "VERB"] < weights(old)["w=bark", "VERB"]
    assert ("w=Rex", "NAME") not in after


@pytest.mark.parametrize("order", [1, 2])
def test_data_in_parts_give_the_same_model(order):
    X, y = sentences(20, 7)
    old = ChainCRF(order=order).fit(*sentences(15, 8))
    whole = ChainCRF(order=order, **TIGHT).fit(X, y, prior=old, prior_strength=3.0)
    parts = [ListedPart("a", X[:11], y[:11]), ListedPart("b", X[11:], y[11:])]
    data = ChainParts(parts, ChainFeatures(order=order), older=OlderChain(old.model_, "str", "old"))
    prior = ChainPrior(Start(old.model_, "str", "old"), 3.0)
    model, result = train_chain(data, SolverOptions(**TIGHT), prior=prior)
    crf = ChainCRF()
    crf.model_, crf.classes_ = model, model.labels
    assert_alike(weights(crf), weights(whole))
    assert model.labels == whole.model_.labels
    assert result.objective == pytest.approx(whole.result_.objective)


def test_a_template_of_the_prior_is_used_and_constraints_know_its_labels(tmp_path):
    X, y = [["Ada", "Lovelace", "wrote"]], [["B-PER", "I-PER", "O"]]
    path = tmp_path / "old.loglinear"
    ChainCRF(template="pos", constraints="auto").fit(X, y).save(path)
    new = ChainCRF(constraints="auto").fit([["Bob", "wrote"]], [["B-PER", "O"]], prior=path, prior_strength=1.0)
    assert new.model_.template is not None
    assert new.model_.is_constrained
    assert ("O", "I-PER") in {
        (new.model_.labels[a], new.model_.labels[b]) for a, b in new.model_.forbidden if a is not None and b is not None
    }
    assert new.result_.prior.model == str(path)
    saved = tmp_path / "new.loglinear"
    new.save(saved)
    assert ChainCRF.load(saved).predict(X) == new.predict(X)


def test_development_data_score_the_weights_and_not_their_change():
    old = ChainCRF().fit(*OLD)
    new = ChainCRF(keep="best").fit(*NEW, prior=old, prior_strength=1e6, X_dev=OLD[0], y_dev=OLD[1])
    assert [record.dev["accuracy"] for record in new.result_.trace] == [1.0] * len(new.result_.trace)
    assert new.predict(OLD[0]) == OLD[1]
    fixed = ChainCRF(keep="best").fit(*NEW, prior=old, prior_strength=math.inf, X_dev=OLD[0], y_dev=OLD[1])
    assert fixed.result_.best.dev["accuracy"] == 1.0


def test_a_checkpoint_knows_its_prior(tmp_path):
    old, other = ChainCRF().fit(*OLD), ChainCRF(l2=0.1).fit(*OLD)
    path = tmp_path / "crf.checkpoint"
    crf = ChainCRF().fit(*NEW, prior=old, checkpoint=Checkpoint(path))
    again = ChainCRF().fit(*NEW, prior=old, checkpoint=Checkpoint(path, resume=True))
    np.testing.assert_array_equal(again.result_.w, crf.result_.w)
    with pytest.raises(OptionError, match="weights of the prior have changed"):
        ChainCRF().fit(*NEW, prior=other, checkpoint=Checkpoint(path, resume=True))
    with pytest.raises(OptionError, match="weights of the prior have changed"):
        ChainCRF().fit(*NEW, checkpoint=Checkpoint(path, resume=True))


def test_threads_do_not_change_a_bit():
    X, y = sentences(200, 9)
    old = ChainCRF().fit(*sentences(50, 10))
    one, two = (ChainCRF(n_jobs=n).fit(X, y, prior=old, prior_strength=5.0).result_.w for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("strength", [-1.0, math.nan, "much", True, 2e6, 10**400])
def test_a_strength_out_of_range_is_refused(strength):
    with pytest.raises(
        OptionError,
        match=r"prior_strength=.* is out of range; give a number from 0 to 1e.06, or prior_strength=math.inf",
    ):
        ChainCRF().fit(*NEW, prior=ChainCRF().fit(*OLD), prior_strength=strength)


def test_the_strongest_finite_prior_keeps_the_older_weights_without_a_warning():
    old = ChainCRF(l2=0.1).fit(*OLD)
    near, kept = (ChainCRF().fit(*NEW, prior=old, prior_strength=strength) for strength in (1e6, math.inf))
    np.testing.assert_allclose(near.log_partition(OLD[0]), kept.log_partition(OLD[0]), atol=1e-4)


def test_a_prior_alone_is_nothing_to_train_on():
    old = ChainCRF(l2=0.1).fit(*OLD)
    before = old.log_partition(OLD[0])
    for train in (lambda: ChainCRF().fit([], [], prior=old), lambda: old.partial_fit([], [])):
        with pytest.raises(DataError, match="no sentences: there is nothing to train on"):
            train()
    np.testing.assert_array_equal(old.log_partition(OLD[0]), before)


def test_what_does_not_go_together_is_refused(tmp_path):
    old = ChainCRF().fit(*OLD)
    with pytest.raises(OptionError, match="both start and prior"):
        ChainCRF().fit(*NEW, start=old, prior=old)
    with pytest.raises(OptionError, match="prior_strength=3 needs a prior"):
        ChainCRF().fit(*NEW, prior_strength=3)
    with pytest.raises(DataError, match="labels have type int, but the older model has labels of type str"):
        ChainCRF().fit(NEW[0], [[1, 2, 3], [1]], prior=old)
    with pytest.raises(OptionError, match="prior: the older model has no template, but the data are read with one"):
        ChainCRF(template="pos").fit([["Dogs"]], [["NOUN"]], prior=old)
    with pytest.raises(OptionError, match=r"is a chain of order 2; set order=2"):
        ChainCRF().fit(*NEW, prior=ChainCRF(order=2).fit(*OLD))
    with pytest.raises(OptionError, match=r"prior=.*is neither a ChainCRF nor the path"):
        ChainCRF().fit(*NEW, prior=MaxEnt().fit([["a"], ["b"]], [0, 1]))
    with pytest.raises(OptionError, match=r"sgd_l1 needs .*use"):
        ChainCRF(solver="sgd_l1").fit(*NEW, prior=old)


def test_biases_and_temperature_of_a_prior_are_not_taken_over_without_a_word(tmp_path):
    old = ChainCRF().fit(*OLD)
    old.label_bias = {"NOUN": -0.5}
    old.save(tmp_path / "old")
    for prior in (old, tmp_path / "old"):
        with pytest.warns(
            UserWarning, match=r"biases of labels.*label_bias=\{'NOUN': -0.5\} in Python, --label-bias NOUN"
        ):
            new = ChainCRF().fit(*NEW, prior=prior)
        assert new.label_bias is None
    own = ChainCRF(label_bias={"NAME": 1.0}).fit(*NEW, prior=old)
    assert own.label_bias == {"NAME": 1.0}
    assert old.fit(*NEW, prior=tmp_path / "old").label_bias == {"NOUN": -0.5}
    X, y = [[["a"]], [["b"]]] * 20, [["A"], ["B"]] * 20
    calibrated = ChainCRF(l2=0.01).fit(X, y).calibrate(X, [["B"], ["A"]] * 5 + [["A"], ["B"]] * 15)
    with pytest.warns(UserWarning, match=r"the older model is calibrated, its weights divided by 5\.31"):
        new = ChainCRF().fit(X, y, prior=calibrated)
    assert new.temperature_ == 1.0
