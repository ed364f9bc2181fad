"""Laws of BFGS: the secant equation, positive definiteness, exactness on quadratics."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

import loglinear.solvers.bfgs as module
from examples import examples
from loglinear.errors import OptionError
from loglinear.minimize import Stop, minimize
from loglinear.objectives.classifier import ClassifierObjective
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import BFGS, LBFGS
from loglinear.solvers.bfgs import InverseHessian, updated

TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-9}
LAWS = examples(60)


def positive_definite(rng, n, condition):
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    a = (q * np.geomspace(1.0, condition, n)) @ q.T
    return 0.5 * (a + a.T)


class Quadratic:
    """0.5 w'Aw - b'w."""

    def __init__(self, n, condition, seed):
        rng = np.random.default_rng(seed)
        self.a, self.b = positive_definite(rng, n, condition), rng.normal(size=n)
        self.n_features, self.n_samples, self.calls, self.interrupt_at = n, 1, 0, None

    def value_and_gradient(self, w, out=None):
        self.calls += 1
        if self.calls == self.interrupt_at:
            raise KeyboardInterrupt
        g = self.a @ w - self.b
        return float(0.5 * w @ (g - self.b)), g


class Rosenbrock:
    """The chained Rosenbrock function."""

    n_features, n_samples = 10, 1

    def value_and_gradient(self, w, out=None):
        return float(scipy.optimize.rosen(w)), scipy.optimize.rosen_der(w)


def formed(history):
    return history._formed()[0]


@LAWS
@given(n=st.integers(1, 40), condition=st.sampled_from([1.0, 10.0, 1e3]), seed=st.integers(0, 2**32 - 1))
def test_an_update_is_equation_6_17_and_obeys_the_secant_equation(n, condition, seed):
    rng = np.random.default_rng(seed)
    H, s = positive_definite(rng, n, condition), rng.normal(size=n)
    y = positive_definite(rng, n, condition) @ s
    following = updated(H, s, y, 1.0, np.empty((n, n)))
    rho, identity = 1.0 / (s @ y), np.eye(n)
    expected = (identity - rho * np.outer(s, y)) @ H @ (identity - rho * np.outer(y, s)) + rho * np.outer(s, s)
    np.testing.assert_allclose(following, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(following @ y, s, rtol=1e-9, atol=1e-9 * np.abs(expected).max() * np.abs(y).max())
    assert (following == following.T).all()
    assert np.linalg.eigvalsh(following)[0] > 0.0


def test_an_update_goes_block_by_block_as_in_one_go(monkeypatch):
    rng = np.random.default_rng(0)
    H, s = positive_definite(rng, 23, 10.0), rng.normal(size=23)
    whole = updated(H, s, H @ s, 1.0, np.empty((23, 23)))
    monkeypatch.setattr(module, "BLOCK", 100)
    np.testing.assert_array_equal(updated(H, s, H @ s, 1.0, np.empty((23, 23))), whole)


def test_the_first_matrix_is_the_identity_scaled_by_equation_6_20():
    rng = np.random.default_rng(1)
    w, w_new, g = rng.normal(size=(3, 6))
    s, y = w_new - w, positive_definite(rng, 6, 10.0) @ (w_new - w)
    history, *_ = InverseHessian().advance(w_new, g + y, w, g, ElasticNet())
    scaled = np.eye(6) * (s @ y) / (y @ y)
    np.testing.assert_allclose(formed(history), updated(scaled, s, y, 1.0, np.empty((6, 6))), rtol=1e-12)


def test_a_move_tells_how_much_the_slope_promises_and_the_norms_where_it_ends():
    rng = np.random.default_rng(2)
    w, g, out = rng.normal(size=(3, 6))
    line = InverseHessian(positive_definite(rng, 6, 10.0)).direction(w, g, ElasticNet(l2=1.0))
    moved = line.move(0.25, out)
    slope = g + w  # of the objective, whose ridge is 1
    assert moved == pytest.approx((slope @ (out - w) / 0.25, slope @ (out - w), np.abs(out).sum(), out @ out))


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_h_is_scaled_up_but_not_down_to_the_curvature_of_the_newest_pair(scale):
    rng = np.random.default_rng(3)
    H, s = positive_definite(rng, 7, 10.0), rng.normal(size=7)
    y = np.linalg.solve(H, s) / scale  # y'Hy = s.y / scale
    found = formed(InverseHessian(H, (s, y)))
    np.testing.assert_allclose(found, updated(H, s, y, max(scale, 1.0), np.empty((7, 7))), rtol=1e-9)


def test_needs_few_evaluations_where_the_curvature_decreases_on_the_way():
    # A nearly separable problem: without the scaling 3 to 5 times as many as L-BFGS.
    rng = np.random.default_rng(4)
    X = (rng.random((300, 100)) < 0.1).astype(np.float64)
    y = X @ rng.normal(size=100) + rng.normal(size=300) > 0.0
    problem = Problem(ClassifierObjective(X, y, n_classes=2, intercept=False, threads=1), ElasticNet(l2=1e-3))
    options = {"tolerance": 1e-9, "gradient_tolerance": 1e-9}
    full, limited = (minimize(problem, kind(**options)) for kind in (BFGS, LBFGS))
    assert full.objective == pytest.approx(limited.objective, rel=1e-6)
    assert full.gradient_evaluations < limited.gradient_evaluations


@pytest.mark.parametrize("curvature", [-1.0, 0.0, np.inf, np.nan])
def test_a_pair_without_positive_curvature_is_skipped(curvature):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(3, 5))
    before, *_ = InverseHessian().advance(points[1], 2.0 * points[1], points[0], 2.0 * points[0], ElasticNet())
    after, *_ = before.advance(
        points[2], points[1] + curvature * (points[2] - points[1]), points[1], points[1], ElasticNet()
    )
    np.testing.assert_array_equal(formed(after), formed(before))


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_every_step_obeys_the_secant_equation_and_keeps_h_positive_definite(l2):
    problem, solver = Problem(Rosenbrock(), ElasticNet(l2=l2)), BFGS(**TIGHT)
    state = solver.init(problem, np.linspace(-1.0, 1.0, 10))
    for _ in range(40):
        w, v = state.w.copy(), problem.penalty.smooth_gradient(state.w, state.gradient)
        state = solver.step(problem, state)
        s, y = state.w - w, problem.penalty.smooth_gradient(state.w, state.gradient) - v
        H = formed(state.history)
        np.testing.assert_allclose(H @ y, s, rtol=1e-7, atol=1e-9 * np.abs(H).max() * np.abs(y).max())
        assert np.linalg.eigvalsh(H)[0] > 0.0


@LAWS
@given(n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_with_exact_line_searches_a_quadratic_is_solved_in_n_steps(n, seed):
    # Nocedal & Wright, Theorem 6.4; Oren & Luenberger (1974): scaling H leaves the directions as they are, but not H.
    objective = Quadratic(n, 20.0, seed)
    history, penalty = InverseHessian(), ElasticNet()
    w = np.zeros(n)
    g = objective.value_and_gradient(w)[1]
    for _ in range(n):
        unit = np.empty(n)
        history.direction(w, g, penalty).move(1.0, unit)
        d = unit - w
        w_new = w - (g @ d) / (d @ objective.a @ d) * d
        g_new = objective.value_and_gradient(w_new)[1]
        history, *_ = history.advance(w_new, g_new, w, g, penalty)
        w, g = w_new, g_new
    np.testing.assert_allclose(w, np.linalg.solve(objective.a, objective.b), rtol=1e-6, atol=1e-6)


def test_finds_scipys_minimum():
    problem, start = Problem(Rosenbrock(), ElasticNet(l2=0.01)), np.linspace(-1.5, 1.5, 10)

    def penalised(w):
        value, g = problem.objective.value_and_gradient(w)
        return value + 0.005 * w @ w, g + 0.01 * w

    expected = scipy.optimize.minimize(penalised, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    result = minimize(problem, BFGS(**TIGHT), start)
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.w, expected.x, atol=1e-7)
    assert result.objective == pytest.approx(expected.fun, rel=1e-12)
    assert result.iterations < 2 * expected.nit


def test_needs_fewer_steps_than_the_limited_memory_method_on_an_ill_conditioned_quadratic():
    problem = Problem(Quadratic(30, 1e4, 4))
    steps = [minimize(problem, kind(**TIGHT)).iterations for kind in (BFGS, LBFGS)]
    assert steps[0] < 0.7 * steps[1]


@pytest.mark.parametrize("at", [0, 9, *(pytest.param(k, marks=pytest.mark.slow) for k in range(24) if k not in (0, 9))])
def test_resuming_from_any_step_is_bitwise_exact(at):
    problem = Problem(Quadratic(12, 1e3, 5), ElasticNet(l2=0.1))
    whole = minimize(problem, BFGS(**TIGHT), stop=Stop(max_iterations=25))
    part = minimize(problem, BFGS(**TIGHT), stop=Stop(max_iterations=at))
    saved = pickle.dumps(part.state)
    rest = minimize(problem, BFGS(**TIGHT), state=pickle.loads(saved), stop=Stop(max_iterations=25))
    assert rest.w.tobytes() == whole.w.tobytes()
    assert [r.objective for r in rest.trace] == [r.objective for r in whole.trace][at:]
    assert len(saved) < 8 * 12 * 12 + 5000


@pytest.mark.parametrize("at", [2, 3, 5, 9, 17])
def test_an_interrupted_step_leaves_the_state_intact(at):
    objective = Quadratic(12, 1e3, 6)
    problem = Problem(objective)
    whole = minimize(problem, BFGS(**TIGHT), stop=Stop(max_iterations=25))
    objective.calls, objective.interrupt_at = 0, at
    part = minimize(problem, BFGS(**TIGHT))
    assert part.status is Status.INTERRUPTED
    rest = minimize(problem, BFGS(**TIGHT), state=part.state, stop=Stop(max_iterations=25))
    assert rest.w.tobytes() == whole.w.tobytes()
    assert rest.gradient_evaluations == whole.gradient_evaluations


def test_weights_without_penalty_are_left_out_of_its_norms():
    w, g, out = np.ones(5), np.arange(5.0), np.empty(5)
    *_, l1_norm, squared = InverseHessian().direction(w, g, ElasticNet(l2=2.0, unpenalised=2)).move(1.0, out)
    np.testing.assert_array_equal(out, [-1.0, -2.0, -3.0, -2.0, -3.0])
    assert (l1_norm, squared) == (6.0, 14.0)


def test_matrices_beyond_the_memory_of_the_machine_are_refused(monkeypatch):
    monkeypatch.setattr(module, "memory_of_machine", lambda: 16 * 12 * 12 - 1)
    objective = Quadratic(12, 10.0, 8)
    with pytest.raises(OptionError, match=r"12 x 12.*lbfgs"):
        BFGS().init(Problem(objective), np.zeros(12))
    assert objective.calls == 0
    monkeypatch.setattr(module, "memory_of_machine", lambda: 16 * 12 * 12)
    BFGS().init(Problem(objective), np.zeros(12))
