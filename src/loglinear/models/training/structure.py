"""Learning the structure of a pairwise Markov random field, at one strength of the penalty or the best of a path."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from ...errors import OptionError
from ...minimize import Callback, minimize
from ...networks.graph import Graph, Report
from ...networks.inference import INFERENCES, InferenceName, make_inference
from ...networks.loopy_bp import LoopyBP, Propagation
from ...networks.numbering import Codes, Numbering, Numbers, merged
from ...objectives.network import NetworkLikelihood
from ...objectives.pseudolikelihood import PseudoLikelihood
from ...options import (
    fail,
    keywords,
    mapping,
    option,
    option_class,
    optional,
    real_number,
    strength,
    truth_value,
    whole_number,
)
from ...path import Path, falling, followed, path, warn_if_best_is_last
from ...penalty import ElasticNet, GroupLasso
from ...problem import Problem
from ...result import Result, Status
from ...solvers import LBFGS, Solver, SolverName
from ...stopping import Stop
from ...trace import Trace
from ...vectors import Vector
from .nodewise import RULES, nodewise
from .options import SEED, Minimisation, SolverOptions, check_solver
from .resampling import bootstrap_rows, in_parallel, instability, subsample_rows

__all__ = ["OBJECTIVES", "NetworkOptions", "NetworkParameters", "Trained", "Training", "train_network"]

ObjectiveName = Literal["likelihood", "pseudolikelihood", "nodewise"]
OBJECTIVES: tuple[ObjectiveName, ...] = get_args(ObjectiveName)
Criterion = Literal["ebic", "cv", "stars"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
# Number of strengths of a path.
POINTS = 20
# L2 penalty when weights are fitted again: the weights of variables that determine each other stay finite.
RIDGE = 1e-3
Callbacks = tuple[Callback, ...]
Objectives = NetworkLikelihood | PseudoLikelihood


@option_class
class NetworkParameters(Minimisation):
    """The options of `PairwiseMRF`."""

    l1: Criterion | float = option(  # type: ignore[assignment]
        default="ebic",
        help='strength of the L1 penalty, or how to choose it along a regularisation path: "ebic" (extended Bayesian '
        'information criterion, Foygel & Drton 2010), "cv" (cross-validation) or "stars" (stability of the edges on '
        "subsamples, Liu, Roeder & Wasserman 2010)",
        check=lambda name, value: check_strength(name, value),
    )
    l2: float = option(default=0.0, help="strength of the L2 penalty (l2 / 2) * |w|^2", check=strength)
    solver: SolverName | Solver[Any] = option(
        default="grafting_light",
        help="solver, a name or a solver object. The default needs an l1 > 0; groups use prox_gradient instead. "
        '"nodewise" has its own solvers and ignores this option.',
        check=check_solver,
    )
    solver_options: Mapping[str, Any] | None = option(
        default=None,
        help="further options of the solver, such as steps=5. With the likelihood, grafting_light selects "
        "n_variables / 10 weights at a time unless ``select`` is given.",
        check=optional(keywords),
    )
    random_state: int = option(default=0, help="random seed", check=SEED)
    objective: ObjectiveName = option(
        default="pseudolikelihood",
        help='"likelihood", "pseudolikelihood" (all conditionals at once; both ends of an edge share its weights) or '
        '"nodewise" (one regression per variable; ``rule`` combines the two estimates of an edge)',
        choices=OBJECTIVES,
    )
    inference: InferenceName | None = option(
        default=None,
        help='inference for objective="likelihood": "loopy_bp" (the default), "trw", "exact" (small treewidth) or '
        '"gibbs"',
        choices=tuple(INFERENCES),
    )
    inference_options: Mapping[str, Any] | None = option(
        default=None, help="options of the inference method, a dict; see `loglinear.networks`", check=optional(keywords)
    )
    grouped: bool = option(
        default=False,
        help="penalise all weights of an edge together, by their Euclidean norm; for variables with many states",
        check=truth_value,
    )
    rule: Literal["and", "or"] = option(
        default="and",
        help='for "nodewise": keep an edge if both estimates are non-zero ("and") or either is ("or"); its weight is '
        "their mean",
        choices=RULES,
    )
    path_options: Mapping[str, Any] | None = option(
        default=None,
        help="options of the regularisation path: ``l1``, the strengths or their number (EBIC continues past it "
        "until its minimum); ``ratio`` of the last strength to the first; ``gamma`` of EBIC; ``folds`` of "
        "cross-validation; ``subsamples`` and largest ``instability`` of stars",
        check=optional(keywords),
    )
    max_states: int = option(
        default=32,
        help="maximum number of values or bins per column; a column with more is an error",
        check=partial(whole_number, least=2, most=2**16 - 1),
    )
    bins: int | None = option(
        default=None,
        help="divide each numeric column with more than N distinct values into N bins of roughly equal counts",
        check=optional(partial(whole_number, least=2, most=2**16 - 1)),
    )
    cuts: Mapping[Any, Sequence[float]] | None = option(
        default=None,
        help="bin edges of numeric columns, ascending, by column name, such as {'age': [18, 30, 65]}. An edge "
        "belongs to the bin above it. Columns without names go by their number.",
        check=optional(lambda name, value: check_cuts(name, value)),
    )
    missing: Sequence[str | float] | None = option(
        default=None,
        help="values that mean missing, such as ['?', -999], in addition to None and NaN",
        check=optional(lambda name, value: check_marks(name, value)),
    )
    reference: Mapping[Any, Any] | None = option(
        default=None,
        help="reference states by column name, such as {'income': 'none'}: the first state of a column, which has no "
        "weights. By default the first one of an ordered categorical column, and the lowest one of other columns. "
        "Columns without names go by their number.",
        check=optional(mapping),
    )


@option_class
class NetworkOptions(NetworkParameters):
    """How to train a network."""

    def check(self) -> None:
        """Raise OptionError if an option contradicts another one."""
        if self.inference is not None and self.objective != "likelihood":
            message = f'inference={self.inference!r} needs objective="likelihood", not {self.objective!r}; '
            message += "leave out one"
            raise OptionError(message)
        make_inference(self.inference or LoopyBP.name, self.inference_options)
        self.at(1.0 if isinstance(self.l1, str) else self.l1).check()

    def at(self, l1: float) -> SolverOptions:
        """Return what to minimise with at a strength of the L1 penalty."""
        shared = {field.name: getattr(self, field.name) for field in fields(Minimisation)}
        return SolverOptions(**shared | {"l1": l1})


def check_strength(name: str, value: object) -> None:
    """Raise OptionError unless the value is the strength of a penalty or a criterion that chooses it."""
    if not isinstance(value, str):
        strength(name, value)
    elif value not in CRITERIA:
        fail(name, value, f"is neither a number >= 0 nor one of {', '.join(CRITERIA)}")


def check_marks(name: str, value: object) -> None:
    """Raise OptionError unless the value is a sequence of strings and numbers."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        fail(name, value, "is not a list of values, such as ['?', -999]")
    for mark in value:
        if isinstance(mark, bool) or not isinstance(mark, (str, int, float)):
            fail(name, mark, "is neither a string nor a number")


