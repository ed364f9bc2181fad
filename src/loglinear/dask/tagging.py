"""Estimators without their cluster, and prediction for Dask bags: the model travels once to each worker."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from dask.bag import Bag
from dask.delayed import delayed

__all__ = ["localised", "predicted"]

T = TypeVar("T")


def localised(estimator: object, kind: type[T]) -> T:
    """Return an estimator of one process with the parameters and the model of one on a cluster; it can be pickled."""
    local = kind()
    vars(local).update({name: value for name, value in vars(estimator).items() if name not in ("client", "part_bytes")})
    return local


def predicted(predict: Callable[[list[Any]], Iterable[T]], bag: Bag) -> Bag:
    """Return a bag of what an estimator predicts for the samples of each partition; it is computed when asked for.

    Args:
        predict: method of a fitted estimator of this process, which is small enough to travel.
        bag: of samples.
    """
    return bag.map_partitions(_predicted, delayed(predict, name=f"model-{uuid.uuid4().hex}", traverse=False))


def _predicted(samples: Iterable[Any], predict: Callable[[list[Any]], Iterable[T]]) -> list[T]:
    listed = list(samples)
    return list(predict(listed)) if listed else []
