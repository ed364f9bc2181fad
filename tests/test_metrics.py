import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import sequence_labeling as seqeval

from loglinear.errors import DataError, OptionError
from loglinear.metrics import chunks, detect_scheme, evaluate

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
    assert sorted(t or "_" for t in ours.per_type) == names
    for name, *expected in zip(names, *by_type, strict=True):
        score = ours.per_type["" if name == "_" else name]
        assert [score["precision"], score["recall"], score["f1"], score["support"]] == pytest.approx(expected)


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
    with pytest.raises(DataError, match="'NOUN'"):
        chunks(["NOUN"])


def test_a_late_label_without_scheme_withdraws_the_chunk_scores():
    assert evaluate([["B-X"], ["NN"]], [["B-X"], ["B-X"]]).f1 is None


def test_sentence_accuracy_of_sequences_of_equal_length_is_a_fraction():
    assert evaluate([["a", "b"], ["a", "b"]], [["a", "b"], ["a", "b"]]).sentence_accuracy == 1.0
    assert evaluate([["a", "b"], ["a", "b"]], [["a", "b"], ["b", "b"]]).sentence_accuracy == 0.5


def test_nothing_to_count_gives_zero():
    assert evaluate([], []).to_dict() == {
        "accuracy": 0.0,
        "sentence_accuracy": 0.0,
        "precision": None,
        "recall": None,
        "f1": None,
        "per_type": {},
        "n_tokens": 0,
        "n_sentences": 0,
        "scheme": None,
    }
    without_chunks = evaluate([["O"]], [["O"]])
    assert (without_chunks.accuracy, without_chunks.f1) == (1.0, 0.0)
    never_predicted = evaluate([["B-X"]], [["O"]]).per_type["X"]
    assert never_predicted == {"precision": 0, "recall": 0, "f1": 0, "support": 1, "predicted": 0, "correct": 0}


def test_generators_and_json_are_welcome():
    result = evaluate((s for s in [["B-X", "O"]]), (tuple(s) for s in [["B-X", "O"]]))
    assert json.loads(json.dumps(result.to_dict()))["f1"] == 1.0


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["O"], ["O"]], [["O"], ["O", "O"]], "sentence 2: 1 gold labels, but 2 predicted"),
        ([["O"], ["O"]], [["O"]], "sentence 2: predicted has no more"),
        ([["O"]], [["O"], ["O"], ["O"]], "sentence 2: gold has no more"),
        (["O"], ["O"], "sentence 1 is a string"),
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
