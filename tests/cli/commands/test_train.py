"""Laws of `loglinear train`."""

from __future__ import annotations

import gzip
import json
import os
import re
import select
import signal
import subprocess
import time
from array import array

import pytest

import loglinear
from examples import by_day
from loglinear import _core
from loglinear.solvers import SOLVERS
from oracles.command_line import COMMAND, TEMPLATE, Interruptible, run_command, until
from oracles.patience import patience

KEYS = ["iteration", "passes", "gradient_evaluations", "seconds", "objective", "nll", "nnz", "violation"]

posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


def features(path):
    model = _core.ChainModel.open(os.fspath(path))
    return model.state_features(), model.transition_features(), model.bigram_features()


def test_help_shows_an_example(done):
    shown = done("train", "--help").stdout
    assert "example: loglinear train" in shown
    for option in ("--preset", "--template", "--l1", "--l2", "--solver", "--threads", "--trace", "--dev", "--format"):
        assert option in shown


def test_messages_go_to_stderr_and_results_nowhere_else(done, tiny, tmp_path):
    finished = done("train", tiny, "--preset", "pos", "-m", tmp_path / "m")
    assert finished.stdout == ""
    assert "2 sentences, 4 tokens" in finished.stderr
    assert "\ndone: " in finished.stderr
    assert f"wrote {tmp_path / 'm'}" in finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "tiny.txt"]


def test_quiet_says_nothing(done, tiny, tmp_path):
    assert done("train", tiny, "--preset", "pos", "-m", tmp_path / "m", "--quiet").stderr == ""


def test_trace_has_the_keys_of_the_contract_and_agrees_with_inspect(done, sample, tmp_path):
    trace, model = tmp_path / "t.jsonl", tmp_path / "m"
    done("train", sample.train, "--preset", "pos", "--l1", "0.5", "-m", model, "--trace", trace, "--tolerance", "1e-2")
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    assert all(list(record) == KEYS for record in records)
    assert [record["iteration"] for record in records] == list(range(len(records)))
    objectives = [record["objective"] for record in records]
    assert all(objectives[k] <= max(objectives[max(k - 6, 0) : k]) for k in range(1, len(objectives)))
    passes = [record["passes"] for record in records]
    assert passes == sorted(passes)
    assert [record["gradient_evaluations"] for record in records] == passes
    report = json.loads(done("inspect", model, "--json").stdout)
    last = records[-1]
    assert report["n_active"] == last["nnz"]
    for name in ("objective", "nll", "violation", "passes"):
        assert report[name] == last[name]
    assert report["solver"] == "auto"
    assert report["chosen"].startswith("owlqn (")
    assert report["status"] == "converged"


def test_a_solver_is_chosen_by_default_and_told(done, tiny, tmp_path):
    for options, solver in (([], "lbfgs"), (["--l1", "0.1"], "owlqn"), (["--l1", "0.1", "--l2", "1"], "owlqn")):
        done("train", tiny, "--preset", "pos", "-m", tmp_path / "m", *options)
        report = json.loads(done("inspect", tmp_path / "m", "--json").stdout)
        assert report["solver"] == "auto"
        assert report["chosen"].startswith(f"{solver} (")
        assert f"auto chose {report['chosen']}\n" in done("inspect", tmp_path / "m").stdout


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["sgd_l1", "-p", "passes=3", "-p", "penalty=clipping_lazy"], "passes_made"),
        (["two_stage"], "converged"),
    ],
)
def test_stochastic_solvers_train_from_the_command_line(done, sample, tmp_path, options, status):
    common = ["train", sample.train, "--preset", "pos", "--l1", "0.5", "--solver", *options]
    for name, seed, threads in (("a", 1, 1), ("b", 1, 2), ("c", 2, 1)):
        done(*common, "-m", tmp_path / name, "--seed", str(seed), "--threads", str(threads))
    assert features(tmp_path / "a") == features(tmp_path / "b")
    assert features(tmp_path / "a") != features(tmp_path / "c")
    report = json.loads(done("inspect", tmp_path / "a", "--json").stdout)
    assert (report["solver"], report["status"]) == (options[0], status)
    assert 0 < report["n_active"] < report["n_features"]
    assert loglinear.ChainCRF.load(tmp_path / "a").random_state == 1


