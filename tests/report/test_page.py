"""Laws of reports: figures of `evaluate`, valid pages that stand alone, nothing of the data that could run."""

from __future__ import annotations

import builtins
import html
import re
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from loglinear import ChainCRF, Corpus, MaxEnt, MissingPackageError, Status, TraceRecord, evaluate
from loglinear.calibration import calibration
from loglinear.data.features import Feature
from loglinear.data.formats import word
from loglinear.data.templates import attribute_names
from loglinear.data.tokens import corpus_words
from loglinear.datasets import demo_paths
from loglinear.models.explain.reports import training_rows
from loglinear.report import charts
from loglinear.report.mistakes import confusions, mistakes
from loglinear.report.weights import strongest_of, transitions
from oracles.command_line import sentences
from oracles.pages import Page

EVIL = "<script>alert('&\"')</script>"


@pytest.fixture(scope="module")
def tagger():
    """A tagger of parts of speech that makes mistakes, sentences and their labels."""
    train, test = (sentences(path, 0, n) for path, n in zip(demo_paths(), (60, 40), strict=True))
    X, y = [[row[0] for row in each] for each in train], [[row[2] for row in each] for each in train]
    X_test, y_test = [[row[0] for row in each] for each in test], [[row[2] for row in each] for each in test]
    crf = ChainCRF(template="pos", l1=0.5, max_iterations=15, solver="owlqn")
    with pytest.warns(ConvergenceWarning):
        crf.fit(X, y)
    return crf, X_test, y_test


def test_a_report_of_a_chain_has_the_figures_of_evaluate(tagger):
    crf, X, y = tagger
    report = crf.report(X, y)
    assert report.scores == evaluate(y, crf.predict(X))
    assert (report.data["sentences"], report.data["tokens"]) == (len(X), sum(map(len, X)))
    page = Page(report.html())
    page.check_alone()
    (table,) = (rows for caption, rows in page.tables.items() if caption.startswith("Labels of tokens"))
    assert [row[0] for row in table[1:]] == list(report.scores.per_label)
    for row in table[1:]:
        score, intervals = report.scores.per_label[row[0]], report.intervals.per_label[row[0]]
        for cell, name in zip(row[1:4], ("precision", "recall", "f1"), strict=True):
            low, high = intervals[name]
            assert low <= score[name] <= high or score["support"] < 5
            assert cell.split() == [f"{100 * score[name]:.2f}", f"{100 * low:.2f}–{100 * high:.2f}"]
        assert row[4] == f"{score['support']:,}"
    assert sum(map(sum, report.confusions.counts)) == report.scores.n_tokens
    assert report.mistakes[0].n == max(
        n for gold, row in report.scores.confusion.items() for guess, n in row.items() if gold != guess
    )
    assert len(report.trace) == 16
    assert "ChainCRF(l1=0.5, max_iterations=15, solver='owlqn', template='pos')" in report.command
    assert "\n# " not in report.template


def test_features_and_transitions_are_those_of_the_model(tagger):
    crf, X, y = tagger
    report = crf.report(X, y)
    weights = {(name, label): w for name, label, w in crf.model_.state_features()}
    called_by = attribute_names(crf.model_.template, [name for name, _ in weights])
    of_people = {(called_by[name], label, w) for (name, label), w in weights.items()}
    for label, found in report.strongest.items():
        assert of_people >= {(name, label, w) for name, w in found.up}
        most = sorted((w for (_, each), w in weights.items() if each == label and w > 0), reverse=True)[:10]
        assert [w for _, w in found.up] == most
        assert all(w < 0.0 for _, w in found.down)
    moves = {(a, b): w for a, b, w in crf.model_.transition_features()}
    table = report.transitions
    for a, row in zip(table.labels, table.weights, strict=True):
        assert row == [moves.get((a, b)) for b in table.labels]


def test_nothing_of_the_data_runs():
    X, y = [[EVIL, "barks"], ["it", EVIL]], [["B-<u>", "O"], ["O", "B-<u>"]]
    crf = ChainCRF(template="U:%x[0,0]\nB\n").fit(X, y)
    report = crf.report(X, [["O", "O"], ["O", "B-<u>"]], title=EVIL)
    page = Page(report.html())
    page.check_alone()
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert "u" not in [tag for tag, _ in page.elements]
    assert EVIL in page.text
    assert report.mistakes[0].examples[0].word == EVIL
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" title="[^"<>]*" style="[^"]*"></iframe>', report._repr_html_(), re.S
    )
    assert frame
    assert html.unescape(frame[1]) == report.html()


