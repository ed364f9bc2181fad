"""The likelihood of networks, its gradient, and what inference says of pairs without an edge."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

from loglinear import DataError, ElasticNet, PairwiseMRF, Problem, minimize
from loglinear.datasets import make_network
from loglinear.networks.exact import Exact
from loglinear.networks.gibbs import Gibbs
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Numbering
from loglinear.objectives.network import NetworkLikelihood
from loglinear.solvers import OWLQN, Grafting, GraftingLight
from oracles.network_enumeration import Enumerated, features, weights
from oracles.samples import linked_codes

TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-6}
SOLVERS = [
    GraftingLight(select=2, steps=1, **TIGHT),
    GraftingLight(select=3, **TIGHT),
    Grafting(select=2, **TIGHT),
]
MIXED = Numbering([2, 3, 2, 4])
BINARY = Numbering([2] * 6)


def likelihood(numbering, codes, **options):
    options.setdefault("inference", Exact())
    return NetworkLikelihood(codes, numbering, **options)


def holed(codes, share=0.2, seed=0):
    """Samples with missing values, none of them empty."""
    random = np.random.default_rng(seed)
    hidden = random.random(codes.shape) < share
    hidden[np.arange(len(codes)), random.integers(0, codes.shape[1], len(codes))] = False
    return np.where(hidden, -1, codes).astype(np.int32)


@pytest.mark.parametrize("numbering", [MIXED, BINARY])
def test_weights_are_numbered_through_the_upper_triangle(numbering):
    every = np.arange(numbering.n_interactions)
    first, second = numbering.columns_of(every)
    assert (numbering.variable[first] < numbering.variable[second]).all()
    assert (numbering.interactions_of(first, second) == every).all()
    w = np.random.default_rng(0).normal(size=numbering.n_interactions)
    assert (numbering.upper(numbering.matrix(w)) == w).all()
    edges = numbering.edges_of(every)
    blocks = [numbering.block(i, j).ravel() for i, j in edges]
    assert sorted(np.concatenate(blocks)) == every.tolist()
    groups = numbering.groups()
    assert len(set(groups)) == len(edges)
    assert all(len(set(groups[block])) == 1 for block in blocks)


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("numbering", [MIXED, BINARY])
def test_value_and_gradient_are_those_of_enumeration(numbering, share):
    w = weights(numbering, 1, share)
    truth = Enumerated(numbering, w)
    codes, weight = truth.sample(50), np.random.default_rng(2).random(50)
    objective = likelihood(numbering, codes, weights=weight)
    value, gradient = objective.value_and_gradient(w)
    assert value == pytest.approx(-sum(weight * [truth.log_p(row) for row in codes]), rel=1e-12)
    expected = weight.sum() * truth.p @ truth.features - weight @ features(numbering, codes)
    assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("numbering", [MIXED, BINARY])
def test_gradient_is_finite_differences_under_exact_inference_with_missing_values(numbering):
    truth = Enumerated(numbering, weights(numbering, 1))
    objective = likelihood(numbering, holed(truth.sample(30)))
    w = weights(numbering, 3)
    difference = check_grad(
        lambda x: objective.value_and_gradient(x)[0], lambda x: objective.value_and_gradient(x)[1], w
    )
    assert difference < 1e-4 * np.linalg.norm(objective.value_and_gradient(w)[1])


def test_value_with_missing_values_is_the_log_probability_of_the_others():
    truth = Enumerated(MIXED, weights(MIXED, 1))
    codes = holed(truth.sample(40))
    w = weights(MIXED, 4)
    value, _ = likelihood(MIXED, codes).value_and_gradient(w)
    assert value == pytest.approx(-sum(Enumerated(MIXED, w).log_p(row) for row in codes), rel=1e-10)


@pytest.mark.parametrize("inference", [Exact(), LoopyBP(tolerance=1e-12)])
@pytest.mark.parametrize("missing", [False, True])
def test_a_restriction_is_the_whole_with_the_others_at_zero(inference, missing):
    w = weights(MIXED, 5, 0.3, 0.5)
    codes = Enumerated(MIXED, w).sample(40)
    objective = likelihood(MIXED, holed(codes) if missing else codes, inference=inference)
    kept = np.union1d(np.flatnonzero(w), np.arange(MIXED.n_interactions, MIXED.n_features))
    value, gradient = objective.value_and_gradient(w)
    part_value, part = objective.restrict(kept).value_and_gradient(w[kept])
    assert part_value == pytest.approx(value, rel=1e-8)
    assert_allclose(part, gradient[kept], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_centred_interactions_are_the_same_model(missing):
    codes = Enumerated(MIXED, weights(MIXED, 5)).sample(60)
    codes = holed(codes) if missing else codes
    plain, centred = (likelihood(MIXED, codes, centred=each) for each in (False, True))
    w = weights(MIXED, 6, 0.5)
    value, gradient = centred.value_and_gradient(w)
    assert value == pytest.approx(plain.value_and_gradient(centred.natural(w))[0], rel=1e-12)
    difference = check_grad(lambda x: centred.value_and_gradient(x)[0], lambda x: centred.value_and_gradient(x)[1], w)
    assert difference < 1e-4 * np.linalg.norm(gradient)
    kept = np.union1d(np.flatnonzero(w), np.arange(MIXED.n_interactions, MIXED.n_features))
    part_value, part = centred.restrict(kept).value_and_gradient(w[kept])
    assert part_value == pytest.approx(value, rel=1e-10)
    assert_allclose(part, gradient[kept], atol=1e-8)


@pytest.mark.parametrize("numbering", [BINARY, MIXED])
def test_belief_propagation_is_exact_on_trees_and_linear_response_for_pairs_without_edge(numbering):
    w = np.zeros(numbering.n_features)
    random = np.random.default_rng(0)
    for i in range(1, numbering.n_variables):
        block = numbering.block((i - 1) // 2, i)
        w[block] = random.normal(size=block.shape)
    w[numbering.n_interactions :] = 0.3 * random.normal(size=numbering.n_columns)
    codes = Enumerated(numbering, w).sample(50)
    exact = likelihood(numbering, codes).value_and_gradient(w)
    loopy = likelihood(numbering, codes, inference=LoopyBP(tolerance=1e-12)).value_and_gradient(w)
    assert loopy[0] == pytest.approx(exact[0], rel=1e-9)
    if numbering is BINARY:
        assert_allclose(loopy[1], exact[1], atol=1e-6)
    at_work = np.r_[np.flatnonzero(w)]
    assert_allclose(loopy[1][at_work], exact[1][at_work], atol=1e-7)
    product = likelihood(numbering, codes, inference=LoopyBP(tolerance=1e-12, candidates="product")).value_and_gradient(
        w
    )
    assert abs(loopy[1] - exact[1]).max() < 0.1 * abs(product[1] - exact[1]).max()


def test_linear_response_does_not_take_correlation_along_a_path_for_an_edge():
    data = make_network("chain", 64, 500, strength=2.0, random_state=0)
    true = {tuple(edge) for edge in data.edges.tolist()}
    share = {}
    for candidates in ("response", "product"):
        options = {"objective": "likelihood", "inference_options": {"candidates": candidates}}
        model = PairwiseMRF(l1=0.5 * np.sqrt(500 * np.log(64)), **options).fit(data.X)
        found = {tuple(edge) for edge in model.edges_.tolist()}
        assert true <= found
        share[candidates] = len(found & true) / len(found)
    assert share["response"] > 0.85
    assert share["product"] < 0.7


def test_beliefs_of_candidates_are_what_belief_propagation_says_with_their_edges_at_zero():
    w = weights(BINARY, 6, 0.5, 0.5)
    codes = Enumerated(BINARY, w).sample(50)
    options = {"inference": LoopyBP(tolerance=1e-12, candidates="product")}
    sparse = likelihood(BINARY, codes, **options).value_and_gradient(w)[1]
    complete = likelihood(BINARY, codes, **options).restrict(np.arange(BINARY.n_features)).value_and_gradient(w)[1]
    assert_allclose(sparse, complete, atol=1e-7)


def test_samples_estimate_value_and_gradient():
    w = weights(BINARY, 7, 0.5, 0.4)
    codes = Enumerated(BINARY, w).sample(200)
    exact = likelihood(BINARY, codes).value_and_gradient(w)
    sampled = likelihood(BINARY, codes, inference=Gibbs(chains=20_000)).value_and_gradient(w)
    assert sampled[0] == pytest.approx(exact[0], rel=0.02)
    assert_allclose(sampled[1], exact[1], atol=200 * 5 * 0.5 / np.sqrt(10_000))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("numbering", [MIXED, BINARY])
def test_conditions_3_hold_at_the_end_and_the_optimum_is_that_of_owlqn(solver, numbering):
    codes = Enumerated(numbering, weights(numbering, 8, 0.4)).sample(300)
    objective = likelihood(numbering, codes)
    problem = Problem(objective, ElasticNet(5.0, 0.0, objective.n_unpenalised))
    full = minimize(problem, OWLQN(tolerance=0.0, gradient_tolerance=1e-5))
    found = minimize(problem, solver, objective.independent())
    assert found.status.converged
    assert found.objective == pytest.approx(full.objective, rel=1e-4)
    gradient = objective.value_and_gradient(found.w)[1][: numbering.n_interactions]
    inner = found.w[: numbering.n_interactions]
    assert_allclose(gradient[inner != 0.0], -5.0 * np.sign(inner[inner != 0.0]), atol=1e-3)
    assert (np.abs(gradient[inner == 0.0]) <= 5.0 + 1e-3).all()


def test_the_independent_model_is_the_optimum_without_interactions():
    codes = Enumerated(MIXED, weights(MIXED, 9, scale=0.3)).sample(300)
    for data in (codes, holed(codes)):
        objective = likelihood(MIXED, data)
        gradient = objective.value_and_gradient(objective.independent())[1]
        assert_allclose(gradient[MIXED.n_interactions :], 0.0, atol=1e-8)


def test_results_do_not_depend_on_threads():
    w = weights(MIXED, 10, 0.6)
    codes = holed(Enumerated(MIXED, w).sample(60))
    for inference in (Exact, LoopyBP, Gibbs):
        one, two = (likelihood(MIXED, codes, inference=inference(), threads=t).value_and_gradient(w) for t in (1, 2))
        assert one[0] == two[0]
        assert (one[1] == two[1]).all()


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((3, 2), int), r"\(n_samples, 4\)"),
        (np.array([[0, 3, 0, 0]]), "state 3 of variable 1"),
        (np.zeros((3, 4)), "whole numbers"),
    ],
)
def test_bad_states_are_named(codes, message):
    with pytest.raises(DataError, match=message):
        likelihood(MIXED, codes)


def test_bad_sample_weights_are_refused():
    with pytest.raises(DataError, match=r"weight -1\.0 of sample 1"):
        likelihood(MIXED, np.zeros((2, 4), int), weights=np.array([1.0, -1.0]))


def test_threads_that_share_an_objective_have_graphs_of_their_own():
    numbering = Numbering([2] * 8)
    codes, _ = linked_codes([2] * 8, 60)
    shared = NetworkLikelihood(codes, numbering, inference=Exact())
    rng = np.random.default_rng(2)

    def evaluated(objective, w):
        value, gradient = objective.value_and_gradient(w)
        return objective.graph_of(np.flatnonzero(w[: numbering.n_interactions])), value, gradient.tobytes()

    for _ in range(5):
        larger = np.zeros(numbering.n_features)
        larger[rng.choice(numbering.n_interactions, 10, replace=False)] = rng.normal(size=10)
        smaller = larger.copy()
        smaller[np.flatnonzero(larger)[:1]] = 0.0
        evaluated(shared, larger)
        with ThreadPoolExecutor(1) as others:
            graph, *found = others.submit(evaluated, shared, smaller).result()
        assert len(graph.edges) == 9
        assert found == list(evaluated(NetworkLikelihood(codes, numbering, inference=Exact()), smaller)[1:])
