"""Workers that leave, come late or stop, on clusters of this process: the training is right, or says what is wrong."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

from loglinear import Checkpoint, ClusterError
from loglinear.dask import ChainCRF, MaxEnt, spread, watch
from loglinear.dask import cluster as clusters
from loglinear.dask.cluster import Cluster, runs
from loglinear.dask.spread import SpreadGroup
from oracles.samples import chunky

OPTIONS = {"l1": 0.5, "solver": "owlqn", "tolerance": 1e-2}


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


def trained(client, folder, **given):
    """Return the weights of a training in parts."""
    crf = ChainCRF(template="U:%x[0,0]\nB\n", client=client, part_bytes=400, **OPTIONS)
    return crf.fit(folder, **given).result_.w


@pytest.fixture(scope="module")
def expected(folder):
    """The weights of an undisturbed training."""
    from distributed import Client

    with Client(processes=False, n_workers=1, dashboard_address=":0", set_as_default=False) as client:
        return trained(client, folder)


@pytest.mark.parametrize("look", [1, pytest.param(2, marks=pytest.mark.smoke), 3])
def test_a_worker_that_leaves_after_a_look_at_the_workers_takes_no_part_with_it(
    client, folder, expected, look, monkeypatch
):
    looks, workers = 0, Cluster.workers

    def workers_and_loss(cluster):
        nonlocal looks
        looks += 1
        before = workers(cluster)
        if looks == look:
            client.retire_workers([max(before)], close_workers=True)
            while len(client.nthreads()) == 2:
                time.sleep(0.01)
        return before

    monkeypatch.setattr(Cluster, "workers", workers_and_loss)
    np.testing.assert_array_equal(trained(client, folder), expected)
    assert looks >= look
    assert len(client.nthreads()) == 1


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


def _one(number):
    return (1,)


@pytest.fixture
def patience(monkeypatch):
    """Seconds without movement after which a training is said to stand still."""
    monkeypatch.setattr(watch, "STALL", 1.0)
    monkeypatch.setattr(clusters, "LOOK", 0.1)
    monkeypatch.setattr(clusters, "ANSWER", 1.0)
    return 1.0


class Stops:
    """Workers of this process that stand still: their tasks wait at a gate, and they answer no question."""

    def __init__(self, client, monkeypatch):
        self.client, self.addresses, self.gate = client, set(), threading.Event()
        things, run = spread._things, client.run

        def things_or_wait(version, bundle):
            from distributed import get_worker

            if get_worker().address in self.addresses:
                self.gate.wait()
            return things(version, bundle)

        def run_or_wait(*given, workers, **how):
            return asyncio.sleep(3600) if workers[0] in self.addresses else run(*given, workers=workers, **how)

        monkeypatch.setattr(spread, "_things", things_or_wait)
        monkeypatch.setattr(client, "run", run_or_wait)

    def stop(self, count):
        self.addresses.update(sorted(self.client.nthreads())[:count])


@pytest.fixture
def stops(client, monkeypatch):
    made = Stops(client, monkeypatch)
    yield made
    made.gate.set()


def at_iteration(number, event):
    """Return a callback that does something after an iteration."""

    def callback(record, state):
        if record.iteration == number:
            event()

    return callback


def test_a_training_without_any_worker_names_what_waits_and_ends(client, cluster, folder, patience):
    cluster.scale(0)
    while client.nthreads():
        time.sleep(0.01)
    waits = r"join-count.* waits for a worker \(0 of 0 workers answer\)"
    with pytest.warns(UserWarning, match=waits), pytest.raises(ClusterError, match=waits):
        trained(client, folder)


def test_a_training_begins_when_the_first_worker_comes(client, cluster, folder, expected):
    cluster.scale(0)
    while client.nthreads():
        time.sleep(0.01)
    threading.Timer(0.5, cluster.scale, [1]).start()
    np.testing.assert_array_equal(trained(client, folder), expected)


def test_the_weights_are_bitwise_the_same_when_all_workers_leave_and_others_come(
    client, cluster, folder, expected, patience
):
    def exchange():
        cluster.scale(0)
        while client.nthreads():
            time.sleep(0.01)
        threading.Timer(0.3, cluster.scale, [2]).start()

    with warnings.catch_warnings():
        # Some versions of Dask forget tasks that once had no worker, and some do not.
        warnings.filterwarnings("ignore", "no task has made progress")
        found = trained(client, folder, callbacks=[at_iteration(3, exchange)])
    np.testing.assert_array_equal(found, expected)


def test_a_worker_that_stops_in_a_training_is_named_and_its_work_done_by_the_others(
    client, folder, expected, patience, stops
):
    stopped = r"evaluate.* waits for evaluate-part-000\d on inproc://.* \(no answer\).* sending the work again"
    with pytest.warns(UserWarning, match=stopped):
        found = trained(client, folder, callbacks=[at_iteration(3, lambda: stops.stop(1))])
    np.testing.assert_array_equal(found, expected)


def test_a_worker_that_has_stopped_before_is_left_out(client, folder, expected, patience, stops):
    stops.stop(1)
    with pytest.warns(UserWarning, match=r"worker inproc://.* has not answered for 1 s; training continues without it"):
        found = trained(client, folder)
    np.testing.assert_array_equal(found, expected)


def test_when_all_workers_stop_the_error_names_the_checkpoint(client, folder, expected, patience, stops, tmp_path):
    path = tmp_path / "checkpoint"
    given = {"callbacks": [at_iteration(3, lambda: stops.stop(2))], "checkpoint": Checkpoint(path, 0)}
    ends = r"so has a second attempt: .*\(no answer\).*checkpoint has the checkpoint of iteration 3"
    with pytest.warns(UserWarning, match="sending the work again"), pytest.raises(ClusterError, match=ends):
        trained(client, folder, **given)
    stops.addresses.clear()
    stops.gate.set()
    np.testing.assert_array_equal(trained(client, folder, checkpoint=Checkpoint(path, resume=True)), expected)


def test_a_classifier_is_trained_when_a_worker_stops(client, patience, stops):
    X = np.random.default_rng(0).random((30, 4))
    chunks = [(X[at : at + 5], (X[at : at + 5, 0] > 0.5).astype(int)) for at in range(0, 30, 5)]
    whole = MaxEnt(l2=0.1, client=client).fit(chunks)
    with pytest.warns(UserWarning, match="sending the work again"):
        again = MaxEnt(l2=0.1, client=client).fit(chunks, callbacks=[at_iteration(2, lambda: stops.stop(1))])
    np.testing.assert_array_equal(again.coef_, whole.coef_)


def test_a_scheduler_that_does_not_answer_is_an_error(client, folder, patience, stops, monkeypatch):
    def silence():
        stops.stop(2)
        monkeypatch.setattr(client, "processing", lambda: asyncio.sleep(3600))

    with pytest.raises(ClusterError, match=r"lost the cluster.*the scheduler has not answered for 1 s"):
        trained(client, folder, callbacks=[at_iteration(3, silence)])


def test_work_that_takes_long_is_waited_for(client, patience):
    group = SpreadGroup(Cluster(client), [0.1, 2.5 * patience])
    assert group.total("sleep", _slept) == (0.1 + 2.5 * patience,)


@pytest.mark.parametrize("n_parts", [3, 40])
def test_work_that_waits_for_the_work_of_others_is_waited_for(client, patience, n_parts):
    others = [client.submit(time.sleep, 2.5 * patience, pure=False, workers=[each]) for each in client.nthreads()]
    assert SpreadGroup(Cluster(client), range(n_parts)).total("sum", _one) == (n_parts,)
    assert all(other.done() for other in others)


def _slept(seconds):
    time.sleep(seconds)
    return (seconds,)


@pytest.mark.thread_unsafe
def test_ctrl_c_ends_a_wait_at_once(client, stops):
    group = SpreadGroup(Cluster(client), [1, 2, 3])
    stops.stop(2)
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        group.total("sum", _one)
    assert time.monotonic() - began < 3.0
