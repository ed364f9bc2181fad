"""Trainings that are stopped and go on: nothing but the clock may tell them from trainings that never stopped."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import re
import shutil
import signal
import threading
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from examples import by_day
from loglinear import ChainCRF, Checkpoint, MaxEnt
from loglinear.errors import DataError, OptionError
from loglinear.models.files import checkpoint as checkpoint_file
from loglinear.models.training import checkpoint as checkpoint_module
from loglinear.models.training.interrupts import Postponed
from loglinear.models.training.terms import Terms, changes, of_solver
from loglinear.result import Status
from loglinear.solvers import OWLQN, SOLVERS, make_solver, option_names
from loglinear.trace import Trace, TraceWriter
from oracles.samples import chunky

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
MATRIX, CLASSES = RNG.random((30, 9)) * (RNG.random((30, 9)) < 0.5), RNG.integers(0, 2, 30)
CHAIN, SAMPLES = chunky(16), (MATRIX, CLASSES)
# Iterations after which trainings are stopped, few of them, and the last one of all.
STOPS, FEW, LAST = (0, 1, 4, 9), (0, 4), 12
# Small problems are solved soon: nothing but the limit on iterations ends a training.
ENDLESS = {"tolerance": 0.0, "gradient_tolerance": 0.0, "passes": LAST}
OF_SOLVERS = {
    "clustered": {"fine_iterations": 3, "cluster_factor": 3, "num_rounds": 2, "coarse_window": 2},
    "grafting": {"per_step": 2},
    "hybrid": {"growth": 1.5},
    "sgd_l1": {"learning_rate": 0.2},
    "two_stage": {"passes": 5},
}
PROBLEMS = {
    "chain, l1": (lambda **given: ChainCRF(l1=0.05, **given), CHAIN),
    "chain, l2": (lambda **given: ChainCRF(l2=0.05, **given), CHAIN),
    "samples, l1": (lambda **given: MaxEnt(l1=0.05, **given), SAMPLES),
    "samples, l2": (lambda **given: MaxEnt(l2=0.05, fit_intercept=False, **given), SAMPLES),
}


def trainings(name):
    """Yield problem, estimator and data for each problem that a solver can work on."""
    known = option_names(SOLVERS[name])
    options = {each: value for each, value in (ENDLESS | OF_SOLVERS.get(name, {})).items() if each in known}
    for problem, (make, data) in PROBLEMS.items():
        estimator = make(solver=name, solver_options=options, max_iterations=LAST, n_jobs=1)
        try:
            estimator.set_params(max_iterations=0).fit(*data)
        except OptionError:
            continue
        yield problem, estimator.set_params(max_iterations=LAST), data


def course(estimator):
    """The trace of a training without its clock, a line for each record, and how it ended."""
    result = estimator.result_
    lines = [json.loads(record.to_json()) | {"seconds": None} for record in result.trace]
    ends = (result.status, result.iterations, result.passes, result.gradient_evaluations, result.objective)
    return lines, (*ends, result.nll, result.violation, result.kept)


def resumed(path, **given):
    return Checkpoint(path, resume=True, **given)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Leave it to the system when a file reaches the disk."""
    monkeypatch.setattr("os.fsync", lambda file: None)


@pytest.mark.parametrize(("name", "stops"), by_day(product(SOLVERS, (FEW, STOPS)), lambda case: case[1] is FEW))
def test_a_resumed_training_is_bitwise_one_that_was_never_stopped(name, stops, tmp_path):
    checkpoint, taken = Checkpoint(tmp_path / "whole"), 0

    def at_stops(record, state):
        if record.iteration - 1 in stops:
            shutil.copy(checkpoint.path, tmp_path / str(record.iteration - 1))
        checkpoint.minutes = 0.0 if record.iteration in stops else 60.0

    for problem, estimator, data in trainings(name):
        taken += 1
        expected = estimator.fit(*data).result_.w.tobytes(), *course(estimator)
        watched = estimator.fit(*data, checkpoint=checkpoint, callbacks=[at_stops])
        assert (watched.result_.w.tobytes(), *course(watched)) == expected
        reached = [stop for stop in stops if stop < watched.result_.iterations]
        assert len(reached) >= len(stops) - 1, problem
        for stop in reached:
            rest = estimator.fit(*data, checkpoint=resumed(tmp_path / str(stop)))
            assert (rest.result_.w.tobytes(), *course(rest)) == expected, (problem, stop)
    # Data in parts have no estimator of their own: see tests/objectives/test_parts.py.
    assert taken or name == "parameter_mixing"


