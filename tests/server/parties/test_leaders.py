"""Several leaders of one helper: each has a token, and none sees or spoils another's tasks."""

from __future__ import annotations

import dataclasses
import json
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from sqlalchemy import text
from tests.server.parties.pairs import HELPER_KEY, LEADER, Pair
from tests.server.parties.test_helper_operation import visitor
from typer.testing import CliRunner

from masquerade.cli import app
from masquerade.errors import NotFound, ParameterError, ServerUnavailable, WrongState
from masquerade.server.parties import helper_tasks
from masquerade.server.parties.helper_client import HelperClient
from masquerade.server.parties.helper_page import task_address
from masquerade.server.parties.helper_proposals import Proposal
from masquerade.server.routes.helper_party import most_body


@contextmanager
def asking(pair: Pair, token: str) -> Iterator[httpx.Client]:
    """Return a leader's program with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=pair.address, trust_env=False, headers=headers) as client:
        yield client


@pytest.mark.both_databases
def test_no_leader_sees_or_collects_what_another_asked(pair: Pair) -> None:
    """Every address answers as if there were no such task; the owner loses nothing by it."""
    record = pair.open()
    pair.crowd(record, 3)
    task = pair.leader.aggregation.progress(record.token)["task"]
    other = pair.helper.access.new_leader_token("Another university")
    assert other is not None
    place = f"/tasks/{task_address(task)}"
    paths = (
        ("GET", place),
        ("POST", f"{place}/withdrawn"),
        ("POST", f"{place}/aggregation_jobs"),
        ("GET", f"{place}/aggregation_jobs/{'0' * 64}"),
        ("POST", f"{place}/aggregate_shares"),
    )
    unknown = task_address("ab" * 32)
    with asking(pair, other) as stranger, asking(pair, pair.token) as owner:
        assert owner.get(place).json()["seed"]
        for method, path in paths:
            ids = b"".join(report.report_metadata.report_id for _, report in pair.reports)
            answer = stranger.request(method, path, content=ids if method == "POST" else None)
            nothing = stranger.request(method, path.replace(task_address(task), unknown))
            assert (answer.status_code, answer.text) == (404, nothing.text)
    pair.close(record)
    assert pair.leader.aggregation.run() == 1
    assert pair.result(record)["responses"] == 3


def test_the_same_proposal_of_another_leader_is_another_task(sqlite_pair: Pair) -> None:
    """A copier of a proposal gets no seed of it, and puts none of another's out of date."""
    sqlite_pair.add_helper()
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    asked = sqlite_pair.ask(survey, token)["task"]
    tasks, access = sqlite_pair.helper.tasks, sqlite_pair.helper.access
    first = tasks.task(asked)
    assert access.new_leader_token("Second")
    other = next(one.id for one in access.leaders() if one.name == "Second")
    split = first.split
    proposal = Proposal(
        survey.text(),
        split.token,
        split.task.configuration.leader_aggregator_endpoint.decode(),
        first.people,
        split.terms.expires - split.task.configuration.time_precision,
        split.terms.expires,
        split.terms.leader,
        split.terms.collector,
    )
    assert first.leader is not None
    assert tasks.propose(proposal, first.leader).id == asked
    second = tasks.propose(proposal, other)
    assert second.id != asked
    assert {one.id for one in tasks.tasks()} == {asked, second.id}
    with pytest.raises(NotFound):
        tasks.require_leader(asked, other)


def test_no_leader_takes_the_address_of_anothers_survey(sqlite_pair: Pair) -> None:
    """A survey with the token of one that was approved for another leader is not approved."""
    sqlite_pair.add_helper()
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    asked = sqlite_pair.ask(survey, token)["task"]
    tasks, access = sqlite_pair.helper.tasks, sqlite_pair.helper.access
    first = tasks.decide(asked, approve=True)
    assert access.new_leader_token("Second")
    other = next(one.id for one in access.leaders() if one.name == "Second")
    copied = Proposal(
        survey.text(),
        token,
        "https://second.example",
        first.people,
        first.split.terms.expires - first.split.task.configuration.time_precision,
        first.split.terms.expires,
        first.split.terms.leader,
        first.split.terms.collector,
    )
    leader = tasks.leader_of(token)
    # Under its own address, and under that of the other, which a leader may say as it likes.
    for address in ("https://second.example", LEADER):
        second = tasks.propose(dataclasses.replace(copied, leader=address), other)
        with pytest.raises(WrongState, match="has the same token"):
            tasks.decide(second.id, approve=True)
        assert tasks.leader_of(token) == leader
        assert tasks.approval(asked)
        assert tasks.decide(second.id, approve=False).state == "refused"


