"""Labels that are equally good: the one that `classes_` has first wins, whatever the number of labels and sentences."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, MaxEnt
from oracles.chain_enumeration import named_features

WORDS = list("abcdef")


def chain(n_labels, order, seed):
    """A model whose weights are -1, 0 or 1, as an estimator; its scores of words, of pairs and of triples of labels."""
    labels = [f"{number:02}" for number in range(n_labels)]
    corpus = Corpus.encode([[[word] for word in WORDS for _ in labels]], [labels * len(WORDS)])
    objective = ChainObjective(corpus, ChainFeatures(all_states=True, all_transitions=True, order=order))
    weights = np.random.default_rng(seed).integers(-1, 2, objective.n_features).astype(float)
    crf = ChainCRF(order=order)
    crf.model_ = objective.model(weights, "{}")
    crf.classes_ = crf.model_.labels
    number = {label: k for k, label in enumerate(crf.classes_)}
    states = {word: np.zeros(n_labels) for word in WORDS}
    pairs, triples = np.zeros((n_labels,) * 2), np.zeros((n_labels,) * 3)
    for (kind, *names), weight in named_features(crf.model_).items():
        if kind == "state":
            states[names[0]][number[names[1]]] = weight
        else:
            (pairs if kind == "transition" else triples)[tuple(number[name] for name in names)] = weight
    return crf, states, pairs, triples


def viterbi(states, pairs, triples, words, first):
    """The best labelling, by a plain program over pairs of labels; of equal ones the first or last, from the end on."""

    def choice(scores):
        flat = np.flatnonzero(scores == scores.max())
        return flat[0 if first else -1]

    L = len(pairs)
    if len(words) == 1:
        return [choice(states[words[0]])]
    # best[t][i, j]: of labellings whose labels number t and t + 1 are i and j.
    best = [states[words[0]][:, None] + pairs + states[words[1]]]
    for word in words[2:]:
        best.append((best[-1][:, :, None] + triples).max(axis=0) + pairs + states[word])
    path = [choice(best[-1].max(axis=0))]
    path.insert(0, choice(best[-1][:, path[0]]))
    for t in range(len(words) - 3, -1, -1):
        path.insert(0, choice(best[t][:, path[0]] + triples[np.arange(L), path[0], path[1]]))
    return path


@pytest.mark.parametrize(("n_labels", "order"), [(2, 1), (3, 1), (8, 1), (13, 1), (35, 1), (2, 2), (3, 2), (9, 2)])
def test_of_equally_good_labellings_the_one_whose_last_labels_come_first_is_predicted(n_labels, order):
    rng = np.random.default_rng(n_labels)
    # Short sentences and long ones, and many of one length, which are labelled side by side.
    sentences = [rng.choice(WORDS, n).tolist() for n in (*range(1, 9), *[6] * 20, 40)]
    decided = 0
    for seed in range(3):
        crf, *scores = chain(n_labels, order, seed)
        expected = [viterbi(*scores, words, True) for words in sentences]
        given = [[[word] for word in words] for words in sentences]
        names = [[crf.classes_[k] for k in path] for path in expected]
        assert crf.predict(given) == names
        assert [crf.predict([each])[0] for each in given] == names
        assert [found[0][0] for found in crf.predict(given, n_best=2)] == names
        decided += sum(viterbi(*scores, words, False) != path for words, path in zip(sentences, expected, strict=True))
    assert decided > 10


@pytest.mark.parametrize("n_labels", [2, 5, 9, 35])
@pytest.mark.parametrize("decode", ["viterbi", "marginal"])
def test_without_weights_every_label_is_the_first(n_labels, decode):
    crf, *_ = chain(n_labels, 1, 0)
    objective = ChainObjective(Corpus.encode([[["a"]] * n_labels], [crf.classes_]))
    crf.model_ = objective.model(np.zeros(objective.n_features), "{}")
    sentences = [[["a"]] * n for n in (1, 2, 7, 7, 7, 7)]
    assert crf.predict(sentences, decode=decode) == [[crf.classes_[0]] * len(each) for each in sentences]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_are_equally_probable_go_to_the_first(n_classes):
    names = np.array(["c", "a", "b"])[:n_classes]
    model = MaxEnt(l2=1.0, fit_intercept=False).fit(np.eye(n_classes), names)
    assert model.predict(np.zeros((2, n_classes))).tolist() == ["a", "a"]
