"""The objective against enumeration, finite differences and the definition of its features."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import ChainFeatures, ChainObjective, Corpus, ElasticNet, Problem, Stop, minimize
from loglinear.errors import DataError, OptionError
from loglinear.models.files.chain import weighted_features
from loglinear.problem import Objective, PerSample, Restrictable, Threaded
from loglinear.protocols import missing
from loglinear.solvers import LBFGS, SAG, SG, AdaGrad
from loglinear.solvers.common.projection import Aggregatable, Clusterable
from loglinear.solvers.hybrid import Batched
from oracles.chain_enumeration import Chain, Sentence, Token, named_features, selected_features

ATTRIBUTES = ["a", "b", "c", "d:e", "é", ""]
VALUES = st.sampled_from([1.0, 1.0, -1.0, 0.5, -2.25, 3.0, 0.0])
WEIGHTS = st.sampled_from([1.0, 1.0, 2.0, 0.0, 0.3])
LAWS = examples(300, suppress_health_check=[HealthCheck.too_slow])
FEW = examples(60, suppress_health_check=[HealthCheck.too_slow])

# A line of a template, and the same in Python: what it gives for token t of a sentence of (word, tag).
CELLS = {
    "0:%x[0,0]": lambda s, t: f"0:{cell(s, t, 0)}",
    "1:%x[-1,0]/%x[0,1]": lambda s, t: f"1:{cell(s, t - 1, 0)}/{cell(s, t, 1)}",
    "2:%x[+2,1]": lambda s, t: f"2:{cell(s, t + 2, 1)}",
    "3:%X[0,0]%x[@1,1]": lambda s, t: f"3:{cell(s, t, 0).lower()}{cell(s, 0, 1)}",
    "4:%t[0,1,\"^p\"]": lambda s, t: f"4:{str(cell(s, t, 1).startswith('p')).lower()}",
}  # fmt: skip


def cell(sentence, t, column):
    """The cell, or CRF++'s padding beyond the ends."""
    if t < 0:
        return f"_B{t}"
    return sentence[t][column] if t < len(sentence) else f"_B+{t - len(sentence) + 1}"


@dataclass
class Data:
    """Sentences for the oracle, and the same as a corpus."""

    sentences: list[Sentence]
    corpus: Corpus
    transitions: bool = True


@st.composite
def labellings(draw, lengths):
    """Labels for sentences of these lengths."""
    labels = st.sampled_from(["A", "B", "Ω"][: draw(st.integers(1, 3))])
    return [tuple(draw(labels) for _ in range(length)) for length in lengths]


@st.composite
def shapes(draw):
    """Sentence lengths (an empty sentence among them at times), labels, weights, repetitions."""
    lengths = draw(st.lists(st.sampled_from([1, 2, 3, 4, 0]), min_size=1, max_size=4).filter(any))
    weights = [draw(WEIGHTS) for _ in lengths] if draw(st.booleans()) else [1.0] * len(lengths)
    # Attributes on many tokens are kept in another layout.
    return lengths, draw(labellings(lengths)), weights, draw(st.sampled_from([1, 1, 9]))


@st.composite
def attribute_data(draw):
    """Attribute lists, or dicts with real values."""
    lengths, labels, weights, repeat = draw(shapes())
    names = st.sampled_from(ATTRIBUTES)
    if draw(st.booleans()):
        token = st.lists(names, max_size=4)
    else:
        token = st.dictionaries(names, VALUES, max_size=4)
    X = [[draw(token) for _ in range(length)] for length in lengths]
    tokens = [
        [Token(list(x.items()) if isinstance(x, dict) else [(name, 1.0) for name in x]) for x in sentence]
        for sentence in X
    ]
    sentences = [Sentence(*each) for each in zip(tokens, labels, weights, strict=True)] * repeat
    return Data(sentences, Corpus.encode(X * repeat, labels * repeat, sample_weight=weights * repeat))


