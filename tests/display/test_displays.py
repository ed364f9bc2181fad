"""Displays of notebooks, text of screens, and data frames: equal to the objects' own figures, small, and safe."""

from __future__ import annotations

import math
import re
from functools import cache
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from loglinear import ChainCRF, Corpus, DataError, MaxEnt, PairwiseMRF, Span, Tagging, compare_networks, evaluate
from loglinear.models.explain.edges import drawing
from loglinear.models.explain.explanation import Explanation
from loglinear.models.explain.token_explanation import Contribution, TokenExplanation
from loglinear.models.training.resampling import EdgeConfidence
from loglinear.result import Result, Status
from loglinear.trace import Trace, TraceRecord
from oracles.missing import printed
from oracles.pages import Page

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\x1b[31m\x00\x85\n",
    "</style>",
    "\u202e",
    "&lt;",
]
NAMES = """corpus sentence unlabelled empty trace result labels explanation token tagging edges confidence
centrality predictability stability comparison estimator""".split()
MANY = [*HOSTILE, *(f"a label with a long name, number {k}" for k in range(40))]


def records(n):
    return Trace(
        TraceRecord(
            k,
            k + 1.0,
            k + 1,
            k / 7,
            1e6 / (k + 3),
            1e6 / (k + 4),
            1000 * k,
            math.nan if k == 2 else 10 / (k + 1),
            dev={"f1": k / 90},
        )
        for k in range(n)
    )


