"""The page of explanations and what notebooks show: complete, readable without JavaScript, and safe."""

import re
from html import unescape

import pytest

from loglinear import ChainCRF, PairwiseMRF, Tagging, TextClassifier
from loglinear.data.per_sentence import PerSentence
from loglinear.models.explain.explanation import Explanation
from loglinear.models.explain.explanation_page import explanation_page
from loglinear.models.explain.fragment import UNSURE
from loglinear.models.explain.token_explanation import Contribution, TokenExplanation
from oracles.browser import needs_browser, opened, without_scripts
from oracles.pages import Page

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a'b&lt;",
    "\x1b[31m\x00\x85",
    "</style>",
    "\u202e",
]


def token(at, text, label, probability, *, other="O", runner_up=(), parts=()):
    contributions = [Contribution(*part) for part in parts]
    difference = sum(part.weight for part in contributions)
    return TokenExplanation(
        at, text, label, probability, other, 1 - probability, list(runner_up or [other]), difference, contributions
    )


def sentence():
    """A sentence with a sure and an unsure name, and words that are surely outside both."""
    labels = ["O", "O", "B-PER", "I-PER", "O", "B-LOC"]
    words, sure = ["so", "said", "Ada", "Lovelace", "in", "York"], [0.99, 0.95, 0.97, 0.98, 0.99, 0.6]
    names = [("w", "word = it"), ("v", "next word = <b>")]
    tokens = []
    for at, (label, word, p) in enumerate(zip(labels, words, sure, strict=True)):
        other = "O" if label != "O" else "B-LOC"
        runner_up = [*labels[:at], other, *labels[at + 1 :]]
        parts = [(at, names[0][0], 2.0, names[0][1]), (max(at - 1, 0), names[1][0], -0.5, names[1][1])]
        tokens.append(token(at, word, label, p, other=other, runner_up=runner_up, parts=parts))
    return Explanation(tokens)


def open_parts(html):
    """Return the lines of the parts that are unfolded."""
    return [re.sub("<.*?>", "", line) for line in re.findall("<details open><summary>(.*?)</summary>", html)]


def test_the_page_has_every_contribution_and_links_words_to_them():
    html = explanation_page([sentence()] * 3, "Title")
    page = Page(html)
    page.check_alone()
    assert "script" not in {tag for tag, _ in page.elements}
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert len({*ids}) == len(ids) == 18
    assert {f"#{each}" for each in ids} == {*links}
    assert page.text.count("+2.000") == page.text.count("-0.500") == 18
    assert "next word = <b>" in page.text


def test_what_the_model_is_not_sure_of_is_unfolded_and_words_outside_chunks_are_folded():
    html = sentence().html()
    (line,) = open_parts(html)
    assert line.startswith("6 York B-LOC 0.600 not O")
    summaries = [re.sub("<.*?>", "", each) for each in re.findall("<summary>(.*?)</summary>", html)]
    assert [each.split(" ")[0] for each in summaries] == ["1–2", "1", "2", "3", "4", "5", "6"]
    assert "so said O at least 0.950" in summaries[0]
    assert UNSURE == 0.9


def test_words_of_a_chunk_are_marked_together_with_its_type():
    marked = re.search('<p class="text".*?</p>', sentence().html())[0]
    (chunk,) = re.findall(r'<span class="label"[^>]*><span>Ada.*?PER</small></span>', marked)
    assert re.sub("<.*?>", " ", chunk).split() == ["Ada", "Lovelace", "PER"]
    assert '<span class="unsure">York</span>' in marked


def test_bars_are_as_long_as_contributions_and_lie_on_the_side_of_their_label():
    html = Explanation([token(0, "w", "A", 0.5, parts=[(0, "f", 3.0, "f"), (0, "g", -1.5, "g")])]).html()
    bars = re.findall(r'<li class="(\w+)" style="--width:([\d.]+)%">', html)
    assert bars == [("for", "50.0"), ("against", "25.0")]
    assert re.findall('<li class="sides soft"><span><span>(.*?)</span><span>(.*?)</span>', html) == [("O", "A")]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["中国", "、", "人"], "中国、人"),
        (["한국", "사람"], "한국 사람"),
        (["a", "中", "b"], "a 中 b"),
        (["ไทย", "คน"], "ไทยคน"),
    ],
)
def test_words_have_blanks_between_them_as_their_script_has(words, text):
    other = {"other": "B", "runner_up": ["B"] * len(words)}
    html = Explanation([token(at, word, "A", 0.95, **other) for at, word in enumerate(words)]).html()
    marked = re.search('<p class="text".*?</p>', html)[0]
    assert re.sub("<.*?>", "", marked.replace('<small class="type">A</small>', "")) == text


