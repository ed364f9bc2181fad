"""Imports of python-crfsuite and sklearn-crfsuite that lead here, for programs that cannot be edited."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["install", "uninstall"]

_HERE = __name__.rpartition(".")[0]
# The peers' modules -> the modules here, below this package.
_MODULES = {
    "pycrfsuite": "pycrfsuite",
    "pycrfsuite._pycrfsuite": "pycrfsuite",
    "pycrfsuite._logparser": "pycrfsuite._logparser",
    "pycrfsuite._dumpparser": "pycrfsuite._dump",
    "sklearn_crfsuite": "sklearn_crfsuite",
    "sklearn_crfsuite.estimator": "sklearn_crfsuite.estimator",
    "sklearn_crfsuite.metrics": "sklearn_crfsuite.metrics",
    "sklearn_crfsuite.scorers": "sklearn_crfsuite.scorers",
    "sklearn_crfsuite.trainer": "sklearn_crfsuite.trainer",
    "sklearn_crfsuite.utils": "sklearn_crfsuite._sequences",
}


class _Finder:
    """Finds the modules of this package under the peers' names and imports them on demand.

    It does not derive from `importlib.abc`, whose import takes as long as this whole package.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a peer's module; None for others."""
        if fullname not in _MODULES:
            return None
        loader: Any = self
        return ModuleSpec(fullname, loader, origin=f"{_HERE}.{_MODULES[fullname]}", is_package="." not in fullname)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module here that replaces a peer's module."""
        module = importlib.import_module(str(spec.origin))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import has replaced."""
        spec = module.__spec__
        loader: Any = None if spec is None else spec.loader
        if spec is not None and loader is self:
            module.__spec__ = spec.loader_state


_FINDER = _Finder()


def install() -> None:
    """Let `import pycrfsuite` and `import sklearn_crfsuite` lead to `loglinear.compat` in this process.

    Modules are imported when they are asked for, so that a program that needs the tagger alone does not import NumPy.
    A second call changes nothing.

    Raises:
        ImportError: one of the peers has been imported already; objects of both would get mixed up.

    Example:
        >>> import subprocess, sys
        >>> program = "from loglinear import compat; compat.install(); import pycrfsuite; print(pycrfsuite.Trainer)"
        >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
        <class 'loglinear.compat.pycrfsuite._trainer.Trainer'>
    """
    for name in ("pycrfsuite", "sklearn_crfsuite"):
        if name in sys.modules and not _is_ours(name):
            message = f"{name} has already been imported; call loglinear.compat.install() before it is imported"
            raise ImportError(message)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Undo `install`: the peers' names lead to the peers again, if these are there."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name in _MODULES:
        if name in sys.modules and _is_ours(name):
            del sys.modules[name]


def _is_ours(name: str) -> bool:
    """Whether a peer's module that has been imported is the module here."""
    return sys.modules[name] is sys.modules.get(f"{_HERE}.{_MODULES[name]}")
