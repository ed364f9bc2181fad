"""The same weights and answers, to the last bit, on any number of threads and in any process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loglinear.solvers import SOLVERS
from oracles.determinism import table


@pytest.fixture(scope="module")
def alone():
    """The fingerprints of one thread."""
    return table(1)


def test_every_solver_is_in_the_table(alone):
    assert {name.split(",")[0] for name in alone} >= set(SOLVERS) - {"parameter_mixing"}
    # Other weights have other fingerprints.
    assert len(set(alone.values())) > len(alone) / 2


@pytest.mark.parametrize(
    "threads", [pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow), 7]
)
def test_any_number_of_threads_gives_the_same_bits(threads, alone):
    found = table(threads)
    assert {name: value for name, value in found.items() if value != alone[name]} == {}


@pytest.mark.slow
def test_another_process_gives_the_same_bits(alone):
    command = [sys.executable, "-m", "oracles.determinism", "2"]
    # The order of sets and dicts of strings depends on this seed.
    environment = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": str(Path(__file__).parent)}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    found = json.loads(output)
    assert {name: value for name, value in found.items() if value != alone[name]} == {}
