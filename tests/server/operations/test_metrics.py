"""Metrics for the machines that watch a server: little, and nothing of anybody."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Connection, insert, text, update
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.server.devices import Phone
from tests.server.running import run
from tests.surveys.small_surveys import define

from masquerade.server import Services, Settings
from masquerade.server.db.account_tables import WEBHOOK
from masquerade.server.db.engine import connect, migrate
from masquerade.server.db.party_tables import BOUND, SPLIT_TASK
from masquerade.server.db.tables import CLOSED, FIRST_TEAM, SURVEY
from masquerade.server.http.metrics import GAUGES, Metrics
from masquerade.server.http.write_slots import WriteQueue
from masquerade.server.operations.gauges import readings
from masquerade.server.routes.health import not_ready
from masquerade.server.webhooks.webhooks import ENDED, record

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers

LAST_SWEEP = "masquerade_last_sweep_timestamp_seconds"
RULES = Path(__file__).parents[3] / "docs/how-to/alerts.yml"
Counts = dict[tuple[str, ...], float]


@pytest.fixture
def watched(live_server: LiveServers) -> LiveServer:
    """A server that counts."""
    return live_server(metrics="local")


def counts(server: LiveServer, name: str) -> Counts:
    """Return a metric's values by its labels."""
    shown = httpx.get(f"{server.url}/metrics").text
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(shown)
        for sample in family.samples
        if sample.name == name
    }


def test_requests_are_counted_by_template(watched: LiveServer) -> None:
    """Counts name the route's template, the method and the status, and responses are counted."""
    survey = watched.services.surveys.open_survey(define())
    with httpx.Client(base_url=watched.url, trust_env=False) as client:
        from_phone = Phone(client)
        from_phone.take_part(survey)
        client.get(f"/s/{survey.token}")
        client.get("/nowhere/at/all")
        client.get("/static/base.css")
        client.request("PROPFIND", f"/s/{survey.token}")
    found = counts(watched, "masquerade_requests_total")
    template = "/api/v1/participations/{participation}"
    assert found[("POST", "/api/v1/participations", "201")] == 1
    assert found[("PUT", f"{template}/response", "201")] == 1
    assert found[("GET", "/s/{token}", "200")] == 1
    assert found[("GET", "none", "404")] == 1
    assert found[("GET", "/static", "200")] == 1
    assert sum(value for (method, *_), value in found.items() if method == "other") == 1
    assert counts(watched, "masquerade_responses_accepted_total") == {(): 1}
    assert counts(watched, "masquerade_request_seconds_count")[(f"{template}/open",)] == 1


def test_no_label_names_anybody(watched: LiveServer) -> None:
    """Nothing in the counts is a token, a person, a participation, a title or an address."""
    survey = watched.services.surveys.open_survey(define(title="Strikes"))
    with httpx.Client(base_url=watched.url, trust_env=False) as client:
        phone: Phone = Phone(client)
        begun = phone.take_part(survey)[0].json()["id"]
        client.get(f"/api/v1/surveys/{survey.token}/invitation?who={phone.participant}")
    shown = httpx.get(f"{watched.url}/metrics").text
    for private in (survey.token, phone.participant, begun, "Strikes", "127.0.0.1"):
        assert private not in shown
    for family in text_string_to_metric_families(shown):
        for sample in family.samples:
            assert re.findall("[0-9a-f]{16}", " ".join(sample.labels.values())) == []
    assert "_created" not in shown  # which would tell when the first of a kind came


def test_metrics_are_off_by_default(live_server: LiveServers) -> None:
    """Without the setting there are no counts."""
    assert httpx.get(f"{live_server().url}/metrics").status_code == 404


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_local_metrics_are_not_for_who_comes_through_a_proxy(
    watched: LiveServer, header: str
) -> None:
    """A proxy on the same computer does not open the counts to the world."""
    assert httpx.get(f"{watched.url}/metrics").status_code == 200
    headers = {header: "203.0.113.9"}
    assert httpx.get(f"{watched.url}/metrics", headers=headers).status_code == 404


