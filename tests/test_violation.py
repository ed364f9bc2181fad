"""The law of the violation: wherever a user reads one, it is by all features, whatever the solver and the end."""

from __future__ import annotations

import functools
import itertools
import json
import math
import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from scipy.special import log_softmax

from examples import by_day
from loglinear import ChainCRF, ChainObjective, Checkpoint, ClassifierObjective, ConvergenceWarning, Corpus, MaxEnt
from loglinear.data.parts import ListedPart
from loglinear.errors import OptionError
from loglinear.minimize import Stop, minimize
from loglinear.models.files.settings import training_summary
from loglinear.objectives.parts import ChainParts
from loglinear.penalty import ElasticNet, GroupLasso
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import SOLVERS, make_solver, suits
from loglinear.trace import Trace, TraceWriter
from oracles.logistic import Logistic
from oracles.samples import chunky

# Options by which tiny problems are looked at in part, and take more than a few steps.
SMALL = {
    "clustered": {"fine_iterations": 3, "cluster_factor": 3, "coarse_tolerance": 0.0},
    "gauss_seidel": {"select": 4},
    "grafting": {"select": 3},
    "grafting_light": {"select": 3, "steps": 4},
    "hybrid": {"first": 3, "growth": 1.5},
    "label_sets": {"select": 5, "steps": 3, "passes": 3},
    "parameter_mixing": {"passes": 3},
    "two_stage": {"passes": 3},
}
# Solvers whose states know the violation of a smaller problem only, at some steps.
PARTIAL = {"clustered", "gauss_seidel", "grafting", "grafting_light"}
PENALTIES = {"l2": (0.0, 1.0), "l1": (0.3, 0.0), "l1 and l2": (0.3, 0.2)}


def samples():
    rng = np.random.default_rng(0)
    x = scipy.sparse.csr_array(rng.random((40, 8)) * (rng.random((40, 8)) < 0.5))
    return x, rng.integers(2, size=40)


@functools.cache
def objective_of(kind):
    X, y = chunky(12)
    if kind == "chain":
        return ChainObjective(Corpus.encode(X, y))
    if kind == "parts":
        return ChainParts([ListedPart("one", X[:7], y[:7]), ListedPart("two", X[7:], y[7:])])
    if kind == "Python":
        return Logistic(12, 40)
    return ClassifierObjective(*samples(), n_classes=2, intercept=kind != "no intercept")


