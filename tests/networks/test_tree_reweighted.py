"""Tree-reweighted belief propagation against enumeration: an upper bound, convex, with the beliefs as its gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ElasticNet, PairwiseMRF, Problem, minimize
from loglinear.errors import OptionError
from loglinear.networks import tree_reweighted
from loglinear.networks.appearances import appearances
from loglinear.networks.exact import Exact
from loglinear.networks.graph import Graph, Report
from loglinear.networks.numbering import Numbering
from loglinear.networks.tree_reweighted import TreeReweighted
from loglinear.objectives.network import NetworkLikelihood
from loglinear.solvers import OWLQN, GraftingLight
from oracles.network_enumeration import Scored
from oracles.samples import linked_codes

GRID = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
COMPLETE = [(i, j) for i in range(6) for j in range(i + 1, 6)]
TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]
TIGHT = TreeReweighted(tolerance=1e-11, max_iterations=20_000)


@st.composite
def networks(draw):
    """Networks of any numbers of states and edges, weak and strong."""
    states = draw(st.lists(st.integers(2, 4), min_size=6, max_size=6))
    edges = draw(st.sampled_from([GRID, COMPLETE, TREE, GRID[:3], []]))
    return Scored(states, edges, draw(st.sampled_from([0.3, 1.0, 3.0])), seed=draw(st.integers(0, 1000)))


def bound(model, inference=TIGHT):
    report = Report("trw")
    found = inference.moments(
        Graph(Numbering(model.states), model.edges), (model.nodes, model.tables), report, whole=True
    )
    assert (report.runs, report.unconverged) == (1, 0)
    assert report.iterations > 0
    return found


@given(networks())
@examples(60, deadline=None)
def test_log_z_is_a_bound_from_above_and_exact_on_trees(model):
    found, (log_z, nodes, tables) = bound(model), model.enumerated()
    assert found.log_z >= log_z - 1e-9 * abs(log_z)
    if len(model.edges) < 6:
        assert found.log_z == pytest.approx(log_z, abs=1e-8)
        np.testing.assert_allclose(found.nodes, nodes, atol=1e-8)
        np.testing.assert_allclose(found.edges, tables, atol=1e-8)


@given(networks(), st.integers(0, 100))
@examples(40, deadline=None)
def test_beliefs_are_the_gradient_of_the_bound(model, seed):
    found, rng, step = bound(model), np.random.default_rng(seed), 1e-4
    along = rng.normal(size=model.nodes.size), rng.normal(size=model.tables.size)
    values = []
    for sign in (1.0, -1.0):
        moved = Scored(model.states.tolist(), model.edges.tolist())
        moved.nodes, moved.tables = model.nodes + sign * step * along[0], model.tables + sign * step * along[1]
        values.append(bound(moved).log_z)
    slope = found.nodes @ along[0] + found.edges @ along[1]
    assert (values[0] - values[1]) / (2.0 * step) == pytest.approx(slope, abs=1e-5)


@given(networks(), st.integers(0, 100))
@examples(40, deadline=None)
def test_the_bound_is_convex_in_the_scores(model, seed):
    other = Scored(model.states.tolist(), model.edges.tolist(), 2.0, seed=seed)
    middle = Scored(model.states.tolist(), model.edges.tolist())
    middle.nodes, middle.tables = (model.nodes + other.nodes) / 2.0, (model.tables + other.tables) / 2.0
    ends = bound(model).log_z, bound(other).log_z
    assert bound(middle).log_z <= sum(ends) / 2.0 + 1e-9 * max(map(abs, ends))


def test_appearances_of_a_graph_are_those_of_even_forests_and_those_of_all_pairs_are_looked_up():
    numbering, edges = Numbering([2] * 4), np.array([(0, 1), (1, 2), (0, 2), (2, 3)])
    np.testing.assert_allclose(TreeReweighted().of(Graph(numbering, edges)), [2 / 3, 2 / 3, 2 / 3, 1.0])
    pairs = np.stack(np.triu_indices(4, 1), axis=1)
    dependence = np.array([1.0, 0.5, 0.0, 0.5, 0.0, 2.0])
    fixed = TreeReweighted(damping=0.25).fixed(numbering, dependence)
    share = dict(
        zip(map(tuple, pairs.tolist()), appearances(4, pairs, np.maximum(dependence / 2, 1e-3) ** 2), strict=True)
    )
    np.testing.assert_allclose(fixed.of(Graph(numbering, edges)), [share[tuple(edge)] for edge in edges.tolist()])
    assert fixed.damping == 0.25


def test_too_many_variables_for_the_forests_of_all_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(tree_reweighted, "DENSE", 5)
    TreeReweighted().fixed(Numbering([2] * 5), np.ones(10))
    with pytest.raises(OptionError, match="at most 5 variables, and the data have 6; use 'loopy_bp'"):
        TreeReweighted().fixed(Numbering([2] * 6), np.ones(15))
    with pytest.raises(OptionError, match="loopy_bp"):
        PairwiseMRF(l1=1.0, objective="likelihood", inference="trw").fit(linked_codes([2] * 6)[0])


def test_the_second_run_on_a_graph_begins_where_the_first_ended_and_knows_its_appearances(monkeypatch):
    made = []
    monkeypatch.setattr(tree_reweighted, "appearances", lambda *given: made.append(given) or appearances(*given))
    model, inference, report = Scored([2] * 6, GRID, 1.0), TreeReweighted(), Report("trw")
    graph, other = (Graph(Numbering(model.states), model.edges) for _ in range(2))
    spent = []
    for each in (graph, graph, other):
        before = report.iterations
        inference.moments(each, (model.nodes, model.tables), report, whole=False)
        spent.append(report.iterations - before)
    assert spent[1] <= 2 < spent[0] == spent[2]
    assert len(made) == 2


def test_edges_without_weight_drop_out_of_the_bound():
    numbering = Numbering([2, 3, 2, 2])
    fixed = TreeReweighted(tolerance=1e-12).fixed(numbering, np.array([1.0, 0.3, 0.0, 0.4, 0.9, 0.2]))
    model = Scored(numbering.states.tolist(), [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 3)])
    model.tables[model.edge_first[3] :] = 0.0
    few = Scored(numbering.states.tolist(), [(0, 1), (1, 2), (0, 2)])
    few.nodes, few.tables = model.nodes, model.tables[: model.edge_first[3]]
    all_of, some = bound(model, fixed), bound(few, fixed)
    assert all_of.log_z == pytest.approx(some.log_z, abs=1e-9)
    np.testing.assert_allclose(all_of.nodes, some.nodes, atol=1e-9)


@pytest.mark.parametrize("solver", [OWLQN(), GraftingLight(select=2)])
def test_training_is_convex_and_bounded_by_the_true_likelihood(solver):
    codes, _ = linked_codes([2] * 8)
    numbering = Numbering([2] * 8)
    objective = NetworkLikelihood(codes, numbering, inference=TreeReweighted(tolerance=1e-9), centred=True)
    exact = NetworkLikelihood(codes, numbering, inference=Exact(), centred=True)
    assert objective.is_convex
    problem = Problem(objective, ElasticNet(2.0, 0.0, objective.n_unpenalised))
    found = minimize(problem, solver, objective.independent())
    assert found.status.converged
    assert np.count_nonzero(found.w[: numbering.n_interactions])
    assert found.nll >= exact.value_and_gradient(found.w)[0]


def test_no_letter_ends_at_a_kink_as_an_estimator_too():
    # Loopy belief propagation ends at a kink on such data.
    codes = np.repeat(np.random.default_rng(0).integers(2, size=(200, 4)), 3, axis=1)
    noisy = codes ^ (np.random.default_rng(1).random(codes.shape) < 0.02)
    found = PairwiseMRF(l1=2.0, objective="likelihood", inference="trw").fit(noisy)
    assert found.result_.status.converged
    report = found.inference_report_
    assert (report.method, report.settled) == ("trw", True)
    # The network is narrow enough for the true log Z.
    assert report.lower < found.log_partition().value < report.upper < report.lower + 4.0
    assert {(0, 1), (3, 4), (7, 8)} <= set(map(tuple, found.edges_.tolist()))


@pytest.mark.parametrize("bad", [[0.0, 1.0], [1.5, 1.0], [np.nan, 1.0], [1.0]])
def test_appearances_have_to_be_shares(bad):
    model = Scored([2, 2, 2], [(0, 1), (1, 2)])
    with pytest.raises(OptionError, match="appearances"):
        model.network().loopy_bp(model.nodes, model.tables, appearances=np.array(bad))
