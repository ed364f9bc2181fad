"""Properties of well-formed tables that suggest a mistake, and sane tables of which nothing is said."""

from __future__ import annotations

import warnings

import numpy as np
import pandas
import pytest
import sklearn.datasets

from loglinear import DataError, DataWarning, PairwiseMRF
from loglinear.data.table import read_table

N = 120


def linked(n=N):
    """Two columns, the second of which mostly repeats the first."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, n)
    return {"a": a, "b": (a + (rng.random(n) < 0.2)) % 2}


def said(X, **options):
    """Return the warnings of a training about its data, and its error if it has one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            PairwiseMRF(l1=1.0, **options).fit(X)
            errors = []
        except DataError as error:
            errors = [str(error)]
    return [str(each.message) for each in caught if each.category is DataWarning] + errors


def cycled(values, n=N):
    return [values[k % len(values)] for k in range(n)]


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([1, 2, 3, 4, 5, -9], [-9]),
        ([*range(11), -8, -9], [-9, -8]),
        ([*range(11), 77, 88, 99], [77, 88, 99]),
        ([*range(18, 45), 999], [999]),
        ([20, 31, 45, 52, 66, -8], [-8]),
        ([*range(18, 45), -98, -99], [-99, -98]),
        ([0.5, 1.5, 2.5, np.inf], [np.inf]),
        (["0.5", "1.5", "inf"], ["inf"]),
        ([1, 2, 3, "#DIV/0!"], ["#DIV/0!"]),
        (["yes", "no", "#REF!"], ["#REF!"]),
        (["yes", "no", "#NAME?", "Err:502"], ["#NAME?", "Err:502"]),
        (["yes", "no", "(blank)"], ["(blank)"]),
        (["red", "green", "N/a"], ["N/a"]),
        (["1", "2", "3", "?", "-9"], ["?", "-9"]),
    ],
)
def test_values_that_seem_to_mean_missing_are_named_in_one_warning(values, marks):
    message, *_ = said(pandas.DataFrame({"x": cycled(values), **linked()}))
    assert message.startswith("read as ")
    assert f"pass missing={marks!r} (--missing" in message
    assert not said(pandas.DataFrame({"x": cycled(values), **linked()}), missing=marks)


def test_the_row_of_a_sum_is_told_and_is_no_missing_value():
    table = pandas.DataFrame({"x": cycled(["1", "2", "3"]), **linked()})
    for name in ("Total", " total:", "Summe", "合计"):
        (message,) = said(pandas.concat([table, pandas.DataFrame({"x": [name]})]))
        assert message == f"the last row seems to be the sum of the others ({name!r} in column 'x'); remove it"
    # A value of several rows is a state.
    assert not said(pandas.DataFrame({"x": cycled(["red", "blue", "all", "total"]), **linked()}))


@pytest.mark.parametrize(
    "values",
    [[-1, 0, 1], [-3, -2, -1, 0, 1, 2, 3], range(-9, 10), [0, 1, 2, 3, 4, 5, 8], [1, 10, 100], [7, 8, 9],
     [-8, 0, 4, 9, 20], [70, 77, 80, 88], [0, 1], ["+", "-"], ["A", "#1"], ["in", "inf"], [True, False],
     ["#tag", "#other", "none"]],
)  # fmt: skip
def test_ordinary_values_are_not_taken_for_marks(values):
    assert not said(pandas.DataFrame({"x": cycled([*values]), **linked()}))


def test_columns_with_the_same_mark_are_listed_together():
    some, rest = cycled(["x", "y", "z", "?"]), cycled(["u", "v", "w", "u", "v", "w", "w", "?"])
    (message,) = said(pandas.DataFrame({"p": some, "q": rest, "r": cycled([1, 2, 3, 1, 99]), **linked()}))
    places = "'?' in columns 'p', 'q' (up to 25 % of the rows), 99 in column 'r' (20 % of the rows)"
    assert message.startswith(f"read as values: {places}; ")
    assert "pass missing=['?', 99] (--missing '?,99')" in message


