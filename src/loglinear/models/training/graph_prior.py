"""Training around the weights of an older field on graphs, see `loglinear.models.training.prior`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.inputs import Array
from ...errors import DataError, OptionError
from ...objectives.graph import weights_of_pairs
from ...result import Prior
from ...vectors import Vector
from .prior import Centre

__all__ = ["GraphPrior"]


@dataclass(frozen=True)
class GraphPrior:
    """A trained field on graphs, at whose weights the penalty of another training is centred.

    Attributes:
        labels: its labels, sorted, shape (L,).
        node_weights: shape (n_node_features, L).
        edge_weights: shape (n_edge_features, L, L).
        name: what messages and settings call it.
    """

    labels: Array
    node_weights: Vector
    edge_weights: Vector
    name: str

    def classes(self, gold: Array) -> Array:
        """Return the labels of new data and the older ones, sorted.

        Raises:
            DataError: they have another type.
        """
        new = np.unique(gold)
        if new.size:
            new_type, old_type = (type(labels.tolist()[0]).__name__ for labels in (new, self.labels))
            if new_type != old_type:
                message = f"the labels have type {new_type}, but {self.name} has labels of type {old_type}"
                raise DataError(message)
        return np.union1d(new, self.labels)

    def centre(
        self, classes: Array, n_features: tuple[int, int], strength: float, *, symmetric: bool = False
    ) -> Centre:
        """Return the weights for the features of new data, in the order of `GraphLikelihood`; 0 for new labels.

        Args:
            classes: labels of the new model, which include the older ones, sorted, shape (n_labels,).
            n_features: numbers of node features and edge features of the new data.
            strength: strength of the L2 penalty, infinite for the weights as they are.
            symmetric: whether both orders of a pair of labels share a weight in the new model.

        Raises:
            DataError: the data have other numbers of features.
            OptionError: the older weights of both orders differ, and the new ones may not.
        """
        widths = len(self.node_weights), len(self.edge_weights)
        if widths != n_features:
            message = f"the graphs have {n_features[0]} node features and {n_features[1]} edge features, but "
            message += f"{self.name} has {widths[0]} and {widths[1]}; give the same features"
            raise DataError(message)
        if symmetric and not np.array_equal(self.edge_weights, self.edge_weights.transpose(0, 2, 1)):
            message = f"prior: the pairs of labels of {self.name} are ordered; set symmetric=False"
            raise OptionError(message)
        n, at = classes.size, np.searchsorted(classes, self.labels)
        nodes, pairs = np.zeros((widths[0], n)), np.zeros((widths[1], n, n))
        nodes[:, at] = self.node_weights
        pairs[:, at[:, None], at] = self.edge_weights
        _, first = np.unique(weights_of_pairs(n, symmetric=symmetric), return_index=True)
        w = np.concatenate([nodes.ravel(), pairs.reshape(widths[1], n * n)[:, first].ravel()])
        new_labels = [str(label) for label in np.setdiff1d(classes, self.labels).tolist()]
        return Centre(w, Prior(self.name, strength, int(np.count_nonzero(w)), w.size, new_labels))
