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
            message = f"{self.name}={value!r} is not a number (CRFsuite would read 0)"
            raise ValueError(message) from None


_FEATURES = (
    Parameter(
        "feature.minfreq",
        0.0,
        "Drop features (an attribute with a label, or two consecutive labels) whose values sum to less than this over "
        "the training data.",
    ),
    Parameter(
        "feature.possible_states",
        False,
        "Create a feature for every attribute and label, whether in the training data or not.",
    ),
    Parameter(
        "feature.possible_transitions",
        False,
        "Create a feature for every pair of labels, whether in the training data or not.",
    ),
)
_C2 = Parameter("c2", 1.0, "Strength of the L2 penalty c2 * |w|^2.")
_PERIOD = Parameter("period", 10, "Iterations over which the decrease of the loss is measured for delta.")
_DELTA = "Stop when the loss has decreased by less than this share over the last `period` iterations."
_LBFGS = (
    Parameter("c1", 0.0, "Strength of the L1 penalty c1 * |w|_1; above 0, training uses OWL-QN."),
    _C2,
    Parameter("max_iterations", 2147483647, "Maximum number of iterations; 0 for no limit."),
    Parameter("num_memories", 6, "Number of pairs of steps and gradients that L-BFGS stores."),
    Parameter("epsilon", 1e-5, "Stop when the norm of the gradient is below this times the norm of the weights."),
    _PERIOD,
    Parameter("delta", 1e-5, _DELTA),
    Parameter(
        "linesearch",
        "MoreThuente",
        "MoreThuente, Backtracking or StrongBacktracking. Accepted but ignored: the search backtracks with c1, and "
        "satisfies the strong Wolfe conditions without c1.",
    ),
    Parameter("max_linesearch", 20, "Maximum number of evaluations of the loss per line search."),
)
_L2SGD = (
    _C2,
    Parameter("max_iterations", 1000, "Maximum number of passes over the data."),
    _PERIOD,
    Parameter("delta", 1e-6, _DELTA),
    *(
        Parameter(f"calibration.{name}", default, f"{what} Accepted but ignored: the method needs no learning rate.")
        for name, default, what in (
            ("eta", 0.1, "First learning rate of CRFsuite's calibration."),
            ("rate", 2.0, "Factor between the learning rates."),
            ("samples", 1000.0, "Number of sequences for the calibration."),
            ("candidates", 10, "Number of learning rates to find."),
            ("max_trials", 20, "Maximum number of learning rates to try."),
        )
    ),
)


def _online(epsilon: str) -> tuple[Parameter, Parameter]:
    """Return the parameters that say when an online learner stops."""
    return Parameter("max_iterations", 100, "Maximum number of passes over the data."), Parameter(
        "epsilon", 0.0, epsilon
    )


_MEAN_LOSS = "Stop when the mean loss of a sequence is below this."
ALGORITHMS: dict[str, tuple[Parameter, ...]] = {
    "lbfgs": (*_FEATURES, *_LBFGS),
    "l2sgd": (*_FEATURES, *_L2SGD),
    "averaged-perceptron": (*_FEATURES, *_online("Stop when the mean share of wrong labels is below this.")),
    "passive-aggressive": (
        *_FEATURES,
        Parameter(
            "type", 1, "Type of update: 0 without slack, 1 of length at most c (PA-I), 2 with squared slack (PA-II)."
        ),
        Parameter("c", 1.0, "Aggressiveness of types 1 and 2."),
        Parameter(
            "error_sensitive", True, "Whether the cost of a label sequence grows with the number of wrong labels."
        ),
        Parameter("averaging", True, "Whether to average the weights over all updates."),
        *_online(_MEAN_LOSS),
    ),
    "arow": (
        *_FEATURES,
        Parameter("variance", 1.0, "Initial variance of every weight."),
        Parameter("gamma", 1.0, "Trade-off; larger values make smaller updates."),
        *_online(_MEAN_LOSS),
    ),
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
