"""Priors together with costs, weights of samples, and soft and partial labels: enumeration, SciPy, optimality."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from examples import by_day
from loglinear import ChainCRF, Corpus, MaxEnt
from loglinear.data.parts import ListedPart
from loglinear.models.training.chain import train_chain
from loglinear.models.training.options import SolverOptions
from loglinear.models.training.prior import ChainPrior
from loglinear.models.training.start import Start
from loglinear.objectives.chain import ChainFeatures, ChainObjective
from loglinear.objectives.older import OlderChain
from loglinear.objectives.parts import ChainParts
from loglinear.objectives.prior import from_prior
from oracles.chain_enumeration import Chain, Token, log_sum_exp, named_features

TIGHT = {"solver_options": {"tolerance": 0.0, "gradient_tolerance": 1e-9}}
# The older model alone has D, the new data alone have E.
OLD = (
    [[["a"], ["b"], ["c"]], [["d"]], [["b"], ["a"]], [["a", "d"], ["c"]]],
    [["A", "B", "C"], ["D"], ["B", "A"], ["D", "A"]],
)
X = [[["a"], ["b"]], [["c"], ["a"], ["e"]], [["b"]], [["e"], ["c"]], [["a", "b"], ["c"], ["b"]], [["c"]]]
KNOWN = [["A", "B"], ["C", "A", "E"], ["B"], ["E", "A"], ["A", "C", "A"], ["C"]]
PARTIAL = [["A", {"A", "B"}], ["C", None, "E"], ["B"], [{"E", "C"}, "A"], ["A", "C", "A"], [None]]
SOFT = [["A", {"A": 0.3, "B": 0.7}], ["C", "A", {"E": 1.0}], ["B"], [{"E": 0.5, "C": 0.25, "A": 0.25}, "A"]]
LABELS = {"known": KNOWN, "partial": PARTIAL, "soft": [*SOFT, ["A", "C", "A"], ["C"]]}
LABELS["soft and partial"] = [*SOFT, ["A", {"B", "C"}, None], ["C"]]
SENTENCES = [1.0, 2.0, 0.5, 1.0, 1.0, 0.0]
TOKENS = [[0.5, 2.0], None, [0.0], [3.0, 1.0], [1.0, 0.25, 1.5], [1.0]]
NAMED = {"A": 2.0, "B": 0.0, "D": 0.5, "E": 3.0}
COSTS = {
    "class_weight": (NAMED, None),
    "balanced": ("balanced", None),
    "token_weight": (None, TOKENS),
    "both": (NAMED, TOKENS),
}
CASES = [(kind, costs) for kind in LABELS for costs in COSTS if costs != "balanced" or kind == "known"]


def by_label(class_weight, y):
    """The class weight of each label, by its definition."""
    if class_weight != "balanced":
        return class_weight
    labels = [label for row in y for label in row]
    return {label: len(labels) / (len({*labels}) * labels.count(label)) for label in labels}


def prices(label, base, factor, names):
    """The cost of each label at a token, by its definition."""
    if label is None:
        return dict.fromkeys(names, 0.0)
    if isinstance(label, set):
        mean = np.mean([factor.get(name, 1.0) for name in label])
        return {name: 0.0 if name in label else base * mean for name in names}
    q = label if isinstance(label, dict) else {label: 1.0}
    return {name: base * sum(q[j] * factor.get(j, 1.0) for j in q if j != name) for name in names}


def nll(chain, y, class_weight, token_weight):
    """The softmax margin by enumeration of all labellings."""
    factor, value = by_label(class_weight, y) or {}, 0.0
    for at, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        costs = token_weight[at] if token_weight else None
        base = costs or [0.0 if class_weight is None else 1.0] * len(tokens)
        table = [prices(label, b, factor, chain.labels) for label, b in zip(labels, base, strict=True)]
        labellings = chain.labellings(len(tokens))
        scores = chain.scores([Token([(name, 1.0) for name in token]) for token in tokens])
        paid = [sum(row[k] for row, k in zip(table, path, strict=True)) for path in labellings]
        shares = np.array([[share(label, k) for label, k in zip(labels, path, strict=True)] for path in labellings])
        q = shares.prod(axis=1)
        if any(isinstance(label, dict) for label in labels):
            right = q @ scores
        else:
            right = log_sum_exp(np.where(q > 0.0, scores, -np.inf))
        value += SENTENCES[at] * (log_sum_exp(scores + np.array(paid)) - right)
    return value


def share(label, name):
    """The probability of a name under a label; 1 for each possible name of a partial one."""
    if isinstance(label, dict):
        return label.get(name, 0.0)
    return float(label is None or name in label)


def chain_of(model, labels):
    return Chain(labels, named_features(model))


def setting(kind, costs, order):
    """The older model, the new data, their objective over all features, and the weights c."""
    y, (class_weight, token_weight) = LABELS[kind], COSTS[costs]
    old = ChainCRF(order=order, l2=0.5).fit(*OLD)
    # The joined data, the old sentences with weight 0, have the same features.
    joined = Corpus.encode(
        [*X, *OLD[0]],
        [*y, *OLD[1]],
        sample_weight=[*SENTENCES, *[0.0] * len(OLD[0])],
        token_weight=token_weight and [*token_weight, *[None] * len(OLD[0])],
    )
    features = ChainFeatures(order=order, class_weight=by_label(class_weight, y))
    objective = ChainObjective(joined, features)
    c, _ = objective.start_weights(old.model_)
    data = {"sample_weight": SENTENCES, "token_weight": token_weight, "prior": old}
    return y, class_weight, token_weight, objective, c, data


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("kind", "costs"), CASES)
def test_a_chain_has_the_optimum_of_the_centred_penalty_in_scipy(kind, costs, order):
    y, class_weight, token_weight, objective, c, data = setting(kind, costs, order)
    strength = 0.7
    crf = ChainCRF(order=order, class_weight=class_weight, solver="lbfgs", **TIGHT)
    crf.fit(X, y, prior_strength=strength, **data)

    def centred(w):
        value, gradient = objective.value_and_gradient(w)
        return value + 0.5 * strength * (w - c) @ (w - c), gradient + strength * (w - c)

    oracle = scipy.optimize.minimize(centred, c, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    found, _ = objective.start_weights(crf.model_)
    assert objective.n_features == crf.result_.prior.n_features
    assert crf.result_.objective == pytest.approx(oracle.fun, rel=1e-9)
    np.testing.assert_allclose(found, oracle.x, atol=1e-5)
    by_enumeration = nll(chain_of(crf.model_, crf.classes_), y, class_weight, token_weight)
    assert crf.result_.nll == pytest.approx(by_enumeration, rel=1e-9)


# By day each case with one order, in turn.
@pytest.mark.parametrize(
    ("case", "order"), by_day(product(CASES, [1, 2]), lambda cell: cell[1] == 1 + CASES.index(cell[0]) % 2)
)
def test_the_gradient_of_the_change_is_the_slope_of_the_enumerated_nll(case, order):
    kind, costs = case
    y, class_weight, token_weight, objective, c, _ = setting(kind, costs, order)
    changed = from_prior(objective, c)
    rng = np.random.default_rng(1)
    d = rng.normal(size=c.size)
    value, gradient = changed.value_and_gradient(d)

    def enumerated(change):
        return nll(chain_of(objective.model(c + change), objective.label_names), y, class_weight, token_weight)

    assert value == pytest.approx(enumerated(d), rel=1e-11)
    for at in rng.permutation(c.size)[:8]:
        e = np.zeros_like(c)
        e[at] = 1e-5
        assert gradient[at] == pytest.approx((enumerated(d + e) - enumerated(d - e)) / 2e-5, abs=1e-7)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("kind", "costs"), CASES)
def test_l1_around_the_old_weights_of_a_chain_meets_the_optimality_conditions(kind, costs, order):
    y, class_weight, _, objective, c, data = setting(kind, costs, order)
    l1, strength = 0.3, 0.2
    crf = ChainCRF(order=order, class_weight=class_weight, l1=l1, solver="owlqn", **TIGHT)
    crf.fit(X, y, prior_strength=strength, **data)
    w, _ = objective.start_weights(crf.model_)
    _, g = objective.value_and_gradient(w)
    moved = w != c
    assert 0 < moved.sum() < moved.size
    np.testing.assert_allclose((g + strength * (w - c))[moved], -l1 * np.sign(w - c)[moved], atol=1e-5)
    assert np.abs(g[~moved]).max() <= l1 + 1e-5


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("kind", "costs"), CASES)
def test_data_in_parts_have_the_same_optimum(kind, costs, order):
    y, class_weight, token_weight, objective, _, data = setting(kind, costs, order)
    old, options = data["prior"].model_, {"solver": "lbfgs", **TIGHT}
    whole = ChainCRF(order=order, class_weight=class_weight, **options).fit(X, y, prior_strength=0.7, **data)
    parts = [
        ListedPart(f"{some}", X[some], y[some], None, SENTENCES[some], token_weight and token_weight[some])
        for some in (slice(0, 2), slice(2, None))
    ]
    features = ChainFeatures(order=order, class_weight=class_weight)
    joined = ChainParts(parts, features, older=OlderChain(old, "str", "old"))
    model, result = train_chain(joined, SolverOptions(**options), prior=ChainPrior(Start(old, "str", "old"), 0.7))
    assert result.objective == pytest.approx(whole.result_.objective, rel=1e-10)
    found, expected = (objective.start_weights(some)[0] for some in (model, whole.model_))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("l1", [0.0, 1.5])
@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 1: 0.5}, "balanced"])
@pytest.mark.parametrize("is_soft", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_has_the_optimum_of_the_centred_penalty(n_classes, is_soft, class_weight, l1):
    rng = np.random.default_rng(5)
    table, strength = rng.normal(size=(60, 4)), 0.7
    hard = np.arange(60) % n_classes
    old = MaxEnt().fit(table[:30] + rng.normal(size=(30, 4)), hard[:30])
    numbers, shares = table[30:], np.eye(n_classes)[(hard[30:] ** 2) % n_classes]
    shares[0] = np.eye(n_classes)[-1]
    if is_soft:
        shares = rng.dirichlet(np.ones(n_classes), 30)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], 30)
    options = {"l1": l1, "class_weight": class_weight, "solver": "owlqn" if l1 else "lbfgs", **TIGHT}
    y = shares if is_soft else shares.argmax(axis=1)
    new = MaxEnt(**options).fit(numbers, y, weights, prior=old, prior_strength=strength)
    counts = weights @ shares
    factor = np.ones(n_classes)
    if class_weight == "balanced":
        present = counts > 0.0
        factor[present] = counts.sum() / (present.sum() * counts[present])
    elif class_weight:
        factor = np.array([class_weight.get(k, 1.0) for k in range(n_classes)])
    s = weights[:, None] * shares * factor
    design, c = np.column_stack([numbers, np.ones(30)]), np.column_stack([old.coef_, old.intercept_])

    def value_and_gradient(w):
        scores = design @ w.reshape(c.shape).T
        scores = np.column_stack([np.zeros(30), scores]) if n_classes == 2 else scores
        slope = (s.sum(axis=1, keepdims=True) * scipy.special.softmax(scores, axis=1) - s).T @ design
        value = -(s * scipy.special.log_softmax(scores, axis=1)).sum()
        return value, (slope[1:] if n_classes == 2 else slope).ravel()

    w, centre = np.column_stack([new.coef_, new.intercept_]).ravel(), c.ravel()
    value, g = value_and_gradient(w)
    assert new.result_.nll == pytest.approx(value, rel=1e-9)
    g += strength * (w - centre)
    moved = np.abs(w - centre) > 1e-12
    assert moved.any()
    assert moved.all() == (l1 == 0.0)
    np.testing.assert_allclose(g[moved], -l1 * np.sign(w - centre)[moved], atol=1e-5)
    assert np.abs(g[~moved]).max(initial=0.0) <= l1 + 1e-5
