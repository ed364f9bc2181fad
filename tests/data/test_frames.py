"""Laws of tables of every library: each is read as the same columns, by every estimator, and others are refused."""

from __future__ import annotations

import datetime
import decimal
import functools
import gc
import itertools
import warnings

import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

from examples import by_day
from loglinear import ChainCRF, Corpus, DataError, GraphCRF, MaxEnt, PairwiseMRF
from loglinear.data.columns import as_lists
from loglinear.data.frames import Frame, as_column
from loglinear.data.table import Table, read_table
from loglinear.models.files.chain import tag_arrow
from loglinear.objectives.matrix_parts import ChunkOfSamples


def of_duckdb(frame):
    """A relation that has to be computed, in several blocks."""
    connection = duckdb.connect()
    connection.register("frame", frame)
    return connection.sql("select * from frame")


class OnlyArrow:
    """A table of a library that nobody knows."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def in_chunks(frame):
    """A table of several chunks, some of them slices, one of them empty."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return pa.concat_tables([table.slice(0, 3), table.slice(3, 0), table.slice(3)])


def within_structs(frame):
    """The rows in the middle of an array of structs."""
    rows = pd.concat([frame[-1:], frame[-1:], frame, frame[:1]])
    return pa.Table.from_pandas(rows, preserve_index=False).to_struct_array().combine_chunks().slice(2, len(frame))


LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": in_chunks,
    "record batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False).slice(0),
    "DuckDB": of_duckdb,
    "Arrow": lambda frame: OnlyArrow(in_chunks(frame)),
}
STRUCTS = {"structs": within_structs}
TABLE = {"Table": lambda frame: Table([*frame.columns], [np.array(frame[name].tolist(), object) for name in frame])}
WITHOUT_NAMES = {
    "array": lambda frame: frame.to_numpy(dtype=object),
    "rows": lambda frame: frame.to_numpy(dtype=object).tolist(),
    "iterator": lambda frame: map(tuple, frame.to_numpy(dtype=object).tolist()),
}
DICTS = {"dicts": lambda frame: frame.to_dict("records")}
SHAPES = {"long": (60, 5), "wide": (12, 20), "square": (16, 16)}


def in_turn(kinds):
    """Return each kind of table with each shape; by day with one of them, in turn."""
    chosen = set(zip(kinds, itertools.cycle(SHAPES)))
    return by_day(itertools.product(kinds, SHAPES), chosen.__contains__)


def numbers(shape):
    """Numbers of several types."""
    rng = np.random.default_rng(3)
    columns = {f"x{i}": rng.normal(size=shape[0]).astype(np.float32 if i % 3 else np.float64) for i in range(shape[1])}
    columns["x1"] = rng.integers(-5, 5, shape[0]).astype(np.int8)
    columns["x2"] = rng.random(shape[0]) < 0.5
    return pd.DataFrame(columns)


def states(shape):
    """Categories that depend on each other: texts, whole numbers and truth values; some missing."""
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 2, shape[0])
    columns = {f"v{i}": np.where(rng.random(shape[0]) < 0.9, hidden, 1 - hidden) for i in range(shape[1])}
    columns["v1"] = np.array(["no", "yes"])[columns["v1"]]
    columns["v2"] = columns["v2"].astype(bool)
    texts = np.array(["é", "zz"], object)[columns["v3"]]
    texts[2] = None
    return pd.DataFrame({**columns, "v3": texts})


@pytest.fixture(scope="module")
def network():
    return functools.cache(lambda shape: PairwiseMRF(l1=0.5, max_states=99).fit(states(shape)))


@pytest.mark.parametrize(("kind", "shape"), in_turn([*LIBRARIES, *STRUCTS, *TABLE, *DICTS, *WITHOUT_NAMES]))
def test_networks_are_the_same_whatever_library_has_their_table(network, kind, shape):
    shape = SHAPES[shape]
    make = (LIBRARIES | STRUCTS | TABLE | DICTS | WITHOUT_NAMES)[kind]
    expected, frame = network(shape), states(shape)
    model = PairwiseMRF(l1=0.5, max_states=99).fit(make(frame))
    assert (model.n_features_in_, len(frame)) == (shape[1], shape[0])
    assert np.array_equal(model.edges_, expected.edges_)
    assert all(map(np.array_equal, model.weights_, expected.weights_))
    assert [each.tolist() for each in model.categories_] == [each.tolist() for each in expected.categories_]
    if kind in WITHOUT_NAMES:
        assert not hasattr(model, "feature_names_in_")
    else:
        assert model.feature_names_in_.tolist() == [*frame.columns]
    assert rows_of(expected.predict(make(frame))) == rows_of(expected.predict(frame))
    assert expected.score(make(frame)) == expected.score(frame)
    assert [str(each) for each in expected.explain(make(frame[:2]))] == [
        str(each) for each in expected.explain(frame[:2])
    ]


