"""Laws of `loglinear tag`."""

from __future__ import annotations

import json
import lzma
import math
import os
import re
import subprocess
import sys

import pytest

import loglinear
from oracles.command_line import COMMAND, column_text, read_columns
from oracles.patience import patience

FORMATS = ["columns", "crfsuite", "jsonl"]


def labels_of(text, kind):
    """The predicted labels in what `tag` prints."""
    if kind == "jsonl":
        return [json.loads(line)["predicted"] for line in text.splitlines()]
    return [[line.split("\t")[-1] for line in block.split("\n")] for block in text.rstrip("\n").split("\n\n")]


def unlabelled(sample, part, kind):
    """Sentences of the sample as Python objects that stand for the file of this format."""
    if kind == "columns":
        return [[row[:2] for row in sentence] for sentence in sample.data[part]]
    return loglinear.Corpus.read(sample.path(part, kind), format=kind, labelled=kind == "jsonl")


def test_help_shows_an_example(done):
    assert "loglinear tag pos.loglinear" in done("tag", "--help").stdout.split("example:")[1]


@pytest.mark.parametrize("kind", FORMATS)
def test_labels_are_those_that_python_predicts(done, sample, kind):
    printed = done("tag", "-m", sample.models[kind], sample.path("test", kind)).stdout
    predicted = loglinear.ChainCRF.load(sample.models[kind]).predict(unlabelled(sample, "test", kind))
    assert labels_of(printed, kind) == predicted
    assert len({label for sentence in predicted for label in sentence}) > 5


def test_column_files_keep_every_column_and_the_bounds_of_sentences(done, sample):
    printed = done("tag", "-m", sample.model, sample.test).stdout
    # The gold label stands where it stood; the prediction follows it.
    assert [[row[:3] for row in sentence] for sentence in read_columns(printed)] == sample.data["test"]
    assert {len(row) for sentence in read_columns(printed) for row in sentence} == {4}
    assert printed.endswith("\n\n")


def test_labels_do_not_depend_on_the_gold_column_nor_on_its_absence(done, sample, tmp_path):
    bare = tmp_path / "bare"
    bare.write_text(column_text([[row[:1] for row in sentence] for sentence in sample.data["test"]]))
    with_gold = done("tag", "-m", sample.model, sample.test).stdout
    assert labels_of(done("tag", "-m", sample.model, bare).stdout, "columns") == labels_of(with_gold, "columns")


def test_spacing_of_the_input_is_kept_and_stray_blanks_are_not(done, sample):
    printed = done("tag", "-m", sample.model, input="the  DT\t x \t\r\ndog NN y\n \t\n\n\nit PRP z").stdout
    rows = printed.split("\n")
    assert [row.rsplit("\t", 1)[0] for row in rows] == ["the  DT\t x", "dog NN y", "", "it PRP z", "", ""]


def test_standard_input_is_the_default_and_output_may_be_a_file(done, sample, tmp_path):
    expected = done("tag", "-m", sample.model, sample.test).stdout
    text = sample.test.read_text()
    assert done("tag", "-m", sample.model, input=text).stdout == expected
    assert done("tag", "-m", sample.model, "-", input=text).stdout == expected
    assert done("tag", "-m", sample.model, sample.test, "--output", tmp_path / "out").stdout == ""
    assert (tmp_path / "out").read_text() == expected
    packed = tmp_path / "packed"
    packed.write_bytes(lzma.compress(sample.test.read_bytes()))
    assert done("tag", "-m", sample.model, packed).stdout == expected


def test_number_of_threads_changes_nothing(done, sample, tmp_path):
    large = tmp_path / "large"
    large.write_text(sample.test.read_text() * 60)
    one, two = (done("tag", "-m", sample.model, large, "-j", str(n), "--marginals").stdout for n in (1, 2))
    assert one == two
    assert one == done("tag", "-m", sample.model, sample.test, "--marginals").stdout * 60


