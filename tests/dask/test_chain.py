"""Chains on a cluster against the same parts in one process."""

from __future__ import annotations

import gc
import importlib
import json
import pickle
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest

import loglinear
from loglinear import ChainFeatures, Checkpoint, ClusterError, DataError, OptionError
from loglinear.dask import ChainCRF, train
from loglinear.dask.cluster import Cluster, client_of, connected
from loglinear.dask.spread import SpreadGroup, Tally
from loglinear.data.parts import cut
from loglinear.models.training.chain_parts import of_parts, train_parts
from loglinear.models.training.options import SolverOptions
from loglinear.objectives.parts import ChainParts
from oracles.samples import chunky

TEMPLATE = "U:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB\n"


def write(folder, n=60, files=3):
    """Write sentences to files of columns."""
    X, y = chunky(n)
    for number in range(files):
        with open(folder / f"part-{number}.txt", "w") as file:
            for tokens, labels in list(zip(X, y, strict=True))[number::files]:
                file.writelines(f"{' '.join(token)} {label}\n" for token, label in zip(tokens, labels, strict=True))
                file.write("\n")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def parts(folder):
    return cut(folder, template=TEMPLATE, part_bytes=400)


@pytest.mark.parametrize("features", [ChainFeatures(), ChainFeatures(constraints=[("A", "A")], order=2)])
def test_value_gradient_and_restriction_are_bitwise_those_of_one_process(client, parts, features):
    if features.constraints:
        features = ChainFeatures(order=2)
    here = ChainParts(parts, features)
    there = ChainParts(SpreadGroup(Cluster(client), parts), features)
    assert there.table.core.pack() == here.table.core.pack()
    for density in (1.0, 0.05):
        rng = np.random.default_rng(0)
        w = rng.normal(size=here.n_features) * (rng.random(here.n_features) < density)
        value, gradient = there.value_and_gradient(w)
        expected, expected_gradient = here.value_and_gradient(w)
        assert value == expected
        np.testing.assert_array_equal(gradient, expected_gradient)
        np.testing.assert_array_equal(there.sample_nlls(w), here.sample_nlls(w))
        kept = np.arange(1, here.n_features, 3)
        small, small_there = here.restrict(kept), there.restrict(kept)
        assert small_there.value_and_gradient(w[kept])[0] == small.value_and_gradient(w[kept])[0]
        np.testing.assert_array_equal(small_there.value_and_gradient(w[kept])[1], small.value_and_gradient(w[kept])[1])
    assert of_parts(here) == of_parts(there)


