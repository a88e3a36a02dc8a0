"""``masquerade backup``, ``restore``, ``migrate`` and ``doctor``: keeping a server's data."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, Config, DataDir
from masquerade.cli.terminal import progress_bar, show
from masquerade.errors import OperationError, UnreadableFile

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from masquerade.server.operations.database_checks import CheckResult
    from masquerade.server.settings import Settings

_STYLE = {"ok": "green", "warning": "yellow", "problem": "bold red", "skipped": "dim"}


def backup(
    file: Annotated[
        str,
        typer.Argument(
            help="New file for the backup; it must not exist yet. The name - is standard output."
        ),
    ],
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Copy everything that a server keeps into FILE, while the server runs.

    FILE contains keys of the server: keep it encrypted. Only your account can read it.

    Example: masquerade backup today.backup --data-dir data
    """
    from masquerade.server.operations.backup import backup as copy
    from masquerade.server.operations.backup import new_file

    if as_json and file == "-":
        raise OperationError(
            "the backup and the result of --json cannot both go to standard output; name a "
            "file for the backup, or leave out --json."
        )
    begin = time.perf_counter()
    with _database(data_dir, config) as engine, progress_bar("rows copied") as count_rows:
        settings = _settings(data_dir, config)
        with engine.connect():  # first, so that no key is made for a database that is not there
            server_key = settings.with_server_key().server_key
        if file == "-":
            archive = copy(engine, sys.stdout.buffer, server_key=server_key, progress=count_rows)
            sys.stdout.flush()
            return
        with new_file(Path(file)) as target:
            archive = copy(engine, target, server_key=server_key, progress=count_rows)
    result = {
        "file": file,
        "bytes": Path(file).stat().st_size,
        "revision": archive.revision,
        "rows": archive.rows,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    show(result, as_json=as_json, title="Backup")


ServerKeyFileOption = Annotated[
    Path | None,
    typer.Option(
        help="File with the key of the server that made the backup. It checks the backup, "
        "and is copied to the place of this server's key. Default: the key that is "
        "already there."
    ),
]
UnauthenticatedOption = Annotated[
    bool,
    typer.Option(
        "--unauthenticated",
        help="Restore without a check of who made the file. Anybody who had the file may "
        "have changed reports, surveys, accounts and balances.",
    ),
]


def restore(
    file: Annotated[str, typer.Argument(help="File with a backup. The name - is standard input.")],
    server_key_file: ServerKeyFileOption = None,
    unauthenticated: UnauthenticatedOption = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Check a backup and write it into an empty database (SQLite or PostgreSQL).

    The whole file is checked first. If anything is wrong with it, the database stays empty.

    Example: masquerade restore today.backup --data-dir other
    """
    from masquerade.server.keys import copy_server_key, read_server_key
    from masquerade.server.operations.restore import restore as put

    begin = time.perf_counter()
    settings = _settings(data_dir, config, make=True)
    server_key = settings.server_key
    if server_key_file is not None:
        server_key = read_server_key(server_key_file)
        if settings.server_key not in (None, server_key):
            raise OperationError(
                f"this server already has a key, in {settings.server_key_file or 'its settings'}, "
                f"and it is not the key in {server_key_file}. Restore into a new folder, name "
                "another server_key_file in the settings or in MASQUERADE_SERVER_KEY_FILE, or move "
                "this server's key to another place."
            )
    if server_key is None and not unauthenticated:
        raise OperationError(
            f"there is no server key in {settings.server_key_file} to check the backup with. Name "
            "the key of the server that made it with --server-key-file. If that key is lost, and "
            "nobody else had the file, restore it with --unauthenticated."
        )
    checked = None if unauthenticated else server_key
    with _opened(file) as source, progress_bar("rows restored") as count_rows, _reaching(settings):
        restored = put(
            source,
            settings.database,
            server_key=checked,
            key=settings.database_key,
            progress=count_rows,
        )
    # only after all of it is restored: a failed attempt leaves no key behind
    if server_key_file is not None and settings.server_key_file is not None:
        copy_server_key(server_key_file, settings.server_key_file)
    result = {
        "file": file,
        "authenticated": checked is not None,
        "day": restored.day,
        "revision": restored.revision,
        "revision_in_backup": restored.made_at,
        "rows": restored.rows,
        "ledger_entries_checked": restored.entries,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    show(result, as_json=as_json, title="Restored")


def migrate(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")
    ] = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Bring the schema of a database to this version, and print the steps.

    The command serve does this too when it starts.

    Example: masquerade migrate --dry-run --data-dir data
    """
    from masquerade.server.db.conversion import CONVERTED
    from masquerade.server.db.engine import migrate as bring
    from masquerade.server.db.engine import require_known, revision, revisions

    with _database(data_dir, config, make=not dry_run) as engine:
        with engine.connect() as connection:
            before = revision(connection)
        if before != CONVERTED:
            require_known(before)
        known = list(revisions())
        # What is converted takes the steps from the first schema on, as an empty database does.
        steps = known[known.index(before) + 1 :] if before in known else known
        if not dry_run:
            bring(engine)
    words = revisions()
    result = {
        "revision": before if dry_run else known[-1],
        "before": before,
        "newest": known[-1],
        "steps": [f"{one}: {words[one]}" for one in steps],
        "dry_run": dry_run,
    }
    show(result, as_json=as_json, title="Schema")


def new_key(
    forget: Annotated[
        bool,
        typer.Option(
            "--forget",
            help="For a lost key: give up what it sealed. One-time codes are turned off for "
            "everybody, all webhooks are removed, and surveys between two parties without a "
            "result end.",
        ),
    ] = False,
    lose_answers: Annotated[
        bool,
        typer.Option(
            "--lose-answers",
            help="End unfinished surveys between two parties that would lose their keys. What "
            "people have answered to them is deleted unread. Without this option the "
            "command is refused if there are such surveys.",
        ),
    ] = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Give a stopped server a new key, and seal its secrets again with it.

    It is refused while the server or another program has the database open: a server would go on
    to seal with the old key. The old key stays beside the new one, in a file whose name ends in
    .old. Backups that were made before need it.

    Example: masquerade new-key --data-dir data
    """
    from masquerade.server.operations.new_key import renew, require_alone

    settings = _settings(data_dir, config)
    with _database(data_dir, config) as engine:
        require_alone(engine)
        done = renew(engine, settings, forget=forget, lose_answers=lose_answers)
    show(done, as_json=as_json, title="New key")


Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Look only at what takes the same time however large the database is, and at 200 "
        "accounts.",
    ),
]


def doctor(
    data_dir: DataDir = None,
    config: Config = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Look for everything that is wrong with a server's data and settings, and change nothing.

    If there is a problem, it ends with exit code 1. Warnings alone do not count as a problem.

    Example: masquerade doctor --data-dir data
    """
    from masquerade.server.operations.doctor import examine

    settings = _settings(data_dir, config)
    with progress_bar("accounts checked") as count_accounts:
        results = list(examine(settings, progress=count_accounts, quick=quick))
    fine = all(one.status != "problem" for one in results)
    if as_json:
        checks = [one.to_json() for one in results]
        show({"ok": fine, "findings": checks}, as_json=True, title="")
    else:
        _print_checks(results)
    if not fine:
        raise typer.Exit(1)


def _print_checks(results: list[CheckResult]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for one in results:
        style = _STYLE[one.status]
        # as Text: brackets in a detail are no markup
        table.add_row(f"[{style}]{one.status}[/{style}]", one.check, Text(one.detail))
    Console().print(table)


def _settings(data_dir: Path | None, config: Path | None, *, make: bool = False) -> Settings:
    from masquerade.server.settings import Settings

    return Settings.from_environment(data_dir=data_dir, config=config, make_folder=make)


@contextlib.contextmanager
def _database(
    data_dir: Path | None, config: Path | None, *, make: bool = False
) -> Iterator[Engine]:
    from masquerade.server.db.engine import connect

    settings = _settings(data_dir, config, make=make)
    file = settings.sqlite_file
    if not make and file is not None and not file.is_file():
        raise OperationError(f"there is no database at {file}; name its folder with --data-dir.")
    engine = connect(settings.database, key=settings.database_key)
    try:
        with _reaching(settings):
            yield engine
    finally:
        engine.dispose()


@contextlib.contextmanager
def _reaching(settings: Settings) -> Iterator[None]:
    """Say in one line that a database cannot be reached; the address may hold a password."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import OperationalError

    try:
        yield
    except OperationalError as error:
        address = make_url(settings.database).render_as_string(hide_password=True)
        raise OperationError(
            f"the database {address} cannot be reached or used: "
            f"{str(error.orig).strip().splitlines()[0]}."
        ) from error


@contextlib.contextmanager
def _opened(file: str) -> Iterator[Any]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        source = Path(file).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UnreadableFile(f"cannot read {file}: {error.strerror}.") from error
    with source:
        yield source