def check_cuts(name: str, value: object) -> None:
    """Raise OptionError unless the value is a mapping to ascending finite numbers."""
    wanted = "a mapping from columns to ascending numbers, such as {'age': [18, 30, 65]}"
    if not isinstance(value, Mapping):
        fail(name, value, f"is not {wanted}")
    for column, edges in value.items():
        try:
            numbers = np.array(edges, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.array(math.nan)
        if numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0.0).any():
            message = f"{name}[{column!r}]={edges!r} is not valid; give {wanted}"
            raise OptionError(message)


@dataclass(frozen=True)
class Trained:
    """A trained network.

    Attributes:
        w: weights, as `Numbering` numbers them.
        l1: strength of the L1 penalty.
        result: result of the minimisation.
        report: how inference went; None without inference.
        path: the path on which l1 was chosen; None if it was given.
    """

    w: Vector
    l1: float
    result: Result
    report: Report | None = None
    path: Path | None = None


def train_network(
    codes: Codes,
    numbering: Numbering,
    weights: Vector | None,
    options: NetworkOptions,
    *,
    threads: int = 0,
    callbacks: Callbacks = (),
) -> Trained:
    """Train on states of samples.

    Args:
        codes: -1 for missing, shape (n_samples, n_variables).
        numbering: numbers of the weights.
        weights: weights of the samples, shape (n_samples,); None for 1.
        options: what to train with.
        threads: 0 for all cores.
        callbacks: see `minimize`.

    Raises:
        OptionError: an option is out of its range.
    """
    training = Training(codes, numbering, weights, options, threads, callbacks)
    return training.along() if isinstance(options.l1, str) else training.at(options.l1)


