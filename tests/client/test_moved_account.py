"""The Python client keeps an account that began with another secret, and gives none away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.surveys.small_surveys import define

from masquerade.client import Client, Identity
from masquerade.errors import BrokenPromise

if TYPE_CHECKING:
    from tests.conftest import LiveServers

OLD, NEW, LIAR = "https://old.example", "https://new.example", "https://liar.example"
DRAWN = "5e" * 16


class Names(httpx.HTTPTransport):
    """Carries requests to several names to one server, and keeps them."""

    def __init__(self, url: str, lies: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._url = httpx.URL(url)
        self._lies = lies or {}
        self.sent: list[tuple[str, str]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request on, or answer with a lie."""
        secret = request.headers.get("masquerade-participant", "")
        self.sent.append((secret, request.read().decode()))
        if request.url.path.startswith("/.well-known") and request.url.host in self._lies:
            return httpx.Response(200, json=self._lies[request.url.host])
        there = request.url.copy_with(scheme="http", host=self._url.host, port=self._url.port)
        return super().handle_request(
            httpx.Request(request.method, there, headers=request.headers, content=request.content)
        )


def test_an_account_of_before_moves_at_the_next_visit(
    live_server: LiveServers, tmp_path: Path
) -> None:
    """The secret of before is sent once more, and then the one for the address alone."""
    server = live_server()
    survey = server.services.surveys.open_survey(define())
    names = server.services.identity(DRAWN)
    steps, level = server.services.participations, survey.survey.levels[0].name
    begun, _ = steps.reserve(names, survey.token, level, idempotency_key="1" * 32)
    steps.open(names, begun.id)
    entries = server.services.ledger.balance(names.person).entries
    carrier = Names(server.url)
    for _ in range(2):
        with Client(NEW, Identity(DRAWN), tmp_path, transport=carrier) as me:
            assert len(me.ledger_on_server()) == entries
            me.me_on_server()
    seen = [secret for secret, _ in carrier.sent if secret]
    assert DRAWN not in seen
    assert sum(DRAWN in body for _, body in carrier.sent) == 1
    assert {secret[0] for secret in seen[1:]} == {"m"}


def test_a_server_that_moves_to_another_address_keeps_its_accounts(
    live_server: LiveServers, tmp_path: Path
) -> None:
    """Words that were used at the earlier address lead to the same account at the new one."""
    server = live_server(public_url=NEW, earlier_addresses=OLD)
    survey = server.services.surveys.open_survey(define())
    mine = Identity("w" + DRAWN)
    # Before the change: at the old address.
    with Client(OLD, mine, tmp_path / "a", transport=Names(server.url, {"old.example": {}})) as me:
        me.begin(survey.token, survey.survey.levels[0].name).open()
        before = me.ledger_on_server()
    assert before
    with Client(NEW, mine, tmp_path / "b", transport=Names(server.url), earlier=OLD) as me:
        assert me.ledger_on_server() == before
    # A server that was put back to before the move: the account moves again.
    server.services.transactions.write(_forget_moves)
    with Client(NEW, mine, tmp_path / "b", transport=Names(server.url), earlier=OLD) as me:
        assert me.ledger_on_server() == before


def test_a_server_cannot_pass_for_a_later_address_of_another(
    live_server: LiveServers, tmp_path: Path
) -> None:
    """A client made to name another server as an earlier address sends nothing of it."""
    server = live_server()
    mine = Identity("w" + DRAWN)
    for told in ({"address": OLD}, {"address": [LIAR]}, {}):
        carrier = Names(server.url, {"old.example": told})
        with (
            Client(LIAR, mine, tmp_path, transport=carrier, earlier=OLD) as me,
            pytest.raises(BrokenPromise, match="nothing that was made for it is sent"),
        ):
            me.me_on_server()
    assert not any(mine.secret_at(OLD) in secret + body for secret, body in carrier.sent)


def _forget_moves(connection: Any) -> None:
    connection.exec_driver_sql("DELETE FROM setting WHERE key LIKE 'moved:%' OR key LIKE 'left:%'")
