"""PairwiseMRF: what it learns, what it answers, what it refuses."""

from __future__ import annotations

import copy
import io
import itertools
import math
import pickle
import warnings

import joblib
import networkx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from loglinear import DataError, DataWarning, ModelFileError, OptionError, PairwiseMRF
from loglinear.data.table import Table, read_table
from loglinear.datasets import make_network
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import Enumerated, features, weights

MIXED = Numbering([2, 3, 2, 4])
NAMES = ["colour", "size", "shape", "taste"]
STATES = [["blue", "red"], ["l", "m", "s"], [False, True], [1, 2, 3, 4]]


def table(n=400, seed=0, share=0.5):
    """Categories drawn from a network of four variables."""
    codes = Enumerated(MIXED, weights(MIXED, 1, share)).sample(n, seed)
    return pd.DataFrame(
        {name: np.array(states)[codes[:, i]] for i, (name, states) in enumerate(zip(NAMES, STATES, strict=True))}
    )


def fitted(X=None, **options):
    options = {"l1": 4.0, "objective": "likelihood", **options}
    if options["objective"] == "likelihood":
        options.setdefault("inference", "exact")
    return PairwiseMRF(**options).fit(table() if X is None else X)


def through_joblib(model):
    """The model as joblib writes it to a file and reads it."""
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def truth_of(model):
    """The model by enumeration."""
    numbering = Numbering([each.size for each in model.categories_])
    w = np.zeros(numbering.n_features)
    for (i, j), block in zip(model.edges_, model.weights_, strict=True):
        w[numbering.block(i, j)] = block[1:, 1:]
    w[numbering.n_interactions :] = np.concatenate([each[1:] for each in model.node_weights_])
    return Enumerated(numbering, w)


def codes_of(model, X):
    return np.stack([[list(c).index(v) for v in X[n]] for n, c in zip(NAMES, model.categories_, strict=True)], axis=1)


def test_edges_have_weights_and_other_pairs_none():
    model = fitted()
    assert 0 < len(model.edges_) < 6
    assert (model.edges_[:, 0] < model.edges_[:, 1]).all()
    for (i, j), block, strength in zip(model.edges_, model.weights_, model.strengths_, strict=True):
        assert block.shape == (len(STATES[i]), len(STATES[j]))
        assert not block[0].any()
        assert not block[:, 0].any()
        assert strength == pytest.approx(np.linalg.norm(block))
    assert [list(each) for each in model.categories_] == STATES
    assert model.feature_names_in_.tolist() == NAMES


def test_graph_holds_every_variable_and_every_edge():
    model = fitted()
    graph = model.to_networkx()
    assert isinstance(graph, networkx.Graph)
    assert dict(graph.nodes(data="states")) == dict(zip(NAMES, STATES, strict=True))
    assert {frozenset(edge) for edge in graph.edges} == {frozenset(NAMES[v] for v in edge) for edge in model.edges_}
    frame = model.named_edges().to_frame()
    for first, second, strength, sign in zip(frame["first"], frame["second"], frame.strength, frame.sign, strict=True):
        edge = graph[first][second]
        assert edge["sign"] == (0 if pd.isna(sign) else sign)
        assert_allclose([edge["strength"], abs(edge["weight"]), 1.0 / edge["length"]], strength)
        assert edge["weight"] > 0.0 or edge["sign"] == -1
        assert_allclose(np.linalg.norm(edge["weights"]), strength)


@pytest.mark.parametrize(
    ("objective", "inference"),
    [("likelihood", "exact"), ("likelihood", "loopy_bp"), ("pseudolikelihood", None), ("nodewise", None)],
)
def test_a_strong_pair_is_found_and_an_independent_variable_left_alone(objective, inference):
    random = np.random.default_rng(0)
    a = random.integers(0, 2, 1000)
    X = np.stack([a, np.where(random.random(1000) < 0.1, 1 - a, a), random.integers(0, 2, 1000)], axis=1)
    model = PairwiseMRF(l1=40.0, objective=objective, inference=inference).fit(X)
    assert model.edges_.tolist() == [[0, 1]]
    assert model.weights_[0][1, 1] > 1.0


def test_log_likelihood_is_that_of_enumeration():
    model = fitted()
    X = table(30, 5)
    found = model.log_likelihood(X)
    truth = truth_of(model)
    expected = [truth.log_p(row) for row in codes_of(model, X)]
    assert_allclose(found.samples, expected, rtol=1e-9)
    assert found.exact
    assert found.lower == found.value == found.upper == pytest.approx(sum(expected))
    assert float(found) == found.value
    assert model.score(X) == pytest.approx(np.mean(expected))
    assert model.log_partition().value == pytest.approx(truth.log_z)


