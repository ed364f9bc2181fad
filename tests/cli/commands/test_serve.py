"""`loglinear serve`: the command around the server."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from argparse import ArgumentParser
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from loglinear import ChainCRF, TextClassifier
from loglinear.cli.commands import serve
from loglinear.server import http_server, service
from oracles.command_line import run_command
from oracles.patience import patience

X, y = [["Ada", "wrote"], ["Rain", "fell"]], [["B-PER", "O"], ["O", "O"]]


@contextmanager
def served(*arguments):
    """The process of a server, which a failed test ends."""
    with subprocess.Popen(
        [sys.executable, "-m", "loglinear", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


OPEN = "warning: other machines can connect, and there is no authentication; leave out --host to prevent it\n"


@pytest.mark.parametrize(
    ("end", "host", "status", "warned"), [(signal.SIGINT, "127.0.0.1", 403, ""), (signal.SIGTERM, "0.0.0.0", 200, OPEN)]
)
def test_it_prints_its_address_answers_and_ends_at_a_signal(tmp_path, end, host, status, warned):
    ChainCRF(template="ner", l2=0.1).fit(X, y).save(tmp_path / "m.loglinear")
    with served(tmp_path / "m.loglinear", "--host", host, "--port", 0, "--tokenizer", "whitespace") as process:
        url = process.stdout.readline().strip()
        place = re.fullmatch(rf"http://{re.escape(host)}:(\d+)/", url)
        assert place, process.stderr.read()
        url = f"http://127.0.0.1:{place[1]}/"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}tag", json.dumps({"text": "Ada wrote"}).encode(), headers)
        with urllib.request.urlopen(request, timeout=patience(30)) as answer:
            (span,) = json.load(answer)["spans"]
        assert (span["label"], span["text"]) == ("PER", "Ada")
        with closing(http.client.HTTPConnection("127.0.0.1", int(place[1]), timeout=patience(30))) as connection:
            connection.request("GET", "/model", headers={"Host": "tagger.example.org"})
            assert connection.getresponse().status == status
        process.send_signal(end)
        out, err = process.communicate(timeout=patience(30))
    assert (process.returncode, out, err) == (0, "", f"{warned}serving; Ctrl-C ends it\nstopped\n")


def test_the_guide_has_the_limits_of_the_server():
    parser = ArgumentParser()
    serve.configure(parser)
    guide = " ".join((Path(__file__).parents[3] / "docs/guides/serve.md").read_text(encoding="utf-8").split())
    for limit in (
        f"listens on {parser.get_default('host')},",
        f"http://127.0.0.1:{parser.get_default('port')}/",
        f"more than {parser.get_default('max_request'):g} KiB are refused",
        f"more than {service._EXPLAINED:,} tokens",
        f"pauses for {http_server._PATIENCE:g} seconds",
        f"{http_server._AT_ONCE} requests are answered at the same time",
    ):
        assert limit in guide


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
