"""`Trainer` beside python-crfsuite's: arguments, parameters, features, optima, messages, files."""

from __future__ import annotations

import lzma
import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pycrfsuite as peer
import pytest

from loglinear.compat.pycrfsuite import BaseTrainer, Trainer, _training
from loglinear.datasets import demo_paths
from loglinear.models.files.chain import ChainModel
from oracles.patience import patience

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "averaged-perceptron", "pa", "passive-aggressive", "arow")


def sentences(n):
    """Items and labels of the first sentences of the embedded sample."""
    with lzma.open(demo_paths()[0], "rt", encoding="utf-8") as file:
        blocks = file.read().split("\n\n")[:n]
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    return [items([row[0] for row in each]) for each in rows], [[row[2] for row in each] for each in rows]


def items(words):
    """Items of all kinds that python-crfsuite takes, some with negative values."""
    return [
        {
            "word": word,
            "short": len(word) < 4,
            "length": len(word) / 8.0 - 0.5,
            "ends": {"two": word[-2:].encode(), "more": [word[-3:], "x"]},
            b"vowels": -1.0 if word[-1] in "aeiou" else 0.25,
        }
        for word in words
    ]


X, Y = sentences(60)


def trained(module, params, *, n=60, algorithm="lbfgs", holdout=-1, path=""):
    """A trainer that has been trained, every fifth sentence in group 1."""
    trainer = module(algorithm, params, verbose=False)
    for number, (x, y) in enumerate(zip(X[:n], Y[:n], strict=True)):
        trainer.append(x, y, int(number % 5 == 0))
    trainer.train(path, holdout)
    return trainer


SELECTIONS = [
    {},
    {"feature.minfreq": 1},
    {"feature.minfreq": 2.5},
    {"feature.minfreq": -0.4},
    {"feature.minfreq": -1e9},
    {"feature.possible_states": True},
    {"feature.possible_transitions": True},
    {"feature.possible_states": True, "feature.possible_transitions": True, "feature.minfreq": 1},
    {"feature.possible_states": True, "feature.minfreq": -1.5},
    {"feature.minfreq": 1e9},
]


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
@pytest.mark.parametrize("holdout", [-1, 1])
def test_features_are_crfsuites(selection, holdout):
    numbers = [
        trained(module, {**selection, "max_iterations": 1}, holdout=holdout).logparser.featgen_num_features
        for module in (Trainer, peer.Trainer)
    ]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("params", [{}, {"c2": 0.1}, {"c1": 0.3, "c2": 0.05}], ids=str)
def test_it_stops_where_crfsuite_stops(params):
    """By the same rule, with steps of another line search."""
    ours, theirs = (trained(module, params).logparser for module in (Trainer, peer.Trainer))
    assert ours.last_iteration["loss"] == pytest.approx(theirs.last_iteration["loss"], rel=1e-3)
    assert ours.iterations[0]["loss"] == pytest.approx(theirs.iterations[0]["loss"], rel=1e-6)


@pytest.mark.parametrize("params", [{"c2": 0.5}, {"c1": 0.3, "c2": 0.05}], ids=str)
def test_the_optimum_is_crfsuites(params):
    tight = {**params, "epsilon": 1e-7, "delta": 1e-10}
    ours, theirs = (trained(module, tight).logparser for module in (Trainer, peer.Trainer))
    assert ours.last_iteration["loss"] == pytest.approx(theirs.last_iteration["loss"], rel=1e-6)


def test_l2sgd_comes_to_the_optimum_of_lbfgs():
    exact = trained(Trainer, {"c2": 0.5, "epsilon": 1e-7, "delta": 1e-10}).logparser.last_iteration["loss"]
    ours = trained(Trainer, {"c2": 0.5}, algorithm="l2sgd").logparser
    assert ours.last_iteration["loss"] == pytest.approx(exact, rel=1e-4)
    theirs = trained(peer.Trainer, {"c2": 0.5}, algorithm="l2sgd").logparser
    assert ours.last_iteration["loss"] < theirs.last_iteration["loss"] * 1.0001


