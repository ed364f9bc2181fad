"""Laws of corpora on disk: a corpus that is saved, encoded or appended to is the corpus in memory, bit for bit."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loglinear
from examples import examples
from loglinear import (
    LBFGS,
    OWLQN,
    SGDL1,
    ChainCRF,
    ChainFeatures,
    ChainObjective,
    Corpus,
    CorpusFile,
    DataError,
    ElasticNet,
    OptionError,
    Problem,
    Stop,
    minimize,
)
from loglinear.solvers.common.per_sample import visiting
from oracles.samples import sentences

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\nB1:%x[0,0]\n"


def text_of(n, seed, *, start=0):
    """Sentences in columns, a word and a label a line."""
    rng = np.random.default_rng(seed)
    blocks = (rng.integers(0, 30, rng.integers(1, 9)) for _ in range(n))
    return "".join("".join(f"w{word + start} L{word % 4}\n" for word in block) + "\n" for block in blocks)


@pytest.fixture
def files(tmp_path):
    """Three texts."""
    paths = []
    for seed in range(3):
        paths.append(tmp_path / f"{seed}.txt")
        paths[-1].write_text(text_of(60, seed, start=5 * seed))
    return paths


def same(found, expected):
    """Compare all that two corpora hold."""
    assert (len(found), found.n_tokens, found.labels) == (len(expected), expected.n_tokens, expected.labels)
    assert found.gold() == expected.gold()
    assert found.core.names() == expected.core.names()
    for ours, theirs in zip(found.core.rows(), expected.core.rows(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(found.core.weights(), expected.core.weights())
    assert (found.template, found.format, found.label_type) == (
        expected.template,
        expected.format,
        expected.label_type,
    )


@pytest.mark.thread_unsafe
@given(seed=st.integers(0, 1000), valued=st.booleans(), order=st.sampled_from([1, 2]), threads=st.sampled_from([1, 2]))
@examples(40)
def test_objectives_of_a_corpus_on_disk_are_those_in_memory_bit_for_bit(tmp_path_factory, seed, valued, order, threads):
    X, y = sentences(30, seed, valued=valued)
    corpus = Corpus.encode(X, y, sample_weight=np.random.default_rng(seed).integers(0, 3, len(X)))
    path = tmp_path_factory.mktemp("corpora") / "c"
    corpus.save(path)
    opened = Corpus.open(path)
    same(opened, corpus)
    for features in (ChainFeatures(order=order), ChainFeatures(order=order, all_states=True, min_count=2)):
        ours, theirs = (ChainObjective(each, features, threads=threads) for each in (opened, corpus))
        assert ours.feature_counts == theirs.feature_counts
        w = np.random.default_rng(seed).normal(size=ours.n_features)
        some = np.arange(0, ours.n_features, 2)
        pairs = [(ours, theirs, w), (ours.restrict(some), theirs.restrict(some), w[some])]
        pairs.append((ours.batch([0, 1], 2.0), theirs.batch([0, 1], 2.0), w))
        for mine, other, weights in pairs:
            (value, gradient), (expected, wanted) = (each.value_and_gradient(weights) for each in (mine, other))
            assert value == expected
            np.testing.assert_array_equal(gradient, wanted)


def test_files_encoded_one_after_the_other_are_one_text(files, tmp_path):
    whole = tmp_path / "whole.txt"
    whole.write_text("".join(path.read_text() for path in files))
    with CorpusFile(tmp_path / "c", template=TEMPLATE) as corpus:
        for path in files:
            corpus.add(path)
    expected = Corpus.read(whole, template=TEMPLATE)
    same(Corpus.open(tmp_path / "c"), expected)
    same(Corpus.read(tmp_path / "c"), expected)
    same(Corpus.concat([Corpus.read(path, template=TEMPLATE) for path in files]), expected)
    # Corpora may be added in place of texts.
    with CorpusFile(tmp_path / "d") as corpus:
        corpus.add(Corpus.read(files[0], template=TEMPLATE))
    with CorpusFile(tmp_path / "d", append=True) as corpus:
        corpus.add(files[1])
        Corpus.read(files[2], template=TEMPLATE).save(tmp_path / "third")
        corpus.add(tmp_path / "third")
    same(Corpus.open(tmp_path / "d"), expected)


def test_models_are_the_same_file(files, tmp_path):
    corpus = Corpus.read(files[0], template=TEMPLATE)
    corpus.save(tmp_path / "c")
    for number, data in enumerate((corpus, Corpus.open(tmp_path / "c"))):
        ChainCRF(l1=0.1, l2=0.1, solver="owlqn").fit(data).save(tmp_path / str(number))
    contents = [(tmp_path / str(number)).read_bytes() for number in range(2)]
    models = [ChainCRF.load(tmp_path / str(number)) for number in range(2)]
    assert models[0].state_features_ == models[1].state_features_
    assert len(contents[0]) == pytest.approx(len(contents[1]), abs=64)  # the seconds of the training differ


@pytest.mark.parametrize(
    "solver", [LBFGS(), OWLQN(), SGDL1(passes=3, learning_rate=0.1)], ids=lambda each: each.__class__.__name__
)
def test_solvers_take_a_corpus_on_disk(files, tmp_path, solver):
    Corpus.read(files[0], template=TEMPLATE).save(tmp_path / "c")
    penalty = ElasticNet(l1=0.0 if isinstance(solver, LBFGS) else 0.1, l2=0.1 if isinstance(solver, LBFGS) else 0.0)
    results = []
    for corpus in (Corpus.open(tmp_path / "c"), Corpus.read(files[0], template=TEMPLATE)):
        problem = Problem(ChainObjective(corpus), penalty)
        results.append(minimize(problem, solver, stop=Stop(max_iterations=20)))
    np.testing.assert_array_equal(results[0].w, results[1].w)


def test_passes_visit_run_after_run_and_each_sample_once():
    ends = np.array([4, 5, 11])
    visits = visiting(3, 0, 11, ends)
    assert sorted(visits) == list(range(11))
    runs = np.searchsorted(ends, visits, side="right")
    assert np.count_nonzero(np.diff(runs)) == 2
    assert len({tuple(visiting(3, number, 11, ends)) for number in range(9)}) > 5
    np.testing.assert_array_equal(visits, visiting(3, 0, 11, ends))


def test_passes_over_a_large_corpus_on_disk_know_its_runs(files, tmp_path, monkeypatch):
    corpus = Corpus.read(files[0], template="U0:%x[0,0]\n")
    corpus.save(tmp_path / "c")
    assert ChainObjective(Corpus.open(tmp_path / "c")).per_sample().run_ends is None
    monkeypatch.setattr("loglinear.objectives.chain.MOST_IN_MEMORY", 0)
    assert ChainObjective(corpus).per_sample().run_ends is None
    assert ChainObjective(Corpus.open(tmp_path / "c")).per_sample().run_ends.tolist() == [len(corpus)]


def test_rare_attributes_are_left_out_before_they_have_numbers(files, tmp_path):
    with CorpusFile(tmp_path / "c", template=TEMPLATE) as corpus:
        kept = corpus.keep_frequent(files, 3)
        for path in files:
            corpus.add(path)
    found = Corpus.open(tmp_path / "c")
    whole = Corpus.concat([Corpus.read(path, template=TEMPLATE) for path in files])
    assert found.n_attributes == kept < whole.n_attributes
    ours, theirs = (ChainObjective(each, ChainFeatures(min_count=3)) for each in (found, whole))
    names = [sorted(map(str, each.feature_names(np.arange(each.n_features)))) for each in (ours, theirs)]
    assert names[0] == names[1]


def test_an_opened_corpus_pickles_as_its_path(files, tmp_path):
    Corpus.read(files[0], template=TEMPLATE).save(tmp_path / "c")
    corpus = Corpus.open(tmp_path / "c")
    assert len(pickle.dumps(corpus)) < 500
    same(pickle.loads(pickle.dumps(corpus)), corpus)
    with pytest.raises(TypeError, match="save the corpus and open it"):
        pickle.dumps(corpus[:3])


def test_an_encoding_that_fails_leaves_what_was_there(files, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text(text_of(10, 1) + "only-one-column\n")
    with pytest.raises(DataError, match=r"bad\.txt, line \d+"), CorpusFile(tmp_path / "c", template=TEMPLATE) as corpus:
        corpus.add(bad)
    assert not (tmp_path / "c").exists()
    Corpus.read(files[0], template=TEMPLATE).save(tmp_path / "c")
    before = Corpus.read(files[0], template=TEMPLATE)
    for append in (False, True):
        corpus = CorpusFile(tmp_path / "c", template=None if append else TEMPLATE, append=append)
        corpus.add(files[1])
        with pytest.raises(DataError, match="bad"), corpus:
            corpus.add(bad)
        same(Corpus.open(tmp_path / "c"), before)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_what_does_not_go_together_is_refused(files, tmp_path):
    corpus = Corpus.read(files[0], template=TEMPLATE)
    corpus.save(tmp_path / "c")
    with pytest.raises(OptionError, match="has another template"):
        CorpusFile(tmp_path / "c", template="pos", append=True)
    with pytest.raises(DataError, match="another template"):
        Corpus.read(tmp_path / "c", template="pos")
    with pytest.raises(DataError, match="another template"), CorpusFile(tmp_path / "c", append=True) as more:
        more.add(Corpus.encode([["a"]], [["A"]], template="pos"))
    with pytest.raises(DataError, match="labels"), CorpusFile(tmp_path / "c", append=True) as more:
        more.add(files[1], labelled=False)
    with pytest.raises(DataError, match="not an encoded corpus"):
        Corpus.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        Corpus.open(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="already exists"):
        corpus.save(tmp_path / "file")
    with pytest.raises(DataError, match="no corpus"):
        Corpus.concat([])
    with pytest.raises(DataError, match="no sentences"), CorpusFile(tmp_path / "e", template=TEMPLATE):
        pass
    same(Corpus.open(tmp_path / "c"), corpus)


def test_damage_is_named_by_file(files, tmp_path):
    path = tmp_path / "c"
    Corpus.read(files[0], template=TEMPLATE).save(path)
    ids = path / "state_ids.u32"
    content = ids.read_bytes()
    ids.write_bytes(content[:-4])
    with pytest.raises(DataError, match=r"state_ids\.u32: .*cut short"):
        Corpus.open(path)
    ids.write_bytes(content[:20] + b"\x07" + content[21:])
    with pytest.raises(DataError, match=r"state_ids\.u32: the file is damaged from byte 0"):
        ChainCRF().fit(Corpus.open(path))
    ids.write_bytes(content)
    summary = path / "corpus.json"
    text = summary.read_text()
    summary.write_text(text.replace('"n_tokens"', '"n_token"'))
    with pytest.raises(DataError, match="checksum"):
        Corpus.open(path)


def test_a_corpus_with_other_labels_keeps_the_sets_that_tokens_have(tmp_path):
    corpus = Corpus.encode([[["a"], ["b"], ["c"], ["d"]]], [[{"A", "B"}, {"A", "C"}, "A", "C"]])
    targets, labels = corpus.core.targets(), corpus.core.labels
    targets[0] = labels.index("C")
    other = Corpus(corpus.core.relabelled(labels, targets), None, "python")
    other.save(tmp_path / "c")
    assert Corpus.open(tmp_path / "c").labels == ["C", "A"]
    assert Corpus.open(tmp_path / "c").gold() == [["C", frozenset({"A", "C"}), "A", "C"]]
    for wrong in (len(labels), 2**24 + 2, 2**31):
        targets[0] = wrong
        with pytest.raises(DataError, match=f"label {wrong} has no name"):
            corpus.core.relabelled(labels, targets)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")
def test_a_full_disk_is_an_error_and_leaves_nothing(files, tmp_path):
    code = """
