"""Ablation: what each line of a template, or each family of attributes, is worth."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..data.corpus import Corpus
from ..data.inputs import Array, Classes, Labels, Samples, Sentences
from ..data.sample_values import classes_of
from ..data.writing import write_output
from ..display.fragment import in_notebook
from ..display.table import data_frame, listing
from ..errors import DataError, DataWarning, OptionError, in_argument, warn
from ..networks.numbering import Numbers
from ..objectives.chain import ChainObjective
from ..options import fail, one_of, seed_number, whole_number
from ..penalty import ElasticNet
from ..report.figure import check_figure
from ..report.worths import Worths, worths_figure
from ..vectors import Vector
from ..visible import counted, listed, shortened, visible_name
from .chain import ChainCRF
from .maxent import MaxEnt
from .training.ablation import By, Fold, Losses, measured
from .training.families import NamedWeights, named_weights_of, template_with
from .training.folds import sentence_folds
from .training.options import SolverOptions, StrengthSearch, cores
from .training.out_of_fold import MOST_FOLDS

if TYPE_CHECKING:
    import pandas

__all__ = ["Ablation", "FamilyWorth", "Smaller", "ablation"]

Model: TypeAlias = "ChainCRF | MaxEnt"


class FamilyWorth(NamedTuple):
    """What a family of attributes, such as a line of a template, is worth.

    Attributes:
        name: name of the family.
        n_weights: number of its weights.
        worth: rise of the mean loss of a held-out sentence, or sample, without the family, in nats.
        error: standard error of the worth, from its spread over the held-out sentences.
        entry: with by="lasso" the strength of the group lasso at which the family enters, over the largest one, from 0
            to 1; else None.

    Example:
        >>> from loglinear.models.ablation import FamilyWorth
        >>> FamilyWorth("U00", 10, 0.25, 0.01).name
        'U00'
    """

    name: str
    n_weights: int
    worth: float
    error: float
    entry: float | None = None


class Smaller(NamedTuple):
    """A model with fewer families.

    Attributes:
        names: names of the families, the most valuable first.
        loss: mean of -log p(y | x) of the held-out sentences, or samples, in nats.
        error: its standard error.

    Example:
        >>> from loglinear.models.ablation import Smaller
        >>> Smaller(("U00",), 0.25, 0.01).loss
        0.25
    """

    names: tuple[str, ...]
    loss: float
    error: float


@dataclass(frozen=True, eq=False, repr=False)
class Ablation:
    """What the families of a model are worth, and models with fewer of them.

    Attributes:
        families: the most valuable first.
        models: models with all families, with one less, and so on to a single one; the least valuable are left out
            first.
        items: what is held out: "sentences" or "samples".
        n_held_out: number of these.
        seconds: of a training with all families, and of all trainings, both summed over the folds.
        evaluations: evaluations of the gradient, likewise.
        template: template of the model; None if its attributes were formed otherwise.
    """

    families: tuple[FamilyWorth, ...]
    models: tuple[Smaller, ...] = field(repr=False)
    items: str
    n_held_out: int
    seconds: tuple[float, float]
    evaluations: tuple[int, int]
    template: str | None = field(default=None, repr=False)

    @property
    def best(self) -> Smaller:
        """The model with the lowest loss; of equals the smallest."""
        return min(reversed(self.models), key=lambda model: model.loss)

    @property
    def smallest(self) -> Smaller:
        """The smallest model whose loss is within one standard error of the lowest loss."""
        best = self.best
        return next(model for model in reversed(self.models) if model.loss <= best.loss + best.error)

    @property
    def smallest_template(self) -> str:
        """The template with the lines of the smallest model within one standard error of the best.

        Raises:
            OptionError: the model has no template.
        """
        if self.template is None:
            message = "the attributes were not formed by a template, so there are no lines to write; see smallest.names"
            raise OptionError(message)
        return template_with(self.template, self.smallest.names)

    def __repr__(self) -> str:
        """Return the number of families, and the size of the smallest model."""
        n, n_kept = len(self.families), len(self.smallest.names)
        return f"<Ablation: {n} families, {n_kept} within one standard error of the best>"

    def __str__(self) -> str:
        """Return a table as text: the worth of each family, and the loss without it and all less valuable ones."""
        rows = [["family", "weights", "worth", "error", "loss", *(["entry"] if self._has_entries else [])]]
        for family, model in zip(self.families, reversed(self.models), strict=True):
            mark = "*" if model.names == self.smallest.names else ""
            entry = [f"{family.entry:.3f}"] if family.entry is not None else []
            cells = [shortened(visible_name(family.name), 32), f"{family.n_weights:,}", f"{family.worth:+.4f}"]
            rows.append([*cells, f"{family.error:.4f}", f"{model.loss:.4f}{mark}", *entry])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}"
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join([*lines, "", *self.account])

    @property
    def account(self) -> list[str]:
        """Lines that say what the columns are, which families stay, and what the trainings cost."""
        best, n_kept, whole = self.best, len(self.smallest.names), self.models[0]
        one, every = self.seconds
        evaluations = self.evaluations[1] / max(self.evaluations[0], 1)
        size = "1 family" if n_kept == 1 else f"{n_kept} families"
        lowest = f"{best.loss:.4f} (standard error {best.error:.4f})"
        return [
            f"worth: rise of the mean loss of {self.n_held_out:,} held-out {self.items} without the family, in nats",
            f"loss: with the family and all above it; with all families: {whole.loss:.4f}, lowest: {lowest}",
            f"* the smallest within one standard error of the lowest has {size}",
            f"cost: {every:.3g} s, {every / max(one, 1e-9):.1f} times a training with all families, in evaluations "
            f"{evaluations:.1f} times",
        ]

    @property
    def _has_entries(self) -> bool:
        return self.families[0].entry is not None

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the table."""
        columns = {
            "family": [family.name for family in self.families],
            "weights": [f"{family.n_weights:,}" for family in self.families],
            "worth": [f"{family.worth:+.4f}" for family in self.families],
            "error": [f"{family.error:.4f}" for family in self.families],
            "loss": [f"{model.loss:.4f}" for model in reversed(self.models)],
        }
        return in_notebook(listing(columns, "; ".join(self.account[1:3])))

    def to_frame(self) -> pandas.DataFrame:
        """Return the families as a pandas DataFrame, the most valuable first.

        Columns are ``family``, ``weights``, ``worth``, ``error``, ``entry`` with by="lasso", ``loss`` of the model
        with this family and all above it, and ``kept``, whether the smallest model has the family.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        smallest = set(self.smallest.names)
        columns: dict[str, Sequence[Any]] = {
            "family": [family.name for family in self.families],
            "weights": [family.n_weights for family in self.families],
            "worth": [family.worth for family in self.families],
            "error": [family.error for family in self.families],
        }
        if self._has_entries:
            columns["entry"] = [family.entry for family in self.families]
        columns["loss"] = [model.loss for model in reversed(self.models)]
        columns["kept"] = [family.name in smallest for family in self.families]
        return data_frame("to_frame", columns)

    def save_figure(self, path: str | os.PathLike[str]) -> None:
        """Draw the worth of each family, and the losses of smaller models; families that stay are blue.

        Args:
            path: name of the file: .svg, .png or .pdf.

        Raises:
            MissingPackageError: Matplotlib is not installed.
            OptionError: the name has another extension.
        """
        check_figure(os.fspath(path))
        names = [family.name for family in self.families]
        numbers = [(family.worth, family.error) for family in self.families]
        losses = [(model.loss, model.error) for model in reversed(self.models)]
        worths = Worths(names, numbers, losses, len(self.smallest.names), self.best.loss + self.best.error)
        write_output(os.fspath(path), worths_figure(worths, os.fspath(path)))


def ablation(
    model: Model,
    X: Corpus | Sentences | Samples,
    y: Labels | Classes | None = None,
    *,
    X_dev: Corpus | Sentences | Samples | None = None,
    y_dev: Labels | Classes | None = None,
    folds: int = 5,
    by: By = "leave-out",
    random_state: int = 0,
) -> Ablation:
    """Measure what each family of attributes is worth on held-out data: a line of a template, or a column.

    A family is all attributes of a template line, or with the same text before the first ``=`` or ``:``. Features of
    labels alone are the families ``transitions`` and ``triples``. Each family is left out in turn. Then the families
    are left out one after the other, the least valuable first, which gives models of every size. A training without
    families starts from the weights of the training before, so it takes fewer steps.

    Cost: for each fold a training, and for each family two shorter ones; by="lasso" also a path. Folds are trained side
    by side.

    Source: one standard error: Breiman, Friedman, Olshen & Stone (1984), section 3.4.3; the group lasso: Yuan & Lin
    (2006).

    Args:
        model: estimator whose options are used; it need not be fitted, and is not changed.
        X: data, as for its ``fit``.
        y: labels, as for its ``fit``.
        X_dev: held-out data; by default folds of X are held out in turn.
        y_dev: their labels.
        folds: number of folds, >= 2.
        by: what orders the families: "leave-out", by the rise of the loss without the family, or "lasso", by the
            strength of a group lasso over families at which the family enters.
        random_state: seed of the folds and of stochastic solvers.

    Raises:
        OptionError: an option is out of range, or the model has a single family.
        DataError: invalid data, or too few to hold some out.

    Warns:
        DataWarning: a label occurs in one fold alone.

    Example:
        >>> from loglinear import ChainCRF, ablation
        >>> X = [[{"w": w, "noise": str(n % 3)}] for n, w in enumerate(["a", "b"] * 20)]
        >>> y = [["A"], ["B"]] * 20
        >>> worth = ablation(ChainCRF(l2=0.1), X, y, folds=4)
        >>> worth.families[0].name, worth.smallest.names
        ('w', ('w',))
    """
    one_of("by", by, ("leave-out", "lasso"))
    seed = seed_number("random_state", random_state)
    if X_dev is None and y_dev is not None:
        message = "y_dev needs the data: give X_dev, or leave out y_dev"
        raise OptionError(message)
    whole_number("folds", folds, 2, MOST_FOLDS)
    if isinstance(model, ChainCRF):
        data: _Sentences | _Samples = _Sentences(model, X, y)
    elif isinstance(model, MaxEnt):
        data = _Samples(model, X, y)
    else:
        fail("model", model, "is not a ChainCRF or MaxEnt")
    options = data.options
    options.refuse_families("ablation")
    names = data.families
    if len(names.families) < 2:
        message = f"there is a single family, {visible_name((*names.families, '')[0])!r}: nothing can be left out; "
        raise OptionError(message + "give attributes of several lines")
    if X_dev is None:
        parts = data.folds(folds, seed)
    else:
        with in_argument("X_dev"):
            parts = [data.with_dev(X_dev, y_dev)]
    threads = model._threads or cores()
    losses = measured(parts, len(names.families), lambda: options.make_solver()[1], by=by, threads=threads)
    return _result(losses, names, data)


def _result(losses: Losses, names: NamedWeights, data: _Sentences | _Samples) -> Ablation:
    """Return the result of an ablation from the losses of held-out samples."""
    sizes = np.bincount(names.family_of_weight, minlength=len(names.families))
    order = losses.order[::-1].tolist()
    families = []
    for at in order:
        worth, error = _mean(losses.without[at] - losses.whole)
        entry = None if losses.entries is None else float(losses.entries[at])
        families.append(FamilyWorth(names.families[at], int(sizes[at]), worth, error, entry))
    rows = [losses.whole, *losses.nested]
    models = [
        Smaller(tuple(names.families[at] for at in order[: len(order) - k]), *_mean(row)) for k, row in enumerate(rows)
    ]
    n = losses.whole.size
    return Ablation(tuple(families), tuple(models), data.items, n, losses.seconds, losses.evaluations, data.template)


def _mean(values: Vector) -> tuple[float, float]:
    """Return the mean of some values and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


