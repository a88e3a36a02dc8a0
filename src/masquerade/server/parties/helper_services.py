"""All services of a helper over one database: its operator, its leaders and its tasks."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from masquerade.aggregate.signature import SigningKey
from masquerade.errors import NotFound, OperationError, ParameterError, WrongState
from masquerade.server.db.engine import connect, migrate
from masquerade.server.db.party_tables import APPROVED, HELPER_LEADER, HELPER_TASK
from masquerade.server.db.seals import Seals, begin_sealing
from masquerade.server.db.tables import SETTING, SURVEY
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.keys import ServerKey
from masquerade.server.parties.helper_aggregation import HelperAggregation
from masquerade.server.parties.helper_tasks import HelperTasks
from masquerade.server.parties.operator_sessions import OperatorSessions
from masquerade.surveys.two_parties import require_origin

_OPERATOR, _ADDRESS = "helper_operator", "helper_address"
_LONGEST_OPERATOR = 200


@dataclass(frozen=True, slots=True)
class HelperIdentity:
    """The operator of a helper, in words for participants, and the helper's public address."""

    operator: str
    address: str


def stored_identity(connection: Connection) -> HelperIdentity | None:
    """Return the operator and address of a helper's last start; None before the first."""
    query = select(SETTING.c.key, SETTING.c.value).where(SETTING.c.key.in_((_OPERATOR, _ADDRESS)))
    found = {row.key: row.value for row in connection.execute(query)}
    return HelperIdentity(found[_OPERATOR], found[_ADDRESS]) if len(found) == 2 else None


def settle_identity(
    connection: Connection, operator: str | None, address: str | None, *, change: bool = False
) -> HelperIdentity:
    """Store the operator and the address of a helper, and return both; None leaves one as it was.

    `change`: whether it may change although surveys are approved: these cannot be answered any
    more.

    Raises `OperationError` (nothing was kept before, and one of them is not given),
    `ParameterError` (one of them is none) or `WrongState` (approved surveys name what was kept
    before).
    """
    before = stored_identity(connection)
    if before is not None:
        operator, address = operator or before.operator, address or before.address
    operator = (operator or "").strip()
    if not operator or not address:
        raise OperationError(
            "the helper needs the name of its operator and its address, because participants read "
            "both. Start it with: masquerade helper --operator 'The works council of …' "
            "--address https://helper.example.org"
        )
    if not operator.isprintable() or len(operator) > _LONGEST_OPERATOR:
        raise ParameterError(
            f"the operator is {operator[:300]!r}, expected 1 to {_LONGEST_OPERATOR} letters in one "
            "line."
        )
    require_origin(address)
    now = HelperIdentity(operator, address)
    if now == before:
        return now
    approved = connection.execute(
        select(func.count()).select_from(HELPER_TASK).where(HELPER_TASK.c.state == APPROVED)
    ).scalar_one()
    # Devices compare both with what the survey names, and would refuse these surveys from now on.
    if before is not None and approved and not change:
        raise WrongState(
            f"{approved} approved {'survey names' if approved == 1 else 'surveys name'} "
            f"{before.operator!r} at {before.address}, and this "
            f"would be {operator!r} at {address}: nobody could answer them any more. Start it as "
            "before, or with --change-identity."
        )
    connection.execute(delete(SETTING).where(SETTING.c.key.in_((_OPERATOR, _ADDRESS))))
    rows = ((_OPERATOR, operator), (_ADDRESS, address))
    connection.execute(insert(SETTING), [{"key": key, "value": value} for key, value in rows])
    return now


#: Order of the curve P-256: private keys are numbers below it.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
#: Name of the leader whose token the first start makes.
FIRST_LEADER = "leader"
_LONGEST_NAME = 100


def signing_key_of(key: ServerKey) -> SigningKey:
    """Return the lasting key of a helper, which follows from its secret key."""
    # Modulo the order less one: 256 bits above it are 2**-32 as likely as below, and no bias that
    # anybody could use.
    number = int.from_bytes(key.derived("signatures of a helper")) % (_ORDER - 1) + 1
    return SigningKey(number.to_bytes(32))


@dataclass(frozen=True, slots=True)
class Leader:
    """A leader that a helper works with."""

    id: str
    name: str  # that the operator gave it
    active: bool  # whether it has a token; false once that was revoked
    tasks: int  # approved ones, which are not added up yet


