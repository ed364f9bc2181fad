"""Training by the command line on a Dask cluster, or by several processes of this machine."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import OptionError
from ..visible import counted
from .output import keeping_reached
from .reading import Reading, show

if TYPE_CHECKING:
    from argparse import _ActionsContainer as Arguments

    from ..dask.cluster import Cluster
    from ..dask.spread import Tally
    from ..data.corpus import Corpus
    from ..minimize import Callback
    from ..models.maxent import MaxEnt
    from ..models.training.checkpoint import Checkpoint
    from ..objectives.chain import ChainFeatures
    from ..objectives.older import OlderChain
    from ..objectives.parts import ChainParts
    from ..trace import TraceRecord
    from .progress import Progress

__all__ = ["add_cluster", "fit_on_cluster", "is_local", "spread"]


def add_cluster(parser: Arguments) -> None:
    """Add --workers, --cluster and --part-mb."""
    add = parser.add_argument
    needs = "pip install '.[distributed]'"
    add("--workers", type=int, metavar="N", help=f"train with N worker processes on this machine ({needs})")
    address = "train on the Dask cluster with this scheduler, such as tcp://host:8786"
    add("--cluster", metavar="ADDRESS", help=f"{address} ({needs})")
    size = "with --workers or --cluster: size of the parts that files are split into, in megabytes (default: 16)"
    add("--part-mb", type=float, metavar="X", help=size)


def is_local(arguments: Namespace) -> bool:
    """Return whether this process reads the training data; ``arguments.train`` becomes a list of files (not for texts).

    Raises:
        OptionError: there are two clusters, or --part-mb without one.
        DataError: a folder or pattern has no file.
    """
    if arguments.workers is not None and arguments.cluster is not None:
        message = "--workers and --cluster exclude each other; leave out one"
        raise OptionError(message)
    if arguments.workers is not None or arguments.cluster is not None:
        return False
    if arguments.part_mb is not None:
        message = "--part-mb needs --workers or --cluster; leave it out, or add one"
        raise OptionError(message)
    if arguments.train != ["-"] and arguments.format != "text":
        from ..data.formats import has_spans
        from ..data.parts import expanded

        arguments.train = expanded(arguments.train, whole_folders=has_spans(arguments.format or ""))
    return True


@contextmanager
def spread(
    arguments: Namespace,
    reading: Reading,
    features: ChainFeatures,
    progress: Progress,
    checkpoint: Checkpoint | None,
    older: OlderChain | None = None,
) -> Iterator[tuple[ChainParts, Callback]]:
    """Start or find a cluster and have it read the training data; yield these, and a callback that notes their cost.

    Raises:
        MissingPackageError: Dask is not installed.
        DataError: bad data; names file and line.
        ClusterError: the cluster is gone or of no use; names the checkpoint to go on from.
    """
    with _cluster(arguments, progress, checkpoint) as (cluster, tally, account):
        from ..dask.data import sources
        from ..dask.spread import SpreadGroup
        from ..objectives.parts import ChainParts

        parts = sources(
            cluster,
            arguments.train,
            template=reading.template,
            format=reading.format,
            partial=reading.partial,
            columns=reading.columns,
            part_bytes=_part_bytes(arguments),
        )
        progress.note(f"{counted(len(parts), 'part')} for {_workers(cluster)}")
        data = ChainParts(SpreadGroup(cluster, parts, tally), features, older=older)
        show(" ".join(arguments.train), data.survey, progress)
        yield data, account


def fit_on_cluster(
    classifier: MaxEnt,
    arguments: Namespace,
    reading: Reading,
    *,
    X_dev: Corpus | None,
    callbacks: list[Callback],
    progress: Progress,
    checkpoint: Checkpoint | None,
) -> MaxEnt:
    """Start or find a cluster and train a classifier with these options on files of samples; return it.

    Raises:
        MissingPackageError: Dask is not installed.
        DataError: bad data; names file and line.
        ClusterError: the cluster is gone or of no use; names the checkpoint to go on from.
    """
    with _cluster(arguments, progress, checkpoint) as (cluster, tally, account):
        from ..dask import MaxEnt as SpreadMaxEnt

        progress.note(_workers(cluster))
        options = classifier.get_params()
        spread_classifier = SpreadMaxEnt(**options, client=cluster.client, part_bytes=_part_bytes(arguments))
        with keeping_reached(spread_classifier):
            spread_classifier.fit(
                arguments.train,
                format=reading.format,
                template=reading.template,
                separator=reading.columns.separator,
                label_column=reading.columns.label,
                weight_column=reading.columns.weight,
                skip_comments=reading.columns.skip_comments,
                X_dev=X_dev,
                start=arguments.start,
                prior=arguments.prior,
                prior_strength=arguments.prior_strength,
                callbacks=[account, *callbacks],
                checkpoint=checkpoint,
                tally=tally,
            )
        return spread_classifier.to_local()


@contextmanager
def _cluster(
    arguments: Namespace, progress: Progress, checkpoint: Checkpoint | None
) -> Iterator[tuple[Cluster, Tally, Callback]]:
    """Start or find a cluster; yield it, the costs of the training, and a callback that shows them."""
    from ..dask.chain import resumable
    from ..dask.cluster import Cluster, connected, local_client
    from ..dask.spread import Tally

    begun = connected(arguments.cluster) if arguments.workers is None else local_client(arguments.workers)
    with begun as client, resumable(checkpoint):
        tally = Tally()

        def account(record: TraceRecord, state: object) -> None:
            progress.label = tally.line()

        yield Cluster(client), tally, account


def _part_bytes(arguments: Namespace) -> int:
    megabytes = 16.0 if arguments.part_mb is None else arguments.part_mb
    return max(int(megabytes * 2**20), 1)


def _workers(cluster: Cluster) -> str:
    """Return the number of workers and the address of the dashboard."""
    return f"{counted(len(cluster.workers()), 'worker')}; dashboard: {cluster.client.dashboard_link or 'none'}"
