"""``masquerade backup``, ``restore``, ``migrate`` and ``doctor``: keeping a server's data."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.output import AsJson, show
from masquerade.cli.serving import Config, DataDir
from masquerade.errors import OperationError, UnreadableFile

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from masquerade.server.operation.finding import Finding
    from masquerade.server.settings import Settings

_STYLE = {"ok": "green", "warning": "yellow", "problem": "bold red", "skipped": "dim"}


def backup(
    file: Annotated[
        str, typer.Argument(help="A file that is not there yet; - is standard output.")
    ],
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Copy everything a server keeps into FILE, while it runs. FILE holds the server's keys."""
    from masquerade.server.operation.backup import backup as copy
    from masquerade.server.operation.backup import new_file

    if as_json and file == "-":
        raise OperationError("--json and the backup cannot both be on standard output.")
    begin = time.perf_counter()
    with _database(data_dir, config) as engine, _counting("rows copied") as told:
        if file == "-":
            made = copy(engine, sys.stdout.buffer, progress=told)
            sys.stdout.flush()
            return
        with new_file(Path(file)) as target:
            made = copy(engine, target, progress=told)
    result = {
        "file": file,
        "bytes": Path(file).stat().st_size,
        "revision": made.revision,
        "rows": made.rows,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    show(result, as_json=as_json, title="Backup")


def restore(
    file: Annotated[str, typer.Argument(help="A backup; - is standard input.")],
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Put a backup into an empty database, SQLite or PostgreSQL, and check all of it."""
    from masquerade.server.operation.restore import restore as put
    from masquerade.server.settings import Settings

    begin = time.perf_counter()
    settings = Settings.from_environment(data_dir=data_dir, config=config)
    with _opened(file) as source, _counting("rows restored") as told, _reaching(settings):
        done = put(source, settings.database, progress=told)
    result = {
        "file": file,
        "day": done.day,
        "revision": done.revision,
        "revision_in_backup": done.made_at,
        "rows": done.rows,
        "ledger_entries_checked": done.entries,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    show(result, as_json=as_json, title="Restored")


def migrate(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Bring a database's schema to this version; serve does it too, when it starts."""
    from masquerade.server.database import migrate as bring
    from masquerade.server.database import require_known, revision, revisions

    with _database(data_dir, config, make=not dry_run) as engine:
        with engine.connect() as connection:
            before = revision(connection)
        require_known(before)
        known = list(revisions())
        steps = known if before is None else known[known.index(before) + 1 :]
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


def doctor(data_dir: DataDir = None, config: Config = None, as_json: AsJson = False) -> None:
    """Look for everything that is wrong with a server's data and settings; change nothing.

    Exit code 1 where there is a problem; warnings alone are no problem.
    """
    from masquerade.server.operation.doctor import examine
    from masquerade.server.settings import Settings

    settings = Settings.from_environment(data_dir=data_dir, config=config, make_folder=False)
    with _counting("accounts checked") as told:
        findings = list(examine(settings, progress=lambda count, _of: told(count)))
    fine = all(one.status != "problem" for one in findings)
    if as_json:
        found = [one.to_json() for one in findings]
        show({"ok": fine, "findings": found}, as_json=True, title="")
    else:
        _tell(findings)
    if not fine:
        raise typer.Exit(1)


def _tell(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for one in findings:
        style = _STYLE[one.status]
        table.add_row(f"[{style}]{one.status}[/{style}]", one.check, _escaped(one.detail))
    Console().print(table)


def _escaped(text: str) -> Any:
    from rich.text import Text

    return Text(text)


@contextlib.contextmanager
def _database(
    data_dir: Path | None, config: Path | None, *, make: bool = False
) -> Iterator[Engine]:
    from masquerade.server.database import connect
    from masquerade.server.settings import Settings

    settings = Settings.from_environment(data_dir=data_dir, config=config, make_folder=make)
    file = settings.sqlite_file
    if not make and file is not None and not file.is_file():
        raise OperationError(f"there is no database at {file}; name its folder with --data-dir.")
    engine = connect(settings.database)
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


@contextlib.contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None]]:
    """Show a count on standard error, where a person watches."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} " + what))
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what)
        yield lambda count: bar.update(task, completed=count)
