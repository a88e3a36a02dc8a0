"""Surveys that are proposed to a team's helper before they open.

::

    proposed -> approved -> bound        (open with it; the rest is `leader_aggregation`'s)
    proposed -> refused

A draft whose helper refused it is asked about again on demand; one whose helper has ended or
forgotten the task, or that is to stay open longer than the task, is proposed anew.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, TypedDict

from sqlalchemy import Connection, Row, delete, insert, select, update

from masquerade.aggregate.dap import config_of
from masquerade.aggregate.hpke import HpkeKey, Kem
from masquerade.aggregate.signature import check_approval
from masquerade.errors import BrokenPromise, NotFound, ParameterError, WrongState
from masquerade.server.db.party_tables import (
    APPROVED,
    BOUND,
    DRAFTED,
    PROPOSED,
    REFUSED,
    SPLIT_TASK,
)
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.parties.helper_client import HelperClient
from masquerade.server.parties.team_helpers import Helpers
from masquerade.surveys.split_task import COLLECTOR_KEY, LEADER_KEY, SplitTask
from masquerade.surveys.survey import Survey

#: Days after a survey's last day in which the helper keeps its task, and days without a last day.
GRACE_DAYS, OPEN_DAYS = 30, 365
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class LeaderSecrets:
    """The secrets of one task at the leader, as leader and as collector."""

    leader: HpkeKey
    collector: HpkeKey
    seed: bytes  # of the verification key; empty until the helper has approved

    def text(self) -> str:
        """Return the secrets as a text, to be sealed and stored."""
        keys = [[int(key.kem), key.seed.hex()] for key in (self.leader, self.collector)]
        return json.dumps([*keys, self.seed.hex()])

    @classmethod
    def of(cls, text: str) -> LeaderSecrets:
        """Return the secrets that were kept."""
        *keys, seed = json.loads(text)
        leader, collector = (HpkeKey(Kem(kem), bytes.fromhex(key)) for kem, key in keys)
        return cls(leader, collector, bytes.fromhex(seed))


class ProposalState(TypedDict):
    """The helper's decision on a proposal, and the last day on which it holds."""

    task: str
    state: str
    reason: str | None
    day: str
    last_day: str


