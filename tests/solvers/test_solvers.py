"""Every solver on every kind of problem, against SciPy, optimality conditions and one another."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from examples import by_day
from loglinear import ChainFeatures, ChainObjective, ClassifierObjective, Corpus
from loglinear.data.graphs import Graphs
from loglinear.errors import OptionError
from loglinear.minimize import Stop, minimize
from loglinear.networks.exact import Exact
from loglinear.networks.numbering import Numbering
from loglinear.objectives.graph import GraphLikelihood
from loglinear.objectives.network import NetworkLikelihood
from loglinear.objectives.pseudolikelihood import PseudoLikelihood
from loglinear.penalty import ElasticNet, GroupLasso
from loglinear.problem import PerSample, Problem
from loglinear.solvers import SOLVERS, default_solver, make_solver, option_names
from oracles import logistic
from oracles.samples import chunky, linked_codes

# The matrix: every solver on every kind of problem under every kind of penalty. A solver either reaches the minimum, as
# near as its nature allows, or refuses with a message that names what it misses. A solver without a row of its own has
# to keep the promises that its `needs` make.


def chain(**options):
    return ChainObjective(Corpus.encode(*chunky(40)), ChainFeatures(**options))


def chain_with_bigrams():
    X, y = chunky(40)
    columns = [[tuple(token) for token in sentence] for sentence in X]
    return ChainObjective(Corpus.encode(columns, y, template="U:%x[0,0]\nB1:%x[0,1]\nB\n"))


def classifier(n_classes, intercept=True):
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_array(rng.random((80, 8)) * (rng.random((80, 8)) < 0.5))
    return ClassifierObjective(X, rng.integers(n_classes, size=80), n_classes=n_classes, intercept=intercept)


def network(kind, **options):
    states = [2, 3, 2, 2]
    return kind(linked_codes(states, 120)[0], Numbering(states), **options)


def graphs():
    """Cycles of three to five nodes."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(3, 6, 12)
    cycles = [np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1) for n in sizes]
    nodes = [rng.normal(size=(n, 3)) for n in sizes]
    return GraphLikelihood(Graphs.of(list(zip(nodes, cycles, strict=True))), rng.integers(0, 2, sizes.sum()), 2)


PROBLEMS = {
    "chain": chain,
    "chain of order 2": lambda: chain(order=2),
    "chain with attributes of bigrams": chain_with_bigrams,
    "two classes": lambda: classifier(2),
    "two classes without intercept": lambda: classifier(2, intercept=False),
    "three classes": lambda: classifier(3),
    "pseudo-likelihood": lambda: network(PseudoLikelihood),
    "network": lambda: network(NetworkLikelihood, inference=Exact()),
    "graphs": graphs,
    "Python": lambda: logistic.Logistic(8, 80),
}
ANY = frozenset(PROBLEMS)
CLASSES = frozenset({"two classes", "two classes without intercept", "three classes"})
SAMPLES = CLASSES | {"chain", "chain with attributes of bigrams", "graphs"}

STRENGTHS = {"l2": (0.0, 1.0), "l1": (0.5, 0.0), "l1 and l2": (0.5, 0.5), "groups": (0.5, 0.5)}
SMOOTH_PENALTY = frozenset({"l2"})
L1_PENALTIES = frozenset({"l1", "l1 and l2"})
SINGLE_WEIGHTS = SMOOTH_PENALTY | L1_PENALTIES

TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-6}


@dataclass(frozen=True)
class Row:
    """A solver of the matrix.

    Args:
        problems: the kinds of problem that it takes.
        penalties: the kinds of penalty that it takes.
        misses: what its refusal of another kind of problem names, a regular expression.
        within: how near its objective comes to the minimum, relative to it.
        options: of the solver.
    """

    problems: frozenset
    penalties: frozenset
    misses: str = ""
    within: float = 1e-6
    options: dict | None = None


def by_sample(penalties, within, options=None):
    """The row of a solver that goes sample by sample."""
    return Row(SAMPLES, penalties, "sample by sample|passes|stochastic", within, options or {})


