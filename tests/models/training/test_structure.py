"""How the strength of the penalty is chosen: by the extended Bayesian criterion, and by cross validation."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax

from loglinear.models.training.structure import NetworkOptions, train_network
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import Enumerated, weights

LAYOUT = Numbering([2, 3, 2, 2])
STRENGTHS = [40.0, 20.0, 8.0, 2.0]
RIDGE = 1e-3  # of the second fit, whose NLL the criterion takes, unless there is a larger l2


@pytest.fixture(scope="module")
def codes():
    return Enumerated(LAYOUT, weights(LAYOUT, 2, 0.6)).sample(90)


def trained(codes, **options):
    """The training on the path of `STRENGTHS`, without a warning that the last one is the best."""
    path_options = {"l1": STRENGTHS, **options.pop("path_options", {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return train_network(codes, LAYOUT, None, NetworkOptions(path_options=path_options, **options), threads=1)


def pseudo_nll(codes, w):
    """Minus the log pseudo-likelihood of weights, variable by variable: a plain program."""
    on = LAYOUT.indicators(codes).astype(float)
    matrix, own = LAYOUT.matrix(w[: LAYOUT.n_interactions]), w[LAYOUT.n_interactions :]
    total = 0.0
    for i in range(LAYOUT.n_variables):
        columns = np.flatnonzero(LAYOUT.variable == i)
        scores = np.hstack([np.zeros((len(codes), 1)), on @ matrix[:, columns] + own[columns]])
        total -= log_softmax(scores, axis=1)[np.arange(len(codes)), codes[:, i]].sum()
    return total


def refitted(codes, kept, ridge):
    """The pseudo-NLL of the weights of these interactions that are best with a ridge on them."""
    free = np.concatenate([kept, np.arange(LAYOUT.n_interactions, LAYOUT.n_features)])

    def value(x):
        w = np.zeros(LAYOUT.n_features)
        w[free] = x
        return pseudo_nll(codes, w) + ridge / 2.0 * (x[: len(kept)] ** 2).sum()

    found = minimize(value, np.zeros(len(free)), method="BFGS")
    return found.fun - ridge / 2.0 * (found.x[: len(kept)] ** 2).sum()


@pytest.mark.parametrize("objective", ["pseudolikelihood", "nodewise"])
@pytest.mark.parametrize(("gamma", "l2"), [(0.5, 0.0), (0.0, 5.0)])
def test_the_score_of_pseudo_likelihood_is_the_extended_criterion(codes, gamma, l2, objective):
    points = trained(codes, l1="ebic", l2=l2, objective=objective, path_options={"gamma": gamma}).path.points
    n, p, sizes = len(codes), LAYOUT.n_variables, []
    for point in points[1:]:
        kept = np.flatnonzero(point.result.w[: LAYOUT.n_interactions])
        # Foygel & Drton (2010): 2 NLL + k log n + 4 gamma k log p.
        criterion = 2.0 * refitted(codes, kept, max(l2, RIDGE)) + len(kept) * (math.log(n) + 4.0 * gamma * math.log(p))
        assert point.score == pytest.approx(-criterion, abs=0.02)
        sizes.append(len(kept))
    assert sizes[0] < sizes[-1]


def test_regressions_stop_at_the_limit_of_steps_and_without_one_go_on(codes):
    few = trained(codes, l1=1.0, objective="nodewise", max_iterations=1).result
    assert (few.iterations, few.status.name) == (1, "MAX_ITERATIONS")
    assert trained(codes, l1=1.0, objective="nodewise", max_iterations=None).result.status.converged


def test_gamma_adds_its_cost_and_nothing_else(codes):
    for objective, inference in (("pseudolikelihood", None), ("likelihood", "exact"), ("nodewise", None)):
        options = {"objective": objective, "inference": inference, "l1": "ebic"}
        plain, extended = (trained(codes, path_options={"gamma": gamma}, **options).path for gamma in (0.0, 0.8))
        counts = []
        for one, other in zip(plain.points, extended.points, strict=True):
            k = np.count_nonzero(one.result.w[: LAYOUT.n_interactions])
            assert one.score - other.score == pytest.approx(k * 4.0 * 0.8 * math.log(LAYOUT.n_variables), abs=1e-6)
            counts.append(k)
        assert counts[-1] > 0


@pytest.mark.parametrize(("objective", "folds"), [("pseudolikelihood", 3), ("nodewise", 2)])
def test_cross_validation_scores_held_samples_by_models_whose_penalty_shrinks_with_the_data(codes, objective, folds):
    options = {"objective": objective, "random_state": 3, "tolerance": 1e-9}
    points = trained(codes, l1="cv", path_options={"folds": folds}, **options).path.points
    held = np.array_split(np.random.default_rng(3).permutation(len(codes)), folds)
    totals = np.zeros(len(STRENGTHS))
    for fold in held:
        kept = np.setdiff1d(np.arange(len(codes)), fold)
        for k, l1 in enumerate(STRENGTHS):
            # A sum of fewer samples has the same optimum with a penalty that is less by the same share.
            alone = NetworkOptions(l1=l1 * kept.size / len(codes), **options)
            totals[k] += pseudo_nll(codes[fold], train_network(codes[kept], LAYOUT, None, alone).w)
    assert_allclose([point.score for point in points], -totals / len(codes), rtol=1e-5)