@cache
def network():
    """A network of two variables of three states and two of two states, whose names are hostile."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 300)
    b = np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), a)
    c = np.where(rng.random(300) < 0.1, rng.integers(0, 2, 300), b > 0)
    d = np.where(rng.random(300) < 0.1, rng.integers(0, 2, 300), 1 - c)
    frame = pd.DataFrame({HOSTILE[0]: np.array(HOSTILE[:3])[a], HOSTILE[1]: b, "c": c, HOSTILE[2]: d})
    return PairwiseMRF(l1=3.0).fit(frame), frame


@cache
def displays():
    """Objects that display themselves, with hostile names, large and small."""
    words = [MANY, HOSTILE[:1]]
    corpus = Corpus.encode([[[word] for word in row] for row in words], words)
    tokens = [
        TokenExplanation(at, word, word, 0.5, word, 0.25, MANY, 1.25, [Contribution(at, word, 1.25 / 3, word)] * 3)
        for at, word in enumerate(MANY)
    ]
    mrf, frame = network()
    confidence = EdgeConfidence(
        np.array([[0, 1], [0, 2]]), np.array([1.0, 1 / 3]), np.zeros(2), np.ones(2), 0.95, 3, HOSTILE
    )
    trace = records(50)
    last = trace[-1]
    return {
        "corpus": corpus,
        "sentence": corpus[0],
        "unlabelled": Corpus.encode([[HOSTILE]]),
        "empty": Corpus.encode([]),
        "trace": trace,
        "result": Result(
            np.ones(3),
            Status.MAX_ITERATIONS,
            trace,
            last.objective,
            last.nll,
            last.violation,
            49,
            50.0,
            50,
            7.0,
            None,
            chosen=HOSTILE[0],
        ),
        "labels": evaluate(words, [MANY[1:] + MANY[:1], HOSTILE[1:2]]),
        "explanation": Explanation(tokens),
        "token": Explanation(tokens[:1], "samples"),
        "tagging": Tagging(MANY, [1 / 3] * len(MANY), [Span(HOSTILE[0], 0, 2, 2 / 3)], -1.0),
        "edges": mrf.named_edges(),
        "confidence": confidence,
        "centrality": mrf.centrality(),
        "predictability": mrf.predictability(frame),
        "stability": mrf.stability(frame, 2, drops=[0.5]),
        "comparison": compare_networks(frame, frame[:200], clone(mrf), n=1, groups=(HOSTILE[0], HOSTILE[1])),
        "estimator": MaxEnt(l2=0.5).fit([[word] for word in HOSTILE * 2], HOSTILE * 2),
    }


def test_every_display_is_tested():
    assert NAMES == [*displays()]


@pytest.mark.parametrize("name", NAMES)
def test_a_display_shows_hostile_names_and_does_not_obey_them(name):
    html = displays()[name]._repr_html_()
    page = Page(f"<!DOCTYPE html><h1></h1>{html}")
    page.check_alone()
    tags = "h1 table caption thead tbody tr th td div style p span small b details summary ul li i code wbr"
    assert {tag for tag, _ in page.elements} <= {*tags.split()}
    assert not {*map(ord, html)} & {0, 0x1B, 0x85}
    assert html.isascii() or html.encode()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "labels"])
def test_what_is_printed_fits_a_screen_and_is_rounded(name):
    text = str(displays()[name])
    lines = text.split("\n")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert not re.search(r"\d\.\d{6}", text)
    assert not {*map(ord, text)} & {0, 0x1B, 0x85}


def cells(html, table):
    """Return the rows of a table of a display, as texts."""
    rows = re.findall("<tr>(.*?)</tr>", re.findall("<table.*?</table>", html, re.DOTALL)[table], re.DOTALL)
    return [re.findall("<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_an_evaluation_shows_and_returns_its_own_figures():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"], ["B-LOC"]]
    found = evaluate(gold, [["B-PER", "I-PER", "O", "O"], ["B-LOC", "B-LOC"], ["O"]])
    html, frame = found._repr_html_(), found.to_frame()
    assert dict(cells(html, 0))["accuracy"] == f"{100 * found.accuracy:.2f} %"
    assert dict(cells(html, 0))["F1"] == f"{100 * found.f1:.2f} %"
    head, *rows = cells(html, 1)
    assert [name.lower() for name in head] == ["type", *frame.columns]
    for name, *figures in rows:
        score = found.per_type[name]
        assert figures[:3] == [f"{100 * score[key]:.2f}" for key in ("precision", "recall", "f1")]
        assert figures[3:] == [str(score[key]) for key in ("support", "predicted", "correct")]
        assert frame.loc[name].to_dict() == score
    assert found.to_frame("label").to_dict("index") == found.per_label
    assert frame.index.name == "type"
    assert cells(html, 2)[1:] == [["B-LOC", "O", "2"], ["O", "B-LOC", "1"]]
    plain = evaluate([["A"]], [["A"]])
    assert plain.to_frame().index.tolist() == ["A"]
    with pytest.raises(ValueError, match="by"):
        plain.to_frame("type")


def test_a_result_shows_and_returns_its_trace():
    result = displays()["result"]
    frame = result.to_frame()
    assert frame.index.tolist() == [record.iteration for record in result.trace]
    assert frame["objective"].tolist() == [record.objective for record in result.trace]
    assert frame["dev_f1"].tolist() == [record.dev["f1"] for record in result.trace]
    head, *rows = cells(result._repr_html_(), 1)
    assert [int(row[0]) for row in rows] == [*range(10), *range(40, 50)]
    assert rows[-1][2] == f"{result.objective:,.2f}"
    assert rows[2][head.index("violation")] == ""
    assert dict(cells(result._repr_html_(), 0))["weights"] == "3 of 3 are not 0"
    assert (
        repr(result)
        == f"<Result: stopped at the iteration limit after 49 iterations, objective {result.objective:,.2f}>"
    )
    fitted = ChainCRF(l2=0.1).fit([[["a"]], [["b"]]], [["A"], ["B"]]).result_
    assert f"{fitted.objective:,.2f}" in fitted._repr_html_()
    assert str(fitted).replace("\n", " ") == fitted.account


def test_a_corpus_shows_words_and_labels():
    corpus = Corpus.encode([["Dogs", "bark"], ["Cats"]], [["NOUN", "VERB"], ["NOUN"]], template="ner")
    assert str(corpus).splitlines()[1:] == ["  Dogs/NOUN bark/VERB", "  Cats/NOUN"]
    assert str(corpus[0]).splitlines()[1:] == ["  Dogs  NOUN", "  bark  VERB"]
    assert repr(corpus[1]).startswith("<Corpus of 1 sentence, 1 token, ")
    assert '<span class="token">Dogs<small>NOUN</small></span>' in corpus._repr_html_()
    partial = Corpus.encode([["a", "b", "c"]], [[None, {"A", "B"}, {"A": 0.7, "B": 0.3}]], template="pos")
    assert [line.split() for line in str(partial).splitlines()[1:]] == [["a", "?"], ["b", "A|B"], ["c", "A:0.7|B:0.3"]]
    first = Corpus.encode([["a", "b"]], template="U0:%x[0,0]\nU1:%x[-1,0]\n")
    assert str(first).splitlines()[1:] == ["  a", "  b"]
    without = Corpus.encode([["a", "b"]], template="U0:%x[-1,0]/%x[0,0]\n")
    assert str(without).splitlines()[1:] == ["  U0:_B-1/a", "  U0:a/b"]
    long = Corpus.encode([["w"] * 50] * 9, [["A"] * 50] * 9, template="pos")
    assert str(long).splitlines()[-1] == "  … and 6 more sentences"
    assert str(long[0]).splitlines()[-1] == "  … and 30 more tokens"


def test_contributions_of_an_explanation_add_up_to_its_differences():
    X, y = [[["Ada"], ["wrote"]], [["She"], ["sang"]]], [["B-PER", "O"], ["O", "O"]]
    explanation = ChainCRF(l2=0.1).fit(X, y).explain(X[0])
    frame = explanation.to_frame()
    assert [*frame.columns] == ["token", "text", "label", "other", "at", "feature", "name", "contribution"]
    sums = frame.groupby("token")["contribution"].sum()
    assert sums.to_dict() == pytest.approx({each.token: each.difference for each in explanation})
    (row,) = MaxEnt(l2=0.1).fit([["good"], ["bad"]], ["+", "-"]).explain([["good"]])
    assert Explanation([row], "samples").to_frame()["sample"].tolist() == [0] * len(row.contributions)


def test_a_tagging_returns_its_labels_and_spans():
    tagging = Tagging(["B-PER", "I-PER", "O"], [0.9, 0.8, 1 / 3], [Span("PER", 0, 2, 0.75)], -0.5)
    frame = tagging.to_frame()
    assert frame["label"].tolist() == tagging.labels
    assert frame["probability"].tolist() == tagging.probabilities
    assert frame["span"].tolist()[:2] == ["PER"] * 2
    assert frame["span"].isna().tolist() == [False, False, True]
    assert frame["span_probability"].tolist()[:2] == [0.75] * 2
    text = re.sub("<style>.*?</style>|<[^>]*>", "", tagging.html(["Ada", HOSTILE[0], "wrote"]), flags=re.DOTALL)
    assert unescape(text).startswith(f"Ada {HOSTILE[0]}PER 0.750 wrote")
    chinese = re.sub("<style>.*?</style>|<[^>]*>", "", tagging.html(["中", "国", "人"]), flags=re.DOTALL)
    assert chinese.startswith("中国PER 0.750人")
    with pytest.raises(DataError, match="2 words for 3 labels"):
        tagging.html(["Ada", "wrote"])
    assert str(tagging).splitlines() == [
        f"probability of all labels together: {math.exp(-0.5):.3g}",
        "   1  B-PER  0.900  PER 0.750, 2 tokens",
        "   2  I-PER  0.800",
        "   3  O      0.333",
    ]


def test_edges_have_the_names_strengths_and_signs_of_the_network():
    mrf, X = network()
    frame, names = mrf.named_edges().to_frame(), mrf.feature_names_in_.tolist()
    by_names = {(names[i], names[j]): at for at, (i, j) in enumerate(mrf.edges_.tolist())}
    assert len(frame) == len(by_names)
    assert frame["strength"].is_monotonic_decreasing
    *_, signs = drawing(mrf, names)
    for first, second, strength, sign in frame.itertuples(index=False):
        at = by_names[first, second]
        assert strength == mrf.strengths_[at]
        assert (0 if pd.isna(sign) else sign) == signs[at]
        assert mrf.weights_[at].shape != (2, 2) or sign == np.sign(mrf.weights_[at][1, 1]) == -1
    assert frame["sign"].hasnans
    weights = mrf.named_edges().to_frame(states=True)
    assert np.linalg.norm(weights["weight"]) == pytest.approx(np.linalg.norm(mrf.strengths_))
    confidence = mrf.edge_confidence(X, 2, random_state=0)
    table = confidence.to_frame()
    for name in ("share", "lower", "upper"):
        assert table[name].tolist() == getattr(confidence, "shares" if name == "share" else name).tolist()
    assert [names.index(name) for name in table["second"]] == confidence.edges[:, 1].tolist()


def test_every_estimator_shows_its_own_display_and_not_scikit_learns():
    for estimator in (ChainCRF(), MaxEnt(), network()[0]):
        shown = estimator._repr_mimebundle_(include=None, exclude=None)
        assert shown == {"text/plain": repr(estimator), "text/html": estimator._repr_html_()}


def test_a_missing_pandas_is_named_and_displays_need_no_package():
    program = """
from loglinear import Corpus, MissingPackageError, evaluate
found = evaluate([["A"]], [["A"]])
print("<table" in found._repr_html_(), sorted({"jinja2", "pandas", "IPython"} & {*sys.modules}))
try:
    found.to_frame()
except MissingPackageError as error:
    print(error)
"""
    assert printed(["pandas", "jinja2", "IPython"], program) == [
        "True []",
        "Evaluation.to_frame needs pandas; install it: pip install pandas",
    ]
