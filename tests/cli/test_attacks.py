"""Files that were made to do harm, one for each trick: each is refused at once, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracles.command_line import run_command

ATTACKS = Path(__file__).parent / "attacks"

INSPECT = ["inspect"]
TRAIN = ["train", "-m", "model", "--format"]
# File, the arguments of the command before its name, what the message says. The checksum of each model is right.
EXPECTED = {
    "labels.loglinear": (INSPECT, "more than 4096 labels"),  # tables of all pairs of 5,000 labels
    "no-labels.loglinear": (INSPECT, "no labels"),
    "nan.loglinear": (INSPECT, "a weight is not finite"),
    "infinite.loglinear": (INSPECT, "a weight is not finite"),
    "label-out-of-range.loglinear": (INSPECT, "a state feature's label is out of range"),
    "full-table.loglinear": (INSPECT, "an attribute table is inconsistent"),  # where a search would never end
    "ends.loglinear": (INSPECT, "an attribute table is inconsistent"),  # features beyond the end of the file
    "nested-settings.loglinear": (INSPECT, "the text of its settings is"),  # deeper than Python's stack
    "template.loglinear": (
        INSPECT,
        "template.loglinear: not a valid loglinear model (template line 1: column '99999999999'",
    ),
    "columns.classifier": (INSPECT, "setting n_columns=1000000000000000000"),
    "edges.network": (INSPECT, "not pairs i < j of 3 variables"),
    "nan.network": (INSPECT, "not 6 finite numbers"),
    "settings.network": (INSPECT, "settings.network: "),
    "short.crfsuite": (INSPECT, "48 of 4464 bytes"),
    "size.crfsuite": (INSPECT, "of 4294967295 bytes"),
    "nested.jsonl": ([*TRAIN, "jsonl"], "line 1: not a JSON object: recursion limit exceeded"),
    "number.jsonl": ([*TRAIN, "jsonl"], "line 1: not a JSON object: number out of range"),
    "surrogate.jsonl": ([*TRAIN, "jsonl"], "line 1: not a JSON object: unexpected end of hex escape"),
    "cut.columns.gz": ([*TRAIN, "columns", "--preset", "ner"], "damaged or cut short"),
    # A thousand times as large unpacked.
    "zeros.columns.gz": ([*TRAIN, "columns", "--preset", "ner"], "is a binary file"),
    "lines.template": (
        ["train", "-m", "model", "data", "--template"],
        "lines.template: the template has more than 10,000 lines",
    ),
    # Columns, each twice as long as the one before it.
    "laughs.template": (
        ["train", "-m", "model", "data", "--template"],
        "laughs.template, line 12: the line copies 8190",
    ),
    "laughs.loglinear": (["tag", "data", "-m"], "template line 12: the line copies 8190 cells"),
    "expression.template": (["train", "-m", "model", "data", "--template"], "line 1: "),  # gigabytes when compiled
}


def test_every_file_is_expected():
    assert {path.name for path in ATTACKS.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_it_is_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("a A\n\nb B\n")
    arguments, message = EXPECTED[name]
    ended = run_command(*arguments, str(ATTACKS / name))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert ended.stderr.startswith("loglinear: error: ")
    assert ended.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
