"""Laws of mistakes on pages of reports: each is linked to its explanation, and no text of the data is obeyed."""

from __future__ import annotations

import re

import pytest

from loglinear import ChainCRF, MaxEnt, PairwiseMRF, TextClassifier, TraceRecord, evaluate
from loglinear.calibration import calibration
from loglinear.models.explain import mistake_explanations, network_report
from loglinear.report import charts
from loglinear.report.page import _curves
from oracles.pages import Page

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a'b&lt;", "\x1b[31m\x00\x85", "</style>"]


def tagger(n=8):
    """A tagger of names that are told by their first letter, and sentences in which it is mistaken."""
    X = [[f"a{k}", "in", f"B{k}"] for k in range(n)]
    y = [*[["B-PER", "O", "B-LOC"]] * (n - 1), ["B-PER", "I-PER", "O"]]
    crf = ChainCRF(template='U:%x[0,0]\nU1:%m[0,0,"^."]\nB\n', l2=0.1).fit(X, y)
    # The first name goes on, the second has another type or is not one.
    return crf, X, [["B-PER", "I-PER", other] for other in ("B-PER", "O")] * (n // 2)


@pytest.fixture(scope="module")
def report():
    """A report with mistakes."""
    crf, X, y = tagger()
    return crf, X, y, crf.report(X, y)


def links_and_places(page):
    """The places that the page links to, and those that it has."""
    links = [attributes["href"][1:] for tag, attributes in page.elements if tag == "a"]
    places = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len({*places}) == len(places)
    return links, places


def test_each_listed_mistake_is_linked_to_the_explanation_of_its_tokens(report):
    crf, X, _, found = report
    page = Page(found.html())
    links, places = links_and_places(page)
    assert {*links} <= {*places}
    examples = [example for mistake in found.entities.mistakes for example in mistake.examples]
    by_label = [example for mistake in found.mistakes for example in mistake.examples]
    wanted = {f"s{each.sentence}-{each.tokens[0]}" for each in examples}
    wanted |= {f"s{each.sentence}-{each.token}" for each in by_label}
    assert wanted <= {*links}
    assert len(wanted) > 3
    for number, (words, html) in found.reasons.parts.items():
        explanation = crf.explain(X[number - 1])
        numbers = sorted(int(place.partition("-")[2]) for place in places if place.startswith(f"s{number}-"))
        assert words == ", ".join(X[number - 1][at - 1] for at in numbers)
        parts = re.findall(r"<details(?: open)?><summary>.*?</details>", html)
        assert len(parts) == len(numbers)
        for at, part in zip(numbers, parts, strict=True):
            token, told = explanation[at - 1], re.sub("<.*?>", "", part)
            assert f"{token.label} {token.probability:.3f} not {token.other} {token.other_probability:.3f}" in told
            assert f"{token.difference:+.3f}" in told
            assert all(name in told for _, name, _ in token.strongest(6)[:6])


def test_the_table_of_chunks_has_the_numbers_of_the_entities(report):
    _, X, y, found = report
    page, scores = Page(found.html()), evaluate(y, report[0].predict(X))
    kinds, *rows = page.tables["Number of chunks by type and kind of mistake"]
    *types, total = rows
    assert {row[0]: dict(zip(kinds[1:], map(int, row[1:]), strict=True)) for row in types} == found.entities.counts
    assert [int(n) for n in total[1:]] == list(found.entities.total.values())
    (measures,) = (rows for name, rows in page.tables.items() if "SemEval" in name)
    strict = [f"{100 * share:.2f}" for share in (scores.precision, scores.recall, scores.f1)]
    assert measures[1][:4] == ["strict", *strict]


def test_scores_and_mistakes_come_before_settings(report):
    page = Page(report[3].html())
    order = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    expected = "scores mistakes reasons confusions calibration features transitions training data".split()
    assert order == expected
    assert [link for link in links_and_places(page)[0] if link in order] == order
    assert report[3].html() == report[0].report(*report[1:3]).html()


def test_the_number_and_the_size_of_explanations_have_limits(monkeypatch):
    crf, X, y = tagger()
    monkeypatch.setattr(mistake_explanations, "_SENTENCES", 2)
    found = crf.report(X, y)
    assert len(found.reasons.parts) == 2
    page = Page(found.html())
    links, places = links_and_places(page)
    assert {*links} <= {*places}
    assert {place.partition("-")[0] for place in places if "-" in place} == {f"s{n}" for n in found.reasons.parts}
    monkeypatch.setattr(mistake_explanations, "_LARGEST", 3 * 4**2 - 1)
    assert crf.report(X, y).reasons is None
    monkeypatch.setattr(mistake_explanations, "_LARGEST", 3 * 4**2)
    assert crf.report(X, y).reasons is not None
    monkeypatch.setattr(mistake_explanations, "_TOKENS", 2)
    assert crf.report(X, y).reasons is None
    texts = TextClassifier(l2=0.1).fit(["good film", "bad film"], ["+", "-"])
    (part,) = texts.report(["good " * 1000, "bad"], ["-", "-"]).reasons.parts.values()
    assert re.sub("<.*?>", "", part[1]).count("good") <= 402


def test_mistakes_of_samples_and_rows_are_explained_by_their_number(monkeypatch):
    X, y = [["good", "fine"], ["bad"], ["good"], ["bad", "fine"]], ["+", "-", "+", "-"]
    classifier = MaxEnt(l2=0.1).fit(X, y)
    found = classifier.report(X, ["+", "+", "+", "+"])
    assert [(number, words) for number, (words, _) in found.reasons.parts.items()] == [(2, "bad"), (4, "bad fine")]
    links, places = links_and_places(Page(found.html()))
    assert {link for link in links if "-" in link} == {place for place in places if "-" in place} == {"s2-1", "s4-1"}
    expected = classifier.explain(X)
    for number, (_, html) in found.reasons.parts.items():
        told = re.sub("<.*?>", "", html)
        assert all(f"{part.weight:+.3f}{part.name}" in told for part in expected[number - 1].contributions)
    monkeypatch.setattr(network_report, "_drawn", lambda *_: "")
    # Missing values have no label, but the other values keep the names of their variables.
    network = PairwiseMRF(l1=0.1).fit([["a", "b", "e"], ["c", "d", "f"]] * 4)
    found = network.report([[None, "b", "e"], [None, "b", "f"]])
    (row,) = found.reasons.parts
    words, html = found.reasons.parts[row]
    assert row == 2
    assert set(words.split(", ")) <= {"column 1=b", "column 2=f"}
    links, places = links_and_places(Page(found.html()))
    assert {link for link in links if "-" in link} == {place for place in places if place.startswith("s2-")} != set()


def test_hostile_labels_and_words_are_shown_and_not_obeyed():
    X, y = [[label, "x"] for label in HOSTILE], [[f"B-{label}", "O"] for label in HOSTILE]
    crf = ChainCRF(template="U:%x[0,0]\nB\n", l2=0.1).fit(X, y)
    pages = [crf.report(X, [["O", "O"], *([f"B-{label}"] * 2 for label in HOSTILE[1:])], title=HOSTILE[0]).html()]
    samples = [f"good {label}" for label in HOSTILE]
    texts = TextClassifier(l2=0.1).fit(samples, HOSTILE)
    pages.append(texts.report(samples, HOSTILE[::-1], title=HOSTILE[0]).html())
    for html in pages:
        page = Page(html)
        page.check_alone()
        tags = [tag for tag, _ in page.elements]
        assert (tags.count("script"), tags.count("style"), tags.count("img")) == (1, 1, 0)
        assert not {*map(ord, html)} & {0, 0x1B, 0x85}
        for label in HOSTILE:
            shown = label.replace("\x1b", r"\x1b").replace("\0", r"\x00").replace("\x85", r"\x85")
            assert page.text.count(shown) > 5


def curves(objectives, scores=(), iteration=None):
    """The values that are drawn, from the names of the curves and the ends that they tell."""
    records = [
        TraceRecord(k, k, k, 0.0, value, value, 1, 0.1, dev={"f1": scores[k]} if scores else None)
        for k, value in enumerate(objectives)
    ]
    return _curves(records, iteration)


def test_curves_begin_where_their_steep_part_ends():
    (falling,) = curves([1000.0, 900.0, 20.0, *[10.0 - k for k in range(9)]])
    assert "objective (nats) by iteration: from 20 to 2" in falling
    (line,) = curves([100.0 - k for k in range(12)])
    assert "from 100 to 89" in line
    # A fifth of the largest distance is still drawn, and so is a curve that is steep in its second half.
    (edge,) = curves([10.0, 2.0, 1.0, 0.0])
    assert "from 2 to 0" in edge
    (late,) = curves([10.0, 9.0, 8.0, 0.0])
    assert "from 10 to 0" in late
    # A peak after the beginning would flatten the rest as well.
    (peak,) = curves([1000.0, 5.0, 900.0, *[4.0 - k / 10 for k in range(10)]])
    assert "from 4 to 3.1" in peak
    assert "from 60 to 70" in curves([5.0] * 5, [0.0, 0.6, 0.65, 0.7, 0.7])[1]
    assert curves([1.0]) == []


def test_the_iteration_that_was_kept_is_marked_at_its_place():
    both = curves([100.0 - k for k in range(11)], [k / 20 for k in range(11)], 4)
    for svg in both:
        mark = re.search(r'class="marked" x1="([\d.]+)" x2="([\d.]+)"', svg)
        points = re.search(r'class="line" points="([^"]*)"', svg)[1].split()
        assert mark[1] == mark[2] == points[4].partition(",")[0]
        assert "kept: iteration 4<" in svg
    assert all("marked" not in svg for svg in curves([3.0, 2.0, 1.0], iteration=7))
    assert all("marked" not in svg for svg in curves([3.0, 2.0, 1.0]))


def test_bars_of_bins_are_intervals_of_wilson_and_numbers_stand_below():
    stats = pytest.importorskip("scipy.stats")
    right = [False, True, *[True] * 9, *[k % 3 > 0 for k in range(1500)]]
    of = calibration([0.05, 0.15, *[0.75] * 9, *[0.95] * 1500], right)
    svg = charts.reliability(of, "tokens")
    bars = re.findall(r'<line x1="[\d.]+" y1="([\d.]+)" x2="[\d.]+" y2="([\d.]+)"', svg.partition('class="bars"')[2])
    levels = {float(value): float(y) for y, value in re.findall(r'y="([\d.]+)" dy="4" [^>]*>([\d.]+)<', svg)}
    filled = [bin_ for bin_ in of.bins if bin_.n]
    for bin_, ends in zip(filled, bars, strict=True):
        expected = stats.binomtest(round(bin_.n * bin_.accuracy), bin_.n).proportion_ci(method="wilson")
        assert bin_.interval == pytest.approx((expected.low, expected.high), abs=1e-6)
        for share, y in zip(bin_.interval, ends, strict=True):
            assert float(y) == pytest.approx(levels[0.0] + share * (levels[1.0] - levels[0.0]), abs=0.2)
    numbers = re.search(r'<g class="numbers">(.*?)</g>', svg)[1]
    assert re.findall(r'"middle">(.*?)<', numbers) == ["1", "1", "9", "1.5k"]
    assert [bin_.interval for bin_ in of.bins if not bin_.n] == [None] * 6
    shown = [charts._rounded(n) for n in (999, 1000, 9_999, 10_000, 999_999, 1_000_000, 25_300_000)]
    assert shown == ["999", "1k", "9.9k", "10k", "999k", "1M", "25M"]
