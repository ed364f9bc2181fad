"""Dense matrices of classifiers against the same matrices kept sparse, in every layout in which arrays come."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import ClassifierObjective, ElasticNet, Problem, Stop, minimize
from loglinear.data.matrix import dense_or_sparse
from loglinear.errors import DataError, OptionError
from loglinear.solvers import BFGS, LBFGS, OWLQN, ProxNewton

# A third of the numbers: dense if it is given as an array, sparse if it is given as a sparse matrix.
DENSITY = 0.35


def table(seed, n, d):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < DENSITY, rng.normal(size=(n, d)), 0.0)


def strided(X):
    wide = np.zeros((X.shape[0], 2 * X.shape[1]), X.dtype)
    wide[:, ::2] = X
    return wide[:, ::2]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def unaligned(X):
    memory = np.zeros(X.nbytes + 1, np.uint8)
    moved = memory[1:].view(X.dtype).reshape(X.shape)
    moved[...] = X
    return moved


LAYOUTS = {
    "by rows": np.ascontiguousarray,
    "by columns": np.asfortranarray,
    "with gaps": strided,
    "backwards": lambda X: X[::-1].copy()[::-1],
    "read only": read_only,
    "unaligned": unaligned,
    "of the other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
}


def objectives(X, seed, n_classes, *, layout="by rows", threads=1, intercept=1.0, weighted=False):
    """Return the same problem over the dense and over the sparse matrix."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, len(X))
    weights = rng.choice([0.0, 0.5, 2.0], len(X)) if weighted else None
    options = {"n_classes": n_classes, "intercept": intercept, "threads": threads}
    matrices = LAYOUTS[layout](X), scipy.sparse.csr_array(X)
    return [ClassifierObjective(matrix, y, weights, **options) for matrix in matrices]