def test_neighbours_with_the_same_runner_up_are_unfolded_once():
    tokens = [token(at, "w", "A", 0.5, runner_up=["B", "B"], other="B", parts=[(0, "f", 1.0, "f")]) for at in (0, 1)]
    html = Explanation(tokens).html()
    assert len(open_parts(html)) == 1
    assert "With B here, other labels change too: w A → B." in re.sub("<.*?>", "", html)


def test_of_many_labels_that_change_some_are_named():
    every = [
        token(at, "w", "A", 0.5, runner_up=["B"] * 300, other="B", parts=[(0, "f", 1.0, "f")]) for at in range(300)
    ]
    html = Explanation(every).html()
    assert "here, other labels change too: w A → B, w A → B, w A → B, w A → B, w A → B, w A → B, and 293 others." in (
        re.sub("<.*?>", "", html)
    )


def test_the_words_of_a_text_have_the_colours_of_their_contributions():
    parts = [(0, "good", 2.0, "good"), (0, "not good", -1.0, "not good"), (0, "(intercept)", 1.0, "(intercept)")]
    html = Explanation([token(0, "GOOD, not  good, goods (intercept)", "+", 0.9, parts=parts)], "texts").html()
    marked = re.search('<p class="text".*?</p>', html)[0]
    words = re.findall(r'<span class="word (\w+)" style="--share:([\d.]+)">(.*?)</span>', marked)
    # Two places share the contribution of a word; the second one is in the two words in a row, too.
    assert words == [("for", "0.50", "GOOD"), ("against", "0.50", "not  ")]
    assert re.sub("<.*?>", "", marked) == "GOOD, not  good, goods (intercept)"


@pytest.mark.parametrize("words", [True, False], ids=["words", "labels"])
def test_hostile_words_labels_and_features_are_shown_and_not_obeyed(words):
    explanations = [
        Explanation(
            [token(0, *((text, "B-A") if words else ("w", text)), 0.5, other=text, parts=[(0, text, 1.0, text)])], what
        )
        for text in HOSTILE
        for what in ("tokens", "texts", "samples", "variables")
    ]
    taggings = [Tagging([text, "O"], [0.5, 0.9], [], -1.0) for text in HOSTILE]
    page = explanation_page(explanations, HOSTILE[0])
    notebook = "".join(each._repr_html_() for each in [*explanations, *taggings])
    for html in (page, f"<!DOCTYPE html><h1></h1>{notebook}"):
        read = Page(html)
        read.check_alone()
        assert {tag for tag, _ in read.elements} <= {
            *"html head meta title style body header main section nav h1 h2 dl dt dd div p".split(),
            *"ul li a b i small span".split(),
            *"details summary wbr".split(),
        }
        assert not {*map(ord, html)} & {0, 0x1B, 0x85}
        assert HOSTILE[1] in read.text
        assert r"\x1b[31m\x00\x85" in read.text


