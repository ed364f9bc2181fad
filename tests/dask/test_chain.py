"""Chains on a cluster against the same parts in one process."""

from __future__ import annotations

import gc
import importlib
import json
import pickle
import subprocess
import sys
import time
import warnings
from inspect import signature
from itertools import pairwise

import numpy as np
import pytest

import loglinear
from loglinear import ChainFeatures, Checkpoint, ClusterError, Corpus, DataError, OptionError
from loglinear.dask import ChainCRF, train
from loglinear.dask.cluster import Cluster, client_of, connected
from loglinear.dask.spread import SpreadGroup, Tally, _packed, _unpacked
from loglinear.data.parts import ListedPart, cut
from loglinear.models.training.chain import DevSet, train_chain
from loglinear.models.training.options import DevOptions, SolverOptions
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
    assert here.fingerprint() == there.fingerprint()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"l2": 1.0}, marks=pytest.mark.smoke),
        {"l1": 0.5},
        {"l1": 0.5, "solver": "grafting_light"},
        {"l1": 0.5, "solver": "parameter_mixing"},
    ],
)
def test_weights_and_model_file_are_bitwise_those_of_one_process(client, folder, parts, options):
    options = {**options, "max_iterations": 12}
    model, result = train_chain(ChainParts(parts), SolverOptions(**options))
    with pytest.warns(Warning, match="limit"):
        crf = ChainCRF(template=TEMPLATE, client=client, part_bytes=400, **options).fit(str(folder / "part-*.txt"))
    np.testing.assert_array_equal(crf.result_.w, result.w)
    files = [each.to_bytes() for each in (crf.model_, model)]
    settings = [json.loads(each.settings) for each in (crf.model_, model)]
    for each in settings:
        each["training"].pop("seconds")
    assert settings[0] == settings[1]
    # From the end: the seconds make the settings at the beginning shorter or longer.
    half = min(map(len, files)) // 2
    assert files[0][-half:-8] == files[1][-half:-8]


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
    weights = [0.25 * (number % 5) for number in range(40)]
    cuts = [0, 15, 25, 40]
    chunks = [(X[a:b], y[a:b], weights[a:b]) for a, b in pairwise(cuts)]
    for number, chunk in enumerate(chunks):
        names = ("tokens", "labels", "weight")
        rows = [dict(zip(names, row, strict=True)) for row in zip(*chunk, strict=True)]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        columns = dict(zip(names, chunk, strict=True))
        (tmp_path / "parquet").mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "parquet" / f"{number}.parquet")
    bags = [dask.bag.from_delayed([delayed(list)(chunk[k]) for chunk in chunks]) for k in range(3)]
    rows = dask.bag.read_text(str(tmp_path / "*.jsonl")).map(json.loads)
    largest = max(path.stat().st_size for path in tmp_path.glob("*.jsonl"))  # no two files are one part
    crf = ChainCRF(l2=1.0, client=client, part_bytes=largest)
    expected = crf.fit(str(tmp_path / "*.jsonl")).result_.w
    for given in (
        (rows,),
        bags,
        ([delayed(tuple)(chunk) for chunk in chunks],),
        (client.scatter([tuple(chunk) for chunk in chunks]),),
        (tmp_path / "parquet",),
    ):
        sample_weight = given[2] if len(given) == 3 else None
        np.testing.assert_array_equal(crf.fit(*given[:2], sample_weight=sample_weight).result_.w, expected)
    whole = loglinear.ChainCRF(l2=1.0).fit(X, y, sample_weight=weights)
    assert crf.fit(X, y, sample_weight=weights).result_.objective == pytest.approx(whole.result_.objective, rel=1e-6)
    assert crf.predict(X) == whole.predict(X)
    pairs = dask.bag.from_delayed([delayed(list)(list(zip(*chunk[:2], strict=True))) for chunk in chunks])
    unweighted = crf.fit(pairs).result_.w
    np.testing.assert_array_equal(crf.fit(*bags[:2]).result_.w, unweighted)
    assert not np.array_equal(unweighted, expected)


