"""Training around the weights of an older model: the penalty is l1 |w - c|_1 + (strength / 2) |w - c|^2."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import OptionError
from ...objectives.older import OlderChain
from ...options import fail, strength
from .start import Start

if TYPE_CHECKING:
    from ...objectives.chain import ChainData
    from ...problem import Objective, Problem
    from ...result import Prior, Result
    from ...vectors import Vector
    from .run import DevData

__all__ = ["Centre", "ChainPrior", "check_prior"]


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
        message = "both start and prior are given; training with a prior starts at its weights, so leave out start"
        raise OptionError(message)
    if prior_strength is not None and prior_strength != math.inf:
        strength("prior_strength", prior_strength)


@dataclass(frozen=True)
class Centre:
    """The weights at which the penalty of a training is centred.

    Attributes:
        weights: of all features, shape (n_features,).
        account: what they were taken from, and the strength of the penalty.
    """

    weights: Vector
    account: Prior

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

        return Problem(from_prior(objective, self.weights), ElasticNet(l1, self.account.strength), n_classes)

    def scoring(self, dev: DevData | None) -> DevData | None:
        """Return development data that are scored by the change of the weights."""
        return None if dev is None else replace(dev, score=lambda change: dev.score(self.weights + change))

    def result(self, result: Result) -> Result:
        """Return the result with weights in place of their change."""
        from ...vectors import count_nonzero

        result = replace(result, w=self.weights + result.w, prior=self.account)
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


class ChainPrior:
    """A trained chain, at whose weights the penalty of the training of another one is centred.

    Args:
        start: the trained chain.
        strength: strength of the L2 penalty around its weights, infinite for the weights as they are; None for l2.
    """

    def __init__(self, start: Start, strength: float | None) -> None:
        self._start, self.strength = start, strength

    @property
    def older(self) -> OlderChain:
        """The trained chain, whose features are features of the new one."""
        return OlderChain(self._start.model, self._start.label_type, self._start.name)

    @classmethod
    def open(cls, path: str | os.PathLike[str], strength: float | None) -> ChainPrior:
        """Open the file of a model; see `Start.open` for errors."""
        return cls(Start.open(path), strength)

    @property
    def start(self) -> Start:
        """The trained chain, whose template new data are read with."""
        return self._start

    def centre(self, data: ChainData, l2: float) -> Centre:
        """Return the weights for the features of data.

        Args:
            data: sentences whose features include all features of the trained chain.
            l2: strength of the penalty if none was given.
        """
        from ...result import Prior

        w, n_shared = data.start_weights(self._start.model)
        old_labels = {*self._start.model.labels}
        new_labels = [label for label in data.label_names if label not in old_labels]
        used = l2 if self.strength is None else float(self.strength)
        return Centre(w, Prior(self._start.name, used, n_shared, data.n_features, new_labels))
