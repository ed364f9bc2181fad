"""Learning the structure of a pairwise Markov random field, at one strength of the penalty or the best of a path."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..inference import Report
from ..layout import Codes, Layout
from ..minimize import Callback, Stop, minimize
from ..network import NetworkLikelihood
from ..options import real_number, whole_number
from ..path import Path, path
from ..penalty import ElasticNet, GroupLasso
from ..problem import Problem
from ..pseudolikelihood import PseudoLikelihood
from ..result import Result
from ..sampling import make_inference
from ..solvers import Solver
from ..vectors import Vector
from .training import thread_count

if TYPE_CHECKING:
    from .network import PairwiseMRF

__all__ = ["OBJECTIVES", "Trained", "train_network"]

OBJECTIVES = ("likelihood", "pseudolikelihood", "nodewise")
CRITERIA = ("ebic", "cv")
PATH = {"l1": 20, "ratio": 0.05, "gamma": 0.5, "folds": 5}
Callbacks = tuple[Callback, ...]


@dataclass(frozen=True)
class Trained:
    """What training gave.

    Attributes:
        w: weights, as `Layout` numbers them.
        l1: strength of the L1 penalty.
        result: of the minimisation.
        report: how inference went; None without any.
        path: the path, if there was one.
    """

    w: Vector
    l1: float
    result: Result
    report: Report | None = None
    path: Path | None = None


def train_network(
    codes: Codes, layout: Layout, weights: Vector | None, model: PairwiseMRF, callbacks: Callbacks
) -> Trained:
    """Train on states of samples.

    Args:
        codes: -1 for missing, shape (n_samples, n_variables).
        layout: of the weights.
        weights: of the samples; None for 1.
        model: with the options.
        callbacks: see `minimize`.

    Raises:
        OptionError: an option is out of its range.
    """
    training = Training(codes, layout, weights, model, callbacks)
    if not isinstance(model.l1, str):
        return training.at(model.l1)
    if model.l1 not in CRITERIA:
        message = f"l1={model.l1!r} is neither a number >= 0 nor one of {', '.join(CRITERIA)}"
        raise OptionError(message)
    return training.along()


class Training:
    """Data and options; arguments as of `train_network`."""

    def __init__(
        self, codes: Codes, layout: Layout, weights: Vector | None, model: PairwiseMRF, callbacks: Callbacks
    ) -> None:
        self.codes, self.layout, self.weights, self.model, self.callbacks = codes, layout, weights, model, callbacks
        unknown = set(model.path_options or {}) - PATH.keys()
        if unknown:
            message = f"path_options know {', '.join(PATH)}, not {', '.join(sorted(map(str, unknown)))}"
            raise OptionError(message)
        options: dict[str, Any] = PATH | (model.path_options or {})
        self.strengths, self.ratio = options["l1"], options["ratio"]
        self.gamma = real_number("gamma", options["gamma"], "a number >= 0", lambda x: x >= 0.0)
        self.folds = whole_number("folds", options["folds"], 2, 1000)

    def objective(self, rows: Any = slice(None)) -> NetworkLikelihood | PseudoLikelihood:
        """The objective on some of the samples."""
        weights = None if self.weights is None else self.weights[rows]
        threads = thread_count(self.model.n_jobs)
        if self.model.objective == "pseudolikelihood":
            return PseudoLikelihood(self.codes[rows], self.layout, weights, threads=threads)
        inference = make_inference(self.model.inference, self.model.inference_options)
        return NetworkLikelihood(self.codes[rows], self.layout, weights, inference=inference, threads=threads)

    def problem(self, objective: NetworkLikelihood | PseudoLikelihood, l1: float) -> Problem:
        """The objective with its penalty."""
        if not self.model.grouped:
            return Problem(objective, ElasticNet(l1, self.model.l2, objective.n_unpenalised))
        groups = self.layout.groups()
        return Problem(objective, GroupLasso(l1, self.model.l2, objective.n_unpenalised, groups))

    def solver(self, l1: float) -> Solver[Any]:
        """The solver; only one of them understands groups."""
        settings = self.model.solver_settings(l1)
        if self.model.grouped and settings.solver == "grafting_light":
            settings = replace(settings, solver="prox_gradient")
        return settings.make_solver()[1]

    def at(self, l1: float) -> Trained:
        """Train at one strength."""
        objective = self.objective()
        problem = self.problem(objective, l1)
        solver = self.solver(problem.penalty.l1)
        stop = Stop(max_iterations=self.model.max_iterations)
        result = minimize(problem, solver, objective.independent(), stop=stop, callbacks=self.callbacks)
        result = replace(result, state=None)  # type: ignore[arg-type]
        return Trained(result.w, problem.penalty.l1, result, getattr(objective, "report", None))

    def along(self) -> Trained:
        """Train along a path and choose."""
        objective = self.objective()
        strengths = self._strengths(objective)
        if self.model.l1 == "ebic":
            found = self._path(objective, strengths, self._ebic(objective), self.callbacks)
        else:
            found = self._path(objective, strengths, None, self.callbacks)
            scores = self._cross_validated(strengths)
            points = (replace(point, score=float(scores[k])) for k, point in enumerate(found.points))
            found = replace(found, points=tuple(points))
        if not found.points:
            raise KeyboardInterrupt
        best = found.best
        return Trained(best.result.w, best.l1, best.result, getattr(objective, "report", None), found)

    def _strengths(self, objective: NetworkLikelihood | PseudoLikelihood) -> Vector:
        """Falling in equal ratios from the one at which the first edge appears."""
        if not isinstance(self.strengths, (int, np.integer)):
            return np.sort(np.asarray(self.strengths, dtype=np.float64))[::-1]
        gradient = objective.value_and_gradient(objective.independent())[1]
        penalty = self.problem(objective, 1.0).penalty
        largest = penalty.largest(gradient[: self.layout.n_interactions])
        if largest == 0.0:
            message = "no pair of variables is associated at all: there is no structure to learn"
            raise OptionError(message)
        ratio = real_number("ratio", self.ratio, "a number between 0 and 1", lambda x: 0.0 < x < 1.0)
        return np.asarray(largest * np.geomspace(1.0, ratio, whole_number("l1", self.strengths, 2, 10**6)))

    def _path(
        self,
        objective: NetworkLikelihood | PseudoLikelihood,
        strengths: Vector,
        score: Callable[[Vector], float] | None,
        callbacks: Callbacks,
    ) -> Path:
        problem = self.problem(objective, 0.0)
        solver = self.solver(1.0)
        stop = Stop(max_iterations=self.model.max_iterations)
        start = objective.independent()
        return path(problem, strengths, solver=solver, w0=start, stop=stop, score=score, callbacks=callbacks)

    def _ebic(self, objective: NetworkLikelihood | PseudoLikelihood) -> Callable[[Vector], float]:
        """Minus the extended Bayesian information criterion, 2 NLL + k log n + 4 gamma k log p (Foygel & Drton 2010).

        k is the number of interactions that are not 0, n that of samples, p that of variables.
        """
        n, p = objective.n_samples, self.layout.n_variables

        def score(w: Vector) -> float:
            k = int(np.count_nonzero(w[: self.layout.n_interactions]))
            nll = self._nll(objective, w)
            return -(2.0 * nll + k * math.log(n) + 4.0 * self.gamma * k * math.log(p))

        return score

    def _nll(self, objective: NetworkLikelihood | PseudoLikelihood, w: Vector) -> float:
        features = np.union1d(np.flatnonzero(w), np.arange(self.layout.n_interactions, self.layout.n_features))
        return objective.restrict(features).value_and_gradient(w[features])[0]

    def _cross_validated(self, strengths: Vector) -> Vector:
        """Log-likelihood, or pseudo-likelihood, of samples held out, at each strength."""
        order = np.random.default_rng(self.model.random_state).permutation(len(self.codes))
        totals = np.zeros(strengths.size)
        for held in np.array_split(order, min(self.folds, len(order))):
            kept = np.setdiff1d(order, held)
            share = kept.size / len(order)
            found = self._path(self.objective(kept), strengths * share, None, ())
            if found.interrupted:
                raise KeyboardInterrupt
            dev = self.objective(held)
            totals += [-self._nll(dev, point.result.w) for point in found.points]
        return totals