def _numbers_in(names: NamedWeights, whole: NamedWeights) -> Numbers:
    """Return the family of each weight of a part of the data, numbered as in the whole."""
    number_of = {name: number for number, name in enumerate(whole.families)}
    return np.array([number_of[name] for name in names.families], dtype=np.int64)[names.family_of_weight]


def _possible(possible: Array, items: str) -> Array:
    """Return which held-out samples a model can label as they are; warn of others, which do not count.

    Raises:
        DataError: it can label none of them so.
    """
    n_lost = possible.size - int(np.count_nonzero(possible))
    if n_lost == possible.size:
        message = f"all held-out {items} have labels that the training data lack, or that the constraints forbid; "
        raise DataError(message + "give other held-out data")
    if n_lost:
        message = f"{counted(n_lost, f'held-out {items[:-1]}')} with labels that the training data lack, or that the "
        warn(f"{message}constraints forbid, did not count", DataWarning)
    return possible


def _warn_of_lost(targets: Numbers, fold_of: Numbers, labels: Sequence[Any]) -> None:
    """Warn of labels that occur in one fold alone, so that the model without the fold does not know them."""
    table = np.zeros((int(fold_of.max()) + 1, len(labels)), dtype=np.int64)
    np.add.at(table, (fold_of, targets), 1)
    lost = np.flatnonzero((table > 0).sum(axis=0) == 1)
    if lost.size:
        named = listed([repr(labels[label]) for label in lost.tolist()], 5)
        warn(f"labels that occur in one fold alone cannot be learned without it: {named}", DataWarning)