@st.composite
def template_data(draw):
    """Columns, and a template of U, B and * lines with or without a line for transitions."""
    lengths, labels, weights, repeat = draw(shapes())
    cells = st.tuples(st.sampled_from(["x", "Y", "zz"]), st.sampled_from(["p", "q"]))
    X = [[draw(cells) for _ in range(length)] for length in lengths]
    # A line may come twice: then its attribute is there twice.
    kinds = st.tuples(st.sampled_from("UuB*"), st.sampled_from(list(CELLS)))
    lines = draw(st.lists(kinds, min_size=1, max_size=5))
    transitions = draw(st.booleans())
    template = "\n".join(kind + cells for kind, cells in lines) + ("\nB  # transitions\n" if transitions else "\n")
    sentences = []
    for x, gold, weight in zip(X, labels, weights, strict=True):
        tokens = []
        for t in range(len(x)):
            names = [(kind, kind + CELLS[cells](x, t)) for kind, cells in lines]
            states = [(name, 1.0) for kind, name in names if kind != "B"]
            tokens.append(Token(states, [name for kind, name in names if kind in "B*" and t > 0]))
        sentences.append(Sentence(tokens, gold, weight))
    corpus = Corpus.encode(X * repeat, labels * repeat, template=template, sample_weight=weights * repeat)
    return Data(sentences * repeat, corpus, transitions)


DATA = st.one_of(attribute_data(), template_data())
OPTIONS = st.fixed_dictionaries(
    {
        "all_states": st.booleans(),
        "all_transitions": st.booleans(),
        "min_count": st.sampled_from([1, 1, 2, 10]),
        "order": st.sampled_from([1, 2]),
    }
)
SEEDS = st.integers(0, 2**32 - 1)


def has_repeats(data):
    """Whether an attribute is twice on a token; see test_min_count_counts_tokens for what that does to counts."""
    tokens = [token for sentence in data.sentences for token in sentence.tokens]
    lists = [[name for name, _ in token.states] for token in tokens] + [token.bigrams for token in tokens]
    return any(len(set(names)) < len(names) for names in lists)


def objective_of(data, **options):
    """The objective; data that yield no feature are of no interest."""
    assume(options.get("min_count", 1) == 1 or not has_repeats(data))
    wanted = selected_features(data.sentences, transitions=data.transitions, **options)
    assume(wanted)
    return ChainObjective(data.corpus, ChainFeatures(**options))


def distinct_weights(n, seed, scale=2.0):
    """Weights that differ from one another and from 0, some in (0, scale], some negative."""
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], n) * scale * (1.0 + rng.permutation(n)) / n


def names_of(objective, w):
    """{feature: its index}, found by the weights."""
    index = {weight: at for at, weight in enumerate(w.tolist())}
    assert len(index) == len(w)
    return {name: index[weight] for name, weight in named_features(objective.model(w, "{}")).items()}


def enumerated(data, objective, w):
    """Value and gradient by enumeration, the gradient in the order of the weights."""
    names = names_of(objective, w)
    assert len(names) == objective.n_features
    chain = Chain(data.corpus.labels, {name: w[at] for name, at in names.items()})
    value, by_name = chain.value_and_gradient(data.sentences)
    gradient = np.zeros_like(w)
    for name, at in names.items():
        gradient[at] = by_name[name]
    return value, gradient


@LAWS
@given(data=DATA, options=OPTIONS, seed=SEEDS)
def test_value_and_gradient_are_those_of_enumeration(data, options, seed):
    objective = objective_of(data, **options)
    w = distinct_weights(objective.n_features, seed)
    value, gradient = objective.value_and_gradient(w)
    oracle_value, oracle_gradient = enumerated(data, objective, w)
    assert value == pytest.approx(oracle_value, rel=1e-11, abs=1e-10)
    np.testing.assert_allclose(gradient, oracle_gradient, rtol=1e-10, atol=1e-10)


@LAWS
@given(data=DATA, options=OPTIONS, seed=SEEDS)
def test_gradient_is_the_central_difference_of_the_value(data, options, seed):
    objective = objective_of(data, **options)
    w = distinct_weights(objective.n_features, seed)
    _, gradient = objective.value_and_gradient(w)
    step = 1e-5
    for at in np.random.default_rng(seed).permutation(len(w))[:12]:
        e = np.zeros_like(w)
        e[at] = step
        slope = (objective.value_and_gradient(w + e)[0] - objective.value_and_gradient(w - e)[0]) / (2.0 * step)
        assert gradient[at] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@LAWS
