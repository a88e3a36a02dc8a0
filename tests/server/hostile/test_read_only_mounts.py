"""A disk that is mounted to be read, in truth: the kernel refuses, and nothing accepted is lost."""

from __future__ import annotations

import http.client
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.server.participants.test_crash import Person, running
from tests.surveys.small_surveys import define

from masquerade.errors import OperationError
from masquerade.server import Services, Settings
from masquerade.server.operations.doctor import examine
from masquerade.server.surveys.survey_records import SurveyRecord

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts of this kind are Linux's")

#: Lets go of its files when it is told: Linux turns no file system read-only where one is open to
#: be written.
LETS_GO = """
import signal
from masquerade.server import services

opened = services.Services.open.__func__

def open_and_note(cls, *args, **more):
    found = opened(cls, *args, **more)
    signal.signal(signal.SIGUSR1, lambda *_: let_go(found.engine))
    return found

def let_go(engine):
    engine.dispose()
    print("let go", flush=True)

services.Services.open = classmethod(open_and_note)
"""

#: Holds the database, so that its log stays beside it when this process is killed.
HOLDS = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1])
held.execute("SELECT count(*) FROM participation").fetchall()
print("holds", flush=True)
sys.stdin.read()
"""


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the system to its end."""
    return subprocess.run(words, capture_output=True, text=True, check=False)


def not_here(reason: str) -> NoReturn:
    """Skip where this account may not mount, or a program of the system is missing."""
    pytest.skip(f"nothing can be mounted here: {reason.strip()}")


@contextmanager
def mounted(folder: Path, *words: str | Path) -> Iterator[Path]:
    """Mount a file system at a folder; take it away in any case."""
    if shutil.which("mount") is None or os.geteuid() != 0:
        not_here("there is no mount, or this account is not root")
    folder.mkdir(exist_ok=True)
    done = command("mount", *words, folder)
    if done.returncode != 0:
        not_here(done.stderr)
    try:
        yield folder
    finally:
        while os.path.ismount(folder):
            # Somebody may hold a file of it for a moment.
            if command("umount", folder).returncode != 0:
                command("umount", "--lazy", folder)


def remounted(folder: Path, how: str) -> bool:
    """Mount anew what is mounted; return whether the kernel agreed."""
    return command("mount", "-o", f"remount,{how}", folder).returncode == 0


def open_survey(database: str) -> SurveyRecord:
    """Open a survey before any server runs."""
    services = Services.open(database)
    record = services.surveys.open_survey(define())
    services.close()
    return record


def go_on(port: int, person: Person, survey: SurveyRecord, *, pause: Any = lambda: None) -> None:
    """Let a person take the steps that are left."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)) as one:
        person.go_on(one, survey, pause=pause)


class _Leaves(Exception):
    """Somebody leaves before the last step."""


def leave() -> None:
    """Leave before the last step."""
    raise _Leaves


def sealed(port: int, survey: SurveyRecord) -> Person:
    """Return a person whose response was not sent yet."""
    person = Person("medium")
    with pytest.raises(_Leaves):
        go_on(port, person, survey, pause=leave)
    assert person.acknowledged == ["reserved", "opened", "sealed"]
    return person


def send(port: int, person: Person, survey: SurveyRecord) -> httpx.Response:
    """Send a response; it is the same each time."""
    sent = {
        "reports": person.reports,
        "salt": person.salt,
        "level": person.level,
        "survey_hash": survey.hash,
    }
    headers = {"Masquerade-Participant": person.participant, "Idempotency-Key": person.key}
    url = f"http://127.0.0.1:{port}/api/v1/participations/{person.id}/response"
    with httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        return client.put(url, json=sent, headers=headers)


def begin(port: int, survey: SurveyRecord) -> httpx.Response:
    """Begin a survey as somebody new."""
    secret = secrets.token_hex(16)
    headers = {"Masquerade-Participant": secret, "Idempotency-Key": secret}
    url = f"http://127.0.0.1:{port}/api/v1/participations"
    with httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        body = {"survey": survey.token, "level": "medium"}
        return client.post(url, json=body, headers=headers)


def refused(port: int, person: Person, survey: SurveyRecord, *words: str) -> None:
    """Check that nothing is accepted, and that everybody is told why and when to come again."""
    for answer in (send(port, person, survey), begin(port, survey)):
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["retry-after"]) > 0
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["type"] == "/problems/database-unavailable"
        assert any(one in problem["detail"] for one in words), problem
    with httpx.Client(
        base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_SECONDS
    ) as client:
        for path in ("/healthz", "/static/base.css", f"/s/{survey.token}"):
            assert client.get(path).status_code == 200, path
        ready = client.get("/readyz")
        assert (ready.status_code, "Read-only file system" in ready.text) == (503, True)


def named_by_doctor(database: str) -> None:
    """Check that the doctor finds a read-only disk, and ends."""
    found = [one for one in examine(Settings(database)) if one.status == "problem"]
    said = {one.check: one.detail for one in found}
    assert "Read-only file system" in said["room"]
    assert "Read-only file system" in said["database"]
    assert "cannot write to the database" in said["database"]


def all_there(database: str, people: list[Person], survey: SurveyRecord) -> None:
    """Check that each response that was accepted is there once, and the ledger is whole."""
    services = Services.open(database)
    kept = sorted(r.reports for r in services.reports.of_survey(survey.token))
    assert kept == sorted(tuple(person.reports) for person in people)
    for person in people:
        entries = services.ledger.entries(services.identity(person.participant).person)
        assert [entry.charge.kind for entry in entries] == ["reserve", "commit"]
    assert services.ledger.verify() == 2 * len(people)
    services.close()


@contextmanager
def holding(file: Path) -> Iterator[None]:
    """Hold a database, and be killed: its log and the log's index stay beside it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == b"holds\n"
            yield
        finally:
            holder.kill()


