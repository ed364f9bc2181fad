"""Models of graphs with labelled nodes, of which no command reads data."""

from __future__ import annotations

from argparse import Namespace
from typing import NoReturn

import numpy as np

from ...data.features import Feature
from ...models.graph import GraphCRF
from .inspected import shown
from .kind import Kind

__all__ = ["Graphs"]


class Graphs(Kind):
    """The model of a conditional random field on graphs."""

    called = "a graph model"
    estimator = "GraphCRF"

    def __init__(self, path: str) -> None:
        """Open the file, which says whether it is damaged."""
        super().__init__(path)
        self.crf = GraphCRF.load(path)

    def explain(self, arguments: Namespace) -> NoReturn:
        """Refuse."""
        self.refuse("explain", "loglinear inspect shows the strongest weights")

    def inspect(self, *, top: int, as_json: bool) -> str:
        """Show labels, numbers of features, strongest weights, and how the model was trained."""
        crf = self.crf
        labels = [str(label) for label in crf.classes_.tolist()]
        nodes = [(Feature(f"node feature {k}", (labels[a],)), w) for (k, a), w in np.ndenumerate(crf.node_weights_)]
        edges = [
            (Feature(f"edge feature {k}", (labels[a], labels[b])), w)
            for (k, a, b), w in np.ndenumerate(crf.edge_weights_)
            if a <= b or not crf.symmetric
        ]
        features = [(feature, float(w)) for feature, w in nodes + edges if w]
        about = {"n_attributes": len(crf.node_weights_) + len(crf.edge_weights_), "labels": labels, "template": None}
        inference = "exact" if crf.exact_ else crf.inference
        settings = {**crf.get_params(), "inference": inference, "training": crf._training}
        return shown(features, about, settings, top=top, as_json=as_json)
