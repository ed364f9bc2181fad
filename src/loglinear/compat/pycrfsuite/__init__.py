"""python-crfsuite's module: its classes, arguments, defaults, exceptions and small print.

A program changes one line, ``from loglinear.compat import pycrfsuite`` in place of ``import pycrfsuite``. Models may
be from CRFsuite or from loglinear. Importing it imports neither NumPy nor scikit-learn, and the trainers only when they
are used: programs that label one text are started often.

Departures from python-crfsuite:

- a value of an attribute that is not finite is an error, where the peer continues;
- text in bytes that is not UTF-8 is an error, and the character NUL does not end a text;
- a tagger without a model raises ValueError, where the peer crashes;
- the lines of the training log that tell CRFsuite's trials of learning rates are missing, and seconds are of the wall
  clock; a line search has other steps;
- a parameter keeps all its digits, and a value that is not a number is a ValueError, where the peer takes it for 0;
- a model that cannot be written is an OSError, where the peer says nothing;
- wrong items are TypeErrors themselves, not the causes of SystemErrors, and leave the tagger's sequence as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import CRFSUITE_VERSION, CRFSuiteError
from ._items import ItemSequence
from ._tagger import Tagger

if TYPE_CHECKING:
    from ._trainer import BaseTrainer, Trainer

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]


def __getattr__(name: str) -> Any:
    if name not in ("BaseTrainer", "Trainer"):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from . import _trainer

    globals()[name] = value = getattr(_trainer, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
