"""The estimator: inference against enumeration, scikit-learn's contracts, bad input, Corpus."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from loglinear import (
    LBFGS,
    SGDL1,
    ChainCRF,
    ChainFeatures,
    ChainObjective,
    Corpus,
    ElasticNet,
    ModelFileError,
    Problem,
    Status,
)
from loglinear.data.templates import preset
from loglinear.errors import DataError, DataWarning, OptionError
from loglinear.minimize import Stop, minimize
from oracles.chain_enumeration import Chain, Sentence, Token, named_features

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB1:%x[0,1]\n*2:%x[+1,0]\nB\n"
X = [[["a", "b"], ["c"]], [["a"], ["c"], ["b"]]]
Y = [["N", "V"], ["N", "V", "N"]]


def random_columns(seed, n=24, longest=4):
    """Sentences of (word, tag) with labels that depend on them, but not wholly."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        length = rng.integers(1, longest + 1)
        X.append([(str(rng.choice(["x", "Y", "zz"])), str(rng.choice(["p", "q"]))) for _ in range(length)])
        noisy = [tag if rng.random() < 0.7 else "o" for _, tag in X[-1]]
        Y.append([f"{label}{t % 2}" if label == "p" else label for t, label in enumerate(noisy)])
    return X, Y


def expanded(sentence):
    """TEMPLATE in Python: what the tokens of a sentence of (word, tag) have."""

    def word(t):
        return sentence[t][0] if 0 <= t < len(sentence) else ("_B-1" if t < 0 else "_B+1")

    return [
        Token(
            [(f"U0:{word(t)}", 1.0), (f"U1:{word(t - 1)}/{tag}", 1.0), (f"*2:{word(t + 1)}", 1.0)],
            [f"B1:{tag}", f"*2:{word(t + 1)}"] if t else [],
        )
        for t, (_, tag) in enumerate(sentence)
    ]


def as_lists(X):
    """Attribute names, without those of transitions."""
    return [[[name for name, _ in token.states] for token in expanded(x)] for x in X]


def as_dicts(X):
    """Attributes with real values."""
    return [
        [{"w:" + word: 1.5, "tag": {"p": -1.0, "q": 0.5, "r": 2.0}[tag], "bias": True} for word, tag in x] for x in X
    ]


def of_dicts(sentence):
    (x,) = as_dicts([sentence])
    return [Token([(name, float(value)) for name, value in token.items()]) for token in x]


COLUMNS, LABELS = random_columns(0)
UNSEEN = [*random_columns(1, n=10)[0], [("new", "r"), ("x", "p")], [("new", "p")]]
UNSEEN_LABELS = [*random_columns(1, n=10)[1], ["q", "o"], ["o"]]
CASES = {
    "template": (ChainCRF(l2=0.05, template=TEMPLATE), lambda X: X, expanded),
    "l1": (ChainCRF(l1=0.3, template=TEMPLATE), lambda X: X, expanded),
    "dicts": (ChainCRF(l2=0.1), as_dicts, of_dicts),
    "second order": (ChainCRF(l2=0.05, order=2, template=TEMPLATE), lambda X: X, expanded),
    "all": (ChainCRF(l2=0.1, all_states=True, all_transitions=True), as_dicts, of_dicts),
}


@pytest.fixture(scope="module", params=CASES)
def trained(request):
    """(estimator, its input for sentences, tokens for the oracle)."""
    crf, given, tokens = CASES[request.param]
    return clone(crf).fit(given(COLUMNS), LABELS), given, tokens


@pytest.fixture(scope="module")
def crf():
    return ChainCRF(l2=0.05, template=TEMPLATE).fit(COLUMNS, LABELS)


def oracle(crf):
    return Chain(crf.classes_, named_features(crf.model_))


def weights_of(crf):
    return named_features(crf.model_)


# Inference is enumeration.


def test_log_partition_is_that_of_enumeration(trained):
    crf, given, tokens = trained
    expected = [oracle(crf).log_partition(tokens(x)) for x in UNSEEN]
    got = crf.log_partition(given(UNSEEN))
    assert got.shape == (len(UNSEEN),)
    assert got == pytest.approx(expected, rel=1e-12)


def test_log_probability_is_that_of_enumeration(trained):
    crf, given, tokens = trained
    chain = oracle(crf)
    expected = [
        chain.score(tokens(x), tuple(y)) - chain.log_partition(tokens(x))
        for x, y in zip(UNSEEN, UNSEEN_LABELS, strict=True)
    ]
    assert crf.log_probability(given(UNSEEN), UNSEEN_LABELS) == pytest.approx(expected, rel=1e-10)


