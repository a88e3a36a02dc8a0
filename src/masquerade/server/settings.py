"""Settings of the server, from arguments, environment variables and a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from sqlalchemy import URL, make_url

from masquerade.accounting import Caps
from masquerade.errors import ParameterError
from masquerade.exact import DEFAULT_DELTA, MICRO, Loss
from masquerade.server.keys import (
    ServerKey,
    checked_key,
    make_server_key,
    read_database_key,
    read_server_key,
)
from masquerade.server.setting_values import (
    CONFIG_VARIABLE,
    PREFIX,
    number,
    one_of,
    read_file,
    switch,
    text,
    whole,
)

SERVER_KEY_NAME = "server.key"
LOOPBACK_PROXIES = "127.0.0.1,::1"

#: Every setting, and what reads its value. In the file a setting has this name; its environment
#: variable is the name in capitals after ``MASQUERADE_``.
READERS: dict[str, Callable[[str, Any], Any]] = {
    "data_dir": text,
    "database": text,
    "database_key": text,
    "database_key_file": text,
    "server_key": text,
    "server_key_file": text,
    "public_url": text,
    "host": text,
    "port": whole(65535),
    "workers": whole(64, least=1),
    "shutdown_seconds": whole(3600, least=1),
    "trusted_proxies": text,
    "metrics": one_of("off", "local", "open"),
    "log_format": one_of("text", "json"),
    "cap_epsilon": number,
    "cap_delta": number,
    "cap_clear": whole(10**6),
    "allow_clear": switch,
    "reservation_days": whole(10**6),
    "unopened_reservations": whole(10**6),
    "commission_percent": whole(100),
    "webhook_private": switch,
    "rate_participant": whole(10**6),
    "rate_address": whole(10**6),
    "rate_preview": whole(10**6),
    "rate_survey": whole(10**6),
    "rate_rewarded": whole(10**6),
    "connections_address": whole(10**6),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server: where its data are, how it is reached, what it allows."""

    database: str  # SQLAlchemy URL; SQLite and PostgreSQL (``postgresql+psycopg://``) are supported
    # What share links begin with; default: the address of the request that shows the link.
    public_url: str | None = None
    # Everybody is the owner and ``/`` shows the demonstration. Only for made-up data.
    demo: bool = False
    # With which an SQLite file is encrypted, in hexadecimal; not shown.
    database_key: str | None = field(default=None, repr=False)
    database_key_file: Path | None = None  # where it was read from
    # Seals secrets in the database and vouches for backups; None where it is not made yet.
    server_key: ServerKey | None = None
    # Where it lies or is to be made; None where the key itself was given.
    server_key_file: Path | None = None
    # What everything together may cost a participant who has not chosen caps of their own.
    caps: Caps = field(default_factory=Caps)
    allow_clear: bool = False  # whether surveys may offer to send answers as they are
    reservation_days: int = 2  # how many days after its own a reservation stays
    # How many surveys a participant may begin on a day without opening them; 0 is without limit.
    unopened_reservations: int = 20
    # What the operator gets on top of what participants get, in percent of it.
    commission_percent: int = 0
    # Whether webhooks may lead to addresses of this computer and of its network.
    webhook_private: bool = False
    # rate_participant, rate_address: most requests to the interface a minute, by one participant
    # and from one address; 0 is without limit.
    rate_participant: int = 120
    rate_address: int = 3000
    rate_preview: int = 20  # most forecasts of plans a minute, by one surveyor; 0 is without limit
    # rate_survey, rate_rewarded: how many may begin one survey from one address in an hour; the
    # second where it gives something. 0 is without limit.
    rate_survey: int = 400
    rate_rewarded: int = 40
    # Most open connections from one address, in each process; 0 is without limit.
    connections_address: int = 200
    # host, port: where to listen; port 0 takes any free one.
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1  # how many processes answer requests
    # How long requests under way may take after the server was told to end.
    shutdown_seconds: int = 30
    # Addresses of reverse proxies that may say for whom and by which scheme they ask, separated by
    # commas.
    trusted_proxies: str = LOOPBACK_PROXIES
    # Who may read ``/metrics``: ``off`` nobody, ``local`` programs on this computer that ask
    # directly, ``open`` whoever reaches the port.
    metrics: str = "off"
    log_format: str = "text"  # ``text``, or ``json`` for one JSON object a line
    config: Path | None = None  # the file that settings were read from

    @classmethod
    def from_environment(
        cls,
        *,
        data_dir: Path | None = None,
        demo: bool = False,
        config: Path | None = None,
        make_folder: bool = True,
    ) -> Settings:
        """Return settings from the environment and from a file; the environment wins.

        Parameters
        ----------
        data_dir : Path, optional
            Folder of the SQLite database; wins over everything that names a database.
        demo : bool
            The demonstration reads no file, and keeps its data in a file of its own.
        config : Path, optional
            File of settings; default: what ``MASQUERADE_CONFIG`` names, else ``masquerade.toml``
            in the current folder where there is one.
        make_folder : bool
            Whether the folder of the SQLite database is made where it is not there.

        Raises
        ------
        ParameterError
            A setting has a value that it cannot have, or the file one that does not exist.
        UnreadableFile
            The file is not there or is no TOML.
        """
        found: dict[str, Any] = {}
        file = None if demo else config or _default_file()
        if file is not None:
            for key, value in read_file(file, READERS).items():
                found[key] = READERS[key](f"{key} in {file}", value)
        # After the file, so that the environment wins.
        for key, reader in READERS.items():
            variable = PREFIX + key.upper()
            if variable in os.environ:
                found[key] = reader(variable, os.environ[variable])
        database, folder = found.pop("database", ""), found.pop("data_dir", "")
        if data_dir is not None or not database:
            # The demonstration makes everybody the owner, so it never opens a real database.
            name = "demonstration.sqlite3" if demo else "masquerade.sqlite3"
            path = data_dir or Path(folder or "masquerade-data")
            database = sqlite_url(path / name)
        _require_known_kind(database)
        found.update(_key(found, database))
        beside = data_dir or Path(folder or "masquerade-data")
        found.update(_server_key(found, beside / SERVER_KEY_NAME))
        public_url = found.pop("public_url", None)
        # Rounded down to whole millionths: a cap is never above what was written.
        epsilon = found.pop("cap_epsilon", Fraction(10))
        caps = Caps(
            Loss(int(epsilon * MICRO)),
            found.pop("cap_delta", DEFAULT_DELTA),
            found.pop("cap_clear", 0),
        )
        settings = cls(
            database,
            public_url.rstrip("/") if public_url else None,
            demo,
            caps=caps,
            config=file,
            **found,
        )
        if make_folder:
            settings.make_folder()
        return settings

    @property
    def sqlite_file(self) -> Path | None:
        """The file of an SQLite database; None for PostgreSQL."""
        address = make_url(self.database)
        if address.get_backend_name() != "sqlite" or address.database in (None, "", ":memory:"):
            return None
        return Path(str(address.database))

    def with_server_key(self) -> Settings:
        """Return the same settings with a server key, which is made where it is not there."""
        if self.server_key is not None or self.server_key_file is None:
            return self
        return replace(self, server_key=make_server_key(self.server_key_file))

    def make_folder(self) -> None:
        """Make the folder of an SQLite database, where it is not there."""
        if self.sqlite_file is not None:
            # The database holds the keys of sessions: for this account's eyes only.
            self.sqlite_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def sqlite_url(path: Path) -> str:
    """Return the address of the SQLite database in a file."""
    return URL.create("sqlite", database=str(path.resolve())).render_as_string()