MATRIX = {
    "adagrad": by_sample(SMOOTH_PENALTY, 0.02),
    "asg": by_sample(SMOOTH_PENALTY, 0.01),
    "auto": Row(ANY, frozenset(STRENGTHS), options={"tolerance": 1e-10}),
    "bfgs": Row(ANY, SMOOTH_PENALTY),
    "clustered": Row(ANY, SMOOTH_PENALTY, options=TIGHT | {"fine_iterations": 4, "cluster_factor": 3}),
    "dual_cd": Row(frozenset({"two classes without intercept"}), SMOOTH_PENALTY, "two classes|intercept",
                   options={"tolerance": 1e-4}),
    "gauss_seidel": Row(ANY, L1_PENALTIES),
    "grafting": Row(ANY, L1_PENALTIES),
    "grafting_light": Row(ANY, L1_PENALTIES),
    "hybrid": Row(SAMPLES | {"chain of order 2"}, SMOOTH_PENALTY, "batch"),
    "iis": Row(CLASSES, SMOOTH_PENALTY, "design"),
    "label_sets": Row(frozenset({"chain", "chain of order 2"}), SINGLE_WEIGHTS, "likely|prune", options=TIGHT),
    "lbfgs": Row(ANY, SMOOTH_PENALTY),
    "owlqn": Row(ANY, SINGLE_WEIGHTS),
    "pegasos": by_sample(SMOOTH_PENALTY, 0.01),
    "prox_gradient": Row(ANY, SINGLE_WEIGHTS | {"groups"}),
    "prox_newton": Row(CLASSES, SINGLE_WEIGHTS, "steps of proximal Newton"),
    "sag": by_sample(SINGLE_WEIGHTS, 1e-5, {"tolerance": 1e-5}),
    "sg": by_sample(SMOOTH_PENALTY, 0.06),
    "sgd_l1": by_sample(SINGLE_WEIGHTS, 0.005),
    "two_stage": by_sample(SINGLE_WEIGHTS, 1e-6, TIGHT),
}  # fmt: skip
# What the refusal of a penalty names.
MISSED = {"l2": "l1=0", "l1": "l1=0.5|l2=0", "l1 and l2": "l1=0.5", "groups": "single weights"}


