"""Modules with the names and habits of other programs' Python modules, over loglinear's models and solvers."""

from ._install import install, uninstall

__all__ = ["install", "uninstall"]