def test_open_metrics(live_server: LiveServers) -> None:
    """Where they are open, a proxy may ask too."""
    server = live_server(metrics="open")
    headers = {"X-Forwarded-For": "203.0.113.9"}
    assert httpx.get(f"{server.url}/metrics", headers=headers).status_code == 200


def gauges_of(server: LiveServer) -> dict[str, float]:
    """Return the gauges that a server shows."""
    return {name: value for name in GAUGES for value in counts(server, name).values()}


def test_what_waits_and_how_large_it_is(live_server: LiveServers) -> None:
    """Writes, helpers and webhooks that wait, sizes, and when the last sweep was done."""
    server = live_server(metrics="local")
    wait_until("the sweep is not told", lambda: gauges_of(server).get(LAST_SWEEP))
    wait_until("writes wait for ever", lambda: gauges_of(server)["masquerade_writes_waiting"] == 0)
    found = gauges_of(server)
    assert set(found) == set(GAUGES)
    assert abs(found[LAST_SWEEP] - time.time()) < PATIENCE_SECONDS
    # A sweep or a reading of its own may write at any moment, so writes were waited for above.
    waiting = ("helper_tasks_waiting", "webhooks_waiting", "unordered_seconds")
    assert [found[f"masquerade_{name}"] for name in waiting] == [0] * 3
    wait_until("sizes are not read", lambda: gauges_of(server)["masquerade_database_bytes"] > 0)
    assert counts(server, "masquerade_processes_begun_total") == {(): 1}


@pytest.mark.both_databases
def test_what_waits_is_counted(services: Services) -> None:
    """A message that is not delivered, and a closed survey that its helper has not added up."""
    file = Settings(services.engine.url.render_as_string(hide_password=False)).sqlite_file
    before = readings(services.transactions, file)
    assert set(before) <= set(GAUGES)
    assert before["masquerade_webhooks_waiting"] == before["masquerade_helper_tasks_waiting"] == 0
    assert before["masquerade_database_bytes"] > 0
    survey = services.surveys.open_survey(define())
    team = FIRST_TEAM
    hook = {"id": "a" * 32, "team": team, "url": "https://x", "events": [], "day": "2026-03-14"}
    task = {
        "id": "b" * 64,
        "survey": survey.token,
        "helper": "c" * 32,
        "configuration": "",
        "terms": "",
        "state": BOUND,
        "public_key": "",
        "day": "2026-03-14",
    }

    def write(connection: Connection) -> None:
        connection.execute(insert(WEBHOOK), hook)
        record(connection, "a" * 32, ENDED, "one", "2026-03-14", survey.token, {})
        connection.execute(insert(SPLIT_TASK), task)

    services.transactions.write(write)
    open_ = readings(services.transactions, file)
    assert open_["masquerade_helper_tasks_waiting"] == 0  # people may still send
    services.transactions.write(lambda c: c.execute(update(SURVEY).values(state=CLOSED)) and None)
    services.transactions.rewrite()
    found = readings(services.transactions, file)
    assert found["masquerade_webhooks_waiting"] == found["masquerade_helper_tasks_waiting"] == 1
    assert found["masquerade_rewriting_seconds"] > 0
    assert found["masquerade_unordered_seconds"] == 0


def test_the_oldest_wait_is_that_of_whoever_came_first() -> None:
    """Of requests in wait for a turn; turns that nobody leaves count too."""
    moment = [0.0]

    async def use() -> list[tuple[int, float]]:
        queue = WriteQueue(slots=1, patience=PATIENCE_SECONDS, now=lambda: moment[0])
        assert await queue.enter()
        seen = [(queue.waiting, queue.oldest_wait())]
        late = []
        for moment[0] in (2.0, 3.0):
            late.append(asyncio.create_task(queue.enter()))
            await asyncio.sleep(0)
        moment[0] = 7.0
        seen.append((queue.waiting, queue.oldest_wait()))
        for one in late:
            queue.leave()
            assert await one
        seen.append((queue.waiting, queue.oldest_wait()))
        return seen

    # The turn has been taken since 0.
    assert run(use()) == [(0, 0.0), (2, 7.0), (0, 0.0)]


