"""What solvers need is declared and checked: in `minimize`, in every `init`, and nowhere else."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import loglinear
from examples import by_day
from loglinear import (
    ChainFeatures,
    ChainObjective,
    ClassifierObjective,
    Corpus,
    ElasticNet,
    OptionError,
    Problem,
    Stop,
    minimize,
)
from loglinear.data.graphs import Graphs
from loglinear.data.parts import ListedPart
from loglinear.networks.exact import Exact
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Numbering
from loglinear.objectives.graph import GraphLikelihood
from loglinear.objectives.network import NetworkLikelihood
from loglinear.objectives.parts import ChainParts
from loglinear.objectives.pseudolikelihood import PseudoLikelihood
from loglinear.penalty import GroupLasso, Penalty, Separable
from loglinear.problem import Objective, PerSample, Restrictable, Threaded
from loglinear.protocols import missing
from loglinear.result import Status
from loglinear.solvers import (
    FOR_RESEARCH,
    OWLQN,
    SG,
    SOLVERS,
    Needs,
    bfgs,
    is_solver,
    make_solver,
    option_names,
    summary,
)
from loglinear.solvers.common.conditions import no_l1
from loglinear.solvers.common.projection import Aggregatable, Clusterable
from loglinear.solvers.dual_cd import DualPasses
from loglinear.solvers.grafting import GraftingLight
from loglinear.solvers.hybrid import Batched
from loglinear.solvers.iis import Designed
from loglinear.solvers.prox_newton import NewtonSteps
from oracles.logistic import Logistic
from oracles.samples import chunky

ENGINE = (Objective, Threaded, Restrictable, Clusterable, Aggregatable, Batched, PerSample)
CLASSIFIER = (*ENGINE, Designed, NewtonSteps, DualPasses)


def chain(order=1, partial=False):
    X, y = chunky(10)
    y = [[None, *labels[1:]] for labels in y] if partial else y
    return ChainObjective(Corpus.encode(X, y), ChainFeatures(order=order), threads=1)


def chain_in_parts():
    X, y = chunky(10)
    return ChainParts([ListedPart("first", X[:5], y[:5]), ListedPart("second", X[5:], y[5:])])


def classifier(n_classes=2, intercept=True, least=0.0):
    X = np.random.default_rng(0).random((30, 4)) + least
    return ClassifierObjective(X, np.arange(30) % n_classes, n_classes=n_classes, intercept=intercept, threads=1)


def network(kind):
    return kind(np.random.default_rng(0).integers(0, 2, (40, 3)), Numbering([2, 2, 2]), threads=1)


def graphs(inference):
    rng = np.random.default_rng(0)
    triangles = [(rng.normal(size=(3, 2)), np.array([[0, 1], [1, 2], [0, 2]])) for _ in range(4)]
    return GraphLikelihood(Graphs.of(triangles), rng.integers(0, 2, 12), 2, inference=inference, threads=1)


class BySamples(Logistic):
    """An objective whose samples no solver can visit."""

    n_unpenalised = 0

    def sample(self, samples):
        return self

    def per_sample(self):
        return self


OBJECTIVES = {
    "plain": lambda: Logistic(6, 20),
    "plain by samples": lambda: BySamples(6, 20),
    "chain": chain,
    "chain of order 2": lambda: chain(2),
    "chain with partial labels": lambda: chain(partial=True),
    "chain in parts": chain_in_parts,
    "two classes": classifier,
    "two classes without intercept": lambda: classifier(intercept=False),
    "two classes with negative features": lambda: classifier(least=-0.5),
    "three classes": lambda: classifier(3),
    "pseudo-likelihood": lambda: network(PseudoLikelihood),
    "network": lambda: network(NetworkLikelihood),
    "graphs": lambda: graphs(Exact()),
    "graphs with loopy belief propagation": lambda: graphs(LoopyBP()),
}
STRENGTHS = {"none": (0.0, 0.0), "L1": (0.5, 0.0), "L2": (0.0, 1.0), "both": (0.5, 1.0)}


@functools.cache
def problem_of(objective, penalty):
    made = OBJECTIVES[objective]()
    bare = getattr(made, "n_unpenalised", 0)
    if penalty == "groups":
        return Problem(made, GroupLasso(0.1, 0.0, bare, np.arange(made.n_features - bare) // 2))
    if penalty == "bare weights":
        return Problem(made, ElasticNet(l2=1.0, unpenalised=bare + 1))
    return Problem(made, ElasticNet(*STRENGTHS[penalty], bare))


PENALTIES = (*STRENGTHS, "groups", "bare weights")


def refusal(act):
    """The message of an OptionError, or an empty one if there is none."""
    try:
        act()
    except OptionError as error:
        return str(error)
    return ""


def quick(name):
    """The solver, with a learning rate that need not be chosen."""
    kind = SOLVERS[name]
    return make_solver(name, **{"learning_rate": 0.1} if "learning_rate" in option_names(kind) else {})


@functools.cache
def takes(name, objective, penalty):
    """Whether a solver makes a step on a problem without refusing it."""
    problem = problem_of(objective, penalty)
    return not refusal(lambda: minimize(problem, quick(name), stop=Stop(max_iterations=1)))


@pytest.mark.parametrize("penalty", by_day(PENALTIES, lambda penalty: penalty == "L1"))
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_init_refuses_what_minimize_refuses_and_names_the_solvers_to_use_instead(objective, penalty):
    problem = problem_of(objective, penalty)
    working = {name for name in SOLVERS if name != "auto" and takes(name, objective, penalty)}
    for name in SOLVERS:
        solver = quick(name)
        refused = refusal(lambda solver=solver: solver.init(problem, np.zeros(problem.n_features)))
        assert refused == refusal(lambda solver=solver: minimize(problem, solver, stop=Stop(max_iterations=0)))
        unmet, _, others = refused.partition("; use ")
        assert unmet.removeprefix(f"{name} ") == solver.needs.unmet(problem)
        assert others.endswith(", or auto, the default") if refused else name in {*working, "auto"}
        told = set(others.removesuffix(", or auto, the default").split(", "))
        # Every solver for use that works, and no other.
        assert told == working - FOR_RESEARCH.keys() or not refused
        # No name of a member, such as per_sample: users do not know them.
        assert set(re.findall(r"\w+_\w+", unmet)) <= SOLVERS.keys() | {"fit_intercept"}


def test_a_remedy_leaves_out_solvers_that_memory_does_not_hold(monkeypatch):
    problem = problem_of("plain", "L2")
    assert "bfgs, " in refusal(lambda: minimize(problem, make_solver("sg")))
    monkeypatch.setattr(bfgs, "memory_of_machine", lambda: 16 * 6 * 6 - 1)
    assert "bfgs, " not in refusal(lambda: minimize(problem, make_solver("sg"))).replace("lbfgs, ", "")


@pytest.mark.parametrize(
    ("name", "objective", "penalty", "words"),
    [
        ("owlqn", "plain", "groups", "a penalty of single weights, but this penalty is not one; use prox_gradient"),
        ("lbfgs", "plain", "L1", r"lbfgs does not support an L1 penalty \(l1=0\.5\); use owlqn, "),
        ("grafting", "plain", "L2", "l1=0; give an l1 > 0; use lbfgs, "),
        ("sg", "plain", "L2", "an objective that can go sample by sample, but this objective is not one; use lbfgs, "),
        ("sag", "plain by samples", "L2", "SAG's passes, but this objective is not one; use lbfgs, "),
        ("sag", "graphs with loopy belief propagation", "L2", "sag needs a convex objective, .*; use lbfgs, "),
        ("sag", "chain of order 2", "L2", "sag cannot be used: .*chains of order 1; use lbfgs, "),
        ("hybrid", "plain", "L2", "a batch of its samples, but this objective is not one; use lbfgs, "),
        ("iis", "chain", "L2", "design matrix, but this objective is not one; use lbfgs, "),
        ("iis", "two classes with negative features", "L2", r"has -0\.\d+ in row 5: shift the column; use lbfgs, "),
        ("dual_cd", "chain", "L2", "passes of dual coordinate descent, but this objective is not one; use lbfgs, "),
        ("dual_cd", "two classes", "L1", r"give fit_intercept=False \(--no-intercept\); use owlqn, "),
        ("dual_cd", "three classes", "L2", "two classes or one class against the rest, not 3 classes; use lbfgs, "),
        ("prox_newton", "chain", "L2", "steps of proximal Newton, but this objective is not one; use lbfgs, "),
        ("sag", "chain", "bare weights", "supports unpenalised=0 only .*, not 1; use lbfgs, "),
        ("asg", "chain with partial labels", "L2", "asg needs a convex objective, .*; use lbfgs, "),
        ("pegasos", "chain", "L1", "pegasos does not support an L1 penalty"),
    ],
)  # fmt: skip
def test_a_refusal_names_what_is_missing_and_what_would_do(name, objective, penalty, words):
    problem = problem_of(objective, penalty)
    with pytest.raises(OptionError, match=words):
        make_solver(name).init(problem, np.zeros(problem.n_features))


def test_a_group_lasso_is_no_elastic_net():
    assert not isinstance(GroupLasso(), ElasticNet)
    assert missing(GroupLasso(), Penalty) == []
    assert missing(GroupLasso(), Separable) == ["strengths", "smooth_value", "smooth_gradient"]
    assert missing(ElasticNet(), Separable) == []


def test_a_state_is_not_continued_on_a_problem_that_the_solver_cannot_work_on():
    state = minimize(problem_of("plain", "L1"), OWLQN(), stop=Stop(max_iterations=1)).state
    with pytest.raises(OptionError, match="single weights"):
        minimize(problem_of("plain", "groups"), OWLQN(), state=state)


@pytest.mark.parametrize("kind", ["chain", "second order", "two classes", "three classes", "network", "pseudo"])
def test_objectives_of_the_library_have_the_abilities_that_they_are_for(kind):
    objective, protocols = {
        "chain": (chain(), ENGINE),
        "second order": (chain(2), ENGINE),
        "two classes": (classifier(), CLASSIFIER),
        "three classes": (classifier(3), CLASSIFIER),
        "network": (network(NetworkLikelihood), (Objective, Threaded, Restrictable)),
        "pseudo": (network(PseudoLikelihood), (Objective, Threaded, Restrictable)),
    }[kind]
    for protocol in protocols:
        assert missing(objective, protocol) == []


def test_looking_for_an_ability_evaluates_no_property():
    class Costly(Logistic):
        @property
        def design(self):
            raise AssertionError

    assert missing(Costly(3, 5), Designed) == ["n_outputs", "weights", "targets", "probabilities"]


def test_an_ability_is_used_where_it_is_there_and_done_without_where_it_is_not():
    class Restricting(Logistic):
        asked = 0

        def restrict(self, features):
            Restricting.asked += 1
            small = Logistic(8, 40)
            small.n_features, small.x = features.size, self.x[:, features]
            return small

    solver = GraftingLight(select=2, steps=3, tolerance=0.0)
    plain, restricted = (minimize(Problem(kind(8, 40), ElasticNet(1.0)), solver) for kind in (Logistic, Restricting))
    assert Restricting.asked > 0
    np.testing.assert_allclose(restricted.w, plain.w, atol=1e-5)


def test_passes_that_are_missing_are_told_by_what_they_are_for():
    class Other(Logistic):
        n_unpenalised = 0

        def per_sample(self):
            return SimpleNamespace(n_features=3, n_samples=5)

        def sample(self, samples):
            return self

    message = (
        "sg needs an objective that can make passes of stochastic gradient descent, but this objective is not one; u"
    )
    with pytest.raises(OptionError, match=message):
        SG().init(Problem(Other(3, 5), ElasticNet(l2=1.0)), np.zeros(3))


@dataclass
class BareState:
    """The names of `State` and no others."""

    w: np.ndarray
    objective: float
    nll: float
    violation: float
    iteration: int = 0
    passes: float = 1.0
    gradient_evaluations: int = 1
    status: Status = Status.RUNNING


class Descent:
    """Gradient descent, as a user writes it who knows `init` and `step` only."""

    def init(self, problem, w0):
        return self.at(problem, w0.copy(), 0)

    def step(self, problem, state):
        g = np.zeros_like(state.w)
        problem.evaluate(state.w, g)
        return self.at(problem, state.w - 0.01 * (g + problem.penalty.l2 * state.w), state.iteration + 1)

    def at(self, problem, w, iteration):
        g = np.zeros_like(w)
        nll = problem.evaluate(w, g)
        penalty = problem.penalty
        return BareState(w, nll + penalty.value(w), nll, penalty.violation(w, g), iteration, iteration + 1.0)


def test_a_solver_of_a_user_needs_to_declare_nothing():
    found = minimize(problem_of("plain", "L2"), Descent(), stop=Stop(violation=1e-6))
    assert found.status is Status.VIOLATION_REACHED
    assert found.trace[0].working_set is None
    with pytest.raises(OptionError, match=r"descent needs a penalty of single weights.*use prox_gradient"):
        minimize(problem_of("plain", "groups"), Descent())


def test_a_declared_need_of_a_user_is_checked():
    class Smooth(Descent):
        needs: ClassVar[Needs] = Needs(objective=(Batched,), conditions=(no_l1,))

    with pytest.raises(OptionError, match=r"smooth needs an objective that can be evaluated on a batch"):
        minimize(problem_of("plain", "L2"), Smooth())
    with pytest.raises(OptionError, match=r"smooth does not support an L1 penalty"):
        minimize(problem_of("chain", "L1"), Smooth())


def test_needs_of_two_solvers_add_up():
    both = Needs(objective=(Batched,), penalty=Penalty) | Needs(objective=(PerSample, Batched), conditions=(no_l1,))
    assert both == Needs(objective=(Batched, PerSample), conditions=(no_l1,))
    assert (Needs(penalty=Penalty) | Needs(penalty=Penalty)).penalty is Penalty


def test_every_solver_has_a_line_for_the_help_of_the_command_line():
    lines = {name: summary(kind) for name, kind in SOLVERS.items()}
    assert all(len(line) > 20 and line.endswith(".") for line in lines.values()), lines
    assert len(set(lines.values())) == len(SOLVERS)


def test_nothing_is_guessed_at():
    root = Path(loglinear.__file__).parent
    loop = ("certificate", "gain", "gap", "minimize", "path", "penalty", "result", "stopping")
    files = [*root.glob("solvers/**/*.py"), *(root / f"{name}.py" for name in loop)]
    guessing = {path.name for path in files if re.search(r"\b(get|has)attr\(", path.read_text(encoding="utf-8"))}
    assert not guessing


def test_a_solver_is_what_has_the_methods_of_one():
    class Half:
        def init(self, problem, w0):
            return None

    assert all(is_solver(make_solver(name)) for name in SOLVERS)
    assert not any(is_solver(thing) for thing in ("owlqn", None, Half()))
