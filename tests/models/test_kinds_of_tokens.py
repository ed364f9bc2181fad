"""Tokens to label are what those of the training data were: texts or collections of attributes. Sets are sorted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from loglinear import ChainCRF, Corpus, CorpusFile, DataError, MaxEnt, Tagger

TEXTS, COLLECTIONS = [["a", "b"], ["b"]], [[["w=a", "x"], {"w": "b"}], [("w=b",)]]
LABELS = [["A", "B"], ["B"]]
# Trained on, data of the other kind, what is wrong with it.
KINDS = {
    "texts": (TEXTS, COLLECTIONS, "expected .* str, as in the training data, found .*collection"),
    "collections": (COLLECTIONS, COLLECTIONS[0][:1], "expected .*collection.* as in the training data, found .*str"),
}
METHODS = ["predict", "tag", "marginals", "predict_marginals", "log_partition", "transition_marginals"]


@pytest.fixture(params=KINDS)
def case(request, tmp_path):
    """A chain, as trained and as opened from its file, and data whose tokens are of another kind."""
    good, bad, message = KINDS[request.param]
    crf = ChainCRF().fit(good, LABELS)
    crf.save(tmp_path / "model")
    return [crf, ChainCRF.load(tmp_path / "model")], Tagger(str(tmp_path / "model")), good, bad, message


def test_a_list_of_another_depth_is_refused_by_every_method(case):
    crfs, tagger, good, bad, message = case
    for crf in crfs:
        for name in METHODS:
            getattr(crf, name)(good)
            with pytest.raises(DataError, match=message):
                getattr(crf, name)(bad)
        for method in (crf.predict_single, crf.predict_marginals_single, crf.explain):
            method(good[0])
            with pytest.raises(DataError, match=message):
                method(bad[0])
    assert tagger.tag(good[0]) == crfs[0].predict(good)[0]
    assert tagger.tag_batch(good) == crfs[0].predict(good)
    for ask, data in ((tagger.tag, bad[0]), (tagger.tag_batch, bad)):
        with pytest.raises(DataError, match=message):
            ask(data)


@pytest.mark.parametrize("kind", KINDS)
def test_development_data_are_of_the_kind_of_the_training_data(kind):
    good, bad, message = KINDS[kind]
    with pytest.raises(DataError, match=message):
        ChainCRF(max_iterations=2).fit(good, LABELS, X_dev=bad, y_dev=[["A"] * len(tokens) for tokens in bad])


def test_a_model_of_both_kinds_takes_both(tmp_path):
    for data in (Corpus.encode([*TEXTS, *COLLECTIONS], LABELS * 2), joined(tmp_path / "corpus")):
        crf = ChainCRF().fit(data)
        for X in (TEXTS, COLLECTIONS):
            assert crf.predict(X) == [crf.predict_single(tokens) for tokens in X]
            crf.marginals(X)


def joined(path):
    """Return a corpus on disk that consists of corpora of both kinds, in memory too."""
    parts = [Corpus.encode(X, LABELS) for X in (TEXTS, COLLECTIONS)]
    with CorpusFile(path) as corpus:
        for part in parts:
            corpus.add(part)
    assert Corpus.open(path).columns == Corpus.concat(parts).columns
    return Corpus.open(path)


def test_data_on_disk_say_of_what_kind_they_are(tmp_path):
    Corpus.encode(COLLECTIONS, LABELS).save(tmp_path / "corpus")
    crf = ChainCRF().fit(Corpus.open(tmp_path / "corpus"))
    with pytest.raises(DataError, match=r"sentence 0: token 0: expected a collection"):
        crf.predict(TEXTS)


# Sets.
PROGRAM = """
import hashlib
import numpy as np
from loglinear import ChainCRF, Corpus, MaxEnt
from loglinear.compat.pycrfsuite import ItemSequence
from loglinear.compat.sklearn_crfsuite import CRF

NAMES = [f"name {number}" for number in range(12)]
LABELS = ["A", "B", "C", "D", "E"]
y = [LABELS, LABELS[::-1]]


def bits(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def sentences(kind):
    sets = [kind(NAMES[at : at + 6]) for at in range(5)]
    return [sets, [{"w": kind(NAMES[:at]), "deep": {"v": kind(NAMES[at:])}} for at in range(3, 8)]]


for kind in (set, frozenset, type("Set", (set,), {})):
    X = sentences(kind)
    crf = ChainCRF().fit(X, y)
    partial = [[{*LABELS[:3]}, {*LABELS[2:]}, *LABELS[2:]], y[1]]
    samples = [token for sentence in X for token in sentence]
    classifier = MaxEnt().fit(samples, sum(y, []))
    print(
        bits(crf.result_.w, *crf.marginals(X)),
        bits(ChainCRF().partial_fit(X, y).result_.w),
        bits(ChainCRF(solver="sg").fit(X, y).result_.w),
        bits(ChainCRF().fit(X, partial).result_.w),
        crf.predict_marginals_single(X[0]),
        bits(classifier.coef_, classifier.predict_proba(samples)),
        classifier.explain(samples),
        crf.explain(X[0]),
        Corpus.encode(X).core.names(),
    )
    if kind is not frozenset:
        print(ItemSequence(X[1]).items(), bits(*CRF(c2=0.1).fit(X, y).predict_marginals(X)[0][0].values()))
"""


def test_attributes_given_as_sets_give_the_same_bits_in_any_process(capsys):
    exec(PROGRAM, {})
    here = capsys.readouterr().out
    assert here.count("\n") > 5
    # A seed that this process does not have.
    environment = os.environ | {"PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    command = [sys.executable, "-c", PROGRAM]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == here


def test_the_attributes_of_a_set_are_sorted_and_those_of_other_collections_as_they_come():
    names = [f"n{number}" for number in range(20)]
    for given, wanted in ((names[::-1], names[::-1]), ({*names}, sorted(names)), (dict.fromkeys(names).keys(), names)):
        assert Corpus.encode([[given]]).core.names() == wanted
    assert MaxEnt().fit([{*names}, {"a"}], ["A", "B"]).attributes_ == [*sorted(names), "a"]


def test_the_columns_of_a_token_are_no_set():
    for cells in ({"a", "b"}, frozenset("ab")):
        with pytest.raises(DataError, match="a token must be a str or a sequence of str"):
            ChainCRF(template="U:%x[0,1]\n").fit([[cells]], [["A"]])
