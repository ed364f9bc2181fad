"""The softmax margin of a chain by enumeration of every labelling, with costs, constraints and partial labels."""

from __future__ import annotations

import itertools
import math

import numpy as np

from oracles.chain_enumeration import Chain, Token, log_sum_exp


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