@pytest.mark.parametrize(
    "options",
    [{"l2": 1.0}, {"l1": 0.5}, {"l1": 0.5, "solver": "grafting_light"}, {"l1": 0.5, "solver": "parameter_mixing"}],
)
def test_weights_and_model_file_are_bitwise_those_of_one_process(client, folder, parts, options):
    options = {**options, "max_iterations": 12}
    model, result = train_parts(ChainParts(parts), SolverOptions(**options))
    with pytest.warns(Warning, match="limit"):
        crf = ChainCRF(template=TEMPLATE, client=client, part_bytes=400, **options).fit(str(folder / "part-*.txt"))
    np.testing.assert_array_equal(crf.result_.w, result.w)
    files = [each.to_bytes() for each in (crf.model_, model)]
    settings = [json.loads(each.settings) for each in (crf.model_, model)]
    for each in settings:
        each["training"].pop("seconds")
    assert settings[0] == settings[1]
    assert files[0][-len(files[0]) // 2 : -8] == files[1][-len(files[1]) // 2 : -8]


@pytest.mark.parametrize("count", [1, 2, 4, 8, 64])
def test_sums_are_bitwise_the_same_in_bundles_of_any_number_of_parts(client, folder, monkeypatch, count):
    parts = cut(folder, template=TEMPLATE, part_bytes=150)
    home = importlib.import_module("loglinear.dask.spread")
    monkeypatch.setattr(home, "bundle_size", lambda n_parts, n_threads: count)
    assert len(parts) > 8
    here, there = ChainParts(parts), ChainParts(SpreadGroup(Cluster(client), parts))
    w = np.random.default_rng(0).normal(size=here.n_features)
    assert there.value_and_gradient(w)[0] == here.value_and_gradient(w)[0]
    np.testing.assert_array_equal(there.value_and_gradient(w)[1], here.value_and_gradient(w)[1])
    np.testing.assert_array_equal(there.sample_nlls(w), here.sample_nlls(w))


def test_every_road_of_the_data_leads_to_the_same_model(client, tmp_path):
    import dask.bag
    import pyarrow
    import pyarrow.parquet

    from dask import delayed

    X, y = chunky(40)
    cuts = [0, 15, 25, 40]
    chunks = [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
    for number, (xs, ys) in enumerate(chunks):
        rows = [{"tokens": tokens, "labels": labels} for tokens, labels in zip(xs, ys, strict=True)]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        columns = {name: [row[name] for row in rows] for name in ("tokens", "labels")}
        (tmp_path / "parquet").mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "parquet" / f"{number}.parquet")
    pairs = dask.bag.from_delayed([delayed(list)(list(zip(*chunk, strict=True))) for chunk in chunks])
    sentences = dask.bag.from_delayed([delayed(list)(xs) for xs, _ in chunks])
    labels = dask.bag.from_delayed([delayed(list)(ys) for _, ys in chunks])
    largest = max(path.stat().st_size for path in tmp_path.glob("*.jsonl"))  # no two files are one part
    crf = ChainCRF(l2=1.0, client=client, part_bytes=largest)
    expected = crf.fit(str(tmp_path / "*.jsonl")).result_.w
    for given in (
        (pairs,),
        (sentences, labels),
        ([delayed(tuple)(chunk) for chunk in chunks],),
        (client.scatter([tuple(chunk) for chunk in chunks]),),
        (tmp_path / "parquet",),
    ):
        np.testing.assert_array_equal(crf.fit(*given).result_.w, expected)
    whole = loglinear.ChainCRF(l2=1.0).fit(X, y)
    assert crf.fit(X, y).result_.objective == pytest.approx(whole.result_.objective, rel=1e-6)
    assert crf.predict(X) == whole.predict(X)


def test_bags_are_tagged_where_they_are(client):
    import dask.bag

    X, y = chunky(30)
    crf = ChainCRF(l2=0.1, client=client).fit(X, y)
    found = crf.predict(dask.bag.from_sequence(X, npartitions=4))
    assert client.compute(found, sync=True) == loglinear.ChainCRF.predict(crf, X)
    one = crf.to_local()
    assert type(one) is loglinear.ChainCRF
    assert pickle.loads(pickle.dumps(one)).predict(X) == pickle.loads(pickle.dumps(crf)).predict(X)


def test_labels_keep_their_type_and_start_gives_the_weights(client):
    X, y = chunky(30)
    numbers = [["ABC".index(label) for label in labels] for labels in y]
    crf = ChainCRF(l2=0.5, client=client).fit(X, numbers)
    assert {type(label) for label in crf.classes_} == {int}
    again = ChainCRF(l2=0.5, client=client).fit(X, numbers, start=crf.to_local())
    assert again.result_.start.n_shared == again.result_.w.size
    assert again.result_.trace[0].objective == pytest.approx(crf.result_.objective)
    assert train(client, X, numbers, l2=0.5)["model"].predict(X[:2]) == crf.predict(X[:2])


def test_mistakes_in_files_name_file_and_line(client, tmp_path):
    write(tmp_path, 30, 3)
    lines = (tmp_path / "part-1.txt").read_text().splitlines()
    lines[40] = "alone"
    (tmp_path / "part-1.txt").write_text("\n".join(lines) + "\n")
    crf = ChainCRF(template=TEMPLATE, client=client, part_bytes=200)
    with pytest.raises(DataError, match=r"part-1\.txt, line 41"):
        crf.fit(tmp_path)
    with pytest.raises(FileNotFoundError, match="part-7"):
        crf.fit([tmp_path / "part-0.txt", tmp_path / "part-7.txt"])
    with pytest.raises(DataError, match=r"partition 1.*no pair"):
        crf.fit(client.scatter([([[("a", "b")]], [["A"]]), 3]))
    with pytest.raises(DataError, match="need labels"):
        crf.fit([[["a"]]])


def test_constraints_that_forbid_a_label_name_the_part(client):
    X, y = [[["a"], ["b"]]] * 3, [["A", "B"]] * 3
    with pytest.raises(DataError, match="sentences from 0"):
        ChainCRF(client=client, constraints=[("A", "B")]).fit(X, y)


def test_workers_of_another_version_are_refused(client, monkeypatch):
    home = importlib.import_module("loglinear.dask.cluster")
    monkeypatch.setattr(home, "__version__", "9.9")
    with pytest.raises(ClusterError, match=r"worker .* has loglinear .*, this process 9\.9"):
        Cluster(client)


def test_a_worker_that_comes_later_with_another_version_is_refused(client, parts, monkeypatch):
    objective = ChainParts(SpreadGroup(Cluster(client), parts))
    home = importlib.import_module("loglinear.dask.spread")
    monkeypatch.setattr(home, "__version__", "9.9")  # of the tasks, and in this process of the workers as well
    things = home._things
    monkeypatch.setattr(home, "_things", lambda version, bundle: things("9.8", bundle))
    with pytest.raises(ClusterError, match=r"a worker has loglinear 9\.9, the training is one of 9\.8"):
        objective.value_and_gradient(np.zeros(objective.n_features))


def test_a_cluster_that_is_not_there_is_a_clear_error():
    with pytest.raises(ClusterError, match="no Dask client"):
        client_of(None)
    with pytest.raises(ClusterError, match=r"no distributed\.Client"):
        client_of("tcp://here")


def test_a_checkpoint_resumes_on_another_cluster_with_the_same_weights(client, folder, tmp_path):
    given = {"template": TEMPLATE, "part_bytes": 400, "l1": 0.5}
    whole = ChainCRF(client=client, **given).fit(folder)
    path = tmp_path / "checkpoint"

    def stop(record, state):
        if record.iteration == 7:
            message = "the machine is on fire"
            raise ClusterError(message)

    with pytest.raises(ClusterError, match=r"on fire; .*checkpoint holds the checkpoint of iteration 6"):
        ChainCRF(client=client, **given).fit(folder, callbacks=[stop], checkpoint=Checkpoint(path, 0))
    from distributed import Client

    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0", set_as_default=False
    ) as other:
        resumed = ChainCRF(client=other, **given).fit(folder, checkpoint=Checkpoint(path, 0, resume=True))
        np.testing.assert_array_equal(resumed.result_.w, whole.result_.w)
        write(tmp_path, 61)
        with pytest.raises(OptionError, match="training data"):
            ChainCRF(client=other, **given).fit(tmp_path / "part-0.txt", checkpoint=Checkpoint(path, resume=True))


