"""Laws of `loglinear doctor`."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path

import numpy as np

from loglinear import __version__


def test_versions_and_threads_are_those_of_this_machine(done):
    found = json.loads(done("doctor", "--json").stdout)
    assert found["loglinear"] == __version__
    assert platform.python_version() in found["python"]
    assert found["packages"]["numpy"] == np.__version__
    assert found["threads"] >= 1
    assert set(found["extras"]) == {"sklearn", "report", "network", "distributed", "compat"}
    assert found["extras"]["report"]["matplotlib"] == metadata.version("matplotlib")
    assert "pyarrow" in found["extras"]["network"]


def test_the_instruction_set_is_one_that_the_processor_has(done):
    found = json.loads(done("doctor", "--json").stdout)["instruction_set"]
    assert found in ("AVX-512", "AVX2 and FMA", "NEON", "baseline")
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return
    if "avx512f" not in flags:
        assert found != "AVX-512"


def test_what_is_missing_is_named_with_the_remedy(done):
    from loglinear.cli.commands.doctor import render

    found = json.loads(done("doctor", "--json").stdout)
    found["extras"]["network"]["networkx"] = None
    assert "missing: networkx; pip install 'loglinear[network]'" in render(found)
    assert __version__ in done("doctor").stdout
