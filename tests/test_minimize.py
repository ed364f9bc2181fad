"""Laws of the loop."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest

from examples import by_day
from loglinear import ChainObjective, ClassifierObjective, Corpus
from loglinear.errors import ObjectiveError, OptionError
from loglinear.minimize import Stop, minimize
from loglinear.path import path
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import LBFGS, SGDL1, make_solver
from loglinear.trace import Trace, TraceWriter
from oracles.samples import chunky


class Logistic:
    """Binary logistic regression, optionally with something that happens at the k-th evaluation."""

    def __init__(self, n=12_000, samples=40, seed=0, at=None, action=None):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(samples, n)) * (rng.random((samples, n)) < 0.05)
        self.t = np.where(rng.random(samples) < 0.5, -1.0, 1.0)
        self.n_features, self.n_samples = n, samples
        self.calls, self.at, self.action = 0, at, action

    def value_and_gradient(self, w, out=None):
        self.calls += 1
        out = np.empty_like(w) if out is None else out
        margin = self.t * (self.x @ w)
        out[...] = self.x.T @ (-self.t * np.exp(-np.logaddexp(0.0, margin)))
        if self.calls == self.at:
            out[::2] = 0.0
            self.action()
        return float(np.logaddexp(0.0, -margin).sum()), out


def interrupt():
    raise KeyboardInterrupt


ENDLESS = {"tolerance": 0.0, "gradient_tolerance": 0.0}
CASES = [("lbfgs", ElasticNet(l2=1e-4)), ("owlqn", ElasticNet(l1=0.05)), ("owlqn", ElasticNet(l1=0.02, l2=0.05))]


@pytest.mark.parametrize(("name", "penalty"), CASES)
def test_resume_is_bitwise_exact(name, penalty):
    problem, solver = Problem(Logistic(), penalty), make_solver(name, **ENDLESS)
    whole = minimize(problem, solver, stop=Stop(max_iterations=20))
    assert whole.iterations == 20
    half = minimize(problem, solver, stop=Stop(max_iterations=10))
    state = pickle.loads(pickle.dumps(half.state))
    rest = minimize(problem, make_solver(name, **ENDLESS), state=state, stop=Stop(max_iterations=20))
    assert rest.w.tobytes() == whole.w.tobytes()
    assert (rest.objective, rest.violation) == (whole.objective, whole.violation)
    assert rest.gradient_evaluations == whole.gradient_evaluations
    assert [r.objective for r in whole.trace][10:] == [r.objective for r in rest.trace]


@pytest.mark.parametrize(("name", "penalty"), CASES)
@pytest.mark.parametrize("at", by_day([2, 5, 9, 16], lambda at: at in (2, 9)))
def test_ctrl_c_keeps_the_weights_of_the_last_complete_step(name, penalty, at):
    solver = make_solver(name, **ENDLESS)
    result = minimize(Problem(Logistic(at=at, action=interrupt), penalty), solver, stop=Stop(max_iterations=30))
    assert result.status is Status.INTERRUPTED
    assert not result.status.converged
    same = minimize(Problem(Logistic(), penalty), solver, stop=Stop(max_iterations=result.iterations))
    assert result.w.tobytes() == same.w.tobytes()
    assert len(result.trace) == result.iterations + 1
    # The interrupted state is a checkpoint like any other.
    rest = minimize(Problem(Logistic(), penalty), solver, state=result.state, stop=Stop(max_iterations=30))
    whole = minimize(Problem(Logistic(), penalty), solver, stop=Stop(max_iterations=30))
    assert rest.w.tobytes() == whole.w.tobytes()


def test_ctrl_c_in_a_callback_keeps_the_weights():
    def callback(record, state):
        if record.iteration == 4:
            raise KeyboardInterrupt

    result = minimize(Problem(Logistic()), make_solver("lbfgs"), callbacks=[callback])
    assert (result.status, result.iterations) == (Status.INTERRUPTED, 4)


def test_after_ctrl_c_in_a_pass_there_is_no_evaluation():
    objective = ChainObjective(Corpus.encode(*chunky(20)))
    evaluations, made = [], []

    class Counting(SGDL1):
        """Passes, the third of which is interrupted."""

        def step(self, problem, state):
            if len(made) == 2:
                evaluations.clear()
                raise KeyboardInterrupt
            made.append(1)
            return super().step(problem, state)

    class Counted(Problem):
        """A problem that counts evaluations."""

        def evaluate(self, w, gradient):
            evaluations.append(1)
            return super().evaluate(w, gradient)

    result = minimize(Counted(objective, ElasticNet(l1=0.1)), Counting(learning_rate=0.1))
    assert (result.status, result.iterations, result.gap) == (Status.INTERRUPTED, 2, None)
    assert not evaluations
    assert result.objective == result.trace[-1].objective


def test_ctrl_c_before_there_is_a_state_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        minimize(Problem(Logistic(at=1, action=interrupt)), make_solver("lbfgs"))


@pytest.mark.parametrize(
    ("stop", "status"),
    [
        (Stop(max_iterations=0), Status.MAX_ITERATIONS),
        (Stop(max_iterations=3), Status.MAX_ITERATIONS),
        (Stop(max_passes=4), Status.MAX_PASSES),
        (Stop(max_seconds=0.0), Status.MAX_SECONDS),
        (Stop(violation=0.5), Status.VIOLATION_REACHED),
    ],
)
def test_non_convergence_is_a_status_not_an_exception(stop, status):
    problem = Problem(Logistic(), ElasticNet(l2=0.1))
    result = minimize(problem, make_solver("lbfgs", **ENDLESS), stop=stop)
    assert result.status is status
    assert result.status.converged is (status is Status.VIOLATION_REACHED)
    assert result.status.message
    if stop.max_iterations is not None:
        assert result.iterations == stop.max_iterations
    if stop.violation is not None:
        assert result.violation <= stop.violation < result.trace[-2].violation


@pytest.mark.parametrize("limit", [1, 4, 7.5])
def test_the_step_that_reaches_the_limit_of_passes_is_the_last(limit):
    result = minimize(Problem(Logistic()), make_solver("lbfgs", **ENDLESS), stop=Stop(max_passes=limit))
    *before, last = [record.passes for record in result.trace]
    assert last >= limit
    assert all(passes < limit for passes in before)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_solver_that_goes_by_passes_makes_as_many_as_the_limit(limit):
    rng = np.random.default_rng(0)
    objective = ClassifierObjective(rng.normal(size=(30, 4)), rng.integers(0, 2, 30), n_classes=2, intercept=False)
    result = minimize(Problem(objective), make_solver("sg", learning_rate=0.1), stop=Stop(max_passes=limit))
    assert (result.passes, result.iterations, result.status) == (limit, limit, Status.MAX_PASSES)


@pytest.mark.parametrize("name", ["lbfgs", "owlqn"])
def test_the_weights_of_a_result_stay_when_its_state_goes_on(name):
    problem, solver = Problem(Logistic(n=50)), make_solver(name, **ENDLESS)
    result = minimize(problem, solver, stop=Stop(max_iterations=3))
    reached = result.w.copy()
    assert not np.shares_memory(result.w, result.state.w)
    further = minimize(problem, solver, state=result.state, stop=Stop(max_iterations=8))
    assert (result.w == reached).all()
    assert (further.w != reached).any()
    state = further.state
    further.w[:] = 7.0
    assert not (state.w == 7.0).any()


def test_result_agrees_with_objective_and_penalty():
    objective, penalty = Logistic(), ElasticNet(l1=0.05, l2=0.01)
    result = minimize(Problem(objective, penalty), make_solver("owlqn"))
    nll, g = objective.value_and_gradient(result.w)
    assert result.status is Status.CONVERGED
    assert result.nll == nll
    assert result.objective == pytest.approx(nll + penalty.value(result.w), rel=1e-14)
    assert result.violation == penalty.violation(result.w, g)
    # One call above, and one that verifies the convergence.
    assert result.gradient_evaluations == objective.calls - 2 == result.passes
    last = result.trace[-1]
    assert (last.objective, last.nnz, last.iteration) == (
        result.objective,
        np.count_nonzero(result.w),
        result.iterations,
    )


def test_trace_starts_at_the_starting_point_and_has_every_step():
    objective = Logistic()
    w0 = np.full(objective.n_features, 0.01)
    result = minimize(Problem(objective), make_solver("lbfgs"), w0, stop=Stop(max_iterations=5))
    assert [r.iteration for r in result.trace] == [0, 1, 2, 3, 4, 5]
    assert result.trace[0].nll == Logistic().value_and_gradient(w0)[0]
    assert result.trace[0].gradient_evaluations == 1
    assert (w0 == 0.01).all()


def test_callback_stops_and_sees_every_record(tmp_path):
    seen = []

    def dev(record, state):
        record.dev = {"nonzero": float(np.count_nonzero(state.w))}

    def stopper(record, state):
        seen.append(record.iteration)
        return record.iteration == 3

    path = tmp_path / "trace.jsonl"
    result = minimize(Problem(Logistic()), make_solver("lbfgs"), callbacks=[dev, stopper, TraceWriter(path)])
    assert result.status is Status.STOPPED_BY_CALLBACK
    assert seen == [0, 1, 2, 3]
    assert Trace.read(path) == result.trace
    assert result.trace[3].dev["nonzero"] == result.trace[3].nnz


def test_seconds_are_without_callbacks():
    result = minimize(
        Problem(Logistic(n=10, samples=10)),
        make_solver("lbfgs"),
        callbacks=[lambda record, state: time.sleep(0.05)],
        stop=Stop(max_iterations=4),
    )
    assert 0.0 < result.seconds < 0.05
    assert all(before.seconds < after.seconds for before, after in pairwise(result.trace))


def test_optimal_start_takes_no_step():
    result = minimize(Problem(Logistic(), ElasticNet(l1=1e6)), make_solver("owlqn"))
    assert (result.status, result.iterations, result.violation) == (Status.CONVERGED, 0, 0.0)


@pytest.mark.parametrize("name", ["max_iterations", "max_passes", "max_seconds", "violation"])
@pytest.mark.parametrize("bad", [-1, math.nan, "many", True])
def test_absurd_limits_raise_option_error(name, bad):
    with pytest.raises(OptionError, match=name):
        Stop(**{name: bad})


@pytest.mark.parametrize("bad", [2.5, math.inf])
def test_iterations_are_whole(bad):
    with pytest.raises(OptionError, match="whole"):
        Stop(max_iterations=bad)


@pytest.mark.parametrize("w0", [np.zeros(3), np.zeros((2, 2)), ["a"] * 4, [0.0, 0.0, math.nan, 0.0]])
def test_absurd_start_raises_option_error(w0):
    with pytest.raises(OptionError, match="w0"):
        minimize(Problem(Logistic(n=4)), make_solver("lbfgs"), w0)


@pytest.mark.parametrize("run", [minimize, lambda problem, solver, **more: path(problem, 2, solver=solver, **more)])
def test_arguments_of_another_kind_raise_option_error(run):
    objective, solver = Logistic(n=4), make_solver("owlqn")
    problem = Problem(objective, ElasticNet(l1=0.1))
    for bad in (None, objective, np.zeros(4)):
        with pytest.raises(OptionError, match=r"problem=.*give Problem\(objective, penalty\)"):
            run(bad, solver)
    for bad in ("owlqn", LBFGS, 3):
        with pytest.raises(OptionError, match=r'solver=.*make_solver\("owlqn"\)'):
            run(problem, bad)
    for bad in (10, {"max_iterations": 3}):
        with pytest.raises(OptionError, match=r"stop=.*Stop\(max_iterations=100\)"):
            run(problem, solver, stop=bad)
    for bad in (print, [print, 3], 7):
        with pytest.raises(OptionError, match=r"callbacks=.*callbacks=\[function\]"):
            run(problem, solver, callbacks=bad)


def test_a_score_of_a_path_is_a_function():
    with pytest.raises(OptionError, match=r"score=0\.5 is not a function"):
        path(Problem(Logistic(n=4), ElasticNet(l1=0.1)), 2, score=0.5)


def test_state_of_another_problem_raises_option_error():
    solver = make_solver("lbfgs")
    state = minimize(Problem(Logistic(n=5)), solver, stop=Stop(max_iterations=1)).state
    with pytest.raises(OptionError, match="4 features"):
        minimize(Problem(Logistic(n=4)), solver, state=state)
    with pytest.raises(OptionError, match="both"):
        minimize(Problem(Logistic(n=5)), solver, np.zeros(5), state=state)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["value", "gradient"])
@pytest.mark.parametrize("name", ["lbfgs", "owlqn"])
def test_start_that_is_not_finite_raises_objective_error(name, where, bad):
    class Broken(Logistic):
        def value_and_gradient(self, w, out=None):
            value, g = super().value_and_gradient(w, out)
            if where == "gradient":
                g[1] = bad
            return (bad if where == "value" else value), g

    with pytest.raises(ObjectiveError, match="starting point") as caught:
        minimize(Problem(Broken()), make_solver(name))
    assert isinstance(caught.value, ArithmeticError)


def test_objective_that_lacks_something_is_named_early():
    class Empty:
        pass

    class NoMethod:
        n_features, n_samples = 3, 3

    class NoSize(NoMethod):
        n_features = 0

        def value_and_gradient(self, w, out=None):
            return 0.0, w

    with pytest.raises(OptionError, match=r"Empty.*n_features"):
        Problem(Empty())
    with pytest.raises(OptionError, match=r"NoMethod.*value_and_gradient"):
        Problem(NoMethod())
    with pytest.raises(OptionError, match=r"NoSize\.n_features is 0"):
        Problem(NoSize())
    with pytest.raises(OptionError, match="ElasticNet"):
        Problem(Logistic(n=4), penalty=0.1)


def test_objective_may_ignore_out_but_not_the_shape():
    class Own(Logistic):
        def value_and_gradient(self, w, out=None):
            return super().value_and_gradient(w)

    class Short(Logistic):
        def value_and_gradient(self, w, out=None):
            return 0.0, w[:-1]

    penalty, solver = ElasticNet(l2=0.1), make_solver("lbfgs")
    own, plain = (minimize(Problem(kind(), penalty), solver) for kind in (Own, Logistic))
    assert own.w.tobytes() == plain.w.tobytes()
    with pytest.raises(ObjectiveError, match="shape"):
        minimize(Problem(Short()), solver)


def test_import_is_light():
    code = (
        "import sys, loglinear.minimize, loglinear.solvers; "
        "print([m for m in ('scipy', 'sklearn', 'typer', 'rich') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_ctrl_c_before_the_first_record_still_leaves_a_record():
    class Interrupted(LBFGS):
        """A solver that is interrupted while it measures its first state."""

        calls = 0

        def measure(self, problem, state):
            Interrupted.calls += 1
            if Interrupted.calls == 1:
                raise KeyboardInterrupt
            return state

    result = minimize(Problem(Logistic()), Interrupted())
    assert result.status is Status.INTERRUPTED
    assert result.record is result.trace[0]
    assert (result.record.iteration, result.record.objective) == (0, result.objective)
