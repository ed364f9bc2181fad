"""The objective of a data set in parts: the sum of the parts' objectives, wherever the parts are.

The value and the gradient of the parts are added up in a binary tree by the number of the part (`groups.py`): they are
bitwise the same in one process and on any number of machines, and equal to the joined data's except for rounding
errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..data.fingerprint import checksum
from ..data.parts import Part
from ..data.survey import Survey
from ..errors import DataError
from ..gap import SampleLikelihoods
from ..problem import Objective, Restrictable
from ..solvers.parameter_mixing import Mixing
from ..vectors import Vector
from .chain import ChainData, ChainFeatures
from .class_weights import cost_factors
from .groups import Group, LocalGroup
from .invalid_labels import are_bio, bio_errors, check_policy
from .older import OlderChain
from .part import ChainPart, Counts, EncodedPart, FeatureTable

__all__ = ["ChainParts", "PartsObjective"]

Numbers = npt.NDArray[np.int64]


class PartsObjective:
    """The sum of the objectives of parts, in nats.

    A batch solver minimises it as any other objective. Restricted to features, the parts evaluate these features alone.

    Cost: an evaluation of each part, and O(n_features) a part for adding up.

    Args:
        group: an objective for each part, over the same features.
        n_features: length of w.
        n_samples: of all parts together.
        is_convex: whether the sum is convex and nowhere negative.
        cost_constant: what large costs of wrong labels add to the value; see `loglinear.problem.Costly`.
    """

    def __init__(
        self, group: Group, n_features: int, n_samples: int, *, is_convex: bool, cost_constant: float = 0.0
    ) -> None:
        self.cost_constant = cost_constant
        self.group = group
        self.n_features, self.n_samples, self.is_convex = n_features, n_samples, is_convex
        self._weights: Vector | None = None

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the sum over samples of -log p(y | x; w), in nats, and its gradient, shape (n_features,).

        Args:
            w: float64, shape (n_features,).
            out: where to write the gradient; a new array without it.

        Raises:
            DataError: the parts no longer hold the samples that were counted.
        """
        value, gradient, n_samples = self.group.total("evaluate", _evaluated, w)
        if n_samples != self.n_samples:
            message = f"the data have changed: {self.n_samples:,} samples at the start, {n_samples:,} now; train again"
            raise DataError(message)
        if out is None:
            return value, gradient
        out[...] = gradient
        return value, out

    def restrict(self, features: npt.ArrayLike) -> PartsObjective:
        """Return the objective over some of the features, in this order; the weights of all others are 0.

        Args:
            features: their numbers, ascending, shape (k,).
        """
        numbers = np.ascontiguousarray(features, dtype=np.int64)
        parts = self.group.mapped("restrict", _restricted, numbers)
        return PartsObjective(
            parts, numbers.size, self.n_samples, is_convex=self.is_convex, cost_constant=self.cost_constant
        )

    def checksum(self, *arrays: npt.NDArray[Any]) -> str:
        """Return a checksum of arrays and of the value and gradient at weights of 0, which depend on every sample.

        Value and gradient are rounded: processors that add up in another order may differ in the last bits.
        """
        value, gradient = self.value_and_gradient(np.zeros(self.n_features))
        # Multiples of pi: a gradient at 0 is often a fraction with a small denominator, half-way between round numbers.
        rounded = np.rint(np.append(gradient, value) * (1000.0 / np.pi)).astype(np.int64)
        return checksum([*arrays, rounded])

    @property
    def weights(self) -> Vector:
        """Weights of the samples, >= 0, shape (n_samples,)."""
        if self._weights is None:
            self._weights = np.concatenate(self.group.each("weigh", _weights))
        return self._weights

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p(y | x; w) of each sample, not times its weight, shape (n_samples,)."""
        return np.concatenate(self.group.each("score", _sample_nlls, w))


class ChainParts(PartsObjective, ChainData):
    """NLL of a linear-chain CRF over the parts of a data set.

    It has the features of `ChainObjective` on the joined data. Parts are read twice at most: once to find out which
    attributes and labels there are, and again if the machine that has read them is lost.

    Args:
        sources: the parts of the data: a sequence, or a `Group` of them.
        features: which features there are.
        older: chain whose features and labels are features and labels as well; see `ChainObjective`.

    Raises:
        DataError: a part cannot be read, there are too many labels or features, or a sentence's labels are not allowed;
            names the part.

    Attributes:
        table: the features by name.

    Example:
        >>> from loglinear import ElasticNet, LBFGS, Problem, minimize
        >>> from loglinear.data.parts import ListedPart
        >>> from loglinear.objectives.parts import ChainParts
        >>> parts = [ListedPart("a", [[["the"], ["dog"]]], [["DET", "NOUN"]]), ListedPart("b", [[["dog"]]], [["NOUN"]])]
        >>> objective = ChainParts(parts)
        >>> result = minimize(Problem(objective, ElasticNet(l2=1.0)), LBFGS())
        >>> objective.model(result.w).labels
        ['NOUN', 'DET']
    """

    core: _core.FeatureTable

    def __init__(
        self,
        sources: Sequence[Part] | Group,
        features: ChainFeatures = ChainFeatures(),
        *,
        older: OlderChain | None = None,
    ) -> None:
        check_policy(features.invalid_labels, features.constraints, in_parts=True)
        group: Group = LocalGroup(sources) if isinstance(sources, Sequence) else sources
        encoded = group.mapped("read", EncodedPart)
        counts = encoded.joined("count", Counts.of, features.order, join=Counts.joined)
        if older is not None:
            older.check(counts.kinds[0], counts.kinds[2])
            counts = counts.joined(Counts(_core.PartCounts.of_model(older.model), counts.kinds))
        self.table = FeatureTable.of(counts, features)
        if older is not None:
            older.check_order(self.table.core.order)
        self.core = core = self.table.core
        self.label_names, self.is_binary = core.labels, core.is_binary
        self.label_type, self.format, self.template, self.columns = counts.kinds
        n_samples, self.n_tokens, self.n_entries = core.sizes
        self.n_attributes = counts.core.n_attributes
        self._label_counts: Counter[str] = sum(encoded.each("look", _label_counts), Counter())
        settled = features.settled(self.labels, lambda: are_bio(encoded.each("look", _bio_errors)))
        self.requested, self.features = features, replace(settled, order=core.order)
        table = encoded.shared("table", self.table)
        counted = [self._label_counts[name] for name in self.label_names]
        costs = cost_factors(features.class_weight, self.labels, counted)
        parts = encoded.mapped("lay-out", ChainPart, table, self.features, costs)
        self._shares: Vector | None = None
        self._largest: Vector | None = None
        super().__init__(parts, core.n_features, n_samples, is_convex=not core.is_partial)
        self.cost_constant = sum(self.group.each("look", _cost_constant))

    @property
    def survey(self) -> Survey:
        """What the data consist of, with the number of tokens of each label."""
        return super().survey._replace(counts=tuple(self._label_counts[name] for name in self.label_names))

    @property
    def n_unknown(self) -> int:
        """Number of sentences without any known label; they contribute nothing."""
        return 0 if self.is_convex else sum(self.group.each("look", _n_unknown))

    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the data and a checksum of the features, and of the gradient at weights of 0."""
        return {
            "parts": self.group.size,
            "sentences": self.n_samples,
            "tokens": self.n_tokens,
            "labels": len(self.label_names),
            "checksum": self.checksum(np.frombuffer(self.core.pack(), np.uint8)),
        }

    @property
    def has_hessian_diagonal(self) -> bool:
        """Whether `hessian_diagonal` is known: not with partial labels."""
        return self.is_convex

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return about the diagonal of the Hessian at w, shape (n_features,); see `ChainObjective.hessian_diagonal`."""
        (diagonal,) = self.group.total("curve", _hessian_diagonal, w)
        return np.asarray(diagonal)

    def largest_values(self) -> Vector | None:
        """Return the largest absolute value of each feature's attribute, shape (n_features,); None if all are 1."""
        if self._largest is None and not self.is_binary:
            self._largest = self.group.joined("measure", _largest_values, join=np.maximum)
        return self._largest

    @property
    def is_mixable(self) -> bool:
        """Whether passes can go sentence by sentence: in chains of first order."""
        return self.order == 1

    def mixed(self, w: Vector, mixing: Mixing) -> Vector:
        """Return the weights after a pass of SGD over each part from w, averaged over the parts.

        A weight is the mean over the parts that can meet its feature, by their numbers of samples.

        Source: McDonald, Hall & Mann (2010), Figure 3; see ``solvers.ParameterMixing``.
        """
        if self._shares is None:
            (self._shares,) = self.group.total("share", _share)
        (change,) = self.group.total("mix", _mixed, w, mixing)
        return np.asarray(w + change / np.maximum(self._shares, 1.0))


