"""Every kind of model beside every command: each pair has an answer, or a refusal that says what to do instead."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from loglinear import (
    ChainCRF,
    ConditionalLogit,
    GraphCRF,
    MaxEnt,
    ModelFileError,
    OptionError,
    PairwiseMRF,
    TextClassifier,
    grid_edges,
)
from loglinear.cli.kinds import opened
from loglinear.cli.kinds.kind import Kind
from loglinear.cli.main import COMMANDS, command_parser
from loglinear.models.files.schema import KINDS, PROGRAMS

REAL = Path(__file__).parents[1] / "models"
X, Y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]], [["D", "N"], ["D", "N"]]


def chain(folder):
    ChainCRF().fit(X, Y).save(folder / "chain")
    (folder / "data.crfsuite").write_text("D\tw=the\nN\tw=dog\n\n")
    return folder / "chain", folder / "data.crfsuite"


def maxent(folder):
    MaxEnt().fit([["w=the"], ["w=dog"]], ["D", "N"]).save(folder / "maxent")
    return folder / "maxent", chain(folder)[1]


def texts(folder):
    texts = ["buy now", "see you", "buy pills", "you see"]
    TextClassifier().fit(texts, ["spam", "ham"] * 2).save(folder / "texts")
    (folder / "data.tsv").write_text("spam\tbuy this\nham\tsee you\n")
    return folder / "texts", folder / "data.tsv"


def choice(folder):
    X, y, groups = [[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 1.0]], [1, 0, 0, 1], [0, 0, 1, 1]
    ConditionalLogit().fit(X, y, groups).save(folder / "choice")
    return folder / "choice", network(folder)[1]


def network(folder):
    rows = [["a", "x"], ["a", "x"], ["b", "y"], ["b", "y"]] * 10 + [["a", "y"]]
    PairwiseMRF(l1=0.1).fit(rows).save(folder / "network")
    (folder / "data.csv").write_text("x1,x2\n" + "".join(f"{a},{b}\n" for a, b in [*rows, ["a", ""]]))
    return folder / "network", folder / "data.csv"


def graph(folder):
    nodes = np.random.default_rng(0).normal(size=(6, 2))
    GraphCRF(l2=1.0).fit([(nodes, grid_edges(2, 3))], [[0, 1, 1, 0, 0, 1]]).save(folder / "graph")
    return folder / "graph", network(folder)[1]


def crfsuite(folder):
    ChainCRF().fit(X, Y).export(folder / "crfsuite", "crfsuite")
    return folder / "crfsuite", chain(folder)[1]


# Kind -> the function that writes a model and labelled data for it.
MAKERS = {
    "chain": chain,
    "maxent": maxent,
    "texts": texts,  # in files a kind of maxent
    "network": network,
    "graph": graph,
    "choice": choice,
    "crfsuite": crfsuite,
    "wapiti": lambda folder: (REAL / "wapiti" / "model.txt", REAL / "wapiti" / "train.txt"),
    "crf++": lambda folder: (REAL / "crfpp" / "model", REAL / "crfpp" / "train.txt"),
    "crf++-text": lambda folder: (REAL / "crfpp" / "model.txt", REAL / "crfpp" / "train.txt"),
}


def reads(command):
    """The arguments of a command that are files to read."""
    return set(importlib.import_module(f"loglinear.cli.commands.{command}").READS)


def question(command):
    """The arguments that a command cannot do without, with MODEL, DATA and OUT for files."""
    module, parser = command_parser(command)
    words = []
    inputs = parser.get_default("inputs")
    if inputs is not None and inputs.model:
        words += ["MODEL"] if inputs.data is None else ["MODEL", "DATA"]
    for action in parser._actions:
        if action.dest != "places" and (action.required or not action.option_strings):
            read = "MODEL" if action.dest == "model" else "DATA"
            words += [*action.option_strings[:1], read if action.dest in module.READS else "OUT"]
    return " ".join(words)


# Command that reads a model -> its arguments.
QUESTIONS = {name: question(name) for name in COMMANDS if "model" in reads(name)} | {
    "train": "DATA --start MODEL -m OUT --max-iterations 1 -q",
    "convert": "MODEL OUT --to loglinear",
}
# A server does not end: it is asked with models that have no tokenizer, and refuses them all.
NO_TOKENIZER = {"serve": "add --tokenizer words"}
# What a refusal names; all other pairs of kind and command are answered.
REFUSALS = {
    **dict.fromkeys(["chain", "crfsuite", "wapiti", "crf++", "crf++-text"], NO_TOKENIZER),
    "maxent": {"train": "add --model-type maxent", "serve": "loglinear.MaxEnt"},
    "texts": {"train": "add --model-type maxent --format text", "serve": "loglinear.TextClassifier"},
    "network": {
        "serve": "loglinear.PairwiseMRF",
        "train": "loglinear structure",
        "rank": "only chains and classifiers rank data",
        "calibrate": "only chains and classifiers have a temperature",
    },
    "graph": {
        **dict.fromkeys(["train", "tag", "evaluate", "report", "serve"], "loglinear.GraphCRF"),
        "explain": "loglinear inspect",
        "convert": "only chains, classifiers and networks have other formats",
        "rank": "only chains and classifiers rank data",
        "calibrate": "only chains and classifiers have a temperature",
    },
    "choice": {
        **dict.fromkeys(["train", "tag", "evaluate", "explain", "report", "serve"], "loglinear.ConditionalLogit"),
        "convert": "only chains, classifiers and networks have other formats",
        "rank": "only chains and classifiers rank data",
        "calibrate": "only chains and classifiers have a temperature",
    },
}


@pytest.fixture(scope="module", params=MAKERS)
def model(request, tmp_path_factory):
    """Kind of a model, its file, and labelled data."""
    return request.param, *MAKERS[request.param](tmp_path_factory.mktemp("kinds"))


def test_every_kind_and_format_of_models_and_every_command_that_reads_one_is_here():
    assert set(MAKERS) == {*KINDS, *PROGRAMS, "texts"}
    assert set(QUESTIONS) == {name for name in COMMANDS if {"model", "start"} & reads(name)}


@pytest.mark.parametrize("command", QUESTIONS)
def test_every_command_answers_every_model_or_names_what_does(model, command, run, tmp_path):
    kind, path, data = model
    places = {"MODEL": path, "DATA": data, "OUT": tmp_path / "out"}
    finished = run(command, *(places.get(word, word) for word in QUESTIONS[command].split()))
    refusal = REFUSALS.get(kind, {}).get(command)
    if refusal is None:
        assert finished.returncode == 0, finished.stderr
        assert finished.stdout or (tmp_path / "out").stat().st_size
    else:
        assert (finished.returncode, finished.stdout, (tmp_path / "out").exists()) == (2, "", False)
        assert finished.stderr.count("\n") == 1
        assert str(path) in finished.stderr
        assert refusal in finished.stderr


@pytest.mark.parametrize("command", [name for name in COMMANDS if reads(name) and name not in QUESTIONS])
def test_no_command_takes_a_model_for_data(model, command, misuse, tmp_path):
    _, path, _ = model
    flags = {flag for action in command_parser(command)[1]._actions for flag in action.option_strings}
    output = ["-o", tmp_path / "out"] if command == "encode" else []
    assert str(path) in misuse(command, path, *output, *(["--preset", "pos"] if "--preset" in flags else []))


@pytest.mark.parametrize("model", [*KINDS, "texts"], indirect=True)
@pytest.mark.parametrize("command", QUESTIONS)
def test_a_damaged_file_is_called_damaged_whatever_its_kind(model, command, run, tmp_path):
    _, path, data = model
    damaged = tmp_path / "damaged"
    damaged.write_bytes(path.read_bytes() + b"junk")
    places = {"MODEL": damaged, "DATA": data, "OUT": tmp_path / "out"}
    finished = run(command, *(places.get(word, word) for word in QUESTIONS[command].split()))
    assert (finished.returncode, finished.stdout) == (2, "")
    assert f"{damaged}: " in finished.stderr
    assert "damaged or cut short" in finished.stderr


@pytest.mark.parametrize("model", ["maxent"], indirect=True)
@pytest.mark.parametrize("options", [["--constraints", "BIO"], ["--n-best", "2"]])
def test_a_classifier_refuses_options_of_sequences(model, options, misuse):
    _, path, data = model
    assert f"leave out {options[0]}" in misuse("tag", "--model", path, data, *options)


def test_a_kind_that_answers_nothing_refuses_everything_with_its_class():
    class New(Kind):
        called, estimator = "a model of dreams", "Dreamer"

    kind = New("dreams")
    asked = {name: getattr(kind, name) for name in ("tag", "evaluate", "explain", "report")}
    for name, ask in {**asked, "inspect": lambda _: kind.inspect(top=1, as_json=False)}.items():
        with pytest.raises(
            OptionError,
            match=f"dreams is a model of dreams, which `loglinear {name}` does not support; use loglinear.Dreamer",
        ):
            ask(None)


READERS = {
    "chain": ChainCRF,
    "maxent": MaxEnt,
    "network": PairwiseMRF,
    "graph": GraphCRF,
    "choice": ConditionalLogit,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_a_reader_of_one_kind_says_of_a_file_which_other_kind_it_is(kind, other, tmp_path):
    path, _ = MAKERS[kind](tmp_path)
    if kind == other:
        assert isinstance(READERS[kind].load(path), READERS[kind])
        return
    (called, estimator), (wanted, _) = KINDS[kind], KINDS[other]
    assert READERS[kind].__name__ == estimator
    with pytest.raises(
        ModelFileError, match=re.escape(f"{path}: {called}, not {wanted}; open it with loglinear.{estimator}")
    ):
        READERS[other].load(path)


def test_inspect_shows_the_weights_of_graphs(done, tmp_path):
    rng = np.random.default_rng(1)
    X = [(rng.normal(size=(6, 2)), grid_edges(2, 3), rng.normal(size=(7, 2))) for _ in range(4)]
    y = [rng.choice(["a", "b", "c"], size=6) for _ in X]
    for symmetric, inference, named in ((False, "auto", "exact"), (True, "loopy_bp", "loopy_bp")):
        crf = GraphCRF(l1=0.5, symmetric=symmetric, inference=inference).fit(X, y)
        crf.save(tmp_path / "m")
        report = json.loads(done("inspect", tmp_path / "m", "--json", "--top", "100").stdout)
        assert report["labels"] == ["a", "b", "c"]
        found = {(each["attribute"], each["label"]): each["weight"] for each in report["top_states"]}
        weights = np.ndenumerate(crf.node_weights_)
        assert found == {(f"node feature {k}", "abc"[at]): weight for (k, at), weight in weights if weight}
        moves = {(each["attribute"], each["from"], each["label"]): each["weight"] for each in report["top_transitions"]}
        weights = np.ndenumerate(crf.edge_weights_)
        assert moves == {
            (f"edge feature {k}", "abc"[a], "abc"[b]): weight
            for (k, a, b), weight in weights
            if weight and (a <= b or not symmetric)
        }
        assert report["n_active"] == len(found) + len(moves) == np.count_nonzero(crf._w)
        assert (report["l1"], report["status"]) == (0.5, crf.result_.status.name.lower())
        shown = done("inspect", tmp_path / "m", "--top", "1").stdout
        assert f"active features  {report['n_active']}, on 4 attributes\nlabels           3: a b c\n" in shown
        assert f"l1 0.5, l2 0, inference {named}\n" in shown
        assert "                 on 4 samples\nended            converged" in shown
        strongest = max(found, key=lambda name: abs(found[name]))
        assert f"strongest attributes\n{found[strongest]:+10.4f}  {strongest[0]}" in shown


def test_inspect_shows_the_weights_of_choices(done, tmp_path):
    path, _ = choice(tmp_path)
    report = json.loads(done("inspect", path, "--json").stdout)
    weights = {each["attribute"]: each["weight"] for each in report["top_states"]}
    assert weights == {f"column {at}": w for at, w in enumerate(ConditionalLogit.load(path).coef_)}
    shown = done("inspect", path).stdout
    assert "active features  2 of 2, on 2 columns\n" in shown
    assert "on 2 samples" in shown


@pytest.mark.parametrize("kind", ["texts", "network"])
@pytest.mark.parametrize("question", ["tag --constraints none", "tag --n-best 2", "evaluate --format columns"])
def test_options_that_a_kind_does_not_have_are_refused_by_name(kind, question, misuse, tmp_path):
    path, data = MAKERS[kind](tmp_path)
    command, option, value = question.split()
    said = misuse(command, "-m", path, data, option, value)
    assert said.startswith(f"{path} is ")
    assert said.endswith(f"; leave out {option}")


def test_kinds_are_told_apart_in_one_place():
    sources = (Path(__file__).parents[2] / "src").rglob("*.py")
    asking = [path.name for path in sources if re.search(r"\bkind_of\(.*\) *[!=]= *[\"']", path.read_text("utf-8"))]
    assert asking == []
    assert opened.__module__ == "loglinear.cli.kinds"
