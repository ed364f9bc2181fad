"""The picture of a graph as a page to look around in: one HTML file, with a picture and a list without JavaScript."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..visible import counted, visible_name
from .graph_picture import SIGNS, GraphPicture
from .graph_svg import KINDS, graph_svg, legend_of
from .labelled import shown
from .style import filled, head

__all__ = ["interactive"]

# Most edges of a page, and most that it lists at a time.
_EDGES, _LISTED = 100_000, 200


def interactive(
    names: Sequence[str],
    edges: npt.ArrayLike,
    strengths: npt.ArrayLike,
    signs: npt.ArrayLike,
    meanings: Mapping[int, str] = SIGNS,
    heading: str = "Strongest edges",
) -> bytes:
    """Return the content of the page; equal graphs give equal pages.

    It shows as many edges as a picture would, and all of them, up to 100,000, if asked; a variable that is pointed at,
    chosen or looked for by name stands out with its neighbours, which are listed. It can be moved and enlarged. Without
    JavaScript it has the picture and the list of the strongest edges.

    Args:
        names: names of the variables.
        edges: pairs of variables, shape (n_edges, 2).
        strengths: strengths of the edges, >= 0, shape (n_edges,).
        signs: 1 or -1 for each edge, 0 for an edge without a sign, shape (n_edges,).
        meanings: what the signs mean, for the legend.
        heading: of the list of edges.
    """
    ends, strength = np.asarray(edges, dtype=np.int64).reshape(-1, 2), np.asarray(strengths, dtype=np.float64)
    order = np.argsort(-strength, kind="stable")[:_EDGES]
    picture = GraphPicture(names, ends, strength, signs, weaker=True, meanings=meanings)
    place = np.full(len(names), -1)
    place[picture.shown] = np.arange(picture.shown.size)
    data = {
        "names": [visible_name(str(names[k])) for k in picture.shown.tolist()],
        "edges": place[ends[order]].tolist(),
        "strengths": [float(f"{value:.6g}") for value in strength[order].tolist()],
        "signs": np.asarray(signs, dtype=np.int64)[order].tolist(),
        "first": len(picture.edges),
        "listed": _LISTED,
        "heading": heading,
    }
    listed = range(min(len(order), _LISTED))
    pairs = [[data["names"][k] for k in data["edges"][at]] for at in listed]
    items = [
        f'<li>{shown(a)} – {shown(b)} <span class="{KINDS[data["signs"][at]]}">{data["strengths"][at]:.3g}</span></li>'
        for at, (a, b) in zip(listed, pairs, strict=True)
    ]
    parts = {
        "head": head("Network", "network"),
        "title": f"{counted(len(names), 'variable')}, {counted(len(ends), 'edge')}",
        "svg": graph_svg(picture),
        "legend": legend_of(picture),
        "heading": heading,
        "list": "\n".join(items),
        # A name cannot end the element that holds the data.
        "data": json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),
    }
    return filled("network", parts)
