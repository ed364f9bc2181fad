"""Tables of categories: what is read, what counts as missing, what is refused and how."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import math
import sys
from collections import Counter

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from loglinear.data import table as module
from loglinear.data.table import MISSING, join_names, read_table, split_names
from loglinear.errors import DataError, DataWarning, MissingPackageError, OptionError

PLAIN = "colour,size\nred,S\ngreen,M\nred,S\n"
CONTENT = [("colour", ["red", "green", "red"]), ("size", ["S", "M", "S"])]


@pytest.fixture
def read(tmp_path):
    """Write a file and read it."""

    def write_and_read(content, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(str(path), **options)

    return write_and_read


def content(table):
    return [(name, column.tolist()) for name, column in zip(table.names, table.columns, strict=True)]


WAYS = {
    "t.csv": PLAIN.encode(),
    "t": PLAIN.encode(),
    "BOM.csv": b"\xef\xbb\xbf" + PLAIN.encode(),
    "windows.csv": PLAIN.replace("\n", "\r\n").encode(),
    "no-newline-at-the-end.csv": PLAIN.removesuffix("\n").encode(),
    "blank-lines.csv": b"\n\n" + PLAIN.replace("\n", "\n\n").encode(),
    "t.csv.gz": gzip.compress(PLAIN.encode()),
    "xz-by-its-first-bytes.csv": lzma.compress(PLAIN.encode()),
    "t.tsv": PLAIN.replace(",", "\t").encode(),
    "t.tsv.gz": gzip.compress(PLAIN.replace(",", "\t").encode()),
    "tabs-in-a.csv": PLAIN.replace(",", "\t").encode(),
    "semicolons.csv": PLAIN.replace(",", ";").encode(),
    "blanks.csv": PLAIN.replace(",", " ,\t").encode(),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_table_is_the_same_however_it_is_written(read, name):
    assert content(read(WAYS[name], name)) == CONTENT


def test_standard_input_is_a_file_like_others(monkeypatch):
    for made in (PLAIN.encode(), gzip.compress(PLAIN.encode())):
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(made)))
        monkeypatch.setattr(sys, "stdin", stream)
        assert content(read_table("-")) == CONTENT


def test_a_delimiter_can_be_named(read):
    assert content(read(PLAIN.replace(",", "|"), delimiter="|")) == CONTENT
    for tab in ("\t", "\\t", "tab"):
        assert content(read(PLAIN.replace(",", "\t"), delimiter=tab)) == CONTENT
    # In a .tsv file commas are no delimiters, even if there are more of them.
    assert read("a,b,c\td\n1\t2\n2\t1\n", "t.tsv").names == ["a,b,c", "d"]


def test_without_a_header_variables_are_numbered(read):
    table = read("0,1\n1,0\n", header=False)
    assert content(table) == [("x1", [0, 1]), ("x2", [1, 0])]


def test_columns_can_be_chosen_and_left_out(read):
    made = "a,b,c\n1,2,3\n2,1,4\n"
    assert read(made, columns=["c", "a"]).names == ["c", "a"]
    assert read(made, ignore=["b"]).names == ["a", "c"]
    # What is left out may hold anything.
    assert read("id,a,b\n" + "".join(f"{k},{k % 2},{k % 3}\n" for k in range(99)), ignore=["id"]).n_samples == 99


def test_an_index_without_a_name_is_left_out_with_a_warning(read):
    with pytest.warns(DataWarning, match="first column, which has no name.*index=False"):
        table = read(",a,b\n0,2,x\n1,2,y\n")
    assert content(table) == [("a", [2, 2]), ("b", ["x", "y"])]


def test_the_texts_of_an_index_are_left_out_with_it(read):
    content = ",a,b\n0, x,NA\n1,y , 02\n"
    with pytest.warns(DataWarning, match="first column"):
        table = read(content, with_texts=True)
    assert (table.names, table.texts) == (["a", "b"], [[" x", "y "], ["NA", " 02"]])


def test_commands_that_read_a_model_keep_an_index_as_it_is(read):
    text = ",a,b\n0,2,x\n0,2,y\n"
    assert read(text, flags=False).text() == text


def test_columns_are_left_out_by_number_unless_one_has_that_name(read):
    assert [name for name, _ in content(read("a,,c\n1,2,3\n", ignore=["2"]))] == ["a", "c"]
    assert [name for name, _ in content(read(",b,c\n1,2,3\n1,2,3\n", ignore=["1"]))] == ["b", "c"]
    assert [name for name, _ in content(read("a,1,c\n1,2,3\n", ignore=["1"]))] == ["a", "c"]


def test_further_marks_of_missing_values_can_be_named(read, tmp_path):
    found = content(read("a,b\n1,x\n?,-\n-999,y\n", missing=["?", "-", -999]))
    assert found == [("a", [1, None, None]), ("b", ["x", None, "y"])]
    table = pyarrow.table({"a": [1, -999], "b": ["x", "?"]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    found = read_table(str(tmp_path / "t.parquet"), missing=["?", "-999"])
    assert content(found) == [("a", [1, None]), ("b", ["x", None])]


def test_a_mark_is_a_number_in_any_form_such_as_pandas_writes_beside_gaps(read):
    found = content(read("a,b\n1.0,x\n999.0,y\n,999\n-999.0,z\n", missing=[999, "-999"]))
    assert found == [("a", ["1.0", None, None, None]), ("b", ["x", "y", None, "z"])]


def test_missing_values_are_those_of_the_docstring(read):
    spellings = sorted(MISSING)
    table = read("a,b\nx,0\ny,1\n" + "".join(f"{spelling} , 1\n" for spelling in spellings))
    assert table.columns[0].tolist() == ["x", "y", *[None] * len(spellings)]
    assert table.n_missing == len(spellings)
    assert all(spelling in read_table.__doc__ for spelling in MISSING)


def test_whole_numbers_are_numbers_and_codes_are_not(read):
    table = read("plain,code,signed,mixed\n1,01,-1,1\n10,1,0,x\n2,1,,2\n")
    assert [column.tolist() for column in table.columns] == [
        [1, 10, 2], ["01", "1", "1"], [-1, 0, None], ["1", "x", "2"],
    ]  # fmt: skip


def test_the_matrix_has_a_row_a_sample(read):
    table = read(PLAIN)
    assert table.matrix().tolist() == [["red", "S"], ["green", "M"], ["red", "S"]]
    assert (table.n_samples, table.n_missing, table.matrix().dtype) == (3, 0, object)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1, max_size=6)
words = cells.map(str.strip).filter(lambda cell: cell not in MISSING and not cell.strip("-0123456789") == "")


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(words, min_size=2, max_size=6, unique=True), st.sampled_from(",;\t"), st.randoms())
def test_what_the_csv_module_writes_is_read(tmp_path, values, delimiter, random):
    """Quotes, delimiters, line ends and any script within cells."""
    rows = [(value, random.choice(values)) for value in values] + [(values[0], values[1]), (values[1], values[0])]
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([("a", "b"), *rows])
    path = tmp_path / "t.csv"
    path.write_text(file.getvalue(), encoding="utf-8", newline="")
    assert read_table(str(path), delimiter=delimiter).matrix().tolist() == [list(row) for row in rows]


BAD = [
    ("too many fields", "a,b\n1,2\n1,2,3\n", {}, ["line 3", "expected 2 fields, found 3", "quote"]),
    ("names of rows", "a,b\nr1,1,2\nr2,1,3\n", {}, ["line 2", "found 3", "as R writes it, name it in the header, too"]),
    ("blanks", '"a" "b"\n"1" 2\n', {}, ["line 1", "; try --delimiter ' ', which gives 2 columns"]),
    ("CR alone", "a,b\r1,2\r", {}, ["lines end with CR alone, as on old Macs; convert it: tr"]),
    ("too few fields", "a,b\n1,2\n\n1\n", {}, ["line 4", "expected 2 fields, found 1; leave cells empty, not out"]),
    ("after a quoted line end", 'a,b\n"1\n1",2\n1\n', {}, ["line 4"]),
    ("open quote", 'a,b\n1,"2\n', {}, ["line 2", "quote"]),
    ("text behind a quote", 'a,b\n"1"2,3\n', {}, ["line 2", "quote"]),
    ("invalid UTF-8", b"a,b\n1,2\n\xe9,2\n", {}, ["line 3", "UTF-8", "iconv"]),
    ("UTF-16", "a,b\n1,2\n".encode("utf-16"), {}, ["UTF-16", "iconv"]),
    ("empty file", "", {}, ["no rows", "empty"]),
    ("blank lines", "\n \n", {}, ["no rows"]),
    ("header alone", "a,b\n", {}, ["no rows", "--no-header"]),
    ("same name twice", "a,b,a\n1,2,3\n", {}, ["line 1", "'a'", "--no-header"]),
    ("no name", "a,,b\n1,2,3\n", {}, ["line 1", "column 2 has no name", "--ignore 2", "--no-header"]),
    ("no index", ",a,b\n1,2,3\n1,3,4\n", {}, ["line 1", "column 1 has no name", "--ignore 1"]),
    ("an index with a gap", ",a,b\n1,2,3\n,3,4\n", {}, ["line 1", "column 1 has no name"]),
    ("one column", "a:b\n1:2\n", {}, ["one column", "a comma", "--delimiter :, which gives 2"]),
    ("a title", "Survey\na,b\n1,2\n", {}, ["line 1", "one field, but line 2 has 2", "title above the header"]),
    ("a title and commas", "Survey,,\na,b,c\n1,2,3\n", {}, ["line 1", "only the first field", "title above"]),
    ("blanks between columns", "a b c\n1 2 3\n", {}, ["one column", "--delimiter ' ', which gives 3"]),
    ("several blanks", "a   b\n1   2\n", {}, ["one column", "separate the columns by commas or tabs"]),
    ("another delimiter", "a|b\n1|2\n", {"delimiter": "tab"}, ["(separator: a tab)", "--delimiter '|', which gives 2"]),
    ("commas after all", "a,b\n1,2\n", {"delimiter": ";"}, ["(separator: a semicolon)", "--delimiter ,"]),
    ("a single column", "a\n1\n", {}, ["one column", "commas, tabs, semicolons or vertical bars"]),
    ("a model's command", "a:b\n1:2\n", {"flags": False}, ["one column", "give a table with a comma, tab"]),
    ("damaged gzip", b"\x1f\x8b\x08\x00rubbish", {}, ["damaged or cut short"]),
    ("gzip cut short", gzip.compress(PLAIN.encode())[:-9], {}, ["damaged or cut short"]),
    ("damaged inside", gzip.compress(b"a,b\n" * 99)[:12] + b"\xff" * 20, {}, ["damaged or cut short"]),
    ("huge cell", 'a,b\n1,"' + "x" * 200_000 + '"\n', {}, ["line 2", "limit"]),
]  # fmt: skip


@pytest.mark.parametrize(("made", "options", "words"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_bad_files_are_refused_with_place_and_remedy(read, tmp_path, made, options, words):
    with pytest.raises(DataError) as caught:
        read(made, **options)
    assert str(caught.value).startswith(str(tmp_path / "t.csv"))
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": ["weight"]}, ["no column 'weight'", "colour, size"]),
        ({"ignore": ["weight"]}, ["no column 'weight'"]),
        ({"ignore": ["colour", "size"]}, ["no column is left"]),
        ({"columns": ["size", "size"]}, ["twice"]),
        ({"delimiter": "ab"}, ["'ab'", "one character"]),
        ({"delimiter": '"'}, ["one character"]),
    ],
)
def test_bad_options(read, options, words):
    with pytest.raises(OptionError) as caught:
        read(PLAIN, **options)
    for word in words:
        assert word in str(caught.value)


def test_names_are_joined_so_that_a_shell_and_the_command_line_read_them():
    names = ["plain", "with blanks", "a, b", 'the "best"', "it's", "$HOME", ""]
    assert split_names(join_names(names)) == names
    assert split_names("id, date") == ["id", "date"]


def test_whether_a_header_is_there_can_be_left_to_the_names(read):
    numbered = {"header": ["x1", "x2"]}
    for made in ("x1,x2\n0,1\n1,0\n", "0,1\n1,0\n"):
        assert content(read(made, **numbered)) == [("x1", [0, 1]), ("x2", [1, 0])]
    assert read(PLAIN, header=["size"]).n_samples == 3


def test_a_table_is_written_as_it_was_read(read):
    for made in (PLAIN, "a;b\n1;2\n3;4\n", 'a,"b, c"\n"x ""y""",\n,z\n', "a\tb\n007\t1.50\n8\t2.0\n"):
        assert read(made).text() == made
    assert read("0,1\n1,0\n", header=False).text() == "0,1\n1,0\n"
    assert read("a|b\r\n1|2\r\n3|4\r\n").text() == "a|b\r\n1|2\r\n3|4\r\n"