@pytest.mark.parametrize("penalty", [["--l1", "0.3"], ["--l2", "0.7"]])
def test_weights_are_bitwise_equal_on_one_thread_and_two(done, sample, tmp_path, penalty):
    for threads in (1, 2):
        model = tmp_path / f"m{threads}"
        done("train", sample.train, "--preset", "pos", *penalty, "--threads", str(threads), "-m", model,
             "--tolerance", "1e-3")  # fmt: skip
    one, two = features(tmp_path / "m1"), features(tmp_path / "m2")
    assert len(one[0]) > 100
    assert one == two


def test_command_line_and_python_train_the_same_model(done, sample, tmp_path):
    done("train", sample.train, "--preset", "pos", "--l1", "0.5", "-m", tmp_path / "m", "--tolerance", "1e-2")
    corpus = loglinear.Corpus.read(sample.train, template="pos")
    fitted = loglinear.ChainCRF(l1=0.5, tolerance=1e-2, template="pos").fit(corpus)
    loaded = loglinear.ChainCRF.load(tmp_path / "m")
    assert loaded.state_features_ == fitted.state_features_
    assert loaded.transition_features_ == fitted.transition_features_
    assert loaded.classes_ == fitted.classes_
    assert (loaded.l1, loaded.l2, loaded.solver, loaded.tolerance) == (0.5, 0.0, "auto", 1e-2)


def test_model_saved_in_python_serves_the_command_line(done, sample, tmp_path):
    words = [[row[0] for row in sentence] for sentence in sample.data["train"]]
    tags = [[row[2] for row in sentence] for sentence in sample.data["train"]]
    fitted = loglinear.ChainCRF(tolerance=1e-2, template="pos").fit(words, tags)
    fitted.save(tmp_path / "m")
    test = [[row[0] for row in sentence] for sentence in sample.data["test"]]
    tagged = done("tag", "-m", tmp_path / "m", "-f", "columns", sample.test).stdout
    predicted = [[line.split("\t")[-1] for line in block.split("\n")] for block in tagged.strip().split("\n\n")]
    assert predicted == fitted.predict(test)
    report = json.loads(done("inspect", tmp_path / "m", "--json").stdout)
    assert report["labels"] == fitted.classes_
    # Without --format such a model reads columns, as its template does, or JSON lines by the extension.
    assert done("tag", "-m", tmp_path / "m", sample.test).stdout == tagged
    lines = tmp_path / "test.jsonl"
    lines.write_text("".join(json.dumps({"tokens": sentence}) + "\n" for sentence in test))
    tagged = done("tag", "-m", tmp_path / "m", lines).stdout
    assert [json.loads(line)["predicted"] for line in tagged.splitlines()] == predicted


def test_templates_of_crfpp_and_of_wapiti(done, sample, tmp_path):
    crfpp = "# Unigram\nU00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[-1,0]/%x[0,1]\n\n# Bigram\nB\n"
    wapiti = '*:pre=%X[ -1,0]\nu:suf=%m[0,0,".?.$"]  # a comment\nu:up=%t[0,0,"^\\u"]\nb:pos %x[0,1]\nU:%x[@1,0]\nb\n'
    for name, text in (("crfpp", crfpp), ("wapiti", wapiti)):
        (tmp_path / name).write_text(text)
        done("train", sample.train, "--template", tmp_path / name, "-m", tmp_path / "m", "--max-iterations", "5")
        states, transitions, bigrams = features(tmp_path / "m")
        names = {attribute for attribute, _, _ in states}
        assert transitions
        if name == "crfpp":
            assert {"U00:_B-1", "U01:Zaman", "U02:Zaman/:"} <= names
            assert not bigrams
        else:
            assert {"*:pre=_B-1", "*:pre=zaman", "u:suf=an", "u:up=true", "u:up=false", "U:Al"} <= names
            assert {attribute[:5] for attribute, *_ in bigrams} == {"*:pre", "b:pos"}
            assert not any(attribute == "*:pre=_B-1" for attribute, *_ in bigrams)


