"""The peers' names lead here after `install`, in a process of its own each time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from oracles.patience import patience


def run(code, *, fails=False):
    """What Python prints, or the last line of its error."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=patience(60)
    )
    assert bool(done.returncode) == fails, done.stderr
    return done.stderr.strip().splitlines()[-1] if fails else done.stdout


INSTALL = "import sys\nimport loglinear.compat\nloglinear.compat.install()\n"


def test_imports_lead_here():
    code = """
import pycrfsuite, sklearn_crfsuite
import pycrfsuite._logparser
from pycrfsuite import Trainer, Tagger, ItemSequence, BaseTrainer, CRFSuiteError, CRFSUITE_VERSION
from pycrfsuite._dumpparser import ParsedDump
from pycrfsuite._logparser import TrainLogParser
from sklearn_crfsuite import CRF, metrics, scorers
from sklearn_crfsuite.estimator import CRF as same
from sklearn_crfsuite.metrics import flat_f1_score
from sklearn_crfsuite.scorers import flat_accuracy
from sklearn_crfsuite.trainer import LinePerIterationTrainer
from sklearn_crfsuite.utils import flatten
for thing in (Trainer, Tagger, ItemSequence, TrainLogParser, CRF, flat_f1_score, LinePerIterationTrainer, flatten):
    assert thing.__module__.startswith("loglinear.compat."), thing
assert CRF is same and CRF.__mro__.index(CRF) == 0
assert issubclass(LinePerIterationTrainer, pycrfsuite.Trainer)
assert pycrfsuite.__spec__.name == "loglinear.compat.pycrfsuite"
assert metrics is sys.modules["loglinear.compat.sklearn_crfsuite.metrics"]
import pickle
assert pickle.loads(pickle.dumps(CRF(c1=0.5))).c1 == 0.5
loglinear.compat.install()
loglinear.compat.uninstall()
assert not {"pycrfsuite", "sklearn_crfsuite", "sklearn_crfsuite.metrics"} & set(sys.modules)
print("done")
"""
    assert run(INSTALL + code) == "done\n"


def test_the_tagger_comes_without_numpy():
    assert run(INSTALL + "import pycrfsuite; print({'numpy', 'sklearn'} & set(sys.modules))") == "set()\n"


def test_without_install_the_peer_is_imported():
    code = "import loglinear.compat, pycrfsuite; print(pycrfsuite.Trainer.__module__)"
    assert run(code) == "pycrfsuite._pycrfsuite\n"
    undone = INSTALL + "import pycrfsuite\nloglinear.compat.uninstall()\nimport pycrfsuite\nprint(pycrfsuite.__file__)"
    assert "loglinear" not in run(undone)


@pytest.mark.parametrize("module", ["pycrfsuite", "pycrfsuite._logparser"])
def test_a_peer_that_is_there_already_is_an_error(module):
    assert "pycrfsuite has already been imported" in run(f"import {module}\n{INSTALL}", fails=True)
