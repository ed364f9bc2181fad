"""Laws of `loglinear rank`: the table, and a file of the chosen sentences in the format of the input."""

from __future__ import annotations

import gzip
import json
import lzma

import numpy as np
import pytest

from loglinear import ChainCRF, Corpus, MaxEnt, TextClassifier, rank

TRAIN = [["the", "dog", "barks"], ["a", "cat"], ["dogs", "bark"]]
LABELS = [["O", "B-X", "O"], ["O", "B-X"], ["B-X", "O"]]
POOL = [["the", "cow", "barks"], ["the", "dog"], ["a", "dog", "sleeps"], ["the", "cow", "barks"], ["cats"]]
WORDS = {"columns": "pos", "conllu": "pos"}


def lines(format, sentence, number):
    """Lines of an unlabelled sentence."""
    if format == "columns":
        return "".join(f"{word}\n" for word in sentence)
    if format == "conllu":
        rows = [f"{at}\t{word}" + "\t_" * 8 + "\n" for at, word in enumerate(sentence, start=1)]
        return f"# sent_id = {number}\n" + "".join(rows)
    if format == "crfsuite":
        return "".join(f"?\tw={word}\n" for word in sentence)
    return json.dumps({"tokens": [[f"w={word}"] for word in sentence]}) + "\n"


def write(folder, format):
    """Write a model and a file of unlabelled sentences; return their paths and the texts of the sentences."""
    X = TRAIN if format in WORDS else [[[f"w={word}"] for word in sentence] for sentence in TRAIN]
    ChainCRF(l2=0.3, template=WORDS.get(format)).fit(X, LABELS).save(folder / "model")
    texts = [lines(format, sentence, number) for number, sentence in enumerate(POOL)]
    between = "" if format == "jsonl" else "\n"
    data = folder / f"pool.{format}"
    data.write_text("".join(text + between for text in texts), encoding="utf-8")
    return folder / "model", data, texts


def rows(text):
    header, *others = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(header, line, strict=True)) for line in others]


@pytest.mark.parametrize("by", ["sequence", "span"])
@pytest.mark.parametrize("format", ["columns", "conllu", "crfsuite", "jsonl"])
def test_the_chosen_sentences_are_written_as_the_input_has_them(done, tmp_path, format, by):
    model, data, texts = write(tmp_path, format)
    out = tmp_path / f"next.{format}"
    finished = done("rank", model, data, "-f", format, "--by", by, "-n", "3", "-o", out)
    table = rows(finished.stdout)
    sentences = [[[f"w={word}"] for word in sentence] for sentence in POOL]
    expected = rank(ChainCRF.load(model), POOL if format in WORDS else sentences, by=by, n=3)
    between = "" if format == "jsonl" else "\n"
    assert out.read_text(encoding="utf-8") == "".join(texts[at] + between for at in expected.positions)
    assert [row["score"] for row in table] == [f"{score:.4g}" for score in expected.scores]
    starts = np.cumsum([1, *((text + between).count("\n") for text in texts)])
    assert [int(row["line"]) for row in table] == [starts[at] for at in expected.positions]
    assert "3 sentences to label next; wrote" in finished.stderr
    again = done("rank", model, out, "-f", format, "--by", by, "-n", "3")
    assert [row["score"] for row in rows(again.stdout)] == [row["score"] for row in table]


def test_the_table_shows_the_words_with_the_least_certain_part_in_brackets(done, tmp_path):
    model, data, _ = write(tmp_path, "columns")
    for row in rows(done("rank", model, data).stdout):
        assert row["context"].replace("[", "").replace("]", "").split() in POOL
    assert len(rows(done("rank", model, data).stdout)) == 4
    finished = done("rank", model, data, "-q", input="")
    assert finished.stderr == ""
    assert "(100 asked for: there are no other different ones)" in done("rank", model, data).stderr


