"""Comparison of the networks of two groups by a permutation test."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ..data.frames import Frame
from ..data.inputs import Array, Observations
from ..data.table import Table
from ..data.writing import write_output
from ..display.fragment import in_notebook
from ..display.table import LISTED, data_frame, listing, more, screen
from ..errors import DataError, DataWarning, OptionError, in_argument, warn
from ..networks.categories import variables_of
from ..networks.cleaning import with_missing
from ..networks.numbering import Codes, Numbers
from ..networks.values import without_values
from ..options import real_number, similar, truth_value, whole_number
from ..report.figure import check_figure, is_page
from ..report.graph import drawn
from ..report.interactive import interactive
from ..vectors import Vector
from ..visible import counted, listed, shortened, visible_name
from .network import PairwiseMRF, TrainingSamples
from .training.permutation import differences, holm, permuted
from .training.structure import NetworkOptions, Training

if TYPE_CHECKING:
    import pandas

__all__ = ["NetworkComparison", "compare_networks"]

# Columns of the data frame besides those of the groups.
_COLUMNS = ("first", "second", "difference", "p", "p_holm")
# Pairs of a screen, and characters of a group's name there.
_PAIRS, _WIDTH = 15, 24


@dataclass(frozen=True, repr=False)
class NetworkComparison:
    """How the networks of two groups differ, with p-values of a permutation test; see `compare_networks`.

    A p-value is the share of the permuted groups, the groups themselves included, that differ at least as much.

    Attributes:
        structure: largest difference of an edge, the statistic M of van Borkulo et al. (2022).
        structure_p: its p-value: the test of whether the networks are the same.
        strength: difference of the global strengths, the statistic S.
        strength_p: its p-value.
        strengths: global strength of both networks, the sum of the strengths of all edges.
        pairs: all pairs of variables of the networks, as numbers of columns i < j, shape (k, 2).
        weights: weight of each pair in both networks, with the sign of the edge if it has one, shape (k, 2).
        differences: difference of each pair, the Euclidean norm of the difference of its weights, shape (k,).
        p: p-value of each pair, shape (k,).
        p_holm: the same, adjusted for the number of pairs (Holm 1979), shape (k,).
        n: number of permutations; fewer than were asked for after Ctrl-C.
        sizes: number of samples of both groups.
        groups: names of the groups.
        networks: the networks of both groups.
        names: names of all columns.
    """

    structure: float
    structure_p: float
    strength: float
    strength_p: float
    strengths: tuple[float, float]
    pairs: Numbers
    weights: Vector
    differences: Vector
    p: Vector
    p_holm: Vector
    n: int
    sizes: tuple[int, int]
    groups: tuple[str, str]
    networks: tuple[PairwiseMRF, PairwiseMRF] = field(repr=False)
    names: Sequence[str] = field(repr=False)

    def order(self, level: float = 1.0) -> list[int]:
        """Return the pairs that differ, the smallest p-value first, of equal ones the largest difference.

        Args:
            level: largest adjusted p-value.
        """
        order = np.lexsort([-self.differences, self.p])
        return [k for k in order.tolist() if self.differences[k] > 0.0 and self.p_holm[k] <= level]

    def __getitem__(self, pair: tuple[str, str]) -> dict[str, float]:
        """Return the numbers of a pair of variables by name.

        Raises:
            DataError: the networks do not have a variable of this name.
        """
        number_of = {self.names[i]: i for i in np.unique(self.pairs).tolist()}
        for name in pair:
            if name not in number_of:
                message = (
                    f"no variable {name!r}{similar(str(name), number_of)}; the variables are {listed([*number_of], 8)}"
                )
                raise DataError(message)
        places = np.flatnonzero((self.pairs == sorted(number_of[name] for name in pair)).all(axis=1))
        if not places.size:
            message = f"{pair!r} names one variable twice; give two variables"
            raise DataError(message)
        k = int(places[0])
        values = (*self.weights[k], self.differences[k], self.p[k], self.p_holm[k])
        return {
            name: float(value) for name, value in zip((*self.groups, "difference", "p", "p_holm"), values, strict=True)
        }

    def __repr__(self) -> str:
        """Return the tests of the whole networks."""
        tests = f"p = {self.structure_p:.3g} (structure), {self.strength_p:.3g} (strength)"
        return f"<comparison of two networks: {tests}>"

    def _tests(self) -> list[str]:
        """Return lines on the groups and on the tests of the whole networks."""
        groups = zip(self.groups, self.sizes, self.networks, self.strengths, strict=True)
        return [
            *(
                f"{shortened(visible_name(name), _WIDTH)}: n = {size:,}, {counted(len(network.edges_), 'edge')}, "
                f"global strength {strength:.3f}"
                for name, size, network, strength in groups
            ),
            f"structure: M = {self.structure:.3f}, p = {self.structure_p:.3g}",
            f"strength: S = {self.strength:.3f}, p = {self.strength_p:.3g} ({counted(self.n, 'permutation')})",
        ]

    def __str__(self) -> str:
        """Return the tests and the pairs that differ most as text that fits a screen."""
        columns = self._columns()
        headings = {"p": "p", "p (Holm)": "Holm", "difference": "diff.", "first": "first", "second": "second"}
        titled = {name: [heading, *columns[name][:_PAIRS]] for name, heading in headings.items()}
        title = "\n".join([repr(self), *(f"  {line}" for line in self._tests())])
        return screen(title, titled, len(self.order()) + 1, "pair")

    def _columns(self) -> dict[str, list[str]]:
        """Return the cells of the pairs that differ most."""
        order = self.order()[:LISTED]
        ends = [[self.names[i] for i in self.pairs[order, side].tolist()] for side in (0, 1)]
        columns = {"first": ends[0], "second": ends[1]}
        for side, group in enumerate(self.groups):
            columns[group] = [f"{value:+.3f}" if value else "0" for value in self.weights[order, side].tolist()]
        columns["difference"] = [f"{value:.3f}" for value in self.differences[order].tolist()]
        columns["p"] = [f"{value:.3g}" for value in self.p[order].tolist()]
        columns["p (Holm)"] = [f"{value:.3g}" for value in self.p_holm[order].tolist()]
        return columns

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the tests and the pairs that differ most."""
        table = listing(self._columns(), "; ".join(self._tests()), texts=("second",))
        return in_notebook(table + more(len(self.order()), "pair"))

    def drawn(self, path: str, *, level: float = 1.0) -> bytes:
        """Return the content of a figure's file with this name; see `save_figure`."""
        order = self.order(level)
        present = np.unique(self.pairs).tolist()
        place = {variable: at for at, variable in enumerate(present)}
        edges = [[place[i] for i in pair] for pair in self.pairs[order].tolist()]
        signs = np.sign(self.weights[order, 1] - self.weights[order, 0]).astype(np.int64)
        meanings = {1: f"higher weight in {self.groups[1]}", -1: f"higher weight in {self.groups[0]}"}
        graph = ([self.names[i] for i in present], edges, self.differences[order], signs)
        meanings[0] = "other weights, equally strong"
        if is_page(path):
            return interactive(*graph, meanings=meanings, heading="Largest differences")
        return drawn(*graph, path, meanings=meanings)

    def save_figure(self, path: str | os.PathLike[str], *, level: float = 1.0) -> None:
        """Draw the network of the differences: the width of a line shows how much a pair differs between the groups.

        Args:
            path: name of the file: .svg, .png or .pdf, or .html for a page to look around in.
            level: largest adjusted p-value of the pairs that are drawn; by default all that differ.

        Raises:
            MissingPackageError: Matplotlib is not installed.
            OptionError: the name has another extension, or the level is out of range.
        """
        real_number("level", level, "a number above 0, at most 1", lambda x: 0.0 < x <= 1.0)
        check_figure(os.fspath(path), pages=True)
        write_output(os.fspath(path), self.drawn(os.fspath(path), level=level))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each pair that differs, the smallest p-value first.

        The columns are the names of both variables, ``first`` and ``second``, the weights in both groups by name of the
        group, ``difference``, ``p`` and ``p_holm``.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        order = self.order()
        columns: dict[str, Sequence[Any]] = {}
        for side, name in enumerate(("first", "second")):
            columns[name] = [self.names[i] for i in self.pairs[order, side].tolist()]
        for side, group in enumerate(self.groups):
            columns[group] = self.weights[order, side].tolist()
        for name, values in (("difference", self.differences), ("p", self.p), ("p_holm", self.p_holm)):
            columns[name] = values[order].tolist()
        return data_frame("to_frame", columns)


