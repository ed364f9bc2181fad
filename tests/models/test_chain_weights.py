"""Chains whose weights were not trained here: made by name, read by name."""

from __future__ import annotations

import json

import numpy as np
import pytest

from loglinear import ChainCRF, DataError, OptionError
from oracles.chain_enumeration import Chain, Token

LABELS = ["N", "D", "V"]
STATES = {("a", "D"): 2.0, ("b", "N"): -1.5, ("b", "V"): 0.25, ("c", "N"): 0.5}
PAIRS = {("D", "N"): 1.0, ("N", "V"): -0.75, ("V", "V"): 0.5}


def test_a_model_of_weights_scores_as_enumeration_does_and_keeps_its_labels_in_order():
    crf = ChainCRF.of_weights(LABELS, STATES, PAIRS)
    assert list(crf.classes_) == LABELS
    assert crf.state_features_ == STATES
    assert crf.transition_features_ == PAIRS
    oracle = Chain(
        LABELS, {("state", *name): w for name, w in STATES.items()} | {("transition", *k): w for k, w in PAIRS.items()}
    )
    for words in (["a"], ["a", "b"], ["c", "b", "a", "x"]):
        tokens = [Token([(word, 1.0)]) for word in words]
        given = [[[word] for word in words]]
        assert crf.log_partition(given)[0] == pytest.approx(oracle.log_partition(tokens))
        np.testing.assert_allclose(crf.marginals(given)[0], oracle.marginals(tokens), atol=1e-12)


@pytest.mark.parametrize(
    ("classes", "states", "pairs", "named"),
    [
        (["N", "N"], {}, {}, "twice"),
        (["N"], {("a", "D"): 1.0}, {}, r"\['D'\]"),
        (["N"], {}, {("D", "N"): 1.0}, r"\['D'\]"),
        (["N"], {}, {("N", "V"): 1.0}, r"\['V'\]"),
    ],
)
def test_labels_that_are_not_among_the_classes_are_named(classes, states, pairs, named):
    with pytest.raises(OptionError, match=named):
        ChainCRF.of_weights(classes, states, pairs)


def test_weights_are_finite():
    with pytest.raises(DataError, match="a weight is NaN"):
        ChainCRF.of_weights(["N"], {("a", "N"): np.nan}, {})


@pytest.mark.parametrize(("template", "format", "given"), [(None, "python", ["U:a"]), ("U:%x[0,0]\n", "columns", "a")])
def test_a_template_says_that_tokens_are_columns(template, format, given):
    crf = ChainCRF.of_weights(["N", "D"], {("U:a", "D"): 1.0}, {}, template=template)
    assert json.loads(crf.model_.settings)["format"] == format
    assert crf.predict([[given]]) == [["D"]]