@pytest.mark.parametrize("distinct", [False, True])
def test_each_sample_has_the_number_of_its_first_line(read, distinct):
    table = read('\na,b\n1,2\n\n"3\n4",5\n1,2\n,\n6,7\n', distinct=distinct)
    assert table.lines.tolist() == ([3, 6, 8, 9] if distinct else [3, 6, 7, 8, 9])
    assert table.without_empty_samples().lines.tolist() == ([3, 6, 9] if distinct else [3, 6, 7, 9])
    assert read("1,2\n3,4\n", header=False).lines.tolist() == [1, 2]
    assert [read("a,b\n1,2\n3,4\n").lines[1], len(read("a,b\n" + "1,2\n" * 5000).lines)] == [3, 5000]


def test_a_missing_file_is_the_system_s_error(tmp_path):
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(FileNotFoundError):
            read_table(str(tmp_path / name))


def parquet(tmp_path, columns):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return str(path)


def test_parquet_holds_categories_of_every_kind(tmp_path):
    path = parquet(
        tmp_path,
        {
            "text": pyarrow.array(["a", None, "b"]).dictionary_encode(),
            "whole": pyarrow.array([1, 2, None], pyarrow.int8()),
            "real": [0.5, math.nan, 1.5],
            "truth": [True, False, None],
            "day": pyarrow.array([0, 1, 1], pyarrow.date32()),
        },
    )
    table = read_table(path)
    assert content(table) == [
        ("text", ["a", None, "b"]), ("whole", [1, 2, None]), ("real", [0.5, None, 1.5]), ("truth", [True, False, None]),
        ("day", ["1970-01-01", "1970-01-02", "1970-01-02"]),
    ]  # fmt: skip
    assert read_table(path, columns=["truth", "text"]).names == ["truth", "text"]
    assert read_table(path, ignore=["truth", "text"]).names == ["whole", "real", "day"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [[1], [2]], "b": [1, 2]}, ["column 'a'", "list", "--ignore a"]),
        ({"a, b's": [[1], [2]]}, ["list", """--ignore '"a, b'"'"'s"'"""]),
        ({"a": pyarrow.array([], pyarrow.int64())}, ["no rows"]),
    ],
)
def test_bad_parquet(tmp_path, columns, words):
    with pytest.raises(DataError) as caught:
        read_table(parquet(tmp_path, columns))
    for word in words:
        assert word in str(caught.value)


