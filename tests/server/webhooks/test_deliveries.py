"""Webhooks: the events, their receivers, and the fate of undelivered messages."""

from __future__ import annotations

import hmac
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server import Services
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.http.outgoing import Target, resolve
from masquerade.server.webhooks import sender as sending
from masquerade.server.webhooks.sender import PAUSES_SECONDS, SIGNATURE, Sender, signature
from masquerade.server.webhooks.webhooks import EVENTS, MOST_OF_A_TEAM, TEST


@dataclass
class Receiver:
    """A program that is told of events."""

    url: str = ""
    status: int = 200
    location: str = ""
    got: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)

    @property
    def events(self) -> list[str]:
        """Names of the told events, in order."""
        return [json.loads(body)["event"] for _, body in self.got]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A program on this computer that is told of events."""
    told = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.got.append((dict(self.headers), body))
            self.send_response(told.status)
            if told.location:
                self.send_header("Location", told.location)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}/hook?a=b"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield told
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def open_services(database_url: str) -> Iterator[Services]:
    """A store with webhooks that may lead to this computer."""
    services = Services.open(database_url, today=lambda: "2026-03-14", webhook_private=True)
    yield services
    services.close()


def sender(services: Services, **options: Any) -> Sender:
    """Return the sender of a store's messages."""
    return Sender(services.transactions, private=True, **options)


def test_a_message_is_signed_and_says_little(open_services: Services, receiver: Receiver) -> None:
    """Body, signature and headers are as documented; no count, no report, no person is in it."""
    services = open_services
    hooks = services.webhooks
    _, secret = hooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    survey = services.surveys.open_survey(define())
    device = Device()
    device.send(services, survey)
    services.surveys.close(survey)
    sender(services, clock=lambda: 1_700_000_000.5).deliver()
    assert receiver.events == ["survey.closed", "survey.results_ready"]
    for headers, body in receiver.got:
        told = json.loads(body)
        assert set(told) <= {"id", "event", "day", "survey", "state"}
        assert (told["survey"], told["day"]) == (survey.token, "2026-03-14")
        assert headers["Host"] == receiver.url.split("/")[2]
        seconds, _, mac = headers[SIGNATURE].partition(",v1=")
        assert seconds == "t=1700000000"
        expected = hmac.digest(secret.encode(), b"1700000000." + body, "sha256").hex()
        assert mac == expected
    assert sender(services).deliver() == 0
    log = hooks.log(FIRST_TEAM)
    assert {(one.state, one.outcome, one.attempts) for one in log} == {
        ("delivered", "answered 200", 1)
    }


def test_each_event_is_told_once(open_services: Services, receiver: Receiver) -> None:
    """Opening, closing (twice): one message each, to the webhook that chose it."""
    services = open_services
    hooks = services.webhooks
    hooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    from masquerade.server.surveys.document import read_document

    document = read_document(
        {
            "title": "T",
            "levels": ["high"],
            "questions": [{"kind": "choice", "id": "q", "text": "?", "options": ["A", "B"]}],
            "plan": {"people": 3},
        }
    )
    draft, _ = services.drafts.create(document, team=FIRST_TEAM)
    survey = services.drafts.open(draft.token, team=FIRST_TEAM)
    for _ in range(3):
        Device().send(services, survey)
    services.surveys.close(survey)
    with pytest.raises(WrongState):
        services.surveys.close(survey)
    services.daily_jobs.run()
    sender(services).deliver()
    assert receiver.events == ["survey.opened", "survey.closed", "survey.results_ready"]


@pytest.mark.parametrize("refusals", range(4))
def test_a_webhook_is_told_in_the_order_in_which_it_happened(
    open_services: Services, refusals: int
) -> None:
    """For all refusals at first, a survey's end is told before its results; others go on."""
    services, now, told = open_services, [1_700_000_000.0], []
    for place in (0, 1):
        address = f"http://127.0.0.1:{5000 + place}/"
        services.webhooks.create(FIRST_TEAM, url=address, events=EVENTS)
    for _ in range(3):
        services.surveys.close(services.surveys.open_survey(define()))
    left = refusals

    def send(target: Target, _address: str, body: bytes, _headers: Mapping[str, str]) -> int:
        nonlocal left
        message = json.loads(body)
        if target.port == 5000 and left and message["event"] == "survey.closed":
            left -= 1
            return 500
        told.append((target.port, message["survey"], message["event"]))
        return 200

    waiting = sender(services, send=send, clock=lambda: now[0])
    for _ in range(5):
        waiting.deliver()
        now[0] += 100_000
    assert len(told) == 12
    for port, survey, event in told:
        if event == "survey.results_ready":
            before = told[: told.index((port, survey, event))]
            assert (port, survey, "survey.closed") in before