def _label_counts(part: EncodedPart) -> Counter[str]:
    core = part.corpus.core
    return Counter(dict(zip(core.labels, core.label_counts(), strict=True)))


def _bio_errors(part: EncodedPart) -> tuple[int, int]:
    return bio_errors(part.corpus)


def _evaluated(part: Objective, w: Vector) -> tuple[float, Vector, int]:
    return *part.value_and_gradient(w), part.n_samples


def _restricted(part: Restrictable, features: Numbers) -> Objective | None:
    return part.restrict(features)


def _weights(part: SampleLikelihoods) -> Vector:
    return np.asarray(part.weights)


def _sample_nlls(part: SampleLikelihoods, w: Vector) -> Vector:
    return np.asarray(part.sample_nlls(w))


def _n_unknown(part: ChainPart) -> int:
    return part.own.n_unknown


def _cost_constant(part: ChainPart) -> float:
    return part.own.cost_constant


def _share(part: ChainPart) -> tuple[Vector]:
    return (part.share(),)


def _hessian_diagonal(part: ChainPart, w: Vector) -> tuple[Vector]:
    return (part.hessian_diagonal(w),)


def _largest_values(part: ChainPart) -> Vector:
    return part.largest_values()


def _mixed(part: ChainPart, w: Vector, mixing: Mixing) -> tuple[Vector]:
    return (part.mixed(w, mixing),)
