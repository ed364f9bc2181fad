"""The bar on a terminal, and lines without one."""

from __future__ import annotations

import io
import math
import re
import signal
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from loglinear import TraceRecord
from loglinear.cli.bar import Bar
from loglinear.cli.progress import Progress
from loglinear.solvers import OWLQN, SGDL1
from oracles.command_line import until


class Terminal(io.StringIO):
    def isatty(self):
        return True


def record(iteration, seconds=1.0, dev=None, gap=None):
    numbers = {"objective": 1234567.8 / (iteration + 1), "nll": 1.0, "nnz": 1234567, "violation": 1.0}
    return TraceRecord(iteration, 1.0, 1, seconds, **numbers, dev=dev, gap=gap)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 160])
def test_bar_and_time_fit_the_terminal_and_do_not_move(monkeypatch, width):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("loglinear.cli.bar._PERIOD", 0.0)
    with Progress(OWLQN()) as progress:
        points = progress.count_points(20)
        for step in range(13):
            given = record(step % 5, dev={"accuracy": 0.123456} if step % 5 == 0 else None)
            points(given, None)
            progress(given, None)
    lines = re.split(r"[\r\n]+", terminal.getvalue())
    assert all(len(line) < width for line in lines)
    texts = [line for line in lines if "point" in line]
    if width >= 60:
        assert len(texts) >= 13
        assert all(re.search(r"[━─]{10,}.* 0:00:0\d", text) for text in texts)
        assert len({re.search(r"0:00:0\d", text).start() for text in texts}) == 1
        assert ("dev accuracy" in texts[-1]) == (width > 60)
        assert ("active features" in texts[-1]) == (width == 160)


def test_the_gap_stands_beside_the_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("loglinear.cli.bar._PERIOD", 0.0)
    with Progress(OWLQN()) as progress:
        progress(record(0), None)
        assert "gap" not in terminal.getvalue()
        progress(record(0, gap=1e4), None)
        assert "active features 1,234,567, gap 0.81 %" in terminal.getvalue()


def on_screen(output: str) -> list[str]:
    """What a terminal shows: a carriage return goes back to the start of the line, where text replaces text."""
    lines = []
    for line in output.split("\n"):
        shown = ""
        for piece in line.split("\r"):
            shown = piece + shown[len(piece) :]
        lines.append(shown.rstrip())
    return lines


