"""Synthetic chains: both samplers against enumeration, and the corpus of real-valued inputs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from loglinear import ChainCRF, Corpus
from loglinear.datasets import make_chain
from loglinear.errors import DataError, OptionError
from oracles.network_enumeration import assignments


@pytest.mark.parametrize("sampler", ["exact", "gibbs"])
def test_labels_have_the_distribution_of_the_model(sampler):
    """All sequences share their inputs here: frequencies of labellings against their probabilities."""
    n, length, labels = 20_000, 3, 3
    data = make_chain(
        n, length=length, n_labels=labels, n_inputs=2, n_informative=0, scale=1.5, sampler=sampler, sweeps=30
    )
    assert not data.state.any()
    counts = np.zeros((labels,) * length)
    np.add.at(counts, tuple(data.y.T), 1)
    every = assignments([labels] * length)
    scores = data.pair[every[:, 0], every[:, 1]] + data.pair[every[:, 1], every[:, 2]]
    expected = n * np.exp(scores - np.logaddexp.reduce(scores))
    # Chi-squared with 26 degrees of freedom: the mean is 26, the standard deviation 7.2.
    assert ((counts.ravel() - expected) ** 2 / expected).sum() < 26 + 5 * 7.2


@pytest.mark.parametrize("sampler", ["exact", "gibbs"])
def test_labels_follow_the_inputs(sampler):
    data = make_chain(3000, length=4, n_inputs=6, n_informative=3, scale=2.0, sampler=sampler, random_state=3)
    assert np.count_nonzero(data.state.any(axis=1)) == 3
    crf = ChainCRF(l2=1e-3).fit(data.corpus(slice(2000)))
    X = data.corpus(slice(2000, None))
    right = np.mean([np.array(found) == gold for found, gold in zip(crf.predict(X), X.gold(), strict=True)])
    best = np.mean(data.y == _best(data))
    assert right > best - 0.02


def _best(data):
    """The most probable labellings under the model itself, by enumeration."""
    scores = data.X @ data.state
    _, length, labels = scores.shape
    every = assignments([labels] * length)
    totals = sum(scores[:, t][:, every[:, t]] for t in range(length))
    totals = totals + sum(data.pair[every[:, t - 1], every[:, t]] for t in range(1, length))
    return every[totals.argmax(axis=1)]


def test_the_paper_s_numbers_are_the_defaults_and_a_seed_decides():
    data = make_chain(20)
    assert (data.X.shape, data.y.shape, len(data)) == ((20, 8, 1000), (20, 8), 20)
    assert np.count_nonzero(data.state.any(axis=1)) == 100
    again = make_chain(20)
    assert np.array_equal(data.y, again.y)
    assert np.array_equal(data.X, again.X)
    assert not np.array_equal(data.X, make_chain(20, random_state=1).X)


@pytest.mark.parametrize(
    "options",
    [
        {"n_sequences": 0},
        {"n_labels": 1},
        {"n_informative": 2000},
        {"sampler": "slice"},
        {"scale": -1.0},
        {"sweeps": 0},
    ],
)
def test_bad_options(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        make_chain(**{"n_sequences": 5, **options})


def test_a_corpus_from_a_matrix_is_that_of_its_attributes():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((7, 5), density=0.5, rng=rng, format="csr")
    lengths, y = [3, 0, 4], ["a", "b", "a", "ä", "b", "a", "a"]
    made = Corpus.from_matrix(X, lengths, y)
    assert (len(made), made.core.n_tokens, made.labels) == (3, 7, ["a", "b", "ä"])
    rows = [{f"x{j}": row[j] for j in np.flatnonzero(row)} for row in X.toarray()]
    by_hand = Corpus.encode([rows[:3], [], rows[3:]], [y[:3], [], y[3:]])
    assert made.gold() == by_hand.gold()
    one, two = (ChainCRF(l2=1.0).fit(each) for each in (made, by_hand))
    assert one.result_.objective == pytest.approx(two.result_.objective, rel=1e-9)
    assert one.predict(Corpus.from_matrix(X, lengths)) == two.predict(by_hand)
    assert Corpus.from_matrix(X, [7], names=list("vwxyz")).core.names() == list("vwxyz")


@pytest.mark.parametrize(
    ("X", "lengths", "options", "message"),
    [
        ([[1.0], [np.nan]], [2], {}, "row 1, column 0: NaN is not a finite"),
        ([[1.0], [2.0]], [1], {}, "lengths of the sentences do not add up to the 2 rows"),
        ([[1.0]], [-1], {}, "whole numbers >= 0"),
        ([[1.0]], [0.5], {}, "whole numbers >= 0"),
        ([[1.0, 2.0]], [1], {"names": ["a", "a"]}, "two attributes are named 'a'"),
        ([[1.0, 2.0]], [1], {"names": ["a"]}, "1 names for 2 columns"),
        ([[1.0]], [1], {"y": ["a", "b"]}, "2 labels for 1 rows"),
    ],
)
def test_bad_matrices(X, lengths, options, message):
    with pytest.raises(DataError, match=message):
        Corpus.from_matrix(np.array(X), lengths, **options)
