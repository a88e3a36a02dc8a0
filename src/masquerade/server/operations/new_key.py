"""Giving a server another key."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, delete, select, update

from masquerade.errors import NotEmpty, OperationError
from masquerade.exact.number import quantity
from masquerade.server.db.account_tables import ACCOUNT, DELIVERY, WEBHOOK
from masquerade.server.db.engine import migrate
from masquerade.server.db.party_tables import (
    APPROVED,
    DRAFTED,
    FAILED,
    HELPER,
    HELPER_TASK,
    PROPOSED,
    SPLIT_TASK,
    STOPPED,
    UNDER_WAY,
)
from masquerade.server.db.reach_tables import MAILING, RECIPIENT, TICKET_KEY
from masquerade.server.db.seals import (
    SEALED,
    Seals,
    begin_sealing,
    require_same_key,
    reseal,
    set_key,
)
from masquerade.server.keys import ServerKey, flush_folder, read_server_key, write_private
from masquerade.server.parties.helper_tasks import end_task
from masquerade.server.parties.leader_steps import end_leader_task
from masquerade.server.settings import Settings


def require_alone(engine: Engine) -> None:
    """Raise where another program has the database open; `engine` has no connection yet.

    A server that runs would go on to seal secrets with the key of before, and nobody could read
    them after its next start. Of PostgreSQL, sessions of the same account are seen.
    """
    if engine.dialect.name == "sqlite":
        alone = _alone_in_file(engine)
    else:
        with engine.connect() as connection:
            alone = not connection.exec_driver_sql(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND usename = current_user AND pid <> pg_backend_pid()"
            ).scalar_one()
    if not alone:
        raise OperationError(
            "another program has the database open, and a server would go on with its old key. End "
            "the server, and all else that is connected, and do it again."
        )


def _alone_in_file(engine: Engine) -> bool:
    """Return whether the lock of a whole SQLite file can be had; each connection shares it."""
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        cursor.execute("PRAGMA busy_timeout = 1000")
        cursor.execute("PRAGMA locking_mode = EXCLUSIVE")
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")
    except engine.dialect.loaded_dbapi.OperationalError as error:  # of SQLCipher it is another
        if "locked" not in str(error):
            raise
        return False
    finally:
        raw.invalidate()  # with its lock
    return True


def renew(
    engine: Engine, settings: Settings, *, forget: bool = False, lose_answers: bool = False
) -> Mapping[str, object]:
    """Make a new server key and seal all secrets with it; return a report of the steps.

    The new key is on the disk before the database changes, and in its place after. Where that is
    interrupted it lies there with the ending ``.new``, and ``.old`` is the one of before. Nothing
    else may use `engine` meanwhile. With `forget`, what a lost key sealed is given up.

    Surveys between two parties that are under way end where their keys are given up, and, at a
    helper, also where they are not, for its signature follows from its key. That is refused unless
    `lose_answers`.
    """
    file = settings.server_key_file
    if file is None:
        raise OperationError(
            "the server's key stands in its settings (server_key), where this cannot change it; "
            "put it into a file that server_key_file names."
        )
    before = settings.server_key
    if before is None and not forget:
        raise OperationError(f"there is no server key in {file}; the next start makes one.")
    new, old = (file.with_name(file.name + ending) for ending in (".new", ".old"))
    if old.exists():
        raise NotEmpty(f"{old} is there already; keep it where backups of its time are.")
    if new.exists():
        raise NotEmpty(
            f"{new} is there already: an earlier new-key was interrupted. Where the server refuses "
            f"the key in {file}, that one is its key; move it there. Else delete it."
        )
    migrate(engine)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(new, f"{secrets.token_hex(32)}\n")
    except OSError as error:
        raise OperationError(f"cannot write {new}: {error.strerror}.") from error
    after = read_server_key(new)
    accounts = webhooks = tasks = 0
    with engine.execution_options(write=True).begin() as connection:
        try:
            lost = forget or before is None
            tasks = end_tasks(connection, lost=lost, lose_answers=lose_answers)
            if before is None or forget:
                accounts, webhooks = forget_sealed(connection, after)
            else:
                begin_sealing(connection, before)
                change_key(connection, before, after)
        except BaseException:
            new.unlink()  # only here: once it is to be committed, it may be the key already
            raise
    # After the commit. Where it ends here, the new key lies beside with the ending `.new`, which
    # the next call finds.
    if file.exists():
        os.link(file, old)
    new.replace(file)
    flush_folder(file.parent)
    return {
        "key": str(file),
        "old_key": str(old) if old.exists() else None,
        "accounts_without_codes": accounts,
        "webhooks_removed": webhooks,
        "surveys_ended": tasks,
    }


def change_key(connection: Connection, before: ServerKey, after: ServerKey) -> None:
    """Seal everything with the key `after`, where `before` is the key of this database."""
    require_same_key(connection, before)
    for table, column in SEALED:
        reseal(connection, table, column, before=Seals(before), after=Seals(after))
    set_key(connection, after)


def forget_sealed(connection: Connection, after: ServerKey) -> tuple[int, int]:
    """Give up codes and webhooks that a lost key sealed; return how many accounts and webhooks."""
    # Nobody can compute these codes any more; asking for them would lock the accounts out.
    sealed = update(ACCOUNT).where(ACCOUNT.c.totp_secret.is_not(None))
    accounts = connection.execute(sealed.values(totp_secret=None, totp_step=None)).rowcount
    # Before the webhooks, to which they refer.
    connection.execute(delete(DELIVERY))
    webhooks = connection.execute(delete(WEBHOOK)).rowcount
    connection.execute(update(HELPER).values(token=None))
    # Tickets that were signed go on; no more are, and messages that wait are not sent.
    for table in (TICKET_KEY, MAILING, RECIPIENT):
        connection.execute(delete(table))
    set_key(connection, after)
    return accounts, webhooks


def end_tasks(connection: Connection, *, lost: bool, lose_answers: bool) -> int:
    """End the tasks of two parties that a change of the key leaves without theirs; return how many.

    At a leader only where the key is `lost`, at a helper always. Without its keys no share of a
    task can be opened any more: its answers are lost, and the survey's page says why. Drafts that
    were proposed are proposed anew.

    Raises `OperationError` (there are any, and `lose_answers` is not set).
    """
    drafted = SPLIT_TASK.c.state.in_(DRAFTED)
    open_ = SPLIT_TASK.c.state.in_(UNDER_WAY)
    led = connection.execute(select(SPLIT_TASK).where(open_)).all() if lost else []
    waiting = HELPER_TASK.c.state.in_((PROPOSED, APPROVED))
    helped = connection.execute(select(HELPER_TASK).where(waiting)).all()
    ended = len(led) + sum(row.state == APPROVED for row in helped)
    if ended and not lose_answers:
        raise OperationError(
            f"{quantity(ended, 'survey between two parties is', 'surveys between two parties are')}"
            " under way, and what people have answered would be lost with their keys. Wait until "
            "they are added up, or look for the key; "
            "--lose-answers ends them."
        )
    day = datetime.now(UTC).date().isoformat()
    for row in led:
        why = (
            "the server's key was lost, and with it the keys of this survey; its answers are "
            "deleted unread. Ask the survey anew"
        )
        end_leader_task(connection, row, state=FAILED, reason=why, day=day)
    for row in helped:
        end_task(connection, row.id, state=STOPPED, day=day)
    if lost:
        connection.execute(delete(SPLIT_TASK).where(drafted))
    return int(ended)
