"""The solver that chooses: one for every problem, always the same, and the optimum of the others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from examples import by_day
from loglinear import (
    ChainCRF,
    ChainFeatures,
    ChainObjective,
    ClassifierObjective,
    Corpus,
    ElasticNet,
    MaxEnt,
    Problem,
    Stop,
    minimize,
)
from loglinear.data.parts import ListedPart
from loglinear.errors import OptionError
from loglinear.objectives.parts import ChainParts
from loglinear.path import largest_l1
from loglinear.penalty import GroupLasso
from loglinear.result import Status
from loglinear.solvers import LBFGS, OWLQN, Auto, LabelSets, TwoStage, auto, make_solver
from oracles.samples import chunky, sentences

L1, L2, BOTH = ElasticNet(l1=0.4), ElasticNet(l2=0.7), ElasticNet(l1=0.3, l2=0.2)


def chain(**features):
    return ChainObjective(Corpus.encode(*chunky(60)), ChainFeatures(**features), threads=1)


def partial_chain():
    X, y = chunky(60)
    y[3][0] = None
    return ChainObjective(Corpus.encode(X, y))


def classifier(n_classes):
    rng = np.random.default_rng(0)
    return ClassifierObjective(rng.random((40, 5)), rng.integers(n_classes, size=40), n_classes=n_classes)


def wide(n_classes):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 3000), density=0.01, rng=rng, format="csr")
    return ClassifierObjective(X, rng.integers(n_classes, size=300), n_classes=n_classes)


@pytest.fixture
def large(monkeypatch):
    """Small data are treated as large ones."""
    monkeypatch.setattr(auto, "FEW_NUMBERS", 0)
    monkeypatch.setattr(auto, "FEW_CELLS", 1)
    monkeypatch.setattr(auto, "MANY_SAMPLES", 1)


@pytest.mark.parametrize(
    ("make", "penalty", "name"),
    by_day(
        [
            (chain, L1, "label_sets"),
            (lambda: chain(order=2), L1, "label_sets"),
            (lambda: chain(order=2), BOTH, "label_sets"),
            (lambda: chain(order=2), L2, "lbfgs"),
            (chain, BOTH, "label_sets"),
            (chain, L2, "two_stage"),
            (partial_chain, L1, "grafting_light"),
            (partial_chain, L2, "lbfgs"),
            (lambda: classifier(2), L1, "prox_newton"),
            (lambda: classifier(2), L2, "prox_newton"),
            (lambda: classifier(3), L1, "prox_newton"),
            (lambda: wide(2), L2, "lbfgs"),
            (lambda: wide(40), L1, "owlqn"),
            (lambda: classifier(3), GroupLasso(0.2, 0.1, 0, np.arange(18) // 2), "prox_gradient"),
        ],
        lambda case: case[0] in (chain, partial_chain) or case[2] in ("prox_newton", "prox_gradient"),
    ),
)
@pytest.mark.usefixtures("large")
def test_the_choice_follows_penalty_and_kind_and_reaches_the_optimum(make, penalty, name):
    objective = make()
    if getattr(objective, "n_unpenalised", 0) and isinstance(penalty, ElasticNet):
        penalty = ElasticNet(penalty.l1, penalty.l2, objective.n_unpenalised)
    problem = Problem(objective, penalty)
    choice = Auto().choice(problem)
    assert choice.name == name
    assert str(choice) == f"{name} ({choice.why})"
    exact = minimize(problem, Auto(tolerance=1e-10), stop=Stop(max_iterations=2000))
    assert exact.chosen == str(choice)
    if not isinstance(penalty, GroupLasso) and not getattr(objective, "is_partial", False):
        other = OWLQN(tolerance=0.0, gradient_tolerance=1e-9) if penalty.l1 else LBFGS(tolerance=0.0)
        least = minimize(problem, other, stop=Stop(max_iterations=3000)).objective
        assert exact.objective == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize(("penalty", "name"), [(L1, "label_sets"), (L2, "lbfgs"), (BOTH, "label_sets")])
def test_few_samples_and_real_values_get_no_untuned_learning_rate(monkeypatch, penalty, name):
    monkeypatch.setattr(auto, "FEW_CELLS", 1)
    assert Auto().choice(Problem(chain(), penalty)).name == name
    monkeypatch.setattr(auto, "MANY_SAMPLES", 1)
    X, y = sentences(60, 0, valued=True)
    valued = [[{name: 10.0 * value for name, value in token.items()} for token in sentence] for sentence in X]
    problem = Problem(ChainObjective(Corpus.encode(valued, y)), penalty)
    assert Auto().choice(problem).name == name
    found = minimize(problem, Auto(), stop=Stop(max_iterations=30))
    assert found.objective < found.trace[0].objective


@pytest.mark.parametrize(("penalty", "name"), [(L1, "owlqn"), (L2, "lbfgs"), (BOTH, "owlqn")])
def test_small_sequences_get_the_plain_solvers_with_few_pairs(monkeypatch, penalty, name):
    choice = Auto().choice(Problem(chain(), penalty))
    assert (choice.name, choice.solver.memory) == (name, 10 if name == "owlqn" else LBFGS().memory)
    monkeypatch.setattr(auto, "FEW_CELLS", 1)
    monkeypatch.setattr(auto, "suits", lambda kind, problem: kind is OWLQN and penalty.l1)
    if penalty.l1:
        assert Auto().choice(Problem(chain(), penalty)).solver.memory == OWLQN().memory


@pytest.mark.usefixtures("large")
def test_the_default_rules_end_within_a_thousandth_of_the_optimum():
    for penalty in (L1, BOTH, L2):
        problem = Problem(chain(), penalty)
        found = minimize(problem, Auto())
        assert found.status is Status.CONVERGED
        least = minimize(problem, Auto(tolerance=1e-11), stop=Stop(max_iterations=3000)).objective
        assert found.objective <= least * (1 + 1e-3)


@pytest.mark.usefixtures("large")
def test_tolerance_and_seed_reach_the_solver_chosen():
    solver = Auto(tolerance=1e-3, seed=7).choice(Problem(chain(), L1)).solver
    assert isinstance(solver, LabelSets)
    assert (solver.tolerance, solver.first.seed) == (1e-3, 7)
    solver = Auto(seed=5).choice(Problem(chain(), L2)).solver
    assert isinstance(solver, TwoStage)
    assert (solver.first.seed, solver.second.memory) == (5, 6)


@pytest.mark.usefixtures("large")
def test_sparse_optima_are_sought_to_a_finer_tolerance_than_smooth_ones():
    X, y = chunky(20)
    parts = ChainParts([ListedPart("one", X, y)])
    for objective in (parts, classifier(3)):
        sparse, smooth = (Auto().choice(Problem(objective, penalty)).solver for penalty in (L1, L2))
        assert (sparse.tolerance, smooth.tolerance) == (auto.TOLERANCE, LBFGS().tolerance)


@pytest.mark.usefixtures("large")
def test_the_first_passes_take_batches_and_a_learning_rate_that_falls_with_the_attributes():
    X, y = chunky()

    def rates(copies):
        longer = [[[f"{name}{k}" for name in token for k in range(copies)] for token in sentence] for sentence in X]
        objective = ChainObjective(Corpus.encode(longer, y))
        per_token = copies * len(X[0][0])
        assert {len(token) for sentence in longer for token in sentence} == {per_token}
        attributes = per_token**2 * sum(map(len, X)) / len(X)
        solvers = [Auto().choice(Problem(objective, penalty)).solver for penalty in (L1, BOTH, L2)]
        return attributes, [solver.first.learning_rate for solver in solvers]

    for penalty in (L1, BOTH, L2):
        first = Auto().choice(Problem(ChainObjective(Corpus.encode(X, y)), penalty)).solver.first
        assert first.batch_size == 2  # in single precision
    attributes, few = rates(2)
    assert attributes < 1600 / 0.2
    assert few == [0.2, 0.2, 0.12]
    attributes, many = rates(100)
    assert many == pytest.approx([1600 / attributes, 1600 / attributes, 960 / attributes])


def test_two_classes_of_sparse_data_with_a_strong_l2_penalty_take_few_passes_over_dual_variables(monkeypatch):
    monkeypatch.setattr(auto, "FEW_NUMBERS", 0)
    rng = np.random.default_rng(3)
    X = scipy.sparse.random_array((400, 600), density=0.05, rng=rng, format="csr")
    X = (X / np.sqrt(X.multiply(X).sum(axis=1))[:, None]).tocsr()  # rows of length 1
    y = (X @ rng.normal(size=600) > 0.0).astype(int)

    def chosen(samples=X, weights=None, *, l2=0.2, intercept=0.0, **options):
        objective = ClassifierObjective(samples, y, weights, n_classes=2, intercept=intercept)
        problem = Problem(objective, ElasticNet(l2=l2, unpenalised=objective.n_unpenalised))
        return Auto(**options).choice(problem).name, problem

    name, problem = chosen()
    assert name == "dual_cd"
    found, best = minimize(problem, Auto()), minimize(problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-9))
    assert found.status is Status.CONVERGED
    assert found.objective <= best.objective * (1.0 + 2e-5)
    assert Auto(seed=5).choice(problem).solver.seed == 5
    others = [
        chosen(l2=0.05),
        chosen(weights=np.full(400, 4.0)),
        chosen(intercept=1.0),
        chosen(X.toarray() + 0.01),
        chosen(tolerance=1e-5),
    ]
    assert [name for name, _ in others] == ["lbfgs"] * 5


def gaussian(n, p, n_classes):
    """A problem whose first columns tell the classes."""
    rng = np.random.default_rng(n + p)
    X = rng.standard_normal((n, p))
    y = (2.0 * X[:, :n_classes] + rng.gumbel(size=(n, min(p, n_classes)))).argmax(axis=1)
    return ClassifierObjective(X, y, n_classes=n_classes, threads=1)


@pytest.mark.parametrize(
    ("shape", "share", "l2", "name"),
    [
        ((60, 800, 3), 0.1, 0.0, "prox_newton"),  # few samples
        ((500, 300, 10), 0.3, 0.0, "prox_newton"),  # a strong penalty
        ((500, 300, 10), 0.01, 0.0, "owlqn"),
        ((500, 300, 10), 0.15, 0.0, "prox_newton"),
        ((500, 300, 10), 0.15, 1.0, "owlqn"),  # the L2 penalty keeps more weights
        ((200, 300, 12), 0.3, 0.0, "owlqn"),  # many classes, and as many samples as columns
        ((100, 300, 12), 0.3, 0.0, "prox_newton"),
        ((5000, 6, 3), 0.7, 0.0, "owlqn"),  # many samples, and a strong penalty
        ((5000, 6, 3), 0.001, 0.0, "prox_newton"),
    ],
)
def test_an_l1_penalty_that_leaves_few_weights_of_large_data_gets_newton_steps(monkeypatch, shape, share, l2, name):
    monkeypatch.setattr(auto, "FEW_NUMBERS", 0)
    monkeypatch.setattr(auto, "FEW_PRODUCTS", 0)
    objective = gaussian(*shape)
    l1 = share * largest_l1(Problem(objective, ElasticNet(1.0, l2, objective.n_unpenalised)))
    problem = Problem(objective, ElasticNet(l1, l2, objective.n_unpenalised))
    choice = Auto().choice(problem)
    assert choice.name == name
    if name == "prox_newton":
        assert choice.why == "an L1 penalty that leaves few weights"
        monkeypatch.setattr(auto, "MOST_ACTIVE", 1)
        assert Auto().choice(problem).name == "owlqn"


def test_newton_steps_of_large_wide_data_end_closer_to_the_optimum_than_quasi_newton_steps(monkeypatch):
    monkeypatch.setattr(auto, "FEW_NUMBERS", 0)
    objective = gaussian(60, 800, 3)
    problem = Problem(objective, ElasticNet(0.5, 0.0, objective.n_unpenalised))
    best = minimize(problem, OWLQN(tolerance=0.0, gradient_tolerance=1e-9), stop=Stop(max_iterations=5000)).objective
    found, quasi = minimize(problem, Auto()), minimize(problem, OWLQN(tolerance=auto.TOLERANCE))
    assert found.status is Status.CONVERGED
    assert found.objective <= best * (1.0 + 1e-7) < quasi.objective


def test_a_tolerance_out_of_range_is_refused():
    with pytest.raises(OptionError, match="tolerance"):
        make_solver("auto", tolerance=-1.0)


def test_it_is_the_default_and_models_tell_the_choice():
    X, y = chunky(10)
    crf = ChainCRF(l1=0.1).fit(X, y)
    assert crf.result_.chosen == "owlqn (an L1 penalty)"
    assert ChainCRF(l1=0.1, solver="owlqn").fit(X, y).result_.chosen is None
    assert MaxEnt().fit([[0.0], [1.0]], ["a", "b"]).result_.chosen == "prox_newton (two classes and few columns)"
    assert MaxEnt().fit([["x"], ["y"]], ["a", "b"]).result_.chosen == "prox_newton (two classes and few columns)"
    assert (
        MaxEnt().fit([["x"], ["y"], ["z"]], ["a", "b", "c"]).result_.chosen == "prox_newton (few columns and classes)"
    )
