"""What machines that watch a server are told: little, and nothing of anybody."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text
from tests.server.devices import Phone
from tests.surveys.small_surveys import define

from masquerade.server import Services
from masquerade.server.db.engine import connect, migrate
from masquerade.server.http.metrics import Metrics
from masquerade.server.routes.health import not_ready

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers

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


def test_sweeps_are_counted() -> None:
    """Each sweep counts once, with what it did or that it failed."""
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
    """A server whose schema is behind or ahead runs and is not ready, and says why."""
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
