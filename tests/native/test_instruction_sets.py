"""Models are the same whichever instruction set they are trained with.

Vectors of every width add up numbers in one order, so results with AVX2 and with AVX-512 agree bit for bit. The
baseline has no instruction that multiplies and adds with one rounding, and processors with NEON have other functions of
the C library: their results agree with these up to rounding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import loglinear
from loglinear import OptionError
from loglinear.processor import instruction_set, limit_instruction_set
from oracles.patience import patience

SCRIPT = Path(__file__).with_name("instruction_set_values.py")
# How far numbers may be from each other, relative to the largest of a run: trainings multiply differences of rounding.
CLOSE = 1e-9
# The first number of each run, an objective or a weight, as the baseline gives it on any processor.
EXPECTED = {
    "chain": 551.736697179,
    "chain, l1": 677.581435568,
    "chain of second order": 314.568754654,
    "chain, sgd_l1": 1107.58359183,
    "chain, sag": 595.939300128,
    "chain, adagrad": 644.223461296,
    "classifier": 2.35449564926,
    "classifier, l1": 1.96437261507,
    "one-vs-rest": 2.64026809214,
    "network": 1589.16084213,
    "network, junction tree": 1577.84804239,
    "network, pseudo-likelihood": 1311.15517473,
    "network, pseudo-likelihood without l1": 1262.30710119,
    "network, nodewise": 1352.37477656,
}


@pytest.fixture(scope="module")
def values():
    """A function that returns the numbers of each run with an instruction set, or skips a test without that set."""
    home = Path(loglinear.__file__).parents[1]
    paths = os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")])
    # One process for all: most of its time goes to imports. The widest comes first, as in the processes of users.
    command = [sys.executable, str(SCRIPT), "AVX-512", "AVX2 and FMA", "NEON", "baseline"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=patience(300), env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    def of(name: str) -> dict[str, np.ndarray]:
        if found[name] is None:
            pytest.skip(f"this processor has no {name}")
        return {run: np.array([float.fromhex(each) for each in numbers]) for run, numbers in found[name].items()}

    return of


@pytest.fixture(scope="module")
def baseline(values):
    return values("baseline")


def test_the_widest_vectors_give_the_same_bits(values):
    narrow, wide = values("AVX2 and FMA"), values("AVX-512")
    assert [run for run in wide if not np.array_equal(wide[run], narrow[run])] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NEON", "AVX2 and FMA", "AVX-512"])
def test_vectors_give_what_the_baseline_gives_up_to_rounding(name, baseline, values):
    found = values(name)
    assert found.keys() == baseline.keys()
    distant = {run: np.abs(found[run] - baseline[run]).max() / np.abs(baseline[run]).max() for run in found}
    assert {run: each for run, each in distant.items() if each > CLOSE} == {}


def test_every_processor_gives_what_others_gave(baseline):
    assert {run: float(numbers[0]) for run, numbers in baseline.items()} == pytest.approx(EXPECTED, rel=CLOSE)


def test_an_unknown_instruction_set_is_refused_by_name():
    used = instruction_set()
    with pytest.raises(
        OptionError, match=r"unknown instruction set \"AVX3\"; choose from baseline, NEON, AVX2 and FMA, AVX-512"
    ):
        limit_instruction_set("AVX3")
    assert instruction_set() == used