def raising(monkeypatch, solver, times, at=2):
    """Let Ctrl-C be pressed some times in the middle of a solver's step from an iteration to the next."""
    step = solver.step

    def interrupted(self, problem, state):
        following = step(self, problem, state)
        if state.iteration == at:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return following

    monkeypatch.setattr(solver, "step", interrupted)


@pytest.mark.parametrize("name", ["grafting_light", "owlqn", "sag", "sgd_l1"])
def test_ctrl_c_waits_for_the_end_of_the_step_and_is_exact(name, tmp_path, monkeypatch):
    (_, estimator, data), *_ = trainings(name)
    expected = estimator.fit(*data).result_.w.tobytes(), *course(estimator)
    checkpoint = Checkpoint(tmp_path / "c")
    with monkeypatch.context() as patched:
        raising(patched, SOLVERS[name], 1)
        with pytest.raises(KeyboardInterrupt, match="interrupted at iteration 3; the estimator has the weights"):
            estimator.fit(*data, checkpoint=checkpoint)
    assert checkpoint.iteration == estimator.result_.iterations == 3
    estimator.fit(*data, checkpoint=resumed(checkpoint.path))
    assert (estimator.result_.w.tobytes(), *course(estimator)) == expected
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_ctrl_c_ends_the_training_at_once(tmp_path, monkeypatch):
    (_, estimator, data), *_ = trainings("sag")
    expected = estimator.fit(*data).result_.w.tobytes()
    checkpoint = Checkpoint(tmp_path / "c", 0)
    with monkeypatch.context() as patched:
        raising(patched, SOLVERS["sag"], 2)
        with pytest.raises(KeyboardInterrupt, match="interrupted at iteration 2"):
            estimator.fit(*data, checkpoint=checkpoint)
    assert checkpoint.iteration == 2
    assert estimator.fit(*data, checkpoint=resumed(checkpoint.path)).result_.w.tobytes() == expected


def test_ctrl_c_behind_the_last_step_is_not_lost(tmp_path, monkeypatch):
    write = checkpoint_file.write

    def interrupted(path, content):
        signal.raise_signal(signal.SIGINT)
        write(path, content)

    monkeypatch.setattr(checkpoint_file, "write", interrupted)
    crf = ChainCRF()
    with pytest.raises(KeyboardInterrupt):
        crf.fit(*CHAIN, checkpoint=Checkpoint(tmp_path / "c"))
    assert checkpoint_file.read(str(tmp_path / "c"))["state"].status is Status.CONVERGED
    assert crf.result_.status is Status.INTERRUPTED


