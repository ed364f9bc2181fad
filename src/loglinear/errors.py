"""Exceptions of the library.

Every exception names the offending value, its place and the remedy. The tree::

    LogLinearError (Exception)         base class of all others
     +-- DataError (ValueError)        an input file or data set that cannot be used
     +-- TemplateError (ValueError)    a feature template that cannot be understood
     +-- ModelFileError (ValueError)   a damaged, truncated or foreign model file
     +-- OptionError (ValueError)      an option out of its range, or options that contradict each other
     +-- ObjectiveError (ArithmeticError)  an objective or gradient that is not finite where training starts

Not reaching an optimum is no exception: it is a ``Status`` of the result.
"""

from __future__ import annotations

__all__ = ["DataError", "LogLinearError", "ModelFileError", "ObjectiveError", "OptionError", "TemplateError"]


class LogLinearError(Exception):
    """Base class of every exception that the library raises on purpose."""


class DataError(LogLinearError, ValueError):
    """An input file or data set that cannot be used."""


class TemplateError(LogLinearError, ValueError):
    """A feature template that cannot be understood."""


class ModelFileError(LogLinearError, ValueError):
    """A model file that is damaged, truncated, or of another program."""


class OptionError(LogLinearError, ValueError):
    """An option out of its range, or options that contradict each other."""


class ObjectiveError(LogLinearError, ArithmeticError):
    """An objective or a gradient that is not finite where training starts."""
