"""Settings of the server, from arguments or environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from sqlalchemy import URL

from masquerade.accounting import Caps
from masquerade.errors import ParameterError
from masquerade.mechanisms import DEFAULT_DELTA, MICRO, Loss

DATABASE_VARIABLE = "MASQUERADE_DATABASE"
DATA_DIR_VARIABLE = "MASQUERADE_DATA_DIR"
PUBLIC_URL_VARIABLE = "MASQUERADE_PUBLIC_URL"
CAP_EPSILON_VARIABLE = "MASQUERADE_CAP_EPSILON"
CAP_DELTA_VARIABLE = "MASQUERADE_CAP_DELTA"
CAP_CLEAR_VARIABLE = "MASQUERADE_CAP_CLEAR"
ALLOW_CLEAR_VARIABLE = "MASQUERADE_ALLOW_CLEAR"
RESERVATION_DAYS_VARIABLE = "MASQUERADE_RESERVATION_DAYS"
RATE_PARTICIPANT_VARIABLE = "MASQUERADE_RATE_PARTICIPANT"
RATE_ADDRESS_VARIABLE = "MASQUERADE_RATE_ADDRESS"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the server keeps its data and how it is reached.

    Attributes
    ----------
    database : str
        SQLAlchemy URL; SQLite and PostgreSQL (``postgresql+psycopg://``) are supported.
    public_url : str or None
        What share links begin with; default: the address of the request that shows the link.
    demo : bool
        Everybody is the owner and ``/`` shows the demonstration. Only for made-up data.
    caps : Caps
        What everything together may cost a participant who has not chosen caps of their own.
    allow_clear : bool
        Whether surveys may offer to send answers as they are.
    reservation_days : int
        How many days after its own a reservation stays.
    rate_participant, rate_address : int
        Most requests to the interface a minute, by one participant and from one address; 0 is
        without limit.
    """

    database: str
    public_url: str | None = None
    demo: bool = False
    caps: Caps = field(default_factory=Caps)
    allow_clear: bool = False
    reservation_days: int = 2
    rate_participant: int = 120
    rate_address: int = 3000

    @classmethod
    def from_environment(cls, *, data_dir: Path | None = None, demo: bool = False) -> Settings:
        """Return settings from the environment; SQLite in `data_dir` where no database is named.

        ``MASQUERADE_DATABASE`` is the database URL, ``MASQUERADE_DATA_DIR`` the folder of the
        SQLite file (default ``masquerade-data`` here), ``MASQUERADE_PUBLIC_URL`` the address that
        participants use. An explicit `data_dir` wins over both of the first two.
        ``MASQUERADE_CAP_EPSILON``, ``MASQUERADE_CAP_DELTA`` and ``MASQUERADE_CAP_CLEAR`` are the
        caps, ``MASQUERADE_ALLOW_CLEAR`` is 1 or 0, ``MASQUERADE_RESERVATION_DAYS``,
        ``MASQUERADE_RATE_PARTICIPANT`` and ``MASQUERADE_RATE_ADDRESS`` are whole numbers.

        Raises
        ------
        ParameterError
            A variable holds something else.
        """
        database = os.environ.get(DATABASE_VARIABLE)
        if data_dir is not None or database is None:
            folder = data_dir or Path(os.environ.get(DATA_DIR_VARIABLE, "masquerade-data"))
            # The database holds the key of the owner's session: for this account's eyes only.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The demonstration makes everybody the owner, so it never opens a real database.
            name = "demonstration.sqlite3" if demo else "masquerade.sqlite3"
            file = str((folder / name).resolve())
            database = URL.create("sqlite", database=file).render_as_string()
        public_url = os.environ.get(PUBLIC_URL_VARIABLE)
        return cls(
            database,
            public_url.rstrip("/") if public_url else None,
            demo,
            caps=Caps(
                Loss(int(_number(CAP_EPSILON_VARIABLE, Fraction(10)) * MICRO)),
                _number(CAP_DELTA_VARIABLE, DEFAULT_DELTA),
                _whole(CAP_CLEAR_VARIABLE, 0),
            ),
            allow_clear=bool(_whole(ALLOW_CLEAR_VARIABLE, 0, most=1)),
            reservation_days=_whole(RESERVATION_DAYS_VARIABLE, 2),
            rate_participant=_whole(RATE_PARTICIPANT_VARIABLE, 120),
            rate_address=_whole(RATE_ADDRESS_VARIABLE, 3000),
        )


def _whole(variable: str, default: int, *, most: int = 10**6) -> int:
    text = os.environ.get(variable, str(default))
    if not text.isascii() or not text.isdigit() or int(text) > most:
        raise ParameterError(f"{variable} is {text!r}, expected a whole number from 0 to {most}.")
    return int(text)


def _number(variable: str, default: Fraction) -> Fraction:
    text = os.environ.get(variable)
    if text is None:
        return default
    try:
        value = Fraction(Decimal(text))
    except (InvalidOperation, OverflowError, ValueError):
        value = Fraction(-1)
    if not 0 <= value <= 1000:
        raise ParameterError(f"{variable} is {text!r}, expected a number from 0 to 1000.")
    return value
