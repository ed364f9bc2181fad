"""Defaults of the options: results follow from them, so that one that changes is a change of the interface, made here.

Defaults that the literature gives have their source in the docstring of the option's class.
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

import loglinear
from loglinear import LBFGS, OWLQN, SGDL1
from loglinear.compat.pycrfsuite._online import AROW, AveragedPerceptron, PassiveAggressive
from loglinear.models.estimator import Estimator
from loglinear.networks.exact import Exact
from loglinear.networks.gibbs import Gibbs
from loglinear.networks.graph import Report
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.tree_reweighted import TreeReweighted
from loglinear.solvers import SOLVERS
from loglinear.solvers.parameter_mixing import MixedPasses

TOLERANCES = {"tolerance": 1e-5, "gradient_tolerance": 1e-6}
LINE_SEARCH = TOLERANCES | {"max_line_search": 20}
VISITS = {"learning_rate": None, "passes": 30, "seed": 0}
# What models have in common.
MODEL = {
    "l1": 0.0, "l2": None, "solver": None, "tolerance": None, "gap": None, "solver_options": None,
    "max_iterations": 1000, "n_jobs": None, "verbose": False,
}  # fmt: skip
ONLINE = {"max_iterations": 100, "epsilon": 0.0}
TRAINED = MODEL | {"random_state": 0, "keep": None, "patience": None}
CHOSEN = {"folds": 5, "metric": None, "penalty_factor": None, "signs": None, "l1_groups": None}
# A truth value that is not named is off by default.
FEATURES = {each.name: False for each in fields(loglinear.ChainFeatures) if each.type == "bool"} | {
    "all_states": False, "all_transitions": False, "min_count": 1, "order": 1, "constraints": None,
    "invalid_labels": "error", "class_weight": None,
}  # fmt: skip
DEFAULTS = {
    "adagrad": VISITS | {"delta": 1.0},
    "asg": VISITS,
    "auto": {"tolerance": None, "seed": 0},
    "bfgs": LINE_SEARCH,
    "clustered": {
        "num_rounds": 2, "fine_iterations": None, "cluster_factor": 15, "square_error": None, "clustering": "chunks",
        "optimizer": "lbfgs", "coarse_window": 5, "coarse_tolerance": 1e-4, "aggregate": True, "seed": 0,
        "inner": LBFGS(),
    },
    "dual_cd": {"tolerance": 0.01, "seed": 0},
    "gauss_seidel": {},
    "grafting": {
        "select": 1000, "max_features": None, "restart": False, "candidates": None, "inner": OWLQN(memory=40),
    },
    "grafting_light": {"steps": 10},
    "hybrid": {"growth": 1.1, "first": 1, "seed": 0, "inner": LBFGS()},
    "iis": TOLERANCES,
    "label_sets": {
        "bound": 1e-3, "steps": 20, "select": 1000, "first": SGDL1(learning_rate=0.1, passes=5, batch_size=2),
        "inner": OWLQN(memory=10, tolerance=1e-4),
    },
    "lbfgs": LINE_SEARCH | {"memory": 6},
    "owlqn": LINE_SEARCH | {"memory": 20, "window": 6},
    "parameter_mixing": {"first": MixedPasses(passes=5), "second": OWLQN()},
    "pegasos": VISITS,
    "prox_gradient": {"select": 1000, "iterations": 20, "tolerance": 1e-6, "gradient_tolerance": 1e-6},
    "prox_newton": {"tolerance": 1e-6, "gradient_tolerance": 1e-6, "precision": 0.1, "max_sweeps": 1000},
    "sag": {
        "sampling": "nus_star", "saga": False, "pauses": True, "tolerance": 1e-4, "seed": 0, "svrg": False,
        "batch_size": 1,
    },
    "sg": VISITS,
    "sgd_l1": VISITS | {
        "penalty": "cumulative", "schedule": "exponential", "decay": 0.85, "tail": 0.0, "line_search": False,
        "batch_size": 1,
    },
    "two_stage": {"first": SGDL1(learning_rate=0.2, passes=5), "second": OWLQN(tolerance=1e-4)},
    AROW: ONLINE | {"variance": 1.0, "gamma": 1.0},
    AveragedPerceptron: ONLINE,
    PassiveAggressive: ONLINE | {"type": 1, "c": 1.0, "error_sensitive": True, "averaging": True},
    Exact: {"limit": 2**22},
    Gibbs: {"chains": 5000, "sweeps": 20, "seed": 0},
    LoopyBP: {
        "damping": 0.3, "tolerance": 1e-6, "max_iterations": 200, "schedule": "flooding", "candidates": "response",
    },
    TreeReweighted: {"damping": 0.1, "tolerance": 1e-6, "max_iterations": 1000},
    loglinear.ChainFeatures: FEATURES,
    loglinear.ChainCRF: TRAINED | CHOSEN | FEATURES | {"template": None, "label_bias": None, "tokenizer": None},
    loglinear.Checkpoint: {"minutes": 10.0, "resume": False, "note": None},
    loglinear.ElasticNet: {"l1": 0.0, "l2": 0.0, "unpenalised": 0, "factors": None, "signs": None},
    loglinear.GraphCRF: MODEL | {
        "random_state": 0, "inference": "auto", "inference_options": None, "symmetric": False, "constraints": None,
        "class_weight": None,
    },
    loglinear.MaxEnt: TRAINED | CHOSEN | {
        "multi_class": "softmax", "fit_intercept": True, "class_weight": None, "min_count": 1,
    },
    loglinear.TextClassifier: TRAINED | CHOSEN | {
        "multi_class": "softmax", "fit_intercept": True, "class_weight": None, "min_count": 1,
        "words": "words", "ngrams": "1", "tfidf": False,
    },
    loglinear.PairwiseMRF: {
        "l1": "ebic", "l2": 0.0, "solver": "grafting_light", "tolerance": None, "solver_options": None,
        "random_state": 0, "max_iterations": 1000, "objective": "pseudolikelihood", "inference": None,
        "inference_options": None, "grouped": False, "rule": "and", "path_options": None, "max_states": 32,
        "bins": None, "cuts": None, "missing": None, "reference": None, "n_jobs": None, "verbose": False,
    },
    loglinear.minimize: {"w0": None, "stop": loglinear.Stop(), "callbacks": (), "state": None},
    loglinear.Result: {
        "kept": None, "start": None, "prior": None, "chosen": None, "gap": None, "unbounded": "", "requested_gap": None,
    },
    loglinear.Stop: dict.fromkeys(("max_iterations", "max_passes", "max_seconds", "violation", "gap")),
    loglinear.TraceRecord: {"working_set": None, "gap": None, "dev": None},
    Report: {
        "runs": 0, "iterations": 0, "unconverged": 0, "residual": 0.0, "worst": 0.0, "settled": True, "lower": None,
        "upper": None,
    },
    loglinear.path: {
        "l1": 20, "ratio": 0.01, "solver": None, "w0": None, "stop": None, "score": None, "further": None,
        "callbacks": (),
    },
    loglinear.tune_learning_rate: {
        "learning_rates": (1.0, 0.5, 0.2, 0.1), "decays": (), "digits": (1.0, 2.0, 5.0), "sample": 500, "seed": 0,
    },
}  # fmt: skip


def called(key):
    return key if isinstance(key, str) else key.__name__


@pytest.mark.parametrize("key", DEFAULTS, ids=called)
def test_options_have_the_defaults_they_have_always_had(key):
    parameters = inspect.signature(SOLVERS.get(key, key)).parameters.values()
    found = {each.name: each.default for each in parameters if each.default is not each.empty}
    assert found == DEFAULTS[key]


def test_the_defaults_of_a_solver_or_an_estimator_without_a_row_are_stated_in_its_own_tests():
    public = [getattr(loglinear, name) for name in loglinear.__all__]
    estimators = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Estimator)}
    homes = {kind: Path("models", f"test_{kind.__module__.rpartition('.')[2]}.py") for kind in estimators}
    homes |= {name: Path("solvers", f"test_{name}.py") for name in SOLVERS}
    for key in homes.keys() - DEFAULTS.keys():
        assert "defaults" in (Path(__file__).parent / homes[key]).read_text(encoding="utf-8"), key