@pytest.mark.both_databases
def test_a_revoked_token_ends_and_a_new_one_goes_on(pair: Pair) -> None:
    """Meanwhile nothing is told, also to devices; the leader's surveys are still its own."""
    record = pair.open()
    pair.crowd(record, 3)
    task = pair.leader.aggregation.progress(record.token)["task"]
    [leader] = pair.helper.access.leaders()
    assert (leader.active, leader.tasks) == (True, 1)
    assert pair.helper.tasks.approval(task)["signature"]
    assert pair.helper.access.revoke(leader.name).tasks == 1
    with pytest.raises(NotFound):
        pair.helper.tasks.approval(task)
    pair.close(record)
    assert pair.leader.aggregation.run() == 0
    obstacle = pair.leader.aggregation.progress(record.token)["obstacle"]
    assert "does not know this server's token" in str(obstacle)
    token = pair.helper.access.new_leader_token(leader.name)
    assert token is not None
    assert [one.id for one in pair.helper.access.leaders()] == [leader.id]
    pair.token = token
    pair.add_helper()
    assert pair.leader.aggregation.run() == 1
    assert pair.result(record)["responses"] == 3
    with pytest.raises(NotFound, match="no leader"):
        pair.helper.access.revoke("Nobody")
    for name in ("", " ", "x" * 101, "a\nb"):
        with pytest.raises(ParameterError, match="name"):
            pair.helper.access.new_leader_token(name)


def test_the_operator_makes_and_revokes_tokens_on_the_page(sqlite_pair: Pair) -> None:
    """A token is shown once, by the page's own form alone; which leader asked stands by a task."""
    sqlite_pair.add_helper()
    sqlite_pair.ask(sqlite_pair.define(), secrets.token_hex(8))
    with visitor(sqlite_pair.address) as operator:
        page = operator.get(sqlite_pair.helper.sessions.new_link())
        assert "Asked by <strong>leader</strong>" in page.text
        csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
        assert csrf is not None
        form = {"name": "Another <university>", "csrf": csrf[1]}
        for path in (
            "/leaders",
            "/leaders/revocation",
            f"/tasks/{task_address('ab' * 32)}/decision",
        ):
            for wrong in ("x", "ü" * 64, "\ud800", ""):
                sent = {**form, "decision": "approve", "csrf": wrong.encode(errors="replace")}
                assert operator.post(path, data=sent).status_code == 403
        made = operator.post("/leaders", data=form)
        token = re.search(r"mqh_[\w-]+", made.text)
        assert token is not None
        assert "Another &lt;university&gt;" in made.text
        assert "mqh_" not in operator.get("/").text
        with asking(sqlite_pair, token[0]) as leader:
            assert leader.get(f"/tasks/{task_address('ab' * 32)}").status_code == 404
            gone = operator.post("/leaders/revocation", data=form)
            assert "its token was revoked" in gone.text
            assert leader.get(f"/tasks/{task_address('ab' * 32)}").status_code == 401
    with visitor(sqlite_pair.address) as stranger:
        assert stranger.post("/leaders", data=form).status_code == 401


