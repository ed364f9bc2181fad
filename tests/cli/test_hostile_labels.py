"""Every writer of text, and labels that text cannot hold: refused by name, or quoted so that lines and cells stay."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from examples import by_day
from loglinear import ChainCRF, Corpus, DataError, MaxEnt, PairwiseMRF, TextClassifier
from loglinear.data.writing import check_labels
from loglinear.visible import CONTROLS, HIDDEN, visible_json, visible_name
from oracles.command_line import run_command

LABELS = {
    "tab": "A\tB",
    "newline": "A\nB",
    "return": "A\rB",
    "blank": "A B",
    "around": " A ",
    "before": " A",
    "no-break": "A\xa0",
    "no-break alone": "\xa0",
    "ideographic": "\u3000A",
    "nul": "A\0B",
    "escape": "A\x1b[31mB",
    "csi": "A\x9b31mB",
    "nel": "A\x85B",
    "line": "A\u2028B",
    "paragraph": "A\u2029B",
    "joiner": "A\u200bB",
    "bidi": "A\u202eB",
    "empty": "",
    "bar": "_",
    "shares": "A:0.7|B:0.3",
}
TEMPLATE = "U:%x[0,0]\nU1:%x[-1,0]\nB\n"
WORDS = [["w", "v", "u"], ["v", "w"], ["u", "w", "w"]] * 2


def fits(label, place):
    """Whether a text can hold a label in a place, in the words of the rule."""
    odd = {ord(character) for character in label} & {*CONTROLS}
    if place == "any":
        return True
    if place == "quotes":
        return bool(label) and label == label.strip() and not odd - {9, 10, 13, 0x2028, 0x2029}
    if not label or odd or (place == "blanks" and " " in label):
        return False
    if place == "program":
        return True
    if place == "text" and label != label.strip():
        return False
    return label == label.strip(" ") and label != LABELS["shares"] and (place != "marked" or label != "_")


def labelled(label):
    return [[label if word == "w" else "O" for word in words] for words in WORDS]


def write_models(folder, label):
    """Write a model of each kind that has the label, and data for each of them."""
    y = labelled(label)
    cells = [[[word] for word in words] for words in WORDS]
    ChainCRF(l2=0.1, template=TEMPLATE).fit(cells, y).save(folder / "columns")
    ChainCRF(l2=0.1, template=f"#!wapiti\n{TEMPLATE.replace('U', 'u').replace('B', 'b')}").fit(cells, y).save(
        folder / "wapiti"
    )
    attributes = [[[f"w={word}"] for word in words] for words in WORDS]
    ChainCRF(l2=0.1).fit(attributes, y).save(folder / "chain")
    Corpus.encode(attributes, None).save(folder / "corpus")
    MaxEnt(l2=0.1).fit([["1"], ["2"]] * 4, [label, "O"] * 4).save(folder / "samples")
    TextClassifier(l2=0.1).fit(["w a", "v b"] * 4, [label, "O"] * 4).save(folder / "texts")
    (folder / "words.txt").write_text("".join("\n".join(words) + "\n\n" for words in WORDS))
    (folder / "words.tsv").write_text("".join("".join(f"{word}\tx\n" for word in words) + "\n" for words in WORDS))
    rows = ("".join(f"{at}\t{word}" + "\t_" * 8 + "\n" for at, word in enumerate(words, 1)) for words in WORDS)
    (folder / "words.conllu").write_text("\n".join(rows) + "\n")
    (folder / "words.crfsuite").write_text("".join("".join(f"\tw={word}\n" for word in s) + "\n" for s in WORDS))
    (folder / "samples.svm").write_text("O 1:1\nO 2:1\n")
    (folder / "texts.txt").write_text("w a\nv b\n")
    for name, tokens in (("data", cells), ("chain", attributes)):
        lines = (json.dumps({"tokens": a, "labels": b}) + "\n" for a, b in zip(tokens, y, strict=True))
        (folder / f"{name}.jsonl").write_text("".join(lines))
    states = [[label if at % 3 else "O", "x" if at % 2 else "y"] for at in range(24)]
    if label.strip() == label != "":  # the reader of tables takes blanks away
        with open(folder / "table.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["a", "b"], *states])
    if label:
        PairwiseMRF(l1=0.01).fit(states).save(folder / "network")
        (folder / "gaps.csv").write_text("x1,x2\n,x\n,y\n")


# Writer -> its command, and where it writes labels; None if it quotes those that do not fit.
WRITERS = {
    "columns": ("tag columns words.txt", "blanks"),
    "marginals": ("tag columns words.txt --marginals", "blanks"),
    "n-best": ("tag columns words.txt --n-best 2", "blanks"),
    "tabs": ("tag columns words.tsv --separator tab", "line"),
    "conllu": ("tag columns words.conllu", "marked"),
    "feats": ("tag columns words.conllu -f conllu:feats", "line"),
    "jsonl": ("tag columns data.jsonl --marginals", "any"),
    "streamed": ("tag columns data.jsonl --stream", "any"),
    "attributes": ("tag chain words.crfsuite", "line"),
    "as crfsuite": ("tag chain words.crfsuite --layout crfsuite --detail 1", "line"),
    "as wapiti": ("tag columns words.tsv --separator tab --layout wapiti", "line"),
    "as crf++": ("tag columns words.txt --layout crf++ --detail 1", "blanks"),
    "corpus": ("tag chain corpus", "line"),
    "samples": ("tag samples samples.svm", "line"),
    "texts": ("tag texts texts.txt --marginals", "text"),
    "table": ("tag network gaps.csv", "quotes"),
    "conlleval": ("evaluate columns data.jsonl -o -", None),
    "audit": ("audit data.jsonl --folds 2 --l2 0.1 -f jsonl", None),
    "rank": ("rank columns data.jsonl", None),
    "select": ("select chain.jsonl -f jsonl --l1 0.01 --size 20", None),
    "edges": ("structure table.csv --l1 0.01 --edges -", None),
    "inspect": ("inspect columns", None),
    "evaluate": ("evaluate columns data.jsonl", None),
    "explain": ("explain columns data.jsonl", None),
    "calibrate": ("calibrate columns data.jsonl -o calibrated --tune-bias accuracy", None),
    "json": ("inspect columns --json", None),
    "trace": ("train chain.jsonl -f jsonl --l2 0.1 -m trained --trace /dev/stdout", None),
    **{f"to {name}": (f"convert columns - --to {name}", "program") for name in ("crf++", "crf++-text")},
    "to wapiti": ("convert wapiti - --to wapiti", "program"),
}
BINARY = ("to crf++",)


def shape(text, *, by_blanks):
    """The number of cells of each line."""
    return [len(line.split() if by_blanks else line.split("\t")) for line in text.splitlines()]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder with models that have a label, made on demand."""
    made = {}

    def folder(label):
        if label not in made:
            made[label] = tmp_path_factory.mktemp("labels")
            write_models(made[label], label)
        return made[label]

    return folder


