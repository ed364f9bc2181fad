"""Inner solvers are objects, and their options are options of the outer solver as well."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import ChainObjective, Corpus, ElasticNet, OptionError, Problem, minimize
from loglinear.minimize import Stop
from loglinear.models.training.options import SolverOptions
from loglinear.solvers import (
    BFGS,
    LBFGS,
    OWLQN,
    SGDL1,
    SOLVERS,
    Clustered,
    GaussSeidel,
    Grafting,
    GraftingLight,
    Hybrid,
    TwoStage,
    make_solver,
    option_names,
)
from oracles.samples import chunky

SMOOTH, SPARSE = ElasticNet(l2=0.5), ElasticNet(l1=0.5)
OWN = {"memory": 3, "tolerance": 1e-3, "gradient_tolerance": 1e-5, "max_line_search": 7}
OF_OWLQN = OWN | {"window": 1}
BOUNDS = {name: OWN[name] for name in OWN if name != "memory"}


@pytest.mark.parametrize(
    ("by_name", "by_object", "penalty"),
    [
        (lambda: Grafting(select=5, **OF_OWLQN), lambda: Grafting(select=5, inner=OWLQN(**OF_OWLQN)), SPARSE),
        (lambda: GraftingLight(steps=2, **OF_OWLQN), lambda: GraftingLight(steps=2, inner=OWLQN(**OF_OWLQN)), SPARSE),
        (lambda: GaussSeidel(select=9, **OF_OWLQN), lambda: GaussSeidel(select=9, inner=OWLQN(**OF_OWLQN)), SPARSE),
        (
            lambda: TwoStage(passes=2, learning_rate=0.1, decay=0.9, seed=4, line_search=True, **OF_OWLQN),
            lambda: TwoStage(
                first=SGDL1(passes=2, learning_rate=0.1, decay=0.9, seed=4, line_search=True), second=OWLQN(**OF_OWLQN)
            ),
            SPARSE,
        ),
        (lambda: Hybrid(growth=2.0, **OWN), lambda: Hybrid(growth=2.0, inner=LBFGS(**OWN)), SMOOTH),
        (lambda: Clustered(fine_iterations=3, **OWN), lambda: Clustered(fine_iterations=3, inner=LBFGS(**OWN)), SMOOTH),
        (lambda: Clustered(optimizer="bfgs", **OWN), lambda: Clustered(inner=BFGS(**BOUNDS)), SMOOTH),
    ],
)
def test_options_by_name_are_those_of_the_inner_solver(by_name, by_object, penalty):
    problem = Problem(ChainObjective(Corpus.encode(*chunky(15))), penalty)
    one, other = (minimize(problem, make(), stop=Stop(max_iterations=25)) for make in (by_name, by_object))
    assert one.w.tobytes() == other.w.tobytes()
    assert one.gradient_evaluations == other.gradient_evaluations > 1


def test_the_seed_of_an_estimator_reaches_inner_solvers():
    assert SolverOptions(solver="two_stage", l1=1.0, random_state=7).make_solver()[1].first.seed == 7


def test_an_option_by_name_goes_before_that_of_the_object():
    solver = GraftingLight(inner=OWLQN(memory=5, tolerance=1e-3), tolerance=0.0)
    assert solver.inner == OWLQN(memory=5, tolerance=0.0)


def test_defaults_of_inner_solvers():
    assert Grafting().inner == OWLQN(memory=40)
    assert (TwoStage().first, TwoStage().second) == (SGDL1(passes=5, learning_rate=0.2), OWLQN(tolerance=1e-4))
    assert Hybrid().inner == Clustered().fine == LBFGS()
    assert Clustered().coarse == LBFGS(tolerance=0.0)
    assert Clustered(optimizer="bfgs").fine == BFGS()


@pytest.mark.parametrize("name", SOLVERS)
def test_every_option_that_is_named_is_accepted(name):
    names = option_names(SOLVERS[name])
    assert len(set(names)) == len(names)
    with pytest.raises(OptionError, match="no option 'colour'"):
        make_solver(name, colour="red")
    defaults = {"memory": 4, "tolerance": 1e-3, "seed": 1, "max_line_search": 5, "passes": 3, "window": 1}
    make_solver(name, **{option: defaults[option] for option in names if option in defaults})


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Grafting(inner=LBFGS()), r"inner=.*is not the solver OWLQN"),
        (lambda: Clustered(inner="lbfgs"), r"inner='lbfgs' is not the solver LBFGS or BFGS"),
        (lambda: TwoStage(first=OWLQN()), r"first=.*is not the solver SGDL1"),
        (lambda: TwoStage(decay=2.0), r"decay=2\.0"),
        (lambda: Hybrid(memory=0), r"memory=0"),
    ],
)
def test_what_is_no_inner_solver_or_out_of_range_is_named(make, named):
    with pytest.raises(OptionError, match=named):
        make()


def test_solvers_of_the_batch_kind_are_values():
    assert OWLQN(memory=3) == OWLQN(memory=3) != OWLQN()
    assert np.unique([hash(LBFGS()), hash(LBFGS())]).size == 1
