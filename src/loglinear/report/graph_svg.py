"""The picture of a graph as inline SVG for pages, whose style sheet gives colours for light and dark."""

from __future__ import annotations

from html import escape

import numpy as np

from .graph_picture import GraphPicture
from .labelled import shown
from .labels import LINE, Label

__all__ = ["KINDS", "graph_svg", "legend_of"]

# Classes of the style sheet for edges by their signs.
KINDS = {1: "positive", -1: "negative", 0: "unsigned"}


def graph_svg(picture: GraphPicture) -> str:
    """Return the picture; equal pictures give equal texts.

    Lines of nearly equal width are one path, so that a browser draws thousands of edges at once.
    """
    says = f"Network of {len(picture.points):,} variables and {len(picture.edges):,} edges"
    width, height = f"{picture.width:.0f}", f"{picture.height:.0f}"
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{picture.height - y:.1f}" r="{picture.radius:.1f}"/>' for x, y in picture.points
    )
    names = "".join(_text(label, picture) for label in picture.labels)
    return (
        f'<svg class="network" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(says)}" '
        f'style="--natural: {width}px">\n<g class="lines">{_lines(picture)}</g>\n'
        f'<g class="dots">{dots}</g>\n<g class="names" font-size="{picture.size:g}">{names}</g>\n</svg>'
    )


def legend_of(picture: GraphPicture) -> str:
    """Return what the lines mean and what is left out, as HTML."""
    key = '<svg class="key" viewBox="0 0 28 8" aria-hidden="true"><path class="{}" stroke-width="3" d="M0 4H28"/></svg>'
    entries = [f"<span>{key.format(KINDS[sign])} {escape(picture.meanings[sign])}</span>" for sign in picture.legend]
    return " ".join([*entries, f'<span class="still">{escape(picture.note)}</span>' if picture.note else ""]).strip()


def _lines(picture: GraphPicture) -> str:
    paths: dict[tuple[str, float], list[str]] = {}
    widths = np.round(picture.line_widths * 2.0) / 2.0
    ends = picture.points[picture.edges] * [1.0, -1.0] + [0.0, picture.height]
    for sign, width, ((x, y), (u, v)) in zip(picture.sign.tolist(), widths.tolist(), ends.tolist(), strict=True):
        paths.setdefault((KINDS[sign], width), []).append(f"M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}")
    return "".join(
        f'<path class="{kind}" stroke-width="{width:g}" d="{"".join(lines)}"/>'
        for (kind, width), lines in sorted(paths.items())
    )


def _text(label: Label, picture: GraphPicture) -> str:
    lines = label.text.split("\n")
    # The middle of the first line, from which the others follow.
    top = picture.height - label.y - LINE * picture.size * (len(lines) - 1) / 2.0
    spans = "".join(
        f'<tspan x="{label.x:.1f}" y="{top + k * LINE * picture.size:.1f}">{shown(line)}</tspan>'
        for k, line in enumerate(lines)
    )
    return f"<text>{spans}</text>"