def test_template_files_may_have_windows_line_ends_and_a_byte_order_mark(done, tiny, tmp_path):
    done("train", tiny, "--template", _write(tmp_path / "plain", TEMPLATE.encode()), "-m", tmp_path / "m")
    expected = features(tmp_path / "m")
    windows = _write(tmp_path / "windows", TEMPLATE.replace("\n", "\r\n").encode())
    done("train", tiny, "--template", windows, "-m", tmp_path / "m")
    assert features(tmp_path / "m") == expected
    marked = _write(tmp_path / "marked", b"\xef\xbb\xbf" + TEMPLATE.encode())
    done("train", tiny, "--template", marked, "-m", tmp_path / "m")
    assert features(tmp_path / "m") == expected


@pytest.mark.parametrize("template", ["B\n", "U00\nB\n"], ids=["transitions", "bias"])
def test_template_that_looks_at_no_column_still_sees_every_token(done, tiny, tmp_path, template):
    path = _write(tmp_path / "template", template.encode())
    done("train", tiny, "--template", path, "-m", tmp_path / "m")
    assert features(tmp_path / "m")[1]
    tagged = done("tag", "-m", tmp_path / "m", tiny).stdout
    assert len(tagged.split()) == 4 * 4


def _write(path, content):
    path.write_bytes(content)
    return path


def test_data_may_come_from_stdin_and_compressed(done, tiny, tmp_path):
    done("train", tiny, "--preset", "pos", "-m", tmp_path / "m")
    expected = features(tmp_path / "m")
    done("train", "-", "--preset", "pos", "-m", tmp_path / "m", input=tiny.read_text())
    assert features(tmp_path / "m") == expected
    packed = gzip.compress(tiny.read_bytes())
    done("train", "-", "--preset", "pos", "-m", tmp_path / "m", input=packed)
    assert features(tmp_path / "m") == expected


def test_dev_scores_are_in_the_trace_at_every_step(done, chunker, tmp_path):
    trace = tmp_path / "t"
    done("train", chunker.train, "--preset", "ner", "-m", tmp_path / "m", "--dev", chunker.test, "--trace", trace,
         "--max-iterations", "20")  # fmt: skip
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [record["iteration"] for record in records if "dev" in record] == [*range(21)]
    last = records[-1]["dev"]
    scores = json.loads(done("evaluate", "-m", tmp_path / "m", chunker.test, "--json").stdout)
    assert last == {name: scores[name] for name in last}
    assert last["f1"] > 0.5


def test_labels_of_the_dev_file_never_seen_are_a_warning(done, tiny, tmp_path):
    dev = tmp_path / "dev"
    dev.write_text("the DT D\nwow UH INTJ\n")
    finished = done("train", tiny, "--preset", "pos", "-m", tmp_path / "m", "--dev", dev, "-q")
    (line,) = finished.stderr.splitlines()
    assert line.startswith("warning: ")
    assert str(dev) in line
    assert line.endswith("INTJ")


def test_feature_selection_changes_the_number_of_features(done, tiny, tmp_path):
    def count(*options):
        done("train", tiny, "--template", template, "-m", tmp_path / "m", *options)
        return json.loads(done("inspect", tmp_path / "m", "--json").stdout)["n_features"]

    template = _write(tmp_path / "template", b'U:%x[0,0]\nU:bias%m[0,0,"^"]\nB\n')
    # Words 4, bias with D, N, V: 3; transitions D-N, N-V; no three labels in a row.
    assert count() == 4 + 3 + 2
    assert count("--all-states") == 5 * 3 + 2
    assert count("--all-transitions") == 4 + 3 + 9
    assert count("--order", "2", "--all-transitions") == 4 + 3 + 9 + 27
    assert count("--min-count", "2") == 3 + 2
    assert count("--min-count", "3") == 3 + 2
    assert count("--seed", "7") == 9


