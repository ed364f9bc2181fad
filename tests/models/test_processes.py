"""Training and labelling in forked and spawned processes, after the parent has started threads of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oracles.patience import patience

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

COMMON = """
import multiprocessing, os, sys, threading, time
import numpy as np
from loglinear import ChainCRF

X = [[["a", "b"], ["b"], ["c"]], [["c"], ["a"]], [["b", "c"], ["a"]]] * 40
y = [["A", "B", "C"], ["C", "A"], ["B", "A"]] * 40
rng = np.random.default_rng(0)
M, z = rng.normal(size=(300, 8)), rng.integers(0, 3, 300)

def chain(n_jobs):
    crf = ChainCRF(l2=0.1, n_jobs=n_jobs).fit(X, y)
    return crf.result_.objective, crf.predict(X[:3])

def classes(n_jobs):
    from loglinear import MaxEnt
    maxent = MaxEnt(n_jobs=n_jobs).fit(M, z)
    return maxent.result_.objective, maxent.predict(M[:20]).tolist()

def network(n_jobs):
    from loglinear import PairwiseMRF
    mrf = PairwiseMRF(l1=3.0, objective="pseudolikelihood", n_jobs=n_jobs).fit((M > 0).astype(int))
    return mrf.result_.objective, len(mrf.edges_)

def chains(number):
    return [chain(1), chain(2)]

def work(number):
    return [*chains(0), classes(1), classes(2), network(2)]
