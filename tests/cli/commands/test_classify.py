"""Classifiers on the command line: texts, svmlight files, attribute files, columns."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from loglinear import MaxEnt
from oracles.patience import patience

WORDS = {"sport": "ball goal team match win coach", "food": "soup bread oven salt taste menu"}
COMMON = "the of a today we have seen and now"


def texts(n, seed):
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        label = draw.choice(list(WORDS))
        own, common = WORDS[label].split(), COMMON.split()
        rows.append((label, " ".join(draw.choices(common, k=6) + draw.choices(own + common, k=3))))
    return rows


@pytest.fixture
def data(tmp_path):
    for name, seed in (("train", 1), ("test", 2)):
        rows = texts(120, seed)
        (tmp_path / f"{name}.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    return tmp_path


def train(done, data, *options, file="train.tsv"):
    model = data / "model.loglinear"
    done("train", data / file, "--model-type", "maxent", "-q", "-m", model, *options)
    return model


@pytest.mark.parametrize("tfidf", [False, True])
@pytest.mark.parametrize("ngrams", ["1", "1-2"])
def test_texts_are_classified_as_scikit_learn_does(done, data, tfidf, ngrams):
    model = train(
        done, data, "-f", "text", "--ngrams", ngrams, "--l2", "0.5", "--tolerance", "1e-9", *(["--tfidf"] * tfidf)
    )
    rows, new = texts(120, 1), texts(120, 2)
    kind = TfidfVectorizer if tfidf else CountVectorizer
    weighted = {"sublinear_tf": True} if tfidf else {}
    vectorizer = kind(ngram_range=(1, int(ngrams[-1])), token_pattern=r"\w+", **weighted)
    peer = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000).fit(
        vectorizer.fit_transform([text for _, text in rows]), [label for label, _ in rows]
    )
    right = peer.predict_proba(vectorizer.transform([text for _, text in new]))
    (data / "new.txt").write_text("\n".join(text for _, text in new) + "\n")
    lines = done("tag", "-m", model, data / "new.txt", "--marginals").stdout.splitlines()
    found = [[float(cell.split(":")[1]) for cell in line.split("\t")[1:]] for line in lines]
    np.testing.assert_allclose(found, right, atol=2e-3)
    assert [line.split("\t")[0] for line in lines] == peer.classes_[right.argmax(axis=1)].tolist()
    scores = json.loads(done("evaluate", "-m", model, data / "test.tsv", "--json").stdout)
    expected = np.mean(peer.classes_[right.argmax(axis=1)] == [label for label, _ in new])
    assert scores["accuracy"] == pytest.approx(expected)
    report = json.loads(done("inspect", model, "--json", "--top", "3").stdout)
    assert report["n_samples"] == 120
    assert {each["attribute"] for each in report["top_states"]} <= set(vectorizer.get_feature_names_out())


def test_evaluation_counts_samples_and_shows_labels_and_confusions(done, data):
    model = train(done, data, "-f", "text")
    finished = done("evaluate", "-m", model, data / "test.tsv", "-o", data / "out")
    lines = finished.stdout.splitlines()
    assert lines[0] == "120 texts"
    assert "sentence" not in finished.stdout
    assert {"food", "sport"} <= {line.split(" ")[0] for line in lines}
    scores = json.loads(done("evaluate", "-m", model, data / "test.tsv", "--json").stdout)
    assert scores["n_samples"] == 120
    assert not {"n_sentences", "n_tokens", "sentence_accuracy"} & set(scores)
    rows = [line.split(" ") for line in (data / "out").read_text().splitlines()]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 121)]
    assert scores["accuracy"] == sum(row[1] == row[2] for row in rows) / 120
    assert scores["confusion"] == {
        gold: {
            label: sum(row[1:] == [gold, label] for row in rows)
            for label in ("food", "sport")
            if [gold, label] in [row[1:] for row in rows]
        }
        for gold in ("food", "sport")
    }


def test_classes_that_look_like_tags_are_no_chunks(done, data):
    tags = "".join(f"{'B' if label == 'sport' else 'I'}\t{text}\n" for label, text in texts(120, 1))
    (data / "tags.tsv").write_text(tags)
    model = train(done, data, "-f", "text", file="tags.tsv")
    scores = json.loads(done("evaluate", "-m", model, data / "tags.tsv", "--json").stdout)
    assert (scores["f1"], scores["scheme"]) == (None, None)


def test_texts_come_out_line_by_line(done, run, data):
    model = train(done, data, "-f", "text")
    tagged = done("tag", "-m", model, input="ball goal team\n\nsoup bread\n").stdout
    assert tagged == "sport\n\nfood\n"
    done("tag", "-m", model, data / "test.tsv", "-o", data / "out")
    assert len((data / "out").read_text().splitlines()) == 120
    assert (data / "out").stat().st_mode & 0o777 == (data / "train.tsv").stat().st_mode & 0o777
    failed = run("tag", "-m", model, data / "test.tsv", "-o", data / "no folder" / "out")
    assert failed.returncode == 2
    assert "no folder" in failed.stderr
    packed = data / "train.gz"
    packed.write_bytes(gzip.compress((data / "train.tsv").read_bytes()))
    assert train(done, data, "-f", "text", file="train.gz").exists()


def test_svmlight_files_are_trained_on_and_labelled(done, data):
    vectorizer = CountVectorizer()
    rows = texts(120, 1)
    X = vectorizer.fit_transform([text for _, text in rows])
    lines = []
    for row, (label, _) in zip(X, rows, strict=True):
        pairs = " ".join(f"{j + 1}:{v}" for j, v in sorted(zip(row.indices, row.data, strict=True)))
        lines.append(f"{'+1' if label == 'food' else '-1'} {pairs} # {label}\n")
    (data / "train.svm").write_text("".join(lines))
    model = train(done, data, "-f", "svmlight", file="train.svm")
    peer = MaxEnt().fit(X, [1 if label == "food" else -1 for label, _ in rows])
    assert done("tag", "-m", model, data / "train.svm").stdout.split() == [str(k) for k in peer.predict(X)]
    loaded = MaxEnt.load(model)
    assert loaded.classes_.tolist() == ["-1", "1"]
    assert dict(zip(loaded.attributes_, loaded.coef_[0], strict=True)) == pytest.approx(
        dict(zip(map(str, range(1, X.shape[1] + 1)), peer.coef_[0], strict=True)), abs=1e-9
    )


def test_attribute_files_and_columns_are_classified_token_by_token(done, data):
    rows = [("N", "a", "x"), ("V", "b", "x"), ("N", "c", "y"), ("V", "b", "y")] * 8
    (data / "train.crfsuite").write_text("".join(f"{label}\tw={w}\tp={p}:0.5\n" for label, w, p in rows))
    model = train(done, data, "-f", "crfsuite", "--l1", "0.1", file="train.crfsuite")
    assert done("tag", "-m", model, data / "train.crfsuite").stdout.split() == [label for label, _, _ in rows]
    (data / "train.txt").write_text("".join(f"{w} {p} {label}\n" for label, w, p in rows))
    (data / "template").write_text("U0:%x[0,0]\nU1:%x[0,1]\nB\n")
    model = train(done, data, "--template", data / "template", "--dev", data / "train.txt", file="train.txt")
    scores = json.loads(done("evaluate", "-m", model, data / "train.txt", "--json").stdout)
    assert scores["accuracy"] == 1.0


@pytest.mark.parametrize("of_texts", [True, False])
def test_a_classifier_starts_from_a_model_and_takes_its_template(done, data, of_texts):
    (data / "words.txt").write_text("".join(f"{word} {'AB'[at % 2]}\n" for at, word in enumerate(COMMON.split())))
    (data / "template").write_text("U1:%x[0,0]\n")
    file, options = ("train.tsv", ["--format", "text"]) if of_texts else ("words.txt", [])
    old = train(done, data, *options, *([] if of_texts else ["--template", data / "template"]), file=file)
    old = old.rename(data / "old")
    command = ["train", data / file, "--model-type", "maxent", *options, "-m", data / "new", "--start", old]
    lines = done(*command).stderr.splitlines()
    assert not any("iteration 0" in line and line.endswith("active features 0") for line in lines), lines
    assert any(line.startswith("start: ") and f"features start from {old}" in line for line in lines), lines


def test_the_trace_has_the_accuracy_of_the_development_set(done, data):
    train(done, data, "-f", "text", "--solver", "lbfgs", "--dev", data / "test.tsv", "--trace", data / "trace")
    records = [json.loads(line) for line in (data / "trace").read_text().splitlines()]
    assert records[0]["dev"]["accuracy"] < records[-1 - (len(records) - 1) % 10]["dev"]["accuracy"]


@pytest.mark.parametrize("solver", ["sag", "sgd_l1", "iis", "clustered"])
def test_other_solvers_are_chosen_by_name(done, data, solver):
    model = train(done, data, "-f", "text", "--solver", solver)
    assert json.loads(done("evaluate", "-m", model, data / "test.tsv", "--json").stdout)["accuracy"] > 0.8


def test_one_against_the_rest_has_no_joint_probabilities(done, run, data):
    rows = texts(60, 1) + [("none", "the of a today")] * 9
    (data / "three.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    model = train(done, data, "-f", "text", "--multi-class", "ovr", file="three.tsv")
    assert done("tag", "-m", model, input="we have seen and now ball goal team match\n").stdout == "sport\n"
    for option in (["--marginals"], ["--n-best", "2"]):
        refused = run("tag", "-m", model, *option, input="ball goal\n")
        assert refused.returncode == 2
        assert f"leave out {option[0]}" in refused.stderr


def test_a_text_has_no_several_labellings(done, misuse, data):
    model = train(done, data, "-f", "text")
    assert "leave out --n-best" in misuse("tag", "-m", model, "--n-best", "2", input="ball goal\n")


BAD = {
    "label\ttext\nno tab here\n": ["line 2", "label, a TAB and the text"],
    "a\tx\n\ty z\n": ["line 2", "no label"],
    b"a\tx\nb\t\xff\n": ["line 2", "UTF-8"],
    "": ["no texts", "empty"],
    "\n\n": ["no texts"],
    "a\t. ,\nb\t!\n": ["the texts have no words", "--words characters:1-3"],
    "a\twords here\na\tother words\n": ["the texts have a single label, 'a'", "label first, then a TAB"],
}


@pytest.mark.parametrize("content", BAD)
def test_bad_texts_are_reported_with_file_and_line(run, tmp_path, content):
    (tmp_path / "bad.tsv").write_bytes(content if isinstance(content, bytes) else content.encode())
    options = ["--model-type", "maxent", "-f", "text", "-m", tmp_path / "m"]
    failed = run("train", tmp_path / "bad.tsv", *options)
    assert failed.returncode == 2
    for word in BAD[content]:
        assert word in failed.stderr, failed.stderr
    assert "bad.tsv" in failed.stderr
    assert not (tmp_path / "m").exists()


SVM = {"1 a:1\n": "line 1", "1 1:1\n-1 2:x\n": "line 2", "1 1:1\n2:1 3:1\n": "line 2", "": "empty"}


@pytest.mark.parametrize("content", SVM)
def test_bad_svmlight_files_are_reported_with_file_and_line(run, tmp_path, content):
    (tmp_path / "bad.svm").write_text(content)
    failed = run("train", tmp_path / "bad.svm", "--model-type", "maxent", "-f", "svmlight", "-m", tmp_path / "m")
    assert failed.returncode == 2
    assert "bad.svm" in failed.stderr
    assert SVM[content] in failed.stderr


MISUSE = [
    (["-f", "text"], "--model-type maxent"),
    (["-f", "svmlight"], "--model-type maxent"),
    (["--multi-class", "ovr"], "--model-type maxent"),
    (["--model-type", "maxent", "-f", "svmlight", "--tfidf"], "--format text"),
    (["--model-type", "maxent", "-f", "text", "--preset", "pos"], "--preset"),
    (["--model-type", "maxent", "-f", "text", "--ngrams", "2-1"], "--ngrams 2-1 is"),
    (["--model-type", "maxent", "-f", "text", "--ngrams", "x"], "--ngrams x is"),
    (["--model-type", "maxent", "-f", "text", "--all-states"], "--all-states"),
    (["--model-type", "maxent", "-f", "text", "--order", "2"], "--order"),
    (["--model-type", "maxent", "-f", "text", "--multi-class", "ovo"], "softmax, ovr"),
    (["--model-type", "maxent", "-f", "text", "--l1", "1", "--solver", "lbfgs"], "owlqn"),
    (["--model-type", "svm"], "maxent"),
]


@pytest.mark.parametrize(("options", "remedy"), MISUSE)
def test_misuse_is_refused_with_a_remedy(run, data, options, remedy):
    failed = run("train", data / "train.tsv", "-m", data / "m", *options)
    assert failed.returncode == 2
    assert remedy in failed.stderr


def test_a_model_of_other_data_does_not_take_texts(done, run, data):
    (data / "t.svm").write_text("1 1:1\n2 2:1\n")
    model = train(done, data, "-f", "svmlight", file="t.svm")
    failed = run("tag", "-m", model, "-f", "text", input="ball\n")
    assert failed.returncode == 2
    assert "the model reads svmlight, not text" in failed.stderr


def test_texts_without_their_format_get_the_hint(misuse, tmp_path):
    (tmp_path / "mails.tsv").write_text("spam\tbuy now\nham\tsee you\n")
    message = misuse("train", tmp_path / "mails.tsv", "--model-type", "maxent", "-m", tmp_path / "m")
    assert "add --format text" in message


def test_a_table_gets_the_hint_how_tables_are_trained(misuse, tmp_path):
    (tmp_path / "iris.csv").write_text("length,width,species\n1.5,0.2,a\n2.5,1.2,b\n")
    message = misuse("train", tmp_path / "iris.csv", "--model-type", "maxent", "-m", tmp_path / "m")
    assert "iris.csv looks like a table: in Python, loglinear.MaxEnt reads data frames; here, write" in message
    assert message.endswith("add --format svmlight")


def test_the_extension_tells_svmlight(done, misuse, tmp_path):
    path = tmp_path / "data.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:2 2:1\n-1 2:3\n1 1:1\n-1 2:1\n"))
    done("train", path, "--model-type", "maxent", "--l2", "0.01", "-m", tmp_path / "m", "-q")
    assert done("tag", "-m", tmp_path / "m", path).stdout.split() == ["1", "-1", "1", "-1"]
    assert "add --model-type maxent" in misuse("train", path, "-m", tmp_path / "m")
    assert "svmlight is for classifiers" in misuse("select", path)


def test_texts_without_a_known_word_are_counted(done, data):
    model = train(done, data, "-f", "text")
    said = done("tag", "-m", model, input="ball goal\nxyzzy\n\nquux 1\nsoup\n").stderr
    assert said == (
        "note: <stdin>: 50 % of the texts (2 of 4) have no word that the model knows; they all get the same label\n"
    )
    assert done("tag", "-m", model, input="ball goal\n" * 5).stderr == ""
    assert "have no word" not in done("evaluate", "-m", model, data / "test.tsv").stderr


@pytest.mark.parametrize("command", ["tag", "tag folder", "evaluate", "explain", "report"])
def test_each_command_counts_the_texts_without_a_known_word_from_one_in_a_hundred_on(done, data, command):
    model, command = train(done, data, "-f", "text"), command.split()
    labelled = command[0] in ("evaluate", "report")
    out = ["-o", data / "page"] if command == ["report"] else []
    for n, share in ((99, "1 % of the texts (1 of 100)"), (100, ""), (1, "50 % of the texts (1 of 2)")):
        texts = [*["ball goal"] * n, "xyzzy"]
        path = data / f"new{n}"
        if command[1:]:
            path.mkdir()
            for number, text in enumerate(texts):
                (path / str(number)).write_text(text)
        else:
            path.write_text("".join(("sport\t" if labelled else "") + f"{text}\n" for text in texts))
        said = done(command[0], model, path, *out).stderr
        note = f"note: {path}: {share} have no word that the model knows; they all get the same label\n"
        assert note in said if share else "have no word" not in said


@pytest.mark.parametrize("command", ["tag", "explain", "rank"])
def test_each_command_for_texts_without_labels_tells_labels_and_tokens_from_texts(done, data, command):
    model = train(done, data, "-f", "text")
    for text, says in {
        "sport\tball\nfood\tsoup\n": "every line begins with a label",
        "sport\tball\nsoup\nfood\tsalt\n": "2 of 3 lines begin with a label",
        "sport\tball\nsoup\n": None,
        "ball goal\n" * 9 + "\nsoup\n": "the lines look like tokens",
        "ball goal\n" * 8 + "\nsoup\n": None,
        "ball goal\n" * 9 + "\nsoup the of a today\n": None,
        "ball goal\n" * 9 + "\nsoup the of a\n": "the lines look like tokens",
    }.items():
        (data / "new").write_text(text)
        said = done(command, model, data / "new").stderr
        assert ("warning: " in said) == (says is not None), (text, said)
        assert says is None or f"warning: {data / 'new'}: {says}" in said


def test_texts_are_labelled_alike_in_any_number_of_parts(done, data, monkeypatch):
    model = train(done, data, "-f", "text")
    arguments = ("-m", model, data / "test.tsv")
    expected = [done(command, *arguments).stdout for command in ("tag", "evaluate", "explain")]
    monkeypatch.setattr("loglinear.cli.kinds.texts.TOGETHER", 7)
    assert [done(command, *arguments).stdout for command in ("tag", "evaluate", "explain")] == expected


def test_a_labelled_file_is_told_from_texts(done, data):
    model = train(done, data, "-f", "text")
    said = done("tag", "-m", model, data / "test.tsv").stderr
    assert said.startswith(f"warning: {data / 'test.tsv'}: every line begins with a label")
    assert done("tag", "-m", model, input="sport\tball\nball of food\n").stderr == ""


@pytest.mark.parametrize("order", [1, -1])
def test_labelled_texts_are_told_from_columns(done, misuse, data, order):
    path, tokens = data / "texts.tsv", data / "tokens.txt"
    path.write_text("".join("\t".join(row[::order]) + "\n" for row in texts(2000, 5)))
    tokens.write_text("New York City\tL\nis\tO\n\nthe Isle of Man\tL\nis\tO\n")
    expected = (
        f"{path}: every line is a text with a label, not a token; for a classifier of texts, train with --model-type "
        "maxent --format text"
    )
    assert misuse("train", path, "--preset", "ner", "-m", data / "m", "-q") == expected
    done("train", tokens, "--preset", "ner", "-m", data / "m", "-q")
    done("tag", data / "m", tokens)
    tokens.write_text("New York City\tL\nis\tO\nbig\tO\nin\tO\nthe Isle of Man\tL\n")
    done("train", tokens, "--preset", "ner", "-m", data / "m", "-q")
    tokens.write_text("Paris\tL\nis\tO\n\nParis\tL\nis\tO\n")
    done("train", tokens, "--preset", "ner", "-m", data / "blanks", "-q", "--separator", "blank")
    assert misuse("tag", data / "blanks", path) == expected


def test_a_file_of_tokens_is_told_from_texts(done, data):
    model = train(done, data, "-f", "text")
    tokens, queries = data / "tokens.txt", data / "queries.txt"
    tokens.write_text("The DT O\ndog NN O\nbarks VB O\n. . O\n\n" * 3)
    queries.write_text("ball goal\nsoup\n" * 10 + "\n\n")
    for command in ("tag", "explain"):
        assert "the lines look like tokens" in done(command, model, tokens).stderr
        assert "tokens" not in done(command, model, queries).stderr


def test_labels_unknown_to_a_model_of_texts_are_named(done, data):
    model = train(done, data, "-f", "text")
    said = done("evaluate", "-m", model, "-", input="sport\tball goal\nnews\tsoup\n").stderr
    message = "50 % of the texts have labels that the model does not know and count as errors: news"
    assert said == f"warning: <stdin>: {message}\n"


def test_a_model_of_texts_that_knows_no_label_of_a_file_is_an_error(done, misuse, data):
    model = train(done, data, "-f", "text")
    assert "the model knows none of the labels ball goal, soup; its labels are food, sport" in (
        misuse("evaluate", "-m", model, "-", input="ball goal\tsport\nsoup\tfood\n")
    )


def test_the_choice_of_words_is_kept_and_shown(done, data):
    (data / "hindi.tsv").write_text("खेल\tक्रिकेट का खेल\nराज\tचुनाव की खबर\n" * 3)
    model = train(done, data, "-f", "text", file="hindi.tsv")
    features = json.loads(done("inspect", model, "--json", "--top", "99").stdout)["top_states"]
    assert {"क्रिकेट", "का", "खेल", "चुनाव", "की", "खबर"} <= {each["attribute"] for each in features}
    model = train(done, data, "-f", "text", "--words", "characters:2-3", file="hindi.tsv")
    assert json.loads(done("inspect", model, "--json").stdout)["text"]["words"] == "characters:2-3"
    assert "sequences of 2 to 3 characters, counted" in done("inspect", model).stdout
    assert done("tag", "-m", model, input="क्रिकेटर\n").stdout == "खेल\n"


def test_texts_are_labelled_without_numpy(done, data):
    model = train(done, data, "-f", "text", "--tfidf")
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'scipy', 'sklearn', 'rich'])); "
        "from loglinear.cli.main import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "tag", "-m", model, "--marginals"]
    ended = subprocess.run(command, input=b"ball goal\n", capture_output=True, timeout=patience(20), check=True)
    assert ended.stdout.startswith(b"sport\tfood:")


def test_scripts_without_blanks_are_told(done, data):
    (data / "zh.tsv").write_text("好\t我喜欢苹果\n坏\t我不喜欢苹果\n" * 3)
    arguments = ("train", data / "zh.tsv", "--model-type", "maxent", "-f", "text", "-m", data / "m")
    said = done(*arguments).stderr
    assert "100 % of the texts are in a script without blanks between words" in said
    assert "--words characters:N-M" in said
    assert done("tag", "-m", data / "m", input="不喜\n").stdout == "坏\n"
    assert "--words blanks" not in said
    assert "without blanks" not in done(*arguments, "--words", "characters:1-2").stderr
    (data / "cut.tsv").write_text("好\t我 喜欢 这 部 电影\n坏\t我 不 喜欢 苹果\n" * 3)
    said = done("train", data / "cut.tsv", *arguments[2:]).stderr
    assert ", but have blanks between words: add --words blanks, or each pair of characters is a word\n" in said
    assert "without blanks" not in done("train", data / "cut.tsv", *arguments[2:], "--words", "blanks").stderr
    (data / "phrases.tsv").write_text("好\t我喜欢这部电影 真的喜欢这部电影\n坏\t我不喜欢苹果 不喜欢\n" * 3)
    assert "--words blanks" not in done("train", data / "phrases.tsv", *arguments[2:]).stderr
    assert "without blanks" not in done("train", data / "train.tsv", *arguments[2:]).stderr


def test_a_large_model_says_what_makes_it_small(done, data, monkeypatch):
    monkeypatch.setattr("loglinear.cli.commands.train.LARGE", 1000)
    arguments = ("train", data / "train.tsv", "--model-type", "maxent", "-m", data / "m", "-f", "text")
    said = done(*arguments, "--ngrams", "1-2").stderr
    remedy = "train with --tfidf --l1 0.05 --l2 0.1 or --min-count 2 or without --ngrams"
    assert f"MB; for a smaller one {remedy}" in said
    assert (
        "MB; for a smaller one train with --l1 0.05 --l2 0.1 or --min-count 2\n" in done(*arguments, "--tfidf").stderr
    )
    assert "MB; for a smaller one train with a larger --l1 than 0.1" in (
        done(*arguments, "--l1", "0.1", "--min-count", "2").stderr
    )
    monkeypatch.setattr("loglinear.cli.commands.train.LARGE", 10**9)
    assert "smaller" not in done(*arguments).stderr


def test_folders_and_several_files_of_texts_train_the_same_model(done, misuse, data):
    rows = texts(120, 1)
    for number, (label, text) in enumerate(rows):
        (data / "folder" / label).mkdir(parents=True, exist_ok=True)
        (data / "folder" / label / f"{number:03}").write_text(f"{text}\n")
    ordered = sorted(rows, key=lambda row: row[0])
    for name, part in (("one", ordered[:50]), ("two", ordered[50:])):
        (data / f"{name}.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in part))
    arguments = ("--model-type", "maxent", "-f", "text", "-m", data / "m")
    contents = []
    for files in ([data / "folder"], [data / "one.tsv", data / "two.tsv"]):
        said = done("train", *files, *arguments).stderr
        assert said.startswith(f"{' '.join(map(str, files))}: 120 texts\n  21 words\n  2 labels: ")
        features = json.loads(done("inspect", data / "m", "--json", "--top", "999").stdout)["top_states"]
        contents.append(features)
    assert contents[0] == contents[1]
    assert json.loads(done("evaluate", "-m", data / "m", data / "folder", "--json").stdout)["n_samples"] == 120
    (data / "two.tsv").write_text("no label\n")
    message = misuse("train", data / "one.tsv", data / "two.tsv", *arguments)
    assert f"{data / 'two.tsv'}, line 1: no label" in message


def test_a_folder_of_texts_is_labelled_as_a_file_of_them_with_the_name_of_each_file(done, misuse, data):
    model, rows = train(done, data, "-f", "text"), texts(5, 3)
    (data / "folder" / "deeper").mkdir(parents=True)
    names = ["1.txt", "2.txt", "deeper/1.txt", "deeper/2.txt", "deeper/3.txt"]
    for name, (_, text) in zip(names, rows, strict=True):
        (data / "folder" / name).write_text(text)
    (data / "lines.txt").write_text("".join(f"{text}\n" for _, text in rows))
    for options in ([], ["--marginals"]):
        lines = done("tag", model, data / "lines.txt", *options).stdout.splitlines()
        expected = [f"{data / 'folder' / name}\t{line}" for name, line in zip(names, lines, strict=True)]
        assert done("tag", model, data / "folder", *options).stdout.splitlines() == expected
    assert "no texts found; give a folder of texts with a folder for each label" in misuse(
        "evaluate", model, data / "folder" / "deeper"
    )
    (data / "labelled" / "unheard").mkdir(parents=True)
    (data / "labelled" / "unheard" / "1.txt").write_text("the law")
    for command in (["evaluate", model], ["train", "--model-type", "maxent", "-f", "text", "-m", data / "m"]):
        message = misuse(*command, data / "labelled")
        assert message.endswith("put the files with the texts of each label into a folder named after it")


def test_a_classifier_can_be_trained_without_an_intercept(done, misuse, tmp_path):
    """Law: dual_cd, which needs a classifier without intercept, trains with --no-intercept, and only with it."""
    (tmp_path / "train.tsv").write_text("a\tball goal\nb\tvote law\na\tgoal\nb\tlaw\n")
    options = ["train", tmp_path / "train.tsv", "-f", "text", "-q", "-m", tmp_path / "model"]
    dual = [*options, "--model-type", "maxent", "--solver", "dual_cd"]
    assert "give --no-intercept" in misuse(*dual)
    done(*dual, "--no-intercept")
    assert done("tag", "-m", tmp_path / "model", input="law goal law\ngoal\n").stdout == "b\na\n"
    assert "add --model-type maxent" in misuse("train", tmp_path / "train.tsv", "--no-intercept", "-m", tmp_path / "n")
