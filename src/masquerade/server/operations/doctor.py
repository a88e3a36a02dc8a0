"""Examination of a server, its settings and its address for faults, without any change."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from sqlalchemy import Connection, Engine, make_url
from sqlalchemy.exc import SQLAlchemyError

import masquerade.server.app  # noqa: F401
from masquerade.answers import Progress
from masquerade.errors import OperationError
from masquerade.server.db.engine import connect
from masquerade.server.db.partitions import lock_any_for_reading
from masquerade.server.db.seals import plain_texts, require_same_key
from masquerade.server.operations.content_checks import (
    audit_findings,
    ledger_findings,
    party_findings,
    reference_findings,
    survey_findings,
)
from masquerade.server.operations.database_checks import (
    OK,
    PROBLEM,
    WARNING,
    CheckResult,
    clock_findings,
    file_findings,
    file_order_findings,
    integrity_findings,
    ok,
    problem,
    schema_finding,
    skipped,
    structure_findings,
    table_order_findings,
    warning,
)
from masquerade.server.settings import Settings, nearest, setting_names, unknown_variables

CHECK = "settings"


def settings_findings(settings: Settings) -> Iterator[CheckResult]:
    """Yield the dangers in settings, or one finding that there are none."""
    found = [*_secrecy(settings), *_limits(settings), *_places(settings)]
    yield from found or [ok(CHECK, "nothing dangerous in them.")]


def _secrecy(settings: Settings) -> Iterator[CheckResult]:
    url = settings.public_url
    plain = url is not None and not url.startswith("https://") and not _local(_host(url))
    if plain:
        yield problem(
            CHECK,
            f"public_url is {url}: the secrets that identify participants, and the reports, travel "
            "in the clear. Put a proxy with TLS before the server and write https.",
        )
    elif url is None and not _local(settings.host):
        yield warning(
            CHECK,
            f"the server listens on {settings.host} and public_url is not set: whoever opens it "
            "over a network without TLS sends secrets in the clear.",
        )
    if settings.allow_clear:
        yield CheckResult(
            CHECK,
            PROBLEM if plain else WARNING,
            "allow_clear is on: surveys may ask for answers as they are, which no mask protects"
            + (", and they travel in the clear." if plain else "."),
        )
    if settings.trusted_proxies.strip() == "*":
        yield problem(
            CHECK,
            "trusted_proxies is *: everybody can choose the address that limits count and "
            "pretend https. Name the proxy's address.",
        )
    if settings.metrics == "open":
        yield warning(
            CHECK,
            "metrics is open: whoever reaches the port can see when responses come in. Keep "
            "/metrics from the public in the proxy.",
        )


def _limits(settings: Settings) -> Iterator[CheckResult]:
    public = settings.public_url is not None and not _local(_host(settings.public_url))
    for name in ("rate_participant", "rate_address", "rate_preview"):
        if getattr(settings, name) == 0 and public:
            yield warning(CHECK, f"{name} is 0: nothing slows down who asks too often.")
    if settings.caps.clear and not settings.allow_clear:
        yield warning(CHECK, "cap_clear is set and does nothing while allow_clear is off.")
    until = settings.security_expires
    if settings.security_contact and until and until < datetime.now(UTC).date().isoformat():
        yield warning(
            CHECK,
            f"security_expires is {until}, which is over: nobody believes security.txt any more. "
            "Check the contact, and set a later day.",
        )
    if settings.caps.epsilon.micro == 0:
        yield warning(CHECK, "cap_epsilon is 0: nobody can take part in anything.")


def _places(settings: Settings) -> Iterator[CheckResult]:
    for name in unknown_variables():
        names = ["MASQUERADE_" + key.upper() for key in setting_names()]
        hint = nearest(name, names) if nearest(name, names).startswith(" Did") else ""
        yield warning(CHECK, f"{name} is in the environment and is no setting.{hint}")
    yield from _key(settings)
    yield from _server_key(settings)
    file = settings.config
    password = make_url(settings.database).password
    if file is not None and password and "database" in file.read_text(encoding="utf-8"):
        yield from _open_to_others(file, "the database's password")


def _key(settings: Settings) -> Iterator[CheckResult]:
    """Yield a database's key in the folder of the database, or one that others may read."""
    folder = None if settings.sqlite_file is None else settings.sqlite_file.parent.resolve()
    if settings.database_key is None or folder is None:
        return
    file = settings.database_key_file
    named = settings.config is not None and "database_key" in settings.config.read_text("utf-8")
    place = file or (settings.config if named else None)
    if place is None:  # in the environment
        return
    if place.resolve().is_relative_to(folder):
        yield problem(
            CHECK,
            f"the database's key lies in {place}, in the folder of the database: whoever copies "
            "one has the other. Move it to another place, best on another disk.",
        )
    yield from _open_to_others(place, "the database's key")


