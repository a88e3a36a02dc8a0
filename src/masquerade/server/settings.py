"""Settings of the server, from arguments or environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL

DATABASE_VARIABLE = "MASQUERADE_DATABASE"
DATA_DIR_VARIABLE = "MASQUERADE_DATA_DIR"
PUBLIC_URL_VARIABLE = "MASQUERADE_PUBLIC_URL"


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
    """

    database: str
    public_url: str | None = None
    demo: bool = False

    @classmethod
    def from_environment(cls, *, data_dir: Path | None = None, demo: bool = False) -> Settings:
        """Return settings from the environment; SQLite in `data_dir` where no database is named.

        ``MASQUERADE_DATABASE`` is the database URL, ``MASQUERADE_DATA_DIR`` the folder of the
        SQLite file (default ``masquerade-data`` here), ``MASQUERADE_PUBLIC_URL`` the address that
        participants use. An explicit `data_dir` wins over both of the first two.
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
        return cls(database, public_url.rstrip("/") if public_url else None, demo)
