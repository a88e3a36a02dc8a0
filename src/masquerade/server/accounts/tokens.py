"""Tokens by which programs act for a surveyor: shown once, kept as a hash."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import delete, insert, select, update

from masquerade.errors import NotFound, ParameterError
from masquerade.server.accounts.accounts import check_name
from masquerade.server.accounts.sessions import digest
from masquerade.server.accounts.teams import RIGHTS
from masquerade.server.db.account_tables import ACCOUNT, TOKEN
from masquerade.server.db.transactions import Service

PREFIX = "mq_"


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token as its team sees it, without its secret, which is not kept."""

    digest: str  # names it
    # account, login: for whom it acts.
    account: str
    login: str
    # name, ending: what it is for; its last letters.
    name: str
    ending: str
    scopes: tuple[str, ...]  # rights that it has at most
    # day, until, used: when it was made, the last day on which it works, the last on which it was
    # used.
    day: str
    until: str | None
    used: str | None


class ApiTokens(Service):
    """All tokens."""

    def create(
        self, account: str, team: str, *, name: str, scopes: Iterable[str], until: str | None
    ) -> str:
        """Return a new token, which cannot be seen again and works up to the day `until`.

        It has the rights `scopes` as long as the account's role has them.
        """
        wanted = sorted(set(scopes))
        unknown = [scope for scope in wanted if scope not in RIGHTS]
        if unknown or not wanted:
            what = f"{unknown[0]!r} is no scope" if unknown else "the token has no scope"
            raise ParameterError(f"{what}; choose at least one of {', '.join(RIGHTS)}.")
        # By this beginning programs that look for leaked secrets can tell what it is.
        token = PREFIX + secrets.token_urlsafe(32)
        row = {
            "digest": digest(token),
            "account": account,
            "team": team,
            "name": check_name(name, what="what the token is for"),
            "ending": token[-4:],
            "scopes": wanted,
            "day": self._today(),
            "until": until and self._end_day(until),
        }
        self._transactions.write(lambda c: c.execute(insert(TOKEN), row))
        return token

    def of_team(self, team: str) -> list[ApiToken]:
        """Return the tokens of a team, by login and name."""
        query = (
            select(TOKEN, ACCOUNT.c.login)
            .join(ACCOUNT, ACCOUNT.c.id == TOKEN.c.account)
            .where(TOKEN.c.team == team)
            .order_by(ACCOUNT.c.login, TOKEN.c.name, TOKEN.c.digest)
        )
        return self._transactions.read(lambda c: [_token(row) for row in c.execute(query)])

    def revoke(self, team: str, digest_: str, *, account: str | None = None) -> None:
        """End a token of a team; with `account`, only one of its own."""
        gone = delete(TOKEN).where(TOKEN.c.team == team, TOKEN.c.digest == digest_)
        if account is not None:
            gone = gone.where(TOKEN.c.account == account)
        if self._transactions.write(lambda c: c.execute(gone).rowcount) != 1:
            raise NotFound("there is no such token; it was revoked already.")

    def used(self, digest_: str) -> None:
        """Remember that a token was used today."""
        today = self._today()
        change = update(TOKEN).where(TOKEN.c.digest == digest_).values(used=today)
        self._transactions.write(lambda c: c.execute(change))

    def _end_day(self, until: str) -> str:
        try:
            day = date.fromisoformat(until).isoformat()
        except ValueError:
            day = ""
        if day < self._today():
            raise ParameterError(
                f"the last day is {until!r}, expected a day like {self._today()} that is not over."
            )
        return day


def _token(row: Any) -> ApiToken:
    return ApiToken(
        digest=row.digest,
        account=row.account,
        login=row.login,
        name=row.name,
        ending=row.ending,
        scopes=tuple(row.scopes),
        day=row.day,
        until=row.until,
        used=row.used,
    )
