"""Damaged sparse matrices are errors, where SciPy would read or write beyond the ends of their arrays."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse

from loglinear import Corpus, DataError, GraphCRF, MaxEnt, OptionError, PairwiseMRF
from loglinear.data.sparse_structure import check_structure
from loglinear.objectives.classifier import ClassifierObjective

ROWS = np.random.default_rng(0).normal(size=(20, 4))
CLASSES = np.arange(20) % 2
END = ROWS.size
# Format, array, its content, and a part of the message.
DAMAGES = {
    "csr-beyond": ("csr", "indices", np.full(END, 99), "indices contains 99, but must be between 0 and 3"),
    "csr-negative": ("csr", "indices", np.full(END, -1), "indices contains -1"),
    "csr-float": ("csr", "indices", np.zeros(END), "indices has type float64"),
    "csr-missing-value": ("csr", "data", np.ones(END - 1), "indices has 80 entries, but data has 79"),
    "csr-first": ("csr", "indptr", np.r_[1, np.full(20, END)], "indptr begins with 1 instead of 0"),
    "csr-decreasing": ("csr", "indptr", np.r_[0, 60, 10, np.full(18, END)], "indptr decreases"),
    "csr-last": ("csr", "indptr", np.r_[0, np.full(20, END + 9)], "indptr ends with 89, but there are 80 entries"),
    "csr-short": ("csr", "indptr", np.r_[0, np.full(19, END)], "indptr has 20 entries instead of 21"),
    "csc-beyond": ("csc", "indices", np.full(END, 20), "indices contains 20, but must be between 0 and 19"),
    "csc-decreasing": ("csc", "indptr", np.array([0, 79, 3, 70, END]), "indptr decreases"),
    "bsr-beyond": ("bsr", "indices", np.full(20, 2), "indices contains 2, but must be between 0 and 1"),
    "coo-row": ("coo", "row", np.full(END, 10**6), "row contains 1000000"),
    "coo-column": ("coo", "col", np.full(END, -5), "col contains -5"),
}


def _damaged(name: str) -> scipy.sparse.spmatrix:
    kind, array, content, _ = DAMAGES[name]
    matrix = scipy.sparse.bsr_matrix(ROWS, blocksize=(2, 2)) if kind == "bsr" else scipy.sparse.coo_matrix(ROWS)
    matrix = matrix if kind == "bsr" else matrix.asformat(kind)
    setattr(matrix, array, content if content.dtype.kind == "f" else content.astype(np.int32))
    return matrix


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_sparse_matrix_is_an_error_that_says_what_is_wrong(name: str) -> None:
    with pytest.raises(DataError) as error:
        MaxEnt().fit(_damaged(name), CLASSES)
    assert DAMAGES[name][3] in str(error.value)
    assert "build it again" in str(error.value)


@pytest.mark.parametrize("name", ["csr-beyond", "csc-decreasing", "coo-row"])
def test_everything_that_takes_a_sparse_matrix_refuses_a_damaged_one(name: str) -> None:
    X, model = _damaged(name), MaxEnt().fit(ROWS, CLASSES)
    calls = {
        "predict": lambda: model.predict(X),
        "score": lambda: model.score(X, CLASSES),
        "development data": lambda: MaxEnt().fit(ROWS, CLASSES, X_dev=X, y_dev=CLASSES),
        "objective": lambda: ClassifierObjective(X, CLASSES, n_classes=2),
        "network": lambda: PairwiseMRF(l1=1.0).fit(X),
        "corpus": lambda: Corpus.from_matrix(X, [20]),
        "graph": lambda: GraphCRF().fit([(X, [[0, 1]])], [CLASSES]),
    }
    for call in calls.values():
        with pytest.raises(DataError, match="X is a damaged sparse matrix"):
            call()


def test_rows_of_lists_that_differ_in_length_are_an_error() -> None:
    matrix = scipy.sparse.lil_matrix(ROWS)
    matrix.data[3] = [1.0] * 9
    with pytest.raises(DataError, match="rows and data differ in length"):
        check_structure(matrix)


def test_diagonals_without_an_offset_are_an_error() -> None:
    matrix = scipy.sparse.dia_matrix(np.eye(4, 3))
    matrix.offsets = np.array([0, 1])
    with pytest.raises(DataError, match="offsets has 2 entries, but data has 1"):
        MaxEnt().fit(matrix, [0, 1, 0, 1])


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sound_matrices_of_any_format_pass(kind: str) -> None:
    for rows in (ROWS, ROWS[:1] * [0, 1, 0, 0], np.zeros((3, 4))):
        check_structure(scipy.sparse.coo_array(rows).asformat(kind))
        check_structure(scipy.sparse.coo_matrix(rows).asformat(kind))


def test_spare_room_after_the_last_entry_is_allowed() -> None:
    matrix = scipy.sparse.csr_matrix(ROWS)
    matrix.indices = np.r_[matrix.indices, np.int32(99)]
    matrix.data = np.r_[matrix.data, 1.0]
    check_structure(matrix)


@pytest.mark.parametrize("kind", ["array", "list", "sparse"])
def test_numbers_too_large_for_float64_are_an_error_without_a_warning(kind: str) -> None:
    X = ROWS.astype(np.longdouble)
    if X.dtype.itemsize == 8:
        pytest.skip("long double is double here")
    X[3, 2] = np.longdouble("1e400")
    given = {"array": X, "list": list(X), "sparse": scipy.sparse.csr_matrix(X)}[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="column 2 of X is too large for a float in row 3; divide the column"):
            MaxEnt().fit(given, CLASSES)


def test_class_weights_whose_sum_overflows_are_named() -> None:
    with pytest.raises(OptionError, match=r"class_weight=\{0: 1e\+308, 1: 1e\+308\} makes the sum of"):
        MaxEnt(class_weight={0: 1e308, 1: 1e308}).fit(ROWS, CLASSES)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("solver", "size"), [("sg", 1e4), ("sgd_l1", 1e6), ("asg", 1e6), ("pegasos", 1e6)])
def test_a_column_of_huge_numbers_gives_no_warning_of_overflow(solver: str, size: float) -> None:
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(10, 3)) * [1.0, size, 1.0]
        model = MaxEnt(solver=solver, l1=float(solver == "sgd_l1"), l2=float(solver != "sgd_l1"))
        model.fit(X, np.arange(10) % 3)
        assert model.result_.gap is None or np.isfinite(model.result_.gap)
