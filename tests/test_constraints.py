"""Constraints against the strict reading of tagging schemes, and their mistakes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear.constraints import check_constraints, forbidden_pairs, resolved
from loglinear.errors import OptionError
from loglinear.metrics import chunks

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
    labels = ["A", "B", 3]
    assert forbidden_pairs([("A", "B"), (None, "A"), ("3", None), ("A", "B")], labels) == [(0, 1), (None, 0), (2, None)]
    assert forbidden_pairs(None, labels) is None
    with pytest.raises(OptionError, match=r"there is no label 'C'; the labels are 'A', 'B', 3"):
        forbidden_pairs([("A", "C")], labels)


@pytest.mark.parametrize(
    ("labels", "sequences", "expected"),
    [
        (["O", "B-X", "I-X"], [["O", "B-X", "I-X"]], "BIO"),
        (["O", "B-X", "I-X"], [["O", "I-X"]], "IOB1"),
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
    assert resolved("auto", labels, sequences) == resolved("AUTO", labels, sequences) == expected


def test_names_have_other_names():
    assert [resolved(name, []) for name in ("bioes", "iob2", "none", "NONE")] == ["IOBES", "BIO", None, None]
    assert resolved([("A", None)], []) == [["A", None]]


@pytest.mark.parametrize("value", ["XYZ", 3, ["AB"], [("A",)], "", [("A", "B", "C")]])
def test_what_stands_for_no_constraints_is_refused(value):
    with pytest.raises(OptionError, match=r"constraints=.* stands for no constraints; give auto, BIO"):
        check_constraints("constraints", value)


def test_a_pair_needs_a_label():
    with pytest.raises(OptionError, match=r"the pair \(None, None\) has no label"):
        check_constraints("constraints", [(None, None)])


def test_a_label_that_is_no_tag_of_the_scheme_is_named():
    with pytest.raises(OptionError, match="constraints='IOBES': label 'DET' does not belong to the scheme IOBES; give"):
        forbidden_pairs("IOBES", ["O", "DET"])
