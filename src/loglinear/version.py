"""The version of the package, which model files name."""

__version__ = "0.1.0"
