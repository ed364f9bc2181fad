"""Checkpoints with right checksums and the wrong content: resuming is refused by name, or the training runs."""

from __future__ import annotations

import dataclasses
import io
import os
import warnings
from typing import Annotated

import numpy as np
import pytest

from examples import examples
from loglinear import (
    LBFGS,
    OWLQN,
    ChainCRF,
    Checkpoint,
    DataError,
    MaxEnt,
    ObjectiveError,
    OptionError,
    Problem,
    minimize,
)
from loglinear.models.files import checkpoint as checkpoint_file
from loglinear.objectives.classifier import ClassifierObjective
from loglinear.solvers import SOLVERS, option_names
from loglinear.solvers.common.state_schema import Sizes, check_declared
from oracles.checkpoint_file import CheckpointFile, sealed
from oracles.hostile import CHANGES, changed, places
from oracles.samples import chunky

RNG = np.random.default_rng(0)
MATRIX, CLASSES = RNG.random((20, 5)) * (RNG.random((20, 5)) < 0.6), RNG.integers(0, 2, 20)
CHAIN = chunky(6)
STOP = 4
OF_SOLVERS = {
    "clustered": {"fine_iterations": 2, "cluster_factor": 3, "num_rounds": 2, "coarse_window": 2},
    "grafting": {"per_step": 2},
    "sgd_l1": {"learning_rate": 0.2},
    "two_stage": {"passes": 5},
}
ESTIMATORS = (
    (lambda **given: ChainCRF(l1=0.05, **given), CHAIN),
    (lambda **given: ChainCRF(l2=0.05, **given), CHAIN),
    (lambda **given: MaxEnt(l1=0.05, **given), (MATRIX, CLASSES)),
    (lambda **given: MaxEnt(l2=0.05, fit_intercept=False, **given), (MATRIX, CLASSES)),
)
# Parameter mixing needs data in parts; its state is the state of SGD-L1.
NAMES = [name for name in SOLVERS if name != "parameter_mixing"]
# Solver -> the number of the first estimator that takes it.
SUITS = {}


def fitted(name, path, *, stop, resume):
    """Train with a solver on the first data that it takes."""
    for number, (make, data) in enumerate(ESTIMATORS):
        if SUITS.get(name, number) != number:
            continue
        known = option_names(SOLVERS[name])
        options = {option: value for option, value in OF_SOLVERS.get(name, {}).items() if option in known}
        estimator = make(solver=name, solver_options=options, max_iterations=stop, n_jobs=1)
        try:
            fitted = estimator.fit(*data, checkpoint=Checkpoint(path, resume=resume))
        except OptionError:
            if resume:
                raise
            continue
        SUITS[name] = number
        return fitted
    raise AssertionError(name)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Checkpoints by solver."""
    files = {}

    def of(name):
        if name not in files:
            path = tmp_path_factory.mktemp("sound") / "c"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted(name, path, stop=STOP, resume=False)
            files[name] = CheckpointFile.of_bytes(path.read_bytes())
        return files[name]

    return of


HUGE = (10**8, 2**40, 2**62, 2**63 - 1, -(2**62), 1e300)


@np.errstate(all="ignore")
def mutant(file, rng):
    """A file with another field, or another array."""
    content, arrays = file.content, [*file.arrays]
    if arrays and rng.random() < 0.5:
        at, other = rng.integers(len(arrays), size=2)
        array = arrays[at].copy()
        flat = array.reshape(-1)
        match rng.integers(9):
            case 0:
                arrays[at] = flat[:-1]
            case 1:
                arrays[at] = array.astype(rng.choice([np.float32, np.int64, np.uint8, np.bool_, ">f8"]))
            case 2:
                arrays[at] = array[..., None]
            case 3:
                arrays[at], arrays[other] = arrays[other], arrays[at]
            case 4:
                arrays[at] = np.zeros(0, array.dtype)
            case 5:
                arrays[at] = np.append(flat, flat)
            case 6:
                arrays[at] = np.asfortranarray(np.array(array, ndmin=2))
            case _:
                if flat.size:
                    values = (np.nan, np.inf, 1e308, -1.0) if array.dtype.kind == "f" else (0, 1, 100, 255)
                    more = (-1, 2**31, 2**62) if array.dtype == np.int64 else ()
                    flat[rng.integers(flat.size)] = rng.choice(np.array([*values, *more], dtype=object))
                arrays[at] = array
        return CheckpointFile(content, arrays)
    ways = [way for way in places(content) if way]
    # Most fields are the solver's.
    ways += 4 * [way for way in ways if way[0] == "dict" and way[1:2] == ("state",) and len(way) > 2]
    changes = (*CHANGES, *HUGE, {"array": 0}, {"number": 0}, {"tuple": []}, {"dict": {}}, {"status": "RUNNING"})
    return CheckpointFile(changed(content, ways[rng.integers(len(ways))], changes[rng.integers(len(changes))]), arrays)


def check(name, path) -> bool:
    """Resume; return whether that was refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted(name, path, stop=STOP + 2, resume=True)
        except (DataError, OptionError) as error:
            message = str(error)
        except ObjectiveError:  # a training from other numbers may diverge
            return False
        else:
            return False
    assert message.startswith(str(path)), message
    assert len(message) < 2000
    return True