@pytest.mark.parametrize(("kind", "shape"), in_turn([*LIBRARIES, *TABLE]))
def test_classifiers_are_the_same_whatever_library_has_their_table(kind, shape):
    shape = SHAPES[shape]
    frame, make = numbers(shape), (LIBRARIES | TABLE)[kind]
    labels = pd.DataFrame({"y": np.where(frame["x0"] + frame["x1"] > 0, "plus", "minus"), "w": np.arange(shape[0])})
    expected = MaxEnt(l2=1.0).fit(frame, labels["y"], sample_weight=labels["w"])
    y, w = (labels[name] if kind in ("pandas", "Table") else make(labels[[name]]) for name in labels)
    model = MaxEnt(l2=1.0).fit(make(frame), y, sample_weight=w, X_dev=make(frame), y_dev=y)
    assert np.array_equal(model.coef_, expected.coef_)
    assert model.feature_names_in_.tolist() == [*frame.columns]
    assert model.classes_.tolist() == expected.classes_.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba(make(frame)) == pytest.approx(expected.predict_proba(frame), abs=1e-12)
    assert model.score(make(frame), y, w) == expected.score(frame, labels["y"], labels["w"])
    assert str(model.explain(make(frame[:2]))) == str(expected.explain(frame[:2]))
    swapped = frame[["x1", "x0", *frame.columns[2:]]]
    with pytest.raises(ValueError, match=r"(?s)order"):
        model.predict(make(swapped))
    with pytest.raises(ValueError, match="x1"):
        model.predict(make(frame.drop(columns="x1")))


@pytest.mark.parametrize("kind", LIBRARIES)
def test_fields_on_graphs_and_corpora_are_the_same_whatever_library_has_their_tables(kind):
    make = LIBRARIES[kind]
    frame, edges = numbers((20, 4)), pd.DataFrame({"a": np.arange(19), "b": np.arange(1, 20)})
    y = pd.DataFrame({"y": np.where(frame["x1"] > 0, "plus", "minus")})
    ties = pd.DataFrame({"t": np.linspace(0.0, 1.0, 19), "one": np.ones(19)})
    plain = frame.to_numpy(np.float64), edges.to_numpy(), ties.to_numpy()
    labels = y["y"] if kind == "pandas" else make(y)
    expected = GraphCRF(l2=1.0).fit([plain], [y["y"]])
    model = GraphCRF(l2=1.0).fit([tuple(map(make, (frame, edges, ties)))], [labels])
    assert np.array_equal(model.edge_weights_, expected.edge_weights_)
    corpora = [
        Corpus.from_matrix(X, [5, 15], each, names=names)
        for X, each, names in ((plain[0], y["y"], [*frame.columns]), (make(frame), labels, None))
    ]
    first, second = (ChainCRF(tolerance=0.1).fit(corpus) for corpus in corpora)
    assert dict(first.state_features_) == dict(second.state_features_)


SIZES = ["small", "medium", "large"]


