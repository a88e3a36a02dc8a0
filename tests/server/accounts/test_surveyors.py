"""Stored data of surveyors, on each kind of database."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from tests.server.accounts.casts import PASSWORD
from tests.server.devices import all_at_once, everything
from tests.surveys.small_surveys import define

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server import Services
from masquerade.server.accounts import totp
from masquerade.server.accounts.accounts import Accounts
from masquerade.server.accounts.sessions import IDLE_DAYS, Sessions
from masquerade.server.accounts.surveyor_rights import Credentials
from masquerade.server.accounts.teams import INVITATION_DAYS, RIGHTS, ROLES, TeamInvitations
from masquerade.server.accounts.tokens import ApiTokens
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.http.security import SESSION_DAYS

if TYPE_CHECKING:
    from tests.server.accounts.casts import Cast


class Day:
    """A calendar that stands still until it is turned."""

    today = "2026-03-14"

    def __call__(self) -> str:
        return self.today


def another(cast: Cast, day: Day) -> Services:
    """Return services over the same database, on a calendar of the test's own."""
    transactions = cast.services.transactions
    sessions, tokens = Sessions(transactions, today=day), ApiTokens(transactions, today=day)
    return replace(
        cast.services,
        sessions=sessions,
        tokens=tokens,
        invitations=TeamInvitations(transactions, today=day),
        credentials=Credentials(
            transactions, sessions=sessions, tokens=tokens, teams=cast.services.teams, today=day
        ),
    )


def found(services: Services, login: str, password: str, code: str = "") -> str | None:
    """Return the login of the account with this login, password and code."""
    account = services.accounts.recognise(login, password, code)
    return None if account is None else account.login


def test_the_first_owner(services: Services) -> None:
    """The owner's link has one account, until that has a password or passkey."""
    teams, accounts = services.teams, services.accounts
    first = teams.first_owner()
    assert first is not None
    assert first == teams.first_owner()
    assert (first.login, first.has_password) == ("owner", False)
    assert [(m.team.id, m.role) for m in teams.of_account(first.id)] == [(FIRST_TEAM, "owner")]
    assert found(services, "owner", "") is None
    accounts.set_password(first.id, PASSWORD)
    assert teams.first_owner() is None
    assert found(services, " OWNER ", PASSWORD) == "owner"


def test_an_owner_made_on_the_command_line_ends_the_link(services: Services) -> None:
    """Where the first team has an owner with a way to sign in, the link is for nobody."""
    services.teams.add(FIRST_TEAM, login="ann", name="Ann", password=PASSWORD, role="owner")
    assert services.teams.first_owner() is None


def test_an_editor_before_any_owner(services: Services) -> None:
    """Where the first account of the first team is no owner, the link has an owner all the same."""
    services.teams.add(FIRST_TEAM, login="ann", name="Ann", password=PASSWORD, role="editor")
    first = services.teams.first_owner()
    assert first is not None
    assert (first.login, first) == ("owner", services.teams.first_owner())


def test_a_new_owner_does_not_take_a_login(services: Services) -> None:
    """Where the login "owner" is taken by another team, the first owner has another."""
    who = {"login": "owner", "name": "Ann", "password": PASSWORD}
    services.teams.found("Economists", **who)
    first = services.teams.first_owner()
    assert first is not None
    assert first.login == "owner-2"


def test_who_is_recognised(services: Services) -> None:
    """Only the right password of an account that is there is taken."""
    who = {"login": "Ann.B", "name": "Ann", "password": PASSWORD}
    account = services.teams.found("Economists", **who)
    assert account.login == "ann.b"
    assert found(services, "ann.b", PASSWORD) == "ann.b"
    assert found(services, "ann.b", PASSWORD + " ") is None
    assert found(services, "ann.b", "") is None
    assert found(services, "ann", PASSWORD) is None
    assert found(services, "ann.b\0", PASSWORD) is None
    services.teams.add(FIRST_TEAM, login="bob", name="Bob", password=PASSWORD, role="owner")
    bob = services.accounts.by_login("bob")
    assert found(services, "bob", PASSWORD) == "bob"
    with pytest.raises(WrongState, match="last owner"):
        services.teams.disable(bob.id)
    services.teams.put(FIRST_TEAM, account.id, "owner")
    services.teams.disable(bob.id)
    assert found(services, "bob", PASSWORD) is None
    with pytest.raises(NotFound, match="no account 'bob'"):
        services.accounts.by_login("bob")


