"""Passes sample by sample."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..compat.pycrfsuite._online import OnlinePasses
from ..solvers import NativePasses

class SamplePasses(NativePasses, OnlinePasses, Protocol):
    """An objective as solvers see it that go sample by sample; the solvers declare the passes."""

    @property
    def n_threads(self) -> int: ...
    @property
    def n_unpenalised(self) -> int: ...

def graph_passes(
    sizes: npt.NDArray[np.int64],
    edges: npt.NDArray[np.int64],
    nodes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]],
    ties: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]],
    labels: npt.NDArray[np.int64],
    *,
    n_labels: int,
    n_features: tuple[int, int],
    weight_of: npt.NDArray[np.int64],
    forbidden: npt.NDArray[np.float64],
    weight: float,
    limit: int,
    costs: npt.NDArray[np.float64] | None = None,
    propagation: tuple[float, float, int, str] | None = None,
    hidden: tuple[float, float, int, str] | None = None,
    appearances: npt.NDArray[np.float64] | None = None,
) -> SamplePasses:
    """Return passes over a field on graphs (see `loglinear.objectives.graph`), in which each graph has this weight.

    Args:
        sizes: number of nodes of each graph.
        edges: nodes of each edge, counted through all graphs, shape (n_edges, 2).
        nodes: features of nodes as compressed sparse rows: beginnings, numbers, values.
        ties: features of edges as compressed sparse rows.
        labels: of nodes, -1 where they are missing.
        n_labels: L.
        n_features: number of features of nodes, and of edges.
        weight_of: weight of each pair of labels, shape (L^2,).
        forbidden: score that is added for each pair of labels, shape (L^2,).
        weight: of each graph.
        limit: most entries of a table of exact inference.
        costs: what is added to the score of each node and label in log Z, shape (n_nodes * L,).
        propagation: damping, tolerance, most iterations and schedule of belief propagation; None for exact inference.
        hidden: the same for inference given the known labels.
        appearances: of edges; tree-reweighted belief propagation if given.
    """
