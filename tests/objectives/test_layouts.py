"""Sparse matrices as they come: their layouts, the types of their indices, and the memory that they take."""

from __future__ import annotations

import ctypes
import gc
import itertools
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from examples import by_day
from loglinear import ClassifierObjective, MaxEnt
from loglinear.data.matrix import dense_or_sparse, far_from_zero

# Bytes of an entry in compressed sparse rows: a double and a column of 32 bits.
ENTRY = 12


def sparse(n, columns, share, seed=0):
    """Compressed sparse rows, with as many entries in each row."""
    rng = np.random.default_rng(seed)
    width = int(share * columns)
    ids = np.sort(rng.integers(0, columns // width, (n, width)) + np.arange(width) * (columns // width), axis=1)
    ends = np.arange(0, n * width + 1, width)
    parts = rng.random(n * width), ids.ravel().astype(np.int32), ends.astype(np.int32)
    return scipy.sparse.csr_array(parts, (n, columns))


def of_64_bits(X):
    """The same matrix with longer indices."""
    names = ("row", "col") if X.format == "coo" else ("indices", "indptr")
    if X.format == "coo":
        return scipy.sparse.coo_array((X.data, [getattr(X, name).astype(np.int64) for name in names]), X.shape)
    return type(X)((X.data, *(getattr(X, name).astype(np.int64) for name in names)), shape=X.shape)


def read_only(X):
    """The same matrix, whose arrays cannot be written to."""
    for array in (X.data, X.row, X.col) if X.format == "coo" else (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    return X


def shuffled(X):
    """The same matrix with the entries of a row from the last to the first."""
    order = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)])
    return scipy.sparse.csr_array((X.data[order], X.indices[order], X.indptr), X.shape)


