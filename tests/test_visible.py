"""Control characters of data and models do not reach the terminal."""

from __future__ import annotations

import json
import os
import sys
import unicodedata

import pytest

from loglinear import ChainCRF, DataError, MaxEnt
from loglinear.errors import DataWarning, warn
from loglinear.visible import visible, visible_json, visible_name
from oracles.command_line import run_command

ODD = "\x1b[31mred\x9b0m\u202e\U000e0041\nB"
JOINERS, TAGS = "\u200c\u200d", {chr(code) for code in range(0xE0000, 0xE0080)}
REORDERING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
WITHOUT_WIDTH = {*"\u061c\u200b\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff", *TAGS}
HIDDEN = {
    character
    for character in map(chr, range(0x110000))
    if unicodedata.bidirectional(character) in REORDERING or character in WITHOUT_WIDTH
}
CONTROLS = HIDDEN | {chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp")}


def test_every_control_character_is_escaped_and_nothing_else():
    for character in map(chr, (*range(0x3000), *range(0xFE00, 0x10000), *range(0xE0000, 0xE0100))):
        assert (visible_name(character) != character) == (character in CONTROLS)
        assert (visible(character) != character) == (character in CONTROLS - {"\n", "\t"})
        assert not CONTROLS & set(visible_name(character))


def test_joiners_within_words_stay():
    word = f"\u0645\u06cc{JOINERS}\u062e"
    assert word == visible(word) == visible_name(word) == visible_json(word)


def test_json_with_escapes_is_the_same_json():
    text = json.dumps(["".join(CONTROLS)], ensure_ascii=False)
    assert not CONTROLS & {*visible_json(text)}
    assert json.loads(visible_json(text)) == json.loads(text)


def test_reports_show_no_hidden_characters():
    report = MaxEnt().fit([[ODD], ["b"]] * 3, [ODD, "B"] * 3).report([[ODD], ["b"]], ["B", ODD])
    assert report.mistakes
    assert not (CONTROLS - {"\n", "\t"}) & {*report.html()}
    assert "\\u202e" in report.html()


def test_messages_of_errors_and_warnings_are_escaped():
    assert str(DataError(f"label {ODD}")) == f"label {visible(ODD)}"
    with pytest.warns(DataWarning) as caught:
        warn(ODD, DataWarning)
    assert str(caught[0].message) == visible(ODD)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A model and data with control characters in labels and attributes."""
    folder = tmp_path_factory.mktemp("odd")
    X = [[["w", ODD], ["v"]], [["v"], [ODD]]] * 3
    y = [[ODD, "plain"], ["plain", ODD]] * 3
    ChainCRF(l2=0.1).fit(X, y).save(folder / "model")
    lines = [json.dumps({"tokens": tokens, "labels": labels}) for tokens, labels in zip(X, y, strict=True)]
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"x{ODD[:-2]},1,{at % 2}\n{ODD[:-2]},0,{at % 3}\n" for at in range(20)]
    (folder / "table.csv").write_text(f"a{ODD[:-2]},b,c\n" + "".join(rows), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "model"],
        ["evaluate", "-m", "model", "data.jsonl"],
        ["explain", "-m", "model", "data.jsonl"],
        ["structure", "table.csv", "--l1", "0.1"],
        ["calibrate", "model", "data.jsonl", "-o", "calibrated"],
        ["tag", "-m", "model", f"missing{ODD[:-2]}"],
        ["evaluate", "-m", "model", "data.jsonl", "-o", "-"],
        ["rank", "model", "data.jsonl"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_commands_print_has_no_control_characters(odd, arguments):
    done = run_command(*arguments, cwd=odd)
    printed = done.stdout + done.stderr
    assert done.returncode == (2 if arguments[0] == "tag" else 0), printed
    # Columns for conlleval are data.
    raw = {"\n", "\t", *(HIDDEN if "-o" in arguments and "-" in arguments else ())}
    assert not (CONTROLS - raw) & set(printed)
    assert "\nB" not in printed
    assert arguments[0] in ("calibrate", "rank") or "\\x1b[31mred" in printed


def test_a_label_with_control_characters_is_not_written_as_a_cell(odd):
    done = run_command("tag", "-m", "model", "-f", "columns", "-", cwd=odd, input="w\n")
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.skipif(sys.platform != "linux", reason="file systems elsewhere refuse such names")
@pytest.mark.parametrize(
    "words",
    [
        "train {}t --preset pos -m {}other --start {}m --report {}report --trace {}trace",
        "train {}t --preset pos -m {}other --prior {}m",
        "tag {}m {}t -o {}tagged.zst",
        "evaluate {}m {}t -o {}columns",
        "explain {}m {}t --html -o {}page",
        "explain {}m {}t --json",
        "report {}m {}t -o {}report",
        "inspect {}m --json",
        "audit {}t --preset pos -o {}audit.html",
        "rank {}m {}t",
    ],
)
def test_names_of_files_that_are_not_utf8_are_shown_and_written(monkeypatch, tmp_path, words):
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"\xff")
    with open(f"{odd}t", "w") as file:
        file.write("the D\ndog N\n\nit P\nbarks V\n\n")
    train = run_command("train", f"{odd}t", "--preset", "pos", "-m", f"{odd}m", "-q")
    assert train.returncode == 0, train.stderr
    done = run_command(*words.replace("{}", odd).split())
    assert done.returncode == 0, done.stderr
    for name in ("report", "page", "audit.html"):
        if os.path.exists(f"{odd}{name}"):
            with open(f"{odd}{name}", encoding="utf-8") as file:
                assert "\ufffd" in file.read() or name == "audit.html"
