"""Shared parts of tests: databases, a server on a port of its own, and a browser.

``MASQUERADE_REQUIRE`` names what must be there (a comma list of ``postgres``, ``browser`` and
``node``): a test that needs it then fails without it, and is skipped otherwise.
"""

from __future__ import annotations

import gc
import itertools
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import hypothesis
import pytest
from tests.memory import folder_of_run
from tests.patience import PATIENCE_SECONDS
from tests.serving import CERTIFICATES, serving
from tests.statements import compiled_once

from masquerade.server import Services, Settings, create_app
from masquerade.server.db import engine
from masquerade.server.db.engine import connect, migrate
from masquerade.server.demo import seed_demo
from masquerade.server.operations.run import address, listen

if TYPE_CHECKING:
    from fastapi import FastAPI
    from playwright.sync_api import Browser

# How long an example takes depends on the machine, and is never what a test promises.
UNTIMED = hypothesis.settings(
    deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# The same examples in every run: whether a change passes is not left to chance. New examples are
# looked for by `make test-all`.
hypothesis.settings.register_profile("quick", UNTIMED, max_examples=10, derandomize=True)
hypothesis.settings.register_profile("exhaustive", UNTIMED, max_examples=100)
hypothesis.settings.load_profile("quick")

# While modules are imported and tests collected next to nothing becomes garbage, and looking for it
# takes a third of the time.
gc.disable()

REQUIRE_VARIABLE = "MASQUERADE_REQUIRE"

# The first is the same engine without a browser's window, which takes two thirds of the time.
CHROMIUM_NAMES = ("chromium-headless-shell", "chromium", "google-chrome", "chromium-browser")
CHROMIUM_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Else a process for a page that may come is started at every page.
    "--disable-features=SpareRendererForSitePerProcess",
)


MEMORY, ROOM = Path("/dev/shm"), 2 << 30
"""Where nothing waits for a disk, and the free bytes there that a run needs."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let everything that tests write be in memory, if there is room and no TMPDIR is set.

    Programs that tests start inherit the folder: what a server or a browser flushes costs nothing.
    """
    roomy = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM
    if roomy and "TMPDIR" not in os.environ:
        folder = folder_of_run(MEMORY)
        folder.chmod(0o711)  # a PostgreSQL of another user has its folder within
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def missing(what: str, reason: str) -> NoReturn:
    """Fail where a program is required in this run, skip otherwise."""
    if what in os.environ.get(REQUIRE_VARIABLE, "").replace(" ", "").split(","):
        pytest.fail(f"{reason} ({what} is named by {REQUIRE_VARIABLE})", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Undo the logging of a command that serves in this process, so that tests stay apart."""
    loggers = [logging.getLogger(), logging.getLogger("masquerade")]
    before = [(logger, logger.handlers[:], logger.level) for logger in loggers]
    yield
    for logger, handlers, level in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def waiting_for_answers() -> Iterator[None]:
    """Let requests of tests wait as long as a slow machine needs; httpx's own default is 5 s.

    All clients have the same certificates, as to read them takes longer than a request.
    """
    from httpx import _config, create_ssl_context
    from httpx._transports import default

    def certificates(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
        return (
            CERTIFICATES
            if verify is True and cert is None
            else create_ssl_context(verify, cert, trust_env)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "create_ssl_context", certificates)
        for part in ("connect", "read", "write", "pool"):
            patch.setattr(_config.DEFAULT_TIMEOUT_CONFIG, part, PATIENCE_SECONDS)
        yield


@pytest.fixture(scope="session", autouse=True)
def statements_compiled_once() -> Iterator[None]:
    """Engines of this process share the statements that they compiled."""
    with compiled_once():
        yield


@pytest.fixture(scope="session")
def node() -> str:
    """Return the path of Node.js."""
    found = shutil.which("node")
    if found is None:
        missing("node", "no Node.js here; apt-get install nodejs")
    return found


@dataclass(frozen=True)
class PostgresServer:
    """A private PostgreSQL server."""

    port: int
    user: str

    def url(self, database: str) -> str:
        """Return the SQLAlchemy URL of one of its databases."""
        return f"postgresql+psycopg://{self.user}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str) -> None:
        """Run a statement outside any transaction."""
        import psycopg

        with psycopg.connect(
            host="127.0.0.1", port=self.port, user=self.user, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(statement.encode())


def _postgres_programs() -> Path | None:
    """Return the folder of initdb and pg_ctl."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: float(path.parts[-3]),
    )
    return found[-1].parent if found else None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A private PostgreSQL server on a free port of this computer, gone when the run ends."""
    programs = _postgres_programs()
    if programs is None:
        missing("postgres", "no PostgreSQL here; apt-get install postgresql")
    try:
        import psycopg  # noqa: F401
    except ImportError:
        missing("postgres", "no PostgreSQL driver here; pip install '.[postgres]'")
    folder = Path(tempfile.mkdtemp(prefix="masquerade-postgres-"))
    data = folder / "data"
    prefix: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        prefix = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *arguments: str) -> None:
        with (folder / "output").open("w+b") as output:
            done = subprocess.run(
                [*prefix, str(programs / program), *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
            output.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program}: {output.read().decode(errors='replace')}")

    try:
        run(
            "initdb",
            f"--pgdata={data}",
            "--username=masquerade",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        )
        with listen("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        options = f"-F -p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=60"
        options += " -c wal_recycle=off"  # as operations.md advises
        run("pg_ctl", "start", "-w", f"--pgdata={data}", f"--log={folder}/log", "-o", options)
        yield PostgresServer(port, "masquerade")
    finally:
        if (data / "postmaster.pid").exists():
            run("pg_ctl", "stop", "-w", f"--pgdata={data}", "-m", "immediate")
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def waiting_for_the_disk() -> Iterator[Any]:
    """Let SQLite not wait for the disk in this process; give the real function.

    Each fixture that makes a database takes it.

    What is written survives the end of a process all the same; only of a computer it would not.
    """
    real = engine._prepare_sqlite

    def prepare(connection: Any, record: Any) -> None:
        real(connection, record)
        connection.execute("PRAGMA synchronous=OFF")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_prepare_sqlite", prepare)
        yield real


def pytest_collection_finish() -> None:
    """Leave modules and collected tests, which stay to the end, out of every garbage collection."""
    gc.collect()
    gc.freeze()
    # Seldom, as what a session's fixtures keep is looked through each time.
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave a twin on PostgreSQL to `make test-all`, unless its database is under test."""
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        kinds = {params.get("database_url"), params.get("empty_database_url")}
        if "postgresql" in kinds and item.get_closest_marker("both_databases") is None:
            item.add_marker(pytest.mark.exhaustive)


