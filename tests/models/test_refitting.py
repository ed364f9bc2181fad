"""Fitted attributes change together: other threads see a whole model, the old one or the new one, at any time."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

from examples import by_day
from loglinear import ChainCRF, GraphCRF, MaxEnt, PairwiseMRF, TextClassifier, grid_edges
from oracles.patience import patience

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 3))
TEXTS = ["good film", "bad film", "good plot", "dull"] * 3
IMAGE = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
GRAPH = IMAGE.reshape(-1, 1), grid_edges(2, 3)
TABLE = [["rain", "wet"], ["sun", "dry"], ["sun", "wet"], ["rain", "dry"]] * 3


def chains(n_labels):
    """Sentences and labels of a chain, so many of them."""
    labels = [f"L{number}" for number in range(n_labels)]
    return [[[f"w={label}"] for label in labels]] * 3, [labels] * 3


def classes(n_classes):
    return np.arange(40) % n_classes


# Name -> an estimator, two data sets to fit in turn, and what threads ask meanwhile.
CASES = {
    "chain": (
        ChainCRF(),
        chains(2),
        chains(7),
        [
            lambda crf: crf.predict_marginals([[["w=L1"], ["w=L0"]]]),
            lambda crf: crf.predict_single([["w=L1"]]),
            lambda crf: crf.transition_features_,
        ],
    ),
    "biased chain": (
        ChainCRF(label_bias={"L0": 0.5}, constraints=[("L0", "L0")]),
        chains(2),
        chains(7),
        [lambda crf: crf.predict([[["w=L1"], ["w=L0"]]]), lambda crf: crf.predict_marginals_single([["w=L1"]])],
    ),
    "classifier": (
        MaxEnt(),
        (ROWS, classes(2)),
        (ROWS, classes(7)),
        [lambda model: model.predict(ROWS).tolist(), lambda model: model.predict_proba(ROWS)],
    ),
    "columns": (
        MaxEnt(),
        ([["a"], ["b"]] * 4, ["A", "B"] * 4),
        ([["c", "d"], ["e"], ["f", "a"], ["g"]] * 2, ["A", "B", "C", "D"] * 2),
        [lambda model: model.decision_function([["a", "c"]])],
    ),
    "texts": (
        TextClassifier(),
        (TEXTS, ["+", "-"] * 6),
        ([*TEXTS, "a b c d e f g"], ["+", "-", "?", "!"] * 3 + ["?"]),
        [lambda model: model.predict_proba(["good film a b"])],
    ),
    "graph": (
        GraphCRF(),
        ([GRAPH], [[0, 1, 0, 1, 0, 1]]),
        ([GRAPH], [[0, 1, 2, 3, 0, 1]]),
        [lambda model: model.predict([GRAPH]), lambda model: model.predict_proba([GRAPH])],
    ),
    "network": (
        PairwiseMRF(l1=0.1),
        (TABLE,),
        ([[*row, "xyz"[at % 3]] for at, row in enumerate(TABLE)],),
        [lambda model: model.edges_, lambda model: model.sample(3, random_state=1)],
    ),
}


@pytest.fixture
def hasty():
    """Let threads take turns often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.parametrize("name", by_day(CASES, lambda name: name in ("columns", "graph", "biased chain")))
def test_threads_that_ask_while_another_fits_get_the_answer_of_one_of_the_models(name, hasty):
    estimator, first, second, questions = CASES[name]
    right = [[repr(ask(estimator.fit(*data))) for data in (first, second)] for ask in questions]
    stop, wrong = threading.Event(), []

    def keep_asking(ask, answers):
        while not stop.is_set():
            try:
                answer = repr(ask(estimator))
            except Exception as error:
                answer = repr(error)
            if answer not in answers:
                wrong.append(answer)

    threads = [threading.Thread(target=keep_asking, args=each) for each in zip(questions, right, strict=True)]
    for thread in threads:
        thread.start()
    for number in range(20):
        estimator.fit(*(first, second)[number % 2])
    stop.set()
    for thread in threads:
        thread.join(patience(60))
    assert wrong == []
