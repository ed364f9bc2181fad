"""Options drawn jointly from an estimator's signature, and what must hold for every combination of them."""

from __future__ import annotations

import inspect
import re

from hypothesis import strategies as st

from loglinear import DataError, OptionError
from loglinear.solvers import FOR_RESEARCH, SOLVERS, option_names

__all__ = ["INTEGERS", "MINIMISATION", "drawn", "fitted"]

# Weights of samples whose repetition is the same data; 0 leaves a sample out.
INTEGERS = st.sampled_from([0, 1, 1, 2, 3])
# Values of the options of all trainings, in addition to the defaults; penalties are weak and strong.
MINIMISATION = {
    "l1": [1e-3, 0.1, 2.0],
    "l2": [0.0, 1e-3, 0.5, 20.0],
    "solver": [*SOLVERS, *FOR_RESEARCH],
    "tolerance": [0.0, 1e-8],
    "gap": [1e-3],
    "solver_options": [{"memory": 3}, {"passes": 3}],  # of the solvers that have such options; some are refused
    "random_state": [1],
    "max_iterations": [3, 100],
    "folds": [2, 3],
    "metric": ["accuracy", "log_likelihood"],
    "penalty_factor": [{"*": 2.0}, {"*": 0.0}],
    "signs": [{"*": "+"}],
    "l1_groups": ["families", "attributes"],
    "n_jobs": [2],
}
# Options that do not belong to a training, with the test that draws them.
APART = {"verbose", "keep", "patience", "label_bias", "template", "tokenizer"}


@st.composite
def drawn(draw, kind, values):
    """Options of an estimator that differ from their defaults: some, or about a third of all.

    Truth values and names come from the signature. Every other option needs its values, so that a new one is drawn.
    """
    options, fewer = {}, draw(st.sampled_from([3, 6, 12]))
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in APART:
            continue
        if name in values:
            choices = values[name]
        elif parameter.annotation == "bool":
            choices = [not parameter.default]
        else:
            choices = [each for each in re.findall(r"'([^']+)'", parameter.annotation) if each != parameter.default]
        assert choices, f"{kind.__name__}: say which values of {name} to draw"
        if draw(st.integers(1, fewer)) == fewer:
            options[name] = draw(st.sampled_from(choices))
    own = options.get("solver_options", {}).keys()
    if not own <= set(option_names(SOLVERS[options.get("solver", "lbfgs")])) and draw(st.booleans()):
        del options["solver_options"]
    return options


def fitted(fit, options, *arguments):
    """Return the model that a function fits; None after a typed error that names one of the options or arguments."""
    try:
        return fit()
    except (OptionError, DataError) as error:
        message = str(error)
    named = {*options, *arguments, *(value for value in options.values() if isinstance(value, str))}
    named.update(*(value for value in options.values() if isinstance(value, dict)))
    assert any(re.search(rf"\b{re.escape(name)}\b", message) for name in named), (message, options)
    return None