def test_the_summary_counts_the_labels_of_the_data(done, tmp_path):
    labels = {"A" * 30: 60, "B" * 31: 30, "C": 8, "D": 1, "E": 1}
    rows = [f"w{number % 3} {label}\n" for label, n in labels.items() for number in range(n)]
    (tmp_path / "f").write_text("".join(f"{a}{b}\n" for a, b in zip(rows[::2], rows[1::2], strict=True)))

    def summary():
        said = done("train", tmp_path / "f", "--preset", "pos", "--max-iterations", "1", "-m", tmp_path / "m").stderr
        first, *others = said.splitlines()
        return first, " ".join(" ".join(others[: others.index(next(o for o in others if " s  " in o))]).split())

    first, others = summary()
    assert first == f"{tmp_path / 'f'}: 50 sentences, 100 tokens"
    shares = f"{'A' * 30} 60 %, {'B' * 27}... 30 %, C 8 %, D 1 %, E 1 %"
    assert re.fullmatch(
        rf"[\d,]+ attributes of 1 column; the label is the last 5 labels: {re.escape(shares)}", others
    ), others
    with (tmp_path / "f").open("a") as file:
        file.write("w0 F\nw1 C\n")
    first, others = summary()
    assert first.endswith("51 sentences, 102 tokens")
    assert others.endswith(f" 6 labels: {'A' * 30} 59 %, {'B' * 27}... 29 %, C 8.8 %, D 0.98 %, E 0.98 %, ...")


def test_no_convergence_is_no_failure(done, sample, tmp_path):
    finished = done("train", sample.train, "--preset", "pos", "-m", tmp_path / "m", "--max-iterations", "2")
    assert "\nstopped: 2 iterations of lbfgs, " in finished.stderr
    reason = "stopped at the iteration limit, before convergence; raise --max-iterations"
    assert f"\nnot certain: {reason}\n" in finished.stderr
    assert json.loads(done("inspect", tmp_path / "m", "--json").stdout)["status"] == "max_iterations"


@pytest.mark.filterwarnings("default:no (feature|attribute) is left")
def test_model_of_zero_iterations_or_of_a_huge_penalty_tags(done, tiny, tmp_path):
    for options in (["--max-iterations", "0"], ["--l1", "1e9"]):
        done("train", tiny, "--preset", "pos", "-m", tmp_path / "m", *options)
        assert features(tmp_path / "m")[0] == []
        assert done("tag", "-m", tmp_path / "m", tiny).stdout.startswith("the DT D\tN\n")


def test_training_replaces_an_older_model(done, tiny, tmp_path):
    model = tmp_path / "m"
    model.write_bytes(b"old")
    model.chmod(0o640)
    done("train", tiny, "--preset", "pos", "-m", model)
    _core.ChainModel.open(os.fspath(model))
    assert model.stat().st_mode & 0o777 == 0o640


@posix
def test_terminal_gets_a_bar(tiny, tmp_path):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [*COMMAND, "train", tiny, "--preset", "pos", "-m", tmp_path / "m"]
    try:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline and select.select([ours], [], [], 20)[0]:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    break
                if not piece:
                    break
                shown += piece
            assert process.wait(patience(20)) == 0
            assert process.stdout.read() == b""
    finally:
        os.close(ours)
    assert b"training" in shown
    assert b"Traceback" not in shown
    assert b"wrote " in shown


