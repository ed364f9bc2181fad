"""A column of weights says the same as the token weights of JSON lines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from loglinear import ChainCRF, Corpus, CorpusFile, _core
from loglinear.data.column_layout import ColumnLayout
from loglinear.errors import DataError, OptionError, TemplateError

ROWS = [
    [("Ann", "B-PER", 2.0), ("left", "O", 0.5)],
    [("Oslo", "B-LOC", 1.0), ("is", "O", 0.0), ("big", "O", 3.25)],
    [("Bo", "B-PER", 0.0), ("saw", "O", 0.0), ("Oslo", "B-LOC", 7.5)],
]
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"


def columns(order, separator=" "):
    """Return the rows as columns: w is the word, l its label, c the weight, x something else."""
    cells = {"w": lambda row: row[0], "l": lambda row: row[1], "c": lambda row: f"{row[2]:g}", "x": lambda row: "x"}
    lines = [[separator.join(cells[name](row) for name in order) for row in rows] for rows in ROWS]
    return "\n\n".join(map("\n".join, lines)) + "\n"


def trained(corpus):
    return ChainCRF(l2=0.1).fit(corpus)


@pytest.fixture(scope="module")
def of_lists():
    X, y = [[[word] for word, _, _ in rows] for rows in ROWS], [[label for _, label, _ in rows] for rows in ROWS]
    corpus = Corpus.encode(X, y, template=TEMPLATE, token_weight=[[cost for _, _, cost in rows] for rows in ROWS])
    return trained(corpus)


@pytest.mark.parametrize(
    ("order", "label", "weight"), [("wlc", 1, 2), ("wcl", -1, -2), ("lwc", 0, -1), ("cwl", 2, 0), ("wxcl", 3, 2)]
)
def test_weights_are_those_of_lists_wherever_the_column_is(of_lists, tmp_path, order, label, weight):
    (tmp_path / "data").write_text(columns(order))
    options = {"template": TEMPLATE, "label_column": label, "weight_column": weight}
    corpus = Corpus.read(tmp_path / "data", **options)
    assert corpus.columns.n == len(order) - 2
    crf = trained(corpus)
    np.testing.assert_array_equal(crf.result_.w, of_lists.result_.w)
    corpus.save(tmp_path / "encoded")
    np.testing.assert_array_equal(trained(Corpus.open(tmp_path / "encoded")).result_.w, of_lists.result_.w)
    plain = trained(Corpus.read(tmp_path / "data", template=TEMPLATE, label_column=label)) if order == "wlc" else None
    assert plain is None or not np.array_equal(plain.result_.w, of_lists.result_.w)


def test_weights_are_encoded_and_a_corpus_knows_their_column(of_lists, tmp_path):
    (tmp_path / "data").write_text(columns("wcl"))
    first, rest = tmp_path / "first", tmp_path / "rest"
    for path, sentences in ((first, ROWS[:1]), (rest, ROWS[1:])):
        path.write_text("\n\n".join("\n".join(f"{w} {c} {label}" for w, label, c in rows) for rows in sentences) + "\n")
    with CorpusFile(tmp_path / "a", template=TEMPLATE) as corpus:
        corpus.add(tmp_path / "data", weight_column=1)
    with CorpusFile(tmp_path / "b", template=TEMPLATE) as corpus:
        corpus.keep_frequent([first], 1, weight_column=1)
        corpus.add(first, weight_column=-2)
    with CorpusFile(tmp_path / "b", append=True) as corpus:
        corpus.keep_frequent([first, rest], 1)
        corpus.add(rest)
    for name in "ab":
        crf = trained(Corpus.open(tmp_path / name))
        np.testing.assert_array_equal(crf.result_.w, of_lists.result_.w)
        assert json.loads(crf.model_.settings)["columns"]["weight"] in (1, -2)


def test_a_model_knows_the_column_and_labels_the_same_words(of_lists, tmp_path):
    (tmp_path / "data").write_text(columns("wcl"))
    crf = trained(Corpus.read(tmp_path / "data", template=TEMPLATE, weight_column=1))
    settings = json.loads(crf.model_.settings)
    assert settings["columns"] == {"separator": None, "label": -1, "skip_comments": False, "n": 1, "weight": 1}
    crf.save(tmp_path / "m")
    assert ChainCRF.load(tmp_path / "m").predict([["Ann"], ["Oslo"]]) == of_lists.predict([["Ann"], ["Oslo"]])


@pytest.mark.parametrize("cell", ["-1", "nan", "inf", "1e999", "heavy", "0,5"])
def test_a_cell_that_is_no_weight_is_named(tmp_path, cell):
    (tmp_path / "data").write_text(f"Ann 1 B-PER\nleft {cell} O\n")
    with pytest.raises(DataError, match=rf"data, line 2: the weight \"{cell}\" is not a finite number >= 0"):
        Corpus.read(tmp_path / "data", template=TEMPLATE, weight_column=1)


def test_what_does_not_go_together_is_refused(tmp_path):
    (tmp_path / "data").write_text("Ann 1 B-PER\nleft 2 O\n")
    for weight, says in ((2, "column 2 is both the label and the weight"), (-1, "is both"), (3, "no column 3 for the")):
        with pytest.raises(DataError, match=says):
            Corpus.read(tmp_path / "data", template=TEMPLATE, weight_column=weight)
    (tmp_path / "short").write_text("1 B-PER\n2 O\n")
    with pytest.raises(TemplateError, match="has 0 columns besides the label and the weight"):
        Corpus.read(tmp_path / "short", template=TEMPLATE, weight_column=0)
    with pytest.raises(OptionError, match="--weight-column is for labelled data"):
        Corpus.read(tmp_path / "data", template=TEMPLATE, labelled=False, weight_column=1)
    (tmp_path / "data.jsonl").write_text('{"tokens": [["Ann"]], "labels": ["B-PER"]}\n')
    with pytest.raises(OptionError, match="--weight-column and --skip-comments are for the format columns"):
        Corpus.read(tmp_path / "data.jsonl", template=TEMPLATE, weight_column=0)


@pytest.mark.parametrize(
    ("layout", "n_cells", "roles"),
    [
        (ColumnLayout(n=1, weight=0), 3, (2, 0)),
        (ColumnLayout(n=1, weight=0), 2, (1, None)),
        (ColumnLayout(n=1, weight=0), 1, (None, None)),
        (ColumnLayout(n=1, weight=-1, label=0), 3, (0, 2)),
        (ColumnLayout(n=1, weight=-1, label=0), 2, (0, None)),
        (ColumnLayout(n=1, weight=0, label=2), 2, (1, None)),
        (ColumnLayout(n=1, weight=0), 5, (None, None)),
        (ColumnLayout(n=2), 3, (2, None)),
        (ColumnLayout(n=2), 2, (None, None)),
        (ColumnLayout(weight=0), 4, (3, 0)),
    ],
)
def test_the_number_of_columns_says_which_are_there(layout, n_cells, roles):
    assert layout.roles(n_cells) == roles


def drawn_layouts(n_layouts):
    """Layouts, and by number of cells the place of label and weight, from rows that are built and then cut."""
    rng = np.random.default_rng(0)
    for _ in range(n_layouts):
        n, weighted = int(rng.integers(1, 5)), bool(rng.integers(0, 2))
        inputs = [f"x{k}" for k in range(n)]
        extras = ["label", "weight"] if weighted else ["label"]
        whole = list(rng.permutation(inputs + extras))
        inputs = [cell for cell in whole if cell in inputs]
        numbers = {name: int(whole.index(name) - rng.integers(0, 2) * len(whole)) for name in extras}
        layout = ColumnLayout(label=numbers["label"], n=n, weight=numbers.get("weight"))
        kinds = [whole, [cell for cell in whole if cell != "weight"], inputs]
        yield layout, [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]


def test_the_rule_of_layouts_is_that_of_rows_from_which_columns_are_cut(tmp_path):
    for layout, kinds in drawn_layouts(200):
        for cells in kinds:
            places = tuple(cells.index(name) if name in cells else None for name in ("label", "weight"))
            assert layout.roles(len(cells)) == places, (layout, cells)
        assert layout._replace(n=0).roles(len(kinds[0])) == tuple(
            kinds[0].index(name) if name in kinds[0] else None for name in ("label", "weight")
        )
        for n_cells in (len(kinds[0]) + 1, len(kinds[0]) + 3):
            assert layout.roles(n_cells) == (None, None)


def test_readers_take_the_columns_that_the_layout_says(tmp_path):
    for layout, kinds in drawn_layouts(40):
        template = "".join(f"U{k}:%x[0,{k}]\n" for k in range(layout.n))
        inputs = [f"U{k}:{cell}" for k, cell in enumerate(kinds[-1])]
        for cells in kinds:
            (tmp_path / "data").write_text(" ".join(cells).replace("weight", "2") + "\n")
            for labels in ("none", "whole")[: 2 if "label" in cells else 1]:
                core = _core.Corpus.read(
                    str(tmp_path / "data"), "columns", template, labels=labels, columns=layout.options, threads=1
                )
                assert sorted(core.names()) == sorted(inputs), (layout, cells)
                assert core.labels == (["label"] if labels == "whole" else [])
            if "weight" in cells:  # only training data have costs
                columns = layout._replace(n=0).options
                core = _core.Corpus.read(
                    str(tmp_path / "data"), "columns", template, labels="whole", columns=columns, threads=1
                )
                assert core.costs().tolist() == [2.0], (layout, cells)


@pytest.mark.parametrize(
    ("layout", "rows", "label"),
    [
        (ColumnLayout(n=1, weight=-1, label=0), ["Ann 2", "left 0.5"], 1),
        (ColumnLayout(n=1, weight=0), ["2 Ann", "1 left"], 0),
        (ColumnLayout(n=1, weight=1), ["Ann 2", "left 1"], 1),
        (ColumnLayout(n=2, weight=1, label=-1), ["Ann 2 x", "left 1 y"], 1),
        (ColumnLayout(n=1, weight=-1, label=0), ["O Ann", "O 2"], None),  # a label of the model
        (ColumnLayout(n=1, weight=-1, label=0), ["Ann 2", "left x"], None),  # no number
        (ColumnLayout(n=1, weight=-1, label=0), ["Ann", "left"], None),
        (ColumnLayout(n=1, weight=-1, label=0), ["O Ann 2", "O left 2"], None),
        (ColumnLayout(n=1, label=0), ["Ann 2", "left 1"], None),
    ],
)
def test_weights_without_labels_are_told_by_their_cells(layout, rows, label):
    found = layout.for_weights_alone([row.split() for row in rows], ["O", "B-PER"])
    assert found == (layout if label is None else layout._replace(label=label, weight=None))
