"""Lines of files, whole and up to a size."""

from __future__ import annotations

import io
import os

import pytest

from loglinear.data.column_layout import ColumnLayout
from loglinear.data.formats import FORMATS
from loglinear.data.lines import arriving_lines, read_lines, sentence_lines
from loglinear.data.sentence_size import set_max_sentence
from loglinear.errors import DataError
from oracles.packing import PACKED

MIB = 1 << 20


@pytest.fixture
def limit():
    set_max_sentence(1)
    yield
    set_max_sentence()


@pytest.mark.parametrize("compress", [bytes, *PACKED.values()])
@pytest.mark.parametrize(
    "text", [b"", b"a", b"a\n", b"a\r\nb\rc\n\n", b"x" * 3 * MIB + b"\n" + b"y\n" * (MIB // 8) + b"z", b"\n" * 9]
)
def test_lines_are_those_of_a_binary_file(tmp_path, text, compress):
    path = tmp_path / "text"
    path.write_bytes(compress(text))
    assert list(read_lines(str(path))) == list(io.BytesIO(text))


@pytest.mark.parametrize("compress", [bytes, *PACKED.values()])
def test_a_line_that_is_too_long_is_refused(tmp_path, limit, compress):
    path = tmp_path / "text"
    path.write_bytes(compress(b"a\nb\n" + b"x" * 2 * MIB))
    lines = read_lines(str(path))
    assert [next(lines), next(lines)] == [b"a\n", b"b\n"]
    with pytest.raises(DataError, match=r"text, line 3: the text that begins here has more than 1 MiB without an end"):
        next(lines)


def test_a_sentence_that_is_too_long_is_refused(tmp_path, limit):
    path = tmp_path / "text"
    path.write_bytes(b"a A\n\n" + b"word A\n" * (MIB // 4))
    sentences = sentence_lines(str(path), FORMATS["columns"], ColumnLayout())
    assert next(sentences) == [(1, "a A")]
    with pytest.raises(DataError, match=r"text, line 3: the text that begins here has more than 1 MiB without an end"):
        next(sentences)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_line_that_arrives_without_end_is_refused(tmp_path, limit):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" + b"x" * 4 * MIB)
    with pytest.raises(DataError, match=r"text, line 2: the text that begins here has more than 1 MiB without an end"):
        list(arriving_lines(str(path)))
