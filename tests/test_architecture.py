"""The floors of the house: imports go downward only, no two files need each other, few files name the native module.

Read from the sources, `TYPE_CHECKING` blocks included; of the native half everything but its unit tests. Benchmarks
have floors too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON, NATIVE, BENCHMARKS = ROOT / "src" / "loglinear", ROOT / "native" / "src", ROOT / "benchmarks"

# From the ground up; a floor may use those below it and itself, not those beside it in another tuple that come later.
PYTHON_FLOORS = (
    ("_core", "version", "errors", "visible", "display_width"),
    ("text_file",),
    ("options", "protocols", "vectors", "memory", "replacing", "extras", "processor", "forks"),
    ("schema", "display"),
    ("penalty", "trace"),
    ("problem", "result"),
    ("gap", "gain"),
    ("certificate", "stopping"),
    ("solvers",),
    ("minimize",),
    ("path",),
    ("bootstrap", "data", "calibration", "metrics", "schemes", "score_tables", "constraints"),
    ("networks",),
    ("tables",),
    ("objectives", "datasets", "report"),
    ("models",),
    ("compat", "dask", "server", "spacy"),
    ("cli",),
    ("__init__", "__main__"),
)
NATIVE_FLOORS = (
    ("error", "memory"),
    ("threads",),
    ("numeric",),
    ("files",),
    ("corpus",),
    ("text",),
    ("chain",),
    ("foreign",),
    ("classifier",),
    ("network",),
    ("stochastic",),
    ("c_api",),
    ("fuzzing",),
    ("bindings",),
    ("lib",),
)
# The scripts above what they are made of.
BENCHMARK_FLOORS = (("papers", "peers"), tuple(path.stem for path in BENCHMARKS.glob("*.py")))
# Rooms with floors of their own. "*" is the floor of the files that no other floor names: in models/, the estimators.
ROOMS: dict[str, dict[str, tuple[tuple[str, ...], ...]]] = {
    "python": {
        "models": (
            ("files",),
            ("training",),
            ("explain",),
            ("summary", "translations", "scikit_learn"),
            ("fit_tasks", "one_state", "portable"),
            ("estimator",),
            ("chain_single", "chain_weights"),
            ("*",),
            ("tagger", "text_classifier"),
            ("audit", "rank"),
            ("__init__",),
        ),
    },
    "benchmarks": {
        "papers": (
            ("clock", "figures", "index", "reuters", "rows", "sentences"),
            ("courses", "findings", "genia"),
            ("cluster_claims", "letters", "tasks", "topics"),
            ("crf_clusters", "presumed", "selection_data", "text_clusters"),
            ("feature_selection",),
            ("mathur2010", "schmidt2015", "tsuruoka2009", "zhou2011", "zhu2010"),
            ("msra",),
            ("reasons",),
        ),
    },
    "native": {"chain": (("inference",), ("features",), ("objective",), ("model",), ("tagging",), ("mod",))},
}
# The files that may name the native module.
AT_THE_WALL = (
    "models/files/",
    "objectives/",
    "networks/",
    "data/",
    "compat/pycrfsuite/",
    "text_file.py",
    "vectors.py",
    "memory.py",
    "processor.py",
)

Graph = dict[str, set[str]]


@cache
def python_graph() -> Graph:
    """File -> the files it imports, as paths below the package."""
    files = {path.relative_to(PYTHON).as_posix(): path for path in PYTHON.rglob("*.py")}

    def found(module: list[str]) -> str | None:
        name = "/".join(module)
        if name == "_core":
            return "_core/__init__.pyi"
        return next((file for file in (f"{name}.py", f"{name}/__init__.py".lstrip("/")) if file in files), None)

    graph: Graph = {}
    for name, path in files.items():
        folder = name.split("/")[:-1]
        graph[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules: list[tuple[list[str], str | None]] = []
            if isinstance(node, ast.ImportFrom):
                base = (node.module or "").split(".") if node.module else []
                if node.level:
                    base = folder[: len(folder) - node.level + 1] + base
                elif base[:1] == ["loglinear"]:
                    base = base[1:]
                else:
                    continue
                modules = [(base, alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                names = (alias.name.split(".") for alias in node.names)
                modules = [(parts[1:], None) for parts in names if parts[0] == "loglinear"]
            for module, item in modules:
                target = (found([*module, item]) if item else None) or found(module)
                assert target is not None, f"{name} imports {'.'.join(module)}, which is no file"
                graph[name].add(target)
    return graph


@cache
def benchmark_graph() -> Graph:
    """File -> the files of the benchmarks it imports; a script finds the files of its own folder by their names."""
    files = {path.relative_to(BENCHMARKS).as_posix(): path for path in BENCHMARKS.rglob("*.py")}
    homes = {path.stem: name for name, path in files.items()}
    assert len(homes) == len(files)  # a name says which file is meant
    graph: Graph = {}
    for name, path in files.items():
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        named = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        named += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        graph[name] = {homes[module] for module in named if module in homes}
    return graph


def without_tests(text: str) -> str:
    """Rust source without comments and without its unit tests, which end a file."""
    text = re.sub(r"//[^\n]*", "", text)
    return re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text)[0]


def leaves(path: str) -> Iterable[str]:
    """The single paths of a `use` declaration: `a::{b, c::{d}}` gives `a::b` and `a::c::d`."""
    if "{" not in path:
        yield path.strip()
        return
    before, inside = path[: path.index("{")], path[path.index("{") + 1 : path.rindex("}")]
    part, depth = "", 0
    for character in inside + ",":
        depth += (character == "{") - (character == "}")
        if character == "," and not depth:
            if part.strip():
                yield from leaves(before.strip() + part.strip())
            part = ""
        else:
            part += character


@cache
def native_graph() -> Graph:
    """File -> the files whose items it names, as paths below the crate's root; a re-exported item is followed home."""
    paths = {path.relative_to(NATIVE).as_posix(): path for path in NATIVE.rglob("*.rs") if path.name != "tests.rs"}
    modules: dict[tuple[str, ...], str] = {}
    for name in paths:
        parts = name.removesuffix(".rs").split("/")
        modules[() if parts == ["lib"] else tuple(parts[:-1] if parts[-1] == "mod" else parts)] = name
    sources = {name: without_tests(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    exports: dict[str, dict[str, tuple[str, ...]]] = {}
    for module, name in modules.items():
        exports[name] = {}
        for declared in re.findall(r"pub(?:\([a-z]+\))? use ([^;]+);", sources[name]):
            for leaf in leaves(declared):
                *path, item = re.sub(r"^(self::|crate::)?", "", leaf).split("::")
                full = tuple(path) if leaf.startswith("crate::") else (*module, *path)
                exports[name][item.split(" as ")[-1].strip()] = full

    def home(path: tuple[str, ...]) -> str:
        """The file that an item's path leads to."""
        for length in range(len(path), -1, -1):
            name = modules.get(path[:length])
            if name is not None:
                item = path[length] if length < len(path) else None
                followed = exports[name].get(item) if item else None
                return home((*followed, item)) if followed and item and followed != path[:length] else name
        raise AssertionError(path)

    graph: Graph = {}
    for module, name in modules.items():
        graph[name] = set()
        source = sources[name]
        named = [leaf for use in re.findall(r"\buse ([^;]+);", source) for leaf in leaves(use)]
        named += re.findall(r"\b(?:crate|super)(?:::\w+)+", re.sub(r"\buse [^;]+;", "", source))
        for leaf in named:
            parts = leaf.split(" as ")[0].strip().split("::")
            here = list(module)
            if parts[0] == "crate":
                parts = parts[1:]
            elif parts[0] in ("super", "self"):
                while parts and parts[0] in ("super", "self"):
                    here = here[:-1] if parts[0] == "super" else here
                    parts = parts[1:]
                parts = here + parts
            elif (*module, parts[0]) in modules:
                parts = here + parts
            else:
                continue
            parts = parts[:-1] if parts and parts[-1] == "self" else parts
            graph[name].add(home(tuple(parts)))
        graph[name].discard(name)
    return graph


def circle(graph: Graph) -> list[str]:
    """The files of a circle, the first again at the end; empty if there is none."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for target in sorted(graph.get(name, ())):
            if found := walk(target, [*way, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := walk(name, []))), [])


def rising(graph: Graph, floors: tuple[tuple[str, ...], ...]) -> list[str]:
    """The arrows that run up."""
    level = {room: number for number, rooms in enumerate(floors) for room in rooms}

    def room(name: str) -> str:
        return re.sub(r"\.(py|pyi|rs)$", "", name.split("/")[0])

    unknown = sorted({room(name) for name in graph} - level.keys())
    assert "*" in level or not unknown, f"on no floor: {unknown}; say in this file where they stand"
    level |= {name: level["*"] for name in unknown}
    return [
        f"{name} -> {target}"
        for name, targets in sorted(graph.items())
        for target in sorted(targets)
        if level[room(target)] > level[room(name)]
    ]


def inside(graph: Graph, room: str) -> Graph:
    """The files of a room and the arrows between them, as paths below the room."""
    start = f"{room}/"

    def below(names: Iterable[str]) -> list[str]:
        return [name.removeprefix(start) for name in names if name.startswith(start)]

    return {name: set(below(graph[start + name])) for name in below(graph)}


GRAPHS = {
    "python": (python_graph, PYTHON_FLOORS),
    "native": (native_graph, NATIVE_FLOORS),
    "benchmarks": (benchmark_graph, BENCHMARK_FLOORS),
}


@pytest.mark.parametrize("language", GRAPHS)
def test_imports_go_downward_only(language):
    read, floors = GRAPHS[language]
    graph = read()
    assert sum(map(len, graph.values())) > 30  # the sources have been understood
    assert rising(graph, floors) == []


@pytest.mark.parametrize(("language", "room"), [(language, room) for language in ROOMS for room in ROOMS[language]])
def test_imports_inside_a_room_go_downward_only(language, room):
    graph = inside(GRAPHS[language][0](), room)
    assert any(graph.values())
    assert rising(graph, ROOMS[language][room]) == []


@pytest.mark.parametrize("language", GRAPHS)
def test_no_two_files_need_each_other(language):
    assert circle(GRAPHS[language][0]()) == []


def test_few_files_touch_the_native_module():
    touching = [name for name, targets in python_graph().items() if "_core/__init__.pyi" in targets]
    assert len(touching) > 5
    assert [name for name in touching if not name.startswith(AT_THE_WALL)] == []
    assert all(any(name.startswith(place) for name in touching) for place in AT_THE_WALL)
    page = (PYTHON.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if "name the native module" in line)
    assert set(re.findall("`([a-z_/.]+)`", line)) - {"loglinear._core"} == set(AT_THE_WALL)


def test_circles_and_rising_arrows_are_found():
    assert circle({"a.py": {"b.py"}, "b.py": {"c.py"}, "c.py": {"b.py"}}) == ["b.py", "c.py", "b.py"]
    assert circle({"a.py": {"b.py", "c.py"}, "b.py": {"c.py"}, "c.py": set()}) == []
    graph = {"solvers/a.py": {"errors.py"}, "errors.py": {"solvers/a.py"}}
    assert rising(graph, PYTHON_FLOORS) == ["errors.py -> solvers/a.py"]
    graph = {"chain/model/a.rs": {"error.rs", "chain/tagging/b.rs"}, "chain/tagging/b.rs": {"chain/model/a.rs"}}
    assert inside(graph, "chain") == {"model/a.rs": {"tagging/b.rs"}, "tagging/b.rs": {"model/a.rs"}}
    assert rising(inside(graph, "chain"), ROOMS["native"]["chain"]) == ["model/a.rs -> tagging/b.rs"]
    assert list(leaves("a::{self, b, c::{d, e}}")) == ["a::self", "a::b", "a::c::d", "a::c::e"]
    assert "tests" not in without_tests("fn a() {} // tests\n#[cfg(test)]\nmod tests {\n}")
