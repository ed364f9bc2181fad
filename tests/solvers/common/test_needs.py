"""What solvers need is declared and checked: in `minimize`, in every `init`, and nowhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import loglinear
from loglinear import ChainObjective, ClassifierObjective, Corpus, ElasticNet, OptionError, Problem, minimize
from loglinear.minimize import Stop
from loglinear.networks.numbering import Numbering
from loglinear.objectives.network import NetworkLikelihood
from loglinear.objectives.pseudolikelihood import PseudoLikelihood
from loglinear.penalty import GroupLasso, Penalty, Separable
from loglinear.problem import (
    Aggregatable,
    Batched,
    Classifier,
    Clusterable,
    Objective,
    PerSample,
    Restrictable,
    Threaded,
    TwoClasses,
    missing,
)
from loglinear.result import Status
from loglinear.solvers import OWLQN, SG, SOLVERS, Needs, is_solver, make_solver, summary
from loglinear.solvers.common.needs import no_l1
from loglinear.solvers.grafting import GraftingLight
from oracles.logistic import Logistic
from oracles.samples import chunky

ENGINE = (Objective, Threaded, Restrictable, Clusterable, Aggregatable, Batched, PerSample)


def chain(order=1):
    return ChainObjective(Corpus.encode(*chunky(10)), loglinear.objectives.chain.ChainFeatures(order=order))


def classifier(n_classes=2, intercept=True):
    X = np.random.default_rng(0).random((30, 4))
    return ClassifierObjective(X, np.arange(30) % n_classes, n_classes=n_classes, intercept=intercept)


def network(kind):
    return kind(np.random.default_rng(0).integers(0, 2, (40, 3)), Numbering([2, 2, 2]))


def grouped(objective):
    return Problem(objective, GroupLasso(0.1, 0.0, 0, np.arange(objective.n_features) // 2))


PROBLEMS = {
    "plain, L2": lambda: Problem(Logistic(6, 20), ElasticNet(l2=1.0)),
    "plain, L1": lambda: Problem(Logistic(6, 20), ElasticNet(l1=0.5)),
    "groups": lambda: grouped(Logistic(6, 20)),
    "chain, L2": lambda: Problem(chain(), ElasticNet(l2=1.0)),
    "chain, L1": lambda: Problem(chain(), ElasticNet(l1=0.5)),
    "chain, some weights without penalty": lambda: Problem(chain(), ElasticNet(l2=1.0, unpenalised=2)),
    "two classes, L1": lambda: Problem(classifier(), ElasticNet(0.5, 0.0, 1)),
    "two classes without intercept": lambda: Problem(classifier(intercept=False), ElasticNet(l2=1.0)),
    "three classes, L2": lambda: Problem(classifier(3), ElasticNet(0.0, 1.0, 3)),
}


def refusal(act):
    """The message of an OptionError, or an empty one if there is none."""
    try:
        act()
    except OptionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", SOLVERS)
def test_init_refuses_what_minimize_refuses_and_every_solver_that_is_named_instead_works(name, kind):
    problem, solver = PROBLEMS[kind](), make_solver(name)
    refused = refusal(lambda: solver.init(problem, np.zeros(problem.n_features)))
    assert refused == refusal(lambda: minimize(problem, solver, stop=Stop(max_iterations=0)))
    amiss, _, others = refused.partition("; use ")
    assert amiss.removeprefix(f"{name} ") == SOLVERS[name].needs.unmet(problem)
    for other in others.split(", ") if others else ():
        assert not refusal(lambda other=other: minimize(problem, make_solver(other), stop=Stop(max_iterations=1)))


@pytest.mark.parametrize(
    ("name", "kind", "names"),
    [
        ("owlqn", "groups", r"owlqn needs a penalty of single weights, and GroupLasso has no .*use prox_gradient"),
        ("lbfgs", "plain, L1", r"lbfgs cannot minimise an L1 penalty \(l1=0\.5\); use owlqn"),
        ("grafting", "plain, L2", r"l1=0: give an l1 > 0; use lbfgs"),
        ("sg", "plain, L2", r"sample by sample, and Logistic has no per_sample, sample, n_unpenalised; use lbfgs"),
        ("hybrid", "plain, L2", r"a batch of its samples, and Logistic has no batch; use lbfgs"),
        ("iis", "chain, L2", r"design matrix, and ChainObjective has no .*design"),
        ("dual_cd", "chain, L2", r"curvature of two classes, and ChainObjective has no"),
        ("dual_cd", "two classes, L1", r"dual_cd knows no intercept without penalty"),
        ("prox_newton", "three classes, L2", r"is for two classes, or one against the rest, and there are 3"),
        ("sag", "chain, some weights without penalty", r"the 0 weights of the intercept only, and unpenalised=2"),
        ("pegasos", "chain, L1", r"pegasos cannot minimise an L1 penalty"),
    ],
)  # fmt: skip
def test_a_refusal_names_what_is_missing_and_what_would_do(name, kind, names):
    problem = PROBLEMS[kind]()
    with pytest.raises(OptionError, match=names):
        make_solver(name).init(problem, np.zeros(problem.n_features))


def test_a_group_lasso_is_no_elastic_net():
    assert not isinstance(GroupLasso(), ElasticNet)
    assert missing(GroupLasso(), Penalty) == []
    assert missing(GroupLasso(), Separable) == ["strengths", "smooth_value", "smooth_gradient"]
    assert missing(ElasticNet(), Separable) == []


def test_a_state_is_not_continued_on_a_problem_that_the_solver_cannot_work_on():
    state = minimize(PROBLEMS["plain, L1"](), OWLQN(), stop=Stop(max_iterations=1)).state
    with pytest.raises(OptionError, match="single weights"):
        minimize(PROBLEMS["groups"](), OWLQN(), state=state)


@pytest.mark.parametrize("kind", ["chain", "second order", "two classes", "three classes", "network", "pseudo"])
def test_objectives_of_the_library_have_the_abilities_that_they_are_for(kind):
    objective, protocols = {
        "chain": (chain(), ENGINE),
        "second order": (chain(2), ENGINE),
        "two classes": (classifier(), (*ENGINE, Classifier, TwoClasses)),
        "three classes": (classifier(3), (*ENGINE, Classifier, TwoClasses)),
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

    assert missing(Costly(3, 5), Classifier) == ["n_outputs", "weights", "targets", "probabilities"]


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


def test_passes_that_are_missing_are_named():
    class Other(Logistic):
        n_unpenalised = 0

        def per_sample(self):
            return SimpleNamespace(n_features=3, n_samples=5)

        def sample(self, samples):
            return self

    message = r"sg needs an objective that can make passes of stochastic.*SimpleNamespace has no sg_pass"
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
    found = minimize(PROBLEMS["plain, L2"](), Descent(), stop=Stop(violation=1e-6))
    assert found.status is Status.VIOLATION_REACHED
    assert found.trace[0].working_set is None
    with pytest.raises(OptionError, match=r"descent needs a penalty of single weights.*use prox_gradient"):
        minimize(PROBLEMS["groups"](), Descent())


def test_a_declared_need_of_a_user_is_checked():
    class Smooth(Descent):
        needs: ClassVar[Needs] = Needs(objective=(Batched,), conditions=(no_l1,))

    with pytest.raises(OptionError, match=r"smooth needs an objective that can be evaluated on a batch"):
        minimize(PROBLEMS["plain, L2"](), Smooth())
    with pytest.raises(OptionError, match=r"smooth cannot minimise an L1 penalty"):
        minimize(PROBLEMS["chain, L1"](), Smooth())


def test_needs_of_two_solvers_add_up():
    both = Needs(objective=(Batched,), penalty=Penalty) | Needs(objective=(PerSample, Batched), conditions=(no_l1,))
    assert both == Needs(objective=(Batched, PerSample), conditions=(no_l1,))
    assert (Needs(penalty=Penalty) | Needs(penalty=Penalty)).penalty is Penalty


def test_every_solver_has_a_line_for_the_help_of_the_command_line():
    lines = {name: summary(kind) for name, kind in SOLVERS.items()}
    assert all(len(line) > 20 and line.endswith(".") for line in lines.values()), lines
    assert len(set(lines.values())) == len(SOLVERS)


def test_nothing_is_guessed_at_outside_the_check():
    root = Path(loglinear.__file__).parent
    files = [
        *root.glob("solvers/**/*.py"),
        root / "minimize.py",
        root / "path.py",
        root / "penalty.py",
        root / "result.py",
    ]
    guessing = {path.name for path in files if re.search(r"\b(get|has)attr\(", path.read_text(encoding="utf-8"))}
    assert guessing == {"needs.py"}


def test_a_solver_is_what_has_the_methods_of_one():
    class Half:
        def init(self, problem, w0):
            return None

    assert all(is_solver(make_solver(name)) for name in SOLVERS)
    assert not any(is_solver(thing) for thing in ("owlqn", None, Half()))
