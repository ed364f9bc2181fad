"""Fields on graphs beside PyStruct 0.3.2, on grids of its own examples.

    pip download --no-deps --no-binary :all: pystruct==0.3.2 && tar xzf pystruct-0.3.2.tar.gz
    OLD/bin/python benchmarks/peers/graphs.py --pystruct pystruct-0.3.2 --data grids.npz
    python benchmarks/peers/graphs.py --data grids.npz

PyStruct needs an old interpreter's packages (numpy 1.23, scikit-learn 1.1, cvxopt), and its compiled parts build with
none of today's compilers: it is read from its source, a helper of three lines stands in for one of them, and linear
programming does its inference. The first call makes the data and trains PyStruct's GridCRF by its OneSlackSSVM; the
second trains ours. Half of the 20 grids are for training.
"""

from __future__ import annotations

import argparse
import sys
import time
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HALF = 10
METHODS: dict[str, dict[str, Any]] = {
    "loopy_bp": {"inference": "loopy_bp"},
    "trw": {"inference": "trw"},
    "trw, balanced": {"inference": "trw", "class_weight": "balanced"},
    "exact": {"inference": "exact"},
}


def pystruct(folder: Path, data: Path) -> None:
    """Make the data of two of PyStruct's examples, and train its model."""
    import joblib
    import sklearn.externals

    def loss_augment_unaries(unary: Any, y: Any, weight: Any) -> None:
        unary += np.asarray(weight)[y][:, None] * (np.arange(unary.shape[1]) != np.asarray(y)[:, None])

    sys.path.insert(0, str(folder))
    sklearn.externals.joblib = joblib
    sys.modules["sklearn.externals.joblib"] = joblib
    helper: Any = types.ModuleType("pystruct.models.utils")
    helper.loss_augment_unaries, helper.crammer_singer_joint_feature = loss_augment_unaries, None
    sys.modules["pystruct.models.utils"] = helper
    for name, kind in (("int", int), ("float", float), ("bool", bool)):
        setattr(np, name, kind)  # names that NumPy had then
    from pystruct.datasets import generate_blocks, generate_blocks_multinomial
    from pystruct.learners import OneSlackSSVM
    from pystruct.models import GridCRF

    grids = {
        "blocks of three kinds": generate_blocks_multinomial(n_samples=2 * HALF, noise=0.5, seed=1),
        "blocks of two kinds": generate_blocks(n_samples=2 * HALF, noise=1.5, seed=1),
    }
    np.savez(
        data, **{f"{name}{side}": part for name, pair in grids.items() for side, part in zip("Xy", pair, strict=True)}
    )
    for name, (X, y) in grids.items():
        learner = OneSlackSSVM(GridCRF(inference_method="lp"), max_iter=50, C=100, inference_cache=50, tol=0.1)
        began = time.perf_counter()
        learner.fit(X[:HALF], y[:HALF])
        print(
            f"{name}: PyStruct {time.perf_counter() - began:.1f} s, {learner.score(X[HALF:], y[HALF:]):.4f}", flush=True
        )


def ours(data: Path) -> None:
    """Train on the same data."""
    from loglinear import GraphCRF, grid_edges

    warnings.simplefilter("ignore")
    parts = np.load(data)
    for name in sorted({each[:-1] for each in parts}):
        X, y = parts[f"{name}X"], parts[f"{name}y"]
        edges = grid_edges(*X.shape[1:3])
        graphs, labels = [(x.reshape(-1, X.shape[-1]), edges) for x in X], [each.ravel() for each in y]
        for method, options in METHODS.items():
            began = time.perf_counter()
            field = GraphCRF(symmetric=True, l2=0.01, **options).fit(graphs[:HALF], labels[:HALF])
            seconds, right = time.perf_counter() - began, field.score(graphs[HALF:], labels[HALF:])
            print(f"{name}: GraphCRF, {method} {seconds:.1f} s, {right:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="file of the grids, made by the first call")
    parser.add_argument("--pystruct", type=Path, help="folder of PyStruct's source")
    arguments = parser.parse_args()
    if arguments.pystruct:
        pystruct(arguments.pystruct, arguments.data)
    else:
        ours(arguments.data)


if __name__ == "__main__":
    main()
