"""Laws of `loglinear audit`: what it finds, and what it writes back."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shlex
from argparse import Namespace

import pytest

from loglinear.cli.commands.audit import run
from loglinear.data.column_layout import ColumnLayout
from loglinear.data.relabelling import Change, spelled
from loglinear.errors import OptionError

LABELS = {"dog": "N", "cat": "N", "cow": "N", "the": "D", "a": "D", "runs": "V", "sleeps": "V"}
SENTENCES = [f"{first} {second} {third}".split() for first in ("the", "a") for second in ("dog", "cat", "cow")
             for third in ("runs", "sleeps")] * 2  # fmt: skip
WRONG = 7  # sentence whose second token has a wrong label


def labels(at):
    return [LABELS[word] if (at, word) != (WRONG, SENTENCES[WRONG][1]) else "V" for word in SENTENCES[at]]


def write(folder, format):
    """Write the sentences in a format; return the path and the arguments that read it."""
    path, arguments = folder / f"data.{format}", ["--format", format]
    pairs = [[*zip(sentence, labels(at), strict=True)] for at, sentence in enumerate(SENTENCES)]
    if format == "columns":
        text, arguments = (
            "\n".join("".join(f"{word} {label}\n" for word, label in pair) for pair in pairs),
            ["--preset", "pos"],
        )
    elif format == "crfsuite":
        text = "\n".join("".join(f"{label}\tw={word}\n" for word, label in pair) for pair in pairs)
    elif format == "jsonl":
        rows = [
            {"tokens": [[f"w={word}"] for word, _ in pair], "labels": [label for _, label in pair]} for pair in pairs
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        text = "".join(f"{label}\t{at} {word}\n" for at, pair in enumerate(pairs) for word, label in pair)
        arguments += ["--model-type", "maxent"]
    path.write_text(text, encoding="utf-8")
    return path, arguments


def rows(text):
    header, *lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(header, line, strict=True)) for line in lines]


@pytest.mark.parametrize("format", ["columns", "crfsuite", "jsonl", "text"])
def test_a_wrong_label_is_found_and_corrected(done, tmp_path, format):
    path, arguments = write(tmp_path, format)
    table = tmp_path / "audit.tsv"
    finished = done("audit", path, *arguments, "--l2", "0.3", "--folds", "4", "-o", table)
    assert "wrote" in finished.stderr
    assert "--apply" in finished.stderr
    first, *_ = rows(table.read_text(encoding="utf-8"))
    assert (first["given"], first["suggested"]) == ("V", "N")
    assert first["word"].endswith(SENTENCES[WRONG][1])
    assert float(first["probability"]) < 0.3 < float(first["suggested_probability"])
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join([lines[0], "x" + lines[1], *lines[2:]]), encoding="utf-8")
    corrected = tmp_path / "corrected"
    done("audit", path, "--format", format, "--apply", table, "-o", corrected)
    old, new = path.read_text(encoding="utf-8").splitlines(), corrected.read_text(encoding="utf-8").splitlines()
    assert [number for number, pair in enumerate(zip(old, new, strict=True), start=1) if pair[0] != pair[1]] == [
        int(first["line"])
    ]
    again = done("audit", corrected, *arguments, "--l2", "0.3", "--folds", "4")
    assert not any(row["word"] == first["word"] and row["given"] == "V" for row in rows(again.stdout))


@pytest.mark.parametrize(("mark", "name"), [(",", "t.csv"), (";", "t.csv"), ("\t", "t.tsv.gz")])
def test_a_table_may_be_csv_or_compressed_and_so_may_the_output_by_its_name(done, tmp_path, mark, name):
    path, arguments = write(tmp_path, "columns")
    audited, table, corrected = tmp_path / "audit.tsv.gz", tmp_path / name, tmp_path / "corrected.txt.gz"
    done("audit", path, *arguments, "--l2", "0.3", "-o", audited)
    header, first, *_ = csv.reader(gzip.decompress(audited.read_bytes()).decode().splitlines(), delimiter="\t")
    first[0], first[-1] = "x", 'a "quoted", cell; here'
    text = io.StringIO()
    quoting = csv.QUOTE_NONE if mark == "\t" else csv.QUOTE_MINIMAL
    csv.writer(text, delimiter=mark, quoting=quoting, quotechar=None if mark == "\t" else '"').writerows(
        [header, first]
    )
    content = text.getvalue().encode("utf-8-sig")
    table.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    done("audit", path, "--apply", table, "-o", corrected)
    content = corrected.read_bytes()
    assert content[4:8] == bytes(4)  # no time, so that the same labels give the same file
    new = gzip.decompress(content).decode().splitlines()
    old = path.read_text(encoding="utf-8").splitlines()
    assert [at for at, (one, two) in enumerate(zip(old, new, strict=True), start=1) if one != two] == [int(first[2])]
    done("audit", corrected, *arguments, "--l2", "0.3")


def test_the_table_goes_to_stdout_and_the_summary_to_stderr(done, tmp_path):
    path, arguments = write(tmp_path, "columns")
    finished = done("audit", path, *arguments, "--l2", "0.3", "--top", "1")
    assert {row["finding"] for row in rows(finished.stdout)} == {"1"}
    assert "the most suspicious first" in finished.stderr
    assert done("audit", path, *arguments, "--l2", "0.3", "-q").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "1"], "folds"),
        (
            ["--model-type", "maxent", "--words", "blanks"],
            "--words is for texts; add --format text (the format is columns), or leave it out",
        ),
        (["--tfidf"], "add --model-type maxent"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(misuse, tmp_path, arguments, message):
    path, usual = write(tmp_path, "columns")
    assert message in misuse("audit", path, *usual, *arguments)


def test_stdin_is_refused(misuse):
    assert "save the input to a file" in misuse("audit", "-", "--preset", "pos", input="a A\n")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a\tb\n1\t2\n", "no column accept"),
        ("accept\tline\ttoken\tword\tgiven\tsuggested\n", "no line is accepted"),
        ("accept\tline\ttoken\tword\tgiven\tsuggested\n\t1\t0\tthe\tN\tV\n", "no line is accepted"),
        (
            "accept\tline\ttoken\tword\tgiven\tsuggested\nx\t\t0\tthe\tN\tV\n",
            "line 2: the line, the token or the suggested label",
        ),
        ("accept\tline\ttoken\tword\tgiven\tsuggested\nx\t1\t0\tthe\tZ\tV\n", "line 1: no label 'Z' of the word 'the'"),
        ("accept\tline\ttoken\tword\tgiven\tsuggested\nx\t1\t0\tZed\tD\tV\n", "line 1: no label 'D' of the word 'Zed'"),
        ("accept\tline\ttoken\tword\tgiven\tsuggested\nx\t1\t0\tthe\tD\tA B\n", "cannot hold the label 'A B'"),
        (
            "accept\tline\ttoken\tword\tgiven\tsuggested\nx\t1\t0\tthe\tD\tA\nx\t1\t0\tthe\tD\tB\n",
            "two labels are accepted for one token, 'A' and 'B'",
        ),
    ],
    ids=str,
)
def test_tables_that_do_not_fit_are_refused(misuse, tmp_path, table, message):
    path, _ = write(tmp_path, "columns")
    accepted = tmp_path / "t.tsv"
    accepted.write_text(table, encoding="utf-8")
    assert message in misuse("audit", path, "--apply", accepted)


@pytest.mark.parametrize("line", ["9" * 5000, "1_0", "\u0661", "-1"])
def test_lines_of_tables_that_are_no_numbers_are_refused(misuse, tmp_path, line):
    accepted = tmp_path / "t.tsv"
    accepted.write_text(f"accept\tline\ttoken\tword\tgiven\tsuggested\nx\t{line}\t0\tthe\tN\tV\n", encoding="utf-8")
    path, _ = write(tmp_path, "columns")
    assert "line 2: the line, the token or the suggested label" in misuse("audit", path, "--apply", accepted)


def test_a_table_in_another_encoding_is_refused(misuse, tmp_path):
    path, _ = write(tmp_path, "columns")
    (tmp_path / "t.tsv").write_text("accept\tlíne\n", encoding="latin-1")
    assert "save the table as text between tabs in UTF-8" in misuse("audit", path, "--apply", tmp_path / "t.tsv")
    (tmp_path / "t.tsv").write_text("accept\tline\n", encoding="utf-16")
    assert "the file is text in UTF-16; convert it" in misuse("audit", path, "--apply", tmp_path / "t.tsv")


def test_a_page_holds_the_table_and_saves_it_beside_itself(done, tmp_path):
    path, arguments = write(tmp_path, "columns")
    arguments = [*arguments, "--l2", "0.3", "--folds", "4"]
    header, *lines = [line.split("\t") for line in done("audit", path, *arguments).stdout.splitlines()]
    said = done("audit", path, *arguments, "-o", tmp_path / "found.html").stderr
    assert f"--apply {tmp_path / 'found.tsv'} -o CORRECTED" in said
    page = (tmp_path / "found.html").read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert (data["columns"], data["rows"]) == (header, lines)
    assert data["labels"] == sorted(set(LABELS.values()), key=data["labels"].index)
    assert (data["file"], data["command"] in said) == ("found.tsv", True)
    # What the page saves after a click on Accept.
    saved = ["\t".join(cells) for cells in (header, ["x", *lines[0][1:]], *lines[1:])]
    (tmp_path / "found.tsv").write_text("\n".join(saved) + "\n", encoding="utf-8")
    done("audit", path, "--apply", tmp_path / "found.tsv", "-o", tmp_path / "corrected")
    assert (tmp_path / "corrected").read_text().splitlines()[WRONG * 4 + 1].split()[1] == "N"


def test_words_of_the_data_cannot_end_the_script_of_a_page(done, tmp_path):
    text = "".join(f"</script><b>{at} {label}\n\n" for at in range(4) for label in ("A", "A", "A", "B"))
    (tmp_path / "data").write_text(text, encoding="utf-8")
    done("audit", tmp_path / "data", "--preset", "pos", "--folds", "4", "--l2", "0.1", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    assert json.loads(page.split('id="data">')[1].split("</script>")[0])["rows"]


def with_labels_in_the_middle(folder):
    """Write the sentences with the label between two copies of other cells; return the path and the arguments."""
    path = folder / "three columns.txt"
    pairs = [zip(sentence, labels(at), strict=True) for at, sentence in enumerate(SENTENCES)]
    path.write_text("\n".join("# id\n" + "".join(f"{w} {y} {y}\n" for w, y in pair) for pair in pairs))
    (folder / "template").write_text("U00:%x[0,0]\n", encoding="utf-8")
    return path, ["--template", folder / "template", "--label-column", "1", "--skip-comments", "--l2", "0.3"]


def accept(table, *, at=(1,)):
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join("x" * (k in at) + line for k, line in enumerate(lines)), encoding="utf-8")


def changed(old, new):
    pairs = zip(old.read_text().splitlines(), new.read_text().splitlines(), strict=True)
    return [(one.split(), two.split()) for one, two in pairs if one != two]


def test_the_column_that_was_audited_is_corrected_whatever_the_command_says(done, misuse, tmp_path):
    path, arguments = with_labels_in_the_middle(tmp_path)
    table, corrected = tmp_path / "audit.tsv", tmp_path / "corrected"
    said = done("audit", path, *arguments, "-o", table).stderr
    accept(table)
    command = shlex.split(said.partition("then: ")[2])
    assert command[:6] == ["loglinear", "audit", str(path), "--label-column", "1", "--skip-comments"]
    done(*command[1:-1], corrected)
    word = SENTENCES[WRONG][1]
    assert changed(path, corrected) == [([word, "V", "V"], [word, "N", "V"])]
    done("audit", path, "--apply", table, "-o", corrected)
    assert changed(path, corrected) == [([word, "V", "V"], [word, "N", "V"])]
    for option in (["--label-column", "2"], ["--separator", "tab"], ["--format", "crfsuite"]):
        message = misuse("audit", path, "--apply", table, *option, "-o", corrected)
        assert f"{' '.join(option)}: the audit has read the file as `columns --separator blank" in message
    text = table.read_text(encoding="utf-8").replace("columns --", "cols --frob 1 --")
    table.write_text(text, encoding="utf-8")
    assert "is not how a file is read" in misuse("audit", path, "--apply", table)


def test_the_page_shows_the_same_command(done, tmp_path):
    path, arguments = with_labels_in_the_middle(tmp_path)
    said = done("audit", path, *arguments, "-o", tmp_path / "a b.html").stderr
    page = (tmp_path / "a b.html").read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["command"] == " ".join(said.partition("then: ")[2].split())
    assert f"--label-column 1 --skip-comments --apply '{tmp_path}/a b.tsv'" in data["command"]


def test_a_table_that_is_cut_off_is_refused_wherever_it_is_cut(done, misuse, tmp_path):
    path, arguments = write(tmp_path, "columns")
    table, part = tmp_path / "audit.tsv", tmp_path / "part.tsv"
    done("audit", path, *arguments, "--l2", "0.3", "-o", table)
    accept(table)
    header, first, *_ = table.read_text(encoding="utf-8").splitlines()
    cells = first.split("\t")
    for n in range(1, len(cells)):
        part.write_text(f"{header}\n" + "\t".join(cells[:n]), encoding="utf-8")
        message = misuse("audit", path, "--apply", part)
        assert f"{part}, line 2: {n} cells instead of {len(cells)}" in message
        assert "audit again, or save the table again" in message


def test_new_labels_and_findings_accepted_in_part_are_named(done, tmp_path):
    path, _ = write(tmp_path, "columns")
    header = "accept\tfinding\tline\ttoken\tword\tgiven\tsuggested\n"
    rows = ["x\t1\t1\t0\tthe\tD\tB-FOO\n", "\t1\t2\t0\tdog\tN\tB-FOO\n", "x\t2\t3\t0\truns\tV\tN\n"]
    (tmp_path / "t.tsv").write_text(header + "".join(rows), encoding="utf-8")
    said = done("audit", path, "--apply", tmp_path / "t.tsv", "-o", tmp_path / "corrected").stderr
    assert f"warning: {tmp_path}/t.tsv: the label 'B-FOO' is new in {path}; correct it if it is a slip\n" in said
    assert f"note: {tmp_path}/t.tsv, line 2: only some tokens of this finding are accepted" in said
    assert "'N'" not in said
    (tmp_path / "t.tsv").write_text(header + rows[2], encoding="utf-8")
    said = done("audit", path, "--apply", tmp_path / "t.tsv", "-o", tmp_path / "corrected").stderr
    assert said == "changed 1 label\n"


def test_numbers_are_labels_that_the_data_have_however_they_are_written(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text("+1 1:1\n-1 1:2\n", encoding="utf-8")
    changes = [Change(1, 0, "1", "-1"), Change(2, 0, "-1", "1.0"), Change(2, 0, "-1", "nan")]
    assert spelled(str(path), "svmlight", ColumnLayout(), changes) == (changes, ["nan"])


def test_the_data_do_not_go_to_a_terminal(tmp_path, monkeypatch):
    path, _ = write(tmp_path, "columns")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(OptionError, match="--apply writes all of the data; add -o FILE"):
        run(Namespace(train=str(path), apply="t.tsv", output="-"))


def test_no_findings_cannot_be_asked_for(done, misuse, tmp_path):
    path, arguments = write(tmp_path, "columns")
    assert "at least 1" in misuse("audit", path, *arguments, "--top", "0", usage=True)
    path.write_text("".join(f"{at} {label}\n\n" for at in range(4) for label in "AAAB"), encoding="utf-8")
    said = done("audit", path, "--preset", "pos", "--folds", "4", "--l2", "0.1", "--top", "1").stderr
    assert "the most suspicious first; written: 1" in said


@pytest.mark.parametrize("format", ["crfsuite", "text"])
def test_classifiers_have_the_options_of_training(done, misuse, tmp_path, format):
    path, arguments = write(tmp_path, format)
    arguments = [*arguments, "--model-type", "maxent", "--l2", "0.3"]
    plain = rows(done("audit", path, *arguments).stdout)
    weighted = rows(done("audit", path, *arguments, "--class-weight", "N=5", "--class-weight", "D=3").stdout)
    assert plain[0]["word"] == weighted[0]["word"]
    assert float(plain[0]["probability"]) > float(weighted[0]["probability"])
    for options in (["--order", "2"], ["--constraints", "BIO"], ["--all-states"]):
        message = misuse("audit", path, *arguments, *options)
        assert (
            message.partition("error: ")[2]
            == misuse("train", path, *arguments, *options, "-m", "m").partition("error: ")[2]
        )
        assert "are not available for classifiers; leave them out, or train a chain" in message


def test_a_text_is_its_own_context_which_a_page_shows_once(done, tmp_path):
    texts = [pair for at in range(12) for pair in (("good", f"fine nice {at}"), ("bad", f"awful dull {at}"))]
    lines = [f"{label}\t{text}\n" for label, text in [*texts, ("bad", "nice fine")]]
    (tmp_path / "data").write_text("".join(lines))
    command = ("audit", tmp_path / "data", "--format", "text", "--model-type", "maxent", "--folds", "4", "--l2", "0.1")
    finished = done(*command)
    (found,) = rows(finished.stdout)
    assert found["context"] == f"[{found['word']}]"
    assert finished.stderr.startswith("1 finding, the most suspicious first")
