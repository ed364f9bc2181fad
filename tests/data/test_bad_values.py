"""The law of values that are not finite numbers: a classifier names their column, in training and in prediction."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
import scipy.sparse

from loglinear import DataError, MaxEnt, PairwiseMRF
from loglinear.data.bad_values import bad_value

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

X = np.random.default_rng(0).normal(size=(6, 3))
Y = [0, 1, 0, 1, 0, 1]
NAMES = ["age", "size", "income"]


def with_value(value):
    """X with a value in row 2 of column 1, as numbers if it is one."""
    table = X.copy() if isinstance(value, float) else X.astype(object)
    table[2, 1] = value
    return table


def as_pandas(table):
    frame = pandas.DataFrame(table, columns=NAMES)
    return frame.astype({name: float for name in NAMES if name != "size" or table.dtype != object})


def as_polars(table):
    columns = table.T.tolist()
    return polars.DataFrame({"age": columns[0], "size": polars.Series(columns[1], strict=False), "income": columns[2]})


def as_arrow(table):
    return pyarrow.table(dict(zip(NAMES, table.T.tolist(), strict=True)))


MATRICES = {
    "array": (np.array, "column 1 of X"),
    "Fortran": (np.asfortranarray, "column 1 of X"),
    "lists": (lambda table: table.tolist(), "column 1 of X"),
    "pandas": (as_pandas, "column 'size' of X"),
}
FINITE = {
    "float32": (lambda table: table.astype(np.float32), "column 1 of X"),
    "CSR": (scipy.sparse.csr_array, "column 1 of X"),
    "CSC": (scipy.sparse.csc_matrix, "column 1 of X"),
    "COO": (scipy.sparse.coo_array, "column 1 of X"),
    "polars": (as_polars, "column 'size' of X"),
    "pyarrow": (as_arrow, "column 'size' of X"),
}


def refused(matrix, plain, kind=DataError):
    """Return the messages of training and of prediction with a model of good data."""
    model = MaxEnt().fit(plain, Y)
    uses = (lambda: MaxEnt().fit(matrix, Y), lambda: model.predict(matrix), lambda: model.predict_proba(matrix))
    messages = set()
    for use in uses:
        with pytest.raises(kind) as caught:
            use()
        messages.add(str(caught.value))
    return messages


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [*MATRICES, *FINITE])
def test_a_number_that_is_not_finite_is_named_with_its_column_and_row(kind, value):
    make, called = (MATRICES | FINITE)[kind]
    what = "NaN" if np.isnan(value) else str(value)
    (message,) = refused(make(with_value(value)), make(X))
    assert message.startswith(f"{called} is {what} in row 2; ")


@pytest.mark.parametrize("kind", ["array", "CSR", "CSC", "COO", "pandas", "polars"])
def test_of_several_the_first_column_is_named(kind):
    make, called = (MATRICES | FINITE)[kind]
    table = with_value(np.inf)
    table[0, 2] = table[5, 1] = np.nan
    assert str(bad_value(make(table))).startswith(f"{called} is inf in row 2; ")


@pytest.mark.parametrize("kind", MATRICES)
def test_a_text_is_named_with_its_column_and_row(kind):
    make, called = MATRICES[kind]
    (message,) = refused(make(with_value("tall")), make(X))
    assert message.startswith(f"{called} has values that are not numbers, such as 'tall' in row 2; encode it")


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("value", [None, pandas.NA, pandas.NaT])
def test_a_missing_value_of_any_library_is_named_with_its_column_and_row(kind, value):
    make, called = MATRICES[kind]
    (message,) = refused(make(with_value(value)), make(X))
    assert message.startswith(f"{called} is NaN in row 2; fill in missing values")


def test_an_object_without_a_number_is_a_type_error_that_names_the_column():
    (message,) = refused(with_value({"a": 1}), X, TypeError)
    assert message.startswith("column 1 of X, row 2: float() argument must be")


def test_columns_of_texts_categories_and_dates_are_named():
    good = pandas.DataFrame(X, columns=NAMES)
    for values, words in {
        "texts": (["a"] * 6, "such as 'a' in row 0"),
        "categories": (pandas.Categorical(list("abcabc")), "such as 'a' in row 0"),
        "dates": ([datetime.datetime(2020, 1, 1)] * 6, "dates or times"),
        "missing": (pandas.array([1, 2, None, 3, 4, 5], dtype="Int64"), "NaN in row 2"),
    }.values():
        (message,) = refused(good.assign(size=values), good)
        assert "'size'" in message
        assert words in message


@pytest.mark.parametrize("matrix", [X, X.tolist(), X.astype(object), X.astype(str), X > 0, scipy.sparse.csr_array(X)])
def test_good_values_are_not_blamed_for_another_error(matrix):
    assert bad_value(matrix) is None
    with pytest.raises(ValueError, match=r"NaN|inconsistent"):
        MaxEnt().fit(matrix, [0, 1])
    with pytest.raises(ValueError, match="y contains NaN"):
        MaxEnt().fit(matrix, [0.0, 1.0, np.nan] * 2)


def test_something_that_is_no_table_is_not_looked_at():
    assert bad_value(3) is None
    assert bad_value("text") is None
    assert bad_value([[1.0], [1.0, 2.0]]) is None


def test_texts_of_digits_are_the_same_numbers_in_every_library():
    texts = {"size": ["1.5", "2", "1.5", "3", "1", "2"], "zip": ["7", "1", "2", "2", "7", "9"]}
    expected = MaxEnt().fit(pandas.DataFrame(texts), Y)
    categories = polars.DataFrame(texts).with_columns(polars.all().cast(polars.Categorical))
    for frame in (polars.DataFrame(texts), categories, pyarrow.table(texts)):
        classifier = MaxEnt().fit(frame, Y)
        assert (classifier.coef_ == expected.coef_).all()
        assert (classifier.predict(frame) == expected.predict(pandas.DataFrame(texts))).all()


def test_dates_are_refused_alike_in_every_library():
    days = {"day": [datetime.datetime(2020, 1, day) for day in range(1, 7)]}
    dates = {"day": [day.date() for day in days["day"]]}
    for values in (days, dates):
        for frame in (pandas.DataFrame(values), polars.DataFrame(values), pyarrow.table(values)):
            with pytest.raises(DataError, match=r"column 'day'.* has dates or times, .* convert it to numbers"):
                MaxEnt().fit(frame, Y)


def test_two_columns_of_one_name_are_an_error_of_every_estimator():
    frame = pandas.DataFrame(X, columns=["a", "a", "c"])
    for fit in (lambda: MaxEnt().fit(frame, Y), lambda: PairwiseMRF().fit(frame)):
        with pytest.raises(DataError, match="X has two columns called 'a'; give every column its own name"):
            fit()


@pytest.mark.parametrize("X", [np.array([[1.0, 10**400], [1.0, 2.0]], dtype=object), [[1.0, 10**400], [1.0, 2.0]]])
def test_a_whole_number_too_large_for_a_float_is_named_with_its_column_and_row(X):
    with pytest.raises(DataError, match="column 1 of X is too large for a float in row 0; divide the column by"):
        MaxEnt().fit(X, [0, 1])


def test_a_column_of_complex_numbers_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0 + 1.0j]})
    with pytest.raises(DataError, match="Complex data not supported: column 'b' of X has type complex128"):
        MaxEnt().fit(frame, [0, 1])
