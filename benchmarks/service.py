"""A web service of forked workers whose model was loaded and used before the fork, and whose workers are killed.

The master loads a model, labels with it, listens, and forks workers that accept at the same socket, as gunicorn does
with preloading; a worker that dies is replaced. Clients ask in several threads, and workers are killed at random
moments. Every answer has to hold the labels that the master found; a connection that a kill has cut is tried again.

    python benchmarks/service.py --requests 10000 --kills 100

A line of JSON says how it went. The exit code is 1 if an answer was wrong or did not come in time.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import http.server
import json
import lzma
import mmap
import os
import random
import signal
import socket
import struct
import sys
import threading
import time
from dataclasses import asdict, dataclass

from loglinear import ChainCRF, Tagger
from loglinear.datasets import demo_paths

# Seconds until an answer that has not come is missing.
PATIENCE = 20.0


@dataclass
class Outcome:
    """How the service did: requests answered, workers killed, requests tried again, wrong and missing answers."""

    requests: int = 0
    kills: int = 0
    retries: int = 0
    wrong: int = 0
    missing: int = 0
    seconds: float = 0.0


class Service:
    """The master and its workers, in processes of their own; `pids` are the workers' now."""

    def __init__(self, tagger: Tagger, workers: int) -> None:
        self.tagger, self.workers = tagger, workers
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = self.socket.getsockname()
        self._shared = mmap.mmap(-1, 8 * workers)

    def __enter__(self) -> Service:
        self._master = os.fork()
        if self._master == 0:
            self._supervise()
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._master, signal.SIGTERM)
        os.waitpid(self._master, 0)
        self.socket.close()

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes of the workers, as the master has noted them."""
        return [pid for pid in struct.unpack(f"{self.workers}q", self._shared[:]) if pid]

    def _supervise(self) -> None:
        """Replace workers that die, until SIGTERM."""

        def stop(*_: object) -> None:
            for pid in self.pids:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)

        try:
            signal.signal(signal.SIGTERM, stop)
            places = {self._start(place): place for place in range(self.workers)}
            while True:
                pid, _ = os.waitpid(-1, 0)
                place = places.pop(pid)
                places[self._start(place)] = place
        finally:
            os._exit(1)

    def _start(self, place: int) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until the number is noted
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            self._work()
        self._shared[8 * place : 8 * place + 8] = struct.pack("q", pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        return pid

    def _work(self) -> None:
        """Answer requests, until the process is killed."""
        tagger = self.tagger

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sentences = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps(tagger.tag_batch(sentences)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        try:
            server = http.server.HTTPServer(self.address, Handler, bind_and_activate=False)
            server.socket = self.socket
            server.serve_forever()
        finally:
            os._exit(1)


def sentences(count: int) -> tuple[list, list]:
    """Return sentences of the embedded sample, tokens with their attributes, and their labels."""
    text = lzma.open(demo_paths()[0], "rt", encoding="utf-8").read()
    rows = [[line.split("\t") for line in block.split("\n")] for block in text.split("\n\n")[:count]]
    X = [[[f"word={word}", f"end={word[-2:]}"] for word, *_ in sentence] for sentence in rows]
    return X, [[label for *_, label in sentence] for sentence in rows]


def ask(address: tuple[str, int], body: bytes, outcome: Outcome, lock: threading.Lock) -> bytes | None:
    """Return the answer to a request, tried again where a kill has cut the connection; None if it does not come."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
        try:
            connection.request("POST", "/", body)
            return connection.getresponse().read()
        except (ConnectionError, http.client.HTTPException):
            with lock:
                outcome.retries += 1
        except TimeoutError:
            return None
        finally:
            connection.close()
    return None


def trial(tagger: Tagger, X: list, *, requests: int, kills: int, workers: int, clients: int) -> Outcome:
    """Run the service; the tagger has been used by this process before."""
    batches = [X[at : at + 3] for at in range(0, len(X), 3)]
    expected = [tagger.tag_batch(batch) for batch in batches]  # threads of the master are at work before the fork
    outcome, lock, left, chance = Outcome(), threading.Lock(), iter(range(requests)), random.Random(0)
    began = time.monotonic()

    def kill_if_due(number: int) -> None:
        if outcome.kills < kills and (number + 1) * kills >= requests * (outcome.kills + 1) and service.pids:
            with contextlib.suppress(ProcessLookupError):  # killed already, and not yet replaced
                os.kill(chance.choice(service.pids), signal.SIGKILL)
                outcome.kills += 1

    def client() -> None:
        while True:
            with lock:
                number = next(left, None)
                if number is None:
                    return
                kill_if_due(number)
            answer = ask(service.address, json.dumps(batches[number % len(batches)]).encode(), outcome, lock)
            with lock:
                outcome.requests += answer is not None
                outcome.missing += answer is None
                outcome.wrong += answer is not None and json.loads(answer) != expected[number % len(batches)]

    with Service(tagger, workers) as service:
        threads = [threading.Thread(target=client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    outcome.seconds = round(time.monotonic() - began, 1)
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--clients", type=int, default=8)
    given = parser.parse_args()
    X, y = sentences(200)
    tagger = Tagger(ChainCRF(tolerance=1e-2, n_jobs=2).fit(X, y))
    outcome = trial(tagger, X, **vars(given))
    print(json.dumps(asdict(outcome)))
    sys.exit(1 if outcome.wrong or outcome.missing or (given.kills and not outcome.kills) else 0)


if __name__ == "__main__":
    main()
