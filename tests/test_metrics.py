import json
import warnings
from functools import partial

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from seqeval import scheme as SCHEMES
from seqeval.metrics import sequence_labeling as seqeval
from seqeval.metrics import v1 as strict_seqeval

from loglinear.display_width import display_width
from loglinear.errors import DataError, DataWarning, OptionError
from loglinear.metrics import chunk_f1, chunk_f1_scorer, chunk_scores, chunks, detect_scheme, evaluate

TYPES = ("LOC", "some-type", "X")


def labels_of(tags):
    return st.sampled_from(["O", *(f"{tag}-{type_}" for tag in tags for type_ in TYPES), *tags])


def sequences_of(tags):
    return st.lists(labels_of(tags), max_size=12)


def pairs_of(tags):
    pair = st.lists(st.tuples(labels_of(tags), labels_of(tags)), max_size=12)
    return (
        st.lists(pair, max_size=6)
        .filter(any)
        .map(lambda sentences: ([[g for g, _ in s] for s in sentences], [[p for _, p in s] for s in sentences]))
    )


def conlleval_chunks(labels):
    """The documented rules of conlleval: startOfChunk and endOfChunk over (previous, current) tag and type."""

    def split(label):
        tag, dash, type_ = label.partition("-")
        return (tag, type_) if dash else (label, "")

    def ends(tag, type_, next_tag, next_type):
        pairs = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
        return tag + next_tag in pairs or (tag not in ("O", ".") and type_ != next_type)

    def starts(tag, type_, next_tag, next_type):
        pairs = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}
        return tag + next_tag in pairs or (next_tag not in ("O", ".") and type_ != next_type)

    found, start, previous = [], None, ("O", "")
    for i, current in enumerate([*map(split, labels), ("O", "")]):
        if ends(*previous, *current) and start is not None:
            found.append((previous[1], start, i))
            start = None
        if starts(*previous, *current):
            start = i
        previous = current
    return found


def assert_equals_seqeval(gold, predicted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        micro = seqeval.precision_recall_fscore_support(gold, predicted, average="micro", zero_division=0)
        by_type = seqeval.precision_recall_fscore_support(gold, predicted, zero_division=0)
        entities = [seqeval.get_entities(s) for s in gold]
        names = sorted({t for s in gold + predicted for t, _, _ in seqeval.get_entities(s)})
    ours = evaluate(gold, predicted)
    assert (ours.precision, ours.recall, ours.f1) == pytest.approx(micro[:3])
    assert [[(t or "_", a, b - 1) for t, a, b in chunks(s)] for s in gold] == entities
    assert list(ours.per_type) == sorted("" if name == "_" else name for name in names)
    for name, *expected in zip(names, *by_type, strict=True):
        score = ours.per_type["" if name == "_" else name]
        assert [score["precision"], score["recall"], score["f1"], score["support"]] == pytest.approx(expected)


def assert_equals_strict_seqeval(gold, predicted, name, scheme=None):
    kind = getattr(SCHEMES, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        micro = strict_seqeval.precision_recall_fscore_support(
            gold, predicted, average="micro", zero_division=0, scheme=kind
        )
        *scores, support = strict_seqeval.precision_recall_fscore_support(gold, predicted, zero_division=0, scheme=kind)
        tokens = [SCHEMES.Tokens(sentence, kind).entities for sentence in gold]
    ours = evaluate(gold, predicted, scheme=scheme, mode="strict")
    assert (ours.precision, ours.recall, ours.f1) == pytest.approx(micro[:3])
    for sentence, entities in zip(gold, tokens, strict=True):
        assert chunks(sentence, name, mode="strict") == [
            ("" if each.tag == "_" else each.tag, each.start, each.end) for each in entities
        ]
    by_type = [score for _, score in sorted(ours.per_type.items(), key=lambda each: each[0] or "_")]
    for score, *expected in zip(by_type, *scores, support, strict=True):
        assert [score["precision"], score["recall"], score["f1"], score["support"]] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "tags"), [("IOB1", "BI"), ("IOB2", "BI"), ("IOE2", "IE"), ("IOBES", "BIES"), ("BILOU", "BILU")]
)
@given(st.data())
def test_strict_scores_equal_seqevals_on_any_sequences(name, tags, data):
    assert_equals_strict_seqeval(*data.draw(pairs_of(tags)), name, name)


