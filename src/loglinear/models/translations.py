"""Parameters of CRFsuite, sklearn-crfsuite and scikit-learn's LogisticRegression in the words of this library.

The module imports the standard library alone: the command line uses it to answer a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

__all__ = ["hint"]


class _Translation(NamedTuple):
    """What parameters of another program are here.

    Attributes:
        given: the other program's parameters, by name.
        here: the parameters to give instead, by name; empty if there are none.
        remark: a note in parentheses; may be empty.
    """

    given: dict[str, object]
    here: dict[str, object]
    remark: str = ""


def hint(given: Mapping[str, Any], known: Collection[str], spelt: Callable[[str, Any], str] | None = None) -> str:
    """Return parameters of other programs in the words of this library, as the end of a message that names them.

    Args:
        given: unknown parameters, by name; names that no other program has are passed over.
        known: the parameters that there are; a translation into any other is passed over.
        spelt: how a parameter and its value are written; by default name=value.

    Returns:
        The end of the message; empty if there is nothing to translate.
    """
    # Only classifiers are compared with LogisticRegression.
    found = [*_of_crfsuite(given), *(_of_scikit_learn(given) if "multi_class" in known else ())]
    write = spelt or (lambda name, value: f"{name}={value!r}")

    def words(parameters: Mapping[str, Any]) -> str:
        return ", ".join(write(name, value) for name, value in parameters.items())

    parts = [
        (f"use {words(each.here)} for {words(each.given)}" if each.here else f"leave out {words(each.given)}")
        + (f" ({each.remark})" if each.remark else "")
        for each in found
        if {*each.here} <= {*known}
    ]
    return f"; {'; '.join(parts)}" if parts else ""


def _of_crfsuite(given: Mapping[str, Any]) -> list[_Translation]:
    """Translate parameters of CRFsuite, python-crfsuite, sklearn-crfsuite: they minimise nll + c1 |w|_1 + c2 |w|^2."""
    found = []
    for name, value in given.items():
        here: dict[str, object] = {}
        remark = _LEFT_OUT.get(name, "")
        if name == "c2":
            here = {"l2": _rounded(2 * value) if _is_number(value) else "2 * c2"}
        elif name == "delta":
            period = given.get("period", 10)
            numbers = _is_number(value) and _is_number(period) and period > 0
            here = {"tolerance": _rounded(value / period) if numbers else "delta / period"}
        elif name == "algorithm" and value == "l2sgd":
            here = {"solver": "sag"}
        elif name == "algorithm":
            remark = "the solver depends on l1 and l2" if value == "lbfgs" else "not a method of loglinear"
        elif name == "num_memories":
            here = {"solver_options": {"memory": value}}
        elif name in _RENAMED or name.startswith("all_possible_"):
            here = {_RENAMED.get(name, name.replace("possible_", "")): value}
        if here or remark:
            found.append(_Translation({name: value}, here, remark))
    if given.get("c1") and "c2" not in given:
        found.append(_Translation({"c2": 1}, {"l2": 2}, "CRFsuite's default"))
    return found


def _of_scikit_learn(given: Mapping[str, Any]) -> list[_Translation]:
    """Translate parameters of LogisticRegression: it minimises C * nll + (1 - r)/2 |w|^2 + r |w|_1."""
    found = []
    of_penalty = {name: given[name] for name in ("C", "penalty", "l1_ratio") if name in given}
    if of_penalty:
        C, penalty, ratio = given.get("C", 1.0), given.get("penalty", "l2"), given.get("l1_ratio")
        share = 1.0 if penalty == "l1" else 0.0 if ratio is None else ratio
        here: dict[str, object] = {"l2": 0.0}
        if penalty is not None:
            numbers = _is_number(C) and C > 0 and _is_number(share)
            values = {"l1": share / C, "l2": (1 - share) / C} if numbers else {"l2": "1 / C"}
            here = {name: _rounded(value) for name, value in values.items() if value} or here
        found.append(_Translation(of_penalty, here))
    if "max_iter" in given:
        found.append(_Translation({"max_iter": given["max_iter"]}, {"max_iterations": given["max_iter"]}))
    if "tol" in given:
        remark = "the relative decrease of the objective"
        found.append(_Translation({"tol": given["tol"]}, {"tolerance": given["tol"]}, remark))
    if given.get("dual"):
        here = {"solver": "dual_cd", "fit_intercept": False}
        found.append(_Translation({"dual": given["dual"]}, here))
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rounded(value: object) -> object:
    """Return a number without the last digits, where rounding shows; other values as they are."""
    return float(f"{value:.12g}") if _is_number(value) else value


# Parameters of CRFsuite that have another name and the same value here.
_RENAMED = {
    "c1": "l1",
    "min_freq": "min_count",
}

# Parameters of CRFsuite that have no counterpart, and others about which there is more to know.
_LEFT_OUT = {
    "min_freq": "it counts the tokens of an attribute, whatever their labels",
    "period": "tolerance is the decrease per step",
    "epsilon": "training does not stop by the gradient",
    "model_filename": "call save(path) after fit",
    "keep_tempfiles": "loglinear keeps no temporary files",
    **dict.fromkeys(("linesearch", "max_linesearch"), "each solver has its own line search"),
    **dict.fromkeys(("pa_type", "c", "error_sensitive", "averaging", "variance", "gamma"), "not a method of loglinear"),
}