def test_reports_of_classifiers_of_attributes_and_matrices(tmp_path):
    X, y = [["good", "fine"], ["bad"], ["good"], ["bad", "fine"]], ["+", "-", "+", "-"]
    classifier = MaxEnt(l2=0.1).fit(X, y)
    report = classifier.report(X, ["+", "-", "-", "-"])
    assert report.scores.accuracy == classifier.score(X, ["+", "-", "-", "-"]) == 0.75
    assert report.mistakes[0].examples[0].word == "good"
    assert report.calibrations["samples"].n == 4
    assert (report.data["samples"], "tokens" in report.data) == (4, False)
    report.save(tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "accuracy of sentences" not in page.text
    corpus = Corpus.encode([[each] for each in X], [[label] for label in y])
    assert MaxEnt(l2=0.1).fit(corpus).report(corpus).scores.accuracy == 1.0

    matrix, classes = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), [1, 2, 3]
    ovr = MaxEnt(multi_class="ovr").fit(matrix, classes).report(matrix, classes)
    assert ovr.calibrations == {}
    assert "no joint probabilities" in ovr.notes[0]
    assert ovr.scores.n_tokens == 3
    Page(ovr.html())
    with pytest.raises(ValueError, match="y has 2 classes, but X has 3 samples"):
        MaxEnt().fit(matrix, classes).report(matrix, classes[:2])


def test_many_labels_share_a_row_and_examples_are_the_most_certain_ones():
    gold, predicted = [[f"L{k:02}" for k in range(25)] * 2], [["L00"] * 50]
    found = confusions(evaluate(gold, predicted))
    assert len(found.rows) == 21
    assert found.rows[-1] == "5 others"
    assert found.columns == found.rows
    assert found.counts[-1][0] == 10
    none = confusions(evaluate([["A", "B"]], [["A", None]]))
    assert none.columns == ["A", "B", "(no label)"]
    assert none.counts == [[1, 0, 0], [0, 0, 1]]
    words = [list("abcdefghijklmnopqrstuvwxyz")]
    (one,) = mistakes([["A"] * 26], [["B"] * 26], words, [[k / 26 for k in range(26)]])
    assert (one.gold, one.predicted, one.n) == ("A", "B", 26)
    assert [each.word for each in one.examples] == ["z", "y", "x"]
    assert one.examples[2].before == ["…", *"qrstuvw"]
    assert one.examples[2].after == ["y", "z"]


def test_curves_and_diagrams_are_drawn_within_their_frames():
    records = [TraceRecord(k, k, k, k, 1000.0 / (k + 1), 1.0, 1, 0.1, dev={"f1": k / 20}) for k in range(20)]
    heights = [each.objective for each in records]
    for svg in (
        charts.curve([each.iteration for each in records], heights, "iteration", "<objective>", falling=True),
        charts.curve([0, 1], [3.0, 3.0], "iteration", "flat"),
        charts.reliability(calibration([0.75, 0.9, 0.2], [True, True, False]), "tokens"),
    ):
        Page(f"<!DOCTYPE html><h1></h1>{svg}")
        width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
        points = [tuple(map(float, point.split(","))) for point in re.search(r'points="([^"]*)"', svg)[1].split()]
        assert points
        assert all(0.0 <= x <= width and 0.0 <= y <= height for x, y in points)
        assert "nan" not in svg


