"""Column files whose columns hold something else than words and labels: every command says so, or refuses them."""

from __future__ import annotations

import pytest

ROWS = [
    ("In", "O"),
    ("Rita", "B-PER"),
    (",", "O"),
    ("", ""),
    ("Olaf", "B-PER"),
    ("met", "O"),
    ("Ada", "B-PER"),
    ("", ""),
]
PLAIN = "".join(f"{word} {label}".strip() + "\n" for word, label in ROWS)


def separated(separator, header=""):
    return header + "".join(f"{word}{separator}{label}\n" if word else "\n" for word, label in ROWS)


@pytest.fixture
def model(done, tmp_path):
    (tmp_path / "plain.txt").write_text(PLAIN * 3)
    done("train", tmp_path / "plain.txt", "--preset", "ner", "-m", tmp_path / "model", "-q")
    return tmp_path / "model"


@pytest.mark.parametrize("separator", [";", ",", "|", "/", "\u00a0", "\uff0c"])
def test_other_separators_are_named_in_training_and_in_tagging(done, misuse, model, tmp_path, separator):
    path = tmp_path / "data.txt"
    path.write_text(separated(separator, f"word{separator}tag\n" if separator in ";," else ""), encoding="utf-8")
    shown = f"U+{ord(separator):04X}" if separator.isspace() else f"'{separator}'"
    message = misuse("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q")
    assert "found 1; every line has" in message
    assert f"{shown}: separate the columns with tabs or spaces instead" in message
    if separator != "/":  # only a label after it gives a slash in a word away
        assert (
            f"every word contains {shown if len(shown) == 3 else f'the blank {shown}'}"
            in done("tag", model, path).stderr
        )


