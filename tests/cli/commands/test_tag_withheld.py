"""`loglinear tag --min-probability` withholds the answers that `Tagging.accepted` does, in each format."""

from __future__ import annotations

import json

import pytest

import loglinear
from oracles.command_line import read_columns


@pytest.fixture(scope="module")
def taggings(chunker):
    rows = read_columns(chunker.test.read_text())
    return loglinear.ChainCRF.load(chunker.model).tag([[row[:2] for row in sentence] for sentence in rows])


def of_columns(text, column=-1):
    return [[row[column] for row in sentence] for sentence in read_columns(text)]


@pytest.mark.parametrize(("by", "least"), [("token", 0.5), ("span", 0.4), ("sequence", 1e-3)])
@pytest.mark.parametrize("below", [None, "O"])
def test_withheld_labels_are_those_of_python(done, chunker, taggings, by, least, below):
    flags = () if below is None else ("--below", below)
    shown = ("--probabilities", by)
    printed = done("tag", chunker.model, chunker.test, "--min-probability", str(least), *shown, *flags)
    expected = [tagging.accepted(least, by=by, below=below or "?") for tagging in taggings]
    text = "".join(line + "\n" for line in printed.stdout.split("\n") if not line.startswith("# "))
    assert of_columns(text, -1 if by == "sequence" else -2) == expected
    changed = [guess != tagging.labels for guess, tagging in zip(expected, taggings, strict=True)]
    n, n_tokens = len(taggings), sum(len(tagging.labels) for tagging in taggings)
    assert 0 < sum(changed) < n
    assert f"of {n:,} sentences (" in printed.stderr
    assert f"of {n_tokens:,} tokens) are below a probability of {least:g}; the labels are written as" in printed.stderr
    if below is None:
        below_count = sum(labels.count("?") for labels in expected)
        assert f"{sum(changed):,} of {n:,} sentences ({below_count:,} of" in printed.stderr


def test_spans_are_judged_by_default_and_streams_alike(done, chunker, taggings):
    expected = [tagging.accepted(0.9, below="?") for tagging in taggings]
    printed = done("tag", chunker.model, chunker.test, "--min-probability", "0.9")
    assert of_columns(printed.stdout) == expected
    streamed = done("tag", chunker.model, chunker.test, "--min-probability", "0.9", "--stream")
    assert streamed.stdout == printed.stdout
    assert sorted(streamed.stderr.splitlines()) == sorted(printed.stderr.splitlines())
    for least, count in ((0.0, 0), (1.0, sum(len(tagging.labels) for tagging in taggings))):
        text = done("tag", chunker.model, chunker.test, "--min-probability", str(least)).stdout
        marks = sum(labels.count("?") for labels in of_columns(text))
        assert marks == 0 if count == 0 else marks > 0.9 * count


def test_the_rest_is_written_apart_with_its_labels(done, chunker, taggings, tmp_path):
    out, rest = tmp_path / "out", tmp_path / "rest"
    said = done("tag", chunker.model, chunker.test, "--min-probability", "0.4", "--rest", rest, "-o", out).stderr
    unsure = [tagging.accepted(0.4) != tagging.labels for tagging in taggings]
    assert 0 < sum(unsure) < len(unsure)
    whole = read_columns(done("tag", chunker.model, chunker.test).stdout)
    assert read_columns(out.read_text()) == [rows for rows, apart in zip(whole, unsure, strict=True) if not apart]
    assert read_columns(rest.read_text()) == [rows for rows, apart in zip(whole, unsure, strict=True) if apart]
    assert f"are below a probability of 0.4; they are in {rest}" in said


def test_json_lines_have_nothing_in_place_of_a_withheld_label(done, sample, tmp_path):
    model = sample.models["jsonl"]
    printed = done("tag", model, sample.path("test", "jsonl"), "--min-probability", "0.9", "--probabilities", "token")
    n_withheld = 0
    for line in map(json.loads, printed.stdout.splitlines()):
        for label, p in zip(line["predicted"], line["probabilities"], strict=True):
            assert (label is None) == (p < 0.9)
            n_withheld += label is None
    assert n_withheld > 10
    rest, out = tmp_path / "rest.jsonl", tmp_path / "out.jsonl"
    done("tag", model, sample.path("test", "jsonl"), "--min-probability", "0.9", "--rest", rest, "-o", out)
    lines = rest.read_text().splitlines() + out.read_text().splitlines()
    assert len(lines) == len(printed.stdout.splitlines())
    assert all(None not in json.loads(line)["predicted"] for line in lines)


