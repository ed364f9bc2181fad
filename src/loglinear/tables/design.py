"""The parameters of a hierarchical model, and its sums over margins: the design matrix X, stored for small tables.

X has a row for each cell and a column for each parameter. The column of a parameter is the product of one contrast for
each variable of its term, so X w is a sum of small arrays that are broadcast to the table, X' t follows from margins of
t, and X' diag(t) X from margins over two terms together.

Source: Bishop, Fienberg & Holland (1975), Discrete Multivariate Analysis, chapters 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..options import one_of
from ..vectors import Vector
from .formula import Term, generators_of

__all__ = ["CODINGS", "Design", "contrasts", "margin"]

CODINGS = ("effects", "treatment")
"""Codings of parameters: sums to zero over each variable, or differences from the first level."""


# Entries of a design matrix up to which products with it take less time than many small sums.
_SMALL = 2**20


def contrasts(levels: int, coding: str) -> Vector:
    """Return the contrasts of a variable, shape (levels, levels - 1).

    Args:
        levels: number of levels.
        coding: ``effects``, whose parameters sum to zero; ``treatment``, differences from the first level; or
            ``balanced``, orthogonal columns with squares that sum to the number of levels, as a group penalty needs.
    """
    one_of("coding", coding, (*CODINGS, "balanced"))
    if coding == "treatment":
        return np.eye(levels)[:, 1:]
    if coding == "effects":
        return np.vstack([np.eye(levels - 1), -np.ones((1, levels - 1))])
    helmert = np.zeros((levels, levels - 1))
    for column in range(levels - 1):
        helmert[: column + 1, column] = 1.0
        helmert[column + 1, column] = -(column + 1.0)
    return np.asarray(helmert * np.sqrt(levels / (helmert**2).sum(axis=0)))


def margin(table: Vector, term: Term) -> Vector:
    """Return the sums of a table over the variables outside a term."""
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in term)))


@dataclass(frozen=True)
class Design:
    """The parameters of a hierarchical model of a table.

    Attributes:
        shape: shape of the table.
        terms: terms of the model in the order of their parameters.
        coding: see `contrasts`.
    """

    shape: tuple[int, ...]
    terms: tuple[Term, ...]
    coding: str = "effects"

    @cached_property
    def contrasts(self) -> list[Vector]:
        """The contrasts of each variable."""
        return [contrasts(levels, self.coding) for levels in self.shape]

    @cached_property
    def sizes(self) -> list[int]:
        """Number of parameters of each term."""
        return [math.prod(self.shape[axis] - 1 for axis in term) for term in self.terms]

    @cached_property
    def ends(self) -> list[int]:
        """Number of parameters up to the end of each term."""
        return [int(end) for end in np.cumsum(self.sizes)]

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return self.ends[-1] if self.ends else 0

    def block(self, number: int) -> slice:
        """Return the place of the parameters of a term."""
        return slice(self.ends[number] - self.sizes[number], self.ends[number])

    @cached_property
    def _matrix(self) -> Vector | None:
        """X of a small table; None for others."""
        cells = math.prod(self.shape)
        return self.rows(np.arange(cells)) if cells * max(self.n_parameters, 1) <= _SMALL else None

    @cached_property
    def _home(self) -> list[tuple[Term, list[int]]]:
        """The generators, each with the numbers of terms that are summed with it."""
        generators = generators_of(self.terms)
        homes: dict[Term, list[int]] = {generator: [] for generator in generators}
        for number, term in enumerate(self.terms):
            homes[next(generator for generator in generators if term <= generator)].append(number)
        return [*homes.items()]

    def _along(self, array: Vector, term: Term, within: Term) -> Vector:
        """Return an array over a term's variables as one that is broadcast over the variables of a larger term."""
        return array.reshape([self.shape[axis] if axis in term else 1 for axis in sorted(within)])

    def scores(self, w: Vector) -> Vector:
        """Return X w, the sum of the parameters of each cell, in the shape of the table."""
        if self._matrix is not None:
            return np.asarray((self._matrix @ w).reshape(self.shape))
        everywhere = frozenset(range(len(self.shape)))
        eta = np.zeros(self.shape)
        for generator, numbers in self._home:
            small = np.zeros([self.shape[axis] for axis in sorted(generator)])
            for number in numbers:
                term = self.terms[number]
                part = w[self.block(number)].reshape([self.shape[axis] - 1 for axis in sorted(term)])
                small += self._along(self._expanded(part, term), term, generator)
            eta += self._along(small, generator, everywhere)
        return eta

    def _expanded(self, part: Vector, term: Term) -> Vector:
        for at, axis in enumerate(sorted(term)):
            part = np.moveaxis(np.tensordot(self.contrasts[axis], part, axes=(1, at)), 0, at)
        return part

    def sums(self, table: Vector) -> Vector:
        """Return X' t, the sum of each parameter's column times the table, shape (n_parameters,)."""
        if self._matrix is not None:
            return np.asarray(table.ravel() @ self._matrix)
        out = np.empty(self.n_parameters)
        for generator, numbers in self._home:
            whole = margin(table, generator)
            place = {axis: at for at, axis in enumerate(sorted(generator))}
            for number in numbers:
                term = self.terms[number]
                part = margin(whole, frozenset(place[axis] for axis in term))
                for at, axis in enumerate(sorted(term)):
                    part = np.moveaxis(np.tensordot(self.contrasts[axis].T, part, axes=(1, at)), 0, at)
                out[self.block(number)] = part.ravel()
        return out

    def gram(self, table: Vector) -> Vector:
        """Return X' diag(t) X, shape (n_parameters, n_parameters)."""
        if self._matrix is not None:
            return np.asarray(self._matrix.T @ (self._matrix * table.reshape(-1, 1)))
        out = np.empty((self.n_parameters, self.n_parameters))
        margins: dict[Term, Vector] = {}
        for i, first in enumerate(self.terms):
            for j, second in enumerate(self.terms[: i + 1]):
                union = first | second
                if union not in margins:
                    margins[union] = margin(table, union)
                block = self._product(margins[union], first, second)
                out[self.block(i), self.block(j)] = block
                out[self.block(j), self.block(i)] = block.T
        return out

    def _product(self, whole: Vector, first: Term, second: Term) -> Vector:
        """Return the sums over cells of a column of the first term times one of the second one."""
        n = len(self.shape)
        operands: list[Any] = [whole, sorted(first | second)]
        rows, columns = [], []
        for axis in sorted(first):
            operands += [self.contrasts[axis], [axis, n + axis]]
            rows.append(n + axis)
        for axis in sorted(second):
            operands += [self.contrasts[axis], [axis, 2 * n + axis]]
            columns.append(2 * n + axis)
        product = np.einsum(*operands, [*rows, *columns], optimize="greedy" if len(operands) > 6 else False)
        size = math.prod(self.shape[axis] - 1 for axis in first)
        return np.asarray(product.reshape(size, math.prod(self.shape[axis] - 1 for axis in second)))

    def rows(self, cells: npt.NDArray[np.int64]) -> Vector:
        """Return rows of X, shape (n_cells, n_parameters).

        Args:
            cells: flat numbers of cells.
        """
        places = np.unravel_index(cells, self.shape) if self.shape else ()
        blocks = []
        for term in self.terms:
            block = np.ones((len(cells), 1))
            for axis in sorted(term):
                block = (block[:, :, None] * self.contrasts[axis][places[axis]][:, None, :]).reshape(
                    len(cells), block.shape[1] * (self.shape[axis] - 1)
                )
            blocks.append(block)
        return np.hstack(blocks) if blocks else np.empty((len(cells), 0))

    def named(self, names: Sequence[str], levels: Sequence[Sequence[Any]]) -> list[tuple[str, str]]:
        """Return the term and the levels of each parameter, as texts."""
        shift = 1 if self.coding == "treatment" else 0
        named = []
        for term, size in zip(self.terms, self.sizes, strict=True):
            axes = sorted(term)
            called = ":".join(names[axis] for axis in axes) or "(constant)"
            shape = [self.shape[axis] - 1 for axis in axes]
            for at in range(size):
                place = np.unravel_index(at, shape) if axes else ()
                chosen = [str(levels[axis][int(k) + shift]) for axis, k in zip(axes, place, strict=True)]
                named.append((called, ", ".join(chosen)))
        return named