@functools.cache
def problem_of(kind, penalty):
    """The problem; penalties leave the weights of intercepts and of single variables alone."""
    objective, strengths = PROBLEMS[kind](), STRENGTHS[penalty]
    bare = getattr(objective, "n_unpenalised", 0)
    if penalty != "groups":
        return Problem(objective, ElasticNet(*strengths, bare))
    return Problem(objective, GroupLasso(*strengths, bare, np.arange(objective.n_features - bare) // 2))


@functools.cache
def minimum_of(kind, penalty):
    """The least objective, by a general optimiser, which knows no groups."""
    problem = problem_of(kind, penalty)
    return scipy_minimum(problem.objective, problem.penalty)


def test_rows_are_solvers_and_say_what_they_miss():
    assert MATRIX.keys() <= SOLVERS.keys()
    for row in MATRIX.values():
        assert row.misses or row.problems == ANY


def declared(name, kind):
    """The row of a solver for one kind of problem by its `needs`."""

    needs = SOLVERS[name].needs
    penalties = frozenset(penalty for penalty in STRENGTHS if not needs.unmet(problem_of(kind, penalty)))
    return Row(frozenset({kind}), penalties, within=0.06 if PerSample in needs.objective else 1e-6, options={})


@pytest.mark.parametrize("name", MATRIX)
def test_needs_are_those_of_the_matrix(name):
    row = MATRIX[name]
    for kind in PROBLEMS:
        expected = row.penalties if kind in row.problems else frozenset()
        assert declared(name, kind).penalties == expected, kind


# Kinds of problem that take longer than the others, and ask little more of a solver.
LONG = ("chain of order 2", "chain with attributes of bigrams", "two classes without intercept", "graphs", "network")
SHORT = tuple(kind for kind in PROBLEMS if kind not in LONG)
# By day half of the pairs of a short kind and a penalty: each kind, and each penalty, is in some of them.
DAY = {
    (kind, penalty)
    for (at, kind), (number, penalty) in itertools.product(enumerate(SHORT), enumerate(STRENGTHS))
    if (at + number) % 2 == 0
}
NIGHT = {*itertools.product(PROBLEMS, STRENGTHS)} - DAY


@pytest.mark.parametrize(
    ("name", "pairs"), by_day(itertools.product(SOLVERS, (DAY, NIGHT)), lambda case: case[1] is DAY)
)
def test_a_solver_reaches_the_minimum_or_names_what_it_misses(name, pairs):
    for kind, penalty in sorted(pairs):
        try:
            reaches_the_minimum_or_names_what_it_misses(name, kind, penalty)
        except BaseException as error:
            error.args = (f"{kind}, {penalty}: {error}",)
            raise


def reaches_the_minimum_or_names_what_it_misses(name, kind, penalty):
    row, problem = MATRIX.get(name) or declared(name, kind), problem_of(kind, penalty)
    solver = make_solver(name, **(TIGHT if row.options is None else row.options))
    suits = kind in row.problems, penalty in row.penalties
    if not all(suits):
        named = (row.misses, MISSED[penalty] if name in MATRIX else ".")
        missed = [words for words, suit in zip(named, suits, strict=True) if not suit]
        with pytest.raises(OptionError, match="|".join(missed)):
            minimize(problem, solver)
        return
    found = minimize(problem, solver, stop=Stop(max_iterations=2000))
    if penalty == "groups":
        gradient = problem.objective.value_and_gradient(found.w)[1]
        assert problem.penalty.violation(found.w, gradient) <= 1e-5 * max(1.0, np.linalg.norm(found.w))
        return
    least = minimum_of(kind, penalty)
    assert least - 1e-6 * abs(least) <= found.objective <= least + row.within * abs(least)


# Fields of states that count, or add up, what has been done.
COUNTERS = {
    "alpha", "coarse_iterations", "fine_iterations", "iteration", "passes_before", "pruned_evaluations", "rejected",
    "rounds", "selections", "since", "sweeps", "u", "wait",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "parameter_mixing"])
def test_a_state_that_begins_has_counted_nothing_but_its_evaluation(name):
    row = MATRIX.get(name) or next(row for kind in PROBLEMS if (row := declared(name, kind)).penalties)
    problem = problem_of(min(row.problems - {"chain of order 2"}), min(row.penalties))
    state = make_solver(name).init(problem, np.zeros(problem.objective.n_features))
    assert state.gradient_evaluations in (0, 1)
    assert state.passes <= state.gradient_evaluations
    counted = {field: getattr(state, field) for field in COUNTERS if np.ndim(getattr(state, field, [0])) == 0}
    assert counted == dict.fromkeys(counted, 0)
    if name.startswith("prox_"):
        assert state.working_set == 0


@pytest.mark.parametrize("name", SOLVERS)
def test_a_penalty_that_leaves_no_weight_is_no_error(name):
    row = MATRIX.get(name)
    if row is not None and not ("l1" in row.penalties and "two classes without intercept" in row.problems):
        return
    problem = Problem(classifier(2, intercept=False), ElasticNet(l1=1e4))
    if make_solver(name).needs.unmet(problem):
        return
    result = minimize(problem, make_solver(name))
    assert not result.w.any()
    assert result.status.converged


# Laws of batch solvers on problems of few weights.


class Quadratic:
    """0.5 w'Aw - b'w with eigenvalues from 1 to ``condition``."""

    def __init__(self, n=20, condition=10.0, seed=0):
        rng = np.random.default_rng(seed)
        q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        self.a, self.b = (q * np.geomspace(1.0, condition, n)) @ q.T, rng.normal(size=n) * 3.0
        self.n_features, self.n_samples = n, 1

    def value_and_gradient(self, w, out=None):
        out = np.empty_like(w) if out is None else out
        out[...] = self.a @ w - self.b
        return float(0.5 * w @ self.a @ w - self.b @ w), out


class Logistic:
    """Binary logistic regression on random data."""

    def __init__(self, n=25, samples=200, seed=1):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(samples, n))
        self.t = np.where(self.x @ rng.normal(size=n) + 5.0 * rng.normal(size=samples) > 0.0, 1.0, -1.0)
        self.n_features, self.n_samples = n, samples

    def value_and_gradient(self, w, out=None):
        out = np.empty_like(w) if out is None else out
        margin = self.t * (self.x @ w)
        out[...] = self.x.T @ (-self.t * np.exp(-np.logaddexp(0.0, margin)))
        return float(np.logaddexp(0.0, -margin).sum()), out