@given(st.sampled_from(["B", "BI", "IE", "BIE", "BIES", "BES", "BILU"]).flatmap(pairs_of))
def test_the_scheme_of_strict_mode_is_the_one_that_seqeval_finds(pair):
    try:
        found = SCHEMES.auto_detect([*pair[0], *pair[1]]).__name__
    except ValueError:
        return  # seqeval finds none
    assert evaluate(*pair, mode="strict").scheme == found
    assert_equals_strict_seqeval(*pair, found)


def test_strict_mode_counts_well_formed_chunks_alone():
    gold, predicted = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "I-LOC"]]
    assert evaluate(gold, predicted).f1 == 1.0
    strict = evaluate(gold, predicted, mode="strict")
    assert (strict.precision, strict.recall, strict.mode, strict.scheme) == (1.0, 0.5, "strict", "IOB2")
    assert evaluate([["I-PER"]], [["I-PER"]], mode="strict")[2:5] == (1.0, 1.0, 1.0)  # IOB1
    both = evaluate([["I-PER"]], [["B-PER"]], mode="strict")
    assert (both.scheme, both.per_type["PER"]["support"], both.per_type["PER"]["predicted"]) == ("IOB2", 0, 1)
    assert evaluate([["O"]], [["O"]], mode="strict").scheme == "IOB2"
    assert chunks(["B", "M", "E", "B"], mode="strict") == [("", 0, 3)]
    assert evaluate([["NN"]], [["NN"]], mode="strict").f1 is None
    with pytest.raises(OptionError, match="mode='lenient' is not one of conlleval, strict"):
        evaluate(gold, predicted, mode="lenient")


@given(pairs_of("BI"))
def test_iob_scores_equal_seqeval_on_any_sequences(pair):
    assert_equals_seqeval(*pair)


@given(pairs_of("BIES"))
def test_iobes_scores_equal_seqeval_on_any_sequences(pair):
    assert_equals_seqeval(*pair)


@given(sequences_of("BI"))
def test_iob_chunks_equal_conlleval_on_any_sequence(labels):
    assert chunks(labels, "IOB1") == chunks(labels, "IOB2") == chunks(labels) == conlleval_chunks(labels)


@given(sequences_of("IE"))
def test_ioe_chunks_equal_conlleval_on_any_sequence(labels):
    assert chunks(labels) == conlleval_chunks(labels)


def test_iob1_begins_a_chunk_only_after_one_of_its_type():
    assert chunks(["I-NP", "I-NP", "B-NP", "I-VP", "O", "I-NP"], "IOB1") == [
        ("NP", 0, 2),
        ("NP", 2, 3),
        ("VP", 3, 4),
        ("NP", 5, 6),
    ]


def test_types_split_at_the_first_dash():
    assert chunks(["B-some-type", "I-some-type", "I-some-other"]) == [("some-type", 0, 2), ("some-other", 2, 3)]


@given(sequences_of("BIES"), st.sampled_from([("BILOU", "BILU"), ("BMES", "BMES")]))
def test_renaming_the_tags_of_iobes_moves_no_chunk(labels, renaming):
    scheme, tags = renaming
    renamed = [label if label == "O" else tags["BIES".index(label[0])] + label[1:] for label in labels]
    assert chunks(renamed, scheme) == chunks(labels, "IOBES")


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ("B E S B M E", [(0, 2), (2, 3), (3, 6)]),
        ("S S", [(0, 1), (1, 2)]),
        ("B B2 B3 M M E S B E B B2 E B B2 B3 E", [(0, 6), (6, 7), (7, 9), (9, 12), (12, 16)]),
        ("M M E B B S M", [(0, 3), (3, 4), (4, 5), (5, 6), (6, 7)]),  # malformed
        ("E B2 B3", [(0, 1), (1, 3)]),  # malformed
        ("B M", [(0, 2)]),  # cut off
    ],
)
def test_segmentation_tags_give_words(tags, words):
    assert chunks(tags.split(), "BMES") == [("", start, end) for start, end in words]


@given(st.lists(st.sampled_from(["B", "B2", "B3", "M", "E", "S"])))
def test_words_tile_the_sequence(tags):
    ends = [0, *(end for _, _, end in chunks(tags, "BMES"))]
    assert [start for _, start, _ in chunks(tags, "BMES")] == ends[:-1]
    assert ends[-1] == len(tags)