LAYOUTS = {
    "csr_matrix": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_array,
    "csc_matrix": scipy.sparse.csc_matrix,
    "coo": scipy.sparse.coo_array,
    "coo_matrix": scipy.sparse.coo_matrix,
    "csr of 64 bits": of_64_bits,
    "csc of 64 bits": lambda X: of_64_bits(X.tocsc()),
    "coo of 64 bits": lambda X: of_64_bits(X.tocoo()),
    "csr, read only": lambda X: read_only(X.copy()),
    "csc, read only": lambda X: read_only(X.tocsc()),
    "coo, read only": lambda X: read_only(X.tocoo()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_weights_are_bitwise_the_same_from_every_layout(layout, l1):
    X = sparse(300, 40, 0.1)
    y = (X @ np.sin(np.arange(40)) > 0.0).astype(int)
    given = LAYOUTS[layout](X)
    before = given.copy()
    model, plain = (MaxEnt(l1=l1, n_jobs=1).fit(matrix, y) for matrix in (given, X))
    assert np.array_equal(model.coef_, plain.coef_)
    assert np.array_equal(model.intercept_, plain.intercept_)
    assert np.array_equal(model.predict_proba(given), plain.predict_proba(X))
    assert (given != before).nnz == 0


def test_entries_in_another_order_make_the_same_problem():
    X = sparse(300, 40, 0.1)
    y = (X @ np.sin(np.arange(40)) > 0.0).astype(int)
    given = shuffled(X)
    indices = given.indices.copy()
    model, plain = (MaxEnt().fit(matrix, y) for matrix in (given, X))
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-4, atol=1e-5)
    assert np.array_equal(given.indices, indices)


def peak():
    """Return the most bytes of memory that this process has had since the last `forget_peak`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def forget_peak():
    # Otherwise a copy may hide in memory that the C library keeps for later.
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc's
        trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak()


linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")

# Entries of copies at the peak: the objective's own; without 32-bit indices, the matrix with such; and its rows, of
# other layouts, on the way to which SciPy keeps indices of both kinds.
COPIES = {"csr": 1.0, "csr of 64 bits": 1.4, "csc": 2.0, "csc of 64 bits": 2.7, "coo": 2.0, "coo of 64 bits": 2.7}


@linux
@pytest.mark.parametrize("layout", COPIES)
def test_the_objective_copies_a_sparse_matrix_once(layout):
    rows = sparse(20_000, 100_000, 0.0015)
    X = LAYOUTS[layout](rows) if layout in LAYOUTS else rows
    y = np.arange(20_000) % 2
    ClassifierObjective(sparse(20, 100, 0.1), y[:20], n_classes=2)
    before = forget_peak()
    objective = ClassifierObjective(X, y, n_classes=2)
    more = peak() - before
    assert objective.n_samples == 20_000
    assert more < COPIES[layout] * ENTRY * X.nnz + 2**22 + 16 * sum(X.shape)


@linux
@pytest.mark.filterwarnings("ignore:stopped at the iteration limit")
@pytest.mark.parametrize(
    ("n_classes", "l1"), by_day([(2, 0.0), (2, 1.0), (3, 0.0), (3, 1.0)], lambda case: case in {(2, 0.0), (3, 1.0)})
)
def test_a_training_copies_a_sparse_matrix_by_rows_and_by_columns(n_classes, l1):
    """As docs/scale.md says: with two classes and no L1 penalty eight rows stand side by side in a third copy."""
    X, y = sparse(6_000, 66_000, 0.01), np.arange(6_000) % n_classes
    MaxEnt(l1=l1).fit(sparse(20, 100, 0.1), y[:20])
    before = forget_peak()
    MaxEnt(l1=l1, max_iterations=2).fit(X, y)
    n_copies = 3 if n_classes == 2 and not l1 else 2
    vectors = 24 * 8 * n_classes * sum(X.shape)  # of the solver
    assert peak() - before < n_copies * ENTRY * X.nnz + 2**22 + vectors


def labelled(n, columns, kind):
    """A table, and classes that depend on its first columns."""
    rng = np.random.default_rng(0)
    X = rng.random((n, columns), kind)
    return X, (X[:, 0] + X[:, 1] + rng.random(n, np.float32) > 1.5).astype(int)


@linux
@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"l1": 1.0}, {"l1": 1.0, "l2": 1.0}], ids=str)
@pytest.mark.parametrize(
    ("shape", "a_sample", "a_column"), [((2_000_000, 20), 256, 0), ((100, 100_000), 0, 1280)], ids=["tall", "wide"]
)
def test_a_training_takes_memory_for_samples_and_columns_and_not_for_cells(shape, a_sample, a_column, settings):
    """As docs/scale.md says."""
    X, y = labelled(*shape, np.float32)
    MaxEnt(**settings).fit(X[:50, :50], y[:50])
    before = forget_peak()
    model = MaxEnt(**settings).fit(X, y)
    more = peak() - before
    assert model.result_.status.name == "CONVERGED"
    assert more < a_sample * shape[0] + a_column * shape[1] + 2**24


@linux
def test_looking_for_columns_far_from_zero_takes_no_copy_of_a_wide_table():
    X, _ = labelled(100, 50_000, np.float32)
    far_from_zero(X[:, :100])
    gc.collect()
    before = forget_peak()
    assert far_from_zero(X) is not None
    assert peak() - before < 2**23 + 64 * X.shape[1]


@linux
def test_the_curvature_of_a_table_takes_no_copy_of_its_cells():
    X, y = labelled(40_000, 200, np.float32)
    objective = ClassifierObjective(X, y, n_classes=2)
    before = forget_peak()
    objective.hessian_diagonal(np.zeros(objective.n_features))
    assert peak() - before < X.nbytes / 4


def far(X):
    X += 50.0
    return X


VIEWS = {
    "some columns": lambda X: X[:, 20:],
    "some rows": lambda X: X[1_000:],
    "columns of an array by columns": lambda X: np.asfortranarray(X)[:, ::2],
    "an array by columns, backwards": lambda X: np.asfortranarray(X)[:, ::-1],
    "rows of an array by columns": lambda X: np.asfortranarray(X)[1_000:],
    "far from 0": far,
    "far from 0, by columns": lambda X: far(np.asfortranarray(X)),
    "far from 0, some columns": lambda X: far(X)[:, 20:],
}
COPIED = {"every other row": lambda X: X[::2], "backwards": lambda X: X[::-1], "few columns": lambda X: X[:, :20]}


# By day, all layouts of the larger type.
@linux
@pytest.mark.parametrize(
    ("layout", "kind"),
    by_day(
        itertools.product(VIEWS, [np.float64, np.float32]),
        lambda cell: cell[1] is np.float64 or cell[0] == "some columns",
    ),
)
def test_views_and_columns_far_from_zero_take_no_copy(layout, kind):
    X, y = labelled(40_000, 100, kind)
    view = VIEWS[layout](X)
    y = y[: len(view)]
    ClassifierObjective(view[:100], y[:100], n_classes=2, intercept="scaled")
    gc.collect()
    before = forget_peak()
    objective = ClassifierObjective(view, y, n_classes=2, intercept="scaled")
    objective.value_and_gradient(np.zeros(objective.n_features))
    assert objective.shift is not None  # as numbers from 0 to 1 are far from 0, too
    assert peak() - before < 2**23


@pytest.mark.parametrize("layout", [*VIEWS, *COPIED])
def test_only_rows_that_are_far_apart_or_backwards_are_copied(layout):
    view = (VIEWS | COPIED)[layout](labelled(5_000, 100, np.float32)[0])
    assert np.shares_memory(dense_or_sparse(view), view) == (layout in VIEWS)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("intercept", [True, "scaled"])
@pytest.mark.parametrize("layout", [*VIEWS, *COPIED])
def test_views_give_the_bits_of_a_copy(layout, kind, intercept):
    X, y = labelled(5_100, 23, kind)
    view = (VIEWS | COPIED)[layout](X)
    y = y[: len(view)]
    objectives = [
        ClassifierObjective(matrix, y, n_classes=2, intercept=intercept, threads=1)
        for matrix in (view, np.ascontiguousarray(view))
    ]
    w = np.linspace(-1.0, 1.0, objectives[0].n_features)
    (value, gradient), (expected, by_copy) = (objective.value_and_gradient(w) for objective in objectives)
    assert value == expected
    np.testing.assert_array_equal(gradient, by_copy)
    rows = np.arange(1, 9)
    of_some = [objective.sample(rows).value_and_gradient(w) for objective in objectives]
    assert of_some[0][0] == of_some[1][0]
    np.testing.assert_array_equal(objectives[0].design.toarray(), objectives[1].design.toarray())