@pytest.mark.thread_unsafe
def test_only_interrupts_wait():
    called = []
    before = [signal.signal(signal.SIGTERM, lambda *_: called.append(1)), signal.signal(signal.SIGINT, signal.SIG_IGN)]
    try:
        with Postponed() as interrupts:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            assert called
            assert not interrupts.asked
            interrupts.answer()
            signal.signal(signal.SIGINT, signal.default_int_handler)  # the program's business
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def test_a_training_on_another_thread_writes_checkpoints_too(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", 0)
    thread = threading.Thread(target=lambda: ChainCRF().fit(*CHAIN, checkpoint=checkpoint))
    thread.start()
    thread.join()
    assert checkpoint.iteration


def at_iteration(path, last, estimator, data, **given):
    """A checkpoint of a training that was stopped after an iteration."""
    limit = estimator.get_params()["max_iterations"]
    estimator.set_params(max_iterations=last).fit(*data, checkpoint=Checkpoint(path), **given)
    return estimator.set_params(max_iterations=limit)


@pytest.mark.parametrize("use", [{"keep": "best"}, {"patience": 4}, {"patience": 4, "keep": "last"}, {}])
def test_scores_on_development_data_and_the_best_weights_survive(use, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 30))
    y = (X[:, 0] + rng.normal(size=90) > 0.0).astype(int)
    data, dev = (X[:40], y[:40]), {"X_dev": X[40:], "y_dev": y[40:]}
    classifier = MaxEnt(l2=1e-3, max_iterations=20, solver="lbfgs", tolerance=0.0, **use)
    weights, expected, ends = classifier.fit(*data, **dev).coef_.tobytes(), *course(classifier)
    kept = classifier.result_.kept or 3
    assert 0 < kept < classifier.result_.iterations
    for stop in {0, 1, kept - 1, kept, kept + 1, classifier.result_.iterations}:
        at_iteration(tmp_path / "c", stop, classifier, data, **dev)
        classifier.fit(*data, **dev, checkpoint=resumed(tmp_path / "c"))
        found, found_ends = course(classifier)
        # A training that is stopped scores its last record, whatever its number.
        found[stop] |= {"dev": expected[stop].get("dev", found[stop]["dev"])}
        wanted = [*expected[:stop], expected[stop] | {"dev": found[stop]["dev"]}, *expected[stop + 1 :]]
        assert (classifier.coef_.tobytes(), found, found_ends) == (weights, wanted, ends), stop


def test_a_trace_goes_on_in_its_file(tmp_path):
    crf = ChainCRF(l1=0.1, max_iterations=9, solver_options={"passes": 9}, solver="sgd_l1")
    crf.fit(*CHAIN, callbacks=[TraceWriter(tmp_path / "whole")])
    at_iteration(tmp_path / "c", 4, crf, CHAIN, callbacks=[TraceWriter(tmp_path / "part")])
    # A run that is killed has written more of its trace than its last checkpoint knows.
    with (tmp_path / "part").open("a") as file:
        file.write((tmp_path / "part").read_text().splitlines()[-1].replace('"iteration": 4', '"iteration": 5') + "\n")
    crf.fit(*CHAIN, checkpoint=resumed(tmp_path / "c"), callbacks=[TraceWriter(tmp_path / "part", append=True)])
    whole, part = (Trace.read(tmp_path / name) for name in ("whole", "part"))
    assert [(each.iteration, each.objective) for each in part] == [(each.iteration, each.objective) for each in whole]
    assert [each.seconds for each in part] == sorted(each.seconds for each in part)
    assert part == crf.result_.trace
    # There is nothing to go on from: an older trace of the same name is of another training.
    crf.fit(*CHAIN, checkpoint=resumed(tmp_path / "new"), callbacks=[TraceWriter(tmp_path / "part", append=True)])
    assert Trace.read(tmp_path / "part") == crf.result_.trace


def test_seconds_add_up(tmp_path):
    crf = at_iteration(tmp_path / "c", 3, ChainCRF(l1=0.1), CHAIN)
    before = crf.result_.seconds
    crf.fit(*CHAIN, checkpoint=resumed(tmp_path / "c"))
    assert before == crf.result_.trace[3].seconds
    assert crf.result_.seconds == crf.result_.trace[-1].seconds > before


def test_a_training_that_has_ended_ends_at_once_or_goes_on_to_a_higher_limit(tmp_path):
    crf = at_iteration(tmp_path / "c", 5, ChainCRF(l1=0.1, max_iterations=20), CHAIN)
    crf.set_params(max_iterations=5).fit(*CHAIN, checkpoint=resumed(tmp_path / "c"))
    assert (crf.result_.iterations, crf.result_.status) == (5, Status.MAX_ITERATIONS)
    crf.set_params(max_iterations=None, n_jobs=1, verbose=False).fit(*CHAIN, checkpoint=resumed(tmp_path / "c"))
    assert crf.result_.w.tobytes() == ChainCRF(l1=0.1, max_iterations=None).fit(*CHAIN).result_.w.tobytes()
    again = ChainCRF(l1=0.1, max_iterations=None).fit(*CHAIN, checkpoint=resumed(tmp_path / "c"))
    assert course(again) == course(crf)