import resource, signal, sys
from loglinear import CorpusFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    with CorpusFile(sys.argv[1], template="pos") as corpus:
        corpus.add(sys.argv[2])
except OSError as error:
    print(error)
"""
    command = [sys.executable, "-c", code, tmp_path / "c", files[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert sorted(os.listdir(tmp_path)) == ["0.txt", "1.txt", "2.txt"]


def test_the_corpus_says_what_it_is(files, tmp_path):
    Corpus.read(files[0], template=TEMPLATE).save(tmp_path / "c")
    text = (tmp_path / "c" / "corpus.json").read_text().rsplit("\n", 2)[0]
    found = json.loads(text)
    assert (found["format"], found["version"], found["n_sentences"]) == ("loglinear corpus", 1, 60)
    assert loglinear.Corpus.open(tmp_path / "c").path == str(tmp_path / "c")


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links and pipes")
@pytest.mark.parametrize("name", ["lock", "corpus.json", "state_ids.u32", "gold-2.u32", "weights.f64"])
def test_appending_writes_nothing_through_a_link(tmp_path, name):
    path, outside = tmp_path / "corpus", tmp_path / "outside"
    Corpus.encode([[["a"], ["b"]]], [["A", "B"]]).save(path)
    place = path / name
    content = place.read_bytes() + b"more" * (name != "corpus.json") if place.exists() else b"precious"
    outside.write_bytes(content)
    place.unlink(missing_ok=True)
    place.symlink_to(outside)
    # Label B becomes the most frequent, so that labels are renumbered; a weight needs a new array.
    with pytest.raises(DataError, match=f"{name}: a symbolic link"), CorpusFile(path, append=True) as corpus:
        corpus.add(Corpus.encode([[["c"]]] * 3, [["B"]] * 3, sample_weight=[2.0] * 3))
    assert outside.read_bytes() == content


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
@pytest.mark.parametrize("name", ["lock", "state_ids.u32"])
def test_a_pipe_in_a_corpus_is_refused(tmp_path, name):
    path = tmp_path / "corpus"
    Corpus.encode([[["a"]]], [["A"]]).save(path)
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    with pytest.raises(DataError, match=f"{name}: not a regular file"):
        CorpusFile(path, append=True)
    if name != "lock":
        with pytest.raises(DataError, match=f"{name}: not a regular file"):
            Corpus.open(path)