def test_the_numbers_of_rows_are_those_that_the_page_names():
    def scores(n):
        gold = [f"L{k:02}" for k in range(n) for _ in range(n - k)]
        return evaluate([gold], [["L00"] * len(gold)])

    assert confusions(scores(21)).rows == [f"L{k:02}" for k in range(21)]
    many = confusions(scores(22))
    assert many.rows == [*(f"L{k:02}" for k in range(20)), "2 others"]
    assert (many.n_others, many.counts[-1][0]) == (2, 2 + 1)
    gold = [f"L{k:02}" for k in range(17) for _ in range(20 - k)]
    found = mistakes([gold], [["X"] * len(gold)], [gold])
    assert [(each.gold, each.n) for each in found] == [(f"L{k:02}", 20 - k) for k in range(15)]
    assert [(each.sentence, each.token, each.confidence) for each in found[1].examples] == [
        (1, 21 + k, None) for k in range(3)
    ]
    words = [f"w{k}" for k in range(15)]
    ((example,),) = (each.examples for each in mistakes([["A"] * 7 + ["B"] + ["A"] * 7], [["A"] * 15], [words]))
    assert (example.before, example.after) == (words[:7], words[8:])
    for length in (240, 241):
        word = "x" * length
        ((example,),) = (each.examples for each in mistakes([["A"]], [["B"]], [[word]]))
        assert example.word == (word if length == 240 else "x" * 239 + "…")
    pairs = [(Feature(None, (a, b)), 1.0) for a, b in pairwise(f"L{k:02}" for k in range(32))]
    table = transitions(pairs, [f"L{k:02}" for k in range(32)])
    assert (len(table.labels), len(table.weights), len(table.weights[0]), table.n_hidden) == (30, 30, 30, 2)
    assert transitions(pairs, [f"L{k:02}" for k in range(30)]).n_hidden == 0
    weights = [(f"w{k}", k - 12.0) for k in range(25)]
    assert strongest_of(weights) == (weights[:-11:-1], weights[:10])
    assert strongest_of([("zero", 0.0)]) == ([], [])


@pytest.mark.parametrize("n", [50, 51])
def test_a_page_has_the_features_of_fifty_labels(n):
    X, y = [[f"w{k:02}"] for k in range(n)] * 2, [f"L{k:02}" for k in range(n)] * 2
    page = Page(MaxEnt(l2=0.1).fit(X, y).report(X, y).html())
    text = "the 50 most frequent of 51 labels" if n > 50 else "the largest and the smallest weights for each label"
    assert text in " ".join(page.text.split())
    assert [tag for tag, _ in page.elements].count("details") >= 50
    features = page.text.partition("The features with the largest")[2]
    assert ("L49" in features, "L50" in features) == (True, False)


