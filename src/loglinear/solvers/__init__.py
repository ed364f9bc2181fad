"""Solvers by name. A solver knows how to start and how to take a step; ``loglinear.minimize`` does the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..errors import OptionError
from ..options import similar
from .adagrad import AdaGrad, AdaGradPasses
from .auto import Auto
from .bfgs import BFGS
from .clustered import Clustered
from .common.listing import SolverOption, option_names, solver_options, summary
from .common.needs import Needs, suits
from .common.solver import (
    FOR_RESEARCH,
    SOLVERS,
    Choice,
    Choosing,
    EndedByPasses,
    Measuring,
    Solver,
    Tolerant,
    default_solver,
    is_solver,
    solver_name,
)
from .common.tuning import tune_learning_rate
from .dual_cd import DualCD
from .grafting import GaussSeidel, Grafting, GraftingLight
from .hybrid import Hybrid
from .iis import IIS
from .label_sets import LabelSets
from .lbfgs import LBFGS
from .owlqn import OWLQN
from .parameter_mixing import ParameterMixing
from .prox_gradient import ProxGradient
from .prox_newton import ProxNewton
from .sag import SAG, SAGPasses
from .sg import ASG, SG, Pegasos, SGPasses
from .sgd_l1 import SGDL1, SGDL1Batches
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
    "Auto",
    "Choice",
    "Choosing",
    "Clustered",
    "DualCD",
    "EndedByPasses",
    "GaussSeidel",
    "Grafting",
    "GraftingLight",
    "Hybrid",
    "LabelSets",
    "Measuring",
    "Needs",
    "ParameterMixing",
    "Pegasos",
    "ProxGradient",
    "ProxNewton",
    "Solver",
    "SolverOption",
    "Tolerant",
    "TwoStage",
    "default_solver",
    "is_solver",
    "make_solver",
    "option_names",
    "solver_class",
    "solver_name",
    "solver_options",
    "suits",
    "summary",
    "tune_learning_rate",
]

# The solvers to choose from; lists show them first.
SOLVERS |= {
    "auto": Auto,
    "lbfgs": LBFGS,
    "owlqn": OWLQN,
    "label_sets": LabelSets,
    "two_stage": TwoStage,
    "sgd_l1": SGDL1,
    "sag": SAG,
    "prox_newton": ProxNewton,
    "dual_cd": DualCD,
    "grafting_light": GraftingLight,
    "prox_gradient": ProxGradient,
}
FOR_RESEARCH |= {
    "adagrad": AdaGrad,
    "asg": ASG,
    "bfgs": BFGS,
    "clustered": Clustered,
    "gauss_seidel": GaussSeidel,
    "grafting": Grafting,
    "hybrid": Hybrid,
    "iis": IIS,
    "parameter_mixing": ParameterMixing,
    "pegasos": Pegasos,
    "sg": SG,
}
SOLVERS |= FOR_RESEARCH
# The counterparts of scikit-learn's solvers.
_OF_OTHERS = {
    "liblinear": ("auto", "prox_newton", "dual_cd"),
    "newton-cg": ("auto", "prox_newton", "lbfgs"),
    "newton-cholesky": ("auto", "prox_newton"),
    "saga": ("auto", "sag", "owlqn"),
}

SolverName = Literal[
    "auto",
    "lbfgs",
    "owlqn",
    "label_sets",
    "two_stage",
    "sgd_l1",
    "sag",
    "prox_newton",
    "dual_cd",
    "grafting_light",
    "prox_gradient",
    "adagrad",
    "asg",
    "bfgs",
    "clustered",
    "gauss_seidel",
    "grafting",
    "hybrid",
    "iis",
    "parameter_mixing",
    "pegasos",
    "sg",
]
"""The names of the solvers, for type checkers."""

if TYPE_CHECKING:

    class NativePasses(AdaGradPasses, SAGPasses, SGDL1Batches, SGPasses, Protocol):
        """The passes of all solvers that the native module makes; its `SamplePasses` has them."""


def solver_class(name: str) -> type[Any]:
    """Return the class of the solver of this name.

    Raises:
        OptionError: there is no such solver; the message has names of similar solvers.

    Example:
        >>> from loglinear.solvers import solver_class
        >>> solver_class("sag").__name__
        'SAG'
        >>> solver_class("sagg")
        Traceback (most recent call last):
            ...
        loglinear.errors.OptionError: unknown solver 'sagg' (did you mean sag?); choose from ...
    """
    if name not in SOLVERS:
        names = _OF_OTHERS.get(name) or [solver for solver in SOLVERS if solver not in FOR_RESEARCH]
        suggestion = "" if name in _OF_OTHERS else similar(name, SOLVERS)
        choice = f"choose from {', '.join(names)} (`loglinear solvers` lists all)"
        message = f"unknown solver {name!r}{suggestion}; {choice}"
        raise OptionError(message)
    return SOLVERS[name]


def make_solver(name: str, **options: object) -> Solver[Any]:
    """Return the solver of this name, with the options of its class and of its inner solvers.

    Raises:
        OptionError: the name is unknown, the solver does not have such an option, or an option is out of range.

    Example:
        >>> from loglinear.solvers import make_solver
        >>> make_solver("owlqn", memory=5)
        OWLQN(memory=5, tolerance=1e-05, gradient_tolerance=1e-06, max_line_search=20, window=6)
        >>> make_solver("grafting_light", steps=5, memory=10).inner.memory
        10
    """
    kind = solver_class(name)
    try:
        solver: Solver[Any] = kind(**options)
    except TypeError as error:
        names = option_names(kind)
        unknown = next((option for option in options if option not in names and repr(option) in str(error)), None)
        hint = f"`loglinear solvers {name}` lists them"
        if unknown is None:
            message = f"solver {name}: invalid options ({error}); {hint}"
        else:
            message = f"solver {name} has no option {unknown!r}{similar(unknown, names)}; {hint}"
        raise OptionError(message) from error
    return solver
