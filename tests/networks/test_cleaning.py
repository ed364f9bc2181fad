"""What a network leaves out of its training data, and the values that it warns of."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas
import pytest

from loglinear import DataWarning, PairwiseMRF
from loglinear.data.marks import Marks
from loglinear.errors import DataError, OptionError


def linked(n=60, seed=0):
    """Two columns, the second of which mostly repeats the first."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    return a, (a + (rng.random(n) < 0.2)) % 3


def fit(X, **options):
    """Return a network, and the warnings of its training."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = PairwiseMRF(l1=1.0, **options).fit(X)
    return network, [str(each.message) for each in caught if each.category is DataWarning]


def assert_equal(network, other, columns=slice(None)):
    """The networks have the same edges between the same variables, with bitwise the same weights."""
    numbers = np.arange(network.n_features_in_)[columns]
    assert [[numbers.tolist().index(i) for i in edge] for edge in network.edges_.tolist()] == other.edges_.tolist()
    for own, their in zip(network.weights_, other.weights_, strict=True):
        np.testing.assert_array_equal(own, their)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_without_values_change_nothing(weighted):
    a, b = linked()
    X = np.column_stack([a, b]).astype(object)
    holes = np.insert(X, [0, 7, 60], [None, None], axis=0)
    weights = np.arange(1.0, 61.0) if weighted else None
    network = PairwiseMRF(l1=1.0).fit(X, sample_weight=weights)
    with pytest.warns(DataWarning, match="ignored 3 rows without any value"):
        other = PairwiseMRF(l1=1.0).fit(holes, sample_weight=np.insert(weights, [0, 7, 60], 5.0) if weighted else None)
    assert_equal(network, other)
    assert other._training["n_samples"] == 60


def test_a_row_without_values_is_filled_in_by_predict_and_has_probability_1():
    network, _ = fit(np.column_stack(linked()))
    empty = [[None, None], [1, None]]
    assert len(network.predict(empty)) == 2
    assert network.log_likelihood(empty).samples[0] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(DataError, match="no row has a value"):
        PairwiseMRF(l1=1.0).fit([[None, None]] * 3)


def test_identifiers_are_named_and_left_out():
    a, b = linked()
    shuffled = np.random.default_rng(1).permutation(60)
    table = pandas.DataFrame({"Unnamed: 0": range(60), "a": a, "b": b, "name": [f"c{k}" for k in shuffled]})
    network, messages = fit(table)
    (message,) = messages
    assert "column 'Unnamed: 0', column 'name'" in message
    assert "identifiers" in message
    assert_equal(network, fit(table[["a", "b"]])[0], slice(1, 3))
    assert [states.size for states in network.categories_] == [0, 3, 3, 0]
    pandas.testing.assert_frame_equal(network.predict(table.head(2)), table.head(2))


def test_numbers_that_are_binned_are_no_identifiers_unless_they_count_the_rows():
    a, b = linked()
    incomes = np.random.default_rng(1).choice(10**6, size=60, replace=False)
    table = pandas.DataFrame({"row": range(60), "a": a, "b": b, "income": incomes})
    (message,) = fit(table, bins=3)[1]
    assert "'row'" in message
    assert "income" not in message
    assert "bin them" in message
    assert not fit(table.drop(columns="row"), cuts={"income": [5e5]})[1]
    with pytest.raises(DataError, match=r"60 different values.*; bin them with bins=4 \(--bins 4\)$"):
        fit(table.drop(columns="row").assign(income=incomes + 0.5))


def test_bins_for_one_column_leave_answers_of_other_columns_apart():
    table = pandas.DataFrame({"likert": np.arange(60) % 5 + 1, "b": linked()[1], "age": np.arange(60) % 40 + 0.5})
    with pytest.raises(DataError, match=r"max_states=32; cut it at its quartiles with cuts=\{'age': \[") as error:
        fit(table)
    edges = re.findall(r"[\d.]+", str(error.value).split("[")[1].split("]")[0])
    network, _ = fit(table, cuts={"age": [*map(float, edges)]})
    assert [states.size for states in network.categories_] == [5, 3, 4]


def test_few_rows_have_no_identifiers():
    assert not fit([[f"c{k}", k % 2, k % 2] for k in range(10)])[1]


def test_many_states_are_no_advice_where_rows_are_few():
    texts = [f"c{k % 50}" for k in range(100)]
    with pytest.raises(DataError) as error:
        fit(pandas.DataFrame({"a": texts, "b": [0, 1] * 50}))
    assert "max_states (--" not in str(error.value)
    with pytest.raises(DataError, match="--max-states 50"):
        fit(pandas.DataFrame({"a": texts * 5, "b": [0, 1] * 250}))


@pytest.mark.parametrize(
    ("mark", "values"),
    [("?", ["0", "1", "2"]), ("unknown", ["0", "1", "2"]), ("-", ["red", "green", "blue"]), (-999, [0, 1, 2]),
     (99, [0, 1, 2])],
)  # fmt: skip
def test_values_that_look_like_marks_of_missing_ones_are_named_with_a_remedy(mark, values):
    a, b = linked()
    column = np.array([values[k] for k in a], dtype=object)
    column[::10] = mark
    table = pandas.DataFrame({"a": column, "b": b})
    (message,) = fit(table)[1]
    assert message.startswith(f"read as a value: {mark!r} in column 'a' (10 % of the rows); if it marks")
    assert f"missing=[{mark!r}]" in message
    network, messages = fit(table, missing=[mark])
    assert not messages
    holes = table.assign(a=[None if value == mark else value for value in column])
    assert_equal(network, fit(holes)[0])
    assert network.predict(table.head(1)).iloc[0, 0] in values


@pytest.mark.parametrize("values", [["0", "1", "2 or more"], [18, 99, 60], ["?", "!"], [-1, 0, 1]])
def test_other_values_are_not_taken_for_marks(values):
    a, b = linked()
    assert not fit(pandas.DataFrame({"a": [values[k % len(values)] for k in a], "b": b}))[1]


def test_a_number_that_marks_missing_values_may_be_written_in_any_form():
    marks = Marks(["?", 999, "-1"])
    assert all(value in marks for value in ("?", " ? ", "999", "999.0", 999, 999.0, np.float64(999), "-1.00", -1))
    assert not any(value in marks for value in ("0999", "99", 1, "1", "??", None, True))


def test_a_mark_is_the_same_as_a_text_and_as_a_number_and_is_kept_in_the_model(tmp_path):
    a, b = linked()
    numbers = np.where(np.arange(60) % 10 == 0, -999, a)
    by_text, _ = fit(np.column_stack([numbers, b]), missing=["-999"])
    by_number, _ = fit(np.column_stack([numbers, b]).astype(float), missing=[-999])
    assert_equal(by_text, by_number)
    by_text.save(tmp_path / "m")
    again = PairwiseMRF.load(tmp_path / "m")
    assert again.predict([[-999, 1]]).tolist() == by_text.predict([[None, 1]]).tolist()


@pytest.mark.parametrize("missing", ["?", [None], [True], 3])
def test_marks_that_are_no_list_of_values_are_refused(missing):
    with pytest.raises(OptionError, match="missing="):
        PairwiseMRF(missing=missing).fit([[0, 1], [1, 0]])


def test_decimal_commas_are_numbers_to_bin():
    a, b = linked()
    x = np.random.default_rng(2).random(60)
    texts = [f"{number:.3f}" for number in x]
    points = fit(pandas.DataFrame({"a": a, "b": b, "x": texts}), bins=3)[0]
    commas = fit(pandas.DataFrame({"a": a, "b": b, "x": [text.replace(".", ",") for text in texts]}), bins=3)[0]
    assert commas.categories_[2].tolist() == points.categories_[2].tolist()
    assert_equal(commas, points)


@pytest.mark.parametrize("options", [{"bins": 4}, {"cuts": {"age": [30.0]}}])
def test_a_column_of_numbers_with_a_mark_is_refused_with_the_remedy(options):
    a, b = linked(400)
    ages = [("?" if k % 10 == 0 else str(18 + k % 50)) for k in range(400)]
    table = pandas.DataFrame({"age": ages, "a": a, "b": b})
    with pytest.warns(DataWarning, match="10 %"), pytest.raises(DataError) as error:
        PairwiseMRF(l1=1.0, **options).fit(table)
    assert re.search(r"missing=\['\?'\] \(--missing='\?'\)", str(error.value))
    assert "identifiers" not in str(error.value)
    assert fit(table, missing=["?"], **options)[0].bin_edges_[0] is not None


def test_edges_outside_the_values_are_named():
    a, b = linked()
    table = pandas.DataFrame({"age": 18 + np.arange(60) % 40, "a": a, "b": b})
    (message,) = fit(table, cuts={"age": [18.0, 30.0, 65.0]})[1]
    assert "18, 65 are outside the values of column 'age', 18 to 57" in message
    assert not fit(table, cuts={"age": [19.0, 57.0]})[1]
