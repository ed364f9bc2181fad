"""The parameters of CRFsuite's training algorithms: names, defaults, types, and what each does here."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ALGORITHMS", "ALIASES", "Parameter"]


class Parameter(NamedTuple):
    """A parameter of a training algorithm.

    Attributes:
        name: as CRFsuite spells it.
        default: the value that it has unless it is set; the type of every value.
        help: what it does.
    """

    name: str
    default: bool | int | float | str
    help: str

    def read(self, value: float | str) -> bool | int | float | str:
        """Return a value, which may be a text, as the parameter's type.

        Raises:
            ValueError: it is no number.
        """
        if isinstance(self.default, str):
            return str(value)
        try:
            number = float(value)
            if isinstance(self.default, bool):
                return bool(int(number))
            return int(number) if isinstance(self.default, int) else number
        except (TypeError, ValueError, OverflowError):
            message = f"{self.name}={value!r} is not a number; CRFsuite would take it for 0"
            raise ValueError(message) from None


_FEATURES = (
    Parameter(
        "feature.minfreq",
        0.0,
        "Features whose values add up to less over the training data are left out: an attribute with a label, or two "
        "labels in a row.",
    ),
    Parameter("feature.possible_states", False, "Give every attribute a feature with every label, seen or not."),
    Parameter("feature.possible_transitions", False, "Give every pair of labels a feature, seen or not."),
)
_C2 = Parameter("c2", 1.0, "Strength of the L2 penalty c2 * |w|^2 beside the negative log-likelihood.")
_PERIOD = Parameter("period", 10, "Iterations over which the decrease of the loss is measured for delta.")
_DELTA = "Stop when the loss has decreased by less than this share over the last `period` iterations."
_LBFGS = (
    Parameter("c1", 0.0, "Strength of the L1 penalty c1 * |w|_1, which makes weights zero; above 0 OWL-QN trains."),
    _C2,
    Parameter("max_iterations", 2147483647, "Iterations at most; 0 for no limit."),
    Parameter("num_memories", 6, "Pairs of steps and gradients that L-BFGS remembers."),
    Parameter("epsilon", 1e-5, "Stop when the norm of the gradient is below this times the norm of the weights."),
    _PERIOD,
    Parameter("delta", 1e-5, _DELTA),
    Parameter(
        "linesearch",
        "MoreThuente",
        "MoreThuente, Backtracking or StrongBacktracking. Accepted and without effect here: with c1 the search "
        "backtracks, and without it looks for the strong Wolfe conditions.",
    ),
    Parameter("max_linesearch", 20, "Evaluations of the loss in one line search at most."),
)
_L2SGD = (
    _C2,
    Parameter("max_iterations", 1000, "Passes over the data at most."),
    _PERIOD,
    Parameter("delta", 1e-6, _DELTA),
    *(
        Parameter(f"calibration.{name}", default, f"{what} Without effect here: the method needs no learning rate.")
        for name, default, what in (
            ("eta", 0.1, "First learning rate of CRFsuite's calibration."),
            ("rate", 2.0, "Factor between its learning rates."),
            ("samples", 1000.0, "Sequences that it tries."),
            ("candidates", 10, "Learning rates that it looks for."),
            ("max_trials", 20, "Learning rates that it tries at most."),
        )
    ),
)


def _online(epsilon: str) -> tuple[Parameter, Parameter]:
    """Return the parameters that say when an online learner stops."""
    return Parameter("max_iterations", 100, "Passes over the data at most."), Parameter("epsilon", 0.0, epsilon)


_MEAN_LOSS = "Stop when the mean loss of a sequence is below this."
ALGORITHMS: dict[str, tuple[Parameter, ...]] = {
    "lbfgs": (*_FEATURES, *_LBFGS),
    "l2sgd": (*_FEATURES, *_L2SGD),
    "averaged-perceptron": (*_FEATURES, *_online("Stop when the mean share of wrong labels is below this.")),
    "passive-aggressive": (
        *_FEATURES,
        Parameter("type", 1, "Length of an update: 0 without slack, 1 at most c (PA-I), 2 softened by c (PA-II)."),
        Parameter("c", 1.0, "Aggressiveness of types 1 and 2."),
        Parameter("error_sensitive", True, "Whether a labelling costs more the more of its labels are wrong."),
        Parameter("averaging", True, "Whether the model holds the average of all weights on the way."),
        *_online(_MEAN_LOSS),
    ),
    "arow": (
        *_FEATURES,
        Parameter("variance", 1.0, "Variance of every weight at the start."),
        Parameter("gamma", 1.0, "Trade-off: the larger, the smaller the updates."),
        *_online(_MEAN_LOSS),
    ),
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
