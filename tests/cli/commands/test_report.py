"""Laws of `loglinear report` and of `train --report`."""

from __future__ import annotations

import json
import os
import re
import shlex
import time

import pytest

from loglinear import Corpus
from oracles.pages import Page


@pytest.fixture(scope="module")
def report(tmp_path_factory, done, chunker):
    """The page of the chunker, which makes mistakes."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    finished = done("report", chunker.model, "--data", chunker.test, "-o", path)
    assert (finished.stdout, finished.stderr) == ("", f"wrote {path}; open it in a browser\n")
    return Page(path.read_text(encoding="utf-8"))


def test_help_shows_an_example(done):
    assert "example: loglinear report" in done("report", "--help").stdout


def test_the_figures_are_those_of_evaluate(done, chunker, report):
    scores = json.loads(done("evaluate", "-m", chunker.model, chunker.test, "--json", "--calibration").stdout)
    report.check_alone()
    assert report.text.lstrip().startswith("model on test.txt")
    for name, says in (("f1", "F1 of chunks"), ("accuracy", "accuracy of tokens")):
        assert f"{says}{100 * scores[name]:.2f} %" in report.text
    for caption, kind in (("Chunks by type", "per_type"), ("Labels of tokens", "per_label")):
        (rows,) = (rows for name, rows in report.tables.items() if name.startswith(caption))
        assert {row[0] for row in rows[1:]} == set(scores[kind])
        for row in rows[1:]:
            each = scores[kind][row[0]]
            values = [f"{100 * each[name]:.2f}" for name in ("precision", "recall", "f1")]
            assert [cell.split()[0] for cell in row[1:4]] == values
            assert row[4:] == [f"{each['support']:,}", f"{each['predicted']:,}"]
    (kinds, *rows) = report.tables["Number of chunks by type and kind of mistake"]
    for row in rows[:-1]:
        numbers = dict(zip(kinds[1:], (int(cell.replace(",", "")) for cell in row[1:]), strict=True))
        assert numbers["correct"] == scores["per_type"][row[0]]["correct"]
        assert sum(numbers.values()) - numbers["invented"] == scores["per_type"][row[0]]["support"]
    header, *rows = report.tables["Number of tokens by gold and predicted label"]
    for row in rows:
        found = {
            name: int(cell.replace(",", "")) for name, cell in zip(header[1:], row[1:], strict=True) if cell != "·"
        }
        assert found == scores["confusion"][row[0]]
    for name in ("tokens", "spans"):
        error = scores["calibration"][name]["expected_calibration_error"]
        assert f"Expected calibration error {100 * error:.2f} % over" in report.text


def test_sentences_without_all_labels_are_left_out_and_the_page_says_so(done, chunker, tmp_path):
    lines = chunker.test.read_text(encoding="utf-8").splitlines(keepends=True)[:200]
    lines[0] = f"{lines[0].rsplit(None, 1)[0]} ?\n"
    (tmp_path / "part.txt").write_text("".join(lines), encoding="utf-8")
    done("report", chunker.model, "--data", tmp_path / "part.txt", "-o", tmp_path / "part.html")
    says = "1 token has no gold label. Sentences with such tokens are left out here"
    assert says in Page((tmp_path / "part.html").read_text(encoding="utf-8")).text


def test_the_command_can_be_pasted_and_trains_the_same_model(done, chunker, report, tmp_path, monkeypatch):
    command = re.search(r"loglinear train .*", report.text)[0]
    assert command == f"loglinear train {chunker.train} --model model --preset ner --l1 1 --tolerance 0.01"
    assert f"from {chunker.train}, on {time.strftime('%Y-', time.gmtime())}" in report.text
    monkeypatch.chdir(tmp_path)
    done(*shlex.split(command)[1:], "-q")
    assert (
        json.loads(done("inspect", "model", "--json").stdout)["top_states"]
        == json.loads(done("inspect", chunker.model, "--json").stdout)["top_states"]
    )


@pytest.mark.parametrize(
    "options",
    [
        "data.txt --template TEMPLATE --l1 0.1 --l2 0.5",
        "first.txt --preset pos --label-column 0 --separator tab --solver owlqn --tolerance 0.001",
        "data.jsonl --format jsonl --order 2 --min-count 2 --class-weight D=2 --class-weight N=0.5",
        "data.txt --preset pos --model-type maxent --multi-class ovr --no-intercept --l2 0.3",
        "mails.tsv --model-type maxent --format text --tfidf --ngrams 1-2",
        "data.txt --preset pos --start OLD_MODEL --l1 0.2",
        "data.txt --preset pos --prior OLD_MODEL --prior-strength 2",
        "data.txt --preset pos --prior OLD_MODEL --prior-strength inf",
        "data.txt --preset pos --dev DEV --keep best --solver lbfgs --max-iterations 5",
    ],
)
def test_the_command_in_a_report_trains_the_same_model_with_all_its_options(done, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    rows = [
        [("the", "D"), ("dog", "N"), ("barks", "V")],
        [("it", "P"), ("barks", "V")],
        [("the", "D"), ("cat", "N")],
    ] * 2
    for name, line in (("data.txt", "{} {}"), ("first.txt", "{1}\t{0}")):
        (tmp_path / name).write_text("\n".join("".join(line.format(*row) + "\n" for row in each) for each in rows))
    lines = [{"tokens": [[word] for word, _ in each], "labels": [label for _, label in each]} for each in rows]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "mails.tsv").write_text("spam\tbuy now\nham\tsee you\nspam\tbuy more\nham\tcall me soon\n" * 3)
    (tmp_path / "TEMPLATE").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    (tmp_path / "DEV").write_text("the D\ncat N\n\nit P\n")
    done("train", "data.txt", "--preset", "pos", "--l2", "3", "-m", "OLD_MODEL", "-q")
    done("train", *options.split(), "-m", "m", "-q")
    data, *_ = options.split()
    done("report", "m", "--data", data, "-o", "page", *(["--label-column", "0"] if data == "first.txt" else []))
    command = re.search(r"loglinear train .*", Page((tmp_path / "page").read_text("utf-8")).text)[0]
    shown = [json.loads(done("inspect", "m", "--json", "--top", "999").stdout)]
    os.remove("m")
    done(*shlex.split(command)[1:], "-q")
    shown.append(json.loads(done("inspect", "m", "--json", "--top", "999").stdout))
    for each in shown:
        del each["seconds"]
    assert shown[0] == shown[1]
    assert shown[0]["n_active"] > 0


@pytest.mark.parametrize("kind", ["columns", "crfsuite", "jsonl"])
def test_every_format_has_words_in_context(done, sample, kind, tmp_path):
    done("report", sample.models[kind], "--data", sample.path("test", kind), "-o", tmp_path / "page", "-f", kind)
    page = Page((tmp_path / "page").read_text(encoding="utf-8"))
    words = {row[0] for sentence in sample.data["test"] for row in sentence}
    marked = re.findall(r"<mark>(\w+)</mark>", (tmp_path / "page").read_text(encoding="utf-8"))
    assert kind == "crfsuite" or (marked and words.issuperset(marked))
    assert "sentence accuracy" not in page.text


def test_a_report_of_an_encoded_corpus_shows_attributes(done, sample, tmp_path):
    Corpus.read(sample.test, template=sample.template.read_text()).save(tmp_path / "test.corpus")
    done("report", sample.model, "--data", tmp_path / "test.corpus", "-o", tmp_path / "page")
    Page((tmp_path / "page").read_text(encoding="utf-8")).check_alone()


def test_training_with_a_report_draws_its_curve(done, sample, tmp_path):
    options = ["--template", sample.template, "-m", tmp_path / "m", "--tolerance", "1e-2"]
    trace = ["--trace", tmp_path / "trace"]
    done("train", sample.train, *options, "--dev", sample.test, "--report", tmp_path / "page", *trace)
    text = (tmp_path / "page").read_text(encoding="utf-8")
    Page(text).check_alone()
    assert "objective (nats) by iteration" in text
    assert "accuracy on development data (%) by iteration" in text
    assert "training data and too optimistic" not in text
    done("report", tmp_path / "m", "--data", sample.test, "-o", tmp_path / "again", *trace)
    assert (tmp_path / "again").read_text(encoding="utf-8") == text
    assert done("train", sample.train, *options, "-q", "--report", tmp_path / "page").stderr == ""
    assert "training data and too optimistic" in (tmp_path / "page").read_text(encoding="utf-8")


def test_a_classifier_of_texts_shows_the_texts(done, tmp_path):
    path = tmp_path / "mails.tsv"
    path.write_text("spam\tbuy <b>now</b>\nham\tsee you soon\nspam\tbuy more\nham\tbuy me lunch, see you\n" * 3)
    options = ["--model-type", "maxent", "--format", "text", "--ngrams", "1-2"]
    done("train", path, *options, "--l2", "20", "-m", tmp_path / "m", "-q", "--report", tmp_path / "page")
    page = Page((tmp_path / "page").read_text(encoding="utf-8"))
    scores = json.loads(done("evaluate", "-m", tmp_path / "m", path, "--json").stdout)
    assert f"accuracy of texts{100 * scores['accuracy']:.2f} %" in page.text
    assert "--model-type maxent --format text --ngrams 1-2 --l2 20" in page.text


def test_bad_input_is_refused_with_its_remedy(misuse, chunker, tmp_path):
    ask = ["report", chunker.model, "-o", tmp_path / "page", "--data"]
    assert "save the data to a file first" in misuse(*ask, "-")
    assert "create it first" in misuse("report", chunker.model, "--data", chunker.test, "-o", tmp_path / "no" / "page")
    assert "would overwrite" in misuse("report", chunker.model, "--data", chunker.test, "-o", chunker.test)
    assert "scheme" in misuse(*ask, chunker.test, "--scheme", "XYZ")
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    assert "empty" in misuse(*ask, empty)
    unlabelled = tmp_path / "model"
    unlabelled.write_text("no model")
    assert str(unlabelled) in misuse("report", unlabelled, "--data", chunker.test, "-o", tmp_path / "page")
    train = ["train", chunker.train, "--preset", "ner", "-m", tmp_path / "m", "--report", tmp_path / "page"]
    assert "add --dev" in misuse(*train, "--partial")
    assert not (tmp_path / "page").exists()
    assert not (tmp_path / "m").exists()


def test_a_network_has_a_report_of_its_table_whose_figures_are_those_of_evaluate(done, misuse, tmp_path, monkeypatch):
    rows = ["a,b,c", *["x,x,u", "y,y,v"] * 20, *["x,y,u", "y,x,u"] * 4, "x,,u"]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    model, data = tmp_path / "m.loglinear", tmp_path / "table.csv"
    done("structure", data, "-m", model, "--l1", "0.5", "--l2", "0.1", "-q")
    done("report", model, "--data", data, "-o", tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    page.check_alone()
    scores = json.loads(done("evaluate", "-m", model, data, "--json").stdout)
    assert f"log-likelihood of a row, in nats{scores['log_likelihood_per_sample']:.4f}" in page.text
    assert {row[0]: row[1] for row in page.tables["Data"]}["missing values"] == "1"
    command = re.search(r"loglinear structure .*", page.text)[0]
    assert command == f"loglinear structure {data} --model m.loglinear --l1 0.5 --l2 0.1"
    edges = [json.loads(done("inspect", model, "--json").stdout)["edges"]]
    os.remove(model)
    monkeypatch.chdir(tmp_path)
    done(*shlex.split(command)[1:], "-q")
    edges.append(json.loads(done("inspect", model, "--json").stdout)["edges"])
    assert edges[0] == edges[1]
    for option in (("--format", "text"), ("--scheme", "IOB2")):
        assert option[0] in misuse("report", model, "--data", data, "-o", tmp_path / "r.html", *option)
