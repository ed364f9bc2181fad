"""Check what is inside wheels, and how large they are: python .ci/check_wheels.py dist/*.whl.

A wheel has to be smaller than 12 MB, to hold the type information and the licences of all that is linked into it, and
to hold no file that users do not need; its native module has to be stripped. Prints a line for each wheel; exit code 1
if one is not so.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 12_000_000
NEEDED = [
    r"loglinear/py\.typed",
    r"loglinear/_core/\w+\.pyi",
    r"loglinear/_core[.\w-]*\.(so|pyd)",
    r"loglinear/datasets/ud-english-ewt-train\.txt\.xz",
    r"loglinear-.*\.dist-info/licenses/LICENSE",
    r"loglinear-.*\.dist-info/licenses/THIRD-PARTY-NOTICES\.txt",
    r"loglinear-.*\.dist-info/licenses/src/loglinear/datasets/ATTRIBUTION\.md",
    r"loglinear-.*\.dist-info/entry_points\.txt",
]
ALLOWED = r"(loglinear|loglinear-[\d.\w+]+\.dist-info)/"
# abi3 for CPython 3.10 and newer, or for the free-threaded CPython 3.14 alone.
TAGS = r"loglinear-[^-]+-(cp310-abi3|cp314-cp314t)-[\w.]+\.whl"
ABSOLUTE = rb"/(home|root|Users|build)/[\w./-]+\.rs"
# Names of sections in the table of an ELF file, each behind a zero byte; Rust's library has the names in its code, too.
SYMBOLS = rb"\0\.(symtab|debug_info)\0"


def faults(path: Path) -> Iterator[str]:
    """What is wrong with a wheel."""
    if not re.fullmatch(TAGS, path.name):
        yield "its name is neither that of an abi3 wheel for CPython 3.10 nor that of one for CPython 3.14t"
    if path.stat().st_size >= MOST_BYTES:
        yield f"it has {path.stat().st_size:,} bytes, {MOST_BYTES:,} or more"
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        yield from (f"{needed} is missing" for needed in NEEDED if not any(re.fullmatch(needed, n) for n in names))
        yield from (f"{name} does not belong there" for name in names if not re.match(ALLOWED, name))
        yield from (f"{name} does not belong there" for name in names if "__pycache__" in name)
        for name in names:
            if re.search(r"_core[.\w-]*\.(so|pyd)$", name):
                module = wheel.read(name)
                if re.search(SYMBOLS, module):
                    yield f"{name} is not stripped"
                found = re.search(ABSOLUTE, module)
                if found:
                    yield f"{name} names a folder of the machine that built it: {found[0].decode()}"


def main(paths: list[str]) -> int:
    """Check wheels; return the exit code."""
    if not paths:
        print("no wheels given: python .ci/check_wheels.py dist/*.whl", file=sys.stderr)
        return 2
    wrong = False
    for path in map(Path, paths):
        found = list(faults(path))
        wrong = wrong or bool(found)
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB, {'; '.join(found) or 'as it should be'}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
