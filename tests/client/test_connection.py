"""Requests of the client: retries, refusals, and limits on the server."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from masquerade import errors
from masquerade.client import Client, Identity
from masquerade.client.connection import error_of
from masquerade.errors import BrokenPromise, MasqueradeError, ParameterError, ServerUnavailable

if TYPE_CHECKING:
    pass

URL = "https://survey.example"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the list of pauses that the client makes, none of which is waited for."""
    made: list[float] = []
    monkeypatch.setattr("masquerade.client.connection.sleep", made.append)
    return made


def served(
    tmp_path: Path, answer: Callable[[httpx.Request], httpx.Response], **options: Any
) -> Client:
    """Return a client of a server that gives these answers."""
    transport = httpx.MockTransport(answer)
    return Client(URL, Identity.create(), tmp_path, transport=transport, **options)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(tmp_path: Path, pauses: list[float], status: int) -> None:
    """After growing pauses the request is sent again, the same, and the answer is given."""
    answers: Iterator[Any] = iter([status, httpx.ConnectError("no"), status, {"me": 1}])
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, str(request.url), dict(request.headers)))
        now = next(answers)
        if isinstance(now, Exception):
            raise now
        return httpx.Response(now) if isinstance(now, int) else httpx.Response(200, json=now)

    assert served(tmp_path, answer).me_on_server() == {"me": 1}
    assert len(seen) == 4
    assert all(one == seen[0] for one in seen)
    assert len(pauses) == 3
    assert pauses[0] <= 0.5 < pauses[2] <= 2


def test_no_cookie_comes_back(tmp_path: Path) -> None:
    """A server cannot mark this computer: no cookie of it is in a later request."""
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(dict(request.headers))
        return httpx.Response(200, json={}, headers={"Set-Cookie": "mark=1; Path=/"})

    client = served(tmp_path, answer)
    client.me_on_server()
    with pytest.raises(BrokenPromise):
        client.invitation("5a")
    assert len(seen) == 2
    assert all("cookie" not in headers for headers in seen)


def test_a_server_that_says_when_is_obeyed(tmp_path: Path, pauses: list[float]) -> None:
    """Retry-After is waited for, up to a minute."""
    waits = iter(["7", "86400", "nonsense"])

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(429, headers={"Retry-After": next(waits)})

    with pytest.raises(ServerUnavailable, match="status 429"):
        served(tmp_path, answer, attempts=3).me_on_server()
    assert pauses == [7, 60]


def test_a_server_that_is_gone(tmp_path: Path, pauses: list[float]) -> None:
    """Where nobody answers the error says so, names the server and not the secret."""

    def answer(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    client = served(tmp_path, answer)
    with pytest.raises(ServerUnavailable, match=f"{URL} cannot be asked now: connection") as gone:
        client.me_on_server()
    assert client.identity.secret_at(client.url) not in str(gone.value)
    assert len(pauses) == 4


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>Welcome to the hotel</html>"),
        httpx.Response(302, headers={"Location": "https://elsewhere.example"}),
        httpx.Response(404, text="nothing"),
        httpx.Response(200, json=[]),
    ],
)
def test_something_else_that_answers(tmp_path: Path, answer: httpx.Response) -> None:
    """Another kind of server is an error; a redirection, which would carry the secret, too."""
    seen = []

    def give(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.host)
        return answer

    with pytest.raises(ServerUnavailable, match="does not answer like a Masquerade server"):
        served(tmp_path, give).me_on_server()
    assert seen == ["survey.example"]


@pytest.mark.parametrize(
    ("slug", "name"),
    [
        ("unauthenticated", "Unauthenticated"),
        ("not-found", "NotFound"),
        ("wrong-state", "WrongState"),
        ("already-participated", "AlreadyParticipated"),
        ("invalid-report", "InvalidReport"),
        ("level-not-allowed", "LevelNotAllowed"),
        ("survey-hash-mismatch", "SurveyHashMismatch"),
        ("commitment-mismatch", "CommitmentMismatch"),
        ("idempotency-conflict", "IdempotencyConflict"),
        ("confirmation-needed", "ConfirmationNeeded"),
        ("privacy-cap-exceeded", "InsufficientBudget"),
        ("clear-cap-exceeded", "ClearDisclosureRefused"),
        ("validation-error", "ParameterError"),
        ("something-new", "SurveyError"),
    ],
)
def test_a_refusal_is_the_exception_of_its_name(slug: str, name: str) -> None:
    """Problem details become the class that the server raised, with its words and numbers."""
    problem = {
        "type": f"/problems/{slug}",
        "detail": "So it is.",
        "state": "opened",
        "needed": 3,
        "residual": 1,
        "unit": "rho",
    }
    error = error_of(409, problem)
    assert type(error) is getattr(errors, name)
    assert str(error) == "So it is."
    if name == "WrongState":
        assert vars(error)["state"] == "opened"
    if name in ("InsufficientBudget", "ClearDisclosureRefused"):
        assert (vars(error)["needed"], vars(error)["residual"]) == (3, 1)


