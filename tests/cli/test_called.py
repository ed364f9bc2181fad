"""What `inspect` and `explain` call the columns and samples of a classifier."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import MaxEnt

pandas = pytest.importorskip("pandas")

TEXTS, Y = ["a good film", "a bad film", "good fun", "bad luck"], ["+", "-", "+", "-"]
TABLE = pandas.DataFrame(np.eye(4, 3) + np.arange(4)[:, None], columns=["age", "mean radius", "size"])


@pytest.mark.parametrize(
    ("X", "line", "strongest"),
    [
        (TABLE, "4 of 4, on 3 columns and the intercept", "  mean radius  -> "),
        (TABLE.to_numpy(), "4 of 4, on 3 columns and the intercept", "  column 1  -> "),
        (TABLE.assign(none=0.0), "4 of 5, on 3 of 4 columns and the intercept", "  mean radius  -> "),
        ([text.split() for text in TEXTS], "7 of 7, on 6 attributes and the intercept", "  good  -> "),
    ],
    ids=["table", "matrix", "column of zeros", "attributes"],
)
def test_inspect_counts_columns_without_the_intercept(X, line, strongest, done, tmp_path):
    MaxEnt(l2=0.1).fit(X, Y).save(tmp_path / "m")
    shown = done("inspect", tmp_path / "m").stdout
    assert f"active features  {line}\n" in shown
    assert strongest in shown
    assert "format Python " in shown


def test_inspect_names_no_intercept_of_a_classifier_without_one(done, tmp_path):
    MaxEnt(l2=0.1, fit_intercept=False).fit(TABLE, Y).save(tmp_path / "m")
    assert "active features  3 of 3, on 3 columns\n" in done("inspect", tmp_path / "m").stdout


def test_a_sample_is_called_a_sample_and_its_columns_by_their_names(done, tmp_path):
    MaxEnt(l2=0.1).fit(TABLE, Y).save(tmp_path / "m")
    rows = TABLE.to_numpy().tolist()
    (tmp_path / "data.svmlight").write_text("".join(f"+ 0:{a} 1:{b} 2:{c}\n" for a, b, c in rows))
    shown = done("explain", tmp_path / "m", tmp_path / "data.svmlight").stdout
    assert shown.startswith("Sample 1\n  1  + ")
    assert "  mean radius\n" in shown
    page = done("explain", tmp_path / "m", tmp_path / "data.svmlight", "--html").stdout
    assert "<h2>Sample 2</h2>" in page
    assert "Each sample has its label" in page
