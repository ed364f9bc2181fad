"""Training by the command line on a Dask cluster, or by several processes of this machine."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ..data.corpus import is_corpus
from ..errors import OptionError
from .output import counted, say

if TYPE_CHECKING:
    from ..minimize import Callback
    from ..models.training.checkpoint import Checkpoint
    from ..models.training.options import DevOptions, SolverOptions
    from ..objectives.chain import ChainFeatures
    from ..result import Result
    from .progress import Progress

__all__ = ["add_cluster", "one_file", "train"]


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


def train(
    arguments: Namespace,
    features: ChainFeatures,
    options: SolverOptions,
    use: DevOptions,
    progress: Progress,
    checkpoint: Checkpoint | None,
    callbacks: list[Callback],
) -> Result:
    """Train a chain on the files of the command line, on a cluster, and write the model.

    Raises:
        OptionError: an option does not go with a cluster, or Dask is not installed.
        DataError: bad data; names file and line.
        ClusterError: the cluster is gone or of no use.
    """
    try:
        from ..dask.chain import resumable
        from ..dask.cluster import connected, local_client
    except ImportError as error:
        raise OptionError(str(error)) from error
    if arguments.model_type != "chain":
        message = "--workers and --cluster train chains; leave out --model-type, or train the classifier in one process"
        raise OptionError(message)
    options.check()
    if arguments.workers is not None:
        cluster: AbstractContextManager[Any] = local_client(arguments.workers)
    else:
        cluster = connected(arguments.cluster)
    with cluster as client, resumable(checkpoint):
        return _train(client, arguments, features, options, use, progress, checkpoint, callbacks)


def _train(
    client: Any,
    arguments: Namespace,
    features: ChainFeatures,
    options: SolverOptions,
    use: DevOptions,
    progress: Progress,
    checkpoint: Checkpoint | None,
    callbacks: list[Callback],
) -> Result:
    from ..dask.cluster import Cluster
    from ..dask.data import sources
    from ..dask.spread import SpreadGroup, Tally
    from ..models.training.chain_parts import train_parts
    from ..objectives.parts import ChainParts
    from .reading import read_template

    cluster, tally = Cluster(client), Tally()
    template = read_template(arguments.preset, arguments.template)
    part_bytes = max(int(arguments.part_mb * 2**20), 1)
    given: dict[str, Any] = {"template": template, "format": arguments.format, "partial": arguments.partial}
    parts = sources(cluster, arguments.train, part_bytes=part_bytes, **given)
    workers = counted(len(cluster.workers()), "worker")
    progress.note(f"{counted(len(parts), 'part')} for {workers}; dashboard: {client.dashboard_link or 'none'}")
    objective = ChainParts(SpreadGroup(cluster, parts, tally), features)
    progress.note(
        f"{' '.join(arguments.train)}: {counted(objective.n_samples, 'sentence')}, "
        f"{counted(objective.n_tokens, 'token')}, {counted(objective.n_features, 'feature')}, "
        f"{counted(len(objective.labels), 'label')}"
    )
    more = {"dev": _dev(arguments, objective, template, use), "start": _start(arguments.start)}

    def account(record: Any, state: Any) -> None:
        progress.label = tally.line()

    model, result = train_parts(objective, options, callbacks=[account, *callbacks], checkpoint=checkpoint, **more)
    model.save(arguments.model)
    return result


def _dev(arguments: Namespace, objective: Any, template: str | None, use: DevOptions) -> Any:
    """Return the development data, which this process reads; None without any."""
    if arguments.dev is None:
        return None
    from ..data.corpus import Corpus
    from ..data.formats import format_of
    from ..models.training.chain import DevSet

    format = format_of(arguments.dev, arguments.format, objective.table.format)
    found = Corpus.read(arguments.dev, format=format, template=template, partial=arguments.partial)
    scored = DevSet(found, use, threads=arguments.threads)
    unknown = scored.unknown_labels(objective.labels)
    if unknown:
        say(f"warning: {arguments.dev} has labels that the training data have not: {', '.join(unknown)}")
    return scored


def _start(path: str | None) -> Any:
    from ..models.training.start import Start

    return None if path is None else Start.open(path)
