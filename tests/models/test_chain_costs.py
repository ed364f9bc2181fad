"""Costs of wrong labels in `ChainCRF`: recall of rare labels, files, formats of data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from loglinear import ChainCRF, Checkpoint, Corpus, DataError, OptionError, evaluate


def skewed(n=200, seed=0):
    """Sentences with a rare label on a word that has the frequent one more often."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(0, 4, 6)
        X.append([[f"w{word}"] for word in words])
        y.append(["X" if word == 0 and rng.random() < 0.42 else "O" for word in words])
    return X, y


def recall(crf, X, y):
    scores = evaluate(y, crf.predict(X))
    return scores.per_label["X"]["recall"]


def test_a_higher_cost_of_a_rare_label_raises_its_recall():
    X, y = skewed()
    found = [recall(ChainCRF(class_weight=weight).fit(X, y), X, y) for weight in (None, {"X": 3.0, "O": 0.0})]
    assert found[0] < 0.5
    assert found[1] > 0.8


def test_costs_of_tokens_are_class_weights_token_by_token():
    X, y = skewed(60)
    by_label = ChainCRF(class_weight={"X": 3.0, "O": 0.5}).fit(X, y)
    by_token = ChainCRF().fit(X, y, token_weight=[[3.0 if label == "X" else 0.5 for label in row] for row in y])
    assert by_label.result_.objective == by_token.result_.objective
    np.testing.assert_array_equal(by_label.result_.w, by_token.result_.w)


def test_a_file_keeps_class_weights_of_labels_of_any_type(tmp_path):
    for label_of, weights in ((str, {"1": 2.0}), (int, {1: 2.0, 0: 0.5}), (bool, {True: 2.0}), (str, "balanced")):
        X, y = skewed(20)
        y = [[label_of(int(label == "X")) for label in row] for row in y]
        crf = ChainCRF(class_weight=weights).fit(X, y)
        crf.save(tmp_path / "m")
        loaded = ChainCRF.load(tmp_path / "m")
        assert loaded.class_weight == weights
        assert loaded.predict(X) == crf.predict(X)


def test_a_corpus_has_its_own_costs():
    X, y = skewed(20)
    costs = [[1.0] * len(row) for row in y]
    corpus = Corpus.encode(X, y, token_weight=costs)
    assert ChainCRF().fit(corpus).result_.objective == ChainCRF().fit(X, y, token_weight=costs).result_.objective
    with pytest.raises(DataError, match="leave out y, sample_weight and token_weight"):
        ChainCRF().fit(corpus, token_weight=costs)


def test_json_lines_carry_costs_of_tokens(tmp_path):
    X, y = skewed(20)
    costs = [[float(t) for t in range(len(row))] if at % 2 else None for at, row in enumerate(y)]
    with open(tmp_path / "train.jsonl", "w") as file:
        for tokens, labels, prices in zip(X, y, costs, strict=True):
            line = {"tokens": tokens, "labels": labels} | ({} if prices is None else {"token_weights": prices})
            print(json.dumps(line), file=file)
    read, encoded = Corpus.read(tmp_path / "train.jsonl"), Corpus.encode(X, y, token_weight=costs)
    np.testing.assert_array_equal(read.core.costs(), encoded.core.costs())


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("[1, -2]", "line 1: token 1: weight -2 is not a finite number >= 0"),
        ("[1]", "line 1: 1 token weights for 2 tokens"),
        ("[1, null]", 'line 1: "token_weights" must be a list with a number of at least 0 for each token'),
        ("3", 'line 1: "token_weights" must be a list'),
    ],
)
def test_bad_costs_in_json_lines_are_refused_with_the_line(tmp_path, weights, message):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"tokens": ["a", "b"], "labels": ["A", "B"], "token_weights": {weights}}}\n')
    with pytest.raises(DataError, match=message):
        Corpus.read(path)


def test_a_checkpoint_tells_class_weights_apart(tmp_path):
    X, y = skewed(20)
    place = tmp_path / "c"
    with pytest.warns(match="iteration limit"):
        ChainCRF(class_weight={"X": 2.0}, max_iterations=2).fit(X, y, checkpoint=Checkpoint(place))
    with pytest.raises(OptionError, match="class_weight changed"):
        ChainCRF(class_weight={"X": 3.0}).fit(X, y, checkpoint=Checkpoint(place, resume=True))


def test_a_piece_of_data_has_costs_of_tokens():
    X, y = skewed(40)
    costs = [[3.0 if label == "X" else 0.5 for label in row] for row in y]
    by_piece = ChainCRF(class_weight={"X": 3.0, "O": 0.5}).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    by_token = ChainCRF().partial_fit(X[:20], y[:20], token_weight=costs[:20])
    by_token.partial_fit(X[20:], y[20:], token_weight=costs[20:])
    assert by_token.result_.w.tolist() == by_piece.result_.w.tolist()
    assert (
        by_token.result_.w.tolist()
        != ChainCRF().partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:]).result_.w.tolist()
    )


@pytest.mark.parametrize("cost", ["a", None, {}, 10**400])
def test_a_cost_that_is_not_a_number_is_named(cost):
    with pytest.raises(DataError, match=r"sentence 1, token 1: the weight .* in token_weight is not a number"):
        ChainCRF().fit([[["a"]], [["a"], ["b"]]], [["X"], ["X", "O"]], token_weight=[None, [1.0, cost]])
