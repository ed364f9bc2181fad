"""The interface of python-crfsuite, for programs that change an import and nothing else."""

from ._trainer import BaseTrainer, CRFSuiteError, Trainer

__all__ = ["BaseTrainer", "CRFSuiteError", "Trainer"]