def test_the_options_are_those_of_one_process():
    constructors, fits = ([signature(getattr(kind, name)).parameters for kind in (loglinear.ChainCRF, ChainCRF)]
                          for name in ("__init__", "fit"))  # fmt: skip
    assert {*constructors[1]} - {*constructors[0]} == {"client", "part_bytes"}
    assert {*fits[1]} - {*fits[0]} == {
        "format", "partial", "separator", "label_column", "weight_column", "skip_comments", "tally"}  # fmt: skip
    for here, there in (constructors, fits):
        assert {name: there[name].default for name in here} == {name: each.default for name, each in here.items()}


def told(fit):
    """The texts of the warnings that a training gives, each of which names the line of the caller."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        crf = fit()
    assert {each.filename for each in caught} <= {__file__}
    return crf, sorted(str(each.message) for each in caught)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["1 of 30 sentences have no known label"]),
        (
            {"constraints": "auto"},
            ["1 of 30 sentences", "constraints='auto': the labels do not follow a tagging scheme"],
        ),
        ({"min_count": 500}, ["1 of 30 sentences", "no attribute is left: none occurs on 500 or more tokens"]),
        ({"l1": 1e9}, ["1 of 30 sentences", "no feature is left: l1=1e+09"]),
    ],
)
def test_the_warnings_are_those_of_one_process(client, options, expected):
    X, y = chunky(30)
    y[11] = [None] * len(y[11])
    _, here = told(lambda: loglinear.ChainCRF(**options).fit(X, y))
    _, there = told(lambda: ChainCRF(client=client, **options).fit(X, y))
    assert there == here
    assert [text.startswith(start) for text, start in zip(here, expected, strict=True)] == [True] * len(expected)


def test_a_model_to_start_at_with_another_template_or_labels_of_another_type_is_told(client):
    X, y = [["Dogs", "bark"]] * 3, [["N", "V"]] * 3
    old = loglinear.ChainCRF(template="U:%x[0,0]\n").fit(X, y)
    _, here = told(lambda: loglinear.ChainCRF(template=TEMPLATE.replace("/%x[0,1]", "")).fit(X, y, start=old))
    _, there = told(lambda: ChainCRF(template=TEMPLATE.replace("/%x[0,1]", ""), client=client).fit(X, y, start=old))
    assert there == here
    assert "has another template" in here[0]
    crf, none = told(lambda: ChainCRF(client=client).fit(X, y, start=old))
    assert (crf.model_.template, crf.result_.start.n_shared, none) == ("U:%x[0,0]\n", old.result_.w.size, [])
    with pytest.raises(DataError, match="the labels are of type int, and the model to start at has labels of type str"):
        ChainCRF(client=client).fit(X, [[0, 1]] * 3, start=old)


def noisy(n, seed):
    """Sentences of which a third have labels at random, and their weights."""
    X, y = chunky(n, seed)
    rng = np.random.default_rng(seed)
    for labels in y[::3]:
        labels[:] = rng.choice([*"ABC"], len(labels)).tolist()
    return X, y, (rng.integers(0, 4, n) / 2).tolist()


@pytest.mark.parametrize("use", [{}, {"keep": "best"}, {"patience": 2}, {"patience": 2, "keep": "last"}])
def test_weights_and_development_data_choose_the_iteration_of_one_process(client, monkeypatch, use):
    monkeypatch.setattr(importlib.import_module("loglinear.dask.data"), "SENTENCES", 17)
    X, y, sample_weight = noisy(60, 1)
    dev, options = noisy(40, 2)[:2], {"l2": 0.001, "solver": "lbfgs", "max_iterations": 25, **use}
    data = {"sample_weight": sample_weight, "X_dev": dev[0], "y_dev": dev[1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the limit
        here = loglinear.ChainCRF(**options).fit(X, y, **data)
        there = ChainCRF(client=client, **options).fit(X, y, **data)
        parts = [ListedPart("", X[a : a + 17], y[a : a + 17], None, sample_weight[a : a + 17]) for a in (0, 17, 34, 51)]
        scored = DevSet(Corpus.encode(*dev), there._options(DevOptions))
        _, result = train_chain(ChainParts(parts), there._options(SolverOptions), dev=scored)
        unweighted = loglinear.ChainCRF(**options).fit(X, y, **data | {"sample_weight": None})
    assert (there.result_.iterations, there.result_.kept, there.result_.status.name) == (
        here.result_.iterations,
        here.result_.kept,
        here.result_.status.name,
    )
    assert [record.dev for record in there.result_.trace] == [record.dev for record in here.result_.trace]
    assert (here.result_.iterations < 25) == ("patience" in use)
    assert (here.result_.kept is not None) == (use not in ({}, {"patience": 2, "keep": "last"}))
    np.testing.assert_array_equal(there.result_.w, result.w)
    expected = pytest.approx(here.state_features_, rel=1e-6, abs=1e-9)
    assert there.state_features_ == expected
    assert unweighted.state_features_ != expected
    settings = [json.loads(crf.model_.settings) for crf in (here, there)]
    assert [each[name] for each in settings for name in ("keep", "patience")] == 2 * [
        use.get("keep"),
        use.get("patience"),
    ]


def test_patience_without_development_data_is_refused_before_data_are_read(client):
    with pytest.raises(OptionError, match="patience=3 needs development data"):
        ChainCRF(client=client, patience=3).fit("nowhere.txt")


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
    with pytest.raises(DataError, match=r"partition 1 is neither"):
        crf.fit(client.scatter([([[("a", "b")]], [["A"]]), 3]))
    with pytest.raises(DataError, match="have no labels"):
        crf.fit([[["a"]]])
    with pytest.raises(OptionError, match="leave out sample_weight"):
        crf.fit(tmp_path, sample_weight=[1.0])
    with pytest.raises(DataError, match=r"sentence 1: weight -1.0 is not"):
        crf.fit([[("a", "b")]] * 2, [["A"]] * 2, sample_weight=[1.0, -1.0])
    with pytest.raises(DataError, match="2 sentences, but weights for 1"):
        crf.fit([[("a", "b")]] * 2, [["A"]] * 2, sample_weight=[1.0])


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


@pytest.mark.parametrize("size", [0, 1, 24, 25, 1000])
def test_arrays_travel_as_what_is_smaller_and_arrive_as_they_were(size):
    rng = np.random.default_rng(size)
    for n_filled in {0, size // 4, size // 3 + 1, size}:
        array = np.zeros(size)
        array[rng.permutation(size)[:n_filled]] = 1.0
        n_filled = np.count_nonzero(array)
        packed, n_bytes = _packed(array)
        np.testing.assert_array_equal(_unpacked(packed), array)
        # A place of 4 bytes and a number of 8, if that is less than half of all numbers.
        assert n_bytes == (12 * n_filled if 2 * 12 * n_filled < 8 * size else 8 * size)
    for other in (np.arange(6), np.zeros((3, 2)), np.zeros(5, dtype=np.float32)):
        packed, n_bytes = _packed(other)
        assert n_bytes == other.nbytes
        assert packed is not other
        np.testing.assert_array_equal(_unpacked(packed), other)


def test_a_cluster_that_is_not_there_is_a_clear_error():
    with pytest.raises(ClusterError, match="no Dask client"):
        client_of(None)
    with pytest.raises(ClusterError, match=r"not a distributed\.Client"):
        client_of("tcp://here")


def test_a_checkpoint_resumes_on_another_cluster_with_the_same_weights(client, folder, tmp_path):
    given = {"template": TEMPLATE, "part_bytes": 400, "l1": 0.5}
    whole = ChainCRF(client=client, **given).fit(folder)
    path = tmp_path / "checkpoint"

    def stop(record, state):
        if record.iteration == 7:
            message = "the machine is on fire"
            raise ClusterError(message)

    with pytest.raises(ClusterError, match=r"on fire; .*checkpoint has the checkpoint of iteration 6"):
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


@pytest.mark.smoke
def test_a_prior_serves_a_cluster_as_it_serves_one_process(client):
    X, y = [[["a"], ["b"]], [["b"], ["c"]], [["c"]]], [["A", "B"], ["B", "C"], ["C"]]
    old = loglinear.ChainCRF().fit([[["a"], ["x"]], [["c"]]], [["B", "D"], ["A"]])
    here = loglinear.ChainCRF(l2=2.0).fit(X, y, prior=old)
    there = ChainCRF(l2=2.0, client=client).fit(X, y, prior=old)
    assert there.result_.prior == here.result_.prior
    assert there.result_.objective == pytest.approx(here.result_.objective)
    assert there.model_.labels == here.model_.labels
    assert there.state_features_["x", "D"] == old.state_features_["x", "D"]