@pytest.mark.parametrize("params", [{"period": 3, "delta": 0.02}, {"period": 0, "max_iterations": 6}], ids=str)
def test_numbers_in_the_messages_of_l2sgd_follow_from_its_losses(params):
    trainer = trained(Trainer, {"c2": 0.5, **params}, algorithm="l2sgd")
    log, period = "".join(trainer.logparser.log), params["period"]
    losses = [float(loss) for loss in re.findall(r"^Loss: ([\d.]+)$", log, re.M)]
    *losses, best = losses
    assert best == min(losses)
    ratios = [float(ratio) for ratio in re.findall(r"Improvement ratio: (\S+)", log)]
    expected = [(a - b) / b for a, b in zip(losses, losses[period:], strict=False)] if period else []
    assert ratios == pytest.approx(expected, abs=1e-6)
    why = "stopping criteria" if period else "maximum number of iterations"
    assert f"SGD terminated with the {why}\n" in log
    assert [ratio < params.get("delta", 0.0) for ratio in ratios] == [False] * (len(ratios) - 1) + [True] * bool(period)
    updates = [int(n) for n in re.findall(r"Total number of feature updates: (\d+)", log)]
    assert updates == [60 * k for k in range(1, len(losses) + 1)]
    assert period or len(losses) == 6


@pytest.mark.parametrize(
    ("params", "last"),
    [
        ({"max_iterations": 3}, 3),
        ({"epsilon": 0.5}, None),
        ({"c2": 500.0, "epsilon": 0.05}, None),  # weights of a norm below 1
        ({"period": 2, "delta": 0.2}, None),
        ({"delta": 1e9}, 10),
    ],
    ids=str,
)
def test_each_limit_stops_after_as_many_iterations_as_in_crfsuite(params, last):
    ours, theirs = (trained(module, params).logparser.last_iteration for module in (Trainer, peer.Trainer))
    assert ours["num"] == theirs["num"]
    assert last is None or ours["num"] == last


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_a_holdout_group_is_scored_as_crfsuite_scores_it(algorithm, tmp_path):
    path = str(tmp_path / "model")
    trainer = trained(Trainer, {"max_iterations": 4}, algorithm=algorithm, holdout=1, path=path)
    iterations = trainer.logparser.iterations
    held = range(0, 60, 5)
    tagger = peer.Tagger()
    tagger.open(path)
    found = [tagger.tag(peer.ItemSequence(X[number])) for number in held]
    pairs = [pair for number, labels in zip(held, found, strict=True) for pair in zip(labels, Y[number], strict=True)]
    right = sum(label == truth for label, truth in pairs)
    last = iterations[-1]
    assert float(last["item_accuracy"]) == right / len(pairs)
    assert last["item_accuracy_float"] == float(last["item_accuracy"])
    assert {"avg_f1", "instance_accuracy"} <= set(iterations[0])
    assert sum(score.ref for score in last["scores"].values()) == len(pairs)
    # All labels, those of the held out group alone among them, in the order in which they first appear.
    assert list(last["scores"]) == list(dict.fromkeys(label for y in Y for label in y))


def test_scores_of_labels_follow_from_their_counts():
    last = trained(Trainer, {"max_iterations": 3}, holdout=1).logparser.last_iteration
    means = [0.0, 0.0, 0.0]
    for score in last["scores"].values():
        if score.ref:
            right, guessed, true = score[:3]
            of_label = right / guessed if guessed else 0.0, right / true, 2.0 * right / (guessed + true)
            assert score[3:] == pytest.approx(of_label, abs=6e-5)
            means = [mean + value / len(last["scores"]) for mean, value in zip(means, of_label, strict=True)]
        else:
            assert score[3:] == (None, None, None)
    assert [last[f"avg_{name}"] for name in ("precision", "recall", "f1")] == pytest.approx(means, abs=1e-6)
    assert 0.0 < last["avg_f1"] < 1.0


def test_a_memory_or_a_line_search_of_nothing_is_one_of_one():
    def course(**params):
        iterations = trained(Trainer, {"c2": 1e-3, "max_iterations": 24, **params}, n=20).logparser.iterations
        return [each["loss"] for each in iterations], max(each["linesearch_trials"] for each in iterations)

    assert course(num_memories=0) == course(num_memories=-3) == course(num_memories=1) != course(num_memories=2)
    few = [course(max_linesearch=most) for most in (0, 1, 2)]
    assert few[0] == few[1] != few[2]
    assert [trials for _, trials in few] == [1, 1, 2]


