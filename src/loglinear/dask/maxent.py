"""Maximum-entropy classifiers on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dask.array import Array as DaskArray
from dask.bag import Bag
from dask.delayed import Delayed
from distributed import Future

from ..data.parts import PART_BYTES
from ..errors import DataError, OptionError
from ..minimize import Callback
from ..models import maxent as local
from ..models.estimator import check_fitted
from ..models.training.checkpoint import Checkpoint, Saving
from ..objectives.chain import ChainFeatures
from ..objectives.groups import Group
from ..objectives.matrix_parts import ChunkOfSamples, ClassifierParts, chunk_of_part
from ..objectives.part import Counts, EncodedPart, FeatureTable
from ..options import truth_value, whole_number
from .chain import resumable
from .cluster import Cluster, client_of
from .data import are_paths, sources
from .spread import SpreadGroup, Tally
from .tagging import predicted

__all__ = ["MaxEnt"]


class MaxEnt(local.MaxEnt):
    """Maximum-entropy classifier whose training data a Dask cluster holds; see `loglinear.MaxEnt` for the model.

    One model is trained for all classes ("softmax"). The weights depend on the chunks and the options, bitwise: not on
    the number of workers, nor on workers that are lost on the way.

    Args:
        fit_intercept: whether there is an intercept.
        min_count: attributes of samples in files in fewer samples are left out, >= 1.
        client: a `distributed.Client`; by default the current one.
        part_bytes: bytes of a part of a file, >= 1.

    Example:
        >>> import numpy as np
        >>> from distributed import Client
        >>> from loglinear.dask import MaxEnt
        >>> chunks = [(np.array([[0.0, 1.0], [1.0, 0.0]]), ["a", "b"]), (np.array([[1.0, 2.0]]), ["a"])]
        >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        ...     model = MaxEnt(l2=0.1, client=client).fit(chunks)
        >>> model.predict([[0.0, 3.0]]).tolist()
        ['a']
    """

    client: Any = None
    part_bytes: int = PART_BYTES

    multi_class, class_weight = "softmax", None

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        format: str | None = None,
        template: str | None = None,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
        tally: Tally | None = None,
    ) -> MaxEnt:
        """Train on samples that the workers of a cluster read or hold.

        Args:
            X: a sequence of chunks, each a pair of a matrix, sparse or dense, and its classes, or a future or delayed
                object of such a pair; a `dask.array` cut along its rows; or paths of files, each token or svmlight line
                of which is a sample.
            y: a `dask.array` of classes beside one of samples, cut in the same way; else None.
            format: of files, see `Corpus.read`.
            template: of files of columns.
            callbacks: called as callback(record, state) after every step; True stops.
            checkpoint: file to write the training's state to, and to go on from.
            tally: what is counted on the way.

        Raises:
            OptionError: an option is out of its range.
            DataError: data that cannot be used; names the chunk, or file and line.
            ClusterError: the cluster is gone, its workers have another version, or die again and again.
        """
        whole_number("part_bytes", self.part_bytes, 1, 2**62)
        min_count = whole_number("min_count", self.min_count, 1, 2**32 - 1)
        truth_value("fit_intercept", self.fit_intercept)
        options = self._solver_options()
        options.check()
        cluster = Cluster(client_of(self.client))
        self._template, self._format = None, "python"
        self.attributes_ = None
        with resumable(checkpoint):
            if are_paths(X):
                parts = sources(cluster, X, y, template=template, format=format, part_bytes=self.part_bytes)
                chunks = self._of_files(SpreadGroup(cluster, parts, tally), min_count)
            else:
                chunks = _of_chunks(cluster, X, y, tally)
            objective = ClassifierParts(chunks, intercept=bool(self.fit_intercept))
            self.classes_, self.n_features_in_ = objective.classes, objective.n_columns
            self._sizes = {"n_samples": objective.n_samples, "n_features": objective.n_features}
            saving = None if checkpoint is None else _saving(checkpoint, objective)
            self._train(objective, self._observers(callbacks), None, saving)  # type: ignore[arg-type]
        return self

    def _of_files(self, group: Group, min_count: int) -> Group:
        """Return the chunks that the parts of files hold, over the attributes that are frequent enough."""
        encoded = group.mapped("read", EncodedPart)
        counts = encoded.joined("count", Counts.of, 1, join=Counts.joined)
        table = FeatureTable.of(counts, ChainFeatures(min_count=min_count))
        _, self._format, self._template = counts.kinds
        if table.core.has_bigrams:
            message = (
                "the template has bigram attributes (B lines that look at columns); a classifier has no use for them"
            )
            raise DataError(message)
        self.attributes_ = table.core.names()
        if not self.attributes_:
            message = f"no attribute is on {min_count} samples or more; lower min_count"
            raise DataError(message)
        return encoded.mapped("list", chunk_of_part, encoded.shared("names", self.attributes_))

    def predict(self, X: Any) -> Any:
        """The most probable class of each sample; of a `dask.bag` a bag, of a `dask.array` an array of Dask."""
        if isinstance(X, Bag):
            check_fitted(self, "coef_")
            return predicted(self.to_local(), X)
        if isinstance(X, DaskArray):
            check_fitted(self, "coef_")
            return X.map_blocks(_classes_of, self.to_local(), drop_axis=1, dtype=self.classes_.dtype)
        return super().predict(X)

    def to_local(self) -> local.MaxEnt:
        """Return the estimator without the cluster: it can be pickled."""
        names = local.MaxEnt._get_param_names()
        made = local.MaxEnt(**{name: getattr(self, name) for name in names if name in vars(self)})
        for name, value in vars(self).items():
            if name not in self._get_param_names():
                setattr(made, name, value)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Leave the client out."""
        return {**vars(self), "client": None}


