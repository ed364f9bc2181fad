"""What `loglinear serve` answers: the page, facts about the model, spans of texts, and why a token has its label."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import DataError, LogLinearError, MissingPackageError, OptionError
from ..report.labelled import Labelled
from .page import page

if TYPE_CHECKING:
    from ..models.chain import ChainCRF
    from ..models.tagger import Tagger

__all__ = ["Answer", "Service"]

# Tokens of a text whose labels are explained at most, contributions that are listed of each, and the most of them.
_EXPLAINED, _TOP, _MOST = 1000, 8, 100


class Answer(NamedTuple):
    """The answer to a request.

    Attributes:
        status: HTTP status.
        content: the body, UTF-8.
        kind: content type.
    """

    status: int
    content: bytes
    kind: str = "application/json"

    @classmethod
    def of(cls, value: object, status: int = 200) -> Answer:
        """Return a value as JSON."""
        return cls(status, json.dumps(value, ensure_ascii=False).encode("utf-8", errors="replace"))

    @classmethod
    def error(cls, status: int, message: str) -> Answer:
        """Return a message that says what is wrong with a request."""
        return cls.of({"error": message}, status)


class Service:
    """Answers requests with one model. Several threads may call it at the same time.

    Args:
        tagger: labels the texts; it has a tokenizer.
        path: of the model's file.
    """

    def __init__(self, tagger: Tagger, path: str) -> None:
        self._tagger, self._path, self._version = tagger, path, _version(path)
        try:
            tagger.tag_text("")
        except OptionError as error:  # the model cannot label text
            message = f"{path}: {error}"
            raise OptionError(message) from error
        # All parts of the page give a type the same colour, whichever labels a text has.
        self._colours = Labelled(map(str, tagger.labels))
        content = page(f"Labels by {os.path.basename(path)}", self._colours.hues)
        self._pages: Mapping[str, Callable[[], Answer]] = {
            "/": lambda: Answer(200, content, "text/html; charset=utf-8"),
            "/model": self._model,
        }
        self._calls: Mapping[str, Callable[[dict[str, Any]], Answer]] = {"/tag": self._tag, "/explain": self._explain}

    def get(self, path: str) -> Answer | None:
        """Return what a path shows; None if there is no such path."""
        return self._pages[path]() if path in self._pages else None

    def post(self, path: str, body: bytes) -> Answer | None:
        """Return the answer to a JSON object that is posted to a path; None if there is no such path."""
        if path not in self._calls:
            return None
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return Answer.error(400, 'the request is not JSON; post an object such as {"text": "Ada wrote"}')
        if not isinstance(request, dict):
            return Answer.error(400, 'the request is not an object; post one such as {"text": "Ada wrote"}')
        try:
            return self._calls[path](request)
        except MissingPackageError as error:
            return Answer.error(501, str(error))
        except LogLinearError as error:
            return Answer.error(400, str(error))

    def takes(self, path: str) -> str | None:
        """Return the method that a path takes; None if there is no such path."""
        return "GET" if path in self._pages else "POST" if path in self._calls else None

    def _model(self) -> Answer:
        tokenizer = self._tagger.tokenizer
        return Answer.of(
            {
                "model": os.path.basename(self._path),
                "labels": [str(label) for label in self._tagger.labels],
                "tokenizer": None if tokenizer is None else tokenizer.spec,
            }
        )

    def _tag(self, request: dict[str, Any]) -> Answer:
        _check(request, {"text", "texts"})
        if ("text" in request) == ("texts" in request):
            message = 'give "text", a string, or "texts", a list of strings'
            raise DataError(message)
        if "text" in request:
            return Answer.of({"spans": self._spans([request["text"]])[0]})
        if not isinstance(request["texts"], list):
            message = 'texts is not a list; for a single string, give "text"'
            raise DataError(message)
        return Answer.of({"results": [{"spans": spans} for spans in self._spans(request["texts"])]})

    def _spans(self, texts: list[str]) -> list[list[dict[str, Any]]]:
        return [[span._asdict() for span in row] for row in self._tagger.tag_texts(texts)]

    def _explain(self, request: dict[str, Any]) -> Answer:
        _check(request, {"text", "top", "html"})
        text, top, as_html = request.get("text"), request.get("top", _TOP), request.get("html", False)
        if not isinstance(text, str):
            message = 'give "text", a string'
            raise DataError(message)
        if type(top) is not int or not 1 <= top <= _MOST:
            message = f"top={top!r} is not a whole number from 1 to {_MOST}"
            raise DataError(message)
        tokenizer = self._tagger.tokenizer
        assert tokenizer is not None
        offsets = tokenizer.offsets(text)
        if len(offsets) > _EXPLAINED:
            message = f"the text has {len(offsets):,} tokens, and at most {_EXPLAINED:,} tokens are explained; "
            message += "send one sentence"
            raise DataError(message)
        if not offsets:
            return Answer.of({"html": ""} if as_html else {"tokens": []})
        explanation = self._crf.explain([text[start:end] for start, end in offsets])
        if as_html:
            return Answer.of({"html": type(explanation).html_of([explanation], top, self._colours)})
        tokens = explanation.to_dict()["tokens"]
        return Answer.of(
            {
                "tokens": [
                    {"start": start, "end": end, **token, "contributions": token["contributions"][:top]}
                    for (start, end), token in zip(offsets, tokens, strict=True)
                ]
            }
        )

    @cached_property
    def _crf(self) -> ChainCRF:
        """The model as an estimator, which explains; opened when it is needed for the first time."""
        from ..models.chain import ChainCRF

        if _version(self._path) != self._version:
            name = os.path.basename(self._path)
            message = f"{name} has changed since the server started, so it cannot explain; start the server again"
            raise DataError(message)
        return ChainCRF.load(self._path)


def _version(path: str) -> tuple[int, ...]:
    """Return what changes if a file is replaced; nothing if it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _check(request: dict[str, Any], names: set[str]) -> None:
    """Raise DataError for a field that a request does not have."""
    if unknown := sorted(request.keys() - names):
        message = f"unknown field {unknown[0]!r}; a request has {', '.join(sorted(names))}"
        raise DataError(message)
