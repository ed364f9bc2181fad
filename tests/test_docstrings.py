"""The examples in docstrings are true, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import loglinear
from loglinear import datasets, metrics, solvers
from loglinear.networks import inference

# The names of `loglinear`, and of its documented modules; a registry and a type have no docstring of their own.
PUBLIC = [
    *(getattr(importlib.import_module(f"loglinear.{loglinear._HOME[name]}"), name) for name in loglinear.__all__),
    *(getattr(solvers, name) for name in solvers.__all__ if name != "SOLVERS"),
    *(getattr(datasets, name) for name in datasets.__all__),
    *(getattr(metrics, name) for name in metrics.__all__ if name != "Chunk"),
    *inference.INFERENCES.values(),
    inference.make_inference,
]


def examples():
    """The docstrings with examples in all modules of the package."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in pkgutil.walk_packages(loglinear.__path__, "loglinear."):
        if module.name not in {"loglinear.__main__", "loglinear._core"}:
            found = finder.find(importlib.import_module(module.name))
            yield from (each for each in found if each.examples)


EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name.removeprefix("loglinear."))
def test_an_example_prints_what_it_says(example):
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=said.append)
    assert not runner.summarize(verbose=False).failed, "".join(said)


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_a_public_name_has_an_example(thing):
    assert ">>> " in (inspect.getdoc(thing) or ""), f"{thing.__module__}.{thing.__name__} shows no example"
    assert f"{thing.__module__}.{thing.__qualname__}" in {example.name for example in EXAMPLES}
