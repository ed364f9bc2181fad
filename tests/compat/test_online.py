"""Online learners against plain implementations of their equations, and against CRFsuite by python-crfsuite."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainFeatures, ChainObjective, Corpus
from loglinear.compat.pycrfsuite._online import AROW, LEARNERS, AveragedPerceptron, PassiveAggressive, train_online
from loglinear.datasets import data_dir
from loglinear.errors import ObjectiveError, OptionError
from loglinear.metrics import evaluate
from loglinear.solvers.common.per_sample import visiting
from oracles.samples import sentences

LAWS = examples(40)
TEMPLATE = "U0:%x[0,0]\nU1:%x[0,1]\nB1:%x[0,1]\nB\n"


class Oracle:
    """Features of labellings by their definition, and the best labelling by enumeration."""

    def __init__(self, X, y, *, template=False, weights=None, **features):
        self.y, self.weights = y, weights or [1.0] * len(X)
        columns = [[tuple(token[:2]) for token in sentence] for sentence in X] if template else X
        corpus = Corpus.encode(columns, y, template=TEMPLATE if template else None, sample_weight=weights)
        self.objective = ChainObjective(corpus, ChainFeatures(**features))
        names = self.objective.feature_names(range(self.objective.n_features))
        self.number = {(name.attribute, *name.labels): number for number, name in enumerate(names)}
        self.labels = corpus.labels
        if template:
            self.tokens = [[([(f"U0:{a}", 1.0), (f"U1:{b}", 1.0)], [f"B1:{b}"]) for a, b in each] for each in columns]
        else:
            pairs = lambda token: token.items() if isinstance(token, dict) else [(name, 1.0) for name in token]  # noqa: E731
            self.tokens = [[(list(pairs(token)), []) for token in sentence] for sentence in X]

    def features(self, sentence, labels):
        """f(x, y)."""
        f = np.zeros(self.objective.n_features)
        for t, ((states, bigrams), label) in enumerate(zip(self.tokens[sentence], labels, strict=True)):
            met = [(name, (label,), value) for name, value in states]
            if t:
                pair = (labels[t - 1], label)
                met += [(None, pair, 1.0), *((name, pair, 1.0) for name in bigrams)]
            for name, of, value in met:
                if (name, *of) in self.number:
                    f[self.number[(name, *of)]] += value
        return f

    def best(self, sentence, w):
        """The labels of the best score; of several the first, compared from the last token on."""
        candidates = itertools.product(self.labels, repeat=len(self.y[sentence]))
        scored = [(round(float(w @ self.features(sentence, labels)), 9), labels) for labels in candidates]
        most = max(score for score, _ in scored)
        backwards = lambda labels: [self.labels.index(label) for label in labels[::-1]]  # noqa: E731
        return list(min((labels for score, labels in scored if score == most), key=backwards))

    def mistakes(self, order, w):
        """Sentences in order, each with its number of wrong labels at w() and Delta, which is None without any."""
        for sentence in order:
            wrong = self.best(sentence, w()) if self.y[sentence] else []
            d = sum(a != b for a, b in zip(wrong, self.y[sentence], strict=True))
            delta = self.features(sentence, self.y[sentence]) - self.features(sentence, wrong) if d else None
            yield sentence, d, delta


def trained(oracle, learner, epochs, seed):
    """The weights and losses of every epoch."""
    made = []
    w = train_online(oracle.objective, learner, callback=lambda epoch: made.append(epoch) and None, seed=seed)
    assert w.tobytes() == made[-1].w.tobytes()
    return [(epoch.w, epoch.loss) for epoch in made][:epochs]


def expected(oracle, answer, epochs, seed, variance=1.0):
    """Last iterate, average and loss after every epoch, by the definition of the average."""
    variances = np.full(oracle.objective.n_features, variance)
    iterates, made = [np.zeros_like(variances)], []
    for number in range(epochs):
        total = 0.0
        order = visiting(seed, number, len(oracle.y))
        for sentence, d, delta in oracle.mistakes(order, lambda: iterates[-1]):
            if d:
                change, loss = answer(d, len(oracle.y[sentence]), iterates[-1], delta, variances)
                change, loss = oracle.weights[sentence] * change, oracle.weights[sentence] * loss
                total += loss
            iterates.append(iterates[-1] + change if d else iterates[-1])
        made.append((iterates[-1], np.mean(iterates, axis=0), total))
    return made


def tiny(seed, kind):
    """Few short sentences: the oracle enumerates their labellings."""
    X, y = sentences(9, seed, valued=kind == "valued")
    X, y = [x[:4] for x in X], [labels[:4] for labels in y]
    weights = [float(w) for w in np.random.default_rng(seed).choice([1.0, 2.0, 0.5], 9)] if kind == "weighted" else None
    return Oracle(X, y, template=kind == "template", weights=weights, all_states=kind == "all")


CASES = dict(seed=st.integers(0, 10_000), kind=st.sampled_from(["plain", "valued", "template", "weighted", "all"]))


@LAWS
@given(**CASES)
def test_the_perceptron_adds_the_difference_of_features_and_averages_all_iterates(seed, kind):
    oracle = tiny(seed, kind)

    def answer(d, length, w, delta, variances):
        return delta, d / length

    made = trained(oracle, AveragedPerceptron(max_iterations=3), 3, seed)
    for (w, loss), (_, average, total) in zip(made, expected(oracle, answer, 3, seed), strict=True):
        np.testing.assert_allclose(w, average, rtol=1e-9, atol=1e-11)
        assert loss == pytest.approx(total)


@LAWS
@given(**CASES, type=st.sampled_from([0, 1, 2]), sensitive=st.booleans(), averaging=st.booleans())
def test_passive_aggressive_updates_are_as_long_as_the_paper_says(seed, kind, type, sensitive, averaging):
    oracle, c = tiny(seed, kind), 0.3

    def answer(d, length, w, delta, variances):
        loss, squared = -w @ delta + (math.sqrt(d) if sensitive else 1.0), delta @ delta
        if not squared:
            return delta, loss
        tau = {0: loss / squared, 1: min(c, loss / squared), 2: loss / (squared + 0.5 / c)}[type]
        if type == 0:  # the true labels then win by the cost: no loss is left
            assert -(w + tau * delta) @ delta + loss + w @ delta == pytest.approx(0.0, abs=1e-9)
        return tau * delta, loss

    learner = PassiveAggressive(type=type, c=c, error_sensitive=sensitive, averaging=averaging, max_iterations=3)
    made = trained(oracle, learner, 3, seed)
    for (w, loss), (last, average, total) in zip(made, expected(oracle, answer, 3, seed), strict=True):
        np.testing.assert_allclose(w, average if averaging else last, rtol=1e-8, atol=1e-10)
        assert loss == pytest.approx(total)


@LAWS
@given(**CASES, variance=st.sampled_from([1.0, 0.2]), gamma=st.sampled_from([1.0, 3.0]))
def test_arow_follows_its_formula_and_its_variances_shrink_where_features_differ(seed, kind, variance, gamma):
    oracle = tiny(seed, kind)
    touched = np.zeros(oracle.objective.n_features, bool)
    kept = np.array([])

    def answer(d, length, w, delta, variances):
        nonlocal kept
        loss = -w @ delta + d
        alpha = loss / (delta @ (variances * delta) + gamma)
        change = alpha * variances * delta
        variances[:] = 1.0 / (1.0 / variances + delta**2 / gamma)
        np.logical_or(touched, delta != 0.0, out=touched)
        kept = variances.copy()
        return change, loss

    epochs = expected(oracle, answer, 2, seed, variance)
    w, variances = np.zeros(len(touched)), np.full(len(touched), variance)
    passes = oracle.objective.per_sample()
    for number, (last, _, total) in enumerate(epochs):
        visits = visiting(seed, number, len(oracle.y))
        assert passes.arow_pass(w, variances, visits=visits, gamma=gamma) == pytest.approx(total)
        np.testing.assert_allclose(w, last, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(variances < variance, touched)
    if kept.size:
        np.testing.assert_allclose(variances, kept, rtol=1e-9)
    made = trained(oracle, AROW(variance=variance, gamma=gamma, max_iterations=2), 2, seed)
    np.testing.assert_allclose(made[-1][0], epochs[len(made) - 1][0], rtol=1e-8, atol=1e-10)


ALL = [AveragedPerceptron(), *(PassiveAggressive(type=type) for type in (0, 1, 2)), AROW()]


def separable(n=80, seed=5):
    """Sentences whose labels follow from their words, but for the last one, which has the label of the word before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(0, 12, rng.integers(1, 9))
        X.append([[f"w{word}", f"p{word % 2}"] for word in words] + [["end"]])
        y.append([*("ABC"[word % 3] for word in words), "ABC"[words[-1] % 3]])
    return X, y


