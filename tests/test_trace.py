"""Laws of the trace."""

from __future__ import annotations

import json
import math

import pytest

from loglinear.errors import DataError
from loglinear.report.page import _curves as curves
from loglinear.result import distance
from loglinear.trace import Trace, TraceRecord, TraceWriter, percentage, upper_bound
from oracles.hostile import CHANGES, changed, places


def record(iteration, **more):
    return TraceRecord(iteration, float(iteration), iteration + 1, 0.25, 10.0 / 3.0, 3.0, 7, 1e-3, **more)


KEYS = ["iteration", "passes", "gradient_evaluations", "seconds", "objective", "nll", "nnz", "violation"]


def test_keys_of_a_line_are_those_of_the_contract():
    assert list(json.loads(record(3).to_json())) == KEYS
    more = json.loads(record(3, working_set=5, gap=0.5, dev={"f1": 0.9}).to_json())
    assert list(more) == [*KEYS, "working_set", "gap", "dev"]


def test_reading_gives_back_what_was_written(tmp_path):
    trace = Trace([record(0), record(1, working_set=5), record(2, gap=1e-3, dev={"f1": 0.9})])
    trace.write(tmp_path / "t.jsonl")
    assert Trace.read(tmp_path / "t.jsonl") == trace
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_writing_replaces_the_file_whole(tmp_path):
    path = tmp_path / "t.jsonl"
    Trace([record(k) for k in range(9)]).write(path)
    Trace([record(0)]).write(path)
    assert len(Trace.read(path)) == 1


def test_number_that_is_not_finite_is_null_and_comes_back_as_nan(tmp_path):
    line = TraceRecord(1, 1.0, 1, 0.0, math.inf, math.nan, 0, 1.0).to_json()
    assert json.loads(line)["objective"] is None
    assert math.isnan(TraceRecord.from_json(line).objective)


def test_a_line_for_people_has_the_gap_where_there_is_one():
    assert "gap" not in record(3).line
    assert record(3, gap=0.01).line == "iteration 3, objective 3.3, active features 7, gap 0.3 %"
    assert percentage(0.0, 3.0) == percentage(1e-15, 3.0) == "less than 1e-10 %"


def test_trace_behaves_like_a_list():
    trace = Trace(record(k) for k in range(4))
    assert len(trace) == 4
    assert trace[-1].iteration == 3
    assert [r.iteration for r in trace[1:3]] == [1, 2]
    assert [r.iteration for r in trace] == [0, 1, 2, 3]


def test_writer_keeps_the_trace_of_a_killed_run(tmp_path):
    path = tmp_path / "t.jsonl"
    writer = TraceWriter(path)
    for k in range(3):
        writer(record(k), None)
        assert len(Trace.read(path)) == k + 1
    with path.open("a") as file:
        file.write(record(3).to_json()[:20])
    assert [r.iteration for r in Trace.read(path)] == [0, 1, 2]


def test_writer_continues_the_trace_of_a_killed_run(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(record(0).to_json() + "\n" + record(1).to_json() + "\n" + '{"iterat')
    writer = TraceWriter(path, append=True)
    for k in (1, 2, 3):
        writer(record(k), None)
    assert [r.iteration for r in Trace.read(path)] == [0, 1, 2, 3]


def test_a_writer_that_fails_warns_once_and_lets_the_training_continue(tmp_path):
    path = tmp_path / "t.jsonl"
    writer = TraceWriter(path)
    writer(record(0), None)
    path.unlink()
    path.mkdir()
    with pytest.warns(UserWarning, match="Is a directory; training continues without a trace"):
        writer(record(1), None)
    writer(record(2), None)
    path.rmdir()
    writer(record(3), None)
    assert not path.exists()


def test_writer_starts_anew_unless_told_to_append(tmp_path):
    path = tmp_path / "t.jsonl"
    Trace([record(0), record(1)]).write(path)
    TraceWriter(path)(record(0), None)
    assert [r.iteration for r in Trace.read(path)] == [0]


@pytest.mark.parametrize("bad", ["nonsense", "[1]", '{"iteration": 1}', '{"iteration": "x"}'])
def test_bad_line_is_named(tmp_path, bad):
    path = tmp_path / "t.jsonl"
    path.write_text(record(0).to_json() + "\n" + bad + "\n" + record(2).to_json() + "\n")
    with pytest.raises(DataError, match=r"t\.jsonl, line 2"):
        Trace.read(path)


def test_iteration_must_be_whole(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(record(0).to_json().replace('"iteration": 0', '"iteration": 0.5') + "\n")
    with pytest.raises(DataError, match="line 1"):
        Trace.read(path)


ROWS = [json.loads(record(k, working_set=5, gap=1e-3, dev={"f1": 0.5, "a": k}).to_json()) for k in range(3)]


@pytest.mark.parametrize("way", [*places(ROWS[2])], ids=str)
def test_any_other_record_is_refused_by_file_and_line_or_can_be_shown(tmp_path, way):
    path = tmp_path / "t.jsonl"
    for change in (*CHANGES, 2**63 - 1, 1e308, -1e308, 5e-324):
        rows = [*ROWS[:2], changed(ROWS[2], way, change)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        try:
            trace = Trace.read(path)
        except DataError as error:
            message = str(error)
            assert message.startswith(f"{path}, line 3: not a trace record (")
            assert message.endswith("; delete or repair the line")
            continue
        assert all("iteration" in each.line for each in trace)
        for kept in (None, 1, trace[-1].iteration):
            assert all(curve.startswith("<svg") and "nan" not in curve for curve in curves(trace, kept))
        trace.write(path)
        assert [each.to_json() for each in Trace.read(path)] == [each.to_json() for each in trace]


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("iteration", -1, "iteration=-1 is not a whole number"),
        ("nnz", True, "nnz=True is not a whole number"),
        ("nnz", 2**63, "is not a whole number"),
        ("objective", "1.5", "objective='1.5' is out of range"),
        ("passes", 10**400, "passes=1000.* is out of range"),
        ("dev", [0.5], "is not scores by name"),
        ("dev", {"f1": {}}, "is not scores by name"),
        ("dev", {"f1": 10**400}, "is not scores by name"),
        ("gap", [], "gap="),
        ("working_set", 0.5, "working_set=0.5"),
    ],
)
def test_a_field_that_is_no_field_of_a_record_is_named(tmp_path, field, value, named):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(ROWS[0] | {field: value}) + "\n")
    with pytest.raises(DataError, match=f"line 1: not a trace record \\(.*{named}"):
        Trace.read(path)


@pytest.mark.parametrize("line", [b"\xff\xfa", b"[" * 1000 + b"]" * 1000, b"9" * 5000, b'{"a": "\\ud800"}', b"NaN"])
def test_a_line_that_is_no_json_object_is_refused(tmp_path, line):
    (tmp_path / "t.jsonl").write_bytes(line + b"\n")
    with pytest.raises(DataError, match=r"line 1: not a trace record .*the line is .*, not"):
        Trace.read(tmp_path / "t.jsonl")


def test_an_upper_bound_follows_at_most_and_within():
    assert [upper_bound(gap, 3.0) for gap in (0.0, 1e-15, 0.01)] == ["1e-10 %", "1e-10 %", "0.33 %"]
    assert distance(0.0, 3.0) == "within 1e-10 % of the optimum"
