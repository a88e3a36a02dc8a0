"""The helpers that a team works with: addresses, keys, and the tokens by which they know us."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from masquerade.aggregate.signature import fingerprint_groups, fingerprint_of
from masquerade.errors import BrokenPromise, NotFound, ParameterError, WrongState
from masquerade.server.db.party_tables import DRAFTED, HELPER, SPLIT_TASK
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.parties.helper_client import Connect, helper_address
from masquerade.surveys.two_parties import read_fingerprint

_FINGERPRINT = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper that a team works with."""

    id: str
    address: str
    operator: str
    fingerprint: str

    def to_json(self) -> dict[str, str]:
        """Return the helper as a JSON object."""
        return {
            "id": self.id,
            "address": self.address,
            "operator": self.operator,
            "fingerprint": self.fingerprint,
        }


class Helpers:
    """The helpers of all teams.

    `connect`: gives a client of an address and a token.
    `private`: whether helpers may be on this computer and its network.
    """

    def __init__(
        self, transactions: Transactions, *, connect: Connect, seals: Seals, private: bool
    ) -> None:
        self._transactions = transactions
        self.connect = connect
        self._seals = seals
        self._private = private

    def add(self, team: str, *, address: str, token: str, fingerprint: str) -> Helper:
        """Store a helper, or another token of one, after a check of its identity.

        `token`, `fingerprint`: as the helper's operator gave them, and not over the network of this
        server.

        Raises `BrokenPromise` (another key is at this address), `OperationError` (the helper does
        not know the token) or `ParameterError`, `ServerUnavailable`.
        """
        place = helper_address(address, private=self._private)
        wanted = read_fingerprint(fingerprint)
        if not _FINGERPRINT.fullmatch(wanted):
            raise ParameterError(
                f"the fingerprint is {fingerprint[:100]!r}, expected the 32 digits that the helper "
                "shows.",
                field="fingerprint",
            )
        if not token.isascii() or not token.isprintable() or not 1 <= len(token) <= 200:
            raise ParameterError("the token is none; ask the helper's operator.", field="token")
        client = self.connect(place, token)
        who = client.identity()
        try:
            key = bytes.fromhex(str(who["public_key"]))
            operator, own = str(who["operator"]).strip(), str(who["address"])
        except (KeyError, ValueError):
            raise BrokenPromise(f"{place} is no helper: it does not say who it is.") from None
        if fingerprint_of(key) != wanted:
            raise BrokenPromise(
                f"The helper at {place} has the fingerprint "
                f"{fingerprint_groups(fingerprint_of(key))}, and "
                f"{fingerprint_groups(wanted)} was entered. Do not copy it from here: "
                "call the operator, and let them read it from their own screen. Nothing was kept."
            )
        if own != place:
            raise BrokenPromise(
                f"the helper at {place} says that its address is {own}; enter that one."
            )
        if not 1 <= len(operator) <= 200:
            raise BrokenPromise(f"the helper at {place} does not say who runs it.")
        client.require_known()
        found = Helper(secrets.token_hex(16), place, operator, wanted)
        return self._keep(team, found, token, key)

    @writes
    def _keep(
        self, connection: Connection, team: str, found: Helper, token: str, key: bytes
    ) -> Helper:
        here = (HELPER.c.team == team) & (HELPER.c.address == found.address)
        known = connection.scalar(select(HELPER.c.id).where(here))
        id_ = str(known or found.id)
        values = {
            "operator": found.operator,
            "public_key": key.hex(),
            "fingerprint": found.fingerprint,
            "token": self._seals.seal(token, place_of(HELPER, "token", id_)),
        }
        if known is None:
            row = {"id": id_, "team": team, "address": found.address, **values}
            connection.execute(insert(HELPER), row)
        else:
            connection.execute(update(HELPER).where(here).values(**values))
        return replace(found, id=id_)

    def list(self, team: str) -> list[Helper]:
        """Return the helpers of a team, by address."""
        query = select(HELPER).where(HELPER.c.team == team).order_by(HELPER.c.address)
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [Helper(row.id, row.address, row.operator, row.fingerprint) for row in rows]

    def remove(self, team: str, helper: str) -> None:
        """Forget a helper; surveys that are open with it go on without its token, and wait.

        Raises `NotFound`.
        """
        gone = delete(HELPER).where(HELPER.c.team == team, HELPER.c.id == helper)
        if not self._transactions.write(lambda c: c.execute(gone).rowcount):
            raise _no_helper()

    def is_second_party(self, origin: str) -> bool:
        """Return whether the pages of an origin are those of a helper of a survey that opened."""
        opened = SPLIT_TASK.c.state.not_in(DRAFTED)
        query = (
            select(SPLIT_TASK.c.id)
            .join(HELPER, HELPER.c.id == SPLIT_TASK.c.helper)
            .where(HELPER.c.address == origin, opened)
            .limit(1)
        )
        return self._transactions.read(lambda c: c.scalar(query)) is not None

    def at(self, connection: Connection, team: str, address: str) -> Row[Any]:
        """Return the row of a team's helper at an address.

        Raises `NotFound`.
        """
        query = select(HELPER).where(HELPER.c.team == team, HELPER.c.address == address)
        row = connection.execute(query).first()
        if row is None:
            raise _no_helper()
        return row

    def token(self, row: Row[Any]) -> str:
        """Return the token by which a helper knows this server.

        Raises `WrongState` (it was lost with the server's key).
        """
        if row.token is None:
            raise WrongState("the token of this helper was lost; enter it again.")
        return self._seals.unseal(row.token, place_of(HELPER, "token", row.id))


def _no_helper() -> NotFound:
    return NotFound("your team has no such helper; add it with its address, fingerprint and token.")
