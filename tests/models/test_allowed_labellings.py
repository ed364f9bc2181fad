"""Chains under constraints and with partly known labels: against enumeration of the labellings that are allowed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, ElasticNet, Problem, minimize
from loglinear.errors import DataError, OptionError
from loglinear.metrics import chunks
from loglinear.minimize import Stop
from loglinear.solvers import SOLVERS, make_solver
from loglinear.solvers.common.needs import check
from oracles.allowed import forbidden_pairs

LABELS = ["O", "B", "I"]
ATTRIBUTES = ["a", "b", "c"]
EDGE = None


def labellings(length, forbidden):
    """All labellings in which no pair is forbidden."""
    for labelling in itertools.product(LABELS, repeat=length):
        if not any(pair in forbidden for pair in itertools.pairwise([EDGE, *labelling, EDGE])):
            yield labelling


def agrees(labelling, known):
    return all(
        k is None or label == k or (isinstance(k, frozenset) and label in k)
        for label, k in zip(labelling, known, strict=True)
    )


def log_sum_exp(values):
    values = list(values)
    return max(values) + math.log(math.fsum(math.exp(v - max(values)) for v in values))


def brute_force(objective, X, y, weights, w, forbidden):
    """The sum over sentences of weight (log Z of what is allowed - log Z of what agrees with y)."""
    named = {
        (each.attribute, *each.labels): weight
        for each, weight in zip(objective.feature_names(np.arange(len(w))), w, strict=True)
    }

    def score(sentence, labelling):
        states = (named.get((a, label), 0.0) for token, label in zip(sentence, labelling, strict=True) for a in token)
        pairs = (named.get((None, *pair), 0.0) for pair in itertools.pairwise(labelling))
        triples = (named.get((None, *labelling[t : t + 3]), 0.0) for t in range(len(labelling) - 2))
        return math.fsum([*states, *pairs, *triples])

    total = 0.0
    for sentence, known, weight in zip(X, y, weights, strict=True):
        allowed = list(labellings(len(sentence), forbidden))
        agreeing = [labelling for labelling in allowed if agrees(labelling, known)]
        total += weight * (
            log_sum_exp(score(sentence, each) for each in allowed)
            - log_sum_exp(score(sentence, each) for each in agreeing)
        )
    return total


@st.composite
def problems(draw, most=4):
    """Sentences with labels that are known, partly known or not known, and that the constraints leave possible."""
    forbidden = set(draw(st.sampled_from([[], [("O", "I"), (EDGE, "I")], [("B", "B"), ("I", EDGE)], [("I", "O")]])))
    X, y = [[["a"], ["b", "c"], ["c"]]], [["B", "I", "O"] if ("I", "O") not in forbidden else ["O", "B", "I"]]
    for _ in range(draw(st.integers(1, most))):
        length = draw(st.integers(1, 4))
        sentence = [draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=2)) for _ in range(length)]
        allowed = list(labellings(length, forbidden))
        true = draw(st.sampled_from(allowed))
        kinds = [draw(st.sampled_from(["known", "known", "set", "unknown"])) for _ in range(length)]
        other = [draw(st.sampled_from(LABELS)) for _ in range(length)]
        known = [
            {"known": t, "set": frozenset({t, o}), "unknown": None}[kind]
            for t, o, kind in zip(true, other, kinds, strict=True)
        ]
        X.append(sentence)
        y.append([next(iter(k)) if isinstance(k, frozenset) and len(k) == 1 else k for k in known])
    weights = draw(st.lists(st.sampled_from([1.0, 0.5, 2.0, 0.0]), min_size=len(X), max_size=len(X)))
    return X, y, weights, forbidden, draw(st.sampled_from([1, 2])), draw(st.integers(0, 2**16))


def made(problem):
    X, y, weights, forbidden, order, seed = problem
    corpus = Corpus.encode(X, y, sample_weight=weights)
    features = ChainFeatures(
        order=order, all_states=True, all_transitions=True, constraints=sorted(forbidden, key=str) or None
    )
    objective = ChainObjective(corpus, features, threads=1)
    return objective, np.random.default_rng(seed).normal(size=objective.n_features)


@given(problem=problems())
def test_the_value_is_that_of_enumeration_and_the_gradient_its_slope(problem):
    X, y, weights, forbidden, *_ = problem
    objective, w = made(problem)
    value, gradient = objective.value_and_gradient(w)
    assert value == pytest.approx(brute_force(objective, X, y, weights, w, forbidden), abs=1e-9)
    for j in range(0, len(w), 5):
        step = np.zeros_like(w)
        step[j] = 1e-5
        slope = (objective.value_and_gradient(w + step)[0] - objective.value_and_gradient(w - step)[0]) / 2e-5
        assert gradient[j] == pytest.approx(slope, abs=1e-7)


@given(problem=problems())
def test_large_weights_are_right_as_well(problem):
    X, y, weights, forbidden, *_ = problem
    objective, w = made(problem)
    value, _ = objective.value_and_gradient(300 * w)
    assert value == pytest.approx(brute_force(objective, X, y, weights, 300 * w, forbidden), rel=1e-9, abs=1e-7)


def data(partial, constraints):
    """A small problem whose tags follow BIO."""
    rng = np.random.default_rng(5)
    X, y = [], []
    for _ in range(12):
        labels, before = [], "O"
        for _ in range(int(rng.integers(1, 7))):
            before = str(rng.choice([each for each in LABELS if each != "I" or before != "O"]))
            labels.append(before)
        X.append([[f"is={label}" if rng.random() < 0.7 else "is=?", f"r={rng.integers(3)}"] for label in labels])
        hidden = {"O": None, "B": frozenset({"B", "I"}), "I": "I"}
        y.append([hidden[label] if partial and rng.random() < 0.4 else label for label in labels])
    features = ChainFeatures(all_states=True, all_transitions=True, constraints=constraints)
    return ChainObjective(Corpus.encode(X, y), features, threads=1)


SUITED = [name for name in SOLVERS if name not in ("dual_cd", "iis", "parameter_mixing", "prox_newton")]


CONVEX_ONLY = {"sag", "asg", "pegasos", "label_sets"}


def raced(name, objective):
    """Where a solver ends between the start and the optimum of a batch solver: 0 is the optimum, 1 the start."""
    takes_l1 = "no_l1" not in {each.__name__ for each in SOLVERS[name].needs.conditions}
    problem = Problem(objective, ElasticNet(l1=0.2 if takes_l1 else 0.0, l2=0.3))
    found = minimize(problem, make_solver(name), stop=Stop(max_iterations=400))
    solver = make_solver("owlqn" if takes_l1 else "lbfgs", tolerance=1e-12)
    best = minimize(problem, solver, stop=Stop(max_iterations=2000))
    start = found.trace[0].objective
    return (found.objective - best.objective) / (start - best.objective)


@pytest.mark.parametrize("name", SUITED)
def test_every_solver_learns_under_constraints(name):
    assert -1e-6 < raced(name, data(partial=False, constraints="BIO")) < 0.1


@pytest.mark.parametrize("name", SUITED)
def test_solvers_that_need_no_convexity_learn_from_partly_known_labels(name):
    objective = data(partial=True, constraints=None)
    assert objective.is_partial
    if name in CONVEX_ONLY:
        with pytest.raises(OptionError, match="needs a convex objective, but partial labels"):
            check(make_solver(name), Problem(objective, ElasticNet(l2=0.3)))
    else:
        assert -0.1 < raced(name, objective) < 0.1


def test_wholly_unlabelled_sentences_contribute_nothing():
    X, y = [[["a"], ["b"]], [["b"], ["a"], ["a"]]], [["B", "O"], [None, None, None]]
    with_it, without = ChainObjective(Corpus.encode(X, y)), ChainObjective(Corpus.encode(X[:1], y[:1]))
    assert (with_it.n_unknown, without.n_unknown, with_it.is_partial) == (1, 0, False)
    w = np.linspace(-1.0, 1.0, with_it.n_features)
    assert with_it.value_and_gradient(w)[0] == without.value_and_gradient(w)[0]


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (["O", "I"], r"sentence 1, token 1: the constraints forbid I after O"),
        (["I", "I"], r"sentence 1, token 0: the constraints forbid I at the start of a sentence"),
        (["O", frozenset({"I"})], r"sentence 1, token 1: the constraints forbid I after O"),
        ([frozenset({"I", "O"}), "I", "O"][:2], None),
    ],
)
def test_labels_that_the_constraints_forbid_are_named(labels, what):
    X, y = [[["a"], ["b"]], [["a"], ["b"]]], [["B", "I"], labels]
    if what is None:
        what = r"sentence 1: the constraints forbid every label sequence that its partial labels allow"
    with pytest.raises(DataError, match=what):
        ChainCRF(constraints="BIO").fit(X, y)
    with pytest.raises(DataError, match=r"forbid B at the end of a sentence"):
        ChainCRF(constraints=[("B", None)]).fit(X, [["I", "B"], ["B", "I"]])


def random_crf(scheme, seed, **options):
    labels = {"BIO": ["O", "B-X", "I-X", "B-Y", "I-Y"], "IOBES": ["O", "B-X", "I-X", "E-X", "S-X"]}[scheme]
    rng = np.random.default_rng(seed)
    valid = {"BIO": ["B-X", "I-X", "O", "B-Y", "I-Y"], "IOBES": ["B-X", "I-X", "E-X", "S-X", "O"]}[scheme]
    X = [[[f"a{rng.integers(4)}"] for _ in valid] for _ in range(3)]
    assert set(valid) == set(labels)
    crf = ChainCRF(constraints=scheme, all_states=True, max_iterations=3, l2=1e-3, **options)
    with pytest.warns(match="not finished|iterations"):
        crf.fit(X, [valid] * 3)
    return crf


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scheme", ["BIO", "IOBES"])
def test_answers_respect_the_constraints_and_a_file_keeps_them(scheme, order, tmp_path):
    crf = random_crf(scheme, 1, order=order)
    rng = np.random.default_rng(2)
    X = [[[f"a{rng.integers(5)}"] for _ in range(rng.integers(1, 9))] for _ in range(200)]
    crf.save(tmp_path / "m")
    loaded = ChainCRF.load(tmp_path / "m")
    assert loaded.constraints == scheme
    strict = {"BIO": "IOB2"}.get(scheme, scheme)
    for model in (crf, loaded):
        predicted = model.predict(X)
        assert np.isfinite(model.log_probability(X, predicted)).all()
        for labels in predicted:
            inside = sum(end - start for _, start, end in chunks(labels, strict, mode="strict"))
            assert inside == sum(label != "O" for label in labels)
    free = ChainCRF.load(tmp_path / "m").set_params(constraints=None)
    assert (free.log_partition(X) >= loaded.log_partition(X)).all()
    assert (free.log_partition(X) > loaded.log_partition(X)).any()
    assert np.concatenate(loaded.marginals(X)).sum(axis=1) == pytest.approx(1.0)


def test_a_sentence_in_which_every_labelling_is_forbidden_has_no_labels():
    forbidden = [("A", "A"), ("B", "A"), ("B", "B")]
    crf = ChainCRF(constraints=forbidden).fit([[["a"], ["b"]]], [["A", "B"]])
    X = [[["a"]] * 3, [["a"], ["b"]]]
    assert crf.predict(X) == [[None, None, None], ["A", "B"]]
    assert crf.log_partition(X)[0] == -np.inf
    assert not np.isnan(crf.marginals(X)[0]).any()


def test_what_a_training_cannot_use_is_said():
    X = [[["a"], ["b"]], [["a"]], [["b"]]]
    with pytest.warns(UserWarning, match="2 of 3 sentences have no known label and are ignored") as caught:
        ChainCRF().fit(X, [["O", "B"], [None], [None]])
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="constraints='auto': the labels do not follow a tagging scheme"):
        ChainCRF(constraints="auto").fit(X[:1], [["DET", "NOUN"]])


N_MODELS = [3, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n_models", N_MODELS)
def test_no_random_model_gives_an_invalid_span(n_models):
    """With 200 models 10^6 sentences."""
    rng = np.random.default_rng(n_models)
    for seed in range(n_models):
        scheme = ("BIO", "IOBES")[seed % 2]
        crf = random_crf(scheme, seed, order=1 + seed // 2 % 2)
        labels = list(crf.classes_)
        forbidden = np.zeros((len(labels) + 1, len(labels) + 1), dtype=bool)
        for before, after in forbidden_pairs(scheme, labels):
            forbidden[len(labels) if before is None else before, len(labels) if after is None else after] = True
        X = [[[f"a{a}"] for a in rng.integers(6, size=length)] for length in rng.integers(1, 8, size=5000)]
        numbers = {label: number for number, label in enumerate(labels)}
        edge = len(labels)
        predicted = [[edge, *map(numbers.__getitem__, sentence), edge] for sentence in crf.predict(X)]
        ids = np.array(list(itertools.chain(*predicted)))
        pairs = forbidden[ids[:-1], ids[1:]]
        # Two edges in a row are the end of a sentence and the start of the next.
        assert not pairs[(ids[:-1] != edge) | (ids[1:] != edge)].any()


@pytest.mark.parametrize(("partial", "constraints"), [(True, "BIO"), (True, None), (False, "BIO")])
def test_parts_of_an_objective_allow_what_the_whole_allows(partial, constraints):
    objective = data(partial=partial, constraints=constraints)
    n, rng = objective.n_features, np.random.default_rng(3)
    w = rng.normal(size=n)
    value, gradient = objective.value_and_gradient(w)
    halves = [objective.batch(np.arange(start, objective.n_samples, 2), 1.0).value_and_gradient(w) for start in (0, 1)]
    assert sum(half[0] for half in halves) == pytest.approx(value)
    assert sum(half[1] for half in halves) == pytest.approx(gradient)
    kept = np.arange(0, n, 2)
    alone = np.zeros(n)
    alone[kept] = w[kept]
    whole, part = objective.value_and_gradient(alone), objective.restrict(kept).value_and_gradient(w[kept])
    assert part[0] == pytest.approx(whole[0])
    assert part[1] == pytest.approx(whole[1][kept])
    some = [0, 3, 5]
    sample, batch = objective.sample(some), objective.batch(some, 1.0)
    assert sample.value_and_gradient(np.zeros(sample.n_features))[0] == pytest.approx(
        batch.value_and_gradient(np.zeros(n))[0]
    )
    clusters = np.minimum(np.arange(n), n - 2)
    merged = objective.aggregate(clusters, n - 1)
    assert merged is not None
    assert merged.value_and_gradient(w[:-1])[0] == pytest.approx(objective.value_and_gradient(w[clusters])[0])


def test_auto_stays_what_training_found():
    X, y = [[["a"], ["b"]], [["b"], ["b"]]], [["I-X", "B-X"], ["I-X", "O"]]
    crf = ChainCRF(constraints="auto").fit(X, y)
    assert (crf.log_probability(X, y) > -np.inf).all()
    assert crf.log_probability([[["a"], ["b"]]], [["O", "B-X"]]) == -np.inf
