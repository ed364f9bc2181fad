"""CRFsuite's version, whose files are read and written, and the error of its training."""

from __future__ import annotations

from ...errors import LogLinearError

__all__ = ["CRFSUITE_VERSION", "CRFSuiteError"]

CRFSUITE_VERSION = "0.12.2"

# The first of CRFsuite's codes of errors: the others follow it one by one.
_FIRST = -(2**31)
_MESSAGES = (
    "Unknown error occurred",
    "Insufficient memory",
    "Unsupported operation",
    "Incompatible data",
    "Internal error",
    "Overflow",
    "Not implemented",
)


class CRFSuiteError(LogLinearError):
    """A training that failed.

    Args:
        code: CRFsuite's number of the error.

    Example:
        >>> from loglinear.compat.pycrfsuite import CRFSuiteError
        >>> print(CRFSuiteError(-2147483645))
        Incompatible data
    """

    def __init__(self, code: int) -> None:
        self.code = code
        has_message = _FIRST <= code < _FIRST + len(_MESSAGES)
        super().__init__(_MESSAGES[code - _FIRST] if has_message else "Unexpected error")

    def __reduce__(self) -> tuple[type[CRFSuiteError], tuple[int]]:
        """Return how to pickle the error: by its code."""
        return type(self), (self.code,)