@pytest.mark.parametrize("kind", FORMATS)
def test_marginals_sum_to_one_and_are_those_of_python(done, sample, kind):
    printed = done("tag", "-m", sample.models[kind], sample.path("test", kind), "--marginals").stdout
    expected = loglinear.ChainCRF.load(sample.models[kind]).predict_marginals(unlabelled(sample, "test", kind))
    if kind == "jsonl":
        found = [json.loads(line)["marginals"] for line in printed.splitlines()]
    else:
        # label:probability cells stand behind the prediction, a cell for every label.
        n = len(expected[0][0])
        pairs = [
            [[cell.rsplit(":", 1) for cell in row.split("\t")[-n:]] for row in block.split("\n")]
            for block in printed.rstrip("\n").split("\n\n")
        ]
        found = [[{label: float(p) for label, p in token} for token in sentence] for sentence in pairs]
    exact = kind == "jsonl"
    for sentence, wanted in zip(found, expected, strict=True):
        for token, probabilities in zip(sentence, wanted, strict=True):
            assert token == pytest.approx(probabilities, abs=1e-12 if exact else 5.1e-7)
            assert sum(token.values()) == pytest.approx(1.0, abs=1e-9 if exact else 1e-5)


def n_best_of(text, kind):
    """The labellings of each sentence, with their probabilities, in what `tag --n-best` prints."""
    if kind == "jsonl":
        every = [json.loads(line)["n_best"] for line in text.splitlines()]
        return [[(found["labels"], found["probability"]) for found in labellings] for labellings in every]
    sentences = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        head, *rows = block.split("\n")
        mark, rank, probability = head.split(" ")
        assert mark == "#"
        if rank == "0":
            sentences.append([])
        assert int(rank) == len(sentences[-1])
        sentences[-1].append(([row.split("\t")[-1] for row in rows], float(probability)))
    return sentences


@pytest.mark.parametrize("kind", FORMATS)
def test_the_best_labellings_are_those_of_python_with_their_probabilities(done, sample, kind):
    printed = done("tag", "-m", sample.models[kind], sample.path("test", kind), "--n-best", "3").stdout
    found = n_best_of(printed, kind)
    expected = loglinear.ChainCRF.load(sample.models[kind]).predict(unlabelled(sample, "test", kind), n_best=3)
    for labellings, wanted in zip(found, expected, strict=True):
        assert [labels for labels, _ in labellings] == [labels for labels, _ in wanted]
        tolerance = 1e-12 if kind == "jsonl" else 5.1e-6
        assert [p for _, p in labellings] == pytest.approx([math.exp(p) for _, p in wanted], rel=tolerance)
    best = labels_of(done("tag", "-m", sample.models[kind], sample.path("test", kind)).stdout, kind)
    assert [labellings[0][0] for labellings in found] == best
    if kind == "jsonl":
        assert labels_of(printed, kind) == best


def test_the_layout_of_several_labellings_is_that_of_crfpp(done, sample):
    one = done("tag", "-m", sample.model, input="the  DT\t x \t\r\n\nit PRP z").stdout.splitlines()
    printed = done("tag", "-m", sample.model, "--n-best", "2", input="the  DT\t x \t\r\n\nit PRP z").stdout
    rows = printed.split("\n")
    assert [row.rsplit("\t", 1)[0] for row in rows[1::3]] == ["the  DT\t x"] * 2 + ["it PRP z"] * 2
    assert (rows[1], rows[7]) == (one[0], one[2])
    assert rows[2::3] == [""] * 4
    assert [row.split(" ")[:2] for row in rows[::3][:4]] == [["#", "0"], ["#", "1"]] * 2
    # Six significant digits, as C++ writes them, of small probabilities as well.
    large = done("tag", "-m", sample.model, "--n-best", "1", input="lorem ipsum\n" * 60).stdout.split("\n")[0]
    assert re.fullmatch(r"# 0 \d(\.\d{1,4}[1-9])?e-\d\d+", large), large


def test_there_are_no_more_labellings_than_a_sentence_has(done, sample, tmp_path):
    n_labels = len(loglinear.ChainCRF.load(sample.model).classes_)
    printed = done("tag", "-m", sample.model, "--n-best", "1000", input="dog\n\n").stdout
    [labellings] = n_best_of(printed, "columns")
    assert len({labels for [labels], _ in labellings}) == n_labels
    assert sum(p for _, p in labellings) == pytest.approx(1.0, abs=1e-5)
    line = done("tag", "-m", sample.models["jsonl"], "--n-best", "2", input='{"tokens": []}\n').stdout
    assert json.loads(line) == {"tokens": [], "predicted": [], "n_best": [{"labels": [], "probability": 1.0}]}


