"""Running a helper: its page, its token, its command line, its backup."""

from __future__ import annotations

import io
import json
import re
import secrets
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from tests.server.parties.pairs import HELPER_KEY, LEADER_KEY, OPERATOR, Pair, helper_at
from tests.server.parties.test_hostile_parties import EvilLeader, refusal
from typer.testing import CliRunner

from masquerade.cli import app
from masquerade.errors import OperationError
from masquerade.server.db.engine import connect
from masquerade.server.db.party_tables import SPLIT_REPORT, SPLIT_TASK
from masquerade.server.operations.backup import backup
from masquerade.server.operations.restore import restore
from masquerade.server.parties.helper_page import task_address


def visitor(address: str) -> httpx.Client:
    """Return a browser without a session."""
    return httpx.Client(
        base_url=address, trust_env=False, follow_redirects=True, headers={"Accept": "text/html"}
    )


def test_the_operator_approves_on_the_helpers_page(sqlite_pair: Pair) -> None:
    """The page shows questions, people, noise and promise, and only its own form decides."""
    sqlite_pair.add_helper()
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    asked = sqlite_pair.ask(survey, token, people=400)
    decision = f"/tasks/{task_address(asked['task'])}/decision"
    with visitor(sqlite_pair.address) as stranger:
        closed = stranger.get("/")
        assert closed.status_code == 401
        assert sqlite_pair.helper.fingerprint in closed.text.replace(" ", "")
        assert "What for lunch?" not in closed.text
        assert stranger.get("/operator?token=wrong").status_code == 401
        assert stranger.post(decision, data={"decision": "approve"}).status_code == 401
    with visitor(sqlite_pair.address) as operator:
        page = operator.get(sqlite_pair.helper.sessions.new_link())
        assert page.status_code == 200
        for words in ("What for lunch?", "soup, salad, bread", "400 people", OPERATOR):
            assert words in page.text
        assert operator.post(decision, data={"decision": "approve", "csrf": "x"}).status_code == 403
        csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
        assert csrf is not None
        done = operator.post(decision, data={"decision": "approve", "csrf": csrf[1]})
        assert done.status_code == 200
        assert "approved" in done.text
    assert sqlite_pair.ask(survey, token)["state"] == "approved"
    # The link works once.
    with visitor(sqlite_pair.address) as late:
        assert late.get("/operator?token=" + "x" * 32).status_code == 401


def test_only_the_leader_gets_answers(sqlite_pair: Pair) -> None:
    """Without the token nothing but identity and approvals is told; an old token is none."""
    record = sqlite_pair.open()
    task = task_address(EvilLeader(sqlite_pair, record).id)
    paths = {
        ("GET", f"/tasks/{task}"),
        ("POST", "/tasks"),
        ("POST", f"/tasks/{task}/withdrawn"),
        ("POST", f"/tasks/{task}/aggregation_jobs"),
        ("POST", f"/tasks/{task}/aggregate_shares"),
        ("GET", f"/tasks/{task}/aggregation_jobs/{'0' * 64}"),
    }
    with httpx.Client(base_url=sqlite_pair.address, trust_env=False) as client:
        for method, path in paths:
            for header in ({}, {"Authorization": "Bearer mqh_wrong"}):
                assert client.request(method, path, headers=header).status_code == 401
        approval = client.get(f"/tasks/{task}/approval").json()
        frozen = sqlite_pair.leader.surveys.frozen(record.token)[0]
        assert frozen.approval is not None
        assert approval["signature"] == frozen.approval["signature"]
        assert client.get("/identity").json()["fingerprint"] == sqlite_pair.helper.fingerprint
        assert client.get("/tasks/AAAA/approval").status_code == 404
    sqlite_pair.helper.access.new_leader_token()
    sqlite_pair.crowd(record, 3)
    sqlite_pair.close(record)
    assert sqlite_pair.leader.aggregation.run() == 0
    obstacle = sqlite_pair.leader.aggregation.progress(record.token)["obstacle"]
    assert "does not know this server's token" in str(obstacle)


def test_refusals_have_the_protocols_types(sqlite_pair: Pair) -> None:
    """Another leader of the protocol understands why it is refused."""
    record = sqlite_pair.open()
    task = task_address(EvilLeader(sqlite_pair, record).id)
    headers = {"Authorization": f"Bearer {sqlite_pair.token}"}
    with httpx.Client(base_url=sqlite_pair.address, trust_env=False, headers=headers) as client:
        answer = client.post(f"/tasks/{task}/aggregation_jobs", content=b"")
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:ietf:params:ppm:dap:error:invalidMessage"


@pytest.mark.both_databases
def test_a_restored_helper_gives_no_second_sum(pair: Pair, tmp_path: Path) -> None:
    """Events unknown to a backup may have happened since: its open tasks are stopped."""
    record = pair.open()
    pair.crowd(record, 4)
    leader = EvilLeader(pair, record)
    leader.check(leader.reports)
    file = io.BytesIO()
    backup(pair.helper.engine, file, server_key=HELPER_KEY)
    assert leader.collect(leader.reports)
    file.seek(0)
    url = f"sqlite:///{tmp_path / 'restored.sqlite3'}"
    restore(file, url, server_key=HELPER_KEY)
    with helper_at(url) as (restored, _):
        assert restored.tasks.task(leader.id).state == "stopped"
        leader.helper = restored.aggregation
        with refusal("unrecognizedTask"):
            leader.collect(leader.reports)
        with refusal("unrecognizedTask"):
            leader.check(leader.reports)