def test_the_tally_knows_rounds_bytes_and_the_slowest_part(client, parts):
    tally = Tally()
    objective = ChainParts(SpreadGroup(Cluster(client), parts, tally))
    before = tally.rounds, tally.sent, tally.received
    w = np.ones(objective.n_features)
    objective.value_and_gradient(w)
    assert tally.rounds == before[0] + 1
    assert tally.sent - before[1] == 2 * w.nbytes  # two workers
    assert tally.received - before[2] == w.nbytes + 16  # the value, and the number of samples
    assert 0 <= tally.slowest.part < len(parts)
    assert tally.slowest.seconds <= tally.slowest.total
    assert "slowest at part" in tally.line()
    objective.value_and_gradient(np.zeros(objective.n_features))
    assert tally.sent - before[1] == 2 * w.nbytes  # zeros weigh nothing


def test_the_workers_hold_the_objectives_of_the_parts_and_nothing_else(client, parts):
    cluster = Cluster(client)
    objective = ChainParts(SpreadGroup(cluster, parts))
    objective.value_and_gradient(np.zeros(objective.n_features))
    objective.restrict(np.arange(4)).value_and_gradient(np.zeros(4))
    for expected in ({"lay-out"}, set()):
        found = None
        for _ in range(100):
            gc.collect()
            there = (key for key, workers in client.who_has().items() if workers and cluster._run in str(key))
            found = {key.split("-part")[0] for key in there}
            if found == expected:
                break
            time.sleep(0.05)
        assert found == expected
        objective = None


def test_importing_the_library_does_not_import_dask():
    program = "import loglinear, sys; loglinear.ChainCRF; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_missing_dask_is_named_with_the_remedy():
    program = "import sys; sys.modules['distributed'] = None\nimport loglinear.dask"
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert "pip install 'loglinear[distributed]'" in ended.stderr


def test_no_scheduler_at_an_address_is_a_clear_error():
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}),
        pytest.raises(ClusterError, match="no Dask scheduler answers at tcp://127"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass
