"""The interfaces of other programs, for code that is to change an import and nothing else, or not even that."""

from ._install import install, uninstall

__all__ = ["install", "uninstall"]