class HelperAccess:
    """The tokens of leaders; only hashes are kept."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def new_leader_token(self, name: str = FIRST_LEADER, *, only_first: bool = False) -> str | None:
        """Return a new token for a leader, which ends the one that it had before.

        Its tasks stay its own. With `only_first`, None where there is any leader already.

        Raises `ParameterError` (the name is none).
        """
        name = name.strip()
        if not name.isprintable() or not 1 <= len(name) <= _LONGEST_NAME:
            raise ParameterError(
                f"the leader's name is {name[:200]!r}, expected 1 to {_LONGEST_NAME} letters, by "
                "which you know it: the surveyor's organisation."
            )
        token = f"mqh_{secrets.token_urlsafe(32)}"
        row = {"id": secrets.token_hex(16), "name": name, "token": _digest(token)}
        return token if self._keep_leader(row, only_first=only_first) else None

    @writes
    def _keep_leader(
        self, connection: Connection, row: dict[str, str], *, only_first: bool
    ) -> bool:
        known = connection.execute(select(HELPER_LEADER.c.name)).scalars().all()
        if known and only_first:
            return False
        if row["name"] in known:
            change = update(HELPER_LEADER).where(HELPER_LEADER.c.name == row["name"])
            connection.execute(change.values(token=row["token"]))
        else:
            connection.execute(insert(HELPER_LEADER), row)
        return True

    def leader_of(self, token: str) -> str | None:
        """Return the id of the leader with this token; None where there is none."""
        # Looked up by its hash: how long that takes tells nothing of a token.
        query = select(HELPER_LEADER.c.id).where(HELPER_LEADER.c.token == _digest(token))
        return self._transactions.read(lambda c: c.scalar(query))

    def leaders(self) -> list[Leader]:
        """Return all leaders, by name."""
        tasks = (
            select(func.count())
            .where(HELPER_TASK.c.leader == HELPER_LEADER.c.id, HELPER_TASK.c.state == APPROVED)
            .scalar_subquery()
        )
        query = select(HELPER_LEADER, tasks.label("tasks")).order_by(HELPER_LEADER.c.name)
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [Leader(row.id, row.name, row.token is not None, row.tasks) for row in rows]

    def revoke(self, name: str) -> Leader:
        """End a leader's token: nothing is answered to it until it gets another.

        Its tasks stay, and devices are told that no answers are added up for now.

        Raises `NotFound`.
        """
        found = next((one for one in self.leaders() if one.name == name), None)
        if found is None:
            raise NotFound(
                f"there is no leader {name[:200]!r}; masquerade helper leaders lists them."
            )
        change = update(HELPER_LEADER).where(HELPER_LEADER.c.id == found.id).values(token=None)
        self._transactions.write(lambda c: c.execute(change))
        return replace(found, active=False)


@dataclass(frozen=True, slots=True)
class HelperServices:
    """The services through which routes and commands use a helper's database."""

    engine: Engine
    transactions: Transactions
    access: HelperAccess
    sessions: OperatorSessions
    tasks: HelperTasks
    aggregation: HelperAggregation
    fingerprint: str
    identity: HelperIdentity

    @classmethod
    def open(
        cls,
        url: str,
        *,
        server_key: ServerKey,
        address: str | None = None,
        operator: str | None = None,
        change: bool = False,
        key: str | None = None,
        rewrites: bool = True,
        today: Callable[[], str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> HelperServices:
        """Open a helper's database, migrating it first; see `Services.open`.

        `url`: SQLAlchemy URL.
        `server_key`: the helper's own: its signatures follow from it, and it seals what the
        database keeps.
        `address` (optional): of the helper, as it stands in surveys; default: as it was last
        opened.
        `operator` (optional): who runs it, in words; the same.
        `change`: as in `settle_identity`.

        Raises `OperationError` (the database is a survey server's: one party would hold both halves
        of each answer. Or it is not said who runs it, and was not before) or `WrongState` (approved
        surveys name another address or operator).
        """
        engine = connect(url, key=key)
        migrate(engine)
        transactions = Transactions(engine, rewrites=rewrites)
        try:
            transactions.read(require_no_surveys)
            transactions.write(lambda connection: begin_sealing(connection, server_key))
            identity = transactions.write(
                lambda connection: settle_identity(connection, operator, address, change=change)
            )
        except BaseException:
            transactions.close()
            raise
        today = today or (lambda: datetime.now(UTC).date().isoformat())
        signing_key = signing_key_of(server_key)
        tasks = HelperTasks(
            transactions,
            signing_key=signing_key,
            address=identity.address,
            operator=identity.operator,
            seals=Seals(server_key),
            clock=clock,
            today=today,
        )
        return cls(
            engine,
            transactions,
            HelperAccess(transactions),
            OperatorSessions(transactions, today=today),
            tasks,
            HelperAggregation(transactions, tasks, clock=clock, today=today),
            signing_key.fingerprint,
            identity,
        )

    def close(self) -> None:
        """Finish the waiting transactions and close all connections."""
        self.transactions.close()


def require_no_surveys(connection: Connection) -> None:
    """Refuse a database of a survey server."""
    if connection.scalar(select(func.count()).select_from(SURVEY)):
        raise OperationError(
            "this database has surveys: whoever holds it is a leader, and cannot be the helper "
            "too. Give the helper a database and a computer of its own."
        )


def require_no_tasks(connection: Connection) -> None:
    """Refuse a database of a helper."""
    if connection.scalar(select(func.count()).select_from(HELPER_TASK)):
        raise OperationError(
            "this database is a helper's: whoever holds it adds up for surveyors, and cannot be "
            "one of them. Give the server a database and a computer of its own."
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
