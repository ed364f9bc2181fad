"""The softmax margin of a chain by enumeration of every labelling, with costs, constraints and partial labels."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from oracles.chain_enumeration import Chain, Token, log_sum_exp

# Pairs of labels that neither follow one another nor begin or end a sentence.
FORBIDDEN = [("A", "C"), (None, "B"), ("B", None)]

LABEL = st.sampled_from(["A", "B", "C"])


def distinct(n, seed):
    """Weights that differ from one another."""
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], n) * 2.0 * (1.0 + rng.permutation(n)) / n


@st.composite
def short_sentences(draw):
    """Constraints or None, and sentences with labels that follow them."""
    constraints = draw(st.sampled_from([None, FORBIDDEN]))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    X = [[draw(st.lists(st.sampled_from("abc"), max_size=3)) for _ in range(size)] for size in sizes]
    y = [[draw(LABEL) for _ in range(size)] for size in sizes]
    assume(all(follows(labels, constraints or ()) for labels in y))
    return constraints, X, y


def follows(labelling, forbidden):
    """Whether no pair of neighbouring labels is forbidden; None stands for the edge of a sentence."""
    path = (None, *labelling, None)
    return not any(pair in forbidden for pair in itertools.pairwise(path))


def softmax_margin(chain: Chain, X, y, costs, weights, forbidden=()) -> float:
    """The sum of weight * (log of the sum of exp(score + cost) - log of the sum over the labellings that are right).

    Args:
        chain: labels and weights of features.
        X: sentences, each token a list of attributes.
        y: a label, a set of labels or None for each token.
        costs: of a wrong label of each token.
        weights: of the sentences.
        forbidden: pairs of labels.
    """
    value = 0.0
    for tokens, gold, prices, weight in zip(X, y, costs, weights, strict=True):
        if any(isinstance(label, dict) for label in gold):
            value += weight * soft_margin(chain, tokens, gold, prices, forbidden)
            continue
        right = [
            set(chain.labels) if label is None else set(label) if isinstance(label, (set, frozenset)) else {label}
            for label in gold
        ]
        scores = chain.scores([Token([(name, 1.0) for name in token]) for token in tokens])
        labellings = chain.labellings(len(tokens))
        wrong = [
            [label not in possible for label, possible in zip(labels, right, strict=True)] for labels in labellings
        ]
        paid = np.array([sum(cost for cost, is_wrong in zip(prices, row, strict=True) if is_wrong) for row in wrong])
        allowed = np.array([follows(labels, forbidden) for labels in labellings])
        agrees = allowed & ~np.array([any(row) for row in wrong])
        raised = log_sum_exp(np.where(allowed, scores + paid, -math.inf))
        value += weight * (raised - log_sum_exp(np.where(agrees, scores, -math.inf)))
    return value


def soft_margin(chain: Chain, tokens, gold, costs, forbidden=()) -> float:
    """Log of the sum of exp(score + expected cost), less the expected score under the labels' distributions."""
    q = [label if isinstance(label, dict) else {label: 1.0} for label in gold]
    scores = chain.scores([Token([(name, 1.0) for name in token]) for token in tokens])
    labellings = chain.labellings(len(tokens))
    allowed = np.array([follows(labels, forbidden) for labels in labellings])
    shares = np.array([[of.get(label, 0.0) for label, of in zip(labels, q, strict=True)] for labels in labellings])
    raised = scores + (1.0 - shares) @ np.array(costs)
    weights = np.where(allowed, shares.prod(axis=1), 0.0)
    return log_sum_exp(np.where(allowed, raised, -math.inf)) - float(weights @ scores / weights.sum())