@pytest.mark.parametrize(
    ("values", "pair"),
    [
        (["yes", "Yes", "no"], "'yes' and 'Yes'"),
        (["no", "no ", "yes"], "'no' and 'no '"),
        (["New York", "New  York", "Rome"], "'New York' and 'New  York'"),
        (["M", "F", "m"], "'M' and 'm'"),
        (["ja", "ja\u200b", "nee"], "'ja' and 'ja\\u200b'"),
        (["don't know", "don’t know", "yes"], "\"don't know\" and 'don’t know'"),
        (["caf\u00e9", "cafe\u0301", "bar"], "'caf\u00e9' and 'cafe\u0301'"),
        (["1", "1.0", "2"], "'1' and '1.0'"),
        (["Yes", "yes"], "'Yes' and 'yes'"),
    ],
)
def test_states_that_people_take_for_the_same_are_named(values, pair):
    X = {"x": cycled(values), **linked()}
    rows = [dict(zip(X, row, strict=True)) for row in zip(*X.values(), strict=True)]
    expected = f"column 'x': {pair} differ only in case, blanks or other details; write them alike"
    assert said(pandas.DataFrame(X)) == said(rows) == [expected]


@pytest.mark.parametrize("values", [["AA", "Aa", "aa"], ["T", "t"], ["C", "C++", "C#"], ["<5", "5", ">5"], ["07", "7"]])
def test_states_that_differ_in_more_or_in_case_alone_are_states(values):
    assert not said(pandas.DataFrame({"x": cycled(values), **linked()}))


def test_binned_numbers_may_be_written_in_several_ways():
    assert not said(pandas.DataFrame({"x": cycled(["1", "1.0", "2", "3", "4"]), **linked()}), bins=3)


@pytest.mark.parametrize("of", [lambda a: a, lambda a: 1 - a, lambda a: np.array(["n", "y"])[a]])
def test_columns_that_determine_each_other_are_named(of):
    columns = linked()
    X = pandas.DataFrame({**columns, "copy": of(columns["a"])})
    (message,) = said(X)
    assert message == "columns 'a', 'copy' determine each other, as a column and its copy do; keep one"
    X["other"] = columns["b"]
    assert "columns 'a', 'copy', and columns 'b', 'other' determine" in said(X)[0]
    X.loc[0, "copy"] = None
    assert not said(X.drop(columns="other"))


def test_columns_that_are_equal_by_chance_in_few_rows_are_no_copies():
    rare = np.zeros(N, int)
    rare[:10] = 1
    assert not said(pandas.DataFrame({**linked(), "x": rare, "y": rare}))
    rare[10] = 1
    assert "columns 'x', 'y' determine" in said(pandas.DataFrame({**linked(), "x": rare, "y": rare}))[0]


def test_copies_among_samples_that_are_counted_have_enough_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "x,u,0\ny,v,1\nx,u,1\n" * 20)
    table = read_table(str(path), distinct=True)
    assert len(table.columns[0]) == 3
    assert said(table) == ["columns 'a', 'b' determine each other, as a column and its copy do; keep one (--ignore b)"]


def test_a_header_among_the_rows_is_named_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"{a},{b}\n" for a, b in zip(*linked().values(), strict=True))
    path.write_text(f"a,b\n{rows}a,b\n")
    for distinct in (False, True):
        (message,) = said(read_table(str(path), distinct=distinct))
        assert message.startswith(f"line {N + 2}: the header is repeated and read as data; delete the row, or add --no")
    path.write_text(f"a,b\n{rows}a,b\n{rows}\na,b\n")
    assert "repeated and read as data, and in 1 more row;" in said(read_table(str(path)))[0]
    frame = pandas.DataFrame({"a": ["x", "y", "a", pandas.NA] * 30, "b": ["u", "v", "b", "v"] * 30}, dtype=object)
    assert said(frame)[0] == "row 2: the header is repeated and read as data, and in 29 more rows; delete the rows"
    assert not said(frame[frame["a"] != "a"].assign(c=cycled(["a", "b", "c", "a"], 90)))


