"""The other programs of benchmarks/peers solve the problem that loglinear solves: equal objectives at their ends."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "peers"))

from classifier_paths import followed, objectives, own_path, path_programs
from classifier_problems import Data, cases, made_table
from classifier_programs import PEERS, default_model, missing_peers, peers

from loglinear.solvers import ProxNewton

NEAR = 1e-6
# The names of the programs begin like their modules', but for this one.
NAMES = {"sklearn": "scikit-learn"}
# Compiles first, which takes as many seconds as its fits may.
SLOW, SECONDS = ("skglm",), {"skglm": 60.0}
PATHS = ("glmnet", "adelie", "skglm", "celer")
MODULES = [pytest.param(module, marks=pytest.mark.slow if module in SLOW else ()) for module in PEERS]

pytestmark = [
    pytest.mark.thread_unsafe,  # a signal ends a fit that takes too long
    pytest.mark.filterwarnings("ignore"),  # peers warn of tolerances that they miss, and of NumPy
]


def sparse(X):
    """The same with a third of the values left out."""
    X = csr_array(np.where(X > -0.5, X, 0.0))
    X.indices, X.indptr = (array.astype(np.int32) for array in (X.indices, X.indptr))
    return X


FORMS = {"dense": np.asarray, "sparse": sparse}


def problems(form):
    """Small problems with every penalty that some peer has."""
    (X, y), (several, classes) = made_table(60, 5), made_table(60, 5, classes=3)
    yield from Data(form, lambda: (FORMS[form](X), y), settings="l2=0.5 l2+ l1=2 l1=3+ l1=2,l2=3+").cases()
    yield from Data(form, lambda: (FORMS[form](several), classes), "softmax", "l2=0.5 l2+ l1=2+").cases()
    yield from Data(form, lambda: (FORMS[form](several), classes), "ovr", "l2").cases()


def optimum(case):
    model = default_model(case, 1).set_params(solver_options={"tolerance": 1e-12}).fit(case.X, case.y)
    return case.point(0.0, model.coef_, model.intercept_).objective


def programs_of(module, programs):
    return {name: program for name, program in programs.items() if name.startswith(NAMES.get(module, module))}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("module", MODULES)
def test_every_peer_that_converges_ends_at_our_optimum(module, form):
    pytest.importorskip(module)
    solved = 0
    for case in problems(form):
        best = optimum(case)
        for name, program in programs_of(module, peers(case, 1)).items():
            curve = program.run(best * (1 + NEAR / 10), SECONDS.get(module, 1.0))
            end = min(point.objective for point in curve)
            assert best * (1 - 1e-9) <= end <= best * (1 + NEAR), f"{name}, {case.name}: {end}, not {best}"
            solved += 1
    assert solved


@pytest.mark.parametrize("module", [module for module in MODULES if module.values[0] in PATHS])
def test_every_path_ends_at_our_optima(module):
    pytest.importorskip(module)
    strengths, count = [20.0, 5.0, 1.0], 0
    for case in Data("dense", lambda: made_table(60, 5), settings="l1 l1+").cases():
        best = objectives(case, strengths, own_path(1, ProxNewton(tolerance=1e-12), case, strengths))
        for name, weights in programs_of(module, path_programs(case, [1])).items():
            if "tolerance" in name:
                above = objectives(case, strengths, weights(case, strengths)) / best - 1.0
                assert np.abs(above).max() <= NEAR, f"{name}, {case.name}: {above}"
                count += 1
    assert count


def test_a_program_that_fails_on_a_path_says_why():
    (case,) = Data("dense", lambda: made_table(60, 5), settings="l1").cases()

    def failing(case, strengths):
        message = "no weights"
        raise ValueError(message)

    answer = followed("failing", case, failing, [1.0])
    assert answer["why"] == "ValueError('no weights')"
    assert answer["objectives"].tolist() == [np.inf]


def test_a_peer_that_is_not_installed_is_left_out(monkeypatch):
    (case,) = Data("dense", lambda: made_table(60, 5), settings="l1").cases()
    monkeypatch.setattr("classifier_programs.find_spec", lambda module: None)
    monkeypatch.setattr("classifier_paths.find_spec", lambda module: None)
    assert missing_peers() == list(PEERS.values())
    assert all(name.startswith("scikit-learn") for name in peers(case, 1))
    assert all(name.startswith("loglinear") for name in path_programs(case, [1]))


def test_problems_are_chosen_by_name_before_their_data_are_read(monkeypatch):
    monkeypatch.delenv("LOGLINEAR_DATA", raising=False)
    names = [case.name for case in cases(None, "iris")]
    assert names == ["iris, softmax, l2, intercept"]
    (case,) = cases(None, "breast cancer 569 x 30, binary, l1 and l2")
    assert (case.l1, case.l2, case.intercept, case.X.shape) == (1.0, 1.0, True, (569, 30))
    (case,) = Data("few", lambda: made_table(9, 2), settings="l1=10 l2").cases("l1")
    assert (case.l1, case.l2, case.intercept, case.name) == (10.0, 0.0, False, "few, binary, l1=10")


def test_tables_are_the_same_each_time_and_have_correlated_columns():
    X, y = made_table(2000, 10, classes=3)
    again = made_table(2000, 10, classes=3)
    assert (X == again[0]).all()
    assert (y == again[1]).all()
    assert set(y) == {0, 1, 2}
    neighbours = np.corrcoef(X.T)[np.arange(9), np.arange(1, 10)]
    assert neighbours == pytest.approx(0.7, abs=0.1)