def test_a_group_without_sequences_is_scored_too():
    last = trained(Trainer, {"max_iterations": 1}, holdout=7).logparser.last_iteration
    assert last["item_accuracy"] is None
    assert last["avg_f1"] == 0.0


@pytest.mark.parametrize("params", [{}, {"c1": 0.5}], ids=str)
def test_python_crfsuite_tags_with_our_file_as_with_its_own(params, tmp_path):
    tight = {**params, "epsilon": 1e-7, "delta": 1e-9}
    found = []
    for name, module in (("ours", Trainer), ("theirs", peer.Trainer)):
        trained(module, tight, path=str(tmp_path / name))
        tagger = peer.Tagger()
        tagger.open(str(tmp_path / name))
        found.append(([tagger.tag(peer.ItemSequence(x)) for x in X], tagger.labels()))
    assert found[0] == found[1]


def test_a_model_says_how_many_features_are_stored(tmp_path):
    path = str(tmp_path / "model")
    trainer = trained(Trainer, {"c1": 1.0, "max_iterations": 20}, path=path)
    log = "".join(trainer.logparser.log)
    model = ChainModel.open(path)
    active = trainer.logparser.last_iteration["active_features"]
    assert f"Number of active features: {active} ({trainer.logparser.featgen_num_features})" in log
    assert f"Number of active attributes: {model.n_attributes} (" in log
    assert trainer.logparser.storing_seconds is not None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parameters_are_crfsuites(algorithm):
    ours, theirs = Trainer(algorithm), peer.Trainer(algorithm)
    assert ours.params() == theirs.params()
    assert ours.get_params() == theirs.get_params()
    assert {name: type(value) for name, value in ours.get_params().items()} == {
        name: type(value) for name, value in theirs.get_params().items()
    }
    ours.set_params(ours.get_params())
    assert ours.get_params() == theirs.get_params()
    assert all(ours.help(name).endswith(".") for name in ours.params())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("c2", "0.25"),
        ("c2", 3),
        ("feature.possible_states", True),
        ("feature.possible_states", "1"),
        ("max_iterations", "7"),
        ("max_iterations", 7.0),
        ("linesearch", "Backtracking"),
        ("c1", False),
    ],
)
def test_a_value_is_read_as_crfsuite_reads_it(name, value):
    values = []
    for module in (Trainer, peer.Trainer):
        trainer = module()
        trainer.set(name, value)
        values.append(trainer.get(name))
    assert values[0] == values[1]
    assert type(values[0]) is type(values[1])


def test_a_value_keeps_all_its_digits():
    trainer = Trainer(params={"epsilon": 1e-9})
    assert trainer.get("epsilon") == 1e-9


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_online_learners_label_about_as_well_as_crfsuites(algorithm, tmp_path):
    """On sentences that were not trained on; both shuffle, each in its own way."""
    rights = []
    for name, module in (("ours", Trainer), ("theirs", peer.Trainer)):
        trained(module, {"max_iterations": 20}, n=40, algorithm=algorithm, path=str(tmp_path / name))
        tagger = peer.Tagger()
        tagger.open(str(tmp_path / name))
        pairs = [
            pair for x, y in zip(X, Y, strict=True) for pair in zip(tagger.tag(peer.ItemSequence(x)), y, strict=True)
        ]
        rights.append(sum(label == truth for label, truth in pairs) / len(pairs))
    assert rights[0] == pytest.approx(rights[1], abs=0.03)


def test_an_option_of_an_online_learner_has_its_range():
    with pytest.raises(ValueError, match="gamma"):
        trained(Trainer, {"gamma": -1.0}, n=3, algorithm="arow")


def test_selecting_brings_the_defaults_back():
    trainer = Trainer("LBFGS", {"c2": 7})
    trainer.select("l2sgd")
    assert trainer.get("c2") == 1.0
    trainer.select("AP")
    assert "c2" not in trainer.params()


@pytest.mark.parametrize(
    "call",
    [
        lambda trainer: trainer.select("foo"),
        lambda trainer: trainer.select("lbfgs", "tree"),
        lambda trainer: trainer.set("foo", 5),
        lambda trainer: trainer.get("foo"),
        lambda trainer: trainer.help("foo"),
        lambda trainer: trainer.append([["a"], ["b"]], ["A"]),
        lambda trainer: trainer.append([["a"]], ["A", "B"]),
    ],
)
def test_mistakes_are_value_errors_as_in_python_crfsuite(call):
    for module in (Trainer, peer.Trainer):
        with pytest.raises(ValueError, match=r".+"):
            call(module())