def test_probabilities_of_all_labellings_sum_to_one(trained):
    crf, given, _ = trained
    for x in [x for x in UNSEEN if len(x) <= 3]:
        labellings = list(itertools.product(crf.classes_, repeat=len(x)))
        log_p = crf.log_probability(given([x] * len(labellings)), labellings)
        assert np.exp(log_p).sum() == pytest.approx(1.0, rel=1e-12)


def test_predictions_are_the_most_probable_labellings(trained):
    crf, given, tokens = trained
    for x, y in zip(UNSEEN, crf.predict(given(UNSEEN)), strict=True):
        best = oracle(crf).scores(tokens(x)).max()
        assert oracle(crf).score(tokens(x), tuple(y)) == pytest.approx(best, abs=1e-12)


def test_marginals_are_those_of_enumeration(trained):
    crf, given, tokens = trained
    for x, got in zip(UNSEEN, crf.marginals(given(UNSEEN)), strict=True):
        np.testing.assert_allclose(got, oracle(crf).marginals(tokens(x)), rtol=1e-10, atol=1e-13)


def test_transition_marginals_are_those_of_enumeration(trained):
    crf, given, tokens = trained
    for x, got in zip(UNSEEN, crf.transition_marginals(given(UNSEEN)), strict=True):
        expected = oracle(crf).marginals(tokens(x), 2)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-13)