@given(st.lists(st.integers(1, 9)))
def test_six_tag_words_come_back(lengths):
    def tags(n):
        return ["S"] if n == 1 else [*["B", "B2", "B3", *"M" * n][: n - 1], "E"]

    found = chunks([tag for n in lengths for tag in tags(n)])
    assert [end - start for _, start, end in found] == lengths


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        ("B-NP I-NP O", "IOB"),
        ("I-NP O", "IOB"),
        ("B I O", "IOB"),
        ("O", "IOB"),
        ("B-X E-X S-X O", "IOBES"),
        ("B-X I-X E-X S-X", "IOBES"),
        ("I-X E-X O", "IOBES"),
        ("B-X I-X L-X U-X O", "BILOU"),
        ("U-X O", "BILOU"),
        ("B M E S", "BMES"),
        ("B E S", "BMES"),
        ("B B2 B3 M E S", "BMES"),
        ("B-PER M-PER E-PER S-PER O", "BMES"),
        ("NOUN VERB ADJ", None),
        ("B-NP NN", None),
        ("O-X", None),
        ("B-X L-X E-X", None),
        ("-LRB- .", None),
        ("", None),
    ],
)
def test_scheme_follows_from_the_label_set(labels, scheme):
    assert detect_scheme(labels.split()) == scheme


def test_labels_without_scheme_have_no_chunk_scores():
    result = evaluate([["NOUN", "VERB"], ["ADJ"]], [["NOUN", "NOUN"], ["ADJ"]])
    assert (result.precision, result.recall, result.f1, result.per_type, result.scheme) == (None, None, None, {}, None)
    assert (result.accuracy, result.sentence_accuracy) == (2 / 3, 1 / 2)
    assert result.per_label["NOUN"] == pytest.approx(
        {"precision": 0.5, "recall": 1, "f1": 2 / 3, "support": 1, "predicted": 2, "correct": 1}
    )
    with pytest.raises(DataError, match="the labels 'NOUN', 'VERB' do not follow a tagging scheme"):
        chunks(["VERB", "NOUN"])


def test_a_late_label_without_scheme_withdraws_the_chunk_scores():
    assert evaluate([["B-X"], ["NN"]], [["B-X"], ["B-X"]]).f1 is None


def test_sentence_accuracy_of_sequences_of_equal_length_is_a_fraction():
    assert evaluate([["a", "b"], ["a", "b"]], [["a", "b"], ["a", "b"]]).sentence_accuracy == 1.0
    assert evaluate([["a", "b"], ["a", "b"]], [["a", "b"], ["b", "b"]]).sentence_accuracy == 0.5
    assert evaluate([[], ["a"]], [[], ["b"]]).sentence_accuracy == 0.5


def test_nothing_to_count_gives_zero():
    assert evaluate([], []).to_dict() == {
        "accuracy": 0.0,
        "sentence_accuracy": 0.0,
        "precision": None,
        "recall": None,
        "f1": None,
        "per_type": {},
        "per_label": {},
        "averages": {name: {"precision": 0.0, "recall": 0.0, "f1": 0.0} for name in ("macro", "weighted")},
        "type_averages": {},
        "confusion": {},
        "n_tokens": 0,
        "n_sentences": 0,
        "scheme": None,
        "mode": None,
    }
    nothing = ["0 sentences, 0 tokens", "accuracy             0.00", "sentence accuracy    0.00"]
    assert evaluate([], []).report().splitlines() == nothing
    without_chunks = evaluate([["O"]], [["O"]])
    assert (without_chunks.accuracy, without_chunks.f1) == (1.0, 0.0)
    assert "overall" in without_chunks.report()
    assert chunk_f1([], []) == chunk_f1([["O"]], [["O"]]) == 0.0
    never_predicted = evaluate([["B-X"]], [["O"]]).per_type["X"]
    assert never_predicted == {"precision": 0, "recall": 0, "f1": 0, "support": 1, "predicted": 0, "correct": 0}


def test_generators_and_json_are_welcome():
    result = evaluate((s for s in [["B-X", "O"]]), (tuple(s) for s in [["B-X", "O"]]))
    assert json.loads(json.dumps(result.to_dict()))["f1"] == 1.0


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["O"], ["O"]], [["O"], ["O", "O"]], "sentence 2: 1 gold labels, but 2 predicted"),
        ([["O"], ["O"]], [["O"]], "sentence 2: gold labels without predicted"),
        ([["O"]], [["O"], ["O"], ["O"]], "sentence 2: predicted labels without gold"),
        (["O"], ["O"], "sentence 1 is a string"),
        ([{"O"}], [["O"]], "sentence 1 is {'O'}; evaluate takes sequences"),
        ([["O"]], [{"O": 1}], "sentence 1 is {'O': 1}; evaluate takes sequences"),
        ([["O"], 3], [["O"], 3], "sentence 2 is 3; evaluate takes sequences"),
        ([[0, 1]], [["0", "1"]], "several types: 0 .int., '0' .str."),
    ],
)
def test_sequences_that_do_not_match_are_named(gold, predicted, message):
    with pytest.raises(DataError, match=message) as caught:
        evaluate(gold, predicted)
    assert isinstance(caught.value, ValueError)


