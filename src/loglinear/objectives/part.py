"""A part of a data set, on the machine that works on it: its counts, its sentences, its objective.

These objects hold native memory. Counts and tables travel between processes as bytes; sentences and objectives travel
as their recipe, from which the other process makes them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import _core
from ..constraints import as_json
from ..data.column_layout import ColumnLayout, same_texts
from ..data.parts import Part
from ..errors import DataError
from ..solvers.common.per_sample import visiting
from ..solvers.parameter_mixing import Mixing
from ..solvers.sgd_l1 import SGDL1Passes

if TYPE_CHECKING:
    from ..vectors import Vector
    from .chain import ChainFeatures, Numbers

# Type of the labels, format, template and layout of the columns.
Kinds: TypeAlias = tuple[str, str, "str | None", ColumnLayout]

# Factor of the costs of each label's tokens.
CostFactors: TypeAlias = "list[float] | None"

__all__ = ["ChainPart", "Counts", "EncodedPart", "FeatureTable"]


class EncodedPart:
    """The sentences of a part.

    Args:
        source: where they are.
    """

    def __init__(self, source: Part) -> None:
        self.source, self.corpus = source, source.read()

    def __reduce__(self) -> tuple[Callable[..., EncodedPart], tuple[Part]]:
        return EncodedPart, (self.source,)

    def __sizeof__(self) -> int:
        return self.corpus.core.n_bytes


class Counts:
    """What is seen in a part of a data set, or in several parts in a row.

    Attributes:
        core: the native counts.
        kinds: types of the labels, formats, templates and layouts of the parts: one of each, or they cannot go
            together.
    """

    def __init__(self, core: _core.PartCounts, kinds: Kinds) -> None:
        self.core, self.kinds = core, kinds

    @classmethod
    def of(cls, part: EncodedPart, order: int) -> Counts:
        """Return the counts of a part; with order 2 triples of labels are looked at."""
        corpus = part.corpus
        kinds = (corpus.label_type, corpus.format, corpus.template, corpus.columns)
        return cls(_core.PartCounts(corpus.core, order), kinds)

    def joined(self, following: Counts) -> Counts:
        """Return the counts of both, the parts of ``following`` after these.

        Raises:
            DataError: there are too many labels, or labels of different types.
        """
        ours, theirs = self.kinds[0], following.kinds[0]
        if ours != theirs and self.core.labels and following.core.labels:
            message = f"some parts have labels of type {ours}, others of type {theirs}; use one type"
            raise DataError(message)
        label_type, format, template, columns = self.kinds if self.core.labels else following.kinds
        columns = columns._replace(texts=same_texts([self.kinds[-1], following.kinds[-1]]))
        return Counts(self.core.joined(following.core), (label_type, format, template, columns))

    def __reduce__(self) -> tuple[Callable[..., Counts], tuple[Any, ...]]:
        return _unpacked_counts, (self.core.pack(), self.kinds)


def _unpacked_counts(packed: bytes, kinds: Kinds) -> Counts:
    return Counts(_core.PartCounts.unpack(packed), kinds)


class FeatureTable:
    """The features of a whole data set by name, and its sizes.

    They are the features that `ChainObjective` finds in the joined data, in the same order, except that attributes of
    states with few labels are in the order of their first appearance.

    Attributes:
        core: the native table.
    """

    def __init__(self, core: _core.FeatureTable) -> None:
        self.core = core

    @classmethod
    def of(cls, counts: Counts, features: ChainFeatures) -> FeatureTable:
        """Return the features of what was counted.

        Raises:
            DataError: there are no labels, too many labels or features, or no features.
        """
        return cls(counts.core.table(features))

    def __reduce__(self) -> tuple[Callable[..., FeatureTable], tuple[Any, ...]]:
        return _unpacked_table, (self.core.pack(),)


def _unpacked_table(packed: bytes) -> FeatureTable:
    return FeatureTable(_core.FeatureTable.unpack(packed))


class ChainPart:
    """A part as an objective over the features of the whole data set.

    Args:
        part: its sentences.
        table: the features.
        features: which features the whole has; its constraints are resolved.
        costs: factor of the costs of each label's tokens; None without class weights.

    Raises:
        DataError: the constraints forbid a sentence's labels; names the part.

    Attributes:
        core: the native part.
        own: the native objective over the features that the part can meet.
    """

    def __init__(
        self, part: EncodedPart, table: FeatureTable, features: ChainFeatures, costs: CostFactors = None
    ) -> None:
        try:
            core = _core.ChainPart(
                part.corpus.core, table.core, constraints=as_json(features.constraints), class_weights=costs
            )
        except DataError as error:
            message = f"{part.source.name}: {error}"
            raise DataError(message) from error
        self._set(core, (_made, (part.source, table, features, costs)))

    def _set(self, core: _core.ChainPart, recipe: tuple[Callable[..., ChainPart], tuple[Any, ...]]) -> None:
        self.core, self._recipe = core, recipe
        self.own = core.own
        self._passes: SGDL1Passes | None = None

    def __reduce__(self) -> tuple[Callable[..., ChainPart], tuple[Any, ...]]:
        return self._recipe

    def __sizeof__(self) -> int:
        return 2 * self.core.n_bytes

    @property
    def n_features(self) -> int:
        """Number of features of the whole."""
        return self.core.n_features

    @property
    def n_samples(self) -> int:
        """Number of sentences of the part."""
        return self.own.n_samples

    @property
    def weights(self) -> Vector:
        """Weights of the sentences, shape (n_samples,)."""
        return self.own.weights

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the part's NLL at w, nats, and its gradient, shape (n_features,)."""
        return self.core.value_and_gradient(w, out)

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p(y | x; w) of each sentence, shape (n_samples,)."""
        return self.own.sample_nlls(self.core.gather(w))

    def restrict(self, features: Numbers) -> ChainPart:
        """Return the part over some of the features, whose numbers ascend; the weights of all others are 0."""
        other = object.__new__(ChainPart)
        other._set(self.core.restrict(features), (_restricted, (self, features)))
        return other

    def share(self) -> Vector:
        """Return the number of sentences for each feature that the part can meet, 0 for others, shape (n_features,)."""
        return self._everywhere(np.full(self.own.n_features, float(self.n_samples)))

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return about the diagonal of the part's Hessian at w, shape (n_features,)."""
        return self._everywhere(self.own.hessian_diagonal(self.core.gather(w)))

    def largest_values(self) -> Vector:
        """Return the largest absolute value of each feature's attribute in the part, 0 for features that it lacks."""
        largest = self.own.largest_values()
        return self._everywhere(np.ones(self.own.n_features) if largest is None else largest)

    def mixed(self, w: Vector, mixing: Mixing) -> Vector:
        """Return the change of w by a pass of SGD with the cumulative penalty, times the number of sentences.

        Args:
            w: where the pass begins, shape (n_features,).
            mixing: the pass.
        """
        before, n = self.core.gather(w), self.n_samples
        after = before.copy()
        if n:
            self.passes.sgd_l1_pass(
                after,
                np.zeros_like(after),
                0.0,
                visits=visiting(mixing.seed, mixing.epoch, n),
                rates=mixing.learning_rate * mixing.decay ** (np.arange(n) / n),
                l1=mixing.l1,
                l2=mixing.l2,
                penalty="cumulative",
                line_search=None,
            )
        return self._everywhere((after - before) * n)

    def _everywhere(self, of_part: Vector) -> Vector:
        everywhere = np.zeros(self.n_features)
        self.core.scatter(of_part, everywhere)
        return everywhere

    @property
    def passes(self) -> SGDL1Passes:
        """The part for passes over its sentences, over the features that it can meet; made once."""
        if self._passes is None:
            self._passes = self.own.per_sample()
        return self._passes


def _made(source: Part, table: FeatureTable, features: ChainFeatures, costs: CostFactors) -> ChainPart:
    return ChainPart(EncodedPart(source), table, features, costs)


def _restricted(part: ChainPart, features: Numbers) -> ChainPart:
    return part.restrict(features)
