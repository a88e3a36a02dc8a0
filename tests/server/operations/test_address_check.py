"""The check of a server's public address."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from masquerade.server import Settings
from masquerade.server.operations.doctor import address_findings, examine

HEALTHY = '{"status": "ok", "version": "0.1.0"}'


class Site(HTTPServer):
    """A site at an address of its own, of which one path is answered."""

    path, status, body = "/healthz", 200, HEALTHY


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer the one path, and 404 elsewhere."""
        site = self.server
        assert isinstance(site, Site)
        status, body = (site.status, site.body) if self.path == site.path else (404, "no page")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site on this computer."""
    monkeypatch.setenv("no_proxy", "*")
    with Site(("127.0.0.1", 0), _Answer) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "status", "body", "found", "words"),
    [
        ("/healthz", 200, HEALTHY, "ok", "leads to"),
        # A proxy that passes on a path of its site, without the path.
        ("/surveys/healthz", 200, HEALTHY, "problem", "answered with 404.* below a path"),
        ("/healthz", 200, "<h1>Our institute</h1>", "problem", "answered with something else"),
        ("/healthz", 200, "[]", "problem", "answered with something else"),
        ("/healthz", 502, "", "warning", "502: is the server started"),
    ],
)
def test_what_answers_at_the_address(
    site: Site, path: str, status: int, body: str, found: str, words: str
) -> None:
    """A proxy that serves the server below a path, another site, and a server that is away."""
    site.path, site.status, site.body = path, status, body
    [one] = address_findings(f"http://127.0.0.1:{site.server_port}")
    assert (one.check, one.status) == ("address", found)
    assert re.search(words, one.detail)


def test_an_address_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing listens it is said that nothing was looked at; without an address, nothing."""
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        [one] = address_findings(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert one.status == "skipped"
    assert list(address_findings(None)) == []


def test_doctor_looks_at_the_address(site: Site, tmp_path: object) -> None:
    """The whole examination has the finding, and the quick one asks nobody."""
    site.status = 404
    settings = Settings(
        f"sqlite:///{tmp_path}/none.db", public_url=f"http://127.0.0.1:{site.server_port}"
    )
    assert [one.status for one in examine(settings) if one.check == "address"] == ["problem"]
    assert not [one for one in examine(settings, quick=True) if one.check == "address"]
