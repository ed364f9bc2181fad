"""Column files on the command line: what a model keeps of their layout, and what is written for them."""

from __future__ import annotations

import re

import pytest

from loglinear import ChainCRF

PLACES = "# one\nB-LOC\tNew York\nO\tis\n\n# two\nB-PER\tRita\nO\tmet\n\n"
LAYOUT = ("--separator", "tab", "--label-column", "0", "--skip-comments")


@pytest.fixture
def places(tmp_path, done):
    """A file with the labels first, cells with blanks and comments, and a model trained on it."""
    data, model = tmp_path / "places.txt", tmp_path / "places.model"
    data.write_text(PLACES)
    done("train", data, *LAYOUT, "--preset", "ner", "--l2", "0.01", "-m", model, "-q")
    return data, model


def test_later_commands_read_files_as_the_training_did(places, done, tmp_path):
    data, model = places
    scores = done("evaluate", "-m", model, data).stdout
    assert re.search(r"accuracy\D+100", scores), scores
    new = tmp_path / "new.txt"
    new.write_text("# one\nNew York\nmet\n")
    assert done("tag", "-m", model, new).stdout == "# one\nNew York\tB-LOC\nmet\tO\n\n"
    explained = done("explain", "-m", model, new).stdout
    assert "New York" in explained
    gold = done("evaluate", "-m", model, data, "--output", "-").stdout
    assert gold == "New_York B-LOC B-LOC\nis O O\n\nRita B-PER B-PER\nmet O O\n\n"


def test_gold_labels_in_a_file_to_tag_are_named_and_ignored(places, done):
    data, model = places
    tagged = done("tag", "-m", model, data)
    assert tagged.stdout.splitlines()[1] == "B-LOC\tNew York\tB-LOC"
    assert "column 0 is taken for the gold labels and ignored" in tagged.stderr


def test_other_columns_than_in_training_are_named(done, tmp_path):
    data, more, model = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "m"
    data.write_text("a X\nb Y\n\nb Y\n")
    more.write_text("a N I X\nb V I Y\n")
    done("train", data, "--preset", "ner", "-m", model, "-q")
    assert "4 columns, the training data had 1 plus the label" in done("tag", "-m", model, more).stderr
    assert "4 columns, the training data had 1 plus the label" in done("evaluate", "-m", model, more).stderr
    assert done("tag", "-m", model, data).stderr.startswith("note: ")


def test_labels_that_are_several_cells_are_not_written(misuse, done, tmp_path):
    tokens, data = [["a", "b"], ["b", "c"]] * 4, tmp_path / "data.txt"
    data.write_text("a\nb\n")
    for labels, said in ([["A B", "C"], "--separator tab"], [["A\tB", "A\nB"], "--format jsonl"]):
        model = tmp_path / "m"
        ChainCRF(template="pos", l2=0.1).fit(tokens, [labels, labels[::-1]] * 4).save(model)
        message = misuse("tag", "-f", "columns", "-m", model, data)
        assert "the model's label" in message
        assert said in message
    json = tmp_path / "data.jsonl"
    json.write_text('{"tokens": ["a", "b"]}\n')
    assert "A\\tB" in done("tag", "-m", model, json).stdout


def test_conlleval_gets_one_cell_for_a_label_with_blanks(done, tmp_path):
    data, model = tmp_path / "data.txt", tmp_path / "m"
    data.write_text("a\tA B\nb\tC\n\nb\tC\na\tA B\n")
    done("train", data, "--preset", "pos", "--separator", "tab", "-m", model, "-q")
    evaluated = done("evaluate", "-m", model, data, "--output", "-")
    assert evaluated.stdout.splitlines()[:2] == ["a A_B A_B", "b C C"]
    assert "the label 'A B' is written as A_B" in evaluated.stderr


def test_labels_that_conlleval_could_not_tell_apart_are_refused(done, misuse, tmp_path):
    data, model = tmp_path / "data.txt", tmp_path / "m"
    data.write_text("a\tA B\nb\tA_B\n\nb\tA_B\na\tA B\n")
    done("train", data, "--preset", "pos", "--separator", "tab", "-m", model, "-q")
    message = "<stdout>: the labels 'A B' and 'A_B' would both be written as A_B; leave out --output, or rename one"
    assert misuse("evaluate", "-m", model, data, "--output", "-").startswith(message)
    done("evaluate", "-m", model, data)