class Proposals:
    """Surveys that a team's helper is asked to approve.

    `today`: gives the ISO date.
    `clock`: gives seconds since 1970.
    """

    def __init__(
        self,
        transactions: Transactions,
        helpers: Helpers,
        *,
        seals: Seals,
        today: Callable[[], str],
        clock: Callable[[], float] = time.time,
        zone: tzinfo = UTC,
    ) -> None:
        self._transactions = transactions
        self._helpers = helpers
        self._seals = seals
        self._today = today
        self._clock = clock
        self._zone = zone

    def ask(
        self,
        survey: Survey,
        *,
        token: str,
        team: str,
        leader: str,
        people: int,
        closes: str | None = None,
        again: bool = False,
    ) -> ProposalState:
        """Propose a survey to its helper, or look whether that has decided; return how it stands.

        What the helper has ended or forgotten, or would forget before the last day, is proposed
        anew.

        `survey`: as it will open.
        `token`: of the draft, with which it opens.
        `leader`: address of this server, as participants know it.
        `people`: expected.
        `closes` (optional): the last day, ISO date.
        `again`: whether a survey that the helper refused is proposed once more.

        Raises `NotFound` (the team has no helper at the address that the survey names),
        `BrokenPromise` (the helper answered otherwise than was asked, or is another) or
        `ServerUnavailable`, `OperationError`, `AggregationRefused`.
        """
        row = self._transactions.read(lambda c: _proposal(c, token, survey))
        if row is None or row.state in DRAFTED:
            helper, client = self._helper(team, survey)
            if not self._stands(row, survey, helper, client, closes=closes, again=again):
                self._propose(
                    survey, helper, client, token=token, leader=leader, people=people, closes=closes
                )
        standing = self.standing(token, survey)
        if standing is None:
            raise WrongState("the survey was opened meanwhile, with other words; reload the page.")
        return standing

    def confirm(self, survey: Survey, *, token: str, team: str) -> None:
        """Check with the helper, right before a survey opens, that its approval still holds.

        Where none is kept here nothing is asked: `bind_task` says so.

        Raises `WrongState` (the helper has ended or forgotten the task: answers could never be
        added up) or `NotFound`, `BrokenPromise`, `ServerUnavailable`, `OperationError`,
        `AggregationRefused`.
        """
        row = self._transactions.read(lambda c: _proposal(c, token, survey))
        if row is None or row.state != APPROVED:
            return
        helper, client = self._helper(team, survey)
        if not self._look(row, survey, helper, client):
            raise WrongState(
                f"the helper at {helper.address} has ended this survey's task, or does not know it "
                "any more: its answers could not be added up. Ask the helper again, and open the "
                "survey then."
            )

    def standing(self, token: str, survey: Survey) -> ProposalState | None:
        """Return how the proposal of exactly this survey stands; None where it was not proposed."""
        row = self._transactions.read(lambda c: _proposal(c, token, survey))
        if row is None:
            return None
        return {
            "task": row.id,
            "state": row.state,
            "reason": row.reason,
            "day": row.day,
            "last_day": _last_day(row, self._zone),
        }

    def was_approved(self, token: str) -> bool:
        """Return whether the helper approved a draft in some wording, this one or an earlier."""
        query = select(SPLIT_TASK.c.id).where(
            SPLIT_TASK.c.survey == token, SPLIT_TASK.c.state == APPROVED
        )
        return self._transactions.read(lambda c: c.scalar(query)) is not None

    def _helper(self, team: str, survey: Survey) -> tuple[Row[Any], HelperClient]:
        """Return the row and a client of the helper that a survey names."""
        terms = survey.two_parties
        if terms is None:
            raise ParameterError("this survey is not between two parties; no helper is asked.")
        row = self._transactions.read(lambda c: self._helpers.at(c, team, terms.helper))
        if row.fingerprint != terms.fingerprint:
            raise BrokenPromise(
                f"the survey names the fingerprint {terms.fingerprint} and the team's helper has "
                f"{row.fingerprint}; choose the helper again."
            )
        return row, self._helpers.connect(row.address, self._helpers.token(row))

    def _stands(
        self,
        row: Row[Any] | None,
        survey: Survey,
        helper: Row[Any],
        client: HelperClient,
        *,
        closes: str | None,
        again: bool,
    ) -> bool:
        """Return whether a proposal still stands; for an undecided one the helper is asked."""
        if row is None:
            return False
        end = _end(row, self._zone)
        # Days and not seconds: an approval of which less than a day is left opens nothing.
        tomorrow = datetime.fromtimestamp(self._clock(), self._zone).date() + timedelta(days=1)
        if end <= tomorrow or (closes is not None and closes >= end.isoformat()):
            return False
        if row.state == REFUSED:
            return not again
        return self._look(row, survey, helper, client)

    def _propose(
        self,
        survey: Survey,
        helper: Row[Any],
        client: HelperClient,
        *,
        token: str,
        leader: str,
        people: int,
        closes: str | None,
    ) -> None:
        keys = LeaderSecrets(HpkeKey.generate(), HpkeKey.generate(), b"")
        opening = int(self._clock())
        body = {
            "text": survey.text(),
            "token": token,
            "leader": leader,
            "people": people,
            "opening": opening,
            "expires": _expiry(opening, closes, self._zone),
            "leader_key": config_of(LEADER_KEY, keys.leader).encode().hex(),
            "collector_key": config_of(COLLECTOR_KEY, keys.collector).encode().hex(),
        }
        self._keep(client.propose(body), survey, helper, body, keys)

    def _keep(
        self,
        answer: Mapping[str, object],
        survey: Survey,
        helper: Row[Any],
        body: Mapping[str, object],
        keys: LeaderSecrets,
    ) -> None:
        """Store a task that the helper made of a proposal, once it agrees with the proposal."""
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
        self._store(values)

    @writes
    def _store(self, connection: Connection, row: dict[str, object]) -> None:
        mine = SPLIT_TASK.c.survey == row["survey"]
        # Tasks of before, which no survey will open with. One that a survey has opened with
        # meanwhile stays: answers are sealed for it.
        connection.execute(delete(SPLIT_TASK).where(mine, SPLIT_TASK.c.state.in_(DRAFTED)))
        if connection.execute(select(SPLIT_TASK.c.id).where(mine)).first() is None:
            connection.execute(insert(SPLIT_TASK), row)

    def _look(self, row: Row[Any], survey: Survey, helper: Row[Any], client: HelperClient) -> bool:
        """Store the helper's present decision on a task; return whether it still has the task."""
        try:
            answer = client.standing(row.id)
        except NotFound:
            return False
        split = _task_of(answer)
        split.check(survey)
        id_ = split.task.id.hex()
        if id_ != row.id:
            raise BrokenPromise("the helper answered about another task than it was asked about.")
        state = answer.get("state")
        if state == APPROVED:
            self._keep_approval(answer, split, helper)
            return True
        if state not in (PROPOSED, REFUSED):
            return False
        # A helper may have been set back to a moment before its approval: it has to give it again.
        reason = None
        values: dict[str, object] = {"state": state, "day": self._today()}
        if state == REFUSED:
            reason = "the helper's operator refused to add up these answers"
            values["secrets"] = None
        change = update(SPLIT_TASK).where(
            SPLIT_TASK.c.id == id_,
            SPLIT_TASK.c.state.in_((PROPOSED, APPROVED)),
            SPLIT_TASK.c.state != state,
        )
        self._transactions.write(lambda c: c.execute(change.values(reason=reason, **values)))
        return True

    def _keep_approval(
        self, answer: Mapping[str, object], split: SplitTask, helper: Row[Any]
    ) -> None:
        id_ = split.task.id.hex()
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
        self._approve(id_, signature, seed)

    @writes
    def _approve(self, connection: Connection, id_: str, signature: bytes, seed: bytes) -> None:
        place = place_of(SPLIT_TASK, "secrets", id_)
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