@posix
@pytest.mark.usefixtures("hang_up_counts")
@pytest.mark.parametrize("name", by_day(["SIGINT", "SIGTERM", "SIGHUP"], lambda name: name == "SIGINT"))
def test_interrupted_training_keeps_what_it_reached(done, sample, tmp_path, name):
    trace, model = tmp_path / "t", tmp_path / "m"
    model.write_bytes(b"old")
    # A penalty with which training takes thousands of iterations.
    options = ["--preset", "pos", "--l2", "1e-6", "--tolerance", "0", "-m", model, "--trace", trace]
    with Interruptible(sample.train, *options, "--max-iterations", "1000000") as process:
        until(lambda: trace.exists() and trace.read_text().count("\n") >= 3)
        process.send_signal(getattr(signal, name))
        _, said = process.communicate(timeout=patience(20))
    assert process.returncode == 1
    assert "Traceback" not in said
    assert "; the weights are from the last complete iteration" in said
    assert "keyboard" not in said
    assert said.count(f"wrote {model}") == said.count("\ninterrupted: ") == 1
    assert said.endswith(f"loglinear: interrupted; wrote {model} with the weights reached so far\n")
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    report = json.loads(done("inspect", model, "--json").stdout)
    assert report["status"] == "interrupted"
    # Ctrl-C may come after a step and before its record is written.
    assert report["iterations"] - records[-1]["iteration"] in (0, 1)
    assert report["objective"] <= records[-1]["objective"]
    assert done("tag", "-m", model, sample.test).stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "t"]


def raising_at_once(monkeypatch):
    """Let Ctrl-C be pressed in the first step of every solver."""

    def interrupted(solver, problem, state):
        raise KeyboardInterrupt

    for solver in SOLVERS.values():
        monkeypatch.setattr(solver, "step", interrupted)


@pytest.mark.parametrize("kind", ["chain", "maxent", "texts", "ovr", "select", "structure", "demo"])
def test_a_training_without_an_iteration_leaves_the_old_model(tiny, tmp_path, monkeypatch, kind):
    texts = _write(tmp_path / "texts", b"+\ta good film\n-\ta bad film\n+\tgood fun\n-\ta bad joke\n")
    table = _write(tmp_path / "table.csv", b"a,b\n" + 30 * b"0,0\n1,1\n0,1\n")
    command = {
        "chain": ["train", tiny, "--preset", "pos"],
        "maxent": ["train", tiny, "--preset", "pos", "--model-type", "maxent"],
        "texts": ["train", texts, "--model-type", "maxent", "--format", "text"],
        "ovr": ["train", tiny, "--preset", "pos", "--model-type", "maxent", "--multi-class", "ovr"],
        "select": ["select", tiny, "--preset", "pos", "--l1", "0.1"],
        "structure": ["structure", table, "--l1", "0.1"],
        "demo": ["demo"],
    }[kind]
    model = _write(tmp_path / "m", b"old")
    raising_at_once(monkeypatch)
    ended = run_command(*command, "-m", model)
    assert (ended.returncode, model.read_bytes()) == (1, b"old")
    said = "loglinear: interrupted before the first iteration was complete; no model was written\n"
    assert ended.stderr.endswith(said)
    assert "wrote" not in ended.stderr


@posix
def test_interrupted_reading_leaves_the_old_model(tmp_path, tiny):
    model, data = tmp_path / "m", tmp_path / "data"
    model.write_bytes(b"old")
    os.mkfifo(data)
    with Interruptible(data, "--preset", "pos", "-m", model) as process:
        with data.open("w") as writer:  # blocks until the command has opened it
            writer.write(tiny.read_text())
            writer.flush()
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        _, said = process.communicate(timeout=patience(20))
    assert process.returncode == 1
    assert said == "loglinear: error: interrupted\n"
    assert model.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "m", "tiny.txt"]


