"""The pairs of labels that the native half takes constraints for."""

from loglinear._core import ChainModel
from loglinear.constraints import as_json


def forbidden_pairs(constraints, labels):
    """Pairs of label numbers that constraints forbid, None for the edge of a sentence."""
    return ChainModel.of_weights(list(labels), [], [], "{}", None).constrained(as_json(constraints)).forbidden