OBJECTIVES = {
    "quadratic": Quadratic(),
    "ill-conditioned": Quadratic(condition=1e3),
    "logistic": Logistic(),
    "wide logistic": Logistic(n=80, samples=30),
}
PENALTIES = {
    "none": ElasticNet(),
    "l2": ElasticNet(l2=0.7),
    "l1": ElasticNet(l1=1.5),
    "elastic net": ElasticNet(l1=0.8, l2=0.4),
    "l2 with intercepts": ElasticNet(l2=0.7, unpenalised=2),
    "elastic net with intercepts": ElasticNet(l1=2.8, l2=0.4, unpenalised=2),
}
BATCH = ("lbfgs", "bfgs", "clustered", "owlqn")  # the stochastic ones have theirs in their own files
SMOOTH = ("lbfgs", "bfgs", "clustered")
CASES = [
    pytest.param(solver, objective, penalty, id=f"{solver}-{objective}-{penalty}")
    for solver in BATCH
    for objective in OBJECTIVES
    for penalty in PENALTIES
    if not (solver in SMOOTH and PENALTIES[penalty].l1) and not (objective == "wide logistic" and penalty == "none")
]
LIMIT = Stop(max_iterations=20_000)


def make(name, **options):
    """The solver, with rounds that end before these small problems are solved."""
    return make_solver(name, **({"fine_iterations": 4} if name == "clustered" else {}) | options)


def scipy_minimum(objective, penalty):
    """Minimise over w = p - q with p, q >= 0, which makes the L1 norm linear."""
    n = objective.n_features
    penalised = np.arange(n) < n - penalty.unpenalised
    # Without a norm to hold them together, p and q of an intercept would both drift away.
    l1 = np.where(penalised, penalty.l1, 1e-9)

    def fun(pq):
        w = pq[:n] - pq[n:]
        value, g = objective.value_and_gradient(w)
        g = g + penalty.l2 * w * penalised
        value += l1 @ (pq[:n] + pq[n:]) + 0.5 * penalty.l2 * (w @ (w * penalised))
        return value, np.concatenate([g + l1, -g + l1])

    options = {"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    found = scipy.optimize.minimize(
        fun, np.full(2 * n, 0.01), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * (2 * n), options=options
    )
    return found.fun


@pytest.mark.parametrize(("name", "objective", "penalty"), CASES)
def test_reaches_the_minimum_by_scipy_and_by_the_optimality_conditions(name, objective, penalty):
    f, r = OBJECTIVES[objective], PENALTIES[penalty]
    result = minimize(Problem(f, r), make(name, tolerance=0.0), stop=LIMIT)
    g = f.value_and_gradient(result.w)[1]
    assert result.status.converged, result
    assert r.violation(result.w, g) <= 1e-5 * max(1.0, np.linalg.norm(result.w))
    expected = scipy_minimum(f, r)
    assert result.objective <= expected + 1e-8 * abs(expected)
    assert result.objective >= expected - 1e-5 * abs(expected)


# Means of clusters are worse than the weights they replace.
@pytest.mark.parametrize(("name", "objective", "penalty"), [case for case in CASES if case.values[0] != "clustered"])
def test_no_objective_is_above_the_last_one_or_with_owlqn_above_the_last_six(name, objective, penalty):
    problem = Problem(OBJECTIVES[objective], PENALTIES[penalty])
    objectives = [r.objective for r in minimize(problem, make(name), stop=LIMIT).trace]
    last = 6 if name == "owlqn" else 1
    assert all(objectives[k] <= max(objectives[max(k - last, 0) : k]) for k in range(1, len(objectives)))


@pytest.mark.parametrize(("name", "objective", "penalty"), CASES)
def test_default_tolerance_is_near_the_minimum(name, objective, penalty):
    problem = Problem(OBJECTIVES[objective], PENALTIES[penalty])
    rough = minimize(problem, make(name), stop=LIMIT)
    fine = minimize(problem, make(name, tolerance=0.0), stop=LIMIT)
    assert rough.status.converged
    assert rough.objective <= fine.objective + 1e-2 * abs(fine.objective)