def test_a_sentence_that_may_not_have_any_labels_says_so(done, tmp_path):
    crf = loglinear.ChainCRF(template="U:%x[0,0]\nB\n", constraints=[("A", "A"), ("B", "A"), ("B", "B")])
    crf.fit([["a", "b"]], [["A", "B"]]).save(tmp_path / "m")
    command, columns = ("tag", "-m", tmp_path / "m"), "a\na\na\n\na\nb\n"
    assert done(*command, "-f", "columns", input=columns).stdout == "a\t?\na\t?\na\t?\n\na\tA\nb\tB\n\n"
    several = done(*command, "-f", "columns", "--n-best", "2", input=columns).stdout
    assert several == "# none\na\t?\na\t?\na\t?\n\n# 0 1\na\tA\nb\tB\n\n"
    line = done(*command, "-f", "jsonl", "--n-best", "2", input='{"tokens": ["a", "a", "a"]}\n').stdout
    assert json.loads(line) == {"tokens": ["a"] * 3, "predicted": [None] * 3, "n_best": []}
    sure = done(*command, "-f", "columns", "--marginals", input="a\nb\n").stdout
    assert sure == "a\tA\tA:1.000000\tB:0.000000\nb\tB\tA:0.000000\tB:1.000000\n\n"


def test_threads_do_not_change_the_best_labellings(done, sample, tmp_path):
    large = tmp_path / "large"
    large.write_text(sample.test.read_text() * 60)
    one, two = (done("tag", "-m", sample.model, large, "-j", str(n), "--n-best", "2").stdout for n in (1, 2))
    assert one == two == done("tag", "-m", sample.model, sample.test, "--n-best", "2").stdout * 60


@pytest.mark.parametrize("options", [["0"], ["-3"], ["10001"], ["2", "--marginals"]])
def test_what_is_no_number_of_labellings_is_refused(misuse, sample, options):
    said = misuse("tag", "-m", sample.model, sample.test, "--n-best", *options)
    what, remedy = (
        f"--n-best={options[0]} is not a whole number from 1 to",
        "leave it out for the best labelling alone",
    )
    assert all(text in said for text in (["--marginals or --n-best"] if options[1:] else [what, remedy]))


def test_a_second_order_model_tags_as_it_predicts_in_python(done, sample, tmp_path):
    train, test = sample.path("train", "jsonl"), sample.path("test", "jsonl")
    done("train", train, "-f", "jsonl", "--order", "2", "-m", tmp_path / "m")
    printed = done("tag", "-m", tmp_path / "m", test, "--marginals").stdout.splitlines()
    crf, X = loglinear.ChainCRF.load(tmp_path / "m"), unlabelled(sample, "test", "jsonl")
    assert crf.order == 2
    assert crf.triple_features_
    assert [json.loads(line)["predicted"] for line in printed] == crf.predict(X)
    for line, expected in zip(printed, crf.predict_marginals(X), strict=True):
        for token, probabilities in zip(json.loads(line)["marginals"], expected, strict=True):
            assert token == pytest.approx(probabilities, abs=1e-12)


def test_json_lines_keep_their_other_fields(done, sample):
    line = '{"id": "é", "tokens": [{"w": "the"}, {"w": "dog", "capital": false}], "deep": {"a": [1, 2.5, null]}}\n'
    printed = done("tag", "-m", sample.models["jsonl"], input=line + "\n" + line).stdout
    for row in printed.splitlines():
        found = json.loads(row)
        assert len(found.pop("predicted")) == 2
        assert found == json.loads(line)
    assert len(printed.splitlines()) == 2