def compare_networks(
    first: Table | Observations,
    second: Table | Observations,
    estimator: PairwiseMRF | None = None,
    *,
    n: int = 1000,
    paired: bool = False,
    groups: tuple[str, str] = ("group 1", "group 2"),
    random_state: int | None = None,
    observe: Callable[[int], object] | None = None,
) -> NetworkComparison:
    """Test whether two groups have the same network.

    A network is trained for each group, and for groups of the same sizes into which the samples of both are divided at
    random. Each training has the estimator's options: a criterion such as ``l1="ebic"`` chooses the strength of the
    penalty again. Missing values stay with their samples. Networks are trained in parallel on the estimator's threads;
    the result is the same on any number of them. Ctrl-C ends with the permutations that are done.

    The difference of an edge is the Euclidean norm of the difference of its weights; for two variables with two states
    it is the absolute difference of their weights.

    Source: van Borkulo et al. (2022), the Network Comparison Test.

    Args:
        first: samples of a group, shape (n_samples, n_variables).
        second: samples of the other group, with the same columns.
        estimator: how networks are trained; `PairwiseMRF()` by default. It is not changed.
        n: number of permutations, >= 1.
        paired: whether row k of both groups comes from the same person; persons then change groups, or not.
        groups: names of the groups for messages, tables and figures.
        random_state: random seed; the estimator's by default.
        observe: called with the number of permutations done, after each.

    Raises:
        DataError: the groups have different columns, a group has fewer than two samples, or a column has a single value
            in one group.
        OptionError: an option is out of range.

    Warns:
        DataWarning: a state occurs in one group only, neither network has an edge, or the data have oddities that
            `PairwiseMRF.fit` warns of.

    Example:
        >>> from loglinear import compare_networks, PairwiseMRF
        >>> from loglinear.datasets import make_network
        >>> strong = make_network("chain", n_variables=4, n_samples=300, strength=3.0, random_state=0).X
        >>> weak = make_network("chain", n_variables=4, n_samples=300, strength=0.1, random_state=1).X
        >>> comparison = compare_networks(strong, weak, PairwiseMRF(l1=10.0), n=49)
        >>> comparison.structure_p, comparison.strength_p
        (0.02, 0.02)
    """
    count = whole_number("n", n, 1, 10**7)
    if not isinstance(estimator, PairwiseMRF | None):
        message = f"estimator={estimator!r} is not a PairwiseMRF; give, for example, PairwiseMRF(l1=10.0)"
        raise OptionError(message)
    model: PairwiseMRF = clone(PairwiseMRF() if estimator is None else estimator)
    options = model._options(NetworkOptions)
    options.check()
    seed = model._seed(random_state)
    truth_value("paired", paired)
    labels = _names_of(groups)
    frames = _without_empty(
        [_group(X, label, options) for X, label in zip((first, second), labels, strict=True)], labels, paired=paired
    )
    sizes = (len(frames[0].columns[0]), len(frames[1].columns[0]))
    samples = model._encoded(_stacked(frames[0], frames[1], labels), None, options)
    _check_states(model, samples.codes, sizes[0], labels)
    networks = _networks_of(model, samples.codes, sizes[0], options)
    w = [network._weights() for network in networks]
    observed = differences(model._numbering, w[0], w[1])
    training = Training(samples.codes, model._numbering, None, options, model._threads, ())
    tests = permuted(training, observed, sizes, n=count, seed=seed, paired=paired, observe=observe)
    pairs = np.stack(np.triu_indices(model._numbering.n_variables, 1), axis=1)
    weights = np.zeros((len(pairs), 2))
    for side, network in enumerate(networks):
        edges, strengths, signs = network._signed()
        weights[model._numbering.pairs_of(*edges.T), side] = np.where(signs < 0, -strengths, strengths)
    return NetworkComparison(
        observed.structure,
        tests.structure,
        observed.strength,
        tests.strength,
        observed.strengths,
        model._varying[pairs],
        weights,
        observed.edges,
        tests.edges,
        holm(tests.edges),
        tests.n,
        sizes,
        labels,
        networks,
        [model._called(i) for i in range(model.n_features_in_)],
    )


