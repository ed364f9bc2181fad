"""The memory that a process may use: the machine's, or what its group is limited to."""

from __future__ import annotations

import os

import pytest

from loglinear.solvers.common import memory


class Limited:
    """A path whose file says how much memory there is."""

    said = ""

    def __init__(self, path):
        assert path == "/sys/fs/cgroup/memory.max"

    def read_text(self, encoding):
        if not self.said:
            raise FileNotFoundError
        return self.said


@pytest.mark.parametrize(("said", "expected"), [("1234\n", 1234.0), ("max\n", None), ("", None)])
def test_the_least_bound_counts(said, expected, monkeypatch):
    monkeypatch.setattr(memory, "Path", type("Said", (Limited,), {"said": said}))
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory.memory_of_machine() == (machine if expected is None else expected)
