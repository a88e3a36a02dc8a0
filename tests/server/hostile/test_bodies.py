"""Requests that are well-formed enough to be read and meant to do harm."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.patience import PATIENCE_SECONDS
from tests.surveys.small_surveys import define

from masquerade.server.http.security import LARGEST_BODY, BodyLimit, LastResort
from masquerade.surveys.survey import commitment_of

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers, PostgresServer

MARK = "5ec2e75ec2e7"  # what participants' secrets begin with


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.exhaustive]),
    ],
)
def served(request: pytest.FixtureRequest, module_server: LiveServers) -> Iterator[LiveServer]:
    """A server on each kind of database, for all tests here."""
    if request.param == "sqlite":
        yield module_server(rate_participant=0, rate_address=0)
        return
    postgres: PostgresServer = request.getfixturevalue("postgres_server")
    postgres.execute("CREATE DATABASE bodies")
    yield module_server(database=postgres.url("bodies"), rate_participant=0, rate_address=0)


@pytest.fixture
def place(served: LiveServer) -> Iterator[Any]:
    """A server with a new survey, and a client of it."""
    server = served
    survey = server.services.surveys.open_survey(define())
    headers = {
        "Masquerade-Participant": MARK + secrets.token_hex(10),
        "Content-Type": "application/json",
        "Idempotency-Key": "0" * 32,
    }
    with httpx.Client(
        base_url=f"{server.url}/api/v1", headers=headers, trust_env=False, timeout=PATIENCE_SECONDS
    ) as client:
        client.survey, client.server = survey, server  # type: ignore[attr-defined]
        client.before = server.services.profiles.persons()  # type: ignore[attr-defined]
        yield client


def refused(answer: httpx.Response, *statuses: int) -> None:
    """Check that an answer is a problem with one of these statuses, and echoes nothing secret."""
    assert answer.status_code in statuses, (answer.status_code, answer.text[:300])
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail"} <= set(answer.json())
    assert MARK not in answer.text


DEEP = 100_000
BODIES: dict[str, bytes] = {
    "deep lists": b"[" * DEEP,
    "deep closed lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"survey":' * 20_000 + b"1" + b"}" * 20_000,
    "deep padding": b'{"survey":"a","level":"high","padding":' + b"[" * 9999 + b"]" * 9999 + b"}",
    "a number of many digits": b'{"survey":' + b"9" * 200_000 + b',"level":"high"}',
    "a large exponent": b'{"survey":1e999999999,"level":"high"}',
    "not a number": b'{"survey":NaN,"level":"high"}',
    "infinity": b'{"survey":-Infinity,"level":"high"}',
    "half a pair in a value": b'{"survey":"\\ud800","level":"\\udfff"}',
    "half a pair in a name": b'{"\\ud800":"a","survey":"a","level":"high"}',
    "NUL in a value": b'{"survey":"\\u0000","level":"high"}',
    "a raw NUL": b'{"survey":"\x00","level":"high"}',
    "bytes that are no text": b'{"survey":"\xff\xfe","level":"high"}',
    "UTF-16": '{"survey":"a","level":"high"}'.encode("utf-16"),
    "many names": json.dumps({f"n{n}": n for n in range(15_000)}).encode(),
    "a long name": json.dumps({"x" * 200_000: 1}).encode(),
    "no object": b"null",
    "nothing": b"",
}


def test_harmful_bodies_are_refused(place: Any) -> None:
    """Each is answered with a problem, on every route that takes a body, and nothing is kept."""
    id_ = "0" * 32
    for body in BODIES.values():
        for method, path in (
            ("POST", "/participations"),
            ("POST", f"/participations/{id_}/seal"),
            ("PUT", f"/participations/{id_}/response"),
            ("PATCH", "/me/caps"),
        ):
            refused(place.request(method, path, content=body), 400, 404, 422)
    assert place.server.services.profiles.persons() == place.before


def test_reports_that_are_no_reports(place: Any) -> None:
    """Of all that JSON can hold, reports are whole numbers in the mask's range and nothing else."""
    body = {"survey": place.survey.token, "level": "medium"}
    id_ = place.post("/participations", json=body).json()["id"]
    place.post(f"/participations/{id_}/open")
    salt = secrets.token_hex(16)
    place.post(f"/participations/{id_}/seal", json={"commitment": commitment_of(id_, [0, 0], salt)})
    rest = f'"salt":"{salt}","level":"medium","survey_hash":"{place.survey.hash}"'
    for one in (
        "1e0",
        "0.0",
        "-0.0",
        "true",
        '"0"',
        "null",
        "[0]",
        "{}",
        "NaN",
        "1e400",
        "9" * 400,
        "-" + "9" * 400,
        "9" * 5000,
        str(2**53),
        str(-(2**63)),
        str(2**64),
        "99",
        "-1",
    ):
        sent = f'{{"reports":[{one},0],{rest}}}'.encode()
        refused(place.put(f"/participations/{id_}/response", content=sent), 400, 422)
    good = f'{{"reports":[0,0],{rest}}}'.encode()
    assert place.put(f"/participations/{id_}/response", content=good).status_code == 201


