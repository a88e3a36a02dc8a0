"""Helpers that a team works with, and surveys that are proposed to them before they open."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from masquerade.aggregate.dap import config_of
from masquerade.aggregate.hpke import HpkeKey, Kem
from masquerade.aggregate.signature import check_approval, fingerprint_of
from masquerade.errors import BrokenPromise, NotFound, ParameterError, WrongState
from masquerade.server.db.party_tables import (
    APPROVED,
    BOUND,
    HELPER,
    PROPOSED,
    REFUSED,
    SPLIT_TASK,
)
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.transactions import Transactions
from masquerade.server.parties.helper_client import Connect, helper_address
from masquerade.surveys.split_task import COLLECTOR_KEY, LEADER_KEY, SplitTask
from masquerade.surveys.survey import Survey

#: Days after a survey's last day in which the helper keeps its task, and days without a last day.
GRACE_DAYS, OPEN_DAYS = 30, 365
_DAY_SECONDS = 86_400
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


@dataclass(frozen=True, slots=True)
class LeaderSecrets:
    """The secrets of one task at the leader, who is the collector too."""

    leader: HpkeKey
    collector: HpkeKey
    seed: bytes  # of the verification key; empty until the helper has approved

    def text(self) -> str:
        """Return what is sealed and kept."""
        keys = [[int(key.kem), key.seed.hex()] for key in (self.leader, self.collector)]
        return json.dumps([*keys, self.seed.hex()])

    @classmethod
    def of(cls, text: str) -> LeaderSecrets:
        """Return the secrets that were kept."""
        *keys, seed = json.loads(text)
        leader, collector = (HpkeKey(Kem(kem), bytes.fromhex(key)) for kem, key in keys)
        return cls(leader, collector, bytes.fromhex(seed))


class Helpers:
    """The helpers of all teams.

    Parameters
    ----------
    transactions : Transactions
    connect : callable
        Gives a client of an address and a token.
    seals : Seals
    private : bool
        Whether helpers may be on this computer and its network.
    """

    def __init__(
        self, transactions: Transactions, *, connect: Connect, seals: Seals, private: bool
    ) -> None:
        self._transactions = transactions
        self.connect = connect
        self._seals = seals
        self._private = private

    def add(self, team: str, *, address: str, token: str, fingerprint: str) -> Helper:
        """Keep a helper, or another token of one, after asking it who it is.

        Parameters
        ----------
        team, address : str
        token, fingerprint : str
            As the helper's operator gave them, and not over the network of this server.

        Raises
        ------
        BrokenPromise
            Another key is at this address.
        ParameterError, ServerUnavailable, OperationError
        """
        place = helper_address(address, private=self._private)
        wanted = re.sub(r"[\s:-]", "", fingerprint.lower())
        if not _FINGERPRINT.fullmatch(wanted):
            raise ParameterError(
                f"the fingerprint is {fingerprint[:100]!r}, expected the 32 digits that the helper "
                "shows.",
                field="fingerprint",
            )
        if not token.isascii() or not token.isprintable() or not 1 <= len(token) <= 200:
            raise ParameterError("the token is none; ask the helper's operator.", field="token")
        who = self.connect(place, token).identity()
        try:
            key = bytes.fromhex(str(who["public_key"]))
            operator, own = str(who["operator"]).strip(), str(who["address"])
        except (KeyError, ValueError):
            raise BrokenPromise(f"{place} is no helper: it does not say who it is.") from None
        if fingerprint_of(key) != wanted:
            raise BrokenPromise(
                f"the helper at {place} has the fingerprint {fingerprint_of(key)}, and {wanted} "
                "was expected. Ask its operator; nothing was kept."
            )
        if own != place:
            raise BrokenPromise(
                f"the helper at {place} says that its address is {own}; enter that one."
            )
        if not 1 <= len(operator) <= 200:
            raise BrokenPromise(f"the helper at {place} does not say who runs it.")
        drawn = secrets.token_hex(16)

        def work(connection: Connection) -> str:
            here = (HELPER.c.team == team) & (HELPER.c.address == place)
            known = connection.scalar(select(HELPER.c.id).where(here))
            id_ = str(known or drawn)
            values = {
                "operator": operator,
                "public_key": key.hex(),
                "fingerprint": wanted,
                "token": self._seals.seal(token, place_of(HELPER, "token", id_)),
            }
            if known is None:
                connection.execute(
                    insert(HELPER), {"id": id_, "team": team, "address": place, **values}
                )
            else:
                connection.execute(update(HELPER).where(here).values(**values))
            return id_

        return Helper(self._transactions.write(work), place, operator, wanted)

    def list(self, team: str) -> list[Helper]:
        """Return the helpers of a team, by address."""
        query = select(HELPER).where(HELPER.c.team == team).order_by(HELPER.c.address)
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [Helper(row.id, row.address, row.operator, row.fingerprint) for row in rows]

    def remove(self, team: str, helper: str) -> None:
        """Forget a helper; surveys that are open with it go on without its token, and wait.

        Raises
        ------
        NotFound
        """
        gone = delete(HELPER).where(HELPER.c.team == team, HELPER.c.id == helper)
        if not self._transactions.write(lambda c: c.execute(gone).rowcount):
            raise _no_helper()

    def at(self, connection: Connection, team: str, address: str) -> Row[Any]:
        """Return the row of a team's helper at an address.

        Raises
        ------
        NotFound
        """
        query = select(HELPER).where(HELPER.c.team == team, HELPER.c.address == address)
        row = connection.execute(query).first()
        if row is None:
            raise _no_helper()
        return row

    def token(self, row: Row[Any]) -> str:
        """Return the token by which a helper knows this server.

        Raises
        ------
        WrongState
            It was lost with the server's key.
        """
        if row.token is None:
            raise WrongState("the token of this helper was lost; enter it again.")
        return self._seals.unseal(row.token, place_of(HELPER, "token", row.id))


class Proposals:
    """Surveys that a team's helper is asked to approve.

    Parameters
    ----------
    transactions : Transactions
    helpers : Helpers
    seals : Seals
    today : callable
        Gives the ISO date.
    clock : callable
        Gives seconds since 1970.
    """

    def __init__(
        self,
        transactions: Transactions,
        helpers: Helpers,
        *,
        seals: Seals,
        today: Callable[[], str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._transactions = transactions
        self._helpers = helpers
        self._seals = seals
        self._today = today
        self._clock = clock

    def ask(
        self,
        survey: Survey,
        *,
        token: str,
        team: str,
        leader: str,
        people: int,
        closes: str | None = None,
    ) -> dict[str, Any]:
        """Propose a survey to its helper, or look whether that has decided; return how it stands.

        Parameters
        ----------
        survey : Survey
            As it will open.
        token : str
            Of the draft, with which it opens.
        team : str
        leader : str
            Address of this server, as participants know it.
        people : int
            Expected.
        closes : str, optional
            The last day, ISO date.

        Raises
        ------
        NotFound
            The team has no helper at the address that the survey names.
        BrokenPromise
            The helper answered otherwise than was asked, or is another.
        ServerUnavailable, OperationError, AggregationRefused
        """
        terms = survey.two_parties
        if terms is None:
            raise ParameterError("this survey is not between two parties; no helper is asked.")
        standing = self.standing(token, survey)
        if standing is not None and standing["state"] in (APPROVED, BOUND):
            return standing
        row = self._transactions.read(lambda c: self._helpers.at(c, team, terms.helper))
        if row.fingerprint != terms.fingerprint:
            raise BrokenPromise(
                f"the survey names the fingerprint {terms.fingerprint} and the team's helper has "
                f"{row.fingerprint}; choose the helper again."
            )
        client = self._helpers.connect(row.address, self._helpers.token(row))
        if standing is not None and standing["state"] == PROPOSED:
            self._look(client.standing(standing["task"]), survey, row)
        else:
            keys = LeaderSecrets(HpkeKey.generate(), HpkeKey.generate(), b"")
            opening = int(self._clock())
            body = {
                "text": survey.text(),
                "token": token,
                "leader": leader,
                "people": people,
                "opening": opening,
                "expires": _expiry(opening, closes),
                "leader_key": config_of(LEADER_KEY, keys.leader).encode().hex(),
                "collector_key": config_of(COLLECTOR_KEY, keys.collector).encode().hex(),
            }
            self._keep(client.propose(body), survey, row, body, keys)
        found = self.standing(token, survey)
        assert found is not None
        return found

    def standing(self, token: str, survey: Survey) -> dict[str, Any] | None:
        """Return how the proposal of exactly this survey stands; None where it was not proposed."""
        row = self._transactions.read(lambda c: _proposal(c, token, survey))
        if row is None:
            return None
        return {"task": row.id, "state": row.state, "reason": row.reason, "day": row.day}

    def _keep(
        self,
        answer: dict[str, Any],
        survey: Survey,
        helper: Row[Any],
        body: dict[str, Any],
        keys: LeaderSecrets,
    ) -> None:
        """Keep a task that the helper made of a proposal, once it is what was asked for."""
        split = _task_of(answer)
        split.check(survey)
        terms = split.terms
        same_keys = (
            terms.leader.encode().hex() == body["leader_key"]
            and terms.collector.encode().hex() == body["collector_key"]
        )
        leader = split.task.configuration.leader_aggregator_endpoint.decode("ascii")
        facts = (split.token, leader, terms.expires)
        if not same_keys or facts != (body["token"], body["leader"], body["expires"]):
            raise BrokenPromise("the helper made another task of the survey than was proposed.")
        id_ = split.task.id.hex()
        values = {
            "id": id_,
            "survey": body["token"],
            "helper": helper.id,
            "configuration": base64.b64encode(split.task.configuration.encode()).decode(),
            "terms": terms.text(),
            "state": PROPOSED,
            "public_key": helper.public_key,
            "secrets": self._seals.seal(keys.text(), place_of(SPLIT_TASK, "secrets", id_)),
            "day": self._today(),
        }

        def work(connection: Connection) -> None:
            # Tasks of earlier wordings, which no survey will open with.
            old = (SPLIT_TASK.c.survey == body["token"]) & SPLIT_TASK.c.state.in_(
                (PROPOSED, APPROVED, REFUSED)
            )
            connection.execute(delete(SPLIT_TASK).where(old))
            connection.execute(insert(SPLIT_TASK), values)

        self._transactions.write(work)

    def _look(self, answer: dict[str, Any], survey: Survey, helper: Row[Any]) -> None:
        """Keep what the helper has decided meanwhile."""
        split = _task_of(answer)
        split.check(survey)
        id_ = split.task.id.hex()
        if answer.get("state") == REFUSED:
            change = update(SPLIT_TASK).where(
                SPLIT_TASK.c.id == id_, SPLIT_TASK.c.state == PROPOSED
            )
            values = {"state": REFUSED, "secrets": None, "day": self._today()}
            reason = "the helper's operator refused to add up these answers"
            self._transactions.write(lambda c: c.execute(change.values(reason=reason, **values)))
            return
        if answer.get("state") != APPROVED:
            return
        try:
            signature = bytes.fromhex(str(answer["signature"]))
            seed = bytes.fromhex(str(answer["seed"]))
        except (KeyError, ValueError):
            raise BrokenPromise("the helper approved without a signature or a seed.") from None
        check_approval(
            bytes.fromhex(helper.public_key),
            signature,
            split.task.configuration.encode(),
            fingerprint=helper.fingerprint,
        )
        if hashlib.sha256(seed).hexdigest() != split.terms.verification_seed:
            raise BrokenPromise("the helper gave another seed than the task names.")
        place = place_of(SPLIT_TASK, "secrets", id_)

        def work(connection: Connection) -> None:
            mine = SPLIT_TASK.c.id == id_
            sealed = connection.scalar(
                select(SPLIT_TASK.c.secrets).where(mine, SPLIT_TASK.c.state == PROPOSED)
            )
            if sealed is None:  # another process was here before
                return
            keys = LeaderSecrets.of(self._seals.unseal(sealed, place))
            whole = LeaderSecrets(keys.leader, keys.collector, seed)
            values = {
                "state": APPROVED,
                "signature": signature.hex(),
                "secrets": self._seals.seal(whole.text(), place),
                "day": self._today(),
            }
            connection.execute(update(SPLIT_TASK).where(mine).values(**values))

        self._transactions.write(work)


def bind_task(connection: Connection, token: str, survey: Survey, closes: str | None) -> str:
    """Bind the approved task of a survey to it, in the transaction that opens it.

    Returns the survey's last day: `closes`, or where there is none the last before the helper
    forgets the task.

    Raises
    ------
    WrongState
        The helper has not approved exactly this survey, or forgets it before its last day.
    """
    row = _proposal(connection, token, survey)
    if row is None or row.state != APPROVED:
        state = "was not asked" if row is None else f"has it as {row.state}"
        raise WrongState(
            "a survey between two parties opens once the helper has approved exactly these "
            f"questions and terms; it {state}. Ask the helper, and open it then."
        )
    # The signature was checked when it came; the row could be of a backup or of another server.
    check_approval(
        bytes.fromhex(row.public_key),
        bytes.fromhex(row.signature),
        base64.b64decode(row.configuration),
        fingerprint=survey.two_parties.fingerprint if survey.two_parties else "",
    )
    end = datetime.fromtimestamp(json.loads(row.terms)["expires"], UTC).date()
    last = (end - timedelta(days=1)).isoformat()
    # The last day is not among the terms, and a draft's can be moved after the approval.
    if closes is not None and closes > last:
        raise WrongState(
            f"the helper forgets this survey on {end.isoformat()}, and its last day is {closes}; "
            f"set one of {last} or before."
        )
    connection.execute(update(SPLIT_TASK).where(SPLIT_TASK.c.id == row.id).values(state=BOUND))
    return closes or last


def _proposal(connection: Connection, token: str, survey: Survey) -> Row[Any] | None:
    found = connection.execute(select(SPLIT_TASK).where(SPLIT_TASK.c.survey == token)).all()
    wanted = survey.content_hash()
    return next((row for row in found if json.loads(row.terms)["survey"] == wanted), None)


def _task_of(answer: dict[str, Any]) -> SplitTask:
    try:
        configuration = bytes.fromhex(str(answer["configuration"]))
        terms = str(answer["terms"])
    except (KeyError, ValueError):
        raise BrokenPromise("the helper's answer names no task.") from None
    return SplitTask.read(configuration, terms)


def _expiry(opening: int, closes: str | None) -> int:
    if closes is None:
        return opening + OPEN_DAYS * _DAY_SECONDS
    last = datetime.fromisoformat(closes).replace(tzinfo=UTC)
    return max(int(last.timestamp()), opening) + GRACE_DAYS * _DAY_SECONDS


def _no_helper() -> NotFound:
    return NotFound("your team has no such helper; add it with its address, fingerprint and token.")
