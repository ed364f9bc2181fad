"""The line of `verbose`: one that is rewritten in notebooks and on terminals, lines elsewhere."""

from __future__ import annotations

import io
import sys
import types

import pytest

from loglinear import ChainCRF
from loglinear.display import progress

X, Y = [[["a"], ["b"]]] * 3, [["A", "B"]] * 3


class Terminal(io.StringIO):
    def isatty(self):
        return True


def notebook(monkeypatch):
    """Make this process look like the kernel of a notebook; return the list of what is published."""
    published = []

    def publish(data, metadata=None, *, transient, update):
        published.append((data, transient["display_id"], update))

    shell = types.SimpleNamespace(kernel=object(), display_pub=types.SimpleNamespace(publish=publish))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    return published


def lines(crf):
    """Return what each record is for people."""
    return [f"{record.seconds:7.1f} s  {record.line}" for record in crf.result_.trace]


def test_a_notebook_has_one_output_whose_last_text_is_the_last_record(monkeypatch, capsys):
    published = notebook(monkeypatch)
    crf = ChainCRF(l2=0.1, verbose=True).fit(X, Y)
    assert len({place for _, place, _ in published}) == 1
    assert [is_update for *_, is_update in published] == [False] + [True] * (len(published) - 1)
    shown = [data["text/plain"] for data, *_ in published]
    assert shown[-1] == lines(crf)[-1]
    assert {*shown} <= {*lines(crf)}
    assert capsys.readouterr().err == ""
    ChainCRF(l2=0.1, verbose=True).fit(X, Y)
    assert len({place for _, place, _ in published}) == 2


def test_a_terminal_has_one_line_that_ends_with_the_last_record(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("COLUMNS", "40")
    crf = ChainCRF(l2=0.1, verbose=True).fit(X, Y)
    text = terminal.getvalue()
    assert text.count("\n") == 1
    assert text.rpartition("\r")[2].rstrip() == lines(crf)[-1][:39].rstrip()
    assert all(len(part) < 40 for part in text.rstrip("\n").split("\r"))


def test_elsewhere_each_record_has_a_line(capsys):
    crf = ChainCRF(l2=0.1, verbose=True).fit(X, Y)
    assert capsys.readouterr().err.splitlines() == lines(crf)


def test_a_failed_training_ends_its_line(monkeypatch):
    def broken(record, state):
        if record.iteration == 1:
            raise ZeroDivisionError

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    crf = ChainCRF(l2=0.1, verbose=True)
    with pytest.raises(ZeroDivisionError):
        crf.fit(X, Y, callbacks=[broken])
    assert terminal.getvalue().count("\n") == 1
    assert "_printer" not in vars(crf)


def test_a_line_is_not_written_more_than_ten_times_a_second(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = []
    line = progress.Line(types.SimpleNamespace(show=shown.append, end=lambda: shown.append("end")), 80)
    for at in range(101):
        now[0] = at / 100.0
        line.show(f"{at}\x1b")
    line.end()
    line.end()
    assert 9 <= len(shown) - 2 <= 11
    assert shown[-2:] == ["100\\x1b", "end"]


def test_a_program_without_a_kernel_is_not_a_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert progress.line_of(io.StringIO()) is None
