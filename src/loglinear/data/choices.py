"""Choices among alternatives: rows in groups, with marks of the chosen ones or ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, DataWarning, warn
from ..vectors import Vector
from ..visible import counted
from .frames import as_column
from .inputs import Array
from .sample_values import groups_of, numbers_of, refuse_missing, weights_of_samples

__all__ = ["Choices", "groups_of_alternatives"]

Numbers = npt.NDArray[np.int64]
_MARKS = (
    "mark alternatives with 1 if chosen and 0 if not, or rank them from 1, the best, with 0 for those without a rank"
)


@dataclass(frozen=True)
class Choices:
    """Choices among alternatives; a ranking is a series of choices, each among the alternatives that are left.

    Attributes:
        rows: row of each alternative, choice by choice; in each choice the chosen ones come first.
        ends: end of each choice in `rows`, shape (n_choices,).
        n_chosen: number of alternatives chosen, at least 1 and not all, shape (n_choices,).
        weights: of the choices, shape (n_choices,); None if all are 1.
        n_groups: number of groups that the choices come from.
        is_ranked: whether the choices come from ranks.
    """

    rows: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.uint64]
    n_chosen: npt.NDArray[np.uint32]
    weights: Vector | None
    n_groups: int
    is_ranked: bool

    @classmethod
    def of(cls, y: Any, groups: Any, sample_weight: Any, n_rows: int) -> Choices:
        """Return the choices of alternatives in groups.

        Args:
            y: 1 for alternatives that were chosen and 0 for others; or ranks from 1, with 0 for alternatives without a
                rank, which are worse than all others. Shape (n_rows,).
            groups: group of each alternative, such as a person or a purchase, in any order, shape (n_rows,).
            sample_weight: weight of each alternative's group, the same in each group, shape (n_rows,); None for 1.
            n_rows: number of alternatives.

        Raises:
            DataError: an argument has another shape or values that are not allowed, or no group has a choice; names the
                group and the row.

        Warns:
            DataWarning: groups without a choice are left out: none or all of their alternatives are chosen.
        """
        marks = _marks(y, n_rows)
        numbers = groups_of_alternatives(groups, n_rows)
        names = _Names(groups)
        weights = None if sample_weight is None else weights_of_samples(sample_weight, n_rows)
        ranked = bool((marks > 1.0).any())
        # Group by group, the chosen or best ones first; others stay in the order of the rows.
        order = np.lexsort((np.where(marks > 0.0, marks, np.inf), numbers))
        sizes = np.bincount(numbers)
        starts = np.cumsum(sizes) - sizes
        if weights is not None:
            _check_weights(weights, order, starts, sizes, names)
        n_marked = np.bincount(numbers, marks > 0.0).astype(np.int64)
        if ranked:
            _check_ranks(marks, order, starts, sizes, names)
            # The last alternative of a ranking is no choice.
            n_stages = np.minimum(n_marked, sizes - 1)
            _warn_of_left_out(n_stages == 0, n_marked, sizes, names, order[starts], ranked=True)
        else:
            n_stages = ((n_marked > 0) & (n_marked < sizes)).astype(np.int64)
            _warn_of_left_out(n_stages == 0, n_marked, sizes, names, order[starts], ranked=False)
        group = np.repeat(np.arange(sizes.size), n_stages)
        stage = np.arange(group.size) - np.repeat(np.cumsum(n_stages) - n_stages, n_stages)
        lengths = sizes[group] - stage
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1]) + np.repeat(starts[group] + stage - (ends - lengths), lengths)
        return cls(
            rows=order[places].astype(np.uint32),
            ends=ends.astype(np.uint64),
            n_chosen=(np.ones(group.size, np.int64) if ranked else n_marked[group]).astype(np.uint32),
            weights=None if weights is None else weights[order[starts[group]]],
            n_groups=int(np.count_nonzero(n_stages)),
            is_ranked=ranked,
        )


def groups_of_alternatives(groups: Any, n_rows: int) -> Numbers:
    """Return the number of each alternative's group, from 0 in the order of the names, shape (n_rows,).

    Raises:
        DataError: there are no groups, one is missing, or their number is wrong.
    """
    if groups is None:
        message = "groups is None; give the group of each alternative, such as the number of the person who chose"
        raise DataError(message)
    return groups_of(groups, n_rows)


class _Names:
    """What messages call the group of a row."""

    def __init__(self, groups: Any) -> None:
        self._groups = as_column(groups, "groups")

    def __call__(self, row: int) -> str:
        value = np.asarray(self._groups)[row]
        return f"group {value.item() if isinstance(value, np.generic) else value!r}"


def _marks(y: Any, n_rows: int) -> Vector:
    """Return y as whole numbers >= 0."""
    if y is None:
        message = f"y is None; {_MARKS}"
        raise DataError(message)
    marks = numbers_of(y, "y")
    if marks.ndim == 2 and marks.shape[1] == 1:
        marks = marks.ravel()
    if marks.shape != (n_rows,):
        message = f"y has shape {marks.shape}, but X has {n_rows} alternatives; give one number per alternative"
        raise DataError(message)
    refuse_missing(marks, "y contains NaN", "give 0 to alternatives that were not chosen or have no rank")
    wrong = np.flatnonzero((marks < 0.0) | (marks != np.floor(marks)) | np.isinf(marks))
    if wrong.size:
        message = f"y is {marks[wrong[0]]:g} in row {wrong[0]}; {_MARKS}"
        raise DataError(message)
    return marks


def _check_weights(weights: Vector, order: Numbers, starts: Numbers, sizes: Numbers, names: _Names) -> None:
    """Raise DataError if the alternatives of a group have several weights."""
    own, first = weights[order], np.repeat(order[starts], sizes)
    wrong = np.flatnonzero(own != weights[first])
    if wrong.size:
        row, other = int(order[wrong[0]]), int(first[wrong[0]])
        message = f"sample_weight is {weights[other]:g} in row {other} and {weights[row]:g} in row {row}, both of "
        message += f"{names(row)}; give all alternatives of a group the weight of the group"
        raise DataError(message)


def _check_ranks(marks: Vector, order: Numbers, starts: Numbers, sizes: Numbers, names: _Names) -> None:
    """Raise DataError unless the ranks of each group are 1, 2, 3 and so on, each once."""
    ranks = marks[order]
    expected = np.arange(ranks.size) - np.repeat(starts, sizes) + 1
    wrong = np.flatnonzero((ranks > 0.0) & (ranks != expected))
    if not wrong.size:
        return
    at = int(wrong[0])
    row, rank = int(order[at]), ranks[at]
    if rank < expected[at]:
        what = f"rank {rank:g} twice, in rows {int(order[at - 1])} and {row}; ranks have no ties: break them, or leave "
        what += "out the group"
    else:
        what = f"rank {rank:g} in row {row} but no rank {expected[at]}; rank from 1 without gaps, with 0 for "
        what += "alternatives without a rank"
    message = f"{names(row)} has {what}. Several alternatives that are chosen, without an order, all have 1"
    raise DataError(message)


def _warn_of_left_out(
    is_out: npt.NDArray[np.bool_], n_marked: Numbers, sizes: Numbers, names: _Names, rows: Array, *, ranked: bool
) -> None:
    """Warn of groups without a choice; raise DataError if there are no others."""
    if not is_out.any():
        return
    is_single = is_out & (sizes == 1)
    reasons = {
        "a single alternative": is_single,
        f"no {'ranked' if ranked else 'chosen'} alternative": is_out & ~is_single & (n_marked == 0),
        "all alternatives chosen": is_out & ~is_single & (n_marked == sizes),
    }
    parts = [
        f"{counted(int(which.sum()), 'group')} with {reason} (such as {names(int(rows[np.argmax(which)]))})"
        for reason, which in reasons.items()
        if which.any()
    ]
    if is_out.all():
        message = f"no group has a choice to learn from: {', '.join(parts)}; check y and groups"
        raise DataError(message)
    warn(f"groups that say nothing about the weights are left out: {', '.join(parts)}", DataWarning)
