"""Exports of annotation tools on the command line: commands that read labelled sentences read them as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loglinear import Tagger, read_annotations

SAMPLES = Path(__file__).parents[1] / "data" / "annotations" / "samples"
EXPORTS = {
    "doccano": "doccano.jsonl",
    "label-studio": "label-studio.json",
    "prodigy": "prodigy.jsonl",
    "brat": "brat",
    "webanno": "inception.tsv",
}
DOCCANO = SAMPLES / "doccano.jsonl"
TEXTS = "Ada Lovelace lived in Ockham Park.\n\nHe met 😊 Babbage.\n"
TRAIN = ("--preset", "ner", "--l2", "0.1", "-q")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, done):
    """A model trained on an export, and texts."""
    folder = tmp_path_factory.mktemp("annotations")
    done("train", DOCCANO, "--format", "doccano", "--tokenizer", "words", *TRAIN, "-m", folder / "ner")
    (folder / "new.txt").write_text(TEXTS, encoding="utf-8")
    (folder / "empty").write_text("\n")
    (folder / "two.txt").write_text("a DT D\nb NN N\n\nc DT D\nd NN N\n")
    done("train", folder / "two.txt", "--preset", "chunking", "-q", "-m", folder / "two")
    return folder


def test_models_of_all_exports_of_the_same_texts_are_the_same(folder, done):
    def weights(model):
        about = json.loads(done("inspect", model, "--json", "--top", "1000").stdout)
        return [about[name] for name in ("labels", "n_features", "objective", "top_states")]

    done("convert", DOCCANO, folder / "columns.txt")
    done("train", folder / "columns.txt", *TRAIN, "-m", folder / "columns")
    for format, name in EXPORTS.items():
        done("train", SAMPLES / name, "--format", format, *TRAIN, "-m", folder / format)
        assert weights(folder / format) == weights(folder / "columns")


def test_no_file_of_a_pair_is_written_that_is_read(tmp_path, misuse):
    source = SAMPLES / "brat"
    for path in source.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "columns.txt").write_text("Ada B-PER\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    pair = tmp_path / "letter-1"
    for model, output in [
        (tmp_path / "columns.txt", tmp_path / "columns.ann"),
        (pair.with_suffix(".ann"), pair.with_suffix(".txt")),
        (pair.with_suffix(".txt"), pair.with_suffix(".ann")),
    ]:
        assert "would be overwritten, which is read" in misuse("convert", model, output)
    assert "would be overwritten" in misuse("convert", tmp_path, tmp_path, "--to", "brat", "--from", "brat")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("model", ["-", "empty.jsonl"])
def test_texts_of_an_unknown_format_are_named(model, tmp_path, misuse):
    (tmp_path / "empty.jsonl").write_text("")
    line = misuse("convert", model if model == "-" else tmp_path / model, tmp_path / "train.txt")
    assert "the format of the texts is not known; name it with --from" in line


def test_a_model_keeps_the_tokenizer_that_cut_the_texts(folder, done):
    done("train", DOCCANO, "--format", "doccano", *TRAIN, "-m", folder / "model")
    assert json.loads(done("inspect", folder / "model", "--json").stdout)["tokenizer"] == "words"
    done("train", SAMPLES / "prodigy.jsonl", "--format", "prodigy", *TRAIN, "-m", folder / "model")
    assert "tokenizer" not in json.loads(done("inspect", folder / "model", "--json").stdout)


COMMANDS = {
    "evaluate": ["evaluate", "{folder}/ner", DOCCANO, "--json"],
    "explain": ["explain", "{folder}/ner", DOCCANO],
    "report": ["report", "{folder}/ner", DOCCANO, "-o", "{folder}/report.html"],
    "calibrate": ["calibrate", "{folder}/ner", DOCCANO, "-o", "{folder}/calibrated"],
    "audit": ["audit", DOCCANO, "--preset", "ner", "--folds", "2"],
    "select": ["select", DOCCANO, "--preset", "ner", "--size", "3"],
    "encode": ["encode", DOCCANO, "--preset", "ner", "-o", "{folder}/corpus"],
    "train": ["train", DOCCANO, "--dev", DOCCANO, *TRAIN, "-m", "{folder}/other"],
    "maxent": ["train", DOCCANO, "--model-type", "maxent", *TRAIN, "-m", "{folder}/other"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_read_an_export(command, folder, done):
    arguments = [str(argument).format(folder=folder) for argument in COMMANDS[command]]
    finished = done(*arguments, "--format", "doccano")
    if command == "evaluate":
        assert json.loads(finished.stdout)["accuracy"] == 1.0
    if command == "encode":
        assert json.loads(done("evaluate", folder / "ner", folder / "corpus", "--json").stdout)["n_sentences"] == 4
    if command == "explain":
        assert "Lovelace" in finished.stdout


def test_spans_are_widened_and_overlaps_are_left_out_on_request(folder, done, misuse):
    export = folder / "odd.jsonl"
    export.write_text('{"text": "Adas book\\nRome", "label": [[0, 3, "PER"], [0, 9, "ART"], [10, 14, "LOC"]]}\n')
    train = ("train", export, "--format", "doccano", *TRAIN, "-m", folder / "odd")
    assert "odd.jsonl, line 1: the span 0 to 3, 'Ada' (PER), ends within the token 'Adas'" in misuse(*train)
    assert "--overlaps longest" in misuse(*train, "--widen")
    said = done(*train, "--widen", "--overlaps", "longest").stderr
    assert "odd.jsonl: 1 span widened to whole tokens" in said
    assert "odd.jsonl: 1 overlapping span left out" in said
    evaluate = ("evaluate", folder / "odd", export, "--format", "doccano", "--json")
    assert "within the token" in misuse(*evaluate)
    assert json.loads(done(*evaluate, "--widen", "--overlaps", "first").stdout)["n_tokens"] == 3


def test_suggestions_are_written_for_each_tool(folder, done):
    texts = [line for line in TEXTS.splitlines() if line]
    rows = Tagger(folder / "ner").tag_texts(texts)
    for layout in ("doccano", "label-studio", "prodigy"):
        path = folder / f"{layout}.json"
        done("tag", folder / "ner", folder / "new.txt", "--text", "--layout", layout, "-o", path)
        assert (
            path.read_text(encoding="utf-8")
            == done("tag", folder / "ner", folder / "new.txt", "--text", "--layout", layout, "--stream").stdout
        )
        found = read_annotations(path, layout)
        assert [text.text for text in found] == texts
        spans = [[span[:4] for span in text.spans] for text in found]
        assert spans == [[span[:4] for span in row] for row in rows]
    tasks = json.loads((folder / "label-studio.json").read_text(encoding="utf-8"))
    predictions = [prediction for task in tasks for prediction in task["predictions"]]
    tagger = Tagger(folder / "ner")
    labels = tagger.tag_batch([tagger.cut(text) for text in texts], probabilities=True)
    assert [prediction["score"] for prediction in predictions] == [tagging.probability for tagging in labels]
    assert {prediction["model_version"] for prediction in predictions} == {"ner"}
    (folder / "empty.txt").write_text("\n")
    arguments = ("tag", folder / "ner", folder / "empty.txt", "--text", "--layout")
    assert [done(*arguments, layout).stdout for layout in ("doccano", "label-studio")] == ["", "[]\n"]


def test_a_tokenizer_that_finds_nothing_is_warned_of(folder, done):
    arguments = ("tag", folder / "ner", folder / "new.txt", "--text", "--tokenizer")
    assert "the tokenizer 'zzz+' finds no token in the first 2 texts" in done(*arguments, "zzz+").stderr
    assert done(*arguments, "words").stderr == ""


def test_formats_that_a_command_does_not_take_are_not_in_its_help(done):
    helps = {name: done(name, "--help").stdout for name in ("tag", "rank", "explain", "train")}
    assert {
        name: "doccano" in text.partition("--format FORMAT")[2].partition("--sep")[0] for name, text in helps.items()
    } == {
        "tag": False,
        "rank": False,
        "explain": True,
        "train": True,
    }


def test_the_least_certain_texts_come_first(folder, done, misuse):
    table = done("rank", folder / "ner", folder / "new.txt", "--text", "-o", folder / "next.txt").stdout
    places = [int(line.split("\t")[3]) for line in table.splitlines()[1:]]
    lines = TEXTS.splitlines(keepends=True)
    assert sorted(places) == [1, 3]
    assert (folder / "next.txt").read_text(encoding="utf-8") == "".join(lines[place - 1] for place in places)
    assert "one per line, with --text" in misuse("rank", folder / "ner", DOCCANO, "--format", "doccano")


@pytest.mark.parametrize("format", [*EXPORTS, "conll2002", "conll2003"])
def test_texts_are_converted_to_every_format_and_back(format, folder, done):
    done("convert", DOCCANO, folder / "columns.txt")
    output = folder / f"to-{format}"
    said = done("convert", DOCCANO, output, "--to", format).stderr
    assert said == f"wrote {output}: 3 texts, 5 labelled spans ({format})\n"
    done("convert", output, folder / "back.txt", *(("--from", format) if format.startswith("conll") else ()))
    assert (folder / "back.txt").read_text() == (folder / "columns.txt").read_text()


def test_the_name_of_the_output_says_the_format(folder, done, misuse):
    for name, format in {"a.json": "label-studio", "a.ann": "brat", "a.conll": "conll2002"}.items():
        assert f"({format})" in done("convert", DOCCANO, folder / name).stderr
    assert done("convert", DOCCANO, folder / "b.txt", "--scheme", "IOBES").stderr.endswith("(columns)\n")
    assert "\tS-LOC\n" in (folder / "b.txt").read_text()
    assert "written with single blanks" in done("convert", folder / "b.txt", folder / "b.json").stderr
    assert "its name does not say the format; add --to with one of doccano" in misuse("convert", DOCCANO, folder / "c")
    assert "--to crf++ is for models" in misuse("convert", DOCCANO, folder / "c", "--to", "crf++")
    assert "--widen is for texts" in misuse("convert", folder / "ner", folder / "c.crfsuite", "--widen")
    assert "No such file" in misuse("convert", folder / "missing", folder / "c.txt")


MISUSES = [
    (
        ["train", DOCCANO, "--preset", "ner", "-m", "m"],
        "this looks like texts with labelled spans (doccano); add --format",
    ),
    (["train", DOCCANO, "--format", "doccano", "-m", "m"], "the format doccano needs a template"),
    (["train", DOCCANO, "--format", "doccano", "--preset", "chunking", "-m", "m"], "looks at 2 columns"),
    (
        ["train", DOCCANO, "--format", "doccano", "--preset", "ner", "--workers", "1", "-m", "m"],
        "training on a cluster does not take texts with labelled spans",
    ),
    (
        ["train", DOCCANO, "--format", "prodigy", "--preset", "ner", "-m", "m"],
        "no spans found in the format prodigy; the file looks like the format doccano",
    ),
    (
        ["train", DOCCANO, "--format", "doccano", "--partial", "--preset", "ner", "-m", "m"],
        "have no partial labels; leave out --partial",
    ),
    (
        ["encode", DOCCANO, "--format", "doccano", "--partial", "--preset", "ner", "-o", "c"],
        "have no partial labels; leave out --partial",
    ),
    (["train", DOCCANO, "--format", "docano", "--preset", "ner", "-m", "m"], "did you mean doccano"),
    (["train", DOCCANO, "--format", "brat", "--preset", "ner", "-m", "m"], "(the file looks like the format doccano)"),
    (
        ["train", SAMPLES / "conll2002.conll", "--widen", "--preset", "ner", "-m", "m"],
        "are for texts with labelled spans",
    ),
    (["rank", "{folder}/ner", "{folder}/new.txt", "--tokenizer", "words"], "add --text, or leave it out"),
    (["rank", "{folder}/ner", "{folder}/new.txt", "--text", "--format", "conllu"], "leave out --format"),
    (["rank", "{folder}/ner", "{folder}/new.txt", "--text", "--skip-comments"], "leave out --skip-comments"),
    (["evaluate", "{folder}/ner", DOCCANO, "--format", "columns", "--widen"], "are for texts with labelled spans"),
    (["rank", "{folder}/two", "{folder}/new.txt", "--text", "--tokenizer", "words"], "the template looks at 2 columns"),
    (["rank", "{folder}/ner", "{folder}/empty", "--text"], "no sentences to rank"),
    (
        ["tag", "{folder}/ner", DOCCANO, "--format", "doccano"],
        "loglinear tag does not take texts with labelled",
    ),
    (["tag", "{folder}/ner", DOCCANO], "(doccano); give its texts one per line, and add --text"),
    (["tag", "{folder}/ner", DOCCANO, "--pretty"], "(doccano); give its texts one per line, and add --text"),
    (["rank", "{folder}/ner", DOCCANO], "(doccano); give its texts one per line, and add --text"),
    (["tag", "{folder}/ner", "{folder}/new.txt"], "--format sets another, --text labels raw text)"),
    (["tag", "{folder}/two", "{folder}/new.txt"], "like the training data; --format sets another)"),
    (["tag", "{folder}/ner", "{folder}/new.txt", "--layout", "doccano"], "add --text"),
    (["convert", DOCCANO, "a.json", "--scheme", "IOBES"], "--scheme is for files with a token in each line"),
    (["convert", DOCCANO, "a.json", "--tokenizer", "words"], "--tokenizer is for files with a token in each line"),
    (["convert", DOCCANO, "a", "--to", "webanno", "--widen"], "--widen is for files with a token in each line"),
    (["convert", "{folder}/ner", "a.crfsuite", "--scheme", "BIO"], "--scheme is for texts with labelled spans"),
    (
        ["encode", DOCCANO, "--format", "doccano", "--preset", "ner", "-o", "c", "--min-count", "2"],
        "reads its input twice",
    ),
]


@pytest.mark.parametrize(("arguments", "said"), MISUSES)
def test_what_does_not_fit_is_refused(arguments, said, folder, misuse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in misuse(*(str(argument).format(folder=folder) for argument in arguments))


@pytest.mark.parametrize("format", ["brat", "webanno"])
def test_a_folder_is_written_again_and_other_texts_stay(format, done, misuse, tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    for _ in range(2):
        done("convert", DOCCANO, output, "--to", format)
    first = read_annotations(output, format)
    assert [[*text.spans] for text in first] == [[*text.spans] for text in read_annotations(DOCCANO)]
    extension = ".ann" if format == "brat" else ".tsv"
    (output / f"mine{extension}").write_text("")
    before = {path: path.read_bytes() for path in output.iterdir()}
    assert f"other texts, such as mine{extension}" in misuse("convert", DOCCANO, output, "--to", format)
    assert {path: path.read_bytes() for path in output.iterdir()} == before


def test_a_text_that_cannot_be_written_is_named_by_its_place(tmp_path, misuse):
    export = tmp_path / "p.jsonl"
    fine = '{"text": "Ada wrote", "spans": []}'
    export.write_text(fine + '\n{"text": "a \\u200b b", "spans": [{"start": 2, "end": 3, "label": "X"}]}\n')
    line = misuse("convert", export, tmp_path / "o.tsv", "--to", "webanno", "--tokenizer", "[a-z]+")
    assert "p.jsonl, line 2: the span" in line
    assert not (tmp_path / "o.tsv").exists()


def test_a_file_of_no_known_format_is_told_the_formats(tmp_path, misuse):
    (tmp_path / "d.csv").write_text("text,label\nAda wrote,PER\n")
    assert "name it with --from (doccano, label-studio" in misuse("convert", tmp_path / "d.csv", tmp_path / "p.txt")


def test_an_explanation_needs_no_spans_on_whole_tokens(folder, done, tmp_path):
    export = tmp_path / "part.jsonl"
    export.write_text('{"text": "Ada wrote", "label": [[0, 2, "PER"], [1, 3, "LOC"]]}\n')
    assert "Ada" in done("explain", folder / "ner", export, "--format", "doccano").stdout


def test_an_audit_is_applied_to_columns_only(folder, done, misuse):
    audit = ("audit", DOCCANO, "--format", "doccano")
    table = done(*audit, "--preset", "ner", "--folds", "2").stdout.splitlines(keepends=True)
    (folder / "audit.tsv").write_text("".join([table[0], *("x" + line for line in table[1:])]))
    assert "convert the file" in misuse("audit", DOCCANO, "--apply", folder / "audit.tsv", "-o", folder / "fixed")
