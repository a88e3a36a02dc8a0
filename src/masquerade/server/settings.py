"""Settings of the server, from arguments, environment variables and a file."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, ValidationError, create_model
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
from sqlalchemy import URL, make_url

from masquerade.accounting import Caps
from masquerade.errors import ParameterError, UnreadableFile
from masquerade.exact import DEFAULT_DELTA, MICRO, Micro
from masquerade.server.keys import (
    ServerKey,
    checked_key,
    make_server_key,
    read_database_key,
    read_server_key,
)
from masquerade.surveys.two_parties import require_origin

#: The environment variable of a setting is its name in capitals after this.
PREFIX = "MASQUERADE_"
CONFIG_VARIABLE = "MASQUERADE_CONFIG"
SERVER_KEY_NAME = "server.key"
#: The database of a demonstration, in its folder.
DEMONSTRATION = "demonstration.sqlite3"
DEFAULT_PORT, HELPER_PORT = 8080, 8081
LOOPBACK_PROXIES = "127.0.0.1,::1"


def _digits(value: Any) -> Any:
    # For Python true is 1; a setting that was meant as a switch is refused.
    if isinstance(value, bool) or not (str(value).isascii() and str(value).isdigit()):
        raise ValueError(value)
    return value


def _switch(value: Any) -> bool:
    # Not the many words that pydantic takes, such as "t" and "on".
    words = {"1": True, "0": False, "true": True, "false": False}
    if str(value).lower() not in words:
        raise ValueError(value)
    return words[str(value).lower()]


def _whole(most: int, *, least: int = 0) -> Any:
    return Field(ge=least, le=most, description=f"a whole number from {least} to {most}")


# A type's description is what a refused value is told to be.
_Whole = Annotated[int, BeforeValidator(_digits)]
_Count = Annotated[_Whole, _whole(10**6)]
_Switch = Annotated[bool, BeforeValidator(_switch), Field(description="1 or true, 0 or false")]
# Decimal, as a float would not be the number that somebody wrote, and caps are exact.
_Number = Annotated[Decimal, Field(ge=0, le=1000, description="a number from 0 to 1000")]
_Security = Annotated[
    Literal["starttls", "tls", "none"], Field(description="starttls, tls or none")
]
_Metrics = Annotated[Literal["off", "local", "open"], Field(description="off, local or open")]
_LogFormat = Annotated[Literal["text", "json"], Field(description="text or json")]


def _zone(value: Any) -> str:
    try:
        return ZoneInfo(value).key
    except (TypeError, OSError, ZoneInfoNotFoundError) as error:
        raise ValueError(value) from error


def _contact(value: Any) -> str:
    text = str(value)
    if text.startswith(("mailto:", "https://", "tel:")) and text.isprintable() and " " not in text:
        return text
    raise ValueError(value)


def _day(value: Any) -> str:
    return date.fromisoformat(value).isoformat()


_Zone = Annotated[
    str,
    BeforeValidator(_zone),
    Field(
        description="a time zone such as Europe/Berlin, or UTC; a computer that knows none needs "
        "its package tzdata"
    ),
]
_Contact = Annotated[
    str,
    BeforeValidator(_contact),
    Field(description="an address such as mailto:security@example.org or https://example.org/help"),
]
_Day = Annotated[str, BeforeValidator(_day), Field(description="a day such as 2027-12-31")]


def site_address(text: str) -> str:
    """Return the address of a server without its last slash.

    Raises `ParameterError`: it is none, or below a path, where links and cookies do not work.

    Examples
    --------
    >>> site_address("https://surveys.example.org/")
    'https://surveys.example.org'
    """
    parts = urlsplit(text)
    whole = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    if not whole or parts.query or parts.fragment:
        raise ParameterError(
            f"public_url is {text!r}, expected an address such as https://surveys.example.org."
        )
    if parts.path.strip("/"):
        raise ParameterError(
            f"public_url is {text!r}: a server has a host name of its own and is not served "
            f"below a path ({parts.path}). Give it one, such as https://surveys.{parts.hostname}, "
            "and let the proxy pass every path on."
        )
    return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server: its data, its address, its limits."""

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
    allow_clear: _Switch = False  # whether surveys may offer to send answers as they are
    reservation_days: _Count = 2  # how many days after its own a reservation stays
    # How many surveys a participant may begin on a day without opening them; 0 is without limit.
    unopened_reservations: _Count = 20
    # What the operator gets on top of what participants get, in percent of it.
    # An OpenID provider by which surveyors may sign in: its address, what it knows this server by,
    # and what people know it by. The secret is not shown.
    openid_issuer: str = ""
    openid_client: str = ""
    openid_client_secret: str = field(default="", repr=False)
    openid_name: str = ""
    # The mail server through which invitations are sent: its address and port, how the connection
    # is protected, by which name and password, and the address that messages come from. Without a
    # host none are sent. The password is not shown.
    smtp_host: str = ""
    smtp_port: Annotated[_Whole, _whole(65535, least=1)] = 587
    smtp_security: _Security = "starttls"
    smtp_user: str = ""
    smtp_password: str = field(default="", repr=False)
    mail_from: str = ""
    # Whether webhooks may lead to addresses of this computer and of its network.
    webhook_private: _Switch = False
    # Whether helpers of surveys between two parties may be on this computer and its network.
    helper_private: _Switch = False
    # Who runs this helper, in words for participants; of a helper alone.
    helper_operator: str = ""
    # Whether this is a helper and no survey server.
    helper: bool = False
    # Addresses that this server had before, separated by commas: accounts that devices made for
    # them move when their people come, once such an address itself says where it went.
    earlier_addresses: str = ""
    # rate_participant, rate_address: most requests to the interface a minute, by one participant
    # and from one address; 0 is without limit.
    rate_participant: _Count = 120
    rate_address: _Count = 3000
    rate_preview: _Count = (
        20  # most forecasts of plans a minute, by one surveyor; 0 is without limit
    )
    # rate_survey, rate_rewarded: how many may begin one survey from one address in an hour; the
    # second where it gives something. 0 is without limit.
    rate_survey: _Count = 400
    rate_rewarded: _Count = 40
    # Most open connections from one address, in each process; 0 is without limit.
    connections_address: _Count = 200
    # host, port: where to listen; port 0 takes any free one.
    host: str = "127.0.0.1"
    port: Annotated[_Whole, _whole(65535)] = DEFAULT_PORT
    workers: Annotated[_Whole, _whole(64, least=1)] = 1  # how many processes answer requests
    # How long requests under way may take after the server was told to end.
    shutdown_seconds: Annotated[_Whole, _whole(3600, least=1)] = 30
    # Addresses of reverse proxies that may say for whom and by which scheme they ask, separated by
    # commas.
    trusted_proxies: str = LOOPBACK_PROXIES
    # Who may read ``/metrics``: ``off`` nobody, ``local`` programs on this computer that ask
    # directly, ``open`` whoever reaches the port.
    metrics: _Metrics = "off"
    log_format: _LogFormat = "text"  # ``text``, or ``json`` for one JSON object a line
    # In which days begin and end, the last day of a survey too.
    time_zone: _Zone = "UTC"
    # Where faults of security are reported, and until which day that holds: both stand in
    # ``/.well-known/security.txt`` (RFC 9116), which is not there without a contact.
    security_contact: _Contact = ""
    security_expires: _Day = ""
    config: Path | None = None  # the file that settings were read from

    @classmethod
    def from_environment(
        cls,
        *,
        data_dir: Path | None = None,
        demo: bool = False,
        helper: bool = False,
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
        helper : bool
            A helper keeps its data in a folder of its own: one party must not have both halves.
        config : Path, optional
            File of settings; default: what ``MASQUERADE_CONFIG`` names, else ``masquerade.toml``
            in the current folder where there is one.
        make_folder : bool
            Whether the folder of the SQLite database is made where it is not there.

        Raises
        ------
        ParameterError
            A setting has a value that it cannot have, or the file a setting that does not exist.
        UnreadableFile
            The file is not there or is no TOML.
        """
        file = None if demo else config or _default_file()
        found = _values(file)
        default_folder = "masquerade-helper" if helper else "masquerade-data"
        database, folder = found.pop("database", ""), found.pop("data_dir", "")
        beside = data_dir or Path(folder or default_folder)
        if data_dir is not None or not database:
            # The demonstration makes everybody the owner, so it never opens a real database.
            database = sqlite_url(beside / (DEMONSTRATION if demo else "masquerade.sqlite3"))
        _require_known_kind(database)
        found.update(_key(found, database))
        found.update(_server_key(found, beside / SERVER_KEY_NAME))
        if helper:  # beside a server on the same computer; what is set holds
            found.setdefault("port", HELPER_PORT)
        caps = _caps(found)
        settings = cls(
            database,
            site_address(url) if (url := found.pop("public_url", None)) else None,
            demo,
            caps=caps,
            config=file,
            helper=helper,
            **found,
        )
        for one in settings.earlier:
            require_origin(one)
        if make_folder:
            settings.make_folder()
        return settings

    @property
    def earlier(self) -> tuple[str, ...]:
        """Addresses that this server had before, as browsers write them."""
        return tuple(one.strip() for one in self.earlier_addresses.split(",") if one.strip())

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


# An empty variable is one that is not set: compose files and units write ``NAME=`` for that.
class _Sources(BaseSettings, env_prefix=PREFIX, env_ignore_empty=True, validate_default=False):
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where values come from: the environment wins over the file."""
        return env_settings, init_settings


@cache
def _model() -> type[BaseSettings]:
    """Return the model of all settings: most fields of `Settings`, and those that others need."""
    types: dict[str, Any] = {
        name: kind
        for name, kind in get_type_hints(Settings, include_extras=True).items()
        if name not in ("demo", "caps", "config", "helper")
    }
    types |= dict.fromkeys(("data_dir", "database_key_file", "server_key", "server_key_file"), str)
    types |= {"cap_epsilon": _Number, "cap_delta": _Number, "cap_clear": _Count}
    optional: Any = {name: (kind, None) for name, kind in types.items()}
    return create_model("_Values", __base__=_Sources, **optional)


def setting_names() -> list[str]:
    """Return the name of every setting, as it is in the file."""
    return list(_model().model_fields)


def _values(file: Path | None) -> dict[str, Any]:
    """Return the settings that the environment or a file has."""
    try:
        values = _model()(**({} if file is None else _read(file)))
    except ValidationError as error:
        name, value = str(error.errors()[0]["loc"][0]), error.errors()[0]["input"]
        variable = PREFIX + name.upper()
        where = variable if variable in os.environ else f"{name} in {file}"
        expected = _model().model_fields[name].description or "a text in quotes"
        raise ParameterError(f"{where} is {value!r}, expected {expected}.") from None
    return {name: getattr(values, name) for name in values.model_fields_set}


def _read(file: Path) -> dict[str, Any]:
    """Return the values in a file of settings, with numbers exactly as they are written."""
    try:
        # pydantic-settings' own reader would round them to floats.
        found = tomllib.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise UnreadableFile(f"cannot read the settings in {file}: {error.strerror}.") from error
    except ValueError as error:
        raise UnreadableFile(f"{file} is no TOML: {error}.") from error
    names = sorted(setting_names())
    for key in found:
        if key not in names:
            raise ParameterError(f"{file} has {key!r}, which is no setting.{nearest(key, names)}")
    return found


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a sentence with the name that was probably meant, or with all names.

    Examples
    --------
    >>> nearest("public_uri", ["database", "public_url"])
    ' Did you mean public_url?'
    """
    names = list(names)
    close = difflib.get_close_matches(name, names, 1)
    return f" Did you mean {close[0]}?" if close else f" Settings are {', '.join(names)}."


def sqlite_url(path: Path) -> str:
    """Return the address of the SQLite database in a file."""
    return URL.create("sqlite", database=str(path.resolve())).render_as_string()


def _default_file() -> Path | None:
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    here = Path("masquerade.toml")
    return here if here.is_file() else None


def _caps(found: dict[str, Any]) -> Caps:
    """Return the caps of people who have not chosen their own, and take them from the settings."""
    # Rounded down to whole millionths: a cap is never above what was written.
    epsilon = Fraction(found.pop("cap_epsilon", 10))
    delta = Fraction(found.pop("cap_delta", DEFAULT_DELTA))
    return Caps(Micro(int(epsilon * MICRO)), delta, found.pop("cap_clear", 0))


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

    Those that the surveyor's commands, tests and data sets read are known.
    """
    known = {PREFIX + key.upper() for key in setting_names()}
    known |= {CONFIG_VARIABLE}
    known |= {PREFIX + name for name in ("SERVER", "TOKEN", "DATA", "REQUIRE")}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def _require_known_kind(database: str) -> None:
    if not database.startswith(("sqlite:", "postgresql+psycopg:")):
        kind = database.partition(":")[0]
        raise ParameterError(
            f"the database's address begins with {kind!r}; write sqlite:///FILE or "
            "postgresql+psycopg://USER:PASSWORD@HOST/NAME."
        )