def test_marginals_are_those_of_enumeration():
    model = fitted()
    for found, expected in zip(model.marginals(), truth_of(model).marginals(), strict=True):
        assert_allclose(found, expected, atol=1e-9)


def test_missing_values_are_predicted_from_the_others():
    model = fitted()
    X = table(40, 6)
    holed = X.astype(object)
    holed.loc[::2, "size"] = None
    holed.loc[::3, "shape"] = pd.NA
    truth = truth_of(model)
    codes = codes_of(model, X)
    codes[::2, 1] = -1
    codes[::3, 2] = -1
    proba = model.predict_proba(holed)
    for s, row in enumerate(codes):
        for i, expected in enumerate(truth.given(row)):
            assert_allclose(proba[i][s], expected, atol=1e-9)
    filled = model.predict(holed).to_numpy()
    assert filled.shape == X.shape
    kept = codes >= 0
    assert (filled[kept] == X.to_numpy(dtype=object)[kept]).all()
    assert all(value is not None for value in filled.ravel())
    assert model.log_likelihood(holed).value == pytest.approx(sum(truth.log_p(row) for row in codes), rel=1e-9)


def test_training_with_missing_values_recovers_the_network():
    X = table(3000).astype(object)
    random = np.random.default_rng(0)
    holed = X.mask(pd.DataFrame(random.random(X.shape) < 0.15, columns=X.columns))
    holed = holed[~holed.isna().all(axis=1)]
    with_all, with_holes = (
        PairwiseMRF(l1=5.0, objective="likelihood", inference="exact").fit(data) for data in (X, holed)
    )
    assert_allclose(np.concatenate(with_holes.marginals()), np.concatenate(with_all.marginals()), atol=0.03)
    assert with_holes.score(X) == pytest.approx(with_all.score(X), abs=0.02)


def test_samples_have_the_distribution_of_the_model():
    model = fitted()
    drawn = model.sample(20_000, random_state=3)
    codes = np.stack([np.searchsorted(c, drawn[:, i].astype(c.dtype)) for i, c in enumerate(model.categories_)], axis=1)
    truth = truth_of(model)
    mean = features(MIXED, codes.astype(np.int32)).mean(axis=0)
    assert_allclose(mean, truth.p @ truth.features, atol=5 * 0.5 / np.sqrt(20_000))
    assert (drawn == model.sample(20_000, random_state=3)).all()


def test_learning_from_samples_comes_near_exact_learning():
    X = make_network("random", n_variables=20, n_samples=1000, random_state=0).X
    exact, sampled = (
        PairwiseMRF(l1=30.0, objective="likelihood", inference=inference).fit(X) for inference in ("exact", "gibbs")
    )
    assert sampled.result_.status.converged
    assert sampled.result_.objective == pytest.approx(exact.result_.objective, rel=0.01)
    strong = {
        tuple(edge) for edge, strength in zip(exact.edges_.tolist(), exact.strengths_, strict=True) if strength > 0.3
    }
    assert strong <= {tuple(edge) for edge in sampled.edges_.tolist()}
    assert sampled.score(X) == pytest.approx(exact.score(X), abs=0.1)


def test_sample_weights_count_samples():
    X = table(200)
    twice = pd.concat([X, X.iloc[:50]])
    weight = np.ones(200)
    weight[:50] = 2.0
    options = {"l1": 3.0, "objective": "likelihood", "inference": "exact", "tolerance": 0.0}
    one = PairwiseMRF(**options).fit(twice)
    two = PairwiseMRF(**options).fit(X, sample_weight=weight)
    assert one.result_.objective == pytest.approx(two.result_.objective, rel=1e-8)


@pytest.mark.parametrize("l1", ["ebic", "cv"])
@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood"])
def test_the_strength_is_chosen_on_a_path(l1, objective):
    model = fitted(l1=l1, objective=objective, path_options={"l1": 8, "folds": 3})
    assert len(model.path_.points) == 8
    assert model.l1_ == model.path_.best.l1
    assert model.path_.points[0].result.w[: MIXED.n_interactions].any() == (model.path_.points[0].l1 < 0)
    assert len(model.edges_) > 0


