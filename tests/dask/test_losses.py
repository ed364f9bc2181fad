"""Workers that leave, come late or stop, on clusters of this process: the training is right, or says what is wrong."""

from __future__ import annotations

import time

import numpy as np
import pytest

from loglinear import ClusterError
from loglinear.dask import ChainCRF
from loglinear.dask.cluster import Cluster, runs
from loglinear.dask.spread import SpreadGroup
from oracles.samples import chunky

OPTIONS = {"l1": 0.5, "solver": "owlqn", "tolerance": 1e-6}


@pytest.fixture
def cluster():
    """A cluster of two workers in this process, which the test may lose."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as made:
        yield made


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster, set_as_default=False) as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of files of columns."""
    path = tmp_path_factory.mktemp("data")
    X, y = chunky(60)
    for number in range(3):
        with open(path / f"part-{number}.txt", "w") as file:
            for tokens, labels in list(zip(X, y, strict=True))[number::3]:
                file.writelines(f"{' '.join(token)} {label}\n" for token, label in zip(tokens, labels, strict=True))
                file.write("\n")
    return path


def trained(client, folder):
    """Return the weights of a training in parts."""
    crf = ChainCRF(template="U:%x[0,0]\nB\n", client=client, part_bytes=400, **OPTIONS)
    return crf.fit(folder).result_.w


@pytest.fixture(scope="module")
def expected(folder):
    """The weights of an undisturbed training."""
    from distributed import Client

    with Client(processes=False, n_workers=1, dashboard_address=":0", set_as_default=False) as client:
        return trained(client, folder)


@pytest.mark.parametrize("look", [1, 2, 3, 4, 5, 8])
def test_a_worker_that_leaves_after_a_look_at_the_workers_takes_no_part_with_it(
    client, folder, expected, look, monkeypatch
):
    looks, nthreads = 0, client.nthreads

    def nthreads_and_loss():
        nonlocal looks
        looks += 1
        before = nthreads()
        if looks == look:
            client.retire_workers([max(before)], close_workers=True)
            while len(nthreads()) == 2:
                time.sleep(0.01)
        return before

    monkeypatch.setattr(client, "nthreads", nthreads_and_loss)
    np.testing.assert_array_equal(trained(client, folder), expected)
    assert looks >= look
    assert len(nthreads()) == 1


@pytest.mark.parametrize("n_tasks", [0, 1, 2, 7, 64])
@pytest.mark.parametrize("threads", [(), (1,), (1, 1), (8, 1, 3), (1,) * 20])
def test_runs_of_tasks_cover_all_tasks_in_their_order(threads, n_tasks):
    workers = {f"tcp://{number:02}": count for number, count in enumerate(threads)}
    placed = runs(workers, n_tasks)
    assert [worker for worker, _ in placed] == (list(workers) or [None])
    tasks = range(n_tasks)
    assert [task for _, run in placed for task in tasks[run]] == list(tasks)


@pytest.mark.parametrize("ask", [lambda group: group.total("sum", _one), lambda group: group.each("list", _one)])
def test_results_that_miss_a_part_are_refused(client, ask):
    group = SpreadGroup(Cluster(client), [1, 2, 3]).mapped("keep", int)
    assert len(ask(group)) in (1, 3)
    group._bundles.pop()
    with pytest.raises(ClusterError, match="has worked on 2 parts out of 3"):
        ask(group)
    with pytest.raises(ClusterError, match="3 of 2 bundles"):
        SpreadGroup._of(group, [None] * 3)


def _one(number):
    return (1,)
