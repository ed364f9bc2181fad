"""The page and the JSON API of `loglinear serve`: answers, limits, and what is refused."""

import base64
import hashlib
import http.client
import json
import re
import socket
import threading
from contextlib import closing, suppress
from html import unescape
from urllib.parse import quote

import pytest

from loglinear import ChainCRF, MissingPackageError, Tagger
from loglinear.server import http_server
from loglinear.server.http_server import Server, is_loopback
from loglinear.server.service import Service
from oracles.browser import findings, needs_axe, needs_browser, opened

X = [["Ada", "Lovelace", "wrote", "in", "London"], ["Rain", "fell", "in", "Paris"], ["Ada", "fell"]] * 3
y = [["B-PER", "I-PER", "O", "O", "B-LOC"], ["O", "O", "O", "B-LOC"], ["B-PER", "O"]] * 3
TEXTS = ["Ada Lovelace fell in Paris 😀 <b>", "", "Rain in London"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("server") / "<i>.loglinear"
    ChainCRF(template="ner", tokenizer="words", l2=0.1).fit(X, y).save(path)
    return path


@pytest.fixture(scope="module")
def server(model):
    with Server(Service(Tagger(model), str(model)), "127.0.0.1", 0, 64 << 10) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def asked(server, method, path, body=None, **headers):
    """Status, headers and content of the answer to a request."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=20)) as connection:
        if isinstance(body, dict):
            headers, body = {"Content-Type": "application/json"} | headers, json.dumps(body)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


def posted(server, path, request):
    status, _, content = asked(server, "POST", path, request)
    return status, json.loads(content)


def test_spans_are_those_of_the_tagger(server, model):
    tagger = Tagger(model)
    expected = [[span._asdict() for span in spans] for spans in tagger.tag_texts(TEXTS)]
    assert posted(server, "/tag", {"texts": TEXTS}) == (200, {"results": [{"spans": spans} for spans in expected]})
    assert posted(server, "/tag", {"text": TEXTS[0]}) == (200, {"spans": expected[0]})
    assert expected[0][0]["text"] == "Ada Lovelace"


def test_explanations_are_those_of_the_estimator(server, model):
    status, answer = posted(server, "/explain", {"text": TEXTS[0], "top": 3})
    explanation = ChainCRF.load(model).explain(Tagger(model).cut(TEXTS[0]))
    assert status == 200
    for token, expected in zip(answer["tokens"], explanation.to_dict()["tokens"], strict=True):
        assert TEXTS[0][token.pop("start") : token.pop("end")] == token["text"]
        assert token == expected | {"contributions": expected["contributions"][:3]}
    status, answer = posted(server, "/explain", {"text": TEXTS[0], "html": True})
    assert status == 200
    assert without_hues(answer["html"]) == without_hues(explanation.html())
    assert posted(server, "/explain", {"text": " "}) == (200, {"tokens": []})
    assert posted(server, "/explain", {"text": " ", "html": True}) == (200, {"html": ""})


def without_hues(html):
    return re.sub(r"--hue:\d+", "", html)


def test_a_type_has_one_colour_on_the_whole_page(server):
    (hues,) = re.findall('data-hues="([^"]*)"', asked(server, "GET", "/")[2])
    hues = json.loads(unescape(hues))
    assert sorted(hues) == ["LOC", "PER"]
    for text in ("Ada wrote in Paris", "Rain in Paris"):
        html = posted(server, "/explain", {"text": text, "html": True})[1]["html"]
        assert {*re.findall(r'--hue:(\d+)">(?:(?!--hue).)*?>LOC</small>', html)} == {f"{hues['LOC']:.0f}"}


def test_the_page_may_use_its_own_script_and_server_alone(server):
    status, headers, page = asked(server, "GET", "/")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = headers["Content-Security-Policy"]
    assert status == 200
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "Labels by &lt;i&gt;.loglinear" in page
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_model_is_described(server):
    assert json.loads(asked(server, "GET", "/model")[2]) == {
        "model": "<i>.loglinear",
        "labels": Tagger(ChainCRF().fit(X, y)).labels,
        "tokenizer": "words",
    }


REFUSED = {
    "another host": ("GET", "/", None, {"Host": "example.org"}, 403, "only answers this machine"),
    "another host with a port": ("GET", "/", None, {"Host": "example.org:8300"}, 403, "only answers this machine"),
    "a host that is none": ("GET", "/", None, {"Host": "[::"}, 403, "only answers this machine"),
    "another site": ("POST", "/tag", {"text": "a"}, {"Origin": "https://example.org"}, 403, "pages of https://example"),
    "a site that is none": ("POST", "/tag", {"text": "a"}, {"Origin": "http://[x"}, 403, "pages of http://[x"),
    "a file": ("POST", "/tag", {"text": "a"}, {"Origin": "null"}, 403, "pages of null"),
    "no such page": ("GET", "/../etc/passwd", None, {}, 404, "there is no /../etc/passwd"),
    "no such call": ("POST", "/train", {"text": "a"}, {}, 404, "there is no /train"),
    "wrong method": ("GET", "/tag", None, {}, 405, "use POST"),
    "wrong method of a page": ("POST", "/", {}, {}, 405, "use GET"),
    "unknown method": ("BREW", "/", None, {}, 501, "BREW"),
    "a form": ("POST", "/tag", "text=a", {"Content_Type": "text/plain"}, 415, "Content-Type: application/json"),
    "too large": ("POST", "/tag", {"text": "a" * (64 << 10)}, {}, 413, "at most 64 KiB"),
    "no JSON": ("POST", "/tag", "{", {"Content_Type": "application/json"}, 400, "is not JSON"),
    "deep JSON": ("POST", "/tag", "[" * 60_000, {"Content_Type": "application/json"}, 400, "is not JSON"),
    "not UTF-8": ("POST", "/tag", b'{"text": "\xff"}', {"Content_Type": "application/json"}, 400, "is not JSON"),
    "no object": ("POST", "/tag", "[]", {"Content_Type": "application/json"}, 400, "is not an object"),
    "no text": ("POST", "/tag", {}, {}, 400, 'give "text"'),
    "both": ("POST", "/tag", {"text": "a", "texts": []}, {}, 400, 'give "text"'),
    "a number": ("POST", "/tag", {"text": 3}, {}, 400, "must be a str"),
    "a text for texts": ("POST", "/tag", {"texts": "Ada"}, {}, 400, "texts is not a list"),
    "a surrogate": ("POST", "/tag", {"text": "\ud800"}, {}, 400, "Unicode"),
    "unknown field": ("POST", "/tag", {"text": "a", "txt": "b"}, {}, 400, "unknown field 'txt'"),
    "top": ("POST", "/explain", {"text": "a", "top": True}, {}, 400, "top=True"),
    "many tokens": ("POST", "/explain", {"text": "a " * 1001}, {}, 400, "at most 1,000 tokens"),
    "explain a list": ("POST", "/explain", {"text": ["a"]}, {}, 400, 'give "text"'),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_requests_are_refused_with_the_reason(server, case):
    method, path, body, headers, status, reason = REFUSED[case]
    found, _, content = asked(server, method, path, body, **headers)
    assert (found, reason in json.loads(content)["error"]) == (status, True), content
    assert posted(server, "/tag", {"text": "Ada"})[0] == 200


def raw(server, *parts):
    """Send bytes; return what comes back until the server closes the connection."""
    with socket.create_connection(server.server_address, timeout=20) as connection:
        with suppress(ConnectionError):  # it may be closed before all is sent
            for part in parts:
                connection.sendall(part)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_requests_without_a_length_or_in_chunks_are_refused(server):
    head = b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for length in (b"", b"Content-Length: x\r\n", b"Content-Length: -1\r\n", b"Transfer-Encoding: chunked\r\n"):
        assert raw(server, head, length, b"\r\n").startswith(b"HTTP/1.1 411")
    for lengths, status in (((13, 14), b"400"), ((13, 13), b"200")):
        headers = b"".join(b"Content-Length: %d\r\n" % length for length in lengths)
        assert raw(server, head, headers, b"Connection: close\r\n\r\n", b'{"text": "a"}').startswith(
            b"HTTP/1.1 " + status
        )
    both = b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"
    assert raw(server, head, both).startswith(b"HTTP/1.1 411")


def test_what_is_not_http_is_refused(server):
    assert b"error" in raw(server, b"\x16\x03\x01 hello\r\n\r\n")  # as to a client of HTTP 0.9, without headers
    no_address = b"GET http://[x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert b"there is no http://[x" in raw(server, no_address)
    assert b"414" in raw(server, b"GET /", b"a" * 70_000, b" HTTP/1.1\r\n\r\n")


def test_a_client_that_pauses_loses_its_connection(server, monkeypatch):
    monkeypatch.setattr(http_server._Handler, "timeout", 0.05)
    head = b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    assert raw(server, head) == b""
    assert posted(server, "/tag", {"text": "Ada"})[0] == 200


def test_more_requests_than_there_is_room_for_are_sent_away(server, monkeypatch):
    monkeypatch.setattr(server, "_working", threading.BoundedSemaphore(1))
    with server.turn() as has_room:
        assert has_room
        assert asked(server, "GET", "/model")[0] == 503
    assert asked(server, "GET", "/model")[0] == 200


def test_a_mistake_of_the_server_is_answered_without_its_details(server, monkeypatch, capfd):
    monkeypatch.setattr(server.service, "get", lambda path: 1 / 0)
    status, _, content = asked(server, "GET", "/")
    assert status == 500
    assert "ZeroDivisionError" not in content
    assert "ZeroDivisionError" in capfd.readouterr().err


@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_no_other_model_explains_than_the_one_that_labels(model, tmp_path, change):
    path = tmp_path / "ner.loglinear"
    path.write_bytes(model.read_bytes())
    service = Service(Tagger(model), str(path))
    path.unlink()
    if change == "replaced":
        ChainCRF(template="pos", tokenizer="words").fit(X, y).save(path)
    answer = service.post("/explain", b'{"text": "Ada"}')
    assert (answer.status, b"ner.loglinear has changed since the server started" in answer.content) == (400, True)
    assert service.post("/tag", b'{"text": "Ada"}').status == 200


def test_a_missing_package_is_named(server, monkeypatch):
    def missing(request):
        message = "it needs NumPy; install it: pip install numpy"
        raise MissingPackageError(message, name="numpy")

    monkeypatch.setattr(server.service, "_calls", {"/explain": missing})
    assert posted(server, "/explain", {}) == (501, {"error": "it needs NumPy; install it: pip install numpy"})


def test_a_head_request_has_no_body(server):
    status, headers, content = asked(server, "HEAD", "/")
    assert (status, content) == (200, "")
    assert int(headers["Content-Length"]) > 1000


def test_many_threads_get_the_same_answers(server):
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(posted(server, "/explain", {"text": TEXTS[0]})))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert all(answer == answers[0] and answer[0] == 200 for answer in answers)


@pytest.mark.slow
@needs_axe
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_labels_and_explains_in_a_browser(server, tmp_path, dark):
    place = f"?text={quote(chr(10).join(TEXTS))}"
    console, document = opened(tmp_path / "page", place, dark=dark, width=390, url=server.url)
    assert console == []
    shown = document[document.index('id="labelled"') : document.index("<script>")]
    assert re.search('<span class="label"[^>]*>Ada Lovelace<small class="type">PER 0', shown)
    assert "&lt;" in shown
    assert re.search('<th scope="row">London</th><td>LOC</td><td>8–14</td>', shown)
    assert shown.count("<details") > 5
    assert 'id="problem" class="note" role="alert" hidden' in document
    copy = tmp_path / "copy.html"
    copy.write_text(re.sub("<script>.*?</script>", "", document, flags=re.DOTALL), encoding="utf-8")
    assert findings(copy, dark=dark, width=390) == []


@pytest.mark.slow
@needs_browser
def test_the_page_shows_an_error_of_the_server(server, tmp_path):
    document = opened(tmp_path / "page", f"?text={quote('a ' * 1001)}", url=server.url)[1]
    assert re.search('<p id="problem" class="note" role="alert">[^<]*at most 1,000 tokens', document)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.8.8.8", "::1"])
def test_names_of_the_machine_itself(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "example.org", "localhost.example.org", "::", "10.0.0.1"])
def test_names_of_other_machines(host):
    assert not is_loopback(host)