@pytest.mark.parametrize("penalty", ["none", "l2"])
@pytest.mark.parametrize("objective", ["quadratic", "logistic"])
def test_solvers_agree_with_one_another(objective, penalty):
    problem = Problem(OBJECTIVES[objective], PENALTIES[penalty])
    found = [minimize(problem, make(name, tolerance=0.0), stop=LIMIT).w for name in BATCH]
    for w in found[1:]:
        np.testing.assert_allclose(w, found[0], atol=2e-5)


@pytest.mark.parametrize("name", BATCH)
def test_start_does_not_matter_on_a_convex_problem(name):
    problem = Problem(OBJECTIVES["logistic"], ElasticNet(l2=0.7))
    solver = make(name, tolerance=0.0)
    starts = np.random.default_rng(0).normal(size=(3, 25)) * 10.0
    found = [minimize(problem, solver, w0, stop=LIMIT).w for w0 in starts]
    np.testing.assert_allclose(found[1], found[0], atol=2e-5)
    np.testing.assert_allclose(found[2], found[0], atol=2e-5)


@pytest.mark.parametrize("name", BATCH)
def test_step_does_not_touch_the_starting_array_and_repeats_bitwise(name):
    problem, solver = Problem(OBJECTIVES["logistic"], ElasticNet(l2=0.1)), make(name)
    w0 = np.full(25, 0.5)
    first, second = (minimize(problem, solver, w0) for _ in range(2))
    assert (w0 == 0.5).all()
    assert first.w.tobytes() == second.w.tobytes()


@pytest.mark.thread_unsafe
@pytest.mark.parametrize("name", [name for name in BATCH if name != "bfgs"])
def test_no_vector_is_allocated_in_the_steady_state(name):
    import tracemalloc

    n = 200_000
    curvature = np.linspace(1.0, 50.0, n)

    class Diagonal:
        n_features, n_samples = n, 1

        def value_and_gradient(self, w, out=None):
            np.multiply(curvature, w, out=out)
            value = 0.5 * float(np.einsum("i,i->", out, w))
            np.subtract(out, 1.0, out=out)
            return value - float(w.sum()), out

    problem = Problem(Diagonal(), ElasticNet(l2=0.1) if name in SMOOTH else ElasticNet(l1=0.1, l2=0.1))
    solver = make_solver(name, memory=3, tolerance=0.0, gradient_tolerance=0.0)
    state = solver.init(problem, np.zeros(n))
    for _ in range(5):
        state = solver.step(problem, state)
    tracemalloc.start()
    try:
        for _ in range(3):
            state = solver.step(problem, state)
        assert tracemalloc.get_traced_memory()[1] < 8 * n
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", BATCH)
@pytest.mark.parametrize(
    ("option", "bad"),
    [
        ("memory", 0),
        ("memory", 2.5),
        ("memory", True),
        ("max_line_search", 0),
        ("tolerance", -1e-3),
        ("tolerance", math.nan),
        ("tolerance", "small"),
        ("gradient_tolerance", math.inf),
    ],
)
def test_absurd_options_raise_option_error(name, option, bad):
    knows = option in option_names(SOLVERS[name])
    with pytest.raises(OptionError, match=f"{option}=" if knows else f"no option '{option}'"):
        make(name, **{option: bad})


def test_unknown_solver_and_unknown_option_are_named_with_the_remedy():
    with pytest.raises(OptionError, match=r"'adam'; choose from auto, lbfgs, owlqn.*`loglinear solvers` lists all"):
        make_solver("adam")
    with pytest.raises(OptionError, match="learning_rate"):
        make_solver("owlqn", learning_rate=0.1)


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_solvers_refuse_an_l1_penalty_with_the_remedy(name):
    problem = Problem(OBJECTIVES["logistic"], ElasticNet(l1=0.1))
    with pytest.raises(OptionError, match=rf"{name} does not support.*l1=0\.1.*owlqn"):
        make(name).init(problem, np.zeros(25))


def test_default_solver_follows_the_penalty():
    assert default_solver(ElasticNet(l2=1.0)) == "lbfgs"
    assert default_solver(ElasticNet(l1=1e-9)) == "owlqn"
