"""What is measured of a trained network: centrality, predictability, stability, and its files for other programs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from loglinear import DataError, DataWarning, OptionError, PairwiseMRF
from loglinear.datasets import make_network
from loglinear.models.training import case_dropping
from loglinear.models.training.case_dropping import DROPS, case_rows
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import Enumerated, weights

MIXED = Numbering([2, 3, 2, 4])
NAMES = ["a", "b", "c", "d"]
CHAIN = make_network("chain", n_variables=6, n_samples=400, strength=2.5, random_state=0).X


def rows_of(n=300, seed=0, gaps=0.0):
    """Rows of a network of four variables, some values missing."""
    codes = Enumerated(MIXED, weights(MIXED, 1, 0.8)).sample(n, seed).astype(object)
    codes[np.random.default_rng(seed).random(codes.shape) < gaps] = None
    return [dict(zip(NAMES, row, strict=True)) for row in codes.tolist()]


def truth_of(model):
    """The network by enumeration."""
    w = np.zeros(MIXED.n_features)
    for (i, j), block in zip(model.edges_, model.weights_, strict=True):
        w[MIXED.block(i, j)] = block[1:, 1:]
    w[MIXED.n_interactions :] = np.concatenate([each[1:] for each in model.node_weights_])
    return Enumerated(MIXED, w)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_predictability_is_that_of_enumeration(gaps):
    rows, weight = rows_of(60, 3, gaps), np.random.default_rng(0).random(60)
    model = PairwiseMRF(l1=2.0).fit(rows_of())
    assert len(model.edges_) > 2
    truth = truth_of(model)
    found = model.predictability(rows, weight)
    for i, name in enumerate(NAMES):
        right, total, counts = 0.0, 0.0, np.zeros(4)
        for row, share in zip(rows, weight, strict=True):
            codes = np.array([-1 if row[each] is None else row[each] for each in NAMES])
            if codes[i] < 0:
                continue
            others = codes.copy()
            others[i] = -1
            right += share * (truth.given(others)[i].argmax() == codes[i])
            total += share
            counts[codes[i]] += share
        accuracy, majority = right / total, counts.max() / total
        expected = {"accuracy": accuracy, "majority": majority, "normalised": (accuracy - majority) / (1 - majority)}
        assert found[name] == pytest.approx(expected)
    assert list(found.to_frame().index) == NAMES


def test_predictability_of_a_variable_without_values_or_with_one():
    model = PairwiseMRF(l1=2.0).fit(rows_of())
    gaps = model.predictability([row | {"c": None} for row in rows_of(20)])
    assert gaps.defined("c") == {"accuracy": None, "majority": None, "normalised": None}
    assert np.isfinite(gaps.normalised[[0, 1, 3]]).all()
    found = model.predictability([row | {"c": 1} for row in rows_of(20)])
    assert found["c"]["majority"] == 1.0
    assert np.isnan(found.normalised[2])


def test_centrality_adds_up_the_edges_that_are_shown():
    model = PairwiseMRF(l1=2.0)
    with pytest.warns(DataWarning, match="constant"):
        model.fit([{"constant": 1, **row} for row in rows_of()])
    found, graph = model.centrality(), model.to_networkx()
    assert found.names == NAMES
    assert_allclose(found.strength, [graph.degree(name, weight="strength") for name in NAMES])
    influence = [sum(e["sign"] * e["strength"] for e in graph[name].values()) for name in NAMES]
    assert_allclose(found.expected_influence, influence)
    with pytest.raises(DataError, match=r"no variable 'A' \(did you mean a\?\); the variables are a, b, c, d"):
        found["A"]
    lines = str(found).splitlines()
    assert lines[0] == "<centrality of 4 variables>"
    assert lines[1].split() == ["variable", "strength", "influence", "closeness", "betweenness"]
    assert len(lines) == 6


def test_strong_networks_are_stable_and_noise_is_not():
    model = PairwiseMRF(l1=15.0).fit(CHAIN)
    strong = model.stability(CHAIN, 8, drops=[0.25, 0.5])
    assert strong.coefficients["edges"] == strong.coefficients["strength"] == 0.5
    noise = np.random.default_rng(0).integers(2, size=(150, 6))
    weak = PairwiseMRF(l1=4.0).fit(noise).stability(noise, 8, drops=[0.25, 0.5, 0.75])
    assert weak.coefficients["strength"] < 0.5
    assert weak.shares[2, 1] < 0.5


def test_stability_correlates_networks_of_the_rows_that_are_kept():
    model = PairwiseMRF(l1=15.0).fit(CHAIN)
    found = model.stability(CHAIN, 2, drops=[0.3, 0.6], random_state=5)
    for level, drop in enumerate([0.3, 0.6]):
        for each in range(2):
            rows = case_rows(400, round((1.0 - drop) * 400), 5, 2 * each + level)
            assert rows.size == np.unique(rows).size == round((1.0 - drop) * 400)
            # The penalty of a sample stays.
            part = PairwiseMRF(l1=15.0 * rows.size / 400).fit(CHAIN[rows])
            tables = [np.zeros((6, 6)), np.zeros((6, 6))]
            for table, network in zip(tables, (model, part), strict=True):
                table[tuple(network.edges_.T)] = [block[1, 1] for block in network.weights_]
            upper = np.triu_indices(6, 1)
            expected = [np.corrcoef(tables[0][upper], tables[1][upper])[0, 1]]
            for name in ("strength", "expected_influence", "closeness", "betweenness"):
                pair = np.stack([getattr(network.centrality(), name) for network in (model, part)])
                pair = pair[:, np.isfinite(pair).all(axis=0)]
                expected.append(np.corrcoef(pair)[0, 1])
            assert_allclose(found.correlations[level, each], expected, rtol=1e-6)


def test_stability_is_the_same_on_any_number_of_threads_and_is_seeded():
    one, two = (PairwiseMRF(l1=15.0, n_jobs=n).fit(CHAIN).stability(CHAIN, 3, drops=[0.5]) for n in (1, 2))
    assert_array_equal(one.correlations, two.correlations)
    other = PairwiseMRF(l1=15.0).fit(CHAIN).stability(CHAIN, 3, drops=[0.5], random_state=1)
    assert (other.correlations != one.correlations).any()


def test_the_coefficient_is_the_largest_share_that_can_be_dropped():
    table = np.array(
        [[[0.9, np.nan]] * 20, [[0.9, np.nan]] * 19 + [[0.6, np.nan]], [[0.9, np.nan]] * 18 + [[0.6, 0.9]] * 2]
    )
    made = case_dropping.NetworkStability(np.array([0.2, 0.4, 0.6]), table, ("edges", "strength"), 0.7, 0.95, 20)
    assert made.coefficients == {"edges": 0.4, "strength": 0.0}
    assert_allclose(made.shares, [[1.0, 0.0], [0.95, 0.0], [0.9, 0.1]])
    undefined = case_dropping.NetworkStability(np.array([0.2]), np.full((1, 3, 1), np.nan), ("edges",), 0.7, 0.95, 3)
    assert np.isnan(undefined.coefficients["edges"])
    assert str(undefined).splitlines()[1].split() == ["edges", "undefined"]
    frame = made.to_frame()
    assert frame.columns.tolist() == ["statistic", "drop", "mean", "lower", "upper", "share"]
    assert frame["share"].tolist() == [1.0, 0.95, 0.9, 0.0, 0.0, 0.1]


def test_ctrl_c_keeps_the_rounds_that_are_done():
    model = PairwiseMRF(l1=15.0, n_jobs=1).fit(CHAIN)

    def after(n):
        def observe(done):
            if done == n:
                raise KeyboardInterrupt

        return observe

    assert model.stability(CHAIN, 3, drops=[0.3, 0.6], observe=after(3)).n == 1
    with pytest.raises(KeyboardInterrupt):
        model.stability(CHAIN, 3, drops=[0.3, 0.6], observe=after(1))


@pytest.mark.filterwarnings("ignore::loglinear.DataWarning")
def test_a_network_without_edges_has_undefined_stability():
    model = PairwiseMRF(l1=500.0).fit(CHAIN)
    with pytest.warns(DataWarning, match="no edges, so correlations"):
        found = model.stability(CHAIN, 2, drops=[0.5])
    assert np.isnan(list(found.coefficients.values())).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 1}, "n=1"),
        ({"drops": []}, "are not ascending shares"),
        ({"drops": [0.5, 0.2]}, "are not ascending shares"),
        ({"drops": [0.5, 1.0]}, "drops=1.0"),
        ({"drops": 0.5}, "drops=0.5 is not a sequence"),
        ({"correlation": 1.5}, "correlation=1.5"),
        ({"probability": 0.0}, "probability=0.0"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    model = PairwiseMRF(l1=15.0).fit(CHAIN)
    with pytest.raises(OptionError, match=message):
        model.stability(CHAIN, **options)


@pytest.mark.parametrize("method", ["stability", "edge_confidence"])
def test_other_data_than_those_of_the_training_are_refused(method):
    model = PairwiseMRF(l1=0.5).fit(rows_of())
    with pytest.raises(DataError, match=r"X has 10 samples, but the network was trained on .*; give its training data"):
        getattr(model, method)(rows_of(10), 2)


def test_dropping_more_samples_than_states_need_is_refused():
    model = PairwiseMRF(l1=0.5).fit(rows_of(10))
    with pytest.raises(DataError, match=r"75 % of the 10 samples 2 are left, fewer than the 3 states of b; give more"):
        model.stability(rows_of(10), drops=DROPS)


def test_evidence_is_written_beside_the_network_and_unknown_names_are_refused(tmp_path):
    model = PairwiseMRF(l1=2.0).fit(rows_of())
    model.to_uai(tmp_path / "x.uai", {"d": 3, "b": 1})
    assert (tmp_path / "x.uai").read_text().startswith("MARKOV\n4\n2 3 2 4\n")
    assert (tmp_path / "x.uai.evid").read_text() == "2 1 1 3 3\n"
    with pytest.raises(DataError, match=r"evidence: no variable 'e'"):
        model.to_uai(tmp_path / "y.uai", {"e": 1})
    with pytest.raises(DataError, match=r"evidence: d does not have the state 7; choose one of 0, 1, 2, 3"):
        model.to_uai(tmp_path / "y.uai", {"d": 7})
    assert not (tmp_path / "y.uai").exists()
