"""Laws of classifiers of texts."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV

from loglinear import ChainCRF, DataError, MaxEnt, ModelFileError, OptionError, Tagger, TextClassifier
from loglinear.cli.kinds import opened
from loglinear.data.words import WordCounts, Words
from loglinear.models.files.maxent import model_of

TEXTS = ["buy now cheap", "cheap cheap pills", "see you at noon", "lunch at noon", "buy pills", "see you"]
LABELS = ["spam", "spam", "ham", "ham", "spam", "ham"]
NEW = ["pills at noon", "never seen words", "", "you buy"]


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
@pytest.mark.parametrize("words", ["words", "blanks", "characters:1-3"])
@pytest.mark.parametrize("tfidf", [False, True])
def test_a_loaded_classifier_says_what_the_trained_one_said(tmp_path, words, tfidf, multi_class):
    options = {"ngrams": "1-2"} if words == "words" else {}
    labels = [*LABELS[:-1], "other"]
    model = TextClassifier(words=words, tfidf=tfidf, l1=0.1, multi_class=multi_class, **options).fit(TEXTS, labels)
    model.save(tmp_path / "model")
    loaded = TextClassifier.load(tmp_path / "model")
    assert (loaded.words, loaded.ngrams, loaded.tfidf) == (model.words, model.ngrams, model.tfidf)
    loaded.save(tmp_path / "again")
    for other in (loaded, TextClassifier.load(tmp_path / "again")):
        np.testing.assert_allclose(other.predict_proba(NEW), model.predict_proba(NEW), atol=1e-12)
        assert other.predict(np.array(NEW)).tolist() == model.predict(NEW).tolist()
        assert [str(entry) for entry in other.explain(NEW)] == [str(entry) for entry in model.explain(NEW)]
    assert set(loaded.words_) <= set(model.words_)


def test_a_classifier_of_texts_is_one_of_their_matrix():
    counts, matrix = WordCounts.fit(TEXTS, Words(), tfidf=True)
    model = TextClassifier(tfidf=True, l2=0.5).fit(TEXTS, LABELS, X_dev=NEW[:1], y_dev=["spam"])
    assert np.array_equal(model.coef_, MaxEnt(l2=0.5).fit(matrix, LABELS).coef_)
    assert model.words_ == list(counts.vocabulary)
    assert set(model.result_.trace[0].dev) == {"accuracy"}
    assert model.report(TEXTS, LABELS).scores.accuracy == 1.0


def test_the_command_line_labels_as_python_does(tmp_path):
    model = TextClassifier(tfidf=True).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    texts = opened(str(tmp_path / "model"))
    rows = list(texts.counts.rows(NEW))
    assert [set(row) for row in rows] == [{"pills", "at", "noon"}, set(), set(), {"you", "buy"}]


def test_a_word_like_the_intercept_is_no_attribute(tmp_path):
    texts = [f"{text} (Intercept)" for text in TEXTS]
    model = TextClassifier(words="blanks").fit(texts, LABELS)
    model.save(tmp_path / "model")
    assert TextClassifier.load(tmp_path / "model").predict(texts).tolist() == LABELS
    assert "(intercept)" not in model.words_


def test_a_model_of_other_samples_is_refused(tmp_path):
    MaxEnt().fit([["a"], ["b"]], ["x", "y"]).save(tmp_path / "model")
    with pytest.raises(OptionError, match=r"trained on attributes, not on texts; open it with loglinear\.MaxEnt"):
        TextClassifier.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("X", "message"),
    [("a text", "is of type str"), (["a", 3], "text 1 of X is of type int"), ([["a"], ["b"]], "text 0 of X")],
)
def test_what_is_no_text_is_refused_by_its_place(X, message):
    with pytest.raises(DataError, match=message):
        TextClassifier().fit(X, ["x", "y"])


def test_texts_may_be_a_column_of_any_frame_but_no_frame():
    expected = TextClassifier().fit(TEXTS, LABELS).predict_proba(NEW)
    frame = pd.DataFrame({"text": TEXTS, "label": LABELS})
    columns = [
        frame["text"],
        frame["text"].to_numpy(),
        frame["text"].astype("category"),
        pl.Series(TEXTS),
        pa.array(TEXTS),
        duckdb.from_arrow(pa.table({"text": TEXTS})),
        pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
    ]
    for column in columns:
        model = TextClassifier().fit(column, frame["label"])
        assert np.array_equal(model.predict_proba(NEW), expected)
        assert model.score(column, LABELS) == 1.0
    for labels in (pl.Series(LABELS), pa.array(LABELS), duckdb.from_arrow(pa.table({"label": LABELS}))):
        assert np.array_equal(TextClassifier().fit(TEXTS, labels).predict_proba(NEW), expected)
    for table in (frame, frame[["text"]], pl.DataFrame({"text": TEXTS})):
        with pytest.raises(DataError, match="give one of its columns"):
            TextClassifier().fit(table, LABELS)
    with pytest.raises(DataError, match="text 1 of X is of type"):
        TextClassifier().fit(pd.Series(["a", None, "b"]), ["x", "y", "x"])


def test_a_search_of_scikit_learn_chooses_options_of_texts():
    options = {"words": ["words", "characters:1-2"], "tfidf": [False, True]}
    search = GridSearchCV(TextClassifier(), options, cv=3).fit(TEXTS * 3, LABELS * 3)
    assert search.best_params_.keys() == options.keys()
    assert search.predict(["cheap pills"]).tolist() == ["spam"]


def test_contradicting_options_are_refused():
    with pytest.raises(OptionError, match="ngrams='1-2'"):
        TextClassifier(words="characters:2", ngrams="1-2").fit(TEXTS, LABELS)
    with pytest.raises(OptionError, match="words='letters'"):
        TextClassifier(words="letters").fit(TEXTS, LABELS)


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer])
def test_a_model_that_does_not_say_its_words_labels_as_before(tmp_path, kind):
    texts = [*TEXTS, "C++ हिन्दी a b", "I see C# now"]
    vectorizer = kind(ngram_range=(1, 2))
    model = MaxEnt(l1=0.1).fit(vectorizer.fit_transform(texts), [*LABELS, "spam", "ham"])
    names = vectorizer.get_feature_names_out().tolist()
    idf = vectorizer.idf_.tolist() if kind is TfidfVectorizer else None
    text = {"ngrams": [1, 2], "words": names, "idf": idf}
    model_of(model._contents(names, format="text", text=text)).save(str(tmp_path / "old"))
    new = [*NEW, *texts, "a C++ हिन्दी word"]
    loaded = TextClassifier.load(tmp_path / "old")
    np.testing.assert_allclose(loaded.predict_proba(new), model.predict_proba(vectorizer.transform(new)), atol=1e-12)
    rows = list(opened(str(tmp_path / "old")).counts.rows(new))
    for row, expected in zip(rows, vectorizer.transform(new), strict=True):
        assert row == pytest.approx({names[j]: value for j, value in zip(expected.indices, expected.data, strict=True)})


def test_other_classes_name_the_one_that_opens_a_classifier_of_texts(tmp_path):
    TextClassifier(l2=0.1).fit(TEXTS, LABELS).save(tmp_path / "m")
    for opener in (Tagger, ChainCRF.load):
        with pytest.raises(ModelFileError, match=r"open it with loglinear\.TextClassifier"):
            opener(tmp_path / "m")


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_matrix])
def test_a_sparse_matrix_is_one_of_the_words_or_refused(kind):
    model = TextClassifier().fit(["good film", "bad film", "good"], ["+", "-", "+"])
    matrix = kind(np.eye(len(model.words_)))
    np.testing.assert_array_equal(model.predict(matrix), model.predict(model.words_))
    with pytest.raises(DataError, match=r"X has shape \(2, 9\), but the classifier has 3 words; give texts"):
        model.predict(kind(np.ones((2, 9))))


def test_texts_without_words_do_not_look_like_labels(recwarn):
    with pytest.raises(DataError, match="no words"):
        TextClassifier().fit(["", ""], [0, 1])
    assert not recwarn.list