@given(data=DATA, options=OPTIONS)
def test_features_are_those_of_the_definition(data, options):
    assume(options["min_count"] == 1 or not has_repeats(data))
    wanted = selected_features(data.sentences, transitions=data.transitions, **options)
    if not wanted:
        with pytest.raises(DataError, match="no features"):
            ChainObjective(data.corpus, ChainFeatures(**options))
        return
    objective = ChainObjective(data.corpus, ChainFeatures(**options))
    assert set(names_of(objective, distinct_weights(objective.n_features, 0))) == wanted
    kinds = [name[0] for name in wanted]
    assert objective.feature_counts == tuple(kinds.count(kind) for kind in ("transition", "triple", "bigram", "state"))
    assert objective.n_features == sum(objective.feature_counts)
    assert objective.n_samples == len(data.sentences)


@LAWS
@given(data=DATA, order=st.sampled_from([1, 2]), seed=SEEDS, mixed=st.booleans())
def test_extreme_weights_give_the_values_of_enumeration(data, order, seed, mixed):
    objective = objective_of(data, all_states=False, order=order)
    w = distinct_weights(objective.n_features, seed, scale=1e4)
    if mixed:
        w[::2] *= 1e-4
    value, gradient = objective.value_and_gradient(w)
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()
    oracle_value, oracle_gradient = enumerated(data, objective, w)
    assert value == pytest.approx(oracle_value, rel=1e-9, abs=1e-6)
    np.testing.assert_allclose(gradient, oracle_gradient, rtol=1e-7, atol=1e-7)


@LAWS
@given(
    data=DATA,
    options=OPTIONS,
    seed=SEEDS,
    states=st.sampled_from([30.0, 300.0, 3000.0]),
    links=st.sampled_from([1, 64, 512]),
)
def test_large_weights_give_the_values_of_enumeration(data, options, seed, states, links):
    objective = objective_of(data, **options)
    w = distinct_weights(objective.n_features, seed, scale=states)
    n_links = sum(objective.feature_counts[:2])
    w[:n_links] *= links / states
    w = np.round(64.0 * w) / 64.0
    assume(len(set(w.tolist()) - {0.0}) == len(w))  # features are told apart by their weights
    value, gradient = objective.value_and_gradient(w)
    oracle_value, oracle_gradient = enumerated(data, objective, w)
    assert value == pytest.approx(oracle_value, rel=1e-11, abs=1e-10)
    np.testing.assert_allclose(gradient, oracle_gradient, rtol=1e-10, atol=1e-10)


@FEW
@given(data=DATA, seed=SEEDS, bad=st.sampled_from([math.inf, -math.inf, math.nan]))
def test_a_weight_that_is_not_finite_gives_an_infinite_value(data, seed, bad):
    objective = objective_of(data)
    w = distinct_weights(objective.n_features, seed)
    w[seed % len(w)] = bad
    assert objective.value_and_gradient(w)[0] == math.inf
    with pytest.raises(DataError, match="finite"):
        objective.model(w, "{}")


@FEW
@given(data=DATA, options=OPTIONS, seed=SEEDS)
def test_threads_do_not_change_a_bit(data, options, seed):
    first = objective_of(data, **options)
    w = distinct_weights(first.n_features, seed)
    value, gradient = first.value_and_gradient(w)
    for threads in (1, 2, 3):
        objective = ChainObjective(data.corpus, ChainFeatures(**options), threads=threads)
        assert objective.n_threads == threads
        other_value, other_gradient = objective.value_and_gradient(w)
        assert (other_value, other_gradient.tobytes()) == (value, gradient.tobytes())


@FEW
@given(data=DATA, seed=SEEDS)
def test_a_second_evaluation_and_one_in_place_give_the_same_bits(data, seed):
    objective = objective_of(data)
    w = distinct_weights(objective.n_features, seed)
    value, gradient = objective.value_and_gradient(w)
    objective.value_and_gradient(-w)
    out = np.full_like(w, np.nan)
    again, written = objective.value_and_gradient(w, out=out)
    assert written is out
    assert (again, out.tobytes()) == (value, gradient.tobytes())