def test_a_given_scheme_is_binding():
    with pytest.raises(DataError, match="'E-X' does not belong to the scheme IOB"):
        evaluate([["B-X", "E-X"]], [["B-X", "E-X"]], scheme="IOB2")
    with pytest.raises(OptionError, match="unknown tagging scheme 'BIOX'"):
        chunks(["O"], "BIOX")
    assert evaluate([["B-X"]], [["B-X"]], scheme="bilou").scheme == "BILOU"


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("conlleval", {"bio": "IOB", "IOB1": "IOB", "IOE2": "IOBES", "bioes": "IOBES", "BMES6": "BMES"}),
        ("strict", {"bio": "IOB2", "IOB": "IOB2", "IOB1": "IOB1", "IOE2": "IOE2", "bioes": "IOBES", "BMES6": "BMES"}),
    ],
)
def test_a_scheme_has_other_names(mode, names):
    assert {name: evaluate([["O"]], [["O"]], scheme=name, mode=mode).scheme for name in names} == names


def flat(sentences):
    return [label for sentence in sentences for label in sentence]


@given(st.lists(st.lists(st.tuples(*[st.sampled_from(["NOUN", "VERB", "ADJ", "X"])] * 2), max_size=8), min_size=1))
def test_scores_of_labels_and_confusions_are_scikit_learns(sentences):
    gold, predicted = ([[pair[side] for pair in sentence] for sentence in sentences] for side in (0, 1))
    assume(len({*flat(gold), *flat(predicted)}) > 1)
    ours = evaluate(gold, predicted)
    report = sklearn.metrics.classification_report(flat(gold), flat(predicted), output_dict=True, zero_division=0)
    names = {"precision": "precision", "recall": "recall", "f1": "f1-score", "support": "support"}
    for label, score in ours.per_label.items():
        assert {name: score[name] for name in names} == pytest.approx({n: report[label][m] for n, m in names.items()})
    for average in ("macro", "weighted"):
        expected = {name: report[f"{average} avg"][names[name]] for name in ("precision", "recall", "f1")}
        assert ours.averages[average] == pytest.approx(expected)
    labels = list(ours.per_label)
    assert [*ours.confusion] == sorted(ours.confusion)
    assert all([*row] == sorted(row) for row in ours.confusion.values())
    matrix = [[ours.confusion.get(g, {}).get(p, 0) for p in labels] for g in labels]
    assert matrix == sklearn.metrics.confusion_matrix(flat(gold), flat(predicted), labels=labels).tolist()


@pytest.mark.parametrize("kind", [list, np.array, lambda row: [np.int64(each) for each in row]])
def test_integers_are_labels_and_come_back_as_integers(kind):
    result = evaluate([kind([0, 1, 2]), kind([1])], [kind([0, 2, 2]), kind([1])])
    assert (result.accuracy, result.scheme, result.f1) == (0.75, None, None)
    assert result.confusion == {0: {0: 1}, 1: {1: 1, 2: 1}, 2: {2: 1}}
    assert {type(label) for label in [*result.per_label, *result.confusion, *result.confusion[1]]} == {int}
    assert json.loads(json.dumps(result.to_dict()))["confusion"]["1"] == {"1": 1, "2": 1}
    assert evaluate([np.array(["B-X", "O"])], [["B-X", "O"]]).f1 == 1.0


def test_tags_can_be_declared_to_be_no_chunks():
    result = evaluate([["B", "I"]], [["B", "B"]], scheme="none")
    assert result == evaluate([["B", "I"]], [["B", "B"]], scheme="None")
    assert (result.f1, result.scheme, result.mode, result.per_type) == (None, None, None, {})


