"""Try an installed loglinear: train, save, load and use each kind of model, on several threads at once.

    python .ci/smoke.py

It needs no packages of the tests. Prints what it ran on. A free-threaded Python has to keep its interpreter lock off.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import loglinear
from loglinear import ChainCRF, MaxEnt, PairwiseMRF, Tagger
from loglinear.datasets import make_network
from loglinear.processor import instruction_set

X = [[["word=The", "cap"], ["word=dog"], ["word=barks"]], [["word=Dogs", "cap"], ["word=bark"]]] * 20
y = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]] * 20


def chain(folder: Path) -> list[float]:
    """Train a chain, and label with its file as programs do that only label."""
    crf = ChainCRF(l1=0.1, l2=0.01).fit(X, y)
    crf.save(folder / "chain.loglinear")
    assert Tagger(folder / "chain.loglinear").tag_batch(X) == y
    assert ChainCRF.load(folder / "chain.loglinear").predict(X) == y
    return list(crf.result_.w)


def classifier(folder: Path) -> list[float]:
    """Train a classifier, and use its file."""
    x = np.random.default_rng(0).normal(size=(200, 5))
    model = MaxEnt(l2=0.1).fit(x, x[:, :3].argmax(1))
    model.save(folder / "classifier.loglinear")
    assert MaxEnt.load(folder / "classifier.loglinear").score(x, x[:, :3].argmax(1)) > 0.9
    return list(model.result_.w)


def network(folder: Path) -> list[float]:
    """Train a network, and use its file."""
    table = make_network(n_variables=9, n_samples=500).X
    model = PairwiseMRF(l1=0.05, objective="pseudolikelihood").fit(table)
    model.save(folder / "network.loglinear")
    assert PairwiseMRF.load(folder / "network.loglinear").edges_.tolist() == model.edges_.tolist()
    return list(model.result_.w)


def main() -> None:
    """Try everything."""
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    with ThreadPoolExecutor(8) as pool, tempfile.TemporaryDirectory() as folder:
        for each in (chain, classifier, network):
            folders = [Path(folder) / f"{each.__name__}-{number}" for number in range(16)]
            for path in folders:
                path.mkdir()
            weights = list(pool.map(each, folders))
            assert all(other == weights[0] for other in weights), f"{each.__name__}: threads have different weights"
    assert not (free and sys._is_gil_enabled()), "importing loglinear has turned the interpreter lock on"
    subprocess.run([sys.executable, "-m", "loglinear", "demo"], check=True, stdout=subprocess.DEVNULL)
    kind = "free-threaded " if free else ""
    print(f"loglinear {loglinear.__version__} works: {kind}Python {sys.version.split()[0]}, {instruction_set()}")


if __name__ == "__main__":
    main()
