"""Behind HAProxy, nginx and Caddy, a person takes part and nobody passes for another address."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.server.devices import Phone
from tests.surveys.small_surveys import define

if TYPE_CHECKING:
    from tests.conftest import LiveServers

HOW_TO = Path(__file__).parents[3] / "docs/how-to/operations.md"
#: Not the proxy's own address, which the server trusts.
FROM = "127.0.0.2"

# What a test needs around the lines that the page on operation has.
AROUND = {
    "haproxy": "global\n    maxconn 100\n{lines}",
    "nginx": (
        "pid {folder}/pid;\nerror_log stderr crit;\nevents {{}}\nhttp {{\n"
        "client_body_temp_path {folder}/body;\nproxy_temp_path {folder}/proxy;\n"
        "fastcgi_temp_path {folder}/f;\nuwsgi_temp_path {folder}/u;\nscgi_temp_path {folder}/s;\n"
        "{lines}}}\n"
    ),
    "caddy": "{{\n    admin off\n    auto_https off\n}}\n{lines}",
}
COMMANDS = {
    "haproxy": ("haproxy", "-db", "-f", "{file}"),
    "nginx": ("nginx", "-c", "{file}", "-p", "{folder}", "-g", "daemon off;"),
    "caddy": ("caddy", "run", "--adapter", "caddyfile", "--config", "{file}"),
}


def documented(name: str) -> str:
    """Return the lines of the page on operation for a proxy."""
    found = re.search(rf"```text\n# {name}\n(.*?)```", HOW_TO.read_text(), re.DOTALL)
    assert found, f"the page has no lines for {name}"
    return found[1]


@contextmanager
def behind(name: str, folder: Path, server: str) -> Iterator[int]:
    """Run a proxy with the documented lines, without a certificate; give its port."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed; apt-get install haproxy nginx-light caddy")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    lines = documented(name).replace("127.0.0.1:8080", server.removeprefix("http://"))
    # The test has no certificate: the same lines, but over plain HTTP on a port of its own.
    for pattern, plain in (
        (r"bind :443 ssl crt \S+", f"bind 127.0.0.1:{port}"),
        (r"listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        (r" *ssl_certificate(_key)? \S+;\n", ""),
        (r"surveys\.example\.org \{", f"http://127.0.0.1:{port} {{"),
    ):
        lines = re.sub(pattern, plain, lines)
    file = folder / f"{name}.conf"
    file.write_text(AROUND[name].format(lines=lines, folder=folder))
    command = [part.format(file=file, folder=folder) for part in COMMANDS[name]]
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder)
    try:
        wait_until(f"{name} does not listen: {log.read_text()}", lambda: listens(port))
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def listens(port: int) -> bool:
    """Return whether somebody answers at a port."""
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def ask(port: int, request: str) -> bytes:
    """Send a request as it is from another address of this computer; return the status."""
    with socket.create_connection(
        ("127.0.0.1", port), timeout=PATIENCE_SECONDS, source_address=(FROM, 0)
    ) as line:
        line.sendall(request.encode())
        return line.recv(65536).split(b" ", 2)[1]


def sign_in(port: int, fields: str = "", trailer: str = "") -> bytes:
    """Try to sign in with a wrong password; return the status."""
    body = "login=ann&password=x"
    return ask(
        port,
        f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nAccept: text/html\r\n"
        f"Connection: close\r\n{fields}\r\n{len(body):x}\r\n{body}\r\n0\r\n{trailer}\r\n",
    )


@pytest.fixture(params=list(COMMANDS))
def proxy(request: pytest.FixtureRequest) -> str:
    """The name of a proxy."""
    name: str = request.param
    return name


def test_a_person_takes_part(proxy: str, live_server: LiveServers, tmp_path: Path) -> None:
    """All steps pass, with their headers, sizes and statuses."""
    server = live_server()
    survey = server.services.surveys.open_survey(define())
    with (
        behind(proxy, tmp_path, server.url) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):
        assert client.get("/me").status_code == 200
        answers = Phone(client).take_part(survey)
        assert all(len(answer.content) % 1024 == 0 for answer in answers)
    assert len(server.services.reports.of_survey(survey.token)) == 1


def test_nobody_chooses_the_address_that_is_counted(
    proxy: str, live_server: LiveServers, tmp_path: Path
) -> None:
    """Attempts to sign in are limited for all addresses a client names, also in trailers."""
    for kind in ("header", "several", "trailer"):
        server = live_server()
        with behind(proxy, tmp_path, server.url) as port:
            found = []
            for number in range(16):
                address = f"X-Forwarded-For: 192.0.2.{number}\r\n"
                fields = {"header": address, "several": address * 3, "trailer": ""}[kind]
                more = address if kind == "trailer" else ""
                found.append(sign_in(port, fields, more))
        assert found[0] != b"429"
        assert found[-1] == b"429", (kind, found)


def test_the_limit_is_one_that_other_addresses_would_pass(live_server: LiveServers) -> None:
    """A client free to choose the address would not be limited, so the test above can fail."""
    port = int(httpx.URL(live_server(trusted_proxies=FROM).url).port or 0)
    found = [sign_in(port, f"X-Forwarded-For: 192.0.2.{number}\r\n") for number in range(16)]
    assert b"429" not in found


def test_a_secret_in_a_trailer_opens_nothing(
    proxy: str, live_server: LiveServers, tmp_path: Path
) -> None:
    """The trailers of a body do not tell the owner of a request."""
    server = live_server()
    survey = server.services.surveys.open_survey(define())
    mine = f"Masquerade-Participant: w{secrets.token_hex(16)}\r\n"
    body = json.dumps({"survey": survey.token, "level": survey.survey.levels[0].name})

    def begin(port: int, fields: str, trailer: str) -> bytes:
        return ask(
            port,
            f"POST /api/v1/participations HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Content-Type: application/json\r\nIdempotency-Key: {secrets.token_hex(16)}\r\n"
            f"Transfer-Encoding: chunked\r\nConnection: close\r\n{fields}\r\n"
            f"{len(body):x}\r\n{body}\r\n0\r\n{trailer}\r\n",
        )

    with behind(proxy, tmp_path, server.url) as port:
        assert begin(port, mine, "") == b"201"
        assert begin(port, "", mine) != b"201"