def test_a_survey_that_lapses_is_told(database_url: str, receiver: Receiver) -> None:
    """The day on which a survey ends by itself tells of it too; a cancelled one has no results."""
    days = ["2026-03-14"]
    services = Services.open(database_url, today=lambda: days[0], webhook_private=True)
    services.webhooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    lapsing, cancelled = (services.surveys.open_survey(define()) for _ in range(2))
    services.surveys.extend(lapsing, "2026-03-15")
    services.surveys.cancel(cancelled)
    for day in ("2026-03-16", "2026-03-17", "2026-03-18", "2026-03-19"):
        days[0] = day
        services.daily_jobs.run()
    sender(services).deliver()
    told = sorted((json.loads(b)["event"], json.loads(b)["survey"]) for _, b in receiver.got)
    assert told == sorted(
        [
            ("survey.closed", lapsing.token),
            ("survey.results_ready", lapsing.token),
            ("survey.closed", cancelled.token),
        ]
    )
    services.close()


def test_only_the_team_itself_is_told(open_services: Services, receiver: Receiver) -> None:
    """A webhook of one team is not told of another's survey, nor shown to it."""
    services = open_services
    services.teams.found("Second", login="second", name="S", password="four words in a row")
    second = services.teams.named("Second")
    assert second is not None
    made, _ = services.webhooks.create(second.id, url=receiver.url, events=EVENTS)
    services.surveys.close(services.surveys.open_survey(define()))
    assert sender(services).deliver() == 0
    assert services.webhooks.of_team(FIRST_TEAM) == []
    for work in (services.webhooks.remove, services.webhooks.test):
        with pytest.raises(NotFound):
            work(FIRST_TEAM, made.id)


def test_what_does_not_arrive_is_tried_for_a_day(
    open_services: Services, receiver: Receiver
) -> None:
    """It is tried again after each pause and not before, then given up: a day all together."""
    services = open_services
    made, _ = services.webhooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    services.webhooks.test(FIRST_TEAM, made.id)
    receiver.status = 500
    now = [1000.0]
    sends = sender(services, clock=lambda: now[0])
    sends.deliver()
    for pause in PAUSES_SECONDS:
        count = len(receiver.got)
        now[0] += pause - 1
        sends.deliver()
        assert len(receiver.got) == count
        now[0] += 1
        sends.deliver()
        assert len(receiver.got) == count + 1
    assert 23 * 3600 < sum(PAUSES_SECONDS) < 25 * 3600
    [told] = services.webhooks.log(FIRST_TEAM)
    assert (told.state, told.attempts, told.outcome) == ("failed", 7, "answered 500")
    now[0] += 10**6
    assert sends.deliver() == 0
    assert len(receiver.got) == 7


def test_a_restart_forgets_no_message(open_services: Services, receiver: Receiver) -> None:
    """Waiting messages are tried at once by the next process."""
    services = open_services
    made, _ = services.webhooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    services.webhooks.test(FIRST_TEAM, made.id)
    receiver.status = 503
    assert sender(services).deliver() == 0
    receiver.status = 204
    assert sender(services).deliver() == 1


def test_redirects_are_not_followed(open_services: Services, receiver: Receiver) -> None:
    """An answer that leads elsewhere is a failure, and nobody is asked elsewhere."""
    services = open_services
    made, _ = services.webhooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    services.webhooks.test(FIRST_TEAM, made.id)
    receiver.status, receiver.location = 302, receiver.url
    sender(services).deliver()
    assert len(receiver.got) == 1
    [told] = services.webhooks.log(FIRST_TEAM)
    assert told.outcome == "answered 302; redirects are not followed"


def test_results_are_there_before_they_are_told(
    open_services: Services, receiver: Receiver
) -> None:
    """The message about results waits until they are made."""
    services = open_services
    services.webhooks.create(FIRST_TEAM, url=receiver.url, events=["survey.results_ready"])
    survey = services.surveys.open_survey(define())
    services.surveys.close(survey)
    made: list[str] = []

    def fail(token: str) -> None:
        made.append(token)
        raise RuntimeError

    assert sender(services, before={"survey.results_ready": fail}).deliver() == 0
    assert made == [survey.token]
    assert receiver.got == []
    assert sender(services, before={"survey.results_ready": made.append}).deliver() == 1