@pytest.mark.parametrize("objective", ["pseudolikelihood", "nodewise"])
def test_ebic_goes_on_behind_its_strengths_until_it_has_turned(objective):
    options = {"objective": objective, "l1": "ebic"}
    early = {"l1": 4, "ratio": 0.7}  # ends long before the criterion is best
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PairwiseMRF(**options, path_options=early).fit(table(1500))
    points = model.path_.points
    assert len(points) > 4
    ratios = [after.l1 / before.l1 for before, after in itertools.pairwise(points)]
    assert_allclose(ratios, ratios[0], rtol=1e-9)
    assert points[-1].score < model.path_.best.score
    assert points[-1].l1 <= model.l1_ / 4.0
    usual = PairwiseMRF(**options).fit(table(1500))
    # The strengths are others, and so is which edges compete; the criterion differs by less than an edge costs.
    assert model.path_.best.score == pytest.approx(usual.path_.best.score, abs=math.log(1500))


@pytest.mark.parametrize("objective", ["pseudolikelihood", "nodewise"])
def test_ebic_counts_weights_as_samples(objective):
    X, options = table(200), {"objective": objective, "l1": "ebic"}
    weighted = PairwiseMRF(**options).fit(X, sample_weight=np.full(len(X), 3.0))
    repeated = PairwiseMRF(**options).fit(pd.concat([X] * 3))
    assert weighted.l1_ == pytest.approx(repeated.l1_)
    assert weighted.path_.best.score == pytest.approx(repeated.path_.best.score, rel=1e-6)
    assert weighted.path_.best.score != pytest.approx(3.0 * PairwiseMRF(**options).fit(X).path_.best.score, rel=1e-4)


@pytest.mark.parametrize("l1", ["ebic", "cv"])
@pytest.mark.parametrize(("objective", "last"), [("pseudolikelihood", 100.0), ("nodewise", 50.0)])
def test_a_best_strength_at_the_end_of_those_given_is_warned_of(objective, last, l1):
    strengths = [2.0 * last, 1.5 * last, last]
    with pytest.warns(UserWarning, match=f"the best point of the path is the last one .l1={last:g}"):
        model = PairwiseMRF(objective=objective, l1=l1, path_options={"l1": strengths}).fit(table(1500))
    assert len(model.path_.points) == 3


def test_groups_of_an_edge_enter_together():
    model = fitted(grouped=True, l1=4.0)
    for block in model.weights_:
        assert (block[1:, 1:] != 0.0).all()
    assert 0 < len(model.edges_) < 6


def test_columns_are_cut_where_one_says(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.integers(10, 80, 400)
    X = pd.DataFrame({"age": age, "adult": np.where(age >= 18, "yes", "no"), "other": rng.integers(2, size=400)})
    model = PairwiseMRF(l1=5.0, cuts={"age": [18, 30, 65.5]}).fit(X)
    assert model.categories_[0].tolist() == ["< 18", "[18, 30)", "[30, 65.5)", ">= 65.5"]
    assert (model.bin_edges_[0].tolist(), model.bin_edges_[1:]) == ([18.0, 30.0, 65.5], [None, None])
    assert [0, 1] in model.edges_.tolist()
    binned = X.assign(age=np.searchsorted([18, 30, 65.5], age, side="right"))
    plain = PairwiseMRF(l1=5.0).fit(binned)
    assert plain.result_.objective == pytest.approx(model.result_.objective, rel=1e-9)
    model.save(tmp_path / "m")
    again = PairwiseMRF.load(tmp_path / "m")
    pd.testing.assert_frame_equal(again.predict(X.head(3)), X.head(3))
    by_number = PairwiseMRF(l1=5.0, cuts={0: [18, 30, 65.5]}).fit(X.to_numpy(dtype=object))
    assert by_number.categories_[0].tolist() == model.categories_[0].tolist()
    with pytest.warns(DataWarning, match="columns 'age', 'adult' determine each other"):
        both = PairwiseMRF(l1=5.0, bins=3, cuts={"age": [18]}).fit(X.assign(other=rng.normal(size=400)))
    assert [known.size for known in both.categories_] == [2, 2, 3]
    for cuts, message in (
        ({"height": [1]}, "no column 'height'"),
        ({"adult": [1]}, "not numbers"),
    ):
        with pytest.raises(DataError, match=message):
            PairwiseMRF(cuts=cuts).fit(X)
    for bad in (
        {"age": []},
        {"age": [2, 1]},
        {"age": [1, 1]},
        {"age": [np.nan]},
        {"age": "old"},
        {"age": 3},
        [18],
        "age",
    ):
        with pytest.raises(OptionError, match="cuts"):
            PairwiseMRF(cuts=bad).fit(X)


def test_a_saved_network_answers_as_before(tmp_path):
    binary = PairwiseMRF(l1=5.0, max_states=2).fit(make_network("chain", 4, 100).X)
    binary.save(tmp_path / "b")
    assert PairwiseMRF.load(tmp_path / "b").max_states == 2
    model = fitted()
    model.save(tmp_path / "m")
    again = PairwiseMRF.load(tmp_path / "m")
    X = table(20, 7)
    assert again.score(X) == model.score(X)
    pd.testing.assert_frame_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert [each.tolist() for each in again.categories_] == [each.tolist() for each in model.categories_]
    assert again.feature_names_in_.tolist() == NAMES
    with pytest.raises(NotFittedError, match="model files do not contain the result"):
        again.result_  # noqa: B018


def test_damaged_and_foreign_files_are_refused(tmp_path):
    model = fitted()
    path = tmp_path / "m"
    model.save(path)
    damaged = bytearray(path.read_bytes())
    damaged[-20] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="damaged"):
        PairwiseMRF.load(path)
    path.write_bytes(b"something else entirely")
    with pytest.raises(ModelFileError, match="not a loglinear model"):
        PairwiseMRF.load(path)


