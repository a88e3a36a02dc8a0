"""The audit log: a chain of the surveyors' actions, in which every change shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text
from tests.server.devices import all_at_once

from masquerade.errors import BrokenChain
from masquerade.server import Services, Settings
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.operations.content_checks import audit_findings
from masquerade.server.operations.database_checks import OK, PROBLEM
from masquerade.server.operations.doctor import examine
from masquerade.server.routes.audit import READING, action_of

if TYPE_CHECKING:
    from tests.server.conftest import Site


def add(services: Services, action: str, object_: str = "") -> bool:
    """Write that the owner did something."""
    return services.audit_log.add(
        FIRST_TEAM, account="a" * 32, login="owner", action=action, object=object_
    )


def change(services: Services, statement: str) -> None:
    """Change the database behind everybody's back."""
    with services.engine.execution_options(write=True).begin() as connection:
        connection.execute(text(statement))


def test_entries_are_chained(services: Services) -> None:
    """Each entry follows on the one before; the same twice in a row is one."""
    assert [add(services, one) for one in ("x", "y", "y", "x")] == [True, True, False, True]
    entries = services.audit_log.page(FIRST_TEAM)
    assert [(one.sequence, one.action) for one in entries] == [(2, "x"), (1, "y"), (0, "x")]
    assert services.audit_log.verify(FIRST_TEAM) == (3, entries[0].hash)


@pytest.mark.parametrize(("count", "said"), [(1, "1 entry: "), (2, "2 entries: ")])
def test_entries_that_hold_are_counted(sqlite_services: Services, count: int, said: str) -> None:
    """One entry is said in the singular, several in the plural."""
    for action in ("x", "y")[:count]:
        add(sqlite_services, action)
    with sqlite_services.engine.connect() as connection:
        [found] = audit_findings(connection)
    assert found.status == OK
    assert found.detail == f"{said}every chain holds."


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entry SET login = 'bob' WHERE sequence = 1",
        "UPDATE audit_entry SET day = '2020-01-01' WHERE sequence = 2",
        "DELETE FROM audit_entry WHERE sequence = 1",
        "DELETE FROM audit_entry WHERE sequence = 0",
        "UPDATE audit_entry SET sequence = 7 WHERE sequence = 2",
        "UPDATE audit_entry SET team = 'another' WHERE sequence = 1",
    ],
)
def test_every_change_shows(sqlite_services: Services, statement: str) -> None:
    """A changed, deleted or moved entry breaks the chain."""
    for action in ("x", "y", "z"):
        add(sqlite_services, action)
    change(sqlite_services, statement)
    with pytest.raises(BrokenChain):
        sqlite_services.audit_log.verify(FIRST_TEAM)
    with sqlite_services.engine.connect() as connection:
        assert PROBLEM in [one.status for one in audit_findings(connection)]


@pytest.mark.both_databases
def test_many_write_at_once(services: Services) -> None:
    """Eight entries at once are eight, in one chain."""
    outcomes = all_at_once(*(lambda n=n: add(services, f"did {n}") for n in range(8)))
    assert outcomes == [True] * 8
    assert services.audit_log.verify(FIRST_TEAM)[0] == 8


def endpoints_of(routes: Iterable[Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield method, path and handler of each route."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from endpoints_of(inner.routes)
        elif hasattr(route, "endpoint"):
            yield from ((method, route.path, route.endpoint) for method in route.methods or ())


# Of a survey, but sent by participants, who have no account and stand in no log.
_PARTICIPANTS = {"/api/v1/surveys/{token}/ticket", "/api/v1/surveys/{token}/panel"}


def test_every_change_has_words_or_its_route(site: Site) -> None:
    """A route that changes something is logged even where nobody thought of words for it."""
    assert action_of("POST", "/api/v1/new/{thing}", None) == "POST /api/v1/new/{thing}"
    actions = {
        (method, path): action_of(method, path, handler)
        for method, path, handler in endpoints_of(site.server.app.routes)
    }
    assert actions["POST", "/surveys/{token}/open"] == "opened a survey"
    assert actions["GET", "/surveys"] is None
    surveyors = {
        route: words
        for route, words in actions.items()
        if not route[1].startswith(("/api/v1/me", "/api/v1/participations"))
        and route[1] not in _PARTICIPANTS
    }
    assert {
        route for route, words in surveyors.items() if words is None and route[0] not in READING
    } == {
        ("POST", "/api/v1/surveys/{token}/curve"),
        ("POST", "/api/v1/surveys/{token}/preview"),
        ("POST", "/api/v1/surveys/{token}/validate"),
        ("POST", "/account/openid"),
        ("POST", "/account/passkeys/begin"),
        ("POST", "/leaderboard"),  # a file that is read and not kept
        ("POST", "/sign-out"),
        # A list of addresses that is read and not kept.
        ("POST", "/surveys/{token}/invitations/check"),
        ("POST", "/team/switch"),
    }
    bare = {route for route, words in surveyors.items() if words == " ".join(route)}
    assert bare == {("POST", "/sign-in/passkey/begin")}
    assert all(len(words) <= 100 for words in actions.values() if words)
    taken = [path for (method, path), words in actions.items() if words and method in READING]
    assert {path.rpartition("/")[2] for path in taken} == {
        *("return", "owner"),
        *("reports.{kind}", "persons.sav"),  # what leaves the server
    }


def test_doctor_looks_at_the_desk(database_url: str) -> None:
    """The whole examination names the audit log."""
    services = Services.open(database_url)
    add(services, "x")
    services.close()
    found = {one.check: one.status for one in examine(Settings(database_url))}
    assert found["audit log"] == OK