def test_a_notebook_shows_labels_of_taggings_with_their_probabilities():
    X, y = [[["Ada"], ["Lovelace"], ["wrote"]]], [["B-PER", "I-PER", "O"]]
    crf = ChainCRF(l2=0.1).fit(X, y)
    (tagging,) = crf.tag(X)
    html = tagging._repr_html_()
    text = re.sub("<style>.*?</style>|<.*?>", "", html, flags=re.DOTALL)
    shares = [f"{label} {p:.3f}" for label, p in zip(tagging.labels, tagging.probabilities, strict=True)]
    assert text.startswith(f"{shares[0]} {shares[1]}PER {tagging.spans[0].probability:.3f} {shares[2]}")
    shown = crf.tag(X * 12)._repr_html_()
    assert shown.count("probability of all labels") == 10
    assert shown.endswith("<p>… and 2 more</p>")
    several = PerSentence([Tagging(["B-LOC"], [0.5], [], -1.0), Tagging(["B-PER", "B-LOC"], [0.5, 0.5], [], -1.0)])
    first, person, second = re.findall(r'style="--hue:(\d+)"', several._repr_html_())
    assert first == second != person
    assert crf.predict(X)._repr_html_() is None
    assert crf.tag([])._repr_html_() is None
    numbers = ChainCRF(l2=0.1).fit(X, [[1, 2, 1]]).tag(X)
    assert "2 0." in re.sub("<.*?>", "", numbers[0]._repr_html_())


def test_every_kind_of_explanation_says_what_it_explains():
    rows = [["rain", "wet"], ["sun", "dry"]] * 4
    explanations = PairwiseMRF(l1=0.1).fit(rows).explain([["rain", "dry"]])
    assert [each.explained for each in explanations] == ["variables"]
    assert len(open_parts(explanations._repr_html_())) == 2
    texts = TextClassifier(l2=0.1).fit(["good film", "bad film"], ["+", "-"])
    assert texts.explain(["good"]).explained == "texts"
    assert {*texts.explain(["good"]).to_dict()} == {"tokens"}


def pages():
    """Return a page of each kind by name."""
    hostile = Explanation([token(0, HOSTILE[0], f"B-{HOSTILE[1]}", 0.5, parts=[(0, "f", 1.0, HOSTILE[4])])])
    texts = TextClassifier(l2=0.1).fit(["good film", "bad film"], ["+", "-"])
    X, y = [[["Ada"], ["wrote"]]] * 4, [["B-PER", "O"]] * 4
    mistaken, rows = [["O", "B-PER"], *y[1:]], [["a", "b"], ["c", "d"]] * 4
    crf, network = ChainCRF(l2=0.1).fit(X, y), PairwiseMRF(l1=0.1).fit(rows)
    classes = ["-", "+"]
    return {
        "sentences": explanation_page([sentence(), hostile], HOSTILE[0]),
        "texts": explanation_page([texts.explain([text]) for text in ("good", "bad good")], "Texts", noun="Text"),
        "variables": explanation_page(network.explain([["a", "d"]]), ""),
        "report": crf.report(X, y).html(),
        "report of mistakes": crf.report(X, mistaken, title=HOSTILE[0]).html(),
        "report of texts": texts.report(["good film", "bad film"], classes).html(),
        "report of rows": network.report([["a", "d"], ["c", "b"]]).html(),
    }


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["sentences", "texts", "variables", "report", "report of mistakes", "report of texts", "report of rows"]
)
def test_a_browser_has_no_complaints_and_shows_all_without_javascript(name, tmp_path):
    path, page = tmp_path / "page.html", pages()[name]
    path.write_text(page, encoding="utf-8")
    complaints, _ = opened(path)
    assert complaints == []
    path.write_text(without_scripts(page), encoding="utf-8")
    _, document = opened(path)
    assert words_of(document) == words_of(page) != []
    assert document.count("<details") == page.count("<details") > 0


def words_of(html):
    """Return the words that a page shows."""
    return unescape(re.sub("<(style|script|title)>.*?</.*?>|<.*?>", " ", html, flags=re.DOTALL)).split()


@needs_browser
@pytest.mark.slow
def test_a_link_to_a_word_unfolds_its_reasons(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(pages()["sentences"], encoding="utf-8")
    _, html = opened(path, "#s1-1")
    lines = open_parts(html.replace('open=""', "open"))
    assert [line.split(" not")[0] for line in lines[:2]] == ["1–2 so said O at least 0.950", "1 so O 0.990"]
    path.write_text(pages()["report of mistakes"], encoding="utf-8")
    lines = [open_parts(opened(path, place)[1].replace('open=""', "open")) for place in ("", "#s1-2")]
    assert [["Sentence 1: Ada, wrote" in part for part in each].count(True) for each in lines] == [0, 1]
