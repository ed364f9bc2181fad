"""Every span that is probable enough, exact: not only the spans of the best label sequence.

Given the sentence, the labels of a chain of first order are a Markov chain whose transition probabilities follow from
its marginals: p(y[t+1] | y[t]) = p(y[t], y[t+1]) / p(y[t]). The probability that a chunk of a type covers tokens i to
j - 1 is a sum over its labels of

    p(y[i] begins it) * product of p(y[t+1] continues it | y[t]) for t = i .. j - 2 * p(y[j] does not | y[j-1]).

The product for a chunk is a factor of the product for every longer chunk that begins at the same token. Once it is
below the threshold, so are they: no probable chunk is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..models.files.tagging import Span
from ..schemes import ChunkRule

__all__ = ["probable_spans"]

Numbers = npt.NDArray[np.float64]


def probable_spans(marginals: Numbers, pairs: Numbers, rule: ChunkRule, least: float) -> list[Span]:
    """Return the spans of a sentence whose probability reaches a threshold, the shortest first.

    Cost: O(T L^2) for each length that a chunk which is probable enough may have, for T tokens and L labels.

    Args:
        marginals: p(y[t]), shape (tokens, labels).
        pairs: p(y[t], y[t+1]), shape (tokens - 1, labels, labels).
        rule: how labels form chunks.
        least: the least probability, above 0.
    """
    n_tokens, n_labels = marginals.shape
    begins = np.frombuffer(rule.begins, np.uint8).reshape(n_labels + 1, n_labels).astype(bool)
    types = [*dict.fromkeys(kind for kind in rule.types if kind is not None)]
    member = np.array([[kind == of for kind in rule.types] for of in types], dtype=float).reshape(-1, n_labels)
    continues = (member.T @ member > 0) & ~begins[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.where(marginals[:-1, :, None] > 0.0, pairs / marginals[:-1, :, None], 0.0) * continues
    # What of a label's probability ends a chunk at its token; all of it at the last token.
    ends = np.vstack([1.0 - steps.sum(axis=2), np.ones(n_labels)]).clip(0.0, 1.0)
    # p(y[t] = label, and a chunk begins at t), at the start of a sentence and after each label.
    reached = np.zeros((n_tokens, n_labels))
    reached[:1] = marginals[:1] * begins[0]
    reached[1:] = (pairs * begins[1:]).sum(axis=1)
    spans: list[Span] = []
    starts: npt.NDArray[np.intp] = np.arange(n_tokens)
    for length in range(1, n_tokens + 1):
        alive = (reached @ member.T >= least).any(axis=1)
        starts, reached = starts[alive], reached[alive]
        last = starts + length - 1
        probable = (reached * ends[last]) @ member.T
        spans += [
            Span(types[kind], int(starts[at]), int(last[at]) + 1, min(float(probable[at, kind]), 1.0))
            for at, kind in zip(*np.nonzero(probable >= least), strict=True)
        ]
        inside = last < n_tokens - 1
        starts, reached = starts[inside], np.einsum("na,nab->nb", reached[inside], steps[last[inside]])
        if not len(starts):
            break
    return spans


def as_chunks(spans: Sequence[tuple[str, int, int]]) -> tuple[list[tuple[str, int, int]], int]:
    """Return spans without those that overlap a longer one, and how many these are; the first one of two wins.

    Args:
        spans: type, first token, one past the last token.
    """
    taken: set[int] = set()
    longest: list[tuple[str, int, int]] = []
    for span in sorted(set(spans), key=lambda span: (span[1] - span[2], span[1], span[0])):
        tokens = range(span[1], span[2])
        if taken.isdisjoint(tokens):
            taken.update(tokens)
            longest.append(span)
    return sorted(longest, key=lambda span: span[1]), len(set(spans)) - len(longest)