def test_report_has_a_matrix_where_it_fits_and_else_the_most_frequent_confusions():
    gold, predicted = [["NOUN"] * 5 + ["VERB"] * 3], [["NOUN"] * 4 + ["VERB"] + ["NOUN"] * 3]
    lines = evaluate(gold, predicted).report().splitlines()
    assert lines[:3] == ["1 sentence, 8 tokens", "accuracy            50.00", "sentence accuracy    0.00"]
    rows = [line.split() for line in lines]
    assert ["NOUN", "57.14", "80.00", "66.67", "5"] in rows
    assert ["macro", "average", "28.57", "40.00", "33.33", "8"] in rows
    assert ["weighted", "average", "35.71", "50.00", "41.67", "8"] in rows
    assert rows[-3:] == [["NOUN", "VERB"], ["NOUN", "4", "1"], ["VERB", "3", "."]]
    widest = max(map(len, lines[-2:]))
    assert evaluate(gold, predicted).report(width=widest).splitlines() == lines
    samples = evaluate(gold, predicted).report(samples=True, width=widest - 1).splitlines()
    assert samples[0] == "8 samples"
    assert not any("sentence" in line for line in samples)
    assert [line.split() for line in samples[-4:]] == [
        ["confusions:", "4", "of", "4", "errors"],
        ["gold", "predicted", "number"],
        ["VERB", "NOUN", "3"],
        ["NOUN", "VERB", "1"],
    ]
    assert evaluate(gold, predicted).to_dict(samples=True).keys() >= {"n_samples", "accuracy", "confusion"}
    assert not evaluate(gold, predicted).to_dict(samples=True).keys() & {"n_sentences", "n_tokens", "sentence_accuracy"}


def test_report_is_aligned_and_has_no_confusions_without_errors():
    labels = [["a name of more than eighteen letters", "a\tb\nc"]]
    accuracies, table, matrix = evaluate(labels, labels).report(width=120).split("\n\n")
    assert len({len(line) for line in table.splitlines()}) == 1
    assert table.splitlines()[1].startswith(r"a\tb\nc  ")
    assert len({len(line) for line in matrix.splitlines()[1:]}) == 1
    assert evaluate(labels, labels).report(width=60).split("\n\n")[0] == accuracies
    assert table.splitlines()[2].startswith("a name of more than eighteen letters  ")


@pytest.mark.parametrize("name", ["a" * 70, "北京" * 20, "e\u0301" * 90, "組織名-ORGANISATION-" * 4])
def test_a_report_is_as_wide_as_the_terminal_whatever_the_names(name):
    names = [f"{name}{number:02d}" for number in range(30)]
    gold, predicted = [[*names, *names]], [[*names, *names[::-1]]]
    for labels in (gold, [[f"B-{label}" for label in gold[0]]]):
        guessed = predicted if labels is gold else [[f"B-{label}" for label in predicted[0]]]
        scores = evaluate(labels, guessed)
        assert str(scores) == scores.report() == scores.report(width=60)
        for width in (53, 60, 100):
            lines = scores.report(width=width).splitlines()
            assert max(map(display_width, lines)) <= width
            cells = [line.split() for line in lines if line.endswith(("100.00        2", "50.00        2"))]
            assert len({row[0] for row in cells}) == 30
            assert all("…" in row[0] and row[0].endswith(f"{at:02d}") for at, row in enumerate(cells))
            assert len({display_width(line) for line in lines[4:35]}) == 1


def test_labels_with_tabs_and_line_ends_do_not_break_a_report():
    text = evaluate([["a\tb", "c\rd"]], [["c\rd", "e\nf"]]).report()
    assert all(name in text for name in (r"a\tb", r"c\rd", r"e\nf"))
    assert not set("\t\r") & set(text)


@pytest.mark.filterwarnings("ignore:gold and predicted data have no label in common")
def test_report_of_many_labels_shows_the_most_frequent_confusions_first():
    gold = [[f"label{n}" for n in range(60) for _ in range(n)]]
    predicted = [["label0"] * len(gold[0])]
    lines = evaluate(gold, predicted).report(width=80).splitlines()
    at = next(number for number, line in enumerate(lines) if "confusions" in line)
    assert lines[at].startswith("the 20 most frequent confusions of 59: 990 of 1,770 errors")
    assert [line.split() for line in lines[at + 2 :]] == [[f"label{n}", "label0", f"{n}"] for n in range(59, 39, -1)]


def test_report_of_chunks_is_conllevals_table_and_names_the_strict_mode():
    lines = evaluate([["B-X", "O"]], [["B-X", "B-X"]]).report().splitlines()
    assert ["overall", "50.00", "100.00", "66.67", "1"] in [line.split() for line in lines]
    assert "chunks (strict IOB2)" in evaluate([["B-X", "O"]], [["B-X", "B-X"]], mode="strict").report()


