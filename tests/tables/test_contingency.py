"""Tables of counts are read from whatever holds them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from loglinear import DataError, DataWarning, OptionError
from loglinear.tables.contingency import ContingencyTable

COUNTS = np.array([[3, 0, 2], [1, 4, 5]])
ROWS = pd.DataFrame(
    [(a, b) for a in (0, 1) for b in (0, 1, 2) for _ in range(COUNTS[a, b])], columns=["first", "second"]
).replace({"first": {0: "no", 1: "yes"}, "second": {0: "x", 1: "y", 2: "z"}})
GROUPED = pd.DataFrame(
    {
        "first": np.repeat(["no", "yes"], 3),
        "second": ["x", "y", "z"] * 2,
        "n": COUNTS.ravel(),
    }
)
CELLS = {(a, b): COUNTS[i, j] for i, a in enumerate(["no", "yes"]) for j, b in enumerate("xyz")}
FORMS = {
    "rows": (ROWS, {}),
    "dict of columns": ({name: ROWS[name].tolist() for name in ROWS}, {}),
    "list of dicts": (ROWS.to_dict("records"), {}),
    "rows with counts": (GROUPED, {"counts": "n"}),
    "crosstab": (pd.crosstab(ROWS["first"], ROWS["second"]), {}),
    "series": (GROUPED.set_index(["first", "second"])["n"], {}),
    "unstacked on both axes": (GROUPED.set_index(["first", "second"])["n"].unstack(), {}),
    "dict of cells": (CELLS, {"names": ["first", "second"]}),
    "array": (COUNTS, {"names": ["first", "second"]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_table_are_the_same(form):
    data, options = FORMS[form]
    table = ContingencyTable.of(data, **options)
    assert table.names == ["first", "second"]
    if form != "array":
        assert table.levels == [["no", "yes"], ["x", "y", "z"]]
    np.testing.assert_array_equal(table.counts, COUNTS)
    assert table.possible.all()


def test_a_count_of_nan_is_a_structural_zero():
    table = ContingencyTable.of(np.array([[1.0, np.nan], [2.0, 3.0]]))
    assert table.possible.tolist() == [[True, False], [True, True]]
    assert table.counts[0, 1] == 0
    assert table.over([0]).possible.all()
    masked = ContingencyTable.of(np.array([[1, 0], [2, 3]]), structural_zeros=[[False, True], [False, False]])
    np.testing.assert_array_equal(masked.possible, table.possible)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_categorical_keeps_the_order_of_its_categories(ordered):
    ages = pd.Categorical(["old", "young", "old"], ["young", "old"], ordered=ordered)
    table = ContingencyTable.of(pd.DataFrame({"age": ages, "n": [1, 2, 3]}), counts="n")
    assert (table.levels, table.counts.tolist()) == ([["young", "old"]], [2, 4])
    series = pd.Series([2, 4], pd.CategoricalIndex(["young", "old"], ["young", "old"], name="age"))
    assert ContingencyTable.of(series).levels == [["young", "old"]]


@pytest.mark.parametrize(
    ("data", "options", "told"),
    [
        (np.array([[1, -2]]), {"names": ["a", "b"]}, "cell a=0, b=1 has the count -2"),
        (np.array([[1, np.inf]]), {}, "cell x1=0, x2=1 has the count inf"),
        (np.array([["a", "b"]]), {}, "not all numbers"),
        (np.zeros((2, 2)), {}, "no samples"),
        (np.array([[1, 2]]), {"structural_zeros": [True, False]}, "structural_zeros has shape"),
        (np.array([[1, 2]]), {"structural_zeros": [[True, False]]}, "cell x1=0, x2=0 has 1 samples"),
        ({("a", "b"): 1, ("a",): 2}, {}, "has 1 level"),
        (pd.Series([1, 2], pd.MultiIndex.from_tuples([("a", "b"), ("a", "b")])), {}, "occurs twice"),
        (3, {}, "not a table"),
        ({"a": ["x"], "b": ["x", "y"]}, {}, "different lengths"),
        (GROUPED.assign(n=[1, 2, 3, 4, 5, -1]), {"counts": "n"}, "row 5, column 'n': -1 is not a count"),
        (GROUPED.assign(n="many"), {"counts": "n"}, "counts='n': the column has values that are not"),
        ({}, {}, "no columns"),
        ({("a",): "x"}, {}, "not all numbers"),
        (np.array([1, 2j]), {}, "not all numbers (complex numbers)"),
        (np.broadcast_to(1, (2,) * 40), {}, "of 40 variables would have more than 100,000,000 cells (2 x 2 x"),
        (GROUPED.assign(n=[1, 2, 3, 4, None, 6]), {"counts": "n"}, "row 4, column 'n': the count is missing"),
        ({"id": [*range(1001)]}, {}, "column 'id' has 1,001 different values"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(data, options, told):
    with pytest.raises(DataError) as error:
        ContingencyTable.of(data, **options)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("data", "options", "told"),
    [
        (GROUPED, {"counts": "m"}, "is not a column"),
        (COUNTS, {"counts": "n"}, "leave out counts"),
        (COUNTS, {"names": ["a"]}, "2 variables"),
        (COUNTS, {"names": ["a", "a"]}, "same name"),
        (COUNTS, {"names": "ab"}, "give a list"),
        (COUNTS, {"names": 5}, "give a list"),
        (COUNTS, {"counts": 3}, "not the name of a column"),
        (COUNTS, {"missing": ["?"]}, "missing=['?'] is for rows"),
    ],
)
def test_options_that_do_not_fit_are_refused(data, options, told):
    with pytest.raises(OptionError) as error:
        ContingencyTable.of(data, **options)
    assert told in str(error.value)


def test_rows_with_missing_values_are_ignored_with_a_warning_if_a_column_in_use_has_them():
    rows = pd.DataFrame({"a": ["x", None, "y"], "b": ["u", "v", "v"], "id": [1, None, 3]})
    with pytest.warns(DataWarning, match="ignored 1 sample"):
        table = ContingencyTable.of(rows, axes_of=lambda names: [0, 1])
    assert table.counts.tolist() == [[1, 0], [0, 1]]
    assert ContingencyTable.of(rows, axes_of=lambda names: [1]).counts.tolist() == [1, 2]


def test_counts_that_are_not_whole_give_a_warning():
    with pytest.warns(DataWarning, match="not whole numbers"):
        ContingencyTable.of(np.array([[1.5, 2.0]]))


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (
            ["1", "0", "?", "2"] * 5,
            "'?' in column 'a' (25 % of the rows); if it marks missing values, pass missing=['?']",
        ),
        (["x", " x", "y", "Y"] * 5, "column 'a': 'x' and ' x', 'y' and 'Y' differ only in case"),
        (["x", "y"] * 9 + ["z", "Total"], "the last row seems to be the sum of the others ('Total' in column 'a')"),
        ([*range(20), 0.5], "column 'a' has 21 different values in 21 samples, too many for levels"),
    ],
)
def test_levels_that_look_like_a_mistake_give_a_warning(column, told):
    rows = pd.DataFrame({"a": column, "b": ["u", "v", "w"] * 6 + ["u"] * (len(column) - 18)})
    with pytest.warns(DataWarning) as warned:
        ContingencyTable.of(rows)
    assert [told in str(warning.message) for warning in warned] == [True]
    ContingencyTable.of(rows, axes_of=lambda names: [1])


def test_many_levels_of_many_samples_and_few_levels_are_no_mistake():
    ContingencyTable.of({"a": [*range(21)], "n": [5] * 21}, counts="n")
    ContingencyTable.of({"a": [*range(20)]})


def test_a_repeated_header_gives_a_warning_even_in_a_column_of_counts():
    rows = {"a": ["x", "a", "y"], "b": ["u", "b", "v"]}
    with pytest.warns(DataWarning, match="row 1: the header is repeated and read as data; delete the row"):
        ContingencyTable.of(rows)
    with pytest.warns(DataWarning, match="row 1"), pytest.raises(DataError, match="counts='n'"):
        ContingencyTable.of(rows | {"n": ["3", "n", "4"]}, counts="n")


def test_values_that_mean_missing_are_no_levels():
    rows = pd.DataFrame({"a": ["x", "?", "y", "x"], "b": [1, 1, -9, 2]})
    with pytest.warns(DataWarning, match="ignored 2 samples with a missing value"):
        table = ContingencyTable.of(rows, missing=["?", -9])
    assert table.levels == [["x"], [1, 2]]
