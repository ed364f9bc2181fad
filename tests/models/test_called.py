"""What people call the columns of a classifier and its data: names, in explanations, reports and errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from loglinear import ChainCRF, MaxEnt, ModelFileError, OptionError, PairwiseMRF, TextClassifier

pandas = pytest.importorskip("pandas")

TEXTS, Y = ["a good film", "a bad film", "good fun", "bad luck"], ["+", "-", "+", "-"]
TABLE = pandas.DataFrame(np.eye(4, 3) + np.arange(4)[:, None], columns=["age", "mean radius", "size"])


def names_in(explanation):
    return {part.name for sample in explanation for part in sample.contributions} - {"(intercept)"}


def names_in_report(report):
    strongest = [end for ends in report.strongest.values() for end in (ends.up, ends.down)]
    return {name for end in strongest for name, _ in end} - {"(intercept)"}


def test_the_names_of_a_vectorizer_explain_a_matrix():
    pipeline = make_pipeline(TfidfVectorizer(), MaxEnt(l2=0.1)).fit(TEXTS, Y)
    names, X = pipeline[:-1].get_feature_names_out(), pipeline[:-1].transform(TEXTS)
    assert names_in(pipeline[-1].explain(X, names=names)) <= {*names}
    assert {"good", "bad"} <= names_in(pipeline[-1].explain(X, names=names))
    assert {"good", "bad"} <= names_in_report(pipeline[-1].report(X, Y, names=names)) <= {*names}
    assert all(name.startswith("column ") for name in names_in(pipeline[-1].explain(X)))
    assert all(name.startswith("column ") for name in names_in_report(pipeline[-1].report(X, Y)))
    for wrong in (names[:-1], "good"):
        with pytest.raises(OptionError, match=r"names has . names? for 5 columns; give a name for each column"):
            pipeline[-1].explain(X, names=wrong)


def test_a_table_is_explained_by_the_names_of_its_columns_or_by_others(tmp_path):
    model = MaxEnt(l2=0.1).fit(TABLE, Y)
    model.save(tmp_path / "m")
    for twin in (model, MaxEnt.load(tmp_path / "m")):
        assert names_in(twin.explain(TABLE)) == names_in_report(twin.report(TABLE, Y)) == {*TABLE}
        assert names_in(twin.explain(TABLE, names=["p", "q", "r"])) == {*"pqr"}
        assert names_in_report(twin.report(TABLE, Y, names=["p", "q", "r"])) == {*"pqr"}


def test_words_and_attributes_have_their_own_names():
    texts = TextClassifier(l2=0.1).fit(TEXTS, Y)
    assert names_in_report(texts.report(TEXTS, Y)) <= {*texts.words_}
    attributes = MaxEnt(l2=0.1).fit([text.split() for text in TEXTS], Y)
    for model, X in ((texts, TEXTS), (attributes, [text.split() for text in TEXTS])):
        with pytest.raises(OptionError, match="the columns of this classifier have names; leave names out"):
            model.explain(X, names=["a"])
        with pytest.raises(OptionError, match="the columns of this classifier have names; leave names out"):
            model.report(X, Y, names=["a"])


@pytest.mark.parametrize(
    ("X", "called"), [(TABLE, "numbers"), (TABLE.to_numpy(), "numbers"), ([[text] for text in TEXTS], "attributes")]
)
def test_a_classifier_of_texts_says_what_another_model_was_trained_on(X, called, tmp_path):
    MaxEnt().fit(X, Y).save(tmp_path / "m")
    with pytest.raises(OptionError, match=rf"trained on {called}, not on texts; open it with loglinear\.MaxEnt"):
        TextClassifier.load(tmp_path / "m")


@pytest.mark.parametrize("kind", [MaxEnt, ChainCRF, PairwiseMRF, TextClassifier])
@pytest.mark.parametrize("content", ["script", "brace", "pickle"])
def test_a_file_that_names_loglinear_is_not_a_damaged_model(kind, content, tmp_path):
    pickled = pickle.dumps(MaxEnt().fit(TABLE, Y))
    contents = {"script": b"import loglinear\n" * 9, "brace": b"model = {'name': 'loglinear'}\n", "pickle": pickled}
    (tmp_path / "f").write_bytes(contents[content])
    with pytest.raises(ModelFileError, match=r"f: not a loglinear model; give a file that"):
        kind.load(tmp_path / "f")


def test_a_damaged_model_is_called_damaged(tmp_path):
    MaxEnt().fit(TABLE, Y).save(tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    for damaged in (whole[:-9], whole[:200], b"\xff" + whole[1:], whole[:8] + b"?" + whole[9:]):
        (tmp_path / "m").write_bytes(damaged)
        with pytest.raises(ModelFileError, match="damaged or cut short"):
            MaxEnt.load(tmp_path / "m")
