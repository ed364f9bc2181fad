"""Laws of audits: wrong labels that were put in are found, by models that have not seen them."""

from __future__ import annotations

import lzma
import re

import numpy as np
import pytest
import scipy.sparse

from loglinear import ChainCRF, Corpus, DataError, DataWarning, MaxEnt, OptionError, TextClassifier, audit, out_of_fold
from loglinear.datasets import demo_paths

CHAIN = ChainCRF(template="pos", l2=0.3)


@pytest.fixture(scope="module")
def sentences():
    """Words and labels of 400 sentences, and the same labels with forty wrong ones; the places of these."""
    with lzma.open(demo_paths()[0], "rt", encoding="utf-8") as file:
        blocks = [block for block in file.read().split("\n\n") if block.count("\n") > 3][:400]
    rows = [[line.split("\t") for line in block.splitlines()] for block in blocks]
    X, y = [[row[0] for row in sentence] for sentence in rows], [[row[1][0] for row in sentence] for sentence in rows]
    rng, labels = np.random.default_rng(0), sorted({label for sentence in y for label in sentence})
    noisy, places = [[*sentence] for sentence in y], set()
    for sentence in rng.choice(400, 40, replace=False).tolist():
        token = int(rng.integers(len(y[sentence])))
        noisy[sentence][token] = str(rng.choice([label for label in labels if label != y[sentence][token]]))
        places.add((sentence, token))
    return X, y, noisy, places


@pytest.fixture(scope="module")
def found(sentences):
    X, _, noisy, _ = sentences
    return audit(CHAIN, X, noisy, folds=3)


def tokens(found):
    return [(finding.sentence, token) for finding in found.findings for token in range(finding.start, finding.end)]


def test_wrong_labels_are_among_the_first_findings(sentences, found):
    *_, places = sentences
    first = tokens(found)[:50]
    assert len(places & {*first}) >= 30
    assert len(places & {*first[:20]}) >= 18


def test_findings_say_what_is_there_and_what_the_model_predicts(sentences, found):
    X, _, noisy, _ = sentences
    for finding in found.findings:
        run = slice(finding.start, finding.end)
        assert finding.words == X[finding.sentence][run]
        assert finding.given == noisy[finding.sentence][run]
        assert finding.suggested == found.out_of_fold.predicted[finding.sentence][run]
        assert all(given != other for given, other in zip(finding.given, finding.suggested, strict=True))
        rows = found.out_of_fold.marginals[finding.sentence][run]
        of = found.out_of_fold.labels.index
        assert finding.probability == max(row[of(label)] for row, label in zip(rows, finding.given, strict=True))
        assert f"[{' '.join(finding.words)}]" in finding.context
    assert [finding.probability for finding in found.findings] == sorted(
        finding.probability for finding in found.findings
    )


def test_no_run_of_suspicious_tokens_is_cut(found):
    ends = {(finding.sentence, finding.end) for finding in found.findings}
    assert not any((finding.sentence, finding.start) in ends for finding in found.findings)


def test_every_token_whose_prediction_differs_is_in_a_finding(sentences, found):
    _, _, noisy, _ = sentences
    predicted = found.out_of_fold.predicted
    differ = {
        (at, token) for at, row in enumerate(noisy) for token in range(len(row)) if row[token] != predicted[at][token]
    }
    unjudged = {(at, token) for at, token in differ if noisy[at][token] in found.unjudged}
    assert differ - unjudged == {*tokens(found)} - unjudged


def test_confusions_count_the_tokens_of_findings(found):
    assert sum(found.confusions.values()) == len(tokens(found))
    assert [*found.confusions.values()] == sorted(found.confusions.values(), reverse=True)


def test_reasons_are_the_differences_of_weights(sentences, found):
    X, _, noisy, _ = sentences
    corpus = Corpus.encode(X, noisy, template="pos")
    ends, ids, _ = corpus.core.rows()
    names, firsts = corpus.core.names(), np.cumsum([0, *map(len, X)])
    for finding in found.findings[:20]:
        rows, of = found.out_of_fold.marginals[finding.sentence], found.out_of_fold.labels.index
        run = range(finding.start, finding.end)
        token = max(run, key=lambda at: rows[at, of(noisy[finding.sentence][at])])
        at = firsts[finding.sentence] + token
        model = found.out_of_fold.models[found.out_of_fold.folds[finding.sentence]]
        weights = {(name, label): w for name, label, w in model.model_.state_features()}
        given, suggested = noisy[finding.sentence][token], finding.suggested[token - finding.start]
        attributes = [names[id] for id in ids[ends[at - 1] if at else 0 : ends[at]]]
        differences = {name: weights.get((name, suggested), 0) - weights.get((name, given), 0) for name in attributes}
        largest = sorted((weight for weight in differences.values() if weight > 0), reverse=True)[:3]
        said = [float(number) for number in re.findall(r" (\+[\d.]+)(?:, |$)", finding.reason)]
        assert said == pytest.approx(largest, abs=0.005)


