"""Networks as files of the UAI inference competitions: text with a preamble and tables of factors.

Source: the format of the UAI 2008 and 2016 evaluations. A table's last variable changes fastest. Evidence is a line:
the number of observed variables, then the number and the state of each.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..vectors import Vector
from .graph import Graph, Scores

__all__ = ["evidence_text", "uai_text"]

# Largest score whose exponential is written as it is: exp(709.78) is the largest number.
_LARGEST = 700.0


def uai_text(graph: Graph, scores: Scores) -> str:
    """Return a network as text: a factor for each variable, then one for each edge, exp of its scores.

    A factor with a score above 700 is divided by its largest value, which changes log Z but no probability.
    """
    states = graph.numbering.states.tolist()
    scopes = [[i] for i in range(len(states))] + graph.edges.tolist()
    tables = [*np.split(scores[0], graph.node_at[1:-1]), *(table.ravel() for _, _, table in graph.tables(scores[1]))]
    lines = ["MARKOV", str(len(states)), " ".join(map(str, states)), str(len(scopes))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope in scopes]
    for table in tables:
        lines += ["", str(table.size), " ".join(map(repr, _factor(table).tolist()))]
    return "\n".join(lines) + "\n"


def _factor(scores: Vector) -> Vector:
    most = float(scores.max())
    return np.asarray(np.exp(scores - most if most > _LARGEST else scores))


def evidence_text(observed: Mapping[int, int]) -> str:
    """Return states of variables as text, both by their numbers."""
    numbers = [number for pair in sorted(observed.items()) for number in pair]
    return " ".join(map(str, [len(observed), *numbers])) + "\n"
