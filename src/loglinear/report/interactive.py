"""The picture of a graph as a page to look around in: one HTML file that needs nothing else, but JavaScript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .graph import n_shown
from .positions import positions

__all__ = ["interactive"]


def interactive(names: Sequence[str], edges: npt.ArrayLike, strengths: npt.ArrayLike, signs: npt.ArrayLike) -> bytes:
    """Return the content of the page; equal graphs give equal pages.

    It shows as many edges as a picture would, and all of them if asked; a variable that is pointed at, chosen or
    looked for by name stands out with its neighbours, which are listed. It can be moved and enlarged.

    Args:
        names: names of the variables.
        edges: pairs of variables, shape (n_edges, 2).
        strengths: strengths of the edges, >= 0, shape (n_edges,).
        signs: 1 or -1 for each edge, 0 for an edge with several weights, shape (n_edges,).
    """
    ends, strength = np.asarray(edges, dtype=np.int64).reshape(-1, 2), np.asarray(strengths, dtype=np.float64)
    order = np.argsort(-strength, kind="stable")
    ends, strength = ends[order], strength[order]
    most = np.full(len(names), -1.0)
    np.maximum.at(most, ends.ravel(), np.repeat(strength, 2))
    first = n_shown(len(ends), np.unique(ends).size)
    data = {
        "names": list(map(str, names)),
        # The strongest edges decide on places: all edges together would make a tangle.
        "at": np.round(_spread(positions(len(names), ends[:first])), 4).tolist(),
        "edges": ends.tolist(),
        "strengths": [float(f"{value:.6g}") for value in strength.tolist()],
        "signs": np.asarray(signs, dtype=np.int64)[order].tolist(),
        "order": np.argsort(-most, kind="stable").tolist(),
        "first": first,
    }
    # A name cannot end the element that holds the data.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    page = Path(__file__).with_name("network.html").read_text(encoding="utf-8")
    return page.replace("{{ data }}", text).encode()


def _spread(at: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return places that fill the unit square in at least one direction."""
    if not len(at):
        return at
    low, size = at.min(axis=0), float(np.ptp(at, axis=0).max()) or 1.0
    places: npt.NDArray[np.float64] = (at - low) / size + (1.0 - np.ptp(at, axis=0) / size) / 2.0
    return places
