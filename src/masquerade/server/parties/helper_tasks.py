"""Tasks of a helper: proposed by a leader, approved or refused by the helper's operator.

::

    proposed -> approved -> collected      (its sum was given, once)
    proposed -> refused
    approved -> expired | stopped          (its keys are gone; stopped after a backup was restored,
                                            or when the same survey was approved anew)
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from masquerade.aggregate.dap import config_of
from masquerade.aggregate.hpke import HpkeKey, Kem
from masquerade.aggregate.signature import SigningKey
from masquerade.errors import MasqueradeError, NotFound, WrongState
from masquerade.server.db.party_tables import (
    APPROVED,
    COLLECTED,
    EXPIRED,
    HELPER_JOB,
    HELPER_LEADER,
    HELPER_REPORT,
    HELPER_TASK,
    PROPOSED,
    REFUSED,
    STOPPED,
)
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.transactions import Transactions, reads, writes
from masquerade.server.parties.helper_proposals import (
    NearCopy,
    Proposal,
    checked_survey,
    names,
    near_copies,
)
from masquerade.surveys.split_task import HELPER_KEY, SplitTask, TaskTerms
from masquerade.surveys.survey import Survey

#: Proposals of one leader that wait for the operator at most.
MOST_WAITING = 100
#: Tasks that are kept read.
_MOST_KNOWN = 256


@dataclass(frozen=True, slots=True)
class HelperSecrets:
    """The secrets of one task at the helper."""

    key: HpkeKey
    seed: bytes  # of the verification key; the leader has it too

    def text(self) -> str:
        """Return the secrets as a text, to be sealed and stored."""
        return json.dumps([int(self.key.kem), self.key.seed.hex(), self.seed.hex()])

    @classmethod
    def of(cls, text: str) -> HelperSecrets:
        """Return the secrets that were kept."""
        kem, key, seed = json.loads(text)
        return cls(HpkeKey(Kem(kem), bytes.fromhex(key)), bytes.fromhex(seed))


@dataclass(frozen=True, slots=True)
class HelperTask:
    """A task as its operator sees it."""

    id: str
    split: SplitTask
    survey: Survey
    people: int  # expected by the leader
    state: str
    signature: bytes | None
    count: int  # reports that were added up
    refused: int  # reports that did not hold
    day: str  # of the last decision
    leader: str | None  # id of the one whose token proposed it


class Standing(TypedDict):
    """A task as its leader sees it; bytes are in hexadecimal."""

    task: str
    state: str
    configuration: str
    terms: str
    public_key: str
    signature: str | None
    seed: str | None
    count: int
    refused: int


class HelperTasks:
    """The tasks of a helper.

    `address`: of this helper, as it stands in surveys.
    `operator`: who runs it.
    `clock`: gives seconds since 1970.
    `today`: gives the ISO date.
    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        signing_key: SigningKey,
        address: str,
        operator: str,
        seals: Seals,
        clock: Callable[[], float],
        today: Callable[[], str],
    ) -> None:
        self._transactions = transactions
        self._signing_key = signing_key
        self.address = address
        self.operator = operator
        self._seals = seals
        self._clock = clock
        self._today = today
        self._known: dict[str, HelperTask] = {}

    def identity(self) -> dict[str, str]:
        """Return the public facts of the helper: operator, address, key."""
        return {
            "operator": self.operator,
            "address": self.address,
            "public_key": self._signing_key.public_key.hex(),
            "fingerprint": self._signing_key.fingerprint,
        }

    def propose(self, proposal: Proposal, leader: str) -> HelperTask:
        """Keep a leader's proposal for the operator; the same one again gives the same task.

        Raises `ParameterError` (it is not for this helper, or nothing that could be approved) or
        `WrongState` (too many wait already).
        """
        survey = checked_survey(proposal, self.identity(), now=self._clock())
        key, seed = HpkeKey.generate(), secrets.token_bytes(32)
        terms = TaskTerms(
            survey.content_hash(),
            survey.split_noise.variances,
            proposal.leader_key,
            config_of(HELPER_KEY, key),
            proposal.collector_key,
            hashlib.sha256(seed).hexdigest(),
            proposal.expires,
        )
        split = SplitTask.of(
            survey, terms, token=proposal.token, leader=proposal.leader, opening=proposal.opening
        )
        id_ = split.task.id.hex()
        place = place_of(HELPER_TASK, "secrets", id_)
        values = {
            "id": id_,
            "proposal": proposal.digest(leader),
            "configuration": base64.b64encode(split.task.configuration.encode()).decode(),
            "terms": terms.text(),
            "text": proposal.text,
            "people": proposal.people,
            "state": PROPOSED,
            "secrets": self._seals.seal(HelperSecrets(key, seed).text(), place),
            "accepted": 0,
            "refused": 0,
            "day": self._today(),
            "leader": leader,
        }
        return self.task(self._keep(values, split))

    @writes
    def _keep(self, connection: Connection, row: dict[str, object], split: SplitTask) -> str:
        """Store a proposed task, unless it is there; return its id."""
        same = HELPER_TASK.c.proposal == row["proposal"]
        known = connection.scalar(select(HELPER_TASK.c.id).where(same))
        if known is not None:
            return str(known)
        # An earlier wording of the same survey that nobody has decided on is out of date.
        mine = (HELPER_TASK.c.state == PROPOSED) & (HELPER_TASK.c.leader == row["leader"])
        waiting = 0
        for other in connection.execute(select(HELPER_TASK).where(mine)).all():
            earlier = _split(other)
            if (earlier.token, _leader(earlier)) == (split.token, _leader(split)):
                connection.execute(delete(HELPER_TASK).where(HELPER_TASK.c.id == other.id))
            else:
                waiting += 1
        if waiting >= MOST_WAITING:
            raise WrongState(
                f"{waiting} surveys wait for this helper's operator; let some be decided."
            )
        connection.execute(insert(HELPER_TASK), row)
        return str(row["id"])

    def require_leader(self, task: str, leader: str) -> None:
        """Refuse a leader that asks about another's task, as if there were none.

        Raises `NotFound`.
        """
        if self._transactions.read(lambda c: _row(c, task)).leader != leader:
            raise _no_task()

    def task(self, task: str) -> HelperTask:
        """Return a task.

        Raises `NotFound`.
        """
        return self._transactions.read(lambda c: self.read(c, task))

    def tasks(self) -> list[HelperTask]:
        """Return all tasks, those that wait first, then by day, the newest first."""
        rows = self._transactions.read(lambda c: c.execute(select(HELPER_TASK)).all())
        found = [self._task(row) for row in rows]
        found.sort(key=lambda one: (one.day, one.id), reverse=True)
        return sorted(found, key=lambda one: one.state != PROPOSED)

    def counts(self, task: HelperTask) -> tuple[int, int]:
        """Return how many reports of a task held, and how many did not."""
        return self._transactions.read(lambda c: _counts(c, task))

    def copies(self, task: HelperTask) -> list[NearCopy]:
        """Return nearly equal approved surveys of other tokens; none once it is decided."""
        if task.state != PROPOSED:
            return []
        others = {
            one.split.token: one.survey
            for one in self._approved()
            if one.split.token != task.split.token
        }
        return near_copies(task.survey, others.values())

    def is_replaced(self, task: HelperTask) -> bool:
        """Return whether a task was stopped because the same survey was approved anew."""
        return task.state == STOPPED and any(
            one.split.token == task.split.token and one.state in (APPROVED, COLLECTED)
            for one in self.tasks()
        )

    def read(self, connection: Connection, task: str, *, hold: str = "") -> HelperTask:
        """Return a task within a transaction; `hold` keeps it: for "share" or for "update"."""
        return self._task(_row(connection, task, hold=hold))

    def secrets(self, connection: Connection, task: str) -> HelperSecrets:
        """Return the secrets of a task that is approved.

        Raises `WrongState` (they are gone).
        """
        row = _row(connection, task)
        if row.secrets is None:
            raise WrongState(f"this task is {row.state}; its keys are gone.")
        return HelperSecrets.of(
            self._seals.unseal(row.secrets, place_of(HELPER_TASK, "secrets", row.id))
        )

    @reads
    def standing(self, connection: Connection, task: str) -> Standing:
        """Return the leader's view of a task; with the seed once it is approved."""
        found = self.read(connection, task)
        count, refused = _counts(connection, found)
        approved = found.state == APPROVED
        return {
            "task": found.id,
            "state": found.state,
            "configuration": found.split.task.configuration.encode().hex(),
            "terms": found.split.terms.text(),
            "public_key": self._signing_key.public_key.hex(),
            "signature": None if found.signature is None else found.signature.hex(),
            "seed": self.secrets(connection, task).seed.hex() if approved else None,
            "count": count,
            "refused": refused,
        }

    def approval(self, task: str) -> dict[str, str]:
        """Return the helper's signed approval of a task, for participants' devices.

        Raises `NotFound` (there is no such task, or its answers are not added up: it was not
        approved, or it has stopped, ended or expired, or its leader's token was revoked).
        """
        found, active = self._with_leader(task)
        # A signature outlives the state: nobody is to answer a survey that gives no sum any more.
        if found.signature is None or found.state != APPROVED or not active:
            raise _no_task()
        return {
            **self.identity(),
            "configuration": found.split.task.configuration.encode().hex(),
            "terms": found.split.terms.text(),
            "signature": found.signature.hex(),
        }

    @reads
    def _with_leader(self, connection: Connection, task: str) -> tuple[HelperTask, bool]:
        """Return a task, and whether its leader still has a token."""
        found = self.read(connection, task)
        active = select(HELPER_LEADER.c.token).where(HELPER_LEADER.c.id == found.leader)
        return found, connection.scalar(active) is not None

    def leader_of(self, token: str) -> str | None:
        """Return the address of the leader of an approved survey; None where there is none.

        None too where several leaders had a survey of this token approved: whoever opens it is not
        led to another than the one that invited them.
        """
        leaders = {_leader(one.split) for one in self._approved() if one.split.token == token}
        return leaders.pop() if len(leaders) == 1 else None

    def leaders(self) -> list[str]:
        """Return the addresses of all leaders of approved surveys."""
        return sorted({_leader(one.split) for one in self._approved()})

    @reads
    def _approved(self, connection: Connection) -> list[HelperTask]:
        query = select(HELPER_TASK.c.id).where(HELPER_TASK.c.signature.is_not(None))
        # Read once each: neither its token nor its leader ever changes.
        return [
            self._known.get(task) or self.read(connection, task)
            for task in connection.scalars(query).all()
        ]

    @writes
    def decide(self, connection: Connection, task: str, *, approve: bool) -> HelperTask:
        """Approve or refuse a task; the same decision again changes nothing.

        What was approved for the same survey before, and has seen no report, is stopped by it.

        Raises `NotFound` or `WrongState` (it was decided otherwise, or has ended; or another task
        of the same survey was added up).
        """
        found = self.read(connection, task, hold="update")
        wanted = APPROVED if approve else REFUSED
        if found.state == wanted:
            return found
        if found.state != PROPOSED:
            raise WrongState(f"this task is {found.state}; it cannot be {wanted} any more.")
        if found.split.terms.expires <= self._clock():
            raise WrongState("this task has expired; ask the leader to propose it anew.")
        if approve and not names(found.survey, self.identity()):
            raise WrongState(
                "this survey names another operator or address than this helper has by now; "
                "ask the leader to enter the helper again, and to propose the survey anew."
            )
        values: dict[str, object] = {"state": wanted, "day": self._today()}
        if approve:
            self._give_way(connection, found)
            configuration = found.split.task.configuration.encode()
            values["signature"] = self._signing_key.approve(configuration).hex()
        else:
            values["secrets"] = None
        connection.execute(update(HELPER_TASK).where(HELPER_TASK.c.id == task).values(**values))
        return self.read(connection, task)

    def _give_way(self, connection: Connection, task: HelperTask) -> None:
        """End earlier approved tasks of the same survey: one token has one sum and one page.

        With two tasks its leader could send some people to one and the rest to the other, and have
        sums of groups that nobody declared.

        Raises `WrongState` (it was another leader's, or something of it was added up already).
        """
        for id_ in connection.scalars(select(HELPER_TASK.c.id)).all():
            # Read once each: the token never changes.
            known = self._known.get(id_) or self.read(connection, id_)
            if id_ == task.id or known.split.token != task.split.token:
                continue
            # Held, so that of two that are approved at once the later finds the earlier.
            other = self.read(connection, id_, hold="update")
            if other.signature is None:
                continue
            if (other.leader, _leader(other.split)) != (task.leader, _leader(task.split)):
                raise WrongState(
                    "another leader's survey has the same token, so that both would have one "
                    "address here; ask the leader to propose a copy of the survey."
                )
            seen = select(HELPER_REPORT.c.task).where(HELPER_REPORT.c.task == id_).limit(1)
            if other.state == COLLECTED or connection.scalar(seen) is not None:
                raise WrongState(
                    "responses to this survey were added up before, and a second sum would be of "
                    "some of the people alone; ask the leader to propose a copy of the survey."
                )
            if other.state == APPROVED:
                end_task(connection, id_, state=STOPPED, day=self._today())

    @writes
    def expire(self, connection: Connection) -> int:
        """Forget keys and shares of expired tasks; return the number of these tasks."""
        count = 0
        for row in connection.execute(
            select(HELPER_TASK).where(HELPER_TASK.c.state.in_((PROPOSED, APPROVED)))
        ):
            if _split(row).terms.expires <= self._clock():
                end_task(connection, row.id, state=EXPIRED, day=self._today())
                count += 1
        return count

    def _task(self, row: Row[Any]) -> HelperTask:
        known = self._known.get(row.id)
        # Text and configuration never change; reading them takes longer than all else.
        if known is None:
            split, survey = _split(row), Survey.from_text(row.text)
        else:
            split, survey = known.split, known.survey
        found = HelperTask(
            row.id,
            split,
            survey,
            row.people,
            row.state,
            None if row.signature is None else bytes.fromhex(row.signature),
            row.accepted,
            row.refused,
            row.day,
            row.leader,
        )
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[row.id] = found
        return found


