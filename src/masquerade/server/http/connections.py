"""Open connections: so many in all, so many from one address, and the silent ones make room.

A process may open so many files, and each connection is one. Whoever holds many and says nothing
would keep everybody else out; so where there is no more room, a connection that waits for nothing
but its own other end is ended, of the address that holds most. Each request has a deadline.
"""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from typing import Any, ClassVar, Final, Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from masquerade.server.http.rate_limit import network_of

#: How many connections may wait to be taken; as many may be taken before any is counted.
BACKLOG: Final = 128

_FILES_OF_OTHERS: Final = 128  # of the files that a process may open: database, log, static files
_FEWEST: Final = 16


class Connection(Protocol):
    """The part of a connection that can end it."""

    def silent(self) -> bool:
        """Return whether nothing is being answered: the other end has said nothing whole."""
        ...

    def end(self) -> None:
        """End it at once."""
        ...


class OpenConnections:
    """The connections of one process, at most `most`; None is without limit.

    `from_address`: how many from one address or IPv6 network, never over half of all; 0: no limit.
    `proxies`: addresses and networks, separated by commas, that connect for many; ``*`` is all.
    """

    def __init__(self, *, most: int | None, from_address: int, proxies: str) -> None:
        self.most = most
        self.from_address = from_address
        if most is not None:
            self.from_address = min(from_address, max(1, most // 2))
        self._proxies = _Proxies(proxies)
        self._count = 0
        # Oldest first.
        self._lines: dict[bytes, dict[Connection, None]] = {}

    def enter(self, line: Connection, address: str) -> bool:
        """Count a new connection, ending a silent one for it; return whether it may stay.

        It must `leave` in either case.
        """
        network = network_of(address)
        mine = self._lines.setdefault(network, {})
        mine[line] = None
        self._count += 1
        limited = bool(self.from_address) and address not in self._proxies
        if limited and len(mine) > self.from_address:
            return self._end_one(mine, line, network)
        if self.most is not None and self._count > self.most:
            network, most = max(self._lines.items(), key=lambda item: len(item[1]))
            return self._end_one(most, line, network)
        return True

    def leave(self, line: Connection, address: str) -> None:
        """Count a connection no more; one that has left may leave again."""
        network = network_of(address)
        mine = self._lines.get(network, {})
        if line in mine:
            del mine[line]
            self._count -= 1
            if not mine:
                del self._lines[network]

    def _end_one(self, lines: dict[Connection, None], newest: Connection, network: bytes) -> bool:
        """End the oldest silent one; return False where it has to be the newest."""
        for line in lines:
            if line is not newest and line.silent():
                # It leaves once the other end is told, but its place is free now.
                del lines[line]
                self._count -= 1
                if not lines:
                    del self._lines[network]
                line.end()
                return True
        return False


class _Proxies:
    def __init__(self, written: str) -> None:
        words = [word.strip() for word in written.split(",") if word.strip()]
        self._all = "*" in words
        self._names, self._networks = set(words), []
        for word in words:
            try:
                self._networks.append(ipaddress.ip_network(word, strict=False))
            except ValueError:
                continue  # a name, or the path of a socket

    def __contains__(self, address: str) -> bool:
        if self._all or not address or address in self._names:
            return True
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        # A socket of version 6 shows addresses of version 4 in this form.
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return any((mapped or found) in network for network in self._networks)


def most_connections() -> int | None:
    """Return how many connections leave this process enough files; None where that is unknown."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    return max(_FEWEST, soft - _FILES_OF_OTHERS - BACKLOG)


#: How long a whole request may take to arrive, and how long an answer may wait to be read on.
PATIENCE_SECONDS: Final = 30.0

#: How many bytes of a request may be there, beside its body, before they are whole.
LARGEST_HEAD: Final = 64 * 1024
#: How many requests of one connection may wait for the answer to the one before them.
MOST_WAITING: Final = 100


class DeadlineProtocol(HttpToolsProtocol):
    """HTTP/1.1 with a deadline for the whole of each request, head and body.

    It counts from the connection or from the first byte of a further request; between requests the
    server's own, shorter one holds. Bytes that dribble in do not begin it anew. What is no part of
    a body, such as a head, is refused where it is long, as it has to be held until it is whole; so
    are requests that are sent ahead of their turn (RFC 9112, section 9.3.2), where they are many.
    Trailers, the fields that may follow a chunked body, are no headers: a proxy has not looked at
    them, so they would speak in its name. They are dropped.
    """

    patience = PATIENCE_SECONDS
    open_connections: ClassVar[OpenConnections | None] = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._arriving: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._begun = False
        self._head_ended = False
        self._held = 0
        self._address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        if self.open_connections is not None and not self.open_connections.enter(
            self, self._address
        ):
            # Nothing is sent and nothing is waited for: an answer would cost what is scarce.
            transport.abort()
            return
        self._arriving = self.loop.call_later(self.patience, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        if self.open_connections is not None:
            self.open_connections.leave(self, self._address)
        self._forget_arriving()
        # Stops the timer of writing, and wakes whoever waits to write.
        self.resume_writing()
        super().connection_lost(exc)

    def silent(self) -> bool:
        """Return whether nothing is being answered, as no whole request is there."""
        return self._arriving is not None or self._answered()

    def end(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Begin the deadline where bytes are of a request that is not whole yet."""
        self._held += len(data)
        super().data_received(data)
        # It may have been ended above, as for what is no HTTP.
        if self.transport.is_closing():
            return
        if self._held > LARGEST_HEAD:
            self.send_400_response("The head of this request is too long.")
        # Only the first bytes of a request begin the deadline; it is not moved by those that
        # follow.
        elif self._arriving is None and (self._begun or self._answered()):
            self._arriving = self.loop.call_later(self.patience, self.transport.abort)

    def on_message_begin(self) -> None:
        """Note that a request has begun."""
        self._begun = True
        self._head_ended = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, and drop a trailer."""
        if not self._head_ended:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hold the head no longer; refuse one that does not name its host exactly once."""
        self._held = 0
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise ValueError("a request names its host once (RFC 9112, section 3.2)")
        # Each is held until its turn, and takes sixty times the memory of what was sent.
        if len(self.pipeline) >= MOST_WAITING:
            raise ValueError("too many requests wait for the answer to the one before them")
        self._head_ended = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._held = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the deadline with the last byte of the request."""
        self._begun = False
        self._held = 0
        self._forget_arriving()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request, unless that would be taken for the answer to the one before."""
        waits = not self._answered()
        if waits and (self.cycle.response_started or not self.cycle.more_body):
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """Wait for the other end to read on."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, as the other end has read."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def _answered(self) -> bool:
        """Return whether no answer is under way; further bytes then belong to the next request."""
        return self.cycle is None or self.cycle.response_complete

    def _forget_arriving(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None
