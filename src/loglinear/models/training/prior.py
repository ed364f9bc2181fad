"""Training around the weights of an older model: the penalty is l1 |w - c|_1 + (strength / 2) |w - c|^2."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...errors import OptionError
from ...objectives.older import OlderChain
from ...options import fail, strength
from ...problem import Curved
from ...protocols import satisfies
from .start import Start, warn_of_lost

if TYPE_CHECKING:
    from ...objectives.chain import ChainData
    from ...problem import Objective, Problem
    from ...result import Prior, Result
    from ...vectors import Vector
    from ..files.chain import ChainModel

__all__ = [
    "Centre",
    "ChainEvidence",
    "ChainPrior",
    "check_pieces",
    "check_prior",
    "estimated",
    "n_seen_by",
]

# The strongest finite prior: beyond it, steps are so short that line searches fail.
MOST_STRENGTH = 1e6


class WithDiagonal(Protocol):
    """An objective that knows the diagonal of its Hessian."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return about the diagonal of the Hessian at w, shape (n_features,)."""


def check_prior(start: object, prior: object, prior_strength: object) -> None:
    """Check the arguments of a training that concern a prior, before data are read.

    Raises:
        OptionError: a model to start from is given as well, there is a strength without a prior, or the strength is
            neither a number >= 0 nor infinite.
    """
    if prior is None:
        if prior_strength is not None:
            fail("prior_strength", prior_strength, "needs a prior; give the older model as prior (--prior)")
        return
    if start is not None:
        message = "both start and prior are given; training with a prior starts at its weights, so leave out start "
        message += "(--start)"
        raise OptionError(message)
    if prior_strength is None or prior_strength == math.inf:
        return
    try:
        fits = strength("prior_strength", prior_strength) <= MOST_STRENGTH
    except OptionError:
        fits = False
    if not fits:
        range = f"a number from 0 to {MOST_STRENGTH:g}, or prior_strength=math.inf (--prior-strength inf) to keep the "
        range += "older weights"
        fail("prior_strength", prior_strength, f"is out of range; give {range}")