def test_every_refusal_of_the_server_is_known() -> None:
    """No slug that the server gives to one of the project's errors is missing here."""
    for slug, kind in MasqueradeError.by_slug().items():
        problem = {"type": f"/problems/{slug}", "detail": "no"}
        assert type(error_of(kind.status, problem)) is (
            errors.ParameterError if kind is MasqueradeError else kind
        )


def test_a_refusal_without_details_is_still_one() -> None:
    """A refusal of any content is an error of the project."""
    for problem in ({}, {"type": 3, "detail": None}, {"type": "/problems/wrong-state", "state": 4}):
        assert isinstance(error_of(400, problem), MasqueradeError)
    invalid = {
        "type": "/problems/validation-error",
        "detail": "Wrong.",
        "errors": [{"pointer": "body/epsilon", "detail": "too large"}],
    }
    assert str(error_of(422, invalid)) == "Wrong. body/epsilon: too large"
    said = invalid | {"detail": "body/epsilon: too large"}
    assert str(error_of(422, said)) == "body/epsilon: too large"


@pytest.mark.parametrize("url", ["example.org", "ftp://x", "https://", "https://a:b@c.d"])
def test_what_is_no_address_is_refused(tmp_path: Path, url: str) -> None:
    """An address needs a scheme that is spoken here and a host, and holds no password."""
    with pytest.raises(ParameterError, match="url is"):
        Client(url, home=tmp_path)


@pytest.mark.parametrize("survey", ["../me", "x", "", "https://other.example/s/5a", "a" * 33])
def test_what_is_no_survey_is_refused(tmp_path: Path, survey: str) -> None:
    """Neither a path nor a link to another server is asked for."""
    client = served(tmp_path, lambda _: httpx.Response(500))
    for ask in (client.invitation, client.begin, client.participation):
        with pytest.raises(ParameterError):
            ask(survey)


def test_a_link_of_a_survey_is_an_address_too(tmp_path: Path) -> None:
    """The client of a share link is that of its server, below every path."""
    for url in (URL, f"{URL}/", f"{URL}/s/5a5a", f"{URL}/s/5a5a/"):
        assert Client(url, home=tmp_path).url == URL
    assert Client(f"{URL}/polls/s/5a", home=tmp_path).url == f"{URL}/polls"


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://example.org", False),
        ("http://93.184.215.14:8000", False),
        ("http://127.0.0.1:8000", True),
        ("http://[::1]:8000", True),
        ("http://192.168.1.7", True),
        ("http://localhost", True),
        ("http://server.local", True),
        ("https://example.org", True),
    ],
)
def test_http_is_for_near_servers(tmp_path: Path, url: str, near: bool) -> None:
    """An account is not sent in clear over the internet."""
    if near:
        Client(url, home=tmp_path).close()
        return
    with pytest.raises(ParameterError, match="https"):
        Client(url, home=tmp_path)


def test_an_answer_without_end_is_not_read(tmp_path: Path) -> None:
    """A small answer that grows without end when unpacked ends the reading, not the device."""
    bomb = gzip.compress(b" " * (200 * 2**20), compresslevel=9)
    seen: list[int] = []

    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Pieces(bomb, seen))

    client = Client("https://a.example", home=tmp_path, transport=httpx.MockTransport(answer))
    with pytest.raises(ServerUnavailable, match="answers more than"):
        client.invitation("5a")
    assert sum(seen) < len(bomb)


class Pieces(httpx.SyncByteStream):
    """The bytes of an answer, a few at a time."""

    def __init__(self, content: bytes, seen: list[int]) -> None:
        self._content, self._seen = content, seen

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes and note how many were asked for."""
        for start in range(0, len(self._content), 4096):
            self._seen.append(4096)
            yield self._content[start : start + 4096]


def test_deep_json_is_no_answer(tmp_path: Path) -> None:
    """JSON nested without end is an error of the project, and not of the interpreter."""
    deep = httpx.MockTransport(lambda _: httpx.Response(200, content=b"[" * 200_000))
    client = Client("https://a.example", home=tmp_path, transport=deep)
    with pytest.raises(ServerUnavailable, match="does not answer like"):
        client.invitation("5a")
