"""Laws of `loglinear explain`."""

from __future__ import annotations

import json

import pytest

from loglinear import ChainCRF, MaxEnt
from oracles.pages import Page


def test_the_labels_are_those_of_tag_and_the_sums_those_of_python(done, sample, tmp_path):
    tokens = [line.split()[:-1] for line in sample.test.read_text(encoding="utf-8").splitlines()[:6]]
    (tmp_path / "data").write_text("".join(" ".join(token) + "\n" for token in tokens))
    found = json.loads(done("explain", "-m", sample.model, tmp_path / "data", "--json").stdout)["tokens"]
    tagged = done("tag", "-m", sample.model, tmp_path / "data").stdout.split("\n")[: len(tokens)]
    assert [each["label"] for each in found] == [line.split("\t")[-1] for line in tagged]
    expected = ChainCRF.load(sample.model).explain([tuple(token) for token in tokens])
    assert found == expected.to_dict()["tokens"]
    text = done("explain", "-m", sample.model, tmp_path / "data", "--top", "2").stdout
    assert text == expected.text(2) + "\n"


def test_the_page_is_whole_and_asks_nothing_of_elsewhere(done, sample, tmp_path):
    lines = sample.test.read_text(encoding="utf-8").splitlines()[:60]
    (tmp_path / "data").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    done("explain", "-m", sample.model, tmp_path / "data", "--html", "-o", tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    page.check_alone()
    explained = done("explain", "-m", sample.model, tmp_path / "data", "--json").stdout.splitlines()
    tokens = [token for line in explained for token in json.loads(line)["tokens"]]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(tokens)
    assert all(f"{part['weight']:+.3f}" in page.text for token in tokens for part in token["contributions"][:8])


def test_tokens_are_cut_as_tag_cuts_them_from_files_and_from_a_pipe(done, sample, tmp_path):
    text = "\ufeffThe DT\n\u3000 NN\nCaf\xe9\xa0bar NN\n"
    (tmp_path / "data").write_text(text, encoding="utf-8")
    found = json.loads(done("explain", "-m", sample.model, tmp_path / "data", "--json").stdout)["tokens"]
    assert [each["text"] for each in found] == ["The", "\u3000", "Caf\xe9\xa0bar"]
    tagged = done("tag", "-m", sample.model, tmp_path / "data").stdout.splitlines()
    assert [each["label"] for each in found] == [line.split("\t")[-1] for line in tagged if line]
    piped = done("explain", "-m", sample.model, "--json", input=text).stdout
    assert json.loads(piped)["tokens"] == found


def test_json_lines_without_tokens_are_answered_as_tag_answers_them(done, sample, tmp_path):
    sentences = [[["The", "DT"], ["dog", "NN"]], [], [["barks", "VB"]]]
    (tmp_path / "data.jsonl").write_text("\n".join(json.dumps({"tokens": tokens}) for tokens in sentences))
    tagged = done("tag", "-m", sample.model, tmp_path / "data.jsonl").stdout.splitlines()
    explained = done("explain", "-m", sample.model, tmp_path / "data.jsonl", "--json").stdout.splitlines()
    labels = [[token["label"] for token in json.loads(line)["tokens"]] for line in explained]
    assert labels == [json.loads(line)["predicted"] for line in tagged]
    assert [token["text"] for token in json.loads(explained[0])["tokens"]] == ["The", "dog"]
    page = done("explain", "-m", sample.model, tmp_path / "data.jsonl", "--html").stdout
    assert page.count("<h2>Sentence") == 3


def test_classifiers_are_explained_with_their_intercept(done, tmp_path):
    X = [{"good": 1.0}, {"bad": 2.0}, {"good": 0.5, "long": 1.0}, {"long": 1.0}, {"odd": 1.0}]
    classifier = MaxEnt(l2=0.1).fit(X, ["yes", "no", "yes", "no", "perhaps"])
    classifier.save(tmp_path / "m.loglinear")
    lines = ["yes\tgood:1", "no\tbad:2", "yes\tgood:0.5\tlong:1"]
    (tmp_path / "data.crfsuite").write_text("".join(f"{line}\n\n" for line in lines))
    shown = done("explain", "-m", tmp_path / "m.loglinear", tmp_path / "data.crfsuite", "--json").stdout.splitlines()
    for line, sample, scores in zip(shown, X, classifier.decision_function(X), strict=False):
        (token,) = json.loads(line)["tokens"]
        best, second = sorted(scores)[::-1][:2]
        assert token["difference"] == pytest.approx(best - second)
        assert token["label"] == classifier.predict([sample])[0]
    assert len(shown) == 3


def test_what_cannot_be_explained_is_refused(misuse, sample, tmp_path):
    (tmp_path / "empty").write_text("\n\n")
    assert "no sentences" in misuse("explain", "-m", sample.model, tmp_path / "empty")
    (tmp_path / "latin").write_bytes(b"The DT\ncaf\xe9 NN\n")
    assert "line 2: invalid UTF-8" in misuse("explain", "-m", sample.model, tmp_path / "latin")
    (tmp_path / "narrow").write_text("a b\nc\n")
    assert "line 2" in misuse("explain", "-m", sample.model, tmp_path / "narrow")
    assert misuse("explain", "-m", sample.model, input="a b\nc\n").startswith("<stdin>, line 2")
    misuse("explain", "-m", sample.model, tmp_path / "missing")


def test_texts_are_explained_by_their_words(done, tmp_path):
    (tmp_path / "train").write_text("+\ta good film\n-\ta bad film\n+\tgood fun\n-\ta bad joke\n")
    done(
        "train",
        tmp_path / "train",
        "-m",
        tmp_path / "m.loglinear",
        "--model-type",
        "maxent",
        "--format",
        "text",
        "--l1",
        "0.1",
    )
    (tmp_path / "new").write_text("good good joke\na bad one\n")
    shown = done("explain", "-m", tmp_path / "m.loglinear", tmp_path / "new", "--json").stdout.splitlines()
    entries = [json.loads(line)["tokens"] for line in shown]
    assert [entry["text"] for (entry,) in entries] == ["good good joke", "a bad one"]
    tagged = done("tag", "-m", tmp_path / "m.loglinear", tmp_path / "new").stdout.split()
    assert [entry["label"] for (entry,) in entries] == tagged == ["+", "-"]
    assert entries[0][0]["contributions"][0]["feature"] == "good"
    page = done("explain", "-m", tmp_path / "m.loglinear", tmp_path / "new", "--html").stdout
    Page(page).check_alone()
    assert "<h2>Text 2</h2>" in page


def test_a_network_is_explained_line_by_line_of_its_table(done, misuse, tmp_path):
    rows = ["a,b,c", *["x,x,u", "y,y,v"] * 20, *["x,y,u", "y,x,u"] * 4]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    done("structure", tmp_path / "table.csv", "-m", tmp_path / "m.loglinear", "--l1", "0.5")
    (tmp_path / "new.csv").write_text("c,b,a\nu,x,x\nv,,y\n")
    shown = done("explain", "-m", tmp_path / "m.loglinear", tmp_path / "new.csv", "--json").stdout.splitlines()
    entries = [json.loads(line)["tokens"] for line in shown]
    assert [[entry["text"] for entry in row] for row in entries] == [["a=x", "b=x", "c=u"], ["a=y", "b", "c=v"]]
    filled = done("tag", "-m", tmp_path / "m.loglinear", tmp_path / "new.csv").stdout.splitlines()[2].split(",")
    assert entries[1][1]["label"] == filled[1]
    text = done("explain", "-m", tmp_path / "m.loglinear", tmp_path / "new.csv").stdout
    starts = [part.splitlines()[0] for part in text.split("\n\n")]
    assert starts == [f"Sample {number}" for number in range(1, len(shown) + 1)]
    page = done("explain", "-m", tmp_path / "m.loglinear", tmp_path / "new.csv", "--html").stdout
    Page(page).check_alone()
    assert "<h2>Sample 2</h2>" in page
    message = misuse("explain", "-m", tmp_path / "m.loglinear", tmp_path / "new.csv", "--format", "text")
    assert "--format" in message


def test_each_text_has_its_own_number(done, tmp_path):
    data, model = tmp_path / "texts.tsv", tmp_path / "m"
    data.write_text("a\toil price\nb\tnet loss\na\toil up\nb\tloss cts\n")
    done("train", data, "--model-type", "maxent", "--format", "text", "-m", model, "-q")
    explained = done("explain", model, input="oil up\nnet loss\n")
    assert "(token" not in explained.stdout
    assert "warning" not in explained.stderr
    assert not explained.stdout.startswith("Text")
    labelled = done("explain", model, data)
    assert "every line begins with a label" in labelled.stderr
    assert "\t" not in labelled.stdout
    data.write_text(data.read_text() + "c\tsome other label\n")
    for command in ("tag", "explain"):
        assert "4 of 5 lines begin with a label" in done(command, model, data).stderr


def test_what_has_labels_is_called_a_text_everywhere(done, tmp_path):
    data, model = tmp_path / "texts.tsv", tmp_path / "m"
    data.write_text("a\toil price\nb\tnet loss\na\toil up\nb\tloss cts\n")
    train = ("train", data, "--model-type", "maxent", "--format", "text", "-m", model, "-q")
    done(*train, "--dev", data, "--report", tmp_path / "page.html")
    inspected, page = done("inspect", model).stdout, (tmp_path / "page.html").read_text(encoding="utf-8")
    for shown in (inspected, done("evaluate", model, data).stdout, page):
        assert "4 texts" in shown
        assert "samples" not in shown.replace("bootstrap samples", "")
    assert "strongest words" in inspected
    assert "bootstrap samples of the texts" in page


def test_a_file_after_the_flag_of_a_page_is_told_how_to_be_one(misuse):
    said = misuse("explain", "m", "x.jsonl", "--html", "h.html", usage=True)
    assert said == "unrecognized arguments: h.html; to write the page to a file, add -o h.html"