@posix
@pytest.mark.parametrize("command", ["train", "tag"])
def test_interrupt_ends_the_wait_for_stdin(sample, tmp_path, command):
    """Whoever forgets to name a file presses Ctrl-C; that has to work while nothing arrives."""
    import fcntl
    import termios

    arguments = ["train", "-", "--preset", "pos"] if command == "train" else ["tag"]
    model = tmp_path / "m" if command == "train" else sample.model
    process = subprocess.Popen(
        [*COMMAND, *arguments, "-m", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        process.stdin.write(b"the DT D\n")
        process.stdin.flush()
        unread = array("i", [1])
        until(lambda: not fcntl.ioctl(process.stdin, termios.FIONREAD, unread) and not unread[0])
        process.send_signal(signal.SIGINT)
        assert process.wait(patience(5)) == 1
        assert process.stderr.read() == b"loglinear: error: interrupted\n"
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def test_development_data_are_scored_in_every_line_and_at_the_end(done, chunker, tmp_path):
    trace = tmp_path / "trace"
    options = ["--preset", "ner", "--l1", "1", "--tolerance", "1e-2", "-m", tmp_path / "m", "--dev", chunker.test]
    options += ["--trace", trace]
    said = done("train", chunker.train, *options).stderr.splitlines()
    lines = [line for line in said if "  iteration " in line]
    assert lines
    assert all(", dev F1 " in line for line in lines)
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    numbers = [int(re.search(r"iteration (\d+),", line)[1]) for line in lines]
    assert (numbers[0], numbers[-1]) == (0, len(records) - 1)
    f1 = json.loads(done("evaluate", "-m", tmp_path / "m", chunker.test, "--json").stdout)["f1"]
    (end,) = (line for line in said if line.startswith("done: "))
    assert re.match(rf"done: {len(records) - 1} iterations of \w+, [\d.]+ s, dev F1 {100 * f1:.2f} at iteration", end)
    assert end.endswith(f", model {(tmp_path / 'm').stat().st_size / 1e3:,.0f} kB")
    scores = [round(100 * record["dev"]["f1"], 2) for record in records]
    best = scores.index(max(scores))
    told = f"the best iteration was {best}, with dev F1 {max(scores):.2f}; add --keep best to keep its weights"
    assert (told in said) != ("(the best)" in end)
    verbose = done("train", chunker.train, *options, "-v").stderr
    assert re.search(rf"\ndev: F1 {100 * f1:.2f}, accuracy ", verbose)
    assert "; objective " in verbose


def test_the_best_weights_on_development_data_are_written(done, chunker, tmp_path):
    trace, model = tmp_path / "t", tmp_path / "m"
    options = ["--preset", "ner", "--l2", "1e-3", "--tolerance", "1e-7", "--dev", chunker.test, "--trace", trace]
    said = done("train", chunker.train, *options, "-m", model, "--patience", "8").stderr.splitlines()
    scores = [json.loads(line)["dev"]["f1"] for line in trace.read_text().splitlines()]
    best = scores.index(max(scores))
    assert best == len(scores) - 1 - 8
    end = rf"done: {len(scores) - 1} iterations of \w+, .* s, dev F1 .* at iteration {best} \(the best\)"
    assert re.match(end, said[-3])
    assert said[-2] == f"weights of iteration {best}, the best on the development data"
    found = json.loads(done("evaluate", "-m", model, chunker.test, "--json").stdout)["f1"]
    assert found == pytest.approx(max(scores), abs=1e-12)
    assert f"F1 {100 * max(scores):.2f}" in done("inspect", model).stdout


@pytest.mark.parametrize("options", [["--patience", "3"], ["--keep", "best"]])
def test_choosing_by_development_data_needs_them(misuse, tiny, tmp_path, options):
    assert "needs development data" in misuse("train", tiny, "--preset", "pos", "-m", tmp_path / "m", *options)


def test_the_last_step_is_shown_and_the_cost_is_told(done, tiny, tmp_path):
    model = tmp_path / "m"
    said = done("train", tiny, "--preset", "pos", "--l1", "0.1", "-m", model).stderr.splitlines()
    report = json.loads(done("inspect", model, "--json").stdout)
    last = f"iteration {report['iterations']}, objective {report['objective']:,.1f}, active features"
    assert last in said[-4]
    size = f"{model.stat().st_size / 1e3:,.0f} kB"
    assert re.fullmatch(rf"done: {report['iterations']} iterations of owlqn, [\d.]+ s, model {size}", said[-3])
    assert said[-1].startswith(f"wrote {model}; ")
    told = done("train", tiny, "--preset", "pos", "--l1", "0.1", "-m", model, "--verbose").stderr
    assert re.search(rf"\n{report['n_active']:,} active features of \d+\nsolver owlqn \(an L1 penalty\)\n", told)


def test_only_weights_far_from_an_optimum_are_said_to_have_one_closer(done, tiny, tmp_path):
    command = ["train", tiny, "--preset", "pos", "-m", tmp_path / "m", "--l2", "0.01"]
    assert "lower --tolerance to get closer" in done(*command, "--tolerance", "0.9").stderr
    near = done(*command, "--tolerance", "1e-9").stderr
    assert "done: " in near
    assert "--tolerance" not in near


@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_a_training_ends_at_the_gap_asked_for_and_says_so(done, tiny, tmp_path, kind):
    model, trace = tmp_path / "m", tmp_path / "t"
    command = ["train", tiny, "--preset", "pos", "--model-type", kind, "--l2", "0.1", "-m", model, "--trace", trace]
    said = done(*command, "--gap", "0.001").stderr
    report = json.loads(done("inspect", model, "--json").stdout)
    assert report["status"] == "gap_reached"
    assert 0.0 <= report["gap"] <= 0.001 * report["objective"]
    (told,) = re.findall(r"\n(within 0\.[\d]+ % of the optimum)\n", said)
    assert told == f"within {max(100 * report['gap'] / report['objective'], 0.01):.2g} % of the optimum"
    assert f"                 {told}\n" in done("inspect", model).stdout
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    assert records[-1]["gap"] == report["gap"]
    small = done(*command, "--gap", "1e-8").stderr
    (told,) = re.findall(r"\n(within \S+ % of the optimum)\n", small)
    assert float(told.split()[1]) < 1e-5
    assert f"                 {told}\n" in done("inspect", model).stdout
    # Without a gap to stop at, it is told at the end alone.
    assert re.search(r"within [\de.-]+ % of the optimum", done(*command).stderr)
    *records, last = (json.loads(line) for line in trace.read_text().splitlines())
    assert "gap" in last
    assert not any("gap" in record for record in records)


def test_a_gap_that_cannot_be_proved_is_refused(misuse, done, tiny, tmp_path):
    command = ["train", tiny, "--preset", "pos", "-m", tmp_path / "m"]
    tiny.write_text(tiny.read_text().replace("VBZ V", "VBZ ?"))
    assert "--gap 0.001 is not available: the objective is not convex" in misuse(
        *command, "--partial", "--gap", "0.001", "-q"
    )
    assert "from 0 to 0.1" in misuse(*command, "--gap", "5")
    assert "of the optimum" not in done(*command, "--partial").stderr


@pytest.mark.filterwarnings("default:no (feature|attribute) is left")
@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_a_penalty_that_leaves_no_feature_is_warned_of(done, tiny, tmp_path, kind):
    command = ["train", tiny, "--preset", "pos", "--model-type", kind, "-m", tmp_path / "m", "-q"]
    said = done(*command, "--l1", "1e9").stderr
    assert said.startswith("warning: no feature is left: l1=1e+09 makes all weights 0; lower --l1 below ")
    assert said.count("\n") == 1
    largest = float(said.split()[-1])
    assert "no feature" in done(*command, "--l1", str(1.01 * largest)).stderr
    assert done(*command, "--l1", str(0.95 * largest)).stderr == ""


@pytest.mark.filterwarnings("default:no (feature|attribute) is left")
def test_a_min_count_that_leaves_no_attribute_is_warned_of(done, tiny, tmp_path):
    command = ["train", tiny, "--preset", "pos", "-m", tmp_path / "m", "-q"]
    said = done(*command, "--min-count", "1000").stderr
    assert said == ("warning: no attribute is left: none occurs on 1000 or more tokens; lower --min-count\n")
    assert done(*command, "--min-count", "2").stderr == ""


def test_training_starts_at_a_model(done, tiny, tmp_path):
    done("train", tiny, "--preset", "pos", "-m", tmp_path / "old", "-q")
    more = tmp_path / "more"
    more.write_text(tiny.read_text() + "\nso XX X\n")
    finished = done("train", more, "--start", tmp_path / "old", "-m", tmp_path / "new", "--trace", tmp_path / "trace")
    model = _core.ChainModel.open(os.fspath(tmp_path / "new"))
    start = json.loads(model.settings)["training"]["start"]
    assert start["new_labels"] == ["X"]
    line = f"start: {start['n_shared']:,} of {start['n_features']:,} features start from {tmp_path / 'old'}; 1 label"
    assert line in finished.stderr
    assert model.template == loglinear.data.templates.preset("pos")
    begun = json.loads((tmp_path / "trace").read_text().splitlines()[0])
    assert begun["nnz"] == start["n_shared"] == _core.ChainModel.open(os.fspath(tmp_path / "old")).n_features
    assert line.replace("start: ", "start            ") in done("inspect", tmp_path / "new").stdout
    # The model's template cannot read attribute files, which come with theirs.
    attributes = tmp_path / "data.crfsuite"
    attributes.write_text("X\tx\nY\ty\n")
    finished = done("train", attributes, "--start", tmp_path / "old", "-m", tmp_path / "new", apart=True)
    warning = f"warning: {tmp_path / 'old'} has a template, but the data are read without one; only attributes"
    assert warning in finished.stderr


def test_partly_known_labels_are_read_where_asked_for(done, tiny, tmp_path):
    barred = tmp_path / "barred"
    barred.write_text("a X N|V\nb X ?\n\nc X N\n")
    done("train", barred, "--preset", "pos", "-m", tmp_path / "m", "-q")
    assert sorted(_core.ChainModel.open(os.fspath(tmp_path / "m")).labels) == ["?", "N", "N|V"]
    done("train", tiny, "--preset", "pos", "--partial", "-m", tmp_path / "m", "-q")
    done("train", tiny, "--preset", "pos", "-m", tmp_path / "n", "-q")
    assert features(tmp_path / "m") == features(tmp_path / "n")


def test_one_of_a_kind_is_singular(done, tmp_path):
    (tmp_path / "data").write_text("a D\na N\n")
    (tmp_path / "template").write_text("U:%x[0,0]\n")
    said = done("train", tmp_path / "data", "--template", tmp_path / "template", "-m", tmp_path / "m").stderr
    assert f"{tmp_path / 'data'}: 1 sentence, 2 tokens\n  1 attribute of 1 column; the label is the last\n" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [("1.5 1:1\n-2 1:2\n", "real numbers"), ("1 1:0\n0 2:0\n", "no sample has an attribute with a value other than 0")],
)
def test_samples_that_a_classifier_refuses_are_refused_with_the_name_of_the_file(misuse, tmp_path, text, words):
    path = tmp_path / "data.svm"
    path.write_text(text)
    line = misuse("train", path, "--model-type", "maxent", "-q", "-m", tmp_path / "m")
    assert line.startswith(f"{path}: ")
    assert words in line


def test_messages_name_what_was_given_and_what_fits(done, misuse, tiny, tmp_path):
    texts, model = tmp_path / "texts.tsv", tmp_path / "m"
    texts.write_text("a\toil price\nb\tnet loss\n")
    given = misuse("train", texts, "--model-type", "maxent", "--tfidf", "-m", model)
    assert "--tfidf is for texts; add --format text" in given
    assert "--words" not in given
    assert "add --preset ner, for instance" in misuse("train", tiny, "-m", model)
    fitting = misuse("train", tiny, "--preset", "ner-pos-chunk", "-m", model)
    assert "'ner-pos-chunk' reads 3 columns plus the label, but the data have 2; presets that fit: " in fitting
    assert "; label a file with one token per line: " in done("train", tiny, "--preset", "pos", "-m", model).stderr
    with_tokenizer = done("train", tiny, "--preset", "ner", "--tokenizer", "words", "-m", model).stderr
    assert "; label a file with one token per line (add --text for a text per line): " in with_tokenizer
    as_texts = ["--model-type", "maxent", "--format", "text"]
    assert "; label texts, one per line: " in done("train", texts, *as_texts, "-m", model).stderr
