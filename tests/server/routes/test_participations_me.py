"""The protocol over HTTP: people's view of themselves, and their traces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.refusals import LEVELS, problem_of
from tests.surveys.small_surveys import define

if TYPE_CHECKING:
    from tests.server.conftest import Site


def test_me(site: Site) -> None:
    """The account tells the rest, the caps, open reservations and the statement in words."""
    phone = site.phone()
    fresh = phone.ask("GET", "/me").json()
    assert fresh["battery"] == {
        "percent_left": 100,
        "epsilon_spent": 0.0,
        "delta": 0.0,
        "epsilon_cap": 10.0,
        "clear": 0,
        "method": "pure",
    }
    assert (fresh["caps"]["epsilon"], fresh["open_reservations"]) == (10, 0)
    survey, other = (site.services.surveys.open_survey(define(title=t)) for t in ("One", "Other"))
    phone.take_part(survey)
    phone.reserve(other.token, "medium")
    now = phone.ask("GET", "/me").json()
    assert now["open_reservations"] == 1
    assert now["battery"]["percent_left"] < 100
    assert "does not cover answers you sent in clear (0)" in now["statement"][0]


def test_the_ledger_page_by_page(site: Site) -> None:
    """The ledger comes oldest first, in pages that together are the whole, with titles and caps."""
    surveys = [
        site.services.surveys.open_survey(define(title=f"S{n}", level="high")) for n in range(3)
    ]
    phone = site.phone()
    for survey in surveys:
        phone.take_part(survey)
    pages: list[Any] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = phone.ask("GET", f"/me/ledger?limit=4&cursor={cursor}").json()
        pages.append(page["entries"])
        cursor = page["next_cursor"]
    assert [len(page) for page in pages] == [4, 2]
    entries = [entry for page in pages for entry in page]
    assert [entry["kind"] for entry in entries] == ["reserve", "commit"] * 3
    assert [entry["title"] for entry in entries] == ["S0", "S0", "S1", "S1", "S2", "S2"]
    assert entries[0]["caps"]["epsilon"] == 10
    kept = site.services.ledger.entries(site.services.identity(phone.participant).person)
    assert [entry["hash"] for entry in entries] == [entry.hash for entry in kept]
    whole = phone.ask("GET", "/me/ledger").json()
    assert (whole["total"], whole["entries"], whole["unit"]) == (6, entries, "worker")
    export = phone.ask("GET", "/me/export").json()
    assert export["entries"] == entries
    assert len(export["participations"]) == 3
    assert phone.participant not in json.dumps(export)
    for wrong in ("limit=0", "limit=101", "cursor=-1", "cursor=x"):
        problem_of(phone.ask("GET", f"/me/ledger?{wrong}"), 422, "validation-error")


def test_invitations_page_by_page(site: Site) -> None:
    """Listed and begun surveys come in pages that together are all, with the participation."""
    begun = site.services.surveys.open_survey(define())
    listed = [site.services.surveys.open_survey(define(), listed=True) for _ in range(4)]
    phone = site.phone()
    id_ = phone.reserve(begun.token, "medium").json()["id"]
    found: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = phone.ask("GET", f"/invitations?limit=2&cursor={cursor}").json()
        assert len(page["invitations"]) <= 2
        found += page["invitations"]
        cursor = page["next_cursor"]
    assert sorted(one["token"] for one in found) == sorted(
        [begun.token, *(survey.token for survey in listed)]
    )
    mine = {one["token"]: one["participation"] for one in found}
    assert mine.pop(begun.token) == {"id": id_, "state": "reserved", "level": "medium"}
    assert set(mine.values()) == {None}


def test_caps_over_the_interface(site: Site) -> None:
    """Caps go down at once, up with a confirmation and later; impossible ones are refused."""
    phone = site.phone()
    lower = phone.ask("PATCH", "/me/caps", {"epsilon": 2.5}).json()["caps"]
    assert (lower["epsilon"], lower["delta"], lower["to_come"]) == (2.5, 1e-6, None)
    problem_of(phone.ask("PATCH", "/me/caps", {"epsilon": 5}), 409, "confirmation-needed")
    later = phone.ask("PATCH", "/me/caps", {"epsilon": 5, "confirm": True}).json()["caps"]
    assert (later["epsilon"], later["to_come"]["epsilon"]) == (2.5, 5)
    for wrong in ({"epsilon": -1}, {"epsilon": 1001}, {"delta": 0.5}, {"clear": -1}, {"x": 1}):
        problem_of(phone.ask("PATCH", "/me/caps", wrong), 422, "validation-error")


def test_leaving_over_the_interface(site: Site) -> None:
    """Leaving deletes reports of open surveys and says that the ledger stays, and why."""
    survey = site.services.surveys.open_survey(define())
    phone = site.phone()
    phone.take_part(survey)
    left = phone.ask("DELETE", "/me").json()
    assert (left["withdrawn"], left["given_up"], left["kept"]) == (1, 0, 0)
    assert "ledger stay" in " ".join(left["explanation"])
    assert site.services.reports.of_survey(survey.token) == []
    assert len(phone.ask("GET", "/me/ledger").json()["entries"]) == 2


def test_the_levels_are_public(site: Site) -> None:
    """Every level's parameters can be read by anybody."""
    found = site.visitor.get("/api/v1/levels").json()
    assert [level["name"] for level in found["levels"]] == list(LEVELS)
    assert found["levels"][1]["options"]["2"]["flip_probability"] == pytest.approx(0.3364, abs=1e-4)
    assert found["levels"][1]["sigma_of_range"] == 1.5
    assert found["clear"] == {"name": "none", "allowed": False}
