"""Labels as names, which the native half knows, and names as labels again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core
from ..errors import DataError, DataWarning, warn
from ..options import truth_types
from ..visible import listed
from .columns import as_items, is_absent

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "LabelNames",
    "are_real",
    "check_classes",
    "check_comparable",
    "check_ordered",
    "check_sentence",
    "check_several",
    "check_single",
    "check_small",
    "check_targets",
    "check_types",
    "check_whole_or_soft",
    "family",
    "typed",
]

# With at most this many samples, nothing is said of a class for most of them.
_FEW_SAMPLES = 20
_COLLECTIONS = (list, tuple, Set, Mapping)
# The label of a name, by the labels' type.
_OF_NAME: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "bool": "True".__eq__}

Name: TypeAlias = "str | tuple[str, ...] | dict[str, float] | None"
"""The name of a label, of one of several, of each with its probability, or of any."""

# What to do about a sentence, or its labels, that is missing.
_DROP = "leave out its row (dropna, drop_nulls)"


class LabelNames:
    """Sequences of labels as sequences of names, for one iteration.

    Labels are strings, integers, or truth values, of Python or NumPy, and all of the same type. In place of a label,
    None says that it is unknown, a set of labels that it is one of them, and a dict gives each label's probability.

    Args:
        sequences: a sequence of labels for each sentence.

    Attributes:
        type: "str", "int" or "bool", as soon as a label has been seen; "str" before.
    """

    def __init__(self, sequences: Iterable[Any]) -> None:
        check_ordered(sequences, "the labels of all sentences")
        self._sequences = sequences
        self._known: dict[type, str] = {}
        self.type = "str"

    def __iter__(self) -> Iterator[Sequence[Name]]:
        """Yield the names of each sentence's labels: a tuple for a set, a dict for a dict, None for an unknown label.

        Raises:
            DataError: the labels of a sentence have no order or are a string, a label has another type, two labels have
                different types, or a set is empty; names the sentence, and the token with the set.
        """
        only_str = {str}
        for sentence, values in enumerate(self._sequences):
            labels = as_items(values)
            if type(labels) is list and self.type == "str" and self._known and {*map(type, labels)} == only_str:
                yield labels
                continue
            where = f"labels of sentence {sentence}"
            check_ordered(labels, where, _DROP if labels is None else "")
            listed = list(labels.tolist() if hasattr(labels, "tolist") else labels)
            if {*map(type, listed)} <= self._known.keys():
                yield listed if self.type == "str" else list(map(str, listed))
            else:
                yield [self._name(label, token, where) for token, label in enumerate(listed)]

    def _name(self, label: object, token: int, where: str) -> Name:
        """Return the name of a label, the names of a set or of a dict of labels, or None."""
        if label is None:
            return None
        if isinstance(label, Mapping):
            return self._shares(label, f"{where}, token {token}")
        if not isinstance(label, Set):
            self._learn(label, where)
            return label if isinstance(label, str) else str(label)
        where += f", token {token}"
        if not label:
            message = f"{where}: empty set of labels; give the possible labels, or None for any"
            raise DataError(message)
        for element in label:
            self._learn(element, f"{where}, in a set")
        return tuple(sorted(map(str, label)))

    def _shares(self, label: Mapping[object, object], where: str) -> dict[str, float]:
        """Return the probabilities of labels by name; the native half looks at their sum."""
        for element in label:
            self._learn(element, f"{where}, in a dict")
        return {str(element): share for element, share in numbers_by_label(label, where).items()}

    def _learn(self, label: object, where: str) -> None:
        name = _type_name(type(label))
        if name is None:
            remedy = "give None for an unknown label" if is_absent(label) else "use str, int or bool"
            message = f"{where}: {label!r} has type {type(label).__name__}; {remedy}"
            raise DataError(message)
        if self._known and name != self.type:
            message = f"{where}: {label!r} has type {name}, but earlier labels have type {self.type}; use one type"
            raise DataError(message)
        self._known[type(label)], self.type = name, name


def numbers_by_label(label: Mapping[Any, Any], where: str) -> dict[Any, float]:
    """Return the probabilities, or other numbers, of a dict by label.

    Raises:
        DataError: the dict is empty, or has a value that is not a number; the message begins with `where`.
    """
    if not label:
        message = f"{where}: empty dict of labels; give the probability of each label, or None for any label"
        raise DataError(message)
    numbers = {}
    for element, number in label.items():
        try:
            numbers[element] = float(number)
        except (TypeError, ValueError, OverflowError):
            message = f"{where}: the probability of {element!r} is {number!r:.60}, which is not a number"
            raise DataError(message) from None
    return numbers


def check_ordered(items: object, what: str, remedy: str = "") -> None:
    """Raise DataError if the items of a sequence are a string or unordered.

    Args:
        items: a sequence, or something else that can be gone through.
        what: the items in words, for the message.
        remedy: what to do, for the message.
    """
    if isinstance(items, (list, tuple)):
        return
    if isinstance(items, (str, bytes, Set, Mapping)) or not _can_be_gone_through(items):
        if items is None:
            message = f"{what}: expected a sequence, such as a list, not None"
        else:
            name = _type_name(type(items)) or type(items).__name__
            shown = items.item() if hasattr(items, "item") else items  # NumPy's scalars
            message = f"{what}: expected a sequence, such as a list, not the {name} {shown!r:.60}"
        message += f"; {remedy}" if remedy else ""
        raise DataError(message)


def check_sentence(tokens: object, what: str) -> None:
    """Raise DataError if a sentence is a token: one sentence was given where several are expected.

    Args:
        tokens: the sentence.
        what: the sentence in words, for the message.
    """
    check_ordered(tokens, what, _DROP if tokens is None else "put a single sentence into a list, as in [tokens]")


def _can_be_gone_through(items: Any) -> bool:
    try:
        iter(items)
    except TypeError:
        return False
    return True


def check_several(classes: npt.NDArray[Any], n_samples: int) -> None:
    """Raise DataError if there is only one class, or there are too many.

    Warns:
        DataWarning: there is a class for most of the samples.
    """
    if classes.size > _core.MOST_LABELS:
        message = f"{classes.size:,} classes, more than {_core.MOST_LABELS:,}; check that they are not identifiers"
        raise DataError(message)
    if classes.size < 2:
        message = f"the data have only one class, {classes.tolist()[0]!r}; a classifier needs two or more"
        raise DataError(message)
    if n_samples > _FEW_SAMPLES and classes.size > n_samples / 2:
        warn(
            f"{classes.size:,} classes for {n_samples:,} samples, so most classes have a single sample; check that the "
            "classes are not identifiers, or numbers as in a regression task",
            DataWarning,
        )


def check_targets(names: Sequence[str], *, commas: bool = True) -> None:
    """Raise DataError if the labels of a file are real numbers, as in a regression task.

    Args:
        names: of the labels.
        commas: whether labels with commas are worth a warning.

    Warns:
        DataWarning: labels are several with commas between them, as in a multi-label task.
    """
    if are_real(names):
        shown = listed(sorted(names), 3)
        message = f"the labels are real numbers ({shown}), as in a regression task; a classifier needs classes"
        raise DataError(message)
    several = [name for name in names if "," in name] if commas else []
    if several:
        shown = " and ".join(map(repr, sorted(several)[:2]))
        warn(
            f"each label with a comma, such as {shown}, is a separate class, as every sample has one class; for a "
            "multi-label task, train a classifier for each label",
            DataWarning,
        )


def are_real(names: Collection[str]) -> bool:
    """Whether all labels are numbers, and not all of them whole numbers."""
    numbers = [number for name in names if (number := _number(name)) is not None]
    return 0 < len(numbers) == len(names) and any(number % 1.0 for number in numbers)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def check_classes(y: Any) -> None:
    """Raise DataError if values of several types are mixed among classes, or a class is None or a collection.

    Args:
        y: classes in an order; only the values of sequences and of arrays of objects are looked at, others have one
            type.
    """
    if isinstance(y, Iterator):
        message = f"y is a {type(y).__name__}, which can be gone through only once; give list(y)"
        raise DataError(message)
    if y is not None and not hasattr(y, "__array__") and not hasattr(y, "tocsr"):
        check_ordered(y, "y")
    if not isinstance(y, (list, tuple)) and getattr(getattr(y, "dtype", None), "kind", "") != "O":
        return
    if type(None) in {*map(type, y)}:
        message = "a class is None; leave out samples without a class"
        raise DataError(message)
    check_single(y, "a class", "sample")
    check_types(y, "the classes have several types", "; use one type")


def check_types(values: Collection[object], what: str = "they have several types", remedy: str = "") -> None:
    """Raise DataError if values are not all strings, all bytes, all truth values, or all others, such as numbers.

    Args:
        values: of samples.
        what: what the message says about them.
        remedy: what to do, for the message.
    """
    kinds = {*map(type, values)}
    if len({family(kind) for kind in kinds}) < 2:
        return
    missing = next((row for row, value in enumerate(values) if is_absent(value)), None)
    if missing is not None:
        message = f"y contains NaN in row {missing}; leave out samples without a class"
        raise DataError(message)
    message = f"{what}: {', '.join(sorted(kind.__name__ for kind in kinds))}{remedy}"
    raise DataError(message)


def check_small(labels: Iterable[object]) -> None:
    """Raise DataError if a class is a whole number that no array of NumPy's holds."""
    large = next((label for label in labels if isinstance(label, int) and label.bit_length() > 64), None)
    if large is not None:
        message = f"a class is a number of {large.bit_length()} bits; give the classes as strings"
        raise DataError(message)


