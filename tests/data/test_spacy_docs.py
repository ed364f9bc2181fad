"""Files of docs of spaCy as training data, and docs as sentences."""

from __future__ import annotations

import tempfile
import zlib

import numpy as np
import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("spacy")

from spacy.tokens import Doc, DocBin, Span

import spacy
from examples import examples
from loglinear import ChainCRF, Corpus, DataError, DataWarning, OptionError, TextClassifier
from loglinear.data import texts
from loglinear.data.spacy_docs import DocWords, entity_labels, labels_at, sentence_starts, span_labels, stretches
from oracles.command_line import run_command
from oracles.spacy_docs import TEXTS, WORDS, bio, chain, gold

VOCAB = spacy.blank("xx").vocab


def run(*arguments, code=0):
    """Run the command line; return what it prints."""
    done = run_command(*arguments)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def path(tmp_path):
    DocBin(docs=[gold(VOCAB, words) for words in WORDS]).to_disk(tmp_path / "train.spacy")
    return tmp_path / "train.spacy"


def test_a_file_of_docs_is_a_corpus(path):
    corpus = Corpus.read(path, template="ner")
    expected = [bio(gold(VOCAB, words)) for words in WORDS]
    assert (corpus.gold(), corpus.format) == (expected, "spacy")
    assert sorted(corpus.core.names()) == sorted(Corpus.encode(WORDS, expected, template="ner").core.names())
    for column, attribute in (("tags", "tag_"), ("pos", "pos_")):
        labels = [[getattr(token, attribute) for token in gold(VOCAB, words)] for words in WORDS]
        assert Corpus.read(path, format=f"spacy:{column}", template="pos").gold() == labels
    assert Corpus.read(path, template="ner", labelled=False).labels == []


def test_the_command_line_trains_the_model_of_a_pipeline(path, tmp_path):
    trained, scored = tmp_path / "m", tmp_path / "scored.spacy"
    run("train", path, "--preset", "ner", "--constraints", "BIO", "-m", trained, "-q")
    assert ChainCRF.load(trained).predict(WORDS) == chain().predict(WORDS)
    DocBin(docs=[gold(VOCAB, words) for words in WORDS[:4]]).to_disk(scored)
    assert "overall               100.00  100.00  100.00" in run("evaluate", trained, scored).stdout
    nlp = spacy.blank("xx")
    import loglinear.spacy  # noqa: F401 - registers the factories

    nlp.add_pipe("loglinear_ner", config={"model_path": str(trained)})
    assert [bio(doc) for doc in nlp.pipe(TEXTS)] == chain().predict(WORDS)
    # A model of docs labels words.
    (tmp_path / "words").write_text("Ada\nlived\n", encoding="utf-8")
    assert run("tag", trained, tmp_path / "words").stdout == "Ada\tB-PER\nlived\tO\n\n"


def test_categories_are_read_as_texts(path, tmp_path):
    documents = texts.read(str(path), format="spacy:cats")
    labels = ["city" if "Y" in text else "town" for text in TEXTS]
    assert documents.labels == labels
    run("train", path, "--format", "spacy:cats", "--model-type", "maxent", "-m", tmp_path / "m", "-q")
    fitted = TextClassifier().fit(documents.texts, labels)
    assert TextClassifier.load(tmp_path / "m").predict(TEXTS).tolist() == fitted.predict(TEXTS).tolist()
    assert "accuracy           100.00" in run("evaluate", tmp_path / "m", path).stdout


def test_docs_without_a_category_are_left_out_with_a_warning(tmp_path):
    docs = [Doc(VOCAB, words=["a"]) for _ in range(3)]
    docs[0].cats, docs[1].cats = {"A": 1.0}, {"A": 0.25, "B": 0.75}
    path = tmp_path / "cats.spacy"
    DocBin(docs=docs).to_disk(path)
    with pytest.warns(DataWarning, match=r"cats\.spacy: 1 of 3 docs have no category and are left out"):
        assert texts.read(str(path), format="spacy:cats", partial=True).labels == ["A", {"A": 0.25, "B": 0.75}]
    with pytest.raises(DataError, match=r"cats\.spacy, doc 1: the categories are a distribution; add --partial"):
        texts.read(str(path), format="spacy:cats")
    docs[2].cats = {"A": 1.0, "B": 1.0}
    DocBin(docs=docs[2:]).to_disk(path)
    with pytest.raises(DataError, match=r"cats\.spacy, doc 0: the categories A: 1, B: 1 are not exclusive"):
        texts.read(str(path), format="spacy:cats")


@pytest.mark.parametrize("command", ["tag", "explain", "rank", "audit"])
def test_commands_that_work_on_lines_refuse_docs(command, path, tmp_path):
    chain().save(tmp_path / "m")
    done = run(command, *([path, "--preset", "ner"] if command == "audit" else [tmp_path / "m", path]), code=2)
    assert f"{path}: loglinear {command} does not take docs of spaCy; write their words in columns" in done.stderr


def test_docs_are_encoded_as_they_are_read(path, tmp_path):
    run("encode", path, "--preset", "ner", "-o", tmp_path / "corpus", "-q")
    encoded, read = Corpus.open(tmp_path / "corpus"), Corpus.read(path, template="ner")
    assert (encoded.gold(), encoded.format) == (read.gold(), "spacy")
    assert sorted(encoded.core.names()) == sorted(read.core.names())
    done = run("encode", path, "--preset", "ner", "-o", tmp_path / "other", "--min-count", "2", code=2)
    assert f"reads its input twice, which {path} does not allow" in done.stderr


