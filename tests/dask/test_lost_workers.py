"""Workers and schedulers that die in the middle of a training."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest

from loglinear import Checkpoint, ClusterError
from loglinear.dask import ChainCRF, watch
from loglinear.dask import cluster as clusters
from loglinear.dask.cluster import Cluster
from loglinear.dask.spread import SpreadGroup
from oracles.patience import patience
from oracles.samples import chunky

pytestmark = pytest.mark.slow

GIVEN = {"l2": 0.5, "part_bytes": 8000}


@pytest.fixture
def folder(tmp_path):
    """A folder of JSON lines."""
    import json

    X, y = chunky(1200)
    for number in range(4):
        rows = zip(X[number::4], y[number::4], strict=True)
        lines = [json.dumps({"tokens": tokens, "labels": labels}) + "\n" for tokens, labels in rows]
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / f"part-{number}.jsonl").write_text("".join(lines))
    return tmp_path / "data"


def kill(cluster, number, *, for_good):
    """Kill the process of a worker; its nanny starts it again unless it is killed for good."""
    nanny = list(cluster.workers.values())[number]
    nanny.auto_restart = not for_good
    os.kill(nanny.process.pid, signal.SIGKILL)


@pytest.mark.parametrize("trial", range(3))
def test_the_weights_are_bitwise_the_same_when_workers_are_killed(folder, trial):
    """One of four workers is started again by its nanny, and another one is lost for good, at random moments."""
    from distributed import Client, LocalCluster

    settings = {"n_workers": 4, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    with LocalCluster(**settings) as cluster, Client(cluster, set_as_default=False) as client:
        began = time.monotonic()
        whole = ChainCRF(client=client, **GIVEN).fit(folder)
        seconds = time.monotonic() - began
        moments = random.Random(trial)
        killers = [
            threading.Timer(moments.uniform(0.1, 0.8) * seconds, kill, (cluster, number), {"for_good": number == 1})
            for number in (0, 1)
        ]
        for killer in killers:
            killer.start()
        again = ChainCRF(client=client, **GIVEN).fit(folder)
        for killer in killers:
            killer.join()
        np.testing.assert_array_equal(again.result_.w, whole.result_.w)
        assert len(again.result_.trace) == len(whole.result_.trace)


def run(module, *arguments):
    """Start a program of Dask's."""
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + module, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_the_death_of_the_scheduler_names_the_checkpoint_which_another_cluster_resumes(folder, tmp_path, client):
    from distributed import Client

    whole = ChainCRF(client=client, **GIVEN).fit(folder)
    place, path = tmp_path / "scheduler.json", tmp_path / "state.checkpoint"
    options = ["--scheduler-file", str(place)]
    scheduler = run("dask_scheduler", "--port", "0", "--no-dashboard", *options)
    worker = run("dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", *options)
    try:
        with Client(scheduler_file=str(place), timeout=patience(60), set_as_default=False) as there:
            there.wait_for_workers(1, timeout=patience(60))

            def kill_it(record, state):
                if record.iteration == 5:
                    scheduler.kill()

            crf, checkpoint = ChainCRF(client=there, **GIVEN), Checkpoint(path, 0)
            with pytest.raises(
                ClusterError, match=r"lost the cluster.*state\.checkpoint has the checkpoint of iteration 5"
            ):
                crf.fit(folder, callbacks=[kill_it], checkpoint=checkpoint)
    finally:
        for program in (scheduler, worker):
            program.kill()
            program.wait()
    resumed = ChainCRF(client=client, **GIVEN).fit(folder, checkpoint=Checkpoint(path, resume=True))
    np.testing.assert_array_equal(resumed.result_.w, whole.result_.w)


@pytest.fixture
def short_waits(monkeypatch):
    """Shorter waits than users have, and longer than a worker takes to start again."""
    monkeypatch.setattr(watch, "STALL", 12.0)
    monkeypatch.setattr(clusters, "LOOK", 0.5)
    monkeypatch.setattr(clusters, "ANSWER", 4.0)


@pytest.fixture
def two():
    """A cluster of two worker processes, which their nannies start again when they die."""
    from distributed import LocalCluster

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    with LocalCluster(**settings) as cluster:
        yield cluster


