"""Where people meet Masquerade: a web server over a database, with no mathematics of its own."""

from masquerade.server.app import create_app
from masquerade.server.settings import Settings
from masquerade.server.store import Store

__all__ = ["Settings", "Store", "create_app"]