def test_old_hashes_are_made_anew(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signing in with a password that was hashed more cheaply makes a new hash of it."""
    from argon2 import PasswordHasher, extract_parameters

    from masquerade.server.accounts import passwords

    services = cast.services
    id_ = cast.another("editor", password=passwords.hash_password(PASSWORD))
    dearer = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)
    monkeypatch.setattr(passwords, "_HASHER", dearer)
    login = services.accounts.get(id_).login
    assert found(services, login, PASSWORD) == login
    with services.engine.connect() as connection:
        kept = connection.execute(text("SELECT password FROM account WHERE id = :id"), {"id": id_})
        assert extract_parameters(kept.scalar_one()).time_cost == 2
    assert found(services, login, PASSWORD) == login


def test_a_code_works_once(cast: Cast) -> None:
    """With codes turned on each sign-in takes a new code; of two at once one succeeds."""
    services, owner = cast.services, cast.members["owner"]
    now = 50_000_000.0
    accounts = Accounts(services.transactions, clock=lambda: now)
    accounts.set_password(owner, PASSWORD)
    login, secret, step = accounts.get(owner).login, totp.new_secret(), int(now) // 30
    assert not accounts.ask_for_codes(owner, secret, "000000")
    assert not accounts.get(owner).has_totp
    assert accounts.ask_for_codes(owner, secret, totp.code_at(secret, step - 1))
    assert accounts.get(owner).has_totp
    assert accounts.recognise(login, PASSWORD, "") is None
    assert accounts.recognise(login, PASSWORD, totp.code_at(secret, step - 1)) is None
    code = totp.code_at(secret, step)
    assert accounts.recognise(login, "another password", code) is None

    def sign_in() -> bool:
        return accounts.recognise(login, PASSWORD, code) is not None

    assert sorted(all_at_once(*[sign_in] * 4)) == [False, False, False, True]
    assert accounts.recognise(login, PASSWORD, code) is None
    accounts.ask_for_no_codes(owner)
    assert accounts.recognise(login, PASSWORD, "") is not None


def test_sessions(cast: Cast) -> None:
    """A session is its account's, is kept as a hash, is replaced by a new one, and ends."""
    day, owner = Day(), cast.members["owner"]
    surveyors = another(cast, day)
    first = surveyors.sessions.start(owner, cast.team)
    second = surveyors.sessions.start(owner, cast.team, instead_of=first)
    assert surveyors.credentials.by_session(first) is None
    known = surveyors.credentials.by_session(second)
    assert known is not None
    assert (known.account.id, known.team.id, known.role) == (owner, cast.team, "owner")
    assert known.rights == ROLES["owner"]
    assert known.session == hashlib.sha256(second.encode()).hexdigest()
    third = surveyors.sessions.start(owner, cast.team)
    surveyors.sessions.end_others(owner, known.session)
    assert surveyors.credentials.by_session(third) is None
    assert [digest for digest, _ in surveyors.sessions.of_account(owner)] == [known.session]
    for used in ("2026-03-20", "2026-03-27", "2026-04-03", "2026-04-10", "2026-04-13"):
        day.today = used
        assert surveyors.credentials.by_session(second) is not None
    day.today = "2026-04-14"
    assert SESSION_DAYS == 30
    assert surveyors.credentials.by_session(second) is None
    surveyors.sessions.start(cast.members["viewer"], cast.team)
    with cast.services.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM session")).scalar() == 1


def test_a_session_that_nobody_uses_ends(cast: Cast) -> None:
    """After a week without a request a session is over, and is not listed; a request renews it."""
    day, owner = Day(), cast.members["owner"]
    surveyors = another(cast, day)
    kept = surveyors.sessions.start(owner, cast.team)
    left = surveyors.sessions.start(owner, cast.team)
    day.today = "2026-03-21"
    assert IDLE_DAYS == 7
    assert surveyors.credentials.by_session(kept) is not None
    day.today = "2026-03-22"
    assert surveyors.credentials.by_session(left) is None
    assert surveyors.credentials.by_session(kept) is not None
    assert len(surveyors.sessions.of_account(owner)) == 1


def test_what_lets_in_is_kept_as_a_hash(cast: Cast) -> None:
    """No session, API token or invitation is in the database, and no password."""
    owner = cast.members["owner"]
    surveyors = cast.services
    surveyors.accounts.set_password(owner, "four words in a row")
    secrets = [
        surveyors.sessions.start(owner, cast.team),
        surveyors.tokens.create(owner, cast.team, name="x", scopes=RIGHTS, until=None),
        surveyors.invitations.create(cast.team, role="viewer", note="Bob"),
        "four words in a row",
    ]
    dump = repr(everything(cast.services))
    assert [secret for secret in secrets if secret in dump] == []
    assert hashlib.sha256(secrets[1].encode()).hexdigest() in dump


def test_a_token_has_its_scopes_while_its_role_has_them(cast: Cast) -> None:
    """A token's rights are those of its scopes that the account's role has, to its last day."""
    day, owner = Day(), cast.members["owner"]
    surveyors = another(cast, day)
    scopes = ["reports:read", "team:manage"]
    token = surveyors.tokens.create(
        owner, cast.team, name="script", scopes=scopes, until="2026-03-15"
    )
    assert token.startswith("mq_")
    assert len(token) == 46

    def rights() -> frozenset[str] | None:
        known = surveyors.credentials.by_token(token)
        return None if known is None else known.rights

    assert rights() == frozenset(scopes)
    surveyors.teams.put(cast.team, cast.members["editor"], "owner")
    surveyors.teams.set_role(cast.team, owner, "editor")
    assert rights() == frozenset({"reports:read"})
    surveyors.teams.set_role(cast.team, owner, "auditor")
    assert rights() == frozenset()
    day.today = "2026-03-15"
    assert rights() == frozenset()
    (seen,) = surveyors.tokens.of_team(cast.team)
    assert (seen.used, seen.until, seen.ending) == ("2026-03-15", "2026-03-15", token[-4:])
    day.today = "2026-03-16"
    assert rights() is None
    assert surveyors.credentials.by_token("") is None
    assert surveyors.credentials.by_token("mq_") is None


def test_tokens_are_revoked_by_their_account_or_the_team(cast: Cast) -> None:
    """A token ends when it is revoked, which no other account and no other team can."""
    tokens, editor = cast.services.tokens, cast.members["editor"]
    token = tokens.create(editor, cast.team, name="x", scopes=["survey:read"], until=None)
    (seen,) = tokens.of_team(cast.team)
    with pytest.raises(NotFound):
        tokens.revoke(cast.other_team, seen.digest)
    with pytest.raises(NotFound):
        tokens.revoke(cast.team, seen.digest, account=cast.members["viewer"])
    assert cast.services.credentials.by_token(token) is not None
    tokens.revoke(cast.team, seen.digest, account=editor)
    assert cast.services.credentials.by_token(token) is None
    with pytest.raises(NotFound):
        tokens.revoke(cast.team, seen.digest)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"scopes": []}, "has no scope"),
        ({"scopes": ["survey:read", "root"]}, "'root' is no scope"),
        ({"until": "2026-03-13"}, "that is not over"),
        ({"until": "tomorrow"}, "expected a day like 2026-03-14"),
        ({"name": " "}, "what the token is for"),
    ],
)
def test_what_is_no_token(sqlite_cast: Cast, changes: dict[str, object], complaint: str) -> None:
    """A token without a use, without scopes, or that ended before it began is refused."""
    values = {"name": "x", "scopes": ["survey:read"], "until": None, **changes}
    with pytest.raises(ParameterError, match=complaint):
        sqlite_cast.services.tokens.create(
            sqlite_cast.members["owner"],
            sqlite_cast.team,
            **values,  # type: ignore[arg-type]
        )


