"""Conversion of a database whose schema was made before there was one for the first release."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

#: The revision that is converted; databases of earlier ones were never released.
CONVERTED: Final = "0013"


def convert(connection: Connection) -> None:
    """Bring the tables and rows of revision `CONVERTED` to the first schema, in one transaction."""
    connection.exec_driver_sql("DELETE FROM setting WHERE key = 'session_key'")
