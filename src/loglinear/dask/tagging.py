"""Prediction for Dask bags: the model travels once to each worker."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from dask.bag import Bag
from dask.delayed import delayed

__all__ = ["predicted"]


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