def test_the_last_owner_stays(cast: Cast) -> None:
    """A team keeps an owner: also if two leave at once, one stays."""
    teams = cast.services.teams
    owner, editor = cast.members["owner"], cast.members["editor"]
    steps: list[Callable[[], object]] = [
        partial(teams.remove, cast.team, owner),
        partial(teams.set_role, cast.team, owner, "editor"),
        partial(teams.put, cast.team, owner, "viewer"),
        partial(teams.disable, owner),
    ]
    for step in steps:
        with pytest.raises(WrongState, match="last owner"):
            step()
    for _ in range(5):
        teams.put(cast.team, owner, "owner")
        teams.put(cast.team, editor, "owner")
        outcomes = all_at_once(
            lambda: teams.remove(cast.team, owner),
            lambda: teams.set_role(cast.team, editor, "viewer"),
        )
        assert sum(isinstance(outcome, WrongState) for outcome in outcomes) == 1, outcomes
        owners = [m for m in teams.members(cast.team) if m.role == "owner"]
        assert len(owners) == 1


def test_who_leaves_can_do_nothing_more_in_the_team(cast: Cast) -> None:
    """Removing a member ends its sessions and tokens of this team, and of no other."""
    surveyors, editor = cast.services, cast.members["editor"]
    surveyors.teams.put(cast.other_team, editor, "viewer")
    here = surveyors.sessions.start(editor, cast.team)
    there = surveyors.sessions.start(editor, cast.other_team)
    token = surveyors.tokens.create(editor, cast.team, name="x", scopes=["survey:read"], until=None)
    with pytest.raises(NotFound):
        surveyors.teams.remove(cast.other_team, cast.members["viewer"])
    surveyors.teams.remove(cast.team, editor)
    assert surveyors.credentials.by_session(here) is None
    assert surveyors.credentials.by_token(token) is None
    assert surveyors.credentials.by_session(there) is not None
    with pytest.raises(NotFound):
        surveyors.teams.set_role(cast.team, editor, "viewer")


