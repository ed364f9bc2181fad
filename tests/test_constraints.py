"""Constraints against the strict reading of tagging schemes, and their mistakes."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import ChainCRF, Corpus
from loglinear.constraints import as_json, check_constraints, resolved
from loglinear.errors import OptionError
from loglinear.metrics import chunks
from loglinear.objectives.invalid_labels import are_bio, bio_errors
from oracles.allowed import forbidden_pairs

LABELS = {
    "BIO": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "IOB1": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "IOBES": ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y"],
    "BILOU": ["O", "B-X", "I-X", "L-X", "U-X", "B-Y", "L-Y"],
    "BMES": ["B", "M", "E", "S"],
}


def is_allowed(pairs, labels, sequence):
    numbers = [None, *map(labels.index, sequence), None]
    return not any(pair in pairs for pair in itertools.pairwise(numbers) if pair != (None, None))


def well_formed(scheme):
    """Sequences of chunks and of labels outside."""
    parts = {
        "BIO": [["O"], ["B-X"], ["B-X", "I-X", "I-X"], ["B-Y", "I-Y"]],
        "IOB1": [["O"], ["I-X"], ["I-X", "I-X"], ["I-X", "B-X"], ["I-Y"]],
        "IOBES": [["O"], ["S-X"], ["B-X", "E-X"], ["B-X", "I-X", "I-X", "E-X"], ["B-Y", "I-Y", "E-Y"]],
        "BILOU": [["O"], ["U-X"], ["B-X", "I-X", "I-X", "L-X"], ["B-Y", "L-Y"]],
        "BMES": [["S"], ["B", "E"], ["B", "M", "M", "E"]],
    }[scheme]
    return st.lists(st.sampled_from(parts), min_size=1, max_size=4).map(lambda chunks: list(itertools.chain(*chunks)))


@pytest.mark.parametrize("scheme", LABELS)
@given(data=st.data())
def test_allowed_are_the_labellings_whose_chunks_are_all_well_formed(scheme, data):
    labels = LABELS[scheme]
    sequence = data.draw(st.lists(st.sampled_from(labels), min_size=1, max_size=7) | well_formed(scheme))
    strict = chunks(sequence, {"BIO": "IOB2"}.get(scheme, scheme), mode="strict")
    covered = sum(end - start for _, start, end in strict)
    is_well_formed = covered == sum(label != "O" for label in sequence)
    assert is_allowed(forbidden_pairs(scheme, labels), labels, sequence) == is_well_formed


@pytest.mark.parametrize("scheme", LABELS)
def test_no_label_is_cut_off(scheme):
    labels = LABELS[scheme]
    pairs = forbidden_pairs(scheme, labels)
    all_of_three = itertools.chain(*(itertools.product(labels, repeat=n) for n in (1, 2, 3)))
    seen = {label for sequence in all_of_three if is_allowed(pairs, labels, sequence) for label in sequence}
    assert seen == set(labels)


def test_pairs_name_labels_and_the_edges_of_sentences():
    labels = ["A", "B", "3"]
    assert forbidden_pairs([("A", "B"), (None, "A"), (3, None)], labels) == [(0, 1), (None, 0), (2, None)]
    assert forbidden_pairs(None, labels) == []
    with pytest.raises(OptionError, match=r"unknown label 'C'; the labels are 'A', 'B', '3'"):
        forbidden_pairs([("A", "C")], labels)


@pytest.mark.parametrize(
    ("labels", "sequences", "expected"),
    [
        (["O", "B-X", "I-X"], [["O", "B-X", "I-X"]], "BIO"),
        (["O", "B-X", "I-X"], [["O", "I-X"]], "IOB1"),
        (["O", "B-X", "I-X"], [["I-X"]], "IOB1"),
        (["O", "B", "I"], [["B", "I", "I"]], "BIO"),
        (["O", "B", "I"], [["O", "I"]], "IOB1"),
        (["O", "B-X", "I-X", "I-Y"], None, "IOB1"),
        (["O", "B-X", "I-X"], None, "BIO"),
        # Behind a label that is not known any label may stand.
        (["O", "B-X", "I-X"], [[None, "I-X"], [frozenset({"O", "B-X"}), "I-X"]], "BIO"),
        (["O", "B-X", "E-X"], None, "IOBES"),
        (["B-X", "L-X", "U-X"], None, "BILOU"),
        (["B", "M", "E", "S"], None, "BMES"),
        (["DET", "NOUN"], None, None),
    ],
)
def test_auto_finds_the_scheme(labels, sequences, expected):
    given = None
    if sequences is not None:
        corpus = Corpus.encode([[["t"]] * len(sequence) for sequence in sequences], sequences)
        given = lambda: are_bio([bio_errors(corpus)])  # noqa: E731
    assert resolved("auto", labels, given) == resolved("AUTO", labels, given) == expected


def test_names_have_other_names():
    assert [resolved(name, []) for name in ("bioes", "iob2", "none", "NONE")] == ["IOBES", "BIO", None, None]
    assert resolved([("A", None)], []) == [["A", None]]


@pytest.mark.parametrize("value", ["XYZ", 3, ["AB"], [("A",)], "", [("A", "B", "C")]])
def test_what_stands_for_no_constraints_is_refused(value):
    with pytest.raises(OptionError, match=r"constraints=.* is not a tagging scheme or a list of pairs; give auto, BIO"):
        check_constraints("constraints", value)


def test_a_pair_needs_a_label():
    with pytest.raises(OptionError, match=r"the pair \(None, None\) has no label"):
        check_constraints("constraints", [(None, None)])


def test_a_label_that_is_no_tag_of_the_scheme_is_named():
    with pytest.raises(OptionError, match="constraints='IOBES': label 'DET' does not belong to the scheme IOBES"):
        forbidden_pairs("IOBES", ["O", "DET"])


@pytest.mark.parametrize(
    ("scheme", "label"), [("BIO", "E-X"), ("IOB1", "S"), ("IOBES", "L-X"), ("BILOU", "E-X"), ("BMES", "I-X")]
)
def test_a_tag_of_another_scheme_is_refused(scheme, label):
    with pytest.raises(OptionError, match=f"label '{label}' does not belong to the scheme {scheme}; choose"):
        forbidden_pairs(scheme, ["O", label])


def test_a_model_under_the_same_constraints_is_the_same_model():
    model = ChainCRF(constraints="BIO").fit([[["a"], ["b"]]], [["B-X", "I-X"]]).model_
    free = model.constrained("null")
    assert model.constrained('"BIO"') is model
    assert free is model.constrained("null") is not model
    assert free.constrained("null") is free
    assert model.forbidden and model.is_constrained  # noqa: PT018
    assert not free.forbidden and not free.is_constrained  # noqa: PT018


@pytest.mark.parametrize("constraints", ["BIO", [("B-X", "B-X"), (None, "I-X")], None])
def test_pickles_keep_constraints(constraints):
    model = ChainCRF(constraints="IOB1").fit([[["a"], ["b"]]], [["I-X", "B-X"]]).model_
    under = model.constrained(as_json(constraints))
    again = pickle.loads(pickle.dumps(under))
    assert again.forbidden == under.forbidden != model.forbidden
    assert again.constrained(as_json(constraints)) is again


@pytest.mark.parametrize("label", ["B_PER", "PER-B", "B:PER", "PER_B"])
def test_a_label_that_writes_a_tag_in_another_way_is_told_how_schemes_write_it(label):
    with pytest.raises(OptionError, match=f"'{label}'.*; write B-PER, as schemes expect TAG-TYPE, or choose none"):
        resolved("BIO", ["O", label])
    with pytest.raises(OptionError, match=r"'NOUN'.*; choose auto, another scheme, or none"):
        resolved("BIO", ["O", "NOUN"])
