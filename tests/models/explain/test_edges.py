"""An edge has a sign only where its variables have an order and their association one direction."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from loglinear import PairwiseMRF
from loglinear.models.explain.edges import drawing

RISING = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 3.0]])


def network(table, *states, bins=(None, None)):
    categories = [np.array(values) for values in states]
    return SimpleNamespace(
        categories_=categories,
        bin_edges_=list(bins),
        edges_=np.array([[0, 1]]),
        weights_=(np.asarray(table),),
        strengths_=np.ones(1),
    )


def sign(*arguments, **options):
    ((found,),) = drawing(network(*arguments, **options), ["a", "b"])[3:]
    return found


@pytest.mark.parametrize("factor", [1, -1])
def test_binary_variables_have_the_sign_of_their_log_odds_ratio(factor):
    table = [[0.0, 0.0], [0.0, 0.5 * factor]]
    assert sign(table, ["no", "yes"], ["no", "yes"]) == factor
    # With the reference 1 first, weights are of 0; higher means 1 all the same.
    assert sign(table, [1, 0], [0, 1]) == -factor


@pytest.mark.parametrize("factor", [1, -1])
def test_numbers_and_bins_have_a_sign_and_texts_of_three_states_none(factor):
    table, names, low = factor * RISING, ["low", "middle", "high"], ["< 1", "[1, 2)", ">= 2"]
    edges = np.array([1.0, 2.0])
    assert sign(table, ["1", "2", "10"], [0, 1, 2]) == factor
    assert sign(table, low, [0, 1, 2], bins=(edges, None)) == factor
    assert sign(table, names, [0, 1, 2]) == 0
    assert sign(table, [0, 1, 2], names) == 0
    # Another reference state changes the order of the table alone.
    order = [1, 0, 2]
    assert sign(table[order], [2, 1, 3], [0, 1, 2]) == factor


def test_an_association_of_both_directions_has_no_sign():
    middle = np.zeros((3, 3))
    middle[1, 1] = 2.0
    assert sign(middle, [0, 1, 2], [0, 1, 2]) == 0


def test_a_sign_is_that_of_the_linear_by_linear_term_of_a_regression():
    """The oracle: least squares on a term for each row, for each column, and for the product of both scores."""
    rng = np.random.default_rng(0)
    signs = []
    for _ in range(100):
        r, c = rng.integers(2, 6, size=2)
        row, column = (each.ravel() for each in np.indices((r, c)))
        table = rng.normal(size=(r, c)) + rng.normal() * np.outer(np.arange(r), np.arange(c))
        single = np.column_stack([row[:, None] == np.arange(r), column[:, None] == np.arange(c)]).astype(float)
        product = row * column
        left = [y - single @ np.linalg.lstsq(single, y, rcond=None)[0] for y in (product, table.ravel())]
        correlation = left[0] @ left[1] / np.linalg.norm(left[0]) / np.linalg.norm(left[1])
        found = sign(table, np.arange(r), np.arange(c))
        assert found == (np.sign(correlation) if abs(correlation) >= 0.5 else 0)
        signs.append(found)
    assert {*signs} == {-1, 0, 1}


def test_a_trained_network_has_the_signs_of_its_data():
    rng = np.random.default_rng(0)
    level = rng.integers(3, size=400)
    noisy = [np.where(rng.random(400) < 0.3, rng.integers(3, size=400), each) for each in (level, 2 - level, level)]
    X = np.column_stack([*noisy[:2], np.array(["x", "y", "z"])[noisy[2]]]).astype(object)
    names, edges, _, signs = drawing(PairwiseMRF(l1=5.0).fit(X), ["up", "down", "text"])
    found = {frozenset((names[i], names[j])): each for (i, j), each in zip(edges, signs, strict=True)}
    assert found == {frozenset(("up", "down")): -1, frozenset(("up", "text")): 0, frozenset(("down", "text")): 0}