def test_an_invitation_lets_one_person_in(cast: Cast) -> None:
    """If several follow one link at once, one joins; the others leave no account behind."""
    invitations = cast.services.invitations
    link = invitations.create(cast.team, role="viewer", note="Bob")
    assert [(i.note, i.role) for i in invitations.of_team(cast.team)] == [("Bob", "viewer")]
    who = {"name": "Bob", "password": PASSWORD}
    outcomes = all_at_once(
        *[partial(invitations.join_new, link, login=f"bob-{n}", **who) for n in range(4)]
    )
    joined = [o for o in outcomes if not isinstance(o, Exception)]
    assert len(joined) == 1, outcomes
    assert {type(o) for o in outcomes if isinstance(o, Exception)} == {NotFound}
    assert (joined[0].team.id, joined[0].role) == (cast.team, "viewer")
    logins = {m.account.login for m in cast.services.teams.members() if m}
    assert len([login for login in logins if login.startswith("bob-")]) == 1
    assert invitations.of_team(cast.team) == []
    with pytest.raises(NotFound, match="ask for a new one"):
        invitations.read(link)


def test_an_invitation_ends(cast: Cast) -> None:
    """A link works for seven days, until it is taken back, and not for the team's members."""
    day = Day()
    invitations = another(cast, day).invitations
    link = invitations.create(cast.team, role="viewer", note="Bob")
    with pytest.raises(WrongState, match="already"):
        invitations.join(link, cast.members["editor"])
    assert INVITATION_DAYS == 7
    day.today = "2026-03-21"
    assert invitations.read(link).until == "2026-03-21"
    with pytest.raises(NotFound):
        invitations.withdraw(cast.other_team, invitations.of_team(cast.team)[0].digest)
    day.today = "2026-03-22"
    with pytest.raises(NotFound):
        invitations.join(link, cast.outsider)
    day.today = "2026-03-14"
    invitations.withdraw(cast.team, invitations.of_team(cast.team)[0].digest)
    with pytest.raises(NotFound):
        invitations.join(link, cast.outsider)


def test_logins_are_of_one_person(cast: Cast) -> None:
    """No two accounts share a login, in any capitals, and names are visible text."""
    accounts, teams = cast.services.accounts, cast.services.teams
    owner, editor = cast.members["owner"], cast.members["editor"]
    accounts.rename(owner, login="Ann", name=" Ann ")
    assert (accounts.get(owner).login, accounts.get(owner).name) == ("ann", "Ann")
    with pytest.raises(ParameterError, match="taken"):
        accounts.rename(editor, login="ANN", name="Bob")
    with pytest.raises(ParameterError, match="taken"):
        teams.add(cast.team, login="ann", name="Bob", password=PASSWORD, role="viewer")
    accounts.rename(owner, login="ann", name="Ann B.")
    for login in ("", " ", "a b", "é", "-a", "a" * 65, "a\n"):
        if login != "a\n":
            with pytest.raises(ParameterError, match="cannot be a login"):
                accounts.rename(owner, login=login, name="Ann")
    for name in ("", " ", "a\nb", "a" * 101, "\u202eabc"):
        with pytest.raises(ParameterError, match="visible letters"):
            accounts.rename(owner, login="ann", name=name)
    with pytest.raises(ParameterError, match="no role"):
        teams.set_role(cast.team, editor, "root")


def test_surveys_are_their_teams(cast: Cast) -> None:
    """A survey is the team's that opened it, and is listed there and nowhere else."""
    services = cast.services
    ours = services.surveys.open_survey(define(), team=cast.team)
    theirs = services.surveys.open_survey(define(), team=cast.other_team)
    first = services.surveys.open_survey(define())
    assert [s.token for s in services.surveys.records(team=cast.team)] == [ours.token]
    assert [s.token for s in services.surveys.records(team=cast.other_team)] == [theirs.token]
    assert [s.token for s in services.surveys.records(team=FIRST_TEAM)] == [first.token]
    assert len(services.surveys.records()) == 3