def test_probabilities_are_of_models_that_have_not_seen_the_sentence(sentences):
    X, y, *_ = sentences
    corpus = Corpus.encode(X[:60], y[:60], template="pos")
    kept = out_of_fold(CHAIN, corpus, folds=3)
    for fold in range(3):
        held = np.flatnonzero(kept.folds == fold)
        model = ChainCRF(l2=0.3, n_jobs=1).fit(corpus[np.flatnonzero(kept.folds != fold)])
        columns = [kept.labels.index(label) for label in model.classes_]
        for at, row in zip(held, model.marginals(corpus[held]), strict=True):
            np.testing.assert_array_equal(kept.marginals[at][:, columns], row)
            assert kept.marginals[at].sum() == pytest.approx(len(row))


@pytest.mark.filterwarnings("ignore:labels that occur in one fold")
def test_an_audit_is_the_same_on_any_number_of_threads(sentences):
    X, _, noisy, _ = sentences
    one, two = (audit(ChainCRF(template="pos", l2=1.0, n_jobs=n), X[:50], noisy[:50], folds=3) for n in (1, 3))
    assert one.findings == two.findings
    again = audit(ChainCRF(template="pos", l2=1.0), X[:50], noisy[:50], folds=3, random_state=1)
    assert (again.out_of_fold.folds != one.out_of_fold.folds).any()


def test_sentences_that_are_the_same_are_in_one_fold():
    X = [[[f"w{at % 5}"], ["x"]] for at in range(40)]
    folds = out_of_fold(ChainCRF(l2=1.0), X, [["A", "B"]] * 40, folds=4).folds
    assert all(len({*folds[at::5].tolist()}) == 1 for at in range(5))
    assert len({*folds.tolist()}) == 4


def test_contexts_with_different_labels_are_named():
    X = [[["same"]], [["same"]], [["same"]], [["other"]], [["third"]]] * 2
    found = audit(ChainCRF(l2=1.0), X, [["A"], ["A"], ["B"], ["B"], ["A"]] * 2, folds=2)
    (disagreement,) = found.disagreements
    assert disagreement.counts == {"A": 4, "B": 2}
    assert disagreement.places == [(2, 0), (7, 0)]


def test_labels_of_one_fold_are_not_judged():
    X = [[[f"w{at}"], ["x"]] for at in range(12)]
    y = [["A", "B"]] * 11 + [["RARE", "B"]]
    with pytest.warns(DataWarning, match="cannot be judged: 'RARE'"):
        found = audit(ChainCRF(l2=1.0), X, y, folds=3)
    assert found.unjudged == {"RARE": 1}
    assert (11, 0) not in tokens(found)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["matrix", "attributes", "texts", "corpus"])
def test_classifiers_are_audited(kind, n_classes):
    rng = np.random.default_rng(1)
    truth = rng.integers(n_classes, size=200)
    X = rng.normal(size=(200, n_classes)) * 0.3 + 2.0 * np.eye(n_classes)[truth]
    y = np.array(["a", "b", "c"])[truth]
    wrong = rng.choice(200, 8, replace=False)
    y[wrong] = np.array(["a", "b", "c"])[(truth[wrong] + 1) % n_classes]
    samples = [[f"{'xyz'[at]}{round(value)}" for at, value in enumerate(row)] for row in X.tolist()]
    model = TextClassifier(l2=1.0) if kind == "texts" else MaxEnt(l2=1.0)
    data = {"matrix": X, "attributes": samples, "texts": [" ".join(row) for row in samples]}.get(kind)
    if data is None:
        found = audit(model, Corpus.encode([[sample] for sample in samples], [[label] for label in y.tolist()]))
    else:
        found = audit(model, data, y)
    assert {finding.sentence for finding in found.findings[:8]} >= {*wrong.tolist()[:1]}
    assert len({*wrong.tolist()} & {finding.sentence for finding in found.findings[:10]}) >= 7
    assert all(finding.reason for finding in found.findings[:5])
    probabilities = np.concatenate(found.out_of_fold.marginals)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:labels that occur in one fold")