def check_single(labels: Collection[object], called: str, unit: str) -> None:
    """Raise DataError if a label is a collection of several, or of none.

    Args:
        labels: of samples or nodes.
        called: what the message calls a label.
        unit: what has a label.
    """
    if not any(issubclass(kind, _COLLECTIONS) for kind in {*map(type, labels)}):
        return
    several = next((label for label in labels if isinstance(label, _COLLECTIONS) and len(label) != 1), None)
    if several is not None:
        what = f"{called} is the {type(several).__name__} {several!r:.60}, but a {unit} has only one"
        message = f"{what}; for a multi-label task, train a model for each label"
        raise DataError(message)


def check_comparable(labels: Iterable[object], where: str, *, gold: bool = False) -> None:
    """Raise DataError if a label cannot be compared with others: it is partial, soft or a collection.

    Args:
        labels: of tokens; None is a missing label.
        where: what the message begins with, such as the sentence.
        gold: whether labels are gold labels, none of which may be missing.
    """
    for label in labels:
        several = isinstance(label, (Set, Mapping))
        if gold and (label is None or several):
            message = f"{where}: a label is partial; evaluation needs complete labels, not {label!r:.60}"
            raise DataError(message)
        if several or type(label).__hash__ is None:
            message = f"{where}: {label!r:.60} is a {type(label).__name__}, not a label; give one label per token"
            raise DataError(message)


