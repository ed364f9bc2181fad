"""Clusters for the tests: threads of this process by day, processes of their own for the tests that kill some."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

pytest.importorskip("distributed")


def pytest_collection_modifyitems(items):
    """Leave the tests that start a cluster to the night, but for those that are marked `smoke`."""
    here, clusters = Path(__file__).parent, {"client", "processes"}
    for item in items:
        if item.path.parent == here and clusters & set(item.fixturenames) and not item.get_closest_marker("smoke"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def client():
    """A cluster of two workers in this process."""
    from distributed import Client

    with Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0", set_as_default=False
    ) as made:
        yield made


@pytest.fixture
def processes():
    """A cluster of four worker processes, which a nanny starts again when they die."""
    from distributed import LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    settings = {"n_workers": 4, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**settings, silence_logs=logging.CRITICAL) as cluster:
        yield cluster
