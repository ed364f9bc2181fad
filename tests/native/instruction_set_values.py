"""Train one model of each kind with each instruction set, and print the numbers that come out, bit for bit.

Run as `python instruction_set_values.py "AVX2 and FMA" baseline`. The output is one JSON object: the name of each
instruction set that the processor has -> the name of each run -> its numbers, as hexadecimal text.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

from loglinear import ChainCRF, MaxEnt, PairwiseMRF
from loglinear.processor import instruction_set, limit_instruction_set

N_LABELS = 11  # More than the widest vector holds.


def sentences(n=60):
    """Sentences of up to 12 tokens whose attributes have something to do with their labels."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(n):
        labels = rng.integers(N_LABELS, size=rng.integers(1, 13))
        noise = rng.integers(7, size=len(labels))
        X.append([{f"w{(a + b) % 17}": 1.0, f"n{b}": 0.5 + b / 8} for a, b in zip(labels, noise, strict=True)])
        y.append([f"L{each}" for each in labels])
    return X, y


def table(n=400):
    """A table of columns with two and three states that hang together like links of a chain."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(3, size=n)]
    for states in (2, 3, 2, 3, 2):
        kept = rng.random(n) < 0.6
        columns.append(np.where(kept, columns[-1], rng.integers(states, size=n)) % states)
    return np.stack(columns, 1)


def runs():
    """Name of each run -> a function that returns its numbers."""
    X, y = sentences()
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(120, 19))
    classes = (dense[:, :4] + 0.5 * rng.normal(size=(120, 4))).argmax(1)

    def chain(**settings):
        crf = ChainCRF(**settings).fit(X, y)
        marginals = [list(token.values()) for sentence in crf.predict_marginals(X[:5]) for token in sentence]
        return [crf.result_.objective, *crf.result_.w, *np.ravel(marginals)]

    def classifier(**settings):
        model = MaxEnt(**settings).fit(dense, classes)
        return [*model.coef_.ravel(), *model.predict_proba(dense[:5]).ravel()]

    def network(**settings):
        model = PairwiseMRF(**settings).fit(table())
        return [model.result_.objective, *model.result_.w]

    return {
        "chain": lambda: chain(l2=0.1),
        "chain, l1": lambda: chain(l1=0.5),
        "chain of second order": lambda: chain(order=2, l2=0.1),
        "chain, sgd_l1": lambda: chain(l1=0.5, solver="sgd_l1", max_iterations=5),
        "chain, sag": lambda: chain(l2=0.1, solver="sag", max_iterations=5),
        "chain, adagrad": lambda: chain(l2=0.1, solver="adagrad", max_iterations=5),
        "classifier": lambda: classifier(l2=0.1),
        "classifier, l1": lambda: classifier(l1=1.0),
        "one-vs-rest": lambda: classifier(l2=0.1, multi_class="ovr"),
        "network": lambda: network(l1=2.0, objective="likelihood"),
        "network, junction tree": lambda: network(
            l1=0.0, l2=0.1, solver="lbfgs", objective="likelihood", inference="exact"
        ),
        "network, pseudo-likelihood": lambda: network(l1=2.0, objective="pseudolikelihood"),
        "network, pseudo-likelihood without l1": lambda: network(
            l1=0.0, l2=0.1, solver="lbfgs", objective="pseudolikelihood"
        ),
        "network, nodewise": lambda: network(l1=2.0, objective="nodewise"),
    }


def numbers(name):
    """Name of each run -> its numbers with an instruction set; `None` if the processor lacks it."""
    limit_instruction_set(name)
    if instruction_set() != name:
        return None
    return {run: [float(each).hex() for each in values()] for run, values in runs().items()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({name: numbers(name) for name in sys.argv[1:]}))
