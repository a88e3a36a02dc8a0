"""Accounts with an earlier secret at a server, moved to the present one before they are used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from masquerade.client.atomic_files import create_file, delete_file, make_folder
from masquerade.client.connection import Connection
from masquerade.client.identity import Identity, origin_of
from masquerade.errors import BrokenPromise
from masquerade.surveys.two_parties import require_origin

_ADDRESS = "/.well-known/masquerade-address"


class MovedAccount:
    """The names of a person's secret that a server sees.

    It is an HMAC of the secret and the server's address. An account that began with another secret
    is let to it first: one of before servers had one each, or one of an address that the server had
    earlier, where that address itself says so; else any server could have what is made for another.

    Parameters
    ----------
    identity : callable
        Returns who takes part.
    url : str
        Of the server.
    folder : Path
        Where a move is remembered.
    earlier : str, optional
        Address that the server had before.
    """

    def __init__(
        self,
        identity: Callable[[], Identity],
        *,
        url: str,
        folder: Path,
        earlier: str | None = None,
    ) -> None:
        self._identity = identity
        self._earlier = earlier
        self._url = url
        self._folder = folder
        self._settled = False

    def sent(self, connection: Connection) -> str:
        """Return the names to send; the account of a former secret is moved first."""
        identity = self._identity()
        own = identity.secret_at(self._url)
        if self._mark.exists():
            return f"m{own}"
        if not self._settled and any(
            self._move(connection, own, former) for former in self._formers(connection, identity)
        ):
            make_folder(self._folder.absolute())
            create_file(self._mark, "")
            return f"m{own}"
        self._settled = True
        return f"w{own}"

    def refused(self) -> bool:
        """Return whether to try again: the server was restored from before an account moved."""
        if not self._mark.exists():
            return False
        delete_file(self._mark)
        return True

    @property
    def _mark(self) -> Path:
        return self._folder / f"moved-{self._identity().folder}"

    def _move(self, connection: Connection, own: str, former: str) -> bool:
        return bool(
            connection.as_person(f"w{own}", "POST", "/me/move", {"former": former})["moved"]
        )

    def _formers(self, connection: Connection, identity: Identity) -> list[str]:
        formers = [] if identity.former is None else [identity.former]
        if self._earlier is None:
            return formers
        here, before = origin_of(self._url), origin_of(self._earlier)
        require_origin(before)
        told = connection.elsewhere(f"{before}{_ADDRESS}").get("address")
        if told != here:
            raise BrokenPromise(
                f"{before} says that its server is at {told!r} and not at {here}, so nothing that "
                "was made for it is sent. Ask whoever runs the server."
            )
        return [*formers, f"w{identity.secret_at(before)}"]
