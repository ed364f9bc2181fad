"""Small faults in the Python layer, one at a time: how many of them the tests notice.

    python benchmarks/mutants.py --sample 150 --seed 1 --json mutants.json
    python benchmarks/mutants.py --only 'networks/*'
    python benchmarks/mutants.py --again mutants.json
    python benchmarks/mutants.py --only 'dask/*' --night tests/dask

A mutant is the package with one fault: a comparison, an operator or min and max swapped, a whole number one larger, a
condition negated, a `not` gone, a statement dropped, a default changed. At first all tests run on the package without a
fault, and which functions each of them enters is recorded. For each mutant, the tests run in a copy of the package that
enter the changed function (at module level: any function of the module), those in the folder of the module first, and
those that start other processes; at most `MOST` seconds of them. The mutant is killed if a test fails, and survives if
none does; a timeout is a mutant that ran for several times as long as the package without a fault.

Left out, because no result follows from it: messages and what raises or warns with them, docstrings, annotations,
decorators, `__repr__`, the -1 of `reshape`, `__all__`, checks of types that guard an error, `stacklevel`, strings,
and bounds of options written as powers of two. `mutants-explained.json` names survivors that are the same program,
with the reason; the report counts them as equivalent. Exit code 1 if a mutant survives that is not explained.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import functools
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy  # noqa: F401 - with the other packages here: imported once, not by every fork
import pandas  # noqa: F401
import pytest
import scipy.optimize
import scipy.sparse  # noqa: F401
import sklearn.linear_model
import sklearn.utils.estimator_checks  # noqa: F401

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "loglinear"
EXPLAINED = Path(__file__).with_name("mutants-explained.json")
MODULES = (
    "solvers/**/*.py",
    "penalty.py",
    "minimize.py",
    "certificate.py",
    "stopping.py",
    "path.py",
    "metrics.py",
    "gap.py",
    "models/**/*.py",
    "networks/*.py",
    "objectives/*.py",
    "calibration.py",
    "report/*.py",
    "compat/**/*.py",
    "dask/*.py",
    "cli/**/*.py",
)
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
OPPOSITES = {"min": "max", "minimum": "maximum", "argmin": "argmax"}
OPPOSITES |= {other: one for one, other in OPPOSITES.items()}
MEMORY = 16 * 2**30  # bytes of addresses that a run may use
# Processor seconds that any run may take, and times those of the package without a fault; times that for waiting.
LEAST_SECONDS, TIMES, WAITS = 60.0, 3.0, 10.0
NO_TESTS = 77  # exit code of a run that is none
# Processor seconds and number of the tests that a mutant is tried with.
MOST, MOST_TESTS = 90.0, 600
# What a test that starts another process enters, which is not recorded there; tests of all defaults and ranges.
APART = "another process"
OF_ALL = ("tests/test_defaults.py", "tests/test_ranges.py")


@dataclass(frozen=True)
class Mutant:
    """A package with one fault.

    Attributes:
        module: the file, below `src/loglinear`.
        function: qualified name of the changed function; empty at module level and in the body of a class.
        line: number of the line of the fault, from 1.
        kind: what is done to the source.
        before: the lines of the fault, stripped.
        after: the same lines with the fault.
        source: the file with the fault.
    """

    module: str
    function: str
    line: int
    kind: str
    before: str
    after: str
    source: str


def mutants(module: str) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    source = (PACKAGE / module).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, kind, text, function in faults(ast.parse(source), ()):
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        changed = source[:begin] + text.encode() + source[end:]
        first, last = starts[node.lineno - 1], starts[node.end_lineno]
        before = source[first:last].decode().strip()
        after = changed[first : last + len(changed) - len(source)].decode().strip()
        yield Mutant(module, function, node.lineno, kind, before, after, changed.decode())


def faults(node: ast.AST, above: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, str, str, str]]:
    """Yield the places of faults below a node: what is replaced, the kind of fault, the new text, the function."""
    if is_left_out(node, above):
        return
    scopes = [each for each in above if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    function = "" if not scopes or isinstance(scopes[-1], ast.ClassDef) else ".".join(each.name for each in scopes)
    yield from ((*fault, function) for fault in faults_at(node, above))
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "pattern"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from faults(child, (*above, node))


def is_left_out(node: ast.AST, above: tuple[ast.AST, ...]) -> bool:
    """Whether no result follows from a node and all below it."""
    parent = above[-1] if above else None
    match node:
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Assert():
            return True
        case ast.FunctionDef(name="__repr__") | ast.keyword(arg="stacklevel" | "repr"):
            return True
        case ast.Assign(targets=[ast.Name(id="message" | "__all__")]) | ast.AugAssign(target=ast.Name(id="message")):
            return True
        case ast.Expr(value=ast.Constant()) | ast.Expr(value=ast.Call(func=ast.Attribute(attr="warn"))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case (
            ast.BinOp(left=ast.Constant(value=2), op=ast.Pow())
            | ast.BinOp(left=ast.BinOp(left=ast.Constant(value=2), op=ast.Pow()))
        ):
            return True
        case ast.UnaryOp(op=ast.USub()) if getattr(getattr(parent, "func", None), "attr", "") == "reshape":
            return True  # any negative number of rows stands for the one that fits
        case ast.Call(func=ast.Name(id="get_close_matches")):
            return True
        case ast.BinOp(op=ast.Add()):
            return any(isinstance(side, ast.JoinedStr) or is_text(side) for side in (node.left, node.right))
    guards = isinstance(parent, ast.If) and node is parent.test and isinstance(parent.body[-1], ast.Raise)
    return guards and any(isinstance(each, ast.Name) and each.id == "isinstance" for each in ast.walk(node))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def faults_at(node: ast.AST, above: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield the faults that begin at a node."""
    parent = above[-1] if above else None
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield node, "comparison", f"({ast.unparse(left)} {COMPARISONS[type(op)]} {ast.unparse(right)})"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            yield node, "operator", f"(({ast.unparse(left)}) {OPERATORS[type(op)]} ({ast.unparse(right)}))"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, "not removed", f"({ast.unparse(operand)})"
        case ast.Constant(value=bool() as value) if is_default(node, parent):
            yield node, "default", str(not value)
        case ast.Constant(value=float() as value) if is_default(node, parent):
            yield node, "default", str(2.0 * value or 1.0)
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield node, "default" if is_default(node, parent) else "constant", str(value + 1)
        case ast.Name(id="min" | "max" as name) | ast.Attribute(attr=name) if name in OPPOSITES and is_called(
            node, parent
        ):
            text = OPPOSITES[name] if isinstance(node, ast.Name) else f"{ast.unparse(node.value)}.{OPPOSITES[name]}"
            yield node, "min and max", text
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield node, "statement dropped", "pass"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not is_left_out(test, (*above, node)):
            yield from negated(test)
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield from negated(test)