@functools.cache
def problem_of(kind, penalty):
    objective = objective_of(kind)
    bare = getattr(objective, "n_unpenalised", 0)
    if penalty == "groups":
        return Problem(objective, GroupLasso(0.3, 0.2, bare, np.arange(objective.n_features - bare) // 2))
    return Problem(objective, ElasticNet(*PENALTIES[penalty], bare))


def takes(name, problem):
    try:
        return suits(SOLVERS[name], problem)
    except OptionError:  # parts have no passes over samples
        return False


COMMON, RARE = ("chain", "Python", "two classes"), ("parts", "no intercept")


def cases():
    """Yield solver, kind of problem and penalty; a rare kind is for the solvers that take no common one."""
    for name in SOLVERS:
        found = [[(name, kind, penalty) for kind in kinds for penalty in (*PENALTIES, "groups")
                  if takes(name, problem_of(kind, penalty))] for kinds in (COMMON, RARE)]  # fmt: skip
        yield from found[0] or found[1]


CASES = list(cases())
FIRST = {name: (name, kind, penalty) for name, kind, penalty in reversed(CASES)}
"""The first case of each solver: by day each has this one, and fewer ends."""


def test_every_solver_is_among_the_cases():
    assert {name for name, _, _ in CASES} == set(SOLVERS)


def violation_at(problem, w):
    gradient = np.zeros_like(w)
    problem.evaluate(w, gradient)
    return problem.penalty.violation(w, gradient)


class Watch:
    """A callback that keeps the weights of each record, and what the record said when it was seen."""

    def __init__(self):
        self.seen = []

    def __call__(self, record, state):
        self.seen.append((state.w.copy(), record, record.violation))


class Raising:
    """A callback that stops at an iteration, or is interrupted there."""

    def __init__(self, iteration, *, interrupts=False):
        self.iteration, self.interrupts = iteration, interrupts

    def __call__(self, record, state):
        if record.iteration == self.iteration:
            if self.interrupts:
                raise KeyboardInterrupt
            return True
        return None


def interrupted_at(number):
    """Make the evaluation of this number, from 1, the moment of Ctrl-C."""
    evaluate, count = Problem.evaluate, 0

    def counting(self, w, gradient):
        nonlocal count
        count += 1
        if count == number:
            raise KeyboardInterrupt
        return evaluate(self, w, gradient)

    return counting


def close(violation):
    # A solver may have summed the gradient in another sequence; near an optimum the terms cancel.
    return pytest.approx(violation, rel=1e-9, abs=1e-11)


def check(problem, result, path, watch):
    """Hold everything that tells of the violation against an evaluation."""
    w, last = result.w, result.record
    truth = violation_at(problem, w)
    assert result.violation == close(truth)
    assert last is result.trace[-1]
    assert last.violation == result.violation
    assert (last.iteration, last.objective, last.nnz) == (result.iterations, result.objective, np.count_nonzero(w))
    assert f"violation {result.violation:.3g}" in result.account
    records = watch.seen
    assert [record for _, record, _ in records] == list(result.trace)[: len(records)]
    for at, record, seen in records:
        known = close(violation_at(problem, at))
        assert math.isnan(seen) or seen == known
        assert math.isnan(record.violation) or record.violation == known
    # What is on disk is what callbacks saw; only callbacks and Ctrl-C come too late for the last line.
    written = [record.violation for record in Trace.read(path)]
    assert written == pytest.approx([seen for _, _, seen in records], rel=0.0, nan_ok=True)
    if result.status not in (Status.STOPPED_BY_CALLBACK, Status.INTERRUPTED):
        assert written[-1] == result.violation


LIMITS = {
    **{f"{k} iterations": Stop(max_iterations=k) for k in (0, 1, 2, 3, 5, 8)},
    "passes": Stop(max_passes=6.5),
    "seconds": Stop(max_seconds=0.0),
    "violation": Stop(violation=0.5, max_iterations=30),
    "own rule": Stop(max_iterations=300),
}


@dataclass(frozen=True)
class Ends:
    """Ways to stop: limits, iterations of callbacks, evaluations at which Ctrl-C comes, iterations to resume from."""

    limits: tuple[str, ...]
    callbacks: tuple[int, ...]
    evaluations: tuple[int, ...]
    resumed: tuple[int, ...]


DAY = Ends(("3 iterations", "violation", "own rule"), (1,), (3,), (2,))
NIGHT = Ends(tuple(LIMITS), (0, 1, 2, 4), (2, 3, 5, 8, 13), (1, 2, 3))


def results(problem, name, ends, path, monkeypatch):
    """Yield the name of each way to stop, the result, and a watch."""

    def run(stop, *callbacks, **given):
        watch = Watch()
        try:
            return minimize(
                problem, solver, stop=stop, callbacks=[watch, TraceWriter(path), *callbacks], **given
            ), watch
        except KeyboardInterrupt:  # the solver had no state yet
            assert not watch.seen
            return None, watch

    solver, far = make_solver(name, **SMALL.get(name, {})), Stop(max_iterations=30)
    for end in ends.limits:
        yield end, *run(LIMITS[end])
    for k in ends.callbacks:
        yield f"callback at {k}", *run(far, Raising(k))
        yield f"Ctrl-C in a callback at {k}", *run(far, Raising(k, interrupts=True))
    for number in ends.evaluations:
        with monkeypatch.context() as patched:
            patched.setattr(Problem, "evaluate", interrupted_at(number))
            found = run(far)
        if found[0] is not None:
            yield f"Ctrl-C in evaluation {number}", *found
    for k in ends.resumed:
        state = pickle.dumps(run(Stop(max_iterations=k))[0].state)
        for stop in (Stop(max_iterations=k), Stop(max_iterations=k + 2)):
            yield f"{stop} from {k}", *run(stop, state=pickle.loads(state))
        yield f"callback from {k}", *run(far, Raising(k + 1), state=pickle.loads(state))


ENDS = [*((*case, DAY) for case in FIRST.values()), *((*case, NIGHT) for case in CASES)]


@pytest.mark.parametrize(("name", "kind", "penalty", "ends"), by_day(ENDS, lambda case: case[-1] is DAY))
def test_at_every_end_it_is_that_of_all_features(name, kind, penalty, ends, tmp_path, monkeypatch):
    problem, unknown = problem_of(kind, penalty), 0
    for end, result, watch in results(problem, name, ends, tmp_path / "trace", monkeypatch):
        try:
            check(problem, result, tmp_path / "trace", watch)
        except AssertionError as error:
            error.add_note(f"end: {end}; {result.status}") if hasattr(error, "add_note") else None
            raise
        unknown += sum(math.isnan(seen) for _, _, seen in watch.seen)
    assert (unknown > 0) == (name in PARTIAL)


@pytest.mark.parametrize("name", ["clustered", "gauss_seidel", "grafting", "grafting_light"])
def test_a_limit_on_it_waits_until_it_is_known_of_all_features(name):
    problem = problem_of("chain", "l2" if name == "clustered" else "l1")
    told = []

    def callback(record, state):
        told.append((state.violation, record.violation))

    options = {"steps": 20} if name == "grafting_light" else {}
    solver = make_solver(name, **SMALL[name] | {"tolerance": 1e-6} | options)
    result = minimize(problem, solver, stop=Stop(violation=0.1, max_iterations=500), callbacks=[callback])
    assert any(at_work <= 0.1 and math.isnan(known) for at_work, known in told)
    assert result.status in (Status.VIOLATION_REACHED, Status.CONVERGED)
    assert violation_at(problem, result.w) <= 0.1


class Liar(Logistic):
    """Its gradient is that of another function, so that line searches fail."""

    def value_and_gradient(self, w, out=None):
        value, gradient = super().value_and_gradient(w, out)
        gradient *= -1.0
        return value, gradient


@pytest.mark.parametrize("name", ["bfgs", "clustered", "gauss_seidel", "grafting", "grafting_light", "lbfgs", "owlqn"])
def test_it_is_that_of_all_features_where_line_searches_fail(name, tmp_path):
    problem = Problem(Liar(12, 40), ElasticNet(*PENALTIES["l1" if takes(name, problem_of("Python", "l1")) else "l2"]))
    watch, path = Watch(), tmp_path / "trace"
    result = minimize(problem, make_solver(name, **SMALL.get(name, {})), callbacks=[watch, TraceWriter(path)])
    assert result.status is Status.LINE_SEARCH_FAILED
    check(problem, result, path, watch)


@pytest.mark.parametrize("partial", [False, True])
def test_after_a_second_ctrl_c_it_is_unknown_unless_the_state_knows_it(partial, monkeypatch):
    problem = problem_of("Python", "l1")

    def press_twice(record, state):
        if state.partial == partial and record.iteration > 0:
            monkeypatch.setattr(Problem, "evaluate", interrupted_at(1))
            raise KeyboardInterrupt

    result = minimize(problem, make_solver("grafting", select=3), callbacks=[press_twice])
    monkeypatch.undo()
    assert result.status is Status.INTERRUPTED
    assert math.isnan(result.violation) is math.isnan(result.record.violation) is partial
    assert partial or result.violation == violation_at(problem, result.w)
    assert ("violation unknown" in result.account) is partial
    assert (training_summary([result])["violation"] is None) is partial  # NaN is no JSON


# Estimators, their warnings, checkpoints and model files.

X, Y = chunky(12)
OF_CHAINS = [(name, penalty) for name, kind, penalty in CASES if kind == "chain" and penalty != "groups"]
OF_CHAINS_BY_DAY = by_day(OF_CHAINS, lambda case: (case[0], "chain", case[1]) == FIRST[case[0]])


def chain_crf(name, penalty, **options):
    l1, l2 = PENALTIES[penalty]
    return ChainCRF(l1=l1, l2=l2, solver=name, solver_options=SMALL.get(name), **options)


def saved_violation(path):
    """The violation in the settings of a model file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return json.loads(header["__metadata__"]["settings"])["training"]["violation"]


def check_model(model, penalty, path, message=None):
    truth = violation_at(problem_of("chain", penalty), model.result_.w)
    model.save(path)
    assert model.result_.violation == model.result_.record.violation == saved_violation(path) == close(truth)
    assert message is None or model.result_.ending in str(message)
    assert f"violation {model.result_.violation:.3g} " in model.result_.account


@pytest.mark.parametrize(("name", "penalty"), OF_CHAINS_BY_DAY)
def test_warnings_and_model_files_tell_that_of_all_features(name, penalty, tmp_path):
    for k in (1, 2, 5):
        crf = chain_crf(name, penalty, max_iterations=k)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            crf.fit(X, Y)
        assert [issubclass(each.category, ConvergenceWarning) for each in told] == [True] * (
            not crf.result_.status.converged
        )
        check_model(crf, penalty, tmp_path / "model", *(each.message for each in told))
    crf = chain_crf(name, penalty, max_iterations=None)
    with pytest.warns(ConvergenceWarning, match="stopped by a callback") as told:
        crf.fit(X, Y, callbacks=[Raising(1)])
    check_model(crf, penalty, tmp_path / "model", told[0].message)
    with pytest.raises(KeyboardInterrupt):
        crf.fit(X, Y, callbacks=[Raising(2, interrupts=True)])
    check_model(crf, penalty, tmp_path / "model")


@pytest.mark.parametrize(("name", "penalty"), OF_CHAINS_BY_DAY)
def test_the_best_weights_kept_and_those_of_a_resumed_training_have_that_of_all_features(name, penalty, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = chain_crf(name, penalty, keep="best", max_iterations=6).fit(X, Y, X_dev=X[:4], y_dev=Y[:4])
        check_model(best, penalty, tmp_path / "model")
        for k in (2, 3, 6):
            crf, place = chain_crf(name, penalty, max_iterations=k), tmp_path / "checkpoint"
            check_model(crf.fit(X, Y, checkpoint=Checkpoint(place, resume=True)), penalty, tmp_path / "model")


@pytest.mark.parametrize("name", ["dual_cd", "grafting", "iis", "prox_newton"])
def test_a_classifier_and_its_model_file_have_that_of_all_features(name, tmp_path):
    penalty = "l1" if takes(name, problem_of("no intercept", "l1")) else "l2"
    l1, l2 = PENALTIES[penalty]
    options = {"l1": l1, "l2": l2, "fit_intercept": False, "solver_options": SMALL.get(name)}
    problem = problem_of("no intercept", penalty)
    for k in (1, 2):
        model = MaxEnt(solver=name, max_iterations=k, **options)
        with pytest.warns(ConvergenceWarning) as told:
            model.fit(*samples())
        model.save(tmp_path / "model")
        assert model.result_.violation == close(violation_at(problem, model.result_.w))
        assert saved_violation(tmp_path / "model") == model.result_.violation
        assert model.result_.ending in str(told[0].message)
        assert f"violation {model.result_.violation:.3g} " in model.result_.account


# An intercept counts by itself, whatever the value of its column.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("size", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("penalty", [{"l2": 1.0}, {"l1": 1.0}])
def test_on_tiny_columns_the_intercept_comes_to_its_optimum_as_well(penalty, size, n_classes):
    rng = np.random.default_rng(4)
    X, y = rng.random((500, 5)) * size, rng.choice(n_classes, size=500, p=[0.9, 0.1, 0.0][:n_classes])
    y[:n_classes] = range(n_classes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no feature is left")
        model = MaxEnt(tolerance=1e-9, **penalty).fit(X, y)
    assert model.result_.status.converged
    assert model.result_.violation < 1.0  # of 500 samples
    shares = np.bincount(y) / 500
    assert model.result_.objective <= (1.0 + 1e-5) * -500 * (shares * np.log(shares)).sum()


BY_INTERCEPT = {name: next((penalty for penalty in PENALTIES if takes(name, problem_of("two classes", penalty))), None)
                for name in SOLVERS}  # fmt: skip
SCALES = (0.02, 50.0)


def test_most_solvers_of_classifiers_have_an_intercept():
    assert sum(penalty is not None for penalty in BY_INTERCEPT.values()) > 10


# By day one scale for each solver.
WITH_INTERCEPT = [name for name, penalty in BY_INTERCEPT.items() if penalty]


@pytest.mark.parametrize(
    ("name", "scale"),
    by_day(
        itertools.product(WITH_INTERCEPT, SCALES), lambda case: case[1] == SCALES[WITH_INTERCEPT.index(case[0]) % 2]
    ),
)
def test_the_derivative_by_an_intercept_does_not_depend_on_the_value_of_its_column(name, scale, tmp_path, monkeypatch):
    objective = ClassifierObjective(*samples(), n_classes=2, intercept=scale)
    problem = Problem(objective, ElasticNet(*PENALTIES[BY_INTERCEPT[name]], 1))
    by_itself, violation_at_weights = problem_of("two classes", BY_INTERCEPT[name]), violation_at

    def violation_by_itself(_, w):
        return violation_at_weights(by_itself, np.append(w[:-1], w[-1] * scale))

    monkeypatch.setitem(globals(), "violation_at", violation_by_itself)
    for _, result, watch in results(problem, name, DAY, tmp_path / "trace", monkeypatch):
        check(problem, result, tmp_path / "trace", watch)


def users_violation(model, X, targets, n_classes):
    """Max-norm of the subgradient of minimum norm by the weights and intercepts of a classifier."""
    coef, intercept = model.coef_, model.intercept_
    scores = X @ coef.T + intercept
    p = 1.0 / (1.0 + np.exp(-scores)) if n_classes == 2 else np.exp(log_softmax(scores, axis=1))
    residuals = p - (targets[:, None] == (1 if n_classes == 2 else np.arange(n_classes)))
    slope = residuals.T @ X + model.l2 * coef
    slope = np.where(coef == 0.0, np.sign(slope) * np.maximum(np.abs(slope) - model.l1, 0.0), slope)
    slope += model.l1 * np.sign(coef)
    by_intercept = residuals.sum(axis=0) if model.fit_intercept else np.zeros(1)
    return max(np.abs(slope).max(), np.abs(by_intercept).max())


# By day each pair of a size and a penalty once, with two or three classes.
SIZES, STRENGTHS = [1e-4, 1.0, 300.0], [(0.0, 1.0), (0.3, 0.0), (0.3, 0.2)]


@pytest.mark.parametrize(
    ("size", "strengths", "n_classes"),
    by_day(
        itertools.product(SIZES, STRENGTHS, [2, 3]),
        lambda case: case[2] == 2 + (SIZES.index(case[0]) + STRENGTHS.index(case[1])) % 2,
    ),
)
@pytest.mark.parametrize("intercept", [True, False])
def test_that_of_a_classifier_is_that_of_its_weights_and_intercepts(n_classes, intercept, strengths, size):
    l1, l2 = strengths
    rng = np.random.default_rng(4)
    X, y = rng.random((60, 5)) * size, rng.integers(n_classes, size=60)
    for iterations in (0, 2, 4, 300):
        model = MaxEnt(l1=l1, l2=l2, fit_intercept=intercept, max_iterations=iterations)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        truth = users_violation(model, X, y, n_classes)
        assert model.result_.violation == pytest.approx(truth, rel=1e-6, abs=1e-9)
        assert model.result_.record.violation == model.result_.violation
