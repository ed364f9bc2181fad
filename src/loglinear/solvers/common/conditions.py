"""Conditions that several solvers have for a problem.

A condition returns the fault of a problem, as the end of a sentence that begins with the solver's name, or an empty
string. A condition of one solver is in that solver's module.
"""

from __future__ import annotations

from typing import cast

from ...penalty import varies
from ...problem import PerSample, Problem

__all__ = ["convex", "intercept_alone_is_spared", "no_l1", "no_signs", "with_l1", "with_l2"]


def no_l1(problem: Problem) -> str:
    """The penalty has no L1 part."""
    return f"does not support an L1 penalty (l1={problem.penalty.l1:g})" if problem.penalty.l1 else ""


def no_signs(problem: Problem) -> str:
    """No weight has a sign."""
    return "does not support signs" if varies(problem.penalty) and problem.penalty.signs is not None else ""


def with_l1(problem: Problem) -> str:
    """The penalty has an L1 part."""
    return "" if problem.penalty.l1 else "needs an L1 penalty, but l1=0; give an l1 > 0"


def with_l2(problem: Problem) -> str:
    """The penalty has an L2 part."""
    return "" if problem.penalty.l2 else "needs an L2 penalty, but l2=0; give an l2 > 0"


def convex(problem: Problem) -> str:
    """The objective does not state that it is not convex."""
    if problem.is_convex is not False:
        return ""
    return "needs a convex objective, but partial labels or approximate inference make this one non-convex"


def intercept_alone_is_spared(problem: Problem) -> str:
    """The weights without penalty are the weights of the objective's intercept."""
    spared, intercept = problem.penalty.unpenalised, cast(PerSample, problem.objective).n_unpenalised
    if spared == intercept:
        return ""
    return f"supports unpenalised={intercept} only (the intercept), not {spared}"
