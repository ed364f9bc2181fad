"""Reports of networks and of fields on graphs, held against the models' own answers."""

import numpy as np
import pandas as pd
import pytest
import scipy.special

from loglinear import DataError, GraphCRF, PairwiseMRF, grid_edges
from loglinear.models.explain import network_report
from oracles.pages import Page


@pytest.fixture(scope="module")
def table():
    """Columns that hang together, one with three states, one that never changes, and values that are missing."""
    rng = np.random.default_rng(1)
    a = rng.integers(3, size=300)
    b = np.where(rng.random(300) < 0.7, a > 0, rng.random(300) < 0.5)
    c = np.where(rng.random(300) < 0.7, b, rng.random(300) < 0.5)
    made = pd.DataFrame({"a": a.astype(str), "one": "same", "b": b.astype(str), "c": c.astype(str)}, dtype=object)
    made.loc[:5, "b"] = None
    return made


@pytest.fixture(scope="module")
def network(table):
    with pytest.warns(UserWarning, match="ignored, because"):
        return PairwiseMRF(l1=1.0).fit(table)


def conditionals(network, row):
    """Observed variable -> probabilities of its states given all others, from the probabilities of whole rows."""
    filled = network.predict(pd.DataFrame([row])).to_numpy()[0]
    found = {}
    for at, name in enumerate(row.index):
        states = network.categories_[at].tolist()
        if not pd.isna(row[name]) and len(states) > 1:
            rows = pd.DataFrame([filled] * len(states), columns=row.index)
            rows[name] = states
            found[name] = dict(zip(states, scipy.special.softmax(network.log_likelihood(rows).samples), strict=True))
    return found


def test_a_report_of_a_network_has_what_the_network_says_of_each_value(network, table):
    X = table[:60]
    report = network.report(X)
    expected = [conditionals(network, row) for _, row in X.iterrows()]
    right = [
        row[name] == max(p, key=p.get)
        for (_, row), each in zip(X.iterrows(), expected, strict=True)
        for name, p in each.items()
    ]
    assert report.settings["trained on"] == f"{len(table):,} samples"
    assert report.scores.n_tokens == len(right) == 60 * 3 - 6
    assert report.scores.accuracy == np.mean(right)
    assert report.data["missing values"] == 6
    mean = sum(max(p.values()) for each in expected for p in each.values()) / len(right)
    calibration = report.calibrations["values"]
    assert sum(each.n * each.confidence for each in calibration.bins if each.n) / len(right) == pytest.approx(mean)
    most = sum(X[name].value_counts().max() for name in "abc") / len(right)
    assert report.data["values equal to the most frequent one of their variable"] == f"{100 * most:.2f} %"
    ((_, value, below),) = report.headline
    assert (value, below) == (f"{network.score(X):.4f}", "exact")
    strengths = dict(report.edges)
    assert list(strengths.values()) == sorted(network.strengths_, reverse=True)
    assert report.command == "PairwiseMRF(l1=1.0).fit(X_train)"
    page = Page(report.html())
    page.check_alone()
    assert f"accuracy of values{100 * np.mean(right):.2f} %" in page.text
    assert [row[0] for row in page.tables["Strongest edges"][1:]] == list(strengths)
    assert "<svg" in report.graph
    centrality = network.centrality()
    heading, *rows = page.tables["Centralities of variables"]
    assert heading == ["variable", "strength", "expected influence", "closeness", "betweenness"]
    strongest = sorted(centrality.names, key=lambda name: -centrality[name]["strength"])
    assert [row[0] for row in rows] == strongest
    for name, *cells in rows:
        assert cells == ["" if np.isnan(p) else f"{p:.3f}" for p in centrality[name].values()]


def test_a_large_network_and_one_without_edges_have_no_centralities(network, table, monkeypatch):
    varying = table.drop(columns="one")
    assert not PairwiseMRF(l1=1e6).fit(varying).report(varying).centralities
    monkeypatch.setattr(network_report, "_MOST_MEASURED", 2)
    assert not network.report(table).centralities


def test_the_features_of_a_state_are_what_moves_its_odds(network, table):
    """Differences between two states' weights are those of the log-odds when the neighbour changes."""
    report = network.report(table)
    weights = {label: dict(each.up + each.down) for label, each in report.strongest.items()}
    assert set(weights) == {"a=0", "a=1", "a=2", "b=False", "b=True", "c=False", "c=True"}
    rows = pd.DataFrame([["0", "same", b, "True"] for b in ("False", "True")], columns=table.columns)
    odds = [
        np.log(each["a"]["2"] / each["a"]["0"]) for each in (conditionals(network, row) for _, row in rows.iterrows())
    ]
    by_weights = [weights["a=2"].get(f"b={b}", 0.0) - weights["a=0"].get(f"b={b}", 0.0) for b in ("False", "True")]
    assert by_weights[1] - by_weights[0] == pytest.approx(odds[1] - odds[0])


def test_a_table_without_values_is_refused(network, table):
    with pytest.raises(DataError, match="no values"):
        network.report(table[:2].assign(a=None, b=None, c=None))


def test_a_report_of_graphs_has_the_scores_of_the_field():
    rng = np.random.default_rng(0)
    y = [rng.integers(3, size=(4, 5)).cumsum(1) % 3 for _ in range(6)]
    X = [
        (np.stack([k == each for k in range(3)], -1).reshape(20, 3) + rng.normal(size=(20, 3)), grid_edges(4, 5))
        for each in y
    ]
    y = [each.ravel() for each in y]
    crf = GraphCRF(l2=0.5).fit(X, y)
    report = crf.report(X, y)
    assert report.scores.accuracy == pytest.approx(crf.score(X, y))
    assert 0.5 < report.scores.accuracy < 1.0
    sure = np.concatenate(crf.predict_proba(X))
    guess = np.concatenate(crf.predict(X))
    mean = sure[np.arange(len(guess)), guess].mean()
    found = report.calibrations["nodes"]
    assert sum(each.n * each.confidence for each in found.bins if each.n) / found.n == pytest.approx(mean)
    assert report.transitions.weights == crf.edge_weights_[0].tolist()
    assert report.strongest["1"].up[0][1] == crf.node_weights_[:, 1].max()
    Page(report.html()).check_alone()


def test_a_field_from_a_file_reports_as_before_and_only_of_labels_that_are_known(tmp_path):
    rng = np.random.default_rng(0)
    X = [(rng.normal(size=(6, 2)), grid_edges(2, 3)) for _ in range(4)]
    y = [rng.integers(2, size=6) for _ in X]
    for inference, named in (("exact", "exact"), ("loopy_bp", "loopy belief"), ("trw", "tree-reweighted belief")):
        crf = GraphCRF(inference=inference, l2=1.0).fit(X, y)
        crf.save(tmp_path / "m")
        again = GraphCRF.load(tmp_path / "m")
        before, after = crf.report(X, y), again.report(X, y)
        assert before.settings == after.settings
        assert before.settings["inference"].startswith(named)
        assert before.scores == after.scores
        assert (len(before.trace), len(after.trace)) == (len(crf.result_.trace), 0)
        assert again._summary() == crf._summary()
    some = [np.where(np.arange(6) < 2, None, each) for each in y]
    report = crf.report(X, some)
    assert (report.data["nodes"], report.scores.n_tokens) == (16, 16)
    assert report.scores.accuracy == pytest.approx(crf.score(X, some))
    assert set(report.scores.per_label) <= {"0", "1"}
    with pytest.raises(DataError, match="graph 0: labels have shape"):
        crf.report(X, [each[:3] for each in y])