def test_messages_stay_above_the_bar_and_nothing_of_it_stays_beside_them(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    with Progress(OWLQN()) as progress:
        progress(record(0), None)
        progress.note("resumed")
        print("warning: a", file=sys.stderr)
        progress(record(1), None)
    assert sys.stderr is terminal
    resumed, warning, bar, end = on_screen(terminal.getvalue())
    assert (resumed, warning, end) == ("resumed", "warning: a", "")
    assert re.fullmatch(r"training ━{10} iteration 1, .* 0:00:0\d", bar)


def test_a_line_of_a_log_is_due_with_time_and_for_the_last_step(capsys):
    with Progress(OWLQN()) as progress:
        for step in range(50):
            progress(record(step, dev={"accuracy": 0.5}), None)
    first, last = capsys.readouterr().err.splitlines()
    assert "iteration 0," in first
    assert "iteration 49," in last


def test_a_bar_whose_work_failed_is_not_full(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")

    def interrupted():
        with Progress(OWLQN()) as progress:
            progress(record(0), None)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sys.stderr is terminal
    assert "─" * 10 in on_screen(terminal.getvalue())[-2]


def test_seconds_go_on_from_point_to_point_and_folds_are_named(capsys, monkeypatch):
    monkeypatch.setattr("loglinear.cli.progress._PERIOD", 0.0)
    clock = iter(range(1, 13))
    monkeypatch.setattr(Progress, "elapsed", property(lambda progress: next(clock)))
    with Progress(OWLQN()) as progress:
        points = progress.count_points(2, folds=2)
        for _ in range(6):
            for step in range(2):
                points(record(step, seconds=1.0 + step), None)
                progress(record(step, seconds=1.0 + step), None)
    said = capsys.readouterr().err.splitlines()
    assert [float(line.split()[0]) for line in said] == list(range(1, 13))
    labels = [line.split(" s  ")[1].partition(", iteration")[0] for line in said[::2]]
    each = ["point 1 of 2", "point 2 of 2"]
    assert labels == [*each, *(f"fold 1 of 2, {at}" for at in each), *(f"fold 2 of 2, {at}" for at in each)]


def test_the_bar_shows_the_share_of_the_work_that_is_done(monkeypatch):
    shares = []
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(Bar, "update", lambda bar, share, text: shares.append(share))

    def shown(solver, steps, before=lambda progress: None):
        del shares[:]
        with Progress(solver) as progress:
            callback = before(progress)
            for step, state in steps:
                if callback is not None:
                    callback(step, state)
                progress(step, state)
        return shares[:]

    # A number of passes.
    assert shown(SGDL1(passes=4), [(record(k), None) for k in range(6)]) == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    # Points of a path, then of each fold's.
    firsts = [(record(step), None) for _ in range(7) for step in (0, 1)]
    by_point = shown(OWLQN(), firsts, lambda progress: progress.count_points(2, 2))
    assert by_point[::2] == by_point[1::2] == [0.0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1.0]
    # Features that have entered.
    states = [(record(k), SimpleNamespace(selected=np.arange(n))) for k, n in enumerate((0, 3, 10, 12))]
    assert shown(OWLQN(), states, lambda progress: progress.count_features(10)) == [0.0, 0.3, 1.0, 1.0]
    # The mean decrease over five steps on a logarithmic scale, from 1 to the tolerance; it never falls.
    losses = [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 49.0, 49.0, 49.0, 49.0, 49.0, 49.0]
    steps = [(replace(record(k), objective=loss), None) for k, loss in enumerate(losses)]
    found = shown(OWLQN(tolerance=1e-3), steps)
    assert found[:5] == [0.0] * 5
    for k in range(5, 12):
        decrease = (losses[k - 5] - losses[k]) / 5 / losses[k]
        way = 1.0 if decrease <= 1e-3 else math.log(decrease) / math.log(1e-3)
        assert found[k] == pytest.approx(max(way, found[k - 1]))
    assert found[-1] == 1.0


def test_lines_have_the_clock_of_the_whole_training_and_not_the_solvers(capsys):
    with Progress(OWLQN()) as progress:
        progress(record(0, seconds=1000.0), None)
    assert float(capsys.readouterr().err.split()[0]) < 900.0


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_long_step_shows_that_time_passes(monkeypatch, is_terminal):
    terminal = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("loglinear.cli.progress._SILENCE", 0.0)
    monkeypatch.setattr("loglinear.cli.progress._LOOK", 0.01)
    with Progress(OWLQN()) as progress:
        progress.label = "point 1 of 2"
        progress(record(3), None)
        shown = len(terminal.getvalue())
        until(lambda: len(terminal.getvalue()) > shown + 160)
    more = terminal.getvalue()[shown:]
    line = r"point 1 of 2, iteration 3, .* 0:00:0\d" if is_terminal else r"s  point 1 of 2, iteration 4 is running\n"
    assert re.search(line, more)


@pytest.mark.thread_unsafe
@pytest.mark.parametrize(("waits", "said"), [(True, "stopping at the end of this step; "), (False, "stopping; the ")])
def test_ctrl_c_is_answered_while_the_main_thread_is_busy(monkeypatch, waits, said):
    messages = io.StringIO()
    monkeypatch.setattr("sys.stderr", messages)
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with Progress(OWLQN()) as progress:
            progress.waits = waits
            progress._stopping()  # while data are read
            assert messages.getvalue() == ""
            progress(record(0), None)
            for _ in range(2):
                signal.raise_signal(signal.SIGINT)
                until(lambda: said in messages.getvalue())
    finally:
        signal.signal(signal.SIGINT, before)
    assert messages.getvalue().count("stopping") == 1
    assert signal.set_wakeup_fd(-1) == -1


def test_the_last_step_is_shown_at_the_end(capsys):
    with Progress(OWLQN()) as progress:
        for step in range(4):
            progress(record(step), None)
    said = capsys.readouterr().err.splitlines()
    assert ["iteration 0" in said[0], "iteration 3" in said[1], len(said)] == [True, True, 2]


def test_an_error_before_the_first_step_leaves_no_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with pytest.raises(ZeroDivisionError), Progress(OWLQN()):
        raise ZeroDivisionError
    assert terminal.getvalue() == ""


def test_the_parts_of_a_label_that_just_fit_are_shown():
    progress = Progress(OWLQN(), quiet=True)
    progress.label = "48 rounds, 10.62 MiB moved, slowest worker 3.4 s"
    for room in range(9, 60):
        shown = progress._fitting(record(0), room).rstrip()
        ends = [
            end for end in (len("48 rounds"), len("48 rounds, 10.62 MiB moved"), len(progress.label)) if end <= room
        ]
        assert shown.startswith(progress.label[: ends[-1] if ends else room])
        assert len(shown) <= room
        assert ends[-1:] == [len(progress.label)] or len(shown) == (ends[-1] if ends else room)


@pytest.mark.parametrize("width", range(40, 81, 5))
def test_a_label_that_does_not_fit_ends_after_one_of_its_parts(monkeypatch, width):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("loglinear.cli.bar._PERIOD", 0.0)
    with Progress(OWLQN()) as progress:
        progress.label = "48 rounds, 10.62 MiB moved, slowest worker 3.4 s"
        progress(record(0), None)
    *_, text = re.findall(r"[━─]{10,} (.*?) *0:00:0\d", terminal.getvalue())
    assert progress.label.startswith(text)
    assert progress.label[len(text) :][:2] in ("", ", ")


def test_long_notes_are_wrapped_above_the_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("loglinear.cli.bar._PERIOD", 0.0)
    with Progress(OWLQN()) as progress:
        progress(record(0), None)
        progress.note("a note of words " * 6)
        progress(record(1), None)
    lines = on_screen(terminal.getvalue())
    assert max(map(len, lines)) <= 40
    assert sum("note" in line for line in lines) == 3


def test_the_bar_shows_hours_minutes_and_seconds(monkeypatch):
    now, terminal = [0.0], io.StringIO()
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = Bar()
    for now[0] in (59.0, 60.0, 3725.0):
        bar.update(0.5, "")
    bar.end(finished=False)
    assert re.findall(r"\d+:\d\d:\d\d", terminal.getvalue())[:3] == ["0:00:59", "0:01:00", "1:02:05"]
