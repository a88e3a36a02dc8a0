"""The web server of Masquerade, over a database and with no mathematics of its own.

It asks questions, charges the ledger in one transaction with each step, and keeps reports under
pseudonyms. It never has an answer. Results are the library's, computed when a survey is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.server.app import create_app
    from masquerade.server.services import Services
    from masquerade.server.settings import Settings
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = ["Services", "Settings", "create_app"]
