"""`loglinear train` with workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from argparse import Namespace

import numpy as np
import pytest

from loglinear import ChainCRF, ChainFeatures, Corpus, MaxEnt
from loglinear.cli.distributed import _part_bytes
from loglinear.data.parts import cut
from loglinear.models.training.chain import DevSet, train_chain
from loglinear.models.training.options import DevOptions, SolverOptions
from loglinear.objectives.parts import ChainParts
from oracles.patience import patience
from oracles.samples import chunky

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    """A folder of fifty files."""
    X, y = chunky(200)
    (tmp_path / "data").mkdir()
    for number in range(50):
        rows = zip(X[number::50], y[number::50], strict=True)
        lines = [json.dumps({"tokens": tokens, "labels": labels}) + "\n" for tokens, labels in rows]
        (tmp_path / "data" / f"part-{number:02d}.jsonl").write_text("".join(lines))
    return tmp_path / "data"


def command(*arguments):
    """A command line that runs `loglinear train`."""
    return [sys.executable, "-m", "loglinear", "train", *map(str, arguments)]


def ended(*arguments):
    return subprocess.run(command(*arguments), check=False, capture_output=True, text=True, timeout=patience(120))


def test_a_folder_of_files_one_command_a_model(folder, tmp_path):
    model = tmp_path / "model"
    done = ended(
        folder, "--workers", 2, "--l2", 2, "--model", model, "--dev", folder / "part-00.jsonl", "--part-mb", 0.004
    )
    assert done.returncode == 0, done.stderr
    parts = cut(folder, part_bytes=int(0.004 * 2**20))
    assert 5 < len(parts) < 50
    assert f"{len(parts)} parts for 2 workers" in done.stderr
    assert "200 sentences" in done.stderr
    assert "slowest at part" in done.stderr
    assert "Traceback" not in done.stderr
    expected, _ = train_chain(ChainParts(parts), SolverOptions(l2=2.0))
    found = ChainCRF.load(model).model_
    weights = [sorted(each.state_features()) for each in (found, expected)]
    assert weights[0] == weights[1]
    assert np.isfinite([weight for *_, weight in weights[0]]).all()


@pytest.mark.parametrize("options", [["--keep", "best"], ["--multi-class", "ovr", "--min-count", "3"]], ids=" ".join)
def test_workers_train_a_classifier_as_one_process_does(folder, tmp_path, options):
    flags = ["--model-type", "maxent", "--solver", "lbfgs", "--l2", 0.5, "--tolerance", 1e-9, "--max-iterations", 7]
    flags += [*options, "--dev", folder / "part-00.jsonl"] if "--keep" in options else options
    (tmp_path / "all.jsonl").write_text("".join(path.read_text() for path in sorted(folder.iterdir())))
    for data, *more in ([folder, "--workers", 2, "--part-mb", 0.004], [tmp_path / "all.jsonl"]):
        trace = tmp_path / f"trace{len(more)}"
        done = ended(data, *flags, *more, "--model", tmp_path / str(len(more)), "--trace", trace)
        assert done.returncode == 0, done.stderr
        assert ("2 workers; dashboard" in done.stderr) == ("slowest at part" in done.stderr) == bool(more)
        assert len(trace.read_text().splitlines()) > 2
        assert "Traceback" not in done.stderr
    there, here = (MaxEnt.load(tmp_path / name) for name in ("4", "0"))
    assert sorted(there.attributes_) == sorted(here.attributes_)
    assert there.classes_.tolist() == here.classes_.tolist()
    order = [there.attributes_.index(name) for name in here.attributes_]
    np.testing.assert_allclose(there.coef_[:, order], here.coef_, rtol=1e-5, atol=1e-7)


def spans(n, seed, *, scheme):
    """Lines of sentences with weights, some of them without a known label, in a tagging scheme or in none."""
    X, y = chunky(n, seed)
    rng = np.random.default_rng(seed)
    named = {"A": "O", "B": "B-X", "C": "I-X"} if scheme else {"A": "A", "B": "B", "C": "C"}
    lines = []
    for tokens, letters in zip(X, y, strict=True):
        labels = [named[letter] if rng.random() < 0.8 else named["B"] for letter in letters]
        for at in range(len(labels)):
            before = labels[at - 1] if at else named["A"]
            labels[at] = "B-X" if scheme and labels[at] == "I-X" and before == "O" else labels[at]
        lines.append({"tokens": tokens, "labels": labels, "weight": float(rng.integers(1, 5)) / 2})
    return lines


def described(model):
    """The settings of a model but for the time of the training, and its weights by name."""
    found = ChainCRF.load(model)
    settings = json.loads(found.model_.settings)
    assert settings["training"].pop("seconds") > 0
    weights = {str(key): w for *key, w in found.model_.state_features()}
    weights |= {str(key): w for *key, w in found.model_.transition_features()}
    return settings, weights


def warnings_of(finished, names):
    """The warnings of a command, with one name for the training data."""
    said = [line for line in finished.stderr.splitlines() if line.startswith("warning: ")]
    for name in names:
        said = [line.replace(str(name), "TRAIN") for line in said]
    return sorted(said)


@pytest.mark.parametrize("scheme", [True, False])
def test_workers_give_the_model_and_the_warnings_of_one_process(tmp_path, scheme):
    lines = spans(120, 1, scheme=scheme)
    for unknown in (7, 60):
        lines[unknown]["labels"] = [None] * len(lines[unknown]["labels"])
    (tmp_path / "parts").mkdir()
    for number in range(6):
        text = "".join(json.dumps(line) + "\n" for line in lines[20 * number : 20 * number + 20])
        (tmp_path / "parts" / f"{number}.jsonl").write_text(text)
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    dev = spans(60, 2, scheme=scheme)
    dev[5]["labels"][0] = "B-NEW" if scheme else "NEW"
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(line) + "\n" for line in dev))
    options = ["--partial", "--constraints", "auto", "--dev", tmp_path / "dev.jsonl", "--patience", 2]
    options += ["--solver", "lbfgs", "--l2", 0.001, "--max-iterations", 40]
    size = (tmp_path / "all.jsonl").stat().st_size / 2**20
    here = ended(tmp_path / "all.jsonl", *options, "--model", tmp_path / "here")
    there = ended(tmp_path / "parts", "--workers", 2, "--part-mb", size / 4, *options, "--model", tmp_path / "there")
    for finished in (here, there):
        assert finished.returncode == 0, finished.stderr
    said = warnings_of(here, [tmp_path / "all.jsonl"])
    assert warnings_of(there, [tmp_path / "parts"]) == said
    expected = ["2 of 120 sentences have no known label", f"{tmp_path / 'dev.jsonl'} has labels that TRAIN has not"]
    expected += [] if scheme else ["constraints='auto': the labels do not follow a tagging scheme"]
    assert len(said) == len(expected)
    assert all(any(line.startswith(f"warning: {start}") for line in said) for start in expected), said

    settings, weights = zip(*(described(tmp_path / name) for name in ("here", "there")), strict=True)
    training = [each.pop("training") for each in settings]
    assert settings[0] == settings[1]
    assert settings[0]["constraints"] == ("BIO" if scheme else None)
    assert training[0]["status"] == "dev_score_turned"
    for name in ("status", "iterations", "kept", "dev", "n_sentences", "n_tokens", "n_features"):
        assert training[0][name] == training[1][name]
    assert training[1]["objective"] == pytest.approx(training[0]["objective"], rel=1e-10)
    assert weights[1] == pytest.approx(weights[0], rel=1e-6, abs=1e-9)

    parts = cut(tmp_path / "parts", partial=True, part_bytes=int(size / 4 * 2**20))
    assert len(parts) > 2
    use = DevOptions(patience=2)
    data = ChainParts(parts, ChainFeatures(constraints="auto"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = SolverOptions(solver="lbfgs", l2=0.001, max_iterations=40)
        model, _ = train_chain(data, solver, dev=DevSet(Corpus.read(tmp_path / "dev.jsonl", partial=True), use))
    model.save(str(tmp_path / "one"))
    assert described(tmp_path / "one")[1] == weights[1]


def test_a_mistake_in_a_file_is_named_and_no_file_is_left(folder, tmp_path):
    (folder / "part-30.jsonl").write_text('{"tokens": [["a"]], "labels": ["A"]}\n{"tokens": 3}\n')
    done = ended(folder / "part-*.jsonl", "--workers", 1, "--model", tmp_path / "model")
    assert done.returncode == 2
    assert "part-30.jsonl, line 2" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.jsonl", "b.jsonl"], "a.jsonl: No such file"),
        (["*.none"], "no such file"),
        (["a.jsonl", "--workers", "2", "--cluster", "tcp://here:1"], "exclude each other"),
        (["a.jsonl", "--part-mb", "4"], "--part-mb needs --workers or --cluster"),
        (["a.jsonl", "--workers", "0"], "workers=0 is not a whole number"),
        (["a", "--workers", "2", "--model-type", "maxent", "--format", "text"], "cannot read texts"),
        (
            ["a.jsonl", "--workers", "2", "--model-type", "maxent", "--partial"],
            "--partial is not available",
        ),
        (["a.jsonl", "--workers", "2", "--model-type", "maxent", "--order", "2"], "--order"),
    ],
)
def test_misuse_is_a_clear_error(arguments, message, tmp_path):
    done = ended(*arguments, "--model", tmp_path / "model")
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_ctrl_c_in_a_terminal_keeps_the_weights_reached(folder, tmp_path):
    # A terminal sends Ctrl-C to all processes of the group: the workers too.
    given = [folder, "--workers", 2, "--l1", 0.01, "--model", tmp_path / "model", "-p", "tolerance=1e-16"]
    program = subprocess.Popen(
        command(*given), stderr=subprocess.PIPE, text=True, start_new_session=True, stdin=subprocess.DEVNULL
    )
    for line in program.stderr:
        if "iteration" in line:
            break
    time.sleep(0.5)
    os.killpg(program.pid, signal.SIGINT)
    _, rest = program.communicate(timeout=patience(30))
    assert program.returncode == 1, rest
    assert "with the weights reached so far" in rest
    assert sorted(ChainCRF.load(tmp_path / "model").classes_) == ["A", "B", "C"]


@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_development_data_may_lack_the_weights_of_the_training_data(tmp_path, kind):
    rows = [("Ann", "B-PER", 2), ("left", "O", 1), ("Oslo", "B-LOC", 3), ("is", "O", 0)]
    (tmp_path / "template").write_text("U0:%x[0,0]\nU1:%x[1,0]\n")
    (tmp_path / "whole").write_text("".join(f"{c} {w} {label}\n\n" for w, label, c in rows))
    (tmp_path / "unweighted").write_text("".join(f"{w} {label}\n\n" for w, label, _ in rows))
    flags = ("--template", tmp_path / "template", "--weight-column", 0, "--model-type", kind, "--workers", 1)
    for name in ("whole", "unweighted"):
        done = ended(tmp_path / "whole", *flags, "--dev", tmp_path / name, "-m", tmp_path / f"m-{name}")
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr
    models = [(tmp_path / f"m-{name}").read_bytes() for name in ("whole", "unweighted")]
    assert len(models[0]) == len(models[1])


def test_a_part_has_16_mib_unless_part_mb_says_otherwise():
    assert [_part_bytes(Namespace(part_mb=mb)) for mb in (None, 0.5, 1e-9)] == [16 * 2**20, 2**19, 1]