def test_a_slow_answer_is_cut(sqlite_services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that dribbles in is given up after a while, for all bytes meanwhile."""
    monkeypatch.setattr(sending, "_PATIENCE_SECONDS", 0.5)
    ended = threading.Event()
    answer = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 400 + b"\r\nContent-Length: 0\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def dribble() -> None:
            line, _ = listening.accept()
            with line:
                line.recv(4096)
                for byte in answer:
                    if ended.wait(0.2):
                        return
                    try:
                        line.sendall(bytes([byte]))
                    except OSError:
                        return

        thread = threading.Thread(target=dribble, daemon=True)
        thread.start()
        target = Target(False, "127.0.0.1", listening.getsockname()[1], "/")
        with pytest.raises((TimeoutError, OSError)):
            sending.post(target, "127.0.0.1", b"{}", {})
        ended.set()
        thread.join()


Names = Callable[..., list[Any]]


def answers(*found: str) -> Names:
    """Return a name service that knows one answer."""
    return lambda *_, **__: [(2, 1, 6, "", (one, 443)) for one in found]


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every address that a name has must be public."""
    target = Target(True, "rebind.example", 443, "/")
    monkeypatch.setattr(socket, "getaddrinfo", answers("1.1.1.1", "10.0.0.1"))
    with pytest.raises(ParameterError, match=r"leads to 10\.0\.0\.1"):
        resolve(target, private=False)
    assert resolve(target, private=True) == "1.1.1.1"


def test_a_message_goes_to_the_address_that_was_checked(
    sqlite_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that leads inside a moment later changes nothing: it is looked up once, and anew."""
    services = sqlite_services
    monkeypatch.setattr(socket, "getaddrinfo", answers("1.1.1.1"))
    made, _ = services.webhooks.create(FIRST_TEAM, url="https://rebind.example/", events=EVENTS)
    services.webhooks.test(FIRST_TEAM, made.id)
    sent: list[str] = []

    def send(target: Target, address: str, body: bytes, headers: Mapping[str, str]) -> int:
        sent.append(address)
        return 200

    sends = Sender(services.transactions, private=False, send=send)
    assert sends.deliver() == 1
    assert sent == ["1.1.1.1"]
    services.webhooks.test(FIRST_TEAM, made.id)
    monkeypatch.setattr(socket, "getaddrinfo", answers("127.0.0.1"))
    assert sends.deliver() == 0
    assert sent == ["1.1.1.1"]
    waiting = services.webhooks.log(FIRST_TEAM)[0]
    assert "no public address" in waiting.outcome


def test_limits(open_services: Services, receiver: Receiver) -> None:
    """Unknown events, no event, too many webhooks and too many tests are refused."""
    hooks = open_services.webhooks
    for events in ([], ["survey.answered"]):
        with pytest.raises(ParameterError):
            hooks.create(FIRST_TEAM, url=receiver.url, events=events)
    made, _ = hooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    for _ in range(10):
        hooks.test(FIRST_TEAM, made.id)
    with pytest.raises(WrongState):
        hooks.test(FIRST_TEAM, made.id)
    for _ in range(MOST_OF_A_TEAM - 1):
        hooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    with pytest.raises(ParameterError, match="at most"):
        hooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    hooks.remove(FIRST_TEAM, made.id)
    assert [one for one in hooks.log(FIRST_TEAM) if one.event == TEST] == []


def test_old_messages_are_forgotten(database_url: str, receiver: Receiver) -> None:
    """After 30 days delivered messages are deleted, and waiting ones are not."""
    days = ["2026-03-14"]
    services = Services.open(database_url, today=lambda: days[0], webhook_private=True)
    hooks = services.webhooks
    made, _ = hooks.create(FIRST_TEAM, url=receiver.url, events=EVENTS)
    hooks.test(FIRST_TEAM, made.id)
    sender(services).deliver()
    hooks.test(FIRST_TEAM, made.id)
    days[0] = "2026-04-14"
    hooks.forget_old()
    assert [one.state for one in hooks.log(FIRST_TEAM)] == ["waiting"]
    services.close()


@given(st.binary(max_size=64), st.integers(0, 2**40))
def test_a_signature_is_of_this_body_at_this_time(body: bytes, seconds: int) -> None:
    """Another body, time or secret has another signature."""
    made = signature("ab", body, seconds=seconds)
    assert made != signature("ab", body + b"x", seconds=seconds)
    assert made != signature("ab", body, seconds=seconds + 1)
    assert made.split("v1=")[1] != signature("cd", body, seconds=seconds).split("v1=")[1]