def _networks_of(
    model: PairwiseMRF, codes: Codes, n_first: int, options: NetworkOptions
) -> tuple[PairwiseMRF, PairwiseMRF]:
    """Return the networks of the first samples and of the others; warn if neither has edges."""
    names = getattr(model, "feature_names_in_", None)
    networks = (clone(model), clone(model))
    for network, part in zip(networks, (codes[:n_first], codes[n_first:]), strict=True):
        network._store_variables(None if names is None else names.tolist(), model.categories_, model.bin_edges_)
        network._train(TrainingSamples(part, None, len(part)), options)
    if not any(len(network.edges_) for network in networks):
        warn("neither network has edges, so no difference can be found; lower l1, or give more samples", DataWarning)
    return networks


def _group(X: Table | Observations, label: str, options: NetworkOptions) -> Frame:
    """Return the samples of a group, each in its own row."""
    with in_argument(label):
        frame = variables_of(X)
    if frame.counts is not None:
        rows = np.repeat(np.arange(len(frame.counts)), frame.counts)
        frame = replace(frame, columns=[column[rows] for column in frame.columns], counts=None, lines=None)
    return replace(frame, columns=with_missing(frame.columns, options.missing or ()))


def _names_of(groups: Sequence[str]) -> tuple[str, str]:
    """Return the names of both groups; raise OptionError if they are not two, or would name columns alike."""
    names = [str(name) for name in groups] if isinstance(groups, tuple | list) else []
    if len(names) != 2 or len({*names, *_COLUMNS}) < len(_COLUMNS) + 2:
        message = f"groups={groups!r} are not two different names other than {', '.join(_COLUMNS)}; give, for example, "
        message += "groups=('women', 'men')"
        raise OptionError(message)
    return names[0], names[1]


