"""Calibration: bins, the expected calibration error, and which spans are right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import ChainCRF, Span, Tagging
from loglinear.errors import DataError, DataWarning, OptionError
from loglinear.metrics import calibration, chunks, evaluate, tagging_calibration

answers = st.lists(st.tuples(st.floats(0.0, 1.0) | st.integers(0, 10).map(lambda k: k / 10), st.booleans()))


@given(answers)
def test_the_expected_error_is_its_definition(pairs):
    confidences, correct = np.array([p for p, _ in pairs]), np.array([right for _, right in pairs], dtype=bool)
    found = calibration(confidences, correct)
    assert found.n == sum(each.n for each in found.bins) == len(pairs)
    expected = 0.0
    for at, each in enumerate(found.bins):
        low, high = at / 10, (at + 1) / 10
        assert (each.low, each.high) == (low, high)
        inside = (confidences > low) & (confidences <= high) | ((confidences == 0.0) & (at == 0))
        assert each.n == inside.sum()
        if each.n:
            assert each.accuracy == pytest.approx(correct[inside].mean())
            assert each.confidence == pytest.approx(confidences[inside].mean())
            expected += inside.mean() * abs(each.accuracy - each.confidence)
        else:
            assert each.accuracy is each.confidence is None
    assert found.expected_error == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 9), st.integers(1, 9))
def test_confidence_that_is_the_accuracy_has_no_error(right, wrong):
    n = right + wrong
    found = calibration([right / n] * n, [True] * right + [False] * wrong)
    assert found.expected_error == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_a_confidence_that_is_no_probability_is_named(confidence):
    with pytest.raises(DataError, match=r"answer 2: the confidence .* is not a probability"):
        calibration([0.5, confidence], [True, True])


@pytest.mark.parametrize(("confidences", "correct", "short"), [([0.5], [], "correct"), ([], [True], "confidences")])
def test_answers_and_confidences_come_in_pairs(confidences, correct, short):
    with pytest.raises(DataError, match=f"answer 1: missing in {short}"):
        calibration(confidences, correct)


def test_a_table_shows_every_bin():
    lines = calibration([0.75, 0.75, 1.0], [True, False, True]).report("spans").splitlines()
    assert "confidence in spans" in lines[0]
    assert lines[8].split() == ["70", "to", "80", "2", "75.00", "50.00"]
    assert lines[1].split() == ["0", "to", "10", "0", ".", "."]
    assert lines[11].split() == ["expected", "calibration", "error", "16.67"]
    assert lines[12] == ""
    assert lines[13].split() == ["spans", "to", "accept", "at", "least", "share", "precision", "95", "%", "interval"]
    assert lines[14].split()[:6] == ["for", "precision", "90", "1.000000", "33.33", "100.00"]
    assert lines[14].endswith("–100.00*")
    assert lines[19:] == ["* few answers"]
    assert max(map(len, calibration([0.99] * 4, [True] * 4).report("sequences").splitlines())) <= 60


@given(answers, st.sampled_from([0.25, 0.5, 2 / 3, 0.9, 1.0]))
def test_a_threshold_is_the_lowest_probability_that_reaches_the_precision(pairs, wanted):
    found = calibration([p for p, _ in pairs], [right for _, right in pairs])
    (threshold,) = found.thresholds([wanted]).values()
    reached = []
    for low in {p for p, _ in pairs}:
        accepted = [right for p, right in pairs if p >= low]
        if sum(accepted) / len(accepted) >= wanted:
            reached.append((low, len(accepted), sum(accepted)))
    if not reached:
        assert threshold is None
        with pytest.raises(DataError, match="no threshold reaches a precision of"):
            found.threshold(precision=wanted)
        return
    low, n, right = min(reached)
    assert (threshold.probability, threshold.n, threshold.precision) == (low, n, right / n)
    assert threshold.share == n / len(pairs)
    assert 0.0 <= threshold.interval.low <= threshold.interval.high <= 1.0


def test_the_interval_of_a_threshold_draws_whole_groups():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(40), 10)
    right = np.repeat(rng.random(40) < 0.9, 10)  # answers of one group stand and fall together
    confidences = np.full(400, 0.8)
    wide = calibration(confidences, right, groups).threshold(precision=0.5)
    narrow = calibration(confidences, right).threshold(precision=0.5)
    deviation = np.std(right) / np.sqrt([40, 400])
    for threshold, expected in zip((wide, narrow), deviation, strict=True):
        low, high = threshold.interval
        assert low < threshold.precision < high
        assert (high - low) / (2 * 1.96 * expected) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("precision", [0.0, 1.5, -1, True, "0.9", float("nan")])
def test_a_precision_is_a_fraction(precision):
    with pytest.raises(OptionError, match=r"precision=.* is out of range; give a fraction above 0 and up to 1"):
        calibration([0.5], [True]).threshold(precision=precision)


def test_few_accepted_answers_are_warned_of():
    found = calibration([0.9] * 29 + [0.1] * 71, [True] * 29 + [False] * 71)
    with pytest.warns(DataWarning, match=r"only 29 of 100 answers are accepted.*which takes 30; give more data"):
        assert found.threshold(precision=0.9).n == 29
    calibration([0.9] * 30, [True] * 30).threshold(precision=0.9)  # no warning
    with pytest.raises(DataError, match=r"there are no answers"):
        calibration([], []).threshold(precision=0.9)
    with pytest.raises(DataError, match=r"the highest is 0.75, of the 4 answers with a probability of at least 0.5"):
        calibration([0.5] * 4, [True, True, True, False]).threshold(precision=0.9)


def test_sequences_are_right_as_a_whole():
    taggings = [Tagging(["A", "B"], [0.9, 0.8], [], np.log(0.7)), Tagging([], [], [], 0.0)]
    taggings.append(Tagging(["A", "B"], [0.9, 0.8], [], np.log(0.6)))
    found = tagging_calibration([["A", "B"], [], ["A", "A"]], taggings).sequences
    assert [(round(p, 6), right, number) for p, right, number in found.answers] == [(0.7, True, 1), (0.6, False, 3)]


@pytest.mark.parametrize(("right", "n"), [(55, 100), (56, 100), (7, 50), (7, 25), (15, 29)])
def test_a_precision_that_is_reached_exactly_is_reached(right, n):
    found = calibration([0.9] * n, [True] * right + [False] * (n - right)).thresholds([right / n])
    assert found[right / n].precision == right / n


def test_what_is_neither_right_nor_wrong_is_refused():
    with pytest.raises(DataError, match="answer 2: 'no' in correct does not say whether the answer is"):
        calibration([0.5, 0.5], [True, "no"])


def test_groups_come_one_per_answer():
    with pytest.raises(DataError, match="1 groups for 2 answers"):
        calibration([0.5, 0.5], [True, True], [1])


X = [[["w=Ada"], ["w=Lovelace"], ["w=wrote"]], [["w=She"], ["w=sang"]]]
GOLD = [["B-PER", "I-PER", "O"], ["O", "O"]]


def test_labels_are_right_as_in_the_accuracy_and_spans_as_in_the_precision():
    crf = ChainCRF(l2=0.1).fit(X, GOLD)
    gold = [["B-PER", "O", "O"], ["B-LOC", "O"]]
    for decode in ("viterbi", "marginal"):
        taggings = crf.tag(X, decode=decode)
        found, scores = tagging_calibration(gold, taggings), evaluate(gold, [each.labels for each in taggings])
        right = sum(each.n * each.accuracy for each in found.tokens.bins if each.n)
        assert right / found.tokens.n == pytest.approx(scores.accuracy)
        right = sum(each.n * each.accuracy for each in found.spans.bins if each.n)
        assert right / found.spans.n == pytest.approx(scores.precision)
        assert found.spans.n == sum(len(chunks(each.labels)) for each in taggings)


def test_without_a_scheme_there_are_no_spans():
    tagging = Tagging(["B-PER"], [0.9], [Span("PER", 0, 1, 0.9)], 0.0)
    assert tagging_calibration([["B-PER"]], [tagging]).spans.n == 1
    assert tagging_calibration([["NOUN"]], [tagging]).spans is None
    assert tagging_calibration([["B-PER"]], [tagging._replace(spans=[])]).spans is None


@pytest.mark.parametrize("gold", [[], [["O"], ["O"]], [["O", "O"]]])
def test_sentences_that_do_not_match_are_named(gold):
    tagging = Tagging(["O"], [0.9], [], 0.0)
    with pytest.raises(DataError, match=r"sentence \d: \d gold labels, but \d predicted"):
        tagging_calibration(gold, [tagging])


@pytest.mark.parametrize("label", [None, {"B-PER": 0.5, "O": 0.5}, {"O"}, ["O"]])
def test_gold_labels_that_are_no_labels_are_named(label):
    tagging = Tagging(["O", "O"], [0.5, 0.5], [], -1.0)
    with pytest.raises(DataError, match="sentence 1: "):
        tagging_calibration([["O", label]], [tagging])
    with pytest.raises(DataError, match=r"sentence 1: .*sequence"):
        tagging_calibration(["OO"], [tagging])
    with pytest.raises(DataError, match=r"sentence 1: .* has no probabilities; give the results of ChainCRF.tag"):
        tagging_calibration([["O", "O"]], [["O", "O"]])


def test_values_that_are_no_answers_are_named():
    for confidence in ("0.5", {}, [0.5]):
        with pytest.raises(DataError, match="answer 1: the confidence"):
            calibration([confidence], [True])
    for arguments in ((0.5, [True]), ([0.5], True), ([0.5], [True], 1), ([0.5], [True], [{}]), ({0.5}, [True])):
        with pytest.raises(DataError):
            calibration(*arguments)