@pytest.mark.parametrize("learner", ALL, ids=lambda learner: f"{type(learner).__name__} {getattr(learner, 'type', '')}")
def test_separable_sentences_are_learnt_without_mistakes(learner):
    objective = ChainObjective(Corpus.encode(*separable()))
    losses = []
    w = train_online(objective, learner, callback=lambda epoch: losses.append(epoch.loss))
    assert losses[0] > 0.0
    assert losses[-1] == 0.0
    assert objective.model(w).predict(objective.corpus.core) == objective.corpus.true_labels()


def test_training_ends_at_epsilon_at_the_last_epoch_and_at_the_word_of_the_callback():
    objective = ChainObjective(Corpus.encode(*separable()))
    epochs = []
    train_online(objective, AROW(), callback=epochs.append)
    assert [epoch.converged for epoch in epochs] == [False] * (len(epochs) - 1) + [True]
    assert [epoch.iteration for epoch in epochs] == list(range(1, len(epochs) + 1))
    loss = epochs[0].loss / objective.n_samples
    assert AROW(epsilon=loss).has_converged(loss)
    assert not AveragedPerceptron(epsilon=loss).has_converged(loss)
    assert AveragedPerceptron(epsilon=loss * 1.01).has_converged(loss)
    w = train_online(objective, AROW(), callback=lambda epoch: epoch.iteration == 2)
    assert w.tobytes() == epochs[1].w.tobytes() == train_online(objective, AROW(max_iterations=2)).tobytes()
    assert not train_online(objective, AROW(max_iterations=0)).any()
    assert epochs[1].active_features == np.count_nonzero(w)
    assert epochs[1].feature_norm == pytest.approx(np.linalg.norm(w))