def test_the_command_line_lists_and_revokes(
    sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``masquerade helper leaders, token, revoke`` do the same as the page."""
    monkeypatch.setenv("MASQUERADE_DATABASE", str(sqlite_pair.helper.engine.url))
    monkeypatch.setenv("MASQUERADE_SERVER_KEY", HELPER_KEY.hexadecimal)

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["helper", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    assert run("token", "Another").startswith("mqh_")
    listed = json.loads(run("leaders", "--json"))["leaders"]
    assert listed == [
        {"name": "Another", "active": True, "tasks": 0},
        {"name": "leader", "active": True, "tasks": 0},
    ]
    assert "no token any more" in run("revoke", "Another")
    assert "Another  revoked" in run("leaders")


def test_the_token_is_checked_before_a_byte_of_the_body_is_read(sqlite_pair: Pair) -> None:
    """A stranger that announces a large body is refused without sending it."""
    host, _, port = sqlite_pair.address.rpartition("//")[2].partition(":")
    task = task_address("ab" * 32)
    for path in ("/tasks", f"/tasks/{task}/aggregation_jobs", f"/tasks/{task}/withdrawn"):
        with socket.create_connection((host, int(port)), timeout=60) as line:
            line.sendall(
                f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer mqh_wrong\r\n"
                "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n".encode()
            )
            assert line.recv(4096).startswith(b"HTTP/1.1 401")


def test_bodies_have_limits_of_their_kind(sqlite_pair: Pair) -> None:
    """A proposal, a form and a request for the sum are small, for every sender."""
    place = f"/tasks/{task_address('ab' * 32)}"
    with asking(sqlite_pair, sqlite_pair.token) as leader:
        for path in ("/tasks", "/leaders", f"{place}/decision"):
            body = b"x" * (most_body(path) + 1)
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            assert leader.post(path, content=body, headers=headers).status_code == 413
        malformed = leader.post("/tasks", content=b"{}")
        assert malformed.status_code == 422


def test_the_limit_of_waiting_surveys_counts_what_waits(
    sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new wording takes the place of its own; other leaders have a limit of their own."""
    monkeypatch.setattr(helper_tasks, "MOST_WAITING", 2)
    sqlite_pair.add_helper()
    tokens = [secrets.token_hex(8) for _ in range(2)]
    for token in tokens:
        sqlite_pair.ask(sqlite_pair.define(), token)
    for title in ("Second", "Third"):
        sqlite_pair.ask(sqlite_pair.define(title=title), tokens[0])
    with pytest.raises(Exception, match="2 surveys wait"):
        sqlite_pair.ask(sqlite_pair.define(), secrets.token_hex(8))
    sqlite_pair.token = str(sqlite_pair.helper.access.new_leader_token("Second"))
    sqlite_pair.add_helper()
    assert sqlite_pair.ask(sqlite_pair.define(), secrets.token_hex(8))["state"] == "proposed"


@pytest.mark.both_databases
def test_no_answer_is_taken_or_paid_for_once_a_task_has_ended(pair: Pair) -> None:
    """Its keys are read each time, and none is kept in memory: they end when the task does."""
    record = pair.open()
    pair.crowd(record, 2)
    participant = secrets.token_hex(16)
    who, steps = pair.leader.identity(participant), pair.leader.participations
    begun, _ = steps.reserve(who, record.token, "two-parties", idempotency_key="0" * 32)
    with pair.leader.engine.execution_options(write=True).begin() as connection:
        connection.execute(text("UPDATE split_task SET state = 'failed', secrets = NULL"))
    with pytest.raises(WrongState, match="not added up any more"):
        steps.open(who, begun.id)
    assert [one.charge.kind for one in pair.leader.ledger.entries(who.person)] == ["reserve"]
    kept = steps.rules.split_reports
    with pytest.raises(WrongState, match="not added up any more"):
        pair.leader.transactions.read(lambda c: kept.keep(c, record.token, begun.id, b""))
    other = pair.leader.identity(secrets.token_hex(16))
    with pytest.raises(WrongState, match="not added up any more"):
        steps.reserve(other, record.token, "two-parties", idempotency_key="1" * 32)


@pytest.mark.both_databases
def test_another_process_that_is_sooner_spoils_no_survey(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job sent after another process had the helper's sum is refused, and ends nothing."""
    record = pair.open()
    pair.crowd(record, 6)
    pair.close(record)
    check, collect = HelperClient.check, HelperClient.collect

    def lost(client: HelperClient, task: str, body: bytes) -> bytes:
        collect(client, task, body)
        raise ServerUnavailable("the answer is lost")

    def late(client: HelperClient, task: str, body: bytes) -> bytes:
        monkeypatch.setattr(HelperClient, "check", check)
        monkeypatch.setattr(HelperClient, "collect", lost)
        assert pair.leader.aggregation.run() == 0  # the other process, up to its sum
        assert pair.leader.aggregation.progress(record.token)["state"] == "collecting"
        monkeypatch.setattr(HelperClient, "collect", collect)
        return check(client, task, body)

    monkeypatch.setattr(HelperClient, "check", late)
    assert pair.leader.aggregation.run() == 1
    assert pair.result(record)["responses"] == 6


def test_account_pages_are_those_of_the_leader_that_is_named(sqlite_pair: Pair) -> None:
    """With two leaders nobody is led to the account at the one that was approved last."""
    pair = sqlite_pair
    record = pair.open()
    first = pair.helper.tasks.leader_of(record.token)
    with visitor(pair.address) as somebody:
        assert f'data-leader="{first}"' in somebody.get("/me/settings").text
    known = [str(first), "https://second.example"]
    pair.helper.tasks.leaders = lambda: known  # type: ignore[method-assign]
    with visitor(pair.address) as somebody:
        asked = somebody.get("/me/settings").text
        assert "data-leader" not in asked
        assert all(one in asked for one in known)
        for one in known:
            page = somebody.get("/me/settings", params={"leader": one})
            assert f'data-leader="{one}"' in page.text
            assert f"connect-src 'self' {one}" in page.headers["content-security-policy"]
        assert somebody.get("/me", params={"leader": "https://third.example"}).status_code == 404
