"""Laws of matrices that a classifier cannot use: each is a DataError that says what is wrong, and what to do."""

from __future__ import annotations

import datetime
import decimal
import fractions
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from loglinear import ClassifierObjective, DataError, MaxEnt

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.arange(12) % 2
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def with_value(value):
    table = X.astype(object)
    table[2, 1] = value
    return table


BAD_OBJECTS = {
    "complex": (1 + 2j, r"Complex data not supported: column \S+ of X is \(1\+2j\) in row 2; give numbers"),
    "NumPy's complex": (np.complex128(1j), r"Complex data not supported: column \S+ of X is .* in row 2; give numbers"),
    "list": (
        [1.0],
        r"column \S+ of X, row 2: float\(\) argument must be .*, not 'list'; convert the column to numbers",
    ),
    "array": (np.array([1.0]), r"column \S+ of X, row 2: float\(\) argument must be .*, not 'ndarray'; convert"),
    "dict": ({"a": 1}, r"column \S+ of X, row 2: .* not 'dict'; convert the column to numbers, or leave it out"),
    "set": ({1}, r"column \S+ of X, row 2: .* not 'set'; convert"),
    "function": (len, r"column \S+ of X, row 2: .* not 'builtin_function_or_method'; convert"),
    "interval": (pd.Interval(0, 1), r"column \S+ of X, row 2: .* not '.*Interval'; convert"),
    "bytes": (b"3", r"column \S+ of X has values that are not numbers, such as b'3' in row 2; encode it"),
    "bytearray": (bytearray(b"3"), r"column \S+ of X has values that are not numbers, such as bytearray.* in row 2"),
    "date": (datetime.date(2020, 1, 1), r"column \S+ of X has dates or times, which are not numbers; convert it"),
    "NumPy's date": (np.datetime64("2020-01-01"), r"column \S+ of X has dates or times, which are not numbers"),
    "NumPy's time": (np.timedelta64(3, "D"), r"column \S+ of X has dates or times, which are not numbers"),
    "NaN of decimals": (decimal.Decimal("NaN"), r"column \S+ of X is NaN in row 2; fill in missing values"),
    "large fraction": (fractions.Fraction(10**400), r"column \S+ of X is too large for a float in row 2; divide the"),
}
WAYS = {
    "array": np.array,
    "pandas": lambda table: pd.DataFrame(table, columns=["a", "b", "c"]),
    "lists": lambda table: table.tolist(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", BAD_OBJECTS)
def test_an_object_that_is_no_number_is_named_with_its_column_and_row(kind, way):
    value, message = BAD_OBJECTS[kind]
    table = np.empty((12, 3), dtype=object)
    table[...] = X
    table[2, 1] = value
    odd = WAYS[way](table) if way != "array" else table
    model = MaxEnt().fit(FRAME if way == "pandas" else X, Y)
    uses = (
        lambda: MaxEnt().fit(odd, Y),
        lambda: model.predict(odd),
        lambda: ClassifierObjective(odd, Y, n_classes=2),
        lambda: MaxEnt().fit(X if way != "pandas" else FRAME, Y, X_dev=odd, y_dev=Y),
    )
    for use in uses:
        with pytest.raises(DataError, match=message):
            use()


@pytest.mark.parametrize(
    "value", [decimal.Decimal("1.5"), fractions.Fraction(3, 2), "1.5", np.array(1.5), np.float32(1.5)]
)
@pytest.mark.parametrize("way", WAYS)
def test_objects_that_are_numbers_are_read_as_they_are(way, value):
    expected = MaxEnt().fit(with_value(1.5).astype(float), Y)
    np.testing.assert_array_equal(MaxEnt().fit(WAYS[way](with_value(value)), Y).coef_, expected.coef_)


SHAPES = {
    "numpy.matrix": (np.asmatrix(X), r"X is a numpy.matrix, which is not supported; give numpy.asarray\(X\)"),
    "row": (X[0], r"X has shape \(3,\), but a matrix .* is expected. Reshape your data: X.reshape\(-1, 1\) if it is a"),
    "list of numbers": (X[0].tolist(), r"X has shape \(3,\), but a matrix"),
    "number": (np.array(1.0), r"X has shape \(\), but a matrix"),
    "cube": (X[None], r"X has shape \(1, 12, 3\), but a matrix"),
    "nothing": ([], r"X has shape \(0,\), but a matrix"),
    "no rows": (X[:0], r"X has 0 sample\(s\) .*; give one or more rows"),
    "sparse without rows": (scipy.sparse.csr_array((0, 3)), r"X has 0 sample\(s\) .*; give one or more rows"),
    "table without rows": (FRAME[:0], r"X has 0 sample\(s\) .*; give one or more rows"),
    "polars without rows": (pl.DataFrame(FRAME)[:0], r"X has 0 sample\(s\) .*; give one or more rows"),
    "no columns": (X[:, :0], r"X has 0 feature\(s\) .*; give one or more columns"),
    "table without columns": (FRAME[[]], r"X has 0 feature\(s\) .*; give one or more columns"),
    "Series": (FRAME["a"], r"X is a single column \(pandas Series\), not a table; give X.to_frame\(\)"),
    "sparse vector": (scipy.sparse.coo_array(X[0]), r"X has shape \(3,\), but a matrix"),
    "complex and sparse": (
        scipy.sparse.csr_array(X + 1j),
        "X is a sparse matrix of type complex128; give one of numbers",
    ),
    "rows of several lengths": ([[1.0, 2.0], [1.0]], "row 1 of X: expected 2 values, found 1"),
    "generator": ((row for row in X), "X has type generator, which is not a table; give a pandas or polars DataFrame"),
    "complex column": (FRAME.assign(d=1j * X[:, 0]), "Complex data not supported: column 'd' of X has type complex128"),
    "list column": (
        FRAME.assign(d=pd.array([[1.0]] * 12, dtype=pd.ArrowDtype(pa.list_(pa.float64())))),
        r"column 'd': values of this type \(lists\) cannot be read; leave it out, or convert it",
    ),
    "mixed names": (
        FRAME.set_axis(["a", 1, 2.0], axis=1),
        r"the names of the columns of X have several types: float, int",
    ),
    "no name": (
        FRAME.set_axis(["a", None, "c"], axis=1),
        r"several types: .*; give strings: X.columns = X.columns.ast",
    ),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_something_that_is_no_matrix_of_numbers_is_a_data_error(kind):
    odd, message = SHAPES[kind]
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(odd, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of scikit-learn, about names
        with pytest.raises(DataError):
            MaxEnt().fit(FRAME, Y).predict(odd)


ACCEPTED = {
    "names that are numbers": FRAME.set_axis([0, 1, 2], axis=1),
    "two levels of names": FRAME.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), axis=1),
    "nullable": FRAME.convert_dtypes(),
    "Arrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "sparse": FRAME.astype(pd.SparseDtype(float, 0.0)),
    "categories": FRAME.astype("category"),
    "objects": FRAME.astype(object),
    "texts": FRAME.astype(str),
}


@pytest.mark.parametrize("kind", ACCEPTED)
def test_numbers_in_any_type_of_pandas_train_the_same_weights(kind):
    expected, table = MaxEnt().fit(X, Y), ACCEPTED[kind]
    model = MaxEnt().fit(table, Y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(table), expected.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame: frame[["b", "a", "c"]],
            r"(?s)same order.*X: the columns are in another order .*; select \['a', ",
        ),
        (
            lambda frame: frame.rename(columns={"a": "z"}),
            r"(?s)unseen.*column 'a' of the model is missing, and the model",
        ),
        (lambda frame: frame[["a"]], "(?s)now missing.*columns 'b', 'c' of the model are missing; add them"),
        (lambda frame: frame.assign(z=1.0), "(?s)unseen.*the model has no column 'z'; leave out 'z'"),
    ],
)
def test_a_table_with_other_columns_is_told_what_to_change(change, message):
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(FRAME, Y).predict(change(FRAME))


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array, np.ndarray.tolist, pl.DataFrame])
def test_another_number_of_columns_is_a_data_error(make):
    with pytest.raises(
        DataError, match=r"X has 2 features, but MaxEnt is expecting 3 features.* give the columns of the"
    ):
        MaxEnt().fit(X, Y).predict_proba(make(X[:, :2]))


@pytest.mark.parametrize("fill", [np.nan, 1.0])
def test_a_sparse_column_with_another_fill_value_is_named_with_a_remedy(fill):
    X = pd.DataFrame({name: pd.arrays.SparseArray([0.0, 1.0, 2.0], fill_value=fill) for name in "ab"})
    message = rf"column 'a' of X is sparse with fill value {fill}, .*; give X\.sparse\.to_dense"
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(X, [0, 1, 1])
    dense = X.sparse.to_dense()
    model = MaxEnt().fit(dense, [0, 1, 1])
    with pytest.raises(DataError, match=message):
        model.predict(X)
    assert model.predict(dense).shape == (3,)
