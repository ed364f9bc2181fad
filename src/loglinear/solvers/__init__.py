"""Solvers by name. A solver knows how to start and how to take a step; ``loglinear.minimize`` does the rest."""

from __future__ import annotations

from typing import Any

from ..errors import OptionError
from .adagrad import AdaGrad
from .bfgs import BFGS
from .clustered import Clustered
from .dual_cd import DualCD
from .grafting import GaussSeidel, Grafting, GraftingLight
from .hybrid import Hybrid
from .iis import IIS
from .lbfgs import LBFGS
from .owlqn import OWLQN
from .parts.needs import (
    SOLVERS,
    EndedByPasses,
    Measuring,
    Needs,
    Solver,
    Tolerant,
    default_solver,
    is_solver,
    option_names,
    solver_name,
    summary,
)
from .parts.tuning import tune_learning_rate
from .prox_gradient import ProxGradient
from .prox_newton import ProxNewton
from .sag import SAG
from .sg import ASG, SG, Pegasos
from .sgd_l1 import SGDL1
from .two_stage import TwoStage

__all__ = [
    "ASG",
    "BFGS",
    "IIS",
    "LBFGS",
    "OWLQN",
    "SAG",
    "SG",
    "SGDL1",
    "SOLVERS",
    "AdaGrad",
    "Clustered",
    "DualCD",
    "EndedByPasses",
    "GaussSeidel",
    "Grafting",
    "GraftingLight",
    "Hybrid",
    "Measuring",
    "Needs",
    "Pegasos",
    "ProxGradient",
    "ProxNewton",
    "Solver",
    "Tolerant",
    "TwoStage",
    "default_solver",
    "is_solver",
    "make_solver",
    "option_names",
    "solver_name",
    "summary",
    "tune_learning_rate",
]

SOLVERS |= {
    "adagrad": AdaGrad,
    "asg": ASG,
    "bfgs": BFGS,
    "clustered": Clustered,
    "dual_cd": DualCD,
    "gauss_seidel": GaussSeidel,
    "grafting": Grafting,
    "grafting_light": GraftingLight,
    "hybrid": Hybrid,
    "iis": IIS,
    "lbfgs": LBFGS,
    "owlqn": OWLQN,
    "pegasos": Pegasos,
    "prox_gradient": ProxGradient,
    "prox_newton": ProxNewton,
    "sag": SAG,
    "sg": SG,
    "sgd_l1": SGDL1,
    "two_stage": TwoStage,
}


def make_solver(name: str, **options: Any) -> Solver[Any]:
    """Return the solver of this name, with the options of its class and of its inner solvers.

    Raises:
        OptionError: the name is unknown, or the solver has no such option, or an option is out of its range.
    """
    if name not in SOLVERS:
        message = f"there is no solver {name!r}; the solvers are {', '.join(sorted(SOLVERS))}"
        raise OptionError(message)
    try:
        solver: Solver[Any] = SOLVERS[name](**options)
    except TypeError as error:
        message = f"solver {name}: {error}; see help(loglinear.solvers.{SOLVERS[name].__name__}) for its options"
        raise OptionError(message) from error
    return solver