def test_a_mount_that_is_read_only_for_a_while(tmp_path: Path) -> None:
    """While a tmpfs is read-only people are told to come again; then they are accepted."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "masquerade-test") as disk:
        file = disk / "a.sqlite3"
        database = f"sqlite:///{file}"
        survey = open_survey(database)
        with running(database, LETS_GO) as (process, port):
            early = Person("medium")
            go_on(port, early, survey)
            late = sealed(port, survey)

            def turned() -> bool:
                assert process.stdout is not None
                with holding(file):
                    process.send_signal(signal.SIGUSR1)
                    assert process.stdout.readline() == "let go\n"
                return remounted(disk, "ro")

            wait_until("the tmpfs did not turn read-only", turned)
            for _ in range(3):
                refused(port, late, survey, "it is read-only")
            named_by_doctor(database)
            with pytest.raises(OperationError, match=r"cannot write to .*: Read-only file system"):
                Services.open(database)
            assert remounted(disk, "rw")
            # The same request, as devices repeat it.
            wait_until("it was not accepted", lambda: send(port, late, survey).is_success)
            go_on(port, late, survey)
            later = Person("medium")
            go_on(port, later, survey)
            assert httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).is_success
        all_there(database, [early, late, later], survey)


def test_a_file_system_that_gives_up(tmp_path: Path) -> None:
    """Once ext4 has turned itself read-only nothing is accepted, nor lost after its repair."""
    image, folder = tmp_path / "image", tmp_path / "disk"
    if shutil.which("mkfs.ext4") is None or shutil.which("e2fsck") is None:
        not_here("there is no mkfs.ext4 or e2fsck")
    with image.open("wb") as made:
        made.truncate(64 * 2**20)
    assert command("mkfs.ext4", "-q", "-F", image).returncode == 0
    options = "loop,errors=remount-ro"
    database = f"sqlite:///{folder / 'a.sqlite3'}"
    with mounted(folder, "-o", options, image):
        survey = open_survey(database)
        with running(database) as (_, port):
            early = Person("medium")
            go_on(port, early, survey)
            late = sealed(port, survey)
            # As it does by itself after an error of the disk, also where files are open.
            if not remounted(folder, "abort"):
                not_here("this kernel's ext4 cannot be told to give up")
            for _ in range(3):
                refused(port, late, survey, "its disk fails", "it is read-only")
            named_by_doctor(database)
    repaired = command("e2fsck", "-f", "-y", image)
    assert repaired.returncode in (0, 1), repaired.stdout
    with mounted(folder, "-o", options, image):
        with running(database) as (_, port):
            go_on(port, late, survey)
            later = Person("medium")
            go_on(port, later, survey)
        all_there(database, [early, late, later], survey)