def test_chunk_f1_scorer_is_the_f1_of_an_estimators_predictions():
    class Constant:
        def predict(self, X):
            return [["B-X", *["O"] * (len(sentence) - 1)] for sentence in X]

    X, y = [["a", "b"], ["c"]], [["B-X", "O"], ["O"]]
    assert chunk_f1_scorer(Constant(), X, y) == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="needs tags such as B-PER, I-PER and O; the labels are 'B-X', 'NN', 'O'"):
        chunk_f1_scorer(Constant(), X, [["NN", "O"], ["NN"]])
    parts = [["A", "B", "C", "D", "E", "F", "G", "H", "I"]]
    with pytest.raises(DataError, match=r"'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', \.\.\.$"):
        chunk_f1(parts, parts)


@pytest.mark.parametrize("mode", ["conlleval", "strict"])
def test_a_sentence_without_predicted_labels_is_wrong(mode):
    gold = [["B-X", "O"], ["B-X", "I-X", "O"]]
    found = evaluate(gold, [[None, None], gold[1]], mode=mode)
    assert (found.accuracy, found.sentence_accuracy, found.n_tokens) == (0.6, 0.5, 5)
    assert (found.precision, found.recall) == (1.0, 0.5)
    assert found.per_label["B-X"]["recall"] == 0.5
    assert sum(sum(row.values()) for row in found.confusion.values()) == 3
    assert evaluate([[1, 2]], [[None, None]]).accuracy == 0.0


def test_data_without_a_label_in_common_are_a_warning():
    gold, predicted = [["NN", "DT"] * 10], [["O"] * 20]
    with pytest.warns(DataWarning, match="the gold labels are 'DT', 'NN', the predicted labels 'O'"):
        assert evaluate(gold, predicted).accuracy == 0.0
    assert evaluate([["NN"] * 19], [["O"] * 19]).accuracy == 0.0
    assert evaluate([["NN", "DT"] * 10], [["DT", "NN"] * 10]).accuracy == 0.0


def test_averages_over_types_weight_types_equally_or_by_support():
    gold = [["B-PER", "O", "B-PER", "O", "B-PER"], ["B-LOC", "O"]]
    predicted = [["B-PER", "O", "B-PER", "O", "O"], ["O", "B-LOC"]]
    scores = evaluate(gold, predicted)
    per, loc = scores.per_type["PER"], scores.per_type["LOC"]
    assert per["recall"] == pytest.approx(2 / 3)
    for name in ("precision", "recall", "f1"):
        assert scores.type_averages["macro"][name] == pytest.approx((per[name] + loc[name]) / 2)
        assert scores.type_averages["weighted"][name] == pytest.approx((3 * per[name] + loc[name]) / 4)
    assert scores.to_dict()["type_averages"] == scores.type_averages
    assert f"macro average         {100 * scores.type_averages['macro']['precision']:6.2f}" in scores.report()
    assert chunk_scores(gold, predicted) == {name: getattr(scores, name) for name in ("precision", "recall", "f1")}


def test_the_labels_of_a_classifier_are_refused_with_the_remedy():
    for gold, predicted in (([0, 1], [0, 0]), (["a", "b"], ["a", "a"])):
        with pytest.raises(DataError, match=r"^sentence 1 is .*lists: evaluate\(\[y\], \[predicted\]\)$"):
            evaluate(gold, predicted)


@pytest.mark.parametrize("label", [{"x": 0.5, "y": 0.5}, {"x", "y"}, frozenset("x"), ["x"], np.zeros(1)])
@pytest.mark.parametrize("score", [evaluate, chunk_f1, chunk_scores, partial(evaluate, mode="strict")])
def test_what_is_not_a_label_is_named_with_its_sentence(label, score):
    with pytest.raises(DataError, match="sentence 2: "):
        score([["x"], ["x", label]], [["x"], ["x", "x"]])
    with pytest.raises(DataError, match=r"sentence 2, predicted: .* is a \w+, not a label"):
        score([["x"], ["x", "x"]], [["x"], ["x", label]])


@pytest.mark.parametrize("labels", [[{"x": 1.0}], [{"x"}], [["x"]], "x", 5, None])
def test_chunks_need_labels(labels):
    for call in (chunks, detect_scheme):
        with pytest.raises(DataError, match="the labels"):
            call(labels)
    with pytest.raises(DataError, match="no order"):
        evaluate([[1j, 2j]], [[1j, 1j]])
