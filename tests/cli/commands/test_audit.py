"""Laws of `loglinear audit`: what it finds, and what it writes back."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest

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
