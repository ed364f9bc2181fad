"""The HTTP side of `loglinear serve`: the standard library's server, with limits, for the programs of one machine.

A server that listens on a loopback address answers only requests that name such an address as their host, which pages
of other sites cannot make a browser do (DNS rebinding), and only JSON from its own page or from programs, which have
no origin.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import BoundedSemaphore
from urllib.parse import SplitResult, urlsplit

from ..version import __version__
from .page import POLICY
from .service import Answer, Service

__all__ = ["Server", "is_loopback"]

# Seconds that a client may pause within a request, and requests that are worked on at the same time.
_PATIENCE, _AT_ONCE = 10.0, 32
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether a name or an address of a host means the machine itself."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Server(ThreadingHTTPServer):
    """Serves a service until it is shut down.

    Args:
        service: answers the requests.
        host: address or name to listen on.
        port: 0 for any free port.
        max_request: size of the largest request, bytes.

    Raises:
        OSError: the address cannot be listened on.
    """

    daemon_threads = True
    # A socket of an earlier server that still waits for its last packets is no obstacle.
    allow_reuse_address = sys.platform != "win32"

    def __init__(self, service: Service, host: str, port: int, max_request: int) -> None:
        self.service, self.max_request = service, max_request
        self.is_local = is_loopback(host)
        self._working = BoundedSemaphore(_AT_ONCE)
        self.address_family, address = _address(host, port)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind to the address, without HTTPServer's look-up of the machine's name, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        host = str(self.server_address[0])
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_address[1]}/"

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether there is room for one more request, for as long as the block lasts."""
        working = self._working
        has_room = working.acquire(blocking=False)
        try:
            yield has_room
        finally:
            if has_room:
                working.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Print what went wrong in a connection, unless the client has gone."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            sys.stderr.write(f"error in a connection: {traceback.format_exc()}")


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = f"loglinear/{__version__}", ""
    timeout = _PATIENCE

    def do_GET(self) -> None:
        """Answer with a page."""
        self._answered("GET")

    def do_HEAD(self) -> None:
        """Answer with the headers of a page."""
        self._answered("GET")

    def do_POST(self) -> None:
        """Answer a JSON request."""
        self._answered("POST")

    def _answered(self, method: str) -> None:
        with self.server.turn() as has_room:
            if not has_room:
                self._send(Answer.error(503, "too many requests at the same time; try again"), close=True)
                return
            refusal = self._refusal(method)
            if refusal is not None:
                self._send(refusal, close=True)  # with a body that has not been read
                return
            body = self.rfile.read(self._length() or 0) if method == "POST" else b""
            try:
                path, service = self._path, self.server.service
                answer = service.get(path) if method == "GET" else service.post(path, body)
            except Exception:
                sys.stderr.write(f"error while answering {self.path}: {traceback.format_exc()}")
                answer = Answer.error(500, "the server made an error; its terminal has the details")
            self._send(answer or Answer.error(404, f"there is no {self._path}"))

    @property
    def _path(self) -> str:
        """The path that is asked for, without a query."""
        parts = _parts(self.path)
        return self.path if parts is None else parts.path

    def _refusal(self, method: str) -> Answer | None:
        """Return why a request is not answered; None if it is."""
        host = self.headers.get("Host", "")
        if self.server.is_local and not is_loopback(_name_of(host)):
            return Answer.error(403, f"the server only answers this machine, not the host {host!r}")
        origin = self.headers.get("Origin")
        if origin is not None and ((parts := _parts(origin)) is None or parts.netloc != host):
            return Answer.error(403, f"the server does not answer pages of {origin}")
        allowed = self.server.service.takes(self._path)
        if allowed is not None and allowed != method:
            return Answer.error(405, f"use {allowed}")
        if method == "GET":
            return None
        if self.headers.get_content_type() != "application/json":
            return Answer.error(415, "post JSON, with the header Content-Type: application/json")
        if len(set(self.headers.get_all("Content-Length", []))) > 1:
            return Answer.error(400, "the request has several headers Content-Length, which differ; send one")
        length = self._length()
        if length is None:
            return Answer.error(411, "the header Content-Length is missing or no number")
        if length > self.server.max_request:
            most = f"{self.server.max_request / 1024:g} KiB"
            return Answer.error(413, f"the request has {length:,} bytes, and at most {most} are read (--max-request)")
        return None

    def _length(self) -> int | None:
        length = self.headers.get("Content-Length", "")
        is_plain = length.isascii() and length.isdigit() and len(length) < 20
        return int(length) if is_plain and "Transfer-Encoding" not in self.headers else None

    def _send(self, answer: Answer, *, close: bool = False) -> None:
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        if close:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is not HTTP, or whose method is unknown, as JSON."""
        self._send(Answer.error(code, message or HTTPStatus(code).phrase), close=True)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing for a request that was answered."""


def _address(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """Return the family and the address of a host: IPv4 if it has both kinds."""
    addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = min(addresses, key=lambda each: each[0] != socket.AF_INET)
    return family, (str(address[0]), port)


def _name_of(host: str) -> str:
    """Return the name or address in a Host header, without its port and brackets."""
    parts = _parts(f"//{host}")
    return "" if parts is None else parts.hostname or ""


def _parts(url: str) -> SplitResult | None:
    """Return the parts of a URL; None for what is none, such as an address with a single bracket."""
    try:
        return urlsplit(url)
    except ValueError:
        return None
