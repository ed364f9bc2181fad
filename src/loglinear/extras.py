"""Packages that are imported only where they are needed, and how to install one that is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NamedTuple

from .errors import MissingPackageError

__all__ = ["PACKAGES", "Package", "is_installed", "needed_by"]


class Package(NamedTuple):
    """A package that loglinear can do without.

    Attributes:
        name: its name in messages.
        extra: the extra of loglinear that installs it; empty if no extra does.
    """

    name: str
    extra: str


PACKAGES = {
    "numpy": Package("NumPy", ""),
    "scipy": Package("SciPy", "sklearn"),
    "sklearn": Package("scikit-learn", "sklearn"),
    "threadpoolctl": Package("threadpoolctl", "sklearn"),
    "jinja2": Package("Jinja2", "report"),
    "matplotlib": Package("matplotlib", "report"),
    "networkx": Package("networkx", "network"),
    "pyarrow": Package("pyarrow", ""),
    "dask": Package("Dask", "distributed"),
    "distributed": Package("Dask", "distributed"),
    "spacy": Package("spaCy", "spacy"),
    "pandas": Package("pandas", ""),
    "pgmpy": Package("pgmpy", ""),
    "polars": Package("polars", ""),
}
"""The packages by the name of their module."""


def is_installed(name: str) -> bool:
    """Whether the package with a module of this name is installed; it is not imported."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@contextmanager
def needed_by(user: str, extra: str = "") -> Iterator[None]:
    """Turn the failed import of one of the packages in the block into an error that says how to install it.

    Args:
        user: what needs the package: a class, a command, an option.
        extra: the extra of loglinear with all that the user needs, which the message names whichever package is
            missing; by default the one with the missing package.

    Raises:
        MissingPackageError: a package is not installed. A message of a block within this one stays as it is.
    """
    try:
        yield
    except MissingPackageError:
        raise
    except ModuleNotFoundError as error:
        package = PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            raise
        extra = extra or package.extra
        source = f"'loglinear[{extra}]'" if extra else package.name.lower()
        message = f"{user} needs {package.name}; install it: pip install {source}"
        raise MissingPackageError(message, name=error.name) from error