@pytest.mark.parametrize(
    ("learner", "option"),
    [
        (AveragedPerceptron, {"max_iterations": -1}),
        (AveragedPerceptron, {"epsilon": -0.1}),
        (PassiveAggressive, {"type": 3}),
        (PassiveAggressive, {"c": 0.0}),
        (PassiveAggressive, {"error_sensitive": 2}),
        (PassiveAggressive, {"averaging": "yes"}),
        (AROW, {"variance": 0.0}),
        (AROW, {"gamma": float("nan")}),
    ],
)
def test_an_option_out_of_its_range_is_refused_by_name(learner, option):
    with pytest.raises(OptionError, match=next(iter(option))):
        learner(**option)


def test_what_cannot_be_learnt_is_refused():
    X, y = sentences(12, 0)
    with pytest.raises(OptionError, match="order"):
        train_online(ChainObjective(Corpus.encode(X, y), ChainFeatures(order=2)), AROW())
    partly = [[None if t else label for t, label in enumerate(labels)] for labels in y]
    with pytest.raises(OptionError, match="partial labels"):
        train_online(ChainObjective(Corpus.encode(X, partly)), AROW())
    huge = [[{"a": 1e200, "b": 1e200 * t} for t, _ in enumerate(labels)] for labels in y]
    with pytest.raises(ObjectiveError, match="overflowed"):
        train_online(ChainObjective(Corpus.encode(huge, y)), AveragedPerceptron())


@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(name):
    X, y = sentences(40, 3)
    learner = LEARNERS[name](max_iterations=4)
    train = lambda threads, seed: train_online(ChainObjective(Corpus.encode(X, y), threads=threads), learner, seed=seed)  # noqa: E731
    assert train(1, 0).tobytes() == train(2, 0).tobytes()
    assert train(1, 0).tobytes() != train(1, 1).tobytes()