_numbers = itertools.count(1)
_KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
_MIGRATED = "migrated"


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory, waiting_for_the_disk: Any) -> Path:
    """An SQLite database with the schema of now and nothing in it, to be copied."""
    file = tmp_path_factory.mktemp("migrated") / "masquerade.sqlite3"
    _migrate(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def migrated_template(postgres_server: PostgresServer) -> str:
    """The name of a PostgreSQL database with the schema of now and nothing in it, to be copied."""
    postgres_server.execute(f"CREATE DATABASE {_MIGRATED}")
    _migrate(postgres_server.url(_MIGRATED))
    return _MIGRATED


def _migrate(url: str) -> None:
    engine = connect(url)
    migrate(engine)
    engine.dispose()


@contextmanager
def _postgres_database(server: PostgresServer, *, like: str = "template1") -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
    yield server.url(name)
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=_KINDS)
def database_url(
    request: pytest.FixtureRequest, tmp_path: Path, waiting_for_the_disk: Any
) -> Iterator[str]:
    """URL of a database of each kind, with the schema of now and nothing in it."""
    if request.param == "sqlite":
        file = tmp_path / "masquerade.sqlite3"
        shutil.copy(request.getfixturevalue("migrated_file"), file)
        yield f"sqlite:///{file}"
        return
    like: str = request.getfixturevalue("migrated_template")
    with _postgres_database(request.getfixturevalue("postgres_server"), like=like) as url:
        yield url


@pytest.fixture(params=_KINDS)
def empty_database_url(
    request: pytest.FixtureRequest, tmp_path: Path, waiting_for_the_disk: Any
) -> Iterator[str]:
    """URL of an empty database of each kind, without a schema."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'masquerade.sqlite3'}"
        return
    with _postgres_database(request.getfixturevalue("postgres_server")) as url:
        yield url


@dataclass(frozen=True)
class LiveServer:
    """A running server."""

    url: str
    app: FastAPI
    services: Services
    owner_link: str


class LiveServers(Protocol):
    """Starts servers that stop when the test ends."""

    def __call__(
        self,
        *,
        demo: bool = False,
        database: str | None = None,
        public_url: str | None = None,
        **settings: Any,
    ) -> LiveServer:
        """Start a server; on an empty SQLite database by default."""
        ...


@contextmanager
def live_servers(folder: Path, migrated: Path) -> Iterator[LiveServers]:
    """Start servers on free ports of this computer, each in a thread of its own, until the end."""
    stack, numbers = ExitStack(), itertools.count()

    def start(
        *,
        demo: bool = False,
        database: str | None = None,
        public_url: str | None = None,
        **settings: Any,
    ) -> LiveServer:
        if database is None:
            file = folder / f"live-{next(numbers)}.sqlite3"
            shutil.copy(migrated, file)
            database = f"sqlite:///{file}"
        made = Settings(database, public_url, demo, shutdown_seconds=5, **settings)
        app = create_app(made)
        services: Services = app.state.services
        if demo:
            seed_demo(services)
        bound, _ = stack.enter_context(serving(app, made))
        url = address(bound)
        return LiveServer(
            url, app, services, f"{url}/owner?token={services.values.new_owner_token()}"
        )

    with stack:
        yield start


@pytest.fixture
def live_server(tmp_path: Path, migrated_file: Path) -> Iterator[LiveServers]:
    """Start servers that stop when the test ends."""
    with live_servers(tmp_path, migrated_file) as start:
        yield start


@pytest.fixture(scope="module")
def module_server(
    tmp_path_factory: pytest.TempPathFactory, migrated_file: Path
) -> Iterator[LiveServers]:
    """Start servers that stop when the module's last test ends."""
    with live_servers(tmp_path_factory.mktemp("live"), migrated_file) as start:
        yield start


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless Chromium, driven by Playwright; open a new context in each test."""
    program = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if program is None:
        missing("browser", "no Chromium here; apt-get install chromium")
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        missing("browser", "no Playwright here; pip install playwright")
    expect.set_options(timeout=1000 * PATIENCE_SECONDS)  # how fast a machine is, is no promise
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(CHROMIUM_ARGUMENTS))
        yield browser
        browser.close()
