"""Marks, ranks, groups and weights of alternatives, as choices; bad ones are refused by group and row."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import DataError, DataWarning
from loglinear.data.choices import Choices


def choices(y, groups, weights=None):
    return Choices.of(y, groups, weights, len(y))


def listed(made):
    """The rows of each choice and the number of those chosen."""
    parts = np.split(made.rows, made.ends.astype(int)[:-1])
    return [(part.tolist(), int(k)) for part, k in zip(parts, made.n_chosen, strict=True)]


def test_chosen_rows_come_first_and_groups_in_the_order_of_their_names():
    made = choices([0, 1, 0, 1, 1, 0], ["b", "b", "a", "a", "c", "c"])
    assert listed(made) == [([3, 2], 1), ([1, 0], 1), ([4, 5], 1)]
    assert (made.n_groups, made.is_ranked, made.weights) == (3, False, None)


def test_rows_of_a_group_need_not_be_together_and_several_may_be_chosen():
    made = choices([1, 0, 1, 0, 1], [7, 3, 7, 7, 3], [2.0, 0.5, 2.0, 2.0, 0.5])
    assert listed(made) == [([4, 1], 1), ([0, 2, 3], 2)]
    assert made.weights.tolist() == [0.5, 2.0]


def test_a_ranking_is_a_series_of_choices_and_its_last_alternative_none():
    made = choices([2, 1, 3, 0, 2, 1, 0], [0, 0, 0, 1, 1, 1, 1])
    assert listed(made) == [([1, 0, 2], 1), ([0, 2], 1), ([5, 4, 3, 6], 1), ([4, 3, 6], 1)]
    assert (made.n_groups, made.is_ranked) == (2, True)


@pytest.mark.parametrize("kind", [bool, np.int8, float])
@pytest.mark.parametrize(
    "names",
    [[1, 1, 2, 2], ["x", "x", "y", "y"], np.array(["2026-01-01", "2026-01-01", "2026-02-02", "2026-02-02"], "M8[D]")],
)
def test_marks_and_groups_of_any_type_are_the_same_choices(kind, names):
    assert listed(choices(np.array([0, 1, 1, 0], dtype=kind), names)) == [([1, 0], 1), ([2, 3], 1)]


def test_groups_without_a_choice_are_left_out_with_a_warning():
    with pytest.warns(DataWarning) as caught:
        made = choices([0, 1, 0, 0, 1, 1, 1], ["a", "a", "b", "b", "c", "c", "d"])
    assert listed(made) == [([1, 0], 1)]
    assert [str(each.message) for each in caught] == [
        "groups that say nothing about the weights are left out: 1 group with a single alternative (such as group "
        "'d'), 1 group with no chosen alternative (such as group 'b'), 1 group with all alternatives chosen (such as "
        "group 'c')"
    ]
    with pytest.warns(DataWarning, match="1 group with no ranked alternative"):
        assert listed(choices([2, 1, 0, 0], [0, 0, 1, 1])) == [([1, 0], 1)]


Y, GROUPS = [1, 0, 0, 1], ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("y", "groups", "weights", "said"),
    [
        (None, GROUPS, None, r"^y is None; mark alternatives with 1"),
        (Y, None, None, r"^groups is None; give the group of each alternative"),
        (Y[:3], GROUPS, None, r"^y has shape \(3,\), but X has 4 alternatives; give one number per alternative"),
        (Y, GROUPS[:3], None, r"groups have shape \(3,\)"),
        ([1, 0, np.nan, 1], GROUPS, None, r"^y contains NaN in row 2; give 0"),
        ([1, 0, 0.5, 1], GROUPS, None, r"^y is 0.5 in row 2; mark alternatives"),
        ([1, 0, -1, 1], GROUPS, None, r"^y is -1 in row 2"),
        ([1, 0, np.inf, 1], GROUPS, None, r"^y is inf in row 2"),
        (["yes", "no", "no", "yes"], GROUPS, None, r"^y is not a number in row 0: 'yes'"),
        ([1, 2, 2, 2], GROUPS, None, r"^group 'b' has rank 2 in row 2 but no rank 1; rank from 1 without gaps"),
        ([1, 1, 1, 2], GROUPS, None, r"^group 'a' has rank 1 twice, in rows 0 and 1; ranks have no ties"),
        ([1, 3, 1, 2], GROUPS, None, r"^group 'a' has rank 3 in row 1 but no rank 2"),
        ([0, 0, 0, 0], GROUPS, None, r"^no group has a choice to learn from: 2 groups with no chosen alternative"),
        (Y, GROUPS, [1.0, 2.0, 1.0, 1.0], r"^sample_weight is 1 in row 0 and 2 in row 1, both of group 'a'"),
        (Y, GROUPS, [1.0, 1.0, -1.0, -1.0], r"^sample_weight is negative in row 2"),
        (Y, GROUPS, [0.0] * 4, r"weight"),
        (Y, ["a", "a", None, "b"], None, r"a group is missing in row 2"),
    ],
)
def test_bad_choices_are_refused(y, groups, weights, said):
    with pytest.raises(DataError, match=said):
        Choices.of(y, groups, weights, 4)
