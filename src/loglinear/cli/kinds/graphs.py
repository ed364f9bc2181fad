"""Models of graphs with labelled nodes, of which no command reads data."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ...data.features import Feature
from ...models.files.settings import version_of
from ...models.graph import GraphCRF
from ...visible import counted
from .inspected import shown
from .kind import Kind

if TYPE_CHECKING:
    from ...models.explain.model_card import ModelCard

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

    def card(self) -> ModelCard:
        """Return the model card."""
        from ...models.explain.model_card import ModelCard
        from .carded import loaded, not_converged, own_settings

        crf, rows = self.crf, self.crf._rows()
        labels = [str(label) for label in crf.classes_.tolist()]
        n_samples = crf._training.get("n_samples")
        return ModelCard(
            path=self.path,
            task="",
            tags=("node-classification", "conditional-random-field", "graphical-model"),
            does=f"A conditional random field on graphs. It gives each node of a graph one of {len(labels):,} labels, "
            "from the features of nodes and edges.",
            label_noun="labels",
            labels={label: () for label in labels},
            data={} if n_samples is None else {"trained on": counted(n_samples, "graph")},
            settings=own_settings(rows),
            status=not_converged(crf._training),
            python=loaded(self.path, "GraphCRF", "crf", "crf.predict([(node_features, edges, edge_features)])"),
            version=version_of(self.path),
        )