# By day, half of the cells: any two of the three choices in all combinations.
@pytest.mark.parametrize(
    ("order", "repetition", "valued"),
    by_day(
        itertools.product([1, 2], ["rounds", "runs"], [False, True]),
        lambda cell: (cell[0] == 1) ^ (cell[1] == "rounds") ^ cell[2],
    ),
)
def test_a_sentence_many_times_in_many_blocks_is_the_sentence_with_that_weight(order, repetition, valued):
    # 20 labels: attributes with many labels and with few, and with "runs" attributes that are in one block only.
    rng = np.random.default_rng(7)
    n, times, length = 60, 260, 8
    labels = [[f"L{label:02d}" for label in rng.integers(0, 20, length)] for _ in range(n)]
    tokens = [
        [
            [f"common{rng.integers(3)}", *(f"rare{k}" for k in rng.choice(400, 7, replace=False)), f"s{s}", f"{s}:{t}"]
            for t in range(length)
        ]
        for s in range(n)
    ]
    if valued:
        tokens = [[dict(zip(t, rng.normal(size=len(t)).tolist(), strict=True)) for t in each] for each in tokens]
    base = Corpus.encode(tokens, labels)
    repeated = base[np.tile(np.arange(n), times) if repetition == "rounds" else np.repeat(np.arange(n), times)]
    occurrences = n * times * length * 10
    assert occurrences > 1_200_000
    assert repeated.core.n_tokens == n * times * length
    weighted = ChainObjective(
        Corpus.encode(tokens, labels, sample_weight=[float(times)] * n), ChainFeatures(order=order)
    )
    w = distinct_weights(weighted.n_features, 3)
    value, gradient = weighted.value_and_gradient(w)
    place = names_of(weighted, w)
    results = []
    for threads in (1, 2, 3):
        objective = ChainObjective(repeated, ChainFeatures(order=order), threads=threads)
        assert objective.feature_counts == weighted.feature_counts
        place_repeated = names_of(objective, w)
        assert place_repeated.keys() == place.keys()
        v = np.empty_like(w)
        mine, theirs = [place_repeated[name] for name in place], list(place.values())
        v[mine] = w[theirs]
        results.append(objective.value_and_gradient(v))
        assert results[-1][0] == pytest.approx(value, rel=1e-11)
        np.testing.assert_allclose(results[-1][1][mine], gradient[theirs], rtol=1e-9, atol=1e-8)
    assert len({(value, gradient.tobytes()) for value, gradient in results}) == 1


def many_labels(n_labels, valued):
    """Sentences of attributes that are seen with the first few labels, with many or with all; some recur on a token."""
    rng = np.random.default_rng(n_labels)
    labels = [f"L{k:02}" for k in range(n_labels)]
    reach = {f"a{most}{k}": most for most in {2, 8, 9, 17, 25, n_labels} for k in range(3) if most <= n_labels}
    y = [np.minimum(rng.geometric(2.0 / n_labels, length) - 1, n_labels - 1) for length in rng.integers(1, 40, 120)]
    tokens = []
    for label in np.concatenate(y):
        seen = [name for name, most in reach.items() if label < most and rng.random() < 0.7]
        seen += [f"rare{rng.integers(200)}", *seen[:1]]
        tokens.append({name: rng.normal() for name in seen} if valued else seen)
    ends = np.cumsum([len(sentence) for sentence in y])
    X = [tokens[end - len(sentence) : end] for sentence, end in zip(y, ends, strict=True)]
    return X, [[labels[k] for k in sentence] for sentence in y]


