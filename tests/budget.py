"""The budget of the day's tests: processor time, of a test and of all together, with the slowest tests named.

Wall time depends on what else the machine does; processor time, with that of the processes a test starts, hardly does.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

__all__ = [
    "pytest_addoption",
    "pytest_collection_finish",
    "pytest_runtest_logreport",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
]

# Processor seconds of a test, and of all tests together: these take 280 on two cores that are busy with them alone.
OF_ONE, OF_ALL = 5.0, 400.0
NAMED = 25

_last = 0.0
_spent: Counter[str] = Counter()


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --budget."""
    help = f"fail if a test takes over {OF_ONE:g} processor seconds, or all take over {OF_ALL:g}; name the slowest"
    parser.addoption("--budget", action="store_true", help=help)


def pytest_collection_finish() -> None:
    """Leave what was imported out of account."""
    global _last
    _last = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Any:
    """Note in a report the time since the one before: workers run one test after the other."""
    global _last
    report = yield
    now = processor_seconds()
    report.processor_seconds, _last = now - _last, now
    return report


def pytest_runtest_logreport(report: Any) -> None:
    """Add up the setup, the call and the teardown of a test."""
    _spent[report.nodeid] += report.processor_seconds


def exceeded() -> list[str]:
    """Return what is over the budget."""
    over = [f"{seconds:.1f} s: {name}" for name, seconds in _spent.most_common() if seconds > OF_ONE]
    total = sum(_spent.values())
    return [*over, f"{total:.0f} s: all tests together"] if total > OF_ALL else over


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that is over its budget."""
    if session.config.getoption("budget") and exceeded() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the slowest tests, and what is over the budget."""
    if not config.getoption("budget"):
        return
    terminalreporter.section(f"the {NAMED} slowest tests, processor seconds")
    for name, seconds in _spent.most_common(NAMED):
        terminalreporter.line(f"{seconds:6.2f} {name}")
    terminalreporter.line(f"{sum(_spent.values()):6.0f} all tests together")
    for line in exceeded():
        terminalreporter.line(f"over the budget: {line}", red=True)
