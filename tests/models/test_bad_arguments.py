"""Every argument of constructors and of `fit`, with values of wrong types and sizes: errors are typed and name it."""

from __future__ import annotations

import inspect
import math
import warnings

import numpy as np
import pytest

from loglinear import (
    ChainCRF,
    Corpus,
    CorpusFile,
    GraphCRF,
    MaxEnt,
    PairwiseMRF,
    Tagger,
    TextClassifier,
    annotated_texts,
    labelled_tokens,
)
from loglinear.errors import DataError, LogLinearError, OptionError, TemplateError
from loglinear.models.chain_bias import tuned_bias
from loglinear.models.explain.explainer import Explainer
from loglinear.models.temperature import temperature_of
from loglinear.models.training.structure import NetworkOptions, train_network
from loglinear.networks.graph import Graph
from loglinear.networks.numbering import Numbering
from loglinear.objectives.chain import ChainObjective
from loglinear.objectives.classifier import ClassifierObjective

SAMPLES = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [1.0, 3.0]]
TEXTS = ["good film", "bad film", "good book", "bad day"]
TABLE = [["a", "x"], ["b", "y"], ["a", "x"], ["b", "x"]]
DATA = {
    MaxEnt: {"X": SAMPLES, "y": ["a", "b", "a", "b"]},
    TextClassifier: {"X": TEXTS, "y": ["a", "b", "a", "b"]},
    PairwiseMRF: {"X": TABLE},
    ChainCRF: {"X": [[["a"], ["b"]], [["c"]]], "y": [["A", "B"], ["A"]]},
    GraphCRF: {"X": [(np.eye(2), [(0, 1)]), (np.eye(2), [(0, 1)])], "y": [["a", "b"], ["b", "a"]]},
}


class Odd:
    """An object of a class that no argument takes."""

    def __repr__(self):
        return "<odd>"


def values():
    """Wrong types, numbers outside any range, and empty, unordered or too deep collections, new for each use."""
    numbers = [True, False, math.nan, math.inf, -math.inf, -1, -0.5, 0, 2**63, 10**400, 1j]
    texts = ["", "x", "\ud800", b"x"]
    collections = [[], [[]], (), {}, {"a": 1}, {1: math.nan}, set(), {1}, [None], ["a", "b"], iter([1])]
    arrays = [np.array([]), np.array([math.nan]), np.zeros((0, 3)), np.zeros((2, 2, 2))]
    return [None, *numbers, *texts, *collections, *arrays, Odd(), object, lambda: 1]


# What messages may call an argument.
CALLED = {
    "X": ("X", "sample", "text", "sentence", "column", "token", "table", "attribute", "graph"),
    "y": ("y", "class", "label"),
    "X_dev": ("X_dev", "y_dev"),
    "y_dev": ("y_dev", "X_dev"),
    "token_weight": ("token_weight", "token weight"),
    "node_weight": ("node_weight", "weight"),
    "solver_options": ("solver",),
    "inference_options": ("inference",),
    "missing": ("missing", "column"),  # marks may empty a column
}


def told(call):
    """What an error says; nothing if there is none. Errors have to be typed, or to be of a missing file."""
    try:
        call()
    except (LogLinearError, FileNotFoundError) as error:
        return error if isinstance(error, LogLinearError) else f"start or prior: {error}"
    return None


def check(call, argument, value):
    """Call with a bad value, and check that an error names the argument."""
    message = told(call)
    called = CALLED.get(argument, (argument, argument.replace("_", "-")))
    assert message is None or any(word in str(message) for word in called), f"{argument}={value!r:.60}: {message}"


@pytest.fixture(autouse=True)
def quiet(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def options_of(kind, argument=None):
    """Few iterations, and for networks no path of penalties, unless the argument is about these."""
    options = {} if argument == "max_iterations" else {"max_iterations": 1}
    return options | ({"l1": 0.1} if kind is PairwiseMRF and argument not in ("l1", "path_options") else {})


@pytest.mark.parametrize("kind", DATA, ids=lambda kind: kind.__name__)
def test_options_of_wrong_types_and_sizes_are_named(kind):
    for argument in kind().get_params():
        for value in values():
            check(lambda: kind(**options_of(kind, argument) | {argument: value}).fit(**DATA[kind]), argument, value)  # noqa: B023


@pytest.mark.parametrize("kind", DATA, ids=lambda kind: kind.__name__)
def test_arguments_of_fit_of_wrong_types_and_sizes_are_named(kind):
    ignored = {"y"} if kind is PairwiseMRF else set()
    for argument in [name for name in list(inspect.signature(kind.fit).parameters)[1:] if name not in ignored]:
        for value in values():
            check(lambda: kind(**options_of(kind)).fit(**DATA[kind] | {argument: value}), argument, value)  # noqa: B023


def test_a_wrong_number_of_threads_is_an_option_error_everywhere(tmp_path):
    X, y = [["Dogs", "bark"]], [["NOUN", "VERB"]]
    crf = ChainCRF(template="pos", tokenizer="words").fit(X, y)
    tagger, corpus = Tagger(crf), Corpus.encode(X, y, template="pos")
    file = CorpusFile(tmp_path / "corpus", template="pos")
    numbering, codes = Numbering(np.array([2, 2])), np.array([[0, 1], [1, 0]], dtype=np.int32)
    users = [
        lambda threads: tagger.tag_batch(X, threads=threads),
        lambda threads: tagger.tag_texts(["Dogs"], threads=threads),
        lambda threads: Corpus.read("none.txt", template="pos", threads=threads),
        lambda threads: file.add(corpus, threads=threads),
        lambda threads: file.keep_frequent([], 2, threads=threads),
        lambda threads: ChainObjective(corpus, threads=threads),
        lambda threads: ClassifierObjective(np.eye(2), [0, 1], n_classes=2, threads=threads),
        lambda threads: ClassifierObjective.of_corpus(corpus, [0, 1], n_classes=2, threads=threads),
        lambda threads: temperature_of(tagger._model, corpus, threads=threads),
        lambda threads: tuned_bias(tagger._model, corpus, threads=threads),
        lambda threads: Explainer(tagger._model).explain(corpus, threads=threads),
        lambda threads: train_network(codes, numbering, None, NetworkOptions(), threads=threads),
        lambda threads: train_network(
            codes, numbering, None, NetworkOptions(objective="pseudolikelihood"), threads=threads
        ),
        lambda threads: Graph(Numbering(np.array([2, 2])), np.array([[0, 1]]), threads),
    ]
    for use in users:
        for threads in (-1, 1.5, True, None, 10**30):
            with pytest.raises(OptionError, match="threads="):
                use(threads)


def test_half_of_a_character_in_a_template_is_named_with_its_line():
    with pytest.raises(TemplateError, match=r"line 2: half of a character, .ud800"):
        ChainCRF(template="U:%x[0,0]\nU:\ud800%x[0,0]").fit([["a"]], [["A"]])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: labelled_tokens(None), "texts: expected a sequence"),
        (lambda: labelled_tokens("Ada"), "texts: expected a sequence"),
        (lambda: annotated_texts(None, []), "X: expected a sequence"),
        (lambda: annotated_texts([], None), "y: expected a sequence"),
        (lambda: annotated_texts([None], [["O"]]), "sentence 0: expected a sequence"),
        (lambda: annotated_texts([["Ada"]], [5]), "sentence 0, the labels: expected a sequence"),
    ],
)
def test_texts_that_are_no_sequence_are_named(call, said):
    with pytest.raises(DataError, match=said):
        call()
