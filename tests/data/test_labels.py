"""Labels that are known in part only: every road into a corpus keeps them, and what cannot use them says so."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import ChainCRF, Corpus, DataError, MaxEnt, TextClassifier, evaluate
from oracles.command_line import run_command

NAMES = ["A", "B-X", "C", "D?", "Ö"]
LABELS = st.one_of(
    st.sampled_from(NAMES), st.none(), st.frozensets(st.sampled_from(NAMES), min_size=2), st.just(frozenset("A"))
)
SENTENCES = st.lists(st.lists(st.tuples(st.sampled_from(["x", "y", "z"]), LABELS), min_size=1), min_size=1)
TEMPLATE = "U%x[0,0]"

X = [["a", "b", "c"], ["a"], ["c", "b"]]
PARTIAL = [["N", None, {"N", "V"}], ["V"], [frozenset("VD"), "N"]]
GOLD = [["N", None, frozenset("NV")], ["V"], [frozenset("DV"), "N"]]
WHOLE = [["N", "V", "N"], ["V"], ["D", "N"]]


def cell(label):
    return "?" if label is None else label if isinstance(label, str) else "|".join(sorted(label, reverse=True))


def conllu(number, word, label):
    return f"{number}\t{word}\t_\t{cell(label)}\t_\t_\t0\troot\t_\t_"


def jsonl(sentence):
    labels = [sorted(label) if isinstance(label, frozenset) else label for _, label in sentence]
    return json.dumps({"tokens": [word for word, _ in sentence], "labels": labels})


# Format -> the text of sentences.
WRITERS = {
    "columns": lambda sentences: "\n".join(
        "".join(f"{word} {cell(label)}\n" for word, label in each) for each in sentences
    ),
    "conllu": lambda sentences: "\n".join(
        "".join(conllu(at, *token) + "\n" for at, token in enumerate(each, 1)) for each in sentences
    ),
    "crfsuite": lambda sentences: "\n".join(
        "".join(f"{cell(label)}\tU{word}\n" for word, label in each) for each in sentences
    ),
    "jsonl": lambda sentences: "".join(jsonl(each) + "\n" for each in sentences),
}


def contents(corpus):
    return corpus.labels, corpus.gold(), corpus.core.names(), [array.tolist() for array in corpus.core.rows()]


@pytest.mark.thread_unsafe
@pytest.mark.parametrize("format", WRITERS)
@settings(max_examples=30, derandomize=True, deadline=None)
@given(sentences=SENTENCES)
def test_files_say_what_python_says(format, sentences, tmp_path_factory):
    path = tmp_path_factory.mktemp("partial") / "data"
    path.write_text(WRITERS[format](sentences), encoding="utf-8")
    X, y = [[word for word, _ in each] for each in sentences], [[label for _, label in each] for each in sentences]
    expected = Corpus.encode(X, y, template=TEMPLATE)
    template = None if format == "crfsuite" else TEMPLATE
    found = Corpus.read(path, format=format, template=template, partial=format != "jsonl")
    assert contents(found) == contents(expected)
    single = {frozenset("A"): "A"}
    assert expected.gold() == [[single.get(label, label) for label in row] for row in y]
    # Labels that stand alone come first, the most frequent first; then others in byte order.
    counts = {name: sum(row.count(name) for row in expected.gold()) for name in NAMES}
    named = {name for row in y for label in row if label for name in ([label] if isinstance(label, str) else label)}
    assert expected.labels == sorted(named, key=lambda name: (-counts[name], name.encode()))


@settings(max_examples=20, derandomize=True, deadline=None)
@given(SENTENCES, st.data())
def test_a_selection_keeps_them(sentences, data):
    X, y = [[[word] for word, _ in each] for each in sentences], [[label for _, label in each] for each in sentences]
    corpus = Corpus.encode(X, y)
    chosen = data.draw(st.lists(st.sampled_from(range(len(y)))))
    assert corpus[chosen].gold() == [corpus.gold()[at] for at in chosen]
    assert corpus[chosen].labels == corpus.labels


@pytest.mark.parametrize("kind", [int, np.int8, lambda value: value > 1, lambda value: np.bool_(value > 1)])
def test_labels_of_all_types_come_back_in_sets(kind):
    values = [[kind(1), None, {kind(1), kind(2)}], [frozenset([kind(2), kind(0)]), kind(2)]]
    for y in (values, [np.array(row, dtype=object) for row in values], (tuple(row) for row in values)):
        corpus = Corpus.encode([[["a"]] * 3, [["b"]] * 2], y)
        assert corpus.gold() == values
        assert {type(label) for label in corpus.labels} == {type(corpus.gold()[0][0])}
        assert {type(each) for each in corpus.gold()[0][2]} == {type(corpus.gold()[0][0])}
        assert type(corpus.gold()[0][0]) in (int, bool)


def test_files_hold_bars_and_question_marks_where_nobody_asks(tmp_path):
    (tmp_path / "data").write_text("a N|V\nb ?\nc |\n", encoding="utf-8")
    assert Corpus.read(tmp_path / "data", template=TEMPLATE).gold() == [["N|V", "?", "|"]]
    (tmp_path / "data.jsonl").write_text('{"tokens": ["a", "b"], "labels": ["N|V", "?"]}', encoding="utf-8")
    assert Corpus.read(tmp_path / "data.jsonl", template=TEMPLATE, partial=True).gold() == [["N|V", "?"]]
    (tmp_path / "data.conllu").write_text("1\ta\ta\tX\tY\tA=1|B=2\t0\troot\t_\t_\n\n", encoding="utf-8")
    assert Corpus.read(tmp_path / "data.conllu", format="conllu:feats", template=TEMPLATE).gold() == [["A=1|B=2"]]


# What is wrong -> labels of X, message.
MISTAKES = {
    "empty set": ([["N", set(), "N"], *WHOLE[1:]], "sentence 0, token 1: empty set of labels; give .* None"),
    "mixed set": ([*WHOLE[:2], [{"N", 1}, "N"]], "sentence 2, token 0, in a set: .* has type .*; use one type"),
    "mixed with others": (
        [*WHOLE[:2], [{1, 2}, "N"]],
        "sentence 2, token 0, in a set: .* type int, but earlier labels",
    ),
    "nested set": ([*WHOLE[:1], [{frozenset("N")}], WHOLE[2]], "sentence 1, token 0, in a set: frozenset.* str, int"),
    "None in a set": ([*WHOLE[:1], [{None, "N"}], WHOLE[2]], "sentence 1, token 0, in a set: None"),
    "list": ([*WHOLE[:1], [["N", "V"]], WHOLE[2]], r"sentence 1: \['N', 'V'\] has type list"),
    "set for a sequence": ([*WHOLE[:1], {"V"}, WHOLE[2]], "labels of sentence 1: expected a sequence"),
    "number for None": ([["N", np.nan, "N"], *WHOLE[1:]], "labels of sentence 0: nan has type float"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_name_sentence_and_token(mistake):
    y, message = MISTAKES[mistake]
    with pytest.raises(DataError, match=message):
        Corpus.encode(X, y, template=TEMPLATE)


@pytest.mark.parametrize("bad", ["B-X|", "|", "|A", "A||C", "A|?"])
@pytest.mark.parametrize("format", ["columns", "conllu", "crfsuite"])
def test_mistakes_in_files_name_file_and_line(format, bad, tmp_path):
    path = tmp_path / "data"
    path.write_text(WRITERS[format]([[("x", "A")], [("y", bad)]]), encoding="utf-8")
    template = None if format == "crfsuite" else TEMPLATE
    message = f"data, line 3: label '{re.escape(bad)}': .*; write A.B for one of several"
    with pytest.raises(DataError, match=message):
        Corpus.read(path, format=format, template=template, partial=True)


def test_a_missing_label_of_conllu_says_how_to_write_an_unknown_one(tmp_path):
    (tmp_path / "data").write_text(conllu(1, "x", "A") + "\n" + conllu(2, "x", "_") + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 2: the label, UPOS.*, --partial takes `_` for an unknown label$"):
        Corpus.read(tmp_path / "data", format="conllu", template=TEMPLATE)
    assert Corpus.read(tmp_path / "data", format="conllu", template=TEMPLATE, partial=True).gold() == [["A", None]]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("[]", "label 1 is an empty list; .* null for any"),
        ('["A", null]', "label 1 is a list with items that are not labels"),
        ("3.5", "label 1 must be a string, a whole number, a list"),
    ],
)
@pytest.mark.parametrize("template", [None, TEMPLATE])
def test_mistakes_in_json_lines_name_file_and_line(label, message, template, tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(f'{{"tokens": [], "labels": []}}\n{{"tokens": ["a", "b"], "labels": ["A", {label}]}}\n')
    with pytest.raises(DataError, match=f"data.jsonl, line 2: {message}"):
        Corpus.read(path, template=template)


def test_what_needs_true_labels_says_so(tmp_path):
    crf = ChainCRF(template=TEMPLATE).fit(X, WHOLE)
    corpus = Corpus.encode(X, PARTIAL, template=TEMPLATE)
    assert corpus.gold() == GOLD
    place = "sentence 0, token 1: the label is partial"
    for call in (lambda: corpus.true_labels(), lambda: crf.log_probability(X, PARTIAL)):
        with pytest.raises(DataError, match=place):
            call()
    # Unknown labels are not scored, as on the command line; sets of labels are refused.
    for call in (lambda: crf.score(X, PARTIAL), lambda: crf.score(corpus, metric="f1")):
        with pytest.raises(
            DataError, match="sentence 0, token 2: the label is partial; evaluation needs single labels"
        ):
            call()
    with pytest.raises(DataError, match="sentence 0, token 1: the label is unknown, which a classifier cannot learn"):
        MaxEnt().fit(corpus)
    # Unknown labels of development data are left out, sets of labels are not.
    with pytest.raises(DataError, match="sentence 0, token 2: the label is partial"):
        ChainCRF(template=TEMPLATE).fit(X, WHOLE, X_dev=X, y_dev=PARTIAL)
    assert crf.log_partition(corpus).tolist() == crf.log_partition(X).tolist()
    assert crf.predict(corpus) == crf.predict(X)
    for gold in (PARTIAL, GOLD):
        with pytest.raises(DataError, match="sentence 1: a label is partial; evaluation needs complete"):
            evaluate(gold, WHOLE)
    with pytest.raises(DataError, match="for partial labels"):
        Corpus.from_matrix(np.eye(2), [2], ["N", None])
    assert corpus[1:2].true_labels() == [["V"]]


def test_classes_of_a_classifier_are_counted_before_it_is_trained(tmp_path):
    names = [f"c{number}" for number in range(4097)]
    message = "4,097 classes, more than 4,096; check that they are not identifiers"
    X = np.arange(4097.0)[:, None]
    for fit in (
        lambda: MaxEnt().fit(X, names),
        lambda: MaxEnt(multi_class="ovr").fit(X, names),
        lambda: MaxEnt().partial_fit(X[:2], names[:2], classes=names),
        lambda: TextClassifier().fit(names, names),
    ):
        with pytest.raises(DataError, match=message):
            fit()
    (tmp_path / "texts.tsv").write_text("".join(f"{name}\ta b\n" for name in names))
    done = run_command(
        "train", tmp_path / "texts.tsv", "--model-type", "maxent", "--format", "text", "-m", tmp_path / "model"
    )
    assert done.returncode == 2
    assert message in done.stderr
