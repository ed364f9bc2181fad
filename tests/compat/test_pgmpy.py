"""pgmpy's own inference over networks that loglinear has learnt, and its reader of our files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from loglinear import PairwiseMRF
from loglinear.datasets import make_network

NAMES = "abcdefg"


@pytest.fixture(scope="module")
def pgmpy():
    """The classes of pgmpy, whose import takes seconds."""
    pytest.importorskip("pgmpy", reason="pip install 'loglinear[compat]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy import inference, readwrite
    return inference, readwrite


@pytest.fixture(scope="module", params=[False, True], ids=["connected", "not connected"])
def network(request):
    """A network with a loop, and variables of two and three states; perhaps with one without an edge."""
    X = make_network("grid", n_variables=6, n_samples=400, strength=2.0, random_state=0).X
    random = np.random.default_rng(0)
    rows = [dict(zip(NAMES, ["yes" if x else "no" for x in row], strict=False)) for row in X.tolist()]
    for row in rows:
        row["c"] = "often" if row["c"] == "yes" and random.random() < 0.5 else row["c"]
        if request.param:
            row["g"] = str(random.integers(2))
    model = PairwiseMRF(l1=20.0).fit(rows)
    assert len(model.edges_) >= 6
    assert 6 not in model.edges_
    return model


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["VariableElimination", "BeliefPropagation"])
def test_inference_of_pgmpy_gives_our_marginals(method, pgmpy, network):
    names = network.feature_names_in_.tolist()
    if method == "BeliefPropagation" and "g" in names:
        pytest.skip("pgmpy's junction trees are of connected networks")
    model = network.to_pgmpy()
    assert model.check_model()
    assert {*model.nodes} == {*names}
    answer = getattr(pgmpy[0], method)(model)
    for name, expected, states in zip(names, network.marginals(), network.categories_, strict=True):
        found = answer.query([name], show_progress=False)
        assert found.state_names == {name: states.tolist()}
        assert_allclose(found.values, expected, atol=1e-9)
    given = {**dict.fromkeys(names), "a": "yes", "c": "often"}
    found = answer.query(["f"], evidence={"a": "yes", "c": "often"}, show_progress=False)
    assert_allclose(found.normalize(inplace=False).values, network.predict_proba([given])[5][0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_pgmpy_reads_our_files(pgmpy, network, tmp_path):
    if network.n_features_in_ == 7:
        pytest.skip("pgmpy reads no file with a variable without an edge")
    network.to_uai(tmp_path / "net.uai")
    answer = pgmpy[0].VariableElimination(pgmpy[1].UAIReader(str(tmp_path / "net.uai")).get_model())
    for i, expected in enumerate(network.marginals()):
        found = answer.query([f"var_{i}"], show_progress=False).normalize(inplace=False)
        assert_allclose(found.values, expected, atol=1e-9)
