"""Mistakes by entity: each is counted once, as an implementation of its own counts them, in every tagging scheme."""

from __future__ import annotations

import random
import re

import pytest

from loglinear import evaluate
from loglinear.report.entities import KINDS, Pair, drawn, entities, paired
from loglinear.report.labelled import Labelled
from oracles.entities import counted, measured, spans_of

TAGS = {
    "IOB1": "B I",
    "IOB2": "B I",
    "IOE2": "I E",
    "IOBES": "B I E S",
    "BILOU": "B I L U",
    "BMES": "B M E S",
    "BMES6": "B B2 B3 M E S",
}


def sentences(tags, types, n=120):
    """Random label sequences, most of them malformed, and others that differ from them in some tokens."""
    draw = random.Random(f"{tags}{types}")
    labels = ["O"] * (types != [""]) + [f"{tag}-{type_}" if type_ else tag for tag in tags for type_ in types]
    gold = [[draw.choice(labels) for _ in range(draw.randint(0, 14))] for _ in range(n)]
    predicted = [[draw.choice(labels) if draw.random() < 0.35 else label for label in row] for row in gold]
    return gold, predicted


@pytest.mark.parametrize("types", [["PER", "LOC"], [""]], ids=["types", "words"])
@pytest.mark.parametrize("scheme", TAGS)
def test_counts_and_measures_are_those_of_another_implementation(scheme, types):
    gold, predicted = sentences(TAGS[scheme].split(), types)
    words = [[f"w{t}" for t in range(len(row))] for row in gold]
    found, scores = entities(gold, predicted, words), evaluate(gold, predicted)
    expected = counted(gold, predicted)
    assert {(type_, kind): n for type_, row in found.counts.items() for kind, n in row.items() if n} == expected
    assert len({kind for _, kind in expected}) == (6 if types != [""] else 4)
    credit, n_gold, n_predicted = measured(gold, predicted)
    for name, measure in found.measures.items():
        expected_shares = credit[name] / n_predicted, credit[name] / n_gold, 2 * credit[name] / (n_gold + n_predicted)
        assert measure == pytest.approx(expected_shares)
    assert found.measures["strict"] == pytest.approx((scores.precision, scores.recall, scores.f1))
    assert sum(found.total.values()) - found.total["invented"] == sum(s["support"] for s in scores.per_type.values())
    for type_, row in found.counts.items():
        assert row["correct"] == scores.per_type[type_]["correct"]
        assert sum(row.values()) - row["invented"] == scores.per_type[type_]["support"]
    assert sum(each.n for each in found.mistakes) <= sum(found.total[kind] for kind in KINDS[1:])


@pytest.mark.parametrize("scheme", TAGS)
def test_each_example_names_a_wrong_token_and_shows_the_entities_around_it(scheme):
    gold, predicted = sentences(TAGS[scheme].split(), ["PER", "LOC"])
    words = [[f"w{t}" for t in range(len(row))] for row in gold]
    for mistake in entities(gold, predicted, words).mistakes:
        assert len(mistake.examples) == min(mistake.n, 3)
        for example in mistake.examples:
            true, guess = gold[example.sentence - 1], predicted[example.sentence - 1]
            assert 1 <= len(example.tokens) <= 3
            assert all(true[token - 1] != guess[token - 1] for token in example.tokens)
            first = int(example.words[0].removeprefix("w"))
            assert example.words == words[example.sentence - 1][first : first + len(example.words)]
            assert example.is_cut == (first > 0, first + len(example.words) < len(true))
            assert example.pair.kind == mistake.kind
            assert [chunk[0] if chunk else None for chunk in example.pair] == [mistake.gold, mistake.predicted]
            for labels, shown, of_pair in zip((true, guess), example[5:7], example.pair, strict=True):
                inside = range(first, first + len(example.words))
                spans = [(type_, [t for t in sorted(span) if t in inside]) for type_, span in spans_of(labels)]
                expected = [(type_, span[0] - first, span[-1] + 1 - first) for type_, span in spans if span]
                assert shown == expected
                assert of_pair is None or of_pair in shown


@pytest.mark.parametrize(
    ("gold", "predicted", "kinds"),
    [
        (("A", 0, 2), ("A", 0, 2), "correct"),
        (("A", 0, 2), ("B", 0, 2), "wrong type"),
        (("A", 0, 2), ("A", 1, 2), "wrong boundary"),
        (("A", 0, 2), ("B", 1, 3), "wrong type and boundary"),
        (("A", 0, 2), ("A", 2, 3), "missed invented"),
    ],
)
def test_the_kind_of_a_pair_follows_from_types_and_boundaries(gold, predicted, kinds):
    assert [pair.kind for pair in paired([gold], [predicted])] == kinds.split(" ", kinds.count("missed"))


def test_an_entity_has_one_partner_the_best_one():
    long, first, last = ("A", 0, 5), ("B", 0, 3), ("A", 3, 5)
    # The same type counts for more than tokens in common.
    assert paired([long], [first, last]) == [Pair(None, first), Pair(long, last)]
    assert paired([first, last], [long]) == [Pair(first, None), Pair(last, long)]
    # More tokens in common count for more, and then the place.
    assert paired([long], [("A", 0, 2), ("A", 2, 5)]) == [Pair(None, ("A", 0, 2)), Pair(long, ("A", 2, 5))]
    assert paired([("A", 0, 4)], [("A", 0, 2), ("A", 2, 4)])[0] == Pair(("A", 0, 4), ("A", 0, 2))
    assert paired([], []) == []


def test_the_surest_examples_come_first_and_tokens_without_a_label_are_outside():
    gold, predicted = [["B-A", "O"]] * 4, [["O", "O"], [None, "O"], ["O", "O"], ["O", "O"]]
    sure = [[0.5, 1.0], [0.9, 1.0], [0.7, 1.0], [0.6, 1.0]]
    (mistake,) = entities(gold, predicted, [["x", "y"]] * 4, sure).mistakes
    assert (mistake.kind, mistake.n) == ("missed", 4)
    assert [(each.sentence, each.confidence) for each in mistake.examples] == [(2, 0.9), (3, 0.7), (4, 0.6)]


def test_a_long_entity_is_cut():
    gold, predicted = [["B-A", *["I-A"] * 99]], [["O"] * 100]
    ((example,),) = (each.examples for each in entities(gold, predicted, [["w"] * 100]).mistakes)
    assert (len(example.words), example.is_cut, example.tokens) == (37, (False, True), [1, 2, 3])
    assert example.gold == [("A", 0, 37)]


def test_a_drawn_example_has_its_entities_in_bold_and_in_colour():
    gold, predicted = [["O", "B-<u>", "I-<u>", "O", "B-C"]], [["O", "B-<u>", "O", "O", "B-C"]]
    words = [["in", "<i>", "b", "\x1b", "c"]]
    ((example,),) = (each.examples for each in entities(gold, predicted, words).mistakes)
    lines = dict(drawn(example, Labelled(["O", "B-<u>", "I-<u>", "B-C"])))
    assert [*lines] == ["gold", "predicted"]
    bold = {name: re.findall("<b>(.*?)</b>", html) for name, html in lines.items()}
    assert bold == {"gold": ["&lt;i&gt;", "b"], "predicted": ["&lt;i&gt;"]}
    assert re.findall(r'class="type">(.*?)<', lines["gold"]) == ["&lt;u&gt;", "C"]
    assert r"\x1b" in lines["gold"]
