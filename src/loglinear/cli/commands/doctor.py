"""Show what is installed and what this machine offers: versions, threads, instruction set, optional packages."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from argparse import ArgumentParser, Namespace
from importlib import metadata
from typing import Any

from ...models.training.options import cores
from ...version import __version__
from ..options import add_json
from ..wrapping import fitted

EXAMPLE = "example: loglinear doctor"
READS: tuple[str, ...] = ()
WRITES: tuple[str, ...] = ()

# Extras that some commands and modules need; packages without an extra are always needed.
_NEEDED, _EXTRAS = "", ("sklearn", "report", "network", "distributed", "compat")


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Look around."""
    environment = report()
    print(json.dumps(environment) if arguments.json else fitted(render(environment), sys.stdout))


def report() -> dict[str, Any]:
    """Return versions, the processor's offer, and the packages of each extra with None for what is missing."""
    from ... import processor

    packages = {extra: {name: _version(name) for name in names} for extra, names in _packages().items()}
    return {
        "loglinear": __version__,
        "installed_at": os.path.dirname(os.path.abspath(processor.__file__)),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "threads": cores(),
        "instruction_set": processor.instruction_set(),
        "packages": packages.pop(_NEEDED),
        "extras": packages,
    }


def render(environment: dict[str, Any]) -> str:
    """Return the report for people."""
    lines = [
        f"loglinear        {environment['loglinear']}, in {environment['installed_at']}",
        f"Python           {environment['python']}, {environment['platform']}",
        f"threads          {environment['threads']}, by default all cores; set --threads or n_jobs for fewer",
        f"instruction set  {environment['instruction_set']}",
        f"packages         {_listed(environment['packages'])}",
    ]
    for extra, packages in environment["extras"].items():
        missing = [name for name, version in packages.items() if version is None]
        state = f"missing: {', '.join(missing)}; pip install 'loglinear[{extra}]'" if missing else _listed(packages)
        lines.append(f"[{extra}]".ljust(17) + state)
    return "\n".join(lines)


def _listed(packages: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> dict[str, list[str]]:
    """Return the required packages, and the packages of each extra, from the metadata of the installed package."""
    by_extra: dict[str, list[str]] = {extra: [] for extra in (_NEEDED, *_EXTRAS)}
    try:
        requirements = metadata.requires("loglinear") or []
    except metadata.PackageNotFoundError:
        requirements = []
    for requirement in requirements:
        name, _, condition = requirement.partition(";")
        extra = re.search(r"""extra == ['"]([\w-]+)""", condition)
        if (key := extra[1] if extra else _NEEDED) in by_extra:
            by_extra[key].append(re.match(r"[\w.-]+", name)[0])  # type: ignore[index]
    return by_extra
