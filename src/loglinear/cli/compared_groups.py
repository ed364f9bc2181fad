"""What `loglinear structure --compare` has found: the differences of the networks of two groups."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from ..visible import counted
from .learned_edges import part_of_picture
from .output import tab_separated
from .wrapping import unbroken

if TYPE_CHECKING:
    from ..models.network_comparison import NetworkComparison

__all__ = ["Groups", "group_names"]

# Number of pairs that the summary lists, and largest adjusted p-value of these.
SHOWN, LEVEL = 3, 0.05


def group_names(first: str, second: str) -> tuple[str, str]:
    """Return different names of two groups, from the paths of their files."""
    names = os.path.basename(first), os.path.basename(second)
    if names[0] != names[1]:
        return names
    return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")


class Groups:
    """Differences of the networks of two groups, the smallest p-value first.

    Args:
        comparison: of the networks.
        n: number of permutations that were asked for.
    """

    def __init__(self, comparison: NetworkComparison, n: int) -> None:
        self._comparison, self._n = comparison, n
        self._order = comparison.order()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the test."""
        return self._comparison.n < self._n

    def table(self) -> str:
        """Return a line for each pair that differs."""
        names = ["variable_1", "variable_2", "weight_1", "weight_2", "difference", "p", "p_holm"]
        return tab_separated(names, ([*self._pair(k), *(f"{x:.6g}" for x in self._numbers(k))] for k in self._order))

    def _pair(self, k: int) -> list[str]:
        return [self._comparison.names[i] for i in self._comparison.pairs[k].tolist()]

    def _numbers(self, k: int) -> list[float]:
        comparison = self._comparison
        return [
            *comparison.weights[k].tolist(),
            *(float(values[k]) for values in (comparison.differences, comparison.p, comparison.p_holm)),
        ]

    def drawn(self, path: str) -> bytes:
        """Return the content of a figure's file of this name."""
        return self._comparison.drawn(path)

    def part_drawn(self, path: str) -> str:
        """Say how many of the differences a figure shows, if it does not show all."""
        return part_of_picture(path, [self._pair(k) for k in self._order], "differences")

    def json(self) -> str:
        """Return all there is to know, for machines."""
        comparison = self._comparison
        groups = [
            {"name": name, "samples": size, "edges": len(network.edges_), "l1": network.l1_, "strength": strength}
            for name, size, network, strength in zip(
                comparison.groups, comparison.sizes, comparison.networks, comparison.strengths, strict=True
            )
        ]
        tests = {
            "structure": {"difference": comparison.structure, "p": comparison.structure_p},
            "strength": {"difference": comparison.strength, "p": comparison.strength_p},
        }
        keys = ("weight_1", "weight_2", "difference", "p", "p_holm")
        pairs = [{"variables": self._pair(k), **dict(zip(keys, self._numbers(k), strict=True))} for k in self._order]
        return json.dumps({"groups": groups, **tests, "permutations": comparison.n, "pairs": pairs})

    def summary(self, model: str | None, seconds: float, *, verbose: bool) -> str:
        """Return lines for people; see `Edges.summary`."""
        comparison = self._comparison
        lines = [f"{counted(comparison.n, 'permutation')} ({seconds:.1f} s)"]
        for name, size, network in zip(comparison.groups, comparison.sizes, comparison.networks, strict=True):
            edges = counted(len(network.edges_), "edge")
            lines.append(f"{unbroken(name)}: {counted(size, 'sample')}, {edges}, l1 {network.l1_:.6g}")
        first, second = comparison.strengths
        lines.append(
            f"structure: largest difference of an edge {comparison.structure:.4g}, p = {comparison.structure_p:.3g}"
        )
        strengths = f"global strength: {first:.4g} and {second:.4g}, difference {comparison.strength:.4g}"
        lines.append(f"{strengths}, p = {comparison.strength_p:.3g}")
        differing = comparison.order(LEVEL)
        text = f"{len(differing):,} of {counted(len(comparison.pairs), 'pair')} differ at {LEVEL:g} (Holm)"
        if shown := [unbroken(" - ".join(self._pair(k))) for k in differing[:SHOWN]]:
            text += f": {', '.join(shown)}" + (" and more" if len(differing) > SHOWN else "")
        return "\n".join([*lines, text])