def test_withheld_spans_are_not_among_the_spans_of_a_sentence(done, chunker, tmp_path):
    rows = read_columns(chunker.test.read_text())[:40]
    data = tmp_path / "data.jsonl"
    model = loglinear.ChainCRF(l2=0.1).fit(
        [[[row[0]] for row in s] for s in rows], [[row[-1] for row in s] for s in rows]
    )
    model.save(tmp_path / "m")
    data.write_text("".join(json.dumps({"tokens": [[row[0]] for row in sentence]}) + "\n" for sentence in rows))
    arguments = ("tag", tmp_path / "m", data, "--probabilities", "span")
    whole = [json.loads(line)["spans"] for line in done(*arguments).stdout.splitlines()]
    accepted = [json.loads(line)["spans"] for line in done(*arguments, "--min-probability", "0.95").stdout.splitlines()]
    assert accepted == [[span for span in spans if span["probability"] >= 0.95] for spans in whole]
    assert accepted != whole


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--below", "O"), "--below needs --min-probability"),
        (("--rest", "r"), "--rest needs --min-probability"),
        (("--min-probability", "1.5"), "--min-probability 1.5 is not a probability; give a number from 0 to 1"),
        (("--min-probability", "nan"), "--min-probability nan is not a probability"),
        (("--min-probability", "0.5", "--below", "O", "--rest", "r"), "--below and --rest cannot be combined"),
        (("--min-probability", "0.5", "--below", "a b"), "contains a space"),
        (("--min-probability", "0.5", "--below", "a b"), '--below "a b" contains'),
        (("--min-probability", "0.5", "--below", ""), '--below "" is empty, so it cannot be written'),
        (("--min-probability", "0.5", "--below", "a\tb"), "give a label such as O or ?"),
        (("--min-probability", "0.5", "--rest", "-"), "--output and --rest would both be written to stdout"),
        (("--min-probability", "0.5", "--rest", "/dev/stdout", "-o", "-"), "would both be written to stdout; give one"),
        (("--min-probability", "0.5", "--n-best", "2"), "--min-probability and --n-best cannot be combined"),
        (("--min-probability", "0.5", "--layout", "crf++"), "--min-probability and --layout cannot be combined"),
        (("--min-probability", "0.5", "--rest", "r", "--stream"), "--rest needs all sentences before it writes"),
        (("--min-probability", "0.5", "--rest", "r", "--stream"), "it writes; leave out --stream, or add -o FILE"),
    ],
)
def test_options_that_do_not_fit_are_named(misuse, chunker, arguments, says):
    assert says in misuse("tag", chunker.model, chunker.test, *arguments)


def test_a_flag_that_was_not_given_is_not_blamed(misuse, chunker, tmp_path):
    flags = ("--min-probability", "0.5", "--rest", tmp_path / "r")
    message = misuse("tag", chunker.model, "-", *flags, input="a\n")
    assert "--rest needs all sentences before it writes; add -o FILE, or read from a file" in message
    assert "--stream" not in message


def test_a_file_that_was_taken_for_the_picture_is_named(misuse, chunker):
    message = misuse("evaluate", chunker.model, "--calibration", chunker.test, usage=True)
    assert f"a file is missing: --calibration took {chunker.test} for its picture, so give FILE first" in message


def test_comments_stay_with_their_sentences(done, tmp_path):
    crf = loglinear.ChainCRF(template="U0:%x[0,0]\n", l2=0.1).fit([["a"], ["b"]] * 9, [["A"], ["B"]] * 9)
    crf.save(tmp_path / "m")
    text = "# one\nnew\n\n# two\na\n\nnew\n\n# three\n# 3\nb\n\n# four\nnew\n\n# end\n"
    (tmp_path / "data").write_text(text)
    flags = ("--skip-comments", "--min-probability", "0.8", "--rest", tmp_path / "rest", "-o", tmp_path / "out")
    done("tag", tmp_path / "m", tmp_path / "data", *flags)
    out, rest = (tmp_path / "out").read_text(), (tmp_path / "rest").read_text()
    assert [line for line in out.split("\n") if line] == ["# two", "a\tA", "# three", "# 3", "b\tB", "# end"]
    label = rest.split("\n")[1].split("\t")[1]
    assert [line for line in rest.split("\n") if line] == [
        "# one",
        f"new\t{label}",
        f"new\t{label}",
        "# four",
        f"new\t{label}",
    ]


def test_classifiers_of_samples_withhold_labels(done, tmp_path):
    (tmp_path / "train.svm").write_text("A 1:1\nB 2:1\n" * 9)
    done("train", tmp_path / "train.svm", "--model-type", "maxent", "--l2", "0.1", "-m", tmp_path / "m", "-q")
    (tmp_path / "new.svm").write_text("A 1:1\nB 1:1 2:1\n")
    flags = ("--min-probability", "0.8")
    assert done("tag", tmp_path / "m", tmp_path / "new.svm", *flags).stdout.split() == ["A", "?"]
    with_all = done("tag", tmp_path / "m", tmp_path / "new.svm", *flags, "--marginals", "--below", "other").stdout
    assert [line.split("\t")[0] for line in with_all.splitlines() if line] == ["A", "other"]


def test_classifiers_and_tables_withhold_answers_too(done, misuse, tmp_path):
    (tmp_path / "texts.txt").write_text("good\tfine nice day\nbad\tawful bad day\n" * 10)
    done(
        "train",
        tmp_path / "texts.txt",
        "-f",
        "text",
        "--model-type",
        "maxent",
        "--l2",
        "0.1",
        "-m",
        tmp_path / "m",
        "-q",
    )
    (tmp_path / "new.txt").write_text("fine nice day\nday\n")
    arguments = ("tag", tmp_path / "m", tmp_path / "new.txt", "--min-probability", "0.8")
    assert done(*arguments).stdout.split() == ["good", "?"]
    assert done(*arguments, "--below", "person").stdout.split() == ["good", "person"]
    assert "leave out --rest" in misuse(*arguments, "--rest", "r")
    assert "together, and mark the texts to check with --below" in misuse(*arguments, "--rest", "r")
    (tmp_path / "t.csv").write_text("a,b,c\n" + "1,1,0\n0,0,0\n1,1,1\n0,0,1\n" * 10)
    done("structure", tmp_path / "t.csv", "--l1", "0.01", "-m", tmp_path / "n")
    (tmp_path / "gaps.csv").write_text("a,b,c\n1,,0\n1,1,\n")
    filled = done("tag", tmp_path / "n", tmp_path / "gaps.csv", "--min-probability", "0.8").stdout.splitlines()
    assert filled == ["a,b,c", "1,1,0", "1,1,"]


def test_nothing_is_said_of_withheld_answers_of_no_sentences(done, chunker, tmp_path):
    (tmp_path / "empty").write_text("\n\n")
    said = done("tag", chunker.model, tmp_path / "empty", "--min-probability", "0.5").stderr
    assert "no sentences found" in said
    assert "below a probability" not in said
