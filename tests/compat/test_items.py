"""Items are read as python-crfsuite reads them, which is the oracle; departures from it are errors."""

from __future__ import annotations

import collections
import math

import numpy as np
import pycrfsuite as peer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import DataError
from loglinear.compat.pycrfsuite import ItemSequence

# No NUL, which ends a text of the peer.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
STR = st.text(CHARACTERS, max_size=5)
TEXT = STR | STR.map(str.encode)
NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70) | st.booleans()
NAMES = st.lists(TEXT, max_size=4)
VALUE = st.recursive(
    NUMBER | TEXT | NAMES | st.sets(TEXT, max_size=3),
    lambda value: st.dictionaries(TEXT, value, max_size=3),
    max_leaves=4,
)
DICT = st.dictionaries(TEXT, VALUE, max_size=4)
ITEM = DICT | NAMES | NAMES.map(tuple) | NAMES.map(frozenset) | DICT.map(dict.keys) | STR
SEQUENCE = st.lists(ITEM, max_size=4)


@given(SEQUENCE)
def test_items_are_those_of_the_peer(items):
    assert ItemSequence(items).items() == peer.ItemSequence(items).items()


@given(SEQUENCE)
def test_items_of_items_are_the_same(items):
    once = ItemSequence(items)
    again = ItemSequence(once)
    assert again.items() == once.items() == ItemSequence(once.items()).items()
    assert len(again) == len(once) == len(items)
    assert repr(once) == repr(peer.ItemSequence(items))


@pytest.mark.parametrize(
    "items",
    [
        "dog",
        iter([{"a": 1}, ["b"]]),
        ({"a": 1},),
        [collections.OrderedDict(a={"b": 1}), collections.defaultdict(int, c=2), collections.Counter("aab")],
        [{"float32": np.float32(0.1), "int64": np.int64(3)}],
        [{"a": True, "b": False, "c": 2**60}],
        [{"a:b": 1.0, "a": "b"}],  # twice the same name: the last one counts
    ],
    ids=lambda items: type(items).__name__,
)
def test_what_python_code_gives_is_read_as_by_the_peer(items):
    items = list(items) if not isinstance(items, str) else items
    assert ItemSequence(items).items() == peer.ItemSequence(items).items()


WRONG = [5, None, [5], [None], [[5]], [[["a"]]], [b"ab"], [{5: 1}], [{None: 1}], [{("a",): 1}], [[("a", 1.0)]]]
WRONG += [[{"a": value}] for value in (None, (1, 2), [1], frozenset("b"), object(), ["b", ["c"]])]


@pytest.mark.parametrize("items", WRONG, ids=range(len(WRONG)))
def test_what_the_peer_does_not_read_is_a_type_error(items):
    with pytest.raises((SystemError, TypeError)) as caught:
        peer.ItemSequence(items)
    assert isinstance(caught.value, TypeError) or isinstance(caught.value.__cause__, TypeError)
    with pytest.raises(TypeError):
        ItemSequence(items)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_by_name(value):
    with pytest.raises(DataError, match="token 1: attribute 'speed' has the value"):
        ItemSequence([{}, {"a": {"speed": value}}])


@pytest.mark.parametrize("item", [{b"\xff": 1}, {"a": b"\xff"}, [b"ok", b"\xff"], {"\ud800": 1}, {"a": "\ud800"}])
def test_text_that_is_not_unicode_is_refused(item):
    with pytest.raises(DataError, match="not valid"):
        ItemSequence([item])


def test_an_item_that_contains_itself_is_refused():
    item = {}
    item["again"] = item
    with pytest.raises(DataError, match="nested more than"):
        ItemSequence([item])


class Meddling:
    """A number whose conversion changes the dict that it is in."""

    def __init__(self, change):
        self.change = change

    def __float__(self):
        self.change()
        return 1.0


def test_an_item_that_changes_while_it_is_read_is_an_error_or_read_on():
    growing, shrinking, replacing = {"b": 1}, {}, {"b": 2}
    growing["a"] = Meddling(lambda: growing.update(c=1))
    shrinking |= {"a": Meddling(shrinking.clear), "b": 2}
    replacing["a"] = Meddling(lambda: (replacing.pop("b"), replacing.update(c=3)))
    for item in (growing, shrinking):
        with pytest.raises(RuntimeError, match="changed size"):
            ItemSequence([item])
    assert "a" in ItemSequence([replacing]).items()[0]


def test_an_error_of_a_number_is_passed_on():
    def fail():
        raise LookupError("no speed")

    with pytest.raises(LookupError, match="no speed"):
        ItemSequence([{"a": Meddling(fail)}])