def _of_chunks(cluster: Cluster, X: Any, y: Any, tally: Tally | None) -> Group:
    """Return the group of the chunks of a matrix."""
    if isinstance(X, DaskArray):
        if not isinstance(y, DaskArray) or X.numblocks[1:] != (1,) or X.numblocks[0] != y.numblocks[0]:
            message = "X and y have to be dask arrays with the same chunks of rows, and X with one chunk of columns"
            raise DataError(message)
        blocks = zip(X.to_delayed().ravel(), y.to_delayed().ravel(), strict=True)
        pairs = [(*cluster.client.compute([xs, ys]),) for xs, ys in blocks]
    else:
        pairs = _pairs(cluster, X, y)
    serial = cluster.next_serial()
    graph = {cluster.key("take", serial, at): (_chunk, f"chunk {at}", *pair) for at, pair in enumerate(pairs)}
    return SpreadGroup(cluster, cluster.submit(graph, list(graph)), tally)


def _pairs(cluster: Cluster, X: Any, y: Any) -> list[tuple[Any, ...]]:
    if y is not None or not isinstance(X, Sequence) or not X:
        message = "X has to be a sequence of chunks, each a pair of a matrix and its classes, a dask array, or paths"
        raise OptionError(message)
    delayed = iter(cluster.client.compute([each for each in X if isinstance(each, Delayed)]))
    futures = [next(delayed) if isinstance(each, Delayed) else each for each in X]
    return [(each,) if isinstance(each, Future) else (_Pair(each),) for each in futures]


class _Pair:
    """A pair in a graph that Dask must not look into."""

    def __init__(self, pair: Any) -> None:
        self.pair = pair


def _chunk(name: str, *given: Any) -> ChunkOfSamples:
    pair = given[0].pair if isinstance(given[0], _Pair) else given if len(given) == 2 else given[0]
    try:
        X, y = pair
    except (TypeError, ValueError) as error:
        message = f"{name} is no pair of a matrix and its classes"
        raise DataError(message) from error
    return ChunkOfSamples.of(X, y, name)


def _saving(checkpoint: Checkpoint, objective: ClassifierParts) -> Saving:
    """Return what writes checkpoints."""
    options = {"model": "maxent", "fit_intercept": objective.intercept != 0.0}
    return Saving(checkpoint, options, {"training data": objective.fingerprint()})


def _classes_of(block: Any, model: local.MaxEnt) -> Any:
    return model.predict(block)
