"""Passes sample by sample."""

from typing import Protocol

from ..compat.pycrfsuite._online import OnlinePasses
from ..solvers import NativePasses

class SamplePasses(NativePasses, OnlinePasses, Protocol):
    """An objective as solvers see it that go sample by sample; the solvers declare the passes."""

    @property
    def n_threads(self) -> int: ...
    @property
    def n_unpenalised(self) -> int: ...
