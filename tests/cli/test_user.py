"""``masquerade user``: accounts of surveyors, from the command line."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from masquerade.server import Services
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.keys import make_server_key
from masquerade.server.settings import DEMONSTRATION, sqlite_url

if TYPE_CHECKING:
    from tests.cli.conftest import Run

PASSWORD = "four words in a row"


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder, and no settings from outside."""
    for name in [name for name in os.environ if name.startswith("MASQUERADE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that puts a line on standard input."""
    return lambda line: monkeypatch.setattr("sys.stdin", io.StringIO(f"{line}\n"))


def recognised(data: Path, login: str, password: str) -> bool:
    """Return whether login and password let somebody in."""
    services = Services.open(
        sqlite_url(data / "masquerade.sqlite3"), server_key=make_server_key(data / "server.key")
    )
    found = services.accounts.recognise(login, password, "")
    services.close()
    return found is not None


def logged(data: Path) -> list[tuple[str, str]]:
    """Return the actors and actions in the first team, oldest first, by its audit log."""
    services = Services.open(
        sqlite_url(data / "masquerade.sqlite3"), server_key=make_server_key(data / "server.key")
    )
    entries = services.audit_log.page(FIRST_TEAM)
    assert services.audit_log.verify(FIRST_TEAM)[0] == len(entries)
    services.close()
    return [(entry.login, entry.action) for entry in reversed(entries)]


def test_an_account_from_beginning_to_end(run: Run, data: Path, type_in: Any) -> None:
    """An account is made, listed, changed and removed; each command tells its change."""
    at = ("--data-dir", data, "--json")
    type_in(PASSWORD)
    made = run("user", "add", "Ann", "--role", "owner", "--password-stdin", *at)
    assert (made.code, made.json) == (0, {"login": "ann", "team": "My team", "role": "owner"})
    assert recognised(data, "ann", PASSWORD)
    type_in(PASSWORD)
    run("user", "add", "bob", "--name", "Bob B.", "--password-stdin", *at)
    listed = run("user", "list", *at).json["accounts"]
    assert [(a["login"], a["name"], a["role"]) for a in listed] == [
        ("ann", "Ann", "owner"),
        ("bob", "Bob B.", "editor"),
    ]
    assert "Bob B." in run("user", "list", "--data-dir", data).out
    assert run("user", "role", "bob", "viewer", *at).json["role"] == "viewer"
    type_in("five words are in here")
    done = run("user", "password", "bob", "--password-stdin", *at)
    assert done.json == {"login": "bob", "codes": False}
    assert not recognised(data, "bob", PASSWORD)
    assert recognised(data, "bob", "five words are in here")
    assert run("user", "remove", "bob", *at).json == {"login": "bob", "removed": True}
    assert not recognised(data, "bob", "five words are in here")
    assert len(run("user", "list", *at).json["accounts"]) == 1
    assert [action for login, action in logged(data) if login == "(command line)"] == [
        "made an account",
        "made an account",
        "made a member viewer",
        "set a new password",
        "ended an account",
    ]


def test_a_second_team(run: Run, data: Path, type_in: Any) -> None:
    """A new name makes a team with its first member as owner; others join it by a role."""
    at = ("--team", "Second", "--data-dir", data, "--json")
    type_in(PASSWORD)
    refused = run("user", "add", "ann", "--password-stdin", *at)
    assert refused.code == 1
    assert "first member has to be an owner" in refused.err
    assert run("user", "role", "ann", "owner", *at).code == 1
    type_in(PASSWORD)
    made = run("user", "add", "ann", "--role", "owner", "--password-stdin", *at)
    assert made.json["team"] == "Second"
    joined = run("user", "role", "ann", "viewer", "--data-dir", data, "--json")
    assert joined.json == {"login": "ann", "team": "My team", "role": "viewer"}
    listed = run("user", "list", "--data-dir", data, "--json").json["accounts"]
    assert [(a["team"], a["role"]) for a in listed] == [("My team", "viewer"), ("Second", "owner")]


@pytest.mark.parametrize(
    ("words", "line", "complaint"),
    [
        (("add", "ann", "--role", "root", "--password-stdin"), PASSWORD, "is not one of"),
        (("add", "a b", "--password-stdin"), PASSWORD, "cannot be a login"),
        (("add", "ann", "--password-stdin"), "short", "5 characters"),
        (("add", "ann"), PASSWORD, "--password-stdin"),
        (("password", "ann", "--password-stdin"), PASSWORD, "no account 'ann'"),
        (("remove", "ann"), "", "no account 'ann'"),
    ],
)
def test_what_is_refused(
    run: Run, data: Path, type_in: Any, words: tuple[str, ...], line: str, complaint: str
) -> None:
    """A refusal tells the fault, exits with 1 (2: no such role), and makes no account."""
    type_in(line)
    refused = run("user", *words, "--data-dir", data)
    assert refused.code == (2 if "root" in words else 1)
    assert complaint in refused.err
    assert run("user", "list", "--data-dir", data, "--json").json["accounts"] == []


def test_the_last_owner_stays(run: Run, data: Path, type_in: Any) -> None:
    """Neither a new role nor a removal leaves a team without an owner."""
    type_in(PASSWORD)
    run("user", "add", "ann", "--role", "owner", "--password-stdin", "--data-dir", data)
    for words in (("role", "ann", "viewer"), ("remove", "ann")):
        refused = run("user", *words, "--data-dir", data)
        assert refused.code == 1
        assert "last owner" in refused.err


def test_a_token_is_made_for_a_program(run: Run, data: Path, type_in: Any) -> None:
    """It is shown once, belongs to a member, has the rights that were named, and is in the log."""
    at = ("--data-dir", data, "--json")
    type_in(PASSWORD)
    run("user", "add", "ann", "--role", "owner", "--password-stdin", *at)
    made = run("token", "create", "ann", "--scope", "results:read", "--name", "weekly", *at)
    assert made.code == 0
    assert made.json["token"].startswith("mq_")
    assert ("(command line)", "made a token") in logged(data)
    refused = run("token", "create", "ann", "--scope", "everything", *at)
    assert (refused.code, refused.out) == (1, "")
    assert "'everything' is no scope" in refused.err
    assert run("token", "create", "nobody", *at).code == 1


def test_a_token_needs_the_database_of_a_server(run: Run, tmp_path: Path) -> None:
    """Where there is none, and in a demonstration's folder, nothing is made and advice is given."""
    for there, advice in (((), "begin with masquerade serve"), ((DEMONSTRATION,), "its owner")):
        for name in there:
            (tmp_path / name).touch()
        refused = run("token", "create", "ann", "--data-dir", tmp_path)
        assert refused.code == 1
        assert advice in refused.err
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(there)