def test_marginals_sum_to_one_and_agree_with_one_another(trained):
    crf, given, _ = trained
    all_pairs = crf.transition_marginals(given(UNSEEN))
    named = crf.predict_marginals(given(UNSEEN))
    for single, pairs, rows in zip(crf.marginals(given(UNSEEN)), all_pairs, named, strict=True):
        np.testing.assert_allclose(single.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(pairs.sum(axis=2), single[:-1], rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(pairs.sum(axis=1), single[1:], rtol=1e-9, atol=1e-13)
        assert rows == [dict(zip(crf.classes_, row, strict=True)) for row in single.tolist()]


@pytest.mark.parametrize("order", [1, 2])
def test_a_model_of_scores_beyond_scaling_infers_as_enumeration_does(order):
    corpus = Corpus.encode(COLUMNS, LABELS, template=TEMPLATE)
    objective = ChainObjective(corpus, ChainFeatures(order=order))
    w = np.random.default_rng(0).normal(size=objective.n_features) * 1e3
    model = objective.model(w, "{}")
    chain = Chain(model.labels, named_features(model))
    sentences = [expanded(x) for x in COLUMNS]
    for tokens, (log_z, log_p), y in zip(sentences, model.log_partition(corpus.core), LABELS, strict=True):
        assert log_z == pytest.approx(chain.log_partition(tokens), rel=1e-12)
        assert log_p == pytest.approx(chain.score(tokens, tuple(y)) - chain.log_partition(tokens), rel=1e-12, abs=1e-8)
    for tokens, y in zip(sentences, model.predict(corpus.core), strict=True):
        assert chain.score(tokens, tuple(y)) == pytest.approx(chain.scores(tokens).max(), rel=1e-12)


# What training reaches.


def test_a_python_objective_by_enumeration_reaches_the_same_weights():
    columns, labels = COLUMNS[:6], LABELS[:6]
    crf = ChainCRF(l2=0.5, solver=LBFGS(tolerance=0.0, gradient_tolerance=1e-7)).fit(as_dicts(columns), labels)
    sentences = [Sentence(of_dicts(x), tuple(y)) for x, y in zip(columns, labels, strict=True)]
    names = sorted(weights_of(crf))

    class Enumerated:
        n_features = len(names)
        n_samples = len(sentences)

        def value_and_gradient(self, w, out=None):
            chain = Chain(crf.classes_, dict(zip(names, w.tolist(), strict=True)))
            value, gradient = chain.value_and_gradient(sentences)
            return value, np.array([gradient[name] for name in names])

    solver = LBFGS(tolerance=0.0, gradient_tolerance=1e-7)
    result = minimize(Problem(Enumerated(), ElasticNet(l2=0.5)), solver, stop=Stop(max_iterations=200))
    assert result.status.converged
    assert result.objective == pytest.approx(crf.result_.objective, rel=1e-10)
    assert result.w == pytest.approx([weights_of(crf)[name] for name in names], abs=1e-5)


def test_l1_makes_weights_exactly_zero_and_only_the_others_are_kept():
    dense = ChainCRF(l2=0.1, template=TEMPLATE).fit(COLUMNS, LABELS)
    sparse = ChainCRF(l1=1.0, template=TEMPLATE).fit(COLUMNS, LABELS)
    kept = weights_of(sparse)
    assert 0 < len(kept) < len(weights_of(dense))
    assert all(weight != 0.0 for weight in kept.values())
    assert len(kept) == sparse.model_.n_features == sparse.result_.trace[-1].nnz
    assert set(kept) == (
        {("state", *name) for name in sparse.state_features_}
        | {("transition", *name) for name in sparse.transition_features_}
        | {("bigram", *name) for name in sparse.bigram_features_}
    )


def test_weights_are_bitwise_equal_on_any_number_of_threads():
    for options in ({"l2": 0.1}, {"l1": 0.3}):
        one, two = (ChainCRF(template=TEMPLATE, n_jobs=n, **options).fit(COLUMNS, LABELS) for n in (1, 2))
        assert weights_of(one) == weights_of(two)
        assert one.predict(UNSEEN) == two.predict(UNSEEN)
        assert [a.tobytes() for a in one.marginals(UNSEEN)] == [a.tobytes() for a in two.marginals(UNSEEN)]


def test_columns_with_a_template_are_the_attributes_it_names():
    template = TEMPLATE.replace("*", "U").replace("B1:%x[0,1]\n", "")
    raw = ChainCRF(template=template).fit(COLUMNS, LABELS)
    renamed = [[[name.replace("*", "U") for name in token] for token in x] for x in as_lists(COLUMNS)]
    formed = ChainCRF().fit(renamed, LABELS)
    assert weights_of(raw) == pytest.approx(weights_of(formed), rel=1e-9, abs=1e-9)
    assert raw.predict(COLUMNS) == formed.predict(renamed)


def test_a_preset_is_its_template():
    words = [[word for word, _ in x] for x in COLUMNS]
    assert weights_of(ChainCRF(template="ner").fit(words, LABELS)) == weights_of(
        ChainCRF(template=preset("ner")).fit(words, LABELS)
    )


def test_sample_weight_two_is_the_sentence_twice():
    weights = [2.0 if at % 3 == 0 else 1.0 for at in range(len(COLUMNS))]
    order = [at for at, weight in enumerate(weights) for _ in range(int(weight))]
    options = {"l2": 1.0, "template": TEMPLATE, "tolerance": 0.0}
    weighted = ChainCRF(**options).fit(COLUMNS, LABELS, sample_weight=weights)
    repeated = ChainCRF(**options).fit([COLUMNS[at] for at in order], [LABELS[at] for at in order])
    assert weights_of(weighted) == pytest.approx(weights_of(repeated), abs=1e-5)


def test_too_few_iterations_warn_and_leave_a_model():
    crf = ChainCRF(template=TEMPLATE, max_iterations=1)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        crf.fit(COLUMNS, LABELS)
    assert crf.result_.iterations == 1
    assert len(crf.predict(COLUMNS)) == len(COLUMNS)


def test_dev_scores_are_in_the_trace_and_a_callback_stops():
    seen = []

    def stop_at_ten(record, state):
        seen.append(record.dev)
        return record.iteration >= 10

    crf = ChainCRF(l2=1e-3, template=TEMPLATE, tolerance=0.0)
    with pytest.warns(ConvergenceWarning, match="callback"):
        crf.fit(COLUMNS, LABELS, X_dev=COLUMNS, y_dev=LABELS, callbacks=[stop_at_ten])
    assert len(seen) == 11
    assert all(seen)
    assert seen[10]["accuracy"] == pytest.approx(crf.score(COLUMNS, LABELS))


# scikit-learn.


def test_params_are_get_set_and_cloned(crf):
    other = clone(crf)
    assert other.get_params() == crf.get_params()
    assert not hasattr(other, "model_")
    assert other.set_params(l1=2.0, n_jobs=1).get_params() == {**crf.get_params(), "l1": 2.0, "n_jobs": 1}
    with pytest.raises(ValueError, match="nonsense"):
        other.set_params(nonsense=1)


@pytest.mark.parametrize("name", ["predict", "predict_marginals", "marginals", "transition_marginals", "log_partition"])
def test_an_estimator_that_is_not_fitted_says_so(name):
    with pytest.raises(NotFittedError):
        getattr(ChainCRF(), name)(X)


@pytest.mark.parametrize("name", ["state_features_", "transition_features_", "bigram_features_"])
def test_features_of_an_estimator_that_is_not_fitted_do_not_exist(name):
    with pytest.raises(NotFittedError):
        getattr(ChainCRF(), name)


def test_saving_or_scoring_an_estimator_that_is_not_fitted_says_so(tmp_path):
    for call in (
        lambda: ChainCRF().score(X, Y),
        lambda: ChainCRF().log_probability(X, Y),
        lambda: ChainCRF().save(tmp_path / "m"),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_score_is_the_share_of_right_tokens(crf):
    predicted = crf.predict(UNSEEN)
    right = [sum(map(str.__eq__, *each)) for each in zip(predicted, UNSEEN_LABELS, strict=True)]
    lengths = [len(x) for x in UNSEEN]
    assert crf.score(UNSEEN, UNSEEN_LABELS) == pytest.approx(sum(right) / sum(lengths))
    weights = np.arange(len(UNSEEN))
    expected = np.dot(right, weights) / np.dot(lengths, weights)
    assert crf.score(UNSEEN, UNSEEN_LABELS, sample_weight=weights) == pytest.approx(expected)
    assert crf.score(Corpus.encode(UNSEEN, UNSEEN_LABELS, template=TEMPLATE)) == crf.score(UNSEEN, UNSEEN_LABELS)


GRID = {"l1": [0.1, 3.0], "min_count": [1, 2]}


def search(crf, *data, n_jobs=None):
    grid = GridSearchCV(crf, GRID, cv=KFold(3), error_score="raise", n_jobs=n_jobs)
    return grid.fit(*data)


@pytest.mark.slow
def test_a_corpus_is_searched_on_threads_and_says_so_when_it_is_sent_to_a_process():
    corpus = Corpus.encode(COLUMNS, LABELS, template=TEMPLATE)
    with pytest.raises(TypeError, match=r"joblib.parallel_config\('threading'\)\), pass the sentences, or save"):
        pickle.dumps(corpus)
    with joblib.parallel_config("threading"):
        assert search(ChainCRF(), corpus, n_jobs=2).best_params_ == search(ChainCRF(), corpus).best_params_


@pytest.mark.slow
def test_grid_search_on_a_corpus_finds_what_it_finds_on_lists_and_encodes_once(monkeypatch):
    on_lists = search(ChainCRF(template=TEMPLATE), COLUMNS, LABELS)
    corpus = Corpus.encode(COLUMNS, LABELS, template=TEMPLATE)

    def encode(*args, **kwargs):
        pytest.fail("the corpus was encoded again")

    monkeypatch.setattr(Corpus, "encode", encode)
    on_corpus = search(ChainCRF(), corpus)
    assert on_corpus.best_params_ == on_lists.best_params_
    for split in range(3):
        name = f"split{split}_test_score"
        assert on_corpus.cv_results_[name] == pytest.approx(on_lists.cv_results_[name])


def test_cross_val_score_is_the_score_of_each_fold():
    scores = cross_val_score(ChainCRF(template=TEMPLATE), COLUMNS, LABELS, cv=KFold(3), error_score="raise")
    for score, (train, test) in zip(scores, KFold(3).split(COLUMNS), strict=True):
        crf = ChainCRF(template=TEMPLATE).fit([COLUMNS[at] for at in train], [LABELS[at] for at in train])
        assert score == crf.score([COLUMNS[at] for at in test], [LABELS[at] for at in test])


def test_cross_validation_splits_sample_weights():
    weights = np.linspace(0.5, 2.0, len(COLUMNS))
    scores = cross_val_score(
        ChainCRF(template=TEMPLATE),
        COLUMNS,
        LABELS,
        cv=KFold(2),
        params={"sample_weight": weights},
        error_score="raise",
    )
    assert len(scores) == 2


@pytest.mark.parametrize("option", ["min_count", "order", "max_iterations", "n_jobs"])
def test_numpy_integers_are_integers(option):
    # GridSearchCV(..., {"min_count": np.arange(1, 4)}) hands over such.
    value = {"min_count": 1, "order": 1, "max_iterations": 1000, "n_jobs": 1}[option]
    crf = ChainCRF(template=TEMPLATE, **{option: np.int64(value)}).fit(COLUMNS, LABELS)
    assert weights_of(crf) == weights_of(ChainCRF(template=TEMPLATE, **{option: value}).fit(COLUMNS, LABELS))


# Copies.


def saved_and_loaded(crf, folder):
    crf.save(folder / "model")
    return ChainCRF.load(folder / "model")


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "save and load"])
def test_a_copy_has_the_same_weights_and_predictions(crf, way, tmp_path):
    ways = {
        "pickle": lambda: pickle.loads(pickle.dumps(crf)),
        "deepcopy": lambda: copy.deepcopy(crf),
        "save and load": lambda: saved_and_loaded(crf, tmp_path),
    }
    other = ways[way]()
    assert weights_of(other) == weights_of(crf)
    assert other.classes_ == crf.classes_
    assert other.predict(UNSEEN) == crf.predict(UNSEEN)
    assert [a.tobytes() for a in other.marginals(UNSEEN)] == [a.tobytes() for a in crf.marginals(UNSEEN)]
    assert other.model_.to_bytes() == crf.model_.to_bytes()


def test_a_loaded_model_trains_again_to_the_same_weights(crf, tmp_path):
    loaded = saved_and_loaded(crf, tmp_path)
    assert not hasattr(loaded, "result_")
    assert weights_of(clone(loaded).fit(COLUMNS, LABELS)) == weights_of(crf)


def test_a_model_trained_by_a_solver_of_ones_own_is_saved_and_loaded(tmp_path):
    class Mine(LBFGS):
        pass

    crf = ChainCRF(solver=Mine(memory=3), template=TEMPLATE).fit(COLUMNS, LABELS)
    loaded = saved_and_loaded(crf, tmp_path)
    assert loaded.predict(UNSEEN) == crf.predict(UNSEEN)


def test_saving_into_no_folder_and_loading_no_model_are_errors(crf, tmp_path):
    with pytest.raises(FileNotFoundError):
        crf.save(tmp_path / "none" / "model")
    with pytest.raises(FileNotFoundError):
        ChainCRF.load(tmp_path / "none")
    (tmp_path / "junk").write_bytes(b"junk" * 10)
    with pytest.raises(ModelFileError):
        ChainCRF.load(tmp_path / "junk")


# Input.


def test_predict_gives_lists_of_lists_of_str_even_for_equal_lengths(crf):
    for given in ([COLUMNS[0]] * 3, COLUMNS):
        predicted = crf.predict(given)
        assert isinstance(predicted, list)
        assert all(type(y) is list for y in predicted)
        assert all(type(label) is str for y in predicted for label in y)
    assert all(type(label) is str for label in crf.classes_)


def test_unknown_attributes_are_ignored():
    crf = ChainCRF().fit(X, Y)
    known, with_unknown = [[["a"], []]], [[["a", "unknown"], {"other": 3.0}]]
    assert crf.predict(known) == crf.predict(with_unknown)
    assert crf.log_partition(known) == crf.log_partition(with_unknown)


def test_a_sentence_of_unknown_tokens_has_only_transitions():
    crf = ChainCRF().fit(X, Y)
    expected = Chain(crf.classes_, weights_of(crf)).log_partition([Token([]), Token([])])
    assert crf.log_partition([[["?"], ["!"]]]) == pytest.approx([expected])


def test_unknown_labels_have_probability_zero_in_their_sentence_alone():
    crf = ChainCRF().fit(X, Y)
    log_p = crf.log_probability([*X, X[0]], [["N", "unknown"], Y[1], Y[0]])
    assert log_p[0] == -math.inf
    assert log_p[1:] == pytest.approx(crf.log_probability([X[1], X[0]], [Y[1], Y[0]]), rel=1e-14)


def test_inputs_of_many_kinds_are_the_same_data():
    first = weights_of(ChainCRF().fit(X, Y))
    for given, labels in [
        (tuple(tuple(map(tuple, x)) for x in X), tuple(map(tuple, Y))),
        ((x for x in X), (y for y in Y)),
        ([[dict.fromkeys(token, 1) for token in x] for x in X], Y),
        ([[dict.fromkeys(token, True) for token in x] for x in X], [np.array(y) for y in Y]),
        ([[np.array(token) for token in x] for x in X], Y),
    ]:
        assert weights_of(ChainCRF().fit(given, labels)) == first


BAD = {
    "fewer labels than tokens": ([X[0], X[1]], [Y[0], ["N", "V"]], "sentence 1: 3 tokens but 2 labels"),
    "one label": ([X[0], X[1]], [Y[0], ["N"]], "sentence 1: 3 tokens but 1 label$"),
    "more labels than tokens": ([X[0], X[1]], [["N"] * 3, Y[1]], "sentence 0: 2 tokens but 3 labels"),
    "more sentences": ([*X, X[0]], Y, "more sentences than label sequences"),
    "more label sequences": (X, [*Y, Y[0]], "more label sequences than sentences"),
    "NaN": ([X[0], [{"a": math.nan}]], [Y[0], ["N"]], "sentence 1: token 0: attribute 'a' has the value NaN"),
    "inf": ([X[0], [["b"], {"a": -math.inf}]], [Y[0], ["N", "V"]], "sentence 1: token 1: attribute 'a' .* -inf"),
    "nested inf": ([[{"a": {"b": math.inf}}]], [["N"]], "sentence 0: token 0: .*inf"),
    "number as a token": ([X[0], [7]], [Y[0], ["N"]], "sentence 1: token 0: "),
    "number as a sentence": ([X[0], 7], [Y[0], ["N"]], "sentence 1: "),
    "number as an attribute": ([[["a", 7]]], [["N"]], "sentence 0: token 0: "),
    "None as a value": ([[{"a": None}]], [["N"]], "sentence 0: token 0: attribute 'a'"),
    "number as a key": ([[{7: 1.0}]], [["N"]], "sentence 0: token 0: "),
    "bytes": ([[[b"a"]]], [["N"]], "sentence 0: token 0: "),
    "lone surrogate": ([X[0], [["\ud800"]]], [Y[0], ["N"]], "sentence 1: .*Unicode"),
    "lone surrogate as a label": ([X[0], [["a"]]], [Y[0], ["\ud800"]], "sentence 1"),
    "str as a sentence": ([X[0], "abc"], [Y[0], ["N"] * 3], "sentence 1: .*str"),
    "str as labels": (X, ["NV", "NVN"], "labels of sentence 0: expected a sequence.* not the str 'NV'"),
    "bytes as labels": (X, [Y[0], b"NVN"], "labels of sentence 1: expected a sequence.* not the bytes b'NVN'"),
    "set as labels": (X, [Y[0], {"N", "V"}], "labels of sentence 1: expected a sequence.* not the set"),
    "frozenset as labels": (X, [frozenset(Y[0]), Y[1]], "labels of sentence 0: expected a sequence.* frozenset"),
    "dict as labels": (X, [{"N": 1, "V": 2}, Y[1]], "labels of sentence 0: expected a sequence.* not the dict"),
    "keys as labels": (X, [{"N": 1, "V": 2}.keys(), Y[1]], "labels of sentence 0: expected a sequence.* dict_keys"),
    "number as labels": (X, [1, Y[1]], "labels of sentence 0: expected a sequence.* not the int 1"),
    "None as labels": (X, [None, Y[1]], "labels of sentence 0: expected a sequence.* not None; leave out its row"),
    "labels of no order": (X, {tuple(Y[0]), tuple(Y[1])}, "labels of all sentences: expected a sequence.* set"),
    "sentence of no order": ([set("ab"), X[1]], [["N", "V"], Y[1]], "sentence 0: expected a sequence.* set"),
    "labels of two types": (X, [Y[0], [*Y[1][:-1], 3]], "sentence 1: 3 has type int, but earlier labels .* str"),
    "integers after strings": (X, [Y[0], [1, 2, 3]], "sentence 1: 1 has type int, but earlier labels .* str"),
    "strings after integers": (X, [[1, 2], Y[1]], "sentence 1: '.' has type str, but earlier labels .* int"),
    "integers and truth values": (X, [[1, 0], [True, False, 1]], "sentence 1: True has type bool, .* type int"),
    "float as a label": (X, [[0.5, 1], Y[1]], "sentence 0: 0.5 has type float; use str, int or bool"),
    "no labels": (X, None, "labelled"),
    "no sentences": ([], [], "labelled|no sentences"),
    "no tokens": ([[], []], [[], []], "labelled|no tokens"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_raise_and_name_the_sentence(name):
    given, labels, message = BAD[name]
    with pytest.raises(DataError, match=message):
        ChainCRF().fit(given, labels)


@pytest.mark.parametrize("given", [None, 7])
def test_data_that_are_no_sequence_are_refused(given):
    with pytest.raises((DataError, TypeError)):
        ChainCRF().fit(given, Y)


def test_a_token_with_too_few_columns_is_named(crf):
    with pytest.raises(DataError, match="sentence 1: token 0 has 1 of the 2 columns"):
        crf.predict([COLUMNS[0], [["x"]]])


@pytest.mark.parametrize("weights", [[1.0], [1.0] * 3, [-1.0, 1.0], [math.nan, 1.0], [math.inf, 1.0], ["a", 1.0]])
def test_bad_sample_weights_are_refused(weights):
    with pytest.raises(DataError):
        ChainCRF().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("weights", [[1.0], [1.0] * 3, [-1.0, 1.0], [math.nan, 1.0]])
def test_bad_sample_weights_of_a_score_are_refused(weights):
    with pytest.raises(DataError):
        ChainCRF().fit(X, Y).score(X, Y, sample_weight=weights)


BAD_OPTIONS = [
    *({"l1": value} for value in (-1.0, math.nan, math.inf, "a", None)),
    *({"l2": value} for value in (-1.0, math.nan, math.inf, "a")),
    *({"min_count": value} for value in (0, -1, 2**40, True, 1.5, "a", None)),
    *({"order": value} for value in (0, 3, True, 1.5, "2", None)),
    *({"max_iterations": value} for value in (-1, 1.5, "a")),
    *({"tolerance": value} for value in (-1.0, math.nan, "a")),
    *({"n_jobs": value} for value in (0, -(10**30), 1.5, True, 10**30)),
    *({"solver": value} for value in ("nonsense", 7)),
    *({"template": value} for value in ("nonsense", 7)),
    {"l1": 1.0, "solver": "lbfgs"},
    {"order": 2, "solver": "sag"},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
def test_absurd_options_are_refused(options):
    with pytest.raises(OptionError):
        ChainCRF(**options).fit(X, Y)


def test_options_are_checked_by_fit_not_by_init():
    assert ChainCRF(l1=-1.0).get_params()["l1"] == -1.0


def test_sentences_without_tokens_count_for_nothing():
    crf = ChainCRF().fit([[], *X, []], [[], *Y, []])
    assert weights_of(crf) == pytest.approx(weights_of(ChainCRF().fit(X, Y)), rel=1e-12)
    assert crf.predict([[], X[0], []]) == [[], Y[0], []]
    assert crf.log_partition([[]]) == pytest.approx([0.0])
    assert [each.shape for each in crf.marginals([[], X[0]])] == [(0, 2), (2, 2)]
    assert [each.shape for each in crf.transition_marginals([[], X[0], [["a"]]])] == [(0, 2, 2), (1, 2, 2), (0, 2, 2)]


def test_a_labelled_sentence_without_tokens_has_probability_one():
    assert ChainCRF().fit(X, Y).log_probability([[]], [[]]) == pytest.approx([0.0])


def test_no_sentences_give_no_predictions():
    crf = ChainCRF().fit(X, Y)
    assert crf.predict([]) == crf.marginals([]) == crf.transition_marginals([]) == []
    assert crf.log_partition([]).shape == (0,)


def test_one_label_is_certain():
    with pytest.warns(DataWarning, match="the data have a single label, 'N', so there is nothing to learn"):
        crf = ChainCRF().fit(X, [["N"] * len(x) for x in X])
    assert crf.predict(X) == [["N"] * len(x) for x in X]
    assert crf.log_probability(X, crf.predict(X)) == pytest.approx([0.0, 0.0], abs=1e-12)


# Corpus.


@pytest.fixture
def corpus():
    X, Y = random_columns(5, n=6)
    return Corpus.encode(X, Y, template=TEMPLATE, sample_weight=[1.0, 2.0, 3.0, 0.5, 0.0, 1.0])


@pytest.mark.parametrize(
    ("index", "chosen"),
    [
        (2, [2]),
        (-1, [5]),
        (np.int64(3), [3]),
        (slice(None), range(6)),
        (slice(1, -1), range(1, 5)),
        (slice(None, None, -2), [5, 3, 1]),
        (slice(9, 12), []),
        ([4, 0, 4, -2], [4, 0, 4, 4]),
        ((1, 2), [1, 2]),
        (range(3), [0, 1, 2]),
        (np.array([5, 1]), [5, 1]),
        (np.array([], dtype=int), []),
        ([], []),
        ([True, False, False, True, False, False], [0, 3]),
        (np.arange(6) > 3, [4, 5]),
        (np.zeros(6, dtype=bool), []),
    ],
    ids=str,
)
def test_an_index_selects_sentences_with_labels_attributes_and_weights(corpus, index, chosen):
    selected = corpus[index]
    assert isinstance(selected, Corpus)
    assert len(selected) == len(chosen) == selected.shape[0]
    gold = corpus.gold()
    assert selected.gold() == [gold[at] for at in chosen]
    assert selected.labels == corpus.labels
    assert (selected.template, selected.format) == (corpus.template, corpus.format)
    if len(chosen):
        model = ChainObjective(corpus)
        crf = ChainCRF(template=TEMPLATE).fit(corpus)
        log_p = crf.log_probability(corpus)
        assert crf.log_probability(selected) == pytest.approx(log_p[list(chosen)], rel=1e-14)
        assert model.n_samples == 6


def test_a_selection_keeps_sample_weights(corpus):
    objective = ChainObjective(corpus[[1, 3]])
    w = np.linspace(-1.0, 1.0, objective.n_features)
    one, three = (-ChainCRF(template=TEMPLATE).fit(corpus).log_probability(corpus[[at]])[0] for at in (1, 3))
    assert math.isfinite(one + three)
    value, _ = objective.value_and_gradient(w)
    log_p = [log_p for _, log_p in objective.model(w, "{}").log_partition(corpus[[1, 3]].core)]
    assert value == pytest.approx(-2.0 * log_p[0] - 0.5 * log_p[1])


@pytest.mark.parametrize("index", [6, -7, [0, 6], [-7], np.array([6])], ids=str)
def test_an_index_out_of_range_is_an_error(corpus, index):
    with pytest.raises(IndexError, match="6 sentences"):
        corpus[index]


@pytest.mark.parametrize("mask", [[True], [True] * 7, [False] * 5, np.ones(7, dtype=bool)], ids=str)
def test_a_mask_of_another_length_is_an_error(corpus, mask):
    with pytest.raises(IndexError):
        corpus[mask]


def test_a_corpus_iterates_over_its_sentences(corpus):
    assert [sentence.gold() for sentence in corpus] == [[gold] for gold in corpus.gold()]


def test_a_corpus_gives_what_lists_give():
    corpus = Corpus.encode(COLUMNS, LABELS, template=TEMPLATE)
    on_corpus, on_lists = ChainCRF().fit(corpus), ChainCRF(template=TEMPLATE).fit(COLUMNS, LABELS)
    assert weights_of(on_corpus) == weights_of(on_lists)
    assert on_corpus.predict(corpus) == on_lists.predict(COLUMNS)
    # The model knows its template.
    assert on_corpus.predict(UNSEEN) == on_lists.predict(UNSEEN)


def test_labels_or_weights_beside_a_corpus_are_refused(corpus):
    with pytest.raises(DataError, match="labels"):
        ChainCRF().fit(corpus, LABELS)
    with pytest.raises(DataError, match="weights"):
        ChainCRF().fit(corpus, sample_weight=[1.0] * 6)


def test_a_corpus_without_labels_predicts_but_does_not_train(crf):
    unlabelled = Corpus.encode(UNSEEN, template=TEMPLATE)
    assert unlabelled.labels == []
    assert crf.predict(unlabelled) == crf.predict(UNSEEN)
    for call in (unlabelled.gold, lambda: ChainCRF().fit(unlabelled), lambda: crf.log_probability(unlabelled)):
        with pytest.raises(DataError, match="label"):
            call()
    with pytest.raises(DataError, match="label"):
        crf.score(unlabelled)


def test_the_size_of_a_corpus_is_in_its_repr():
    assert repr(Corpus.encode(X, Y)) == "<Corpus of 2 sentences, 5 tokens, 3 attributes, 2 labels>"


def test_odd_solver_options_are_saved_or_refused_by_name(tmp_path):
    X, y = [[["a"], ["b"]], [["b"], ["a"]]] * 3, [["A", "B"], ["B", "A"]] * 3
    crf = ChainCRF(l1=0.1, solver="sgd_l1", solver_options={"passes": np.int64(2)}, random_state=np.int64(3)).fit(X, y)
    crf.save(tmp_path / "m")
    loaded = ChainCRF.load(tmp_path / "m")
    assert (loaded.solver, loaded.solver_options, loaded.random_state) == ("sgd_l1", {"passes": 2}, 3)
    ChainCRF(l1=0.1, solver=SGDL1(passes=2)).fit(X, y).save(tmp_path / "m")
    assert ChainCRF.load(tmp_path / "m").fit(X, y).result_.status is Status.PASSES_MADE
    for options in ({"solver_options": "abc"}, {"random_state": "x"}, {"solver_options": {"speed": 1}}):
        with pytest.raises(OptionError, match=r"solver_options|random_state=|speed"):
            ChainCRF(l1=0.1, **{"solver": "sgd_l1"} | options).fit(X, y)


def test_scores_have_names():
    X, y = [["a"], ["b"]], ["A", "B"]
    crf = ChainCRF(l2=0.1).fit([X], [y])
    assert crf.score([X], [y], metric="sentence_accuracy") == 1.0
    with pytest.raises(OptionError, match="metric='accurate'"):
        crf.score([X], [y], metric="accurate")


def test_chunks_are_scored_but_not_with_weights():
    X, y = [["a"], ["b"], ["c"]], ["B-X", "I-X", "O"]
    crf = ChainCRF(l2=0.01).fit([X], [y])
    assert crf.score([X], [y], metric="f1") == 1.0
    with pytest.raises(OptionError, match="does not support sample_weight"):
        crf.score([X], [y], [1.0], metric="f1")


def test_a_column_of_values_is_wrong_as_sentences_before_it_is_as_labels():
    with pytest.raises(DataError, match=r"^sentence 0: expected a sequence, such as a list, not the int 1"):
        ChainCRF(template="pos").fit([1, 2], [1, 2])
    with pytest.raises(DataError, match=r"^sentence 0: .* not the str 'a'; put a single sentence into a list"):
        ChainCRF(template="pos").fit(np.array(["a"]).tolist(), np.array(["A"]))
