"""Scores of labels, and the confusions between labels, as tables of notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .table import LISTED, listing, more

__all__ = ["confusions_html", "per_cent", "scores_html"]


def per_cent(share: float) -> str:
    """Return a share in per cent with two decimals."""
    return f"{100 * share:.2f}"


def scores_html(by: str, scores: Mapping[Any, Mapping[str, Any]]) -> str:
    """Return scores as a table of HTML; nothing without scores.

    Args:
        by: "type" of a chunk, or "label".
        scores: of each type or label, a `loglinear.metrics.Score`.
    """
    if not scores:
        return ""
    first = [*scores.items()][:LISTED]
    columns = {by: [str(name) for name, _ in first]}
    for title, name in {"precision": "precision", "recall": "recall", "F1": "f1"}.items():
        columns[title] = [per_cent(row[name]) for _, row in first]
    columns |= {name: [f"{row[name]:,}" for _, row in first] for name in ("support", "predicted", "correct")}
    caption = f"{'chunks' if by == 'type' else 'labels'}; precision, recall and F1 in per cent"
    return listing(columns, caption) + more(len(scores), by)


def confusions_html(confusion: Mapping[Any, Mapping[Any, int]]) -> str:
    """Return the most frequent confusions as HTML, to unfold; nothing without a mistake.

    Args:
        confusion: gold label -> predicted label -> number of tokens.
    """
    confusions = [(n, gold, guess) for gold, row in confusion.items() for guess, n in row.items() if gold != guess]
    if not confusions:
        return ""
    first = sorted(confusions, key=lambda each: -each[0])[:LISTED]
    columns = {"gold": [str(gold) for _, gold, _ in first], "predicted": [str(guess) for *_, guess in first]}
    columns["tokens"] = [f"{n:,}" for n, _, _ in first]
    table = listing(columns, "tokens with a wrong label", texts=("predicted",))
    rest = more(len(confusions), "confusion", "`confusion` has all")
    return f"<details><summary>most frequent confusions</summary>{table}{rest}</details>"
