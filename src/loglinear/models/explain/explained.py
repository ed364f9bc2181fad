"""Explanations of classes of samples and of states of a network's variables. See `explanation`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ...networks.graph import Graph
from ...networks.numbering import Codes
from ...vectors import Vector
from ..files.maxent import INTERCEPT
from .explanation import Explanation
from .token_explanation import Contribution, TokenExplanation

__all__ = ["explain_samples", "explain_states"]

Places = npt.NDArray[np.intp]
# Name of a variable's own weight among the contributions of its neighbours.
OWN = "(its own weight)"


def explain_samples(
    matrix: Vector | scipy.sparse.csr_array,
    scores: Vector,
    coef: Vector | scipy.sparse.csr_array,
    intercept: Vector,
    probabilities: Vector,
    *,
    classes: Sequence[str],
    texts: Sequence[str],
    name: Callable[[int], str],
    items: str,
) -> Explanation:
    """Explain the class of each sample: what each feature adds to the lead of its score over the second best class.

    Args:
        matrix: shape (n_samples, n_columns), dense or sparse.
        scores: those that predictions follow, shape (n_samples, 1) with two classes, else (n_samples, n_classes).
        coef: weights, shape (n_columns,) times 1 with two classes, else (n_classes, n_columns); dense or sparse.
        intercept: shape (1,) or (n_classes,).
        probabilities: shape (n_samples, n_classes).
        classes: what the classes are called.
        texts: what the samples are called.
        name: what a column is called.
        items: what the samples are: samples or texts.
    """
    rows = scipy.sparse.csr_array(matrix)
    weights = coef if isinstance(coef, np.ndarray) else coef.toarray()
    if len(weights) == 1:  # The first of two classes has score 0.
        weights = np.vstack([np.zeros_like(weights), weights])
        intercept, scores = np.append(0.0, intercept), np.hstack([np.zeros_like(scores), scores])
    best, other = _first_two(scores)
    entries = []
    for at, (first, second) in enumerate(zip(best.tolist(), other.tolist(), strict=True)):
        inside = slice(rows.indptr[at], rows.indptr[at + 1])
        columns = rows.indices[inside]
        parts = rows.data[inside] * (weights[first, columns] - weights[second, columns])
        differences = [(name(column), part) for column, part in zip(columns.tolist(), parts.tolist(), strict=True)]
        differences.append((INTERCEPT, float(intercept[first] - intercept[second])))
        sure = probabilities[at, [first, second]].tolist()
        entries.append(_entry(at, texts[at], [classes[first], classes[second]], sure, differences))
    return Explanation(entries, items)


def explain_states(
    graph: Graph,
    scores: tuple[Vector, Vector],
    codes: Codes,
    *,
    names: Sequence[str],
    states: Sequence[Sequence[str]],
    missing: npt.NDArray[np.bool_],
) -> Iterator[Explanation]:
    """Explain the most probable state of each variable given the states of all others, sample by sample.

    Args:
        graph: of the network.
        scores: of the states of its variables and of its edges' tables.
        codes: states of all variables, shape (n_samples, n_variables).
        names: of the variables.
        states: what the states of each variable are called.
        missing: whether a value was not observed, shape (n_samples, n_variables).
    """
    node_scores, edge_scores = scores
    conditionals = graph.conditionals(scores, codes)
    # Variable -> its neighbours, each with the table of the edge; rows are states of the variable.
    tables: dict[int, list[tuple[int, Vector]]] = defaultdict(list)
    for i, j, table in graph.tables(edge_scores):
        tables[i].append((j, table))
        tables[j].append((i, table.T))
    for at, (row, unknown) in enumerate(zip(codes.tolist(), missing.tolist(), strict=True)):
        entries = []
        for variable, name in enumerate(names):
            own_scores = node_scores[graph.node_at[variable] : graph.node_at[variable + 1]]
            parts = [(OWN, own_scores)]
            parts += [(f"{names[j]}={states[j][row[j]]}", table[:, row[j]]) for j, table in tables[variable]]
            log_p = conditionals[variable][at]
            best, other = (int(place[0]) for place in _first_two(log_p[None]))
            sure = np.exp(log_p[[best, other]]).tolist()
            differences = [(feature, float(part[best] - part[other])) for feature, part in parts]
            text = name if unknown[variable] else f"{name}={states[variable][row[variable]]}"
            called = [states[variable][state] for state in (best, other)]
            entries.append(_entry(variable, text, called, sure, differences))
        yield Explanation(entries, "variables")


def _first_two(scores: Vector) -> tuple[Places, Places]:
    """Return the places of the largest and of the second largest score of each row."""
    best = scores.argmax(axis=1)
    others = scores.copy()
    others[np.arange(len(best)), best] = -np.inf
    return best, others.argmax(axis=1)


def _entry(
    number: int, text: str, labels: list[str], probabilities: list[float], parts: list[tuple[str, float]]
) -> TokenExplanation:
    """Return why the first of two labels, from what each feature adds to the difference of their scores."""
    contributions = [Contribution(number, feature, weight, feature) for feature, weight in parts if weight != 0.0]
    contributions.sort(key=lambda contribution: -abs(contribution.weight))
    difference = float(sum(contribution.weight for contribution in contributions))
    (label, other), (p, p_other) = labels, probabilities
    return TokenExplanation(number, text, label, p, other, p_other, [other], difference, contributions)
