"""`loglinear serve`: the command around the server."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from loglinear import ChainCRF, TextClassifier
from oracles.command_line import run_command
from oracles.patience import patience

X, y = [["Ada", "wrote"], ["Rain", "fell"]], [["B-PER", "O"], ["O", "O"]]


def served(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "loglinear", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_answers_and_ends_at_a_signal(tmp_path, end):
    ChainCRF(template="ner", l2=0.1).fit(X, y).save(tmp_path / "m.loglinear")
    with served(tmp_path / "m.loglinear", "--port", 0, "--tokenizer", "whitespace") as process:
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url), process.stderr.read()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}tag", json.dumps({"text": "Ada wrote"}).encode(), headers)
        with urllib.request.urlopen(request, timeout=patience(30)) as answer:
            (span,) = json.load(answer)["spans"]
        assert (span["label"], span["text"]) == ("PER", "Ada")
        process.send_signal(end)
        out, err = process.communicate(timeout=patience(30))
    assert (process.returncode, out, err) == (0, "", "serving; Ctrl-C ends it\nstopped\n")


def refused(*arguments):
    """The message with which the command ends."""
    done = run_command("serve", *map(str, arguments))
    assert (done.returncode, done.stdout) == (2, "")
    return re.sub(r"\s+", " ", done.stderr)


def test_models_that_cannot_label_text_are_refused(tmp_path):
    ChainCRF(template="ner").fit(X, y).save(tmp_path / "bare")
    assert "add --tokenizer words" in refused(tmp_path / "bare")
    ChainCRF().fit([[["a"]], [["b"]]], [["A"], ["B"]]).save(tmp_path / "attributes")
    assert "template" in refused(tmp_path / "attributes", "--tokenizer", "words")
    TextClassifier().fit(["a b", "c d"], [0, 1]).save(tmp_path / "texts")
    assert "which `loglinear serve` does not support" in refused(tmp_path / "texts")
    assert "missing" in refused(tmp_path / "missing")


def test_addresses_that_cannot_be_listened_on_are_named(tmp_path):
    ChainCRF(template="ner", tokenizer="words").fit(X, y).save(tmp_path / "m")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in refused(
            tmp_path / "m", "--port", port
        )
    assert "cannot listen on no.such.host.invalid" in refused(tmp_path / "m", "--host", "no.such.host.invalid")
    assert "'70000' is not a port" in refused(tmp_path / "m", "--port", "70000")
    assert "--max-request" in refused(tmp_path / "m", "--max-request", "0")
