"""Maximum-entropy classifiers on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from dask.array import Array as DaskArray
from dask.bag import Bag
from distributed import Client, Future

from ..data.column_layout import ColumnLayout
from ..data.corpus import Corpus
from ..data.inputs import Array, Classes, Matrix, Samples
from ..data.parts import PART_BYTES
from ..errors import DataError, OptionError
from ..minimize import Callback
from ..models import maxent as local
from ..models.estimator import check_fitted
from ..models.training.checkpoint import Checkpoint
from ..objectives.chain import ChainFeatures
from ..objectives.groups import Group
from ..objectives.matrix_parts import ChunkOfSamples, ClassifierParts, chunk_of_part
from ..objectives.part import Counts, EncodedPart, FeatureTable
from ..options import whole_number
from .chain import resumable
from .cluster import Cluster, client_of
from .data import Paths, are_paths, begun, sources
from .spread import Opaque, SpreadGroup, Tally
from .tagging import localised, predicted

if TYPE_CHECKING:
    import numpy.typing as npt
    from dask.delayed import Delayed


__all__ = ["MaxEnt"]

Chunk: TypeAlias = "tuple[Matrix, Classes] | tuple[Matrix, Classes, npt.ArrayLike]"
Chunks: TypeAlias = "Paths | DaskArray | Sequence[Chunk | Future | Delayed]"
"""Samples of a training: files, or matrices that a cluster or this process holds, with their classes and weights."""


class MaxEnt(local.MaxEnt):
    """Maximum-entropy classifier trained on a Dask cluster; see `loglinear.MaxEnt` for the model.

    The weights depend, bitwise, only on the chunks and the options, not on the number of workers or on workers that are
    lost.

    Args:
        client: a `distributed.Client`; by default the current one.
        part_bytes: size of the parts of a file in bytes, >= 1.

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

    client: Client | None = None
    part_bytes: int = PART_BYTES

    def fit(
        self,
        X: Chunks,
        y: DaskArray | None = None,
        sample_weight: DaskArray | None = None,
        *,
        X_dev: Corpus | Samples | None = None,
        y_dev: Classes | None = None,
        start: local.MaxEnt | str | os.PathLike[str] | None = None,
        prior: local.MaxEnt | str | os.PathLike[str] | None = None,
        prior_strength: float | None = None,
        format: str | None = None,
        template: str | None = None,
        separator: str | None = None,
        label_column: int = -1,
        weight_column: int | None = None,
        skip_comments: bool = False,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
        groups: npt.ArrayLike | None = None,
        tally: Tally | None = None,
    ) -> MaxEnt:
        """Train on samples that the workers read or already hold.

        Args:
            X: one of: a sequence of chunks, each a pair (matrix, classes), or a triple with weights, or a future or
                delayed object of one; a `dask.array` chunked along its rows; or paths of files, each token or svmlight
                line of which is a sample.
            y: a `dask.array` of classes, chunked as X; otherwise None.
            sample_weight: a `dask.array` of weights, chunked as X; otherwise None.
            X_dev: development data in this process; see `loglinear.MaxEnt.fit`.
            y_dev: classes of the samples in X_dev.
            start: model to start from (warm start), or the path of its file; see `loglinear.MaxEnt.fit`.
            prior: not available for classifiers on a cluster.
            prior_strength: not available for classifiers on a cluster.
            format: format of files, see `Corpus.read`.
            template: template of column files.
            separator: of column files, see `Corpus.read`.
            label_column: of column files, see `Corpus.read`.
            weight_column: of column files: the weight of each sample, see `Corpus.read`.
            skip_comments: of column files, see `Corpus.read`.
            callbacks: called as callback(record, state) after each step; return True to stop.
            checkpoint: file to save the state of the training to, and to resume from; not with "ovr".
            groups: for l1="cv" and l2="cv", which are not available on a cluster.
            tally: counts rounds and traffic.

        Raises:
            OptionError: an option is out of range, or differs from the checkpoint.
            DataError: invalid data; names the chunk, or file and line.
            ClusterError: the cluster is gone, its workers have another version, or keep dying.
            KeyboardInterrupt: Ctrl-C; once training has begun, the estimator holds the weights reached.
        """
        self._check_options(has_dev=X_dev is not None)
        whole_number("part_bytes", self.part_bytes, 1, 2**62)
        if prior is not None or prior_strength is not None:
            message = "prior is not available for classifiers on a cluster; use loglinear.MaxEnt, or start"
            raise OptionError(message)
        begun = None if start is None else local.opened_start(start)
        cluster = Cluster(client_of(self.client))
        self._template, self._format, self.attributes_ = None, "python", None
        vars(self).pop("feature_names_in_", None)
        self._layout = ColumnLayout()
        with resumable(checkpoint):
            if are_paths(X):
                parts = sources(
                    cluster,
                    X,
                    y,
                    sample_weight,
                    template=template,
                    format=format,
                    columns=ColumnLayout(separator, label_column, skip_comments, weight=weight_column),
                    part_bytes=self.part_bytes,
                )
                chunks = self._of_files(SpreadGroup(cluster, parts, tally))
            else:
                chunks = _of_chunks(cluster, X, y, sample_weight, tally)
            data = ClassifierParts(chunks, intercept=bool(self.fit_intercept), class_weights=self._class_weights)
            self.classes_, self.n_features_in_ = data.classes, data.n_columns
            self._fit(data, X_dev, y_dev, start=begun, callbacks=callbacks, checkpoint=checkpoint, groups=groups)
        return self

    def _of_files(self, group: Group) -> Group:
        """Return the chunks that the parts of files hold, over the attributes that are frequent enough."""
        encoded = group.mapped("read", EncodedPart)
        counts = encoded.joined("count", Counts.of, 1, join=Counts.joined)
        table = FeatureTable.of(counts, ChainFeatures(min_count=self.min_count))
        _, self._format, self._template, self._layout = counts.kinds
        self.attributes_ = table.core.names()
        if not self.attributes_:
            message = f"no attribute occurs in {self.min_count} or more samples; lower min_count (--min-count)"
            raise DataError(message)
        return encoded.mapped("list", chunk_of_part, encoded.shared("names", self.attributes_))

    def predict(self, X: Bag | DaskArray | Corpus | Samples) -> Bag | DaskArray | Array:
        """Return the most probable class of each sample; a bag for a `dask.bag`, a Dask array for a `dask.array`."""
        if isinstance(X, Bag):
            check_fitted(self, "coef_")
            return predicted(self.to_local().predict, X)
        if isinstance(X, DaskArray):
            check_fitted(self, "coef_")
            return X.map_blocks(_classes_of, self.to_local(), drop_axis=1, dtype=self.classes_.dtype)
        return super().predict(X)

    def to_local(self) -> local.MaxEnt:
        """Return the estimator without the cluster: it can be pickled."""
        return localised(self, local.MaxEnt)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the client out."""
        return {**vars(self), "client": None}


def _of_chunks(
    cluster: Cluster, X: Chunks, y: DaskArray | None, sample_weight: DaskArray | None, tally: Tally | None
) -> Group:
    """Return the group of the chunks of a matrix."""
    if isinstance(X, DaskArray):
        arrays = [X, y] if sample_weight is None else [X, y, sample_weight]
        rows = [array.numblocks[0] if isinstance(array, DaskArray) else 0 for array in arrays]
        if X.numblocks[1:] != (1,) or len({*rows}) > 1:
            message = (
                "X, y and sample_weight must be dask arrays with the same row chunks, and X must have a single "
                "column chunk"
            )
            raise DataError(message)
        blocks = zip(*(array.to_delayed().ravel() for array in arrays), strict=True)
        members = [begun(cluster, block) for block in blocks]
    elif y is not None or sample_weight is not None or not isinstance(X, Sequence) or not X:
        message = "X must be a dask array, paths, or a sequence of pairs (matrix, classes)"
        raise OptionError(message)
    else:
        members = [[chunk if isinstance(chunk, Future) else Opaque(chunk)] for chunk in begun(cluster, X)]
    tasks = [(_chunk, f"chunk {at}", *chunk_members) for at, chunk_members in enumerate(members)]
    return SpreadGroup(cluster, cluster.begun("take", tasks), tally)


def _chunk(name: str, *members: Any) -> ChunkOfSamples:
    """Return a chunk of its members, or of the only object, which holds them."""
    content: Iterable[Any] = members
    if len(members) == 1:
        content = members[0].value if isinstance(members[0], Opaque) else members[0]
    try:
        X, y, weights = (*content, None)[:3]
    except (TypeError, ValueError) as error:
        message = f"{name} is neither (matrix, classes) nor (matrix, classes, weights)"
        raise DataError(message) from error
    return ChunkOfSamples.of(name, X, y, weights)


def _classes_of(block: Matrix, model: local.MaxEnt) -> Array:
    return model.predict(block)