@pytest.mark.parametrize(("suffix", "opened"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_files_are_compressed_by_their_names(done, tmp_path, suffix, opened):
    model, data, _ = write(tmp_path, "columns")
    plain = done("rank", model, data, "-n", "2", "-o", "-", "-q").stdout
    done("rank", model, data, "-n", "2", "-o", tmp_path / f"next{suffix}")
    with opened(tmp_path / f"next{suffix}", "rt", encoding="utf-8") as file:
        assert file.read() == plain
    packed = tmp_path / "pool.columns.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    assert done("rank", model, packed, "-n", "2", "-o", "-", "-q").stdout == plain
    assert done("rank", model, "-", "-n", "2", "-o", "-", "-q", input=data.read_text()).stdout == plain


def test_comments_byte_order_marks_and_line_ends_are_no_obstacle(done, tmp_path):
    model, data, _ = write(tmp_path, "columns")
    text = "\ufeffthe\r\ndog\r\n\r\n\r\n# note\r\na\r\ncow"
    data.write_bytes(text.encode())
    out = done("rank", model, data, "--skip-comments", "-o", "-", "-q", "--diversity", "0").stdout
    assert out.startswith("\ufeff")
    assert sorted(out[1:].split("\r\n\r\n")) == ["", "# note\r\na\r\ncow", "the\r\ndog"]


def test_comments_stay_with_their_sentences(done, tmp_path):
    model, data, _ = write(tmp_path, "columns")
    texts = ["# one\n# 1\nthe\ndog\n\n", "-DOCSTART-\n\n# two\na\ncow\n\n", "a\ndog\n\n", "# three\nthe\ncow\n\n"]
    data.write_text("\n" + "".join(texts) + "# end\n")
    finished = done("rank", model, data, "--skip-comments", "-o", tmp_path / "next", "--diversity", "0")
    chosen = [int(row["line"]) for row in rows(finished.stdout)]
    assert sorted(chosen) == [4, 10, 13, 17]
    assert (tmp_path / "next").read_text() == "".join(texts[[4, 10, 13, 17].index(line)] for line in chosen)


def test_a_committee_disagrees(done, tmp_path):
    model, data, _ = write(tmp_path, "columns")
    ChainCRF(l2=3.0, template="pos").fit(TRAIN[:2], LABELS[:2]).save(tmp_path / "other")
    finished = done("rank", model, data, "--by", "disagreement", "--committee", tmp_path / "other", "-n", "2")
    members = [ChainCRF.load(tmp_path / name) for name in ("model", "other")]
    expected = rank(members[0], POOL, by="disagreement", committee=members[1:], n=2)
    assert [row["score"] for row in rows(finished.stdout)] == [f"{score:.4g}" for score in expected.scores]


def test_texts_are_ranked_and_their_lines_written(done, tmp_path):
    classifier = TextClassifier(l2=0.1).fit(["buy now", "see you", "buy pills"], ["spam", "ham", "spam"])
    classifier.save(tmp_path / "model")
    texts = ["buy this", "see you", "what", "see you", "you buy"]
    (tmp_path / "pool.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    finished = done("rank", tmp_path / "model", tmp_path / "pool.txt", "-n", "3", "-o", tmp_path / "next.txt")
    expected = rank(classifier, texts, n=3).positions.tolist()
    assert (tmp_path / "next.txt").read_text(encoding="utf-8") == "".join(f"{texts[at]}\n" for at in expected)
    assert [row["line"] for row in rows(finished.stdout)] == [str(2 * at + 1) for at in expected]
    (tmp_path / "folder").mkdir()
    for at, text in enumerate(texts):
        (tmp_path / "folder" / f"{at}.txt").write_text(text, encoding="utf-8")
    table = rows(done("rank", tmp_path / "model", tmp_path / "folder", "-n", "3").stdout)
    assert [row["line"] for row in table] == [str(tmp_path / "folder" / f"{at}.txt") for at in expected]


def test_an_encoded_corpus_and_samples_are_ranked(done, tmp_path):
    model, data, _ = write(tmp_path, "crfsuite")
    sentences = [[[f"w={word}"] for word in sentence] for sentence in POOL]
    Corpus.encode(sentences).save(tmp_path / "corpus")
    table = rows(done("rank", model, tmp_path / "corpus", "-n", "2").stdout)
    expected = rank(ChainCRF.load(model), sentences, n=2).positions
    assert [row["line"] for row in table] == [str(at + 1) for at in expected]
    MaxEnt(l2=0.1).fit([["w=the"], ["w=dog"]], ["D", "N"]).save(tmp_path / "maxent")
    assert len(rows(done("rank", tmp_path / "maxent", data, "-n", "2", "--by", "entropy").stdout)) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "spam"], "--by spam is not one of sequence, span, entropy, disagreement (did you mean span?)"),
        (["-n", "0"], "--number 0 is not a whole number"),
        (["--diversity", "2"], "--diversity 2.0 is out of range"),
        (["--by", "disagreement"], "needs a --committee"),
        (["--committee", "MODEL"], "does not use a --committee"),
        (["--committee", "MAXENT", "--by", "disagreement"], "maxent is a classifier, "),
        (["-o", "POOL"], "would overwrite"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(misuse, tmp_path, arguments, message):
    model, data, _ = write(tmp_path, "crfsuite")
    MaxEnt().fit([["w=the"], ["w=dog"]], ["D", "N"]).save(tmp_path / "maxent")
    places = {"MODEL": model, "MAXENT": tmp_path / "maxent", "POOL": data}
    assert message in misuse("rank", model, data, *(places.get(word, word) for word in arguments))


def test_files_that_cannot_be_ranked_are_refused_by_name(misuse, tmp_path):
    model, data, _ = write(tmp_path, "crfsuite")
    Corpus.encode([[["w=a"]]]).save(tmp_path / "corpus")
    assert "does not contain its text" in misuse("rank", model, tmp_path / "corpus", "-o", tmp_path / "next")
    data.write_text("\n\n")
    assert f"{data}: no sentences" in misuse("rank", model, data)
    TextClassifier().fit(["buy now", "see you"], ["spam", "ham"]).save(tmp_path / "texts")
    assert f"{data}: no texts found" in misuse("rank", tmp_path / "texts", data)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("buy")
    said = misuse("rank", tmp_path / "texts", tmp_path / "folder", "-o", tmp_path / "next")
    assert "the table has" in said
    assert not (tmp_path / "next").exists()