def test_a_name_given_twice(place: Any) -> None:
    """Of two values under one name the last counts, in the check and in the database."""
    token = place.survey.token
    refused(
        place.post(
            "/participations", content=f'{{"survey":"{token}","level":"medium","level":"x"}}'
        ),
        422,
    )
    done = place.post(
        "/participations", content=f'{{"survey":"{token}","level":"x","level":"medium"}}'
    )
    assert done.status_code == 201
    assert done.json()["level"] == "medium"


KINDS = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/json-patch",
    "",
    "a" * 3000,
)


def test_another_type_of_content_is_refused(place: Any) -> None:
    """A body counts only where it says that it is JSON, so that no form of a page can send one."""
    sent = json.dumps({"survey": place.survey.token, "level": "medium"})
    for kind in KINDS:
        answer = place.post("/participations", content=sent, headers={"Content-Type": kind})
        refused(answer, 415, 422)
    assert place.server.services.profiles.persons() == place.before


PLACES = (
    "%00",
    "%00" * 32,
    "0" * 31 + "%00",
    "..%2f..",
    "%ff%fe",
    "%ed%a0%80",
    "' OR 1=1 --",
    "0" * 32 + "%0a",
    "A" * 32,
    "0" * 5000,
    "%F0%9F%8E%AD",
)


def test_a_name_that_cannot_be_is_not_there(place: Any) -> None:
    """Any other text for a participation or a survey in an address is not found."""
    for name in PLACES:
        for method, path in (
            ("POST", f"/participations/{name}/open"),
            ("POST", f"/participations/{name}/withdraw"),
            ("GET", f"/surveys/{name}/invitation"),
        ):
            refused(place.request(method, path), 404)
        refused(place.get(f"/invitations?cursor={name}"), 422)


def test_headers_of_another_form(place: Any) -> None:
    """A secret or a key is 32 hexadecimal digits in lower case; nothing else begins anything."""
    body = {"survey": place.survey.token, "level": "medium"}
    for value in (
        b"",
        b"0" * 31,
        b"0" * 33,
        b"F" * 32,
        b"\xff" * 32,
        b"0" * 31 + b"\xb2",
        b"0" * 9000,
    ):
        for name in ("Masquerade-Participant", "Idempotency-Key"):
            refused(place.post("/participations", json=body, headers={name: value}), 401, 422)
    assert place.server.services.profiles.persons() == place.before


def test_many_headers(place: Any) -> None:
    """Hundreds of headers are no harm, and more than a server reads are refused by it."""
    few = {f"x-{n}": "a" for n in range(300)}
    assert place.get("/levels", headers=few).status_code == 200
    many = {f"x-{n}": "a" * 100 for n in range(5000)}
    with contextlib.suppress(httpx.TransportError):  # where it closes before all has been sent
        assert place.get("/levels", headers=many).status_code in (400, 431)
    assert place.get("/levels").status_code == 200


def test_a_body_announced_as_too_large_is_not_waited_for(place: Any) -> None:
    """The refusal comes before the first byte of the body does."""
    port = httpx.URL(place.server.url).port
    for announced in (LARGEST_BODY + 1, 10**18):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as line:
            head = (
                "PUT /api/v1/participations/x/response HTTP/1.1\r\nHost: x\r\n"
                f"Content-Type: application/json\r\nContent-Length: {announced}\r\n\r\n"
            )
            line.sendall(head.encode())
            assert line.recv(12) == b"HTTP/1.1 413"