def test_a_mark_in_words_that_no_label_follows_is_no_separator(done, model, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("1/2\n3/4\n5/6\n\nand/or\n")
    assert done("tag", model, path).stderr == ""
    path.write_text("1/O\n3/O\n5/O\n\nand/O\n")
    assert "every word contains '/'" in done("tag", model, path).stderr


def test_spaces_where_a_model_reads_tabs_are_named(done, tmp_path):
    data, model = tmp_path / "tabs.txt", tmp_path / "m"
    data.write_text(separated("\t").replace("Rita", "Rita Levi"))
    done("train", data, "--preset", "ner", "-m", model, "-q")
    (tmp_path / "plain.txt").write_text(PLAIN)
    assert (
        "no line has a tab, and each has 2 columns between spaces" in done("tag", model, tmp_path / "plain.txt").stderr
    )
    assert "no line has a tab" not in done("tag", model, data).stderr
    assert "no line has a tab" not in done("tag", model, tmp_path / "plain.txt", "--separator", "blank").stderr


def test_numbers_of_tokens_are_not_words(done, model, tmp_path):
    numbered, at = [], 0
    for word, label in ROWS:
        at = at + 1 if word else 0
        numbered.append(f"{at} {word} {label}" if word else "")
    (tmp_path / "n.txt").write_text("\n".join(numbered) + "\n")
    for command in (
        ["train", tmp_path / "n.txt", "--preset", "ner", "-m", tmp_path / "m", "-q"],
        ["tag", model, tmp_path / "n.txt"],
    ):
        assert "column 0 counts tokens" in done(*command).stderr
    (tmp_path / "t").write_text("U:%x[0,1]\nU:%x[-1,1]\n")
    said = done("train", tmp_path / "n.txt", "--template", tmp_path / "t", "-m", tmp_path / "m", "-q").stderr
    assert "column 0" not in said


def test_a_first_column_that_never_changes_is_not_the_words(done, tmp_path):
    path = tmp_path / "c.txt"
    path.write_text("".join(f"doc7 {word} {label}\n" if word else "\n" for word, label in ROWS * 2))
    said = done("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q").stderr
    assert "column 0 is the same in every line" in said


def test_conllu_under_another_name_is_recognised(misuse, model, tmp_path):
    path = tmp_path / "u.txt"
    row = "{}\t{}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n"
    path.write_text("# sent_id = 1\n" + row.format(1, "Dogs") + row.format(2, "bark") + "\n")
    for command in (["train", path, "--preset", "pos", "-m", tmp_path / "m"], ["evaluate", model, path]):
        assert "the lines are CoNLL-U: add --format conllu" in misuse(*command)


def test_headers_are_named_by_their_lines_wherever_they_are(done, tmp_path):
    path = tmp_path / "h.txt"
    path.write_text("word tag\n" + PLAIN + "word tag\n\n" + PLAIN)
    said = done("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q").stderr
    assert f"{path}: lines 1 and 10 have the label 'tag': are they headers? remove them" in said
    path.write_text(PLAIN + "token NER\n" + PLAIN)
    assert (
        f"{path}: line 9 has the label 'NER'"
        in done("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q").stderr
    )
    (tmp_path / "words").write_text("token tag\nRita O\n")
    assert "looks like a header ('token tag')" in done("tag", tmp_path / "m", tmp_path / "words").stderr
    path.write_text(PLAIN.replace("O\n", "POS\n"))  # a part of speech
    assert "header" not in done("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q").stderr


@pytest.mark.parametrize("odd", ["B-PER\u200b", "B\u2011PER", "B-\u0420ER"])
def test_labels_that_look_the_same_are_named(done, model, tmp_path, odd):
    path = tmp_path / "l.txt"
    path.write_text(PLAIN.replace("Olaf B-PER", f"Olaf {odd}"), encoding="utf-8")
    said = done("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q").stderr
    assert f"{odd!a} differ only by characters that cannot be seen" in said
    assert f"the labels {odd!a} and 'B-PER' differ only" in done("evaluate", model, path).stderr


def test_labels_that_differ_in_case_alone_are_named_if_one_is_rare(done, tmp_path):
    path = tmp_path / "l.txt"
    path.write_text(PLAIN * 5 + "Olaf b-per\n")
    said = done("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q").stderr
    assert "the labels 'B-PER' and 'b-per' differ only in case" in said
    path.write_text(PLAIN + PLAIN.replace("B-PER", "b-per"))
    assert "case" not in done("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q").stderr


def test_a_blank_that_separates_nothing_is_named(misuse, tmp_path):
    path = tmp_path / "b.txt"
    path.write_text("In O\nRita\u00a0O\n", encoding="utf-8")
    message = misuse("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q")
    assert "line 2: expected 2 columns" in message
    assert "the blank U+00A0, which separates no columns" in message


def test_development_data_with_other_columns_are_named(done, tmp_path, model):
    dev = tmp_path / "dev.txt"
    dev.write_text(PLAIN.replace(" ", " N "))
    train = ["train", tmp_path / "plain.txt", "--preset", "ner", "-m", tmp_path / "m", "-q", "--dev"]
    assert "3 columns, the training data had 1 plus the label" in done(*train, dev).stderr
    assert "columns" not in done(*train, tmp_path / "plain.txt").stderr


def test_a_file_among_several_with_other_columns_is_named(misuse, tmp_path, model):
    odd = tmp_path / "odd.txt"
    odd.write_text(PLAIN.replace(" ", " N "))
    plain = tmp_path / "plain.txt"
    expected = f"{odd}: 2 columns besides the label, {plain} has 1; give data with the same columns"
    assert misuse("train", plain, plain, odd, "--preset", "ner", "-m", tmp_path / "m", "-q") == expected
    said = misuse("encode", plain, odd, "--preset", "ner", "-o", tmp_path / "c", "-q")
    assert said.startswith(f"{odd}: 2 columns plus the label, earlier sentences have 1")


def test_files_are_given_once(misuse, tmp_path, model):
    plain = tmp_path / "plain.txt"
    train = ["train", plain, "--preset", "ner", "-m", tmp_path / "a", "-m", tmp_path / "b"]
    assert f"-m is given twice, {tmp_path / 'a'} and {tmp_path / 'b'}; give it once" in misuse(*train, usage=True)
    assert not (tmp_path / "a").exists()
    assert "-m is given twice" in misuse("tag", "-m", model, "-m", plain, plain, usage=True)
    assert "-o is given twice" in misuse("tag", model, plain, "-o", tmp_path / "a", "-o", tmp_path / "b", usage=True)


def test_options_are_not_given_twice_with_different_values(misuse, tmp_path):
    train = ["train", tmp_path / "plain.txt", "-m", tmp_path / "a"]
    assert "--l1 is given twice, 1.0 and 2.0; give it once" in misuse(*train, "--l1", "1", "--l1=2", usage=True)
    assert "--preset is given twice, ner and pos" in misuse(*train, "--preset", "ner", "--preset", "pos", usage=True)
    assert "-p x: this option has two values" in misuse(*train, "--l1", "1", "--l1", "1", "-p", "x=1", "-p", "x=2")


def test_a_folder_in_place_of_a_file_is_named(misuse, tmp_path, model):
    for command in ("tag", "evaluate"):
        assert misuse(command, model, tmp_path).startswith(f"{tmp_path}: a folder, not a file; give the name of a file")


def test_warnings_of_invalid_labels_name_the_line_and_the_scheme_that_was_meant(done, misuse, tmp_path):
    first, second = tmp_path / "1.txt", tmp_path / "2.txt"
    first.write_text(PLAIN)
    second.write_text("Jan B-PER\nNo I-PER\n\n" + PLAIN + "\nJo I-PER\n")
    train = ["train", first, second, "--preset", "ner", "-m", tmp_path / "m", "-q", "--constraints"]
    said = done(*train, "BIO", "--invalid-labels", "repair").stderr
    assert f"{second}, line 13: the constraints forbid I-PER at the start of a sentence" in said
    assert "is probably meant" not in said
    said = done(*train, "IOBES", "--invalid-labels", "repair").stderr
    assert "the labels follow BIO: --constraints BIO is probably meant" in said
    first.write_text("Jan I-PER\nmet O\n\nRita I-PER\nmet O\n\nit O\nis O\n")
    message = misuse(
        "train",
        first,
        "--preset",
        "ner",
        "-m",
        tmp_path / "m",
        "-q",
        "--constraints",
        "BIO",
        "--invalid-labels",
        "skip",
    )
    assert "only the label 'O' is left without the 2 of 3 sentences" in message
    assert "--invalid-labels repair" in message


def test_development_data_may_have_tokens_without_labels(done, tmp_path):
    row = "{}\t{}\t_\t{}\t_\t_\t0\troot\t_\t_\n"
    text = row.format(1, "Dogs", "NOUN") + row.format(2, "bark", "VERB") + "\n"
    (tmp_path / "a.conllu").write_text(text * 4)
    (tmp_path / "b.conllu").write_text(text + row.format(1, "Cats", "_") + row.format(2, "bark", "VERB"))
    said = done(
        "train", tmp_path / "a.conllu", "--preset", "pos", "-m", tmp_path / "m", "--dev", tmp_path / "b.conllu"
    ).stderr
    assert "1 token without a gold label; it is not scored" in said
    assert "dev accuracy 100.0" in said or "dev accuracy 1.0" in said


def test_a_corpus_that_is_appended_to_keeps_its_layout(done, tmp_path):
    path, corpus = tmp_path / "f.txt", tmp_path / "c"
    path.write_text("# x\nB-LOC\tNew York\nO\tis\n\nO\tit\n")
    done(
        "encode", path, "--preset", "ner", "-o", corpus, "--label-column", "0", "--separator", "tab", "--skip-comments"
    )
    said = done("encode", path, "--append", "-o", corpus).stderr
    assert "4 sentences, 6 tokens" in said
    assert "2 labels" in said


def test_errors_of_a_template_name_its_file(misuse, tmp_path, model):
    template = tmp_path / "t.txt"
    template.write_text("U:%x[0,0]\nX\n")
    message = misuse("train", tmp_path / "plain.txt", "--template", template, "-m", tmp_path / "m", "-q")
    assert message.startswith(f"{template}, line 2: a line must start with")
