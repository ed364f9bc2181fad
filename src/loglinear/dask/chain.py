"""Linear-chain CRFs on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any, TypedDict

import numpy.typing as npt
from dask.bag import Bag
from distributed import Client

from ..data.column_layout import ColumnLayout
from ..data.corpus import Corpus
from ..data.inputs import Labels, Sentences, TokenWeights
from ..data.parts import PART_BYTES
from ..errors import ClusterError
from ..minimize import Callback
from ..models import chain as local
from ..models.estimator import check_fitted
from ..models.files.tagging import Decode
from ..models.training.checkpoint import Checkpoint
from ..objectives.chain import ChainFeatures
from ..objectives.older import OlderChain
from ..objectives.parts import ChainParts
from ..options import whole_number
from ..result import Result
from ..trace import Trace
from .cluster import Cluster, client_of
from .data import Sources, sources
from .spread import SpreadGroup, Tally
from .tagging import localised, predicted

__all__ = ["ChainCRF", "resumable", "train"]


class ChainCRF(local.ChainCRF):
    """Linear-chain CRF trained on a Dask cluster; see `loglinear.ChainCRF` for the model.

    The data is split into parts, which the workers read and keep; the solver runs in this process. The weights depend,
    bitwise, only on the parts and the options, not on the number of workers or on workers that are lost.

    Cost: an evaluation is one single-threaded task per part. It sends n_features weights to each worker, and gradients
    of the same size between workers; a task costs the scheduler about a millisecond.

    Args:
        client: a `distributed.Client`; by default the current one.
        part_bytes: size of the parts of a file in bytes, >= 1; it affects the weights only by rounding errors.

    Attributes:
        classes_: labels, the most frequent first; ties in byte order of their names.
        result_: status, trace, optimality violation of the training.
        model_: the native model, in this process.

    Example:
        >>> from distributed import Client
        >>> from loglinear.dask import ChainCRF
        >>> X, y = [[["the"], ["dog"]], [["dog"]]] * 20, [["DET", "NOUN"], ["NOUN"]] * 20
        >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        ...     crf = ChainCRF(l2=0.1, client=client).fit(X, y)
        >>> crf.predict([[["the"], ["dog"]]])
        [['DET', 'NOUN']]
    """

    client: Client | None = None
    part_bytes: int = PART_BYTES

    def fit(
        self,
        X: Sources,
        y: Bag | Labels | None = None,
        *,
        sample_weight: Bag | Iterable[float] | None = None,
        token_weight: Bag | TokenWeights | None = None,
        format: str | None = None,
        partial: bool = False,
        separator: str | None = None,
        label_column: int = -1,
        weight_column: int | None = None,
        skip_comments: bool = False,
        X_dev: Corpus | Sentences | None = None,
        y_dev: Labels | None = None,
        start: local.ChainCRF | str | os.PathLike[str] | None = None,
        prior: local.ChainCRF | str | os.PathLike[str] | None = None,
        prior_strength: float | None = None,
        callbacks: Iterable[Callback] = (),
        checkpoint: Checkpoint | None = None,
        groups: npt.ArrayLike | None = None,
        tally: Tally | None = None,
    ) -> ChainCRF:
        """Train on data that the workers read or already hold.

        Args:
            X: one of: paths of files, patterns such as ``part-*.txt`` and folders, visible to all workers under the
                same names, including JSON lines and Parquet files with columns ``tokens``, ``labels`` and optionally
                ``weight`` and ``token_weights``; a `dask.bag` of pairs (sentence, labels), of dicts with ``tokens``,
                ``labels`` and optionally ``weight`` and ``token_weights``, or of sentences; a list of futures or
                delayed objects, each a pair (sentences, labels), with weights and with costs of tokens in third and
                fourth place; or sentences.
            y: labels: a bag for a bag of sentences, a sequence for sentences; otherwise None.
            sample_weight: a weight >= 0 for each sentence: a bag or a sequence, as y.
            token_weight: cost of a wrong label of each token, see `loglinear.ChainCRF.fit`: a bag or a sequence, as y.
            format: format of files, see `Corpus.read`; by default from their extensions.
            partial: allow partial labels in files.
            separator: of column files, see `Corpus.read`.
            label_column: of column files, see `Corpus.read`.
            weight_column: of column files, see `Corpus.read`.
            skip_comments: of column files, see `Corpus.read`.
            X_dev: development data in this process; see `loglinear.ChainCRF.fit`.
            y_dev: labels of the sentences in X_dev.
            start: model to start from (warm start), or the path of its file.
            prior: older model that the new one should stay near, or the path of its file; see
                `loglinear.ChainCRF.fit`.
            prior_strength: strength of the penalty around its weights.
            callbacks: called as callback(record, state) after each step; return True to stop.
            checkpoint: file to save the state of the training to, and to resume from, also on another cluster.
            groups: for l1="cv" and l2="cv", which are not available on a cluster.
            tally: counts rounds and traffic.

        Raises:
            OptionError: an option is out of range, or differs from the checkpoint.
            DataError: invalid data; names file and line, or partition and sentence.
            ClusterError: the cluster is gone, its workers have another version, or keep dying.
            KeyboardInterrupt: Ctrl-C; once training has begun, the estimator holds the weights reached.

        Warns:
            UserWarning: the model to start from has another template.
        """
        whole_number("part_bytes", self.part_bytes, 1, 2**62)
        cluster, features = Cluster(client_of(self.client)), self._options(ChainFeatures)

        def data(template: str | None, older: OlderChain | None) -> ChainParts:
            parts = sources(
                cluster,
                X,
                y,
                sample_weight,
                token_weight,
                template=template,
                format=format,
                partial=partial,
                columns=ColumnLayout(separator, label_column, skip_comments, weight=weight_column),
                part_bytes=self.part_bytes,
            )
            return ChainParts(SpreadGroup(cluster, parts, tally), features, older=older)

        with resumable(checkpoint):
            models = local.OlderModels(start, prior, prior_strength)
            self._fit(data, X_dev, y_dev, models=models, callbacks=callbacks, checkpoint=checkpoint, groups=groups)
        return self

    def predict(
        self, X: Bag | Corpus | Sentences, *, decode: Decode = "viterbi", n_best: int | None = None
    ) -> Bag | list[list[Any]]:
        """Return the labels of each sentence; for a `dask.bag` of sentences, a bag of labels, computed lazily.

        Args:
            X: sentences, or a bag of sentences.
            decode: as in `loglinear.ChainCRF.predict`.
            n_best: as in `loglinear.ChainCRF.predict`.
        """
        if isinstance(X, Bag):
            check_fitted(self, "model_")
            return predicted(partial(self.to_local().predict, decode=decode, n_best=n_best), X)
        return super().predict(X, decode=decode, n_best=n_best)

    def to_local(self) -> local.ChainCRF:
        """Return a `loglinear.ChainCRF` without the cluster, which is small and can be pickled."""
        return localised(self, local.ChainCRF)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the client out."""
        return {**vars(self), "client": None}