def check_whole_or_soft(label: Any, where: str) -> None:
    """Raise DataError, which begins with `where`, if the label of a sample is unknown or one of several."""
    if label is None or isinstance(label, Set):
        several = "|".join(sorted(map(str, label or ())))
        what = "the label is unknown" if label is None else f"the label is one of several ({several:.60})"
        message = f"{where}: {what}, which a classifier cannot learn from; leave out such samples, or give the "
        message += "probability of each label, as in A:0.7|B:0.3"
        raise DataError(message)


def typed(sequences: list[list[Any]], label_type: str) -> list[list[Any]]:
    """Return names as labels of a type ("str", "int" or "bool"), with sets, dicts and None for uncertain labels.

    Names themselves are not copied.
    """
    if label_type == "str":
        return sequences
    label_of = _OF_NAME[label_type]

    def typed_set(names: frozenset[str] | dict[str, float] | None) -> frozenset[Any] | dict[Any, float] | None:
        if isinstance(names, dict):
            return {label_of(name): share for name, share in names.items()}
        return None if names is None else frozenset(map(label_of, names))

    return [[label_of(name) if type(name) is str else typed_set(name) for name in names] for names in sequences]


def family(kind: type) -> str:
    """Return "str", "bytes" or "bool" for types of which all values must be; "" for others, such as numbers."""
    name = "bytes" if issubclass(kind, bytes) else _type_name(kind)
    return "" if name in (None, "int") else str(name)


def _type_name(kind: type) -> str | None:
    if issubclass(kind, str):
        return "str"
    if issubclass(kind, truth_types()):
        return "bool"
    return "int" if issubclass(kind, Integral) else None