@examples(40)
@given(
    seed=st.integers(0, 10_000),
    n=st.sampled_from([1, 3, 8, 65, 300]),
    d=st.sampled_from([1, 7, 8, 33, 140]),
    n_classes=st.sampled_from([2, 3, 8, 19]),
    layout=st.sampled_from(sorted(LAYOUTS)),
    intercept=st.sampled_from([0.0, 1.0, -0.3]),
    weighted=st.booleans(),
)
def test_value_gradient_and_probabilities_are_those_of_the_sparse_matrix(
    seed, n, d, n_classes, layout, intercept, weighted
):
    X = table(seed, n, d)
    X[0] = 1.0  # never so few numbers that the array becomes sparse
    X[:, 0] = 1.0
    dense, sparse = objectives(X, seed, n_classes, layout=layout, intercept=intercept, weighted=weighted)
    w = np.random.default_rng(seed).normal(size=dense.n_features)
    value, gradient = dense.value_and_gradient(w)
    expected, slope = sparse.value_and_gradient(w)
    assert value == pytest.approx(expected, rel=1e-13, abs=1e-13)
    np.testing.assert_allclose(gradient, slope, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(dense.probabilities(w), sparse.probabilities(w), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(dense.hessian_diagonal(w), sparse.hessian_diagonal(w), rtol=1e-11, atol=1e-13)
    if (largest := sparse.largest_values()) is not None:
        np.testing.assert_array_equal(dense.largest_values(), largest)
    if n_classes == 2:
        for a, b in zip(dense.start(w), sparse.start(w), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("layout", ["by rows", "by columns"])
def test_results_are_bitwise_the_same_on_any_number_of_threads(layout, n_classes):
    X = table(0, 9000, 60)
    results = []
    for threads in (1, 2, 3):
        dense, _ = objectives(X, 0, n_classes, layout=layout, threads=threads)
        w = np.random.default_rng(1).normal(size=dense.n_features)
        value, gradient = dense.value_and_gradient(w)
        end = minimize(
            Problem(dense, ElasticNet(0.0, 1.0, dense.n_unpenalised)), ProxNewton() if n_classes == 2 else LBFGS()
        )
        results.append((value, gradient.tobytes(), end.w.tobytes()))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_float32_is_kept_and_computed_with_in_double_precision(n_classes):
    X = table(0, 500, 20).astype(np.float32)
    assert dense_or_sparse(X) is X
    single, _ = objectives(X, 0, n_classes)
    double, _ = objectives(X.astype(np.float64), 0, n_classes)
    w = np.random.default_rng(1).normal(size=single.n_features)
    for a, b in zip(single.value_and_gradient(w), double.value_and_gradient(w), strict=True):
        np.testing.assert_array_equal(a, b)


@examples(30)
@given(
    seed=st.integers(0, 10_000),
    shape=st.sampled_from([(300, 12), (40, 60), (900, 140)]),
    l1=st.sampled_from([0.0, 0.5, 5.0]),
    l2=st.sampled_from([0.01, 1.0]),
    weighted=st.booleans(),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_newton_on_a_dense_table_ends_at_the_optimum(seed, shape, l1, l2, weighted, scale):
    """Without an L1 penalty whatever the scale of a column: there a step solves a system of equations."""
    X = table(seed, *shape)
    dense, sparse = objectives(X, seed, 2, weighted=weighted)
    penalty = ElasticNet(l1, l2, 1)
    tight = OWLQN(tolerance=0.0, gradient_tolerance=1e-9) if l1 else BFGS(tolerance=0.0, gradient_tolerance=1e-9)
    best = minimize(Problem(sparse, penalty), tight, stop=Stop(max_iterations=5000))
    end = minimize(Problem(dense, penalty), ProxNewton(tolerance=1e-12))
    assert end.objective == pytest.approx(best.objective, rel=1e-8)
    if not l1:
        X[:, 0] *= scale
        scaled, _ = objectives(X, seed, 2, weighted=weighted)
        end = minimize(Problem(scaled, ElasticNet(0.0, 1e-12, 1)), ProxNewton(tolerance=1e-12, gradient_tolerance=0.0))
        _, gradient = scaled.value_and_gradient(end.w)
        size = np.append(np.linalg.norm(X, axis=0), 1.0)
        assert (np.abs(gradient + np.append(1e-12 * end.w[:-1], 0.0)) <= 1e-4 * size).all() or end.nll < 1e-3


def test_newton_takes_columns_that_are_constant_or_equal_without_a_penalty():
    X = table(0, 400, 5)
    X = np.column_stack([X, X[:, 0], X[:, 1] - X[:, 2], np.ones(400)])
    dense, _ = objectives(X, 0, 2)
    alone, _ = objectives(X[:, :5], 0, 2)
    problems = [Problem(objective, ElasticNet(0.0, 0.0, 1)) for objective in (dense, alone)]
    ends = [minimize(problem, ProxNewton()).objective for problem in problems]
    assert ends[0] == pytest.approx(ends[1], rel=1e-10)


def test_a_large_system_is_refused_without_an_l1_penalty():
    dense, sparse = objectives(table(0, 30, 600), 0, 2)
    for objective in (dense, sparse):
        with pytest.raises(OptionError, match="needs an L1 penalty, but l1=0, and 601 weights are more than 500; give"):
            minimize(Problem(objective, ElasticNet(0.0, 1.0, 1)), ProxNewton())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_value_that_is_not_finite_is_named(order, kind):
    X = np.asarray(table(0, 50, 9), kind, order)
    X[31, 7] = np.inf
    with pytest.raises(DataError, match="sample 31, column 7: inf is not a finite value"):
        ClassifierObjective(X, np.zeros(50, int), n_classes=2)


def test_the_objective_keeps_the_memory_of_its_matrix():
    X = np.asfortranarray(table(0, 4000, 50))
    dense, sparse = objectives(X, 0, 2)
    w = np.random.default_rng(1).normal(size=dense.n_features)
    dense = ClassifierObjective(X[:, :], dense.targets, n_classes=2, threads=1)
    before = dense.value_and_gradient(w)[0]
    del X
    gc.collect()
    np.full((4000, 50), np.nan)  # likely where the matrix was, had it gone
    assert dense.value_and_gradient(w)[0] == before
    assert before == pytest.approx(sparse.value_and_gradient(w)[0], rel=1e-13)


def test_parts_of_a_dense_matrix_are_those_of_the_sparse_one():
    dense, sparse = objectives(table(0, 90, 12), 0, 2)
    w = np.random.default_rng(1).normal(size=dense.n_features)
    rows, columns = np.array([5, 5, 80, 3]), np.array([0, 3, 7, 12])
    pairs = [(dense.sample(rows), sparse.sample(rows)), (dense.restrict(columns), sparse.restrict(columns))]
    for a, b in pairs:
        v = w[: a.n_features]
        assert a.value_and_gradient(v)[0] == pytest.approx(b.value_and_gradient(v)[0], rel=1e-13)
    assert (dense.design != sparse.design).nnz == 0


def test_a_matrix_is_kept_in_the_form_of_its_numbers():
    full, thin = np.ones((40, 30)), np.eye(40)
    assert dense_or_sparse(full) is full
    assert dense_or_sparse(full.T).base is full
    assert scipy.sparse.issparse(dense_or_sparse(thin))
    assert scipy.sparse.issparse(dense_or_sparse(scipy.sparse.csr_array(thin)))
    assert isinstance(dense_or_sparse(scipy.sparse.csc_array(full)), np.ndarray)


def peak():
    """Return the most bytes of memory that this process has had since the last `forget_peak`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    ("layout", "kind"),
    by_day(  # a memory map is a matrix by rows
        [("by rows", np.float64), ("by columns", np.float32), ("memory map", np.float32)],
        lambda case: case[0] != "by rows",
    ),
)
def test_training_takes_little_memory_beside_the_matrix(layout, kind, tmp_path):
    """What it takes is proportional to the samples, and 16 MB for matrices of products."""
    n, d = 40_000, 256
    order = "F" if layout == "by columns" else "C"
    X = np.memmap(tmp_path / "X", kind, "w+", shape=(n, d)) if layout == "memory map" else np.empty((n, d), kind, order)
    X[...] = np.random.default_rng(0).random((n, 1), kind)
    y = np.arange(n) % 2
    X[:, 0] += y
    forget_peak()
    before = peak()
    # Later iterations take no more.
    problem = Problem(ClassifierObjective(X, y, n_classes=2), ElasticNet(0.0, 1.0, 1))
    minimize(problem, ProxNewton(), stop=Stop(max_iterations=3))
    assert peak() - before < 400 * n + 2**24 < X.nbytes