X, Y = CHAIN
FEWER = "the training data have changed (16 sentences in the checkpoint, 15 now)"
OTHERS = "the training data have changed (16 sentences as before, different content)"
FIRST = [[X[0][0][:1], *X[0][1:]], *X[1:]], [Y[0][::-1], *Y[1:]], [[{"A", "B"}, *Y[0][1:]], *Y[1:]]


@pytest.mark.parametrize(
    ("changes", "data", "named"),
    [
        ({"l1": 2.0}, CHAIN, "l1 changed from 1 to 2"),
        ({"l2": 0.5, "l1": 2.0}, CHAIN, "l1 changed from 1 to 2; l2 changed from 0 to 0.5"),
        ({"solver": "grafting_light"}, CHAIN, "solver changed from auto to grafting_light"),
        ({"solver": OWLQN(memory=5)}, CHAIN, "solver changed from auto to owlqn"),
        ({"tolerance": 1e-9}, CHAIN, "tolerance changed from None to 1e-09"),
        ({"order": 2}, CHAIN, "order changed from 1 to 2"),
        ({"all_states": True}, CHAIN, "all_states changed from False to True"),
        ({"min_count": 2}, CHAIN, "min_count changed from 1 to 2"),
        ({"constraints": [("A", None)]}, CHAIN, "constraints changed from None to [['A', None]]"),
        ({}, (X[1:], Y[1:]), FEWER),
        ({"l1": 2.0}, (X[1:], Y[1:]), f"l1 changed from 1 to 2; {FEWER}"),
        ({}, (FIRST[0], Y), OTHERS),
        ({}, (X, FIRST[1]), OTHERS),
        ({}, (X, FIRST[2]), OTHERS),
        ({}, (X[::-1], Y[::-1]), OTHERS),
    ],
)
def test_what_has_changed_is_refused_by_name(changes, data, named, tmp_path):
    path = tmp_path / "c"
    if "constraints" in changes:
        data = X, [[*labels[:-1], "B"] for labels in Y]
    at_iteration(path, 2, ChainCRF(l1=1.0), CHAIN if "constraints" not in changes else data)
    content = path.read_bytes()
    with pytest.raises(OptionError) as refused:
        ChainCRF(**{"l1": 1.0} | changes).fit(*data, checkpoint=resumed(path))
    remedy = "use the data and options of the first run, or start again without resuming"
    assert str(refused.value) == f"{path}: cannot resume: {named}; {remedy}"
    assert path.read_bytes() == content


@pytest.mark.parametrize("solver", ["owlqn", "grafting_light", "label_sets", "two_stage"])
def test_a_checkpoint_from_before_there_was_an_option_goes_with_its_default_only(solver):
    def terms(**options):
        return Terms({}, solver, of_solver(make_solver(solver, **options)), {}).as_json()

    before = terms()
    before[2] = {name: value for name, value in before[2].items() if name.rpartition(".")[2] != "window"}
    assert len(before[2]) < len(terms()[2])
    assert changes(before, terms()) == []
    assert all(each.endswith("window changed from 6 to 1") for each in changes(before, terms(window=1)))
    assert changes(before, terms(window=1))


def test_long_values_are_cut_where_they_have_changed():
    def changed(value):
        return changes([{"constraints": 1}, "owlqn", {}, {}], [{"constraints": value}, "owlqn", {}, {}])

    assert changed(60 * "x") == [f"constraints changed from 1 to {60 * 'x'}"]
    assert changed(61 * "x") == [f"constraints changed from 1 to {57 * 'x'}..."]