def _default_file() -> Path | None:
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    here = Path("masquerade.toml")
    return here if here.is_file() else None


def _key(found: dict[str, Any], database: str) -> dict[str, Any]:
    """Return the database's key and the file that it comes from."""
    file, key = found.pop("database_key_file", ""), found.pop("database_key", "")
    if not file and not key:
        return {}
    if file and key:
        raise ParameterError("both database_key and database_key_file are set; keep the file.")
    if not database.startswith("sqlite:"):
        raise ParameterError(
            "a key of the database is set and the database is not SQLite's: only those can be "
            "sealed. For PostgreSQL use an encrypted disk, and take the key out of the settings."
        )
    if key:
        return {"database_key": checked_key("database_key", key)}
    return {"database_key": read_database_key(Path(file)), "database_key_file": Path(file)}


def _server_key(found: dict[str, Any], default: Path) -> dict[str, Any]:
    """Return the server's key, where there is one, and the file that it comes from."""
    file, key = found.pop("server_key_file", ""), found.pop("server_key", "")
    if file and key:
        raise ParameterError("both server_key and server_key_file are set; keep the file.")
    if key:
        return {"server_key": ServerKey(checked_key("server_key", key))}
    path = Path(file) if file else default
    there = read_server_key(path) if path.exists() else None
    return {"server_key": there, "server_key_file": path}


def unknown_variables() -> list[str]:
    """Return the environment variables that look like settings and are none.

    Those that tests and data sets read are known.
    """
    known = {PREFIX + key.upper() for key in READERS}
    known |= {CONFIG_VARIABLE, PREFIX + "DATA", PREFIX + "REQUIRE"}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def _require_known_kind(database: str) -> None:
    if not database.startswith(("sqlite:", "postgresql+psycopg:")):
        kind = database.partition(":")[0]
        raise ParameterError(
            f"the database's address begins with {kind!r}; write sqlite:///FILE or "
            "postgresql+psycopg://USER:PASSWORD@HOST/NAME."
        )
