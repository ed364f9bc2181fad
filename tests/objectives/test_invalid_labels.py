"""Labels that break constraints: found, repaired as conlleval reads them, left out with their sentences."""

from __future__ import annotations

import itertools

import pytest

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, DataError, DataWarning, OptionError
from loglinear.constraints import as_json
from loglinear.metrics import chunks
from loglinear.objectives.invalid_labels import bio_errors, valid_corpus
from loglinear.objectives.parts import ChainParts
from oracles.allowed import forbidden_pairs

TAGS = {
    "BIO": ["O", "B-X", "I-X", "I-Y"],
    "IOB1": ["O", "B-X", "I-X", "I-Y"],
    "IOBES": ["O", "B-X", "I-X", "E-X", "S-Y"],
    "BILOU": ["O", "B-X", "I-X", "L-X", "U-Y"],
    "BMES": ["B", "M", "E", "S"],
}


def corpus_of(sequences):
    return Corpus.encode([[[f"w{at}"] for at in range(len(labels))] for labels in sequences], sequences)


def is_valid(labels, scheme):
    names = sorted(set(labels))
    numbers = [None, *map(names.index, labels), None]
    forbidden = forbidden_pairs(scheme, names)
    return not any(pair in forbidden for pair in itertools.pairwise(numbers))


@pytest.mark.parametrize("scheme", TAGS)
def test_repaired_labels_follow_the_scheme_and_have_the_chunks_that_conlleval_reads(scheme):
    sequences = [list(each) for n in (1, 2, 3, 4) for each in itertools.product(TAGS[scheme], repeat=n)]
    with pytest.warns(DataWarning, match="^repaired"):
        repaired = valid_corpus(corpus_of(sequences), scheme, "repair").gold()
    for before, after in zip(sequences, repaired, strict=True):
        assert is_valid(after, scheme), (before, after)
        assert chunks(after) == chunks(before), (before, after)
        if is_valid(before, scheme):
            assert after == before


@pytest.mark.parametrize(
    ("scheme", "before", "after"),
    [
        ("BIO", ["I-X", "I-X", "O", "B-Y", "I-X"], ["B-X", "I-X", "O", "B-Y", "B-X"]),
        ("IOB1", ["B-X", "B-X", "O", "B-Y"], ["I-X", "B-X", "O", "I-Y"]),
        ("IOBES", ["I-X", "I-X", "O", "B-X"], ["B-X", "E-X", "O", "S-X"]),
        ("BILOU", ["I-X", "I-X", "I-X", "U-X"], ["B-X", "I-X", "L-X", "U-X"]),
        ("BMES", ["M", "M", "M", "B", "E"], ["B", "M", "E", "B", "E"]),
        ("BMES", ["B", "B2", "B3", "M", "M"], ["B", "B2", "B3", "M", "E"]),
    ],
)
def test_examples_of_repairs(scheme, before, after):
    with pytest.warns(DataWarning, match="^repaired"):
        assert valid_corpus(corpus_of([before, before]), scheme, "repair").gold() == [after, after]


SENTENCES = [["O", "B-X", "I-X"], ["I-X", "O"], ["B-X", "I-Y", "I-Y"], ["O", "O"]]
REPAIRED = [["O", "B-X", "I-X"], ["B-X", "O"], ["B-X", "B-Y", "I-Y"], ["O", "O"]]


def fitted(sequences, **options):
    X = [[[f"w{number}", f"at{at}"] for at in range(len(labels))] for number, labels in enumerate(sequences)]
    return ChainCRF(constraints="BIO", **options).fit(X, sequences)


def test_training_on_repaired_labels_gives_bitwise_the_model_of_corrected_data():
    with pytest.warns(DataWarning, match="repaired 2 labels in 2 of 4 sentences; sentence 1, token 0: the cons"):
        crf = fitted(SENTENCES, invalid_labels="repair")
    expected = fitted(REPAIRED)
    assert crf.classes_ == expected.classes_
    assert (crf.result_.w == expected.result_.w).all()


def test_skipped_sentences_and_the_labels_that_only_they_have_are_left_out():
    with pytest.warns(DataWarning, match="left out 2 of 4 sentences, whose labels do not fit the constraints; sent"):
        crf = fitted(SENTENCES, invalid_labels="skip")
    assert crf.classes_ == ["O", "B-X", "I-X"]
    assert crf.result_.trace[0].objective == fitted([SENTENCES[0], SENTENCES[3]]).result_.trace[0].objective
    with pytest.raises(DataError, match="no sentence is left"):
        fitted(SENTENCES[1:3], invalid_labels="skip")