@pytest.mark.parametrize(
    ("items", "labels"),
    [([["a"]], [1]), ([["a"]], [None]), ([[1]], ["A"]), ([3], ["A"]), (3, ["A"]), ([{"a": None}], ["A"])],
)
def test_other_types_are_type_errors_as_in_python_crfsuite(items, labels):
    for module in (Trainer, peer.Trainer):
        with pytest.raises(TypeError):
            module().append(items, labels)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="finite"):
        Trainer().append([{"a": value}], ["A"])


def test_a_number_in_words_is_refused():
    with pytest.raises(ValueError, match="max_iterations='many' is not a number"):
        Trainer(params={"max_iterations": "many"})


def test_a_refused_sequence_leaves_nothing_behind():
    trainer, clean = (Trainer("lbfgs", {"max_iterations": 5}, verbose=False) for _ in range(2))
    for number, (x, y) in enumerate(zip(X[:5], Y[:5], strict=True)):
        for each in (trainer, clean):
            each.append(x, y)
        with pytest.raises(ValueError, match="numbers of items and labels differ"):
            trainer.append(x, y[:-1])
        with pytest.raises(TypeError):
            trainer.append([*x[: number + 1], 3], y[: number + 2])
    trainer.train("")
    clean.train("")
    assert trainer.logparser.last_iteration["loss"] == clean.logparser.last_iteration["loss"]
    assert trainer.logparser.featgen_num_features == clean.logparser.featgen_num_features


def test_items_are_read_when_they_are_appended():
    trainer = Trainer("lbfgs", {"max_iterations": 2}, verbose=False)
    item, labels = {"a": 1.0}, ["A", "B"]
    trainer.append([item, ["b"]], labels)
    before = trainer.logparser
    item["c"], labels[0] = 5.0, "Z"
    trainer.train("")
    assert before is None
    assert trainer.logparser.featgen_num_features == 3


def test_sequences_can_be_appended_after_a_training():
    params = {"max_iterations": 6}
    twice = Trainer("lbfgs", params, verbose=False)
    for x, y in zip(X[:10], Y[:10], strict=True):
        twice.append(x, y)
    twice.train("")
    first = twice.logparser.last_iteration["loss"]
    twice.train("")
    assert twice.logparser.last_iteration["loss"] == first
    for x, y in zip(X[10:20], Y[10:20], strict=True):
        twice.append(x, y)
    twice.train("")
    # Losses are printed with six decimals.
    once = trained(Trainer, params, n=20).logparser.last_iteration
    assert twice.logparser.last_iteration["loss"] == once["loss"]
    twice.clear()
    twice.train("")
    assert twice.logparser.featgen_num_features == 0


def test_nothing_to_train_on_gives_an_empty_model(tmp_path):
    files = []
    for name, module in (("ours", Trainer), ("theirs", peer.Trainer)):
        module(verbose=False).train(str(tmp_path / name))
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_no_feature_and_no_item_are_no_errors(algorithm, tmp_path):
    trainer = trained(Trainer, {"feature.minfreq": 1e9}, algorithm=algorithm, path=str(tmp_path / "m"))
    assert trainer.logparser.featgen_num_features == 0
    empty = Trainer(algorithm, verbose=False)
    empty.append([], [])
    empty.append([[], []], ["A", "B"])
    empty.train("")
    assert empty.logparser.featgen_num_features == 1


def test_no_file_is_written_for_an_empty_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trainer = trained(Trainer, {"max_iterations": 1}, n=3)
    assert os.listdir() == []
    assert trainer.logparser.events[-1][0] == "iteration"


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        trained(Trainer, {"max_iterations": 1}, n=3, path=str(tmp_path / "nowhere" / "model"))


@pytest.mark.parametrize("kind", [os.fsencode, str, lambda path: path], ids=["bytes", "str", "path"])
def test_a_name_is_str_bytes_or_path(kind, tmp_path):
    trained(Trainer, {"max_iterations": 1}, n=3, path=kind(tmp_path / "модель"))
    assert (tmp_path / "модель").read_bytes()[:4] == b"lCRF"


