"""Open connections: so many in all, so many from one address, and the silent ones make room.

A process may open so many files, and each connection is one. Whoever holds many and says nothing
would keep everybody else out; so where there is no more room, a connection that waits for nothing
but its own other end is ended, of the address that holds most.
"""

from __future__ import annotations

import ipaddress
import sys
from typing import Final, Protocol

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
