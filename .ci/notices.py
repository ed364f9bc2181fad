"""Writes THIRD-PARTY-NOTICES.txt: the crates that are linked into the native module, with their licences.

    python .ci/notices.py

It asks cargo, without network, for the crates of every target, and reads the licence files in cargo's registry: build
the project, or run `cargo fetch`, before. A crate that may be had under the licence of this project, Apache-2.0, gets a
line with its copyright; any other crate's licence is reproduced in full, once for all crates with the same text.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"
OURS = "Apache-2.0"
RULE = "-" * 80

HEAD = """Software that is linked into the native module of loglinear, loglinear._core
(written by .ci/notices.py; do not edit)

loglinear itself is licensed under the Apache License 2.0, and its embedded
sample of data under CC BY-SA 4.0. The libraries below, all of them in the Rust
language but for liblzma, have licences of their own.
"""
UNDER_OURS = """Under the Apache License 2.0
(its text is the file LICENSE; "OR" marks libraries that may be had under another
licence as well, and are used under the Apache License here)
"""
# Linked, and no crates of Cargo.lock.
BESIDE_CRATES = """\
Rust's standard library (MIT OR Apache-2.0) https://www.rust-lang.org
    Copyright (c) The Rust Project Contributors
XZ Utils' liblzma, in the crate liblzma-sys (0BSD) https://tukaani.org/xz/
    Copyright (C) The XZ Utils authors and contributors
LLVM's libunwind, in wheels for Linux (Apache-2.0 WITH LLVM-exception) https://llvm.org
    Copyright (c) the LLVM project's contributors
Zig's compiler-rt, in wheels for Linux (MIT) https://ziglang.org
    Copyright (c) Zig contributors
"""
OTHERS = "Crates of Cargo.lock that build or test the module and are no part of it:\n"

Package = dict[str, Any]


def cargo(*arguments: str) -> str:
    """Run cargo without network; return what it prints."""
    command = ["cargo", *arguments, "--offline", "--locked", "--features", "python"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def linked_crates() -> set[tuple[str, str]]:
    """Names and versions of the crates that are linked into the module, on any target."""
    lines = cargo("tree", "--edges", "normal,no-proc-macro", "--target", "all", "--prefix", "none").splitlines()
    return {(line.split()[0], line.split()[1].removeprefix("v")) for line in lines if line.strip()}


def licence_text(package: Package, others: list[Package]) -> str:
    """The text of a crate's licence: its file, or the file of another crate from the same repository."""
    siblings = [other for other in others if other["repository"] == package["repository"]]
    for each in [package, *siblings]:
        folder = Path(each["manifest_path"]).parent
        names = ("LICENSE-MIT", "LICENSE", "LICENSE.md", "LICENSE.txt")
        for path in (folder / name for name in names):
            if path.exists():
                return path.read_text(encoding="utf-8").strip("\n")
    message = f"no licence file of {package['name']}"
    raise SystemExit(message)


def copyright_lines(package: Package) -> list[str]:
    """Lines of copyright in the licence files of a crate, and its NOTICE file if it has one."""
    folder = Path(package["manifest_path"]).parent
    found: list[str] = []
    for path in sorted(folder.iterdir()):
        if re.match(r"(?i)licen[sc]e|copyright", path.name) and "apache" not in path.name.lower() and path.is_file():
            lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
            found += [line for line in lines if re.match(r"(?i)copyright\s*(\(c\)|©|\d)", line)]
        if path.name.startswith("NOTICE"):
            found += path.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(found))


def title(package: Package) -> str:
    """The line that names a crate."""
    licence = package["license"].replace("/", " OR ")
    return f"{package['name']} {package['version']} ({licence}) {package['repository'] or ''}".rstrip()


def notices() -> str:
    """The content of the file."""
    known = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    packages = {(each["name"], each["version"]): each for each in known}
    crates = linked_crates()
    linked = [packages[crate] for crate in sorted(crates) if crate[0] != "loglinear"]
    parts = [HEAD, RULE, UNDER_OURS]
    texts: dict[str, list[Package]] = {}
    for package in linked:
        if OURS in re.split(r" OR |/|[()]", package["license"]):
            parts.append("\n    ".join([title(package), *copyright_lines(package)]))
        else:
            texts.setdefault(licence_text(package, linked), []).append(package)
    parts.append(BESIDE_CRATES)
    for text, owners in texts.items():
        parts += [RULE, *map(title, owners), "", text, ""]
    locked = re.findall(r'name = "(.+)"\nversion = "(.+)"', (ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    others = sorted(set(locked) - crates)
    parts += [RULE, OTHERS, *(f"{name} {version}" for name, version in others)]
    return "\n".join(line.rstrip() for line in "\n".join(parts).splitlines()) + "\n"


if __name__ == "__main__":
    NOTICES.write_text(notices(), encoding="utf-8")
