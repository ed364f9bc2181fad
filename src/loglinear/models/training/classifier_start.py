"""Training from a model: a trained classifier gives the weights that a training on other data starts at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...data.inputs import Array
from ...data.templates import TemplateText
from ...errors import DataError
from ...result import WarmStart
from ..files.maxent import Contents, read
from .start import start_path, warn_of_template

if TYPE_CHECKING:
    from ...objectives.classifier import ClassifierData
    from ...vectors import Vector

__all__ = ["ClassifierStart", "Columns", "StartingWeights"]


@dataclass(frozen=True)
class Columns:
    """The columns of a classifier's data.

    Attributes:
        size: number of columns.
        names: their names; None without names.
        are_numbered: whether they are the columns of a matrix or table, which have numbers if they have no names.
    """

    size: int
    names: Sequence[str] | None
    are_numbered: bool


@dataclass(frozen=True)
class StartingWeights:
    """The weights of an older classifier for the classes and columns of new data; 0 where it has none.

    Attributes:
        coef: shape (n_classes, n_columns).
        intercept: shape (n_classes,).
        name: what messages and settings call the older classifier.
        new_labels: names of the classes that it does not have.
    """

    coef: Vector
    intercept: Vector
    name: str
    new_labels: list[str]

    def of(self, data: ClassifierData, target: int | None) -> tuple[Vector, WarmStart]:
        """Return the weights at which a training starts, shape (n_features,), and an account of them.

        Args:
            data: the data of the training.
            target: number of the class in a training of one class against the rest; otherwise None.
        """
        coef, intercept = self.coef, self.intercept
        if target is not None:
            coef, intercept = coef[target : target + 1], intercept[target : target + 1]
        elif len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        w = data.weights_of(coef, intercept)
        return w, WarmStart(self.name, int(np.count_nonzero(w)), w.size, self.new_labels)


class ClassifierStart:
    """A trained classifier, at whose weights the training of another one starts.

    Args:
        contents: the classifier's classes, columns and weights.
        name: what messages and settings call it.
        are_numbered: see `Columns`.
        argument: the argument that messages say to leave out.
    """

    def __init__(self, contents: Contents, name: str, *, are_numbered: bool, argument: str = "start") -> None:
        self.contents, self.name, self._argument = contents, name, argument
        names = contents.column_names if contents.attributes is None else contents.attributes
        self.columns = Columns(contents.coef.shape[1], names, are_numbered)

    @classmethod
    def open(cls, path: str | os.PathLike[str], argument: str = "start") -> ClassifierStart:
        """Open the file of a classifier, which messages about the path call by the name of the argument.

        Raises:
            OptionError: the argument is not a path.
            ModelFileError: the file is damaged or of another kind.
            OSError: the file cannot be read.
        """
        name = start_path(path, "MaxEnt", argument)
        contents = read(name)
        return cls(contents, name, are_numbered=contents.attributes is None, argument=argument)

    @property
    def template(self) -> TemplateText | None:
        """The template of the trained classifier, if it has one."""
        return None if self.contents.template is None else TemplateText(self.contents.template)

    def weights(self, classes: Array, columns: Columns, template: str | None, *, one_vs_rest: bool) -> StartingWeights:
        """Return the weights for other classes and columns.

        Args:
            classes: classes of the new data, sorted, shape (n_classes,).
            columns: columns of the new data.
            template: template of the new data.
            one_vs_rest: whether each class is trained against the rest.

        Raises:
            DataError: the classes have another type; the columns cannot be compared.

        Warns:
            UserWarning: the template is another one.
        """
        old_classes, labels = self.contents.classes.tolist(), classes.tolist()
        new_type, old_type = type(labels[0]).__name__, type(old_classes[0]).__name__
        if new_type != old_type:
            message = f"the classes have type {new_type}, but {self.name} has classes of type {old_type}"
            raise DataError(message)
        here, there = self._shared_columns(columns)
        warn_of_template(self.name, self.contents.template, template)
        coef, intercept = self.contents.coef, self.contents.intercept
        if len(coef) == 1:
            share = 1.0 if one_vs_rest else 0.5  # the scores of two classes differ by x . w
            coef, intercept = np.outer([-share, share], coef), np.outer([-share, share], intercept).ravel()
        row_of = {label: row for row, label in enumerate(old_classes)}
        shared = [(k, row_of[label]) for k, label in enumerate(labels) if label in row_of]
        starting_coef, starting_intercept = np.zeros((len(labels), columns.size)), np.zeros(len(labels))
        for k, row in shared:
            starting_coef[k, here], starting_intercept[k] = coef[row, there], intercept[row]
        new_labels = [str(label) for label in labels if label not in row_of]
        return StartingWeights(starting_coef, starting_intercept, self.name, new_labels)

    def _shared_columns(self, columns: Columns) -> tuple[list[int], list[int]]:
        """Return the numbers of the shared columns, in the new data and in the classifier."""
        older = self.columns
        if older.names is not None and columns.names is not None:
            number_of = {name: number for number, name in enumerate(older.names)}
            shared = [(k, number_of[name]) for k, name in enumerate(columns.names) if name in number_of]
            return [here for here, _ in shared], [there for _, there in shared]
        if older.are_numbered != columns.are_numbered:
            new, old = ("is a matrix", "attributes") if columns.are_numbered else ("contains attributes", "a matrix")
            message = f"X {new}, but {self.name} was trained on {old}; leave out {self._argument}"
            message += f" (--{self._argument})"
            raise DataError(message)
        if older.size != columns.size:
            sizes = f"X has {columns.size} columns, but {self.name} has {older.size}"
            message = f"{sizes}; give the same columns, or tables whose columns have names"
            raise DataError(message)
        return [*range(columns.size)], [*range(columns.size)]