def test_weights_of_sentences_starting_weights_and_development_data_are_compared(tmp_path):
    path, crf, dev = tmp_path / "c", ChainCRF(l1=1.0, patience=3), {"X_dev": X[:5], "y_dev": Y[:5]}
    start = ChainCRF().fit(*CHAIN)
    at_iteration(path, 2, crf, CHAIN, **dev)
    for given, named in [
        ({"sample_weight": [2.0] * 16, **dev}, OTHERS),
        (
            {"start": start, **dev},
            f"the starting weights have changed (none in the checkpoint, {start.result_.w.size} features now)",
        ),
        ({"X_dev": X[:4], "y_dev": Y[:4]}, "the development data have changed (5 sentences in the checkpoint, 4 now)"),
    ]:
        with pytest.raises(OptionError) as refused:
            crf.fit(*CHAIN, checkpoint=resumed(path), **given)
        assert f"cannot resume: {named}; use" in str(refused.value)
    with pytest.raises(OptionError, match="patience changed from 3 to 4"):
        crf.set_params(patience=4).fit(*CHAIN, checkpoint=resumed(path), **dev)
    crf.set_params(patience=None)
    at_iteration(path, 2, crf, (X, FIRST[2]))
    with pytest.raises(OptionError, match=re.escape(OTHERS)):
        crf.fit(X, [[{"A", "C"}, *Y[0][1:]], *Y[1:]], checkpoint=resumed(path))
    at_iteration(path, 2, crf, CHAIN, start=start)
    rest, whole = (crf.fit(*CHAIN, start=start, checkpoint=each).result_ for each in (resumed(path), None))
    assert (rest.w.tobytes(), rest.start) == (whole.w.tobytes(), whole.start)
    assert rest.start.n_shared
    # Data that are only scored may come and go.
    at_iteration(path, 2, ChainCRF(l1=1.0), CHAIN)
    ChainCRF(l1=1.0).fit(*CHAIN, checkpoint=resumed(path), **dev)


def test_attributes_of_bigrams_are_compared(tmp_path):
    columns = [[tuple(token) for token in sentence] for sentence in X]
    template = "U:%x[0,0]\nB1:%x[{},1]\nB\n"
    at_iteration(tmp_path / "c", 2, ChainCRF(template=template.format(0)), (columns, Y))
    with pytest.raises(OptionError, match=re.escape("the training data have changed (")):
        ChainCRF(template=template.format(-1)).fit(columns, Y, checkpoint=resumed(tmp_path / "c"))
    ChainCRF(template=template.format(0)).fit(columns, Y, checkpoint=resumed(tmp_path / "c"))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"fit_intercept": False}, "fit_intercept changed from True to False"),
        ({"class_weight": {0: 2.0, 1: 1.0}}, "class_weight changed from None to {'0': 2.0, '1': 1.0}"),
        ({}, "the training data have changed (30 samples as before, different content)"),
    ],
)
def test_what_has_changed_of_a_classifier_is_refused_by_name(changes, named, tmp_path):
    at_iteration(tmp_path / "c", 2, MaxEnt(), SAMPLES)
    data = SAMPLES if changes else (MATRIX * (1.0 + 1e-12), CLASSES)
    with pytest.raises(OptionError) as refused:
        MaxEnt(**changes).fit(*data, checkpoint=resumed(tmp_path / "c"))
    assert f"cannot resume: {named}" in str(refused.value)


def test_what_cannot_have_a_checkpoint_is_refused(tmp_path):
    three = MATRIX, np.arange(30) % 3
    with pytest.raises(OptionError, match="checkpoints are not available with multi_class='ovr'"):
        MaxEnt(multi_class="ovr").fit(*three, checkpoint=Checkpoint(tmp_path / "c"))
    MaxEnt().fit(*three, checkpoint=Checkpoint(tmp_path / "c"))

    class Own(OWLQN):
        pass

    with pytest.raises(OptionError, match="only the solvers of the library, not own"):
        ChainCRF(solver=Own()).fit(*CHAIN, checkpoint=Checkpoint(tmp_path / "new"))
    with pytest.raises(OptionError, match="is not a Checkpoint; give Checkpoint"):
        ChainCRF().fit(*CHAIN, checkpoint="c")
    with pytest.raises(OptionError, match="minutes=-1 is out of range"):
        Checkpoint("c", -1)
    for path in (1, "", "-"):
        with pytest.raises(OptionError, match=f"checkpoint={path!r} is not the path of a file"):
            Checkpoint(path)
    (tmp_path / "data").write_text("a B\n")
    with pytest.raises(DataError, match="data: this file is not a checkpoint; choose another name"):
        ChainCRF().fit(*CHAIN, checkpoint=Checkpoint(tmp_path / "data"))
    with pytest.raises(OptionError, match="not a regular file"):
        ChainCRF().fit(*CHAIN, checkpoint=Checkpoint(tmp_path))
    with pytest.raises(OptionError, match="its folder does not exist"):
        ChainCRF().fit(*CHAIN, checkpoint=Checkpoint(tmp_path / "no" / "c"))


