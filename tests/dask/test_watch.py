"""When tasks are said to stand still, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from loglinear.dask import watch
from loglinear.dask.watch import STALL, Stalled, TaskStates, Watch


@dataclass
class Result:
    """A future."""

    key: str = "add-up-evaluate-part-0001-000007-run"
    is_done: bool = False

    def done(self):
        return self.is_done


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; its only entry is the time."""
    seconds = [0.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: seconds[0])
    return seconds


HELD = {"tcp://a": ["evaluate-part-0000-000007-run"], "tcp://b": []}


@pytest.mark.parametrize("move", ["task begins", "task ends", "worker comes", "result arrives"])
def test_every_movement_starts_the_time_again(clock, move):
    future = Result()
    looked = Watch([future])
    assert not looked.is_still(HELD)
    clock[0] = STALL - 1.0
    assert not looked.is_still(HELD)
    if move == "result arrives":
        future.is_done = True
    moved = {
        "task begins": HELD | {"tcp://b": ["evaluate-part-0001-000007-run"]},
        "task ends": HELD | {"tcp://a": []},
        "worker comes": HELD | {"tcp://c": []},
        "result arrives": HELD,
    }[move]
    assert not looked.is_still(moved)
    clock[0] += STALL - 1.0
    assert not looked.is_still(moved)
    clock[0] += 1.0
    assert looked.is_still(moved)


def test_a_scheduler_that_is_silent_for_long_is_an_error(clock):
    looked = Watch([Result()])
    clock[0] = STALL - 1.0
    assert not looked.is_still(None)
    looked.is_still(HELD)
    clock[0] += STALL - 1.0
    assert not looked.is_still(None)
    clock[0] += 1.0
    with pytest.raises(TimeoutError, match="scheduler has not answered for 60 s"):
        looked.is_still(None)


AT_WORK = [
    {"tcp://a": TaskStates({"evaluate-part-0000-000007-run": "executing"}, 1, 8), "tcp://b": TimeoutError()},
    {"tcp://a": TaskStates({"evaluate-part-0000-000007-run": "ready"}, 1, 8), "tcp://b": TaskStates({}, 0, 8)},
    {"tcp://a": TaskStates({}, 8, 8), "tcp://b": TaskStates({}, 9, 8)},
]


@pytest.mark.parametrize("answers", AT_WORK)
def test_work_on_workers_starts_the_time_again(clock, answers):
    looked = Watch([Result()])
    looked.is_still(HELD)
    clock[0] = STALL
    assert looked.is_still(HELD)
    looked.check(answers)
    assert not looked.is_still(HELD)
    clock[0] += STALL
    assert looked.is_still(HELD)


@pytest.mark.parametrize(
    ("places", "answers", "text"),
    [
        (
            HELD,
            {"tcp://a": TimeoutError(), "tcp://b": TaskStates({}, 0, 1)},
            "add-up-evaluate-part-0001 waits for evaluate-part-0000 on tcp://a (no answer)",
        ),
        (
            HELD,
            {"tcp://a": TaskStates({"evaluate-part-0000-000007-run": "flight"}, 1, 1), "tcp://b": TaskStates({}, 0, 1)},
            "add-up-evaluate-part-0001 waits for evaluate-part-0000 on tcp://a (flight)",
        ),
        (
            HELD,
            {"tcp://a": TaskStates({"evaluate-part-0000-000007-run": "ready"}, 0, 1)},
            "add-up-evaluate-part-0001 waits for evaluate-part-0000 on tcp://a (ready)",
        ),
        (
            HELD,
            {"tcp://a": TaskStates({}, 0, 1)},
            "add-up-evaluate-part-0001 waits for evaluate-part-0000 on tcp://a (lost)",
        ),
        ({}, {}, "add-up-evaluate-part-0001 waits for a worker (0 of 0 workers answer)"),
        (
            {"tcp://a": [], "tcp://b": []},
            {"tcp://a": TaskStates({}, 1, 1), "tcp://b": TaskStates({}, 0, 1)},
            "add-up-evaluate-part-0001 waits for a worker (2 of 2 workers answer)",
        ),
        (
            {"tcp://a": [f"evaluate-part-000{part}-000007-run" for part in range(6)]},
            {"tcp://a": TimeoutError()},
            "evaluate-part-0002 on tcp://a (no answer), evaluate-part-0003 on tcp://a (no answer) and 2 more",
        ),
    ],
)
def test_the_message_says_what_waits_for_what(clock, places, answers, text):
    looked = Watch([Result(), Result("done", is_done=True)])
    looked.is_still(places)
    clock[0] = STALL
    with pytest.raises(Stalled) as stalled:
        looked.check(answers)
    assert text in str(stalled.value)
    assert str(stalled.value).startswith("no task has made progress for 60 s: ")


def test_results_that_no_worker_gives_are_named(clock):
    looked = Watch([Result(is_done=True)])
    with pytest.raises(Stalled, match="results cannot be fetched"):
        looked.check({"tcp://a": TimeoutError()})
