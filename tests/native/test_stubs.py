"""The stubs of the native module declare what it has: every class, function, member and argument."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import loglinear
from loglinear import _core

STUBS = sorted((Path(loglinear.__file__).parent / "_core").glob("*.pyi"))
# Members with two underscores that users meet.
SPECIAL = {"__len__", "__arrow_c_array__"}


def declared() -> dict[str, tuple[Path, ast.stmt]]:
    """Public name -> its stub and its declaration; every name stands in one file."""
    found: dict[str, tuple[Path, ast.stmt]] = {}
    for path in STUBS:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                name = node.name
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            else:
                continue
            assert name not in found, f"{name} is declared twice"
            found[name] = path, node
    return found


DECLARED = declared()
CLASSES = [name for name, (_, node) in DECLARED.items() if isinstance(node, ast.ClassDef)]


def members(path: Path, name: str) -> dict[str, ast.FunctionDef]:
    """The methods and properties of a class that a file defines or imports; its protocols' too, not a native base's."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and node.name == name:
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            bases = [base for base in bases if path.suffix == ".py" or base not in DECLARED]
            found = {member: each for base in bases for member, each in members(path, base).items()}
            return found | {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        if isinstance(node, ast.ImportFrom) and node.level and name in {alias.name for alias in node.names}:
            module = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            return members(module / "__init__.py" if module.is_dir() else module.with_suffix(".py"), name)
    return {}  # a class of another package


def arguments(node: ast.FunctionDef) -> list[tuple[str, bool]]:
    """The arguments of a declaration, and whether they have to be named."""
    positional = [*node.args.posonlyargs, *node.args.args]
    names = [(each.arg, False) for each in positional] + [(each.arg, True) for each in node.args.kwonlyargs]
    return [(name.removesuffix("_"), named) for name, named in names if name not in ("self", "cls")]


def of_signature(function: object) -> list[tuple[str, bool]]:
    """The same of a native function, by its text: `(x, y, /, *, z=0)`."""
    text = str(getattr(function, "__text_signature__", ""))
    found, named = [], False
    for part in text.strip("()").split(", "):
        name = part.partition("=")[0]
        named = named or name == "*"
        if name and name.isidentifier():
            found.append((name, named))
    return found


def test_every_name_of_the_module_is_declared_and_exported():
    assert {*DECLARED} == {name for name in vars(_core) if not name.startswith("__")}
    (init,) = [path for path in STUBS if path.name == "__init__.pyi"]
    tree = ast.parse(init.read_text(encoding="utf-8"))
    exported = [alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(map(str, exported)) == sorted(DECLARED)


@pytest.mark.parametrize("name", CLASSES)
def test_every_member_of_a_class_is_declared_with_its_arguments(name):
    kind, of_class = getattr(_core, name), members(DECLARED[name][0], name)
    native = {member: value for member, value in vars(kind).items() if not member.startswith("__") or member in SPECIAL}
    assert (of_class.keys() ^ native.keys()) - {"__init__"} == set()
    for member, value in native.items():
        decorators = [each.id for each in of_class[member].decorator_list if isinstance(each, ast.Name)]
        is_property = "property" in decorators
        assert is_property == inspect.isdatadescriptor(value), member
        if not is_property and member not in SPECIAL:
            assert arguments(of_class[member]) == of_signature(getattr(kind, member)), member


@pytest.mark.parametrize("name", [name for name, (_, node) in DECLARED.items() if isinstance(node, ast.FunctionDef)])
def test_every_function_is_declared_with_its_arguments(name):
    _, node = DECLARED[name]
    assert isinstance(node, ast.FunctionDef)
    assert arguments(node) == of_signature(getattr(_core, name))
