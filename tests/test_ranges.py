"""Numbers that options may be: the first and the last are taken, their neighbours outside refused by name."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import loglinear
from loglinear import ChainFeatures, ElasticNet, OptionError, PairwiseMRF
from loglinear.compat.pycrfsuite._online import AROW, AveragedPerceptron, PassiveAggressive
from loglinear.models.graph import GraphParameters
from loglinear.models.training.options import (
    ChosenSolverParameters,
    ClassifierParameters,
    DevOptions,
    RunOptions,
    SolverOptions,
    thread_count,
)
from loglinear.models.training.structure import NetworkOptions
from loglinear.networks.exact import Exact
from loglinear.networks.gibbs import Gibbs
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.tree_reweighted import TreeReweighted
from loglinear.path import falling
from loglinear.solvers import SOLVERS


def checked(make):
    """The class of a group of options, which are looked at when they are used."""

    def made(**options):
        found = make(**options)
        found.check(**({"has_data": True} if make is DevOptions else {}))
        return found

    made.__name__ = make.__name__
    return made


ROOT = Path(loglinear.__file__).parent
SEED, PASSES, COUNT, STEPS = (0, 2**64 - 1), (1, 10**6), (1, 2**62), (1, 1000)
BATCH = (1, 2**31 - 1)
WHOLE = {
    "adagrad": {"passes": PASSES, "seed": SEED},
    "asg": {"passes": PASSES, "seed": SEED},
    "auto": {"seed": SEED},
    "bfgs": {"max_line_search": STEPS},
    "clustered": {
        "num_rounds": STEPS, "fine_iterations": COUNT, "cluster_factor": (2, 2**62), "coarse_window": (2, 1000),
        "seed": SEED,
    },
    "dual_cd": {"seed": SEED},
    "grafting": {"select": COUNT, "max_features": COUNT},
    "grafting_light": {"select": COUNT, "max_features": COUNT, "steps": COUNT},
    "hybrid": {"first": COUNT, "seed": SEED},
    "label_sets": {"steps": (1, 2**31 - 1), "select": COUNT, "batch_size": BATCH},
    "lbfgs": {"memory": STEPS, "max_line_search": STEPS},
    "owlqn": {"memory": STEPS, "max_line_search": STEPS, "window": (1, 6)},
    "parameter_mixing": {"passes": PASSES, "seed": SEED},
    "prox_gradient": {"select": COUNT, "iterations": (1, 2**31)},
    "prox_newton": {"max_sweeps": (1, 10**9)},
    "sag": {"seed": SEED, "batch_size": BATCH},
    "sg": {"passes": PASSES, "seed": SEED},
    "sgd_l1": {"passes": PASSES, "seed": SEED, "batch_size": BATCH},
    Exact: {"limit": (4, 2**40)},
    Gibbs: {"chains": (2, 2**31), "sweeps": (1, 2**31), "seed": (0, 2**32 - 1)},
    LoopyBP: {"max_iterations": (1, 2**31)},
    TreeReweighted: {"max_iterations": (1, 2**31)},
    ElasticNet: {"unpenalised": (0, 2**62)},
    thread_count: {"n_jobs": (1, 2**16)},
    ChainFeatures: {"min_count": (1, 2**32 - 1), "order": (1, 2)},
    AveragedPerceptron: {"max_iterations": (0, 2**31 - 1)},
    PassiveAggressive: {"type": (0, 2)},
    checked(NetworkOptions): {"max_states": (2, 2**16 - 1), "bins": (2, 2**16 - 1)},
    checked(SolverOptions): {"random_state": SEED, "max_iterations": (0, 2**62)},
    checked(DevOptions): {"patience": (1, 2**31 - 1)},
    ChosenSolverParameters: {"folds": (2, 1000)},
}  # fmt: skip
FROM_0 = [0.0, 1e300], [-1e-300, -1.0]
ABOVE_0 = [1e-300, 1e300], [0.0, -1.0]
INSIDE_1 = [1e-9, 0.999], [0.0, 1.0, -0.1, 1.1]
UP_TO_1 = [1e-9, 1.0], [0.0, 1.001]
REAL = {
    "adagrad": {"delta": ABOVE_0, "learning_rate": ABOVE_0},
    "auto": {"tolerance": FROM_0},
    "bfgs": {"tolerance": FROM_0, "gradient_tolerance": FROM_0},
    "clustered": {"coarse_tolerance": FROM_0, "square_error": INSIDE_1},
    "dual_cd": {"tolerance": FROM_0},
    "hybrid": {"growth": ([1.001, 1e300], [1.0, 0.5])},
    "label_sets": {"bound": INSIDE_1},
    "lbfgs": {"tolerance": FROM_0, "gradient_tolerance": FROM_0},
    "owlqn": {"tolerance": FROM_0, "gradient_tolerance": FROM_0},
    "parameter_mixing": {"learning_rate": ABOVE_0, "decay": UP_TO_1},
    "prox_gradient": {"tolerance": FROM_0, "gradient_tolerance": FROM_0},
    "prox_newton": {"precision": INSIDE_1, "tolerance": FROM_0, "gradient_tolerance": FROM_0},
    "sag": {"tolerance": FROM_0},
    "sg": {"learning_rate": ABOVE_0},
    "sgd_l1": {"decay": UP_TO_1, "tail": FROM_0, "learning_rate": ABOVE_0},
    LoopyBP: {"damping": ([0.0, 0.999], [1.0, -0.001]), "tolerance": ABOVE_0},
    TreeReweighted: {"damping": ([0.0, 0.999], [1.0, -0.001]), "tolerance": ABOVE_0},
    ElasticNet: {"l1": FROM_0, "l2": FROM_0},
    checked(SolverOptions): {"tolerance": FROM_0, "gap": ([0.0, 0.1], [-1e-300, 0.1001])},
    AveragedPerceptron: {"epsilon": FROM_0},
    PassiveAggressive: {"c": ABOVE_0},
    AROW: {"variance": ABOVE_0, "gamma": ABOVE_0},
}


def cases(table):
    for place, options in table.items():
        for name, values in options.items():
            make = SOLVERS[place] if isinstance(place, str) else place
            yield pytest.param(make, name, values, id=f"{getattr(place, '__name__', place)}-{name}")


def held(made, name, value):
    """The option as a solver holds it; `thread_count` returns it, and `parameter_mixing` hands it on."""
    return made if isinstance(made, int) else getattr(made, name, value)


def refused(make, name, value):
    with pytest.raises(OptionError, match=rf"{name}={re.escape(repr(value))}"):
        make(**{name: value})


@pytest.mark.parametrize(("make", "name", "ends"), [*cases(WHOLE)])
def test_whole_numbers(make, name, ends):
    for end, beyond in zip(ends, (ends[0] - 1, ends[1] + 1), strict=True):
        made = make(**{name: end})
        assert held(made, name, end) == end
        if not (make is thread_count and beyond in (0, -1)):
            refused(make, name, beyond)
    for value in (1.5, "3", True):
        refused(make, name, value)


@pytest.mark.parametrize(("make", "name", "values"), [*cases(REAL)])
def test_real_numbers(make, name, values):
    taken, others = values
    for value in taken:
        assert held(make(**{name: value}), name, value) == value
    narrow = np.float32(taken[0])
    if float(narrow) == taken[0]:
        assert held(make(**{name: narrow}), name, narrow) == taken[0]
    for value in (*others, math.inf, math.nan, True):
        refused(make, name, value)


def test_numbers_of_a_path():
    assert list(falling(8.0, 2)) == pytest.approx([8.0, 0.08])
    assert len(falling(8.0, 10**6)) == 10**6
    for number in (1, 10**6 + 1):
        with pytest.raises(OptionError, match=rf"l1={number}"):
            falling(8.0, number)
    for ratio in (1e-9, 0.999):
        assert falling(8.0, 3, ratio)[-1] == pytest.approx(8.0 * ratio)
    for ratio in (0.0, 1.0):
        with pytest.raises(OptionError, match=rf"ratio={ratio}"):
            falling(8.0, 3, ratio)


def test_the_number_of_samples_to_draw():
    network = PairwiseMRF(l1=0.1).fit([[0, 1], [1, 0], [0, 0], [1, 1]] * 5)
    assert len(network.sample(1)) == 1
    for number in (0, 2**40 + 1):
        with pytest.raises(OptionError, match=rf"n_samples={number}"):
            network.sample(number)
    network.sample(1, random_state=2**32 - 1)
    with pytest.raises(OptionError, match=rf"random_state={2**32}"):
        network.sample(1, random_state=2**32)


def test_every_option_of_a_solver_and_of_inference_is_in_the_tables():
    known = {name for table in (WHOLE, REAL) for options in table.values() for name in options}
    checked = {
        node.args[0].value
        for folder in ("solvers", "networks")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("whole_number", "real_number")
    }
    assert checked <= known
    assert len(checked) > 25


WRONG = {
    "l1": -1.0, "l2": "1", "tolerance": -1.0, "n_jobs": 0, "random_state": -1, "verbose": "yes", "bins": 1,
    "max_states": 1, "order": 3,
}  # fmt: skip
OPTIONS = (SolverOptions, DevOptions, RunOptions, ChainFeatures, ClassifierParameters, NetworkOptions, GraphParameters)


@pytest.mark.parametrize("kind", OPTIONS, ids=lambda kind: kind.__name__)
def test_every_option_of_a_model_is_checked_when_options_are_made(kind):
    assert kind()
    for each in fields(kind):
        wrong = WRONG.get(each.name, 1.5)
        with pytest.raises(OptionError, match=rf"^{each.name}\b.*{re.escape(repr(wrong))}"):
            kind(**{each.name: wrong})


@pytest.mark.parametrize("name", SOLVERS)
def test_an_option_that_there_is_not_is_refused(name):
    with pytest.raises((TypeError, OptionError), match="no_such_option"):
        SOLVERS[name](no_such_option=1)