def read_off(svg):
    """The points of a line as the ticks of both axes show them, with how much a tenth of a unit of the picture is."""
    grid, scaled = re.search(r'<g class="grid">(.*?)</g>', svg, re.S)[1], []
    points = np.array([point.split(",") for point in re.search(r'points="([^"]*)"', svg)[1].split()], dtype=float)
    # The names of the axes are at the middle of the frame.
    left, right = map(int, re.search(r'<line x1="(\d+)" x2="(\d+)"', grid).groups())
    top, bottom = map(int, re.search(r'y1="(\d+)" y2="(\d+)"', grid).groups())
    middle, level = re.findall(r'<text x="(\d+)" y="\d+" text-anchor|translate\(14 (\d+)\)', svg.partition("</g>")[2])
    assert (int(middle[0]), int(level[1])) == ((left + right) // 2, (top + bottom) // 2)
    across = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">([^<]+)<', grid)
    up = re.findall(r'y="([\d.]+)" dy="4" text-anchor="end">([^<]+)<', grid)
    for places, ticks in ((points[:, 0], across), (points[:, 1], up)):
        assert 3 <= len(ticks) <= 16
        at, values = np.array([[float(x), float(value.replace(",", ""))] for x, value in ticks]).T
        logarithmic = "logarithmic" in svg and ticks is up
        # Round numbers: once, twice or five times a power of ten, or as far apart.
        for value in values if logarithmic else np.diff(values):
            assert f"{value:.3e}".startswith(("1.000", "2.000", "5.000"))
        values = np.log10(values) if logarithmic else values
        line = np.polyfit(at, values, 1)
        np.testing.assert_allclose(np.polyval(line, at), values, atol=0.11 * abs(line[0]))
        scaled.append((np.polyval(line, places), 0.2 * abs(line[0])))
    return scaled


@pytest.mark.parametrize("n", [3, 40, 41, 400, 401, 1001])
@pytest.mark.parametrize("shape", ["falling far", "falling", "rising", "below 0"])
def test_each_point_of_a_curve_is_where_the_ticks_put_its_value(n, shape):
    x = list(range(n))
    y = {
        "falling far": [5000.0 * 0.999**k / (1 + k) for k in x],
        "falling": [100.0 - 80.0 * k / n for k in x],
        "rising": [1.0 + 100.0 * k for k in x],
        "below 0": [-3.0 + 5.0 * k / n for k in x],
    }[shape]
    svg = charts.curve(x, y, "iteration", "score", falling=shape.startswith("falling"))
    assert ("logarithmic" in svg) == (shape == "falling far" and y[-1] < y[0] / 10.0)
    (across, off_across), (up, off_up) = read_off(svg)
    stride = -(-n // 400)
    shown = sorted({*range(0, n, stride), n - 1})
    np.testing.assert_allclose(across, shown, atol=off_across)
    heights = np.array([y[k] for k in shown])
    np.testing.assert_allclose(up, np.log10(heights) if "logarithmic" in svg else heights, atol=off_up)
    # On either side of the values, 4 % of their range is free.
    ends = np.array([point.split(",") for point in re.search(r'points="([^"]*)"', svg)[1].split()], dtype=float)
    for size, side in ((640 - 74 - 12, np.ptp(ends[:, 0])), (240 - 12 - 40, np.ptp(ends[:, 1]))):
        assert side == pytest.approx(size / 1.08, abs=0.2)
    assert svg.count("<circle") == (n if n <= 40 else 0)
    assert f"score by iteration: from {y[0]:,.6g} to {y[-1]:,.6g}" in svg
    assert "logarithmic" not in charts.curve(x, y, "iteration", "score")


def test_points_of_a_reliability_diagram_are_the_bins_and_lead_to_the_diagonal():
    confidences = [0.05, 0.31, 0.39, 0.75, 0.71, 0.72, *[0.97] * 30]
    right = [False, True, False, True, True, False, *[True] * 28, False, False]
    of = calibration(confidences, right)
    svg = charts.reliability(of, "tokens")
    filled = [bin_ for bin_ in of.bins if bin_.n]
    assert len(filled) == 4
    (across, off_across), (up, off_up) = read_off(svg)
    np.testing.assert_allclose(across, [bin_.confidence for bin_ in filled], atol=off_across)
    np.testing.assert_allclose(up, [bin_.accuracy for bin_ in filled], atol=off_up)
    radii = [float(r) for r in re.findall(r'<circle [^>]*r="([\d.]+)"', svg)]
    assert sorted(range(4), key=lambda at: (radii[at], at)) == sorted(range(4), key=lambda at: (filled[at].n, at))
    assert f"{100.0 * of.expected_error:.2f} %" in svg
    ends = re.search(r'class="diagonal" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', svg).groups()
    corners = [float(end) for end in ends]
    gaps = re.findall(r'class="gap" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', svg)
    points = re.search(r'class="line" points="([^"]*)"', svg)[1].split()
    for (x, level, x_end, end), point in zip(np.array(gaps, dtype=float), points, strict=True):
        assert (x, x_end, f"{x_end:.1f},{end:.1f}") == (x, x, point)
        share = (x - corners[0]) / (corners[2] - corners[0])
        assert level == pytest.approx(corners[1] + share * (corners[3] - corners[1]), abs=0.2)


def test_words_stand_for_tokens():
    assert [word(token) for token in ("a", ["b", "X"], {"n": 1.0, "w": "c"}, {"d": 1.0}, [])] == [
        "a",
        "b",
        "c",
        "d",
        "",
    ]
    assert corpus_words(Corpus.encode([[["a", "b"], []], [["c"]]], [["A", "B"], ["A"]])) == [["a", ""], ["c"]]


def test_a_missing_jinja2_is_named_with_its_remedy(tagger, monkeypatch):
    crf, X, y = tagger
    report = crf.report(X[:2], y[:2])
    original = builtins.__import__

    def without(name, *arguments, **options):
        if name == "jinja2":
            raise ModuleNotFoundError(name, name=name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingPackageError, match=r"a report needs Jinja2; install it: pip install 'loglinear\[report\]'"
    ):
        report.html()


def test_how_a_training_ended_is_told_without_the_advice():
    assert training_rows({"status": "converged"})["ended"] == "converged"
    for status in Status:
        told = training_rows({"status": status.name.lower()})["ended"]
        assert status.message.startswith(told)
        assert len(told) > 5
    assert training_rows({"status": "of a later version"})["ended"] == "of a later version"


def test_a_report_prints_itself_in_a_line(tagger):
    crf, X, y = tagger
    report = crf.report(X, y, title="Tags")
    assert repr(report) == f"Report('Tags', accuracy={report.scores.accuracy:.4g}; save(path) writes the HTML page)"