def attacked(cluster, folder, attack):
    """Return the weights of a training that is attacked from another thread, or the error that it ends with.

    Args:
        cluster: of workers with nannies.
        folder: the data.
        attack: called with the seconds that an undisturbed training takes, when one begins.
    """
    from distributed import Client

    outcome = []

    def train():
        try:
            outcome.append(ChainCRF(client=client, **GIVEN).fit(folder).result_.w)
        except ClusterError as error:
            outcome.append(error)

    with Client(cluster, set_as_default=False) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.monotonic()
        train()
        training = threading.Thread(target=train, daemon=True)
        training.start()
        attack(time.monotonic() - began)
        training.join(150)
        assert not training.is_alive()
    whole, again = outcome
    return whole, again


def process_ids(cluster):
    """Return the process ids of the workers that run."""
    return [nanny.process.pid for nanny in cluster.workers.values() if nanny.process and nanny.process.pid]


def send(signal_number, process_id):
    """Send a signal to a worker, which may have died."""
    with suppress(ProcessLookupError):
        os.kill(process_id, signal_number)


@pytest.mark.parametrize("trial", range(3))
def test_workers_that_are_killed_again_and_again_leave_the_weights_as_they_are_or_an_error(
    folder, two, short_waits, trial
):
    def kill_often(seconds):
        moments = random.Random(trial)
        for _ in range(5):
            time.sleep(moments.uniform(0.1, 0.4) * seconds)
            for process_id in moments.sample(process_ids(two), 1):
                send(signal.SIGKILL, process_id)

    whole, again = attacked(two, folder, kill_often)
    if isinstance(again, ClusterError):
        assert "workers died several times in a row" in str(again) or "so has a second attempt" in str(again)
    else:
        np.testing.assert_array_equal(again, whole)


@pytest.mark.parametrize("moment", [0.05, 0.5])
def test_the_weights_are_bitwise_the_same_when_all_workers_are_killed_at_once(folder, two, short_waits, moment):
    def kill_both(seconds):
        time.sleep(moment * seconds)
        for process_id in process_ids(two):
            send(signal.SIGKILL, process_id)

    whole, again = attacked(two, folder, kill_both)
    np.testing.assert_array_equal(again, whole)


@pytest.mark.parametrize("moment", [0.0, 0.5])
def test_the_weights_are_bitwise_the_same_when_a_worker_is_stopped(folder, two, short_waits, moment):
    stopped = process_ids(two)[0]

    def stop(seconds):
        time.sleep(moment * seconds)
        send(signal.SIGSTOP, stopped)

    try:
        whole, again = attacked(two, folder, stop)
        np.testing.assert_array_equal(again, whole)
    finally:
        send(signal.SIGCONT, stopped)


def test_workers_out_of_memory_are_a_clear_error(short_waits):
    from distributed import Client, LocalCluster

    def eaten(size):
        """Take 1.5 GB, in steps that a nanny can follow."""
        blocks = []
        for _ in range(60):
            blocks.append(b"x" * 25_000_000)
            time.sleep(0.02)
        return (len(blocks),)

    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    with (
        LocalCluster(**settings, memory_limit="600MiB") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        group = SpreadGroup(Cluster(client), [1])
        with pytest.raises(ClusterError, match=r"workers died several times in a row at .*eat-part-0000.*memory"):
            group.total("eat", eaten)


def test_work_that_kills_each_worker_is_a_clear_error(processes):
    from distributed import Client

    with Client(processes, set_as_default=False) as client:
        group = SpreadGroup(Cluster(client), [1, 2])
        with pytest.raises(ClusterError, match=r"workers died several times in a row at .*explode-part-000.*memory"):
            group.total("explode", os._exit)


def test_a_worker_without_loglinear_is_named(processes):
    from distributed import Client

    def hide():
        import sys

        sys.modules["loglinear"] = None

    with Client(processes, set_as_default=False) as client:
        client.run(hide)
        with pytest.raises(ClusterError, match=r"worker tcp://.* loglinear is missing .*install loglinear"):
            Cluster(client)


def test_ctrl_c_is_answered_again_after_processes_have_started():
    before = signal.getsignal(signal.SIGINT)
    with clusters._deaf_to_ctrl_c():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is before
