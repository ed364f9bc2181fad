"""Laws of training from a model: shared features keep their weights, and the optimum is the same, only nearer."""

from __future__ import annotations

import json
import statistics
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, DataError, ElasticNet, OptionError, Problem
from loglinear.errors import ModelFileError
from loglinear.minimize import Stop, minimize
from loglinear.models.maxent import MaxEnt
from loglinear.problem import PerSample
from loglinear.solvers import SOLVERS, make_solver, option_names, suits
from loglinear.solvers.hybrid import Batched
from oracles.samples import chunky

# NEW has a label more than OLD, and numbers the others in another order.
TEMPLATE = "U1:%x[0,0]\nU2:%x[-1,0]/%x[0,0]\nB3:%x[0,0]\nB\nT\n"
OLD = ([["the", "dog", "barks"], ["dogs"], ["the", "old", "dog"]], [["D", "N", "V"], ["N"], ["D", "A", "N"]])
NEW = (
    [["the", "cat", "barks"], ["old", "dog"], ["V", "V", "the", "new"], []],
    [["D", "N", "V"], ["A", "N"], ["V", "V", "V", "X"], []],
)


def names_and_weights(crf):
    """{(attribute or None, labels in a row): weight} of the weights that are not 0."""
    named = {(attribute, (label,)): w for (attribute, label), w in crf.state_features_.items()}
    named |= {(attribute, tuple(labels)): w for (attribute, *labels), w in crf.bigram_features_.items()}
    for features in (crf.transition_features_, crf.triple_features_):
        named |= {(None, labels): w for labels, w in features.items()}
    return named


@pytest.mark.parametrize("old", [OLD, NEW])
@pytest.mark.parametrize("new", [OLD, NEW])
def test_features_of_the_same_names_start_at_the_weights_of_the_model(old, new):
    crf = ChainCRF(template=TEMPLATE, l2=0.3).fit(*old)
    objective = ChainObjective(Corpus.encode(*new, template=TEMPLATE))
    names = [(name.attribute, name.labels) for name in objective.feature_names(np.arange(objective.n_features))]
    weight_of = names_and_weights(crf)
    w, n_shared = objective.start_weights(crf.model_)
    assert w.tolist() == [weight_of.get(name, 0.0) for name in names]
    assert n_shared == sum(name in weight_of for name in names) > 0
    if old is new:
        assert n_shared == objective.n_features
        assert crf.result_.w.tolist() == w.tolist()


def test_the_result_and_the_settings_say_what_is_shared(tmp_path):
    crf = ChainCRF(template=TEMPLATE).fit(*OLD)
    crf.save(tmp_path / "old")
    again = ChainCRF().fit(*NEW, start=tmp_path / "old")
    start = again.result_.start
    objective = ChainObjective(Corpus.encode(*NEW, template=TEMPLATE))
    n_shared = objective.start_weights(crf.model_)[1]
    assert (start.n_shared, start.n_features, start.new_labels) == (n_shared, objective.n_features, ["X"])
    expected = f"{n_shared} of {objective.n_features} features start from {tmp_path / 'old'}; 1 label is new"
    assert str(start) == expected
    assert json.loads(again.model_.settings)["training"]["start"] == vars(start)
    assert "start" not in json.loads(crf.model_.settings)["training"]
    assert set(again.classes_) == {*"DNVAX"}
    assert ("U1:cat", "N") in again.state_features_
    assert again.model_.template == TEMPLATE
    again.save(tmp_path / "new")
    assert again.predict(NEW[0]) == ChainCRF.load(tmp_path / "new").predict(NEW[0])


