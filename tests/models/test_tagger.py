"""Laws of `loglinear.Tagger`: it labels as the estimator does, lists and Arrow arrays, in any number of threads."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import loglinear
from loglinear import ChainCRF, Corpus, DataError, DataWarning, Tagger
from loglinear.datasets import demo_paths
from oracles.command_line import sentences
from oracles.patience import patience

ONE = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%shape[1,0]\nB\n"
TWO = "U0:%x[0,0]\nU1:%x[-1,1]\nU2:%x[1,1]\nB:%x[0,1]\n"


@pytest.fixture(scope="module")
def data():
    """Sentences of words and tags, some of them empty, more than a thread labels at a time; and labels."""
    train, test = (sentences(path, 0, count) for path, count in zip(demo_paths(), (60, 120), strict=True))
    found = [[tuple(row[:2]) for row in sentence] for sentence in test] * 3
    draw = random.Random(3)
    draw.shuffle(found)
    for at in (0, 7, len(found) - 1):
        found[at] = []
    return train, found


@pytest.fixture(scope="module")
def words(data):
    """A model of one column, and sentences for it."""
    train, test = data
    crf = ChainCRF(template=ONE, tolerance=1e-2).fit(
        [[row[0] for row in rows] for rows in train], [[row[2] for row in rows] for rows in train]
    )
    return crf, [[row[0] for row in rows] for rows in test]


@pytest.fixture(scope="module")
def pairs(data):
    """A model of two columns, and sentences for it."""
    train, test = data
    crf = ChainCRF(template=TWO, tolerance=1e-2).fit(
        [[row[:2] for row in rows] for rows in train], [[row[2] for row in rows] for rows in train]
    )
    return crf, test


@pytest.fixture(scope="module")
def items(data):
    """A model of attributes with values, and sentences for it."""
    train, test = data

    def tokens(rows):
        return [
            {"w": row[0], "tag": row[1], "length": len(row[0]) / 8, "none": 0.0, "ends": {row[0][-2:]}} for row in rows
        ]

    crf = ChainCRF(tolerance=1e-2).fit(list(map(tokens, train)), [[row[2] for row in rows] for rows in train])
    return crf, list(map(tokens, test))


def predicted(crf, X):
    """The labels that the estimator finds by way of a corpus."""
    return crf.predict(Corpus.encode(X, template=crf.template))


@pytest.mark.parametrize("threads", [1, 2, 0])
def test_a_batch_has_the_labels_that_the_estimator_predicts(words, pairs, items, threads):
    for crf, X in (words, pairs, items):
        expected = predicted(crf, X)
        assert len({label for labels in expected for label in labels}) > 5
        assert Tagger(crf).tag_batch(X, threads=threads) == expected
        assert Tagger(crf).tag_batch(iter(map(tuple, X)), threads=threads) == expected
        assert Tagger(crf).tag_batch(X[:3], threads=threads) == expected[:3]
        crf.n_jobs = threads or None
        assert crf.predict(X) == expected
        assert crf.predict(list(map(tuple, X))) == expected
    assert Tagger(words[0]).tag_batch([]) == []
    assert Tagger(words[0]).tag_batch([[], []]) == [[], []]


def test_a_sentence_has_the_labels_that_it_has_in_a_batch(words, pairs, items):
    for crf, X in (words, pairs, items):
        tagger = Tagger(crf)
        assert [tagger.tag(tokens) for tokens in X[:40]] == predicted(crf, X[:40])


@pytest.mark.parametrize("threads", [1, 2])
def test_probabilities_are_those_of_the_estimator(words, items, threads):
    for crf, X in (words, items):
        batch = Tagger(crf).tag_batch(X, probabilities=True, threads=threads)
        for found, expected in zip(batch, crf.tag(X), strict=True):
            assert (found.labels, found.spans) == (expected.labels, [])
            assert found.probabilities == pytest.approx(expected.probabilities, abs=1e-12)
            assert found.log_probability == pytest.approx(expected.log_probability, abs=1e-9)


TYPES = [
    pa.list_(pa.string()),
    pa.large_list(pa.string()),
    pa.list_(pa.large_string()),
    pa.large_list(pa.large_string()),
    pa.list_(pa.string_view()),
    pa.list_(pa.dictionary(pa.int16(), pa.string())),
    pa.large_list(pa.dictionary(pa.uint32(), pa.large_string())),
    pa.list_(pa.list_(pa.string())),
    pa.large_list(pa.large_list(pa.large_string())),
    pa.list_(pa.struct([("word", pa.string()), ("unused", pa.string())])),
]


def arranged(X, kind):
    """Words as an array of a type."""
    value = kind.value_type
    if pa.types.is_struct(value):
        return pa.array([[{"word": word, "unused": "x"} for word in rows] for rows in X], kind)
    return pa.array(X if not pa.types.is_nested(value) else [[[word] for word in rows] for rows in X], kind)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_arrow_arrays_are_labelled_as_lists_are(words, kind):
    crf, X = words
    tagger, array, expected = Tagger(crf), arranged(X, kind), predicted(crf, X)
    for threads in (1, 2):
        found = tagger.tag_batch(array, threads=threads)
        found.validate(full=True)
        assert found.to_pylist() == expected
    assert pa.types.is_large_list(found.type) == pa.types.is_large_list(kind)
    assert pa.types.is_string(found.type.value_type) or pa.types.is_large_string(found.type.value_type)
    for start, length in [(0, 0), (5, 0), (1, 1), (7, 30), (100, None), (len(X), None)]:
        part = array.slice(start, length)
        assert tagger.tag_batch(part).to_pylist() == expected[start:][:length]
        assert tagger.tag_batch(part.slice(1)).to_pylist() == expected[start:][:length][1:]
    chunked = pa.chunked_array([array.slice(0, 50), array.slice(50, 0), array.slice(50)])
    found = tagger.tag_batch(chunked)
    assert (found.num_chunks, found.to_pylist()) == (3, expected)
    assert tagger.tag_batch(pa.chunked_array([], type=kind)).to_pylist() == []
    assert tagger.tag_batch(pa.array([], kind)).to_pylist() == []


def test_arrow_arrays_of_several_columns(pairs):
    crf, X = pairs
    tagger, expected = Tagger(crf), predicted(crf, X)
    lists = pa.array([[list(token) for token in rows] for rows in X], pa.list_(pa.list_(pa.string())))
    fields = pa.struct([("word", pa.string()), ("tag", pa.large_string()), ("other", pa.int64())])
    structs = pa.array([[{"word": word, "tag": tag, "other": 1} for word, tag in rows] for rows in X], pa.list_(fields))
    # A list whose child is itself a slice.
    offsets, tokens = structs.offsets, structs.values
    shifted = pa.ListArray.from_arrays(offsets, pa.concat_arrays([tokens.slice(0, 3), tokens]).slice(3))
    for array in (lists, structs, shifted):
        assert tagger.tag_batch(array).to_pylist() == expected
        assert tagger.tag_batch(array.slice(3, 20)).to_pylist() == expected[3:23]
        rows = pa.StructArray.from_arrays([array], ["tokens"]).slice(3, 20)
        assert tagger.tag_batch(rows).to_pylist() == expected[3:23]


def test_arrow_arrays_with_probabilities(words):
    crf, X = words
    tagger = Tagger(crf)
    expected = tagger.tag_batch(X, probabilities=True)
    array = arranged(X, TYPES[0])
    for given in (array, pa.chunked_array([array.slice(0, 9), array.slice(9)])):
        table = tagger.tag_batch(given, probabilities=True)
        assert table.column_names == ["labels", "probabilities", "log_probability"]
        assert table["labels"].to_pylist() == [each.labels for each in expected]
        assert table["probabilities"].to_pylist() == [each.probabilities for each in expected]
        assert table["log_probability"].to_pylist() == [each.log_probability for each in expected]


def columns(X):
    """Sentences as columns of every library, with a function that makes lists of a column of its results."""
    yield pl.Series("words", X), pl.Series, pl.Series.to_list
    if all(isinstance(token, str) for tokens in X for token in tokens):
        yield pl.Series("words", X, dtype=pl.List(pl.Categorical)), pl.Series, pl.Series.to_list
    yield pl.DataFrame({"words": X}), pl.Series, pl.Series.to_list
    index = [f"row {at}" for at in range(len(X))]
    yield pd.Series(X, index, name="words"), pd.Series, pd.Series.tolist
    yield pd.DataFrame({"words": X}, index), pd.Series, pd.Series.tolist
    yield pd.Series(X, index, name="words", dtype=pd.ArrowDtype(pa.array(X).type)), pd.Series, pd.Series.tolist
    yield pa.array(X), pa.ListArray, pa.Array.to_pylist
    yield pa.chunked_array([X[:40], X[40:]]), pa.ChunkedArray, pa.ChunkedArray.to_pylist
    table = pa.table({"words": X})
    yield table, pa.ChunkedArray, pa.ChunkedArray.to_pylist
    yield duckdb.from_arrow(table), pa.ChunkedArray, pa.ChunkedArray.to_pylist


def test_columns_of_every_library_have_labels_of_the_same_library(words, items):
    (crf, X), expected = words, predicted(*words)
    X, expected = X[:80], expected[:80]
    probabilities = [each.log_probability for each in crf.tag(X)]
    for column, kind, lists in columns(X):
        for labels in (Tagger(crf).tag_batch(column), crf.predict(column)):
            assert isinstance(labels, kind)
            assert [list(each) for each in lists(labels)] == expected
            if kind is not pa.ListArray and kind is not pa.ChunkedArray:
                assert labels.name == "words"
            if kind is pd.Series:
                assert labels.index.equals(column.index)
        marginal = crf.predict(column, decode="marginal")
        assert [list(each) for each in lists(marginal)] == crf.predict(X, decode="marginal")
        table = Tagger(crf).tag_batch(column, probabilities=True)
        assert type(table) is {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}.get(kind, pa.Table)
        assert [*table["log_probability"].to_numpy()] == pytest.approx(probabilities)


def test_columns_of_attributes_are_labelled_by_models_without_a_template():
    X, y = [[["a", "b"], ["c"]], [["b"]]] * 2, [[1, 2], [1]] * 2
    crf = ChainCRF().fit(X, y)
    for column, kind, lists in columns(X):
        labels = Tagger(crf).tag_batch(column)
        assert isinstance(labels, kind)
        assert lists(labels) == crf.predict(X) == [[1, 2], [1], [1, 2], [1]]
        assert Tagger(ChainCRF().fit(column, pl.Series(y))).tag_batch(X) == crf.predict(X)
    structs = pa.array([[{"w": "a", "n": 2.0}, {"w": "b", "n": None}]])
    lists = [[{"w": "a", "n": 2.0}, {"w": "b"}]]
    fits = [ChainCRF().fit(given, [["X", "Y"]]) for given in (structs, lists)]
    assert dict(fits[0].state_features_) == dict(fits[1].state_features_)
    assert fits[0].predict(structs).to_pylist() == [["X", "Y"]]


def test_columns_of_polars_and_pandas_need_no_pyarrow(words, monkeypatch):
    crf, X = words
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for column in (pl.Series(X[:9]), pd.Series(X[:9])):
        labels = Tagger(crf).tag_batch(column)
        assert labels.to_list() == predicted(crf, X[:9])
        assert len(Tagger(crf).tag_batch(column, probabilities=True)) == 9
    with pytest.raises(loglinear.MissingPackageError, match=r"a column of labels needs pyarrow; .*pip install pyarrow"):
        Tagger(crf).tag_batch(duckdb.sql("select ['a'] as words"))


def test_labels_in_columns_are_evaluated_as_lists_are(words):
    crf, X = words
    gold, lists = crf.predict(X[:20], decode="marginal"), crf.predict(X[:20])
    expected = loglinear.metrics.evaluate(gold, lists)
    for make in (pl.Series, pd.Series, pa.array):
        assert loglinear.metrics.evaluate(make(gold), crf.predict(make(X[:20]))) == expected
        assert crf.score(make(X[:20]), make(gold), make([1.0] * 20)) == crf.score(X[:20], gold)
    report = crf.report(pl.Series(X[:20]), pl.Series(gold))
    assert report.scores == crf.report(X[:20], gold).scores


def test_tables_of_several_columns_are_refused(words):
    crf, X = words
    columns = {"words": X[:2], "others": X[:2]}
    for table in (
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pa.table(columns),
        duckdb.from_arrow(pa.table(columns)),
    ):
        for label in (Tagger(crf).tag_batch, crf.predict, crf.marginals):
            with pytest.raises(
                loglinear.DataError,
                match=r"^(X|the sentences): expected one column, found a table of 2",
            ):
                label(table)


@pytest.mark.parametrize("template", ["U:%x[0,0]\n", None])
def test_a_sentence_taken_out_of_a_column_is_a_sentence(template):
    X, y = [["a", "b"], ["b"]] * 3, [["A", "B"], ["B"]] * 3
    expected = ChainCRF(template=template, l2=0.1).fit(X, y)
    column, labels = pa.chunked_array([X]), pa.chunked_array([y])
    crf = ChainCRF(template=template, l2=0.1).fit([*column], [*labels])
    assert crf.log_probability(X, y).tolist() == expected.log_probability(X, y).tolist()
    tagger = Tagger(crf)
    for sentence in (column[0], [*column[0]], column[0].values, tuple(column[0]), pl.Series(X)[0], pd.Series(X)[0]):
        assert crf.predict_single(sentence) == tagger.tag(sentence) == ["A", "B"]
        assert crf.predict([sentence]) == tagger.tag_batch([sentence]) == [["A", "B"]]
        assert str(crf.explain(sentence)) == str(crf.explain(X[0]))


def test_columns_of_a_token_taken_out_of_a_table_keep_their_order():
    X, y = [[("a", "x"), ("b", "y")], [("b", "y")]] * 3, [["A", "B"], ["B"]] * 3
    crf = ChainCRF(template="U:%x[0,1]\n", l2=0.1).fit(X, y)
    structs = pa.array([[dict(zip("wp", token, strict=True)) for token in sentence] for sentence in X])
    for sentence in (structs[0], [*structs[0]], pl.Series(structs)[0]):
        assert crf.predict_single(sentence) == ["A", "B"]


def test_labels_of_numbers_and_truth_values_have_columns_of_their_type():
    for labels, kind in (([3, -1], pa.int64()), ([True, False], pa.bool_())):
        crf = ChainCRF(template="U:%x[0,0]").fit([["a", "b"]], [labels])
        column = crf.predict(pa.array([["a", "b", "a"] * 5, [], None]))
        column.validate(full=True)
        assert (column.type.value_type, column.to_pylist()) == (kind, [crf.predict([["a", "b", "a"] * 5])[0], [], None])


def test_sentences_that_are_null_have_null_labels(words):
    tagger = Tagger(words[0])
    rows = [["a"], ["b", "c"], None, ["d"]]
    expected = [None if row is None else tagger.tag(row) for row in rows]
    array = pa.array(rows)
    # A null list may hold tokens, which are not sentences.
    masked = pa.ListArray.from_arrays(
        [0, 1, 3, 4, 5], pa.array(list("abcxd")), mask=pa.array([row is None for row in rows])
    )
    for column in (array, masked, pa.chunked_array([array.slice(0, 2), array.slice(2)])):
        assert tagger.tag_batch(column).to_pylist() == expected
        assert tagger.tag_batch(column.slice(2)).to_pylist() == expected[2:]
        table = tagger.tag_batch(column, probabilities=True)
        assert table["labels"].to_pylist() == expected
        for name in ("probabilities", "log_probability"):
            assert [value is None for value in table[name].to_pylist()] == [row is None for row in rows]
    assert tagger.tag_batch(pd.Series([["a"], None, float("nan")])).tolist() == [expected[0], None, None]


def test_tokens_that_are_null_are_refused_with_the_number_of_their_sentence(words):
    tagger = Tagger(words[0])
    strings = pa.array([["a"], ["b", "c"], None, ["d", None]])
    with pytest.raises(loglinear.DataError, match="sentence 3: a token is null"):
        tagger.tag_batch(strings)
    with pytest.raises(loglinear.DataError, match="sentence 3: a token is null"):
        tagger.tag_batch(pa.chunked_array([strings.slice(0, 1), strings.slice(1)]))
    with pytest.raises(loglinear.DataError, match="sentence 0: a token is null"):
        tagger.tag_batch(strings.slice(3))
    for values in (["x", None], ["x", "y"]):
        coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(values))
        with pytest.raises(loglinear.DataError, match="sentence 1: a token is null"):
            tagger.tag_batch(pa.ListArray.from_arrays([0, 1, 3], coded))
    assert tagger.tag_batch(strings.slice(1, 1)).to_pylist() == tagger.tag_batch([["b", "c"]])
    lists = pa.array([[["a"]], [["b"], [None]]])
    with pytest.raises(loglinear.DataError, match="sentence 1: a column of a token is null"):
        tagger.tag_batch(lists)
    structs = pa.array([[{"w": "a"}], [{"w": "b"}, {"w": None}]])
    with pytest.raises(loglinear.DataError, match="sentence 1: a column of a token is null"):
        tagger.tag_batch(structs)
    with pytest.raises(loglinear.DataError, match="sentence 0: a column of a token is null"):
        tagger.tag_batch(structs.slice(1))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (pa.array(["a", "b"]), "not an array of strings; cast it"),
        (pa.array([[1, 2]]), "not lists of whole numbers"),
        (pa.array([[[1]]]), "not lists of lists of whole numbers"),
        (pa.array([[b"a"]]), "not lists of bytes"),
        (pa.array([[{"w": 1}]]), "not lists of structs of whole numbers"),
        (pa.table({"a": [1]}), "not an array of structs"),
    ],
)
def test_arrays_of_other_types_are_refused(words, array, message):
    with pytest.raises(DataError, match=message):
        Tagger(words[0]).tag_batch(array)


def test_tokens_with_too_few_columns_are_named(pairs):
    tagger = Tagger(pairs[0])
    few = "of the 2 columns that the template looks at"
    for array in (pa.array([[], ["a"]]), pa.array([[], [["a", "b"], ["a"]]])):
        with pytest.raises(loglinear.DataError, match=f"sentence 1: a token has 1 {few}"):
            tagger.tag_batch(array)
    with pytest.raises(loglinear.DataError, match=f"a token has 1 {few}"):
        tagger.tag_batch(pa.array([[{"w": "a"}]]))
    with pytest.raises(loglinear.DataError, match=f"sentence 1: token 1 has 1 {few}"):
        tagger.tag_batch([[], [("a", "b"), ["a"]]])


def test_bad_lists_are_refused(words):
    tagger = Tagger(words[0])
    for batch, message in [
        ([["a"], "b"], "sentence 1: expected a sequence, such as a list, not the str"),
        ([["a"], [1]], "sentence 1: token 0: with a template, a token must be a str"),
        ([["a"], [{"w": "a"}]], "sentence 1: token 0: with a template"),
        ([["a", "\ud800"]], "sentence 0: text is not valid Unicode"),
        ([5], "sentence 0: expected a sequence, such as a list, not the int 5"),
    ]:
        with pytest.raises(loglinear.DataError, match=message):
            tagger.tag_batch(batch)
    with pytest.raises(loglinear.DataError, match="the sentences: expected a sequence, such as a list, not the str"):
        tagger.tag_batch("a b")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_mistake_far_into_a_batch_names_its_sentence_and_loses_nothing(items, threads):
    crf, X = items
    tagger = Tagger(crf)
    for wrong in (0, len(X) // 2, len(X) - 1):
        batch = [*X[:wrong], [{"w": "a"}, {"w": float("nan")}], *X[wrong:]]
        with pytest.raises(loglinear.DataError, match=f"sentence {wrong}: token 1: attribute 'w' has the value NaN"):
            tagger.tag_batch(batch, threads=threads)

    def fails():
        yield from X[:-1]
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        tagger.tag_batch(fails(), threads=threads)
    assert tagger.tag_batch(X[:50], threads=threads) == predicted(crf, X[:50])


def test_sentences_may_be_made_by_code_that_labels(items):
    crf, X = items
    tagger = Tagger(crf)

    def lazy():
        for tokens in X:
            tagger.tag(tokens)
            yield tokens

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: tagger.tag_batch(lazy()), range(3)))
    assert found == [predicted(crf, X)] * 3


def test_sentences_whose_inference_takes_a_while_are_shared_among_threads():
    labels = [f"L{k:03}" for k in range(300)]
    X, y = [[[f"w{k}", f"v{k % 7}"] for k in range(300)]], [labels]
    with pytest.warns(DataWarning, match="in one sentence|occur only once"):
        crf = ChainCRF(tolerance=1e-2).fit(X, y)
    X = [[[f"w{k * step % 300}"] for k in range(40)] for step in range(1, 12)]
    assert Tagger(crf).tag_batch(X, threads=2) == Tagger(crf).tag_batch(X, threads=1) == predicted(crf, X)


def test_models_of_attributes_label_a_sentence(tmp_path):
    X = [[{"w": "Dogs", "size": 2}, {"w": "bark"}], [["w:Cats"], "w:sleep"]]
    crf = ChainCRF().fit(X, [["NOUN", "VERB"]] * 2)
    crf.save(tmp_path / "m")
    for tagger in (Tagger(crf), Tagger(tmp_path / "m")):
        assert [tagger.tag(tokens) for tokens in X] == predicted(crf, X)
        assert tagger.tag_batch(X) == predicted(crf, X)
    assert tagger.labels == crf.classes_


@pytest.mark.parametrize("labels", [[1, 20], [False, True]])
def test_labels_keep_their_type(labels):
    crf = ChainCRF(template="U:%x[0,0]\nB\n").fit([["a", "b"]], [labels])
    tagger = Tagger(crf)
    assert tagger.tag(["b", "a"]) == predicted(crf, [["b", "a"]])[0]
    assert tagger.tag_batch([["b"], ["a", "b"]]) == predicted(crf, [["b"], ["a", "b"]])
    assert tagger.tag_batch(pa.array([["b"], ["a", "b"]])).to_pylist() == predicted(crf, [["b"], ["a", "b"]])
    assert {type(label) for label in tagger.labels} == {type(labels[0])}


def test_constraints_hold_and_may_forbid_everything(tmp_path):
    crf = ChainCRF(template="U:%x[0,0]\nB\n", constraints=[("A", "A"), ("B", "A"), ("B", "B")])
    crf.fit([["a", "b"]], [["A", "B"]]).save(tmp_path / "m")
    X = [["a", "b"], ["a", "a", "a"], ["b", "a"]]
    expected = predicted(crf, X)
    assert expected[1] == [None] * 3
    for tagger in (Tagger(crf), Tagger(tmp_path / "m"), pickle.loads(pickle.dumps(Tagger(crf)))):
        assert tagger.tag_batch(X) == [tagger.tag(tokens) for tokens in X] == expected
        assert tagger.tag_batch(pa.array(X)).to_pylist() == expected
        assert [each.probability for each in tagger.tag_batch(X, probabilities=True)] == [1.0, 0.0, 1.0]


def test_a_tagger_pickles_as_its_model_and_no_more(words, tmp_path):
    crf, X = words
    crf.save(tmp_path / "m")
    tagger = Tagger(str(tmp_path / "m"))
    pickled = pickle.dumps(tagger)
    assert len(pickled) < os.path.getsize(tmp_path / "m") + 1000
    (tmp_path / "m").unlink()
    again = pickle.loads(pickled)
    assert type(again) is Tagger
    assert again.labels == crf.classes_
    assert again.tag_batch(X) == predicted(crf, X)


def test_pools_of_processes_and_threads_share_a_tagger(words):
    crf, X = words
    tagger, expected = Tagger(crf), predicted(crf, X)
    tagger.tag_batch(X, threads=2)
    batches = [X[at : at + 60] for at in range(0, len(X), 60)]
    with ThreadPoolExecutor(4) as pool:
        assert [labels for part in pool.map(tagger.tag_batch, batches) for labels in part] == expected
        assert list(pool.map(tagger.tag, X)) == expected
    with ProcessPoolExecutor(2) as pool:
        assert [labels for part in pool.map(tagger.tag_batch, batches) for labels in part] == expected


def test_other_things_are_no_models(tmp_path):
    with pytest.raises(loglinear.OptionError, match="fitted ChainCRF, not int"):
        Tagger(5)
    with pytest.raises(OSError, match="none"):
        Tagger(tmp_path / "none")
    loglinear.MaxEnt().fit([[0.0], [1.0]], ["a", "b"]).save(tmp_path / "m")
    with pytest.raises(loglinear.ModelFileError, match="not a chain"):
        Tagger(tmp_path / "m")


def test_importing_and_labelling_needs_no_numpy(words, tmp_path):
    words[0].save(tmp_path / "m")
    code = (
        "import sys, loglinear; tagger = loglinear.Tagger(sys.argv[1]); tagger.tag(['a']); tagger.tag_batch([['a']]); "
        "tagger.tag_text('a b', tokenizer='words'); "
        "sys.exit(' '.join({'numpy', 'sklearn', 'scipy', 'pyarrow'} & set(sys.modules)) or None)"
    )
    command = [sys.executable, "-c", code, tmp_path / "m"]
    assert subprocess.run(command, capture_output=True, timeout=patience(20)).stderr == b""


@pytest.mark.parametrize("sentences", [["Dogs", "bark"], [{"w": "Dogs"}, {"w": "bark"}], [{"Dogs"}]])
def test_a_sentence_in_the_place_of_a_batch_is_refused_with_the_remedy(sentences):
    crf = ChainCRF().fit([[{"w": "Dogs"}, {"w": "bark"}]] * 2, [["NOUN", "VERB"]] * 2)
    for tag in (Tagger(crf).tag_batch, crf.predict, crf.tag, crf.marginals):
        with pytest.raises(DataError, match=r"sentence 0: expected a sequence, .*; put a single sentence into a list"):
            tag(sentences)
    with pytest.raises(DataError, match=r"^the sentence: expected a sequence"):
        Tagger(crf).tag("Dogs")


@pytest.mark.parametrize("length", [0, 2])
def test_a_column_whose_type_is_null_has_null_labels(words, length):
    crf, _ = words
    of_polars = pytest.importorskip("polars").Series([None] * length)
    for column in (pa.nulls(length), pa.chunked_array([pa.nulls(length)]), of_polars):
        assert [*Tagger(crf).tag_batch(column)] == [*crf.predict(column)] == [*column]