@pytest.mark.parametrize("valued", [False, True])
@pytest.mark.parametrize("n_labels", [3, 8, 12, 20, 30, 45])
def test_many_labels_and_some_of_the_features_give_what_softmax_gives(n_labels, valued):
    """Without weights of transitions the tokens are independent."""
    X, y = many_labels(n_labels, valued)
    corpus = Corpus.encode(X, y)
    objective = ChainObjective(corpus)
    w = distinct_weights(objective.n_features, 5)
    names = names_of(objective, w)
    w[[at for name, at in names.items() if name[0] == "transition"]] = 0.0
    states = {name: at for name, at in names.items() if name[0] == "state"}
    place = {label: k for k, label in enumerate(corpus.labels)}
    columns = {name: k for k, name in enumerate(sorted({attribute for _, attribute, _ in states}))}
    table = np.full((len(columns), len(place)), -1)
    for (_, attribute, label), at in states.items():
        table[columns[attribute], place[label]] = at
    x = np.zeros((corpus.core.n_tokens, len(columns)))
    for row, token in zip(x, (token for sentence in X for token in sentence), strict=True):
        for name, value in token.items() if valued else ((name, 1.0) for name in token):
            row[columns[name]] += value
    gold = np.array([place[label] for sentence in y for label in sentence])
    for kept in (np.arange(w.size), np.flatnonzero(np.random.default_rng(1).random(w.size) < 0.3)):
        masked = np.zeros(w.size + 1)
        masked[kept] = w[kept]
        scores = x @ masked[table]
        log_p = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
        residual = np.exp(log_p)
        residual[np.arange(gold.size), gold] -= 1.0
        expected = np.zeros(w.size)
        expected[table[table >= 0]] = (x.T @ residual)[table >= 0]
        value, gradient = objective.restrict(kept).value_and_gradient(w[kept])
        assert value == pytest.approx(-log_p[np.arange(gold.size), gold].sum(), rel=1e-12)
        is_state = np.isin(kept, list(states.values()))
        np.testing.assert_allclose(gradient[is_state], expected[kept[is_state]], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("n_labels", "all_transitions"), [(40, True), (200, False), (500, False)])
def test_bigram_features_of_weight_zero_change_nothing_with_many_labels(n_labels, all_transitions):
    """Sentences with bigram features go through inference one by one, others side by side."""
    rng = np.random.default_rng(n_labels)
    labels = [[f"y{y}" for y in rng.integers(0, n_labels, length)] for length in (1, 2, 9, 30, 31, 60, 80, 1, 400)]
    columns = [[(f"w{rng.integers(30)}",) for _ in sentence] for sentence in labels]
    features = ChainFeatures(all_transitions=all_transitions)
    together, alone = (
        ChainObjective(Corpus.encode(columns, labels, template=template), features)
        for template in ("U:%x[0,0]\nB\n", "U:%x[0,0]\nB\nB:%x[0,0]\n")
    )
    n_pairs, _, n_bigrams, n_states = alone.feature_counts
    assert together.feature_counts == (n_pairs, 0, 0, n_states)
    assert n_bigrams > 0
    w = rng.normal(size=together.n_features)
    value, gradient = together.value_and_gradient(w)
    value_alone, gradient_alone = alone.value_and_gradient(np.insert(w, n_pairs, np.zeros(n_bigrams)))
    assert value == pytest.approx(value_alone, rel=1e-12)
    np.testing.assert_allclose(gradient, np.delete(gradient_alone, slice(n_pairs, n_pairs + n_bigrams)), atol=1e-10)


@pytest.mark.parametrize("n_labels", by_day([3, 12, 20, 45], lambda n_labels: n_labels in (3, 20)))
def test_stochastic_methods_come_to_the_optimum_of_many_labels(n_labels):
    problem = Problem(ChainObjective(Corpus.encode(*many_labels(n_labels, valued=False))), ElasticNet(l2=5.0))
    best = minimize(problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-7)).objective
    for solver, within in ((SAG(), 1e-5), (AdaGrad(), 0.03), (SG(), 0.03)):
        found = minimize(problem, solver, stop=Stop(max_passes=60))
        assert found.objective == pytest.approx(best, rel=within)


def test_labels_are_ordered_by_how_often_they_occur():
    X, y = [[["a"]] * 4, [["a"]] * 2], [list("CBBA"), ["A", "Ä"]]
    assert Corpus.encode(X, y).labels == ["A", "B", "C", "Ä"]
    assert Corpus.encode(X, y, sample_weight=[1.0, 9.0]).labels == ["A", "B", "C", "Ä"]


X = [[["a", "b"], ["c"]], [["a"], ["c"], ["b"]], [["b"], ["d"]]]
Y = [["N", "V"], ["N", "V", "N"], ["V", "D"]]


def evaluate(X, Y, w, **weights):
    return ChainObjective(Corpus.encode(X, Y, **weights)).value_and_gradient(w)


def test_weight_two_is_the_sentence_twice():
    w = distinct_weights(ChainObjective(Corpus.encode(X, Y)).n_features, 1)
    value, gradient = evaluate(X, Y, w, sample_weight=[2.0, 2.0, 1.0])
    other_value, other_gradient = evaluate([*X, *X[:2]], [*Y, *Y[:2]], w)
    assert value == pytest.approx(other_value, rel=1e-13)
    np.testing.assert_allclose(gradient, other_gradient, rtol=1e-13, atol=1e-14)