def test_a_damaged_parquet_file_is_refused(read):
    with pytest.raises(DataError, match="not a Parquet file"):
        read(b"PAR1 rubbish PAR1", "t.parquet")


def test_without_pyarrow_it_says_what_to_install(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"t.parquet: a Parquet file needs pyarrow; .*pip install pyarrow"):
        read(b"", "t.parquet")


def repeated(path, n=5000, seed=0):
    """A file whose samples repeat each other, some of them empty."""
    rng = np.random.default_rng(seed)
    rows = [[str(k) if k else "" for k in row] for row in rng.integers(3, size=(n, 3)).tolist()]
    path.write_text("a,b,c\n" + "".join(",".join(row) + "\n" for row in rows))
    return [tuple(int(cell) if cell else None for cell in row) for row in rows]


def test_samples_that_repeat_others_are_counted(tmp_path):
    rows = repeated(tmp_path / "t.csv")
    table, whole = (read_table(str(tmp_path / "t.csv"), distinct=each) for each in (True, False))
    found = dict(zip(zip(*table.columns, strict=True), table.counts.tolist(), strict=True))
    assert found == Counter(rows)
    assert whole.counts is None
    assert (
        (table.n_samples, table.n_missing)
        == (whole.n_samples, whole.n_missing)
        == (5000, sum(r.count(None) for r in rows))
    )
    filled = table.without_empty_samples()
    assert len(filled.columns[0]) == len(table.columns[0]) - 1
    assert filled.n_samples == whole.without_empty_samples().n_samples == 5000 - Counter(rows)[None, None, None]


def test_samples_that_hardly_repeat_each_other_are_no_longer_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_TRIED", 100)
    monkeypatch.setattr(module, "_LINES_AT_ONCE", 50)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{k},x\n" for k in range(90)) + "0,x\n" * 60 + "0,x\n" * 100)
    table = read_table(str(path), distinct=True)
    # The first 100 lines hold 90 samples; those behind them stand for themselves.
    assert table.counts.tolist() == [11] + [1] * 89 + [1] * 150
    assert table.n_samples == 250
    monkeypatch.setattr(module, "_WIDEST", 1)
    assert read_table(str(path), distinct=True).counts is None