def bind_task(
    connection: Connection, token: str, survey: Survey, closes: str | None, *, zone: tzinfo
) -> str:
    """Bind the approved task of a survey to it, in the transaction that opens it.

    Returns the survey's last day: `closes`, or where there is none the last before the helper
    forgets the task.

    Raises `WrongState` (the helper has not approved exactly this survey, or forgets it before its
    last day).
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
    last = _last_day(row, zone)
    # The last day is not among the terms, and a draft's can be moved after the approval.
    if closes is not None and closes > last:
        raise WrongState(
            f"the helper forgets this survey on {_end(row, zone).isoformat()}, and its last "
            f"day is {closes}; set one of {last} or before."
        )
    connection.execute(update(SPLIT_TASK).where(SPLIT_TASK.c.id == row.id).values(state=BOUND))
    return closes or last


def _proposal(connection: Connection, token: str, survey: Survey) -> Row[Any] | None:
    found = connection.execute(select(SPLIT_TASK).where(SPLIT_TASK.c.survey == token)).all()
    wanted = survey.content_hash()
    return next((row for row in found if json.loads(row.terms)["survey"] == wanted), None)


def _task_of(answer: Mapping[str, object]) -> SplitTask:
    try:
        configuration = bytes.fromhex(str(answer["configuration"]))
        terms = str(answer["terms"])
    except (KeyError, ValueError):
        raise BrokenPromise("the helper's answer names no task.") from None
    return SplitTask.read(configuration, terms)


def _end(row: Row[Any], zone: tzinfo) -> date:
    """Return the day on which the helper forgets a task."""
    return datetime.fromtimestamp(json.loads(row.terms)["expires"], zone).date()


def _last_day(row: Row[Any], zone: tzinfo) -> str:
    """Return the last whole day before the helper forgets a task."""
    return (_end(row, zone) - timedelta(days=1)).isoformat()


def _expiry(opening: int, closes: str | None, zone: tzinfo) -> int:
    if closes is None:
        return opening + OPEN_DAYS * _DAY_SECONDS
    last = datetime.fromisoformat(closes).replace(tzinfo=zone)
    return max(int(last.timestamp()), opening) + GRACE_DAYS * _DAY_SECONDS