@pytest.mark.both_databases
def test_a_restored_leader_draws_no_second_noise(pair: Pair, tmp_path: Path) -> None:
    """The sum may have been shown since the backup: a second one would cost people twice."""
    record = pair.open()
    pair.crowd(record, 4)
    pair.close(record)
    file = io.BytesIO()
    backup(pair.leader.engine, file, server_key=LEADER_KEY)
    assert pair.leader.aggregation.run() == 1
    file.seek(0)
    url = f"sqlite:///{tmp_path / 'restored.sqlite3'}"
    restore(file, url, server_key=LEADER_KEY)
    engine = connect(url)
    with engine.connect() as connection:
        [task] = connection.execute(select(SPLIT_TASK)).all()
        assert (task.state, task.secrets, task.share) == ("failed", None, None)
        assert "restored from a backup" in task.reason
        assert connection.execute(select(SPLIT_REPORT)).all() == []
    engine.dispose()


def test_the_command_line_decides(sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """``masquerade helper tasks, show, approve, refuse`` say and do the same as the page."""
    sqlite_pair.add_helper()
    first, second = secrets.token_hex(8), secrets.token_hex(8)
    asked = sqlite_pair.ask(sqlite_pair.define(title="First"), first)
    other = sqlite_pair.ask(sqlite_pair.define(title="Second"), second)
    monkeypatch.setenv("MASQUERADE_DATABASE", str(sqlite_pair.helper.engine.url))
    monkeypatch.setenv("MASQUERADE_SERVER_KEY", HELPER_KEY.hexadecimal)

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["helper", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    listed = json.loads(run("tasks", "--json"))["tasks"]
    assert {one["title"] for one in listed} == {"First", "Second"}
    assert listed[0]["questions"] == ["What for lunch?", "How are you?"]
    read = run("show", asked["task"][:16])
    for said in ("First (proposed)", "What for lunch? (", "Noise of about", "learns of one person"):
        assert said in read
    shown = json.loads(run("show", asked["task"], "--json"))
    assert shown["task"] == asked["task"]
    for question in shown["questions"]:
        assert question["answers"] in read
        assert question["counted"] in read
    for assumption in shown["assumptions"]:
        assert assumption in read
    assert json.loads(run("approve", asked["task"][:16], "--json"))["state"] == "approved"
    assert json.loads(run("refuse", other["task"], "--json"))["state"] == "refused"
    assert run("token").startswith("mqh_")
    assert "/operator?token=" in run("link")
    assert sqlite_pair.helper.tasks.task(asked["task"]).state == "approved"


def test_a_helper_without_a_key_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command before the first start gives advice."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["helper", "tasks"])
    assert isinstance(done.exception, OperationError)
    assert "masquerade helper makes one" in str(done.exception)


def test_doctor_knows_tasks_and_lost_reports(sqlite_pair: Pair) -> None:
    """A sealed report that is gone, or a changed task, is a problem that doctor names."""
    from masquerade.server.operations.content_checks import party_findings

    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 3)

    def findings() -> list[tuple[str, str]]:
        with sqlite_pair.leader.engine.begin() as connection:
            return [(one.status, one.detail) for one in party_findings(connection)]

    assert [status for status, _ in findings()] == ["ok"]
    with sqlite_pair.leader.engine.execution_options(write=True).begin() as connection:
        connection.exec_driver_sql(
            "DELETE FROM split_report WHERE participation IN "
            "(SELECT participation FROM split_report LIMIT 1)"
        )
    [(status, detail)] = findings()
    assert status == "problem"
    assert "3 responses have 2 sealed reports" in detail
    with sqlite_pair.leader.engine.execution_options(write=True).begin() as connection:
        connection.exec_driver_sql("UPDATE split_task SET terms = replace(terms, '1', '2')")
    assert any("another survey" in detail for _, detail in findings())


def test_one_address_cannot_ask_a_helper_without_end(sqlite_pair: Pair) -> None:
    """Guesses of tokens and links are refused after some hundreds a minute."""
    with visitor(sqlite_pair.address) as guesser:
        found = [guesser.get("/operator?token=x").status_code for _ in range(700)]
    assert found[0] == 401
    assert found[-1] == 429


def test_a_helper_counts_as_a_server_does(tmp_path: Path) -> None:
    """Where metrics are on, a helper tells requests by template and its gauges."""
    with (
        helper_at(f"sqlite:///{tmp_path / 'helper.sqlite3'}", metrics="local") as (_, address),
        httpx.Client(base_url=address, trust_env=False) as watcher,
    ):
        watcher.get("/")
        shown = watcher.get("/metrics")
        assert shown.status_code == 200
        assert 'masquerade_requests_total{method="GET",route="/",status="401"} 1.0' in shown.text
        assert "masquerade_unordered_seconds" in shown.text