@dataclass(frozen=True)
class Centre:
    """The weights at which the penalty of a training is centred.

    Attributes:
        weights: of all features, shape (n_features,).
        account: what they were taken from, and the strength of the penalty.
        precision: strength of the L2 penalty of each weight, > 0, shape (n_features,); None for one strength.
    """

    weights: Vector
    account: Prior
    precision: Vector | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether the penalty is infinite."""
        return math.isinf(self.account.strength)

    def problem(self, objective: Objective, l1: float, n_classes: int) -> Problem:
        """Return the problem of the change of the weights. The intercept bears the penalty too: its old value counts.

        Args:
            objective: of the weights.
            l1: strength of the L1 penalty.
            n_classes: see `loglinear.Problem`.
        """
        from ...objectives.prior import from_prior
        from ...penalty import ElasticNet
        from ...problem import Problem

        if self.precision is not None:  # weights of a column have units of their own, so that they cannot be centred
            return Problem(from_prior(objective, self.weights, units=self.precision**-0.5), ElasticNet(l2=1.0))
        return Problem(from_prior(objective, self.weights), ElasticNet(l1, self.account.strength), n_classes)

    def at(self, change: Vector) -> Vector:
        """Return weights from their change, in its units, shape (n_features,)."""
        return self.weights + (change if self.precision is None else change / self.precision**0.5)

    def result(self, result: Result) -> Result:
        """Return the result with weights in place of their change."""
        from ...vectors import count_nonzero

        result = replace(result, w=self.at(result.w), prior=self.account)
        result.record.nnz = count_nonzero(result.w)
        return result

    def unchanged(self, objective: Objective) -> Result:
        """Return the result of a training whose penalty is infinite: the old weights."""
        from ...result import Result, Status
        from ...trace import Trace, TraceRecord
        from ...vectors import count_nonzero

        nll = float(objective.value_and_gradient(self.weights)[0])
        record = TraceRecord(0, 1.0, 1, 0.0, nll, nll, count_nonzero(self.weights), 0.0)
        return Result(
            w=self.weights.copy(),
            status=Status.CONVERGED,
            trace=Trace([record]),
            objective=nll,
            nll=nll,
            violation=0.0,
            iterations=0,
            passes=1.0,
            gradient_evaluations=1,
            seconds=0.0,
            state=None,
            prior=self.account,
            gap=0.0,
        )


def estimated(data: WithDiagonal, w: Vector, n_seen: int, n_samples: int) -> Vector:
    """Return about the diagonal of the Hessian of samples that are not there any more, shape (n_features,).

    They are taken to be like the samples of the data. Weights of 0 are taken for new ones, which they say nothing of.

    Args:
        data: an objective that knows the diagonal of its Hessian.
        w: weights that the samples have led to, shape (n_features,).
        n_seen: number of the samples.
        n_samples: number of samples of the data.
    """
    information: Vector = data.hessian_diagonal(w) * (n_seen / n_samples) * (w != 0.0)
    return information


def check_pieces(l2: float) -> None:
    """Raise OptionError if pieces of data cannot be learned one after the other with this penalty."""
    if not l2:
        message = "partial_fit needs l2 > 0: without a penalty, a small piece may make weights grow without limit"
        raise OptionError(message)


def n_seen_by(training: Mapping[str, Any] | None) -> int:
    """Return the number of samples that a model has seen, from the summary of its training.

    Raises:
        OptionError: the model does not say it.
    """
    n_samples = {} if training is None else training
    for name in ("n_samples", "n_sentences"):
        if name in n_samples:
            return int(n_samples[name]) + int((n_samples.get("prior") or {}).get("n_seen") or 0)
    message = "the model does not say how many samples it has seen; use fit(..., prior=model, prior_strength=10)"
    raise OptionError(message)


class ChainEvidence:
    """What former pieces of data say of the weights of a chain: the diagonals of their Hessians, added up.

    Args:
        n_seen: number of sentences.
        sums: the sums in place of the weights of a chain; None to estimate them from the next piece.
    """

    def __init__(self, n_seen: int, sums: ChainModel | None) -> None:
        self.n_seen, self.sums = n_seen, sums

    def information(self, data: ChainData, w: Vector) -> Vector:
        """Return the sums for the features of data, shape (n_features,).

        Raises:
            OptionError: labels are partial.
        """
        objective: object = data
        if not (satisfies(objective, Curved) and objective.has_hessian_diagonal):
            message = "partial_fit is not available for partial labels; use fit(..., prior=model, prior_strength=10)"
            raise OptionError(message)
        if self.sums is not None:
            return data.start_weights(self.sums)[0]
        return estimated(cast(WithDiagonal, data), w, self.n_seen, data.n_samples)

    def with_data(self, data: ChainData, information: Vector, w: Vector) -> ChainEvidence:
        """Return the evidence of the former pieces and of data that have led to weights."""
        curvature = cast(WithDiagonal, data).hessian_diagonal(w)
        return ChainEvidence(self.n_seen + data.n_samples, data.model(information + curvature))


class ChainPrior:
    """A trained chain, at whose weights the penalty of the training of another one is centred.

    Args:
        start: the trained chain.
        strength: strength of the L2 penalty around its weights, infinite for the weights as they are; None for l2.
        evidence: what former pieces of data say, which adds to the strength.

    Attributes:
        learned: the evidence after a training.
    """

    def __init__(self, start: Start | None, strength: float | None, evidence: ChainEvidence | None = None) -> None:
        self.start, self.strength, self._evidence = start, strength, evidence
        self.learned: ChainEvidence | None = None

    @property
    def older(self) -> OlderChain | None:
        """The trained chain, whose features are features of the new one."""
        start = self.start
        return None if start is None else OlderChain(start.model, start.label_type, start.name)

    @classmethod
    def open(cls, path: str | os.PathLike[str], strength: float | None) -> ChainPrior:
        """Open the file of a model; see `Start.open` for errors."""
        return cls(Start.open(path), strength)

    def centre(self, data: ChainData, l2: float) -> Centre:
        """Return the weights for the features of data.

        Args:
            data: sentences whose features include all features of the trained chain.
            l2: strength of the penalty if none was given.
        """
        import numpy as np

        from ...result import Prior

        used = l2 if self.strength is None else float(self.strength)
        n_seen = None if self._evidence is None else self._evidence.n_seen
        if self.start is None:
            w, prior = np.zeros(data.n_features), Prior("weights of 0", used, 0, data.n_features, [], n_seen)
        else:
            w, old = self.start.shared(data)
            prior = Prior(old.model, used, old.n_shared, old.n_features, old.new_labels, n_seen)
        if self._evidence is None:
            return Centre(w, prior)
        return Centre(w, prior, used + self._evidence.information(data, w))

    def warn_of_lost(self, *, has_bias: bool = False) -> None:
        """Warn of biases and a temperature of the trained chain, unless the new one ``has_bias`` as well."""
        if self.start is not None:
            warn_of_lost(self.start.name, json.loads(self.start.model.settings), has_bias=has_bias)

    def learn(self, data: ChainData, centre: Centre, w: Vector) -> None:
        """Add what data say of the weights to which they have led."""
        if self._evidence is not None and centre.precision is not None:
            self.learned = self._evidence.with_data(data, centre.precision - centre.account.strength, w)