@pytest.mark.parametrize("content", [b"", b"no docs", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_other_files_are_data_errors(content, tmp_path):
    path = tmp_path / "f.spacy"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"f\.spacy: not a file of docs of spaCy, or damaged .*; write one with DocBin"):
        Corpus.read(path, template="ner")
    with pytest.raises(DataError, match="read from a file"):
        Corpus.read("-", format="spacy", template="ner")


@given(st.data())
@examples(30, deadline=None)
def test_damaged_files_are_data_errors_or_are_read(data):
    whole = bytearray(DocBin(docs=[gold(VOCAB, WORDS[0])]).to_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        del whole[at:]
    else:
        whole[at] ^= data.draw(st.integers(1, 255))
    with tempfile.NamedTemporaryFile(suffix=".spacy") as file:
        file.write(whole)
        file.flush()
        with pytest.raises(DataError, match="not a file of docs of spaCy, or damaged"):
            Corpus.read(file.name, template="ner")


def test_what_docs_lack_is_told_with_what_they_have(tmp_path):
    doc = Doc(VOCAB, words=["a"], tags=["X"])
    DocBin(docs=[doc]).to_disk(tmp_path / "tags.spacy")
    with pytest.raises(DataError, match="no doc has entities; for what the docs have, use --format spacy:tags"):
        Corpus.read(tmp_path / "tags.spacy", template="ner")
    DocBin(docs=[Doc(VOCAB, words=["a"])]).to_disk(tmp_path / "bare.spacy")
    with pytest.raises(DataError, match="no doc has categories; annotate the docs"):
        texts.read(str(tmp_path / "bare.spacy"), format="spacy:cats")
    with pytest.raises(OptionError, match="the format spacy needs a template"):
        Corpus.read(tmp_path / "tags.spacy")


def test_missing_and_blocked_tokens_have_no_label():
    doc = Doc(VOCAB, words=list("abcde"))
    doc.set_ents([Span(doc, 1, 3, label="X-Y")], missing=[doc[3:4]], blocked=[doc[4:5]])
    assert entity_labels(doc) == ["O", "B-X-Y", "I-X-Y", None, None]
    assert entity_labels(Doc(VOCAB, words=["a"])) == [None]


def test_stretches_are_sentences_without_whitespace():
    words = DocWords()
    doc = Doc(VOCAB, words=["\n", "a", " ", "b", "c", "\t"], sent_starts=[True, False, False, True, False, True])
    assert words.of([doc]) == ([[None, "a", None, "b", "c", None]], {0})
    assert stretches(words.of([doc])[0][0], sentence_starts(doc)) == [(["a"], [1]), (["b", "c"], [3, 4])]
    assert stretches(words.of([doc])[0][0]) == [(["a", "b", "c"], [1, 3, 4])]
    assert stretches(["a", "b"]) == [(["a", "b"], range(2))]
    assert stretches([]) == stretches([None]) == []
    assert stretches(["a", "b"], [1]) == [(["a"], [0]), (["b"], [1])]
    others = [Doc(VOCAB), doc, Doc(VOCAB), Doc(VOCAB, words=["d"], sent_starts=[True])]
    assert words.of(others) == ([[], [None, "a", None, "b", "c", None], [], ["d"]], {1})
    assert all((at in words.of(others)[1]) == bool(sentence_starts(each)) for at, each in enumerate(others[:3]))
    assert words.of([]) == ([], set())
    assert labels_at(["B-X", "I-X", "I-X", "O"], [2, 3]) == ["B-X", "O"]
    assert span_labels(4, [("X", 1, 3)]) == ["O", "B-X", "I-X", "O"]


def test_the_cache_of_words_is_bounded_and_right(monkeypatch):
    monkeypatch.setattr("loglinear.data.spacy_docs._MOST_WORDS", 3)
    words = DocWords()
    for sentence in WORDS * 2:
        assert words.of([Doc(VOCAB, words=sentence)]) == ([sentence], set())
        assert len(words) <= 3 + len(sentence)


@pytest.mark.parametrize(
    "command",
    [("tag", "{model}", "{docs}", "--text", "--tokenizer", "words"), ("convert", "{docs}", "o", "--to", "doccano")],
)
def test_a_command_that_does_not_read_docs_says_what_the_file_is(path, tmp_path, command):
    chain().save(tmp_path / "m")
    done = run(*(part.format(model=tmp_path / "m", docs=path) for part in command), code=2)
    assert f"{path}: the file is a DocBin with docs of spaCy; `loglinear train` and" in done.stderr


def test_docs_of_one_category_are_refused_with_a_remedy_for_docs(tmp_path):
    docs = [gold(VOCAB, words) for words in WORDS[:3]]
    for doc in docs:
        doc.cats = {"only": 1.0}
    DocBin(docs=docs).to_disk(tmp_path / "c.spacy")
    arguments = "--format", "spacy:cats", "--model-type", "maxent", "-m", tmp_path / "m"
    said = run("train", tmp_path / "c.spacy", *arguments, code=2).stderr
    assert (
        "c.spacy: the texts have a single label, 'only', so there is nothing to learn; check the annotation of" in said
    )


@pytest.mark.parametrize("change", [-1, 1])
def test_lengths_of_docs_that_do_not_sum_to_the_tokens_are_damage(path, change):
    fields = srsly.msgpack_loads(zlib.decompress(path.read_bytes()))
    lengths = np.frombuffer(fields["lengths"], dtype="int32").copy()
    lengths[-1] += change
    path.write_bytes(zlib.compress(srsly.msgpack_dumps(fields | {"lengths": lengths.tobytes()})))
    n = sum(map(len, WORDS))
    told = f"damaged: the lengths of its docs sum to {n + change:,} tokens, and it has {n:,}; write it again"
    with pytest.raises(DataError, match=told):
        Corpus.read(path, template="ner")