@pytest.mark.parametrize("name", NAMES)
def test_any_other_checkpoint_is_refused_by_name_or_runs(sound, tmp_path, name):
    rng, refused, n = np.random.default_rng(len(name)), 0, examples(72).max_examples
    for _ in range(n):
        (tmp_path / "c").write_bytes(mutant(sound(name), rng).to_bytes())
        refused += check(name, tmp_path / "c")
    assert refused > n // 4


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_many_other_checkpoints_are_refused_by_name_or_run(sound, tmp_path, name):
    rng = np.random.default_rng([1, len(name)])
    for _ in range(int(os.environ.get("LOGLINEAR_FUZZ", "400"))):
        (tmp_path / "c").write_bytes(mutant(sound(name), rng).to_bytes())
        check(name, tmp_path / "c")


@pytest.mark.parametrize(
    ("name", "field", "value", "named"),
    [
        ("lbfgs", "iteration", -1, "its state is of iteration -1, its last record of 4"),
        ("lbfgs", "iteration", 7, "its state is of iteration 7, its last record of 4"),
        ("lbfgs", "gradient_evaluations", True, "state.gradient_evaluations=True"),
        ("lbfgs", "objective", "x", "state.objective='x' is not a number"),
        ("lbfgs", "recent", {"tuple": ["x"]}, r"state.recent\[0\]='x' is not a number"),
        ("lbfgs", "recent", [0.5], "state.recent=.* is not a tuple"),
        ("lbfgs", "history", None, "state.history=None is not a Curvature"),
        ("lbfgs", "status", "x", "state.status='x' is not a Status|not a checkpoint"),
        ("lbfgs", "alpha", {"number": 0}, "state.alpha=.* is not a number"),
        ("lbfgs", "spare_w", None, "state.spare_w is NoneType, not an array of float64"),
        ("sag", "n_samples", 10**12, "state.n_samples=1000000000000 is not 6|is not 20"),
        ("sag", "gradients", {"tuple": []}, "state.gradients=.* does not have 3 entries"),
        ("sag", "seen", {"array": 0}, "state.seen is an array of float64, not an array of bool"),
        ("hybrid", "size", 0, "state.size=0 is not a whole number"),
        ("hybrid", "size", 10**6, "state: the batch is larger than the data"),
        ("clustered", "phase", "x", "state: the phase does not fit the clusters"),
        ("grafting", "awaiting", 3, "state.awaiting=3"),
        ("grafting", "problem", 3, "state.problem=3 is not to be saved"),
        ("two_stage", "end", 3, "state.end=3 is not a PassEnd"),
        ("prox_newton", "stride", 0, "state.stride=0"),
    ],
)
def test_a_field_that_does_not_fit_is_named(sound, tmp_path, name, field, value, named):
    file = sound(name)
    (kind,) = file.content["dict"]["state"]
    file = CheckpointFile(changed(file.content, ("dict", "state", kind, field), value), file.arrays)
    (tmp_path / "c").write_bytes(file.to_bytes())
    with pytest.raises(DataError, match=f"(?s)/c: (cannot resume: )?.*({named}).*; delete it to start again"):
        fitted(name, tmp_path / "c", stop=STOP + 2, resume=True)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda w: w[:-1], "state has weights of shape"),
        (lambda w: w[:, None], "state has weights of shape"),
        (lambda w: w.astype(np.float32), "state.w is an array of float32, not an array of float64"),
        (lambda w: w.astype(">f8"), "state.w is an array of >f8, not an array of float64"),
        (lambda w: np.where(np.arange(w.size) == 1, np.nan, w), "state.w has numbers that are not finite"),
    ],
)
def test_an_array_that_does_not_fit_is_named(sound, tmp_path, change, named):
    file = sound("owlqn")
    (state,) = file.content["dict"]["state"].values()
    arrays = [*file.arrays]
    arrays[state["w"]["array"]] = change(arrays[state["w"]["array"]])
    (tmp_path / "c").write_bytes(CheckpointFile(file.content, arrays).to_bytes())
    with pytest.raises(DataError, match=f"/c: cannot resume: {named}"):
        fitted("owlqn", tmp_path / "c", stop=STOP + 2, resume=True)