def _without_empty(frames: list[Frame], groups: tuple[str, str], *, paired: bool) -> list[Frame]:
    """Return groups without rows that have no value, and without pairs in which one has none; of two rows or more."""
    empty = [without_values(frame.columns) for frame in frames]
    if paired:
        if empty[0].size != empty[1].size:
            message = (
                f"paired=True needs groups of one size, not {empty[0].size} and {empty[1].size} samples; leave it "
            )
            message += "out, or give the rows of both groups in pairs"
            raise DataError(message)
        empty = [empty[0] | empty[1]] * 2
        if n_empty := int(empty[0].sum()):
            warn(f"ignored {counted(n_empty, 'pair')} of rows, one of which has no value", DataWarning)
    for mask, group in zip(empty, groups, strict=True):
        if mask.any() and not paired:
            warn(f"ignored {counted(int(mask.sum()), 'row')} of {group} without any value", DataWarning)
        if (left := int((~mask).sum())) < 2:
            message = f"{group} has {counted(left, 'sample')} with values; give two or more"
            raise DataError(message)
    return [frame.rows(~mask) for frame, mask in zip(frames, empty, strict=True)]


def _stacked(first: Frame, second: Frame, groups: tuple[str, str]) -> Frame:
    """Return the samples of both groups as one table, the columns in the order of the first."""
    if first.names is not None and second.names is not None:
        for names, others, group in ((first.names, second.names, 1), (second.names, first.names, 0)):
            if lacking := [name for name in names if name not in others]:
                message = f"{groups[group]} does not have columns {listed([*map(repr, lacking)], 8)} of "
                message += f"{groups[1 - group]}; give both groups the same columns"
                raise DataError(message)
        order = [second.names.index(name) for name in first.names]
        second = replace(second, columns=[second.columns[i] for i in order], orders=[second.orders[i] for i in order])
    elif len(first.columns) != len(second.columns):
        message = f"{groups[0]} has {counted(len(first.columns), 'column')}, {groups[1]} has "
        message += f"{len(second.columns)}; give both groups the same columns"
        raise DataError(message)
    columns = [_joined(a, b) for a, b in zip(first.columns, second.columns, strict=True)]
    orders = [a or b for a, b in zip(first.orders, second.orders, strict=True)]
    return replace(first, columns=columns, orders=orders, lines=None)


def _joined(first: Array, second: Array) -> Array:
    """Return the values of a column of both groups; NumPy would turn numbers next to texts into texts."""
    if first.dtype.kind != second.dtype.kind:
        first, second = first.astype(object), second.astype(object)
    return np.concatenate([first, second])


def _check_states(model: PairwiseMRF, codes: Codes, n_first: int, groups: tuple[str, str]) -> None:
    """Raise DataError for a column that is constant in one group; warn of states that one group does not have."""
    for rows, group in zip((codes[:n_first], codes[n_first:]), groups, strict=True):
        lacking = []
        for column, variable in zip(rows.T, model._varying.tolist(), strict=True):
            called, states = model._called(variable), model.categories_[variable].tolist()
            present = np.unique(column[column >= 0]).tolist()
            if len(present) < 2:
                has = f"the single value {states[present[0]]!r}" if present else "no value"
                message = (
                    f"{called} has {has} in {group}, so that its edges cannot be compared; leave the column out of "
                )
                message += "both groups"
                raise DataError(message)
            lacking += [f"{called} {state!r}" for k, state in enumerate(states) if k not in present]
        if lacking:
            message = f"{group} does not have these states of the other group: {listed(lacking, 8)}; they have no data "
            warn(message + "to compare, so merge them with others", DataWarning)
