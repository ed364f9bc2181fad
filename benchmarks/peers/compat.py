"""sklearn-crfsuite and `loglinear.compat.sklearn_crfsuite` side by side: the tutorial's program on CoNLL-2002 Dutch.

Each program is a process of its own; the two alternate. Seconds of `fit` and `predict` include the reading of the
feature dicts, which are made before the clock starts. The features are those of sklearn-crfsuite's tutorial.

    python benchmarks/peers/compat.py                     # all 15,806 sentences
    python benchmarks/peers/compat.py --sentences 2000    # the first ones

Needs sklearn-crfsuite, and the folder named by LOGLINEAR_DATA, which holds conll2002-dutch/ned.train and ned.testb.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PROGRAMS = ("sklearn_crfsuite", "loglinear")
GOALS = {"fit": 8, "predict": 5}

Token = tuple[str, str, str]


def main() -> None:
    """Run both programs and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=0, metavar="N", help="train on the first N; 0 for all")
    parser.add_argument("--iterations", type=int, default=100, metavar="N", help="max_iterations")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="of which the median counts")
    parser.add_argument("--only", choices=PROGRAMS, help="run one program in this process, and print JSON")
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measured(arguments.only, arguments.sentences, arguments.iterations)))
        return
    if find_spec("sklearn_crfsuite") is None:
        parser.error("sklearn-crfsuite is not installed; run `pip install sklearn-crfsuite`, or add --only loglinear")
    runs: dict[str, list[dict[str, float]]] = {program: [] for program in PROGRAMS}
    for _ in range(arguments.rounds):
        for program in PROGRAMS:
            command = [sys.executable, __file__, "--only", program, f"--sentences={arguments.sentences}"]
            done = subprocess.run(
                [*command, f"--iterations={arguments.iterations}"], stdout=subprocess.PIPE, check=True
            )
            runs[program].append(json.loads(done.stdout))
    print("| | sklearn-crfsuite | loglinear | ratio | goal |\n| --- | --- | --- | --- | --- |")
    for name in runs["loglinear"][0]:
        peer, ours = (statistics.median(run[name] for run in runs[program]) for program in PROGRAMS)
        ratio = f"{peer / ours:.1f} x" if name in GOALS else ""
        print(f"| {name} | {peer:.4g} | {ours:.4g} | {ratio} | {GOALS.get(name, '')} |")


def measured(program: str, sentences: int, iterations: int) -> dict[str, float]:
    """Return seconds of `fit` and `predict`, and what came of them."""
    from sklearn.metrics import f1_score

    train, test = (read(name) for name in ("ned.train", "ned.testb"))
    train = train[: sentences or None]
    X, X_test = ([features(sentence) for sentence in part] for part in (train, test))
    y, y_test = ([[label for _, _, label in sentence] for sentence in part] for part in (train, test))
    estimator: Any
    if program == "loglinear":
        from loglinear.compat import sklearn_crfsuite

        estimator = sklearn_crfsuite.CRF
    else:
        import sklearn_crfsuite as peer

        estimator = peer.CRF
    crf = estimator(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=iterations)
    began = time.perf_counter()
    crf.fit(X, y)
    fitted = time.perf_counter()
    _ = crf.tagger_
    opened = time.perf_counter()
    found = crf.predict(X_test)
    ended = time.perf_counter()
    flat = [[label for labels in part for label in labels] for part in (y_test, found)]
    kinds = sorted({*flat[0]} - {"O"})
    log = crf.training_log_
    return {
        "fit": fitted - began,
        "predict": ended - opened,
        "features": log.featgen_num_features,
        "iterations": log.last_iteration["num"],
        "loss": log.last_iteration["loss"],
        "F1": float(f1_score(*flat, average="weighted", labels=kinds)),
    }


def read(name: str) -> list[list[Token]]:
    """Return the sentences of a file: word, part of speech, label."""
    path = Path(os.environ["LOGLINEAR_DATA"]) / "conll2002-dutch" / name
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    rows = ([line.split() for line in block.splitlines() if not line.startswith("-DOCSTART-")] for block in blocks)
    return [[(word, tag, label) for word, tag, label in sentence] for sentence in rows if sentence]


def features(sentence: list[Token]) -> list[dict[str, Any]]:
    """Return the features of the tutorial of each token."""
    return [word_features(sentence, at) for at in range(len(sentence))]


def word_features(sentence: list[Token], at: int) -> dict[str, Any]:
    """Return the features of a token: its word, its part of speech, and its neighbours'."""
    word, tag, _ = sentence[at]
    found: dict[str, Any] = {
        "bias": 1.0,
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isdigit()": word.isdigit(),
    }
    for prefix, offset in (("", 0), ("-1:", -1), ("+1:", 1)):
        if not 0 <= at + offset < len(sentence):
            found["BOS" if offset < 0 else "EOS"] = True
            continue
        word, tag, _ = sentence[at + offset]
        found |= {
            f"{prefix}word.lower()": word.lower(),
            f"{prefix}word.isupper()": word.isupper(),
            f"{prefix}word.istitle()": word.istitle(),
            f"{prefix}postag": tag,
            f"{prefix}postag[:2]": tag[:2],
        }
    return found


if __name__ == "__main__":
    main()
