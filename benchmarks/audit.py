"""How many of the first findings of an audit are labels that were made wrong, and what an audit costs.

    LOGLINEAR_DATA=/path/to/data python benchmarks/audit.py

Some 65,000 tokens of CoNLL-2000, 2 % of whose labels are made wrong: drawn at random from the other labels, or those
that a weak model predicts instead, where it errs. The weak model is trained on a tenth of the sentences and sees the
words alone, so that its mistakes are those that people make who look at a word and not at its sentence. Tokens are
counted in the order of the findings; other mistakes of the corpus count as wrongly accused.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from loglinear import ChainCRF, audit

SENTENCES, SHARE, SEEDS = 2700, 0.02, (0, 1, 2)
COUNTS = (100, 500, 1000)


def read(path: Path) -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Return tokens, words with parts of speech, and labels."""
    blocks = [block.splitlines() for block in path.read_text(encoding="utf-8").split("\n\n")[:SENTENCES] if block]
    rows = [[line.split() for line in block] for block in blocks]
    return [[(row[0], row[1]) for row in sentence] for sentence in rows], [
        [row[2] for row in sentence] for sentence in rows
    ]


def other_labels(kind: str, X: list, y: list[list[str]], rng: np.random.Generator) -> list[tuple[int, int, str]]:
    """Return sentence, token and a wrong label of the tokens that may get one."""
    places = [(sentence, token) for sentence, labels in enumerate(y) for token in range(len(labels))]
    if kind == "random":
        labels = sorted({label for sentence in y for label in sentence})
        drawn = rng.integers(len(labels) - 1, size=len(places))
        rest = {label: [other for other in labels if other != label] for label in labels}
        return [(at, token, rest[y[at][token]][k]) for (at, token), k in zip(places, drawn, strict=True)]
    words = [[[word] for word, _ in sentence] for sentence in X]
    few = rng.choice(len(X), len(X) // 10, replace=False)
    weak = ChainCRF(l2=1.0).fit([words[at] for at in few], [y[at] for at in few])
    predicted = weak.predict(words)
    return [(at, token, predicted[at][token]) for at, token in places if predicted[at][token] != y[at][token]]


def main() -> None:
    """Print precision among the first findings, and processor time in trainings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=5)
    folds = parser.parse_args().folds
    X, y = read(Path(os.environ["LOGLINEAR_DATA"]) / "conll2000" / "train.txt")
    n = sum(map(len, y))
    model = ChainCRF(template="chunking", l1=0.3, l2=0.1)
    print(f"{n:,} tokens, {SHARE:.0%} wrong, {folds} folds; precision among the first tokens of findings, by seed")
    for kind in ("random", "weak model"):
        shares, costs = [], []
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            candidates = other_labels(kind, X, y, rng)
            noisy, wrong = [[*labels] for labels in y], set()
            for at in rng.choice(len(candidates), int(SHARE * n), replace=False).tolist():
                sentence, token, label = candidates[at]
                noisy[sentence][token] = label
                wrong.add((sentence, token))
            began = time.process_time()
            model.fit(X, noisy)
            trained = time.process_time()
            found = audit(model, X, noisy, folds=folds)
            costs.append((time.process_time() - trained) / (trained - began))
            ranked = [(f.sentence, token) for f in found.findings for token in range(f.start, f.end)]
            shares.append([sum(place in wrong for place in ranked[:count]) / count for count in COUNTS])
        for count, values in zip(COUNTS, zip(*shares, strict=True), strict=True):
            print(f"{kind:12} first {count:5,}: " + "  ".join(f"{value:.3f}" for value in values))
        print(f"{kind:12} processor time of an audit, in trainings: {np.median(costs):.1f}")


if __name__ == "__main__":
    main()
