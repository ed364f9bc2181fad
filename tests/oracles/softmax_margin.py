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