def test_a_sentence_of_weight_zero_does_not_count():
    objective = ChainObjective(Corpus.encode(X, Y, sample_weight=[1.0, 1.0, 0.0]))
    w = distinct_weights(objective.n_features, 2)
    names = names_of(objective, w)
    value, gradient = objective.value_and_gradient(w)
    sentences = [
        Sentence([Token([(name, 1.0) for name in token]) for token in x], tuple(y)) for x, y in zip(X, Y, strict=True)
    ]
    # Its labels remain possible: they are among the model's.
    chain = Chain(["D", "N", "V"], {name: w[at] for name, at in names.items()})
    assert value == pytest.approx(chain.value_and_gradient(sentences[:2])[0], rel=1e-13)
    assert gradient[names["state", "d", "D"]] == 0.0


def test_all_weights_zero_give_zero():
    objective = ChainObjective(Corpus.encode(X, Y, sample_weight=[0.0] * 3))
    value, gradient = objective.value_and_gradient(distinct_weights(objective.n_features, 2))
    assert value == 0.0
    assert not gradient.any()


@pytest.mark.parametrize(("left", "right"), [(["a", "a"], {"a": 2.0}), (["a", "b", "a", "a"], {"b": 1, "a": 3})])
def test_duplicates_of_an_attribute_on_a_token_add(left, right):
    results = []
    for token in (left, right):
        objective = ChainObjective(Corpus.encode([[["b"], token, ["a"]]], [["N", "V", "N"]]))
        order = dict(sorted(names_of(objective, distinct_weights(objective.n_features, 0)).items()))
        w = np.empty(len(order))
        w[list(order.values())] = distinct_weights(len(order), 4)
        value, gradient = objective.value_and_gradient(w)
        results.append((value, *gradient[list(order.values())]))
    assert results[0] == pytest.approx(results[1], rel=1e-13)


@pytest.mark.parametrize(("min_count", "kept"), [(1, "abcd"), (2, "abc"), (3, "b"), (4, "")])
def test_min_count_leaves_out_attributes_on_fewer_tokens(min_count, kept):
    objective = ChainObjective(Corpus.encode(X, Y), ChainFeatures(min_count=min_count))
    names = names_of(objective, distinct_weights(objective.n_features, 0))
    assert {name[1] for name in names if name[0] == "state"} == set(kept)
    assert sum(name[0] == "transition" for name in names) == 3


def test_min_count_counts_tokens():
    # "a" is on one token, twice; "b" is on two tokens.
    objective = ChainObjective(Corpus.encode([[["a", "a", "b"], ["b"]]], [["N", "V"]]), ChainFeatures(min_count=2))
    names = names_of(objective, distinct_weights(objective.n_features, 0))
    assert {name[1] for name in names if name[0] == "state"} == {"b"}


def test_a_template_without_a_line_for_transitions_has_none():
    for options in ({}, {"all_transitions": True}, {"all_transitions": True, "order": 2}):
        corpus = Corpus.encode([["x", "y", "x"]], [["A", "B", "A"]], template="U:%x[0,0]\n")
        assert ChainObjective(corpus, ChainFeatures(**options)).feature_counts == (0, 0, 0, 2)


def test_arrays_of_the_wrong_size_kind_or_layout_are_refused():
    objective = ChainObjective(Corpus.encode(X, Y))
    n = objective.n_features
    for w, out in [
        (np.zeros(n + 1), None),
        (np.zeros(n), np.zeros(n - 1)),
        (np.zeros(2 * n)[::2], None),
        (np.zeros(n), np.zeros(2 * n)[::2]),
    ]:
        with pytest.raises(OptionError):
            objective.value_and_gradient(w, out=out)
    with pytest.raises(TypeError):
        objective.value_and_gradient(np.zeros(n, dtype=np.float32))
    frozen = np.zeros(n)
    frozen.flags.writeable = False
    with pytest.raises(OptionError):
        objective.value_and_gradient(np.zeros(n), out=frozen)
    same = np.ones(n)
    with pytest.raises(OptionError):
        objective.value_and_gradient(same, out=same)


