"""``masquerade demo`` and ``masquerade serve`` as processes."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.patience import PATIENCE_SECONDS, wait_until

from masquerade.client import Client, Identity

if TYPE_CHECKING:
    from tests.cli.conftest import Run


class Process:
    """A running ``masquerade`` with a known first address."""

    def __init__(self, *words: str, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "masquerade", *words, "--no-browser", "--port", f"{port}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""
        assert self.process.stdout is not None
        while not (found := re.search(r"http://\S+", self.said)):
            line = self.process.stdout.readline()
            assert line, f"ended early: {self.said}"
            self.said += line
        self.url = found.group()

    def stop(self, how: signal.Signals) -> tuple[int, str]:
        """End it and return its exit code and the rest of its output."""
        self.process.send_signal(how)
        rest, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, self.said + rest


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    """Collect processes and make sure that none outlives the test."""
    started: list[Process] = []
    yield started
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def see_the_demo(page: httpx.Response) -> None:
    """The surveys and their results are on the first page."""
    assert page.status_code == 200
    assert "200" in page.text
    assert "known" in page.text.lower()
    assert re.search(r'href="/s/[0-9a-f]{16}"', page.text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_ends_cleanly_at_once(
    processes: list[Process], how: signal.Signals, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While its second party starts, either signal leaves no trace and no traceback."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    demo = Process("demo")
    processes.append(demo)
    see_the_demo(httpx.get(demo.url))
    code, said = demo.stop(how)
    assert code == 0
    assert "Traceback" not in said
    assert list(tmp_path.glob("masquerade-demo-*")) == []


def test_the_owner_link_works_once(processes: list[Process], tmp_path: Path) -> None:
    """The link of the first run makes one browser the owner's and no second one."""
    served = Process("serve", "--data-dir", str(tmp_path))
    processes.append(served)
    with httpx.Client(follow_redirects=True) as first, httpx.Client(follow_redirects=True) as other:
        assert 'action="/sign-out"' in first.get(served.url, headers={"Accept": "text/html"}).text
        assert other.get(served.url, headers={"Accept": "text/html"}).status_code == 401
        assert first.get(served.url.partition("?")[0]).status_code == 200
    code, _ = served.stop(signal.SIGINT)
    assert code == 0


def test_a_taken_port_is_said(run: Run, tmp_path: Path) -> None:
    """A port in use ends with code 1 and advice, and nothing is written."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("serve", "--no-browser", "--data-dir", tmp_path / "data", "--port", port)
    assert done.code == 1
    assert "--port" in done.err
    assert not (tmp_path / "data").exists()


def test_an_accepted_response_outlives_a_kill(processes: list[Process], tmp_path: Path) -> None:
    """With ``--data-dir`` a response acknowledged just before a kill is there after a restart.

    So is the demonstration: the second start shows the surveys of the first.
    """
    first = Process("demo", "--data-dir", str(tmp_path / "kept"))
    processes.append(first)
    tokens = re.findall(r"/s/([0-9a-f]{16})", httpx.get(first.url).text)
    home = tmp_path / "home"
    with Client(first.url, home=home) as client:
        part = client.begin(tokens[0], "high")
        part.open()
        answers = {one.question.id: one.question.labels[0] for one in part.questions}
        bill = part.answer(answers).bill
    first.process.kill()
    first.process.wait()
    assert (tmp_path / "kept" / "demonstration.sqlite3").is_file()
    # at the same address: a device is known to one server by its address
    port = httpx.URL(first.url).port or 80
    again = Process("demo", "--data-dir", str(tmp_path / "kept"), port=port)
    processes.append(again)
    assert re.findall(r"/s/([0-9a-f]{16})", httpx.get(again.url).text) == tokens
    with Client(again.url, Identity.read_or_create(client.identity_file), home) as client:
        assert client.me_on_server()["battery"]["epsilon_spent"] == bill.total_epsilon
    again.stop(signal.SIGINT)


def test_the_demo_shows_itself_and_a_second_party_that_ends_with_it(
    processes: list[Process], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The page is there once the address is printed, with both results once it was opened.

    Ctrl-C ends both processes, and leaves no trace and no traceback.
    """
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    demo = Process("demo")
    processes.append(demo)
    with httpx.Client(base_url=demo.url, trust_env=False) as visitor:
        first = visitor.get("/")
        see_the_demo(first)
        assert "The second party is another process" in first.text
        stage = {"stage": "starting"}

        def is_there() -> bool:
            """Ask how far it is."""
            stage.update(visitor.get("/second-party").json())
            assert stage["stage"] != "fault", demo.said
            return stage["stage"] == "there"

        wait_until("the second survey has no result", is_there)
        page = visitor.get("/").text
    assert "Here both parties run on one computer" in page
    assert page.count("<h4>Two parties</h4>") == page.count("<h4>Masks on the device</h4>") == 3
    helper = re.search(r'href="(http://[^"]+)">its page', page)
    assert helper is not None
    assert helper[1] != demo.url.rstrip("/")
    assert httpx.get(f"{helper[1]}/identity", trust_env=False).json()["address"] == helper[1]
    code, said = demo.stop(signal.SIGINT)
    assert (code, said.splitlines()[-1]) == (0, "Ended.")
    assert "Traceback" not in said
    assert list(tmp_path.glob("masquerade-demo-*")) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{helper[1]}/identity", trust_env=False)
