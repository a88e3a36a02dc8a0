"""Places of surveys with quotas, held for people that have begun and not opened them.

The database keeps no time finer than a day. So when a place was taken is known in memory alone,
from the first look that sees it; after a restart each is held once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from masquerade.server.http.rate_limit import HELD_SECONDS
from masquerade.server.surveys.ending import SurveyEndings

#: At most so many are freed in one transaction, for which writers wait.
_AT_ONCE: Final = 500


class HeldPlaces:
    """Frees places that were held for half an hour, and reservations of closed surveys."""

    def __init__(
        self, endings: SurveyEndings, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._endings = endings
        self._now = now
        self._seen: dict[str, float] = {}

    def look(self) -> int:
        """Free places first seen half an hour ago or earlier and still held; return their number.

        What is reserved for privacy in surveys that are over is given back, too.
        """
        now = self._now()
        held = self._endings.places()
        self._seen = {place: self._seen.get(place, now) for place in held}
        late = sorted(one for one, since in self._seen.items() if now - since >= HELD_SECONDS)
        for start in range(0, len(late), _AT_ONCE):
            self._endings.free(late[start : start + _AT_ONCE])
        self._endings.release_of_closed()
        return len(late)