def test_evaluate_counts_the_label_among_the_columns_of_a_file(done, tmp_path):
    data, more, model = tmp_path / "data.txt", tmp_path / "more.txt", tmp_path / "m"
    data.write_text("a x D\nb x N\n\nb x N\na x D\n")
    more.write_text("a x y D\nb x y N\n\n")
    done("train", data, "--preset", "pos", "-m", model, "-q")
    assert "4 columns, the training data had 2 plus the label" in done("evaluate", model, more).stderr
    assert "columns" not in done("evaluate", model, data).stderr


@pytest.mark.parametrize(
    "command",
    [
        "evaluate m FILE",
        "report m FILE -o out",
        "calibrate m FILE -o out",
        "train data.txt --preset pos --dev FILE -m out",
        "train data.txt --preset pos --dev FILE -m out --model-type maxent",
        "select data.txt --preset pos --dev FILE --size 2",
    ],
)
def test_each_command_tells_other_numbers_of_columns_of_labelled_data(done, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    rows = {"data.txt": "a x {}", "more.txt": "a x y {}", "fewer.txt": "a {}"}
    for name, row in rows.items():
        (tmp_path / name).write_text("\n\n".join(f"{row.format('D')}\n{row.format('N')}" for _ in range(3)) + "\n")
    done("train", "data.txt", "--preset", "pos", "-m", "m", "-q")
    for name, n in (("more.txt", 4), ("fewer.txt", 2), ("data.txt", None)):
        said = done(*command.replace("FILE", name).split()).stderr
        says = f"warning: {name}: {n} columns, the training data had 2 plus the label; check that the first columns"
        assert says in said if n else "check that the first columns" not in said


@pytest.mark.parametrize("command", ["tag", "rank"])
def test_each_command_for_unlabelled_columns_says_what_becomes_of_others(done, tmp_path, command):
    data, new, model = tmp_path / "data.txt", tmp_path / "new.txt", tmp_path / "m"
    data.write_text("a x D\nb x N\n\nb x N\na x D\n")
    done("train", data, "--preset", "pos", "-m", model, "-q")
    for cells, says in {
        "a x": None,
        "a x D": "note: {}: the last column is taken for the gold labels and ignored (3 columns, the training data had",
        "a x y D": "warning: {}: 4 columns, the training data had 2 plus the label; check that the first columns hold",
    }.items():
        new.write_text(f"{cells}\n{cells}\n")
        said = done(command, model, new).stderr
        assert says.format(new) in said if says else "columns" not in said


def test_words_without_a_gold_label_are_not_scored(done, misuse, tmp_path):
    def rows(*tags):
        return "".join(f"{n}\tw{n}\t_\t{tag}" + "\t_" * 6 + "\n" for n, tag in enumerate(tags, 1)) + "\n"

    data, model = tmp_path / "part.conllu", tmp_path / "m"
    data.write_text(rows("NOUN", "_", "VERB") + rows("VERB"))
    assert "--partial takes `_` for an unknown label" in misuse("train", data, "--preset", "pos", "-m", model)
    done("train", data, "--preset", "pos", "--partial", "-m", model, "-q")
    scored = done("evaluate", "-m", model, data)
    assert "1 token without a gold label; it is not scored" in scored.stderr
    assert "3" in scored.stdout
    sure = done("evaluate", "-m", model, data, "--calibration")
    assert "only the 1 sentence with all labels is scored" in sure.stderr
    data.write_text(rows("_", "_"))
    assert "no token has a label" in misuse("evaluate", "-m", model, data)


def test_several_files_and_folders_train_as_their_concatenation(done, tmp_path):
    texts = ["a X\nb Y\n\nb Y\n\n", "c X\nd Z\n\n"]
    (tmp_path / "parts").mkdir()
    for name, text in zip("ab", texts, strict=True):
        (tmp_path / "parts" / f"{name}.txt").write_text(text)
    (tmp_path / "all.txt").write_text("".join(texts))
    weights = []
    for name, files in {
        "one": [tmp_path / "all.txt"],
        "two": [tmp_path / "parts" / "a.txt", tmp_path / "parts" / "b.txt"],
        "folder": [tmp_path / "parts"],
        "pattern": [tmp_path / "parts" / "?.txt"],
    }.items():
        done("train", *files, "--preset", "ner", "-m", tmp_path / name, "-q")
        model = ChainCRF.load(tmp_path / name).model_
        weights.append((model.labels, model.state_features(), model.transition_features()))
    assert all(each == weights[0] for each in weights)
