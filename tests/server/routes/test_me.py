"""A person's account over the interface: caps that change together, lengths that tell nothing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from sqlalchemy import event
from tests.server.devices import Device, Phone, all_at_once
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.exact import Micro
from masquerade.surveys import Number, Rating

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import LiveServers
    from tests.server.conftest import Site

    from masquerade.server import Services

LEVELS = ("high", "medium", "low")


@pytest.mark.both_databases
def test_caps_changed_at_once_do_not_undo_each_other(services: Services) -> None:
    """Changes are made of the caps at that moment: two that lower different caps both hold."""
    device, together = Device(), threading.Barrier(2)
    device.send(services, services.surveys.open_survey(define()))
    who = services.identity(device.participant)

    def lower(change: Callable[[Caps], Caps]) -> bool:
        together.wait()
        return services.profiles.set_caps(who, change, confirm=True)

    def less_epsilon(now: Caps) -> Caps:
        return Caps(Micro(5_000_000), now.delta, now.clear)

    def less_delta(now: Caps) -> Caps:
        return Caps(now.epsilon, now.delta / 2, now.clear)

    before = services.profiles.account(who).balance.caps
    done = all_at_once(lambda: lower(less_epsilon), lambda: lower(less_delta))
    assert done == [True, True]
    after = services.profiles.account(who).balance.caps
    assert after == less_delta(less_epsilon(before))
    assert services.profiles.caps_to_come(who) is None


def paged(phone: Phone) -> list[int]:
    """Return the lengths of all that an account shows."""
    paths = ("/me", "/me/ledger", "/me/ledger?limit=1", "/me/export", "/invitations")
    return [len(phone.ask("GET", path).content) for path in paths]


def test_lengths_of_the_account_are_equal_across_levels(
    live_server: LiveServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ledger, export and invitations of a long survey are as long at every level, for all reports.

    They are filled up to whole bytes here, not to kibibytes, so that no difference is hidden.
    """
    monkeypatch.setattr("masquerade.server.http.bodies.BLOCK", 1)
    caps = Caps(Micro(1_000_000_000), clear=1000)
    server = live_server(caps=caps, rate_participant=0, rate_address=0, allow_clear=True)
    questions: tuple[Any, ...] = (
        *(Rating(f"r{n}", "?") for n in range(60)),
        *(Number(f"n{n}", "?", 0, 1000, "h", 0.5) for n in range(40)),
    )
    survey = server.services.surveys.open_survey(define(*questions, levels=(*LEVELS, "none")))
    found = set()
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        for level in (*LEVELS, "none"):
            for reports in ([0] * 100, [4] * 60 + [-199 if level != "none" else 2000] * 40):
                phone = Phone(client)
                phone.take_part(survey, reports, level=level)
                found.add(tuple(paged(phone)))
    assert len(found) == 1, found


def test_no_request_of_a_participant_reads_a_whole_table(site: Site) -> None:
    """Every statement finds the rows of participations and accounts by an index, the sweep too."""
    survey = site.services.surveys.open_survey(define(), listed=True)
    asked: set[tuple[str, tuple[Any, ...]]] = set()

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        asked.add((statement, () if isinstance(parameters, list) else tuple(parameters)))

    event.listen(site.services.engine, "before_cursor_execute", note)
    phone = site.phone()
    answers = phone.take_part(survey)
    id_ = answers[0].json()["id"]
    for path in ("/me", "/me/ledger", "/me/export", "/invitations"):
        assert phone.ask("GET", path).status_code == 200
    assert phone.ask("POST", f"/participations/{id_}/withdraw").status_code == 200
    assert phone.ask("PATCH", "/me/caps", {"epsilon": 1}).status_code == 200
    assert phone.ask("DELETE", "/me").status_code == 200
    site.services.daily_jobs.run()
    event.remove(site.services.engine, "before_cursor_execute", note)
    plans = []
    with site.services.engine.connect() as connection:
        for statement, parameters in asked:
            if statement.lstrip().startswith(("SELECT", "UPDATE", "DELETE")):
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                plans += [(row.detail, statement) for row in plan]
    assert len(plans) > 20
    for detail, statement in plans:
        for table in ("participation", "ledger_entry", "ledger_cost"):
            assert not detail.startswith(f"SCAN {table}"), (detail, statement)