def test_wide_networks_have_bounds_around_the_truth():
    numbering = Numbering([2] * 12)
    truth = Enumerated(numbering, weights(numbering, 3, 1.0, 0.3))
    X = truth.sample(300)
    model = PairwiseMRF(l1=1.0, l2=0.1, objective="likelihood", inference="exact").fit(X)
    exact = model.log_partition()
    from loglinear.networks.log_partition import log_partition

    found = log_partition(model._graph, model._scores, limit=16)
    assert exact.exact
    assert not found.exact
    assert found.lower <= exact.value + 1e-9
    assert found.upper >= exact.value - 1e-9
    assert found.value == pytest.approx(exact.value, abs=0.5)


def test_results_are_the_same_on_any_number_of_threads():
    for inference in ("exact", "loopy_bp"):
        one, two = (fitted(inference=inference, n_jobs=n) for n in (1, 2))
        assert (one.result_.w == two.result_.w).all()


def test_parameters_survive_cloning():
    model = PairwiseMRF(l1=2.0, objective="pseudolikelihood", max_states=5)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.sample(3)


def test_a_run_that_does_not_settle_is_reported():
    random = np.random.default_rng(0)
    X = np.where(random.random((60, 8)) < 0.5, 1, 0)
    with pytest.warns(ConvergenceWarning) as caught:
        model = PairwiseMRF(l1=0.3, objective="likelihood", inference_options={"max_iterations": 1}).fit(X)
    assert any("did not converge" in str(each.message) for each in caught)
    assert model.inference_report_.unconverged > 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((5, 3), int), "fewer than two columns vary: columns 0, 1, 2"),
        (np.array([[0], [1]]), "1 variable; a network needs two or more"),
        (np.empty((0, 3)), "no rows"),
        (pd.DataFrame(index=range(3)), "no columns"),
        (
            np.random.default_rng(0).normal(size=(100, 2)),
            "100 different values, more than max_states=32; bin them with bins=4",
        ),
        ([[None, None], [None, None]], "no row has a value"),
        ([["a", None], ["b", None]], "fewer than two columns vary: column 1 has"),
        ([["a", 1], ["b", "c"]], r"column 1 has values of several types, such as 1 \(int\) and 'c' \(str\); convert"),
        ([[[1], 1], [[2], 2]], r"column 0 has values that are a list, such as \[1\]; give strings, numbers"),
        ([["a", "b"], ["b"]], "row 1 of X: expected 2 values, found 1"),
        ([1, 2, 3], "row 0 of X has type int, not a sequence of values"),
    ],
)
def test_bad_data_get_a_clear_message(X, message):
    with pytest.raises(DataError, match=message):
        PairwiseMRF().fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "likely"}, "objective='likely' is not one of"),
        ({"inference": "magic"}, "inference='magic' is not one of"),
        ({"inference_options": {"limits": 3}}, "not valid for exact"),
        ({"l1": "aic"}, "l1='aic'"),
        ({"l1": -1.0}, "l1=-1.0 is not a valid penalty"),
        ({"max_states": 1}, "max_states"),
        ({"grouped": 3}, "grouped=3"),
        ({"grouped": True, "solver": "owlqn"}, "use prox_gradient"),
        ({"bins": 1}, "bins=1"),
        ({"objective": "nodewise", "inference": "exact"}, "inference='exact' needs objective=\"likelihood\""),
        ({"path_options": {"gama": 3}, "l1": "ebic"}, "unknown path_options: gama"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        fitted(**options)


def test_without_options_real_measurements_are_learned_in_bins_without_a_warning():
    X = load_breast_cancer(as_frame=True).data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PairwiseMRF(bins=4).fit(X)
    assert model.result_.status.converged
    strongest = model.edges_[np.argsort(-model.strengths_)[:3]].tolist()
    assert [list(X.columns).index(name) for name in ("worst radius", "worst area")] in strongest


def test_belief_propagation_that_cannot_follow_the_likelihood_says_so_once_and_names_a_way_out():
    X = load_breast_cancer(as_frame=True).data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PairwiseMRF(l1=1.0, objective="likelihood", bins=4).fit(X)
    assert not model.result_.status.converged
    said = [str(each.message) for each in caught]
    assert len(said) == 1, said
    assert 'use objective="pseudolikelihood"' in said[0]


def test_runs_on_the_way_that_did_not_settle_are_counted_and_do_not_alarm():
    """The messages at the weights that are returned have settled, so the gradient there is exact."""
    X = load_breast_cancer(as_frame=True).data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PairwiseMRF(l1=90.0, objective="likelihood", bins=4).fit(X)
    assert model.result_.status.converged
    assert model.inference_report_.settled


def holes_and_constants(n=300):
    X = table(n).astype(object)
    X.insert(1, "all alike", "yes")
    X["nothing"] = None
    X["amount"] = np.random.default_rng(0).exponential(size=n).round(3) + 5.0 * (X["size"] == "l")
    X.loc[::7, "amount"] = np.nan
    return X


def test_all_columns_of_one_value_are_named_in_one_warning_and_left_out(tmp_path):
    X = holes_and_constants().drop(columns="amount")
    with pytest.warns(UserWarning, match="ignored.*: columns 'all alike', 'nothing'$") as caught:
        model = PairwiseMRF(l1=4.0).fit(X)
    assert len(caught) == 1
    plain = PairwiseMRF(l1=4.0).fit(X[NAMES])
    place = [list(X.columns).index(name) for name in NAMES]
    assert model.edges_.tolist() == [[place[i], place[j]] for i, j in plain.edges_.tolist()]
    assert all(map(np.array_equal, model.weights_, plain.weights_))
    assert model.score(X) == plain.score(X[NAMES])
    assert [each.tolist() for each in model.categories_] == [STATES[0], ["yes"], *STATES[1:], []]
    model.save(tmp_path / "m")
    again = PairwiseMRF.load(tmp_path / "m")
    for network in (model, again):
        assert network.edges_.tolist() == model.edges_.tolist()
        assert [each.shape for each in network.marginals()] == [(2,), (1,), (3,), (2,), (4,), (0,)]
        assert [each.size for each in network.node_weights_] == [2, 1, 3, 2, 4, 0]
        assert network.sample(3)[:, 1].tolist() == ["yes"] * 3
    # Other tables may hold anything in a column that is left out.
    holed = X.head(4).copy()
    holed["all alike"] = ["no", None, "yes", "no"]
    holed.loc[2, "size"] = None
    filled = again.predict(holed)
    assert filled["all alike"].tolist() == ["no", "yes", "yes", "no"]
    pd.testing.assert_frame_equal(filled[NAMES], plain.predict(holed[NAMES]))


def test_numbers_are_binned_and_the_bins_stay_with_the_model(tmp_path):
    X = holes_and_constants().drop(columns=["all alike", "nothing"])
    model = PairwiseMRF(l1=4.0, bins=3).fit(X)
    assert [edges is None for edges in model.bin_edges_] == [True, True, True, False, False]
    assert model.categories_[4].size == 3
    model.save(tmp_path / "m")
    again = PairwiseMRF.load(tmp_path / "m")
    assert again.get_params()["bins"] == 3
    few = X.tail(9)  # whose own quantiles are others
    assert again.score(few) == model.score(few)
    as_text = few.assign(amount=[None if value != value else f"{value:.3f}" for value in few["amount"]])
    assert again.score(as_text) == model.score(few)
    filled = again.predict(few)
    assert again.score(filled) == pytest.approx(model.score(filled.to_numpy()))
    missing = few["amount"].isna().to_numpy()
    assert set(filled["amount"][missing]) <= set(model.categories_[4].tolist())
    assert filled["amount"][~missing].tolist() == few["amount"][~missing].tolist()
    assert model.predict(few.to_numpy(dtype=object))[:, 4].tolist() == filled["amount"].tolist()
    high = model.bin_edges_[4][1]
    assert model.score(few.assign(amount=1e9)) == model.score(few.assign(amount=high))
    with pytest.raises(DataError, match=r"column 'amount': the model does not know the value 'much'.* a number, '<"):
        again.score(few.assign(amount="much"))


def test_columns_of_too_many_values_are_refused_together_with_remedies_that_can_be_pasted():
    X = pd.concat([table(60)] * 6, ignore_index=True)
    X["the name"], X["id, old"] = ([f"{letter}{k % 60}" for k in range(360)] for letter in "ni")
    X["age"] = np.arange(360) % 60 / 2
    with pytest.raises(DataError) as caught:
        PairwiseMRF().fit(Table([*X.columns], [X[name].to_numpy(dtype=object) for name in X]))
    said = str(caught.value)
    assert "--bins 4" in said or "--cut age=" in said
    assert """--ignore 'the name,"id, old"')""" in said
    assert "--max-states 60" in said
    with pytest.raises(DataError) as caught:
        PairwiseMRF(bins=4).fit(X)
    assert "--bins" not in str(caught.value)
    assert "--ignore" not in str(caught.value)


def test_unknown_categories_are_named():
    model = fitted()
    X = table(5)
    X.loc[3, "colour"] = "green"
    with pytest.raises(DataError, match=r"row 3, column 'colour': .* the value 'green'.*'blue', 'red'"):
        model.score(X)
    with pytest.raises(DataError, match="3 columns, but the model has 4 variables"):
        model.score(X.to_numpy()[:, :3])


def test_a_table_gives_the_variables_their_names(tmp_path):
    path = tmp_path / "table.csv"
    rows = ["a,b,c", *(f"{i % 2},{i % 2 if i % 5 else 1},{i % 3 % 2}" for i in range(60)), ",,"]
    path.write_text("\n".join(rows), encoding="utf-8")
    table = read_table(str(path)).without_empty_samples()
    assert table.n_samples == 60
    network = PairwiseMRF(l1=1.0, objective="pseudolikelihood").fit(table)
    assert list(network.feature_names_in_) == ["a", "b", "c"]
    plain = PairwiseMRF(l1=1.0, objective="pseudolikelihood").fit(table.matrix())
    assert np.array_equal(network.edges_, plain.edges_)
    assert all(map(np.array_equal, network.weights_, plain.weights_))


@pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, through_joblib])
@pytest.mark.parametrize("loaded", [False, True])
def test_copies_answer_as_the_network_does(tmp_path, copied, loaded):
    model = fitted()
    if loaded:
        model.save(tmp_path / "model")
        model = PairwiseMRF.load(tmp_path / "model")
    twin = copied(model)
    assert_equal(twin.predict_proba(table()), model.predict_proba(table()))
    assert_equal(twin.edges_, model.edges_)
    assert twin.log_likelihood(table()).value == model.log_likelihood(table()).value
    twin.save(tmp_path / "twin")


