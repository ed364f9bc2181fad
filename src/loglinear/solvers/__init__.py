"""Solvers by name. A solver knows how to start and how to take a step; ``loglinear.minimize`` does the rest."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from ..errors import OptionError
from ..penalty import ElasticNet
from ..problem import Problem
from ..result import State
from ..vectors import Vector
from .adagrad import AdaGrad
from .bfgs import BFGS
from .clustered import Clustered
from .dual_cd import DualCD
from .grafting import GaussSeidel, Grafting, GraftingLight
from .hybrid import Hybrid
from .iis import IIS
from .lbfgs import LBFGS
from .owlqn import OWLQN
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
    "GaussSeidel",
    "Grafting",
    "GraftingLight",
    "Hybrid",
    "Pegasos",
    "ProxGradient",
    "ProxNewton",
    "Solver",
    "TwoStage",
    "default_solver",
    "make_solver",
    "tune_learning_rate",
]

S = TypeVar("S", bound=State)


class Solver(Protocol[S]):
    """A method of minimisation.

    A solver never loops to convergence, prints, counts time or touches files.
    """

    def init(self, problem: Problem, w0: Vector) -> S:
        """Return the state at w0, which is copied."""

    def step(self, problem: Problem, state: S) -> S:
        """Return the state after one iteration of a batch method, or one pass of a stochastic one.

        The arrays of ``state`` may be recycled, but only once the step is complete: an exception, Ctrl-C included,
        leaves ``state`` as it was, or further on but whole.

        A solver that can do without objective, nll and violation has a method measure(problem, state) besides, which
        returns the state with them; the loop calls it for the trace, and does not count its time.
        """


SOLVERS: dict[str, type[Any]] = {
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
    """Return the solver of this name, with the options of its class.

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


def default_solver(penalty: ElasticNet) -> str:
    """Return the name of the solver to use when none is asked for: owlqn with L1, lbfgs without."""
    return "owlqn" if penalty.l1 > 0.0 else "lbfgs"
