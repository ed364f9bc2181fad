"""Laws of other labels in files: the labels change, and no other byte."""

from __future__ import annotations

import gzip
import json

import pytest

from loglinear import DataError
from loglinear.data.column_layout import ColumnLayout
from loglinear.data.relabelling import Change, relabelled

PLAIN = ColumnLayout()


def changed(path, format, layout, *changes):
    return b"".join(relabelled(str(path), format, layout, [Change(*change) for change in changes]))


@pytest.mark.parametrize(
    ("format", "layout", "line", "expected"),
    [
        ("columns", PLAIN, "dog NN  B-NP", "dog NN  I-NP"),
        ("columns", PLAIN, "dog\tB-NP  ", "dog\tI-NP  "),
        ("columns", PLAIN, " a b\tB-NP", " a b\tI-NP"),
        ("columns", PLAIN, "dog\tB-NP x\tB-NP", "dog\tB-NP x\tI-NP"),
        ("columns", ColumnLayout("tab"), "a b\t\tB-NP", "a b\t\tI-NP"),
        ("columns", ColumnLayout("tab", 0), "B-NP\tB-NP\tB-NP", "I-NP\tB-NP\tB-NP"),
        ("columns", ColumnLayout("blank", 1), "x B-NP y", "x I-NP y"),
        ("crfsuite", PLAIN, "B-NP\tw=a\tB-NP", "I-NP\tw=a\tB-NP"),
        ("conllu", PLAIN, "1\tB-NP\t_\tB-NP\tB-NP\t_\t0\t_\t_\t_", "1\tB-NP\t_\tI-NP\tB-NP\t_\t0\t_\t_\t_"),
        ("conllu:xpos", PLAIN, "1\ta\t_\tB-NP\tB-NP\t_\t0\t_\t_\t_", "1\ta\t_\tB-NP\tI-NP\t_\t0\t_\t_\t_"),
        ("svmlight", PLAIN, "B-NP 1:2 3:4", "I-NP 1:2 3:4"),
        ("svmlight", PLAIN, "B-NP\t1:2", "I-NP\t1:2"),
        ("text", PLAIN, "B-NP\tA text, B-NP", "I-NP\tA text, B-NP"),
    ],
    ids=str,
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_label_changes_and_no_other_byte(tmp_path, format, layout, line, expected, end, mark):
    path = tmp_path / "f"
    path.write_bytes(f"{mark}{line}{end}".encode())
    assert changed(path, format, layout, (1, 0, "B-NP", "I-NP")) == f"{mark}{expected}{end}".encode()


def test_other_lines_stay_as_they_are(tmp_path):
    path = tmp_path / "f.gz"
    lines = [b"\xff \xfa O\r\n", b"\n", b"b O\n", b"  \t\n", b"c O"]
    path.write_bytes(gzip.compress(b"".join(lines)))
    assert changed(path, "columns", PLAIN, (5, 0, "O", "B"), (3, 0, "O", "B")) == b"".join(
        [*lines[:2], b"b B\n", lines[3], b"c B"]
    )


def test_labels_of_json_lines_keep_their_type(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('{"tokens": ["é", "b"], "labels": [1, 0]}\n{"tokens": ["c"], "labels": ["X"]}\n', encoding="utf-8")
    first, second = changed(path, "jsonl", PLAIN, (1, 1, "0", "1"), (2, 0, "X", "0")).decode().splitlines()
    assert json.loads(first) == {"tokens": ["é", "b"], "labels": [1, 1]}
    assert "é" in first
    assert json.loads(second)["labels"] == ["0"]


@pytest.mark.parametrize("change", [(1, 0, "X", "B"), (2, 0, "O", "B"), (3, 0, "O", "B"), (9, 0, "O", "B")])
@pytest.mark.parametrize("format", ["columns", "crfsuite", "conllu", "svmlight", "text", "jsonl"])
def test_another_file_than_the_audited_one_is_refused(tmp_path, format, change):
    path = tmp_path / "f"
    path.write_text("a O\n\n[]\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"f, line {change[0]}: no label '{change[2]}', which the audit found there"):
        changed(path, format, PLAIN, change)


def test_numbers_are_the_same_however_they_are_written(tmp_path):
    path = tmp_path / "f.svm"
    path.write_text("+1 1:2\n")
    assert changed(path, "svmlight", PLAIN, (1, 0, "1", "-1")) == b"-1 1:2\n"
