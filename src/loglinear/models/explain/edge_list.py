"""The edges of a network by name: on a screen, in a notebook, as a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...display.fragment import in_notebook
from ...display.table import LISTED, data_frame, listing, more, screen
from ...visible import counted
from .edges import Edge, Network, drawing, ranked_edges

if TYPE_CHECKING:
    import pandas

__all__ = ["Edges", "edges_of"]


@dataclass(frozen=True, repr=False)
class Edges(Sequence[Edge]):
    """The edges of a network, the strongest first; a sequence of `Edge`.

    Attributes:
        edges: the edges.
        signs: 1 or -1 for each edge whose weights have a direction, as in drawings of the network; None for others.
        n_variables: number of variables of the network.
    """

    edges: list[Edge]
    signs: list[int | None]
    n_variables: int

    def __getitem__(self, index: Any) -> Any:
        """Return an edge."""
        return self.edges[index]

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.edges)

    def __repr__(self) -> str:
        """Return the number of edges and variables."""
        return f"<{counted(len(self), 'edge')} between {counted(self.n_variables, 'variable')}>"

    def __str__(self) -> str:
        """Return the strongest edges as text that fits a screen."""
        columns = self._columns()
        first = {name: columns[name] for name in ("strength", "first", "second")}
        return screen(repr(self), first, len(self), "edge")

    def _columns(self) -> dict[str, list[str]]:
        """Return the cells of the strongest edges: names, strength, sign, and the states with the largest weight."""
        edges = self.edges[:LISTED]
        columns = {name: [edge.variables[at] for edge in edges] for at, name in enumerate(("first", "second"))}
        columns["strength"] = [f"{edge.strength:.3f}" for edge in edges]
        columns["sign"] = [{1: "+", -1: "-", None: ""}[sign] for sign in self.signs[:LISTED]]
        columns["strongest states"] = [_strongest(edge) for edge in edges]
        return columns

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the strongest edges."""
        possible = self.n_variables * (self.n_variables - 1) // 2
        caption = f"{counted(len(self), 'edge')} of {possible:,} possible, the strongest first"
        table = listing(self._columns(), caption, texts=("second", "strongest states"))
        return in_notebook(table + more(len(self), "edge"))

    def to_frame(self, *, states: bool = False) -> pandas.DataFrame:
        """Return the edges as a pandas DataFrame with the names of both variables, the strongest first.

        The other columns are the ``strength`` of the edge and its ``sign``, which is missing if the weights do not have
        a direction, such as those between states without an order.

        Args:
            states: return a row for each weight instead, with the states of both variables and the ``weight`` of these
                states together.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        if states:
            rows = [(*edge.variables, *weight) for edge in self.edges for weight in edge.weights]
            names = ("first", "second", "first_state", "second_state", "weight")
            return data_frame("to_frame", {name: [row[at] for row in rows] for at, name in enumerate(names)})
        columns: dict[str, list[Any]] = {
            name: [edge.variables[at] for edge in self.edges] for at, name in enumerate(("first", "second"))
        }
        strengths = [edge.strength for edge in self.edges]
        frame = data_frame("to_frame", columns | {"strength": strengths, "sign": self.signs})
        return frame.astype({"sign": "Int64"})


def _strongest(edge: Edge) -> str:
    """Return the states with the largest weight of an edge, and this weight."""
    first, second, weight = max(edge.weights, key=lambda each: abs(each[2]))
    return f"{first}, {second}: {weight:+.3f}"


def edges_of(network: Network, names: Sequence[str]) -> Edges:
    """Return the edges of a network, whose variables have these names."""
    pairs = [(names[i], names[j]) for i, j in network.edges_.tolist()]
    signs = dict(zip(pairs, drawing(network, names)[-1], strict=True))
    edges = ranked_edges(network, names)
    return Edges(edges, [signs[edge.variables] or None for edge in edges], len(names))
