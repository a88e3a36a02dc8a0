"""The processes of a soak: servers that are started again when they end, and a PostgreSQL."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_TURNED_CLOCK = Path(__file__).with_name("turned_clock.c")
_GLANCE_SECONDS = 0.2
_START_SECONDS = 300


def turned_clock(folder: Path) -> Path | None:
    """Compile the library that turns a process's clock; None where there is no compiler."""
    compiler, library = shutil.which("cc"), folder / "turned_clock.so"
    if compiler is None:
        return None
    words = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(_TURNED_CLOCK), "-ldl"]
    subprocess.run(words, check=True)
    return library


def free_port() -> int:
    """Return a port at which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class PostgreSQL:
    """A PostgreSQL of the soak's own, with a database for the server and one for the helper."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder / "postgresql", free_port()
        self._programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
        self._folder.mkdir()
        if os.geteuid() == 0:
            folder.chmod(0o755)
            shutil.chown(self._folder, "postgres")
        self._run("initdb", "-D", self._data, "-U", "masquerade", "-A", "trust", "-E", "UTF8")
        self.start()
        self._run("createdb", *self._place, "helper")

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    @property
    def _place(self) -> tuple[str, ...]:
        return "-h", "127.0.0.1", "-p", str(self._port), "-U", "masquerade"

    def url(self, name: str) -> str:
        """Return the address of a database."""
        return f"postgresql+psycopg://masquerade@127.0.0.1:{self._port}/{name}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self._port} -k {self._folder} -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "start", "-w", "-D", self._data, "-o", options)

    def stop(self) -> None:
        """End it as a crash would."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", self._data)

    def read_only(self, on: bool) -> None:
        """Refuse all writes from now on, or allow them again."""
        change = f"ALTER SYSTEM SET default_transaction_read_only = {'on' if on else 'off'}"
        free = "SET default_transaction_read_only = off"
        reload = "SELECT pg_reload_conf()"
        words = [word for one in (free, change, reload) for word in ("-c", one)]
        self._run("psql", *self._place, *words, "postgres")

    def _run(self, program: str, *words: str) -> None:
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*prefix, str(self._programs / program), *words]
        with (self._folder.parent / "postgresql.log").open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd=self._folder)


@dataclass
class Server:
    """A server or helper at one address over all its restarts.

    `words`: the command. `settings`: its environment. `library`: turns its clock.
    """

    name: str
    folder: Path
    words: list[str]
    settings: dict[str, str]
    port: int
    library: Path | None = None  # that turns its clock
    starts: int = 0
    _held: bool = False
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    @property
    def address(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """The file of its log."""
        return self.folder / f"{self.name}.log"

    @property
    def _clock(self) -> Path:
        return self.folder / f"{self.name}.clock"

    def start(self) -> None:
        """Start it; the log goes on where it was."""
        environment = os.environ | self.settings | {"PYTHONFAULTHANDLER": "1"}
        if self.library is not None:
            environment |= {"LD_PRELOAD": str(self.library), "SOAK_CLOCK": str(self._clock)}
        with self._lock, self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "masquerade", *self.words, "--port", str(self.port)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
            )
            self.starts += 1

    def watch(self) -> None:
        """Start it again where it has ended, as a supervisor of services does."""
        with self._lock:
            if not self._held and (self._process is None or self._process.poll() is not None):
                self.start()

    def end(self, how: signal.Signals, *, last: bool = False) -> None:
        """Send a signal, and wait for the end; `last`: it is not started again."""
        with self._lock:
            self._held = last
            process = self._process
            workers = self.workers()
        if process is None:
            return
        process.send_signal(how)
        process.wait()
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def workers(self) -> list[int]:
        """Return the ids of its processes that serve."""
        if self._process is None:
            return []
        parent = self._process.pid
        with suppress(OSError):
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
            return [one for one in map(int, children) if _serves(one)]
        return []

    def turn_clock(self, hours: float) -> None:
        """Set its clock off by so many hours."""
        self._clock.write_text(f"{round(hours * 3600)}\n")

    def limit_files(self, most: int) -> None:
        """Let every write beyond the first `most` bytes of a file fail; -1: none."""
        for process in [*self.workers(), *([self._process.pid] if self._process else [])]:
            with suppress(ProcessLookupError):
                resource.prlimit(process, resource.RLIMIT_FSIZE, (most, -1))

    def rotate(self) -> int:
        """Copy its log away and empty it, as a rotation does; return the lines that were there."""
        lines = len(self.log.read_text(errors="replace").splitlines())
        shutil.copy(self.log, self.log.with_suffix(".log.1"))
        os.truncate(self.log, 0)
        return lines

    def said(self, pattern: str) -> str:
        """Return the last match of a pattern in its log, once there is one."""
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            found = re.findall(pattern, self.log.read_text(errors="replace"))
            if found:
                return str(found[-1])
            time.sleep(_GLANCE_SECONDS)
        raise TimeoutError(f"{self.name} did not say {pattern}:\n{self.log.read_text()[-3000:]}")


def _serves(process: int) -> bool:
    with suppress(OSError):
        # Beside the workers is a process that tracks what they share.
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


class Supervisor:
    """A thread that starts processes again that have ended."""

    def __init__(self, servers: list[Server]) -> None:
        self._servers, self._over = servers, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(_GLANCE_SECONDS):
            for server in self._servers:
                server.watch()

    def end(self) -> None:
        """Start nothing any more."""
        self._over.set()
        self._thread.join()
