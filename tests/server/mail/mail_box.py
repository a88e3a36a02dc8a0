"""A mail server of tests: the accepted messages, by address, and the refused ones."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import default
from typing import Any

from tests.patience import PATIENCE_SECONDS


class MailBox:
    """The messages of a mail server, by address; some it refuses, for good or for now."""

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
            # As most mail servers do, it names the address that it refuses.
            return f"550 5.1.1 <{address}>: nobody of this name\there"
        if self.busy.get(address, 0) > 0:
            self.busy[address] -= 1
            return f"451 4.2.1 {address} come again"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, _server: Any, _session: Any, envelope: Any
    ) -> str:
        """Take a message."""
        if self.closed > 0:
            self.closed -= 1
            return f"554 5.7.1 no message for {envelope.rcpt_tos[0]} today"
        message = message_from_bytes(envelope.content, policy=default)
        assert len(envelope.rcpt_tos) == 1
        self.taken.setdefault(envelope.rcpt_tos[0], []).append(message)
        return "250 taken"


@contextmanager
def listening(box: MailBox, **options: Any) -> Iterator[int]:
    """Let a mail server fill a box, by default one that asks for no password; give its port."""
    from aiosmtpd.controller import Controller

    class Bound(Controller):  # type: ignore[misc, unused-ignore]
        """A mail server on a port that is its own before it starts."""

        def _create_server(self) -> Any:
            return self.loop.create_server(self._factory_invoker, sock=own)

    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port = int(own.getsockname()[1])
        controller = Bound(
            box, hostname="127.0.0.1", port=port, ready_timeout=PATIENCE_SECONDS, **options
        )
        controller.start()
        try:
            yield port
        finally:
            controller.stop()
