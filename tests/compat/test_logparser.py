"""The parser of training messages: on ours and on CRFsuite's, beside python-crfsuite's own parser."""

from __future__ import annotations

import re
from fractions import Fraction

import pycrfsuite as peer
import pycrfsuite._logparser as peers_parser
import pytest

from loglinear.compat import pycrfsuite as ours
from loglinear.compat.pycrfsuite._logparser import TrainLogParser

X = [[["a", "b"], ["b"], {"c": 0.5, "d": -1}, ["a"]], [["c"], ["b", "d"]], [["d"], ["a"], ["b"]]]
Y = [["A", "A", "B", "B"], ["B", "A"], ["B", "A", "C"]]
# CRFsuite's algorithms, and a training that has nothing to train on.
CASES = {
    "lbfgs": ("lbfgs", {"max_iterations": 5}, 3),
    "owlqn": ("lbfgs", {"c1": 0.5, "c2": 0.1, "max_iterations": 5}, 3),
    "l2sgd": ("l2sgd", {"max_iterations": 12}, 3),
    "ap": ("ap", {"max_iterations": 4}, 3),
    "pa": ("pa", {"max_iterations": 4}, 3),
    "arow": ("arow", {"max_iterations": 4}, 3),
    "nothing": ("lbfgs", {}, 0),
}
PARTS = ("featgen_percent", "featgen_num_features", "featgen_seconds", "training_seconds", "storing_seconds", "state")


def messages(module, case, path, *, holdout):
    """The messages of a training."""
    algorithm, params, n = CASES[case]
    heard = []

    class Listening(module.BaseTrainer):
        def message(self, message):
            heard.append(message)

    trainer = Listening(algorithm, params)
    for group, (x, y) in enumerate(zip(X[:n], Y[:n], strict=True)):
        trainer.append(x, y, group)
    trainer.train(path, 2 if holdout else -1)
    return heard


def fed(parser, lines):
    """What a parser says to each message, with the text that belongs to it."""
    return [(event, parser.last_log) for event in map(parser.feed, lines) if event is not None]


@pytest.fixture(params=[False, True], ids=["", "holdout"])
def holdout(request):
    return request.param


@pytest.mark.parametrize("case", CASES)
def test_crfsuites_messages_mean_what_python_crfsuite_reads(case, holdout, tmp_path):
    lines = messages(peer, case, str(tmp_path / "m"), holdout=holdout)
    mine, theirs = TrainLogParser(), peers_parser.TrainLogParser()
    assert fed(mine, lines) == fed(theirs, lines)
    for part in PARTS:
        # Theirs takes 0 seconds of storing for none.
        assert (getattr(mine, part) or None) == (getattr(theirs, part) or None)
    # A label that no token has, but that some were given, has scores in our dict alone.
    assert len(mine.iterations) == len(theirs.iterations)
    for here, there in zip(mine.iterations, theirs.iterations, strict=True):
        assert {**here, "scores": {label: here["scores"][label] for label in there["scores"]}} == there
    assert mine.last_iteration is (mine.iterations[-1] if mine.iterations else None)


@pytest.mark.parametrize("case", CASES)
def test_python_crfsuites_parser_reads_our_messages(case, holdout, tmp_path):
    lines = messages(ours, case, str(tmp_path / "m"), holdout=holdout)
    theirs = messages(peer, case, str(tmp_path / "p"), holdout=holdout)
    parsers = [peers_parser.TrainLogParser(), peers_parser.TrainLogParser()]
    mine, reference = (fed(parser, each) for parser, each in zip(parsers, (lines, theirs), strict=True))
    kinds = [[event for event, _ in each if event != "iteration"] for each in (mine, reference)]
    assert kinds[0] == kinds[1]
    # A parser would find numbers under the same names.
    names = [[set(each) for each in parser.iterations[:3]] for parser in parsers]
    assert names[0] == names[1]
    assert parsers[0].featgen_num_features == parsers[1].featgen_num_features


