"""Structure of a binary network: our joint and nodewise fits beside p runs of scikit-learn's LogisticRegression.

Data come from a random sparse graph, by Gibbs sampling. scikit-learn's liblinear penalises the intercept, so that it
gets one of a large scale; its tolerance is the loosest of a ladder whose objective is within 1e-4 of ours. Its time is
that of some of the variables, times how many there are. A weight of the joint fit stands in two terms, and bears the
penalties of both: 2 l1.

    python benchmarks/pseudolikelihood.py [--variables 400] [--samples 2000] [--l1 25] [--threads 2] [--peer 16]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from loglinear import ElasticNet, Problem, minimize
from loglinear.models.training.nodewise import nodewise
from loglinear.networks.numbering import Numbering
from loglinear.objectives.pseudolikelihood import PseudoLikelihood
from loglinear.solvers import OWLQN, GraftingLight

SWEEPS = 200
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def sample(p: int, n: int, degree: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States of n samples, shape (n, p), and the symmetric weights that they come from."""
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((p, p)) < degree / (p - 1), 1)
    M = edges * rng.choice([-1.5, 1.5], size=(p, p))
    M += M.T
    # Weights of single columns such that no variable is rare.
    h = -M.sum(axis=1) / 2.0
    codes = rng.integers(0, 2, (n, p))
    for _ in range(SWEEPS):
        for i in range(p):
            codes[:, i] = rng.random(n) < expit(h[i] + codes @ M[i])
    return codes, M


def peer(codes: np.ndarray, i: int, l1: float, ours: float, solver: str) -> tuple[float, float]:
    """Seconds of scikit-learn at the loosest tolerance that is good enough, and its objective over ours."""
    X, y = np.delete(codes, i, 1).astype(np.float64), codes[:, i]
    for tolerance in TOLERANCES:
        model = LogisticRegression(
            l1_ratio=1.0,
            C=1.0 / l1,
            solver=solver,
            tol=tolerance,
            intercept_scaling=100.0,
            max_iter=10**5,
            random_state=0,
        )
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        scores = model.decision_function(X)
        value = np.logaddexp(0.0, np.where(y == 1, -scores, scores)).sum() + l1 * np.abs(model.coef_).sum()
        if value <= ours * (1.0 + 1e-4):
            break
    return seconds, value / ours


def main() -> None:
    """Print seconds, and how well the edges are found."""
    parser = argparse.ArgumentParser()
    for name, default in (("variables", 400), ("samples", 2000), ("threads", 2), ("peer", 16), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--l1", type=float, default=25.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    p, l1, threads = options.variables, options.l1, options.threads
    codes, M = sample(p, options.samples, 3.0)
    numbering = Numbering([2] * p)
    true = numbering.upper(M) != 0

    def score(name: str, seconds: list[float], w: np.ndarray, note: str = "") -> None:
        found = w[: numbering.n_interactions] != 0
        hit = int((found & true).sum())
        print(f"{name:24} {np.median(seconds):8.3f} s  edges {found.sum():5} right {hit:4} of {true.sum()} {note}")

    times = []
    for _ in range(options.repeats):
        began = time.perf_counter()
        nodes = nodewise(codes, numbering, ElasticNet(l1), threads=threads)
        times.append(time.perf_counter() - began)
    objectives = nodes.nll + l1 * np.abs(nodes.coefficients).sum(axis=1)
    score("nodewise", times, nodes.w, f"objective {objectives.sum():.4f} violation {nodes.violations.max():.1e}")
    for solver in (GraftingLight(tolerance=1e-7), OWLQN(tolerance=1e-7)):
        times = []
        for _ in range(options.repeats):
            began = time.perf_counter()
            objective = PseudoLikelihood(codes, numbering, threads=threads)
            result = minimize(Problem(objective, ElasticNet(2.0 * l1, 0.0, p)), solver)
            times.append(time.perf_counter() - began)
        note = f"objective {result.objective:.4f} violation {result.violation:.1e} iterations {result.iterations}"
        score(f"joint, {type(solver).__name__}", times, result.w, note)
    for solver, count in (("liblinear", options.peer), ("saga", max(options.peer // 8, 1))):
        runs = [peer(codes, i, l1, objectives[i], solver) for i in np.linspace(0, p - 1, count).astype(int)]
        seconds = np.mean([run[0] for run in runs]) * p
        worst = max(run[1] for run in runs)
        name = f"sklearn, {solver}"
        print(f"{name:24} {seconds:8.3f} s on one core, {seconds / threads:.3f} s on {threads}; worst {worst:.6f}")


if __name__ == "__main__":
    main()
