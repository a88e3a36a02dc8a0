"""A leader's requests to its helper: their address, patience, and the meaning of silence."""

from __future__ import annotations

import socket
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest
from tests.server.http.test_outgoing import HEAD, answering
from tests.server.parties.pairs import Pair
from tests.server.webhooks.test_deliveries import answers

from masquerade.errors import BrokenPromise, ParameterError, ServerUnavailable, WrongState
from masquerade.server.http.outgoing import Answer, Target
from masquerade.server.parties import helper_client, leader_aggregation
from masquerade.server.parties.helper_client import HelperClient, helper_address
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.two_parties import require_origin


def closed(pair: Pair, *, people: int = 4, title: str = "Canteen") -> SurveyRecord:
    """Return a survey that was answered and closed, and not added up."""
    record = pair.open(title=title)
    pair.crowd(record, people)
    return pair.close(record)


def days_later(pair: Pair, days: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the leader's day be so many later."""
    steps = pair.leader.aggregation._steps
    day = (date.fromisoformat(steps._today()) + timedelta(days=days)).isoformat()
    monkeypatch.setattr(steps, "_today", lambda: day)


def test_a_helper_is_asked_at_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads inside a moment later changes nothing; one that leads there is refused."""
    asked: list[tuple[Target, str]] = []

    def exchange(target: Target, address: str, **_: Any) -> Answer:
        monkeypatch.setattr(socket, "getaddrinfo", answers("127.0.0.1"))
        asked.append((target, address))
        return Answer(200, b"{}")

    monkeypatch.setattr(helper_client, "exchange", exchange)
    monkeypatch.setattr(socket, "getaddrinfo", answers("1.1.1.1"))
    client = HelperClient("https://helper.example.org:9443", "t", private=False)
    assert client.identity() == {}
    assert asked == [(Target(True, "helper.example.org", 9443, "/identity"), "1.1.1.1")]
    with pytest.raises(ParameterError, match=r"no public address.*helper_private"):
        client.identity()
    monkeypatch.setattr(socket, "getaddrinfo", answers("1.1.1.1", "10.0.0.1"))
    with pytest.raises(ParameterError, match="no public address"):
        client.identity()

    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ServerUnavailable, match="not known"):
        client.identity()
    assert len(asked) == 1


def test_no_token_is_given_before_the_key_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger in a helper's place is asked for the key first, and not given the token."""
    asked: list[tuple[str, bool]] = []

    def exchange(target: Target, _: str, *, headers: dict[str, str], **__: Any) -> Answer:
        asked.append((target.path, "mqh_secret" in str(headers)))
        return Answer(200, b"{}")

    monkeypatch.setattr(helper_client, "exchange", exchange)
    client = HelperClient("https://1.1.1.1", "mqh_secret", private=False)
    client.identity()
    client.require_known()
    assert [with_token for _, with_token in asked] == [False, True]
    assert asked[0][0] == "/identity"


def test_a_helper_that_dribbles_or_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither time nor memory of this server is at a helper's disposal."""
    monkeypatch.setattr(helper_client, "_PATIENCE_SECONDS", 0.7)
    slow = [bytes([one]) for one in HEAD + b"X: " + b"x" * 400]
    with answering(*slow, pause=0.2) as (target, _):
        client = HelperClient(f"http://127.0.0.1:{target.port}", "t", private=True)
        with pytest.raises(ServerUnavailable, match=r"within 0\.7 seconds.*[Tt]ry again"):
            client.identity()
    monkeypatch.setattr(helper_client, "_PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(helper_client, "_LONGEST_ANSWER", 1000)
    with answering(HEAD + b"\r\n", *[b"x" * 1000] * 3) as (target, _):
        client = HelperClient(f"http://127.0.0.1:{target.port}", "t", private=True)
        with pytest.raises(ServerUnavailable, match="too long"):
            client.identity()


ORIGINS = {
    "https://helper.example.org": True,
    "https://helper.example.org:8443": True,
    "https://[2001:db8::1]:8443": True,
    "http://localhost:8081": True,
    "http://127.0.0.1:8081": True,
    "http://[::1]:8081": True,
    "http://helper.example.org": False,
    "http://127.0.0.1.example.org": False,
    "http://localhost.example.org": False,
    "https://Helper.example.org": False,
    "https://helper.example.org/": False,
    "https://helper.example.org/path": False,
    "https://user@helper.example.org": False,
    "https://helper.example.org:0": False,
    "https://helper.example.org:65536": False,
    "https://helper.example.org?a": False,
    "https://helper.example.org\n": False,
    "https://": False,
    "javascript:alert(1)": False,
    "ftp://helper.example.org": False,
    "": False,
}


@pytest.mark.parametrize("url", ORIGINS)
def test_a_helpers_address_is_an_origin_that_nobody_on_the_way_can_be(url: str) -> None:
    """It is of https, or of this computer; in surveys, on the server and for a participant."""
    from masquerade.client.offer import Agreement

    approval = dict.fromkeys(("task", "configuration", "terms", "public_key", "signature"), "")
    given = {"helper": url, "operator": "x", "fingerprint": "0" * 32, "minimum": 20}
    if ORIGINS[url]:
        require_origin(url)
        assert helper_address(f" {url}/ ", private=True) == url
        assert Agreement.read({**given, "approval": approval}).helper == url
        return
    with pytest.raises(ParameterError):
        require_origin(url)
    with pytest.raises(BrokenPromise, match="second party"):
        Agreement.read({**given, "approval": approval})


def test_a_silent_helper_is_asked_once_a_run(
    sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its other surveys do not make everybody wait as long again, and lose nothing."""
    records = [closed(sqlite_pair, title=title) for title in ("First", "Second")]
    asked: list[str] = []

    def silent(self: HelperClient, task: str, *_: Any) -> bytes:
        asked.append(task)
        raise ServerUnavailable("it is away")

    with monkeypatch.context() as away:
        away.setattr(HelperClient, "check", silent)
        assert sqlite_pair.leader.aggregation.run() == 0
        assert len(asked) == 1
    assert sqlite_pair.leader.aggregation.run() == 2
    assert all(sqlite_pair.result(record)["responses"] == 4 for record in records)


def test_what_failed_is_tried_again_after_longer_and_longer_pauses(
    sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five seconds, ten, twenty, and never more than ten minutes; then all goes well."""
    record = closed(sqlite_pair)
    leader, now = sqlite_pair.leader.aggregation, [0.0]
    monkeypatch.setattr(leader._pauses, "_clock", lambda: now[0])
    asked: list[float] = []

    def silent(self: HelperClient, *_: Any) -> bytes:
        asked.append(now[0])
        raise ServerUnavailable("it is away")

    with monkeypatch.context() as away:
        away.setattr(HelperClient, "check", silent)
        for _ in range(2000):
            assert leader.run(patiently=True) == 0
            now[0] += 5
    pauses = [later - first for first, later in pairwise(asked)]
    assert pauses[:4] == [5, 10, 20, 40]
    assert max(pauses) == 600
    now[0] += 600
    assert leader.run(patiently=True) == 1
    assert sqlite_pair.result(record)["responses"] == 4


def test_a_slow_helper_holds_up_no_other_survey(
    sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each survey has its turn; one with a slow helper goes on in the next run."""
    first, second = (closed(sqlite_pair, title=title) for title in ("First", "Second"))
    leader, now = sqlite_pair.leader.aggregation, [0.0]
    monkeypatch.setattr(leader, "_clock", lambda: now[0])
    slow = leader.under_way()[0]
    take = leader._steps.take

    def taking(task: str) -> bool:
        now[0] += leader_aggregation._TURN_SECONDS + 1 if task == slow else 0
        return take(task)

    monkeypatch.setattr(leader._steps, "take", taking)
    assert leader.run() == 1
    states = {leader.progress(one.token)["state"] for one in (first, second)}
    assert states == {"collected", "verifying"}
    for _ in range(4):
        leader.run()
    assert leader.under_way() == []


@pytest.mark.both_databases
def test_a_helper_that_has_other_reports_is_waited_for_some_days(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the survey ends with the reason and advice, and its sealed reports are deleted."""
    record = closed(pair)
    check = HelperClient.check

    def forgetful(self: HelperClient, task: str, body: bytes) -> bytes:
        answer = check(self, task, body)
        with pair.helper.engine.execution_options(write=True).begin() as connection:
            connection.exec_driver_sql("DELETE FROM helper_job")
        return answer

    monkeypatch.setattr(HelperClient, "check", forgetful)
    leader = pair.leader.aggregation
    assert leader.run() == 0
    assert leader.progress(record.token)["state"] == "collecting"
    assert "expected the same set" in str(leader.progress(record.token)["obstacle"])
    days_later(pair, 2, monkeypatch)
    assert leader.run() == 0
    days_later(pair, 1, monkeypatch)
    assert leader.run() == 1
    with pytest.raises(WrongState, match=r"for 3 days.*ask its operator.*ask the survey anew"):
        pair.result(record)
    with pair.leader.engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM split_report").scalar() == 0


def test_a_helper_that_never_comes_back_is_not_waited_for_beyond_its_task(
    sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it has forgotten keys and shares, this server deletes its own too, and says so."""
    record = closed(sqlite_pair)
    leader = sqlite_pair.leader.aggregation

    def silent(self: HelperClient, *_: Any) -> bytes:
        raise ServerUnavailable("it is away")

    monkeypatch.setattr(HelperClient, "check", silent)
    days_later(sqlite_pair, 365, monkeypatch)
    assert leader.run() == 0
    days_later(sqlite_pair, 2, monkeypatch)
    assert leader.run() == 1
    with pytest.raises(WrongState, match=r"did not answer until.*ask anew"):
        sqlite_pair.result(record)
    with sqlite_pair.leader.engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM split_report").scalar() == 0
