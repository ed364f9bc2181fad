"""Exceptions of the library.

Every exception names the offending value, its place and the remedy. The tree::

    LogLinearError (Exception)         base class of all others
     +-- DataError (ValueError)        an input file or data set that cannot be used
     +-- TemplateError (ValueError)    a feature template that cannot be understood
     +-- ModelFileError (ValueError)   a damaged, truncated or foreign model file
     +-- OptionError (ValueError)      an option out of its range, or options that contradict each other
     +-- NotFittedError (ValueError, AttributeError)  an estimator that is used before it is fitted
     +-- MissingPackageError (ModuleNotFoundError)  a package that is not installed, of an extra
     +-- ClusterError (RuntimeError)   a cluster that is gone, or whose machines cannot do the work
     +-- ObjectiveError (ArithmeticError)  an objective or gradient that is not finite where training starts

A mistake of the library itself, which should be reported, is an InternalError (RuntimeError).

Not reaching an optimum is not an exception: it is a ``Status`` of the result. Data that can be used but look wrong give
a `DataWarning`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .visible import visible

__all__ = [
    "ClusterError",
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "InternalError",
    "LogLinearError",
    "MissingPackageError",
    "ModelFileError",
    "NotFittedError",
    "ObjectiveError",
    "OptionError",
    "TemplateError",
    "in_argument",
    "warn",
    "warnings_kept",
]


class LogLinearError(Exception):
    """Base class of every exception that the library raises on purpose.

    Example:
        >>> from loglinear import ElasticNet, LogLinearError
        >>> try:
        ...     ElasticNet(l1=-1.0)
        ... except LogLinearError as error:
        ...     print(error)
        l1=-1.0 is not a valid penalty; give a finite number >= 0 (0 for no penalty)
    """

    def __str__(self) -> str:
        """Return the message; names in it may contain control characters, which are escaped."""
        return visible(super().__str__())


class DataError(LogLinearError, ValueError):
    """An input file or data set that cannot be used.

    Example:
        >>> from loglinear import Corpus
        >>> Corpus.encode([["Dogs", "bark"]], [["NOUN"]], template="pos")
        Traceback (most recent call last):
            ...
        loglinear.errors.DataError: sentence 0: 2 tokens but 1 label
    """


class DataWarning(UserWarning):
    """Data that are well-formed but look wrong, such as labels of which a third occur once.

    Example:
        >>> import warnings
        >>> from loglinear import ChainCRF, DataWarning
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", DataWarning)
        ...     crf = ChainCRF().fit([[["a"], ["b"]]], [["A", "A"]])
    """


class TemplateError(LogLinearError, ValueError):
    """A feature template that cannot be understood.

    Example:
        >>> from loglinear import Corpus
        >>> Corpus.encode([["Dogs"]], [["NOUN"]], template="X:%x[0,0]")
        Traceback (most recent call last):
            ...
        loglinear.errors.TemplateError: template line 1: a line must start with U, B, *, T, C or # in: X:%x[0,0]
    """


class ModelFileError(LogLinearError, ValueError):
    """A model file that is damaged, truncated, or of another program.

    Example:
        >>> import tempfile
        >>> from loglinear import ChainCRF
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     ChainCRF.load(file.name)
        Traceback (most recent call last):
            ...
        loglinear.errors.ModelFileError: ...: the file is empty, not a loglinear model
    """


class OptionError(LogLinearError, ValueError):
    """An option out of its range, or options that contradict each other.

    Example:
        >>> from loglinear import LBFGS
        >>> LBFGS(memory=0)
        Traceback (most recent call last):
            ...
        loglinear.errors.OptionError: memory=0 is not a whole number from 1 to 1000
    """


class MissingPackageError(LogLinearError, ModuleNotFoundError):
    """A package that is not installed, and without which something cannot be done; says how to install it.

    Example:
        >>> from loglinear import MissingPackageError
        >>> from loglinear.extras import needed_by
        >>> try:
        ...     with needed_by("loglinear.MaxEnt"):
        ...         raise ModuleNotFoundError(name="sklearn")
        ... except MissingPackageError as error:
        ...     print(error)
        loglinear.MaxEnt needs scikit-learn; install it: pip install 'loglinear[sklearn]'
    """


class ClusterError(LogLinearError, RuntimeError):
    """A cluster that is gone, or whose machines cannot do the work.

    Example:
        >>> from loglinear import ClusterError
        >>> try:
        ...     raise ClusterError("the cluster at tcp://10.0.0.1:8786 does not answer")
        ... except RuntimeError as error:
        ...     print(error)
        the cluster at tcp://10.0.0.1:8786 does not answer
    """


class ObjectiveError(LogLinearError, ArithmeticError):
    """An objective or a gradient that is not finite where training starts.

    Example:
        >>> import numpy as np
        >>> from loglinear import LBFGS, ClassifierObjective, Problem, minimize
        >>> objective = ClassifierObjective([[1e300], [-1e300]], [0, 1], n_classes=2, intercept=False)
        >>> minimize(Problem(objective), LBFGS(), [1e300])
        Traceback (most recent call last):
            ...
        loglinear.errors.ObjectiveError: the objective is inf at the starting point; ...
    """


class NotFittedError(LogLinearError, ValueError, AttributeError):
    """An estimator that is used before it is fitted; once scikit-learn is imported, it is its NotFittedError as well.

    Example:
        >>> from loglinear import ChainCRF, NotFittedError
        >>> try:
        ...     ChainCRF().predict([["a"]])
        ... except NotFittedError as error:
        ...     print(error)
        this ChainCRF is not fitted; call fit or load a model
    """


class InternalError(RuntimeError):
    """A mistake of the library itself: native code has panicked.

    Example:
        >>> from loglinear import InternalError
        >>> print(InternalError("index out of bounds"))
        internal error, please report it: index out of bounds
    """

    __slots__ = ()  # so that the exception of panics can derive from it

    def __str__(self) -> str:
        """Return the message, and what to do."""
        return visible(f"internal error, please report it: {super().__str__()}")

    def __reduce__(self) -> tuple[type[InternalError], tuple[object, ...]]:
        """Return what pickle needs; the exception of panics, which no module has, becomes one of these."""
        return InternalError, self.args


class ConvergenceWarning(UserWarning):
    """A training that ended before it converged; once scikit-learn is imported, it is its ConvergenceWarning as well.

    Filters of either class work. scikit-learn is never imported for the sake of a warning.

    Example:
        >>> import warnings
        >>> from loglinear import ChainCRF, ConvergenceWarning
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", ConvergenceWarning)
        ...     crf = ChainCRF(max_iterations=1).fit([[["a"], ["b"]]], [["A", "B"]])
    """


# Warnings that `warn` keeps in place of giving them, on the thread that asked for it.
_kept: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("kept", default=None)


@contextmanager
def warnings_kept() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Keep what `warn` is called with, in a list, for another thread to warn: one that the program has called."""
    messages: list[tuple[str, type[Warning]]] = []
    token = _kept.set(messages)
    try:
        yield messages
    finally:
        _kept.reset(token)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line of the program that called the library.

    Args:
        message: text of the warning.
        category: class of the warning.
    """
    message = visible(message)
    messages = _kept.get()
    if messages is not None:
        messages.append((message, category))
        return
    depth, frame = 1, sys._getframe()
    package = __name__.partition(".")[0]
    # Code that `exec` runs may have no name.
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)


@contextmanager
def in_argument(name: str) -> Iterator[None]:
    """Put the name of an argument before what is wrong with its data, unless the message has it."""
    try:
        yield
    except DataError as error:
        if name in str(error):
            raise
        message = f"{name}: {error}"
        raise DataError(message) from error