def in_columns(path, n):
    """The first n sentences of a file of columns: the words with their tags, and the labels."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")[:n]
    rows = [[line.split(" ") for line in block.split("\n")] for block in blocks]
    return [[row[:-1] for row in sentence] for sentence in rows], [[row[-1] for row in sentence] for sentence in rows]


def windows(sentence):
    """Attributes of each token: words and tags around it."""
    padded = [("", ""), ("", ""), *sentence, ("", ""), ("", "")]
    around = [padded[t : t + 5] for t in range(len(sentence))]
    return [
        [
            *(f"w{at}={word}" for at, (word, _) in enumerate(each)),
            *(f"t{at}={tag}" for at, (_, tag) in enumerate(each)),
            *(f"t{at}{at + 1}={each[at][1]} {each[at + 1][1]}" for at in range(4)),
            f"w12={each[1][0]} {each[2][0]}",
        ]
        for each in around
    ]


def crfsuite(algorithm, X, Y, folder, **options):
    """The tagger that CRFsuite makes, and the loss of each epoch."""
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    trainer.set_params(options)
    for x, y in zip(X, Y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(x), y)
    trainer.train(str(folder / "peer.crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "peer.crfsuite"))
    return tagger, [epoch["loss"] for epoch in trainer.logparser.iterations]


RIVALS = {
    "ap": ("averaged-perceptron", {}, {}),
    "pa": ("passive-aggressive", {}, {}),
    "pa 0": ("passive-aggressive", {"type": 0}, {"type": 0}),
    "pa 2": ("passive-aggressive", {"type": 2, "c": 0.1, "averaging": False}, {"type": 2, "c": 0.1, "averaging": 0}),
    "arow": ("arow", {}, {}),
    "arow 3": ("arow", {"gamma": 3.0, "variance": 0.5}, {"gamma": 3.0, "variance": 0.5}),
}


@pytest.mark.parametrize("rival", RIVALS)
def test_the_weights_of_one_long_sentence_whose_order_is_no_matter_are_crfsuites(rival, tmp_path):
    rng = np.random.default_rng(2)
    X = [[{f"a{i}": float(rng.choice([1.0, 0.5, 2.0])) for i in rng.integers(0, 9, 3)} for _ in range(30)]]
    # The most frequent label is the first to occur, and so on: ties go to the same label in both programs.
    y = [["A", "B", "C", *map(str, rng.permutation(list("A" * 13 + "B" * 9 + "C" * 5)))]]
    name, options, peers = RIVALS[rival]
    theirs, losses = crfsuite(name, X, y, tmp_path, max_iterations=12, **peers)
    objective = ChainObjective(Corpus.encode(X, y))
    ours = []
    w = train_online(objective, LEARNERS[name](max_iterations=12, **options), callback=lambda e: ours.append(e.loss))
    info = theirs.info()
    assert objective.corpus.labels == theirs.labels()
    names = objective.feature_names(range(objective.n_features))
    weights = [info.state_features.get((f.attribute, *f.labels), 0.0) for f in names if f.attribute]
    weights = [info.transitions.get(f.labels, 0.0) for f in names if not f.attribute] + weights
    np.testing.assert_allclose(w, weights, atol=2e-6)
    np.testing.assert_allclose(ours, losses, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rival", list(RIVALS)[:5])
def test_f1_on_conll2000_is_crfsuites(rival, tmp_path):
    folder = data_dir() / "conll2000"
    (train, labels), (test, truth) = in_columns(folder / "train.txt", 1000), in_columns(folder / "test.txt", 500)
    X, X_test = [windows(sentence) for sentence in train], [windows(sentence) for sentence in test]
    name, options, peers = RIVALS[rival]
    theirs, _ = crfsuite(name, X, labels, tmp_path, max_iterations=30, **peers)
    objective = ChainObjective(Corpus.encode(X, labels))
    corpus = Corpus.encode(X_test, truth)
    scores = []
    for seed in range(3):
        model = objective.model(train_online(objective, LEARNERS[name](max_iterations=30, **options), seed=seed))
        scores.append(evaluate(truth, model.predict(corpus.core)).f1)
    peer = evaluate(truth, [theirs.tag(x) for x in X_test]).f1
    assert np.mean(scores) == pytest.approx(peer, abs=0.01)