def negated(test: ast.expr) -> Iterator[tuple[ast.AST, str, str]]:
    if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        yield test, "condition negated", f"(not ({ast.unparse(test)}))"


def is_default(node: ast.AST, parent: ast.AST | None) -> bool:
    """Whether a constant is the default of a parameter, or of a field of a class."""
    return isinstance(parent, ast.arguments) or (isinstance(parent, ast.AnnAssign) and node is parent.value)


def is_called(node: ast.AST, parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Call) and node is parent.func


class Recorder:
    """A plugin of pytest that records which functions of the package each test enters, and its processor seconds.

    What fixtures and the code of a test file enter counts for all tests that have the fixture, or are in the file.

    Args:
        package: folder of the package.
        path: file to write.
    """

    def __init__(self, package: Path, path: Path) -> None:
        self._package, self._path = f"{package}{os.sep}", path
        # By address: the hash of a code object looks at all of the code.
        self._entered: dict[int, CodeType | str] = {}
        self._entered_by: dict[str, set[str]] = defaultdict(set)
        self._fixtures: dict[str, list[str]] = {}
        self._seconds: Counter[str] = Counter()
        self._failed: set[str] = set()
        for kind, name in ((subprocess.Popen, "__init__"), (multiprocessing.Process, "start")):
            setattr(kind, name, self._apart(getattr(kind, name)))
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        self._entered[id(frame.f_code)] = frame.f_code

    def _apart(self, start: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(start)
        def started(*arguments: object, **options: object) -> None:
            self._entered[0] = APART
            start(*arguments, **options)

        return started

    @contextmanager
    def _into(self, name: str) -> Iterator[None]:
        before, self._entered = self._entered, {}
        try:
            yield
        finally:
            entered, self._entered = self._entered, before
            self._entered_by[name].update(filter(None, map(self._named, entered.values())))

    def _named(self, code: CodeType | str) -> str:
        """Return module and qualified name of a function of the package; empty for other code."""
        if isinstance(code, str):
            return code
        if not code.co_filename.startswith(self._package):
            return ""
        function = code.co_qualname.replace("<locals>.", "").partition(".<")[0]
        return f"{code.co_filename.removeprefix(self._package)}:{function}"

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """Record what the code of a file enters."""
        with self._into(f"file {collector.nodeid}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef) -> Iterator[None]:
        """Record what a fixture enters."""
        with self._into(f"fixture {fixturedef.argname}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        """Record what a test enters."""
        self._fixtures[item.nodeid] = list(getattr(item, "fixturenames", ()))
        with self._into(f"test {item.nodeid}"):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the time of a test, and whether it fails."""
        self._seconds[report.nodeid] += report.processor_seconds  # see tests/budget.py
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write a row for each test that does not fail: name, seconds, functions."""
        sys.settrace(None)
        rows = []
        for test, fixtures in self._fixtures.items():
            names = [f"test {test}", f"file {test.partition('::')[0]}", *(f"fixture {name}" for name in fixtures)]
            entered = set().union(*(self._entered_by.get(name, ()) for name in names))
            if test not in self._failed:
                rows.append({"test": test, "seconds": self._seconds[test], "entered": sorted(entered)})
        self._path.write_text(json.dumps({"failed": sorted(self._failed), "rows": rows}))


def near(test: str, module: str) -> int:
    """Return how many names the paths of a test and a module have in common."""
    folders = Path(test.partition("::")[0]).with_suffix("").parts[1:]
    pairs = zip(folders, Path(module).with_suffix("").parts, strict=False)
    return sum(one.removeprefix("test_") == other.removeprefix("_") for one, other in pairs)


def tests_of(mutant: Mutant, rows: list[dict[str, Any]]) -> tuple[list[str], float]:
    """Return the names of the tests that may notice a fault, those of a file together, and their seconds."""
    name = f"{mutant.module}:{mutant.function}"

    def enters(row: dict[str, Any]) -> bool:
        if mutant.function:
            return name in row["entered"]
        return row["test"].startswith(OF_ALL) or any(each.startswith(name) for each in row["entered"])

    folder = f"tests/{Path(mutant.module).parts[0].removesuffix('.py')}/"
    apart = [row for row in rows if APART in row["entered"] and row["test"].startswith(folder) and not enters(row)]
    found = sorted(filter(enters, rows), key=lambda row: (-near(row["test"], mutant.module), row["seconds"]))
    found += sorted(apart, key=lambda row: (-near(row["test"], mutant.module), row["seconds"]))
    ends = accumulate(row["seconds"] for row in found)
    chosen = [row for row, end in zip(found, ends, strict=True) if end <= MOST][:MOST_TESTS]
    files = {file: at for at, file in reversed([*enumerate(row["test"].partition("::")[0] for row in chosen)])}
    tests = sorted((row["test"] for row in chosen), key=lambda test: files[test.partition("::")[0]])
    return tests, sum(row["seconds"] for row in chosen)


def copy_package(folder: Path) -> None:
    """Copy the package into a folder, and compile it, so that runs need not."""
    shutil.copytree(PACKAGE, folder / "loglinear", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)


def start(folder: Path, tests: list[str], *options: str, record: Path | None = None, seconds: int = -1) -> int:
    """Run tests on the package of a folder in a fork of this process, which has its imports; return the fork's id.

    The fork may take some processor seconds, any number below 0, and records what the tests enter in a file, if given.
    """
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(folder))
        os.chdir(ROOT)
        import loglinear

        if not loglinear.__file__.startswith(str(folder)):
            print(f"Python imports {loglinear.__file__} rather than the copy in {folder}")
            os._exit(NO_TESTS)
        plugins = [] if record is None else [Recorder(folder / "loglinear", record)]
        code = int(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *options, *tests], plugins))
        sys.stdout.flush()
        os._exit(code)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # a package that cannot be imported


def waited(process: int, seconds: float) -> int | None:
    """Return the exit code of a fork; None if it ran past the time limit and was killed."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def recorded(folder: Path, tests: list[str], *options: str) -> list[dict[str, Any]]:
    """Run tests on the package without a fault; return a row for each, but for those that fail; see `Recorder`."""
    path = folder / "record.json"
    waited(start(folder, tests, *options, record=path), math.inf)
    if not path.exists():
        message = f"no tests have run:\n{(folder / 'output.txt').read_text()[-3000:]}"
        raise SystemExit(message)
    record = json.loads(path.read_text())
    path.unlink()
    if record["failed"]:
        print(f"left out, as they fail without a fault: {', '.join(record['failed'])}", flush=True)
    return record["rows"]


def outcome(folder: Path, mutant: Mutant, rows: list[dict[str, Any]]) -> tuple[str, str]:
    """Return whether a mutant is killed, has survived or ran out of time; and the test that noticed it."""
    tests, seconds = tests_of(mutant, rows)
    if not tests:
        return "survived", "no test enters the function"
    place = folder / "loglinear" / mutant.module
    whole = place.read_bytes()
    compile(mutant.source, mutant.module, "exec")
    place.write_text(mutant.source, encoding="utf-8")
    for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
        compiled.unlink()
    try:
        limit = int(LEAST_SECONDS + TIMES * seconds)
        process = start(folder, tests, "-x", "-m", "slow or not slow", seconds=limit)
        code = waited(process, WAITS * limit)
    finally:
        place.write_bytes(whole)
    lines = (folder / "output.txt").read_text(errors="replace").splitlines()
    if code == NO_TESTS:
        raise SystemExit("\n".join(lines))
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    outcomes = {None: "timeout", -signal.SIGXCPU: "timeout", -signal.SIGKILL: "timeout", 0: "survived"}
    return outcomes.get(code, "killed"), (failed or lines or [""])[-1][:160]


def attempted(mutants: list[Mutant], folder: Path, rows: list[dict[str, Any]]) -> Iterator[dict[str, str | int]]:
    """Yield every mutant with its outcome."""
    explained = {(each["module"], each["before"], each["after"]) for each in json.loads(EXPLAINED.read_text())}
    for mutant in mutants:
        found, by = outcome(folder, mutant, rows)
        if found == "survived" and (mutant.module, mutant.before, mutant.after) in explained:
            found = "equivalent"
        row = {**asdict(mutant), "outcome": found, "by": by}
        del row["source"]
        yield row


def table(results: list[dict[str, str | int]]) -> str:
    """Return counts by module as lines of a Markdown table."""
    kinds = ("killed", "timeout", "equivalent", "survived")
    lines = ["| module | mutants | " + " | ".join(kinds) + " |", "| --- |" + " ---: |" * (len(kinds) + 1)]
    for module in [*sorted({each["module"] for each in results}), "all"]:
        counts = Counter(each["outcome"] for each in results if module in (each["module"], "all"))
        lines.append(f"| {module} | {counts.total()} | " + " | ".join(str(counts[kind]) for kind in kinds) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants, drawn at random; all by default")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the sample")
    parser.add_argument("--only", metavar="GLOB", nargs="+", default=["*"], help="modules, such as 'networks/*'")
    parser.add_argument("--again", type=Path, metavar="FILE", help="try those that have survived an earlier run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every mutant with its outcome")
    parser.add_argument("--among", metavar="PATH", nargs="+", default=["tests"], help="tests; all by default")
    parser.add_argument("--night", metavar="PATH", nargs="+", help="paths of which slow tests run as well")
    parser.add_argument("--record", type=Path, metavar="FILE", help="what tests enter: read, or written if missing")
    given = parser.parse_args()
    files = sorted({path.relative_to(PACKAGE).as_posix() for each in MODULES for path in PACKAGE.glob(each)})
    files = [file for file in files if any(fnmatch.fnmatch(file, pattern) for pattern in given.only)]
    chosen = [mutant for file in files for mutant in mutants(file)]
    print(f"{len(chosen)} mutants of {len({each.module for each in chosen})} modules", flush=True)
    if given.again is not None:
        rows = [each for each in json.loads(given.again.read_text()) if each["outcome"] == "survived"]
        survivors = {(each["module"], each["before"], each["after"]) for each in rows}
        chosen = [each for each in chosen if (each.module, each.before, each.after) in survivors]
    if given.sample is not None and given.sample < len(chosen):
        chosen = random.Random(given.seed).sample(chosen, given.sample)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        copy_package(Path(folder))
        if given.record is not None and given.record.exists():
            rows = json.loads(given.record.read_text())
        else:
            rows = recorded(Path(folder), given.among)
            rows += recorded(Path(folder), given.night, "-m", "slow") if given.night else []
            if given.record is not None:
                given.record.write_text(json.dumps(rows))
        print(f"{len(rows)} tests, {sum(row['seconds'] for row in rows):.0f} s", flush=True)
        for row in attempted(chosen, Path(folder), rows):
            results.append(row)
            print(f"{len(results):4} {row['outcome']:10} {row['module']}:{row['line']} {row['kind']}", flush=True)
            if row["outcome"] == "survived":
                print(f"     - {row['before']}\n     + {row['after']}", flush=True)
            if given.json:
                given.json.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    return int(any(each["outcome"] == "survived" for each in results))


if __name__ == "__main__":
    sys.exit(main())
