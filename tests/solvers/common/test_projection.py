"""Laws of clusters of weights and of the objective over them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from examples import examples
from loglinear import ChainObjective, Corpus
from loglinear.errors import ObjectiveError, OptionError
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.solvers.common.projection import Projected, chunks, cluster_map, clusterable_range, k_means, project_down
from oracles.logistic import Logistic, Summed
from oracles.samples import Classified, PerSample, chunky, sentences

LAWS = examples(60)
SEEDS = st.integers(0, 2**32 - 1)


def random_map(rng, d, size):
    """A cluster map in which every cluster is in use."""
    return np.unique(rng.integers(0, max(d // size, 1), d), return_inverse=True)[1]


@LAWS
@given(d=st.integers(1, 60), size=st.integers(2, 20), seed=SEEDS, ties=st.booleans())
def test_chunks_are_runs_of_the_sorted_weights_none_larger_than_the_cluster_factor(d, size, seed, ties):
    beta = np.random.default_rng(seed).normal(size=d)
    if ties:
        beta = np.round(beta)
    cmap = chunks(beta, size)
    sizes = np.bincount(cmap)
    assert (sizes[:-1] == size).all()
    assert 1 <= sizes[-1] <= size
    assert sizes.sum() == d
    bounds = [(beta[cmap == k].min(), beta[cmap == k].max()) for k in range(sizes.size)]
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(bounds))


@LAWS
@given(d=st.integers(1, 60), size=st.integers(2, 20), seed=st.integers(0, 2**64 - 1), ties=st.booleans())
def test_k_means_is_the_same_with_the_same_seed_and_leaves_no_cluster_empty(d, size, seed, ties):
    beta, change = np.random.default_rng(seed).normal(size=(2, d))
    if ties:
        beta, change = np.sign(beta), np.zeros(d)
    cmap = k_means(beta, change, size, seed)
    with threadpool_limits(limits=2):
        np.testing.assert_array_equal(k_means(beta, change, size, seed), cmap)
    assert (np.bincount(cmap) > 0).all()
    assert cmap.size == d
    assert cmap.max() < -(-d // size)


def test_k_means_is_that_of_scikit_learn_from_one_start():
    beta, change = np.random.default_rng(0).normal(size=(2, 200))
    random_state = np.random.RandomState(np.random.MT19937(3))
    found = KMeans(20, n_init=1, random_state=random_state).fit_predict(np.column_stack([beta, change]))
    cmap = k_means(beta, change, 10, 3)
    assert len({*zip(found.tolist(), cmap.tolist(), strict=True)}) == 20


def test_k_means_depends_on_the_seed():
    beta, change = np.random.default_rng(0).normal(size=(2, 200))
    assert any((k_means(beta, change, 10, 0) != k_means(beta, change, 10, seed)).any() for seed in range(1, 4))


def test_k_means_keeps_weights_apart_that_only_cross():
    beta, change = np.zeros(40), np.repeat([-1.0, 1.0], 20)
    cmap = k_means(beta, change, 20, 0)
    assert len(set(cmap[:20])) == len(set(cmap[20:])) == 1
    assert cmap[0] != cmap[39]


@LAWS
@given(d=st.integers(1, 60), size=st.integers(2, 20), seed=SEEDS)
def test_features_outside_the_range_are_mapped_one_to_one_and_in_their_order(d, size, seed):
    rng = np.random.default_rng(seed)
    start, stop = sorted(rng.integers(0, d + 1, 2))
    clusters = chunks(rng.normal(size=stop - start), size)
    cmap = cluster_map(d, start, clusters)
    sizes = np.bincount(cmap)
    assert (sizes >= 1).all()
    np.testing.assert_array_equal(cmap[:start], np.arange(start))
    np.testing.assert_array_equal(cmap[stop:], sizes.size - (d - stop) + np.arange(d - stop))
    assert (sizes[cmap[:start]] == 1).all()
    assert (sizes[cmap[stop:]] == 1).all()
    np.testing.assert_array_equal(cmap[start:stop] - start, clusters)


def test_weights_without_penalty_are_not_clustered():
    objective = Logistic(20, 30)
    assert clusterable_range(Problem(objective, ElasticNet(l2=1.0))) == (0, 20)
    assert clusterable_range(Problem(objective, ElasticNet(l2=1.0, unpenalised=3))) == (0, 17)
    objective.clusterable = (18, 20)
    assert clusterable_range(Problem(objective, ElasticNet(l2=1.0, unpenalised=3))) == (18, 18)


@pytest.mark.parametrize("bad", [(-1, 3), (3, 2), (0, 21), 7, (1,), (0, 1, 2), ("a", "b"), None])
def test_an_impossible_range_is_named(bad):
    objective = Logistic(20, 30)
    objective.clusterable = bad
    with pytest.raises(OptionError, match=r"Logistic\.clusterable"):
        clusterable_range(Problem(objective))


@LAWS
@given(d=st.integers(1, 60), size=st.integers(2, 20), seed=SEEDS)
def test_gamma_is_the_mean_of_each_cluster(d, size, seed):
    rng = np.random.default_rng(seed)
    beta, cmap = rng.normal(size=d), random_map(rng, d, size)
    gamma = project_down(beta, cmap)
    np.testing.assert_allclose(gamma, [beta[cmap == k].mean() for k in range(cmap.max() + 1)], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(project_down(gamma[cmap], cmap), gamma, rtol=1e-14)


PROBLEMS = dict(
    d=st.integers(2, 30), size=st.integers(2, 8), l2=st.sampled_from([0.0, 0.7]), bare=st.integers(0, 2), seed=SEEDS
)


@LAWS
@given(**PROBLEMS)
def test_the_gradient_by_gamma_is_that_by_beta_added_up_over_clusters(d, size, l2, bare, seed):
    # Eq. 14, of the penalised objective.
    rng = np.random.default_rng(seed)
    objective, cmap = Logistic(d, 25, seed), random_map(rng, d, size)
    projected = Projected(Problem(objective, ElasticNet(l2=l2, unpenalised=bare)), cmap)
    gamma = rng.normal(size=projected.n_features)
    beta, penalised = gamma[cmap], np.arange(d) < d - bare
    nll, g = objective.value_and_gradient(beta)
    g = g + l2 * np.where(penalised, beta, 0.0)
    value, gradient = projected.value_and_gradient(gamma)
    penalty = 0.5 * l2 * float((beta[penalised] ** 2).sum())
    assert value == pytest.approx(nll + penalty, rel=1e-12)
    assert projected.ridge(gamma) == pytest.approx(penalty, rel=1e-12)
    sums = [g[cmap == k].sum() for k in range(gamma.size)]
    np.testing.assert_allclose(gradient, sums, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", [Logistic, Summed])
@pytest.mark.parametrize("bare", [0, 2])
def test_the_gradient_by_gamma_is_that_of_finite_differences(kind, bare):
    rng = np.random.default_rng(3)
    cmap = random_map(rng, 20, 4)
    projected = Projected(Problem(kind(20, 25), ElasticNet(l2=0.7, unpenalised=bare)), cmap)
    gamma, h = rng.normal(size=projected.n_features), 1e-6
    value = lambda gamma: projected.value_and_gradient(gamma)[0]  # noqa: E731
    differences = [(value(gamma + h * e) - value(gamma - h * e)) / (2.0 * h) for e in np.eye(gamma.size)]
    np.testing.assert_allclose(projected.value_and_gradient(gamma)[1], differences, rtol=1e-6, atol=1e-6)


@LAWS
@given(**PROBLEMS)
def test_added_up_features_give_the_mapped_value_and_gradient(d, size, l2, bare, seed):
    # Eq. 15 against Eq. 14.
    rng = np.random.default_rng(seed)
    objective, cmap = Summed(d, 25, seed), random_map(rng, d, size)
    problem = Problem(objective, ElasticNet(l2=l2, unpenalised=bare))
    aggregated, mapped = (Projected(problem, cmap, aggregate=aggregate) for aggregate in (True, False))
    gamma = rng.normal(size=mapped.n_features)
    value, gradient = aggregated.value_and_gradient(gamma)
    calls = objective.calls
    assert calls == 0
    expected, expected_gradient = mapped.value_and_gradient(gamma)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-12 * np.abs(expected_gradient).max())


CHAINS = {
    "sparse": lambda seed: PerSample(*sentences(25, seed, valued=True)).whole,
    "dense rows": lambda seed: PerSample(*sentences(60, seed, kinds=3)).whole,
    "bigram features": lambda seed: (
        PerSample(
            [[(token[0],) for token in sentence] for sentence in sentences(25, seed)[0]],
            sentences(25, seed)[1],
            [1.0, 2.0, 0.5, 0.0, 1.5] * 5,
            "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB1:%x[0,0]\n",
        ).whole
    ),
    "binary": lambda seed: Classified(seed, 2).classifier,
    "multinomial": lambda seed: Classified(seed, 4).classifier,
    "without intercept": lambda seed: Classified(seed, 3, intercept=False).classifier,
}


@LAWS
@pytest.mark.parametrize("kind", CHAINS)
@given(size=st.integers(1, 9), seed=st.integers(0, 10_000), l2=st.sampled_from([0.0, 0.7]))
def test_native_objectives_add_up_their_features_over_clusters(kind, size, seed, l2):
    # Eq. 15 against Eq. 14, for CRFs what the paper leaves to future work.
    objective, rng = CHAINS[kind](seed), np.random.default_rng(seed)
    start, stop = objective.clusterable
    cmap = cluster_map(objective.n_features, start, random_map(rng, stop - start, size))
    problem = Problem(objective, ElasticNet(l2=l2, unpenalised=objective.n_features - stop))
    aggregated, mapped = (Projected(problem, cmap, aggregate=aggregate) for aggregate in (True, False))
    assert aggregated._aggregated is not None
    gamma = rng.normal(size=mapped.n_features)
    value, gradient = aggregated.value_and_gradient(gamma)
    expected, expected_gradient = mapped.value_and_gradient(gamma)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-11 * np.abs(expected_gradient).max())


def test_what_may_not_be_clustered_is_not_added_up():
    for objective in (CHAINS["sparse"](0), CHAINS["binary"](0), CHAINS["multinomial"](0)):
        cmap = np.arange(objective.n_features) // 2
        assert objective.aggregate(cmap, int(cmap.max()) + 1) is None


def test_the_chain_is_projected_with_its_threads_and_samples():
    objective = ChainObjective(Corpus.encode(*chunky()), threads=2)
    rng = np.random.default_rng(4)
    cmap = random_map(rng, objective.n_features, 5)
    projected = Projected(Problem(objective, ElasticNet(l2=0.3)), cmap)
    assert (projected.n_samples, projected.n_threads) == (objective.n_samples, 2)
    gamma, out = rng.normal(size=projected.n_features), np.empty(projected.n_features)
    value, gradient = projected.value_and_gradient(gamma, out=out)
    assert gradient is out
    nll, g = objective.value_and_gradient(gamma[cmap])
    assert value == pytest.approx(nll + 0.15 * (gamma[cmap] @ gamma[cmap]), rel=1e-13)
    expected = np.bincount(cmap, weights=g + 0.3 * gamma[cmap])
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-10)


def test_an_aggregate_that_is_no_objective_over_the_clusters_is_named():
    class Own(Summed):
        found = object()

        def aggregate(self, cmap, n_clusters):
            return self.found

    objective, cmap = Own(6, 10), np.array([0, 0, 1, 1, 2, 2])
    with pytest.raises(OptionError, match="object has no n_features"):
        Projected(Problem(objective), cmap)
    Own.found = None  # it cannot
    assert Projected(Problem(objective), cmap).value_and_gradient(np.zeros(3))[0] == pytest.approx(10.0 * np.log(2.0))
    assert objective.calls == 1
    Own.found = Logistic(4, 10)
    with pytest.raises(ObjectiveError, match=r"Own\.aggregate.*4.*3 clusters"):
        Projected(Problem(objective), cmap)