def test_the_file_of_an_unfinished_training_is_not_overwritten(tmp_path):
    path = tmp_path / "c"

    def interrupting(record, state):
        if record.iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ChainCRF(l1=0.1).fit(*CHAIN, checkpoint=Checkpoint(path, 0), callbacks=[interrupting])
    before = path.read_bytes()
    remedy = r"resume=True \(--resume\) to continue it, choose another name, or delete the file"
    for data in (CHAIN, (X[1:], Y[1:])):
        with pytest.raises(OptionError, match=rf"c: has an unfinished training, at iteration 2; pass {remedy}"):
            ChainCRF(l1=0.1).fit(*data, checkpoint=Checkpoint(path))
    assert path.read_bytes() == before
    ChainCRF(l1=0.1).fit(*CHAIN, checkpoint=resumed(path))
    ChainCRF(l1=0.1, max_iterations=2).fit(X[1:], Y[1:], checkpoint=Checkpoint(path))
    ChainCRF(l1=0.1, max_iterations=2).fit(*CHAIN, checkpoint=Checkpoint(path))


def test_people_are_told_where_a_training_starts(tmp_path):
    said, path = [], tmp_path / "c"
    for given in ({"resume": True}, {}, {"resume": True}):
        crf = ChainCRF().fit(*CHAIN, checkpoint=Checkpoint(path, note=said.append, **given))
    assert said[:2] == [
        f"{path}: no checkpoint yet; starting from the beginning",
        f"{path}: starting from the beginning, which overwrites this checkpoint; resume to continue it",
    ]
    assert said[2].startswith(f"{path}: continuing from iteration {crf.result_.iterations}, after ")


def test_a_file_gives_back_what_was_written(tmp_path):
    path, array = str(tmp_path / "c"), np.arange(6.0).reshape(2, 3)
    content = {
        "plain": [None, True, -3, 2**70, 0.1, -0.0, "\u00e9\ud83d"], "not finite": (math.nan, math.inf, -math.inf),
        "nested": ((), {"a": ([],)}), "number": np.float32(0.1), "status": Status.CONVERGED,
        "empty": np.empty((0, 3), np.int64), "once": array, "twice": array,
        "by columns": np.asfortranarray(array), "bits": np.array([True, False]),
    }  # fmt: skip
    checkpoint_file.write(path, content)
    found = checkpoint_file.read(path)
    assert found["once"] is found["twice"]
    assert found["by columns"].flags.f_contiguous
    assert found["once"].flags.writeable
    assert type(found["number"]) is np.float32
    assert repr(found) == repr(content)
    for other in ({1}, np.array(["a"]), np.array([None]), object(), {1: 2}, b"bytes", 1j):
        with pytest.raises(OptionError, match="a checkpoint cannot contain"):
            checkpoint_file.write(path, {"other": other})
    assert repr(checkpoint_file.read(path)) == repr(content)