def test_commas_between_thousands_are_not_decimal_commas():
    thousands = [f"{number:,d}" for number in range(900, 900 + N)]
    (message,) = said(pandas.DataFrame({"x": thousands, **linked()}), bins=3)
    assert "remove commas between thousands" in message
    assert not said(pandas.DataFrame({"x": [f"{number:,d}" for number in range(1000, 1000 + N)], **linked()}), bins=3)
    assert not said(pandas.DataFrame({"x": [f"{k / 100:.2f}".replace(".", ",") for k in range(N)], **linked()}), bins=3)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_commas_in_quotes_between_commas_separate_thousands(tmp_path, delimiter):
    rows = [f'"{1000 + k:,d}"{delimiter}{k % 2}{delimiter}{k % 3}\n' for k in range(N)]
    (tmp_path / "t.csv").write_text("".join([delimiter.join("xyz") + "\n", *rows]))
    messages = [message for message in said(read_table(str(tmp_path / "t.csv")), bins=3) if "thousands" in message]
    expected = "column 'x': 1,000 is read as 1.000, with a decimal comma; remove commas between thousands"
    assert messages == ([expected] if delimiter == "," else [])


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (lambda k: f"${100 + k}", "remove '$' from the numbers, then bin them"),
        (lambda k: f"{k}.5%", "remove '%' from the numbers, then bin them"),
        (lambda k: f"{k / 10:.2f} €".replace(".", ","), "remove '€' from the numbers"),
        (lambda k: f"£1,{k:03d}.50", "remove '£' from the numbers"),
        (lambda k: f"1 {k:03d} kg", "remove 'kg' from the numbers"),
        (lambda k: f"USD {k}", "remove 'USD' from the numbers"),
        (lambda k: f"1,{k:03d},000", "remove the separators between thousands from the numbers"),
        (lambda k: f"2024-{1 + k // 28:02d}-{1 + k % 28:02d}", "replace dates and times by parts of them"),
        (lambda k: f"{1 + k % 28}/{1 + k // 28}/2024 10:30", "replace dates and times by parts of them"),
        (lambda k: pandas.Timestamp(2024, 1 + k // 28, 1 + k % 28), "replace dates and times by parts of them"),
        (lambda k: np.datetime64(k, "D").astype("datetime64[ns]"), "replace dates and times by parts of them"),
    ],
)
@pytest.mark.parametrize("distinct", [N, 60])
def test_amounts_and_dates_are_left_out_or_refused_with_what_to_do(value, advice, distinct):
    (message,) = said(pandas.DataFrame({"x": [value(k % distinct) for k in range(N)], **linked()}))
    assert advice in message
    assert "column 'x'" in message
    assert ("ignored" in message) == (distinct == N)


@pytest.mark.parametrize("value", ["c{}", "{0}-{0}-x", "10.0.{}.1", "a{}%", "number {} is fine"])
def test_other_identifiers_have_no_such_advice(value):
    (message,) = said(pandas.DataFrame({"x": [value.format(k) for k in range(N)], **linked()}))
    assert message.endswith("as identifiers do: column 'x'")


def test_numbers_with_several_units_are_identifiers():
    for texts in ([f"{k}{'ab'[k % 2]}" for k in range(N)], [f"{'$€'[k % 2]}{k}" for k in range(N)]):
        (message,) = said(pandas.DataFrame({"x": texts, **linked()}))
        assert message.endswith("as identifiers do: column 'x'")


def test_complex_numbers_are_refused_by_their_type():
    (message,) = said(np.ones((20, 2)) * 1j)
    assert message.startswith("column 0 has values of type complex128; give strings")


@pytest.mark.parametrize("load", ["load_iris", "load_wine", "load_breast_cancer", "load_diabetes"])
def test_nothing_is_said_of_measurements(load):
    assert not said(getattr(sklearn.datasets, load)(as_frame=True).frame, bins=3)
