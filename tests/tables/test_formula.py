"""Formulas of hierarchical models: what they mean, and what is said about those that mean nothing."""

from __future__ import annotations

import pytest

from loglinear import OptionError
from loglinear.tables.formula import closed, formula_of, generators_of, terms_of

NAMES = ["A", "B", "C", "age group"]


@pytest.mark.parametrize(
    ("formula", "generators"),
    [
        ("A", "A"),
        ("A + B", "A + B"),
        ("A:B", "A*B"),
        ("A*B + C", "A*B + C"),
        ("~ A*B", "A*B"),
        ("A*B*C - A:B:C", "A*B + A*C + B*C"),
        ("(A + B + C)^2", "A*B + A*C + B*C"),
        ("(A + B + C) ** 2 - A:C", "A*B + B*C"),
        ("(A + B):C", "A*C + B*C"),
        ("A*(B + C)", "A*B + A*C"),
        ("(A + B)^1", "A + B"),
        ("A*`age group`", "A*`age group`"),
        ("'age group' + \"A\"", "A + `age group`"),
        (".", "A + B + C + `age group`"),
        (".^4", "A*B*C*`age group`"),
        (". - A", "B + C + `age group`"),
        ("A:A", "A"),
        ("1", "1"),
        ([("A", "B"), "C"], "A*B + C"),
        ([], "1"),
    ],
)
def test_a_formula_is_its_generators(formula, generators):
    terms = terms_of(formula, NAMES)
    assert formula_of(terms, NAMES) == generators
    assert terms_of(generators, NAMES) == terms == closed(generators_of(terms))


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("", "empty"),
        ("A + D", "position 5: no variable 'D'"),
        ("A + agegroup", "no variable 'agegroup'"),
        ("A + age group", "position 5: no variable 'age'; put names with blanks in quotes: 'age group'"),
        ("A B", "position 3: unexpected 'B'"),
        ("A +", "position 4: the formula ends early"),
        ("(A + B", "position 1: the parenthesis is not closed"),
        ("A + B)", "position 6: unexpected ')'"),
        ("A*B - A", "position 5: A cannot be removed, because A:B contains it"),
        ("- A", "position 1: nothing before '-'"),
        ("A^B", "position 2: ^ needs a whole number"),
        ("A^0", "position 2: ^ needs a whole number"),
        ("A & B", "position 3: unexpected '&'"),
        ("A + 'age group", "position 5: the quote is not closed"),
        ("A + 2", "position 5: expected a variable, found '2'"),
        ([("A", "D")], "no variable 'D'"),
        ([1], "generator 1 is neither a name"),
        ("(" * 5000 + "A" + ")" * 5000, "position 51: more than 50 parentheses are open"),
    ],
)
def test_what_is_wrong_with_a_formula_is_told_with_its_position(formula, told):
    with pytest.raises(OptionError) as error:
        terms_of(formula, NAMES)
    assert told in str(error.value)


def test_a_formula_of_very_many_variables_is_refused_at_once():
    with pytest.raises(OptionError, match="more than 65,536 terms"):
        terms_of(".^3", [f"v{k}" for k in range(3000)])


def test_parentheses_one_after_another_are_not_nested():
    assert terms_of(" + ".join(["(A)"] * 60), NAMES) == terms_of("A", NAMES)


def test_a_wrong_name_has_a_suggestion():
    with pytest.raises(OptionError, match="did you mean marijuana"):
        terms_of("marihuana", ["alcohol", "marijuana"])
