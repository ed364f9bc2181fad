"""Whether objects satisfy protocols."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pytest

from loglinear import ClassifierObjective, ElasticNet
from loglinear.gap import Balancing, SampleLikelihoods
from loglinear.penalty import GroupLasso, Penalty, Separable
from loglinear.problem import Convex, Curved, Objective, Restrictable, Shifted, Threaded, WithIntercept
from loglinear.protocols import missing, satisfies
from loglinear.result import OnSome, WithGap, WithGradient
from loglinear.solvers import LBFGS, OWLQN, SAG, SGDL1, Auto, Choosing, EndedByPasses, Measuring, Tolerant

CLASSIFIER = ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2)
PROTOCOLS = (Balancing, Choosing, Convex, Curved, EndedByPasses, Measuring, Objective, OnSome, Penalty, Restrictable)
PROTOCOLS += (SampleLikelihoods, Separable, Shifted, Threaded, Tolerant, WithGap, WithGradient, WithIntercept)


@runtime_checkable
class Sized(Protocol):
    size: int

    @property
    def shape(self) -> tuple[int, ...]: ...

    def resize(self) -> None: ...


class Costly:
    size = 1

    @property
    def shape(self) -> tuple[int, ...]:
        raise AssertionError("evaluated")

    def resize(self) -> None: ...


class Perhaps:
    size, resize = 1, None

    def __init__(self, has_shape: bool) -> None:
        if has_shape:
            self.shape = (3,)


@pytest.mark.parametrize("thing", [CLASSIFIER, ElasticNet(), GroupLasso(), LBFGS(), OWLQN(), SAG(), SGDL1(), Auto(), 3])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_an_object_satisfies_a_protocol_exactly_if_it_is_an_instance_and_lacks_nothing(thing, protocol):
    assert satisfies(thing, protocol) == isinstance(thing, protocol) == (not missing(thing, protocol))


def test_properties_are_not_evaluated():
    assert satisfies(Costly(), Sized)
    assert missing(Costly(), Sized) == []


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_objects_of_one_class_may_differ_in_what_they_satisfy(order):
    for has_shape in order:
        assert satisfies(Perhaps(has_shape), Sized) == has_shape
        assert missing(Perhaps(has_shape), Sized) == ([] if has_shape else ["shape"])


def test_attributes_and_inherited_members_of_a_protocol_are_among_those_missing():
    assert missing(object(), Tolerant) == ["tolerance"]
    assert {*missing(object(), Penalty)} < {*missing(object(), Separable)}


def test_a_class_counts_as_an_object():
    assert satisfies(Costly, Sized)
    assert not satisfies(int, Tolerant)