def ordered_frames():
    """Sizes with their order declared, and another column, of every library that declares orders."""
    sizes = [SIZES[k % 3] for k in range(30)]
    others = ["abc"[(k % 3 + k // 15) % 3] for k in range(30)]
    frame = pd.DataFrame({"size": pd.Categorical(sizes, ["tiny", *SIZES], ordered=True), "other": others})
    yield "pandas", frame
    yield "pyarrow", in_chunks(frame)
    yield "pandas with Arrow's types", pa.Table.from_pandas(frame).to_pandas(types_mapper=pd.ArrowDtype)
    yield "polars", pl.DataFrame({"size": pl.Series(sizes, dtype=pl.Enum(["tiny", *SIZES])), "other": others})
    connection = duckdb.connect()
    connection.execute("create type sizes as enum ('tiny', 'small', 'medium', 'large')")
    connection.register("plain", pd.DataFrame({"size": sizes, "other": others}))
    yield "DuckDB", connection.sql("select size::sizes as size, other from plain")


@pytest.mark.parametrize("library", ["pandas", "pandas with Arrow's types", "pyarrow", "polars", "DuckDB"])
def test_the_declared_order_of_categories_is_the_order_of_states(library, tmp_path):
    frame = dict(ordered_frames())[library]
    model = PairwiseMRF(l1=0.1).fit(frame)
    # Values that are declared and never seen are not states.
    assert model.categories_[0].tolist() == SIZES
    assert model.categories_[1].tolist() == ["a", "b", "c"]
    assert not model.weights_[0][0].any()
    assert not model.weights_[0][:, 0].any()
    model.save(tmp_path / "sizes.model")
    loaded = PairwiseMRF.load(tmp_path / "sizes.model")
    assert loaded.categories_[0].tolist() == SIZES
    rows = [["large", None], [None, "b"]]
    assert rows_of(loaded.predict(rows)) == rows_of(model.predict(rows))
    sorted_model = PairwiseMRF(l1=0.1).fit([[str(value) for value in row] for row in rows_of(frame)])
    assert sorted_model.categories_[0].tolist() == sorted(SIZES)
    assert model.score(frame) == pytest.approx(sorted_model.score(rows_of(frame)), abs=0.1)


def test_a_parquet_file_keeps_the_declared_order_of_categories(tmp_path):
    table = dict(ordered_frames())["pyarrow"]
    pyarrow.parquet.write_table(pa.concat_tables([table, table]), tmp_path / "sizes.parquet", row_group_size=11)
    read = read_table(str(tmp_path / "sizes.parquet"))
    assert read.orders == {"size": ["tiny", *SIZES]}
    assert PairwiseMRF(l1=0.1).fit(read).categories_[0].tolist() == SIZES


def rows_of(frame):
    return [list(row) for row in zip(*(column.tolist() for column in Frame.of(frame).columns), strict=True)]


def test_orders_that_are_not_declared_do_not_count():
    frame = pd.DataFrame({"size": pd.Categorical(SIZES * 4, SIZES), "other": [*"abc"] * 4})
    for each in (frame, pl.DataFrame({"size": pl.Series(SIZES * 4, dtype=pl.Categorical), "other": [*"abc"] * 4})):
        assert PairwiseMRF(l1=0.1).fit(each).categories_[0].tolist() == sorted(SIZES)


def test_a_reference_state_is_the_first_and_the_others_keep_their_order():
    frame = dict(ordered_frames())["polars"]
    model = PairwiseMRF(l1=0.1, reference={"size": "medium", "other": "c"}).fit(frame)
    assert [each.tolist() for each in model.categories_] == [["medium", "small", "large"], ["c", "a", "b"]]
    plain = PairwiseMRF(l1=0.1).fit(frame)
    assert np.array_equal(model.edges_, plain.edges_)
    by_number = PairwiseMRF(l1=0.1, reference={0: 1}).fit([[0, 5], [1, 6], [1, 5], [0, 6]] * 5)
    assert by_number.categories_[0].tolist() == [1, 0]
    for reference, message in (
        ({"weight": "x"}, "reference: no column 'weight'; the columns are size, other"),
        ({"size": "tiny"}, "reference: column 'size' does not have the value 'tiny'; choose one of 'small', 'medium'"),
    ):
        with pytest.raises(DataError, match=message):
            PairwiseMRF(reference=reference).fit(frame)
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="column 0 has bins, whose reference is the lowest bin"):
        PairwiseMRF(bins=2, reference={0: "x"}).fit(rng.normal(size=(30, 2)))


def test_every_type_of_arrow_is_read_as_numpy_has_it_or_refused_by_name():
    day, time = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 12, 30)
    for values, kind, expected in (
        ([1, None, -3], pa.int16(), [1, None, -3]),
        ([2**63, 5, None], pa.uint64(), [2**63, 5, None]),
        ([0.5, -1.25, 65504.0], pa.float16(), [0.5, -1.25, 65504.0]),
        ([decimal.Decimal("1.10"), decimal.Decimal("-0.05"), None], pa.decimal128(9, 2), [1.1, -0.05, None]),
        ([True, None, False], pa.bool_(), [True, None, False]),
        (["a" * 20, None, "b"], pa.string_view(), ["a" * 20, None, "b"]),
        (["a", None, "é"], pa.large_string(), ["a", None, "é"]),
        ([7, None, 5], pa.dictionary(pa.int8(), pa.int64()), [7, None, 5]),
        ([None, None, None], pa.null(), [None, None, None]),
        ([day, None, day], pa.date32(), [day, None, day]),
        ([time, None, time], pa.timestamp("us"), [time, None, time]),
    ):
        array = pa.array(values, kind)
        for given in (array, pa.chunked_array([array.slice(0, 1), array.slice(1)])):
            column = as_column(given, "y").tolist()
            assert [None if value != value else value for value in column] == expected
            assert [type(value) for value in column if value is not None and value == value] == [
                type(value) for value in expected if value is not None
            ]
    table = pa.table({"id": [1, 2], "tags": [["a"], []], "raw": [b"a", b"b"]})
    for name, kind in (("tags", "lists"), ("raw", "bytes")):
        for each in (table, pl.from_arrow(table), of_duckdb(table)):
            with pytest.raises(
                DataError, match=rf"column '{name}': values of this type \({kind}\) cannot be read; leave"
            ):
                PairwiseMRF().fit(each.select("id", name) if isinstance(each, pl.DataFrame) else chosen(each, name))


def chosen(table, name):
    return table.select(["id", name]) if isinstance(table, pa.Table) else table.select("id", name)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"a": [1, 2], "b": [3, 4]}, "X has type dict, which is not a table; give a pandas or polars DataFrame"),
        ({(1, 2), (3, 4)}, "X has type set"),
        ("text", "X has type str"),
        (pl.LazyFrame({"a": [1], "b": [2]}), r"X has type polars LazyFrame.*call its method collect\(\) first"),
        (
            dask.dataframe.from_pandas(pd.DataFrame({"a": [1], "b": [2]}), 1),
            r"DataFrame.*call its method compute\(\) first",
        ),
        (pl.Series([1, 2]), "X is a single column"),
        (pa.array([1, 2]), "X is a single column"),
        (pd.Series([1, 2]), "X is a single column"),
        ([pl.Series([1, 2]), pl.Series([3, 4])], "row 0 of X has type polars Series, not a sequence of values"),
        (["ab", "cd"], "row 0 of X has type str"),
        ([[1, 2], [3]], "row 1 of X: expected 2 values, found 1"),
        (5, "X has type int"),
    ],
)
def test_what_is_not_a_table_is_refused_by_its_type(X, message):
    with pytest.raises(DataError, match=message):
        PairwiseMRF().fit(X)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, in_chunks])
