"""Training by the command line on a Dask cluster, or by several processes of this machine."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..data.corpus import is_corpus
from ..errors import OptionError
from .output import counted
from .reading import Reading, sizes_of_sentences

if TYPE_CHECKING:
    from ..minimize import Callback
    from ..models.training.checkpoint import Checkpoint
    from ..objectives.chain import ChainFeatures
    from ..objectives.parts import ChainParts
    from ..trace import TraceRecord
    from .progress import Progress

__all__ = ["add_cluster", "one_file", "spread"]


def add_cluster(parser: ArgumentParser) -> None:
    """Add --workers, --cluster and --part-mb."""
    add = parser.add_argument
    needs = "needs loglinear[distributed]"
    add("--workers", type=int, metavar="N", help=f"train a chain with N worker processes on this machine; {needs}")
    address = "train a chain on the Dask cluster whose scheduler is there, such as tcp://host:8786"
    add("--cluster", metavar="ADDRESS", help=f"{address}; {needs}")
    size = "with --workers or --cluster: megabytes of a file that are one part of the work (16)"
    add("--part-mb", type=float, default=16.0, metavar="X", help=size)


def one_file(arguments: Namespace) -> bool:
    """Return whether the training data are one file, whose path then stands alone; else a cluster is to be used.

    Raises:
        OptionError: there are several files, or a folder or pattern, and no cluster; or two clusters.
    """
    if arguments.workers is not None and arguments.cluster is not None:
        message = "--workers starts a cluster of its own, and --cluster names one; give one of them"
        raise OptionError(message)
    if arguments.workers is not None or arguments.cluster is not None:
        return False
    first = arguments.train[0]
    if len(arguments.train) > 1 or (os.path.isdir(first) and not is_corpus(first)):
        message = (
            f"{' '.join(arguments.train[:2])}: one file of training data; for several, or a folder, give --workers N"
        )
        raise OptionError(message)
    arguments.train = first
    return True


@contextmanager
def spread(
    arguments: Namespace,
    reading: Reading,
    features: ChainFeatures,
    progress: Progress,
    checkpoint: Checkpoint | None,
) -> Iterator[tuple[ChainParts, Callback]]:
    """Start or find a cluster and have it read the training data; yield these, and a callback that notes their cost.

    Raises:
        OptionError: Dask is not installed.
        DataError: bad data; names file and line.
        ClusterError: the cluster is gone or of no use; names the checkpoint to go on from.
    """
    try:
        from ..dask.chain import resumable
        from ..dask.cluster import Cluster, connected, local_client
        from ..dask.data import sources
        from ..dask.spread import SpreadGroup, Tally
    except ImportError as error:
        raise OptionError(str(error)) from error
    from ..objectives.parts import ChainParts

    part_bytes = max(int(arguments.part_mb * 2**20), 1)
    begun = connected(arguments.cluster) if arguments.workers is None else local_client(arguments.workers)
    with begun as client, resumable(checkpoint):
        cluster, tally = Cluster(client), Tally()
        parts = sources(
            cluster,
            arguments.train,
            template=reading.template,
            format=reading.format,
            partial=reading.partial,
            part_bytes=part_bytes,
        )
        workers = counted(len(cluster.workers()), "worker")
        progress.note(f"{counted(len(parts), 'part')} for {workers}; dashboard: {client.dashboard_link or 'none'}")
        data = ChainParts(SpreadGroup(cluster, parts, tally), features)
        progress.note(sizes_of_sentences(" ".join(arguments.train), data.n_samples, data))

        def account(record: TraceRecord, state: object) -> None:
            progress.label = tally.line()

        yield data, account
