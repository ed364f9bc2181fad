"""Explanations of labels, held against all labellings of short sentences."""

import itertools
import json

import numpy as np
import pytest

from loglinear import ChainCRF, Corpus, DataError, DataWarning
from loglinear.constraints import as_json
from loglinear.models.explain.explainer import Explainer
from loglinear.models.files.chain import weighted_features
from loglinear.objectives.chain import ChainFeatures, ChainObjective

LABELS = ("A", "B", "C")
KINDS = {"first order": {}, "second order": {"order": 2}, "attributes of transitions": {}}
TEMPLATE = "U00:%x[0,0]\nB\nB01:%x[0,0]\nB02:%x[-1,0]/%x[0,0]\n"


def chain(kind, rng, *, forbids):
    """Return a model with weights that are small whole numbers, so that many labellings tie, and its sentences."""
    X, y = [], []
    for _ in range(8):
        length = int(rng.integers(1, 5))
        words = [f"w{word}" for word in rng.integers(0, 3, length)]
        has_columns = kind == "attributes of transitions"
        X.append(words if has_columns else [{word: float(rng.integers(1, 3)), "always": 1.0} for word in words])
        y.append([LABELS[at] for at in rng.integers(0, 3, length)])
    pairs = itertools.product((None, *LABELS), repeat=2)
    forbidden = [pair for pair in pairs if pair != (None, None) and forbids and rng.random() < 0.35]
    corpus = Corpus.encode(X, y, template=TEMPLATE if has_columns else None)
    objective = ChainObjective(corpus, ChainFeatures(**KINDS[kind]))
    w = rng.integers(-2, 3, objective.n_features).astype(float)
    return objective.model(w).constrained(as_json(forbidden)), corpus, forbidden


def labellings(model, forbidden, corpus, number):
    """Return all allowed labellings of a sentence with their scores, the best first, ties by the last label."""
    weights = dict(weighted_features(model))
    rows = [sentence_rows(corpus, bigrams)[number] for bigrams in (False, True)]
    length, found = corpus.core.lengths()[number], []
    for labels in itertools.product(range(len(model.labels)), repeat=length):
        names = [model.labels[label] for label in labels]
        if {*itertools.pairwise([None, *names, None])} & {*forbidden}:
            continue
        score = 0.0
        for token in range(length):
            score += sum(value * weights.get((name, (names[token],)), 0.0) for name, value in rows[0][token])
            if token:
                pair = tuple(names[token - 1 : token + 1])
                score += weights.get((None, pair), 0.0)
                score += sum(weights.get((name, pair), 0.0) for name, _ in rows[1][token])
            if token > 1:
                score += weights.get((None, tuple(names[token - 2 : token + 1])), 0.0)
        found.append((-score, labels[::-1], names))
    return [(names, -loss) for loss, _, names in sorted(found)]


def sentence_rows(corpus, bigrams):
    """Return the attributes of each token of each sentence with their values."""
    ends, ids, values = corpus.core.rows(bigrams=bigrams)
    names, ends, sentences = corpus.core.names(), ends.tolist(), []
    tokens = iter(zip([0, *ends], ends, strict=False))
    for length in corpus.core.lengths():
        spans = [next(tokens, (0, 0)) for _ in range(length)]
        sentences.append([[(names[ids[at]], values[at]) for at in range(begin, end)] for begin, end in spans])
    return sentences


