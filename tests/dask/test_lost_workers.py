"""Workers and schedulers that die in the middle of a training."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from loglinear import Checkpoint, ClusterError
from loglinear.dask import ChainCRF
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
        with Client(scheduler_file=str(place), timeout=15, set_as_default=False) as there:
            there.wait_for_workers(1, timeout=15)

            def kill_it(record, state):
                if record.iteration == 5:
                    scheduler.kill()

            crf, checkpoint = ChainCRF(client=there, **GIVEN), Checkpoint(path, 0)
            with pytest.raises(ClusterError, match=r"is gone.*state\.checkpoint holds the checkpoint of iteration 5"):
                crf.fit(folder, callbacks=[kill_it], checkpoint=checkpoint)
    finally:
        for program in (scheduler, worker):
            program.kill()
            program.wait()
    resumed = ChainCRF(client=client, **GIVEN).fit(folder, checkpoint=Checkpoint(path, resume=True))
    np.testing.assert_array_equal(resumed.result_.w, whole.result_.w)


def test_work_that_kills_each_worker_is_a_clear_error(processes):
    from distributed import Client

    from loglinear.dask.cluster import Cluster
    from loglinear.dask.spread import SpreadGroup

    with Client(processes, set_as_default=False) as client:
        group = SpreadGroup(Cluster(client), [1, 2])
        with pytest.raises(ClusterError, match=r"workers died several times in a row at .*explode-part-000.*memory"):
            group.total("explode", os._exit)