def test_columns_that_are_missing_unknown_or_moved_are_named(library):
    a = [k % 2 for k in range(40)]
    frame = pd.DataFrame({"a": a, "b": [*a[1:], 1], "c": [k % 3 for k in range(40)]})
    network = PairwiseMRF(l1=1.0).fit(frame)
    for other, words in (
        (frame[["a"]], "columns 'b', 'c' of the model are missing; add them"),
        (frame[["a", "c"]], "column 'b' of the model is missing; add it"),
        (frame.assign(z=1), "the model has no column 'z'; leave out 'z'"),
        (frame.rename(columns={"b": "B"}), "missing, and the model has no column 'B'; add it and leave out 'B'"),
        (frame[["c", "b", "a"]], r"in another order than in the model; select \['a', 'b', 'c'\]"),
    ):
        with pytest.raises(DataError, match=words):
            network.predict(library(other))


KINDS_OF_RESULTS = {
    "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table, "record batch": pa.Table, "DuckDB": pa.Table,
    "Arrow": pa.Table,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS_OF_RESULTS)
def test_predict_fills_in_the_gaps_of_a_table_and_returns_one_of_the_same_library(kind):
    rng = np.random.default_rng(0)
    sick = rng.random(200) < 0.5
    full = pd.DataFrame({
        "sick": sick, "town": np.array(["é", "zz"], object)[rng.integers(0, 2, 200)], "visits": 2 + 3 * sick,
        "age": np.where(sick, 70.5, 30.0) + rng.integers(0, 5, 200),
    })  # fmt: skip
    full.loc[::7, "visits"] = 2
    model = PairwiseMRF(l1=1.0, bins=3, missing=["?"]).fit(full)
    gaps = full.head(20).astype({"sick": object})
    gaps.loc[[0, 3], "sick"], gaps.loc[2, "town"], gaps.loc[4, "age"] = None, "?", np.nan
    filled = model.predict(LIBRARIES[kind](gaps))
    assert type(filled) is KINDS_OF_RESULTS[kind]
    rows, before = rows_of(filled), gaps.to_numpy(dtype=object).tolist()
    states = rows_of(model.predict(before))
    for number, (row, old) in enumerate(zip(rows, before, strict=True)):
        for name, value, cell, state in zip(gaps, row, old, states[number], strict=True):
            is_gap = (name, number) in {("sick", 0), ("sick", 3), ("town", 2), ("age", 4)}
            # Names of bins are texts, so numbers beside them are texts where a column has one type.
            assert str(value) == str(state if is_gap else cell)
    assert [rows[0][0], rows[3][0]] == [sick[0], sick[3]]
    assert rows[4][3] in model.categories_[3].tolist()
    assert isinstance(rows[0][2], int)
    whole = LIBRARIES[kind](full.head(9))
    assert rows_of(model.predict(whole)) == full.head(9).to_numpy(dtype=object).tolist()


