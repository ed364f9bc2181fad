"""Tables with damaged, absurd and odd cells: a typed error that names file, column and row, or a network after all."""

from __future__ import annotations

import csv
import decimal
import math
import random
import struct
import warnings

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import DataError, LogLinearError, PairwiseMRF
from loglinear.data.table import read_table
from oracles.command_line import run_command


def of_bytes(values: list[bytes]) -> pa.Array:
    """A column of texts, whose bytes need not be UTF-8."""
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value))
    buffers = [None, pa.py_buffer(struct.pack(f"<{len(ends)}i", *ends)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def of_numbers(kind: pa.DataType, *numbers: int) -> pa.Array:
    return pa.array(numbers, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


TENSOR = pa.fixed_shape_tensor(pa.int32(), [1])
REFUSED = {
    "damaged text": (of_bytes([b"a", b"b", b"\xff\xfe"]), ["column 'x'", "row 2", "string", "0xff", "--ignore x"]),
    "absurd duration": (of_numbers(pa.duration("s"), 1, 2**62, 3), ["column 'x'", "row 1", "duration[s]"]),
    "absurd timestamp": (of_numbers(pa.timestamp("ms"), 1, 2, 2**62), ["column 'x'", "row 2", "timestamp[ms]"]),
    "another planet's time": (of_numbers(pa.timestamp("ms", tz="Mars/X"), 1, 2, 3), ["column 'x'", "row 0", "Mars/X"]),
    "absurd day": (of_numbers(pa.date32(), 1, 2**31 - 1, 3), ["column 'x'", "row 1", "date32"]),
    "structs": (pa.array([{"a": 1}] * 3), ["column 'x'", "struct", "--ignore x"]),
    "maps": (pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())), ["column 'x'", "map", "--ignore x"]),
    "tensors": (pa.ExtensionArray.from_storage(TENSOR, pa.array([[1]] * 3, pa.list_(pa.int32(), 1))), ["column 'x'"]),
}
TAKEN = {
    "decimals": (
        pa.array([decimal.Decimal("1.5"), decimal.Decimal("9" * 30), None], pa.decimal256(60, 1)),
        ["1.5", "9" * 30 + ".0", None],
    ),
    "numbers of 64 bits": (pa.array([2**64 - 1, 2**63, 1], pa.uint64()), [2**64 - 1, 2**63, 1]),
    "NaN and infinity": (pa.array([math.nan, math.inf, -math.inf]), [None, math.inf, -math.inf]),
    "nothing": (pa.nulls(3), [None, None, None]),
    "bytes": (pa.array([b"\xff", b"a", None]), ["b'\\xff'", "b'a'", None]),
    "null characters": (pa.array(["a\0", "a", "\0"]), ["a\0", "a", "\0"]),
    "views": (pa.array(["a", "b", None], pa.string_view()), ["a", "b", None]),
}


def parquet(folder, column: pa.Array, copies: int = 1) -> str:
    """A file with this column and another one, several times one below the other."""
    table = pa.table({"x": column, "y": ["a", "b", "a"]})
    pyarrow.parquet.write_table(pa.concat_tables([table] * copies), folder / "t.parquet")
    return str(folder / "t.parquet")


@pytest.mark.parametrize("name", REFUSED)
def test_columns_that_cannot_be_read_are_named(tmp_path, name):
    column, words = REFUSED[name]
    path = parquet(tmp_path, column)
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}, ")
    for word in words:
        assert word in str(caught.value)
    assert read_table(path, ignore=["x"]).names == ["y"]


@pytest.mark.parametrize("name", TAKEN)
def test_columns_of_odd_values_are_categories(tmp_path, name):
    column, values = TAKEN[name]
    assert read_table(parquet(tmp_path, column)).columns[0].tolist() == values


def through_a_network(path: str, model: str, **options) -> None:
    """Learn a network of a table, save it, open it and ask it about the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        table = read_table(path).without_empty_samples()
        PairwiseMRF(l1=0.5, **options).fit(table).save(model)
    PairwiseMRF.load(model).predict(table)


@pytest.mark.parametrize("name", [name for name in TAKEN if name != "nothing"])
@pytest.mark.parametrize("bins", [None, 2])
def test_networks_of_odd_values_come_back_from_their_files(tmp_path, name, bins):
    through_a_network(parquet(tmp_path, TAKEN[name][0], copies=8), str(tmp_path / "m"), bins=bins)


@pytest.mark.parametrize("name", ["damaged text", "absurd duration", "structs"])
def test_commands_refuse_such_tables(tmp_path, name):
    path = parquet(tmp_path, REFUSED[name][0])
    (tmp_path / "good.csv").write_text("x,y\n" + "a,b\nc,d\n" * 20)
    assert not run_command("structure", tmp_path / "good.csv", "--l1", "1", "-m", tmp_path / "m", "-q").returncode
    for command in (["structure", path], ["evaluate", "-m", tmp_path / "m", path], ["tag", "-m", tmp_path / "m", path]):
        done = run_command(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1].startswith(f"loglinear: error: {path}, column 'x'")


ODD = (
    *("", "NA", "NAN", "-nan", "Nan", "inf", "-Infinity", "1e999", "9" * 400, "-" + "9" * 18, "9" * 18, "0", "1", "-0"),
    *("2.5", "007", "1_000", "٣", "a\0", "a", "\0", "a,b", '"', "\n", "É", "\ufeff", "true", " 1 ", "x" * 5000),
)


@pytest.mark.thread_unsafe
@given(cells=st.lists(st.sampled_from(ODD), min_size=2, max_size=6), bins=st.sampled_from([None, 2]))
@examples(200)
def test_cells_of_any_kind_are_refused_or_make_a_network(tmp_path_factory, cells, bins):
    folder = tmp_path_factory.getbasetemp()
    path = str(folder / "t.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["x", "y"], *([cell, "ab"[row % 3 % 2]] for row, cell in enumerate(cells * 6))])
    try:
        through_a_network(path, str(folder / "m"), bins=bins)
    except LogLinearError as error:
        assert len(str(error)) < 10_000  # noqa: PT017


def test_pages_that_are_damaged_are_refused_with_the_name_of_the_file(tmp_path):
    path = parquet(tmp_path, pa.array([1, 2, 3]))
    with open(path, "r+b") as file:
        file.seek(4)
        file.write(b"\xff" * 12)
    with pytest.raises(DataError, match="not a Parquet file, or damaged"):
        read_table(path)
    with pytest.raises(FileNotFoundError):
        read_table(f"{path}.gone.parquet")


@pytest.mark.thread_unsafe
@given(seed=st.integers(0, 2**32))
@examples(500)
def test_a_damaged_parquet_file_is_refused_or_read(tmp_path_factory, seed):
    folder, chance = tmp_path_factory.getbasetemp(), random.Random(seed)
    path = parquet(folder, of_numbers(pa.timestamp("ms"), 1, 2, 3), copies=5)
    with open(path, "r+b") as file:
        content = bytearray(file.read())
        for _ in range(chance.choice([1, 1, 4])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        file.seek(0)
        file.write(content)
        file.truncate(chance.choice([len(content), chance.randrange(len(content))]))
    try:
        read_table(path)
    except DataError as error:
        assert str(error).startswith(path)  # noqa: PT017