BY_DAY = ("tab", "escape", "line", "empty", "blank", "before", "no-break")
IN_BRIEF = ("columns", "tabs", "conllu", "jsonl", "texts", "table", "conlleval", "to crf++-text", "edges")


@pytest.mark.parametrize("name", by_day(LABELS, lambda name: name in BY_DAY))
@pytest.mark.parametrize("writer", by_day(WRITERS, lambda writer: writer in IN_BRIEF))
def test_a_label_that_a_text_cannot_hold_is_refused_or_quoted(folders, writer, name, monkeypatch):
    label, (command, place) = LABELS[name], WRITERS[writer]
    folder = folders(label)
    if "network" in command or "table.csv" in command:
        if not (folder / ("network" if "network" in command else "table.csv")).exists():
            pytest.skip("no table has the label")
    monkeypatch.chdir(folder)
    done = run_command(*command.split())
    if place is not None and not fits(label, place):
        assert done.returncode == 2, done.stdout
        assert done.stdout == ""
        assert re.search(r"the model's label \".*\" .*, so it cannot be written as text; ", done.stderr)
        return
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(folders("C"))
    usual = run_command(*command.split()).stdout
    if writer not in BINARY:
        assert place == "quotes" or not {*map(ord, done.stdout)} & {*CONTROLS} - {9, 10}
    if place in ("blanks", "line", "text", "marked", "any") or writer in ("conlleval", "edges"):
        by_blanks = place == "blanks" or writer == "conlleval"
        assert shape(done.stdout, by_blanks=by_blanks) == shape(usual, by_blanks=by_blanks)