def _options_of(model: ChainCRF | MaxEnt) -> SolverOptions:
    """Return how a model is trained; raise OptionError if its strengths are to be chosen."""
    if (search := model._options(StrengthSearch)).names:
        message = f"ablation is not available with {search.named}; give a number"
        raise OptionError(message)
    options: SolverOptions = model._options(SolverOptions)
    options.check()
    return options


class _Sentences:
    """Labelled sentences of a chain."""

    items = "sentences"

    def __init__(self, model: ChainCRF, X: Any, y: Any) -> None:
        self.options = _options_of(model)
        self._model, self.template = model, model.template
        data = model._data_by(X, y, None)(model.template, None)
        assert isinstance(data, ChainObjective)
        data.corpus.check_whole("an ablation needs complete labels; leave out such sentences")
        self._data, self.template = data, data.template
        self.families = named_weights_of(data)

    def folds(self, n: int, seed: int) -> list[Callable[[], Fold]]:
        """Return the folds of the sentences, each with the others to train on."""
        corpus, lengths = self._data.corpus, np.array(self._data.corpus.core.lengths(), dtype=np.int64)
        if lengths.size < 2:
            message = f"{counted(lengths.size, 'sentence')} cannot be divided into folds; give more, or X_dev"
            raise DataError(message)
        targets = corpus.core.targets().astype(np.int64)
        counts = np.bincount(targets, minlength=len(corpus.labels))
        fold_of = sentence_folds(targets, lengths, np.arange(lengths.size), counts, n, seed)
        _warn_of_lost(targets, np.repeat(fold_of, lengths), corpus.labels)
        return [
            partial(self._fold, fold_of != fold, corpus[np.flatnonzero(fold_of == fold)])
            for fold in range(int(fold_of.max()) + 1)
        ]

    def with_dev(self, X: Any, y: Any) -> Callable[[], Fold]:
        """Return held-out data with all sentences to train on."""
        held = self._model._corpus(X, y, self._model.template)
        if not held.labels:
            what, remedy = ("labels", "give y_dev") if held.n_tokens else ("tokens", "give others, or leave them out")
            message = f"the held-out data have no {what}; {remedy}"
            raise DataError(message)
        held.check_whole("an ablation needs complete labels; leave out such sentences")
        return partial(self._fold, None, held)

    def _fold(self, trains: Array | None, held: Corpus) -> Fold:
        objective = self._data if trains is None else self._data.sample(np.flatnonzero(trains))
        share = objective.weights.sum() / self._data.weights.sum()
        penalty = self.options.penalty()
        names = self.families if trains is None else named_weights_of(objective)

        def losses(w: Vector) -> Vector:
            pairs = np.array(objective.model(w).log_partition(held.core, threads=1)).reshape(-1, 2)
            return np.asarray(-pairs[:, 1])[possible]

        possible: Array = np.ones(len(held), dtype=bool)
        possible = _possible(np.isfinite(losses(np.zeros(objective.n_features))), self.items)
        scaled = ElasticNet(penalty.l1 * share, penalty.l2 * share)
        return Fold(objective, scaled, 1, _numbers_in(names, self.families), losses)


