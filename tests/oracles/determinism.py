"""Fingerprints of the weights that every solver reaches on every kind of problem, with a given number of threads.

`python -m oracles.determinism THREADS` prints them as JSON, for a comparison between processes.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings

import numpy as np
import scipy.sparse

from loglinear import (
    ChainCRF,
    ChainFeatures,
    ChainObjective,
    ClassifierObjective,
    Corpus,
    ElasticNet,
    GraphCRF,
    MaxEnt,
    PairwiseMRF,
    Problem,
    Stop,
    minimize,
)
from loglinear.errors import OptionError
from loglinear.networks.exact import Exact
from loglinear.networks.numbering import Numbering
from loglinear.objectives.network import NetworkLikelihood
from loglinear.objectives.pseudolikelihood import PseudoLikelihood
from loglinear.solvers import SOLVERS
from loglinear.solvers.common.needs import check
from oracles.samples import Graphed, chunky, linked_codes

# Solvers that go sample by sample, on one thread, or restart so often that they would take long on the largest data.
LARGEST = {"chain in blocks", "three classes"}
APART = {"adagrad", "asg", "label_sets", "pegasos", "prox_gradient", "sag", "sg", "sgd_l1"}


def of(*arrays):
    """Return a hash of the bits of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def wide():
    """Return labelled sentences with so many attributes that they are cut into blocks, which threads share."""
    rng = np.random.default_rng(2)
    lists = [[f"a{i}" for i in rng.choice(400, 80, replace=False)] for _ in range(300)]
    kinds = [rng.integers(0, 300, rng.integers(1, 9)) for _ in range(4000)]
    return [[lists[k] for k in each] for each in kinds], [[("A", "B", "C")[k % 3] for k in each] for each in kinds]


def objectives(threads):
    """Return objectives by name."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_array(rng.random((3000, 20)) * (rng.random((3000, 20)) < 0.5))
    sentences, labels = chunky(60)
    partial = [[None if rng.random() < 0.3 else label for label in each] for each in labels]
    codes = linked_codes([2, 3, 2, 2], 120)[0]
    return {
        "chain": ChainObjective(Corpus.encode(sentences, labels), threads=threads),
        "chain in blocks": ChainObjective(Corpus.encode(*wide()), threads=threads),
        "chain of order 2": ChainObjective(Corpus.encode(sentences, labels), ChainFeatures(order=2), threads=threads),
        "partial chain": ChainObjective(Corpus.encode(sentences, partial), threads=threads),
        "two classes": ClassifierObjective(
            X, rng.integers(2, size=3000), n_classes=2, intercept=False, threads=threads
        ),
        "three classes": ClassifierObjective(X, rng.integers(3, size=3000), n_classes=3, threads=threads),
        "pseudo-likelihood": PseudoLikelihood(codes, Numbering([2, 3, 2, 2]), threads=threads),
        "network": NetworkLikelihood(codes, Numbering([2, 3, 2, 2]), inference=Exact(), threads=threads),
        "graphs": Graphed(11, threads=threads).whole,
    }


def of_solvers(threads):
    """Return a fingerprint for every solver and every objective and penalty that it takes."""
    found = {}
    for kind, objective in objectives(threads).items():
        free = getattr(objective, "n_unpenalised", 0)
        for l1, l2 in ((0.0, 1.0), (0.3, 0.0)):
            problem = Problem(objective, ElasticNet(l1, l2, free))
            for name, make in SOLVERS.items():
                if kind in LARGEST and name in APART:
                    continue
                try:
                    check(make(), problem)
                except OptionError:
                    continue
                result = minimize(problem, make(), stop=Stop(max_iterations=3))
                found[f"{name}, {kind}, l1={l1}, l2={l2}"] = of(result.w, [result.objective])
    return found


def of_models(threads):
    """Return a fingerprint of what every kind of model learns and answers."""
    rng = np.random.default_rng(1)
    sentences, labels = chunky(60)
    M, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    found = {}
    for order in (1, 2):
        crf = ChainCRF(order=order, n_jobs=threads).fit(sentences, labels)
        marginals = crf.marginals(sentences)
        found[f"ChainCRF of order {order}"] = of(crf.result_.w, *marginals)
    for multi_class in ("softmax", "ovr"):
        maxent = MaxEnt(multi_class=multi_class, n_jobs=threads).fit(M, y)
        found[f"MaxEnt, {multi_class}"] = of(maxent.coef_, maxent.predict_proba(M))
    for objective in ("likelihood", "pseudolikelihood", "nodewise"):
        network = PairwiseMRF(l1=3.0, objective=objective, n_jobs=threads).fit((M > 0).astype(int))
        found[f"PairwiseMRF by {objective}"] = of(*network.marginals())
    graphs = [(M[4 * k : 4 * k + 4], np.array([[0, 1], [1, 2], [2, 3]])) for k in range(10)]
    crf = GraphCRF(n_jobs=threads).fit(graphs, [y[4 * k : 4 * k + 4] for k in range(10)])
    found["GraphCRF"] = of(*crf.predict_proba(graphs))
    return found


def table(threads):
    """Return all fingerprints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return of_solvers(threads) | of_models(threads)


if __name__ == "__main__":
    print(json.dumps(table(int(sys.argv[1]))))
