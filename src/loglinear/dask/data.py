"""Data for a cluster as parts: files, Dask bags, and sequences of partitions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from dask.bag import Bag
from dask.delayed import Delayed
from distributed import Future

from ..data.parts import PART_BYTES, ListedPart, cut
from ..data.templates import template_text
from ..errors import DataError, OptionError
from .cluster import Cluster

__all__ = ["are_paths", "sources"]

# Sentences of a part, of those that are given as Python objects.
SENTENCES = 2000


def sources(
    cluster: Cluster,
    X: Any,
    y: Any = None,
    *,
    template: str | None = None,
    format: str | None = None,
    partial: bool = False,
    part_bytes: int = PART_BYTES,
) -> list[Any]:
    """Return the parts of data, or futures of parts where a cluster holds the data.

    Args:
        cluster: that holds or reads the data.
        X: paths, patterns and folders; a `dask.bag` of sentences, or of pairs of sentence and labels, or of dicts with
            ``tokens`` and ``labels``; a sequence of futures or delayed objects, each a pair of sentences and labels;
            or sentences.
        y: labels, where X is a bag of sentences, or sentences.
        template: name of a preset or text of a template.
        format: of files.
        partial: whether the labels in files may be known in part.
        part_bytes: bytes of a part of a file.

    Raises:
        DataError: there are no data, or no labels.
        OptionError: y stands beside data that hold their labels.
    """
    text = template_text(template)
    if are_paths(X):
        if y is not None:
            message = "files hold their labels; leave y out"
            raise OptionError(message)
        return _some(cut(X, format=format, template=template, partial=partial, part_bytes=part_bytes))
    if isinstance(X, Bag):
        return _some(_of_bags(cluster, X, y, text))
    if isinstance(X, Sequence) and X and all(isinstance(each, (Future, Delayed)) for each in X):
        delayed = [each for each in X if isinstance(each, Delayed)]
        computed = iter(cluster.client.compute(delayed))
        futures = [next(computed) if isinstance(each, Delayed) else each for each in X]
        return _tasks(cluster, [(_of_pair, number, each, text) for number, each in enumerate(futures)])
    return _some(_of_sentences(X, y, text))


def are_paths(X: Any) -> bool:
    """Whether X is a path, or a list of paths."""
    kinds = (str, os.PathLike)
    return isinstance(X, kinds) or (
        isinstance(X, (list, tuple)) and bool(X) and all(isinstance(each, kinds) for each in X)
    )


def _some(parts: Iterable[Any]) -> list[Any]:
    found = list(parts)
    if not found:
        message = "no data to train on: there is no part"
        raise DataError(message)
    return found


def _of_sentences(X: Any, y: Any, template: str | None) -> list[ListedPart]:
    """Return parts of sentences that this process holds."""
    if y is None:
        message = "sentences need labels: give y, or paths of files, or a bag of pairs"
        raise DataError(message)
    X, y = list(X), list(y)
    if len(X) != len(y):
        message = f"{len(X)} sentences, but labels of {len(y)}"
        raise DataError(message)
    starts = range(0, len(X), SENTENCES)
    return [
        ListedPart(f"sentences from {at}", X[at : at + SENTENCES], y[at : at + SENTENCES], template) for at in starts
    ]


def _of_bags(cluster: Cluster, X: Bag, y: Any, template: str | None) -> list[Any]:
    """Return a future of a part for each partition of a bag."""
    sentences = cluster.client.compute(X.to_delayed())
    if y is None:
        return _tasks(cluster, [(_of_items, number, each, template) for number, each in enumerate(sentences)])
    if not isinstance(y, Bag) or y.npartitions != X.npartitions:
        message = f"X is a bag of {X.npartitions} partitions; y has to be a bag with the same partitions"
        raise DataError(message)
    labels = cluster.client.compute(y.to_delayed())
    both = enumerate(zip(sentences, labels, strict=True))
    return _tasks(cluster, [(_of_two, number, xs, ys, template) for number, (xs, ys) in both])


def _tasks(cluster: Cluster, tasks: list[tuple[Any, ...]]) -> list[Any]:
    serial = cluster.next_serial()
    graph = {cluster.key("list", serial, number): task for number, task in enumerate(tasks)}
    return cluster.submit(graph, list(graph))


def _of_items(number: int, items: Iterable[Any], template: str | None) -> ListedPart:
    """Return the part of pairs of sentence and labels, or of dicts with tokens and labels."""
    X, y = [], []
    for at, item in enumerate(items):
        try:
            tokens, labels = (item["tokens"], item["labels"]) if isinstance(item, dict) else item
        except (KeyError, TypeError, ValueError) as error:
            message = (
                f"partition {number}, item {at}: neither a pair of a sentence and its labels nor a dict with tokens "
                "and labels; give y for a bag of sentences alone"
            )
            raise DataError(message) from error
        X.append(tokens)
        y.append(labels)
    return ListedPart(f"partition {number}", X, y, template)


def _of_two(number: int, X: Iterable[Any], y: Iterable[Any], template: str | None) -> ListedPart:
    return ListedPart(f"partition {number}", list(X), list(y), template)


def _of_pair(number: int, pair: Any, template: str | None) -> ListedPart:
    try:
        X, y = pair
    except (TypeError, ValueError) as error:
        message = f"partition {number} is no pair of sentences and labels"
        raise DataError(message) from error
    return ListedPart(f"partition {number}", list(X), list(y), template)