class Harmful:
    """Leaves a trace when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_file_that_is_damaged_or_cut_short_is_refused(tmp_path):
    path = tmp_path / "c"
    at_iteration(path, 3, ChainCRF(l1=1.0, solver="owlqn", solver_options={"memory": 1}), (X[:3], Y[:3]))
    whole, rng = path.read_bytes(), np.random.default_rng(1)
    places = [*range(60), *range(len(whole) - 60, len(whole)), *rng.integers(0, len(whole), 100).tolist()]
    flipped = [whole[:at] + bytes([whole[at] ^ 1 << int(rng.integers(8))]) + whole[at + 1 :] for at in places]
    cut = [whole[:length] for length in (0, 1, 22, 30, 60, len(whole) // 2, len(whole) - 1)]
    for content in (*cut, *flipped, whole + b"\0"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"not a checkpoint|damaged") as refused:
            checkpoint_file.read(str(path))
        assert str(refused.value).startswith(f"{path}: ")
        assert str(refused.value).endswith("; give the name of a checkpoint, or delete the file to start again")
    path.write_bytes(whole)
    checkpoint_file.read(str(path))


def forged(path, content, *arrays):
    """Write a file whose checksum is right and whose content is not what a checkpoint holds."""
    text = np.frombuffer(json.dumps(content).encode(), np.uint8)
    with path.open("w+b") as file:
        file.write(b"loglinear checkpoint 1\n")
        for array in (text, *arrays):
            np.lib.format.write_array(file, array)
        file.seek(0)
        digest = hashlib.blake2b(file.read(), digest_size=32).digest()
        file.write(digest)


def test_foreign_and_harmful_files_are_refused_and_never_executed(tmp_path):
    path, mark = tmp_path / "c", tmp_path / "executed"
    harmful = np.array([Harmful(str(mark))], dtype=object)
    ChainCRF().fit(*CHAIN).save(path)
    foreign = [path.read_bytes(), b"a B\n" * 100, pickle.dumps(Harmful(str(mark))), b"loglinear checkpoint 2\n" * 9]
    known = {"trace": [], "terms": [], "memory": None, "state": None}
    contents = [
        {"os.system": {"command": "true"}}, {"parts.history.History": {"S": 1}}, {"array": 1}, {"array": 0},
        {"status": "NONE"}, {"dict": {}}, {}, [], {"dict": known | {"trace": ["no"]}},
    ]  # fmt: skip
    writes = [partial(path.write_bytes, each) for each in foreign]
    for write in [*writes, *(partial(forged, path, each, harmful) for each in contents), partial(forged, path, [])]:
        write()
        with pytest.raises(DataError, match=r"not a checkpoint|another version"):
            ChainCRF().fit(*CHAIN, checkpoint=resumed(path))
    assert not mark.exists()
    forged(path, {"dict": {"a": {"tuple": [1, None, {"array": 0}]}}}, np.arange(3))
    assert checkpoint_file.read(str(path))["a"][:2] == (1, None)


@pytest.mark.parametrize("failing", ["numpy.lib.format.write_array", "os.replace", "os.fsync"])
def test_a_failing_write_leaves_the_older_checkpoint_and_the_training_goes_on(failing, tmp_path, monkeypatch):
    path = tmp_path / "c"
    crf = at_iteration(path, 3, ChainCRF(l1=0.1), CHAIN)
    content = path.read_bytes()

    def fail(*arguments, **arrays):
        if hasattr(arguments[0], "write"):
            arguments[0].write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failing, fail)
    with pytest.warns(UserWarning, match=r"cannot write the checkpoint \(No space left on device\); training"):
        crf.fit(*CHAIN, checkpoint=resumed(path, minutes=0))
    assert crf.result_.status is Status.CONVERGED
    assert [each.name for each in tmp_path.iterdir()] == ["c"]
    assert path.read_bytes() == content


def test_an_interrupted_write_leaves_the_older_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "c"
    crf = at_iteration(path, 3, ChainCRF(l1=0.1), CHAIN)
    content = path.read_bytes()

    def press(file):
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("os.fsync", press)
    with pytest.raises(KeyboardInterrupt):
        crf.fit(*CHAIN, checkpoint=resumed(path, minutes=0))
    assert [each.name for each in tmp_path.iterdir()] == ["c"]
    assert path.read_bytes() == content


def test_minutes_between_checkpoints_are_minutes(tmp_path, monkeypatch):
    path, now, existed = tmp_path / "checkpoint", [0.0], []
    monkeypatch.setattr(checkpoint_module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def pass_time(record, state):
        existed.append(path.exists())
        now[0] += 5.0

    X, y = [[["a"], ["b"]], [["b"], ["c"], ["a"]]], [["A", "B"], ["B", "A", "A"]]
    crf = ChainCRF(tolerance=0.0, max_iterations=6)
    with pytest.warns(match="iteration limit"):
        crf.fit(X, y, checkpoint=Checkpoint(path, minutes=1.0), callbacks=[pass_time])
    assert not any(existed)
    assert path.exists()