"""


def run(program, tmp_path, *, seconds=100):
    """Run a program in a fresh interpreter; a hang is an error."""
    script = tmp_path / "program.py"
    script.write_text(COMMON + program)
    command = [sys.executable, "-W", "ignore", script]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=alone)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.split()


FORK = """
def in_child(work):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, repr(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        found = file.read().decode()
    os.waitpid(pid, 0)
    return found
"""


def test_a_forked_child_trains_and_labels_as_its_parent_does(tmp_path):
    program = """
crf, expected = ChainCRF().fit(X, y), work(0)
def child():
    assert crf.predict(X) == y
    # A child of a child as well.
    return work(0) if in_child(lambda: work(0)) == repr(expected) else None
for _ in range(2):
    assert in_child(child) == repr(expected), "child"
    assert work(0) == expected, "parent"
print("done")
"""
    assert run(FORK + program, tmp_path) == ["done"]


def test_an_objective_made_before_the_fork_is_evaluated_in_the_child(tmp_path):
    program = """
from loglinear import ChainObjective, ClassifierObjective, Corpus
for objective in (ChainObjective(Corpus.encode(X, y), threads=2), ClassifierObjective(M, z, n_classes=3, threads=2)):
    w = rng.normal(size=objective.n_features)
    def evaluate():
        value, gradient = objective.value_and_gradient(w)
        return value, gradient.tolist()
    assert in_child(evaluate) == repr(evaluate())
print("done")
"""
    assert run(FORK + program, tmp_path) == ["done"]


@pytest.mark.slow
def test_a_fork_from_a_thread_while_another_trains(tmp_path):
    program = """
expected, stop = work(0), threading.Event()
def train():
    while not stop.is_set():
        assert chain(2) == expected[1]
trainer = threading.Thread(target=train)
trainer.start()
try:
    for _ in range(6):
        assert in_child(lambda: work(0)) == repr(expected)
finally:
    stop.set()
    trainer.join()
print("done")
"""
    assert run(FORK + program, tmp_path) == ["done"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_pool_of_processes(method, tmp_path):
    program = f"""
if __name__ == "__main__":
    expected = chains(0)
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map(chains, range(3)) == [expected] * 3
    assert chains(0) == expected
    print("done")
"""
    assert run(program, tmp_path) == ["done"]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_backends_of_joblib(backend, tmp_path):
    program = f"""
if __name__ == "__main__":
    import joblib
    expected = chains(0)
    with joblib.parallel_backend({backend!r}):
        assert joblib.Parallel(n_jobs=2)(joblib.delayed(chains)(k) for k in range(3)) == [expected] * 3
    assert chains(0) == expected
    print("done")
"""
    assert run(program, tmp_path) == ["done"]


@pytest.mark.slow
def test_a_grid_search_in_forked_processes(tmp_path):
    program = """
import multiprocessing
import joblib
from sklearn.model_selection import GridSearchCV
multiprocessing.set_start_method("fork")
with joblib.parallel_backend("multiprocessing"):
    ChainCRF().fit(X, y)
    search = GridSearchCV(ChainCRF(), {"l2": [0.1, 1.0, 10.0]}, cv=3, n_jobs=2).fit(X, y)
print("done", search.best_score_)
"""
    assert run(program, tmp_path) == ["done", "1.0"]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs the threads' names of Linux")
def test_n_jobs_is_the_number_of_threads_that_work(tmp_path):
    program = """
from collections import Counter
from pathlib import Path
from loglinear import GraphCRF, MaxEnt, PairwiseMRF
def names():
    return Counter(each.read_text().strip() for each in Path("/proc/self/task").glob("*/comm"))
before = names()
for order in (1, 2):
    crf = ChainCRF(order=order, n_jobs=1).fit(X, y)
    crf.predict(X), crf.marginals(X), crf.log_probability(X, y)
for solver in ("grafting_light", "sag", "clustered"):
    ChainCRF(solver=solver, l1=float(solver[0] == "g"), l2=0.1, n_jobs=1, max_iterations=3).fit(X, y)
sparse = np.where(M > 1, M, 0.0)
for data in (M, sparse):
    for multi_class in ("softmax", "ovr"):
        MaxEnt(multi_class=multi_class, n_jobs=1).fit(data, z).predict_proba(data)
MaxEnt(solver="prox_newton", l1=1.0, n_jobs=1).fit(M, z > 1)
for objective in ("likelihood", "pseudolikelihood", "nodewise"):
    PairwiseMRF(l1=3.0, objective=objective, n_jobs=1).fit((M > 0).astype(int))
graphs = [(M[:4], np.array([[0, 1], [1, 2], [2, 3]]))] * 3
GraphCRF(n_jobs=1).fit(graphs, [z[:4]] * 3).predict_proba(graphs)
time.sleep(0.1)  # the last thread that has ended may still be listed
print(*(names() - before).elements())
"""
    assert run(program, tmp_path) in (["loglinear-0"], [])


@pytest.mark.slow
def test_workers_of_a_data_loader_label_in_a_loop(tmp_path):
    """Workers as PyTorch's: forked after the parent has labelled, each with its share, results over a queue."""
    program = """
from loglinear import Tagger
crf = ChainCRF(l2=0.1).fit(X, y)
tagger = Tagger(crf)
expected = crf.predict(X), tagger.tag_batch(X)
def work(number, results):
    for at in range(number, 120, 3):
        batch = X[at : at + 4]
        results.put((at, crf.predict(batch), tagger.tag_batch(batch)))
context = multiprocessing.get_context("fork")
results = context.Queue()
workers = [context.Process(target=work, args=(number, results), daemon=True) for number in range(3)]
for worker in workers:
    worker.start()
seen = set()
for _ in range(120):
    at, predicted, tagged = results.get(timeout=SECONDS)
    assert [predicted, tagged] == [each[at : at + 4] for each in expected]
    assert tagger.tag_batch(X[:2]) == expected[1][:2]  # the parent works meanwhile
    seen.add(at)
for worker in workers:
    worker.join(60)
    assert worker.exitcode == 0
print("done", len(seen))
"""
    assert run(program.replace("SECONDS", str(patience(60))), tmp_path) == ["done", "120"]


def test_several_processes_of_a_preloaded_model(tmp_path):
    """The parent has trained and labelled; its children do both, at the same time, and so does it afterwards."""
    program = """
from loglinear import Tagger
crf = ChainCRF(l2=0.1, n_jobs=2).fit(X, y)
tagger = Tagger(crf)
expected = [crf.predict(X), tagger.tag_batch(X), chain(2)]
def all_of_it():
    return [crf.predict(X), tagger.tag_batch(X), chain(2)]
assert all_of_it() == expected
children = []
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if all_of_it() == expected else 3)
        finally:
            os._exit(4)
    children.append(pid)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 5
assert all_of_it() == expected
print("done")
"""
    assert run(program, tmp_path) == ["done"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="needs POSIX")
def test_a_service_whose_workers_are_killed_answers_right():
    program = Path(__file__).parents[2] / "benchmarks" / "service.py"
    command = [sys.executable, program, "--requests", "200", "--kills", "6", "--workers", "2", "--clients", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(100), check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(done.stdout)
    assert (found["requests"], found["wrong"], found["missing"]) == (200, 0, 0)
    # A busy machine may have answered all before the last of them.
    assert 0 < found["kills"] <= 6


FIRST_CALLS = """
import random
def first_fit_while_forking(seed):
    # The second thread is somewhere in the imports of its first fit.
    trainer = threading.Thread(target=lambda: chain(1))
    trainer.start()
    time.sleep(random.Random(seed).uniform(0, {longest}))
    pid = os.fork()
    if pid == 0:
        try:
            chain(1)
            os._exit(0)
        finally:
            os._exit(4)
    deadline = time.monotonic() + {patience}
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(pid, 9)
            break
        time.sleep(0.01)
    trainer.join()
    return ended[1] == 0 and ended[0] == pid
assert first_fit_while_forking({seed})
print("done")
"""


def fork_in_first_fit(seed, tmp_path):
    longest, seconds = 0.2 * patience(1), patience(20)
    program = FIRST_CALLS.format(longest=longest, patience=seconds, seed=seed)
    return run(program, tmp_path, seconds=3 * seconds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_a_fork_during_the_first_fit_of_another_thread(seed, tmp_path):
    assert fork_in_first_fit(seed, tmp_path) == ["done"]


def test_a_fork_waits_for_the_import_of_another_thread(tmp_path):
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.3)\nfinished = True\n", encoding="utf-8")
    program = """
sys.path.insert(0, os.path.dirname(__file__))
importer = threading.Thread(target=lambda: __import__("slow"))
importer.start()
while "slow" not in sys.modules:
    time.sleep(0.001)
def child():
    import slow
    return slow.finished
print(in_child(child))
importer.join()
"""
    assert run(FORK + program, tmp_path) == ["True"]


def test_a_fork_within_an_import_does_not_wait(tmp_path):
    forking = "import os, threading\nwhile threading.active_count() < 3: pass\npid = os.fork()\npid or os._exit(0)\n"
    (tmp_path / "forking.py").write_text(forking + "os.waitpid(pid, 0)\n", encoding="utf-8")
    (tmp_path / "slow.py").write_text("import threading, time\ntime.sleep(0.2)\nimport forking\n", encoding="utf-8")
    program = """
sys.path.insert(0, os.path.dirname(__file__))
threads = [threading.Thread(target=lambda name=name: __import__(name)) for name in ("forking", "slow")]
began = time.monotonic()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(time.monotonic() - began < 8)
"""
    assert run(program, tmp_path) == ["True"]
