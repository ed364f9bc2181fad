"""The budget of the day's tests: processor time, of a test and of all together, with the slowest tests named.

Wall time depends on what else the machine does; processor time, with that of the processes a test starts, depends on it
less. Machines differ, and the same one takes nearly twice the processor time when its hyperthreads are all at work. So
the workers time a piece of work again and again, and a slower machine than that of the limits has higher ones.
"""

from __future__ import annotations

import os
import statistics
import time
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

# Processor seconds of a test, and of all tests together, on a machine that takes `WORK` seconds for `work`.
OF_ONE, OF_ALL, WORK = 5.0, 400.0, 0.005
EVERY = 50  # reports of a worker between two measurements
NAMED = 25

_last = 0.0
_reports = 0
_spent: Counter[str] = Counter()
_works: list[float] = []


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def work() -> float:
    """Return the processor time of a piece of work."""
    began = time.thread_time()
    sum(i * i % 7 for i in range(100_000))
    return time.thread_time() - began


def slowness() -> float:
    """Return how many times as long as it should the machine takes for work; at least 1."""
    return max(statistics.median(_works) / WORK, 1.0) if _works else 1.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --budget."""
    help = f"fail if a test takes over {OF_ONE:g} processor seconds, or all take over {OF_ALL:g}, on a fast machine"
    parser.addoption("--budget", action="store_true", help=help)


def pytest_collection_finish() -> None:
    """Leave what was imported out of account."""
    global _last
    _last = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Any:
    """Note in a report the time since the one before: workers run one test after the other."""
    global _last, _reports
    report = yield
    report.processor_seconds, report.work = processor_seconds() - _last, None
    if _reports % EVERY == 0:
        report.work = work()
    _reports += 1
    _last = processor_seconds()
    return report


def pytest_runtest_logreport(report: Any) -> None:
    """Add up the setup, the call and the teardown of a test."""
    _spent[report.nodeid] += report.processor_seconds
    if report.work is not None:
        _works.append(report.work)


def exceeded() -> list[str]:
    """Return what is over the budget."""
    slower = slowness()
    over = [f"{seconds:.1f} s: {name}" for name, seconds in _spent.most_common() if seconds > slower * OF_ONE]
    total = sum(_spent.values())
    return [*over, f"{total:.0f} s: all tests together"] if total > slower * OF_ALL else over


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
    terminalreporter.line(f"{sum(_spent.values()):6.0f} all tests together; the machine is slow by {slowness():.2f}")
    for line in exceeded():
        terminalreporter.line(f"over the budget: {line}", red=True)