def test_answers_have_the_type_of_the_columns_also_where_one_of_them_is_constant():
    random = np.random.default_rng(0)
    X = np.stack([random.choice(["a", "b"], 60), np.full(60, "always"), random.choice(["x", "yy"], 60)], axis=1)
    with pytest.warns(UserWarning, match="column 1"):
        model = PairwiseMRF(l1=1.0).fit(X)
    sample = model.sample(4)
    assert sample.dtype.kind == "U"
    assert sample[:, 1].tolist() == ["always"] * 4
    assert {*sample[:, 2].tolist()} <= {"x", "yy"}


def test_a_single_column_of_one_value_has_it():
    with pytest.raises(DataError, match="column 0 has one value or none"):
        PairwiseMRF(l1=1.0).fit(np.array([[1, 0], [1, 1]]))
    with pytest.raises(DataError, match="columns 0, 1 have one value or none"):
        PairwiseMRF(l1=1.0).fit(np.array([[1, 0], [1, 0]]))


@pytest.mark.filterwarnings("ignore:.*determine each other")
def test_samples_of_narrow_networks_are_exact():
    # Gibbs chains from random states would stay in the half where they begin.
    X = np.repeat([[0] * 8, [1] * 8], [20, 80], axis=0)
    network = PairwiseMRF(l1=0.01).fit(X)
    assert_allclose(network.sample(400).mean(axis=0), [share[1] for share in network.marginals()], atol=0.05)