def test_alert_rules_name_what_is_there() -> None:
    """Every metric of the rules is shown by a server, and each rule gives advice."""
    yaml = pytest.importorskip("yaml")
    [group] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    metrics = Metrics()
    metrics.sweep(released=0, raised=0)
    metrics.request("GET", "/", 500, 0.1)
    shown = metrics.text().decode()
    named = set()
    for rule in group["rules"]:
        assert rule["annotations"]["summary"].endswith(".")
        named.update(re.findall(r"masquerade_[a-z_]+", rule["expr"]))
    assert {name for name in named if f"\n{name}" not in shown} == set()
    # Sizes alone are no reason to wake anybody; the free disk is seen from outside.
    assert {*GAUGES} - named == {"masquerade_writes_waiting", "masquerade_database_bytes"}


def test_sweeps_are_counted() -> None:
    """Each sweep counts once, with its effect or its failure."""
    metrics = Metrics()
    metrics.sweep(released=3, raised=1)
    metrics.sweep_failed()
    shown = metrics.text().decode()
    for line in (
        'masquerade_sweeps_total{outcome="done"} 1.0',
        'masquerade_sweeps_total{outcome="failed"} 1.0',
        "masquerade_reservations_released_total 3.0",
        "masquerade_caps_raised_total 1.0",
    ):
        assert line in shown


def test_running_and_ready(live_server: LiveServers) -> None:
    """A server that runs on its schema says both."""
    server = live_server()
    assert httpx.get(f"{server.url}/healthz").json()["status"] == "ok"
    ready = httpx.get(f"{server.url}/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")


@pytest.mark.parametrize("why", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_not_ready_where_nothing_can_be_written(tmp_path: Path, why: int) -> None:
    """On a full or read-only disk the server is not ready and says why; nothing stays behind."""
    services = Services.open(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    there = sorted(tmp_path.iterdir())
    assert not_ready(services.engine, tmp_path / "a.sqlite3") is None
    assert sorted(tmp_path.iterdir()) == there

    def full(**_: object) -> None:
        raise OSError(why, os.strerror(why))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", full)
        said = not_ready(services.engine, tmp_path / "a.sqlite3")
    assert said is not None
    assert os.strerror(why) in said
    services.close()


@pytest.mark.parametrize(
    ("public_url", "headers", "expected"),
    [
        ("https://surveys.example", {"Host": "surveys.example"}, "max-age=31536000"),
        ("https://surveys.example", {"Host": "other.example"}, None),
        (None, {"X-Forwarded-Proto": "https"}, "max-age=31536000"),
        (None, {}, None),
        ("http://surveys.example", {"Host": "surveys.example"}, None),
    ],
)
def test_browsers_stay_with_https(
    live_server: LiveServers, public_url: str | None, headers: dict[str, str], expected: str | None
) -> None:
    """Over https browsers are told to stay with it, and over http nothing that breaks it."""
    server = live_server(public_url=public_url)
    answer = httpx.get(f"{server.url}/healthz", headers=headers, trust_env=False)
    assert answer.headers.get("strict-transport-security") == expected


@pytest.mark.parametrize("found", ["0013", "9999"])
def test_not_ready_on_another_schema(live_server: LiveServers, found: str) -> None:
    """A server with a schema behind or ahead runs and is not ready, and gives the reason."""
    server = live_server()
    with server.services.engine.begin() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{found}'"))
    assert httpx.get(f"{server.url}/healthz").status_code == 200
    answer = httpx.get(f"{server.url}/readyz")
    assert answer.status_code == 503
    assert found in answer.json()["reason"]


@pytest.mark.postgres
def test_not_ready_without_the_database() -> None:
    """Where the database cannot be reached, the reason says so without its address."""
    pytest.importorskip("psycopg")
    engine = connect("postgresql+psycopg://me:geheim@127.0.0.1:1/none")
    assert not_ready(engine) == "the database cannot be reached"
    engine.dispose()


def test_ready_again(empty_database_url: str) -> None:
    """A database is not ready before it is migrated, and ready afterwards."""
    engine = connect(empty_database_url)
    assert "None" in (not_ready(engine) or "")
    migrate(engine)
    assert not_ready(engine) is None
    engine.dispose()