def test_unlabelled_data_are_refused():
    with pytest.raises(DataError, match="labelled"):
        ChainObjective(Corpus.encode(X))


NAMED = Corpus.encode(
    [["the", "old", "dog", "barks"], ["dogs", "bark"], ["the", "dog", "saw", "the", "cat"]],
    [["D", "A", "N", "V"], ["N", "V"], ["D", "N", "V", "D", "N"]],
    template="U0:%x[0,0]\nU1:%x[-1,0]\nB2:%x[0,0]\nB\n",
)


@pytest.mark.parametrize("order", [1, 2])
def test_a_features_name_is_the_one_its_weight_has_in_a_model(order):
    chain = ChainObjective(NAMED, ChainFeatures(order=order))
    every = chain.feature_names(range(chain.n_features))
    assert len(set(every)) == chain.n_features
    for number, feature in enumerate(every):
        w = np.zeros(chain.n_features)
        w[number] = 1.5
        assert dict(weighted_features(chain.model(w))) == {feature: 1.5}
    some = np.random.default_rng(0).permutation(chain.n_features)[:9]
    assert chain.feature_names(some) == [every[number] for number in some]
    assert chain.feature_names([]) == []


def test_names_come_in_the_order_of_the_kinds_of_features():
    chain = ChainObjective(NAMED, ChainFeatures(order=2))
    every = chain.feature_names(range(chain.n_features))
    shapes = [(name.attribute is not None, len(name.labels)) for name in every]
    counts = chain.feature_counts
    kinds = [((False, 2), counts.transitions), ((False, 3), counts.triples), ((True, 2), counts.bigrams)]
    assert shapes == [kind for kind, count in [*kinds, ((True, 1), counts.states)] for _ in range(count)]
    assert min(counts) > 0


def test_a_restricted_objective_names_the_features_it_has():
    chain = ChainObjective(NAMED, ChainFeatures(order=2))
    kept = np.sort(np.random.default_rng(1).permutation(chain.n_features)[:15])
    assert chain.restrict(kept).feature_names(range(15)) == chain.feature_names(kept)


@pytest.mark.parametrize("numbers", [[-1], [0, 10**6]])
def test_a_number_of_no_feature_has_no_name(numbers):
    with pytest.raises(OptionError, match="feature numbers must be at least 0"):
        ChainObjective(NAMED).feature_names(numbers)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("all_states", 1),
        ("all_transitions", "yes"),
        ("min_count", 0),
        ("min_count", 2**32),
        ("order", 3),
        ("order", True),
    ],
)
def test_options_of_features_are_checked_where_they_are_given(option, value):
    with pytest.raises(OptionError, match=f"^{option}="):
        ChainFeatures(**{option: value})


def test_parts_of_an_objective_keep_what_it_says_of_itself():
    chain = ChainObjective(NAMED, ChainFeatures(all_states=True), threads=1)
    for part in (chain.restrict([0, 3]), chain.sample([1]), chain.batch([0, 2], 2.0)):
        assert (part.corpus, part.features, part.n_threads) == (chain.corpus, chain.features, 1)
    assert (chain.n_samples, chain.n_unpenalised, chain.order) == (3, 0, 1)
    assert chain.clusterable == (chain.n_features - chain.feature_counts.states, chain.n_features)
    assert chain.per_sample().n_features == chain.n_features
    with pytest.raises(OptionError):
        ChainObjective(NAMED, ChainFeatures(order=2)).per_sample()


@pytest.mark.parametrize("protocol", [Objective, Threaded, Restrictable, Clusterable, Aggregatable, Batched, PerSample])
def test_a_chain_objective_has_every_ability_that_solvers_ask_for(protocol):
    assert missing(ChainObjective(NAMED), protocol) == []


def test_an_objective_over_some_features_or_sentences_has_their_number():
    objective = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]], [["a"]]], [["A", "B"], ["B"], ["A"]]))
    n = objective.n_features
    assert (objective.restrict([0, 2]).n_features, objective.restrict([0, 2]).n_samples) == (2, 3)
    assert (objective.batch([1], 2.0).n_features, objective.batch([1], 2.0).n_samples) == (n, 3)
    assert objective.sample([1]).n_samples == 1
    assert objective.sample([1]).n_features < n == objective.n_features
