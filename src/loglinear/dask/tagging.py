"""Estimators without their cluster, and prediction for Dask bags: the model travels once to each worker."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, TypeVar

from dask.bag import Bag
from dask.delayed import delayed

__all__ = ["localised", "predicted"]

T = TypeVar("T")


def localised(estimator: object, kind: type[T]) -> T:
    """Return an estimator of one process with the parameters and the model of one on a cluster; it can be pickled."""
    found = kind()
    vars(found).update({name: value for name, value in vars(estimator).items() if name not in ("client", "part_bytes")})
    return found


def predicted(estimator: Any, bag: Bag, **options: Any) -> Bag:
    """Return a bag of what an estimator predicts for the samples of each partition; it is computed when asked for.

    Args:
        estimator: of this process, fitted; small enough to travel.
        bag: of samples.
        options: of the estimator's `predict`.
    """
    model = delayed(estimator, name=f"model-{uuid.uuid4().hex}", traverse=False)
    return bag.map_partitions(_predicted, model, options)


def _predicted(samples: Iterable[Any], estimator: Any, options: dict[str, Any]) -> list[Any]:
    found = list(samples)
    return list(estimator.predict(found, **options)) if found else []