@pytest.mark.parametrize("name", LABELS)
def test_what_is_written_is_read_again_as_it_was(folders, name, monkeypatch, tmp_path):
    label = LABELS[name]
    monkeypatch.chdir(folders(label))
    expected = ChainCRF.load("columns").predict([[[word] for word in words] for words in WORDS])
    lines = run_command("tag", "columns", "data.jsonl").stdout.splitlines()
    assert [json.loads(line)["predicted"] for line in lines] == expected
    done = run_command("tag", "columns", "words.txt")
    if done.returncode == 0:
        (tmp_path / "tagged.txt").write_text(done.stdout, encoding="utf-8")
        read = Corpus.read(tmp_path / "tagged.txt", template=TEMPLATE)
        assert read.gold() == expected
    for format, model in (("crf++", "columns"), ("crf++-text", "columns"), ("wapiti", "wapiti")):
        if fits(label, "program"):
            ChainCRF.load(model).export(tmp_path / format, format)
            assert {*ChainCRF.load(tmp_path / format).classes_} == {label, "O"}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("format", ["jsonl", "page"])
def test_an_audit_of_hostile_labels_can_be_applied(name, format, monkeypatch, tmp_path):
    label = LABELS[name]
    if not label.strip():
        pytest.skip("a cell without a label is no decision")
    monkeypatch.chdir(tmp_path)
    words = [["w\x85", "v"], ["v", "w\x85"], ["w\x85", "w\x85"]] * 4
    y = [[label if word != "v" else "O" for word in sentence] for sentence in words]
    y[3][0] = "O"
    lines = [
        json.dumps({"tokens": [[word] for word in sentence], "labels": labels})
        for sentence, labels in zip(words, y, strict=True)
    ]
    (tmp_path / "data.jsonl").write_text("".join(f"{line}\n" for line in lines))
    audit = ["audit", "data.jsonl", "-f", "jsonl", "--folds", "4", "--l2", "0.1"]
    if format == "page":
        pytest.importorskip("jinja2")
        assert run_command(*audit, "-o", "page.html").returncode == 0
        return
    table = run_command(*audit).stdout
    head, first, *others = table.splitlines()
    assert first.split("\t")[2:4] == ["4", "0"]
    (tmp_path / "table.tsv").write_text("\n".join([head, f"x{first}", *others]) + "\n", encoding="utf-8")
    done = run_command("audit", "data.jsonl", "--apply", "table.tsv", "-o", "new.jsonl")
    assert done.returncode == 0, done.stderr
    assert "is new in" not in done.stderr
    y[3][0] = label
    new = (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["labels"] for line in new] == y


def test_labels_that_look_alike_in_a_table_are_not_guessed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"tokens": ["a"], "labels": [label]} for label in ("A\x1b", "A\\x1b", "O")]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.tsv").write_text("accept\tline\ttoken\tword\tgiven\tsuggested\nx\t3\t0\ta\tO\tA\\x1b\n")
    done = run_command("audit", "d.jsonl", "--apply", "t.tsv", "-o", "-")
    assert done.returncode == 2
    assert "of the table may be" in done.stderr


def test_the_rule_of_texts_for_machines_is_that_of_texts_for_people():
    for code in range(0x3000):
        character = chr(code)
        try:
            check_labels([f"a{character}b"], "")
            assert visible_name(character) == character or code in HIDDEN  # no text is divided there
        except DataError:
            assert visible_name(character) != character
        assert json.loads(visible_json(json.dumps([character], ensure_ascii=False))) == [character]


def test_names_of_files_in_a_folder_of_texts_stay_in_their_cells(folders, tmp_path):
    (tmp_path / "a\tb\nc\x1b.txt").write_text("w a\n")
    done = run_command("tag", folders("C") / "texts", tmp_path)
    assert done.stdout == f"{visible_name(str(tmp_path / chr(97))) + chr(92)}tb\\nc\\x1b.txt\tC\n"
    assert csv.reader(io.StringIO(done.stdout), delimiter="\t")
