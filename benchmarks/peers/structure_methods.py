"""Programs that find the graph of binary variables, each as a fit at a strength of the L1 penalty."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.covariance import GraphicalLassoCV, graphical_lasso
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from loglinear import ElasticNet, PairwiseMRF
from loglinear.models.training.nodewise import nodewise
from loglinear.networks.numbering import Numbering

SIZES, SEEDS = (100, 200, 500, 1000, 5000), (0, 1, 2)
THREADS = 2
Matrix = Any


def fixed(**options: Any) -> Callable[[Matrix, float], Matrix]:
    """The estimator at a strength; the joint pseudo-likelihood sees a pair twice, so its penalty is doubled."""
    scale = 2.0 if options["objective"] == "pseudolikelihood" else 1.0
    return lambda X, l1: estimated(X, l1=scale * l1, **options)


def estimated(X: Matrix, **options: Any) -> Matrix:
    """Strengths of all pairs, shape (p, p)."""
    model = PairwiseMRF(n_jobs=THREADS, **options).fit(X)
    found = np.zeros((X.shape[1], X.shape[1]))
    found[tuple(model.edges_.T)] = model.strengths_
    return found + found.T


@dataclass(frozen=True)
class Nodes:
    """Regressions of all variables: weights, row i those of variable i, and intercepts."""

    weights: Matrix
    intercepts: Matrix

    def both(self) -> Matrix:
        """The AND rule."""
        there = self.weights != 0
        return abs(self.weights + self.weights.T) / 2 * (there & there.T)

    def objective(self, X: Matrix, l1: float) -> float:
        """Sum over variables of NLL + l1 |w|_1."""
        scores = X @ self.weights.T + self.intercepts
        return float((np.logaddexp(0.0, scores) - scores * X).sum() + l1 * abs(self.weights).sum())


def regressed(X: Matrix, variables: range, l1: float) -> list[tuple[Matrix, float]]:
    """Its solver penalises the intercept: small in centred data, and scaling makes its penalty smaller still."""
    found = []
    for i in variables:
        model = LogisticRegression(l1_ratio=1.0, C=1 / l1, solver="liblinear", intercept_scaling=100, max_iter=10000)
        weights = np.insert(model.fit(np.delete(X - 0.5, i, 1), X[:, i]).coef_[0], i, 0.0)
        found.append((weights, model.intercept_[0] - weights.sum() / 2))
    return found


def liblinear(X: Matrix, l1: float) -> Nodes:
    parts = np.array_split(np.arange(X.shape[1]), THREADS)
    halves = Parallel(n_jobs=THREADS)(delayed(regressed)(X, part, l1) for part in parts)
    weights, intercepts = zip(*chain(*halves), strict=True)
    return Nodes(np.stack(weights), np.array(intercepts))


def ours(X: Matrix, l1: float, **options: Any) -> Nodes:
    found = nodewise(X, Numbering([2] * X.shape[1]), ElasticNet(l1), threads=THREADS, **options)
    return Nodes(found.coefficients.toarray(), found.w[-X.shape[1] :])


def plgpm(X: Matrix, l1: float) -> Nodes:
    """It has a weight for each state: the difference counts, and bears the same penalty."""
    from plgpm import PLGPM, PLGPMConfig

    config = PLGPMConfig(C=1 / l1, penalty="l1", n_jobs=THREADS, verbose=False)
    models = PLGPM([2] * X.shape[1], config).fit(X).models
    weights, intercepts = np.zeros((X.shape[1],) * 2), np.zeros(X.shape[1])
    for i, (model, _) in enumerate(models):
        off, on = model.coef_[0].reshape(-1, 2).T
        weights[i], intercepts[i] = np.insert(on - off, i, 0.0), model.intercept_[0] + off.sum()
    return Nodes(weights, intercepts)


def pxpy_structure(X: Matrix, l1: float) -> Matrix:
    return pxpy_trained(X, graph="auto", iters=1)


def pxpy_full(X: Matrix, l1: float) -> Matrix:
    """L1 on the complete graph, loopy belief propagation; its objective is a mean over samples."""
    from pxpy import prox_l1

    return pxpy_trained(X, graph="full", iters=100, proximal_operator=prox_l1, lambda_proximal=l1 / len(X))


def pxpy_trained(X: Matrix, graph: str, **options: Any) -> Matrix:
    import pxpy

    model = pxpy.train(data=np.ascontiguousarray(X, np.uint16), graph=getattr(pxpy.GraphType, graph), **options)
    edges = np.array(model.graph.edgelist, dtype=int)
    found = np.zeros((X.shape[1],) * 2)
    found[tuple(edges.T)] = 1.0 if graph == "auto" else abs(model.weights[-4 * len(edges) :].reshape(-1, 4)).max(axis=1)
    return found + found.T


def lasso_cv(X: Matrix, l1: float) -> Matrix:
    return abs(GraphicalLassoCV(n_jobs=THREADS).fit(standard(X)).precision_)


def lasso_ebic(X: Matrix, l1: float) -> Matrix:
    from gglasso.problem import glasso_problem

    problem = glasso_problem(np.corrcoef(X.T), len(X), reg="SGL", latent=False)
    with contextlib.redirect_stdout(io.StringIO()), threadpool_limits(1):  # quicker so, on matrices this small
        problem.model_selection({"lambda1_range": np.geomspace(0.5, 0.01, 20)}, method="eBIC", gamma=0.5)
    found = abs(problem.solution.precision_)
    return found * (found > 1e-8)


def standard(X: Matrix) -> Matrix:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def lasso(X: Matrix, l1: float) -> Matrix:
    """On correlations, whose noise is 4 / n times that of the derivatives."""
    return abs(graphical_lasso(np.corrcoef(X.T), 4 * l1 / len(X))[1])


@dataclass(frozen=True)
class Method:
    """How to fit at a strength of the L1 penalty, how to rank pairs, and where to run."""

    fit: Callable[[Matrix, float], Any]
    rank: Callable[[Matrix, float], Any] | None = None
    needs: str = ""
    sizes: tuple[int, ...] = SIZES
    seeds: int = len(SEEDS)
    large: bool = False
    graphs: tuple[str, ...] = ()
    drawn: str = ""


JOINT, NODEWISE, LIKELIHOOD = (fixed(objective=name) for name in ("pseudolikelihood", "nodewise", "likelihood"))
# Many steps between additions: the graph stays near the chain, whose tree-width inference can bear.
EXACT = fixed(objective="likelihood", inference="exact", solver_options={"select": 16, "steps": 50})


def ebic(objective: str) -> Callable[[Matrix, float], Matrix]:
    return lambda X, l1: estimated(X, l1="ebic", objective=objective)


METHODS = {
    "loglinear joint": Method(JOINT, JOINT, large=True, drawn="C0o-"),
    "loglinear joint, EBIC": Method(ebic("pseudolikelihood"), large=True, drawn="C0s--"),
    "loglinear nodewise": Method(NODEWISE, NODEWISE, large=True, drawn="C1o-"),
    "loglinear nodewise, OR": Method(fixed(objective="nodewise", rule="or")),
    "loglinear nodewise, EBIC": Method(ebic("nodewise"), drawn="C1s--"),
    "loglinear likelihood": Method(LIKELIHOOD, LIKELIHOOD, large=True, drawn="C2o-"),
    "loglinear likelihood, EBIC": Method(ebic("likelihood"), drawn="C2s--"),
    "loglinear likelihood, exact": Method(EXACT, graphs=("chain",), drawn="C2P:"),
    "scikit-learn liblinear": Method(liblinear, liblinear, large=True, drawn="C3x:"),
    "plgpm": Method(plgpm, plgpm, needs="plgpm", large=True),
    "scikit-learn GraphicalLassoCV": Method(lasso_cv, lasso, drawn="C4^-"),
    "gglasso, EBIC": Method(lasso_ebic, needs="gglasso", drawn="C5v-"),
    "pxpy auto": Method(pxpy_structure, needs="pxpy", seeds=1, sizes=(200, 1000, 5000), drawn="C7d-"),
    "pxpy full graph, L1": Method(pxpy_full, needs="pxpy", seeds=1, sizes=(1000,), graphs=("grid",)),
}


def started() -> None:
    """Start the processes, which no fit shall wait for."""
    Parallel(n_jobs=THREADS)(delayed(regressed)(np.eye(4), range(1), 1.0) for _ in range(THREADS))