def _server_key(settings: Settings) -> Iterator[CheckResult]:
    """Yield whether copies of the data have the server's key with them."""
    folder = None if settings.sqlite_file is None else settings.sqlite_file.parent.resolve()
    file = settings.server_key_file
    if file is None or not file.is_file():
        return
    if folder is not None and file.resolve().is_relative_to(folder):
        yield warning(
            CHECK,
            f"the server's key lies in {file}, in the folder of the database: whoever copies one "
            "has the other, and can read secrets of one-time codes and forge backups. Move it, and "
            "name its place with server_key_file.",
        )
    yield from _open_to_others(file, "the server's key")


def _open_to_others(file: Path, secret: str) -> Iterator[CheckResult]:
    mode = stat.S_IMODE(file.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        said = f"{file} holds {secret} and others may read it (mode {mode:o}); chmod 600 {file}."
        yield problem(CHECK, said)


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_CONTENT = ("surveys", "ledger", "book", "audit log")


def examine(
    settings: Settings,
    *,
    now: Callable[[], datetime] | None = None,
    progress: Progress | None = None,
    quick: bool = False,
) -> Iterator[CheckResult]:
    """Yield the findings of each check; `progress` gets the numbers of checked and all accounts.

    `quick`: only what takes the same time however large the database is, and some accounts.
    """
    yield from settings_findings(settings)
    if not quick:
        yield from address_findings(settings.public_url)
    file = settings.sqlite_file
    if file is not None and not file.is_file():  # which connecting would make
        yield problem("database", f"there is no database at {file}.")
        return
    yield from file_findings(file)
    try:
        engine = connect(settings.database, key=settings.database_key)
    except OperationError as error:
        yield problem("database", str(error))
        return
    try:
        looked = now or (lambda: datetime.now(UTC))
        yield from _database(engine, settings, looked, progress, quick=quick)
    except OperationError as error:
        yield problem("database", str(error))
    except SQLAlchemyError as error:
        yield problem("database", _why(error))
    finally:
        engine.dispose()


#: Advice by words of a database's refusal, which it and its client library write in English unless
#: they are set to another language.
_ADVICE = {
    "password authentication failed": "check the user and the password in its address.",
    "no password supplied": "write the password into its address, or into a .pgpass file.",
    "no pg_hba.conf entry": "let pg_hba.conf admit this computer, user and database.",
    "permission denied": "give this account the right to it.",
    'role "': "make this user, or name another one in its address.",
    'database "': "make this database (createdb), or name another one in its address.",
    "connection refused": "is it running, and are host and port in its address right?",
    "no such file": "is it running on this computer, and is the socket's folder right?",
    "could not translate host name": "check the host in its address.",
    "failed to resolve host": "check the host in its address.",
    "name or service not known": "check the host in its address.",
    "timeout": "is it running, and does a firewall let this computer through?",
    "timed out": "is it running, and does a firewall let this computer through?",
    "too many": "let others end their connections, or allow more.",
    "starting up": "wait until it has started.",
    "ssl": "check its certificate, and sslmode in its address.",
}


def _why(error: SQLAlchemyError) -> str:
    """Return why a database cannot be reached or read, in its own words, and what to do."""
    original = getattr(error, "orig", None)
    words = str(original or "").strip() or type(error).__name__
    # Of several attempts the last; its last line can be a question.
    lines = [line.strip() for line in words.splitlines() if not line.rstrip().endswith("?")]
    reason = (lines or [words])[-1].rpartition("failed: ")[2][:300].rstrip(".")
    advice = next(
        (advice for part, advice in _ADVICE.items() if part in reason.lower()),
        "is it running, and is the address right?",
    )
    return f"it cannot be reached or read ({type(error).__name__}): {reason}; {advice}"


def _database(
    engine: Engine,
    settings: Settings,
    now: Callable[[], datetime],
    progress: Progress | None,
    *,
    quick: bool,
) -> Iterator[CheckResult]:
    reading = engine
    if engine.dialect.name == "postgresql":
        reading = engine.execution_options(isolation_level="REPEATABLE READ")
    # No transaction around all: a long reading would let SQLite's log grow.
    with reading.connect() as connection:
        if engine.dialect.name == "postgresql":
            lock_any_for_reading(connection)
        yield ok("database", f"{engine.dialect.name} answers.")
        schema = schema_finding(connection)
        yield schema
        if not quick:
            yield from integrity_findings(connection)
        if schema.status != OK:
            detail = "not looked at, as the schema is of another version."
            yield from (skipped(c, detail) for c in ("tables", *_CONTENT))
            return
        structure = list(structure_findings(connection))
        yield from structure
        # Without an index everything can still be read.
        if any(one.status == PROBLEM and "index" not in one.detail for one in structure):
            detail = "not looked at, as tables are not as they should be."
            yield from (skipped(c, detail) for c in _CONTENT)
            return
        yield from _key_findings(connection, settings)
        if quick:
            detail = "not looked at by a quick look, as it takes the longer the more there is."
            left_out = ("file", "clock", "order", "surveys", "two parties", "audit log")
            yield from (skipped(c, detail) for c in left_out)
            yield from reference_findings(connection, sample=True)
            yield from ledger_findings(connection, sample=True)
            return
        yield from clock_findings(connection, now(), zone=settings.time_zone)
        file = settings.sqlite_file
        if file is not None:
            sealed = settings.database_key is not None
            yield from file_order_findings(connection, file, now(), sealed=sealed)
        else:
            yield from table_order_findings(connection, now())
        yield from survey_findings(connection)
        yield from party_findings(connection)
        yield from reference_findings(connection)
        yield from ledger_findings(connection, progress=progress)
        yield from audit_findings(connection)


def _key_findings(connection: Connection, settings: Settings) -> Iterator[CheckResult]:
    try:
        known = require_same_key(connection, settings.server_key)
    except OperationError as error:
        yield problem("server key", str(error))
        return
    plain = plain_texts(connection)
    if known and plain:
        detail = f"{plain} secrets lie in the database as they are; the next start seals them."
        yield problem("server key", detail)
    elif known:
        yield ok("server key", "it is the one that sealed the database's secrets.")


_ADDRESS = "address"
_SECONDS = 5.0
_MOST_BYTES = 10_000
_HEALTH = "/healthz"
#: What a proxy answers while the server behind it is away.
_AWAY = (502, 503, 504)


def address_findings(url: str | None) -> Iterator[CheckResult]:
    """Yield what answers at `public_url`, by one request; nothing where there is no such setting.

    A proxy that serves a path of another site and cuts it off is not seen in any request that
    arrives: pages come, and all that they load is asked of the other site.
    """
    if url is None:
        return
    try:
        with urlopen(f"{url}{_HEALTH}", timeout=_SECONDS) as answer:
            ours = _is_health(answer.read(_MOST_BYTES))
        said = "with something else"
    except HTTPError as error:
        error.close()
        if error.code in _AWAY:
            yield warning(_ADDRESS, f"{url} answers with {error.code}: is the server started?")
            return
        ours, said = False, f"with {error.code}"
    except (URLError, OSError, http.client.HTTPException) as error:
        why = getattr(error, "reason", None) or error
        yield skipped(_ADDRESS, f"not looked at: {url} cannot be reached from here ({why}).")
        return
    if ours:
        yield ok(_ADDRESS, f"{url} leads to a server of Masquerade.")
        return
    yield problem(
        _ADDRESS,
        f"{url}{_HEALTH} is answered {said}, and not by this server, whose pages load everything "
        "from there. Let the proxy pass every path of this host name on, from / downwards: a "
        "server is not served below a path of another site.",
    )


def _is_health(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("status") == "ok" and "version" in found