def test_tokens_of_sentences_are_samples_of_a_classifier(sentences):
    X, _, noisy, places = sentences
    corpus = Corpus.encode(X[:100], noisy[:100], template="pos")
    found = audit(MaxEnt(l2=1.0), corpus, folds=2)
    wrong = {place for place in places if place[0] < 100}
    assert len(wrong & {*tokens(found)}) >= len(wrong) - 2
    assert [len(rows) for rows in found.out_of_fold.marginals] == [*map(len, X[:100])]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"folds": 1}, OptionError, "folds"),
        ({"folds": 2.5}, OptionError, "folds"),
        ({"random_state": "a"}, OptionError, "random_state"),
        ({"words": [["a"]]}, OptionError, "words"),
        ({"y": None}, DataError, "no labels"),
        ({"y": [[{"A", "B"}, "A"], ["B", "A"], ["A", "A"]]}, DataError, "partial"),
        ({"X": [[["a"], ["b"]]] * 3}, DataError, "the same"),
        ({"model": "crf"}, OptionError, "cannot be audited"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_audited_is_refused(arguments, error, message):
    usual = {
        "model": ChainCRF(l2=1.0),
        "X": [[["a"], ["b"]], [["c"], ["d"]], [["e"], ["a"]]],
        "y": [["A", "B"], ["B", "A"], ["A", "A"]],
    }
    with pytest.raises(error, match=message):
        audit(**(usual | arguments))


@pytest.mark.parametrize("as_kind", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_rows_of_matrices_that_are_the_same_are_in_one_fold(as_kind):
    X = np.repeat(np.random.default_rng(0).normal(size=(12, 2)), 3, axis=0)
    y = np.tile([0, 1, 1], 12)
    found = audit(MaxEnt(l2=1.0), as_kind(X), y, folds=4)
    assert (found.out_of_fold.folds.reshape(12, 3) == found.out_of_fold.folds[::3, None]).all()
    assert len(found.disagreements) == 12


@pytest.mark.filterwarnings("ignore:without fold")
def test_labels_that_a_repair_makes_are_among_the_labels():
    X, y = [[[f"w{at % 7}"], ["x"]] for at in range(30)], [["I-X", "O"], ["O", "O"], ["O", "I-X"]] * 10
    found = audit(ChainCRF(l2=1.0, constraints="BIO", invalid_labels="repair"), X, y, folds=3)
    assert "B-X" in found.out_of_fold.labels
    assert all(len(rows[0]) == 3 for rows in found.out_of_fold.marginals)


def test_generators_are_read_once():
    X, y = [[["a"], ["b"]], [["c"], ["d"]], [["e"], ["a"]]], [["A", "B"], ["B", "A"], ["A", "A"]]
    kept, generated = (out_of_fold(ChainCRF(l2=1.0), data, y, folds=2) for data in (X, iter(X)))
    assert kept.folds.tolist() == generated.folds.tolist()


@pytest.mark.parametrize(
    ("model", "X", "y", "message"),
    [
        (MaxEnt(), [["a"]] * 10 + [["b"], ["c"]] * 4, ["A"] * 10 + ["B"] * 8, r"all 10 samples of class 'A' are in one "
         r"fold \(samples that are the same stay together\).*single class; add other samples of this class"),
        (MaxEnt(), [[f"w{i}"] for i in range(9)], [0] * 8 + [1], "the only sample of class 1 is in one fold, so"),
        (TextClassifier(), ["a b", "a c", "d", "d"], ["+", "+", "-", "-"], "all 2 samples of class '-' are in one"),
    ],
)  # fmt: skip
def test_a_class_that_one_fold_has_alone_is_named_with_the_reason(model, X, y, message):
    for function in (audit, out_of_fold):
        with pytest.raises(DataError, match=message):
            function(model, X, y, folds=2)
    with pytest.raises(DataError, match="the data have only one class"):
        audit(model, X, [y[0]] * len(y))
    three = ["C" if at in (0, 1) else "D" if at in (2, 3) else label for at, label in enumerate(map(str, y))]
    if len(X) > 4:
        with pytest.warns(DataWarning, match="cannot be judged"):
            audit(model, [["x"], ["y"], ["z"], ["v"], *X[4:]], three, folds=2)


def test_groups_of_several_classes_that_no_folds_divide_are_said_to_be(monkeypatch):
    """Two different samples of a class may come into one fold by the luck of the folds."""
    from loglinear.models.training import folds as module

    monkeypatch.setattr(module, "balanced_folds", lambda targets, *_: (targets, None))
    with pytest.raises(
        DataError, match=r"all 5 samples of class 0 are in one fold, so .*; choose another number of folds"
    ):
        audit(MaxEnt(), [[f"w{i}"] for i in range(10)], [0, 1] * 5, folds=2)