def test_an_array_larger_than_its_file_is_refused_before_memory_is_asked_for(tmp_path):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    (tmp_path / "c").write_bytes(sealed(file.getvalue()))
    with pytest.raises(DataError, match=r"an array of float64 with shape .* is not in the file"):
        checkpoint_file.read(str(tmp_path / "c"))


def test_errors_of_callbacks_and_of_later_steps_are_not_the_files(tmp_path):
    crf = ChainCRF(l1=0.05, max_iterations=STOP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crf.fit(*CHAIN, checkpoint=Checkpoint(tmp_path / "c"))

    def fail(record, state):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        crf.set_params(max_iterations=STOP + 2).fit(
            *CHAIN, checkpoint=Checkpoint(tmp_path / "c", resume=True), callbacks=[fail]
        )


def test_a_state_of_another_problem_or_solver_is_refused_by_minimize():
    problem = Problem(ClassifierObjective(MATRIX, CLASSES, n_classes=2))
    state = minimize(problem, LBFGS()).state
    with pytest.raises(OptionError, match=r"state\.history"):
        minimize(problem, LBFGS(), state=dataclasses.replace(state, history=3))
    with pytest.raises(OptionError, match="4 features"):
        minimize(Problem(ClassifierObjective(MATRIX[:, :3], CLASSES, n_classes=2)), OWLQN(), state=state)


def test_sizes_bounds_and_order_are_declared():
    def check_it(value, **sizes):
        declared = Annotated[np.ndarray[tuple[int], np.dtype[np.int64]], Sizes(**sizes)]
        check_declared("x", np.array(value), declared, 3, 2)

    check_it([0, 2, 1])
    for value, sizes, named in (
        ([0, 3, 1], {"below": "n_features"}, "from 0 to 2"),
        ([0, -1, 1], {}, "from 0 to"),
        ([0, 2, 1], {"ascending": True}, "in the wrong place"),
        ([0, 1, 1], {"distinct": True}, "twice"),
        ([0, 1, 1], {"least": 1}, "from 1 to"),
        ([0, 1], {}, r"has shape \(2,\), not \(3\)"),
        ([0], {"shape": ("n_samples",)}, r"has shape \(1,\), not \(2\)"),
    ):
        with pytest.raises(OptionError, match=named):
            check_it(value, **sizes)


@pytest.mark.parametrize("other", [{"array": 0}, {"array": -1}, {"number": 0}], ids=str)
@pytest.mark.parametrize(("name", "field"), [("owlqn", "spare_w"), ("lbfgs", "spare_gradient"), ("bfgs", "gradient")])
def test_what_steps_write_to_belongs_to_one_field(sound, tmp_path, name, field, other):
    file = sound(name)
    (kind,) = file.content["dict"]["state"]
    assert file.content["dict"]["state"][kind]["w"] == {"array": 0}
    n_arrays = len(file.arrays)
    other = {"array": -n_arrays} if other == {"array": -1} else other
    content = changed(file.content, ("dict", "state", kind, field), other)
    (tmp_path / "c").write_bytes(CheckpointFile(content, file.arrays).to_bytes())
    if "number" in other:  # a copy
        assert not check(name, tmp_path / "c")
        return
    what = "w and gradient are" if field == "gradient" else f"state.{field} is"
    with pytest.raises(DataError, match=f"/c: cannot resume: .*{what} the same array"):
        fitted(name, tmp_path / "c", stop=STOP + 2, resume=True)


@pytest.mark.parametrize("name", ["grafting", "hybrid"])
def test_units_are_no_array_that_later_steps_write_to(sound, tmp_path, name):
    file = sound(name)
    (way,) = [way for way in places(file.content) if way[-2:] == ("common.history.History", "scale")]
    (tmp_path / "c").write_bytes(CheckpointFile(changed(file.content, way, {"array": 0}), file.arrays).to_bytes())
    with pytest.raises(DataError, match=r"/c: cannot resume: .*scale is the same array as"):
        fitted(name, tmp_path / "c", stop=STOP + 2, resume=True)