def test_an_error_has_the_first_place_the_number_and_the_remedy():
    expected = (
        r"^sentence 1, token 0: the constraints forbid I-X at the start of a sentence; 2 labels do not fit the "
        r"constraints: use invalid_labels='repair' or 'skip' \(--invalid-labels\), or change the constraints$"
    )
    with pytest.raises(DataError, match=expected):
        fitted(SENTENCES)
    corpus = corpus_of([["O"], ["B-X", "I-X"]])
    with pytest.raises(DataError, match=r"^sentence 1, token 1: the constraints forbid I-X at the end of a sent"):
        valid_corpus(corpus, [("I-X", None)], "error")
    with pytest.raises(DataError, match=r"^sentence 1, token 1: the constraints forbid I-X after B-X; 1 label does"):
        valid_corpus(corpus, [("B-X", "I-X")], "error")


def test_a_corpus_with_other_labels_keeps_its_layout_and_weights(tmp_path):
    (tmp_path / "data.txt").write_text("O a b\nI-X a b\n\nO a b\nB-X a b\n\n")
    corpus = Corpus.read(tmp_path / "data.txt", template="U:%x[0,0]", label_column=0)
    weighted = Corpus.encode([[["a"]], [["b"], ["a"]]], [["I-X"], ["O", "B-X"]], sample_weight=[2.0, 3.0])
    for policy, weights in (("repair", [2.0, 3.0, 3.0]), ("skip", [3.0, 3.0])):
        with pytest.warns(DataWarning):
            valid = [valid_corpus(each, "BIO", policy) for each in (corpus, weighted)]
        assert valid[0].columns == corpus.columns
        assert valid[1].core.weights().tolist() == weights


def test_valid_labels_are_left_alone():
    corpus = corpus_of(REPAIRED)
    assert all(valid_corpus(corpus, "BIO", policy) is corpus for policy in ("error", "repair", "skip"))
    assert valid_corpus(corpus_of(SENTENCES), None, "error").gold() == SENTENCES


def test_partial_labels_are_kept_in_valid_sentences_and_cannot_be_repaired():
    partial = frozenset({"B-Y", "O"})
    corpus = corpus_of([[None, "I-X", partial], ["I-X"]])
    with pytest.warns(DataWarning, match="repaired 1 label"):
        repaired = valid_corpus(corpus, "BIO", "repair")
    assert repaired.gold() == [[None, "I-X", partial], ["B-X"]]
    assert set(repaired.labels) == {"I-X", "B-X", "B-Y", "O"}
    with pytest.raises(DataError, match="sentence 0: its labels are partial and cannot be repaired; use"):
        valid_corpus(corpus_of([["I-X", None]]), "BIO", "repair")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"invalid_labels": "repair"}, "invalid_labels='repair' needs constraints; add constraints='auto'"),
        ({"invalid_labels": "skip", "constraints": "none"}, "invalid_labels='skip' needs constraints"),
        ({"invalid_labels": "repair", "constraints": [("A", "B")]}, "needs a tagging scheme, but the constraints are"),
        ({"invalid_labels": "mend"}, "invalid_labels='mend' is not one of error, repair, skip"),
    ],
)
def test_what_does_not_apply_is_refused(options, expected):
    with pytest.raises(OptionError, match=expected):
        ChainObjective(corpus_of([["A", "B"]]), ChainFeatures(**options))


def test_data_in_parts_are_not_repaired():
    with pytest.raises(OptionError, match="invalid_labels='repair' is not available for data in parts"):
        ChainParts([], ChainFeatures(constraints="BIO", invalid_labels="repair"))


def test_auto_takes_the_scheme_that_fewer_labels_break():
    bio = [["B-X", "I-X", "O", "B-X"], ["B-X", "O"], ["I-X", "O"]]
    iob1 = [["I-X", "B-X", "O", "I-X"], ["I-X", "O"], ["B-X", "O"]]
    assert [bio_errors(corpus_of(each)) for each in (bio, iob1)] == [(1, 3), (3, 1)]
    for sequences, scheme in ((bio, "BIO"), (iob1, "IOB1")):
        with pytest.warns(DataWarning, match="repaired 1 label"):
            objective = ChainObjective(corpus_of(sequences), ChainFeatures(constraints="auto", invalid_labels="repair"))
        assert objective.features.constraints == scheme
        assert as_json(objective.features.constraints) == f'"{scheme}"'