def test_subclasses_hear_messages_without_calling_init():
    class Listening(Trainer):
        def __init__(self):
            self.heard = []

        def message(self, message):
            self.heard.append(message)

    trainer = Listening()
    trainer.append([["a"], ["b"]], ["A", "B"])
    assert trainer.heard == []
    trainer.train("")
    assert "type: CRF1d\n" in trainer.heard


def test_each_event_has_its_method(capsys, tmp_path):
    heard = []

    class Hooked(Trainer):
        def on_iteration(self, log, info):
            heard.append((log.splitlines()[0], info["num"]))

        def on_featgen_progress(self, log, percent):
            heard.append(percent)

    trainer = Hooked("lbfgs", {"max_iterations": 2})
    trainer.append([["a"], ["b"]], ["A", "B"])
    trainer.train(str(tmp_path / "m"))
    assert heard[:51] == list(range(0, 101, 2))
    assert heard[51:] == [("***** Iteration #1 *****", 1), ("***** Iteration #2 *****", 2)]
    printed = capsys.readouterr().out
    assert printed.startswith("Feature generation\n")
    assert "L-BFGS optimization\n" in printed
    assert printed.endswith("\n\n")


def test_silence_is_silent(capsys):
    trained(Trainer, {"max_iterations": 2}, n=3)
    assert capsys.readouterr().out == ""


def test_a_base_trainer_prints_what_it_hears(capsys):
    trainer = BaseTrainer("lbfgs", {"max_iterations": 1})
    trainer.append([["a"], ["b"]], ["A", "B"])
    trainer.train("")
    assert "***** Iteration #1 *****\n" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "arow"])
def test_an_exception_in_a_message_comes_out(algorithm):
    class Broken(Trainer):
        def message(self, message):
            if message.startswith("Loss"):
                raise LookupError

    trainer = Broken(algorithm)
    trainer.append([["a"], ["b"]], ["A", "B"])
    with pytest.raises(LookupError):
        trainer.train("")


def test_ctrl_c_ends_the_training_without_a_model(tmp_path):
    code = """if True:
        import sys
        from loglinear.compat.pycrfsuite import Trainer

        class Slow(Trainer):
            def on_iteration(self, log, info):
                print("iteration", flush=True)

        trainer = Slow("l2sgd", {"max_iterations": 10**8, "delta": -1.0})
        trainer.append([["a"], ["b"], ["a"]], ["A", "B", "B"])
        try:
            trainer.train(sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted")
    """
    path = tmp_path / "model"
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "iteration\n":
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=patience(30))[0].endswith("interrupted\n")
    assert not path.exists()


def test_importing_it_needs_no_numpy():
    code = "import sys, loglinear.compat.pycrfsuite; print({'numpy', 'scipy', 'sklearn'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=patience(60)
    )
    assert done.stdout == "set()\n"


def test_group_0_can_be_held_out(tmp_path):
    heard = []

    class Listening(BaseTrainer):
        def message(self, message):
            heard.append(message)

    trainer = Listening("lbfgs", {"max_iterations": 2})
    for group in (0, 1, 1):
        trainer.append([["a"], ["b"]], ["A", "B"], group)
    trainer.train(str(tmp_path / "m"), 0)
    assert "Holdout group: 1\n" in heard


def test_l2sgd_keeps_the_weights_of_the_lowest_loss(monkeypatch):
    def passes(problem, solver, callbacks):
        for k, loss in enumerate([9.0, 3.0, 1.0, 2.0]):
            record = SimpleNamespace(iteration=k, objective=loss)
            callbacks[0](record, SimpleNamespace(w=np.full(2, float(k))))
        return SimpleNamespace(status=None)

    monkeypatch.setattr(_training, "minimize", passes)
    monkeypatch.setattr(_training, "Problem", lambda objective, penalty: None)
    options = {"max_iterations": 10, "period": 5, "delta": 0.0, "c2": 1.0}
    messages = mock.MagicMock()
    objective = SimpleNamespace(n_features=2, n_samples=1)
    w = _training._l2sgd(objective, "l2sgd", options, messages, lambda w: None)
    np.testing.assert_array_equal(w, [2.0, 2.0])
    messages.line.assert_any_call("Loss: 1.000000")
