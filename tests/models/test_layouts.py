"""Laws of the matrices of classifiers: any layout, storage and type of the same numbers gives the same model."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from loglinear import MaxEnt

OPTIONS = {"tolerance": 1e-10, "max_iterations": 1000}
rng = np.random.default_rng(5)
# Numbers that single precision holds exactly, some of them 0.
X = (rng.integers(-40, 40, size=(60, 6)) / 16.0) * (rng.random((60, 6)) < 0.7)
Y = {2: (X[:, 0] + rng.normal(size=60) > 0.0).astype(int), 3: (X[:, :3] + rng.gumbel(size=(60, 3))).argmax(axis=1)}


def every_other(matrix):
    padded = np.zeros((2 * len(matrix), 2 * matrix.shape[1]))
    padded[::2, ::2] = matrix
    return padded[::2, ::2]


def unwritable(matrix):
    matrix = matrix.copy()
    matrix.flags.writeable = False
    return matrix


def mapped(matrix):
    """A memory map that can only be read, as `numpy.load(path, mmap_mode="r")` makes it."""
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, matrix)
        return np.load(file.name, mmap_mode="r")


def wide(matrix, kind):
    """A sparse matrix whose indices have 64 bits, and which cannot be written to."""
    sparse = kind(matrix)
    if hasattr(sparse, "indices"):
        sparse.indices, sparse.indptr = sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)
        sparse.indices.flags.writeable = sparse.indptr.flags.writeable = False
    else:
        sparse.coords = tuple(index.astype(np.int64) for index in sparse.coords)
    sparse.data.flags.writeable = False
    return sparse


def shuffled(matrix):
    """Entries in no order, and each as the sum of two."""
    coo = scipy.sparse.coo_array(matrix)
    order = np.random.default_rng(0).permutation(2 * coo.nnz)
    row, col, data = (np.concatenate([part, part])[order] for part in (*coo.coords, coo.data / 2.0))
    return scipy.sparse.coo_array((data, (row, col)), shape=matrix.shape)


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strides": every_other,
    "backwards": lambda matrix: matrix[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": unwritable,
    "memory map": mapped,
    "single precision": lambda matrix: matrix.astype(np.float32),
    "half precision": lambda matrix: matrix.astype(np.float16),
    "single precision, Fortran": lambda matrix: np.asfortranarray(matrix.astype(np.float32)),
    "big endian": lambda matrix: matrix.astype(">f8"),
    "objects": lambda matrix: matrix.astype(object),
    "lists": lambda matrix: matrix.tolist(),
    "CSR": scipy.sparse.csr_array,
    "CSC": scipy.sparse.csc_array,
    "COO": scipy.sparse.coo_array,
    "CSR matrix": scipy.sparse.csr_matrix,
    "CSR with 64 bits": lambda matrix: wide(matrix, scipy.sparse.csr_array),
    "CSC with 64 bits": lambda matrix: wide(matrix, scipy.sparse.csc_array),
    "COO with 64 bits": lambda matrix: wide(matrix, scipy.sparse.coo_array),
    "CSR in single precision": lambda matrix: scipy.sparse.csr_array(matrix, dtype=np.float32),
    "COO in no order": shuffled,
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_of_the_same_numbers_gives_the_same_model_and_is_left_as_it_was(layout, n_classes):
    y = Y[n_classes]
    plain, laid_out = MaxEnt(**OPTIONS).fit(X, y), LAYOUTS[layout](X)
    model = MaxEnt(**OPTIONS).fit(laid_out, y)
    assert model.result_.objective == pytest.approx(plain.result_.objective, rel=1e-9)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-4)
    np.testing.assert_allclose(plain.predict_proba(laid_out), plain.predict_proba(X), rtol=1e-12)
    after = laid_out.toarray() if scipy.sparse.issparse(laid_out) else np.array(laid_out, dtype=float)
    np.testing.assert_array_equal(after, X)


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.int64, bool])
def test_whole_numbers_and_truth_values_are_numbers(kind):
    table = (np.abs(X) > 1.0).astype(kind)
    for make in (np.array, scipy.sparse.csr_array):
        model = MaxEnt(**OPTIONS).fit(make(table), Y[2])
        np.testing.assert_array_equal(model.coef_, MaxEnt(**OPTIONS).fit(make(table.astype(float)), Y[2]).coef_)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_scores_and_probabilities_of_single_precision_data_have_double_precision(n_classes, dense):
    table = X.astype(np.float32) if dense else scipy.sparse.csr_array(X.astype(np.float32))
    model = MaxEnt(**OPTIONS).fit(table, Y[n_classes])
    results = (model.predict_proba(table), model.predict_log_proba(table), model.decision_function(table))
    for array in (model.coef_, model.intercept_, model.result_.w, *results):
        assert array.dtype == np.float64
    # The optimum is that of the numbers as they are, to double precision.
    np.testing.assert_allclose(model.coef_, MaxEnt(**OPTIONS).fit(X, Y[n_classes]).coef_, atol=1e-4)
