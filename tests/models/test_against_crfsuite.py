"""The estimator against CRFsuite, by python-crfsuite: the same features, optimum, predictions, file format."""

from __future__ import annotations

import lzma

import numpy as np
import pycrfsuite
import pytest

from examples import by_day
from loglinear import LBFGS, OWLQN, ChainCRF, ChainFeatures, ChainObjective, Corpus
from loglinear.datasets import demo_paths

N_TRAIN, N_TEST = 150, 300


def read(path, n):
    """The first n sentences of (word, tag) and their labels."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().removesuffix("\n\n").split("\n\n")[:n]
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    return [[row[0] for row in sentence] for sentence in rows], [[row[2] for row in sentence] for sentence in rows]


def attributes(words):
    """Names of each token: the word, its ends, its neighbours."""
    padded = ["^", *words, "$"]
    return [
        ["bias", f"w={word.lower()}", f"s={word[-3:]}", f"t={word[:1].isupper()}", f"<{before}", f">{after}"]
        for before, word, after in zip(padded, words, padded[2:], strict=False)
    ]


def valued(words):
    """The same as dicts, with real values."""
    return [
        {
            "bias": 1.0,
            f"w={word.lower()}": 1.0,
            f"s={word[-3:]}": 0.5,
            "length": len(word) / 8.0,
            "capital": -1.0 * word.istitle(),
        }
        for word in words
    ]


TRAIN, TRAIN_LABELS = read(demo_paths()[0], N_TRAIN)
TEST, TEST_LABELS = read(demo_paths()[1], N_TEST)


class Peer:
    """What CRFsuite makes of the data."""

    def __init__(self, X, Y, folder, **params):
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
        # Left at 0, it drops features whose values add up to less than that, as negative ones may.
        trainer.set_params({"feature.minfreq": -1e9, "epsilon": 1e-6, "delta": 1e-9, "max_iterations": 2000, **params})
        for x, y in zip(X, Y, strict=True):
            trainer.append(pycrfsuite.ItemSequence(x), y)
        path = str(folder / "peer.crfsuite")
        trainer.train(path)
        self.n_features = trainer.logparser.featgen_num_features
        self.loss = trainer.logparser.last_iteration["loss"]
        self.tagger = pycrfsuite.Tagger()
        self.tagger.open(path)

    def weights(self):
        """Weights that are not 0, by (attribute, label) and (from, to)."""
        info = self.tagger.info()
        return info.state_features, info.transitions

    def predict(self, X):
        return [self.tagger.tag(pycrfsuite.ItemSequence(x)) for x in X]


# CRFsuite's c2 is l2 / 2, its c1 is l1.
SETTINGS = {
    "l2": ({"c1": 0.0, "c2": 1.0}, {"l2": 2.0}, attributes, {}),
    "l1": ({"c1": 0.5, "c2": 0.0, "delta": 1e-6}, {"l1": 0.5}, attributes, {}),
    "elastic net": ({"c1": 0.3, "c2": 0.05, "delta": 1e-6}, {"l1": 0.3, "l2": 0.1}, attributes, {}),
    "values": ({"c1": 0.0, "c2": 0.5}, {"l2": 1.0}, valued, {}),
    "all": (
        {"c1": 0.0, "c2": 1.0, "feature.possible_states": True, "feature.possible_transitions": True},
        {"l2": 2.0},
        valued,
        {"all_states": True, "all_transitions": True},
    ),
}


def accuracy(left, right):
    pairs = [pair for each in zip(left, right, strict=True) for pair in zip(*each, strict=True)]
    return sum(a == b for a, b in pairs) / len(pairs)


# CRFsuite takes a long time with an L1 penalty; "all" has values too.
CHOSEN = by_day(SETTINGS, lambda name: name in ("l2", "all"))


@pytest.fixture(scope="module", params=CHOSEN)
def both(request, tmp_path_factory):
    """(CRFsuite's model, ours, how to form attributes)."""
    params, penalty, form, selection = SETTINGS[request.param]
    X = [form(words) for words in TRAIN]
    peer = Peer(X, TRAIN_LABELS, tmp_path_factory.mktemp("peer"), **params)
    solver = OWLQN(tolerance=1e-7) if "l1" in penalty else LBFGS(tolerance=1e-9)
    crf = ChainCRF(**penalty, **selection, solver=solver, max_iterations=2000).fit(X, TRAIN_LABELS)
    return peer, crf, form


def test_the_optima_are_equal(both):
    peer, crf, _ = both
    assert crf.result_.status.converged
    assert crf.result_.objective == pytest.approx(peer.loss, rel=1e-4)


def test_the_features_are_equal(both):
    peer, crf, form = both
    corpus = Corpus.encode([form(words) for words in TRAIN], TRAIN_LABELS)
    objective = ChainObjective(corpus, ChainFeatures(all_states=crf.all_states, all_transitions=crf.all_transitions))
    assert objective.n_features == peer.n_features


def test_the_objective_at_crfsuites_weights_is_its_loss(both):
    peer, crf, form = both
    corpus = Corpus.encode([form(words) for words in TRAIN], TRAIN_LABELS)
    objective = ChainObjective(corpus, ChainFeatures(all_states=crf.all_states, all_transitions=crf.all_transitions))
    index = np.arange(1.0, objective.n_features + 1)
    model = objective.model(index, "{}")
    states, transitions = peer.weights()
    w = np.zeros(objective.n_features)
    for *name, at in model.state_features():
        w[int(at) - 1] = states.get(tuple(name), 0.0)
    for *name, at in model.transition_features():
        w[int(at) - 1] = transitions.get(tuple(name), 0.0)
    assert np.count_nonzero(w) == sum(weight != 0.0 for each in (states, transitions) for weight in each.values())
    nll, _ = objective.value_and_gradient(w)
    settings = crf.l1, (0.0 if crf.l2 is None else crf.l2)
    value = nll + settings[0] * np.abs(w).sum() + 0.5 * settings[1] * (w @ w)
    # CRFsuite prints weights with 6 decimals.
    assert value == pytest.approx(peer.loss, rel=1e-5)


def test_the_predictions_are_equal(both):
    peer, crf, form = both
    X = [form(words) for words in TEST]
    assert accuracy(peer.predict(X), crf.predict(X)) >= 0.999
    assert crf.score(X, TEST_LABELS) > 0.6


def test_the_marginals_are_equal(both):
    peer, crf, form = both
    if crf.l1:
        pytest.skip("L1 optima need not be unique; CRFsuite stops at another point of the same objective")
    for words in TEST[:20]:
        (ours,) = crf.predict_marginals([form(words)])
        peer.tagger.set(pycrfsuite.ItemSequence(form(words)))
        for t, row in enumerate(ours):
            for label, p in row.items():
                assert p == pytest.approx(peer.tagger.marginal(label, t), abs=2e-3)


def test_the_probabilities_of_crfsuites_labellings_are_equal(both):
    peer, crf, form = both
    if crf.l1:
        pytest.skip("L1 optima need not be unique; CRFsuite stops at another point of the same objective")
    for words in TEST[:20]:
        labels = peer.tagger.tag(pycrfsuite.ItemSequence(form(words)))
        (log_p,) = crf.log_probability([form(words)], [labels])
        assert np.exp(log_p) == pytest.approx(peer.tagger.probability(labels), abs=5e-3)


# The file format.


def escaped(name):
    """As CRFsuite's reader wants it."""
    return name.replace("\\", "\\\\").replace(":", "\\:")


def write(path, X, Y):
    """CRFsuite's attribute file: a value of 1 is left out."""
    with path.open("w", encoding="utf-8") as file:
        for x, y in zip(X, Y, strict=True):
            for token, label in zip(pycrfsuite.ItemSequence(x).items(), y, strict=True):
                fields = [escaped(name) + ("" if value == 1.0 else f":{value!r}") for name, value in token.items()]
                file.write("\t".join([label, *fields]) + "\n")
            file.write("\n")


def with_colons(words):
    """Names to be escaped, nested collections, values."""
    return [
        {"w": word, "bias": 1.0, "a\\b": word[-1], "ends": {word[-2:], "x:" + word[:1]}, "length": len(word) / 8.0}
        for word in words
    ]


@pytest.mark.parametrize("form", [attributes, valued, with_colons])
def test_an_attribute_file_has_the_features_crfsuite_counts(form, tmp_path):
    X = [form(words) for words in TRAIN]
    write(tmp_path / "train.txt", X, TRAIN_LABELS)
    from_file = ChainObjective(Corpus.read(tmp_path / "train.txt", format="crfsuite"))
    from_python = ChainObjective(Corpus.encode(X, TRAIN_LABELS))
    assert from_file.n_features == Peer(X, TRAIN_LABELS, tmp_path, max_iterations=1).n_features
    assert from_file.feature_counts == from_python.feature_counts


@pytest.mark.parametrize("form", [attributes, valued, with_colons])
def test_an_attribute_file_is_the_same_data_as_the_python_objects(form, tmp_path):
    X = [form(words) for words in TRAIN[:60]]
    write(tmp_path / "train.txt", X, TRAIN_LABELS[:60])
    corpus = Corpus.read(tmp_path / "train.txt", format="crfsuite")
    assert corpus.gold() == TRAIN_LABELS[:60]
    crf = ChainCRF().fit(X, TRAIN_LABELS[:60])
    read_back = ChainCRF().fit(corpus)
    assert read_back.state_features_ == pytest.approx(crf.state_features_, abs=1e-6)
    assert read_back.transition_features_ == pytest.approx(crf.transition_features_, abs=1e-6)


def test_dicts_have_the_names_and_values_python_crfsuite_gives_them(tmp_path):
    token = {
        "s": "text",
        "n": 2,
        "x": -0.5,
        "yes": True,
        "no": False,
        "set": {"a", "b"},
        "list": ["c"],
        "in": {"k": "v", "d": {"e": 3.0}},
        "é:\\": "ü",
    }
    (items,) = pycrfsuite.ItemSequence([token]).items()
    objective = ChainObjective(
        Corpus.encode([[token]], [["A"]], sample_weight=[1.0]), ChainFeatures(all_transitions=False)
    )
    names = {name for name, _, _ in objective.model(np.ones(objective.n_features), "{}").state_features()}
    assert names == set(items)
    # The score of the only labelling is the sum of the values.
    model = objective.model(np.arange(1.0, 1.0 + objective.n_features), "{}")
    ((log_z, log_p),) = model.log_partition(Corpus.encode([[token]], [["A"]]).core)
    assert log_z + log_p == pytest.approx(sum(items[name] * weight for name, _, weight in model.state_features()))