def test_column_model_tags_json_lines_of_raw_tokens(done, sample):
    lines = "".join(json.dumps({"tokens": [row[0] for row in sentence]}) + "\n" for sentence in sample.data["test"])
    printed = done("tag", "-m", sample.model, "-f", "jsonl", input=lines).stdout
    assert labels_of(printed, "jsonl") == labels_of(done("tag", "-m", sample.model, sample.test).stdout, "columns")


def test_no_input_gives_no_output(done, sample):
    for text in ("", "\n \n\t\n"):
        assert done("tag", "-m", sample.model, input=text).stdout == ""


def test_cells_that_no_label_can_match_are_tagged(done, sample):
    words = ["😀", "a\0b", "\u00a0", "\u3000", "\N{ZERO WIDTH SPACE}", "#", "%x[0,0]", "\\", "x" * 10_000, "e\u0301"]
    printed = done("tag", "-m", sample.model, input="\n".join(f"{word} X" for word in words) + "\n").stdout
    assert [row.split("\t")[0] for row in printed.strip("\n").split("\n")] == [f"{word} X" for word in words]


@pytest.mark.filterwarnings("ignore:.*one sentence has 100,000 tokens")
def test_sentence_of_a_hundred_thousand_tokens(done, tmp_path):
    tokens, data, model = 100_000, tmp_path / "long", tmp_path / "m"
    labels = [("A", "B", "B", "C")[(at * at + at // 7) % 4] for at in range(tokens)]
    data.write_text("".join(f"{label.lower()}{at % 3} {label}\n" for at, label in enumerate(labels)))
    (tmp_path / "template").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    done("train", data, "--template", tmp_path / "template", "-m", model, "--max-iterations", "15", "-q")
    rows = done("tag", "-m", model, data, "--marginals").stdout.splitlines()
    assert len(rows) == tokens + 1
    cells = [row.split("\t") for row in rows[:-1]]
    assert [row[1] for row in cells] == labels
    assert all(0.99999 < sum(float(cell[2:]) for cell in row[2:]) < 1.00001 for row in cells[::97])
    assert json.loads(done("evaluate", "-m", model, data, "--json").stdout)["accuracy"] == 1.0


def test_attribute_and_word_of_a_megabyte(done, tmp_path):
    model, name = tmp_path / "m", "é" * 500_000
    data = tmp_path / "data.crfsuite"
    data.write_text(f"A\t{name}\tx\nB\ty\n\n", encoding="utf-8")
    done("train", data, "-f", "crfsuite", "-m", model)
    assert (name, "A") in loglinear.ChainCRF.load(model).state_features_
    assert done("tag", "-m", model, data).stdout == "A\nB\n\n"
    report = json.loads(done("inspect", model, "--json").stdout)
    assert name in {feature.get("attribute") for feature in report["top_states"]}
    words = tmp_path / "words"
    words.write_text(f"{name} A\ny B\n", encoding="utf-8")
    (tmp_path / "template").write_text('U1:%X[0,0]/%x[1,0]\nU2:%m[0,0,".$"]\nU3:%shape[0,0]\nB\n')
    done("train", words, "--template", tmp_path / "template", "-m", model)
    assert done("tag", "-m", model, words).stdout == f"{name} A\tA\ny B\tB\n\n"


def test_thousands_of_columns(done, tmp_path):
    n, data, model = 5000, tmp_path / "wide", tmp_path / "m"
    data.write_text("".join(" ".join(f"{row}{at}" for at in range(n)) + f" {row.upper()}\n" for row in "abab"))
    (tmp_path / "template").write_text(f"U:%x[0,{n - 1}]\nB\n")
    done("train", data, "--template", tmp_path / "template", "-m", model)
    rows = done("tag", "-m", model, data).stdout.strip().split("\n")
    assert [row.split("\t")[-1] for row in rows] == list("ABAB")


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("arguments", [["tag"], ["inspect"], ["presets"], ["presets", "pos"], ["--help"]])
def test_reader_that_has_gone_is_no_reason_to_complain(sample, tmp_path, arguments):
    large = tmp_path / "large"
    large.write_text(sample.test.read_text() * 20)
    more = {"tag": ["-m", sample.model, large], "inspect": [sample.model, "--json"]}.get(arguments[0], [])
    reading, writing = os.pipe()
    os.close(reading)
    try:
        finished = subprocess.run(
            [*COMMAND, *arguments, *map(str, more)], stdout=writing, stderr=subprocess.PIPE, timeout=20
        )
    finally:
        os.close(writing)
    assert finished.stderr == b""


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_head_of_a_long_output(run, sample, tmp_path):
    large = tmp_path / "large"
    large.write_text(sample.test.read_text() * 20)
    piped = ["sh", "-c", '"$@" | head -1', "sh"]
    shown = run("tag", "-m", sample.model, large, wrapper=piped)
    assert shown.stderr == ""
    assert shown.stdout.startswith(sample.test.read_text().split("\n", 1)[0] + "\t")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("closed", ["1", "2"])
def test_closed_standard_stream_is_no_reason_to_crash(run, sample, tmp_path, closed):
    """A service may start us with stdout or stderr closed."""
    wrapper = ["sh", "-c", f'"$@" {closed}>&-', "sh"]
    finished = run("tag", "-m", sample.model, sample.test, "-o", tmp_path / "out", wrapper=wrapper)
    assert finished.returncode == 0, finished.stderr
    finished = run("train", sample.test, "--preset", "pos", "-m", tmp_path / "m", "--max-iterations", "1",
                   wrapper=wrapper)  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert not finished.stdout
    assert (tmp_path / "m").exists()


def test_tagging_imports_nothing_heavy(sample):
    heavy = {
        "numpy",
        "sklearn",
        "scipy",
        "rich",
        "dataclasses",
        "inspect",
        "pathlib",
        "urllib",
        "loglinear.data.corpus",
    }
    code = (
        "import sys; before = set(sys.modules); from loglinear.cli.main import main; main(sys.argv[1:]); "
        f"sys.exit(' '.join({heavy} & (set(sys.modules) - before)) or None)"
    )
    command = [sys.executable, "-c", code, "tag", "-m", sample.model, sample.test]
    stderr = subprocess.run(command, capture_output=True, timeout=patience(20)).stderr
    assert re.fullmatch(rb"note: \S+: the last column is taken for the gold labels and ignored .*\n", stderr), stderr


CONLLU = """\
# text = Don't bark
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tDo\tdo\t_\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tX\tRB\t_\t3\tadvmod\t_\t_\r
2.1\t_\t_\tNOUN\t_\t_\t_\t_\t_\t_

1\tbark\tbark\t_\tVB\t_\t0\troot\t_\t_"""


def test_conllu_comes_back_with_its_labels_filled_in_and_all_else_as_it_was(done, sample, tmp_path):
    path = tmp_path / "new.conllu"
    path.write_bytes(CONLLU.encode())
    tagged = done("tag", "-m", sample.model, path).stdout
    predicted = loglinear.ChainCRF.load(sample.model).predict([["Do", "n't"], ["bark"]])
    first, second, third = [*predicted[0], *predicted[1]]
    expected = CONLLU.replace("Do\tdo\t_", f"Do\tdo\t{first}").replace("not\tX", f"not\t{second}")
    assert tagged == expected.replace("bark\tbark\t_", f"bark\tbark\t{third}")
    # The same through standard input, where the format has to be given; in another column; on more threads.
    assert done("tag", "-m", sample.model, "-f", "conllu", input=CONLLU).stdout == tagged
    other = done("tag", "-m", sample.model, "-f", "conllu:xpos", path).stdout
    assert other.replace(f"{first}\t_\t3", "VB\t_\t3").splitlines()[2] == "1\tDo\tdo\t_\tVB\t_\t3\taux\t_\t_"
    path.write_bytes((CONLLU + "\n\n").encode() * 3_000)
    assert done("tag", "-m", sample.model, path, "-j", "2").stdout == (tagged + "\n\n") * 3_000


@pytest.mark.parametrize("option", [["--marginals"], ["--n-best", "2"]])
def test_conllu_has_no_place_for_probabilities(misuse, sample, tmp_path, option):
    (tmp_path / "new.conllu").write_text(CONLLU)
    assert f"leave out {option[0]}" in misuse("tag", "-m", sample.model, tmp_path / "new.conllu", *option)


def as_conllu(data):
    """Sentences of [word, XPOS, UPOS] as CoNLL-U."""
    rows = [
        [[str(at), word, "_", tag, other, "_", "_", "_", "_", "_"] for at, (word, other, tag) in enumerate(sentence, 1)]
        for sentence in data
    ]
    return column_text(rows)


def test_the_extension_of_a_file_tells_its_format(done, misuse, sample, tmp_path):
    text = as_conllu(sample.data["test"])
    (tmp_path / "test.conllu").write_text(text, encoding="utf-8")
    predicted = labels_of(done("tag", "-m", sample.model, sample.test).stdout, "columns")
    # Trained on columns, used on CoNLL-U, where the template looks at the words alone.
    tagged = done("tag", "-m", sample.model, tmp_path / "test.conllu").stdout
    assert [[row[3] for row in sentence] for sentence in read_columns(tagged)] == predicted
    scores = json.loads(done("evaluate", "-m", sample.model, sample.test, "--json").stdout)
    assert json.loads(done("evaluate", "-m", sample.model, tmp_path / "test.conllu", "--json").stdout) == scores
    # The format that is given goes first.
    (tmp_path / "columns.conllu").write_text("dog NN\n")
    assert done("tag", "-m", sample.model, "-f", "columns", tmp_path / "columns.conllu").stdout.startswith("dog NN\t")
    # A file whose format the model cannot read is read as the training data were.
    assert "line 1: " in misuse("tag", "-m", sample.models["jsonl"], tmp_path / "test.conllu")


def test_training_on_conllu_takes_the_format_from_the_extension(done, sample, tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"{part}.conllu").write_text(as_conllu(sample.data[part]), encoding="utf-8")
    common = ["--template", sample.template, "--tolerance", "1e-3", "--dev", tmp_path / "test.conllu"]
    done("train", tmp_path / "train.conllu", *common, "-m", tmp_path / "m", "-q")
    # The weights are those of the same words and labels in columns.
    tagged = read_columns(done("tag", "-m", tmp_path / "m", tmp_path / "test.conllu").stdout)
    expected = labels_of(done("tag", "-m", sample.model, sample.test).stdout, "columns")
    assert [[row[3] for row in sentence] for sentence in tagged] == expected
    # Labels from another column; the model remembers it.
    done("train", tmp_path / "train.conllu", "-f", "conllu:xpos", *common, "-m", tmp_path / "x", "-q")
    tagged = read_columns(done("tag", "-m", tmp_path / "x", tmp_path / "test.conllu").stdout)
    known = set(loglinear.ChainCRF.load(tmp_path / "x").classes_)
    assert "NN" in known
    assert {row[4] for sentence in tagged for row in sentence} <= known
    right = [row[2] for sentence in sample.data["test"] for row in sentence]
    assert [row[3] for sentence in tagged for row in sentence] == right
    scores = done("evaluate", "-m", tmp_path / "x", tmp_path / "test.conllu", "--json").stdout
    assert json.loads(scores)["accuracy"] > 0.5


@pytest.fixture
def entities(tmp_path):
    """A file of entities whose model, trained without constraints, tags a lone Lee as I-PER."""
    path = tmp_path / "entities.txt"
    path.write_text("Ann B-PER\nLee I-PER\nleft O\n\nLee I-PER\n\nLee I-PER\n\nBo B-PER\nsat O\n\n")
    return path


def test_constraints_are_kept_in_the_model_and_can_be_set_and_taken_off(done, misuse, entities, tmp_path):
    template, words = tmp_path / "t", tmp_path / "words.txt"
    template.write_text("U:%x[0,0]\nB\n")
    words.write_text("Lee\n\n")
    good = tmp_path / "good.txt"
    good.write_text("Ann B-PER\nLee I-PER\nleft O\n\nBo B-PER\nsat O\n\n")
    common = ("--template", str(template), "--quiet", "--l2", "0.1", "--model")
    done("train", str(entities), *common, str(tmp_path / "free"))
    done("train", str(good), *common, str(tmp_path / "bound"), "--constraints", "auto")
    tag = ("tag", "--model")
    assert done(*tag, str(tmp_path / "free"), str(words)).stdout.split() == ["Lee", "I-PER"]
    assert done(*tag, str(tmp_path / "free"), str(words), "--constraints", "BIO").stdout.split() != ["Lee", "I-PER"]
    assert done(*tag, str(tmp_path / "bound"), str(words)).stdout.split() != ["Lee", "I-PER"]
    assert done(*tag, str(tmp_path / "bound"), str(words), "--constraints", "none").stdout.split() == ["Lee", "I-PER"]
    assert "constraints      BIO\n" in done("inspect", str(tmp_path / "bound")).stdout
    assert "--constraints XYZ is not a tagging scheme or a list of pairs; give auto, BIO" in misuse(
        *tag, str(tmp_path / "free"), str(words), "--constraints", "XYZ"
    )


def test_labels_that_constraints_forbid_are_named_by_their_line(misuse, entities, tmp_path):
    template = tmp_path / "t"
    template.write_text("U:%x[0,0]\nB\n")
    train = ("train", str(entities), "--template", str(template), "--quiet", "--model", str(tmp_path / "m"))
    message = misuse(*train, "--constraints", "BIO")
    assert f"{entities}, line 5: the constraints forbid I-PER at the start" in message


# Probabilities: the chunker's labels follow a scheme, the sample's do not.


@pytest.fixture(scope="module")
def tagged(chunker):
    """What Python says of the chunker's test data."""
    crf = loglinear.ChainCRF.load(chunker.model)
    return crf.tag([[row[:2] for row in sentence] for sentence in read_columns(chunker.test.read_text())])


def significant(number):
    """A number as C++ prints it."""
    return f"{number:.6g}"


def test_token_probabilities_stand_behind_the_labels(done, chunker, tagged):
    rows = read_columns(done("tag", "-m", chunker.model, chunker.test, "--probabilities", "token").stdout)
    given = read_columns(chunker.test.read_text())
    assert [[row[:-2] for row in sentence] for sentence in rows] == given
    assert [[row[-2] for row in sentence] for sentence in rows] == [each.labels for each in tagged]
    expected = [[f"{p:.6f}" for p in each.probabilities] for each in tagged]
    assert [[row[-1] for row in sentence] for sentence in rows] == expected


def test_span_probabilities_stand_on_each_token_of_the_span(done, chunker, tagged):
    rows = read_columns(done("tag", "-m", chunker.model, chunker.test, "--probabilities", "span").stdout)
    for sentence, each in zip(rows, tagged, strict=True):
        expected = list(each.probabilities)
        for span in each.spans:
            expected[span.start : span.end] = [span.probability] * (span.end - span.start)
        assert [row[-1] for row in sentence] == [f"{p:.6f}" for p in expected]
    assert any(span.end - span.start > 1 for each in tagged for span in each.spans)


def test_the_probability_of_a_sentence_stands_before_it_as_in_crfpp(done, chunker, tagged):
    plain = done("tag", "-m", chunker.model, chunker.test).stdout
    printed = done("tag", "-m", chunker.model, chunker.test, "--probabilities", "sequence").stdout
    blocks = [f"# {significant(each.probability)}\n{block}" for each, block in
              zip(tagged, plain.removesuffix("\n\n").split("\n\n"), strict=True)]  # fmt: skip
    assert printed == "".join(f"{block}\n\n" for block in blocks)


def test_json_lines_get_fields_of_probabilities(done, sample):
    crf = loglinear.ChainCRF.load(sample.models["jsonl"])
    path = sample.path("test", "jsonl")
    expected = crf.tag(unlabelled(sample, "test", "jsonl"))

    def lines(kind):
        printed = done("tag", "-m", sample.models["jsonl"], path, "--probabilities", kind).stdout
        return [json.loads(line) for line in printed.splitlines()]

    for name, kind in (("probabilities", "token"), ("probability", "sequence")):
        assert [line[name] for line in lines(kind)] == [pytest.approx(getattr(each, name)) for each in expected]
        assert [line["predicted"] for line in lines(kind)] == [each.labels for each in expected]


def test_spans_of_json_lines_have_type_bounds_and_probability(done, chunker, tagged):
    tokens = [[row[:2] for row in sentence] for sentence in read_columns(chunker.test.read_text())]
    text = "".join(json.dumps({"tokens": each}) + "\n" for each in [*tokens, []])
    arguments = ("tag", "-m", chunker.model, "-f", "jsonl", "--probabilities", "span")
    *lines, empty = map(json.loads, done(*arguments, input=text).stdout.splitlines())
    for line, each in zip(lines, tagged, strict=True):
        spans = [(span["type"], span["start"], span["end"], span["probability"]) for span in line["spans"]]
        assert spans == [(*span[:3], pytest.approx(span.probability)) for span in each.spans]
    assert empty["spans"] == []


def test_attribute_files_give_label_and_probability(done, sample):
    path, model = sample.path("test", "crfsuite"), sample.models["crfsuite"]
    tagged = loglinear.ChainCRF.load(model).tag(unlabelled(sample, "test", "crfsuite"))
    printed = done("tag", "-m", model, path, "--probabilities", "token").stdout
    assert [[row.split("\t") for row in block.split("\n")] for block in printed.removesuffix("\n\n").split("\n\n")] == [
        [[label, f"{p:.6f}"] for label, p in zip(each.labels, each.probabilities, strict=True)] for each in tagged
    ]
    printed = done("tag", "-m", model, path, "--probabilities", "sequence").stdout
    firsts = [block.split("\n")[0] for block in printed.removesuffix("\n\n").split("\n\n")]
    assert firsts == [f"# {significant(each.probability)}" for each in tagged]


@pytest.mark.parametrize("other", [["--marginals"], ["--n-best", "2"]])
def test_probabilities_of_two_kinds_are_refused(misuse, chunker, other):
    message = misuse("tag", "-m", chunker.model, chunker.test, "--probabilities", "token", *other)
    assert f"leave out {other[0]} or --probabilities" in message


def test_a_sentence_that_may_have_no_labels_has_probability_zero(done, tmp_path):
    forbidden = [("O", "O"), ("B-X", "O"), ("B-X", "B-X")]
    loglinear.ChainCRF(constraints=forbidden).fit([[["a"], ["b"]]], [["O", "B-X"]]).save(tmp_path / "m")
    printed = {
        kind: done(
            "tag", "-m", tmp_path / "m", "-f", "crfsuite", "--probabilities", kind, input="\ta\n\ta\n\ta\n"
        ).stdout
        for kind in ("token", "span", "sequence")
    }
    assert printed == {
        "token": "?\t0.000000\n" * 3 + "\n",
        "span": "?\t0.000000\n" * 3 + "\n",
        "sequence": "# 0\n?\n?\n?\n\n",
    }


def test_two_kinds_of_probabilities_are_refused(misuse, chunker):
    """Law: none of two requests for probabilities is ignored."""
    message = misuse("tag", "-m", chunker.model, chunker.test, "--probabilities", "token", "--probabilities", "span")
    assert message == "--probabilities token and span cannot be combined; leave out one"


@pytest.mark.parametrize("kind", ["token", "span", "sequence"])
def test_probabilities_that_have_no_place_are_refused(done, misuse, sample, chunker, tmp_path, kind):
    (tmp_path / "new.conllu").write_text(CONLLU)
    message = misuse("tag", "-m", chunker.model, tmp_path / "new.conllu", "--probabilities", kind)
    assert "CoNLL-U has no column for probabilities" in message
    done("train", sample.train, "--template", sample.template, "--model-type", "maxent", "-m", tmp_path / "m", "-q",
         "--max-iterations", "2")  # fmt: skip
    message = misuse("tag", "-m", tmp_path / "m", sample.test, "--probabilities", kind)
    assert "is a classifier" in message
    assert "--marginals" in message


def test_spans_need_a_scheme_and_probabilities_a_known_name(misuse, sample):
    message = misuse("tag", "-m", sample.model, sample.test, "--probabilities", "span")
    assert "do not follow a tagging scheme" in message
    assert "--probabilities token" in message
    assert "not one of token" in misuse("tag", "-m", sample.model, sample.test, "--probabilities", "all", usage=True)
