"""Mistakes by entity, found token by token: which token begins an entity, and of all pairs again and again the best."""

from __future__ import annotations

from collections import Counter
from itertools import product


def spans_of(labels):
    """The entities of a sentence as a type and a set of tokens: every token that begins one takes those after it."""
    found = []
    for at, label in enumerate(labels):
        if label is None or label == "O":
            continue
        tag, _, type_ = label.partition("-")
        before = labels[at - 1] if at else None
        is_new = before in (None, "O") or (tag[0] in "BSU" and tag not in ("B2", "B3"))
        is_new = is_new or before.partition("-")[0] in "ELSU" or before.partition("-")[2] != type_
        if is_new:
            found.append((type_, {at}))
        else:
            found[-1][1].add(at)
    return found


def kind_of(gold, predicted):
    """What a pair is."""
    (type_, tokens), (guess, guessed) = gold, predicted
    if tokens == guessed:
        return "correct" if type_ == guess else "wrong type"
    return "wrong boundary" if type_ == guess else "wrong type and boundary"


KINDS = ("correct", "wrong type", "wrong boundary", "wrong type and boundary")


def pairs_of(true, guess):
    """The pairs of two label sequences, and what is left over of each."""
    gold, predicted, pairs = spans_of(true), spans_of(guess), []
    while together := [pair for pair in product(gold, predicted) if pair[0][1] & pair[1][1]]:
        best = min(
            together,
            key=lambda pair: (
                KINDS.index(kind_of(*pair)),
                -len(pair[0][1] & pair[1][1]),
                min(pair[0][1]) + min(pair[1][1]),
            ),
        )
        pairs.append(best)
        gold.remove(best[0])
        predicted.remove(best[1])
    return pairs, gold, predicted


def counted(gold, predicted):
    """Numbers by type and kind of all sentences."""
    counts = Counter()
    for true, guess in zip(gold, predicted, strict=True):
        pairs, missed, invented = pairs_of(true, guess)
        counts.update((pair[0][0], kind_of(*pair)) for pair in pairs)
        counts.update((type_, "missed") for type_, _ in missed)
        counts.update((type_, "invented") for type_, _ in invented)
    return counts


def measured(gold, predicted):
    """Credit by measure, and the numbers of gold and of predicted entities."""
    credit, n_gold, n_predicted = Counter(), 0, 0
    for true, guess in zip(gold, predicted, strict=True):
        n_gold, n_predicted = n_gold + len(spans_of(true)), n_predicted + len(spans_of(guess))
        for (type_, tokens), (other, guessed) in pairs_of(true, guess)[0]:
            credit["strict"] += (type_, tokens) == (other, guessed)
            credit["exact"] += tokens == guessed
            credit["partial"] += 1.0 if tokens == guessed else 0.5
            credit["type"] += type_ == other
    return credit, n_gold, n_predicted
