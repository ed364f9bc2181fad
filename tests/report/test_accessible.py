"""axe finds no serious barrier in the pages that loglinear writes, light or dark, on wide screens or narrow ones."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import ChainCRF, PairwiseMRF
from loglinear.models.explain.edges import drawing
from loglinear.models.explain.explanation_page import explanation_page
from loglinear.report.audit_page import audit_page
from loglinear.report.interactive import interactive
from oracles.browser import findings, needs_axe

WORDS = [["Ada", "Lovelace", "met", "him", "in", "York"], ["they", "saw", "York", "and", "Ada"]]
TAGS = [["B-PER", "I-PER", "O", "O", "O", "B-LOC"], ["O", "O", "B-LOC", "O", "B-PER"]]


def chain():
    return ChainCRF(l2=1.0).fit([[[word] for word in each] for each in WORDS * 5], TAGS * 5)


def network():
    rng = np.random.default_rng(0)
    level = rng.integers(3, size=200)
    noisy = [np.where(rng.random(200) < 0.4, rng.integers(3, size=200), each) for each in (level, 2 - level, level)]
    X = np.column_stack([*noisy[:2], np.array(["low", "middle", "high"])[noisy[2]]]).astype(object)
    return PairwiseMRF(l1=5.0).fit(X), X


def audited():
    columns = ["accept", "finding", "line", "word", "given", "suggested", "probability", "suggested_probability"]
    columns += ["alike", "reason", "context"]
    rows = [["", "1", "3", "York", "O", "B-LOC", "0.1", "0.9", "2 of 3", "word = York", "in [York] ,"],
            ["-", "2", "9", "Ada", "O", "B-PER", "0.1", "0.9", "", "", "and [Ada] said"],
            ["x", "3", "9", "Ada", "O", "B-PER", "0.1", "0.9", "", "", "and [Ada] said"]]  # fmt: skip
    return audit_page(columns, rows, ["O", "B-LOC", "B-PER"], title="Audit", file="a.tsv", command="loglinear audit")


def pages():
    """A page of each kind."""
    crf, (mrf, X) = chain(), network()
    features = [[[word] for word in each] for each in WORDS]
    wrong = [["O"] * len(each) for each in TAGS]
    return {
        "report of a chain": crf.report(features * 9, (TAGS + wrong + TAGS) * 3).html(),
        "report of a network": mrf.report(X).html(),
        "explanation of sentences": explanation_page([crf.explain(each) for each in features], "Explanation"),
        "explanation of variables": explanation_page(mrf.explain(X[:3]), "Explanation", noun="Sample"),
        "audit": audited().decode(),
        "network": interactive(*drawing(mrf, ["first", "second", "third"])).decode(),
    }


@needs_axe
@pytest.mark.slow
def test_axe_finds_no_serious_barrier(tmp_path):
    found = {}
    for name, page in pages().items():
        path = tmp_path / f"{name}.html"
        path.write_text(page, encoding="utf-8")
        for dark, width in ((False, 1280), (True, 390)):
            found[name, dark, width] = findings(path, dark=dark, width=width)
    assert {where: what for where, what in found.items() if what} == {}


@needs_axe
@pytest.mark.slow
def test_axe_finds_a_barrier(tmp_path):
    path = tmp_path / "page.html"
    body = '<main><h1>Page</h1><p style="color: #bbb; background: #fff">grey</p><img src="x.png"></main>'
    path.write_text(f'<!DOCTYPE html><html lang="en"><head><title>Page</title></head><body>{body}</body></html>')
    assert {rule for rule, *_ in findings(path, dark=False)} == {"color-contrast", "image-alt"}
