"""What the package exports, and what importing it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import loglinear
from oracles.patience import patience

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(loglinear.__path__, "loglinear.")
    if module.name not in {"loglinear.__main__", "loglinear._core"}
)


def run(code, *arguments):
    """Run Python in a process of its own; return what it prints."""
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(60), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_is_what_the_package_exports():
    assert len(set(loglinear.__all__)) == len(loglinear.__all__)
    assert set(loglinear.__all__) <= set(dir(loglinear))
    for name in loglinear.__all__:
        assert getattr(loglinear, name) is not None
    exported = {name for name in dir(loglinear) if not name.startswith("_")}
    modules = {name for name in exported if inspect.ismodule(getattr(loglinear, name))}
    assert exported - modules - {"Any", "TYPE_CHECKING", "annotations"} == set(loglinear.__all__) - modules


def test_type_checkers_see_what_the_package_exports():
    tree = ast.parse(Path(loglinear.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {alias.name: node.module for node in block.body for alias in node.names}
    assert set(imported) == set(loglinear.__all__)
    for name, module in imported.items():
        home = importlib.import_module(f"loglinear.{module}")
        assert name in getattr(home, "__all__", vars(home)), f"{name} is not in {module}.__all__"


def test_a_name_is_the_object_of_its_module_whatever_was_imported_before():
    code = """if True:
        import importlib, inspect, pkgutil
        import loglinear
        # An import of any other module sets no name of the package that it exports.
        modules = {module.name for module in pkgutil.iter_modules(loglinear.__path__)} & {*loglinear.__all__}
        for module in modules:
            importlib.import_module(f"loglinear.{module}")
        print("minimize" in modules, [name for name in modules if inspect.ismodule(getattr(loglinear, name))])
    """
    assert run(code).strip() == "True []"


def test_minimize_is_the_function_beside_any_other_import():
    code = """if True:
        import sys
        for first in ("ChainCRF", "LBFGS", "Stop", "Corpus"):
            for module in [name for name in sys.modules if name.split(".")[0] == "loglinear"]:
                if module != "loglinear._core":  # which may be initialised once in a process
                    del sys.modules[module]
            exec(f"from loglinear import {first}, minimize")
            print(callable(minimize))
    """
    assert run(code).split() == ["True"] * 4


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = loglinear.nonsense


def test_a_module_has_a_docstring_and_all_that_holds():
    for module in map(importlib.import_module, MODULES):
        assert module.__doc__, module
        for public in getattr(module, "__all__", []):
            assert hasattr(module, public), (module, public)


@pytest.mark.parametrize("name", loglinear.__all__)
def test_a_public_name_and_its_public_members_have_docstrings(name):
    home = importlib.import_module(f"loglinear.{loglinear._HOME[name]}")
    thing = getattr(home, name)
    assert thing.__doc__
    if not inspect.isclass(thing):
        return
    # Dataclasses without a docstring get their signature as one.
    assert not thing.__doc__.startswith(f"{name}(")
    for base, (member, value) in itertools.chain.from_iterable(
        itertools.product([base], vars(base).items())
        for base in thing.__mro__
        if base.__module__.startswith("loglinear")
    ):
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not member.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
            assert function.__doc__, f"{base.__name__}.{member}"


def test_the_version_is_that_of_the_metadata():
    from importlib.metadata import version

    assert loglinear.__version__ == version("loglinear")


HEAVY = "{'numpy', 'sklearn', 'scipy', 'rich', 'pandas'}"


def test_tagging_does_not_import_what_is_heavy(tmp_path):
    model = tmp_path / "model"
    crf = loglinear.ChainCRF(template="U:%x[0,0]\nB\n").fit([["a", "b"], ["b"]], [["A", "B"], ["B"]])
    crf.save(model)
    (tmp_path / "in.txt").write_text("a\nb\n\nb\n", encoding="utf-8")
    code = f"""if True:
        import sys
        import loglinear.cli.main
        loglinear.cli.main.main(["tag", "--format", "columns", "--model", *sys.argv[1:]])
        print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)
        assert not {HEAVY} & set(sys.modules), sorted({HEAVY} & set(sys.modules))
    """
    assert run(code, model, tmp_path / "in.txt") == "a\tA\nb\tB\n\nb\tB\n\n"


def test_importing_does_not_import_what_is_heavy():
    code = f"import sys, loglinear, loglinear.cli, loglinear.errors; print(sorted({HEAVY} & set(sys.modules)))"
    assert run(code).strip() == "[]"