def test_filled_tables_of_pandas_keep_their_index_and_types():
    frame = pd.DataFrame({"a": [0, 1] * 30, "b": pd.Categorical(["x", "y"] * 30)}, index=range(100, 160))
    frame.loc[100:106, "b"] = "y"
    model = PairwiseMRF(l1=0.1).fit(frame)
    holed = frame.copy()
    holed.loc[150, "b"] = None
    filled = model.predict(holed)
    pd.testing.assert_frame_equal(filled, frame)
    assert holed["b"].isna().sum() == 1
    other = frame.head(4).assign(b=pd.Categorical([None, "y", "y", "y"]), a=[0, 0, 1, 1])
    other["a"] = pd.array([0, None, 1, 1], dtype="Int64")
    filled = model.predict(other)
    assert filled["a"].dtype == "Int64"
    assert filled["b"].tolist() == ["x", "y", "y", "y"]  # x is none of the categories of the column
    assert not filled.isna().any().any()


def test_two_columns_of_one_name_are_refused():
    columns = [[0, 1] * 20, [1, 0] * 20, [0, 1] * 20]
    for table in (
        pd.DataFrame(np.array(columns).T, columns=["a", "b", "a"]),
        pa.table(columns, names=["a", "b", "a"]),
        Table(["a", "b", "a"], [np.array(column, object) for column in columns]),
    ):
        with pytest.raises(DataError, match="two columns called 'a'; give every column its own name"):
            PairwiseMRF(l1=1.0).fit(table)


def test_sparse_and_masked_arrays_are_tables():
    dense = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 5)
    expected = PairwiseMRF(l1=0.1).fit(dense)
    assert np.array_equal(PairwiseMRF(l1=0.1).fit(scipy.sparse.csr_array(dense)).edges_, expected.edges_)
    masked = np.ma.array(dense, mask=dense < 0)
    masked[0, 1] = np.ma.masked
    assert Frame.of(masked).columns[1].tolist() == [None, *dense[1:, 1]]


