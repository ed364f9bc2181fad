"""The interface of sklearn-crfsuite, for programs that change an import and nothing else."""

from ...extras import needed_by

with needed_by("loglinear.compat.sklearn_crfsuite", "sklearn"):
    from .estimator import CRF

__all__ = ["CRF"]