def end_task(connection: Connection, task: str, *, state: str, **values: Any) -> None:
    """End a task: its keys, shares and ids go, and nothing of it is answered any more."""
    connection.execute(delete(HELPER_JOB).where(HELPER_JOB.c.task == task))
    connection.execute(delete(HELPER_REPORT).where(HELPER_REPORT.c.task == task))
    change = update(HELPER_TASK).where(HELPER_TASK.c.id == task)
    connection.execute(change.values(state=state, secrets=None, **values))


def stop_restored(connection: Connection, *, day: str) -> int:
    """Stop the tasks of a restored backup; return how many.

    Since the backup was made, ids may have been answered and the sum given with other noise: either
    again would tell what one person answered.
    """
    open_ = (PROPOSED, APPROVED)
    found = connection.scalars(select(HELPER_TASK.c.id).where(HELPER_TASK.c.state.in_(open_))).all()
    for task in found:
        end_task(connection, task, state=STOPPED, day=day)
    return len(found)


def _counts(connection: Connection, task: HelperTask) -> tuple[int, int]:
    # Of the jobs while there are any; once they are gone, of the task.
    query = select(func.sum(HELPER_JOB.c.accepted), func.sum(HELPER_JOB.c.refused)).where(
        HELPER_JOB.c.task == task.id
    )
    count, refused = connection.execute(query).one()
    return int(count or task.count), int(refused or task.refused)


def _row(connection: Connection, task: str, *, hold: str = "") -> Row[Any]:
    query = select(HELPER_TASK).where(HELPER_TASK.c.id == task)
    if hold and connection.dialect.name == "postgresql":  # SQLite's write lock does it
        query = query.with_for_update(read=hold == "share")
    possible = len(task) == 64 and task.isascii() and "\0" not in task
    row = connection.execute(query).first() if possible else None
    if row is None:
        raise _no_task()
    return row


def _no_task() -> MasqueradeError:
    return NotFound("there is no such task here; propose it, or check its address.")


def _split(row: Row[Any]) -> SplitTask:
    return SplitTask.read(base64.b64decode(row.configuration), row.terms)


def _leader(split: SplitTask) -> str:
    return split.task.configuration.leader_aggregator_endpoint.decode("ascii")
