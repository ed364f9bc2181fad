"""The interface of sklearn-crfsuite, for programs that change an import and nothing else."""

from .estimator import CRF

__all__ = ["CRF"]
