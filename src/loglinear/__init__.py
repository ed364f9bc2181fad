"""Training of log-linear models: maximum-entropy classifiers, conditional and pairwise Markov random fields.

Names are imported when they are first used, so that the command line starts without NumPy and scikit-learn.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

from .extras import needed_by as _needed_by
from .forks import wait_at_forks as _wait_at_forks
from .version import __version__ as __version__

if TYPE_CHECKING:
    from .data.annotations.annotated_text import AnnotatedText
    from .data.annotations.columns import annotated_texts
    from .data.annotations.tools import labelled_tokens, read_annotations, write_annotations
    from .data.corpus import Corpus
    from .data.encoding import CorpusFile
    from .data.graphs import grid_edges
    from .data.templates import with_lexicons
    from .data.text_span import TextSpan
    from .data.tokenizer import Tokenizer
    from .errors import (
        ClusterError,
        ConvergenceWarning,
        DataError,
        DataWarning,
        InternalError,
        LogLinearError,
        MissingPackageError,
        ModelFileError,
        NotFittedError,
        ObjectiveError,
        OptionError,
        TemplateError,
    )
    from .metrics import evaluate
    from .minimize import minimize
    from .models.ablation import ablation
    from .models.audit import audit, out_of_fold
    from .models.chain import ChainCRF
    from .models.conditional_logit import ConditionalLogit
    from .models.files.tagging import Span, Tagging
    from .models.graph import GraphCRF
    from .models.loglinear import LogLinear
    from .models.maxent import MaxEnt
    from .models.network import PairwiseMRF
    from .models.network_comparison import compare_networks
    from .models.rank import rank
    from .models.tagger import Tagger
    from .models.text_classifier import TextClassifier
    from .models.training.checkpoint import Checkpoint
    from .objectives.chain import ChainFeatures, ChainObjective
    from .objectives.choice import ChoiceObjective
    from .objectives.classifier import ClassifierObjective
    from .path import path
    from .penalty import ElasticNet
    from .problem import Objective, Problem
    from .report.comparison import compare
    from .result import Result, Status
    from .solvers import LBFGS, OWLQN, SGDL1, TwoStage, tune_learning_rate
    from .stopping import Stop
    from .trace import Trace, TraceRecord


_HOME = {
    "AnnotatedText": "data.annotations.annotated_text",
    "annotated_texts": "data.annotations.columns",
    "labelled_tokens": "data.annotations.tools",
    "read_annotations": "data.annotations.tools",
    "write_annotations": "data.annotations.tools",
    "ClusterError": "errors",
    "ConvergenceWarning": "errors",
    "Corpus": "data.corpus",
    "CorpusFile": "data.encoding",
    "DataError": "errors",
    "DataWarning": "errors",
    "InternalError": "errors",
    "LogLinearError": "errors",
    "MissingPackageError": "errors",
    "ModelFileError": "errors",
    "NotFittedError": "errors",
    "ObjectiveError": "errors",
    "OptionError": "errors",
    "TemplateError": "errors",
    "evaluate": "metrics",
    "Stop": "stopping",
    "minimize": "minimize",
    "ablation": "models.ablation",
    "audit": "models.audit",
    "out_of_fold": "models.audit",
    "ChainCRF": "models.chain",
    "ConditionalLogit": "models.conditional_logit",
    "Checkpoint": "models.training.checkpoint",
    "ChainFeatures": "objectives.chain",
    "ChainObjective": "objectives.chain",
    "ChoiceObjective": "objectives.choice",
    "ClassifierObjective": "objectives.classifier",
    "GraphCRF": "models.graph",
    "LogLinear": "models.loglinear",
    "MaxEnt": "models.maxent",
    "PairwiseMRF": "models.network",
    "compare_networks": "models.network_comparison",
    "Span": "models.files.tagging",
    "Tagger": "models.tagger",
    "Tagging": "models.files.tagging",
    "TextSpan": "data.text_span",
    "Tokenizer": "data.tokenizer",
    "TextClassifier": "models.text_classifier",
    "grid_edges": "data.graphs",
    "path": "path",
    "rank": "models.rank",
    "ElasticNet": "penalty",
    "Objective": "problem",
    "Problem": "problem",
    "compare": "report.comparison",
    "Result": "result",
    "Status": "result",
    "LBFGS": "solvers",
    "OWLQN": "solvers",
    "SGDL1": "solvers",
    "TwoStage": "solvers",
    "tune_learning_rate": "solvers",
    "with_lexicons": "data.templates",
    "Trace": "trace",
    "TraceRecord": "trace",
}

# Names that need scikit-learn and SciPy, besides NumPy.
_NEED_SKLEARN = {
    "ChoiceObjective",
    "ClassifierObjective",
    "ConditionalLogit",
    "GraphCRF",
    "LogLinear",
    "MaxEnt",
    "PairwiseMRF",
    "TextClassifier",
    "ablation",
    "audit",
    "compare_networks",
    "grid_edges",
    "out_of_fold",
    "rank",
}

__all__ = [
    "LBFGS",
    "OWLQN",
    "SGDL1",
    "AnnotatedText",
    "ChainCRF",
    "ChainFeatures",
    "ChainObjective",
    "Checkpoint",
    "ChoiceObjective",
    "ClassifierObjective",
    "ClusterError",
    "ConditionalLogit",
    "ConvergenceWarning",
    "Corpus",
    "CorpusFile",
    "DataError",
    "DataWarning",
    "ElasticNet",
    "GraphCRF",
    "InternalError",
    "LogLinear",
    "LogLinearError",
    "MaxEnt",
    "MissingPackageError",
    "ModelFileError",
    "NotFittedError",
    "Objective",
    "ObjectiveError",
    "OptionError",
    "PairwiseMRF",
    "Problem",
    "Result",
    "Span",
    "Status",
    "Stop",
    "Tagger",
    "Tagging",
    "TemplateError",
    "TextClassifier",
    "TextSpan",
    "Tokenizer",
    "Trace",
    "TraceRecord",
    "TwoStage",
    "ablation",
    "annotated_texts",
    "audit",
    "compare",
    "compare_networks",
    "evaluate",
    "grid_edges",
    "labelled_tokens",
    "minimize",
    "out_of_fold",
    "path",
    "rank",
    "read_annotations",
    "tune_learning_rate",
    "with_lexicons",
    "write_annotations",
]


class _Package(types.ModuleType):
    """A package in which a function hides the module of the same name: `loglinear.minimize` is the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
_wait_at_forks()


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    with _needed_by(f"{__name__}.{name}", "sklearn" if name in _NEED_SKLEARN else ""):
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