@pytest.mark.parametrize("order", [1, 2])
def test_the_optimum_is_the_cold_one_and_nearer(order):
    options = {
        "order": order,
        "l2": 0.5,
        "solver": "lbfgs",
        "tolerance": 0.0,
        "solver_options": {"gradient_tolerance": 1e-9},
    }
    saved = []
    for seed in range(3):
        X, y = chunky(60, seed)
        X[50] = [[*token, "new"] for token in X[50]]
        y[50] = ["NEW"] * len(y[50])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old = ChainCRF(**options).fit(X[:30], y[:30])
            cold, warm = ChainCRF(**options).fit(X, y), ChainCRF(**options).fit(X, y, start=old)
        np.testing.assert_allclose(warm.result_.w, cold.result_.w, rtol=0, atol=1e-6)
        assert warm.result_.objective == pytest.approx(cold.result_.objective, rel=1e-9)
        # Evaluations until the objective is within 0.01 % of the optimum.
        near = 1.0001 * cold.result_.objective
        counts = [
            next(record.gradient_evaluations for record in crf.result_.trace if record.objective < near)
            for crf in (cold, warm)
        ]
        saved.append(counts[1] / counts[0])
    assert statistics.median(saved) < 0.9, saved


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_every_solver_starts_at_the_weights_given(name):
    corpus = Corpus.encode(*chunky(40))
    l1 = 0.3 if name in ("grafting", "grafting_light", "gauss_seidel", "owlqn", "prox_gradient") else 0.0
    problem = Problem(ChainObjective(corpus, ChainFeatures()), ElasticNet(l1=l1, l2=1.0))
    if not suits(SOLVERS[name], problem):
        pytest.skip("does not work on chains")
    best = minimize(
        problem, make_solver("owlqn" if l1 else "lbfgs", tolerance=0.0), stop=Stop(max_iterations=400, violation=1e-8)
    )
    options = {"passes": 2} if "passes" in option_names(SOLVERS[name]) else {}
    found = minimize(problem, make_solver(name, **options), best.w, stop=Stop(max_iterations=2))
    assert found.trace[0].objective == pytest.approx(best.objective, rel=1e-9)
    if {PerSample, Batched}.isdisjoint(SOLVERS[name].needs.objective):
        assert found.objective == pytest.approx(best.objective, rel=1e-9)
        np.testing.assert_allclose(found.w, best.w, rtol=0, atol=1e-6)
    elif name != "sag":
        # Steps that follow some samples alone leave the optimum, but not as far as 0 is from it. SAG's first pass,
        # which collects gradients, leaves no trace of where it has started.
        cold = minimize(problem, make_solver(name, **options), stop=Stop(max_iterations=2))
        assert problem.evaluate(found.w, np.zeros_like(found.w)) < problem.evaluate(cold.w, np.zeros_like(cold.w))


def test_another_template_is_told():
    crf = ChainCRF(template=TEMPLATE).fit(*OLD)
    plain = ChainCRF().fit([[["U1:the"]], [["U1:dog"]]], [["D"], ["N"]])
    with pytest.warns(UserWarning, match="the older model has another template .leave out the new one") as told:
        more = ChainCRF(template=TEMPLATE + "U9:%x[1,0]\n").fit(*NEW, start=crf)
    assert told[0].filename == __file__
    assert more.result_.start.n_shared == ChainCRF().fit(*NEW, start=crf).result_.start.n_shared
    with pytest.warns(UserWarning, match="has no template, but the data are read with one"):
        assert ChainCRF(template=TEMPLATE).fit(*OLD, start=plain).result_.start.n_shared == 2
    with pytest.warns(UserWarning, match="has a template, but the data are read without one"):
        ChainCRF().fit(Corpus.encode([[["U1:the"], ["U1:dog"]]], [["D", "N"]]), start=crf)


def test_a_template_is_the_same_whatever_its_comments_and_capitals_in_the_syntax_of_wapiti():
    texts = ["#!wapiti\nU1:%x[0,0]  # word\nB\n", "#!wapiti\n\n# lines\nu1:%x[0,0]\nb\n"]
    older, other = (ChainCRF(template=text).fit(*OLD) for text in texts)
    assert older.state_features_.keys() == other.state_features_.keys()
    assert ChainCRF(template=texts[1]).fit(*NEW, start=older).result_.start.n_shared  # warnings are errors
    assert ChainCRF(template=texts[1]).fit(*NEW, prior=older).result_.prior
    with pytest.raises(OptionError, match="has another template"):
        ChainCRF(template=texts[1].replace("u1", "u2")).fit(*NEW, prior=older)


def test_what_cannot_be_started_at_is_refused(tmp_path):
    crf = ChainCRF(template=TEMPLATE).fit(*OLD)
    numbers = [list(range(len(row))) for row in NEW[1]]
    with pytest.raises(DataError, match="the labels have type int, but the older model has labels of type str"):
        ChainCRF().fit(NEW[0], numbers, start=crf)
    with pytest.raises(NotFittedError):
        ChainCRF().fit(*NEW, start=ChainCRF())
    with pytest.raises(OptionError, match="start=7 is neither a ChainCRF nor the path of a model file"):
        ChainCRF().fit(*NEW, start=7)
    with pytest.raises(OSError, match="nowhere"):
        ChainCRF().fit(*NEW, start=tmp_path / "nowhere")
    MaxEnt().fit(np.eye(3), ["a", "b", "c"]).save(tmp_path / "classifier")
    with pytest.raises(ModelFileError, match="classifier: a classifier, not a chain model"):
        ChainCRF().fit(*NEW, start=tmp_path / "classifier")


def test_a_model_continues_from_itself():
    crf = ChainCRF(l2=0.5, tolerance=1e-9).fit(*chunky(40))
    w, evaluations = crf.result_.w, crf.result_.gradient_evaluations
    crf.fit(*chunky(40), start=crf)
    np.testing.assert_allclose(crf.result_.w, w, rtol=0, atol=1e-3)
    assert crf.result_.gradient_evaluations < evaluations / 2