@pytest.mark.parametrize("case", [case for case in CASES if case != "l2sgd"])
def test_our_messages_are_crfsuites_but_for_numbers(case, holdout, tmp_path):
    def shapes(lines):
        """The messages, numbers behind a colon or in brackets left out, up to the second iteration."""
        text = "".join(lines).split("***** Iteration #2")[0]
        return [line.split(":")[0] for line in text.split("\n")]

    mine = shapes(messages(ours, case, str(tmp_path / "m"), holdout=holdout))
    assert mine == shapes(messages(peer, case, str(tmp_path / "p"), holdout=holdout))


SETTING = re.compile(r"[a-z_12.]+: \S+\n")


def settings(lines):
    """The lines with the values of parameters, before the first iteration, without those of a calibration."""
    text = "".join(lines).partition("*****")[0].partition("calibration")[0]
    return [line for line in text.splitlines(keepends=True) if SETTING.fullmatch(line)]


@pytest.mark.parametrize("case", [case for case in CASES if case != "nothing"])
def test_our_messages_have_the_values_of_all_parameters(case, tmp_path):
    mine, theirs = (
        settings(messages(module, case, str(tmp_path / name), holdout=False))
        for name, module in (("m", ours), ("p", peer))
    )
    assert mine == theirs
    assert len(mine) > 5


@pytest.mark.parametrize("case", [case for case in CASES if case != "nothing"])
def test_seconds_count_from_the_end_of_the_settings_or_of_the_iteration_before(case, tmp_path, monkeypatch):
    """With a clock that shows how many messages have been sent."""
    algorithm, params, _ = CASES[case]
    heard = []
    monkeypatch.setattr("loglinear.compat.pycrfsuite._messages.perf_counter", lambda: float(len(heard)))

    class Listening(ours.BaseTrainer):
        def message(self, message):
            heard.append(message)

    trainer = Listening(algorithm, params)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "m"))
    found = []
    for at, message in enumerate(heard):
        if matched := re.fullmatch(r"(.*[Ss]econds required.*): ([\d.]+)\n", message):
            before = heard[at - int(float(matched[2])) - 1]
            found.append(matched[1])
            if "features" in found or len(found) > 1:
                assert before == "\n", (message, before)
            else:
                assert before.startswith("feature.possible_transitions: ")
    assert found[0] == found[-1] == "Seconds required"
    assert found[-2] == "Total seconds required for training"
    assert {*found[1:-2]} == {"Seconds required for this iteration"}


@pytest.mark.parametrize("case", CASES)
def test_a_trainer_prints_what_it_hears(case, holdout, tmp_path, capsys):
    algorithm, params, n = CASES[case]
    for verbose in (True, False):
        trainer = ours.Trainer(algorithm, params, verbose=verbose)
        for group, (x, y) in enumerate(zip(X[:n], Y[:n], strict=True)):
            trainer.append(x, y, group)
        trainer.train(str(tmp_path / "m"), 2 if holdout else -1)
        assert capsys.readouterr().out == ("".join(trainer.logparser.log) if verbose else "")


def test_scores_of_a_holdout_group_are_numbers():
    parser = TrainLogParser()
    head = ["Feature generation\n", "0", "\n", "Number of features: 3\n", "Seconds required: 0.5\n", "\n"]
    scores = ["    a b: (1, 2, 4) (0.5000, 0.2500, 0.3333)\n", "    c: (0, 3, 0) (******, ******, ******)\n"]
    rest = ["Item accuracy: 2 / 8 (0.25)\n", "Instance accuracy: 0 / 0 (0.0)\n", "Macro-average precision\n", "\n"]
    for line in [*head, "***** Iteration #1 *****\n", "Loss: 2.500000\n", *scores, *rest]:
        parser.feed(line)
    last = parser.last_iteration
    assert last["scores"] == {"a b": (1, 2, 4, 0.5, 0.25, 0.3333), "c": (0, 3, 0, None, None, None)}
    assert last["item_accuracy"] == Fraction(1, 4)
    assert (last["instance_accuracy"], last["instance_accuracy_float"]) == (None, 0.0)
