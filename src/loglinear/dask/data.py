"""Data for a cluster as parts: files, Dask bags, and sequences of partitions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dask.bag import Bag
from dask.delayed import Delayed
from distributed import Future

from ..data.column_layout import ColumnLayout
from ..data.corpus import checked_weights
from ..data.inputs import Labels, Sentences, TokenWeights
from ..data.parts import PART_BYTES, ListedPart, cut
from ..data.templates import template_text
from ..errors import DataError, OptionError
from .cluster import Cluster

if TYPE_CHECKING:
    from typing_extensions import TypeIs


__all__ = ["are_paths", "begun", "sources"]

T = TypeVar("T")
Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
Sources: TypeAlias = "Paths | Bag | Sequence[Future | Delayed] | Sentences"
"""Sentences of a training: files, or data that a cluster or this process holds; see `sources`."""

# Number of sentences of a part, for data passed as Python objects.
SENTENCES = 2000


def sources(
    cluster: Cluster,
    X: Sources,
    y: Bag | Labels | None = None,
    sample_weight: Bag | Iterable[float] | None = None,
    token_weight: Bag | TokenWeights | None = None,
    *,
    template: str | None = None,
    format: str | None = None,
    partial: bool = False,
    columns: ColumnLayout = ColumnLayout(),
    part_bytes: int = PART_BYTES,
) -> list[Any]:
    """Return the parts of data, or futures of parts where a cluster holds the data.

    Args:
        cluster: that holds or reads the data.
        X: paths, patterns and folders; a `dask.bag` of sentences, or of pairs of sentence and labels, or of dicts with
            ``tokens``, ``labels`` and optionally ``weight`` and ``token_weights``; a sequence of futures or delayed
            objects, each a pair of sentences and labels, with the weights of the sentences and the costs of tokens in
            third and fourth place; or sentences.
        y: labels, where X is a bag of sentences, or sentences.
        sample_weight: weights of the sentences, where y is given.
        token_weight: costs of wrong labels of the tokens, where y is given.
        template: name of a preset or text of a template.
        format: of files.
        partial: allow partial labels in files.
        columns: layout of the lines of column files.
        part_bytes: bytes of a part of a file.

    Raises:
        DataError: there are no data, or no labels.
        OptionError: y or sample_weight is given for data that contain labels and weights.
    """
    text = template_text(template)
    if are_paths(X) or _are_held(X) or (isinstance(X, Bag) and y is None):
        beside_X = {"y": y, "sample_weight": sample_weight, "token_weight": token_weight}
        if beside := [name for name, value in beside_X.items() if value is not None]:
            message = f"these data contain their labels and weights; leave out {' and '.join(beside)}"
            raise OptionError(message)
    if are_paths(X):
        return _some(cut(X, format=format, template=template, partial=partial, columns=columns, part_bytes=part_bytes))
    if isinstance(X, Bag):
        return _some(_of_bags(cluster, X, y, {"sample_weight": sample_weight, "token_weight": token_weight}, text))
    if _are_held(X):
        return cluster.begun("list", [(_of_tuple, number, text, part) for number, part in enumerate(begun(cluster, X))])
    return _some(_of_sentences(X, y, sample_weight, token_weight, text))


def are_paths(X: object) -> TypeIs[Paths]:
    """Whether X is a path, or a list of paths."""
    kinds = (str, os.PathLike)
    return isinstance(X, kinds) or (
        isinstance(X, (list, tuple)) and bool(X) and all(isinstance(path, kinds) for path in X)
    )


def _are_held(X: object) -> TypeIs[Sequence[Future | Delayed]]:
    """Whether X is a list of futures and delayed objects."""
    return isinstance(X, Sequence) and bool(X) and all(isinstance(part, (Future, Delayed)) for part in X)


def begun(cluster: Cluster, X: Sequence[T]) -> list[T]:
    """Return the objects with a future in place of each delayed one, whose computation begins."""
    futures = iter(cluster.client.compute([part for part in X if isinstance(part, Delayed)]))
    return [next(futures) if isinstance(part, Delayed) else part for part in X]


def _some(parts: Iterable[T]) -> list[T]:
    listed = list(parts)
    if not listed:
        message = "no data to train on; give at least one part"
        raise DataError(message)
    return listed


def _of_sentences(
    X: Sentences,
    y: Labels | None,
    weights: Iterable[float] | None,
    costs: TokenWeights | None,
    template: str | None,
) -> list[ListedPart]:
    """Return parts of sentences that this process holds."""
    if y is None:
        message = "the sentences have no labels; give y, paths of files, or a bag of pairs"
        raise DataError(message)
    X, y = list(X), list(y)
    weights = None if weights is None else checked_weights(weights)
    costs = None if costs is None else list(costs)
    for name, values in (("labels", y), ("weights", weights), ("token weights", costs)):
        if values is not None and len(values) != len(X):
            message = f"{len(X)} sentences, but {name} for {len(values)}; give one each"
            raise DataError(message)
    cuts = [slice(at, at + SENTENCES) for at in range(0, len(X), SENTENCES)]
    return [
        ListedPart(
            f"sentences from {cut.start}",
            X[cut],
            y[cut],
            template,
            None if weights is None else weights[cut],
            None if costs is None else costs[cut],
        )
        for cut in cuts
    ]


def _of_bags(
    cluster: Cluster, X: Bag, y: Bag | None, weights: dict[str, Bag | None], template: str | None
) -> list[Future]:
    """Return a future of a part for each partition of a bag."""
    if y is None:
        items = enumerate(cluster.client.compute(X.to_delayed()))
        return cluster.begun("list", [(_of_items, number, template, item) for number, item in items])
    bags = {"X": X, "y": y} | {name: bag for name, bag in weights.items() if bag is not None}
    for name, bag in bags.items():
        if not isinstance(bag, Bag) or bag.npartitions != X.npartitions:
            message = f"X is a bag of {X.npartitions} partitions; {name} must be a bag with the same partitions"
            raise DataError(message)
    partitions = zip(*(cluster.client.compute(bag.to_delayed()) for bag in bags.values()), strict=True)
    names = list(bags)
    return cluster.begun(
        "list", [(_of_named, number, template, names, *members) for number, members in enumerate(partitions)]
    )


def _of_items(number: int, template: str | None, items: Iterable[Any]) -> ListedPart:
    """Return the part of pairs of sentence and labels, or of dicts with tokens, labels and perhaps weights."""
    X, y, weights, costs = [], [], [], []
    for at, item in enumerate(items):
        try:
            tokens, labels = (item["tokens"], item["labels"]) if isinstance(item, dict) else item
        except (KeyError, TypeError, ValueError) as error:
            message = (
                f"partition {number}, item {at}: neither a pair (sentence, labels) nor a dict with tokens and labels; "
                "for a bag of sentences, give y"
            )
            raise DataError(message) from error
        X.append(tokens)
        y.append(labels)
        weights.append(item.get("weight", 1.0) if isinstance(item, dict) else 1.0)
        costs.append(item.get("token_weights") if isinstance(item, dict) else None)
    return _of_lists(number, template, X, y, weights, costs)


def _of_tuple(number: int, template: str | None, lists: Any) -> ListedPart:
    try:
        return _of_lists(number, template, *lists)
    except TypeError as error:
        message = f"partition {number} is neither (sentences, labels) nor (sentences, labels, weights)"
        raise DataError(message) from error


def _of_named(number: int, template: str | None, names: Sequence[str], *members: Iterable[Any]) -> ListedPart:
    lists = dict(zip(names, members, strict=True))
    weights, costs = lists.get("sample_weight"), lists.get("token_weight")
    return _of_lists(number, template, lists["X"], lists["y"], weights, costs)


def _of_lists(
    number: int,
    template: str | None,
    X: Iterable[Any],
    y: Iterable[Any],
    weights: Iterable[float] | None = None,
    costs: TokenWeights | None = None,
) -> ListedPart:
    listed_costs = None if costs is None else list(costs)
    if listed_costs is not None and all(of_sentence is None for of_sentence in listed_costs):
        listed_costs = None
    listed_weights = None if weights is None else list(weights)
    return ListedPart(f"partition {number}", list(X), list(y), template, listed_weights, listed_costs)
