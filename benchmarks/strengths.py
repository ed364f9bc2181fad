"""What it costs to choose the strength of a penalty by cross-validation: the figures of docs/guides/strengths.md.

    LOGLINEAR_DATA=/path/to/data python benchmarks/strengths.py [--threads 2] [--json result.json] [--exact]

For CoNLL-2000 and the Dutch data of CoNLL-2002, with an L1 or an L2 penalty: seconds of one training at the strength
that was chosen, seconds of the whole search with the final training, and their ratio, in alternation, also of the
seconds of all processors; of several runs the medians count. With ``--exact`` also the scores at the chosen strength
and its neighbours, less those of trainings on the same folds from weights of 0, to the default tolerance.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import ChainCRF, Corpus
from loglinear.models.training.chain_folds import ChainFolds
from loglinear.models.training.folds import folds_of_chain
from loglinear.objectives.chain import ChainObjective

DATA_SETS = {
    "CoNLL-2000": ("conll2000/train.txt", "conll2000/test.txt", "chunking"),
    "CoNLL-2002 Dutch": ("conll2002-dutch/ned.train", "conll2002-dutch/ned.testb", "ner"),
}


def seconds_of(crf: ChainCRF, corpus: Corpus) -> tuple[float, float]:
    """Seconds of a training, and seconds of all processors."""
    began, used = time.perf_counter(), time.process_time()
    crf.fit(corpus)
    return time.perf_counter() - began, time.process_time() - used


def differences(crf: ChainCRF, corpus: Corpus, penalty: str, threads: int) -> dict[str, float]:
    """Scores of the search at the chosen strength and its neighbours, less those of exact trainings on the folds."""
    cv = crf.cross_validation_
    assert cv is not None
    objective = ChainObjective(corpus, threads=threads)
    folds = folds_of_chain(objective, 0, n_folds=cv.n_folds, option=penalty)
    shares = ChainFolds(objective, folds, cv.metric).shares
    at = int(np.flatnonzero(cv.strengths == cv.chosen)[0])
    found = {}
    for place in range(max(at - 1, 0), min(at + 2, cv.strengths.size)):
        scores = []
        for fold, share in zip(folds, shares, strict=True):
            rest = np.setdiff1d(np.arange(len(corpus)), fold)
            model = ChainCRF(**{penalty: cv.strengths[place] * (1.0 - share)}, n_jobs=threads).fit(corpus[rest])
            scores.append(model.score(corpus[fold], metric=cv.metric))
        found[f"{cv.strengths[place]:.4g}"] = cv.scores[place] - float(shares @ np.array(scores))
    return found


def measured(train: Corpus, test: Corpus, penalty: str, threads: int, repeats: int, *, exact: bool) -> dict[str, Any]:
    """What the choice of a strength costs and gives."""
    searches, singles = [], []
    for _ in range(repeats):
        crf = ChainCRF(**{penalty: "cv"}, n_jobs=threads)
        searches.append(seconds_of(crf, train))
        single = ChainCRF(**{penalty: getattr(crf, f"{penalty}_")}, n_jobs=threads)
        singles.append(seconds_of(single, train))
    cv = crf.cross_validation_
    assert cv is not None
    found: dict[str, Any] = {
        "strengths": cv.strengths.round(4).tolist(),
        "scores": cv.scores.round(5).tolist(),
        "errors": cv.errors.round(5).tolist(),
        "best": cv.best,
        "chosen": cv.chosen,
        "F1 on the test data": crf.score(test, metric="f1"),
        "seconds of the search": statistics.median(a for a, _ in searches),
        "seconds of a training": statistics.median(a for a, _ in singles),
        "ratio": statistics.median(a / b for (a, _), (b, _) in zip(searches, singles, strict=True)),
        "ratio of processor seconds": statistics.median(
            a / b for (_, a), (_, b) in zip(searches, singles, strict=True)
        ),
    }
    if exact:
        found["differences from exact scores"] = differences(crf, train, penalty, threads)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", nargs="+", default=[*DATA_SETS], choices=[*DATA_SETS])
    parser.add_argument("--penalty", nargs="+", default=["l1", "l2"], choices=["l1", "l2"])
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = {}
    for name in arguments.data:
        *files, preset = DATA_SETS[name]
        paths = [Path(os.environ["LOGLINEAR_DATA"], file) for file in files]
        train, test = (Corpus.read(path, template=preset, skip_comments=True) for path in paths)
        for penalty in arguments.penalty:
            found = measured(train, test, penalty, arguments.threads, arguments.repeats, exact=arguments.exact)
            results[f"{name}, {penalty}"] = found
            print(f"{name}, {penalty}: {json.dumps(found, indent=1)}", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
