"""Serve a tagger on this machine: a page to try it on text, and a JSON API for programs.

The page shows the spans of a text with their probabilities and, for each token, which features decided its label. It
is for the person who trains the model, and for programs on the same machine: there is no authentication. By default
only this machine can connect. Ctrl-C ends the server.

Programs post JSON:
  POST /tag       {"text": "..."} is answered by {"spans": [...]}, a span being {"start", "end", "label", "text",
                  "probability"}, with offsets in characters; {"texts": [...]} by {"results": [{"spans": ...}, ...]}
  POST /explain   {"text": "...", "top": 8} is answered by {"tokens": [...]}: label, probability and the strongest
                  contributions of features of each token
  GET /model      labels and tokenizer
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from ..inputs import Inputs, add_inputs
from ..kinds import opened
from ..options import add_tokenizer, positive
from ..output import say

EXAMPLE = """example: loglinear serve ner.loglinear
         curl --json '{"text": "Ada Lovelace wrote."}' http://127.0.0.1:8300/tag"""
READS: tuple[str, ...] = ("model",)
WRITES: tuple[str, ...] = ()

_MOST_PORT = 65535


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add_inputs(parser, Inputs("MODEL", model=True, data=None))
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument(
        "--port", type=_port, default=8300, metavar="N", help="port to listen on; 0 for any free one (default: 8300)"
    )
    add_tokenizer(parser, "how to cut texts into tokens: ")
    parser.add_argument(
        "--max-request",
        type=positive,
        default=256.0,
        metavar="N",
        help="size of the largest request, in KiB; larger ones are refused (default: 256)",
    )


def run(arguments: Namespace) -> None:
    """Serve until Ctrl-C."""
    from ...errors import OptionError
    from ...server.http_server import Server, is_loopback
    from ...server.service import Service

    service = Service(opened(arguments.model).tagger(arguments), arguments.model)
    try:
        server = Server(service, arguments.host, arguments.port, int(arguments.max_request * 1024))
    except (OSError, OverflowError, UnicodeError) as error:
        message = f"cannot listen on {arguments.host}, port {arguments.port}: {getattr(error, 'strerror', error)}; "
        message += "choose another with --port or --host"
        raise OptionError(message) from error
    with server:
        if not is_loopback(arguments.host):
            say("warning: other machines can connect, and there is no authentication; leave out --host to prevent it")
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        say("serving; Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("stopped")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= _MOST_PORT):
        message = f"{text!r} is not a port, a whole number from 0 to {_MOST_PORT}"
        raise ArgumentTypeError(message)
    return int(text)
