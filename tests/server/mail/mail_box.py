"""A mail server of tests: what it takes, by address, and what it refuses."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import default
from typing import Any


class MailBox:
    """What a mail server takes, by address; some it refuses, for good or for now."""

    def __init__(self) -> None:
        self.taken: dict[str, list[Any]] = {}
        self.gone: set[str] = set()
        self.busy: dict[str, int] = {}  # how often it is to be refused for now
        self.closed = 0  # how many messages it refuses for reasons of its own

    async def handle_RCPT(  # noqa: N802 - the name that the library calls
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        """Take or refuse an address."""
        if address in self.gone:
            return "550 5.1.1 nobody of this name\there"
        if self.busy.get(address, 0) > 0:
            self.busy[address] -= 1
            return "451 4.2.1 come again"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, _server: Any, _session: Any, envelope: Any
    ) -> str:
        """Take a message."""
        if self.closed > 0:
            self.closed -= 1
            return "554 5.7.1 not today"
        message = message_from_bytes(envelope.content, policy=default)
        assert len(envelope.rcpt_tos) == 1
        self.taken.setdefault(envelope.rcpt_tos[0], []).append(message)
        return "250 taken"


def free_port() -> int:
    """Return a port of this computer that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def listening(box: MailBox) -> Iterator[int]:
    """Let a mail server that asks for no password fill a box; give its port."""
    from aiosmtpd.controller import Controller

    controller = Controller(box, hostname="127.0.0.1", port=free_port())
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()