def test_columns_that_are_not_numbers_are_refused_by_a_classifier_with_their_name():
    for frame in (
        pl.DataFrame({"x": [1.0, 2.0], "city": ["Rome", "Oslo"]}),
        pa.table({"x": [1, 2], "city": ["Rome", "b"]}),
    ):
        with pytest.raises(DataError, match="column 'city' has values that are not numbers, such as 'Rome'; encode it"):
            MaxEnt().fit(frame, [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        MaxEnt().fit(pl.DataFrame({"x": [1, None]}), [0, 1])


def test_errors_of_a_query_are_told():
    relation = duckdb.sql("select cast(x as integer) as a, 1 as b from (values ('1'), ('x')) t(x)")
    with pytest.raises(Exception, match="Could not convert string 'x'"):
        PairwiseMRF().fit(relation)


def test_relations_whose_query_calls_python_are_read():
    connection = duckdb.connect()
    connection.create_function("twice", lambda x: 2 * x, ["BIGINT"], "BIGINT")
    relation = connection.sql("select twice(i) as a, i % 2 as b from range(6) t(i)")
    assert Frame.of(relation).columns[0].tolist() == [0, 2, 4, 6, 8, 10]


def test_samples_with_attributes_may_be_columns_of_lists():
    X, y = [["good", "fine"], ["bad"], ["good"]], ["+", "-", "+"]
    expected = MaxEnt(l2=0.1).fit(X, y)
    tables = [pl.DataFrame({"x": X}), pa.table({"x": X}), pd.DataFrame({"x": X}), duckdb.from_arrow(pa.table({"x": X}))]
    for column in (pl.Series(X), pd.Series(X), pa.array(X), *tables):
        model = MaxEnt(l2=0.1).fit(column, pl.Series(y))
        assert np.array_equal(model.coef_, expected.coef_)
        assert model.predict(column).tolist() == y
        assert str(model.explain(column)) == str(expected.explain(X))
        assert as_lists(column, "X") == X


def test_texts_are_refused_by_a_classifier_of_attributes_in_one_line_wherever_they_are():
    texts = ["once " * 500, "upon", "a time"]
    table = pa.table({"x": texts})
    for X in (texts, pl.Series(texts), pa.array(texts), pl.DataFrame(table), table, duckdb.from_arrow(table)):
        with pytest.raises(DataError, match="samples are strings; give lists of attributes, or use TextClassifier"):
            MaxEnt().fit(X, [0, 1, 1])
    with pytest.raises(DataError, match="column 'x' has values that are not numbers, such as 'once ") as error:
        MaxEnt().fit(table.append_column("n", [[1, 2, 3]]), [0, 1, 1])
    assert len(str(error.value)) < 250


def test_weights_of_decimals_are_numbers_and_tables_of_weights_are_refused_by_the_argument():
    X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    table = pa.table({"w": pa.array([decimal.Decimal("0.5"), decimal.Decimal("2.25")]), "v": [1.0, 2.0]})
    expected = ChainCRF(template="U:%x[0,0]").fit(X, y, sample_weight=[0.5, 2.25])
    for weights in (table["w"], table.select(["w"]), pl.DataFrame(table)["w"], duckdb.from_arrow(table).project("w")):
        crf = ChainCRF(template="U:%x[0,0]").fit(X, y, sample_weight=weights)
        assert crf.log_probability(X, y).tolist() == expected.log_probability(X, y).tolist()
    message = "sample_weight: expected one column, found a table of 2 columns; select one"
    for estimator, data in ((ChainCRF(), (X, y)), (MaxEnt(), (X, [0, 1]))):
        with pytest.raises(DataError, match=message):
            estimator.fit(*data, sample_weight=table)


@pytest.mark.parametrize("kind", LIBRARIES)
def test_chunks_of_a_cluster_may_be_tables(kind):
    frame, make = numbers(SHAPES["long"]), LIBRARIES[kind]
    y, w = pd.DataFrame({"y": [0, 1] * 30}), pd.DataFrame({"w": np.arange(60)})
    columns = (y["y"], w["w"]) if kind == "pandas" else (make(y), make(w))
    chunk = ChunkOfSamples.of("chunk 0", make(frame), *columns)
    assert np.array_equal(chunk.X.toarray(), frame.to_numpy(np.float64))
    assert (chunk.y.tolist(), chunk.weights.tolist()) == (y["y"].tolist(), w["w"].tolist())


def test_the_memory_of_other_libraries_is_released_also_after_an_error():
    gc.collect()
    before = pa.total_allocated_bytes()
    table = in_chunks(states(SHAPES["long"]))
    assert pa.total_allocated_bytes() > before
    Frame.of(table)
    as_lists(table["v1"], "X")
    nested = table.append_column("nested", pa.array([[1]] * len(table)))
    with pytest.raises(DataError, match="nested"):
        Frame.of(nested)
    crf = ChainCRF(template="U:%x[0,0]").fit([["a", "b"]], [["X", "Y"]])
    sentences = pa.array([["a", "b"]] * 9)
    labels = tag_arrow(crf.model_, sentences, "str")
    with pytest.raises(DataError, match="a token is null"):
        tag_arrow(crf.model_, pa.chunked_array([sentences, [[None]]]), "str")
    # Nobody imports the first export; the others share their memory.
    labels.__arrow_c_array__()
    first, second = pa.array(labels), pa.array(labels)
    del labels
    assert first.equals(second)
    assert first.to_pylist() == [["X", "Y"]] * 9
    del table, nested, sentences
    gc.collect()
    assert pa.total_allocated_bytes() == before