@dataclass(frozen=True)
class PathOptions:
    """The options of a path: see `NetworkParameters.path_options`."""

    l1: int | Sequence[float] = POINTS
    ratio: float = 0.05
    gamma: float = 0.5
    folds: int = 5
    subsamples: int = 20
    instability: float = 0.05

    def __post_init__(self) -> None:
        real_number("gamma", self.gamma, "a number >= 0", lambda x: x >= 0.0)
        whole_number("folds", self.folds, 2, 1000)
        whole_number("subsamples", self.subsamples, 2, 10_000)
        real_number("instability", self.instability, "a number from 0 to 0.5", lambda x: 0.0 <= x <= 0.5)


class Training:
    """Data and options of a training; with the arguments of `train_network`."""

    def __init__(
        self,
        codes: Codes,
        numbering: Numbering,
        weights: Vector | None,
        options: NetworkOptions,
        threads: int,
        callbacks: Callbacks,
    ) -> None:
        self.codes, self.numbering, self.weights, self.callbacks = codes, numbering, weights, callbacks
        self.options, self.threads = options, threads
        names = [field.name for field in fields(PathOptions)]
        unknown = set(options.path_options or {}).difference(names)
        if unknown:
            message = f"unknown path_options: {', '.join(sorted(map(str, unknown)))}; choose from {', '.join(names)}"
            raise OptionError(message)
        self.path_options = PathOptions(**options.path_options or {})

    def objective(self, rows: slice | Numbers = slice(None)) -> Objectives:
        """Return the objective on some of the samples."""
        codes, weights = self._samples(rows)
        if self.options.objective != "likelihood":
            return PseudoLikelihood(codes, self.numbering, weights, threads=self.threads)
        inference = make_inference(self.options.inference or LoopyBP.name, self.options.inference_options)
        return NetworkLikelihood(
            codes, self.numbering, weights, inference=inference, centred=True, threads=self.threads
        )

    def _samples(self, rows: slice | Numbers) -> tuple[Codes, Vector | None]:
        """Return some of the samples and their weights; equal samples are merged."""
        return merged(self.codes[rows], None if self.weights is None else self.weights[rows])

    def problem(self, objective: Objectives, l1: float) -> Problem:
        """Return the objective with its penalty."""
        if not self.options.grouped:
            return Problem(objective, ElasticNet(l1, self.options.l2, objective.n_unpenalised))
        groups = self.numbering.groups()
        return Problem(objective, GroupLasso(l1, self.options.l2, objective.n_unpenalised, groups))

    def solver(self, l1: float) -> Solver[Any]:
        """Return the solver; prox_gradient alone understands groups."""
        options = self.options.at(l1)
        if options.solver == "grafting_light" and self.options.grouped:
            options = replace(options, solver="prox_gradient")
        elif options.solver == "grafting_light" and self.options.objective == "likelihood":
            # Few at a time: edges explained by the strongest ones are then not selected.
            few = {"select": max(1, self.numbering.n_variables // 10)}
            options = replace(options, solver_options=few | dict(options.solver_options or {}))
        return options.make_solver()[1]

    def at(self, l1: float, w0: Vector | None = None) -> Trained:
        """Train at one strength, from weights of the pseudo-likelihood or from a network without edges."""
        if self.options.objective == "nodewise":
            return self._regressed(l1, *self._samples(slice(None)))
        objective = self.objective()
        problem = self.problem(objective, l1)
        solver = self.solver(problem.penalty.l1)
        if w0 is None or isinstance(objective, NetworkLikelihood):
            w0 = objective.independent()
        result = minimize(
            problem, solver, w0, stop=Stop(max_iterations=self.options.max_iterations), callbacks=self.callbacks
        )
        report = _report(objective, result.w)
        result = replace(result, w=objective.natural(result.w), state=None)
        return Trained(result.w, problem.penalty.l1, result, report)

    def along(self) -> Trained:
        """Train along a path and choose."""
        objective = self.objective()
        strengths = self._strengths(objective)
        followed_path = self._path(slice(None), strengths, objective, score=self.options.l1 == "ebic")
        if self.options.l1 == "cv" and not followed_path.interrupted:
            followed_path = self._cross_validated(followed_path, strengths)
            warn_if_best_is_last(followed_path)
        if self.options.l1 == "stars" and not followed_path.interrupted:
            followed_path = self._stable(followed_path, strengths)
            warn_if_best_is_last(followed_path)
        if not followed_path.points:
            raise KeyboardInterrupt
        scored = any(point.score is not None for point in followed_path.points)
        best = followed_path.best if scored else followed_path.points[-1]
        result = replace(best.result, status=Status.INTERRUPTED) if followed_path.interrupted else best.result
        points = (
            replace(point, result=replace(point.result, w=objective.natural(point.result.w)))
            for point in followed_path.points
        )
        report, w = _report(objective, best.result.w), objective.natural(best.result.w)
        followed_path = replace(followed_path, points=tuple(points))
        return Trained(w, best.l1, replace(result, w=w), report, followed_path)

    @property
    def _goes_on(self) -> bool:
        """Whether a path with scores continues after its last strength: not if the strengths are given."""
        return isinstance(self.path_options.l1, (int, np.integer))

    def _strengths(self, objective: Objectives) -> Vector:
        """Return strengths that fall in equal ratios from the strength at which the first edge appears."""
        wanted = self.path_options.l1
        if not isinstance(wanted, (int, np.integer)):
            return np.sort(np.asarray(wanted, dtype=np.float64))[::-1]
        if (largest := self._largest(objective)) == 0.0:
            message = "all variables are independent in these data, so there are no edges to learn"
            raise OptionError(message)
        return falling(largest, int(wanted), self.path_options.ratio)

    def _largest(self, objective: Objectives) -> float:
        """Return the strength at which the first edge appears; 0 if all variables are independent."""
        gradient = objective.value_and_gradient(objective.independent())[1]
        largest = self.problem(objective, 1.0).penalty.largest(gradient[: self.numbering.n_interactions])
        # Both regressions of a pair have half of the derivative.
        return float(largest) / (2.0 if self.options.objective == "nodewise" else 1.0)

    def _path(self, rows: slice | Numbers, strengths: Vector, objective: Objectives, *, score: bool = False) -> Path:
        """Train on some of the samples at each strength."""
        criterion = (lambda w: self._ebic(objective, w)) if score else None
        if self.options.objective == "nodewise":
            samples = self._samples(rows)
            return followed(
                strengths.tolist(),
                lambda l1, _: self._regressed(l1, *samples).result,
                unpenalised=objective.n_unpenalised,
                score=criterion,
                further=score and self._goes_on,
            )
        return path(
            self.problem(objective, 0.0),
            strengths,
            solver=self.solver(1.0),
            w0=objective.independent(),
            stop=Stop(max_iterations=self.options.max_iterations),
            score=criterion,
            further=self._goes_on,
            callbacks=self.callbacks,
        )

    def _ebic(self, objective: Objectives, w: Vector) -> float:
        """Minus the extended Bayesian information criterion of the model with these edges (Foygel & Drton 2010).

        The criterion is 2 NLL + k log n + 4 gamma k log p, for k interactions that are not 0, p variables, and n
        samples, each counted by its weight.
        The NLL is the least one with these k interactions: their weights are fitted again without the L1 penalty,
        which has shrunk them.
        """
        free = np.arange(self.numbering.n_interactions, self.numbering.n_features)
        active = np.flatnonzero(w[: self.numbering.n_interactions])
        features = np.concatenate([active, free])
        problem = Problem(objective.restrict(features), ElasticNet(0.0, max(self.options.l2, RIDGE), free.size))
        fitted = minimize(problem, LBFGS(tolerance=1e-5), w[features], stop=Stop(max_iterations=100))
        if fitted.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        n = len(self.codes) if self.weights is None else float(self.weights.sum())
        cost = math.log(n) + 4.0 * self.path_options.gamma * math.log(self.numbering.n_variables)
        return -(2.0 * fitted.nll + active.size * cost)

    def _cross_validated(self, followed_path: Path, strengths: Vector) -> Path:
        """Score the points by the mean NLL of held-out folds; after Ctrl-C by the finished folds."""
        shuffled = np.random.default_rng(self.options.random_state).permutation(len(self.codes))
        folds = np.array_split(shuffled, min(self.path_options.folds, len(shuffled)))
        totals, interrupted = np.zeros(strengths.size), False
        try:
            for number, held in enumerate(folds):
                totals += self._held_out(np.setdiff1d(shuffled, held), held, strengths)
                scores = -totals / sum(fold.size for fold in folds[: number + 1])
                points = (replace(point, score=float(scores[k])) for k, point in enumerate(followed_path.points))
                followed_path = replace(followed_path, points=tuple(points))
        except KeyboardInterrupt:
            interrupted = True
        return replace(followed_path, interrupted=interrupted)

    @property
    def n_threads(self) -> int:
        """Threads that train at a time."""
        return int(Graph(self.numbering, np.empty((0, 2), np.int64), self.threads).network.n_threads)

    def part(self, rows: Numbers, stopped: Callback) -> Training:
        """Return a training on some of the samples, by one thread, which a callback may end.

        Samples that are drawn several times occur once, with a weight.
        """
        rows, counts = np.unique(rows, return_counts=True)
        weights: Vector | None = counts.astype(np.float64)
        if self.weights is not None:
            weights = self.weights[rows] * counts
        elif (counts == 1).all():
            weights = None
        return Training(self.codes[rows], self.numbering, weights, self.options, 1, (stopped,))

    def repeated(self, rows: Numbers, stopped: Callback, *, share: float = 1.0) -> Vector:
        """Return the weights of the same training on some of the samples, by one thread, which a callback may end.

        A criterion chooses the strength again. A network of data in which all variables are independent has no edges.

        Args:
            rows: numbers of the samples.
            stopped: see `part`.
            share: factor of a strength that is given.
        """
        part = self.part(rows, stopped)
        if not isinstance(self.options.l1, str):
            return part.at(share * self.options.l1).w
        objective = part.objective()
        return objective.natural(objective.independent()) if part._largest(objective) == 0.0 else part.along().w

    def bootstrap(self, w: Vector, l1: float, n: int, seed: int) -> Iterator[tuple[Numbers, Vector]]:
        """Yield the edges of bootstrap samples and their strengths, each trained from these weights."""

        def make(number: int, stopped: Callback) -> tuple[Numbers, Vector]:
            part = self.part(bootstrap_rows(len(self.codes), seed, number), stopped)
            return self.numbering.strengths(part.at(l1, w).w)

        return (sample for _, sample in in_parallel(make, n, self.n_threads))

    def _stable(self, followed_path: Path, strengths: Vector) -> Path:
        """Score the points whose edges, and those of all stronger penalties, are stable: the weakest penalty is best.

        The instability of a point is the largest one up to it (Liu, Roeder & Wasserman 2010, section 3).
        """
        numbering, n_rows = self.numbering, len(self.codes)

        def make(number: int, stopped: Callback) -> list[Numbers]:
            rows = subsample_rows(n_rows, self.options.random_state, number)
            part = self.part(rows, stopped)
            points = part._path(slice(None), strengths * (rows.size / n_rows), part.objective()).points
            edges = (numbering.edges_of(np.flatnonzero(point.result.w[: numbering.n_interactions])) for point in points)
            return [pairs_of[:, 0] * numbering.n_variables + pairs_of[:, 1] for pairs_of in edges]

        supports_of: list[list[Numbers]] = []
        interrupted = False
        try:
            for _, by_point in in_parallel(make, self.path_options.subsamples, self.n_threads):
                supports_of.append(by_point)
                for callback in self.callbacks:  # shows progress
                    callback(followed_path.points[-1].result.record, followed_path.points[-1].result.state)
        except KeyboardInterrupt:
            interrupted = True
        if len(supports_of) < 2:
            return replace(followed_path, interrupted=interrupted)
        points, worst = [], 0.0
        pairs = numbering.n_variables * (numbering.n_variables - 1) // 2
        for point, *supports in zip(followed_path.points, *supports_of, strict=False):
            worst = max(worst, instability(supports, pairs))
            points.append(replace(point, score=-point.l1 if worst <= self.path_options.instability else None))
        return replace(followed_path, points=tuple(points), interrupted=interrupted)

    def _held_out(self, training_rows: Numbers, held: Numbers, strengths: Vector) -> Vector:
        """Return the NLL of the held-out samples at each strength, trained on the training rows."""
        trained = self.objective(training_rows)
        followed_path = self._path(training_rows, strengths * (training_rows.size / len(self.codes)), trained)
        if followed_path.interrupted:
            raise KeyboardInterrupt
        dev, free = self.objective(held), np.arange(self.numbering.n_interactions, self.numbering.n_features)
        if isinstance(dev, NetworkLikelihood) and isinstance(trained, NetworkLikelihood):
            dev.centres = trained.centres
        values = []
        for point in followed_path.points:
            w = point.result.w
            features = np.union1d(np.flatnonzero(w), free)
            values.append(dev.restrict(features).value_and_gradient(w[features])[0])
        return np.array(values)

    def _regressed(self, l1: float, codes: Codes, weights: Vector | None) -> Trained:
        """Regress each variable by itself on samples with these states and weights."""
        options = self.options
        if options.grouped:
            message = 'grouped=True is not available for "nodewise"; use "pseudolikelihood"'
            raise OptionError(message)
        regressed = nodewise(
            codes,
            self.numbering,
            ElasticNet(l1, options.l2),
            weights=weights,
            threads=self.threads,
            rule=options.rule,
            max_steps=2**31 - 1 if options.max_iterations is None else options.max_iterations,
            **({} if options.tolerance is None else {"tolerance": options.tolerance}),
        )
        size, squares = (float(abs(regressed.coefficients).sum()), float((regressed.coefficients**2).sum()))
        nll = float(regressed.nll.sum())
        steps = int(regressed.steps.max())
        result = Result(
            w=regressed.w,
            status=Status.CONVERGED if regressed.converged.all() else Status.MAX_ITERATIONS,
            trace=Trace(),
            objective=nll + l1 * size + options.l2 / 2.0 * squares,
            nll=nll,
            violation=float(regressed.violations.max()),
            iterations=steps,
            passes=float(steps),
            gradient_evaluations=steps,
            seconds=0.0,
            state=None,
        )
        return Trained(regressed.w, l1, result)


def _report(objective: Objectives, w: Vector) -> Report | None:
    """Return how inference went, belief propagation at these weights last; None for an objective without inference."""
    if not isinstance(objective, NetworkLikelihood):
        return None
    if isinstance(objective.inference, Propagation):
        objective.measure(w)
    return objective.report