def test_who_leaves_in_the_middle_of_a_long_body_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A party that is killed while it sends is not logged as a fault of the one that reads."""
    messages = iter(
        [
            {"type": "http.request", "body": b"half", "more_body": True},
            {"type": "http.disconnect"},
        ]
    )
    sent: list[Any] = []

    async def reading(scope: Any, receive: Any, send: Any) -> None:
        body = await Request(scope, receive).body()
        await Response(body)(scope, receive, send)

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    app = LastResort(BodyLimit(reading, most=lambda _path: 2 * LARGEST_BODY))
    # In a thread of its own: a browser's tests may have a loop in this one.
    with ThreadPoolExecutor(1) as alone:
        alone.submit(asyncio.run, app(scope, receive, send)).result()
    assert (sent, caplog.records) == ([], [])


def test_a_body_of_many_small_parts(place: Any) -> None:
    """A body in thousands of parts is read like one in one part."""
    sent = json.dumps({"survey": place.survey.token, "level": "medium"}).encode()
    filled = sent + b" " * 10_000
    parts = (filled[n : n + 1] for n in range(len(filled)))
    assert place.post("/participations", content=parts).status_code == 201


def test_errors_hold_nothing_that_was_sent(place: Any) -> None:
    """For every fault of a request, the answer repeats no value of it."""
    for body in (
        {"survey": "planted-value", "level": "high"},
        {"survey": place.survey.token, "level": "planted-value"},
        {"survey": place.survey.token, "level": "Planted-Value"},
        {"survey": ["planted-value"], "level": {"planted-value": 1}},
        {"survey": place.survey.token, "level": "medium", "padding": "planted-value"},
    ):
        answer = place.post("/participations", json=body)
        assert answer.status_code in (404, 422)
        assert "planted" not in answer.text.lower()


@pytest.mark.parametrize(
    "body",
    [
        {f"n{n}": n for n in range(15_000)},
        {"survey": "a", "level": "high", **{f"n{n}": n for n in range(22)}},
        {"n" * 200_000: 1},
        {"reports": ["x"] * 60_000, "salt": "a", "level": "high", "survey_hash": "a"},
        {"reports": [[]] * 60_000},
        [0] * 60_000,
    ],
    ids=["names", "some names", "a long name", "wrong reports", "wrong lists", "a list"],
)
def test_a_wrong_request_is_answered_shortly(place: Any, body: Any) -> None:
    """For any number of faults, the answer tells a few places, and is shorter than the request."""
    for method, path in (
        ("POST", "/participations"),
        ("PUT", f"/participations/{'0' * 32}/response"),
    ):
        answer = place.request(method, path, json=body)
        refused(answer, 422)
        assert len(answer.json()["errors"]) <= 20
        assert len(answer.content) <= 8192


def test_trailers_are_no_headers(place: Any) -> None:
    """A field behind a chunked body tells neither the owner of a request nor its address."""
    secret = MARK + secrets.token_hex(10)
    port = httpx.URL(place.server.url).port

    def ask(before: str, trailer: str) -> bytes:
        head = (
            "POST /api/v1/participations HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
            f"Content-Type: application/json\r\nIdempotency-Key: {secrets.token_hex(16)}\r\n"
            f"Connection: close\r\n{before}\r\n"
        )
        body = json.dumps({"survey": place.survey.token, "level": "medium"})
        chunked = f"{len(body):x}\r\n{body}\r\n0\r\n{trailer}\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as line:
            line.sendall((head + chunked).encode())
            return b"".join(iter(lambda: line.recv(65536), b""))

    mine = f"Masquerade-Participant: {secret}\r\n"
    assert b" 201 " in ask(mine, "").partition(b"\r\n")[0]
    assert b" 401 " in ask("", mine).partition(b"\r\n")[0]


def test_a_trailer_does_not_change_the_address(live_server: LiveServers) -> None:
    """Sign-in limits hold where a proxy that is trusted passes trailers on."""
    server = live_server(trusted_proxies="127.0.0.1")
    port, found = int(httpx.URL(server.url).port or 0), []
    for number in range(16):
        body = b"login=ann&password=x"
        request = (
            b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\nAccept: text/html\r\n"
            b"Connection: close\r\n\r\n%x\r\n%s\r\n0\r\nX-Forwarded-For: 192.0.2.%d\r\n\r\n"
        ) % (port, len(body), body, number)
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as line:
            line.sendall(request)
            found.append(line.recv(65536).split(b" ", 2)[1])
    assert found[-1] == b"429"


def test_a_request_names_its_host_once(place: Any) -> None:
    """None and two are refused, as a proxy before us may read another one than we do."""
    port = int(httpx.URL(place.server.url).port or 0)
    for hosts, status in ((0, b"400"), (1, b"200"), (2, b"400")):
        head = "GET /healthz HTTP/1.1\r\n" + "".join(f"Host: h{n}\r\n" for n in range(hosts))
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as line:
            line.sendall(f"{head}Connection: close\r\n\r\n".encode())
            assert line.recv(65536).split(b" ", 2)[1] == status