class _Samples:
    """Labelled samples of a classifier."""

    items = "samples"

    def __init__(self, model: MaxEnt, X: Any, y: Any) -> None:
        if model.multi_class == "ovr":
            message = "ablation is not available with multi_class='ovr'; use softmax"
            raise OptionError(message)
        self.options = _options_of(model)
        self._model = type(model)(**model.get_params(deep=False))
        self._data, _, n_samples = self._model._encoded(X, y)
        if n_samples is not None:
            message = "an ablation needs one class for each sample, not distributions"
            raise DataError(message)
        self.template = self._model._template
        self._n_outputs = self._data.n_outputs
        self.families = self._model._named_weights(self._n_outputs, self._data.kept, None)

    def folds(self, n: int, seed: int) -> list[Callable[[], Fold]]:
        """Return the folds of the samples, each with the others to train on."""
        targets = self._data.targets.astype(np.int64)
        if targets.size < 2:
            message = "a single sample cannot be divided into folds; give more, or X_dev"
            raise DataError(message)
        classes, ones = self._model.classes_.tolist(), np.ones(targets.size, dtype=np.int64)
        counts = np.bincount(targets, minlength=len(classes))
        fold_of = sentence_folds(targets, ones, np.arange(targets.size), counts, n, seed)
        _warn_of_lost(targets, fold_of, classes)
        return [
            partial(self._fold, fold_of != fold, self._data.sample(np.flatnonzero(fold_of == fold)))
            for fold in range(int(fold_of.max()) + 1)
        ]

    def with_dev(self, X: Any, y: Any) -> Callable[[], Fold]:
        """Return held-out data with all samples to train on."""
        model = self._model
        if isinstance(X, Corpus):
            message = "an ablation takes held-out samples as lists or matrices, not as a Corpus; give X_dev and y_dev"
            raise OptionError(message)
        matrix = model._matrix(X)
        classes = classes_of(y, "y_dev", matrix.shape[0], model.classes_)
        possible = _possible(np.isin(classes, model.classes_), self.items)
        matrix, classes = matrix[possible], classes[possible]
        targets = np.searchsorted(model.classes_, classes)

        def losses(w: Vector) -> Vector:
            coef, intercept = self._data.coefficients(w)
            scores = np.asarray(matrix @ coef.T) + intercept
            if scores.shape[1] == 1:
                scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
            of_true = scores[np.arange(targets.size), targets]
            return np.asarray(np.logaddexp.reduce(scores, axis=1) - of_true)

        return lambda: self._of(self._data, losses)

    def _fold(self, trains: Array, held: Any) -> Fold:
        return self._of(self._data.sample(np.flatnonzero(trains)), held.sample_nlls)

    def _of(self, objective: Any, losses: Callable[[Vector], Vector]) -> Fold:
        share = float(objective.weights.sum() / self._data.weights.sum())
        penalty = self.options.penalty()
        scaled = ElasticNet(penalty.l1 * share, penalty.l2 * share, objective.n_unpenalised)
        return Fold(objective, scaled, self._n_outputs, self.families.family_of_weight, losses)
