"""Laws of comparisons: figures of `evaluate`, differences of scores drawn together, pages in which no data runs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loglinear import DataError, OptionError, compare, evaluate
from loglinear.bootstrap import resamples
from loglinear.report.differences import differences
from loglinear.report.intervals import DrawnScores
from loglinear.report.outcomes import Outcomes, changed_sentences
from loglinear.visible import CONTROLS
from oracles.browser import needs_browser, opened
from oracles.pages import Page

NAMES = ["O", "B-PER", "I-PER", "B-LOC"]
HOSTILE = [
    "</style><script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "\x1b[31m\x9b2J",
    "a\u202eb\nc",
    "&lt;",
]


def noisy(gold, share, names, seed):
    """Labels of which some are replaced by others."""
    draw = random.Random(seed)
    return [[y if draw.random() > share else draw.choice(names) for y in sentence] for sentence in gold]


def labelled(n_sentences, names=NAMES, most=9):
    """Gold labels, and the labels that two models predict."""
    draw = random.Random(3)
    gold = [draw.choices(names, k=draw.randint(1, most)) for _ in range(n_sentences)]
    return gold, noisy(gold, 0.3, names, 4), noisy(gold, 0.2, names, 5)


@pytest.mark.parametrize("scheme", [None, "none"])
def test_a_difference_has_the_percentiles_of_both_models_scored_on_the_same_sentences_drawn_anew(scheme):
    gold, *predicted = labelled(30)
    scores = tuple(evaluate(gold, of, scheme=scheme) for of in predicted)
    chunked = scores[0].scheme is not None
    found = differences(tuple(DrawnScores(gold, of, chunks=chunked, draws=60, seed=7) for of in predicted), scores)
    drawn = [
        [evaluate([gold[i] for i in picks], [of[i] for i in picks], scheme=scheme) for of in predicted]
        for picks in resamples(len(gold), 60, 7)
    ]
    nothing = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert ("f1" in found.overall) == (scheme is None)
    for name, difference in found.overall.items():
        values = [getattr(b, name) - getattr(a, name) for a, b in drawn]
        assert difference[1:] == pytest.approx(np.percentile(values, [2.5, 97.5])), name
        assert difference.value == getattr(scores[1], name) - getattr(scores[0], name)
    for kind, rows in (("per_label", found.per_label), ("per_type", found.per_type)):
        assert rows.keys() == {*getattr(scores[0], kind), *getattr(scores[1], kind)}
        for label, row in rows.items():
            for name, difference in row.items():
                values = [
                    getattr(b, kind).get(label, nothing)[name] - getattr(a, kind).get(label, nothing)[name]
                    for a, b in drawn
                ]
                assert difference[1:] == pytest.approx(np.percentile(values, [2.5, 97.5])), (label, name)


def test_equal_predictions_differ_by_nothing_and_exchanged_models_by_the_opposite():
    gold, first, second = labelled(20)
    same = compare(gold, first, first)
    assert {*same.differences.overall.values()} == {(0.0, 0.0, 0.0)}
    assert (same.n_changed, same.changes, same.changed) == (0, [], [])
    assert not same.differences.overall["f1"].is_clear
    assert "Both models give the same labels." in same.html()
    there, back = compare(gold, first, second), compare(gold, second, first)
    for name, (value, low, high) in there.differences.overall.items():
        assert back.differences.overall[name] == pytest.approx((-value, -high, -low))
    for name, (right, fixed, broken, wrong) in there.outcomes.items():
        assert back.outcomes[name] == (right, broken, fixed, wrong)


def test_outcomes_are_counts_of_single_tokens_sentences_and_gold_chunks():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"], ["O"]]
    first = [["B-PER", "O", "O", "B-LOC"], ["O", "O"], ["O"]]
    second = [["B-PER", "I-PER", "O", "O"], ["B-LOC", "O"], ["O"]]
    found = compare(gold, first, second)
    assert found.outcomes == {
        "tokens": Outcomes(both_right=3, fixed=1, broken=2, both_wrong=1),
        "sentences": Outcomes(both_right=1, fixed=0, broken=0, both_wrong=2),
        "chunks": Outcomes(both_right=0, fixed=1, broken=1, both_wrong=1),
    }
    assert found.by_type == {"PER": (0, 1, 0, 0), "LOC": (0, 0, 1, 1)}
    assert found.by_label["O"] == (2, 0, 1, 0)
    assert [tuple(change) for change in found.changes if change.gold == "I-PER"] == [("I-PER", "O", "I-PER", 1)]
    assert [(each.sentence, each.n_changed, each.fixed, each.broken) for each in found.changed] == [
        (1, 2, 1, 1),
        (2, 1, 0, 1),
    ]


def test_the_sentences_with_the_most_changes_come_first_and_long_ones_are_cut_around_them():
    n = 200
    gold = [["O"] * 3 for _ in range(60)] + [["O"] * n]
    first = [["O"] * 3 for _ in range(60)] + [["O"] * n]
    second = [["X", "O", "O"] for _ in range(60)] + [["O"] * 100 + ["X"] * 6 + ["O"] * (n - 106)]
    words = [[f"w{at}" for at in range(len(row))] for row in gold]
    found, n_changed = changed_sentences(gold, (first, second), words)
    assert (len(found), n_changed) == (50, 61)
    assert [each.sentence for each in found[:3]] == [61, 1, 2]
    assert (found[0].start, found[0].end, found[0].length) == (73, 133, n)
    assert found[0].words[27:33] == [f"w{at}" for at in range(100, 106)]
    assert found[0].second.count("X") == found[0].n_changed == found[0].broken == 6


def test_labels_of_samples_are_compared_one_by_one():
    y, first, second = np.array([1, 2, 2, 1]), np.array([1, 1, 2, 2]), [1, 2, 2, 2]
    found = compare(y, first, second, words=["one", "two", "three", "four"], names=("old", "new"))
    assert found.outcomes == {"samples": Outcomes(both_right=2, fixed=1, broken=0, both_wrong=1)}
    assert (found.main_score, found.differences.overall["accuracy"].value) == ("accuracy", 0.25)
    page = Page(found.html())
    assert "accuracy of sentences" not in page.text
    assert "two" in page.text
    assert "Sample" in page.text
    assert found.changed[0].words == ["two"]


def test_labels_without_a_prediction_are_wrong_and_shown():
    page = Page(compare([["B-X", "O"]], [[None, None]], [["B-X", "O"]]).html())
    assert "(no label)" in page.text


def test_nothing_of_the_data_runs_or_reaches_a_terminal():
    names = ["O", *(f"B-{name}" for name in HOSTILE)]
    gold, first, second = labelled(40, names)
    words = [[f"{HOSTILE[at % 5]}{at}" for at in range(len(row))] for row in gold]
    html = compare(gold, first, second, names=(HOSTILE[0], HOSTILE[2]), words=words, title=HOSTILE[1]).html()
    page = Page(html)
    page.check_alone()
    assert not {"script", "img"} & {tag for tag, _ in page.elements}
    assert not {ord(character) for character in html} & {*CONTROLS} - {ord("\n")}
    assert all(text in page.text for text in (HOSTILE[0], HOSTILE[1], r"\x1b[31m\x9b2J", HOSTILE[4]))
    samples = compare(HOSTILE, HOSTILE[::-1], HOSTILE, words=HOSTILE)
    assert not {"script", "img"} & {tag for tag, _ in Page(samples.html()).elements}


def test_a_page_has_the_figures_of_evaluate():
    gold, first, second = labelled(30)
    found = compare(gold, first, second)
    assert found.scores == (evaluate(gold, first), evaluate(gold, second))
    page = Page(found.html())
    page.check_alone()
    (rows,) = (rows for caption, rows in page.tables.items() if caption.startswith("Chunks by type"))
    for row in rows[1:]:
        f1 = [scores.per_type[row[0]]["f1"] for scores in found.scores]
        assert row[1:3] == [f"{100 * value:.2f}" for value in f1]
        assert row[3].split()[0] == f"{100 * (f1[1] - f1[0]):+.2f}"
        assert row[8] == f"{found.scores[0].per_type[row[0]]['support']}"


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([], [], []), {}, DataError, "no labels to compare"),
        (([["O"]], [["O"]], [["O", "O"]]), {}, DataError, "sentence 1"),
        (([["O"]], [["O"]], [["O"]]), {"names": ("A",)}, OptionError, "two names"),
        (([["O"]], [["O"]], [["O"]]), {"words": [["a", "b"]]}, DataError, "words"),
        (([["O"]], [["O"]], [["O"]]), {"scheme": "XY"}, OptionError, "scheme"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        compare(*arguments, **options)


@needs_browser
@pytest.mark.slow
def test_a_browser_opens_the_page_without_complaints(tmp_path):
    path = tmp_path / "comparison.html"
    compare(*labelled(40, ["O", *(f"B-{name}" for name in HOSTILE)]), names=(HOSTILE[0], "new")).save(path)
    complaints, document = opened(path)
    assert complaints == []
    assert document.count('<div class="changed">') > 10
    assert "<script" not in document


@pytest.mark.parametrize("wrong", [3, "abc", {"a": 1}, object()], ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_list_of_labels_is_named(wrong):
    with pytest.raises(DataError, match=r"second is of type .*compare takes the gold labels and the labels"):
        compare(["A"], ["A"], wrong)


def test_titles_have_no_raw_control_characters_in_notebooks():
    comparison = compare(["A"], ["A"], ["B"], names=("x", "\x1b[31m"))
    assert "\x1b" not in comparison._repr_html_()
    assert "\x1b" not in repr(comparison)
