"""Graphs as samples: checked, and joined to one graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..errors import DataError
from ..vectors import Vector
from .frames import as_matrix
from .inputs import Array, Graph
from .labels import check_ordered

__all__ = ["Graphs", "grid_edges"]

Numbers = npt.NDArray[np.int64]


def grid_edges(rows: int, columns: int) -> Numbers:
    """Return the edges of a grid whose nodes are numbered row by row, first those to the right, shape (n_edges, 2).

    Example:
        >>> from loglinear import grid_edges
        >>> grid_edges(2, 2).tolist()
        [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    nodes = np.arange(rows * columns).reshape(rows, columns)
    right = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], axis=1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], axis=1)
    return np.concatenate([right, down])


@dataclass(frozen=True)
class Graphs:
    """Graphs side by side, as one graph.

    Attributes:
        nodes: features of all nodes, shape (n_nodes, n_node_features).
        edges: pairs of nodes, shape (n_edges, 2).
        ties: features of all edges, shape (n_edges, n_edge_features).
        sizes: number of nodes of each graph, shape (n_graphs,).
    """

    nodes: Vector | scipy.sparse.csr_array
    edges: Numbers
    ties: Vector
    sizes: Numbers

    @classmethod
    def of(cls, X: Iterable[Graph]) -> Graphs:
        """Check graphs, each a tuple (node features, edges[, edge features]), and join them.

        Raises:
            DataError: there are no graphs, or a graph is not such a tuple.
        """
        check_ordered(X, "X", "give a list of graphs")
        parts = [_checked(graph, number) for number, graph in enumerate(X)]
        if not parts:
            message = "X has no graphs; give one or more"
            raise DataError(message)
        for which, name in ((0, "node"), (2, "edge")):
            width = parts[0][which].shape[1]
            for number, part in enumerate(parts):
                if part[which].shape[1] != width:
                    message = f"graph {number} of X has {part[which].shape[1]} {name} features, but graph 0 has {width}"
                    raise DataError(message)
        sizes = np.array([part[0].shape[0] for part in parts], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        sparse = any(scipy.sparse.issparse(part[0]) for part in parts)
        nodes = scipy.sparse.vstack([scipy.sparse.csr_array(part[0]) for part in parts], format="csr")
        return cls(
            nodes if sparse else np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] + start for part, start in zip(parts, starts, strict=True)]),
            np.concatenate([part[2] for part in parts]),
            sizes,
        )

    def chosen(self, samples: Numbers) -> tuple[Graphs, Numbers]:
        """Return some of the graphs, in the sequence given, and the numbers of their nodes."""
        stops = np.cumsum(self.sizes)
        of_edge = np.searchsorted(stops, self.edges[:, 0], side="right")
        nodes = [np.arange(stops[k] - self.sizes[k], stops[k]) for k in samples]
        edges_of_sample = [np.flatnonzero(of_edge == k) for k in samples]
        sizes = self.sizes[samples]
        starts = np.cumsum(sizes) - sizes
        ends = [
            self.edges[edges] - part[0] + start
            for edges, part, start in zip(edges_of_sample, nodes, starts, strict=True)
        ]
        places = np.concatenate(nodes)
        return Graphs(
            self.nodes[places], np.concatenate(ends), self.ties[np.concatenate(edges_of_sample)], sizes
        ), places

    def split(self, values: Array) -> list[Array]:
        """Return the values of the nodes of each graph, from the values of all nodes."""
        return np.split(values, np.cumsum(self.sizes)[:-1])


def _repeated(edges: Numbers) -> int | None:
    """Return the number of the first edge whose nodes, in any order, a later edge has too."""
    _, first, counts = np.unique(np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True)
    return int(first[counts > 1].min()) if (counts > 1).any() else None


def _checked(graph: object, number: int) -> tuple[Vector | scipy.sparse.csr_array, Numbers, Vector]:
    """Return node features, edges and edge features of a graph; edges without features have a 1."""
    where = f"graph {number} of X"
    if not isinstance(graph, (tuple, list)) or len(graph) not in (2, 3):
        message = f"{where} is not a tuple (node features, edges) or (node features, edges, edge features)"
        raise DataError(message)
    try:
        parts = [as_matrix(part) for part in graph]
        if scipy.sparse.issparse(parts[0]):
            nodes: Vector | scipy.sparse.csr_array = scipy.sparse.csr_array(parts[0], dtype=np.float64)
        else:
            nodes = np.asarray(parts[0], dtype=np.float64)
        edges = np.asarray(parts[1])
        edges = edges.reshape(0, 2).astype(np.int64) if edges.size == 0 else edges
        ties = np.ones((len(edges), 1)) if len(parts) == 2 else np.asarray(parts[2], dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{where} cannot be converted to arrays of numbers ({error})"
        raise DataError(message) from error
    if nodes.ndim != 2 or not nodes.shape[0] or not np.isfinite(nodes.data if hasattr(nodes, "data") else nodes).all():
        message = (
            f"{where}: node features must be finite numbers of shape (n_nodes, n_node_features), with one node or more"
        )
    elif edges.ndim != 2 or edges.shape[1] != 2 or not np.issubdtype(edges.dtype, np.integer):
        message = f"{where}: edges must be whole numbers of shape (n_edges, 2)"
    elif edges.size and not 0 <= edges.min() <= edges.max() < nodes.shape[0]:
        message = f"{where}: edges must refer to nodes 0 to {nodes.shape[0] - 1}, not {edges.min()} to {edges.max()}"
    elif loops := np.flatnonzero(edges[:, 0] == edges[:, 1]).tolist():
        node = int(edges[loops[0], 0])
        message = f"{where}: edge ({node}, {node}) joins a node to itself; leave it out, as node features do its work"
    elif (repeated := _repeated(edges)) is not None:
        first, second = edges[repeated].tolist()
        both = (edges == [second, first]).all(axis=1).any()
        problem = "is there in both directions; keep one of them" if both else "is there twice; keep one"
        message = f"{where}: edge ({first}, {second}) {problem}"
    elif ties.ndim != 2 or ties.shape[0] != len(edges) or not np.isfinite(ties).all():
        message = f"{where}: edge features must be finite numbers of shape ({len(edges)}, n_edge_features)"
    else:
        return nodes, edges.astype(np.int64), ties
    raise DataError(message)
