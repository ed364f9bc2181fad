"""Laws of the trace."""

from __future__ import annotations

import json
import math

import pytest

from loglinear.errors import DataError
from loglinear.result import distance
from loglinear.trace import Trace, TraceRecord, TraceWriter, percentage, upper_bound


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


def test_an_upper_bound_follows_at_most_and_within():
    assert [upper_bound(gap, 3.0) for gap in (0.0, 1e-15, 0.01)] == ["1e-10 %", "1e-10 %", "0.33 %"]
    assert distance(0.0, 3.0) == "within 1e-10 % of the optimum"