@pytest.mark.filterwarnings("ignore:.*no labelling is allowed")
@pytest.mark.parametrize("forbids", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_label_is_that_of_predict_and_the_runner_up_the_best_labelling_with_another_one(kind, forbids):
    n_alone = n_ties = 0
    for seed in range(12):
        model, corpus, forbidden = chain(kind, np.random.default_rng(seed), forbids=forbids)
        predicted, marginals = model.predict(corpus.core), model.marginals(corpus.core)
        for number, explanation in enumerate(Explainer(model).explain(corpus)):
            ranked = labellings(model, forbidden, corpus, number)
            if not ranked:
                assert {*explanation.labels} == {"?"}
                continue
            best, score = ranked[0]
            assert explanation.labels == predicted[number] == best
            n_ties += ranked[1:] != [] and ranked[1][1] == score
            rows = np.reshape(marginals[number], (len(best), -1))
            for token, row in zip(explanation, rows, strict=True):
                rivals = [rival for rival in ranked if rival[0][token.token] != token.label]
                weights = [each.weight for each in token.contributions]
                assert sum(weights) == token.difference == (score - rivals[0][1] if rivals else 0.0)
                assert token.runner_up == (rivals[0][0] if rivals else [])
                assert token.other == (token.runner_up[token.token] if rivals else None)
                assert [abs(weight) for weight in weights] == sorted(map(abs, weights), reverse=True)
                assert token.probability == pytest.approx(row[model.labels.index(token.label)])
                if rivals:
                    assert token.other_probability == pytest.approx(row[model.labels.index(token.other)])
                n_alone += not rivals
    assert n_ties > 3
    assert (n_alone > 3) == forbids


def test_contributions_of_trained_weights_add_up_to_the_difference_of_log_probabilities():
    X = [[("a",), ("b",), ("a",)], [("b",), ("a",)], [("b",), ("b",), ("a",)]]
    y = [["A", "B", "A"], ["B", "A"], ["A", "B", "B"]]
    crf = ChainCRF(template=TEMPLATE, l2=0.1).fit(X, y)
    for tokens in X:
        explanation = crf.explain(tokens)
        assert [each.text for each in explanation] == [word for (word,) in tokens]
        for token in explanation:
            best, other = crf.log_probability([tokens] * 2, [explanation.labels, token.runner_up])
            assert token.difference == pytest.approx(best - other, abs=1e-9)
            assert sum(each.weight for each in token.contributions) == pytest.approx(token.difference, abs=1e-12)
    assert any(each.feature.startswith("B02:") for token in explanation for each in token.contributions)


# Tokens in every form, with a model of two columns, of one, and of attributes.
SENTENCES = [
    [],
    [[]],
    [("w",), ("v",)],
    [["w"], ["v"]],
    ["w", "v"],
    ("w", "v"),
    "w",
    [("w", "X"), ("v", "Y")],
    [["w", "X"], ["v", "Y"]],
    [{"w": 1.0}, {"v": 1.0}],
    [[("w", "X"), ("v", "Y")]],
    [[{"w": 1.0}], [{"v": 1.0}]],
    [["w"], "v"],
]


def answer_or_refusal(ask, x):
    try:
        return ask(x)
    except DataError as error:
        return error


@pytest.mark.parametrize("template", ["U:%x[0,0]\nU1:%x[0,1]\nB\n", "U:%x[0,0]\nB\n", None])
def test_a_sentence_is_explained_if_and_only_if_it_is_labelled(template):
    X = [[("w", "X"), ("v", "Y")], [("v", "Y")]]
    if template is None or "U1" not in template:
        X = [[cells[:1] for cells in tokens] for tokens in X]
    crf, explained = ChainCRF(template=template).fit(X, [["A", "B"], ["B"]]), 0
    for tokens in SENTENCES:
        asked = ((crf.predict_single, tokens), (crf.explain, tokens), (crf.predict, [tokens]))
        labels, explanation, predicted = (answer_or_refusal(ask, x) for ask, x in asked)
        if isinstance(labels, DataError):
            assert str(explanation) == str(labels)
            assert isinstance(predicted, DataError)
            continue
        assert explanation.labels == labels == predicted[0] == crf.tag([tokens])[0].labels
        explained += 1
    assert explained > 2
    with pytest.raises(DataError, match=r"is this a list of sentences\?$"):
        crf.explain([[("w", "X"), ("v", "Y")]])


def test_a_sentence_that_the_constraints_allow_no_labels_has_none():
    crf = ChainCRF().fit([[["w"], ["v"]]], [["A", "C"]])
    crf.constraints = [(label, None) for label in "AC"]
    with pytest.warns(DataWarning, match="allow"):
        explanation = crf.explain([["w"]])
    assert [(token.label, token.other, token.contributions) for token in explanation] == [("?", None, [])]


def test_explanations_are_shown_as_text_and_as_html_without_loss_or_markup():
    X = [[{"<b>": 1.0, "x": 1.0}, {"y": 1.0}]]
    crf = ChainCRF(l2=0.1).fit(X, [["<A>", "B"]])
    explanation = crf.explain(X[0])
    shown = explanation._repr_html_()
    assert "<b></b>" not in shown
    assert ">&lt;b&gt;</span>" in shown
    assert "&lt;A&gt;" in shown
    for each in explanation[0].contributions:
        assert f"{each.weight:+.3f}" in str(explanation)
    assert "1 other" in explanation.text(len(explanation[0].contributions) - 1)
    json.dumps(explanation.to_dict())


def test_tokens_are_shown_by_their_first_column():
    X, y = [[["Ada", "NE"], ["met", "V"]]], [["P", "O"]]
    explanation = ChainCRF(l2=0.1, template="U:%x[0,1]\nB\n").fit(X, y).explain(X[0])
    lines = str(explanation).splitlines()
    assert [each.text for each in explanation] == ["Ada", "met"]
    assert all(any(line.startswith(f"{word}  ") or f" {word}  " in line for line in lines) for word in ("Ada", "met"))


def test_features_of_templates_have_names_that_people_read():
    X, y = [["a", "dog"], ["the", "cat"]] * 4, [["D", "N"], ["D", "N"]] * 4
    explanation = ChainCRF(template="pos").fit(X, y).explain(["the", "dog"])
    names = {contribution.feature: contribution.name for contribution in explanation[0].contributions}
    assert names["U03:dog"] == "next word = dog"
    assert names["U01:_B-1"] == "previous word = (start)"
    assert names["D > N, not N > N"] == "D then N, not N then N"
    assert "next word = dog" in explanation.text(99)
    assert "U03" not in explanation.text(99)
