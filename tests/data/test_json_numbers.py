"""Numbers in JSON lines have the bits that Python's json gives them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainObjective, Corpus, DataError


def slope(corpus):
    """Return the gradient at 0, which is half the value of the only attribute, with its sign."""
    objective = ChainObjective(corpus)
    return objective.value_and_gradient(np.zeros(objective.n_features))[1].tolist()


def read(tmp_path, number):
    path = tmp_path / "numbers.jsonl"
    path.write_text(f'{{"tokens": [{{"a": {number}}}, "b"], "labels": ["A", "B"]}}\n')
    return Corpus.read(path)


def encode(number):
    return Corpus.encode([[{"a": json.loads(number)}, ["b"]]], [["A", "B"]])


DIGITS = st.text("0123456789", min_size=1, max_size=400).map(lambda text: text.lstrip("0") or "0")
INTEGERS = DIGITS | st.integers(2**53 - 3, 2**54).map(str) | st.integers(2**63 - 3, 2**65).map(str)
FRACTIONS = st.text("0123456789", min_size=1, max_size=30).map(lambda text: "." + text)
EXPONENTS = st.integers(-400, 400).map(lambda power: f"e{power:+d}")
DECIMALS = st.tuples(st.sampled_from(["", "-"]), INTEGERS, FRACTIONS | st.just(""), EXPONENTS | st.just("")).map(
    "".join
)


@pytest.mark.thread_unsafe
@examples(500)
@given(number=DECIMALS | st.floats(allow_nan=False, allow_infinity=False).map(repr))
def test_a_number_has_the_same_bits_from_a_file_and_from_python(tmp_path_factory, number):
    folder = tmp_path_factory.getbasetemp()
    try:
        expected = slope(encode(number))
    except (DataError, OverflowError):  # beyond the range of a double
        with pytest.raises(DataError, match=r"line 1: .*(out of range|finite)"):
            read(folder, number)
        return
    assert slope(read(folder, number)) == expected


@pytest.mark.parametrize(
    "number",
    [
        "9007199254740993",
        "9007199254740993.0",
        "18446744073709551617",
        "36893488147419103233",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "1.7976931348623157e308",
        "0.1000000000000000055511151231257827021181583404541015625",
        "-0.0",
        "123456789012345678901234567890e-10",
    ],
)
def test_numbers_at_the_limits_of_a_double(tmp_path, number):
    found = slope(read(tmp_path, number))
    assert found == slope(encode(number))
    value = float(number)
    assert any(
        math.isclose(abs(each), abs(value) / 2, rel_tol=1e-15, abs_tol=0.0) for each in found if each
    ) or value in (0.0, 5e-324)
