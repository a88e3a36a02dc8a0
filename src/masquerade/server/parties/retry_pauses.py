"""Pauses before a failed helper or survey is tried again: each twice as long as the last."""

from __future__ import annotations

from collections.abc import Callable

#: Seconds of the first pause, and of the longest.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 600.0
TRIED_NEXT = "It is tried again by itself, in ten minutes at the latest."


class RetryPauses:
    """How long tasks and helpers that failed are left alone, in the memory of this process.

    `clock`: gives seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, float]] = {}  # until when, and how long that is

    def over(self, *names: str) -> bool:
        """Return whether no pause of these lasts."""
        now = self._clock()
        return all(self._known.get(name, (now, 0.0))[0] <= now for name in names)

    def begin(self, name: str) -> None:
        """Begin a pause, twice as long as the last one."""
        _, last = self._known.get(name, (0.0, 0.0))
        pause = min(max(2 * last, _FIRST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)
        self._known[name] = self._clock() + pause, pause

    def end(self, *names: str) -> None:
        """Forget the pauses of these, which went well."""
        for name in names:
            self._known.pop(name, None)
