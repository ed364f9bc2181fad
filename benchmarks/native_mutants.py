"""Small faults in the native half, one at a time: how many of them the tests notice.

    cargo install cargo-mutants
    python benchmarks/native_mutants.py --sample 30 --seed 1 --json native-mutants.json

A mutant is the crate with one fault, as `cargo mutants --list` has it: an operator swapped, an arm of a match gone, a
guard made true or false. Functions that return a default at once are left out: every test of theirs notices. For each
mutant the crate is built, the native tests run, and then the Python tests of the changed part (`TESTS`), in a copy of
the tree. See `mutants.py` for what the outcomes mean. Exit code 1 if a mutant survives.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("bindings", "c_api", "fuzzing")  # no arithmetic of theirs; the fuzzing is a test itself
SECONDS = 1200.0
# Folder of the native half -> tests below tests/.
TESTS = {
    "chain": "objectives solvers models",
    "classifier": "objectives solvers models/test_maxent.py",
    "corpus": "data models cli",
    "files": "data models faults cli",
    "foreign": "models/test_foreign.py cli compat",
    "network": "networks objectives models cli/test_networks.py",
    "numeric": "objectives solvers networks models",
    "stochastic": "objectives solvers models",
    "text": "data cli models",
}


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy, with its package; time limits and all output are the caller's."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "CARGO_TARGET_DIR": str(tree / "target")}
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def build(tree: Path) -> bool:
    """Build the extension module into the package of the copy; return whether that is possible."""
    made = run(tree, "cargo", "rustc", "-q", "--lib", "--crate-type", "cdylib", "--profile", "quick", "-F", "python")
    if not made.returncode:
        shutil.copy2(tree / "target" / "quick" / "libloglinear.so", tree / "src" / "loglinear" / "_core.abi3.so")
    return not made.returncode


def outcome(tree: Path, tests: list[str]) -> tuple[str, str]:
    """Return what becomes of the copy as it is, and the test that noticed it."""
    try:
        if not build(tree):
            return "unviable", ""
        native = run(tree, "cargo", "test", "-q", "--lib", "--profile", "quick")
        if native.returncode:
            failed = [line.split()[1] for line in native.stdout.splitlines() if line.startswith("---- ")]
            return "killed", (failed or [native.stderr.strip()[-160:]])[0]
        found = run(tree, sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    failed = [line for line in found.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    by = (failed or found.stdout.splitlines() or [found.stderr.strip()])[-1][:160]
    return ("killed" if found.returncode else "survived"), by


def copied(tree: Path) -> None:
    """Copy the files of the repository, and build them."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    if not build(tree):
        message = "the crate without a fault does not build"
        raise SystemExit(message)


def mutants() -> list[dict]:
    listed = subprocess.run(["cargo", "mutants", "--list", "--json"], cwd=ROOT, capture_output=True, check=True)
    found = json.loads(listed.stdout)
    return [each for each in found if each["genre"] != "FnValue" and part(each) not in LEFT_OUT]


def part(mutant: dict) -> str:
    """Return the folder, or the file, below native/src."""
    return Path(mutant["file"]).parts[2]


def replaced(text: str, span: dict, by: str) -> str:
    """Return the text with a span replaced; lines and columns of spans count from 1."""
    lines = text.splitlines(keepends=True)
    start, end = (sum(map(len, lines[: at["line"] - 1])) + at["column"] - 1 for at in (span["start"], span["end"]))
    return text[:start] + by + text[end:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=30, metavar="N", help="try N mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the sample")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every mutant with its outcome")
    given = parser.parse_args()
    known = mutants()
    print(f"{len(known)} mutants", flush=True)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copied(tree)
        for mutant in random.Random(given.seed).sample(known, min(given.sample, len(known))):
            place = tree / mutant["file"]
            whole = place.read_text(encoding="utf-8")
            place.write_text(replaced(whole, mutant["span"], mutant["replacement"]), encoding="utf-8")
            tests = [f"tests/{name}" for name in TESTS.get(part(mutant), ".").split()]
            found, by = outcome(tree, tests)
            place.write_text(whole, encoding="utf-8")
            results.append({"name": mutant["name"], "outcome": found, "by": by})
            print(f"{len(results):4} {found:10} {mutant['name']}  {by}", flush=True)
            if given.json:
                given.json.write_text(json.dumps(results, indent=1) + "\n")
    print(Counter(each["outcome"] for each in results))
    return int(any(each["outcome"] == "survived" for each in results))


if __name__ == "__main__":
    sys.exit(main())
