"""What training asks of its data, wherever they are: the objectives of data in one process and of data in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..problem import Objective

if TYPE_CHECKING:
    import numpy.typing as npt

    from .. import _core
    from ..data.features import Feature
    from ..vectors import Vector
    from .chain import ChainFeatures, FeatureCounts

__all__ = ["ChainData", "ClassifierData", "TrainingData"]


class TrainingData(Objective, Protocol):
    """Data as an objective that can be told from others, so that a checkpoint knows its own."""

    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the data, and a checksum of what else determines the weights."""


class ClassifierData(TrainingData, Protocol):
    """Labelled samples as the objective of a classifier: a matrix in this process, or chunks on any machines.

    `ClassifierObjective` and `ClassifierParts` satisfy it.
    """

    @property
    def n_unpenalised(self) -> int:
        """Number of weights that a penalty should leave alone, the intercept's: the last ones."""

    def one_against_rest(self, target: int) -> ClassifierData:
        """Return the objective of two classes, the target as class 1 and all others as 0."""

    def coefficients(self, w: Vector) -> tuple[Vector, Vector]:
        """Return the weights as a matrix of shape (n_outputs, columns), and what the intercept adds to each score."""


class ChainData(TrainingData, Protocol):
    """Labelled sentences as the objective of a chain: a corpus in this process, or parts on any machines.

    `ChainObjective` and `ChainParts` satisfy it.
    """

    @property
    def requested(self) -> ChainFeatures:
        """Features that were asked for."""

    @property
    def features(self) -> ChainFeatures:
        """Features that there are: with the constraints that "auto" found and the order that a template asks for."""

    @property
    def feature_counts(self) -> FeatureCounts:
        """Number of features of each kind."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""

    @property
    def n_attributes(self) -> int:
        """Number of different attributes."""

    @property
    def n_unknown(self) -> int:
        """Number of sentences of whose labels nothing is known; they contribute nothing."""

    @property
    def labels(self) -> list[Any]:
        """Labels, the most frequent first, ties in byte order."""

    @property
    def label_names(self) -> list[str]:
        """Names of the labels, in the same order."""

    @property
    def label_type(self) -> str:
        """Type of the labels: "str", "int" or "bool"."""

    @property
    def format(self) -> str:
        """Format of the data, "python" for Python objects."""

    @property
    def template(self) -> str | None:
        """Template that formed the attributes, if there was one."""

    def feature_names(self, numbers: npt.ArrayLike) -> list[Feature]:
        """Return the names of features by their numbers, shape (k,)."""

    def start_weights(self, model: _core.ChainModel) -> tuple[Vector, int]:
        """Return the weights that a model has for features of the same names, and the number of these features."""

    def model(self, w: Vector, settings: str = "{}") -> _core.ChainModel:
        """Return the model with these weights and settings; features whose weights are 0 are left out."""