class Training(TypedDict):
    """What `train` returns."""

    model: local.ChainCRF
    result: Result
    trace: Trace


def train(client: Client, data: Sources, y: Bag | Labels | None = None, **params: Any) -> Training:
    """Train a linear-chain CRF on a cluster.

    Args:
        client: a `distributed.Client`.
        data: what `ChainCRF.fit` takes as X.
        y: labels, where the data do not hold them.
        params: parameters of `ChainCRF`, and arguments of its `fit`.

    Returns:
        A dict: ``model``, a `loglinear.ChainCRF` of this process; ``result``; ``trace``, its records.

    Example:
        >>> from distributed import Client
        >>> from loglinear.dask import train
        >>> X, y = [[["the"], ["dog"]], [["dog"]]] * 20, [["DET", "NOUN"], ["NOUN"]] * 20
        >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        ...     trained = train(client, X, y, l2=0.1)
        >>> trained["model"].predict([[["the"], ["dog"]]]), trained["result"].status.name
        ([['DET', 'NOUN']], 'CONVERGED')
    """
    of_fit = {name: params.pop(name) for name in signature(ChainCRF.fit).parameters if name in params}
    crf = ChainCRF(client=client, **params).fit(data, y, **of_fit)
    return {"model": crf.to_local(), "result": crf.result_, "trace": crf.result_.trace}


@contextmanager
def resumable(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Say, where a cluster is lost, which checkpoint the training can go on from."""
    try:
        yield
    except ClusterError as error:
        if checkpoint is None:
            message = f"{error}; to keep the progress next time, use a checkpoint (loglinear.Checkpoint)"
        elif checkpoint.iteration is None:
            message = f"{error}; no checkpoint was written to {checkpoint.path}; start again"
        else:
            at = f"the checkpoint of iteration {checkpoint.iteration:,}"
            message = f"{error}; {checkpoint.path} has {at}; resume from it on a new cluster"
        raise ClusterError(message) from error
